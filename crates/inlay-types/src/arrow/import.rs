//! A host's Arrow arrays as vectors.
//!
//! [`ArrowRecords::import`] takes ownership of an array and checks its shape. [`ArrowColumn::vector`] turns a range of
//! rows into a vector: values that lie as ours do are shared and everything else is converted for that range alone, so
//! that a scan converts in parallel and only what it reads.
//!
//! The producer is trusted for pointers and lengths, as the interface demands. What it computes (string offsets,
//! views, dictionary codes, the bytes of texts) is checked, because a wrong one would end up far from here: a text that is not UTF-8
//! would be stored, and make its table unreadable.

#![expect(unsafe_code, reason = "arrays of the C data interface are taken over")]

use super::ffi::ArrowArray;
use super::field::{ArrowField, ArrowType, TimeUnit, child_count};
use super::layout::{expect_layout, unpack_bits};
use super::scalars::{half_to_single, time_of_day, to_micros};
use crate::datetime::{is_date, is_finite_date, is_finite_timestamp, is_moment, is_timestamp};
use crate::value::{Interval, stored_uuid};
use crate::view::{INLINE_LIMIT, View};
use crate::{Bitmap, Buffer, Dictionary, Error, Heap, LogicalType, Native, PhysicalType, Result, Vector};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// Columns of equal length, such as a record batch.
#[derive(Debug)]
pub struct ArrowRecords {
    columns: Vec<ArrowColumn>,
    len: usize,
}

impl ArrowRecords {
    /// Takes over an array of type `field`: a struct becomes its children, anything else one column.
    pub fn import(array: ArrowArray, field: &ArrowField) -> Result<Self> {
        let owner = Arc::new(array);
        let whole = Shape::read(&owner, &field.name)?;
        if field.ty != ArrowType::Struct {
            let column = ArrowColumn::read(&owner, &owner, field, 0, whole.len)?;
            return Ok(Self { columns: vec![column], len: whole.len });
        }
        if owner.null_count != 0 && whole.buffer(0).is_some() {
            let bits = whole.bits(0, whole.offset, whole.len);
            let bits = bits.ok_or_else(|| malformed(&field.name, "has a validity that is too short"))?;
            if !Bitmap::from_words(bits, whole.len).all() {
                return Err(Error::invalid_argument("Arrow record batch has rows that are NULL as a whole"));
            }
        }
        let columns = children_of(&owner, &owner, field, Some((whole.offset, whole.len)))?;
        Ok(Self { columns, len: whole.len })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The columns.
    pub fn columns(&self) -> &[ArrowColumn] {
        &self.columns
    }
}

/// The children of an array that `owner` keeps alive: all their rows, or a range of them.
fn children_of(
    owner: &Arc<ArrowArray>,
    array: &ArrowArray,
    field: &ArrowField,
    range: Option<(usize, usize)>,
) -> Result<Vec<ArrowColumn>> {
    if child_count(array.n_children)? != field.children.len() {
        let message =
            format!("Arrow array has {} columns, its schema {}", array.n_children, field.children.len());
        return Err(Error::invalid_argument(message));
    }
    let mut columns = Vec::with_capacity(field.children.len());
    for (index, field) in field.children.iter().enumerate() {
        let missing = || malformed(&field.name, "is a NULL pointer");
        if array.children.is_null() {
            return Err(missing());
        }
        // SAFETY: the producer promises `n_children` pointers, each NULL or an array that lives as long as `owner`.
        let child = unsafe { (*array.children.add(index)).as_ref() }.ok_or_else(missing)?;
        let (start, len) = match range {
            Some(range) => range,
            None => (
                0,
                usize::try_from(child.length).map_err(|_| malformed(&field.name, "has a negative length"))?,
            ),
        };
        columns.push(ArrowColumn::read(owner, child, field, start, len)?);
    }
    Ok(columns)
}

pub(super) fn malformed(column: &str, what: &str) -> Error {
    Error::invalid_argument(format!("Arrow column \"{column}\" {what}"))
}

/// Where an array's buffers lie.
#[derive(Debug)]
pub(super) struct Shape {
    owner: Arc<ArrowArray>,
    buffers: Vec<Option<NonNull<u8>>>,
    pub(super) offset: usize,
    len: usize,
    null_count: i64,
}

// SAFETY: the pointers lead to memory of `owner`, which is only read and may be read by any thread.
unsafe impl Send for Shape {}
// SAFETY: as above.
unsafe impl Sync for Shape {}

impl Shape {
    fn read(owner: &Arc<ArrowArray>, name: &str) -> Result<Self> {
        Self::of(owner, owner, name)
    }

    fn of(owner: &Arc<ArrowArray>, array: &ArrowArray, name: &str) -> Result<Self> {
        let count = |value: i64| usize::try_from(value).ok().filter(|&v| v <= isize::MAX as usize / 32);
        let (Some(len), Some(offset)) = (count(array.length), count(array.offset)) else {
            return Err(malformed(name, "has a negative or impossible length or offset"));
        };
        let buffer_count = child_count(array.n_buffers)?;
        let mut buffers = Vec::with_capacity(buffer_count);
        if !array.buffers.is_null() {
            for index in 0..buffer_count {
                // SAFETY: the producer promises `n_buffers` pointers.
                buffers.push(NonNull::new(unsafe { *array.buffers.add(index) }.cast_mut().cast::<u8>()));
            }
        }
        Ok(Self { owner: Arc::clone(owner), buffers, offset, len, null_count: array.null_count })
    }

    /// Where a union's type ids lie: producers of old put a validity in front.
    pub(super) fn first_of_union(&self, dense: bool) -> usize {
        usize::from(self.buffers.len() > 1 + usize::from(dense))
    }

    fn buffer(&self, index: usize) -> Option<NonNull<u8>> {
        self.buffers.get(index).copied().flatten()
    }

    /// `size` bytes of buffer `index` behind `start`, shared; `None` when there is no such buffer.
    fn bytes(&self, index: usize, start: usize, size: usize) -> Option<Buffer> {
        if size == 0 {
            return Some(Buffer::default());
        }
        let first = self.buffer(index)?;
        // SAFETY: the producer promises that the buffer holds what length and offset say; the caller asks for no more.
        let first = unsafe { first.add(start) };
        // SAFETY: as above; the memory stays unchanged until `owner` is dropped. Alignment is checked by `values`,
        // and everything else reads bytes.
        Some(unsafe { Buffer::foreign(first, size, Box::new(Arc::clone(&self.owner))) })
    }

    /// Values `from .. from + len` of buffer `index`; copied when they are not aligned.
    pub(super) fn values<T: Native>(&self, index: usize, from: usize, len: usize) -> Option<Buffer> {
        let width = size_of::<T>();
        let shared = self.bytes(index, from * width, len * width)?;
        if shared.is_aligned_for::<T>() {
            return Some(shared);
        }
        let mut copy = Buffer::zeroed(len * width);
        copy.make_mut::<u8>().copy_from_slice(shared.bytes());
        Some(copy)
    }

    /// Bits `from .. from + len` of buffer `index`, starting at bit 0.
    fn bits(&self, index: usize, from: usize, len: usize) -> Option<Vec<u64>> {
        let bytes = self.bytes(index, from / 8, (from % 8 + len).div_ceil(8))?;
        Some(shift_bits(bytes.bytes(), from % 8, len))
    }
}

fn shift_bits(bytes: &[u8], shift: usize, len: usize) -> Vec<u64> {
    let word = |index: usize| {
        let start = index * 8;
        let mut raw = [0u8; 16];
        let end = (start + 9).min(bytes.len());
        raw[..end - start].copy_from_slice(&bytes[start..end]);
        (u128::from_le_bytes(raw) >> shift) as u64
    };
    (0..len.div_ceil(64)).map(word).collect()
}

/// One column of a host.
#[derive(Debug)]
pub struct ArrowColumn {
    pub(super) name: String,
    pub(super) ty: ArrowType,
    logical: Result<LogicalType>,
    has_infinity: bool,
    pub(super) shape: Shape,
    /// Rows that a parent's offset skips.
    pub(super) start: usize,
    len: usize,
    /// Values of a dictionary.
    values: Option<Box<ArrowColumn>>,
    /// What nested values are made of.
    pub(super) children: Vec<ArrowColumn>,
    /// All elements of lists that lie in no order.
    pub(super) elements: OnceLock<Vector>,
    dictionary: OnceLock<(Arc<Dictionary>, Option<Bitmap>)>,
    heap: OnceLock<Heap>,
}

impl ArrowColumn {
    fn read(
        owner: &Arc<ArrowArray>,
        array: &ArrowArray,
        field: &ArrowField,
        start: usize,
        len: usize,
    ) -> Result<Self> {
        let shape = Shape::of(owner, array, &field.name)?;
        if shape.len < start + len {
            return Err(malformed(&field.name, "is shorter than its record batch"));
        }
        expect_layout(array, field, shape.buffers.len())?;
        let mut values = None;
        if let (ArrowType::Dictionary(..), [value_field]) = (&field.ty, field.children.as_slice()) {
            // SAFETY: NULL or an array that lives as long as `owner`.
            let Some(dictionary) = (unsafe { array.dictionary.as_ref() }) else {
                return Err(malformed(&field.name, "has codes but no dictionary"));
            };
            let value_field = ArrowField { name: field.name.clone(), ..value_field.clone() };
            let count = usize::try_from(dictionary.length)
                .map_err(|_| malformed(&field.name, "has a dictionary of a negative length"))?;
            values = Some(Box::new(Self::read(owner, dictionary, &value_field, 0, count)?));
        }
        // Parts of structs and of sparse unions lie row by row beside them.
        let children = match &field.ty {
            ArrowType::Struct | ArrowType::Union { dense: false, .. } => {
                children_of(owner, array, field, Some((shape.offset + start, len)))?
            }
            ArrowType::Dictionary(..) => Vec::new(),
            ty if ty.has_children() => children_of(owner, array, field, None)?,
            _ => Vec::new(),
        };
        Ok(Self {
            name: field.name.clone(),
            ty: field.ty.clone(),
            logical: field.logical_type(),
            has_infinity: field.has_infinity,
            children,
            shape,
            start,
            len,
            values,
            elements: OnceLock::new(),
            dictionary: OnceLock::new(),
            heap: OnceLock::new(),
        })
    }

    /// The column's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The type of the column's vectors, or why it has none.
    pub fn logical_type(&self) -> Result<LogicalType> {
        self.logical.clone()
    }

    /// Rows `from .. from + len` as a vector.
    pub fn vector(&self, from: usize, len: usize) -> Result<Vector> {
        if from.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(Error::internal(format!(
                "rows {from} and following are outside of column \"{}\"",
                self.name
            )));
        }
        let ty = self.logical_type()?;
        if len == 0 {
            return Ok(Vector::empty(ty));
        }
        let first = self.shape.offset + self.start + from;
        let validity = self.validity(first, len);
        let rows = Rows { column: self, ty, first, len, validity };
        rows.read()
    }

    fn validity(&self, first: usize, len: usize) -> Option<Bitmap> {
        let has_none = matches!(self.ty, ArrowType::Null | ArrowType::RunEnds | ArrowType::Union { .. });
        if self.shape.null_count == 0 || has_none {
            return None;
        }
        self.shape.buffer(0)?;
        let bitmap = Bitmap::from_words(self.shape.bits(0, first, len)?, len);
        if bitmap.all() { None } else { Some(bitmap) }
    }

    pub(super) fn missing(&self) -> Error {
        malformed(&self.name, "lacks a buffer")
    }

    /// The dictionary without NULLs, and which codes mean NULL (clear bits).
    fn dictionary(&self) -> Result<&(Arc<Dictionary>, Option<Bitmap>)> {
        if let Some(ready) = self.dictionary.get() {
            return Ok(ready);
        }
        let values = self.values.as_ref().ok_or_else(|| self.missing())?;
        let mut flat = match values.len {
            0 => Vector::nulls(self.logical_type()?, 1).flatten(),
            len => values.vector(0, len)?.flatten(),
        };
        let validity = flat.validity().cloned();
        flat.set_validity(None);
        // Another worker may have been first; then its dictionary is used by both.
        Ok(self.dictionary.get_or_init(|| (Dictionary::new(flat), validity)))
    }

    /// The buffers that views of a view array point into.
    fn view_heap(&self) -> Result<&Heap> {
        if let Some(ready) = self.heap.get() {
            return Ok(ready);
        }
        let count = self.shape.buffers.len().checked_sub(3).ok_or_else(|| self.missing())?;
        let sizes = self.shape.values::<i64>(count + 2, 0, count).ok_or_else(|| self.missing())?;
        let mut buffers = Vec::with_capacity(count);
        for (index, &size) in sizes.typed::<i64>()[..count].iter().enumerate() {
            let size =
                usize::try_from(size).map_err(|_| malformed(&self.name, "has a buffer of negative size"))?;
            buffers.push(self.shape.bytes(index + 2, 0, size).ok_or_else(|| self.missing())?);
        }
        Ok(self.heap.get_or_init(|| Heap::new(buffers)))
    }
}

/// A range of a column on its way to a vector.
pub(super) struct Rows<'a> {
    pub(super) column: &'a ArrowColumn,
    pub(super) ty: LogicalType,
    /// Position in the buffers.
    pub(super) first: usize,
    pub(super) len: usize,
    pub(super) validity: Option<Bitmap>,
}

impl Rows<'_> {
    fn read(self) -> Result<Vector> {
        match &self.column.ty {
            ArrowType::Null => Ok(Vector::nulls(self.ty, self.len)),
            ArrowType::Bool => {
                let bits =
                    self.column.shape.bits(1, self.first, self.len).ok_or_else(|| self.column.missing())?;
                let bytes = unpack_bits(&bits, self.len);
                Ok(self.flat(Buffer::from_vec(bytes), Heap::default()))
            }
            ArrowType::Int(_) | ArrowType::Float32 | ArrowType::Float64 => {
                let carrier = self.ty.physical();
                self.shared(carrier)
            }
            ArrowType::Bool8 => self.converted::<i8, u8>(|byte| Some(u8::from(byte != 0))),
            ArrowType::Date32 => {
                let has_infinity = self.column.has_infinity;
                self.checked(move |&days: &i32| is_date(days) || has_infinity && !is_finite_date(days))
            }
            ArrowType::Timestamp { zoned: false, unit }
            | ArrowType::Timestamp { unit: unit @ TimeUnit::Micro, .. } => {
                let (units, has_infinity) = (unit.per_second(), self.column.has_infinity);
                self.checked(move |&at: &i64| {
                    is_moment(at, units) && (has_infinity || is_finite_timestamp(at))
                })
            }
            ArrowType::Decimal { width_bits, precision, zeros, .. } => {
                self.decimal(*width_bits, *precision, *zeros)
            }
            ArrowType::Offsets32(_) => self.strings::<i32>(),
            ArrowType::Offsets64(_) => self.strings::<i64>(),
            ArrowType::Views(_) => self.views(),
            ArrowType::FixedBytes(size) => self.fixed_bytes(*size),
            ArrowType::Uuid => self.converted::<u128, i128>(|bytes| Some(stored_uuid(bytes.swap_bytes()))),
            ArrowType::Dictionary(codes, _) => match &**codes {
                ArrowType::Int(codes) => self.codes(codes),
                _ => Err(self.unreadable()),
            },
            ArrowType::Float16 => self.converted::<u16, f32>(|bits| Some(half_to_single(bits))),
            // Milliseconds of whole days, says the format.
            ArrowType::Date64 => self.converted::<i64, i32>(|millis| {
                (millis % 86_400_000 == 0).then_some(())?;
                i32::try_from(millis / 86_400_000).ok().filter(|&days| is_date(days))
            }),
            ArrowType::Time32(unit) => {
                let unit = *unit;
                self.converted::<i32, i64>(move |time| time_of_day(to_micros(i64::from(time), unit)?))
            }
            ArrowType::Time64(TimeUnit::Micro) => self.times(),
            ArrowType::Time64(unit) => {
                let unit = *unit;
                self.converted::<i64, i64>(move |time| time_of_day(to_micros(time, unit)?))
            }
            ArrowType::Timestamp { unit, .. } => {
                let unit = *unit;
                self.converted::<i64, i64>(move |time| to_micros(time, unit).filter(|&at| is_timestamp(at)))
            }
            ArrowType::Duration(unit) => {
                let unit = *unit;
                self.converted::<i64, Interval>(move |time| Some(interval(0, 0, to_micros(time, unit)?)))
            }
            ArrowType::IntervalMonths => {
                self.converted::<i32, Interval>(|months| Some(interval(months, 0, 0)))
            }
            ArrowType::IntervalDays => {
                // Days in the low half, milliseconds in the high half; both have 32 bits.
                self.converted::<i64, Interval>(|both| Some(interval(0, both as i32, (both >> 32) * 1000)))
            }
            ArrowType::IntervalNano => self.converted::<Interval, Interval>(|value| {
                Some(interval(value.months, value.days, to_micros(value.micros, TimeUnit::Nano)?))
            }),
            ArrowType::RunEnds => self.runs(),
            ArrowType::Struct
            | ArrowType::List { .. }
            | ArrowType::ListView { .. }
            | ArrowType::FixedList(_)
            | ArrowType::Map
            | ArrowType::Union { .. } => self.nested(),
            ArrowType::Other(_) => Err(self.unreadable()),
        }
    }

    pub(super) fn unreadable(&self) -> Error {
        Error::internal(format!("column \"{}\" has no logical type", self.column.name))
    }

    fn flat(self, data: Buffer, heap: Heap) -> Vector {
        Vector::flat(self.ty, self.len, data, self.validity, heap)
    }

    fn is_null(&self, row: usize) -> bool {
        self.validity.as_ref().is_some_and(|v| !v.get(row))
    }

    pub(super) fn buffer<T: Native>(&self, index: usize) -> Result<Buffer> {
        self.column.shape.values::<T>(index, self.first, self.len).ok_or_else(|| self.column.missing())
    }

    fn shared(self, carrier: PhysicalType) -> Result<Vector> {
        let data = match carrier.size() {
            1 => self.buffer::<u8>(1)?,
            2 => self.buffer::<u16>(1)?,
            4 => self.buffer::<u32>(1)?,
            8 => self.buffer::<u64>(1)?,
            _ => self.buffer::<u128>(1)?,
        };
        Ok(self.flat(data, Heap::default()))
    }

    /// Values that lie as ours do, if each is one of the type.
    fn checked<T: Native>(self, is_valid: impl Fn(&T) -> bool) -> Result<Vector> {
        let data = self.buffer::<T>(1)?;
        let values = &data.typed::<T>()[..self.len];
        // Without a branch, as a bad one is rare.
        if !values.iter().fold(true, |all, value| all & is_valid(value)) {
            let is_bad = |&(row, value): &(usize, &T)| !is_valid(value) && !self.is_null(row);
            if let Some((row, _)) = values.iter().enumerate().find(is_bad) {
                return Err(self.unfit(row));
            }
        }
        Ok(self.flat(data, Heap::default()))
    }

    fn converted<S: Native, T: Native>(self, convert: impl Fn(S) -> Option<T>) -> Result<Vector> {
        let source = self.buffer::<S>(1)?;
        let mut target = Vec::with_capacity(self.len);
        for (row, &value) in source.typed::<S>().iter().enumerate() {
            match convert(value) {
                Some(value) => target.push(value),
                None if self.is_null(row) => target.push(T::default()),
                None => {
                    return Err(self.unfit(row));
                }
            }
        }
        Ok(self.flat(Buffer::from_vec(target), Heap::default()))
    }

    /// An error for a value that the column's type does not keep as it is.
    fn unfit(&self, row: usize) -> Error {
        let is_coarse = !matches!(self.column.ty, ArrowType::Timestamp { unit: TimeUnit::Nano, .. });
        let fix = match self.ty {
            LogicalType::TimestampTz if !is_coarse => {
                "round it to microseconds, or take the zone away: timestamps in nanoseconds without one are TIMESTAMP_NS"
            }
            LogicalType::TimestampNs => {
                "convert it to microseconds, which reach farther, or leave it out before passing it"
            }
            _ => "round or leave it out before passing it",
        };
        Error::out_of_range(format!(
            "row {} of column \"{}\" has a value that {} cannot hold exactly; {fix}",
            self.first - self.column.shape.offset + row,
            self.column.name,
            self.ty
        ))
    }

    /// Times in microseconds, shared.
    fn times(self) -> Result<Vector> {
        let data = self.buffer::<i64>(1)?;
        let times = data.typed::<i64>();
        let is_unfit = |&row: &usize| time_of_day(times[row]).is_none() && !self.is_null(row);
        match (0..self.len).find(is_unfit) {
            Some(row) => Err(self.unfit(row)),
            None => Ok(self.flat(data, Heap::default())),
        }
    }

    fn decimal(self, width_bits: u16, precision: u8, zeros: u8) -> Result<Vector> {
        let carrier = self.ty.physical();
        let is_shared = zeros == 0 && usize::from(width_bits) == carrier.size() * 8;
        if is_shared {
            return self.shared(carrier);
        }
        let factor = 10i128.pow(u32::from(zeros));
        let limit = 10u128.pow(u32::from(precision));
        let kept = move |value: i128| value.checked_mul(factor).filter(|value| value.unsigned_abs() < limit);
        match width_bits {
            32 => self.scaled::<i32>(carrier, move |value| kept(value.into())),
            64 => self.scaled::<i64>(carrier, move |value| kept(value.into())),
            128 => self.scaled::<i128>(carrier, kept),
            // The low and the high half.
            256 => {
                let halves = self.column.shape.values::<i128>(1, self.first * 2, self.len * 2);
                let halves = halves.ok_or_else(|| self.column.missing())?;
                let wide = halves.typed::<i128>().chunks_exact(2).enumerate();
                let mut values = Vec::with_capacity(self.len);
                for (row, pair) in wide {
                    let is_sign = pair[1] == pair[0] >> 127;
                    match is_sign.then_some(pair[0]).and_then(kept) {
                        Some(value) => values.push(value),
                        None if self.is_null(row) => values.push(0),
                        None => return Err(self.unfit(row)),
                    }
                }
                self.narrowed(carrier, values)
            }
            _ => Err(self.unreadable()),
        }
    }

    /// Scaled integers of another width than a column's.
    fn scaled<S: Native>(self, carrier: PhysicalType, kept: impl Fn(S) -> Option<i128>) -> Result<Vector> {
        match carrier {
            PhysicalType::I16 => self.converted::<S, i16>(|value| kept(value)?.try_into().ok()),
            PhysicalType::I32 => self.converted::<S, i32>(|value| kept(value)?.try_into().ok()),
            PhysicalType::I64 => self.converted::<S, i64>(|value| kept(value)?.try_into().ok()),
            _ => self.converted::<S, i128>(kept),
        }
    }

    /// Scaled integers, which fit, as the column has them.
    fn narrowed(self, carrier: PhysicalType, values: Vec<i128>) -> Result<Vector> {
        let data = match carrier {
            PhysicalType::I16 => narrow::<i16>(&values),
            PhysicalType::I32 => narrow::<i32>(&values),
            PhysicalType::I64 => narrow::<i64>(&values),
            _ => Some(Buffer::from_vec(values)),
        };
        let data = data.ok_or_else(|| self.unreadable())?;
        Ok(self.flat(data, Heap::default()))
    }

    fn strings<O: Native + Into<i64>>(self) -> Result<Vector> {
        let broken = || malformed(&self.column.name, "has string offsets that are negative or not ascending");
        let shape = &self.column.shape;
        let offsets = shape.values::<O>(1, self.first, self.len + 1).ok_or_else(|| self.column.missing())?;
        let offsets = offsets.typed::<O>();
        let at =
            |index: usize| -> Result<usize> { usize::try_from(offsets[index].into()).map_err(|_| broken()) };
        let (base, end) = (at(0)?, at(self.len)?);
        let size = end.checked_sub(base).ok_or_else(broken)?;
        let bytes = shape.bytes(2, base, size).ok_or_else(|| self.column.missing())?;
        let data = bytes.bytes();

        // Heap buffers are windows of at most 2 GiB over the host's bytes, because a view's offset has 32 bits.
        let mut windows: Vec<usize> = vec![0];
        let mut window = 0;
        let mut views = Vec::with_capacity(self.len);
        let (mut low, mut any_long) = (0, false);
        for next in &offsets[1..=self.len] {
            let next: i64 = (*next).into();
            let high = (next as usize).wrapping_sub(base);
            if next < 0 || high < low || high > size || high - low > i32::MAX as usize {
                return Err(broken());
            }
            if high - window > i32::MAX as usize {
                window = low;
                windows.push(window);
            }
            any_long |= high - low > INLINE_LIMIT;
            views.push(view_of(data, low, high, windows.len() as u32 - 1, (low - window) as u32));
            low = high;
        }
        let heap = if any_long {
            let ends = windows.iter().skip(1).copied().chain(Some(size));
            Heap::new(windows.iter().zip(ends).map(|(&from, to)| bytes.slice(from, to - from)).collect())
        } else {
            Heap::default()
        };
        if self.is_text() && !data.is_ascii() {
            self.check_texts(&mut views, &heap)?;
        }
        Ok(self.flat(Buffer::from_vec(views), heap))
    }

    fn is_text(&self) -> bool {
        self.ty != LogicalType::Blob
    }

    /// Refuses texts that are not UTF-8; what stands in NULL rows is anything.
    fn check_texts(&self, views: &mut [View], heap: &Heap) -> Result<()> {
        for (row, view) in views.iter_mut().enumerate() {
            if std::str::from_utf8(view.bytes(heap.buffers())).is_err() {
                if !self.is_null(row) {
                    let what = format!("has a text that is not UTF-8 in row {} of a batch", row + 1);
                    return Err(malformed(&self.column.name, &what).with_hint(
                        "bytes are kept as they are in an array of the type binary, which is BLOB",
                    ));
                }
                *view = View::EMPTY;
            }
        }
        Ok(())
    }

    fn views(self) -> Result<Vector> {
        let heap = self.column.view_heap()?.clone();
        let data = self.buffer::<View>(1)?;
        let sizes: Vec<usize> = heap.buffers().iter().map(Buffer::size).collect();
        let fits = |view: &View| {
            let size = sizes.get(view.buffer() as usize).copied().unwrap_or(0);
            view.offset() as usize + view.len() <= size
        };
        let is_text = self.is_text();
        let clean = |view: &View| {
            let is_whole = match view.is_inline() {
                true => same_view(view, &trimmed(*view)),
                false => fits(view) && has_own_prefix(view, &heap),
            };
            is_whole && (!is_text || std::str::from_utf8(view.bytes(heap.buffers())).is_ok())
        };
        if data.typed::<View>().iter().all(clean) {
            return Ok(self.flat(data, heap));
        }
        let mut views = data.typed::<View>().to_vec();
        for (row, view) in views.iter_mut().enumerate() {
            if self.is_null(row) {
                *view = View::EMPTY;
            } else if view.is_inline() {
                *view = trimmed(*view);
            } else if !fits(view) {
                return Err(malformed(
                    &self.column.name,
                    "has a string view that points outside of its buffers",
                ));
            } else if !has_own_prefix(view, &heap) {
                return Err(malformed(
                    &self.column.name,
                    "has a string view whose first bytes are not those of its text",
                ));
            }
        }
        if is_text {
            self.check_texts(&mut views, &heap)?;
        }
        Ok(self.flat(Buffer::from_vec(views), heap))
    }

    fn fixed_bytes(self, size: usize) -> Result<Vector> {
        let shape = &self.column.shape;
        let start = self.first.checked_mul(size).ok_or_else(|| self.column.missing())?;
        let total = self.len.checked_mul(size).ok_or_else(|| self.column.missing())?;
        let bytes = shape.bytes(1, start, total).ok_or_else(|| self.column.missing())?;
        let rows_per_window = (i32::MAX as usize / size.max(1)).max(1);
        let view = |row: usize| {
            let (window, within) = (row / rows_per_window, row % rows_per_window);
            view_of(bytes.bytes(), row * size, (row + 1) * size, window as u32, (within * size) as u32)
        };
        let views: Vec<View> = (0..self.len).map(view).collect();
        let mut windows = Vec::new();
        for from in (0..self.len).step_by(rows_per_window) {
            let rows = rows_per_window.min(self.len - from);
            windows.push(bytes.slice(from * size, rows * size));
        }
        Ok(self.flat(Buffer::from_vec(views), Heap::new(windows)))
    }

    fn codes(self, carrier: &LogicalType) -> Result<Vector> {
        let (dictionary, code_validity) = self.column.dictionary()?;
        let count = dictionary.values().len();
        let data = match carrier.physical() {
            PhysicalType::I32 | PhysicalType::U32 => {
                let shared = self.buffer::<u32>(1)?;
                if shared.typed::<u32>().iter().all(|&code| (code as usize) < count) {
                    shared
                } else {
                    self.checked_codes(shared.typed::<u32>().iter().map(|&code| u64::from(code)), count)?
                }
            }
            PhysicalType::I8 | PhysicalType::U8 => {
                self.checked_codes(self.buffer::<u8>(1)?.typed::<u8>().iter().map(|&c| u64::from(c)), count)?
            }
            PhysicalType::I16 | PhysicalType::U16 => self
                .checked_codes(self.buffer::<u16>(1)?.typed::<u16>().iter().map(|&c| u64::from(c)), count)?,
            PhysicalType::I64 | PhysicalType::U64 => {
                self.checked_codes(self.buffer::<u64>(1)?.typed::<u64>().iter().copied(), count)?
            }
            _ => return Err(self.unreadable()),
        };
        let mut validity = self.validity;
        if let Some(code_validity) = code_validity {
            let codes = data.typed::<u32>();
            let bits = Bitmap::from_fn(self.len, |row| code_validity.get(codes[row] as usize));
            validity = Bitmap::and_optional(validity.as_ref(), Some(&bits));
        }
        let coded = Vector::dictionary(Arc::clone(dictionary), data, self.len, validity);
        // Nested values are taken apart by operators, which expect them flat.
        Ok(if coded.ty().is_nested() { coded.flatten() } else { coded })
    }

    /// Codes as 32 bits; those of NULL rows become 0. A negative code reads as a large one.
    fn checked_codes(&self, codes: impl Iterator<Item = u64>, count: usize) -> Result<Buffer> {
        let mut target: Vec<u32> = Vec::with_capacity(self.len);
        for (row, code) in codes.enumerate() {
            if code < count as u64 && code <= u64::from(u32::MAX) {
                target.push(code as u32);
            } else if self.is_null(row) {
                target.push(0);
            } else {
                return Err(malformed(&self.column.name, "has a code outside of its dictionary"));
            }
        }
        Ok(Buffer::from_vec(target))
    }
}

/// The view of `data[low..high]`; short strings are loaded whole and masked where the buffer allows.
#[inline]
fn view_of(data: &[u8], low: usize, high: usize, buffer: u32, offset: u32) -> View {
    let len = high - low;
    if len > INLINE_LIMIT {
        return View::new(&data[low..high], buffer, offset);
    }
    let Some(&raw) = data.get(low..).and_then(|rest| rest.first_chunk::<16>()) else {
        return View::inline(&data[low..high]);
    };
    let text = u128::from_le_bytes(raw) & ((1u128 << (len * 8)) - 1);
    View { head: len as u64 | (text as u64) << 32, tail: (text >> 32) as u64 }
}

/// An inline view with zeros behind its text, as comparing expects.
#[inline]
fn trimmed(view: View) -> View {
    let text = u128::from(view.head >> 32) | u128::from(view.tail) << 32;
    let text = text & ((1u128 << (view.len() * 8)) - 1);
    View { head: view.len() as u64 | (text as u64) << 32, tail: (text >> 32) as u64 }
}

/// Whether a long view begins as its text does.
fn has_own_prefix(view: &View, heap: &Heap) -> bool {
    view.bytes(heap.buffers()).starts_with(&view.prefix())
}

fn same_view(left: &View, right: &View) -> bool {
    left.head == right.head && left.tail == right.tail
}

fn narrow<T: Native + TryFrom<i128>>(values: &[i128]) -> Option<Buffer> {
    let values: Option<Vec<T>> = values.iter().map(|&value| T::try_from(value).ok()).collect();
    values.map(Buffer::from_vec)
}

fn interval(months: i32, days: i32, micros: i64) -> Interval {
    Interval { months, days, micros }
}

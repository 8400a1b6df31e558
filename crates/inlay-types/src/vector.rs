//! A column of values in flight.
//!
//! ```text
//! Flat        data: len values             validity: len bits, or absent
//! Constant    data: 1 value                validity: 1 bit (clear: all NULL), or absent
//! Dictionary  data: len codes (u32)        validity: len bits, or absent; values in the shared Dictionary
//! ```
//! Invariants
//! - Values at NULL positions are unspecified but initialised; views there are valid views and codes are in range.
//!   Storage and delivered results go further: NULL slots hold the host's NA ([`Vector::normalize_nulls`]).
//! - A dictionary's values are flat, without NULL, and at least one.
//! - Views point into `heap`.

use crate::pick::pick;
use crate::value::{Interval, NA, Value};
use crate::view::{Heap, View};
use crate::{Bitmap, Buffer, Error, LogicalType, Native, PhysicalType, Reservation, Result, VectorBuilder};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Distinct values shared by the codes of dictionary vectors.
#[derive(Debug)]
pub struct Dictionary {
    values: Vector,
    id: u64,
    /// `None`: they are sorted.
    order: OnceLock<Option<Box<[u32]>>>,
}

impl Dictionary {
    /// A dictionary of flat, non-NULL values. Values need not be sorted, nor even distinct.
    pub fn new(values: Vector) -> Arc<Self> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        debug_assert!(matches!(values.kind(), VectorKind::Flat) && values.null_count() == 0);
        Arc::new(Self { values, id: NEXT_ID.fetch_add(1, Ordering::Relaxed), order: OnceLock::new() })
    }

    /// The values by code.
    pub fn values(&self) -> &Vector {
        &self.values
    }

    /// A number that no other dictionary of this process has; caches of per-code results are keyed by it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The codes of texts in ascending order of their bytes, found once; `None` if that is the order of the codes, without
    /// duplicates.
    pub fn order(&self) -> Option<&[u32]> {
        let order = self.order.get_or_init(|| {
            let (views, heap) = (self.values.views(), self.values.heap().buffers());
            let compare = |a: &View, b: &View| a.compare(heap, b, heap);
            if views.is_sorted_by(|a, b| compare(a, b).is_lt()) {
                return None;
            }
            let mut order: Vec<u32> = (0..views.len() as u32).collect();
            order.sort_unstable_by(|a, b| compare(&views[*a as usize], &views[*b as usize]));
            Some(order.into())
        });
        order.as_deref()
    }
}

/// How a vector's values lie.
#[derive(Clone, Debug)]
pub enum VectorKind {
    /// One value per row.
    Flat,
    /// One value for all rows.
    Constant,
    /// One code per row into shared values.
    Dictionary(Arc<Dictionary>),
}

/// A column of `len` values of one type. Cloning shares the memory.
#[derive(Clone, Debug)]
pub struct Vector {
    ty: LogicalType,
    kind: VectorKind,
    len: usize,
    data: Buffer,
    validity: Option<Bitmap>,
    heap: Heap,
}

impl Vector {
    /// An empty flat vector, to be filled by a kernel (see [`Vector::reset_flat`]).
    pub fn empty(ty: LogicalType) -> Self {
        Self::flat(ty, 0, Buffer::default(), None, Heap::default())
    }

    /// A flat vector of `len` values in `data`.
    ///
    /// Panics when `data` or `validity` is too short.
    pub fn flat(ty: LogicalType, len: usize, data: Buffer, validity: Option<Bitmap>, heap: Heap) -> Self {
        assert!(data.size() >= len * ty.physical().size(), "buffer is shorter than its vector");
        assert!(validity.as_ref().is_none_or(|v| v.len() >= len), "validity is shorter than its vector");
        Self { ty, kind: VectorKind::Flat, len, data, validity, heap }
    }

    /// A flat vector of a fixed-width type without NULLs. `T` is the carrier of `ty`.
    pub fn from_values<T: Native>(ty: LogicalType, values: &[T]) -> Self {
        assert_eq!(size_of::<T>(), ty.physical().size(), "values are not of the type's carrier");
        Self::flat(ty, values.len(), Buffer::copy_of(values), None, Heap::default())
    }

    /// A flat vector of values of any kind, cast-free: each value is NULL or of type `ty`.
    pub fn from_sql_values(ty: LogicalType, values: &[Value]) -> Result<Self> {
        let mut builder = VectorBuilder::new(ty, values.len());
        for value in values {
            builder.push(value)?;
        }
        Ok(builder.finish())
    }

    /// `len` times `value`, which is NULL or of type `ty`.
    pub fn constant(ty: LogicalType, value: &Value, len: usize) -> Result<Self> {
        let mut one = Self::from_sql_values(ty, std::slice::from_ref(value))?;
        one.kind = VectorKind::Constant;
        one.len = len;
        Ok(one)
    }

    /// `len` times the value at `row`, which is not copied.
    ///
    /// Panics when `row` is not below the number of rows.
    pub fn repeated(&self, row: usize, len: usize) -> Self {
        let mut one = self.slice(row, 1).flatten();
        one.kind = VectorKind::Constant;
        one.len = len;
        one
    }

    /// `len` NULLs.
    pub fn nulls(ty: LogicalType, len: usize) -> Self {
        let data = Buffer::zeroed(ty.physical().size());
        let validity = Some(Bitmap::filled(1, false));
        Self { ty, kind: VectorKind::Constant, len, data, validity, heap: Heap::default() }
    }

    /// Codes into a dictionary. Each code is below the number of the dictionary's values.
    ///
    /// Panics when `codes` or `validity` is too short.
    pub fn dictionary(
        dictionary: Arc<Dictionary>,
        codes: Buffer,
        len: usize,
        validity: Option<Bitmap>,
    ) -> Self {
        assert!(codes.size() >= len * 4, "codes are shorter than their vector");
        assert!(validity.as_ref().is_none_or(|v| v.len() >= len), "validity is shorter than its vector");
        let ty = dictionary.values.ty.clone();
        Self {
            ty,
            kind: VectorKind::Dictionary(dictionary),
            len,
            data: codes,
            validity,
            heap: Heap::default(),
        }
    }

    /// The SQL type.
    #[inline]
    pub fn logical_type(&self) -> LogicalType {
        self.ty.clone()
    }

    /// The SQL type, borrowed.
    #[inline]
    pub fn ty(&self) -> &LogicalType {
        &self.ty
    }

    /// The carrier.
    #[inline]
    pub fn physical_type(&self) -> PhysicalType {
        self.ty.physical()
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How the values lie.
    #[inline]
    pub fn kind(&self) -> &VectorKind {
        &self.kind
    }

    /// Whether all rows hold one value.
    #[inline]
    pub fn is_constant(&self) -> bool {
        matches!(self.kind, VectorKind::Constant)
    }

    /// Whether there is one value per row.
    #[inline]
    pub fn is_flat(&self) -> bool {
        matches!(self.kind, VectorKind::Flat)
    }

    /// The dictionary, if this is a vector of codes.
    #[inline]
    pub fn as_dictionary(&self) -> Option<&Arc<Dictionary>> {
        match &self.kind {
            VectorKind::Dictionary(dictionary) => Some(dictionary),
            VectorKind::Flat | VectorKind::Constant => None,
        }
    }

    /// Codes of a dictionary vector, `len` of them.
    #[inline]
    pub fn codes(&self) -> &[u32] {
        debug_assert!(self.as_dictionary().is_some());
        &self.data.typed::<u32>()[..self.len]
    }

    /// Values of a flat vector (`len`) or of a constant (1). `T` is the carrier of the type.
    ///
    /// Panics for dictionaries, and when `T` has another width than the carrier.
    #[inline]
    pub fn values<T: Native>(&self) -> &[T] {
        assert_eq!(size_of::<T>(), self.ty.physical().size(), "values read as another type");
        match self.kind {
            VectorKind::Flat => &self.data.typed::<T>()[..self.len],
            VectorKind::Constant => &self.data.typed::<T>()[..1],
            VectorKind::Dictionary(_) => &[],
        }
    }

    /// The views of a flat or constant VARCHAR or BLOB vector.
    #[inline]
    pub fn views(&self) -> &[View] {
        self.values::<View>()
    }

    /// The memory of the values or codes; the rest is given up.
    pub fn into_data(self) -> Buffer {
        self.data
    }

    /// The raw buffer: values, or codes.
    pub fn data(&self) -> &Buffer {
        &self.data
    }

    /// Validity as stored; see the module documentation for its length. Absent: no NULLs.
    #[inline]
    pub fn validity(&self) -> Option<&Bitmap> {
        self.validity.as_ref()
    }

    /// The heap that views point into (that of the dictionary's values for a dictionary).
    #[inline]
    pub fn heap(&self) -> &Heap {
        match &self.kind {
            VectorKind::Dictionary(dictionary) => &dictionary.values.heap,
            VectorKind::Flat | VectorKind::Constant => &self.heap,
        }
    }

    /// Whether row `row` is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        let bit = if self.is_constant() { 0 } else { row };
        self.validity.as_ref().is_some_and(|v| !v.get(bit))
    }

    /// Whether every row is the constant NULL.
    pub fn is_constant_null(&self) -> bool {
        self.is_constant() && self.is_null(0)
    }

    /// Number of NULLs.
    pub fn null_count(&self) -> usize {
        match &self.validity {
            None => 0,
            Some(_) if self.is_constant_null() => self.len,
            Some(_) if self.is_constant() => 0,
            Some(validity) if validity.len() == self.len => self.len - validity.count_ones(),
            Some(validity) => self.len - validity.slice(0, self.len).count_ones(),
        }
    }

    /// Makes this a flat vector of `len` rows without NULLs whose values a kernel is about to write,
    /// reusing its memory when nobody shares it.
    pub fn reset_flat(&mut self, ty: &LogicalType, len: usize) {
        if self.ty != *ty {
            self.ty = ty.clone();
        }
        self.kind = VectorKind::Flat;
        self.len = len;
        self.validity = None;
        if !self.heap.buffers().is_empty() {
            self.heap = Heap::default();
        }
        self.data.reset(len * ty.physical().size());
    }

    /// The values for writing, after [`Vector::reset_flat`]; copied first when shared.
    ///
    /// Panics when not flat or when `T` has another width than the carrier.
    #[inline]
    pub fn values_mut<T: Native>(&mut self) -> &mut [T] {
        assert!(
            self.is_flat() && size_of::<T>() == self.ty.physical().size(),
            "values written as another type"
        );
        &mut self.data.make_mut::<T>()[..self.len]
    }

    /// Makes this a dictionary vector of `len` rows without NULLs whose codes a kernel is about to write, reusing its
    /// memory when nobody shares it.
    pub fn reset_dictionary(&mut self, dictionary: Arc<Dictionary>, len: usize) {
        self.ty = dictionary.values.ty.clone();
        self.kind = VectorKind::Dictionary(dictionary);
        self.len = len;
        self.validity = None;
        self.heap = Heap::default();
        self.data.reset(len * 4);
    }

    /// The codes for writing, after [`Vector::reset_dictionary`]; copied first when shared.
    #[inline]
    pub fn codes_mut(&mut self) -> &mut [u32] {
        debug_assert!(self.as_dictionary().is_some());
        &mut self.data.make_mut::<u32>()[..self.len]
    }

    /// Sets the validity: `len` bits (1 for a constant), or absent.
    pub fn set_validity(&mut self, validity: Option<Bitmap>) {
        let needed = if self.is_constant() { 1 } else { self.len };
        assert!(validity.as_ref().is_none_or(|v| v.len() >= needed), "validity is shorter than its vector");
        self.validity = validity;
    }

    /// Sets the heap that views point into.
    pub fn set_heap(&mut self, heap: Heap) {
        self.heap = heap;
    }

    /// The same memory seen as another type with the same carrier.
    ///
    /// Panics when carriers differ.
    pub fn reinterpret(mut self, ty: LogicalType) -> Self {
        assert_eq!(self.ty.physical(), ty.physical(), "carriers differ");
        if let VectorKind::Dictionary(dictionary) = &self.kind
            && dictionary.values.ty != ty
        {
            self.kind =
                VectorKind::Dictionary(Dictionary::new(dictionary.values.clone().reinterpret(ty.clone())));
        }
        self.ty = ty;
        self
    }

    /// Rows `offset .. offset + len`; shares values, and validity where offsets allow.
    pub fn slice(&self, offset: usize, len: usize) -> Self {
        assert!(offset + len <= self.len, "slice outside of vector");
        let mut part = self.clone();
        part.len = len;
        let width = match self.kind {
            VectorKind::Constant => return part,
            VectorKind::Flat => self.ty.physical().size(),
            VectorKind::Dictionary(_) => 4,
        };
        part.data = self.data.slice(offset * width, len * width);
        part.validity = self.validity.as_ref().map(|v| v.slice(offset, len));
        part
    }

    /// The same rows as a flat vector; shares memory when flat already.
    pub fn flatten(&self) -> Self {
        match &self.kind {
            VectorKind::Flat => self.clone(),
            VectorKind::Constant => {
                let mut flat = Self::empty(self.ty.clone());
                flat.reset_flat(&self.ty.clone(), self.len);
                flat.heap = self.heap.clone();
                match self.ty.physical().size() {
                    1 => flat.values_mut::<u8>().fill(self.data.typed::<u8>()[0]),
                    2 => flat.values_mut::<u16>().fill(self.data.typed::<u16>()[0]),
                    4 => flat.values_mut::<u32>().fill(self.data.typed::<u32>()[0]),
                    8 => flat.values_mut::<u64>().fill(self.data.typed::<u64>()[0]),
                    _ => flat.values_mut::<View>().fill(self.data.typed::<View>()[0]),
                }
                if self.is_constant_null() {
                    flat.validity = Some(Bitmap::filled(self.len, false));
                }
                flat
            }
            VectorKind::Dictionary(dictionary) => {
                let mut flat = dictionary.values.take(self.codes());
                flat.validity = self.validity.clone();
                flat
            }
        }
    }

    /// The rows at `rows` (each below `len`), of the same kind. Heaps and dictionaries are shared.
    pub fn take(&self, rows: &[u32]) -> Self {
        let mut part = self.clone();
        part.len = rows.len();
        if self.is_constant() {
            return part;
        }
        let width = if self.is_flat() { self.ty.physical().size() } else { 4 };
        part.data = match width {
            1 => take_values::<u8>(&self.data, rows),
            2 => take_values::<u16>(&self.data, rows),
            4 => take_values::<u32>(&self.data, rows),
            8 => take_values::<u64>(&self.data, rows),
            // Views are 8-byte aligned; 128-bit numbers may be read as two words as well.
            _ => take_values::<View>(&self.data, rows),
        };
        part.validity = self.validity.as_ref().map(|v| v.gather(rows));
        part
    }

    /// One value.
    ///
    /// Panics when `row` is not below `len`.
    pub fn get(&self, row: usize) -> Value {
        assert!(row < self.len, "row outside of vector");
        if self.is_null(row) {
            return Value::Null;
        }
        let index = match &self.kind {
            VectorKind::Flat => row,
            VectorKind::Constant => 0,
            VectorKind::Dictionary(dictionary) => return dictionary.values.get(self.codes()[row] as usize),
        };
        self.value_at(index)
    }

    /// The value at physical position `index` of a flat or constant vector, whether or not it is NULL.
    pub fn value_at(&self, index: usize) -> Value {
        let text = || self.data.typed::<View>()[index].bytes(self.heap.buffers());
        match &self.ty {
            LogicalType::Null => Value::Null,
            LogicalType::Boolean => Value::Boolean(self.data.bytes()[index] != 0),
            LogicalType::Real => Value::Real(self.data.typed::<f32>()[index]),
            LogicalType::Double => Value::Double(self.data.typed::<f64>()[index]),
            LogicalType::Varchar => Value::Varchar(String::from_utf8_lossy(text()).into_owned()),
            LogicalType::Json => Value::Json(String::from_utf8_lossy(text()).into_owned()),
            LogicalType::Blob => Value::Blob(text().to_vec()),
            LogicalType::Bit => Value::Bit(text().to_vec()),
            LogicalType::Interval => Value::Interval(self.data.typed::<Interval>()[index]),
            LogicalType::UHugeInt => Value::UHugeInt(self.data.typed::<u128>()[index]),
            ty if ty.is_nested() => crate::nested::read::value(ty, text()),
            ty => Value::of_stored(ty, self.stored_i128(index)),
        }
    }

    /// The integer in memory at physical position `index` of a flat or constant vector carried as integers.
    pub fn stored_i128(&self, index: usize) -> i128 {
        match self.ty.physical() {
            PhysicalType::Bool | PhysicalType::U8 => i128::from(self.data.typed::<u8>()[index]),
            PhysicalType::I8 => i128::from(self.data.typed::<i8>()[index]),
            PhysicalType::I16 => i128::from(self.data.typed::<i16>()[index]),
            PhysicalType::I32 => i128::from(self.data.typed::<i32>()[index]),
            PhysicalType::I64 => i128::from(self.data.typed::<i64>()[index]),
            PhysicalType::I128 => self.data.typed::<i128>()[index],
            PhysicalType::U16 => i128::from(self.data.typed::<u16>()[index]),
            PhysicalType::U32 => i128::from(self.data.typed::<u32>()[index]),
            PhysicalType::U64 => i128::from(self.data.typed::<u64>()[index]),
            PhysicalType::U128 => self.data.typed::<u128>()[index] as i128,
            PhysicalType::F32 | PhysicalType::F64 | PhysicalType::View | PhysicalType::Interval => 0,
        }
    }

    /// Puts the host's NA into every NULL slot of a flat vector: NaN for floats ([`NA`] for doubles), the minimum for
    /// signed integers and what they carry, zero for unsigned and booleans, the empty view for strings.
    pub fn normalize_nulls(&mut self) {
        let Some(validity) = self.validity.take() else { return };
        if self.is_flat() {
            let validity = &validity;
            match self.ty.physical() {
                PhysicalType::Bool | PhysicalType::U8 => fill_nulls(self.values_mut(), validity, 0u8),
                PhysicalType::I8 => fill_nulls(self.values_mut(), validity, i8::MIN),
                PhysicalType::I16 => fill_nulls(self.values_mut(), validity, i16::MIN),
                PhysicalType::I32 => fill_nulls(self.values_mut(), validity, i32::MIN),
                PhysicalType::I64 => fill_nulls(self.values_mut(), validity, i64::MIN),
                PhysicalType::I128 => fill_nulls(self.values_mut(), validity, i128::MIN),
                PhysicalType::U16 => fill_nulls(self.values_mut(), validity, 0u16),
                PhysicalType::U32 => fill_nulls(self.values_mut(), validity, 0u32),
                PhysicalType::U64 => fill_nulls(self.values_mut(), validity, 0u64),
                PhysicalType::U128 => fill_nulls(self.values_mut(), validity, 0u128),
                PhysicalType::F32 => fill_nulls(self.values_mut(), validity, f32::NAN),
                PhysicalType::F64 => fill_nulls(self.values_mut(), validity, NA),
                PhysicalType::View => fill_nulls(self.values_mut(), validity, View::EMPTY),
                PhysicalType::Interval => fill_nulls(self.values_mut(), validity, Interval::default()),
            }
        }
        self.validity = Some(validity);
    }

    /// The same vector, whose memory is counted by `reservation` for as long as it lives.
    pub fn holding(mut self, reservation: Option<Reservation>) -> Self {
        self.hold(reservation);
        self
    }

    /// Has `reservation` kept for as long as the memory lives. Texts lie in the heap, of which the first buffer keeps it, and
    /// nested values, too.
    pub fn hold(&mut self, reservation: Option<Reservation>) {
        let Some(reservation) = reservation else { return };
        match self.heap.buffers().split_first() {
            Some((first, others)) => {
                let first = first.clone().holding(reservation);
                self.heap = Heap::new(std::iter::once(first).chain(others.iter().cloned()).collect());
            }
            None => self.data = std::mem::take(&mut self.data).holding(reservation),
        }
    }

    /// The memory goes to the host and is no longer counted; see [`Vector::hold`].
    pub fn let_go(&self) {
        self.data.let_go();
        self.heap.buffers().iter().for_each(Buffer::let_go);
        if let VectorKind::Dictionary(dictionary) = &self.kind {
            dictionary.values.let_go();
        }
    }

    /// Bytes of the texts of all rows, those that lie in their views among them: what a copy of the rows takes beside its views,
    /// however often rows share a text. 0 for other types.
    pub fn text_size(&self) -> usize {
        if self.physical_type() != PhysicalType::View {
            return 0;
        }
        match &self.kind {
            VectorKind::Flat => self.views().iter().map(View::len).sum(),
            VectorKind::Constant => {
                self.views().first().map_or(0, |view| view.len().saturating_mul(self.len))
            }
            VectorKind::Dictionary(dictionary) => {
                let views = dictionary.values.views();
                self.codes().iter().map(|&code| views[code as usize].len()).sum()
            }
        }
    }

    /// Bytes that this vector keeps alive; shared memory counts fully.
    pub fn memory_size(&self) -> usize {
        let heap: usize = self.heap.buffers().iter().map(Buffer::size).sum();
        self.data.size() + heap + self.validity.as_ref().map_or(0, |v| v.buffer().size())
    }

    /// A carrier slice check used by importers: an error instead of a panic.
    pub fn expect_type(&self, ty: &LogicalType) -> Result<()> {
        if self.ty == *ty {
            Ok(())
        } else {
            Err(Error::internal(format!("expected a vector of {ty}, found {}", self.ty)))
        }
    }
}

fn take_values<T: Native>(data: &Buffer, rows: &[u32]) -> Buffer {
    let source = data.typed::<T>();
    let mut target = Buffer::default();
    target.reset(size_of_val(rows) / 4 * size_of::<T>());
    pick(source, 0, rows, target.make_mut::<T>());
    target
}

fn fill_nulls<T: Native>(values: &mut [T], validity: &Bitmap, na: T) {
    for (word_index, &word) in validity.words().iter().enumerate() {
        let mut nulls = !word;
        while nulls != 0 {
            let row = word_index * 64 + nulls.trailing_zeros() as usize;
            if row >= values.len() {
                return;
            }
            values[row] = na;
            nulls &= nulls - 1;
        }
    }
}

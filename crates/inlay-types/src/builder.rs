//! Building a flat vector value by value or vector by vector.
//!
//! Used where rows arrive one at a time (VALUES, CSV, group keys) and where batches are joined into a
//! column (`append`). Kernels write into scratch vectors instead.

#![expect(unsafe_code, reason = "memory of a builder that becomes a buffer")]

use crate::bitmap::append_words;
use crate::value::{Interval, NA, Value};
use crate::view::{HeapBuilder, View};
use crate::{Bitmap, Buffer, Error, LogicalType, Native, PhysicalType, Result, Vector, VectorKind};

#[derive(Debug)]
enum Storage {
    W1(Vec<u8>),
    W2(Vec<u16>),
    W4(Vec<u32>),
    W8(Vec<u64>),
    W16(Vec<u128>),
    Views(Vec<View>, HeapBuilder),
}

/// Collects values of one type into a flat vector.
#[derive(Debug)]
pub struct VectorBuilder {
    ty: LogicalType,
    storage: Storage,
    validity: Vec<u64>,
    null_count: usize,
    len: usize,
}

impl VectorBuilder {
    /// A builder of values of type `ty` with room for `capacity` of them.
    pub fn new(ty: LogicalType, capacity: usize) -> Self {
        let storage = match ty.physical() {
            PhysicalType::View => Storage::Views(Vec::with_capacity(capacity), HeapBuilder::new()),
            other => match other.size() {
                1 => Storage::W1(Vec::with_capacity(capacity)),
                2 => Storage::W2(Vec::with_capacity(capacity)),
                4 => Storage::W4(Vec::with_capacity(capacity)),
                8 => Storage::W8(Vec::with_capacity(capacity)),
                _ => Storage::W16(Vec::with_capacity(capacity)),
            },
        };
        Self { ty, storage, validity: Vec::new(), null_count: 0, len: 0 }
    }

    /// An empty builder in the memory of values that another one of the same carrier made, if nobody else holds it.
    pub fn reusing(ty: LogicalType, data: Buffer) -> Self {
        let storage = match ty.physical() {
            PhysicalType::View => Storage::Views(emptied(data), HeapBuilder::new()),
            other => match other.size() {
                1 => Storage::W1(emptied(data)),
                2 => Storage::W2(emptied(data)),
                4 => Storage::W4(emptied(data)),
                8 => Storage::W8(emptied(data)),
                _ => Storage::W16(emptied(data)),
            },
        };
        Self { ty, storage, validity: Vec::new(), null_count: 0, len: 0 }
    }

    /// The type of the values.
    pub fn logical_type(&self) -> LogicalType {
        self.ty.clone()
    }

    /// Makes room for `rows` rows in all.
    pub fn reserve(&mut self, rows: usize) {
        let more = rows.saturating_sub(self.len);
        match &mut self.storage {
            Storage::W1(v) => v.reserve_exact(more),
            Storage::W2(v) => v.reserve_exact(more),
            Storage::W4(v) => v.reserve_exact(more),
            Storage::W8(v) => v.reserve_exact(more),
            Storage::W16(v) => v.reserve_exact(more),
            Storage::Views(v, _) => v.reserve_exact(more),
        }
    }

    /// Rows that there is room for.
    pub fn capacity(&self) -> usize {
        match &self.storage {
            Storage::W1(v) => v.capacity(),
            Storage::W2(v) => v.capacity(),
            Storage::W4(v) => v.capacity(),
            Storage::W8(v) => v.capacity(),
            Storage::W16(v) => v.capacity(),
            Storage::Views(v, _) => v.capacity(),
        }
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of strings that do not lie in their views.
    pub fn text_size(&self) -> usize {
        if let Storage::Views(_, heap) = &self.storage { heap.size() } else { 0 }
    }

    /// Bytes of the last row that do not lie in its view.
    pub fn last_text_size(&self) -> usize {
        let Storage::Views(views, _) = &self.storage else { return 0 };
        views.last().map_or(0, |view| view.len()).saturating_sub(crate::view::INLINE_LIMIT)
    }

    /// Bytes held, room for rows to come among them.
    pub fn memory_size(&self) -> usize {
        let heap = if let Storage::Views(_, heap) = &self.storage { heap.memory_size() } else { 0 };
        self.capacity() * self.ty.physical().size() + heap + self.validity.capacity() * 8
    }

    #[inline]
    fn push_bit(&mut self, valid: bool) {
        if self.len.is_multiple_of(64) {
            self.validity.push(0);
        }
        if let Some(word) = self.validity.last_mut() {
            *word |= u64::from(valid) << (self.len % 64);
        }
        self.null_count += usize::from(!valid);
        self.len += 1;
    }

    /// Appends NULL (the slot holds the host's NA).
    pub fn push_null(&mut self) {
        match (&mut self.storage, self.ty.physical()) {
            (Storage::Views(views, _), _) => views.push(View::EMPTY),
            (Storage::W1(v), p) => v.push(if p == PhysicalType::I8 { i8::MIN as u8 } else { 0 }),
            (Storage::W2(v), p) => v.push(if p == PhysicalType::I16 { i16::MIN as u16 } else { 0 }),
            (Storage::W4(v), p) => v.push(match p {
                PhysicalType::I32 => i32::MIN as u32,
                PhysicalType::F32 => f32::NAN.to_bits(),
                _ => 0,
            }),
            (Storage::W8(v), p) => v.push(match p {
                PhysicalType::I64 => i64::MIN as u64,
                PhysicalType::F64 => NA.to_bits(),
                _ => 0,
            }),
            (Storage::W16(v), p) => v.push(if p == PhysicalType::I128 { i128::MIN as u128 } else { 0 }),
        }
        self.push_bit(false);
    }

    /// Appends the bytes of a VARCHAR or BLOB value.
    ///
    /// Panics for other types.
    #[inline]
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        let Storage::Views(views, heap) = &mut self.storage else { panic_type(&self.ty) };
        let view = heap.push(bytes);
        views.push(view);
        self.push_bit(true);
    }

    /// Appends the bytes of a VARCHAR or BLOB value. Long ones are not copied and leave an empty vector.
    ///
    /// Panics for other types.
    #[inline]
    pub fn push_from(&mut self, bytes: &mut Vec<u8>) {
        let Storage::Views(views, heap) = &mut self.storage else { panic_type(&self.ty) };
        let view = heap.push_from(bytes);
        views.push(view);
        self.push_bit(true);
    }

    /// Appends what `write` appends to the bytes of other values, as one VARCHAR or BLOB value; how many bytes it has.
    ///
    /// Panics for other types.
    #[inline]
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<usize> {
        let Storage::Views(views, heap) = &mut self.storage else { panic_type(&self.ty) };
        let view = heap.push_with(write)?;
        views.push(view);
        self.push_bit(true);
        Ok(view.len())
    }

    /// Appends `head` with `tail` behind it as one VARCHAR or BLOB value.
    ///
    /// Panics for other types.
    #[inline]
    pub fn push_pair(&mut self, head: &[u8], tail: &[u8]) {
        let Storage::Views(views, heap) = &mut self.storage else { panic_type(&self.ty) };
        let view = heap.push_pair(head, tail);
        views.push(view);
        self.push_bit(true);
    }

    /// Appends a value of the type's carrier.
    ///
    /// Panics when the width differs from the carrier's, and for VARCHAR and BLOB.
    #[inline]
    pub fn push_native<T: Native>(&mut self, value: T) {
        let one = Buffer1::of(value);
        match &mut self.storage {
            Storage::W1(v) if size_of::<T>() == 1 => v.push(one.0[0]),
            Storage::W2(v) if size_of::<T>() == 2 => v.push(u16::from_le_bytes([one.0[0], one.0[1]])),
            Storage::W4(v) if size_of::<T>() == 4 => v.push(u32::from_le_bytes(one.low())),
            Storage::W8(v) if size_of::<T>() == 8 => v.push(u64::from_le_bytes(one.low())),
            Storage::W16(v) if size_of::<T>() == 16 => v.push(u128::from_le_bytes(one.0)),
            _ => panic_type(&self.ty),
        }
        self.push_bit(true);
    }

    /// Appends a value from its bytes, as they lie in nested values; zeros stand for what is missing of a fixed width.
    pub fn push_packed(&mut self, bytes: &[u8]) {
        let raw = crate::nested::read::sixteen(bytes);
        match &mut self.storage {
            Storage::Views(..) => return self.push_bytes(bytes),
            Storage::W1(v) => v.push(raw[0]),
            Storage::W2(v) => v.push(u16::from_le_bytes([raw[0], raw[1]])),
            Storage::W4(v) => v.push(u32::from_le_bytes(Buffer1(raw).low())),
            Storage::W8(v) => v.push(u64::from_le_bytes(Buffer1(raw).low())),
            Storage::W16(v) => v.push(u128::from_le_bytes(raw)),
        }
        self.push_bit(true);
    }

    /// Appends a value of this builder's type, or NULL. A value of another type is an internal error.
    pub fn push(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Null => self.push_null(),
            Value::Varchar(text) | Value::Json(text) if self.ty.is_view() && !self.ty.is_nested() => {
                self.push_bytes(text.as_bytes())
            }
            Value::Blob(bytes) | Value::Bit(bytes) if self.ty.is_view() && !self.ty.is_nested() => {
                self.push_bytes(bytes)
            }
            nested if self.ty.is_nested() => {
                let mut bytes = Vec::new();
                crate::nested::write::push_value(&self.ty, nested, &mut bytes)?;
                self.push_bytes(&bytes);
            }
            Value::Real(v) if self.ty == LogicalType::Real => self.push_native(*v),
            Value::Double(v) if self.ty == LogicalType::Double => self.push_native(*v),
            Value::Interval(v) if self.ty == LogicalType::Interval => self.push_native::<Interval>(*v),
            Value::UHugeInt(v) if self.ty == LogicalType::UHugeInt => self.push_native(*v),
            other => return self.push_integer(other),
        }
        Ok(())
    }

    fn push_integer(&mut self, value: &Value) -> Result<()> {
        let wrong = || Error::internal(format!("{} value in a column of {}", value.logical_type(), self.ty));
        let found = value.logical_type();
        let same_scale = match (&found, &self.ty) {
            (LogicalType::Decimal { scale: a, .. }, LogicalType::Decimal { scale: b, .. }) => a == b,
            (a, b) => a == b || (*b == LogicalType::Null && *a == LogicalType::Integer),
        };
        let stored = value.as_stored_i128().filter(|_| same_scale).ok_or_else(wrong)?;
        match self.ty.physical() {
            PhysicalType::Bool | PhysicalType::U8 => self.push_native(stored as u8),
            PhysicalType::I8 => self.push_native(stored as i8),
            PhysicalType::I16 => self.push_native(i16::try_from(stored).map_err(|_| wrong())?),
            PhysicalType::U16 => self.push_native(stored as u16),
            PhysicalType::I32 => self.push_native(i32::try_from(stored).map_err(|_| wrong())?),
            PhysicalType::U32 => self.push_native(stored as u32),
            PhysicalType::I64 => self.push_native(i64::try_from(stored).map_err(|_| wrong())?),
            PhysicalType::U64 => self.push_native(stored as u64),
            PhysicalType::I128 => self.push_native(stored),
            PhysicalType::U128 => self.push_native(stored as u128),
            PhysicalType::F32 | PhysicalType::F64 | PhysicalType::View | PhysicalType::Interval => {
                return Err(wrong());
            }
        }
        Ok(())
    }

    /// Appends all rows of a vector of the same type. Strings are copied into this builder's heap.
    ///
    /// Panics when the carriers differ.
    pub fn append(&mut self, vector: &Vector) {
        assert_eq!(self.ty.physical(), vector.physical_type(), "appended vector is of another carrier");
        let flat = if matches!(vector.kind(), VectorKind::Flat) { vector.clone() } else { vector.flatten() };
        match &mut self.storage {
            Storage::W1(v) => v.extend_from_slice(flat.values()),
            Storage::W2(v) => v.extend_from_slice(flat.values()),
            Storage::W4(v) => v.extend_from_slice(flat.values()),
            Storage::W8(v) => v.extend_from_slice(flat.values()),
            Storage::W16(v) => v.extend_from_slice(flat.values()),
            Storage::Views(views, heap) => {
                let buffers = flat.heap().buffers();
                let copy = |heap: &mut HeapBuilder, view: &View| {
                    if view.is_inline() { *view } else { heap.push(view.bytes(buffers)) }
                };
                match flat.validity() {
                    None => views.extend(flat.views().iter().map(|view| copy(heap, view))),
                    Some(validity) => {
                        views.extend(flat.views().iter().enumerate().map(|(row, view)| {
                            if validity.get(row) { copy(heap, view) } else { View::EMPTY }
                        }))
                    }
                }
            }
        }
        let (from, added) = (self.len, flat.len());
        self.len += added;
        self.validity.resize(self.len.div_ceil(64), 0);
        let words = flat.validity().map(Bitmap::words);
        append_words(&mut self.validity, from, added, |index| words.map_or(u64::MAX, |words| words[index]));
        self.null_count += flat.null_count();
    }

    /// The vector of all rows.
    pub fn finish(self) -> Vector {
        let validity = (self.null_count > 0).then(|| Bitmap::from_words(self.validity, self.len));
        let (data, heap) = match self.storage {
            Storage::W1(v) => (Buffer::from_vec(v), Default::default()),
            Storage::W2(v) => (Buffer::from_vec(v), Default::default()),
            Storage::W4(v) => (Buffer::from_vec(v), Default::default()),
            Storage::W8(v) => (Buffer::from_vec(v), Default::default()),
            Storage::W16(v) => (Buffer::from_vec(v), Default::default()),
            Storage::Views(views, heap) => (Buffer::from_vec(views), heap.finish()),
        };
        Vector::flat(self.ty, self.len, data, validity, heap)
    }
}

/// The memory of a builder's values, without them.
fn emptied<T: Native>(data: Buffer) -> Vec<T> {
    let mut values = data.into_vec().unwrap_or_default();
    values.clear();
    values
}

struct Buffer1([u8; 16]);

impl Buffer1 {
    #[inline]
    fn of<T: Native>(value: T) -> Self {
        let mut raw = [0u8; 16];
        assert!(size_of::<T>() <= 16);
        // SAFETY: `T` is plain bytes without padding and fits into 16.
        unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast(), raw.as_mut_ptr(), size_of::<T>()) };
        Self(raw)
    }

    #[inline]
    fn low<const N: usize>(&self) -> [u8; N] {
        let mut low = [0; N];
        low.copy_from_slice(&self.0[..N]);
        low
    }
}

#[expect(clippy::panic, reason = "a caller's type confusion is a defect; panics are caught at the boundary")]
fn panic_type(ty: &LogicalType) -> ! {
    panic!("value pushed into a builder of {ty}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_pushed() {
        let rows = [Value::Integer(7), Value::Null, Value::Integer(-1)];
        let vector = Vector::from_sql_values(LogicalType::Integer, &rows).unwrap();
        assert_eq!((0..3).map(|i| vector.get(i)).collect::<Vec<_>>(), rows);
        assert_eq!(vector.null_count(), 1);
        assert_eq!(vector.values::<i32>()[1], i32::MIN);
    }

    #[test]
    fn strings_survive_append_slice_take_and_dictionaries() {
        let words = ["", "short", "exactly12byt", "a string that is too long for a view"];
        let mut builder = VectorBuilder::new(LogicalType::Varchar, 0);
        for word in words {
            builder.push_bytes(word.as_bytes());
        }
        builder.push_null();
        let vector = builder.finish();
        let mut twice = VectorBuilder::new(LogicalType::Varchar, 0);
        twice.append(&vector);
        twice.append(&vector.slice(1, 4));
        let twice = twice.finish();
        assert_eq!(twice.len(), 9);
        assert_eq!(twice.get(3), Value::Varchar(words[3].into()));
        assert_eq!(twice.get(7), Value::Varchar(words[3].into()));
        assert!(twice.get(8).is_null() && twice.get(4).is_null());
        assert_eq!(twice.take(&[7, 4]).get(0), Value::Varchar(words[3].into()));

        let dictionary = crate::Dictionary::new(vector.slice(0, 4).take(&[0, 1, 2, 3]));
        let codes = Buffer::copy_of(&[3u32, 0, 3]);
        let coded = Vector::dictionary(dictionary, codes, 3, None);
        assert_eq!(coded.flatten().get(2), Value::Varchar(words[3].into()));
        assert_eq!(coded.get(1), Value::Varchar(String::new()));
    }

    #[test]
    fn constants_flatten() {
        let five = Vector::constant(LogicalType::BigInt, &Value::BigInt(5), 3).unwrap();
        assert_eq!(five.flatten().values::<i64>(), &[5, 5, 5]);
        assert_eq!(Vector::nulls(LogicalType::Double, 4).flatten().null_count(), 4);
    }
}

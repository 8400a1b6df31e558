//! Batches as bytes, column by column.
//!
//! ```text
//! column   [ constant: 1 | validity: 1 | validity words | values                          ]   fixed width
//!          [ constant: 1 | validity: 1 | validity words | lengths: 4 each | strings       ]   strings
//! ```
//! Only the rows' own strings are written, so reading gives memory that is shared with nothing else. Dictionaries are
//! written as the values that they stand for.

use inlay_types::{
    Batch, Bitmap, Buffer, Error, Heap, LogicalType, Native, PhysicalType, Result, Vector, View,
};

/// Bytes of the strings that lie in the heap of a flat vector, in all.
pub(crate) fn string_size(vector: &Vector) -> usize {
    if !vector.logical_type().is_view() || !vector.is_flat() {
        return 0;
    }
    vector.views().iter().filter(|view| !view.is_inline()).map(View::len).sum()
}

/// Bytes that columns of `len` rows hold when they are read again.
pub fn memory_size(columns: &[Vector], len: usize) -> usize {
    let column = |vector: &Vector| len * vector.physical_type().size() + len / 8 + string_size(vector);
    columns.iter().map(column).sum()
}

/// The columns as bytes.
pub(super) fn encode(columns: &[Vector], len: usize) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(memory_size(columns, len) + 64);
    for column in columns {
        encode_column(column, len, &mut out)?;
    }
    Ok(out)
}

fn encode_column(vector: &Vector, len: usize, out: &mut Vec<u8>) -> Result<()> {
    let flattened;
    let (vector, rows) = if vector.is_constant() {
        (vector, len.min(1))
    } else if vector.is_flat() {
        (vector, len)
    } else {
        flattened = vector.flatten();
        (&flattened, len)
    };
    let validity = vector.validity();
    out.push(u8::from(vector.is_constant()));
    out.push(u8::from(validity.is_some()));
    if let Some(validity) = validity {
        validity.words()[..rows.div_ceil(64)].iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
    }
    if vector.physical_type() != PhysicalType::View {
        out.extend_from_slice(&vector.data().bytes()[..rows * vector.physical_type().size()]);
        return Ok(());
    }
    let heap = vector.heap().buffers();
    let views = &vector.data().typed::<View>()[..rows];
    let is_null = |row: usize| validity.is_some_and(|v| !v.get(row));
    let mut total = 0usize;
    for (row, view) in views.iter().enumerate() {
        let len = if is_null(row) { 0 } else { view.len() };
        total += len;
        out.extend_from_slice(&(len as u32).to_le_bytes());
    }
    if total > u32::MAX as usize {
        return Err(Error::unsupported("spilling strings of more than 4 GB in one batch"));
    }
    for (row, view) in views.iter().enumerate().filter(|(row, _)| !is_null(*row)) {
        debug_assert!(row < rows);
        out.extend_from_slice(view.bytes(heap));
    }
    Ok(())
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8]> {
        let (own, rest) = self.0.split_at_checked(size).ok_or_else(too_short)?;
        self.0 = rest;
        Ok(own)
    }

    fn flag(&mut self) -> Result<bool> {
        Ok(self.take(1)?[0] != 0)
    }
}

fn too_short() -> Error {
    Error::corrupt("rows in a temporary file end early")
}

/// The batch of `len` rows that was written.
pub(super) fn decode(bytes: &[u8], types: &[LogicalType], len: usize) -> Result<Batch> {
    let mut bytes = Bytes(bytes);
    let columns = types.iter().map(|ty| decode_column(&mut bytes, ty.clone(), len)).collect::<Result<_>>()?;
    Ok(Batch::new(columns, len))
}

fn decode_column(bytes: &mut Bytes<'_>, ty: LogicalType, len: usize) -> Result<Vector> {
    let (constant, nullable) = (bytes.flag()?, bytes.flag()?);
    let rows = if constant { len.min(1) } else { len };
    let validity = if nullable {
        let words = bytes.take(rows.div_ceil(64) * 8)?;
        let mut values = vec![0u64; rows.div_ceil(64)];
        for (word, raw) in values.iter_mut().zip(words.chunks_exact(8)) {
            let mut eight = [0; 8];
            eight.copy_from_slice(raw);
            *word = u64::from_le_bytes(eight);
        }
        Some(Bitmap::from_words(values, rows))
    } else {
        None
    };
    let (data, heap) = if ty.is_view() {
        decode_strings(bytes, rows)?
    } else {
        (copied::<u8>(bytes.take(rows * ty.physical().size())?), Heap::default())
    };
    let flat = Vector::flat(ty.clone(), rows, data, validity, heap);
    if !constant || len == 0 {
        return Ok(flat);
    }
    Vector::constant(ty, &flat.get(0), len)
}

fn copied<T: Native>(values: &[T]) -> Buffer {
    Buffer::copy_of(values)
}

fn decode_strings(bytes: &mut Bytes<'_>, rows: usize) -> Result<(Buffer, Heap)> {
    let lengths = bytes.take(rows * 4)?;
    let (mut views, mut long) = (Vec::with_capacity(rows), Vec::new());
    for length in lengths.chunks_exact(4) {
        let string = bytes.take(u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize)?;
        let view = View::new(string, 0, long.len() as u32);
        if !view.is_inline() {
            long.extend_from_slice(string);
        }
        views.push(view);
    }
    let heap = if long.is_empty() { Heap::default() } else { Heap::new(vec![Buffer::from_vec(long)]) };
    Ok((copied(&views), heap))
}

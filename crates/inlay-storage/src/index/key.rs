//! Keys as bytes whose order is the order of values, so that a radix tree can hold rows of any types.
//!
//! ```text
//! value    0 | bytes of the type           integers, decimals, dates   big-endian, sign bit flipped
//! NULL     1                               floats                      sign folded; -0.0 as 0.0, one NaN, on top
//!                                          intervals                   their order key, 80 bits
//!                                          strings, blobs              00 written as 00 FF, closed by 00 00
//! ```
//! Invariants
//! - Bytes compare as [`Value::total_cmp`] compares values of the type, column after column; NULL is above all.
//! - Keys over the same types are free of prefixes: no key begins with a whole other one. A key of the first columns is
//!   a prefix of exactly the keys that agree with it in these columns.
//!
//! Source: Leis et al., "The Adaptive Radix Tree", ICDE 2013, section IV.

mod sort;

use inlay_types::{Error, Interval, LogicalType, PhysicalType, Result, Value, Vector};

/// Longest key in bytes.
pub const KEY_SIZE_MAX: usize = 1 << 24;

const VALUE: u8 = 0;
const NULL: u8 = 1;
/// Bytes of an interval's order key: 2^31 months of 30 days are below 2^74 microseconds.
const INTERVAL_SIZE: usize = 10;

/// The keys of rows, one behind the other.
#[derive(Debug, Default)]
pub struct KeyRows {
    bytes: Vec<u8>,
    /// Where each row's key begins, and the end.
    offsets: Vec<usize>,
    /// Rows with a NULL in their key, if there are any.
    nulls: Option<Vec<bool>>,
}

impl KeyRows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key of a row.
    #[inline]
    pub fn key(&self, row: usize) -> &[u8] {
        &self.bytes[self.offsets[row]..self.offsets[row + 1]]
    }

    /// Whether a column of the row's key is NULL.
    pub fn has_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls[row])
    }

    /// The rows in ascending order of their keys, equal ones as they came; `None` if they are so already. Fails if the
    /// statement is cancelled.
    pub fn sorted(&self) -> Result<Option<Vec<u32>>> {
        sort::sorted(self)
    }
}

/// Keys of the rows of some columns, which are equally long.
pub fn encode_rows(columns: &[Vector]) -> Result<KeyRows> {
    let count = columns.first().map_or(0, Vector::len);
    if columns.iter().any(|column| column.len() != count) {
        return Err(Error::internal("key columns of different lengths"));
    }
    let columns: Vec<Vector> = columns.iter().map(Vector::flatten).collect();
    let mut ends = vec![0usize; count];
    let mut nulls: Option<Vec<bool>> = None;
    for column in &columns {
        add_sizes(column, &mut ends);
        if column.null_count() > 0 {
            let nulls = nulls.get_or_insert_with(|| vec![false; count]);
            nulls.iter_mut().enumerate().for_each(|(row, null)| *null |= column.is_null(row));
        }
    }
    let mut offsets = Vec::with_capacity(count + 1);
    let mut size = 0;
    offsets.push(0);
    for end in &mut ends {
        check_size(*end)?;
        // From here on the place where the row's next column goes.
        let start = size;
        size += *end;
        *end = start;
        offsets.push(size);
    }
    let mut bytes = vec![0; size];
    columns.iter().for_each(|column| write_column(column, &mut ends, &mut bytes));
    Ok(KeyRows { bytes, offsets, nulls })
}

/// The key of values of exactly the types `types`, or of their first columns if there are fewer values. A value of
/// another integer type is taken as the column's; `None` if it does not fit, so that no row can have it.
pub fn encode_values(values: &[Value], types: &[LogicalType]) -> Result<Option<Vec<u8>>> {
    if values.len() > types.len() {
        return Err(Error::internal(format!("{} values for a key of {}", values.len(), types.len())));
    }
    let mut out = Vec::new();
    for (value, ty) in values.iter().zip(types) {
        if value.is_null() {
            out.push(NULL);
            continue;
        }
        out.push(VALUE);
        if !push_value(value, ty.clone(), &mut out)? {
            return Ok(None);
        }
    }
    check_size(out.len())?;
    Ok(Some(out))
}

/// Whether the columns of vectors can be encoded as keys of these types; NULLs without a type take any.
pub fn check_types(columns: &[Vector], types: &[LogicalType]) -> Result<()> {
    let fits = |column: &Vector, ty: &LogicalType| {
        let found = column.logical_type();
        found == LogicalType::Null || (found.physical() == ty.physical() && found.is_view() == ty.is_view())
    };
    if columns.len() == types.len() && columns.iter().zip(types).all(|(column, ty)| fits(column, ty)) {
        return Ok(());
    }
    let found: Vec<String> = columns.iter().map(|c| c.logical_type().to_string()).collect();
    Err(Error::internal(format!("({}) for a key of other types", found.join(", "))))
}

/// The smallest byte string above all that begin with `bytes`; `None` if there is none.
pub fn successor(bytes: &[u8]) -> Option<Vec<u8>> {
    let last = bytes.iter().rposition(|byte| *byte != 0xFF)?;
    let mut next = bytes[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

fn check_size(size: usize) -> Result<()> {
    if size <= KEY_SIZE_MAX {
        return Ok(());
    }
    Err(Error::InvalidArgument {
        message: format!("a key of {size} bytes; an index takes keys of up to {KEY_SIZE_MAX} bytes"),
    })
}

fn add_sizes(column: &Vector, sizes: &mut [usize]) {
    let fixed = match column.physical_type() {
        PhysicalType::View => {
            let heap = column.heap();
            for (row, (size, view)) in sizes.iter_mut().zip(column.views()).enumerate() {
                *size += 1;
                if !column.is_null(row) {
                    let bytes = view.bytes(heap.buffers());
                    *size += bytes.len() + bytes.iter().filter(|byte| **byte == 0).count() + 2;
                }
            }
            return;
        }
        PhysicalType::Interval => INTERVAL_SIZE,
        other => other.size(),
    };
    match column.validity() {
        None => sizes.iter_mut().for_each(|size| *size += 1 + fixed),
        Some(_) => sizes.iter_mut().enumerate().for_each(|(row, size)| {
            *size += 1 + if column.is_null(row) { 0 } else { fixed };
        }),
    }
}

/// Writes every row's value at its place in `at` and moves that behind it.
fn write_column(column: &Vector, at: &mut [usize], out: &mut [u8]) {
    match column.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => write_fixed(column, at, out, |v: u8| [v]),
        PhysicalType::I8 => write_fixed(column, at, out, |v: i8| [v as u8 ^ 1 << 7]),
        PhysicalType::I16 => write_fixed(column, at, out, |v: i16| (v as u16 ^ 1 << 15).to_be_bytes()),
        PhysicalType::I32 => write_fixed(column, at, out, |v: i32| (v as u32 ^ 1 << 31).to_be_bytes()),
        PhysicalType::I64 => write_fixed(column, at, out, |v: i64| (v as u64 ^ 1 << 63).to_be_bytes()),
        PhysicalType::I128 => write_fixed(column, at, out, |v: i128| (v as u128 ^ 1 << 127).to_be_bytes()),
        PhysicalType::U16 => write_fixed(column, at, out, u16::to_be_bytes),
        PhysicalType::U32 => write_fixed(column, at, out, u32::to_be_bytes),
        PhysicalType::U64 => write_fixed(column, at, out, u64::to_be_bytes),
        PhysicalType::U128 => write_fixed(column, at, out, u128::to_be_bytes),
        PhysicalType::F32 => write_fixed(column, at, out, |v: f32| order_f32(v).to_be_bytes()),
        PhysicalType::F64 => write_fixed(column, at, out, |v: f64| order_f64(v).to_be_bytes()),
        PhysicalType::Interval => write_fixed(column, at, out, interval_bytes),
        PhysicalType::View => {
            let heap = column.heap();
            for (row, (at, view)) in at.iter_mut().zip(column.views()).enumerate() {
                if column.is_null(row) {
                    out[*at] = NULL;
                    *at += 1;
                    continue;
                }
                out[*at] = VALUE;
                *at += 1 + write_escaped(view.bytes(heap.buffers()), &mut out[*at + 1..]);
            }
        }
    }
}

fn write_fixed<T: inlay_types::Native, const N: usize>(
    column: &Vector,
    at: &mut [usize],
    out: &mut [u8],
    bytes: impl Fn(T) -> [u8; N],
) {
    let has_nulls = column.validity().is_some();
    for (row, (at, value)) in at.iter_mut().zip(column.values::<T>()).enumerate() {
        if has_nulls && column.is_null(row) {
            out[*at] = NULL;
            *at += 1;
            continue;
        }
        out[*at] = VALUE;
        out[*at + 1..*at + 1 + N].copy_from_slice(&bytes(*value));
        *at += 1 + N;
    }
}

/// Returns the number of bytes written.
fn write_escaped(bytes: &[u8], out: &mut [u8]) -> usize {
    let mut len = 0;
    for &byte in bytes {
        out[len] = byte;
        len += 1;
        if byte == 0 {
            out[len] = 0xFF;
            len += 1;
        }
    }
    out[len..len + 2].fill(0);
    len + 2
}

/// Appends a value as one of type `ty`; false if it does not fit.
fn push_value(value: &Value, ty: LogicalType, out: &mut Vec<u8>) -> Result<bool> {
    let mismatch = || Error::internal(format!("{} for a key of {ty}", value.logical_type()));
    match (value, ty.clone()) {
        (Value::Varchar(text), LogicalType::Varchar) => push_escaped(text.as_bytes(), out),
        (Value::Json(text), LogicalType::Json) => push_escaped(text.as_bytes(), out),
        (Value::Blob(bytes), LogicalType::Blob) => push_escaped(bytes, out),
        (Value::Bit(bytes), LogicalType::Bit) => push_escaped(bytes, out),
        (Value::Real(v), LogicalType::Real) => out.extend_from_slice(&order_f32(*v).to_be_bytes()),
        (Value::Double(v), LogicalType::Double) => out.extend_from_slice(&order_f64(*v).to_be_bytes()),
        (Value::Interval(v), LogicalType::Interval) => out.extend_from_slice(&interval_bytes(*v)),
        (Value::UHugeInt(v), LogicalType::UHugeInt) => out.extend_from_slice(&v.to_be_bytes()),
        _ => {
            let same_kind = match (value, ty.clone()) {
                (Value::Decimal { scale, .. }, LogicalType::Decimal { scale: wanted, .. }) => {
                    *scale == wanted
                }
                _ if value.logical_type() == ty => true,
                _ => value.logical_type().is_integer() && ty.is_integer(),
            };
            if !same_kind {
                return Err(mismatch());
            }
            let Some(stored) = value.as_stored_i128() else {
                // The only integer beyond i128 is an UHUGEINT above what any other type holds.
                return if matches!(value, Value::UHugeInt(_)) { Ok(false) } else { Err(mismatch()) };
            };
            return Ok(push_stored(stored, ty.physical(), out));
        }
    }
    Ok(true)
}

fn push_stored(stored: i128, ty: PhysicalType, out: &mut Vec<u8>) -> bool {
    macro_rules! push {
        ($signed:ty, $unsigned:ty, $flip:expr) => {
            match <$signed>::try_from(stored) {
                Ok(v) => out.extend_from_slice(&(v as $unsigned ^ $flip).to_be_bytes()),
                Err(_) => return false,
            }
        };
    }
    match ty {
        PhysicalType::Bool | PhysicalType::U8 => push!(u8, u8, 0),
        PhysicalType::U16 => push!(u16, u16, 0),
        PhysicalType::U32 => push!(u32, u32, 0),
        PhysicalType::U64 => push!(u64, u64, 0),
        PhysicalType::U128 => push!(u128, u128, 0),
        PhysicalType::I8 => push!(i8, u8, 1 << 7),
        PhysicalType::I16 => push!(i16, u16, 1 << 15),
        PhysicalType::I32 => push!(i32, u32, 1 << 31),
        PhysicalType::I64 => push!(i64, u64, 1 << 63),
        PhysicalType::I128 => push!(i128, u128, 1 << 127),
        PhysicalType::F32 | PhysicalType::F64 | PhysicalType::View | PhysicalType::Interval => return false,
    }
    true
}

fn push_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(0xFF);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn interval_bytes(value: Interval) -> [u8; INTERVAL_SIZE] {
    let ordered = (value.order_key() + (1 << 79)) as u128;
    let mut bytes = [0; INTERVAL_SIZE];
    bytes.copy_from_slice(&ordered.to_be_bytes()[16 - INTERVAL_SIZE..]);
    bytes
}

fn order_f64(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN.abs() } else { value + 0.0 };
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn order_f32(value: f32) -> u32 {
    let value = if value.is_nan() { f32::NAN.abs() } else { value + 0.0 };
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

#[cfg(test)]
mod tests;

//! Normalised sort keys: integers whose order is the order of rows.
//!
//! Each key value becomes an unsigned integer of its own width, NULLs below or above; as many as fit are packed into
//! the 128 bits of a row's prefix, most significant first. Most keys fit completely; where they do not (long strings, many
//! columns) equal prefixes are settled by comparing the values.

use inlay_sql::plan::SortKey;
use inlay_types::{Batch, PhysicalType, Vector, nested};
use std::cmp::Ordering;

/// Direction and place of NULLs of each key.
pub struct KeyOrder {
    keys: Vec<(bool, bool)>,
}

impl KeyOrder {
    /// Of these keys.
    pub fn new(keys: &[SortKey]) -> Self {
        Self { keys: keys.iter().map(|k| (k.descending, k.nulls_first)).collect() }
    }
}

/// Key values of the rows of a run, with their prefixes.
pub struct KeyColumns {
    batch: Batch,
    prefixes: Vec<u128>,
    /// The first key that is not completely in the prefix; the number of keys if all are.
    first_open: usize,
}

/// The prefix of a row that others are compared with.
pub struct Bound {
    prefix: u128,
}

impl Bound {
    /// Rows that may come before or tie with the bound.
    pub fn candidates(&self, order: &KeyOrder, keys: &Batch) -> Vec<u32> {
        let (prefixes, _) = prefixes(order, keys);
        (0..keys.len() as u32).filter(|&row| prefixes[row as usize] <= self.prefix).collect()
    }
}

impl KeyColumns {
    /// Normalises the keys of `batch`.
    pub fn new(order: &KeyOrder, batch: Batch) -> Self {
        let columns: Vec<Vector> = batch.columns().iter().map(Vector::flatten).collect();
        let batch = Batch::new(columns, batch.len());
        let (prefixes, first_open) = prefixes(order, &batch);
        Self { batch, prefixes, first_open }
    }

    /// The key values.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The row as a bound.
    pub fn bound(&self, row: usize) -> Bound {
        Bound { prefix: self.prefixes[row] }
    }

    /// All rows in order; ties by `places`.
    pub fn sorted_rows(&self, order: &KeyOrder, places: &[u64]) -> Vec<u32> {
        let mut rows: Vec<(u128, u32)> =
            self.prefixes.iter().enumerate().map(|(row, &prefix)| (prefix, row as u32)).collect();
        if self.first_open == self.batch.columns().len() {
            rows.sort_unstable_by(|a, b| {
                a.0.cmp(&b.0).then_with(|| places[a.1 as usize].cmp(&places[b.1 as usize]))
            });
        } else {
            rows.sort_unstable_by(|a, b| {
                a.0.cmp(&b.0)
                    .then_with(|| self.compare_open(order, a.1 as usize, self, b.1 as usize))
                    .then_with(|| places[a.1 as usize].cmp(&places[b.1 as usize]))
            });
        }
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// Order of a row of this run and a row of another.
    pub fn compare(&self, order: &KeyOrder, row: usize, other: &KeyColumns, other_row: usize) -> Ordering {
        self.prefixes[row]
            .cmp(&other.prefixes[other_row])
            .then_with(|| self.compare_open(order, row, other, other_row))
    }

    fn compare_open(&self, order: &KeyOrder, row: usize, other: &KeyColumns, other_row: usize) -> Ordering {
        let open = self.first_open.min(other.first_open);
        for (index, &(descending, nulls_first)) in order.keys.iter().enumerate().skip(open) {
            let (left, right) = (self.batch.column(index), other.batch.column(index));
            let ordering = compare_values(left, row, right, other_row, descending, nulls_first);
            if ordering.is_ne() {
                return ordering;
            }
        }
        Ordering::Equal
    }

    /// Whether two rows agree in the first `count` keys.
    pub fn same_prefix(&self, row: usize, other: usize, count: usize) -> bool {
        same_prefix(&self.batch, row, &self.batch, other, count)
    }
}

/// Whether rows of two batches of keys agree in the first `count` keys.
pub fn same_prefix(left: &Batch, row: usize, right: &Batch, other: usize, count: usize) -> bool {
    (0..count).all(|index| {
        compare_values(left.column(index), row, right.column(index), other, false, false).is_eq()
    })
}

fn compare_values(
    left: &Vector,
    row: usize,
    right: &Vector,
    other_row: usize,
    descending: bool,
    nulls_first: bool,
) -> Ordering {
    match (left.is_null(row), right.is_null(other_row)) {
        (true, true) => return Ordering::Equal,
        (true, false) => return if nulls_first { Ordering::Less } else { Ordering::Greater },
        (false, true) => return if nulls_first { Ordering::Greater } else { Ordering::Less },
        (false, false) => {}
    }
    let ordering = if left.ty().is_nested() {
        let bytes = |v: &Vector, row: usize| v.views()[row].bytes(v.heap().buffers()).to_vec();
        nested::compare(left.ty(), &bytes(left, row), &bytes(right, other_row))
    } else if left.ty().is_view() {
        let (a, b) = (&left.views()[row], &right.views()[other_row]);
        a.compare(left.heap().buffers(), b, right.heap().buffers())
    } else {
        left.get(row).total_cmp(&right.get(other_row))
    };
    if descending { ordering.reverse() } else { ordering }
}

/// The prefix of every row, and the first key that is not completely in it.
fn prefixes(order: &KeyOrder, keys: &Batch) -> (Vec<u128>, usize) {
    let mut prefixes = vec![0u128; keys.len()];
    let mut free = 128u32;
    for (index, &(descending, nulls_first)) in order.keys.iter().enumerate() {
        let column = keys.column(index).flatten();
        let width = key_bits(&column);
        // Runs must agree on the layout, so every key has a NULL bit, whether or not this batch has NULLs.
        if width + 1 > free {
            return (prefixes, index);
        }
        free -= width + 1;
        add_key(&column, descending, nulls_first, width, free, &mut prefixes);
        if !is_complete(&column) {
            return (prefixes, index);
        }
    }
    (prefixes, order.keys.len())
}

/// Bits of a normalised value.
fn key_bits(column: &Vector) -> u32 {
    match column.physical_type() {
        PhysicalType::View => 96,
        PhysicalType::I128 | PhysicalType::U128 | PhysicalType::Interval => 127,
        fixed => fixed.size() as u32 * 8,
    }
}

/// Whether the normalised values decide the order completely.
fn is_complete(column: &Vector) -> bool {
    let ty = column.physical_type();
    !matches!(ty, PhysicalType::I128 | PhysicalType::U128 | PhysicalType::Interval | PhysicalType::View)
}

fn add_key(
    column: &Vector,
    descending: bool,
    nulls_first: bool,
    width: u32,
    shift: u32,
    prefixes: &mut [u128],
) {
    let mask = if width == 128 { u128::MAX } else { (1u128 << width) - 1 };
    for (row, prefix) in prefixes.iter_mut().enumerate() {
        let bits = if column.is_null(row) {
            if nulls_first { 0 } else { 1u128 << width }
        } else {
            let value = normalise(column, row);
            let value = if descending { !value & mask } else { value & mask };
            // Values lie between NULLS FIRST (bit clear, value 0 with ties settled below) and NULLS LAST.
            if nulls_first { value | 1u128 << width } else { value }
        };
        *prefix |= bits << shift;
    }
}

/// A value as an unsigned integer in the order of values.
fn normalise(column: &Vector, row: usize) -> u128 {
    match column.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => u128::from(column.values::<u8>()[row]),
        PhysicalType::I8 => u128::from(column.values::<i8>()[row] as u8 ^ 1 << 7),
        PhysicalType::I16 => u128::from(column.values::<i16>()[row] as u16 ^ 1 << 15),
        PhysicalType::I32 => u128::from(column.values::<i32>()[row] as u32 ^ 1 << 31),
        PhysicalType::I64 => u128::from(column.values::<i64>()[row] as u64 ^ 1 << 63),
        PhysicalType::U16 => u128::from(column.values::<u16>()[row]),
        PhysicalType::U32 => u128::from(column.values::<u32>()[row]),
        PhysicalType::U64 => u128::from(column.values::<u64>()[row]),
        PhysicalType::I128 => (column.values::<i128>()[row] as u128 ^ 1 << 127) >> 1,
        PhysicalType::U128 => column.values::<u128>()[row] >> 1,
        PhysicalType::F32 => {
            let value = column.values::<f32>()[row];
            u128::from(order_f32(value))
        }
        PhysicalType::F64 => u128::from(order_f64(column.values::<f64>()[row])),
        PhysicalType::Interval => {
            let key = column.values::<inlay_types::Interval>()[row].order_key();
            (key as u128 ^ 1 << 127) >> 1
        }
        // Nested values are compared by their parts, see `compare_values`.
        PhysicalType::View if column.ty().is_nested() => 0,
        PhysicalType::View => {
            let bytes = column.views()[row].bytes(column.heap().buffers());
            let mut head = [0u8; 16];
            let count = bytes.len().min(12);
            head[4..4 + count].copy_from_slice(&bytes[..count]);
            u128::from_be_bytes(head)
        }
    }
}

/// NaN above everything, -0.0 as 0.0.
fn order_f64(value: f64) -> u64 {
    let value = if value.is_nan() {
        f64::NAN.abs()
    } else if value == 0.0 {
        0.0
    } else {
        value
    };
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn order_f32(value: f32) -> u32 {
    let value = if value.is_nan() {
        f32::NAN.abs()
    } else if value == 0.0 {
        0.0
    } else {
        value
    };
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

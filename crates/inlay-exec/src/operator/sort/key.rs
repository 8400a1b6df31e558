//! Normalised sort keys: integers whose order is the order of rows.
//!
//! Each key value becomes an unsigned integer of its own width, NULLs below or above; as many as fit are packed into
//! the 128 bits of a row's prefix, most significant first. Most keys fit completely; where they do not (long strings, many
//! columns) equal prefixes are settled by comparing the values.

use crate::operator::order::{KeyColumn, compare_across, order_f64};
use inlay_sql::plan::SortKey;
use inlay_types::sorting::sort_unstable_by;
use inlay_types::{Batch, Interval, Native, PhysicalType, Result, Vector, View};
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

    /// The keys with the columns that hold their values.
    pub(in crate::operator) fn columns<'a>(
        &'a self,
        columns: &'a [Vector],
    ) -> impl Iterator<Item = KeyColumn<'a>> {
        let keys = self.keys.iter().zip(columns);
        keys.map(|(&(descending, nulls_first), vector)| KeyColumn { vector, descending, nulls_first })
    }
}

/// Key values of the rows of a run, with their prefixes.
pub struct KeyColumns {
    batch: Batch,
    prefixes: Vec<u128>,
    /// The first key that is not completely in the prefix; the number of keys if all are.
    first_open: usize,
}

/// A row that others are compared with.
pub struct Bound {
    row: KeyColumns,
    place: u64,
}

impl Bound {
    /// The rows of `keys`, whose places begin with `first`, that come before the bound.
    pub fn candidates(&self, order: &KeyOrder, keys: &KeyColumns, first: u64) -> Vec<u32> {
        let bound = self.row.prefixes[0];
        let comes_before = |row: u32| {
            let (prefix, place) = (keys.prefixes[row as usize], first + u64::from(row));
            let settled = || keys.compare_open(order, row as usize, &self.row, 0);
            prefix < bound || prefix == bound && settled().then_with(|| place.cmp(&self.place)).is_lt()
        };
        (0..keys.batch.len() as u32).filter(|row| comes_before(*row)).collect()
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

    /// The key values, without the rest.
    pub fn into_batch(self) -> Batch {
        self.batch
    }

    /// The row as a bound.
    pub fn bound(&self, row: usize, place: u64) -> Bound {
        let batch = self.batch.take(&[row as u32]);
        let row = Self { batch, prefixes: vec![self.prefixes[row]], first_open: self.first_open };
        Bound { row, place }
    }

    /// All rows in order; ties by `places`.
    pub fn sorted_rows(&self, order: &KeyOrder, places: &[u64]) -> Result<Vec<u32>> {
        let mut rows: Vec<(u128, u32)> =
            self.prefixes.iter().enumerate().map(|(row, &prefix)| (prefix, row as u32)).collect();
        if self.first_open == self.batch.columns().len() {
            sort_unstable_by(&mut rows, |a, b| {
                a.0.cmp(&b.0).then_with(|| places[a.1 as usize].cmp(&places[b.1 as usize]))
            })?;
        } else {
            sort_unstable_by(&mut rows, |a, b| {
                a.0.cmp(&b.0)
                    .then_with(|| self.compare_open(order, a.1 as usize, self, b.1 as usize))
                    .then_with(|| places[a.1 as usize].cmp(&places[b.1 as usize]))
            })?;
        }
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// What a row is told apart by first; equal ones by the other columns, unless [`Self::is_complete_with`] says that there are none.
    pub fn prefix(&self, row: usize) -> u128 {
        self.prefixes[row]
    }

    /// Whether rows of this run and of another with equal prefixes are equal.
    pub fn is_complete_with(&self, other: &Self) -> bool {
        self.first_open.min(other.first_open) == self.batch.columns().len()
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
    let ordering = compare_across(left, row, right, other_row);
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
    // Values lie between NULLS FIRST (bit clear, value 0 with ties settled below) and NULLS LAST.
    let flip = if descending { mask } else { 0 };
    let above = if nulls_first { 1u128 << width } else { 0 };
    let null = if nulls_first { 0 } else { 1u128 << width };
    let bits = Bits { flip, mask, above, null, shift };
    match column.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => bits.add(column, prefixes, |v: u8| u128::from(v)),
        PhysicalType::I8 => bits.add(column, prefixes, |v: i8| u128::from(v as u8 ^ 1 << 7)),
        PhysicalType::I16 => bits.add(column, prefixes, |v: i16| u128::from(v as u16 ^ 1 << 15)),
        PhysicalType::I32 => bits.add(column, prefixes, |v: i32| u128::from(v as u32 ^ 1 << 31)),
        PhysicalType::I64 => bits.add(column, prefixes, |v: i64| u128::from(v as u64 ^ 1 << 63)),
        PhysicalType::U16 => bits.add(column, prefixes, |v: u16| u128::from(v)),
        PhysicalType::U32 => bits.add(column, prefixes, |v: u32| u128::from(v)),
        PhysicalType::U64 => bits.add(column, prefixes, |v: u64| u128::from(v)),
        PhysicalType::I128 => bits.add(column, prefixes, |v: i128| (v as u128 ^ 1 << 127) >> 1),
        PhysicalType::U128 => bits.add(column, prefixes, |v: u128| v >> 1),
        PhysicalType::F32 => bits.add(column, prefixes, |v: f32| u128::from(order_f32(v))),
        PhysicalType::F64 => bits.add(column, prefixes, |v: f64| u128::from(order_f64(v))),
        PhysicalType::Interval => {
            bits.add(column, prefixes, |v: Interval| (v.order_key() as u128 ^ 1 << 127) >> 1)
        }
        // Nested values are compared by their parts, see `compare_values`.
        PhysicalType::View if column.ty().is_nested() => bits.add(column, prefixes, |_: View| 0),
        PhysicalType::View => {
            let heap = column.heap().buffers();
            bits.add(column, prefixes, |view: View| {
                let bytes = view.bytes(heap);
                let mut head = [0u8; 16];
                match bytes.first_chunk::<12>() {
                    Some(first) => head[4..].copy_from_slice(first),
                    None => head[4..4 + bytes.len()].copy_from_slice(bytes),
                }
                u128::from_be_bytes(head)
            });
        }
    }
}

/// How a normalised value becomes bits of a prefix.
struct Bits {
    flip: u128,
    mask: u128,
    /// What is above the bits of every value, and of NULL.
    above: u128,
    null: u128,
    shift: u32,
}

impl Bits {
    fn add<T: Native>(&self, column: &Vector, prefixes: &mut [u128], normalise: impl Fn(T) -> u128) {
        let place = |value: T| ((normalise(value) ^ self.flip) & self.mask | self.above) << self.shift;
        let values = column.values::<T>();
        match column.validity() {
            None => prefixes.iter_mut().zip(values).for_each(|(prefix, value)| *prefix |= place(*value)),
            Some(validity) => {
                for (row, (prefix, value)) in prefixes.iter_mut().zip(values).enumerate() {
                    *prefix |= if validity.get(row) { place(*value) } else { self.null << self.shift };
                }
            }
        }
    }
}

/// As [`order_f64`].
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

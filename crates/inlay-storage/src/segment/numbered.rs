//! Numbers for all rows of a segment: equal values have equal ones. What the sets of a value are made by.

use super::Segment;
use super::distinct::StringTable;
use inlay_types::hash::HashValue;
use inlay_types::{Bitmap, MemoryBudget, Reservation, Result, Vector};

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Numbered {
    /// A number per row, in the order of the values; NULL has the one behind the last.
    pub numbers: Vec<u16>,
    /// The values, ascending, without NULL.
    pub values: Vector,
    /// Which rows are NULL, if there are any: a bit per row.
    pub nulls: Option<Vec<u64>>,
    /// What `numbers` and the decoded column take.
    _reservation: Reservation,
}

impl Segment {
    /// The rows' numbers; `None` if there are more than `limit` values, which is below 65,535, or if the values have no order that
    /// conditions follow: floats, nested values and others that have no zone maps.
    pub(crate) fn numbered(&self, limit: usize, budget: &MemoryBudget) -> Result<Option<Numbered>> {
        if !crate::value_sets::can_have_sets(&self.ty) {
            return Ok(None);
        }
        // Decoded values, numbers, and as much again while they are put in order.
        let reservation = budget.reserve(self.len as u64 * 20)?;
        let column = self.scan(0, self.len)?;
        let Some((mut numbers, firsts)) = first_rows(&column, limit) else { return Ok(None) };
        let values = column.take(&firsts).flatten();
        let mut order: Vec<u32> = (0..firsts.len() as u32).collect();
        let sortable: Vec<_> = (0..firsts.len()).map(|number| values.get(number)).collect();
        order.sort_by(|left, right| sortable[*left as usize].total_cmp(&sortable[*right as usize]));
        let mut ranks = vec![0u16; order.len()];
        order.iter().zip(0..).for_each(|(number, rank)| ranks[*number as usize] = rank);
        let behind = order.len() as u16;
        for number in &mut numbers {
            *number = ranks.get(usize::from(*number)).copied().unwrap_or(behind);
        }
        let nulls = (self.null_count > 0).then(|| {
            let bits = Bitmap::from_fn(self.len, |row| numbers[row] == behind);
            bits.words()[..self.len.div_ceil(64)].to_vec()
        });
        Ok(Some(Numbered { numbers, values: values.take(&order), nulls, _reservation: reservation }))
    }
}

/// What NULL has until the values are known.
const NULL: u16 = u16::MAX;

/// Numbers in the order of appearance, and the first row of each.
fn first_rows(column: &Vector, limit: usize) -> Option<(Vec<u16>, Vec<u32>)> {
    if let Some(dictionary) = column.as_dictionary() {
        let codes = column.codes();
        let mut known = vec![NULL; dictionary.values().len()];
        let mut firsts = Vec::new();
        return numbers_of(column, |row| {
            let number = &mut known[codes[row] as usize];
            if *number == NULL {
                *number = add(&mut firsts, row, limit)?;
            }
            Some(*number)
        })
        .map(|numbers| (numbers, firsts));
    }
    let flat = column.flatten();
    match flat.physical_type().size() {
        _ if flat.logical_type().is_view() => {
            let mut table = StringTable::new(flat.heap().buffers());
            let (views, mut firsts) = (flat.views(), Vec::new());
            let numbers = numbers_of(&flat, |row| {
                let number = table.code(&views[row]) as usize;
                if number == firsts.len() {
                    add(&mut firsts, row, limit)?;
                }
                Some(number as u16)
            })?;
            Some((numbers, firsts))
        }
        1 => first_patterns(&flat, flat.values::<u8>(), limit),
        2 => first_patterns(&flat, flat.values::<u16>(), limit),
        4 => first_patterns(&flat, flat.values::<u32>(), limit),
        8 => first_patterns(&flat, flat.values::<u64>(), limit),
        _ => first_patterns(&flat, flat.values::<u128>(), limit),
    }
}

fn add(firsts: &mut Vec<u32>, row: usize, limit: usize) -> Option<u16> {
    if firsts.len() == limit {
        return None;
    }
    firsts.push(row as u32);
    Some(firsts.len() as u16 - 1)
}

/// A number for each row, of those that are not NULL by `number`; `None` as soon as that gives none.
fn numbers_of(column: &Vector, mut number: impl FnMut(usize) -> Option<u16>) -> Option<Vec<u16>> {
    let mut numbers = Vec::with_capacity(column.len());
    for row in 0..column.len() {
        numbers.push(if column.is_null(row) { NULL } else { number(row)? });
    }
    Some(numbers)
}

/// By a table of bit patterns, at least half of whose slots are free.
fn first_patterns<P: HashValue + Eq>(
    column: &Vector,
    patterns: &[P],
    limit: usize,
) -> Option<(Vec<u16>, Vec<u32>)> {
    let slot_count = (2 * limit + 2).next_power_of_two();
    let mut slots: Vec<(u16, P)> = vec![(0, P::default()); slot_count];
    let mut firsts = Vec::new();
    let numbers = numbers_of(column, |row| {
        let pattern = patterns[row];
        let mut slot = pattern.hash_value() as usize & (slot_count - 1);
        loop {
            match slots[slot] {
                (0, _) => {
                    let number = add(&mut firsts, row, limit)?;
                    slots[slot] = (number + 1, pattern);
                    return Some(number);
                }
                (number, known) if known == pattern => return Some(number - 1),
                (_, _) => slot = (slot + 1) & (slot_count - 1),
            }
        }
    })?;
    Some((numbers, firsts))
}

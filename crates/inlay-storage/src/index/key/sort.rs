//! The order of rows by their keys, found in steps that are short enough to be cancelled between.
//!
//! ```text
//! rows, eight bytes of each key behind what all have in common --by leading bits--> buckets --each: again, or sorted if small-->
//! ```

use super::KeyRows;
use crate::interrupted::check_interrupt;
use inlay_types::Result;

/// Rows that are sorted by comparing.
const SMALL: usize = 1 << 12;
const BUCKET_BITS: u32 = 11;

/// Eight bytes of a row's key, and the row.
type Headed = (u64, u32);

/// The rows in ascending order of their keys, equal ones as they came; `None` if they are so already.
pub(super) fn sorted(keys: &KeyRows) -> Result<Option<Vec<u32>>> {
    if (1..keys.len()).all(|row| keys.key(row - 1) <= keys.key(row)) {
        return Ok(None);
    }
    let mut rows: Vec<Headed> = (0..keys.len() as u32).map(|row| (0, row)).collect();
    let mut spare = if rows.len() > SMALL { vec![(0, 0); rows.len()] } else { Vec::new() };
    // Ranges of rows whose keys agree in some first bytes.
    let mut open = vec![(0..rows.len(), 0)];
    while let Some((range, same)) = open.pop() {
        check_interrupt()?;
        let (start, rows) = (range.start, &mut rows[range.clone()]);
        let Some(same) = common(keys, rows, same) else { continue };
        rows.iter_mut().for_each(|(head, row)| *head = head_at(keys.key(*row as usize), same));
        if rows.len() <= SMALL {
            let rest = |row: u32| keys.key(row as usize).get(same + size_of::<u64>()..);
            rows.sort_unstable_by(|a, b| (a.0, rest(a.1), a.1).cmp(&(b.0, rest(b.1), b.1)));
            continue;
        }
        let ends = spread(rows, &mut spare[range]);
        for (bucket, &end) in ends.iter().enumerate() {
            let first = if bucket == 0 { 0 } else { ends[bucket - 1] };
            if end - first > 1 {
                open.push((start + first..start + end, same));
            }
        }
    }
    Ok(Some(rows.into_iter().map(|(_, row)| row).collect()))
}

/// How many first bytes all keys have in common, which `same` are known to be; `None` if they are equal.
fn common(keys: &KeyRows, rows: &[Headed], mut same: usize) -> Option<usize> {
    let first = keys.key(rows.first()?.1 as usize);
    let mut len = first.len();
    for (_, row) in &rows[1..] {
        let key = keys.key(*row as usize);
        let end = len.min(key.len());
        // Most keys that are not the first to differ agree in what is in common so far.
        if key.len() != first.len() || key[same..end] != first[same..end] {
            let differs = first[same..end].iter().zip(&key[same..end]).position(|(a, b)| a != b);
            len = differs.map_or(end, |at| same + at);
        }
        if len == same {
            return Some(same);
        }
    }
    same = len;
    (same < first.len()).then_some(same)
}

/// Eight bytes of a key from a place on, as a number in their order; zeroes behind its end.
fn head_at(key: &[u8], at: usize) -> u64 {
    let rest = key.get(at..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => {
            let mut head = [0; 8];
            head[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(head)
        }
    }
}

/// Puts rows into buckets that ascend by their heads; gives the buckets' ends. Rows of a bucket stay as they came.
fn spread(rows: &mut [Headed], spare: &mut [Headed]) -> Vec<usize> {
    let (min, max) =
        rows.iter().fold((u64::MAX, 0), |(min, max), (head, _)| (min.min(*head), max.max(*head)));
    let shift = (u64::BITS - (max - min).leading_zeros()).saturating_sub(BUCKET_BITS);
    let bucket = |head: u64| ((head - min) >> shift) as usize;
    let mut ends = vec![0; bucket(max) + 1];
    rows.iter().for_each(|(head, _)| ends[bucket(*head)] += 1);
    let mut start = 0;
    for end in &mut ends {
        start += std::mem::replace(end, start);
    }
    for row in rows.iter() {
        let place = &mut ends[bucket(row.0)];
        spare[*place] = *row;
        *place += 1;
    }
    rows.copy_from_slice(spare);
    ends
}

//! Aggregates that are computed anew for each frame: those that keep their rows, and DISTINCT in a frame that moves.

use super::Part;
use super::aggregate::{add_places, counted, distinct_frames, inputs};
use super::frames::Ranges;
use super::spec::Function;
use super::tree::NONE;
use crate::concat::concat;
use inlay_kernels::function::AggregateFunction;
use inlay_types::{Result, VECTOR_SIZE, Vector};

/// Rows that a state of frames computed anew may hold at once.
const ANEW_ROWS_MAX: usize = 1 << 20;

/// Which rows count.
pub(super) struct Anew {
    /// The rows that count.
    pub(super) mask: Option<Vec<bool>>,
    /// With DISTINCT: the place of the row before with the same arguments, in the same partition.
    pub(super) before: Option<Vec<u32>>,
}

/// The values of frames.
pub(super) fn from_rows(
    part: &Part,
    function: &Function,
    aggregate: &AggregateFunction,
    anew: &Anew,
    frames: &[Ranges],
) -> Result<Vector> {
    let (frames, index) = distinct_frames(frames);
    let count = frames.first().map_or(0, |frame| frame.begin.len());
    let inputs = inputs(function, aggregate);
    let mut pieces = Vec::new();
    let (mut places, mut ids) = (Vec::new(), Vec::new());
    let mut states = counted(part, function, aggregate)?;
    let (mut first, mut rows) = (0, 0);
    for number in 0..count {
        let (group, groups) = ((number - first) as u32, number - first + 1);
        states.resize(groups);
        let ranges: Vec<(u32, u32)> =
            frames.iter().map(|frame| (frame.begin[number], frame.end[number])).collect();
        for place in ranges.iter().flat_map(|&(begin, end)| begin..end) {
            let counts = anew.mask.as_ref().is_none_or(|mask| mask[place as usize])
                && anew.before.as_ref().is_none_or(|before| is_first(before, place, &ranges));
            if counts {
                places.push(place);
                ids.push(group);
            }
            if places.len() == VECTOR_SIZE {
                part.serial.interrupt.check()?;
                add_places(part, &inputs, &mut states, &places, &ids, groups)?;
                rows += places.len();
                places.clear();
                ids.clear();
            }
        }
        if rows >= ANEW_ROWS_MAX || number + 1 == count {
            add_places(part, &inputs, &mut states, &places, &ids, groups)?;
            pieces.push(states.finish(0, groups)?.flatten());
            places.clear();
            ids.clear();
            (first, rows) = (number + 1, 0);
            states = counted(part, function, aggregate)?;
        }
    }
    let ty = aggregate.return_type.clone();
    let values = if pieces.is_empty() { Vector::empty(ty) } else { concat(ty, &pieces) };
    Ok(values.take(&index))
}

/// Whether no row with the same arguments stands before in one of the ranges.
fn is_first(before: &[u32], place: u32, ranges: &[(u32, u32)]) -> bool {
    let mut place = before[place as usize];
    let lowest = ranges.iter().map(|(begin, _)| *begin).min().unwrap_or(0);
    while place != NONE && place >= lowest {
        if ranges.iter().any(|(begin, end)| (*begin..*end).contains(&place)) {
            return false;
        }
        place = before[place as usize];
    }
    true
}

//! Groups of several workers whose keys ascend: each worker has whole stretches of the keys' range, as rows are handed out
//! in order, so only where one worker's keys meet another's are groups merged.

use super::ascending::word_at;
use super::state::State;
use inlay_types::Result;
use std::ops::Range;

/// Groups that follow one another, of the state with this number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) state: usize,
    pub(super) groups: Range<usize>,
}

impl Span {
    /// The same groups in spans of at most `len`.
    pub(super) fn cut(self, len: usize) -> impl Iterator<Item = Self> {
        let Range { start, end } = self.groups;
        (start..end)
            .step_by(len)
            .map(move |from| Self { state: self.state, groups: from..end.min(from + len) })
    }
}

/// Spans of fewer groups than this on average are not worth it.
const SPAN_MIN: usize = 128;

/// The group to merge into and the one to be merged, each as state and group.
type Meeting = ((usize, usize), (usize, usize));

/// All groups in the order of their keys, those of equal keys merged. `None`, and nothing is changed, if the keys of a state
/// do not ascend or those of two states alternate after few groups.
pub(super) fn interleave(states: &mut [State]) -> Result<Option<Vec<Span>>> {
    if !states.iter().all(|state| state.table.is_ascending() && state.distincts.is_empty()) {
        return Ok(None);
    }
    let keys: Vec<_> = states.iter().map(|state| (&state.table.columns()[0], state.len())).collect();
    let key_of = |state: usize, group: usize| word_at(keys[state].0, group);
    let lens: Vec<usize> = keys.iter().map(|(_, len)| *len).collect();
    let Some((spans, meetings)) = stretches(&lens, key_of) else { return Ok(None) };
    for ((into, group), (from, other)) in meetings {
        if let Ok([into, from]) = states.get_disjoint_mut([into, from]) {
            into.merge_group(group, from, other)?;
        }
    }
    Ok(Some(spans))
}

/// Merges ascending lists of keys, each list without duplicates, stretch by stretch.
fn stretches(lens: &[usize], key_of: impl Fn(usize, usize) -> i64) -> Option<(Vec<Span>, Vec<Meeting>)> {
    let steps_max = lens.iter().sum::<usize>() / SPAN_MIN + lens.len();
    let (mut spans, mut meetings): (Vec<Span>, Vec<Meeting>) = (Vec::new(), Vec::new());
    let mut heads: Vec<usize> = vec![0; lens.len()];
    loop {
        if spans.len() + meetings.len() > steps_max {
            return None;
        }
        let live = (0..lens.len()).filter(|&list| heads[list] < lens[list]);
        let mut next: Vec<(i64, usize)> = live.map(|list| (key_of(list, heads[list]), list)).collect();
        next.sort_unstable();
        let Some(&(key, first)) = next.first() else { return Some((spans, meetings)) };
        let head = heads[first];
        for &(_, other) in next[1..].iter().take_while(|(other, _)| *other == key) {
            meetings.push(((first, head), (other, heads[other])));
            heads[other] += 1;
        }
        let end = match next.get(1) {
            None => lens[first],
            Some(&(other, _)) if other == key => head + 1,
            Some(&(other, _)) => {
                head + first_from(lens[first] - head, |group| key_of(first, head + group) >= other)
            }
        };
        heads[first] = end;
        match spans.last_mut() {
            Some(last) if last.state == first && last.groups.end == head => last.groups.end = end,
            _ => spans.push(Span { state: first, groups: head..end }),
        }
    }
}

/// The first of `len` places where `reached` holds, from which on it does; steps double, as it may be near.
fn first_from(len: usize, reached: impl Fn(usize) -> bool) -> usize {
    let mut step = 1;
    while step < len && !reached(step) {
        step *= 2;
    }
    let (mut low, mut high) = (step / 2, step.min(len));
    while low < high {
        let middle = low + (high - low) / 2;
        if reached(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn merged(lists: &[Vec<i64>]) -> Option<Vec<(i64, usize)>> {
        let lens: Vec<usize> = lists.iter().map(Vec::len).collect();
        let (spans, meetings) = stretches(&lens, |list, group| lists[list][group])?;
        let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (into, from) in meetings {
            assert_eq!(lists[into.0][into.1], lists[from.0][from.1]);
            *counts.entry(into).or_default() += 1;
        }
        let places = spans.into_iter().flat_map(|span| span.groups.map(move |group| (span.state, group)));
        Some(
            places
                .map(|place| (lists[place.0][place.1], 1 + counts.get(&place).copied().unwrap_or(0)))
                .collect(),
        )
    }

    #[test]
    fn every_key_comes_once_and_in_order() {
        // Stretches of 1000 keys dealt to three lists, some of which meet at their ends.
        let mut lists = vec![Vec::new(); 3];
        let mut expected: BTreeMap<i64, usize> = BTreeMap::new();
        for stretch in 0..40i64 {
            let list = &mut lists[(stretch * stretch % 7 % 3) as usize];
            let overlap = stretch % 3;
            for key in stretch * 1000 - overlap..(stretch + 1) * 1000 {
                if list.last().is_none_or(|last| *last < key) {
                    list.push(key);
                    *expected.entry(key).or_default() += 1;
                }
            }
        }
        assert!(expected.values().any(|count| *count > 1));
        assert_eq!(merged(&lists), Some(expected.into_iter().collect()));
    }

    #[test]
    fn edges_of_the_range_and_equal_lists() {
        let all = vec![i64::MIN, -1, 0, i64::MAX];
        let lists = vec![all.clone(), Vec::new(), vec![i64::MAX]];
        let expected = vec![(i64::MIN, 1), (-1, 1), (0, 1), (i64::MAX, 2)];
        assert_eq!(merged(&lists), Some(expected));
        assert_eq!(merged(&[]), Some(Vec::new()));
        // Keys that are in all lists are merged otherwise.
        assert_eq!(merged(&[all.clone(), all.clone(), all]), None);
    }
}

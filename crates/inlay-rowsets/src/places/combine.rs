//! Two chunks made one, form by form. Where the result can be large, words are combined; where one side is a list, its places are
//! looked up in the other.

use super::chunk::{CHUNK, Chunk, Run, words_of};
use super::words;
use crate::search::advance;

/// A list so many times as long as the other is searched, not read.
const MUCH_LONGER: usize = 32;

impl Chunk {
    pub fn and(&self, other: &Self, rows: usize) -> Self {
        match (self, other) {
            (Self::List(left), Self::List(right)) => Self::of_places(common(left, right), rows),
            (Self::List(list), Self::Bits { words, .. }) | (Self::Bits { words, .. }, Self::List(list)) => {
                Self::of_places(filtered(list, |place| words::is_set(words, place)), rows)
            }
            (Self::List(list), Self::Runs(runs)) | (Self::Runs(runs), Self::List(list)) => {
                Self::of_places(filtered(list, in_runs(runs)), rows)
            }
            (Self::Runs(left), Self::Runs(right)) => Self::of_runs(common_runs(left, right), rows),
            (Self::Bits { words: left, .. }, Self::Bits { words: right, .. }) => {
                let mut words = left.clone();
                words::and(&mut words, right);
                Self::of_words(words, rows)
            }
            (Self::Bits { words: bits, .. }, Self::Runs(runs))
            | (Self::Runs(runs), Self::Bits { words: bits, .. }) => {
                let mut words = vec![0; words_of(rows)].into_boxed_slice();
                for run in runs {
                    words::over_range(run.first, run.last, |at, mask| words[at] |= bits[at] & mask);
                }
                Self::of_words(words, rows)
            }
        }
    }

    pub fn or(&self, other: &Self, rows: usize) -> Self {
        match (self, other) {
            (Self::List(left), Self::List(right)) if 2 * (left.len() + right.len()) <= 8 * words_of(rows) => {
                Self::of_places(merged(left, right), rows)
            }
            (Self::Runs(left), Self::Runs(right)) => Self::of_runs(merged_runs(left, right), rows),
            (one, other) => {
                let mut words = one.to_words(rows);
                other.set_in(&mut words);
                Self::of_words(words, rows)
            }
        }
    }

    pub fn and_not(&self, other: &Self, rows: usize) -> Self {
        match (self, other) {
            (Self::List(left), Self::List(right)) => {
                Self::of_places(filtered(left, not_in_list(right)), rows)
            }
            (Self::List(list), Self::Bits { words, .. }) => {
                Self::of_places(filtered(list, |place| !words::is_set(words, place)), rows)
            }
            (Self::List(list), Self::Runs(runs)) => {
                let mut inside = in_runs(runs);
                Self::of_places(filtered(list, |place| !inside(place)), rows)
            }
            (Self::Runs(left), Self::Runs(right)) => {
                Self::of_runs(common_runs(left, &gaps(right, rows)), rows)
            }
            (Self::Bits { .. }, _) | (Self::Runs(_), Self::List(_) | Self::Bits { .. }) => {
                let mut words = self.to_words(rows);
                other.clear_in(&mut words);
                Self::of_words(words, rows)
            }
        }
    }

    pub fn not(&self, rows: usize) -> Self {
        match self {
            Self::Runs(runs) => Self::of_runs(gaps(runs, rows), rows),
            Self::List(_) | Self::Bits { .. } => {
                let mut words = self.to_words(rows);
                words::not(&mut words);
                if let (1.., Some(last)) = (rows % 64, words.last_mut()) {
                    *last &= (1 << (rows % 64)) - 1;
                }
                Self::of_words(words, rows)
            }
        }
    }

    /// How many places are in both.
    pub fn count_and(&self, other: &Self) -> u32 {
        match (self, other) {
            (Self::List(left), Self::List(right)) => count_common(left, right),
            (Self::List(list), Self::Bits { words, .. }) | (Self::Bits { words, .. }, Self::List(list)) => {
                list.iter().map(|place| u32::from(words::is_set(words, *place))).sum()
            }
            (Self::List(list), Self::Runs(runs)) | (Self::Runs(runs), Self::List(list)) => {
                let mut inside = in_runs(runs);
                list.iter().map(|place| u32::from(inside(*place))).sum()
            }
            (Self::Runs(left), Self::Runs(right)) => {
                common_runs(left, right).iter().map(|run| run.len()).sum()
            }
            (Self::Bits { words: left, .. }, Self::Bits { words: right, .. }) => {
                words::count_and(left, right)
            }
            (Self::Bits { words, .. }, Self::Runs(runs)) | (Self::Runs(runs), Self::Bits { words, .. }) => {
                let mut count = 0;
                for run in runs {
                    words::over_range(run.first, run.last, |at, mask| {
                        count += (words[at] & mask).count_ones()
                    });
                }
                count
            }
        }
    }
}

/// Those that `keep` says; without a branch that guesses.
fn filtered(list: &[u16], mut keep: impl FnMut(u16) -> bool) -> Vec<u16> {
    let mut out = vec![0; list.len()];
    let mut count = 0;
    for &place in list {
        out[count] = place;
        count += usize::from(keep(place));
    }
    out.truncate(count);
    out
}

/// Whether ascending places are in runs.
fn in_runs(runs: &[Run]) -> impl FnMut(u16) -> bool + '_ {
    let mut at = 0;
    move |place| {
        at = advance(runs, at, place, |run| run.last);
        runs.get(at).is_some_and(|run| run.first <= place)
    }
}

/// Whether ascending places are missing in a list.
fn not_in_list(list: &[u16]) -> impl FnMut(u16) -> bool + '_ {
    let mut at = 0;
    move |place| {
        at = advance(list, at, place, |member| member);
        list.get(at) != Some(&place)
    }
}

fn by_length<'a>(left: &'a [u16], right: &'a [u16]) -> (&'a [u16], &'a [u16]) {
    if left.len() <= right.len() { (left, right) } else { (right, left) }
}

/// How two lists are met.
enum Meeting {
    /// Of one that is much shorter, each place is searched in the other.
    Search,
    /// Two short ones are read side by side.
    Merge,
    /// Of others, the shorter one's bits are set, and looked at for each place of the other: no step waits for the one before.
    Bits,
}

/// Places of two lists from which on bits are worth their memory, which has to be cleared first.
const BITS_MIN: usize = 256;

fn meeting(short: &[u16], long: &[u16]) -> Meeting {
    if long.len() > MUCH_LONGER * short.len() {
        Meeting::Search
    } else if short.len() + long.len() < BITS_MIN {
        Meeting::Merge
    } else {
        Meeting::Bits
    }
}

fn bits_of(list: &[u16]) -> [u64; CHUNK / 64] {
    let mut bits = [0; CHUNK / 64];
    list.iter().for_each(|place| words::set(&mut bits, *place));
    bits
}

fn common(left: &[u16], right: &[u16]) -> Vec<u16> {
    let (short, long) = by_length(left, right);
    match meeting(short, long) {
        Meeting::Search => {
            let mut missing = not_in_list(long);
            filtered(short, |place| !missing(place))
        }
        Meeting::Merge => {
            let mut out = Vec::with_capacity(short.len());
            for_each_common(short, long, |place| out.push(place));
            out
        }
        Meeting::Bits => {
            let bits = bits_of(short);
            filtered(long, |place| words::is_set(&bits, place))
        }
    }
}

fn count_common(left: &[u16], right: &[u16]) -> u32 {
    let (short, long) = by_length(left, right);
    let mut count = 0;
    match meeting(short, long) {
        Meeting::Search => {
            let mut missing = not_in_list(long);
            short.iter().for_each(|place| count += u32::from(!missing(*place)));
        }
        Meeting::Merge => for_each_common(short, long, |_| count += 1),
        Meeting::Bits => {
            let bits = bits_of(short);
            long.iter().for_each(|place| count += u32::from(words::is_set(&bits, *place)));
        }
    }
    count
}

#[inline]
fn for_each_common(left: &[u16], right: &[u16], mut visit: impl FnMut(u16)) {
    let (mut at, mut beside) = (0, 0);
    while at < left.len() && beside < right.len() {
        let (a, b) = (left[at], right[beside]);
        if a == b {
            visit(a);
        }
        at += usize::from(a <= b);
        beside += usize::from(b <= a);
    }
}

fn merged(left: &[u16], right: &[u16]) -> Vec<u16> {
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut at, mut other) = (0, 0);
    while at < left.len() && other < right.len() {
        let (a, b) = (left[at], right[other]);
        out.push(a.min(b));
        at += usize::from(a <= b);
        other += usize::from(b <= a);
    }
    out.extend_from_slice(&left[at..]);
    out.extend_from_slice(&right[other..]);
    out
}

fn common_runs(left: &[Run], right: &[Run]) -> Vec<Run> {
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let (mut at, mut other) = (0, 0);
    while at < left.len() && other < right.len() {
        let (a, b) = (left[at], right[other]);
        let (first, last) = (a.first.max(b.first), a.last.min(b.last));
        if first <= last {
            out.push(Run { first, last });
        }
        at += usize::from(a.last <= b.last);
        other += usize::from(b.last <= a.last);
    }
    out
}

fn merged_runs(left: &[Run], right: &[Run]) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::with_capacity(left.len() + right.len());
    let (mut at, mut other) = (0, 0);
    loop {
        let next = match (left.get(at), right.get(other)) {
            (Some(a), Some(b)) if a.first <= b.first => *a,
            (_, Some(b)) => *b,
            (Some(a), None) => *a,
            (None, None) => return out,
        };
        let is_left = left.get(at) == Some(&next);
        at += usize::from(is_left);
        other += usize::from(!is_left);
        match out.last_mut() {
            // Runs that touch are one.
            Some(last) if u32::from(next.first) <= u32::from(last.last) + 1 => {
                last.last = last.last.max(next.last);
            }
            Some(_) | None => out.push(next),
        }
    }
}

/// What lies between runs.
pub(super) fn gaps(runs: &[Run], rows: usize) -> Vec<Run> {
    let mut out = Vec::with_capacity(runs.len() + 1);
    let mut next = 0usize;
    for run in runs {
        if next < usize::from(run.first) {
            out.push(Run { first: next as u16, last: run.first - 1 });
        }
        next = usize::from(run.last) + 1;
    }
    if next < rows {
        out.push(Run { first: next as u16, last: (rows - 1) as u16 });
    }
    out
}

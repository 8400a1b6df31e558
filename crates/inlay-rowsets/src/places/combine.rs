//! Two chunks made one, form by form. Where the result can be large, words are combined; where one side is a list, its places are
//! looked up in the other.

use super::chunk::{Chunk, Run, words_of};
use super::words;
use crate::search::advance;
use inlay_types::multiversion;

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

fn common(left: &[u16], right: &[u16]) -> Vec<u16> {
    let (short, long) = by_length(left, right);
    if long.len() > MUCH_LONGER * short.len() {
        let mut missing = not_in_list(long);
        return filtered(short, |place| !missing(place));
    }
    // One more, as each place is written before it is known to stay.
    let mut out = vec![0; short.len() + 1];
    let count = common_into(short, long, &mut out);
    out.truncate(count);
    out
}

/// Places of a list that are compared with as many of another at once.
const LANES: usize = 16;

/// Which of the places are among the others: 1, else 0. Compared all with all, which is a few instructions.
#[inline(always)]
fn hits(places: &[u16; LANES], others: &[u16; LANES]) -> [u16; LANES] {
    let mut hits = [0; LANES];
    for other in others {
        hits.iter_mut().zip(places).for_each(|(hit, place)| *hit |= u16::from(place == other));
    }
    hits
}

multiversion! {
    fn common_into[](left: &[u16], right: &[u16], out: &mut [u16]) -> usize {
        let (mut at, mut beside, mut count) = (0, 0, 0);
        while let (Some(a), Some(b)) = (left[at..].first_chunk(), right[beside..].first_chunk()) {
            let hits = hits(a, b);
            if hits != [0; LANES] {
                for (place, hit) in a.iter().zip(hits) {
                    out[count] = *place;
                    count += usize::from(hit);
                }
            }
            // What is smaller than all that comes there has met whatever it could meet.
            at += LANES * usize::from(a[LANES - 1] <= b[LANES - 1]);
            beside += LANES * usize::from(b[LANES - 1] <= a[LANES - 1]);
        }
        while at < left.len() && beside < right.len() {
            let (a, b) = (left[at], right[beside]);
            out[count] = a;
            count += usize::from(a == b);
            at += usize::from(a <= b);
            beside += usize::from(b <= a);
        }
        count
    }
}

fn count_common(left: &[u16], right: &[u16]) -> u32 {
    let (short, long) = by_length(left, right);
    if long.len() > MUCH_LONGER * short.len() {
        let mut missing = not_in_list(long);
        return short.iter().map(|place| u32::from(!missing(*place))).sum();
    }
    count_by_lanes(short, long)
}

multiversion! {
    fn count_by_lanes[](left: &[u16], right: &[u16]) -> u32 {
        let (mut at, mut beside, mut count) = (0, 0, 0);
        while let (Some(a), Some(b)) = (left[at..].first_chunk(), right[beside..].first_chunk()) {
            count += hits(a, b).iter().map(|hit| u32::from(*hit)).sum::<u32>();
            at += LANES * usize::from(a[LANES - 1] <= b[LANES - 1]);
            beside += LANES * usize::from(b[LANES - 1] <= a[LANES - 1]);
        }
        while at < left.len() && beside < right.len() {
            let (a, b) = (left[at], right[beside]);
            count += u32::from(a == b);
            at += usize::from(a <= b);
            beside += usize::from(b <= a);
        }
        count
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
fn gaps(runs: &[Run], rows: usize) -> Vec<Run> {
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

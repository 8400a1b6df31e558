//! The set of up to 65,536 places, in one of three forms: whichever is smallest, so that equal sets look alike.

use super::combine::gaps;
use super::words;
use inlay_types::multiversion;

/// Places of a chunk.
pub(super) const CHUNK: usize = 1 << 16;

/// Words that are combined in the time that one place of a list takes.
const WORDS_AT_ONCE: usize = 4;

/// Part of a set. The number of places that it is about is the owner's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// Ascending.
    List(Box<[u16]>),
    /// Ascending, with a gap between each and the next.
    Runs(Box<[Run]>),
    /// A bit per place, and how many are set.
    Bits { words: Box<[u64]>, count: u32 },
}

/// All places from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub first: u16,
    pub last: u16,
}

impl Run {
    pub fn len(self) -> u32 {
        u32::from(self.last) - u32::from(self.first) + 1
    }
}

/// What a chunk looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    List,
    Runs,
    Bits,
}

/// Words of a chunk of so many places.
pub(super) fn words_of(rows: usize) -> usize {
    rows.div_ceil(64)
}

/// The smallest form of a set of `count` places in so many runs.
pub(super) fn form(count: usize, runs: usize, rows: usize) -> Form {
    let (list, runs, bits) = (2 * count, 4 * runs, 8 * words_of(rows));
    if runs < list.min(bits) {
        Form::Runs
    } else if list <= bits {
        Form::List
    } else {
        Form::Bits
    }
}

multiversion! {
    /// How many runs ascending places make.
    pub(super) fn runs_of_list[](places: &[u16]) -> usize {
        let next = places.get(1..).unwrap_or_default();
        let breaks: usize = places.iter().zip(next).map(|(place, next)| usize::from(place + 1 != *next)).sum();
        breaks + usize::from(!places.is_empty())
    }
}

impl Chunk {
    pub fn none() -> Self {
        Self::List(Box::default())
    }

    pub fn all(rows: usize) -> Self {
        match rows.checked_sub(1) {
            Some(last) => Self::of_runs(vec![Run { first: 0, last: last as u16 }], rows),
            None => Self::none(),
        }
    }

    /// As [`Chunk::of_list`], of places that may be kept.
    pub fn of_places(places: Vec<u16>, rows: usize) -> Self {
        match form(places.len(), runs_of_list(&places), rows) {
            Form::List => Self::List(places.into()),
            Form::Runs | Form::Bits => Self::of_list(&places, rows),
        }
    }

    /// Of ascending places below `rows`.
    pub fn of_list(places: &[u16], rows: usize) -> Self {
        match form(places.len(), runs_of_list(places), rows) {
            Form::List => Self::List(places.into()),
            Form::Runs => Self::Runs(list_to_runs(places)),
            Form::Bits => {
                let mut words = vec![0; words_of(rows)].into_boxed_slice();
                places.iter().for_each(|place| words::set(&mut words, *place));
                Self::Bits { words, count: places.len() as u32 }
            }
        }
    }

    /// Of as many words as `rows` need, none of whose bits lies behind them.
    pub fn of_words(words: Box<[u64]>, rows: usize) -> Self {
        let (count, runs) = words::count_and_runs(&words);
        match form(count as usize, runs as usize, rows) {
            Form::List => {
                let mut places = Vec::with_capacity(count as usize);
                words::for_each_set(&words, |place| places.push(place));
                Self::List(places.into())
            }
            Form::Runs => Self::Runs(words_to_runs(&words, runs as usize)),
            Form::Bits => Self::Bits { words, count },
        }
    }

    /// Of ascending runs with gaps between them.
    pub fn of_runs(runs: Vec<Run>, rows: usize) -> Self {
        let count: u32 = runs.iter().map(|run| run.len()).sum();
        match form(count as usize, runs.len(), rows) {
            Form::Runs => Self::Runs(runs.into()),
            Form::List => Self::List(runs.iter().flat_map(|run| run.first..=run.last).collect()),
            Form::Bits => {
                let mut words = vec![0; words_of(rows)].into_boxed_slice();
                runs.iter()
                    .for_each(|run| words::over_range(run.first, run.last, |at, mask| words[at] |= mask));
                Self::Bits { words, count }
            }
        }
    }

    pub fn count(&self) -> u32 {
        match self {
            Self::List(places) => places.len() as u32,
            Self::Runs(runs) => runs.iter().map(|run| run.len()).sum(),
            Self::Bits { count, .. } => *count,
        }
    }

    pub fn contains(&self, place: u16) -> bool {
        match self {
            Self::List(places) => places.binary_search(&place).is_ok(),
            Self::Runs(runs) => {
                let at = runs.partition_point(|run| run.last < place);
                runs.get(at).is_some_and(|run| run.first <= place)
            }
            Self::Bits { words, .. } => words::is_set(words, place),
        }
    }

    /// How many places are below one.
    pub fn rank(&self, place: u16) -> u32 {
        match self {
            Self::List(places) => places.partition_point(|member| *member < place) as u32,
            Self::Runs(runs) => {
                let before = runs.iter().take_while(|run| run.first < place);
                before.map(|run| run.len().min(u32::from(place - run.first))).sum()
            }
            Self::Bits { words, .. } => {
                let (whole, rest) = (usize::from(place) / 64, place % 64);
                words::count(&words[..whole]) + (words[whole] & ((1 << rest) - 1)).count_ones()
            }
        }
    }

    /// Shows the places, ascending.
    #[inline]
    pub fn for_each(&self, mut visit: impl FnMut(u16)) {
        match self {
            Self::List(places) => places.iter().for_each(|place| visit(*place)),
            Self::Runs(runs) => runs.iter().for_each(|run| (run.first..=run.last).for_each(&mut visit)),
            Self::Bits { words, .. } => words::for_each_set(words, visit),
        }
    }

    /// The first place; `None` if there is none.
    pub fn first(&self) -> Option<u16> {
        match self {
            Self::List(places) => places.first().copied(),
            Self::Runs(runs) => runs.first().map(|run| run.first),
            Self::Bits { words, .. } => {
                let at = words.iter().position(|word| *word != 0)?;
                Some((at * 64) as u16 + words[at].trailing_zeros() as u16)
            }
        }
    }

    /// Sets the bits of the places.
    pub fn set_in(&self, words: &mut [u64]) {
        match self {
            Self::List(places) => places.iter().for_each(|place| words::set(words, *place)),
            Self::Runs(runs) => runs
                .iter()
                .for_each(|run| words::over_range(run.first, run.last, |at, mask| words[at] |= mask)),
            Self::Bits { words: own, .. } => words::or(words, own),
        }
    }

    /// Clears the bits of the places.
    pub fn clear_in(&self, words: &mut [u64]) {
        match self {
            Self::List(places) => places.iter().for_each(|place| words::clear(words, *place)),
            Self::Runs(runs) => runs
                .iter()
                .for_each(|run| words::over_range(run.first, run.last, |at, mask| words[at] &= !mask)),
            Self::Bits { words: own, .. } => words::and_not(words, own),
        }
    }

    /// Clears the bits of all other places.
    pub fn keep_in(&self, words: &mut [u64]) {
        match self {
            Self::List(places) => {
                // Without a branch for each place.
                let mut kept = [0u64; CHUNK / 64];
                for &place in places {
                    let at = usize::from(place) / 64;
                    kept[at] |= words[at] & 1 << (place % 64);
                }
                words.copy_from_slice(&kept[..words.len()]);
            }
            Self::Runs(runs) => gaps(runs, words.len() * 64)
                .iter()
                .for_each(|gap| words::over_range(gap.first, gap.last, |at, mask| words[at] &= !mask)),
            Self::Bits { words: own, .. } => words::and(words, own),
        }
    }

    /// How many of the places have their bits set.
    pub fn count_in(&self, words: &[u64]) -> u32 {
        match self {
            Self::List(places) => places.iter().map(|place| u32::from(words::is_set(words, *place))).sum(),
            Self::Runs(runs) => {
                let mut count = 0;
                for run in runs {
                    words::over_range(run.first, run.last, |at, mask| {
                        count += (words[at] & mask).count_ones()
                    });
                }
                count
            }
            Self::Bits { words: own, .. } => words::count_and(words, own),
        }
    }

    /// See [`super::Places::effort`].
    pub fn effort(&self) -> usize {
        match self {
            Self::List(places) => places.len(),
            // Long runs are words, too.
            Self::Runs(runs) => 4 * runs.len() + self.count() as usize / (64 * WORDS_AT_ONCE),
            Self::Bits { words, .. } => words.len() / WORDS_AT_ONCE,
        }
    }

    /// A bit per place.
    pub fn to_words(&self, rows: usize) -> Box<[u64]> {
        match self {
            Self::Bits { words, .. } => words.clone(),
            Self::List(_) | Self::Runs(_) => {
                let mut words = vec![0; words_of(rows)].into_boxed_slice();
                self.set_in(&mut words);
                words
            }
        }
    }

    /// Bytes beside the chunk itself.
    pub fn heap_size(&self) -> usize {
        match self {
            Self::List(places) => size_of_val(&places[..]),
            Self::Runs(runs) => size_of_val(&runs[..]),
            Self::Bits { words, .. } => size_of_val(&words[..]),
        }
    }
}

fn list_to_runs(places: &[u16]) -> Box<[Run]> {
    let runs = places.chunk_by(|left, right| left + 1 == *right);
    runs.map(|run| Run { first: run[0], last: run[run.len() - 1] }).collect()
}

/// Jumps from each end of a run to the next, without a look at the places between.
fn words_to_runs(words: &[u64], count: usize) -> Box<[Run]> {
    let mut runs = Vec::with_capacity(count);
    let (mut at, mut word) = (0, words.first().copied().unwrap_or(0));
    loop {
        while word == 0 {
            at += 1;
            match words.get(at) {
                Some(next) => word = *next,
                None => return runs.into(),
            }
        }
        let begin = word.trailing_zeros();
        let first = (at * 64) as u16 + begin as u16;
        // Everything below the run is set, too, so that the next zero ends it.
        word |= (1u64 << begin) - 1;
        while word == u64::MAX {
            at += 1;
            match words.get(at) {
                Some(next) => word = *next,
                None => {
                    runs.push(Run { first, last: (at * 64 - 1) as u16 });
                    return runs.into();
                }
            }
        }
        let end = word.trailing_ones();
        runs.push(Run { first, last: ((at * 64) as u32 + end - 1) as u16 });
        word &= u64::MAX << end;
    }
}

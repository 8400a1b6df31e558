//! How alike two texts are. Distances count bytes, as in DuckDB; Jaro's similarity counts characters.

use super::columns::{Column, TextColumn};
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::per_row;
use inlay_types::LogicalType::{BigInt, Double, Varchar};
use inlay_types::limits;
use inlay_types::{Error, Result, Vector, multiversion};

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "levenshtein",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], BigInt, levenshtein)]),
        "insertions, deletions and replacements that make one text the other",
        "levenshtein('abc', 'abd') = 1",
    )
    .aliases(&["editdist3"]),
    Function::new(
        "damerau_levenshtein",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], BigInt, damerau_levenshtein)]),
        "as levenshtein, with swaps of neighbours",
        "damerau_levenshtein('abcd', 'bacd') = 1",
    ),
    Function::new(
        "hamming",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], BigInt, hamming)]),
        "places at which two texts of one length differ",
        "hamming('duck', 'luck') = 1",
    )
    .aliases(&["mismatches"])
    .fallible(),
    Function::new(
        "jaccard",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], Double, jaccard)]),
        "share of the characters that both texts have, 0 to 1",
        "jaccard('duck', 'luck') = 0.6",
    )
    .fallible(),
    Function::new(
        "jaro_similarity",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar], Double, jaro_similarity),
            Signature::new(&[Varchar, Varchar, Double], Double, jaro_similarity),
        ]),
        "Jaro's similarity, 0 to 1; 0 below a cutoff",
        "jaro_similarity('duck', 'duckdb') = 0.8888888888888888",
    ),
    Function::new(
        "jaro_winkler_similarity",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar], Double, jaro_winkler_similarity),
            Signature::new(&[Varchar, Varchar, Double], Double, jaro_winkler_similarity),
        ]),
        "Jaro's similarity, higher for a common start; 0 below a cutoff",
        "jaro_winkler_similarity('duck', 'duckdb') = 0.9333333333333333",
    ),
];

/// Cells of a table of distances between two looks at the interrupt flag.
const CELLS_PER_CHECK: usize = 1 << 20;

/// Asks after about [`CELLS_PER_CHECK`] cells.
struct Pace(usize);

impl Pace {
    fn step(&mut self, cells: usize) -> Result<()> {
        self.0 += cells;
        if self.0 < CELLS_PER_CHECK {
            return Ok(());
        }
        self.0 = 0;
        limits::check()
    }
}

fn levenshtein(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (first, second) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    let mut pace = Pace(0);
    per_row(args, &BigInt, len, out, |row| {
        let (a, b) = (first.get(row), second.get(row));
        limits::need((b.len() + 1).saturating_mul(size_of::<usize>()))?;
        let mut distances: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            inlay_kernels::distance::next_distances(&mut distances, i, *x, b);
            pace.step(b.len())?;
        }
        Ok(distances[b.len()] as i64)
    })
}

/// The distance where no text is edited twice at one place is not what DuckDB gives: it is the unrestricted one, which
/// remembers where each byte was last seen (Lowrance and Wagner 1975).
fn damerau_levenshtein(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (first, second) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    let mut pace = Pace(0);
    per_row(args, &BigInt, len, out, |row| {
        let (a, b) = (first.get(row), second.get(row));
        if a.is_empty() || b.is_empty() {
            return Ok(a.len().max(b.len()) as i64);
        }
        let width = b.len() + 2;
        limits::need(width.saturating_mul(a.len() + 2).saturating_mul(size_of::<u32>()))?;
        let far = (a.len() + b.len()) as u32;
        // Row and column 0 hold `far`; row and column 1 the distances to the empty text.
        let mut table = vec![0u32; width * (a.len() + 2)];
        for i in 0..=a.len() {
            table[(i + 1) * width] = far;
            table[(i + 1) * width + 1] = i as u32;
        }
        for j in 0..=b.len() {
            table[j + 1] = far;
            table[width + j + 1] = j as u32;
        }
        table[0] = far;
        let mut last_row = [0usize; 256];
        for i in 1..=a.len() {
            let mut last_column = 0;
            for j in 1..=b.len() {
                let (i1, j1) = (last_row[usize::from(b[j - 1])], last_column);
                let same = a[i - 1] == b[j - 1];
                let replaced = table[i * width + j] + u32::from(!same);
                let inserted = table[(i + 1) * width + j] + 1;
                let deleted = table[i * width + j + 1] + 1;
                let between = (i - i1 - 1) + (j - j1 - 1) + 1;
                let swapped = table[i1 * width + j1] + between as u32;
                table[(i + 1) * width + j + 1] = replaced.min(inserted).min(deleted).min(swapped);
                if same {
                    last_column = j;
                }
            }
            last_row[usize::from(a[i - 1])] = i;
            pace.step(b.len())?;
        }
        Ok(i64::from(table[(a.len() + 1) * width + b.len() + 1]))
    })
}

fn hamming(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (first, second) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    per_row(args, &BigInt, len, out, |row| {
        let (a, b) = (first.get(row), second.get(row));
        if a.len() != b.len() || a.is_empty() {
            let (a, b) = (first.text(row), second.text(row));
            return Err(Error::invalid_argument(format!(
                "hamming compares texts of one length that is not 0, not '{a}' and '{b}'"
            )));
        }
        Ok(a.iter().zip(b).filter(|(x, y)| x != y).count() as i64)
    })
}

multiversion! {
    /// A bit for each byte that occurs, in words that stay in registers.
    fn bytes_in[](bytes: &[u8]) -> [u64; 4] {
        if bytes.is_ascii() {
            let [a, b] = bytes.iter().fold([0; 2], |[a, b], byte| {
                let (bit, is_high) = (1u64 << (byte & 63), byte >> 6 == 1);
                [a | if is_high { 0 } else { bit }, b | if is_high { bit } else { 0 }]
            });
            return [a, b, 0, 0];
        }
        bytes.iter().fold([0; 4], |[a, b, c, d], byte| {
            let (bit, word) = (1u64 << (byte & 63), byte >> 6);
            let in_word = |number: u8| if word == number { bit } else { 0 };
            [a | in_word(0), b | in_word(1), c | in_word(2), d | in_word(3)]
        })
    }
}

multiversion! {
    /// How many bytes two texts have in common, and how many occur in either.
    fn shared_bytes[](a: &[u64; 4], b: &[u64; 4]) -> (u32, u32) {
        let both = a.iter().zip(b).map(|(x, y)| (x & y).count_ones()).sum();
        (both, a.iter().zip(b).map(|(x, y)| (x | y).count_ones()).sum())
    }
}

fn jaccard(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (first, second) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    // What is the same in all rows is looked at once.
    let one = second.is_constant().then(|| bytes_in(second.get(0)));
    per_row(args, &Double, len, out, |row| {
        first.prefetch_ahead(row);
        let (a, b) = (first.get(row), second.get(row));
        if a.is_empty() || b.is_empty() {
            return Err(Error::invalid_argument("jaccard compares texts that are not empty"));
        }
        let (a, b) = (bytes_in(a), one.unwrap_or_else(|| bytes_in(b)));
        let (both, either) = shared_bytes(&a, &b);
        Ok(f64::from(both) / f64::from(either))
    })
}

/// Jaro's similarity: characters in common not farther apart than half the longer text, less their disorder.
fn jaro(a: &[u8], b: &[u8], pace: &mut Pace) -> Result<f64> {
    if a.is_empty() || b.is_empty() {
        return Ok(0.0);
    }
    let reach = (a.len().max(b.len()) / 2).saturating_sub(1);
    let (mut a_used, mut b_used) = (vec![false; a.len()], vec![false; b.len()]);
    let mut common = 0usize;
    for (i, x) in a.iter().enumerate() {
        let (from, to) = (i.saturating_sub(reach), (i + reach + 1).min(b.len()));
        if from >= to {
            continue;
        }
        pace.step(to - from)?;
        if let Some(j) = (from..to).find(|&j| !b_used[j] && b[j] == *x) {
            (a_used[i], b_used[j]) = (true, true);
            common += 1;
        }
    }
    if common == 0 {
        return Ok(0.0);
    }
    let left = a.iter().zip(&a_used).filter(|(_, used)| **used).map(|(x, _)| x);
    let right = b.iter().zip(&b_used).filter(|(_, used)| **used).map(|(x, _)| x);
    let moved = left.zip(right).filter(|(x, y)| x != y).count() / 2;
    Ok(jaro_of(common, moved, a.len(), b.len()))
}

/// Texts of at most so many bytes have a bit for each in a word.
const SHORT_MAX: usize = 64;

/// Where each byte stands in a text.
struct Places {
    text: Vec<u8>,
    of: [u64; 256],
}

impl Places {
    fn new() -> Self {
        Self { text: Vec::new(), of: [0; 256] }
    }

    /// Goes on with another text, of at most [`SHORT_MAX`] bytes.
    fn learn(&mut self, text: &[u8]) {
        if self.text == text {
            return;
        }
        self.text.iter().for_each(|byte| self.of[usize::from(*byte)] = 0);
        self.text.clear();
        self.text.extend_from_slice(text);
        text.iter().enumerate().for_each(|(at, byte)| self.of[usize::from(*byte)] |= 1 << at);
    }

    /// [`jaro`] of another text, of at most [`SHORT_MAX`] bytes, and this one.
    fn jaro(&self, a: &[u8]) -> f64 {
        if a.is_empty() || self.text.is_empty() {
            return 0.0;
        }
        let (common, moved) = common_and_moved(&self.of, a, &self.text);
        if common == 0 { 0.0 } else { jaro_of(common, moved, a.len(), self.text.len()) }
    }
}

multiversion! {
    /// How many bytes two texts have in common, and how many of them stand elsewhere; `places` are those of each byte in `b`. Both
    /// texts have 1 to [`SHORT_MAX`] bytes.
    fn common_and_moved[](places: &[u64; 256], a: &[u8], b: &[u8]) -> (usize, usize) {
        let reach = (a.len().max(b.len()) / 2).saturating_sub(1);
        // Bits behind the end of `b` are of no byte, so that they may be in the window.
        let mut window = u64::MAX >> (SHORT_MAX - 1 - reach);
        let (mut a_used, mut b_free) = (0u64, u64::MAX);
        let mut step = |i: usize, x: u8, window: u64| {
            let found = places[usize::from(x)] & window & b_free;
            // Without the first place, if there is one.
            b_free ^= found & found.wrapping_neg();
            a_used |= u64::from(found != 0) << i;
        };
        let (first, rest) = a.split_at(reach.min(a.len()));
        for (i, x) in first.iter().enumerate() {
            step(i, *x, window);
            window = window << 1 | 1;
        }
        for (i, x) in rest.iter().enumerate() {
            step(reach + i, *x, window);
            window <<= 1;
        }
        let (common, mut b_used, mut different) = (a_used.count_ones() as usize, !b_free, 0);
        while a_used != 0 {
            // A used byte of `b` stands among the places of the byte of `a` where both are the same.
            let place = b_used & b_used.wrapping_neg();
            let byte = a[a_used.trailing_zeros() as usize & (SHORT_MAX - 1)];
            different += usize::from(places[usize::from(byte)] & place == 0);
            a_used &= a_used - 1;
            b_used ^= place;
        }
        (common, different / 2)
    }
}

/// Of so many common characters, `moved` of which stand elsewhere.
fn jaro_of(common: usize, moved: usize, a: usize, b: usize) -> f64 {
    let common_f = common as f64;
    (common_f / a as f64 + common_f / b as f64 + (common - moved) as f64 / common_f) / 3.0
}

/// Jaro's similarity of texts of any length.
fn jaro_by(places: &mut Places, a: &[u8], b: &[u8], pace: &mut Pace) -> Result<f64> {
    if a.len().max(b.len()) > SHORT_MAX {
        return jaro(a, b, pace);
    }
    places.learn(b);
    Ok(places.jaro(a))
}

fn similarity(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    measure: fn(&[u8], &[u8], f64) -> f64,
) -> Result<()> {
    let (first, second) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    let cutoff = args.get(2).map(|arg| Column::<f64>::of(arg));
    let (mut places, mut pace) = (Places::new(), Pace(0));
    // What is the same in all rows is learnt once.
    let one = second.is_constant().then(|| second.get(0)).filter(|text| text.len() <= SHORT_MAX);
    one.iter().for_each(|text| places.learn(text));
    per_row(args, &Double, len, out, |row| {
        first.prefetch_ahead(row);
        let (a, b) = (first.get(row), second.get(row));
        let jaro = if one.is_some() && a.len() <= SHORT_MAX {
            places.jaro(a)
        } else {
            jaro_by(&mut places, a, b, &mut pace)?
        };
        let similarity = measure(a, b, jaro);
        let cutoff = cutoff.as_ref().map_or(0.0, |cutoff| cutoff.get(row));
        Ok(if similarity < cutoff { 0.0 } else { similarity })
    })
}

fn jaro_similarity(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    similarity(args, len, out, |_, _, jaro| jaro)
}

fn jaro_winkler_similarity(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    similarity(args, len, out, |a, b, similarity| {
        if similarity <= 0.7 {
            return similarity;
        }
        let common = a.iter().zip(b).take(4).take_while(|(x, y)| x == y).count();
        similarity + common as f64 * 0.1 * (1.0 - similarity)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_texts_are_counted_one_by_one() {
        let texts =
            ["a", "duck", "luck", "Élise García", "\u{7f}\u{0} @`~", "日本語 text", "zzzzzzzzzzzzzzzzzzz"];
        for a in texts {
            for b in texts {
                let set = |text: &str| text.bytes().collect::<std::collections::BTreeSet<u8>>();
                let expected = (set(a).intersection(&set(b)).count(), set(a).union(&set(b)).count());
                let (both, either) = shared_bytes(&bytes_in(a.as_bytes()), &bytes_in(b.as_bytes()));
                assert_eq!((both as usize, either as usize), expected, "{a} {b}");
            }
        }
    }

    /// Words of bits give what the table of places does, whatever text was learnt before.
    #[test]
    fn short_texts_are_as_alike_as_long_ones() {
        let mut texts: Vec<Vec<u8>> = [
            "",
            "a",
            "duck",
            "duckdb",
            "kcud",
            "aaaa",
            "abab",
            "martha",
            "marhta",
            "dixon",
            "dicksonx",
            "Élise García12",
        ]
        .map(|text| text.as_bytes().to_vec())
        .to_vec();
        let mut state = 7u32;
        for length in [5, 17, 31, 32, 33, 63, 64] {
            texts.push(
                (0..length)
                    .map(|_| {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        b'a' + (state >> 24) as u8 % 4
                    })
                    .collect(),
            );
        }
        let mut places = Places::new();
        for a in &texts {
            for b in &texts {
                places.learn(b);
                assert_eq!(places.jaro(a), jaro(a, b, &mut Pace(0)).unwrap(), "{a:?} {b:?}");
            }
        }
    }
}

//! Which form of row sets is best for indexes by value? One table of sizes and times of OlapCalc's code, the same packed,
//! [`Places`], Roaring, plain bitmaps, and the columns' own codes without any index, on listings as those of `bench/olap`.
//!
//! `cargo run --release -p inlay-rowsets --example listings -- [rows]`. Every answer is compared with that of a loop over the codes before
//! a time is printed; times are those of the processor, of one thread, in the best of three rounds.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::panic, reason = "a program for the terminal")]

use inlay_rowsets::blocks::{BlockList, PackedBlocks};
use inlay_rowsets::{ByCode, Places, by_code};
use inlay_types::MemoryBudget;
use roaring::RoaringBitmap;
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 3;
/// Processor time of a round at least.
const ROUND_NS: u64 = 60_000_000;
/// Rows of a row group of the engine.
const GROUP: usize = 131_072;

const REGION: usize = 0;
const CITY: usize = 1;
const TYPE: usize = 2;
const ROOMS: usize = 3;
const BUILT: usize = 4;
const AGENT: usize = 5;
const DISTINCT: [usize; 6] = [20, 200, 6, 13, 120, 1_000];

struct Listings {
    codes: [Vec<u16>; 6],
    price: Vec<f64>,
    csv_bytes: usize,
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The distributions of `bench/olap/suite.py`.
fn listings(rows: usize, sorted: bool) -> Listings {
    let mut random = Random(rows as u64);
    let mut made: Vec<([u16; 6], f64)> = (0..rows)
        .map(|_| {
            let agent = (random.next().powf(1.5) * 1_000.0) as u16;
            let city = ((u32::from(agent) * 7919 + 13) % 200) as u16;
            let region = city % 20;
            let area = 14.0 * (0..6).map(|_| -(1.0 - random.next()).ln()).sum::<f64>() + 12.0;
            let built = (random.next().powf(1.7) * 120.0) as u16;
            let choice = random.next();
            let bounds = [0.45, 0.70, 0.75, 0.77, 0.90, 1.0];
            let kind = bounds.iter().position(|bound| choice < *bound).unwrap_or(5) as u16;
            let rooms = ((area / 22.0).floor() + (random.next() * 3.0).floor()).clamp(1.0, 12.0) as u16;
            let price = area * (1_500.0 + f64::from(region) * 230.0 + f64::from(120 - built) * 9.0);
            ([region, city, kind, rooms, built, agent], (price * 100.0).round() / 100.0)
        })
        .collect();
    if sorted {
        made.sort_by_key(|(codes, _)| *codes);
    }
    let digits = |number: f64| number.to_string().len();
    let names = [4, 5, 4, 9, 6, 7];
    let csv_bytes = made.iter().map(|(codes, price)| {
        // Region 05;City 105 upon River;123;flat;3;1990;84.3;212345.12
        let (kind, rooms, agent) =
            (usize::from(codes[TYPE]), f64::from(codes[ROOMS]), f64::from(codes[AGENT]));
        9 + 19 + digits(agent) + names[kind] + digits(rooms) + 4 + 5 + digits(*price) + 8
    });
    Listings {
        csv_bytes: csv_bytes.sum(),
        codes: std::array::from_fn(|column| made.iter().map(|(codes, _)| codes[column]).collect()),
        price: made.iter().map(|(_, price)| *price).collect(),
    }
}

/// Groups with their counts and sums, in the order of their codes.
type Groups = Vec<(u64, f64)>;

/// What is measured.
trait Sets {
    fn name(&self) -> &'static str;
    /// Bytes in memory, and as they would lie in a file.
    fn sizes(&self) -> (usize, usize);
    /// Rows of each pair of values of two columns, as sets, and how many they are.
    fn intersections(&self, columns: [usize; 2]) -> Vec<u64>;
    /// Rows with a value of a range.
    fn union(&self, column: usize, values: std::ops::Range<usize>) -> u64;
    /// As `intersections`, without the sets.
    fn counts(&self, columns: [usize; 2]) -> Vec<u64>;
    /// Counts of three columns' groups.
    fn group_count(&self, columns: [usize; 3]) -> Vec<u64>;
    /// Counts and sums of two columns' groups.
    fn group_sum(&self, columns: [usize; 2], fact: &[f64]) -> Groups;
}

/// Sets of each value over all rows, whatever they are.
struct Whole<S> {
    name: &'static str,
    sets: Vec<Vec<S>>,
    ops: Ops<S>,
}

struct Ops<S> {
    size: fn(&S) -> (usize, usize),
    and: fn(&S, &S) -> S,
    or: fn(&S, &S) -> S,
    count: fn(&S) -> u64,
    count_and: fn(&S, &S) -> u64,
    for_each: fn(&S, &mut dyn FnMut(u32)),
}

impl<S> Whole<S> {
    fn new(name: &'static str, listings: &Listings, ops: Ops<S>, make: impl Fn(&[u32]) -> S) -> Self {
        let sets = listings.codes.iter().zip(DISTINCT).map(|(codes, distinct)| {
            let mut rows = vec![Vec::new(); distinct];
            codes.iter().enumerate().for_each(|(row, code)| rows[*code as usize].push(row as u32));
            rows.iter().map(|rows| make(rows)).collect()
        });
        Self { name, sets: sets.collect(), ops }
    }
}

impl<S> Sets for Whole<S> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sizes(&self) -> (usize, usize) {
        let sizes = self.sets.iter().flatten().map(self.ops.size);
        sizes.fold((0, 0), |(memory, file), (more, in_file)| (memory + more, file + in_file))
    }

    fn intersections(&self, [left, right]: [usize; 2]) -> Vec<u64> {
        let pairs = self.sets[left].iter().flat_map(|a| self.sets[right].iter().map(move |b| (a, b)));
        pairs.map(|(a, b)| (self.ops.count)(&black_box((self.ops.and)(a, b)))).collect()
    }

    fn union(&self, column: usize, values: std::ops::Range<usize>) -> u64 {
        let sets = &self.sets[column][values];
        let mut all = (self.ops.or)(&sets[0], &sets[1]);
        sets[2..].iter().for_each(|set| all = (self.ops.or)(&all, set));
        (self.ops.count)(&all)
    }

    fn counts(&self, [left, right]: [usize; 2]) -> Vec<u64> {
        let pairs = self.sets[left].iter().flat_map(|a| self.sets[right].iter().map(move |b| (a, b)));
        pairs.map(|(a, b)| (self.ops.count_and)(a, b)).collect()
    }

    fn group_count(&self, [first, second, third]: [usize; 3]) -> Vec<u64> {
        let mut counts = Vec::new();
        for a in &self.sets[first] {
            for b in &self.sets[second] {
                let both = (self.ops.and)(a, b);
                let is_empty = (self.ops.count)(&both) == 0;
                let count = |c: &S| if is_empty { 0 } else { (self.ops.count_and)(&both, c) };
                counts.extend(self.sets[third].iter().map(count));
            }
        }
        counts
    }

    fn group_sum(&self, [left, right]: [usize; 2], fact: &[f64]) -> Groups {
        let pairs = self.sets[left].iter().flat_map(|a| self.sets[right].iter().map(move |b| (a, b)));
        let sum = |(a, b)| {
            let (mut count, mut sum) = (0, 0.0);
            (self.ops.for_each)(&(self.ops.and)(a, b), &mut |row| {
                count += 1;
                sum += fact[row as usize];
            });
            (count, sum)
        };
        pairs.map(sum).collect()
    }
}

/// The same of packed lists, which are unpacked once for each query.
struct Packed(Vec<Vec<PackedBlocks>>);

impl Packed {
    fn unpacked(&self, columns: &[usize]) -> Whole<BlockList> {
        let unpack = |(column, sets): (usize, &Vec<PackedBlocks>)| {
            let is_needed = columns.contains(&column);
            sets.iter().filter(|_| is_needed).map(|set| set.unpack().unwrap()).collect()
        };
        Whole { name: "", sets: self.0.iter().enumerate().map(unpack).collect(), ops: block_ops() }
    }
}

impl Sets for Packed {
    fn name(&self) -> &'static str {
        "OlapCalc, packed"
    }

    fn sizes(&self) -> (usize, usize) {
        let sizes = self.0.iter().flatten().map(|set| (set.memory_size(), set.as_bytes().1.len()));
        sizes.fold((0, 0), |(memory, file), (more, in_file)| (memory + more, file + in_file))
    }

    fn intersections(&self, columns: [usize; 2]) -> Vec<u64> {
        self.unpacked(&columns).intersections(columns)
    }

    fn union(&self, column: usize, values: std::ops::Range<usize>) -> u64 {
        let sets: Vec<BlockList> = self.0[column][values].iter().map(|set| set.unpack().unwrap()).collect();
        let mut all = sets[0].or(&sets[1]);
        sets[2..].iter().for_each(|set| all = all.or(set));
        all.count()
    }

    fn counts(&self, columns: [usize; 2]) -> Vec<u64> {
        self.unpacked(&columns).counts(columns)
    }

    fn group_count(&self, columns: [usize; 3]) -> Vec<u64> {
        self.unpacked(&columns).group_count(columns)
    }

    fn group_sum(&self, columns: [usize; 2], fact: &[f64]) -> Groups {
        self.unpacked(&columns).group_sum(columns, fact)
    }
}

/// Row group by row group.
struct Ours(Vec<Vec<ByCode>>);

impl Sets for Ours {
    fn name(&self) -> &'static str {
        "Places"
    }

    fn sizes(&self) -> (usize, usize) {
        let mut image = Vec::new();
        let mut memory = 0;
        for set in self.0.iter().flatten().flat_map(|sets| sets.iter()) {
            memory += set.memory_size();
            set.write(&mut image);
        }
        (memory, image.len())
    }

    fn intersections(&self, [left, right]: [usize; 2]) -> Vec<u64> {
        self.pairs([left, right], |a, b| u64::from(black_box(a.and(b).unwrap()).count()))
    }

    fn union(&self, column: usize, values: std::ops::Range<usize>) -> u64 {
        let of_group = |group: &Vec<ByCode>| {
            let sets: Vec<&Places> = group[column][values.clone()].iter().collect();
            u64::from(Places::any_of(&sets, sets[0].rows()).unwrap().count())
        };
        self.0.iter().map(of_group).sum()
    }

    fn counts(&self, columns: [usize; 2]) -> Vec<u64> {
        self.pairs(columns, |a, b| u64::from(a.count_and(b).unwrap()))
    }

    fn group_count(&self, [first, second, third]: [usize; 3]) -> Vec<u64> {
        let mut counts = vec![0; DISTINCT[first] * DISTINCT[second] * DISTINCT[third]];
        for group in &self.0 {
            let mut at = 0;
            for a in group[first].iter() {
                for b in group[second].iter() {
                    let both = a.and(b).unwrap();
                    for c in group[third].iter().filter(|_| !both.is_empty()).enumerate() {
                        counts[at + c.0] += u64::from(both.count_and(c.1).unwrap());
                    }
                    at += DISTINCT[third];
                }
            }
        }
        counts
    }

    fn group_sum(&self, [left, right]: [usize; 2], fact: &[f64]) -> Groups {
        let mut groups = vec![(0, 0.0); DISTINCT[left] * DISTINCT[right]];
        for (group, fact) in self.0.iter().zip(fact.chunks(GROUP)) {
            let pairs = group[left].iter().flat_map(|a| group[right].iter().map(move |b| (a, b)));
            for ((a, b), (count, sum)) in pairs.zip(&mut groups) {
                let both = a.and(b).unwrap();
                *count += u64::from(both.count());
                both.for_each(|row| *sum += fact[row as usize]);
            }
        }
        groups
    }
}

impl Ours {
    fn pairs(&self, [left, right]: [usize; 2], number: impl Fn(&Places, &Places) -> u64) -> Vec<u64> {
        let mut numbers = vec![0; DISTINCT[left] * DISTINCT[right]];
        for group in &self.0 {
            let pairs = group[left].iter().flat_map(|a| group[right].iter().map(move |b| (a, b)));
            pairs.zip(&mut numbers).for_each(|((a, b), to)| *to += number(a, b));
        }
        numbers
    }
}

/// No index: the codes of the columns, a byte each where there are few, as the engine has them.
struct Codes {
    narrow: Vec<Vec<u8>>,
    wide: Vec<Vec<u16>>,
}

impl Codes {
    fn code(&self, column: usize, row: usize) -> usize {
        if DISTINCT[column] <= 256 { self.narrow[column][row].into() } else { self.wide[column][row].into() }
    }

    fn rows(&self) -> usize {
        self.narrow[TYPE].len()
    }

    /// A bit per row whose code is in a range.
    fn bits(&self, column: usize, range: std::ops::Range<usize>) -> Vec<u64> {
        let mut words = vec![0; self.rows().div_ceil(64)];
        let mut flags = vec![0; self.rows()];
        let (low, count) = (range.start, range.len());
        if DISTINCT[column] <= 256 {
            flag_bytes(&self.narrow[column], low as u8, count as u8, &mut flags);
        } else {
            let codes = self.wide[column].iter().zip(&mut flags);
            codes.for_each(|(code, flag)| *flag = u8::from(code.wrapping_sub(low as u16) < count as u16));
        }
        inlay_types::simd::pack_bits(&flags, &mut words);
        words
    }
}

inlay_types::multiversion! {
    fn flag_bytes[](codes: &[u8], low: u8, count: u8, flags: &mut [u8]) {
        codes.iter().zip(flags).for_each(|(code, flag)| *flag = u8::from(code.wrapping_sub(low) < count));
    }
}

impl Sets for Codes {
    fn name(&self) -> &'static str {
        "codes, no index"
    }

    fn sizes(&self) -> (usize, usize) {
        let bytes = DISTINCT.map(|distinct| self.rows() * if distinct <= 256 { 1 } else { 2 });
        (bytes.iter().sum(), bytes.iter().sum())
    }

    fn intersections(&self, [left, right]: [usize; 2]) -> Vec<u64> {
        let of_right: Vec<Vec<u64>> = (0..DISTINCT[right]).map(|b| self.bits(right, b..b + 1)).collect();
        let mut counts = Vec::new();
        for a in 0..DISTINCT[left] {
            let of_left = self.bits(left, a..a + 1);
            counts.extend(of_right.iter().map(|bits| plain_count(&plain_and(&of_left, bits))));
        }
        counts
    }

    fn union(&self, column: usize, values: std::ops::Range<usize>) -> u64 {
        plain_count(&self.bits(column, values))
    }

    fn counts(&self, [left, right]: [usize; 2]) -> Vec<u64> {
        let mut counts = vec![0; DISTINCT[left] * DISTINCT[right]];
        for row in 0..self.rows() {
            counts[self.code(left, row) * DISTINCT[right] + self.code(right, row)] += 1;
        }
        counts
    }

    fn group_count(&self, [a, b, c]: [usize; 3]) -> Vec<u64> {
        let mut counts = vec![0; DISTINCT[a] * DISTINCT[b] * DISTINCT[c]];
        let columns = self.narrow[a].iter().zip(&self.narrow[b]).zip(&self.narrow[c]);
        for ((x, y), z) in columns {
            let group = (usize::from(*x) * DISTINCT[b] + usize::from(*y)) * DISTINCT[c] + usize::from(*z);
            counts[group] += 1;
        }
        counts
    }

    fn group_sum(&self, [left, right]: [usize; 2], fact: &[f64]) -> Groups {
        let mut groups = vec![(0, 0.0); DISTINCT[left] * DISTINCT[right]];
        let columns = self.narrow[left].iter().zip(&self.narrow[right]).zip(fact);
        for ((a, b), value) in columns {
            let (count, sum) = &mut groups[usize::from(*a) * DISTINCT[right] + usize::from(*b)];
            *count += 1;
            *sum += value;
        }
        groups
    }
}

fn plain_and(left: &[u64], right: &[u64]) -> Vec<u64> {
    left.iter().zip(right).map(|(left, right)| left & right).collect()
}

inlay_types::multiversion! {
    fn plain_count[](words: &[u64]) -> u64 {
        words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

inlay_types::multiversion! {
    fn plain_count_and[](left: &[u64], right: &[u64]) -> u64 {
        left.iter().zip(right).map(|(left, right)| u64::from((left & right).count_ones())).sum()
    }
}

fn block_ops() -> Ops<BlockList> {
    Ops {
        size: |set| (set.memory_size(), set.memory_size() - size_of::<BlockList>()),
        and: |left, right| left.and(right),
        or: |left, right| left.or(right),
        count: |set| set.count(),
        count_and: |left, right| left.count_and(right),
        for_each: |set, visit| set.for_each(visit),
    }
}

fn roaring_ops() -> Ops<RoaringBitmap> {
    Ops {
        size: |set| (size_of::<RoaringBitmap>() + set.serialized_size(), set.serialized_size()),
        and: |left, right| left & right,
        or: |left, right| left | right,
        count: |set| set.len(),
        count_and: |left, right| left.intersection_len(right),
        for_each: |set, visit| set.iter().for_each(visit),
    }
}

fn plain_ops() -> Ops<Vec<u64>> {
    Ops {
        size: |set| (size_of_val(&set[..]), size_of_val(&set[..])),
        and: |left, right| plain_and(left, right),
        or: |left, right| left.iter().zip(right).map(|(left, right)| left | right).collect(),
        count: |set| plain_count(set),
        count_and: |left, right| plain_count_and(left, right),
        for_each: |set, visit| {
            for (number, word) in set.iter().enumerate() {
                let mut left = *word;
                while left != 0 {
                    visit((number * 64) as u32 + left.trailing_zeros());
                    left &= left - 1;
                }
            }
        },
    }
}

/// Milliseconds that sets took to make, and the sets.
type Made = (f64, Box<dyn Sets>);

fn made<S: Sets + 'static>(make: impl FnOnce() -> S) -> Made {
    let begin = Instant::now();
    let from = processor_time(begin);
    let sets = make();
    ((processor_time(begin) - from) as f64 / 1e6, Box::new(sets))
}

fn all_of(listings: &Listings) -> Vec<Made> {
    let rows = listings.price.len();
    let narrow = |codes: &Vec<u16>| codes.iter().map(|code| *code as u8).collect();
    let codes = Codes { narrow: listings.codes.iter().map(narrow).collect(), wide: listings.codes.to_vec() };
    let blocks =
        || Whole::new("OlapCalc", listings, block_ops(), |rows| BlockList::from_sorted(rows).unwrap());
    let packed =
        || Packed(blocks().sets.iter().map(|sets| sets.iter().map(BlockList::pack).collect()).collect());
    let group = |from: usize| {
        let range = from..rows.min(from + GROUP);
        let columns = listings.codes.iter().zip(DISTINCT);
        let budget = MemoryBudget::unlimited();
        columns.map(|(codes, n)| by_code(&codes[range.clone()], n as u32, &budget).unwrap()).collect()
    };
    let ours = || Ours((0..rows).step_by(GROUP).map(group).collect());
    let roaring = || {
        Whole::new("Roaring", listings, roaring_ops(), |rows| {
            let mut set = RoaringBitmap::from_sorted_iter(rows.iter().copied()).unwrap();
            set.optimize();
            set
        })
    };
    let plain = || {
        Whole::new("plain bitmaps", listings, plain_ops(), |of_value| {
            let mut words = vec![0u64; rows.div_ceil(64)];
            of_value.iter().for_each(|row| words[*row as usize / 64] |= 1 << (row % 64));
            words
        })
    };
    vec![made(blocks), made(packed), made(ours), made(roaring), made(plain), made(|| codes)]
}

/// Nanoseconds that this thread has had a processor, so that others on the machine count little; elapsed time where the system does
/// not say. The system looks some hundred times a second, so what is measured has to take longer.
fn processor_time(since: Instant) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let spent = text.split_whitespace().next().and_then(|number| number.parse().ok());
    spent.unwrap_or_else(|| since.elapsed().as_nanos() as u64)
}

/// Milliseconds of processor time in the best round, and the answer.
fn timed<T>(work: impl Fn() -> T) -> (f64, T) {
    let begin = Instant::now();
    let mut answer = work();
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let (from, mut times, mut spent) = (processor_time(begin), 0, 0);
        while spent < ROUND_NS {
            answer = black_box(work());
            times += 1;
            spent = processor_time(begin) - from;
        }
        best = best.min(spent as f64 / f64::from(times) / 1e6);
    }
    (best, answer)
}

fn same_sums(left: &Groups, right: &Groups) -> bool {
    let near = |((n, sum), (m, other)): (&(u64, f64), &(u64, f64))| {
        n == m && (sum - other).abs() <= 1e-9 * sum.abs()
    };
    left.len() == right.len() && left.iter().zip(right).all(near)
}

fn main() {
    let rows = std::env::args().nth(1).map_or(2_000_000, |rows| rows.parse().unwrap());
    for sorted in [false, true] {
        let listings = listings(rows, sorted);
        let csv = listings.csv_bytes as f64;
        let order = if sorted { "sorted by region, city, type, rooms, built" } else { "in no order" };
        println!("\n{rows} listings {order}; {:.0} MB as CSV\n", csv / 1e6);
        println!(
            "| sets | made in, ms | in memory, MB | in a file, % of CSV | AND, 78 pairs | AND, 1,440 pairs | OR of 10 | OR of 60 | \
             count, 1,200 pairs | count, 3 columns | sum, 2 columns |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
        );
        let all = all_of(&listings);
        // Of the codes, by another way than any of the others.
        let truth = &all.last().unwrap().1;
        let few = truth.counts([TYPE, ROOMS]);
        let many = truth.counts([BUILT, ROOMS]);
        let pairs = truth.counts([CITY, TYPE]);
        let three = truth.group_count([REGION, TYPE, ROOMS]);
        let sums = truth.group_sum([REGION, TYPE], &listings.price);
        let within = |values: std::ops::Range<u16>| {
            listings.codes[BUILT].iter().filter(|code| values.contains(code)).count() as u64
        };
        assert_eq!(few.iter().sum::<u64>(), rows as u64);
        for (making, sets) in &all {
            let (memory, file) = sets.sizes();
            let times = [
                checked(sets.name(), timed(|| sets.intersections([TYPE, ROOMS])), |answer| *answer == few),
                checked(sets.name(), timed(|| sets.intersections([BUILT, ROOMS])), |answer| *answer == many),
                checked(sets.name(), timed(|| sets.union(BUILT, 20..30)), |answer| *answer == within(20..30)),
                checked(sets.name(), timed(|| sets.union(BUILT, 30..90)), |answer| *answer == within(30..90)),
                checked(sets.name(), timed(|| sets.counts([CITY, TYPE])), |answer| *answer == pairs),
                checked(sets.name(), timed(|| sets.group_count([REGION, TYPE, ROOMS])), |answer| {
                    *answer == three
                }),
                checked(sets.name(), timed(|| sets.group_sum([REGION, TYPE], &listings.price)), |answer| {
                    same_sums(answer, &sums)
                }),
            ];
            let times = times.map(|time| format!("{time:.2} ms")).join(" | ");
            let sizes = format!("{:.1} | {:.1}", memory as f64 / 1e6, 100.0 * file as f64 / csv);
            println!("| {} | {making:.0} | {sizes} | {times} |", sets.name());
        }
    }
}

/// The time, if the answer is right.
fn checked<T>(name: &str, (time, answer): (f64, T), is_right: impl Fn(&T) -> bool) -> f64 {
    if !is_right(&answer) {
        panic!("{name} gives a wrong answer");
    }
    time
}

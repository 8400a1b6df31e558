//! Distinct rows of integers as codes: which of many rows are distinct is found by sets of codes that fit into a core's cache,
//! and nothing of a row is kept but its code.
//!
//! ```text
//! code (32, 64 or 128 bits)   [ group + 1 | digit of the last argument | .. | digit of the first ]     0: no row
//! ```
//! A digit is the distance from the least value; where there are NULLs one more, and 0 is NULL.

use super::encode::with_words;
use super::packed::PackedKey;
use super::scattered::{BLOCK, Part, Scattered};
use super::spec::{Slot, SlotKind};
use crate::spill::count_or_work;
use inlay_kernels::aggregate::{Column, GroupIds, GroupedAccumulator};
use inlay_types::limits;
use inlay_types::{Bitmap, Buffer, Heap, LogicalType, Native, PhysicalType, Result, VECTOR_SIZE, Vector};

/// Codes per part that a set of them is made for: with twice as many slots it fits into a core's cache.
const PART_CODES: usize = 1 << 13;
/// Sets grow from at most so many slots; most of the rows may be equal.
const SLOTS_MAX: usize = 1 << 17;
const SLOTS_MIN: usize = 1 << 10;
/// Lists are scattered over at most so many parts: each is written to at its own place.
const PARTS_MAX: usize = 1 << 10;
/// The statement's interrupt is looked at every so many rows.
pub(super) const CHECKED_ROWS: usize = 32 * VECTOR_SIZE;

/// A word of bits.
pub(super) trait Code: PackedKey {
    /// A digit that fits.
    fn of(digit: u64, shift: u32) -> Self;
    fn or(self, other: Self) -> Self;
    /// The bits below.
    fn below(self, shift: u32) -> Self;
    fn digit(self, shift: u32, bits: u32) -> u64;
}

macro_rules! code {
    ($($t:ty),*) => { $(
        impl Code for $t {
            #[inline(always)]
            fn of(digit: u64, shift: u32) -> Self {
                (digit as $t) << shift
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn below(self, shift: u32) -> Self {
                self & ((1 << shift) - 1)
            }
            #[inline(always)]
            fn digit(self, shift: u32, bits: u32) -> u64 {
                (self >> shift) as u64 & u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0)
            }
        }
    )* };
}
code!(u32, u64, u128);

/// What was seen of a column: the least and the largest value as ordered words, and whether there are NULLs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    range: Option<(i64, i64)>,
    nulls: bool,
}

impl Seen {
    /// All of a column.
    pub(super) fn of(column: &Column) -> Result<Self> {
        let mut seen = Self::default();
        for from in (0..column.len()).step_by(VECTOR_SIZE) {
            if from.is_multiple_of(CHECKED_ROWS) {
                limits::check()?;
            }
            let vector = column.to_vector(from, (column.len() - from).min(VECTOR_SIZE));
            let range = super::encode::observed_range(&vector)
                .map(|(low, range)| (low as i64, low.wrapping_add(range) as i64));
            seen = seen.and(Self { range, nulls: vector.null_count() > 0 });
        }
        Ok(seen)
    }

    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        let range = match (self.range, other.range) {
            (Some((low, high)), Some((least, most))) => Some((low.min(least), high.max(most))),
            (one, other) => one.or(other),
        };
        Self { range, nulls: self.nulls || other.nulls }
    }
}

/// Where the digits of an argument are.
#[derive(Debug)]
struct Field {
    ty: LogicalType,
    /// The word whose digit is `first`.
    min: u64,
    /// 1 if there are NULLs, else 0.
    first: u64,
    shift: u32,
    bits: u32,
}

/// How rows become codes, and are told from them.
#[derive(Debug)]
pub(super) struct Fields {
    args: Vec<Field>,
    group_shift: u32,
    bits: u32,
}

impl Fields {
    /// Whether rows with arguments of these types may have codes: those whose values are integers.
    pub(super) fn fit(types: &[LogicalType]) -> bool {
        types.iter().all(super::domain::fits)
    }

    /// For groups below `groups` and arguments of which this was seen; `None` if codes would be too wide.
    pub(super) fn new(types: &[LogicalType], seen: &[Seen], groups: usize) -> Option<Self> {
        let (mut args, mut shift) = (Vec::with_capacity(types.len()), 0);
        for (ty, seen) in types.iter().zip(seen) {
            let (low, high) = seen.range.unwrap_or_default();
            let first = u64::from(seen.nulls);
            let largest = (high as u64).wrapping_sub(low as u64).checked_add(first)?;
            let bits = u64::BITS - largest.leading_zeros();
            args.push(Field { ty: ty.clone(), min: low as u64, first, shift, bits });
            shift += bits;
        }
        let bits = shift + usize::BITS - groups.max(1).leading_zeros();
        (bits <= u128::BITS).then_some(Self { args, group_shift: shift, bits })
    }

    /// Whether codes fit into 64 bits.
    pub(super) fn are_narrow(&self) -> bool {
        self.bits <= u64::BITS
    }

    /// Whether codes fit into 32 bits if groups are below `groups`.
    pub(super) fn are_short(&self, groups: usize) -> bool {
        self.group_shift + usize::BITS - groups.leading_zeros() <= u32::BITS
    }

    /// The group of a code.
    #[inline(always)]
    pub(super) fn group<K: Code>(&self, code: K) -> u32 {
        (code.digit(self.group_shift, u32::BITS) as u32).wrapping_sub(1)
    }

    /// The code with another group.
    #[inline(always)]
    pub(super) fn with_group<K: Code>(&self, code: K, group: u32) -> K {
        code.below(self.group_shift).or(K::of(u64::from(group) + 1, self.group_shift))
    }

    /// Codes of rows `from .. from + len` of a list, whose first column has the groups; `renamed` says which group each is.
    pub(super) fn encode<K: Code>(
        &self,
        list: &[Column],
        (from, len): (usize, usize),
        mut renamed: impl FnMut(u32) -> u32,
        codes: &mut Vec<K>,
    ) {
        let groups = list[0].to_vector(from, len);
        let code = |&group: &u32| K::of(u64::from(renamed(group)) + 1, self.group_shift);
        codes.clear();
        codes.extend(groups.values::<u32>().iter().map(code));
        for (field, column) in self.args.iter().zip(&list[1..]) {
            let vector = column.to_vector(from, len);
            with_words!(vector, values, field.add(values, &vector, codes), ());
        }
    }

    /// The values of an argument.
    fn decode<K: Code>(&self, arg: usize, codes: &[K]) -> Vector {
        fn of<K: Code, T: Native>(codes: &[K], value: impl Fn(K) -> T) -> Buffer {
            Buffer::copy_of(&codes.iter().map(|&code| value(code)).collect::<Vec<T>>())
        }
        let field = &self.args[arg];
        let digit = |code: K| code.digit(field.shift, field.bits);
        let word = |code: K| field.min.wrapping_add(digit(code)).wrapping_sub(field.first);
        // A word's low bits are the value.
        let values = match field.ty.physical().size() {
            1 => of(codes, |code| word(code) as u8),
            2 => of(codes, |code| word(code) as u16),
            4 => of(codes, |code| word(code) as u32),
            _ => of(codes, word),
        };
        let validity =
            (field.first > 0).then(|| Bitmap::from_fn(codes.len(), |index| digit(codes[index]) > 0));
        Vector::flat(field.ty.clone(), codes.len(), values, validity, Heap::default())
    }
}

impl Fields {
    /// Calls `each` with the rows of the codes of a part, some at a time: their groups, their arguments, and how many.
    pub(super) fn for_rows<K: Code>(
        &self,
        part: Part<'_, K>,
        mut each: impl FnMut(&[u32], Vec<Vector>, usize) -> Result<()>,
    ) -> Result<()> {
        let mut groups = Vec::new();
        for codes in part.blocks() {
            groups.clear();
            groups.extend(codes.iter().map(|&code| self.group(code)));
            each(&groups, (0..self.args.len()).map(|arg| self.decode(arg, codes)).collect(), codes.len())?;
        }
        Ok(())
    }
}

impl Field {
    fn add<K: Code, T: super::encode::Word>(&self, values: &[T], vector: &Vector, codes: &mut [K]) {
        let digit = |value: &T| value.word().wrapping_sub(self.min).wrapping_add(self.first);
        match vector.validity() {
            None => {
                for (code, value) in codes.iter_mut().zip(values) {
                    *code = code.or(K::of(digit(value), self.shift));
                }
            }
            Some(validity) => {
                for (row, (code, value)) in codes.iter_mut().zip(values).enumerate() {
                    let digit = if validity.get(row) { digit(value) } else { 0 };
                    *code = code.or(K::of(digit, self.shift));
                }
            }
        }
    }
}

/// A set of codes: open addressing, at most half full.
#[derive(Default)]
pub(super) struct CodeSet<K> {
    slots: Vec<K>,
    len: usize,
}

impl<K: Code> CodeSet<K> {
    /// How many codes it has.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn memory_size(&self) -> usize {
        self.slots.capacity() * size_of::<K>()
    }

    /// Empties it, for about so many codes.
    pub(super) fn clear(&mut self, codes: usize) {
        self.slots.clear();
        self.slots.resize((2 * codes).next_power_of_two().clamp(SLOTS_MIN, SLOTS_MAX), K::default());
        self.len = 0;
    }

    fn reserve(&mut self, more: usize) {
        let needed = 2 * (self.len + more);
        if needed <= self.slots.len() {
            return;
        }
        let size = needed.next_power_of_two().max(SLOTS_MIN);
        let before = std::mem::replace(&mut self.slots, vec![K::default(); size]);
        for code in before.into_iter().filter(|code| *code != K::default()) {
            let place = self.find(code);
            self.slots[place] = code;
        }
    }

    /// Where a code is, or could be put.
    #[inline(always)]
    fn find(&self, code: K) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = code.hash() as usize & mask;
        while self.slots[place] != K::default() && self.slots[place] != code {
            place = (place + 1) & mask;
        }
        place
    }

    /// Adds codes as `renamed`, none of which is 0; those that are new are appended to `new`.
    pub(super) fn add(&mut self, codes: &[K], renamed: impl Fn(K) -> K, new: &mut Vec<K>) {
        self.reserve(codes.len());
        let before = new.len();
        for &code in codes {
            let code = renamed(code);
            let place = self.find(code);
            if self.slots[place] == K::default() {
                self.slots[place] = code;
                new.push(code);
            }
        }
        self.len += new.len() - before;
    }
}

/// The codes of a part, and which group each of their groups is, if it is another.
pub(super) type Renamed<'a, K> = (Part<'a, K>, Option<&'a [u32]>);

/// What rows of codes are fed to: accumulators of so many groups, among which the codes' group 0 is `first`.
pub(super) struct Target<'a> {
    pub(super) accumulators: &'a mut [Box<dyn GroupedAccumulator>],
    pub(super) groups: usize,
    pub(super) first: u32,
}

impl<'a> Target<'a> {
    /// Accumulators of the codes' groups.
    pub(super) fn all(accumulators: &'a mut [Box<dyn GroupedAccumulator>], groups: usize) -> Self {
        Self { accumulators, groups, first: 0 }
    }
}

/// Finds which codes are distinct, and feeds them to the accumulators of a list of distinct arguments.
pub(super) struct Feeder<'a, K> {
    fields: &'a Fields,
    slots: &'a [Slot],
    /// The number of the list.
    index: usize,
    set: CodeSet<K>,
    new: Vec<K>,
    ids: Vec<u32>,
}

impl<'a, K: Code> Feeder<'a, K> {
    pub(super) fn new(fields: &'a Fields, slots: &'a [Slot], index: usize) -> Self {
        Self { fields, slots, index, set: CodeSet::default(), new: Vec::new(), ids: Vec::new() }
    }

    /// Feeds the distinct ones among the codes of some lists to accumulators. `memory` is asked for what the set and the accumulators
    /// may take.
    pub(super) fn feed(
        &mut self,
        lists: &[Renamed<'_, K>],
        mut target: Target<'_>,
        memory: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        self.set.clear(lists.iter().map(|(part, _)| part.len()).sum());
        for (part, targets) in lists {
            for (number, codes) in part.blocks().enumerate() {
                if number % (CHECKED_ROWS / BLOCK) == 0 {
                    limits::check()?;
                    memory(3 * self.set.memory_size() + self.growing(&target))?;
                }
                match targets {
                    None => self.set.add(codes, |code| code, &mut self.new),
                    Some(targets) => {
                        let group = |code: K| targets[self.fields.group(code) as usize];
                        let renamed = |code: K| self.fields.with_group(code, group(code));
                        self.set.add(codes, renamed, &mut self.new);
                    }
                }
                if self.new.len() >= VECTOR_SIZE {
                    self.flush(&mut target)?;
                }
            }
        }
        self.flush(&mut target)
    }

    /// Bytes that the accumulators that are fed hold, and may take for a while when they grow.
    fn growing(&self, target: &Target<'_>) -> usize {
        let fed = self.slots.iter().zip(target.accumulators.iter());
        let fed = fed.filter(|(slot, _)| slot.distinct == Some(self.index));
        5 * fed.map(|(_, accumulator)| accumulator.memory_size()).sum::<usize>() / 2
    }

    fn flush(&mut self, target: &mut Target<'_>) -> Result<()> {
        for codes in self.new.chunks(VECTOR_SIZE) {
            self.ids.clear();
            self.ids.extend(codes.iter().map(|&code| target.first + self.fields.group(code)));
            let ids = GroupIds::new(&self.ids, target.groups);
            let mut decoded: Vec<Option<Vector>> = self.fields.args.iter().map(|_| None).collect();
            for (slot, accumulator) in self.slots.iter().zip(target.accumulators.iter_mut()) {
                let mut args = match slot.kind {
                    _ if slot.distinct != Some(self.index) => continue,
                    SlotKind::Rows => [].iter(),
                    SlotKind::Nulls if slot.args.iter().all(|&arg| self.fields.args[arg].first == 0) => {
                        continue;
                    }
                    _ => slot.args.iter(),
                };
                for &arg in args.clone() {
                    decoded[arg].get_or_insert_with(|| self.fields.decode(arg, codes));
                }
                let values: Vec<&Vector> = args.by_ref().filter_map(|&arg| decoded[arg].as_ref()).collect();
                accumulator.update(&values, ids)?;
            }
        }
        self.new.clear();
        Ok(())
    }
}

/// Feeds the distinct rows of a whole list to accumulators that have so many groups.
pub(super) fn feed_list<K: Code>(
    fields: &Fields,
    (slots, index): (&[Slot], usize),
    list: &[Column],
    (accumulators, groups): (&mut [Box<dyn GroupedAccumulator>], usize),
) -> Result<()> {
    let parts = parts_of(list[0].len());
    let mut scattered = Scattered::<K>::new(list[0].len(), parts);
    scattered.append_by_hash(fields, list, 0..list[0].len(), |group| group)?;
    let (mut feeder, mut tally) = (Feeder::new(fields, slots, index), limits::Tally::default());
    for part in 0..parts {
        let target = Target::all(accumulators, groups);
        let memory = &mut |bytes| count_or_work(&mut tally, bytes);
        feeder.feed(&[(scattered.part(part), None)], target, memory)?;
    }
    limits::keep(tally.finish());
    Ok(())
}

/// Parts that so many rows are scattered over by hash, a power of two.
pub(super) fn parts_of(rows: usize) -> usize {
    (rows / PART_CODES).next_power_of_two().min(PARTS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{Error, Value};
    use std::collections::HashSet;

    type Row = (u32, Option<i64>, Option<i16>);

    fn list(rows: &[Row]) -> Result<Vec<Column>> {
        let types = [LogicalType::UInteger, LogicalType::BigInt, LogicalType::SmallInt];
        let mut columns: Vec<Column> = types.iter().map(|ty| Column::new(ty.clone())).collect();
        for rows in rows.chunks(VECTOR_SIZE) {
            let all: Vec<u32> = (0..rows.len() as u32).collect();
            let groups: Vec<u32> = rows.iter().map(|row| row.0).collect();
            let wide: Vec<Value> = rows.iter().map(|row| row.1.map_or(Value::Null, Value::BigInt)).collect();
            let small: Vec<Value> =
                rows.iter().map(|row| row.2.map_or(Value::Null, Value::SmallInt)).collect();
            columns[0].append(&Vector::from_values(types[0].clone(), &groups), &all);
            columns[1].append(&Vector::from_sql_values(types[1].clone(), &wide)?, &all);
            columns[2].append(&Vector::from_sql_values(types[2].clone(), &small)?, &all);
        }
        Ok(columns)
    }

    /// An error if codes would be too wide.
    fn fields(list: &[Column], groups: usize) -> Result<Fields> {
        let types: Vec<LogicalType> = list[1..].iter().map(Column::logical_type).collect();
        let seen: Vec<Seen> = list[1..].iter().map(Seen::of).collect::<Result<_>>()?;
        Fields::new(&types, &seen, groups).ok_or_else(|| Error::internal("codes are too wide"))
    }

    /// The distinct rows of a list, by way of codes, of groups that are renamed to ten times their number.
    fn distinct<K: Code>(fields: &Fields, list: &[Column], parts: usize) -> Result<Vec<Row>> {
        let mut scattered = Scattered::<K>::new(list[0].len(), parts);
        scattered.append_by_hash(fields, list, 0..list[0].len(), |group| group)?;
        let (mut set, mut rows) = (CodeSet::default(), Vec::new());
        for part in 0..parts {
            set.clear(1);
            let mut new = Vec::new();
            for codes in scattered.part(part).blocks() {
                set.add(codes, |code| fields.with_group(code, fields.group(code) * 10), &mut new);
            }
            assert_eq!(set.len(), new.len());
            let mut once = Scattered::new(new.len(), 1);
            once.append(&new, &vec![0; new.len()]);
            assert_eq!(once.part(0).len(), new.len());
            fields.for_rows(once.part(0), |groups, args, len| {
                for (row, &group) in groups.iter().enumerate().take(len) {
                    let wide = (!args[0].is_null(row)).then(|| args[0].values::<i64>()[row]);
                    let small = (!args[1].is_null(row)).then(|| args[1].values::<i16>()[row]);
                    rows.push((group, wide, small));
                }
                Ok(())
            })?;
        }
        rows.sort_unstable();
        Ok(rows)
    }

    #[test]
    fn rows_come_back_from_their_codes_once() -> Result<()> {
        let mut random = 88_172_645_463_325_252u64;
        let mut next = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        // Whether there are NULLs, and how far wide values are apart.
        for (nulls, factor) in
            [(false, 1), (true, 1), (false, 1 << 40), (true, i64::MAX / 400), (false, i64::MAX / 400)]
        {
            let rows: Vec<Row> = (0..30_000)
                .map(|_| {
                    let null = |nth: u64| nulls && nth == 0;
                    let (wide, small) = (next() % 801, next() % 7);
                    let wide = (!null(next() % 5)).then(|| (wide as i64 - 400) * factor);
                    ((next() % 40) as u32, wide, (!null(next() % 9)).then(|| small as i16 - 3))
                })
                .collect();
            let list = list(&rows)?;
            let fields = fields(&list, 400)?;
            let renamed = rows.iter().map(|&(group, wide, small)| (group * 10, wide, small));
            let mut expected: Vec<Row> = renamed.collect::<HashSet<_>>().into_iter().collect();
            expected.sort_unstable();
            assert_eq!(fields.are_narrow(), factor <= 1 << 40);
            assert_eq!(fields.are_short(400), factor == 1);
            for parts in [1, 8] {
                assert!(distinct::<u128>(&fields, &list, parts)? == expected);
                if fields.are_narrow() {
                    assert!(distinct::<u64>(&fields, &list, parts)? == expected);
                }
                if fields.are_short(400) {
                    assert!(distinct::<u32>(&fields, &list, parts)? == expected);
                }
            }
        }
        Ok(())
    }

    #[test]
    fn all_numbers_of_64_bits_have_codes_but_not_with_null() -> Result<()> {
        let rows = [(0, Some(i64::MIN), Some(1)), (1, Some(i64::MAX), Some(2)), (0, Some(i64::MIN), Some(1))];
        let whole = list(&rows)?;
        let fields_of_all = fields(&whole, 20)?;
        let expected = [(0, Some(i64::MIN), Some(1)), (10, Some(i64::MAX), Some(2))];
        assert_eq!(distinct::<u128>(&fields_of_all, &whole, 1)?, expected);
        let with_null = list(&[rows[0], rows[1], (0, None, None)])?;
        assert!(fields(&with_null, 20).is_err());
        let nothing = list(&[])?;
        let of_nothing = fields(&nothing, 0)?;
        assert_eq!(distinct::<u64>(&of_nothing, &nothing, 2)?, []);
        Ok(())
    }
}

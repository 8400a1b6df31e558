//! Groups: their keys, column by column, and how a row finds its group.
//!
//! A table begins with the fastest method that its keys allow and falls back when a batch does not fit:
//!
//! ```text
//!           domain    one integer key most of whose values occur: its place in their range is the group
//! level 0   ascending one integer key that ascends: the group of the row before, or the next one
//!           direct    code of the keys indexes an array of group numbers
//! level 1   packed    code of the keys (64 or 128 bits), with ranges from statistics or guessed from the first batch;
//!                     texts that come with dictionaries are numbered
//!           words     one or two words of which no range is known
//! level 2   packed    the same with the ranges of the types
//! level 3   generic   hash of the keys; keys are compared column by column
//! ```
//! Group numbers are dense and in the order of first appearance, whatever the method, and a fallback keeps them; only a domain
//! has its own, until it is left.

use super::KeyDomain;
use super::ascending;
use super::domain::{self, Domain};
use super::encode::{Digits, Misfit, add_digits, for_words, is_word, observed_range, type_range};
use super::generic::{GenericTable, hash_groups};
use super::packed::PackedTable;
use crate::operator::interner::Interner;
use inlay_kernels::aggregate::Column;
use inlay_types::{Error, LogicalType, PhysicalType, Result, VECTOR_SIZE, Vector};

/// What is expected of a table's keys.
#[derive(Clone, Debug, Default)]
pub(in crate::operator) struct TableHints {
    /// Least word and range, per key; may be shorter than the keys.
    pub(super) ranges: Vec<Option<(u64, u64)>>,
    /// Distinct strings, per key; may be shorter than the keys.
    pub(super) strings: Vec<Option<u64>>,
    /// Rows to be resolved.
    pub(super) rows: Option<u64>,
    /// Groups expected.
    pub(super) groups: Option<u64>,
    /// Memory is short: no large arrays, however fast.
    pub(super) small: bool,
    /// Keys do not ascend.
    pub(super) unordered: bool,
    /// The range of the only key pays as a [`Domain`].
    pub(in crate::operator) domain: bool,
}

impl TableHints {
    /// What statistics know of keys and of the rows with them.
    pub(in crate::operator) fn of(
        types: &[LogicalType],
        domains: &[Option<KeyDomain>],
        (rows, groups): (Option<u64>, Option<u64>),
        workers: usize,
    ) -> Self {
        let range = |domain: &Option<KeyDomain>| match *domain {
            Some(KeyDomain::Range(low, high)) if low <= high => {
                Some((low as u64, u64::try_from(high.checked_sub(low)?).ok()?))
            }
            _ => None,
        };
        let strings = |domain: &Option<KeyDomain>| match *domain {
            Some(KeyDomain::Strings(count)) => Some(count),
            _ => None,
        };
        let ranges: Vec<_> = domains.iter().map(range).collect();
        let domain = match (types, &ranges[..]) {
            ([ty], [Some((_, range))]) => domain::fits(ty) && domain::pays(*range, rows, groups, workers),
            _ => false,
        };
        let strings = domains.iter().map(strings).collect();
        Self { ranges, strings, rows, groups, small: false, unordered: false, domain }
    }
}

/// Codes below this may index an array, whatever is expected.
const DIRECT_ALWAYS: u128 = 1 << 16;
/// Arrays of group numbers have at most this many entries.
const DIRECT_MAX: u128 = 1 << 25;
/// The same for several keys, or strings.
const DIRECT_MIXED_MAX: u128 = 1 << 22;
/// Strings that are not dictionary encoded become digits only if so few of them, or groups, are expected.
const INTERNED_MAX: u64 = 1024;
/// Integers of unknown range index an array if the first batch spans at most this.
const OBSERVED_RANGE_MAX: u64 = 4096;

/// As many groups have to be expected for keys that ascend to be looked for: arrays of fewer stay in the cache.
const ASCENDING_MIN: u64 = 1 << 13;
/// Hash tables have room for at most this many groups before they have to grow, about as many as a worker has when it starts again.
const EXPECTED_MAX: u64 = 1 << 17;
/// A key of which more strings are expected does not index an array.
const STRINGS_MAX: u64 = 1 << 17;
/// More groups of two words than this are looked up by hashes, which takes a third of the memory.
const WORDS_MAX: usize = 1 << 19;
/// The level at which keys are found by their hashes.
const LEVEL_HASHES: u8 = 3;
/// A key of which more strings are found is no packed one.
const STRINGS_PACKED_MAX: usize = (1 << 24) - 1;

struct Encoded {
    digits: Vec<Digits>,
    strides: Vec<u64>,
}

enum Resolver {
    Unchosen,
    Domain(Domain),
    Ascending(ascending::Last),
    Direct(Encoded, Vec<u32>),
    Packed64(Encoded, PackedTable<u64>),
    Packed128(Encoded, PackedTable<u128>),
    /// The last key, of 64 bits and without NULLs; a key before it is always 0.
    Word(PackedTable<u64>),
    /// Two keys of up to 64 bits without NULLs.
    Words(PackedTable<[u64; 2]>),
    Generic(Box<GenericTable>),
}

/// From the codes of one table to those of another, key by key.
pub(super) struct Recoding(Vec<KeyRecoding>);

struct KeyRecoding {
    /// How many digits the key has in the first table.
    radix: u64,
    /// The key's stride in the second.
    stride: u64,
    /// The digits in the second of those in the first, where texts have others.
    digits: Option<Vec<u32>>,
}

impl Recoding {
    #[inline(always)]
    fn code(&self, code: u64) -> u64 {
        let (mut rest, mut recoded) = (code, 0);
        for KeyRecoding { radix, stride, digits } in &self.0 {
            let digit = rest % radix;
            rest /= radix;
            recoded += stride * digits.as_ref().map_or(digit, |digits| u64::from(digits[digit as usize]));
        }
        recoded
    }
}

/// Distinct keys, numbered.
pub(in crate::operator) struct GroupTable {
    columns: Vec<Column>,
    hints: TableHints,
    resolver: Resolver,
    level: u8,
    /// Arrays have room for so many times the strings that were expected.
    growth: usize,
    /// Groups that the resolver knows; all of `columns` except during a fallback.
    resolved: usize,
    codes: Vec<u64>,
    wide_codes: Vec<u128>,
    pairs: Vec<[u64; 2]>,
    new_rows: Vec<u32>,
}

impl GroupTable {
    pub(in crate::operator) fn new(types: &[LogicalType], hints: TableHints) -> Self {
        Self {
            columns: types.iter().map(|ty| Column::new(ty.clone())).collect(),
            hints,
            resolver: Resolver::Unchosen,
            level: 0,
            growth: 1,
            resolved: 0,
            codes: Vec::new(),
            wide_codes: Vec::new(),
            pairs: Vec::new(),
            new_rows: Vec::new(),
        }
    }

    /// Number of groups.
    pub(in crate::operator) fn len(&self) -> usize {
        self.resolved
    }

    /// The keys.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The keys, without the table.
    pub(super) fn take_columns(&mut self) -> Vec<Column> {
        std::mem::take(&mut self.columns)
    }

    /// Bytes held.
    pub(in crate::operator) fn memory_size(&self) -> usize {
        let resolver = match &self.resolver {
            Resolver::Unchosen | Resolver::Ascending(_) => 0,
            Resolver::Domain(domain) => domain.memory_size(),
            Resolver::Direct(encoded, slots) => encoded.memory_size() + slots.capacity() * 4,
            Resolver::Packed64(encoded, table) => encoded.memory_size() + table.memory_size(),
            Resolver::Packed128(encoded, table) => encoded.memory_size() + table.memory_size(),
            Resolver::Word(table) => table.memory_size(),
            Resolver::Words(table) => table.memory_size(),
            Resolver::Generic(table) => table.memory_size(),
        };
        resolver + self.columns.iter().map(Column::memory_size).sum::<usize>()
    }

    /// Gives back what finding groups takes, which is about half of all; no rows are added afterwards. With `keep_array` what says
    /// how to split the groups stays: an array, or hashes.
    pub(super) fn seal(&mut self, keep_array: bool) {
        match &mut self.resolver {
            Resolver::Direct(..) | Resolver::Ascending(_) if keep_array => {}
            Resolver::Generic(table) if keep_array => table.forget_slots(),
            resolver => *resolver = Resolver::Unchosen,
        }
    }

    /// Whether groups are found without a hash table, so that many groups cost no more than few.
    pub(super) fn needs_no_hashes(&self) -> bool {
        matches!(self.resolver, Resolver::Direct(..) | Resolver::Ascending(_) | Resolver::Domain(_))
    }

    /// The domain that groups are places of.
    pub(super) fn domain(&self) -> Option<&Domain> {
        match &self.resolver {
            Resolver::Domain(domain) => Some(domain),
            _ => None,
        }
    }

    /// Whether rows are to be found by [`GroupTable::find_in_domain`].
    pub(in crate::operator) fn has_domain(&self) -> bool {
        self.hints.domain
    }

    /// Finds the group of each of `len` rows in the domain; `false`, and nothing is changed, if there is none or a key is out of it.
    pub(in crate::operator) fn find_in_domain(
        &mut self,
        keys: &[Vector],
        len: usize,
        groups: &mut Vec<u32>,
    ) -> bool {
        let [key] = keys else { return false };
        let mut key = std::borrow::Cow::Borrowed(key);
        if !key.is_flat() {
            normalize(key.to_mut());
        }
        if let (Resolver::Unchosen, Some(range)) = (&self.resolver, self.hint(0)) {
            if self.seems_ascending(std::slice::from_ref(&*key)) {
                return false;
            }
            self.resolver = Resolver::Domain(Domain::new(range));
        }
        let Resolver::Domain(domain) = &mut self.resolver else { return false };
        groups.resize(len, 0);
        let found = domain.find(&key, groups);
        self.resolved = domain.len();
        found
    }

    /// Numbers the groups as any other table does; returns which places they had, by which they are ordered.
    pub(in crate::operator) fn leave_domain(&mut self) -> Vec<u32> {
        self.hints.domain = false;
        let Resolver::Domain(domain) = &self.resolver else { return Vec::new() };
        let places = domain.all_seen();
        let rows: Vec<u32> = (0..VECTOR_SIZE as u32).collect();
        let column = &mut self.columns[0];
        for part in places.chunks(VECTOR_SIZE) {
            column.append(&domain.keys(&column.logical_type(), part), &rows[..part.len()]);
        }
        self.resolved = places.len();
        let ascends = places.first().is_some_and(|place| *place > 0);
        self.resolver = match places.len().checked_sub(1) {
            Some(last) if ascends && ascending::is_ordered(&column.logical_type()) => {
                Resolver::Ascending(Some(ascending::word_at(column, last)))
            }
            _ => Resolver::Unchosen,
        };
        places
    }

    /// Whether the keys of all groups ascend, as ordered words.
    pub(super) fn is_ascending(&self) -> bool {
        matches!(self.resolver, Resolver::Ascending(_))
    }

    /// Whether keys that ascended so far go on doing so, or never did.
    pub(super) fn goes_on(&self, mut keys: Vec<Vector>) -> bool {
        let (Resolver::Ascending(last), [key]) = (&self.resolver, &mut keys[..]) else { return true };
        normalize(key);
        ascending::ascends(key, *last)
    }

    /// For a table of one integer key that ascends or indexes an array: a word that is at most the least, and the range from there.
    pub(super) fn direct_range(&self) -> Option<(u64, u64)> {
        match &self.resolver {
            Resolver::Ascending(Some(last)) => {
                let (first, _) = observed_range(&self.columns[0].to_vector(0, 1))?;
                Some((first, (*last as u64).wrapping_sub(first)))
            }
            Resolver::Direct(Encoded { digits, .. }, _) => match digits[..] {
                [Digits::Int { min, range }] => Some((min, range)),
                _ => None,
            },
            _ => None,
        }
    }

    /// How keys that index an array of another table index that of this one; `None` if either has none, or they differ in more
    /// than the numbers of texts.
    pub(super) fn recoding(&mut self, other: &Self) -> Option<Recoding> {
        match (&mut self.resolver, &other.resolver) {
            (Resolver::Direct(own, _), Resolver::Direct(theirs, _)) => own.recoding(theirs),
            _ => None,
        }
    }

    /// Adds the groups of another table with an array; returns which groups here they are.
    pub(super) fn join(&mut self, other: &Self, recoding: &Recoding) -> Result<Vec<u32>> {
        let (mut groups, mut new) = (vec![0; other.resolved], Vec::new());
        let (Resolver::Direct(_, slots), Resolver::Direct(_, theirs)) = (&mut self.resolver, &other.resolver)
        else {
            return Err(Error::internal("tables of groups without arrays were joined by their arrays"));
        };
        for (code, &their) in theirs.iter().enumerate().filter(|(_, their)| **their != 0) {
            let slot = &mut slots[recoding.code(code as u64) as usize];
            if *slot == 0 {
                new.push(their - 1);
                *slot = (self.resolved + new.len()) as u32;
            }
            groups[their as usize - 1] = *slot - 1;
        }
        self.resolved += new.len();
        self.columns.iter_mut().zip(&other.columns).for_each(|(own, their)| own.append_column(their, &new));
        Ok(groups)
    }

    /// Hashes of the keys of all groups; no rows are added afterwards.
    pub(super) fn take_hashes(&mut self) -> Vec<u64> {
        if let Resolver::Generic(table) = &mut self.resolver {
            let hashes = table.take_hashes();
            if hashes.len() == self.resolved {
                return hashes;
            }
        }
        hash_groups(&self.columns, 0, self.resolved)
    }

    /// Whether groups are found by hashes of whole keys.
    pub(super) fn is_hashed(&self) -> bool {
        matches!(self.resolver, Resolver::Generic(_))
    }

    /// Finds the group of each of `len` rows, or makes it. Without keys all rows are of group 0.
    pub(in crate::operator) fn find_or_create(
        &mut self,
        keys: Vec<Vector>,
        len: usize,
        groups: &mut Vec<u32>,
    ) -> Result<()> {
        self.find_or_create_hashed(keys, (len, None), groups)
    }

    /// The same of keys whose hashes may be known.
    pub(super) fn find_or_create_hashed(
        &mut self,
        mut keys: Vec<Vector>,
        (len, known): (usize, Option<&[u64]>),
        groups: &mut Vec<u32>,
    ) -> Result<()> {
        groups.clear();
        groups.resize(len, 0);
        if len == 0 {
            return Ok(());
        }
        if len > 1 && !keys.is_empty() && keys.iter().all(Vector::is_constant) {
            // All rows are of one group.
            let one = keys.iter().map(|key| key.slice(0, 1)).collect();
            self.find_or_create_hashed(one, (1, known.map(|known| &known[..1])), groups)?;
            groups.resize(len, groups[0]);
            return Ok(());
        }
        keys.iter_mut().for_each(normalize);
        if let Resolver::Unchosen = self.resolver {
            if known.is_some() {
                self.level = LEVEL_HASHES;
            }
            self.fall_back(None, &keys)?;
        }
        while let Err(misfit) = self.resolve(&keys, (len, known), groups, true) {
            self.fall_back(Some(misfit), &keys)?;
        }
        if self.resolved > u32::MAX as usize - VECTOR_SIZE {
            return Err(Error::unsupported("a GROUP BY with more than 4294965247 groups"));
        }
        Ok(())
    }

    /// Finds or makes groups by the current method. With `append` new keys are stored.
    fn resolve(
        &mut self,
        keys: &[Vector],
        (len, known): (usize, Option<&[u64]>),
        groups: &mut [u32],
        append: bool,
    ) -> std::result::Result<(), Misfit> {
        self.new_rows.clear();
        let next = self.resolved as u32;
        match &mut self.resolver {
            Resolver::Unchosen | Resolver::Domain(_) => {}
            Resolver::Ascending(last) => {
                if !ascending::ascends(&keys[0], *last) {
                    return Err(Misfit::Order);
                }
                ascending::number(&keys[0], last, next, groups, &mut self.new_rows);
            }
            Resolver::Direct(encoded, slots) => {
                encoded.encode(keys, len, &mut self.codes)?;
                index_groups(&self.codes, slots, next, groups, &mut self.new_rows);
            }
            Resolver::Packed64(encoded, table) => {
                encoded.encode(keys, len, &mut self.codes)?;
                table.find_or_create(&self.codes, next, groups, &mut self.new_rows);
            }
            Resolver::Packed128(encoded, table) => {
                encoded.encode_wide(keys, len, &mut self.codes, &mut self.wide_codes)?;
                table.find_or_create(&self.wide_codes, next, groups, &mut self.new_rows);
            }
            Resolver::Word(table) => {
                let (before, key) = (&keys[..keys.len() - 1], &keys[keys.len() - 1]);
                if key.null_count() > 0 || !before.iter().all(is_zero) {
                    return Err(Misfit::Range);
                }
                self.codes.resize(len, 0);
                // With the full range every code is one more than the word, wrapping: as good as the word.
                let mut digits = Digits::Int { min: 0, range: u64::MAX };
                add_digits(&mut digits, 1, key, true, &mut self.codes)?;
                table.find_or_create(&self.codes, next, groups, &mut self.new_rows);
            }
            Resolver::Words(table) => {
                if keys.iter().any(|key| key.null_count() > 0) || self.resolved > WORDS_MAX {
                    return Err(Misfit::Range);
                }
                self.pairs.resize(len, [0; 2]);
                for (index, key) in keys.iter().enumerate() {
                    for_words(key, |row, word| self.pairs[row][index] = word);
                }
                table.find_or_create(&self.pairs, next, groups, &mut self.new_rows);
            }
            Resolver::Generic(table) if append => {
                self.resolved =
                    table.find_or_create(keys, (len, known), &mut self.columns, self.resolved, groups);
                return Ok(());
            }
            Resolver::Generic(table) => {
                table.add(keys, len, self.resolved);
                self.resolved += len;
                return Ok(());
            }
        }
        self.resolved += self.new_rows.len();
        if append && !self.new_rows.is_empty() {
            for (column, key) in self.columns.iter_mut().zip(keys) {
                column.append(key, &self.new_rows);
            }
        }
        Ok(())
    }

    /// Chooses a method, another one after a misfit, and makes it know all groups.
    fn fall_back(&mut self, misfit: Option<Misfit>, keys: &[Vector]) -> Result<()> {
        let mut misfit = misfit;
        'methods: loop {
            match misfit {
                None => {}
                Some(Misfit::Order) => self.hints.unordered = true,
                Some(Misfit::Strings) if self.level == 0 => self.growth *= 8,
                // So many strings are not worth numbers of their own.
                Some(Misfit::Strings) => self.level = LEVEL_HASHES,
                Some(Misfit::Range) if self.level < LEVEL_HASHES => self.level += 1,
                Some(Misfit::Range) => return Err(Error::internal("group keys fit no hash table")),
            }
            self.choose(keys);
            let known = self.columns.first().map_or(0, Column::len);
            self.resolved = 0;
            let mut groups = vec![0; known.min(VECTOR_SIZE)];
            while self.resolved < known {
                let len = (known - self.resolved).min(VECTOR_SIZE);
                let from = self.resolved;
                let stored: Vec<Vector> =
                    self.columns.iter().map(|column| column.to_vector(from, len)).collect();
                if let Err(next) = self.resolve(&stored, (len, None), &mut groups[..len], false) {
                    misfit = Some(next);
                    continue 'methods;
                }
                if self.resolved != from + len {
                    return Err(Error::internal("group keys changed while a hash table was rebuilt"));
                }
            }
            return Ok(());
        }
    }

    /// Sets the fastest method, from the current level on, that these keys allow.
    fn choose(&mut self, keys: &[Vector]) {
        if self.level == 0 {
            if self.seems_ascending(keys) {
                self.resolver = Resolver::Ascending(None);
                return;
            }
            if let Some(direct) = self.direct(keys) {
                self.resolver = direct;
                return;
            }
            self.level = 1;
        }
        while self.level < LEVEL_HASHES {
            if let Some(packed) = self.packed(keys) {
                self.resolver = packed;
                return;
            }
            self.level += 1;
        }
        self.resolver = Resolver::Generic(Box::new(GenericTable::new(keys.len(), self.expected_groups())));
    }

    fn seems_ascending(&self, keys: &[Vector]) -> bool {
        let [key] = keys else { return false };
        !self.hints.unordered
            && self.hints.groups.is_none_or(|groups| groups >= ASCENDING_MIN)
            && ascending::is_ordered(&key.logical_type())
            && ascending::ascends(key, None)
    }

    fn hint(&self, index: usize) -> Option<(u64, u64)> {
        self.hints.ranges.get(index).copied().flatten()
    }

    fn direct(&self, keys: &[Vector]) -> Option<Resolver> {
        let mut digits = Vec::with_capacity(keys.len());
        let mut strings = false;
        for (index, key) in keys.iter().enumerate() {
            let ty = key.logical_type();
            if ty.is_view() {
                strings = true;
                if self.expected_strings(index).is_some_and(|count| count > STRINGS_MAX)
                    || !self.numbers(index, key)
                {
                    return None;
                }
                digits.push(Digits::Strings(Box::new(Interner::new(self.string_capacity(index)))));
                continue;
            }
            if !is_word(&ty) {
                return None;
            }
            let narrow = type_range(&ty).filter(|(_, range)| *range <= u64::from(u16::MAX));
            let known = self.hint(index).or(narrow);
            let (min, range) = known.or_else(|| {
                let observed =
                    observed_range(key).filter(|(_, range)| *range <= OBSERVED_RANGE_MAX && !ty.is_float());
                // Room for four times the range seen, around it.
                observed.map(|(min, range)| {
                    let margin = range + range / 2 + 32;
                    (min.wrapping_sub(margin), range + 2 * margin)
                })
            })?;
            digits.push(Digits::Int { min, range });
        }
        let limit = self.direct_limit(strings || keys.len() > 1);
        let encoded = Encoded::new(digits, limit)?;
        let size = encoded.digits.iter().map(Digits::radix).product::<u128>() as usize;
        Some(Resolver::Direct(encoded, vec![0; size]))
    }

    /// How many groups a hash table has room for from the start: it is zeroed and maybe for nothing, but not made again and again.
    fn expected_groups(&self) -> usize {
        let (groups, rows) = (self.hints.groups.unwrap_or(0), self.hints.rows.unwrap_or(0));
        if self.hints.small { 0 } else { groups.min(rows).min(EXPECTED_MAX) as usize }
    }

    /// How many strings a key is expected to have: no more than groups.
    fn expected_strings(&self, index: usize) -> Option<u64> {
        let known = self.hints.strings.get(index).copied().flatten();
        [known, self.hints.groups].into_iter().flatten().min()
    }

    /// Whether the strings of a key are to be numbered: a dictionary's codes are looked up once each, other strings row by row.
    fn numbers(&self, index: usize, key: &Vector) -> bool {
        let few = self.expected_strings(index).is_some_and(|count| count <= INTERNED_MAX);
        few || key.as_dictionary().is_some() || key.is_constant()
    }

    /// How many strings of a key an array has room for. A little more than expected saves numbering them again.
    fn string_capacity(&self, index: usize) -> usize {
        let known = self.hints.strings.get(index).copied().flatten().map(|count| count + count / 16 + 2);
        // As many strings as groups.
        let by_groups =
            || self.hints.groups.filter(|_| self.columns.len() == 1).map(|groups| groups + groups / 4);
        let expected =
            known.or_else(by_groups).map_or(15, |count| count.clamp(3, STRINGS_MAX + STRINGS_MAX / 8));
        (expected as usize).saturating_mul(self.growth)
    }

    fn direct_limit(&self, mixed: bool) -> u128 {
        if self.hints.small {
            return DIRECT_ALWAYS;
        }
        let most = if mixed { DIRECT_MIXED_MAX } else { DIRECT_MAX };
        let expected = self.hints.rows.unwrap_or(1 << 18).saturating_mul(if mixed { 2 } else { 16 });
        u128::from(expected).clamp(DIRECT_ALWAYS, most)
    }

    /// Words as they are, where they are too many to be numbered.
    fn words(&self, keys: &[Vector]) -> Option<Resolver> {
        let plain = keys.iter().all(|key| is_word(&key.logical_type()) && key.null_count() == 0);
        match keys {
            [_] if plain => Some(Resolver::Word(PackedTable::new(self.expected_groups()))),
            [first, _] if plain && self.hint(0) == Some((0, 0)) && is_zero(first) => {
                Some(Resolver::Word(PackedTable::new(self.expected_groups())))
            }
            [_, _] if plain && !self.hints.small && self.resolved <= WORDS_MAX => {
                Some(Resolver::Words(PackedTable::new(self.expected_groups())))
            }
            _ => None,
        }
    }

    fn packed(&self, keys: &[Vector]) -> Option<Resolver> {
        let mut digits = Vec::with_capacity(keys.len());
        for (index, key) in keys.iter().enumerate() {
            let ty = key.logical_type();
            if ty.is_view() && keys.len() > 1 && self.level == 1 && self.numbers(index, key) {
                digits.push(Digits::Strings(Box::new(Interner::new(STRINGS_PACKED_MAX))));
                continue;
            }
            if !is_word(&ty) {
                return None;
            }
            let guessed = || {
                let (min, range) = observed_range(key).filter(|_| !ty.is_float())?;
                let margin = range.checked_mul(256)?.checked_add(1 << 20)?;
                Some((min.wrapping_sub(margin), range.checked_add(margin.checked_mul(2)?)?))
            };
            let known = match self.level {
                // Several keys are guessed narrow, to fit into one word together; one key fits anyway.
                1 if keys.len() == 1 => self.hint(index).or_else(|| type_range(&ty)).or_else(guessed),
                1 => self.hint(index).or_else(guessed).or_else(|| type_range(&ty)),
                _ => type_range(&ty),
            };
            match known.filter(|(_, range)| *range < u64::MAX - 1) {
                Some((min, range)) => digits.push(Digits::Int { min, range }),
                None => return self.words(keys),
            }
        }
        let radices: Option<u128> =
            digits.iter().try_fold(1u128, |product, d| product.checked_mul(d.radix()));
        if radices? <= u128::from(u64::MAX) {
            let encoded = Encoded::new(digits, u128::from(u64::MAX))?;
            return Some(Resolver::Packed64(encoded, PackedTable::new(self.expected_groups())));
        }
        // Slots of 32 bytes and numbers of texts cost more than hashes of the keys.
        if keys.iter().any(|key| key.logical_type().is_view()) {
            return None;
        }
        if let Some(words) = self.words(keys) {
            return Some(words);
        }
        let encoded = Encoded { digits, strides: Vec::new() };
        Some(Resolver::Packed128(encoded, PackedTable::new(self.expected_groups())))
    }
}

impl Encoded {
    /// `None` when codes could reach `limit`.
    fn new(digits: Vec<Digits>, limit: u128) -> Option<Self> {
        let mut strides = Vec::with_capacity(digits.len());
        let mut product = 1u128;
        for digit in &digits {
            strides.push(product as u64);
            product = product.checked_mul(digit.radix()).filter(|&product| product <= limit)?;
        }
        Some(Self { digits, strides })
    }

    fn memory_size(&self) -> usize {
        self.digits.iter().map(Digits::memory_size).sum()
    }

    fn recoding(&mut self, other: &Self) -> Option<Recoding> {
        let mut keys = Vec::with_capacity(self.digits.len());
        for ((own, stride), theirs) in self.digits.iter_mut().zip(&self.strides).zip(&other.digits) {
            let digits = match (own, theirs) {
                (Digits::Int { min, range }, Digits::Int { min: low, range: other }) => {
                    if (*min, *range) != (*low, *other) {
                        return None;
                    }
                    None
                }
                (Digits::Strings(own), Digits::Strings(theirs)) => Some(own.digits_of(theirs).ok()?),
                _ => return None,
            };
            keys.push(KeyRecoding { radix: theirs.radix() as u64, stride: *stride, digits });
        }
        Some(Recoding(keys))
    }

    fn encode(
        &mut self,
        keys: &[Vector],
        len: usize,
        codes: &mut Vec<u64>,
    ) -> std::result::Result<(), Misfit> {
        codes.resize(len, 0);
        for (index, ((digits, &stride), key)) in
            self.digits.iter_mut().zip(&self.strides).zip(keys).enumerate()
        {
            add_digits(digits, stride, key, index == 0, codes)?;
        }
        Ok(())
    }

    fn encode_wide(
        &mut self,
        keys: &[Vector],
        len: usize,
        scratch: &mut Vec<u64>,
        codes: &mut Vec<u128>,
    ) -> std::result::Result<(), Misfit> {
        scratch.resize(len, 0);
        codes.clear();
        codes.resize(len, 0);
        for (digits, key) in self.digits.iter_mut().zip(keys) {
            let radix = digits.radix();
            add_digits(digits, 1, key, true, scratch)?;
            for (code, &digit) in codes.iter_mut().zip(scratch.iter()) {
                *code = *code * radix + u128::from(digit);
            }
        }
        Ok(())
    }
}

/// Looks codes up in an array of group numbers plus one.
fn index_groups(codes: &[u64], slots: &mut [u32], next: u32, groups: &mut [u32], new_rows: &mut Vec<u32>) {
    let mut next = next;
    for (row, (&code, group)) in codes.iter().zip(groups).enumerate() {
        let slot = &mut slots[code as usize];
        if *slot == 0 {
            next += 1;
            *slot = next;
            new_rows.push(row as u32);
        }
        *group = *slot - 1;
    }
}

/// Whether all words of a flat vector are 0.
fn is_zero(key: &Vector) -> bool {
    let mut any = 0;
    for_words(key, |_, word| any |= word);
    any == 0 && key.null_count() == 0
}

/// Gives equal keys equal bits: -0.0 becomes 0.0, every NaN the same. Only strings keep dictionaries and constants.
fn normalize(key: &mut Vector) {
    if !key.logical_type().is_view() && !key.is_flat() {
        *key = key.flatten();
    }
    match key.physical_type() {
        PhysicalType::F64 if key.values::<f64>().iter().any(|v| *v == 0.0 || v.is_nan()) => {
            for value in key.values_mut::<f64>() {
                *value = if value.is_nan() { f64::NAN } else { *value + 0.0 };
            }
        }
        PhysicalType::F32 if key.values::<f32>().iter().any(|v| *v == 0.0 || v.is_nan()) => {
            for value in key.values_mut::<f32>() {
                *value = if value.is_nan() { f32::NAN } else { *value + 0.0 };
            }
        }
        _ => {}
    }
}

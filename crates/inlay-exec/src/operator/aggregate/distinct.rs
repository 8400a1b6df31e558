//! The distinct rows of a state: for each list of arguments with DISTINCT, groups with what was seen of the arguments.
//!
//! A worker finds out which of its rows are distinct only as long as most are not. Where most are, it lists them all: which
//! are distinct is found when all are known, by codes if they are integers; and whoever merges the rows of several workers has
//! to look at them anyway.

use super::codes::{CodeSet, Fields};
use super::generic::hash_groups;
use super::table::{GroupTable, TableHints};
use crate::spill::count_or_work;
use inlay_kernels::aggregate::Column;
use inlay_types::limits::{self, Tally};
use inlay_types::{LogicalType, Result, VECTOR_SIZE, Vector};

/// Rows that are looked at before it is decided how to go on. Later it is whenever they have doubled.
const DECIDED_MIN: usize = 1 << 13;
/// Rows per four distinct ones from which it pays to find these at once.
const ROWS_PER_FOUR_MIN: usize = 5;
/// Of a list, the rows with hashes below this are counted to know how many are distinct: one of 64.
const SAMPLED_BELOW: u64 = 1 << 58;

/// See the module documentation. Keys are the group (UINTEGER), then the arguments.
pub(super) struct DistinctRows {
    rows: Rows,
    types: Vec<LogicalType>,
    /// Whether rows may be listed.
    may_list: bool,
    /// Rows that were added since it was decided last, and how many there were then.
    added: usize,
    before: usize,
    /// How many rows there are when it is decided again.
    decided_at: usize,
    found: Vec<u32>,
    sample: Sample,
    coded: SeenCodes,
}

enum Rows {
    /// Each once.
    Table(Box<GroupTable>),
    /// As they came.
    List(Vec<Column>),
}

impl DistinctRows {
    /// No rows.
    pub(super) fn new(types: Vec<LogicalType>, hints: TableHints) -> Self {
        Self {
            rows: Rows::Table(Box::new(GroupTable::new(&types, hints))),
            types,
            may_list: false,
            added: 0,
            before: 0,
            decided_at: DECIDED_MIN,
            found: Vec::new(),
            sample: Sample::default(),
            coded: SeenCodes::default(),
        }
    }

    /// Adds the values of an argument without groups.
    pub(super) fn add_values(&mut self, values: Vector, len: usize) -> Result<()> {
        let mut new = std::mem::take(&mut self.found);
        let (values, len) = match self.coded.find_new(&values, len, &mut new) {
            true => (values.take(&new), new.len()),
            false => (values, len),
        };
        self.found = new;
        if len == 0 {
            return Ok(());
        }
        self.add(vec![Vector::from_values(LogicalType::UInteger, &vec![0u32; len]), values], len)
    }

    /// Says that rows may be listed; those of a worker among others if they will be merged. Texts and the like are not
    /// listed: a table has each once.
    pub(super) fn may_list(&mut self, is_one_of_many: bool) {
        let types = &self.types[1..];
        self.may_list = Fields::fit(types) || is_one_of_many && types.iter().all(|ty| !ty.is_view());
    }

    /// The rows if they are listed as they came.
    pub(super) fn listed(&self) -> Option<&[Column]> {
        match &self.rows {
            Rows::Table(_) => None,
            Rows::List(columns) => Some(columns),
        }
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.rows = Rows::List(self.types.iter().map(|ty| Column::new(ty.clone())).collect());
        (self.sample, self.coded) = (Sample::default(), SeenCodes::default());
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        match &self.rows {
            Rows::Table(table) => table.len(),
            Rows::List(columns) => columns.first().map_or(0, Column::len),
        }
    }

    /// The rows.
    pub(super) fn columns(&self) -> &[Column] {
        match &self.rows {
            Rows::Table(table) => table.columns(),
            Rows::List(columns) => columns,
        }
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        let rows = match &self.rows {
            Rows::Table(table) => table.memory_size(),
            Rows::List(columns) => {
                columns.iter().map(Column::memory_size).sum::<usize>() + self.sample.hashes.memory_size()
            }
        };
        rows + self.coded.seen.capacity()
    }

    /// No rows will be added; see [`GroupTable::seal`].
    pub(super) fn seal(&mut self) {
        if let Rows::Table(table) = &mut self.rows {
            table.seal(false);
        }
    }

    /// Adds rows.
    pub(super) fn add(&mut self, keys: Vec<Vector>, len: usize) -> Result<()> {
        self.added += len;
        match &mut self.rows {
            Rows::Table(table) => table.find_or_create(keys, len, &mut self.found)?,
            Rows::List(columns) => {
                self.found.clear();
                self.found.extend(0..len as u32);
                columns.iter_mut().zip(&keys).for_each(|(column, key)| column.append(key, &self.found));
            }
        }
        if self.may_list && self.len() >= self.decided_at { self.decide() } else { Ok(()) }
    }

    fn decide(&mut self) -> Result<()> {
        let pays = |rows: usize, distinct: usize| rows * 4 >= distinct.max(1) * ROWS_PER_FOUR_MIN;
        match &mut self.rows {
            Rows::Table(table) => {
                if !pays(self.added, table.len() - self.before) {
                    self.rows = Rows::List(table.take_columns());
                }
            }
            Rows::List(columns) => {
                self.sample.go_on(columns);
                if pays(self.sample.rows, self.sample.hashes.len()) {
                    self.find_distinct()?;
                }
            }
        }
        (self.added, self.before, self.decided_at) = (0, self.len(), self.len() * 2);
        Ok(())
    }

    /// Each row once from now on.
    pub(super) fn find_distinct(&mut self) -> Result<()> {
        let Rows::List(columns) = &self.rows else { return Ok(()) };
        let mut table = GroupTable::new(&self.types, TableHints::default());
        let all = self.len();
        // The list is counted with the state, the table not yet.
        let mut tally = Tally::default();
        for from in (0..all).step_by(VECTOR_SIZE) {
            let len = (all - from).min(VECTOR_SIZE);
            count_or_work(&mut tally, 5 * table.memory_size() / 2)?;
            let keys = columns.iter().map(|column| column.to_vector(from, len)).collect();
            table.find_or_create(keys, len, &mut self.found)?;
        }
        self.rows = Rows::Table(Box::new(table));
        self.sample = Sample::default();
        limits::keep(tally.finish());
        Ok(())
    }
}

/// Larger dictionaries are not worth an array of their codes.
const CODES_MAX: usize = 1 << 18;

/// Which codes of a dictionary came, so that each is looked up once; of the last dictionary, as those of columns come one row
/// group after the other.
#[derive(Default)]
struct SeenCodes {
    /// The dictionary's id; no dictionary has 0.
    dictionary: u64,
    seen: Vec<bool>,
}

impl SeenCodes {
    /// Finds the rows whose codes did not come before, ascending; `false` if any of the rows may be new.
    fn find_new(&mut self, values: &Vector, len: usize, new: &mut Vec<u32>) -> bool {
        let Some(dictionary) = values.as_dictionary() else { return false };
        if dictionary.values().len() > CODES_MAX || values.validity().is_some() {
            return false;
        }
        if self.dictionary != dictionary.id() {
            self.dictionary = dictionary.id();
            self.seen.clear();
            self.seen.resize(dictionary.values().len(), false);
        }
        new.clear();
        new.resize(len, 0);
        let mut count = 0;
        for (row, &code) in values.codes()[..len].iter().enumerate() {
            new[count] = row as u32;
            count += usize::from(!std::mem::replace(&mut self.seen[code as usize], true));
        }
        new.truncate(count);
        true
    }
}

/// A sample of listed rows that has equal rows either all or not at all.
#[derive(Default)]
struct Sample {
    /// Rows of the list that were looked at, and those of them in the sample.
    seen: usize,
    rows: usize,
    /// Hashes of the rows, each once.
    hashes: CodeSet<u64>,
}

impl Sample {
    /// Looks at what the list has got since.
    fn go_on(&mut self, columns: &[Column]) {
        let all = columns.first().map_or(0, Column::len);
        let (mut sampled, mut new) = (Vec::new(), Vec::new());
        for from in (self.seen..all).step_by(VECTOR_SIZE) {
            let hashes = hash_groups(columns, from, all.min(from + VECTOR_SIZE));
            sampled.clear();
            // No code is 0.
            sampled.extend(hashes.into_iter().filter(|hash| *hash < SAMPLED_BELOW).map(|hash| hash.max(1)));
            self.rows += sampled.len();
            self.hashes.add(&sampled, |hash| hash, &mut new);
        }
        self.seen = all;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{Bitmap, Buffer, Dictionary, Value};
    use std::collections::HashSet;
    use std::sync::Arc;

    fn add(rows: &mut DistinctRows, numbers: impl Iterator<Item = i64>) -> Result<()> {
        let numbers: Vec<i64> = numbers.collect();
        for part in numbers.chunks(VECTOR_SIZE) {
            let groups = Vector::from_values(LogicalType::UInteger, &vec![7u32; part.len()]);
            let keys = vec![groups, Vector::from_values(LogicalType::BigInt, part)];
            rows.add(keys, part.len())?;
        }
        Ok(())
    }

    fn distinct(types: &[LogicalType], may_list: bool) -> DistinctRows {
        let mut rows = DistinctRows::new(types.to_vec(), TableHints::default());
        if may_list {
            rows.may_list(true);
        }
        rows
    }

    #[test]
    fn rows_are_listed_while_they_are_mostly_distinct() -> Result<()> {
        const COUNT: i64 = 40_000;
        let types = [LogicalType::UInteger, LogicalType::BigInt];
        let mut rows = distinct(&types, true);
        add(&mut rows, 0..COUNT)?;
        assert!(matches!(rows.rows, Rows::List(_)));
        for _ in 0..4 {
            add(&mut rows, 0..COUNT)?;
        }
        assert!(matches!(rows.rows, Rows::Table(_)));
        rows.find_distinct()?;
        assert_eq!(rows.len(), COUNT as usize);
        let mut numbers = rows.columns()[1].to_vector(0, COUNT as usize).values::<i64>().to_vec();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..COUNT));
        Ok(())
    }

    #[test]
    fn values_of_dictionaries_are_added_once() -> Result<()> {
        let text = |word: usize| Value::Varchar(format!("a text of more than twelve bytes {word}"));
        let words = |from: usize| (from..from + 50).map(text).collect::<Vec<_>>();
        let mut rows = distinct(&[LogicalType::UInteger, LogicalType::Varchar], true);
        let mut expected = HashSet::new();
        // Dictionaries that have values in common, each in two batches, and NULLs in the second of them.
        for from in [0, 20, 100] {
            let dictionary = Dictionary::new(Vector::from_sql_values(LogicalType::Varchar, &words(from))?);
            for batch in 0..2u32 {
                let codes: Vec<u32> = (0..1000).map(|row| row * 7 % (25 + batch * 20)).collect();
                let validity = (batch > 0).then(|| Bitmap::from_fn(1000, |row| row % 3 > 0));
                let values =
                    Vector::dictionary(Arc::clone(&dictionary), Buffer::copy_of(&codes), 1000, validity);
                expected.extend((0..1000).map(|row| format!("{:?}", values.get(row))));
                rows.add_values(values, 1000)?;
            }
        }
        rows.add_values(Vector::from_sql_values(LogicalType::Varchar, &words(3))?, 50)?;
        expected.extend(words(3).iter().map(|word| format!("{word:?}")));
        let values = rows.columns()[1].to_vector(0, rows.len());
        let found: HashSet<String> = (0..rows.len()).map(|row| format!("{:?}", values.get(row))).collect();
        assert_eq!((rows.len(), found), (expected.len(), expected));
        Ok(())
    }

    #[test]
    fn rows_that_repeat_or_are_alone_have_a_table() -> Result<()> {
        let types = [LogicalType::UInteger, LogicalType::BigInt];
        let mut repeating = distinct(&types, true);
        add(&mut repeating, (0..40_000).map(|number| number % 100))?;
        assert!(matches!(repeating.rows, Rows::Table(_)));
        assert_eq!(repeating.len(), 100);
        let mut alone = distinct(&types, false);
        add(&mut alone, 0..40_000)?;
        assert!(matches!(alone.rows, Rows::Table(_)));
        let mut texts = distinct(&[LogicalType::UInteger, LogicalType::Varchar], true);
        for part in 0..20 {
            let words: Vec<_> = (0..1000).map(|word| Value::Varchar(format!("{part} {word}"))).collect();
            let groups = Vector::from_values(LogicalType::UInteger, &[0u32; 1000]);
            let words = Vector::from_sql_values(LogicalType::Varchar, &words)?;
            texts.add(vec![groups, words], 1000)?;
        }
        assert!(matches!(texts.rows, Rows::Table(_)));
        assert_eq!(texts.len(), 20_000);
        Ok(())
    }
}

//! The distinct rows of a state: for each list of arguments with DISTINCT, groups with what was seen of the arguments.
//!
//! A worker finds out which of its rows are distinct only as long as most are not. Where most are, it lists them all: which
//! are distinct is found when all are known, by codes if they are integers; and whoever merges the rows of several workers has
//! to look at them anyway.

use super::codes::{CodeSet, Fields};
use super::generic::hash_groups;
use super::table::{GroupTable, TableHints};
use inlay_kernels::aggregate::Column;
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
        }
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
        self.sample = Sample::default();
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
        match &self.rows {
            Rows::Table(table) => table.memory_size(),
            Rows::List(columns) => {
                columns.iter().map(Column::memory_size).sum::<usize>() + self.sample.hashes.memory_size()
            }
        }
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
        for from in (0..all).step_by(VECTOR_SIZE) {
            let len = (all - from).min(VECTOR_SIZE);
            let keys = columns.iter().map(|column| column.to_vector(from, len)).collect();
            table.find_or_create(keys, len, &mut self.found)?;
        }
        self.rows = Rows::Table(Box::new(table));
        self.sample = Sample::default();
        Ok(())
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
            let words: Vec<_> =
                (0..1000).map(|word| inlay_types::Value::Varchar(format!("{part} {word}"))).collect();
            let groups = Vector::from_values(LogicalType::UInteger, &[0u32; 1000]);
            let words = Vector::from_sql_values(LogicalType::Varchar, &words)?;
            texts.add(vec![groups, words], 1000)?;
        }
        assert!(matches!(texts.rows, Rows::Table(_)));
        assert_eq!(texts.len(), 20_000);
        Ok(())
    }
}

//! Rows by the values of some of their columns: targets of foreign keys, rows that refer to them, rows that ON CONFLICT
//! meets. Few keys go by way of the table's indexes, many by one pass over the columns.

use super::checks::shown_value;
use inlay_catalog::{Table, TableSchema};
use inlay_storage::index::key::encode_rows;
use inlay_storage::store::{RowPredicate, Transaction};
use inlay_storage::{Deferral, Prune, SegmentPredicate};
use inlay_types::{Batch, LogicalType, Result, Value, Vector, VectorBuilder};
use std::collections::HashMap;
use std::sync::Arc;

/// Up to this many keys are looked up one by one whatever the size of the table.
const BY_INDEX_MIN: usize = 256;
/// Of larger numbers, those are looked up one by one that are less than this part of the rows.
const ROWS_PER_LOOKUP: usize = 8;
/// Row groups are passed over by their ranges of values for up to this many keys.
const PRUNED_BY_MAX: usize = 256;

/// Distinct keys without NULLs, numbered.
#[derive(Debug)]
pub(crate) struct KeySet {
    numbers: HashMap<Box<[u8]>, u32>,
    /// The values of key `i` at row `i`.
    columns: Vec<Vector>,
}

impl KeySet {
    /// The keys of rows that come in parts; rows with NULLs have none.
    pub fn of_parts(types: &[LogicalType], parts: impl Iterator<Item = Result<Vec<Vector>>>) -> Result<Self> {
        let mut numbers: HashMap<Box<[u8]>, u32> = HashMap::new();
        let mut builders: Vec<VectorBuilder> =
            types.iter().map(|ty| VectorBuilder::new(ty.clone(), 0)).collect();
        let mut new_rows = Vec::new();
        for part in parts {
            let part = part?;
            let encoded = encode_rows(&part)?;
            new_rows.clear();
            for row in 0..encoded.len() {
                let key = encoded.key(row);
                if !encoded.has_null(row) && !numbers.contains_key(key) {
                    numbers.insert(key.into(), numbers.len() as u32);
                    new_rows.push(row as u32);
                }
            }
            for (builder, column) in builders.iter_mut().zip(&part) {
                builder.append(&column.take(&new_rows));
            }
        }
        Ok(Self { numbers, columns: builders.into_iter().map(VectorBuilder::finish).collect() })
    }

    /// The keys of rows.
    pub fn of(columns: Vec<Vector>) -> Result<Self> {
        let types: Vec<LogicalType> = columns.iter().map(Vector::logical_type).collect();
        Self::of_parts(&types, std::iter::once(Ok(columns)))
    }

    /// Some of the keys, with new numbers.
    pub fn some(&self, numbers: &[u32]) -> Result<Self> {
        Self::of(self.columns.iter().map(|column| column.take(numbers)).collect())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The number of a key.
    pub fn number(&self, key: &[u8]) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    /// A key for a message: `(1, 'a')`.
    pub fn shown(&self, number: u32) -> String {
        let values = self.columns.iter().map(|column| shown_value(&column.get(number as usize)));
        format!("({})", values.collect::<Vec<_>>().join(", "))
    }

    fn values(&self, number: usize, order: &[usize]) -> Vec<Value> {
        order.iter().map(|&column| self.columns[column].get(number)).collect()
    }
}

/// Rows with one of some keys, as a condition that commit checks.
struct HasKey {
    columns: Vec<usize>,
    keys: Arc<KeySet>,
}

impl RowPredicate for HasKey {
    fn matches_any(&self, rows: &Batch) -> Result<bool> {
        let encoded = encode_rows(&super::rows::columns_of(rows, &self.columns))?;
        Ok((0..encoded.len())
            .any(|row| !encoded.has_null(row) && self.keys.number(encoded.key(row)).is_some()))
    }
}

/// Notes that a transaction relies on which rows of a table have these keys.
pub(crate) fn note(transaction: &Transaction, table: &Table, columns: &[usize], keys: &Arc<KeySet>) {
    if !keys.is_empty() {
        let predicate = HasKey { columns: columns.to_vec(), keys: Arc::clone(keys) };
        transaction.record_dependency(table.id(), Arc::new(predicate));
    }
}

/// Live rows that have one of the keys in some columns, with its number; ids ascend.
pub(crate) fn rows_with_keys(table: &Table, columns: &[usize], keys: &KeySet) -> Result<Vec<(i64, u32)>> {
    if keys.is_empty() || table.row_count() == 0 {
        return Ok(Vec::new());
    }
    let few = keys.len() <= BY_INDEX_MIN.max(table.row_count() / ROWS_PER_LOOKUP);
    match key_on(table.schema(), columns).filter(|_| few) {
        Some((key, order)) => by_index(table, key, &order, keys),
        None => by_scan(table, columns, keys),
    }
}

/// The row that each of some rows meets in a unique key of the table.
pub(crate) fn met(
    table: &Table,
    columns: &[usize],
    keys: &KeySet,
    rows: Vec<Vector>,
) -> Result<Vec<Option<i64>>> {
    let mut ids: Vec<Option<i64>> = vec![None; keys.len()];
    for (id, number) in rows_with_keys(table, columns, keys)? {
        ids[number as usize] = Some(id);
    }
    let encoded = encode_rows(&rows)?;
    let id = |row| ids[keys.number(encoded.key(row))? as usize];
    Ok((0..encoded.len()).map(|row| if encoded.has_null(row) { None } else { id(row) }).collect())
}

/// A key of the table on exactly these columns: its number, and which of `columns` each of its columns is.
fn key_on(schema: &TableSchema, columns: &[usize]) -> Option<(usize, Vec<usize>)> {
    let order = |key: &Vec<usize>| {
        let position = |column: &usize| columns.iter().position(|wanted| wanted == column);
        key.iter().map(position).collect::<Option<Vec<usize>>>().filter(|order| order.len() == columns.len())
    };
    let keys = schema.all_keys();
    // Several rows may have a key that is left to COMMIT.
    let usable = keys.iter().enumerate().filter(|(_, key)| schema.deferral(key) == Deferral::Never);
    usable.map(|(number, key)| Some((number, order(key)?))).find_map(|found| found)
}

/// One lookup per key.
fn by_index(table: &Table, key: usize, order: &[usize], keys: &KeySet) -> Result<Vec<(i64, u32)>> {
    let mut found = Vec::new();
    for number in 0..keys.len() {
        if let Some(id) = table.find_by_key(key, &keys.values(number, order))? {
            found.push((id, number as u32));
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn by_scan(table: &Table, columns: &[usize], keys: &KeySet) -> Result<Vec<(i64, u32)>> {
    let wanted = match columns {
        [_] if keys.len() <= PRUNED_BY_MAX => {
            Some(SegmentPredicate::In((0..keys.len()).map(|number| keys.columns[0].get(number)).collect()))
        }
        _ => None,
    };
    let mut found = Vec::new();
    let snapshot = table.snapshot();
    for group in snapshot.row_groups() {
        if let (Some(wanted), [column]) = (&wanted, columns)
            && group.column(*column).prune(wanted) == Prune::None
        {
            continue;
        }
        let scan = |column: &usize| Ok(group.segment(*column)?.scan(0, group.len()));
        let encoded = encode_rows(&columns.iter().map(scan).collect::<Result<Vec<Vector>>>()?)?;
        for row in 0..group.len() {
            if !encoded.has_null(row)
                && !group.is_deleted(row)
                && let Some(number) = keys.number(encoded.key(row))
            {
                found.push((group.row_id_start() + row as i64, number));
            }
        }
    }
    Ok(found)
}

//! Rows by the values of some of their columns: targets of foreign keys, rows that refer to them, rows that ON CONFLICT
//! meets. Few keys go by way of the table's indexes, many by one pass over the columns.

use super::key_set::KeySet;
use super::rows::columns_of;
use super::writer::RowWriter;
use crate::execute::Run;
use inlay_catalog::{Table, TableSchema};
use inlay_exec::ExecContext;
use inlay_storage::index::key::encode_rows;
use inlay_storage::store::RowPredicate;
use inlay_storage::{Deferral, Prune, SegmentPredicate, TableSnapshot};
use inlay_types::hash::hash_bytes;
use inlay_types::{Batch, Reservation, Result, Vector};
use parking_lot::Mutex;
use std::sync::Arc;

/// Up to this many keys are looked up in an index whatever the size of the table.
const BY_INDEX_MIN: usize = 256;
/// Of larger numbers, those are looked up there that are less than this part of the rows.
const ROWS_PER_LOOKUP: usize = 8;
/// Row groups are passed over by their ranges of values for up to this many keys.
const PRUNED_BY_MAX: usize = 256;
/// Of more keys a transaction knows the hashes until it commits, not the keys.
const EXACT_MAX: usize = 1024;
/// The share of the memory limit, one in so many, that the hashes of a statement may take.
const HASHES_SHARE: u64 = 16;

/// Rows with one of some keys, as a condition that commit checks.
struct HasKey {
    columns: Vec<usize>,
    keys: Known,
}

/// What a transaction knows of keys until it commits.
enum Known {
    Keys(Arc<KeySet>),
    /// The hashes of many, ascending, which take less memory. That two keys have one hash of 64 bits, so that a transaction
    /// fails without need, is as good as impossible.
    Hashes(Vec<u64>, #[expect(dead_code, reason = "held for as long as they are")] Reservation),
}

impl RowPredicate for HasKey {
    fn matches_any(&self, rows: &Batch) -> Result<bool> {
        let encoded = encode_rows(&columns_of(rows, &self.columns))?;
        let is_known = |key: &[u8]| match &self.keys {
            Known::Keys(keys) => keys.number(key).is_some(),
            Known::Hashes(hashes, _) => hashes.binary_search(&hash_bytes(key)).is_ok(),
        };
        Ok((0..encoded.len()).any(|row| !encoded.has_null(row) && is_known(encoded.key(row))))
    }
}

/// Notes that a transaction relies on which rows of a table have these keys. Where a statement has so many that their hashes take
/// more than a share of the memory, it relies on all rows.
pub(crate) fn note(writer: &RowWriter<'_>, table: &Table, columns: &[usize], keys: &Arc<KeySet>) {
    let known = match keys.len() {
        0 => return,
        1..=EXACT_MAX => Some(Known::Keys(Arc::clone(keys))),
        many => {
            let budget = writer.run.database.budget();
            let bytes = (many * size_of::<u64>()) as u64;
            let all = writer.noted.get() + bytes;
            writer.noted.set(all);
            let reserved = (all <= budget.limit() / HASHES_SHARE).then(|| budget.yielding().reserve(bytes));
            reserved.and_then(Result::ok).map(|reserved| {
                let mut hashes: Vec<u64> = keys.hashes().collect();
                hashes.sort_unstable();
                Known::Hashes(hashes, reserved)
            })
        }
    };
    let predicate =
        known.map(|keys| Arc::new(HasKey { columns: columns.to_vec(), keys }) as Arc<dyn RowPredicate>);
    writer.transaction.record_dependency(table.id(), predicate);
}

/// Live rows that have one of the keys in some columns, with its number; ids ascend.
pub(crate) fn rows_with_keys(
    run: &Run<'_>,
    table: &Table,
    columns: &[usize],
    keys: &KeySet,
) -> Result<Vec<(i64, u32)>> {
    if keys.is_empty() || table.row_count() == 0 {
        return Ok(Vec::new());
    }
    let snapshot = table.snapshot();
    let few = keys.len() <= BY_INDEX_MIN.max(table.row_count() / ROWS_PER_LOOKUP);
    if few && let Some(key) = key_on(table.schema(), columns) {
        let position = |column: &usize| columns.iter().position(|wanted| wanted == column);
        let order: Vec<usize> = key.iter().filter_map(position).collect();
        let values: Vec<Vector> = order.iter().map(|&position| keys.columns()[position].clone()).collect();
        if let Some(found) = table.find_with_keys(&snapshot, &key, &values)? {
            return Ok(found);
        }
    }
    by_scan(&run.context(), &snapshot, columns, keys)
}

/// The row that each of some keys is met by in a unique key of the table.
pub(crate) fn met(
    run: &Run<'_>,
    table: &Table,
    columns: &[usize],
    keys: &KeySet,
) -> Result<Vec<Option<i64>>> {
    let mut ids: Vec<Option<i64>> = vec![None; keys.len()];
    for (id, number) in rows_with_keys(run, table, columns, keys)? {
        ids[number as usize] = Some(id);
    }
    Ok(ids)
}

/// A key of the table on exactly these columns, in any order.
fn key_on(schema: &TableSchema, columns: &[usize]) -> Option<Vec<usize>> {
    let is_on =
        |key: &Vec<usize>| key.len() == columns.len() && key.iter().all(|column| columns.contains(column));
    // Several rows may have a key that is left to COMMIT.
    schema.all_keys().into_iter().find(|key| is_on(key) && schema.deferral(key) == Deferral::Never)
}

/// One pass over the columns, row groups in parallel.
fn by_scan(
    context: &ExecContext,
    snapshot: &TableSnapshot,
    columns: &[usize],
    keys: &KeySet,
) -> Result<Vec<(i64, u32)>> {
    let wanted = match columns {
        [_] if keys.len() <= PRUNED_BY_MAX => {
            Some(SegmentPredicate::In((0..keys.len()).map(|number| keys.columns()[0].get(number)).collect()))
        }
        _ => None,
    };
    let groups = snapshot.row_groups();
    let found: Vec<Mutex<Vec<(i64, u32)>>> = groups.iter().map(|_| Mutex::default()).collect();
    context.parallel(groups.len(), |index| {
        let group = &groups[index];
        if let (Some(wanted), [column]) = (&wanted, columns)
            && group.column(*column).prune(wanted) == Prune::None
        {
            return Ok(());
        }
        let scan = |column: &usize| group.segment(*column)?.scan(0, group.len());
        let encoded = encode_rows(&columns.iter().map(scan).collect::<Result<Vec<Vector>>>()?)?;
        let with_key = |row: usize| {
            let is_there = !encoded.has_null(row) && !group.is_deleted(row);
            let number = if is_there { keys.number(encoded.key(row)) } else { None };
            number.map(|number| (group.row_id_start() + row as i64, number))
        };
        *found[index].lock() = (0..group.len()).filter_map(with_key).collect();
        Ok(())
    })?;
    Ok(found.into_iter().flat_map(Mutex::into_inner).collect())
}

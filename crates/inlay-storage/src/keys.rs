//! Uniqueness: for each key of a table, a hash map from key hash to the row ids that had such a key.
//!
//! The map may name rows that are deleted, have another key by now, or never came to be because their statement
//! failed; so a hit is verified against the rows themselves, and nothing is ever removed. In return delete, restore
//! and failing statements need no work here. What always holds: every live row of the table with a key free of
//! NULLs is in the map under its hash. When stale entries abound, the map is made anew.

use crate::schema::TableSchema;
use crate::table::TableSnapshot;
use inlay_types::{
    Batch, Error, LogicalType, MemoryBudget, PhysicalType, Reservation, Result, Value, Vector, VectorBuilder,
};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

/// What an entry takes, with the slack of its hash map.
const ENTRY_SIZE_BYTES: usize = 28;

/// The maps of all keys of a table; exists once the first key was checked.
#[derive(Debug)]
pub(crate) struct KeyIndexes {
    keys: Vec<KeyIndex>,
    reservation: Reservation,
}

#[derive(Debug)]
struct KeyIndex {
    columns: Vec<usize>,
    rows: RowMap,
}

/// Rows that are about to be appended or changed, over a snapshot.
pub(crate) struct PendingRows<'a> {
    /// The rows as they are.
    pub snapshot: &'a TableSnapshot,
    /// Names for messages.
    pub schema: &'a TableSchema,
    /// Row ids of the new values.
    pub row_ids: &'a dyn Fn(usize) -> i64,
    /// Position of a row id among the new values, if it is there.
    pub position: &'a dyn Fn(i64) -> Option<usize>,
    /// Number of new rows.
    pub count: usize,
}

impl KeyIndexes {
    /// Maps of the live rows of a snapshot.
    pub fn new(keys: &[Vec<usize>], snapshot: &TableSnapshot, budget: &MemoryBudget) -> Result<Self> {
        let entries = keys.len() * snapshot.row_count();
        let reservation = budget.reserve((entries * ENTRY_SIZE_BYTES) as u64)?;
        let keys = keys
            .iter()
            .map(|columns| KeyIndex { columns: columns.clone(), rows: RowMap::of(snapshot, columns) })
            .collect();
        Ok(Self { keys, reservation })
    }

    /// Whether stale entries take more room than live ones.
    pub fn is_bloated(&self, live_rows: usize) -> bool {
        self.keys.iter().any(|key| key.rows.len() > 2 * live_rows + 4096)
    }

    /// Enters new rows and fails at the first that violates a key. `column` gives the new values of a table column.
    /// Keys none of whose columns change are skipped.
    pub fn enter(
        &mut self,
        pending: &PendingRows<'_>,
        column: &dyn Fn(usize) -> Option<Vector>,
    ) -> Result<()> {
        let entries: usize = self.keys.iter().map(|key| key.rows.len() + pending.count).sum();
        self.reservation.resize((entries * ENTRY_SIZE_BYTES) as u64)?;
        for key in &mut self.keys {
            let Some(values) = key.columns.iter().map(|c| column(*c)).collect::<Option<Vec<Vector>>>() else {
                continue;
            };
            enter_key(key, pending, &values)?;
        }
        Ok(())
    }

    /// Row ids whose key number `key` may be these values.
    pub fn candidates(&self, key: usize, values: &[Vector]) -> Vec<i64> {
        let hash = hash_rows(values, 1)[0];
        self.keys[key].rows.find(hash).collect()
    }
}

/// Whether rows ascend strictly by integer key columns, so that they are distinct without a map: generated tables
/// and most files come this way. Columns of other types answer no.
pub(crate) fn ascend_strictly(columns: &[Vector]) -> bool {
    let Some(columns) = columns.iter().map(ascending_column).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let Some((first, rest)) = columns.split_first() else { return false };
    (1..first.len()).all(|row| {
        let mut order = first[row - 1].cmp(&first[row]);
        for column in rest {
            order = order.then_with(|| column[row - 1].cmp(&column[row]));
        }
        order.is_lt()
    })
}

fn ascending_column(vector: &Vector) -> Option<Cow<'_, [i64]>> {
    if !vector.is_flat() || vector.validity().is_some() {
        return None;
    }
    match vector.physical_type() {
        PhysicalType::I64 => Some(Cow::Borrowed(vector.values())),
        PhysicalType::I32 => Some(vector.values::<i32>().iter().map(|v| i64::from(*v)).collect()),
        _ => None,
    }
}

fn enter_key(key: &mut KeyIndex, pending: &PendingRows<'_>, values: &[Vector]) -> Result<()> {
    let hashes = hash_rows(values, pending.count);
    key.rows.reserve(pending.count);
    for (position, &hash) in hashes.iter().enumerate() {
        if values.iter().any(|v| v.is_null(position)) {
            continue;
        }
        let own_id = (pending.row_ids)(position);
        let mut entered = false;
        for candidate in key.rows.find(hash) {
            if candidate == own_id {
                entered = true;
                continue;
            }
            let clash = match (pending.position)(candidate) {
                // A row of this statement: the earlier one was entered before, so only it can clash.
                Some(other) => {
                    other < position && values.iter().all(|v| same(&v.get(other), &v.get(position)))
                }
                None => pending.snapshot.locate(candidate).is_some_and(|(group, row)| {
                    let stored = |c: usize| group.column(c).get(row);
                    !group.is_deleted(row)
                        && key.columns.iter().zip(values).all(|(c, v)| same(&stored(*c), &v.get(position)))
                }),
            };
            if clash {
                return Err(violation(pending.schema, &key.columns, values, position));
            }
        }
        if !entered {
            key.rows.insert(hash, own_id);
        }
    }
    Ok(())
}

fn same(left: &Value, right: &Value) -> bool {
    !left.is_null() && !right.is_null() && left.total_cmp(right).is_eq()
}

fn violation(schema: &TableSchema, columns: &[usize], values: &[Vector], row: usize) -> Error {
    let names: Vec<&str> = columns.iter().map(|c| schema.columns[*c].name.as_str()).collect();
    let mut shown = String::new();
    for (index, value) in values.iter().enumerate() {
        let _ = write!(shown, "{}{}", if index > 0 { ", " } else { "" }, value.get(row));
    }
    let key = names.join(", ");
    let table = &schema.name;
    Error::Constraint {
        message: format!("duplicate key ({key}) = ({shown}) violates the uniqueness of table \"{table}\""),
    }
}

/// One hash per row over all columns.
fn hash_rows(columns: &[Vector], count: usize) -> Vec<u64> {
    let mut hashes = vec![0; count];
    for (index, column) in columns.iter().enumerate() {
        if index == 0 {
            inlay_kernels::hash::hash(column, count, &mut hashes);
        } else {
            inlay_kernels::hash::hash_combine(column, count, &mut hashes);
        }
    }
    hashes
}

/// Hash to row ids; a hash may stand for several.
#[derive(Debug, Default)]
struct RowMap {
    first: HashMap<u64, i64, PassThrough>,
    more: HashMap<u64, Vec<i64>, PassThrough>,
    count: usize,
}

impl RowMap {
    fn of(snapshot: &TableSnapshot, columns: &[usize]) -> Self {
        let mut map = Self::default();
        map.reserve(snapshot.row_count());
        for group in snapshot.row_groups() {
            let values: Vec<Vector> = columns.iter().map(|c| group.column(*c).scan(0, group.len())).collect();
            let hashes = hash_rows(&values, group.len());
            for (row, hash) in hashes.into_iter().enumerate() {
                if !group.is_deleted(row) && !values.iter().any(|v| v.is_null(row)) {
                    map.insert(hash, group.row_id_start() + row as i64);
                }
            }
        }
        map
    }

    fn len(&self) -> usize {
        self.count
    }

    fn reserve(&mut self, more: usize) {
        self.first.reserve(more);
    }

    fn insert(&mut self, hash: u64, row_id: i64) {
        self.count += 1;
        match self.first.entry(hash) {
            std::collections::hash_map::Entry::Vacant(slot) => {
                slot.insert(row_id);
            }
            std::collections::hash_map::Entry::Occupied(_) => self.more.entry(hash).or_default().push(row_id),
        }
    }

    fn find(&self, hash: u64) -> impl Iterator<Item = i64> + '_ {
        let more = if self.more.is_empty() { None } else { self.more.get(&hash) };
        self.first.get(&hash).copied().into_iter().chain(more.into_iter().flatten().copied())
    }
}

/// The keys are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct PassThrough;

impl std::hash::BuildHasher for PassThrough {
    type Hasher = Last;
    fn build_hasher(&self) -> Last {
        Last(0)
    }
}

struct Last(u64);

impl std::hash::Hasher for Last {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Rows of batches joined to one column of type `ty`; a NULL without a type takes it.
pub(crate) fn joined_column(batches: &[Batch], index: usize, ty: LogicalType) -> Result<Vector> {
    if let [one] = batches {
        return Ok(one.column(index).clone());
    }
    let mut builder = VectorBuilder::new(ty, batches.iter().map(Batch::len).sum());
    for batch in batches {
        let column = batch.column(index);
        match column.logical_type() {
            LogicalType::Null => (0..column.len()).for_each(|_| builder.push_null()),
            found if found.physical() == ty.physical() => builder.append(column),
            found => return Err(Error::internal(format!("{found} for a column of {ty}"))),
        }
    }
    Ok(builder.finish())
}

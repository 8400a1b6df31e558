//! INSERT with ON CONFLICT or RETURNING: the new rows are in hand, the rows that they meet are found by key.

use super::checks::Checks;
use super::lookup::{self, KeySet, met};
use super::rows::{joined, layout, selected, stacked, values_of, with_values};
use super::writer::{RowWriter, key_of, types_of, whole_rows};
use crate::execute::Run;
use crate::result::QueryResult;
use inlay_catalog::Table;
use inlay_exec::rows_size;
use inlay_sql::plan::statement::{ConflictUpdate, Insert, OnConflict};
use inlay_storage::index::key::encode_rows;
use inlay_types::{Batch, Error, Reservation, Result};
use std::collections::HashSet;
use std::sync::Arc;

/// Bytes that the key of a new row takes in a set of keys, as bytes, and with the row that it meets, about.
const KEY_SIZE: usize = 160;

/// What becomes of the rows that were to be inserted, by their positions.
struct Sorted {
    /// Rows that are new.
    new: Vec<u32>,
    /// Rows that meet one that is there, ascending by its id.
    met: Vec<(i64, u32)>,
}

impl Run<'_> {
    /// Carries out INSERT with its rows in hand.
    pub(super) fn insert_rows(&self, writer: &mut RowWriter<'_>, insert: Insert) -> Result<QueryResult> {
        let (_, batches) = self.batches(insert.query)?;
        let table = writer.transaction.table_to_write(insert.table.table.id())?;
        let types = types_of(&table);
        let _held = self.hold(&batches, !matches!(insert.on_conflict, OnConflict::Fail))?;
        let rows = joined(&batches, &types);
        drop(batches);
        let checks = Checks::of_rows(&insert.checks, table.schema())?;
        let sorted = match &insert.on_conflict {
            OnConflict::Fail => Sorted { new: (0..rows.len() as u32).collect(), met: Vec::new() },
            OnConflict::Nothing { key } => {
                let keys = key.clone().map_or_else(|| table.schema().all_keys(), |key| vec![key]);
                Sorted { new: without_conflicts(writer, &table, &keys, &rows)?, met: Vec::new() }
            }
            OnConflict::Update(update) => sort(writer, &table, &update.key, &rows)?,
        };
        let new = if sorted.new.len() == rows.len() { rows.clone() } else { rows.take(&sorted.new) };
        checks.check_all(&new)?;
        let (mut answer, mut places) = (new.clone(), sorted.new);
        if let OnConflict::Update(update) = &insert.on_conflict {
            let (changed, origins) = change(writer, &table, update, &checks, &rows, sorted.met)?;
            answer = stacked(&new, &changed, &types);
            places.extend(origins);
        }
        writer.insert(table.id(), &new)?;
        let Some(returning) = insert.returning else { return Ok(QueryResult::changed(answer.len() as u64)) };
        if !places.is_sorted() {
            let mut order: Vec<u32> = (0..places.len() as u32).collect();
            order.sort_by_key(|&row| places[row as usize]);
            answer = answer.take(&order);
        }
        self.returned(returning, 0..types.len(), &answer)
    }
}

impl Run<'_> {
    /// Reserves what new rows take while they are in hand, and their keys if others are looked up by them.
    fn hold(&self, batches: &[Batch], with_keys: bool) -> Result<Reservation> {
        let len: usize = batches.iter().map(Batch::len).sum();
        let values: usize = batches.iter().map(|batch| rows_size(batch.columns(), batch.len())).sum();
        let keys = if with_keys { len * KEY_SIZE } else { 0 };
        let reason = "INSERT with ON CONFLICT or RETURNING has all of its new rows and their keys in memory; insert them in parts";
        self.database.budget().reserve((2 * values + keys) as u64).map_err(|refused| refused.because(reason))
    }
}

/// Positions of the rows that meet no row in any of the keys, nor an earlier new one.
fn without_conflicts(
    writer: &RowWriter<'_>,
    table: &Table,
    keys: &[Vec<usize>],
    rows: &Batch,
) -> Result<Vec<u32>> {
    let mut encoded = Vec::with_capacity(keys.len());
    for key in keys {
        let columns = key_of(rows, key);
        let set = Arc::new(KeySet::of(columns.clone())?);
        lookup::note(&writer.transaction, table, key, &set);
        let met = met(table, key, &set, columns.clone())?;
        encoded.push((encode_rows(&columns)?, met));
    }
    let mut seen: Vec<HashSet<&[u8]>> = vec![HashSet::new(); keys.len()];
    let mut kept = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let conflicts = encoded.iter().zip(&seen).any(|((key, met), seen)| {
            met[row].is_some() || !key.has_null(row) && seen.contains(key.key(row))
        });
        if conflicts {
            continue;
        }
        kept.push(row as u32);
        for ((key, _), seen) in encoded.iter().zip(&mut seen) {
            if !key.has_null(row) {
                seen.insert(key.key(row));
            }
        }
    }
    Ok(kept)
}

/// Tells rows that are new from those that meet one; a second row with a key is an error.
fn sort(writer: &RowWriter<'_>, table: &Table, key: &[usize], rows: &Batch) -> Result<Sorted> {
    let columns = key_of(rows, key);
    let keys = Arc::new(KeySet::of(columns.clone())?);
    lookup::note(&writer.transaction, table, key, &keys);
    let encoded = encode_rows(&columns)?;
    let mut seen = vec![false; keys.len()];
    for row in 0..rows.len() {
        let Some(number) = keys.number(encoded.key(row)).filter(|_| !encoded.has_null(row)) else { continue };
        if std::mem::replace(&mut seen[number as usize], true) {
            let names: Vec<&str> =
                key.iter().map(|&index| table.schema().columns[index].name.as_str()).collect();
            return Err(Error::Cardinality {
                message: format!(
                    "two new rows of table \"{}\" have the key ({}) = {}, so ON CONFLICT would change one row twice",
                    table.schema().name,
                    names.join(", "),
                    keys.shown(number)
                ),
            });
        }
    }
    let mut sorted = Sorted { new: Vec::new(), met: Vec::new() };
    for (row, id) in met(table, key, &keys, columns)?.into_iter().enumerate() {
        match id {
            Some(id) => sorted.met.push((id, row as u32)),
            None => sorted.new.push(row as u32),
        }
    }
    sorted.met.sort_unstable();
    Ok(sorted)
}

/// Changes the rows that were met. Gives them as they are now, with the positions of the new rows that met them.
fn change(
    writer: &mut RowWriter<'_>,
    table: &Table,
    update: &ConflictUpdate,
    checks: &Checks,
    rows: &Batch,
    met: Vec<(i64, u32)>,
) -> Result<(Batch, Vec<u32>)> {
    let (mut ids, mut places): (Vec<i64>, Vec<u32>) = met.into_iter().unzip();
    let mut old = whole_rows(&table.snapshot(), table, &ids)?;
    let width = old.columns().len();
    let beside = |old: &Batch, places: &[u32]| {
        let excluded = rows.take(places).into_columns();
        Batch::new(old.columns().iter().cloned().chain(excluded).collect(), old.len())
    };
    let layout = layout(0..2 * width);
    let mut both = beside(&old, &places);
    if update.filter.is_some() {
        let kept = selected(update.filter.as_ref(), &layout, &both)?;
        ids = kept.iter().map(|&row| ids[row as usize]).collect();
        places = kept.iter().map(|&row| places[row as usize]).collect();
        (old, both) = (old.take(&kept), both.take(&kept));
    }
    if ids.is_empty() {
        return Ok((old, places));
    }
    let values = values_of(&update.values, &layout, &both)?;
    let changed = with_values(&old, &update.set, &values);
    checks.check_all(&changed)?;
    writer.update(table.id(), &ids, &update.set, &values)?;
    Ok((changed, places))
}

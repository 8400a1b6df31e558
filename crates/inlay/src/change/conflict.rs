//! INSERT with ON CONFLICT or RETURNING: the new rows are in hand, portion by portion, and the rows that they meet are found
//! by key.
//!
//! A row of a later portion meets those of earlier ones in the table, so ON CONFLICT DO NOTHING keeps the first of several. DO
//! UPDATE remembers which rows it changed: meeting one of them again is an error, as it is inside a portion. Where there are several
//! portions and no key changes, its new rows and new values are collected and go into the table at the end ([`Collected`]); then two
//! new rows with one key, of two portions, are a violation of the key.

use super::checks::Checks;
use super::key_set::{KeySet, NO_KEY};
use super::lookup::{self, met};
use super::portions::Portions;
use super::rows::{layout, selected, stacked, values_of, with_values};
use super::writer::{RowWriter, key_of, types_of, whole_rows};
use crate::change::load;
use crate::execute::Run;
use crate::result::QueryResult;
use inlay_catalog::Table;
use inlay_sql::plan::statement::{ConflictUpdate, Insert, OnConflict};
use inlay_storage::{BulkLoad, BulkUpdate, RowSet};
use inlay_types::{Batch, Error, LogicalType, Result};
use std::sync::Arc;

/// A portion has no more row groups than a number with so many bits.
const PIECES_BITS: u32 = 24;

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
        let query = self.optimized(insert.query)?;
        let table = writer.transaction.table_to_write(insert.table.table.id())?;
        let types = types_of(&table);
        let mut portions = Portions::of(self, &query, types.clone())?;
        let mut target = Target {
            checks: Checks::of_rows(&insert.checks, table.schema())?,
            first_new: table.next_row_id(),
            changed: RowSet::default(),
            collected: None,
            on_conflict: &insert.on_conflict,
            writer,
            types,
            table,
        };
        let mut returned = insert.returning.map(|returning| self.answer_of(returning, 0..target.types.len()));
        let mut count = 0;
        while let Some((rows, _reserved)) = portions.next_portion(&|| target.make_room())? {
            if portions.has_more() {
                target.collect();
            }
            let answer = target.take_in(rows)?;
            count += answer.len() as u64;
            if let Some(returned) = &mut returned {
                returned.add(&answer)?;
            }
            if portions.has_more() {
                target.make_room()?;
            }
        }
        target.put_in()?;
        Ok(returned.map_or_else(|| QueryResult::changed(count), |returned| returned.finish(self)))
    }
}

/// The table that rows are inserted into.
struct Target<'w, 'r> {
    writer: &'w mut RowWriter<'r>,
    table: Arc<Table>,
    types: Vec<LogicalType>,
    checks: Checks,
    on_conflict: &'w OnConflict,
    /// Rows from this id on were added by the statement.
    first_new: i64,
    /// Older rows that the statement changed.
    changed: RowSet,
    collected: Option<Collected>,
}

/// What DO UPDATE does to a table with several portions of rows.
struct Collected {
    new: BulkLoad,
    /// Portions with new rows.
    portions: u64,
    values: BulkUpdate,
}

impl Target<'_, '_> {
    /// Keys of earlier portions make room for other things: indexes are written away once half of the memory is in use.
    fn make_room(&self) -> Result<()> {
        let budget = self.writer.run.database.budget();
        let too_much = budget.used().saturating_sub(budget.limit() / 2);
        if too_much > 0 {
            self.table.write_indexes_away(too_much)?;
        }
        Ok(())
    }

    /// From now on rows and values are collected, where that is possible.
    fn collect(&mut self) {
        let OnConflict::Update(update) = self.on_conflict else { return };
        if self.collected.is_none() && BulkUpdate::is_possible(&self.table, &update.set) {
            let new = BulkLoad::new(Arc::clone(&self.table));
            let values = BulkUpdate::new(Arc::clone(&self.table), update.set.clone());
            self.collected = Some(Collected { new, portions: 0, values });
        }
    }

    /// What was collected goes into the table.
    fn put_in(self) -> Result<()> {
        let (Some(collected), OnConflict::Update(update)) = (self.collected, self.on_conflict) else {
            return Ok(());
        };
        self.writer.update_in_bulk(&collected.values, &update.set)?;
        self.writer.insert_in_bulk(&self.table, collected.new)
    }

    fn insert(&mut self, rows: &Batch) -> Result<()> {
        let Some(collected) = &mut self.collected else { return self.writer.insert(self.table.id(), rows) };
        let first = collected.portions << PIECES_BITS;
        collected.portions += 1;
        load::push_rows(&collected.new, first, rows, &self.writer.run.context())
    }

    fn update(&mut self, ids: &[i64], set: &[usize], values: &Batch) -> Result<()> {
        match &self.collected {
            Some(collected) => collected.values.push(ids, values.columns()),
            None => self.writer.update(self.table.id(), ids, set, values).map(|_| ()),
        }
    }

    /// Adds rows, or changes those that they meet. Gives both as they are now, in the order in which they came.
    fn take_in(&mut self, rows: Batch) -> Result<Batch> {
        let sorted = match self.on_conflict {
            OnConflict::Fail => Sorted { new: (0..rows.len() as u32).collect(), met: Vec::new() },
            OnConflict::Nothing { key } => {
                let keys = key.clone().map_or_else(|| self.table.schema().all_keys(), |key| vec![key]);
                Sorted { new: self.without_conflicts(&keys, &rows)?, met: Vec::new() }
            }
            OnConflict::Update(update) => self.sort(&update.key, &rows)?,
        };
        let new = if sorted.new.len() == rows.len() { rows.clone() } else { rows.take(&sorted.new) };
        self.checks.check_all(&new)?;
        let (mut answer, mut places) = (new.clone(), sorted.new);
        if let OnConflict::Update(update) = self.on_conflict
            && !sorted.met.is_empty()
        {
            let (changed, origins) = self.change(update, &rows, sorted.met)?;
            answer = stacked(&new, &changed, &self.types)?;
            places.extend(origins);
        }
        self.insert(&new)?;
        if !places.is_sorted() {
            let mut order: Vec<u32> = (0..places.len() as u32).collect();
            order.sort_by_key(|&row| places[row as usize]);
            answer = answer.take(&order);
        }
        Ok(answer)
    }

    /// Positions of the rows that meet no row in any of the keys, nor an earlier new one.
    fn without_conflicts(&self, keys: &[Vec<usize>], rows: &Batch) -> Result<Vec<u32>> {
        // Of each key the number that each row has, and which numbers are taken.
        let mut taken = Vec::with_capacity(keys.len());
        for key in keys {
            let (set, numbers) = KeySet::numbered(key_of(rows, key))?;
            let set = Arc::new(set);
            lookup::note(self.writer, &self.table, key, &set);
            let met = met(self.writer.run, &self.table, key, &set)?;
            taken.push((numbers, met.iter().map(Option::is_some).collect::<Vec<bool>>()));
        }
        let mut kept = Vec::with_capacity(rows.len());
        for row in 0..rows.len() {
            let is_taken =
                |(numbers, taken): &(Vec<u32>, Vec<bool>)| taken.get(numbers[row] as usize) == Some(&true);
            if taken.iter().any(is_taken) {
                continue;
            }
            kept.push(row as u32);
            for (numbers, taken) in &mut taken {
                if numbers[row] != NO_KEY {
                    taken[numbers[row] as usize] = true;
                }
            }
        }
        Ok(kept)
    }

    /// Tells rows that are new from those that meet one; a second row with a key is an error.
    fn sort(&self, key: &[usize], rows: &Batch) -> Result<Sorted> {
        let (keys, numbers) = KeySet::numbered(key_of(rows, key))?;
        let keys = Arc::new(keys);
        lookup::note(self.writer, &self.table, key, &keys);
        let met = met(self.writer.run, &self.table, key, &keys)?;
        let mut seen = vec![false; keys.len()];
        let mut sorted = Sorted { new: Vec::new(), met: Vec::new() };
        for (row, &number) in numbers.iter().enumerate() {
            if number == NO_KEY {
                sorted.new.push(row as u32);
                continue;
            }
            let id = met[number as usize];
            let is_second = std::mem::replace(&mut seen[number as usize], true);
            if is_second || id.is_some_and(|id| id >= self.first_new || self.changed.contains(id)) {
                return Err(self.changed_twice(key, &keys.shown(number)));
            }
            match id {
                Some(id) => sorted.met.push((id, row as u32)),
                None => sorted.new.push(row as u32),
            }
        }
        sorted.met.sort_unstable();
        Ok(sorted)
    }

    fn changed_twice(&self, key: &[usize], shown: &str) -> Error {
        let schema = self.table.schema();
        let names: Vec<&str> = key.iter().map(|&index| schema.columns[index].name.as_str()).collect();
        let message = |value: &str| {
            format!(
                "two new rows of table \"{1}\" have the key ({0}){value}, so ON CONFLICT would change one row twice; SELECT DISTINCT ON ({0}) \
                 of the new rows keeps one of each",
                names.join(", "),
                schema.name,
            )
        };
        Error::Cardinality { message: message("") }.with_values(message(&format!(" = {shown}")))
    }

    /// Changes the rows that were met. Gives them as they are now, with the positions of the new rows that met them.
    fn change(
        &mut self,
        update: &ConflictUpdate,
        rows: &Batch,
        met: Vec<(i64, u32)>,
    ) -> Result<(Batch, Vec<u32>)> {
        let (mut ids, mut places): (Vec<i64>, Vec<u32>) = met.into_iter().unzip();
        self.changed = self.changed.union(&RowSet::from(&ids[..]));
        let mut old = whole_rows(&self.table.snapshot(), &self.table, &ids)?;
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
        self.checks.check_all(&changed)?;
        self.update(&ids, &update.set, &values)?;
        Ok((changed, places))
    }
}

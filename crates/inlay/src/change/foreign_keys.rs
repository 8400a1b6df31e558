//! FOREIGN KEYs: rows that refer to a lost key follow as ON DELETE or ON UPDATE says, and when all is done, every key that
//! was written must have its target and nothing may refer to what is gone.

use super::checks::Checks;
use super::key_set::KeySet;
use super::lookup::{self, rows_with_keys};
use super::rows::{layout, values_of, with_values};
use super::writer::{RowWriter, Written, WrittenRows, gathered, key_types, whole_rows};
use crate::execute::Run;
use crate::text::same_name;
use inlay_catalog::{Table, TableSchema};
use inlay_sql::binder;
use inlay_storage::store::{Object, ObjectId, State};
use inlay_storage::{ForeignKey, ReferenceAction, RowSet, TableSnapshot};
use inlay_types::{Batch, Error, Result, Vector};
use std::sync::Arc;

/// Keys of new rows that are looked up together, so that their memory does not grow with the rows.
const KEYS_AT_ONCE: usize = 1 << 19;

/// A foreign key, from the side of the table that it refers to.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    /// The table referred to.
    pub parent: ObjectId,
    /// Its columns, in the order of the foreign key's.
    pub parent_columns: Vec<usize>,
    /// The table that refers.
    pub child: ObjectId,
    pub key: ForeignKey,
}

/// Keys that rows had and have no more.
pub(super) struct LostKeys {
    pub reference: Reference,
    pub keys: Arc<KeySet>,
    /// What became of each key; absent when its row was deleted.
    pub new: Option<Vec<Vector>>,
}

impl RowWriter<'_> {
    /// Foreign keys that refer to a table.
    pub(crate) fn references_to(&self, parent: &Table) -> Result<Vec<Reference>> {
        if self.unreferenced == Some(parent.id()) || parent.schema().all_keys().is_empty() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for object in self.transaction.state().objects() {
            let Object::Table(slot) = object else { continue };
            let child = slot.table()?;
            for key in &child.schema().foreign_keys {
                if same_name(&key.table, &parent.schema().name) {
                    let parent_columns = positions(parent.schema(), key)?;
                    let (parent, child) = (parent.id(), child.id());
                    found.push(Reference { parent, parent_columns, child, key: key.clone() });
                }
            }
        }
        Ok(found)
    }

    /// Brings everything that follows from the changes to an end, and checks the foreign keys.
    pub fn finish(mut self) -> Result<()> {
        while let Some(lost) = self.lost.pop_front() {
            self.run.given.interrupt.check()?;
            self.follow(lost)?;
        }
        for lost in std::mem::take(&mut self.restricted) {
            if self.is_left_to_commit(lost.reference.child, &lost.reference.key) {
                continue;
            }
            self.check_unused(&lost)?;
        }
        for written in std::mem::take(&mut self.written) {
            self.check_targets(&written)?;
        }
        self.check_due_keys()?;
        if let Some(images) = self.watch.into_images() {
            self.run.note_images(images);
        }
        Ok(())
    }

    /// Does to the rows that refer to lost keys what the foreign key says.
    fn follow(&mut self, lost: LostKeys) -> Result<()> {
        let key = &lost.reference.key;
        let action = if lost.new.is_some() { key.on_update } else { key.on_delete };
        match action {
            ReferenceAction::NoAction => {
                self.restricted.push(lost);
                return Ok(());
            }
            ReferenceAction::Restrict => return self.check_unused(&lost),
            ReferenceAction::Cascade | ReferenceAction::SetNull | ReferenceAction::SetDefault => {}
        }
        let child = self.transaction.state().table(lost.reference.child)?;
        lookup::note(self, &child, &key.columns, &lost.keys);
        let found = rows_with_keys(self.run, &child, &key.columns, &lost.keys)?;
        if found.is_empty() {
            return Ok(());
        }
        let (ids, numbers): (Vec<i64>, Vec<u32>) = found.into_iter().unzip();
        let values = match (action, &lost.new) {
            (ReferenceAction::NoAction | ReferenceAction::Restrict, _) => return Ok(()),
            (ReferenceAction::Cascade, None) => {
                return self.delete(child.id(), &RowSet::from(&ids[..])).map(|_| ());
            }
            (ReferenceAction::Cascade, Some(new)) => new.iter().map(|column| column.take(&numbers)).collect(),
            (ReferenceAction::SetNull, _) => {
                let null =
                    |&column: &usize| Vector::nulls(child.schema().columns[column].ty.clone(), ids.len());
                key.columns.iter().map(null).collect()
            }
            (ReferenceAction::SetDefault, _) => self.defaults(child.schema(), &key.columns, ids.len())?,
        };
        self.assign(&child, &ids, key.columns.clone(), values)
    }

    /// Values of columns that get their defaults.
    fn defaults(&self, schema: &TableSchema, columns: &[usize], count: usize) -> Result<Vec<Vector>> {
        let names = self.run.names(&[]);
        let rows = Batch::new(Vec::new(), count);
        let default = |&column: &usize| {
            let expr = self.run.with_context(&names, |context| {
                binder::bind_default(context, &self.database, &schema.columns[column])
            })?;
            Ok(values_of(&[expr], &layout([]), &rows)?.column(0).clone())
        };
        columns.iter().map(default).collect()
    }

    /// Updates rows, ids ascending, with the generated columns and checks that go with it.
    fn assign(&mut self, table: &Table, ids: &[i64], mut set: Vec<usize>, values: Vec<Vector>) -> Result<()> {
        let schema = table.schema();
        let mut values = Batch::new(values, ids.len());
        let is_computed = schema.columns.iter().any(|column| column.origin.computation().is_some());
        if is_computed || !schema.checks.is_empty() {
            let names = self.run.names(&[]);
            let (generated, checks) = self.run.with_context(&names, |context| {
                let generated = binder::bind_generated(context, &self.database, schema)?;
                Ok((generated, binder::bind_checks(context, &self.database, schema)?))
            })?;
            let mut rows = with_values(&whole_rows(&table.snapshot(), table, ids)?, &set, &values);
            let columns = 0..schema.columns.len();
            let given = set.len();
            let reads = |expr: &inlay_sql::plan::Expr| {
                expr.columns().iter().any(|id| set[..given].contains(&(id.0 as usize)))
            };
            let changed: Vec<_> = generated.into_iter().filter(|(_, expr)| reads(expr)).collect();
            let (positions, exprs): (Vec<usize>, Vec<_>) = changed.into_iter().unzip();
            if !exprs.is_empty() {
                let computed = values_of(&exprs, &layout(columns.clone()), &rows)?;
                rows = with_values(&rows, &positions, &computed);
                let all = values.into_columns().into_iter().chain(computed.into_columns()).collect();
                values = Batch::new(all, ids.len());
                set.extend(positions);
            }
            Checks::of_rows(&checks, schema)?.check_all(&rows)?;
        }
        self.update(table.id(), ids, &set, &values).map(|_| ())
    }

    /// Fails if rows refer to keys that are gone.
    fn check_unused(&self, lost: &LostKeys) -> Result<()> {
        let Reference { parent, parent_columns, child, key } = &lost.reference;
        let state = self.transaction.state();
        let child = state.table(*child)?;
        lookup::note(self, &child, &key.columns, &lost.keys);
        let mut used: Vec<u32> = rows_with_keys(self.run, &child, &key.columns, &lost.keys)?
            .into_iter()
            .map(|(_, number)| number)
            .collect();
        if used.is_empty() {
            return Ok(());
        }
        used.sort_unstable();
        used.dedup();
        let parent = state.table(*parent)?;
        let used = lost.keys.some(&used)?;
        match first_missing(self.run, &parent, parent_columns, &used)? {
            None => Ok(()),
            Some(number) => {
                let columns = key.referenced.join(", ");
                let (name, parent, child) = (&key.name, &parent.schema().name, &child.schema().name);
                let used_by = format!(
                    "of table \"{parent}\" is still referred to by foreign key \"{name}\" of table \"{child}\""
                );
                let shown = format!("key ({columns}) = {} {used_by}", used.shown(number));
                Err(Error::ForeignKey { message: format!("key ({columns}) {used_by}") }.with_values(shown))
            }
        }
    }

    /// Fails if the foreign keys of written rows have no target.
    fn check_targets(&self, written: &Written) -> Result<()> {
        let state = self.transaction.state();
        let table = state.table(written.table)?;
        for key in &table.schema().foreign_keys {
            let is_set = |set: &Vec<usize>| key.columns.iter().any(|column| set.contains(column));
            if written.set.as_ref().is_none_or(is_set) && !self.is_left_to_commit(written.table, key) {
                self.check_key(&state, &table, key, &written.rows)?;
            }
        }
        Ok(())
    }

    /// Fails if one of all rows of a table has no target for one of its foreign keys.
    pub fn check_whole(&self, table: ObjectId, key: &ForeignKey) -> Result<()> {
        let state = self.transaction.state();
        self.check_key(&state, &*state.table(table)?, key, &WrittenRows::From(0))
    }

    fn check_key(&self, state: &State, table: &Table, key: &ForeignKey, rows: &WrittenRows) -> Result<()> {
        let Some(Object::Table(parent)) = state.relation(&key.table) else {
            return Err(Error::internal(format!("foreign key \"{}\" refers to no table", key.name)));
        };
        let parent = parent.table()?;
        let columns = positions(parent.schema(), key)?;
        let check = |keys: KeySet| {
            let keys = Arc::new(keys);
            lookup::note(self, &parent, &columns, &keys);
            match first_missing(self.run, &parent, &columns, &keys)? {
                None => Ok(()),
                Some(number) => {
                    let columns = names_of(table.schema(), &key.columns);
                    let (name, table, parent) = (&key.name, &table.schema().name, &parent.schema().name);
                    let violated =
                        format!("foreign key \"{name}\" of table \"{table}\" is violated: ({columns})");
                    let missing = format!("is not in table \"{parent}\"");
                    let shown = format!("{violated} = {} {missing}", keys.shown(number));
                    Err(Error::ForeignKey { message: format!("{violated} {missing}") }.with_values(shown))
                }
            }
        };
        let snapshot = table.snapshot();
        let types = key_types(table, &key.columns);
        match rows {
            WrittenRows::Ids(ids) => {
                let live = snapshot.live(ids);
                let parts = live.parts().map(|ids| gathered(&snapshot, table, &ids, &key.columns));
                KeySet::in_sets(&types, parts, KEYS_AT_ONCE, check)
            }
            WrittenRows::From(first) => {
                let parts = new_keys(&snapshot, *first, &key.columns);
                KeySet::in_sets(&types, parts, KEYS_AT_ONCE, check)
            }
        }
    }
}

/// The number of the first key that no row has.
fn first_missing(run: &Run<'_>, table: &Table, columns: &[usize], keys: &KeySet) -> Result<Option<u32>> {
    let mut is_there = vec![false; keys.len()];
    for (_, number) in rows_with_keys(run, table, columns, keys)? {
        is_there[number as usize] = true;
    }
    Ok(is_there.iter().position(|there| !there).map(|number| number as u32))
}

/// Values of the live rows from an id on, row group by row group.
fn new_keys<'s>(
    snapshot: &'s TableSnapshot,
    first: i64,
    columns: &'s [usize],
) -> impl Iterator<Item = Result<Vec<Vector>>> + 's {
    let groups = snapshot.row_groups().iter().filter(move |group| group.row_ids().end > first);
    groups.map(move |group| {
        let from = usize::try_from(first - group.row_id_start()).unwrap_or(0);
        let mut live = Vec::new();
        group.live_rows(from..group.len(), &mut live);
        let all = live.len() == group.len() - from;
        let column = |&column: &usize| {
            let segment = group.segment(column)?;
            if all { segment.scan(from, group.len() - from) } else { segment.gather(&live) }
        };
        columns.iter().map(column).collect()
    })
}

/// Positions of the columns that a foreign key refers to.
fn positions(parent: &TableSchema, key: &ForeignKey) -> Result<Vec<usize>> {
    let position = |name: &String| {
        let missing =
            || Error::internal(format!("foreign key \"{}\" refers to no column \"{name}\"", key.name));
        parent.position(name).ok_or_else(missing)
    };
    key.referenced.iter().map(position).collect()
}

fn names_of(schema: &TableSchema, columns: &[usize]) -> String {
    columns.iter().map(|&column| schema.columns[column].name.as_str()).collect::<Vec<_>>().join(", ")
}

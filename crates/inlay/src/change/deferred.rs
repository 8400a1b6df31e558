//! Constraints that are DEFERRABLE: which are left to COMMIT, and their checks at the end of a statement and before COMMIT.
//!
//! Rows with a key that may be left to COMMIT are written unchecked. A statement checks what it wrote at its end unless the
//! key is left; committing checks all that was written once more, on top of what others committed meanwhile, so that no
//! way of writing rows can leave two with one key. Foreign keys that are left are noted and checked as a whole.

use super::writer::RowWriter;
use crate::execute::Run;
use crate::result::QueryResult;
use crate::text::same_name;
use inlay_catalog::{Table, TableSchema};
use inlay_sql::binder::key_name;
use inlay_storage::store::{Object, ObjectId};
use inlay_storage::{Deferral, ForeignKey};
use inlay_types::{Error, Result};

impl Run<'_> {
    fn is_left(&self, name: &str, deferral: Deferral) -> bool {
        let open = self.session.transaction.as_ref();
        open.and_then(|open| open.deferrals.as_ref()).is_some_and(|said| said.is_left(name, deferral))
    }

    /// Checks what was left to COMMIT and is due now, by name. Keys are checked by the commit, too.
    pub(crate) fn check_deferred(&self, is_due: &dyn Fn(&str, Deferral) -> bool) -> Result<()> {
        for (database, table, name) in self.transactions.deferred() {
            let writer = RowWriter::new(self, &database)?;
            let state = writer.transaction.state();
            let Some(Object::Table(slot)) = state.object(table) else { continue };
            let schema_of = slot.table()?;
            let key = schema_of.schema().foreign_keys.iter().find(|key| same_name(&key.name, &name));
            if let Some(key) = key.filter(|key| is_due(&key.name, key.deferral)) {
                writer.check_whole(table, key)?;
            }
        }
        for transaction in self.transactions.all() {
            for table in transaction.changed_tables() {
                check_keys(&table, 0, is_due)?;
            }
        }
        Ok(())
    }

    /// SET CONSTRAINTS: when constraints that are DEFERRABLE are checked in the open transaction.
    pub(crate) fn set_constraints(&mut self, names: &[String], left: bool) -> Result<QueryResult> {
        let known = self.deferrable_constraints()?;
        for name in names {
            let found = known.iter().find(|(known, _)| same_name(known, name));
            let message = match found {
                Some((_, Deferral::Never)) => format!("constraint \"{name}\" is not DEFERRABLE"),
                Some(_) => continue,
                None => format!("constraint \"{name}\" does not exist"),
            };
            return Err(Error::bind(message));
        }
        let Some(open) = &self.session.transaction else { return Ok(QueryResult::done()) };
        let Some(mut said) = open.deferrals.clone() else { return Ok(QueryResult::done()) };
        if names.is_empty() {
            said.0 = vec![(None, left)];
        } else {
            said.0.extend(names.iter().map(|name| (Some(name.clone()), left)));
        }
        if !left {
            self.check_deferred(&|name, deferral| !said.is_left(name, deferral))?;
        }
        if let Some(open) = &mut self.session.transaction {
            open.deferrals = Some(said);
        }
        Ok(QueryResult::done())
    }

    /// Names of the constraints of the current database's tables, those that can be left to COMMIT first.
    fn deferrable_constraints(&self) -> Result<Vec<(String, Deferral)>> {
        let current = self.transactions.current(self.database);
        let state = self.transactions.of(self.database, &current)?.state();
        let mut known = Vec::new();
        for object in state.objects() {
            let Object::Table(slot) = object else { continue };
            let table = slot.table()?;
            let schema = table.schema();
            known.extend(schema.all_keys().iter().map(|key| (key_name(schema, key), schema.deferral(key))));
            known.extend(schema.foreign_keys.iter().map(|key| (key.name.clone(), key.deferral)));
            known.extend(schema.checks.iter().map(|check| (check.name.clone(), Deferral::Never)));
        }
        known.sort_by_key(|(_, deferral)| *deferral == Deferral::Never);
        Ok(known)
    }
}

impl RowWriter<'_> {
    /// Whether a foreign key of a table is checked at COMMIT; notes it for then.
    pub(super) fn is_left_to_commit(&self, table: ObjectId, key: &ForeignKey) -> bool {
        let is_left = self.run.is_left(&key.name, key.deferral);
        if is_left {
            self.run.transactions.defer(&self.database, table, &key.name);
        }
        is_left
    }

    /// Fails if rows of the statement have keys in common with others and these are not left to COMMIT.
    pub(super) fn check_due_keys(&mut self) -> Result<()> {
        let run = self.run;
        for (id, since) in std::mem::take(&mut self.keyed) {
            let table = self.transaction.state().table(id)?;
            check_keys(&table, since, &|name, deferral| !run.is_left(name, deferral))?;
        }
        Ok(())
    }
}

fn check_keys(table: &Table, since: usize, is_due: &dyn Fn(&str, Deferral) -> bool) -> Result<()> {
    let schema: &TableSchema = table.schema();
    table.check_deferrable_keys(since, &|key| is_due(&key_name(schema, key), schema.deferral(key)))
}

//! CREATE, ALTER, DROP, and whole databases as scripts.
//!
//! - `table`, `view`, `index`, `sequence`: what is made. [`alter`]: tables that change. `drop`: what goes. `role`, `grant`: who may what.
//! - [`export`]: EXPORT and IMPORT DATABASE; `dump`: their script for who writes the rows himself; [`text`]: definitions
//!   as SQL.

mod alter;
mod copy_database;
mod drop;
mod dump;
mod export;
mod export_rights;
mod function;
mod grant;
mod index;
pub(crate) mod object;
mod role;
mod sequence;
mod table;
mod trigger;
mod view;

pub(crate) use crate::text;
pub(crate) use dump::dump;
pub use dump::{Dump, DumpTable};

use crate::execute::Run;
use crate::text::same_name;
use crate::transactions::TEMPORARY;
use inlay_storage::ForeignKey;
use inlay_storage::store::{Object, Transaction};
use inlay_storage::table::Alteration;
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Run<'_> {
    /// The transaction on the database that a new object belongs to.
    pub(crate) fn home_of(&mut self, database: &str, temporary: bool) -> Result<Arc<Transaction>> {
        if !temporary {
            return self.to_change(database);
        }
        self.session.names.temporary(self.database.budget());
        self.transactions.set_session(&self.session.names);
        self.to_change(TEMPORARY)
    }

    /// Whether a name may be given to a new object; fails if it is taken by one that stays.
    fn may_create(
        &self,
        transaction: &Transaction,
        kind: &'static str,
        name: &str,
        or_replace: bool,
        if_not_exists: bool,
    ) -> Result<bool> {
        let state = transaction.state();
        let Some(taken) = state.relation(name) else {
            if self.database.registered(name, self.session.id).is_some() && !or_replace {
                return Err(Error::Duplicate { kind: "table", name: name.to_string() });
            }
            return Ok(true);
        };
        if if_not_exists {
            return Ok(false);
        }
        if or_replace && taken.kind() == kind {
            return Ok(true);
        }
        Err(Error::Duplicate { kind: taken.kind(), name: name.to_string() })
    }

    /// Makes a conflict of transactions that write to the targets of new foreign keys and do not know of these yet.
    fn bind_targets<'k>(
        &self,
        transaction: &Transaction,
        table: &str,
        keys: impl Iterator<Item = &'k ForeignKey>,
    ) -> Result<()> {
        let mut bound = Vec::new();
        for key in keys.filter(|key| !same_name(&key.table, table)) {
            let state = transaction.state();
            let Some(Object::Table(slot)) = state.relation(&key.table) else { continue };
            let target = slot.table()?;
            if !bound.contains(&target.id()) {
                bound.push(target.id());
                transaction.refer_to(target.id());
                transaction.alter_table(target.id(), Alteration::of_schema(target.schema().clone()))?;
            }
        }
        Ok(())
    }

    /// Drops what has a name that something new takes.
    fn replace(&self, transaction: &Transaction, name: &str) -> Result<()> {
        match transaction.state().relation(name) {
            Some(taken) => transaction.drop_object(taken.id()),
            None => Ok(()),
        }
    }
}

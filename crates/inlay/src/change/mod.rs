//! INSERT, UPDATE, DELETE, MERGE and TRUNCATE, set at a time.
//!
//! ```text
//! statement -- rows in hand --> checks --> RowWriter -- tables change, keys are lost --> foreign keys follow
//!                                                  \--> at the end: targets exist, nothing refers to what is gone
//! ```
//! - [`rows`]: expressions over rows in hand. [`checks`]: CHECK. [`key_set`]: distinct keys. [`lookup`]: rows by
//!   the values of columns.
//! - [`writer`]: the one way by which rows change. [`foreign_keys`]: what follows from it.
//! - [`deferred`]: what is left to COMMIT.
//! - [`portions`]: rows of a statement that do not fit into memory together.
//! - `insert`, `conflict`, `update`, `delete`, `merge`: one statement each; `changing`: several in a WITH. [`triggers`]: what they set off. [`returning`]: its answer.
//!
//! Invariants
//! - Constraints hold at the end of each statement, not in between. A statement that fails leaves nothing: whoever runs
//!   it rolls back.
//! - What a constraint was looked up by is noted, so that a change of it by another transaction is a conflict.

mod changing;
pub(crate) mod checks;
mod conflict;
pub(crate) mod deferred;
mod delete;
pub(crate) mod foreign_keys;
mod insert;
mod key_set;
pub(crate) mod load;
pub(crate) mod lookup;
mod merge;
mod portions;
mod returning;
pub(crate) mod rows;
pub(crate) mod triggers;
mod update;
pub(crate) mod writer;

use crate::execute::Run;
use crate::result::QueryResult;
use inlay_catalog::TableEntry;
use inlay_sql::plan::Statement;
use inlay_storage::store::{Counter, Object, Sequence};
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Run<'_> {
    /// Carries out INSERT, UPDATE, DELETE, MERGE, or several in a WITH, without what it sets off.
    pub(crate) fn change_rows(&mut self, statement: Statement) -> Result<QueryResult> {
        match statement {
            Statement::Changing { parts, statement } => self.changing(parts, *statement),
            Statement::Insert(insert) => self.insert(*insert),
            Statement::Delete(delete) => self.delete(*delete),
            Statement::Update(update) => self.update(*update),
            Statement::Merge(merge) => self.merge(*merge),
            other => Err(Error::internal(format!("{} changes no rows", other.kind()))),
        }
    }

    /// Carries out TRUNCATE. Tables that refer to these were bound with them.
    pub(crate) fn truncate(
        &self,
        database: &str,
        tables: &[Arc<TableEntry>],
        restarted: &[String],
    ) -> Result<QueryResult> {
        self.refuse_truncate(database, tables)?;
        let transaction = self.to_change(database)?;
        let mut count = 0;
        for table in tables {
            count += transaction.table_to_write(table.table.id())?.truncate();
        }
        for name in restarted {
            let state = transaction.state();
            let Some(Object::Sequence(sequence)) = state.relation(name) else { continue };
            let start = Counter { next: Some(sequence.options.start), last: None };
            transaction.put(Object::Sequence(Arc::new(standing_at(sequence, start))))?;
        }
        Ok(QueryResult::changed(count))
    }
}

/// A sequence with a counter of its own: rolling back brings the earlier one back.
pub(crate) fn standing_at(sequence: &Sequence, counter: Counter) -> Sequence {
    let Sequence { id, name, options, owner, .. } = sequence;
    let moved = Sequence::new(*id, name, *options, owner.clone());
    moved.set_counter(counter);
    moved
}

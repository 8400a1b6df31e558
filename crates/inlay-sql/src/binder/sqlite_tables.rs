//! Tables that SQLite keeps for itself and that its dumps fill: `sqlite_sequence`, where AUTOINCREMENT is, and its statistics.

use super::Binder;
use super::define::sequence_of_default;
use crate::parser::ast::{AlterSequence, Ident, Insert, ObjectName, QueryBody, SequenceOptions};
use crate::plan;
use inlay_catalog::{bare_name, schema_of};
use inlay_storage::Origin;
use inlay_types::{Error, Result, Value};

/// Where AUTOINCREMENT of each table is.
const SEQUENCES: &str = "sqlite_sequence";
/// The tables.
const TABLES: [&str; 3] = [SEQUENCES, "sqlite_stat1", "sqlite_stat4"];

pub(super) const NO_SQLITE: &str = "no effect: sequences and statistics are in no tables of SQLite here";

impl Binder<'_> {
    /// Whether a name is one of SQLite's own tables, and nobody made a table of that name.
    pub(super) fn is_table_of_sqlite(&self, name: &ObjectName) -> Result<bool> {
        let is_known = TABLES.iter().any(|known| name.last().eq_ignore_ascii_case(known));
        Ok(is_known && self.object(name)?.is_none())
    }

    /// `INSERT INTO sqlite_sequence VALUES ('table', n)` sets the sequence of the table's AUTOINCREMENT column to go on behind n.
    pub(super) fn insert_of_sqlite(&mut self, insert: &Insert) -> Result<Option<plan::Statement>> {
        if !self.is_table_of_sqlite(&insert.table)? {
            return Ok(None);
        }
        if !insert.table.last().eq_ignore_ascii_case(SEQUENCES) {
            return self.notice(NO_SQLITE).map(Some);
        }
        let is_plain = insert.returning.is_none() && insert.columns.is_empty();
        let rows = insert.source.as_ref().map(|source| &source.body).filter(|_| is_plain);
        let Some(QueryBody::Values { rows, .. }) = rows else {
            let error =
                Error::unsupported("sqlite_sequence but by INSERT INTO sqlite_sequence VALUES ('table', n)");
            return Err(self.at(error, insert.table.pos()));
        };
        let [row] = rows.as_slice() else {
            let error = Error::unsupported("several rows for sqlite_sequence");
            return Err(self.at(error.with_hint("insert them one by one"), insert.table.pos()));
        };
        let values = row.iter().map(|value| self.constant(value, SEQUENCES)).collect::<Result<Vec<_>>>()?;
        let [Value::Varchar(table), last] = values.as_slice() else {
            let error = Error::bind("sqlite_sequence holds the name of a table and a number");
            return Err(self.at(error, insert.table.pos()));
        };
        let pos = insert.table.pos();
        let named = |parts: [&str; 2]| {
            let parts = parts.iter().filter(|part| !part.is_empty());
            let parts = parts.map(|part| Ident { value: (*part).to_string(), pos }).collect();
            ObjectName { parts, is_string: false }
        };
        let target = self.table(&named(["", table]))?;
        let is_counted =
            |origin: &Origin| matches!(origin, Origin::IdentityAlways | Origin::IdentityByDefault);
        let columns = &target.entry.table.schema().columns;
        let counted = columns.iter().find(|column| is_counted(&column.origin));
        let sequence = counted.and_then(|column| sequence_of_default(column.default.as_deref()));
        let (Some(sequence), Some(next)) =
            (sequence, last.as_i128().and_then(|last| i64::try_from(last).ok()?.checked_add(1)))
        else {
            return self.notice(NO_SQLITE).map(Some);
        };
        let alter = AlterSequence {
            name: named([schema_of(&sequence), bare_name(&sequence)]),
            if_exists: false,
            options: SequenceOptions { pos, ..SequenceOptions::default() },
            restart: Some(Some(next)),
            rename: None,
        };
        self.alter_sequence(&alter).map(Some)
    }
}

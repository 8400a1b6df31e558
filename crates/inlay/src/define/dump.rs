//! A database as a script whose rows somebody else writes: a shell as INSERT statements.

use super::export::Scripts;
use super::text;
use crate::database::Database;
use crate::execute::{Given, Run};
use crate::session::Session;
use crate::transactions::{ModesExt, Transactions};
use inlay_storage::Origin;
use inlay_types::Result;
use std::sync::Arc;

/// The parts of a script that makes a database again; the rows of the tables belong between the two texts.
#[derive(Clone, Debug)]
pub struct Dump {
    /// Schemas, types, sequences, macros, tables and views.
    pub schema: String,
    /// The tables, in an order in which foreign keys hold.
    pub tables: Vec<DumpTable>,
    /// Indexes and what else is made when the rows are there.
    pub rest: String,
}

/// A table whose rows are wanted.
#[derive(Clone, Debug)]
pub struct DumpTable {
    /// Schema and name, bare.
    pub path: (String, String),
    /// The name as SQL, with its schema unless that is `main`.
    pub name: String,
    /// The columns that are written, as SQL.
    pub columns: Vec<String>,
    /// Whether one of them is GENERATED ALWAYS AS IDENTITY, whose values INSERT takes by OVERRIDING SYSTEM VALUE only.
    pub overrides: bool,
}

/// The script of the current database as the session sees it.
pub(crate) fn dump(database: &Database, session: &mut Session, given: Given<'_>) -> Result<Dump> {
    let transactions = match &session.transaction {
        Some(open) => Arc::clone(&open.transactions),
        None => Arc::new(Transactions::new(session.settings.modes.options()?, &session.names)),
    };
    let mut run = Run { database, session, given, transactions, notes_reads: false, measured: None };
    let current = run.transactions.current(run.database);
    let contents = run.contents(&current)?;
    let mut scripts = Scripts::default();
    contents.write_schema(&mut scripts)?;
    contents.write_rest(&mut scripts);
    let table = |table: &Arc<inlay_catalog::Table>| {
        let schema = table.schema();
        let given = schema.columns.iter().filter(|column| column.origin.computation().is_none());
        let (place, own) = inlay_catalog::split_name(&schema.name);
        DumpTable {
            path: (place.to_string(), own.to_string()),
            name: text::name(&schema.name),
            overrides: schema.columns.iter().any(|column| matches!(column.origin, Origin::IdentityAlways)),
            columns: given.map(|column| text::quoted(&column.name)).collect(),
        }
    };
    let tables = contents.tables.iter().map(table).collect();
    Ok(Dump { schema: scripts.schema, tables, rest: scripts.load })
}

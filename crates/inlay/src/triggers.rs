//! What a trigger is stored as, and what a session notes of its statement for triggers; `change::triggers` runs them.

use inlay_sql::parser::ast::StatementKind;
use inlay_sql::parser::ast::object::ObjectStatement;
use inlay_sql::parser::ast::trigger::CreateTrigger;
use inlay_sql::parser::parse_statement;
use inlay_storage::store::{Definition, ObjectId};
use inlay_types::{Batch, Error, Reservation, Result};
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// What a session has to do with triggers while a statement runs.
#[derive(Default)]
pub(crate) struct Triggering {
    /// What the statement changed of tables with triggers.
    pub images: Mutex<Images>,
    /// Triggers under way, the innermost last.
    pub running: Vec<ObjectId>,
    /// Whose triggers run: the owner of the innermost one's table.
    pub owner: Option<String>,
}

/// What happened to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Insert,
    Update,
    Delete,
}

impl Event {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// Rows that changed, by table and event.
#[derive(Default)]
pub(crate) struct Images {
    pub changes: BTreeMap<(ObjectId, Event), Change>,
    pub reserved: Option<Reservation>,
}

/// What one event did to a table.
#[derive(Default)]
pub(crate) struct Change {
    /// Columns that were set.
    pub set: Vec<usize>,
    /// Rows as they were and as they are, as far as triggers ask for them.
    pub old: Vec<Batch>,
    pub new: Vec<Batch>,
}

/// The statement that made a trigger.
pub(crate) fn read_trigger(definition: &Definition) -> Result<CreateTrigger> {
    if let StatementKind::Object(object) = parse_statement(&definition.sql)?.kind
        && let ObjectStatement::CreateTrigger(create) = *object
    {
        return Ok(*create);
    }
    Err(Error::corrupt(format!("the text of trigger \"{}\"", definition.name)))
}

/// What a trigger is known by: its table's number and its own name.
pub(crate) fn trigger_key(table: ObjectId, name: &str) -> String {
    format!("{table}.{name}")
}

/// The name of a trigger.
pub(crate) fn trigger_name(definition: &Definition) -> &str {
    definition.name.split_once('.').map_or(definition.name.as_str(), |(_, name)| name)
}

//! CREATE TRIGGER.

use super::{Expr, Ident, ObjectName, OnExisting, Statement};
use inlay_types::sql_text::ident as quoted;

/// `CREATE TRIGGER name AFTER INSERT ON table FOR EACH ROW statement`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    /// Its name, which is one of its table.
    pub name: Ident,
    /// What happens if there is one.
    pub on_existing: OnExisting,
    /// BEFORE or AFTER.
    pub timing: TriggerTiming,
    /// What sets it off: one of these.
    pub events: Vec<TriggerEvent>,
    /// Whose rows it watches.
    pub table: ObjectName,
    /// `REFERENCING OLD TABLE AS name`.
    pub old_rows: Option<Ident>,
    /// `REFERENCING NEW TABLE AS name`.
    pub new_rows: Option<Ident>,
    /// FOR EACH ROW, not FOR EACH STATEMENT.
    pub per_row: bool,
    /// WHEN: the condition and its text.
    pub condition: Option<(Expr, String)>,
    /// What it does.
    pub body: Vec<Statement>,
    /// The text of the body, with BEGIN and END if it has several statements.
    pub body_text: String,
}

/// When a trigger runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTiming {
    /// Before rows change.
    Before,
    /// Behind the statement, when its constraints hold.
    After,
}

impl TriggerTiming {
    /// In the words of SQL.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Before => "BEFORE",
            Self::After => "AFTER",
        }
    }
}

/// What sets a trigger off.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerEvent {
    /// New rows.
    Insert,
    /// Changed rows; of these columns, if some are named.
    Update(Vec<Ident>),
    /// Rows that go.
    Delete,
}

impl TriggerEvent {
    /// In the words of SQL.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Update(_) => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Update(columns) if !columns.is_empty() => {
                let columns: Vec<String> = columns.iter().map(|column| quoted(&column.value)).collect();
                format!("UPDATE OF {}", columns.join(", "))
            }
            Self::Insert | Self::Update(_) | Self::Delete => self.word().to_string(),
        }
    }
}

impl CreateTrigger {
    /// The statement that makes it, of a table that is called so by now.
    pub fn text(&self, table: &str) -> String {
        let events: Vec<String> = self.events.iter().map(TriggerEvent::text).collect();
        let mut text = format!(
            "CREATE TRIGGER {} {} {} ON {table}",
            quoted(&self.name.value),
            self.timing.word(),
            events.join(" OR ")
        );
        let rows = [("OLD", &self.old_rows), ("NEW", &self.new_rows)];
        let rows = rows.into_iter().filter_map(|(word, name)| Some((word, name.as_ref()?)));
        for (index, (word, name)) in rows.enumerate() {
            text += if index == 0 { " REFERENCING" } else { "" };
            text += &format!(" {word} TABLE AS {}", quoted(&name.value));
        }
        text += if self.per_row { " FOR EACH ROW" } else { " FOR EACH STATEMENT" };
        if let Some((_, condition)) = &self.condition {
            text += &format!(" WHEN ({condition})");
        }
        format!("{text} {}", self.body_text)
    }
}

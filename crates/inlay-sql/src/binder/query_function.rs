//! `query('SELECT ...')`, `query_table('name')` and [`super::olap`] in FROM: queries and tables whose text is an argument, or made of some.

use super::object::object_name_of;
use super::olap::Calculation;
use super::{Binder, Bound, VIEW_DEPTH_MAX};
use crate::parser::ast::{FunctionCall, StatementKind};
use crate::parser::parse_statements;
use inlay_types::{Error, Result, Value};
use std::sync::Arc;

/// Whether a function in FROM takes the text of a query or the name of a table.
pub(super) fn is_query_function(name: &str) -> bool {
    matches!(name, "query" | "query_table" | "seq_scan" | "olap" | "olap_json")
}

impl Binder<'_> {
    /// What such a function stands for. It sees the CTEs around it, not the columns.
    pub(super) fn query_function(&mut self, name: &str, call: &FunctionCall) -> Result<Bound> {
        let pos = call.name.pos;
        let (args, named) = self.constant_arguments(call)?;
        let text = match (name, args.as_slice(), named.as_slice()) {
            ("query", [Value::Varchar(text)], []) => Ok(text.clone()),
            ("query_table" | "seq_scan", [tables], []) => text_of_tables(tables, false),
            ("query_table", [tables, Value::Boolean(by_name)], []) => text_of_tables(tables, *by_name),
            ("olap", args, named) => Calculation::of(name, args, named).map(|asked| asked.rows()),
            ("olap_json", args, named) => Calculation::of(name, args, named).map(|asked| asked.document()),
            ("query", ..) => Err(wrong("query takes the text of a query: query('SELECT 1')")),
            _ => Err(wrong("query_table takes a name or a list of names, and whether columns meet by name")),
        };
        let text = self.placed(text, pos)?;
        if self.view_depth >= VIEW_DEPTH_MAX {
            let message =
                format!("{name} stands in its own text, or texts nest deeper than {VIEW_DEPTH_MAX}");
            return Err(self.at(Error::bind(message), pos));
        }
        let mut statements = self.placed(parse_statements(&text), pos)?;
        let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
            return Err(self.at(wrong("query takes exactly one SELECT statement"), pos));
        };
        let StatementKind::Query(query) = &statement.kind else {
            return Err(self.at(wrong("query takes a SELECT statement, nothing that changes or sets"), pos));
        };
        let sql = std::mem::replace(&mut self.sql, Arc::clone(&statement.sql));
        let scopes = std::mem::take(&mut self.scopes);
        let frames = std::mem::take(&mut self.aggregate_frames);
        self.view_depth += 1;
        let bound = self.query(query);
        self.view_depth -= 1;
        self.aggregate_frames = frames;
        self.scopes = scopes;
        self.sql = sql;
        self.placed(bound, pos)
    }
}

/// All rows of tables, one after the other.
fn text_of_tables(tables: &Value, by_name: bool) -> Result<String> {
    let of_table = |name: &Value| match name {
        Value::Varchar(name) => Ok(format!("FROM {}", path_as_sql(name))),
        other => Err(Error::invalid_argument(format!("query_table takes names of tables, not {other}"))),
    };
    let tables = match tables {
        Value::List { values, .. } => values.iter().map(of_table).collect::<Result<Vec<_>>>()?,
        one => vec![of_table(one)?],
    };
    if tables.is_empty() {
        return Err(Error::invalid_argument("query_table needs at least one table"));
    }
    Ok(tables.join(if by_name { " UNION ALL BY NAME " } else { " UNION ALL " }))
}

/// The name of a table as a program gives it, as SQL.
pub(super) fn path_as_sql(name: &str) -> String {
    let parts = object_name_of(name, Default::default()).parts;
    let parts = parts.into_iter().map(|part| format!("\"{}\"", part.value.replace('"', "\"\"")));
    parts.collect::<Vec<_>>().join(".")
}

fn wrong(message: &str) -> Error {
    Error::invalid_argument(message)
}

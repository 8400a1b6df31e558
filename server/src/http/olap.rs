//! `GET /olap/{table}?by=region_txt,type_txt&agg=avg&fact=price_fact`: one aggregate of a fact by some columns, as a document.
//!
//! The body is what `olap_json` of SQL gives with the same arguments, letter by letter, and so what `con.olap` of Python does. It runs in a session of
//! the request's own that only reads, with the rights of who asks.

use super::Door;
use super::failure::{Failure, wrong};
use super::query::{Begun, begin, pairs_of};
use super::sessions::{Lease, Who};
use crate::session::Call;
use axum::Extension;
use axum::extract::{Path, RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use inlay::{Error, Result, Value};
use std::fmt::Write;

/// What stands behind the question mark.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    database: Option<String>,
    is_flat: bool,
    /// Arguments of `olap_json`, by their names there.
    arguments: Vec<(&'static str, String)>,
}

/// Names in an address, and those of the arguments.
const ARGUMENTS: &[(&str, &str)] =
    &[("by", "by"), ("agg", "agg"), ("fact", "fact"), ("where", "condition"), ("condition", "condition")];

impl Asked {
    fn read(pairs: Vec<(String, String)>) -> std::result::Result<Self, Failure> {
        let mut asked = Self::default();
        for (name, value) in pairs {
            if let Some((_, argument)) = ARGUMENTS.iter().find(|(known, _)| *known == name) {
                if asked.arguments.iter().any(|(known, _)| known == argument) {
                    return Err(wrong(format!("{name} is given twice")));
                }
                asked.arguments.push((argument, value));
                continue;
            }
            match name.as_str() {
                "database" => asked.database = Some(value),
                "shape" => {
                    asked.is_flat = match value.as_str() {
                        "rows" => true,
                        "nested" => false,
                        _ => return Err(wrong("shape is \"nested\", the default, or \"rows\"")),
                    }
                }
                _ => {
                    let known = "by, agg, fact, where, shape and database";
                    return Err(wrong(format!("there is nothing called \"{name}\" to ask for: {known} are")));
                }
            }
        }
        Ok(asked)
    }

    /// The query.
    fn text(&self, table: &str) -> String {
        let mut text = format!("SELECT json FROM olap_json({}", inlay::sql::literal(table));
        for (name, value) in &self.arguments {
            let _ = write!(text, ", {name} := {}", inlay::sql::literal(value));
        }
        if self.is_flat {
            text.push_str(", nested := false");
        }
        text + ")"
    }
}

/// See the module documentation.
pub async fn read(
    State(door): State<Door>,
    Path(table): Path<String>,
    RawQuery(pairs): RawQuery,
    who: Extension<Who>,
) -> std::result::Result<Response, Failure> {
    let asked = Asked::read(pairs_of(pairs.as_deref())?)?;
    let session = Lease::own(&door, &who, asked.database.as_deref()).await?;
    let text = asked.text(&table);
    let document = session.run(move |call| carry_out(call, &text)).await?;
    let heads = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((heads, document).into_response())
}

fn carry_out(call: &Call, text: &str) -> Result<String> {
    let Begun { mut cursor, .. } = begin(call, text, &[], true, false)?;
    let row = cursor.next_row(Some(&call.host))?;
    let value = row.as_ref().and_then(|row| row.values().first());
    match value {
        Some(Value::Json(document)) => Ok(document.clone()),
        Some(_) | None => Err(Error::internal("olap_json gave no document")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_becomes_arguments() {
        let asked = |pairs: &[(&str, &str)]| {
            Asked::read(pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
        };
        let read = asked(&[("by", "a_txt,b'"), ("shape", "rows"), ("where", "c > 1")]).unwrap();
        assert_eq!(
            read.text("t'x"),
            "SELECT json FROM olap_json('t''x', by := 'a_txt,b''', condition := 'c > 1', nested := false)"
        );
        for wrong in [("shape", "x"), ("having", "1")] {
            assert!(asked(&[wrong]).is_err());
        }
        assert!(asked(&[("where", "a"), ("condition", "b")]).is_err());
    }
}

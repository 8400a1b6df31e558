//! `/query`: what a request asks for, carried out up to the first rows.

use super::Door;
use super::answer::{Answer, Shape};
use super::failure::{Failure, wrong};
use super::sessions::{Lease, SESSION, STATEMENT, Who};
use crate::json::Numbers;
use crate::session::{Call, FIRST_BYTES};
use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use inlay::types::LogicalType;
use inlay::{Command, CommandClass, Cursor, Error, Parameters, Result, Value, cast_value_in_zone, sql};
use std::time::Duration;

/// How long a client may take for the body of a request.
const BODY_MAX: Duration = Duration::from_secs(120);

/// What stands behind the question mark.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    query: Option<String>,
    format: Format,
    database: Option<String>,
    numbers: Option<Numbers>,
    /// Values of parameters by their names, which may be numbers.
    values: Vec<(String, String)>,
}

/// What an answer is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Json,
    NdJson,
    Csv,
    Markdown,
    Arrow,
    Parquet,
}

const FORMATS: &[(&str, Format)] = &[
    ("json", Format::Json),
    ("ndjson", Format::NdJson),
    ("csv", Format::Csv),
    ("markdown", Format::Markdown),
    ("arrow", Format::Arrow),
    ("parquet", Format::Parquet),
];

impl Asked {
    fn read(pairs: Vec<(String, String)>) -> std::result::Result<Self, Failure> {
        let mut asked = Self::default();
        for (name, value) in pairs {
            match name.as_str() {
                "query" => asked.query = Some(value),
                "database" => asked.database = Some(value),
                "format" => {
                    let found = FORMATS.iter().find(|(known, _)| *known == value);
                    let known: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
                    let (_, format) = found.ok_or_else(|| {
                        wrong(format!("there is no format \"{value}\": {} are", known.join(", ")))
                    })?;
                    asked.format = *format;
                }
                "numbers" => {
                    asked.numbers = Some(match value.as_str() {
                        "exact" => Numbers::Exact,
                        "text" => Numbers::Text,
                        _ => {
                            return Err(wrong(
                                "numbers are \"exact\", with every digit, or \"text\" where a double would lose some",
                            ));
                        }
                    });
                }
                _ => match name.strip_prefix("param_") {
                    Some(parameter) if !parameter.is_empty() => {
                        asked.values.push((parameter.to_string(), value))
                    }
                    Some(_) | None => {
                        let known = "query, format, database, numbers and param_NAME";
                        return Err(wrong(format!(
                            "there is nothing called \"{name}\" to ask for: {known} are"
                        )));
                    }
                },
            }
        }
        Ok(asked)
    }
}

/// Names and values behind the question mark; an error where they are no text.
pub fn pairs_of(query: Option<&str>) -> std::result::Result<Vec<(String, String)>, Failure> {
    let pairs = query.unwrap_or("").split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decoded(name)?, decoded(value)?))
    };
    pairs.map(pair).collect()
}

/// `%C3%A9+x` as `é x`.
fn decoded(text: &str) -> std::result::Result<String, Failure> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        // As browsers have it, what is no code is itself.
        match code.filter(|code| !code.starts_with('+')).and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes)
        .map_err(|_| wrong(format!("{text} behind the question mark is no text in UTF-8")))
}

/// `GET /query?query=...`: a query that changes nothing.
pub async fn read(
    State(door): State<Door>,
    RawQuery(pairs): RawQuery,
    who: Extension<Who>,
    headers: HeaderMap,
) -> std::result::Result<Response, Failure> {
    let asked = Asked::read(pairs_of(pairs.as_deref())?)?;
    if let Some(name) = [SESSION, STATEMENT].into_iter().find(|name| headers.contains_key(*name)) {
        return Err(wrong(format!("GET runs in a session of its own, without {name}: POST it")));
    }
    let Some(text) = asked.query.clone() else {
        return Err(wrong("a query is missing: GET /query?query=SELECT+1, or POST it"));
    };
    let session = Lease::own(&door, &who, asked.database.as_deref()).await?;
    run(door, session, asked, text, true).await
}

/// `POST /query`: the statements of the body.
pub async fn write(
    State(door): State<Door>,
    RawQuery(pairs): RawQuery,
    who: Extension<Who>,
    request: Request,
) -> std::result::Result<Response, Failure> {
    let asked = Asked::read(pairs_of(pairs.as_deref())?)?;
    let headers = request.headers().clone();
    let body = body_of_request(request, door.served.options.message_bytes_max).await?;
    let text = String::from_utf8(body.to_vec()).map_err(|_| wrong("the body is not UTF-8"))?;
    let text = match (&asked.query, text.is_empty()) {
        (Some(query), true) => query.clone(),
        (Some(_), false) => {
            return Err(wrong("a query is given twice, behind the question mark and in the body"));
        }
        (None, _) => text,
    };
    let session = Lease::wanted(&door, &who, &headers, asked.database.as_deref(), &text).await?;
    run(door, session, asked, text, false).await
}

/// The body of a request, if it is not longer than so many bytes.
pub async fn body_of_request(request: Request, most: usize) -> std::result::Result<Bytes, Failure> {
    match tokio::time::timeout(BODY_MAX, axum::body::to_bytes(request.into_body(), most)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) => {
            let message =
                format!("the body is longer than {most} bytes, the most that is taken, or was cut off");
            Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "54000", message))
        }
        Err(_) => Err(Failure::new(StatusCode::REQUEST_TIMEOUT, "08006", "the body did not come")),
    }
}

async fn run(
    door: Door,
    session: Lease,
    asked: Asked,
    text: String,
    only_reads: bool,
) -> std::result::Result<Response, Failure> {
    let format = asked.format;
    let numbers = asked.numbers.unwrap_or(Numbers::Exact);
    if matches!(format, Format::Arrow | Format::Parquet) {
        return super::files::answer(&door, session, text, asked.values, format, only_reads).await;
    }
    let lasts = session.lasts();
    let begun = session.run(move |call| begin(call, &text, &asked.values, only_reads, lasts)).await?;
    let shape = Shape { format, numbers, zone: begun.zone };
    Ok(respond(session, Answer::new(begun.cursor, shape)).await?)
}

/// Makes the first piece before anything is said, so that what fails early has a status of its own.
async fn respond(session: Lease, answer: Answer) -> Result<Response> {
    let content_type = answer.content_type();
    let (first, answer) = session.run(move |call| answer.first(call)).await?;
    let builder = Response::builder()
        .header("content-type", content_type)
        .header("x-content-type-options", "nosniff")
        .header("cache-control", "no-store");
    let body = match answer {
        None => super::body_of(first),
        Some(answer) => Body::from_stream(answer.stream(session, first)),
    };
    builder.body(body).map_err(|error| Error::internal(format!("an answer has no head: {error}")))
}

/// Statements of a request that ran, but for the rows of the last.
pub struct Begun {
    pub cursor: Cursor,
    pub zone: std::sync::Arc<inlay::Zone>,
}

/// Runs the statements of a text; several are one transaction unless they say themselves where those begin and end, or one is open already in a
/// session that lasts.
pub fn begin(
    call: &Call,
    text: &str,
    values: &[(String, String)],
    only_reads: bool,
    lasts: bool,
) -> Result<Begun> {
    let statements = sql::statements(text)?;
    let commands: Vec<Command> = statements.iter().map(|statement| statement.command).collect();
    if statements.is_empty() {
        return Err(Error::Syntax { message: "there is no statement".to_string() });
    }
    if only_reads {
        begin_reading(call, &commands)?;
    }
    let is_one = !only_reads
        && commands.len() > 1
        && !call.connection.in_transaction()
        && commands.iter().all(|command| is_in_transaction(*command));
    if is_one {
        call.connection.begin()?;
    }
    let cursor = match run_all(call, text, values) {
        Err(error) if is_one && lasts => {
            call.connection.rollback()?;
            return Err(error);
        }
        outcome => outcome?,
    };
    // Rows that were not read yet are those of now, whatever comes.
    if is_one {
        call.connection.commit()?;
    } else if call.connection.in_transaction() && !only_reads && !lasts {
        call.connection.rollback()?;
        let message = "the statements left a transaction open, which was rolled back".to_string();
        return Err(Error::TransactionState { message }
            .with_hint("end with COMMIT: a request is a session of its own"));
    }
    Ok(Begun { cursor, zone: call.connection.time_zone()? })
}

/// Begins a transaction in which nothing can be changed.
fn begin_reading(call: &Call, commands: &[Command]) -> Result<()> {
    match commands {
        [one] if one.class() == CommandClass::Query => {}
        [_] => {
            let message = "GET runs queries only".to_string();
            return Err(Error::ReadOnly { message }.with_hint("POST runs other statements"));
        }
        _ => {
            return Err(
                Error::invalid_argument("GET runs one query").with_hint("POST runs several statements")
            );
        }
    }
    call.connection.execute("BEGIN TRANSACTION READ ONLY").map(drop)
}

fn is_in_transaction(command: Command) -> bool {
    match command.class() {
        CommandClass::Transaction | CommandClass::Maintenance => false,
        CommandClass::Query | CommandClass::Change | CommandClass::Definition | CommandClass::Session => true,
    }
}

fn run_all(call: &Call, text: &str, values: &[(String, String)]) -> Result<Cursor> {
    let mut script = call.connection.script(text)?;
    let mut parameters = Parameters::default();
    let mut cursor = None;
    while let Some((statement, _)) = script.peek() {
        if script.is_last() {
            parameters = parameters_of(call, statement, values)?;
        }
        let given = &parameters;
        cursor = script.next_streaming(given, Some(&call.host), FIRST_BYTES)?;
    }
    cursor.ok_or_else(|| Error::internal("the last statement went away"))
}

/// The values of a statement's parameters, as the types that it wants.
pub fn parameters_of(call: &Call, statement: &str, values: &[(String, String)]) -> Result<Parameters> {
    if values.is_empty() {
        return Ok(Parameters::default());
    }
    let shape = call.connection.prepare(statement)?.describe(Some(&call.host))?;
    let zone = call.connection.time_zone()?;
    let value = |name: &str, ty: Option<&LogicalType>| -> Result<Value> {
        let (_, text) = values.iter().find(|(known, _)| known == name).ok_or_else(|| {
            Error::invalid_argument(format!("no value was given for the parameter ${name}"))
                .with_hint(format!("param_{name}=..."))
        })?;
        let text = Value::Varchar(text.clone());
        match ty {
            Some(ty) => cast_value_in_zone(&text, ty, &zone),
            None => Ok(text),
        }
    };
    let mut parameters = Parameters::default();
    for (index, parameter) in shape.parameters.iter().enumerate() {
        match &parameter.name {
            Some(name) => parameters.named.push((name.clone(), value(name, parameter.ty.as_ref())?)),
            None => parameters.positional.push(value(&(index + 1).to_string(), parameter.ty.as_ref())?),
        }
    }
    if let Some((name, _)) = values.iter().find(|(name, _)| {
        let is_number =
            name.parse().is_ok_and(|number: usize| (1..=parameters.positional.len()).contains(&number));
        !is_number && parameters.named.iter().all(|(known, _)| known != name)
    }) {
        return Err(Error::invalid_argument(format!("the statement has no parameter ${name}")));
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_refused() {
        let read = pairs_of(Some("a=%C3%A9+x&b&c=%zz%2&=d")).unwrap_or_default();
        let read: Vec<(&str, &str)> = read.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(read, [("a", "é x"), ("b", ""), ("c", "%zz%2"), ("", "d")]);
        assert!(pairs_of(Some("a=%ff")).is_err() && pairs_of(Some("%c3=1")).is_err());
    }

    #[test]
    fn what_is_asked_for_is_understood() {
        let asked = |pairs: &[(&str, &str)]| {
            Asked::read(pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
        };
        let read = asked(&[("format", "csv"), ("param_1", "x"), ("numbers", "text")]).unwrap();
        assert_eq!(
            (read.format, read.numbers, read.values),
            (Format::Csv, Some(Numbers::Text), vec![("1".to_string(), "x".to_string())])
        );
        for wrong in [("format", "xml"), ("numbers", "x"), ("param_", "1"), ("fromat", "csv")] {
            assert!(asked(&[wrong]).is_err());
        }
    }
}

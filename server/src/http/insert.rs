//! `POST /insert/{table}`: the rows of a body, as CSV, JSON, JSON lines, Arrow or Parquet, into a table: all of them, or none.
//!
//! The body is a file of the server's own protocol, with a random name, as answers are ([`super::files`]), is read as the server's own work, and goes
//! into the table by one INSERT of the session's role, which needs no more than INSERT. Columns go by their names; those that the body has not get their defaults. What is text in the body becomes what the table's columns are and nothing that was guessed:
//! `007` stays as it is in a column of texts.

use super::Door;
use super::failure::{Failure, wrong};
use super::files::PROTOCOL;
use super::query::{body_of_request, pairs_of};
use super::sessions::{Lease, Who};
use crate::session::Call;
use axum::Extension;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use inlay::{Appender, ColumnSource, Error, ErrorKind, QueryResult, Result, sql};
use std::fmt::Write;
use std::io::Read;
use std::sync::Arc;

/// What the INSERT calls the rows of the body.
const BODY: &str = "rows of the body";

/// What rows are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Csv,
    Json,
    NdJson,
    Arrow,
    Parquet,
}

/// Names of formats, and the types of content that mean them.
const FORMS: &[(&str, &[&str], Form)] = &[
    ("csv", &["text/csv"], Form::Csv),
    ("json", &["application/json"], Form::Json),
    ("ndjson", &["application/x-ndjson", "application/jsonl", "application/ndjson"], Form::NdJson),
    ("arrow", &["application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream"], Form::Arrow),
    ("parquet", &["application/vnd.apache.parquet"], Form::Parquet),
];

#[derive(Debug, Default, PartialEq)]
struct Asked {
    form: Option<Form>,
    database: Option<String>,
    /// The columns of rows that have no names for them.
    columns: Vec<String>,
    has_header: Option<bool>,
}

impl Asked {
    fn read(pairs: Vec<(String, String)>) -> std::result::Result<Self, Failure> {
        let mut asked = Self::default();
        for (name, value) in pairs {
            match name.as_str() {
                "database" => asked.database = Some(value),
                "columns" => asked.columns = value.split(',').map(|name| name.trim().to_string()).collect(),
                "header" => {
                    asked.has_header = Some(match value.as_str() {
                        "true" => true,
                        "false" => false,
                        _ => return Err(wrong("header is true or false")),
                    });
                }
                "format" => {
                    let known: Vec<&str> = FORMS.iter().map(|(name, ..)| *name).collect();
                    let found = FORMS.iter().find(|(known, ..)| *known == value);
                    let (.., form) = found.ok_or_else(|| {
                        wrong(format!("there is no format \"{value}\" of rows: {} are", known.join(", ")))
                    })?;
                    asked.form = Some(*form);
                }
                _ => {
                    let known = "format, columns, header and database";
                    return Err(wrong(format!("there is nothing called \"{name}\" to ask for: {known} are")));
                }
            }
        }
        Ok(asked)
    }
}

fn form_of(headers: &HeaderMap) -> Option<Form> {
    let given = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let kind = given.split(';').next().unwrap_or("").trim();
    let is_it = |kinds: &[&str]| kinds.iter().any(|known| known.eq_ignore_ascii_case(kind));
    FORMS.iter().find(|(_, kinds, _)| is_it(kinds)).map(|(.., form)| *form)
}

/// The body as it was before it was made fewer bytes; no more than so many come out.
fn unpacked(headers: &HeaderMap, body: Bytes, most: usize) -> std::result::Result<Bytes, Failure> {
    let encoding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or("identity");
    let limit = most as u64 + 1;
    let mut out = Vec::new();
    let read = match encoding.trim().to_ascii_lowercase().as_str() {
        "identity" | "" => return Ok(body),
        "gzip" => flate2::read::MultiGzDecoder::new(&body[..]).take(limit).read_to_end(&mut out),
        "zstd" => zstd::stream::read::Decoder::with_buffer(&body[..])
            .and_then(|decoder| decoder.take(limit).read_to_end(&mut out)),
        other => {
            let message = format!("the content-encoding \"{other}\" is not read: gzip and zstd are");
            return Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "0A000", message));
        }
    };
    read.map_err(|error| wrong(format!("the body is not what its content-encoding says: {error}")))?;
    if out.len() > most {
        let message = format!("the body is longer than {most} bytes, the most that is taken");
        return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "54000", message));
    }
    Ok(Bytes::from(out))
}

/// See the module documentation.
pub async fn insert(
    State(door): State<Door>,
    Path(table): Path<String>,
    RawQuery(pairs): RawQuery,
    who: Extension<Who>,
    request: Request,
) -> std::result::Result<Response, Failure> {
    let asked = Asked::read(pairs_of(pairs.as_deref())?)?;
    let headers = request.headers().clone();
    let form = asked.form.or_else(|| form_of(&headers)).ok_or_else(|| {
        let message = "what the body is has to be said: format=csv, or a content-type such as text/csv";
        Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "22023", message)
    })?;
    let most = door.served.options.message_bytes_max;
    let body = unpacked(&headers, body_of_request(request, most).await?, most)?;
    let shown = format!("INSERT INTO {table}");
    let session = Lease::wanted(&door, &who, &headers, asked.database.as_deref(), &shown).await?;
    let given = door.served.answers().give(door.served.random()?, body);
    let path = given.path().to_string();
    let path_shown = path.clone();
    let changed = session.run(move |call| carry_out(call, &table, form, &asked, &path)).await;
    drop(given);
    // The statement is not the client's, so that places in it say nothing.
    let changed = changed.map_err(|error| Failure::of_body(&error, &path_shown))?;
    let text = format!("{{\"command\":\"INSERT\",\"changed\":{changed}}}\n");
    Ok(([(CONTENT_TYPE, "application/json")], text).into_response())
}

fn carry_out(call: &Call, table: &str, form: Form, asked: &Asked, path: &str) -> Result<u64> {
    let (target, rows) = (sql::table_path(table)?, sql::ident(BODY));
    let insert = match asked.columns.as_slice() {
        [] if form == Form::Csv && asked.has_header == Some(false) => {
            format!("INSERT INTO {target} FROM {rows}")
        }
        [] => format!("INSERT INTO {target} BY NAME FROM {rows}"),
        names => {
            let names: Vec<String> = names.iter().map(|name| sql::ident(name)).collect();
            format!("INSERT INTO {target} ({}) FROM {rows}", names.join(", "))
        }
    };
    let host = Some(&call.host);
    let mut appender = Appender::of_query(&call.connection, &format!("FROM {target}"), &insert, BODY, host)?;
    let source = source_of(call, form, asked, path, &appender)?;
    // The place of the body is the server's own: the role is asked for the INSERT alone.
    let body = call.connection.query_unasked(&format!("FROM {source}"), host)?;
    let appended = appender.append(Arc::new(rows_of(&body)?), host);
    appended.map_err(|error| located(call, error, asked, &source, &appender))?;
    Ok(appender.appended_rows())
}

/// An error of a text that is no value of its column, with the row and the column; any other as it is.
fn located(call: &Call, error: Error, asked: &Asked, source: &str, table: &Appender) -> Error {
    if !matches!(error.kind(), ErrorKind::InvalidCast | ErrorKind::OutOfRange) {
        return error;
    }
    let Ok(columns) = described(call, &format!("FROM {source}")) else { return error };
    let mut first: Option<(i128, String)> = None;
    for (at, (name, ty)) in columns.iter().enumerate() {
        let target = match (asked.columns.get(at), asked.has_header) {
            (Some(said), _) => said,
            (None, Some(false)) => table.names().get(at).unwrap_or(name),
            (None, _) => name,
        };
        let known = table.names().iter().position(|known| known.eq_ignore_ascii_case(target));
        let Some(known) = known.filter(|_| ty == "VARCHAR") else { continue };
        let query = format!(
            "SELECT min(place) FROM (SELECT row_number() OVER () AS place, {} AS told FROM {source}) WHERE told IS NOT NULL AND \
             TRY_CAST(told AS {}) IS NULL",
            sql::ident(name),
            table.types()[known]
        );
        let found = call.connection.query_unasked(&query, Some(&call.host));
        let Some(row) = found.and_then(|found| found.value(0, 0)).ok().and_then(|row| row.as_i128()) else {
            continue;
        };
        if first.as_ref().is_none_or(|(least, _)| row < *least) {
            first = Some((row, table.names()[known].clone()));
        }
    }
    match first {
        Some((row, column)) => {
            let (kind, message) = (error.kind(), error.message());
            Error::Told {
                kind,
                message,
                hint: Some(format!("row {row} of the body, column \"{column}\"")),
                detail: None,
            }
        }
        None => error,
    }
}

/// The rows of a result, for a statement that takes them.
fn rows_of(body: &QueryResult) -> Result<ColumnSource> {
    let column = |(index, name): (usize, &String)| Ok((name.clone(), body.column(index)?));
    ColumnSource::new(BODY, body.names().iter().enumerate().map(column).collect::<Result<_>>()?)
}

/// Names and types of the columns of a query of the server's own, which no role is asked for.
fn described(call: &Call, query: &str) -> Result<Vec<(String, String)>> {
    let shape = call.connection.describe_unasked(query, Some(&call.host))?;
    let columns = shape.columns.unwrap_or_default();
    Ok(columns.into_iter().map(|(name, ty)| (name, ty.to_string())).collect())
}

/// What reads the rows, with the types that the table's columns have.
fn source_of(call: &Call, form: Form, asked: &Asked, path: &str, table: &Appender) -> Result<String> {
    let place = sql::literal(path);
    Ok(match form {
        Form::Csv => {
            let header = asked.has_header.unwrap_or(asked.columns.is_empty());
            format!(
                "read_csv({place}, header = {header}, all_varchar = true, delim = ',', quote = '\"', escape = '\"', allow_quoted_nulls = false)"
            )
        }
        Form::Json | Form::NdJson => {
            let format = if form == Form::Json { "array" } else { "newline_delimited" };
            let guessed = format!("read_json({place}, format = '{format}', sample_size = -1)");
            let found = described(call, &format!("FROM {guessed}"))?;
            let mut columns = String::new();
            for (name, ty) in &found {
                // One that the table has not is found out, and named, by INSERT.
                let known = table.names().iter().position(|known| known.eq_ignore_ascii_case(name));
                let ty = known.map_or_else(|| ty.clone(), |known| table.types()[known].to_string());
                let comma = if columns.is_empty() { "" } else { ", " };
                // Writing to a text does not fail.
                let _ = write!(columns, "{comma}{}: {}", sql::literal(name), sql::literal(&ty));
            }
            format!("read_json({place}, format = '{format}', columns = {{{columns}}})")
        }
        Form::Arrow => format!("read_arrow({place})"),
        Form::Parquet => format!("read_parquet({place})"),
    })
}

/// Bodies that are read, as files of the server's protocol.
#[derive(Debug, Default)]
pub struct Bodies(parking_lot::Mutex<std::collections::HashMap<String, Bytes>>);

impl Bodies {
    pub fn get(&self, path: &str) -> Option<Bytes> {
        self.0.lock().get(path).cloned()
    }

    /// Has a body at a place that nobody can guess, until that is dropped.
    pub fn put(self: &Arc<Self>, random: [u8; 16], body: Bytes) -> Given {
        let mut path = format!("{PROTOCOL}://");
        random.iter().for_each(|byte| {
            // Writing to a text does not fail.
            let _ = write!(path, "{byte:02x}");
        });
        self.0.lock().insert(path.clone(), body);
        Given { bodies: Arc::clone(self), path }
    }
}

/// The place of a body.
pub struct Given {
    bodies: Arc<Bodies>,
    path: String,
}

impl Given {
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        self.bodies.0.lock().remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rows_are_is_said() {
        let asked = |pairs: &[(&str, &str)]| {
            Asked::read(pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
        };
        let read = asked(&[("format", "ndjson"), ("columns", "a, b"), ("header", "false")]).unwrap();
        assert_eq!((read.form, read.columns.len(), read.has_header), (Some(Form::NdJson), 2, Some(false)));
        for wrong in [("format", "xml"), ("header", "x"), ("fromat", "csv")] {
            assert!(asked(&[wrong]).is_err());
        }
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, "text/csv; charset=utf-8".parse().unwrap());
        assert_eq!(form_of(&headers), Some(Form::Csv));
    }

    #[test]
    fn bodies_do_not_grow_beyond_the_limit() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, "zstd".parse().unwrap());
        let packed = Bytes::from(zstd::encode_all(&vec![b'x'; 100_000][..], 3).unwrap());
        assert_eq!(unpacked(&headers, packed.clone(), 100_000).unwrap().len(), 100_000);
        assert!(unpacked(&headers, packed, 99_999).is_err());
        assert!(unpacked(&headers, Bytes::from_static(b"no"), 10).is_err());
    }
}

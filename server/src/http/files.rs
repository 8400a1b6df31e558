//! Answers as files, Arrow's and Parquet, written by the engine's own COPY to a place that is the body of the answer.
//!
//! The place is a path of a protocol that the server has registered (`inlay-answer://...`), whose name is random and good once: no statement of
//! anybody else finds it. The engine writes a temporary file and hands it over when it is whole, so that what fails has a status of its own; from
//! there it goes through a channel of two pieces, in which the engine waits for the client.

use super::Door;
use super::failure::Failure;
use super::insert::{Bodies, Given};
use super::query::{Format, parameters_of};
use super::sessions::Lease;
use crate::metrics::count;
use crate::session::{Call, PIECE_BYTES};
use crate::wire::STALL_MAX;
use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use inlay::{CommandClass, Error, HostFiles, Result, sql};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt::Write;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

/// What paths of answers begin with.
pub const PROTOCOL: &str = "inlay-answer";
/// Pieces that may wait for a client.
const PIECES_MAX: usize = 2;

/// Answers that are waited for, by the names of their places; and bodies that are read.
#[derive(Debug, Default)]
pub struct Answers(Mutex<HashMap<String, Waiting>>, Arc<Bodies>);

impl Answers {
    /// Has a body at a place of its own, for as long as that lives.
    pub fn give(&self, random: [u8; 16], body: Bytes) -> Given {
        self.1.put(random, body)
    }
}

/// Who waits for an answer, and the place for statements that computes it.
#[derive(Debug)]
struct Waiting {
    sender: Sender<Bytes>,
    place: OwnedSemaphorePermit,
}

fn not_there(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no answer {path}"))
}

impl HostFiles for Answers {
    fn about(&self, path: &str) -> io::Result<(u64, Option<SystemTime>)> {
        self.1.get(path).map(|body| (body.len() as u64, None)).ok_or_else(|| not_there(path))
    }

    fn read(&self, path: &str, start: u64, len: usize) -> io::Result<Vec<u8>> {
        let body = self.1.get(path).ok_or_else(|| not_there(path))?;
        let start = usize::try_from(start).unwrap_or(usize::MAX).min(body.len());
        Ok(body[start..body.len().min(start.saturating_add(len))].to_vec())
    }

    fn list(&self, pattern: &str) -> io::Result<Vec<String>> {
        Ok(self.1.get(pattern).map(|_| pattern.to_string()).into_iter().collect())
    }

    fn write(&self, path: &str, content: &mut dyn Read) -> io::Result<()> {
        let Waiting { sender, place } = self.0.lock().remove(path).ok_or_else(|| not_there(path))?;
        // All is computed: whoever is slow to take it holds nobody up.
        drop(place);
        let runtime = tokio::runtime::Handle::current();
        loop {
            let mut piece = Vec::new();
            content.take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
            if piece.is_empty() {
                return Ok(());
            }
            let sent = async { tokio::time::timeout(STALL_MAX, sender.send(Bytes::from(piece))).await };
            let sent = runtime.block_on(sent).map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
            sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
    }
}

/// The place of an answer that is waited for; forgotten where nobody waits any more.
struct Place {
    answers: Arc<Answers>,
    path: String,
    session: Arc<Lease>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.answers.0.lock().remove(&self.path);
        self.session.interrupt();
    }
}

/// Carries out a query, whose rows are the body.
pub async fn answer(
    door: &Door,
    session: Lease,
    text: String,
    values: Vec<(String, String)>,
    format: Format,
    only_reads: bool,
) -> std::result::Result<Response, Failure> {
    let random: [u8; 16] = door.served.random()?;
    let mut path = format!("{PROTOCOL}://");
    random.iter().for_each(|byte| {
        // Writing to a text does not fail.
        let _ = write!(path, "{byte:02x}");
    });
    let (sender, mut receiver) = channel(PIECES_MAX);
    let answers = Arc::clone(door.served.answers());
    let place = door.served.statement_place().await?;
    answers.0.lock().insert(path.clone(), Waiting { sender, place });
    let session = Arc::new(session);
    let place = Place { answers, path: path.clone(), session: Arc::clone(&session) };
    let waited = Arc::clone(&place.answers);
    let work: JoinHandle<Result<()>> = tokio::spawn(async move {
        let own = path.clone();
        let done = session.run_apart(move |call| copy(call, &text, &values, format, &path, only_reads)).await;
        // What failed before it wrote left the place, in which nobody is to wait.
        waited.0.lock().remove(&own);
        done
    });
    let Some(first) = receiver.recv().await else {
        return Err(match ended(work).await {
            Err(error) => error.into(),
            Ok(()) => Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "XX000", "an answer had no bytes"),
        });
    };
    let content_type = match format {
        Format::Arrow => "application/vnd.apache.arrow.file",
        Format::Parquet => "application/vnd.apache.parquet",
        Format::Json | Format::NdJson | Format::Csv | Format::Markdown => "application/octet-stream",
    };
    let body = Body::from_stream(stream::unfold((Some((receiver, work)), Some(first), place), next));
    let response = Response::builder()
        .header("content-type", content_type)
        .header("x-content-type-options", "nosniff")
        .header("cache-control", "no-store")
        .body(body);
    response.map_err(|error| Error::internal(format!("an answer has no head: {error}")).into())
}

type State = (Option<(Receiver<Bytes>, JoinHandle<Result<()>>)>, Option<Bytes>, Place);

/// The next piece. What went wrong at last ends the body without its last chunk.
async fn next((work, first, place): State) -> Option<(Result<Bytes>, State)> {
    let (mut receiver, work) = work?;
    let piece = match first {
        Some(first) => Some(first),
        None => receiver.recv().await,
    };
    match piece {
        Some(piece) => {
            count(&place.session.served().metrics.sent_bytes, piece.len() as u64);
            Some((Ok(piece), (Some((receiver, work)), None, place)))
        }
        None => match ended(work).await {
            Ok(()) => None,
            Err(error) => Some((Err(error), (None, None, place))),
        },
    }
}

async fn ended(work: JoinHandle<Result<()>>) -> Result<()> {
    work.await.unwrap_or_else(|error| Err(Error::internal(format!("a statement's task ended: {error}"))))
}

/// Writes the rows of a query to the place.
fn copy(
    call: &Call,
    text: &str,
    values: &[(String, String)],
    format: Format,
    path: &str,
    only_reads: bool,
) -> Result<()> {
    let statements = sql::statements(text)?;
    let [statement] = &statements[..] else {
        return Err(Error::invalid_argument("answers as Arrow and Parquet are those of one query"));
    };
    let class = statement.command.class();
    if class != CommandClass::Query {
        let message = format!("{} gives no rows as Arrow or Parquet", statement.command.tag());
        return Err(Error::invalid_argument(message).with_hint("format=json does"));
    }
    // Errors are those of the query itself, at its own places.
    let parameters = parameters_of(call, &statement.sql, values)?;
    if values.is_empty() {
        call.connection.prepare(&statement.sql)?.describe(Some(&call.host))?;
    }
    let kind = if format == Format::Arrow { "arrow" } else { "parquet" };
    let copy = format!("{COPY}{}) TO {} (FORMAT {kind})", statement.sql, sql::literal(path));
    if only_reads {
        call.connection.execute("BEGIN TRANSACTION READ ONLY")?;
    }
    let copied = call.connection.execute_one(&copy, &parameters, Some(&call.host));
    copied.map(drop).map_err(of_the_query)
}

/// What stands in front of the query.
const COPY: &str = "COPY (";

/// An error at its place in the query.
fn of_the_query(error: Error) -> Error {
    match error {
        Error::At { error, mut place } if place.of.is_empty() => {
            let before = COPY.len() as u32;
            place.offset = place.offset.map(|offset| offset.saturating_sub(before).max(1));
            if place.line == 1 {
                place.column = place.column.saturating_sub(before).max(1);
                place.text = place.text.chars().skip(COPY.len()).collect();
            }
            Error::At { error, place }
        }
        other => other,
    }
}

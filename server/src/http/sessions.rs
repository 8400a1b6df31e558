//! Sessions over several requests, and what runs: for the page, and for whoever wants settings, transactions and temporary tables to last.
//!
//! `POST /session` opens one and gives its name, which is a secret of 128 bits; requests with the header `inlay-session` run in it, one after the
//! other. It ends by `DELETE /session/NAME`, or when nobody used it for half an hour. A statement may be given a name (`inlay-statement`), by which
//! `GET /statements` lists it and `DELETE /statements/ID` ends it. Nobody sees or reaches what is another user's.

use super::Door;
use super::failure::Failure;
use crate::json;
use crate::served::Served;
use crate::session::Session;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use inlay::Error;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// The header that names a session ...
pub const SESSION: &str = "inlay-session";
/// ... and the one that names a statement.
pub const STATEMENT: &str = "inlay-statement";
/// How long nobody may use a session.
const IDLE_MAX: Duration = Duration::from_secs(30 * 60);
/// Between two looks at a session that nobody uses.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Bytes of a name that a client gives a statement.
const NAME_MAX: usize = 128;
/// Characters of a statement that a list shows.
const SHOWN_MAX: usize = 10_000;

/// See the module documentation.
#[derive(Default)]
pub struct Sessions {
    named: Mutex<HashMap<String, Named>>,
    /// By user and name.
    running: Mutex<HashMap<(Option<String>, String), Running>>,
}

impl Sessions {
    /// Ends those that nobody uses at the moment; the others end with what runs in them.
    pub fn clear(&self) {
        let all = std::mem::take(&mut *self.named.lock());
        drop(all);
    }
}

/// A session that has a name.
struct Named {
    user: Option<String>,
    session: Arc<Turn<Session>>,
    number: u32,
    secret: [u8; 4],
    used: Instant,
}

/// A statement that has a name.
struct Running {
    sql: String,
    began: Instant,
    number: u32,
    secret: [u8; 4],
}

/// Who asks: the name of a login, where logins are asked for.
#[derive(Clone, Debug, Default)]
pub struct Who(pub Option<String>);

/// The session that a request runs in, and the place of its statement in the list of those that run.
pub struct Lease {
    held: Held,
    _listed: Option<Listed>,
}

enum Held {
    /// It ends with the request.
    Own(Session),
    /// A turn in one that goes on.
    Named(OwnedMutexGuard<Session>),
}

impl Deref for Lease {
    type Target = Session;

    fn deref(&self) -> &Session {
        match &self.held {
            Held::Own(session) => session,
            Held::Named(session) => session,
        }
    }
}

impl Lease {
    /// A session of the request's own, and a statement without a name.
    pub async fn own(door: &Door, who: &Who, database: Option<&str>) -> Result<Self, Failure> {
        Ok(Self { held: Held::Own(open(door, who, database).await?), _listed: None })
    }

    /// What the headers of a request want: the session that they name, or a new one in `database`; and the statement's name.
    pub async fn wanted(
        door: &Door,
        who: &Who,
        headers: &HeaderMap,
        database: Option<&str>,
        sql: &str,
    ) -> Result<Self, Failure> {
        let held = held(door, who, headers, database).await?;
        let session = match &held {
            Held::Own(session) => session,
            Held::Named(session) => session,
        };
        let listed = list(door, who, headers, session, sql)?;
        Ok(Self { held, _listed: listed })
    }

    /// Whether its settings and transactions go on behind the request.
    pub fn lasts(&self) -> bool {
        matches!(self.held, Held::Named(_))
    }
}

/// A statement's place in the list of those that run, for as long as it lives.
struct Listed {
    served: Arc<Served>,
    key: (Option<String>, String),
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.served.sessions_of_http().running.lock().remove(&self.key);
    }
}

fn text_of(headers: &HeaderMap, name: &str) -> Result<Option<String>, Failure> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| !text.is_empty() && text.len() <= NAME_MAX);
    let wrong = || {
        Failure::new(
            StatusCode::BAD_REQUEST,
            "22023",
            format!("{name} is 1 to {NAME_MAX} characters of ASCII"),
        )
    };
    text.map(|text| Some(text.to_string())).ok_or_else(wrong)
}

fn gone() -> Failure {
    Failure::new(StatusCode::GONE, "08003", "this session is gone; POST /session opens another one")
}

async fn held(door: &Door, who: &Who, headers: &HeaderMap, database: Option<&str>) -> Result<Held, Failure> {
    let Some(name) = text_of(headers, SESSION)? else {
        return Ok(Held::Own(open(door, who, database).await?));
    };
    if database.is_some() {
        let message = "a session is in a database already: USE changes it";
        return Err(Failure::new(StatusCode::BAD_REQUEST, "22023", message));
    }
    let session = {
        let mut named = door.served.sessions_of_http().named.lock();
        let found = named.get_mut(&name).filter(|found| found.user == who.0).ok_or_else(gone)?;
        found.used = Instant::now();
        Arc::clone(&found.session)
    };
    let turn = Arc::clone(&session).lock_owned().await;
    // It may have been ended while this waited for its turn.
    let named = door.served.sessions_of_http().named.lock();
    let is_there = named.get(&name).is_some_and(|found| Arc::ptr_eq(&found.session, &session));
    if is_there { Ok(Held::Named(turn)) } else { Err(gone()) }
}

async fn open(door: &Door, who: &Who, database: Option<&str>) -> Result<Session, Failure> {
    door.served.session(database, who.0.as_deref()).await.map_err(|error| match error {
        Error::InvalidArgument { .. } => Failure::new(StatusCode::NOT_FOUND, "3D000", error.message()),
        _ => error.into(),
    })
}

/// Lists a statement under the name that its request gives it.
fn list(
    door: &Door,
    who: &Who,
    headers: &HeaderMap,
    session: &Session,
    sql: &str,
) -> Result<Option<Listed>, Failure> {
    let Some(name) = text_of(headers, STATEMENT)? else { return Ok(None) };
    let sql = sql.chars().take(SHOWN_MAX).collect();
    let running = Running { sql, began: Instant::now(), number: session.number, secret: session.secret };
    let key = (who.0.clone(), name);
    let mut known = door.served.sessions_of_http().running.lock();
    if known.contains_key(&key) {
        let message = "a statement of this inlay-statement runs already";
        return Err(Failure::new(StatusCode::CONFLICT, "42P05", message));
    }
    known.insert(key.clone(), running);
    Ok(Some(Listed { served: Arc::clone(&door.served), key }))
}

/// `POST /session`.
pub async fn begin(State(door): State<Door>, who: axum::Extension<Who>) -> Result<Response, Failure> {
    let session = open(&door, &who, None).await?;
    let random: [u8; 16] = door.served.random()?;
    let mut name = String::new();
    random.iter().for_each(|byte| {
        // Writing to a text does not fail.
        let _ = write!(name, "{byte:02x}");
    });
    let (number, secret) = (session.number, session.secret);
    let named =
        Named { user: who.0.0, session: Arc::new(Turn::new(session)), number, secret, used: Instant::now() };
    door.served.sessions_of_http().named.lock().insert(name.clone(), named);
    tokio::spawn(forget_idle(Arc::clone(&door.served), name.clone()));
    Ok(json_of(format!("{{\"session\":\"{name}\"}}\n")))
}

/// Ends a session that nobody uses.
async fn forget_idle(served: Arc<Served>, name: String) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let mut named = served.sessions_of_http().named.lock();
        let Some(found) = named.get(&name) else { return };
        // Somebody who waits for its turn, or has it, has a copy.
        if found.used.elapsed() >= IDLE_MAX && Arc::strong_count(&found.session) == 1 {
            named.remove(&name);
            return;
        }
    }
}

/// `DELETE /session/NAME`: what runs in it is ended, too.
pub async fn end(
    State(door): State<Door>,
    who: axum::Extension<Who>,
    Path(name): Path<String>,
) -> Result<StatusCode, Failure> {
    let found = {
        let mut named = door.served.sessions_of_http().named.lock();
        match named.get(&name) {
            Some(found) if found.user == who.0.0 => named.remove(&name),
            Some(_) | None => None,
        }
    };
    let found = found.ok_or_else(gone)?;
    door.served.cancel(found.number, found.secret);
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /statements`: those that have names, longest first.
pub async fn statements(State(door): State<Door>, who: axum::Extension<Who>) -> Response {
    let running = door.served.sessions_of_http().running.lock();
    let mut own: Vec<_> = running.iter().filter(|((user, _), _)| *user == who.0.0).collect();
    own.sort_by_key(|(_, running)| running.began);
    let mut out = "{\"statements\":[".to_string();
    for (index, ((user, id), running)) in own.into_iter().enumerate() {
        out.push_str(if index > 0 { ",\n{\"id\":" } else { "\n{\"id\":" });
        json::write_text(&mut out, id);
        out.push_str(",\"user\":");
        json::write_text(&mut out, user.as_deref().unwrap_or("inlay"));
        out.push_str(",\"sql\":");
        json::write_text(&mut out, &running.sql);
        let _ = write!(out, ",\"seconds\":{:.3},\"progress\":", running.began.elapsed().as_secs_f64());
        match door.served.progress(running.number) {
            Some(fraction) => drop(write!(out, "{:.1}", fraction * 100.0)),
            None => out.push_str("null"),
        }
        out.push('}');
    }
    out.push_str("]}\n");
    json_of(out)
}

/// `DELETE /statements/ID`.
pub async fn cancel(
    State(door): State<Door>,
    who: axum::Extension<Who>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    let key = (who.0.0, id);
    let found = {
        let running = door.served.sessions_of_http().running.lock();
        running.get(&key).map(|running| (running.number, running.secret))
    };
    match found {
        Some((number, secret)) => {
            door.served.cancel(number, secret);
            Ok(StatusCode::NO_CONTENT)
        }
        None => Err(Failure::new(StatusCode::NOT_FOUND, "02000", "no statement of this name runs")),
    }
}

fn json_of(text: String) -> Response {
    let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (headers, text).into_response()
}

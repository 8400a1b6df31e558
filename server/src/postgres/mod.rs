//! PostgreSQL's protocol, version 3.0: the door for psql, drivers and whatever speaks to PostgreSQL.
//!
//! - [`startup`]: encryption, login, settings to begin with. [`message`]: messages in and out, [`types`], [`encode`], [`decode`]: values.
//! - [`query`]: the simple protocol. [`extended`]: statements, portals. [`rows`]: answers in pieces. [`copy`]: COPY from and to the client.
//! - [`special`]: what PostgreSQL's clients say and the engine does not: cursors, SHOW of what it has no setting for, DISCARD; [`spelling`].
//!
//! A client is a task, which holds a [`Client`]. What the engine does for it is done by [`crate::session::Session::run`]; meanwhile the socket is
//! heard, so that a client that goes ends its statement. A transaction in which a statement failed takes nothing but its end, as PostgreSQL has it,
//! though the engine undid that statement alone: whoever does not look at errors must not commit half of his work.

mod copy;
mod decode;
mod encode;
mod extended;
mod message;
mod query;
mod rows;
mod scan;
mod special;
mod spelling;
mod startup;
mod types;
mod violated;

pub use startup::AnySocket;

use crate::listen::Visitor;
use crate::log;
use crate::metrics::count;
use crate::served::Phase;
use crate::session::{Call, Session};
use crate::wire::Wire;
use encode::Look;
use inlay::{CommandClass, Error, Result, Value};
use message::{Failure, Frontend, Severity, Violated, broken};
use std::collections::HashMap;
use std::io;
use std::time::Duration;
use tokio::sync::watch;

/// How long a client may take to log in.
const LOGIN_MAX: Duration = Duration::from_secs(30);

/// The version of PostgreSQL that clients are told: what the protocol and the catalog follow.
const SERVER_VERSION: &str = "15.0";

/// Settings that clients are told of, also when they change: as PostgreSQL writes them, and as the engine does.
const REPORTED: &[(&str, &str)] = &[
    ("application_name", "application_name"),
    ("client_encoding", "client_encoding"),
    ("DateStyle", "datestyle"),
    ("TimeZone", "timezone"),
];
/// Those that never change.
const FIXED: &[(&str, &str)] = &[
    ("server_version", SERVER_VERSION),
    ("server_encoding", "UTF8"),
    ("integer_datetimes", "on"),
    ("IntervalStyle", "postgres"),
    ("standard_conforming_strings", "on"),
    ("is_superuser", "off"),
    ("default_transaction_read_only", "off"),
    ("in_hot_standby", "off"),
];

/// A client that was let in.
struct Client {
    wire: Wire<startup::AnySocket>,
    session: Session,
    /// Whether a statement of the open transaction failed.
    has_failed: bool,
    /// Whether messages are left aside until the next Sync.
    skips: bool,
    statements: HashMap<String, extended::Prepared>,
    portals: HashMap<String, extended::Portal>,
    /// How many statements failed.
    failures: u64,
    /// What the last statement violated, if it failed for that.
    violated: Option<Violated>,
    reported: Vec<String>,
    phase: watch::Receiver<Phase>,
}

/// What is left of a client's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    On,
    Over,
}

/// Serves a client until it goes.
pub async fn serve(visitor: Visitor) {
    let (address, is_quiet) = (visitor.address, visitor.served.options.is_quiet);
    let Ok(Ok(Some(begun))) = tokio::time::timeout(LOGIN_MAX, startup::begin(visitor)).await else { return };
    if !is_quiet {
        log::event(
            "connected",
            &[
                ("door", &"postgres"),
                ("address", &address),
                ("user", &begun.user),
                ("session", &begun.session.number),
            ],
        );
    }
    let number = begun.session.number;
    // How a socket ends is nobody's business: the client is gone.
    let _ = Client::run(begun).await;
    if !is_quiet {
        log::event("disconnected", &[("door", &"postgres"), ("session", &number)]);
    }
}

impl Client {
    /// Greets a client, and does what it says until it goes.
    async fn run(begun: startup::Begun) -> io::Result<()> {
        let startup::Begun { wire, session, user, parameters } = begun;
        let phase = session.served().phase();
        let mut client = Self {
            wire,
            session,
            has_failed: false,
            skips: false,
            statements: HashMap::new(),
            portals: HashMap::new(),
            failures: 0,
            violated: None,
            reported: Vec::new(),
            phase,
        };
        client.greet(&user, parameters).await?;
        while client.step().await? == Flow::On {}
        client.wire.close().await;
        Ok(())
    }

    /// Takes the settings that a client begins with, and tells it what it has to know.
    async fn greet(&mut self, user: &str, parameters: Vec<(String, String)>) -> io::Result<()> {
        let settings = special::settings_of(parameters);
        let notices = self.work(move |call| Ok(special::apply(call, &settings))).await?;
        message::write_authentication(&mut self.wire.output, 0, &[]);
        for (name, value) in FIXED {
            message::write_parameter(&mut self.wire.output, name, value);
        }
        message::write_parameter(&mut self.wire.output, "session_authorization", user);
        self.report().await?;
        let (number, secret) = (self.session.number, self.session.secret);
        message::write(&mut self.wire.output, b'K', |out| {
            out.extend(number.to_be_bytes());
            out.extend(secret);
        });
        for notice in notices.unwrap_or_default() {
            message::write_notice(&mut self.wire.output, &notice);
        }
        self.ready();
        Ok(())
    }

    /// Does what a client says next.
    async fn step(&mut self) -> io::Result<Flow> {
        let Some((kind, body)) = self.next_message().await? else { return Ok(Flow::Over) };
        let message = match message::read(kind, &body) {
            Ok(message) => message,
            Err(error) => return Ok(self.end_with(&error)),
        };
        if self.skips && !matches!(message, Frontend::Sync | Frontend::Terminate) {
            return Ok(Flow::On);
        }
        match message {
            Frontend::Query(sql) => self.simple(spelling::respelled(sql).into_owned()).await?,
            Frontend::Terminate => return Ok(Flow::Over),
            Frontend::Flush => self.wire.flush().await?,
            Frontend::Sync => {
                self.skips = false;
                if !self.session.in_transaction() {
                    self.forget_portals();
                }
                self.ready();
            }
            Frontend::Parse { name, sql, types } => {
                let outcome = self.parse(name, &spelling::respelled(sql), types).await?;
                self.or_skip(outcome);
            }
            Frontend::Bind(bind) => {
                let outcome = self.bind(&bind).await?;
                self.or_skip(outcome);
            }
            Frontend::Describe(target, name) => {
                let outcome = self.describe(target, name).await?;
                self.or_skip(outcome);
            }
            Frontend::Execute { portal, rows_max } => {
                let outcome = self.execute(portal, rows_max).await?;
                self.or_skip(outcome);
            }
            Frontend::Close(target, name) => self.close(target, name),
            // What comes of a COPY that failed is left aside.
            Frontend::CopyData(_) | Frontend::CopyDone | Frontend::CopyFail(_) => {}
            Frontend::Password => return Ok(self.end_with(&broken("nobody asked for a password"))),
            Frontend::FunctionCall => {
                let error = Error::unsupported("calling a function by its number")
                    .with_hint("SELECT calls functions");
                self.fail(&error);
                self.ready();
            }
        }
        Ok(Flow::On)
    }

    /// The next message, whose size is one that its kind may have. None if the server ends, or the client does not keep to the protocol.
    async fn next_message(&mut self) -> io::Result<Option<(u8, bytes::BytesMut)>> {
        if self.wire.input.len() < 5 {
            self.wire.flush().await?;
            let is_idle = !self.session.in_transaction();
            let until = if is_idle { Phase::Finishing } else { Phase::Ending };
            tokio::select! {
                biased;
                needed = self.wire.need(5) => needed?,
                _ = self.phase.wait_for(|phase| *phase >= until) => {
                    let failure = Failure {
                        severity: Severity::Fatal,
                        code: "57P01",
                        message: "the server is shutting down",
                        detail: None,
                        hint: None,
                        position: None,
                        violated: None,
                    };
                    message::write_failure(&mut self.wire.output, &failure);
                    return Ok(None);
                }
            }
        }
        let (kind, len) = (self.wire.input[0], self.wire.peek_u32(1).unwrap_or_default() as usize);
        let most = message::size_max(kind, self.session.served().options.message_bytes_max);
        let wrong = match most {
            None => Some(broken(&format!("there is no message of the kind {kind}"))),
            Some(_) if len < 4 => Some(broken("a message is shorter than its length")),
            Some(most) if len > most => {
                let message =
                    format!("a message of {len} bytes is longer than {most}, the most that is taken");
                Some(Error::invalid_argument(message).with_hint("--max-message of inlay serve raises it"))
            }
            Some(_) => None,
        };
        if let Some(error) = wrong {
            self.end_with(&error);
            return Ok(None);
        }
        if self.wire.input.len() < 1 + len {
            self.wire.flush().await?;
            self.wire.need(1 + len).await?;
        }
        Ok(Some((kind, self.wire.take(1 + len).split_off(5))))
    }

    /// Does work of the session while the client is heard.
    async fn work<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Call) -> Result<T> + Send + 'static,
    ) -> io::Result<Result<T>> {
        let done = self.wire.attend(self.session.run(work)).await?;
        for notice in self.session.take_notices() {
            message::write_notice(&mut self.wire.output, &notice);
        }
        self.violated = match &done {
            Err(error) if violated::is_violation(error) => {
                let mut known = violated::named_in(&error.message());
                let unnamed = known.clone();
                // Of a key, the message has no name.
                let named = self.session.run_apart(move |call| Ok(violated::complete(call, unnamed)));
                if let Ok(complete) = self.wire.attend(named).await? {
                    known = complete;
                }
                Some(known)
            }
            Ok(_) | Err(_) => None,
        };
        Ok(done)
    }

    /// Tells of a failure, which the open transaction does not survive.
    fn fail(&mut self, error: &Error) {
        message::write_error(&mut self.wire.output, Severity::Error, error, self.violated.take().as_ref());
        self.has_failed = self.session.in_transaction();
        self.failures += 1;
    }

    /// As `fail`, in the extended protocol: nothing is done until the client says where it begins anew.
    fn or_skip(&mut self, outcome: Result<()>) {
        if let Err(error) = outcome {
            self.fail(&error);
            self.skips = true;
        }
    }

    /// Tells of a failure that ends the session.
    fn end_with(&mut self, error: &Error) -> Flow {
        let (message, hint) = (error.message(), error.hint());
        let failure = Failure {
            severity: Severity::Fatal,
            code: "08P01",
            message: &message,
            detail: None,
            hint: hint.as_deref(),
            position: None,
            violated: None,
        };
        message::write_failure(&mut self.wire.output, &failure);
        Flow::Over
    }

    /// Says that the next statement is waited for, and in what transaction.
    fn ready(&mut self) {
        let in_transaction = self.session.in_transaction();
        self.has_failed &= in_transaction;
        let state = match (in_transaction, self.has_failed) {
            (false, _) => b'I',
            (true, false) => b'T',
            (true, true) => b'E',
        };
        message::write(&mut self.wire.output, b'Z', |out| out.push(state));
    }

    /// Tells of settings that are others than the client was told.
    async fn report(&mut self) -> io::Result<()> {
        let read = |call: &Call| {
            let setting = |name: &str| match call.connection.get(name, Some(&call.host)) {
                Ok(Some(value)) => value.to_string(),
                Ok(None) | Err(_) => String::new(),
            };
            Ok(REPORTED.iter().map(|(_, name)| setting(name)).collect::<Vec<String>>())
        };
        let now = self.work(read).await?.unwrap_or_default();
        for (index, value) in
            now.iter().enumerate().filter(|(index, value)| self.reported.get(*index) != Some(*value))
        {
            message::write_parameter(&mut self.wire.output, REPORTED[index].0, value);
        }
        self.reported = now;
        Ok(())
    }

    /// Sends an answer, its next piece being made while one is sent. Gives what the client is told at the end, or the rest of it where it asked for so
    /// many rows only.
    async fn send(&mut self, rows: rows::Rows, rows_max: Option<u64>) -> io::Result<Result<Sent>> {
        let mut rows = rows;
        loop {
            let piece = self.work(move |call| Ok(rows.piece(call, rows_max))).await?;
            let piece = match piece {
                Ok(piece) => piece,
                Err(error) => return Ok(Err(error)),
            };
            // The piece before this one.
            self.wire.flush().await?;
            count(&self.session.served().metrics.sent_bytes, piece.bytes.len() as u64);
            if self.wire.output.is_empty() {
                self.wire.output = piece.bytes
            } else {
                self.wire.output.extend(piece.bytes)
            }
            rows = match (piece.failure, piece.rest) {
                (Some(error), _) => return Ok(Err(error)),
                (None, None) => return Ok(Ok(Sent::All(piece.tag, piece.made))),
                (None, Some(rest)) if rest.is_full(rows_max) => return Ok(Ok(Sent::Some(Box::new(rest)))),
                (None, Some(rest)) => rest,
            };
        }
    }
}

/// How far an answer was sent.
enum Sent {
    /// What was done, and how many rows were made.
    All(String, u64),
    Some(Box<rows::Rows>),
}

/// What of a session decides how values look.
fn look_of(call: &Call) -> Result<Look> {
    // Where there is no memory to ask, values look as they usually do: who lowers what others hold, or ends, has to get through.
    let float_digits = call.connection.get("extra_float_digits", Some(&call.host)).unwrap_or_default();
    let float_digits = float_digits.map_or(1, |value: Value| value.to_string().trim().parse().unwrap_or(1));
    Ok(Look { zone: call.connection.time_zone()?, float_digits })
}

/// Whether a statement may run in a transaction that failed: none but those that end it.
fn ends_failed(command: inlay::Command) -> bool {
    use inlay::Command;
    match command.class() {
        CommandClass::Transaction => {
            matches!(command, Command::Commit | Command::Rollback | Command::RollbackTo)
        }
        CommandClass::Query
        | CommandClass::Change
        | CommandClass::Definition
        | CommandClass::Session
        | CommandClass::Maintenance => false,
    }
}

/// What everything else is told there.
fn write_in_failed(out: &mut Vec<u8>) {
    let failure = Failure {
        severity: Severity::Error,
        code: "25P02",
        message: "current transaction is aborted, commands ignored until end of transaction block",
        detail: None,
        hint: None,
        position: None,
        violated: None,
    };
    message::write_failure(out, &failure);
}

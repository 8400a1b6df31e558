//! How a client of PostgreSQL's protocol begins: encryption, its name, its password, its database, its settings.
//!
//! Until a client is known it is believed nothing, given 30 seconds, and no message of its is longer than 10,000 bytes.

use super::message::{
    self, Failure, Reader, SMALL_MAX, Severity, broken, put_text, write_authentication, write_failure,
};
use crate::listen::{Address, Visitor};
use crate::log;
use crate::metrics::count;
use crate::served::Served;
use crate::session::Session;
use crate::users::Scram;
use crate::wire::{Socket, Wire};
use inlay::{Error, Result};
use std::io;
use std::sync::Arc;

const PROTOCOL_3: u32 = 3;
const CANCEL: u32 = 80_877_102;
const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;
/// How often a client may ask for encryption, of either kind.
const ASKS_MAX: usize = 4;
/// Settings that a client may begin with.
const PARAMETERS_MAX: usize = 100;

/// A socket of either kind.
pub type AnySocket = Box<dyn Socket>;

/// A client that was let in.
pub struct Begun {
    pub wire: Wire<AnySocket>,
    pub session: Session,
    pub user: String,
    /// Settings that it wants.
    pub parameters: Vec<(String, String)>,
}

/// What is wrong with a client that is not let in: a code of PostgreSQL's, and what it is told.
struct Refusal {
    code: &'static str,
    message: String,
    hint: Option<String>,
}

impl Refusal {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    fn of(code: &'static str, error: &Error) -> Self {
        Self { code, message: error.message(), hint: error.hint().map(|hint| hint.into_owned()) }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::of("08P01", &error)
    }
}

/// Lets a client in; `None` if it is gone, or wanted nothing but to end a statement of another one.
pub async fn begin(visitor: Visitor) -> io::Result<Option<Begun>> {
    let Visitor { socket, address, served, tls } = visitor;
    let mut wire: Wire<AnySocket> = Wire::new(Box::new(socket));
    let mut is_encrypted = false;
    for _ in 0..ASKS_MAX {
        wire.flush().await?;
        wire.need(8).await?;
        let (len, code) =
            (wire.peek_u32(0).unwrap_or_default() as usize, wire.peek_u32(4).unwrap_or_default());
        if !(8..=SMALL_MAX).contains(&len) {
            return Ok(None);
        }
        match code {
            SSL | GSS => {
                drop(wire.take(8));
                let tls = tls.as_ref().filter(|_| code == SSL && !is_encrypted);
                wire.output.push(if tls.is_some() { b'S' } else { b'N' });
                wire.flush().await?;
                if let Some(tls) = tls {
                    // Nothing that came in the clear is taken for what comes encrypted.
                    wire = Wire::new(Box::new(tls.accept(wire.into_socket()?).await?));
                    is_encrypted = true;
                }
            }
            CANCEL => {
                wire.need(len.min(SMALL_MAX)).await?;
                cancel(&served, &wire.take(len)[8..]);
                return Ok(None);
            }
            _ => {
                wire.need(len).await?;
                let body = wire.take(len).split_off(4);
                let mut visit = Visit { wire, served, address, is_encrypted };
                return match visit.enter(&body).await? {
                    Ok((session, user, parameters)) => {
                        visit.wire.set_farewell(message::is_farewell);
                        Ok(Some(Begun { wire: visit.wire, session, user, parameters }))
                    }
                    Err(refusal) => {
                        visit.refuse(&refusal).await;
                        Ok(None)
                    }
                };
            }
        }
    }
    Ok(None)
}

fn cancel(served: &Served, body: &[u8]) {
    if let Some((number, secret)) = body.split_first_chunk::<4>()
        && let Ok(secret) = <[u8; 4]>::try_from(secret)
    {
        served.cancel(u32::from_be_bytes(*number), secret);
    }
}

struct Visit {
    wire: Wire<AnySocket>,
    served: Arc<Served>,
    address: Address,
    is_encrypted: bool,
}

type Entered = std::result::Result<(Session, String, Vec<(String, String)>), Refusal>;

impl Visit {
    async fn refuse(mut self, refusal: &Refusal) {
        if !self.served.options.is_quiet {
            log::event(
                "refused",
                &[
                    ("door", &"postgres"),
                    ("address", &self.address),
                    ("code", &refusal.code),
                    ("message", &refusal.message),
                ],
            );
        }
        let failure = Failure {
            severity: Severity::Fatal,
            code: refusal.code,
            message: &refusal.message,
            detail: None,
            hint: refusal.hint.as_deref(),
            position: None,
            violated: None,
        };
        write_failure(&mut self.wire.output, &failure);
        self.wire.close().await;
    }

    async fn enter(&mut self, body: &[u8]) -> io::Result<Entered> {
        let (minor, parameters) = match parameters_of(body) {
            Ok(read) => read,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let given =
            |name: &str| parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let is_private = self.is_encrypted || self.address.is_private();
        if !is_private && !self.served.options.listen.is_loopback() {
            return Ok(Err(Refusal::new(
                "28000",
                "this server takes encrypted connections only: sslmode=require",
            )));
        }
        if given("replication").is_some_and(|value| !matches!(value.as_str(), "false" | "off" | "no" | "0")) {
            return Ok(Err(Refusal::new("0A000", "replication is not available")));
        }
        let Some(user) = given("user").filter(|user| !user.is_empty()) else {
            return Ok(Err(Refusal::new("28000", "no user name was given")));
        };
        let extensions: Vec<&str> = parameters
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| name.starts_with("_pq_."))
            .collect();
        if minor > 0 || !extensions.is_empty() {
            message::write(&mut self.wire.output, b'v', |out| {
                out.extend(0i32.to_be_bytes());
                out.extend((extensions.len() as i32).to_be_bytes());
                extensions.iter().for_each(|name| put_text(out, name));
            });
        }
        if self.served.users.asks() && !self.address.is_owner() {
            tokio::time::sleep(self.served.users.tries(self.address.ip())).await;
            if self.is_proven(&user).await? {
                self.served.users.succeeded(self.address.ip());
            } else {
                count(&self.served.metrics.failed_logins, 1);
                return Ok(Err(Refusal::new(
                    "28P01",
                    format!("password authentication failed for user \"{user}\""),
                )));
            }
        }
        let database = given("database").filter(|name| !name.is_empty()).unwrap_or_else(|| user.clone());
        if !self.served.names().contains(&database) {
            let mut refusal = Refusal::new("3D000", format!("database \"{database}\" does not exist"));
            refusal.hint = Some(format!("there is {}", self.served.names().join(", ")));
            return Ok(Err(refusal));
        }
        match self.served.session(Some(&database), Some(&user)).await {
            Ok(session) => Ok(Ok((session, user, parameters))),
            Err(error @ Error::Hinted { .. }) => Ok(Err(Refusal::of("53300", &error))),
            Err(error) => Ok(Err(Refusal::of(error.sqlstate(), &error))),
        }
    }

    /// Whether a client knows the password of a name.
    async fn is_proven(&mut self, user: &str) -> io::Result<bool> {
        write_authentication(&mut self.wire.output, 10, b"SCRAM-SHA-256\0\0");
        let first = self.password_message().await?;
        let mut reader = Reader(&first);
        let Ok(initial) = initial_response(&mut reader) else { return Ok(false) };
        let Ok(random) = self.served.random() else { return Ok(false) };
        let Some((scram, answer)) = Scram::begin(&self.served.users, user, initial, random) else {
            return Ok(false);
        };
        write_authentication(&mut self.wire.output, 11, answer.as_bytes());
        let last = self.password_message().await?;
        let Some(proof) = std::str::from_utf8(&last).ok().and_then(|last| scram.end(last)) else {
            return Ok(false);
        };
        write_authentication(&mut self.wire.output, 12, proof.as_bytes());
        Ok(true)
    }

    /// The body of an answer to a question for a password; nothing if it is something else.
    async fn password_message(&mut self) -> io::Result<Vec<u8>> {
        self.wire.flush().await?;
        self.wire.need(5).await?;
        let (kind, len) = (self.wire.input[0], self.wire.peek_u32(1).unwrap_or_default() as usize);
        if kind != b'p' || !(4..=SMALL_MAX).contains(&len) {
            return Ok(Vec::new());
        }
        self.wire.need(1 + len).await?;
        Ok(self.wire.take(1 + len)[5..].to_vec())
    }
}

fn initial_response<'a>(reader: &mut Reader<'a>) -> Result<&'a str> {
    if reader.text()? != "SCRAM-SHA-256" {
        return Err(broken("another way to log in was chosen than those offered"));
    }
    let len = usize::try_from(reader.i32()?).map_err(|_| broken("an answer has no length"))?;
    std::str::from_utf8(reader.bytes(len)?).map_err(|_| broken("an answer is not UTF-8"))
}

/// Version and settings of a client's first message.
fn parameters_of(body: &[u8]) -> std::result::Result<(u32, Vec<(String, String)>), Refusal> {
    let mut reader = Reader(body);
    let version = reader.i32()? as u32;
    let (major, minor) = (version >> 16, version & 0xffff);
    if major != PROTOCOL_3 {
        return Err(Refusal::new(
            "0A000",
            format!("unsupported frontend protocol {major}.{minor}: server supports 3.0"),
        ));
    }
    let mut parameters = Vec::new();
    loop {
        let name = reader.text()?;
        if name.is_empty() {
            return Ok((minor, parameters));
        }
        if parameters.len() == PARAMETERS_MAX {
            return Err(Refusal::from(broken("too many settings are given")));
        }
        parameters.push((name.to_string(), reader.text()?.to_string()));
    }
}

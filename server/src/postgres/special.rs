//! What clients of PostgreSQL say and the engine does not know: cursors of SQL, COPY from and to the client, DISCARD, SHOW of settings that are
//! none here; and the settings that a client begins with.

use super::copy::Copy;
use super::encode::Format;
use super::extended::{Portal, Prepared};
use super::rows::fields_of;
use super::scan::{Word, Words};
use super::types::{oid, wire_type};
use super::{Client, FIXED, SERVER_VERSION, Sent, message};
use crate::session::Call;
use inlay::types::LogicalType;
use inlay::{Error, Parameters, Result, Value, sql};
use std::io;

/// A statement that is carried out here.
#[derive(Clone, Debug)]
pub enum Special {
    Copy(Copy),
    /// A cursor for a query; whether it outlives the transaction.
    Declare {
        name: String,
        query: String,
        holds: bool,
    },
    /// So many rows of a cursor, or all; whether they are sent.
    Fetch {
        name: String,
        rows: Option<u64>,
        sends: bool,
    },
    /// A cursor, or all.
    CloseCursor(Option<String>),
    /// Everything of the session is as at its start.
    Discard,
    /// A prepared statement of the protocol or of SQL, or all.
    Deallocate(Option<String>),
    /// A setting that has one value.
    Show(&'static str, &'static str),
    /// The version, as tools take it apart to know what they may ask.
    Version,
    /// `SELECT set_config('name', 'value', false)`: a setting, whose value is the answer.
    SetConfig {
        name: String,
        value: String,
    },
    /// Nothing is done, as there is nothing that it could be about.
    Nothing(&'static str),
}

/// Settings that SHOW is asked for and the engine has not.
const SHOWN: &[(&str, &str)] = &[
    ("transaction_deferrable", "off"),
    ("server_version_num", "150000"),
    ("max_identifier_length", "63"),
    ("lc_collate", "C"),
    ("lc_ctype", "C"),
    ("ssl", "off"),
    ("session_authorization", "inlay"),
    ("is_superuser", "off"),
];

impl Special {
    /// The statement of a text, if it is one of these and the only one.
    pub fn of(text: &str) -> Result<Option<Self>> {
        let mut words = Words::new(text);
        let Ok(Some(Word::Plain(first))) = words.next() else { return Ok(None) };
        let special = match first.as_str() {
            "copy" => Copy::of(words.clone())?.map(Self::Copy),
            "declare" => Some(declare(&mut words)?),
            "fetch" => Some(fetch(&mut words, true)?),
            "move" => Some(fetch(&mut words, false)?),
            "close" => {
                let name = words.name()?;
                words.end()?;
                Some(Self::CloseCursor((name != "all").then_some(name)))
            }
            "discard" => {
                let what = words.name()?;
                words.end()?;
                Some(if what == "all" { Self::Discard } else { Self::Nothing("DISCARD") })
            }
            "deallocate" => {
                words.takes("prepare");
                let name = words.name()?;
                words.end()?;
                Some(Self::Deallocate((name != "all").then_some(name)))
            }
            "unlisten" => Some(Self::Nothing("UNLISTEN")),
            "listen" | "notify" => {
                return Err(Error::Unsupported {
                    feature: first.to_uppercase(),
                    alternative: Some("a table holds messages, and its readers ask for new rows".into()),
                });
            }
            "show" => shown(&mut words),
            "select" => set_config(words.clone()).or_else(|| is_version(&mut words).then_some(Self::Version)),
            _ => None,
        };
        Ok(special)
    }

    /// The columns of what it gives; `None` if it gives no rows.
    pub fn fields(
        &self,
        portals: &std::collections::HashMap<String, Portal>,
        formats: &[Format],
    ) -> Option<Vec<message::Field>> {
        match self {
            Self::Show(name, _) => Some(fields_of(&[name.to_string()], &[LogicalType::Varchar], formats)),
            Self::Version => Some(fields_of(&["version".to_string()], &[LogicalType::Varchar], formats)),
            Self::SetConfig { .. } => {
                Some(fields_of(&["set_config".to_string()], &[LogicalType::Varchar], formats))
            }
            Self::Fetch { name, sends: true, .. } => {
                let header = portals.get(name)?.header()?;
                Some(fields_of(header.names(), header.types(), formats))
            }
            Self::Copy(_)
            | Self::Declare { .. }
            | Self::Fetch { .. }
            | Self::CloseCursor(_)
            | Self::Discard
            | Self::Deallocate(_)
            | Self::Nothing(_) => None,
        }
    }
}

fn declare(words: &mut Words<'_>) -> Result<Special> {
    let name = words.name()?;
    let mut holds = false;
    loop {
        if words.takes("binary") {
            return Err(Error::unsupported("a cursor that is BINARY")
                .with_hint("clients ask for the binary format themselves"));
        } else if words.takes("scroll") {
            return Err(Error::unsupported("a cursor that scrolls")
                .with_hint("without SCROLL it is read from front to back"));
        } else if words.takes("no") {
            words.name()?;
        } else if words.takes("insensitive") || words.takes("asensitive") {
            // Every cursor sees what was there when it was declared.
        } else if words.takes("cursor") {
            break;
        } else {
            return Err(Error::Syntax { message: "expected CURSOR FOR and a query".to_string() });
        }
    }
    if words.takes("with") {
        holds = words.takes("hold");
    } else if words.takes("without") {
        words.takes("hold");
    }
    if !words.takes("for") {
        return Err(Error::Syntax { message: "expected FOR and a query".to_string() });
    }
    Ok(Special::Declare { name, query: words.rest().to_string(), holds })
}

fn fetch(words: &mut Words<'_>, sends: bool) -> Result<Special> {
    let forward_only =
        || Error::unsupported("reading a cursor backwards").with_hint("FETCH FORWARD n reads on");
    let mut rows = Some(1);
    let has_direction = words.takes("next") || words.takes("forward");
    if words.takes_sign('-')
        || ["backward", "prior", "first", "last", "absolute", "relative"].iter().any(|word| words.takes(word))
    {
        return Err(forward_only());
    }
    let mut ahead = words.clone();
    match ahead.next()? {
        Some(Word::Number(number)) => {
            rows = Some(number);
            *words = ahead;
        }
        Some(Word::Plain(word)) if word == "all" => {
            rows = None;
            *words = ahead;
        }
        Some(_) => {}
        None if has_direction => {}
        None => return Err(Error::Syntax { message: "expected the name of a cursor".to_string() }),
    }
    if !words.takes("from") {
        words.takes("in");
    }
    let name = words.name()?;
    words.end()?;
    Ok(Special::Fetch { name, rows, sends })
}

/// `set_config('name', 'value', false)` and nothing else, behind SELECT. What holds for a transaction only is not there.
fn set_config(words: Words<'_>) -> Option<Special> {
    let mut words = words;
    if words.takes("pg_catalog") && !words.takes_sign('.') {
        return None;
    }
    if !(words.takes("set_config") && words.takes_sign('(')) {
        return None;
    }
    let mut text = || match words.next() {
        Ok(Some(Word::Text(text))) => words.takes_sign(',').then_some(text),
        Ok(_) | Err(_) => None,
    };
    let (name, value) = (text()?, text()?);
    (words.takes("false") && words.takes_sign(')') && words.is_over())
        .then_some(Special::SetConfig { name, value })
}

/// Whether nothing but `version()` is asked for, behind SELECT.
fn is_version(words: &mut Words<'_>) -> bool {
    if words.takes("pg_catalog") && !words.takes_sign('.') {
        return false;
    }
    words.takes("version") && words.takes_sign('(') && words.takes_sign(')') && words.is_over()
}

/// SHOW of a setting that never changes.
fn shown(words: &mut Words<'_>) -> Option<Special> {
    let name = words.name().ok()?;
    let name = match name.as_str() {
        "session" if words.takes("authorization") => "session_authorization".to_string(),
        _ => name,
    };
    if !words.is_over() {
        return None;
    }
    // What a session may set is not fixed.
    let told = FIXED.iter().filter(|(known, _)| *known != "default_transaction_read_only");
    let fixed = told.chain(SHOWN).find(|(known, _)| known.eq_ignore_ascii_case(&name));
    fixed.map(|(name, value)| Special::Show(name, value))
}

impl Client {
    /// Carries a statement out; gives what the client is told at the end. `formats` are those of a portal, which has described its columns.
    pub async fn special(
        &mut self,
        special: Special,
        formats: Option<&[Format]>,
        query_portal: Option<Portal>,
    ) -> io::Result<Result<String>> {
        match special {
            Special::Copy(copy) => self.copy(copy).await,
            Special::Declare { name, query, holds } => {
                // In the simple protocol, it was not read before.
                let portal = match query_portal {
                    Some(portal) => Ok(portal),
                    None => {
                        let prepared = self.work(move |call| Prepared::read(call, &query, &[])).await?;
                        prepared.map(|prepared| Portal::new(&prepared, Parameters::default(), Vec::new()))
                    }
                };
                match portal {
                    Ok(portal) => self.declare(name, portal, holds).await,
                    Err(error) => Ok(Err(error)),
                }
            }
            Special::Fetch { name, rows, sends } => self.fetch(&name, rows, sends, formats).await,
            Special::CloseCursor(Some(name)) => {
                let is_known = self.portals.remove(&name).is_some();
                Ok(if is_known { Ok("CLOSE CURSOR".to_string()) } else { Err(no_cursor(&name)) })
            }
            Special::CloseCursor(None) => {
                self.portals.retain(|name, _| name.is_empty());
                Ok(Ok("CLOSE CURSOR ALL".to_string()))
            }
            Special::Discard => {
                if self.session.in_transaction() {
                    return Ok(Err(Error::TransactionState {
                        message: "DISCARD ALL cannot run inside a transaction block".to_string(),
                    }));
                }
                self.statements.clear();
                self.portals.clear();
                let reset = self
                    .work(|call| call.connection.execute("RESET ROLE; RESET ALL; DEALLOCATE ALL").map(drop))
                    .await?;
                self.report().await?;
                Ok(reset.map(|()| "DISCARD ALL".to_string()))
            }
            Special::Deallocate(name) => self.deallocate(name).await,
            Special::Show(name, value) => {
                Ok(self.one_text(name, value, formats.is_none()).map(|()| "SHOW".to_string()))
            }
            Special::Version => {
                let version = format!("PostgreSQL {SERVER_VERSION} (Inlay {})", env!("CARGO_PKG_VERSION"));
                Ok(self.one_text("version", &version, formats.is_none()).map(|()| "SELECT 1".to_string()))
            }
            Special::SetConfig { name, value } => {
                let given = Value::Varchar(value.clone());
                let set = self.work(move |call| call.connection.set(&name, &given, Some(&call.host))).await?;
                self.report().await?;
                let shown = set.and_then(|()| self.one_text("set_config", &value, formats.is_none()));
                Ok(shown.map(|()| "SELECT 1".to_string()))
            }
            Special::Nothing(tag) => Ok(Ok(tag.to_string())),
        }
    }

    /// Statements that were read by the protocol go before those of SQL.
    async fn deallocate(&mut self, name: Option<String>) -> io::Result<Result<String>> {
        let (text, tag) = match &name {
            Some(name) if self.statements.remove(name).is_some() => return Ok(Ok("DEALLOCATE".to_string())),
            Some(name) => (format!("DEALLOCATE {}", sql::ident(name)), "DEALLOCATE"),
            None => {
                self.statements.clear();
                ("DEALLOCATE ALL".to_string(), "DEALLOCATE ALL")
            }
        };
        let done = self.work(move |call| call.connection.execute(&text).map(drop)).await?;
        Ok(done.map(|()| tag.to_string()))
    }

    /// Sends a row of one text, and how its column is called where that was not said before.
    fn one_text(&mut self, name: &str, value: &str, is_described: bool) -> Result<()> {
        if is_described {
            let fields = fields_of(&[name.to_string()], &[LogicalType::Varchar], &[]);
            message::write_row_description(&mut self.wire.output, &fields)?;
        }
        message::write(&mut self.wire.output, b'D', |out| {
            out.extend(1i16.to_be_bytes());
            out.extend((value.len() as i32).to_be_bytes());
            out.extend_from_slice(value.as_bytes());
        });
        Ok(())
    }

    /// Makes a cursor of a statement with its values.
    async fn declare(&mut self, name: String, query: Portal, holds: bool) -> io::Result<Result<String>> {
        if !holds && !self.session.in_transaction() {
            let message = "DECLARE CURSOR can only be used in transaction blocks".to_string();
            let hint = "BEGIN opens one; a cursor WITH HOLD needs none";
            return Ok(Err(Error::TransactionState { message }.with_hint(hint)));
        }
        if self.portals.contains_key(&name) {
            return Ok(Err(Error::Duplicate { kind: "cursor", name }));
        }
        Ok(match self.opened(query).await? {
            Ok(mut portal) => {
                portal.holds = holds;
                self.portals.insert(name, portal);
                Ok("DECLARE CURSOR".to_string())
            }
            Err(error) => Err(error),
        })
    }

    async fn fetch(
        &mut self,
        name: &str,
        most: Option<u64>,
        sends: bool,
        formats: Option<&[Format]>,
    ) -> io::Result<Result<String>> {
        let Some(mut portal) = self.portals.remove(name) else { return Ok(Err(no_cursor(name))) };
        let tag = if sends { "FETCH" } else { "MOVE" };
        if let (None, true, Some(header)) = (formats, sends, portal.header()) {
            let fields = fields_of(header.names(), header.types(), &[]);
            if let Err(error) = message::write_row_description(&mut self.wire.output, &fields) {
                return Ok(Err(error));
            }
        }
        let Some(mut rows) = portal.take_rows() else {
            self.portals.insert(name.to_string(), portal);
            return Ok(Ok(format!("{tag} 0")));
        };
        rows.again();
        rows.set_formats(formats);
        if !sends {
            rows.skips();
        }
        let sent = self.send(*rows, most).await?;
        Ok(match sent {
            Ok(Sent::All(_, made)) => {
                self.portals.insert(name.to_string(), portal);
                Ok(format!("{tag} {made}"))
            }
            Ok(Sent::Some(rest)) => {
                let made = rest.made();
                portal.put_rows(rest);
                self.portals.insert(name.to_string(), portal);
                Ok(format!("{tag} {made}"))
            }
            Err(error) => Err(error),
        })
    }
}

fn no_cursor(name: &str) -> Error {
    Error::invalid_argument(format!("cursor \"{name}\" does not exist"))
}

/// The settings among what a client begins with, those of its `options` behind them.
pub fn settings_of(parameters: Vec<(String, String)>) -> Vec<(String, String)> {
    let (mut settings, mut options) = (Vec::new(), Vec::new());
    for (name, value) in parameters {
        match name.as_str() {
            "user" | "database" | "replication" => {}
            "options" => options = options_of(&value),
            name if name.starts_with("_pq_.") => {}
            _ => settings.push((name, value)),
        }
    }
    settings.extend(options);
    settings
}

/// `-c name=value --name=value`, where a backslash takes the meaning from a space.
fn options_of(text: &str) -> Vec<(String, String)> {
    let (mut words, mut word, mut chars) = (Vec::new(), String::new(), text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.extend(chars.next()),
            c if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    let given = words.iter().filter_map(|word| {
        let word = word.strip_prefix("--").or_else(|| word.strip_prefix("-c")).unwrap_or(word);
        let (name, value) = word.split_once('=')?;
        Some((name.replace('-', "_"), value.to_string()))
    });
    given.collect()
}

/// Sets what a client begins with. What is unknown is no reason to turn it away: it is told.
pub fn apply(call: &Call, settings: &[(String, String)]) -> Vec<String> {
    let set = |(name, value): &(String, String)| {
        let value = Value::Varchar(value.clone());
        let error = call.connection.set(name, &value, Some(&call.host)).err()?;
        Some(format!("{} = {} was not set: {}", sql::short_ident(name), value.to_sql(), error.message()))
    };
    // Tools look for the schema that they are in where PostgreSQL has it, which is never empty there.
    if !settings.iter().any(|(name, _)| name.eq_ignore_ascii_case("search_path")) {
        let schema = Value::Varchar("main".to_string());
        // A database without it has its own.
        let _ = call.connection.set("search_path", &schema, Some(&call.host));
    }
    settings.iter().filter_map(set).collect()
}

/// The number of a type that a parameter is announced with.
pub fn parameter_number(ty: Option<&LogicalType>) -> u32 {
    ty.map_or(oid::TEXT, |ty| wire_type(ty).oid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_understood() {
        let declare = Special::of("DECLARE \"c 1\" NO SCROLL CURSOR WITH HOLD FOR SELECT 1").unwrap();
        assert!(
            matches!(declare, Some(Special::Declare { name, query, holds: true }) if name == "c 1" && query == "SELECT 1")
        );
        let rows = |text: &str| match Special::of(text).unwrap() {
            Some(Special::Fetch { name, rows, sends }) => (name, rows, sends),
            other => unreachable!("{other:?}"),
        };
        assert_eq!(rows("FETCH c"), ("c".to_string(), Some(1), true));
        assert_eq!(rows("fetch forward 100 from c;"), ("c".to_string(), Some(100), true));
        assert_eq!(rows("FETCH ALL IN c"), ("c".to_string(), None, true));
        assert_eq!(rows("MOVE 5 c"), ("c".to_string(), Some(5), false));
        assert!(Special::of("FETCH BACKWARD 1 FROM c").is_err() && Special::of("FETCH -1 FROM c").is_err());
        assert!(Special::of("DECLARE c SCROLL CURSOR FOR SELECT 1").is_err());
        assert!(Special::of("SELECT 1").unwrap().is_none() && Special::of("").unwrap().is_none());
        assert!(Special::of("SHOW TRANSACTION ISOLATION LEVEL").unwrap().is_none());
        assert!(Special::of("SHOW TimeZone").unwrap().is_none());
    }

    #[test]
    fn options_are_settings() {
        let given = [
            ("user", "a"),
            ("options", "-c search_path=a\\ b --statement-timeout=5 -cx=1"),
            ("TimeZone", "UTC"),
        ];
        let given = given.map(|(name, value)| (name.to_string(), value.to_string()));
        let settings = settings_of(given.to_vec());
        let settings: Vec<(&str, &str)> =
            settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            settings,
            [("TimeZone", "UTC"), ("search_path", "a b"), ("statement_timeout", "5"), ("x", "1")]
        );
    }
}

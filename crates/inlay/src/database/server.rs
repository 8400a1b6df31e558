//! A database at a server: where it is, and what its sessions begin with. What stands for it in this process is an empty database in memory,
//! which has workers and memory for rows that come, and takes no statements itself.

use super::Database;
use crate::host::Parameters;
use crate::settings;
use inlay_protocol::WireError;
use inlay_protocol::client::{Client, ClientError, Url};
use inlay_protocol::frame::Report;
use inlay_protocol::types::WireColumn;
use inlay_storage::store::AccessMode;
use inlay_types::error::{ErrorKind, Place};
use inlay_types::sql_text as sql;
use inlay_types::{Batch, Error, Result, Value, Vector, VectorBuilder};
use parking_lot::Mutex;
use std::sync::Arc;

/// How often a server tells how far a statement is, unless the address says it.
const PROGRESS_MS: &str = "200";

/// By what a server says which database it has open.
const INSTANCE: &str = "instance";

/// See the module documentation.
pub(crate) struct ServerAddress {
    url: Url,
    /// What each session begins with.
    first: Vec<String>,
    /// A connection that was tried and is nobody's yet.
    tried: Mutex<Option<Client>>,
}

impl ServerAddress {
    /// Connects, unless the server has the database `refused` open: a statement would wait for itself. Settings that are this side's own are left out.
    pub fn new(
        url: &str,
        config: &[(String, Value)],
        access: Option<AccessMode>,
        zone: &str,
        refused: Option<&str>,
    ) -> Result<Self> {
        let mut url = Url::parse(url)?;
        if url.settings.iter().all(|(name, _)| name != "progress_ms") {
            url.settings.push(("progress_ms".to_string(), PROGRESS_MS.to_string()));
        }
        let set = |name: &str, value: &Value| format!("SET {} = {}", sql::ident(name), value.to_sql());
        // Moments are shown as they are by a database in this process.
        let mut first = vec![set("timezone", &Value::Varchar(zone.to_string()))];
        let own = |name: &str| OWN_SETTINGS.iter().any(|own| own.eq_ignore_ascii_case(name));
        first.extend(config.iter().filter(|(name, _)| !own(name)).map(|(name, value)| set(name, value)));
        if access == Some(AccessMode::ReadOnly) {
            first.push("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY".to_string());
        }
        let address = Self { url, first, tried: Mutex::default() };
        let client = address.connected(refused)?;
        *address.tried.lock() = Some(client);
        Ok(address)
    }

    /// Another session.
    pub fn connect(&self) -> Result<Client> {
        if let Some(client) = self.tried.lock().take() {
            return Ok(client);
        }
        self.connected(None)
    }

    fn connected(&self, own: Option<&str>) -> Result<Client> {
        let told = |error| told(error, "");
        let client = Client::at(self.url.clone()).map_err(told)?;
        let is_own = |(name, value): &(String, String)| name == INSTANCE && Some(value.as_str()) == own;
        if client.ready().settings.iter().any(is_own) {
            let message = format!("{} is the database that this statement runs in", self.shown());
            return Err(Error::invalid_argument(message).with_hint("its tables have names here already"));
        }
        for statement in &self.first {
            client.query(statement).and_then(|reply| reply.finish()).map_err(told)?;
        }
        Ok(client)
    }

    /// Where it is, without a password.
    pub fn shown(&self) -> String {
        self.url.shown()
    }
}

/// Settings that say what this process does with rows.
const OWN_SETTINGS: &[&str] = &["decimal", "allow_python", "sandbox", "enable_progress_bar"];

impl Database {
    /// A database at a server.
    pub(super) fn open_server(url: &str, config: &[(String, Value)]) -> Result<Self> {
        let (access, config) = settings::access_of(config)?;
        let is_wanted = |value: &Value| !matches!(value.to_string().as_str(), "false" | "off" | "0");
        if config.iter().any(|(name, value)| name.eq_ignore_ascii_case("sandbox") && is_wanted(value)) {
            let instead =
                "what its statements reach is the server's to say; without --allow-files they reach no file";
            return Err(Error::unsupported("sandbox over a connection to a server").with_hint(instead));
        }
        let is_own = |name: &str| OWN_SETTINGS.iter().any(|own| own.eq_ignore_ascii_case(name));
        let own: Vec<(String, Value)> = config.iter().filter(|(name, _)| is_own(name)).cloned().collect();
        let mut database = Self::open(":memory:", &own)?;
        let zone = settings::get("timezone", database.settings(), &database.first_settings());
        let zone = zone.map_or_else(|| "UTC".to_string(), |zone| zone.to_string());
        let address = ServerAddress::new(url, &config, access, &zone, None)?;
        match Arc::get_mut(&mut database.0) {
            Some(shared) => shared.server = Some(Arc::new(address)),
            None => return Err(Error::internal("a new database is somebody's already")),
        }
        Ok(database)
    }

    /// Where it is, if it is at a server.
    pub(crate) fn server(&self) -> Option<&Arc<ServerAddress>> {
        self.0.server.as_ref()
    }

    /// Fails where the database is at a server: `what` is for one in this process; `instead` says the way round.
    pub(crate) fn check_here(&self, what: &str, instead: &'static str) -> Result<()> {
        match self.server() {
            Some(_) => {
                Err(Error::unsupported(format!("{what} over a connection to a server")).with_hint(instead))
            }
            None => Ok(()),
        }
    }
}

/// The values of a statement's parameters, as they are sent: those by position first.
pub(crate) fn values_of(parameters: &Parameters) -> Result<(Vec<WireColumn>, Batch)> {
    let positional = parameters.positional.iter().map(|value| (String::new(), value));
    let named = parameters.named.iter().map(|(name, value)| (name.clone(), value));
    let column = |(name, value): (String, &Value)| -> Result<(WireColumn, Vector)> {
        let mut builder = VectorBuilder::new(value.logical_type(), 1);
        builder.push(value)?;
        let vector = builder.finish();
        Ok((WireColumn::new(name, vector.logical_type()), vector))
    };
    let columns = positional.chain(named).map(column).collect::<Result<Vec<_>>>()?;
    let (columns, values): (Vec<WireColumn>, Vec<Vector>) = columns.into_iter().unzip();
    Ok((columns, Batch::new(values, 1)))
}

/// What a server or the connection to it said of a statement, as an error of that.
pub(crate) fn told(error: ClientError, statement: &str) -> Error {
    match error {
        ClientError::Server(report) => of_report(*report, statement),
        ClientError::Wire(WireError::Engine(error)) => error,
        // Nothing was sent, so the connection goes on.
        ClientError::Wire(WireError::Refused { size, limit }) => {
            let message =
                format!("a message of {size} bytes is more than the server takes, which is {limit}");
            Error::invalid_argument(message).with_hint("--max-message of inlay serve raises it")
        }
        ClientError::Wire(error) => {
            let message = format!("the connection to the server: {error}");
            Error::Closed { message }.with_hint("connect again")
        }
    }
}

fn of_report(report: Report, statement: &str) -> Error {
    let kind = ErrorKind::of_sqlstate(report.sqlstate());
    if kind == ErrorKind::Interrupted && report.message == Error::Interrupted.to_string() {
        return Error::Interrupted;
    }
    let some = |text: String| (!text.is_empty()).then_some(text);
    let (message, hint, detail) = (report.message, some(report.hint), some(report.detail));
    let error = Error::Told { kind, message, hint, detail };
    if report.line == 0 {
        return error;
    }
    if report.of.is_empty() && !statement.is_empty() {
        return error.at(report.line, report.column, statement);
    }
    let offset = (report.offset > 0).then_some(report.offset);
    let place =
        Place { line: report.line, column: report.column, offset, text: report.line_text, of: report.of };
    Error::At { error: Box::new(error), place }
}

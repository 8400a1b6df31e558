//! The extended protocol: statements that are read once, and portals, which are statements with values, run as far as the client asks.
//!
//! A parameter has the type that the client says, or else the one that the statement converts it to, or else it is text. What has no type by itself
//! (`SELECT $1`) gets a cast behind it, so that what is described before there are values is what comes; places in errors are told as if there
//! were none. A portal of a query is started when it is described, since its columns are known for certain then.

use super::decode::value_of;
use super::encode::Format;
use super::message::{self, Bind, Field, Target, broken};
use super::rows::{Rows, fields_of, formats_for, notice_of};
use super::special::{Special, parameter_number};
use super::types::{oid, parameter_type};
use super::{Client, Sent, ends_failed, look_of, write_in_failed};
use crate::session::{Call, FIRST_BYTES};
use inlay::types::LogicalType;
use inlay::{
    Command, CommandClass, Error, Parameters, PreparedStatement, QueryResult, Result, Value,
    cast_value_in_zone, sql,
};
use std::fmt::Write;
use std::io;
use std::sync::Arc;

/// Statements and portals that a client may have of each.
const KEPT_MAX: usize = 10_000;

/// A statement that was read.
#[derive(Clone)]
pub enum Prepared {
    /// A text without a statement.
    Empty,
    /// One that is carried out here, with the query that it is about.
    Special(Special, Option<Arc<Statement>>),
    Statement(Arc<Statement>),
}

impl Prepared {
    /// The statement whose parameters it has.
    fn statement(&self) -> Option<&Arc<Statement>> {
        match self {
            Self::Empty => None,
            Self::Special(_, query) => query.as_ref(),
            Self::Statement(statement) => Some(statement),
        }
    }
}

/// A statement of the engine's.
pub struct Statement {
    prepared: PreparedStatement,
    /// The type of each parameter: as it is announced, and what a value becomes, if that is known.
    parameters: Vec<(u32, Option<LogicalType>)>,
    /// Casts that were put into the text: behind which character of the client's, and how long they are.
    casts: Vec<(u32, u32)>,
}

/// A statement with values.
pub struct Portal {
    state: State,
    /// As the client asked for them.
    formats: Vec<i16>,
    /// Whether it outlives its transaction.
    pub holds: bool,
}

enum State {
    Empty,
    Special(Special, Option<(Arc<Statement>, Parameters)>),
    Ready(Arc<Statement>, Parameters),
    Open(Box<Rows>, Option<Arc<Statement>>),
    /// Names and types of an answer that was read to its end.
    Done(QueryResult),
}

impl Statement {
    fn command(&self) -> Command {
        self.prepared.command()
    }

    /// An error with its place in the client's text.
    fn told(&self, error: Error) -> Error {
        unmoved(error, &self.casts)
    }
}

fn unmoved(error: Error, casts: &[(u32, u32)]) -> Error {
    match error {
        Error::At { error, mut place } if place.of.is_empty() => {
            if let Some(offset) = place.offset {
                let mut moved = 0;
                for (at, len) in casts {
                    if at + moved < offset {
                        moved += (*len).min(offset - at - moved);
                    }
                }
                place.offset = Some(offset.saturating_sub(moved).max(1));
            }
            Error::At { error, place }
        }
        other => other,
    }
}

/// The text with casts behind parameters whose type `cast` gives; where they stand, and how long they are.
fn with_casts(text: &str, cast: impl Fn(usize) -> Option<LogicalType>) -> Result<(String, Vec<(u32, u32)>)> {
    let mut casts = Vec::new();
    let mut out = String::with_capacity(text.len());
    let places = sql::placeholders(text)?;
    let mut places = places.iter().filter_map(|(range, written)| {
        let number: usize = written.strip_prefix('$')?.parse().ok()?;
        Some((range.end, cast(number.checked_sub(1)?)?))
    });
    let mut next = places.next();
    for (index, c) in text.chars().chain([' ']).enumerate() {
        while let Some((_, ty)) = next.take_if(|(end, _)| *end == index) {
            let before = out.len();
            // Writing to a text does not fail.
            let _ = write!(out, "::{ty}");
            casts.push((index as u32, (out.len() - before) as u32));
            next = places.next();
        }
        out.push(c);
    }
    out.pop();
    Ok((out, casts))
}

/// Types that a client gives, and those of parameters which the text itself says are numbers of the catalog: the engine has no type for these, and
/// clients that look types up take another one for a type to be looked up.
fn with_catalog_numbers(text: &str, numbers: &[u32]) -> Result<Vec<u32>> {
    let mut numbers = numbers.to_vec();
    if !text.contains("::oid") {
        return Ok(numbers);
    }
    let chars: Vec<char> = text.chars().collect();
    for (range, written) in sql::placeholders(text)? {
        let number: Option<usize> = written.strip_prefix('$').and_then(|digits| digits.parse().ok());
        let Some(index) = number.and_then(|number| number.checked_sub(1)).filter(|index| *index < KEPT_MAX)
        else {
            continue;
        };
        let behind: String = chars[range.end.min(chars.len())..].iter().take("::oid[]".len()).collect();
        let ty = if behind == "::oid[]" {
            oid::OIDS
        } else if behind.starts_with("::oid") && !behind[5..].starts_with(|c: char| c.is_alphanumeric()) {
            oid::OID
        } else {
            continue;
        };
        if numbers.len() <= index {
            numbers.resize(index + 1, 0);
        }
        if numbers[index] == 0 {
            numbers[index] = ty;
        }
    }
    Ok(numbers)
}

impl Prepared {
    /// Reads a statement, whose parameters have the types of these numbers; 0 and those that are missing are to be found out.
    pub fn read(call: &Call, text: &str, numbers: &[u32]) -> Result<Self> {
        match Special::of(text)? {
            Some(Special::Declare { name, query, holds }) => {
                let inner = match Self::read(call, &query, numbers)? {
                    Self::Statement(statement) => Some(statement),
                    Self::Empty | Self::Special(..) => None,
                };
                return Ok(Self::Special(Special::Declare { name, query, holds }, inner));
            }
            Some(special) => return Ok(Self::Special(special, None)),
            None => {}
        }
        let statements = sql::statements(text)?;
        match &statements[..] {
            [] => return Ok(Self::Empty),
            [_] => {}
            _ => {
                return Err(Error::Syntax {
                    message: "cannot insert multiple commands into a prepared statement".to_string(),
                });
            }
        }
        let numbers = &with_catalog_numbers(text, numbers)?;
        let declared =
            |index: usize| numbers.get(index).copied().filter(|number| !matches!(*number, 0 | oid::UNKNOWN));
        let declared_type = |index: usize| declared(index).and_then(parameter_type);
        let (sql, casts) = with_casts(text, declared_type)?;
        let prepared = call.connection.prepare(&sql).map_err(|error| unmoved(error, &casts))?;
        if let Some(name) = prepared.parameter_names().first() {
            let message = format!("the parameter ${name} has a name");
            return Err(Error::invalid_argument(message)
                .with_hint("parameters of PostgreSQL's protocol are numbers: $1, $2"));
        }
        let count = prepared.parameter_count();
        if (0..count).all(|index| declared(index).is_some()) {
            let parameters = (0..count).map(|index| (numbers[index], declared_type(index))).collect();
            return Ok(Self::Statement(Statement { prepared, parameters, casts }.into()));
        }
        let shape = prepared.describe(Some(&call.host)).map_err(|error| unmoved(error, &casts))?;
        let wanted = |index: usize| match declared(index) {
            Some(_) => declared_type(index),
            None => shape.parameters.get(index).and_then(|parameter| parameter.ty.clone()),
        };
        let is_open = |index: usize| declared(index).is_none() && wanted(index).is_none();
        let (prepared, casts) = if (0..count).any(is_open) {
            let of_text = |index: usize| {
                declared_type(index).or_else(|| is_open(index).then_some(LogicalType::Varchar))
            };
            let (sql, casts) = with_casts(text, of_text)?;
            (call.connection.prepare(&sql).map_err(|error| unmoved(error, &casts))?, casts)
        } else {
            (prepared, casts)
        };
        let parameter = |index| match declared(index) {
            Some(number) => (number, declared_type(index)),
            None => (parameter_number(wanted(index).as_ref()), wanted(index)),
        };
        let parameters = (0..count).map(parameter).collect();
        Ok(Self::Statement(Statement { prepared, parameters, casts }.into()))
    }
}

impl Portal {
    pub fn new(prepared: &Prepared, parameters: Parameters, formats: Vec<i16>) -> Self {
        let state = match prepared {
            Prepared::Empty => State::Empty,
            Prepared::Special(special, query) => {
                State::Special(special.clone(), query.clone().map(|query| (query, parameters)))
            }
            Prepared::Statement(statement) => State::Ready(Arc::clone(statement), parameters),
        };
        Self { state, formats, holds: false }
    }

    /// Names and types of the rows, if it was started.
    pub fn header(&self) -> Option<&QueryResult> {
        match &self.state {
            State::Open(rows, _) => Some(rows.header()),
            State::Done(header) => Some(header),
            State::Empty | State::Special(..) | State::Ready(..) => None,
        }
    }

    /// The rows that were not read, if there are any.
    pub fn take_rows(&mut self) -> Option<Box<Rows>> {
        match std::mem::replace(&mut self.state, State::Empty) {
            State::Open(rows, _) => {
                self.state = State::Done(rows.header().clone());
                Some(rows)
            }
            other => {
                self.state = other;
                None
            }
        }
    }

    /// Puts back those that are left.
    pub fn put_rows(&mut self, rows: Box<Rows>) {
        self.state = State::Open(rows, None);
    }
}

/// The values of a Bind, as those of the statement's parameters.
fn values_of(
    call: &Call,
    statement: &Statement,
    formats: &[Format],
    values: &[Option<Vec<u8>>],
) -> Result<Parameters> {
    let zone = call.connection.time_zone()?;
    let mut positional = Vec::with_capacity(values.len());
    for (index, ((bytes, format), (number, ty))) in
        values.iter().zip(formats).zip(&statement.parameters).enumerate()
    {
        let Some(bytes) = bytes else {
            positional.push(Value::Null);
            continue;
        };
        let value = value_of(bytes, *format, *number, ty.as_ref(), &zone).and_then(|value| match ty {
            Some(ty) if value.logical_type() != *ty => cast_value_in_zone(&value, ty, &zone),
            Some(_) | None => Ok(value),
        });
        positional.push(value.map_err(|error| named(error, index + 1))?);
    }
    Ok(Parameters { positional, named: Vec::new() })
}

/// An error of the value of a parameter, which has no place in the text.
fn named(error: Error, number: usize) -> Error {
    error.with_hint(format!("it is the value of the parameter ${number}"))
}

impl Client {
    /// Forgets portals that end with their transaction.
    pub fn forget_portals(&mut self) {
        self.portals.retain(|_, portal| portal.holds);
    }

    pub async fn parse(&mut self, name: &str, text: &str, types: Vec<u32>) -> io::Result<Result<()>> {
        if !name.is_empty() && self.statements.contains_key(name) {
            return Ok(Err(Error::Duplicate { kind: "prepared statement", name: name.to_string() }));
        }
        if self.statements.len() >= KEPT_MAX {
            return Ok(Err(too_many("statements")));
        }
        let text = text.to_string();
        let prepared = self.work(move |call| Prepared::read(call, &text, &types)).await?;
        Ok(prepared.map(|prepared| {
            self.statements.insert(name.to_string(), prepared);
            message::write(&mut self.wire.output, b'1', |_| ());
        }))
    }

    pub async fn bind(&mut self, bind: &Bind<'_>) -> io::Result<Result<()>> {
        let Some(prepared) = self.statements.get(bind.statement).cloned() else {
            return Ok(Err(no_statement(bind.statement)));
        };
        if !bind.portal.is_empty() && self.portals.contains_key(bind.portal) {
            return Ok(Err(Error::Duplicate { kind: "portal", name: bind.portal.to_string() }));
        }
        if self.portals.len() >= KEPT_MAX {
            return Ok(Err(too_many("portals")));
        }
        let count = prepared.statement().map_or(0, |statement| statement.parameters.len());
        if bind.values.len() != count {
            let message = format!(
                "bind message supplies {} parameters, but the statement requires {count}",
                bind.values.len()
            );
            return Ok(Err(broken(&message)));
        }
        let formats = match formats_for(&bind.formats, count) {
            Ok(formats) => formats,
            Err(error) => return Ok(Err(error)),
        };
        let parameters = match prepared.statement() {
            Some(statement) if count > 0 => {
                let values: Vec<Option<Vec<u8>>> =
                    bind.values.iter().map(|value| value.map(<[u8]>::to_vec)).collect();
                let statement = Arc::clone(statement);
                self.work(move |call| values_of(call, &statement, &formats, &values)).await?
            }
            Some(_) | None => Ok(Parameters::default()),
        };
        let portal =
            parameters.map(|parameters| Portal::new(&prepared, parameters, bind.result_formats.clone()));
        Ok(portal.map(|portal| {
            self.portals.insert(bind.portal.to_string(), portal);
            message::write(&mut self.wire.output, b'2', |_| ());
        }))
    }

    pub async fn describe(&mut self, target: Target, name: &str) -> io::Result<Result<()>> {
        let fields = match target {
            Target::Statement => self.describe_statement(name).await?,
            Target::Portal => self.describe_portal(name).await?,
        };
        Ok(fields.and_then(|fields| match fields {
            Some(fields) => message::write_row_description(&mut self.wire.output, &fields),
            None => {
                message::write(&mut self.wire.output, b'n', |_| ());
                Ok(())
            }
        }))
    }

    async fn describe_statement(&mut self, name: &str) -> io::Result<Result<Option<Vec<Field>>>> {
        let Some(prepared) = self.statements.get(name).cloned() else { return Ok(Err(no_statement(name))) };
        let (numbers, columns) = match prepared {
            Prepared::Empty => (Vec::new(), Ok(None)),
            Prepared::Special(special, query) => {
                let numbers =
                    |query: Arc<Statement>| query.parameters.iter().map(|(number, _)| *number).collect();
                (query.map_or(Vec::new(), numbers), Ok(special.fields(&self.portals, &[])))
            }
            Prepared::Statement(statement) => {
                let numbers = statement.parameters.iter().map(|(number, _)| *number).collect();
                let described = self
                    .work(move |call| {
                        let shape = statement
                            .prepared
                            .describe(Some(&call.host))
                            .map_err(|error| statement.told(error))?;
                        let fields = |columns: Vec<(String, LogicalType)>| {
                            let (names, types): (Vec<String>, Vec<LogicalType>) = columns.into_iter().unzip();
                            fields_of(&names, &types, &[])
                        };
                        let columns = shape.columns.filter(|columns| {
                            notice_of(statement.prepared.sql()).is_none()
                                || columns.first().is_none_or(|(name, _)| name != "notice")
                        });
                        Ok(columns.map(fields))
                    })
                    .await?;
                (numbers, described)
            }
        };
        if columns.is_ok() {
            message::write(&mut self.wire.output, b't', |out| {
                out.extend((numbers.len() as u16).to_be_bytes());
                numbers.iter().for_each(|number: &u32| out.extend(number.to_be_bytes()));
            });
        }
        Ok(columns)
    }

    async fn describe_portal(&mut self, name: &str) -> io::Result<Result<Option<Vec<Field>>>> {
        let Some(portal) = self.portals.remove(name) else { return Ok(Err(no_portal(name))) };
        let portal = match &portal.state {
            // Only what changes nothing is begun before it is to run.
            State::Ready(statement, _)
                if statement.command().class() == CommandClass::Query && !self.has_failed =>
            {
                match self.opened(portal).await? {
                    Ok(portal) => portal,
                    Err(error) => return Ok(Err(error)),
                }
            }
            State::Ready(..) | State::Empty | State::Special(..) | State::Open(..) | State::Done(_) => portal,
        };
        let formats = portal.formats.clone();
        let fields = match &portal.state {
            State::Empty => Ok(None),
            State::Special(special, _) => {
                formats_of(&formats, special.fields(&self.portals, &[]).map_or(0, |fields| fields.len()))
                    .map(|formats| special.fields(&self.portals, &formats))
            }
            State::Open(..) | State::Done(_) => {
                let is_notice = matches!(&portal.state, State::Open(rows, _) if !rows.has_columns());
                match portal.header().filter(|header| !header.types().is_empty() && !is_notice) {
                    Some(header) => formats_of(&formats, header.types().len())
                        .map(|formats| Some(fields_of(header.names(), header.types(), &formats))),
                    None => Ok(None),
                }
            }
            State::Ready(statement, _) => {
                let statement = Arc::clone(statement);
                let shape = self
                    .work(move |call| {
                        statement.prepared.describe(Some(&call.host)).map_err(|error| statement.told(error))
                    })
                    .await?;
                shape.and_then(|shape| match shape.columns {
                    Some(columns) => {
                        let (names, types): (Vec<String>, Vec<LogicalType>) = columns.into_iter().unzip();
                        Ok(Some(fields_of(&names, &types, &formats_of(&formats, types.len())?)))
                    }
                    None => Ok(None),
                })
            }
        };
        self.portals.insert(name.to_string(), portal);
        Ok(fields)
    }

    /// Starts a portal that was not.
    pub async fn opened(&mut self, portal: Portal) -> io::Result<Result<Portal>> {
        let Portal { state, formats, holds } = portal;
        let (statement, parameters) = match state {
            State::Ready(statement, parameters) => (statement, parameters),
            State::Empty | State::Special(..) | State::Open(..) | State::Done(_) => {
                return Ok(Ok(Portal { state, formats, holds }));
            }
        };
        let opened = self
            .work(move |call| {
                let look = look_of(call)?;
                let (first, rest) = statement
                    .prepared
                    .stream_with(&parameters, Some(&call.host), FIRST_BYTES)
                    .map_err(|error| statement.told(error))?;
                let cursor = inlay::Cursor::new(call.connection.clone(), first, rest);
                let given = formats_of(&formats, cursor.types().len())?;
                let mut rows = Rows::new(cursor, given, look);
                rows.may_be_notice(statement.prepared.sql());
                let state = State::Open(Box::new(rows), Some(statement));
                Ok(Portal { state, formats, holds })
            })
            .await?;
        Ok(opened)
    }

    pub async fn execute(&mut self, name: &str, rows_max: u32) -> io::Result<Result<()>> {
        let Some(portal) = self.portals.remove(name) else { return Ok(Err(no_portal(name))) };
        let command = match &portal.state {
            State::Ready(statement, _) | State::Open(_, Some(statement)) => statement.command(),
            State::Empty | State::Special(..) | State::Open(_, None) | State::Done(_) => Command::Empty,
        };
        if self.has_failed && !ends_failed(command) {
            write_in_failed(&mut self.wire.output);
            self.skips = true;
            return Ok(Ok(()));
        }
        if self.has_failed && command == Command::Commit {
            let ended = self.work(|call| call.connection.rollback()).await?;
            self.has_failed = false;
            return Ok(ended.map(|_| message::write_complete(&mut self.wire.output, "ROLLBACK")));
        }
        match &portal.state {
            State::Empty => {
                message::write(&mut self.wire.output, b'I', |_| ());
                self.portals.insert(name.to_string(), portal);
                return Ok(Ok(()));
            }
            State::Special(special, query) => {
                let (special, query) = (special.clone(), query.clone());
                let query = query.map(|(query, parameters)| {
                    Portal::new(&Prepared::Statement(query), parameters, Vec::new())
                });
                let columns = special.fields(&self.portals, &[]).map_or(0, |fields| fields.len());
                let outcome = match formats_of(&portal.formats, columns) {
                    Ok(formats) => self.special(special, Some(&formats), query).await?,
                    Err(error) => Err(error),
                };
                return Ok(outcome.map(|tag| message::write_complete(&mut self.wire.output, &tag)));
            }
            State::Ready(..) | State::Open(..) | State::Done(_) => {}
        }
        self.run_portal(name, portal, command, rows_max).await
    }

    async fn run_portal(
        &mut self,
        name: &str,
        portal: Portal,
        command: Command,
        rows_max: u32,
    ) -> io::Result<Result<()>> {
        let mut portal = match self.opened(portal).await? {
            Ok(portal) => portal,
            Err(error) => return Ok(Err(error)),
        };
        let Some(mut rows) = portal.take_rows() else {
            message::write_complete(&mut self.wire.output, "SELECT 0");
            self.portals.insert(name.to_string(), portal);
            return Ok(Ok(()));
        };
        rows.again();
        let rows_max = (rows_max > 0).then_some(u64::from(rows_max));
        let sent = self.send(*rows, rows_max).await?;
        self.after(command).await?;
        Ok(match sent {
            Ok(Sent::All(tag, _)) => {
                message::write_complete(&mut self.wire.output, &tag);
                self.portals.insert(name.to_string(), portal);
                Ok(())
            }
            Ok(Sent::Some(rest)) => {
                message::write(&mut self.wire.output, b's', |_| ());
                portal.put_rows(rest);
                self.portals.insert(name.to_string(), portal);
                Ok(())
            }
            Err(error) => Err(error),
        })
    }

    /// Forgets a statement or a portal; one that is not there is forgotten already.
    pub fn close(&mut self, target: Target, name: &str) {
        match target {
            Target::Statement => drop(self.statements.remove(name)),
            Target::Portal => drop(self.portals.remove(name)),
        }
        message::write(&mut self.wire.output, b'3', |_| ());
    }
}

/// As `formats_for`, where an answer without columns has none, whatever was asked for.
fn formats_of(given: &[i16], columns: usize) -> Result<Vec<Format>> {
    if columns == 0 { Ok(Vec::new()) } else { formats_for(given, columns) }
}

fn no_statement(name: &str) -> Error {
    Error::invalid_argument(format!("prepared statement \"{name}\" does not exist"))
}

fn no_portal(name: &str) -> Error {
    Error::invalid_argument(format!("portal \"{name}\" does not exist"))
}

fn too_many(what: &str) -> Error {
    Error::invalid_argument(format!("the session has {KEPT_MAX} {what}, the most that it may have"))
        .with_hint("Close forgets one")
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_of_the_catalog_have_their_own_types() {
        let read = |text: &str, numbers: &[u32]| super::with_catalog_numbers(text, numbers).unwrap();
        assert_eq!(read("SELECT 'é', $2::oid[], $1::oid", &[]), [26, 1028]);
        assert_eq!(read("SELECT $1::oid[]", &[1016]), [1016]);
        assert_eq!(read("SELECT $1::oidvector, $2", &[]), Vec::<u32>::new());
    }

    use super::*;

    #[test]
    fn casts_stand_behind_parameters_and_places_before_them() {
        let ty = |index: usize| [Some(LogicalType::BigInt), None].get(index).cloned().flatten();
        let (text, casts) = with_casts("SELECT 'é$1', $1, $2, x, $1", ty).unwrap();
        assert_eq!(text, "SELECT 'é$1', $1::BIGINT, $2, x, $1::BIGINT");
        let place = |offset| inlay::Place {
            line: 1,
            column: 1,
            offset: Some(offset),
            text: String::new(),
            of: String::new(),
        };
        let told = |offset| {
            let error = Error::At { error: Box::new(Error::DivisionByZero), place: place(offset) };
            unmoved(error, &casts).place().and_then(|place| place.offset).unwrap()
        };
        let at = |text: &str, what: &str| {
            text.chars()
                .collect::<String>()
                .find(what)
                .map(|at| text[..at].chars().count() as u32 + 1)
                .unwrap()
        };
        assert_eq!(told(at(&text, "x,")), at("SELECT 'é$1', $1, $2, x, $1", "x,"));
        assert_eq!(told(1), 1);
    }
}

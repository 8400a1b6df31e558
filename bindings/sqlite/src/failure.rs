//! What went wrong: SQLite's codes and messages for the errors of the engine.

use crate::pointers::c_text;
use inlay::{Error, ErrorKind};
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub const OK: c_int = 0;
pub const ERROR: c_int = 1;
pub const INTERNAL: c_int = 2;
pub const ABORT: c_int = 4;
pub const BUSY: c_int = 5;
pub const LOCKED: c_int = 6;
pub const NOMEM: c_int = 7;
pub const READONLY: c_int = 8;
pub const INTERRUPT: c_int = 9;
pub const IOERR: c_int = 10;
pub const CORRUPT: c_int = 11;
pub const NOTFOUND: c_int = 12;
pub const FULL: c_int = 13;
pub const CANTOPEN: c_int = 14;
pub const TOOBIG: c_int = 18;
pub const CONSTRAINT: c_int = 19;
pub const MISMATCH: c_int = 20;
pub const MISUSE: c_int = 21;
pub const AUTH: c_int = 23;
pub const RANGE: c_int = 25;
pub const NOTADB: c_int = 26;
pub const ROW: c_int = 100;
pub const DONE: c_int = 101;
pub const CONSTRAINT_CHECK: c_int = 275;
pub const CONSTRAINT_FOREIGNKEY: c_int = 787;
pub const CONSTRAINT_NOTNULL: c_int = 1299;
pub const CONSTRAINT_PRIMARYKEY: c_int = 1555;
pub const CONSTRAINT_UNIQUE: c_int = 2067;
pub const BUSY_SNAPSHOT: c_int = 517;

/// An error: its extended code and its message.
#[derive(Clone, Debug)]
pub struct Failure {
    pub code: c_int,
    pub message: String,
}

pub type Outcome<T> = Result<T, Failure>;

/// An error of this module.
pub fn failed(code: c_int, message: impl Into<String>) -> Failure {
    Failure { code, message: message.into() }
}

impl Failure {
    /// Without the part of the code that says more.
    pub fn primary(&self) -> c_int {
        self.code & 0xff
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.message();
        let place = error.place().map(ToString::to_string);
        let name = || quoted_in(&message).into_iter().next().unwrap_or_default();
        match error.kind() {
            ErrorKind::Syntax => failed(ERROR, syntax(&message, place.as_deref())),
            ErrorKind::UndefinedTable => failed(ERROR, format!("no such table: {}", name())),
            ErrorKind::UndefinedColumn => failed(ERROR, format!("no such column: {}", name())),
            ErrorKind::UndefinedFunction => failed(ERROR, undefined_function(&message)),
            ErrorKind::Ambiguous => failed(ERROR, format!("ambiguous column name: {}", name())),
            ErrorKind::Duplicate => failed(ERROR, duplicate(&message)),
            ErrorKind::InvalidCast | ErrorKind::TypeMismatch => failed(MISMATCH, message),
            ErrorKind::OutOfRange => failed(ERROR, integer_overflow(message)),
            ErrorKind::NotNull => failed(CONSTRAINT_NOTNULL, not_null(&message)),
            ErrorKind::Unique => failed(CONSTRAINT_UNIQUE, unique(&message)),
            ErrorKind::Check => failed(CONSTRAINT_CHECK, format!("CHECK constraint failed: {}", name())),
            ErrorKind::ForeignKey => failed(CONSTRAINT_FOREIGNKEY, "FOREIGN KEY constraint failed"),
            ErrorKind::Io => failed(CANTOPEN, message),
            ErrorKind::DiskFull => failed(FULL, "database or disk is full"),
            ErrorKind::Corrupt => failed(CORRUPT, message),
            ErrorKind::MalformedFile => failed(NOTADB, "file is not a database"),
            ErrorKind::Locked => failed(BUSY, "database is locked"),
            ErrorKind::Conflict => failed(BUSY_SNAPSHOT, "database is locked"),
            ErrorKind::ReadOnly => failed(READONLY, "attempt to write a readonly database"),
            ErrorKind::Interrupted | ErrorKind::StatementTimeout => failed(INTERRUPT, "interrupted"),
            ErrorKind::OutOfMemory => failed(NOMEM, "out of memory"),
            ErrorKind::Closed => failed(MISUSE, message),
            ErrorKind::TransactionState => failed(ERROR, transaction(message)),
            ErrorKind::FileAccess | ErrorKind::Forbidden | ErrorKind::Login => failed(AUTH, message),
            ErrorKind::Internal => failed(INTERNAL, message),
            ErrorKind::External if message.ends_with("out of memory") => failed(NOMEM, "out of memory"),
            ErrorKind::External if message.ends_with("string or blob too big") => {
                failed(TOOBIG, "string or blob too big")
            }
            ErrorKind::External if message.ends_with(crate::value::NOT_UTF8) => {
                failed(MISMATCH, crate::value::NOT_UTF8)
            }
            ErrorKind::External if message.starts_with("column ") && message.contains(" cannot hold ") => {
                failed(MISMATCH, message)
            }
            ErrorKind::Grouping
            | ErrorKind::Windowing
            | ErrorKind::Bind
            | ErrorKind::DivisionByZero
            | ErrorKind::InvalidArgument
            | ErrorKind::SubqueryRows
            | ErrorKind::Cardinality
            | ErrorKind::External
            | ErrorKind::Unsupported => failed(ERROR, message),
        }
    }
}

/// What stands in double quotes.
fn quoted_in(message: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = message;
    while let Some((_, behind)) = rest.split_once('"') {
        let Some((name, after)) = behind.split_once('"') else { break };
        found.push(name.to_string());
        rest = after;
    }
    found
}

fn syntax(message: &str, place: Option<&str>) -> String {
    if message.contains("found the end") || message.contains("found EOF") {
        return "incomplete input".to_string();
    }
    if message.contains("deeper than") {
        return format!("Expression tree is too large: {message}");
    }
    match message.rsplit_once("found ").or_else(|| message.rsplit_once("found: ")) {
        Some((_, found)) => format!("near \"{}\": syntax error", found.trim_matches('"')),
        None => match place.and_then(word_at) {
            Some(word) => format!("near \"{word}\": syntax error"),
            None => format!("{message}: syntax error"),
        },
    }
}

/// The word that a place points at.
fn word_at(place: &str) -> Option<String> {
    let mut lines = place.lines();
    let text = lines.next()?;
    let column = lines.next()?.find('^')?;
    let rest: String = text.chars().skip(column).collect();
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').filter(|end| *end > 0).unwrap_or(1);
    rest.get(..end).map(str::to_string)
}

fn undefined_function(message: &str) -> String {
    if let Some(name) = quoted_in(message).first().filter(|_| message.contains("does not exist")) {
        return format!("no such function: {name}");
    }
    let before = message.split_once('(').map_or(message, |(before, _)| before);
    let name = before.rsplit(' ').next().unwrap_or(before);
    format!("wrong number of arguments to function {name}()")
}

fn duplicate(message: &str) -> String {
    let name = quoted_in(message).into_iter().next().unwrap_or_default();
    let kind = message.split(' ').next().unwrap_or("table");
    if kind == "column" {
        format!("duplicate column name: {name}")
    } else {
        format!("{kind} {name} already exists")
    }
}

fn integer_overflow(message: String) -> String {
    if message.contains("overflow") || message.contains("BIGINT") {
        "integer overflow".to_string()
    } else {
        message
    }
}

fn not_null(message: &str) -> String {
    match &quoted_in(message)[..] {
        [column, table, ..] => format!("NOT NULL constraint failed: {}.{column}", bare(table)),
        _ => format!("NOT NULL constraint failed: {message}"),
    }
}

/// `duplicate key (a, b) = (1, 2) violates the uniqueness of table "t"`.
fn unique(message: &str) -> String {
    let columns =
        message.split_once('(').and_then(|(_, rest)| rest.split_once(") = (")).map(|(names, _)| names);
    let table = quoted_in(message).pop();
    match (columns, table) {
        (Some(columns), Some(table)) => {
            let table = bare(&table);
            let names = columns.split(", ").map(|column| format!("{table}.{}", column.trim_matches('"')));
            format!("UNIQUE constraint failed: {}", names.collect::<Vec<_>>().join(", "))
        }
        _ => format!("UNIQUE constraint failed: {message}"),
    }
}

fn bare(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn transaction(message: String) -> String {
    match message.as_str() {
        "a transaction is open already" => "cannot start a transaction within a transaction".to_string(),
        "no transaction is open" => "cannot commit - no transaction is active".to_string(),
        _ => message,
    }
}

/// What a function gives; `otherwise` if it panicked.
pub fn plain<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

/// Declares functions of the interface: what they give if they panicked stands behind their type.
macro_rules! export {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty [$otherwise:expr] $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) -> $ret {
            crate::failure::plain($otherwise, move || $body)
        }
    )*};
}
pub(crate) use export;

/// What a code means.
pub fn meaning(code: c_int) -> &'static CStr {
    match code {
        OK => c"not an error",
        ROW => c"another row available",
        DONE => c"no more rows available",
        516 => c"abort due to ROLLBACK",
        _ => match code & 0xff {
            ERROR => c"SQL logic error",
            3 => c"access permission denied",
            ABORT => c"query aborted",
            BUSY => c"database is locked",
            LOCKED => c"database table is locked",
            NOMEM => c"out of memory",
            READONLY => c"attempt to write a readonly database",
            INTERRUPT => c"interrupted",
            IOERR => c"disk I/O error",
            CORRUPT => c"database disk image is malformed",
            NOTFOUND => c"unknown operation",
            FULL => c"database or disk is full",
            CANTOPEN => c"unable to open database file",
            15 => c"locking protocol",
            17 => c"database schema has changed",
            TOOBIG => c"string or blob too big",
            CONSTRAINT => c"constraint failed",
            MISMATCH => c"datatype mismatch",
            MISUSE => c"bad parameter or other API misuse",
            AUTH => c"authorization denied",
            RANGE => c"column index out of range",
            NOTADB => c"file is not a database",
            27 => c"notification message",
            28 => c"warning message",
            _ => c"unknown error",
        },
    }
}

export! {
    /// What a code means.
    fn sqlite3_errstr(code: c_int) -> *const c_char [std::ptr::null()] { meaning(code).as_ptr() }
}

/// The messages of a connection that were given out last: a thread may still read one while another makes the next.
#[derive(Default)]
pub struct Messages(std::collections::VecDeque<(std::ffi::CString, Vec<u16>)>);

impl Messages {
    /// The message as the program gets it.
    pub fn keep(&mut self, message: &str) -> (*const c_char, *const u16) {
        const KEPT: usize = 64;
        let text = c_text(message);
        if self.0.back().is_none_or(|(last, _)| *last != text) {
            self.0.push_back((text, crate::pointers::to_utf16(message)));
            if self.0.len() > KEPT {
                self.0.pop_front();
            }
        }
        self.0
            .back()
            .map_or((std::ptr::null(), std::ptr::null()), |(text, wide)| (text.as_ptr(), wide.as_ptr()))
    }
}

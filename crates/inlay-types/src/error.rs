//! The one error type of the engine. Each variant is a situation a caller can act on, with its SQLSTATE.

mod kind;
mod parts;

pub use kind::ErrorKind;

use crate::candidates::Candidates;
use crate::passwords::without_passwords;
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Result of everything in the engine that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What a full disk asks for.
pub const NO_SPACE: &str = "no space left; free some and try again";

/// Why a statement failed. Messages name the object, the value and the limit; they start in lower
/// case and have no full stop.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// 42601. The text is not SQL.
    #[error("{message}")]
    Syntax {
        /// What was found and what was expected.
        message: String,
    },
    /// 42P01. A table, view or table function does not exist.
    #[error("table \"{name}\" does not exist{candidates}")]
    UndefinedTable {
        /// The name as written.
        name: String,
        /// Names that do exist.
        candidates: Candidates,
    },
    /// 42703. A column name does not resolve.
    #[error("column \"{name}\" does not exist{candidates}")]
    UndefinedColumn {
        /// The name as written, with its qualifier.
        name: String,
        /// Names that do exist.
        candidates: Candidates,
    },
    /// 42883. No function of this name takes these arguments.
    #[error("{message}{}", behind(hint_of_names(candidates)))]
    UndefinedFunction {
        /// Which function and which argument types.
        message: String,
        /// Near names, or the signatures that exist.
        candidates: Vec<String>,
    },
    /// 42702. A name fits several things.
    #[error("column reference \"{name}\" is ambiguous: it could be {}", candidates.join(" or "))]
    Ambiguous {
        /// The name as written.
        name: String,
        /// What it could mean.
        candidates: Vec<String>,
    },
    /// 42P07. The name is taken.
    #[error("{kind} \"{name}\" already exists")]
    Duplicate {
        /// "table", "view", "column".
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// 42804. Types do not fit.
    #[error("{message}")]
    TypeMismatch {
        /// Which types met where.
        message: String,
    },
    /// 42803. A column is neither grouped nor aggregated, or aggregates are nested or misplaced.
    #[error("{message}")]
    Grouping {
        /// What stands where it may not.
        message: String,
    },
    /// 42P20. A window function stands where it may not, or its window makes no sense.
    #[error("{message}")]
    Windowing {
        /// What is wrong.
        message: String,
    },
    /// 42P10 and other semantic errors without a class of their own.
    #[error("{message}")]
    Bind {
        /// What is wrong and how to mend it.
        message: String,
    },
    /// 22018, 22007. A text is no value of the wanted type.
    #[error("could not convert {} to {to}{}", quoted(value), behind(hint_of_cast(value, to)))]
    InvalidCast {
        /// The value, as text.
        value: String,
        /// The wanted type.
        to: String,
    },
    /// 22003. A value is outside its type's range.
    #[error("{message}")]
    OutOfRange {
        /// Which value and which type.
        message: String,
    },
    /// 22012.
    #[error("division by zero; NULLIF(divisor, 0) gives NULL instead")]
    DivisionByZero,
    /// 22023. An argument of a function, setting or API call is not acceptable.
    #[error("{message}")]
    InvalidArgument {
        /// Which argument and what is acceptable.
        message: String,
    },
    /// 21000. A scalar subquery returned several rows.
    #[error("a subquery used as an expression returned more than one row; add LIMIT 1 or an aggregate")]
    SubqueryRows,
    /// 23502. NULL where a column may not hold it.
    #[error("{message}")]
    NotNull {
        /// Which column.
        message: String,
    },
    /// 23505. A key that is there already.
    #[error("{message}")]
    Unique {
        /// Which constraint and which key.
        message: String,
    },
    /// 23514. A row violates a CHECK constraint.
    #[error("{message}")]
    Check {
        /// Which constraint and which values.
        message: String,
    },
    /// 23503. A row refers to one that is not there, or one that is referred to would go.
    #[error("{message}")]
    ForeignKey {
        /// Which constraint and which key.
        message: String,
    },
    /// 21000. A statement would change one row twice.
    #[error("{message}")]
    Cardinality {
        /// Which row.
        message: String,
    },
    /// 58030, 58P01. The operating system refused.
    #[error("{action} \"{path}\": {message}")]
    Io {
        /// "cannot open", "cannot read", ...
        action: &'static str,
        /// The path.
        path: String,
        /// What the system said.
        message: String,
    },
    /// 53100. The disk or a quota is full, or a file would get too large.
    #[error("{action} \"{path}\": {reason}")]
    DiskFull {
        /// "cannot write", ...
        action: &'static str,
        /// The path.
        path: String,
        /// What is full, and what helps.
        reason: &'static str,
    },
    /// XX001. A checksum or invariant of a database file or its log does not hold.
    #[error("damaged data: {message}")]
    Corrupt {
        /// Where it was found and what does not hold.
        message: String,
    },
    /// 55P03. A file is in use by another process.
    #[error("{message}")]
    Locked {
        /// Which file, by whom, and what can be done.
        message: String,
    },
    /// 25006. A change of a database, or in a transaction, that only reads.
    #[error("{message}")]
    ReadOnly {
        /// What only reads, and why.
        message: String,
    },
    /// 22P04. A data file does not follow its format.
    #[error("{path}{}: {message}", line.map(|l| format!(", line {l}")).unwrap_or_default())]
    MalformedFile {
        /// The path.
        path: String,
        /// Line, counted from 1, if the format has lines.
        line: Option<u64>,
        /// What is wrong and how to read on.
        message: String,
    },
    /// 57014. The query was interrupted.
    #[error("query interrupted")]
    Interrupted,
    /// 57014. The statement took longer than it may.
    #[error("the statement ran longer than statement_timeout, which is {limit_ms} ms; it changed nothing")]
    StatementTimeout {
        /// The setting, in milliseconds.
        limit_ms: u64,
    },
    /// 42501. A file that statements may not touch.
    #[error(
        "\"{path}\" is out of reach: enable_external_access is off and the path is not among the allowed ones"
    )]
    FileAccess {
        /// The path as written.
        path: String,
    },
    /// 42501. Something that may not be done here.
    #[error("{message}")]
    Forbidden {
        /// What, and what allows it.
        message: String,
    },
    /// 28P01. Who wants to come is not let in.
    #[error("{message}")]
    Login {
        /// Why.
        message: String,
    },
    /// 38000. A function of the host failed.
    #[error("{message}")]
    External {
        /// Which function, and what went wrong.
        message: String,
        /// What the host raised.
        cause: Option<Cause>,
    },
    /// 53200. The memory limit is reached.
    #[error(
        "out of memory: {requested} more bytes asked for, {used} of {limit} bytes in use (see memory_limit)"
    )]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes in use.
        used: u64,
        /// The limit.
        limit: u64,
    },
    /// 53200. Memory ran out where what needs it cannot be split.
    #[error("{error}; {reason}")]
    Indivisible {
        /// That memory ran out.
        error: Box<Error>,
        /// What needs it, and why it must be in memory.
        reason: &'static str,
    },
    /// 0A000. Valid SQL that this version does not run.
    #[error("{feature} is not available{}", alternative.as_ref().map(|a| format!("; {a}")).unwrap_or_default())]
    Unsupported {
        /// The feature.
        feature: String,
        /// What to write instead.
        alternative: Option<String>,
    },
    /// 08003. The connection or result is closed.
    #[error("{message}")]
    Closed {
        /// What is closed.
        message: String,
    },
    /// 40001. A concurrent change got in the way; the statement may be retried.
    #[error("{message}; retry the transaction")]
    Conflict {
        /// What collided.
        message: String,
    },
    /// 25000. BEGIN, COMMIT or ROLLBACK at the wrong time.
    #[error("{message}")]
    TransactionState {
        /// What the state is.
        message: String,
    },
    /// XX000. A defect of ours. Please report it.
    #[error("internal error: {message}")]
    Internal {
        /// What did not hold.
        message: String,
    },
    /// What another process said of its error, which is of any kind.
    #[error("{message}{}{}", behind(hint.clone()), behind(detail.clone()))]
    Told {
        /// What situation it is.
        kind: ErrorKind,
        /// What is wrong.
        message: String,
        /// What helps.
        hint: Option<String>,
        /// More about it.
        detail: Option<String>,
    },
    /// A violated constraint with the values that violate it, which are not for everybody; see [`Error::without_values`].
    #[error("{message}")]
    Valued {
        /// The error without them.
        error: Box<Error>,
        /// The message with them.
        message: String,
    },
    /// Any of the above with what to do about it.
    #[error("{error}; {hint}")]
    Hinted {
        /// The error itself.
        error: Box<Error>,
        /// What helps.
        hint: Cow<'static, str>,
    },
    /// Any of the above with the row that it happened in.
    #[error("{error}{}", in_row(row))]
    InRow {
        /// The error itself.
        error: Box<Error>,
        /// What the expression that failed read of the row.
        row: Vec<RowValue>,
    },
    /// Any of the above with its place in the SQL text.
    #[error("{error}\n{place}")]
    At {
        /// The error itself.
        error: Box<Error>,
        /// Line, text and caret.
        place: Place,
    },
}

/// What a host raised, for the host alone.
#[derive(Clone)]
pub struct Cause(pub Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cause")
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A value of the row that an expression failed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowValue {
    /// The number of the column in the plan.
    pub column: u32,
    /// Its name; empty while only its number is known.
    pub name: String,
    /// The value as SQL shows it.
    pub value: String,
}

/// A place in SQL text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Line, counted from 1.
    pub line: u32,
    /// Column, counted from 1, in characters.
    pub column: u32,
    /// Place in the whole text, counted from 1, in characters; absent while the text is not at hand.
    pub offset: Option<u32>,
    /// The text of that line.
    pub text: String,
    /// Whose text it is, as `view "v"`; empty for the statement's own.
    pub of: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.of.is_empty() { String::new() } else { format!(" of {}", self.of) };
        let head = format!("line {}{of}: ", self.line);
        // Long lines are cut around the caret, so that a message stays readable.
        let column = (self.column.max(1) - 1) as usize;
        let from = column.saturating_sub(60);
        let shown: String = self.text.chars().skip(from).take(100).collect();
        let caret = head.chars().count() + column - from;
        write!(f, "{head}{shown}\n{:caret$}^", "")
    }
}

/// A hint behind a message.
fn behind(hint: Option<String>) -> String {
    hint.map_or_else(String::new, |hint| format!("; {hint}"))
}

fn hint_of_names(candidates: &[String]) -> Option<String> {
    match candidates {
        [] => None,
        [one] => Some(format!("did you mean {one}?")),
        many => Some(format!("did you mean one of {}?", many.join(", "))),
    }
}

/// What helps where a text is no value of a type.
fn hint_of_cast(value: &str, to: &str) -> Option<String> {
    let is_fraction = || value.trim().parse::<f64>().is_ok_and(|number| number.fract() != 0.0);
    if (to.ends_with("INT") || to == "INTEGER") && is_fraction() {
        return Some(format!("it is no whole number; CAST('{}' AS {to}) rounds it", value.trim()));
    }
    if value.contains('%') && (to == "DATE" || to.starts_with("TIMESTAMP")) {
        return Some(
            "it is a format: strftime(moment, format) writes one, strptime(text, format) reads one"
                .to_string(),
        );
    }
    let hints: Vec<String> = [written_form(value, to), try_cast(to)].into_iter().flatten().collect();
    (!hints.is_empty()).then(|| hints.join("; "))
}

/// The place of a line and column in a text, counted from 1, in characters.
fn offset(line: u32, column: u32, sql: &str) -> Option<u32> {
    if sql.is_empty() {
        return None;
    }
    let before = sql.split_inclusive('\n').take(line.max(1) as usize - 1).map(|line| line.chars().count());
    u32::try_from(before.sum::<usize>() + column as usize).ok()
}

fn in_row(row: &[RowValue]) -> String {
    let named: Vec<String> = row
        .iter()
        .filter(|value| !value.name.is_empty())
        .map(|value| format!("{} = {}", value.name, value.value))
        .collect();
    if named.is_empty() { String::new() } else { format!("; in the row with {}", named.join(", ")) }
}

/// The way around a failed conversion to a type (`to` may also name a text format, which TRY_CAST does not know).
fn try_cast(to: &str) -> Option<String> {
    (!to.contains(' ')).then(|| "TRY_CAST gives NULL instead".to_string())
}

/// How a date or moment is written, for a text that is one in another form.
fn written_form(value: &str, to: &str) -> Option<String> {
    let (form, article, takes_time) = match to {
        "DATE" => ("YYYY-MM-DD", "a DATE", false),
        "TIMESTAMP" | "TIMESTAMP_S" | "TIMESTAMP_MS" | "TIMESTAMP_NS" | "TIMESTAMP WITH TIME ZONE" => {
            ("YYYY-MM-DD HH:MM:SS", "it", true)
        }
        _ => return None,
    };
    let (date, time) = match value.trim().split_once([' ', 'T']) {
        Some((date, time)) => (date, Some(time.trim())),
        None => (value.trim(), None),
    };
    let date_format = day_first_format(date)?;
    let time_format = match time.filter(|_| takes_time).map(|time| time.matches(':').count()) {
        Some(1) => " %H:%M",
        Some(2) => " %H:%M:%S",
        _ => "",
    };
    Some(format!(
        "{article} is written {form}, and strptime({}, '{date_format}{time_format}') reads other forms",
        quoted(value)
    ))
}

/// The format of a date of three numbers whose year comes last.
fn day_first_format(date: &str) -> Option<String> {
    let separator = ['.', '/', '-'].into_iter().find(|separator| date.matches(*separator).count() == 2)?;
    let parts: Vec<&str> = date.split(separator).collect();
    let [first, second, year] = parts.as_slice() else { return None };
    let is_number = |part: &&&str| part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    if ![first, second, year].iter().all(is_number)
        || first.len() > 2
        || first.is_empty()
        || second.is_empty()
    {
        return None;
    }
    let year = match year.len() {
        4 => "%Y",
        2 => "%y",
        _ => return None,
    };
    let is_month_first = separator == '/' && second.parse::<u32>().is_ok_and(|second| second > 12);
    let (first, second) = if is_month_first { ("%m", "%d") } else { ("%d", "%m") };
    Some(format!("{first}{separator}{second}{separator}{year}"))
}

fn quoted(value: &str) -> String {
    // Of a long one the error has no more than is shown.
    if let Some((short, count)) = value.rsplit_once(CUT)
        && count.ends_with(COUNTED)
        && short.chars().count() == SHOWN_MAX
    {
        return format!("'{short}...' ({count}");
    }
    match beginning(value) {
        None => format!("'{value}'"),
        Some(short) => format!("'{short}...' ({}{COUNTED}", value.chars().count()),
    }
}

/// What stands behind the beginning of a long value, and behind the number of its characters.
const CUT: &str = "... (";
const COUNTED: &str = " characters)";

/// A value that an error keeps: errors live long, and values may be large.
pub fn kept_text(text: &str) -> String {
    const KEPT_MAX: usize = 4096;
    if text.len() > KEPT_MAX { shortened(text).into_owned() } else { text.to_string() }
}

/// Characters of a value that a message shows.
const SHOWN_MAX: usize = 60;

/// The beginning of a text that is too long to be read.
fn beginning(text: &str) -> Option<&str> {
    text.char_indices().nth(SHOWN_MAX).map(|(end, _)| &text[..end])
}

/// A text for a message; of one that is too long to be read the beginning, and how long it is.
pub fn shortened(text: &str) -> Cow<'_, str> {
    match beginning(text) {
        None => Cow::Borrowed(text),
        Some(short) => Cow::Owned(format!("{short}{CUT}{}{COUNTED}", text.chars().count())),
    }
}

/// A path is shown whole, unless it cannot be one.
fn shown_path(path: String) -> String {
    const PATH_SIZE_MAX: usize = 1024;
    if path.len() > PATH_SIZE_MAX { shortened(&path).into_owned() } else { path }
}

/// Most bytes of a message that quotes what it was given.
const MESSAGE_BYTES_MAX: usize = 4000;

/// A message without the middle of a value that is too long to be read.
fn bounded(message: String) -> String {
    if message.len() <= MESSAGE_BYTES_MAX {
        return message;
    }
    let boundary = |from: usize| (0..=from).rev().find(|&at| message.is_char_boundary(at)).unwrap_or(0);
    let (head, tail) = (boundary(MESSAGE_BYTES_MAX / 2), boundary(message.len() - MESSAGE_BYTES_MAX / 4));
    format!("{}...{}", &message[..head], &message[tail..])
}

impl Error {
    /// A defect of ours, with what did not hold.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::Internal { message: message.into() }
    }

    /// Whether some value of a row is to blame: what TRY and TRY_CAST make NULL, and what another row need not end with.
    pub fn is_of_values(&self) -> bool {
        matches!(
            self,
            Self::InvalidCast { .. }
                | Self::OutOfRange { .. }
                | Self::DivisionByZero
                | Self::InvalidArgument { .. }
        )
    }

    /// A semantic error without a class of its own.
    pub fn bind(message: impl Into<String>) -> Self {
        Self::Bind { message: message.into() }
    }

    /// Whether the statement cannot go on, whatever its values are: no NULL may stand for what could not be computed.
    pub fn is_of_statement(&self) -> bool {
        matches!(self.root(), Self::OutOfMemory { .. } | Self::Interrupted | Self::StatementTimeout { .. })
    }

    /// Types that do not fit.
    pub fn type_mismatch(message: impl Into<String>) -> Self {
        Self::TypeMismatch { message: message.into() }
    }

    /// A value outside its type's range.
    pub fn out_of_range(message: impl Into<String>) -> Self {
        Self::OutOfRange { message: bounded(message.into()) }
    }

    /// An unacceptable argument.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::InvalidArgument { message: bounded(message.into()) }
    }

    /// A function of the host that failed, or gave what it may not.
    pub fn external(message: impl Into<String>) -> Self {
        Self::External { message: bounded(message.into()), cause: None }
    }

    /// Valid SQL that this version does not run.
    pub fn unsupported(feature: impl Into<String>) -> Self {
        Self::Unsupported { feature: feature.into(), alternative: None }
    }

    /// A checksum or invariant of a file that does not hold.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::Corrupt { message: message.into() }
    }

    /// The same error, with where damage was found put before its message.
    pub fn within(self, place: impl fmt::Display) -> Self {
        match self {
            Self::Corrupt { message } => Self::Corrupt { message: format!("{place}: {message}") },
            other => other,
        }
    }

    /// An operating system error on a path.
    pub fn io(action: &'static str, path: impl Into<String>, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let reason = match error.kind() {
            StorageFull => NO_SPACE,
            QuotaExceeded => "the disk quota is used up; free some space or have it raised, and try again",
            FileTooLarge => {
                "the file would be larger than the process (ulimit -f) or the file system allows; raise the limit and try \
                 again"
            }
            _ => return Self::Io { action, path: shown_path(path.into()), message: error.to_string() },
        };
        Self::DiskFull { action, path: shown_path(path.into()), reason }
    }

    /// The same error with its place in the SQL text; an error that has a place keeps it.
    pub fn at(self, line: u32, column: u32, sql: &str) -> Self {
        self.at_of(line, column, sql, "")
    }

    /// The same error with its place in a text that is kept, and whose it is.
    pub fn at_of(self, line: u32, column: u32, sql: &str, of: &str) -> Self {
        if line == 0 || self.is_about_the_whole() {
            return self;
        }
        let text = without_passwords(sql.lines().nth(line as usize - 1).unwrap_or("")).into_owned();
        let place = Place { line, column, offset: offset(line, column, sql), text, of: of.to_string() };
        Self::At { error: Box::new(self), place }
    }

    fn is_about_the_whole(&self) -> bool {
        matches!(
            self,
            Self::At { .. }
                | Self::Interrupted
                | Self::StatementTimeout { .. }
                | Self::OutOfMemory { .. }
                | Self::Indivisible { .. }
        )
    }

    /// If memory ran out: the same error with the reason why it was needed.
    pub fn because(self, reason: &'static str) -> Self {
        match self {
            Self::OutOfMemory { .. } => Self::Indivisible { error: Box::new(self), reason },
            other => other,
        }
    }

    /// The same error with its place, whose text is not at hand; see [`Error::in_text`].
    pub fn at_place(self, line: u32, column: u32) -> Self {
        self.at(line, column, "")
    }

    /// Puts the text of the statement's line into a place that lacks it.
    pub fn in_text(self, sql: &str) -> Self {
        match self {
            Self::At { error, place } if place.text.is_empty() => error.at(place.line, place.column, sql),
            other => other,
        }
    }

    /// Gives the columns of the row their names, and drops the row if there are none.
    pub fn with_row_names(self, name: impl Fn(u32) -> Option<String>) -> Self {
        match self {
            Self::At { error, place } => Self::At { error: Box::new(error.with_row_names(name)), place },
            Self::Hinted { error, hint } => {
                Self::Hinted { error: Box::new(error.with_row_names(name)), hint }
            }
            Self::InRow { error, mut row } => {
                row.retain_mut(|value| {
                    if value.name.is_empty() {
                        value.name = name(value.column).unwrap_or_default();
                    }
                    !value.name.is_empty()
                });
                if row.is_empty() { *error } else { Self::InRow { error, row } }
            }
            other => other,
        }
    }

    /// The error without its place, row and hint.
    pub fn root(&self) -> &Error {
        match self {
            Self::At { error, .. }
            | Self::InRow { error, .. }
            | Self::Indivisible { error, .. }
            | Self::Valued { error, .. }
            | Self::Hinted { error, .. } => error.root(),
            other => other,
        }
    }
}

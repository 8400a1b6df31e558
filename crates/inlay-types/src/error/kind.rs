//! What kind of situation an error is: one list, by which SQLSTATEs are given and hosts choose their own classes and codes.

use super::Error;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $sqlstate:literal;)+) => {
        /// The situation that an [`Error`] is, without its message. Each has a number that stays what it is, for hosts in other
        /// languages, and the SQLSTATE of its errors.
        ///
        /// ```
        /// use inlay_types::error::{Error, ErrorKind};
        /// let error = Error::DivisionByZero.at(1, 8, "SELECT 1 // 0");
        /// assert_eq!((error.kind(), error.kind().sqlstate()), (ErrorKind::DivisionByZero, "22012"));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum ErrorKind {
            $($(#[$doc])* $name = $code,)+
        }

        impl ErrorKind {
            /// All of them, by their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Its number, from 1.
            pub const fn code(self) -> u16 {
                self as u16
            }

            /// Its name: `UndefinedTable`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// The five-character SQLSTATE.
            pub const fn sqlstate(self) -> &'static str {
                match self {
                    $(Self::$name => $sqlstate,)+
                }
            }
        }
    };
}

kinds! {
    /// The text is not SQL.
    Syntax = 1, "42601";
    /// A table, view or table function does not exist.
    UndefinedTable = 2, "42P01";
    /// A column does not exist.
    UndefinedColumn = 3, "42703";
    /// No function of this name takes these arguments.
    UndefinedFunction = 4, "42883";
    /// A name fits several things.
    Ambiguous = 5, "42702";
    /// A name is taken.
    Duplicate = 6, "42P07";
    /// Types do not fit.
    TypeMismatch = 7, "42804";
    /// What is neither grouped nor aggregated.
    Grouping = 8, "42803";
    /// A window function where it may not be.
    Windowing = 9, "42P20";
    /// Another semantic error.
    Bind = 10, "42P10";
    /// A text is no value of a type.
    InvalidCast = 11, "22018";
    /// A value is outside its type's range.
    OutOfRange = 12, "22003";
    /// A division by zero.
    DivisionByZero = 13, "22012";
    /// An argument of a function, setting or call is not acceptable.
    InvalidArgument = 14, "22023";
    /// A scalar subquery gave several rows.
    SubqueryRows = 15, "21000";
    /// NULL where a column may not hold it.
    NotNull = 16, "23502";
    /// A key that is there already.
    Unique = 17, "23505";
    /// A CHECK constraint is violated.
    Check = 18, "23514";
    /// A foreign key is violated.
    ForeignKey = 19, "23503";
    /// A statement would change one row twice.
    Cardinality = 20, "21000";
    /// The operating system refused.
    Io = 21, "58030";
    /// The disk or a quota is full.
    DiskFull = 22, "53100";
    /// A database file or its log is damaged.
    Corrupt = 23, "XX001";
    /// A file is in use by another process.
    Locked = 24, "55P03";
    /// A change where there is only reading.
    ReadOnly = 25, "25006";
    /// A data file does not follow its format.
    MalformedFile = 26, "22P04";
    /// The statement was interrupted.
    Interrupted = 27, "57014";
    /// The statement took longer than it may.
    StatementTimeout = 28, "57014";
    /// A file that statements may not touch.
    FileAccess = 29, "42501";
    /// Something that may not be done here.
    Forbidden = 30, "42501";
    /// A function of the host failed.
    External = 31, "38000";
    /// The memory limit is reached.
    OutOfMemory = 32, "53200";
    /// Valid SQL that this version does not run.
    Unsupported = 33, "0A000";
    /// The connection, or what is read from it, is closed.
    Closed = 34, "08003";
    /// A concurrent change got in the way; the transaction may be tried again.
    Conflict = 35, "40001";
    /// BEGIN, COMMIT or ROLLBACK at the wrong time.
    TransactionState = 36, "25000";
    /// A defect of ours.
    Internal = 37, "XX000";
    /// Who wants to come is not let in.
    Login = 38, "28P01";
}

impl ErrorKind {
    /// The first kind of a SQLSTATE; of one that no error of ours has, the kind that is nearest.
    pub fn of_sqlstate(sqlstate: &str) -> Self {
        let known = Self::ALL.iter().copied().find(|kind| kind.sqlstate() == sqlstate);
        known.unwrap_or_else(|| match sqlstate.get(..2) {
            Some("08" | "57") => Self::Closed,
            Some("28") => Self::Login,
            Some("53" | "54") => Self::OutOfMemory,
            Some("22") => Self::InvalidArgument,
            Some("42") => Self::Bind,
            Some(_) | None => Self::Internal,
        })
    }

    /// Whether the same transaction may succeed if it is tried again.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Conflict)
    }
}

impl Error {
    /// What kind of situation this is, wherever it happened.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Syntax { .. } => ErrorKind::Syntax,
            Self::UndefinedTable { .. } => ErrorKind::UndefinedTable,
            Self::UndefinedColumn { .. } => ErrorKind::UndefinedColumn,
            Self::UndefinedFunction { .. } => ErrorKind::UndefinedFunction,
            Self::Ambiguous { .. } => ErrorKind::Ambiguous,
            Self::Duplicate { .. } => ErrorKind::Duplicate,
            Self::TypeMismatch { .. } => ErrorKind::TypeMismatch,
            Self::Grouping { .. } => ErrorKind::Grouping,
            Self::Windowing { .. } => ErrorKind::Windowing,
            Self::Bind { .. } => ErrorKind::Bind,
            Self::InvalidCast { .. } => ErrorKind::InvalidCast,
            Self::OutOfRange { .. } => ErrorKind::OutOfRange,
            Self::DivisionByZero => ErrorKind::DivisionByZero,
            Self::InvalidArgument { .. } => ErrorKind::InvalidArgument,
            Self::SubqueryRows => ErrorKind::SubqueryRows,
            Self::NotNull { .. } => ErrorKind::NotNull,
            Self::Unique { .. } => ErrorKind::Unique,
            Self::Check { .. } => ErrorKind::Check,
            Self::ForeignKey { .. } => ErrorKind::ForeignKey,
            Self::Cardinality { .. } => ErrorKind::Cardinality,
            Self::Io { .. } => ErrorKind::Io,
            Self::DiskFull { .. } => ErrorKind::DiskFull,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::Locked { .. } => ErrorKind::Locked,
            Self::ReadOnly { .. } => ErrorKind::ReadOnly,
            Self::MalformedFile { .. } => ErrorKind::MalformedFile,
            Self::Interrupted => ErrorKind::Interrupted,
            Self::StatementTimeout { .. } => ErrorKind::StatementTimeout,
            Self::FileAccess { .. } => ErrorKind::FileAccess,
            Self::Forbidden { .. } => ErrorKind::Forbidden,
            Self::Login { .. } => ErrorKind::Login,
            Self::External { .. } => ErrorKind::External,
            Self::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::Closed { .. } => ErrorKind::Closed,
            Self::Conflict { .. } => ErrorKind::Conflict,
            Self::TransactionState { .. } => ErrorKind::TransactionState,
            Self::Internal { .. } => ErrorKind::Internal,
            Self::Told { kind, .. } => *kind,
            Self::At { error, .. }
            | Self::InRow { error, .. }
            | Self::Indivisible { error, .. }
            | Self::Valued { error, .. }
            | Self::Hinted { error, .. } => error.kind(),
        }
    }

    /// The five-character SQLSTATE.
    pub fn sqlstate(&self) -> &'static str {
        self.kind().sqlstate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Candidates;
    use crate::error::{Cause, NO_SPACE, RowValue};
    use std::sync::Arc;

    #[test]
    fn numbers_count_from_one_and_stay() {
        for (index, kind) in ErrorKind::ALL.iter().enumerate() {
            assert_eq!(usize::from(kind.code()), index + 1, "{}", kind.name());
            assert_eq!(kind.sqlstate().len(), 5, "{}", kind.name());
        }
    }

    /// An error of each kind. A new kind does not compile until there is one.
    fn example(kind: ErrorKind) -> Error {
        let message = "what; why".to_string();
        let name = "n".to_string();
        match kind {
            ErrorKind::Syntax => Error::Syntax { message },
            ErrorKind::UndefinedTable => {
                Error::UndefinedTable { name, candidates: Candidates::Near(Vec::new()) }
            }
            ErrorKind::UndefinedColumn => {
                Error::UndefinedColumn { name, candidates: Candidates::Near(Vec::new()) }
            }
            ErrorKind::UndefinedFunction => Error::UndefinedFunction { message, candidates: vec![name] },
            ErrorKind::Ambiguous => Error::Ambiguous { name, candidates: vec!["a.n".into(), "b.n".into()] },
            ErrorKind::Duplicate => Error::Duplicate { kind: "table", name },
            ErrorKind::TypeMismatch => Error::type_mismatch(message),
            ErrorKind::Grouping => Error::Grouping { message },
            ErrorKind::Windowing => Error::Windowing { message },
            ErrorKind::Bind => Error::bind(message),
            ErrorKind::InvalidCast => Error::InvalidCast { value: message, to: "INTEGER".into() },
            ErrorKind::OutOfRange => Error::out_of_range(message),
            ErrorKind::DivisionByZero => Error::DivisionByZero,
            ErrorKind::InvalidArgument => Error::invalid_argument(message),
            ErrorKind::SubqueryRows => Error::SubqueryRows,
            ErrorKind::NotNull => Error::NotNull { message },
            ErrorKind::Unique => Error::Unique { message },
            ErrorKind::Check => Error::Check { message },
            ErrorKind::ForeignKey => Error::ForeignKey { message },
            ErrorKind::Cardinality => Error::Cardinality { message },
            ErrorKind::Io => Error::io("cannot read", "f", &std::io::ErrorKind::NotFound.into()),
            ErrorKind::DiskFull => Error::DiskFull { action: "cannot write", path: name, reason: NO_SPACE },
            ErrorKind::Corrupt => Error::corrupt(message),
            ErrorKind::Locked => Error::Locked { message },
            ErrorKind::ReadOnly => Error::ReadOnly { message },
            ErrorKind::MalformedFile => Error::MalformedFile { path: name, line: Some(7), message },
            ErrorKind::Interrupted => Error::Interrupted,
            ErrorKind::StatementTimeout => Error::StatementTimeout { limit_ms: 10 },
            ErrorKind::FileAccess => Error::FileAccess { path: name },
            ErrorKind::Forbidden => Error::Forbidden { message },
            ErrorKind::Login => Error::Login { message },
            ErrorKind::External => Error::External { message, cause: Some(Cause(Arc::new(7))) },
            ErrorKind::OutOfMemory => Error::OutOfMemory { requested: 3, used: 2, limit: 4 },
            ErrorKind::Unsupported => Error::Unsupported { feature: name, alternative: Some(message) },
            ErrorKind::Closed => Error::Closed { message },
            ErrorKind::Conflict => Error::Conflict { message },
            ErrorKind::TransactionState => Error::TransactionState { message },
            ErrorKind::Internal => Error::internal(message),
        }
    }

    /// Whether an error is another one with more about it. A new variant does not compile until that is said.
    fn is_wrapped(error: &Error) -> bool {
        match error {
            Error::At { .. }
            | Error::InRow { .. }
            | Error::Indivisible { .. }
            | Error::Valued { .. }
            | Error::Hinted { .. } => true,
            Error::Syntax { .. }
            | Error::UndefinedTable { .. }
            | Error::UndefinedColumn { .. }
            | Error::UndefinedFunction { .. }
            | Error::Ambiguous { .. }
            | Error::Duplicate { .. }
            | Error::TypeMismatch { .. }
            | Error::Grouping { .. }
            | Error::Windowing { .. }
            | Error::Bind { .. }
            | Error::InvalidCast { .. }
            | Error::OutOfRange { .. }
            | Error::DivisionByZero
            | Error::InvalidArgument { .. }
            | Error::SubqueryRows
            | Error::NotNull { .. }
            | Error::Unique { .. }
            | Error::Check { .. }
            | Error::ForeignKey { .. }
            | Error::Cardinality { .. }
            | Error::Io { .. }
            | Error::DiskFull { .. }
            | Error::Corrupt { .. }
            | Error::Locked { .. }
            | Error::ReadOnly { .. }
            | Error::MalformedFile { .. }
            | Error::Interrupted
            | Error::StatementTimeout { .. }
            | Error::FileAccess { .. }
            | Error::Forbidden { .. }
            | Error::Login { .. }
            | Error::External { .. }
            | Error::OutOfMemory { .. }
            | Error::Unsupported { .. }
            | Error::Closed { .. }
            | Error::Conflict { .. }
            | Error::TransactionState { .. }
            | Error::Internal { .. }
            | Error::Told { .. } => false,
        }
    }

    #[test]
    fn what_another_process_said_has_the_kind_of_its_sqlstate() {
        for &kind in ErrorKind::ALL {
            let found = ErrorKind::of_sqlstate(kind.sqlstate());
            assert_eq!(found.sqlstate(), kind.sqlstate());
            let (message, hint) = ("what; why".to_string(), Some("another way".to_string()));
            let detail = Some("in the row with x = 7".to_string());
            let error = Error::Told { kind, message, hint, detail };
            assert_eq!(error.to_string(), "what; why; another way; in the row with x = 7");
            let error = error.at(1, 2, "SELECT");
            assert_eq!((error.kind(), error.message()), (kind, "what; why".to_string()));
            assert_eq!(error.detail().as_deref(), Some("in the row with x = 7"));
            assert_eq!(error.hint().as_deref(), Some("another way"));
        }
        assert_eq!(ErrorKind::of_sqlstate("57P01"), ErrorKind::Closed);
        assert_eq!(ErrorKind::of_sqlstate("ZZZZZ"), ErrorKind::Internal);
    }

    /// The error as it comes out of a statement: with a place, a row, a hint and a reason where each may be.
    fn wrapped(error: &Error) -> Vec<Error> {
        let row = vec![RowValue { column: 0, name: "x".into(), value: "7".into() }];
        vec![
            error.clone().at(1, 8, "SELECT 1 // 0"),
            Error::InRow { error: Box::new(error.clone()), row },
            error.clone().with_hint("another way"),
            error.clone().because("a list lies in one piece"),
            error.clone().at_place(2, 3).with_hint("another way"),
        ]
    }

    #[test]
    fn each_kind_has_an_error_which_keeps_its_kind_and_message_wherever_it_happens() {
        for &kind in ErrorKind::ALL {
            let error = example(kind);
            assert!(!is_wrapped(&error), "{}", kind.name());
            assert_eq!((error.kind(), error.sqlstate()), (kind, kind.sqlstate()), "{error}");
            assert!(error.to_string().starts_with(&error.message()), "{error}");
            for other in wrapped(&error) {
                assert_eq!((other.kind(), other.message()), (kind, error.message()), "{other}");
                assert_eq!(other.root(), &error, "{other}");
            }
        }
    }

    /// PostgreSQL's classes: 22 values, 23 constraints, 40 conflicts, 42 names and types, 53 room, 57 interrupts, 58 and XX ours.
    #[test]
    fn what_transactions_and_programs_ask_goes_by_the_kind() {
        let of = |ask: fn(&Error) -> bool| {
            ErrorKind::ALL.iter().copied().filter(|kind| ask(&example(*kind))).collect::<Vec<_>>()
        };
        assert_eq!(of(|error| error.kind().is_retryable()), [ErrorKind::Conflict]);
        let values = [
            ErrorKind::InvalidCast,
            ErrorKind::OutOfRange,
            ErrorKind::DivisionByZero,
            ErrorKind::InvalidArgument,
        ];
        assert_eq!(of(Error::is_of_values), values);
        let statement = [ErrorKind::Interrupted, ErrorKind::StatementTimeout, ErrorKind::OutOfMemory];
        assert_eq!(of(Error::is_of_statement), statement);
        assert_eq!(of(|error| error.sqlstate().starts_with("XX")), [ErrorKind::Corrupt, ErrorKind::Internal]);
        let constraints = [ErrorKind::NotNull, ErrorKind::Unique, ErrorKind::Check, ErrorKind::ForeignKey];
        assert_eq!(of(|error| error.sqlstate().starts_with("23")), constraints);
    }
}

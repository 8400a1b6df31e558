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
}

impl ErrorKind {
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
            Self::External { .. } => ErrorKind::External,
            Self::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::Closed { .. } => ErrorKind::Closed,
            Self::Conflict { .. } => ErrorKind::Conflict,
            Self::TransactionState { .. } => ErrorKind::TransactionState,
            Self::Internal { .. } => ErrorKind::Internal,
            Self::At { error, .. }
            | Self::InRow { error, .. }
            | Self::Indivisible { error, .. }
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

    #[test]
    fn numbers_count_from_one_and_stay() {
        for (index, kind) in ErrorKind::ALL.iter().enumerate() {
            assert_eq!(usize::from(kind.code()), index + 1, "{}", kind.name());
            assert_eq!(kind.sqlstate().len(), 5, "{}", kind.name());
        }
    }
}

//! What an error says, part by part: the situation, what to do about it, of which row, and where in the text.
//!
//! The whole text ([`Error`]'s `Display`) is message, hint, row and place, one behind the other. Hosts that show them apart get
//! each as it was made; nothing is ever found by looking for punctuation in a text, which may be a user's.

use super::{Error, Place, hint_of_cast, hint_of_names, in_row};
use std::borrow::Cow;

impl Error {
    /// The same error with what to do about it, which its text shows behind a semicolon. An error that has a hint keeps it.
    ///
    /// ```
    /// use inlay_types::Error;
    /// let error = Error::bind("schema \"s\" does not exist").with_hint("CREATE SCHEMA makes it");
    /// assert_eq!(error.to_string(), "schema \"s\" does not exist; CREATE SCHEMA makes it");
    /// assert_eq!(error.message(), "schema \"s\" does not exist");
    /// assert_eq!(error.hint().as_deref(), Some("CREATE SCHEMA makes it"));
    /// ```
    pub fn with_hint(self, hint: impl Into<Cow<'static, str>>) -> Self {
        match self {
            Self::At { error, place } => Self::At { error: Box::new(error.with_hint(hint)), place },
            Self::InRow { error, row } => Self::InRow { error: Box::new(error.with_hint(hint)), row },
            hinted @ Self::Hinted { .. } => hinted,
            other => Self::Hinted { error: Box::new(other), hint: hint.into() },
        }
    }

    /// What to do about it, if that is known: `did you mean "orders"?`.
    pub fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Hinted { hint, .. } => Some(Cow::Borrowed(hint)),
            Self::At { error, .. } | Self::InRow { error, .. } | Self::Indivisible { error, .. } => {
                error.hint()
            }
            Self::UndefinedTable { candidates, .. } | Self::UndefinedColumn { candidates, .. } => {
                candidates.hint().map(Cow::Owned)
            }
            Self::UndefinedFunction { candidates, .. } => hint_of_names(candidates).map(Cow::Owned),
            Self::InvalidCast { value, to } => hint_of_cast(value, to).map(Cow::Owned),
            Self::DivisionByZero => Some(Cow::Borrowed("NULLIF(divisor, 0) gives NULL instead")),
            Self::SubqueryRows => Some(Cow::Borrowed("add LIMIT 1 or an aggregate")),
            Self::Unsupported { alternative, .. } => alternative.as_deref().map(Cow::Borrowed),
            Self::Valued { error, .. } => error.hint(),
            Self::Told { hint, .. } => hint.as_deref().map(Cow::Borrowed),
            Self::Conflict { .. } => Some(Cow::Borrowed("retry the transaction")),
            // A constant of ours.
            Self::DiskFull { reason, .. } => reason.split_once("; ").map(|(_, hint)| Cow::Borrowed(hint)),
            Self::Syntax { .. }
            | Self::Ambiguous { .. }
            | Self::Duplicate { .. }
            | Self::TypeMismatch { .. }
            | Self::Grouping { .. }
            | Self::Windowing { .. }
            | Self::Bind { .. }
            | Self::OutOfRange { .. }
            | Self::InvalidArgument { .. }
            | Self::NotNull { .. }
            | Self::Unique { .. }
            | Self::Check { .. }
            | Self::ForeignKey { .. }
            | Self::Cardinality { .. }
            | Self::Io { .. }
            | Self::Corrupt { .. }
            | Self::Locked { .. }
            | Self::ReadOnly { .. }
            | Self::MalformedFile { .. }
            | Self::Interrupted
            | Self::StatementTimeout { .. }
            | Self::FileAccess { .. }
            | Self::Forbidden { .. }
            | Self::Login { .. }
            | Self::External { .. }
            | Self::OutOfMemory { .. }
            | Self::Closed { .. }
            | Self::TransactionState { .. }
            | Self::Internal { .. } => None,
        }
    }

    /// The same error with a message that shows values of rows.
    pub fn with_values(self, message: impl Into<String>) -> Self {
        Self::Valued { error: Box::new(self), message: message.into() }
    }

    /// The same error without values of rows, for whoever may not read them.
    ///
    /// ```
    /// use inlay_types::Error;
    /// let error = Error::Check { message: "c is violated".to_string() }.with_values("c is violated by 7");
    /// assert_eq!(error.to_string(), "c is violated by 7");
    /// assert_eq!(error.without_values().to_string(), "c is violated");
    /// ```
    pub fn without_values(self) -> Self {
        match self {
            Self::Valued { error, .. } => *error,
            Self::At { error, place } => Self::At { error: Box::new(error.without_values()), place },
            Self::InRow { error, row } => Self::InRow { error: Box::new(error.without_values()), row },
            Self::Hinted { error, hint } => Self::Hinted { error: Box::new(error.without_values()), hint },
            Self::Indivisible { error, reason } => {
                Self::Indivisible { error: Box::new(error.without_values()), reason }
            }
            other => other,
        }
    }

    /// The same error without its place and row, for whoever gives it another.
    pub fn unplaced(self) -> Self {
        match self {
            Self::At { error, .. } | Self::InRow { error, .. } => error.unplaced(),
            other => other,
        }
    }

    /// What happened, without hint, row and place.
    pub fn message(&self) -> String {
        match self {
            Self::At { error, .. }
            | Self::InRow { error, .. }
            | Self::Indivisible { error, .. }
            | Self::Hinted { error, .. } => error.message(),
            Self::Told { message, .. } | Self::Valued { message, .. } => message.clone(),
            own => {
                let mut text = own.to_string();
                // The text ends with the hint exactly as it is.
                if let Some(end) = own.hint().and_then(|hint| {
                    text.strip_suffix(&*hint).and_then(|text| text.strip_suffix("; ")).map(str::len)
                }) {
                    text.truncate(end);
                }
                text
            }
        }
    }

    /// More about it: the row that it happened in, or why memory was needed.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::At { error, .. } | Self::Hinted { error, .. } => error.detail(),
            Self::InRow { row, .. } => in_row(row).strip_prefix("; ").map(str::to_string),
            Self::Indivisible { reason, .. } => Some((*reason).to_string()),
            Self::Told { detail, .. } => detail.clone(),
            _ => None,
        }
    }

    /// The same error, of a statement whose text begins on line `line`, counted from 1, of a larger one: a script, a file. Its place in
    /// the statement's own text is none in that, and goes.
    ///
    /// ```
    /// use inlay_types::Error;
    /// let error = Error::DivisionByZero.at(1, 8, "SELECT 1 // 0").from_line(12);
    /// assert!(error.to_string().contains("line 12: SELECT 1 // 0"));
    /// assert_eq!(error.place().map(|place| (place.line, place.column, place.offset)), Some((12, 8, None)));
    /// ```
    pub fn from_line(self, line: u32) -> Self {
        let above = line.max(1) - 1;
        match self {
            // The text of a view is another one.
            Self::At { error, mut place } if above > 0 && place.of.is_empty() => {
                place.line = place.line.saturating_add(above);
                place.offset = None;
                Self::At { error, place }
            }
            other => other,
        }
    }

    /// Where in the text of the statement it is, if that is known.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::At { place, .. } => Some(place),
            Self::InRow { error, .. } | Self::Indivisible { error, .. } | Self::Hinted { error, .. } => {
                error.place()
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Candidates;
    use crate::error::RowValue;

    #[test]
    fn text_is_message_and_hint_and_nothing_of_a_users_text_is_a_hint() {
        let near = Candidates::from(vec!["\"orders\"".to_string()]);
        let errors = [
            Error::UndefinedTable { name: "a; b".into(), candidates: near },
            Error::InvalidCast { value: "a; b".into(), to: "INTEGER".into() },
            Error::InvalidCast { value: "24.12.2024".into(), to: "DATE".into() },
            Error::DivisionByZero,
            Error::SubqueryRows,
            Error::Conflict { message: "row; changed".into() },
            Error::Unsupported { feature: "x".into(), alternative: Some("y; z".into()) },
            Error::io("cannot write", "f", &std::io::ErrorKind::StorageFull.into()),
            Error::bind("a; b").with_hint("c; d"),
        ];
        for error in errors {
            let hint = error.hint().map(|hint| hint.into_owned());
            let hint = hint.unwrap_or_else(|| panic!("{error} has no hint"));
            assert_eq!(error.to_string(), format!("{}; {hint}", error.message()));
        }
        let said = Error::external("one; two");
        assert_eq!((said.hint(), said.message()), (None, "one; two".to_string()));
    }

    #[test]
    fn parts_are_the_same_wherever_it_happened() {
        let row = vec![RowValue { column: 1, name: "x".into(), value: "7".into() }];
        let error = Error::InRow { error: Box::new(Error::DivisionByZero), row };
        let error = error.at(2, 3, "SELECT\n  a // b").with_hint("another");
        assert_eq!(error.message(), "division by zero");
        assert_eq!(error.detail().as_deref(), Some("in the row with x = 7"));
        let place = error.place().unwrap_or_else(|| panic!("no place"));
        assert_eq!((place.line, place.column, place.offset), (2, 3, Some(10)));
        assert_eq!(error.hint().as_deref(), Some("another"));
    }

    #[test]
    fn offsets_count_characters() {
        let place = |line, column, sql: &str| match Error::DivisionByZero.at(line, column, sql) {
            Error::At { place, .. } => place.offset,
            _ => None,
        };
        assert_eq!(place(1, 1, "x"), Some(1));
        assert_eq!(place(2, 1, "äöü\r\nx"), Some(6));
        assert_eq!(place(3, 2, "a\n\nbc"), Some(5));
        assert_eq!(place(1, 3, ""), None);
    }
}

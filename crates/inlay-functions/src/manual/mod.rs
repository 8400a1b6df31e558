//! Everything that can be called, in one list: the manual, `inlay_functions()` and completion are made from it.
//!
//! Scalar functions, aggregates and window functions describe themselves in the tables of [`crate::registry`]. What the binder or the
//! executor turns into something else (COALESCE, table functions) is described in the tables here.

mod forms;
pub mod parameters;

use crate::{aggregates, tables, windows};
use inlay_kernels::function::{NullHandling, Volatility};

/// What kind of call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A symbol between or before its operands.
    Operator,
    /// One value per row.
    Scalar,
    /// One value per group.
    Aggregate,
    /// One value per row, from the rows around it.
    Window,
    /// Rows; stands in FROM.
    Table,
}

impl Kind {
    /// As the manual and `inlay_functions()` name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Scalar => "scalar",
            Self::Aggregate => "aggregate",
            Self::Window => "window",
            Self::Table => "table",
        }
    }

    /// Whether it is called by name in an expression.
    pub fn is_called_in_expressions(self) -> bool {
        match self {
            Self::Scalar | Self::Aggregate | Self::Window => true,
            Self::Operator | Self::Table => false,
        }
    }
}

/// The chapter of the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// `+`, `||` and their names.
    Operator,
    /// Choices, NULLs, hashes, errors.
    General,
    /// Numbers.
    Numeric,
    /// Texts.
    Text,
    /// LIKE and regular expressions.
    Pattern,
    /// Dates, times, intervals.
    Date,
    /// Bytes and encodings.
    Blob,
    /// Bit strings.
    Bit,
    /// UUIDs.
    Uuid,
    /// Lists and arrays.
    List,
    /// Structs and unions.
    Struct,
    /// Maps.
    Map,
    /// Enums.
    Enum,
    /// JSON.
    Json,
    /// One value per group.
    Aggregate,
    /// One value per row, from the rows around it.
    Window,
    /// Tables from functions.
    Table,
    /// The session and the database.
    System,
}

impl Category {
    /// As the manual and `inlay_functions()` name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::General => "general",
            Self::Numeric => "numeric",
            Self::Text => "text",
            Self::Pattern => "pattern",
            Self::Date => "date",
            Self::Blob => "blob",
            Self::Bit => "bit",
            Self::Uuid => "uuid",
            Self::List => "list",
            Self::Struct => "struct",
            Self::Map => "map",
            Self::Enum => "enum",
            Self::Json => "json",
            Self::Aggregate => "aggregate",
            Self::Window => "window",
            Self::Table => "table",
            Self::System => "system",
        }
    }
}

/// A call and what it gives: `call = result`, both SQL. `SELECT call` gives the text that `SELECT result` gives, several
/// rows joined by a comma and a space. A call may bring its FROM. Without ` = ` the call only runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// What stands behind SELECT.
    pub call: &'static str,
    /// A literal or another call of the same value.
    pub result: Option<&'static str>,
}

impl Example {
    fn parse(text: &'static str) -> Self {
        match text.rsplit_once(" = ") {
            Some((call, result)) => Self { call, result: Some(result) },
            None => Self { call: text, result: None },
        }
    }
}

/// A call that no table of functions holds, as described here.
#[derive(Clone, Copy)]
pub struct Described {
    /// Canonical lower-case name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What kind of call it is.
    pub kind: Kind,
    /// The chapter.
    pub category: Category,
    /// The ways to call it.
    pub signatures: &'static [&'static str],
    /// One line: what it gives.
    pub description: &'static str,
    /// See [`Example`].
    pub example: &'static str,
}

/// One entry of the list.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Canonical lower-case name, or the symbol of an operator.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What kind of call it is.
    pub kind: Kind,
    /// The chapter.
    pub category: Category,
    /// The ways to call it.
    pub signatures: Vec<String>,
    /// One line: what it gives.
    pub description: &'static str,
    /// A call and what it gives.
    pub example: Example,
    /// Whether it may be computed once.
    pub volatility: Volatility,
    /// What it makes of NULL arguments.
    pub null_handling: NullHandling,
}

/// The ways to call what the binder turns into something else, by its name or another one in lower case.
pub fn signatures_of_form(name: &str) -> Option<&'static [&'static str]> {
    let is_called = |form: &&Described| form.name == name || form.aliases.contains(&name);
    let mut forms = forms::FORMS.iter().filter(|form| form.kind.is_called_in_expressions());
    forms.find(is_called).map(|form| form.signatures)
}

/// Everything that can be called.
pub fn all() -> impl Iterator<Item = Entry> {
    let scalars = tables::TABLES.iter().flat_map(|table| {
        table.functions.iter().map(|function| Entry {
            name: function.name,
            aliases: function.aliases,
            kind: if function.is_operator() { Kind::Operator } else { Kind::Scalar },
            category: table.category,
            signatures: function.signatures(),
            description: function.description,
            example: Example::parse(function.example),
            volatility: function.volatility,
            null_handling: function.null_handling,
        })
    });
    let aggregates = aggregates::all().map(|aggregate| Entry {
        name: aggregate.name,
        aliases: aggregate.aliases,
        kind: Kind::Aggregate,
        category: Category::Aggregate,
        signatures: aggregate.signature.lines().map(str::to_string).collect(),
        description: aggregate.description,
        example: Example::parse(aggregate.example),
        volatility: Volatility::Immutable,
        null_handling: NullHandling::Special,
    });
    let windows = windows::all().map(|window| Entry {
        name: window.name,
        aliases: window.aliases,
        kind: Kind::Window,
        category: Category::Window,
        signatures: vec![window.signature.to_string()],
        description: window.description,
        example: Example::parse(window.example),
        volatility: Volatility::Immutable,
        null_handling: NullHandling::Special,
    });
    let described = forms::FORMS.iter().map(|form| Entry {
        name: form.name,
        aliases: form.aliases,
        kind: form.kind,
        category: form.category,
        signatures: form.signatures.iter().map(|s| (*s).to_string()).collect(),
        description: form.description,
        example: Example::parse(form.example),
        volatility: Volatility::Stable,
        null_handling: NullHandling::Special,
    });
    scalars.chain(aggregates).chain(windows).chain(described)
}

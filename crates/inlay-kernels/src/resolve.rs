//! What a function is resolved by, and what comes out: types of arguments, settings of the session, the loop.
//!
//! The library of functions (`inlay-functions`) finds a function by its name and these; the loops here know no names.

use crate::coercion::implicit_cost;
use crate::function::{ScalarKernel, Specialize};
use crate::random::Randomness;
use crate::zone::Zone;
use inlay_types::{LogicalType, Value};
use std::sync::Arc;

/// What the binder knows of an argument.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgType {
    /// The type as bound; `Null` for a bare NULL, VARCHAR for a string literal.
    pub ty: LogicalType,
    /// A literal as written: a string or NULL literal takes the other side's type, an integer literal a narrower one.
    pub is_literal: bool,
    /// The number of an integer literal.
    pub integer: Option<i128>,
    /// The text of a string literal.
    pub text: Option<Arc<str>>,
    /// The name of `name := value`.
    pub name: Option<Arc<str>>,
}

impl ArgType {
    /// An argument that is no literal.
    pub fn of(ty: LogicalType) -> Self {
        Self { ty, is_literal: false, integer: None, text: None, name: None }
    }

    /// A literal as written.
    pub fn literal(value: &Value) -> Self {
        let ty = value.logical_type();
        let integer = if ty.is_integer() { value.as_i128() } else { None };
        let text = value.as_str().map(Arc::from);
        Self { ty, is_literal: true, integer, text, name: None }
    }

    /// The type this argument takes beside one of type `other`: literals adapt.
    pub fn adapted_to(&self, other: &LogicalType) -> LogicalType {
        if self.ty == LogicalType::Null {
            return other.clone();
        }
        if !self.is_literal {
            return self.ty.clone();
        }
        match self.integer {
            None if self.ty == LogicalType::Varchar && *other != LogicalType::Null => other.clone(),
            Some(number) if other.is_integer() && holds(other, number) => other.clone(),
            _ => self.ty.clone(),
        }
    }

    fn shown(&self) -> String {
        if self.is_literal && self.ty == LogicalType::Null { "NULL".into() } else { self.ty.to_string() }
    }
}

/// What it costs to pass an argument to a parameter of type `wanted`; `None`: it does not fit.
pub fn argument_cost(arg: &ArgType, wanted: &LogicalType) -> Option<u32> {
    let literal_fits = arg.is_literal && arg.ty == LogicalType::Varchar
        || arg.integer.is_some_and(|n| wanted.is_integer() && holds(wanted, n));
    implicit_cost(&arg.ty, wanted).or(literal_fits.then_some(2))
}

/// Whether an integer type holds `number`.
fn holds(ty: &LogicalType, number: i128) -> bool {
    let bits = ty.physical().size() as u32 * 8;
    let is_unsigned = matches!(
        ty,
        LogicalType::UTinyInt
            | LogicalType::USmallInt
            | LogicalType::UInteger
            | LogicalType::UBigInt
            | LogicalType::UHugeInt
    );
    match (is_unsigned, bits) {
        (true, 128) => number >= 0,
        (false, 128) => true,
        (true, bits) => number >= 0 && number < 1 << bits,
        (false, bits) => number >= -(1 << (bits - 1)) && number < 1 << (bits - 1),
    }
}

/// Numbers of a statement's surroundings, given in the order of time within a database.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ids {
    /// Of the connection.
    pub connection: u64,
    /// Of the transaction.
    pub transaction: u64,
    /// Of the statement.
    pub query: u64,
}

/// Whose SQL a session speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Inlay's own.
    #[default]
    Inlay,
    /// SQLite's, where it means something else by the same words.
    Sqlite,
}

/// Settings that change which function a name means, or what it gives.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolveOptions {
    /// Whose SQL it is.
    pub dialect: Dialect,
    /// `/` of two integers is integer division (as in PostgreSQL), not floating-point division.
    pub integer_division: bool,
    /// The session's time zone.
    pub zone: Arc<Zone>,
    /// A text becomes a BLOB as PostgreSQL's bytea is written, for its dumps: `'\\x00ff'` is two bytes.
    pub bytea: bool,
    /// When the transaction began, in microseconds since 1970 (UTC); the system's clock if unknown.
    pub now: Option<i64>,
    /// What `current_query_id()` and others give.
    pub ids: Ids,
    /// The session's random numbers.
    pub random: Arc<Randomness>,
}

impl Default for ResolveOptions {
    fn default() -> Self {
        Self {
            dialect: Dialect::default(),
            integer_division: false,
            zone: Zone::utc(),
            bytea: false,
            now: None,
            ids: Ids::default(),
            random: Arc::default(),
        }
    }
}

/// A function resolved for argument types, before it gets its name.
pub struct Resolved {
    /// Exact types of the arguments.
    pub arg_types: Vec<LogicalType>,
    /// Type of the result.
    pub return_type: LogicalType,
    /// The loop.
    pub kernel: Arc<dyn ScalarKernel>,
    /// Whether some arguments make it fail.
    pub can_fail: bool,
    /// Makes a faster loop for constant arguments.
    pub specialize: Option<Specialize>,
}

impl Resolved {
    /// A function that fails for some arguments.
    pub fn fallible(
        arg_types: Vec<LogicalType>,
        return_type: LogicalType,
        kernel: Arc<dyn ScalarKernel>,
    ) -> Self {
        Self { arg_types, return_type, kernel, can_fail: true, specialize: None }
    }

    /// A function that never fails.
    pub fn infallible(
        arg_types: Vec<LogicalType>,
        return_type: LogicalType,
        kernel: Arc<dyn ScalarKernel>,
    ) -> Self {
        Self { arg_types, return_type, kernel, can_fail: false, specialize: None }
    }
}

/// Types of arguments, for messages.
pub fn shown_types(args: &[ArgType]) -> String {
    args.iter().map(ArgType::shown).collect::<Vec<_>>().join(", ")
}

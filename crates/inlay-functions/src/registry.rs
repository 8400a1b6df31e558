//! All SQL functions, as data, and their resolution by name and argument types.
//!
//! [`crate::tables`] and [`crate::aggregates`] hold the tables. From them come resolution, error messages, completion
//! and the manual ([`crate::manual`]). Names are found in maps made once. The binder calls [`resolve_scalar`] and
//! [`resolve_aggregate`] and casts the arguments to the types it gets back.

use crate::aggregates::{self, Aggregate};
use crate::dates::zoned::{AtLocalTime, InZone, ZonedLoop};
use crate::manual::{self, Category};
use crate::{tables, windows, working};
use inlay_kernels::function::{
    AggregateFunction, NullHandling, ScalarFunction, ScalarKernel, Specialize, Volatility, WindowFunction,
};
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved, argument_cost, shown_types};
use inlay_types::{Error, LogicalType, Result, Vector};
use std::borrow::Cow;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::sync::{Arc, LazyLock};

/// A loop as the tables hold it.
pub type Loop = fn(&[&Vector], usize, &mut Vector) -> Result<()>;

/// One overload: exact argument types, result type and loop.
#[derive(Clone)]
pub struct Signature {
    /// Types of the arguments; a variadic function takes the last one once or more often.
    pub args: &'static [LogicalType],
    /// Whether the last argument repeats.
    pub variadic: bool,
    /// Type of the result. Never dropped: signatures lie in constants, where only types without payload can stand, and
    /// constants with destructors cannot be nested. A function of nested types is [`Overloads::Typed`].
    pub returns: ManuallyDrop<LogicalType>,
    /// The loop.
    pub kernel: Loop,
    /// Makes a faster loop for constant arguments.
    pub specialize: Option<Specialize>,
    /// What the loop wants with the session's time zone.
    pub(crate) zone: ZoneUse,
}

/// What a loop wants with the session's time zone.
#[derive(Clone, Copy)]
pub(crate) enum ZoneUse {
    /// Nothing.
    None,
    /// It is given TIMESTAMPs at local time where the signature says TIMESTAMPTZ, and gives one if that says so.
    LocalTime,
    /// It is given the zone.
    Given(ZonedLoop),
}

impl Signature {
    /// An overload without variadic arguments.
    pub const fn new(args: &'static [LogicalType], returns: LogicalType, kernel: Loop) -> Self {
        let returns = ManuallyDrop::new(returns);
        Self { args, variadic: false, returns, kernel, specialize: None, zone: ZoneUse::None }
    }

    /// An overload whose loop is given the session's time zone.
    pub(crate) const fn zoned(args: &'static [LogicalType], returns: LogicalType, kernel: ZonedLoop) -> Self {
        let mut signature =
            Self::new(args, returns, |_, _, _| Err(Error::internal("a loop was given no zone")));
        signature.zone = ZoneUse::Given(kernel);
        signature
    }

    /// The same with TIMESTAMPTZ as TIMESTAMP at local time.
    pub(crate) const fn at_local_time(mut self) -> Self {
        self.zone = ZoneUse::LocalTime;
        self
    }

    /// The loop for a session.
    pub(crate) fn kernel_for(&self, options: &ResolveOptions) -> Arc<dyn ScalarKernel> {
        let zone = Arc::clone(&options.zone);
        match self.zone {
            ZoneUse::None => Arc::new(self.kernel),
            ZoneUse::Given(kernel) => Arc::new(InZone { zone, kernel }),
            ZoneUse::LocalTime => {
                Arc::new(AtLocalTime { zone, kernel: self.kernel, returns: (*self.returns).clone() })
            }
        }
    }

    /// The same with its last argument repeating.
    pub const fn variadic(mut self) -> Self {
        self.variadic = true;
        self
    }

    /// The same with a faster loop for constants.
    pub const fn specialized(mut self, specialize: Specialize) -> Self {
        self.specialize = Some(specialize);
        self
    }

    fn arg(&self, index: usize) -> Option<&LogicalType> {
        match self.args.get(index) {
            Some(ty) => Some(ty),
            None if self.variadic => self.args.last(),
            None => None,
        }
    }

    /// The sum of the casts' costs, if the arguments fit.
    fn cost(&self, args: &[ArgType]) -> Option<u32> {
        if args.len() < self.args.len() || (args.len() > self.args.len() && !self.variadic) {
            return None;
        }
        let mut total = 0;
        for (index, arg) in args.iter().enumerate() {
            total += argument_cost(arg, self.arg(index)?)?;
        }
        Some(total)
    }

    fn shown(&self, name: &str) -> String {
        let args: Vec<String> = self.args.iter().map(ToString::to_string).collect();
        format!(
            "{name}({}{}) -> {}",
            args.join(", "),
            if self.variadic { ", ..." } else { "" },
            *self.returns
        )
    }
}

/// How a function is resolved.
#[derive(Clone, Copy)]
pub enum Overloads {
    /// The cheapest of these.
    Fixed(&'static [Signature]),
    /// By rules on types; `shown` says what there is. `None`: the types do not fit.
    Typed {
        /// Signatures for messages and the manual.
        shown: &'static [&'static str],
        /// The rules.
        resolve: Resolve,
    },
    /// The same by rules that explain what is wrong.
    Explained {
        /// Signatures for messages and the manual.
        shown: &'static [&'static str],
        /// The rules.
        resolve: fn(&[ArgType], &ResolveOptions) -> Result<Option<Resolved>>,
    },
}

/// Rules on types, see [`Overloads::Typed`].
pub type Resolve = fn(&[ArgType], &ResolveOptions) -> Option<Resolved>;

/// A scalar function as declared.
#[derive(Clone, Copy)]
pub struct Function {
    /// Canonical lower-case name, or the symbol of an operator.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// One line: what it gives.
    pub description: &'static str,
    /// A call and what it gives, for the manual; see [`crate::manual::Example`].
    pub example: &'static str,
    /// See [`NullHandling`].
    pub null_handling: NullHandling,
    /// See [`Volatility`].
    pub volatility: Volatility,
    /// Whether some arguments make it fail.
    pub can_fail: bool,
    /// See [`Overloads`].
    pub overloads: Overloads,
}

impl Function {
    /// An immutable function of fixed signatures that gives NULL for NULL and never fails.
    pub const fn new(
        name: &'static str,
        overloads: Overloads,
        description: &'static str,
        example: &'static str,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            description,
            example,
            null_handling: NullHandling::Propagate,
            volatility: Volatility::Immutable,
            can_fail: false,
            overloads,
        }
    }

    /// The same by rules on types, which say themselves whether it fails.
    pub const fn typed(
        name: &'static str,
        shown: &'static [&'static str],
        resolve: Resolve,
        description: &'static str,
        example: &'static str,
    ) -> Self {
        Self::new(name, Overloads::Typed { shown, resolve }, description, example)
    }

    /// The same under other names as well.
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// The same, failing for some arguments.
    pub const fn fallible(mut self) -> Self {
        self.can_fail = true;
        self
    }

    /// The same, deciding itself what NULL arguments mean.
    pub const fn special_nulls(mut self) -> Self {
        self.null_handling = NullHandling::Special;
        self
    }

    /// The same with another volatility.
    pub const fn volatile(mut self, volatility: Volatility) -> Self {
        self.volatility = volatility;
        self
    }

    pub(crate) fn is_operator(&self) -> bool {
        !self.name.starts_with(|c: char| c.is_ascii_alphabetic())
    }

    /// The signatures as text.
    pub fn signatures(&self) -> Vec<String> {
        match self.overloads {
            Overloads::Fixed(signatures) => signatures.iter().map(|s| s.shown(self.name)).collect(),
            Overloads::Typed { shown, .. } | Overloads::Explained { shown, .. } => {
                shown.iter().map(|s| (*s).to_string()).collect()
            }
        }
    }
}

/// The functions of one family.
pub struct Table {
    /// Where the manual lists them.
    pub category: Category,
    /// The functions.
    pub functions: &'static [Function],
}

/// All scalar functions and operators.
pub fn all_functions() -> impl Iterator<Item = &'static Function> {
    tables::TABLES.iter().flat_map(|table| table.functions.iter())
}

/// Functions by name and alias, in lower case. A name of texts and of lists stands in two tables: the first that fits.
static SCALARS: LazyLock<HashMap<&str, Vec<&Function>>> = LazyLock::new(|| {
    let mut found: HashMap<&str, Vec<&Function>> = HashMap::new();
    for function in all_functions() {
        names_of(function.name, function.aliases)
            .for_each(|name| found.entry(name).or_default().push(function));
    }
    found
});

static AGGREGATES: LazyLock<HashMap<&str, &Aggregate>> = LazyLock::new(|| {
    let named = |a: &'static Aggregate| names_of(a.name, a.aliases).map(move |name| (name, a));
    aggregates::all().flat_map(named).collect()
});

fn names_of(
    name: &'static str,
    aliases: &'static [&'static str],
) -> impl Iterator<Item = &'static str> + use<> {
    std::iter::once(name).chain(aliases.iter().copied())
}

/// Names are declared in lower case.
fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

fn scalars(name: &str) -> &'static [&'static Function] {
    SCALARS.get(&*lower(name)).map_or(&[], Vec::as_slice)
}

fn aggregate(name: &str) -> Option<&'static Aggregate> {
    AGGREGATES.get(&*lower(name)).copied()
}

/// Names of everything that can be called in an expression, without operators; for hints at near names.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    let callable = manual::all().filter(|entry| entry.kind.is_called_in_expressions());
    callable.flat_map(|entry| names_of(entry.name, entry.aliases))
}

/// Whether a window function of this name (any case) exists that is no aggregate.
pub fn is_window(name: &str) -> bool {
    windows::all().any(|w| w.is_called(name))
}

/// The window function `name` for these arguments.
pub fn resolve_window(name: &str, args: &[ArgType]) -> Result<WindowFunction> {
    let window = windows::all().find(|w| w.is_called(name)).ok_or_else(|| unknown(name))?;
    window.resolve(args).ok_or_else(|| Error::UndefinedFunction {
        message: format!("no function {}({})", window.name, shown_types(args)),
        candidates: vec![window.signature.to_string()],
    })
}

/// Whether an aggregate of this name (any case) exists.
pub fn is_aggregate(name: &str) -> bool {
    aggregate(name).is_some()
}

/// Whether a scalar function of this name (any case) exists.
pub fn scalar_exists(name: &str) -> bool {
    !scalars(name).is_empty()
}

/// The scalar function or operator `name` for these arguments. Operators are named by their symbol; unary minus is `-`
/// with one argument. The binder casts the arguments to the function's `arg_types`.
pub fn resolve_scalar(name: &str, args: &[ArgType], options: &ResolveOptions) -> Result<Arc<ScalarFunction>> {
    let functions = scalars(name);
    let Some(last) = functions.last() else { return Err(unknown(name)) };
    for &function in functions {
        if let Some(resolved) = resolve_one(function, args, options)? {
            let kernel = working::asking(function.name, &resolved.arg_types, resolved.kernel);
            return Ok(Arc::new(ScalarFunction {
                name: function.name.into(),
                arg_types: resolved.arg_types,
                return_type: resolved.return_type,
                null_handling: function.null_handling,
                volatility: function.volatility,
                can_fail: resolved.can_fail,
                kernel,
                specialize: resolved.specialize,
                external: None,
            }));
        }
    }
    let candidates = functions.iter().flat_map(|function| function.signatures()).collect();
    let called = functions.iter().find(|function| function.name == lower(name)).unwrap_or(last);
    Err(no_overload(called, args, candidates))
}

fn resolve_one(function: &Function, args: &[ArgType], options: &ResolveOptions) -> Result<Option<Resolved>> {
    let signatures = match function.overloads {
        Overloads::Typed { resolve, .. } => return Ok(resolve(args, options)),
        Overloads::Explained { resolve, .. } => return resolve(args, options),
        Overloads::Fixed(signatures) => signatures,
    };
    Ok(cheapest(signatures, args).map(|signature| Resolved {
        arg_types: (0..args.len()).filter_map(|index| signature.arg(index).cloned()).collect(),
        return_type: (*signature.returns).clone(),
        kernel: signature.kernel_for(options),
        can_fail: function.can_fail,
        specialize: signature.specialize,
    }))
}

fn cheapest<'a>(signatures: &'a [Signature], args: &[ArgType]) -> Option<&'a Signature> {
    let fitting = signatures.iter().filter_map(|s| Some((s.cost(args)?, s)));
    fitting.min_by_key(|(cost, _)| *cost).map(|(_, signature)| signature)
}

/// The aggregate function `name` for these arguments; `count` without arguments is `count(*)`.
pub fn resolve_aggregate(name: &str, args: &[ArgType]) -> Result<AggregateFunction> {
    let aggregate = aggregate(name).ok_or_else(|| unknown(name))?;
    (aggregate.resolve)(args).ok_or_else(|| Error::UndefinedFunction {
        message: format!("no function {}({})", aggregate.name, shown_types(args)),
        candidates: aggregate.signature.lines().map(str::to_string).collect(),
    })
}

/// Positions of the arguments of an aggregate (any case) that must be constant.
pub fn constant_arguments(name: &str) -> &'static [usize] {
    aggregate(name).map_or(&[], |aggregate| aggregate.constants)
}

fn unknown(name: &str) -> Error {
    let near = near_names(name, function_names());
    Error::UndefinedFunction { message: format!("function \"{name}\" does not exist"), candidates: near }
}

/// Names at most two edits, or a third of the length, away; nearest first, at most three.
fn near_names(name: &str, names: impl Iterator<Item = &'static str>) -> Vec<String> {
    let name = name.to_ascii_lowercase();
    let limit = (name.chars().count() / 3).clamp(1, 2);
    let mut near: Vec<(usize, &str)> = names
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= limit)
        .map(|candidate| {
            (inlay_kernels::distance::edit_distance(name.as_bytes(), candidate.as_bytes()), candidate)
        })
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(3).map(|(_, name)| name.to_string()).collect()
}

/// Why two decimals cannot be multiplied: each brings its digits behind the point.
fn scales_hint(left: &LogicalType, right: &LogicalType) -> String {
    let (LogicalType::Decimal { scale: left, .. }, LogicalType::Decimal { scale: right, .. }) = (left, right)
    else {
        return String::new();
    };
    let needed = u32::from(*left) + u32::from(*right);
    format!(
        "; their product has {needed} digits behind the point, and a DECIMAL at most 38: cast one of them to DOUBLE, or to \
         fewer digits"
    )
}

fn no_overload(function: &Function, args: &[ArgType], candidates: Vec<String>) -> Error {
    let types = shown_types(args);
    if function.is_operator() {
        let hint = match (function.name, args) {
            (_, args) if args.iter().any(|a| a.ty == LogicalType::Varchar) => {
                "; cast the text to the type meant".to_string()
            }
            ("*", [left, right]) => scales_hint(&left.ty, &right.ty),
            _ => String::new(),
        };
        return Error::type_mismatch(format!("no operator {} for ({types}){hint}", function.name));
    }
    Error::UndefinedFunction { message: format!("no function {}({types})", function.name), candidates }
}

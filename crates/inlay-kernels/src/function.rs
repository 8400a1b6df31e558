//! What a SQL function is: declared as data, resolved by the binder, called by expression programs.
//!
//! [`crate::registry`] holds the tables of all functions. The binder asks it for a name and argument types
//! and gets a [`ScalarFunction`] or an [`AggregateFunction`] with the exact argument types (it inserts the
//! casts) and the return type. Everything downstream calls [`ScalarKernel::eval`].

use crate::aggregate::GroupedAccumulator;
use crate::external::External;
use inlay_types::{LogicalType, Result, Value, Vector};
use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The loop behind a scalar function.
///
/// Contract: `args` have the resolved argument types and `len` rows each, of any kind (flat, constant,
/// dictionary). `out` is scratch that the kernel resets to the return type; it may leave a constant or a
/// dictionary in it. Kernels of functions with [`NullHandling::Propagate`] set the validity of the result to the
/// and of the arguments' and never fail because of values at NULL rows.
pub trait ScalarKernel: Send + Sync {
    /// Computes `len` rows into `out`.
    fn eval(&self, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()>;
}

impl<F> ScalarKernel for F
where
    F: Fn(&[&Vector], usize, &mut Vector) -> Result<()> + Send + Sync,
{
    fn eval(&self, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
        self(args, len, out)
    }
}

/// A kernel from a function of vectors.
pub fn kernel<F>(f: F) -> Arc<dyn ScalarKernel>
where
    F: Fn(&[&Vector], usize, &mut Vector) -> Result<()> + Send + Sync + 'static,
{
    Arc::new(f)
}

/// What a function makes of NULL arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullHandling {
    /// NULL in, NULL out.
    Propagate,
    /// The function decides (concat, coalesce-like).
    Special,
}

/// Whether a call may be computed once, or once per distinct value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Same arguments, same result, always.
    Immutable,
    /// Same within a statement (`now()`).
    Stable,
    /// Different at each call (`random()`).
    Volatile,
}

/// Makes a faster kernel when some arguments are constants (a compiled LIKE pattern). `None`: keep the general one.
pub type Specialize = fn(constants: &[Option<Value>]) -> Result<Option<Arc<dyn ScalarKernel>>>;

/// A scalar function resolved for given argument types.
#[derive(Clone)]
pub struct ScalarFunction {
    /// Canonical lower-case name; operators are named by their symbol, functions of a host as they were made.
    pub name: Cow<'static, str>,
    /// Exact types of the arguments; the binder casts to them.
    pub arg_types: Vec<LogicalType>,
    /// Type of the result.
    pub return_type: LogicalType,
    /// See [`NullHandling`].
    pub null_handling: NullHandling,
    /// See [`Volatility`].
    pub volatility: Volatility,
    /// Whether some arguments make it fail (overflow, division by zero): such calls are never evaluated
    /// speculatively or hoisted over a filter.
    pub can_fail: bool,
    /// The loop.
    pub kernel: Arc<dyn ScalarKernel>,
    /// See [`Specialize`].
    pub specialize: Option<Specialize>,
    /// The function of a host that the loop calls.
    pub external: Option<Arc<External>>,
}

impl fmt::Debug for ScalarFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:?}) -> {}", self.name, self.arg_types, self.return_type)
    }
}

impl PartialEq for ScalarFunction {
    /// Same name, same types: the kernel follows from them. Functions of a host are only the same as themselves.
    fn eq(&self, other: &Self) -> bool {
        let is_same = match (&self.external, &other.external) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        is_same
            && self.name == other.name
            && self.arg_types == other.arg_types
            && self.return_type == other.return_type
    }
}

/// Which aggregate; the accumulators are in [`crate::aggregate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateKind {
    /// `count(*)`: rows.
    CountStar,
    /// `count(x)`: non-NULL values.
    Count,
    /// `sum`
    Sum,
    /// `avg`
    Avg,
    /// `min`
    Min,
    /// `max`
    Max,
    /// `first`, `any_value`: some value (the first in input order with one worker); `first` keeps NULL.
    First,
    /// `any_value`: some non-NULL value.
    AnyValue,
    /// `bool_and`
    BoolAnd,
    /// `bool_or`
    BoolOr,
    /// `stddev_samp`
    StddevSamp,
    /// `stddev_pop`
    StddevPop,
    /// `var_samp`
    VarSamp,
    /// `var_pop`
    VarPop,
    /// `string_agg(x, separator)`
    StringAgg,
    /// `corr(y, x)`
    Corr,
    /// `covar_pop(y, x)`
    CovarPop,
    /// `covar_samp(y, x)`
    CovarSamp,
    /// `arg_min(value, by)`
    ArgMin,
    /// `arg_max(value, by)`
    ArgMax,
    /// `approx_count_distinct`
    ApproxCountDistinct,
    /// `product`
    Product,
    /// `bit_and`
    BitAnd,
    /// `bit_or`
    BitOr,
    /// `bit_xor`
    BitXor,
    /// `mode`
    Mode,
    /// Any other, known by its rules.
    Declared(&'static AggregateRules),
}

impl AggregateKind {
    /// Whether the result depends on the order of the rows.
    pub fn is_order_sensitive(self) -> bool {
        match self {
            Self::First | Self::AnyValue | Self::StringAgg | Self::ArgMin | Self::ArgMax | Self::Mode => true,
            Self::Declared(rules) => rules.is_order_sensitive,
            Self::CountStar | Self::Count | Self::Sum | Self::Avg | Self::Min | Self::Max => false,
            Self::BoolAnd | Self::BoolOr | Self::BitAnd | Self::BitOr | Self::BitXor | Self::Product => false,
            Self::StddevSamp | Self::StddevPop | Self::VarSamp | Self::VarPop => false,
            Self::Corr | Self::CovarPop | Self::CovarSamp | Self::ApproxCountDistinct => false,
        }
    }

    /// Whether the result depends on how often a value occurs.
    pub fn is_distinct_sensitive(self) -> bool {
        match self {
            Self::Min | Self::Max | Self::AnyValue | Self::First | Self::BoolAnd | Self::BoolOr => false,
            Self::BitAnd | Self::BitOr | Self::ArgMin | Self::ArgMax | Self::ApproxCountDistinct => false,
            Self::Declared(rules) => rules.is_distinct_sensitive,
            Self::CountStar | Self::Count | Self::Sum | Self::Avg | Self::Product | Self::BitXor => true,
            Self::StddevSamp | Self::StddevPop | Self::VarSamp | Self::VarPop => true,
            Self::Corr | Self::CovarPop | Self::CovarSamp | Self::StringAgg | Self::Mode => true,
        }
    }

    /// Whether the result over no rows is zero; it is NULL otherwise.
    pub fn is_zero_of_nothing(self) -> bool {
        match self {
            Self::Count | Self::CountStar | Self::ApproxCountDistinct => true,
            Self::Declared(rules) => rules.is_zero_of_nothing,
            Self::Sum | Self::Avg | Self::Product | Self::Min | Self::Max | Self::First | Self::AnyValue => {
                false
            }
            Self::BoolAnd | Self::BoolOr | Self::BitAnd | Self::BitOr | Self::BitXor | Self::Mode => false,
            Self::StddevSamp | Self::StddevPop | Self::VarSamp | Self::VarPop | Self::StringAgg => false,
            Self::Corr | Self::CovarPop | Self::CovarSamp | Self::ArgMin | Self::ArgMax => false,
        }
    }
}

/// Makes the accumulator of a function; the second argument is that of [`crate::aggregate::create`].
pub type CreateAccumulator = fn(&AggregateFunction, bool) -> Result<Box<dyn GroupedAccumulator>>;

/// What the optimizer and the executor must know of an aggregate function that has no name of its own among
/// [`AggregateKind`]s.
pub struct AggregateRules {
    /// Tells rules apart.
    pub name: &'static str,
    /// See [`AggregateKind::is_order_sensitive`].
    pub is_order_sensitive: bool,
    /// See [`AggregateKind::is_distinct_sensitive`].
    pub is_distinct_sensitive: bool,
    /// See [`AggregateKind::is_zero_of_nothing`].
    pub is_zero_of_nothing: bool,
    /// Makes the accumulator.
    pub create: CreateAccumulator,
}

impl AggregateRules {
    /// A function of all values in any order that is NULL over nothing.
    pub const fn new(name: &'static str, create: CreateAccumulator) -> Self {
        Self {
            name,
            is_order_sensitive: false,
            is_distinct_sensitive: true,
            is_zero_of_nothing: false,
            create,
        }
    }

    /// The same, depending on the order of the rows.
    pub const fn ordered(mut self) -> Self {
        self.is_order_sensitive = true;
        self
    }

    /// The same, not depending on how often a value occurs.
    pub const fn idempotent(mut self) -> Self {
        self.is_distinct_sensitive = false;
        self
    }

    /// The same, zero over nothing.
    pub const fn zero_of_nothing(mut self) -> Self {
        self.is_zero_of_nothing = true;
        self
    }
}

impl PartialEq for AggregateRules {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for AggregateRules {}

impl Hash for AggregateRules {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for AggregateRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// An aggregate function resolved for given argument types.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateFunction {
    /// Canonical lower-case name; functions of a host are named as they were made.
    pub name: Cow<'static, str>,
    /// Which accumulator.
    pub kind: AggregateKind,
    /// Exact types of the arguments; the binder casts to them.
    pub arg_types: Vec<LogicalType>,
    /// Type of the result.
    pub return_type: LogicalType,
    /// The function of a host that the accumulator calls.
    pub external: Option<Arc<External>>,
}

/// Which window function; what they compute is in the window operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowKind {
    /// `row_number`
    RowNumber,
    /// `rank`
    Rank,
    /// `dense_rank`
    DenseRank,
    /// `percent_rank`
    PercentRank,
    /// `cume_dist`
    CumeDist,
    /// `ntile`
    Ntile,
    /// `lag`
    Lag,
    /// `lead`
    Lead,
    /// `first_value`
    FirstValue,
    /// `last_value`
    LastValue,
    /// `nth_value`
    NthValue,
    /// `fill`
    Fill,
}

impl WindowKind {
    /// Whether the value is that of another row, which IGNORE NULLS can choose.
    pub fn picks_row(self) -> bool {
        matches!(self, Self::Lag | Self::Lead | Self::FirstValue | Self::LastValue | Self::NthValue)
    }
}

/// A window function resolved for given argument types.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFunction {
    /// Canonical lower-case name.
    pub name: &'static str,
    /// Which.
    pub kind: WindowKind,
    /// Exact types of the arguments; the binder casts to them.
    pub arg_types: Vec<LogicalType>,
    /// Type of the result.
    pub return_type: LogicalType,
}

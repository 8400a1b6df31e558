//! What an aggregation computes, compiled: programs, shared accumulators, and how results are put together.
//!
//! Aggregates that need the same thing share a slot: `sum(x)` and `avg(x)` one sum, all averages and counts one number
//! of rows. `count(x)` is the number of rows less the number of NULLs, and the latter costs nothing while there are none.
//!
//! Rows come in input sets: set 0 has all rows, and every distinct FILTER has a set of its own with the rows it lets
//! through, whose arguments are computed on those rows alone.

use super::AggregateOptions;
use super::table::TableHints;
use crate::expression::{Filter, Layout, Program};
use inlay_kernels::aggregate::{
    self, GroupedAccumulator, KeptColumn, KeptRows, NullCount, OrderKey, Ordered,
};
use inlay_kernels::function::{AggregateFunction, AggregateKind};
use inlay_sql::plan::{AggregateExpr, Expr};
use inlay_types::{LogicalType, Result, Vector};
use std::sync::Arc;

/// Bytes of an accumulator's group, about.
const PLACE_BYTES: u64 = 12;

/// What a slot accumulates.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SlotKind {
    /// Number of rows.
    Rows,
    /// Number of rows whose argument is NULL.
    Nulls,
    /// An aggregate function.
    Function(AggregateFunction),
    /// An aggregate function over rows in an order; the keys follow the arguments.
    Ordered(AggregateFunction, Vec<LogicalType>, Vec<OrderKey>),
}

/// An accumulator that one or more aggregates read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slot {
    pub(super) kind: SlotKind,
    /// Its rows: all, or those of a filter.
    pub(super) set: usize,
    /// Arguments: positions among the set's expressions (or, if distinct, among those of the distinct rows).
    pub(super) args: Vec<usize>,
    /// Fed by distinct rows instead of the set.
    pub(super) distinct: Option<usize>,
}

impl Slot {
    /// Whether groups may be added long before their first row, while no argument is NULL.
    fn allows_empty_groups(&self) -> bool {
        match &self.kind {
            SlotKind::Rows | SlotKind::Nulls => true,
            SlotKind::Function(function) => {
                matches!(function.kind, AggregateKind::Sum | AggregateKind::Min | AggregateKind::Max)
            }
            SlotKind::Ordered(..) => false,
        }
    }
}

/// The distinct argument rows of some aggregates.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DistinctSet {
    pub(super) set: usize,
    /// Positions among the set's expressions.
    pub(super) args: Vec<usize>,
    pub(super) types: Vec<LogicalType>,
}

/// How an output column is made of slots.
#[derive(Clone, Copy, Debug)]
pub(super) enum Output {
    Slot(usize),
    /// Rows less NULLs.
    Count {
        rows: usize,
        nulls: usize,
    },
    /// A sum by rows less NULLs.
    Average {
        sum: usize,
        rows: usize,
        nulls: usize,
    },
}

/// Rows that reach some slots, and the expressions computed on them.
pub(super) struct InputSet {
    pub(super) filter: Option<Filter>,
    filter_expr: Option<Expr>,
    exprs: Vec<Expr>,
    pub(super) program: Program,
}

/// A compiled aggregation.
pub(super) struct Spec {
    /// The first `group_types.len()` expressions of set 0 are the groups.
    pub(super) sets: Vec<InputSet>,
    pub(super) group_types: Vec<LogicalType>,
    /// Computes the groups alone.
    pub(super) group_program: Program,
    pub(super) slots: Vec<Slot>,
    pub(super) distincts: Vec<DistinctSet>,
    /// The types of the arguments that each slot's accumulator keeps of its rows, if it does and they may lie in a file.
    pub(super) kept: Vec<Option<Vec<LogicalType>>>,
    /// Those of them whose results are made of all rows of a group at once.
    pub(super) whole: Vec<bool>,
    pub(super) outputs: Vec<Output>,
    pub(super) hints: TableHints,
    /// Bytes of a worker's groups if they are places of a domain, as they may be.
    pub(super) places_size: Option<u64>,
    /// Positions of all columns read, ascending; `None` if expressions must not be computed twice.
    pub(super) inputs: Option<Vec<usize>>,
    /// Number of columns of the input.
    pub(super) input_columns: usize,
}

struct Builder {
    sets: Vec<(Option<Expr>, Vec<Expr>)>,
    slots: Vec<Slot>,
    distincts: Vec<DistinctSet>,
}

impl Builder {
    fn set(&mut self, filter: Option<&Expr>) -> usize {
        let same = |(known, _): &(Option<Expr>, Vec<Expr>)| known.as_ref() == filter;
        let deterministic = filter.is_none_or(Expr::is_deterministic);
        if let Some(index) = self.sets.iter().position(same).filter(|_| deterministic) {
            return index;
        }
        self.sets.push((filter.cloned(), Vec::new()));
        self.sets.len() - 1
    }

    fn expr(&mut self, set: usize, expr: &Expr) -> usize {
        let exprs = &mut self.sets[set].1;
        if let Some(index) = exprs.iter().position(|known| known == expr).filter(|_| expr.is_deterministic())
        {
            return index;
        }
        exprs.push(expr.clone());
        exprs.len() - 1
    }

    fn slot(&mut self, slot: Slot) -> usize {
        if let Some(index) = self.slots.iter().position(|known| *known == slot) {
            return index;
        }
        self.slots.push(slot);
        self.slots.len() - 1
    }

    fn aggregate(&mut self, aggregate: &AggregateExpr) -> Output {
        let function = &*aggregate.function;
        let set = self.set(aggregate.filter.as_ref());
        let ordered = function.kind.is_order_sensitive() && !aggregate.order_by.is_empty();
        let inputs: Vec<&Expr> = if ordered {
            aggregate.args.iter().chain(aggregate.order_by.iter().map(|key| &key.expr)).collect()
        } else {
            aggregate.args.iter().collect()
        };
        let mut args: Vec<usize> = inputs.iter().map(|&expr| self.expr(set, expr)).collect();
        let mut distinct = None;
        if aggregate.distinct && function.kind.is_distinct_sensitive() && !args.is_empty() {
            let types = inputs.iter().map(|expr| expr.ty()).collect();
            let wanted = DistinctSet { set, args: args.clone(), types };
            let index = self.distincts.iter().position(|known| *known == wanted).unwrap_or_else(|| {
                self.distincts.push(wanted);
                self.distincts.len() - 1
            });
            distinct = Some(index);
            args = (0..args.len()).collect();
        }
        let base = Slot { kind: SlotKind::Rows, set, args: Vec::new(), distinct };
        let with = |kind: SlotKind, args: &[usize]| Slot { kind, args: args.to_vec(), ..base.clone() };
        if ordered {
            let types = aggregate.order_by.iter().map(|key| key.expr.ty()).collect();
            let keys = aggregate.order_by.iter();
            let keys =
                keys.map(|k| OrderKey { descending: k.descending, nulls_first: k.nulls_first }).collect();
            return Output::Slot(self.slot(with(SlotKind::Ordered(function.clone(), types, keys), &args)));
        }
        match function.kind {
            AggregateKind::CountStar => Output::Slot(self.slot(base)),
            AggregateKind::Count => {
                let rows = self.slot(base.clone());
                Output::Count { rows, nulls: self.slot(with(SlotKind::Nulls, &args)) }
            }
            AggregateKind::Avg => {
                let sum = self.slot(with(SlotKind::Function(aggregate::sum_of(function)), &args));
                let rows = self.slot(base.clone());
                Output::Average { sum, rows, nulls: self.slot(with(SlotKind::Nulls, &args)) }
            }
            _ => Output::Slot(self.slot(with(SlotKind::Function(function.clone()), &args))),
        }
    }
}

impl Spec {
    pub(super) fn compile(options: &AggregateOptions) -> Result<Self> {
        let mut builder =
            Builder { sets: vec![(None, options.groups.clone())], slots: Vec::new(), distincts: Vec::new() };
        let outputs: Vec<Output> = options.aggregates.iter().map(|a| builder.aggregate(a)).collect();
        let compile =
            |(filter, exprs): (Option<Expr>, Vec<Expr>)| compile_set(filter, exprs, &options.layout);
        let sets = builder.sets.into_iter().map(compile).collect::<Result<Vec<_>>>()?;
        let group_types: Vec<LogicalType> = options.groups.iter().map(Expr::ty).collect();
        let expected = (options.estimated_rows, options.estimated_groups);
        let workers = options.context.workers.count();
        let mut hints = TableHints::of(&group_types, &options.key_domains, expected, workers);
        let are_plain = builder.distincts.is_empty() && builder.slots.iter().all(Slot::allows_empty_groups);
        let has_domain = std::mem::take(&mut hints.domain) && are_plain;
        let place_size = 1 + PLACE_BYTES * builder.slots.len() as u64;
        let places_size = hints.ranges.first().copied().flatten().filter(|_| has_domain);
        let places_size = places_size.map(|(_, range)| range.saturating_mul(place_size));
        let mut spec = Self {
            inputs: input_columns(&sets),
            kept: Vec::new(),
            whole: Vec::new(),
            sets,
            group_types,
            group_program: Program::compile_many(&options.groups, &options.layout)?,
            slots: builder.slots,
            distincts: builder.distincts,
            outputs,
            hints,
            places_size,
            input_columns: options.layout.0.len(),
        };
        for (slot, accumulator) in spec.slots.iter().zip(spec.accumulators()?) {
            let types =
                |kept: KeptRows<'_>| kept.columns().iter().map(|column| column.logical_type()).collect();
            spec.kept.push(accumulator.kept().map(types));
            spec.whole.push(match &slot.kind {
                SlotKind::Ordered(function, ..) => needs_all_rows(&*aggregate::create(function, false)?),
                _ => needs_all_rows(&*accumulator),
            });
        }
        Ok(spec)
    }

    /// Whether accumulators keep rows that may lie in files.
    pub(super) fn keeps_rows(&self) -> bool {
        self.kept.iter().any(Option::is_some)
    }

    /// Whether some result depends on the order of the input.
    pub(super) fn is_order_sensitive(&self) -> bool {
        self.slots.iter().any(|slot| match &slot.kind {
            SlotKind::Function(function) => function.kind.is_order_sensitive(),
            SlotKind::Ordered(..) => true,
            SlotKind::Rows | SlotKind::Nulls => false,
        })
    }

    /// New accumulators, one per slot.
    pub(super) fn accumulators(&self) -> Result<Vec<Box<dyn GroupedAccumulator>>> {
        self.slots.iter().map(|slot| self.accumulator(slot)).collect()
    }

    pub(super) fn accumulator(&self, slot: &Slot) -> Result<Box<dyn GroupedAccumulator>> {
        let total = !self.group_types.is_empty() && slot.set == 0 && slot.distinct.is_none();
        match &slot.kind {
            SlotKind::Rows => aggregate::create(
                &AggregateFunction {
                    name: "count_star".into(),
                    kind: AggregateKind::CountStar,
                    arg_types: Vec::new(),
                    return_type: LogicalType::BigInt,
                    external: None,
                },
                total,
            ),
            SlotKind::Nulls => Ok(NullCount::boxed()),
            SlotKind::Function(function) => aggregate::create(function, total),
            SlotKind::Ordered(function, types, keys) => Ok(Ordered::boxed(function, types, keys.clone())),
        }
    }

    /// Adds what is not distinct of groups `source` to groups `targets`.
    pub(super) fn merge_plain(
        &self,
        into: &mut [Box<dyn GroupedAccumulator>],
        from: &[Box<dyn GroupedAccumulator>],
        (source, targets): (&[u32], &[u32]),
    ) -> Result<()> {
        for (slot, (accumulator, theirs)) in self.slots.iter().zip(into.iter_mut().zip(from)) {
            if slot.distinct.is_none() {
                accumulator.merge(&**theirs, source, targets)?;
            }
        }
        Ok(())
    }

    /// The result columns of groups `from .. from + len`.
    pub(super) fn finish(
        &self,
        accumulators: &[Box<dyn GroupedAccumulator>],
        from: usize,
        len: usize,
    ) -> Result<Vec<Vector>> {
        let slot = |index: usize| accumulators[index].finish(from, len);
        let column = |output: &Output| match *output {
            Output::Slot(index) => slot(index),
            Output::Count { rows, nulls } => Ok(aggregate::count_of(&slot(rows)?, &slot(nulls)?)),
            Output::Average { sum, rows, nulls } => {
                aggregate::average(&slot(sum)?, &aggregate::count_of(&slot(rows)?, &slot(nulls)?))
            }
        };
        self.outputs.iter().map(column).collect()
    }
}

/// Whether an accumulator makes the result of a group of all its rows at once.
fn needs_all_rows(accumulator: &dyn GroupedAccumulator) -> bool {
    let are_values =
        |kept: KeptRows<'_>| kept.columns().iter().all(|column| matches!(column, KeptColumn::Values(_)));
    accumulator.kept().is_some_and(are_values) && accumulator.passes().is_none()
}

fn compile_set(filter: Option<Expr>, exprs: Vec<Expr>, layout: &Layout) -> Result<InputSet> {
    let program = Program::compile_many(&exprs, layout)?;
    let compiled = match &filter {
        Some(filter) => Some(Filter::compile(std::slice::from_ref(filter), layout)?),
        None => None,
    };
    Ok(InputSet { filter: compiled, filter_expr: filter, exprs, program })
}

fn input_columns(sets: &[InputSet]) -> Option<Vec<usize>> {
    let mut columns = Vec::new();
    for set in sets {
        if !set.exprs.iter().chain(&set.filter_expr).all(Expr::is_deterministic) {
            return None;
        }
        columns.extend_from_slice(set.program.inputs());
        columns.extend(set.filter.iter().flat_map(Filter::inputs));
    }
    columns.sort_unstable();
    columns.dedup();
    Some(columns)
}

/// Shared by all that need the compiled aggregation.
pub(super) type SharedSpec = Arc<Spec>;

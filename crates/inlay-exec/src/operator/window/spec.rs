//! What a window stage computes, compiled: which columns it stores and where its functions find their operands.
//!
//! A stage is all functions with one PARTITION BY and ORDER BY. Operands are computed while rows come in and stored
//! beside the input's columns; constants are not stored.

use crate::expression::{Layout, Program};
use crate::operator::order::KeyColumn;
use inlay_kernels::WindowKind;
use inlay_sql::plan::window::{FrameBound, FrameExclusion, FrameUnits, WindowCallee};
use inlay_sql::plan::{Expr, SortKey, WindowExpr};
use inlay_types::{Error, LogicalType, Result, Value, Vector};

/// Where a function finds an argument.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    /// A stored column.
    Column(usize),
    /// The same for all rows.
    Constant(Value, LogicalType),
}

/// A sort key over stored columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) column: usize,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

impl Key {
    /// The key of the rows of `columns`.
    pub(super) fn of(self, columns: &[Vector]) -> KeyColumn<'_> {
        let vector = &columns[self.column];
        KeyColumn { vector, descending: self.descending, nulls_first: self.nulls_first }
    }
}

/// A frame's bound.
#[derive(Clone, Debug)]
pub(super) enum Bound {
    UnboundedPreceding,
    Preceding(Operand),
    CurrentRow,
    Following(Operand),
    UnboundedFollowing,
}

/// A frame over stored columns.
#[derive(Clone, Debug)]
pub(super) struct FrameSpec {
    pub(super) units: FrameUnits,
    pub(super) start: Bound,
    pub(super) end: Bound,
    pub(super) exclude: FrameExclusion,
    /// What RANGE with an offset measures from; its direction is that of the ORDER BY key, which may be a constant.
    pub(super) range_key: Option<Key>,
}

impl FrameSpec {
    /// Whether it is the whole partition.
    pub(super) fn is_whole(&self) -> bool {
        matches!(
            (&self.start, &self.end, self.exclude),
            (Bound::UnboundedPreceding, Bound::UnboundedFollowing, FrameExclusion::NoOthers)
        )
    }

    /// Whether it is one range that begins with the partition.
    pub(super) fn is_running(&self) -> bool {
        matches!((&self.start, self.exclude), (Bound::UnboundedPreceding, FrameExclusion::NoOthers))
    }
}

/// A function of the stage.
pub(super) struct Function {
    pub(super) callee: WindowCallee,
    pub(super) args: Vec<Operand>,
    pub(super) frame: FrameSpec,
    pub(super) filter: Option<Operand>,
    pub(super) distinct: bool,
    pub(super) ignore_nulls: bool,
    pub(super) arg_order: Vec<Key>,
}

/// A compiled stage.
pub(super) struct Spec {
    /// Computes the stored columns that are not columns of the input.
    pub(super) program: Program,
    /// Columns of the input, handed on as they are.
    pub(super) input_count: usize,
    /// Types of the stored columns: the input's, then the computed ones.
    pub(super) types: Vec<LogicalType>,
    /// Partition keys, then order keys.
    pub(super) keys: Vec<Key>,
    /// How many of `keys` are partition keys.
    pub(super) partition_count: usize,
    pub(super) functions: Vec<Function>,
}

struct Builder<'a> {
    layout: &'a Layout,
    exprs: Vec<Expr>,
}

impl Builder<'_> {
    fn column(&mut self, expr: &Expr) -> usize {
        if let Expr::Column { id, .. } = expr
            && let Some(position) = self.layout.position(*id)
        {
            return position;
        }
        let known = self.exprs.iter().position(|known| known == expr).filter(|_| expr.is_deterministic());
        let index = known.unwrap_or_else(|| {
            self.exprs.push(expr.clone());
            self.exprs.len() - 1
        });
        self.layout.0.len() + index
    }

    fn operand(&mut self, expr: &Expr) -> Operand {
        match expr {
            Expr::Literal { value, ty } => Operand::Constant(value.clone(), ty.clone()),
            other => Operand::Column(self.column(other)),
        }
    }

    fn key(&mut self, key: &SortKey) -> Key {
        let column = self.column(&key.expr);
        Key { column, descending: key.descending, nulls_first: key.nulls_first }
    }

    fn bound(&mut self, bound: &FrameBound) -> Bound {
        match bound {
            FrameBound::UnboundedPreceding => Bound::UnboundedPreceding,
            FrameBound::Preceding(expr) => Bound::Preceding(self.operand(expr)),
            FrameBound::CurrentRow => Bound::CurrentRow,
            FrameBound::Following(expr) => Bound::Following(self.operand(expr)),
            FrameBound::UnboundedFollowing => Bound::UnboundedFollowing,
        }
    }

    fn frame(&mut self, window: &WindowExpr, is_ordered: bool) -> Result<FrameSpec> {
        let frame = &window.frame;
        let range_key = match (&frame.range_key, window.order.first()) {
            (None, _) => None,
            (Some(expr), Some(&SortKey { descending, nulls_first, .. })) => {
                Some(Key { column: self.column(expr), descending, nulls_first })
            }
            (Some(_), None) => return Err(Error::internal("a frame of RANGE without a key to order by")),
        };
        let mut spec = FrameSpec {
            units: frame.units,
            start: self.bound(&frame.start),
            end: self.bound(&frame.end),
            exclude: frame.exclude,
            range_key,
        };
        // Without an order all rows are peers.
        if !is_ordered && frame.units != FrameUnits::Rows {
            if matches!(spec.start, Bound::CurrentRow) {
                spec.start = Bound::UnboundedPreceding;
            }
            if matches!(spec.end, Bound::CurrentRow) {
                spec.end = Bound::UnboundedFollowing;
            }
        }
        Ok(spec)
    }
}

fn is_constant(key: &SortKey) -> bool {
    matches!(key.expr, Expr::Literal { .. })
}

/// Whether two functions belong to one stage.
pub(crate) fn same_stage(left: &WindowExpr, right: &WindowExpr) -> bool {
    left.partition == right.partition && left.order == right.order
}

/// Whether a function may join a stage of another order: rows in any order give the same.
pub(crate) fn fits_any_order(window: &WindowExpr) -> bool {
    use inlay_kernels::AggregateKind as K;
    let WindowCallee::Aggregate(function) = &window.function else { return false };
    let insensitive = matches!(function.kind, K::Count | K::CountStar | K::Min | K::Max)
        || function.kind == K::Sum && !function.return_type.is_float();
    window.order.is_empty() && insensitive && window.frame.is_whole()
}

impl Spec {
    pub(super) fn compile(
        layout: &Layout,
        input_types: &[LogicalType],
        windows: &[WindowExpr],
    ) -> Result<Self> {
        let mut builder = Builder { layout, exprs: Vec::new() };
        let mut keys = Vec::new();
        let mut partition_count = 0;
        let lead = windows.iter().max_by_key(|window| window.order.len());
        if let Some(window) = lead {
            for expr in &window.partition {
                keys.push(Key { column: builder.column(expr), descending: false, nulls_first: false });
            }
            partition_count = keys.len();
            for key in window.order.iter().filter(|key| !is_constant(key)) {
                keys.push(builder.key(key));
            }
        }
        let is_ordered = keys.len() > partition_count;
        let functions = windows
            .iter()
            .map(|window| {
                let mut args: Vec<Operand> = window.args.iter().map(|arg| builder.operand(arg)).collect();
                // The key that `fill` interpolates by.
                if let WindowCallee::Window(function) = &window.function
                    && function.kind == WindowKind::Fill
                    && let Some(key) = window.order.first()
                {
                    args.push(builder.operand(&key.expr));
                }
                let keys = window.arg_order.iter().filter(|key| !is_constant(key));
                Ok(Function {
                    callee: window.function.clone(),
                    args,
                    frame: builder.frame(window, is_ordered)?,
                    filter: window.filter.as_ref().map(|filter| builder.operand(filter)),
                    distinct: window.distinct,
                    ignore_nulls: window.ignore_nulls,
                    arg_order: keys.map(|key| builder.key(key)).collect(),
                })
            })
            .collect::<Result<_>>()?;
        let computed = builder.exprs.iter().map(Expr::ty);
        let types = input_types.iter().cloned().chain(computed).collect();
        Ok(Self {
            program: Program::compile_many(&builder.exprs, layout)?,
            input_count: input_types.len(),
            types,
            keys,
            partition_count,
            functions,
        })
    }
}

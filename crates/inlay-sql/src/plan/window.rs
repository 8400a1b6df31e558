//! Window functions in a plan: what is computed, over which rows.

use super::{Expr, SortKey};
use inlay_functions::registry::resolve_window;
use inlay_kernels::function::{AggregateFunction, AggregateKind, WindowFunction, WindowKind};
use inlay_types::{LogicalType, Result};
use std::sync::Arc;

/// What a frame's offsets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameUnits {
    /// Rows.
    Rows,
    /// Distances of the one sort key.
    Range,
    /// Groups of rows with equal sort keys.
    Groups,
}

/// Rows that are taken out of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameExclusion {
    /// None.
    NoOthers,
    /// The row itself.
    CurrentRow,
    /// The row and those with equal sort keys.
    Group,
    /// Those with equal sort keys, but not the row itself.
    Ties,
}

/// Where a frame begins or ends.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// The partition's first row.
    UnboundedPreceding,
    /// Before the row. With ROWS and GROUPS a number of type BIGINT; with RANGE the value itself at which the frame
    /// begins or ends (the sort key less the offset), of the type of [`Frame::range_key`].
    Preceding(Expr),
    /// The row; with RANGE and GROUPS the first or last row with equal sort keys.
    CurrentRow,
    /// Behind the row, as for `Preceding`.
    Following(Expr),
    /// The partition's last row.
    UnboundedFollowing,
}

/// The rows of the partition that a value is computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What offsets count.
    pub units: FrameUnits,
    /// First row.
    pub start: FrameBound,
    /// Last row.
    pub end: FrameBound,
    /// What is taken out.
    pub exclude: FrameExclusion,
    /// With RANGE and an offset: the sort key in the type of the bounds.
    pub range_key: Option<Expr>,
}

impl Frame {
    /// What holds if nothing is written: up to the current row and its peers, or, without ORDER BY, everything.
    pub fn default_of(is_ordered: bool) -> Self {
        Self {
            units: FrameUnits::Range,
            start: FrameBound::UnboundedPreceding,
            end: if is_ordered { FrameBound::CurrentRow } else { FrameBound::UnboundedFollowing },
            exclude: FrameExclusion::NoOthers,
            range_key: None,
        }
    }

    /// Whether it is the whole partition, always.
    pub fn is_whole(&self) -> bool {
        matches!(
            (&self.start, &self.end, self.exclude),
            (FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing, FrameExclusion::NoOthers)
        )
    }

    fn bounds(&self) -> impl Iterator<Item = &Expr> {
        [&self.start, &self.end].into_iter().filter_map(|bound| match bound {
            FrameBound::Preceding(expr) | FrameBound::Following(expr) => Some(expr),
            _ => None,
        })
    }
}

/// Which function.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowCallee {
    /// A function that exists only with OVER.
    Window(Arc<WindowFunction>),
    /// An aggregate over the rows of the frame.
    Aggregate(Arc<AggregateFunction>),
}

impl WindowCallee {
    /// The aggregate, if it is one.
    pub fn aggregate(&self) -> Option<&AggregateFunction> {
        match self {
            Self::Aggregate(function) => Some(function),
            Self::Window(_) => None,
        }
    }
}

/// A window function's value for each row.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowExpr {
    /// Which function.
    pub function: WindowCallee,
    /// Arguments, of exactly the function's types.
    pub args: Vec<Expr>,
    /// Rows that agree in these are a partition (NULLs are equal).
    pub partition: Vec<Expr>,
    /// Order within a partition.
    pub order: Vec<SortKey>,
    /// The rows that count.
    pub frame: Frame,
    /// Only rows for which this is TRUE count; of aggregates.
    pub filter: Option<Expr>,
    /// Each distinct combination of arguments counts once; of aggregates.
    pub distinct: bool,
    /// NULL arguments are passed over; of functions that pick a row.
    pub ignore_nulls: bool,
    /// ORDER BY inside the parentheses: the order within the frame.
    pub arg_order: Vec<SortKey>,
}

impl WindowExpr {
    /// Its name for people.
    pub fn name(&self) -> &str {
        match &self.function {
            WindowCallee::Window(function) => function.name,
            WindowCallee::Aggregate(function) => &function.name,
        }
    }

    /// Type of the value.
    pub fn return_type(&self) -> LogicalType {
        match &self.function {
            WindowCallee::Window(function) => function.return_type.clone(),
            WindowCallee::Aggregate(function) => function.return_type.clone(),
        }
    }

    /// Whether it numbers the rows of each partition.
    pub fn is_row_number(&self) -> bool {
        let is_it = |f: &WindowFunction| f.kind == WindowKind::RowNumber;
        matches!(&self.function, WindowCallee::Window(f) if is_it(f)) && self.arg_order.is_empty()
    }

    /// Whether the value is never NULL.
    pub fn is_never_null(&self) -> bool {
        match &self.function {
            WindowCallee::Window(function) => matches!(
                function.kind,
                WindowKind::RowNumber
                    | WindowKind::Rank
                    | WindowKind::DenseRank
                    | WindowKind::PercentRank
                    | WindowKind::CumeDist
            ),
            WindowCallee::Aggregate(function) => {
                matches!(function.kind, AggregateKind::Count | AggregateKind::CountStar)
            }
        }
    }

    /// As [`Expr::is_volatile`], of anything that is computed for each row.
    pub fn is_volatile(&self) -> bool {
        self.expressions().into_iter().any(Expr::is_volatile)
    }

    /// `row_number() OVER ()`.
    pub fn row_number() -> Result<Self> {
        Ok(Self {
            function: WindowCallee::Window(Arc::new(resolve_window("row_number", &[])?)),
            args: Vec::new(),
            partition: Vec::new(),
            order: Vec::new(),
            frame: Frame::default_of(false),
            filter: None,
            distinct: false,
            ignore_nulls: false,
            arg_order: Vec::new(),
        })
    }

    /// Everything that is computed for each row.
    pub fn expressions(&self) -> Vec<&Expr> {
        let keys = self.order.iter().chain(&self.arg_order).map(|key| &key.expr);
        let frame = self.frame.bounds().chain(&self.frame.range_key);
        self.args.iter().chain(&self.partition).chain(keys).chain(frame).chain(&self.filter).collect()
    }

    /// Everything that is computed for each row, for rewriting.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        let keys = self.order.iter_mut().chain(&mut self.arg_order).map(|key| &mut key.expr);
        let bounds =
            [&mut self.frame.start, &mut self.frame.end].into_iter().filter_map(|bound| match bound {
                FrameBound::Preceding(expr) | FrameBound::Following(expr) => Some(expr),
                _ => None,
            });
        let frame = bounds.chain(&mut self.frame.range_key);
        self.args
            .iter_mut()
            .chain(&mut self.partition)
            .chain(keys)
            .chain(frame)
            .chain(&mut self.filter)
            .collect()
    }
}

//! `bitstring_agg(x)` without bounds: the bits of all groups, or of all frames, are of one range, so that they can be compared and
//! joined. That is the range of the values in all rows of the query, which is known when all groups are.
//!
//! A group's bits are of its own range first, and get zeros on both sides behind the aggregation:
//!
//! ```text
//! Project: zeros(min - least) || bits || zeros(most - max)
//!   Window: least = min(min) over (), most = max(max) over ()
//!     Aggregate by g: bits = bitstring_agg(x), min(x), max(x)
//! ```

use super::Binder;
use crate::parser::ast::Pos;
use crate::plan::window::{Frame, WindowCallee, WindowExpr};
use crate::plan::{AggregateExpr, ColumnId, Expr, Plan};
use inlay_functions::registry::resolve_aggregate;
use inlay_kernels::resolve::ArgType;
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

const NAME: &str = "bitstring_agg";

/// The bits of groups, and the columns that they are made of.
pub(super) struct Bits {
    column: ColumnId,
    own: ColumnId,
    low: ColumnId,
    high: ColumnId,
}

fn least_or_most(name: &str, ty: LogicalType) -> Result<Arc<inlay_kernels::AggregateFunction>> {
    Ok(Arc::new(resolve_aggregate(name, &[ArgType::of(ty)])?))
}

/// A window over all rows.
fn over_all(name: &str, arg: Expr, filter: Option<Expr>) -> Result<WindowExpr> {
    Ok(WindowExpr {
        function: WindowCallee::Aggregate(least_or_most(name, arg.ty())?),
        args: vec![arg],
        partition: Vec::new(),
        order: Vec::new(),
        frame: Frame::default_of(false),
        filter,
        distinct: false,
        ignore_nulls: false,
        arg_order: Vec::new(),
    })
}

impl Binder<'_> {
    /// Gives each group's bits a column of their own, and asks for the group's least and largest value.
    pub(super) fn bits_of_groups(
        &mut self,
        aggregates: &mut Vec<(ColumnId, AggregateExpr)>,
    ) -> Result<Vec<Bits>> {
        let (mut found, mut bounds) = (Vec::new(), Vec::new());
        for (id, aggregate) in aggregates.iter_mut() {
            let [arg] = aggregate.args.as_slice() else { continue };
            if aggregate.function.name != NAME {
                continue;
            }
            let column = std::mem::replace(id, self.columns.copy_of(*id));
            let mut bound = |name: &str| -> Result<ColumnId> {
                let function = least_or_most(name, arg.ty())?;
                let made = self.columns.add(name, function.return_type.clone());
                let args = vec![arg.clone()];
                let filter = aggregate.filter.clone();
                let bound = AggregateExpr { function, args, distinct: false, filter, order_by: Vec::new() };
                bounds.push((made, bound));
                Ok(made)
            };
            let (low, high) = (bound("min")?, bound("max")?);
            found.push(Bits { column, own: *id, low, high });
        }
        aggregates.extend(bounds);
        Ok(found)
    }

    /// Behind the aggregation: all bits in the range of all groups.
    pub(super) fn with_common_range(&mut self, plan: Plan, bits: &[Bits]) -> Result<Plan> {
        if bits.is_empty() {
            return Ok(plan);
        }
        let is_part = |id: &ColumnId| bits.iter().any(|bits| [bits.own, bits.low, bits.high].contains(id));
        let others = plan.output().into_iter().filter(|id| !is_part(id)).map(|id| (id, self.column(id)));
        let mut items: Vec<(ColumnId, Expr)> = others.collect();
        let mut windows = Vec::with_capacity(bits.len() * 2);
        for bits in bits {
            let mut bound = |name: &str, of: ColumnId| -> Result<Expr> {
                let window = over_all(name, self.column(of), None)?;
                let id = self.columns.add(name, window.return_type());
                windows.push((id, window));
                Ok(self.columns.expr(id))
            };
            let (least, most) = (bound("min", bits.low)?, bound("max", bits.high)?);
            let range = [least, self.column(bits.low), self.column(bits.high), most];
            items.push((bits.column, self.widened(self.column(bits.own), range, Pos::default())?));
        }
        Ok(Plan::Window { input: Box::new(plan), windows }.project(items))
    }

    /// Of a window that gathers bits: these in the range of all rows, which windows beside it find. `None` for other windows.
    pub(super) fn bits_of_frames(
        &mut self,
        window: &WindowExpr,
        own: &Expr,
        pos: Pos,
    ) -> Result<Option<Expr>> {
        let (NAME, [arg]) = (window.name(), window.args.as_slice()) else { return Ok(None) };
        let of_frame = |name: &str| {
            let function = WindowCallee::Aggregate(least_or_most(name, arg.ty())?);
            Ok::<_, Error>(WindowExpr { function, distinct: false, arg_order: Vec::new(), ..window.clone() })
        };
        let all = [
            over_all("min", arg.clone(), window.filter.clone())?,
            of_frame("min")?,
            of_frame("max")?,
            over_all("max", arg.clone(), window.filter.clone())?,
        ];
        let mut range = Vec::with_capacity(all.len());
        for window in all {
            let id = self.columns.add("bound", window.return_type());
            self.scope()?.windows.push((id, window));
            range.push(self.column(id));
        }
        let range = range.try_into().map_err(|_| Error::internal("bits without a range"))?;
        self.widened(own.clone(), range, pos).map(Some)
    }

    /// `bits` with zeros from the least value to the lowest of their own, and from their highest to the largest.
    fn widened(&self, bits: Expr, [least, low, high, most]: [Expr; 4], pos: Pos) -> Result<Expr> {
        let zeros = |from: Expr, to: Expr| {
            let wide = |value: Expr| match value.ty() {
                LogicalType::TinyInt | LogicalType::SmallInt | LogicalType::Integer | LogicalType::BigInt => {
                    self.cast_to(value, LogicalType::HugeInt, pos)
                }
                _ => Ok(value),
            };
            let count = self.call("-", vec![wide(to)?, wide(from)?], pos)?;
            let count = self.cast_to(count, LogicalType::BigInt, pos)?;
            self.call("repeat", vec![Expr::literal(Value::Varchar("0".to_string())), count], pos)
        };
        let text = self.cast_to(bits, LogicalType::Varchar, pos)?;
        let text = self.call("||", vec![zeros(least, low)?, text], pos)?;
        let text = self.call("||", vec![text, zeros(high, most)?], pos)?;
        self.cast_to(text, LogicalType::Bit, pos)
    }
}

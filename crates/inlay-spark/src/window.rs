//! Window functions. Frames are written out, as engines differ in what holds when nothing is written.

use super::Writer;
use super::aggregate::Aggregated;
use super::function::constant;
use super::relation::{Select, name};
use inlay_kernels::function::{WindowFunction, WindowKind};
use inlay_sql::plan::window::{Frame, FrameBound, FrameExclusion, FrameUnits, WindowCallee};
use inlay_sql::plan::{ColumnId, Expr, Place, Plan, SortKey, WindowExpr};
use inlay_types::{LogicalType, Value};

impl Writer<'_> {
    pub(crate) fn windows(
        &mut self,
        input: &Plan,
        windows: &[(ColumnId, WindowExpr)],
        output: Vec<ColumnId>,
    ) -> Select {
        let select = self.plan(input);
        let select = self.open(select);
        let mut items: Vec<String> = input.output().into_iter().map(name).collect();
        let mut computed = Vec::new();
        for (id, window) in windows {
            let over = self.over(window, &mut computed);
            items.push(format!("{} AS {}", self.window(window, over), name(*id)));
        }
        let mut unordered = select;
        unordered.order.clear();
        if !computed.is_empty() {
            // Sail does not know rows again that it has sorted by a computed key.
            let mut before: Vec<String> = input.output().into_iter().map(name).collect();
            before.extend(computed.iter().enumerate().map(|(at, key)| format!("{key} AS w{at}")));
            let text = unordered.text(&before.join(", "));
            unordered = Select { from: self.relation(text), ..Select::default() };
        }
        let text = unordered.text(&items.join(", "));
        Select::of(self.relation(text), output)
    }

    /// What stands behind PARTITION BY and ORDER BY. Keys that are computed go to `computed`, as columns `w0`, `w1`, ...
    fn over(&mut self, window: &WindowExpr, computed: &mut Vec<String>) -> [Vec<String>; 2] {
        let mut key = |writer: &mut Self, expr: &Expr| {
            let text = writer.expr(expr);
            if matches!(expr, Expr::Column { .. }) {
                return text;
            }
            let at = computed.iter().position(|known| *known == text).unwrap_or_else(|| {
                computed.push(text);
                computed.len() - 1
            });
            format!("w{at}")
        };
        let is_constant = |expr: &Expr| matches!(expr, Expr::Literal { .. });
        let partition = window.partition.iter().filter(|expr| !is_constant(expr));
        let partition = partition.map(|expr| key(self, expr)).collect();
        let mut order = Vec::new();
        for sorted in window.order.iter().filter(|sorted| !is_constant(&sorted.expr)) {
            order.push(format!("{} {}", key(self, &sorted.expr), self.direction(sorted)));
        }
        [partition, order]
    }

    fn window(&mut self, window: &WindowExpr, [partition, order]: [Vec<String>; 2]) -> String {
        let place = Place::default();
        let shown = window.name().to_string();
        if !window.arg_order.is_empty() {
            return self.refuse(format!("{shown}(... ORDER BY ...) OVER"), place);
        }
        let mut parts = Vec::new();
        if !partition.is_empty() {
            parts.push(format!("PARTITION BY {}", partition.join(", ")));
        }
        if !order.is_empty() {
            parts.push(format!("ORDER BY {}", order.join(", ")));
        }
        let takes_frame = match &window.function {
            WindowCallee::Aggregate(_) => true,
            WindowCallee::Window(function) => match function.kind {
                WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue => true,
                WindowKind::RowNumber
                | WindowKind::Rank
                | WindowKind::DenseRank
                | WindowKind::PercentRank
                | WindowKind::CumeDist
                | WindowKind::Ntile
                | WindowKind::Lag
                | WindowKind::Lead
                | WindowKind::Fill => false,
            },
        };
        if takes_frame && let Some(frame) = self.frame(&window.frame, &window.order) {
            parts.push(frame);
        }
        let over = format!(" OVER ({})", parts.join(" "));
        match &window.function {
            WindowCallee::Aggregate(function) => self.aggregated(&Aggregated {
                function,
                args: &window.args,
                filter: window.filter.as_ref(),
                distinct: window.distinct,
                order_by: &[],
                over: &over,
            }),
            WindowCallee::Window(function) => self.ranked(function, window, order.is_empty(), &over),
        }
    }

    fn ranked(
        &mut self,
        function: &WindowFunction,
        window: &WindowExpr,
        is_unordered: bool,
        over: &str,
    ) -> String {
        let place = Place::default();
        let spark = self.type_text(&function.return_type, place);
        let nulls = if window.ignore_nulls { " IGNORE NULLS" } else { "" };
        let number = |expr: Option<&Expr>| expr.and_then(constant).and_then(Value::as_i128);
        if is_unordered {
            return self.refuse(
                format!("{} OVER without ORDER BY, as rows of a cluster come in any order", function.name),
                place,
            );
        }
        match function.kind {
            WindowKind::RowNumber
            | WindowKind::Rank
            | WindowKind::DenseRank
            | WindowKind::PercentRank
            | WindowKind::CumeDist => format!("CAST({}(){over} AS {spark})", function.name),
            WindowKind::Ntile => match number(window.args.first()) {
                Some(parts) if parts > 0 => format!("CAST(ntile({parts}){over} AS {spark})"),
                _ => self.refuse("ntile of a number that is computed", place),
            },
            WindowKind::Lag | WindowKind::Lead => {
                let offset = if window.args.len() > 1 { number(window.args.get(1)) } else { Some(1) };
                let Some(offset) = offset else {
                    return self.refuse(format!("{} by a number that is computed", function.name), place);
                };
                let value = window.args.first().map_or_else(|| "NULL".into(), |arg| self.expr(arg));
                let default = match window.args.get(2) {
                    Some(default) => format!(", {}", self.expr(default)),
                    None => String::new(),
                };
                format!("CAST({}({value}, {offset}{default}){nulls}{over} AS {spark})", function.name)
            }
            WindowKind::FirstValue | WindowKind::LastValue => {
                let value = window.args.first().map_or_else(|| "NULL".into(), |arg| self.expr(arg));
                format!("{}({value}){nulls}{over}", function.name)
            }
            WindowKind::NthValue => match number(window.args.get(1)) {
                Some(position) if position > 0 => {
                    let value = window.args.first().map_or_else(|| "NULL".into(), |arg| self.expr(arg));
                    format!("nth_value({value}, {position}){nulls}{over}")
                }
                _ => self.refuse("nth_value of a number that is computed", place),
            },
            WindowKind::Fill => self.refuse("fill OVER", place),
        }
    }

    /// A frame; nothing where it is the whole partition anyway.
    fn frame(&mut self, frame: &Frame, order: &[SortKey]) -> Option<String> {
        let place = Place::default();
        match frame.exclude {
            FrameExclusion::NoOthers => {}
            FrameExclusion::CurrentRow | FrameExclusion::Group | FrameExclusion::Ties => {
                self.refuse("EXCLUDE in a frame", place);
            }
        }
        let is_ordered = order.iter().any(|key| !matches!(key.expr, Expr::Literal { .. }));
        let units = match frame.units {
            FrameUnits::Rows if !is_ordered && !frame.is_whole() => {
                self.refuse(
                    "ROWS in a window without ORDER BY, as rows of a cluster come in any order",
                    place,
                );
                return None;
            }
            FrameUnits::Rows => "ROWS",
            FrameUnits::Range => "RANGE",
            FrameUnits::Groups => {
                self.refuse("GROUPS in a frame", place);
                return None;
            }
        };
        if !is_ordered {
            return None;
        }
        let start = self.bound(&frame.start, frame, order);
        let end = self.bound(&frame.end, frame, order);
        Some(format!("{units} BETWEEN {start} AND {end}"))
    }

    fn bound(&mut self, bound: &FrameBound, frame: &Frame, order: &[SortKey]) -> String {
        let (expr, word) = match bound {
            FrameBound::UnboundedPreceding => return "UNBOUNDED PRECEDING".into(),
            FrameBound::UnboundedFollowing => return "UNBOUNDED FOLLOWING".into(),
            FrameBound::CurrentRow => return "CURRENT ROW".into(),
            FrameBound::Preceding(expr) => (expr, "PRECEDING"),
            FrameBound::Following(expr) => (expr, "FOLLOWING"),
        };
        let offset = match frame.units {
            FrameUnits::Rows | FrameUnits::Groups => constant(expr).and_then(Value::as_i128),
            FrameUnits::Range => distance(expr, order),
        };
        match offset {
            Some(offset) if offset >= 0 => format!("{offset} {word}"),
            _ => self.refuse(
                "a frame whose bound is computed, or a distance of other than whole numbers",
                Place::default(),
            ),
        }
    }
}

/// The distance from the sort key of a bound that is `key - constant` or `key + constant`, of whole numbers.
fn distance(bound: &Expr, order: &[SortKey]) -> Option<i128> {
    let Expr::Call { function, args, .. } = bound else { return None };
    let ([key, by], [sorted]) = (args.as_slice(), order) else { return None };
    let is_key = |expr: &Expr| match expr {
        Expr::Cast { input, .. } => **input == sorted.expr,
        other => *other == sorted.expr,
    };
    let is_small =
        matches!(sorted.expr.ty(), LogicalType::TinyInt | LogicalType::SmallInt | LogicalType::Integer);
    if !matches!(&*function.name, "+" | "-") || !is_key(key) || !is_small {
        return None;
    }
    constant(by).and_then(Value::as_i128)
}

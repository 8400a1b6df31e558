//! GROUP BY, DISTINCT and aggregate functions.
//!
//! A filter becomes a CASE in the argument, which every aggregate that passes over NULL takes alike, also in a window. Aggregates whose
//! answer depends on the order of rows are written with ORDER BY and refused without.

use super::Writer;
use super::carrier::is_compared_alike;
use super::cast::is_whole;
use super::literal::{double, failure};
use super::relation::{Select, name};
use inlay_kernels::function::{AggregateFunction, AggregateKind as K};
use inlay_sql::plan::{AggregateExpr, ColumnId, Expr, Place, Plan, SortKey};
use inlay_types::{LogicalType as T, Value};

/// An aggregate as it is called, of a group or of a frame.
pub(crate) struct Aggregated<'e> {
    pub function: &'e AggregateFunction,
    pub args: &'e [Expr],
    pub filter: Option<&'e Expr>,
    pub distinct: bool,
    pub order_by: &'e [SortKey],
    /// `OVER (...)`, or nothing.
    pub over: &'e str,
}

impl Writer<'_> {
    pub(crate) fn aggregate(
        &mut self,
        input: &Plan,
        groups: &[(ColumnId, Expr)],
        aggregates: &[(ColumnId, AggregateExpr)],
    ) -> Select {
        let select = self.plan(input);
        let mut select = self.open(select);
        select.order.clear();
        for (id, _) in groups {
            self.grouped(*id);
        }
        // Spark reads a number behind GROUP BY as a position: what is grouped by is a column before.
        let are_columns =
            groups.iter().all(|(made, expr)| matches!(expr, Expr::Column { id, .. } if id == made));
        if !are_columns {
            let own = input.output();
            let mut items: Vec<(ColumnId, String)> = own.iter().map(|id| (*id, name(*id))).collect();
            for (id, expr) in groups {
                if !own.contains(id) {
                    items.push((*id, self.expr(expr)));
                }
            }
            select.output = items.iter().map(|(id, _)| *id).collect();
            select.items = Some(items);
            select = self.open(select);
        }
        let output: Vec<ColumnId> =
            groups.iter().map(|(id, _)| *id).chain(aggregates.iter().map(|(id, _)| *id)).collect();
        let keys: Vec<ColumnId> = groups.iter().map(|(id, _)| *id).collect();
        let (hosted, own): (Vec<_>, Vec<_>) =
            aggregates.iter().partition(|(_, aggregate)| aggregate.function.external.is_some());
        if hosted.is_empty() || own.is_empty() {
            let all: Vec<_> = aggregates.iter().collect();
            let text = self.grouped_text(&select, &keys, "c", &all);
            return Select::of(self.relation(text), output);
        }
        // Spark computes functions of Python in an aggregation of their own.
        let input = Select { output: select.output.clone(), ..Select::default() };
        let input = Select { from: self.close(select), ..input };
        let one = self.grouped_text(&input, &keys, "c", &own);
        let other = self.grouped_text(&input, &keys, "g", &hosted);
        let (one, other) = (self.relation(one), self.relation(other));
        let same: Vec<String> = keys.iter().map(|id| format!("{} <=> g{}", name(*id), id.0)).collect();
        let from = match same.is_empty() {
            true => format!("{one} CROSS JOIN {other}"),
            false => format!("{one} INNER JOIN {other} ON {}", same.join(" AND ")),
        };
        let joined = Select::of(from, output.clone());
        Select::of(self.close(joined), output)
    }

    /// One row for each group, whose keys are named by a prefix.
    fn grouped_text(
        &mut self,
        select: &Select,
        keys: &[ColumnId],
        prefix: &str,
        aggregates: &[&(ColumnId, AggregateExpr)],
    ) -> String {
        let key = |id: &ColumnId| match prefix {
            "c" => name(*id),
            other => format!("{} AS {other}{}", name(*id), id.0),
        };
        let mut items: Vec<String> = keys.iter().map(key).collect();
        for (id, aggregate) in aggregates {
            let call = Aggregated {
                function: &aggregate.function,
                args: &aggregate.args,
                filter: aggregate.filter.as_ref(),
                distinct: aggregate.distinct,
                order_by: &aggregate.order_by,
                over: "",
            };
            items.push(format!("{} AS {}", self.aggregated(&call), name(*id)));
        }
        if items.is_empty() {
            items.push(format!("count(*) AS k{}", self.relations.len()));
        }
        let mut text = select.text(&items.join(", "));
        if !keys.is_empty() {
            let keys: Vec<String> = keys.iter().map(|id| name(*id)).collect();
            text.push_str(&format!(" GROUP BY {}", keys.join(", ")));
        }
        text
    }

    /// An argument where the filter is TRUE, else NULL.
    fn argument(&mut self, call: &Aggregated<'_>, position: usize) -> String {
        let Some(arg) = call.args.get(position) else { return "NULL".into() };
        let text = self.expr(arg);
        self.where_filtered(call, text)
    }

    fn where_filtered(&mut self, call: &Aggregated<'_>, text: String) -> String {
        match call.filter {
            None => text,
            Some(filter) => format!("CASE WHEN {} THEN {text} END", self.expr(filter)),
        }
    }

    pub(crate) fn aggregated(&mut self, call: &Aggregated<'_>) -> String {
        let place = Place::default();
        let ty = &call.function.return_type;
        if let Some(external) = &call.function.external {
            let is_plain = !call.distinct && call.filter.is_none() && call.order_by.is_empty();
            if !is_plain || !call.over.is_empty() {
                let what = "with DISTINCT, FILTER, ORDER BY or OVER";
                return self.refuse(format!("the aggregate {} of Python {what}", call.function.name), place);
            }
            return self.call_of_host(external, call.args, ty, place);
        }
        if call.distinct && !call.over.is_empty() {
            return self.refuse(format!("{}(DISTINCT ...) OVER", call.function.name), place);
        }
        let (distinct, over) = (if call.distinct { "DISTINCT " } else { "" }, call.over);
        let spark = self.type_text(ty, place);
        let simple = |function: &str, x: &str| format!("CAST({function}({distinct}{x}){over} AS {spark})");
        match call.function.kind {
            K::CountStar => {
                let one = self.where_filtered(call, "1".into());
                format!("count({one}){over}")
            }
            K::Count => {
                let x = self.argument(call, 0);
                format!("count({distinct}{x}){over}")
            }
            K::Sum => self.sum(call),
            K::Avg => self.average(call),
            K::Min | K::Max => {
                let function = if call.function.kind == K::Min { "min" } else { "max" };
                let of = call.args.first().map_or(T::Null, Expr::ty);
                if !is_compared_alike(&of) {
                    return self.refuse(format!("{function} of {of}"), place);
                }
                let x = self.argument(call, 0);
                if call.over.is_empty() && call.filter.is_none() && call.args.iter().all(is_literal) {
                    // Sail takes the constant for a column that is never NULL, and fails.
                    return format!("CASE WHEN count(1) > 0 THEN {x} END");
                }
                format!("{function}({x}){over}")
            }
            // Some value that is not NULL, and the same one each time.
            K::AnyValue if call.args.first().is_some_and(|arg| is_compared_alike(&arg.ty())) => {
                let x = self.argument(call, 0);
                format!("max({x}){over}")
            }
            K::BoolAnd | K::BoolOr => {
                let function = if call.function.kind == K::BoolAnd { "bool_and" } else { "bool_or" };
                let x = self.argument(call, 0);
                format!("{function}({x}){over}")
            }
            K::StddevSamp | K::StddevPop | K::VarSamp | K::VarPop => {
                let function = self.named(call, &["stddev_samp", "stddev_pop", "var_samp", "var_pop"]);
                let x = self.argument(call, 0);
                simple(function, &x)
            }
            K::CovarPop | K::CovarSamp if !call.distinct => {
                let function = if call.function.kind == K::CovarPop { "covar_pop" } else { "covar_samp" };
                let (x, y) = (self.argument(call, 0), self.argument(call, 1));
                format!("{function}({x}, {y}){over}")
            }
            K::BitAnd | K::BitOr | K::BitXor if *ty != T::HugeInt && *ty != T::UBigInt => {
                let function = self.named(call, &["bit_and", "bit_or", "bit_xor"]);
                let x = self.argument(call, 0);
                simple(function, &x)
            }
            K::ArgMin | K::ArgMax if call.args.len() == 2 && call.order_by.is_empty() => {
                let function = if call.function.kind == K::ArgMin { "min_by" } else { "max_by" };
                let by = call.args[1].ty();
                if !is_compared_alike(&by) {
                    return self.refuse(format!("{} by {by}", call.function.name), place);
                }
                let (value, by) = (self.argument(call, 0), self.argument(call, 1));
                // Rows whose value is NULL do not count with us.
                format!("{function}({value}, CASE WHEN ({value}) IS NOT NULL THEN {by} END){over}")
            }
            K::First => self.picked(call, false),
            K::StringAgg => self.string_agg(call),
            K::Declared(rules) => match rules.name {
                "list" => self.list(call),
                "last" => self.picked(call, true),
                "quantile_cont" if *ty == T::Double => self.quantile(call, "percentile_cont"),
                "quantile_disc" if call.args.first().is_some_and(|arg| arg.ty() == T::Double) => {
                    self.quantile(call, "percentile_disc")
                }
                "regr_count" => {
                    let (x, y) = (self.argument(call, 0), self.argument(call, 1));
                    format!(
                        "CAST(count(CASE WHEN ({x}) IS NOT NULL AND ({y}) IS NOT NULL THEN 1 END){over} AS {spark})"
                    )
                }
                _ => self.refuse(format!("the aggregate {}", call.function.name), place),
            },
            K::AnyValue
            | K::CovarPop
            | K::CovarSamp
            | K::BitAnd
            | K::BitOr
            | K::BitXor
            | K::ArgMin
            | K::ArgMax
            | K::Corr
            | K::ApproxCountDistinct
            | K::Product
            | K::Mode => {
                let types: Vec<String> = call.function.arg_types.iter().map(ToString::to_string).collect();
                self.refuse(format!("the aggregate {}({})", call.function.name, types.join(", ")), place)
            }
        }
    }

    /// The name of an aggregate that is called alike there.
    fn named(&mut self, call: &Aggregated<'_>, names: &[&'static str]) -> &'static str {
        match names.iter().copied().find(|name| *name == &*call.function.name) {
            Some(name) => name,
            None => {
                self.refuse(format!("the aggregate {}", call.function.name), Place::default());
                "count"
            }
        }
    }

    /// The argument as a number that many of can be added without overflow.
    fn addend(&mut self, call: &Aggregated<'_>) -> Option<(String, u8, u8)> {
        let x = self.argument(call, 0);
        match call.args.first().map_or(T::Null, Expr::ty) {
            T::Decimal { precision, scale } => Some((x, precision, scale)),
            T::HugeInt => Some((x, 38, 0)),
            ty if is_whole(&ty) => Some((format!("CAST({x} AS DECIMAL(20,0))"), 20, 0)),
            T::Boolean => Some((format!("CAST(CAST({x} AS INT) AS DECIMAL(20,0))"), 20, 0)),
            _ => None,
        }
    }

    fn sum(&mut self, call: &Aggregated<'_>) -> String {
        let (distinct, over) = (if call.distinct { "DISTINCT " } else { "" }, call.over);
        let ty = &call.function.return_type;
        if matches!(ty, T::Double | T::Real) {
            let x = self.argument(call, 0);
            return format!("sum({distinct}{x}){over}");
        }
        let spark = self.type_text(ty, Place::default());
        let Some((x, precision, scale)) = self.addend(call) else {
            let of = call.args.first().map_or(T::Null, Expr::ty);
            return self.refuse(format!("sum of {of}"), Place::default());
        };
        let sum = format!("CAST(sum({distinct}{x}){over} AS {spark})");
        if precision <= 28 {
            return sum;
        }
        // Sail names columns by their expressions without casts: the product keeps the two sums apart.
        // Spark has ten digits more than the argument for a sum, up to 38: beyond, not every engine sees an overflow.
        let fails = failure("an overflow of a sum of DECIMALs", &format!("sum({distinct}{x}){over}"), &spark);
        let limit = double(10f64.powi(38 - i32::from(scale)) * (1.0 - 1e-9));
        format!(
            "CASE WHEN abs(sum({distinct}CAST({x} AS DOUBLE) * 1.0D){over}) >= {limit} THEN {fails} ELSE {sum} END"
        )
    }

    fn average(&mut self, call: &Aggregated<'_>) -> String {
        let (distinct, over) = (if call.distinct { "DISTINCT " } else { "" }, call.over);
        let of = call.args.first().map_or(T::Null, Expr::ty);
        if call.function.return_type != T::Double {
            return self.refuse(format!("avg of {of}"), Place::default());
        }
        if matches!(of, T::Double | T::Real) {
            let x = self.argument(call, 0);
            return format!("avg({distinct}CAST({x} AS DOUBLE)){over}");
        }
        match self.addend(call) {
            // Exact until the end, as ours.
            Some((x, _, _)) => {
                let counted = self.argument(call, 0);
                format!(
                    "CAST(sum({distinct}{x}){over} AS DOUBLE) / CAST(nullif(count({distinct}{counted}){over}, 0L) AS DOUBLE)"
                )
            }
            None => self.refuse(format!("avg of {of}"), Place::default()),
        }
    }

    fn quantile(&mut self, call: &Aggregated<'_>, function: &str) -> String {
        let fraction = match call.args.get(1) {
            None => Some(0.5),
            Some(Expr::Literal { value: Value::Double(fraction), .. }) => Some(*fraction),
            Some(Expr::Literal { value: value @ Value::Decimal { .. }, .. }) => {
                value.to_string().parse().ok()
            }
            Some(_) => None,
        };
        match fraction.filter(|f| (0.0..=1.0).contains(f) && call.over.is_empty() && !call.distinct) {
            Some(fraction) => {
                let x = self.argument(call, 0);
                format!("{function}({fraction:?}) WITHIN GROUP (ORDER BY {x})")
            }
            None => {
                self.refuse(format!("the aggregate {} in this form", call.function.name), Place::default())
            }
        }
    }

    /// The values of a group in their order, as an array of structs with a field `v`.
    fn in_order(&mut self, call: &Aggregated<'_>, passes_nulls: bool) -> Option<String> {
        if call.order_by.is_empty() || call.distinct || !call.over.is_empty() {
            let what = match (call.distinct, call.over.is_empty()) {
                (true, _) => "with DISTINCT",
                (false, false) => "over a window",
                (false, true) => "without ORDER BY, as rows of a cluster come in any order",
            };
            self.refuse(format!("{} {what}", call.function.name), Place::default());
            return None;
        }
        let value = call.args.first().map_or_else(|| "NULL".into(), |arg| self.expr(arg));
        let mut fields = vec![format!("'v', {value}")];
        let mut order = Vec::new();
        for (position, key) in call.order_by.iter().enumerate() {
            if !is_compared_alike(&key.expr.ty()) {
                self.refuse(format!("ORDER BY of {}", key.expr.ty()), Place::default());
            }
            fields.push(format!("'k{position}', {}", self.expr(&key.expr)));
            let (first, last) = if key.nulls_first { (-1, 1) } else { (1, -1) };
            let (less, more) = if key.descending { (1, -1) } else { (-1, 1) };
            let (a, b) = (format!("a.k{position}"), format!("b.k{position}"));
            order.push(format!(
                "WHEN {a} IS NULL AND {b} IS NOT NULL THEN {first} WHEN {a} IS NOT NULL AND {b} IS NULL THEN {last} \
                 WHEN {a} < {b} THEN {less} WHEN {a} > {b} THEN {more}"
            ));
        }
        let item = format!("named_struct({})", fields.join(", "));
        let mut conditions: Vec<String> = call.filter.map(|filter| self.expr(filter)).into_iter().collect();
        if passes_nulls {
            conditions.push(format!("({value}) IS NOT NULL"));
        }
        let item = if conditions.is_empty() {
            item
        } else {
            let all: Vec<String> = conditions.iter().map(|c| format!("({c})")).collect();
            format!("CASE WHEN {} THEN {item} END", all.join(" AND "))
        };
        Some(format!("array_sort(collect_list({item}), (a, b) -> CASE {} ELSE 0 END)", order.join(" ")))
    }

    fn picked(&mut self, call: &Aggregated<'_>, is_last: bool) -> String {
        let Some(values) = self.in_order(call, false) else { return "NULL".into() };
        let at = if is_last { "-1" } else { "1" };
        format!("try_element_at({values}, {at}).v")
    }

    fn list(&mut self, call: &Aggregated<'_>) -> String {
        let Some(values) = self.in_order(call, false) else { return "NULL".into() };
        let one = self.where_filtered(call, "1".into());
        let spark = self.type_text(&call.function.return_type, Place::default());
        format!("CASE WHEN count({one}) > 0 THEN CAST(transform({values}, e -> e.v) AS {spark}) END")
    }

    fn string_agg(&mut self, call: &Aggregated<'_>) -> String {
        let separator = match call.args.get(1) {
            None => Some(",".to_string()),
            Some(Expr::Literal { value: Value::Varchar(separator), .. }) => Some(separator.clone()),
            Some(_) => None,
        };
        let Some(separator) = separator else {
            return self.refuse("string_agg with a separator that is computed", Place::default());
        };
        let Some(values) = self.in_order(call, true) else { return "NULL".into() };
        let x = self.argument(call, 0);
        let separator = super::literal::text(&separator);
        format!("CASE WHEN count({x}) > 0 THEN array_join(transform({values}, e -> e.v), {separator}) END")
    }
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal { .. })
}

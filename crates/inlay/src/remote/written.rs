//! A plan as a query of ours for a server: what of it reads one database there and nothing else, and means the same there.
//!
//! ```text
//! WITH r0 AS (SELECT "a" AS c1, "b" AS c2 FROM "main"."t" WHERE ("a" > 5))      a relation per operator, columns by their ids
//! SELECT c1 AS c4, sum(c2) AS c5 FROM r0 GROUP BY c1
//! ```
//! What is not written stays here: functions of the host, what is computed anew each time, what depends on settings of the session (zones of
//! time, the moment, collations), orders that no LIMIT needs, and joins that may give more rows than they read.

use inlay_kernels::function::{AggregateKind, Volatility};
use inlay_sql::plan::expr::COLLATE;
use inlay_sql::plan::{
    AggregateExpr, ColumnId, Columns, Expr, JoinKind, Plan, ScanColumn, SetOpKind, SharedId, SortKey,
};
use inlay_types::sql_text::ident;
use inlay_types::{LogicalType, Value};
use std::collections::HashMap;
use std::fmt::Write;

/// Bytes of a text at most, and constants behind IN.
const TEXT_BYTES_MAX: usize = 1 << 20;
const CONSTANTS_MAX: usize = 10_000;

/// A query for a server.
pub(super) struct Written {
    /// The database of which all of it is.
    pub database: String,
    pub text: String,
}

/// A plan as a query whose columns are the plan's, in their order; `None` if it reads something else, too, or means something else there.
pub(super) fn write(plan: &Plan, columns: &Columns) -> Option<Written> {
    let mut writer = Writer {
        columns,
        database: None,
        relations: Vec::new(),
        shared: HashMap::new(),
        named: HashMap::new(),
        bytes: 0,
    };
    inlay_sql::with_plan_stack(plan, || writer.relation_of(plan))?;
    let last = writer.relations.pop()?;
    let before: Vec<String> =
        writer.relations.iter().enumerate().map(|(number, text)| format!("r{number} AS ({text})")).collect();
    let text = if before.is_empty() { last } else { format!("WITH {} {last}", before.join(", ")) };
    Some(Written { database: writer.database?, text })
}

struct Writer<'a> {
    columns: &'a Columns,
    database: Option<String>,
    /// In the order in which they refer to each other.
    relations: Vec<String>,
    shared: HashMap<SharedId, usize>,
    /// Columns of the table that is being read, by their own names.
    named: HashMap<ColumnId, String>,
    bytes: usize,
}

fn name(id: ColumnId) -> String {
    format!("c{}", id.0)
}

fn listed(items: Vec<String>) -> String {
    // Rows without columns still are rows.
    if items.is_empty() { "1 AS k".to_string() } else { items.join(", ") }
}

impl Writer<'_> {
    fn add(&mut self, text: String) -> Option<usize> {
        self.bytes += text.len();
        self.relations.push(text);
        (self.bytes <= TEXT_BYTES_MAX).then(|| self.relations.len() - 1)
    }

    /// The number of the relation that a plan becomes.
    fn relation_of(&mut self, plan: &Plan) -> Option<usize> {
        match plan {
            Plan::Source { source, columns, filters } => {
                let rows = source.remote()?;
                if *self.database.get_or_insert_with(|| rows.database.clone()) != rows.database {
                    return None;
                }
                let own = |column: &ScanColumn| Some(ident(&source.columns().get(column.index)?.name));
                self.scan(&rows.table, columns, &own, filters)
            }
            Plan::Project { input, items } => {
                let from = self.relation_of(input)?;
                let items =
                    items.iter().map(|(id, expr)| self.item(*id, expr)).collect::<Option<Vec<_>>>()?;
                self.add(format!("SELECT {} FROM r{from}", listed(items)))
            }
            Plan::Filter { input, predicates } => {
                let from = self.relation_of(input)?;
                let condition = self.conjunction(predicates)?;
                let output = plan.output().into_iter().map(name).collect();
                self.add(format!("SELECT {} FROM r{from} WHERE {condition}", listed(output)))
            }
            Plan::Join { kind, left, right, conditions, build_left: _ } => {
                self.join(*kind, left, right, conditions, plan.output())
            }
            Plan::Aggregate { input, groups, aggregates } => self.aggregate(input, groups, aggregates),
            Plan::Sort { input, keys, limit: limit @ Some(_), offset } => {
                let from = self.relation_of(input)?;
                let keys = self.keys(keys)?;
                let output = plan.output().into_iter().map(name).collect();
                let limits = limits(*limit, *offset);
                self.add(format!("SELECT {} FROM r{from} ORDER BY {keys}{limits}", listed(output)))
            }
            Plan::Limit { input, limit, offset } => {
                let from = self.relation_of(input)?;
                let output = plan.output().into_iter().map(name).collect();
                self.add(format!("SELECT {} FROM r{from}{}", listed(output), limits(*limit, *offset)))
            }
            Plan::SetOp { kind, all, left, right, left_columns, right_columns, columns } => {
                self.set_op((*kind, *all), (left, left_columns), (right, right_columns), columns)
            }
            Plan::With { id, definition, body } => {
                let relation = self.relation_of(definition)?;
                self.shared.insert(*id, relation);
                self.relation_of(body)
            }
            Plan::SharedScan { id, columns } => {
                let from = *self.shared.get(id)?;
                let items = columns.iter().map(|(made, read)| format!("{} AS {}", name(*read), name(*made)));
                self.add(format!("SELECT {} FROM r{from}", listed(items.collect())))
            }
            Plan::Sort { limit: None, .. }
            | Plan::Scan { .. }
            | Plan::Values { .. }
            | Plan::OrderedJoin { .. }
            | Plan::DependentJoin { .. }
            | Plan::Window { .. }
            | Plan::Unnest { .. }
            | Plan::TableCall { .. }
            | Plan::GroupLimit { .. }
            | Plan::LimitBy { .. }
            | Plan::Sample { .. }
            | Plan::Recursive { .. } => None,
        }
    }

    fn scan(
        &mut self,
        table: &str,
        columns: &[ScanColumn],
        own: &dyn Fn(&ScanColumn) -> Option<String>,
        filters: &[Expr],
    ) -> Option<usize> {
        let mut items = Vec::with_capacity(columns.len());
        for column in columns {
            let read = own(column)?;
            items.push(format!("{read} AS {}", name(column.id)));
            self.named.insert(column.id, read);
        }
        let filters = if filters.is_empty() { None } else { Some(self.conjunction(filters)) };
        columns.iter().for_each(|column| drop(self.named.remove(&column.id)));
        let condition = match filters {
            None => String::new(),
            Some(condition) => format!(" WHERE {}", condition?),
        };
        self.add(format!("SELECT {} FROM {table}{condition}", listed(items)))
    }

    fn item(&mut self, id: ColumnId, expr: &Expr) -> Option<String> {
        let (text, made) = (self.expr(expr)?, name(id));
        Some(if text == made { made } else { format!("{text} AS {made}") })
    }

    fn join(
        &mut self,
        kind: JoinKind,
        left: &Plan,
        right: &Plan,
        conditions: &[Expr],
        output: Vec<ColumnId>,
    ) -> Option<usize> {
        let is_kept = |kind| matches!(kind, JoinKind::Semi | JoinKind::Anti);
        // A product is made where its rows are needed.
        if conditions.is_empty() && !is_kept(kind) {
            return None;
        }
        let (one, other) = (self.relation_of(left)?, self.relation_of(right)?);
        let condition =
            if conditions.is_empty() { "true".to_string() } else { self.conjunction(conditions)? };
        let word = match kind {
            JoinKind::Inner => "JOIN",
            JoinKind::Left => "LEFT JOIN",
            JoinKind::Full => "FULL JOIN",
            JoinKind::Semi | JoinKind::Anti => {
                let not = if kind == JoinKind::Anti { "NOT " } else { "" };
                let output = listed(output.into_iter().map(name).collect());
                return self.add(format!(
                    "SELECT {output} FROM r{one} WHERE {not}EXISTS (SELECT 1 FROM r{other} WHERE {condition})"
                ));
            }
            JoinKind::Mark(_) | JoinKind::Single => return None,
        };
        let output = listed(output.into_iter().map(name).collect());
        self.add(format!("SELECT {output} FROM r{one} {word} r{other} ON {condition}"))
    }

    fn aggregate(
        &mut self,
        input: &Plan,
        groups: &[(ColumnId, Expr)],
        aggregates: &[(ColumnId, AggregateExpr)],
    ) -> Option<usize> {
        if groups.is_empty() && aggregates.is_empty() {
            return None;
        }
        let mut from = self.relation_of(input)?;
        let is_column =
            |(made, expr): &(ColumnId, Expr)| matches!(expr, Expr::Column { id, .. } if id == made);
        if !groups.iter().all(is_column) {
            // What is grouped by is a column before: a number behind GROUP BY would be a position.
            let own = input.output();
            let mut items: Vec<String> = own.iter().map(|id| name(*id)).collect();
            for (id, expr) in groups.iter().filter(|(id, _)| !own.contains(id)) {
                items.push(self.item(*id, expr)?);
            }
            from = self.add(format!("SELECT {} FROM r{from}", items.join(", ")))?;
        }
        let keys: Vec<String> = groups.iter().map(|(id, _)| name(*id)).collect();
        let mut items = keys.clone();
        for (id, aggregate) in aggregates {
            items.push(format!("{} AS {}", self.aggregated(aggregate)?, name(*id)));
        }
        let by = if keys.is_empty() { String::new() } else { format!(" GROUP BY {}", keys.join(", ")) };
        self.add(format!("SELECT {} FROM r{from}{by}", items.join(", ")))
    }

    fn aggregated(&mut self, aggregate: &AggregateExpr) -> Option<String> {
        let AggregateExpr { function, args, distinct, filter, order_by } = aggregate;
        let zoned = function.arg_types.iter().chain([&function.return_type]).any(has_zone);
        let is_plain =
            matches!(function.kind, AggregateKind::Min | AggregateKind::Max | AggregateKind::Count);
        // Which value comes first is the plan's to say.
        let is_loose = function.kind.is_order_sensitive() && order_by.is_empty();
        if function.external.is_some() || zoned && !is_plain || is_loose {
            return None;
        }
        let mut text = match function.kind {
            AggregateKind::CountStar => "count(*".to_string(),
            _ => {
                let args = args.iter().map(|arg| self.expr(arg)).collect::<Option<Vec<_>>>()?;
                let word = if *distinct { "DISTINCT " } else { "" };
                format!("{}({word}{}", function.name, args.join(", "))
            }
        };
        if !order_by.is_empty() {
            let _ = write!(text, " ORDER BY {}", self.keys(order_by)?);
        }
        text.push(')');
        if let Some(filter) = filter {
            let _ = write!(text, " FILTER (WHERE {})", self.expr(filter)?);
        }
        Some(text)
    }

    fn set_op(
        &mut self,
        (kind, all): (SetOpKind, bool),
        (left, left_columns): (&Plan, &[ColumnId]),
        (right, right_columns): (&Plan, &[ColumnId]),
        columns: &[ColumnId],
    ) -> Option<usize> {
        let (one, other) = (self.relation_of(left)?, self.relation_of(right)?);
        let word = match kind {
            SetOpKind::Union => "UNION",
            SetOpKind::Intersect => "INTERSECT",
            SetOpKind::Except => "EXCEPT",
        };
        if columns.is_empty() {
            return None;
        }
        let items = |read: &[ColumnId]| -> String {
            let items = read.iter().zip(columns);
            items
                .map(|(read, made)| format!("{} AS {}", name(*read), name(*made)))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let all = if all { " ALL" } else { "" };
        let (first, second) = (items(left_columns), items(right_columns));
        self.add(format!("SELECT {first} FROM r{one} {word}{all} SELECT {second} FROM r{other}"))
    }

    fn keys(&mut self, keys: &[SortKey]) -> Option<String> {
        let mut written = Vec::with_capacity(keys.len());
        for key in keys.iter().filter(|key| !matches!(key.expr, Expr::Literal { .. })) {
            let direction = if key.descending { "DESC" } else { "ASC" };
            let nulls = if key.nulls_first { "FIRST" } else { "LAST" };
            written.push(format!("{} {direction} NULLS {nulls}", self.expr(&key.expr)?));
        }
        (!written.is_empty()).then(|| written.join(", "))
    }

    fn conjunction(&mut self, conditions: &[Expr]) -> Option<String> {
        let parts = conditions.iter().map(|condition| self.expr(condition)).collect::<Option<Vec<_>>>()?;
        Some(if parts.is_empty() { "true".to_string() } else { parts.join(" AND ") })
    }

    /// An expression, which nothing beside it can take apart.
    fn expr(&mut self, expr: &Expr) -> Option<String> {
        inlay_sql::with_statement_stack(|| self.expression(expr))
    }

    fn expression(&mut self, expr: &Expr) -> Option<String> {
        Some(match expr {
            Expr::Column { id, .. } => {
                // A collation would be that of the column before it had this name.
                if self.columns.collation(*id).is_some() {
                    return None;
                }
                self.named.get(id).cloned().unwrap_or_else(|| name(*id))
            }
            Expr::Literal { value, ty } => literal(value, ty)?,
            Expr::Call { function, args, place: _ } => {
                let types = || function.arg_types.iter().chain([&function.return_type]);
                let is_ours = function.external.is_none() && function.volatility == Volatility::Immutable;
                if !is_ours || function.name == COLLATE || types().any(has_zone) {
                    return None;
                }
                let args = args.iter().map(|arg| self.expr(arg)).collect::<Option<Vec<_>>>()?;
                called(&function.name, &args)?
            }
            Expr::Cast { input, ty, or_null, place: _ } => {
                let from = input.ty();
                let by_setting = from == LogicalType::Blob || *ty == LogicalType::Blob;
                if from != *ty && (has_zone(&from) || has_zone(ty) || by_setting) {
                    return None;
                }
                let word = if *or_null { "TRY_CAST" } else { "CAST" };
                format!("{word}({} AS {ty})", self.expr(input)?)
            }
            Expr::Compare { op, left, right } => {
                format!("({} {} {})", self.expr(left)?, op.symbol(), self.expr(right)?)
            }
            Expr::And(parts) => self.joined(parts, " AND ")?,
            Expr::Or(parts) => self.joined(parts, " OR ")?,
            Expr::Not(input) => format!("(NOT {})", self.expr(input)?),
            Expr::IsNull(input) => format!("({} IS NULL)", self.expr(input)?),
            Expr::InList { input, list } => {
                let list = list.iter().map(|item| self.expr(item)).collect::<Option<Vec<_>>>()?;
                format!("({} IN ({}))", self.expr(input)?, list.join(", "))
            }
            Expr::InConstants { input, list } => {
                if list.len() > CONSTANTS_MAX {
                    return None;
                }
                let (ty, nulls) = (input.ty(), list.has_null().then_some(Value::Null));
                let values = list.iter().chain(nulls);
                let values = values.map(|value| literal(&value, &ty)).collect::<Option<Vec<_>>>()?;
                format!("({} IN ({}))", self.expr(input)?, values.join(", "))
            }
            Expr::Case { branches, otherwise, .. } => {
                let mut out = String::from("CASE");
                for (condition, value) in branches {
                    let _ = write!(out, " WHEN {} THEN {}", self.expr(condition)?, self.expr(value)?);
                }
                let _ = write!(out, " ELSE {} END", self.expr(otherwise)?);
                out
            }
            Expr::Coalesce { args, .. } => {
                let args = args.iter().map(|arg| self.expr(arg)).collect::<Option<Vec<_>>>()?;
                format!("coalesce({})", args.join(", "))
            }
            Expr::Lambda(_) => return None,
        })
    }

    fn joined(&mut self, parts: &[Expr], word: &str) -> Option<String> {
        let parts = parts.iter().map(|part| self.expr(part)).collect::<Option<Vec<_>>>()?;
        Some(format!("({})", parts.join(word)))
    }
}

fn limits(limit: Option<u64>, offset: u64) -> String {
    let limit = limit.map_or_else(String::new, |limit| format!(" LIMIT {limit}"));
    if offset == 0 { limit } else { format!("{limit} OFFSET {offset}") }
}

/// Whether what is done with values of a type may depend on the session's time zone.
fn has_zone(ty: &LogicalType) -> bool {
    ty.has_zone()
}

/// A constant, of its type whatever stands beside it.
fn literal(value: &Value, ty: &LogicalType) -> Option<String> {
    Some(match (value, ty) {
        (Value::Null, LogicalType::Null) => "NULL".to_string(),
        (Value::Null, ty) => format!("CAST(NULL AS {ty})"),
        (value, ty) if value.logical_type() == *ty => value.to_sql(),
        (value, ty) if !has_zone(ty) => format!("CAST({} AS {ty})", value.to_sql()),
        _ => return None,
    })
}

/// A call: operators are called as their symbols.
fn called(function: &str, args: &[String]) -> Option<String> {
    let is_word = function.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    Some(match args {
        args if is_word => format!("{function}({})", args.join(", ")),
        [left, right] => format!("({left} {function} {right})"),
        [input] => format!("({function} {input})"),
        _ => return None,
    })
}

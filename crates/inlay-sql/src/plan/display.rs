//! Plans as people and tools read them: the text tree and the JSON of EXPLAIN.
//!
//! Operators are numbered in preorder (see [`super::estimates`]); a caller can annotate each by its number, as EXPLAIN
//! ANALYZE does with rows and time. Columns are shown by name, with their id where a name is not unique in the query.

use super::statement::Query;
use super::window::{Frame, FrameBound, FrameExclusion, FrameUnits};
use super::{
    AggregateExpr, ColumnId, Columns, Expr, JoinKind, LambdaKind, OrderedJoinKind, Plan, ScanColumn,
    SetOpKind, SharedId, SortKey, WindowExpr,
};
use inlay_storage::{RowGroup, Table};
use inlay_types::Value;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

/// Most values of a list behind IN that are shown.
const IN_LIST_SHOWN_MAX: usize = 32;

/// What is said of an operator: name and value pairs.
type Details = Vec<(&'static str, String)>;

/// What a caller adds to an operator: name and value pairs.
pub type Annotate<'a> = &'a dyn Fn(usize) -> Vec<(&'static str, String)>;

/// The plan as a tree of lines, with estimates and annotations behind each operator.
pub fn text(query: &Query, annotate: Annotate<'_>) -> String {
    let printer = Printer::new(&query.plan, &query.columns);
    let mut out = String::new();
    let mut next = 0;
    printer.tree(
        &query.plan,
        &mut Tree { query: Some(query), annotate, next: &mut next, out: &mut out },
        "",
        "",
    );
    out
}

/// The plan as JSON: `{"operator", "details", "estimated_rows", ..., "inputs"}`.
pub fn json(query: &Query, annotate: Annotate<'_>) -> String {
    let printer = Printer::new(&query.plan, &query.columns);
    let mut out = String::new();
    let mut next = 0;
    printer.json(&query.plan, &mut Tree { query: Some(query), annotate, next: &mut next, out: &mut out }, 0);
    out.push('\n');
    out
}

/// The tree alone, for traces of passes and tests.
pub fn plan_text(plan: &Plan, columns: &Columns) -> String {
    let printer = Printer::new(plan, columns);
    let mut out = String::new();
    let mut next = 0;
    printer.tree(
        plan,
        &mut Tree { query: None, annotate: &|_| Vec::new(), next: &mut next, out: &mut out },
        "",
        "",
    );
    out
}

/// An expression as SQL, near enough to be read.
pub fn expr_text(expr: &Expr, columns: &Columns) -> String {
    let printer = Printer { columns, ambiguous: HashSet::new() };
    printer.expr(expr)
}

struct Tree<'a> {
    query: Option<&'a Query>,
    annotate: Annotate<'a>,
    next: &'a mut usize,
    out: &'a mut String,
}

struct Printer<'a> {
    columns: &'a Columns,
    /// Columns whose name another column of the plan has too.
    ambiguous: HashSet<ColumnId>,
}

impl<'a> Printer<'a> {
    fn new(plan: &Plan, columns: &'a Columns) -> Self {
        let mut used = HashSet::new();
        used_columns(plan, &mut used);
        let mut by_name: HashMap<&str, Vec<ColumnId>> = HashMap::new();
        for id in used.into_iter().filter(|id| (id.0 as usize) < columns.len()) {
            by_name.entry(columns.get(id).name.as_str()).or_default().push(id);
        }
        let ambiguous = by_name.into_values().filter(|ids| ids.len() > 1).flatten().collect();
        Self { columns, ambiguous }
    }

    fn name(&self, id: ColumnId) -> String {
        if id.0 as usize >= self.columns.len() {
            return id.to_string();
        }
        let name = &self.columns.get(id).name;
        let name = match shortened(name) {
            (name, None) => name.to_string(),
            (name, Some(_)) => format!("{name}..."),
        };
        if self.ambiguous.contains(&id) || name.is_empty() { format!("{name}{id}") } else { name }
    }

    fn names(&self, ids: impl IntoIterator<Item = ColumnId>) -> String {
        ids.into_iter().map(|id| self.name(id)).collect::<Vec<_>>().join(", ")
    }

    fn tree(&self, plan: &Plan, tree: &mut Tree<'_>, first: &str, rest: &str) {
        let node = *tree.next;
        *tree.next += 1;
        let (operator, details) = self.describe(plan);
        tree.out.push_str(first);
        tree.out.push_str(&operator);
        for detail in &details {
            let _ = write!(tree.out, "  {}", detail_text(detail));
        }
        let mut notes = Vec::new();
        if let Some(rows) = tree.query.and_then(|q| q.estimates.rows(node)) {
            notes.push(format!("~{} rows", rows.round()));
        }
        notes.extend((tree.annotate)(node).into_iter().map(|(name, value)| format!("{name}: {value}")));
        if !notes.is_empty() {
            let _ = write!(tree.out, "  ({})", notes.join(", "));
        }
        tree.out.push('\n');
        let inputs = plan.inputs();
        let last = inputs.len().saturating_sub(1);
        for (i, input) in inputs.into_iter().enumerate() {
            let (branch, below) = if i == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.tree(input, tree, &format!("{rest}{branch}"), &format!("{rest}{below}"));
        }
    }

    fn json(&self, plan: &Plan, tree: &mut Tree<'_>, depth: usize) {
        let node = *tree.next;
        *tree.next += 1;
        let (operator, details) = self.describe(plan);
        let pad = "  ".repeat(depth);
        let _ = write!(tree.out, "{pad}{{\n{pad}  \"operator\": {}", json_string(&operator));
        for (name, value) in &details {
            let _ = write!(tree.out, ",\n{pad}  {}: {}", json_string(name), json_string(value));
        }
        if let Some(rows) = tree.query.and_then(|q| q.estimates.rows(node)) {
            let _ = write!(tree.out, ",\n{pad}  \"estimated_rows\": {}", rows.round());
        }
        for (name, value) in (tree.annotate)(node) {
            let shown =
                if value.parse::<f64>().is_ok_and(f64::is_finite) { value } else { json_string(&value) };
            let _ = write!(tree.out, ",\n{pad}  {}: {shown}", json_string(name));
        }
        let inputs = plan.inputs();
        if inputs.is_empty() {
            let _ = write!(tree.out, ",\n{pad}  \"inputs\": []\n{pad}}}");
            return;
        }
        let _ = writeln!(tree.out, ",\n{pad}  \"inputs\": [");
        let count = inputs.len();
        for (i, input) in inputs.into_iter().enumerate() {
            self.json(input, tree, depth + 2);
            tree.out.push_str(if i + 1 < count { ",\n" } else { "\n" });
        }
        let _ = write!(tree.out, "{pad}  ]\n{pad}}}");
    }

    /// The operator's name and what it does, as name and text.
    /// What the operator is called, and what else there is to say of it.
    fn describe(&self, plan: &Plan) -> (String, Details) {
        let mut details = Vec::new();
        let operator = match plan {
            Plan::Scan { .. } | Plan::Source { .. } | Plan::Values { .. } | Plan::SharedScan { .. } => {
                self.describe_leaf(plan, &mut details)
            }
            Plan::Join { .. } | Plan::OrderedJoin { .. } | Plan::DependentJoin { .. } => {
                self.describe_any_join(plan, &mut details)
            }
            Plan::Sort { .. } | Plan::Limit { .. } | Plan::GroupLimit { .. } | Plan::LimitBy { .. } => {
                self.describe_order(plan, &mut details)
            }
            Plan::SetOp { .. } | Plan::With { .. } | Plan::Recursive { .. } => {
                self.describe_union(plan, &mut details)
            }
            Plan::Project { .. }
            | Plan::Filter { .. }
            | Plan::Aggregate { .. }
            | Plan::Window { .. }
            | Plan::Unnest { .. }
            | Plan::TableCall { .. }
            | Plan::Sample { .. } => self.describe_rows(plan, &mut details),
        };
        details.retain(|(_, text)| !text.is_empty());
        (operator, details)
    }

    /// Operators without an input.
    fn describe_leaf(&self, plan: &Plan, details: &mut Details) -> String {
        match plan {
            Plan::Scan { table, columns, filters, .. } => {
                details.push(("columns", self.names(plan.output())));
                let full = columns.iter().filter(|c| c.full_at.is_some()).map(|c| c.id);
                if full.clone().next().is_some() {
                    details.push(("without NULL", self.names(full)));
                }
                self.push_list(details, "filter", filters);
                details.push(("bitmap index", self.by_value(&table.table, columns)));
                format!("Scan {}", table.name)
            }
            Plan::Source { source, columns, filters } => {
                details.push(("columns", self.names(columns.iter().map(|c| c.id))));
                self.push_list(details, "filter", filters);
                format!("Scan {}", source.description())
            }
            Plan::SharedScan { id: SharedId(number), columns } => {
                details.push(("columns", self.names(columns.iter().map(|(id, _)| *id))));
                format!("Scan shared {number}")
            }
            Plan::Values { columns, rows } => {
                details.push(("columns", self.names(columns.iter().copied())));
                details.push(("rows", rows.len().to_string()));
                if rows.is_empty() { "Empty" } else { "Values" }.to_string()
            }
            _ => String::new(),
        }
    }

    /// Which columns of a scan have bitmap indexes, and in how many row groups these know something.
    fn by_value(&self, table: &Table, columns: &[ScanColumn]) -> String {
        let indexed = table.columns_by_value();
        let columns = columns.iter().filter(|column| indexed.contains(&column.index));
        let (names, columns): (Vec<String>, Vec<usize>) =
            columns.map(|column| (self.name(column.id), column.index)).unzip();
        if columns.is_empty() {
            return String::new();
        }
        let snapshot = table.snapshot();
        let groups = snapshot.row_groups();
        let knows = |group: &&Arc<RowGroup>| columns.iter().all(|c| group.column(*c).value_sets().is_some());
        let knowing = groups.iter().filter(knows).count();
        format!("{} in {knowing} of {} row groups", names.join(", "), groups.len())
    }

    /// Operators that make each row, or each group, another one.
    fn describe_rows(&self, plan: &Plan, details: &mut Details) -> String {
        match plan {
            Plan::Project { items, .. } => {
                details.push(("items", self.items(items)));
                "Project".to_string()
            }
            Plan::Filter { predicates, .. } => {
                self.push_list(details, "predicates", predicates);
                "Filter".to_string()
            }
            Plan::Aggregate { groups, aggregates, .. } => {
                details.push(("groups", self.items(groups)));
                let list =
                    aggregates.iter().map(|(id, a)| format!("{} := {}", self.name(*id), self.aggregate(a)));
                details.push(("aggregates", list.collect::<Vec<_>>().join(", ")));
                if aggregates.is_empty() { "Distinct" } else { "Aggregate" }.to_string()
            }
            Plan::Window { windows, .. } => {
                let list = windows.iter().map(|(id, w)| format!("{} := {}", self.name(*id), self.window(w)));
                details.push(("aggregates", list.collect::<Vec<_>>().join(", ")));
                "Window".to_string()
            }
            Plan::Unnest { lists, ordinality, keep_empty, .. } => {
                details.push(("lists", self.items(lists)));
                details.extend(ordinality.map(|id| ("ordinality", self.name(id))));
                if *keep_empty { "Left Unnest" } else { "Unnest" }.to_string()
            }
            Plan::TableCall { call, args, keys, columns, ordinality, .. } => {
                details.push(("columns", self.names(columns.iter().copied().chain(*ordinality))));
                self.push_list(details, "arguments", args);
                self.push_list(details, "partition by", keys);
                format!("Call {}", call.external.definition.name)
            }
            Plan::Sample { sample, .. } => {
                let size = match sample.size {
                    super::SampleSize::Percent(share) => format!("{share}%"),
                    super::SampleSize::Rows(rows) => format!("{rows} rows"),
                };
                details.push(("size", size));
                details.extend(sample.method.map(|method| ("by", format!("{method:?}").to_lowercase())));
                details.extend(sample.seed.map(|seed| ("seed", seed.to_string())));
                "Sample".to_string()
            }
            _ => String::new(),
        }
    }

    fn describe_any_join(&self, plan: &Plan, details: &mut Details) -> String {
        let (kind, conditions, builds_left, name) = match plan {
            Plan::Join { kind, conditions, build_left, .. } => (kind, conditions, *build_left, "Join"),
            Plan::OrderedJoin { kind: OrderedJoinKind::Asof { kind, build_left }, conditions, .. } => {
                (kind, conditions, *build_left, "Asof")
            }
            Plan::DependentJoin { kind, conditions, .. } => (kind, conditions, false, "Dependent Join"),
            _ => return "Positional Join".to_string(),
        };
        self.describe_join(*kind, conditions, details);
        if builds_left {
            details.push(("build", "left".to_string()));
        }
        match name {
            "Asof" => format!("Asof {} Join", join_name(*kind)),
            name => format!("{} {name}", join_name(*kind)),
        }
    }

    /// Operators that order rows, or end their number.
    fn describe_order(&self, plan: &Plan, details: &mut Details) -> String {
        match plan {
            Plan::Sort { keys, limit, offset, .. } => {
                details.push(("keys", self.keys(keys)));
                push_limit(details, *limit, *offset);
                if limit.is_some() { "Top" } else { "Sort" }.to_string()
            }
            Plan::Limit { limit, offset, .. } => {
                push_limit(details, *limit, *offset);
                "Limit".to_string()
            }
            Plan::GroupLimit { groups, keys, limit, offset, .. } => {
                self.push_list(details, "groups", groups);
                details.push(("keys", self.keys(keys)));
                push_limit(details, *limit, *offset);
                "Group Limit".to_string()
            }
            Plan::LimitBy { by, .. } => {
                let unit = if by.percent { "%" } else { "" };
                details.extend(by.limit.map(|id| ("limit", format!("{}{unit}", self.name(id)))));
                details.extend(by.offset.map(|id| ("offset", self.name(id))));
                "Limit By".to_string()
            }
            _ => String::new(),
        }
    }

    /// Operators that put rows of several inputs together.
    fn describe_union(&self, plan: &Plan, details: &mut Details) -> String {
        match plan {
            Plan::SetOp { kind, all, columns, left_columns, right_columns, .. } => {
                details.push(("columns", self.names(columns.iter().copied())));
                details.push(("left", self.names(left_columns.iter().copied())));
                details.push(("right", self.names(right_columns.iter().copied())));
                let kind = match kind {
                    SetOpKind::Union => "Union",
                    SetOpKind::Intersect => "Intersect",
                    SetOpKind::Except => "Except",
                };
                format!("{kind}{}", if *all { " All" } else { "" })
            }
            Plan::Recursive { id: SharedId(number), all, keyed, columns, .. } => {
                if let Some(keyed) = keyed {
                    let keys = keyed.keys.iter().filter_map(|key| columns.get(*key).copied());
                    details.push(("key", self.names(keys)));
                }
                details.push(("columns", self.names(columns.iter().copied())));
                format!("Recursive Union{} shared {number}", if *all { " All" } else { "" })
            }
            Plan::With { id: SharedId(number), .. } => format!("With shared {number}"),
            _ => String::new(),
        }
    }

    fn items(&self, items: &[(ColumnId, Expr)]) -> String {
        items.iter().map(|item| self.item(item)).collect::<Vec<_>>().join(", ")
    }

    fn describe_join(&self, kind: JoinKind, conditions: &[Expr], details: &mut Details) {
        self.push_list(details, "on", conditions);
        if let JoinKind::Mark(mark) = kind {
            details.push(("mark", self.name(mark)));
        }
    }

    fn push_list(&self, details: &mut Details, name: &'static str, exprs: &[Expr]) {
        if !exprs.is_empty() {
            details.push((name, exprs.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(" AND ")));
        }
    }

    fn item(&self, (id, expr): &(ColumnId, Expr)) -> String {
        match expr {
            Expr::Column { id: read, .. } if read == id => self.name(*id),
            other => format!("{} := {}", self.name(*id), self.expr(other)),
        }
    }

    fn keys(&self, keys: &[SortKey]) -> String {
        let shown = keys.iter().map(|key| {
            let direction = if key.descending { " DESC" } else { "" };
            let nulls = if key.nulls_first { " NULLS FIRST" } else { "" };
            format!("{}{direction}{nulls}", self.expr(&key.expr))
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    fn aggregate(&self, aggregate: &AggregateExpr) -> String {
        let distinct = if aggregate.distinct { "DISTINCT " } else { "" };
        let args = aggregate.args.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ");
        let args =
            if aggregate.function.name == "count_star" || args.is_empty() { "*".to_string() } else { args };
        let mut text = format!("{}({distinct}{args}", aggregate.function.name.trim_end_matches("_star"));
        if !aggregate.order_by.is_empty() {
            let _ = write!(text, " ORDER BY {}", self.keys(&aggregate.order_by));
        }
        text.push(')');
        if let Some(filter) = &aggregate.filter {
            let _ = write!(text, " FILTER (WHERE {})", self.expr(filter));
        }
        text
    }

    fn window(&self, window: &WindowExpr) -> String {
        let list = |exprs: &[Expr]| exprs.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ");
        let name = window.name();
        let args = if name == "count_star" { "*".to_string() } else { list(&window.args) };
        let distinct = if window.distinct { "DISTINCT " } else { "" };
        let mut text = format!("{}({distinct}{args}", name.trim_end_matches("_star"));
        if !window.arg_order.is_empty() {
            let _ = write!(text, " ORDER BY {}", self.keys(&window.arg_order));
        }
        if window.ignore_nulls {
            text.push_str(" IGNORE NULLS");
        }
        text.push(')');
        if let Some(filter) = &window.filter {
            let _ = write!(text, " FILTER (WHERE {})", self.expr(filter));
        }
        let mut over = Vec::new();
        if !window.partition.is_empty() {
            over.push(format!("PARTITION BY {}", list(&window.partition)));
        }
        if !window.order.is_empty() {
            over.push(format!("ORDER BY {}", self.keys(&window.order)));
        }
        let frame = &window.frame;
        if *frame != Frame::default_of(!window.order.is_empty()) {
            let bound = |bound: &FrameBound| match bound {
                FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_string(),
                FrameBound::Preceding(offset) => format!("{} PRECEDING", self.expr(offset)),
                FrameBound::CurrentRow => "CURRENT ROW".to_string(),
                FrameBound::Following(offset) => format!("{} FOLLOWING", self.expr(offset)),
                FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_string(),
            };
            let units = match frame.units {
                FrameUnits::Rows => "ROWS",
                FrameUnits::Range => "RANGE",
                FrameUnits::Groups => "GROUPS",
            };
            let exclude = match frame.exclude {
                FrameExclusion::NoOthers => "",
                FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
                FrameExclusion::Group => " EXCLUDE GROUP",
                FrameExclusion::Ties => " EXCLUDE TIES",
            };
            over.push(format!("{units} BETWEEN {} AND {}{exclude}", bound(&frame.start), bound(&frame.end)));
        }
        format!("{text} OVER ({})", over.join(" "))
    }

    /// An operand, in parentheses where it would be misread.
    fn operand(&self, expr: &Expr) -> String {
        let text = self.expr(expr);
        let is_plain = match expr {
            Expr::Column { .. }
            | Expr::Literal { .. }
            | Expr::Cast { .. }
            | Expr::Case { .. }
            | Expr::Coalesce { .. }
            | Expr::Lambda(_) => true,
            Expr::Call { function, args, .. } => !is_operator(&function.name) || args.len() == 1,
            _ => false,
        };
        if is_plain { text } else { format!("({text})") }
    }

    fn list(&self, exprs: &[Expr], separator: &str) -> String {
        exprs.iter().map(|e| self.operand(e)).collect::<Vec<_>>().join(separator)
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Column { id, .. } => self.name(*id),
            Expr::Literal { value, .. } => literal(value),
            Expr::Call { function, args, .. } if is_operator(&function.name) => match args.as_slice() {
                [left, right] => format!("{} {} {}", self.operand(left), function.name, self.operand(right)),
                [only] => format!("{}{}", function.name, self.operand(only)),
                _ => format!("{}({})", function.name, self.list(args, ", ")),
            },
            Expr::Call { function, args, .. } => {
                let args = args.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ");
                format!("{}({args})", function.name)
            }
            Expr::Cast { input, ty, or_null, .. } => {
                format!("{}({} AS {ty})", if *or_null { "TRY_CAST" } else { "CAST" }, self.expr(input))
            }
            Expr::Compare { op, left, right } => {
                format!("{} {} {}", self.operand(left), op.symbol(), self.operand(right))
            }
            Expr::And(parts) => self.list(parts, " AND "),
            Expr::Or(parts) => self.list(parts, " OR "),
            Expr::Not(input) => match &**input {
                Expr::IsNull(tested) => format!("{} IS NOT NULL", self.operand(tested)),
                other => format!("NOT {}", self.operand(other)),
            },
            Expr::IsNull(input) => format!("{} IS NULL", self.operand(input)),
            Expr::InList { input, list } => {
                let (shown, left_out) = list.split_at(list.len().min(IN_LIST_SHOWN_MAX));
                let mut text = format!("{} IN ({}", self.operand(input), self.list(shown, ", "));
                if !left_out.is_empty() {
                    let _ = write!(text, ", ... {} more", left_out.len());
                }
                text.push(')');
                text
            }
            Expr::InConstants { input, list } => {
                let mut shown: Vec<String> =
                    list.iter().take(IN_LIST_SHOWN_MAX).map(|value| literal(&value)).collect();
                let left_out = list.len() - shown.len();
                if left_out > 0 {
                    shown.push(format!("... {left_out} more"));
                }
                if list.has_null() {
                    shown.push(literal(&Value::Null));
                }
                format!("{} IN ({})", self.operand(input), shown.join(", "))
            }
            Expr::Case { branches, otherwise, .. } => {
                let mut text = "CASE".to_string();
                for (condition, value) in branches {
                    let _ = write!(text, " WHEN {} THEN {}", self.expr(condition), self.expr(value));
                }
                let _ = write!(text, " ELSE {} END", self.expr(otherwise));
                text
            }
            Expr::Coalesce { args, .. } => {
                let args = args.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ");
                format!("coalesce({args})")
            }
            Expr::Lambda(lambda) if lambda.kind == LambdaKind::Try => {
                format!("try({})", self.expr(&lambda.body))
            }
            Expr::Lambda(lambda) => {
                let parameters: Vec<String> = lambda.parameters.iter().map(|id| self.name(*id)).collect();
                let values = &lambda.args[..lambda.args.len() - lambda.captured.len()];
                if lambda.kind == LambdaKind::Once {
                    let value = |(name, value)| format!("{name} := {}", self.expr(value));
                    let values: Vec<String> = parameters.iter().zip(values).map(value).collect();
                    return format!("once({}: {})", values.join(", "), self.expr(&lambda.body));
                }
                let mut values = values.iter().map(|value| self.expr(value));
                let list = values.next().unwrap_or_default();
                let rest: String = values.map(|value| format!(", {value}")).collect();
                let body = self.expr(&lambda.body);
                format!("{}({list}, lambda {}: {body}{rest})", lambda.kind.name(), parameters.join(", "))
            }
        }
    }
}

fn used_columns(plan: &Plan, used: &mut HashSet<ColumnId>) {
    used.extend(plan.output());
    plan.inputs().into_iter().for_each(|input| used_columns(input, used));
}

fn join_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Inner",
        JoinKind::Left => "Left",
        JoinKind::Full => "Full",
        JoinKind::Semi => "Semi",
        JoinKind::Anti => "Anti",
        JoinKind::Mark(_) => "Mark",
        JoinKind::Single => "Single",
    }
}

fn push_limit(details: &mut Details, limit: Option<u64>, offset: u64) {
    if let Some(limit) = limit {
        details.push(("limit", limit.to_string()));
    }
    if offset > 0 {
        details.push(("offset", offset.to_string()));
    }
}

fn detail_text((name, text): &(&'static str, String)) -> String {
    match *name {
        "on" => format!("on {text}"),
        "columns" | "items" | "keys" => format!("[{text}]"),
        "filter" => format!("where {text}"),
        "predicates" => text.clone(),
        "aggregates" => text.clone(),
        "groups" => format!("by [{text}]"),
        other => format!("{other} {text}"),
    }
}

fn is_operator(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

fn literal(value: &Value) -> String {
    match value {
        Value::Varchar(text) => quoted(text),
        Value::Null | Value::Boolean(_) | Value::Real(_) | Value::Double(_) | Value::Decimal { .. } => {
            value.to_string()
        }
        other if other.as_i128().is_none() && !other.logical_type().is_integer() => {
            match shortened(&value.to_string()) {
                (text, None) => format!("'{text}'"),
                (text, Some(length)) => format!("'{text}...' ({length} characters)"),
            }
        }
        other => other.to_string(),
    }
}

/// A text as a literal; of a long one the beginning, and how long it is.
fn quoted(text: &str) -> String {
    match shortened(text) {
        (text, None) => format!("'{}'", text.replace('\'', "''")),
        (text, Some(length)) => format!("'{}...' ({length} characters)", text.replace('\'', "''")),
    }
}

/// The beginning of a text, and its length if that is not all.
fn shortened(text: &str) -> (&str, Option<usize>) {
    const SHOWN_MAX: usize = 60;
    /// A text hardly longer than what is shown is shown whole.
    const WHOLE_MAX: usize = 80;
    if text.len() <= WHOLE_MAX || text.chars().nth(WHOLE_MAX).is_none() {
        return (text, None);
    }
    let end = text.char_indices().nth(SHOWN_MAX).map_or(text.len(), |(end, _)| end);
    (&text[..end], Some(text.chars().count()))
}

/// A text as a JSON string.
pub fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

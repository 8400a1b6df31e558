//! Joins that Spark has under another name, or not at all.
//!
//! - Mark: three joins. Left rows with a partner are TRUE; of the others, those for which some partner would be NULL are NULL, the
//!   rest are FALSE.
//! - Single: a left outer join, over partners that are counted where more than one may match, and a failure where one does.
//! - ASOF: of the right rows each holds from its own moment to that of the next of its keys, so that the nearest is found by an interval
//!   and an equality.

use super::Writer;
use super::literal::failure;
use super::relation::{Select, name};
use inlay_sql::plan::{ColumnId, CompareOp, Expr, JoinKind, Place, Plan};

impl Writer<'_> {
    /// Conditions as one; TRUE without any.
    fn conjunction(&mut self, conditions: &[Expr]) -> String {
        if conditions.iter().any(super::host::calls_host) {
            self.refuse("a function of Python in the condition of a join", Place::default());
        }
        let parts: Vec<String> = conditions.iter().map(|c| format!("({})", self.expr(c))).collect();
        if parts.is_empty() { "true".into() } else { parts.join(" AND ") }
    }

    pub(crate) fn join(
        &mut self,
        kind: JoinKind,
        left: &Plan,
        right: &Plan,
        conditions: &[Expr],
        output: &[ColumnId],
    ) -> Select {
        let (one, other) = (self.relation_of(left), self.relation_of(right));
        let output = output.to_vec();
        let word = match kind {
            JoinKind::Inner if conditions.is_empty() => {
                return Select::of(format!("{one} CROSS JOIN {}", self.apart(&one, other)), output);
            }
            JoinKind::Inner => "INNER JOIN",
            JoinKind::Left => "LEFT JOIN",
            JoinKind::Full => "FULL JOIN",
            JoinKind::Semi => "LEFT SEMI JOIN",
            JoinKind::Anti => "LEFT ANTI JOIN",
            JoinKind::Mark(mark) => return self.mark(&one, &other, left, conditions, mark),
            JoinKind::Single => return self.single(&one, other, right, conditions, output),
        };
        let condition = self.conjunction(conditions);
        let other = self.apart(&one, other);
        let joined = Select::of(format!("{one} {word} {other} ON {condition}"), output.clone());
        Select::of(self.close(joined), output)
    }

    /// A name for the right side of a join: its own, or another where both sides are one relation.
    fn apart(&self, one: &str, other: String) -> String {
        if one == other { format!("{other} AS x{}", self.relations.len()) } else { other }
    }

    fn mark(&mut self, left: &str, right: &str, plan: &Plan, conditions: &[Expr], mark: ColumnId) -> Select {
        if plan.is_volatile() {
            self.refuse("IN or EXISTS beside other conditions over volatile rows", Place::default());
        }
        let condition = self.conjunction(conditions);
        let own = plan.output();
        let listed: Vec<String> = own.iter().map(|id| name(*id)).collect();
        let listed = if listed.is_empty() { "1 AS k".to_string() } else { listed.join(", ") };
        let maybe = format!("coalesce({condition}, true)");
        let rest =
            self.relation(format!("SELECT {listed} FROM {left} LEFT ANTI JOIN {right} ON {condition}"));
        let made = name(mark);
        let text = format!(
            "SELECT {listed}, true AS {made} FROM {left} LEFT SEMI JOIN {right} ON {condition} \
             UNION ALL SELECT {listed}, CAST(NULL AS BOOLEAN) AS {made} FROM {rest} LEFT SEMI JOIN {right} ON {maybe} \
             UNION ALL SELECT {listed}, false AS {made} FROM {rest} LEFT ANTI JOIN {right} ON {maybe}"
        );
        Select::of(self.relation(text), own.into_iter().chain([mark]).collect())
    }

    /// A left join that fails where a row has two partners.
    fn single(
        &mut self,
        left: &str,
        right: String,
        plan: &Plan,
        conditions: &[Expr],
        output: Vec<ColumnId>,
    ) -> Select {
        let condition = self.conjunction(conditions);
        let right_columns = plan.output();
        let keys = keys_of(conditions, &right_columns);
        if is_single(plan, &keys, conditions) {
            let right = self.apart(left, right);
            let joined = Select::of(format!("{left} LEFT JOIN {right} ON {condition}"), output.clone());
            return Select::of(self.close(joined), output);
        }
        if keys.len() != conditions.len() {
            self.refuse(
                "a subquery for one value whose rows are chosen by more than equalities",
                Place::default(),
            );
        }
        // One row for each key, and how many there were: of one row, `first` is that row.
        let grouped: Vec<String> = keys.iter().map(|key| self.expr(key)).collect();
        let marker = self.relations.len();
        let grouped =
            if grouped.is_empty() { String::new() } else { format!(" GROUP BY {}", grouped.join(", ")) };
        let mut listed: Vec<String> =
            right_columns.iter().map(|id| format!("first({0}) AS {0}", name(*id))).collect();
        listed.push(format!("count(1) AS n{marker}"));
        let counted = self.relation(format!("SELECT {} FROM {right}{grouped}", listed.join(", ")));
        let told = "a subquery that stands for one value gave more than one row";
        let fails = failure(told, &format!("n{marker}"), "INT");
        let mut joined = Select::of(format!("{left} LEFT JOIN {counted} ON {condition}"), output);
        joined.filters.push(format!("CASE WHEN n{marker} > 1 THEN {fails} ELSE 1 END = 1"));
        joined
    }

    /// ASOF: an equality of keys, and a moment within the interval of a right row.
    pub(crate) fn asof(
        &mut self,
        kind: JoinKind,
        build_left: bool,
        left: &Plan,
        right: &Plan,
        conditions: &[Expr],
    ) -> Select {
        let (word, output) = match kind {
            JoinKind::Inner => ("INNER JOIN", [left.output(), right.output()].concat()),
            JoinKind::Left => ("LEFT JOIN", [left.output(), right.output()].concat()),
            JoinKind::Semi => ("LEFT SEMI JOIN", left.output()),
            JoinKind::Anti => ("LEFT ANTI JOIN", left.output()),
            JoinKind::Full | JoinKind::Mark(_) | JoinKind::Single => {
                self.refuse("ASOF FULL JOIN", Place::default());
                ("LEFT JOIN", [left.output(), right.output()].concat())
            }
        };
        if build_left {
            self.refuse("ASOF RIGHT JOIN", Place::default());
        }
        let (one, other) = (self.relation_of(left), self.relation_of(right));
        let Some((Expr::Compare { op, left: moment, right: begin }, equalities)) = conditions.split_last()
        else {
            self.refuse("an ASOF join without an inequality", Place::default());
            return Select::of(one, output);
        };
        let keys = keys_of(equalities, &right.output());
        if keys.len() != equalities.len() {
            self.refuse("an ASOF join whose other conditions are no equalities", Place::default());
        }
        let (order, within, strictly) = match op {
            CompareOp::GtEq => ("ASC", ">=", "<"),
            CompareOp::Gt => ("ASC", ">", "<="),
            CompareOp::LtEq => ("DESC", "<=", ">"),
            CompareOp::Lt => ("DESC", "<", ">="),
            CompareOp::Eq | CompareOp::NotEq | CompareOp::Distinct | CompareOp::NotDistinct => {
                self.refuse("an ASOF join by another comparison than >=, >, <= or <", Place::default());
                ("ASC", ">=", "<")
            }
        };
        let (moment, begin) = (self.expr(moment), self.expr(begin));
        let partition: Vec<String> = keys.iter().map(|key| self.expr(key)).collect();
        let partition = if partition.is_empty() {
            String::new()
        } else {
            format!("PARTITION BY {} ", partition.join(", "))
        };
        let marker = self.relations.len();
        let listed: Vec<String> = right.output().into_iter().map(name).collect();
        let listed = if listed.is_empty() { format!("1 AS k{marker}") } else { listed.join(", ") };
        let intervals = self.relation(format!(
            "SELECT {listed}, {begin} AS b{marker}, lead({begin}) OVER ({partition}ORDER BY {begin} {order} NULLS LAST) \
             AS e{marker} FROM {other} WHERE ({begin}) IS NOT NULL"
        ));
        let mut parts: Vec<String> = equalities.iter().map(|c| format!("({})", self.expr(c))).collect();
        parts.push(format!("({moment}) {within} b{marker}"));
        parts.push(format!("(e{marker} IS NULL OR ({moment}) {strictly} e{marker})"));
        let joined =
            Select::of(format!("{one} {word} {intervals} ON {}", parts.join(" AND ")), output.clone());
        Select::of(self.close(joined), output)
    }
}

/// The sides of equalities that are of the right input.
fn keys_of<'e>(conditions: &'e [Expr], right: &[ColumnId]) -> Vec<&'e Expr> {
    let is_right = |expr: &Expr| {
        let read = expr.columns();
        !read.is_empty() && read.iter().all(|id| right.contains(id))
    };
    let is_left = |expr: &Expr| expr.columns().iter().all(|id| !right.contains(id));
    let key = |condition: &'e Expr| match condition {
        Expr::Compare { op: CompareOp::Eq | CompareOp::NotDistinct, left, right } => {
            if is_right(right) && is_left(left) {
                Some(&**right)
            } else if is_right(left) && is_left(right) {
                Some(&**left)
            } else {
                None
            }
        }
        _ => None,
    };
    conditions.iter().filter_map(key).collect()
}

/// Whether no left row can have two partners.
fn is_single(plan: &Plan, keys: &[&Expr], conditions: &[Expr]) -> bool {
    match plan {
        Plan::Aggregate { groups, .. } => {
            let is_key = |id: &ColumnId| {
                keys.iter().any(|key| matches!(key, Expr::Column { id: read, .. } if read == id))
            };
            groups.iter().all(|(id, _)| is_key(id))
        }
        Plan::Project { input, items } => {
            // A key that passes is a key of the input.
            let passes = keys.iter().all(|key| {
                matches!(key, Expr::Column { id, .. }
                    if items.iter().any(|(made, expr)| made == id && matches!(expr, Expr::Column { id: read, .. } if read == id)))
            });
            (passes || conditions.is_empty()) && is_single(input, keys, conditions)
        }
        Plan::Filter { input, .. } => is_single(input, keys, conditions),
        Plan::Values { rows, .. } => rows.len() <= 1,
        Plan::Sort { limit, .. } | Plan::Limit { limit, .. } => limit.is_some_and(|limit| limit <= 1),
        Plan::Scan { .. }
        | Plan::Source { .. }
        | Plan::Join { .. }
        | Plan::OrderedJoin { .. }
        | Plan::DependentJoin { .. }
        | Plan::Window { .. }
        | Plan::Unnest { .. }
        | Plan::TableCall { .. }
        | Plan::GroupLimit { .. }
        | Plan::SetOp { .. }
        | Plan::With { .. }
        | Plan::LimitBy { .. }
        | Plan::Sample { .. }
        | Plan::Recursive { .. }
        | Plan::SharedScan { .. } => false,
    }
}

//! The tables that a statement names, found by its text alone.

use super::ast::object::{MacroBody, ObjectStatement, TypeBody};
use super::ast::{
    Copy, Distinct, Expr, ExprKind, GroupBy, JoinCondition, MergeAction, ObjectName, OrderBy, Query,
    QueryBody, Select, SelectItem, Statement, StatementKind, TableRef,
};

/// Names of tables, views and files in the order in which they stand there, repeated ones too. What `WITH` defines is none
/// where it is in scope.
pub fn table_names(statement: &Statement) -> Vec<&ObjectName> {
    let mut walk = Walk::default();
    walk.statement(&statement.kind);
    walk.names
}

#[derive(Default)]
struct Walk<'a> {
    names: Vec<&'a ObjectName>,
    /// Of common table expressions in scope.
    defined: Vec<&'a str>,
}

impl<'a> Walk<'a> {
    fn name(&mut self, name: &'a ObjectName) {
        let is_defined = || self.defined.iter().any(|known| known.eq_ignore_ascii_case(name.last()));
        if name.parts.len() > 1 || name.is_string || !is_defined() {
            self.names.push(name);
        }
    }

    fn statement(&mut self, kind: &'a StatementKind) {
        match kind {
            StatementKind::Query(query)
            | StatementKind::Describe(query)
            | StatementKind::Summarize(query) => {
                self.query(query);
            }
            StatementKind::CreateTable(create) => {
                self.name(&create.name);
                create.query.iter().for_each(|query| self.query(query));
            }
            StatementKind::CreateView(create) => {
                self.name(&create.name);
                self.query(&create.query);
            }
            StatementKind::CreateIndex(create) => self.name(&create.table),
            StatementKind::AlterTable { table, .. } => self.name(table),
            StatementKind::With { with, statement } => self.scoped(|walk| {
                walk.definitions(with);
                walk.statement(&statement.kind);
            }),
            StatementKind::ChangingWith(changing) => self.scoped(|walk| {
                for cte in &changing.ctes {
                    walk.statement(&cte.statement.kind);
                    walk.defined.push(&cte.name.value);
                }
                walk.statement(&changing.statement.kind);
            }),
            StatementKind::Insert(insert) => {
                self.name(&insert.table);
                insert.source.iter().for_each(|query| self.query(query));
                self.items(insert.returning.iter().flatten());
            }
            StatementKind::Update(update) => {
                self.name(&update.table);
                update.from.iter().for_each(|table| self.table(table));
                self.exprs(update.assignments.iter().map(|(_, value)| value).chain(&update.filter));
                self.items(update.returning.iter().flatten());
            }
            StatementKind::Delete(delete) => {
                self.name(&delete.table);
                delete.using.iter().for_each(|table| self.table(table));
                self.exprs(&delete.filter);
                self.items(delete.returning.iter().flatten());
            }
            StatementKind::Merge(merge) => {
                self.name(&merge.table);
                self.table(&merge.source);
                self.expr(&merge.on);
                for clause in &merge.clauses {
                    self.exprs(&clause.condition);
                    match &clause.action {
                        MergeAction::Update { assignments } => {
                            self.exprs(assignments.iter().map(|(_, value)| value));
                        }
                        MergeAction::Insert { values, .. } => self.exprs(values),
                        MergeAction::Nothing
                        | MergeAction::Delete
                        | MergeAction::UpdateAll { .. }
                        | MergeAction::InsertAll { .. } => {}
                    }
                }
                self.items(merge.returning.iter().flatten());
            }
            StatementKind::Truncate { tables, .. } => tables.iter().for_each(|table| self.name(table)),
            StatementKind::Copy(copy) => match &**copy {
                Copy::From { table, .. } => self.name(table),
                Copy::To { query, .. } => self.query(query),
            },
            StatementKind::Explain { statement, .. } => self.statement(&statement.kind),
            StatementKind::Call(call) => self.exprs(&call.arguments),
            StatementKind::Set { value, .. } => self.exprs(value),
            StatementKind::Analyze { table, .. } | StatementKind::Vacuum { table, .. } => {
                table.iter().for_each(|table| self.name(table));
            }
            StatementKind::Object(object) => self.object(object),
            _ => {}
        }
    }

    fn object(&mut self, object: &'a ObjectStatement) {
        match object {
            ObjectStatement::CreateMaterializedView { name, query, .. } => {
                self.name(name);
                self.query(query);
            }
            ObjectStatement::Refresh { name, .. } => self.name(name),
            ObjectStatement::CreateTrigger(create) => {
                self.name(&create.table);
                create.body.iter().for_each(|statement| self.statement(&statement.kind));
            }
            ObjectStatement::DropTrigger { table, .. } => self.name(table),
            ObjectStatement::CreateMacro { overloads, .. } => {
                for overload in overloads {
                    match &overload.body {
                        MacroBody::Expression(expr) => self.expr(expr),
                        MacroBody::Table(query) => self.query(query),
                    }
                }
            }
            ObjectStatement::CreateType { body: TypeBody::EnumQuery(query), .. } => self.query(query),
            ObjectStatement::Prepare { statement, .. } => self.statement(&statement.kind),
            ObjectStatement::Execute { arguments, .. } => self.exprs(arguments),
            ObjectStatement::SetVariable { value, .. } => self.exprs(value),
            _ => {}
        }
    }

    /// What `work` defines is defined no longer afterwards.
    fn scoped(&mut self, work: impl FnOnce(&mut Self)) {
        let depth = self.defined.len();
        work(self);
        self.defined.truncate(depth);
    }

    fn definitions(&mut self, query: &'a Query) {
        for cte in &query.ctes {
            if query.recursive {
                self.defined.push(&cte.name.value);
            }
            self.query(&cte.query);
            if !query.recursive {
                self.defined.push(&cte.name.value);
            }
        }
    }

    fn query(&mut self, query: &'a Query) {
        self.scoped(|walk| {
            walk.definitions(query);
            walk.body(&query.body);
            if let OrderBy::Items(items) = &query.order_by {
                walk.exprs(items.iter().map(|item| &item.expr));
            }
            walk.exprs(query.limit.iter().chain(&query.offset));
        });
    }

    fn body(&mut self, body: &'a QueryBody) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values { rows, .. } => self.exprs(rows.iter().flatten()),
            QueryBody::SetOperation { left, right, .. } => {
                self.body(left);
                self.body(right);
            }
            QueryBody::Query(query) => self.query(query),
        }
    }

    fn select(&mut self, select: &'a Select) {
        select.from.iter().for_each(|table| self.table(table));
        if let Distinct::On(exprs) = &select.distinct {
            self.exprs(exprs);
        }
        self.items(&select.items);
        match &select.group_by {
            GroupBy::Items(items) | GroupBy::Sets { items, .. } => self.exprs(items),
            GroupBy::All => {}
        }
        self.exprs(select.filter.iter().chain(&select.having).chain(&select.qualify));
    }

    fn items(&mut self, items: impl IntoIterator<Item = &'a SelectItem>) {
        for item in items {
            match item {
                SelectItem::Expr { expr, .. } => self.expr(expr),
                SelectItem::Star { replace, .. } => self.exprs(replace.iter().map(|(expr, _)| expr)),
            }
        }
    }

    fn table(&mut self, table: &'a TableRef) {
        match table {
            TableRef::Table { name, .. } => self.name(name),
            TableRef::Function { call, .. } => {
                self.exprs(call.arguments.iter().chain(call.named.iter().map(|(_, value)| value)));
            }
            TableRef::Subquery { query, .. } => self.query(query),
            TableRef::Join { left, right, condition, .. } => {
                self.table(left);
                self.table(right);
                self.condition(condition);
            }
            TableRef::Sample { table, .. } => self.table(table),
            TableRef::Pivot(pivot) => {
                self.table(&pivot.source);
                for column in &pivot.on {
                    self.expr(&column.expr);
                    self.items(column.values.iter().flatten());
                    column.query.iter().for_each(|query| self.query(query));
                }
                self.items(&pivot.aggregates);
                self.exprs(pivot.group_by.iter().flatten());
            }
            TableRef::Unpivot(unpivot) => {
                self.table(&unpivot.source);
                self.exprs(unpivot.columns.iter().flat_map(|column| &column.exprs));
            }
            TableRef::Show { statement, .. } => self.statement(statement),
            TableRef::Prepared(_) => {}
        }
    }

    fn condition(&mut self, condition: &'a JoinCondition) {
        match condition {
            JoinCondition::On(expr) => self.expr(expr),
            JoinCondition::Asof(inner) => self.condition(inner),
            JoinCondition::None | JoinCondition::Using(_) | JoinCondition::Natural => {}
        }
    }

    fn exprs(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Subquery(query)
            | ExprKind::Exists { query, .. }
            | ExprKind::InSubquery { query, .. }
            | ExprKind::Quantified { query, .. } => self.query(query),
            ExprKind::RowQuery { query, .. } => self.query(query),
            _ => {}
        }
        self.exprs(expr.children());
    }
}

#[cfg(test)]
mod tests {
    use crate::parser::{parse_statement, table_names};

    #[test]
    fn names_are_those_of_tables() {
        for (sql, expected) in [
            ("SELECT * FROM t, s.u JOIN (FROM v) ON true WHERE EXISTS (FROM w)", "t s.u v w"),
            ("WITH a AS (FROM b) SELECT * FROM a, c", "b c"),
            ("WITH a AS (FROM a) FROM a", "a"),
            ("WITH RECURSIVE a AS (SELECT 1 UNION ALL FROM a) FROM a", ""),
            ("FROM (WITH a AS (SELECT 1) FROM a), a", "a"),
            ("FROM 'a.parquet', range(3), read_csv('x')", "a.parquet"),
            (
                "SELECT (SELECT max(x) FROM a), x IN (FROM b), x = ANY (FROM c) FROM d ORDER BY (FROM e)",
                "d a b c e",
            ),
            ("INSERT INTO t SELECT * FROM u", "t u"),
            ("WITH x AS (FROM y) INSERT INTO t FROM x", "y t"),
            ("UPDATE x SET a = (FROM y) FROM z", "x z y"),
            ("DELETE FROM x WHERE a IN (FROM y)", "x y"),
            ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET a = (FROM v)", "t s v"),
            ("CREATE TABLE x AS FROM y", "x y"),
            ("COPY (FROM a) TO 'b.csv'", "a"),
            ("EXPLAIN FROM a", "a"),
            ("SUMMARIZE a", "a"),
            ("PIVOT a ON b USING sum(c)", "a"),
            ("BEGIN", ""),
        ] {
            let statement = parse_statement(sql).unwrap();
            let names: Vec<String> = table_names(&statement).iter().map(ToString::to_string).collect();
            assert_eq!(names.join(" "), expected, "{sql}");
        }
    }
}

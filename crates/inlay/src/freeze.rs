//! One statement reads one state: every table that a bound plan scans is exchanged for a frozen copy, so that the
//! optimizer's statistics, the scans and the parts of a query that read a table twice agree whatever writers do.

use inlay_catalog::TableEntry;
use inlay_sql::plan::statement::Query;
use inlay_sql::plan::{Plan, Statement};
use std::sync::Arc;

/// Freezes the tables that a statement reads; those it changes stay.
pub(crate) fn statement(statement: &mut Statement) {
    match statement {
        Statement::Query(query)
        | Statement::Insert { query, .. }
        | Statement::Delete { query, .. }
        | Statement::Update { query, .. }
        | Statement::CopyTo { query, .. }
        | Statement::CreateTable { query: Some(query), .. } => freeze_query(query),
        Statement::Explain { statement: inner, .. } => self::statement(inner),
        Statement::CreateTable { query: None, .. }
        | Statement::CreateView { .. }
        | Statement::DropTable { .. }
        | Statement::DropView { .. }
        | Statement::Call { .. }
        | Statement::Set { .. }
        | Statement::Begin
        | Statement::Commit
        | Statement::Rollback
        | Statement::CreateIndex { .. }
        | Statement::DropIndex { .. } => {}
    }
}

fn freeze_query(query: &mut Query) {
    let mut frozen = Vec::new();
    freeze_plan(&mut query.plan, &mut frozen);
}

/// `frozen` holds pairs of live and frozen tables.
fn freeze_plan(plan: &mut Plan, frozen: &mut Vec<(Arc<TableEntry>, Arc<TableEntry>)>) {
    if let Plan::Scan { table, .. } = plan {
        let known =
            frozen.iter().find(|(live, _)| Arc::ptr_eq(live, table)).map(|(_, copy)| Arc::clone(copy));
        let copy = known.unwrap_or_else(|| {
            let copy = TableEntry { name: table.name.clone(), table: Arc::new(table.table.frozen()) };
            let copy = Arc::new(copy);
            frozen.push((Arc::clone(table), Arc::clone(&copy)));
            copy
        });
        *table = copy;
    }
    for input in plan.inputs_mut() {
        freeze_plan(input, frozen);
    }
}

//! Parts of a query: where the whole cannot be written, the largest plans in it that can, and whose rows are fewer than those they read.

use super::{Names, Written, write};
use inlay_catalog::TableSource;
use inlay_sql::plan::statement::Query;
use inlay_sql::plan::{Columns, Estimates, Expr, Place, Plan, ScanColumn};
use inlay_types::Result;
use std::sync::Arc;

/// Fetches the rows of a part, in columns of the types that carry those of the part.
type Fetch<'f> = &'f mut dyn FnMut(Written) -> Result<Arc<dyn TableSource>>;

/// Puts the rows of parts in their places; the number of parts. The query has no dependent joins.
pub fn split(query: &mut Query, names: &dyn Names, fetch: Fetch<'_>) -> Result<usize> {
    let mut splitter = Splitter { columns: &mut query.columns, names, fetch, count: 0 };
    inlay_sql::with_statement_stack(|| splitter.cut(&mut query.plan))?;
    Ok(splitter.count)
}

struct Splitter<'a> {
    columns: &'a mut Columns,
    names: &'a dyn Names,
    fetch: Fetch<'a>,
    count: usize,
}

impl Splitter<'_> {
    fn cut(&mut self, plan: &mut Plan) -> Result<()> {
        let output = plan.output();
        // Rows without columns would have to be counted.
        if !output.is_empty() && reads_tables(plan) && is_worth(plan) {
            let named = output.iter().map(|id| (*id, format!("c{}", id.0))).collect();
            let part = Query {
                plan: plan.clone(),
                columns: self.columns.clone(),
                output: named,
                estimates: Estimates::default(),
            };
            let written = write(&part, self.names);
            if written.refused.is_empty() {
                let rows = (self.fetch)(written)?;
                *plan = self.rows(plan, rows);
                self.count += 1;
                return Ok(());
            }
        }
        for input in plan.inputs_mut() {
            inlay_sql::with_statement_stack(|| self.cut(input))?;
        }
        Ok(())
    }

    /// The rows of a part under the columns of its plan.
    fn rows(&mut self, plan: &Plan, source: Arc<dyn TableSource>) -> Plan {
        let (mut scanned, mut items) = (Vec::new(), Vec::new());
        for (index, (id, carried)) in plan.output().into_iter().zip(source.columns()).enumerate() {
            let made = self.columns.add(carried.name.clone(), carried.ty.clone());
            scanned.push(ScanColumn { id: made, index, key_at: None, full_at: None });
            let (read, ty) = (self.columns.expr(made), self.columns.ty(id));
            let item = if carried.ty == ty {
                read
            } else {
                Expr::Cast { input: Box::new(read), ty, or_null: false, place: Place::default() }
            };
            items.push((id, item));
        }
        Plan::Source { source, columns: scanned, filters: Vec::new() }.project(items)
    }
}

fn reads_tables(plan: &Plan) -> bool {
    let reads = matches!(plan, Plan::Scan { .. })
        || matches!(plan, Plan::Source { source, .. } if source.cluster_files().is_some());
    reads || plan.inputs().into_iter().any(reads_tables)
}

/// Whether a plan may give fewer rows than it reads. What is filtered in a table of this database alone is filtered here.
fn is_worth(plan: &Plan) -> bool {
    let reduces = matches!(
        plan,
        Plan::Aggregate { .. }
            | Plan::Join { .. }
            | Plan::OrderedJoin { .. }
            | Plan::SetOp { .. }
            | Plan::GroupLimit { .. }
            | Plan::Limit { .. }
            | Plan::Sort { limit: Some(_), .. }
    );
    let filters = matches!(plan, Plan::Source { source, filters, .. } if !filters.is_empty() && source.cluster_files().is_some())
        || matches!(plan, Plan::Filter { input, .. } if matches!(**input, Plan::Source { .. }));
    reduces || filters || plan.inputs().into_iter().any(is_worth)
}

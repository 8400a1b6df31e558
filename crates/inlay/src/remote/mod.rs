//! Databases at servers: what of a plan their servers do, and statements that are sent to them.
//!
//! ```text
//! SELECT ...               the optimizer hands its plan over (written): what reads one server and nothing else becomes a query for that
//! UPDATE remote.t ...      all of it is there: the text is sent, without the name that the database has here
//! INSERT, CREATE TABLE AS  rows of this side: computed here and appended there
//! ```
//! A server is asked whether it takes a query before the plan relies on it: names, types and rights are its own.

mod statements;
mod written;

use crate::execute::Run;
use inlay_catalog::SourceColumn;
use inlay_sql::plan::{Columns, Plan, ScanColumn};
use inlay_types::{Error, Result};

impl Run<'_> {
    /// A plan whose parts that servers can do are queries for these.
    pub(crate) fn handed_over(&self, plan: Plan, columns: &Columns) -> Result<Plan> {
        inlay_sql::with_plan_stack(&plan.clone(), || self.parted(plan, columns))
    }

    fn parted(&self, mut plan: Plan, columns: &Columns) -> Result<Plan> {
        if !reads_servers(&plan) {
            return Ok(plan);
        }
        if let Some(source) = self.query_for(&plan, columns)? {
            return Ok(match plan {
                // Workers take chunks as they come: the order is made once more, of the rows that were chosen.
                Plan::Sort { keys, limit, .. } => {
                    let input = Box::new(source);
                    Plan::Sort { input, keys, limit, offset: 0 }
                }
                _ => source,
            });
        }
        for input in plan.inputs_mut() {
            let part = std::mem::replace(input, Plan::single_row());
            *input = self.parted(part, columns)?;
        }
        Ok(plan)
    }

    /// The source of a plan's rows, if one server can make them.
    fn query_for(&self, plan: &Plan, columns: &Columns) -> Result<Option<Plan>> {
        let Some(written::Written { database, text }) = written::write(plan, columns) else {
            return Ok(None);
        };
        let Some(session) = self.transactions.remote(self.database, &database) else {
            return Err(Error::internal("a table of a database that is not attached"));
        };
        let output = plan.output();
        let named = |id: &inlay_sql::plan::ColumnId| {
            let column = columns.get(*id);
            SourceColumn { name: column.name.clone(), ty: column.ty.clone() }
        };
        let wanted = output.iter().map(named).collect();
        let Some(source) = session.query(text, wanted, self.given.interrupt)? else { return Ok(None) };
        let made = |(index, id)| ScanColumn { id, index, key_at: None, full_at: None };
        let columns = output.into_iter().enumerate().map(made).collect();
        Ok(Some(Plan::Source { source, columns, filters: Vec::new() }))
    }
}

fn reads_servers(plan: &Plan) -> bool {
    match plan {
        Plan::Source { source, .. } => source.remote().is_some(),
        plan => plan.inputs().into_iter().any(reads_servers),
    }
}

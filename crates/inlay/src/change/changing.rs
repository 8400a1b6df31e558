//! WITH whose statements change data: the parts run in order and read tables as they were before the first.

use super::writer::RowWriter;
use crate::execute::Run;
use crate::result::QueryResult;
use inlay_catalog::TableEntry;
use inlay_sql::plan::statement::ChangingPart;
use inlay_sql::plan::{Plan, Statement};
use inlay_storage::store::ObjectId;
use inlay_types::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

impl Run<'_> {
    /// Carries out WITH (parts) statement.
    pub(crate) fn changing(
        &self,
        mut parts: Vec<ChangingPart>,
        mut statement: Statement,
    ) -> Result<QueryResult> {
        let statements = || parts.iter().map(|part| &part.statement).chain(std::iter::once(&statement));
        let mut targets = statements().filter_map(Statement::target);
        let Some(database) = targets.next().map(|(database, _)| database.to_string()) else {
            return Err(Error::internal("a WITH that changes nothing"));
        };
        if targets.any(|(other, _)| other != database) {
            return Err(Error::unsupported("one statement that changes tables of several databases"));
        }
        let mut tables: HashMap<ObjectId, Arc<TableEntry>> = HashMap::new();
        for (_, entry) in statements().filter_map(Statement::target) {
            let frozen = || {
                let table = Arc::new(entry.table.fork());
                Arc::new(TableEntry { name: entry.name.clone(), table })
            };
            tables.entry(entry.table.id()).or_insert_with(frozen);
        }
        for statement in
            parts.iter_mut().map(|part| &mut part.statement).chain(std::iter::once(&mut statement))
        {
            if let Some(query) = statement.query_mut() {
                freeze(&mut query.plan, &tables);
            }
        }
        let mut writer = RowWriter::new(self, &database)?;
        for ChangingPart { rows, statement } in parts {
            if matches!(statement, Statement::Query(_)) && !rows.is_read() {
                continue;
            }
            let result = self.part(&mut writer, statement)?;
            rows.fill(&result.batches().collect::<Result<Vec<_>>>()?)?;
        }
        let result = self.part(&mut writer, statement)?;
        writer.finish()?;
        Ok(result)
    }

    fn part(&self, writer: &mut RowWriter<'_>, statement: Statement) -> Result<QueryResult> {
        self.given.interrupt.check()?;
        match statement {
            Statement::Query(query) => self.query(query),
            Statement::Insert(insert) => self.insert_with(writer, *insert),
            Statement::Delete(delete) => self.delete_with(writer, *delete),
            Statement::Update(update) => self.update_with(writer, *update),
            Statement::Merge(merge) => self.merge_with(writer, *merge),
            other => Err(Error::internal(format!("{} beside WITH that changes data", other.kind()))),
        }
    }
}

/// Lets scans of tables that change read versions that do not.
fn freeze(plan: &mut Plan, tables: &HashMap<ObjectId, Arc<TableEntry>>) {
    if let Plan::Scan { table, .. } = plan
        && let Some(frozen) = tables.get(&table.table.id())
    {
        *table = Arc::clone(frozen);
    }
    plan.inputs_mut().into_iter().for_each(|input| freeze(input, tables));
}

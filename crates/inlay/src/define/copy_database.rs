//! COPY FROM DATABASE: what EXPORT DATABASE would write, made in another database at once.

use super::export::{Contents, Scripts};
use super::text::{self, quoted};
use crate::execute::Run;
use crate::result::QueryResult;
use inlay_catalog::Table;
use inlay_sql::parser::{parse_statement, parse_statements};
use inlay_storage::store::{Object, View};
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Run<'_> {
    /// Copies definitions, rows or both. What is copied is one moment, and it is there at once or not at all.
    pub(crate) fn copy_database(
        &mut self,
        source: &str,
        target: String,
        schema: bool,
        rows: bool,
    ) -> Result<QueryResult> {
        let contents = self.contents(source)?;
        if let (Some(foreign), Some(host), true) = (self.database.foreign(source), self.given.host, schema) {
            foreign.left_out().iter().for_each(|remark| host.note(remark));
        }
        let mut scripts = Scripts::default();
        if schema {
            contents.write_schema(&mut scripts)?;
            contents.write_rest(&mut scripts);
        }
        self.in_database(target.clone(), |run| {
            run.statements_of(&scripts.schema)?;
            let mut count = 0;
            if rows {
                for table in &contents.tables {
                    count += run.copy_rows(source, &target, table)?;
                }
            }
            run.statements_of(&scripts.load)?;
            if schema {
                run.copy_broken_views(&target, &contents)?;
            }
            Ok(if rows { QueryResult::changed(count) } else { QueryResult::done() })
        })
    }

    /// Views that no longer hold stay what they are.
    fn copy_broken_views(&mut self, target: &str, contents: &Contents) -> Result<()> {
        for (view, _) in &contents.broken {
            let transaction = self.to_change(target)?;
            let view = View { id: transaction.take_id(), ..View::clone(view) };
            transaction.put(Object::View(Arc::new(view)))?;
        }
        Ok(())
    }

    fn copy_rows(&mut self, source: &str, target: &str, table: &Table) -> Result<u64> {
        let schema = table.schema();
        let given = schema.columns.iter().filter(|column| column.origin.computation().is_none());
        let columns: Vec<String> = given.map(|column| quoted(&column.name)).collect();
        let (columns, name) = (columns.join(", "), text::name(&schema.name));
        let (source, target) = (quoted(source), quoted(target));
        let (place, own) = inlay_catalog::split_name(&schema.name);
        let path = format!("{}.{}", quoted(place), quoted(own));
        let sql = format!(
            "INSERT INTO {target}.{path} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM {source}.{path}"
        );
        let statement = parse_statement(&sql)?;
        let bound = self.bind(&statement)?;
        match self.bound(bound)?.kind() {
            crate::result::ResultKind::Changed(count) => Ok(count),
            _ => Err(Error::internal(format!("the rows of table {name} were not inserted"))),
        }
    }

    fn statements_of(&mut self, script: &str) -> Result<()> {
        for statement in parse_statements(script)? {
            self.given.interrupt.check()?;
            let bound = self.bind(&statement)?;
            self.bound(bound)?;
        }
        Ok(())
    }

    /// Does `work` with another current database.
    pub(super) fn in_database<T>(
        &mut self,
        database: String,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let current = self.session.names.current.replace(database);
        let schemas = std::mem::take(&mut self.session.names.schemas);
        self.transactions.set_session(&self.session.names);
        let outcome = work(self);
        self.session.names.current = current;
        self.session.names.schemas = schemas;
        self.transactions.set_session(&self.session.names);
        outcome
    }
}

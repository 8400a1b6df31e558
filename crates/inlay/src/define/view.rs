//! CREATE VIEW and ALTER VIEW.

use crate::execute::Run;
use crate::result::QueryResult;
use inlay_storage::store::{Object, View};
use inlay_types::Result;
use std::sync::Arc;

impl Run<'_> {
    /// Carries out CREATE VIEW.
    #[expect(clippy::too_many_arguments, reason = "the parts of one statement")]
    pub(crate) fn create_view(
        &mut self,
        database: &str,
        temporary: bool,
        name: String,
        aliases: Vec<String>,
        sql: String,
        or_replace: bool,
        if_not_exists: bool,
    ) -> Result<QueryResult> {
        let transaction = self.home_of(database, temporary)?;
        if self.may_create(&transaction, "view", &name, or_replace, if_not_exists)? {
            self.replace(&transaction, &name)?;
            if let Some(host) = self.given.host.filter(|_| !transaction.store().is_in_memory()) {
                host.view_is_kept(inlay_catalog::bare_name(&name), &sql);
            }
            transaction.put(Object::View(Arc::new(View {
                id: transaction.take_id(),
                name,
                aliases,
                sql,
            })))?;
        }
        Ok(QueryResult::done())
    }

    /// Carries out ALTER VIEW ... RENAME TO. Views that name it keep their text.
    pub(crate) fn rename_view(&self, database: &str, name: &str, new_name: String) -> Result<QueryResult> {
        let transaction = self.to_change(database)?;
        if let Some(Object::View(view)) = transaction.state().relation(name) {
            transaction.put(Object::View(Arc::new(View { name: new_name, ..View::clone(view) })))?;
        }
        Ok(QueryResult::done())
    }
}

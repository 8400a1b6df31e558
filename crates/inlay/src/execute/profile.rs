//! A query that is measured while it runs.

use super::Run;
use super::explain::measures;
use crate::profile::Profile;
use crate::result::QueryResult;
use inlay_sql::plan::display;
use inlay_sql::plan::statement::Query;
use inlay_types::Result;

impl Run<'_> {
    /// Runs an optimised query to its end and notes in the session what was measured.
    pub(crate) fn profiled(&self, query: Query) -> Result<QueryResult> {
        let (batches, analysis) = inlay_exec::analyze(&query, &self.context())?;
        let annotate = |node: usize| measures(Some(&analysis), &query, node);
        *self.session.profile.lock() = Some(Profile {
            sql: String::new(),
            total: analysis.total,
            rows: analysis.rows,
            tree: display::text(&query, &annotate),
            json: display::json(&query, &annotate),
        });
        Ok(self.of_query(&query, batches))
    }

    /// Says which text it was, once.
    pub(crate) fn name_profile(&self, sql: &str) {
        if let Some(profile) = self.session.profile.lock().as_mut().filter(|profile| profile.sql.is_empty()) {
            profile.sql = sql.trim().to_string();
        }
    }
}

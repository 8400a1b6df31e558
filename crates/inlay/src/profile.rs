//! Queries that are measured while they run, for hosts that ask afterwards what took how long.

use crate::execute::Run;
use crate::explain::{duration_text, measures};
use crate::result::QueryResult;
use inlay_sql::plan::display::{self, json_string};
use inlay_sql::plan::statement::Query;
use inlay_types::Result;
use std::time::Duration;

/// What was measured of a query.
#[derive(Clone, Debug)]
pub struct Profile {
    sql: String,
    total: Duration,
    rows: u64,
    /// The plan, each step with its rows and time, as a tree and as JSON.
    tree: String,
    json: String,
}

impl Profile {
    /// For people: the query, and its plan as a tree.
    pub fn text(&self) -> String {
        let Self { sql, total, rows, tree, .. } = self;
        format!("{sql}\ntotal {}, {rows} rows\n{tree}", duration_text(*total))
    }

    /// For programs: `{"query": {"sql", "total_time" in seconds, "rows"}, "plan": {..}}`.
    pub fn json(&self) -> String {
        format!(
            "{{\"query\": {{\"sql\": {}, \"total_time\": {}, \"rows\": {}}},\n\"plan\": {}}}\n",
            json_string(&self.sql),
            self.total.as_secs_f64(),
            self.rows,
            self.json.trim_end(),
        )
    }
}

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

#[cfg(test)]
mod tests {
    use crate::Database;

    /// Of 1,000 rows a filter that nothing is known of is said to keep fewer than it does.
    #[test]
    fn explain_analyze_says_how_wrong_estimates_were() {
        let connection = Database::open_in_memory().unwrap().connect();
        connection.execute("CREATE TABLE t AS SELECT x FROM range(1000) r(x)").unwrap();
        let sql = "EXPLAIN (ANALYZE, FORMAT JSON) SELECT x FROM t WHERE hash(x) IS NULL";
        let plan = connection.execute(sql).unwrap().value(0, 0).unwrap().to_string();
        assert!(plan.contains("\"rows\": 0,") && plan.contains("\"q_error\": "), "{plan}");
        assert_eq!(
            [(10.0, 5.0), (5.0, 10.0), (0.1, 0.0)].map(|(e, f)| crate::explain::q_error(e, f)),
            [2.0, 2.0, 1.0]
        );
    }
}

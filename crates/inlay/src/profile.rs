//! Queries that are measured while they run, for hosts that ask afterwards what took how long.

use inlay_sql::plan::display::json_string;
use std::time::Duration;

/// What was measured of a query.
#[derive(Clone, Debug)]
pub struct Profile {
    pub(crate) sql: String,
    pub(crate) total: Duration,
    pub(crate) rows: u64,
    /// The plan, each step with its rows and time, as a tree and as JSON.
    pub(crate) tree: String,
    pub(crate) json: String,
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

/// The larger of two row counts by the smaller, none below 1.
///
/// Source: Moerkotte, Neumann, Steidl, "Preventing Bad Plans by Bounding the Impact of Cardinality Estimation Errors",
/// VLDB 2009.
pub(crate) fn q_error(estimated: f64, found: f64) -> f64 {
    let (estimated, found) = (estimated.max(1.0), found.max(1.0));
    (estimated / found).max(found / estimated)
}

pub(crate) fn duration_text(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
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
            [(10.0, 5.0), (5.0, 10.0), (0.1, 0.0)].map(|(e, f)| super::q_error(e, f)),
            [2.0, 2.0, 1.0]
        );
    }
}

//! Queries from their text to their rows, where a plan alone does not show that it is right.

use super::execute;
use crate::context::ExecContext;
use crate::spill::tests::{TestDirectory, context_with};
use inlay_catalog::Catalog;
use inlay_sql::binder::{BindContext, bind};
use inlay_sql::optimizer::optimize;
use inlay_sql::parser::parse_statement;
use inlay_sql::plan::Statement;
use inlay_types::MemoryBudget;

/// The rows of a query without tables, values joined by spaces.
fn rows(sql: &str, context: &ExecContext) -> Vec<String> {
    let catalog = Catalog::new(Vec::new(), MemoryBudget::unlimited());
    let bind_context = BindContext {
        catalog: &catalog,
        parameters: &[],
        named_parameters: &[],
        options: Default::default(),
        default_order: Default::default(),
        default_collation: None,
        setting: &|_| None,
        run: None,
        slots: None,
        rights: None,
    };
    let Statement::Query(query) = bind(&parse_statement(sql).unwrap(), &bind_context).unwrap() else {
        panic!("{sql} is no query");
    };
    let batches = execute(&optimize(query).unwrap(), context).unwrap();
    let mut found = Vec::new();
    for batch in batches {
        for row in 0..batch.len() {
            let values: Vec<String> =
                batch.columns().iter().map(|column| column.get(row).to_string()).collect();
            found.push(values.join(" "));
        }
    }
    found
}

/// Rounds of few rows, of more than are run without a pipeline, of long texts, and of rows that come again.
#[test]
fn recursions_have_the_rows_of_all_rounds() {
    let directory = TestDirectory::new();
    for (threads, batch_rows) in [(1, 2048), (2, 7)] {
        let mut context = context_with(1 << 30, threads, &directory.space(None));
        context.batch_rows = batch_rows;
        let counted = "WITH RECURSIVE r(n, s) AS (SELECT 1, 0::HUGEINT UNION ALL SELECT n + 1, s + n FROM r WHERE n < 3000) \
                       SELECT count(*), max(s), sum(n) FROM r";
        assert_eq!(rows(counted, &context), [format!("3000 {} {}", 2999 * 3000 / 2, 3000 * 3001 / 2)]);
        let doubled = "WITH RECURSIVE r(n, i) AS (SELECT 0, 0 UNION ALL SELECT n + 1, 2 * i + x FROM r, (VALUES (0), (1)) v(x) WHERE n < 13) \
                       SELECT n, count(*), count(DISTINCT i), max(i) FROM r GROUP BY n ORDER BY n DESC LIMIT 2";
        assert_eq!(rows(doubled, &context), ["13 8192 8192 8191", "12 4096 4096 4095"]);
        // The step alone, over more rows and fewer again.
        let halved = "WITH RECURSIVE a(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM a WHERE i < 5000), \
                      r(n, i) AS (SELECT 0, i FROM a UNION ALL SELECT n + 1, i // 2 FROM r WHERE i % 2 = 0 AND i > 0) \
                      SELECT n, count(*) FROM r GROUP BY n ORDER BY n";
        let expected: Vec<String> = (0..)
            .map(|n| (n, 5000 >> n))
            .take_while(|(_, count)| *count > 0)
            .map(|(n, count)| format!("{n} {count}"))
            .collect();
        assert_eq!(rows(halved, &context), expected);
        let texts = "WITH RECURSIVE r(n, s) AS (SELECT 0, 'ab' UNION ALL SELECT n + 1, s || s FROM r WHERE n < 18) \
                     SELECT count(*), max(length(s)), min(length(s)) FROM r";
        assert_eq!(rows(texts, &context), [format!("19 {} 2", 2 << 18)]);
        let columns = "WITH RECURSIVE r(a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM r WHERE b < 1000) SELECT max(a), max(b), count(*) FROM r";
        assert_eq!(rows(columns, &context), ["987 1597 17"]);
        let again =
            "WITH RECURSIVE r(i) AS (SELECT 1 UNION SELECT i * 3 % 17 FROM r) SELECT count(*), sum(i) FROM r";
        assert_eq!(rows(again, &context), ["16 136"]);
        let ended = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT max(i) FROM (SELECT i FROM r LIMIT 20) s";
        assert_eq!(rows(ended, &context), ["20"]);
        let none = "WITH RECURSIVE r(i) AS (SELECT 1 WHERE false UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r";
        assert_eq!(rows(none, &context), ["0"]);
    }
}

#[test]
fn aliases_in_subqueries_have_the_values_of_their_rows() {
    let directory = TestDirectory::new();
    let context = context_with(1 << 30, 2, &directory.space(None));
    let cases: [(&str, &[&str]); 9] = [
        ("SELECT i AS a, (SELECT a + 1) AS b FROM t ORDER BY i", &["0 1", "1 2", "2 3", "3 4"]),
        (
            "SELECT i + 1 AS a, (SELECT max(i) FROM t WHERE i < a) AS b FROM t ORDER BY a",
            &["1 0", "2 1", "3 2", "4 3"],
        ),
        (
            "SELECT i + 1 AS a, EXISTS (SELECT 1 FROM t u WHERE u.i = a) AS b FROM t ORDER BY a",
            &["1 true", "2 true", "3 true", "4 false"],
        ),
        ("SELECT sum(i) AS a, (SELECT a + 1) FROM t", &["6 7"]),
        (
            "SELECT i % 2 AS a, (SELECT count(*) FROM t WHERE t.i <= a) AS b FROM t GROUP BY a ORDER BY a",
            &["0 1", "1 2"],
        ),
        ("SELECT i + 1 AS a FROM t WHERE (SELECT a) = 1", &["1"]),
        (
            "SELECT i AS a, (SELECT -i AS a) AS b FROM t ORDER BY (SELECT -a)",
            &["3 -3", "2 -2", "1 -1", "0 0"],
        ),
        (
            "SELECT i * 2 AS a, (SELECT (SELECT sum(u.i + a) FROM t u)) AS b FROM t ORDER BY a",
            &["0 6", "2 14", "4 22", "6 30"],
        ),
        ("SELECT count(*) FROM (SELECT random() AS a, (SELECT a) = a AS b FROM t) s WHERE b", &["4"]),
    ];
    for (sql, expected) in cases {
        let sql = format!("WITH t(i) AS (VALUES (0), (1), (2), (3)) {sql}");
        assert_eq!(rows(&sql, &context), expected, "{sql}");
    }
}

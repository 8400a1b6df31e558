//! Queries for a cluster: what is written, what is refused by its name, and tables that are shipped once for a version.

use inlay::{Database, Parameters, Shipped};

fn connection() -> inlay::Connection {
    let connection = Database::open_in_memory().unwrap().connect();
    connection.execute("CREATE TABLE t (a INTEGER, b BIGINT, s VARCHAR, d DATE, x DOUBLE)").unwrap();
    connection
}

fn written(sql: &str) -> inlay::ClusterQuery {
    let shipped = Shipped::new();
    connection().for_cluster(sql, &Parameters::default(), None, &shipped, None).unwrap()
}

fn text(sql: &str) -> String {
    let query = written(sql);
    assert!(query.refused.is_empty(), "{sql}: {:?}", query.refused);
    query.text
}

#[test]
fn columns_go_by_position_and_in_the_types_that_carry_them() {
    assert_eq!(text("SELECT 1 AS v, 2 AS v"), "SELECT CAST(1 AS INT) AS o0, CAST(2 AS INT) AS o1");
    let query = written("SELECT sum(a) FROM t");
    let (name, ty, carrier) = &query.columns[0];
    assert_eq!(
        (name.as_str(), ty.to_string(), carrier.to_string()),
        ("sum(a)", "HUGEINT".into(), "DECIMAL(38,0)".into())
    );
}

#[test]
fn orders_say_where_nulls_are_and_numbers_are_no_positions() {
    let sql = text("SELECT a FROM t ORDER BY a DESC, s NULLS FIRST, 1 + 0");
    assert!(sql.ends_with("DESC NULLS LAST, c2 ASC NULLS FIRST") || sql.contains("DESC NULLS LAST"), "{sql}");
    assert!(sql.contains("ASC NULLS FIRST"), "{sql}");
    assert!(!text("SELECT count(*) FROM t GROUP BY 1 + a - a").contains("GROUP BY 1"));
}

#[test]
fn overflow_is_an_error_there_too() {
    assert!(text("SELECT a + a FROM t").contains("AS BIGINT) + CAST("));
    assert!(text("SELECT b * b FROM t").contains("AS DECIMAL(20,0)) * CAST("));
    assert!(text("SELECT x / x FROM t").contains("double('NaN')"));
}

#[test]
fn one_parameter_of_a_lambda_stands_alone() {
    assert!(text("SELECT list_filter([a, 1], x -> x > 1) FROM t").contains(", l"), "no parentheses");
    let sql = text("SELECT list_transform(string_split(s, ','), (x, i) -> i) FROM t");
    assert!(sql.contains("(l"), "{sql}");
}

#[test]
fn texts_stay_texts() {
    assert!(text("SELECT s = 'a'' OR 1=1 --' FROM t").contains(r"'a\' OR 1=1 --'"));
    assert!(text(r"SELECT s LIKE 'C:\temp%' FROM t").contains(r"LIKE 'C:\\\\temp%'"));
}

#[test]
fn what_cannot_be_written_is_refused_by_its_name_and_place() {
    let refused = [
        ("SELECT random() FROM t", "random, which gives other values each time (line 1, column 8)"),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) FROM r",
            "WITH RECURSIVE",
        ),
        ("FROM t USING SAMPLE 10%", "a SAMPLE"),
        ("FROM t POSITIONAL JOIN t u", "POSITIONAL JOIN"),
        ("SELECT string_agg(s, ',') FROM t", "string_agg without ORDER BY"),
        ("SELECT list(s) FROM t", "list without ORDER BY"),
        ("SELECT row_number() OVER () FROM t", "row_number OVER without ORDER BY"),
        ("SELECT mode(a) FROM t", "the aggregate mode(INTEGER)"),
        ("SELECT x::VARCHAR FROM t", "the text of a DOUBLE"),
        (r"SELECT regexp_matches(s, '\bw') FROM t", r"for \b"),
        ("SELECT sum(a) OVER (ORDER BY a GROUPS 1 PRECEDING) FROM t", "GROUPS in a frame"),
        ("SELECT rowid FROM t", "rowid"),
        ("SELECT a FROM t LIMIT (SELECT 3)", "a LIMIT or OFFSET that is computed"),
        ("SELECT TIME '10:00:00' AS m", "TIME"),
        ("FROM duckdb_tables()", "only this process can read"),
    ];
    for (sql, what) in refused {
        let query = written(sql);
        assert!(query.refused.iter().any(|refusal| refusal.contains(what)), "{sql}: {:?}", query.refused);
        assert!(query.refusal().unwrap().to_string().contains("on a cluster: "), "{sql}");
    }
    assert!(connection().execute("EXPLAIN (ENGINE CLUSTER) SELECT random(), rowid FROM t").is_ok());
    let statement = "INSERT INTO t (a) VALUES (1)";
    let answer = connection().for_cluster(statement, &Parameters::default(), None, &Shipped::new(), None);
    assert!(answer.unwrap_err().to_string().contains("no query"));
}

#[test]
fn a_version_of_a_table_is_shipped_once() {
    let connection = connection();
    let folder = std::env::temp_dir().join(format!("inlay-cluster-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let shipped = Shipped::new();
    let path = folder.to_string_lossy().into_owned();
    let ask = |sql: &str| {
        let query = connection.for_cluster(sql, &Parameters::default(), None, &shipped, Some(&path)).unwrap();
        assert!(query.refused.is_empty(), "{:?}", query.refused);
        query.tables[0].paths[0].clone()
    };
    connection.execute("INSERT INTO t VALUES (1, 2, 'x', DATE '2020-01-01', 0.5)").unwrap();
    let first = ask("SELECT a FROM t");
    assert_eq!(ask("SELECT s FROM t WHERE a > 0"), first);
    let rows = connection.execute(&format!("SELECT c0, c2 FROM '{first}'")).unwrap();
    assert_eq!(
        (rows.value(0, 0).unwrap().to_string(), rows.value(0, 1).unwrap().to_string()),
        ("1".into(), "x".into())
    );
    connection.execute("INSERT INTO t (a) VALUES (2)").unwrap();
    let second = ask("SELECT a FROM t");
    assert_ne!(first, second);
    // What a transaction wrote is its own.
    connection.execute("BEGIN").unwrap();
    connection.execute("DELETE FROM t").unwrap();
    let third = ask("SELECT a FROM t");
    assert!(third != first && third != second);
    connection.execute("ROLLBACK").unwrap();
    let rows = connection.execute(&format!("SELECT count(*) FROM '{}'", ask("SELECT a FROM t"))).unwrap();
    assert_eq!(rows.value(0, 0).unwrap().to_string(), "2");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn parts_run_there_where_they_make_less_of_what_they_read() {
    let connection = connection();
    let first = |sql: &str| {
        let rows = connection.execute(&format!("EXPLAIN (ENGINE cluster) {sql}")).unwrap();
        rows.value(0, 0).unwrap().to_string()
    };
    assert_eq!(
        first("SELECT mode(n) FROM (SELECT a, count(*) AS n FROM t GROUP BY a)"),
        "runs here over 1 parts of the cluster, which is not given"
    );
    for here in
        ["SELECT mode(a) FROM t", "SELECT mode(a) FROM t WHERE b > 1", "SELECT random() FROM range(3)"]
    {
        assert_eq!(first(here), "runs here, as the cluster is not given", "{here}");
    }
}

#[test]
fn a_failure_is_no_boolean_and_needs_no_rows() {
    let sql = text("SELECT (SELECT a FROM t u WHERE u.b = t.b) FROM t");
    assert!(sql.contains("ELSE 1 END = 1") && sql.contains("GROUP BY"), "{sql}");
    assert!(!sql.contains("raise_error"), "{sql}");
    let zero = written("SELECT a // 0 FROM t");
    assert!(zero.refused[0].contains("a division by the constant 0"), "{:?}", zero.refused);
}

#[test]
fn failures_are_of_the_row() {
    // Sail computes what is constant even where it is not reached.
    let sql = text("SELECT substring(s, 1, 2), s ILIKE 'A%', (a::DECIMAL(38, 2)) * 0.5 FROM t");
    assert!(sql.contains("CAST(concat(CAST(1L AS STRING), ' of ', CAST(c"), "{sql}");
    assert!(sql.contains("lower('A%')") && sql.contains("' * ', CAST("), "{sql}");
}

#[test]
fn windows_are_over_columns() {
    let sql = text("SELECT rank() OVER (PARTITION BY a % 2 ORDER BY b + 1) FROM t");
    assert!(sql.contains("PARTITION BY w0 ORDER BY w1"), "{sql}");
}

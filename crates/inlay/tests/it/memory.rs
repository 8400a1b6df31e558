//! Queries whose rows do not fit into `memory_limit` give the same answers as with plenty, or say why they cannot.

use crate::support::folder::{Folder, wal_of};
use inlay::{Connection, Database, Value};

/// The rows of a query, as one number each.
fn answer(connection: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let result = connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let mut rows = Vec::new();
    for batch in result.batches() {
        let batch = batch.unwrap();
        rows.extend(
            (0..batch.len()).map(|row| batch.columns().iter().map(|c| c.get(row)).collect::<Vec<_>>()),
        );
    }
    rows
}

/// Compares answers under a limit with those without, and asserts that rows went to files.
fn same_under(limit: &str, setup: &[&str], queries: &[String]) {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect();
    setup.iter().for_each(|sql| drop(connection.execute(sql).unwrap()));
    let wanted: Vec<_> = queries.iter().map(|sql| answer(&connection, sql)).collect();
    connection.execute(&format!("SET memory_limit = '{limit}'")).unwrap();
    for threads in [1, 3] {
        connection.execute(&format!("SET threads = {threads}")).unwrap();
        for (sql, wanted) in queries.iter().zip(&wanted) {
            let before = database.spilled_bytes();
            assert_eq!(answer(&connection, sql), *wanted, "{threads} threads: {sql}");
            assert!(database.spilled_bytes() > before, "nothing was spilled: {sql}");
        }
    }
}

const ROWS: &str = "CREATE TABLE t AS SELECT i AS a, i * 7919 % 100003 AS b, 'a text of some length ' || i % 1000 AS c, \
                    CASE WHEN i % 3 > 0 THEN i END AS n FROM range(100000) r(i)";

/// Partitions that are larger than the memory are computed from a file.
#[test]
fn long_partitions_have_the_same_values() {
    let positions = "row_number() OVER w, rank() OVER w, dense_rank() OVER w, percent_rank() OVER w, \
                     cume_dist() OVER w, ntile(7) OVER w, ntile(a % 5 + 1) OVER w";
    let shifted = "lag(a) OVER w, lag(c, 3, 'none') OVER w, lead(n, 100) OVER w, lead(a, -2, b) OVER w";
    let framed = "sum(a) OVER w, count(*) FILTER (b % 3 = 0) OVER w, min(c) OVER w, max(n) OVER w, avg(n) OVER w, \
                  first_value(c) OVER w, last_value(a) OVER w, nth_value(n, 5) OVER w, \
                  first_value(n IGNORE NULLS) OVER w, last_value(n IGNORE NULLS) OVER w, bit_xor(a) OVER w";
    let whole = "median(a) OVER w, mode(b % 10) OVER w, count(DISTINCT a) OVER (PARTITION BY a // 100)";
    let query = |functions: &str, window: &str| {
        format!(
            "SELECT count(*), bit_xor(hash(v)) FROM (SELECT (a, {functions}) AS v FROM t WINDOW w AS ({window}))"
        )
    };
    let mut queries = Vec::new();
    for order in
        ["ORDER BY b", "ORDER BY b % 1000 DESC, a // 9", "PARTITION BY a < 10 ORDER BY n DESC NULLS FIRST, b"]
    {
        queries.push(query(positions, order));
        queries.push(query(&format!("{positions}, {shifted}"), &format!("{order}, a")));
    }
    let skewed = "PARTITION BY CASE WHEN a % 4 = 0 THEN a ELSE -1 END ORDER BY b";
    queries.push(query(&format!("{positions}, {shifted}, {framed}"), skewed));
    for frame in [
        "",
        "ORDER BY b",
        "ORDER BY b % 1000",
        "ORDER BY b GROUPS UNBOUNDED PRECEDING",
        "ORDER BY b ROWS UNBOUNDED PRECEDING",
        "ORDER BY b ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING",
        "ORDER BY b ROWS BETWEEN UNBOUNDED PRECEDING AND 9 FOLLOWING",
        "ORDER BY b ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
        "ORDER BY b ROWS BETWEEN 3 PRECEDING AND 5 FOLLOWING",
        "ORDER BY b ROWS BETWEEN 5 FOLLOWING AND 7 FOLLOWING EXCLUDE CURRENT ROW",
        "ORDER BY b ROWS BETWEEN 3000 PRECEDING AND 2990 PRECEDING",
    ] {
        let ordered = if frame.is_empty() { format!("{frame}PARTITION BY a >= 0") } else { frame.into() };
        let functions = if frame.is_empty() {
            framed.replace("first_value(c) OVER w, last_value(a) OVER w, nth_value(n, 5) OVER w, first_value(n IGNORE NULLS) OVER w, last_value(n IGNORE NULLS) OVER w, ", "")
        } else {
            framed.into()
        };
        queries.push(query(&functions, &ordered));
    }
    queries.push(query(whole, "ORDER BY b ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"));
    same_under("10MB", &[ROWS], &queries);
}

/// What depends on all rows of a partition in another way says so.
#[test]
fn partitions_that_cannot_be_split_say_why() {
    let connection = Database::open_in_memory().unwrap().connect();
    connection.execute(ROWS).unwrap();
    connection.execute("SET memory_limit = '10MB'").unwrap();
    for function in [
        "count(DISTINCT c) OVER (ORDER BY b)",
        "median(a) OVER (ORDER BY b)",
        "sum(a) OVER (ORDER BY b RANGE BETWEEN 3 PRECEDING AND 1 FOLLOWING)",
        "lag(n IGNORE NULLS) OVER (ORDER BY b)",
        "lag(a, b) OVER (ORDER BY b)",
    ] {
        let error =
            connection.execute(&format!("SELECT max(v) FROM (SELECT {function} AS v FROM t)")).err().unwrap();
        assert_eq!(error.sqlstate(), "53200", "{function}: {error}");
        assert!(error.to_string().contains("from its first row to its last"), "{function}: {error}");
    }
}

/// Several lists of distinct arguments without groups are aggregated one after the other from files.
#[test]
fn distinct_arguments_without_groups_go_to_files() {
    let queries = [
        "SELECT count(DISTINCT a), count(DISTINCT c), sum(DISTINCT n), count(*), sum(b), count(DISTINCT a + b) FROM t",
        "SELECT count(DISTINCT c || a), count(DISTINCT n), min(c) FROM t WHERE a % 10 > 0",
    ];
    same_under("10MB", &[ROWS], &queries.map(String::from));
}

/// Queries whose subplans, set operations and indexes are larger than the memory.
#[test]
fn large_intermediate_results_go_to_files() {
    let queries = [
        "WITH s AS (SELECT c || a AS k, count(*) AS n, sum(b) AS v FROM t GROUP BY k)
         SELECT count(*), sum(x.n), sum(y.v) FROM s x JOIN s y USING (k)",
        "SELECT count(*) FROM (SELECT c, a FROM t UNION SELECT c, a + 1 FROM t)",
        "SELECT count(*), sum(a) FROM (SELECT c, a FROM t EXCEPT SELECT c, a FROM t WHERE a % 2 = 0)",
        "SELECT count(*), sum(a) FROM (SELECT c, a FROM t INTERSECT ALL SELECT c, a FROM t WHERE a % 2 = 0)",
        "SELECT count(*), sum(n) FROM (SELECT c || a, b, count(*) AS n FROM t GROUP BY ROLLUP (c || a, b))",
        "SELECT count(*), sum(len(l)) FROM (SELECT a // 2 AS k, list(c) AS l FROM t GROUP BY k)",
    ];
    same_under("10MB", &[ROWS], &queries.map(String::from));
}

/// So many rows for aggregates that keep them.
fn kept_rows(count: usize) -> String {
    format!(
        "CREATE TABLE k AS SELECT i AS a, i * 7919 % 400009 AS b, 'text ' || i * 31 % 1000 AS c, \
         CASE WHEN i % 3 > 0 THEN i * 0.25 END AS n FROM range({count}) r(i)"
    )
}

const SKEWED: &str = "CASE WHEN a % 10 = 0 THEN a ELSE -1 END";

/// Each of these aggregates of each of these groups.
fn aggregated(groups: &[&str], aggregates: &[&str]) -> Vec<String> {
    let query = |values: &str, group: &str| match group {
        "" => format!("SELECT {values} FROM k"),
        _ => format!(
            "SELECT count(*), bit_xor(hash(v)) FROM (SELECT ({group}, {values}) AS v FROM k GROUP BY {group})"
        ),
    };
    groups.iter().flat_map(|group| aggregates.iter().map(|values| query(values, group))).collect()
}

/// Medians and ordered aggregates keep all rows of their groups: of few large groups, of one, of many, and of skewed ones.
#[test]
fn rows_that_aggregates_keep_go_to_files() {
    let aggregates = [
        "median(b)",
        "median(b::DOUBLE), quantile_cont(n, [0.1, 0.5, 0.99]), quantile_disc(c, 0.3)",
        "mad(b), sum(a), count(n), median(n)",
        "median(a) FILTER (b % 5 > 0), min(c)",
        "arg_max(a, b % 10 ORDER BY n NULLS LAST, b), arg_min(c, a % 7 ORDER BY c DESC, b), sum(b)",
        "count(DISTINCT b), median(b), median(DISTINCT b % 100000)",
    ];
    same_under("8MB", &[&kept_rows(200_000)], &aggregated(&["a % 4", SKEWED, "c", ""], &aggregates));
}

/// The same of results that have all rows: they have to fit into memory, but not much else.
#[test]
fn large_results_of_aggregates_need_little_else() {
    let aggregates = [
        "hash(list(a)), hash(list(n))",
        "hash(string_agg(c, '-')), hash(json_group_array(b))",
        "hash(list(a ORDER BY b DESC, a)), hash(string_agg(c ORDER BY c))",
    ];
    same_under("85MB", &[&kept_rows(600_000)], &aggregated(&["a % 4", SKEWED, ""], &aggregates));
    // Counts of all values cannot go to files.
    let counted = ["hash(list(a)), mode(b)"];
    same_under("85MB", &[&kept_rows(600_000)], &aggregated(&["a % 4", SKEWED], &counted));
}

/// Rows that go to files keep their order for the functions that depend on it.
#[test]
fn rows_in_files_keep_their_order() {
    let values = [
        "list(b)",
        "first(b), last(c), any_value(n)",
        "arg_min(a, b % 10), arg_max(a, b % 10)",
        "mode(b % 3)",
    ];
    let query = |values: &&str| {
        format!(
            "SELECT count(*), bit_xor(hash(v)) FROM (SELECT (g, {values}) AS v FROM (SELECT *, a % 150000 AS g FROM k) GROUP BY g)"
        )
    };
    same_under("10MB", &[&kept_rows(200_000)], &values.iter().map(query).collect::<Vec<_>>());
}

/// UPDATE and DELETE of all rows of a table in a file that is several times the memory.
#[test]
fn changes_of_all_rows_need_little_memory() {
    let folder = Folder::new("memory");
    let path = folder.file("changes.inlay");
    let open = || {
        let database = Database::open(&path, &[]).unwrap();
        let connection = database.connect();
        connection.execute("SET memory_limit = '60MB'").unwrap();
        (database, connection)
    };
    let logged = || std::fs::metadata(wal_of(&path)).map_or(0, |file| file.len());
    let (database, connection) = open();
    for sql in [
        "SET checkpoint_threshold = '1GB'",
        "CREATE TABLE t AS SELECT i AS a, i % 1000 AS b, 'some text ' || hash(i) AS c FROM range(1000000) r(i)",
        "CHECKPOINT",
        "UPDATE t SET c = c || '!', b = b + a",
        "UPDATE t SET b = b + 1 FROM (SELECT DISTINCT i * 7919 % 1000000 AS k FROM range(300000) r(i)) s WHERE t.a = s.k",
        "DELETE FROM t WHERE a % 3 = 0",
    ] {
        connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    assert!(logged() < 2 << 20, "the log has {} bytes", logged());
    let wanted =
        "SELECT count(*), sum(b - a - a % 1000), count(*) FILTER (c = 'some text ' || hash(a) || '!') FROM t";
    let before = answer(&connection, wanted);
    assert_eq!(before[0][0], Value::BigInt(666_666));
    assert_eq!(before[0][2], Value::BigInt(666_666));
    drop((connection, database));
    // What the log says is done again.
    let (_, connection) = open();
    assert_eq!(answer(&connection, wanted), before);
    for sql in ["CHECKPOINT", "DELETE FROM t", "CHECKPOINT"] {
        connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// Workers that read build rows of a join into memory leave some to those whose joined rows go into a table, and what becomes a
/// segment is not counted twice.
#[test]
fn a_large_join_goes_into_a_table() {
    let folder = Folder::new("memory");
    let database = Database::open(&folder.file("join.inlay"), &[]).unwrap();
    let connection = database.connect();
    let table = |name: &str, factor: u32| {
        format!(
            "CREATE TABLE {name} AS SELECT i * {factor} % 1000000 AS k, '{name}' || i AS t, i AS x, i * 2 AS y, \
             'text number ' || i AS u FROM range(1000000) r(i)"
        )
    };
    for sql in [
        table("a", 7919).as_str(),
        table("b", 104_729).as_str(),
        "SET threads = 3",
        "SET memory_limit = '30MB'",
        "CREATE TABLE c AS SELECT a.*, b.t AS bt, b.x AS bx, b.y AS by, b.u AS bu FROM a JOIN b ON a.k = b.k",
    ] {
        connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let sums = "SELECT count(*), sum(x), sum(bx), sum(length(bu)), count(*) FILTER (u <> 'text number ' || x) FROM c";
    let sum = Value::HugeInt(499_999_500_000);
    let wanted =
        vec![Value::BigInt(1_000_000), sum.clone(), sum, Value::HugeInt(17_888_890), Value::BigInt(0)];
    assert_eq!(answer(&connection, sums), [wanted]);
}

/// ON CONFLICT takes more rows than fit in portions, with the outcome that it has for all of them together.
#[test]
fn conflicts_of_more_rows_than_fit() {
    let folder = Folder::new("memory");
    let tables = [
        "CREATE TABLE t (k BIGINT PRIMARY KEY, u VARCHAR UNIQUE, n BIGINT, s VARCHAR)",
        "INSERT INTO t SELECT i * 2, 'u' || i * 2, i % 10, 'text ' || i FROM range(75000) r(i)",
    ];
    let insert = |keys: &str, rest: &str| {
        format!("INSERT INTO t SELECT {keys}, 'u' || {keys}, 100, 'new ' || i FROM range(150000) r(i) {rest}")
    };
    let statements = [
        // Known and new keys; keys that come again, the first of which counts; any key.
        insert("i", "ON CONFLICT (k) DO UPDATE SET n = t.n + excluded.n, s = excluded.s"),
        insert("i * 7 % 125000", "ON CONFLICT DO NOTHING"),
        insert("i * 3 + 1", "ON CONFLICT (u) DO UPDATE SET n = -1 WHERE t.n > 3"),
        // A key is set; rows are answered; the table is read meanwhile.
        insert("i", "ON CONFLICT (k) DO UPDATE SET u = 'x' || t.u, n = 0"),
        insert("i + 7", "ON CONFLICT (k) DO UPDATE SET n = 5 RETURNING n"),
        "INSERT INTO t SELECT k + 100, 'y' || k, n, s FROM t ON CONFLICT (k) DO UPDATE SET n = excluded.n"
            .into(),
        // A row is met again by a later portion, or its key comes again: nothing changes.
        insert("(i * 2) % 149998", "ON CONFLICT (k) DO UPDATE SET n = 1"),
        insert("1000000 + i % 149990", "ON CONFLICT (k) DO UPDATE SET n = 1"),
    ];
    let state = "SELECT count(*), bit_xor(hash((k, u, n, s))) FROM t";
    let outcome = |connection: &Connection, sql: &str| match connection.execute(sql) {
        Ok(result) => Some(result.row_count()),
        Err(error) => {
            assert!(
                error.to_string().contains("key (k) = (") && !error.to_string().contains("memory"),
                "{error}"
            );
            None
        }
    };
    let reference = Database::open_in_memory().unwrap();
    let limited = Database::open(&folder.file("conflict.inlay"), &[]).unwrap();
    let (wanted, found) = (reference.connect(), limited.connect());
    for sql in tables {
        wanted.execute(sql).unwrap();
        found.execute(sql).unwrap();
    }
    found.execute("CHECKPOINT").unwrap();
    found.execute("SET memory_limit = '50MB'").unwrap();
    for sql in &statements {
        assert_eq!(outcome(&found, sql), outcome(&wanted, sql), "{sql}");
        assert_eq!(answer(&found, state), answer(&wanted, state), "{sql}");
    }
    for sql in statements.iter().rev().take(2) {
        assert_eq!(outcome(&wanted, sql), None, "{sql}");
    }
}

//! What statements do grows with their data, not with its square: structures whose shape data decides, at `n` rows and eight times as many.
//!
//! Bytes that were ever asked of the allocator are counted, which are the same on each machine and see copies and tables. What goes
//! through all pairs of rows without allocating is caught by its size: 40,000,000,000 steps do not end within the patience below,
//! where what is linear takes some hundredths of a second.

use crate::alone;
use crate::counting::measured;
use inlay::{Connection, Database, Value};

const ROWS: u64 = 25_000;
const TIMES: u64 = 8;
/// Bytes may grow by so much: eight times, and what more rows bring that few do not (tables for each worker, merges by partition);
/// the square would be 64 times.
const GROWTH_MAX: u64 = 32;
/// What any statement may take.
const FREE: u64 = 8 << 20;

/// What the column `g` holds of row `i`.
const SHAPES: [(&str, &str); 4] = [
    ("distinct", "i"),
    ("one", "7"),
    ("skew", "CASE WHEN i % 2 = 0 THEN 0 ELSE i END"),
    ("random", "(hash(i) % {n})::BIGINT"),
];

/// Runs statements of which the last one is measured: `{n}` is the number of rows.
struct Grower {
    faults: Vec<String>,
}

impl Grower {
    fn bytes(&mut self, name: &str, rows: u64, setup: &[&str], statement: &str) -> Option<u64> {
        let text = |text: &str| Value::Varchar(text.to_string());
        let config = [("threads", "2"), ("statement_timeout", "20s")]
            .map(|(name, value)| (name.to_string(), text(value)));
        let database: &'static Database = Box::leak(Box::new(Database::open(":memory:", &config).unwrap()));
        let connection: Connection = database.connect();
        let filled = |sql: &str| sql.replace("{n}", &rows.to_string());
        for sql in setup {
            connection.execute(&filled(sql)).unwrap_or_else(|error| panic!("{name}: {sql}: {error}"));
        }
        let (outcome, taken) = measured(database, || connection.execute(&filled(statement)).map(drop));
        if let Err(error) = outcome
            && error.sqlstate() == "57014"
        {
            self.faults.push(format!("{name}: {rows} rows did not end"));
            return None;
        }
        Some(taken.allocated)
    }

    fn run(&mut self, name: &str, setup: &[&str], statement: &str) {
        let Some(few) = self.bytes(name, ROWS, setup, statement) else { return };
        let Some(many) = self.bytes(name, TIMES * ROWS, setup, statement) else { return };
        if std::env::var_os("INLAY_GROWTH").is_some() {
            eprintln!("{:8} KiB {:8} KiB {:5.1}  {name}", few >> 10, many >> 10, many as f64 / few as f64);
        }
        if many > GROWTH_MAX * few + FREE {
            self.faults.push(format!("{name}: {few} bytes, and {many} for {TIMES} times the rows"));
        }
    }

    /// One run for each shape of `g`.
    fn shaped(&mut self, name: &str, more: &[&str], statement: &str) {
        for (shape, g) in SHAPES {
            let table = |name| {
                format!(
                    "CREATE TABLE {name} AS SELECT i, {g} AS g, 'x' || ({g})::VARCHAR AS s FROM range({{n}}) r(i)"
                )
            };
            let tables = [table("t"), table("u")];
            let setup: Vec<&str> = tables.iter().map(String::as_str).chain(more.iter().copied()).collect();
            self.run(&format!("{name}, {shape}"), &setup, statement);
        }
    }
}

fn grows(run: impl FnOnce(&mut Grower)) {
    let _guard = alone();
    let mut grower = Grower { faults: Vec::new() };
    run(&mut grower);
    assert!(grower.faults.is_empty(), "{}", grower.faults.join("\n"));
}

#[test]
fn keys_grow_with_their_rows() {
    grows(|grower| {
        let keyed = "CREATE TABLE p (k BIGINT PRIMARY KEY, v BIGINT)";
        let parents = "INSERT INTO p SELECT i, 0 FROM range({n}) r(i)";
        grower.shaped("duplicates are errors", &[keyed], "INSERT INTO p SELECT g, i FROM t");
        grower.shaped("duplicates are ignored", &[keyed], "INSERT OR IGNORE INTO p SELECT g, i FROM t");
        let upsert = "INSERT INTO p SELECT DISTINCT g, 1 FROM t ON CONFLICT DO UPDATE SET v = v + excluded.v";
        grower.shaped("upsert", &[keyed, parents], upsert);
        grower.shaped("index", &[], "CREATE INDEX x ON t (g, s)");
        grower.shaped("update of a key", &["CREATE INDEX x ON t (g)"], "UPDATE t SET g = g + 1");
        grower.shaped("delete half", &["CREATE INDEX x ON t (g)"], "DELETE FROM t WHERE i % 2 = 0");
        let child = "CREATE TABLE c (k BIGINT REFERENCES p (k))";
        grower.shaped("foreign key", &[keyed, parents, child], "INSERT INTO c SELECT g FROM t");
        let load = "INSERT INTO c SELECT g FROM t";
        grower.shaped("referred to", &[keyed, parents, child, load], "DELETE FROM c");
    });
}

#[test]
fn joins_grow_with_their_rows() {
    grows(|grower| {
        for (name, sql) in [
            ("semi", "SELECT count(*) FROM t SEMI JOIN u ON t.g = u.g"),
            ("anti", "SELECT count(*) FROM t ANTI JOIN u ON t.g = u.g"),
            ("in", "SELECT count(*) FROM t WHERE g IN (SELECT g FROM u)"),
            ("not in", "SELECT count(*) FROM t WHERE s NOT IN (SELECT s FROM u)"),
            ("two keys", "SELECT count(*) FROM t JOIN u ON t.g = u.g AND t.i = u.i"),
            ("asof", "SELECT count(*) FROM t ASOF JOIN u ON t.g = u.g AND t.i >= u.i"),
            ("range", "SELECT count(*) FROM t JOIN u ON t.i BETWEEN u.i AND u.i + 2"),
            ("intersect all", "SELECT count(*) FROM (SELECT g FROM t INTERSECT ALL SELECT g FROM u)"),
            ("except", "SELECT count(*) FROM (SELECT s FROM t EXCEPT SELECT s FROM u WHERE i % 3 = 0)"),
            ("distinct", "SELECT count(*) FROM (SELECT DISTINCT g, s FROM t)"),
            ("order", "SELECT max(i) FROM (SELECT * FROM t ORDER BY g, s OFFSET 1)"),
        ] {
            grower.shaped(name, &[], sql);
        }
    });
}

#[test]
fn aggregates_grow_with_their_rows() {
    grows(|grower| {
        for call in [
            "sum(i)",
            "max(s)",
            "count(DISTINCT i)",
            "median(i)",
            "quantile_disc(i, [0.1, 0.9])",
            "mode(s)",
            "mad(i)",
            "list(i)",
            "list(DISTINCT i)",
            "list(s ORDER BY i DESC)",
            "string_agg(s, ',')",
            "string_agg(s, ',' ORDER BY s)",
            "histogram(i)",
            "arg_max(i, i, 3)",
            "approx_quantile(i, 0.5)",
            "entropy(i)",
            "json_group_array(s)",
            "json_group_object(i, s)",
            "map(list(i), list(s))",
        ] {
            grower.shaped(
                call,
                &[],
                &format!("SELECT count(x) FROM (SELECT g, {call} AS x FROM t GROUP BY g)"),
            );
        }
    });
}

#[test]
fn windows_grow_with_their_rows() {
    grows(|grower| {
        let framed = ["sum(i)", "min(s)", "median(i)", "count(DISTINCT i % 1000)"];
        for (call, is_framed) in
            framed.map(|call| (call, true)).into_iter().chain([("row_number()", false), ("lag(s)", false)])
        {
            for window in [
                "ORDER BY i",
                "PARTITION BY g ORDER BY i",
                "ORDER BY g, i ROWS BETWEEN 5000 PRECEDING AND 5000 FOLLOWING",
            ] {
                if !is_framed && window.contains("BETWEEN") {
                    continue;
                }
                let sql = format!("SELECT count(x) FROM (SELECT {call} OVER ({window}) AS x FROM t)");
                let table = "CREATE TABLE t AS SELECT i, i % 3 AS g, 'x' || i AS s FROM range({n}) r(i)";
                grower.run(&format!("{call} OVER ({window})"), &[table], &sql);
            }
        }
    });
}

#[test]
fn values_grow_with_their_parts() {
    grows(|grower| {
        let table = "CREATE TABLE j AS SELECT '{' || string_agg('\"k' || i || '\":' || i, ',') || '}' AS o, list(i) AS l,
            '[' || string_agg('{\"k' || i || '\":1}', ',') || ']' AS w, string_agg('ab' || i, ' ') AS s, repeat('a', {n}) AS a,
            map(list('k' || i), list(i)) AS m FROM range({n}) r(i)";
        for value in [
            "replace(a, 'aa', 'b')",
            "string_split(a, '')",
            "regexp_replace(a, '(a+)+b', 'x')",
            "regexp_matches(a, '(a*)*b')",
            "regexp_extract_all(s, 'b([0-9]+)')",
            "a LIKE '%a%a%a%b'",
            "position(repeat('a', {n} // 2) || 'b' IN a)",
            "translate(s, s, a)",
            "reverse(s)",
            "list_sort(l)",
            "list_distinct(l)",
            "list_has_all(l, l)",
            "list_intersect(l, l)",
            "list_transform(l, lambda x: x + 1)",
            "list_zip(l, l)",
            "m['k5']",
            "map_concat(m, m)",
            "map_entries(m)",
            "m::VARCHAR::MAP(VARCHAR, BIGINT)",
            "o::MAP(VARCHAR, BIGINT)",
            "o::JSON::MAP(VARCHAR, BIGINT)",
            "json_structure(o)",
            "json_structure(w)",
            "json_contains(o, o)",
            "json_merge_patch(o, o)",
            "json_keys(o)",
            "l::VARCHAR::BIGINT[]",
            "list_reduce(l, lambda a, b: a + b)",
            "array_to_string(l, ',')",
            "concat_ws(',', l)",
        ] {
            grower.run(value, &[table], &format!("SELECT length(({value})::VARCHAR) FROM j"));
        }
    });
}

#[test]
fn chains_grow_with_their_steps() {
    grows(|grower| {
        let counted = "WITH RECURSIVE c AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM c WHERE k < {n} // 10) SELECT count(*) FROM c";
        grower.run("a count", &[], counted);
        let edges = "CREATE TABLE e AS SELECT i AS a, i + 1 AS b FROM range({n} // 10) r(i)";
        let reached = "WITH RECURSIVE c AS (SELECT 0 AS k UNION SELECT b FROM c JOIN e ON c.k = e.a) SELECT count(*) FROM c";
        grower.run("a path", &[edges], reached);
    });
}

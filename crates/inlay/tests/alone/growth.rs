//! What statements do grows with their data, not with its square: structures whose shape data decides, at `n` rows and eight times as many.
//!
//! Bytes that were ever asked of the allocator are counted, which are the same on each machine and see copies and tables. What goes
//! through all pairs of rows without allocating is caught by its size: 40,000,000,000 steps do not end within the patience below,
//! where what is linear takes some hundredths of a second.
//!
//! `cargo test --profile work -p inlay --test alone growth::write -- --ignored` writes docs/growth.md, which has the same at once, twice and four
//! times the rows.

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

/// What statements of one kind are.
type Family = fn(&mut Grower);

/// All kinds, as the page names them.
const FAMILIES: [(&str, Family); 6] = [
    ("keys", keys),
    ("joins", joins),
    ("aggregates", aggregates),
    ("windows", windows),
    ("large values", values),
    ("recursion", chains),
];

/// Runs statements of which the last one is measured: `{n}` is the number of rows.
#[derive(Default)]
struct Grower {
    faults: Vec<String>,
    /// For the page: statements, and the bytes at so many rows as [`PAGE_TIMES`] says.
    page: Option<Vec<(String, [u64; 3])>>,
}

/// Statements that set up so many rows, and the one that is measured.
type Make<'a> = dyn Fn(u64) -> (Vec<String>, String) + 'a;

/// Rows of the page, by [`ROWS`].
const PAGE_TIMES: [u64; 3] = [1, 2, 4];

impl Grower {
    fn bytes(&mut self, name: &str, rows: u64, make: &Make<'_>) -> Option<u64> {
        let text = |text: &str| Value::Varchar(text.to_string());
        let config = [("threads", "2"), ("statement_timeout", "20s")]
            .map(|(name, value)| (name.to_string(), text(value)));
        let database: &'static Database = Box::leak(Box::new(Database::open(":memory:", &config).unwrap()));
        let connection: Connection = database.connect();
        let (setup, statement) = make(rows);
        for sql in setup {
            connection.execute(&sql).unwrap_or_else(|error| panic!("{name}: {sql}: {error}"));
        }
        let (outcome, taken) = measured(database, || connection.execute(&statement).map(drop));
        if let Err(error) = outcome
            && error.sqlstate() == "57014"
        {
            self.faults.push(format!("{name}: {rows} rows did not end"));
            return None;
        }
        Some(taken.allocated)
    }

    fn run(&mut self, name: &str, setup: &[&str], statement: &str) {
        self.made(name, &|rows| {
            let filled = |sql: &str| sql.replace("{n}", &rows.to_string());
            (setup.iter().map(|sql| filled(sql)).collect(), filled(statement))
        });
    }

    fn made(&mut self, name: &str, make: &Make<'_>) {
        if self.page.is_some() {
            let bytes = PAGE_TIMES.map(|times| self.bytes(name, times * ROWS, make).unwrap_or(0));
            self.page.iter_mut().for_each(|page| page.push((name.to_string(), bytes)));
            return;
        }
        let Some(few) = self.bytes(name, ROWS, make) else { return };
        let Some(many) = self.bytes(name, TIMES * ROWS, make) else { return };
        if std::env::var_os("INLAY_GROWTH").is_some() {
            eprintln!("{:8} KiB {:8} KiB {:5.1}  {name}", few >> 10, many >> 10, many as f64 / few as f64);
        }
        if many > GROWTH_MAX * few + FREE {
            self.faults.push(format!("{name}: {few} bytes, and {many} for {TIMES} times the rows"));
        }
    }

    /// One run for each shape of `g`.
    fn shaped(&mut self, name: &str, more: &[&str], statement: &str) {
        self.shapes(name, more, statement, |_| true);
    }

    fn shapes(&mut self, name: &str, more: &[&str], statement: &str, are_wanted: impl Fn(&str) -> bool) {
        for (shape, g) in SHAPES.into_iter().filter(|(shape, _)| are_wanted(shape)) {
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

fn grows(family: Family) {
    let _guard = alone();
    let mut grower = Grower::default();
    family(&mut grower);
    assert!(grower.faults.is_empty(), "{}", grower.faults.join("\n"));
}

/// The lines of the page for the statements of a family: of the shapes of one, that which grows most.
fn lines(rows: Vec<(String, [u64; 3])>) -> Vec<String> {
    let mut kept: Vec<(String, String, [u64; 3])> = Vec::new();
    let growth = |bytes: &[u64; 3]| bytes[2] as f64 / bytes[0].max(1) as f64;
    for (name, bytes) in rows {
        let shape = SHAPES
            .iter()
            .find_map(|(shape, _)| Some((name.strip_suffix(shape)?.strip_suffix(", ")?, *shape)));
        let (name, shape) = shape.map_or((name.clone(), ""), |(name, shape)| (name.to_string(), shape));
        match kept.iter_mut().find(|(known, ..)| *known == name) {
            Some(known) if growth(&known.2) >= growth(&bytes) => {}
            Some(known) => *known = (name, shape.to_string(), bytes),
            None => kept.push((name, shape.to_string(), bytes)),
        }
    }
    let mib = |bytes: u64| format!("{:.1}", bytes as f64 / (1 << 20) as f64);
    let line = |(name, shape, bytes): &(String, String, [u64; 3])| {
        let times = [1, 2].map(|at| format!("{:.1}", bytes[at] as f64 / bytes[0].max(1) as f64));
        let name = name.replace('|', "\\|");
        format!("| `{name}` | {shape} | {} | {} | {} |", mib(bytes[0]), times[0], times[1])
    };
    kept.iter().map(line).collect()
}

/// Writes docs/growth.md.
#[test]
#[ignore = "writes a page"]
fn write() {
    let _guard = alone();
    let mut page = format!(
        "# How work grows\n\nWhat a statement does grows with the rows that come in and go out, whatever they are like: all keys equal, half of them, none. \
         Written by\n`cargo test --profile work -p inlay --test alone growth::write -- --ignored`; the same statements are tests \
         (`crates/inlay/tests/alone/growth.rs`),\nwhich allow 32 times as much for eight times the rows, where a square would be 64 times.\n\n\
         Counted is what was asked of the allocator, in all: it is the same on each machine, and has each copy and each table in it. What goes \
         through\npairs of rows without allocating is not in the table, but does not come to its end within the tests' patience (20 s) at {} rows. \
         Of the\nshapes of the key (all distinct, one, half of them one, random) the table has the one that grows most.\n",
        ROWS * TIMES
    );
    for (name, family) in FAMILIES {
        let mut grower = Grower { page: Some(Vec::new()), ..Grower::default() };
        family(&mut grower);
        assert!(grower.faults.is_empty(), "{}", grower.faults.join("\n"));
        let head = "| statement | keys | MiB at n = 25,000 | at 2 n | at 4 n |\n|---|---|---:|---:|---:|";
        page += &format!("\n## {name}\n\n{head}\n{}\n", lines(grower.page.unwrap_or_default()).join("\n"));
    }
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/growth.md"), page).unwrap();
}

#[test]
fn keys_grow_with_their_rows() {
    grows(keys);
}

fn keys(grower: &mut Grower) {
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
    // A hundredth of the rows are tables.
    let named = |rows: u64, one: &dyn Fn(u64) -> String| (0..rows / 100).map(one).collect::<Vec<_>>();
    grower.made("drop many tables", &|rows| {
        let create = |i| format!("CREATE TABLE c{i} (k BIGINT REFERENCES p (k))");
        let setup = std::iter::once(keyed.to_string()).chain(named(rows, &create)).collect();
        (setup, format!("DROP TABLE {}, p", named(rows, &|i| format!("c{i}")).join(", ")))
    });
    grower.shaped("referred to", &[keyed, parents, child, load], "DELETE FROM c");
}

#[test]
fn joins_grow_with_their_rows() {
    grows(joins);
}

fn joins(grower: &mut Grower) {
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
    // Where one key has half of the rows and all others have one, rows of that key are gone through.
    for (name, sql) in [
        (
            "exists above",
            "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.g = t.g AND u.i > t.i)",
        ),
        (
            "not exists below",
            "SELECT count(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE t.g = u.g AND u.i < t.i)",
        ),
        (
            "exists another",
            "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.s = t.s AND u.g <> t.g)",
        ),
    ] {
        grower.shapes(name, &[], sql, |shape| shape != "skew");
    }
}

#[test]
fn aggregates_grow_with_their_rows() {
    grows(aggregates);
}

fn aggregates(grower: &mut Grower) {
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
        grower.shaped(call, &[], &format!("SELECT count(x) FROM (SELECT g, {call} AS x FROM t GROUP BY g)"));
    }
}

#[test]
fn windows_grow_with_their_rows() {
    grows(windows);
}

fn windows(grower: &mut Grower) {
    let framed = ["sum(i)", "min(s)", "median(i)", "count(DISTINCT i % 1000)", "mode(i % 1000)", "mode(s)"];
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
}

#[test]
fn values_grow_with_their_parts() {
    grows(values);
}

fn values(grower: &mut Grower) {
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
}

#[test]
fn chains_grow_with_their_steps() {
    grows(chains);
}

fn chains(grower: &mut Grower) {
    let counted = "WITH RECURSIVE c AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM c WHERE k < {n} // 10) SELECT count(*) FROM c";
    grower.run("a count", &[], counted);
    let edges = "CREATE TABLE e AS SELECT i AS a, i + 1 AS b FROM range({n} // 10) r(i)";
    let reached = "WITH RECURSIVE c AS (SELECT 0 AS k UNION SELECT b FROM c JOIN e ON c.k = e.a) SELECT count(*) FROM c";
    grower.run("a path", &[edges], reached);
}

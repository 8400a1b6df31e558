//! Every aggregate of the manual, called with columns that fit its signatures: whatever way a query goes, with threads, tiny
//! batches, files, windows, FILTER, DISTINCT or ORDER BY, the answer is the plain one.
//!
//! Calls are made of signatures, so that a new aggregate is tested by being declared; one that no call is made for fails by name.

use inlay::{Connection, Database, Value};

/// Aggregates whose answers are not exact; what is asked of them is NULL where the plain answer is NULL.
const APPROXIMATE: &[&str] = &[
    // A digest depends on the order of rows.
    "approx_quantile",
    // Of a sample.
    "reservoir_quantile",
];

/// Rows with NULLs, in groups `g`, few, and `h`, many.
fn table(name: &str, rows: usize, many: usize) -> String {
    format!(
        "CREATE TABLE {name} AS SELECT id, nullif(id * id % 11, 5) AS g, id * 7919 % {many} AS h, \
         CASE WHEN id % 7 <> 3 THEN (id * 31 % 90 - 20)::INTEGER END AS i, \
         CASE WHEN id % 9 <> 2 THEN (id * 13 % 40) / 16 + 0.5 END::DOUBLE AS d, \
         CASE WHEN id % 8 <> 5 THEN 'text ' || id * 17 % 60 || repeat('.', id % 20) END AS t, \
         (id * 13 % 80 / 4)::DECIMAL(9, 2) AS c, id * 11 % 5 = 0 AS o, DATE '2024-01-01' + (id * 5 % 90)::INTEGER AS day, \
         TIMESTAMP '2024-01-01' + to_minutes(id * 7 % 999) AS ts, TIME '10:00:00' + to_minutes(id * 7 % 99) AS tm, \
         to_hours(id * 3 % 50) AS iv, (id * 29 % 256)::UTINYINT::BIT AS bits, 'key ' || id % 13 AS name FROM range({rows}) r(id)"
    )
}

/// What can stand for a word of a signature.
fn arguments(word: &str) -> &'static [&'static str] {
    match word {
        "any" => &["i", "t", "d"],
        "number" => &["d", "i", "c"],
        "integer" | "weight" => &["i"],
        "float" => &["d"],
        "text" => &["t"],
        // Keys of JSON are not NULL.
        "key" => &["name"],
        "value" => &["t", "d"],
        "by" => &["i", "t"],
        "x" => &["d"],
        "y" => &["i"],
        "separator" => &["'-'"],
        "n" | "k" => &["3"],
        "fraction" => &["0.25"],
        "fraction[]" => &["[0.25, 0.5]"],
        "sample_size" => &["50"],
        "bins[]" => &["[0, 10, 20]"],
        "min" => &["-100"],
        "max" => &["100"],
        "BOOLEAN" => &["o"],
        "DECIMAL" => &["c"],
        "DATE" => &["day"],
        "TIMESTAMP" => &["ts"],
        "TIME" => &["tm"],
        "INTERVAL" => &["iv"],
        "BIT" => &["bits"],
        _ => &[],
    }
}

fn is_column(argument: &str) -> bool {
    argument.starts_with(|c: char| c.is_ascii_lowercase())
}

struct Call {
    name: String,
    args: Vec<&'static str>,
}

impl Call {
    fn with(&self, distinct: &str, order: &str) -> String {
        format!("{}({distinct}{}{order})", self.name, self.args.join(", "))
    }

    fn plain(&self) -> String {
        self.with("", "")
    }

    /// The arguments that differ from row to row.
    fn columns(&self) -> String {
        self.args.iter().copied().filter(|argument| is_column(argument)).collect::<Vec<_>>().join(", ")
    }

    fn is_exact(&self) -> bool {
        !APPROXIMATE.contains(&self.name.as_str())
    }
}

fn rows(connection: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let result = connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let mut rows = Vec::new();
    for batch in result.batches() {
        let batch = batch.unwrap_or_else(|error| panic!("{sql}: {error}"));
        rows.extend(
            (0..batch.len()).map(|row| batch.columns().iter().map(|c| c.get(row)).collect::<Vec<_>>()),
        );
    }
    rows
}

/// All calls that the signatures of the manual ask for, of each signature one or two that can be computed.
fn calls(connection: &Connection) -> Vec<Call> {
    let signatures = "SELECT function_name, signature FROM inlay_functions() \
                      WHERE function_type = 'aggregate' AND alias_of IS NULL AND internal ORDER BY ALL";
    let mut calls = Vec::new();
    for row in rows(connection, signatures) {
        let [Value::Varchar(name), Value::Varchar(signature)] = row.as_slice() else { panic!("{row:?}") };
        let inner = signature.split(" -> ").next().and_then(|call| call.split_once('('));
        let inner = inner.map_or("", |(_, inner)| inner.trim_end_matches(')'));
        let words = inner.split(", ").filter(|word| !word.is_empty());
        let mut lists: Vec<Vec<&'static str>> = vec![Vec::new()];
        for word in words {
            assert!(!arguments(word).is_empty(), "{signature}: nothing is known to stand for {word}");
            let longer = |list: Vec<&'static str>| {
                arguments(word).iter().map(move |argument| [list.as_slice(), &[*argument]].concat())
            };
            lists = lists.into_iter().flat_map(longer).collect();
        }
        let mut made = lists.into_iter().map(|args| Call { name: name.clone(), args });
        let works = |call: &Call| connection.execute(&format!("SELECT {} FROM small", call.plain())).is_ok();
        let first = made.find(works).unwrap_or_else(|| panic!("no call of {signature} can be computed"));
        calls.push(first);
        calls.extend(made.rev().find(works));
    }
    calls
}

/// Whether two answers are the same but for the rounding of sums.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => {
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
        }
        // Equal intervals are one value where they are distinct, however it is written.
        (Value::Interval(a), Value::Interval(b)) => a.order_key() == b.order_key(),
        _ => a == b,
    }
}

/// Compares rows of keys and the values of calls.
fn compare(calls: &[&Call], found: &[Vec<Value>], expected: &[Vec<Value>], keys: usize, sql: &str) {
    assert_eq!(found.len(), expected.len(), "rows of {sql}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found[..keys], expected[..keys], "{sql}");
        for (call, (found, expected)) in calls.iter().zip(found[keys..].iter().zip(&expected[keys..])) {
            let fits = match call.is_exact() {
                true => is_same(found, expected),
                false => found.is_null() == expected.is_null(),
            };
            assert!(fits, "{}: {found} instead of {expected} in {sql}", call.plain());
        }
    }
}

fn connected() -> (Database, Connection) {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect();
    for sql in [table("small", 600, 50), table("large", 70_000, 9_973), "SET threads = 1".to_string()] {
        connection.execute(&sql).unwrap();
    }
    (database, connection)
}

#[test]
fn every_aggregate_is_called() {
    let (_, connection) = connected();
    for name in APPROXIMATE {
        let found = calls(&connection).iter().any(|call| call.name == *name);
        assert!(found, "{name} is no aggregate any more");
    }
}

/// In groups: by several threads, in tiny batches, with rows in files.
#[test]
fn groups_have_the_same_values_whatever_way_rows_take() {
    let (database, connection) = connected();
    let calls = calls(&connection);
    for some in calls.chunks(8) {
        let some: Vec<&Call> = some.iter().collect();
        let values: Vec<String> = some.iter().map(|call| call.plain()).collect();
        let query = |table: &str, key: &str| {
            format!("SELECT {key}, {} FROM {table} GROUP BY {key} ORDER BY {key}", values.join(", "))
        };
        let whole = format!("SELECT {} FROM large", values.join(", "));
        for (sql, keys) in
            [(query("small", "g"), 1), (query("large", "h"), 1), (query("large", "g"), 1), (whole, 0)]
        {
            let expected = rows(&connection, &sql);
            let check = |setting: &str, reset: &str| {
                connection.execute(setting).unwrap();
                compare(&some, &rows(&connection, &sql), &expected, keys, &format!("{sql} ({setting})"));
                connection.execute(reset).unwrap();
            };
            check("SET threads = 4", "SET threads = 1");
            if sql.contains("small") {
                check("SET debug_batch_rows = 2", "RESET debug_batch_rows");
            }
            if sql.contains("BY h") {
                let before = database.spilled_bytes();
                check("SET memory_limit = '12MB'", "RESET memory_limit");
                assert!(database.spilled_bytes() > before, "nothing went to files: {sql}");
            }
        }
    }
}

/// Over whole partitions, with a condition, and in frames that slide.
#[test]
fn windows_have_the_values_of_groups() {
    let (_, connection) = connected();
    let windows = rows(
        &connection,
        "SELECT DISTINCT function_name FROM inlay_functions() WHERE function_type = 'window'",
    );
    for call in &calls(&connection) {
        let (plain, one) = (call.plain(), [call]);
        for filter in ["", " FILTER (WHERE id % 3 = 0)"] {
            // A window function of that name comes before the aggregate, and takes no condition.
            if !filter.is_empty() && windows.contains(&vec![Value::Varchar(call.name.clone())]) {
                continue;
            }
            let expected =
                rows(&connection, &format!("SELECT g, {plain}{filter} FROM small GROUP BY g ORDER BY g"));
            let sql = format!(
                "SELECT g, v FROM (SELECT g, row_number() OVER (PARTITION BY g) AS n, {plain}{filter} OVER (PARTITION BY g) AS v \
                 FROM small) WHERE n = 1 ORDER BY g"
            );
            compare(&one, &rows(&connection, &sql), &expected, 1, &sql);
            // Each row of a partition has the same.
            let sql = format!("SELECT g, {plain}{filter} OVER (PARTITION BY g) FROM small ORDER BY g");
            let found = rows(&connection, &sql);
            let expected: Vec<Vec<Value>> = found
                .iter()
                .map(|row| expected.iter().find(|group| group[0] == row[0]).cloned().unwrap_or_default())
                .collect();
            compare(&one, &found, &expected, 1, &sql);
        }
        let framed = format!(
            "WITH few AS (SELECT *, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM small WHERE id < 200) \
             SELECT at, {} FROM (SELECT a.id AS at, b.* FROM few a JOIN few b ON a.g IS NOT DISTINCT FROM b.g AND b.n BETWEEN a.n - 3 AND a.n + 2) \
             GROUP BY at ORDER BY at",
            call.with("", " ORDER BY id")
        );
        let expected = rows(&connection, &framed);
        let frame = "PARTITION BY g ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING";
        for batch in ["2048", "2"] {
            connection.execute(&format!("SET debug_batch_rows = {batch}")).unwrap();
            let sql = format!("SELECT id, {plain} OVER ({frame}) FROM small WHERE id < 200 ORDER BY id");
            compare(&one, &rows(&connection, &sql), &expected, 1, &sql);
        }
        connection.execute("RESET debug_batch_rows").unwrap();
    }
}

/// FILTER, DISTINCT and ORDER BY inside of a call do what they do outside of it.
#[test]
fn clauses_of_calls_are_those_of_queries() {
    let (_, connection) = connected();
    for call in &calls(&connection) {
        let (plain, columns, one) = (call.plain(), call.columns(), [call]);
        let (order, backwards) = (format!(" ORDER BY {columns}"), " ORDER BY id DESC");
        let pairs = [
            (
                format!("{plain} FILTER (WHERE id % 3 = 0)"),
                plain.clone(),
                "small WHERE id % 3 = 0".to_string(),
            ),
            (
                call.with("DISTINCT ", &order),
                call.with("", &order),
                format!("(SELECT DISTINCT g, {columns} FROM small)"),
            ),
            (
                format!("{} FILTER (WHERE id % 3 = 0)", call.with("DISTINCT ", &order)),
                call.with("", &order),
                format!("(SELECT DISTINCT g, {columns} FROM small WHERE id % 3 = 0)"),
            ),
            (call.with("", backwards), plain.clone(), format!("(SELECT * FROM small{backwards})")),
        ];
        for (inside, outside, from) in pairs {
            for (group, key, keys) in [(" GROUP BY g ORDER BY g", "g, ", 1), ("", "", 0)] {
                let from = if keys == 0 { from.replace("DISTINCT g, ", "DISTINCT ") } else { from.clone() };
                let expected = rows(&connection, &format!("SELECT {key}{outside} FROM {from}{group}"));
                for threads in [1, 4] {
                    connection.execute(&format!("SET threads = {threads}")).unwrap();
                    let sql = format!("SELECT {key}{inside} FROM small{group}");
                    compare(&one, &rows(&connection, &sql), &expected, keys, &sql);
                }
                connection.execute("SET threads = 1").unwrap();
            }
        }
    }
}

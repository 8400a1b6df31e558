//! Memory is asked for before it is taken, by everything that there is: each scalar function, cast, aggregate, window, source and
//! file format is run on one large value, one large group, or many rows, and what it takes is compared with what its database counts.
//!
//! A sample of the statements is run, and with `INLAY_ASKED=1` all of them, which takes some minutes and shows each with `--nocapture`. What
//! took more than it asked for is listed with the places; what is known to, and why, stands in `asked.txt`.
//!
//! The promise is about limits: a statement takes no more than its limit and a little, or ends with 53200. It holds for all limits if
//! at no time much more lives than was asked for, which is what is measured; so the values may be small and the limit plenty.
//!
//! Nor is much more asked for than is taken: what had an answer has it again under a limit of three times what lived at its peak.

use crate::alone;
use crate::counting::{measured, note_from, place};
use inlay::{Connection, Database, Error, Value};
use std::sync::OnceLock;
use std::time::Instant;

const MIB: u64 = 1 << 20;
/// Bytes of each large value ...
const LARGE: u64 = 4 * MIB;
/// ... and of what may live without being asked for: less than one of them, so that one copy that nobody asked for is found.
const TOLERATED: u64 = LARGE - MIB / 4;
/// The same where there are rows: some batches, buffers that became full, and blocks of files, whatever the number of rows.
const TOLERATED_OF_ROWS: u64 = 24 * MIB;

fn open() -> (&'static Database, Connection) {
    let config = [("memory_limit", "2GB"), ("threads", "2"), ("statement_timeout", "1s")];
    let config: Vec<_> = config
        .iter()
        .map(|(name, value)| ((*name).to_string(), Value::Varchar((*value).to_string())))
        .collect();
    let database: &'static Database = Box::leak(Box::new(Database::open(":memory:", &config).unwrap()));
    let connection = database.connect();
    (database, connection)
}

/// Bytes that a statement is known to take, by a line of `asked.txt`: `MiB  statement -- reason`, where `*` stands for anything.
fn excepted(sql: &str) -> u64 {
    static KNOWN: OnceLock<Vec<(u64, String)>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let text =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/alone/asked.txt")).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let known = lines.map(|line| {
            let (size, rest) = line.trim().split_once(' ').unwrap();
            let (statement, _reason) = rest.split_once(" -- ").unwrap();
            (size.parse::<u64>().unwrap() * MIB, statement.trim().to_string())
        });
        known.collect()
    });
    let is_it = |statement: &str| {
        let mut rest = Some(sql);
        // `count(*)` and `COLUMNS(*)` are meant as they stand.
        let masked = statement.replace("(*)", "(\u{0})");
        for (index, part) in masked.split('*').enumerate() {
            let part = part.replace('\u{0}', "*");
            rest = rest.and_then(|rest| match index {
                0 => rest.strip_prefix(&*part),
                _ => rest.find(&*part).map(|at| &rest[at + part.len()..]),
            });
        }
        rest.is_some_and(|rest| rest.is_empty() || statement.ends_with('*'))
    };
    known.iter().filter(|(_, statement)| is_it(statement)).map(|(size, _)| *size).max().unwrap_or(0)
}

/// Whether all statements are run.
fn is_whole() -> bool {
    std::env::var_os("INLAY_ASKED").is_some()
}

/// What asks for so many large values, though most values need less.
const GENEROUS: &[(&str, u64)] = &[
    // A table of the elements, which may be of a byte.
    ("list_entropy", 16),
    ("list_histogram", 20),
    ("list_mode", 16),
    ("translate", 22),
    // Characters of a format, which may be long.
    ("strptime", 28),
    // Texts of unequal length are compared no further.
    ("hamming", 10),
    // Lists and texts that are written twice.
    ("list_prepend", 12),
    ("array_push_front", 6),
    ("parse_", 6),
];

/// Statements that took more than they asked for.
struct Found {
    tolerated: u64,
    /// Of so many statements one is run; a prime, so that it is not always the same argument.
    one_of: usize,
    seen: usize,
    run: usize,
    answered: usize,
    /// Whether they are run again under a limit. Pages of tables are counted and lie in no allocation, so that those of rows are not.
    is_again: bool,
    faults: Vec<String>,
}

impl Found {
    fn beyond(tolerated: u64, one_of: usize) -> Self {
        note_from(tolerated);
        let one_of = if is_whole() { 1 } else { one_of };
        Self {
            tolerated,
            one_of,
            seen: 0,
            run: 0,
            answered: 0,
            is_again: tolerated == TOLERATED,
            faults: Vec::new(),
        }
    }

    fn run(&mut self, database: &'static Database, connection: &Connection, sql: &str) {
        self.seen += 1;
        if !self.seen.is_multiple_of(self.one_of) {
            return;
        }
        let began = Instant::now();
        let (outcome, taken) = measured(database, || connection.execute(sql).map(drop));
        let (shows, seconds) = (is_whole(), began.elapsed().as_secs_f64());
        let is_bound =
            !matches!(outcome.as_ref().map_err(Error::root), Err(Error::Bind { .. } | Error::Syntax { .. }));
        self.run += usize::from(is_bound);
        let is_answered = outcome.is_ok();
        self.answered += usize::from(is_answered);
        if shows {
            let error =
                outcome.err().map(|error| error.to_string().lines().next().unwrap_or_default().to_string());
            eprintln!(
                "{:6.2} MiB {seconds:6.2} s  {sql}  {}",
                taken.uncounted as f64 / MIB as f64,
                error.unwrap_or_default()
            );
        }
        if taken.uncounted > self.tolerated.max(excepted(sql)) {
            let place = place();
            self.faults.push(format!("{:6.2} MiB  {sql}{place}", taken.uncounted as f64 / MIB as f64));
        } else if is_answered && self.is_again {
            self.run_again(database, connection, sql, taken.peak);
        }
    }

    /// Under a limit of a few times what was taken before.
    fn run_again(&mut self, database: &Database, connection: &Connection, sql: &str, peak: u64) {
        let own = GENEROUS.iter().find(|(name, _)| sql.contains(name)).map_or(4, |(_, values)| *values);
        let limit = database.memory_used() + 3 * peak + own * LARGE;
        connection.execute(&format!("SET memory_limit = '{limit}B'")).unwrap();
        let outcome = connection.execute(sql).map(drop);
        connection.execute("SET memory_limit = '2GB'").unwrap();
        if let Err(error) = outcome
            && error.sqlstate() == "53200"
        {
            let peak = peak as f64 / MIB as f64;
            self.faults.push(format!("{peak:6.2} MiB were taken by {sql}, and not enough: {error}"));
        }
    }
}

/// The parts of `f(INTEGER, any, ...) -> BIGINT` and of `LIST || LIST`.
struct Signature {
    /// What is between arguments: a comma for functions.
    operator: Option<String>,
    arguments: Vec<String>,
}

fn signature_of(name: &str, text: &str) -> Signature {
    let call = text.rsplit_once(" -> ").map_or(text, |(call, _)| call);
    let Some((_, inner)) = call.split_once('(').filter(|(head, _)| !head.contains(' ')) else {
        let arguments = call.split(' ').filter(|word| *word != name).map(str::to_string).collect();
        return Signature { operator: Some(name.to_string()), arguments };
    };
    let (mut arguments, mut depth) = (vec![String::new()], 0);
    for letter in inner.strip_suffix(')').unwrap_or(inner).chars() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        match letter {
            ',' if depth == 0 => arguments.push(String::new()),
            // An argument in brackets may be left out.
            '[' | ']'
                if !arguments
                    .last()
                    .is_some_and(|last| last.ends_with(char::is_alphanumeric) || last.ends_with('[')) => {}
            _ => arguments.iter_mut().last().into_iter().for_each(|last| last.push(letter)),
        }
    }
    let arguments = arguments.iter().map(|argument| argument.trim().to_string());
    Signature {
        operator: None,
        arguments: arguments.filter(|argument| !argument.is_empty() && argument != "...").collect(),
    }
}

/// Columns of one large value each, and what makes it.
const COLUMNS: &[(&str, &str)] = &[
    ("t", "repeat('a, b', 1048576)"),
    ("b", "repeat('a, b', 1048576)::BLOB"),
    ("bits", "bitstring('1', 33554000)"),
    ("l", "range(524288)"),
    ("d", "list_transform(range(524288), lambda x: x / 2)"),
    ("s", "list_transform(range(260000), lambda x: 'a text ' || x)"),
    ("f", "list_transform(range(1048576), lambda x: x % 2 = 0)"),
    ("ll", "list_transform(range(524), lambda x: range(1000))"),
    ("x", "list_transform(range(260000), lambda x: {'k': x, 'v': x})"),
    ("m", "map(range(260000), range(260000))"),
    ("r", "{'k': repeat('a, b', 524288), 'v': range(262144)}"),
    ("j", "range(600000)::VARCHAR::JSON"),
    ("o", "map(range(300000), range(300000))::JSON"),
    ("h", "repeat('a1b2', 1048576)"),
];

/// Arguments for what a signature says, large ones first.
fn arguments_for(said: &str) -> &'static [&'static str] {
    match said {
        _ if said.starts_with("LIST of STRUCT") => &["x"],
        _ if said.starts_with("LIST of BOOLEAN") => &["f"],
        _ if said.starts_with("LIST of number") => &["d"],
        _ if said.starts_with("LIST of position") => &["l"],
        _ if said.starts_with("LIST of LIST") => &["ll"],
        _ if said.starts_with("LIST") || said.contains("any[]") => &["l", "s", "ll"],
        _ if said.contains("VARCHAR[]") => &["s"],
        _ if said.ends_with(']') => &["d"],
        _ if said.starts_with("MAP") => &["m"],
        _ if said.starts_with("STRUCT") => &["r"],
        _ if said.starts_with("JSON") => &["j", "o"],
        _ if said.starts_with("VARCHAR") => &["t", "h", "'a'"],
        _ if said.starts_with("BLOB") => &["b"],
        _ if said.starts_with("BIT") => &["bits"],
        _ if said.starts_with("BOOLEAN") => &["true"],
        _ if said.starts_with("DATE") => &["DATE '2020-02-02'"],
        _ if said.starts_with("TIMESTAMP") => &["TIMESTAMP '2020-02-02 10:00:00'"],
        _ if said.starts_with("TIME") => &["TIME '10:00:00'"],
        _ if said.starts_with("INTERVAL") => &["INTERVAL 3 DAY"],
        _ if said.starts_with("any") || said.starts_with("ANY") => &["t", "l", "s", "m", "3", "bits"],
        _ if said.starts_with(|c: char| c.is_ascii_uppercase()) => &["3", "2000000"],
        // Names are few, and a mistake is compared with each of them.
        "part" | "unit" | "specifier" | "name" | "zone" | "encoding" | "format" => &["'day'"],
        "path" => &["'$.a'", "t", "'$[*]'"],
        "separator" | "delimiter" => &["','", "t"],
        "number" | "integer" | "n" | "count" | "length" | "index" | "position" => &["3", "2000000"],
        _ => &["t", "l", "'a'", "3"],
    }
}

/// A statement that computes with the large values, and gives the host none, as what it gets is no longer counted.
fn of_large(expression: &str) -> String {
    format!("SELECT max(hash(v)) FROM (SELECT {expression} AS v FROM large)")
}

/// Whether an argument is one of the large columns.
fn is_large(argument: &str) -> bool {
    COLUMNS.iter().any(|(name, _)| *name == argument)
}

/// All choices of arguments with a large one among them, a few at most.
fn choices(arguments: &[String], most: usize) -> Vec<Vec<&'static str>> {
    let mut all: Vec<Vec<&'static str>> = vec![Vec::new()];
    for said in arguments {
        let longer = all.iter().flat_map(|known| {
            arguments_for(said)
                .iter()
                .map(move |next| known.iter().copied().chain([*next]).collect::<Vec<_>>())
        });
        all = longer.collect();
        all.truncate(1 << 12);
    }
    all.retain(|choice| choice.iter().any(|argument| is_large(argument)));
    // Those of one large argument tell most of the function.
    all.sort_by_key(|choice| choice.iter().filter(|argument| is_large(argument)).count());
    all.truncate(most);
    all
}

/// A call of a function in a statement.
fn call(name: &str, signature: &Signature, arguments: &[&str]) -> String {
    match (&signature.operator, arguments) {
        (Some(operator), [one]) => format!("({operator} ({one}))"),
        (Some(operator), _) => format!("({})", arguments.join(&format!(" {operator} "))),
        (None, _) => format!("\"{name}\"({})", arguments.join(", ")),
    }
}

fn texts(connection: &Connection, sql: &str) -> Vec<Vec<String>> {
    let result = connection.execute(sql).unwrap();
    let row = |row| {
        (0..result.names().len()).map(|column| result.value(row, column).unwrap().to_string()).collect()
    };
    (0..result.row_count()).map(row).collect()
}

/// What the catalog says of functions of one kind.
fn catalog(connection: &Connection, kind: &str) -> Vec<(String, Signature)> {
    let sql = format!(
        "SELECT DISTINCT function_name, signature FROM inlay_functions()
         WHERE function_type = '{kind}' AND alias_of IS NULL AND internal ORDER BY ALL"
    );
    let rows = texts(connection, &sql).into_iter();
    rows.map(|row| (row[0].clone(), signature_of(&row[0], &row[1]))).collect()
}

/// Functions that are not for this.
const LEFT_OUT: &[&str] = &["error", "pg_sleep", "sleep", "getenv", "nextval", "setseed"];

fn large_values(connection: &Connection) {
    let columns: Vec<String> = COLUMNS.iter().map(|(name, sql)| format!("{sql} AS {name}")).collect();
    connection.execute("SET statement_timeout = 0").unwrap();
    connection.execute(&format!("CREATE TABLE large AS SELECT {}", columns.join(", "))).unwrap();
    connection.execute("SET statement_timeout = '1s'").unwrap();
}

fn finish(found: Found, least: usize) {
    eprintln!("{} statements, {} answers", found.run, found.answered);
    assert!(
        found.faults.is_empty(),
        "{} took what they had not asked for, or asked for much more:\n{}",
        found.faults.len(),
        found.faults.join("\n")
    );
    let least = least / found.one_of;
    assert!(found.answered >= least, "{} of {} statements had an answer", found.answered, found.run);
}

#[test]
fn scalar_functions_ask() {
    let _guard = alone();
    let (database, connection) = open();
    large_values(&connection);
    let mut found = Found::beyond(TOLERATED, 11);
    for (name, signature) in catalog(&connection, "scalar") {
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        for choice in choices(&signature.arguments, 6) {
            found.run(database, &connection, &of_large(&call(&name, &signature, &choice)));
        }
    }
    finish(found, 500);
}

#[test]
fn casts_ask() {
    let _guard = alone();
    let (database, connection) = open();
    large_values(&connection);
    // What is written moves while it grows, and which of both is counted at that moment differs from run to run.
    let mut found = Found::beyond(LARGE + 2 * MIB, 7);
    let types = [
        "VARCHAR",
        "BLOB",
        "BIT",
        "JSON",
        "BIGINT[]",
        "VARCHAR[]",
        "DOUBLE[]",
        "JSON[]",
        "BIGINT[][]",
        "BOOLEAN[]",
        "MAP(BIGINT, BIGINT)",
        "MAP(VARCHAR, VARCHAR)",
        "STRUCT(k VARCHAR, v VARCHAR[])",
        "STRUCT(k BIGINT, v BIGINT)[]",
    ];
    for (column, _) in COLUMNS {
        for ty in types {
            found.is_again = true;
            found.run(database, &connection, &of_large(&format!("{column}::{ty}")));
            // Most have no such text, and end before they take what they asked for.
            found.is_again = false;
            found.run(database, &connection, &of_large(&format!("try_cast({column}::VARCHAR AS {ty})")));
        }
    }
    finish(found, 50);
}

/// What is built into the language.
#[test]
fn expressions_ask() {
    let _guard = alone();
    let (database, connection) = open();
    large_values(&connection);
    let mut found = Found::beyond(TOLERATED, 3);
    for (column, _) in COLUMNS {
        for text in [
            "{c}",
            "[{c}]",
            "[{c}, {c}]",
            "{'a': {c}, 'b': {c}}",
            "row({c}, 1)",
            "coalesce(NULL, {c})",
            "coalesce({c}, {c})",
            "CASE WHEN length('a') = 1 THEN {c} ELSE {c} END",
            "CASE WHEN random() < 2 THEN {c} END",
            "nullif({c}, {c})",
            "{c} = {c}",
            "{c} < {c}",
            "{c} IN ({c}, {c})",
            "{c} IS DISTINCT FROM {c}",
            "{c} BETWEEN {c} AND {c}",
            "({c}, 1) < ({c}, 2)",
            "MAP {1: {c}}",
            "{c}[1]",
            "{c}[2:]",
            "greatest({c}, {c})",
            "if(true, {c}, {c})",
            "[x + 1 FOR x IN {c}]",
            "[x FOR x IN {c} IF x > 7]",
            "list_transform({c}, lambda x: [x, x])",
            "list_transform({c}, lambda x: x::VARCHAR)",
            "list_filter({c}, lambda x: x IS NOT NULL)",
            "list_reduce({c}, lambda a, b: a)",
            "list_transform({c}, lambda x, i: i)",
            "{c} LIKE '%a'",
            "{c} LIKE '%a, b%' || chr(65)",
            "{c} ILIKE '%A%'",
            "{c} SIMILAR TO '(a, b)*'",
            "{c} ~ 'a.*b'",
            "{c} GLOB '*b'",
            "{c} COLLATE NOCASE = {c}",
            "{c} COLLATE NOACCENT",
            "{c} || {c}",
            "{c} -> '$[3]'",
            "{c} ->> '$.a'",
            "substring({c} FROM 3)",
            "trim(both 'a' FROM {c})",
            "position('b' IN {c})",
            "overlay({c} PLACING 'x' FROM 3)",
            "hash({c})",
            "{c}.k",
            "unnest({c})",
            "({c}).v",
            "typeof({c})",
            "array({c})",
            "struct_pack(a := {c})",
            "list_sort([{c}, {c}])",
        ] {
            found.run(database, &connection, &of_large(&text.replace("{c}", column)));
        }
    }
    finish(found, 200);
}

/// Few rows of long values, and many of short ones.
const ROWS: [&str; 2] = [
    "CREATE TABLE few AS SELECT i % 8 AS n, i % 2 AS g, repeat(chr((i % 8 + 65)::INTEGER), 524288) || i AS t,
        list_transform(range(65536), lambda x: x + i % 8) AS l, i / 2 AS d, i % 2 = 0 AS f,
        repeat('b', 262144)::BLOB AS b, DATE '2020-01-01' + i::INTEGER AS day, INTERVAL (i) DAY AS v,
        bitstring('1', 262144) AS bits, map(range(i % 8, 16384), range(i % 8, 16384)) AS m FROM range(16) r(i)",
    "CREATE TABLE many AS SELECT i * 7919 % 400000 AS n, i % 2 AS g, 'a text of some length ' || (i * 31 % 100000) AS t, [i, i + 1] AS l,
        i / 2 AS d, i % 2 = 0 AS f, ('b' || i)::BLOB AS b, DATE '2020-01-01' + (i % 10000)::INTEGER AS day,
        INTERVAL (i % 1000) DAY AS v, ('1' || (i % 2)::VARCHAR || '0')::BIT AS bits, map([i], [i]) AS m FROM range(400000) r(i)",
];

/// Arguments of aggregates for what a signature says.
fn values_for(said: &str, position: usize) -> &'static [&'static str] {
    match said {
        "name" => &["'sum'"],
        "separator" => &["', '"],
        "n" | "k" => &["3"],
        _ if said.starts_with("fraction") || said.starts_with("quantile") => &["0.5", "[0.1, 0.5]"],
        _ if said.starts_with("BOOLEAN") => &["f"],
        _ if said.starts_with("BIT") => &["bits"],
        _ if said.starts_with("DATE") => &["day"],
        _ if said.starts_with("INTERVAL") => &["v"],
        _ if said.starts_with("MAP") => &["m"],
        _ if said.starts_with("LIST") => &["l"],
        "text" | "VARCHAR" => &["t"],
        "number" | "integer" | "x" | "y" | "float" => &["n", "d"],
        _ if position == 0 => &["n", "t", "l", "d", "v"],
        _ => &["n", "t", "0.5"],
    }
}

fn aggregate_calls(connection: &Connection, positions: usize) -> Vec<(String, Vec<&'static str>)> {
    let mut calls = Vec::new();
    for (name, signature) in catalog(connection, "aggregate") {
        let mut all: Vec<Vec<&'static str>> = vec![Vec::new()];
        for (position, said) in signature.arguments.iter().enumerate() {
            all = all
                .iter()
                .flat_map(|known| {
                    values_for(said, position)
                        .iter()
                        .map(move |next| known.iter().copied().chain([*next]).collect::<Vec<_>>())
                })
                .collect();
        }
        all.truncate(positions);
        calls.extend(all.into_iter().map(|arguments| (name.clone(), arguments)));
    }
    calls
}

fn rows() -> (&'static Database, Connection) {
    let (database, connection) = open();
    connection.execute("SET statement_timeout = 0").unwrap();
    ROWS.iter().for_each(|sql| drop(connection.execute(sql).unwrap()));
    connection.execute("SET statement_timeout = '2s'").unwrap();
    (database, connection)
}

#[test]
fn aggregates_ask() {
    let _guard = alone();
    let (database, connection) = rows();
    let mut found = Found::beyond(TOLERATED_OF_ROWS, 11);
    for (name, arguments) in aggregate_calls(&connection, 3) {
        let list = arguments.join(", ");
        let distinct = arguments.len() == 1;
        let forms = [
            Some((format!("\"{name}\"({list})"), "")),
            distinct.then(|| (format!("\"{name}\"(DISTINCT {list})"), "")),
            Some((format!("\"{name}\"({list} ORDER BY n DESC, t)"), "")),
            Some((format!("\"{name}\"({list}) FILTER (f)"), "GROUP BY g")),
        ];
        for table in ["few", "many"] {
            for (call, group) in forms.iter().flatten() {
                found.run(database, &connection, &format!("SELECT {call} FROM {table} {group}"));
            }
        }
    }
    finish(found, 300);
}

#[test]
fn windows_ask() {
    let _guard = alone();
    let (database, connection) = rows();
    let mut found = Found::beyond(TOLERATED_OF_ROWS, 23);
    let frames = ["ORDER BY n", "PARTITION BY g", "ORDER BY n ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING"];
    let of_windows = catalog(&connection, "window").into_iter().map(|(name, signature)| {
        let arguments = signature.arguments.iter().enumerate();
        (
            name,
            arguments
                .map(
                    |(position, said)| {
                        if position == 0 && said != "n" { "t" } else { values_for(said, 1)[0] }
                    },
                )
                .collect(),
        )
    });
    let calls: Vec<_> = aggregate_calls(&connection, 1).into_iter().chain(of_windows).collect();
    for (name, arguments) in calls {
        for table in ["few", "many"] {
            for frame in frames {
                let sql = format!(
                    "SELECT count(v) FROM (SELECT \"{name}\"({}) OVER ({frame}) AS v FROM {table})",
                    arguments.join(", ")
                );
                found.run(database, &connection, &sql);
            }
        }
    }
    finish(found, 100);
}

/// What else has rows: operators, changes, sources and files.
#[test]
fn statements_ask() {
    let _guard = alone();
    let (database, connection) = rows();
    let folder = std::env::temp_dir().join(format!("inlay-asked-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.to_str().unwrap();
    let mut found = Found::beyond(TOLERATED_OF_ROWS, 1);
    for table in ["few", "many"] {
        for sql in [
            "SELECT * FROM {t}",
            "SELECT * FROM {t} ORDER BY t, n DESC",
            "SELECT * FROM (SELECT t, n FROM {t} ORDER BY l DESC LIMIT 5)",
            "SELECT * FROM (SELECT DISTINCT t, l FROM {t})",
            "SELECT * FROM (SELECT t, count(*) FROM {t} GROUP BY t)",
            "SELECT * FROM (SELECT l, m, count(*) FROM {t} GROUP BY ALL)",
            "SELECT count(*) FROM {t} a JOIN {t} b USING (t)",
            "SELECT * FROM (SELECT a.t, b.t FROM {t} a LEFT JOIN {t} b ON a.n = b.n AND a.t < b.t)",
            "SELECT count(*) FROM {t} a WHERE EXISTS (SELECT 1 FROM {t} b WHERE a.l = b.l AND a.n <> b.n)",
            "SELECT * FROM (SELECT t FROM {t} UNION SELECT t || 'x' FROM {t})",
            "SELECT * FROM (SELECT t FROM {t} EXCEPT SELECT t FROM {t} WHERE f)",
            "SELECT * FROM (SELECT unnest(l), t FROM {t})",
            "SELECT count(*) FROM (SELECT unnest(map_entries(m)) FROM {t})",
            "SELECT * FROM (SELECT t FROM {t} TABLESAMPLE 50%)",
            "SELECT * FROM (SELECT t, lag(l) OVER (ORDER BY n) FROM {t})",
            "PIVOT {t} ON f USING max(t) GROUP BY g",
            "WITH RECURSIVE w AS (SELECT max(t) AS t, 1 AS k FROM {t} UNION ALL SELECT t || 'x', k + 1 FROM w WHERE k < 5) FROM w",
            "CREATE OR REPLACE TABLE copied AS SELECT * FROM {t}",
            "INSERT INTO copied SELECT * FROM {t} WHERE f RETURNING t",
            "UPDATE copied SET t = t || 'x', l = list_append(l, 3)",
            "DELETE FROM copied WHERE f RETURNING l",
            "CREATE INDEX copied_t ON copied (t)",
            "CREATE OR REPLACE TABLE keyed (t VARCHAR PRIMARY KEY, n BIGINT)",
            "INSERT INTO keyed SELECT t || random(), n FROM {t}",
            "MERGE INTO keyed USING {t} AS s ON keyed.t = s.t WHEN MATCHED THEN UPDATE SET n = 3 WHEN NOT MATCHED THEN INSERT VALUES (s.t, s.n)",
            "INSERT INTO keyed SELECT t, n FROM {t} ON CONFLICT DO UPDATE SET n = excluded.n",
            "SUMMARIZE {t}",
            "COPY (SELECT t, n, l, m, b, v FROM {t}) TO '{p}/{t}.csv'",
            "COPY (SELECT t, n, l, m, b, v FROM {t}) TO '{p}/{t}.csv.gz'",
            "COPY (SELECT t, n, l, m, b, v FROM {t}) TO '{p}/{t}.json'",
            "COPY (SELECT t, n, l, m, b, v FROM {t}) TO '{p}/{t}-list.json' (ARRAY true)",
            "COPY (SELECT t, n, l, m, b, v FROM {t}) TO '{p}/{t}.parquet'",
            "COPY (SELECT t, n, l, m, b FROM {t}) TO '{p}/{t}.arrow'",
            "COPY (SELECT left(t, 30000) AS t, n FROM {t}) TO '{p}/{t}.xlsx'",
            "SELECT * FROM '{p}/{t}.csv'",
            "SELECT * FROM read_csv('{p}/{t}.csv', all_varchar = true)",
            "SELECT * FROM '{p}/{t}.csv.gz'",
            "SELECT * FROM '{p}/{t}.json'",
            "SELECT * FROM read_json_objects('{p}/{t}.json')",
            "SELECT * FROM '{p}/{t}-list.json'",
            "SELECT * FROM '{p}/{t}.parquet'",
            "SELECT * FROM '{p}/{t}.arrow'",
            "SELECT * FROM '{p}/{t}.xlsx'",
            "SELECT * FROM read_text('{p}/{t}.json')",
            "SELECT * FROM read_blob('{p}/{t}.parquet')",
            "SELECT * FROM parquet_metadata('{p}/{t}.parquet')",
            "SELECT * FROM sniff_csv('{p}/{t}.csv')",
            "EXPORT DATABASE '{p}/all' (FORMAT csv)",
            "CHECKPOINT",
        ] {
            let sql = sql.replace("{t}", table).replace("{p}", path);
            // Rows that the host gets are no longer counted.
            let sql = match sql.starts_with("SELECT *") {
                true => format!("SELECT max(hash(COLUMNS(*))) FROM ({sql})"),
                false => sql,
            };
            found.run(database, &connection, &sql);
        }
    }
    drop(std::fs::remove_dir_all(&folder));
    finish(found, 60);
}

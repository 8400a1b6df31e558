//! Statements that change much are cancelled at random moments: what they did is gone, and everything goes on.
//!
//! `INLAY_CANCEL_ROWS` sets the number of rows, `INLAY_CANCEL_TIMES` how often each is cancelled; the latencies are printed.

use crate::support::folder::Folder;
use crate::support::random::Random;
use crate::support::{amount, sql};
use inlay::{Connection, Database, Host, HostScope, HostTable, Parameters};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Work that can be cancelled, what makes it possible before, and what takes it back if it got through.
struct Case {
    name: &'static str,
    before: &'static [&'static str],
    statement: &'static str,
    after: &'static [&'static str],
}

const fn case(name: &'static str, statement: &'static str, after: &'static [&'static str]) -> Case {
    Case { name, before: &[], statement, after }
}

const CASES: &[Case] = &[
    case("create index", "CREATE INDEX extra ON t (c, b)", &["DROP INDEX extra"]),
    case("unique index", "CREATE UNIQUE INDEX extra ON t (h)", &["DROP INDEX extra"]),
    case("index on an expression", "CREATE INDEX extra ON t (upper(c))", &["DROP INDEX extra"]),
    case("add column", "ALTER TABLE t ADD COLUMN d VARCHAR DEFAULT uuid()", &["ALTER TABLE t DROP COLUMN d"]),
    case(
        "change type",
        "ALTER TABLE t ALTER b TYPE VARCHAR USING 'b' || b",
        &["ALTER TABLE t ALTER b TYPE BIGINT USING substr(b, 2)::BIGINT"],
    ),
    Case {
        name: "primary key",
        before: &["BEGIN"],
        statement: "ALTER TABLE t ADD PRIMARY KEY (h)",
        after: &["ROLLBACK"],
    },
    case("insert with a key", "INSERT INTO k SELECT h, a FROM t", &["TRUNCATE k"]),
    case("insert", "INSERT INTO copy SELECT * FROM t", &["TRUNCATE copy"]),
    case("create table as", "CREATE TABLE made AS SELECT *, c || a AS d FROM t", &["DROP TABLE made"]),
    Case {
        name: "update",
        before: &["BEGIN"],
        statement: "UPDATE t SET b = -b, c = c || '!'",
        after: &["ROLLBACK"],
    },
    Case {
        name: "update of a key",
        before: &["BEGIN"],
        statement: "UPDATE k2 SET h = h + 1",
        after: &["ROLLBACK"],
    },
    Case {
        name: "delete",
        before: &["BEGIN"],
        statement: "DELETE FROM t WHERE a % 3 > 0",
        after: &["ROLLBACK"],
    },
    Case {
        name: "commit of an insert",
        before: &["BEGIN", "INSERT INTO k SELECT h, a FROM t"],
        statement: "COMMIT",
        after: &["TRUNCATE k"],
    },
    Case {
        name: "checkpoint",
        before: &[
            "CREATE OR REPLACE TABLE made AS SELECT a, c FROM t",
            "CREATE INDEX made_c ON made (c)",
            "INSERT INTO made SELECT * FROM made",
        ],
        statement: "CHECKPOINT",
        after: &["DROP TABLE made"],
    },
    Case {
        name: "checkpoint that compacts",
        before: &[
            "CREATE OR REPLACE TABLE made AS SELECT a, c FROM t",
            "CHECKPOINT",
            "DELETE FROM made WHERE a % 2 = 0",
        ],
        statement: "CHECKPOINT",
        after: &["DROP TABLE made"],
    },
    Case {
        name: "vacuum",
        before: &[
            "CREATE OR REPLACE TABLE made AS SELECT a, c FROM t",
            "CHECKPOINT",
            "DELETE FROM made WHERE a % 9 = 0",
        ],
        statement: "VACUUM",
        after: &["DROP TABLE made"],
    },
    case("copy to csv", "COPY t TO '{folder}/out.csv'", &[]),
    case("copy to json", "COPY t TO '{folder}/out.json'", &[]),
    case("copy to parquet", "COPY t TO '{folder}/out.parquet'", &[]),
    case("copy to arrow", "COPY t TO '{folder}/out.arrow' (FORMAT arrow)", &[]),
    case("copy to excel", "COPY t TO '{folder}/out.xlsx'", &[]),
    case(
        "distinct elements of one list",
        "SELECT len(list_distinct(list(c || a))), list_sort(list(c))[1] FROM t",
        &[],
    ),
    case(
        "median of frames",
        "SELECT max(m) FROM (SELECT median(h) OVER (ORDER BY a ROWS BETWEEN 900 PRECEDING AND 900 FOLLOWING) AS m FROM t)",
        &[],
    ),
    case(
        "first of frames",
        "SELECT max(f) FROM (SELECT first_value(c ORDER BY h) OVER (ORDER BY a ROWS BETWEEN 300 PRECEDING AND CURRENT ROW) AS f FROM t)",
        &[],
    ),
    case(
        "join of inequalities",
        "SELECT count(*) FROM (FROM t LIMIT 5) x LEFT JOIN t y ON x.h < y.h AND x.c || x.a > y.c || y.a",
        &[],
    ),
    case("copy from csv", "COPY copy FROM '{folder}/in.csv'", &["TRUNCATE copy"]),
    case("copy from json", "COPY copy FROM '{folder}/in.json'", &["TRUNCATE copy"]),
    case("copy from parquet", "COPY copy FROM '{folder}/in.parquet'", &["TRUNCATE copy"]),
    case("export", "EXPORT DATABASE '{folder}/out'", &[]),
];

/// Whatever was cancelled, these answer the same.
const CONTENT: &[&str] = &[
    "SELECT count(*), sum(a), sum(b), sum(length(c)), bit_xor(h) FROM t",
    "SELECT count(*), sum(h) FROM k2",
    "SELECT count(*) FROM k",
    "SELECT count(*) FROM copy",
    "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_name <> 'made' ORDER BY ALL",
    "SELECT index_name FROM duckdb_indexes() WHERE table_name <> 'made' ORDER BY ALL",
];

/// Runs a statement and cancels it at a moment. Gives how long it went on then, if it was.
fn cancelled(connection: &Connection, statement: &str, moment: Duration) -> (Duration, Option<Duration>) {
    std::thread::scope(|scope| {
        let start = Instant::now();
        let work = scope.spawn(|| connection.execute(statement).map(|_| ()));
        while start.elapsed() < moment && !work.is_finished() {
            std::thread::sleep(Duration::from_micros(200));
        }
        if work.is_finished() {
            work.join().unwrap().unwrap_or_else(|error| panic!("{statement}: {error}"));
            return (start.elapsed(), None);
        }
        let asked = Instant::now();
        connection.interrupt();
        let outcome = work.join().unwrap();
        let latency = asked.elapsed();
        match outcome {
            Ok(()) => (start.elapsed(), None),
            Err(error) => {
                assert_eq!(error.sqlstate(), "57014", "{statement}: {error}");
                (start.elapsed(), Some(latency))
            }
        }
    })
}

fn content(connection: &Connection) -> Vec<sql::Rows> {
    CONTENT
        .iter()
        .map(|query| sql::rows(connection, query).unwrap_or_else(|error| panic!("{query}: {error}")))
        .collect()
}

fn run(connection: &Connection, statement: &str) {
    connection.execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

fn files(folder: &Folder) -> Vec<String> {
    let name =
        |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().to_str().unwrap().to_string();
    let mut names: Vec<String> = std::fs::read_dir(folder.path()).unwrap().map(name).collect();
    names.retain(|name| !name.starts_with("out."));
    names.sort();
    names
}

#[test]
fn cancelled_work_leaves_nothing_and_everything_goes_on() {
    let rows = amount("INLAY_CANCEL_ROWS", 150_000);
    let times = amount("INLAY_CANCEL_TIMES", 2);
    let folder = Folder::new("cancel");
    let path = folder.file("a.inlay");
    let database = Database::open(&path, &[]).unwrap();
    let connection = database.connect();
    let named = |statement: &str| statement.replace("{folder}", folder.path());
    for statement in [
        &*format!(
            "CREATE TABLE t AS SELECT i AS a, i % 1000 AS b, 'some text ' || i % 5000 AS c, hash(i) AS h FROM range({rows}) r(i)"
        ),
        "CREATE TABLE copy AS SELECT * FROM t WHERE false",
        "CREATE TABLE k (h UBIGINT PRIMARY KEY, a BIGINT)",
        "CREATE INDEX k_a ON k (a)",
        "CREATE TABLE k2 (h BIGINT PRIMARY KEY, a BIGINT)",
        "INSERT INTO k2 SELECT h % 1000000000000, a FROM t",
        "COPY t TO '{folder}/in.csv'",
        "COPY t TO '{folder}/in.json'",
        "COPY t TO '{folder}/in.parquet'",
        "CHECKPOINT",
    ] {
        run(&connection, &named(statement));
    }
    let (wanted, there) = (content(&connection), files(&folder));
    let mut random = Random::of(&[1]);
    for case in CASES {
        let statement = named(case.statement);
        let begin = || case.before.iter().for_each(|before| run(&connection, before));
        let undo = || case.after.iter().for_each(|after| run(&connection, after));
        begin();
        let (mut duration, _) = cancelled(&connection, &statement, Duration::MAX);
        undo();
        let mut worst = Duration::ZERO;
        let mut left = times;
        for _ in 0..3 * times {
            let _ = std::fs::remove_dir_all(folder.file("out"));
            begin();
            let moment = duration.mul_f64(random.below(1000) as f64 / 1000.0);
            let (ended, latency) = cancelled(&connection, &statement, moment);
            let Some(latency) = latency else {
                undo();
                duration = duration.min(ended);
                continue;
            };
            worst = worst.max(latency);
            // What the statement was about is as before; what came before it is taken back.
            match case.before {
                ["BEGIN", ..] => run(&connection, "ROLLBACK"),
                [] => {}
                _ => undo(),
            }
            left -= 1;
            if left == 0 {
                break;
            }
        }
        let _ = std::fs::remove_dir_all(folder.file("out"));
        println!(
            "{:28} {:8.1} ms, cancelled after at most {:6.1} ms",
            case.name,
            duration.as_secs_f64() * 1e3,
            worst.as_secs_f64() * 1e3
        );
        assert_eq!(content(&connection), wanted, "{}", case.name);
        assert_eq!(files(&folder), there, "{}", case.name);
        assert_eq!(sql::verify(&connection), Ok(()), "{}", case.name);
    }
    drop((connection, database));
    let database = Database::open(&path, &[]).unwrap();
    assert_eq!(content(&database.connect()), wanted);
}

/// Counts how often a statement looks whether it is to end.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Host for Counting {
    fn find_table(&self, _: &str, _: HostScope) -> inlay::Result<Option<HostTable>> {
        Ok(None)
    }

    fn is_interrupted(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        false
    }

    fn patience(&self) -> Duration {
        Duration::ZERO
    }
}

fn looks(connection: &Connection, query: &str) -> usize {
    let counting = Arc::new(Counting::default());
    let host: Arc<dyn Host> = Arc::<Counting>::clone(&counting);
    let outcome = connection.execute_with(query, &Parameters::default(), Some(&host));
    outcome.unwrap_or_else(|error| panic!("{query}: {error}"));
    counting.0.load(Ordering::Relaxed)
}

/// Of one value with many elements: `{}` stands for a list of a million numbers, or of texts.
const OF_ONE_VALUE: &[&str] = &[
    "len(list_distinct({}))",
    "list_unique({})",
    "len(list_sort({}))",
    "len(list_intersect({}, {}))",
    "list_has_any({}, [{}[1]])",
    "list_has_all({}, {})",
    "list_position({}, NULL)",
    "len(list_reverse({}))",
    "len(list_append({}, NULL))",
    "len(list_where({}, list_transform({}, lambda x: true)))",
    "length(concat_ws('-', {}))",
    "list_min({})",
    "list_count({})",
    "len(list_filter({}, lambda x: x IS NOT NULL))",
];

/// No time is measured: a statement that goes through a million elements looks at least once for every 131,072 of them.
#[test]
fn elements_of_one_value_are_not_gone_through_at_once() {
    let database = Database::open(":memory:", &[]).unwrap();
    let connection = database.connect();
    run(&connection, "SET threads = 1");
    run(&connection, "CREATE TABLE one AS SELECT 1000000 AS n");
    for list in ["range(n)", "list_transform(range(n), lambda x: x::VARCHAR)"] {
        let base = looks(&connection, &format!("SELECT len({list}) FROM one"));
        for call in OF_ONE_VALUE {
            let query = format!("SELECT {} FROM one", call.replace("{}", list));
            let more = looks(&connection, &query).saturating_sub(base);
            assert!(more >= 1_000_000 / 131_072, "{query}: {more} looks more than {base}");
        }
    }
}

/// The frame of each row is walked, and each may be long.
#[test]
fn long_frames_are_not_walked_at_once() {
    let database = Database::open(":memory:", &[]).unwrap();
    let connection = database.connect();
    run(&connection, "SET threads = 1");
    run(&connection, "CREATE TABLE t AS SELECT i, hash(i) AS h FROM range(8000) r(i)");
    let framed = |call: &str| {
        format!(
            "SELECT max(x) FROM (SELECT {call} OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS x FROM t)"
        )
    };
    let base = looks(&connection, &framed("sum(i)"));
    for call in [
        "first_value(i ORDER BY h)",
        "rank(ORDER BY h)",
        "nth_value(i, 5 ORDER BY h)",
        "cume_dist(ORDER BY h)",
    ] {
        let more = looks(&connection, &framed(call)).saturating_sub(base);
        assert!(more >= 8000 * 8000 / 131_072, "{call}: {more} looks more than {base}");
    }
}

/// A sort of all rows by one worker, as a join by inequalities needs it.
#[test]
fn rows_of_a_join_of_inequalities_are_not_sorted_at_once() {
    let database = Database::open(":memory:", &[]).unwrap();
    let connection = database.connect();
    run(&connection, "SET threads = 1");
    run(
        &connection,
        "CREATE TABLE many AS SELECT md5(i::VARCHAR) AS s, hash(i)::DOUBLE AS d FROM range(400000) r(i)",
    );
    run(&connection, "CREATE TABLE few AS SELECT md5(i::VARCHAR) AS s, 1e30 AS d FROM range(3) r(i)");
    let base = looks(&connection, "SELECT count(*), max(s), max(d) FROM many");
    let joined = "SELECT count(*) FROM few a LEFT JOIN many b ON a.d < b.d AND a.s > b.s";
    let more = looks(&connection, joined).saturating_sub(base);
    assert!(more >= 2 * 2 * 400_000 / 131_072, "{more} looks more than {base}");
}

/// An interrupt while nothing runs is over when a statement does: also for rows of an earlier one, which it ended else.
#[test]
fn an_interrupt_while_nothing_runs_is_over_with_the_next_statement() {
    let database = Database::open(":memory:", &[]).unwrap();
    let connection = database.connect();
    let sql = "SELECT range, 'some text ' || range FROM range(10000000)";
    let mut rows = connection.stream(sql, &Parameters::default(), None).unwrap();
    assert!(rows.row_count().is_none(), "rows that wait");
    connection.interrupt();
    connection.execute("SELECT 1").unwrap();
    let mut read = 0;
    while let Some(batch) = rows.next_batch(None).unwrap() {
        read += batch.len();
    }
    assert_eq!(read, 10_000_000);
}

/// An interrupt ends the statement that was started before, whether it runs already or not.
#[test]
fn an_interrupt_ends_what_was_started() {
    let database = Database::open(":memory:", &[]).unwrap();
    let connection = database.connect();
    for _ in 0..20 {
        let sql = "SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE a.range + b.range = -1";
        let pending = connection.start(sql, Parameters::default(), None).unwrap();
        connection.interrupt();
        assert_eq!(pending.finish().unwrap_err().sqlstate(), "57014");
        connection.execute("SELECT 1").unwrap();
    }
}

/// What was interrupted since a call was entered does not run, and what comes afterwards does.
#[test]
fn an_interrupt_since_a_call_was_entered_ends_its_statement() {
    struct Entered(inlay::Entered);
    impl Host for Entered {
        fn find_table(&self, _: &str, _: HostScope) -> inlay::Result<Option<HostTable>> {
            Ok(None)
        }
        fn is_interrupted(&self) -> bool {
            false
        }
        fn entered(&self) -> Option<inlay::Entered> {
            Some(self.0)
        }
    }
    let database = Database::open(":memory:", &[]).unwrap();
    let connection = database.connect();
    connection.interrupt();
    let host: Arc<dyn Host> = Arc::new(Entered(connection.enter()));
    let again = |host| connection.execute_with("SELECT 1", &Parameters::default(), Some(host)).map(drop);
    again(&host).unwrap();
    connection.interrupt();
    assert_eq!(again(&host).unwrap_err().sqlstate(), "57014");
    assert_eq!(connection.check_since(connection.enter()), Ok(()));
    // Also where the facade puts a table in front of the host's.
    connection.execute("CREATE TABLE t (a INTEGER)").unwrap();
    let mut appender = connection.appender(["t"], None).unwrap();
    appender.push_row(&[1.into()], Some(&host)).unwrap();
    assert_eq!(appender.flush(Some(&host)).unwrap_err().sqlstate(), "57014");
    again(&(Arc::new(Entered(connection.enter())) as Arc<dyn Host>)).unwrap();
    connection.execute("SELECT 1").unwrap();
}

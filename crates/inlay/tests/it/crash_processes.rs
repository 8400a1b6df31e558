//! Several processes, several databases, and one file opened twice.
//!
//! A second process that reads while the first writes sees whole transactions only, and never goes back. A second writer
//! is refused with a clear error, and a killed one leaves no lock. `INLAY_PROCESS_SECONDS` sets how long they read.

use crate::support::folder::{self, Folder};
use crate::support::{amount, report, sql};
use inlay::Database;
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const READ_ONLY: &[(&str, &str)] = &[("access_mode", "read_only")];
/// Checkpoints while the other process reads are the point.
const WRITES: &[(&str, &str)] = &[("checkpoint_threshold", "64KB")];

#[test]
fn a_reading_process_sees_whole_transactions_and_never_goes_back() {
    let folder = Folder::new("reader");
    let path = folder.file("shared.inlay");
    let database = sql::open(&path, WRITES).unwrap();
    let connection = database.connect();
    connection.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT)").unwrap();
    connection.execute("CREATE TABLE turn (number BIGINT)").unwrap();
    connection.execute("INSERT INTO account SELECT range, 100 FROM range(0, 5000)").unwrap();
    connection.execute("INSERT INTO turn VALUES (0)").unwrap();
    connection.execute("CHECKPOINT").unwrap();

    let mut readers: Vec<Child> = ["reopen", "stay"]
        .iter()
        .map(|how| folder::start("crash_processes::reading_process", &format!("read|{path}|{how}")))
        .collect();
    let seconds = amount("INLAY_PROCESS_SECONDS", 2);
    let (start, mut turn) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(seconds) {
        turn += 1;
        let (from, to) = (turn % 5000, (turn * 7 + 1) % 5000);
        for statement in [
            "BEGIN".to_string(),
            format!("UPDATE account SET balance = balance - 1 WHERE id = {from}"),
            format!("UPDATE turn SET number = {turn}"),
            format!("UPDATE account SET balance = balance + 1 WHERE id = {to}"),
            "COMMIT".to_string(),
        ] {
            connection.execute(&statement).unwrap();
        }
        if turn % 50 == 0 {
            connection.execute("UPDATE account SET balance = balance + 0").unwrap();
            connection.execute("CHECKPOINT").unwrap();
        }
    }
    let (mut reads, mut turns_seen) = (0, 0);
    for reader in &mut readers {
        // A closed pipe is the sign to stop.
        drop(reader.stdin.take());
        for line in BufReader::new(reader.stdout.take().unwrap()).lines().map_while(Result::ok) {
            let Some(told) = folder::told(&line) else { continue };
            let words: Vec<&str> = told.split(' ').collect();
            assert_eq!(words[0], "read", "{told}");
            reads += words[1].parse::<u64>().unwrap();
            turns_seen += words[2].parse::<u64>().unwrap();
        }
        assert!(reader.wait().unwrap().success());
    }
    report(
        "reading process",
        &[
            ("seconds", seconds),
            ("turns", turn as u64),
            ("reads", reads),
            ("states_seen", turns_seen),
            ("torn", 0),
        ],
    );
    assert!(reads > 0 && turns_seen > 2, "{reads} reads saw {turns_seen} states of {turn} turns");
}

/// Reads until its input is closed. Tells the number of reads and of different states.
#[test]
fn reading_process() {
    let Some(role) = folder::role() else { return };
    let [_, path, how] = &role[..] else { panic!("{role:?}") };
    let ended = std::sync::Arc::new(AtomicBool::new(false));
    let sign = ended.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        sign.store(true, Ordering::Relaxed);
    });
    let (mut reads, mut states, mut last) = (0u64, 0u64, -1i64);
    let mut kept: Option<Database> = None;
    while !ended.load(Ordering::Relaxed) {
        let database = match kept.take() {
            Some(database) => database,
            None => sql::open(path, READ_ONLY)
                .unwrap_or_else(|error| failed(&format!("{} {error}", error.sqlstate()))),
        };
        let connection = database.connect();
        for _ in 0..5 {
            // One statement: the state of one moment.
            let found = sql::rows(
                &connection,
                "SELECT (SELECT count(*) FROM account), (SELECT sum(balance) FROM account), (SELECT number FROM turn)",
            )
            .unwrap_or_else(|error| failed(&format!("{} {error}", error.sqlstate())));
            if found[0][..2] != ["5000", "500000"] {
                failed(&format!("torn: {found:?}"));
            }
            let turn: i64 = found[0][2].parse().unwrap();
            if turn < last {
                failed(&format!("went back from {last} to {turn}"));
            }
            states += u64::from(turn > last);
            (last, reads) = (turn, reads + 1);
        }
        drop(connection);
        kept = (how == "stay").then_some(database);
    }
    folder::tell(&format!("read {reads} {states}"));
}

fn failed(what: &str) -> ! {
    folder::tell(&format!("failed {what}"));
    std::process::exit(3)
}

#[test]
fn a_second_writing_process_is_refused_and_a_killed_one_leaves_no_lock() {
    let folder = Folder::new("lock");
    let path = folder.file("locked.inlay");
    let mut child = folder::start("crash_processes::holding_process", &format!("hold|{path}"));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| folder::told(&line) == Some("held")));

    let error = sql::open(&path, &[]).unwrap_err();
    assert_eq!(error.sqlstate(), "55P03", "{error}");
    let message = error.to_string();
    assert!(message.contains("locked.inlay"), "{message}");
    // Reading goes on beside the writer.
    let reader = sql::open(&path, READ_ONLY).unwrap();
    assert!(sql::number(&reader.connect(), "SELECT count(*) FROM t").unwrap() >= 0);
    let refused = reader.connect().execute("INSERT INTO t VALUES (2)").unwrap_err();
    assert_eq!(refused.sqlstate(), "25006", "{refused}");
    drop(reader);

    child.kill().unwrap();
    child.wait().unwrap();
    let database = sql::open(&path, &[]).unwrap();
    assert_eq!(sql::number(&database.connect(), "SELECT count(*) FROM t").unwrap(), 1);
}

/// Holds a database open for writing until it is killed.
#[test]
fn holding_process() {
    let Some(role) = folder::role() else { return };
    let database = sql::open(&role[1], &[]).unwrap();
    let connection = database.connect();
    connection.execute("CREATE TABLE t (a INTEGER)").unwrap();
    connection.execute("CHECKPOINT").unwrap();
    connection.execute("INSERT INTO t VALUES (1)").unwrap();
    folder::tell("held");
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn the_same_file_opened_twice_is_one_database() {
    let folder = Folder::new("twice");
    let path = folder.file("one.inlay");
    let first = sql::open(&path, &[]).unwrap();
    first.connect().execute("CREATE TABLE t (a INTEGER)").unwrap();
    // Another spelling of the same file.
    std::fs::create_dir(folder.file("sub")).unwrap();
    let second = sql::open(&folder.file("sub/../one.inlay"), &[]).unwrap();
    second.connect().execute("INSERT INTO t VALUES (1), (2)").unwrap();
    assert_eq!(sql::number(&first.connect(), "SELECT count(*) FROM t").unwrap(), 2);
    let transaction = first.connect();
    transaction.execute("BEGIN").unwrap();
    transaction.execute("INSERT INTO t VALUES (3)").unwrap();
    assert_eq!(sql::number(&second.connect(), "SELECT count(*) FROM t").unwrap(), 2);
    transaction.execute("COMMIT").unwrap();
    assert_eq!(sql::number(&second.connect(), "SELECT count(*) FROM t").unwrap(), 3);
    drop((transaction, first));
    second.connect().execute("INSERT INTO t VALUES (4)").unwrap();
    drop(second);
    // The last handle has closed it: it opens again.
    let again = sql::open(&path, &[]).unwrap();
    assert_eq!(sql::number(&again.connect(), "SELECT count(*) FROM t").unwrap(), 4);
}

/// Whoever opens a file waits for the thread that is closing it, also while others open and close files of their own.
#[test]
fn a_file_is_opened_while_another_thread_closes_it() {
    let folder = Folder::new("closing");
    let path = folder.file("one.inlay");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (path, is_over) = (folder.file(&format!("other {number}.inlay")), &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    drop(sql::open(&path, &[]).unwrap());
                }
            });
        }
        let outcome = (0..25).try_for_each(|round| {
            let database = sql::open(&path, &[])?;
            database.connect().execute(&format!("CREATE TABLE t{round} AS SELECT * FROM range(1000)"))?;
            let closing = scope.spawn(move || drop(database));
            let opened = sql::open(&path, &[]);
            closing.join().unwrap();
            opened.map(drop)
        });
        is_over.store(true, Ordering::Relaxed);
        outcome.unwrap();
    });
}

#[test]
fn eight_databases_in_one_process() {
    let folder = Folder::new("eight");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let path = folder.file(&format!("{number}.inlay"));
            scope.spawn(move || {
                for round in 1..=5 {
                    let database = sql::open(&path, &[]).unwrap();
                    let connection = database.connect();
                    connection.execute("CREATE TABLE IF NOT EXISTS t (a BIGINT)").unwrap();
                    let insert = format!("INSERT INTO t SELECT {number} FROM range(0, 1000)");
                    connection.execute(&insert).unwrap();
                    let sum = sql::number(&connection, "SELECT sum(a) FROM t").unwrap();
                    assert_eq!(sum, round * 1000 * number);
                }
            });
        }
    });
}

//! Damaged files: every byte flipped, blocks swapped or put back, files cut, logs cut, flipped and exchanged.
//!
//! Whatever the bytes are, opening a database, reading all of it and verifying it end in an error that says so or in
//! exactly the right answer; never in a panic, a hang or another answer. `INLAY_DAMAGE_CASES` sets how many cases of each
//! kind are tried (0: all of them, as `make crash` does).

use crate::support::disk::{self, Files, PATH, SimulatedDisk, WAL};
use crate::support::steps::{self, Content};
use crate::support::{amount, cases, report, sql};
use inlay::Connection;
use std::path::Path;
use std::sync::Arc;

const BLOCK: usize = 4096;
const MASKS: [u8; 3] = [0xff, 0x01, 0x80];
/// Errors that say that a file is damaged, cannot be read, or is none of ours (22023: its first bytes look like text).
const DETECTED: &[&str] = &["XX001", "58030", "22P04", "0A000", "22023"];

const BUILD: &[&str] = &[
    "CREATE TABLE word (id INTEGER PRIMARY KEY, text VARCHAR, weight DOUBLE)",
    "INSERT INTO word VALUES (1, 'one', 0.5), (2, NULL, NULL), (3, 'a text longer than twelve bytes', -1), (4, '', 2)",
    "CHECKPOINT",
    "CREATE INDEX word_text ON word (text)",
    "CREATE INDEX word_sets ON word USING bitmap (text)",
    "CREATE TABLE number AS SELECT range AS n, CASE WHEN range % 5 = 0 THEN NULL ELSE range * 3 END AS m \
     FROM range(0, 300)",
    "CHECKPOINT",
    "UPDATE word SET weight = 7 WHERE id = 4",
    "CREATE TABLE box AS SELECT {'n': range, 's': 'box ' || CAST(range % 3 AS VARCHAR)} AS b FROM range(0, 2048)",
    "CREATE VIEW heavy AS SELECT id FROM word WHERE weight > 1",
    "DELETE FROM number WHERE n = 17",
    "CHECKPOINT",
];

const LATER: &[&str] = &[
    "INSERT INTO word VALUES (10, 'ten', 10)",
    "UPDATE number SET m = 0 WHERE n < 5",
    "CREATE TABLE late (a INTEGER)",
    "INSERT INTO late VALUES (1), (2), (3)",
    "DELETE FROM word WHERE id = 1",
    "INSERT INTO late SELECT range FROM range(0, 100)",
    "INSERT INTO word VALUES (11, 'eleven', NULL)",
    "DROP VIEW heavy",
    "UPDATE late SET a = a + 1 WHERE a > 50",
    "INSERT INTO late VALUES (-1)",
];

const QUERIES: &[&str] = &[
    "SELECT * FROM word",
    "SELECT id FROM word WHERE text = 'one'",
    "SELECT text FROM word WHERE id = 3",
    "SELECT * FROM number",
    "SELECT * FROM heavy",
    "SELECT * FROM late",
    "SELECT sum(b.n), count(b.s), min(b.s) FROM box",
    "SELECT b FROM box WHERE b.n % 500 = 3",
];

/// How damage showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// By an error on opening or reading.
    Error,
    /// By `PRAGMA verify` alone: the answer is right.
    Verify,
    /// Not at all: the answer is right and the byte means nothing.
    NoEffect,
}

#[test]
fn every_flipped_byte_is_detected_or_without_effect() {
    let (files, content) = closed();
    let size = files[Path::new(PATH)].len();
    let numbers = cases::sample(size * MASKS.len(), most(1500));
    let outcomes = cases::run("flipped byte", &numbers, |number| {
        let mut files = files.clone();
        files.get_mut(Path::new(PATH)).unwrap()[number / MASKS.len()] ^= MASKS[number % MASKS.len()];
        examine(files, &content, &[])
    });
    report_outcomes("flipped bytes", size, &outcomes);
}

#[test]
fn two_swapped_blocks_are_detected() {
    let (files, content) = closed();
    let blocks = files[Path::new(PATH)].len() / BLOCK;
    let numbers = cases::sample(blocks * blocks, most(600));
    let outcomes = cases::run("swapped blocks", &numbers, |number| {
        let (one, other) = (number / blocks, number % blocks);
        let mut files = files.clone();
        let file = files.get_mut(Path::new(PATH)).unwrap();
        let copy = file.clone();
        file[one * BLOCK..(one + 1) * BLOCK].copy_from_slice(&copy[other * BLOCK..(other + 1) * BLOCK]);
        file[other * BLOCK..(other + 1) * BLOCK].copy_from_slice(&copy[one * BLOCK..(one + 1) * BLOCK]);
        examine(files, &content, &[])
    });
    report_outcomes("swapped blocks", blocks, &outcomes);
}

#[test]
fn an_old_copy_of_a_block_is_detected() {
    let (disk, images) = built();
    let (files, content) = (disk.snapshot(), content_of(&disk));
    let blocks = files[Path::new(PATH)].len() / BLOCK;
    let numbers = cases::sample(images.len() * blocks, 0);
    let outcomes = cases::run("old copy of a block", &numbers, |number| {
        let (image, place) = (&images[number / blocks], number % blocks * BLOCK);
        let mut files = files.clone();
        let file = files.get_mut(Path::new(PATH)).unwrap();
        match image[Path::new(PATH)].get(place..place + BLOCK) {
            Some(old) => file[place..place + BLOCK].copy_from_slice(old),
            None => return Ok(Outcome::NoEffect),
        }
        examine(files, &content, &[])
    });
    report_outcomes("old blocks put back", blocks, &outcomes);
}

#[test]
fn a_file_cut_at_any_length_is_detected() {
    let (files, content) = closed();
    let size = files[Path::new(PATH)].len();
    // An empty file is a new database, as for everyone: nothing in it tells that it was another.
    let numbers: Vec<usize> = cases::sample(size, most(800)).into_iter().filter(|size| *size > 0).collect();
    let outcomes = cases::run("cut file", &numbers, |size| {
        let mut files = files.clone();
        files.get_mut(Path::new(PATH)).unwrap().truncate(size);
        examine(files, &content, &[])
    });
    report_outcomes("cut files", size, &outcomes);
}

/// The file knows that there is a first transaction, so a log without it is refused.
#[test]
fn a_log_cut_at_any_offset_is_a_prefix_of_whole_transactions() {
    let (files, contents) = with_log();
    let size = files[Path::new(WAL)].len();
    let mut numbers = cases::thinned(offsets_of(&files[Path::new(WAL)]), most(1000));
    numbers.push(size);
    let prefixes = cases::run("cut log", &numbers, |size| {
        let mut files = files.clone();
        files.get_mut(Path::new(WAL)).unwrap().truncate(size);
        let found = match read(&disk::holding(files)) {
            Ok(found) => found,
            Err(error) if error.sqlstate() == "XX001" => return Ok(0),
            Err(error) => return Err(format!("does not open: {error}")),
        };
        let prefix = contents.iter().position(|content| *content == found);
        match prefix.ok_or_else(|| format!("no prefix: {found:?}"))? {
            0 => Err("opens without the first transaction".to_string()),
            prefix => Ok(prefix),
        }
    });
    assert!(prefixes.is_sorted(), "a longer log has to give no fewer transactions: {prefixes:?}");
    assert_eq!(prefixes.last(), Some(&LATER.len()), "the whole log has all transactions");
    let all: std::collections::BTreeSet<usize> = prefixes.iter().copied().collect();
    report(
        "cut logs",
        &[
            ("bytes", size as u64),
            ("tried", numbers.len() as u64),
            ("prefixes", all.len() as u64),
            ("partial", 0),
        ],
    );
}

#[test]
fn a_flipped_byte_of_the_log_loses_nothing_silently() {
    let (files, contents) = with_log();
    let size = files[Path::new(WAL)].len();
    let each = |offset| (0..MASKS.len()).map(move |mask| offset * MASKS.len() + mask);
    let numbers = offsets_of(&files[Path::new(WAL)]).into_iter().flat_map(each).collect();
    let numbers = cases::thinned(numbers, most(1500));
    let outcomes = cases::run("flipped log", &numbers, |number| {
        let mut files = files.clone();
        files.get_mut(Path::new(WAL)).unwrap()[number / MASKS.len()] ^= MASKS[number % MASKS.len()];
        // Who only reads looks at it for a while before damage is believed, so some are enough.
        if number % 10 == 0 {
            examine(files.clone(), &contents[LATER.len()], READER)?;
        }
        examine(files, &contents[LATER.len()], &[])
    });
    let count = |outcome| outcomes.iter().filter(|found| **found == outcome).count() as u64;
    report(
        "flipped log bytes",
        &[
            ("bytes", size as u64),
            ("tried", outcomes.len() as u64),
            ("detected", count(Outcome::Error) + count(Outcome::Verify)),
            ("without_effect", count(Outcome::NoEffect)),
            ("silent_losses", 0),
        ],
    );
}

#[test]
fn the_log_of_another_database_is_refused() {
    let (files, _) = with_log();
    let other = {
        let disk = disk::empty(99);
        let database = disk::open(&disk, &[]).unwrap();
        let connection = database.connect();
        for sql in BUILD.iter().chain(&["INSERT INTO word VALUES (77, 'foreign', 1)"]) {
            connection.execute(sql).unwrap();
        }
        disk.snapshot()
    };
    let mut mixed = files.clone();
    mixed.insert(WAL.into(), other[Path::new(WAL)].clone());
    let error = disk::open(&disk::holding(mixed.clone()), &[]).unwrap_err();
    assert!(!["XX000", "00000"].contains(&error.sqlstate()), "{error}");
    assert!(error.to_string().contains("wal") || error.to_string().contains("log"), "{error}");
    // The right log again: nothing was lost by the attempt.
    mixed.insert(WAL.into(), files[Path::new(WAL)].clone());
    assert!(disk::open(&disk::holding(mixed), &[]).is_ok());
    report("foreign logs", &[("tried", 1), ("refused", 1)]);
}

/// A log from before the last checkpoint holds nothing that is missing: it adds nothing, or is refused.
#[test]
fn an_old_log_beside_a_newer_file_changes_nothing() {
    let (old, _) = with_log();
    let disk = disk::holding(old.clone());
    {
        let database = disk::open(&disk, &[]).unwrap();
        let connection = database.connect();
        connection.execute("DELETE FROM late").unwrap();
        connection.execute("CHECKPOINT").unwrap();
        connection.execute("DELETE FROM word WHERE id = 10").unwrap();
        connection.execute("CHECKPOINT").unwrap();
    }
    let content = content_of(&disk);
    let mut files = disk.snapshot();
    files.insert(WAL.into(), old[Path::new(WAL)].clone());
    let outcome = examine(files, &content, &[]).unwrap();
    report("old logs", &[("tried", 1), ("refused", u64::from(outcome == Outcome::Error))]);
}

/// Every offset of a log as far as it is written to, and some of the zeroes behind, of which there may be many.
fn offsets_of(log: &[u8]) -> Vec<usize> {
    const ZEROES: usize = 4096;
    let end = log.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let near = log.len().min(end + ZEROES);
    (0..near).chain((near..log.len()).step_by(997)).collect()
}

fn most(short: u64) -> u64 {
    amount("INLAY_DAMAGE_CASES", short)
}

/// The database built and closed; the files after each checkpoint.
fn built() -> (Arc<SimulatedDisk>, Vec<Files>) {
    let (disk, mut images) = (disk::empty(7), Vec::new());
    let database = disk::open(&disk, &[]).unwrap();
    let connection = database.connect();
    for sql in BUILD {
        connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        if *sql == "CHECKPOINT" {
            images.push(disk.snapshot());
        }
    }
    drop((connection, database));
    (disk, images)
}

/// The files of the closed database and what it holds.
fn closed() -> (Files, Content) {
    let (disk, _) = built();
    let files = disk.snapshot();
    (files, content_of(&disk))
}

/// The files of a database with transactions in its log, and what it holds after each number of them.
fn with_log() -> (Files, Vec<Content>) {
    let (disk, _) = built();
    let database = disk::open(&disk, &[]).unwrap();
    let connection = database.connect();
    let mut contents = vec![content(&connection).unwrap()];
    for sql in LATER {
        connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        contents.push(content(&connection).unwrap());
    }
    // Before it is closed, or the log would be empty.
    (disk.snapshot(), contents)
}

fn content(connection: &Connection) -> inlay::Result<Content> {
    steps::content_of(connection, QUERIES)
}

fn content_of(disk: &Arc<SimulatedDisk>) -> Content {
    read(&disk::holding(disk.snapshot())).unwrap()
}

fn read(disk: &Arc<SimulatedDisk>) -> inlay::Result<Content> {
    content(&disk::open(disk, &[])?.connect())
}

/// An opening for reading only.
const READER: &[(&str, &str)] = &[("access_mode", "read_only")];

/// Opens damaged files, reads everything and verifies.
fn examine(files: Files, expected: &Content, config: &[(&str, &str)]) -> Result<Outcome, String> {
    let disk = disk::holding(files);
    let refused = |error: inlay::Error| match DETECTED.contains(&error.sqlstate()) {
        true => Ok(Outcome::Error),
        false => Err(format!("reported as {}: {error}", error.sqlstate())),
    };
    let database = match disk::open(&disk, config) {
        Ok(database) => database,
        Err(error) => return refused(error),
    };
    let connection = database.connect();
    match content(&connection) {
        Err(error) => refused(error),
        Ok(found) if found != *expected => Err(format!("another answer: {found:?}")),
        Ok(_) if sql::verify(&connection).is_err() => Ok(Outcome::Verify),
        Ok(_) => Ok(Outcome::NoEffect),
    }
}

fn report_outcomes(name: &str, size: usize, outcomes: &[Outcome]) {
    let count = |outcome| outcomes.iter().filter(|found| **found == outcome).count() as u64;
    report(
        name,
        &[
            ("of", size as u64),
            ("tried", outcomes.len() as u64),
            ("detected", count(Outcome::Error)),
            ("by_verify", count(Outcome::Verify)),
            ("without_effect", count(Outcome::NoEffect)),
            ("wrong", 0),
        ],
    );
}

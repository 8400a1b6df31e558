//! Eight threads that write as fast as they can while two others watch the invariants.

use super::history::{Operation, Transaction};
use super::random::Random;
use super::{amount, seed, sql};
use inlay::{Connection, Database};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const WRITERS: u64 = 8;
const READERS: u64 = 2;

/// What a stress did.
#[derive(Debug, Default)]
pub struct Figures {
    /// Transactions that committed.
    pub commits: u64,
    /// Attempts that met a conflict.
    pub conflicts: u64,
    /// Reads that checked the invariants.
    pub reads: u64,
    /// Reads that found one broken.
    pub violations: u64,
    /// The first of them.
    pub first_violation: String,
}

impl Figures {
    /// For the report.
    pub fn list(&self) -> [(&'static str, u64); 5] {
        [
            ("seconds", seconds().as_secs()),
            ("commits", self.commits),
            ("conflicts", self.conflicts),
            ("reads", self.reads),
            ("violations", self.violations),
        ]
    }
}

fn seconds() -> Duration {
    Duration::from_secs(amount("INLAY_ISOLATION_SECONDS", 2))
}

/// Runs `write` in transactions on eight threads and `check` on two, each on a connection of its own.
fn run(
    database: &Database,
    write: impl Fn(&Connection, &mut Random) -> inlay::Result<()> + Sync,
    check: impl Fn(&Connection) -> inlay::Result<Result<(), String>> + Sync,
) -> Figures {
    let (commits, conflicts, reads) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let violations = Mutex::new(Vec::new());
    let (start, seed) = (Instant::now(), seed());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (write, commits, conflicts) = (&write, &commits, &conflicts);
            scope.spawn(move || {
                let (connection, mut random) = (database.connect(), Random::of(&[seed, writer]));
                let mut refused = 0;
                while start.elapsed() < seconds() {
                    sql::retried(&connection, &mut refused, |connection| write(connection, &mut random))
                        .unwrap();
                    commits.fetch_add(1, Ordering::Relaxed);
                }
                conflicts.fetch_add(refused, Ordering::Relaxed);
            });
        }
        for _ in 0..READERS {
            let (check, reads, violations) = (&check, &reads, &violations);
            scope.spawn(move || {
                let connection = database.connect();
                while start.elapsed() < seconds() {
                    if let Err(found) = check(&connection).unwrap() {
                        violations.lock().unwrap().push(found);
                    }
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    if let Err(found) = check(&database.connect()).unwrap() {
        violations.lock().unwrap().push(format!("in the end: {found}"));
    }
    let violations = violations.into_inner().unwrap();
    Figures {
        commits: commits.into_inner(),
        conflicts: conflicts.into_inner(),
        reads: reads.into_inner(),
        violations: violations.len() as u64,
        first_violation: violations.first().cloned().unwrap_or_default(),
    }
}

/// Money moves between accounts; the program reads both balances and writes what it computed.
pub fn transfers(database: &Database) -> Figures {
    const ACCOUNTS: i64 = 200;
    const TOTAL: i64 = ACCOUNTS * 1000;
    let setup = database.connect();
    setup.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT)").unwrap();
    setup.execute(&format!("INSERT INTO account SELECT range, 1000 FROM range(0, {ACCOUNTS})")).unwrap();
    let balance = |connection: &Connection, id: i64| {
        sql::number(connection, &format!("SELECT balance FROM account WHERE id = {id}"))
    };
    let write = |connection: &Connection, random: &mut Random| {
        let (from, to) = (random.between(0, ACCOUNTS), random.between(0, ACCOUNTS - 1));
        let to = if to == from { ACCOUNTS - 1 } else { to };
        let amount = random.between(1, 50);
        let (had, has) = (balance(connection, from)?, balance(connection, to)?);
        for (id, balance) in [(from, had - amount), (to, has + amount)] {
            connection.execute(&format!("UPDATE account SET balance = {balance} WHERE id = {id}"))?;
        }
        Ok(())
    };
    let check = |connection: &Connection| {
        let found = sql::rows(connection, "SELECT count(*), sum(balance) FROM account")?;
        let right = found == [[ACCOUNTS.to_string(), TOTAL.to_string()]];
        Ok(if right { Ok(()) } else { Err(format!("count and sum are {found:?}, expected {TOTAL}")) })
    };
    run(database, write, check)
}

/// Three rules that hold only if nobody decides on what another is changing: pairs of accounts that together are not
/// overdrawn, shifts with at least one doctor, and rooms booked once at a time (whose conflicts are rows not there yet).
pub fn write_skew(database: &Database) -> Figures {
    const PAIRS: i64 = 20;
    const DOCTORS: i64 = 4;
    const ROOMS: i64 = 5;
    let setup = database.connect();
    for sql in [
        "CREATE TABLE pair (id INTEGER, side INTEGER, balance BIGINT)".to_string(),
        format!(
            "INSERT INTO pair SELECT range % {PAIRS}, range // {PAIRS}, 100 FROM range(0, {})",
            2 * PAIRS
        ),
        "CREATE TABLE doctor (id INTEGER PRIMARY KEY, shift INTEGER, on_call BOOLEAN)".to_string(),
        format!("INSERT INTO doctor SELECT range, range % {PAIRS}, true FROM range(0, {})", PAIRS * DOCTORS),
        "CREATE INDEX doctor_shift ON doctor (shift)".to_string(),
        "CREATE TABLE booking (room INTEGER, since INTEGER, until INTEGER)".to_string(),
        "CREATE INDEX booking_room ON booking (room)".to_string(),
    ] {
        setup.execute(&sql).unwrap();
    }
    let write = |connection: &Connection, random: &mut Random| match random.below(3) {
        0 => {
            let (id, side) = (random.between(0, PAIRS), random.between(0, 2));
            let both = sql::number(connection, &format!("SELECT sum(balance) FROM pair WHERE id = {id}"))?;
            // Who may takes all of it, so that two who both may show at once; who may not pays in.
            let change = if both > 0 { -both } else { 100 };
            connection
                .execute(&format!(
                    "UPDATE pair SET balance = balance + {change} WHERE id = {id} AND side = {side}"
                ))
                .map(drop)
        }
        1 => {
            let (shift, number) = (random.between(0, PAIRS), random.between(0, DOCTORS));
            let id = number * PAIRS + shift;
            let others = sql::number(
                connection,
                &format!("SELECT count(*) FROM doctor WHERE shift = {shift} AND on_call AND id <> {id}"),
            )?;
            let stays = others == 0 || random.once_in(2);
            connection.execute(&format!("UPDATE doctor SET on_call = {stays} WHERE id = {id}")).map(drop)
        }
        _ => {
            let (room, since) = (random.between(0, ROOMS), random.between(0, 100));
            let until = since + random.between(1, 8);
            let clash = format!("room = {room} AND since < {until} AND until > {since}");
            if sql::number(connection, &format!("SELECT count(*) FROM booking WHERE {clash}"))? == 0 {
                connection
                    .execute(&format!("INSERT INTO booking VALUES ({room}, {since}, {until})"))
                    .map(drop)
            } else {
                connection.execute(&format!("DELETE FROM booking WHERE {clash}")).map(drop)
            }
        }
    };
    let check = |connection: &Connection| {
        for (what, query) in [
            (
                "an overdrawn pair",
                "SELECT id, sum(balance) AS s FROM pair GROUP BY id HAVING sum(balance) < 0",
            ),
            (
                "a shift without a doctor",
                "SELECT shift FROM doctor GROUP BY shift HAVING sum(CASE WHEN on_call THEN 1 ELSE 0 END) = 0",
            ),
            (
                "a room booked twice",
                "SELECT a.room, a.since, b.since FROM booking a JOIN booking b ON a.room = b.room \
                 WHERE a.since < b.until AND a.until > b.since AND (a.since, a.until) <> (b.since, b.until)",
            ),
            (
                "the same booking twice",
                "SELECT room, since, until FROM booking GROUP BY room, since, until HAVING count(*) > 1",
            ),
        ] {
            let found = sql::rows(connection, query)?;
            if !found.is_empty() {
                return Ok(Err(format!("{what}: {found:?}")));
            }
        }
        Ok(Ok(()))
    };
    run(database, write, check)
}

/// Random transactions over a few registers and bags on eight threads, each with what it read: the history, the
/// registers' last states, and the number of conflicts.
pub fn record(database: &Database) -> (Vec<Transaction>, HashMap<u32, Vec<u64>>, u64) {
    const REGISTERS: u64 = 6;
    let setup = database.connect();
    for sql in [
        "CREATE TABLE register (id INTEGER PRIMARY KEY, history VARCHAR)".to_string(),
        format!("INSERT INTO register SELECT range, '' FROM range(0, {REGISTERS})"),
        "CREATE TABLE bag (id INTEGER, number BIGINT)".to_string(),
        "CREATE INDEX bag_id ON bag (id)".to_string(),
    ] {
        setup.execute(&sql).unwrap();
    }
    let (sessions, conflicts) = (Mutex::new(Vec::new()), AtomicU64::new(0));
    let (start, seed, failed) = (Instant::now(), seed(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for session in 0..WRITERS as u32 {
            let (sessions, conflicts, failed) = (&sessions, &conflicts, &failed);
            scope.spawn(move || {
                let (connection, mut random) = (database.connect(), Random::of(&[seed, u64::from(session)]));
                let (mut refused, mut number, mut history) = (0, u64::from(session), Vec::new());
                // Registers grow and bags too, and each read reads all of it: bounded, or it would be quadratic.
                while start.elapsed() < seconds() && history.len() < 2_000 && !failed.load(Ordering::Relaxed)
                {
                    let operations = sql::retried(&connection, &mut refused, |connection| {
                        transaction(connection, &mut random, &mut number, REGISTERS)
                    });
                    match operations {
                        Ok(operations) => history.push(Transaction { session, operations }),
                        Err(error) => {
                            failed.store(true, Ordering::Relaxed);
                            panic!("{error}");
                        }
                    }
                }
                conflicts.fetch_add(refused, Ordering::Relaxed);
                sessions.lock().unwrap().extend(history);
            });
        }
    });
    let connection = database.connect();
    let registers = (0..REGISTERS as u32).map(|id| (id, read_register(&connection, id).unwrap())).collect();
    (sessions.into_inner().unwrap(), registers, conflicts.into_inner())
}

fn transaction(
    connection: &Connection,
    random: &mut Random,
    number: &mut u64,
    registers: u64,
) -> inlay::Result<Vec<Operation>> {
    let mut operations = Vec::new();
    for _ in 0..=random.below(4) {
        let id = random.below(registers) as u32;
        operations.push(match random.below(8) {
            0..=2 => Operation::Read(id, read_register(connection, id)?),
            3..=4 => {
                *number += WRITERS;
                let append = format!("UPDATE register SET history = history || ',{number}' WHERE id = {id}");
                connection.execute(&append)?;
                Operation::Append(id, *number)
            }
            5 => {
                let rows = sql::rows(connection, &format!("SELECT number FROM bag WHERE id = {id}"))?;
                Operation::ReadBag(id, rows.iter().map(|row| row[0].parse().unwrap()).collect())
            }
            _ => {
                *number += WRITERS;
                connection.execute(&format!("INSERT INTO bag VALUES ({id}, {number})"))?;
                Operation::Add(id, *number)
            }
        });
    }
    Ok(operations)
}

fn read_register(connection: &Connection, id: u32) -> inlay::Result<Vec<u64>> {
    let rows = sql::rows(connection, &format!("SELECT history FROM register WHERE id = {id}"))?;
    let text = rows[0][0].trim_matches('\'');
    Ok(text.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().unwrap()).collect())
}

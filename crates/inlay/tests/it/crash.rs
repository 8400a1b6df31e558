//! `kill -9` at random instants: every acknowledged transaction is there afterwards, and no part of any other.
//!
//! This program starts itself again as the process that works ([`worker`]), reads from a pipe which transactions that
//! process began and which were acknowledged, kills it, opens the file, and compares everything in it with the model.
//! Then the next process goes on with the same file: half of the time with what the check left, half of the time with
//! the file as the kill left it. `INLAY_CRASH_KILLS` sets how often (2,000 in `make crash`).

use crate::support::folder::{self, Folder};
use crate::support::random::Random;
use crate::support::workload::{self, Model};
use crate::support::{amount, report, seed, sql};
use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

const THREADS: u64 = 4;
/// A file is used for this many kills.
const ROUNDS_PER_FILE: u64 = 20;
/// Small, so that checkpoints happen all the time.
const CONFIG: &[(&str, &str)] = &[("checkpoint_threshold", "256KB"), ("threads", "2")];

/// What the process told before it died.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    begun: [u64; THREADS as usize],
    acknowledged: [u64; THREADS as usize],
    opened: bool,
}

#[derive(Debug, Default)]
struct Counts {
    kills: u64,
    killed_before_open: u64,
    acknowledged: u64,
    recovered_unacknowledged: u64,
}

#[test]
fn a_killed_process_loses_nothing_it_acknowledged() {
    let (kills, seed) = (amount("INLAY_CRASH_KILLS", 15), seed());
    let mut counts = Counts::default();
    let mut file = 0;
    while counts.kills < kills {
        let rounds = ROUNDS_PER_FILE.min(kills - counts.kills);
        one_file(Random::of(&[seed, file]).next(), rounds, &mut counts);
        file += 1;
        if kills > 100 {
            println!("{} of {kills} kills, {} transactions acknowledged", counts.kills, counts.acknowledged);
        }
    }
    // A failed check ends the test, so what is reported is what was found: nothing.
    report(
        "kill",
        &[
            ("kills", counts.kills),
            ("files", file),
            ("killed_before_open", counts.killed_before_open),
            ("acknowledged", counts.acknowledged),
            ("recovered_unacknowledged", counts.recovered_unacknowledged),
            ("lost", 0),
            ("partial", 0),
            ("verify_failures", 0),
        ],
    );
    assert!(counts.acknowledged > 0, "no process was alive long enough to commit anything");
}

/// The model alone: what it expects is what the engine holds when nothing goes wrong.
#[test]
fn the_model_agrees_with_the_engine() {
    let database = inlay::Database::open_in_memory().unwrap();
    let connection = database.connect();
    for statement in workload::setup(THREADS) {
        connection.execute(&statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let mut models: Vec<Model> = (0..THREADS).map(|thread| Model::new(4, thread)).collect();
    for number in 1..=150 {
        for model in &mut models {
            let planned = model.next();
            for statement in planned.framed() {
                connection.execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
            }
            if number % 10 == 0 {
                model.compare(&connection).unwrap();
            }
        }
    }
    workload::compare_accounts(&connection, &models).unwrap();
}

/// Kills `rounds` processes that work on one file.
fn one_file(seed: u64, rounds: u64, counts: &mut Counts) {
    let folder = Folder::new("kill");
    let (path, copy) = (folder.file("kill.inlay"), folder.file("copy.inlay"));
    let mut models: Vec<Model> = (0..THREADS).map(|thread| Model::new(seed, thread)).collect();
    let mut random = Random::of(&[seed, 1]);
    {
        let database = sql::open(&path, CONFIG).unwrap();
        let connection = database.connect();
        for statement in workload::setup(THREADS) {
            connection.execute(&statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    }
    for round in 0..rounds {
        let before: u64 = models.iter().map(|model| model.number).sum();
        let told = run_and_kill(&path, seed, &mut random, &models);
        counts.kills += 1;
        counts.killed_before_open += u64::from(!told.opened);
        folder::copy_database(&path, &copy);
        let in_place = random.once_in(2);
        let checked = if in_place { &path } else { &copy };
        check(checked, &mut models, &told)
            .unwrap_or_else(|problem| panic!("seed {seed}, kill {round} of this file: {problem}\n{told:?}"));
        let acknowledged: u64 = told.acknowledged.iter().sum();
        let found: u64 = models.iter().map(|model| model.number).sum();
        counts.acknowledged += acknowledged - before;
        counts.recovered_unacknowledged += found - acknowledged;
    }
}

/// Lets a process work for a random time and kills it.
fn run_and_kill(path: &str, seed: u64, random: &mut Random, models: &[Model]) -> Told {
    let mut child = folder::start("crash::worker", &format!("work|{path}|{seed}"));
    let mut told = Told::default();
    for (thread, model) in models.iter().enumerate() {
        (told.begun[thread], told.acknowledged[thread]) = (model.number, model.number);
    }
    let (out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let reader = std::thread::spawn(move || {
        // The kill may tear the last line: what is torn was not told.
        let mut lines = BufReader::new(out);
        let (mut line, mut told) = (String::new(), told);
        let mut failure = None;
        while lines.read_line(&mut line).is_ok_and(|length| length > 0) {
            if line.ends_with('\n') {
                failure = failure.or(note(&line, &mut told));
            }
            line.clear();
        }
        (told, failure)
    });
    // Short times find the opening and the recovery, long ones checkpoints among many transactions.
    let longest = 2u64 << random.between(0, 10);
    std::thread::sleep(Duration::from_micros(1000 + random.below(longest * 1000)));
    let died = child.try_wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let (told, failure) = reader.join().unwrap();
    let mut message = String::new();
    let _ = err.read_to_string(&mut message);
    if let Some(status) = died {
        panic!("the process ended by itself, {status}: {failure:?}\n{message}");
    }
    assert!(failure.is_none(), "{failure:?}\n{message}");
    told
}

/// Takes in one line; returns the error that it tells.
fn note(line: &str, told: &mut Told) -> Option<String> {
    let mut words = folder::told(line)?.splitn(3, ' ');
    let (what, first) = (words.next()?, words.next().unwrap_or_default());
    let rest = words.next().unwrap_or_default();
    match what {
        "open" => told.opened = true,
        "begin" => told.begun[first.parse::<usize>().unwrap()] = rest.parse().unwrap(),
        "ack" => told.acknowledged[first.parse::<usize>().unwrap()] = rest.parse().unwrap(),
        _ => return Some(format!("{what} {first} {rest}")),
    }
    None
}

/// Opens the file and compares all that is in it.
fn check(path: &str, models: &mut [Model], told: &Told) -> Result<(), String> {
    let text = |error: inlay::Error| format!("{error} ({})", error.sqlstate());
    let database = sql::open(path, CONFIG).map_err(|error| format!("does not open: {}", text(error)))?;
    let connection = database.connect();
    for (thread, model) in models.iter_mut().enumerate() {
        let query = format!("SELECT number FROM progress WHERE thread = {thread}");
        let number = sql::number(&connection, &query).map_err(text)? as u64;
        let (acknowledged, begun) = (told.acknowledged[thread], told.begun[thread]);
        if number < acknowledged {
            return Err(format!(
                "thread {thread}: {acknowledged} was acknowledged, {number} is the last there"
            ));
        }
        if number > begun {
            return Err(format!("thread {thread}: {number} is there, which was never begun ({begun} was)"));
        }
        model.advance_to(number);
        model.compare(&connection)?;
    }
    workload::compare_accounts(&connection, models)?;
    sql::verify(&connection).map_err(|found| format!("PRAGMA verify: {found}"))
}

/// The process that works until it is killed. Does nothing when it was not started for that.
#[test]
fn worker() {
    let Some(role) = folder::role() else { return };
    let [_, path, seed] = &role[..] else { panic!("{role:?}") };
    let seed: u64 = seed.parse().unwrap();
    let failed = |what: &str, error: &inlay::Error| -> ! {
        folder::tell(&format!("error {what}: {} {error}", error.sqlstate()));
        std::process::exit(3);
    };
    let database = sql::open(path, CONFIG).unwrap_or_else(|error| failed("open", &error));
    folder::tell("open");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let database = &database;
            scope.spawn(move || {
                if let Err((statement, error)) = work(database, seed, thread) {
                    failed(&statement, &error);
                }
            });
        }
    });
}

/// Runs transactions for ever.
fn work(database: &inlay::Database, seed: u64, thread: u64) -> Result<(), (String, inlay::Error)> {
    let connection = database.connect();
    let run = |statement: &str| {
        connection
            .execute(statement)
            .map_err(|error| (statement.chars().take(200).collect::<String>(), error))
    };
    let query = format!("SELECT number FROM progress WHERE thread = {thread}");
    let number = sql::number(&connection, &query).map_err(|error| (query, error))?;
    let mut model = Model::new(seed, thread);
    model.advance_to(number as u64);
    // What this process does besides its transactions need not repeat.
    let mut random = Random::of(&[seed, thread, u64::from(std::process::id())]);
    loop {
        if random.once_in(20) {
            run("BEGIN")?;
            // A decoy that is rolled back: nothing of it may ever show.
            let decoy = format!("INSERT INTO rows_{thread} VALUES (-1, 1, 'decoy')");
            if let Err((statement, error)) = run(&decoy)
                && !sql::is_conflict(&error)
            {
                return Err((statement, error));
            }
            if connection.in_transaction() {
                run("ROLLBACK")?;
            }
        }
        let upkeep = match random.below(if thread == 0 { 60 } else { 400 }) {
            0 => "CHECKPOINT",
            1 if random.once_in(8) => "VACUUM",
            _ => "",
        };
        match run(upkeep) {
            Err((_, error)) if sql::is_conflict(&error) => {}
            other => drop(other?),
        }
        let planned = model.next();
        folder::tell(&format!("begin {thread} {}", model.number));
        loop {
            match planned.framed().try_for_each(|statement| run(statement).map(drop)) {
                Ok(()) => break,
                Err((statement, error)) => {
                    if connection.in_transaction() {
                        run("ROLLBACK")?;
                    }
                    if !sql::is_conflict(&error) {
                        return Err((statement, error));
                    }
                }
            }
        }
        folder::tell(&format!("ack {thread} {}", model.number));
    }
}

//! Power cuts and failing I/O on the simulated disk, at every call of a scripted workload.
//!
//! A power cut loses what was not synced, or parts of it in any order, torn at sectors: what opens afterwards holds a
//! prefix of the steps that contains all acknowledged ones. A failing call gives a clean error, reading goes on, and after
//! opening again nothing acknowledged is missing. `INLAY_POWER_CASES` sets how many calls are tried (0: every one) and
//! `INLAY_POWER_SEEDS` how many outcomes of each cut.

use crate::support::disk::{self, SimulatedDisk};
use crate::support::random::Random;
use crate::support::steps::{self, Content, Progress};
use crate::support::{amount, cases, report, sql};
use inlay::Connection;
use inlay_storage::io::Fault;
use std::sync::Arc;

/// Errors that a caller of a failing disk may see.
const CLEAN: &[&str] = &["58030", "53100", "25006", "XX001"];

#[test]
fn a_power_cut_at_any_call_leaves_a_prefix_with_all_that_was_acknowledged() {
    let (contents, calls) = steps::clean_run();
    let seeds = amount("INLAY_POWER_SEEDS", 1);
    let numbers = cases::sample(calls + 1, amount("INLAY_POWER_CASES", 60));
    let outcomes = cases::run("power cut", &numbers, |call| {
        (0..seeds).map(|seed| power_cut(&contents, call as u64, seed)).collect::<Result<Vec<_>, _>>()
    });
    let kept: Vec<bool> = outcomes.into_iter().flatten().collect();
    report(
        "power cut",
        &[
            ("calls", calls as u64),
            ("cut_at", numbers.len() as u64),
            ("cuts", kept.len() as u64),
            ("unacknowledged_kept", kept.iter().filter(|kept| **kept).count() as u64),
            ("lost", 0),
            ("partial", 0),
        ],
    );
}

/// Cuts the power at one call, and once more while the recovery runs. Returns whether a step was kept that was not
/// acknowledged.
fn power_cut(contents: &[Content], call: u64, seed: u64) -> Result<bool, String> {
    let disk = disk::empty(seed);
    disk.cut_power_at(call as usize);
    let progress = steps::run(&disk, |_| ());
    drop(progress.open);
    let progress = Progress { open: None, ..progress };

    // What survives depends on the seed alone, so that both recoveries begin with the same disk.
    let twice = Arc::new(disk.after_power_cut(seed + 1));
    twice.cut_power_at(Random::of(&[call, seed]).below(40) as usize);
    drop(disk::open(&twice, &[]));
    check_prefix(contents, &progress, &Arc::new(twice.after_power_cut(seed + 2)))
        .map_err(|problem| format!("a second cut while recovering: {problem}"))?;

    let kept = check_prefix(contents, &progress, &Arc::new(disk.after_power_cut(seed + 1)))?;
    Ok(kept > progress.acknowledged)
}

/// Opens what is left and says which prefix it holds. Also: it verifies, takes a write, and keeps that.
fn check_prefix(
    contents: &[Content],
    progress: &Progress,
    disk: &Arc<SimulatedDisk>,
) -> Result<usize, String> {
    let prefix = {
        let database =
            disk::open(disk, &[]).map_err(|error| format!("does not open: {error}; {progress:?}"))?;
        let connection = database.connect();
        let found = steps::content(&connection).map_err(|error| error.to_string())?;
        let range = progress.acknowledged..=progress.begun;
        let prefix = steps::matching(contents, range, &found).ok_or_else(|| {
            let elsewhere = steps::matching(contents, 0..=contents.len(), &found);
            format!("holds prefix {elsewhere:?} after {progress:?}: {found:?}")
        })?;
        sql::verify(&connection).map_err(|error| format!("PRAGMA verify: {error}"))?;
        connection.execute("CREATE TABLE probe AS SELECT 42 AS a").map_err(|error| error.to_string())?;
        prefix
    };
    let database = disk::open(disk, &[]).map_err(|error| format!("does not open again: {error}"))?;
    let connection = database.connect();
    let probe = sql::number(&connection, "SELECT a FROM probe").map_err(|error| error.to_string())?;
    let same = steps::content(&connection).map_err(|error| error.to_string())? == contents[prefix];
    if probe == 42 && same { Ok(prefix) } else { Err("the content changed by opening it twice".to_string()) }
}

#[test]
fn a_failing_call_is_a_clean_error_and_loses_nothing() {
    // Whether the fault stays is the second part: a full disk mostly does.
    const FAULTS: [(Fault, bool); 7] = [
        (Fault::Eio, false),
        (Fault::NoSpace, false),
        (Fault::ShortWrite, false),
        (Fault::FailedSync, false),
        (Fault::NoSpace, true),
        (Fault::Full, true),
        (Fault::FailedSync, true),
    ];
    let (contents, calls) = steps::clean_run();
    let numbers = cases::sample(calls * FAULTS.len(), amount("INLAY_POWER_CASES", 60) * 2);
    let outcomes = cases::run("failing calls", &numbers, |number| {
        failing_call(&contents, number / FAULTS.len(), FAULTS[number % FAULTS.len()])
    });
    let count = |outcome: Outcome| outcomes.iter().filter(|found| **found == outcome).count() as u64;
    report(
        "failing calls",
        &[
            ("calls", calls as u64),
            ("tried", numbers.len() as u64),
            ("errors", count(Outcome::Refused) + count(Outcome::WentOn)),
            ("went_on", count(Outcome::WentOn)),
            ("without_effect", count(Outcome::None)),
            ("lost", 0),
        ],
    );
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The call that was to fail was of another kind, or its failure did not matter.
    None,
    /// A step failed, and so did the next try.
    Refused,
    /// A step failed; the next try succeeded.
    WentOn,
}

/// Does the steps that are left on a disk that works again. Returns whether the database took them.
fn go_on(contents: &[Content], progress: &mut Progress, connection: &Connection) -> Result<bool, String> {
    let steps = steps::SESSIONS.concat();
    while progress.acknowledged < steps.len() {
        progress.begun = progress.acknowledged + 1;
        match steps::run_step(connection, steps[progress.acknowledged]) {
            Ok(()) => progress.acknowledged += 1,
            Err(error) if error.sqlstate() == "25006" => return Ok(false),
            Err(error) => return Err(format!("on a disk that works again: {} {error}", error.sqlstate())),
        }
    }
    let found = steps::content(connection).map_err(|error| format!("in the end: {error}"))?;
    sql::verify(connection)?;
    match found == contents[steps.len()] {
        true => Ok(true),
        false => Err(format!("going on led to {found:?}")),
    }
}

/// Lets one call fail, looks at the open database, goes on if it lets us, then opens it again: once as the disk shows
/// its files, once after a power cut.
fn failing_call(contents: &[Content], call: usize, (fault, stays): (Fault, bool)) -> Result<Outcome, String> {
    let disk = disk::empty(call as u64);
    if stays {
        disk.fail_from(call, fault)
    } else {
        disk.fail_call(call, fault)
    };
    let mut progress = steps::run(&disk, |_| ());
    let mut outcome = Outcome::None;
    if let Some(error) = &progress.error {
        if !CLEAN.contains(&error.sqlstate()) {
            return Err(format!("{fault:?} is reported as {}: {error}", error.sqlstate()));
        }
        outcome = Outcome::Refused;
    }
    if let Some(database) = progress.open.take() {
        let connection = database.connect();
        let found = steps::content(&connection).map_err(|error| format!("{fault:?}: reading: {error}"))?;
        if found != contents[progress.acknowledged] {
            let prefix = steps::matching(contents, 0..=contents.len(), &found);
            return Err(format!("{fault:?}: the open database shows prefix {prefix:?}, {progress:?}"));
        }
        let step = steps::SESSIONS.concat()[progress.begun - 1];
        match steps::run_step(&connection, step) {
            Ok(()) => {
                // It takes writes again, so the step that failed is not there: this one is the first.
                progress.acknowledged += 1;
                outcome = Outcome::WentOn;
            }
            Err(error) if CLEAN.contains(&error.sqlstate()) => {}
            Err(error) => return Err(format!("{fault:?}, tried again: {} {error}", error.sqlstate())),
        }
        disk.repair();
        outcome = match go_on(contents, &mut progress, &connection)? {
            false if fault == Fault::Full => return Err("not usable though there is room again".to_string()),
            false => outcome,
            true => Outcome::WentOn,
        };
    }
    for (how, disk) in [
        ("a power cut", Arc::new(disk.after_power_cut(call as u64))),
        ("opening again", disk::holding(disk.snapshot())),
    ] {
        check_prefix(contents, &progress, &disk).map_err(|problem| format!("{fault:?}, {how}: {problem}"))?;
    }
    Ok(outcome)
}

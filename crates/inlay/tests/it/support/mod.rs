//! What the tests of isolation, crashes, power cuts and damage share.
//!
//! - [`random`]: a generator that repeats from its seed. [`sql`]: answers as text, and what an error means.
//! - [`hermitage`]: interleaved scripts. [`history`]: recorded histories and their dependency cycles.
//! - [`workload`]: what the killed process does, and the model that says what must be there afterwards.
//! - [`steps`]: the short scripted workload of the simulated disk. [`disk`]: that disk, behind four functions.
//! - [`folder`]: a folder that goes away, and this test program started again as another process.

pub mod cases;
pub mod disk;
pub mod dump;
pub mod folder;
pub mod grammar;
pub mod hermitage;
pub mod history;
pub mod random;
pub mod sql;
pub mod steps;
pub mod stress;
pub mod workload;

/// How much to do: the value of an environment variable, or what fits into a normal test run.
pub fn amount(variable: &str, short: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")),
        Err(_) => short,
    }
}

/// The seed of this run, printed so that it can be set again.
pub fn seed() -> u64 {
    let seed = amount("INLAY_TEST_SEED", u64::from(std::process::id()) ^ 0x5eed);
    println!("seed: INLAY_TEST_SEED={seed}");
    seed
}

/// One line of a report, as `bench/reliability` reads it: `name: key=value key=value`.
pub fn report(name: &str, figures: &[(&str, u64)]) {
    let figures: Vec<String> = figures.iter().map(|(key, value)| format!("{key}={value}")).collect();
    println!("[reliability] {name}: {}", figures.join(" "));
}

//! Counts of what the server did, as Prometheus reads them.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters, all of which only grow.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Sessions that were opened, by any door.
    pub sessions: AtomicU64,
    /// Clients that were turned away, since there was no place.
    pub refused: AtomicU64,
    /// Logins that failed.
    pub failed_logins: AtomicU64,
    /// Statements that a client asked to end.
    pub cancelled: AtomicU64,
    /// Pieces of work that went well.
    good: AtomicU64,
    /// Pieces of work that failed.
    failed: AtomicU64,
    /// Time that they took, in microseconds.
    busy_micros: AtomicU64,
    /// Bytes of rows that were sent.
    pub sent_bytes: AtomicU64,
}

/// Adds to a counter.
pub fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

/// What is counted elsewhere, as of now.
pub struct Now {
    pub sessions: usize,
    pub memory_used: u64,
    pub memory_peak: u64,
    pub spilled: u64,
    pub uptime: Duration,
}

impl Metrics {
    /// That work was done.
    pub fn ran(&self, took: Duration, is_good: bool) {
        count(if is_good { &self.good } else { &self.failed }, 1);
        count(&self.busy_micros, took.as_micros().try_into().unwrap_or(u64::MAX));
    }

    /// The text that Prometheus reads.
    pub fn text(&self, now: &Now) -> String {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut out = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, values: &[(&str, String)]| {
            let _ = writeln!(out, "# HELP inlay_{name} {help}\n# TYPE inlay_{name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(out, "inlay_{name}{labels} {value}");
            }
        };
        let one = |value: u64| vec![("", value.to_string())];
        metric("sessions", "gauge", "Sessions that are open.", &one(now.sessions as u64));
        metric("sessions_total", "counter", "Sessions that were opened.", &one(read(&self.sessions)));
        metric(
            "refused_total",
            "counter",
            "Clients for which there was no place.",
            &one(read(&self.refused)),
        );
        metric("failed_logins_total", "counter", "Logins that failed.", &one(read(&self.failed_logins)));
        metric(
            "cancelled_total",
            "counter",
            "Requests of clients to end a statement.",
            &one(read(&self.cancelled)),
        );
        let outcomes = [
            ("{outcome=\"ok\"}", read(&self.good).to_string()),
            ("{outcome=\"error\"}", read(&self.failed).to_string()),
        ];
        metric(
            "calls_total",
            "counter",
            "Calls of the engine: statements, and pieces of their answers.",
            &outcomes,
        );
        let busy = Duration::from_micros(read(&self.busy_micros)).as_secs_f64();
        metric("call_seconds_total", "counter", "Time that calls took.", &[("", format!("{busy:.6}"))]);
        metric("sent_bytes_total", "counter", "Bytes of rows that were sent.", &one(read(&self.sent_bytes)));
        metric("memory_bytes", "gauge", "Memory that the engine has in use.", &one(now.memory_used));
        metric("memory_peak_bytes", "gauge", "The most that it had in use.", &one(now.memory_peak));
        metric("spilled_bytes_total", "counter", "Bytes written to temporary files.", &one(now.spilled));
        metric("uptime_seconds", "gauge", "Time since the start.", &one(now.uptime.as_secs()));
        out
    }
}

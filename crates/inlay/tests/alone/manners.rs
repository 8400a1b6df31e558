//! What an engine inside of another program owes it: it takes no more than it is told to, at once, and nothing when idle.
//!
//! Workers are threads of the process with a certain name in `/proc`, and how much processor time they get is compared: those of
//! databases of other tests would be counted, and their work would be in the way.

use crate::alone;
use inlay::{Connection, Database, Priority, Value};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn open(settings: &[(&str, &str)]) -> Database {
    let text = |text: &str| Value::Varchar(text.to_string());
    let config: Vec<(String, Value)> =
        settings.iter().map(|(name, value)| ((*name).to_string(), text(value))).collect();
    Database::open(":memory:", &config).unwrap()
}

fn soon(holds: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Nanoseconds of processor time of each worker thread of the process.
fn worker_times() -> Vec<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten().map(|task| task.path());
    let is_worker = |task: &std::path::PathBuf| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "inlay-worker")
    };
    let time = |task: std::path::PathBuf| {
        let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok()
    };
    tasks.filter(is_worker).filter_map(time).collect()
}

/// Workers that used the processor within a tenth of a second.
fn busy_workers() -> usize {
    let before = worker_times();
    std::thread::sleep(Duration::from_millis(100));
    worker_times().iter().zip(before).filter(|(after, before)| **after > before + 1_000_000).count()
}

/// Runs a query that lasts while `meanwhile` works, and interrupts it.
fn beside_a_long_query(connection: &Connection, meanwhile: impl FnOnce()) {
    std::thread::scope(|scope| {
        let query =
            scope.spawn(|| connection.execute("SELECT sum(hash(x) % 7) FROM range(1000000000000) t(x)"));
        meanwhile();
        connection.interrupt();
        assert!(query.join().unwrap().is_err());
    });
}

#[test]
fn threads_change_while_a_query_runs() {
    let _guard = alone();
    let database = open(&[("threads", "1")]);
    let (connection, other) = (database.connect(), database.connect());
    beside_a_long_query(&connection, || {
        assert_eq!(busy_workers(), 0);
        other.execute("SET threads = 4").unwrap();
        assert!(soon(|| busy_workers() == 3));
        other.execute("SET threads = 2").unwrap();
        assert!(soon(|| busy_workers() == 1));
        other.execute("SET threads = 1").unwrap();
        assert!(soon(|| busy_workers() == 0));
    });
}

#[test]
fn workers_go_to_the_query_that_comes_first() {
    let _guard = alone();
    let database = open(&[("threads", "2")]);
    let (one, two) = (database.connect(), database.connect());
    one.execute("SET priority = 'low'").unwrap();
    let count = |connection: &Connection| {
        let sql = "SELECT count(*) FROM range(40000000) t(x) WHERE hash(x) % 3 = 1";
        let began = Instant::now();
        connection.execute(sql).unwrap();
        began.elapsed()
    };
    let (low, high) = std::thread::scope(|scope| {
        let low = scope.spawn(|| count(&one));
        two.set_priority(Priority::High);
        let high = scope.spawn(|| count(&two));
        (low.join().unwrap(), high.join().unwrap())
    });
    assert!(high < low, "high {high:?}, low {low:?}");
    assert_eq!(two.execute("SELECT current_setting('priority')").unwrap().row_count(), 1);
}

#[test]
fn a_lowered_memory_limit_makes_a_running_query_spill() {
    let _guard = alone();
    let database = open(&[("memory_limit", "2GB")]);
    let (connection, other) = (database.connect(), database.connect());
    let sql = "SELECT sum(h % 1000 * n) FROM (SELECT hash(x) AS h, count(*) AS n FROM range(3000000) t(x) GROUP BY 1)";
    let value = |connection: &Connection| connection.execute(sql).unwrap().value(0, 0).unwrap();
    let expected = value(&connection);
    assert_eq!(database.spilled_bytes(), 0);
    let found = std::thread::scope(|scope| {
        let query = scope.spawn(|| value(&connection));
        assert!(soon(|| database.memory_used() > 8_000_000));
        other.execute("SET memory_limit = '30MB'").unwrap();
        query.join().unwrap()
    });
    assert_eq!(found, expected);
    assert!(database.spilled_bytes() > 0);
}

#[test]
fn an_idle_database_uses_no_processor_time() {
    let _guard = alone();
    // Those of databases that other tests keep.
    let others = worker_times().len();
    let database = open(&[("threads", "4")]);
    let connection = database.connect();
    connection.execute("SELECT sum(hash(x) % 7) FROM range(30000000) t(x)").unwrap();
    // A worker without work looks out for a moment; then it sleeps, and wakes once to give its free memory back.
    std::thread::sleep(Duration::from_millis(200));
    let before: u64 = worker_times().iter().sum();
    std::thread::sleep(Duration::from_millis(300));
    let spent = worker_times().iter().sum::<u64>() - before;
    assert!(worker_times().len() == others + 3 && spent < 1_000_000, "{spent} ns");
}

/// Threads of the host that want the processors; they end when this is dropped.
struct BusyHost(std::sync::Arc<std::sync::atomic::AtomicBool>);

impl BusyHost {
    fn new(threads: usize) -> Self {
        let ends = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        for _ in 0..threads {
            let ends = std::sync::Arc::clone(&ends);
            std::thread::spawn(move || {
                while !ends.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(ends)
    }
}

impl Drop for BusyHost {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Whatever else the machine does, a host that wants all processors gets them.
#[test]
fn adaptive_mode_leaves_processors_to_the_host() {
    let _guard = alone();
    let database = open(&[("threads", "4"), ("resource_mode", "adaptive")]);
    let (connection, other) = (database.connect(), database.connect());
    let workers = || other.execute("SELECT workers FROM inlay_resources()").unwrap().value(0, 0).unwrap();
    beside_a_long_query(&connection, || {
        let processors = std::thread::available_parallelism().unwrap().get();
        let host = BusyHost::new(processors);
        assert!(soon(|| workers() == Value::BigInt(1)));
        drop(host);
        other.execute("SET resource_mode = 'fixed'").unwrap();
        assert_eq!(workers(), Value::BigInt(4));
        assert!(soon(|| busy_workers() > 1));
    });
    let seen = other.execute("SELECT cpu_pressure, memory_is_short FROM inlay_resources()").unwrap();
    assert_eq!(seen.value(0, 0).unwrap(), Value::Null, "nothing is seen in fixed mode");
}

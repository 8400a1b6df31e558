//! Interleaved scripts of two or three transactions, and whether some serial order explains what they saw.
//!
//! The scripts are `tests/isolation/hermitage.txt`, which says how they are written. [`Script::run`] runs one and
//! [`Observed::is_serial`] runs the committed transactions again, one after the other in every order, on the same
//! table: an order that gives the same reads and the same table is the proof that no anomaly occurred.

use super::sql::{self, Rows};
use inlay::{Connection, Database};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;
use std::time::Duration;

const SCRIPTS: &str = include_str!("../../../../../tests/isolation/hermitage.txt");
/// A step that takes longer waits for a transaction that waits for it.
const STEP_MAX: Duration = Duration::from_secs(20);
const FILLER: &str = "INSERT INTO t SELECT 1000 + range, 100001 + 15 * range FROM range(0, 5000)";

/// How the rows of the table are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// By scanning.
    Plain,
    /// By a primary key.
    PrimaryKey,
    /// By secondary indexes on both columns.
    SecondaryIndex,
}

impl Access {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::PrimaryKey, Self::SecondaryIndex];

    fn table(self) -> &'static [&'static str] {
        match self {
            Self::Plain => &["CREATE TABLE t (id INTEGER, value INTEGER)"],
            Self::PrimaryKey => &["CREATE TABLE t (id INTEGER PRIMARY KEY, value INTEGER)"],
            Self::SecondaryIndex => &[
                "CREATE TABLE t (id INTEGER, value INTEGER)",
                "CREATE INDEX t_id ON t (id)",
                "CREATE INDEX t_value ON t (value)",
            ],
        }
    }

    fn database(self) -> Database {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect();
        for sql in self.table().iter().chain(&["INSERT INTO t VALUES (1, 10), (2, 20)", FILLER]) {
            connection.execute(sql).unwrap();
        }
        database
    }
}

/// One script.
#[derive(Clone, Debug)]
pub struct Script {
    /// The anomaly: `G0`, `G1a`, ...
    pub anomaly: String,
    /// What this variant is.
    pub title: String,
    /// Whether the anomaly also shows when every statement is a transaction of its own.
    pub shows_without_begin: bool,
    /// Transaction and statement.
    steps: Vec<(u32, String)>,
}

/// Reads of a transaction in order.
type Reads = Vec<Rows>;

/// What happened when a script ran.
#[derive(Debug)]
pub struct Observed {
    /// What each transaction that committed read.
    pub committed: BTreeMap<u32, Reads>,
    /// Transactions that were refused with SQLSTATE 40001.
    pub refused: BTreeSet<u32>,
    /// The table afterwards.
    table: Rows,
}

/// The scripts in the order of the file.
pub fn scripts() -> Vec<Script> {
    let mut scripts: Vec<Script> = Vec::new();
    for line in SCRIPTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (head, rest) = line.split_once(' ').unwrap();
        match head {
            "script" | "hidden" => {
                let (anomaly, title) = rest.split_once(": ").unwrap();
                scripts.push(Script {
                    anomaly: anomaly.to_string(),
                    title: title.to_string(),
                    shows_without_begin: head == "script",
                    steps: Vec::new(),
                });
            }
            number => {
                let script = scripts.last_mut().unwrap();
                script.steps.push((number.parse().unwrap(), rest.to_string()));
            }
        }
    }
    scripts
}

impl Script {
    /// Runs the steps in their order, each transaction on a connection and thread of its own.
    pub fn run(&self, access: Access, transactions: bool) -> Observed {
        let database = access.database();
        let mut sessions = BTreeMap::new();
        let mut observed =
            Observed { committed: BTreeMap::new(), refused: BTreeSet::new(), table: Vec::new() };
        let mut reads: BTreeMap<u32, Reads> = BTreeMap::new();
        let mut rolled_back = BTreeSet::new();
        for (number, sql) in self.steps.iter().filter(|(_, sql)| transactions || !is_control(sql)) {
            if observed.refused.contains(number) {
                continue;
            }
            let session = sessions.entry(*number).or_insert_with(|| Session::start(&database));
            match session.step(sql) {
                Ok(found) if is_read(sql) => reads.entry(*number).or_default().push(found),
                Ok(_) if sql == "ROLLBACK" => {
                    rolled_back.insert(*number);
                }
                Ok(_) => {}
                Err(error) if sql::is_conflict(&error) => {
                    observed.refused.insert(*number);
                    // A refused COMMIT has ended the transaction; a refused statement may have or not.
                    let _ = session.step("ROLLBACK");
                }
                Err(error) => panic!("{} ({access:?}): {number} {sql}: {error}", self.title),
            }
        }
        for number in self.transactions() {
            // Without BEGIN, who wants to roll back cannot: the statements count, and the transaction does not.
            let aborted = if transactions { rolled_back.contains(&number) } else { self.rolls_back(number) };
            if !aborted && !observed.refused.contains(&number) {
                observed.committed.insert(number, reads.remove(&number).unwrap_or_default());
            }
        }
        observed.table = table_of(&database.connect());
        observed
    }

    /// Runs some transactions one after the other.
    fn run_serially(&self, access: Access, order: &[u32]) -> (BTreeMap<u32, Reads>, Rows) {
        let database = access.database();
        let connection = database.connect();
        let mut reads: BTreeMap<u32, Reads> = BTreeMap::new();
        for number in order {
            reads.insert(*number, Reads::new());
            for (_, sql) in self.steps.iter().filter(|(owner, _)| owner == number) {
                let found = sql::rows(&connection, sql).unwrap();
                if is_read(sql) {
                    reads.get_mut(number).unwrap().push(found);
                }
            }
        }
        (reads, table_of(&connection))
    }

    fn transactions(&self) -> BTreeSet<u32> {
        self.steps.iter().map(|(number, _)| *number).collect()
    }

    fn rolls_back(&self, number: u32) -> bool {
        self.steps.iter().any(|(owner, sql)| *owner == number && sql == "ROLLBACK")
    }
}

impl Observed {
    /// Whether some serial order of the committed transactions gives the same reads and the same table.
    pub fn is_serial(&self, script: &Script, access: Access) -> bool {
        let committed: Vec<u32> = self.committed.keys().copied().collect();
        orders(&committed).iter().any(|order| {
            let (reads, table) = script.run_serially(access, order);
            reads == self.committed && table == self.table
        })
    }
}

/// A connection on a thread of its own, so that a step that never returns is found out.
struct Session {
    send: mpsc::Sender<String>,
    receive: mpsc::Receiver<inlay::Result<Rows>>,
}

impl Session {
    fn start(database: &Database) -> Self {
        let (send, statements) = mpsc::channel::<String>();
        let (answers, receive) = mpsc::channel();
        let connection = database.connect();
        std::thread::spawn(move || {
            for sql in statements {
                if answers.send(sql::rows(&connection, &sql)).is_err() {
                    return;
                }
            }
        });
        Self { send, receive }
    }

    fn step(&self, sql: &str) -> inlay::Result<Rows> {
        self.send.send(sql.to_string()).unwrap();
        self.receive.recv_timeout(STEP_MAX).unwrap_or_else(|_| panic!("{sql} does not return"))
    }
}

fn table_of(connection: &Connection) -> Rows {
    sql::rows(connection, "SELECT * FROM t WHERE id < 1000").unwrap()
}

fn is_control(sql: &str) -> bool {
    sql.starts_with("BEGIN") || sql == "COMMIT" || sql == "ROLLBACK"
}

fn is_read(sql: &str) -> bool {
    sql.starts_with("SELECT")
}

/// All orders of a few numbers.
fn orders(numbers: &[u32]) -> Vec<Vec<u32>> {
    if numbers.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (place, first) in numbers.iter().enumerate() {
        let rest: Vec<u32> = [&numbers[..place], &numbers[place + 1..]].concat();
        for mut order in orders(&rest) {
            order.insert(0, *first);
            all.push(order);
        }
    }
    all
}

//! The short scripted workload of the simulated disk, and the content that each prefix of it leaves.

use super::disk::{self, SimulatedDisk};
use super::sql::{self, Rows};
use inlay::{Connection, Database};
use std::sync::Arc;

/// One step: a transaction, or work that changes no content.
pub type Step = &'static [&'static str];

/// The steps before the database is closed, and those after it is opened again.
pub const SESSIONS: [&[Step]; 2] = [
    &[
        &["CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR, price DECIMAL(10, 2), made DATE)"],
        &["INSERT INTO item SELECT range, 'item ' || CAST(range AS VARCHAR), range / 4, DATE '2026-01-01' \
           FROM range(0, 40)"],
        &["CREATE INDEX item_name ON item (name)"],
        &[
            "BEGIN",
            "CREATE TABLE log (at INTEGER, text VARCHAR)",
            "INSERT INTO item VALUES (100, NULL, 1.5, NULL)",
            "INSERT INTO log VALUES (1, 'item 100')",
            "COMMIT",
        ],
        &["CREATE INDEX item_upper ON item (upper(name)) WHERE price < 9"],
        &["CHECKPOINT"],
        &["UPDATE item SET price = price + 1 WHERE id < 20"],
        &["DELETE FROM item WHERE id BETWEEN 5 AND 9"],
        &[
            "BEGIN",
            "INSERT INTO item VALUES (5, 'five', 5, NULL), (6, 'six', 6, NULL)",
            "INSERT INTO item VALUES (5, 'five again', 55, NULL) ON CONFLICT (id) DO UPDATE SET name = excluded.name",
            "INSERT INTO log VALUES (2, 'five and six')",
            "COMMIT",
        ],
        &["CREATE TABLE big (n BIGINT, word VARCHAR, pair STRUCT(n BIGINT, w VARCHAR))"],
        &[
            "INSERT INTO big SELECT range, 'w' || CAST(range % 7 AS VARCHAR), {'n': range, 'w': CAST(range % 5 AS VARCHAR)} \
           FROM range(0, 140000)",
        ],
        &["INSERT INTO log VALUES (3, 'bulk')"],
        &["CHECKPOINT"],
        &["UPDATE big SET n = n + 1, pair = {'n': n, 'w': NULL} WHERE n < 1000"],
        &["UPDATE big SET n = n + 7, word = 'x' || word WHERE n % 3 = 0"],
        &["DELETE FROM big WHERE n >= 100000"],
        &["BEGIN", "UPDATE big SET n = n + 1", "UPDATE big SET n = n - 2 WHERE word > 'w3'", "COMMIT"],
        &["ALTER TABLE item ADD COLUMN note VARCHAR DEFAULT 'none'"],
        &["BEGIN", "INSERT INTO log VALUES (-1, 'never')", "DROP TABLE item", "ROLLBACK"],
        &["CREATE VIEW cheap AS SELECT id, note FROM item WHERE price < 5"],
        &["CHECKPOINT"],
        &["INSERT INTO log VALUES (4, 'before closing')"],
    ],
    &[
        &["DROP INDEX item_name"],
        &["DROP INDEX item_upper"],
        &["CREATE UNIQUE INDEX item_made ON item (id, made)"],
        &["ALTER TABLE log ALTER at TYPE BIGINT"],
        &["ALTER TABLE item DROP COLUMN note, ADD COLUMN note VARCHAR DEFAULT 'later'"],
        &[
            "BEGIN",
            "INSERT INTO log VALUES (5, 'kept')",
            "SAVEPOINT here",
            "DELETE FROM log",
            "ROLLBACK TO SAVEPOINT here",
            "COMMIT",
        ],
        &["INSERT INTO log VALUES (6, 'a')"],
        &["INSERT INTO log VALUES (7, 'b')"],
        &["INSERT INTO log VALUES (8, 'c')"],
        &["CREATE TABLE copy AS SELECT * FROM item WHERE id > 10"],
        &["DROP TABLE big"],
        &["VACUUM"],
        &["UPDATE item SET note = name"],
        &["CHECKPOINT"],
        &["DELETE FROM copy"],
    ],
];

const QUERIES: &[&str] = &[
    "SELECT * FROM item",
    "SELECT id FROM item WHERE id = 5",
    "SELECT id, price FROM item WHERE name = 'item 30'",
    "SELECT * FROM log",
    "SELECT count(*), sum(n), min(n), max(n), min(word), max(word), sum(pair.n), count(pair.w) FROM big",
    "SELECT * FROM cheap",
    "SELECT * FROM copy",
];

/// What the queries answer; a table that is not there is a content as well.
pub type Content = Vec<Rows>;

/// Everything that the database holds.
pub fn content(connection: &Connection) -> inlay::Result<Content> {
    content_of(connection, QUERIES)
}

/// What some queries answer.
pub fn content_of(connection: &Connection, queries: &[&str]) -> inlay::Result<Content> {
    let answer = |query: &&str| match sql::rows(connection, query) {
        Err(error) if error.sqlstate() == "42P01" => Ok(vec![vec!["absent".to_string()]]),
        other => other,
    };
    queries.iter().map(answer).collect()
}

/// How far a run came.
#[derive(Debug, Default)]
pub struct Progress {
    /// Steps that were acknowledged, all sessions together.
    pub acknowledged: usize,
    /// Steps that were begun.
    pub begun: usize,
    /// Why it ended early.
    pub error: Option<inlay::Error>,
    /// The database, if it ended early and is still open.
    pub open: Option<Database>,
}

/// Runs one step.
pub fn run_step(connection: &Connection, step: Step) -> inlay::Result<()> {
    for statement in step {
        if let Err(error) = connection.execute(statement) {
            if connection.in_transaction() {
                // It has failed already; what matters is that nothing of it stays.
                let _ = connection.execute("ROLLBACK");
            }
            return Err(error);
        }
    }
    Ok(())
}

/// Runs the sessions until the end or the first error. `after` sees the database after each step.
pub fn run(disk: &Arc<SimulatedDisk>, mut after: impl FnMut(&Connection)) -> Progress {
    let mut progress = Progress::default();
    for session in SESSIONS {
        let database = match disk::open(disk, &[]) {
            Ok(database) => database,
            Err(error) => return Progress { error: Some(error), ..progress },
        };
        let connection = database.connect();
        for step in session {
            progress.begun += 1;
            if let Err(error) = run_step(&connection, step) {
                return Progress { error: Some(error), open: Some(database), ..progress };
            }
            progress.acknowledged += 1;
            after(&connection);
        }
    }
    progress
}

/// The content that each number of acknowledged steps leaves, and the number of calls that all of them make.
pub fn clean_run() -> (Vec<Content>, usize) {
    let disk = disk::empty(1);
    let mut contents = vec![vec![vec![vec!["absent".to_string()]]; QUERIES.len()]];
    let progress = run(&disk, |connection| contents.push(content(connection).unwrap()));
    assert!(progress.error.is_none(), "without any fault: {:?}", progress.error);
    // Reading the contents made calls as well: what counts is a run without.
    let disk = disk::empty(1);
    assert!(run(&disk, |_| ()).error.is_none());
    (contents, disk.calls())
}

/// The step after whose number the content is found, of those in `range`.
pub fn matching(
    contents: &[Content],
    range: std::ops::RangeInclusive<usize>,
    found: &Content,
) -> Option<usize> {
    range.into_iter().find(|step| contents.get(*step) == Some(found))
}

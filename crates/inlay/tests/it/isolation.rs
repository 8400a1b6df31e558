//! Isolation: transactions at the default level behave as if they had run one after the other.
//!
//! Hermitage's ten anomalies by interleaved scripts, invariants of money transfers and of write skew under eight threads,
//! and recorded histories whose dependencies have no cycle. `INLAY_ISOLATION_SECONDS` sets how long each stress runs
//! (60 in `make crash`); what ran is printed.

use crate::support::folder::Folder;
use crate::support::hermitage::{self, Access};
use crate::support::history::{self, Anomaly, Operation, Transaction};
use crate::support::{report, stress};
use inlay::Database;
use std::collections::{BTreeMap, HashMap};

#[test]
fn the_ten_anomalies_are_prevented() {
    let mut occurred: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut scripts, mut refused) = (0, 0);
    for script in hermitage::scripts() {
        for access in Access::ALL {
            let observed = script.run(access, true);
            scripts += 1;
            refused += observed.refused.len() as u64;
            assert!(!observed.committed.is_empty(), "{} ({access:?}): nobody gets on", script.title);
            let found = occurred.entry(script.anomaly.clone()).or_default();
            if !observed.is_serial(&script, access) {
                found.push(format!("{} ({access:?}): {observed:?}", script.title));
            }
        }
    }
    for (anomaly, places) in &occurred {
        println!("{anomaly:9} {}", if places.is_empty() { "prevented" } else { "OCCURRED" });
        places.iter().for_each(|place| println!("          {place}"));
    }
    let prevented = occurred.values().filter(|places| places.is_empty()).count() as u64;
    report(
        "hermitage",
        &[
            ("prevented", prevented),
            ("anomalies", occurred.len() as u64),
            ("scripts", scripts),
            ("refused", refused),
        ],
    );
    assert_eq!((prevented, occurred.len()), (10, 10));
}

/// The scripts would show the anomalies if they were there: statements that are transactions of their own have them all.
#[test]
fn without_transactions_the_scripts_show_every_anomaly() {
    for script in hermitage::scripts().iter().filter(|script| script.shows_without_begin) {
        let observed = script.run(Access::Plain, false);
        assert!(
            !observed.is_serial(script, Access::Plain),
            "{}: {}: {observed:?}",
            script.anomaly,
            script.title
        );
    }
}

#[test]
fn transfers_keep_the_sum() {
    for (name, database, _folder) in databases("transfers") {
        let figures = stress::transfers(&database);
        report(&format!("bank transfer ({name})"), &figures.list());
        assert_eq!(figures.violations, 0, "{}", figures.first_violation);
        assert!(figures.commits > 0 && figures.reads > 0);
    }
}

#[test]
fn write_skew_breaks_no_invariant() {
    for (name, database, _folder) in databases("skew") {
        let figures = stress::write_skew(&database);
        report(&format!("write skew ({name})"), &figures.list());
        assert_eq!(figures.violations, 0, "{}", figures.first_violation);
        assert!(figures.commits > 0 && figures.reads > 0);
    }
}

#[test]
fn recorded_histories_have_no_cycle() {
    for (name, database, _folder) in databases("history") {
        let (transactions, registers, conflicts) = stress::record(&database);
        let found = history::check(&transactions, &registers)
            .unwrap_or_else(|anomaly| panic!("{name}: {}", explained(&anomaly, &transactions)));
        report(
            &format!("history ({name})"),
            &[
                ("transactions", transactions.len() as u64),
                ("conflicts", conflicts),
                ("ww", found.ww),
                ("wr", found.wr),
                ("rw", found.rw),
                ("cycles", 0),
            ],
        );
    }
}

#[test]
fn the_checker_finds_cycles_and_impossible_reads() {
    let one = |session, operations: &[Operation]| Transaction { session, operations: operations.to_vec() };
    let finals = HashMap::from([(1, vec![10]), (2, vec![20])]);
    let skew = [
        one(1, &[Operation::Read(1, vec![]), Operation::Append(2, 20)]),
        one(2, &[Operation::Read(2, vec![]), Operation::Append(1, 10)]),
    ];
    assert!(matches!(history::check(&skew, &finals), Err(Anomaly::Cycle(_))));
    let serial = [skew[0].clone(), one(2, &[Operation::Read(2, vec![20]), Operation::Append(1, 10)])];
    assert!(history::check(&serial, &finals).is_ok());

    let phantom = [
        one(1, &[Operation::ReadBag(7, vec![]), Operation::Add(7, 1)]),
        one(2, &[Operation::ReadBag(7, vec![]), Operation::Add(7, 2)]),
    ];
    assert!(matches!(history::check(&phantom, &HashMap::new()), Err(Anomaly::Cycle(_))));

    let lost = [one(1, &[Operation::Append(1, 10)]), one(2, &[Operation::Append(1, 11)])];
    let finals = HashMap::from([(1, vec![11])]);
    assert!(matches!(history::check(&lost, &finals), Err(Anomaly::Read(_))));
    let aborted = [one(1, &[Operation::Read(1, vec![99])])];
    assert!(matches!(history::check(&aborted, &HashMap::new()), Err(Anomaly::Read(_))));

    // A later transaction of a session that does not see an earlier one's write.
    let stale = [one(1, &[Operation::Append(1, 10)]), one(1, &[Operation::Read(1, vec![])])];
    assert!(matches!(history::check(&stale, &HashMap::from([(1, vec![10])])), Err(Anomaly::Cycle(_))));
}

/// A database in memory and one in a file.
fn databases(name: &str) -> Vec<(&'static str, Database, Option<Folder>)> {
    let folder = Folder::new(name);
    let file = Database::open(&folder.file("isolation.inlay"), &[]);
    let mut databases = vec![("memory", Database::open_in_memory().unwrap(), None)];
    databases.push(("file", file.unwrap(), Some(folder)));
    databases
}

fn explained(anomaly: &Anomaly, transactions: &[Transaction]) -> String {
    match anomaly {
        Anomaly::Read(text) => text.clone(),
        Anomaly::Cycle(places) => {
            let shown = places.iter().take(8).map(|place| {
                let text = format!("{place}: {:?}", transactions[*place]);
                text.chars().take(2000).collect::<String>()
            });
            format!("a cycle of {} transactions\n{}", places.len(), shown.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// What was read of a table while it had other columns is compared with nothing that others wrote: it is a conflict.
#[test]
fn reads_of_an_altered_table_end_in_a_conflict_and_no_defect() {
    let alterations = [
        ("DROP COLUMN a", "c = 7"),
        ("ADD COLUMN d INTEGER DEFAULT 4", "d = 4"),
        ("ALTER c TYPE VARCHAR", "c = 'seven'"),
        ("DROP COLUMN b, ADD COLUMN b INTEGER[]", "b = [1]"),
        ("RENAME a TO z", "z = 1"),
    ];
    for (alteration, condition) in alterations {
        for is_undone in [false, true] {
            let database = Database::open_in_memory().unwrap();
            let (one, other) = (database.connect(), database.connect());
            other
                .execute(
                    "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c INTEGER); CREATE TABLE log (x INTEGER); \
                     INSERT INTO t VALUES (1, 2, 3)",
                )
                .unwrap();
            one.execute("BEGIN; SAVEPOINT here").unwrap();
            one.execute(&format!("ALTER TABLE t {alteration}")).unwrap();
            one.execute(&format!("SELECT count(*) FROM t WHERE {condition}")).unwrap();
            if is_undone {
                one.execute("ROLLBACK TO SAVEPOINT here").unwrap();
            }
            one.execute("INSERT INTO log VALUES (1)").unwrap();
            other.execute("INSERT INTO t VALUES (5, 6, 7)").unwrap();
            let outcome = one.execute("COMMIT").map(|_| ()).unwrap_err();
            assert_eq!(outcome.sqlstate(), "40001", "{alteration}, undone: {is_undone}: {outcome}");
        }
    }
}

/// A name is taken once, however many connections attach a database under it at the same moment.
#[test]
fn a_database_is_attached_once() {
    let folder = Folder::new("attached_once");
    let file = folder.file("other.db");
    let database = Database::open_in_memory().unwrap();
    for _ in 0..20 {
        let attach = || database.connect().execute(&format!("ATTACH '{file}' AS other")).is_ok();
        let done = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(attach)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|done| *done).count()
        });
        assert_eq!(done, 1);
        database.connect().execute("DETACH other").unwrap();
    }
}

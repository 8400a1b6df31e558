//! One file, one database: whatever name leads to it, and whatever becomes of its names while it is open.
//!
//! The table of cases in docs/reliability.md says what each test shows. Processes that commit and are then killed leave
//! everything they acknowledged in the log; what is found by another name afterwards has to be all of it, or the name is
//! refused with a reason.

use crate::support::folder::{self, Folder, wal_of};
use crate::support::random::Random;
use crate::support::{amount, report, seed, sql};
use inlay::Database;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const READ_ONLY: &[(&str, &str)] = &[("access_mode", "read_only")];
const COUNT: &str = "SELECT count(*) FROM t";

/// A process with a database open, that does what it is told until it is killed or closes it.
struct Process {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start() -> Self {
        Self::of(folder::start("identity::named_process", "named"))
    }

    fn of(mut child: Child) -> Self {
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, lines: BufReader::new(output).lines() }
    }

    /// One that has opened `path` for writing.
    fn opened(path: &str) -> Self {
        Self::trying(path).unwrap()
    }

    /// The same, or why it could not.
    fn trying(path: &str) -> Result<Self, String> {
        let mut process = Self::start();
        process.ask(&format!("open {path}"))?;
        Ok(process)
    }

    /// What it answers: rows, or SQLSTATE and message.
    fn ask(&mut self, what: &str) -> Result<String, String> {
        writeln!(self.input, "{what}").unwrap();
        loop {
            let line = self.lines.next().expect("the process has ended").unwrap();
            let Some(told) = folder::told(&line) else { continue };
            match told.split_once(' ').unwrap_or((told, "")) {
                ("ok", answer) => return Ok(answer.to_string()),
                ("error", message) => return Err(message.to_string()),
                _ => {}
            }
        }
    }

    fn insert(&mut self, value: u64) -> Result<String, String> {
        self.ask(&format!("INSERT INTO t VALUES ({value})"))
    }

    /// The end that a database promises to survive.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes the database and ends.
    fn close(mut self) {
        self.ask("close").unwrap();
        drop(self.input);
        self.child.wait().unwrap();
    }
}

/// Opens databases, changes its folder and runs statements, as lines tell it.
#[test]
fn named_process() {
    if folder::role().is_none() {
        return;
    }
    let mut database: Option<Database> = None;
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let outcome = match line.split_once(' ') {
            Some((how @ ("open" | "read"), path)) => {
                database = None;
                let config = if how == "read" { READ_ONLY } else { &[] };
                sql::open(path, config).map(|opened| {
                    database = Some(opened);
                    String::new()
                })
            }
            Some(("cd", path)) => {
                std::env::set_current_dir(path).unwrap();
                Ok(String::new())
            }
            None if line == "close" => {
                database = None;
                Ok(String::new())
            }
            _ => sql::rows(&database.as_ref().unwrap().connect(), &line).map(|rows| format!("{rows:?}")),
        };
        match outcome {
            Ok(answer) => folder::tell(&format!("ok {answer}")),
            Err(error) => {
                folder::tell(&format!("error {} {}", error.sqlstate(), error.to_string().replace('\n', " ")));
            }
        }
    }
}

/// A closed database with the table `t` and no rows.
fn made(path: &str) {
    let database = sql::open(path, &[]).unwrap();
    database.connect().execute("CREATE TABLE t (a BIGINT)").unwrap();
}

/// A process that opens `path` inserts these numbers, each acknowledged, and is killed.
fn inserted_and_killed(path: &str, values: std::ops::Range<u64>) {
    let mut process = Process::opened(path);
    for value in values {
        process.insert(value).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    process.kill();
}

/// How many rows the database has by this name; it is whole and closed afterwards.
fn count(path: &str) -> i64 {
    let database = sql::open(path, &[]).unwrap_or_else(|error| panic!("{path}: {error}"));
    let connection = database.connect();
    sql::verify(&connection).unwrap();
    sql::number(&connection, COUNT).unwrap()
}

/// The refusal to open a name, either way, which leaves the files as they are.
fn refused(path: &str, state: &str) -> String {
    let files = [path.to_string(), wal_of(path)];
    let before = files.each_ref().map(|file| fs::read(file).ok());
    let errors = [sql::open(path, READ_ONLY), sql::open(path, &[])].map(|opened| opened.unwrap_err());
    assert_eq!(errors[1].sqlstate(), state, "{}", errors[1]);
    assert_eq!(files.each_ref().map(|file| fs::read(file).ok()), before);
    errors[1].to_string()
}

fn names_both(message: &str, one: &str, other: &str) {
    assert!(message.contains(one) && message.contains(other), "{message}");
}

#[test]
fn a_database_is_one_by_whatever_links_and_dots_lead_to_it() {
    let folder = Folder::new("links");
    for sub in ["data", "data/deep", "links"] {
        fs::create_dir(folder.file(sub)).unwrap();
    }
    symlink(folder.file("data/x.db"), folder.file("links/file.db")).unwrap();
    symlink("../data/x.db", folder.file("links/relative.db")).unwrap();
    symlink(folder.file("links/file.db"), folder.file("links/chain.db")).unwrap();
    symlink("chain.db", folder.file("links/longer.db")).unwrap();
    symlink(folder.file("data"), folder.file("folder")).unwrap();
    symlink(folder.file("data/deep"), folder.file("deep")).unwrap();
    let real = folder.file("data/x.db");
    let names = [
        "links/file.db",
        "links/relative.db",
        "links/chain.db",
        "links/longer.db",
        "folder/x.db",
        "data/./x.db",
        "data/deep/../x.db",
        // `..` is that of the folder that the link leads to.
        "deep/../x.db",
        "links/../folder/deep/../x.db",
    ];
    // The first name is a link that leads nowhere, and makes the file that it leads to.
    made(&folder.file(names[0]));
    let mut rows = 0;
    for name in names {
        let name = folder.file(name);
        inserted_and_killed(&name, 0..2);
        assert_eq!(count(&real), rows + 2, "{name}");
        inserted_and_killed(&real, 0..1);
        assert_eq!(count(&name), rows + 3, "{name}");
        rows += 3;
        // A killed reader in between, and a checkpoint by one name while the log is found by the other.
        let mut process = Process::opened(&name);
        process.insert(7).unwrap();
        process.ask("CHECKPOINT").unwrap();
        process.insert(8).unwrap();
        let reader = sql::open(&real, READ_ONLY).unwrap();
        assert_eq!(sql::number(&reader.connect(), COUNT).unwrap(), rows + 2);
        drop(reader);
        process.kill();
        rows += 2;
    }
    assert_eq!(count(&real), rows);
    let mut there: Vec<String> = fs::read_dir(folder.file("links"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort();
    assert_eq!(there, ["chain.db", "file.db", "longer.db", "relative.db"], "nothing lies beside the links");
}

#[test]
fn relative_names_mean_the_folder_that_was_current_when_they_were_opened() {
    let folder = Folder::new("relative");
    for sub in ["one", "two"] {
        fs::create_dir(folder.file(sub)).unwrap();
    }
    let mut process = Process::start();
    process.ask(&format!("cd {}", folder.file("one"))).unwrap();
    process.ask("open x.db").unwrap();
    process.ask("CREATE TABLE t (a BIGINT)").unwrap();
    process.ask(&format!("cd {}", folder.file("two"))).unwrap();
    process.insert(1).unwrap();
    process.ask("CHECKPOINT").unwrap();
    process.insert(2).unwrap();
    process.ask("CHECKPOINT").unwrap();
    process.insert(3).unwrap();
    process.kill();
    assert_eq!(fs::read_dir(folder.file("two")).unwrap().count(), 0);
    assert_eq!(count(&folder.file("two/../one/x.db")), 3);
}

#[test]
fn links_that_lead_in_a_circle_or_into_no_folder_are_refused() {
    let folder = Folder::new("circle");
    symlink("b.db", folder.file("a.db")).unwrap();
    symlink("a.db", folder.file("b.db")).unwrap();
    symlink("none/c.db", folder.file("c.db")).unwrap();
    for name in ["a.db", "c.db"] {
        let error = sql::open(&folder.file(name), &[]).unwrap_err();
        assert!(error.sqlstate().starts_with("58"), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

/// Each of two names in turn; after a kill the other one finds the log of the first.
#[test]
fn hard_links_are_one_database_with_one_log() {
    for (one, other) in [("a.db", "b.db"), ("left/a.db", "right/a.db")] {
        let folder = Folder::new("hard");
        fs::create_dir(folder.file("left")).unwrap();
        fs::create_dir(folder.file("right")).unwrap();
        let names = [folder.file(one), folder.file(other)];
        made(&names[0]);
        fs::hard_link(&names[0], &names[1]).unwrap();
        let mut rows = 0;
        for turn in 0..6 {
            let (this, that) = (&names[turn % 2], &names[(turn + 1) % 2]);
            inserted_and_killed(this, 0..3);
            rows += 3;
            if turn % 3 != 2 {
                // Without a checkpoint in between, by the other name.
                inserted_and_killed(that, 0..2);
                rows += 2;
            }
            let reader = sql::open(that, READ_ONLY).unwrap();
            assert_eq!(sql::number(&reader.connect(), COUNT).unwrap(), rows, "turn {turn}");
            drop(reader);
            assert_eq!(count(if turn < 3 { that } else { this }), rows, "turn {turn}");
        }
    }
}

/// The link is made after the kill, so nothing could be prepared; then the first name goes.
#[test]
fn a_hard_link_whose_first_name_is_gone_asks_for_the_log() {
    let folder = Folder::new("gone");
    let (first, second) = (folder.file("first.db"), folder.file("second.db"));
    made(&first);
    inserted_and_killed(&first, 0..3);
    fs::hard_link(&first, &second).unwrap();
    let copy = folder.file("along.db");
    fs::hard_link(&first, &copy).unwrap();
    assert_eq!(sql::number(&sql::open(&second, READ_ONLY).unwrap().connect(), COUNT).unwrap(), 3);
    fs::remove_file(&first).unwrap();
    names_both(&refused(&second, "XX001"), &second, &wal_of(&first));
    fs::rename(wal_of(&first), wal_of(&second)).unwrap();
    assert_eq!(count(&second), 3);
    assert_eq!(count(&copy), 3);
}

/// The log went along with one of the names while another stayed.
#[test]
fn a_log_that_was_moved_along_to_another_hard_link_is_found_there() {
    let folder = Folder::new("along");
    let (first, second) = (folder.file("first.db"), folder.file("second.db"));
    made(&first);
    fs::hard_link(&first, &second).unwrap();
    inserted_and_killed(&first, 0..3);
    fs::rename(wal_of(&first), wal_of(&second)).unwrap();
    assert_eq!(count(&second), 3);
    inserted_and_killed(&second, 0..1);
    assert_eq!(count(&first), 4);
}

#[test]
fn two_names_at_once_are_one_database_in_a_process_and_refused_in_two() {
    let folder = Folder::new("at-once");
    let path = folder.file("x.db");
    made(&path);
    symlink(&path, folder.file("link.db")).unwrap();
    fs::hard_link(&path, folder.file("hard.db")).unwrap();
    let others = [folder.file("link.db"), folder.file("hard.db"), folder.file("./x.db")];
    let first = sql::open(&path, &[]).unwrap();
    for (number, other) in others.iter().enumerate() {
        let second = sql::open(other, &[]).unwrap();
        second.connect().execute("INSERT INTO t VALUES (1)").unwrap();
        assert_eq!(sql::number(&first.connect(), COUNT).unwrap(), number as i64 + 1);
        let attached = first.connect();
        attached.execute(&format!("ATTACH '{other}' AS other")).unwrap();
        assert_eq!(sql::number(&attached, "SELECT count(*) FROM other.t").unwrap(), number as i64 + 1);
        attached.execute("DETACH other").unwrap();
    }
    for other in &others {
        let mut process = Process::start();
        let error = process.ask(&format!("open {other}")).unwrap_err();
        assert!(error.starts_with("55P03"), "{error}");
        process.ask(&format!("read {other}")).unwrap();
        assert_eq!(process.ask(COUNT).unwrap(), "[[\"3\"]]");
        // What is committed from now on is followed, whatever name the log has.
        first.connect().execute("INSERT INTO t VALUES (2)").unwrap();
        assert_eq!(process.ask(COUNT).unwrap(), "[[\"4\"]]");
        first.connect().execute("CHECKPOINT").unwrap();
        first.connect().execute("DELETE FROM t WHERE a = 2").unwrap();
        assert_eq!(process.ask(COUNT).unwrap(), "[[\"3\"]]");
        process.kill();
    }
}

/// What becomes of the name of an open file, and what it is called then.
const MOVES: &[&str] = &["moved", "replaced", "folder", "removed"];

#[test]
fn nothing_is_committed_while_the_name_of_the_file_is_gone_and_nothing_is_lost() {
    for how in MOVES {
        for ends in ["close", "kill", "comes back"] {
            let folder = Folder::new("moves");
            fs::create_dir(folder.file("in")).unwrap();
            let path = folder.file("in/x.db");
            made(&path);
            let mut process = Process::opened(&path);
            process.insert(1).unwrap();
            let by_now = match *how {
                "folder" => {
                    fs::rename(folder.file("in"), folder.file("out")).unwrap();
                    folder.file("out/x.db")
                }
                "removed" => {
                    fs::hard_link(&path, folder.file("in/kept.db")).unwrap();
                    fs::remove_file(&path).unwrap();
                    folder.file("in/kept.db")
                }
                _ => {
                    fs::rename(&path, folder.file("in/y.db")).unwrap();
                    folder.file("in/y.db")
                }
            };
            if *how == "replaced" {
                fs::write(&path, "another file").unwrap();
            }
            let error = process.insert(2).unwrap_err();
            assert!(error.starts_with("25006"), "{how}: {error}");
            assert!(error.contains("moved or removed") && error.contains("x.db"), "{how}: {error}");
            assert_eq!(process.ask(COUNT).unwrap(), "[[\"1\"]]", "{how}");
            match ends {
                "close" => {
                    process.close();
                    assert_eq!(count(&by_now), 1, "{how}");
                    if !["folder", "replaced"].contains(how) {
                        // The old name is free for another database.
                        made(&path);
                        assert_eq!((count(&path), count(&by_now)), (0, 1), "{how}");
                    }
                }
                "kill" => {
                    process.kill();
                    if *how != "folder" {
                        names_both(&refused(&by_now, "XX001"), &by_now, &wal_of(&path));
                        fs::rename(wal_of(&path), wal_of(&by_now)).unwrap();
                    }
                    assert_eq!(count(&by_now), 1, "{how}");
                }
                _ => {
                    if *how == "folder" {
                        fs::rename(folder.file("out"), folder.file("in")).unwrap();
                    } else {
                        fs::rename(&by_now, &path).unwrap();
                    }
                    process.insert(3).unwrap();
                    process.kill();
                    assert_eq!(count(&path), 2, "{how}");
                }
            }
        }
    }
}

/// Another process makes a database by the name of one that was moved away while it was open.
#[test]
fn a_new_file_under_the_name_of_an_open_one_keeps_its_own_log() {
    let folder = Folder::new("rotated");
    let (path, old) = (folder.file("data.db"), folder.file("data.old"));
    made(&path);
    let mut first = Process::opened(&path);
    first.insert(1).unwrap();
    fs::rename(&path, &old).unwrap();
    // Its log is still here, and in use.
    assert!(refused(&path, "55P03").contains("in use"));
    first.ask("CHECKPOINT").unwrap();
    assert!(!Path::new(&path).exists());
    // The same process, by the old name.
    let error = first.ask(&format!("open {path}")).map(|_| ());
    assert_eq!(error, Ok(()), "the first handle was closed before, and its log with it");
    first.ask("CREATE TABLE t (a BIGINT)").unwrap();
    first.kill();
    assert_eq!((count(&path), count(&old)), (0, 1));
}

#[test]
fn a_log_in_use_keeps_its_name() {
    let folder = Folder::new("in-use");
    let (path, old) = (folder.file("data.db"), folder.file("data.old"));
    made(&path);
    // Nothing is in its log yet, but it may be at any time.
    let mut first = Process::opened(&path);
    fs::rename(&path, &old).unwrap();
    let error = sql::open(&path, &[]).unwrap_err();
    assert_eq!(error.sqlstate(), "55P03", "{error}");
    assert!(!Path::new(&path).exists(), "no database is made beside it");
    fs::rename(&old, &path).unwrap();
    assert_eq!(first.ask(COUNT).unwrap(), "[[\"0\"]]");
    first.kill();
}

/// File and log are moved away together, as one would when nothing is open; then both names are taken by another.
#[test]
fn the_log_of_another_database_under_the_old_name_is_not_touched() {
    let folder = Folder::new("both");
    let (path, old) = (folder.file("data.db"), folder.file("data.old"));
    made(&path);
    for ends in ["close", "kill"] {
        let mut first = Process::opened(&path);
        first.insert(1).unwrap();
        fs::rename(&path, &old).unwrap();
        fs::rename(wal_of(&path), wal_of(&old)).unwrap();
        let mut second = Process::opened(&path);
        second.ask("CREATE TABLE t (a BIGINT)").unwrap();
        second.insert(1).unwrap();
        second.insert(2).unwrap();
        let error = first.insert(2).unwrap_err();
        assert!(error.starts_with("25006"), "{error}");
        first.ask("CHECKPOINT").unwrap();
        first.ask("VACUUM").unwrap();
        if ends == "close" {
            first.close()
        } else {
            first.kill()
        }
        second.insert(3).unwrap();
        second.kill();
        assert_eq!((count(&old), count(&path)), (1, 3), "{ends}");
        fs::remove_file(&path).unwrap();
        let _ = fs::remove_file(wal_of(&path));
        fs::rename(&old, &path).unwrap();
        let _ = fs::remove_file(wal_of(&old));
        sql::open(&path, &[]).unwrap().connect().execute("DELETE FROM t").unwrap();
    }
}

#[test]
fn a_log_that_loses_its_name_while_open_is_made_anew_by_a_checkpoint() {
    let folder = Folder::new("lost-log");
    let path = folder.file("x.db");
    made(&path);
    let mut process = Process::opened(&path);
    process.insert(1).unwrap();
    fs::rename(wal_of(&path), folder.file("away.wal")).unwrap();
    let error = process.insert(2).unwrap_err();
    assert!(error.starts_with("25006") && error.contains("CHECKPOINT"), "{error}");
    process.ask("CHECKPOINT").unwrap();
    process.insert(3).unwrap();
    process.kill();
    assert_eq!(count(&path), 2);
    // Also if there is nothing to be put into the file.
    let mut process = Process::opened(&path);
    fs::remove_file(wal_of(&path)).unwrap();
    process.insert(7).unwrap_err();
    process.ask("CHECKPOINT").unwrap();
    process.ask("DELETE FROM t WHERE a = 7").unwrap();
    process.kill();

    let mut process = Process::opened(&path);
    process.insert(4).unwrap();
    fs::rename(wal_of(&path), folder.file("away.wal")).unwrap();
    fs::write(wal_of(&path), "somebody's notes").unwrap();
    let error = process.insert(5).unwrap_err();
    assert!(error.starts_with("25006") && error.contains("replaced by another file"), "{error}");
    process.ask("CHECKPOINT").unwrap_err();
    process.close();
    assert_eq!(fs::read(wal_of(&path)).unwrap(), b"somebody's notes");
    fs::remove_file(wal_of(&path)).unwrap();
    assert_eq!(count(&path), 3);
}

#[test]
fn a_log_with_transactions_serves_no_other_database_and_is_not_replaced() {
    let folder = Folder::new("foreign");
    let (one, other, new) = (folder.file("one.db"), folder.file("other.db"), folder.file("new.db"));
    made(&one);
    made(&other);
    inserted_and_killed(&one, 0..3);
    for path in [&other, &new] {
        fs::copy(wal_of(&one), wal_of(path)).unwrap();
    }
    names_both(&refused(&other, "XX001"), &other, &wal_of(&other));
    names_both(&refused(&new, "22023"), &new, &wal_of(&new));
    assert!(!Path::new(&new).exists(), "no database is made beside it");
    fs::write(&new, "").unwrap();
    refused(&new, "22023");
    // The right log again: nothing was lost by the attempts.
    assert_eq!(count(&one), 3);
    // A log without transactions is nobody's.
    Process::opened(&one).kill();
    for path in [&other, &new] {
        fs::copy(wal_of(&one), wal_of(path)).unwrap();
    }
    made(&new);
    assert_eq!((count(&other), count(&new)), (0, 0));
}

/// Copies have the same id; each goes its own way.
#[test]
fn the_log_of_a_copy_that_went_another_way_is_refused() {
    let folder = Folder::new("copies");
    let (original, copy, third) =
        (folder.file("original.db"), folder.file("copy.db"), folder.file("third.db"));
    made(&original);
    fs::copy(&original, &copy).unwrap();
    inserted_and_killed(&original, 0..3);
    fs::copy(&copy, &third).unwrap();
    // A copy that stands where the log begins, and the log: that is what a backup of both is.
    fs::copy(wal_of(&original), wal_of(&third)).unwrap();
    assert_eq!(count(&third), 3);

    inserted_and_killed(&copy, 0..5);
    let own = fs::read(wal_of(&copy)).unwrap();
    fs::copy(wal_of(&original), wal_of(&copy)).unwrap();
    names_both(&refused(&copy, "XX001"), &copy, &wal_of(&copy));
    fs::write(wal_of(&copy), own).unwrap();
    assert_eq!(count(&copy), 5);
    // After a checkpoint, too.
    fs::copy(wal_of(&original), wal_of(&copy)).unwrap();
    refused(&copy, "XX001");
    assert_eq!(count(&original), 3);
}

#[test]
fn an_older_log_of_the_same_file_is_refused() {
    let folder = Folder::new("older-log");
    let path = folder.file("x.db");
    made(&path);
    inserted_and_killed(&path, 0..2);
    let old = fs::read(wal_of(&path)).unwrap();
    assert_eq!(count(&path), 2);
    inserted_and_killed(&path, 0..2);
    let new = fs::read(wal_of(&path)).unwrap();
    fs::write(wal_of(&path), old).unwrap();
    refused(&path, "XX001");
    fs::write(wal_of(&path), new).unwrap();
    assert_eq!(count(&path), 4);
}

#[test]
fn a_file_copied_while_open_needs_the_log_that_was_copied_with_it() {
    let folder = Folder::new("copied-open");
    let (path, copy) = (folder.file("x.db"), folder.file("copy.db"));
    made(&path);
    let mut process = Process::opened(&path);
    process.insert(1).unwrap();
    process.insert(2).unwrap();
    fs::copy(&path, &copy).unwrap();
    names_both(&refused(&copy, "XX001"), &copy, &wal_of(&path));
    folder::copy_database(&path, &copy);
    assert_eq!(count(&copy), 2);
    process.insert(3).unwrap();
    // Beside a log that went on, the copy is another way by now.
    fs::copy(wal_of(&path), wal_of(&copy)).unwrap();
    refused(&copy, "XX001");
    process.kill();
    assert_eq!(count(&path), 3);
}

#[test]
fn a_removed_log_with_transactions_is_missed_and_the_rest_can_be_saved() {
    let folder = Folder::new("missed");
    let (path, saved) = (folder.file("x.db"), folder.file("saved.db"));
    made(&path);
    // A file that was closed has no log.
    assert!(!Path::new(&wal_of(&path)).exists());
    // Without transactions in it, nobody misses one.
    Process::opened(&path).kill();
    fs::remove_file(wal_of(&path)).unwrap();
    assert_eq!(count(&path), 0);
    for synchronous in ["full", "normal", "off"] {
        let mut process = Process::opened(&path);
        process.ask(&format!("SET synchronous = '{synchronous}'")).unwrap();
        process.insert(1).unwrap();
        process.kill();
        let log = fs::read(wal_of(&path)).unwrap();
        fs::remove_file(wal_of(&path)).unwrap();
        let message = refused(&path, "XX001");
        names_both(&message, &path, "recover");
        let here = Database::open_in_memory().unwrap().connect();
        here.execute(&format!("CALL recover('{path}', '{saved}')")).unwrap();
        assert_eq!(count(&saved), 0);
        fs::remove_file(&saved).unwrap();
        let _ = fs::remove_file(wal_of(&saved));
        fs::write(wal_of(&path), log).unwrap();
        assert_eq!(count(&path), 1);
        sql::open(&path, &[]).unwrap().connect().execute("DELETE FROM t").unwrap();
    }
}

/// A mount of a file or folder at another place is a name like others.
#[test]
fn bind_mounts_are_one_database_where_mounting_is_allowed() {
    let folder = Folder::new("bind");
    let (path, seen) = (folder.file("data/x.db"), folder.file("seen.db"));
    for sub in ["data", "mounted"] {
        fs::create_dir(folder.file(sub)).unwrap();
    }
    made(&path);
    fs::write(&seen, "").unwrap();
    let (data, mounted) = (folder.file("data"), folder.file("mounted"));
    let script =
        format!("mount --bind '{data}' '{mounted}' && mount --bind '{path}' '{seen}' && exec \"$0\" \"$@\"");
    let started = |command: &mut Command| {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
    };
    let probe = started(Command::new("unshare").args(["-m", "sh", "-c", script.as_str(), "true"]));
    if !probe.is_ok_and(|mut child| child.wait().is_ok_and(|status| status.success())) {
        println!("skipped: no mounts may be made here");
        return;
    }
    let program = std::env::current_exe().unwrap();
    let mut rows = 0;
    for name in [folder.file("mounted/x.db"), seen] {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script.as_str()]).arg(&program);
        command.args(["--exact", "identity::named_process", "--nocapture", "--test-threads=1"]);
        let mut process = Process::of(started(command.env(folder::ROLE, "named")).unwrap());
        process.ask(&format!("open {name}")).unwrap();
        process.insert(1).unwrap();
        // Both names at once.
        assert_eq!(sql::open(&path, &[]).unwrap_err().sqlstate(), "55P03");
        process.ask(&format!("open {path}")).unwrap();
        process.insert(2).unwrap();
        process.kill();
        rows += 2;
        let outside = sql::open(&path, &[]).map(|database| sql::number(&database.connect(), COUNT));
        match outside {
            Ok(found) => assert_eq!(found.unwrap(), rows),
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

#[test]
fn files_that_say_nothing_of_their_log_open_as_before() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let rows = |connection: &inlay::Connection| sql::rows(connection, "SELECT * FROM word").unwrap();
    for (name, expected) in [
        ("v2.inlay", vec![["1", "'one'"], ["2", "NULL"]]),
        ("v2-log.inlay", vec![["2", "NULL"], ["3", "'three'"]]),
    ] {
        let folder = Folder::new("golden");
        let path = folder.file(name);
        folder::copy_database(golden.join(name).to_str().unwrap(), &path);
        let reader = sql::open(&path, READ_ONLY).unwrap();
        assert_eq!(rows(&reader.connect()), expected);
        drop(reader);
        for _ in 0..2 {
            let database = sql::open(&path, &[]).unwrap();
            assert_eq!(rows(&database.connect()), expected);
            sql::verify(&database.connect()).unwrap();
        }
        let mut process = Process::opened(&path);
        process.ask("INSERT INTO word VALUES (9, 'nine')").unwrap();
        process.kill();
        let database = sql::open(&path, &[]).unwrap();
        assert_eq!(rows(&database.connect()).len(), 3);
    }
}

#[test]
fn a_backup_goes_where_links_lead_and_replaces_nothing() {
    let folder = Folder::new("backup");
    fs::create_dir(folder.file("far")).unwrap();
    let path = folder.file("x.db");
    made(&path);
    symlink(folder.file("far/copy.db"), folder.file("copy.db")).unwrap();
    let database = sql::open(&path, &[]).unwrap();
    database.connect().execute("INSERT INTO t VALUES (1)").unwrap();
    database.backup(&folder.file("copy.db")).unwrap();
    assert!(fs::symlink_metadata(folder.file("copy.db")).unwrap().is_symlink());
    assert_eq!(database.backup(&folder.file("copy.db")).unwrap_err().sqlstate(), "22023");
    assert_eq!(count(&folder.file("far/copy.db")), 1);
}

/// Kills with links, moves and copies in between: whatever the name, every acknowledged row is there or the name is
/// refused. `INLAY_CRASH_NAMES` sets how many rounds.
#[test]
fn a_killed_process_loses_nothing_by_whatever_name_it_is_found() {
    let (rounds, seed) = (amount("INLAY_CRASH_NAMES", 25), seed());
    let mut random = Random::of(&[seed, 77]);
    let folder = Folder::new("names");
    for sub in ["a", "b"] {
        fs::create_dir(folder.file(sub)).unwrap();
    }
    let mut real = folder.file("a/x.db");
    made(&real);
    let (mut rows, mut refusals, mut number) = (0, 0, 0);
    for _ in 0..rounds {
        number += 1;
        let other = folder.file(&format!("{}/n{number}.db", ["a", "b"][random.below(2) as usize]));
        let name = match random.below(4) {
            0 => real.clone(),
            1 => {
                symlink(&real, &other).unwrap();
                other.clone()
            }
            2 => {
                fs::hard_link(&real, &other).unwrap();
                other.clone()
            }
            _ => folder.file(&format!("a/../{}", real.strip_prefix(&folder.file("")).unwrap())),
        };
        let mut process = match Process::trying(&name) {
            Ok(process) => process,
            // A further link to a file that was moved with its log: what leads to the log is the other name alone.
            Err(error)
                if name == other && error.starts_with("XX001") && Path::new(&wal_of(&real)).exists() =>
            {
                refusals += 1;
                Process::opened(&real)
            }
            Err(error) => panic!("{name}: {error}"),
        };
        for value in 0..random.below(6) {
            if random.once_in(4) {
                process.ask("CHECKPOINT").unwrap();
            }
            process.insert(value).unwrap();
            rows += 1;
        }
        // While it is open: moved away and back, or for good with a commit that is refused.
        let moved = folder.file(&format!("b/moved{number}.db"));
        let is_moved = random.once_in(3);
        if is_moved {
            fs::rename(&real, &moved).unwrap();
            // The process may have opened a hard link of it, which still leads there.
            match process.insert(0) {
                Ok(_) => rows += 1,
                Err(error) => {
                    assert!(error.starts_with("25006"), "{error}");
                    refusals += 1;
                }
            }
            fs::rename(&moved, &real).unwrap();
        }
        if random.once_in(2) {
            process.close()
        } else {
            process.kill()
        }
        // While it is closed: a copy with its log is as good, one without it is whole or refused.
        let copy = folder.file(&format!("b/copy{number}.db"));
        fs::copy(&real, &copy).unwrap();
        match sql::open(&copy, READ_ONLY) {
            Ok(database) => assert_eq!(sql::number(&database.connect(), COUNT).unwrap(), rows),
            Err(error) => {
                assert_eq!(error.sqlstate(), "XX001", "{error}");
                refusals += 1;
            }
        }
        if name != other && random.once_in(2) {
            // Moved with its log.
            fs::rename(&real, &moved).unwrap();
            let _ = fs::rename(wal_of(&real), wal_of(&moved));
            real = moved;
        }
        let reader = sql::open(&real, READ_ONLY).unwrap();
        assert_eq!(sql::number(&reader.connect(), COUNT).unwrap(), rows, "seed {seed}, round {number}");
        drop(reader);
        if random.once_in(2) {
            assert_eq!(count(&real), rows, "seed {seed}, round {number}");
        }
    }
    assert_eq!(count(&real), rows);
    report("names", &[("kills", rounds), ("acknowledged", rows as u64), ("refused", refusals), ("lost", 0)]);
}

//! What was tried to get around rights and held: names that take the place of functions, roles that were taken away or dropped.

use crate::support::folder::Folder;
use crate::support::sql;
use inlay::{Connection, Database};

fn made() -> (Database, Connection, Connection) {
    let database = Database::open_in_memory().unwrap();
    let owner = database.connect();
    owner
        .execute(
            "CREATE TABLE hidden (s VARCHAR); INSERT INTO hidden VALUES ('secret');
             CREATE TABLE shown (name VARCHAR); INSERT INTO shown VALUES ('bob');
             CREATE MACRO own(x) AS x || '!';
             CREATE VIEW upper_names AS SELECT upper(name) AS u FROM shown;
             CREATE VIEW own_names AS SELECT own(name) AS u FROM shown;
             CREATE TABLE checked (v VARCHAR, CHECK (own(v) <> 'a!'));
             CREATE USER ann PASSWORD 'x';
             GRANT SELECT ON upper_names, own_names TO ann;
             GRANT INSERT ON checked TO ann; GRANT CREATE ON SCHEMA main TO ann",
        )
        .unwrap();
    let ann = database.connect_as("ann").unwrap();
    (database, owner, ann)
}

fn state(connection: &Connection, sql: &str) -> String {
    connection.execute(sql).err().map_or_else(String::new, |error| error.sqlstate().to_string())
}

#[test]
fn macros_take_no_place_in_what_others_stored() {
    let (_database, owner, ann) = made();
    for name in ["upper(x)", "max(x)", "coalesce(x, y)", "lower(x)", "list_transform(x, y)"] {
        for kind in ["MACRO", "TEMP MACRO"] {
            let sql = format!("CREATE {kind} {name} AS (SELECT s FROM hidden)");
            assert_eq!(state(&ann, &sql), "42501", "{sql}");
        }
    }
    assert_eq!(state(&ann, "CREATE TEMP MACRO range(x) AS TABLE SELECT * FROM hidden"), "42501");
    ann.execute("CREATE TEMP MACRO own(x) AS (SELECT max(s) FROM hidden)").unwrap();
    assert_eq!(sql::rows(&ann, "SELECT * FROM own_names").unwrap(), [["'bob!'"]]);
    assert_eq!(sql::rows(&ann, "SELECT * FROM upper_names").unwrap(), [["'BOB'"]]);
    ann.execute("CREATE OR REPLACE TEMP MACRO own(x) AS 'fine'").unwrap();
    assert_eq!(state(&ann, "INSERT INTO checked VALUES ('a')"), "23514");
    // Who may everything makes what he likes.
    owner.execute("CREATE MACRO upper(x) AS 'mine'").unwrap();
    assert_eq!(sql::rows(&owner, "SELECT upper('a')").unwrap(), [["'mine'"]]);
}

#[test]
fn a_role_that_was_taken_away_is_gone_from_sessions_that_took_it() {
    let (database, owner, _) = made();
    owner.execute("CREATE ROLE lead SUPERUSER; CREATE USER eve PASSWORD 'x' IN ROLE lead").unwrap();
    let eve = database.connect_as("eve").unwrap();
    eve.execute("SET ROLE lead").unwrap();
    eve.execute("SELECT s FROM hidden").unwrap();
    owner.execute("REVOKE lead FROM eve").unwrap();
    for sql in
        ["SELECT s FROM hidden", "GRANT lead TO eve", "ALTER USER eve SUPERUSER", "CREATE USER mallory"]
    {
        assert_eq!(state(&eve, sql), "42501", "{sql}");
    }
}

#[test]
fn a_role_that_was_dropped_is_not_the_next_one_of_its_name() {
    let (database, owner, _) = made();
    owner.execute("CREATE USER tom PASSWORD 'x'").unwrap();
    let tom = database.connect_as("tom").unwrap();
    owner.execute("DROP USER tom; CREATE USER tom PASSWORD 'y' SUPERUSER").unwrap();
    for sql in ["SELECT s FROM hidden", "SET ROLE tom", "GRANT tom TO ann"] {
        assert_ne!(state(&tom, sql), "", "{sql}");
    }
    database.connect_as("tom").unwrap().execute("SELECT s FROM hidden").unwrap();
}

#[test]
fn a_role_is_nobody_in_another_file() {
    let folder = Folder::new("rights-held");
    let path = folder.file("other.inlay");
    let other = Database::open(&path, &[]).unwrap();
    let script =
        "CREATE TABLE closed (a INTEGER); CREATE TABLE open (a INTEGER); GRANT SELECT ON open TO PUBLIC;
                  CREATE USER ann PASSWORD 'y' SUPERUSER; GRANT SELECT ON closed TO ann";
    other.connect().execute(script).unwrap();
    drop(other);
    let (_database, owner, ann) = made();
    owner.execute(&format!("ATTACH '{}' AS other", path)).unwrap();
    ann.execute("SELECT * FROM other.main.open").unwrap();
    for sql in [
        "SELECT * FROM other.main.closed",
        "DROP TABLE other.main.open",
        "INSERT INTO other.main.open VALUES (1)",
    ] {
        assert_eq!(state(&ann, sql), "42501", "{sql}");
    }
}

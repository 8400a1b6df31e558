//! Users and rights: every kind of statement with each right that it needs, without it, and after it was taken away in an open session and
//! transaction; through views, macros, prepared statements and kept plans.

use crate::support::folder::Folder;
use crate::support::sql;
use inlay::{Connection, Database};

const SCRIPT: &str = "
    CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, secret VARCHAR);
    INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y');
    CREATE TABLE u (a INTEGER, n INTEGER);
    INSERT INTO u VALUES (1, 1);
    CREATE SEQUENCE s;
    CREATE SCHEMA other;
    CREATE TABLE other.o (a INTEGER);
    CREATE VIEW v AS SELECT a, secret FROM t;
    CREATE MACRO twice(x) AS (SELECT max(b) * x FROM t);
    CREATE MACRO rows_of(n) AS TABLE SELECT * FROM t WHERE a = n;
    CREATE USER ann PASSWORD 'secret';
    GRANT SELECT, INSERT, UPDATE, DELETE ON u TO ann;";

fn made() -> (Database, Connection, Connection) {
    let database = Database::open_in_memory().unwrap();
    let owner = database.connect();
    owner.execute(SCRIPT).unwrap();
    let ann = database.connect_as("ann").unwrap();
    (database, owner, ann)
}

fn state(connection: &Connection, sql: &str) -> String {
    connection.execute(sql).err().map_or_else(String::new, |error| error.sqlstate().to_string())
}

fn refused(connection: &Connection, sql: &str) {
    assert_eq!(state(connection, sql), "42501", "{sql}");
}

fn allowed(connection: &Connection, sql: &str) {
    if let Err(error) = connection.execute(sql) {
        panic!("{sql}: {error}");
    }
}

/// A statement, and what has to be granted for it to pass; each alone is not enough.
const NEEDED: &[(&str, &[&str])] = &[
    ("SELECT a FROM t", &["SELECT (a) ON t"]),
    ("SELECT * FROM t", &["SELECT (a, b) ON t", "SELECT (secret) ON t"]),
    ("SELECT t FROM t", &["SELECT (a, b) ON t", "SELECT (secret) ON t"]),
    ("SELECT count(*) FROM t", &["SELECT (b) ON t"]),
    ("SELECT COLUMNS('sec.*') FROM t", &["SELECT (secret) ON t"]),
    ("SELECT * LIKE 'sec%' FROM t", &["SELECT (secret) ON t"]),
    ("SELECT #3 FROM t", &["SELECT (secret) ON t"]),
    ("SELECT #2 FROM v", &["SELECT (secret) ON v"]),
    ("SELECT a FROM t WHERE secret = 'x'", &["SELECT (a) ON t", "SELECT (secret) ON t"]),
    ("SELECT 1 FROM t ORDER BY secret", &["SELECT (secret) ON t"]),
    ("SELECT count(*) FROM t GROUP BY secret", &["SELECT (secret) ON t"]),
    ("SELECT u.n FROM u JOIN t USING (a)", &["SELECT (a) ON t"]),
    ("SELECT n FROM u NATURAL JOIN (SELECT a FROM t)", &["SELECT (a) ON t"]),
    ("SELECT n FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.a = u.a)", &["SELECT (a) ON t"]),
    ("SELECT (SELECT max(secret) FROM t)", &["SELECT (secret) ON t"]),
    ("WITH c AS (SELECT secret FROM t) SELECT * FROM c", &["SELECT (secret) ON t"]),
    ("FROM t SELECT a UNION ALL SELECT n FROM u", &["SELECT (a) ON t"]),
    ("SUMMARIZE t", &["SELECT ON t"]),
    ("PIVOT t ON secret USING sum(b) GROUP BY a", &["SELECT ON t"]),
    ("EXPLAIN SELECT secret FROM t", &["SELECT (secret) ON t"]),
    ("EXPLAIN ANALYZE SELECT secret FROM t", &["SELECT (secret) ON t"]),
    ("EXPLAIN ANALYZE UPDATE t SET b = 3", &["UPDATE (b) ON t"]),
    ("SELECT a FROM v", &["SELECT ON v"]),
    ("SELECT a FROM v", &["SELECT (a) ON v"]),
    ("SELECT twice(2)", &["SELECT (b) ON t"]),
    ("SELECT a FROM rows_of(1)", &["SELECT ON t"]),
    ("SELECT * FROM query('SELECT secret FROM t')", &["SELECT (secret) ON t"]),
    ("SELECT * FROM query_table('t')", &["SELECT ON t"]),
    ("SELECT * FROM olap('t', ['secret'])", &["SELECT (secret) ON t"]),
    ("SELECT json FROM olap_json('t', agg := 'max', fact := 'secret')", &["SELECT (secret) ON t"]),
    ("SELECT * FROM histogram(t, b)", &["SELECT (b) ON t"]),
    ("INSERT INTO t VALUES (3, 30, 'z')", &["INSERT ON t"]),
    ("INSERT INTO t (a, b) VALUES (3, 30)", &["INSERT (a, b) ON t"]),
    ("INSERT INTO t BY NAME SELECT 3 AS a, 30 AS b", &["INSERT (a) ON t", "INSERT (b) ON t"]),
    ("INSERT INTO t (a) VALUES (3) RETURNING a", &["INSERT (a) ON t", "SELECT (a) ON t"]),
    ("INSERT INTO u SELECT a, b FROM t", &["SELECT (a, b) ON t"]),
    ("INSERT INTO t VALUES (1, 1, 'q') ON CONFLICT DO NOTHING", &["INSERT ON t"]),
    (
        "INSERT INTO t VALUES (1, 1, 'q') ON CONFLICT (a) DO UPDATE SET b = excluded.b",
        &["INSERT ON t", "UPDATE (b) ON t"],
    ),
    (
        "INSERT INTO t VALUES (1, 1, 'q') ON CONFLICT (a) DO UPDATE SET b = t.b + 1",
        &["INSERT ON t", "UPDATE (b) ON t", "SELECT (b) ON t"],
    ),
    ("INSERT OR REPLACE INTO t VALUES (1, 1, 'q')", &["INSERT ON t", "UPDATE (b, secret) ON t"]),
    ("UPDATE t SET b = 1", &["UPDATE (b) ON t"]),
    ("UPDATE t SET b = a", &["UPDATE (b) ON t", "SELECT (a) ON t"]),
    ("UPDATE t SET b = 1 WHERE secret = 'x'", &["UPDATE (b) ON t", "SELECT (secret) ON t"]),
    ("UPDATE t SET b = 1 RETURNING secret", &["UPDATE (b) ON t", "SELECT (secret) ON t"]),
    ("UPDATE u SET n = (SELECT max(b) FROM t)", &["SELECT (b) ON t"]),
    ("UPDATE u SET n = t.b FROM t WHERE t.a = u.a", &["SELECT (a, b) ON t"]),
    ("DELETE FROM t", &["DELETE ON t"]),
    ("DELETE FROM t WHERE secret = 'x'", &["DELETE ON t", "SELECT (secret) ON t"]),
    ("DELETE FROM u USING t WHERE u.a = t.a", &["SELECT (a) ON t"]),
    ("TRUNCATE t", &["TRUNCATE ON t"]),
    ("MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE", &["SELECT (a) ON t", "DELETE ON t"]),
    (
        "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE SET b = 1",
        &["SELECT (a) ON t", "UPDATE (b) ON t"],
    ),
    (
        "MERGE INTO t USING u ON t.a = u.a WHEN NOT MATCHED THEN INSERT (a) VALUES (9)",
        &["SELECT (a) ON t", "INSERT (a) ON t"],
    ),
    ("MERGE INTO u USING t ON t.a = u.a WHEN MATCHED THEN UPDATE SET n = t.b", &["SELECT (a, b) ON t"]),
    ("WITH d AS (DELETE FROM t RETURNING a) SELECT * FROM d", &["DELETE ON t", "SELECT (a) ON t"]),
    ("SELECT nextval('s')", &["USAGE ON SEQUENCE s"]),
    ("SELECT setval('s', 5)", &["UPDATE ON SEQUENCE s"]),
    ("SELECT a FROM other.o", &["USAGE ON SCHEMA other", "SELECT ON other.o"]),
    ("CREATE TABLE new (a INTEGER)", &["CREATE ON SCHEMA main"]),
    ("CREATE TABLE new AS SELECT secret FROM t", &["CREATE ON SCHEMA main", "SELECT (secret) ON t"]),
    ("CREATE TABLE new (a INTEGER REFERENCES t)", &["CREATE ON SCHEMA main", "REFERENCES (a) ON t"]),
    ("CREATE TABLE other.new (a INTEGER)", &["USAGE ON SCHEMA other", "CREATE ON SCHEMA other"]),
    ("CREATE VIEW new AS SELECT a FROM t", &["CREATE ON SCHEMA main", "SELECT (a) ON t"]),
    ("CREATE MATERIALIZED VIEW new AS SELECT a FROM t", &["CREATE ON SCHEMA main", "SELECT (a) ON t"]),
    ("CREATE SEQUENCE new", &["CREATE ON SCHEMA main"]),
    ("CREATE MACRO new(x) AS x", &["CREATE ON SCHEMA main"]),
    ("CREATE TYPE new AS ENUM ('a')", &["CREATE ON SCHEMA main"]),
    ("CREATE SCHEMA new", &["CREATE ON DATABASE memory"]),
];

/// GRANT of a right on what its text says, and its REVOKE.
fn grants(right: &str) -> (String, String) {
    let right =
        right.strip_suffix(" ON t").map_or_else(|| right.to_string(), |first| format!("{first} ON TABLE t"));
    // `SELECT (a, b)` is a privilege with columns; `UPDATE (b, secret)` likewise.
    (format!("GRANT {right} TO ann"), format!("REVOKE {right} FROM ann"))
}

#[test]
fn a_statement_passes_with_all_the_rights_that_it_needs_and_with_none_less() {
    for (statement, rights) in NEEDED {
        let (database, owner, ann) = made();
        let name = database.connect().execute("SELECT current_database()").unwrap().value(0, 0).unwrap();
        let right = |right: &str| {
            let (grant, revoke) = grants(right);
            (grant.replace("memory", &name.to_string()), revoke.replace("memory", &name.to_string()))
        };
        refused(&ann, statement);
        for missing in *rights {
            let others: Vec<&str> = rights.iter().copied().filter(|one| one != missing).collect();
            others.iter().for_each(|one| allowed(&owner, &right(one).0));
            refused(&ann, statement);
            others.iter().for_each(|one| allowed(&owner, &right(one).1));
        }
        rights.iter().for_each(|one| allowed(&owner, &right(one).0));
        ann.execute("BEGIN").unwrap();
        allowed(&ann, statement);
        ann.execute("ROLLBACK").unwrap();
        // What is taken away in an open session and transaction is gone from the next statement on.
        for taken in *rights {
            ann.execute("BEGIN").unwrap();
            allowed(&ann, "SELECT n FROM u");
            allowed(&owner, &right(taken).1);
            refused(&ann, statement);
            ann.execute("ROLLBACK").unwrap();
            allowed(&owner, &right(taken).0);
        }
        // And so it is by what is prepared and kept.
        let again = ["BEGIN", statement, "ROLLBACK"];
        for _ in 0..3 {
            again.iter().for_each(|sql| allowed(&ann, sql));
        }
        allowed(&owner, &right(rights[0]).1);
        refused(&ann, statement);
    }
}

/// What only an owner, or a superuser, may.
const REFUSED: &[&str] = &[
    "DROP TABLE t",
    "DROP VIEW v",
    "DROP SEQUENCE s",
    "DROP SCHEMA other CASCADE",
    "DROP MACRO twice",
    "ALTER TABLE t ADD COLUMN c INTEGER",
    "ALTER TABLE t RENAME TO w",
    "ALTER TABLE t OWNER TO ann",
    "ALTER VIEW v RENAME TO w",
    "ALTER SEQUENCE s RESTART WITH 3",
    "CREATE INDEX i ON t (b)",
    "COMMENT ON TABLE t IS 'mine'",
    "COMMENT ON COLUMN t.a IS 'mine'",
    "VACUUM t",
    "VACUUM",
    "CHECKPOINT",
    "FORCE CHECKPOINT",
    "SELECT * FROM force_checkpoint()",
    "PRAGMA verify",
    "ATTACH ':memory:' AS more",
    "EXPORT DATABASE '/nowhere'",
    "IMPORT DATABASE '/nowhere'",
    "CREATE SECRET x (TYPE s3)",
    "CALL recover('/a', '/b')",
    "CALL tpch_dbgen(sf := 0.01)",
    "CALL olap_load('x', '/etc/passwd')",
    "SET memory_limit = '1GB'",
    "SET threads = 1",
    "SET enable_external_access = false",
    "SET sandbox = true",
    "PRAGMA threads = 1",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd.csv'",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM parquet_metadata('/x.parquet')",
    "SELECT * FROM read_csv('https://example.org/x.csv')",
    "COPY u FROM '/etc/passwd'",
    "COPY u TO '/tmp/inlay_rights_never_written.csv'",
    "SET profiling_output = '/tmp/inlay_rights_never_written.json'",
    "PRAGMA profile_output = '/tmp/inlay_rights_never_written.json'",
    "COPY (SELECT 1) TO 'https://example.org/x.csv'",
    "SELECT * FROM inlay_secrets()",
    "SELECT * FROM pragma_storage_info('t')",
    "SELECT * FROM inlay_memory()",
    "CREATE ROLE mine",
    "CREATE USER mine SUPERUSER",
    "ALTER ROLE ann SUPERUSER",
    "ALTER ROLE ann CREATEROLE",
    "ALTER ROLE ann CONNECTION LIMIT 7",
    "DROP ROLE bob",
    "GRANT SELECT ON t TO ann",
    "GRANT SELECT ON t TO PUBLIC",
    "REVOKE SELECT ON u FROM ann",
    "GRANT pg_read_server_files TO ann",
    "GRANT bob TO ann",
    "SET ROLE bob",
    "SET ROLE inlay",
    "REASSIGN OWNED BY bob TO ann",
    "DROP OWNED BY bob",
    "CREATE TOKEN x FOR bob",
];

#[test]
fn what_belongs_to_others_and_what_is_outside_is_out_of_reach() {
    let (_database, owner, ann) = made();
    owner.execute("CREATE USER bob").unwrap();
    for statement in REFUSED {
        refused(&ann, statement);
    }
    for statement in [
        "ALTER USER ann PASSWORD 'another'",
        "SET timezone = 'UTC'",
        "SELECT current_user, session_user",
        "CREATE TEMP TABLE mine AS SELECT n FROM u",
        "SELECT * FROM mine",
        "INSERT INTO mine VALUES (1)",
        "SELECT * FROM range(3)",
        "SHOW TABLES",
        "DESCRIBE t",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM pg_catalog.pg_class",
        "PREPARE p AS SELECT n FROM u",
        "EXECUTE p",
        "SET VARIABLE x = 1",
        "USE main",
        "EXPLAIN SELECT n FROM u",
    ] {
        allowed(&ann, statement);
    }
}

#[test]
fn errors_name_who_what_and_how_and_have_their_place() {
    let (_database, owner, ann) = made();
    owner.execute("GRANT SELECT (a) ON t TO ann").unwrap();
    let error = ann.execute("SELECT a,\n       secret FROM t").unwrap_err();
    assert_eq!(error.message(), "user \"ann\" may not SELECT column \"secret\" of table \"t\"");
    assert_eq!(error.hint().as_deref(), Some("GRANT SELECT (secret) ON t TO ann"));
    let place = error.place().unwrap();
    assert_eq!((place.line, place.column), (2, 8));
    let error = ann.execute("DELETE FROM t").unwrap_err();
    assert_eq!(error.message(), "user \"ann\" may not DELETE table \"t\"");
    let error = ann.execute("SELECT 1 FROM read_csv('/etc/passwd')").unwrap_err();
    assert_eq!(error.hint().as_deref(), Some("GRANT pg_read_server_files TO ann"));
}

#[test]
fn a_view_reads_as_its_owner_and_ends_with_his_rights() {
    let (database, owner, ann) = made();
    owner
        .execute(
            "CREATE USER bob; GRANT CREATE ON SCHEMA main TO bob; GRANT SELECT (a) ON t TO bob;
             GRANT SELECT ON v TO ann",
        )
        .unwrap();
    let bob = database.connect_as("bob").unwrap();
    allowed(&ann, "SELECT secret FROM v");
    refused(&ann, "SELECT secret FROM t");
    allowed(&bob, "CREATE VIEW his AS SELECT a FROM t");
    refused(&ann, "SELECT a FROM his");
    allowed(&bob, "GRANT SELECT ON his TO ann");
    allowed(&ann, "SELECT a FROM his");
    allowed(&owner, "REVOKE SELECT (a) ON t FROM bob");
    refused(&ann, "SELECT a FROM his");
    refused(&bob, "SELECT a FROM his");
    allowed(&owner, "GRANT SELECT ON t TO bob");
    allowed(&bob, "CREATE MATERIALIZED VIEW held AS SELECT secret FROM t");
    allowed(&owner, "REVOKE SELECT ON t FROM bob");
    // Not even a superuser fills it with what its owner may not read.
    refused(&owner, "REFRESH MATERIALIZED VIEW held");
    allowed(&bob, "DROP VIEW his");
    refused(&ann, "DROP MATERIALIZED VIEW held");
}

#[test]
fn roles_are_in_roles_and_rights_are_handed_on() {
    let (database, owner, ann) = made();
    owner
        .execute(
            "CREATE ROLE sales; CREATE ROLE staff; CREATE USER bob; GRANT staff TO sales; GRANT sales TO ann;
             GRANT SELECT ON t TO staff",
        )
        .unwrap();
    let bob = database.connect_as("bob").unwrap();
    allowed(&ann, "SELECT * FROM t");
    refused(&bob, "SELECT * FROM t");
    assert_eq!(state(&owner, "GRANT ann TO staff"), "42P10");
    allowed(&owner, "REVOKE staff FROM sales");
    refused(&ann, "SELECT * FROM t");
    allowed(&owner, "GRANT SELECT ON t TO ann WITH GRANT OPTION");
    allowed(&ann, "GRANT SELECT ON t TO bob");
    refused(&ann, "GRANT INSERT ON t TO bob");
    allowed(&bob, "SELECT * FROM t");
    assert_eq!(state(&owner, "REVOKE SELECT ON t FROM ann"), "42P10");
    allowed(&bob, "SELECT * FROM t");
    allowed(&owner, "REVOKE SELECT ON t FROM ann CASCADE");
    refused(&bob, "SELECT * FROM t");
    allowed(&ann, "SET ROLE sales");
    assert_eq!(sql::rows(&ann, "SELECT current_user, session_user").unwrap(), [["'sales'", "'ann'"]]);
    allowed(&ann, "RESET ROLE");
    assert_eq!(sql::rows(&ann, "SELECT current_user").unwrap(), [["'ann'"]]);
    // A session is as who came, whatever its cursors are.
    refused(&ann.cursor().unwrap(), "SELECT * FROM t");
    assert_eq!(state(&owner, "DROP ROLE staff"), "42P10");
    allowed(&owner, "DROP OWNED BY staff; DROP ROLE staff");
    allowed(&owner, "GRANT SELECT ON ALL TABLES IN SCHEMA main TO sales");
    allowed(&ann, "SELECT * FROM t");
    allowed(&owner, "DROP OWNED BY sales; DROP ROLE sales");
    refused(&ann, "SELECT * FROM t");
}

#[test]
fn who_makes_a_thing_owns_it_and_may_give_it_away() {
    let (database, owner, ann) = made();
    owner.execute("GRANT CREATE ON SCHEMA main TO ann; CREATE USER bob").unwrap();
    let bob = database.connect_as("bob").unwrap();
    // In a transaction, before anybody else sees it.
    allowed(&ann, "BEGIN");
    allowed(&ann, "CREATE TABLE mine (a INTEGER GENERATED ALWAYS AS IDENTITY, b INTEGER)");
    allowed(&ann, "INSERT INTO mine (b) VALUES (1)");
    allowed(&ann, "CREATE INDEX i ON mine (b)");
    allowed(&ann, "COMMIT");
    allowed(&ann, "ALTER TABLE mine ADD COLUMN c INTEGER");
    refused(&bob, "SELECT * FROM mine");
    allowed(&ann, "GRANT SELECT (b) ON mine TO bob");
    allowed(&bob, "SELECT b FROM mine");
    allowed(&ann, "ALTER TABLE mine RENAME COLUMN b TO d");
    allowed(&bob, "SELECT d FROM mine");
    refused(&ann, "ALTER TABLE mine OWNER TO bob");
    allowed(&owner, "ALTER TABLE mine OWNER TO bob");
    allowed(&bob, "DROP TABLE mine");
    // IF NOT EXISTS makes nobody the owner of what was there.
    allowed(&ann, "CREATE TABLE IF NOT EXISTS t (a INTEGER)");
    refused(&ann, "SELECT * FROM t");
    refused(&ann, "CREATE OR REPLACE TABLE t (a INTEGER)");
    allowed(&owner, "ALTER TABLE t OWNER TO ann; REASSIGN OWNED BY ann TO bob");
    allowed(&bob, "SELECT * FROM t");
    assert_eq!(state(&owner, "DROP ROLE bob"), "42P10");
}

#[test]
fn files_and_code_are_opened_by_roles_of_their_own() {
    let folder = Folder::new("rights_files");
    let path = folder.file("x.csv");
    std::fs::write(&path, "a\n1\n").unwrap();
    let (_database, owner, ann) = made();
    let (read, write) = (format!("SELECT * FROM '{path}'"), format!("COPY u TO '{}'", folder.file("y.csv")));
    refused(&ann, &read);
    allowed(&owner, "GRANT pg_read_server_files TO ann");
    allowed(&ann, &read);
    refused(&ann, &write);
    allowed(&owner, "GRANT pg_write_server_files TO ann");
    allowed(&ann, &write);
    // A view of who may read files shows them to others.
    allowed(
        &owner,
        &format!("CREATE VIEW f AS {read}; GRANT SELECT ON f TO ann; REVOKE pg_read_server_files FROM ann"),
    );
    refused(&ann, &read);
    allowed(&ann, "SELECT * FROM f");
}

#[test]
fn roles_and_rights_are_in_the_file_and_in_its_scripts() {
    let folder = Folder::new("rights_stored");
    let path = folder.file("db.inlay");
    {
        let database = Database::open(&path, &[]).unwrap();
        let owner = database.connect();
        owner.execute(SCRIPT).unwrap();
        owner.execute("GRANT SELECT (a) ON t TO ann WITH GRANT OPTION; ALTER VIEW v OWNER TO ann; CREATE ROLE r; GRANT r TO ann").unwrap();
        owner.execute("REVOKE USAGE ON SCHEMA main FROM PUBLIC; GRANT USAGE ON SCHEMA main TO r").unwrap();
        assert_eq!(owner.execute("CREATE TOKEN laptop FOR ann").unwrap().row_count(), 1);
    }
    let all = "SELECT object_name, coalesce(column_name, ''), grantee, privilege_type, is_grantable FROM inlay_privileges()
               WHERE object_type <> 'database'";
    let database = Database::open(&path, &[]).unwrap();
    let owner = database.connect();
    let before = sql::rows(&owner, all).unwrap();
    allowed(&database.connect_as("ann").unwrap(), "SELECT a FROM t");
    assert!(database.login("ann").unwrap().unwrap().verifier.is_some());
    owner.execute("CHECKPOINT").unwrap();
    let export = folder.file("export");
    owner.execute(&format!("EXPORT DATABASE '{export}'")).unwrap();
    let schema = std::fs::read_to_string(folder.file("export/load.sql")).unwrap();
    assert!(!schema.contains("SCRAM") && schema.contains("GRANT \"r\" TO \"ann\""), "{schema}");
    let copy = Database::open_in_memory().unwrap();
    let other = copy.connect();
    other.execute(&format!("IMPORT DATABASE '{export}'")).unwrap();
    assert_eq!(sql::rows(&other, all).unwrap(), before);
    assert_eq!(copy.login("ann").unwrap().unwrap().verifier, None);
}

#[test]
fn logins_end_are_limited_and_go_by_tokens() {
    let (database, owner, ann) = made();
    let token = owner.execute("CREATE TOKEN laptop FOR ann").unwrap().value(0, 0).unwrap().to_string();
    let old = "CREATE TOKEN old FOR ann VALID UNTIL '2020-01-01'";
    let old = owner.execute(old).unwrap().value(0, 0).unwrap().to_string();
    assert_eq!(database.login_of_token(&token).unwrap().map(|login| login.role).as_deref(), Some("ann"));
    assert_eq!(database.login_of_token(&old).unwrap(), None);
    assert_eq!(database.login_of_token("inlay_").unwrap(), None);
    allowed(&ann, "DROP TOKEN laptop FOR ann");
    assert_eq!(database.login_of_token(&token).unwrap(), None);
    owner.execute("ALTER ROLE ann VALID UNTIL '2020-01-01' CONNECTION LIMIT 3").unwrap();
    let login = database.login("ANN").unwrap().unwrap();
    assert_eq!((login.verifier, login.connections), (None, Some(3)));
    owner.execute("ALTER ROLE ann VALID UNTIL 'infinity' NOLOGIN").unwrap();
    assert_eq!(database.login("ann").unwrap(), None);
    owner.execute("ALTER ROLE ann LOGIN; REVOKE CONNECT ON DATABASE memory FROM PUBLIC").unwrap_or_else(
        |_| {
            let name = owner.execute("SELECT current_database()").unwrap().value(0, 0).unwrap();
            owner
                .execute(&format!("ALTER ROLE ann LOGIN; REVOKE CONNECT ON DATABASE \"{name}\" FROM PUBLIC"))
                .unwrap()
        },
    );
    assert_eq!(database.login("ann").unwrap(), None);
}

#[test]
fn a_password_is_in_no_list_and_no_error() {
    let (database, owner, _ann) = made();
    let error = owner.execute("CREATE USER ann PASSWORD 'hunter2' IN ROLE nobody").unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
    owner.execute("ALTER USER ann PASSWORD 'hunter2'").unwrap();
    let shown: Vec<String> =
        database.sessions().into_iter().filter_map(|session| session.statement).collect();
    assert!(!shown.iter().any(|text| text.contains("hunter2")), "{shown:?}");
}

#[test]
fn two_sessions_that_grant_and_drop_at_once_leave_no_half() {
    let (database, owner, _) = made();
    std::thread::scope(|scope| {
        for number in 0..2 {
            let session = database.connect();
            scope.spawn(move || {
                for round in 0..50 {
                    let _ = session.execute(&format!("CREATE ROLE r{round}; GRANT SELECT ON t TO r{round}"));
                    if number == 1 {
                        let _ = session.execute(&format!("DROP OWNED BY r{round}; DROP ROLE r{round}"));
                    }
                }
            });
        }
    });
    let orphans = "SELECT count(*) FROM inlay_privileges() WHERE grantee LIKE 'r%' AND grantee NOT IN (SELECT role_name FROM inlay_roles())";
    assert_eq!(sql::number(&owner, orphans).unwrap(), 0);
}

#[test]
fn embedded_sessions_may_everything() {
    let (_database, owner, _) = made();
    for statement in ["SELECT * FROM t", "SET threads = 2", "CHECKPOINT", "DROP VIEW v"] {
        allowed(&owner, statement);
    }
    assert_eq!(sql::rows(&owner, "SELECT current_user, session_user").unwrap(), [["'inlay'", "'inlay'"]]);
    allowed(&owner, "SET ROLE ann");
    refused(&owner, "SELECT * FROM t");
    allowed(&owner, "RESET ROLE");
    allowed(&owner, "SELECT * FROM t");
}

#[test]
fn errors_show_no_values_to_whoever_may_not_read_them() {
    let (_database, owner, ann) = made();
    allowed(
        &owner,
        "CREATE TABLE c (a INTEGER, s VARCHAR DEFAULT 'topsecret', CHECK (a < 100 OR s <> 'topsecret'));
         CREATE TABLE k (a INTEGER, s VARCHAR DEFAULT 'topsecret', UNIQUE (a, s));
         CREATE TABLE p (a INTEGER, s VARCHAR, PRIMARY KEY (a, s));
         CREATE TABLE f (a INTEGER, s VARCHAR DEFAULT 'topsecret', FOREIGN KEY (a, s) REFERENCES p (a, s));
         CREATE TABLE d (a INTEGER, s VARCHAR DEFAULT 'topsecret',
             FOREIGN KEY (a, s) REFERENCES p (a, s) DEFERRABLE INITIALLY DEFERRED);
         INSERT INTO k (a) VALUES (5); INSERT INTO p VALUES (1, 'topsecret'); INSERT INTO f (a) VALUES (1);
         GRANT INSERT (a) ON c TO ann; GRANT INSERT (a) ON k TO ann; GRANT INSERT (a) ON f TO ann;
         GRANT INSERT (a) ON d TO ann; GRANT DELETE ON p TO ann",
    );
    let said = |connection: &Connection, sql: &str| {
        let error = connection.execute(sql).unwrap_err();
        // A transaction that could not be committed may be open or over.
        let _ = connection.execute("ROLLBACK");
        (error.sqlstate(), error.to_string())
    };
    for (statement, code, names) in [
        ("INSERT INTO c (a) VALUES (1000)", "23514", "(a, s)"),
        ("INSERT INTO k (a) VALUES (5)", "23505", "(a, s)"),
        ("INSERT INTO f (a) VALUES (9)", "23503", "(a, s)"),
        ("DELETE FROM p", "23503", "(a, s)"),
        ("BEGIN; INSERT INTO d (a) VALUES (9); COMMIT", "23503", "(a, s)"),
    ] {
        let (found, text) = said(&ann, statement);
        assert!(found == code && text.contains(names) && !text.contains("topsecret"), "{statement}: {text}");
        let (found, text) = said(&owner, statement);
        assert!(found == code && text.contains("topsecret"), "{statement}: {text}");
    }
    // A superuser who acts as somebody sees what that one does.
    allowed(&owner, "SET ROLE ann");
    assert!(!said(&owner, "INSERT INTO k (a) VALUES (5)").1.contains("topsecret"));
}

#[test]
fn what_a_program_reads_for_a_role_leaves_nothing_behind() {
    let (_database, _owner, ann) = made();
    assert_eq!(ann.query_unasked("SELECT secret FROM t", None).unwrap().row_count(), 2);
    assert!(ann.query_unasked("SELECT nothing FROM t", None).is_err());
    assert!(ann.query_unasked("DELETE FROM t", None).is_err());
    for _ in 0..3 {
        refused(&ann, "SELECT secret FROM t");
    }
}

#[test]
fn an_appender_describes_tables_and_reads_no_files() {
    let folder = Folder::new("rights_appender");
    let path = folder.file("x.csv");
    std::fs::write(&path, "a\n1\n").unwrap();
    let (_database, owner, ann) = made();
    let refusal = ann.appender([&*path], None).map(drop).unwrap_err();
    assert_eq!(refusal.sqlstate(), "42501", "{refusal}");
    allowed(&owner, "GRANT INSERT ON t TO ann");
    let mut appender = ann.appender(["t"], None).unwrap();
    appender.push_row(&[7.into(), 8.into(), "z".into()], None).unwrap();
    assert_eq!(appender.close(None).unwrap(), 1);
}

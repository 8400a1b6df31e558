//! PostgreSQL's protocol, message by message: what no driver sends, and what drivers hide.

use crate::support::{Postgres, field, options, row, server, summary, text};
use inlay_server::{Options, Server};
use std::io::Read;
use std::time::Duration;

#[test]
fn statements_are_answered() {
    let server = server();
    let mut client = Postgres::new(&server);
    assert_eq!(client.said("SELECT 1, NULL, 'é'"), "(1,NULL,é) SELECT 1 I");
    assert_eq!(client.said(""), "empty I");
    assert_eq!(
        client.said("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2); FROM t"),
        "CREATE TABLE INSERT 0 2 (1) (2) SELECT 2 I"
    );
    assert_eq!(client.said("INSERT INTO t VALUES (3) RETURNING a"), "(3) INSERT 0 1 I");
    assert_eq!(client.said("UPDATE t SET a = a + 1 WHERE a < 3"), "UPDATE 2 I");
    assert_eq!(client.said("SELECT count(*) FROM range(100000)"), "(100000) SELECT 1 I");
    assert_eq!(client.query("FROM range(100000)").len(), 100_003);
}

/// V10.
#[test]
fn errors_have_codes_and_places() {
    let server = server();
    let mut client = Postgres::new(&server);
    client.query("CREATE TABLE k (a INTEGER PRIMARY KEY); INSERT INTO k VALUES (1)");
    for (sql, code, place) in [
        ("SELECT 'éé', x FROM k", "42703", Some("14")),
        ("SELEC 1", "42601", Some("1")),
        ("FROM nothing", "42P01", Some("6")),
        ("SELECT 1 // (a - a) FROM k", "22012", None),
        ("INSERT INTO k VALUES (1)", "23505", None),
    ] {
        let messages = client.query(sql);
        let (_, body) = messages.iter().find(|(kind, _)| *kind == b'E').unwrap_or_else(|| panic!("{sql}"));
        assert_eq!(field(body, b'C').as_deref(), Some(code), "{sql}");
        assert!([b'S', b'V', b'M'].iter().all(|kind| field(body, *kind).is_some()));
        if let Some(place) = place {
            assert_eq!(field(body, b'P').as_deref(), Some(place), "{sql}");
        }
    }
    // In the second statement of a text, places are those of the text.
    let messages = client.query("SELECT 1; SELECT x");
    assert_eq!(
        field(&messages.iter().find(|(kind, _)| *kind == b'E').unwrap().1, b'P').as_deref(),
        Some("18")
    );
}

#[test]
fn a_transaction_that_failed_takes_nothing_but_its_end() {
    let server = server();
    let mut client = Postgres::new(&server);
    client.query("CREATE TABLE t (a INTEGER)");
    assert_eq!(client.said("BEGIN"), "BEGIN T");
    assert_eq!(client.said("INSERT INTO t VALUES (1)"), "INSERT 0 1 T");
    assert_eq!(client.said("SELECT x"), "!42703 E");
    assert_eq!(client.said("SELECT 1"), "!25P02 E");
    assert_eq!(client.said("COMMIT"), "ROLLBACK I");
    assert_eq!(client.said("SELECT count(*) FROM t"), "(0) SELECT 1 I");
    client.query("BEGIN");
    client.query("INSERT INTO t VALUES (1)");
    assert_eq!(client.said("SAVEPOINT s"), "SAVEPOINT T");
    assert_eq!(client.said("SELECT x"), "!42703 E");
    assert_eq!(client.said("ROLLBACK TO SAVEPOINT s"), "ROLLBACK T");
    assert_eq!(client.said("COMMIT"), "COMMIT I");
    assert_eq!(client.said("SELECT count(*) FROM t"), "(1) SELECT 1 I");
    // Several statements are one transaction.
    assert_eq!(client.said("INSERT INTO t VALUES (2); SELECT x"), "INSERT 0 1 !42703 I");
    assert_eq!(client.said("SELECT count(*) FROM t"), "(1) SELECT 1 I");
}

/// V7.
#[test]
fn encryption_is_asked_for_in_any_order() {
    let server = server();
    let mut client = Postgres::socket(&server);
    for code in [80_877_104i32, 80_877_103, 80_877_104] {
        client.raw(&[8i32.to_be_bytes(), code.to_be_bytes()].concat());
        let mut answer = [0];
        client.socket.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"N");
    }
    client.startup(&[("user", "tester"), ("database", "memory")]);
    assert_eq!(summary(&client.until_ready()), "I");
    let mut client = Postgres::socket(&server);
    client.startup(&[("user", "tester"), ("database", "nothing")]);
    let (_, body) = client.receive().unwrap();
    assert_eq!(
        (field(&body, b'S').as_deref(), field(&body, b'C').as_deref()),
        (Some("FATAL"), Some("3D000"))
    );
    assert!(client.receive().is_none());
}

/// V2.
#[test]
fn settings_of_drivers_are_taken() {
    let server = server();
    let given = [
        ("user", "tester"),
        ("database", "memory"),
        ("application_name", "app"),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO"),
        ("TimeZone", "Asia/Tokyo"),
        ("extra_float_digits", "0"),
        ("statement_timeout", "60000"),
        ("search_path", "main"),
        ("options", "-c nonsense=1"),
    ];
    let mut client = Postgres::socket(&server);
    client.startup(&given);
    let greeting = client.until_ready();
    let notes = summary(&greeting);
    assert!(
        notes.contains("note:nonsense = '1' was not set")
            && !notes.contains("note:extra")
            && !notes.contains("search_path"),
        "{notes}"
    );
    let status: Vec<String> =
        greeting.iter().filter(|(kind, _)| *kind == b'S').map(|(_, body)| text(body)).collect();
    for wanted in [
        "TimeZone\0Asia/Tokyo\0",
        "application_name\0app\0",
        "integer_datetimes\0on\0",
        "server_encoding\0UTF8\0",
    ] {
        assert!(status.iter().any(|status| status == wanted), "{wanted:?} {status:?}");
    }
    assert_eq!(client.said("SELECT 0.1::DOUBLE + 0.2"), "(0.3) SELECT 1 I");
    assert_eq!(
        client.said("SELECT TIMESTAMPTZ '2024-01-01 00:00:00Z'"),
        "(2024-01-01 09:00:00+09) SELECT 1 I"
    );
    let messages = client.query("SET TimeZone = 'UTC'");
    assert!(messages.iter().any(|(kind, body)| *kind == b'S' && body == b"TimeZone\0UTC\0"));
    for (name, value) in [
        ("TimeZone", "UTC"),
        ("application_name", "app"),
        ("extra_float_digits", "0"),
        ("server_version", "15.0"),
        ("transaction_isolation", "serializable"),
        ("standard_conforming_strings", "on"),
    ] {
        assert_eq!(client.said(&format!("SHOW {name}")), format!("({value}) SHOW I"), "{name}");
    }
    for sql in [
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "SET extra_float_digits = 3",
        "SET client_min_messages TO warning",
        "SET standard_conforming_strings = on",
        "SET search_path = main",
        "SET statement_timeout = 0",
        "RESET ALL",
        "DISCARD ALL",
        "UNLISTEN *",
        "SELECT current_schema, session_user, current_role, user, current_user, current_catalog",
    ] {
        let said = client.said(sql);
        assert!(!said.contains('!'), "{sql}: {said}");
    }
}

/// ODBC's driver gives names with capitals, and lets go of them by SQL.
#[test]
fn statements_of_the_protocol_are_let_go_by_sql() {
    let server = server();
    let mut client = Postgres::new(&server);
    for _ in 0..2 {
        client.send(b'P', b"Plan_A\0SELECT 1\0\0\0");
        client.send(b'S', b"");
        assert_eq!(summary(&client.until_ready()), "I");
        assert_eq!(client.said("DEALLOCATE \"Plan_A\""), "DEALLOCATE I");
    }
    client.send(b'P', b"Plan_B\0SELECT 1\0\0\0");
    client.query("PREPARE of_sql AS SELECT 2");
    assert_eq!(client.said("DEALLOCATE ALL"), "DEALLOCATE ALL I");
    assert!(client.said("EXECUTE of_sql").starts_with('!'));
    client.send(b'P', b"Plan_B\0SELECT 1\0\0\0");
    client.send(b'S', b"");
    assert_eq!(summary(&client.until_ready()), "I");
    assert!(client.said("DEALLOCATE PREPARE plan_b").starts_with('!'));
}

/// V11.
#[test]
fn portals_give_as_many_rows_as_are_asked_for() {
    let server = server();
    let mut client = Postgres::new(&server);
    client.query("BEGIN");
    client.extended("SELECT range FROM range(5)", &[], &[], &[], 2);
    client.execute(2);
    client.execute(2);
    client.send(b'S', b"");
    assert_eq!(summary(&client.until_ready()), "(0) (1) ... (2) (3) ... (4) SELECT 1 T");
    // Ten at once.
    for number in 0..10 {
        client.send(b'P', format!("\0SELECT {number} + range FROM range(1000000)\0\0\0").as_bytes());
        client.send(b'B', format!("p{number}\0\0\0\0\0\0\0\0").as_bytes());
    }
    for number in (0..10).rev() {
        client.send(b'E', &[format!("p{number}\0").as_bytes(), &1i32.to_be_bytes()].concat());
    }
    client.send(b'S', b"");
    let said = summary(&client.until_ready());
    assert!(said.starts_with("(9) ... (8) ... ") && said.ends_with("(0) ... T"), "{said}");
    assert_eq!(client.said("DECLARE c CURSOR FOR SELECT range FROM range(1000000)"), "DECLARE CURSOR T");
    assert_eq!(client.said("FETCH 2 FROM c"), "(0) (1) FETCH 2 T");
    assert_eq!(client.said("MOVE 3 FROM c"), "MOVE 3 T");
    assert_eq!(client.said("FETCH c"), "(5) FETCH 1 T");
    assert_eq!(client.said("CLOSE c"), "CLOSE CURSOR T");
    client.query("COMMIT");
    assert!(client.said("FETCH c").starts_with('!'));
}

#[test]
fn parameters_have_types_or_are_text() {
    let server = server();
    let mut client = Postgres::new(&server);
    client
        .query("CREATE TABLE t (a BIGINT, b TIMESTAMPTZ, c VARCHAR[], d BOOLEAN, e BLOB, f DECIMAL(10, 2))");
    let mut ask = |sql: &str, types: &[u32], values: &[Option<&str>]| {
        client.extended(sql, types, values, &[], 0);
        client.send(b'S', b"");
        summary(&client.until_ready())
    };
    assert_eq!(ask("SELECT $1", &[], &[Some("x")]), "(x) SELECT 1 I");
    assert_eq!(ask("SELECT $1 + 1", &[23], &[Some("41")]), "(42) SELECT 1 I");
    assert_eq!(ask("SELECT $1, $2", &[16, 0], &[Some("t"), None]), "(t,NULL) SELECT 1 I");
    assert_eq!(ask("SELECT $1", &[1700], &[Some("1.50")]), "(1.50) SELECT 1 I");
    let values = [
        Some("7"),
        Some("2024-01-01T00:00:00Z"),
        Some("{a,NULL,\"b c\"}"),
        Some("f"),
        Some("\\x00ff"),
        Some("1.5"),
    ];
    assert_eq!(ask("INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6)", &[], &values), "INSERT 0 1 I");
    assert_eq!(
        ask("SELECT a, c, d, e, f FROM t WHERE a = $1 AND b = $2", &[], &values[..2]),
        "(7,{a,NULL,\"b c\"},f,\\x00ff,1.50) SELECT 1 I"
    );
    assert_eq!(ask("SELECT $1::INTEGER", &[], &[Some("x")]), "!22018 I");
    assert_eq!(ask("SELECT 1; SELECT 2", &[], &[]), "!42601 I");
    assert_eq!(ask("SELECT $1", &[], &[]), "!08P01 I");
}

/// V4: text and binary say the same.
#[test]
fn binary_is_what_was_asked_for() {
    let server = server();
    let mut client = Postgres::new(&server);
    for _ in 0..10 {
        client.extended(
            "SELECT 1::INTEGER, 'x', TIMESTAMP '2000-01-01 00:00:01', 2::DOUBLE",
            &[],
            &[],
            &[1],
            0,
        );
        client.send(b'S', b"");
        let messages = client.until_ready();
        let (_, body) = messages.iter().find(|(kind, _)| *kind == b'D').unwrap();
        let values: Vec<Vec<u8>> = row(body).into_iter().flatten().collect();
        assert_eq!(
            values,
            [
                1i32.to_be_bytes().to_vec(),
                b"x".to_vec(),
                1_000_000i64.to_be_bytes().to_vec(),
                2f64.to_be_bytes().to_vec()
            ]
        );
    }
}

/// V8.
#[test]
fn rows_are_copied_both_ways() {
    let server = server();
    let mut client = Postgres::new(&server);
    client.query("CREATE TABLE t (a INTEGER, b VARCHAR, c BLOB)");
    let mut copy = |sql: &str, pieces: &[&[u8]], end: u8| {
        client.send(b'Q', &[sql.as_bytes(), b"\0"].concat());
        let (kind, _) = client.receive().unwrap();
        if kind == b'G' {
            for piece in pieces {
                client.send(b'd', piece);
            }
            client.send(end, if end == b'f' { b"no\0" } else { b"" });
        }
        format!("{} {}", kind as char, summary(&client.until_ready()))
    };
    assert_eq!(copy("COPY t FROM STDIN", &[b"1\ta\\tb\t\\\\x6161", b"6161\n2\t\\N\t\n"], b'c'), "G COPY 2 I");
    assert_eq!(
        copy("COPY t (b, a) FROM STDIN WITH (FORMAT csv, HEADER)", &[b"b,a\n\"x\"\"\ny\",3\n"], b'c'),
        "G COPY 1 I"
    );
    assert_eq!(copy("COPY t FROM STDIN", &[b"4\tx\t\n", b"five\tx\t\n"], b'c'), "G !22018 I");
    assert_eq!(copy("COPY t FROM STDIN", &[b"4\tx\n"], b'c'), "G !22P04 I");
    assert_eq!(copy("COPY t FROM STDIN", &[b"4\tx\t\n"], b'f'), "G !57014 I");
    assert_eq!(copy("COPY nothing FROM STDIN", &[], b'c'), "E I");
    assert_eq!(client.said("SELECT a FROM t ORDER BY a"), "(1) (2) (3) SELECT 3 I");
    assert_eq!(
        client.said("COPY (SELECT a, b, c FROM t ORDER BY a) TO STDOUT"),
        "[1\ta\\tb\t\\\\x61616161] [2\t\\N\t\\\\x] [3\tx\"\\ny\t\\N] COPY 3 I"
    );
    assert_eq!(client.said("COPY t (b) TO STDOUT CSV HEADER"), "[b] [a\tb] [] [\"x\"\"\ny\"] COPY 3 I");
    // Binary, there and back.
    let out: Vec<Vec<u8>> = client
        .query("COPY t TO STDOUT (FORMAT binary)")
        .into_iter()
        .filter(|(kind, _)| *kind == b'd')
        .map(|(_, body)| body)
        .collect();
    client.query("CREATE TABLE u AS FROM t LIMIT 0");
    client.send(b'Q', b"COPY u FROM STDIN (FORMAT binary)\0");
    let whole = out.concat();
    whole.chunks(7).for_each(|piece| client.send(b'd', piece));
    client.send(b'c', b"");
    assert_eq!(summary(&client.until_ready()), "copy-in COPY 3 I");
    assert_eq!(client.said("SELECT count(*) FROM (FROM t EXCEPT FROM u)"), "(0) SELECT 1 I");
}

#[test]
fn a_statement_is_ended_by_its_key() {
    let server = server();
    let mut client = Postgres::new(&server);
    client.send(
        b'Q',
        b"SELECT count(*) FROM range(100000) a, range(100000) b WHERE (a.range * b.range) % 7 = 3\0",
    );
    std::thread::sleep(Duration::from_millis(200));
    let cancel = |key: &[u8]| {
        let mut other = Postgres::socket(&server);
        other.raw(&[&16i32.to_be_bytes()[..], &80_877_102i32.to_be_bytes(), key].concat());
        assert!(other.receive().is_none());
    };
    let mut wrong = client.key.clone();
    wrong[5] ^= 1;
    cancel(&wrong);
    cancel(&client.key);
    assert_eq!(summary(&client.until_ready()), "!57014 I");
    assert_eq!(client.said("SELECT 1"), "(1) SELECT 1 I");
}

#[test]
fn a_statement_ends_with_its_client() {
    let server = server();
    let mut client = Postgres::new(&server);
    client.send(
        b'Q',
        b"SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3\0",
    );
    std::thread::sleep(Duration::from_millis(200));
    drop(client);
    // The end waits for what runs, within its grace, which is shorter than the statement.
    server.stop();
}

/// What is announced is not believed, and what is broken ends one session only.
#[test]
fn broken_messages_end_a_session_and_no_other() {
    let server = server();
    let mut good = Postgres::new(&server);
    for bytes in [
        &[b'Q', 0x7f, 0xff, 0xff, 0xff][..],
        &[b'S', 0, 0, 0x40, 0],
        &[b'Q', 0, 0, 0, 3],
        &[b'?', 0, 0, 0, 4],
        &[b'B', 0, 0, 0, 8, 0, 0, 0xff, 0xff],
        &[b'P', 0, 0, 0, 6, 0, 0],
        &[b'p', 0, 0, 0, 4],
    ] {
        let mut client = Postgres::new(&server);
        client.raw(bytes);
        let (kind, body) = client.receive().unwrap();
        assert_eq!(
            (kind, field(&body, b'S').as_deref(), field(&body, b'C').as_deref()),
            (b'E', Some("FATAL"), Some("08P01")),
            "{bytes:?}"
        );
        assert!(client.receive().is_none());
    }
    for bytes in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0, 0, 0, 4, 0, 0, 0, 0], &[0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 0]]
    {
        let mut client = Postgres::socket(&server);
        client.raw(bytes);
        assert!(client.receive().is_none());
    }
    assert_eq!(good.said("SELECT 1"), "(1) SELECT 1 I");
}

#[test]
fn there_are_only_so_many_places() {
    let server = Server::start(Options { connections_max: 2, ..options() }).unwrap();
    let (one, _two) = (Postgres::new(&server), Postgres::new(&server));
    let mut third = Postgres::socket(&server);
    third.startup(&[("user", "tester"), ("database", "memory")]);
    assert_eq!(field(&third.receive().unwrap().1, b'C').as_deref(), Some("53300"));
    drop(one);
    for _ in 0..100 {
        let mut client = Postgres::socket(&server);
        client.startup(&[("user", "tester"), ("database", "memory")]);
        if client.receive().unwrap().0 == b'R' {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the place did not become free");
}

#[test]
fn files_are_out_of_reach_unless_allowed() {
    let server = server();
    let mut client = Postgres::new(&server);
    for sql in [
        "FROM '/etc/passwd'",
        "FROM read_csv('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/inlay-server-test.csv'",
        "ATTACH '/tmp/inlay-server-test.inlay'",
        "SET enable_external_access = true",
    ] {
        assert!(client.said(sql).starts_with('!'), "{sql}");
    }
}

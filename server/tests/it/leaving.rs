//! Clients that go: in order, in the middle, and unseen.

use crate::support::{Postgres, field, server, summary};
use std::io::Write;
use std::time::{Duration, Instant};

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as i32 + 4).to_be_bytes(), body].concat()
}

/// Asks until the answer is the one that is waited for.
fn until(client: &mut Postgres, sql: &str, wanted: &str) {
    let began = Instant::now();
    loop {
        let said = client.said(sql);
        if said == wanted {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{sql}: {said}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_was_asked_for_before_a_good_bye_is_done() {
    let server = server();
    let mut other = Postgres::new(&server);
    other.query("CREATE TABLE t (a INTEGER)");
    let mut client = Postgres::new(&server);
    let slow = b"INSERT INTO t SELECT 1 FROM (SELECT sleep_ms(300))\0";
    let all =
        [message(b'Q', slow), message(b'Q', b"INSERT INTO t VALUES (2)\0"), message(b'X', b"")].concat();
    client.socket.write_all(&all).unwrap();
    drop(client);
    until(&mut other, "SELECT sum(a) FROM t", "(3) SELECT 1 I");
}

#[test]
fn a_client_that_breaks_off_has_nothing_done() {
    let server = server();
    let mut other = Postgres::new(&server);
    other.query("CREATE TABLE t (a INTEGER)");
    let mut client = Postgres::new(&server);
    client.socket.write_all(&message(b'Q', b"INSERT INTO t SELECT 1 FROM range(100000000000)\0")).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(client);
    until(&mut other, "SELECT count(*) FROM t", "(0) SELECT 1 I");
    assert_eq!(sessions(&server), "1");
}

fn sessions(server: &inlay_server::Server) -> String {
    let began = Instant::now();
    loop {
        let metrics = crate::support::request(server, "GET", "/metrics", &[], "").text();
        let line = metrics.lines().find(|line| line.starts_with("inlay_sessions ")).unwrap_or_default();
        let count = line.rsplit(' ').next().unwrap_or_default().to_string();
        if count == "1" || began.elapsed() > Duration::from_secs(60) {
            return count;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// More than is read ahead lies before the end of the socket.
#[test]
fn a_client_that_sent_much_is_missed() {
    let server = server();
    let _other = Postgres::new(&server);
    let mut client = Postgres::new(&server);
    client
        .socket
        .write_all(&message(b'Q', b"SELECT count(*) FROM range(100000000000) a, range(1000) b\0"))
        .unwrap();
    let more = message(b'Q', &[&[b' '; 1000][..], b"SELECT 1\0"].concat());
    client.socket.write_all(&more.repeat(200)).unwrap();
    drop(client);
    assert_eq!(sessions(&server), "1");
}

#[test]
fn a_good_bye_within_copy_undoes_it() {
    let server = server();
    let mut other = Postgres::new(&server);
    other.query("CREATE TABLE t (a INTEGER)");
    let mut client = Postgres::new(&server);
    client.send(b'Q', b"COPY t FROM STDIN\0");
    client.until(b'G');
    client.socket.write_all(&[message(b'd', b"1\n2\n"), message(b'X', b"")].concat()).unwrap();
    assert!(client.receive().is_none());
    until(&mut other, "SELECT count(*) FROM t", "(0) SELECT 1 I");
}

#[test]
fn violations_have_names() {
    let server = server();
    let mut client = Postgres::new(&server);
    client.query("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER NOT NULL, c INTEGER CONSTRAINT small CHECK (c < 10), UNIQUE (b, c))");
    client.query("CREATE UNIQUE INDEX only_c ON t (c)");
    client.query("CREATE TABLE u (a INTEGER CONSTRAINT there REFERENCES t(a))");
    client.query("INSERT INTO t VALUES (1, 1, 1)");
    for (sql, code, constraint, column) in [
        ("INSERT INTO t VALUES (1, 2, 2)", "23505", Some("t_pkey"), None),
        ("INSERT INTO t VALUES (2, 2, 1)", "23505", Some("only_c"), None),
        ("INSERT INTO t VALUES (2, NULL, 2)", "23502", None, Some("b")),
        ("INSERT INTO t VALUES (2, 2, 11)", "23514", Some("small"), None),
    ] {
        let messages = client.query(sql);
        let (_, error) = messages.iter().find(|(kind, _)| *kind == b'E').unwrap();
        let own = |kind| field(error, kind);
        assert_eq!(own(b'C').as_deref(), Some(code), "{sql}");
        assert_eq!(own(b'n').as_deref(), constraint, "{sql}: {}", own(b'M').unwrap());
        assert_eq!(own(b'c').as_deref(), column, "{sql}");
        assert_eq!((own(b't').as_deref(), own(b's').as_deref()), (Some("t"), Some("main")), "{sql}");
    }
    let messages = client.query("INSERT INTO u VALUES (7)");
    let (_, error) = messages.iter().find(|(kind, _)| *kind == b'E').unwrap();
    assert_eq!((field(error, b'n').as_deref(), field(error, b't').as_deref()), (Some("there"), Some("u")));
    // What is no violation has none of it.
    let messages = client.query("SELECT nothing");
    let (_, error) = messages.iter().find(|(kind, _)| *kind == b'E').unwrap();
    assert_eq!((field(error, b'n'), field(error, b't')), (None, None));
}

#[test]
fn statements_without_effect_say_so_in_notices() {
    let server = server();
    let mut client = Postgres::new(&server);
    client.query("CREATE TABLE t (a INTEGER)");
    let said = client.said("LOCK TABLE t IN ACCESS SHARE MODE");
    assert!(said.starts_with("note:no effect") && said.ends_with(" LOCK TABLE I"), "{said}");
    let said = client.said("CREATE EXTENSION postgis");
    assert!(said.starts_with("note:no effect") && said.ends_with(" CREATE EXTENSION I"), "{said}");
    client.extended("LOCK TABLE t", &[], &[], &[], 0);
    client.send(b'S', b"");
    let messages = client.until_ready();
    assert!(messages.iter().all(|(kind, _)| !matches!(kind, b'T' | b'D')), "{}", summary(&messages));
    assert_eq!(client.said("SELECT 'x' AS notice"), "(x) SELECT 1 I");
    assert_eq!(client.said("SELECT set_config('extra_float_digits', '0', false)"), "(0) SELECT 1 I");
    assert_eq!(client.said("SHOW extra_float_digits"), "(0) SHOW I");
    assert_eq!(client.said("SELECT pg_catalog.set_config('search_path', '', false);"), "() SELECT 1 I");
}

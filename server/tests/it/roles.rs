//! Roles of the served file: who may come by each protocol, and as whom.

use crate::support::{Postgres, request, server};
use inlay_server::Server;
use std::process::Command;

const SETUP: &str = "CREATE TABLE staff (name VARCHAR, salary INTEGER); INSERT INTO staff VALUES ('Bo', 9);
    CREATE USER ann PASSWORD 'secret' CONNECTION LIMIT 2; CREATE USER boss PASSWORD 'secret' SUPERUSER;
    CREATE USER gone PASSWORD 'secret' VALID UNTIL '2020-01-01'; CREATE ROLE nobody PASSWORD 'secret';
    GRANT SELECT (name) ON staff TO ann";

/// A name and `secret`, as HTTP sends them.
fn basic(name: &str) -> String {
    let known = [
        ("ann", "YW5uOnNlY3JldA=="),
        ("boss", "Ym9zczpzZWNyZXQ="),
        ("gone", "Z29uZTpzZWNyZXQ="),
        ("nobody", "bm9ib2R5OnNlY3JldA=="),
        ("eve", "ZXZlOnNlY3JldA=="),
    ];
    let code = known.iter().find(|(known, _)| *known == name).unwrap().1;
    format!("Authorization: Basic {code}")
}

fn status(server: &Server, head: &str, sql: &str) -> u16 {
    request(server, "POST", "/query", &[head], sql).status
}

#[test]
fn roles_of_the_file_come_by_their_passwords_and_tokens() {
    let server = server();
    // Without roles, whoever reaches the address may come.
    assert_eq!(request(&server, "POST", "/query", &[], SETUP).status, 200);
    assert_eq!(request(&server, "POST", "/query", &[], "SELECT 1").status, 401);
    let (ann, boss) = (basic("ann"), basic("boss"));
    assert_eq!(status(&server, &ann, "SELECT name FROM staff"), 200);
    let answer = request(&server, "POST", "/query", &[&ann], "SELECT salary FROM staff");
    assert_eq!(answer.status, 403);
    assert!(
        answer.text().contains("may not SELECT column") && answer.text().contains("42501"),
        "{}",
        answer.text()
    );
    assert_eq!(status(&server, &ann, "SET threads = 1"), 403);
    assert_eq!(status(&server, &boss, "SELECT salary FROM staff"), 200);
    for name in ["gone", "nobody", "eve"] {
        assert_eq!(status(&server, &basic(name), "SELECT 1"), 401, "{name}");
    }
    let token = request(&server, "POST", "/query?format=csv", &[&boss], "CREATE TOKEN x FOR ann").text();
    let token = token.lines().find(|line| line.starts_with("inlay_")).unwrap().to_string();
    let bearer = format!("Authorization: Bearer {token}");
    assert_eq!(status(&server, &bearer, "SELECT name FROM staff"), 200);
    assert_eq!(status(&server, &bearer, "SELECT * FROM staff"), 403);
    assert_eq!(status(&server, &bearer, "DROP TOKEN x FOR ann"), 200);
    assert_eq!(status(&server, &bearer, "SELECT 1"), 401);
    // A password that was right once is one no longer when it was changed.
    assert_eq!(status(&server, &boss, "ALTER USER ann PASSWORD 'another'"), 200);
    assert_eq!(status(&server, &ann, "SELECT 1"), 401);
    assert_eq!(status(&server, &boss, "DROP OWNED BY ann; DROP USER ann"), 200);
    assert_eq!(status(&server, &ann, "SELECT 1"), 401);
}

#[test]
fn roles_come_by_scram() {
    let server = server();
    assert_eq!(request(&server, "POST", "/query", &[], SETUP).status, 200);
    let mut client = Postgres::socket(&server);
    client.startup(&[("user", "ann"), ("database", "memory")]);
    let (kind, body) = client.receive().unwrap();
    assert_eq!((kind, &body[..]), (b'R', &b"\0\0\0\x0aSCRAM-SHA-256\0\0"[..]));
    let port = server.postgres.unwrap().port().to_string();
    let psql = |user: &str, sql: &str| {
        let program = Command::new("psql")
            .args(["-X", "-At", "-h", "127.0.0.1", "-U", user, "-d", "memory", "-p", &port, "-c", sql])
            .env("PGPASSWORD", "secret")
            .output();
        program.ok().map(|output| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (text(&output.stdout), text(&output.stderr))
        })
    };
    let Some((out, error)) = psql("ann", "SELECT name, current_user FROM staff") else {
        eprintln!("psql is not installed: what it would show is not tested");
        return;
    };
    assert_eq!((out.as_str(), error.as_str()), ("Bo|ann\n", ""));
    assert!(psql("ann", "SELECT * FROM staff").unwrap().1.contains("may not SELECT column \"salary\""));
    assert!(psql("gone", "SELECT 1").unwrap().1.contains("password authentication failed"));
    assert!(psql("eve", "SELECT 1").unwrap().1.contains("password authentication failed"));
    assert_eq!(psql("boss", "SELECT count(*) FROM pg_roles WHERE rolcanlogin").unwrap().0, "4\n");
}

#[test]
fn whoever_may_insert_sends_bodies_and_is_told_no_values_of_others() {
    let server = server();
    assert_eq!(request(&server, "POST", "/query", &[], SETUP).status, 200);
    let (ann, boss) = (basic("ann"), basic("boss"));
    let sql = "CREATE TABLE events (a INTEGER UNIQUE, b VARCHAR, c INTEGER)";
    assert_eq!(status(&server, &boss, sql), 200);
    let insert = |kind: &str, body: &str| {
        let answer =
            request(&server, "POST", "/insert/events", &[&ann, &format!("Content-Type: {kind}")], body);
        (answer.status, answer.text())
    };
    let (csv, ndjson) = ("text/csv", "application/x-ndjson");
    assert_eq!(insert(csv, "a,b\n77,x\n").0, 403);
    assert_eq!(status(&server, &boss, "GRANT INSERT (a, b) ON events TO ann"), 200);
    assert_eq!(insert(csv, "a,b\n77,x\n"), (200, "{\"command\":\"INSERT\",\"changed\":1}\n".to_string()));
    assert_eq!(insert(ndjson, "{\"a\": 2, \"b\": \"007\"}\n{\"a\": 3}\n").0, 200);
    // One that may be written is not enough for another.
    let (code, text) = insert(csv, "a,c\n4,4\n");
    assert!(code == 403 && text.contains("42501") && text.contains("\\\"c\\\""), "{text}");
    let (code, text) = insert(csv, "a,b\n77,x\n");
    assert!(code == 409 && text.contains("duplicate key (a)") && !text.contains("77"), "{text}");
    // What the server reads for it, it may not read itself, before and after.
    assert_eq!(status(&server, &ann, "FROM events"), 403);
    assert_eq!(status(&server, &ann, "FROM read_csv('https://localhost/x.csv')"), 403);
    let found = request(&server, "POST", "/query?format=csv", &[&boss], "SELECT a, b FROM events ORDER BY a");
    assert_eq!(found.text().replace('\r', ""), "a,b\n2,007\n3,\n77,x\n");
}

#[test]
fn discard_all_resets_the_role() {
    let server = server();
    let mut client = Postgres::new(&server);
    client.query("CREATE ROLE limited");
    client.query("SET ROLE limited");
    let said = client.said("SELECT current_user");
    assert!(said.contains("limited"), "{said}");
    client.query("DISCARD ALL");
    let said = client.said("SELECT current_user");
    assert!(!said.contains("limited") && said.contains("inlay"), "{said}");
}

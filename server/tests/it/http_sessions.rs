//! Sessions of HTTP over several requests, what runs, and the files of the page.

use crate::support::{Answer, options, request, server};
use inlay_server::{Options, Server};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

fn post(server: &Server, session: &str, sql: &str) -> Answer {
    request(server, "POST", "/query?format=csv", &[&format!("inlay-session: {session}")], sql)
}

fn session(server: &Server, heads: &[&str]) -> String {
    let answer = request(server, "POST", "/session", heads, "");
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text().split('"').nth(3).unwrap().to_string()
}

#[test]
fn settings_and_transactions_last() {
    let server = server();
    let (one, two) = (session(&server, &[]), session(&server, &[]));
    assert_eq!(
        post(&server, &one, "CREATE TEMP TABLE t AS SELECT 1 AS a; SET TimeZone = 'Asia/Kathmandu'").status,
        200
    );
    assert_eq!(
        post(&server, &one, "SELECT a, current_setting('TimeZone') AS z FROM t").text(),
        "a,z\r\n1,Asia/Kathmandu\r\n"
    );
    assert_eq!(post(&server, &two, "FROM t").status, 400);
    assert_eq!(post(&server, &one, "CREATE TABLE u (a INTEGER)").status, 200);
    assert_eq!(post(&server, &one, "BEGIN").status, 200);
    // Several statements within an open transaction are no transaction of their own.
    assert_eq!(post(&server, &one, "INSERT INTO u VALUES (1); INSERT INTO u VALUES (2)").status, 200);
    assert_eq!(post(&server, &two, "SELECT count(*) AS n FROM u").text(), "n\r\n0\r\n");
    assert_eq!(post(&server, &one, "COMMIT").status, 200);
    assert_eq!(post(&server, &two, "SELECT count(*) AS n FROM u").text(), "n\r\n2\r\n");
    // What fails in the middle leaves nothing, and no transaction open.
    assert_eq!(post(&server, &one, "INSERT INTO u VALUES (3); SELECT 1 / (SELECT x)").status, 400);
    assert_eq!(post(&server, &one, "INSERT INTO u VALUES (4)").status, 200);
    assert_eq!(post(&server, &two, "SELECT list(a ORDER BY a) AS l FROM u").text(), "l\r\n\"[1,2,4]\"\r\n");
    assert_eq!(request(&server, "DELETE", &format!("/session/{one}"), &[], "").status, 204);
    assert_eq!(post(&server, &one, "SELECT 1").status, 410);
    assert_eq!(request(&server, "DELETE", &format!("/session/{one}"), &[], "").status, 410);
    server.stop();
}

#[test]
fn what_does_not_go_together_is_refused() {
    let server = server();
    let name = session(&server, &[]);
    let head = format!("inlay-session: {name}");
    assert_eq!(request(&server, "GET", "/query?query=SELECT+1", &[&head], "").status, 400);
    assert_eq!(request(&server, "GET", "/query?query=SELECT+1", &["inlay-statement: a"], "").status, 400);
    assert_eq!(request(&server, "POST", "/query?database=memory", &[&head], "SELECT 1").status, 400);
    assert_eq!(request(&server, "POST", "/query", &["inlay-session: "], "SELECT 1").status, 400);
    assert_eq!(request(&server, "POST", "/query", &["inlay-session: other"], "SELECT 1").status, 410);
    assert_eq!(request(&server, "DELETE", "/statements/none", &[], "").status, 404);
    assert_eq!(request(&server, "POST", "/session", &["Origin: http://evil.example"], "").status, 403);
}

#[test]
fn a_statement_is_listed_and_ended_by_its_name() {
    let server = server();
    let name = session(&server, &[]);
    let heads = [format!("inlay-session: {name}"), "inlay-statement: long".to_string()];
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let sql = "SELECT count(*) FROM range(10000000000) a, range(1000) b WHERE a.range + b.range = -1";
    let list = || request(&server, "GET", "/statements", &[], "").text();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| request(&server, "POST", "/query", &heads, sql));
        let began = Instant::now();
        while !list().contains("\"id\":\"long\"") {
            assert!(began.elapsed() < Duration::from_secs(60), "{}", list());
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(list().contains("range(10000000000)"), "{}", list());
        assert_eq!(request(&server, "POST", "/query", &["inlay-statement: long"], "SELECT 1").status, 409);
        assert_eq!(request(&server, "DELETE", "/statements/long", &[], "").status, 204);
        let answer = running.join().unwrap();
        assert_eq!(answer.status, 504, "{}", answer.text());
        assert!(answer.text().contains("57014"), "{}", answer.text());
    });
    assert_eq!(list(), "{\"statements\":[]}\n");
    assert_eq!(post(&server, &name, "SELECT 1 AS a").text(), "a\r\n1\r\n");
    server.stop();
}

#[test]
fn sessions_are_their_users() {
    let file = std::env::temp_dir().join(format!("inlay-http-users-{}", std::process::id()));
    std::fs::write(&file, "ann:secret\nbob:other\n").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let path = file.to_str().unwrap().to_string();
    let server = Server::start(Options { password_file: Some(path), ..options() }).unwrap();
    let (ann, bob) = ("Authorization: Basic YW5uOnNlY3JldA==", "Authorization: Basic Ym9iOm90aGVy");
    let name = session(&server, &[ann]);
    let head = format!("inlay-session: {name}");
    assert_eq!(request(&server, "POST", "/query", &[ann, &head], "SELECT 1").status, 200);
    assert_eq!(request(&server, "POST", "/query", &[bob, &head], "SELECT 1").status, 410);
    assert_eq!(request(&server, "DELETE", &format!("/session/{name}"), &[bob], "").status, 410);
    let refused = request(&server, "POST", "/session", &[], "");
    assert!(
        refused.status == 401 && refused.head.to_lowercase().contains("www-authenticate"),
        "{}",
        refused.head
    );
    // A page asks by itself.
    let refused = request(&server, "POST", "/session", &["Sec-Fetch-Dest: empty"], "");
    assert!(
        refused.status == 401 && !refused.head.to_lowercase().contains("www-authenticate"),
        "{}",
        refused.head
    );
    // The files of the page are no secret: it asks for the password.
    assert_eq!(request(&server, "GET", "/", &[], "").status, 200);
    server.stop();
    std::fs::remove_file(file).unwrap();
}

#[test]
fn the_page_is_there() {
    let server = server();
    let page = request(&server, "GET", "/", &[], "");
    assert!(page.status == 200 && page.text().starts_with("<!doctype html"), "{}", page.text());
    for head in
        ["content-security-policy: default-src 'none'", "x-content-type-options: nosniff", "text/html"]
    {
        assert!(page.head.to_lowercase().contains(head), "{}", page.head);
    }
    // Whatever it names is given.
    let text = page.text();
    let named: Vec<&str> = text
        .split(['"', '\''])
        .filter(|part| part.ends_with(".js") || part.ends_with(".css") || part.ends_with(".svg"))
        .collect();
    assert!(named.len() >= 3, "{named:?}");
    for path in named {
        let path = path.trim_start_matches("./");
        assert_eq!(request(&server, "GET", &format!("/{path}"), &[], "").status, 200, "{path}");
    }
    assert_eq!(request(&server, "GET", "/README.md", &[], "").status, 404);
    assert_eq!(request(&server, "GET", "/../Cargo.toml", &[], "").status, 404);
    assert_eq!(request(&server, "GET", "/", &["Host: evil.example"], "").status, 421);
}

/// Sends a request whose answer nobody reads for now.
fn unread(server: &Server, target: &str, sql: &str) -> TcpStream {
    let mut socket = TcpStream::connect(server.http.unwrap()).unwrap();
    let length = sql.len();
    write!(socket, "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{sql}")
        .unwrap();
    socket
}

#[test]
fn who_does_not_read_holds_nobody_up() {
    let server = Server::start(Options { statements_max: 1, ..options() }).unwrap();
    let sql = "SELECT i, md5(i::VARCHAR) AS h FROM range(600000) r(i)";
    let slow: Vec<TcpStream> = ["parquet", "arrow", "csv"]
        .map(|format| unread(&server, &format!("/query?format={format}"), sql))
        .into();
    // The answers begin, so that they are computed or under way.
    for socket in &slow {
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut begun = [0; 12];
        (&*socket).read_exact(&mut begun).unwrap();
        assert_eq!(&begun, b"HTTP/1.1 200");
    }
    assert_eq!(request(&server, "POST", "/query?format=csv", &[], "SELECT 1 AS a").text(), "a\r\n1\r\n");
    drop(slow);
    server.stop();
}

#[test]
fn clients_come_in_while_all_places_are_taken() {
    let server = Server::start(Options { statements_max: 1, ..options() }).unwrap();
    let name = session(&server, &[]);
    let heads = [format!("inlay-session: {name}"), "inlay-statement: long".to_string()];
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let sql = "SELECT count(*) FROM range(10000000000) a, range(1000) b WHERE a.range + b.range = -1";
    std::thread::scope(|scope| {
        let running = scope.spawn(|| request(&server, "POST", "/query", &heads, sql));
        let began = Instant::now();
        while !request(&server, "GET", "/statements", &[], "").text().contains("\"id\":\"long\"") {
            assert!(began.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(5));
        }
        // One that waits for its turn in a session that is ended meanwhile does not run.
        let waiting = scope.spawn(|| post(&server, &name, "CREATE TABLE too_late (a INTEGER)"));
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(request(&server, "DELETE", &format!("/session/{name}"), &[], "").status, 204);
        assert_eq!(running.join().unwrap().status, 504);
        assert_eq!(waiting.join().unwrap().status, 410);
    });
    let tables =
        request(&server, "POST", "/query?format=csv", &[], "SELECT count(*) AS n FROM duckdb_tables()");
    assert_eq!(tables.text(), "n\r\n0\r\n");
    server.stop();
}

#[test]
fn pages_of_other_sites_ask_for_nothing() {
    let server = server();
    for site in ["cross-site", "same-site"] {
        let heads = [format!("Sec-Fetch-Site: {site}"), "Sec-Fetch-Dest: image".to_string()];
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        for (method, target) in [("GET", "/query?query=SELECT+1"), ("POST", "/query"), ("GET", "/statements")]
        {
            assert_eq!(request(&server, method, target, &heads, "").status, 403, "{method} {target} {site}");
        }
        // A link of theirs may lead to the page.
        assert_eq!(request(&server, "GET", "/", &heads, "").status, 200);
    }
    let heads = ["Sec-Fetch-Site: same-origin"];
    assert_eq!(request(&server, "POST", "/query", &heads, "SELECT 1").status, 200);
}

//! HTTP, request by request.

use crate::support::{options, percent, request, server};
use inlay_server::{Options, Server};
use std::io::{Read, Write};
use std::time::Duration;

#[test]
fn statements_are_answered_in_every_format() {
    let server = server();
    let post = |target: &str, sql: &str| request(&server, "POST", target, &[], sql);
    let answer = post(
        "/query",
        "CREATE TABLE t (a BIGINT, b VARCHAR); INSERT INTO t VALUES (9223372033328793741, 'x,\"y'), (NULL, '')",
    );
    assert_eq!((answer.status, answer.text().as_str()), (200, "{\"command\":\"INSERT\",\"changed\":2}\n"));
    let answer = post("/query", "FROM t");
    assert!(answer.head.contains("application/json"));
    assert_eq!(
        answer.text(),
        "{\"columns\":[{\"name\":\"a\",\"type\":\"BIGINT\"},{\"name\":\"b\",\"type\":\"VARCHAR\"}],\"rows\":[\n[9223372033328793741,\"x,\\\"y\"],\n[null,\"\"]],\"row_count\":2}\n"
    );
    assert_eq!(
        post("/query?format=ndjson&numbers=text", "FROM t").text(),
        "{\"a\":\"9223372033328793741\",\"b\":\"x,\\\"y\"}\n{\"a\":null,\"b\":\"\"}\n"
    );
    assert_eq!(
        post("/query?format=csv", "FROM t").text(),
        "a,b\r\n9223372033328793741,\"x,\"\"y\"\r\n,\"\"\r\n"
    );
    assert_eq!(
        post("/query?format=markdown", "SELECT 1 AS n, 'a|b' AS s").text(),
        "| n | s |\n|---:|---|\n| 1 | a\\|b |\n"
    );
    let parquet = post("/query?format=parquet", "FROM t");
    assert_eq!(
        (parquet.status, &parquet.body[..4], parquet.is_whole),
        (200, &b"PAR1"[..], true),
        "{}",
        parquet.text()
    );
    let arrow = post("/query?format=arrow", "FROM range(1000)");
    assert_eq!((arrow.status, &arrow.body[..6]), (200, &b"ARROW1"[..]), "{}", arrow.text());
    assert_eq!(post("/query?format=parquet", "SELECT x").status, 400);
    assert_eq!(post("/query?format=json", "FROM range(100000)").text().lines().count(), 100_001);
}

#[test]
fn parameters_stand_in_the_address() {
    let server = server();
    let get = |target: String| request(&server, "GET", &target, &[], "");
    let sql = percent("SELECT $1 + 1 AS a, $name AS b");
    let answer = get(format!("/query?format=csv&query={sql}&param_1=41&param_name=x"));
    assert_eq!((answer.status, answer.text().as_str()), (200, "a,b\r\n42,x\r\n"));
    assert_eq!(get(format!("/query?query={sql}&param_1=41")).status, 400);
    assert_eq!(get(format!("/query?query={sql}&param_1=41&param_name=x&param_2=y")).status, 400);
    let sql = percent("SELECT $1::INTEGER AS a");
    let answer = get(format!("/query?format=parquet&query={sql}&param_1=41"));
    assert_eq!((answer.status, &answer.body[..4]), (200, &b"PAR1"[..]), "{}", answer.text());
}

#[test]
fn get_changes_nothing() {
    let server = server();
    request(&server, "POST", "/query", &[], "CREATE TABLE t (a INTEGER); CREATE SEQUENCE s");
    let get = |sql: &str| request(&server, "GET", &format!("/query?query={}", percent(sql)), &[], "");
    for sql in [
        "INSERT INTO t VALUES (1)",
        "DROP TABLE t",
        "EXPLAIN ANALYZE INSERT INTO t VALUES (1)",
        "SET threads = 1",
        "SELECT 1; SELECT 2",
        "SELECT nextval('s')",
        "FROM force_checkpoint()",
        "SELECT * FROM checkpoint()",
        "COMMIT",
    ] {
        let answer = get(sql);
        assert!(answer.status >= 400, "{sql}: {}", answer.text());
    }
    assert!(get("SELECT count(*) FROM t").text().contains("[0]"));
    assert_eq!(request(&server, "PUT", "/query", &[], "").status, 405);
}

#[test]
fn errors_have_codes_and_places() {
    let server = server();
    let answer = request(&server, "POST", "/query", &[], "SELECT 'é', x");
    assert_eq!(answer.status, 400);
    assert!(
        answer.text().starts_with("{\"error\":{\"code\":\"42703\"")
            && answer.text().contains("\"position\":13"),
        "{}",
        answer.text()
    );
    assert_eq!(request(&server, "POST", "/query", &[], "").status, 400);
    assert_eq!(request(&server, "POST", "/query?format=xml", &[], "SELECT 1").status, 400);
    assert_eq!(request(&server, "POST", "/query?database=nothing", &[], "SELECT 1").status, 404);
    assert_eq!(request(&server, "GET", "/nothing", &[], "").status, 404);
    assert_eq!(request(&server, "POST", "/query", &[], "BEGIN; CREATE TABLE t (a INTEGER)").status, 400);
}

/// V12.
#[test]
fn an_error_behind_the_first_byte_breaks_the_body_off() {
    let server = server();
    let sql = "SELECT 100 // (900000 - range) FROM range(1000000)";
    for format in ["json", "ndjson", "csv"] {
        let answer = request(&server, "POST", &format!("/query?format={format}"), &[], sql);
        assert_eq!((answer.status, answer.is_whole), (200, false), "{format}");
        assert!(
            format == "csv" || answer.text().ends_with("}}\n") && answer.text().contains("22012"),
            "{format}"
        );
    }
    let fine = request(&server, "POST", "/query?format=csv", &[], "FROM range(1000000)");
    assert!(fine.is_whole);
}

/// V15.
#[test]
fn pages_of_others_are_refused() {
    let server = server();
    let status = |heads: &[&str]| request(&server, "GET", "/query?query=SELECT+1", heads, "").status;
    assert_eq!(status(&["Host: evil.org"]), 421);
    assert_eq!(status(&["Host: localhost", "Origin: http://evil.org"]), 403);
    assert_eq!(status(&["Host: localhost", "Origin: null"]), 403);
    assert_eq!(status(&["Host: localhost:1", "Origin: http://localhost:1"]), 200);
    let named = Server::start(Options { hosts: vec!["data.example.org".to_string()], ..options() }).unwrap();
    assert_eq!(request(&named, "GET", "/query?query=SELECT+1", &["Host: data.example.org"], "").status, 200);
}

#[test]
fn the_server_tells_how_it_is() {
    let server = server();
    assert_eq!(request(&server, "GET", "/health", &[], "").text(), "ok\n");
    request(&server, "POST", "/query", &[], "SELECT 1");
    let metrics = request(&server, "GET", "/metrics", &[], "").text();
    for name in [
        "inlay_sessions ",
        "inlay_sessions_total 1",
        "inlay_calls_total{outcome=\"ok\"}",
        "inlay_memory_bytes ",
    ] {
        assert!(metrics.contains(name), "{name}: {metrics}");
    }
}

#[test]
fn bodies_that_are_too_long_are_refused() {
    let server = Server::start(Options { message_bytes_max: 1000, ..options() }).unwrap();
    assert_eq!(request(&server, "POST", "/query", &[], &" ".repeat(2000)).status, 413);
    assert_eq!(request(&server, "POST", "/query", &["X: y"], "SELECT 1").status, 200);
}

#[test]
fn a_statement_ends_with_its_client() {
    let server = server();
    let mut socket = std::net::TcpStream::connect(server.http.unwrap()).unwrap();
    let sql = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3";
    write!(socket, "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{sql}", sql.len())
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    drop(socket);
    let sessions = || {
        let metrics = request(&server, "GET", "/metrics", &[], "").text();
        metrics.lines().find_map(|line| line.strip_prefix("inlay_sessions ").map(str::to_string)).unwrap()
    };
    for _ in 0..200 {
        if sessions() == "0" {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the session is still there");
}

#[test]
fn passwords_are_asked_for() {
    let folder = std::env::temp_dir().join(format!("inlay-server-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("passwords");
    std::fs::write(&file, "ann:secret\n").unwrap();
    let options = || Options { password_file: Some(file.display().to_string()), ..options() };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(
            Server::start(options())
                .is_err_and(|error| error.to_string().contains("may be read or written by others"))
        );
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let server = Server::start(options()).unwrap();
    let status = |heads: &[&str]| request(&server, "GET", "/query?query=SELECT+1", heads, "").status;
    assert_eq!(status(&[]), 401);
    assert_eq!(status(&["Authorization: Basic YW5uOndyb25n"]), 401);
    assert_eq!(status(&["Authorization: Basic YW5uOnNlY3JldA=="]), 200);
    assert_eq!(request(&server, "GET", "/health", &[], "").status, 200);
    // Over PostgreSQL's protocol, by SCRAM.
    let mut client = crate::support::Postgres::socket(&server);
    client.startup(&[("user", "ann"), ("database", "memory")]);
    let (kind, body) = client.receive().unwrap();
    assert_eq!((kind, &body[..]), (b'R', &b"\0\0\0\x0aSCRAM-SHA-256\0\0"[..]));
    client.send(b'p', b"SCRAM-SHA-256\0\0\0\0\x10n,,n=,r=aaaaaaaa");
    let (_, body) = client.receive().unwrap();
    assert!(crate::support::text(&body[4..]).starts_with("r=aaaaaaaa"));
    client.send(b'p', b"c=biws,r=x,p=AAAA");
    assert_eq!(crate::support::field(&client.receive().unwrap().1, b'C').as_deref(), Some("28P01"));
    let mut rest = Vec::new();
    client.socket.read_to_end(&mut rest).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_no_text_is_refused_in_an_address() {
    let server = server();
    let answer = request(&server, "GET", "/query?query=SELECT+%241&param_1=%ff", &[], "");
    assert_eq!(answer.status, 400, "{}", answer.text());
    let answer = request(&server, "GET", "/query?query=SELECT+%241+AS+a&param_1=%C3%A9&format=csv", &[], "");
    assert_eq!(answer.text(), "a\r\né\r\n");
}

#[test]
fn errors_of_files_have_the_places_of_the_query() {
    let server = server();
    for format in ["json", "arrow", "parquet"] {
        for sql in ["SELECT nothing", "SELECT 1 + error('x') FROM range(3)"] {
            let answer = request(&server, "POST", &format!("/query?format={format}"), &[], sql);
            let position = answer.text().split("\"position\":").nth(1).map(|rest| rest[..2].to_string());
            let expected = request(&server, "POST", "/query", &[], sql);
            let wanted = expected.text().split("\"position\":").nth(1).map(|rest| rest[..2].to_string());
            assert_eq!(position, wanted, "{format} {sql}: {}", answer.text());
            assert!(!answer.text().contains("inlay-answer"), "{}", answer.text());
        }
    }
}

#[test]
fn answers_are_compressed_for_those_that_read_it() {
    use std::io::Read;
    let server = server();
    let sql = "SELECT i, 'the same text' AS t FROM range(100000) r(i)";
    let plain = request(&server, "POST", "/query?format=csv", &[], sql);
    assert!(plain.head.to_lowercase().contains("vary: accept-encoding"), "{}", plain.head);
    let gzip = request(&server, "POST", "/query?format=csv", &["Accept-Encoding: gzip"], sql);
    assert!(gzip.head.to_lowercase().contains("content-encoding: gzip"), "{}", gzip.head);
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(&gzip.body[..]).read_to_end(&mut out).unwrap();
    assert!(gzip.is_whole && out == plain.body && gzip.body.len() < plain.body.len() / 2);
    let both = request(&server, "POST", "/query?format=csv", &["Accept-Encoding: gzip, zstd"], sql);
    assert!(both.is_whole && zstd::decode_all(&both.body[..]).unwrap() == plain.body);
    // What breaks off has no end, also in fewer bytes.
    let broken = "SELECT CASE WHEN i = 90000 THEN error('late') ELSE i END FROM range(100000) r(i)";
    let broken = request(&server, "POST", "/query?format=csv", &["Accept-Encoding: gzip"], broken);
    assert!(!broken.is_whole || broken.status != 200, "{}", broken.head);
    for heads in [&["Accept-Encoding: gzip"][..], &[]] {
        let small = request(&server, "POST", "/query", heads, "SELECT 1 AS a");
        assert!(!small.head.to_lowercase().contains("content-encoding"), "{}", small.head);
    }
}

#[test]
fn tools_are_told_what_there_is() {
    let server = server();
    let answer = request(&server, "GET", "/openapi.json", &[], "");
    assert_eq!(answer.status, 200);
    for wanted in ["\"/query\"", "\"/insert/{table}\"", "\"/olap/{table}\"", env!("CARGO_PKG_VERSION")] {
        assert!(answer.text().contains(wanted), "{wanted}");
    }
    let path = std::env::temp_dir().join(format!("inlay-openapi-{}.json", std::process::id()));
    std::fs::write(&path, &answer.body).unwrap();
    let database = inlay::Database::open_in_memory().unwrap().connect();
    let rows = database.execute(&format!("SELECT openapi FROM read_json('{}')", path.display())).unwrap();
    assert_eq!(rows.row_count(), 1);
    std::fs::remove_file(path).unwrap();
}

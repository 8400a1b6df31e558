//! Rows in the bodies of requests.

use crate::support::{request, request_bytes, server};
use inlay_server::Server;

fn rows(server: &Server, sql: &str) -> String {
    request(server, "POST", "/query?format=csv", &[], sql).text().replace("\r\n", ";")
}

fn insert(server: &Server, target: &str, kind: &str, body: &[u8]) -> (u16, String) {
    let head = format!("Content-Type: {kind}");
    let answer = request_bytes(server, "POST", &format!("/insert/{target}"), &[&head], body);
    (answer.status, answer.text())
}

fn with_table() -> Server {
    let server = server();
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR DEFAULT 'd', c DECIMAL(5,2), d TIMESTAMP)";
    assert_eq!(request(&server, "POST", "/query", &[], sql).status, 200);
    server
}

#[test]
fn rows_come_in_every_format() {
    let server = with_table();
    let csv = "b,a,c\n007,1,1.50\n\"\",2,\n\"x, \"\"y\"\"\nz\",3,2\n";
    assert_eq!(
        insert(&server, "t", "text/csv", csv.as_bytes()),
        (200, "{\"command\":\"INSERT\",\"changed\":3}\n".to_string())
    );
    assert_eq!(
        rows(&server, "SELECT a, b, c FROM t ORDER BY a"),
        "a,b,c;1,007,1.50;2,\"\",;3,\"x, \"\"y\"\"\nz\",2.00;"
    );
    let json = br#"[{"a": 4, "b": "2024-01-02"}, {"a": 5, "d": "2024-01-02 03:04:05"}]"#;
    assert_eq!(insert(&server, "main.t", "application/json", json).0, 200);
    let lines = b"{\"a\": 6, \"b\": \"08\"}\n{\"a\": 7, \"c\": 1.25}\n";
    assert_eq!(insert(&server, "t", "application/x-ndjson", lines).0, 200);
    assert_eq!(
        rows(&server, "SELECT a, b, c, d FROM t WHERE a BETWEEN 4 AND 7 ORDER BY a"),
        "a,b,c,d;4,2024-01-02,,;5,,,2024-01-02 03:04:05;6,08,,;7,,1.25,;"
    );
    for (format, kind) in
        [("arrow", "application/vnd.apache.arrow.file"), ("parquet", "application/vnd.apache.parquet")]
    {
        let start = if format == "arrow" { 100 } else { 200 };
        let sql = format!("SELECT (i + {start})::INTEGER AS a FROM range(10) r(i)");
        let body = request(&server, "POST", &format!("/query?format={format}"), &[], &sql).body;
        assert_eq!(insert(&server, "t", kind, &body).0, 200, "{format}");
    }
    // What the body has not gets its default.
    assert_eq!(rows(&server, "SELECT count(*) AS n, min(b) AS b FROM t WHERE a >= 100"), "n,b;20,d;");
    let bare = insert(&server, "t?format=csv&header=false&columns=a,b", "text/plain", b"300,x\n301,y\n");
    assert_eq!(bare.0, 200, "{}", bare.1);
    assert_eq!(rows(&server, "SELECT max(a) AS a FROM t"), "a;301;");
}

#[test]
fn compressed_bodies_are_read() {
    let server = with_table();
    let body = zstd::encode_all(&b"a\n1\n2\n"[..], 1).unwrap();
    let heads = ["Content-Type: text/csv", "Content-Encoding: zstd"];
    let answer = request_bytes(&server, "POST", "/insert/t", &heads, &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = request_bytes(
        &server,
        "POST",
        "/insert/t",
        &["Content-Type: text/csv", "Content-Encoding: br"],
        b"a\n",
    );
    assert_eq!(answer.status, 415);
}

#[test]
fn all_rows_go_in_or_none() {
    let server = with_table();
    for (target, kind, body, status, wanted) in [
        ("t", "text/csv", "a\n1\nx\n", 400, "row 2 of the body, column"),
        ("t", "text/csv", "a\n1\n1\n", 409, "duplicate key"),
        ("t", "text/csv", "a,e\n1,2\n", 400, "e"),
        ("nothing", "text/csv", "a\n1\n", 404, "nothing"),
        ("t", "application/json", "[{\"a\": 1}, {\"a\":", 400, "the body"),
        ("t", "text/plain", "a\n1\n", 415, "format"),
        ("t?format=xml", "text/csv", "a\n1\n", 400, "csv, json"),
        ("t\"; DROP TABLE t; --", "text/csv", "a\n1\n", 404, "DROP"),
    ] {
        let target = target.replace(' ', "%20").replace('"', "%22");
        let (found, text) = insert(&server, &target, kind, body.as_bytes());
        assert_eq!(found, status, "{target} {body}: {text}");
        assert!(text.contains(wanted) && !text.contains("inlay-answer"), "{target} {body}: {text}");
    }
    assert_eq!(rows(&server, "SELECT count(*) AS n FROM t"), "n;0;");
}

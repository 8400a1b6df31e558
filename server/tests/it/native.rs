//! The native protocol: what clients of `inlay://` see of the server.

use crate::support::{Postgres, options, server};
use inlay::types::{Batch, LogicalType, Value, Vector};
use inlay_protocol::client::{Client, ClientError};
use inlay_protocol::types::WireColumn;
use inlay_server::{Options, Server};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A folder of a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("inlay-native-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// A file that nobody else may read.
    fn file(&self, name: &str, text: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn at(server: &Server, rest: &str) -> Result<Client, ClientError> {
    Client::connect(&format!("inlay://ann@{}/{rest}", server.native.unwrap()))
}

fn client(server: &Server) -> Client {
    at(server, "").unwrap()
}

fn count(client: &Client, text: &str) -> String {
    let mut reply = client.query(text).unwrap();
    let mut values = Vec::new();
    while let Some(batch) = reply.next_batch().unwrap() {
        values.extend((0..batch.len()).map(|row| batch.column(0).get(row).to_string()));
    }
    values.join(" ")
}

fn sqlstate<T>(outcome: Result<T, ClientError>) -> String {
    outcome.err().map_or_else(|| "00000".to_string(), |error| error.sqlstate().to_string())
}

/// Sessions that are open, as Prometheus is told.
fn sessions(server: &Server) -> u64 {
    let mut socket = TcpStream::connect(server.http.unwrap()).unwrap();
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text.lines().find_map(|line| line.strip_prefix("inlay_sessions ")).unwrap().parse().unwrap()
}

fn numbers(rows: std::ops::Range<i64>) -> Batch {
    let values: Vec<Value> = rows.clone().map(Value::BigInt).collect();
    let column = Vector::from_sql_values(LogicalType::BigInt, &values).unwrap();
    Batch::new(vec![column], values.len())
}

fn number_column() -> Vec<WireColumn> {
    vec![WireColumn::new("n", LogicalType::BigInt)]
}

#[test]
fn statements_run_in_the_database_that_all_doors_share() {
    let server = server();
    let one = client(&server);
    one.query("CREATE TABLE t AS SELECT range AS a FROM range(1000000)").unwrap();
    assert_eq!(Postgres::new(&server).said("SELECT count(*) FROM t"), "(1000000) SELECT 1 I");
    assert_eq!(count(&one, "SELECT sum(a) FROM t"), "499999500000");
    let (mut one, mut other) = (one.query("FROM t").unwrap(), one.query("FROM t ORDER BY a DESC").unwrap());
    let (mut left, mut right) = (0, 0);
    while let Some(batch) = one.next_batch().unwrap() {
        left += batch.len();
        right += other.next_batch().unwrap().map_or(0, |batch| batch.len());
    }
    while let Some(batch) = other.next_batch().unwrap() {
        right += batch.len();
    }
    assert_eq!((left, right), (1_000_000, 1_000_000));
    assert_eq!(sqlstate(at(&server, "nowhere")), "22023");
    assert_eq!(sqlstate(at(&server, "?no_such_setting=1")), "22023");
    assert_eq!(count(&at(&server, "memory?threads=1").unwrap(), "SELECT current_setting('threads')"), "1");
}

#[test]
fn prepared_statements_appends_and_registered_tables_work() {
    let server = server();
    let client = client(&server);
    client.query("CREATE TABLE t (n BIGINT CHECK (n < 5000))").unwrap();
    let insert = client.prepare("INSERT INTO t VALUES (?)").unwrap();
    assert_eq!(insert.parameters[0].ty, Some(LogicalType::BigInt));
    assert_eq!(insert.execute(&numbers(0..100)).unwrap().done().unwrap().changed, Some(100));
    let mut appender = client.append(&["t"], &[], number_column()).unwrap();
    (1..50).for_each(|part| appender.push(numbers(part * 100..(part + 1) * 100)).unwrap());
    assert_eq!(appender.finish().unwrap(), 4900);
    let mut appender = client.append(&["t"], &["n"], number_column()).unwrap();
    appender.push(numbers(4990..5010)).unwrap();
    assert_eq!(sqlstate(appender.finish()), "23514");
    assert_eq!(count(&client, "SELECT count(*) FROM t"), "5000");
    assert_eq!(sqlstate(client.append(&["t"], &[], vec![]).and_then(|rows| rows.finish())), "22023");
    let mut rows = client.register("mine", number_column()).unwrap();
    rows.push(numbers(0..10)).unwrap();
    rows.push(numbers(10..20)).unwrap();
    assert_eq!(rows.finish().unwrap(), 20);
    assert_eq!(count(&client, "SELECT sum(n) FROM MINE WHERE n >= 10"), "145");
    assert_eq!(sqlstate(at(&server, "").unwrap().query("FROM mine")), "42P01", "nobody else sees it");
    client.unregister("mine").unwrap();
    assert_eq!(sqlstate(client.query("FROM mine")), "42P01");
}

#[test]
fn what_is_too_large_for_the_server_fails_alone() {
    let server = Server::start(Options { message_bytes_max: 2 << 20, ..options() }).unwrap();
    let client = client(&server);
    let echo = client.prepare("SELECT length(?::VARCHAR)").unwrap();
    let text = |bytes: usize| {
        let values = [Value::Varchar("x".repeat(bytes))];
        Batch::new(vec![Vector::from_sql_values(LogicalType::Varchar, &values).unwrap()], 1)
    };
    let error = echo.execute(&text(3 << 20)).err().unwrap();
    assert!(error.sqlstate() == "54000" && error.to_string().contains("--max-message"), "{error}");
    let long = format!("SELECT length('{}')", "z".repeat(3 << 20));
    assert_eq!(sqlstate(client.query(&long)), "54000");
    assert_eq!(sqlstate(client.prepare(&long)), "54000");
    client.query("CREATE TABLE t (s VARCHAR)").unwrap();
    let column = || vec![WireColumn::new("s", LogicalType::Varchar)];
    let mut rows = client.append(&["t"], &[], column()).unwrap();
    assert_eq!(sqlstate(rows.push(text(3 << 20)).and_then(|()| rows.finish())), "54000");
    // What is sent in bulk waits for what may still come, which nothing of the above does.
    let mut rows = client.append(&["t"], &[], column()).unwrap();
    rows.push(text(1 << 20)).unwrap();
    assert_eq!(rows.finish().unwrap(), 1);
    assert_eq!(count(&client, "SELECT length(s) FROM t"), "1048576");
    assert_eq!(sqlstate(echo.execute(&text(1 << 20))), "00000");
}

#[test]
fn what_runs_is_cancelled_and_the_session_goes_on() {
    let server = server();
    let one = client(&server);
    let slow = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3";
    let running = one.clone();
    let thread = std::thread::spawn(move || sqlstate(running.query(slow)));
    std::thread::sleep(Duration::from_millis(100));
    // One that has not begun yet is not ended.
    while !thread.is_finished() {
        one.cancel().unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(thread.join().unwrap(), "57014");
    // The thread that waits may be asked, too.
    let since = Instant::now();
    let ended = inlay_protocol::client::asking(
        std::rc::Rc::new(move || since.elapsed() > Duration::from_millis(50)),
        || sqlstate(one.query(slow)),
    );
    assert_eq!(ended, "57014");
    assert_eq!(count(&one, "SELECT 1"), "1");
}

#[test]
fn passwords_are_those_of_the_other_doors() {
    let folder = Folder::new("passwords");
    let file = folder.file("users", "ann:se cret\n");
    let server = Server::start(Options { password_file: Some(file), ..options() }).unwrap();
    let address = server.native.unwrap();
    let login = |login: &str| Client::connect(&format!("inlay://{login}@{address}"));
    assert_eq!(count(&login("ann:se%20cret").unwrap(), "SELECT 1"), "1");
    for wrong in ["ann:secret", "ann", "eve:se%20cret", ""] {
        assert_eq!(sqlstate(login(wrong)), "28P01", "{wrong}");
    }
}

#[test]
fn unix_sockets_are_for_both_protocols_and_know_their_owner() {
    let folder = Folder::new("sockets");
    let file = folder.file("users", "ann:secret\n");
    let socket_dir = Some(folder.0.display().to_string());
    let options = Options { password_file: Some(file), socket_dir, ..options() };
    let server = Server::start(options).unwrap();
    let path = folder.0.join(format!("inlay.{}.sock", server.native.unwrap().port()));
    // Who runs the server is not asked.
    let client = Client::connect(&format!("inlay+unix://{}?user=bob", path.display())).unwrap();
    assert_eq!(count(&client, "SELECT sum(range) FROM range(1000)"), "499500");
    let path = folder.0.join(format!(".s.PGSQL.{}", server.postgres.unwrap().port()));
    let mut socket = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let parameters = b"user\0bob\0database\0memory\0\0";
    let len = parameters.len() as i32 + 8;
    socket.write_all(&[&len.to_be_bytes()[..], &196_608i32.to_be_bytes(), parameters].concat()).unwrap();
    let mut answer = [0; 9];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!((answer[0], &answer[5..]), (b'R', &[0, 0, 0, 0][..]), "it is let in");
    drop(client);
    server.stop();
    assert!(!path.exists(), "sockets go with the server");
}

#[test]
fn strangers_and_other_protocols_are_turned_away() {
    let server = server();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 64], &inlay_protocol::MAGIC[..]] {
        let mut socket = TcpStream::connect(server.native.unwrap()).unwrap();
        socket.write_all(bytes).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut said = Vec::new();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let _ = socket.read_to_end(&mut said);
        assert!(said.len() < 1000);
    }
    assert_eq!(count(&client(&server), "SELECT 1"), "1");
}

#[test]
fn a_server_that_ends_tells_idle_clients_and_lets_statements_finish() {
    let server = Server::start(Options { grace: Duration::from_secs(20), ..options() }).unwrap();
    let (idle, busy) = (client(&server), client(&server));
    busy.query("BEGIN; CREATE TABLE t (a INTEGER)").unwrap().finish().unwrap();
    let stopping = std::thread::spawn(move || server.stop());
    let mut ended = sqlstate(idle.query("SELECT 1"));
    while ended == "00000" {
        ended = sqlstate(idle.query("SELECT 1"));
    }
    assert!(matches!(ended.as_str(), "57P01" | "08006"), "{ended}");
    // A transaction may end.
    busy.query("INSERT INTO t VALUES (1)").unwrap();
    busy.query("COMMIT").unwrap();
    stopping.join().unwrap();
    assert!(busy.ping().is_err());
}

#[test]
fn encrypted_connections_check_the_certificate() {
    let folder = Folder::new("tls");
    let (cert, key) = (folder.0.join("cert.pem"), folder.0.join("key.pem"));
    let made = std::process::Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-keyout"])
        .args([&key, &PathBuf::from("-out"), &cert])
        .stderr(std::process::Stdio::null())
        .status();
    if !made.is_ok_and(|made| made.success()) {
        eprintln!("openssl is not installed: encryption is not tested");
        return;
    }
    let [cert, key] = [cert, key].map(|path| path.display().to_string());
    let options = Options { tls_cert: Some(cert.clone()), tls_key: Some(key), ..options() };
    let server = Server::start(options).unwrap();
    let port = server.native.unwrap().port();
    let with = |rest: &str| Client::connect(&format!("inlay://ann@localhost:{port}/?{rest}"));
    let client = with(&format!("tls=on&tls_ca={cert}")).unwrap();
    assert_eq!(count(&client, "SELECT sum(range) FROM range(1000000)"), "499999500000");
    let mut reply = client.query("SELECT range AS n, 'row ' || range AS s FROM range(1000000)").unwrap();
    let mut rows = 0;
    while let Some(batch) = reply.next_batch().unwrap() {
        rows += batch.len();
    }
    assert_eq!(rows, 1_000_000);
    assert_eq!(sqlstate(with("tls=on")), "08006", "nobody knows the certificate");
    let error = with("tls=on").err().unwrap().to_string();
    assert!(error.contains("tls_ca=FILE"), "{error}");
    assert_eq!(count(&with("").unwrap(), "SELECT 1"), "1", "on this machine it may be plain");
}

#[test]
fn a_client_that_takes_nothing_holds_little_and_a_dead_one_nothing() {
    let server = server();
    let one = client(&server);
    let mut reply = one.query("SELECT range, range * 2 FROM range(100000000000)").unwrap();
    assert!(reply.next_batch().unwrap().is_some());
    drop((reply, one));
    let deadline = Instant::now() + Duration::from_secs(60);
    // Its session ends, and with it what it ran.
    while sessions(&server) > 0 {
        assert!(Instant::now() < deadline, "the session stays");
        std::thread::sleep(Duration::from_millis(20));
    }
}

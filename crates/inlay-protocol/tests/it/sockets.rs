//! A client over a socket gets what an embedded connection gets, and what one end does wrong or stops doing harms no other.

use crate::session::OneDatabase;
use inlay::Database;
use inlay::types::{Batch, LogicalType, Value, Vector};
use inlay_protocol::client::{Client, ClientError};
use inlay_protocol::frame::{Frame, Hello};
use inlay_protocol::scram::Verifier;
use inlay_protocol::server::{Admission, Sessions, listen};
use inlay_protocol::types::WireColumn;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

type Gate = OneDatabase<fn(&Hello) -> Admission>;

struct Server {
    gate: Arc<Gate>,
    address: std::net::SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    fn start(admit: fn(&Hello) -> Admission) -> Self {
        let database = Database::open_in_memory().unwrap();
        let gate = Arc::new(OneDatabase { database, sessions: Sessions::default(), admit, token: "t0ken" });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (own, told) = (Arc::clone(&gate), Arc::clone(&stop));
        let thread = Some(std::thread::spawn(move || listen(&listener, &*own, &told).unwrap()));
        Self { gate, address, stop, thread }
    }

    fn open() -> Self {
        Self::start(|_| Admission::Open)
    }

    fn client(&self) -> Client {
        Client::connect(&format!("inlay://ana@{}/", self.address)).unwrap()
    }

    /// Waits until a condition holds; a test fails when that takes long.
    fn until(&self, holds: impl Fn() -> bool) {
        let ends = std::time::Instant::now() + Duration::from_secs(60);
        while !holds() {
            assert!(std::time::Instant::now() < ends, "it does not become true");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

fn rows(batches: &[Batch]) -> Vec<String> {
    let one = |batch: &Batch, row: usize| {
        batch.columns().iter().map(|c| format!("{:?}", c.get(row))).collect::<Vec<_>>().join(" ")
    };
    batches.iter().flat_map(|batch| (0..batch.len()).map(|row| one(batch, row)).collect::<Vec<_>>()).collect()
}

fn fetched(client: &Client, text: &str) -> (Vec<LogicalType>, Vec<String>) {
    let mut reply = client.query(text).unwrap();
    let types = reply.columns().unwrap().iter().map(|column| column.ty.clone()).collect();
    let mut batches = Vec::new();
    while let Some(batch) = reply.next_batch().unwrap() {
        batches.push(batch);
    }
    assert_eq!(reply.done().unwrap().rows, Some(batches.iter().map(|b| b.len() as u64).sum()));
    (types, rows(&batches))
}

fn count(client: &Client, text: &str) -> String {
    fetched(client, text).1.join("; ")
}

const EVERY: &str = "SELECT NULL AS nothing, i % 2 = 0 AS a, i::TINYINT AS b, i::SMALLINT AS c, i AS d, i::BIGINT * 1000000007 AS e,
    i::HUGEINT * 1000000000000000000000 AS f, i::UTINYINT AS g, i::USMALLINT AS h, i::UINTEGER AS j, i::UBIGINT AS k, i::UHUGEINT AS l,
    i::REAL / 3 AS m, i::DOUBLE / 7 AS n, i::DECIMAL(4, 1) AS o, i::DECIMAL(9, 2) AS p, i::DECIMAL(18, 3) AS q, i::DECIMAL(38, 5) AS r,
    CASE WHEN i % 3 > 0 THEN repeat('ünï', i % 9) END AS s, ('x' || i)::BLOB AS t, DATE '2020-01-01' + i AS u,
    TIME '00:00:00' + to_seconds(i) AS v, TIMESTAMP '2020-01-01' + to_seconds(i) AS w, to_days(i) AS x,
    (TIMESTAMP '2020-01-01' + to_seconds(i))::TIMESTAMP_S AS y, (TIMESTAMP '2020-01-01' + to_seconds(i))::TIMESTAMP_MS AS z,
    (TIMESTAMP '2020-01-01' + to_seconds(i))::TIMESTAMP_NS AS aa, TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_seconds(i) AS ab,
    '10:00:00+02'::TIMETZ AS ac, '00000000-0000-0000-0000-0000000000ff'::UUID AS ad, '10110'::BIT AS ae, '[1, 2]'::JSON AS af,
    (CASE WHEN i % 2 = 0 THEN 'sad' ELSE 'happy' END)::ENUM('sad', 'happy') AS ag, [i, NULL, i + 1] AS ah, [[i], []] AS ai,
    {'a': i, 'b': {'c': 'x' || i}} AS aj, MAP {'k' || i: i} AS ak, array_value(i, i + 1, i + 2) AS al,
    union_value(n := i) AS am, row(i, 'x') AS an, [{'a': i}, NULL] AS ao
    FROM range(100) t(i0), LATERAL (SELECT i0::INTEGER AS i)";

#[test]
fn every_type_over_a_socket_is_what_it_is_embedded() {
    let server = Server::open();
    let embedded = server.gate.database.connect().execute(EVERY).unwrap();
    let batches: Vec<Batch> = embedded.batches().map(Result::unwrap).collect();
    let (types, found) = fetched(&server.client(), EVERY);
    assert_eq!(types, embedded.types());
    assert_eq!(found, rows(&batches));
    assert_eq!(found.len(), 100);
}

#[test]
fn a_million_rows_arrive_in_order() {
    let server = Server::open();
    let client = server.client();
    let mut reply = client.query("SELECT range AS n, 'row ' || range AS s FROM range(1000000)").unwrap();
    let (mut next, mut chunks) = (0i64, 0);
    while let Some(batch) = reply.next_batch().unwrap() {
        for (row, n) in batch.column(0).values::<i64>().iter().enumerate() {
            assert_eq!(*n, next);
            if n % 9973 == 0 {
                assert_eq!(batch.column(1).get(row).to_string(), format!("row {n}"));
            }
            next += 1;
        }
        chunks += 1;
    }
    assert_eq!(next, 1_000_000);
    assert!((10..200).contains(&chunks), "{chunks} chunks of about a mebibyte");
}

#[test]
fn answers_of_a_text_come_one_after_the_other_up_to_the_first_error() {
    let server = Server::open();
    let client = server.client();
    let mut reply =
        client.query("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2); FROM t; SELEC; SELECT 1");
    // A text that cannot be read runs nothing.
    assert!(reply.is_err());
    reply = client.query(
        "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2); FROM t; SELECT x FROM t; DROP TABLE t",
    );
    let mut reply = reply.unwrap();
    assert_eq!(reply.done().unwrap().tag, "CREATE TABLE");
    assert!(reply.next_answer().unwrap());
    assert_eq!((reply.done().unwrap().tag.as_str(), reply.done().unwrap().changed), ("INSERT 0 2", Some(2)));
    assert!(reply.next_answer().unwrap());
    assert_eq!(reply.next_batch().unwrap().unwrap().len(), 2);
    let error = reply.next_answer().unwrap_err();
    assert_eq!(error.sqlstate(), "42703");
    let ClientError::Server(report) = error else { panic!("an error of the server") };
    assert_eq!((report.line, report.column > 0, report.offset > 0), (1, true, true));
    assert!(report.message.contains('x') && !report.is_fatal);
    assert_eq!(
        count(&client, "SELECT count(*) FROM t"),
        "BigInt(2)",
        "what came before stays, and the connection works"
    );
}

#[test]
fn transactions_are_those_of_the_session() {
    let server = Server::open();
    let (one, other) = (server.client(), server.client());
    one.query("CREATE TABLE t (a INTEGER)").unwrap();
    assert!(one.query("BEGIN").unwrap().done().unwrap().in_transaction);
    one.query("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(count(&other, "SELECT count(*) FROM t"), "BigInt(0)");
    assert!(!one.query("COMMIT").unwrap().done().unwrap().in_transaction);
    assert_eq!(count(&other, "SELECT count(*) FROM t"), "BigInt(1)");
}

#[test]
fn two_results_are_read_in_turns() {
    let server = Server::open();
    let client = server.client();
    let mut one = client.query("SELECT range FROM range(3000000)").unwrap();
    let mut other = client.query("SELECT 'text ' || range FROM range(500000)").unwrap();
    let (mut left, mut right, mut next) = (0, 0, 0i64);
    loop {
        let (a, b) = (one.next_batch().unwrap(), other.next_batch().unwrap());
        if a.is_none() && b.is_none() {
            break;
        }
        if let Some(batch) = a {
            assert_eq!(batch.column(0).get(0), Value::BigInt(next));
            (left, next) = (left + batch.len(), next + batch.len() as i64);
        }
        right += b.map_or(0, |batch| batch.len());
        // A third one meanwhile.
        if right > 0 && right < 40_000 {
            assert_eq!(count(&client, "SELECT 1"), "Integer(1)");
        }
    }
    assert_eq!((left, right), (3_000_000, 500_000));
}

#[test]
fn a_result_that_is_dropped_or_cancelled_ends_and_others_go_on() {
    let server = Server::open();
    let client = server.client();
    let mut kept = client.query("SELECT range FROM range(2000000)").unwrap();
    kept.next_batch().unwrap();
    let endless = "SELECT range * 2 AS s FROM range(1000000000000)";
    let mut reply = client.query(endless).unwrap();
    assert!(reply.next_batch().unwrap().is_some());
    drop(reply);
    reply = client.query(endless).unwrap();
    reply.canceller().cancel().unwrap();
    let error = loop {
        match reply.next_batch() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it has no end"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.sqlstate(), "57014");
    let mut rows = 0;
    while let Some(batch) = kept.next_batch().unwrap() {
        rows += batch.len();
    }
    assert!(rows > 1_800_000, "{rows}: the other result is whole");
}

#[test]
fn a_statement_without_rows_yet_is_cancelled_from_another_connection() {
    let server = Server::open();
    let client = server.client();
    let other = client.clone();
    let running = std::thread::spawn(move || {
        other
            .query(
                "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3",
            )
            .err()
    });
    // It may not have begun when the first one comes.
    while !running.is_finished() {
        client.cancel().unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(running.join().unwrap().unwrap().sqlstate(), "57014");
    assert_eq!(count(&client, "SELECT 1"), "Integer(1)");
}

#[test]
fn prepared_statements_take_columns_of_values() {
    let server = Server::open();
    let client = server.client();
    client.query("CREATE TABLE t (id BIGINT, name VARCHAR, doc JSON)").unwrap();
    let insert = client.prepare("INSERT INTO t VALUES (?, ?, ?)").unwrap();
    assert_eq!(insert.parameters.len(), 3);
    let ids: Vec<i64> = (0..5000).collect();
    let names: Vec<Value> = ids
        .iter()
        .map(|id| if id % 5 == 0 { Value::Null } else { Value::Varchar(format!("n{id}")) })
        .collect();
    let values = |docs: &str| {
        let docs = Vector::constant(LogicalType::Json, &Value::Json(docs.into()), 5000).unwrap();
        let columns = vec![
            Vector::from_values(LogicalType::BigInt, &ids),
            Vector::from_sql_values(LogicalType::Varchar, &names).unwrap(),
            docs,
        ];
        Batch::new(columns, 5000)
    };
    assert_eq!(insert.execute(&values("{\"a\": 1}")).unwrap().done().unwrap().changed, Some(5000));
    assert!(insert.execute(&values("no JSON")).is_err(), "a client's JSON is looked at");
    assert_eq!(count(&client, "SELECT count(*), count(name) FROM t"), "BigInt(5000) BigInt(4000)");
    let select = client.prepare("SELECT name FROM t WHERE id = $id").unwrap();
    assert_eq!(select.parameters[0].name, "id");
    assert_eq!(select.columns.as_ref().unwrap()[0].ty, LogicalType::Varchar);
    for id in [7i64, 11] {
        let one = Batch::new(vec![Vector::from_values(LogicalType::BigInt, &[id])], 1);
        let mut reply = select.execute_named(vec![WireColumn::new("id", LogicalType::BigInt)], &one).unwrap();
        assert_eq!(reply.next_batch().unwrap().unwrap().column(0).get(0).to_string(), format!("n{id}"));
    }
    let two = Batch::new(vec![Vector::from_values(LogicalType::BigInt, &[1i64, 2])], 2);
    let error = select.execute_named(vec![WireColumn::new("id", LogicalType::BigInt)], &two).err().unwrap();
    assert_eq!(error.sqlstate(), "0A000");
    assert_eq!(client.prepare("SELECT x FROM nowhere").err().unwrap().sqlstate(), "42P01");
}

fn numbers(rows: std::ops::Range<i64>) -> Batch {
    let values: Vec<i64> = rows.collect();
    let texts: Vec<Value> = values.iter().map(|v| Value::Varchar(format!("number {v}"))).collect();
    let texts = Vector::from_sql_values(LogicalType::Varchar, &texts).unwrap();
    Batch::new(vec![Vector::from_values(LogicalType::BigInt, &values), texts], values.len())
}

fn number_columns() -> Vec<WireColumn> {
    vec![WireColumn::new("n", LogicalType::BigInt), WireColumn::new("s", LogicalType::Varchar)]
}

#[test]
fn appended_rows_are_there_all_or_not_at_all() {
    let server = Server::open();
    let client = server.client();
    client.query("CREATE TABLE t (n BIGINT CHECK (n < 300000), s VARCHAR, d INTEGER DEFAULT 7)").unwrap();
    let append = || client.append(&["t"], &["n", "s"], number_columns()).unwrap();
    let mut appender = append();
    for part in 0..100 {
        appender.push(numbers(part * 2000..(part + 1) * 2000)).unwrap();
    }
    assert_eq!(count(&server.client(), "SELECT count(*) FROM t"), "BigInt(0)", "not before the end");
    assert_eq!(appender.finish().unwrap(), 200_000);
    let all = "SELECT count(*), sum(n), min(s), max(d) FROM t";
    let expected = count(&client, all);
    assert!(expected.starts_with("BigInt(200000)"), "{expected}");
    // Dropped before its end.
    let mut appender = append();
    appender.push(numbers(0..150_000)).unwrap();
    drop(appender);
    // Rows that the table does not take, after many that it does.
    let mut appender = append();
    for part in 0..200 {
        if appender.push(numbers(part * 2000..(part + 1) * 2000)).is_err() {
            break;
        }
    }
    assert_eq!(appender.finish().unwrap_err().sqlstate(), "23514");
    assert_eq!(count(&client, all), expected);
    let error = client.append(&["nowhere"], &[], number_columns()).unwrap().finish().unwrap_err();
    assert_eq!(error.sqlstate(), "42P01");
}

#[test]
fn much_is_sent_while_results_are_open() {
    let server = Server::open();
    let client = server.client();
    client.query("CREATE TABLE t (n BIGINT, s VARCHAR)").unwrap();
    let mut reply =
        client.query("SELECT range, 'a text that takes some room ' || range FROM range(2000000)").unwrap();
    reply.next_batch().unwrap();
    let mut appender = client.append(&["t"], &[], number_columns()).unwrap();
    for part in 0..300 {
        appender.push(numbers(part * 2000..(part + 1) * 2000)).unwrap();
        if part % 50 == 0 {
            reply.next_batch().unwrap();
        }
    }
    assert_eq!(appender.finish().unwrap(), 600_000);
    while reply.next_batch().unwrap().is_some() {}
}

#[test]
fn registered_tables_are_seen_by_their_session() {
    let server = Server::open();
    let client = server.client();
    let mut table = client.register("mine", number_columns()).unwrap();
    table.push(numbers(0..10_000)).unwrap();
    assert_eq!(table.finish().unwrap(), 10_000);
    assert_eq!(count(&client, "SELECT count(*), sum(n)::BIGINT FROM mine"), "BigInt(10000) BigInt(49995000)");
    assert!(server.client().query("FROM mine").is_err());
    client.unregister("mine").unwrap();
    assert!(client.query("FROM mine").is_err());
}

#[test]
fn rows_that_are_wider_than_a_chunk_go_both_ways() {
    let server = Server::open();
    let client = Client::connect(&format!("inlay://ana@{}/?chunk_size=65536", server.address)).unwrap();
    assert_eq!(client.ready().chunk_size, 65_536);
    let (_, rows) = fetched(&client, "SELECT repeat('x', 3000000) AS s FROM range(3)");
    assert!(rows.len() == 3 && rows.iter().all(|row| row.len() > 3_000_000));
    client.query("CREATE TABLE t (s VARCHAR)").unwrap();
    let mut appender = client.append(&["t"], &[], vec![WireColumn::new("s", LogicalType::Varchar)]).unwrap();
    let wide = Vector::from_sql_values(LogicalType::Varchar, &[Value::Varchar("y".repeat(1 << 22))]).unwrap();
    appender.push(Batch::new(vec![wide], 1)).unwrap();
    assert_eq!(appender.finish().unwrap(), 1);
    assert_eq!(count(&client, "SELECT length(s) FROM t"), "BigInt(4194304)");
    let long = format!("SELECT length('{}')", "z".repeat(200_000));
    assert_eq!(count(&client, &long), "BigInt(200000)");
}

#[test]
fn passwords_and_tokens_let_in_and_others_do_not() {
    let server = Server::start(|hello| match hello.user.as_str() {
        "ana" => Admission::Scram(Verifier::new("opensesame", b"some salt", 64)),
        "robot" => Admission::Token,
        other => Admission::Scram(Verifier::nobody(other, b"secret")),
    });
    let connect = |login: &str| Client::connect(&format!("inlay://{login}@{}/{}", server.address, ""));
    assert_eq!(count(&connect("ana:opensesame").unwrap(), "SELECT 1"), "Integer(1)");
    for wrong in ["ana:opensesam", "ana", "eve:opensesame"] {
        assert_eq!(connect(wrong).err().unwrap().sqlstate(), "28P01", "{wrong}");
    }
    let with_token =
        |token: &str| Client::connect(&format!("inlay://robot@{}/?token={token}", server.address));
    with_token("t0ken").unwrap().ping().unwrap();
    assert_eq!(with_token("token").err().unwrap().sqlstate(), "42501");
}

/// The bytes of a login that is let in.
fn login() -> Vec<u8> {
    let hello = Hello {
        versions: (1, 1),
        chunk_size: 1 << 20,
        features: 3,
        user: "ana".into(),
        database: String::new(),
        application: String::new(),
        settings: Vec::new(),
    };
    let mut bytes = inlay_protocol::MAGIC.to_vec();
    Frame::Hello(hello).write(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn strangers_are_told_and_harm_nobody() {
    let server = Server::open();
    let client = server.client();
    let send = |bytes: &[u8]| {
        let mut socket = TcpStream::connect(server.address).unwrap();
        let mut answer = Vec::new();
        // The server may have closed the connection before all was written, or read.
        let _ = socket.write_all(bytes).and_then(|()| socket.shutdown(Shutdown::Write));
        let _ = socket.read_to_end(&mut answer);
        answer
    };
    assert!(!send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").is_empty());
    let mut large = inlay_protocol::MAGIC.to_vec();
    large.extend([1, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
    let refused = send(&large);
    assert!(String::from_utf8_lossy(&refused).contains("above the limit of 4096"), "{refused:?}");
    let mut unknown = login();
    unknown.extend([0x7F, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert!(String::from_utf8_lossy(&send(&unknown)).contains("kind 0x7f"));
    // Bytes that changed on the way, hundreds of connections of them.
    let mut valid = login();
    Frame::Query { window: 0, text: "SELECT range, 'x' || range FROM range(100)".into() }
        .write(1, &mut valid)
        .unwrap();
    Frame::Prepare { statement: 1, text: "SELECT ?".into() }.write(2, &mut valid).unwrap();
    Frame::Cancel.write(1, &mut valid).unwrap();
    Frame::Goodbye(String::new()).write(0, &mut valid).unwrap();
    let mut state = 12345u64;
    for _ in 0..300 {
        let mut bytes = valid.clone();
        for _ in 0..2 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] = (state >> 20) as u8;
        }
        send(&bytes);
    }
    assert_eq!(count(&client, "SELECT 1"), "Integer(1)");
    server.until(|| server.gate.sessions.len() == 1);
}

#[test]
fn a_client_that_is_gone_leaves_nothing_behind() {
    let server = Server::open();
    let client = server.client();
    client.query("CREATE TABLE t (n BIGINT, s VARCHAR)").unwrap();
    // In the middle of a result, of a statement without rows, and of rows that it sends.
    let mut results = login();
    let endless = "SELECT range * 2 FROM range(1000000000000)";
    Frame::Query { window: 0, text: endless.into() }.write(1, &mut results).unwrap();
    let mut counting = login();
    let text = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3"
        .to_string();
    Frame::Query { window: 0, text }.write(1, &mut counting).unwrap();
    let mut appending = login();
    let append = Frame::Append { table: vec!["t".into()], names: Vec::new(), columns: number_columns() };
    append.write(1, &mut appending).unwrap();
    let mut chunk = Vec::new();
    inlay_protocol::frame::put_frame(&mut chunk, inlay_protocol::frame::Kind::Chunk, 1, |out| {
        let types = [LogicalType::BigInt, LogicalType::Varchar];
        inlay_protocol::chunk::ChunkWriter::default().write(
            &types,
            &[numbers(0..2000)],
            inlay_protocol::compression::Compression::None,
            inlay_protocol::column::Effort::Fast,
            out,
        )
    })
    .unwrap();
    appending.extend(&chunk);
    appending.extend(&chunk[..chunk.len() / 2]);
    for bytes in [&results, &counting, &appending] {
        let mut socket = TcpStream::connect(server.address).unwrap();
        socket.write_all(bytes).unwrap();
        let mut some = [0; 64];
        socket.read_exact(&mut some).unwrap();
        assert!(server.gate.sessions.len() >= 2);
        drop(socket);
        server.until(|| server.gate.sessions.len() == 1);
    }
    assert_eq!(count(&client, "SELECT count(*) FROM t"), "BigInt(0)");
}

#[test]
fn a_server_that_is_gone_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        // Half of a login, and the end.
        let (mut socket, _) = listener.accept().unwrap();
        let mut some = [0; 16];
        socket.read_exact(&mut some).unwrap();
        socket.write_all(&inlay_protocol::MAGIC).unwrap();
        socket.write_all(&[0x42, 0, 0, 0, 0]).unwrap();
    });
    let error = Client::connect(&format!("inlay://ana@{address}")).err().unwrap();
    assert!(matches!(error.sqlstate(), "08006"), "{error}");
    server.join().unwrap();
    assert_eq!(Client::connect(&format!("inlay://ana@{address}")).err().unwrap().sqlstate(), "08001");
}

#[test]
fn who_does_not_find_a_server_is_told_where_it_was_looked_for() {
    let failed = |port: u16| match Client::connect(&format!("inlay://127.0.0.1:{port}/?tls=off")) {
        Ok(_) => unreachable!("nobody is there"),
        Err(error) => error.to_string(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let other = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let _ = client.read(&mut [0; 64]);
        client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let told = failed(port);
    assert!(told.contains("HTTP is spoken there") && told.contains("4655"), "{told}");
    other.join().unwrap();
    let told = failed(port);
    assert!(told.contains(&format!("no server answers at 127.0.0.1:{port}")), "{told}");
}

#[test]
fn progress_and_notices_arrive() {
    let server = Server::open();
    let client = Client::connect(&format!("inlay://ana@{}/?progress_ms=10", server.address)).unwrap();
    let running = client.clone();
    let slow = "SELECT count(*) FROM range(60000) a, range(5000) b WHERE (a.range * b.range) % 7 = 3";
    let thread = std::thread::spawn(move || count(&running, slow));
    thread.join().unwrap();
    let (fraction, _, _) = client.progress().expect("a statement that took a while was told of");
    assert!((-1.0..=1.0).contains(&fraction));
    client.ping().unwrap();
}

#[cfg(unix)]
#[test]
fn unix_sockets_work_alike() {
    use std::os::unix::net::{UnixListener, UnixStream};
    let path = std::env::temp_dir().join(format!("inlay-protocol-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let database = Database::open_in_memory().unwrap();
    let gate = OneDatabase {
        database,
        sessions: Sessions::default(),
        admit: |_: &Hello| Admission::Open,
        token: "",
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| listen(&listener, &gate, &stop).unwrap());
        let client = Client::connect(&format!("inlay+unix://{}?user=ana", path.display())).unwrap();
        assert_eq!(count(&client, "SELECT count(*) FROM range(1000)"), "BigInt(1000)");
        drop(client);
        stop.store(true, Ordering::Relaxed);
        drop(UnixStream::connect(&path));
    });
    std::fs::remove_file(&path).unwrap();
}

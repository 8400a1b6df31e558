//! Every kind of error comes out of a statement or a call as the kind that it is. A new kind does not compile until it is said here
//! what raises it.

use crate::support::disk::{self, PATH};
use crate::support::folder::{self, Folder};
use crate::support::sql;
use inlay::external::{Callee, ExternalFunction, FunctionDefinition, FunctionKind, Kept, Parameter};
use inlay::types::{LogicalType, Vector};
use inlay::{Connection, Database, Error, ErrorKind, Host, HostScope, HostTable, Parameters};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

fn connection() -> Connection {
    Database::open_in_memory().unwrap().connect()
}

/// What the last statement of a text fails with, the first one that fails being the last.
fn failure(sql: &str) -> Error {
    let connection = connection();
    connection.execute(sql).expect_err(sql)
}

/// The same on a database with a folder, of which `{}` in the text is the path.
fn failure_in(name: &str, sql: &str, files: &[(&str, &str)]) -> Error {
    let folder = Folder::new(name);
    for (name, content) in files {
        std::fs::write(folder.file(name), content).unwrap();
    }
    failure(&sql.replace("{}", folder.path()))
}

/// A function of the host that fails, or panics.
#[derive(Debug)]
struct Broken {
    panics: bool,
}

impl ExternalFunction for Broken {
    fn call(&self, _args: &[Vector], _len: usize, _kept: &Kept) -> inlay::Result<Vector> {
        assert!(!self.panics, "a defect of the function");
        Err(Error::external("the function does not want to"))
    }
}

fn failure_of_a_function(panics: bool) -> Error {
    let connection = connection();
    let parameters = vec![Parameter::new("x", LogicalType::BigInt)];
    let definition =
        FunctionDefinition::of_host("broken", FunctionKind::Scalar, parameters, LogicalType::BigInt);
    let callee = Callee::Scalar(Arc::new(Broken { panics }));
    connection.database().unwrap().create_function(definition, callee).unwrap();
    connection.execute("SELECT sum(broken(range)) FROM range(10)").unwrap_err()
}

/// A program that wants its statement to end.
struct Impatient;

impl Host for Impatient {
    fn find_table(&self, _name: &str, _scope: HostScope) -> inlay::Result<Option<HostTable>> {
        Ok(None)
    }

    fn is_interrupted(&self) -> bool {
        true
    }
}

const LONG: &str = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range < 0";

/// A server that lets nobody in.
fn not_let_in() -> Error {
    use inlay_protocol::frame::{Frame, Report};
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut bytes = vec![0x89, 0x49, 0x4E, 0x4C, 0x41, 0x59, 0x0D, 0x0A];
        let message = "the password is wrong, or there is no such user".to_string();
        let report = Report { is_fatal: true, sqlstate: *b"28P01", message, ..Report::default() };
        Frame::Error(report).write(0, &mut bytes).unwrap();
        socket.write_all(&bytes).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let error = Database::open(&format!("inlay://ann:x@{address}"), &[]).unwrap_err();
    server.join().unwrap();
    error
}

fn interrupted() -> Error {
    let host: Arc<dyn Host> = Arc::new(Impatient);
    connection().execute_with(LONG, &Parameters::default(), Some(&host)).unwrap_err()
}

fn conflict() -> Error {
    let first = connection();
    first.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)").unwrap();
    let second = first.cursor().unwrap();
    first.execute("BEGIN; UPDATE t SET a = 2").unwrap();
    second.execute("BEGIN; UPDATE t SET a = 3").unwrap_err()
}

fn closed() -> Error {
    let connection = connection();
    connection.close().unwrap();
    connection.execute("SELECT 1").unwrap_err()
}

fn corrupt() -> Error {
    let disk = disk::empty(1);
    let database = disk::open(&disk, &[]).unwrap();
    database.connect().execute("CREATE TABLE t AS SELECT * FROM range(10000); CHECKPOINT").unwrap();
    drop(database);
    let mut files = disk.snapshot();
    // All but what says what file it is.
    files.get_mut(Path::new(PATH)).unwrap().iter_mut().skip(64).for_each(|byte| *byte ^= 0xff);
    disk::open(&disk::holding(files), &[]).map(drop).unwrap_err()
}

fn locked() -> Error {
    let folder = Folder::new("errors-locked");
    let path = folder.file("locked.inlay");
    let mut child = folder::start("crash_processes::holding_process", &format!("hold|{path}"));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| folder::told(&line) == Some("held")));
    let error = sql::open(&path, &[]).map(drop).unwrap_err();
    child.kill().unwrap();
    child.wait().unwrap();
    error
}

/// What raises a kind of error.
fn raised(kind: ErrorKind) -> Error {
    match kind {
        ErrorKind::Syntax => failure("SELEC 1"),
        ErrorKind::UndefinedTable => failure("SELECT * FROM nothing"),
        ErrorKind::UndefinedColumn => failure("SELECT nothing FROM (SELECT 1 AS a)"),
        ErrorKind::UndefinedFunction => failure("SELECT nothing(1)"),
        ErrorKind::Ambiguous => failure("SELECT a FROM (SELECT 1 AS a) x, (SELECT 2 AS a) y"),
        ErrorKind::Duplicate => failure("CREATE TABLE t (a INTEGER); CREATE TABLE t (a INTEGER)"),
        ErrorKind::TypeMismatch => failure("SELECT NOT DATE '2020-01-01'"),
        ErrorKind::Grouping => failure("SELECT a, count(*) FROM (SELECT 1 AS a)"),
        ErrorKind::Windowing => failure("SELECT 1 WHERE row_number() OVER () = 1"),
        ErrorKind::Bind => failure("SELECT * FROM (SELECT 1 AS a) NATURAL JOIN (SELECT 2 AS b)"),
        ErrorKind::InvalidCast => failure("SELECT 'x'::INTEGER"),
        ErrorKind::OutOfRange => failure("SELECT 300::TINYINT"),
        ErrorKind::DivisionByZero => failure("SELECT 1 // 0"),
        ErrorKind::InvalidArgument => failure("SET threads = -1"),
        ErrorKind::SubqueryRows => failure("SELECT (SELECT * FROM range(2))"),
        ErrorKind::NotNull => failure("CREATE TABLE t (a INTEGER NOT NULL); INSERT INTO t VALUES (NULL)"),
        ErrorKind::Unique => failure("CREATE TABLE t (a INTEGER UNIQUE); INSERT INTO t VALUES (1), (1)"),
        ErrorKind::Check => failure("CREATE TABLE t (a INTEGER CHECK (a > 0)); INSERT INTO t VALUES (0)"),
        ErrorKind::ForeignKey => failure(
            "CREATE TABLE p (a INTEGER PRIMARY KEY); CREATE TABLE t (a INTEGER REFERENCES p); INSERT INTO t VALUES (1)",
        ),
        ErrorKind::Cardinality => failure(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER); INSERT INTO t VALUES (1, 1);
             MERGE INTO t USING (VALUES (1, 2), (1, 3)) s(a, b) ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = s.b",
        ),
        ErrorKind::Io => failure_in("errors-io", "SELECT * FROM '{}/nowhere.csv'", &[]),
        ErrorKind::DiskFull => failure("COPY (SELECT * FROM range(100000)) TO '/dev/full' (FORMAT csv)"),
        ErrorKind::Corrupt => corrupt(),
        ErrorKind::Locked => locked(),
        ErrorKind::ReadOnly => {
            let connection = connection();
            connection.set_read_only(true).unwrap();
            connection.execute("CREATE TABLE t (a INTEGER)").unwrap_err()
        }
        ErrorKind::MalformedFile => {
            failure_in("errors-malformed", "SELECT * FROM '{}/a.json'", &[("a.json", "{\"a\": 1")])
        }
        ErrorKind::Interrupted => interrupted(),
        ErrorKind::StatementTimeout => failure(&format!("SET statement_timeout = '20ms'; {LONG}")),
        ErrorKind::FileAccess => failure("SET enable_external_access = false; SELECT * FROM 'a.csv'"),
        ErrorKind::Forbidden => failure(
            "SET enable_external_access = false; CREATE SECRET s (TYPE s3, PROVIDER credential_chain)",
        ),
        ErrorKind::Login => not_let_in(),
        ErrorKind::External => failure_of_a_function(false),
        ErrorKind::OutOfMemory => {
            failure("SET memory_limit = '16MB'; SELECT len(list(range)) FROM range(20000000)")
        }
        ErrorKind::Unsupported => failure("COPY (SELECT 1) TO 'a.b' (FORMAT avro)"),
        ErrorKind::Closed => closed(),
        ErrorKind::Conflict => conflict(),
        ErrorKind::TransactionState => failure("COMMIT"),
        ErrorKind::Internal => failure_of_a_function(true),
    }
}

#[test]
fn every_kind_of_error_comes_out_as_what_it_is() {
    let wrong: Vec<String> = ErrorKind::ALL
        .iter()
        .filter(|kind| cfg!(target_os = "linux") || **kind != ErrorKind::DiskFull)
        .map(|&kind| (kind, raised(kind)))
        .filter(|(kind, error)| error.kind() != *kind || error.sqlstate() != kind.sqlstate())
        .map(|(kind, error)| format!("{} was {}: {error}", kind.name(), error.kind().name()))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_form_that_a_column_cannot_have_is_a_defect_of_who_asks() {
    let connection = connection();
    connection.execute("CREATE TABLE t AS SELECT range AS i FROM range(200000)").unwrap();
    // Rows in memory, and those of a table as it is.
    for sql in ["SELECT 'text' AS s", "SELECT i FROM t"] {
        let error = connection.execute(sql).unwrap().host_column(0, inlay::HostForm::Midnights).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
        assert!(error.to_string().contains("has no form Midnights"), "{error}");
    }
    assert_eq!(
        connection.execute("SELECT 1").unwrap().column(1).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
}

//! psql and psycopg, where they are installed. `INLAY_PSYCOPG` names a Python that has psycopg 3.

use crate::support::server;
use inlay_server::Server;
use std::process::{Command, Stdio};

/// What psql prints, and whether it ended well; nothing where there is no psql.
fn psql(server: &Server, args: &[&str], input: &str) -> Option<(String, String, bool)> {
    let address = server.postgres.unwrap();
    let program = Command::new("psql")
        .args(["-X", "-h", "127.0.0.1", "-U", "tester", "-d", "memory", "-p", &address.port().to_string()])
        .args(args)
        .env("PGCONNECT_TIMEOUT", "20")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut program) = program else {
        eprintln!("psql is not installed: what it would show is not tested");
        return None;
    };
    std::io::Write::write_all(&mut program.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let output = program.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((text(&output.stdout), text(&output.stderr), output.status.success()))
}

#[test]
fn psql_runs_statements() {
    let server = server();
    let Some((out, error, is_good)) = psql(
        &server,
        &["-At"],
        "SELECT 1, NULL, 'é';\nCREATE TABLE t (a INTEGER);\n\\copy t FROM stdin\n1\n2\n\\.\nSELECT sum(a) FROM t;\n",
    ) else {
        return;
    };
    assert_eq!((out.as_str(), error.as_str(), is_good), ("1||é\nCREATE TABLE\nCOPY 2\n3\n", "", true));
    let (_, error, _) = psql(&server, &[], "SELECT 'éé', nothing;").unwrap();
    assert!(error.contains("LINE 1: SELECT 'éé', nothing;\n                     ^"), "{error}");
}

/// V3.
#[test]
fn psql_describes_what_there_is() {
    let server = server();
    let setup = "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR DEFAULT 'x' NOT NULL); CREATE VIEW v AS FROM t; CREATE INDEX i ON t (b); CREATE SEQUENCE s; CREATE TABLE u (a INTEGER REFERENCES t(a), l TEXT[]); CREATE MACRO twice(x) AS x * 2; CREATE TYPE mood AS ENUM ('ok');";
    if psql(&server, &[], setup).is_none() {
        return;
    }
    let mut wrong = String::new();
    for command in [
        "\\d", "\\d t", "\\d v", "\\d i", "\\d s", "\\dt", "\\dv", "\\di", "\\ds", "\\dn", "\\df", "\\l",
        "\\du", "\\dT",
    ] {
        for form in ["", "+"] {
            let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
            let command = format!("{name}{form} {rest}");
            let (out, error, is_good) =
                psql(&server, &["-v", "ON_ERROR_STOP=1", "-c", command.trim()], "").unwrap();
            if !is_good || !error.is_empty() {
                wrong.push_str(&format!("{command}: {error}\n{out}\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let (out, ..) = psql(&server, &["-c", "\\d t"], "").unwrap();
    for wanted in ["integer", "not null", "Indexes:", "\"t_pkey\" PRIMARY KEY, btree (a)", "\"i\" btree"] {
        assert!(out.contains(wanted), "{wanted}: {out}");
    }
    let (out, ..) = psql(&server, &["-c", "\\d u"], "").unwrap();
    assert!(out.contains("FOREIGN KEY (a) REFERENCES t(a)") && out.contains("character varying[]"), "{out}");
    for (command, wanted) in [("\\df", "twice"), ("\\dT", "mood"), ("\\di", "t_pkey")] {
        let (out, ..) = psql(&server, &["-c", command], "").unwrap();
        assert!(out.contains(wanted), "{command}: {out}");
    }
}

/// Runs a script of a client, where the client is installed; `INLAY_PSYCOPG` names the Python that has them.
fn runs(server: &Server, script: &str) {
    let python = std::env::var("INLAY_PSYCOPG").unwrap_or_else(|_| "python3".to_string());
    let script = format!("{}/tests/it/{script}", env!("CARGO_MANIFEST_DIR"));
    let port = server.postgres.unwrap().port().to_string();
    let Ok(output) = Command::new(python).args([&script, &port]).output() else {
        eprintln!("Python is not installed: what {script} would show is not tested");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).trim().to_string();
    if said == "absent" {
        eprintln!("a client is not installed: what {script} would show is not tested");
        return;
    }
    assert_eq!(said, "fine", "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn psycopg_reads_and_writes() {
    runs(&server(), "with_psycopg.py");
}

#[test]
fn sqlalchemy_reflects() {
    runs(&server(), "with_sqlalchemy.py");
}

#[test]
fn asyncpg_reads_and_writes() {
    runs(&server(), "with_asyncpg.py");
}

#[test]
fn odbc_lists_and_reads() {
    runs(&server(), "with_odbc.py");
}

/// V4, and DatabaseMetaData. `INLAY_PGJDBC` names the driver's archive, if Debian's is not there.
#[test]
fn jdbc_reads_and_writes() {
    let jar = std::env::var("INLAY_PGJDBC").unwrap_or_else(|_| "/usr/share/java/postgresql.jar".to_string());
    let server = server();
    let port = server.postgres.unwrap().port().to_string();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/WithJdbc.java");
    let output = Command::new("java").args(["-cp", &jar, program, &port, "main"]).output();
    let Some(output) = output.ok().filter(|_| std::path::Path::new(&jar).exists()) else {
        eprintln!("Java or its driver is not installed: what it would show is not tested");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).trim().to_string();
    assert_eq!(said, "fine", "{}", String::from_utf8_lossy(&output.stderr));
}

/// Its own tables, in its own three protocols.
#[test]
fn pgbench_runs() {
    let server = server();
    let port = server.postgres.unwrap().port().to_string();
    let pgbench = |more: &[&str]| {
        let place = ["-h", "127.0.0.1", "-p", &port, "-U", "tester"];
        Command::new("pgbench").args(place).args(more).arg("memory").output()
    };
    let Ok(made) = pgbench(&["-i", "-s", "1", "-q"]) else {
        eprintln!("pgbench is not installed: what it would show is not tested");
        return;
    };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for mode in ["simple", "extended", "prepared"] {
        for kind in [&["-S"][..], &["--max-tries=1000"]] {
            let base = ["-n", "-t", "20", "-c", "2", "-M", mode];
            let output = pgbench(&[&base[..], kind].concat()).unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success() && said.contains("processed: 40/40"), "{mode}: {said}");
        }
    }
}

//! What is served and how: files to be read alone, certificates.

use crate::support::{Postgres, options, request};
use inlay_server::{Options, Server};
use std::path::PathBuf;
use std::process::Command;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("inlay-served-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn files_are_served_to_be_read() {
    let folder = folder("read");
    let file = folder.join("shop.inlay").to_string_lossy().into_owned();
    let database = inlay::Database::open(&file, &[]).unwrap();
    database.connect().execute("CREATE TABLE t AS SELECT 42 AS a").unwrap();
    drop(database);
    let server =
        Server::start(Options { files: vec![file.clone()], is_read_only: true, ..options() }).unwrap();
    let mut client = Postgres::with(&server, &[("user", "tester"), ("database", "shop")]);
    assert_eq!(client.said("SELECT a FROM t"), "(42) SELECT 1 I");
    for sql in ["INSERT INTO t VALUES (1)", "CREATE TABLE u (a INTEGER)", "DROP TABLE t"] {
        assert_eq!(client.said(sql), "!25006 I", "{sql}");
    }
    let answer = request(&server, "POST", "/insert/t", &["Content-Type: text/csv"], "a\n1\n");
    assert_eq!(answer.status, 403, "{}", answer.text());
    drop(client);
    server.stop();
    std::fs::remove_dir_all(folder).unwrap();
    assert!(Options { is_read_only: true, ..options() }.check().is_err());
}

#[test]
fn two_files_of_one_name_are_refused_in_words() {
    let folder = folder("names");
    std::fs::create_dir_all(folder.join("b")).unwrap();
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let files = vec![path("shop.inlay"), path("b/shop.inlay")];
    let message = match Server::start(Options { files, ..options() }) {
        Ok(_) => panic!("two databases of one name"),
        Err(error) => error.to_string(),
    };
    assert!(message.contains("b/shop.inlay") && !message.contains("ATTACH"), "{message}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// V7, with a certificate that the server made itself.
#[test]
fn connections_are_encrypted_by_certificates_that_change() {
    let folder = folder("tls");
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (cert, key) = (path("cert.pem"), path("key.pem"));
    let server = Server::start(Options {
        tls_cert: Some(cert.clone()),
        tls_key: Some(key.clone()),
        tls_self_signed: true,
        ..options()
    })
    .unwrap();
    let port = server.postgres.unwrap().port();
    let psql = |database: &str, more: &str| {
        let place =
            format!("host=localhost hostaddr=127.0.0.1 port={port} user=tester dbname={database} {more}");
        let program = Command::new("psql").args(["-XAt", &place, "-c", "SELECT 42"]).output();
        program.ok().map(|output| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (text(&output.stdout), text(&output.stderr))
        })
    };
    let verified = format!("sslmode=verify-full sslrootcert={cert}");
    let Some((out, error)) = psql("memory", &verified) else {
        eprintln!("psql is not installed: what it would show is not tested");
        return;
    };
    assert_eq!((out.as_str(), error.as_str()), ("42\n", ""));
    // What is wrong can be read, encrypted or not.
    for mode in ["sslmode=require", "sslmode=disable"] {
        let (_, error) = psql("nowhere", mode).unwrap();
        assert!(error.contains("database \"nowhere\" does not exist"), "{mode}: {error}");
    }
    // HTTP at the same certificate.
    let address = format!("https://localhost:{}/query", server.http.unwrap().port());
    let curl = |cert: &str| {
        Command::new("curl").args(["-sS", "--cacert", cert, "-d", "SELECT 42 AS a", &address]).output()
    };
    if let Ok(output) = curl(&cert) {
        assert!(String::from_utf8_lossy(&output.stdout).contains("42"), "{output:?}");
    }
    // Another certificate: whoever trusts the old one does not come in any more.
    let old = path("old.pem");
    std::fs::rename(&cert, &old).unwrap();
    std::fs::remove_file(&key).unwrap();
    let maker = Server::start(Options {
        tls_cert: Some(cert.clone()),
        tls_key: Some(key),
        tls_self_signed: true,
        ..options()
    });
    drop(maker.unwrap());
    assert_eq!(psql("memory", &format!("sslmode=verify-full sslrootcert={old}")).unwrap().0, "42\n");
    server.reload().unwrap();
    assert_eq!(psql("memory", &verified).unwrap().0, "42\n");
    let (_, error) = psql("memory", &format!("sslmode=verify-full sslrootcert={old}")).unwrap();
    assert!(error.contains("certificate verify failed"), "{error}");
    std::fs::write(&cert, "nothing").unwrap();
    assert!(server.reload().is_err());
    assert_eq!(psql("memory", "sslmode=require").unwrap().0, "42\n");
    server.stop();
    std::fs::remove_dir_all(folder).unwrap();
}

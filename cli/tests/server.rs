//! `inlay serve` and the shell of a database there, as processes.

#![cfg(all(unix, feature = "serve"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test program: it fails")]

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A server of a file in a folder of its own.
struct Server {
    process: Child,
    address: String,
    folder: PathBuf,
}

impl Server {
    fn start(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("inlay-serve-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self::at(folder)
    }

    fn at(folder: PathBuf) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_inlay"))
            .args([
                "serve",
                "shop.inlay",
                "--native-port",
                "0",
                "--postgres-port",
                "off",
                "--http-port",
                "off",
            ])
            .args(["--socket-dir", &folder.display().to_string()])
            .current_dir(&folder)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap()).lines();
        let ready = said.find(|line| line.as_ref().unwrap().contains("ready")).unwrap().unwrap();
        let address = ready.split("native=").nth(1).unwrap().split(' ').next().unwrap().to_string();
        // What it says does not stop it.
        std::thread::spawn(move || said.for_each(drop));
        Self { process, address, folder }
    }

    /// What the shell prints and says of it.
    fn shell(&self, address: &str, script: &str) -> (String, String) {
        let mut shell = Command::new(env!("CARGO_BIN_EXE_inlay"))
            .args([address, "-list", "-noheader"])
            .env("HOME", &self.folder)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = shell.stdin.take().unwrap().write_all(script.as_bytes());
        let output = shell.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    }

    fn said(&self, script: &str) -> String {
        let (out, err) = self.shell(&format!("inlay://ann@{}/shop", self.address), script);
        assert_eq!(err, "", "{out}");
        out
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn the_shell_of_a_database_at_a_server() {
    let server = Server::start("shell");
    let script = "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR);\nINSERT INTO t VALUES (1, 'one'), (2, NULL);\nSELECT sum(a) FROM t;\n";
    assert_eq!(server.said(script), "3\n");
    assert_eq!(server.said(".tables\n"), "t\n");
    let schema = server.said(".schema t\n");
    assert!(schema.contains("CREATE TABLE \"t\""), "{schema}");
    let file = server.folder.join("rows.csv");
    std::fs::write(&file, "3,three\n4,four\n").unwrap();
    assert_eq!(server.said("BEGIN;\nDELETE FROM t;\nROLLBACK;\nSELECT count(*) FROM t;\n"), "2\n");
    let (_, err) = server.shell(&format!("inlay://ann@{}/shop", server.address), "SELECT nothing FROM t;\n");
    assert!(err.contains("line 1: SELECT nothing FROM t") && err.contains('^'), "{err}");
    let (out, _) = server.shell(&format!("inlay://ann:secret@{}/shop", server.address), ".show\n");
    assert!(out.contains(&server.address) && !out.contains("secret"), "{out}");
    let (_, err) = server.shell(&format!("inlay://ann@{}/shop", server.address), ".dump\n");
    assert!(err.contains("over a connection to a server") && err.contains("EXPORT DATABASE"), "{err}");
    let port = server.address.rsplit(':').next().unwrap();
    let socket = server.folder.join(format!("inlay.{port}.sock"));
    let (out, _) = server.shell(&format!("inlay+unix://{}", socket.display()), "SELECT count(*) FROM t;\n");
    assert_eq!(out, "2\n");
}

#[test]
fn what_was_acknowledged_is_there_after_a_server_was_killed() {
    let mut server = Server::start("killed");
    server.said("CREATE TABLE t (a INTEGER);\n");
    for a in 0..20 {
        server.said(&format!("INSERT INTO t VALUES ({a});\n"));
    }
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let folder = std::mem::take(&mut server.folder);
    drop(server);
    let server = Server::at(folder);
    assert_eq!(server.said("SELECT count(*), sum(a) FROM t;\n"), "20|190\n");
}

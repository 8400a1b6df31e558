//! Doors: nothing opens files, sockets or the environment past the module that decides, and one setting shuts all.
//!
//! What statements do with hostile paths is tested by `bindings/python/tests/test_sandbox.py`, which watches the files.

use crate::support::folder::Folder;
use inlay::{Database, Error, Host, HostScope, HostTable, Result, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls by which code gets out.
const CALLS: [&str; 18] = [
    "std::fs::",
    " fs::",
    "(fs::",
    "File::open(",
    "File::create(",
    "File::options(",
    "OpenOptions::new(",
    "read_dir(",
    ".canonicalize(",
    ".try_exists(",
    ".exists()",
    ".is_dir()",
    ".is_file()",
    "TcpStream::",
    "UdpSocket::",
    "env::var",
    "Command::new(",
    "Connection::open",
];

/// Where they stand, and why.
const PLACES: [(&str, &str); 15] = [
    ("inlay-catalog/src/access/", "the module that decides, and what is behind it"),
    (
        "inlay-storage/src/io/real.rs",
        "the disk of databases that the host opens; statements have a guarded one",
    ),
    ("inlay-exec/src/spill/temp_space.rs", "temporary files, in the folder that temp_directory names"),
    ("inlay-exec/src/spill/file.rs", "temporary files"),
    ("inlay-formats/src/files.rs", "asks; temporary files"),
    ("inlay-formats/src/write/mod.rs", "kinds of files that were asked for"),
    (
        "inlay-formats/src/remote/",
        "sockets of URLs that were asked for, the proxy, certificates, the host's credentials",
    ),
    ("inlay-exec/src/pool.rs", "clocks of the process's own threads"),
    ("inlay-types/src/overhead.rs", "memory of this process"),
    ("inlay-types/src/pages", "memory without a name"),
    ("inlay-protocol/src/client/socket.rs", "the server that a program names; no statement gets there"),
    ("inlay-sqlite-files/src/file.rs", "SQLite, which opens what ATTACH and sqlite_scan asked for"),
    ("inlay/src/database/foreign.rs", "the kind of a file that was asked for"),
    ("inlay/src/resources/", "what the machine has"),
    ("inlay/src/settings/machine.rs", "the time zone of the machine"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

#[test]
fn one_module_decides() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.is_dir() {
            sources(&source, &mut files);
        }
    }
    assert!(files.len() > 300, "{} files", files.len());
    let (mut wrong, mut unused) = (Vec::new(), PLACES.map(|(place, _)| place).to_vec());
    for file in files {
        let name = file.strip_prefix(crates).unwrap().display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let code = code.lines().filter(|line| {
            let line = line.trim_start();
            !line.starts_with("//") && !line.starts_with("use ")
        });
        // Files of databases and of Parquet are opened by what asks.
        let own = |line: &str| line.replace("BlockFile::", "").replace("ParquetFile::", "");
        let mut calls = code.filter(|line| CALLS.iter().any(|call| own(line).contains(call))).peekable();
        if calls.peek().is_none() {
            continue;
        }
        match PLACES.iter().find(|(place, _)| name.starts_with(place)) {
            Some((place, _)) => unused.retain(|known| known != place),
            None => wrong.extend(calls.map(|line| format!("{name}: {}", line.trim()))),
        }
    }
    assert!(wrong.is_empty(), "these do not ask inlay_catalog::access:\n{}", wrong.join("\n"));
    assert!(unused.is_empty(), "nothing of the kind is in {unused:?} any more");
}

fn boxed(more: &[(&str, &str)]) -> Result<Database> {
    let mut config = vec![("sandbox".to_string(), Value::Boolean(true))];
    config
        .extend(more.iter().map(|(name, value)| ((*name).to_string(), Value::Varchar((*value).to_string()))));
    Database::open(":memory:", &config)
}

#[test]
fn a_setting_shuts_all_doors() {
    let place = Folder::new("sandbox");
    let path = place.file("x.csv");
    std::fs::write(&path, "a\n1\n").unwrap();
    let connection = boxed(&[]).unwrap().connect();
    let fails = |sql: &str, said: &str| {
        let error = connection.execute(sql).unwrap_err().to_string();
        assert!(error.contains(said), "{sql}: {error}");
    };
    for sql in [
        format!("FROM '{path}'"),
        format!("COPY (SELECT 1) TO '{path}'"),
        format!("ATTACH '{path}' AS a"),
        format!("EXPORT DATABASE '{path}'"),
        format!("FROM glob('{}*')", place.file("")),
        "FROM 'https://example.org/x.csv'".to_string(),
        "FROM 's3://bucket/x.csv'".to_string(),
    ] {
        fails(&sql, "out of reach");
    }
    for sql in
        ["SET threads = 1", "SET sandbox = 'off'", "RESET ALL", "SET python_enable_replacements = true"]
    {
        assert!(connection.execute(sql).is_err(), "{sql}");
    }
    fails("CREATE SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')", "lock_configuration");
    connection.execute("ATTACH ':memory:' AS other; CREATE TABLE other.t AS SELECT 1").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\n1\n");
    // A folder of the stranger's own.
    let connection = boxed(&[("allowed_directories", &place.file(""))]).unwrap().connect();
    assert_eq!(connection.execute(&format!("FROM '{path}'")).unwrap().row_count(), 1);
    assert!(boxed(&[("allow_python", "true")]).is_err());
}

/// A host whose every name is a table.
struct Everything(AtomicUsize);

impl Host for Everything {
    fn find_table(&self, _: &str, scope: HostScope) -> Result<Option<HostTable>> {
        if scope == HostScope::Given {
            return Ok(None);
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Some(HostTable::Query("SELECT 42".to_string())))
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

#[test]
fn variables_of_the_host_are_not_asked_for() {
    let host = Arc::new(Everything(AtomicUsize::new(0)));
    let given: Arc<dyn Host> = Arc::<Everything>::clone(&host);
    let run = |database: &Database, sql: &str| {
        database.connect().execute_with(sql, &inlay::Parameters::default(), Some(&given))
    };
    let open = Database::open_in_memory().unwrap();
    assert_eq!(run(&open, "FROM anything").unwrap().row_count(), 1);
    assert_eq!(host.0.load(Ordering::Relaxed), 1);
    open.connect().execute("SET enable_external_access = false").unwrap();
    for database in [open, boxed(&[]).unwrap()] {
        let error = run(&database, "FROM anything").unwrap_err();
        assert!(matches!(error.root(), Error::UndefinedTable { .. }), "{error}");
    }
    assert_eq!(host.0.load(Ordering::Relaxed), 1);
}

/// Files that an attached database has beside it are its own: log, copies that are not complete.
#[test]
fn a_database_in_an_allowed_folder_is_used_to_the_end() {
    let place = Folder::new("sandbox-attach");
    let connection = boxed(&[("allowed_directories", &place.file(""))]).unwrap().connect();
    let path = place.file("x.inlay");
    connection
        .execute(&format!("ATTACH '{path}' AS x; CREATE TABLE x.t AS SELECT * FROM range(100000) t(i)"))
        .unwrap();
    connection
        .execute("CHECKPOINT x; UPDATE x.t SET i = i + 1; CHECKPOINT x; INSERT INTO x.t VALUES (1)")
        .unwrap();
    connection.execute("DETACH x").unwrap();
    drop(connection);
    let again = Database::open(&path, &[]).unwrap().connect();
    assert_eq!(
        again.execute("SELECT count(*), min(i) FROM t").unwrap().value(0, 0).unwrap(),
        Value::BigInt(100_001)
    );
}

//! A folder that goes away with its test, and this test program started again as another process.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A new folder below the system's, or below `INLAY_TEST_FOLDER`. It stays when the test fails, for who looks into it.
pub struct Folder(PathBuf);

impl Folder {
    /// A new one.
    pub fn new(name: &str) -> Self {
        let root = std::env::var_os("INLAY_TEST_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = root.join(format!("inlay-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Its path.
    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// Path of a file in it.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("kept for a look: {}", self.0.display());
        } else {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// The log that belongs to a database file.
pub fn wal_of(path: &str) -> String {
    format!("{path}.wal")
}

/// Copies a database file and its log as they are now.
pub fn copy_database(from: &str, to: &str) {
    for (from, to) in [(from.to_string(), to.to_string()), (wal_of(from), wal_of(to))] {
        let _ = std::fs::remove_file(&to);
        if Path::new(&from).exists() {
            std::fs::copy(&from, &to).unwrap();
        }
    }
}

/// Variable that holds the arguments of a started process.
pub const ROLE: &str = "INLAY_TEST_ROLE";

/// Starts this test program again to run the test `test` (`module::name`) alone, with `role` as its arguments; its output is piped.
///
/// The test returns at once unless [`role`] is there, so that it does nothing in an ordinary run.
pub fn start(test: &str, role: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The arguments of this process if it was [`start`]ed, apart by `|`.
pub fn role() -> Option<Vec<String>> {
    std::env::var(ROLE).ok().map(|text| text.split('|').map(str::to_string).collect())
}

/// Writes one whole line to the pipe, at once.
pub fn tell(line: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    // libtest has begun a line already, so what is told is marked. Who reads may be gone; then this process dies anyway.
    let _ = out.write_all(format!("@{line}\n").as_bytes());
    let _ = out.flush();
}

/// What a line of a started process tells, if it tells anything.
pub fn told(line: &str) -> Option<&str> {
    line.split_once('@').map(|(_, told)| told.trim_end())
}

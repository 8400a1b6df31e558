//! `COPY t FROM STDIN` of a script: the rows stand behind the statement, up to a line `\.`, as dumps of PostgreSQL have them.
//!
//! They go through a file, of which the statement that runs reads: text (tabs between values, `\N` for NULL) is written as CSV,
//! CSV is taken as it is.

use crate::session::{Failure, said};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How rows are written that stand behind a COPY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// PostgreSQL's text.
    Text,
    /// As the options of the statement say.
    Csv,
}

/// A statement that reads rows from behind it.
#[derive(Debug, PartialEq, Eq)]
pub struct CopyIn {
    /// What stands before the word STDIN, and behind it.
    head: String,
    options: String,
    pub form: Form,
}

impl CopyIn {
    /// The statement, if it is one.
    pub fn of(sql: &str) -> Option<Self> {
        let sql = behind_comments(sql);
        let is_copy = sql.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("copy"));
        let lower = if is_copy { sql.to_ascii_lowercase() } else { return None };
        let is_stdin = |before: &str, (at, word): (usize, &str)| {
            word == "stdin" && before == "from" && lower[..at].ends_with(|c: char| c.is_ascii_whitespace())
        };
        let at = words(&lower).find(|(before, word)| is_stdin(before, *word)).map(|(_, word)| word.0)?;
        let options = lower[at + "stdin".len()..].trim();
        let options = options.strip_prefix("with").unwrap_or(options).trim();
        let form = match options {
            "" | "(format text)" | "(format 'text')" => Form::Text,
            _ => Form::Csv,
        };
        Some(Self { head: sql[..at].to_string(), options: sql[at + "stdin".len()..].to_string(), form })
    }

    /// The statement that reads the rows from a file.
    pub fn statement(&self, path: &Path) -> String {
        let path = inlay::sql::literal(&path.display().to_string());
        match self.form {
            Form::Text => format!(
                "{}{path} (FORMAT csv, HEADER false, DELIMITER ',', QUOTE '\"', ESCAPE '\"', NULL '\\N', \
                 ALLOW_QUOTED_NULLS false, AUTO_DETECT false)",
                self.head
            ),
            Form::Csv => format!("{}{path}{}", self.head, self.options),
        }
    }
}

/// A statement without the comments in front of it, which dumps have.
fn behind_comments(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    loop {
        let behind = match rest.strip_prefix("--") {
            Some(comment) => comment.split_once('\n').map(|(_, behind)| behind),
            None => {
                rest.strip_prefix("/*").and_then(|comment| comment.split_once("*/")).map(|(_, behind)| behind)
            }
        };
        match behind {
            Some(behind) => rest = behind.trim_start(),
            None => return rest,
        }
    }
}

/// Words, each with the one before it and its place.
fn words(text: &str) -> impl Iterator<Item = (&str, (usize, &str))> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut before = "";
    text.split(move |c| !is_word(c)).filter(|word| !word.is_empty()).map(move |word| {
        let at = word.as_ptr() as usize - text.as_ptr() as usize;
        (std::mem::replace(&mut before, word), (at, word))
    })
}

/// A file of rows, which goes when it has been read.
pub struct Rows {
    pub path: PathBuf,
}

impl Drop for Rows {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Rows {
    /// Writes the rows up to the line `\.` into a file, and counts their lines. Behind a failure they are read nevertheless, as
    /// they are no statements.
    pub fn read(reader: &mut impl BufRead, form: Form, lines: &mut usize) -> Result<Self, Failure> {
        let made = new_file();
        let mut failure = None;
        let mut out = match made {
            Ok((rows, file)) => Some((rows, BufWriter::new(file))),
            Err(error) => {
                failure = Some(format!("cannot write the rows of COPY to a temporary file: {error}"));
                None
            }
        };
        let mut line = Vec::new();
        loop {
            line.clear();
            match reader.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => *lines += 1,
                Err(error) => return said(format!("cannot read: {error}")),
            }
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            if text == b"\\." {
                break;
            }
            let Some((_, file)) = &mut out else { continue };
            let written = match form {
                Form::Text => write_text(text, file),
                Form::Csv => file.write_all(&line),
            };
            if let Err(error) = written {
                failure = Some(format!("cannot write the rows of COPY to a temporary file: {error}"));
                out = None;
            }
        }
        let Some((rows, mut file)) = out else { return said(failure.unwrap_or_default()) };
        match file.flush() {
            Ok(()) => Ok(rows),
            Err(error) => said(format!("cannot write the rows of COPY to a temporary file: {error}")),
        }
    }
}

fn new_file() -> std::io::Result<(Rows, File)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("inlay-copy-{}-{number}.csv", std::process::id()));
        match options.open(&path) {
            Ok(file) => return Ok((Rows { path }, file)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 1000 => {}
            Err(error) => return Err(error),
        }
    }
}

/// A line of PostgreSQL's text as one of CSV: every value in quotes but NULL.
fn write_text(line: &[u8], out: &mut impl Write) -> std::io::Result<()> {
    for (index, field) in line.split(|byte| *byte == b'\t').enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        if field == b"\\N" {
            out.write_all(field)?;
            continue;
        }
        out.write_all(b"\"")?;
        let mut bytes = field.iter().copied();
        while let Some(byte) = bytes.next() {
            let byte = if byte == b'\\' { unescaped(&mut bytes) } else { byte };
            if byte == b'"' {
                out.write_all(b"\"")?;
            }
            out.write_all(&[byte])?;
        }
        out.write_all(b"\"")?;
    }
    out.write_all(b"\n")
}

/// The byte that stands behind a backslash.
fn unescaped(bytes: &mut impl Iterator<Item = u8>) -> u8 {
    match bytes.next() {
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'v') => 11,
        Some(other) => other,
        None => b'\\',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_from_standard_input_is_known() {
        let form = |sql: &str| CopyIn::of(sql).map(|copy| copy.form);
        assert_eq!(form("COPY public.t (a, \"b c\") FROM stdin"), Some(Form::Text));
        assert_eq!(form("copy t from STDIN WITH (FORMAT text)"), Some(Form::Text));
        assert_eq!(form("COPY t FROM STDIN WITH CSV HEADER"), Some(Form::Csv));
        assert_eq!(form("COPY t FROM STDIN (FORMAT csv)"), Some(Form::Csv));
        assert_eq!(form("COPY t FROM 'stdin'"), None);
        assert_eq!(form("--\n-- Data; of t\n--\n\n/* COPY */ COPY t FROM stdin"), Some(Form::Text));
        assert_eq!(form("-- COPY t FROM stdin"), None);
        assert_eq!(form("COPY t TO STDOUT"), None);
        assert_eq!(form("SELECT stdin FROM stdin"), None);
        let copy = CopyIn::of("COPY t FROM STDIN (FORMAT csv)").unwrap();
        assert_eq!(copy.statement(Path::new("/a'b")), "COPY t FROM '/a''b' (FORMAT csv)");
    }

    #[test]
    fn text_becomes_csv() {
        let csv = |line: &str| {
            let mut out = Vec::new();
            write_text(line.as_bytes(), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(csv("1\t\\N\ta \"b\"\t"), "\"1\",\\N,\"a \"\"b\"\"\",\"\"\n");
        assert_eq!(csv("a\\tb\\nc\\\\N"), "\"a\tb\nc\\N\"\n");
        assert_eq!(csv("x; DROP TABLE t; --"), "\"x; DROP TABLE t; --\"\n");
    }
}

//! Files and the system: opening, reading, loading, where output goes.

use super::{one, usage};
use crate::output::shell_command;
use crate::session::{Done, Session, home, said};
use inlay::sql;
use std::path::PathBuf;

pub fn open(session: &mut Session, words: &[String]) -> Done {
    let (mut path, mut is_read_only) = (None, false);
    for word in words {
        match word.as_str() {
            "--readonly" | "-readonly" => is_read_only = true,
            option if option.starts_with("--") => {
                return said(format!("there is no option {option}; .open takes --readonly"));
            }
            _ if path.is_some() => return usage("open"),
            word => path = Some(expanded(word)),
        }
    }
    session.reopen(path.as_deref().unwrap_or(":memory:"), is_read_only)
}

pub fn read(session: &mut Session, words: &[String]) -> Done {
    let path = expanded(one("read", words)?);
    let stops = session.settings.bail;
    session.read_file(&path, stops)
}

pub fn cd(session: &mut Session, words: &[String]) -> Done {
    change_directory(session, one("cd", words)?)
}

/// `.cd`, `\cd`.
pub fn change_directory(_: &mut Session, path: &str) -> Done {
    std::env::set_current_dir(expanded(path))
        .or_else(|error| said(format!("cannot change to \"{path}\": {error}")))
}

pub fn system(session: &mut Session, words: &[String]) -> Done {
    match words {
        [] => usage("system"),
        [text] => run_system(session, text),
        words => run_system(session, &words.join(" ")),
    }
}

/// `.shell`, `.system`, `\!`: runs a command, whose output is not the shell's.
pub fn run_system(_: &mut Session, text: &str) -> Done {
    match shell_command(text).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => said(format!("the command ended with {status}")),
        Err(error) => said(format!("cannot run the command: {error}")),
    }
}

pub fn output(session: &mut Session, words: &[String]) -> Done {
    redirect(session, "output", words, false)
}

pub fn once(session: &mut Session, words: &[String]) -> Done {
    if words.is_empty() {
        return usage("once");
    }
    redirect(session, "once", words, true)
}

fn redirect(session: &mut Session, name: &str, words: &[String], is_once: bool) -> Done {
    let place = match words {
        [] => String::new(),
        [word, ..] if word.starts_with('|') => words.join(" "),
        [word] if matches!(word.as_str(), "-e" | "-x") => {
            return said(format!(".{name} {word} would open an editor, which is not there; name a file"));
        }
        [word] => expanded(word),
        _ => return usage(name),
    };
    session
        .output
        .redirect(&place, is_once)
        .or_else(|error| said(format!("cannot write to \"{place}\": {error}")))
}

pub fn backup(session: &mut Session, words: &[String]) -> Done {
    let path = expanded(one("backup", words)?);
    Ok(session.connection.backup(&path)?)
}

pub fn recover(session: &mut Session, words: &[String]) -> Done {
    match words {
        [damaged, new] => session.try_recover(&expanded(damaged), &expanded(new)),
        _ => usage("recover"),
    }
}

pub fn verify(session: &mut Session, words: &[String]) -> Done {
    match words {
        [] => session.try_verify(None),
        [file] => session.try_verify(Some(&expanded(file))),
        _ => usage("verify"),
    }
}

/// `.import FILE TABLE`: appends to the table, or makes it with the columns of the file.
pub fn import(session: &mut Session, words: &[String]) -> Done {
    let words: Vec<&String> = words.iter().filter(|word| *word != "--csv" && *word != "-csv").collect();
    let [file, table] = words.as_slice() else { return usage("import") };
    let path = expanded(file);
    let name = inlay::sql::short_ident(table);
    let (literal, extension) = (sql::literal(&path), path.rsplit('.').next().unwrap_or("").to_lowercase());
    let reader = match (extension.as_str(), &session.settings.separator) {
        ("parquet", _) => format!("read_parquet({literal})"),
        ("json" | "jsonl" | "ndjson", _) => format!("read_json({literal})"),
        (_, Some(separator)) => format!("read_csv({literal}, delim = {})", sql::literal(separator)),
        (_, None) => format!("read_csv({literal})"),
    };
    let known =
        format!("SELECT 1 FROM inlay_tables() WHERE lower(table_name) = lower({})", sql::literal(table));
    let sql = if session.texts(&known)?.is_empty() {
        format!("CREATE TABLE {name} AS SELECT * FROM {reader}")
    } else {
        format!("INSERT INTO {name} SELECT * FROM {reader}")
    };
    session.has_new_names = true;
    session.query(&sql).map(drop)
}

/// A path with the user's home in place of `~`.
fn expanded(path: &str) -> String {
    let rest = if path == "~" { Some("") } else { path.strip_prefix("~/") };
    match (rest, home()) {
        (Some(rest), Some(home)) => {
            let whole: PathBuf = if rest.is_empty() { home } else { home.join(rest) };
            whole.to_string_lossy().into_owned()
        }
        _ => path.to_string(),
    }
}

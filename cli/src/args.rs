//! The command line: a table of options, from which `-help` is made.

use crate::settings::{MODES, Mode};
use std::ffi::OsString;
use std::fmt::Write;

/// What was asked for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    #[default]
    Shell,
    Help,
    Version,
}

/// Something to do instead of reading standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// SQL or commands.
    Text(String),
    /// A script.
    File(String),
    /// Saves what is intact of a damaged file.
    Recover(String, String),
    /// Checks a file, or the database that is open.
    Verify(Option<String>),
    /// Copies the tables of a file of SQLite.
    Import(String),
}

/// The command line, understood.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Args {
    pub asked: Asked,
    pub database: Option<String>,
    pub tasks: Vec<Task>,
    /// A file of SQLite whose tables are copied before anything else.
    pub imports: Option<String>,
    /// Commands before anything else.
    pub before: Vec<String>,
    pub mode: Option<Mode>,
    pub headers: Option<bool>,
    pub separator: Option<String>,
    pub row_separator: Option<String>,
    pub null: Option<String>,
    pub is_read_only: bool,
    pub bails: bool,
    pub is_batch: bool,
    pub is_interactive: bool,
    pub echoes: bool,
    pub init: Option<String>,
    pub has_no_init: bool,
}

/// What an option does.
enum Apply {
    Flag(fn(&mut Args)),
    Value(&'static str, fn(&mut Args, String)),
}

struct CommandLineOption {
    /// Without dashes; others of the same meaning behind it.
    names: &'static [&'static str],
    apply: Apply,
    help: &'static str,
}

const fn option(names: &'static [&'static str], apply: Apply, help: &'static str) -> CommandLineOption {
    CommandLineOption { names, apply, help }
}

const OPTIONS: &[CommandLineOption] = &[
    option(
        &["c", "command", "s"],
        Apply::Value("SQL", |args, text| args.tasks.push(Task::Text(text))),
        "run SQL or a command, and end; may be given several times",
    ),
    option(
        &["f", "file"],
        Apply::Value("FILE", |args, path| args.tasks.push(Task::File(path))),
        "run a script, and end",
    ),
    option(
        &["cmd"],
        Apply::Value("COMMAND", |args, text| args.before.push(text)),
        "run SQL or a command before reading standard input",
    ),
    option(&["readonly"], Apply::Flag(|args| args.is_read_only = true), "open the database to read only"),
    option(&["bail"], Apply::Flag(|args| args.bails = true), "stop at the first error"),
    option(&["batch"], Apply::Flag(|args| args.is_batch = true), "no prompt, even on a terminal"),
    option(
        &["interactive"],
        Apply::Flag(|args| args.is_interactive = true),
        "prompt, even without a terminal",
    ),
    option(&["echo"], Apply::Flag(|args| args.echoes = true), "print statements before they run"),
    option(
        &["init"],
        Apply::Value("FILE", |args, path| args.init = Some(path)),
        "read FILE instead of ~/.inlayrc",
    ),
    option(&["no-init", "norc"], Apply::Flag(|args| args.has_no_init = true), "do not read ~/.inlayrc"),
    option(&["header"], Apply::Flag(|args| args.headers = Some(true)), "show column names"),
    option(&["noheader"], Apply::Flag(|args| args.headers = Some(false)), "do not show column names"),
    option(
        &["separator"],
        Apply::Value("TEXT", |args, text| args.separator = Some(text)),
        "between values in the modes list, csv, tsv and quote",
    ),
    option(
        &["newline"],
        Apply::Value("TEXT", |args, text| args.row_separator = Some(text)),
        "behind rows there",
    ),
    option(&["nullvalue"], Apply::Value("TEXT", |args, text| args.null = Some(text)), "what stands for NULL"),
    option(&["version", "V"], Apply::Flag(|args| args.asked = Asked::Version), "print the version"),
    option(&["help", "h", "?"], Apply::Flag(|args| args.asked = Asked::Help), "print this"),
];

/// What `-help` prints.
pub fn help() -> String {
    let mut text = "Usage: inlay [OPTIONS] [DATABASE] [SQL...]
       inlay ui [FILE...]              an editor, results and charts in the browser
       inlay serve [FILE...]           serve databases to many clients; inlay serve -help
       inlay recover DAMAGED NEW       save what is intact of a damaged file
       inlay verify FILE               read every block of a file and compare checksums
       inlay import FILE [DATABASE]    copy the tables of a file of SQLite; without DATABASE into memory, for this session

DATABASE is a file, made if there is none; without one, the database is in memory. Without SQL, statements are read
from standard input. Options may have one dash or two.

"
    .to_string();
    for option in OPTIONS {
        let (name, value) = match &option.apply {
            Apply::Flag(_) => (option.names[0], ""),
            Apply::Value(value, _) => (option.names[0], *value),
        };
        let also = option
            .names
            .get(1)
            .filter(|_| name.len() == 1)
            .map_or(String::new(), |also| format!(", -{also}"));
        let _ = writeln!(text, "  {:24} {}", format!("-{name}{also} {value}"), option.help);
    }
    let modes: Vec<String> = MODES.iter().map(|(name, ..)| format!("-{name}")).collect();
    let _ = writeln!(
        text,
        "\nModes: {}\n\nExit codes: 0 fine, 1 an error in SQL or a file, 2 a wrong command line.",
        modes.join(" ")
    );
    text
}

/// Understands the arguments behind the program's name.
pub fn parse(args: impl Iterator<Item = OsString>) -> Result<Args, String> {
    let mut parsed = Args::default();
    let mut plain: Vec<String> = Vec::new();
    let mut args = args.map(text_of);
    let mut is_over = false;
    while let Some(arg) = args.next() {
        let arg = arg?;
        if is_over || !arg.starts_with('-') || arg == "-" {
            plain.push(arg);
            continue;
        }
        if arg == "--" {
            is_over = true;
            continue;
        }
        let name = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')).unwrap_or(&arg);
        let (name, given) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (name, None),
        };
        let Some(option) = OPTIONS.iter().find(|option| option.names.contains(&name)) else {
            parsed.mode = Some(Mode::named(name).ok_or_else(|| unknown(&arg, name))?);
            if given.is_some() {
                return Err(format!("-{name} takes no value"));
            }
            continue;
        };
        match (&option.apply, given) {
            (Apply::Flag(_), Some(_)) => return Err(format!("-{name} takes no value")),
            (Apply::Flag(apply), None) => apply(&mut parsed),
            (Apply::Value(_, apply), Some(value)) => apply(&mut parsed, value),
            (Apply::Value(what, apply), None) => match args.next() {
                Some(value) => apply(&mut parsed, value?),
                None => return Err(format!("-{name} needs a value: -{name} {what}")),
            },
        }
    }
    place(&mut parsed, plain)?;
    Ok(parsed)
}

/// Sorts the arguments that are no options.
fn place(parsed: &mut Args, plain: Vec<String>) -> Result<(), String> {
    match plain.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["recover", damaged, new] => {
            parsed.tasks.push(Task::Recover((*damaged).to_string(), (*new).to_string()));
        }
        ["recover", ..] => return Err("recover takes two files: inlay recover DAMAGED NEW".to_string()),
        ["verify", file] => parsed.tasks.push(Task::Verify(Some((*file).to_string()))),
        ["import", file] => parsed.imports = Some((*file).to_string()),
        ["import", file, database] => {
            parsed.database = Some((*database).to_string());
            parsed.tasks.push(Task::Import((*file).to_string()));
        }
        ["import", ..] => {
            return Err(
                "import takes a file of SQLite and a database: inlay import FILE [DATABASE]".to_string()
            );
        }
        ["verify", ..] => return Err("verify takes a file: inlay verify FILE".to_string()),
        [] => {}
        [database, sql @ ..] => {
            parsed.database = Some((*database).to_string());
            parsed.tasks.extend(sql.iter().map(|text| Task::Text((*text).to_string())));
        }
    }
    Ok(())
}

fn text_of(arg: OsString) -> Result<String, String> {
    arg.into_string().map_err(|arg| format!("{arg:?} is not UTF-8"))
}

fn unknown(arg: &str, name: &str) -> String {
    let options = OPTIONS.iter().flat_map(|option| option.names).copied();
    let known = options.chain(MODES.iter().map(|(name, ..)| *name));
    match inlay::near_names(name, known).first() {
        Some(near) => format!("there is no option {arg}; did you mean -{}?", near.trim_matches('"')),
        None => format!("there is no option {arg}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Args, String> {
        parse(args.iter().map(OsString::from))
    }

    #[test]
    fn options_have_one_dash_or_two() {
        for dashes in ["-", "--"] {
            let args =
                parsed(&[&format!("{dashes}csv"), &format!("{dashes}nullvalue"), "x", "a.db", "SELECT 1"])
                    .unwrap();
            assert_eq!((args.mode, args.null.as_deref()), (Some(Mode::Csv), Some("x")));
            assert_eq!(
                (args.database.as_deref(), args.tasks),
                (Some("a.db"), vec![Task::Text("SELECT 1".into())])
            );
        }
        assert_eq!(parsed(&["--separator=;"]).unwrap().separator.as_deref(), Some(";"));
        assert_eq!(parsed(&["--", "-odd.db"]).unwrap().database.as_deref(), Some("-odd.db"));
    }

    #[test]
    fn tasks_keep_their_order() {
        let tasks = parsed(&["-c", "a", "-f", "b", "-c", "c"]).unwrap().tasks;
        assert_eq!(tasks, [Task::Text("a".into()), Task::File("b".into()), Task::Text("c".into())]);
        assert_eq!(parsed(&["recover", "a", "b"]).unwrap().tasks, [Task::Recover("a".into(), "b".into())]);
        assert_eq!(parsed(&["import", "a", "b"]).unwrap().tasks, [Task::Import("a".into())]);
        assert_eq!(parsed(&["import", "a"]).unwrap().imports.as_deref(), Some("a"));
        assert_eq!(parsed(&["verify", "a"]).unwrap().tasks, [Task::Verify(Some("a".into()))]);
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(
            parsed(&["-readonyl"]).unwrap_err(),
            "there is no option -readonyl; did you mean -readonly?"
        );
        assert_eq!(parsed(&["-c"]).unwrap_err(), "-c needs a value: -c SQL");
        assert_eq!(parsed(&["-csv=1"]).unwrap_err(), "-csv takes no value");
        assert!(parsed(&["recover", "a"]).is_err() && parsed(&["verify"]).is_err());
    }

    #[test]
    fn every_option_and_mode_is_in_the_help() {
        let help = help();
        assert!(OPTIONS.iter().all(|option| help.contains(&format!("-{}", option.names[0]))), "{help}");
    }
}

//! Commands for hands that know psql: a backslash, a word, arguments.

use crate::dot;
use crate::session::{Done, Session, said};
use crate::settings::Mode;

/// The commands, with what `\?` says of them.
const COMMANDS: &[(&str, &str)] = &[
    ("\\d [NAME]", "list tables and views, or describe one"),
    ("\\dt [PATTERN]", "list tables"),
    ("\\dv [PATTERN]", "list views"),
    ("\\di [PATTERN]", "list indexes"),
    ("\\ds [PATTERN]", "list sequences"),
    ("\\dn", "list schemas"),
    ("\\df [PATTERN]", "list functions"),
    ("\\l", "list databases"),
    ("\\x", "a value per line, on and off"),
    ("\\timing", "time of statements, on and off"),
    ("\\i FILE", "run a script"),
    ("\\o [FILE]", "where output goes"),
    ("\\c FILE", "open another database"),
    ("\\cd DIRECTORY", "change the working directory"),
    ("\\echo TEXT", "print a text"),
    ("\\! COMMAND", "run a command of the system's shell"),
    ("\\h", "help"),
    ("\\?", "this list"),
    ("\\q", "leave the shell"),
];

/// Runs a command, given without its backslash.
pub fn run(session: &mut Session, text: &str) -> Done {
    if let Some(command) = text.strip_prefix('!') {
        return dot::run_system(session, command.trim());
    }
    let mut words = dot::words(text.trim_end_matches(';'))?;
    if words.is_empty() {
        return said("a command is missing behind the backslash; \\? lists them");
    }
    let name = words.remove(0);
    // `\dt+` shows more in psql; here everything is shown.
    let name = name.trim_end_matches('+');
    let pattern = words.first().map_or("%", String::as_str);
    let rest = words.join(" ");
    match name {
        "d" => match words.first() {
            Some(table) => dot::describe(session, table),
            None => dot::list_relations(session, &["table", "view", "materialized view", "sequence"], "%"),
        },
        "dt" => dot::list_relations(session, &["table"], pattern),
        "dv" => dot::list_relations(session, &["view", "materialized view"], pattern),
        "dm" => dot::list_relations(session, &["materialized view"], pattern),
        "ds" => dot::list_relations(session, &["sequence"], pattern),
        "di" => dot::list_relations(session, &["index"], pattern),
        "dn" => {
            let result = session.query(
                "SELECT schema_name AS name, database_name AS database FROM inlay_schemas() WHERE NOT internal ORDER BY 2, 1",
            )?;
            session.show_table(&result)
        }
        "df" => dot::functions(session, &pattern.replace('*', "%")),
        "l" | "list" => dot::run(session, "databases"),
        "x" => {
            let is_line = session.settings.mode == Mode::Line;
            session.settings.set_mode(if is_line { Mode::Duckbox } else { Mode::Line });
            session.print(&format!("a value per line: {}", if is_line { "off" } else { "on" }))
        }
        "timing" => {
            let is_on = match words.first().map(String::as_str) {
                Some("on") => true,
                Some("off") => false,
                _ => !session.settings.timer,
            };
            dot::set_timer(session, is_on)?;
            session.print(&format!("timing: {}", if is_on { "on" } else { "off" }))
        }
        "i" | "include" => {
            dot::run(session, &format!("read {}", text.split_once(' ').map_or("", |(_, path)| path)))
        }
        "o" | "out" => dot::output(session, &words),
        "c" | "connect" => {
            dot::run(session, &format!("open {}", text.split_once(' ').map_or("", |(_, path)| path)))
        }
        "cd" => dot::change_directory(session, words.first().map_or("~", String::as_str)),
        "echo" | "qecho" => session.print(&rest),
        "q" | "quit" => dot::run(session, "quit"),
        "h" | "help" => dot::run(session, "help"),
        "?" => {
            let lines: Vec<String> =
                COMMANDS.iter().map(|(name, help)| format!("{name:18} {help}")).collect();
            session.print(&lines.join("\n"))
        }
        // Dumps have them around what they run, for shells in which a backslash could do harm.
        "restrict" | "unrestrict" => Ok(()),
        "e" | "edit" | "ef" | "ev" => said("there is no editor; write the statement into a file and \\i it"),
        "copy" => {
            said("there is no \\copy: the database is in this process, and COPY reads and writes its files")
        }
        "set" | "unset" | "pset" => {
            said(format!("there is no \\{name}; .mode and .show are for the shell, SET for the database"))
        }
        "g" | "gx" | "p" | "r" | "w" | "s" | "watch" => {
            said(format!("there is no \\{name}: statements end with a semicolon and run at once"))
        }
        _ => {
            let known = COMMANDS.iter().filter_map(|(name, _)| name[1..].split(' ').next());
            let near = inlay::near_names(name, known);
            let hint = near.first().map(|near| format!("; did you mean \\{}?", near.trim_matches('"')));
            said(format!(
                "there is no command \\{name}{}",
                hint.unwrap_or_else(|| "; \\? lists them".to_string())
            ))
        }
    }
}

//! Commands that begin with a dot.
//!
//! They are data: [`COMMANDS`] has name, arguments, help and function of each, and `.help`, completion, the suggestion
//! of a near name and the page of the manual are made from it. A command may be shortened as far as it is unique.

mod catalog;
mod display;
mod dump;
mod files;
mod session;

pub use catalog::{describe, functions, list_relations};
pub use display::set_timer;
pub use files::{change_directory, output, run_system};

use crate::session::{Done, Failure, Session, said};

/// A command.
pub struct Command {
    /// Without its dot.
    pub name: &'static str,
    /// As `.help` shows them.
    pub arguments: &'static str,
    /// What it does.
    pub help: &'static str,
    pub(crate) run: fn(&mut Session, &[String]) -> Done,
}

const fn command(
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    run: fn(&mut Session, &[String]) -> Done,
) -> Command {
    Command { name, arguments, help, run }
}

/// All commands, in the order of `.help`.
pub static COMMANDS: &[Command] = &[
    command("backup", "FILE", "write a copy of the database into a new file", files::backup),
    command("bail", "on|off", "stop a script at its first error", session::bail),
    command("cd", "DIRECTORY", "change the working directory", files::cd),
    command("changes", "on|off", "show how many rows a statement changed", session::changes),
    command("columns", "TABLE", "list the columns of a table or view", catalog::columns),
    command("databases", "", "list databases and their files", catalog::databases),
    command("decimal_sep", "TEXT|off", "the decimal point of tables", display::decimal_sep),
    command("dump", "[TABLE...]", "print SQL that makes the database again", dump::run),
    command("echo", "on|off", "print statements before they run", session::echo),
    command("exit", "[CODE]", "leave the shell", session::exit),
    command("functions", "[PATTERN]", "list functions with what they do", catalog::functions_command),
    command("headers", "on|off", "show column names", display::headers),
    command("help", "[PATTERN]", "list commands, or those that have PATTERN in them", session::help),
    command("highlight", "on|off", "colours", display::highlight),
    command(
        "import",
        "FILE TABLE",
        "load a CSV, Parquet or JSON file into a table, made if there is none",
        files::import,
    ),
    command("indexes", "[TABLE]", "list indexes", catalog::indexes),
    command("large_number_rendering", "all|footer|off", "say large numbers in words", display::large_numbers),
    command("maxrows", "COUNT", "most rows that duckbox shows; 0: all", display::maxrows),
    command("maxwidth", "COUNT", "most characters of its lines; 0: those of the terminal", display::maxwidth),
    command("mode", "[MODE] [TABLE]", "how answers are shown; .help mode lists the modes", display::mode),
    command("nullvalue", "TEXT", "what stands for NULL", display::nullvalue),
    command("once", "FILE||COMMAND", "where the next answer goes", files::once),
    command("open", "[--readonly] [FILE]", "open another database; without FILE one in memory", files::open),
    command("output", "[FILE||COMMAND]", "where output goes; without FILE to standard output", files::output),
    command("pager", "on|off|auto", "show long output by pages, with $PAGER or less -SR", display::pager),
    command("print", "[TEXT...]", "print a text", session::print),
    command("progress", "on|off", "show a bar while long statements run", session::progress),
    command("prompt", "TEXT [TEXT]", "the prompt, and that of further lines", session::prompt),
    command("quit", "", "leave the shell", session::exit),
    command("read", "FILE", "run a script; - is standard input", files::read),
    command("recover", "DAMAGED NEW", "save what is intact of a damaged file into a new one", files::recover),
    command(
        "schema",
        "[PATTERN]",
        "print the CREATE statements of what is called like PATTERN",
        catalog::schema,
    ),
    command(
        "separator",
        "TEXT [TEXT]",
        "between values, and behind rows, in list, csv, tsv, quote",
        display::separator,
    ),
    command("shell", "COMMAND", "run a command of the system's shell", files::system),
    command("show", "", "show the settings of the shell", session::show),
    command("system", "COMMAND", "run a command of the system's shell", files::system),
    command("tables", "[PATTERN]", "list tables and views", catalog::tables),
    command("thousand_sep", "TEXT|off", "between groups of three digits in tables", display::thousand_sep),
    command("timer", "on|off", "show time, memory and spilled bytes behind each statement", display::timer),
    command(
        "verify",
        "[FILE]",
        "read every block of the database, or a file, and compare checksums",
        files::verify,
    ),
    command("version", "", "print the version", session::version),
    command("views", "[PATTERN]", "list views", catalog::views),
    command(
        "width",
        "COUNT...",
        "widths of the columns of tables; negative: to the right; 0: as needed",
        display::width,
    ),
];

/// Commands of other shells that this one does without, and why.
const REFUSED: &[(&str, &str)] = &[
    ("edit", "there is no editor; write the statement into a file and .read it"),
    ("excel", "COPY .. TO 'file.csv' writes a file that spreadsheets open"),
    ("explain", "plans are shown as lines without being asked"),
    ("load", "there are no extensions; everything is built in"),
    ("save", "write .backup FILE"),
    ("clone", "write .backup FILE"),
    ("restore", "write .open FILE"),
    ("timeout", "write SET statement_timeout = '5s'"),
    ("log", "there is no log of statements"),
    ("rows", "answers have rows; .mode line shows one value per line"),
];

/// Other names of commands.
const ALIASES: &[(&str, &str)] = &[
    ("header", "headers"),
    ("indices", "indexes"),
    ("constant", "highlight"),
    ("import_csv", "import"),
    ("progress_bar", "progress"),
    ("h", "help"),
    ("q", "quit"),
];

/// Runs a command, given without its dot.
pub fn run(session: &mut Session, text: &str) -> Done {
    let mut words = words(text)?;
    if words.is_empty() {
        return said("a command is missing behind the dot; .help lists them");
    }
    let name = words.remove(0).to_lowercase();
    let command = find(&name)?;
    // What the system's shell gets keeps its quotes.
    if matches!(command.name, "shell" | "system") {
        let rest = text.trim_start().split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim());
        words = if rest.is_empty() { Vec::new() } else { vec![rest.to_string()] };
    }
    (command.run)(session, &words)
}

/// The command of a name or of the beginning of one.
fn find(name: &str) -> Result<&'static Command, Failure> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| *name);
    if let Some(command) = COMMANDS.iter().find(|command| command.name == name) {
        return Ok(command);
    }
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return said(format!("there is no .{name}: {why}"));
    }
    let begun: Vec<&Command> = COMMANDS.iter().filter(|command| command.name.starts_with(name)).collect();
    match begun.as_slice() {
        [command] => Ok(command),
        [] => {
            let near = inlay::near_names(name, COMMANDS.iter().map(|command| command.name));
            let near = near.first().map(|near| format!("; did you mean .{}?", near.trim_matches('"')));
            said(format!(
                "there is no command .{name}{}",
                near.unwrap_or_else(|| "; .help lists them".to_string())
            ))
        }
        several => {
            let names: Vec<String> = several.iter().map(|command| format!(".{}", command.name)).collect();
            said(format!(".{name} could be {}", names.join(" or ")))
        }
    }
}

/// The words of a command; quotes hold words together, and backslashes escape in `"..."`.
pub fn words(text: &str) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let Some(&first) = chars.peek() else { return Ok(words) };
        let mut word = String::new();
        if first == '"' || first == '\'' {
            chars.next();
            loop {
                match chars.next() {
                    None => return said(format!("the quote {first} does not end")),
                    Some(c) if c == first => {
                        // Twice, it is itself.
                        if chars.next_if_eq(&first).is_none() {
                            break;
                        }
                        word.push(first);
                    }
                    Some('\\') if first == '"' => word.push(match chars.next() {
                        Some('n') => '\n',
                        Some('t') => '\t',
                        Some('r') => '\r',
                        Some('0') => '\0',
                        Some(c) => c,
                        None => '\\',
                    }),
                    Some(c) => word.push(c),
                }
            }
        } else {
            while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
                word.push(c);
            }
        }
        words.push(word);
    }
}

/// How a command is used.
fn usage<T>(name: &str) -> Result<T, Failure> {
    let arguments =
        COMMANDS.iter().find(|command| command.name == name).map_or("", |command| command.arguments);
    said(format!("usage: .{name} {arguments}").trim_end().to_string())
}

/// The one argument that a command takes.
fn one<'a>(name: &str, words: &'a [String]) -> Result<&'a str, Failure> {
    match words {
        [word] => Ok(word),
        [_, _, ..] => said(format!(
            ".{name} takes one argument; one with spaces goes in quotes: .{name} '{}'",
            words.join(" ")
        )),
        [] => usage(name),
    }
}

/// The argument `on` or `off`.
fn switch(name: &str, words: &[String]) -> Result<bool, Failure> {
    match one(name, words)?.to_lowercase().as_str() {
        "on" | "yes" | "true" | "1" => Ok(true),
        "off" | "no" | "false" | "0" => Ok(false),
        other => said(format!(".{name} is on or off, not {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        words(text).unwrap()
    }

    #[test]
    fn words_are_between_blanks_or_in_quotes() {
        assert_eq!(split("mode  csv"), ["mode", "csv"]);
        assert_eq!(split(r#"sep "\t" 'a b' 'it''s'"#), ["sep", "\t", "a b", "it's"]);
        assert_eq!(split("once |sort -r"), ["once", "|sort", "-r"]);
        assert!(words("print 'x").is_err() && split("").is_empty());
    }

    #[test]
    fn commands_may_be_shortened_and_mistakes_are_named() {
        assert_eq!(find("tab").unwrap().name, "tables");
        assert_eq!(find("header").unwrap().name, "headers");
        let message = |name: &str| match find(name) {
            Err(Failure::Said(message)) => message,
            _ => String::new(),
        };
        assert_eq!(message("tabels"), "there is no command .tabels; did you mean .tables?");
        assert!(message("s").starts_with(".s could be .schema or .separator"), "{}", message("s"));
        assert!(message("edit").contains("no editor"));
    }

    #[test]
    fn commands_are_sorted_and_have_help() {
        assert!(COMMANDS.is_sorted_by_key(|command| command.name));
        assert!(COMMANDS.iter().all(|command| !command.help.is_empty() && !command.help.ends_with('.')));
    }
}

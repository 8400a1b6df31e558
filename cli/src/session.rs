//! A session: the database, how answers are shown, and what has gone wrong so far.
//!
//! Pieces of text come from a terminal, a pipe, a file or the command line; each is a statement or a command. An error
//! is reported on standard error with its place in the text; a script goes on behind it unless told otherwise.

use crate::EXIT_ERROR;
use crate::args::Args;
use crate::copy_in::{CopyIn, Rows};
use crate::interrupt;
use crate::output::{self, Output};
use crate::password;
use crate::progress::Watch;
use crate::render::{Answer, Screen, write_result};
use crate::settings::{Mode, Pager, Settings};
use crate::split::{Piece, Splitter};
use crate::timer::Timer;
use crate::{dot, pager, psql};
use inlay::{
    Command, Connection, Database, Error, ErrorKind, Host, Parameters, QueryResult, ResultKind, Value,
};
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Scripts that read scripts, so deep.
const READ_DEPTH_MAX: usize = 64;
/// What a file is attached as while `inlay import` copies it.
const IMPORTED: &str = "inlay_imported_file";

/// Why a piece did not work.
#[derive(Debug)]
pub enum Failure {
    /// The engine says so.
    Sql(Error),
    /// The shell says so.
    Said(String),
    /// Output could not be written.
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // Rows that are written while they are read may fail to be read.
        error.downcast::<Error>().map_or_else(Self::Output, Self::Sql)
    }
}

/// What a piece of work gives: nothing, or a failure to report.
pub type Done = Result<(), Failure>;

/// The failure of a shell that says why.
pub fn said<T>(message: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Said(message.into()))
}

/// Where text comes from.
#[derive(Debug, Clone, Default)]
struct Source {
    /// The file.
    name: Option<String>,
    /// Whether the first error ends it.
    stops: bool,
}

/// The shell's state.
pub struct Session {
    pub connection: Connection,
    /// As it was given, `:memory:`; of a server the address without a password. It is shown.
    pub path: String,
    pub settings: Settings,
    pub output: Output,
    pub is_interactive: bool,
    /// Whether names may have changed since completion asked last.
    pub has_new_names: bool,
    has_colours: bool,
    total_changes: u64,
    read_depth: usize,
    /// The exit code so far.
    code: u8,
    is_over: bool,
}

impl Session {
    /// Opens the database of a command line.
    pub fn open(args: &Args, is_interactive: bool) -> Result<Self, Error> {
        let path = args.database.clone().unwrap_or_else(|| ":memory:".to_string());
        let output = Output::standard();
        let mut settings = Settings::new(output.is_terminal());
        if let Some(mode) = args.mode {
            settings.set_mode(mode);
        }
        settings.headers = args.headers.unwrap_or(settings.headers);
        settings.separator = args.separator.clone();
        settings.row_separator = args.row_separator.clone();
        settings.null = args.null.clone();
        (settings.bail, settings.echo) = (args.bails, args.echoes);
        let connection = connect(&path, args.is_read_only)?;
        Ok(Self {
            path: shown(&connection, &path),
            connection,
            settings,
            output,
            is_interactive,
            has_new_names: true,
            has_colours: has_colours(),
            total_changes: 0,
            read_depth: 0,
            code: 0,
            is_over: false,
        })
    }

    /// Opens another database in place of this one.
    pub fn reopen(&mut self, path: &str, is_read_only: bool) -> Done {
        let connection = connect(path, is_read_only)?;
        let path = shown(&connection, path);
        std::mem::replace(&mut self.connection, connection).close()?;
        (self.path, self.has_new_names) = (path, true);
        Ok(())
    }

    /// Whether nothing more is to be done.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Ends the session behind this piece.
    pub fn leave(&mut self, code: u8) {
        (self.is_over, self.code) = (true, code.max(self.code));
    }

    /// Ends the session if there was an error.
    pub fn stop_after_error(&mut self) {
        self.is_over |= self.code != 0;
    }

    /// Writes what is left; gives the exit code.
    pub fn finish(mut self) -> u8 {
        let _ = self.output.close();
        // No statement runs, so that nothing keeps it from closing.
        let _ = self.connection.close();
        self.code
    }

    /// Runs the file of the user's settings.
    pub fn read_init_file(&mut self, args: &Args) {
        let (path, is_wanted) = match &args.init {
            Some(path) => (PathBuf::from(path), true),
            None if args.has_no_init => return,
            None => match home() {
                Some(home) => (home.join(".inlayrc"), false),
                None => return,
            },
        };
        if is_wanted || path.exists() {
            let outcome = self.read_file(&path.to_string_lossy(), false);
            self.settle(outcome, &Source::default());
        }
    }

    /// Runs text of the command line, which ends at the first error if it has a name.
    pub fn run_text(&mut self, text: &str, name: Option<&str>) {
        let source = Source { name: None, stops: name.is_some() };
        self.run_reader(text.as_bytes(), &source);
    }

    /// Runs a script, which ends at the first error.
    pub fn run_file(&mut self, path: &str) {
        let outcome = self.read_file(path, true);
        self.settle(outcome, &Source { name: None, stops: true });
    }

    /// Runs what comes from standard input.
    pub fn run_stdin(&mut self) {
        self.run_reader(io::stdin().lock(), &Source::default());
    }

    /// Runs a script; `-` is standard input.
    pub fn read_file(&mut self, path: &str, stops: bool) -> Done {
        if self.read_depth >= READ_DEPTH_MAX {
            return said(format!(
                "\"{path}\" is the script of a script of a script, {READ_DEPTH_MAX} deep; does it read itself?"
            ));
        }
        if path == "-" {
            self.run_stdin();
            return Ok(());
        }
        let is_directory = std::path::Path::new(path).is_dir();
        let file = match File::open(path) {
            Ok(_) if is_directory => return said(format!("cannot open \"{path}\": it is a directory")),
            Ok(file) => file,
            Err(error) => return said(format!("cannot open \"{path}\": {error}")),
        };
        self.read_depth += 1;
        self.run_reader(BufReader::new(file), &Source { name: Some(path.to_string()), stops });
        self.read_depth -= 1;
        Ok(())
    }

    fn run_reader(&mut self, mut reader: impl BufRead, source: &Source) {
        let (mut splitter, mut bytes, mut lines) = (Splitter::default(), Vec::new(), 0_usize);
        while !self.is_over {
            bytes.clear();
            lines += 1;
            match reader.read_until(b'\n', &mut bytes) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return self.settle(said(format!("cannot read: {error}")), source),
            }
            let Ok(text) = std::str::from_utf8(&bytes) else {
                return self.settle(said(format!("line {lines} is not UTF-8")), source);
            };
            splitter.push(if lines == 1 { text.trim_start_matches('\u{feff}') } else { text });
            while let Some(piece) = splitter.next_piece() {
                match copy_in_of(&piece) {
                    Some((copy, line)) => {
                        self.copy_in(&copy, line, &mut reader, &mut splitter, &mut lines, source)
                    }
                    None => self.run_piece(&piece, source),
                }
                if self.is_over || (source.stops && self.code != 0) {
                    return;
                }
            }
        }
        while let (false, Some(piece)) = (self.is_over, splitter.finish()) {
            self.run_piece(&piece, source);
        }
    }

    /// Runs a COPY whose rows are the next lines.
    fn copy_in(
        &mut self,
        copy: &CopyIn,
        line: usize,
        reader: &mut impl BufRead,
        splitter: &mut Splitter,
        lines: &mut usize,
        source: &Source,
    ) {
        splitter.skip_lines(0);
        let before = *lines;
        let rows = Rows::read(reader, copy.form, lines);
        splitter.skip_lines(*lines - before);
        let outcome = rows.and_then(|rows| self.statement(&copy.statement(&rows.path), line));
        self.settle(outcome, source);
    }

    /// Runs what was typed at a terminal.
    pub fn run_typed(&mut self, piece: &Piece) {
        self.run_piece(piece, &Source::default());
        if self.is_interactive && !self.is_over {
            self.code = 0;
        }
    }

    fn run_piece(&mut self, piece: &Piece, source: &Source) {
        let outcome = match piece {
            Piece::Statement { text, line } => self.statement(text, *line),
            Piece::Command { text, .. } => self.command(text),
        };
        let outcome = outcome.and_then(|()| Ok(self.output.end_statement()?));
        self.settle(outcome, source);
    }

    /// Reports a failure, and decides whether to go on.
    fn settle(&mut self, outcome: Done, source: &Source) {
        let Err(failure) = outcome else { return };
        let message = match failure {
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_over = true;
                return;
            }
            Failure::Output(error) if output::is_stopped(&error) => "interrupted".to_string(),
            Failure::Output(error) => format!("cannot write to {}: {error}", self.output.name),
            Failure::Sql(error) => error.to_string(),
            Failure::Said(message) => message,
        };
        let place = source.name.as_ref().map_or_else(String::new, |name| format!(" in {name}"));
        let mut err = io::stderr();
        let _ = if self.has_colours && err.is_terminal() {
            writeln!(err, "\x1b[1;31mError{place}:\x1b[0m {message}")
        } else {
            writeln!(err, "Error{place}: {message}")
        };
        self.code = EXIT_ERROR;
        self.is_over |= !self.is_interactive && (self.settings.bail || source.stops);
    }

    fn command(&mut self, text: &str) -> Done {
        if self.settings.echo {
            self.print(text)?;
        }
        match text.strip_prefix('\\') {
            Some(text) => psql::run(self, text),
            None => dot::run(self, text.trim_start_matches('.')),
        }
    }

    /// Runs a statement that begins on this line of its source, and shows its answer.
    fn statement(&mut self, sql: &str, line: usize) -> Done {
        if self.settings.echo {
            self.print(&format!("{sql};"))?;
        }
        let database = self.connection.database().ok();
        let timer = self.settings.timer.then(|| Timer::start(database.as_ref()));
        let watch = Watch::new(&self.connection, self.settings.progress && self.is_interactive);
        let host: Arc<dyn Host> = Arc::clone(&watch) as Arc<dyn Host>;
        let needs_all = self.settings.mode.is_for_people();
        let outcome = self
            .connection
            .stream_with(sql, inlay::Extent::Script, &Parameters::default(), Some(&host), inlay::FIRST_BYTES)
            .and_then(|(first, rest)| match rest {
                Some(rest) if needs_all => Ok((rest.join(first, Some(&host))?, None)),
                rest => Ok((first, rest)),
            });
        watch.clear();
        let shown = match &outcome {
            Ok((first, rest)) => {
                self.has_new_names |= first.kind() != ResultKind::Rows;
                let quiet: Arc<dyn Host> = Watch::new(&self.connection, false);
                let answer = Answer { first, rest: rest.as_ref(), host: Some(&quiet) };
                let shown = self.show(&answer).map_err(|failure| of_rows(failure, line));
                let time = timer.map(|timer| timer.line(database.as_ref(), watch.memory_seen()));
                return shown.and_then(|()| time.map_or(Ok(()), |time| self.print(&time)));
            }
            Err(error) => error.clone().from_line(line_number(line)),
        };
        if let Some(timer) = timer {
            self.print(&timer.line(database.as_ref(), watch.memory_seen()))?;
        }
        Err(Failure::Sql(shown))
    }

    /// Shows the answer of a statement.
    fn show(&mut self, answer: &Answer<'_>) -> Done {
        let result = answer.first;
        // A plan has lines of its own.
        let is_plan = result.command() == Command::Explain;
        match result.kind() {
            ResultKind::Done => Ok(()),
            ResultKind::Changed(count) => {
                self.total_changes += count;
                if !self.settings.changes {
                    return Ok(());
                }
                let total = self.total_changes;
                self.print(&format!("changes: {count}   total_changes: {total}"))
            }
            ResultKind::Rows if is_plan && self.settings.mode.is_for_people() => {
                let line = |row: usize| Ok(result.value(row, 0)?.to_string());
                let lines = (0..result.row_count()).map(line).collect::<inlay::Result<Vec<String>>>()?;
                self.print(&lines.join("\n"))
            }
            ResultKind::Rows => self.show_rows(answer),
        }
    }

    /// Shows rows in the mode that is set.
    fn show_rows(&mut self, answer: &Answer<'_>) -> Done {
        let settings = self.settings.clone();
        let is_terminal = self.output.is_terminal();
        let size = if is_terminal { crossterm::terminal::size().ok() } else { None };
        let screen = Screen {
            width: size.map(|(columns, _)| usize::from(columns).max(20)),
            is_coloured: is_terminal && self.has_colours && settings.highlight,
            shows_all: settings.pager == Pager::On && is_terminal && self.is_interactive,
        };
        let is_cut = settings.mode == Mode::Duckbox && settings.rows_max > 0 && settings.rows_max <= 100;
        let pages = match settings.pager {
            Pager::Off => false,
            Pager::On => true,
            Pager::Auto => !is_cut,
        };
        match size {
            Some((_, lines)) if pages && self.is_interactive => {
                pager::write(usize::from(lines).max(2) - 1, |out| {
                    write_result(out, answer, &settings, screen)
                })?;
            }
            _ => self.output.write(|out| write_result(out, answer, &settings, screen))?,
        }
        Ok(())
    }

    /// Shows what a command lists, in the mode that is set; `.width` is for answers of statements.
    pub fn show_table(&mut self, result: &QueryResult) -> Done {
        let widths = std::mem::take(&mut self.settings.widths);
        let outcome = self.show_rows(&Answer::whole(result));
        self.settings.widths = widths;
        outcome
    }

    /// Prints a line.
    pub fn print(&mut self, line: &str) -> Done {
        Ok(self.output.write(|out| writeln!(out, "{line}"))?)
    }

    /// The answer to a query of the shell's own; Ctrl-C ends it.
    pub fn query(&self, sql: &str) -> Result<QueryResult, Failure> {
        let watch = Watch::new(&self.connection, self.is_interactive && self.settings.progress);
        let host: Arc<dyn Host> = Arc::clone(&watch) as Arc<dyn Host>;
        let outcome = self.connection.execute_with(sql, &Parameters::default(), Some(&host));
        watch.clear();
        // Its text is not the user's.
        outcome.map_err(|error| Failure::Sql(error.unplaced()))
    }

    /// The rows of such a query as texts; NULL is empty.
    pub fn texts(&self, sql: &str) -> Result<Vec<Vec<String>>, Failure> {
        let result = self.query(sql)?;
        let text =
            |value: Value| if matches!(value, Value::Null) { String::new() } else { value.to_string() };
        let row = |row: usize| {
            (0..result.types().len()).map(|column| Ok(text(result.value(row, column)?))).collect()
        };
        (0..result.row_count()).map(row).collect()
    }

    /// `inlay recover`, `.recover`.
    pub fn recover(&mut self, damaged: &str, new: &str) {
        let outcome = self.try_recover(damaged, new);
        self.settle(outcome, &Source::default());
    }

    /// Saves what is intact of a damaged file.
    pub fn try_recover(&mut self, damaged: &str, new: &str) -> Done {
        let sql = format!("CALL recover({}, {})", inlay::sql::literal(damaged), inlay::sql::literal(new));
        let result = self.query(&sql)?;
        self.show_table(&result)
    }

    /// `inlay import`.
    pub fn import(&mut self, file: &str) {
        let outcome = self.try_import(file);
        self.settle(outcome, &Source::default());
    }

    /// Copies the tables of a file of SQLite into the database that is open.
    fn try_import(&mut self, file: &str) -> Done {
        let current = self.query("SELECT current_database()")?;
        let current = current.value(0, 0).map_err(Failure::Sql)?.to_string();
        let (path, to) = (inlay::sql::literal(file), inlay::sql::ident(&current));
        self.query(&format!("ATTACH {path} AS {IMPORTED} (TYPE sqlite)"))?;
        let copied = self.query(&format!("COPY FROM DATABASE {IMPORTED} TO {to}"));
        self.query(&format!("DETACH {IMPORTED}"))?;
        copied.map(|_| ())
    }

    /// `inlay verify`.
    pub fn verify(&mut self, file: Option<&str>) {
        let outcome = self.try_verify(file);
        self.settle(outcome, &Source::default());
    }

    /// Reads every block of a file, or of the database that is open.
    pub fn try_verify(&mut self, file: Option<&str>) -> Done {
        let sql = match file {
            Some(file) if !std::path::Path::new(file).exists() => {
                return said(format!("cannot open \"{file}\": there is no such file"));
            }
            Some(file) => format!("PRAGMA verify({})", inlay::sql::literal(file)),
            None => "PRAGMA verify".to_string(),
        };
        let lines: Vec<String> = self.texts(&sql)?.into_iter().flatten().collect();
        self.print(&lines.join("\n"))?;
        let name = file.unwrap_or(&self.path);
        if lines == ["ok"] {
            Ok(())
        } else {
            said(format!("\"{name}\" is damaged; .recover saves what is intact"))
        }
    }

    /// Whether colours are understood and wanted.
    pub fn has_colours(&self) -> bool {
        self.has_colours
    }

    /// Whether the running piece was stopped with Ctrl-C since then.
    pub fn was_stopped(since: u32) -> bool {
        interrupt::count() != since
    }
}

impl Mode {
    /// Whether it is a table to look at.
    pub fn is_for_people(self) -> bool {
        matches!(self, Self::Duckbox | Self::Box | Self::Table | Self::Column | Self::Markdown)
    }
}

/// The user's home.
pub fn home() -> Option<PathBuf> {
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn connect(path: &str, is_read_only: bool) -> Result<Connection, Error> {
    let access = if is_read_only { "read_only" } else { "read_write" };
    let is_memory = path.is_empty() || path == ":memory:";
    let config = [("access_mode".to_string(), Value::Varchar(access.to_string()))];
    let config = if is_memory { &config[..0] } else { &config[..] };
    let database = match Database::open(&password::of_environment(path), config) {
        Err(error) if error.kind() == ErrorKind::Login => match password::asked_for(path) {
            Some(path) => Database::open(&path, config)?,
            None => return Err(error),
        },
        opened => opened?,
    };
    #[cfg(feature = "sqlite")]
    inlay_sqlite_files::SqliteFiles::install(&database);
    if let Some(warning) = database.warning() {
        let _ = writeln!(io::stderr(), "Note: {warning}");
    }
    Ok(database.connect())
}

/// How a database is called on the screen: an address may have a password.
fn shown(connection: &Connection, path: &str) -> String {
    if !["inlay://", "inlay+unix://"].iter().any(|start| path.starts_with(start)) {
        return path.to_string();
    }
    connection.database().map_or_else(|_| "at a server".to_string(), |database| database.name())
}

/// Whether terminals may be sent colours: <https://no-color.org>.
fn has_colours() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn line_number(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

/// What ended output: an error of the rows, if they were computed meanwhile.
fn of_rows(failure: Failure, line: usize) -> Failure {
    match failure {
        Failure::Output(error) => match error.downcast::<Error>() {
            Ok(error) => Failure::Sql(error.from_line(line_number(line))),
            Err(error) => Failure::Output(error),
        },
        failure => failure,
    }
}

/// A COPY of the rows behind it, and its line.
fn copy_in_of(piece: &Piece) -> Option<(CopyIn, usize)> {
    match piece {
        Piece::Statement { text, line } => CopyIn::of(text).map(|copy| (copy, *line)),
        Piece::Command { .. } => None,
    }
}

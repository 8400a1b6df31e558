//! The shell of Inlay: statements and commands in, tables out.
//!
//! [`run`] is all of it: the program `inlay` and the Python package call it. There is no state but that of the session,
//! except for a count of Ctrl-C, which a signal handler needs while the shell runs (`interrupt`).
//!
//! - [`args`]: the command line. [`session`]: reads pieces (`split`), runs statements and commands, reports errors.
//! - [`dot`]: commands that begin with a dot, a table of them; [`psql`]: those that begin with a backslash.
//! - [`render`]: answers as text. [`output`]: where they go; `pager`. [`line`]: editing, colours and completion.
//! - `progress`, `timer`: what is shown while a statement runs and behind it.

mod args;
mod copy_in;
mod dot;
mod interrupt;
mod line;
mod output;
mod pager;
mod password;
mod progress;
mod psql;
mod render;
mod session;
mod settings;
mod split;
mod timer;

pub use dot::{COMMANDS, Command};

use args::{Args, Asked, Task};
use session::Session;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// An SQL error, or a file that could not be read.
pub const EXIT_ERROR: u8 = 1;
/// A command line that makes no sense.
pub const EXIT_USAGE: u8 = 2;

/// Runs the shell with these arguments, the program's name first, until it is left. Uses standard input and output.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(run_code(args))
}

/// As [`run`], with the exit code as a number.
pub fn run_code(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    if args.get(1).is_some_and(|first| first == "serve" || first == "ui") {
        return serve(args);
    }
    let args = match args::parse(args.into_iter().skip(1)) {
        Ok(args) => args,
        Err(message) => {
            let _ = writeln!(io::stderr(), "inlay: {message}\nTry `inlay -help`.");
            return EXIT_USAGE;
        }
    };
    let mut out = io::stdout();
    match args.asked {
        // A reader that has seen enough is no error.
        Asked::Help => drop(out.write_all(args::help().as_bytes())),
        Asked::Version => drop(writeln!(out, "inlay {}", env!("CARGO_PKG_VERSION"))),
        Asked::Shell => return shell(args),
    }
    0
}

/// The server, for programs that serve a database of theirs.
#[cfg(feature = "serve")]
pub use inlay_server as server;

/// `inlay serve`: databases for many clients, until the program is told to end; `inlay ui`: the page in a browser.
#[cfg(feature = "serve")]
fn serve(args: Vec<OsString>) -> u8 {
    let shows_page = args.get(1).is_some_and(|first| first == "ui");
    let args = args.into_iter().skip(2).map(|arg| arg.to_string_lossy().into_owned());
    if shows_page { inlay_server::run_page(args) } else { inlay_server::run(args) }
}

#[cfg(not(feature = "serve"))]
fn serve(_args: Vec<OsString>) -> u8 {
    let _ = writeln!(io::stderr(), "inlay: this build has no server");
    EXIT_USAGE
}

fn shell(args: Args) -> u8 {
    let reads_terminal = io::stdin().is_terminal() && !args.is_batch;
    let is_interactive = args.tasks.is_empty() && (reads_terminal || args.is_interactive);
    let _signals = interrupt::Signals::install(is_interactive);
    let mut session = match Session::open(&args, is_interactive) {
        Ok(session) => session,
        Err(error) => {
            let _ = writeln!(io::stderr(), "Error: {error}");
            return EXIT_ERROR;
        }
    };
    session.read_init_file(&args);
    if let Some(file) = &args.imports {
        session.import(file);
    }
    for text in &args.before {
        session.run_text(text, None);
    }
    for task in &args.tasks {
        if session.is_over() {
            break;
        }
        match task {
            Task::Text(text) => session.run_text(text, Some("-c")),
            Task::File(path) => session.run_file(path),
            Task::Recover(damaged, new) => session.recover(damaged, new),
            Task::Verify(file) => session.verify(file.as_deref()),
            Task::Import(file) => session.import(file),
        }
        session.stop_after_error();
    }
    if args.tasks.is_empty() && !session.is_over() {
        if is_interactive { line::run(&mut session, reads_terminal) } else { session.run_stdin() }
    }
    session.finish()
}

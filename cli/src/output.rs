//! Where output goes: standard output, a file, or a command; for one statement or from now on.

use crate::interrupt;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

enum Target {
    Standard,
    File(BufWriter<File>),
    Command(Child),
    Nothing,
}

/// Where output goes.
pub struct Output {
    target: Target,
    /// What it is called.
    pub name: String,
    /// Back to standard output behind the next statement or command.
    is_once: bool,
    /// Used already.
    is_used: bool,
}

impl Output {
    pub fn standard() -> Self {
        Self { target: Target::Standard, name: "stdout".to_string(), is_once: false, is_used: false }
    }

    /// Changes where output goes: `stdout`, `off`, a path, or `|command`.
    pub fn redirect(&mut self, place: &str, is_once: bool) -> io::Result<()> {
        let target = if let Some(command) = place.strip_prefix('|') {
            Target::Command(shell_command(command.trim()).stdin(Stdio::piped()).spawn()?)
        } else {
            match place {
                "" | "stdout" => Target::Standard,
                "off" => Target::Nothing,
                path => Target::File(BufWriter::new(File::create(path)?)),
            }
        };
        self.close()?;
        let name = if place.is_empty() { "stdout" } else { place };
        *self = Self { target, name: name.to_string(), is_once, is_used: false };
        Ok(())
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        matches!(self.target, Target::Standard) && io::stdout().is_terminal()
    }

    /// Writes with `write`, and on to where it belongs; Ctrl-C ends it.
    pub fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        self.is_used = true;
        match &mut self.target {
            Target::Standard => watched(&mut BufWriter::new(io::stdout().lock()), write),
            Target::File(file) => watched(file, write),
            Target::Command(child) => match child.stdin.as_mut() {
                // A command that has seen enough is no error.
                Some(input) => match watched(&mut BufWriter::new(input), write) {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                    outcome => outcome,
                },
                None => Ok(()),
            },
            Target::Nothing => Ok(()),
        }
    }

    /// A statement or command is through.
    pub fn end_statement(&mut self) -> io::Result<()> {
        if self.is_once && self.is_used {
            self.close()?;
            *self = Self::standard();
        }
        Ok(())
    }

    /// Writes what is left and waits for a command.
    pub fn close(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::File(file) => file.flush(),
            Target::Command(child) => {
                drop(child.stdin.take());
                child.wait().map(drop)
            }
            Target::Standard | Target::Nothing => Ok(()),
        }
    }
}

/// A command for the system's shell.
pub fn shell_command(text: &str) -> Command {
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("/bin/sh", "-c") };
    let mut command = Command::new(shell);
    command.arg(flag).arg(text);
    command
}

/// The error of output that Ctrl-C ended.
pub fn is_stopped(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
}

#[derive(Debug)]
struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Stopped {}

struct Watched<'a> {
    inner: &'a mut dyn Write,
    pressed: u32,
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if interrupt::count() != self.pressed {
            return Err(io::Error::other(Stopped));
        }
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Writes with `write`; Ctrl-C ends it.
pub fn watched(
    inner: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut watched = Watched { inner, pressed: interrupt::count() };
    write(&mut watched)?;
    watched.flush()
}

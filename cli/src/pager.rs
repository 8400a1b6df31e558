//! Long output on a terminal goes through a program that shows it by pages: `$PAGER`, or `less -SR`.

use crate::output::{shell_command, watched};
use std::io::{self, BufWriter, Write};
use std::process::{Child, Command, Stdio};

/// Writes with `write`: as it is if it fits on a screen of so many lines, else through the pager.
pub fn write(lines_max: usize, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut paged = Paged { kept: Vec::new(), lines: 0, lines_max, child: None, is_over: false };
    let outcome = watched(&mut paged, write);
    // Who leaves the pager early has seen enough.
    let outcome = if paged.is_over { Ok(()) } else { outcome };
    outcome.and(paged.close())
}

struct Paged {
    /// What is not yet shown.
    kept: Vec<u8>,
    lines: usize,
    lines_max: usize,
    child: Option<Child>,
    /// The pager was left before the end.
    is_over: bool,
}

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_over {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.child.is_none() {
            self.kept.extend_from_slice(bytes);
            self.lines += bytes.iter().filter(|byte| **byte == b'\n').count();
            if self.lines < self.lines_max {
                return Ok(bytes.len());
            }
            match pager().spawn() {
                Ok(child) => self.child = Some(child),
                // Without a pager everything is shown.
                Err(_) => {
                    self.lines_max = usize::MAX;
                    return Ok(bytes.len());
                }
            }
            let kept = std::mem::take(&mut self.kept);
            self.send(&kept)?;
            return Ok(bytes.len());
        }
        self.send(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paged {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(input) = self.child.as_mut().and_then(|child| child.stdin.as_mut()) else { return Ok(()) };
        let outcome = input.write_all(bytes);
        self.is_over = outcome.is_err();
        outcome
    }

    fn close(mut self) -> io::Result<()> {
        match self.child.take() {
            Some(mut child) => {
                drop(child.stdin.take());
                child.wait().map(drop)
            }
            None => BufWriter::new(io::stdout().lock()).write_all(&self.kept),
        }
    }
}

fn pager() -> Command {
    let named = std::env::var("PAGER").ok().filter(|text| !text.trim().is_empty());
    let mut command = shell_command(named.as_deref().unwrap_or("less -SR"));
    command.stdin(Stdio::piped());
    command
}

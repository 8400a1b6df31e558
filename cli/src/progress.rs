//! What watches a statement while it runs: Ctrl-C, and a bar with the time that is left, on a terminal.
//!
//! The engine asks every few milliseconds on the thread that runs the statement whether it shall end; the bar is drawn
//! then, so there is no other thread.

use crate::interrupt;
use inlay::{Connection, Host, Progress, ProgressWatch};
use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Shorter statements have no bar.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
const BAR_WIDTH: usize = 40;

/// The watcher of one statement.
pub struct Watch {
    connection: Connection,
    /// When there is something to draw, if there may be a bar.
    watch: Option<ProgressWatch>,
    /// How often Ctrl-C had been pressed when it started.
    pressed: u32,
    is_drawn: AtomicBool,
    memory_seen: AtomicU64,
}

impl Watch {
    /// `draws`: whether there may be a bar.
    pub fn new(connection: &Connection, draws: bool) -> Arc<Self> {
        Arc::new(Self {
            connection: connection.clone(),
            watch: (draws && stderr().is_terminal()).then(|| connection.watch_progress_after(SHOWN_AFTER)),
            pressed: interrupt::count(),
            is_drawn: false.into(),
            memory_seen: 0.into(),
        })
    }

    /// Most bytes that the database had in use.
    pub fn memory_seen(&self) -> u64 {
        self.memory_seen.load(Ordering::Relaxed)
    }

    /// Removes the bar.
    pub fn clear(&self) {
        if self.is_drawn.swap(false, Ordering::Relaxed) {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }

    fn draw(&self, progress: Progress, elapsed: Duration) {
        let line = bar(progress, elapsed);
        self.is_drawn.store(true, Ordering::Relaxed);
        let mut err = stderr();
        let _ = write!(err, "\r{line}\x1b[K").and_then(|()| err.flush());
    }
}

impl Host for Watch {
    fn find_table(&self, _name: &str, _scope: inlay::HostScope) -> inlay::Result<Option<inlay::HostTable>> {
        Ok(None)
    }

    fn is_interrupted(&self) -> bool {
        if let Ok(database) = self.connection.database() {
            self.memory_seen.fetch_max(database.memory_used(), Ordering::Relaxed);
        }
        if let Some((progress, elapsed)) = self.watch.as_ref().and_then(ProgressWatch::due) {
            self.draw(progress, elapsed);
        }
        interrupt::count() != self.pressed
    }

    fn note(&self, message: &str) {
        self.clear();
        // A terminal that went away is no reason to end the statement.
        let _ = writeln!(stderr(), "Note: {message}");
    }
}

fn bar(progress: Progress, elapsed: Duration) -> String {
    let done = progress.fraction.clamp(0.0, 1.0);
    let filled = (done * BAR_WIDTH as f64) as usize;
    let left = if done > 0.005 {
        format!("{} left", clock(elapsed.as_secs_f64() * (1.0 - done) / done))
    } else {
        clock(elapsed.as_secs_f64())
    };
    format!("{:3.0}% ▕{}{}▏ {left}", done * 100.0, "█".repeat(filled), " ".repeat(BAR_WIDTH - filled))
}

fn clock(seconds: f64) -> String {
    let seconds = seconds.min(359_999.0) as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_tell_the_time_left() {
        let progress = Progress { fraction: 0.25, rows_done: 25, rows_total: 100 };
        let line = bar(progress, Duration::from_secs(30));
        assert_eq!(line, format!(" 25% ▕{}{}▏ 1:30 left", "█".repeat(10), " ".repeat(30)));
        assert_eq!((clock(3.0), clock(3723.0)), ("3 s".to_string(), "1:02:03".to_string()));
    }
}

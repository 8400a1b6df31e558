//! When a statement's progress is to be shown, and how often.

use super::Connection;
use inlay_exec::Progress;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Progress is not shown more often.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

/// Watches one statement for a host that shows how far it is. Asked as often as the host is asked whether to end.
pub struct ProgressWatch {
    connection: Connection,
    shown_after: Duration,
    started: Instant,
    shown: Mutex<Option<Instant>>,
}

impl Connection {
    /// A watch for a statement that begins now; `None` where the session shows no progress, or runs a statement already.
    pub fn watch_progress(&self) -> Option<ProgressWatch> {
        self.progress_bar_after().map(|after| self.watch_progress_after(after))
    }

    /// A watch for a statement that begins now and is shown after a time.
    pub fn watch_progress_after(&self, shown_after: Duration) -> ProgressWatch {
        let (connection, started) = (self.clone(), Instant::now());
        ProgressWatch { connection, shown_after, started, shown: Mutex::default() }
    }
}

impl ProgressWatch {
    /// How far the statement is and how long it has been running, if that is to be shown now.
    pub fn due(&self) -> Option<(Progress, Duration)> {
        let elapsed = self.started.elapsed();
        if elapsed < self.shown_after {
            return None;
        }
        let progress = self.connection.progress()?;
        let mut shown = self.shown.lock();
        if shown.is_some_and(|at| at.elapsed() < SHOWN_EVERY) {
            return None;
        }
        *shown = Some(Instant::now());
        Some((progress, elapsed))
    }
}

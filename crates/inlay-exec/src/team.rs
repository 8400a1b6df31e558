//! Who works for a query: workers of its database's pool, as many as are allowed, shared by priority.

use crate::pool::WorkerPool;
use inlay_types::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// What queries of a connection get when several want the workers at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Gives way to others.
    Low,
    /// As most.
    #[default]
    Normal,
    /// Comes before others.
    High,
}

impl std::str::FromStr for Priority {
    type Err = inlay_types::Error;

    /// The priority of a name, in upper or lower case.
    fn from_str(name: &str) -> inlay_types::Result<Self> {
        let found = Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name.trim()));
        found.ok_or_else(|| {
            inlay_types::Error::invalid_argument(format!("priority '{name}' does not exist"))
                .with_hint("choose 'low', 'normal' or 'high'")
        })
    }
}

impl Priority {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Low, Self::Normal, Self::High];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }

    /// The share of the workers, beside others'.
    pub(crate) fn weight(self) -> usize {
        match self {
            Self::Low => 1,
            Self::Normal => 4,
            Self::High => 16,
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::Low => 0,
            Self::Normal => 1,
            Self::High => 2,
        }
    }

    pub(crate) fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Low,
            1 => Self::Normal,
            _ => Self::High,
        }
    }
}

/// A priority that can change while queries run. Clones and teams share it.
#[derive(Clone, Debug)]
pub struct PriorityCell(Arc<AtomicU8>);

impl Default for PriorityCell {
    fn default() -> Self {
        Self(Arc::new(Priority::default().code().into()))
    }
}

impl PriorityCell {
    /// Another cell of the same priority.
    pub fn apart(&self) -> Self {
        Self(Arc::new(self.get().code().into()))
    }

    /// The priority now.
    pub fn get(&self) -> Priority {
        Priority::from_code(self.0.load(Ordering::Relaxed))
    }

    /// Changes it, for what runs as well once the pool shares out anew ([`WorkerPool::rearrange`]).
    pub fn set(&self, priority: Priority) {
        self.0.store(priority.code(), Ordering::Relaxed);
    }
}

/// A pool of workers, and the priority of those who share this: a connection and its results.
pub struct Team {
    pool: Arc<WorkerPool>,
    priority: PriorityCell,
}

impl Team {
    /// The workers of `pool` at the priority of a cell, as it changes.
    pub fn new(pool: Arc<WorkerPool>, priority: PriorityCell) -> Self {
        Self { pool, priority }
    }
}

impl std::fmt::Debug for Team {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Team").field("priority", &self.priority).finish_non_exhaustive()
    }
}

/// Workers that somebody may have. How many there are can change while they work.
#[derive(Clone, Debug)]
pub struct Workers {
    team: Arc<Team>,
    at_most: usize,
}

impl Workers {
    /// As many of the team as are allowed.
    pub fn of(team: &Arc<Team>) -> Self {
        Self { team: Arc::clone(team), at_most: usize::MAX }
    }

    /// A pool of its own, of this many.
    pub fn new(threads: usize) -> Self {
        Self::of(&Arc::new(Team::new(Arc::new(WorkerPool::new(threads)), PriorityCell::default())))
    }

    /// The calling thread alone.
    pub fn alone(&self) -> Self {
        Self { team: Arc::clone(&self.team), at_most: 1 }
    }

    /// How many there are now, the calling thread among them. More may come, and some may go.
    pub fn count(&self) -> usize {
        self.pool().allowed().min(self.at_most).max(1)
    }

    pub(crate) fn at_most(&self) -> usize {
        self.at_most
    }

    /// The pool that they belong to.
    pub fn pool(&self) -> &Arc<WorkerPool> {
        &self.team.pool
    }

    pub(crate) fn priority_code(&self) -> &Arc<AtomicU8> {
        &self.team.priority.0
    }

    /// [`WorkerPool::parallel`].
    pub fn parallel(&self, count: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
        self.pool().parallel(self, count, work)
    }
}

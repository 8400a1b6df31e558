//! Cancellation: a flag that every loop over data looks at once per morsel.

use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A shared flag; clones look at the same flag.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that is down.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks everything that holds this flag to stop soon.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Takes the flag down, before the next statement.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether the flag is up.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// [`Error::Interrupted`] if the flag is up.
    pub fn check(&self) -> Result<()> {
        if self.is_set() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

//! Worker processes for functions that hold the interpreter lock.
//!
//! ```text
//! a thread of a query --- request: function, places of columns ----> reader thread --> main thread calls the function
//!          |                                                              |
//!          +-- shared memory: arguments (the host's), results (the worker's), never both sides at once
//! ```
//! What always holds
//! - A worker serves one call at a time. Columns never go through its socket, nor through pickle.
//! - A worker converts and checks as its host does: it runs the same [`PythonFunction`](super::PythonFunction) over the same
//!   vectors. A function's source is sent once.
//! - A worker ends when its host is gone, however that ended: its reader sees the socket close, also while a call runs.
//! - A worker that dies fails its call alone. Whoever is interrupted asks the worker to end the call, and ends the worker if it
//!   does not within [`GRACE`](process::GRACE).
//! - Memory that a function keeps is not written to again: the host is told and takes other memory.
//!
//! [`memory`]: shared memory. [`channel`]: messages with descriptors. [`wire`]: what they say. [`process`]: a worker as its host sees it.
//! [`pool`]: the workers of a database. [`serve`]: the worker itself. `inlay._worker` starts it.

#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod pool;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(not(target_os = "linux"))]
mod absent;

#[cfg(not(target_os = "linux"))]
pub use absent::{WorkerServer, Workers};
#[cfg(target_os = "linux")]
pub use pool::Workers;
#[cfg(target_os = "linux")]
pub use serve::WorkerServer;

use super::aggregate::Form;
use inlay::types::{LogicalType, Vector};

/// What a worker must know of a function.
pub struct Spec {
    /// Told apart by it.
    pub number: u64,
    pub name: String,
    pub source: Source,
    /// As they are declared.
    pub options: Vec<(String, String)>,
    pub returns: LogicalType,
    pub forgives: bool,
    pub refuses_null: bool,
    /// Of an aggregate.
    pub form: Option<Form>,
}

/// What a worker is asked for: a value for each row, or for each group of rows.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub args: &'a [Vector],
    pub len: usize,
    /// Where the rows of each group end, of an aggregate.
    pub ends: Option<&'a [u32]>,
}

impl Request<'_> {
    /// How many values are to come.
    pub fn values(&self) -> usize {
        self.ends.map_or(self.len, <[u32]>::len)
    }
}

/// Where a worker gets the callable from.
pub enum Source {
    Text {
        parameters: Vec<String>,
        is_variadic: bool,
        body: String,
    },
    /// What `inlay._worker.packed` made of it.
    Callable {
        kind: String,
        data: Vec<u8>,
    },
}

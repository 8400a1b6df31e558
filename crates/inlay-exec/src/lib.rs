//! Runs an optimised logical plan: push-based, morsel-driven pipelines over the database's own workers.
//!
//! ```text
//! logical plan -> planner -> pipelines -> scheduler -> batches
//!
//! pipeline = source -> operator -> ... -> operator -> sink
//! ```
//! - [`pipeline`]: the three traits and the driver's contract.
//! - [`pool`], [`context`]: workers, and what a running query shares. `progress`: how far it is.
//! - [`expression`]: bound expressions compiled to programs of kernel calls.
//! - `operator`: one folder or file per physical operator.
//! - [`spill`]: temporary files for what does not fit into memory.
//! - `run`: all rows of a query at once; `stream`: rows that are computed while they are read.
//! - `planner`: lowers a logical plan to pipelines.
//!
//! Source: Leis et al., "Morsel-Driven Parallelism", SIGMOD 2014.

mod concat;
pub mod context;
mod dispatch;
mod driver;
pub mod dynamic_filter;
pub mod expression;
pub mod operator;
pub mod pipeline;
pub mod planner;
pub mod pool;
pub mod profile;
mod progress;
mod run;
pub mod spill;
mod stream;
mod team;

pub use context::ExecContext;
pub use pool::{Activity, Governor, WorkerPool};
pub use progress::{Progress, QueryProgress};
pub use run::{Analysis, analyze, execute, execute_into};
pub use spill::{TempSpace, rows_size};
pub use stream::{RowStream, stream};
pub use team::{Priority, PriorityCell, Team, Workers};

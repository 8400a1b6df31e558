//! Inlay: an analytical SQL database inside the program that uses it.
//!
//! This crate is the facade: bindings and servers use it and no other crate.
//!
//! ```
//! # fn main() -> inlay::Result<()> {
//! let connection = inlay::Database::open_in_memory()?.connect();
//! connection.execute("CREATE TABLE t (x INTEGER)")?;
//! connection.execute("INSERT INTO t VALUES (40), (2)")?;
//! let answer = connection.execute("SELECT sum(x) FROM t")?;
//! assert_eq!(answer.value(0, 0)?.to_string(), "42");
//! # Ok(())
//! # }
//! ```
//! Parameters are given by [`params!`], rows read by [`QueryResult::rows`]; `docs/rust.md` has more.
//!
//! - [`database`], [`connection`]: handles. [`settings`]: what SET sets.
//! - `names`, `transactions`, `registered`: what a statement sees. `execute`, `profile`, `change`, `define`, `maintain`, `load`, `procedure`: one
//!   statement carried out; `reads`: what commit checks.
//! - `calling`: the statement that calls a function of the host, as that may read with it.
//! - `statements`: what a text says, without carrying it out.
//! - `kept`: plans of statements that are repeated.
//! - [`result`], `columns`, `table_rows`, `rest`, `delivery`: what comes back, batch by batch or as whole columns, copied, mapped or
//!   computed when it is asked for.

mod calling;
mod change;
mod chunk;
mod columns;
mod command;
mod conditions;
pub mod connection;
pub mod database;
mod define;
mod delivery;
mod execute;
mod functions;
mod host;
mod host_values;
mod kept;
mod maintain;
mod procedure;
mod profile;
mod reads;
mod registered;
pub mod render;
mod resources;
mod rest;
pub mod result;
mod session;
pub mod settings;
pub mod sql;
mod statements;
mod system;
mod table_rows;
mod tables;
mod text;
mod transactions;
pub mod types;

pub use calling::calling;
pub use chunk::{Chunk, Column, Parts};
pub use command::{Command, CommandClass};
pub use conditions::{Comparison, Condition, conditions};
pub use connection::appender::{APPENDED, Appender};
pub use connection::bindings::Bindings;
pub use connection::cursor::{ARROW_ROWS, Cursor, FIRST_BYTES, Unread};
pub use connection::{
    Connection, Described, Extent, Host, HostScope, HostTable, ParameterShape, Parameters, Pending,
    PreparedStatement, ProgressWatch, Script, SessionInfo, StatementShape, Transaction, interrupt_of,
};
pub use database::Database;
pub use define::{Dump, DumpTable};
pub use delivery::Delivery;
pub use functions::{HostLimits, StoredFunction};
pub use host_values::{common_host_type, host_value_as, type_of_values, vector_of_values};
pub use inlay_catalog::{ScanRequest, SourceColumn, SourceFilter, SourceScan, TableSource, near_names};
pub use inlay_exec::{Priority, Progress};
pub use inlay_formats::host::HostFiles;
pub use inlay_formats::{ArrowStreamTable, ArrowTable, ColumnSource, DeferredColumn, SourceValues};
pub use inlay_functions::manual;
pub use inlay_kernels::external;
pub use inlay_kernels::{NullHandling, Volatility};
pub use inlay_kernels::{cast, cast_value};
pub use inlay_sql::plan::statement::Isolation;
pub use inlay_types::error::{ErrorKind, Place};
pub use inlay_types::host::write as write_host_values;
pub use inlay_types::host::{HostForm, misfit};
pub use inlay_types::limits::{current as current_limits, with as with_limits};
pub use inlay_types::{Error, FromValue, Result, Value};
pub use profile::Profile;
pub use rest::{Rest, arrow_arrays};
pub use result::{HostColumn, QueryResult, ResultKind, Row};
pub use system::{is_reserved, keyword_names};
pub use tables::Tables;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct RustPage;

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
//! What a binding is made of:
//!
//! - [`Database`], [`Connection`], [`PreparedStatement`], [`Bindings`], [`Parameters`]: open, ask, ask again.
//! - [`Connection::stream`] and [`Cursor`], [`Connection::script`], [`Connection::start`] and [`Pending`]: answers row by row, one for
//!   each statement of a text, and of what runs meanwhile. [`Chunk`]: values where they lie. [`Delivery`]: whole columns for arrays.
//! - [`Error::kind`](types::Error::kind), `message`, `hint`, `place`: what went wrong, in parts.
//! - [`Appender`], [`Connection::append`], [`Tables`], [`TableSource`]: rows in. [`external`], [`Database::create_function`]: functions of the
//!   host. [`Host`]: what statements ask of the program.
//! - [`Connection::transaction`], `begin`, `commit`, `set_autocommit`, `set_schema`, ...: what a session is in, without SQL.
//!   [`Database::sessions`], [`Database::interrupt`]: who runs what.
//! - [`sql`]: names and values as SQL, and what a text says. [`Command`]: what a statement is. [`settings`]: what SET sets. [`manual`]: the
//!   functions of SQL. [`types`]: types, values, vectors, Arrow.
//!
//! Modules import one way; `docs/architecture.md` has the floors, and a test holds them.

#![forbid(unsafe_code)]

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
mod remote;
pub mod render;
mod resources;
mod rest;
pub mod result;
mod rights;
mod session;
pub mod settings;
pub mod sql;
mod statements;
mod system;
mod table_rows;
mod tables;
mod text;
mod transactions;
mod triggers;
pub mod types;

pub use calling::{calling, calling_zone};
pub use chunk::{Chunk, Column, Parts};
pub use command::{Command, CommandClass};
pub use conditions::{Comparison, Condition, conditions};
pub use connection::appender::{APPENDED, Appender};
pub use connection::bindings::Bindings;
pub use connection::cursor::{ARROW_ROWS, Cursor, FIRST_BYTES, Unread};
pub use connection::{
    Connection, Described, Entered, Extent, Host, HostScope, HostTable, ParameterShape, Parameters, Pending,
    PreparedStatement, ProgressWatch, Script, SessionInfo, StatementShape, Transaction, interrupt_of,
};
pub use database::{Database, ForeignDatabase, ForeignFile, ForeignKind, ForeignSnapshot};
pub use define::{Dump, DumpTable};
pub use delivery::Delivery;
pub use execute::cluster::{ClusterFunction, ClusterQuery, ClusterTable, Shipped};
pub use functions::{HostLimits, StoredFunction};
pub use host_values::{common_host_type, host_column, host_value_as, vector_of_values};
pub use inlay_catalog::{
    ScanRequest, SourceColumn, SourceFilter, SourceScan, SourceTask, TableSource, near_names,
};
pub use inlay_exec::{Priority, Progress};
pub use inlay_formats::host::HostFiles;
pub use inlay_formats::{ArrowStreamTable, ArrowTable, ColumnSource, DeferredColumn, SourceValues};
pub use inlay_functions::manual;
pub use inlay_kernels::cast::{cast_rows_in_zone, cast_value_in_zone, implied_value};
pub use inlay_kernels::external;
pub use inlay_kernels::json::compact::compact as compact_json;
pub use inlay_kernels::zone::Zone;
pub use inlay_kernels::{NullHandling, Volatility};
pub use inlay_kernels::{cast, cast_value};
pub use inlay_sql::plan::statement::Isolation;
pub use inlay_types::error::{ErrorKind, Place};
pub use inlay_types::host::write as write_host_values;
pub use inlay_types::host::{HostForm, misfit};
pub use inlay_types::limits::{Limits, current as current_limits, with as with_limits};
pub use inlay_types::{Error, FromValue, Result, Value};
pub use profile::Profile;
pub use rest::{Rest, arrow_arrays};
pub use result::{HostColumn, QueryResult, ResultKind, Row};
pub use rights::Login;
pub use system::{is_reserved, keyword_names};
pub use tables::Tables;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct RustPage;

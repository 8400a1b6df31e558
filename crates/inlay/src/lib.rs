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

#![forbid(unsafe_code)]

mod calling;
mod change;
mod columns;
pub mod connection;
pub mod database;
mod define;
mod delivery;
mod execute;
mod functions;
mod kept;
mod load;
mod maintain;
mod names;
mod procedure;
mod profile;
mod reads;
mod registered;
pub mod render;
mod resources;
mod rest;
pub mod result;
pub mod settings;
mod statements;
mod system;
mod table_rows;
mod transactions;

pub use calling::calling;
pub use connection::{
    Connection, Described, Extent, Host, HostScope, HostTable, Parameters, PreparedStatement, interrupt_of,
};
pub use database::Database;
pub use define::{Dump, DumpTable};
pub use delivery::Delivery;
pub use functions::{HostLimits, StoredFunction};
pub use inlay_catalog::{ScanRequest, SourceColumn, SourceFilter, SourceScan, TableSource, near_names};
pub use inlay_exec::{Priority, Progress};
pub use inlay_formats::host::HostFiles;
pub use inlay_formats::{ArrowStreamTable, ArrowTable, ColumnSource, DeferredColumn, SourceValues};
pub use inlay_kernels::coercion::common_type;
pub use inlay_kernels::external;
pub use inlay_kernels::{NullHandling, Volatility};
pub use inlay_kernels::{cast, cast_value};
pub use inlay_sql::parser::{Part, end_of_body, expects_body};
pub use inlay_storage as storage;
pub use inlay_types as types;
pub use inlay_types::host::write as write_host_values;
pub use inlay_types::host::{HostForm, misfit};
pub use inlay_types::limits::{current as current_limits, with as with_limits};
pub use inlay_types::{Error, FromValue, Result, Value};
pub use profile::Profile;
pub use rest::{Rest, arrow_arrays};
pub use result::{HostColumn, QueryResult, ResultKind, Row};
pub use statements::{StatementText, check_part, parts_of_name, placeholders_of, statements_of, type_of};
pub use system::{is_reserved, keyword_names};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct RustPage;

//! Data from and to files and hosts: table functions, sources over a host's columns, writers.
//!
//! - [`arrow_source`], [`column_source`]: tables over a host's record batches and columns.
//! - [`series`]: `range` and `generate_series`.
//! - [`tpch`]: the TPC-H data generator behind `CALL tpch_dbgen`.
//!
//! Sources hand out morsels that workers read in parallel; see [`inlay_catalog::TableSource`].

pub mod arrow_source;
pub mod column_source;
mod morsel;
pub mod series;
pub mod tpch;

pub use arrow_source::ArrowTable;
pub use column_source::ColumnSource;

use inlay_catalog::TableFunction;
use std::sync::Arc;

/// All table functions of this crate.
pub fn table_functions() -> Vec<Arc<dyn TableFunction>> {
    vec![Arc::new(series::Series::RANGE), Arc::new(series::Series::GENERATE_SERIES)]
}

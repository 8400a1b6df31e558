//! Data from and to files and hosts: table functions, sources over a host's columns, writers.
//!
//! - [`arrow_source`], [`column_source`]: tables over a host's record batches and columns.
//! - [`csv`]: `read_csv` and COPY FROM.
//! - [`parquet`]: `read_parquet`. [`write`]: CSV and Parquet files as targets of COPY TO.
//! - [`series`]: `range` and `generate_series`.
//! - [`tpcds`]: the TPC-DS data generator behind `CALL tpcds_dbgen`.
//! - [`zones`]: the table function `pg_timezone_names`.
//! - [`tpch`]: the TPC-H data generator behind `CALL tpch_dbgen`.
//!
//! Sources hand out morsels that workers read in parallel; see [`inlay_catalog::TableSource`].

pub mod arrow_source;
pub mod column_source;
pub mod csv;
mod morsel;
pub mod option_text;
pub mod parquet;
mod paths;
pub mod series;
pub mod tpcds;
pub mod tpch;
pub mod write;
pub mod zones;

pub use arrow_source::ArrowTable;
pub use column_source::ColumnSource;
pub use write::{FileWriter, open_writer};

use inlay_catalog::TableFunction;
use std::sync::Arc;

/// All table functions of this crate.
pub fn table_functions() -> Vec<Arc<dyn TableFunction>> {
    vec![
        Arc::new(csv::ReadCsv("read_csv")),
        Arc::new(csv::ReadCsv("read_csv_auto")),
        Arc::new(parquet::ReadParquet("read_parquet")),
        Arc::new(parquet::ReadParquet("parquet_scan")),
        Arc::new(series::Series::RANGE),
        Arc::new(series::Series::GENERATE_SERIES),
        Arc::new(zones::ZoneNames),
    ]
}

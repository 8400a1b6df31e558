//! Data from and to files and hosts: table functions, sources over a host's columns, writers.
//!
//! - [`arrow_source`], [`column_source`]: tables over a host's record batches and columns.
//! - [`csv`]: `read_csv` and COPY FROM.
//! - [`json`]: `read_json` and its siblings.
//! - [`parquet`]: `read_parquet`. [`write`]: CSV, JSON and Parquet files as targets of COPY TO.
//! - [`whole_files`]: `read_text`, `read_blob` and `glob`.
//! - [`series`]: `range` and `generate_series`. [`repeat`]: `repeat` and `repeat_row`.
//! - [`tpcds`]: the TPC-DS data generator behind `CALL tpcds_dbgen`.
//! - [`zones`]: the table function `pg_timezone_names`.
//! - [`tpch`]: the TPC-H data generator behind `CALL tpch_dbgen`.
//!
//! Sources hand out morsels that workers read in parallel; see [`inlay_catalog::TableSource`].

pub mod arrow_source;
pub mod column_source;
pub mod csv;
pub mod json;
mod morsel;
pub mod option_text;
pub mod parquet;
mod paths;
mod per_file;
pub mod repeat;
pub mod series;
pub mod tpcds;
pub mod tpch;
pub mod whole_files;
pub mod write;
pub mod zones;

pub use arrow_source::ArrowTable;
pub use column_source::ColumnSource;
pub use write::{FileWriter, open_writer};

use inlay_catalog::{FileAccess, TableFunction};
use parquet::about::{About, AboutParquet};
use std::sync::Arc;

/// All table functions of this crate. Those that read files ask `access` first.
pub fn table_functions(access: &Arc<FileAccess>) -> Vec<Arc<dyn TableFunction>> {
    let csv = |name| Arc::new(csv::ReadCsv::new(name, access));
    let parquet = |name| Arc::new(parquet::ReadParquet::new(name, access));
    let about = |about| Arc::new(AboutParquet::new(about, access));
    let whole = |kind| Arc::new(whole_files::WholeFiles::new(kind, access));
    let json = json::NAMES.iter().map(|(name, _)| Arc::new(json::ReadJson::new(name, access)));
    let mut functions: Vec<Arc<dyn TableFunction>> = vec![
        csv("read_csv"),
        csv("read_csv_auto"),
        parquet("read_parquet"),
        parquet("parquet_scan"),
        Arc::new(csv::sniff_csv::SniffCsv::new(access)),
        about(About::RowGroups),
        about(About::Schema),
        about(About::File),
        about(About::Pairs),
        whole(whole_files::Kind::Text),
        whole(whole_files::Kind::Blob),
        whole(whole_files::Kind::Names),
        Arc::new(repeat::Repeat::VALUE),
        Arc::new(repeat::Repeat::ROW),
        Arc::new(series::Series::RANGE),
        Arc::new(series::Series::GENERATE_SERIES),
        Arc::new(zones::ZoneNames),
    ];
    functions.extend(json.map(|function| function as Arc<dyn TableFunction>));
    functions
}

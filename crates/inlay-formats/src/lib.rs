//! Data from and to files and hosts: table functions, sources over a host's columns, writers.
//!
//! - [`arrow_source`], [`column_source`]: tables over a host's record batches and columns.
//! - [`arrow_files`]: `read_arrow`, files of Arrow's own format.
//! - [`files`]: how all of them reach files, and [`remote`]: those behind a network.
//! - [`csv`]: `read_csv` and COPY FROM.
//! - [`json`]: `read_json` and its siblings. [`excel`]: `read_xlsx`.
//! - [`parquet`]: `read_parquet`. [`write`]: CSV, JSON and Parquet files as targets of COPY TO.
//! - [`SessionFiles`]: what a session remembers of its files, as the lines that readers left out.
//! - [`whole_files`]: `read_text`, `read_blob` and `glob`.
//! - [`series`]: `range` and `generate_series`. [`repeat`]: `repeat` and `repeat_row`.
//! - [`tpcds`]: the TPC-DS data generator behind `CALL tpcds_dbgen`.
//! - [`zones`]: the table function `pg_timezone_names`.
//! - [`tpch`]: the TPC-H data generator behind `CALL tpch_dbgen`.
//!
//! Sources hand out morsels that workers read in parallel; see [`inlay_catalog::TableSource`].

#![cfg_attr(not(feature = "remote"), allow(dead_code, reason = "some of what files have is for remote ones"))]

mod arrow_check;
pub mod arrow_files;
pub mod arrow_source;
pub mod column_source;
pub mod csv;
pub mod excel;
pub mod files;
pub mod host;
mod input;
pub mod json;
mod morsel;
pub mod option_text;
pub mod parquet;
mod paths;
mod per_file;
mod quiet;
mod ranges;
mod rejects;
pub mod remote;
pub mod repeat;
pub mod series;
mod stored;
pub mod tpcds;
pub mod tpch;
pub mod whole_files;
pub mod write;
pub mod zones;

pub use arrow_source::{ArrowStreamTable, ArrowTable};
pub use column_source::{ColumnSource, DeferredColumn, SourceValues};
pub use rejects::SessionFiles;
pub use write::{Account, Destination, FileWriter, open_writer};

/// Runs a number of tasks, perhaps at once, and gives the first error.
pub type Parallel<'a> =
    &'a dyn Fn(usize, &(dyn Fn(usize) -> inlay_types::Result<()> + Sync)) -> inlay_types::Result<()>;

use crate::files::Files;
use inlay_catalog::TableFunction;
use parquet::about::{About, AboutParquet};
use std::sync::Arc;

/// All table functions of this crate. Those that read files ask `access` first.
pub fn table_functions(access: &Arc<Files>) -> Vec<Arc<dyn TableFunction>> {
    let session = Arc::default();
    let parquet = |name| Arc::new(parquet::ReadParquet::new(name, access));
    let about = |about| Arc::new(AboutParquet::new(about, access));
    let whole = |kind| Arc::new(whole_files::WholeFiles::new(kind, access));
    let mut functions: Vec<Arc<dyn TableFunction>> = vec![
        parquet("read_parquet"),
        parquet("parquet_scan"),
        Arc::new(arrow_files::ReadArrow::new("read_arrow", access)),
        Arc::new(arrow_files::ReadArrow::new("scan_arrow_ipc", access)),
        Arc::new(excel::ReadExcel::new(access)),
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
    functions.extend(TEXT_READERS.iter().filter_map(|name| text_reader(name, access, &session)));
    functions
}

/// Readers of text files, which remember something for their session.
const TEXT_READERS: [&str; 10] = [
    "read_csv",
    "read_csv_auto",
    "sniff_csv",
    "read_json",
    "read_json_auto",
    "read_ndjson",
    "read_ndjson_auto",
    "read_json_objects",
    "read_json_objects_auto",
    "read_ndjson_objects",
];

/// The reader of text files called `name` in lower case, for a session.
pub fn text_reader(
    name: &str,
    access: &Arc<Files>,
    session: &Arc<SessionFiles>,
) -> Option<Arc<dyn TableFunction>> {
    let name = *TEXT_READERS.iter().find(|known| **known == name)?;
    Some(match name {
        "read_csv" | "read_csv_auto" => Arc::new(csv::ReadCsv::new(name, access, session)),
        "sniff_csv" => Arc::new(csv::sniff_csv::SniffCsv::new(access, session)),
        _ => Arc::new(json::ReadJson::new(name, access, session)),
    })
}

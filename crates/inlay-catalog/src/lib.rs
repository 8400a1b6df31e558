//! What has a name: tables, views, indexes, and the sources that a query may scan; and what statements may reach besides
//! ([`access`]), and who may do it ([`rights`]).
//!
//! Names are looked up without regard to case and keep the case they were created with. A change makes a
//! new version of the catalog; a running statement keeps the one it started with.

pub mod access;
mod catalog;
mod entry;
mod qualified;
pub mod rights;
mod source;

pub use catalog::{Catalog, CatalogEntry, IndexEntry, TableEntry, ViewEntry};
pub use entry::{Counter, Sequence, SequenceSchema};
pub use inlay_storage::store::{Definition, DefinitionKind};
pub use inlay_storage::{ColumnSchema, Table, TableSchema};
pub use inlay_types::candidates::near_names;
pub use qualified::{MAIN, SYSTEM, SYSTEM_SCHEMAS, TEMPORARY, bare_name, qualified, schema_of, split_name};
pub use source::{
    ClusterFiles, RemoteTable, ScanRequest, SourceColumn, SourceFilter, SourceScan, SourceTask,
    TableFunction, TableSource, TypeNames,
};

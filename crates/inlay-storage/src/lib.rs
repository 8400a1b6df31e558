//! Tables: row groups of encoded column segments, in memory, behind the interface of durable storage.
//!
//! ```text
//! Table --snapshot()--> TableSnapshot --> RowGroup (131,072 rows) --> Segment (one encoded column)
//! ```
//! Segments are immutable and shared by `Arc`. A change to a table makes a new snapshot that shares what did not
//! change; readers keep the snapshot they started with and are never blocked. Writers of one table take turns.
//!
//! - [`schema`]: columns and constraints. [`table`]: snapshots and changes. [`bulk`]: parallel loading.
//! - [`row_set`]: ids of many rows in little memory.
//! - [`segment`]: encodings, scan, gather, filter, images for disk (compressed by `codec`). [`predicate`]: what segments can filter by;
//!   [`key_bitmap`] and [`bloom`] are the filters that hash joins send sideways.
//! - [`resident`]: columns as hosts have them, on pages that arrays map.
//! - [`io`]: disks, real and simulated. [`file`]: the database file. [`wal`]: its log. docs/format.md specifies both.
//! - [`index`]: radix trees over keys, shared by all versions of a table and kept in pages.
//! - [`value_sets`]: the rows of each value of a column, which indexes by value are made of.
//! - [`zone_map`], [`statistics`], [`hyperloglog`]: what the optimizer and scans know without reading rows.
//!
//! Storage knows no SQL and no threads of its own.

pub mod bloom;
pub mod bulk;
pub mod bytes;
mod codec;
pub mod column;
pub mod file;
mod home;
pub mod hyperloglog;
pub mod index;
mod interrupted;
pub mod io;
pub mod key_bitmap;
pub mod predicate;
pub mod resident;
pub mod row_group;
pub mod row_set;
pub mod schema;
pub mod segment;
mod simd;
pub mod statistics;
pub mod store;
pub mod table;
pub mod value_sets;
pub mod wal;
pub mod zone_map;

pub use bloom::BloomFilter;
pub use bulk::{BulkAppender, BulkLoad, BulkUpdate};
pub use bytes::{ByteReader, ByteWriter};
pub use column::Column;
pub use hyperloglog::HyperLogLog;
pub use key_bitmap::KeyBitmap;
pub use predicate::{Cmp, Prune, SegmentPredicate, VectorPredicate};
pub use row_group::{ROW_GROUP_SIZE, RowGroup};
pub use row_set::{RowSet, RowSetBuilder};
pub use schema::{
    Check, ColumnSchema, Deferral, ForeignKey, IndexedExpression, Origin, ReferenceAction, TableSchema,
};
pub use segment::{FieldMeta, PreparedPredicate, Segment, SegmentMeta};
pub use statistics::{ColumnStatistics, TableStatistics};
pub use table::{Table, TableSnapshot};
pub use value_sets::ValueSets;
pub use zone_map::ZoneMap;

//! The Arrow C data interface: columns to and from any host without copying, and without the arrow crates.
//!
//! - [`ffi`]: the three structs of the interface and who owns them.
//! - [`export`]: vectors and batches as struct arrays and streams. Fixed-width values, validity and string views
//!   are handed over as they lie; booleans become bitmaps, narrow decimals become 128 bits wide. [`FlatColumn`] is handed out as often as wanted.
//! - [`field`]: what an Arrow schema says, as safe values, and which logical type stands for it.
//! - [`import`]: arrays of a host as vectors. Values that lie alike are shared, strings of any Arrow layout become
//!   views over the host's bytes; the array is released when the last vector is dropped.
//! - [`stream`]: arrays one after the other, in both directions.
//!
//! What always holds: memory handed out lives until the consumer releases it, memory taken in until nothing of ours
//! refers to it; no panic leaves a callback; a NULL or released struct is an error.
//!
//! Called by the language bindings and by `inlay_formats`.
//! Source: <https://arrow.apache.org/docs/format/CDataInterface.html>.

pub mod export;
mod export_nested;
pub mod ffi;
pub mod field;
pub mod import;
mod import_nested;
mod layout;
mod scalars;
pub mod stream;
mod strings;

pub use export::{Exporter, FlatColumn, PreparedColumn, StringLayout};
pub use ffi::{ArrowArray, ArrowArrayStream, ArrowSchema};
pub use field::{ArrowField, ArrowType, TimeUnit};
pub use import::{ArrowColumn, ArrowRecords};
pub use stream::StreamReader;

#[cfg(test)]
mod tests;

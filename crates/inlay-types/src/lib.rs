//! What data is in Inlay: logical types, values, vectors, batches, and the one error type.
//!
//! Every other crate builds on this one; it knows no SQL, no storage and no threads. Storage and kernels stand side by side
//! on it, so what both need is here. Data lies in
//! Arrow's layout (little-endian, tightly packed, 64-byte aligned, validity bitmaps, 16-byte string
//! views), so handing a vector to a host is a pointer, not a loop.
//!
//! - [`logical_type`]: what SQL calls a type, and which physical layout carries it.
//! - [`value`]: one value, for literals, parameters and statistics.
//! - [`buffer`], [`bitmap`], [`view`]: memory, NULLs, strings; [`pages`]: memory that hosts map; [`pick`]: values by row.
//! - [`vector`], [`batch`], [`builder`]: columns in flight.
//! - [`nested`]: lists, structs, maps and unions as packed bytes; [`bit`], [`time_tz`]: carriers of BIT and TIMETZ.
//! - [`datetime`]: the calendar; [`digits`]: numbers as text.
//! - [`arrow`]: columns to and from a host through the Arrow C data interface.
//! - [`hash`], [`cmp`], [`byte_set`]: hashes of values, operators of comparison, sets of bytes; [`host`]: values as a host's arrays
//!   hold them; [`simd`]: loops compiled for the CPU's level.
//! - [`budget`], [`interrupt`], [`limits`]: the memory limit and cancellation that every query passes along, and what holds on
//!   the calling thread.
//! - [`process`]: whether this is a forked child; [`discard`]: closing large files without waiting; [`size_limit`]: how
//!   large a file may be.

pub mod allocator;
pub mod apart;
pub mod append;
pub mod arrow;
pub mod batch;
pub mod bit;
pub mod bitmap;
pub mod budget;
pub mod buffer;
pub mod builder;
pub mod byte_set;
pub mod candidates;
pub mod cmp;
pub mod datetime;
pub mod digits;
pub mod discard;
pub mod error;
pub mod hash;
pub mod host;
mod idle;
pub mod interrupt;
pub mod keywords;
pub mod limits;
pub mod logical_type;
pub mod native;
pub mod nearest;
pub mod nested;
mod overhead;
pub mod pages;
pub mod passwords;
pub mod pick;
pub mod process;
pub mod simd;
pub mod size_limit;
pub mod sorting;
pub mod sql_text;
#[cfg(test)]
mod tests;
pub mod time_tz;
pub mod value;
pub mod vector;
pub mod view;

pub use batch::Batch;
pub use bitmap::Bitmap;
pub use budget::{MemoryBudget, Reclaim, Reservation};
pub use buffer::{Buffer, Native};
pub use builder::VectorBuilder;
pub use candidates::Candidates;
pub use cmp::Cmp;
pub use error::{Error, ErrorKind, Result};
pub use interrupt::{Interrupt, Interrupts};
pub use logical_type::{EnumType, Field, LogicalType, PhysicalType};
pub use native::FromValue;
pub use time_tz::TimeTz;
pub use value::{Interval, Value};
pub use vector::{Dictionary, Vector, VectorKind};
pub use view::{Heap, View};

/// Rows in a full vector. A batch holds at most this many.
pub const VECTOR_SIZE: usize = 2048;

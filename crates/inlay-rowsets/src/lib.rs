//! Sets of rows, compressed: which rows of a column have a value.
//!
//! ```text
//! codes of a column --by_code()--> a set per value --and, or, not, count_and()--> rows of a condition, rows of a group
//! ```
//! - [`places`]: sets within a row group, as lists, runs or bits, whichever is smallest. What indexes by value are made of.
//! - [`blocks`]: the two codes of OlapCalc (a word of address and content, and its gamma code), which the former were measured
//!   against: docs/decisions/0035.
//! - [`by_code`]: the set of each value of a column whose values are numbered.
//!
//! Sets are immutable. They know no tables, no values and no files: an image of a set is bytes, and every byte of it is looked
//! at when it is read. Ids of the rows that a change touches are another thing: `inlay_storage::row_set`.

mod bits;
pub mod blocks;
mod by_code;
pub mod places;
mod search;

pub use by_code::{ByCode, by_code};
pub use places::{Marks, Places};

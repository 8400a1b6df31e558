//! Values from text: the parsers behind casts from VARCHAR and the CSV reader.
//!
//! All skip surrounding ASCII spaces and return `None` for what is no value.

mod number;
mod temporal;

pub(crate) use number::trim;
pub use number::{ParseError, boolean, decimal, double, int, real, unsigned};
pub use temporal::{date, interval, time, timestamp};

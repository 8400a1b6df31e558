//! Values from text: the parsers behind casts from VARCHAR and the CSV reader.
//!
//! All skip surrounding ASCII spaces and return `None` for what is no value.

mod interval;
mod number;
mod temporal;

pub use interval::interval;
pub use number::trim;
pub use number::{ParseError, boolean, decimal, double, fraction_digits, int, real, unsigned};
pub use temporal::special_date;
pub use temporal::{
    Suffix, date, round_to, time, time_tz, timestamp, timestamp_millis, timestamp_nanos, timestamp_seconds,
    timestamp_tz, utc_offset_liberal,
};
/// Whether the time of day in a text has nanoseconds, which all types but TIMESTAMP_NS leave out.
pub fn has_nanoseconds(text: &[u8]) -> bool {
    let clock = text.iter().position(|byte| *byte == b':').map_or(&[][..], |at| &text[at..]);
    let behind = clock.iter().position(|byte| *byte == b'.').map_or(&[][..], |at| &clock[at + 1..]);
    behind.iter().take_while(|byte| byte.is_ascii_digit()).skip(6).any(|byte| *byte != b'0')
}

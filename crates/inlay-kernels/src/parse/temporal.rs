//! Dates, times, timestamps and intervals from text.

use inlay_types::Interval;

/// `2024-02-29`, as days since 1970-01-01.
pub fn date(text: &[u8]) -> Option<i32> {
    let _ = text;
    None
}

/// `23:59:59.5`, as microseconds since midnight.
pub fn time(text: &[u8]) -> Option<i64> {
    let _ = text;
    None
}

/// `2024-02-29 23:59:59.5`, `2024-02-29T23:59:59Z` or `2024-02-29`, as microseconds since 1970-01-01.
pub fn timestamp(text: &[u8]) -> Option<i64> {
    let _ = text;
    None
}

/// `1 year 2 months 3 days 04:05:06.5`, `90 days`, `-1 month`.
pub fn interval(text: &[u8]) -> Option<Interval> {
    let _ = text;
    None
}

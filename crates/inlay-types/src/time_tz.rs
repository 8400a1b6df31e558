//! TIME WITH TIME ZONE: a time of day and an offset from UTC in 64 bits.
//!
//! Memory holds `(micros + offset') << 24 | seconds'`, where `seconds'` is 57,599 minus the offset in seconds east of
//! UTC and `offset'` the same in microseconds. Values are positive, equal only when time and offset are equal, and have
//! the order of the instants they name; equal instants are ordered by their offsets, the easternmost first.

use crate::datetime::write_time;
use std::fmt::{self, Write};

/// Largest offset from UTC, in seconds: 15:59:59.
pub const MAX_OFFSET: i32 = 16 * 3600 - 1;

const OFFSET_BITS: u32 = 24;

/// A time of day somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeTz {
    /// Local time, microseconds since midnight.
    pub micros: i64,
    /// Seconds east of UTC, at most [`MAX_OFFSET`] either way.
    pub offset: i32,
}

impl TimeTz {
    /// The 64 bits in memory.
    pub fn stored(self) -> i64 {
        let west = i64::from(MAX_OFFSET - self.offset.clamp(-MAX_OFFSET, MAX_OFFSET));
        (self.micros + west * 1_000_000) << OFFSET_BITS | west
    }

    /// The inverse of [`Self::stored`]; bits that no value has give some time.
    pub fn from_stored(stored: i64) -> Self {
        let west = (stored & ((1 << OFFSET_BITS) - 1)).min(2 * i64::from(MAX_OFFSET));
        let micros = (stored >> OFFSET_BITS) - west * 1_000_000;
        Self { micros: micros.clamp(0, crate::value::TIME_MAX), offset: MAX_OFFSET - west as i32 }
    }
}

impl fmt::Display for TimeTz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_time(&mut text, self.micros);
        let magnitude = self.offset.unsigned_abs();
        let sign = if self.offset < 0 { '-' } else { '+' };
        let _ = write!(text, "{sign}{:02}", magnitude / 3600);
        if !magnitude.is_multiple_of(3600) {
            let _ = write!(text, ":{:02}", magnitude / 60 % 60);
        }
        if !magnitude.is_multiple_of(60) {
            let _ = write!(text, ":{:02}", magnitude % 60);
        }
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_and_have_the_order_of_their_instants() {
        let at = |micros, offset| TimeTz { micros, offset };
        let noon = 12 * 3_600_000_000;
        for time in [at(0, 0), at(noon, -MAX_OFFSET), at(crate::value::TIME_MAX, MAX_OFFSET), at(1, -3661)] {
            assert_eq!(TimeTz::from_stored(time.stored()), time);
            assert!(time.stored() >= 0);
        }
        assert!(at(noon, 3600).stored() < at(noon, 0).stored());
        assert!(at(noon + 3_600_000_000, 3600).stored() != at(noon, 0).stored());
        assert_eq!(at(noon, -5400).to_string(), "12:00:00-01:30");
    }
}

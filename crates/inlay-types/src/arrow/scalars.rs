//! Single values of Arrow as ours.

use super::field::TimeUnit;
use crate::datetime::MICROS_PER_DAY;

/// A time of day, up to the end of the day.
pub(super) fn time_of_day(micros: i64) -> Option<i64> {
    (0..=MICROS_PER_DAY).contains(&micros).then_some(micros)
}

/// The same in microseconds, if it is a whole number of them.
pub(super) fn to_micros(time: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => time.checked_mul(1_000_000),
        TimeUnit::Milli => time.checked_mul(1000),
        TimeUnit::Micro => Some(time),
        TimeUnit::Nano => (time % 1000 == 0).then_some(time / 1000),
    }
}

/// IEEE 754 binary16 to binary32.
pub(super) fn half_to_single(bits: u16) -> f32 {
    let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    match exponent {
        0 => sign * fraction * power_of_two(-24),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * power_of_two(exponent - 15),
    }
}

/// A power of two that is neither subnormal nor infinite, exactly: how precise `powi` is, Rust does not say.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

//! The proleptic Gregorian calendar: days and microseconds to fields and back, and their text.

use crate::digits::{padded_word, write_padded};
use crate::multiversion;
use std::fmt::Write;

/// Microseconds in a day.
pub const MICROS_PER_DAY: i64 = 86_400_000_000;
/// Microseconds in a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;

/// Days since 1970-01-01 for which [`civil_fields`] holds: the years from about -1,400,000 to 1,400,000.
pub const CIVIL_DAYS_MAX: i32 = 500_000_000;
/// Years that are computed with 32 bits.
const CIVIL_YEARS_MAX: i32 = 1_000_000;
/// Cycles of 400 years that are added, so that numbers are positive, and what begins with 0000-03-01.
const CYCLES: u32 = 3675;
const SHIFT_DAYS: u32 = 719_468 + 146_097 * CYCLES;
const SHIFT_YEARS: i32 = 400 * CYCLES as i32;

/// Year, month and day in 32-bit arithmetic without branches, so that loops vectorise; right for days within
/// [`CIVIL_DAYS_MAX`] of 1970 only, but defined for all.
///
/// Source: Neri and Schneider, "Euclidean affine functions and their application to calendar algorithms" (2022).
#[inline(always)]
pub fn civil_fields(days: i32) -> (i32, i32, i32) {
    let days = (days as u32).wrapping_add(SHIFT_DAYS);
    let n1 = days.wrapping_mul(4).wrapping_add(3);
    let century = n1 / 146_097;
    let day_of_century = n1 % 146_097 / 4;
    let n2 = 4 * day_of_century + 3;
    let product = u64::from(n2) * 2_939_745;
    let year_of_century = (product >> 32) as u32;
    let day_of_year = (product as u32) / 2_939_745 / 4;
    let n3 = 2141 * day_of_year + 197_913;
    let (month, day) = (n3 >> 16, (n3 & 0xFFFF) / 2141);
    let is_next_year = day_of_year >= 306;
    let year = (100 * century + year_of_century) as i32 - SHIFT_YEARS + i32::from(is_next_year);
    (year, month as i32 - if is_next_year { 12 } else { 0 }, day as i32 + 1)
}

/// Days since 1970-01-01 of a civil date, by the same source, or for years far away by Howard Hinnant, "chrono-compatible date
/// algorithms".
#[inline]
pub fn days_from_civil(year: i32, month: u32, day: u32) -> i32 {
    if !(-CIVIL_YEARS_MAX..CIVIL_YEARS_MAX).contains(&year) || !(1..=12).contains(&month) {
        return far_days_from_civil(year, month, day);
    }
    let is_next_year = month <= 2;
    let year = (year + SHIFT_YEARS) as u32 - u32::from(is_next_year);
    let month = month + if is_next_year { 12 } else { 0 };
    let century = year / 100;
    let before = 1461 * year / 4 - century + century / 4;
    let days = before.wrapping_add((979 * month - 2919) / 32).wrapping_add(day);
    days.wrapping_sub(1).wrapping_sub(SHIFT_DAYS) as i32
}

#[cold]
fn far_days_from_civil(year: i32, month: u32, day: u32) -> i32 {
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted_month = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era - 719_468) as i32
}

/// Year, month and day of days since 1970-01-01.
#[inline]
pub fn civil_from_days(days: i32) -> (i32, u32, u32) {
    if !(-CIVIL_DAYS_MAX..CIVIL_DAYS_MAX).contains(&days) {
        return far_civil_from_days(days);
    }
    let (year, month, day) = civil_fields(days);
    (year, month as u32, day as u32)
}

#[cold]
fn far_civil_from_days(days: i32) -> (i32, u32, u32) {
    let shifted = i64::from(days) + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 } as u32;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month, day)
}

/// Whether a year has a 29 February.
pub fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days in a month (1 to 12).
pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days with `months` added; the day is clamped to the month's last. `None` outside of the range of DATE.
pub fn add_months(days: i32, months: i32) -> Option<i32> {
    let (year, month, day) = civil_from_days(days);
    let total = i64::from(year) * 12 + i64::from(month) - 1 + i64::from(months);
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) as u32 + 1);
    if !(-5_877_641..=5_881_580).contains(&year) {
        return None;
    }
    let year = year as i32;
    Some(days_from_civil(year, month, day.min(days_in_month(year, month))))
}

/// `DATE 'infinity'`; its negative is `-infinity`.
pub const DATE_INFINITY: i32 = i32::MAX;
/// `TIMESTAMP 'infinity'`, of every precision; its negative is `-infinity`.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// The first moment of a TIMESTAMP: 290309-12-22 (BC) 00:00:00.
pub const TIMESTAMP_MIN: i64 = -9_223_372_022_400_000_000;
/// Whether a DATE is neither infinity nor -infinity.
#[inline(always)]
pub const fn is_finite_date(days: i32) -> bool {
    days != DATE_INFINITY && days != -DATE_INFINITY
}

/// Whether a TIMESTAMP, of any precision, is neither infinity nor -infinity.
#[inline(always)]
pub const fn is_finite_timestamp(at: i64) -> bool {
    at != TIMESTAMP_INFINITY && at != -TIMESTAMP_INFINITY
}

/// Whether microseconds are a finite TIMESTAMP.
#[inline(always)]
pub const fn is_timestamp(micros: i64) -> bool {
    micros >= TIMESTAMP_MIN && micros < TIMESTAMP_INFINITY
}

/// Whether a number is a moment, or infinity, of a type that counts so many units a second. TIMESTAMP_S and TIMESTAMP_MS reach as far
/// as DATE does, TIMESTAMP_NS as far as 64 bits do.
#[inline(always)]
pub const fn is_moment(at: i64, units_per_second: i64) -> bool {
    let (first, end) = if units_per_second <= 1000 {
        let (day, days) = (86_400 * units_per_second, DATE_INFINITY as i64);
        ((1 - days) * day, days * day)
    } else if units_per_second == MICROS_PER_SECOND {
        (TIMESTAMP_MIN, TIMESTAMP_INFINITY)
    } else {
        (-TIMESTAMP_INFINITY, TIMESTAMP_INFINITY)
    };
    (at >= first && at < end) || !is_finite_timestamp(at)
}

/// Whether days are a finite DATE: 5877642-06-25 (BC) to 5881580-07-10.
#[inline(always)]
pub const fn is_date(days: i32) -> bool {
    days > -DATE_INFINITY && days < DATE_INFINITY
}

/// Whole numbers of at most so many bits are doubles.
const EXACT_BITS: u32 = 53;

/// `at.div_euclid(unit)`, by a division that vectorises: right where no more than [`EXACT_BITS`] are left of `at` behind the
/// zeros at the end of `unit`. The quotient of two whole numbers is farther from the next one than it is rounded by.
#[inline(always)]
fn floor_quotient(at: i64, zeros: u32, odd: f64) -> i64 {
    let quotient = (at >> zeros) as f64 / odd;
    let towards_zero = quotient as i64;
    towards_zero - i64::from(towards_zero as f64 > quotient)
}

/// Days of microseconds, as `div_euclid(MICROS_PER_DAY)` counts them.
pub fn days_of_micros(moments: &[i64], days: &mut [i32]) {
    const ZEROS: u32 = MICROS_PER_DAY.trailing_zeros();
    const { assert!(i64::BITS - ZEROS <= EXACT_BITS) };
    // Quotients and numbers half as wide are loops of their own: together they do not vectorise.
    let mut wide = [0; 256];
    for (moments, days) in moments.chunks(wide.len()).zip(days.chunks_mut(wide.len())) {
        let wide = &mut wide[..moments.len()];
        quotients(moments, ZEROS, (MICROS_PER_DAY >> ZEROS) as f64, wide);
        days.iter_mut().zip(wide).for_each(|(day, &mut wide)| *day = wide as i32);
    }
}

/// Microseconds of the day of a moment, as `rem_euclid(MICROS_PER_DAY)` counts them, in loops that vectorise.
#[inline(always)]
pub fn micros_of_day(at: i64) -> i64 {
    const ZEROS: u32 = MICROS_PER_DAY.trailing_zeros();
    at - floor_quotient(at, ZEROS, (MICROS_PER_DAY >> ZEROS) as f64).wrapping_mul(MICROS_PER_DAY)
}

/// `div_euclid(unit)` of moments, where `unit` is that of a part of the clock or larger.
pub fn units_of_moments(moments: &[i64], unit: i64, units: &mut [i64]) {
    let zeros = unit.trailing_zeros();
    let bits = EXACT_BITS + zeros;
    if bits >= i64::BITS || !any_beyond(moments, 1 << (bits - 1)) {
        return quotients(moments, zeros, (unit >> zeros) as f64, units);
    }
    units.iter_mut().zip(moments).for_each(|(units, at)| *units = at.div_euclid(unit));
}

multiversion! {
    fn quotients[](moments: &[i64], zeros: u32, odd: f64, units: &mut [i64]) {
        units.iter_mut().zip(moments).for_each(|(units, &at)| *units = floor_quotient(at, zeros, odd));
    }
}

multiversion! {
    /// Whether some number is not between `-limit` and `limit`.
    pub fn any_beyond[](numbers: &[i64], limit: i64) -> bool {
        numbers.iter().fold(false, |any, &number| any | (number >= limit) | (number <= -limit))
    }
}

multiversion! {
    /// Whether some date is infinite.
    pub fn any_infinite_date[](dates: &[i32]) -> bool {
        dates.iter().fold(false, |any, &days| any | !is_finite_date(days))
    }
}

multiversion! {
    /// Whether some timestamp, of any precision, is infinite.
    pub fn any_infinite_timestamp[](moments: &[i64]) -> bool {
        moments.iter().fold(false, |any, &at| any | !is_finite_timestamp(at))
    }
}

/// Midnight of a day; infinity stays. `None`: out of the range of TIMESTAMP.
pub fn midnight(days: i32) -> Option<i64> {
    match days {
        DATE_INFINITY => Some(TIMESTAMP_INFINITY),
        days if days == -DATE_INFINITY => Some(-TIMESTAMP_INFINITY),
        days => i64::from(days).checked_mul(MICROS_PER_DAY).filter(|at| is_timestamp(*at)),
    }
}

/// The day of a moment; infinity stays.
#[inline]
pub fn day_of(micros: i64) -> i32 {
    match micros {
        TIMESTAMP_INFINITY => DATE_INFINITY,
        micros if micros == -TIMESTAMP_INFINITY => -DATE_INFINITY,
        micros => micros.div_euclid(MICROS_PER_DAY) as i32,
    }
}

fn write_infinity(out: &mut String, is_negative: bool) {
    out.push_str(if is_negative { "-infinity" } else { "infinity" });
}

/// Writes `2024-02-29`; years before 1 end in ` (BC)`.
pub fn write_date(out: &mut String, days: i32) {
    if !is_finite_date(days) {
        return write_infinity(out, days < 0);
    }
    let (year, month, day) = civil_from_days(days);
    let (shown, suffix) = if year <= 0 { (1 - year, " (BC)") } else { (year, "") };
    write_padded(out, u64::from(shown.unsigned_abs()), 4);
    out.push('-');
    write_padded(out, u64::from(month), 2);
    out.push('-');
    write_padded(out, u64::from(day), 2);
    out.push_str(suffix);
}

/// A short text that was made in registers: its bytes, the first one lowest, in two words, and how many they are. What is behind
/// them may be anything.
pub type ShortText = ([u128; 2], usize);

/// The ten bytes of a date of the years 1 to 9999, the first one lowest.
#[inline(always)]
fn date_word(days: i32) -> Option<u128> {
    let (year, month, day) = civil_fields(days);
    if !(1..=9999).contains(&year) || !(-CIVIL_DAYS_MAX..CIVIL_DAYS_MAX).contains(&days) {
        return None;
    }
    let digits = u128::from(padded_word((year * 10_000 + month * 100 + day) as u64));
    let dash = u128::from(b'-');
    Some(digits & 0xFFFF_FFFF | dash << 32 | (digits >> 32 & 0xFFFF) << 40 | dash << 56 | digits >> 48 << 64)
}

/// The eight bytes of a second of the day, the first one lowest.
#[inline(always)]
fn clock_word(seconds: u64) -> u64 {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let digits = padded_word(hours * 1_000_000 + minutes * 1000 + seconds);
    // Digits are `hh0mm0ss`, and in the place of these zeros there are colons.
    digits + (u64::from(b':' - b'0') << 16) + (u64::from(b':' - b'0') << 40)
}

/// The bytes of a point and a fraction of a second without trailing zeros, and how many.
#[inline(always)]
fn fraction_word(micros: u64) -> (u128, usize) {
    let digits = padded_word(micros * 100);
    // Zeros at the end are the high bytes.
    let zeros = (digits ^ 0x3030_3030_3030_3030).leading_zeros() as usize / 8;
    (u128::from(b'.') | u128::from(digits) << 8, if micros == 0 { 0 } else { 9 - zeros })
}

/// What [`write_date`] writes, for most dates.
#[inline(always)]
pub fn short_date(days: i32) -> Option<ShortText> {
    Some(([date_word(days)?, 0], 10))
}

/// What [`write_time`] writes, for times of the day.
#[inline(always)]
pub fn short_time(micros: i64) -> Option<ShortText> {
    let micros = u64::try_from(micros).ok().filter(|micros| *micros < MICROS_PER_DAY as u64)?;
    let (fraction, len) = fraction_word(micros % MICROS_PER_SECOND as u64);
    Some(([u128::from(clock_word(micros / MICROS_PER_SECOND as u64)) | fraction << 64, 0], 8 + len))
}

/// What [`write_timestamp`] writes, for most timestamps.
#[inline(always)]
pub fn short_timestamp(at: i64) -> Option<ShortText> {
    let (days, micros) = (at.div_euclid(MICROS_PER_DAY) as i32, at.rem_euclid(MICROS_PER_DAY) as u64);
    let clock = u128::from(clock_word(micros / MICROS_PER_SECOND as u64));
    let (fraction, len) = fraction_word(micros % MICROS_PER_SECOND as u64);
    // Five of the eight bytes of the clock are in the first word.
    let first = date_word(days)? | u128::from(b' ') << 80 | clock << 88;
    Some(([first, clock >> 40 | fraction << 24], 19 + len))
}

/// Writes `23:59:59.5`; trailing zeros of the fraction are left out.
pub fn write_time(out: &mut String, micros: i64) {
    write_clock(out, micros.div_euclid(MICROS_PER_SECOND), micros.rem_euclid(MICROS_PER_SECOND), 6);
}

fn write_clock(out: &mut String, seconds: i64, fraction: i64, digits: usize) {
    for (part, before) in [(seconds / 3600, ""), (seconds / 60 % 60, ":"), (seconds % 60, ":")] {
        out.push_str(before);
        write_padded(out, part.unsigned_abs(), 2);
    }
    if fraction != 0 {
        let start = out.len();
        out.push('.');
        write_padded(out, fraction.unsigned_abs(), digits);
        let kept = out[start..].trim_end_matches('0').len();
        out.truncate(start + kept);
    }
}

/// Writes `2024-02-29 23:59:59.5`.
pub fn write_timestamp(out: &mut String, micros: i64) {
    write_moment(out, micros, MICROS_PER_SECOND, 6);
}

/// Writes a timestamp of seconds, milliseconds or nanoseconds: `units` per second, with up to `digits` of a fraction.
pub fn write_moment(out: &mut String, at: i64, units: i64, digits: usize) {
    if !is_finite_timestamp(at) {
        return write_infinity(out, at < 0);
    }
    let seconds = at.div_euclid(units);
    write_date(
        out,
        seconds.div_euclid(86_400).clamp(1 - i64::from(i32::MAX), i64::from(i32::MAX) - 1) as i32,
    );
    out.push(' ');
    write_clock(out, seconds.rem_euclid(86_400), at.rem_euclid(units), digits);
}

/// Writes an offset to UTC: `+01`, `-03:30`, `+00:17:30` (seconds only if `with_seconds`).
pub fn write_offset(out: &mut String, offset: i32, with_seconds: bool) {
    let seconds = offset.unsigned_abs();
    let _ = write!(out, "{}{:02}", if offset < 0 { '-' } else { '+' }, seconds / 3600);
    let (minutes, rest) = (seconds / 60 % 60, if with_seconds { seconds % 60 } else { 0 });
    if minutes != 0 || rest != 0 {
        let _ = write!(out, ":{minutes:02}");
    }
    if rest != 0 {
        let _ = write!(out, ":{rest:02}");
    }
}

/// Writes `2024-02-29 23:59:59.5+01`: a moment in UTC as clocks at `offset` show it.
pub fn write_timestamp_tz(out: &mut String, micros: i64, offset: i32) {
    if !is_finite_timestamp(micros) {
        return write_infinity(out, micros < 0);
    }
    write_timestamp(out, micros.saturating_add(i64::from(offset) * MICROS_PER_SECOND));
    write_offset(out, offset, false);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calendar in 32 bits is the one of any size, also where one hands over to the other.
    #[test]
    fn near_dates_are_computed_as_far_ones_are() {
        let ends = [-CIVIL_DAYS_MAX, CIVIL_DAYS_MAX, 0].into_iter().flat_map(|day| day - 400..day + 400);
        let years = [-CIVIL_YEARS_MAX, CIVIL_YEARS_MAX].map(|year| far_days_from_civil(year, 1, 1));
        let around = years.into_iter().flat_map(|day| day - 800..day + 800);
        let all = (-499_999_000..499_999_000).step_by(99_991).chain((-800_000..800_000).step_by(7));
        for days in all.chain(ends).chain(around) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!((year, month, day), far_civil_from_days(days), "{days}");
            assert_eq!(days_from_civil(year, month, day), days);
            assert_eq!(far_days_from_civil(year, month, day), days);
        }
    }

    /// Quotients of doubles are those of whole numbers, also beside multiples and where numbers are too large for doubles.
    #[test]
    fn units_of_many_moments_are_those_of_single_ones() {
        for unit in [1, 1_000, 1_000_000, 60_000_000, 3_600_000_000, MICROS_PER_DAY, 7 * MICROS_PER_DAY] {
            let mut moments: Vec<i64> = vec![i64::MIN, i64::MAX, 0, TIMESTAMP_MIN, -TIMESTAMP_INFINITY];
            for bits in 0..63 {
                let multiple = (1i64 << bits) / unit * unit;
                for near in [1i64 << bits, multiple, multiple.saturating_add(unit)] {
                    moments.extend([-1, 0, 1].map(|by| near.saturating_add(by)));
                    moments.extend([-1, 0, 1].map(|by| by - near));
                }
            }
            let small =
                |limit: i64| moments.iter().copied().filter(|at| at.unsigned_abs() < limit as u64).collect();
            for moments in [moments.clone(), small(1 << 62), small(1 << 53), Vec::new()] {
                let mut units = vec![0; moments.len()];
                units_of_moments(&moments, unit, &mut units);
                let mut days = vec![0; moments.len()];
                days_of_micros(&moments, &mut days);
                for (row, &at) in moments.iter().enumerate() {
                    assert_eq!(units[row], at.div_euclid(unit), "{at} by {unit}");
                    assert_eq!(days[row], at.div_euclid(MICROS_PER_DAY) as i32, "{at}");
                    assert_eq!(micros_of_day(at), at.rem_euclid(MICROS_PER_DAY), "{at}");
                }
            }
        }
    }

    #[test]
    fn short_texts_are_those_that_are_written() {
        let shown = |short: Option<ShortText>| {
            short.map(|(words, len)| {
                let bytes = words.map(u128::to_le_bytes);
                String::from_utf8(bytes.as_flattened()[..len].to_vec()).unwrap()
            })
        };
        let written = |write: &dyn Fn(&mut String)| {
            let mut text = String::new();
            write(&mut text);
            text
        };
        let near = (-800_000..3_000_000).step_by(997).chain(-719_600..-719_400).chain(2_932_800..2_932_999);
        for days in near.chain([i32::MIN, i32::MAX, 0, CIVIL_DAYS_MAX]) {
            let text = written(&|out| write_date(out, days));
            let is_near = days.unsigned_abs() < 4_000_000 && text.len() == 10;
            assert_eq!(shown(short_date(days)), is_near.then_some(text), "{days}");
            for micros in [0, 1, 999_999, 3_661_500_000, 45_296_120_000, MICROS_PER_DAY - 1, 43_200_000_010] {
                assert_eq!(shown(short_time(micros)), Some(written(&|out| write_time(out, micros))));
                let at = i64::from(days).saturating_mul(MICROS_PER_DAY).saturating_add(micros);
                let found = shown(short_timestamp(at));
                assert!(found.is_some() == is_near, "{days}");
                assert!(found.is_none_or(|found| found == written(&|out| write_timestamp(out, at))), "{at}");
            }
        }
        assert_eq!(short_time(MICROS_PER_DAY), None);
        assert_eq!(short_time(-1), None);
    }

    #[test]
    fn civil_dates_round_trip() {
        for days in (-800_000..800_000).step_by(37) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(civil_from_days(10_957), (2000, 1, 1));
    }

    #[test]
    fn adding_months_clamps_the_day() {
        let jan31 = days_from_civil(2024, 1, 31);
        assert_eq!(add_months(jan31, 1), Some(days_from_civil(2024, 2, 29)));
        assert_eq!(add_months(jan31, -11), Some(days_from_civil(2023, 2, 28)));
    }
}

//! Days to year, month and day by loops that vectorise, and what follows from these fields.

use inlay_types::datetime::{CIVIL_DAYS_MAX as DAYS_MAX, civil_fields, civil_from_days, days_of_micros};
use inlay_types::{LogicalType, Vector, multiversion};
use std::borrow::Cow;

multiversion! {
    fn fields_loop[O, D: Fn(i32) -> i32, F: Fn(i32, i32, i32) -> O](
        days: &[i32], out: &mut [O], day: D, f: F,
    ) -> bool {
        let mut outside = false;
        for (out, &days) in out.iter_mut().zip(days) {
            let days = day(days);
            let (year, month, day) = civil_fields(days);
            *out = f(year, month, day);
            outside |= !(-DAYS_MAX..DAYS_MAX).contains(&days);
        }
        outside
    }
}

/// `out = f(year, month, day)` of each day.
pub(super) fn map_fields<O>(days: &[i32], out: &mut [O], f: impl Fn(i32, i32, i32) -> O + Copy) {
    map_fields_of(days, out, |days| days, f);
}

/// `out = f(year, month, day)` of what `day` makes of each day.
pub(super) fn map_fields_of<O>(
    days: &[i32],
    out: &mut [O],
    day: impl Fn(i32) -> i32 + Copy,
    f: impl Fn(i32, i32, i32) -> O + Copy,
) {
    if fields_loop(days, out, day, f) {
        for (out, &days) in out.iter_mut().zip(days) {
            let days = day(days);
            if !(-DAYS_MAX..DAYS_MAX).contains(&days) {
                let (year, month, day) = civil_from_days(days);
                *out = f(year, month as i32, day as i32);
            }
        }
    }
}

multiversion! {
    /// `out = f(day)` of each day, for what needs no calendar.
    pub(super) fn map_days[O, F: Fn(i32) -> O](days: &[i32], out: &mut [O], f: F) {
        out.iter_mut().zip(days).for_each(|(out, &days)| *out = f(days));
    }
}

/// The days of the first rows of a DATE or TIMESTAMP vector, which is no dictionary.
pub(super) fn days_of(moments: &Vector, rows: usize) -> Cow<'_, [i32]> {
    if moments.logical_type() == LogicalType::Date {
        return Cow::Borrowed(&moments.values::<i32>()[..rows]);
    }
    let mut days = vec![0; rows];
    days_of_micros(&moments.values::<i64>()[..rows], &mut days);
    Cow::Owned(days)
}

/// The day of the year from 1.
#[inline(always)]
pub(super) fn day_of_year(year: i32, month: i32, day: i32) -> i32 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let short = if month <= 2 { 0 } else { 2 - i32::from(is_leap) };
    (367 * month - 362) / 12 - short + day
}

/// Days since the Monday of the week of `days`, 0 to 6.
#[inline(always)]
pub(super) fn days_since_monday(days: i32) -> i32 {
    // 1970-01-01 was a Thursday, and 2^31, which makes all days positive, is 2 more than a multiple of 7.
    let since_sunday = (days as u32 ^ 1 << 31) % 7 + 1;
    if since_sunday == 7 { 0 } else { since_sunday as i32 }
}

/// The Thursday of the week of a day: a week belongs to the year of its Thursday.
#[inline(always)]
pub(super) fn thursday(days: i32) -> i32 {
    days.saturating_sub(days_since_monday(days)).saturating_add(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_calendar() {
        let mut days: Vec<i32> = (-1_000_000..1_000_000).step_by(7).collect();
        days.extend([i32::MIN, i32::MAX, -DAYS_MAX, -DAYS_MAX - 1, DAYS_MAX - 1, DAYS_MAX, 0]);
        let mut out = vec![0; days.len()];
        map_fields(&days, &mut out, |y, m, d| i64::from(y) * 10_000 + i64::from(m) * 100 + i64::from(d));
        for (&days, found) in days.iter().zip(out) {
            let (y, m, d) = civil_from_days(days);
            assert_eq!(found, i64::from(y) * 10_000 + i64::from(m) * 100 + i64::from(d), "{days}");
        }
    }

    #[test]
    fn days_of_years_and_weeks_are_those_of_the_calendar() {
        for days in (-1_000_000..1_000_000).step_by(13).chain([i32::MIN, i32::MAX]) {
            let (y, m, d) = civil_from_days(days);
            if (-DAYS_MAX..DAYS_MAX).contains(&days) {
                let first = inlay_types::datetime::days_from_civil(y, 1, 1);
                assert_eq!(day_of_year(y, m as i32, d as i32), days - first + 1, "{days}");
            }
            assert_eq!(i64::from(days_since_monday(days)), (i64::from(days) + 3).rem_euclid(7), "{days}");
        }
    }
}

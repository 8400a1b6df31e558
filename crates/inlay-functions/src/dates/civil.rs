//! Days to year, month and day by loops that vectorise, and what follows from these fields.

use inlay_types::datetime::{CIVIL_DAYS_MAX as DAYS_MAX, civil_fields, civil_from_days};
use inlay_types::multiversion;

multiversion! {
    fn fields_loop[F: Fn(i32, i32, i32) -> i64](days: &[i32], out: &mut [i64], f: F) -> bool {
        let mut outside = false;
        for (out, &days) in out.iter_mut().zip(days) {
            let (year, month, day) = civil_fields(days);
            *out = f(year, month, day);
            outside |= !(-DAYS_MAX..DAYS_MAX).contains(&days);
        }
        outside
    }
}

/// `out = f(year, month, day)` of each day.
pub(super) fn map_fields(days: &[i32], out: &mut [i64], f: impl Fn(i32, i32, i32) -> i64 + Copy) {
    if fields_loop(days, out, f) {
        for (out, &days) in out.iter_mut().zip(days) {
            if !(-DAYS_MAX..DAYS_MAX).contains(&days) {
                let (year, month, day) = civil_from_days(days);
                *out = f(year, month as i32, day as i32);
            }
        }
    }
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
    // 1970-01-01 was a Thursday; what is added is a multiple of 7 that makes all days positive.
    ((i64::from(days) + 3 + 7 * (1 << 30)) as u64 % 7) as i32
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

//! The proleptic Gregorian calendar: days and microseconds to fields and back, and their text.

use std::fmt::Write;

/// Microseconds in a day.
pub const MICROS_PER_DAY: i64 = 86_400_000_000;
/// Microseconds in a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;

/// Days since 1970-01-01 of a civil date. Source: Howard Hinnant, "chrono-compatible date algorithms".
pub fn days_from_civil(year: i32, month: u32, day: u32) -> i32 {
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

/// Writes `2024-02-29`; years before 1 end in ` (BC)`.
pub fn write_date(out: &mut String, days: i32) {
    let (year, month, day) = civil_from_days(days);
    let (shown, suffix) = if year <= 0 { (1 - year, " (BC)") } else { (year, "") };
    let _ = write!(out, "{shown:04}-{month:02}-{day:02}{suffix}");
}

/// Writes `23:59:59.5`; trailing zeros of the fraction are left out.
pub fn write_time(out: &mut String, micros: i64) {
    let seconds = micros.div_euclid(MICROS_PER_SECOND);
    let fraction = micros.rem_euclid(MICROS_PER_SECOND);
    let _ = write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction != 0 {
        let text = format!("{fraction:06}");
        let _ = write!(out, ".{}", text.trim_end_matches('0'));
    }
}

/// Writes `2024-02-29 23:59:59.5`.
pub fn write_timestamp(out: &mut String, micros: i64) {
    let days = micros.div_euclid(MICROS_PER_DAY) as i32;
    let (year, ..) = civil_from_days(days);
    write_date(out, days);
    if year <= 0 {
        out.truncate(out.len() - " (BC)".len());
    }
    out.push(' ');
    write_time(out, micros.rem_euclid(MICROS_PER_DAY));
    if year <= 0 {
        out.push_str(" (BC)");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

//! Days to year, month and day in 32-bit arithmetic without branches, so that loops vectorise.
//!
//! Source: Neri and Schneider, "Euclidean affine functions and their application to calendar algorithms" (2022).

use inlay_types::datetime::civil_from_days;
use inlay_types::multiversion;

/// Days since 1970-01-01 for which [`fields`] holds: the years from about -1,400,000 to 1,400,000.
const DAYS_MAX: i32 = 500_000_000;

const CYCLES: u32 = 3675;
const SHIFT_DAYS: u32 = 719_468 + 146_097 * CYCLES;
const SHIFT_YEARS: i32 = 400 * CYCLES as i32;

/// Year, month and day; right for days within [`DAYS_MAX`] of 1970 only, but defined for all.
#[inline(always)]
fn fields(days: i32) -> (i32, i32, i32) {
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

multiversion! {
    fn fields_loop[F: Fn(i32, i32, i32) -> i64](days: &[i32], out: &mut [i64], f: F) -> bool {
        let mut outside = false;
        for (out, &days) in out.iter_mut().zip(days) {
            let (year, month, day) = fields(days);
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
}

//! English names of days and months, and the days of either kind of moment.

use super::civil::{days_of, days_since_monday, map_days, map_fields};
use super::finite::hide_infinite;
use crate::columns::{Column, computed_rows};
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{finish, null_argument, undictionary};
use inlay_types::LogicalType::{Date, Timestamp, TimestampTz, Varchar};
use inlay_types::datetime::MICROS_PER_DAY;
use inlay_types::{Dictionary, Result, Vector, VectorBuilder};
use std::sync::{Arc, OnceLock};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new(
        "monthname",
        Overloads::Fixed(&[
            Signature::new(&[Date], Varchar, month_name),
            Signature::new(&[Timestamp], Varchar, month_name),
            Signature::new(&[TimestampTz], Varchar, month_name).at_local_time(),
        ]),
        "the English name of the month",
        "monthname(DATE '2024-02-05') = 'February'",
    ),
    Function::new(
        "dayname",
        Overloads::Fixed(&[
            Signature::new(&[Date], Varchar, day_name),
            Signature::new(&[Timestamp], Varchar, day_name),
            Signature::new(&[TimestampTz], Varchar, day_name).at_local_time(),
        ]),
        "the English name of the day of the week",
        "dayname(DATE '2024-02-05') = 'Monday'",
    ),
];

pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(crate) const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The day of row `row` of a DATE or TIMESTAMP vector.
pub(super) enum Days<'a> {
    Dates(Column<'a, i32>),
    Timestamps(Column<'a, i64>),
}

impl<'a> Days<'a> {
    pub(super) fn of(vector: &'a Vector) -> Self {
        if vector.logical_type() == Date {
            Self::Dates(Column::of(vector))
        } else {
            Self::Timestamps(Column::of(vector))
        }
    }

    /// Day and microseconds of the day.
    pub(super) fn get(&self, row: usize) -> (i32, i64) {
        match self {
            Self::Dates(days) => (days.get(row), 0),
            Self::Timestamps(at) => {
                let at = at.get(row);
                (at.div_euclid(MICROS_PER_DAY) as i32, at.rem_euclid(MICROS_PER_DAY))
            }
        }
    }
}

/// Names by number.
type Names = OnceLock<Arc<Dictionary>>;

/// A name for each row, as codes of all names, which `number` makes of the days.
fn named(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    (known, names): (&'static Names, &[&str]),
    number: impl FnOnce(&[i32], &mut [u32]),
) -> Result<()> {
    if null_argument(args, &Varchar, len, out) {
        return Ok(());
    }
    let dictionary = known.get_or_init(|| {
        let mut values = VectorBuilder::new(Varchar, names.len());
        names.iter().for_each(|name| values.push_bytes(name.as_bytes()));
        Dictionary::new(values.finish())
    });
    let rows = computed_rows(args, len);
    let input = undictionary(args[0]);
    out.reset_dictionary(Arc::clone(dictionary), rows);
    number(&days_of(&input, rows), out.codes_mut());
    finish(&[&input], rows, len, out)?;
    hide_infinite(&[&input], len, out);
    Ok(())
}

fn month_name(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    static KNOWN: Names = OnceLock::new();
    named(args, len, out, (&KNOWN, &MONTHS), |days, codes| {
        map_fields(days, codes, |_, month, _| month as u32 - 1);
    })
}

fn day_name(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    static KNOWN: Names = OnceLock::new();
    named(args, len, out, (&KNOWN, &DAYS), |days, codes| {
        map_days(days, codes, |days| days_since_monday(days) as u32);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::datetime::civil_from_days;
    use inlay_types::{Bitmap, Buffer, Value};

    /// Names of columns of dates and of timestamps, NULL and infinite ones among them, and of dictionaries and constants of them.
    #[test]
    fn names_of_columns_are_those_of_single_days() {
        let days: Vec<i32> = (-900..900).step_by(7).chain([-600_000_000, 600_000_000, i32::MAX]).collect();
        let near: Vec<i32> = days.iter().copied().filter(|days| days.unsigned_abs() < 1000).collect();
        let moments: Vec<i64> = near.iter().map(|&day| i64::from(day) * MICROS_PER_DAY + 7).collect();
        let columns =
            [(Vector::from_values(Date, &days), &days), (Vector::from_values(Timestamp, &moments), &near)];
        for (mut column, days) in columns {
            column.set_validity(Some(Bitmap::from_fn(days.len(), |row| row % 5 != 2)));
            let codes: Vec<u32> = (0..2 * days.len() as u32).map(|row| row * 7 % days.len() as u32).collect();
            let dictionary = Vector::dictionary(
                Dictionary::new(column.clone()),
                Buffer::from_vec(codes.clone()),
                codes.len(),
                column.validity().map(|own| Bitmap::from_fn(codes.len(), |row| own.get(codes[row] as usize))),
            );
            let plain: Vec<u32> = (0..days.len() as u32).collect();
            for (column, rows) in
                [(&column, &plain), (&dictionary, &codes), (&column.repeated(3, 9), &vec![3; 9])]
            {
                let (mut names, mut weekdays) = (Vector::empty(Varchar), Vector::empty(Varchar));
                month_name(&[column], rows.len(), &mut names).unwrap();
                day_name(&[column], rows.len(), &mut weekdays).unwrap();
                for (at, &row) in rows.iter().enumerate() {
                    let day = days[row as usize];
                    let is_known = row % 5 != 2 && day != i32::MAX;
                    let name = |name: &str| if is_known { Value::Varchar(name.into()) } else { Value::Null };
                    assert_eq!(names.get(at), name(MONTHS[civil_from_days(day).1 as usize - 1]), "{day}");
                    assert_eq!(
                        weekdays.get(at),
                        name(DAYS[(day as i64 + 3).rem_euclid(7) as usize]),
                        "{day}"
                    );
                }
            }
        }
    }
}

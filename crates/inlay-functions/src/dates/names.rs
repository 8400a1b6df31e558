//! English names of days and months, and the days of either kind of moment.

use super::finite::hide_infinite;
use super::part::days_since_monday;
use crate::columns::{Column, computed_rows};
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{finish, null_argument};
use inlay_types::LogicalType::{Date, Timestamp, TimestampTz, Varchar};
use inlay_types::datetime::{MICROS_PER_DAY, civil_from_days};
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

/// A name for each row, as codes of all names.
fn named(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    (known, names): (&'static Names, &[&str]),
    number: impl Fn(usize) -> u32,
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
    out.reset_dictionary(Arc::clone(dictionary), rows);
    for (row, code) in out.codes_mut().iter_mut().enumerate() {
        *code = number(row);
    }
    finish(args, rows, len, out)?;
    hide_infinite(args, len, out);
    Ok(())
}

fn month_name(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    static KNOWN: Names = OnceLock::new();
    let days = Days::of(args[0]);
    named(args, len, out, (&KNOWN, &MONTHS), |row| civil_from_days(days.get(row).0).1 - 1)
}

fn day_name(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    static KNOWN: Names = OnceLock::new();
    let days = Days::of(args[0]);
    named(args, len, out, (&KNOWN, &DAYS), |row| days_since_monday(days.get(row).0) as u32)
}

//! PostgreSQL's templates: `to_char`, `to_date`, `to_timestamp` and `to_number`.

mod moment;
mod number;
mod read;

use super::columns::{Column, TextColumn, write_text, write_text_or_null};
use crate::registry::{Function, Loop, Overloads, Signature};
use inlay_kernels::apply::per_row;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_kernels::zone::Zone;
use inlay_types::LogicalType::{
    self, Date, Decimal, Double, HugeInt, Interval as IntervalType, Null, Time, Timestamp, TimestampTz,
    Varchar,
};
use inlay_types::datetime::{MICROS_PER_DAY, day_of, is_finite_date, is_finite_timestamp};
use inlay_types::{Error, Interval, Result, Vector};
use moment::Moment;
use number::Number;
use std::sync::Arc;

/// The Julian day of 1970-01-01.
const JULIAN_OF_1970: i64 = 2_440_588;

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "to_char",
        &[
            "to_char(number, template) -> VARCHAR",
            "to_char(TIMESTAMP, template) -> VARCHAR",
            "to_char(TIMESTAMPTZ, template) -> VARCHAR",
            "to_char(INTERVAL, template) -> VARCHAR",
        ],
        resolve_to_char,
        "a number or moment as text by a template of PostgreSQL: 9 0 D G S, YYYY MM DD HH24 MI SS, FMMonth and others",
        "to_char(1234.5, 'FM9G999D00') = '1,234.50'",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "to_number",
        &["to_number(VARCHAR, template) -> DECIMAL"],
        resolve_to_number,
        "the number that a text by a template of PostgreSQL stands for",
        "to_number('1,234.50-', '9G999D99S') = -1234.50",
    )
    .fallible(),
    Function::new(
        "to_date",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], Date, TO_DATE)]),
        "the date that a text by a template of PostgreSQL stands for",
        "to_date('29 Feb 2024', 'DD Mon YYYY') = DATE '2024-02-29'",
    )
    .fallible(),
    Function::new(
        "to_timestamp",
        Overloads::Fixed(&[Signature::zoned(&[Varchar, Varchar], TimestampTz, to_timestamp)]),
        "the moment that a text by a template of PostgreSQL stands for",
        "to_timestamp('2024-02-29 13:05 +00', 'YYYY-MM-DD HH24:MI TZH') = TIMESTAMPTZ '2024-02-29 13:05:00+00'",
    )
    .fallible(),
];

/// Templates by row, each read once as long as it stays the same.
struct Templates<'a, T> {
    texts: TextColumn<'a>,
    last: Option<(&'a str, T)>,
}

/// Templates are written by people; what is longer would be read for minutes.
const TEMPLATE_SIZE_MAX: usize = 1 << 14;

impl<'a, T> Templates<'a, T> {
    fn of(vector: &'a Vector) -> Self {
        Self { texts: TextColumn::of(vector), last: None }
    }

    fn at(&mut self, row: usize, parse: impl FnOnce(&str) -> Result<T>) -> Result<&T> {
        let text = self.texts.text(row);
        if text.len() > TEMPLATE_SIZE_MAX {
            let message = format!("a template of {} bytes is too long", text.len());
            let hint = format!("it may have {TEMPLATE_SIZE_MAX}");
            return Err(Error::invalid_argument(message).with_hint(hint));
        }
        if self.last.as_ref().is_none_or(|(known, _)| *known != text) {
            self.last = Some((text, parse(text)?));
        }
        self.last.as_ref().map(|(_, template)| template).ok_or_else(|| Error::internal("a template is lost"))
    }
}

/// The template of a moment. One of C's, of which PostgreSQL would read a letter here and there, is an error that names the function
/// that takes it.
fn template_of(text: &str, other: &str) -> Result<moment::Template> {
    // Within quotes all stands for itself.
    let mut outside = text.split('"').step_by(2);
    let is_of_c = |part: &str| {
        part.as_bytes()
            .windows(2)
            .any(|pair| pair[0] == b'%' && (pair[1].is_ascii_alphabetic() || pair[1] == b'-'))
    };
    if outside.any(is_of_c) {
        return Err(Error::invalid_argument(format!("'{text}' is a format of {other}(x, '{text}')"))
            .with_hint(
                "this function takes PostgreSQL's templates, such as 'DD/MM/YYYY \
             HH24:MI:SS', in which letters behind % may stand in double quotes",
            ));
    }
    Ok(moment::Template::parse(text))
}

fn resolve_to_char(args: &[ArgType], options: &ResolveOptions) -> Option<Resolved> {
    let [value, template] = args else { return None };
    if !matches!(template.ty, Varchar | Null) {
        return None;
    }
    let ty = match &value.ty {
        ty if ty.is_integer() && *ty != LogicalType::UHugeInt => HugeInt,
        LogicalType::UHugeInt | LogicalType::Real | Double => Double,
        Decimal { .. } | Timestamp | TimestampTz | IntervalType => value.ty.clone(),
        Date => Timestamp,
        ty if ty.is_timestamp() => Timestamp,
        Time => Time,
        Null => Timestamp,
        _ => return None,
    };
    let kernel = if ty.is_numeric() {
        let scale = if let Decimal { scale, .. } = &ty { usize::from(*scale) } else { 0 };
        kernel(move |args, len, out| write_numbers(scale, args, len, out))
    } else {
        let zone = Arc::clone(&options.zone);
        kernel(move |args, len, out| write_moments(&zone, args, len, out))
    };
    Some(Resolved::fallible(vec![ty, Varchar], Varchar, kernel))
}

fn write_numbers(scale: usize, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let flat = args[0].flatten();
    let is_float = flat.logical_type() == Double;
    let mut templates = Templates::of(args[1]);
    let mut written = String::new();
    let is_one = args.iter().all(|arg| arg.is_constant());
    write_text(args, len, out, |row, text| {
        let template = templates.at(row, number::Template::parse)?;
        let place = if is_one || args[0].is_constant() { 0 } else { row };
        let value = if is_float {
            Number::Double(flat.values::<f64>()[place])
        } else {
            Number::Decimal { unscaled: flat.stored_i128(place), scale }
        };
        written.clear();
        template.write(&value, &mut written)?;
        text.extend_from_slice(written.as_bytes());
        Ok(())
    })
}

fn write_moments(zone: &Zone, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let mut templates = Templates::of(args[1]);
    let (ty, mut written) = (args[0].logical_type(), String::new());
    let joint = inlay_kernels::apply::joint_validity(args, len);
    // Infinity has no fields: NULL, as in PostgreSQL.
    write_text_or_null(args, len, out, |row, text| {
        if joint.as_ref().is_some_and(|validity| !validity.get(row)) {
            return Ok(false);
        }
        let template = templates.at(row, |text| template_of(text, "strftime"))?;
        written.clear();
        if ty == IntervalType {
            let span = Column::<Interval>::of(args[0]).get(row);
            let span_of = (i64::from(span.months), i64::from(span.days));
            template.write(
                &Moment { date: None, span: span_of, micros: span.micros, zone: None },
                &mut written,
            )?;
        } else if ty == Time {
            let micros = Column::<i64>::of(args[0]).get(row);
            template.write(&Moment { date: None, span: (0, 0), micros, zone: None }, &mut written)?;
        } else {
            let at = Column::<i64>::of(args[0]).get(row);
            if !is_finite_timestamp(at) {
                return Ok(false);
            }
            let state = (ty == TimestampTz).then(|| zone.state_at(at));
            let local = if ty == TimestampTz { zone.to_local(at).unwrap_or(at) } else { at };
            let zone = state.as_ref().map(|state| (state.abbreviation(), state.offset));
            let (date, micros) = (Some(day_of(local)), local.rem_euclid(MICROS_PER_DAY));
            template.write(&Moment { date, span: (0, 0), micros, zone }, &mut written)?;
        }
        text.extend_from_slice(written.as_bytes());
        Ok(true)
    })
}

const TO_DATE: Loop = |args, len, out| {
    let texts = TextColumn::of(args[0]);
    let mut templates = Templates::of(args[1]);
    per_row(args, &Date, len, out, |row| {
        let template = templates.at(row, |text| template_of(text, "strptime"))?;
        let (days, ..) = read::read(template, texts.text(row))?;
        match is_finite_date(days) {
            true => Ok(days),
            false => Err(Error::out_of_range(format!("'{}' is out of range for DATE", texts.text(row)))),
        }
    })
};

fn to_timestamp(zone: &Zone, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let texts = TextColumn::of(args[0]);
    let mut templates = Templates::of(args[1]);
    per_row(args, &TimestampTz, len, out, |row| {
        let template = templates.at(row, |text| template_of(text, "strptime"))?;
        read::read_moment(template, texts.text(row), zone)
    })
}

/// The template, if it is a literal, says how many digits stand behind the point.
fn resolve_to_number(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [text, template] = args else { return None };
    if !matches!(text.ty, Varchar | Null) || !matches!(template.ty, Varchar | Null) {
        return None;
    }
    let literal = template.text.as_deref().and_then(|text| number::Template::parse(text).ok());
    let scale = literal.map_or(9, |template| template.scale().min(38)) as u8;
    let ty = LogicalType::decimal(38, scale);
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        let texts = TextColumn::of(args[0]);
        let mut templates = Templates::of(args[1]);
        per_row(args, &ty, len, out, |row| {
            let template = templates.at(row, number::Template::parse)?;
            let value = template.read(texts.text(row))?;
            let own = template.scale() as u32;
            let scaled = match u32::from(scale).checked_sub(own) {
                Some(more) => 10i128.checked_pow(more).and_then(|power| value.checked_mul(power)),
                None => Some(value / 10i128.checked_pow(own - u32::from(scale)).unwrap_or(i128::MAX)),
            };
            let limit = 10i128.pow(38) - 1;
            scaled.filter(|scaled| scaled.abs() <= limit).ok_or_else(|| {
                Error::out_of_range(format!("'{}' has more digits than a DECIMAL", texts.text(row)))
            })
        })
    });
    Some(Resolved::fallible(vec![Varchar, Varchar], returns, kernel))
}

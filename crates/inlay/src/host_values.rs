//! Values of a host that are to be one column, or the elements of one list: the type that holds them all, and the column.
//!
//! A host has lists whose elements may be of any type. Where SQL would refuse to compare two of them, or round one, here is a type
//! for all: the narrowest that holds all exactly, DOUBLE for numbers with doubles among them, and in the end texts. What is inside of
//! lists, structs and maps meets in the same way. Decimals that no DECIMAL holds together are an error: rounding is for who has them.

use inlay_kernels::cast::cast_value_in_zone;
use inlay_kernels::coercion;
use inlay_kernels::zone::Zone;
use inlay_types::logical_type::DECIMAL_MAX_DIGITS;
use inlay_types::{Error, Field, LogicalType, Result, Value, Vector, VectorBuilder};
use std::sync::Arc;

/// The type that values of both types of a host have in common; `None` for a nested value or a BLOB and something else. Fails for
/// decimals that have too many digits together.
///
/// ```
/// use inlay::{common_host_type, types::LogicalType};
/// let decimal = LogicalType::decimal(4, 2);
/// assert_eq!(common_host_type(&decimal, &LogicalType::Integer)?, Some(LogicalType::decimal(12, 2)));
/// assert_eq!(common_host_type(&LogicalType::Date, &LogicalType::Integer)?, Some(LogicalType::Varchar));
/// assert_eq!(common_host_type(&LogicalType::Blob, &LogicalType::Integer)?, None);
/// # Ok::<(), inlay::Error>(())
/// ```
pub fn common_host_type(left: &LogicalType, right: &LogicalType) -> Result<Option<LogicalType>> {
    common(left, right, false)
}

/// With `or_text`, everything has something in common, at whatever depth.
fn common(left: &LogicalType, right: &LogicalType, or_text: bool) -> Result<Option<LogicalType>> {
    if left == right {
        return Ok(Some(left.clone()));
    }
    if left.is_numeric() && right.is_numeric() {
        return common_number(left, right).map(Some);
    }
    if *left == LogicalType::Null || *right == LogicalType::Null {
        return Ok(coercion::common_type(left, right));
    }
    let found = match (left.is_nested(), right.is_nested()) {
        (true, true) => common_nested(left, right, or_text)?,
        (false, false) => {
            let is_plain = |ty: &LogicalType| *ty != LogicalType::Blob;
            let texts = || (is_plain(left) && is_plain(right)).then_some(LogicalType::Varchar);
            coercion::common_type(left, right).or_else(texts)
        }
        (true, false) | (false, true) => coercion::common_type(left, right),
    };
    Ok(found.or_else(|| or_text.then_some(LogicalType::Varchar)))
}

fn common_nested(left: &LogicalType, right: &LogicalType, or_text: bool) -> Result<Option<LogicalType>> {
    if let (LogicalType::Array(x, n), LogicalType::Array(y, m)) = (left, right)
        && n == m
    {
        return Ok(common(x, y, or_text)?.map(|element| LogicalType::array(element, *n)));
    }
    if let (
        LogicalType::List(x) | LogicalType::Array(x, _),
        LogicalType::List(y) | LogicalType::Array(y, _),
    ) = (left, right)
    {
        return Ok(common(x, y, or_text)?.map(LogicalType::list));
    }
    if let (LogicalType::Map(x), LogicalType::Map(y)) = (left, right) {
        let (keys, values) = (common(&x.0, &y.0, or_text)?, common(&x.1, &y.1, or_text)?);
        return Ok(keys.zip(values).map(|(key, value)| LogicalType::map(key, value)));
    }
    if let (LogicalType::Struct(x), LogicalType::Struct(y)) = (left, right)
        && x.iter().chain(y.iter()).all(|field| !field.name.is_empty())
    {
        return common_struct(x, y, or_text);
    }
    // A dict without entries may be either.
    let is_empty = |ty: &LogicalType| matches!(ty, LogicalType::Map(types) if types.0 == LogicalType::Null && types.1 == LogicalType::Null);
    Ok(match (left, right) {
        (LogicalType::Struct(_), map) if is_empty(map) => Some(left.clone()),
        (map, LogicalType::Struct(_)) if is_empty(map) => Some(right.clone()),
        (left, right) => coercion::common_type(left, right),
    })
}

/// The fields of both by name, those of the first in front.
fn common_struct(left: &[Field], right: &[Field], or_text: bool) -> Result<Option<LogicalType>> {
    let mut fields = Vec::with_capacity(left.len());
    for x in left {
        let ty = match named(right, &x.name) {
            Some(at) => common(&x.ty, &right[at].ty, or_text)?,
            None => Some(x.ty.clone()),
        };
        let Some(ty) = ty else { return Ok(None) };
        fields.push(Field::new(x.name.clone(), ty));
    }
    fields.extend(right.iter().filter(|y| named(left, &y.name).is_none()).cloned());
    Ok(Some(LogicalType::Struct(fields.into())))
}

fn named(fields: &[Field], name: &str) -> Option<usize> {
    let same = || fields.iter().position(|field| &*field.name == name);
    same().or_else(|| fields.iter().position(|field| field.name.eq_ignore_ascii_case(name)))
}

/// The narrowest type that holds the numbers of both; DOUBLE where one is a double.
fn common_number(left: &LogicalType, right: &LogicalType) -> Result<LogicalType> {
    let (Some((left_digits, left_scale)), Some((right_digits, right_scale))) =
        (digits_of(left), digits_of(right))
    else {
        return Ok(LogicalType::Double);
    };
    if left.is_decimal() || right.is_decimal() {
        return decimal_of(left_digits.max(right_digits).into(), left_scale.max(right_scale));
    }
    // A negative number is none of UHUGEINT, which only the values tell.
    let is_widest = *left == LogicalType::UHugeInt || *right == LogicalType::UHugeInt;
    let widest = || if is_widest { LogicalType::UHugeInt } else { LogicalType::Double };
    Ok(coercion::common_type(left, right).filter(LogicalType::is_integer).unwrap_or_else(widest))
}

/// The DECIMAL with so many digits before and behind the point.
fn decimal_of(digits: u32, scale: u8) -> Result<LogicalType> {
    let precision = digits + u32::from(scale);
    if precision <= u32::from(DECIMAL_MAX_DIGITS) {
        return Ok(LogicalType::decimal((precision as u8).max(1), scale));
    }
    Err(Error::out_of_range(format!(
        "decimals with {digits} digits before the point and {scale} behind it need {precision} digits together, and DECIMAL has \
         {DECIMAL_MAX_DIGITS}: round them, or make them floats or texts"
    )))
}

/// How many digits the numbers of a type have before and behind the point; `None` unless they are exact.
fn digits_of(ty: &LogicalType) -> Option<(u8, u8)> {
    match ty {
        LogicalType::Decimal { precision, scale } => Some((precision - scale, *scale)),
        LogicalType::TinyInt | LogicalType::UTinyInt => Some((3, 0)),
        LogicalType::SmallInt | LogicalType::USmallInt => Some((5, 0)),
        LogicalType::Integer | LogicalType::UInteger => Some((10, 0)),
        LogicalType::BigInt => Some((19, 0)),
        LogicalType::UBigInt => Some((20, 0)),
        LogicalType::HugeInt | LogicalType::UHugeInt => Some((39, 0)),
        LogicalType::Boolean => Some((1, 0)),
        _ => None,
    }
}

/// The DECIMAL that holds numbers of which some are decimals, by the digits that they have. `None` if others are among the values.
fn decimal_of_values(values: &[Value]) -> Option<Result<LogicalType>> {
    let (mut digits, mut scale) = (0, 0);
    for value in values.iter().filter(|value| !value.is_null()) {
        let ty = value.logical_type();
        let (before, behind) = digits_of(&ty)?;
        let written = || value.to_string().trim_start_matches('-').len() as u32;
        digits = digits.max(if ty.is_decimal() { before.into() } else { written() });
        scale = scale.max(behind);
    }
    Some(decimal_of(digits, scale))
}

/// The type that all values have as one column; `None` if all are NULL.
fn type_of_values(values: &[Value]) -> Result<Option<LogicalType>> {
    let mut ty: Option<LogicalType> = None;
    for value in values.iter().filter(|value| !value.is_null()) {
        let own = value.logical_type();
        let Some(known) = ty.take() else {
            ty = Some(own);
            continue;
        };
        ty = match common(&known, &own, true) {
            Ok(ty) => ty,
            Err(error) if known.is_nested() => return Err(error),
            Err(_) => match decimal_of_values(values) {
                Some(decimal) => return decimal.map(Some),
                // Among them are doubles, or what no number is.
                None => Some(LogicalType::Double),
            },
        };
    }
    Ok(ty)
}

/// The values as those of one column, and its type; `None` if all are NULL. Moments without a zone are of this one, if others have one.
pub fn host_column(values: Vec<Value>, zone: &Zone) -> Result<Option<(LogicalType, Vec<Value>)>> {
    let Some(ty) = type_of_values(&values)? else { return Ok(None) };
    if let Ok(converted) = values.iter().map(|value| host_value_as(value, &ty, zone)).collect() {
        return Ok(Some((ty, converted)));
    }
    // A moment out of the other's range, nanoseconds beside a zone, a negative number beside one of 128 bits: a text has them all.
    let text = |value: &Value| host_value_as(value, &LogicalType::Varchar, zone);
    Ok(Some((LogicalType::Varchar, values.iter().map(text).collect::<Result<_>>()?)))
}

/// A value as one of a type that it has in common with others.
pub fn host_value_as(value: &Value, ty: &LogicalType, zone: &Zone) -> Result<Value> {
    if value.is_null() || value.logical_type() == *ty {
        return Ok(value.clone());
    }
    let parts = |values: &[Value], element: &LogicalType| {
        values.iter().map(|value| host_value_as(value, element, zone)).collect::<Result<Vec<Value>>>()
    };
    if let (Value::List { values, .. } | Value::Array { values, .. }, LogicalType::List(element)) =
        (value, ty)
    {
        return Ok(Value::List { element: Arc::clone(element), values: parts(values, element)? });
    }
    if let (Value::Map { entries, .. }, LogicalType::Map(types)) = (value, ty) {
        let entry = |(key, value): &(Value, Value)| {
            Ok((host_value_as(key, &types.0, zone)?, host_value_as(value, &types.1, zone)?))
        };
        let entries = entries.iter().map(entry).collect::<Result<_>>()?;
        return Ok(Value::Map { types: Arc::clone(types), entries });
    }
    if let (Value::Map { entries, .. }, LogicalType::Struct(fields)) = (value, ty)
        && entries.is_empty()
    {
        return Ok(Value::Struct { fields: Arc::clone(fields), values: vec![Value::Null; fields.len()] });
    }
    if let (Value::Struct { fields: own, values }, LogicalType::Struct(fields)) = (value, ty)
        && own.iter().chain(fields.iter()).all(|field| !field.name.is_empty())
    {
        let part = |field: &Field| match named(own, &field.name) {
            Some(at) => host_value_as(&values[at], &field.ty, zone),
            None => Ok(Value::Null),
        };
        let values = fields.iter().map(part).collect::<Result<_>>()?;
        return Ok(Value::Struct { fields: Arc::clone(fields), values });
    }
    match (value, ty) {
        (value, LogicalType::Varchar) => Ok(Value::Varchar(value.to_string())),
        (Value::TimestampNs(at), LogicalType::TimestampTz) if at % 1000 != 0 => Err(Error::out_of_range(
            format!("{value} has nanoseconds, which TIMESTAMP WITH TIME ZONE has not"),
        )),
        (value, ty) => cast_value_in_zone(value, ty, zone),
    }
}

/// The values as a column of the type that holds them all; VARCHAR if all are NULL.
pub fn vector_of_values(values: Vec<Value>) -> Result<Vector> {
    let len = values.len();
    let Some((ty, values)) = host_column(values, &Zone::utc())? else {
        return Ok(Vector::nulls(LogicalType::Varchar, len));
    };
    let mut builder = VectorBuilder::new(ty, len);
    values.iter().try_for_each(|value| builder.push(value))?;
    Ok(builder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, value: Value) -> Value {
        Value::Struct { fields: vec![Field::new(name, value.logical_type())].into(), values: vec![value] }
    }

    fn list(value: Value) -> Value {
        Value::List { element: Arc::new(value.logical_type()), values: vec![value] }
    }

    fn decimal(unscaled: i128, precision: u8, scale: u8) -> Value {
        Value::Decimal { unscaled, precision, scale }
    }

    #[test]
    fn one_rule_for_all_hosts() {
        let of = |values: &[Value]| type_of_values(values).unwrap();
        let price = decimal(150, 3, 2);
        assert_eq!(of(&[Value::Null]), None);
        assert_eq!(of(&[Value::from(1), Value::Null]), Some(LogicalType::Integer));
        assert_eq!(of(&[Value::from(1), Value::from(1i64 << 40)]), Some(LogicalType::BigInt));
        assert_eq!(of(&[Value::from(1), price.clone()]), Some(LogicalType::decimal(12, 2)));
        assert_eq!(of(&[Value::from(1.5), price]), Some(LogicalType::Double));
        assert_eq!(of(&[Value::from("x"), Value::from(1)]), Some(LogicalType::Varchar));
        assert_eq!(of(&[Value::Date(0), Value::Timestamp(1)]), Some(LogicalType::Timestamp));
    }

    #[test]
    fn parts_of_nested_values_meet_as_values_do() {
        let of = |values: &[Value]| type_of_values(values).unwrap().unwrap().to_string();
        let one = || Value::from(1);
        let empty = Value::Map { types: Arc::new((LogicalType::Null, LogicalType::Null)), entries: vec![] };
        let cases = [
            ([record("x", one()), record("x", "s".into())], "STRUCT(x VARCHAR)", "{'x': 1}"),
            (
                [record("x", one()), record("y", "s".into())],
                "STRUCT(x INTEGER, y VARCHAR)",
                "{'x': 1, 'y': NULL}",
            ),
            ([list(record("x", one())), list(record("x", "s".into()))], "STRUCT(x VARCHAR)[]", "[{'x': 1}]"),
            ([record("x", list(one())), record("x", list("s".into()))], "STRUCT(x VARCHAR[])", "{'x': [1]}"),
            ([record("x", one()), record("x", list(one()))], "STRUCT(x VARCHAR)", "{'x': 1}"),
            ([list(one()), "s".into()], "VARCHAR", "[1]"),
            ([empty, record("x", one())], "STRUCT(x INTEGER)", "{'x': NULL}"),
        ];
        for (values, ty, first) in cases {
            assert_eq!(of(&values), ty);
            assert_eq!(vector_of_values(values.to_vec()).unwrap().get(0).to_string(), first);
        }
    }

    #[test]
    fn no_digit_is_lost_unless_a_double_is_there() {
        let of = |values: Vec<Value>| vector_of_values(values);
        let (large, small) = (decimal(1, 31, 0), decimal(1, 30, 30));
        for values in [vec![large.clone(), small.clone()], vec![list(large.clone()), list(small.clone())]] {
            let told = of(values).unwrap_err().to_string();
            assert!(told.contains("need 61 digits together"), "{told}");
        }
        assert_eq!(of(vec![large, small, 1.5.into()]).unwrap().logical_type(), LogicalType::Double);
        // By its type a HUGEINT has 39 digits, this one has 22.
        let mixed = of(vec![(1i128 << 70).into(), decimal(125, 3, 2)]).unwrap();
        assert_eq!(mixed.logical_type(), LogicalType::decimal(24, 2));
        assert_eq!(mixed.get(0).to_string(), "1180591620717411303424.00");
        assert_eq!(of(vec![1.into(), u128::MAX.into()]).unwrap().logical_type(), LogicalType::UHugeInt);
        let signed = of(vec![(-1).into(), u128::MAX.into()]).unwrap();
        assert_eq!((signed.logical_type(), signed.get(0)), (LogicalType::Varchar, "-1".into()));
        let fine = of(vec![Value::TimestampNs(1), Value::TimestampTz(0)]).unwrap();
        assert_eq!(fine.get(0).to_string(), "1970-01-01 00:00:00.000000001");
    }

    #[test]
    fn moments_without_a_zone_are_of_the_one_given() {
        let zone = Zone::named("Etc/GMT-2").unwrap();
        let (ty, values) =
            host_column(vec![Value::Timestamp(0), Value::TimestampTz(0)], &zone).unwrap().unwrap();
        assert_eq!(ty, LogicalType::TimestampTz);
        assert_eq!(values, [Value::TimestampTz(-7_200_000_000), Value::TimestampTz(0)]);
        let nested = vec![list(Value::Timestamp(0)), list(Value::TimestampTz(0))];
        let (_, values) = host_column(nested, &zone).unwrap().unwrap();
        assert_eq!(values[0], list(Value::TimestampTz(-7_200_000_000)));
    }

    #[test]
    fn values_of_any_two_types_are_a_column() {
        let decimal = Value::Decimal { unscaled: 125, precision: 3, scale: 2 };
        let values = [
            Value::Null,
            true.into(),
            1.into(),
            (1i64 << 40).into(),
            (1i128 << 70).into(),
            u128::MAX.into(),
            2.5.into(),
            decimal,
            "x".into(),
            Value::Blob(vec![0]),
            Value::Date(0),
            Value::TimestampTz(0),
        ];
        for (left, right) in values.iter().flat_map(|left| values.iter().map(move |right| (left, right))) {
            let pair = vec![left.clone(), right.clone()];
            // 39 digits and two behind the point.
            let is_too_wide = *left == u128::MAX.into() && right.logical_type().is_decimal()
                || *right == u128::MAX.into() && left.logical_type().is_decimal();
            match vector_of_values(pair) {
                Ok(column) => assert_eq!((column.len(), is_too_wide), (2, false)),
                Err(error) => assert!(is_too_wide, "{left:?}, {right:?}: {error}"),
            }
        }
    }
}

//! Values of a host that are to be one column, or the elements of one list: the type that holds them all, and the column.
//!
//! A host has lists whose elements may be of any type. Where SQL would refuse to compare two of them, or round one, here is a type
//! for all plain values: the narrowest that holds all exactly, DOUBLE for numbers that no type holds exactly, and in the end texts.

use inlay_kernels::cast::cast_value;
use inlay_kernels::coercion;
use inlay_types::logical_type::DECIMAL_MAX_DIGITS;
use inlay_types::{LogicalType, Result, Value, Vector, VectorBuilder};

/// The type that values of both types of a host have in common; `None` for a nested value or a BLOB and something else.
///
/// ```
/// use inlay::{common_host_type, types::LogicalType};
/// let decimal = LogicalType::decimal(4, 2);
/// assert_eq!(common_host_type(&decimal, &LogicalType::Integer), Some(LogicalType::decimal(12, 2)));
/// assert_eq!(common_host_type(&LogicalType::Date, &LogicalType::Integer), Some(LogicalType::Varchar));
/// assert_eq!(common_host_type(&LogicalType::Blob, &LogicalType::Integer), None);
/// ```
pub fn common_host_type(left: &LogicalType, right: &LogicalType) -> Option<LogicalType> {
    if left != right && left.is_numeric() && right.is_numeric() {
        return Some(common_number(left, right));
    }
    let is_plain = |ty: &LogicalType| !ty.is_nested() && *ty != LogicalType::Blob;
    let texts = || (is_plain(left) && is_plain(right)).then_some(LogicalType::Varchar);
    coercion::common_type(left, right).or_else(texts)
}

/// The narrowest type that holds the numbers of both; DOUBLE where none does.
fn common_number(left: &LogicalType, right: &LogicalType) -> LogicalType {
    let (Some((left_digits, left_scale)), Some((right_digits, right_scale))) =
        (digits_of(left), digits_of(right))
    else {
        return LogicalType::Double;
    };
    if left.is_decimal() || right.is_decimal() {
        let scale = left_scale.max(right_scale);
        let precision = left_digits.max(right_digits) + scale;
        return match precision <= DECIMAL_MAX_DIGITS {
            true => LogicalType::decimal(precision.max(1), scale),
            false => LogicalType::Double,
        };
    }
    coercion::common_type(left, right).unwrap_or(LogicalType::Double)
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
        _ => None,
    }
}

/// The type that all values have as one column; `None` if all are NULL.
pub fn type_of_values(values: &[Value]) -> Option<LogicalType> {
    let types = values.iter().filter(|value| !value.is_null()).map(Value::logical_type);
    let common = |left: LogicalType, right: LogicalType| match left == right {
        true => left,
        false => common_host_type(&left, &right).unwrap_or(LogicalType::Varchar),
    };
    let ty = types.reduce(common)?;
    let converts = |value: &Value| {
        !ty.is_numeric() || value.is_null() || value.logical_type() == ty || cast_value(value, &ty).is_ok()
    };
    Some(if values.iter().all(converts) { ty } else { LogicalType::Double })
}

/// A value as one of a column's type, as [`type_of_values`] found it.
pub fn host_value_as(value: &Value, ty: &LogicalType) -> Value {
    if value.is_null() || value.logical_type() == *ty {
        return value.clone();
    }
    match ty {
        LogicalType::Varchar => Value::Varchar(value.to_string()),
        ty => cast_value(value, ty).unwrap_or_else(|_| value.clone()),
    }
}

/// The values as a column of the type that holds them all; VARCHAR if all are NULL.
pub fn vector_of_values(values: Vec<Value>) -> Result<Vector> {
    let ty = type_of_values(&values).unwrap_or(LogicalType::Varchar);
    let mut builder = VectorBuilder::new(ty.clone(), values.len());
    for value in &values {
        if value.is_null() || value.logical_type() == ty {
            builder.push(value)?;
        } else {
            builder.push(&host_value_as(value, &ty))?;
        }
    }
    Ok(builder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rule_for_all_hosts() {
        let of = |values: &[Value]| type_of_values(values);
        let decimal = Value::Decimal { unscaled: 150, precision: 3, scale: 2 };
        assert_eq!(of(&[Value::Null]), None);
        assert_eq!(of(&[Value::from(1), Value::Null]), Some(LogicalType::Integer));
        assert_eq!(of(&[Value::from(1), Value::from(1i64 << 40)]), Some(LogicalType::BigInt));
        assert_eq!(of(&[Value::from(1), decimal.clone()]), Some(LogicalType::decimal(12, 2)));
        assert_eq!(of(&[Value::from(1.5), decimal]), Some(LogicalType::Double));
        assert_eq!(of(&[Value::from("x"), Value::from(1)]), Some(LogicalType::Varchar));
        assert_eq!(of(&[Value::Date(0), Value::Timestamp(1)]), Some(LogicalType::Timestamp));
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
            let column =
                vector_of_values(pair).unwrap_or_else(|error| panic!("{left:?}, {right:?}: {error}"));
            assert_eq!(column.len(), 2);
        }
    }
}

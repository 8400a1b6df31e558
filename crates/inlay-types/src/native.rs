//! Rust's own values as [`Value`]s, and back.

use crate::{Error, Result, Value};

macro_rules! value_of {
    ($($native:ty => $variant:ident),+ $(,)?) => {
        $(impl From<$native> for Value {
            fn from(value: $native) -> Self {
                Self::$variant(value)
            }
        })+
    };
}

value_of!(
    bool => Boolean, i8 => TinyInt, i16 => SmallInt, i32 => Integer, i64 => BigInt, i128 => HugeInt, u8 => UTinyInt,
    u16 => USmallInt, u32 => UInteger, u64 => UBigInt, u128 => UHugeInt, f32 => Real, f64 => Double, String => Varchar,
    Vec<u8> => Blob,
);

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Varchar(value.to_string())
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        Self::Blob(value.to_vec())
    }
}

/// `None` is NULL.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// What a [`Value`] can be read as, without loss.
pub trait FromValue: Sized {
    /// The value, or an error where its type or range is another one. NULL is an `Option` only.
    fn from_value(value: &Value) -> Result<Self>;
}

fn misfit(value: &Value, wanted: &str) -> Error {
    Error::type_mismatch(match value {
        Value::Null => format!("NULL is no {wanted}; an Option<{wanted}> may be NULL"),
        other => format!("the {} {other} is no {wanted}", other.logical_type()),
    })
}

macro_rules! whole_numbers {
    ($($native:ty),+) => {
        $(impl FromValue for $native {
            fn from_value(value: &Value) -> Result<Self> {
                let whole = value.as_i128().filter(|_| value.logical_type().is_integer());
                whole.and_then(|whole| whole.try_into().ok()).ok_or_else(|| misfit(value, stringify!($native)))
            }
        })+
    };
}

whole_numbers!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl FromValue for f64 {
    /// Of a DECIMAL the nearest one.
    fn from_value(value: &Value) -> Result<Self> {
        let is_number = value.logical_type().is_numeric();
        value.as_f64().filter(|_| is_number).ok_or_else(|| misfit(value, "f64"))
    }
}

impl FromValue for f32 {
    fn from_value(value: &Value) -> Result<Self> {
        match value {
            Value::Real(value) => Ok(*value),
            other => Err(misfit(other, "f32")),
        }
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Result<Self> {
        match value {
            Value::Boolean(value) => Ok(*value),
            other => Err(misfit(other, "bool")),
        }
    }
}

impl FromValue for String {
    /// Of any type but BLOB, as SQL shows it.
    fn from_value(value: &Value) -> Result<Self> {
        match value {
            Value::Null | Value::Blob(_) => Err(misfit(value, "String")),
            other => Ok(other.to_string()),
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: &Value) -> Result<Self> {
        match value {
            Value::Blob(bytes) => Ok(bytes.clone()),
            other => Err(misfit(other, "Vec<u8>")),
        }
    }
}

impl FromValue for Value {
    fn from_value(value: &Value) -> Result<Self> {
        Ok(value.clone())
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Result<Self> {
        if value.is_null() { Ok(None) } else { T::from_value(value).map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogicalType;

    #[test]
    fn values_come_back_as_what_they_were() {
        assert_eq!(i64::from_value(&Value::from(7i64)).unwrap(), 7);
        assert_eq!(i64::from_value(&Value::from(7u8)).unwrap(), 7);
        assert_eq!(f64::from_value(&Value::from(0.5)).unwrap(), 0.5);
        assert_eq!(String::from_value(&"text".into()).unwrap(), "text");
        assert_eq!(Vec::<u8>::from_value(&vec![1u8, 2].into()).unwrap(), [1, 2]);
        assert!(bool::from_value(&true.into()).unwrap());
        assert_eq!(Option::<i32>::from_value(&None::<i32>.into()).unwrap(), None);
        assert_eq!(Option::<i32>::from_value(&Some(3).into()).unwrap(), Some(3));
    }

    #[test]
    fn what_does_not_fit_is_an_error_and_no_other_value() {
        let told = |error: Error| error.to_string();
        assert_eq!(told(i8::from_value(&300.into()).unwrap_err()), "the INTEGER 300 is no i8");
        assert_eq!(
            told(i64::from_value(&Value::Null).unwrap_err()),
            "NULL is no i64; an Option<i64> may be NULL"
        );
        assert_eq!(told(i64::from_value(&"7".into()).unwrap_err()), "the VARCHAR 7 is no i64");
        assert!(bool::from_value(&1.into()).is_err());
        assert!(i64::from_value(&0.5.into()).is_err());
    }

    #[test]
    fn the_type_of_a_value_is_that_of_the_native_one() {
        assert_eq!(Value::from(1i32).logical_type(), LogicalType::Integer);
        assert_eq!(Value::from(1i64).logical_type(), LogicalType::BigInt);
        assert_eq!(Value::from("a").logical_type(), LogicalType::Varchar);
    }
}

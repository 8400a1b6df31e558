//! Which of Spark's types carries which of ours.

use inlay_types::{Field, LogicalType};
use std::sync::Arc;

/// The type whose values carry those of `ty` to Spark and back: one that both engines have, with room for all of them. An error names
/// what has none.
///
/// HUGEINT is carried by `DECIMAL(38,0)`: its values of 39 digits are refused where tables are shipped, and an overflow where they
/// are computed.
pub fn carrier(ty: &LogicalType) -> Result<LogicalType, String> {
    use LogicalType as T;
    Ok(match ty {
        T::Null => T::Integer,
        T::Boolean
        | T::TinyInt
        | T::SmallInt
        | T::Integer
        | T::BigInt
        | T::Real
        | T::Double
        | T::Decimal { .. }
        | T::Varchar
        | T::Blob
        | T::Date
        | T::Timestamp
        | T::TimestampTz => ty.clone(),
        T::UTinyInt => T::SmallInt,
        T::USmallInt => T::Integer,
        T::UInteger => T::BigInt,
        T::UBigInt => T::Decimal { precision: 20, scale: 0 },
        T::HugeInt => T::Decimal { precision: 38, scale: 0 },
        T::Uuid => T::Varchar,
        T::TimestampS | T::TimestampMs => T::Timestamp,
        T::List(element) | T::Array(element, _) => T::List(Arc::new(part(element)?)),
        T::Struct(fields) if fields.iter().all(|field| !field.name.is_empty()) => {
            let carried = fields.iter().map(|f| Ok(Field::new(Arc::clone(&f.name), part(&f.ty)?)));
            T::Struct(carried.collect::<Result<Vec<_>, String>>()?.into())
        }
        T::Map(types) => T::Map(Arc::new((part(&types.0)?, part(&types.1)?))),
        T::UHugeInt
        | T::Time
        | T::TimeTz
        | T::Interval
        | T::TimestampNs
        | T::Bit
        | T::Json
        | T::Enum(_)
        | T::Struct(_)
        | T::Union(_) => return Err(format!("the type {ty}, which Spark has not")),
    })
}

/// What carries a part of a nested value.
fn part(ty: &LogicalType) -> Result<LogicalType, String> {
    if *ty == LogicalType::Null {
        return Err("a list, struct or map of NULLs that have no type; a CAST gives them one".to_string());
    }
    carrier(ty)
}

/// A carrying type as Spark writes it.
pub fn spark_type(ty: &LogicalType) -> Result<String, String> {
    use LogicalType as T;
    Ok(match ty {
        T::Boolean => "BOOLEAN".into(),
        T::TinyInt => "TINYINT".into(),
        T::SmallInt => "SMALLINT".into(),
        T::Null | T::Integer => "INT".into(),
        T::BigInt => "BIGINT".into(),
        T::Real => "FLOAT".into(),
        T::Double => "DOUBLE".into(),
        T::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
        T::Varchar => "STRING".into(),
        T::Blob => "BINARY".into(),
        T::Date => "DATE".into(),
        T::Timestamp => "TIMESTAMP_NTZ".into(),
        T::TimestampTz => "TIMESTAMP_LTZ".into(),
        T::List(element) => format!("ARRAY<{}>", spark_type(element)?),
        T::Struct(fields) => {
            let field = |f: &Field| Ok(format!("{}: {}", quoted(&f.name), spark_type(&f.ty)?));
            format!("STRUCT<{}>", fields.iter().map(field).collect::<Result<Vec<_>, String>>()?.join(", "))
        }
        T::Map(types) => format!("MAP<{}, {}>", spark_type(&types.0)?, spark_type(&types.1)?),
        T::UTinyInt
        | T::USmallInt
        | T::UInteger
        | T::UBigInt
        | T::HugeInt
        | T::UHugeInt
        | T::Time
        | T::TimeTz
        | T::Interval
        | T::TimestampS
        | T::TimestampMs
        | T::TimestampNs
        | T::Uuid
        | T::Bit
        | T::Json
        | T::Enum(_)
        | T::Array(_, _)
        | T::Union(_) => return Err(format!("the type {ty}, which Spark has not")),
    })
}

/// A name in backticks.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Whether values of a type are compared and sorted as Spark compares those that carry them.
pub(crate) fn is_compared_alike(ty: &LogicalType) -> bool {
    use LogicalType as T;
    match ty {
        T::List(_) | T::Array(_, _) | T::Struct(_) | T::Map(_) | T::Union(_) => false,
        T::Interval | T::Bit | T::Json | T::Enum(_) | T::UHugeInt | T::Time | T::TimeTz | T::TimestampNs => {
            false
        }
        T::Null | T::Boolean | T::TinyInt | T::SmallInt | T::Integer | T::BigInt | T::HugeInt => true,
        T::UTinyInt | T::USmallInt | T::UInteger | T::UBigInt | T::Real | T::Double => true,
        T::Decimal { .. } | T::Varchar | T::Blob | T::Date | T::Timestamp | T::TimestampTz => true,
        T::TimestampS | T::TimestampMs | T::Uuid => true,
    }
}

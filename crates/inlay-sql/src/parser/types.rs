//! Type names to [`LogicalType`]: SQL's, PostgreSQL's and DuckDB's spellings.

use super::convert::{Context, unsupported};
use inlay_types::{Error, LogicalType, Result};
use sqlparser::ast::{DataType, ExactNumberInfo, ObjectName, TimezoneInfo};

/// Names of types that only other engines or later versions have; answered with "not available".
const KNOWN_BUT_ABSENT: [&str; 7] = ["BIT", "ENUM", "JSON", "LIST", "MAP", "STRUCT", "UUID"];

impl Context<'_, '_> {
    /// The logical type that a written type names.
    pub(super) fn data_type(&self, written: &DataType) -> Result<LogicalType> {
        Ok(match written {
            DataType::Boolean | DataType::Bool => LogicalType::Boolean,
            DataType::TinyInt(_) => LogicalType::TinyInt,
            DataType::SmallInt(_) | DataType::Int2(_) | DataType::Int16 => LogicalType::SmallInt,
            DataType::Int(_)
            | DataType::Integer(_)
            | DataType::Int4(_)
            | DataType::MediumInt(_)
            | DataType::Int32
            | DataType::Signed
            | DataType::SignedInteger => LogicalType::Integer,
            DataType::BigInt(_) | DataType::Int8(_) | DataType::Int64 => LogicalType::BigInt,
            DataType::HugeInt | DataType::Int128 => LogicalType::HugeInt,
            DataType::UTinyInt | DataType::TinyIntUnsigned(_) | DataType::UInt8 => LogicalType::UTinyInt,
            DataType::USmallInt
            | DataType::SmallIntUnsigned(_)
            | DataType::Int2Unsigned(_)
            | DataType::UInt16 => LogicalType::USmallInt,
            DataType::IntUnsigned(_)
            | DataType::IntegerUnsigned(_)
            | DataType::Int4Unsigned(_)
            | DataType::Unsigned
            | DataType::UnsignedInteger
            | DataType::UInt32 => LogicalType::UInteger,
            DataType::UBigInt
            | DataType::BigIntUnsigned(_)
            | DataType::Int8Unsigned(_)
            | DataType::UInt64 => LogicalType::UBigInt,
            DataType::UHugeInt | DataType::UInt128 => LogicalType::UHugeInt,
            DataType::Real | DataType::Float4 | DataType::Float32 => LogicalType::Real,
            DataType::Float(ExactNumberInfo::Precision(bits)) if *bits > 24 => LogicalType::Double,
            DataType::Float(_) => LogicalType::Real,
            DataType::Double(_) | DataType::DoublePrecision | DataType::Float8 | DataType::Float64 => {
                LogicalType::Double
            }
            DataType::Decimal(info) | DataType::Numeric(info) | DataType::Dec(info) => decimal(info)?,
            DataType::Varchar(_)
            | DataType::Nvarchar(_)
            | DataType::Char(_)
            | DataType::Character(_)
            | DataType::CharVarying(_)
            | DataType::CharacterVarying(_)
            | DataType::CharacterLargeObject(_)
            | DataType::CharLargeObject(_)
            | DataType::Clob(_)
            | DataType::Text
            | DataType::TinyText
            | DataType::MediumText
            | DataType::LongText
            | DataType::String(_) => LogicalType::Varchar,
            DataType::Blob(_)
            | DataType::Bytea
            | DataType::Bytes(_)
            | DataType::Binary(_)
            | DataType::Varbinary(_)
            | DataType::TinyBlob
            | DataType::MediumBlob
            | DataType::LongBlob => LogicalType::Blob,
            DataType::Date | DataType::Date32 => LogicalType::Date,
            DataType::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => LogicalType::Time,
            DataType::Time(_, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone) => LogicalType::TimeTz,
            DataType::Timestamp(_, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone) => LogicalType::TimestampTz,
            DataType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
            | DataType::TimestampNtz(_)
            | DataType::Datetime(_) => LogicalType::Timestamp,
            DataType::Interval { .. } => LogicalType::Interval,
            DataType::Custom(name, modifiers) if modifiers.is_empty() => return self.named_type(name),
            other => return Err(unsupported(format!("the type {other}"))),
        })
    }

    fn named_type(&self, name: &ObjectName) -> Result<LogicalType> {
        let ident = self.object_name(name)?;
        let upper = ident.last().to_ascii_uppercase();
        Ok(match upper.as_str() {
            "LOGICAL" => LogicalType::Boolean,
            "INT1" => LogicalType::TinyInt,
            "SHORT" => LogicalType::SmallInt,
            "LONG" | "OID" => LogicalType::BigInt,
            "HUGEINT" | "INT128" => LogicalType::HugeInt,
            "UTINYINT" | "UINT8" => LogicalType::UTinyInt,
            "USMALLINT" | "UINT16" => LogicalType::USmallInt,
            "UINTEGER" | "UINT32" => LogicalType::UInteger,
            "UBIGINT" | "UINT64" => LogicalType::UBigInt,
            "UHUGEINT" | "UINT128" => LogicalType::UHugeInt,
            "BPCHAR" | "NAME" => LogicalType::Varchar,
            "TIMESTAMP_US" => LogicalType::Timestamp,
            "TIMESTAMP_S" => LogicalType::TimestampS,
            "TIMESTAMP_MS" => LogicalType::TimestampMs,
            "TIMESTAMP_NS" => LogicalType::TimestampNs,
            "TIMESTAMPTZ" | "TIMESTAMP_TZ" => LogicalType::TimestampTz,
            "TIMETZ" => LogicalType::TimeTz,
            _ if KNOWN_BUT_ABSENT.contains(&upper.as_str()) => {
                return Err(self.at(unsupported(format!("the type {upper}")), ident.pos()));
            }
            _ => {
                let message = format!("type \"{ident}\" does not exist");
                return Err(self.at(Error::bind(message), ident.pos()));
            }
        })
    }
}

fn decimal(info: &ExactNumberInfo) -> Result<LogicalType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => (18, 3),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    if precision == 0 || precision > 38 {
        return Err(Error::bind(format!("DECIMAL precision {precision} is not between 1 and 38")));
    }
    match u8::try_from(scale) {
        Ok(scale) if u64::from(scale) <= precision => Ok(LogicalType::decimal(precision as u8, scale)),
        _ => {
            Err(Error::bind(format!("DECIMAL scale {scale} is not between 0 and the precision {precision}")))
        }
    }
}

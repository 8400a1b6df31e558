//! Type names to [`LogicalType`]: SQL's, PostgreSQL's and DuckDB's spellings.

use super::convert::{Context, unsupported};
use inlay_types::candidates::near_names;
use inlay_types::{EnumType, Error, Field, LogicalType, Result};
use sqlparser::ast::{
    ArrayElemTypeDef, DataType, EnumMember, ExactNumberInfo, ObjectName, StructField, TimezoneInfo,
    UnionField,
};
use std::collections::HashSet;
use std::sync::Arc;

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
            DataType::Timestamp(precision, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
            | DataType::TimestampNtz(precision)
            | DataType::Datetime(precision) => match precision {
                None | Some(4..=6) => LogicalType::Timestamp,
                Some(0) => LogicalType::TimestampS,
                Some(1..=3) => LogicalType::TimestampMs,
                Some(7..=9) => LogicalType::TimestampNs,
                Some(digits) => {
                    let message = format!("TIMESTAMP has up to 9 digits of a second, not {digits}");
                    return Err(Error::out_of_range(message));
                }
            },
            DataType::Interval { .. } => LogicalType::Interval,
            DataType::Uuid => LogicalType::Uuid,
            DataType::JSON | DataType::JSONB => LogicalType::Json,
            DataType::Bit(_) | DataType::BitVarying(_) => LogicalType::Bit,
            DataType::Array(
                ArrayElemTypeDef::SquareBracket(element, size) | ArrayElemTypeDef::Qualified(element, size),
            ) => return self.list_type(element, *size),
            DataType::Struct(fields, _) | DataType::Tuple(fields) => {
                let field = |field: &StructField| {
                    let name = field.field_name.as_ref().map_or("", |name| name.value.as_str());
                    Ok(Field::new(name, self.data_type(&field.field_type)?))
                };
                let fields = fields.iter().map(field).collect::<Result<Vec<_>>>()?;
                named_fields("STRUCT", &fields)?;
                checked(LogicalType::Struct(fields.into()))?
            }
            DataType::Union(members) => {
                let member = |m: &UnionField| {
                    Ok(Field::new(m.field_name.value.as_str(), self.data_type(&m.field_type)?))
                };
                let members = members.iter().map(member).collect::<Result<Vec<_>>>()?;
                named_fields("UNION", &members)?;
                if members.len() > 256 {
                    return Err(Error::bind("a UNION has more than 256 members"));
                }
                checked(LogicalType::Union(members.into()))?
            }
            DataType::Map(key, value, _) => {
                checked(LogicalType::map(self.data_type(key)?, self.data_type(value)?))?
            }
            DataType::Enum(words, None) => enum_type(words)?,
            DataType::Custom(name, modifiers) if modifiers.is_empty() => return self.named_type(name),
            // The crate reads MAP(VARCHAR, INTEGER) as a name with words behind it.
            DataType::Custom(name, parts) if name.to_string().eq_ignore_ascii_case("map") => {
                let [key, value] = parts.as_slice() else {
                    return Err(Error::bind("a MAP has the types of its keys and of its values"));
                };
                checked(LogicalType::map(self.type_of_word(key)?, self.type_of_word(value)?))?
            }
            DataType::Custom(name, _) => {
                let alternative = Some(near_types(&name.to_string())).filter(|near| !near.is_empty());
                return Err(Error::Unsupported { feature: format!("the type {written}"), alternative });
            }
            other => return Err(unsupported(format!("the type {other}"))),
        })
    }

    /// The type that a part of another one names.
    fn type_of_word(&self, word: &str) -> Result<LogicalType> {
        self.deeper(|| {
            let parsed = super::type_words::parse(word);
            self.data_type(&parsed.map_err(|_| Error::bind(format!("type \"{word}\" does not exist")))?)
        })
    }

    fn list_type(&self, element: &DataType, size: Option<u64>) -> Result<LogicalType> {
        let element = self.data_type(element)?;
        let Some(size) = size else { return checked(LogicalType::list(element)) };
        match u32::try_from(size) {
            Ok(size @ 1..=100_000) => checked(LogicalType::array(element, size)),
            _ => Err(Error::bind(format!("the size {size} of an ARRAY is not between 1 and 100000"))),
        }
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
            "UUID" | "GUID" => LogicalType::Uuid,
            "BIT" | "BITSTRING" => LogicalType::Bit,
            "JSON" | "JSONB" => LogicalType::Json,
            _ => unresolved(&ident)?,
        })
    }
}

/// Names that types have, for who misspelt one.
const NAMES: [&str; 31] = [
    "BIGINT",
    "BIT",
    "BLOB",
    "BOOLEAN",
    "CHAR",
    "DATE",
    "DECIMAL",
    "DOUBLE",
    "ENUM",
    "FLOAT",
    "HUGEINT",
    "INTEGER",
    "INTERVAL",
    "JSON",
    "NUMERIC",
    "REAL",
    "SMALLINT",
    "STRING",
    "STRUCT",
    "TEXT",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "TINYINT",
    "UBIGINT",
    "UHUGEINT",
    "UINTEGER",
    "USMALLINT",
    "UTINYINT",
    "UUID",
    "VARCHAR",
];

/// What other systems call their types, and what to write here.
const FOREIGN: [(&str, &str); 13] = [
    ("NUMBER", "DECIMAL(precision, scale), or DOUBLE"),
    ("MONEY", "DECIMAL(18, 2)"),
    ("SMALLMONEY", "DECIMAL(18, 2)"),
    ("VARCHAR2", "VARCHAR"),
    ("NVARCHAR2", "VARCHAR"),
    ("NTEXT", "VARCHAR"),
    ("CITEXT", "VARCHAR COLLATE NOCASE"),
    ("DATETIME2", "TIMESTAMP"),
    ("SMALLDATETIME", "TIMESTAMP"),
    ("DATETIMEOFFSET", "TIMESTAMP WITH TIME ZONE"),
    ("UNIQUEIDENTIFIER", "UUID"),
    ("IMAGE", "BLOB"),
    ("RAW", "BLOB"),
];

/// What somebody who wrote a type that does not exist may have meant; empty where nothing is like it.
pub(crate) fn near_types(name: &str) -> String {
    if let Some((_, own)) = FOREIGN.iter().find(|(foreign, _)| foreign.eq_ignore_ascii_case(name)) {
        return format!("write {own}");
    }
    let near = near_names(name, NAMES.into_iter());
    if near.is_empty() {
        String::new()
    } else {
        format!("did you mean {}?", near.join(" or ").replace('"', ""))
    }
}

/// The first label of what stands for a name; no label that SQL writes looks like it.
const UNRESOLVED: &str = "\0name of a type";

/// What stands for a type that only the catalog knows until the binder has looked it up: an ENUM of the parts of its name.
fn unresolved(name: &super::ast::ObjectName) -> Result<LogicalType> {
    let numbered = name.parts.iter().enumerate().map(|(index, part)| format!("{index}{}", part.value));
    let labels = std::iter::once(UNRESOLVED.to_string()).chain(numbered);
    Ok(LogicalType::Enum(Arc::new(EnumType::new(labels)?)))
}

/// The parts of the name that a type stands for, if it does.
pub fn unresolved_name(ty: &LogicalType) -> Option<Vec<String>> {
    let LogicalType::Enum(labels) = ty else { return None };
    match labels.values() {
        [first, parts @ ..] if **first == *UNRESOLVED => {
            Some(parts.iter().map(|part| part.get(1..).unwrap_or_default().to_string()).collect())
        }
        _ => None,
    }
}

/// A type as written.
pub fn shown(ty: &LogicalType) -> String {
    unresolved_name(ty).map_or_else(|| ty.to_string(), |parts| parts.join("."))
}

fn checked(ty: LogicalType) -> Result<LogicalType> {
    ty.check_depth()?;
    Ok(ty)
}

/// Names of fields differ in more than case.
fn named_fields(kind: &str, fields: &[Field]) -> Result<()> {
    let mut seen = HashSet::new();
    for field in fields.iter().filter(|field| !field.name.is_empty()) {
        if !seen.insert(field.name.to_lowercase()) {
            return Err(Error::bind(format!("{kind} has more than one field \"{}\"", field.name)));
        }
    }
    Ok(())
}

fn enum_type(words: &[EnumMember]) -> Result<LogicalType> {
    let word = |member: &EnumMember| match member {
        EnumMember::Name(word) => Ok(word.clone()),
        EnumMember::NamedValue(..) => Err(Error::bind("the values of an ENUM are given as texts only")),
    };
    let words = words.iter().map(word).collect::<Result<Vec<_>>>()?;
    Ok(LogicalType::Enum(Arc::new(EnumType::new(words)?)))
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

//! Types of SQL as PostgreSQL's protocol numbers them.
//!
//! A type that PostgreSQL has keeps its number. Unsigned and small integers are sent as the next one that holds them, integers of 128 bits and
//! UBIGINT as numeric, ENUM as text, and what is nested deeper than a list of scalars as json: it is text that every client reads.

use inlay::types::LogicalType;

/// Numbers of types, as `pg_type` has them.
pub mod oid {
    pub const BOOL: u32 = 16;
    pub const BYTEA: u32 = 17;
    pub const NAME: u32 = 19;
    pub const INT8: u32 = 20;
    pub const INT2: u32 = 21;
    pub const INT2VECTOR: u32 = 22;
    pub const INT4: u32 = 23;
    pub const TEXT: u32 = 25;
    pub const OID: u32 = 26;
    pub const OIDVECTOR: u32 = 30;
    pub const OIDS: u32 = 1028;
    pub const JSON: u32 = 114;
    pub const FLOAT4: u32 = 700;
    pub const FLOAT8: u32 = 701;
    pub const UNKNOWN: u32 = 705;
    pub const BPCHAR: u32 = 1042;
    pub const VARCHAR: u32 = 1043;
    pub const DATE: u32 = 1082;
    pub const TIME: u32 = 1083;
    pub const TIMESTAMP: u32 = 1114;
    pub const TIMESTAMPTZ: u32 = 1184;
    pub const INTERVAL: u32 = 1186;
    pub const TIMETZ: u32 = 1266;
    pub const VARBIT: u32 = 1562;
    pub const BIT: u32 = 1560;
    pub const NUMERIC: u32 = 1700;
    pub const UUID: u32 = 2950;
    pub const JSONB: u32 = 3802;
}

/// Types and the arrays of them.
const ARRAYS: &[(u32, u32)] = &[
    (oid::BOOL, 1000),
    (oid::BYTEA, 1001),
    (oid::INT8, 1016),
    (oid::INT2, 1005),
    (oid::INT4, 1007),
    (oid::TEXT, 1009),
    (oid::OID, 1028),
    (oid::JSON, 199),
    (oid::FLOAT4, 1021),
    (oid::FLOAT8, 1022),
    (oid::BPCHAR, 1014),
    (oid::VARCHAR, 1015),
    (oid::DATE, 1182),
    (oid::TIME, 1183),
    (oid::TIMESTAMP, 1115),
    (oid::TIMESTAMPTZ, 1185),
    (oid::INTERVAL, 1187),
    (oid::TIMETZ, 1270),
    (oid::VARBIT, 1563),
    (oid::NUMERIC, 1231),
    (oid::UUID, 2951),
    (oid::JSONB, 3807),
];

/// How a column is announced: number of its type, bytes of a value (-1: any number) and what else belongs to the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireType {
    pub oid: u32,
    pub size: i16,
    pub modifier: i32,
}

/// What a type is sent as.
pub fn wire_type(ty: &LogicalType) -> WireType {
    let plain = |oid, size| WireType { oid, size, modifier: -1 };
    match ty {
        LogicalType::Boolean => plain(oid::BOOL, 1),
        LogicalType::TinyInt | LogicalType::UTinyInt | LogicalType::SmallInt => plain(oid::INT2, 2),
        LogicalType::Integer | LogicalType::USmallInt => plain(oid::INT4, 4),
        LogicalType::BigInt | LogicalType::UInteger => plain(oid::INT8, 8),
        LogicalType::HugeInt | LogicalType::UBigInt | LogicalType::UHugeInt => plain(oid::NUMERIC, -1),
        LogicalType::Real => plain(oid::FLOAT4, 4),
        LogicalType::Double => plain(oid::FLOAT8, 8),
        LogicalType::Decimal { precision, scale } => {
            let modifier = (i32::from(*precision) << 16 | i32::from(*scale)) + 4;
            WireType { oid: oid::NUMERIC, size: -1, modifier }
        }
        LogicalType::Null | LogicalType::Varchar | LogicalType::Enum(_) => plain(oid::TEXT, -1),
        LogicalType::Blob => plain(oid::BYTEA, -1),
        LogicalType::Date => plain(oid::DATE, 4),
        LogicalType::Time => plain(oid::TIME, 8),
        LogicalType::TimeTz => plain(oid::TIMETZ, 12),
        LogicalType::Timestamp
        | LogicalType::TimestampS
        | LogicalType::TimestampMs
        | LogicalType::TimestampNs => plain(oid::TIMESTAMP, 8),
        LogicalType::TimestampTz => plain(oid::TIMESTAMPTZ, 8),
        LogicalType::Interval => plain(oid::INTERVAL, 16),
        LogicalType::Uuid => plain(oid::UUID, 16),
        LogicalType::Bit => plain(oid::VARBIT, -1),
        LogicalType::Json => plain(oid::JSON, -1),
        LogicalType::List(element) | LogicalType::Array(element, _) => {
            let array = if element.is_nested() { None } else { array_of(wire_type(element).oid) };
            plain(array.unwrap_or(oid::JSON), -1)
        }
        LogicalType::Struct(_) | LogicalType::Map(_) | LogicalType::Union(_) => plain(oid::JSON, -1),
    }
}

fn array_of(element: u32) -> Option<u32> {
    ARRAYS.iter().find(|(known, _)| *known == element).map(|(_, array)| *array)
}

/// The type of the elements, if a number is that of an array.
pub fn element_of(array: u32) -> Option<u32> {
    ARRAYS.iter().find(|(_, known)| *known == array).map(|(element, _)| *element)
}

/// The type that a parameter has when a client gives a number for it; `None` for those that are unknown here, and for "unknown" itself.
pub fn parameter_type(number: u32) -> Option<LogicalType> {
    Some(match number {
        oid::BOOL => LogicalType::Boolean,
        oid::BYTEA => LogicalType::Blob,
        oid::INT8 | oid::OID => LogicalType::BigInt,
        oid::INT2 => LogicalType::SmallInt,
        oid::INT4 => LogicalType::Integer,
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME => LogicalType::Varchar,
        oid::JSON | oid::JSONB => LogicalType::Json,
        oid::FLOAT4 => LogicalType::Real,
        oid::FLOAT8 => LogicalType::Double,
        oid::DATE => LogicalType::Date,
        oid::TIME => LogicalType::Time,
        oid::TIMETZ => LogicalType::TimeTz,
        oid::TIMESTAMP => LogicalType::Timestamp,
        oid::TIMESTAMPTZ => LogicalType::TimestampTz,
        oid::INTERVAL => LogicalType::Interval,
        oid::UUID => LogicalType::Uuid,
        oid::BIT | oid::VARBIT => LogicalType::Bit,
        // Its digits say which decimal it is.
        oid::NUMERIC => return None,
        other => LogicalType::List(parameter_type(element_of(other)?)?.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_types_have_standard_numbers() {
        let oid = |ty: LogicalType| wire_type(&ty).oid;
        assert_eq!(oid(LogicalType::Varchar), 25);
        assert_eq!(oid(LogicalType::BigInt), 20);
        assert_eq!(oid(LogicalType::TimestampTz), 1184);
        assert_eq!(oid(LogicalType::UBigInt), 1700);
        assert_eq!(oid(LogicalType::List(LogicalType::Varchar.into())), 1009);
        let nested = LogicalType::List(LogicalType::Integer.into());
        assert_eq!(oid(LogicalType::List(nested.into())), 114);
        let decimal = wire_type(&LogicalType::Decimal { precision: 10, scale: 2 });
        assert_eq!((decimal.oid, decimal.modifier), (1700, (10 << 16 | 2) + 4));
    }

    #[test]
    fn parameters_have_the_types_that_are_sent() {
        for number in [
            16, 17, 20, 21, 23, 25, 114, 700, 701, 1082, 1083, 1114, 1184, 1186, 1266, 1562, 2950, 1007, 1009,
        ] {
            let ty = parameter_type(number).unwrap();
            assert_eq!(wire_type(&ty).oid, number, "{ty}");
        }
        assert_eq!(parameter_type(1700), None);
        assert_eq!(parameter_type(0), None);
    }
}

//! SQL types and the physical layouts that carry them.

use std::fmt;

/// A SQL type. Two values compare and hash as their logical types say; how they lie in memory is
/// [`LogicalType::physical`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LogicalType {
    /// The type of a bare `NULL`; casts to everything. Carried as INTEGER when it reaches a column.
    Null,
    /// `BOOLEAN`, one byte per value, 0 or 1.
    Boolean,
    /// `TINYINT`, 8 bits, signed.
    TinyInt,
    /// `SMALLINT`, 16 bits, signed.
    SmallInt,
    /// `INTEGER`, 32 bits, signed.
    Integer,
    /// `BIGINT`, 64 bits, signed.
    BigInt,
    /// `HUGEINT`, 128 bits, signed.
    HugeInt,
    /// `UTINYINT`, 8 bits, unsigned.
    UTinyInt,
    /// `USMALLINT`, 16 bits, unsigned.
    USmallInt,
    /// `UINTEGER`, 32 bits, unsigned.
    UInteger,
    /// `UBIGINT`, 64 bits, unsigned.
    UBigInt,
    /// `UHUGEINT`, 128 bits, unsigned.
    UHugeInt,
    /// `REAL`, IEEE 754 binary32.
    Real,
    /// `DOUBLE`, IEEE 754 binary64.
    Double,
    /// `DECIMAL(precision, scale)`: an integer scaled by `10^scale`, in 16, 32, 64 or 128 bits by precision.
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits behind the point, at most `precision`.
        scale: u8,
    },
    /// `VARCHAR`, UTF-8 of any length.
    Varchar,
    /// `BLOB`, bytes of any length.
    Blob,
    /// `DATE`, days since 1970-01-01 (32 bits).
    Date,
    /// `TIME`, microseconds since midnight (64 bits).
    Time,
    /// `TIMESTAMP`, microseconds since 1970-01-01 00:00:00 (64 bits), without a zone.
    Timestamp,
    /// `INTERVAL`, months, days and microseconds.
    Interval,
}

/// How values of a type lie in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PhysicalType {
    /// One byte, 0 or 1.
    Bool,
    /// `i8`
    I8,
    /// `i16`
    I16,
    /// `i32`
    I32,
    /// `i64`
    I64,
    /// `i128`
    I128,
    /// `u8`
    U8,
    /// `u16`
    U16,
    /// `u32`
    U32,
    /// `u64`
    U64,
    /// `u128`
    U128,
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// [`crate::View`], 16 bytes, with heap buffers beside it.
    View,
    /// [`crate::Interval`], 16 bytes.
    Interval,
}

impl PhysicalType {
    /// Bytes per value in a flat vector.
    pub const fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
            Self::I128 | Self::U128 | Self::View | Self::Interval => 16,
        }
    }
}

/// Digits that fit into each decimal carrier.
pub const DECIMAL_I16_DIGITS: u8 = 4;
/// See [`DECIMAL_I16_DIGITS`].
pub const DECIMAL_I32_DIGITS: u8 = 9;
/// See [`DECIMAL_I16_DIGITS`].
pub const DECIMAL_I64_DIGITS: u8 = 18;
/// Largest precision of a DECIMAL.
pub const DECIMAL_MAX_DIGITS: u8 = 38;

impl LogicalType {
    /// `DECIMAL(precision, scale)`.
    pub const fn decimal(precision: u8, scale: u8) -> Self {
        Self::Decimal { precision, scale }
    }

    /// The layout that carries this type.
    pub const fn physical(self) -> PhysicalType {
        match self {
            Self::Boolean => PhysicalType::Bool,
            Self::TinyInt => PhysicalType::I8,
            Self::SmallInt => PhysicalType::I16,
            Self::Null | Self::Integer | Self::Date => PhysicalType::I32,
            Self::BigInt | Self::Time | Self::Timestamp => PhysicalType::I64,
            Self::HugeInt => PhysicalType::I128,
            Self::UTinyInt => PhysicalType::U8,
            Self::USmallInt => PhysicalType::U16,
            Self::UInteger => PhysicalType::U32,
            Self::UBigInt => PhysicalType::U64,
            Self::UHugeInt => PhysicalType::U128,
            Self::Real => PhysicalType::F32,
            Self::Double => PhysicalType::F64,
            Self::Decimal { precision, .. } => {
                if precision <= DECIMAL_I16_DIGITS {
                    PhysicalType::I16
                } else if precision <= DECIMAL_I32_DIGITS {
                    PhysicalType::I32
                } else if precision <= DECIMAL_I64_DIGITS {
                    PhysicalType::I64
                } else {
                    PhysicalType::I128
                }
            }
            Self::Varchar | Self::Blob => PhysicalType::View,
            Self::Interval => PhysicalType::Interval,
        }
    }

    /// TINYINT to UHUGEINT.
    pub const fn is_integer(self) -> bool {
        matches!(
            self,
            Self::TinyInt
                | Self::SmallInt
                | Self::Integer
                | Self::BigInt
                | Self::HugeInt
                | Self::UTinyInt
                | Self::USmallInt
                | Self::UInteger
                | Self::UBigInt
                | Self::UHugeInt
        )
    }

    /// Integers, REAL, DOUBLE and DECIMAL.
    pub const fn is_numeric(self) -> bool {
        self.is_integer() || matches!(self, Self::Real | Self::Double | Self::Decimal { .. })
    }

    /// REAL or DOUBLE.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Real | Self::Double)
    }

    /// DECIMAL of any precision.
    pub const fn is_decimal(self) -> bool {
        matches!(self, Self::Decimal { .. })
    }

    /// VARCHAR or BLOB: carried as views with a heap.
    pub const fn is_view(self) -> bool {
        matches!(self, Self::Varchar | Self::Blob)
    }

    /// DATE, TIME, TIMESTAMP or INTERVAL.
    pub const fn is_temporal(self) -> bool {
        matches!(self, Self::Date | Self::Time | Self::Timestamp | Self::Interval)
    }

    /// The DECIMAL that holds every value of an integer type, if the type is an integer.
    pub const fn integer_as_decimal(self) -> Option<Self> {
        let precision = match self {
            Self::TinyInt | Self::UTinyInt => 3,
            Self::SmallInt | Self::USmallInt => 5,
            Self::Integer | Self::UInteger => 10,
            Self::BigInt => 19,
            Self::UBigInt => 20,
            Self::HugeInt | Self::UHugeInt => 38,
            _ => return None,
        };
        Some(Self::Decimal { precision, scale: 0 })
    }
}

impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Decimal { precision, scale } => return write!(f, "DECIMAL({precision},{scale})"),
            Self::Null => "\"NULL\"",
            Self::Boolean => "BOOLEAN",
            Self::TinyInt => "TINYINT",
            Self::SmallInt => "SMALLINT",
            Self::Integer => "INTEGER",
            Self::BigInt => "BIGINT",
            Self::HugeInt => "HUGEINT",
            Self::UTinyInt => "UTINYINT",
            Self::USmallInt => "USMALLINT",
            Self::UInteger => "UINTEGER",
            Self::UBigInt => "UBIGINT",
            Self::UHugeInt => "UHUGEINT",
            Self::Real => "FLOAT",
            Self::Double => "DOUBLE",
            Self::Varchar => "VARCHAR",
            Self::Blob => "BLOB",
            Self::Date => "DATE",
            Self::Time => "TIME",
            Self::Timestamp => "TIMESTAMP",
            Self::Interval => "INTERVAL",
        };
        f.write_str(name)
    }
}

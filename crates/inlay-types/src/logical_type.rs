//! SQL types and the physical layouts that carry them.

use crate::{Error, Result, keywords};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A SQL type. Two values compare and hash as their logical types say; how they lie in memory is
/// [`LogicalType::physical`]. Cloning is cheap: what a nested type is made of is shared.
///
/// Types without payload can stand in constants and in `&'static [LogicalType]`; nested types are made at run time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// `TIMESTAMP_S`, seconds since 1970-01-01 00:00:00 (64 bits).
    TimestampS,
    /// `TIMESTAMP_MS`, milliseconds since 1970-01-01 00:00:00 (64 bits).
    TimestampMs,
    /// `TIMESTAMP_NS`, nanoseconds since 1970-01-01 00:00:00 (64 bits).
    TimestampNs,
    /// `TIMESTAMP WITH TIME ZONE`, microseconds since 1970-01-01 00:00:00 UTC (64 bits).
    TimestampTz,
    /// `TIME WITH TIME ZONE`: see [`crate::TimeTz`] for its 64 bits.
    TimeTz,
    /// `UUID`, 128 bits whose highest is flipped: the order of the signed numbers is that of the text.
    Uuid,
    /// `BIT`, a string of bits: see [`crate::bit`] for its bytes.
    Bit,
    /// `JSON`, text that is valid JSON.
    Json,
    /// `ENUM(...)`, one of a few given words, carried as its position in 8, 16 or 32 bits.
    Enum(Arc<EnumType>),
    /// `T[]`, any number of elements. This and the types below are carried as packed bytes, see [`crate::nested`].
    List(Arc<LogicalType>),
    /// `T[n]`, exactly so many elements.
    Array(Arc<LogicalType>, u32),
    /// `STRUCT(...)`: named fields, at least one. All names empty: a row without names, `TUPLE(...)`.
    Struct(Arc<[Field]>),
    /// `MAP(K, V)`: pairs of distinct keys, not NULL, with values, in the order given.
    Map(Arc<(LogicalType, LogicalType)>),
    /// `UNION(...)`: a value of one of the members, which are at most 256.
    Union(Arc<[Field]>),
}

/// A field of a struct or a member of a union.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Field {
    /// The name as written; names of a struct differ in more than case.
    pub name: Arc<str>,
    /// The type of its values.
    pub ty: LogicalType,
}

impl Field {
    /// A field of this name and type.
    pub fn new(name: impl Into<Arc<str>>, ty: LogicalType) -> Self {
        Self { name: name.into(), ty }
    }
}

/// The words of an ENUM. Values are compared by their positions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumType {
    values: Vec<Arc<str>>,
    /// Positions in the order of the words, for looking one up.
    sorted: Vec<u32>,
}

impl EnumType {
    /// The type of these words in this order; an error when a word occurs twice.
    pub fn new<S: Into<Arc<str>>>(values: impl IntoIterator<Item = S>) -> Result<Self> {
        let values: Vec<Arc<str>> = values.into_iter().map(Into::into).collect();
        let count = u32::try_from(values.len()).map_err(|_| Error::bind("an ENUM has too many values"))?;
        let mut sorted: Vec<u32> = (0..count).collect();
        sorted.sort_by(|&a, &b| values[a as usize].cmp(&values[b as usize]));
        if let Some(twice) = sorted.windows(2).find(|w| values[w[0] as usize] == values[w[1] as usize]) {
            let word = &values[twice[0] as usize];
            return Err(Error::bind(format!("the value '{word}' occurs more than once in an ENUM")));
        }
        Ok(Self { values, sorted })
    }

    /// The words in order.
    pub fn values(&self) -> &[Arc<str>] {
        &self.values
    }

    /// The word at a position.
    pub fn get(&self, position: u32) -> Option<&str> {
        self.values.get(position as usize).map(|v| &**v)
    }

    /// The position of a word.
    pub fn position(&self, word: &str) -> Option<u32> {
        let found = self.sorted.binary_search_by(|&p| (*self.values[p as usize]).cmp(word)).ok()?;
        Some(self.sorted[found])
    }

    fn physical(&self) -> PhysicalType {
        match self.values.len() {
            0..=0x100 => PhysicalType::U8,
            0x101..=0x1_0000 => PhysicalType::U16,
            _ => PhysicalType::U32,
        }
    }
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
    #[inline]
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
/// How deep types may lie in one another.
pub const MAX_NESTING: usize = 200;

/// Most fields of a struct and members of a union: each is looked for by name among the others.
pub const MAX_FIELDS: usize = 10_000;
/// Largest precision of a DECIMAL.
pub const DECIMAL_MAX_DIGITS: u8 = 38;

impl LogicalType {
    /// `DECIMAL(precision, scale)`.
    pub const fn decimal(precision: u8, scale: u8) -> Self {
        Self::Decimal { precision, scale }
    }

    /// Whether the type, or one that it is made of, satisfies a condition.
    pub fn has_part(&self, is_wanted: &dyn Fn(&Self) -> bool) -> bool {
        is_wanted(self)
            || match self {
                Self::List(element) | Self::Array(element, _) => element.has_part(is_wanted),
                Self::Struct(fields) | Self::Union(fields) => {
                    fields.iter().any(|field| field.ty.has_part(is_wanted))
                }
                Self::Map(types) => types.0.has_part(is_wanted) || types.1.has_part(is_wanted),
                _ => false,
            }
    }

    /// Whether its values, or a part of them, are shown with an offset to UTC.
    pub fn has_zone(&self) -> bool {
        self.has_part(&|part| matches!(part, Self::TimestampTz | Self::TimeTz))
    }

    /// The layout that carries this type.
    #[inline]
    pub fn physical(&self) -> PhysicalType {
        match self {
            Self::Boolean => PhysicalType::Bool,
            Self::TinyInt => PhysicalType::I8,
            Self::SmallInt => PhysicalType::I16,
            Self::Null | Self::Integer | Self::Date => PhysicalType::I32,
            Self::BigInt | Self::Time | Self::TimeTz | Self::Timestamp => PhysicalType::I64,
            Self::TimestampS | Self::TimestampMs | Self::TimestampNs | Self::TimestampTz => PhysicalType::I64,
            Self::HugeInt | Self::Uuid => PhysicalType::I128,
            Self::UTinyInt => PhysicalType::U8,
            Self::USmallInt => PhysicalType::U16,
            Self::UInteger => PhysicalType::U32,
            Self::UBigInt => PhysicalType::U64,
            Self::UHugeInt => PhysicalType::U128,
            Self::Real => PhysicalType::F32,
            Self::Double => PhysicalType::F64,
            Self::Decimal { precision, .. } => {
                if *precision <= DECIMAL_I16_DIGITS {
                    PhysicalType::I16
                } else if *precision <= DECIMAL_I32_DIGITS {
                    PhysicalType::I32
                } else if *precision <= DECIMAL_I64_DIGITS {
                    PhysicalType::I64
                } else {
                    PhysicalType::I128
                }
            }
            Self::Varchar | Self::Blob | Self::Bit | Self::Json => PhysicalType::View,
            Self::List(_) | Self::Array(..) | Self::Struct(_) | Self::Map(_) | Self::Union(_) => {
                PhysicalType::View
            }
            Self::Enum(words) => words.physical(),
            Self::Interval => PhysicalType::Interval,
        }
    }

    /// TINYINT to UHUGEINT.
    pub const fn is_integer(&self) -> bool {
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
    pub const fn is_numeric(&self) -> bool {
        self.is_integer() || matches!(self, Self::Real | Self::Double | Self::Decimal { .. })
    }

    /// REAL or DOUBLE.
    pub const fn is_float(&self) -> bool {
        matches!(self, Self::Real | Self::Double)
    }

    /// DECIMAL of any precision.
    pub const fn is_decimal(&self) -> bool {
        matches!(self, Self::Decimal { .. })
    }

    /// VARCHAR, BLOB and what else is carried as views with a heap.
    #[inline]
    pub fn is_view(&self) -> bool {
        self.physical() == PhysicalType::View
    }

    /// LIST, ARRAY, STRUCT, MAP or UNION: carried as packed bytes, see [`crate::nested`].
    pub const fn is_nested(&self) -> bool {
        matches!(self, Self::List(_) | Self::Array(..) | Self::Struct(_) | Self::Map(_) | Self::Union(_))
    }

    /// Dates, times, timestamps of every precision, with or without zone, and INTERVAL.
    pub const fn is_temporal(&self) -> bool {
        matches!(self, Self::Date | Self::Time | Self::TimeTz | Self::Interval) || self.is_timestamp()
    }

    /// TIMESTAMP of every precision, with or without zone.
    pub const fn is_timestamp(&self) -> bool {
        matches!(
            self,
            Self::Timestamp | Self::TimestampS | Self::TimestampMs | Self::TimestampNs | Self::TimestampTz
        )
    }

    /// `element[]`.
    pub fn list(element: LogicalType) -> Self {
        Self::List(Arc::new(element))
    }

    /// `element[size]`.
    pub fn array(element: LogicalType, size: u32) -> Self {
        Self::Array(Arc::new(element), size)
    }

    /// `STRUCT(...)` of these names and types.
    pub fn structure<N: Into<Arc<str>>>(fields: impl IntoIterator<Item = (N, LogicalType)>) -> Self {
        Self::Struct(fields.into_iter().map(|(name, ty)| Field::new(name, ty)).collect())
    }

    /// Whether this is a struct without names, as `row(1, 2)` makes.
    pub fn is_tuple(&self) -> bool {
        matches!(self, Self::Struct(fields) if fields.iter().all(|f| f.name.is_empty()))
    }

    /// `MAP(key, value)`.
    pub fn map(key: LogicalType, value: LogicalType) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// How many types lie in one another at most: 1 for a type that is not nested.
    /// Types deeper than [`MAX_NESTING`] are refused where they are made from text, files or hosts, so that
    /// walking a type or a value by recursion is safe.
    pub fn depth(&self) -> usize {
        match self {
            Self::List(element) | Self::Array(element, _) => 1 + element.depth(),
            Self::Map(pair) => 1 + pair.0.depth().max(pair.1.depth()),
            Self::Struct(fields) | Self::Union(fields) => {
                1 + fields.iter().map(|f| f.ty.depth()).max().unwrap_or(0)
            }
            _ => 1,
        }
    }

    /// An error when the type is nested more than [`MAX_NESTING`] deep.
    pub fn check_depth(&self) -> Result<()> {
        if let Self::Struct(fields) | Self::Union(fields) = self
            && fields.len() > MAX_FIELDS
        {
            let message = format!("{} fields of a type are above the limit of {MAX_FIELDS}", fields.len());
            return Err(Error::bind(message));
        }
        if self.depth() <= MAX_NESTING {
            return Ok(());
        }
        Err(Error::bind(format!("a type is nested more than {MAX_NESTING} levels deep")))
    }

    /// The DECIMAL that holds every value of an integer type, if the type is an integer.
    pub const fn integer_as_decimal(&self) -> Option<Self> {
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

/// The name of each type that takes no parameters, as SQL shows it.
fn plain_name(ty: &LogicalType) -> &'static str {
    match ty {
        LogicalType::Null => "\"NULL\"",
        LogicalType::Boolean => "BOOLEAN",
        LogicalType::TinyInt => "TINYINT",
        LogicalType::SmallInt => "SMALLINT",
        LogicalType::Integer => "INTEGER",
        LogicalType::BigInt => "BIGINT",
        LogicalType::HugeInt => "HUGEINT",
        LogicalType::UTinyInt => "UTINYINT",
        LogicalType::USmallInt => "USMALLINT",
        LogicalType::UInteger => "UINTEGER",
        LogicalType::UBigInt => "UBIGINT",
        LogicalType::UHugeInt => "UHUGEINT",
        LogicalType::Real => "FLOAT",
        LogicalType::Double => "DOUBLE",
        LogicalType::Decimal { .. } => "DECIMAL",
        LogicalType::Varchar => "VARCHAR",
        LogicalType::Blob => "BLOB",
        LogicalType::Date => "DATE",
        LogicalType::Time => "TIME",
        LogicalType::Timestamp => "TIMESTAMP",
        LogicalType::Interval => "INTERVAL",
        LogicalType::TimestampS => "TIMESTAMP_S",
        LogicalType::TimestampMs => "TIMESTAMP_MS",
        LogicalType::TimestampNs => "TIMESTAMP_NS",
        LogicalType::TimestampTz => "TIMESTAMP WITH TIME ZONE",
        LogicalType::TimeTz => "TIME WITH TIME ZONE",
        LogicalType::Uuid => "UUID",
        LogicalType::Bit => "BIT",
        LogicalType::Json => "JSON",
        LogicalType::Enum(_) => "ENUM",
        LogicalType::List(_) => "LIST",
        LogicalType::Array(..) => "ARRAY",
        LogicalType::Struct(_) => "STRUCT",
        LogicalType::Map(_) => "MAP",
        LogicalType::Union(_) => "UNION",
    }
}

impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decimal { precision, scale } => write!(f, "DECIMAL({precision},{scale})"),
            Self::List(element) => write!(f, "{element}[]"),
            Self::Array(element, size) => write!(f, "{element}[{size}]"),
            Self::Map(pair) => write!(f, "MAP({}, {})", pair.0, pair.1),
            Self::Struct(fields) if self.is_tuple() => write_fields(f, "TUPLE", fields),
            Self::Struct(fields) => write_fields(f, "STRUCT", fields),
            Self::Union(fields) => write_fields(f, "UNION", fields),
            Self::Enum(words) => {
                f.write_str("ENUM(")?;
                for (index, word) in words.values.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}'{}'", word.replace('\'', "''"))?;
                }
                f.write_str(")")
            }
            other => f.write_str(plain_name(other)),
        }
    }
}

fn write_fields(f: &mut fmt::Formatter<'_>, kind: &str, fields: &[Field]) -> fmt::Result {
    write!(f, "{kind}(")?;
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        if !field.name.is_empty() {
            write!(f, "{} ", quoted_if_needed(&field.name))?;
        }
        write!(f, "{}", field.ty)?;
    }
    f.write_str(")")
}

/// A name as it may stand in SQL: quoted unless it is a plain identifier, and no word of the language.
fn quoted_if_needed(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_word = || keywords::category_of(name).is_some();
    if name.chars().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit()) && !is_word() {
        return Cow::Borrowed(name);
    }
    Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
}

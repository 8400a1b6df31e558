//! What an Arrow schema says, read once into safe values.

#![expect(unsafe_code, reason = "schemas of the C data interface are read")]

use super::export::StringLayout;
use super::ffi::ArrowSchema;
use crate::logical_type::Field;
use crate::{Error, LogicalType, Result};
use std::ffi::{CStr, c_char};
use std::sync::Arc;

/// Deepest nesting of a schema that is read.
const DEPTH_MAX: usize = 64;
/// Most children a struct may have; guards against reading garbage as a count.
const CHILDREN_MAX: i64 = 1 << 20;

/// Unit of times and timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Second,
    /// Milliseconds.
    Milli,
    /// Microseconds.
    Micro,
    /// Nanoseconds.
    Nano,
}

impl TimeUnit {
    /// How many there are in a second.
    pub(super) const fn per_second(self) -> i64 {
        match self {
            Self::Second => 1,
            Self::Milli => 1000,
            Self::Micro => 1_000_000,
            Self::Nano => 1_000_000_000,
        }
    }
}

/// An Arrow type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrowType {
    /// All NULL, without buffers.
    Null,
    /// A bit per value.
    Bool,
    /// A byte per value: extension `arrow.bool8`.
    Bool8,
    /// An integer carried as this logical type.
    Int(LogicalType),
    /// IEEE 754 binary16.
    Float16,
    /// IEEE 754 binary32.
    Float32,
    /// IEEE 754 binary64.
    Float64,
    /// Scaled integers of `width_bits` 32, 64, 128 or 256.
    Decimal {
        /// Digits in all that a column keeps; those of 256 bits may have values with more.
        precision: u8,
        /// Digits behind the point.
        scale: u8,
        /// Zeros that are left out before the point: a negative scale.
        zeros: u8,
        /// Width of a value.
        width_bits: u16,
    },
    /// Text or bytes behind 32-bit offsets.
    Offsets32(LogicalType),
    /// Text or bytes behind 64-bit offsets.
    Offsets64(LogicalType),
    /// Views of text or bytes.
    Views(LogicalType),
    /// Bytes of one length.
    FixedBytes(usize),
    /// The 16 bytes of a UUID: extension `arrow.uuid`.
    Uuid,
    /// Days.
    Date32,
    /// Milliseconds.
    Date64,
    /// Time of day in 32 bits.
    Time32(TimeUnit),
    /// Time of day in 64 bits.
    Time64(TimeUnit),
    /// A time on the clock, or with `zoned` a point in time.
    Timestamp {
        /// What it counts.
        unit: TimeUnit,
        /// Whether it has a zone; then it counts from the epoch in UTC.
        zoned: bool,
    },
    /// A length of time.
    Duration(TimeUnit),
    /// Months.
    IntervalMonths,
    /// Days and milliseconds.
    IntervalDays,
    /// Months, days and nanoseconds.
    IntervalNano,
    /// Codes of an integer type into values; the values may have parts, and are the only child of the field.
    Dictionary(Box<ArrowType>, Box<ArrowType>),
    /// Runs of equal values: where each ends, and its value, are the two children.
    RunEnds,
    /// A row of fields.
    Struct,
    /// Lists of the only child behind 32-bit offsets, or 64-bit ones if `large`.
    List {
        /// Whether offsets have 64 bits.
        large: bool,
    },
    /// Lists of the only child, of which each has a place and a size, of 64 bits if `large`.
    ListView {
        /// Whether places and sizes have 64 bits.
        large: bool,
    },
    /// Lists of so many of the only child.
    FixedList(u32),
    /// Lists of the only child, a struct of key and value.
    Map,
    /// One of the children, chosen by its position here; with `dense`, rows say where in the child.
    Union {
        /// The type id of each child.
        ids: Vec<i8>,
        /// Whether there is a buffer of places.
        dense: bool,
    },
    /// A type that no column can have, with its name.
    Other(String),
}

/// Name and type of a column, and its fields if it is a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrowField {
    /// The name; empty when the schema has none.
    pub name: String,
    /// The type.
    pub ty: ArrowType,
    /// What values are made of: fields, elements, the values of a dictionary; empty for others.
    pub children: Vec<ArrowField>,
    /// Whether the last number of dates and moments means infinity, which some producers do not know.
    pub has_infinity: bool,
}

impl ArrowField {
    /// Reads a schema. What no column can have becomes [`ArrowType::Other`]; a broken struct is an error.
    pub fn read(schema: &ArrowSchema) -> Result<Self> {
        Self::read_at(schema, 0)
    }

    fn read_at(schema: &ArrowSchema, depth: usize) -> Result<Self> {
        if depth > DEPTH_MAX {
            return Err(Error::invalid_argument(format!(
                "Arrow schema nests deeper than {DEPTH_MAX} levels"
            )));
        }
        let format =
            text(schema.format).ok_or_else(|| Error::invalid_argument("Arrow schema has no format"))?;
        let name = text(schema.name).unwrap_or_default();
        let mut ty = read_format(&format);
        // SAFETY: NULL or a schema that its parent keeps alive.
        if let Some(values) = unsafe { schema.dictionary.as_ref() } {
            let values = Self::read_at(values, depth + 1)?;
            ty = ArrowType::Dictionary(Box::new(ty), Box::new(values.ty.clone()));
            return Ok(Self { name, ty, children: vec![values], has_infinity: true });
        }
        if let Some(extension) = schema.metadata_value("ARROW:extension:name") {
            ty = ty.extended(&extension);
        }
        let mut children = Vec::new();
        if ty.has_children() {
            for index in 0..child_count(schema.n_children)? {
                children.push(Self::read_at(child(schema, index)?, depth + 1)?);
            }
        }
        Ok(Self { name, ty, children, has_infinity: true })
    }

    /// The field of a producer for which the last date and moment are ones like others.
    pub(super) fn without_infinity(mut self) -> Self {
        self.has_infinity = false;
        self.children = self.children.into_iter().map(Self::without_infinity).collect();
        self
    }

    /// The logical type that a column of this field gets; `Unsupported` names column and type when there is none.
    pub fn logical_type(&self) -> Result<LogicalType> {
        let ty = self.nested_type().unwrap_or_else(|| self.ty.logical_type());
        let ty = ty.and_then(|ty| ty.check_depth().map(|()| ty).map_err(|error| error.to_string()));
        ty.map_err(|what| Error::Unsupported {
            feature: format!("column \"{}\" of Arrow type {what}", self.name),
            alternative: Some("convert or leave out the column before passing it".to_string()),
        })
    }

    /// The layout of texts and bytes that such columns have: views if there are some, and wide offsets if all are.
    /// `None` without texts.
    pub fn strings(&self) -> Option<StringLayout> {
        let own = match self.ty {
            ArrowType::Views(_) => Some(StringLayout::View),
            ArrowType::Offsets32(_) => Some(StringLayout::Utf8),
            ArrowType::Offsets64(_) => Some(StringLayout::LargeUtf8),
            _ => None,
        };
        self.children.iter().filter_map(Self::strings).chain(own).reduce(|left, right| match (left, right) {
            (StringLayout::View, _) | (_, StringLayout::View) => StringLayout::View,
            (StringLayout::Utf8, _) | (_, StringLayout::Utf8) => StringLayout::Utf8,
            (StringLayout::LargeUtf8, StringLayout::LargeUtf8) => StringLayout::LargeUtf8,
        })
    }

    /// The type of a column with children.
    fn nested_type(&self) -> Option<std::result::Result<LogicalType, String>> {
        let part = |child: &Self| child.nested_type().unwrap_or_else(|| child.ty.logical_type());
        let fields = || -> std::result::Result<Arc<[Field]>, String> {
            let field = |child: &Self| Ok(Field::new(child.name.as_str(), part(child)?));
            let fields = self.children.iter().map(field).collect::<std::result::Result<Vec<_>, String>>()?;
            let mut names: Vec<String> = fields.iter().map(|field| field.name.to_lowercase()).collect();
            names.sort_unstable();
            match names.windows(2).find(|pair| pair[0] == pair[1]) {
                Some(twice) => Err(format!("struct with two fields \"{}\"", twice[0])),
                None => Ok(fields.into()),
            }
        };
        Some(match (&self.ty, self.children.as_slice()) {
            (ArrowType::Struct, []) => Err("struct without fields".to_string()),
            (ArrowType::Struct, _) => fields().map(LogicalType::Struct),
            (ArrowType::Dictionary(codes, _), [values]) => match **codes {
                ArrowType::Int(ref ty) if !matches!(ty, LogicalType::HugeInt | LogicalType::UHugeInt) => {
                    part(values)
                }
                _ => Err("dictionary without integer codes".to_string()),
            },
            (ArrowType::RunEnds, [ends, values]) => match ends.ty {
                ArrowType::Int(LogicalType::SmallInt | LogicalType::Integer | LogicalType::BigInt) => {
                    part(values)
                }
                _ => Err("runs whose ends are no integers of 16, 32 or 64 bits".to_string()),
            },
            (ArrowType::List { .. } | ArrowType::ListView { .. }, [element]) => {
                part(element).map(LogicalType::list)
            }
            (ArrowType::FixedList(size @ 1..=100_000), [element]) => {
                part(element).map(|element| LogicalType::array(element, *size))
            }
            (ArrowType::Map, [entries]) => match entries.children.as_slice() {
                [key, value] => part(key).and_then(|key| Ok(LogicalType::map(key, part(value)?))),
                _ => Err("map without keys and values".to_string()),
            },
            (ArrowType::Union { ids, .. }, members) if !members.is_empty() && ids.len() == members.len() => {
                fields().map(LogicalType::Union)
            }
            (other, _) if other.has_children() => Err("nested values that lack their parts".to_string()),
            _ => return None,
        })
    }
}

impl ArrowType {
    /// Whether its values are made of those of children.
    pub(super) fn has_children(&self) -> bool {
        match self {
            Self::Dictionary(..)
            | Self::RunEnds
            | Self::Struct
            | Self::List { .. }
            | Self::ListView { .. }
            | Self::FixedList(_)
            | Self::Map
            | Self::Union { .. } => true,
            Self::Null
            | Self::Bool
            | Self::Bool8
            | Self::Int(_)
            | Self::Float16
            | Self::Float32
            | Self::Float64
            | Self::Decimal { .. }
            | Self::Offsets32(_)
            | Self::Offsets64(_)
            | Self::Views(_)
            | Self::FixedBytes(_)
            | Self::Uuid
            | Self::Date32
            | Self::Date64
            | Self::Time32(_)
            | Self::Time64(_)
            | Self::Timestamp { .. }
            | Self::Duration(_)
            | Self::IntervalMonths
            | Self::IntervalDays
            | Self::IntervalNano
            | Self::Other(_) => false,
        }
    }

    /// What a canonical extension makes of the type; one that is not known leaves it as it is.
    fn extended(self, extension: &str) -> Self {
        match (extension, self) {
            ("arrow.uuid", Self::FixedBytes(16)) => Self::Uuid,
            ("arrow.bool8", Self::Int(LogicalType::TinyInt)) => Self::Bool8,
            ("arrow.json", Self::Offsets32(LogicalType::Varchar)) => Self::Offsets32(LogicalType::Json),
            ("arrow.json", Self::Offsets64(LogicalType::Varchar)) => Self::Offsets64(LogicalType::Json),
            ("arrow.json", Self::Views(LogicalType::Varchar)) => Self::Views(LogicalType::Json),
            (_, other) => other,
        }
    }

    /// The logical type, or the name of a type that has none.
    fn logical_type(&self) -> std::result::Result<LogicalType, String> {
        Ok(match self {
            Self::Null => LogicalType::Integer,
            Self::Bool | Self::Bool8 => LogicalType::Boolean,
            Self::Int(ty) | Self::Offsets32(ty) | Self::Offsets64(ty) | Self::Views(ty) => ty.clone(),
            Self::Float16 | Self::Float32 => LogicalType::Real,
            Self::Float64 => LogicalType::Double,
            Self::Decimal { precision, scale, .. } => LogicalType::decimal(*precision, *scale),
            Self::FixedBytes(_) => LogicalType::Blob,
            Self::Uuid => LogicalType::Uuid,
            Self::Date32 | Self::Date64 => LogicalType::Date,
            Self::Time32(_) | Self::Time64(_) => LogicalType::Time,
            Self::Timestamp { zoned: true, .. } => LogicalType::TimestampTz,
            Self::Timestamp { unit, .. } => match unit {
                TimeUnit::Second => LogicalType::TimestampS,
                TimeUnit::Milli => LogicalType::TimestampMs,
                TimeUnit::Micro => LogicalType::Timestamp,
                TimeUnit::Nano => LogicalType::TimestampNs,
            },
            Self::Duration(_) | Self::IntervalMonths | Self::IntervalDays | Self::IntervalNano => {
                LogicalType::Interval
            }
            // Made by `ArrowField::nested_type`.
            Self::Dictionary(..)
            | Self::RunEnds
            | Self::Struct
            | Self::List { .. }
            | Self::ListView { .. }
            | Self::FixedList(_)
            | Self::Map
            | Self::Union { .. } => return Err("nested values that lack their parts".to_string()),
            Self::Other(name) => return Err(name.clone()),
        })
    }
}

pub(super) fn child_count(count: i64) -> Result<usize> {
    if (0..=CHILDREN_MAX).contains(&count) {
        Ok(count as usize)
    } else {
        Err(Error::invalid_argument(format!("Arrow struct says it has {count} children")))
    }
}

fn child(schema: &ArrowSchema, index: usize) -> Result<&ArrowSchema> {
    let missing = || Error::invalid_argument(format!("child {index} of an Arrow schema is a NULL pointer"));
    if schema.children.is_null() {
        return Err(missing());
    }
    // SAFETY: the producer promises `n_children` pointers, each NULL or a schema that the parent keeps alive.
    unsafe { (*schema.children.add(index)).as_ref() }.ok_or_else(missing)
}

fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not NULL; the producer promises a string that ends in NUL and lives as long as the struct.
    Some(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

fn unit_of(text: &str) -> Option<TimeUnit> {
    Some(match text.as_bytes().first()? {
        b's' => TimeUnit::Second,
        b'm' => TimeUnit::Milli,
        b'u' => TimeUnit::Micro,
        b'n' => TimeUnit::Nano,
        _ => return None,
    })
}

fn read_format(format: &str) -> ArrowType {
    let other = |name: &str| ArrowType::Other(name.to_string());
    match format {
        "n" => ArrowType::Null,
        "b" => ArrowType::Bool,
        "c" => ArrowType::Int(LogicalType::TinyInt),
        "C" => ArrowType::Int(LogicalType::UTinyInt),
        "s" => ArrowType::Int(LogicalType::SmallInt),
        "S" => ArrowType::Int(LogicalType::USmallInt),
        "i" => ArrowType::Int(LogicalType::Integer),
        "I" => ArrowType::Int(LogicalType::UInteger),
        "l" => ArrowType::Int(LogicalType::BigInt),
        "L" => ArrowType::Int(LogicalType::UBigInt),
        // Of Polars, which Arrow has none of.
        "_pli128" => ArrowType::Int(LogicalType::HugeInt),
        "_plu128" => ArrowType::Int(LogicalType::UHugeInt),
        "e" => ArrowType::Float16,
        "f" => ArrowType::Float32,
        "g" => ArrowType::Float64,
        "u" => ArrowType::Offsets32(LogicalType::Varchar),
        "U" => ArrowType::Offsets64(LogicalType::Varchar),
        "vu" => ArrowType::Views(LogicalType::Varchar),
        "z" => ArrowType::Offsets32(LogicalType::Blob),
        "Z" => ArrowType::Offsets64(LogicalType::Blob),
        "vz" => ArrowType::Views(LogicalType::Blob),
        "tdD" => ArrowType::Date32,
        "tdm" => ArrowType::Date64,
        "tts" => ArrowType::Time32(TimeUnit::Second),
        "ttm" => ArrowType::Time32(TimeUnit::Milli),
        "ttu" => ArrowType::Time64(TimeUnit::Micro),
        "ttn" => ArrowType::Time64(TimeUnit::Nano),
        "tiM" => ArrowType::IntervalMonths,
        "tiD" => ArrowType::IntervalDays,
        "tin" => ArrowType::IntervalNano,
        "+s" => ArrowType::Struct,
        "+l" => ArrowType::List { large: false },
        "+L" => ArrowType::List { large: true },
        "+vl" => ArrowType::ListView { large: false },
        "+vL" => ArrowType::ListView { large: true },
        "+m" => ArrowType::Map,
        "+r" => ArrowType::RunEnds,
        _ => read_parametric(format).unwrap_or_else(|| other(&format!("\"{format}\""))),
    }
}

fn read_parametric(format: &str) -> Option<ArrowType> {
    if let Some(parameters) = format.strip_prefix("d:") {
        return Some(
            read_decimal(parameters).unwrap_or_else(|| ArrowType::Other(format!("decimal({parameters})"))),
        );
    }
    if let Some(size) = format.strip_prefix("w:") {
        return size
            .parse()
            .ok()
            .filter(|&size: &usize| size <= i32::MAX as usize)
            .map(ArrowType::FixedBytes);
    }
    if let Some(unit) = format.strip_prefix("ts") {
        let zoned = unit.split_once(':').is_some_and(|(_, zone)| !zone.is_empty());
        return unit_of(unit).map(|unit| ArrowType::Timestamp { unit, zoned });
    }
    if let Some(unit) = format.strip_prefix("tD") {
        return unit_of(unit).map(ArrowType::Duration);
    }
    if let Some(size) = format.strip_prefix("+w:") {
        return size.parse().ok().map(ArrowType::FixedList);
    }
    let (dense, ids) = match format.strip_prefix("+ud:") {
        Some(ids) => (true, ids),
        None => (false, format.strip_prefix("+us:")?),
    };
    let ids = ids.split(',').map(|id| id.parse().ok()).collect::<Option<Vec<i8>>>()?;
    Some(ArrowType::Union { ids, dense })
}

fn read_decimal(parameters: &str) -> Option<ArrowType> {
    let mut parts = parameters.split(',');
    let digits: u16 = parts.next()?.parse().ok()?;
    let scale: i32 = parts.next()?.parse().ok()?;
    let width_bits: u16 = parts.next().map_or(Some(128), |width| width.parse().ok())?;
    let digits_max = match width_bits {
        32 => 9,
        64 => 18,
        128 => 38,
        256 => 76,
        _ => return None,
    };
    let zeros = u8::try_from(-scale).unwrap_or(0);
    let scale = u8::try_from(scale.max(0)).ok()?;
    // Values of 256 bits mostly have fewer digits than they could have; each is looked at.
    let precision = u8::try_from(digits + u16::from(zeros)).ok()?;
    let precision = if width_bits == 256 { precision.min(38) } else { precision };
    let fits = (1..=digits_max).contains(&digits)
        && (1..=38).contains(&precision)
        && zeros <= 38
        && scale <= precision;
    fits.then_some(ArrowType::Decimal { precision, scale, zeros, width_bits })
}

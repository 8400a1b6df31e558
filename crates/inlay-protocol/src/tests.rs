//! Columns, chunks and frames: every type comes back, and bytes of any pattern give errors.

mod columns;
mod document;
mod mutations;

use inlay_types::nested::pack_lists;
use inlay_types::{Bitmap, Dictionary, EnumType, Interval, LogicalType, TimeTz, Value, Vector, bit};
use std::sync::Arc;

/// Numbers that look random and are the same in each run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound.max(1)
    }

    fn text(&mut self) -> String {
        const PARTS: [&str; 6] = ["a", "lorem ipsum dolor", "ünïcødé", "", "🦀", "0123456789abc"];
        (0..self.below(4)).map(|_| PARTS[self.below(PARTS.len())]).collect()
    }
}

/// Every kind of type; a match without a wildcard arm in `value` keeps it whole.
pub(crate) fn types() -> Vec<LogicalType> {
    use LogicalType::*;
    let mut types = vec![
        Null,
        Boolean,
        TinyInt,
        SmallInt,
        Integer,
        BigInt,
        HugeInt,
        UTinyInt,
        USmallInt,
        UInteger,
        UBigInt,
        UHugeInt,
        Real,
        Double,
        Varchar,
        Blob,
        Date,
        Time,
        Timestamp,
        Interval,
        TimestampS,
        TimestampMs,
        TimestampNs,
        TimestampTz,
        TimeTz,
        Uuid,
        Bit,
        Json,
    ];
    types.extend([(3, 1), (4, 0), (9, 2), (18, 18), (38, 10)].map(|(p, s)| LogicalType::decimal(p, s)));
    types.push(Enum(Arc::new(EnumType::new(["sad", "ok", "happy"]).unwrap())));
    types.push(Enum(Arc::new(EnumType::new((0..300).map(|word| format!("w{word}"))).unwrap())));
    let point = LogicalType::structure([("x", Integer), ("label", Varchar)]);
    types.extend([
        LogicalType::list(Integer),
        LogicalType::list(Varchar),
        LogicalType::list(LogicalType::list(Boolean)),
        LogicalType::array(Double, 3),
        point.clone(),
        LogicalType::structure([("", Integer), ("", Double)]),
        LogicalType::map(Varchar, point.clone()),
        LogicalType::list(LogicalType::map(Integer, LogicalType::list(Varchar))),
        Union([("n", Integer), ("s", Varchar)].map(|(name, ty)| inlay_types::Field::new(name, ty)).into()),
        LogicalType::structure([("inner", point), ("all", LogicalType::list(Date))]),
    ]);
    types
}

/// A value of a type that is not NULL.
pub(crate) fn value(ty: &LogicalType, random: &mut Random) -> Value {
    let wide = random.next() as i64;
    let small = random.below(100) as i64;
    let any = if random.below(2) == 0 { wide } else { small };
    match ty {
        LogicalType::Null => Value::Null,
        LogicalType::Boolean => Value::Boolean(any & 1 == 1),
        LogicalType::Real => Value::Real([any as f32, f32::NAN, -0.0, f32::INFINITY][random.below(4)]),
        LogicalType::Double => Value::Double([any as f64 / 3.0, f64::NAN, -0.0, f64::MIN][random.below(4)]),
        LogicalType::Varchar => Value::Varchar(random.text()),
        LogicalType::Json => Value::Json(format!("[{}]", any)),
        LogicalType::Blob => Value::Blob(random.text().into_bytes().into_iter().rev().collect()),
        LogicalType::Bit => Value::Bit(bit::from_bits(random.below(20), |index| any >> index & 1 == 1)),
        LogicalType::Interval => {
            Value::Interval(Interval { months: any as i32, days: small as i32, micros: wide })
        }
        LogicalType::UHugeInt => Value::UHugeInt(u128::from(any as u64) << (64 * random.below(2))),
        LogicalType::TimeTz => {
            let time = TimeTz { micros: small * 1_000_003, offset: (small as i32 - 50) * 900 };
            Value::of_stored(ty, i128::from(time.stored()))
        }
        LogicalType::Time => Value::of_stored(ty, i128::from(any.rem_euclid(86_400_000_001))),
        LogicalType::Decimal { precision, .. } => {
            let most = 10i128.pow(u32::from(*precision));
            Value::of_stored(ty, (i128::from(any) * i128::from(wide)) % most)
        }
        LogicalType::HugeInt | LogicalType::Uuid => {
            Value::of_stored(ty, i128::from(wide) << (60 * random.below(2)))
        }
        LogicalType::Enum(words) => Value::of_stored(ty, random.below(words.values().len()) as i128),
        LogicalType::TinyInt
        | LogicalType::SmallInt
        | LogicalType::Integer
        | LogicalType::BigInt
        | LogicalType::UTinyInt
        | LogicalType::USmallInt
        | LogicalType::UInteger
        | LogicalType::UBigInt
        | LogicalType::Date
        | LogicalType::Timestamp
        | LogicalType::TimestampS
        | LogicalType::TimestampMs
        | LogicalType::TimestampNs
        | LogicalType::TimestampTz => Value::of_stored(ty, stored(ty, any)),
        LogicalType::List(_)
        | LogicalType::Array(..)
        | LogicalType::Struct(_)
        | LogicalType::Map(_)
        | LogicalType::Union(_) => unreachable!("vectors of nested types are made of vectors"),
    }
}

/// A number cut to what the carrier holds.
fn stored(ty: &LogicalType, any: i64) -> i128 {
    match ty {
        LogicalType::TinyInt => i128::from(any as i8),
        LogicalType::SmallInt => i128::from(any as i16),
        LogicalType::Integer | LogicalType::Date => i128::from(any as i32),
        LogicalType::UTinyInt => i128::from(any as u8),
        LogicalType::USmallInt => i128::from(any as u16),
        LogicalType::UInteger => i128::from(any as u32),
        LogicalType::UBigInt => i128::from(any as u64),
        _ => i128::from(any),
    }
}

/// Which rows are not NULL: all, none, or some.
fn validity(rows: usize, random: &mut Random) -> Option<Bitmap> {
    match random.below(4) {
        0 => None,
        1 => Some(Bitmap::from_fn(rows, |_| random.below(10) > 0)),
        2 => Some(Bitmap::from_fn(rows, |_| random.below(10) == 0)),
        _ => Some(Bitmap::from_fn(rows, |_| random.below(2) == 0)),
    }
}

fn offsets(rows: usize, size: Option<u32>, validity: Option<&Bitmap>, random: &mut Random) -> Vec<u32> {
    let mut ends = vec![0];
    for row in 0..rows {
        let is_null = validity.is_some_and(|validity| !validity.get(row));
        let count = if is_null { 0 } else { size.unwrap_or_else(|| random.below(4) as u32) };
        ends.push(ends[row] + count);
    }
    ends
}

/// A flat vector of any type.
pub(crate) fn flat(ty: &LogicalType, rows: usize, random: &mut Random) -> Vector {
    use inlay_types::nested::{pack_maps, pack_struct, pack_unions};
    let validity = validity(rows, random);
    let valid = validity.as_ref();
    match ty {
        LogicalType::List(element) | LogicalType::Array(element, _) => {
            let size = if let LogicalType::Array(_, size) = ty { Some(*size) } else { None };
            let ends = offsets(rows, size, valid, random);
            let child = flat(element, ends[rows] as usize, random);
            pack_lists(ty, &child, &ends, valid).unwrap()
        }
        LogicalType::Map(types) => {
            let ends = offsets(rows, None, valid, random);
            let count = ends[rows] as usize;
            // Keys of a map differ.
            let keys: Vec<Value> = (0..count)
                .map(|index| match types.0 {
                    LogicalType::Integer => Value::Integer(index as i32),
                    _ => Value::Varchar(format!("key {index}")),
                })
                .collect();
            let keys = Vector::from_sql_values(types.0.clone(), &keys).unwrap();
            pack_maps(ty, &keys, &flat(&types.1, count, random), &ends, valid).unwrap()
        }
        LogicalType::Struct(fields) => {
            let parts: Vec<Vector> = fields.iter().map(|field| flat(&field.ty, rows, random)).collect();
            pack_struct(ty, &parts.iter().collect::<Vec<_>>(), rows, valid).unwrap()
        }
        LogicalType::Union(members) => {
            let parts: Vec<Vector> = members.iter().map(|member| flat(&member.ty, rows, random)).collect();
            let tags: Vec<u8> = (0..rows).map(|_| random.below(members.len()) as u8).collect();
            pack_unions(ty, &tags, &parts.iter().collect::<Vec<_>>(), valid).unwrap()
        }
        plain => {
            let values: Vec<Value> = (0..rows)
                .map(
                    |row| if valid.is_some_and(|v| !v.get(row)) { Value::Null } else { value(plain, random) },
                )
                .collect();
            Vector::from_sql_values(ty.clone(), &values).unwrap()
        }
    }
}

/// A vector of any type and kind.
pub(crate) fn vector(ty: &LogicalType, rows: usize, random: &mut Random) -> Vector {
    match random.below(6) {
        0 => Vector::nulls(ty.clone(), rows),
        1 => {
            let one = flat(ty, 1, random);
            if one.is_null(0) { Vector::nulls(ty.clone(), rows) } else { one.repeated(0, rows) }
        }
        2 => {
            let some = flat(ty, 5, random);
            let valid: Vec<u32> = (0..5).filter(|row| !some.is_null(*row as usize)).collect();
            if valid.is_empty() {
                return some.take(&vec![0; rows]);
            }
            let mut distinct = some.take(&valid);
            distinct.set_validity(None);
            let codes: Vec<u32> = (0..rows).map(|_| random.below(valid.len()) as u32).collect();
            let codes = inlay_types::Buffer::copy_of(&codes);
            Vector::dictionary(Dictionary::new(distinct), codes, rows, validity(rows, random))
        }
        _ => flat(ty, rows, random),
    }
}

/// The rows of vectors as texts that tell all values apart.
pub(crate) fn shown(parts: &[Vector]) -> Vec<String> {
    parts.iter().flat_map(|part| (0..part.len()).map(|row| format!("{:?}", part.get(row)))).collect()
}

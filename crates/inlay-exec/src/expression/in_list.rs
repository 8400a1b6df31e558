//! `x IN (literals)`: a hash set of the literals, looked up row by row.

use inlay_sql::plan::ConstantList;
use inlay_types::byte_set::ByteSet;
use inlay_types::{Bitmap, LogicalType, Native, PhysicalType, Value, Vector};
use std::collections::HashSet;
use std::sync::Arc;

/// Bits that are equal for equal numbers.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { (number + 0.0).to_bits() }
}

/// The non-NULL literals of an IN list.
#[derive(Debug)]
pub struct InSet {
    members: Members,
    has_null: bool,
}

#[derive(Debug)]
enum Members {
    /// Types carried as integers, as stored: so few that all are compared.
    Few(Vec<i128>),
    /// More of them.
    Integers(HashSet<i128>),
    /// Few of DOUBLE, and of REAL as DOUBLE; NaN equals NaN, and 0 equals -0.
    FewFloats(Vec<f64>),
    /// Their bits, of more of them.
    Floats(HashSet<u64>),
    /// VARCHAR and BLOB.
    Bytes(ByteSet),
    /// A set that the plan has.
    Known(Arc<ConstantList>),
}

/// Numbers of a list that are all compared, which is done for many rows at once.
const FEW_MAX: usize = 16;

/// Marks the rows of a flat vector that equal one of the integers, which are of its type as stored.
fn mark_equal(flat: &Vector, integers: &[i128], found: &mut [u8]) {
    fn mark<T: Native + PartialEq + TryFrom<i128>>(flat: &Vector, integers: &[i128], found: &mut [u8]) {
        let values = flat.values::<T>();
        for member in integers.iter().filter_map(|&integer| T::try_from(integer).ok()) {
            for (hit, value) in found.iter_mut().zip(values) {
                *hit |= u8::from(*value == member);
            }
        }
    }
    match flat.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => mark::<u8>(flat, integers, found),
        PhysicalType::I8 => mark::<i8>(flat, integers, found),
        PhysicalType::I16 => mark::<i16>(flat, integers, found),
        PhysicalType::I32 => mark::<i32>(flat, integers, found),
        PhysicalType::I64 => mark::<i64>(flat, integers, found),
        PhysicalType::I128 => mark::<i128>(flat, integers, found),
        PhysicalType::U16 => mark::<u16>(flat, integers, found),
        PhysicalType::U32 => mark::<u32>(flat, integers, found),
        PhysicalType::U64 => mark::<u64>(flat, integers, found),
        PhysicalType::U128 => mark::<u128>(flat, integers, found),
        PhysicalType::F32 | PhysicalType::F64 | PhysicalType::View | PhysicalType::Interval => {}
    }
}

/// Marks the rows that equal one of the numbers.
fn mark_equal_floats<T: Native + Into<f64>>(values: &[T], numbers: &[f64], found: &mut [u8]) {
    for &member in numbers {
        for (hit, &value) in found.iter_mut().zip(values) {
            let value: f64 = value.into();
            *hit |= u8::from(value == member || (value.is_nan() && member.is_nan()));
        }
    }
}

impl InSet {
    /// A set of `values`, each NULL or of type `ty`; `None` for types without a set (intervals).
    pub fn new(ty: LogicalType, values: &[&Value]) -> Option<Self> {
        let has_null = values.iter().any(|v| v.is_null());
        let present = values.iter().filter(|v| !v.is_null());
        let members = if ty.is_view() {
            let bytes = present.map(|v| match v {
                Value::Varchar(text) => Some(text.as_bytes().to_vec()),
                Value::Blob(bytes) => Some(bytes.clone()),
                _ => None,
            });
            Members::Bytes(bytes.collect::<Option<_>>()?)
        } else if ty.is_float() {
            let numbers = present.map(|v| match v {
                Value::Double(number) => Some(*number),
                Value::Real(number) => Some(f64::from(*number)),
                _ => None,
            });
            let numbers = numbers.collect::<Option<Vec<f64>>>()?;
            if numbers.len() <= FEW_MAX {
                Members::FewFloats(numbers)
            } else {
                Members::Floats(numbers.into_iter().map(bits).collect())
            }
        } else if matches!(ty, LogicalType::Interval | LogicalType::UHugeInt) {
            return None;
        } else {
            let mut integers = present.map(|v| v.as_stored_i128()).collect::<Option<Vec<i128>>>()?;
            integers.sort_unstable();
            integers.dedup();
            if integers.len() <= FEW_MAX {
                Members::Few(integers)
            } else {
                Members::Integers(integers.into_iter().collect())
            }
        };
        Some(Self { members, has_null })
    }

    /// The set of a long list.
    pub fn of_constants(list: Arc<ConstantList>) -> Self {
        Self { has_null: list.has_null(), members: Members::Known(list) }
    }

    /// Three-valued membership of `len` rows of a flat or constant vector, as a BOOLEAN vector.
    pub fn contains(&self, input: &Vector, len: usize) -> Vector {
        if let Members::Known(list) = &self.members {
            return list.contains(input, len);
        }
        let flat = input.flatten();
        let mut found = vec![0u8; len];
        match &self.members {
            Members::Few(integers) => mark_equal(&flat, integers, &mut found),
            Members::Integers(set) => {
                for (row, hit) in found.iter_mut().enumerate() {
                    *hit = u8::from(set.contains(&flat.stored_i128(row)));
                }
            }
            Members::FewFloats(numbers) if flat.physical_type() == PhysicalType::F32 => {
                mark_equal_floats(flat.values::<f32>(), numbers, &mut found);
            }
            Members::FewFloats(numbers) => mark_equal_floats(flat.values::<f64>(), numbers, &mut found),
            Members::Floats(set) if flat.physical_type() == PhysicalType::F32 => {
                for (hit, number) in found.iter_mut().zip(flat.values::<f32>()) {
                    *hit = u8::from(set.contains(&bits(f64::from(*number))));
                }
            }
            Members::Floats(set) => {
                for (hit, number) in found.iter_mut().zip(flat.values::<f64>()) {
                    *hit = u8::from(set.contains(&bits(*number)));
                }
            }
            Members::Known(_) => {}
            Members::Bytes(set) => {
                let heap = flat.heap().buffers();
                for (hit, view) in found.iter_mut().zip(flat.views()) {
                    *hit = u8::from(set.contains(view.bytes(heap)));
                }
            }
        }
        let validity = if self.has_null {
            Some(Bitmap::from_fn(len, |row| found[row] == 1 && !flat.is_null(row)))
        } else {
            flat.validity().cloned()
        };
        let mut result = Vector::from_values(LogicalType::Boolean, &found);
        result.set_validity(validity);
        result
    }
}

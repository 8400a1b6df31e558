//! Many constants behind IN: one vector and a hash table over it, made once and shared by all who look values up.

use inlay_types::hash::{hash, hash_u64};
use inlay_types::{Bitmap, LogicalType, PhysicalType, Value, Vector};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// Bits of a slot that number a value; those above are of its hash.
const INDEX_BITS: u32 = 32;

/// The constants of `x IN (constants)`, each once, and whether NULL is among them.
pub struct ConstantList {
    /// Flat, without NULLs, in the order in which they were first written.
    values: Vector,
    /// Open addressing: 0, or upper bits of the hash and the index of the value plus one.
    slots: Vec<u64>,
    has_null: bool,
}

impl ConstantList {
    /// Whether there can be a list of values of this type.
    pub fn holds(ty: &LogicalType) -> bool {
        use LogicalType::{Blob, Interval, Null, UHugeInt, Varchar};
        matches!(ty, Varchar | Blob) || !(ty.is_view() || matches!(ty, Interval | UHugeInt | Null))
    }

    /// The list of the rows of a vector of a type that [`Self::holds`].
    pub fn new(rows: &Vector) -> Self {
        let flat = rows.flatten();
        let count = flat.len() - flat.null_count();
        let hashes = hashes(&flat, flat.len());
        let mut slots = vec![0u64; (count * 2).max(2).next_power_of_two()];
        let mut kept: Vec<u32> = Vec::with_capacity(count);
        for (row, hash) in hashes.into_iter().enumerate() {
            if flat.is_null(row) {
                continue;
            }
            let same = |index: usize| equal(&flat, row, &flat, kept[index] as usize);
            if let Err(free) = find(&slots, hash, same) {
                kept.push(row as u32);
                slots[free] = tag(hash) | kept.len() as u64;
            }
        }
        let has_null = count < flat.len();
        let mut values = if kept.len() == flat.len() { flat } else { flat.take(&kept) };
        values.set_validity(None);
        Self { values, slots, has_null }
    }

    /// The values, each once and without NULL.
    pub fn values(&self) -> &Vector {
        &self.values
    }

    /// Number of values, NULL not among them.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no value, or nothing but NULL.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether NULL is among the constants.
    pub fn has_null(&self) -> bool {
        self.has_null
    }

    /// The same values, beside NULL or not.
    pub fn with_null(mut self, has_null: bool) -> Self {
        self.has_null = has_null;
        self
    }

    /// The values one by one.
    pub fn iter(&self) -> impl Iterator<Item = Value> + '_ {
        (0..self.len()).map(|index| self.values.get(index))
    }

    /// The smallest and the largest value.
    pub fn bounds(&self) -> Option<(Value, Value)> {
        let order = |a: &usize, b: &usize| order(&self.values, *a, *b);
        let low = (0..self.len()).min_by(order)?;
        let high = (0..self.len()).max_by(order)?;
        Some((self.values.get(low), self.values.get(high)))
    }

    /// Three-valued membership of `len` rows of a vector of the same type, as a BOOLEAN vector.
    pub fn contains(&self, input: &Vector, len: usize) -> Vector {
        let flat = input.flatten();
        let mut found = vec![0u8; len];
        for (row, (hit, hash)) in found.iter_mut().zip(hashes(&flat, len)).enumerate() {
            *hit = u8::from(find(&self.slots, hash, |index| equal(&flat, row, &self.values, index)).is_ok());
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

impl PartialEq for ConstantList {
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (&self.values, &other.values);
        std::ptr::eq(self, other)
            || self.has_null == other.has_null
                && own.len() == others.len()
                && own.ty() == others.ty()
                && other.contains(own, own.len()).values::<u8>().iter().all(|hit| *hit == 1)
    }
}

impl fmt::Debug for ConstantList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let null = if self.has_null { " and NULL" } else { "" };
        write!(f, "{} of {}{null}", self.len(), self.values.ty())
    }
}

/// Hashes that nobody can foresee: texts are written to have many values in one place of a table.
fn hashes(vector: &Vector, len: usize) -> Vec<u64> {
    static SEED: OnceLock<u64> = OnceLock::new();
    let seed = *SEED.get_or_init(|| RandomState::new().hash_one(0u8));
    let mut hashes = vec![0; len];
    hash(vector, len, &mut hashes);
    hashes.iter_mut().for_each(|hash| *hash = hash_u64(*hash ^ seed));
    hashes
}

fn tag(hash: u64) -> u64 {
    hash >> INDEX_BITS << INDEX_BITS
}

/// The index of the value with this hash that is the `same`, or else the slot where it would be.
fn find(slots: &[u64], hash: u64, same: impl Fn(usize) -> bool) -> Result<usize, usize> {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    loop {
        let slot = slots[at];
        if slot == 0 {
            return Err(at);
        }
        let index = (slot & ((1 << INDEX_BITS) - 1)) as usize - 1;
        if tag(slot) == tag(hash) && same(index) {
            return Ok(index);
        }
        at = (at + 1) & mask;
    }
}

/// Bits that are equal for equal numbers.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { (number + 0.0).to_bits() }
}

fn float(vector: &Vector, row: usize) -> Option<f64> {
    match vector.physical_type() {
        PhysicalType::F32 => Some(f64::from(vector.values::<f32>()[row])),
        PhysicalType::F64 => Some(vector.values::<f64>()[row]),
        _ => None,
    }
}

fn text(vector: &Vector, row: usize) -> &[u8] {
    vector.views()[row].bytes(vector.heap().buffers())
}

fn equal(left: &Vector, i: usize, right: &Vector, j: usize) -> bool {
    if left.physical_type() == PhysicalType::View {
        return text(left, i) == text(right, j);
    }
    match (float(left, i), float(right, j)) {
        (Some(left), Some(right)) => bits(left) == bits(right),
        _ => left.stored_i128(i) == right.stored_i128(j),
    }
}

fn order(values: &Vector, i: usize, j: usize) -> Ordering {
    if values.physical_type() == PhysicalType::View {
        return text(values, i).cmp(text(values, j));
    }
    match (float(values, i), float(values, j)) {
        // NaN is larger than all numbers.
        (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
        _ => values.stored_i128(i).cmp(&values.stored_i128(j)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(ty: LogicalType, values: &[Value]) -> ConstantList {
        ConstantList::new(&Vector::from_sql_values(ty, values).unwrap())
    }

    #[test]
    fn each_value_is_there_once() {
        let numbers: Vec<Value> = (0..5000).map(|number| Value::Integer(number % 1000)).collect();
        let list = list(LogicalType::Integer, &numbers);
        assert_eq!((list.len(), list.has_null()), (1000, false));
        assert_eq!(list.bounds(), Some((Value::Integer(0), Value::Integer(999))));
        let asked = [Value::Integer(999), Value::Integer(1000), Value::Null];
        let found = list.contains(&Vector::from_sql_values(LogicalType::Integer, &asked).unwrap(), 3);
        assert_eq!(found.get(0), Value::Boolean(true));
        assert_eq!(found.get(1), Value::Boolean(false));
        assert_eq!(found.get(2), Value::Null);
    }

    #[test]
    fn zeros_and_nans_are_equal() {
        let numbers = [0.0, -0.0, f64::NAN, -f64::NAN, 1.5].map(Value::Double);
        let list = list(LogicalType::Double, &numbers);
        assert_eq!(list.len(), 3);
        let Some((Value::Double(low), Value::Double(high))) = list.bounds() else { panic!("no bounds") };
        assert!(low == 0.0 && high.is_nan());
    }

    #[test]
    fn nothing_but_null() {
        let list = list(LogicalType::Varchar, &[Value::Null, Value::Null]);
        assert!(list.is_empty() && list.has_null());
        let asked = Vector::from_sql_values(LogicalType::Varchar, &[Value::Varchar("a".into())]).unwrap();
        assert_eq!(list.contains(&asked, 1).get(0), Value::Null);
    }

    #[test]
    fn order_does_not_matter() {
        let texts = |texts: [&str; 3]| list(LogicalType::Varchar, &texts.map(|t| Value::Varchar(t.into())));
        assert_eq!(
            texts(["a", "b", "a longer text than a view"]),
            texts(["a longer text than a view", "b", "a"])
        );
        assert_ne!(texts(["a", "b", "c"]), texts(["a", "b", "d"]));
    }
}

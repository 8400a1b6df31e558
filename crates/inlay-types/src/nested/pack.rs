//! Vectors of nested values from vectors of their parts.

use super::write::{StructPacker, push_fixed, push_map, push_sequence};
use crate::limits::Meter;
use crate::{Bitmap, Error, LogicalType, PhysicalType, Result, Vector, VectorBuilder, View};

/// Rows of a vector as canonical bytes, as they lie in nested values.
pub struct Parts {
    flat: Vector,
    is_constant: bool,
    /// Rows of fixed width in canonical form, when the vector's memory is not.
    canonical: Option<Vec<u8>>,
    width: usize,
    is_view: bool,
}

impl Parts {
    /// The rows of `vector`, of any kind.
    pub fn new(vector: &Vector) -> Self {
        Self::of(vector.flatten(), false)
    }

    /// The same, with one row standing for all rows of a constant.
    pub fn steady(vector: &Vector) -> Self {
        let is_constant = vector.is_constant() && !vector.is_empty();
        let flat = if is_constant { vector.slice(0, 1).flatten() } else { vector.flatten() };
        Self::of(flat, is_constant)
    }

    fn of(flat: Vector, is_constant: bool) -> Self {
        let physical = flat.physical_type();
        let width = physical.size();
        let is_float = matches!(physical, PhysicalType::F32 | PhysicalType::F64);
        let canonical = is_float.then(|| {
            let mut out = Vec::with_capacity(flat.len() * width);
            let bytes = &flat.data().bytes()[..flat.len() * width];
            bytes.chunks_exact(width).for_each(|value| push_fixed(physical, value, &mut out));
            out
        });
        Self { is_view: physical == PhysicalType::View, flat, is_constant, canonical, width }
    }

    /// The canonical bytes of a row; `None` when it is NULL.
    #[inline]
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let row = if self.is_constant { 0 } else { row };
        if self.flat.validity().is_some_and(|validity| !validity.get(row)) {
            return None;
        }
        if self.is_view {
            return Some(self.flat.data().typed::<View>()[row].bytes(self.flat.heap().buffers()));
        }
        let bytes = self.canonical.as_deref().unwrap_or_else(|| self.flat.data().bytes());
        Some(&bytes[row * self.width..(row + 1) * self.width])
    }

    /// Rows `from..to` as packed elements, when none of them can be NULL and all have a fixed width.
    fn run(&self, from: usize, to: usize) -> Option<&[u8]> {
        if self.flat.validity().is_some() || self.is_view {
            return None;
        }
        let bytes = self.canonical.as_deref().unwrap_or_else(|| self.flat.data().bytes());
        Some(&bytes[from * self.width..to * self.width])
    }
}

fn rows(offsets: &[u32]) -> usize {
    offsets.len().saturating_sub(1)
}

fn check(fits: bool) -> Result<()> {
    if fits { Ok(()) } else { Err(Error::internal("parts of nested values do not fit together")) }
}

/// Packs row by row; `one` appends the bytes of a row that is not NULL.
fn build(
    ty: &LogicalType,
    len: usize,
    validity: Option<&Bitmap>,
    mut one: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty.clone(), len);
    let (mut scratch, mut meter) = (Vec::new(), Meter::of_rows());
    for row in 0..len {
        if validity.is_some_and(|v| !v.get(row)) {
            builder.push_null();
            continue;
        }
        scratch.clear();
        one(row, &mut scratch)?;
        meter.add(scratch.len())?;
        builder.push_from(&mut scratch);
    }
    Ok(builder.finish().holding(meter.finish()))
}

/// Lists, or arrays, of type `ty`: row `i` holds the elements `offsets[i] .. offsets[i + 1]` of `child`.
pub fn pack_lists(
    ty: &LogicalType,
    child: &Vector,
    offsets: &[u32],
    validity: Option<&Bitmap>,
) -> Result<Vector> {
    let (LogicalType::List(element) | LogicalType::Array(element, _)) = ty else {
        return Err(Error::internal(format!("lists packed as {ty}")));
    };
    check(
        element.physical() == child.physical_type()
            && offsets.last().is_none_or(|&end| end as usize <= child.len()),
    )?;
    let parts = Parts::new(child);
    if parts.run(0, 0).is_some() {
        return pack_runs(ty, &parts, offsets, validity);
    }
    build(ty, rows(offsets), validity, |row, out| {
        let (from, to) = (offsets[row] as usize, offsets[row + 1] as usize);
        check(from <= to)?;
        push_sequence(element, to - from, |index| parts.get(from + index), out)
    })
}

/// Lists of elements of fixed width without NULLs.
fn pack_runs(ty: &LogicalType, parts: &Parts, offsets: &[u32], validity: Option<&Bitmap>) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty.clone(), rows(offsets));
    let mut meter = Meter::of_rows();
    for row in 0..rows(offsets) {
        let (from, to) = (offsets[row] as usize, offsets[row + 1] as usize);
        check(from <= to)?;
        match parts.run(from, to) {
            Some(run) if validity.is_none_or(|validity| validity.get(row)) => {
                let count = i32::try_from(to - from);
                let count =
                    count.map_err(|_| Error::out_of_range("a list has more than 2,147,483,647 elements"))?;
                meter.add(run.len())?;
                builder.push_pair(&count.to_le_bytes(), run);
            }
            _ => builder.push_null(),
        }
    }
    Ok(builder.finish().holding(meter.finish()))
}

/// Structs of type `ty` from one vector per field, of `len` rows each.
pub fn pack_struct(
    ty: &LogicalType,
    children: &[&Vector],
    len: usize,
    validity: Option<&Bitmap>,
) -> Result<Vector> {
    let LogicalType::Struct(fields) = ty else {
        return Err(Error::internal(format!("structs packed as {ty}")));
    };
    check(fields.len() == children.len() && children.iter().all(|child| child.len() >= len))?;
    let parts: Vec<Parts> = children.iter().map(|child| Parts::new(child)).collect();
    let packer = StructPacker::new(fields);
    build(ty, len, validity, |row, out| packer.push(|index| parts[index].get(row), out))
}

/// Maps of type `ty`: row `i` holds the pairs `offsets[i] .. offsets[i + 1]`. A key that is NULL or occurs twice in a map
/// is an error.
pub fn pack_maps(
    ty: &LogicalType,
    keys: &Vector,
    values: &Vector,
    offsets: &[u32],
    validity: Option<&Bitmap>,
) -> Result<Vector> {
    let LogicalType::Map(types) = ty else { return Err(Error::internal(format!("maps packed as {ty}"))) };
    let end = offsets.last().map_or(0, |&end| end as usize);
    check(end <= keys.len() && end <= values.len())?;
    let (keys, values) = (Parts::new(keys), Parts::new(values));
    let mut seen = std::collections::HashSet::new();
    build(ty, rows(offsets), validity, |row, out| {
        let (from, to) = (offsets[row] as usize, offsets[row + 1] as usize);
        check(from <= to)?;
        seen.clear();
        for index in from..to {
            let Some(key) = keys.get(index) else {
                return Err(Error::invalid_argument("a key of a MAP is NULL"));
            };
            if !seen.insert(key.to_vec()) {
                let shown = super::read::value(&types.0, key);
                return Err(Error::invalid_argument(format!(
                    "the key {shown} occurs more than once in a MAP"
                )));
            }
        }
        push_map(types, to - from, |i| keys.get(from + i), |i| values.get(from + i), out)
    })
}

/// Unions of type `ty`: row `i` holds row `i` of the child of member `tags[i]`.
pub fn pack_unions(
    ty: &LogicalType,
    tags: &[u8],
    children: &[&Vector],
    validity: Option<&Bitmap>,
) -> Result<Vector> {
    let LogicalType::Union(members) = ty else {
        return Err(Error::internal(format!("unions packed as {ty}")));
    };
    check(members.len() == children.len() && children.iter().all(|child| child.len() >= tags.len()))?;
    let parts: Vec<Parts> = children.iter().map(|child| Parts::new(child)).collect();
    build(ty, tags.len(), validity, |row, out| {
        let member = parts.get(usize::from(tags[row]));
        let member = member.ok_or_else(|| Error::internal("a UNION has no such member"))?;
        let value = member.get(row);
        out.extend_from_slice(&[tags[row], u8::from(value.is_some())]);
        out.extend_from_slice(value.unwrap_or_default());
        Ok(())
    })
}

//! Vectors of nested values from vectors of their parts.

use super::columns;
use super::write::{StructPacker, push_fixed, push_map, push_sequence};
use crate::append::push_short;
use crate::limits::{self, Meter};
use crate::{Bitmap, Buffer, Error, LogicalType, PhysicalType, Result, Vector, VectorBuilder, View};

/// Rows of a vector as canonical bytes, as they lie in nested values.
pub struct Parts {
    flat: Vector,
    is_constant: bool,
    has_nulls: bool,
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
        let has_nulls = flat.validity().is_some_and(|validity| !validity.all());
        Self { is_view: physical == PhysicalType::View, flat, is_constant, has_nulls, canonical, width }
    }

    /// Whether some row is NULL.
    pub(super) fn has_nulls(&self) -> bool {
        self.has_nulls
    }

    /// Whether a row is not NULL.
    #[inline]
    pub fn is_valid(&self, row: usize) -> bool {
        let row = if self.is_constant { 0 } else { row };
        !self.has_nulls || self.flat.validity().is_none_or(|validity| validity.get(row))
    }

    /// The rows of a vector of views.
    pub(super) fn texts(&self) -> Option<Texts<'_>> {
        let validity = self.flat.validity().filter(|_| self.has_nulls);
        let heap = self.flat.heap().buffers();
        self.is_view.then(|| Texts {
            views: self.flat.views(),
            heap,
            validity,
            is_constant: self.is_constant,
        })
    }

    /// Rows of fixed width, back to back in canonical form.
    fn fixed(&self) -> &[u8] {
        self.canonical.as_deref().unwrap_or_else(|| self.flat.data().bytes())
    }

    /// Copies each row that is not NULL to `offset` behind its start.
    pub(super) fn scatter(&self, offset: usize, width: usize, starts: &[u32], out: &mut [u8]) {
        match width {
            1 => self.scatter_of::<1>(offset, starts, out),
            2 => self.scatter_of::<2>(offset, starts, out),
            4 => self.scatter_of::<4>(offset, starts, out),
            8 => self.scatter_of::<8>(offset, starts, out),
            _ => self.scatter_of::<16>(offset, starts, out),
        }
    }

    fn scatter_of<const N: usize>(&self, offset: usize, starts: &[u32], out: &mut [u8]) {
        let values = self.fixed().as_chunks::<N>().0;
        let mut put = |start: u32, value: &[u8; N]| {
            let at = start as usize + offset;
            out[at..at + N].copy_from_slice(value);
        };
        match (self.is_constant, self.has_nulls) {
            (true, true) => {}
            (true, false) => starts.iter().for_each(|&start| put(start, &values[0])),
            (false, false) => starts.iter().zip(values).for_each(|(&start, value)| put(start, value)),
            (false, true) => {
                for (row, (&start, value)) in starts.iter().zip(values).enumerate() {
                    if self.is_valid(row) {
                        put(start, value);
                    }
                }
            }
        }
    }

    /// The canonical bytes of a row; `None` when it is NULL.
    #[inline]
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let row = if self.is_constant { 0 } else { row };
        if self.has_nulls && self.flat.validity().is_some_and(|validity| !validity.get(row)) {
            return None;
        }
        if self.is_view {
            return Some(self.flat.data().typed::<View>()[row].bytes(self.flat.heap().buffers()));
        }
        Some(&self.fixed()[row * self.width..(row + 1) * self.width])
    }
}

/// The rows of a vector of views, in place.
#[derive(Clone, Copy)]
pub(super) struct Texts<'a> {
    views: &'a [View],
    heap: &'a [Buffer],
    validity: Option<&'a Bitmap>,
    is_constant: bool,
}

impl<'a> Texts<'a> {
    /// Calls `f` with each of `len` rows that is not NULL.
    #[inline(always)]
    pub(super) fn each(&self, len: usize, mut f: impl FnMut(usize, &'a [u8])) {
        if self.is_constant {
            let is_null = self.validity.is_some_and(|validity| !validity.get(0));
            if let Some(view) = self.views.first().filter(|_| !is_null) {
                let bytes = view.bytes(self.heap);
                (0..len).for_each(|row| f(row, bytes));
            }
            return;
        }
        for (row, view) in self.views[..len].iter().enumerate() {
            if self.validity.is_none_or(|validity| validity.get(row)) {
                f(row, view.bytes(self.heap));
            }
        }
    }

    /// Bytes of `len` rows, or more: texts in the place of NULLs count.
    pub(super) fn size(&self, len: usize) -> usize {
        match (self.is_constant, self.views.first()) {
            (true, Some(view)) => view.len().saturating_mul(len),
            _ => self.views[..len].iter().map(View::len).sum(),
        }
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
    let mut meter = Meter::of_rows();
    for row in 0..len {
        if validity.is_some_and(|v| !v.get(row)) {
            builder.push_null();
            continue;
        }
        meter.add(builder.push_with(|out| one(row, out))?)?;
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
            && offsets.last().is_none_or(|&end| end as usize <= child.len())
            && offsets.is_sorted(),
    )?;
    if matches!(child.physical_type(), PhysicalType::F32 | PhysicalType::F64) {
        // Floats are written anew, as zero and NaN have one form there.
        limits::need(child.len().saturating_mul(child.physical_type().size()))?;
    }
    let parts = Parts::new(child);
    if !parts.has_nulls
        && let Some(made) = pack_runs(ty, &parts, offsets, validity)?
    {
        return Ok(made);
    }
    build(ty, rows(offsets), validity, |row, out| {
        let (from, to) = (offsets[row] as usize, offsets[row + 1] as usize);
        push_sequence(element, to - from, |index| parts.get(from + index), out)
    })
}

/// Bytes of lists at most that are packed into one piece of memory.
const RUNS_SIZE_MAX: usize = 1 << 28;

/// Lists of elements without NULLs; `None` if they are too many bytes for one piece of memory.
fn pack_runs(
    ty: &LogicalType,
    parts: &Parts,
    offsets: &[u32],
    validity: Option<&Bitmap>,
) -> Result<Option<Vector>> {
    let len = rows(offsets);
    let (first, last) =
        (offsets.first().map_or(0, |&at| at as usize), offsets.last().map_or(0, |&at| at as usize));
    let texts = parts.texts();
    // Rows that are NULL may have elements, which are left out.
    let size = match &texts {
        Some(texts) => 4 * (last - first) + texts.views[first..last].iter().map(View::len).sum::<usize>(),
        None => parts.width * (last - first),
    };
    let total = size.saturating_add(4 * len);
    if total > RUNS_SIZE_MAX {
        return Ok(None);
    }
    let held = limits::hold(total)?;
    let (mut bytes, mut starts) = (Vec::new(), Vec::with_capacity(len + 1));
    limits::grow_counted(&mut bytes, total)?;
    starts.push(0);
    let fixed = parts.fixed();
    if let (None, 4 | 8) = (&texts, parts.width) {
        bytes.resize(total, 0);
        if parts.width == 4 {
            write_runs::<4>(fixed.as_chunks().0, offsets, validity, &mut bytes, &mut starts);
        } else {
            write_runs::<8>(fixed.as_chunks().0, offsets, validity, &mut bytes, &mut starts);
        }
        bytes.truncate(starts[len] as usize);
        return Ok(Some(columns::vector(ty, bytes, &starts, validity).holding(held)));
    }
    for row in 0..len {
        let (from, to) = (offsets[row] as usize, offsets[row + 1] as usize);
        if validity.is_none_or(|validity| validity.get(row)) {
            bytes.extend_from_slice(&((to - from) as u32).to_le_bytes());
            match &texts {
                None => push_short(&mut bytes, &fixed[from * parts.width..to * parts.width]),
                Some(texts) => {
                    let mut end = 0;
                    for view in &texts.views[from..to] {
                        end += view.len() as u32;
                        bytes.extend_from_slice(&end.to_le_bytes());
                    }
                    texts.views[from..to]
                        .iter()
                        .for_each(|view| push_short(&mut bytes, view.bytes(texts.heap)));
                }
            }
        }
        starts.push(bytes.len() as u32);
    }
    Ok(Some(columns::vector(ty, bytes, &starts, validity).holding(held)))
}

/// Writes lists of elements of `W` bytes, which are `values`, one behind the other, and adds where each ends.
fn write_runs<const W: usize>(
    values: &[[u8; W]],
    offsets: &[u32],
    validity: Option<&Bitmap>,
    bytes: &mut [u8],
    starts: &mut Vec<u32>,
) {
    const FEW: usize = 4;
    let mut at = 0;
    for (row, ends) in offsets.windows(2).enumerate() {
        if validity.is_none_or(|validity| validity.get(row)) {
            let (from, to) = (ends[0] as usize, ends[1] as usize);
            let (header, rest) = bytes[at..].split_at_mut(4);
            header.copy_from_slice(&((to - from) as u32).to_le_bytes());
            let targets = rest.as_chunks_mut::<W>().0;
            // Few elements are copied as four, whatever they are: what is behind them is written by the next rows.
            match (values[from..].first_chunk::<FEW>(), targets.first_chunk_mut::<FEW>()) {
                (Some(four), Some(target)) if to - from <= FEW => *target = *four,
                (Some(_) | None, Some(_) | None) => targets[..to - from].copy_from_slice(&values[from..to]),
            }
            at += 4 + W * (to - from);
        }
        starts.push(at as u32);
    }
}

/// Lists, or arrays, of type `ty` of one element of each vector, of `len` rows each.
pub fn pack_elements(ty: &LogicalType, elements: &[&Vector], len: usize) -> Result<Vector> {
    let (LogicalType::List(element) | LogicalType::Array(element, _)) = ty else {
        return Err(Error::internal(format!("lists packed as {ty}")));
    };
    check(elements.iter().all(|one| one.len() >= len && one.physical_type() == element.physical()))?;
    let parts: Vec<Parts> = elements.iter().map(|one| Parts::steady(one)).collect();
    if let Some(made) = columns::lists(ty, &parts, len)? {
        return Ok(made);
    }
    build(ty, len, None, |row, out| push_sequence(element, parts.len(), |index| parts[index].get(row), out))
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
    check(fields.iter().zip(children).all(|(field, child)| field.ty.physical() == child.physical_type()))?;
    // Where each begins, and ends.
    limits::need(len.saturating_mul(4 * size_of::<u32>()))?;
    let parts: Vec<Parts> = children.iter().map(|child| Parts::steady(child)).collect();
    if let Some(made) = columns::structs(ty, &parts, len, validity)? {
        return Ok(made);
    }
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
    let mut seen: std::collections::HashSet<&[u8]> = std::collections::HashSet::new();
    build(ty, rows(offsets), validity, |row, out| {
        let (from, to) = (offsets[row] as usize, offsets[row + 1] as usize);
        check(from <= to)?;
        seen.clear();
        limits::need((to - from).saturating_mul(3 * size_of::<&[u8]>()))?;
        seen.reserve(to - from);
        for index in from..to {
            let Some(key) = keys.get(index) else {
                return Err(Error::invalid_argument("a key of a MAP is NULL"));
            };
            if !seen.insert(key) {
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

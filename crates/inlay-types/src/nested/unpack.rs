//! Vectors of the parts of nested values. Strings in them are views into the heap of the nested vector.

use super::read::{Sequence, StructLayout, map_parts, union_parts};
use super::{FieldRows, StructRows, fixed, fixed_width};
use crate::view::INLINE_LIMIT;
use crate::{Bitmap, Buffer, Error, Heap, LogicalType, Reservation, Result, Vector, View, limits};

/// Where the bytes of one nested value lie, so that views of its parts can be made.
#[derive(Clone, Copy)]
struct Row<'a> {
    bytes: &'a [u8],
    view: View,
}

impl Row<'_> {
    /// The view of a part of this value's bytes.
    #[inline]
    fn view_of(&self, part: &[u8]) -> View {
        if part.len() <= INLINE_LIMIT {
            return View::inline(part);
        }
        let inside = part.as_ptr() as usize - self.bytes.as_ptr() as usize;
        View::new(part, self.view.buffer(), self.view.offset() + inside as u32)
    }
}

/// The rows of a flat vector.
struct Rows<'a> {
    views: &'a [View],
    heap: &'a [Buffer],
}

impl<'a> Rows<'a> {
    fn of(flat: &'a Vector) -> Self {
        Self { views: flat.views(), heap: flat.heap().buffers() }
    }

    #[inline]
    fn get(&self, index: usize) -> Row<'a> {
        let view = &self.views[index];
        Row { bytes: view.bytes(self.heap), view: *view }
    }
}

/// A vector being made of parts.
struct Builder {
    ty: LogicalType,
    width: Option<usize>,
    /// Values of fixed width, or views.
    raw: Vec<u8>,
    views: Vec<View>,
    nulls: Vec<u32>,
    len: usize,
    held: Option<Reservation>,
}

impl Builder {
    /// A vector of `parts` parts, for which memory is asked first: the values of few lists may be many.
    fn new(ty: &LogicalType, parts: usize) -> Result<Self> {
        let width = fixed_width(ty);
        let size = parts.saturating_mul(width.unwrap_or(size_of::<View>()));
        // What has a fixed width is copied into aligned memory at the end.
        let held = limits::hold(size.saturating_mul(2))?;
        let (mut raw, mut views) = (Vec::new(), Vec::new());
        match width {
            Some(_) => limits::grow_counted(&mut raw, size)?,
            None => limits::grow_counted(&mut views, parts)?,
        }
        Ok(Self { ty: ty.clone(), width, raw, views, nulls: Vec::new(), len: 0, held })
    }

    #[inline]
    fn push(&mut self, row: Row<'_>, part: Option<&[u8]>) {
        match (self.width, part) {
            (Some(width), Some(part)) => {
                let size = part.len().min(width);
                self.raw.extend_from_slice(&part[..size]);
                self.raw.resize(self.raw.len() + width - size, 0);
            }
            (None, Some(part)) => self.views.push(row.view_of(part)),
            (Some(width), None) => self.raw.resize(self.raw.len() + width, 0),
            (None, None) => self.views.push(View::EMPTY),
        }
        if part.is_none() {
            self.nulls.push(self.len as u32);
        }
        self.len += 1;
    }

    fn push_all(&mut self, row: Row<'_>, sequence: Sequence<'_>) {
        if sequence.has_no_nulls() {
            match sequence.fixed() {
                Some(run) => self.raw.extend_from_slice(run),
                None => {
                    let views = (0..sequence.len()).map(|index| row.view_of(sequence.bytes(index)));
                    self.views.extend(views);
                }
            }
            self.len += sequence.len();
            return;
        }
        (0..sequence.len()).for_each(|index| self.push(row, sequence.get(index)));
    }

    /// The vector; `heap` is that of the nested vector.
    fn finish(self, heap: &Heap) -> Vector {
        let validity = (!self.nulls.is_empty()).then(|| {
            let mut validity = Bitmap::filled(self.len, true);
            self.nulls.iter().for_each(|&row| validity.set(row as usize, false));
            validity
        });
        let (mut data, heap) = match self.width {
            Some(_) => (Buffer::copy_of(&self.raw), Heap::default()),
            None => (Buffer::from_vec(self.views), heap.clone()),
        };
        if let Some(mut held) = self.held {
            // Half of it was for what goes now.
            if held.resize(held.bytes() / 2).is_ok() {
                data = data.holding(held);
            }
        }
        Vector::flat(self.ty, self.len, data, validity, heap)
    }
}

/// All elements of all lists or arrays, and where those of each row begin: `len + 1` offsets. NULL has no elements.
pub fn unpack_lists(lists: &Vector) -> Result<(Vector, Vec<u32>)> {
    let (LogicalType::List(element) | LogicalType::Array(element, _)) = lists.ty() else {
        return Err(Error::internal(format!("{} unpacked as lists", lists.ty())));
    };
    let flat = lists.flatten();
    let rows = Rows::of(&flat);
    let width = fixed_width(element);
    let held = match width {
        Some(_) => limits::hold(flat.text_size())?,
        None => None,
    };
    if let Some(unpacked) = width.and_then(|width| fixed::elements(&flat, element, width)) {
        let (child, offsets) = unpacked?;
        return Ok((child.holding(held), offsets));
    }
    drop(held);
    let mut offsets = Vec::with_capacity(flat.len() + 1);
    offsets.push(0);
    let counts = (0..flat.len()).filter(|&index| !flat.is_null(index));
    let parts = counts.map(|index| Sequence::new(element, rows.get(index).bytes).len()).sum::<usize>();
    let mut child = Builder::new(element, parts)?;
    for index in 0..flat.len() {
        if !flat.is_null(index) {
            let row = rows.get(index);
            child.push_all(row, Sequence::new(element, row.bytes));
        }
        offsets.push(super::write::size(child.len)?);
    }
    Ok((child.finish(flat.heap()), offsets))
}

/// All keys, all values, and where the pairs of each row begin: `len + 1` offsets.
pub fn unpack_maps(maps: &Vector) -> Result<(Vector, Vector, Vec<u32>)> {
    let LogicalType::Map(types) = maps.ty() else {
        return Err(Error::internal(format!("{} unpacked as maps", maps.ty())));
    };
    let flat = maps.flatten();
    let rows = Rows::of(&flat);
    let counts = (0..flat.len()).filter(|&index| !flat.is_null(index));
    let parts = counts.map(|index| map_parts(types, rows.get(index).bytes).0.len()).sum::<usize>();
    let (mut keys, mut values) = (Builder::new(&types.0, parts)?, Builder::new(&types.1, parts)?);
    let mut offsets = Vec::with_capacity(flat.len() + 1);
    offsets.push(0);
    for index in 0..flat.len() {
        if !flat.is_null(index) {
            let row = rows.get(index);
            let (k, v) = map_parts(types, row.bytes);
            for pair in 0..k.len().min(v.len()) {
                keys.push(row, k.get(pair));
                values.push(row, v.get(pair));
            }
        }
        offsets.push(super::write::size(keys.len)?);
    }
    Ok((keys.finish(flat.heap()), values.finish(flat.heap()), offsets))
}

/// One element of each list or array: `choose` gives its index from a row and the number of elements. NULL where the list
/// is NULL or `choose` gives none.
pub fn extract_elements(
    lists: &Vector,
    mut choose: impl FnMut(usize, usize) -> Option<usize>,
) -> Result<Vector> {
    let (LogicalType::List(element) | LogicalType::Array(element, _)) = lists.ty() else {
        return Err(Error::internal(format!("an element of {}", lists.ty())));
    };
    let flat = lists.flatten();
    let rows = Rows::of(&flat);
    if let Some(width) = fixed_width(element) {
        return Ok(fixed::element(&flat, element, width, &mut choose));
    }
    let mut child = Builder::new(element, flat.len())?;
    for at in 0..flat.len() {
        let row = rows.get(at);
        let sequence = Sequence::new(element, row.bytes);
        let chosen = if flat.is_null(at) { None } else { choose(at, sequence.len()) };
        child.push(row, chosen.filter(|&index| index < sequence.len()).and_then(|index| sequence.get(index)));
    }
    Ok(child.finish(flat.heap()))
}

/// Field `index` of each struct; NULL where the struct is.
pub fn extract_field(structs: &Vector, index: usize) -> Result<Vector> {
    let LogicalType::Struct(fields) = structs.ty() else {
        return Err(Error::internal(format!("a field of {}", structs.ty())));
    };
    let Some(field) = fields.get(index) else {
        return Err(Error::internal(format!("field {index} of {}", structs.ty())));
    };
    let layout = StructLayout::new(fields);
    let flat = structs.flatten();
    let rows = Rows::of(&flat);
    if let Some((offset, width)) = layout.fixed(index) {
        return Ok(fixed::field(&flat, &field.ty, index, offset, width));
    }
    let mut child = Builder::new(&field.ty, flat.len())?;
    for at in 0..flat.len() {
        let row = rows.get(at);
        child.push(row, if flat.is_null(at) { None } else { layout.field(row.bytes, index) });
    }
    Ok(child.finish(flat.heap()))
}

/// One vector per field.
pub fn unpack_struct(structs: &Vector) -> Result<Vec<Vector>> {
    let LogicalType::Struct(fields) = structs.ty() else {
        return Err(Error::internal(format!("{} unpacked as structs", structs.ty())));
    };
    (0..fields.len()).map(|index| extract_field(structs, index)).collect()
}

/// Structs field by field, with those inside of them.
pub fn unpack_rows(structs: &Vector) -> Result<StructRows> {
    let rows = |field: Vector| {
        let is_struct = matches!(field.ty(), LogicalType::Struct(_));
        Ok(if is_struct { FieldRows::Struct(unpack_rows(&field)?) } else { FieldRows::Vector(field) })
    };
    let fields = unpack_struct(structs)?.into_iter().map(rows).collect::<Result<_>>()?;
    let validity = structs.flatten().validity().cloned();
    Ok(StructRows { len: structs.len(), validity, fields })
}

/// The tag of each row (0 where it is NULL), and one vector per member: NULL where another member is held.
pub fn unpack_unions(unions: &Vector) -> Result<(Vec<u8>, Vec<Vector>)> {
    let LogicalType::Union(members) = unions.ty() else {
        return Err(Error::internal(format!("{} unpacked as unions", unions.ty())));
    };
    let flat = unions.flatten();
    let rows = Rows::of(&flat);
    let mut children = members
        .iter()
        .map(|member| Builder::new(&member.ty, flat.len()))
        .collect::<Result<Vec<Builder>>>()?;
    let mut tags = Vec::with_capacity(flat.len());
    for index in 0..flat.len() {
        let row = rows.get(index);
        let (tag, part) = if flat.is_null(index) { (0, None) } else { union_parts(row.bytes) };
        if usize::from(tag) >= children.len() {
            return Err(Error::internal(format!("a value of member {tag} of {}", unions.ty())));
        }
        for (member, child) in children.iter_mut().enumerate() {
            child.push(row, part.filter(|_| member == usize::from(tag)));
        }
        tags.push(tag);
    }
    Ok((tags, children.into_iter().map(|child| child.finish(flat.heap())).collect()))
}

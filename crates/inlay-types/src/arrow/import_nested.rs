//! A host's lists, structs, maps and unions, packed for the rows asked for.

use super::field::ArrowType;
use super::import::{ArrowColumn, Rows, malformed};
use crate::nested::{pack_lists, pack_maps, pack_struct, pack_unions};
use crate::{Error, Native, Result, Vector};

/// Where the elements of some rows lie in the child, and where those of each row begin behind there.
type Span = (usize, Vec<u32>);

impl Rows<'_> {
    pub(super) fn nested(self) -> Result<Vector> {
        let validity = self.validity.as_ref();
        match &self.column.ty {
            ArrowType::Struct => {
                let from = self.first - self.column.shape.offset - self.column.start;
                let parts =
                    self.column.children.iter().map(|child| Ok(child.vector(from, self.len)?.flatten()));
                let parts = parts.collect::<Result<Vec<_>>>()?;
                pack_struct(&self.ty, &parts.iter().collect::<Vec<_>>(), self.len, validity)
            }
            ArrowType::List { large } => {
                let (from, offsets) = if *large { self.offsets::<i64>()? } else { self.offsets::<i32>()? };
                let child = self.elements(self.only_child()?, from, &offsets)?;
                pack_lists(&self.ty, &child, &offsets, validity)
            }
            ArrowType::FixedList(size) => {
                let size = *size as usize;
                let from = self.first.checked_mul(size).ok_or_else(|| self.column.missing())?;
                let offsets: Option<Vec<u32>> =
                    (0..=self.len).map(|row| u32::try_from(row * size).ok()).collect();
                let offsets = offsets.ok_or_else(too_many)?;
                let child = self.elements(self.only_child()?, from, &offsets)?;
                pack_lists(&self.ty, &child, &offsets, validity)
            }
            ArrowType::Map => {
                let (from, offsets) = self.offsets::<i32>()?;
                let [key, value] = self.only_child()?.children.as_slice() else {
                    return Err(self.unreadable());
                };
                let (keys, values) =
                    (self.elements(key, from, &offsets)?, self.elements(value, from, &offsets)?);
                pack_maps(&self.ty, &keys, &values, &offsets, validity)
            }
            ArrowType::Union { ids, dense } => self.union(ids, *dense),
            _ => Err(self.unreadable()),
        }
    }

    fn only_child(&self) -> Result<&ArrowColumn> {
        self.column.children.first().ok_or_else(|| self.unreadable())
    }

    fn offsets<O: Native + Into<i64>>(&self) -> Result<Span> {
        let broken = || malformed(&self.column.name, "has list offsets that are negative or not ascending");
        let shape = &self.column.shape;
        let stored = shape.values::<O>(1, self.first, self.len + 1).ok_or_else(|| self.column.missing())?;
        let stored = stored.typed::<O>();
        let base: i64 = stored[0].into();
        let from = usize::try_from(base).map_err(|_| broken())?;
        let mut offsets: Vec<u32> = Vec::with_capacity(self.len + 1);
        for &offset in &stored[..=self.len] {
            let offset: i64 = offset.into();
            let relative = offset.checked_sub(base).filter(|&relative| relative >= 0).ok_or_else(broken)?;
            let relative = u32::try_from(relative).map_err(|_| too_many())?;
            if offsets.last().is_some_and(|&last| relative < last) {
                return Err(broken());
            }
            offsets.push(relative);
        }
        Ok((from, offsets))
    }

    fn elements(&self, child: &ArrowColumn, from: usize, offsets: &[u32]) -> Result<Vector> {
        let count = offsets.last().map_or(0, |&end| end as usize);
        if from.checked_add(count).is_none_or(|end| end > child.len()) {
            return Err(malformed(&self.column.name, "has offsets behind the end of its elements"));
        }
        Ok(child.vector(from, count)?.flatten())
    }

    fn union(&self, ids: &[i8], dense: bool) -> Result<Vector> {
        // Before version 1.0 of the format there was a validity in front.
        let ids_at = self.column.shape.first_of_union(dense);
        let stored = self.column.shape.values::<i8>(ids_at, self.first, self.len);
        let stored = stored.ok_or_else(|| self.column.missing())?;
        let mut tags = Vec::with_capacity(self.len);
        for id in &stored.typed::<i8>()[..self.len] {
            let tag = ids.iter().position(|known| known == id);
            let tag =
                tag.ok_or_else(|| malformed(&self.column.name, "has a type id that its schema lacks"))?;
            tags.push(tag as u8);
        }
        let mut parts = Vec::with_capacity(self.column.children.len());
        if dense {
            let places = self.column.shape.values::<i32>(ids_at + 1, self.first, self.len);
            let places = places.ok_or_else(|| self.column.missing())?;
            for (member, child) in self.column.children.iter().enumerate() {
                parts.push(self.dense_part(child, member, &tags, &places.typed::<i32>()[..self.len])?);
            }
        } else {
            let from = self.first - self.column.shape.offset - self.column.start;
            for child in &self.column.children {
                parts.push(child.vector(from, self.len)?.flatten());
            }
        }
        pack_unions(&self.ty, &tags, &parts.iter().collect::<Vec<_>>(), None)
    }

    /// The rows of one member at their places; anything elsewhere.
    fn dense_part(&self, child: &ArrowColumn, member: usize, tags: &[u8], places: &[i32]) -> Result<Vector> {
        if child.is_empty() {
            return Ok(Vector::nulls(child.logical_type()?, self.len).flatten());
        }
        let all = child.vector(0, child.len())?;
        let mut rows = Vec::with_capacity(self.len);
        for (&tag, &place) in tags.iter().zip(places) {
            let place = if usize::from(tag) == member { place } else { 0 };
            match u32::try_from(place) {
                Ok(place) if (place as usize) < child.len() => rows.push(place),
                _ => return Err(malformed(&self.column.name, "points behind the end of a member")),
            }
        }
        Ok(all.take(&rows).flatten())
    }
}

fn too_many() -> Error {
    Error::out_of_range("more than 2^32 elements of lists at once")
}

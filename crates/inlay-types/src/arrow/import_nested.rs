//! A host's lists, structs, maps and unions, packed for the rows asked for.

use super::field::ArrowType;
use super::import::{ArrowColumn, Rows, malformed};
use crate::nested::{pack_lists, pack_maps, pack_struct, pack_unions};
use crate::{Error, Native, PhysicalType, Result, VECTOR_SIZE, Vector};
use std::ops::Range;

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
            ArrowType::ListView { large } => {
                if *large {
                    self.list_views::<i64>()
                } else {
                    self.list_views::<i32>()
                }
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

    /// Lists of which each says where its elements begin and how many they are: in any order, and some perhaps shared.
    fn list_views<O: Native + Into<i64>>(&self) -> Result<Vector> {
        let child = self.only_child()?;
        let stored = |index| {
            let stored = self.column.shape.values::<O>(index, self.first, self.len);
            stored.ok_or_else(|| self.column.missing())
        };
        let (places, sizes) = (stored(1)?, stored(2)?);
        let mut spans: Vec<Range<usize>> = Vec::with_capacity(self.len);
        let (mut offsets, mut count) = (Vec::with_capacity(self.len + 1), 0usize);
        offsets.push(0);
        for (row, (&place, &size)) in places.typed::<O>().iter().zip(sizes.typed::<O>()).enumerate() {
            let is_null = self.validity.as_ref().is_some_and(|validity| !validity.get(row));
            let (place, size): (i64, i64) = if is_null { (0, 0) } else { (place.into(), size.into()) };
            let span = usize::try_from(place).ok().zip(usize::try_from(size).ok());
            let span = span.and_then(|(from, size)| Some(from..from.checked_add(size)?));
            let span = span.filter(|span| span.end <= child.len());
            let span =
                span.ok_or_else(|| malformed(&self.column.name, "has a list view outside of its elements"))?;
            count += span.len();
            offsets.push(u32::try_from(count).map_err(|_| too_many())?);
            spans.push(span);
        }
        let elements = self.gathered(child, &spans, count)?;
        pack_lists(&self.ty, &elements, &offsets, self.validity.as_ref())
    }

    /// The `count` elements of a child that lie in some ranges of it, one after the other.
    fn gathered(&self, child: &ArrowColumn, spans: &[Range<usize>], count: usize) -> Result<Vector> {
        let filled = || spans.iter().filter(|span| !span.is_empty());
        let from = filled().map(|span| span.start).min().unwrap_or(0);
        let to = filled().map(|span| span.end).max().unwrap_or(0);
        let mut next = from;
        let in_order = filled().all(|span| std::mem::replace(&mut next, span.end) == span.start);
        if in_order {
            return Ok(child.vector(from, count)?.flatten());
        }
        // What lies close together is read for these rows; what is spread is read once for all.
        let is_close = to - from <= 2 * count + VECTOR_SIZE;
        let (source, base) = match is_close {
            true => (&child.vector(from, to - from)?.flatten(), from),
            false => (self.all_elements(child)?, 0),
        };
        let mut rows = Vec::with_capacity(count);
        for span in filled() {
            for at in span.clone() {
                rows.push(u32::try_from(at - base).map_err(|_| too_many())?);
            }
        }
        Ok(source.take(&rows))
    }

    fn all_elements(&self, child: &ArrowColumn) -> Result<&Vector> {
        if let Some(ready) = self.column.elements.get() {
            return Ok(ready);
        }
        let all = child.vector(0, child.len())?.flatten();
        // Another worker may have been first; then its elements are used by both.
        Ok(self.column.elements.get_or_init(|| all))
    }

    /// Values of runs, each for as many rows as its run has.
    pub(super) fn runs(&self) -> Result<Vector> {
        let [ends, values] = self.column.children.as_slice() else { return Err(self.unreadable()) };
        let ends_of_runs = ends.vector(0, ends.len())?;
        match ends_of_runs.physical_type() {
            PhysicalType::I16 => self.values_of_runs(ends_of_runs.values::<i16>(), values),
            PhysicalType::I32 => self.values_of_runs(ends_of_runs.values::<i32>(), values),
            PhysicalType::I64 => self.values_of_runs(ends_of_runs.values::<i64>(), values),
            _ => Err(self.unreadable()),
        }
    }

    fn values_of_runs<E: Native + Into<i64>>(&self, ends: &[E], values: &ArrowColumn) -> Result<Vector> {
        let broken =
            || malformed(&self.column.name, "has ends of runs that do not ascend, or too few of them");
        let end_of = |run: usize| {
            let end: i64 = (*ends.get(run)?).into();
            usize::try_from(end).ok()
        };
        let first_run = ends.partition_point(|&end| end.into() <= self.first as i64);
        let (mut run, mut rows) = (first_run, Vec::with_capacity(self.len));
        let mut end = end_of(run).filter(|&end| end > self.first).ok_or_else(broken)?;
        for row in self.first..self.first + self.len {
            if row == end {
                run += 1;
                end = end_of(run).filter(|&next| next > end).ok_or_else(broken)?;
            }
            rows.push(u32::try_from(run - first_run).map_err(|_| broken())?);
        }
        if run >= values.len() {
            return Err(malformed(&self.column.name, "has fewer values than runs"));
        }
        Ok(values.vector(first_run, run - first_run + 1)?.flatten().take(&rows))
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

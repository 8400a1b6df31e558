//! Overlays: a few changed rows over an immutable base, so that a small UPDATE does not encode a row group again.
//!
//! Invariants
//! - Rows ascend and are inside the base; value `i` is that of row `rows[i]`, whatever the base says of the row.
//! - The base is not an overlay itself: an overlay over an overlay is one overlay with the rows of both.
//! - An overlay has at most [`PATCHES_MAX`] rows and one in [`ROWS_PER_PATCH`]; beyond, the segment is encoded anew.
//!
//! The zone map is that of base and overlay together, so it may be wider than the values that are left. Sketches add up
//! likewise. Images hold no overlays: they are encoded before they are written.

use super::filter::Mask;
use super::prepare::{PreparedPredicate, Test};
use super::{Encoding, Segment, extract};
use crate::ZoneMap;
use crate::hyperloglog::HyperLogLog;
use crate::predicate::{Prune, SegmentPredicate};
use inlay_types::{
    Bitmap, Buffer, Error, Heap, MemoryBudget, Native, Result, Value, Vector, VectorBuilder, View,
};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// See the module documentation.
const PATCHES_MAX: usize = 4_096;
const ROWS_PER_PATCH: usize = 32;

/// Changed rows over a base.
#[derive(Debug)]
pub(super) struct Overlay {
    pub base: Arc<Segment>,
    rows: Vec<u32>,
    /// Plain; a row per changed row.
    values: Box<Segment>,
}

impl Segment {
    /// `base` with other values in `rows`, which ascend and are inside the segment; `values` has one for each. Costs
    /// by the number of changed rows, until they are so many that the segment is encoded anew.
    pub fn patched(
        base: &Arc<Segment>,
        rows: &[u32],
        values: &Vector,
        budget: &MemoryBudget,
    ) -> Result<Segment> {
        let ascend = rows.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = rows.last().is_none_or(|last| (*last as usize) < base.len);
        if !ascend || !inside || rows.len() != values.len() || values.logical_type() != base.ty {
            return Err(Error::internal("patches that do not fit their segment"));
        }
        let (under, rows, values) = match &base.encoding {
            Encoding::Patched(below) => {
                if let [row] = rows
                    && let Some(overlay) = below.with_one(*row, values, budget)?
                {
                    return overlay.into_segment(budget);
                }
                let (rows, values) = below.joined(rows, values)?;
                (&below.base, rows, values)
            }
            _ => (base, rows.to_vec(), values.clone()),
        };
        if is_many(rows.len(), base.len) {
            let mut column = under.scan(0, under.len)?;
            let hits: Vec<(usize, usize)> =
                rows.iter().enumerate().map(|(i, row)| (*row as usize, i)).collect();
            overwrite(&mut column, &hits, &values);
            return Segment::encode(&column, budget);
        }
        Overlay { base: Arc::clone(under), rows, values: Box::new(Segment::encode_plain(&values, budget)?) }
            .into_segment(budget)
    }
}

impl Overlay {
    fn into_segment(self, budget: &MemoryBudget) -> Result<Segment> {
        let (base, values) = (&self.base, &self.values);
        let nulls_below = match base.null_count {
            0 => 0,
            _ => self.rows.iter().filter(|row| base.is_null(**row as usize)).count(),
        };
        let (ty, len) = (base.ty.clone(), base.len);
        let null_count = base.null_count - nulls_below + values.null_count;
        let has_value = null_count < len;
        let ends = |of: fn(&ZoneMap) -> Option<&Value>| {
            [of(&base.zone_map), of(&values.zone_map)].into_iter().flatten().filter(move |_| has_value)
        };
        let zone_map = ZoneMap {
            min: ends(|zone| zone.min.as_ref()).min_by(|a, b| a.total_cmp(b)).cloned(),
            max: ends(|zone| zone.max.as_ref()).max_by(|a, b| a.total_cmp(b)).cloned(),
            has_null: null_count > 0,
            has_value,
        };
        let reservation = budget.reserve((self.rows.len() * 4 + size_of::<Segment>()) as u64)?;
        Ok(Segment {
            ty,
            len,
            null_count,
            validity: None,
            encoding: Encoding::Patched(self),
            zone_map,
            vector_zones: Vec::new(),
            sketch: OnceLock::new(),
            reservation,
        })
    }

    /// These patches and another one, for values of fixed width without NULLs: they are copied around the new one. `None`
    /// for others, and where so many are changed that the segment is to be encoded anew.
    fn with_one(&self, row: u32, value: &Vector, budget: &MemoryBudget) -> Result<Option<Self>> {
        let Encoding::Plain(values) = &self.values.encoding else { return Ok(None) };
        let is_simple =
            self.values.null_count == 0 && value.null_count() == 0 && !values.logical_type().is_view();
        if !is_simple || is_many(self.rows.len() + 1, self.base.len) {
            return Ok(None);
        }
        let place = self.rows.partition_point(|patched| *patched < row);
        let after = place + usize::from(self.rows.get(place) == Some(&row));
        let value = value.flatten();
        let joined = match values.physical_type().size() {
            1 => with_value::<u8>(values, place..after, &value),
            2 => with_value::<u16>(values, place..after, &value),
            4 => with_value::<u32>(values, place..after, &value),
            8 => with_value::<u64>(values, place..after, &value),
            _ => with_value::<u128>(values, place..after, &value),
        };
        let zone = &self.values.zone_map;
        let new = value.get(0);
        let widened = |end: &Option<Value>, wider: Ordering| {
            end.as_ref().map(|end| if new.total_cmp(end) == wider { new.clone() } else { end.clone() })
        };
        let zone_map = ZoneMap {
            min: widened(&zone.min, Ordering::Less),
            max: widened(&zone.max, Ordering::Greater),
            ..zone.clone()
        };
        let rows = spliced(&self.rows, place..after, row);
        let values = Segment {
            ty: self.values.ty.clone(),
            len: rows.len(),
            null_count: 0,
            validity: None,
            zone_map,
            vector_zones: Vec::new(),
            sketch: OnceLock::new(),
            reservation: budget.reserve((joined.memory_size() + size_of::<Segment>()) as u64)?,
            encoding: Encoding::Plain(joined),
        };
        Ok(Some(Self { base: Arc::clone(&self.base), rows, values: Box::new(values) }))
    }

    /// These patches and later ones together.
    fn joined(&self, rows: &[u32], values: &Vector) -> Result<(Vec<u32>, Vector)> {
        let mut builder = VectorBuilder::new(self.base.ty.clone(), self.rows.len() + rows.len());
        builder.append(&self.values.scan(0, self.rows.len())?);
        builder.append(values);
        // Later patches first among equals, so that the earlier ones are dropped.
        let mut order: Vec<(u32, u32)> =
            rows.iter().zip(self.rows.len() as u32..).map(|(r, i)| (*r, i)).collect();
        order.extend(self.rows.iter().zip(0..).map(|(row, i)| (*row, i)));
        order.sort_by_key(|(row, _)| *row);
        order.dedup_by_key(|(row, _)| *row);
        let (rows, places): (Vec<u32>, Vec<u32>) = order.into_iter().unzip();
        Ok((rows, builder.finish().take(&places)))
    }

    /// Bytes of the overlay and of its base.
    pub fn memory_size(&self) -> usize {
        self.base.memory_size() + self.values.memory_size() + self.rows.len() * 4
    }

    pub fn is_null(&self, row: usize) -> bool {
        match self.rows.binary_search(&(row as u32)) {
            Ok(patch) => self.values.is_null(patch),
            Err(_) => self.base.is_null(row),
        }
    }

    pub fn get(&self, row: usize) -> Value {
        match self.rows.binary_search(&(row as u32)) {
            Ok(patch) => self.values.get(patch),
            Err(_) => self.base.get(row),
        }
    }

    /// Numbers of the patches inside `rows`.
    fn patches(&self, rows: Range<usize>) -> Range<usize> {
        part(&self.rows, rows)
    }

    pub fn scan_into(&self, start: usize, len: usize, out: &mut Vector) -> Result<()> {
        self.base.scan_into(start, len, out)?;
        let hits: Vec<(usize, usize)> = self
            .patches(start..start + len)
            .map(|patch| (self.rows[patch] as usize - start, patch))
            .collect();
        self.overwrite(out, &hits)
    }

    pub fn gather_into(&self, rows: &[u32], out: &mut Vector) -> Result<()> {
        self.base.gather_into(rows, out)?;
        let mut patches = self.rows.iter().enumerate().peekable();
        let mut hits = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            while patches.next_if(|(_, patched)| *patched < row).is_some() {}
            match patches.peek() {
                Some((patch, patched)) if *patched == row => hits.push((place, *patch)),
                Some(_) => {}
                None => break,
            }
        }
        self.overwrite(out, &hits)
    }

    fn overwrite(&self, out: &mut Vector, hits: &[(usize, usize)]) -> Result<()> {
        if !hits.is_empty() {
            overwrite(out, hits, &self.values.scan(0, self.rows.len())?);
        }
        Ok(())
    }

    /// The rows of a field, by the positions that lead to it; `None` if those of the base are packed.
    pub fn field(&self, path: &[usize], budget: &MemoryBudget) -> Result<Option<Arc<Segment>>> {
        let Some(base) = self.base.field(path, budget)? else { return Ok(None) };
        let values = extract(&self.values.scan(0, self.rows.len())?, path)?;
        Ok(Some(Arc::new(Segment::patched(&base, &self.rows, &values, budget)?)))
    }

    pub fn sketch(&self) -> Result<HyperLogLog> {
        let mut sketch = self.base.sketch()?.clone();
        sketch.merge(self.values.sketch()?);
        Ok(sketch)
    }

    /// The predicate for the base, and the patched rows that satisfy it.
    pub fn test(&self, predicate: &SegmentPredicate) -> Result<Test> {
        let mut hits = Vec::new();
        self.values.filter(predicate, 0..self.rows.len(), None, &mut hits)?;
        hits.iter_mut().for_each(|hit| *hit = self.rows[*hit as usize]);
        let base = self.base.prepare(predicate)?;
        Ok(match &base.test {
            Test::Never if hits.is_empty() => Test::Never,
            Test::Everything if hits.len() == self.rows.len() => Test::Everything,
            _ => Test::Patched { base: Box::new(base), hits },
        })
    }

    pub fn and_mask(
        &self,
        base: &PreparedPredicate,
        hits: &[u32],
        index: usize,
        mask: &mut Mask,
    ) -> Result<()> {
        let before = mask.words;
        self.base.and_pruned(base, index, mask)?;
        let rows = mask.start..mask.start + mask.len;
        for row in &self.rows[self.patches(rows.clone())] {
            let row = *row as usize - mask.start;
            mask.words[row / 64] &= !(1 << (row % 64));
        }
        for row in &hits[part(hits, rows)] {
            let row = *row as usize - mask.start;
            mask.words[row / 64] |= before[row / 64] & 1 << (row % 64);
        }
        Ok(())
    }

    pub fn select_rows(
        &self,
        base: &PreparedPredicate,
        hits: &[u32],
        rows: &[u32],
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let mut kept = Vec::new();
        self.base.select_rows(base, rows, &mut kept)?;
        kept.retain(|row| self.rows.binary_search(row).is_err());
        kept.extend(hits.iter().filter(|hit| rows.binary_search(hit).is_ok()));
        kept.sort_unstable();
        out.append(&mut kept);
        Ok(())
    }

    pub fn prune_vector(&self, index: usize, base: &PreparedPredicate, hits: &[u32]) -> Prune {
        let rows = self.base.vector_rows(index);
        let (patches, hits) = (self.patches(rows.clone()).len(), part(hits, rows).len());
        with_patches(self.base.prune_vector(index, base), patches, hits)
    }

    pub fn prune(&self, base: &PreparedPredicate, hits: &[u32]) -> Prune {
        with_patches(self.base.prune_prepared(base), self.rows.len(), hits.len())
    }
}

/// Whether so many of a segment's rows are changed that it is to be encoded anew.
fn is_many(patches: usize, rows: usize) -> bool {
    patches > PATCHES_MAX || patches * ROWS_PER_PATCH > rows
}

/// `list` with `value` in the place of those at `gone`.
fn spliced<T: Copy>(list: &[T], gone: Range<usize>, value: T) -> Vec<T> {
    let mut spliced = Vec::with_capacity(list.len() + 1);
    spliced.extend_from_slice(&list[..gone.start]);
    spliced.push(value);
    spliced.extend_from_slice(&list[gone.end..]);
    spliced
}

/// Flat values of which the first of `value` takes the place of those at `gone`.
fn with_value<T: Native>(values: &Vector, gone: Range<usize>, value: &Vector) -> Vector {
    let joined = spliced(values.values::<T>(), gone, value.values::<T>()[0]);
    Vector::flat(values.logical_type(), joined.len(), Buffer::from_vec(joined), None, Heap::default())
}

/// What holds of rows of which the base says `verdict` and `hits` of `patches` patched ones qualify.
fn with_patches(verdict: Prune, patches: usize, hits: usize) -> Prune {
    match verdict {
        Prune::None if hits == 0 => Prune::None,
        Prune::All if hits == patches => Prune::All,
        _ => Prune::Some,
    }
}

/// Places of those of `sorted` that are inside `rows`.
fn part(sorted: &[u32], rows: Range<usize>) -> Range<usize> {
    let place = |row: usize| sorted.partition_point(|r| (*r as usize) < row);
    place(rows.start)..place(rows.end)
}

/// Makes `out` flat and puts value `from` of `values` at row `to`, for each `(to, from)`.
fn overwrite(out: &mut Vector, hits: &[(usize, usize)], values: &Vector) {
    let values = values.flatten();
    let mut flat = out.flatten();
    let mut validity = flat.validity().cloned();
    if validity.is_some() || hits.iter().any(|(_, from)| values.is_null(*from)) {
        let mut bits = validity.unwrap_or_else(|| Bitmap::filled(flat.len(), true));
        hits.iter().for_each(|(to, from)| bits.set(*to, !values.is_null(*from)));
        validity = Some(bits);
    }
    match flat.physical_type().size() {
        1 => put::<u8>(&mut flat, hits, &values),
        2 => put::<u16>(&mut flat, hits, &values),
        4 => put::<u32>(&mut flat, hits, &values),
        8 => put::<u64>(&mut flat, hits, &values),
        _ if flat.logical_type().is_view() => {
            let below = flat.heap().buffers().len() as u32;
            let buffers = flat.heap().buffers().iter().chain(values.heap().buffers()).cloned().collect();
            let (source, target) = (values.views(), flat.values_mut::<View>());
            hits.iter().for_each(|(to, from)| target[*to] = source[*from].rebased(below));
            flat.set_heap(Heap::new(buffers));
        }
        _ => put::<View>(&mut flat, hits, &values),
    }
    if validity.is_some() {
        flat.set_validity(validity);
        flat.normalize_nulls();
    }
    *out = flat;
}

fn put<T: Native>(flat: &mut Vector, hits: &[(usize, usize)], values: &Vector) {
    let (source, target) = (values.values::<T>(), flat.values_mut::<T>());
    hits.iter().for_each(|(to, from)| target[*to] = source[*from]);
}

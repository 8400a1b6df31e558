//! Chooses an encoding for a column and applies it.
//!
//! In this order: a constant if all rows agree; runs if they are long; frame of reference if offsets are narrower than the values; a
//! dictionary if distinct values are few; else plain. What a dictionary would save is tried on a sample first.

use super::order::{FloatKey, KeyRange};
use super::runs::Runs;
use super::{Codes, Encoding, Segment};
use crate::zone_map::{ZoneMap, has_bounds};
use inlay_kernels::hash::hash_view;
use inlay_types::view::HeapBuilder;
use inlay_types::{
    Bitmap, Buffer, Dictionary, Heap, LogicalType, MemoryBudget, Native, PhysicalType, Result, VECTOR_SIZE,
    Value, Vector, View,
};
use std::cmp::Ordering;
use std::sync::OnceLock;

/// How much work encoding is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Copy as is: the rows will be encoded again soon.
    Plain,
    /// The best encoding.
    Best,
    /// The best encoding; a plain one may share the column's memory.
    BestShared,
}

/// Fewer rows than this are not worth a dictionary.
const DICTIONARY_ROWS_MIN: usize = 64;
/// A dictionary needs this many rows per distinct value, for strings...
const ROWS_PER_STRING: usize = 4;
/// ... and at most this many distinct values of other types, whose codes then take one byte.
const DISTINCT_NUMBERS_MAX: usize = 256;
/// Rows that are looked at before a dictionary is tried.
const SAMPLE_ROWS: usize = 2048;

/// An encoding with what was learnt on the way.
struct Encoded {
    encoding: Encoding,
    range: Option<(Value, Value)>,
    vector_zones: Vec<KeyRange>,
}

pub(super) fn encode(column: &Vector, effort: Effort, budget: &MemoryBudget) -> Result<Segment> {
    let ty = column.logical_type();
    let (len, null_count) = (column.len(), column.null_count());
    let mut validity = None;
    let encoded = if len > 0 && null_count == len {
        Encoded {
            encoding: Encoding::Constant(Vector::nulls(ty.clone(), len)),
            range: None,
            vector_zones: Vec::new(),
        }
    } else if column.is_constant() && len > 0 {
        constant(column.get(0), ty.clone(), len)?
    } else {
        validity = column.validity().filter(|_| null_count > 0).map(|v| exact_bitmap(v, len));
        let coded = match effort {
            Effort::Plain => None,
            Effort::Best | Effort::BestShared => coded(column, validity.as_ref(), budget)?,
        };
        let encoded = match coded {
            Some(encoded) => encoded,
            None => {
                let flat = column.flatten();
                let runs = match effort {
                    Effort::Plain => None,
                    Effort::Best | Effort::BestShared => Runs::of(&flat, validity.as_ref(), budget)?,
                };
                match runs {
                    Some(runs) => runs_encoded(runs),
                    None => Input { flat: &flat, validity: validity.as_ref(), effort }.encode()?,
                }
            }
        };
        validity = validity.filter(|_| !matches!(encoded.encoding, Encoding::Runs(_)));
        encoded
    };
    let range = encoded.range.filter(|_| has_bounds(&ty));
    let zone_map = ZoneMap {
        has_null: null_count > 0,
        has_value: null_count < len,
        min: range.as_ref().map(|(min, _)| min.clone()),
        max: range.map(|(_, max)| max),
    };
    let mut segment = Segment {
        ty,
        len,
        null_count,
        validity,
        encoding: encoded.encoding,
        zone_map,
        vector_zones: encoded.vector_zones,
        sketch: OnceLock::new(),
        reservation: budget.reserve(0)?,
    };
    segment.reserve_exactly()?;
    if effort != Effort::Plain {
        segment.sketch();
    }
    Ok(segment)
}

fn runs_encoded(runs: Runs) -> Encoded {
    let zone = runs.values.zone_map();
    let range = zone.min.clone().zip(zone.max.clone());
    Encoded { encoding: Encoding::Runs(runs), range, vector_zones: Vec::new() }
}

/// What codes into a dictionary of texts become without looking at every text again; `None` for other columns, and where
/// too many values are in use.
fn coded(column: &Vector, validity: Option<&Bitmap>, budget: &MemoryBudget) -> Result<Option<Encoded>> {
    let Some(dictionary) = column.as_dictionary() else { return Ok(None) };
    let (values, len) = (dictionary.values(), column.len());
    if !has_text_dictionary(column.ty()) || len < DICTIONARY_ROWS_MIN || values.len() > len * ROWS_PER_STRING
    {
        return Ok(None);
    }
    if let Some(runs) = Runs::of(column, validity, budget)? {
        return Ok(Some(runs_encoded(runs)));
    }
    const UNUSED: u32 = u32::MAX;
    let mut rank = vec![UNUSED; values.len()];
    let codes = &column.codes()[..len];
    match validity {
        None => codes.iter().for_each(|code| rank[*code as usize] = 0),
        Some(validity) => {
            let valid = codes.iter().enumerate().filter(|(row, _)| validity.get(*row));
            valid.for_each(|(_, code)| rank[*code as usize] = 0);
        }
    }
    let mut used: Vec<u32> = (0..values.len() as u32).filter(|code| rank[*code as usize] != UNUSED).collect();
    if used.is_empty() || used.len() > len / ROWS_PER_STRING {
        return Ok(None);
    }
    let (views, heap) = (values.views(), values.heap().buffers());
    let order = |a: &u32, b: &u32| views[*a as usize].compare(heap, &views[*b as usize], heap);
    // Dictionaries of segments are sorted, those that a function was applied to need not be.
    if !used.is_sorted_by(|a, b| order(a, b).is_lt()) {
        used.sort_unstable_by(order);
    }
    let (mut builder, mut copies) = (HeapBuilder::new(), Vec::<View>::with_capacity(used.len()));
    for (at, code) in used.iter().enumerate() {
        if at == 0 || order(&used[at - 1], code).is_ne() {
            copies.push(builder.push(views[*code as usize].bytes(heap)));
        }
        rank[*code as usize] = copies.len() as u32 - 1;
    }
    let ty = column.logical_type();
    let sorted = Vector::flat(ty.clone(), copies.len(), Buffer::copy_of(&copies), None, builder.finish());
    let range = (sorted.get(0), sorted.get(copies.len() - 1));
    if copies.len() == 1 && validity.is_none() {
        return constant(range.0, ty, len).map(Some);
    }
    Ok(Some(Input { flat: column, validity, effort: Effort::Best }.dictionary(sorted, codes, &rank, range)))
}

/// Whether a type's values are bytes in whose order a dictionary can be sorted, unlike nested ones and bits.
fn has_text_dictionary(ty: &LogicalType) -> bool {
    matches!(ty, LogicalType::Varchar | LogicalType::Blob | LogicalType::Json)
}

fn constant(value: Value, ty: LogicalType, len: usize) -> Result<Encoded> {
    let vector = Vector::constant(ty, &value, len)?;
    Ok(Encoded {
        encoding: Encoding::Constant(vector),
        range: Some((value.clone(), value)),
        vector_zones: Vec::new(),
    })
}

/// A copy of the first `len` bits that shares nothing and starts at bit 0.
fn exact_bitmap(bitmap: &Bitmap, len: usize) -> Bitmap {
    let mut words = bitmap.words()[..len.div_ceil(64)].to_vec();
    if let (false, Some(last)) = (len.is_multiple_of(64), words.last_mut()) {
        *last &= (1 << (len % 64)) - 1;
    }
    Bitmap::from_words(words, len)
}

/// A flat column with at least one value that is not NULL (or no rows).
struct Input<'a> {
    flat: &'a Vector,
    validity: Option<&'a Bitmap>,
    effort: Effort,
}

impl Input<'_> {
    fn encode(&self) -> Result<Encoded> {
        match self.flat.physical_type() {
            PhysicalType::Bool | PhysicalType::U8 => self.encode_integers::<u8>(),
            PhysicalType::I8 => self.encode_integers::<i8>(),
            PhysicalType::I16 => self.encode_integers::<i16>(),
            PhysicalType::I32 => self.encode_integers::<i32>(),
            PhysicalType::I64 => self.encode_integers::<i64>(),
            PhysicalType::I128 => self.encode_integers::<i128>(),
            PhysicalType::U16 => self.encode_integers::<u16>(),
            PhysicalType::U32 => self.encode_integers::<u32>(),
            PhysicalType::U64 => self.encode_integers::<u64>(),
            PhysicalType::F32 => self.encode_floats::<f32>(),
            PhysicalType::F64 => self.encode_floats::<f64>(),
            PhysicalType::View => self.encode_strings(),
            PhysicalType::U128 | PhysicalType::Interval => self.encode_others(),
        }
    }

    fn len(&self) -> usize {
        self.flat.len()
    }

    fn is_valid(&self, row: usize) -> bool {
        self.validity.is_none_or(|v| v.get(row))
    }

    fn plain(&self, range: Option<(Value, Value)>, vector_zones: Vec<KeyRange>) -> Result<Encoded> {
        let vector =
            if self.flat.logical_type().is_view() { self.plain_strings() } else { self.plain_numbers() };
        Ok(Encoded { encoding: Encoding::Plain(vector), range, vector_zones })
    }

    fn plain_numbers(&self) -> Vector {
        let (ty, len) = (self.flat.logical_type(), self.len());
        let size = len * ty.physical().size();
        let data = if self.effort == Effort::BestShared && self.flat.data().size() == size {
            self.flat.data().clone()
        } else {
            Buffer::copy_of(&self.flat.data().bytes()[..size])
        };
        let mut vector = Vector::flat(ty, len, data, self.validity.cloned(), Heap::default());
        vector.normalize_nulls();
        vector
    }

    fn plain_strings(&self) -> Vector {
        let (ty, len) = (self.flat.logical_type(), self.len());
        let heap = self.flat.heap().buffers();
        let views = self.flat.views();
        let long = |row: &usize| self.is_valid(*row) && !views[*row].is_inline();
        let needed: usize = (0..len).filter(long).map(|row| views[row].len()).sum();
        let held: usize = heap.iter().map(Buffer::size).sum();
        if self.effort == Effort::BestShared && held <= needed + needed / 16 {
            let mut vector = Vector::flat(
                ty,
                len,
                self.flat.data().clone(),
                self.validity.cloned(),
                self.flat.heap().clone(),
            );
            vector.normalize_nulls();
            return vector;
        }
        let mut builder = HeapBuilder::new();
        let copy = |row: usize| {
            let view = if self.is_valid(row) { &views[row] } else { &View::EMPTY };
            if view.is_inline() { *view } else { builder.push(view.bytes(heap)) }
        };
        let copies: Vec<View> = (0..len).map(copy).collect();
        Vector::flat(ty, len, Buffer::copy_of(&copies), self.validity.cloned(), builder.finish())
    }

    fn encode_integers<T: Integer>(&self) -> Result<Encoded> {
        let ty = self.flat.logical_type();
        let values = &self.flat.values::<T>()[..self.len()];
        let Some((min, max)) = self.integer_range(values) else { return self.plain(None, Vec::new()) };
        let sql = |v: T| Value::from_stored_i128(&ty, v.to_i128()).unwrap_or(Value::Null);
        let range = (sql(min), sql(max));
        if min == max && self.validity.is_none() && self.effort != Effort::Plain {
            return constant(range.0, ty, self.len());
        }
        let span = max.offset_from(min);
        let width = span.and_then(|span| frame_width(span, size_of::<T>()));
        if let (Some(width), true) = (width, self.effort != Effort::Plain) {
            let offset = |value: T| value.offset_from(min).unwrap_or(0);
            let offsets = self.codes(values, width, offset);
            let zones = self.zones(values, |value| offset(value) as i64);
            let encoding = Encoding::Frame { base: min.to_i128(), offsets };
            return Ok(Encoded { encoding, range: Some(range), vector_zones: zones });
        }
        if size_of::<T>() >= 8
            && let Some(encoded) = self.number_dictionary(values, |v| v.to_i128() as u128, T::cmp, &range)?
        {
            return Ok(encoded);
        }
        let zones = if T::HAS_KEY { self.zones(values, T::key) } else { Vec::new() };
        self.plain(Some(range), zones)
    }

    /// Smallest and largest value that is not NULL.
    fn integer_range<T: Integer>(&self, values: &[T]) -> Option<(T, T)> {
        let Some(validity) = self.validity else {
            let first = *values.first()?;
            return Some(values.iter().fold((first, first), |(min, max), v| (min.min(*v), max.max(*v))));
        };
        let mut range: Option<(T, T)> = None;
        for (_, value) in values.iter().enumerate().filter(|(row, _)| validity.get(*row)) {
            let (min, max) = range.unwrap_or((*value, *value));
            range = Some((min.min(*value), max.max(*value)));
        }
        range
    }

    fn encode_floats<T: FloatKey + Native + Into<f64>>(&self) -> Result<Encoded> {
        let ty = self.flat.logical_type();
        let values = &self.flat.values::<T>()[..self.len()];
        let sql = |row: usize| self.flat.get(row);
        let zones = self.zones(values, T::key);
        let mut whole = KeyRange::EMPTY;
        zones.iter().filter(|z| !z.is_empty()).for_each(|z| {
            whole.add(z.low);
            whole.add(z.high);
        });
        if whole.is_empty() {
            return self.plain(None, zones);
        }
        let row_of = |key: i64| (0..self.len()).find(|row| self.is_valid(*row) && values[*row].key() == key);
        let range = row_of(whole.low).zip(row_of(whole.high)).map(|(low, high)| (sql(low), sql(high)));
        // Equal keys are not always equal bits (-0.0, payloads of NaN), and what was stored must come back.
        let bits = |v: &T| -> u64 { (*v).into().to_bits() };
        let is_worth_it = self.validity.is_none() && self.effort != Effort::Plain;
        if is_worth_it && values.iter().all(|v| bits(v) == bits(&values[0])) {
            return constant(sql(0), ty, self.len());
        }
        if let (Some(range), 8) = (&range, size_of::<T>()) {
            let order = |a: &T, b: &T| a.key().cmp(&b.key()).then_with(|| bits(a).cmp(&bits(b)));
            if let Some(encoded) = self.number_dictionary(values, |v| u128::from(bits(v)), order, range)? {
                return Ok(encoded);
            }
        }
        self.plain(range, zones)
    }

    /// INTERVAL and UHUGEINT: constant or plain, ordered value by value.
    fn encode_others(&self) -> Result<Encoded> {
        let mut range: Option<(Value, Value)> = None;
        for row in (0..self.len()).filter(|row| self.is_valid(*row)) {
            let value = self.flat.get(row);
            match &mut range {
                None => range = Some((value.clone(), value)),
                Some((min, _)) if value.total_cmp(min) == Ordering::Less => *min = value,
                Some((_, max)) if value.total_cmp(max) == Ordering::Greater => *max = value,
                Some(_) => {}
            }
        }
        if let (Some((first, _)), None, true) = (&range, self.validity, self.effort != Effort::Plain) {
            let raw = self.flat.values::<View>();
            if raw.iter().all(|v| (v.head, v.tail) == (raw[0].head, raw[0].tail)) {
                return constant(first.clone(), self.flat.logical_type(), self.len());
            }
        }
        self.plain(range, Vec::new())
    }

    /// A dictionary of at most [`DISTINCT_NUMBERS_MAX`] numbers that are wide enough to be worth it.
    fn number_dictionary<T: Native>(
        &self,
        values: &[T],
        identity: impl Fn(&T) -> u128,
        order: impl Fn(&T, &T) -> Ordering,
        range: &(Value, Value),
    ) -> Result<Option<Encoded>> {
        let len = self.len();
        if self.effort == Effort::Plain || len < DICTIONARY_ROWS_MIN {
            return Ok(None);
        }
        let limit = DISTINCT_NUMBERS_MAX.min(len / 16);
        let mut table = NumberTable::new(limit);
        let mut codes = Vec::new();
        for (row, value) in values.iter().enumerate() {
            let code = if self.is_valid(row) { table.code(identity(value), row as u32) } else { Some(0) };
            let Some(code) = code else { return Ok(None) };
            // The first rows tell most columns that have too many values.
            if codes.capacity() == 0 {
                codes.reserve_exact(SAMPLE_ROWS);
            } else if row == SAMPLE_ROWS {
                codes.reserve_exact(len - row);
            }
            codes.push(code);
        }
        let first = |place: u32| values[table.rows[place as usize] as usize];
        let distinct: Vec<T> = (0..table.rows.len() as u32).map(first).collect();
        let (sorted, rank) = sorted_with_ranks(&distinct, order);
        let sorted: Vec<T> = sorted.into_iter().map(|i| distinct[i as usize]).collect();
        let dictionary = Vector::from_values(self.flat.logical_type(), &sorted);
        Ok(Some(self.dictionary(dictionary, &codes, &rank, range.clone())))
    }

    /// The encoding of rows whose `codes` count distinct values as they appeared, `rank` being their sorted place.
    fn dictionary(&self, values: Vector, codes: &[u32], rank: &[u32], range: (Value, Value)) -> Encoded {
        let width = frame_width(values.len() as u64 - 1, 8).unwrap_or(8);
        let packed = self.codes(codes, width, |code| u64::from(rank[code as usize]));
        let vector_zones = self.zones(codes, |code| i64::from(rank[code as usize]));
        let encoding = Encoding::Dictionary { dictionary: Dictionary::new(values), codes: packed };
        Encoded { encoding, range: Some(range), vector_zones }
    }

    fn encode_strings(&self) -> Result<Encoded> {
        let (heap, views) = (self.flat.heap().buffers(), self.flat.views());
        let ty = self.flat.ty();
        if !has_text_dictionary(ty) {
            let first = views.first().filter(|_| self.validity.is_none());
            return match first {
                Some(first) if views.iter().all(|view| view.equals(heap, first, heap)) => {
                    constant(self.flat.get(0), ty.clone(), self.len())
                }
                _ => self.plain(None, Vec::new()),
            };
        }
        if self.effort != Effort::Plain
            && self.strings_repeat()
            && let Some(encoded) = self.string_dictionary()?
        {
            return Ok(encoded);
        }
        let range = self.range_of_views();
        let range = range.filter(|_| has_bounds(self.flat.ty()));
        let range = range.map(|(min, max)| (self.text(&min), self.text(&max)));
        self.plain(range, Vec::new())
    }

    /// Smallest and largest string that is not NULL. Most are neither by their first four bytes.
    fn range_of_views(&self) -> Option<(View, View)> {
        let (heap, views) = (self.flat.heap().buffers(), self.flat.views());
        let first = (0..self.len()).find(|row| self.is_valid(*row))?;
        let (mut min, mut max) = (views[first], views[first]);
        let prefix_of = |view: &View| u32::from_be_bytes(view.prefix());
        let (mut low, mut high) = (prefix_of(&min), prefix_of(&max));
        for (row, view) in views.iter().enumerate() {
            let prefix = prefix_of(view);
            if low < prefix && prefix < high || !self.is_valid(row) {
                continue;
            }
            if view.compare(heap, &min, heap).is_lt() {
                (min, low) = (*view, prefix);
            } else if view.compare(heap, &max, heap).is_gt() {
                (max, high) = (*view, prefix);
            }
        }
        Some((min, max))
    }

    fn text(&self, view: &View) -> Value {
        let bytes = view.bytes(self.flat.heap().buffers());
        let text = || String::from_utf8_lossy(bytes).into_owned();
        match self.flat.ty() {
            LogicalType::Blob => Value::Blob(bytes.to_vec()),
            LogicalType::Json => Value::Json(text()),
            _ => Value::Varchar(text()),
        }
    }

    /// Whether a sample of rows has so many repeated strings that a dictionary is worth trying.
    fn strings_repeat(&self) -> bool {
        let len = self.len();
        if len < DICTIONARY_ROWS_MIN {
            return false;
        }
        let (heap, views) = (self.flat.heap().buffers(), self.flat.views());
        let step = (len / SAMPLE_ROWS).max(1);
        let mut hashes: Vec<u64> = (0..len)
            .step_by(step)
            .filter(|row| self.is_valid(*row))
            .map(|row| hash_view(&views[row], heap))
            .collect();
        let sampled = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        // Of `len` rows with `len / 4` distinct values, a sample of 1 in 64 rows repeats about 3 %.
        if step == 1 {
            hashes.len() <= sampled / ROWS_PER_STRING + 1
        } else {
            hashes.len() * 64 <= sampled * 63
        }
    }

    fn string_dictionary(&self) -> Result<Option<Encoded>> {
        let (heap, views) = (self.flat.heap().buffers(), self.flat.views());
        let len = self.len();
        let limit = len / ROWS_PER_STRING;
        let mut table = StringTable::new(heap);
        let mut codes = vec![0u32; len];
        for (row, view) in views.iter().enumerate() {
            if !self.is_valid(row) {
                continue;
            }
            codes[row] = table.code(view);
            if table.distinct.len() > limit {
                return Ok(None);
            }
        }
        let distinct = table.distinct;
        let (sorted, rank) = sorted_with_ranks(&distinct, |a, b| a.compare(heap, b, heap));
        let mut builder = HeapBuilder::new();
        let copies: Vec<View> =
            sorted.iter().map(|i| builder.push(distinct[*i as usize].bytes(heap))).collect();
        let range = match (sorted.first(), sorted.last()) {
            (Some(first), Some(last)) => {
                (self.text(&distinct[*first as usize]), self.text(&distinct[*last as usize]))
            }
            _ => return Ok(None),
        };
        if copies.len() == 1 && self.validity.is_none() {
            return constant(range.0, self.flat.logical_type(), len).map(Some);
        }
        let ty = self.flat.logical_type();
        let values = Vector::flat(ty, copies.len(), Buffer::copy_of(&copies), None, builder.finish());
        Ok(Some(self.dictionary(values, &codes, &rank, range)))
    }

    /// Packs a number per row; NULL rows hold zero.
    fn codes<T: Native>(&self, values: &[T], width: usize, code: impl Fn(T) -> u64) -> Codes {
        match width {
            1 => Codes::U8(self.packed(values, |v| code(v) as u8)),
            2 => Codes::U16(self.packed(values, |v| code(v) as u16)),
            4 => Codes::U32(self.packed(values, |v| code(v) as u32)),
            _ => Codes::U64(self.packed(values, code)),
        }
    }

    /// Memory is a whole number of cache lines, so that wide loads near the end stay inside.
    fn packed<T: Native, C: Native>(&self, values: &[T], code: impl Fn(T) -> C) -> Buffer {
        let mut buffer = Buffer::zeroed((values.len() * size_of::<C>()).next_multiple_of(64));
        let Some(target) = buffer.typed_mut::<C>() else { return buffer };
        match self.validity {
            None => target.iter_mut().zip(values).for_each(|(slot, value)| *slot = code(*value)),
            Some(validity) => {
                for (row, (slot, value)) in target.iter_mut().zip(values).enumerate() {
                    if validity.get(row) {
                        *slot = code(*value);
                    }
                }
            }
        }
        buffer
    }

    /// The key range of the values in each vector of rows.
    fn zones<T: Native>(&self, values: &[T], key: impl Fn(T) -> i64) -> Vec<KeyRange> {
        zones(values, self.validity, key)
    }
}

/// The key range of the values that are not NULL in each vector of rows.
pub(super) fn zones<T: Native>(
    values: &[T],
    validity: Option<&Bitmap>,
    key: impl Fn(T) -> i64,
) -> Vec<KeyRange> {
    let zone = |(index, vector): (usize, &[T])| {
        let mut range = KeyRange::EMPTY;
        match validity {
            None => vector.iter().for_each(|value| range.add(key(*value))),
            Some(validity) => {
                let start = index * VECTOR_SIZE;
                let valid = vector.iter().enumerate().filter(|(row, _)| validity.get(start + row));
                valid.for_each(|(_, value)| range.add(key(*value)));
            }
        }
        range
    };
    values.chunks(VECTOR_SIZE).enumerate().map(zone).collect()
}

/// Bytes per offset of up to `span`, if that is narrower than the value itself. (i128 keys are limited to 63 bits.)
pub(super) fn frame_width(span: u64, value_size: usize) -> Option<usize> {
    let width = match span {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ if span <= i64::MAX as u64 => 8,
        _ => return None,
    };
    (width < value_size).then_some(width)
}

/// Positions in sorted order, and the place of each in it.
fn sorted_with_ranks<T>(values: &[T], order: impl Fn(&T, &T) -> Ordering) -> (Vec<u32>, Vec<u32>) {
    let mut sorted: Vec<u32> = (0..values.len() as u32).collect();
    sorted.sort_unstable_by(|a, b| order(&values[*a as usize], &values[*b as usize]));
    let mut rank = vec![0; values.len()];
    for (place, index) in sorted.iter().enumerate() {
        rank[*index as usize] = place as u32;
    }
    (sorted, rank)
}

/// Numbers a few distinct bit patterns as they appear, and remembers the row of each.
struct NumberTable {
    /// One more than the number of a pattern, or 0; at least half are free.
    slots: [u16; 4 * DISTINCT_NUMBERS_MAX],
    patterns: Vec<u128>,
    rows: Vec<u32>,
    limit: usize,
}

impl NumberTable {
    /// A table of at most `limit` patterns, which is at most [`DISTINCT_NUMBERS_MAX`].
    fn new(limit: usize) -> Self {
        Self { slots: [0; 4 * DISTINCT_NUMBERS_MAX], patterns: Vec::new(), rows: Vec::new(), limit }
    }

    /// The number of a pattern; `None` if it were one too many.
    #[inline]
    fn code(&mut self, pattern: u128, row: u32) -> Option<u32> {
        let mixed = (pattern as u64 ^ (pattern >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut slot = (mixed >> 32) as usize % self.slots.len();
        loop {
            match self.slots[slot] {
                0 if self.rows.len() == self.limit => return None,
                0 => {
                    self.patterns.push(pattern);
                    self.rows.push(row);
                    self.slots[slot] = self.rows.len() as u16;
                    return Some(self.rows.len() as u32 - 1);
                }
                code if self.patterns[code as usize - 1] == pattern => return Some(u32::from(code) - 1),
                _ => slot = (slot + 1) % self.slots.len(),
            }
        }
    }
}

/// Numbers distinct strings as they appear; open addressing over the views themselves.
struct StringTable<'a> {
    heap: &'a [Buffer],
    slots: Vec<u32>,
    hashes: Vec<u64>,
    distinct: Vec<View>,
}

const EMPTY_SLOT: u32 = u32::MAX;

impl<'a> StringTable<'a> {
    fn new(heap: &'a [Buffer]) -> Self {
        Self { heap, slots: vec![EMPTY_SLOT; 1024], hashes: Vec::new(), distinct: Vec::new() }
    }

    #[inline]
    fn code(&mut self, view: &View) -> u32 {
        let hash = hash_view(view, self.heap);
        let mask = self.slots.len() - 1;
        let mut slot = (hash >> 32) as usize & mask;
        loop {
            let code = self.slots[slot];
            if code == EMPTY_SLOT {
                return self.add(slot, hash, view);
            }
            if self.hashes[code as usize] == hash
                && view.equals(self.heap, &self.distinct[code as usize], self.heap)
            {
                return code;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn add(&mut self, slot: usize, hash: u64, view: &View) -> u32 {
        let code = self.distinct.len() as u32;
        self.slots[slot] = code;
        self.hashes.push(hash);
        self.distinct.push(*view);
        if self.distinct.len() * 2 > self.slots.len() {
            let mask = self.slots.len() * 2 - 1;
            self.slots = vec![EMPTY_SLOT; mask + 1];
            for (code, hash) in self.hashes.iter().enumerate() {
                let mut slot = (*hash >> 32) as usize & mask;
                while self.slots[slot] != EMPTY_SLOT {
                    slot = (slot + 1) & mask;
                }
                self.slots[slot] = code as u32;
            }
        }
        code
    }
}

/// An integer carrier.
pub(super) trait Integer: Native + Ord + std::hash::Hash {
    /// Whether [`Integer::key`] orders all values.
    const HAS_KEY: bool = true;
    fn to_i128(self) -> i128;
    /// The distance from a smaller value, if it fits.
    fn offset_from(self, base: Self) -> Option<u64>;
    fn key(self) -> i64;
}

macro_rules! integer {
    ($($t:ty as $unsigned:ty),*) => { $(
        impl Integer for $t {
            #[inline(always)]
            fn to_i128(self) -> i128 {
                i128::from(self)
            }
            #[inline(always)]
            fn offset_from(self, base: Self) -> Option<u64> {
                Some(self.wrapping_sub(base) as $unsigned as u64)
            }
            #[inline(always)]
            fn key(self) -> i64 {
                self as i64
            }
        }
    )* };
}
integer!(u8 as u8, u16 as u16, u32 as u32, i8 as u8, i16 as u16, i32 as u32, i64 as u64);

impl Integer for u64 {
    #[inline(always)]
    fn to_i128(self) -> i128 {
        i128::from(self)
    }
    #[inline(always)]
    fn offset_from(self, base: Self) -> Option<u64> {
        Some(self.wrapping_sub(base))
    }
    #[inline(always)]
    fn key(self) -> i64 {
        (self ^ 1 << 63) as i64
    }
}

impl Integer for i128 {
    const HAS_KEY: bool = false;
    #[inline(always)]
    fn to_i128(self) -> i128 {
        self
    }
    #[inline(always)]
    fn offset_from(self, base: Self) -> Option<u64> {
        u64::try_from(self.checked_sub(base)?).ok()
    }
    fn key(self) -> i64 {
        0
    }
}

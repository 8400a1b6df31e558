//! Chooses an encoding for a column and applies it.
//!
//! In this order: a constant if all rows agree; fields of structs; runs if they are long; frame of reference if offsets are narrower than the values; a
//! dictionary if distinct values are few; else plain. What a dictionary would save is tried on a sample first.

use super::distinct::{DISTINCT_NUMBERS_MAX, NumberTable, StringTable};
use super::fields::Fields;
use super::meta::{lower_bound, upper_bound};
use super::order::{FloatKey, KeyRange, code_zones, float_zones, vector_ranges};
use super::runs::Runs;
use super::{Codes, Encoding, Segment};
use crate::simd::{self, FromOffset, Lane};
use crate::zone_map::{ZoneMap, has_bounds};
use inlay_types::hash::{HashValue, hash_view};
use inlay_types::pick::pick;
use inlay_types::view::HeapBuilder;
use inlay_types::{
    Bitmap, Buffer, Dictionary, Heap, LogicalType, MemoryBudget, Native, PhysicalType, Result, VECTOR_SIZE,
    Value, Vector, View, limits,
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
/// Rows that are looked at before a dictionary is tried.
const SAMPLE_ROWS: usize = 2048;

/// An encoding with what was learnt on the way.
struct Encoded {
    encoding: Encoding,
    range: Option<(Value, Value)>,
    vector_zones: Vec<KeyRange>,
}

pub(super) fn encode(column: &Vector, effort: Effort, budget: &MemoryBudget) -> Result<Segment> {
    let segment = encoded(column, effort, budget)?;
    match (&segment.encoding, effort) {
        (_, Effort::Plain) => {}
        // Rows are not packed again for it.
        (Encoding::Fields(_), _) => {
            let _ = segment.sketch.set(super::sketch::of_rows(&column.flatten()));
        }
        (_, Effort::Best | Effort::BestShared) => {
            segment.sketch()?;
        }
    }
    Ok(segment)
}

/// As [`encode`], without a sketch.
pub(super) fn encoded(column: &Vector, effort: Effort, budget: &MemoryBudget) -> Result<Segment> {
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
        let known = match effort {
            Effort::Plain => None,
            Effort::Best | Effort::BestShared => match Fields::of(column, budget)? {
                Some(fields) => Some(Encoded {
                    encoding: Encoding::Fields(fields),
                    range: None,
                    vector_zones: Vec::new(),
                }),
                None => coded(column, validity.as_ref(), budget)?,
            },
        };
        let encoded = match known {
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
        min: lower_bound(range.as_ref().map(|(min, _)| min.clone())),
        max: upper_bound(range.map(|(_, max)| max)),
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
    let (mut codes, mut memory) = (&column.codes()[..len], Vec::new());
    if let Some(validity) = validity {
        memory.resize(len, 0);
        let Some(covered) = simd::without_nulls(codes, validity.words(), &mut memory) else {
            return Ok(None);
        };
        codes = covered;
    }
    codes.iter().for_each(|code| rank[*code as usize] = 0);
    let is_used = |code: &u32| rank[*code as usize] != UNUSED;
    // Dictionaries of segments are sorted, those of functions and joins need not be.
    let used: Vec<u32> = match dictionary.order() {
        None => (0..values.len() as u32).filter(is_used).collect(),
        Some(order) => order.iter().copied().filter(is_used).collect(),
    };
    if used.is_empty() || used.len() > len / ROWS_PER_STRING {
        return Ok(None);
    }
    let (views, heap) = (values.views(), values.heap().buffers());
    let are_equal = |a: u32, b: u32| views[a as usize].equals(heap, &views[b as usize], heap);
    let (mut builder, mut copies) = (HeapBuilder::new(), Vec::<View>::with_capacity(used.len()));
    for (at, code) in used.iter().enumerate() {
        if at == 0 || !are_equal(used[at - 1], *code) {
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
    let input = Input { flat: column, validity, effort: Effort::Best };
    let ranked = input.ranked(codes, &rank, copies.len());
    Ok(Some(input.dictionary(sorted, ranked, range)))
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

    #[inline(always)]
    fn is_valid(&self, row: usize) -> bool {
        self.validity.is_none_or(|v| v.get(row))
    }

    fn plain(&self, range: Option<(Value, Value)>, vector_zones: Vec<KeyRange>) -> Result<Encoded> {
        let vector =
            if self.flat.logical_type().is_view() { self.plain_strings()? } else { self.plain_numbers() };
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

    fn plain_strings(&self) -> Result<Vector> {
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
            return Ok(vector);
        }
        // Large texts are asked for before they are copied; the segment counts all that it holds.
        let _asked = if needed > super::LARGE_TEXTS { limits::hold(needed)? } else { None };
        let (mut builder, mut copies) = (HeapBuilder::new(), Buffer::copy_of(&views[..len]));
        for (row, view) in copies.make_mut::<View>().iter_mut().enumerate() {
            if !self.is_valid(row) {
                *view = View::EMPTY;
            } else if !view.is_inline() {
                *view = builder.push(view.bytes(heap));
            }
        }
        Ok(Vector::flat(ty, len, copies, self.validity.cloned(), builder.finish()))
    }

    fn encode_integers<T: Integer>(&self) -> Result<Encoded> {
        let ty = self.flat.logical_type();
        let values = &self.flat.values::<T>()[..self.len()];
        let ranges = vector_ranges(values, self.validity, simd::ranges);
        let joined = |a: (T, T), b: (T, T)| (a.0.min(b.0), a.1.max(b.1));
        let Some((min, max)) = ranges.iter().copied().flatten().reduce(joined) else {
            return self.plain(None, Vec::new());
        };
        let sql = |v: T| Value::of_stored(&ty, v.to_i128());
        let range = (sql(min), sql(max));
        if min == max && self.validity.is_none() && self.effort != Effort::Plain {
            return constant(range.0, ty, self.len());
        }
        let span = max.offset_from(min);
        let width = span.and_then(|span| frame_width(span, size_of::<T>()));
        if let (Some(width), true) = (width, self.effort != Effort::Plain) {
            let offsets = match width {
                1 => Codes::U8(self.offsets::<T, u8>(values, min)),
                2 => Codes::U16(self.offsets::<T, u16>(values, min)),
                4 => Codes::U32(self.offsets::<T, u32>(values, min)),
                _ => Codes::U64(self.offsets::<T, u64>(values, min)),
            };
            let vector_zones = code_zones(&offsets, self.len(), self.validity);
            let encoding = Encoding::Frame { base: min.to_i128(), offsets };
            return Ok(Encoded { encoding, range: Some(range), vector_zones });
        }
        if size_of::<T>() >= 8
            && let Some(encoded) = self.number_dictionary(values, |v| *v, T::cmp, &range)?
        {
            return Ok(encoded);
        }
        let zone = |range: &Option<(T, T)>| {
            range.map_or(KeyRange::EMPTY, |(low, high)| KeyRange { low: low.key(), high: high.key() })
        };
        let zones = if T::HAS_KEY { ranges.iter().map(zone).collect() } else { Vec::new() };
        self.plain(Some(range), zones)
    }

    /// Offsets from the least value; those of NULL rows are zero.
    fn offsets<T: Integer, L: Lane>(&self, values: &[T], base: T) -> Buffer {
        let mut buffer = padded::<L>(values.len());
        let target = buffer.make_mut::<L>();
        simd::offsets(values, base, target);
        self.clear_nulls(target);
        buffer
    }

    fn encode_floats<T: FloatKey + Native + Into<f64>>(&self) -> Result<Encoded> {
        let ty = self.flat.logical_type();
        let values = &self.flat.values::<T>()[..self.len()];
        let sql = |row: usize| self.flat.get(row);
        let zones = float_zones(values, self.validity);
        let mut whole = KeyRange::EMPTY;
        zones.iter().filter(|z| !z.is_empty()).for_each(|z| {
            whole.add(z.low);
            whole.add(z.high);
        });
        if whole.is_empty() {
            return self.plain(None, zones);
        }
        let row_of = |key: i64| {
            let vector = zones.iter().position(|zone| zone.low == key || zone.high == key)?;
            let rows = vector * VECTOR_SIZE..self.len();
            rows.into_iter().find(|row| self.is_valid(*row) && values[*row].key() == key)
        };
        let range = row_of(whole.low).zip(row_of(whole.high)).map(|(low, high)| (sql(low), sql(high)));
        // Equal keys are not always equal bits (-0.0, payloads of NaN), and what was stored must come back.
        let bits = |v: &T| -> u64 { (*v).into().to_bits() };
        let is_worth_it = self.validity.is_none() && self.effort != Effort::Plain;
        if is_worth_it && values.iter().all(|v| bits(v) == bits(&values[0])) {
            return constant(sql(0), ty, self.len());
        }
        if let (Some(range), 8) = (&range, size_of::<T>()) {
            let order = |a: &T, b: &T| a.key().cmp(&b.key()).then_with(|| bits(a).cmp(&bits(b)));
            if let Some(encoded) = self.number_dictionary(values, bits, order, range)? {
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
    fn number_dictionary<T: Native, P: HashValue + Eq>(
        &self,
        values: &[T],
        pattern: impl Fn(&T) -> P,
        order: impl Fn(&T, &T) -> Ordering,
        range: &(Value, Value),
    ) -> Result<Option<Encoded>> {
        let len = self.len();
        if self.effort == Effort::Plain || len < DICTIONARY_ROWS_MIN {
            return Ok(None);
        }
        let mut table = NumberTable::new(DISTINCT_NUMBERS_MAX.min(len / 16));
        let mut codes = Vec::new();
        // The first rows tell most columns that have too many values.
        for rows in [0..len.min(SAMPLE_ROWS), len.min(SAMPLE_ROWS)..len] {
            codes.reserve_exact(rows.len());
            for row in rows {
                let code = if self.is_valid(row) { table.code(pattern(&values[row]), row) } else { Some(0) };
                let Some(code) = code else { return Ok(None) };
                codes.push(code);
            }
        }
        let distinct: Vec<T> = table.rows().iter().map(|row| values[*row as usize]).collect();
        let (sorted, rank) = sorted_with_ranks(&distinct, order);
        let sorted: Vec<T> = sorted.into_iter().map(|i| distinct[i as usize]).collect();
        let dictionary = Vector::from_values(self.flat.logical_type(), &sorted);
        let mut ranks = [0; DISTINCT_NUMBERS_MAX];
        rank.iter().zip(&mut ranks).for_each(|(rank, place)| *place = *rank as u8);
        let codes = Codes::U8(self.packed(&codes, |code: u8| ranks[usize::from(code)]));
        Ok(Some(self.dictionary(dictionary, codes, range.clone())))
    }

    /// The encoding of rows with these codes into sorted values.
    fn dictionary(&self, values: Vector, codes: Codes, range: (Value, Value)) -> Encoded {
        let vector_zones = code_zones(&codes, self.len(), self.validity);
        let encoding = Encoding::Dictionary { dictionary: Dictionary::new(values), codes };
        Encoded { encoding, range: Some(range), vector_zones }
    }

    /// The places in order of rows whose `codes` count distinct values in any order; `rank` has the place of each, of `count`.
    /// NULL rows have codes, too.
    fn ranked(&self, codes: &[u32], rank: &[u32], count: usize) -> Codes {
        match code_width(count) {
            1 => Codes::U8(self.ranked_as::<u8>(codes, rank)),
            2 => Codes::U16(self.ranked_as::<u16>(codes, rank)),
            4 => Codes::U32(self.ranked_as::<u32>(codes, rank)),
            _ => Codes::U64(self.ranked_as::<u64>(codes, rank)),
        }
    }

    fn ranked_as<L: Lane>(&self, codes: &[u32], rank: &[u32]) -> Buffer {
        let rank: Vec<L> = rank.iter().map(|&place| L::from_u64(u64::from(place))).collect();
        let mut buffer = padded::<L>(codes.len());
        let target = buffer.make_mut::<L>();
        pick(&rank, 0, codes, target);
        self.clear_nulls(target);
        buffer
    }

    fn clear_nulls<L: Lane>(&self, values: &mut [L]) {
        if let Some(validity) = self.validity {
            simd::clear_nulls(validity.words(), values);
        }
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
            if table.len() > limit {
                return Ok(None);
            }
        }
        let distinct = table.into_distinct();
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
        let codes = self.ranked(&codes, &rank, copies.len());
        Ok(Some(self.dictionary(values, codes, range)))
    }

    /// A code per row; NULL rows hold zero.
    fn packed<T: Native, C: Native>(&self, values: &[T], code: impl Fn(T) -> C) -> Buffer {
        let mut buffer = padded::<C>(values.len());
        let target = buffer.make_mut::<C>();
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
}

/// Zeros for so many codes. They are a whole number of cache lines, so that wide loads near the end stay inside.
fn padded<C: Native>(len: usize) -> Buffer {
    Buffer::zeroed((len * size_of::<C>()).next_multiple_of(64))
}

/// Bytes per code of one of `count` values.
pub(super) fn code_width(count: usize) -> usize {
    match count.saturating_sub(1) {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    }
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

/// An integer carrier.
pub(super) trait Integer: FromOffset + Ord + HashValue {
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

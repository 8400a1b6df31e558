//! One column of a row group, wherever it is: in memory, in the file, or both.
//!
//! A column knows its type, length and zone map without any I/O. Its segment is in memory when it was just made, and
//! is read from the file when first asked for otherwise; once it is in the file, the cache may drop it again.
//!
//! Invariants
//! - A column never changes. Versions of a table share it.
//! - There is a segment in memory, or an object in the file, or both.

use crate::file::ObjectKind;
use crate::home::{Home, Stored};
use crate::hyperloglog::HyperLogLog;
use crate::predicate::{Prune, SegmentPredicate};
use crate::resident::{Form, KeptForms};
use crate::segment::{FieldMeta, Segment, SegmentMeta};
use crate::value_sets::ValueSets;
use crate::zone_map::ZoneMap;
use inlay_types::{Error, LogicalType, MemoryBudget, Result, Value};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// Bytes of a segment that a scan may use although they were refused: the operators above it took all there was, and
/// only get on if it goes on. Enough for a row group of any type but texts of more than 40 bytes.
const PASSING_MAX: u64 = 8 << 20;

/// Sets of values are made when they are asked for so often: those of a column that an update replaces before are not worth it.
const ASKED_MIN: u8 = 3;

/// A column of a row group. See the module documentation.
#[derive(Debug)]
pub struct Column {
    meta: SegmentMeta,
    segment: Mutex<Option<Arc<Segment>>>,
    /// What scans share when there is no memory to keep the segment.
    passing: Mutex<Weak<Segment>>,
    /// Replaced when the object moves within the file; whoever reads keeps the handle it took.
    stored: Mutex<Option<Stored>>,
    /// Whether it was asked for since the cache looked last.
    used: AtomicBool,
    /// Whether the sketch of its values is part of the table's stored statistics.
    in_statistics: AtomicBool,
    /// Kept when the segment is dropped.
    sketch: OnceLock<Arc<HyperLogLog>>,
    /// Whether values ascend strictly, once that was asked for.
    ascends: OnceLock<bool>,
    /// The values as hosts were given them; see [`crate::resident`].
    forms: Mutex<KeptForms>,
    sets: Mutex<Sets>,
    /// Sets in the file; as `stored`.
    stored_sets: Mutex<Option<Stored>>,
    /// Whether those could not be read: a checkpoint writes them anew.
    has_damaged_sets: AtomicBool,
    /// How often sets were asked for that are not there.
    asked: AtomicU8,
}

/// What is known of the rows of each value, which an index by value asks for.
#[derive(Debug, Default)]
enum Sets {
    /// Nobody made them, or they had to go.
    #[default]
    Unknown,
    /// Somebody is about it.
    Making,
    /// There are too many values, or they are of a type without sets.
    Never,
    Made(Arc<ValueSets>),
}

impl Column {
    /// A column in memory only.
    pub fn new(segment: Segment) -> Arc<Self> {
        Self::of(Arc::new(segment))
    }

    /// A column in memory only.
    pub fn of(segment: Arc<Segment>) -> Arc<Self> {
        Arc::new(Self {
            meta: segment.meta(),
            segment: Mutex::new(Some(segment)),
            passing: Mutex::default(),
            stored: Mutex::new(None),
            used: AtomicBool::new(true),
            in_statistics: AtomicBool::new(false),
            sketch: OnceLock::new(),
            ascends: OnceLock::new(),
            forms: Mutex::default(),
            sets: Mutex::default(),
            stored_sets: Mutex::default(),
            has_damaged_sets: AtomicBool::new(false),
            asked: AtomicU8::new(0),
        })
    }

    /// A column in the file only.
    pub(crate) fn in_file(meta: SegmentMeta, stored: Stored, in_statistics: bool) -> Arc<Self> {
        Arc::new(Self {
            meta,
            segment: Mutex::new(None),
            passing: Mutex::default(),
            stored: Mutex::new(Some(stored)),
            used: AtomicBool::new(false),
            in_statistics: AtomicBool::new(in_statistics),
            sketch: OnceLock::new(),
            ascends: OnceLock::new(),
            forms: Mutex::default(),
            sets: Mutex::default(),
            stored_sets: Mutex::default(),
            has_damaged_sets: AtomicBool::new(false),
            asked: AtomicU8::new(0),
        })
    }

    /// The SQL type.
    pub fn logical_type(&self) -> LogicalType {
        self.meta.ty.clone()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.meta.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.meta.len == 0
    }

    /// Number of NULLs.
    pub fn null_count(&self) -> usize {
        self.meta.null_count
    }

    /// Range of the values.
    pub fn zone_map(&self) -> &ZoneMap {
        &self.meta.zone_map
    }

    /// What the file keeps of the segment outside of it.
    pub(crate) fn meta(&self) -> &SegmentMeta {
        &self.meta
    }

    /// The segment; read from the file if it is not in memory.
    pub fn segment(&self) -> Result<Arc<Segment>> {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        let mut slot = self.segment.lock();
        if let Some(segment) = &*slot {
            return Ok(Arc::clone(segment));
        }
        let Some(stored) = self.stored() else {
            return Err(Error::internal("a column that is nowhere"));
        };
        let segment = Arc::new(stored.read(&self.meta)?);
        *slot = Some(Arc::clone(&segment));
        drop(slot);
        stored.budget().trim_caches();
        Ok(segment)
    }

    /// The segment for a scan that keeps it while it reads the row group; without memory for it, it is gone afterwards.
    pub fn segment_to_scan(&self) -> Result<Arc<Segment>> {
        let refusal = match self.segment() {
            Err(error) if matches!(error.root(), Error::OutOfMemory { .. }) => error,
            outcome => return outcome,
        };
        let mut passing = self.passing.lock();
        if let Some(segment) = passing.upgrade() {
            return Ok(segment);
        }
        let Some(stored) = self.stored() else { return Err(refusal) };
        match stored.read_within(&self.meta, &MemoryBudget::new(PASSING_MAX)) {
            Ok(segment) => {
                let segment = Arc::new(segment);
                *passing = Arc::downgrade(&segment);
                Ok(segment)
            }
            Err(_) => Err(refusal),
        }
    }

    /// First block and size in bytes of what the file has of it.
    pub fn place(&self) -> Option<(u64, u64)> {
        self.stored().map(|stored| (stored.ptr().block, stored.ptr().size))
    }

    /// The segment, if it is in memory.
    pub fn resident(&self) -> Option<Arc<Segment>> {
        self.segment.lock().clone()
    }

    /// Whether a scan has to read it from the file first. Also when it is being read or made just now.
    pub fn is_absent(&self) -> bool {
        self.segment.try_lock().is_none_or(|slot| slot.is_none())
    }

    /// Says that a scan will want the segment soon: the disk may begin to read it.
    pub fn will_read(&self) {
        if self.is_absent()
            && let Some(stored) = self.stored()
        {
            stored.will_read();
        }
    }

    /// Bytes of memory in use.
    pub fn memory_size(&self) -> usize {
        self.segment.lock().as_ref().map_or(0, |segment| segment.memory_size())
    }

    /// What zone maps say of a predicate, without I/O.
    pub fn prune(&self, predicate: &SegmentPredicate) -> Prune {
        match self.segment.try_lock().and_then(|slot| slot.clone()) {
            Some(segment) => segment.prune(predicate),
            None => prune(&self.meta.zone_map, predicate),
        }
    }

    /// The same of a field of structs, by the positions that lead to it.
    pub fn prune_field(&self, path: &[usize], predicate: &SegmentPredicate) -> Prune {
        let segment = self.segment.try_lock().and_then(|slot| slot.clone());
        if let Some(field) = segment.as_ref().and_then(|segment| segment.stored_field(path)) {
            return field.prune(predicate);
        }
        let mut known = &self.meta.fields;
        let mut found: Option<&FieldMeta> = None;
        for index in path {
            let Some(field) = known.get(*index) else { return Prune::Some };
            (known, found) = (&field.fields, Some(field));
        }
        found.map_or(Prune::Some, |field| prune(&field.zone_map, predicate))
    }

    /// The values as hosts were given them.
    pub(crate) fn forms(&self) -> &Mutex<KeptForms> {
        &self.forms
    }

    /// The forms that are kept of it, and the bytes of each.
    pub fn kept_forms(&self) -> Vec<(Form, u64)> {
        self.forms.lock().sizes()
    }

    /// Where the column is in the file, if it is.
    pub(crate) fn stored(&self) -> Option<Stored> {
        self.stored.lock().clone()
    }

    /// Says that the file has the same image elsewhere now. Returns where it was.
    pub(crate) fn move_to(&self, stored: Stored) -> Option<Stored> {
        self.stored.lock().replace(stored)
    }

    /// The sketch of the distinct values; reads the segment if it is not known yet.
    pub(crate) fn sketch(&self) -> Result<Arc<HyperLogLog>> {
        if let Some(sketch) = self.sketch.get() {
            return Ok(Arc::clone(sketch));
        }
        let sketch = Arc::new(self.segment()?.sketch()?.clone());
        Ok(Arc::clone(self.sketch.get_or_init(|| sketch)))
    }

    /// Whether integers, or what is stored as such, ascend strictly; reads the segment if it is not known yet.
    pub(crate) fn ascends(&self) -> Result<bool> {
        if let Some(known) = self.ascends.get() {
            return Ok(*known);
        }
        let found = self.segment()?.ascends()?;
        Ok(*self.ascends.get_or_init(|| found))
    }

    /// The same as far as it is known.
    pub(crate) fn known_to_ascend(&self) -> Option<bool> {
        self.ascends.get().copied()
    }

    /// Writes the segment of a row group that is being loaded to the file. From then on the cache may drop it.
    pub(crate) fn persist(self: &Arc<Self>, home: &Arc<Home>, table: u64) -> Result<()> {
        self.persist_above(home, table, 0)
    }

    /// Writes the segment to the file, unless it is there or its image has at most `inline_max` bytes.
    pub(crate) fn persist_above(
        self: &Arc<Self>,
        home: &Arc<Home>,
        table: u64,
        inline_max: usize,
    ) -> Result<()> {
        if self.stored().is_some() {
            return Ok(());
        }
        self.sketch()?;
        let slot = self.segment.lock();
        if self.stored().is_some() {
            return Ok(());
        }
        let Some(segment) = &*slot else {
            return Err(Error::internal("a column that is nowhere"));
        };
        let image = segment.to_bytes()?;
        if image.len() <= inline_max {
            return Ok(());
        }
        *self.stored.lock() = Some(home.store(table, &image)?);
        drop(slot);
        home.cache().enter(self);
        home.budget().trim_caches();
        Ok(())
    }

    /// The rows of each value, if somebody made them.
    pub fn value_sets(&self) -> Option<Arc<ValueSets>> {
        match &*self.sets.lock() {
            Sets::Made(sets) => {
                if !self.used.load(Ordering::Relaxed) {
                    self.used.store(true, Ordering::Relaxed);
                }
                Some(Arc::clone(sets))
            }
            Sets::Unknown | Sets::Making | Sets::Never => None,
        }
    }

    /// Makes the rows of each value if they are not there; `None` if the column cannot have them, or somebody else makes them just now.
    pub(crate) fn make_value_sets(&self, budget: &MemoryBudget) -> Result<Option<Arc<ValueSets>>> {
        {
            let mut slot = self.sets.lock();
            match &*slot {
                Sets::Made(sets) => return Ok(Some(Arc::clone(sets))),
                Sets::Making | Sets::Never => return Ok(None),
                Sets::Unknown => *slot = Sets::Making,
            }
        }
        let made = match self.read_value_sets(budget) {
            Ok(None) => self.segment_to_scan().and_then(|segment| ValueSets::of(&segment, budget)),
            read => read,
        };
        let mut slot = self.sets.lock();
        match made {
            Ok(made) => {
                let made = made.map(Arc::new);
                *slot = made.clone().map_or(Sets::Never, Sets::Made);
                Ok(made)
            }
            Err(error) => {
                *slot = Sets::Unknown;
                Err(error)
            }
        }
    }

    /// As [`Column::value_sets`]; makes them when they have been asked for a few times and there is memory for them.
    pub(crate) fn value_sets_or_ask(&self, budget: &MemoryBudget) -> Result<Option<Arc<ValueSets>>> {
        if let Some(sets) = self.value_sets() {
            return Ok(Some(sets));
        }
        if self.readable_sets().is_none() && self.asked.fetch_add(1, Ordering::Relaxed) + 1 < ASKED_MIN {
            return Ok(None);
        }
        self.asked.store(0, Ordering::Relaxed);
        match self.make_value_sets(budget) {
            // The row group is scanned.
            Err(error) if matches!(error.root(), Error::OutOfMemory { .. }) => Ok(None),
            made => made,
        }
    }

    /// The sets that the file has, unless they could not be read.
    fn readable_sets(&self) -> Option<Stored> {
        if self.has_damaged_sets.load(Ordering::Acquire) { None } else { self.sets_in_file() }
    }

    /// The sets that the file has; `None` if it has none, or damaged ones: they are made anew.
    fn read_value_sets(&self, budget: &MemoryBudget) -> Result<Option<ValueSets>> {
        let Some(stored) = self.readable_sets() else { return Ok(None) };
        let read = stored.object().read().and_then(|image| self.sets_of_image(&image, budget));
        match read {
            Err(Error::Corrupt { .. }) => {
                self.has_damaged_sets.store(true, Ordering::Release);
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// The sets of this column that an image says.
    pub(crate) fn sets_of_image(&self, image: &[u8], budget: &MemoryBudget) -> Result<ValueSets> {
        let sets = ValueSets::from_bytes(&self.meta.ty, image, self.meta.len, budget)?;
        if sets.nulls().count() as usize != self.meta.null_count {
            return Err(Error::corrupt("sets of another number of NULLs than the column has"));
        }
        Ok(sets)
    }

    /// Where the rows of each value are in the file, if they are.
    pub(crate) fn sets_in_file(&self) -> Option<Stored> {
        self.stored_sets.lock().clone()
    }

    /// Says that the file has them, or has them elsewhere now. Returns where they were.
    pub(crate) fn put_sets_in_file(&self, stored: Stored) -> Option<Stored> {
        self.stored_sets.lock().replace(stored)
    }

    /// Says that no directory will refer to the sets in the file any more. Returns where they were.
    pub(crate) fn take_sets_in_file(&self) -> Option<Stored> {
        self.has_damaged_sets.store(false, Ordering::Release);
        self.stored_sets.lock().take()
    }

    /// Says that the column cannot have sets, as the file knows.
    pub(crate) fn set_without_value_sets(&self) {
        *self.sets.lock() = Sets::Never;
    }

    /// Whether it is known that it cannot.
    pub(crate) fn is_without_value_sets(&self) -> bool {
        matches!(*self.sets.lock(), Sets::Never)
    }

    /// Whether a checkpoint has something to do about the sets of a column that is wanted in an index by value, or is not.
    pub(crate) fn has_sets_to_write(&self, is_wanted: bool) -> bool {
        match (is_wanted, self.sets_in_file()) {
            // What a checkpoint wrote that failed is there, and no directory knows it.
            (true, Some(stored)) => !stored.is_referenced() || self.gives_up_sets(true),
            (true, None) => self.stored().is_some() && self.value_sets_size().is_some(),
            (false, stored) => stored.is_some(),
        }
    }

    /// Whether a checkpoint is to give up the sets that the file has.
    pub(crate) fn gives_up_sets(&self, is_wanted: bool) -> bool {
        (!is_wanted || self.has_damaged_sets.load(Ordering::Acquire)) && self.sets_in_file().is_some()
    }

    /// Writes the rows of each value to the file, if they are there or can be made of what is in memory. Memory that is refused is
    /// no failure: the row group is scanned.
    pub(crate) fn persist_value_sets(self: &Arc<Self>, home: &Arc<Home>, table: u64) -> Result<()> {
        // What lies in the directory itself is made again at once.
        let is_small = self.stored().is_none();
        if is_small
            || self.sets_in_file().is_some()
            || self.value_sets().is_none() && self.resident().is_none()
        {
            return Ok(());
        }
        let sets = match self.make_value_sets(home.budget()) {
            Err(error) if matches!(error.root(), Error::OutOfMemory { .. }) => return Ok(()),
            made => made?,
        };
        let Some(sets) = sets else { return Ok(()) };
        let stored = home.store_as(ObjectKind::ValueSets, table, &sets.to_bytes()?)?;
        self.put_sets_in_file(stored);
        Ok(())
    }

    /// Bytes of the rows of each value, if they are there.
    pub fn value_sets_size(&self) -> Option<u64> {
        match &*self.sets.lock() {
            Sets::Made(sets) => Some(sets.memory_size() as u64),
            Sets::Unknown | Sets::Making | Sets::Never => None,
        }
    }

    /// Forgets the rows of each value, which can be made again, unless somebody uses them. Returns the bytes given back.
    pub(crate) fn drop_value_sets(&self) -> u64 {
        let Some(mut slot) = self.sets.try_lock() else { return 0 };
        match &*slot {
            Sets::Made(sets) if Arc::strong_count(sets) == 1 => {
                let bytes = sets.reserved_bytes();
                *slot = Sets::Unknown;
                bytes
            }
            Sets::Made(_) | Sets::Unknown | Sets::Making | Sets::Never => 0,
        }
    }

    /// Whether statistics on disk cover the column's values.
    pub(crate) fn is_in_statistics(&self) -> bool {
        self.in_statistics.load(Ordering::Acquire)
    }

    /// Notes that statistics on disk cover the column's values.
    pub(crate) fn set_in_statistics(&self) {
        self.in_statistics.store(true, Ordering::Release);
    }

    /// Drops the segment from memory if the file has it, nobody uses it now, and it was not asked for since the last
    /// call. Returns the bytes given back. Never waits.
    pub(crate) fn try_evict(&self) -> u64 {
        let Some(mut slot) = self.segment.try_lock() else { return 0 };
        if self.stored().is_none() || self.used.swap(false, Ordering::Relaxed) {
            return 0;
        }
        let sets = self.drop_value_sets();
        match &*slot {
            Some(segment) if Arc::strong_count(segment) == 1 => {
                let bytes = segment.reserved_bytes();
                *slot = None;
                sets + bytes
            }
            Some(_) | None => sets,
        }
    }
}

/// What the zone map of a segment says of a predicate.
fn prune(zone: &ZoneMap, predicate: &SegmentPredicate) -> Prune {
    match predicate {
        SegmentPredicate::IsNull if !zone.has_null => return Prune::None,
        SegmentPredicate::IsNull if !zone.has_value => return Prune::All,
        SegmentPredicate::IsNotNull if !zone.has_null => return Prune::All,
        SegmentPredicate::IsNull | SegmentPredicate::IsNotNull if zone.has_value => return Prune::Some,
        _ if !zone.has_value => return Prune::None,
        _ => {}
    }
    let (Some(min), Some(max)) = (&zone.min, &zone.max) else { return Prune::Some };
    let outside = |value: &Value| value.total_cmp(min).is_lt() || value.total_cmp(max).is_gt();
    let is_out = match predicate {
        SegmentPredicate::Compare(cmp, value) => {
            let (low, high) = (min.total_cmp(value), max.total_cmp(value));
            match cmp {
                crate::Cmp::Eq => outside(value),
                crate::Cmp::NotEq => low.is_eq() && high.is_eq(),
                crate::Cmp::Lt => low.is_ge(),
                crate::Cmp::LtEq => low.is_gt(),
                crate::Cmp::Gt => high.is_le(),
                crate::Cmp::GtEq => high.is_lt(),
            }
        }
        SegmentPredicate::Between { low, low_inclusive, high, high_inclusive } => {
            let (above, below) = (max.total_cmp(low), min.total_cmp(high));
            above.is_lt()
                || below.is_gt()
                || above.is_eq() && !low_inclusive
                || below.is_eq() && !high_inclusive
        }
        SegmentPredicate::In(values) => values.iter().all(|value| value.is_null() || outside(value)),
        SegmentPredicate::KeyBitmap(bitmap) => match (min.as_stored_i128(), max.as_stored_i128()) {
            (Some(min), Some(max)) => {
                min > i128::from(bitmap.max())
                    || max < i128::from(bitmap.min())
                    || (max - min <= KEYS_LOOKED_AT_MAX && {
                        let clamp = |key: i128| key.clamp(bitmap.min().into(), bitmap.max().into()) as i64;
                        !bitmap.intersects(clamp(min), clamp(max))
                    })
            }
            _ => false,
        },
        SegmentPredicate::IsNull
        | SegmentPredicate::IsNotNull
        | SegmentPredicate::Bloom(_)
        | SegmentPredicate::Generic(_) => false,
    };
    if is_out { Prune::None } else { Prune::Some }
}

/// A bitmap is looked into for ranges up to this width.
const KEYS_LOOKED_AT_MAX: i128 = 1 << 16;

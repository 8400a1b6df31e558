//! The indexes of a table: which versions know which, so that one index serves all versions and forks that it is complete for.
//!
//! ```text
//! Table -> TableIndexes -> Entry: Arc<IndexHandle>, since which version it is complete -> Index, in memory or in the file
//!               \-> base: the indexes of the version that this one was forked from, and its rows
//! ```
//! Invariants
//! - A version that knows an index enters every row that it adds or changes, and forks know what their origin knew. So
//!   an index is complete for the versions from `since` on of whoever knows it.
//! - A fork that needs an index builds it from the rows of its origin and for its origin, whose later forks need it too,
//!   and then enters what it changed itself.
//! - Versions whose rows have other ids or columns know nothing of the indexes from before.

use super::change::written_ids;
use super::rows::gather_ids;
use super::{Change, TableSnapshot};
use crate::file::{ObjectKind, ObjectPtr, StoredObject};
use crate::home::Home;
use crate::index::{Index, IndexDef, PagePtr, PageStore, encode_rows};
use crate::interrupted::check_interrupt;
use crate::schema::TableSchema;
use inlay_types::{LogicalType, MemoryBudget, Result, Vector};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use twox_hash::XxHash3_64;

/// What one version of a table knows. See the module documentation.
#[derive(Debug)]
pub(crate) struct TableIndexes {
    /// Columns of CREATE INDEX; shared by all versions, for what is wanted too much or too little changes no answer.
    secondary: Arc<Mutex<Vec<Vec<usize>>>>,
    /// Columns whose row groups are to know the rows of each value; shared for the same reason.
    by_value: Arc<Mutex<Vec<usize>>>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The newest version of the table itself.
    version: u64,
    entries: Vec<Entry>,
    base: Option<Base>,
}

/// An index, and the version from which on it is complete.
#[derive(Clone, Debug)]
struct Entry {
    handle: Arc<IndexHandle>,
    since: u64,
}

/// What a table was forked from.
#[derive(Debug)]
struct Base {
    indexes: Arc<TableIndexes>,
    snapshot: Arc<TableSnapshot>,
}

/// The version for which an index is wanted.
pub(crate) struct Wanting<'a> {
    pub schema: &'a TableSchema,
    pub budget: &'a MemoryBudget,
    pub home: Option<&'a Arc<Home>>,
    pub table: u64,
    pub snapshot: &'a TableSnapshot,
    /// What the table did since its fork.
    pub changes: &'a [Change],
}

impl Wanting<'_> {
    fn ty(&self, column: usize) -> LogicalType {
        self.schema.columns[column].ty.clone()
    }

    fn build(&self, columns: &[usize], snapshot: &TableSnapshot) -> Result<Arc<IndexHandle>> {
        let types: Vec<LogicalType> = columns.iter().map(|c| self.ty(*c)).collect();
        let batches = snapshot.row_groups().iter().map(|group| {
            let mut live = Vec::with_capacity(group.live_count());
            group.live_rows(0..group.len(), &mut live);
            let values = columns.iter().map(|c| group.segment(*c)?.gather(&live));
            let values = values.collect::<Result<Vec<Vector>>>()?;
            Ok((values, live.iter().map(|row| group.row_id_start() + i64::from(*row)).collect()))
        });
        let def = definition(columns, types);
        let index = Index::new(def, self.budget.clone())?;
        let index = match self.home {
            Some(home) => index.with_store(IndexPages::new(home, self.table, None)),
            None => index,
        };
        index.insert_batches(batches)?;
        Ok(IndexHandle::of(index, self.home))
    }

    /// Shows every live row's key and id.
    fn for_each_entry(&self, columns: &[usize], visit: &mut dyn FnMut(&[u8], i64)) -> Result<()> {
        for group in self.snapshot.row_groups() {
            check_interrupt()?;
            let mut live = Vec::with_capacity(group.live_count());
            group.live_rows(0..group.len(), &mut live);
            let values = columns.iter().map(|c| group.segment(*c)?.gather(&live));
            let keys = encode_rows(&values.collect::<Result<Vec<Vector>>>()?)?;
            for (position, row) in live.iter().enumerate() {
                visit(keys.key(position), group.row_id_start() + i64::from(*row));
            }
        }
        Ok(())
    }

    /// Enters the rows that the table added or changed since its fork.
    fn catch_up(&self, handle: &IndexHandle) -> Result<()> {
        let ids = written_ids(self.changes);
        let index = handle.index()?;
        for part in ids.parts() {
            let ids = self.snapshot.live_ids(&part);
            let values = handle.columns.iter().map(|c| gather_ids(self.snapshot, &ids, *c, self.ty(*c)));
            index.insert_rows(&values.collect::<Result<Vec<Vector>>>()?, &|row| ids[row])?;
        }
        Ok(())
    }
}

/// Tells entries apart; that two are alike keeps one entry too many and harms nothing.
fn fingerprint(key: &[u8], row_id: i64) -> u64 {
    XxHash3_64::oneshot_with_seed(row_id as u64, key)
}

fn definition(columns: &[usize], types: Vec<LogicalType>) -> IndexDef {
    IndexDef { id: 0, columns: columns.to_vec(), types, unique: false }
}

impl Known {
    fn entry(&self, columns: &[usize]) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.handle.columns == columns)
    }
}

impl TableIndexes {
    /// No indexes yet, for a table at a version.
    pub fn new(version: u64) -> Self {
        let known = Mutex::new(Known { version, ..Known::default() });
        Self { secondary: Arc::default(), by_value: Arc::default(), known }
    }

    /// The indexes that a file holds of a table at a version.
    pub fn from_file(version: u64, handles: Vec<Arc<IndexHandle>>) -> Self {
        let entries = handles.into_iter().map(|handle| Entry { handle, since: version }).collect();
        let known = Mutex::new(Known { version, entries, base: None });
        Self { secondary: Arc::default(), by_value: Arc::default(), known }
    }

    /// What a fork of the table knows. `keys` are its unique keys.
    pub fn fork(self: &Arc<Self>, snapshot: &Arc<TableSnapshot>, keys: &[Vec<usize>]) -> Self {
        let known = self.known.lock();
        let secondary = self.secondary.lock();
        let is_wanted = |entry: &&Entry| {
            let columns = &entry.handle.columns;
            keys.contains(columns) || secondary.contains(columns)
        };
        let entries = known.entries.iter().filter(is_wanted).cloned().collect();
        // A private fork is nobody's base: what it changed is not among the changes of the fork.
        let base =
            known.base.is_none().then(|| Base { indexes: Arc::clone(self), snapshot: Arc::clone(snapshot) });
        let known = Known { version: snapshot.version(), entries, base };
        let (secondary, by_value) = (Arc::clone(&self.secondary), Arc::clone(&self.by_value));
        Self { secondary, by_value, known: Mutex::new(known) }
    }

    /// What a fork knows whose columns are others, except for those that `is_kept` says.
    pub fn altered(&self, is_kept: &dyn Fn(usize) -> bool) -> Self {
        let known = self.known.lock();
        let keeps = |columns: &[usize]| columns.iter().all(|column| is_kept(*column));
        let entries = known.entries.iter().filter(|entry| keeps(&entry.handle.columns)).cloned().collect();
        let secondary: Vec<Vec<usize>> =
            self.secondary.lock().iter().filter(|columns| keeps(columns)).cloned().collect();
        let known = Known { version: known.version, entries, base: None };
        let by_value: Vec<usize> = self.by_value.lock().iter().copied().filter(|c| is_kept(*c)).collect();
        Self {
            secondary: Arc::new(Mutex::new(secondary)),
            by_value: Arc::new(Mutex::new(by_value)),
            known: Mutex::new(known),
        }
    }

    /// Says that lookups by these columns are wanted.
    pub fn add_secondary(&self, columns: &[usize]) {
        let mut secondary = self.secondary.lock();
        if !secondary.iter().any(|known| known == columns) {
            secondary.push(columns.to_vec());
        }
    }

    /// Says that lookups by these columns are no longer wanted.
    pub fn remove_secondary(&self, columns: &[usize]) {
        self.secondary.lock().retain(|known| known != columns);
    }

    /// Says that the row groups of these columns are to know the rows of each value.
    pub fn add_by_value(&self, columns: &[usize]) {
        let mut by_value = self.by_value.lock();
        columns.iter().for_each(|column| {
            if !by_value.contains(column) {
                by_value.push(*column);
            }
        });
    }

    /// Says that this is so of no columns but these.
    pub fn set_by_value(&self, columns: Vec<usize>) {
        *self.by_value.lock() = columns;
    }

    /// Columns whose row groups are to know the rows of each value.
    pub fn by_value(&self) -> Vec<usize> {
        self.by_value.lock().clone()
    }

    /// Columns of the wanted indexes that are no keys.
    pub fn secondary(&self) -> Vec<Vec<usize>> {
        self.secondary.lock().clone()
    }

    /// The index on these columns if it is complete for the version that wants it; built if it has to be.
    pub fn index(&self, columns: &[usize], wanting: &Wanting<'_>, build: bool) -> Result<Option<Arc<Index>>> {
        let mut known = self.known.lock();
        if let Some(entry) = known.entry(columns) {
            return if entry.since <= wanting.snapshot.version() {
                entry.handle.index().map(Some)
            } else {
                Ok(None)
            };
        }
        if wanting.snapshot.version() != known.version {
            return Ok(None);
        }
        let shared = match &known.base {
            Some(base) => base.indexes.for_fork(columns, &base.snapshot, wanting, build)?,
            None => None,
        };
        let handle = match shared {
            Some(handle) => {
                wanting.catch_up(&handle)?;
                handle
            }
            None if build => wanting.build(columns, wanting.snapshot)?,
            None => return Ok(None),
        };
        let index = handle.index()?;
        let since = known.version;
        known.entries.push(Entry { handle, since });
        Ok(Some(index))
    }

    /// The index for a fork of `snapshot`.
    fn for_fork(
        &self,
        columns: &[usize],
        snapshot: &TableSnapshot,
        wanting: &Wanting<'_>,
        build: bool,
    ) -> Result<Option<Arc<IndexHandle>>> {
        let mut known = self.known.lock();
        if let Some(entry) = known.entry(columns) {
            return Ok((entry.since <= snapshot.version()).then(|| Arc::clone(&entry.handle)));
        }
        if !build || known.version != snapshot.version() {
            return Ok(None);
        }
        let handle = wanting.build(columns, snapshot)?;
        known.entries.push(Entry { handle: Arc::clone(&handle), since: snapshot.version() });
        Ok(Some(handle))
    }

    /// The indexes that are complete for the newest version, which new rows have to be entered in.
    pub fn maintained(&self) -> Vec<Arc<IndexHandle>> {
        self.known.lock().entries.iter().map(|entry| Arc::clone(&entry.handle)).collect()
    }

    /// Frees about so many bytes of indexes, which are written away if they have a file. Returns how many.
    pub fn write_away(&self, wanted: u64) -> Result<u64> {
        let mut freed = 0;
        for handle in self.maintained() {
            if freed < wanted {
                freed += handle.index()?.write_away(wanted - freed)?;
            }
        }
        Ok(freed)
    }

    /// Whether the index on these columns is there already.
    #[cfg(test)]
    pub fn is_known(&self, columns: &[usize]) -> bool {
        self.known.lock().entry(columns).is_some()
    }

    /// Enters an index that is complete from the newest version on.
    pub fn enter(&self, handle: Arc<IndexHandle>) {
        let mut known = self.known.lock();
        let since = known.version;
        known.entries.retain(|entry| entry.handle.columns != handle.columns);
        known.entries.push(Entry { handle, since });
    }

    /// Has the index on these columns made anew when it is next needed.
    pub fn forget(&self, columns: &[usize]) {
        let mut known = self.known.lock();
        known.entries.retain(|entry| entry.handle.columns != columns);
        known.base = None;
    }

    /// Forgets all indexes: rows have other ids.
    pub fn clear(&self) {
        let mut known = self.known.lock();
        known.entries.clear();
        known.base = None;
    }

    /// Notes that the table has a new version.
    pub fn set_version(&self, version: u64) {
        self.known.lock().version = version;
    }

    /// Forgets the indexes that are complete only for later versions than the one that the table goes back to.
    pub fn go_back_to(&self, version: u64) {
        self.known.lock().entries.retain(|entry| entry.since <= version);
    }

    /// Ends a fork's time as one: takes over the indexes that its origin got meanwhile, and lets go of the origin.
    pub fn settle(&self, wanting: &Wanting<'_>) {
        let mut known = self.known.lock();
        let Some(base) = known.base.take() else { return };
        if wanting.snapshot.version() != known.version {
            return;
        }
        for entry in base.indexes.known.lock().entries.clone() {
            let is_usable =
                known.entry(&entry.handle.columns).is_none() && entry.since <= base.snapshot.version();
            // Without it the index is built anew one day.
            if is_usable && wanting.catch_up(&entry.handle).is_ok() {
                let since = known.version;
                known.entries.push(Entry { handle: entry.handle, since });
            }
        }
    }

    /// Takes stale entries out of the indexes that nobody but this version knows; `live` says whether a row has a key.
    pub fn vacuum(&self, wanting: &Wanting<'_>) -> Result<()> {
        let known = self.known.lock();
        let live_rows = wanting.snapshot.row_count() as u64;
        for entry in &known.entries {
            let Some(index) = entry.handle.opened() else { continue };
            let others = Arc::strong_count(&entry.handle) > 1 || Arc::strong_count(&index) > 2;
            if others || !index.is_bloated(live_rows) || wanting.snapshot.version() != known.version {
                continue;
            }
            let mut entries = Vec::with_capacity(live_rows as usize);
            wanting.for_each_entry(&entry.handle.columns, &mut |key, row_id| {
                entries.push(fingerprint(key, row_id))
            })?;
            entries.sort_unstable();
            index.vacuum(&mut |key, row_id| Ok(entries.binary_search(&fingerprint(key, row_id)).is_ok()))?;
        }
        Ok(())
    }
}

/// One index, wherever it is: in the file until it is first used.
#[derive(Debug)]
pub(crate) struct IndexHandle {
    columns: Vec<usize>,
    opened: Mutex<Option<Arc<Index>>>,
    /// Where the file has it, as far as it was not opened.
    stored: Option<StoredIndex>,
    /// Whether the file's tables have it.
    is_published: AtomicBool,
    /// Objects that the file gives back when nobody knows the index any more.
    retired: Mutex<Vec<Arc<StoredObject>>>,
}

#[derive(Debug)]
struct StoredIndex {
    home: Arc<Home>,
    table: u64,
    root: PagePtr,
    types: Vec<LogicalType>,
}

impl IndexHandle {
    fn of(index: Index, home: Option<&Arc<Home>>) -> Arc<Self> {
        let handle = Arc::new(Self {
            columns: index.def().columns.clone(),
            opened: Mutex::new(Some(Arc::new(index))),
            stored: None,
            is_published: AtomicBool::new(false),
            retired: Mutex::default(),
        });
        if let Some(home) = home {
            home.cache().enter_index(&handle);
        }
        handle
    }

    /// An index in memory with no rows.
    pub fn empty(
        columns: &[usize],
        types: Vec<LogicalType>,
        budget: &MemoryBudget,
        (home, table): (Option<&Arc<Home>>, u64),
    ) -> Result<Arc<Self>> {
        let index = Index::new(definition(columns, types), budget.clone())?;
        let index = match home {
            Some(home) => index.with_store(IndexPages::new(home, table, None)),
            None => index,
        };
        Ok(Self::of(index, home))
    }

    /// An index in the file. Reads nothing.
    pub fn in_file(
        home: &Arc<Home>,
        table: u64,
        columns: Vec<usize>,
        types: Vec<LogicalType>,
        root: ObjectPtr,
    ) -> Arc<Self> {
        let root = PagePtr { block: root.block, size: root.size, checksum: root.checksum };
        let stored = StoredIndex { home: Arc::clone(home), table, root, types };
        let handle = Arc::new(Self {
            columns,
            opened: Mutex::default(),
            stored: Some(stored),
            is_published: AtomicBool::new(true),
            retired: Mutex::default(),
        });
        home.cache().enter_index(&handle);
        handle
    }

    /// Positions of the columns.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The index; reads its first page if it was not used yet.
    pub fn index(&self) -> Result<Arc<Index>> {
        let mut opened = self.opened.lock();
        if let Some(index) = &*opened {
            return Ok(Arc::clone(index));
        }
        let Some(StoredIndex { home, table, root, types }) = &self.stored else {
            return Err(inlay_types::Error::internal("an index that is nowhere"));
        };
        let store = IndexPages::new(home, *table, None);
        let def = definition(&self.columns, types.clone());
        let index = Arc::new(Index::open(def, *root, store, home.budget().clone())?);
        *opened = Some(Arc::clone(&index));
        Ok(index)
    }

    /// The index, if it was used.
    pub fn opened(&self) -> Option<Arc<Index>> {
        self.opened.lock().clone()
    }

    /// Whether a checkpoint has put the index into its table's directory.
    pub fn is_published(&self) -> bool {
        self.is_published.load(Ordering::Acquire)
    }

    /// Notes that a checkpoint has put the index into its table's directory.
    pub fn set_published(&self) {
        self.is_published.store(true, Ordering::Release);
    }

    /// Writes what changed since the last time; pages that belong to nobody after an error are given back.
    pub fn flush(&self, home: &Arc<Home>, table: u64) -> Result<FlushedIndex> {
        match (self.opened(), &self.stored) {
            (None, Some(stored)) => {
                let root = object_ptr(stored.root);
                Ok(FlushedIndex { root, is_changed: false, unused: Vec::new() })
            }
            (None, None) => Err(inlay_types::Error::internal("an index that is nowhere")),
            (Some(index), _) => flush_to(&index, IndexPages::new(home, table, None)),
        }
    }

    /// As [`IndexHandle::flush`], and moves pages that end behind block `limit` into holes before them.
    pub fn flush_packed(&self, home: &Arc<Home>, table: u64, limit: u64) -> Result<FlushedIndex> {
        flush_to(&*self.index()?, IndexPages::new(home, table, Some(limit)))
    }

    /// Every page, for who gives them back: they are used again when this handle is gone.
    pub fn retire(&self, home: &Arc<Home>) -> Result<Vec<Arc<StoredObject>>> {
        let pages = self.pages()?;
        let objects: Vec<Arc<StoredObject>> =
            pages.into_iter().map(|page| stored_object(home, page)).collect();
        *self.retired.lock() = objects.clone();
        Ok(objects)
    }

    /// All pages that the file has of the index.
    pub fn pages(&self) -> Result<Vec<PagePtr>> {
        self.index()?.pages()
    }

    /// Drops about `wanted` bytes of pages that can be read again. Never waits.
    pub fn try_evict(&self, wanted: u64) -> u64 {
        let index = self.opened.try_lock().and_then(|opened| opened.clone());
        index.map_or(0, |index| index.try_evict(wanted))
    }
}

/// What a flush of an index means for its table's directory.
#[derive(Debug)]
pub(crate) struct FlushedIndex {
    pub root: ObjectPtr,
    /// Whether anything was written.
    pub is_changed: bool,
    /// Pages that the new root does not reach.
    pub unused: Vec<Arc<StoredObject>>,
}

fn flush_to(index: &Index, pages: Arc<IndexPages>) -> Result<FlushedIndex> {
    let store: Arc<dyn PageStore> = Arc::clone(&pages) as Arc<dyn PageStore>;
    let flushed = index.flush(&store).inspect_err(|_| pages.discard())?;
    pages.forget();
    Ok(FlushedIndex {
        root: object_ptr(flushed.root),
        is_changed: !flushed.written.is_empty(),
        unused: flushed.unused.into_iter().map(|page| stored_object(&pages.home, page)).collect(),
    })
}

pub(crate) fn object_ptr(page: PagePtr) -> ObjectPtr {
    ObjectPtr { block: page.block, size: page.size, checksum: page.checksum }
}

fn stored_object(home: &Arc<Home>, page: PagePtr) -> Arc<StoredObject> {
    let (file, ptr) = (Arc::clone(home.file()), object_ptr(page));
    Arc::new(StoredObject { file, ptr, kind: ObjectKind::IndexPage })
}

/// The pages of a table's indexes in the file.
#[derive(Debug)]
struct IndexPages {
    home: Arc<Home>,
    table: u64,
    /// Pages that end behind this block are to move in front of it.
    limit: Option<u64>,
    /// Written since the flush began.
    written: Mutex<Vec<ObjectPtr>>,
}

impl IndexPages {
    fn new(home: &Arc<Home>, table: u64, limit: Option<u64>) -> Arc<Self> {
        Arc::new(Self { home: Arc::clone(home), table, limit, written: Mutex::default() })
    }

    fn note(&self, ptr: ObjectPtr) -> PagePtr {
        self.written.lock().push(ptr);
        PagePtr { block: ptr.block, size: ptr.size, checksum: ptr.checksum }
    }

    fn forget(&self) {
        self.written.lock().clear();
    }

    fn discard(&self) {
        self.written.lock().drain(..).for_each(|ptr| self.home.file().discard(ptr));
    }
}

impl PageStore for IndexPages {
    fn read(&self, page: PagePtr) -> Result<Vec<u8>> {
        Ok(self.home.file().read_object(ObjectKind::IndexPage, object_ptr(page))?.into_vec())
    }

    fn write(&self, bytes: &[u8]) -> Result<PagePtr> {
        let ptr = self.home.file().write_object(ObjectKind::IndexPage, self.table, bytes)?;
        Ok(self.note(ptr))
    }

    fn write_loose(&self, bytes: &[u8]) -> Result<PagePtr> {
        let ptr = self.home.file().write_held_object(ObjectKind::IndexPage, self.table, bytes)?;
        Ok(PagePtr { block: ptr.block, size: ptr.size, checksum: ptr.checksum })
    }

    fn adopt(&self, page: PagePtr) {
        self.home.file().unhold(object_ptr(page));
    }

    fn discard(&self, page: PagePtr) {
        self.home.file().discard(object_ptr(page));
    }

    fn is_packing(&self) -> bool {
        self.limit.is_some()
    }

    fn move_page(&self, page: PagePtr) -> Result<Option<PagePtr>> {
        let ptr = object_ptr(page);
        if self.limit.is_none_or(|limit| ptr.end() <= limit) {
            return Ok(None);
        }
        // A damaged page stays where it is, for `recover`.
        let Ok(bytes) = self.read(page) else { return Ok(None) };
        let file = self.home.file();
        let moved = file.write_object_below(ObjectKind::IndexPage, self.table, &bytes, ptr.block)?;
        Ok(moved.map(|ptr| self.note(ptr)))
    }
}

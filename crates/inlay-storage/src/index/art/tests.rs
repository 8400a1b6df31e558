use super::*;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::AtomicUsize;

/// Pages in memory that counts what is asked of it; it has no checksums, so damage gets through to the index.
#[derive(Default)]
struct Pages {
    pages: Mutex<HashMap<u64, Vec<u8>>>,
    reads: AtomicUsize,
    /// Writes that succeed before one fails; unlimited if absent.
    writes_left: Mutex<Option<usize>>,
    /// Blocks of pages that no root reaches.
    loose: Mutex<HashSet<u64>>,
}

impl PageStore for Pages {
    fn read(&self, page: PagePtr) -> Result<Vec<u8>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.pages.lock().get(&page.block).cloned().ok_or_else(|| Error::corrupt("no such page"))
    }

    fn write(&self, bytes: &[u8]) -> Result<PagePtr> {
        if let Some(left) = &mut *self.writes_left.lock() {
            *left = left.checked_sub(1).ok_or_else(|| Error::internal("disk"))?;
        }
        let mut pages = self.pages.lock();
        let block = pages.keys().max().map_or(0, |last| last + 1);
        pages.insert(block, bytes.to_vec());
        Ok(PagePtr { block, size: bytes.len() as u64, checksum: 7 })
    }

    fn write_loose(&self, bytes: &[u8]) -> Result<PagePtr> {
        let page = self.write(bytes)?;
        self.loose.lock().insert(page.block);
        Ok(page)
    }

    fn adopt(&self, page: PagePtr) {
        assert!(self.loose.lock().remove(&page.block));
    }

    fn discard(&self, page: PagePtr) {
        assert!(self.loose.lock().remove(&page.block));
        self.pages.lock().remove(&page.block);
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

type Model = BTreeSet<Vec<u8>>;

fn entry(key: &[u8], row_id: i64) -> Vec<u8> {
    [key, &row_id.to_be_bytes()].concat()
}

/// Entries of several families: dense numbers, random ones, few keys with many rows, long texts that share much.
fn random_entry(random: &mut Random, family: u64) -> Vec<u8> {
    match family {
        0 => entry(&random.below(3000).to_be_bytes(), random.below(2) as i64),
        1 => entry(&(random.below(3000).wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes(), 1),
        2 => entry(&[0, random.below(3) as u8], random.below(70_000) as i64),
        _ => {
            let mut key = vec![b'a'; random.below(60) as usize];
            key.extend((0..random.below(4)).map(|_| b'b' + (random.0 >> 20) as u8 % 3));
            key.extend([0, 0]);
            entry(&key, random.below(3) as i64)
        }
    }
}

fn all_of(art: &Art, range: ByteRange<'_>, direction: Direction) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    art.scan(range, direction, &mut |key, row_id| {
        found.push(entry(key, row_id));
        true
    })
    .unwrap();
    found
}

fn assert_same(art: &Art, model: &Model) {
    assert_eq!(art.len(), model.len() as u64);
    assert!(all_of(art, ALL, Direction::Forward).iter().eq(model.iter()));
    assert!(all_of(art, ALL, Direction::Backward).iter().eq(model.iter().rev()));
}

fn assert_same_range(art: &Art, model: &Model, low: &[u8], high: &[u8]) {
    let range = ByteRange { low, high: Some(high) };
    let wanted: Vec<Vec<u8>> =
        model.iter().filter(|e| e.as_slice() >= low && e.as_slice() < high).cloned().collect();
    let forward = all_of(art, range, Direction::Forward);
    assert_eq!(forward, wanted, "{low:?} to {high:?}");
    let backward = all_of(art, range, Direction::Backward);
    assert!(backward.iter().eq(wanted.iter().rev()), "{low:?} to {high:?}");
    let mut found = Vec::new();
    art.collect_prefix(low, &mut found).unwrap();
    let wanted: Vec<i64> = model.iter().filter(|e| e.starts_with(low)).map(|e| key_and_row_id(e).1).collect();
    assert_eq!(found, wanted, "{low:?}");
}

fn bound(random: &mut Random, family: u64) -> Vec<u8> {
    let mut bytes = random_entry(random, family);
    let len = bytes.len() as u64;
    bytes.truncate(random.below(len + 1) as usize);
    if random.below(4) == 0 {
        bytes.push(random.below(256) as u8);
    }
    bytes
}

fn change(art: &mut Art, model: &mut Model, random: &mut Random, family: u64, inserts: u64) {
    let entry = random_entry(random, family);
    if random.below(10) < inserts {
        assert_eq!(art.insert(&entry).unwrap(), model.insert(entry));
    } else {
        assert_eq!(art.contains(&entry).unwrap(), model.contains(&entry));
        assert_eq!(art.remove(&entry).unwrap(), model.remove(&entry));
    }
}

#[test]
fn random_operations_agree_with_an_ordered_set() {
    let mut random = Random(0x1234_5678_9ABC_DEF1);
    for family in 0..4 {
        let mut art = Art::new(MemoryBudget::unlimited()).unwrap();
        let mut model = Model::new();
        for inserts in [8, 3, 6, 1] {
            for _ in 0..3000 {
                change(&mut art, &mut model, &mut random, family, inserts);
            }
            assert_same(&art, &model);
            for _ in 0..60 {
                let (low, high) = (bound(&mut random, family), bound(&mut random, family));
                assert_same_range(&art, &model, &low, &high);
            }
        }
        for entry in std::mem::take(&mut model) {
            assert!(art.remove(&entry).unwrap());
        }
        assert_same(&art, &model);
    }
}

#[test]
fn nodes_of_every_size_grow_and_shrink() {
    let budget = MemoryBudget::unlimited();
    for count in [2usize, 4, 5, 16, 17, 48, 49, 255, 256] {
        for step in [1, 3, 255] {
            let bytes: Vec<u8> = (0..count).map(|i| (i * step) as u8).collect();
            let mut tree = Subtree::new(&budget).unwrap();
            let mut model = Model::new();
            let of = |byte: u8| entry(&[b"a shared prefix".as_slice(), &[byte, 1, 2]].concat(), 5);
            for byte in &bytes {
                assert_eq!(tree.insert(&of(*byte)).unwrap(), model.insert(of(*byte)));
                assert!(tree.contains(&of(*byte)));
            }
            for byte in bytes.iter().rev().step_by(2).chain(bytes.iter().step_by(2)).chain(&bytes) {
                assert_eq!(tree.remove(&of(*byte)).unwrap(), model.remove(&of(*byte)));
                let mut found = Vec::new();
                for_each_entry(&tree, |e| {
                    found.push(e.to_vec());
                    true
                });
                assert!(found.iter().eq(model.iter()), "{count} children, step {step}");
            }
            assert_eq!((tree.len(), tree.page_size()), (0, 0));
        }
    }
}

#[test]
fn changed_pages_are_written_and_no_others() {
    let pages = Arc::new(Pages::default());
    let store: Arc<dyn PageStore> = Arc::clone(&pages) as Arc<dyn PageStore>;
    let mut random = Random(99);
    let mut model = Model::new();
    let mut art = Art::new(MemoryBudget::unlimited()).unwrap();
    let mut live: HashSet<PagePtr> = HashSet::new();
    for round in 0..40 {
        // From empty over one page to three levels, and then single changes.
        let changes = if round % 2 == 1 { 1 } else { [0, 1, 20, 300, 3000][(round / 2).min(4)] };
        for _ in 0..changes {
            change(&mut art, &mut model, &mut random, round as u64 % 4, 8);
        }
        let was_dirty = art.is_dirty();
        let flushed = art.flush(&store).unwrap();
        assert!(was_dirty || flushed.written.is_empty());
        for page in &flushed.unused {
            assert!(live.remove(page), "a page is unused once");
            pages.pages.lock().remove(&page.block);
        }
        live.extend(&flushed.written);
        assert_eq!(art.pages().unwrap().into_iter().collect::<HashSet<_>>(), live, "round {round}");
        assert_eq!(art.pages().unwrap().len(), live.len());
        if changes == 1 {
            assert!(flushed.written.len() <= 8, "{} pages for one change", flushed.written.len());
        }
        assert!(art.flush(&store).unwrap().written.is_empty());
        if round % 3 == 0 {
            let reads = pages.reads.load(Ordering::Relaxed);
            art = Art::open(flushed.root, Arc::clone(&store), MemoryBudget::unlimited()).unwrap();
            assert_eq!(pages.reads.load(Ordering::Relaxed), reads + 1);
        } else if round % 3 == 1 {
            art.evict(u64::MAX);
        }
        assert_eq!(art.len(), model.len() as u64);
        if round % 5 == 0 {
            assert_same(&art, &model);
            art.check_pages().unwrap();
        }
    }
    assert!(art.groups.len() > 2);
}

#[test]
fn a_failed_flush_changes_nothing() {
    let pages = Arc::new(Pages::default());
    let store: Arc<dyn PageStore> = Arc::clone(&pages) as Arc<dyn PageStore>;
    let mut art = Art::new(MemoryBudget::unlimited()).unwrap();
    let mut model = Model::new();
    let mut random = Random(5);
    (0..2000).for_each(|_| change(&mut art, &mut model, &mut random, 0, 9));
    let first = art.flush(&store).unwrap();
    (0..200).for_each(|_| change(&mut art, &mut model, &mut random, 0, 9));
    let reachable = art.pages().unwrap();
    for writes in 0..3 {
        *pages.writes_left.lock() = Some(writes);
        assert!(art.flush(&store).is_err());
        assert_eq!(art.pages().unwrap(), reachable);
    }
    *pages.writes_left.lock() = None;
    let second = art.flush(&store).unwrap();
    assert!(second.unused.iter().all(|page| first.written.contains(page)));
    assert_same(&Art::open(second.root, store, MemoryBudget::unlimited()).unwrap(), &model);
}

#[test]
fn damaged_pages_give_errors_or_other_entries_but_never_a_panic() {
    let pages = Arc::new(Pages::default());
    let store: Arc<dyn PageStore> = Arc::clone(&pages) as Arc<dyn PageStore>;
    for (family, count) in [(0, 300), (0, 3000), (3, 100)] {
        pages.pages.lock().clear();
        let mut art = Art::new(MemoryBudget::unlimited()).unwrap();
        let mut random = Random(17);
        for _ in 0..count {
            art.insert(&random_entry(&mut random, family)).unwrap();
        }
        let root = art.flush(&store).unwrap().root;
        let blocks: Vec<u64> = pages.pages.lock().keys().copied().collect();
        // The root, and some of the others.
        for block in blocks.into_iter().filter(|b| *b == root.block || b % 7 == 0) {
            let intact = pages.pages.lock()[&block].clone();
            let mut damaged: Vec<Vec<u8>> = Vec::new();
            for at in 0..intact.len() {
                for mask in [0xFF, 0x01, 0x80] {
                    let mut bytes = intact.clone();
                    bytes[at] ^= mask;
                    damaged.push(bytes);
                }
            }
            damaged.extend((0..intact.len()).step_by(11).map(|len| intact[..len].to_vec()));
            for bytes in damaged {
                pages.pages.lock().insert(block, bytes);
                let budget = MemoryBudget::new(64 << 20);
                let Ok(mut art) = Art::open(root, Arc::clone(&store), budget.clone()) else { continue };
                let _ = art.scan(ALL, Direction::Forward, &mut |_, _| true);
                let _ = art.insert(&random_entry(&mut random, family));
                let _ = art.remove(&random_entry(&mut random, family));
                let _ = art.collect_prefix(&[0], &mut Vec::new());
                assert!(budget.peak() < 16 << 20);
            }
            pages.pages.lock().insert(block, intact);
        }
        art.check_pages().unwrap();
    }
}

#[test]
fn a_refused_insertion_leaves_the_set_valid_and_lookups_work_without_memory() {
    let pages = Arc::new(Pages::default());
    let store: Arc<dyn PageStore> = Arc::clone(&pages) as Arc<dyn PageStore>;
    for family in 0..4 {
        let budget = MemoryBudget::new(20_000);
        let mut art = Art::new(budget.clone()).unwrap();
        let mut model = Model::new();
        let mut random = Random(3);
        let mut refused = 0;
        for _ in 0..3000 {
            let entry = random_entry(&mut random, family);
            match art.insert(&entry) {
                Ok(is_new) => assert_eq!(is_new, model.insert(entry)),
                Err(error) => {
                    assert!(matches!(error, Error::OutOfMemory { .. }));
                    refused += 1;
                }
            }
        }
        assert!(refused > 0);
        assert_eq!(art.memory_size(), budget.used());
        assert_same(&art, &model);
        let root = art.flush(&store).unwrap().root;
        assert!(art.evict(u64::MAX) > 0);
        assert_eq!(budget.used(), 0);
        budget.set_limit(0);
        assert_same(&art, &model);
        assert_eq!(budget.used(), 0);
        budget.set_limit(u64::MAX);
        assert_same(&Art::open(root, Arc::clone(&store), budget).unwrap(), &model);
    }
}

#[test]
fn retain_drops_what_it_is_told_and_joins_what_is_left() {
    let pages = Arc::new(Pages::default());
    let store: Arc<dyn PageStore> = Arc::clone(&pages) as Arc<dyn PageStore>;
    let mut art = Art::new(MemoryBudget::unlimited()).unwrap();
    let mut model: Model = (0..5000u64).map(|k| entry(&k.to_be_bytes(), k as i64)).collect();
    for entry in &model {
        art.insert(entry).unwrap();
    }
    let before = art.flush(&store).unwrap().written.len();
    for share in [3, 50, 10_000] {
        let (mut from, mut dropped) = (Some(Vec::new()), 0);
        while let Some(next) = from {
            let (behind, count) = art.retain(&next, &mut |_, id| Ok(id % share == 0)).unwrap();
            (from, dropped) = (behind, dropped + count);
        }
        let len = model.len() as u64;
        model.retain(|e| key_and_row_id(e).1 % share == 0);
        assert_eq!(dropped, len - model.len() as u64);
        assert_same(&art, &model);
        let root = art.flush(&store).unwrap().root;
        art = Art::open(root, Arc::clone(&store), MemoryBudget::unlimited()).unwrap();
        assert_same(&art, &model);
    }
    assert!(before > 20 && art.pages().unwrap().len() <= 2, "what is left fits into one page");
}

#[test]
fn a_part_that_was_flushed_empty_is_forgotten_in_the_file_too() {
    let pages = Arc::new(Pages::default());
    let store: Arc<dyn PageStore> = Arc::clone(&pages) as Arc<dyn PageStore>;
    let mut art = Art::new(MemoryBudget::unlimited()).unwrap();
    for key in 0..1000u64 {
        art.insert(&entry(&key.to_be_bytes(), 1)).unwrap();
    }
    let place = art.find(&500u64.to_be_bytes()).unwrap();
    let mut gone = Vec::new();
    for_each_entry(&art.tree(place).unwrap(), |e| {
        gone.push(e.to_vec());
        true
    });
    gone.iter().for_each(|e| assert!(art.remove(e).unwrap()));
    let full = art.flush(&store).unwrap();
    art.retain(&gone[0], &mut |_, _| Ok(true)).unwrap();
    let flushed = art.flush(&store).unwrap();
    assert!(flushed.root != full.root && !flushed.unused.is_empty());
    flushed.unused.iter().for_each(|page| drop(pages.pages.lock().remove(&page.block)));
    let opened = Art::open(flushed.root, store, MemoryBudget::unlimited()).unwrap();
    assert_eq!(all_of(&opened, ALL, Direction::Forward).len(), 1000 - gone.len());
}

#[test]
fn without_memory_parts_are_written_and_belong_to_the_next_flush() {
    let pages: Arc<Pages> = Arc::default();
    let store: Arc<dyn PageStore> = Arc::<Pages>::clone(&pages);
    let budget = MemoryBudget::new(100_000);
    let mut art = Art::new(budget.clone()).unwrap().with_store(Arc::clone(&store));
    let (mut model, mut random) = (Model::new(), Random(9));
    let mut insert = |art: &mut Art, model: &mut Model| {
        for _ in 0..5000 {
            let entry = entry(&random.below(1 << 40).to_be_bytes(), 1);
            art.insert_or_write(&entry).unwrap();
            model.insert(entry);
        }
    };
    let mut root = None;
    for _ in 0..3 {
        insert(&mut art, &mut model);
        assert!(!pages.loose.lock().is_empty());
        assert_same(&art, &model);
        let flushed = art.flush(&store).unwrap();
        assert!(pages.loose.lock().is_empty(), "the root reaches all pages");
        flushed.unused.iter().for_each(|page| assert!(pages.pages.lock().remove(&page.block).is_some()));
        let reached: HashSet<u64> = art.pages().unwrap().iter().map(|page| page.block).collect();
        assert_eq!(reached, pages.pages.lock().keys().copied().collect());
        root = Some(flushed.root);
    }
    let flushed = model.clone();
    insert(&mut art, &mut model);
    assert_same(&art, &model);
    assert!(budget.peak() <= 100_000);
    drop(art);
    assert!(pages.loose.lock().is_empty(), "pages of nobody are given back");
    assert_same(&Art::open(root.unwrap(), store, MemoryBudget::unlimited()).unwrap(), &flushed);
}

//! How fast are indexes? A million entries: insertion in order and at random, lookups, ranges, a flush and lookups from
//! pages that have to be read first. Prints nanoseconds per entry, best of three runs on one thread.

#![allow(clippy::print_stdout, reason = "prints its result")]

use inlay_storage::index::{Index, IndexDef, PagePtr, PageStore};
use inlay_types::{Error, LogicalType, MemoryBudget, Result, VECTOR_SIZE, Value, Vector};
use std::ops::Bound;
use std::sync::{Arc, Mutex};
use std::time::Instant;

const ROWS: usize = 1_000_000;

/// Pages in memory.
#[derive(Default)]
struct Pages(Mutex<Vec<Vec<u8>>>);

impl PageStore for Pages {
    fn read(&self, page: PagePtr) -> Result<Vec<u8>> {
        let pages = self.0.lock().map_err(|_| Error::internal("lock"))?;
        pages.get(page.block as usize).cloned().ok_or_else(|| Error::corrupt("no such page"))
    }

    fn write(&self, bytes: &[u8]) -> Result<PagePtr> {
        let mut pages = self.0.lock().map_err(|_| Error::internal("lock"))?;
        pages.push(bytes.to_vec());
        Ok(PagePtr { block: pages.len() as u64 - 1, size: bytes.len() as u64, checksum: 0 })
    }
}

fn def() -> IndexDef {
    IndexDef { id: 1, columns: vec![0], types: vec![LogicalType::BigInt], unique: true }
}

fn best(what: &str, count: usize, mut run: impl FnMut() -> Result<()>) -> Result<()> {
    let mut best = f64::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_nanos() as f64 / count as f64);
    }
    println!("{what:<40} {best:8.1} ns");
    Ok(())
}

fn filled(keys: &[i64]) -> Result<Index> {
    let index = Index::new(def(), MemoryBudget::unlimited())?;
    for (batch, keys) in keys.chunks(VECTOR_SIZE).enumerate() {
        let column = Vector::from_values(LogicalType::BigInt, keys);
        index.insert_rows(&[column], &|row| (batch * VECTOR_SIZE + row) as i64)?;
    }
    Ok(index)
}

fn look_up(index: &Index, keys: &[i64]) -> Result<()> {
    let mut found = 0;
    for keys in keys.chunks(VECTOR_SIZE) {
        found += index.candidates_many(&[Vector::from_values(LogicalType::BigInt, keys)])?.len();
    }
    assert_eq!(found, keys.len());
    Ok(())
}

fn main() -> Result<()> {
    let sorted: Vec<i64> = (0..ROWS as i64).collect();
    // An odd factor makes a permutation of all 64-bit numbers.
    let random: Vec<i64> = sorted.iter().map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)).collect();
    let shuffled: Vec<i64> = sorted.iter().map(|k| k * 7_919 % ROWS as i64).collect();
    best("insert, ascending", ROWS, || filled(&sorted).map(drop))?;
    best("insert, dense in random order", ROWS, || filled(&shuffled).map(drop))?;
    best("insert, random", ROWS, || filled(&random).map(drop))?;
    let dense = filled(&sorted)?;
    let sparse = filled(&random)?;
    println!("{:<40} {:8.1} bytes", "memory per entry, dense", dense.memory_size() as f64 / ROWS as f64);
    println!("{:<40} {:8.1} bytes", "memory per entry, random", sparse.memory_size() as f64 / ROWS as f64);
    best("lookup, dense, ascending", ROWS, || look_up(&dense, &sorted))?;
    best("lookup, dense, random", ROWS, || look_up(&dense, &shuffled))?;
    best("lookup, random", ROWS, || look_up(&sparse, &random))?;
    best("lookup, one by one", ROWS, || {
        shuffled.iter().try_for_each(|k| dense.candidates(&[Value::BigInt(*k)]).map(drop))
    })?;
    best("range of 100, per row", ROWS, || {
        for start in shuffled.iter().take(ROWS / 100) {
            let (low, high) = ([Value::BigInt(*start)], [Value::BigInt(*start + 100)]);
            dense.candidates_range(Bound::Included(&low), Bound::Excluded(&high), 100)?;
        }
        Ok(())
    })?;
    best("full range, per row", ROWS, || {
        dense.candidates_range(Bound::Unbounded, Bound::Unbounded, ROWS + 1).map(drop)
    })?;
    let pages = Arc::new(Pages::default());
    let store: Arc<dyn PageStore> = Arc::clone(&pages) as Arc<dyn PageStore>;
    let start = Instant::now();
    let flushed = dense.flush(&store)?;
    println!("{:<40} {:8.1} ns", "flush", start.elapsed().as_nanos() as f64 / ROWS as f64);
    let size: u64 = flushed.written.iter().map(|page| page.size).sum();
    println!("{:<40} {:8.1} bytes", "pages, per entry", size as f64 / ROWS as f64);
    best("open and look up all, ascending", ROWS, || {
        let index = Index::open(def(), flushed.root, Arc::clone(&store), MemoryBudget::unlimited())?;
        look_up(&index, &sorted)
    })
}

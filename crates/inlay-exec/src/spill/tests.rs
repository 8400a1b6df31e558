//! Rows come back as they were; limits, broken disks and damage are clean errors; nothing is left behind.

use super::*;
use crate::context::ExecContext;
use crate::team::Workers;
use inlay_types::{Batch, Bitmap, Buffer, Dictionary, Interrupt, LogicalType, MemoryBudget, Value, Vector};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory of its own for one test, removed at its end; panics then if files are left.
pub(crate) struct TestDirectory(PathBuf);

impl TestDirectory {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("inlay-spill-{}-{number}", std::process::id())))
    }

    pub(crate) fn space(&self, size_max: Option<u64>) -> Arc<TempSpace> {
        Arc::new(TempSpace::new(&self.0, size_max))
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let left = std::fs::read_dir(&self.0).map_or(0, |entries| entries.count());
        let _ = std::fs::remove_dir_all(&self.0);
        if !std::thread::panicking() {
            assert_eq!(left, 0, "temporary files are left");
        }
    }
}

/// A context with a budget of `limit` bytes that spills into `space`.
pub(crate) fn context_with(limit: u64, threads: usize, space: &Arc<TempSpace>) -> ExecContext {
    ExecContext {
        batch_rows: inlay_types::VECTOR_SIZE,
        progress: Arc::default(),
        measured: None,
        by_value: true,
        statement: None,
        workers: Workers::new(threads),
        interrupt: Interrupt::new(),
        budget: MemoryBudget::new(limit),
        temp: Arc::clone(space),
    }
}

fn values(batch: &Batch) -> Vec<Vec<Value>> {
    (0..batch.len()).map(|row| batch.columns().iter().map(|c| c.get(row)).collect()).collect()
}

fn strings(len: usize) -> Vector {
    let text = |i: usize| match i % 4 {
        0 => Value::Null,
        1 => Value::Varchar(String::new()),
        2 => Value::Varchar(format!("short {i}")),
        _ => Value::Varchar(format!("a string that does not fit into its view {i}")),
    };
    Vector::from_sql_values(LogicalType::Varchar, &(0..len).map(text).collect::<Vec<_>>()).unwrap()
}

fn sample(len: usize) -> Batch {
    let words = ["", "a", "a word that does not fit into its view", "b"].map(|w| Value::Varchar(w.into()));
    let words = Vector::from_sql_values(LogicalType::Varchar, &words).unwrap();
    let codes: Vec<u32> = (0..len as u32).map(|i| i % 4).collect();
    let valid = Bitmap::from_fn(len, |i| i % 7 != 0);
    let coded = Vector::dictionary(Dictionary::new(words), Buffer::copy_of(&codes), len, Some(valid));
    let huge: Vec<Value> = (0..len).map(|i| Value::HugeInt((i as i128) << 70)).collect();
    let bools: Vec<Value> = (0..len).map(|i| Value::Boolean(i % 3 == 0)).collect();
    let constant = Value::Varchar("the same long string everywhere".into());
    let columns = vec![
        strings(len),
        Vector::from_values(LogicalType::Integer, &(0..len as i32).collect::<Vec<_>>()),
        coded,
        Vector::nulls(LogicalType::Double, len),
        Vector::constant(LogicalType::Varchar, &constant, len).unwrap(),
        Vector::from_sql_values(LogicalType::HugeInt, &huge).unwrap(),
        Vector::from_sql_values(LogicalType::Boolean, &bools).unwrap(),
    ];
    Batch::new(columns, len)
}

#[test]
fn batches_come_back_as_they_were() {
    let directory = TestDirectory::new();
    let space = directory.space(None);
    let file = SpillFile::new(&context_with(0, 1, &space));
    let batches: Vec<Batch> = [1, 64, 65, 2048, 7].into_iter().map(sample).collect();
    let mut rows = SpilledRows::new(&file, &batches[0].types());
    for batch in &batches {
        rows.push(batch.columns(), batch.len()).unwrap();
    }
    assert_eq!(rows.rows(), 2185);
    let mut reader = rows.reader();
    for batch in &batches {
        assert_eq!(values(&reader.next().unwrap().unwrap()), values(batch));
    }
    assert!(reader.next().unwrap().is_none());
    assert!(space.used() > 0);
    drop((reader, rows, file));
    assert_eq!(space.used(), 0);
}

#[test]
fn partitions_hold_every_row_once() {
    let directory = TestDirectory::new();
    let space = directory.space(None);
    let context = context_with(0, 2, &space);
    let file = SpillFile::new(&context);
    let batch = sample(2048);
    let partitions = SpillPartitions::new(&file, &batch.types(), 5);
    context
        .parallel(20, |_| {
            let mut selection = Selection::new(5);
            selection.fill(batch.len(), |row| row % 5);
            partitions.append(batch.columns(), &selection)
        })
        .unwrap();
    let mut found = 0;
    for (number, part) in partitions.finish().unwrap().into_iter().enumerate() {
        let mut reader = part.reader();
        while let Some(read) = reader.next().unwrap() {
            let all = values(&batch);
            for row in values(&read) {
                let Value::Integer(place) = row[1] else { unreachable!() };
                assert_eq!(place as usize % 5, number);
                assert_eq!(row, all[place as usize]);
                found += 1;
            }
        }
    }
    assert_eq!(found, 20 * 2048);
}

#[test]
fn limits_and_broken_disks_are_clean_errors() {
    let directory = TestDirectory::new();
    let space = directory.space(Some(20_000));
    let batch = sample(2048);
    let fill = |space: &Arc<TempSpace>| {
        let mut rows = SpilledRows::new(&SpillFile::new(&context_with(0, 1, space)), &batch.types());
        (0..100).try_for_each(|_| rows.push(batch.columns(), batch.len()))
    };
    let error = fill(&space).unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }));
    assert!(error.to_string().contains("max_temp_directory_size"), "{error}");
    assert!(error.to_string().contains("20000"), "{error}");
    assert_eq!(space.used(), 0);
    space.set_limit(None);
    space.broken_at.store(100_000, Ordering::Relaxed);
    assert!(matches!(fill(&space), Err(Error::Io { .. })));
    let context = context_with(0, 1, &space);
    context.interrupt.set();
    let mut rows = SpilledRows::new(&SpillFile::new(&context), &batch.types());
    assert_eq!(rows.push(batch.columns(), batch.len()), Err(Error::Interrupted));
}

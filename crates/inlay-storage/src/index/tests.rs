use super::*;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

#[derive(Default)]
struct Pages(Mutex<HashMap<u64, Vec<u8>>>);

impl PageStore for Pages {
    fn read(&self, page: PagePtr) -> Result<Vec<u8>> {
        self.0.lock().unwrap().get(&page.block).cloned().ok_or_else(|| Error::corrupt("no such page"))
    }

    fn write(&self, bytes: &[u8]) -> Result<PagePtr> {
        let mut pages = self.0.lock().unwrap();
        let block = pages.len() as u64;
        pages.insert(block, bytes.to_vec());
        Ok(PagePtr { block, size: bytes.len() as u64, checksum: 0 })
    }
}

fn def(types: &[LogicalType]) -> IndexDef {
    IndexDef { id: 1, columns: (0..types.len()).collect(), types: types.to_vec(), unique: true }
}

fn integers(values: &[Option<i32>]) -> Vector {
    let values: Vec<Value> = values.iter().map(|v| v.map_or(Value::Null, Value::Integer)).collect();
    Vector::from_sql_values(LogicalType::Integer, &values).unwrap()
}

fn index_of(values: &[Option<i32>]) -> Index {
    let index = Index::new(def(&[LogicalType::Integer]), MemoryBudget::unlimited()).unwrap();
    index.insert_rows(&[integers(values)], &|row| row as i64).unwrap();
    index
}

#[test]
fn candidates_are_the_rows_with_the_key() {
    let index = index_of(&[Some(5), None, Some(-1), Some(5), None]);
    assert_eq!(index.candidates(&[Value::Integer(5)]).unwrap(), [0, 3]);
    assert_eq!(index.candidates(&[Value::BigInt(-1)]).unwrap(), [2]);
    assert_eq!(index.candidates(&[Value::BigInt(1 << 40)]).unwrap(), []);
    assert_eq!(index.candidates(&[Value::Null]).unwrap(), [1, 4]);
    let many = index.candidates_many(&[integers(&[Some(-1), None, Some(7), Some(5)])]).unwrap();
    assert_eq!(many, [(0, 2), (3, 0), (3, 3)]);
}

#[test]
fn ranges_end_where_their_bounds_say() {
    let index = index_of(&[Some(3), None, Some(1), Some(2), Some(4)]);
    let (two, four) = ([Value::Integer(2)], [Value::Integer(4)]);
    let null = [Value::Null];
    let range = |low, high| index.candidates_range(low, high, 10).unwrap();
    assert_eq!(range(Bound::Included(&two[..]), Bound::Excluded(&four[..])), [3, 0]);
    assert_eq!(range(Bound::Excluded(&two[..]), Bound::Included(&four[..])), [0, 4]);
    assert_eq!(range(Bound::Unbounded, Bound::Excluded(&null[..])), [2, 3, 0, 4]);
    assert_eq!(range(Bound::Included(&null[..]), Bound::Included(&null[..])), [1]);
    assert_eq!(range(Bound::Unbounded, Bound::Unbounded), [2, 3, 0, 4, 1]);
    assert_eq!(range(Bound::Included(&four[..]), Bound::Excluded(&two[..])), []);
}

#[test]
fn a_range_read_in_pieces_is_the_range() {
    let values: Vec<Option<i32>> = (0..3000).map(|i| Some(i * 7919 % 3000 / 3)).collect();
    let index = index_of(&values);
    let whole = index.candidates_range(Bound::Unbounded, Bound::Unbounded, usize::MAX).unwrap();
    assert_eq!(whole.len(), 3000);
    for direction in [Direction::Forward, Direction::Backward] {
        let mut cursor = index.range(Bound::Unbounded, Bound::Unbounded, direction).unwrap();
        let mut pieces = Vec::new();
        loop {
            let piece = index.next_candidates(&mut cursor, 37).unwrap();
            if piece.is_empty() {
                break;
            }
            pieces.extend(piece);
        }
        if direction == Direction::Backward {
            pieces.reverse();
        }
        assert_eq!(pieces, whole);
    }
}

#[test]
fn prefixes_of_several_columns_find_all_their_rows() {
    let types = [LogicalType::Varchar, LogicalType::Integer];
    let index = Index::new(def(&types), MemoryBudget::unlimited()).unwrap();
    let texts: Vec<Value> = ["a", "ab", "a", ""].iter().map(|t| Value::Varchar((*t).into())).collect();
    let columns = [
        Vector::from_sql_values(LogicalType::Varchar, &texts).unwrap(),
        integers(&[Some(2), Some(1), Some(1), None]),
    ];
    index.insert_rows(&columns, &|row| row as i64 + 10).unwrap();
    assert_eq!(index.candidates(&texts[..1]).unwrap(), [12, 10]);
    assert_eq!(index.candidates(&[texts[0].clone(), Value::Integer(2)]).unwrap(), [10]);
    assert_eq!(index.candidates(&[texts[3].clone(), Value::Null]).unwrap(), [13]);
    assert!(index.insert_rows(&columns[..1], &|_| 0).is_err());
}

/// Enters rows `ids` with `keys` over a table of live rows.
fn enter(index: &Index, live: &HashMap<i64, i32>, ids: &[i64], keys: &[Option<i32>]) -> Option<Clash> {
    let pending = PendingKeys {
        columns: &[integers(keys)],
        row_ids: &|position| ids[position],
        position: &|id| ids.iter().position(|i| *i == id),
    };
    let mut equals =
        |id: i64, position: usize| Ok(live.get(&id).is_some_and(|key| Some(*key) == keys[position]));
    index.enter(&pending, &mut equals).unwrap()
}

#[test]
fn a_key_clashes_with_live_and_with_earlier_pending_rows_alone() {
    let index = index_of(&[]);
    let mut live = HashMap::new();
    assert_eq!(enter(&index, &live, &[0, 1, 2, 3], &[Some(1), Some(2), None, None]), None);
    live.extend([(0, 1), (1, 2)]);
    assert_eq!(enter(&index, &live, &[4, 5], &[Some(3), Some(2)]), Some(Clash { position: 1, row_id: 1 }));
    assert_eq!(enter(&index, &live, &[6, 7], &[Some(9), Some(9)]), Some(Clash { position: 1, row_id: 6 }));
    // Deleted, and never committed: their entries are stale.
    live.remove(&1);
    assert_eq!(enter(&index, &live, &[8, 9], &[Some(2), Some(3)]), None);
    live.extend([(8, 2), (9, 3)]);
    // Two rows exchange their keys, and a row keeps its own.
    assert_eq!(enter(&index, &live, &[8, 9], &[Some(3), Some(2)]), None);
    assert_eq!(enter(&index, &live, &[0], &[Some(1)]), None);
}

#[test]
fn vacuum_drops_stale_entries_and_flushes_keep_the_rest() {
    let values: Vec<Option<i32>> = (0..5000).map(|i| (i % 10 != 0).then_some(i)).collect();
    let index = index_of(&values);
    let store: Arc<dyn PageStore> = Arc::new(Pages::default());
    index.flush(&store).unwrap();
    assert!(!index.is_bloated(1000) && !index.is_dirty());
    assert_eq!(index.vacuum(&mut |_, id| Ok(id % 4 == 0)).unwrap(), 3750);
    let root = index.flush(&store).unwrap().root;
    let opened =
        Index::open(def(&[LogicalType::Integer]), root, Arc::clone(&store), MemoryBudget::unlimited())
            .unwrap();
    opened.check_pages().unwrap();
    assert_eq!(opened.len(), 1250);
    assert_eq!(opened.candidates(&[Value::Integer(44)]).unwrap(), [44]);
    assert_eq!(opened.candidates(&[Value::Integer(45)]).unwrap(), []);
    let evicted = opened.evict(u64::MAX);
    assert!(evicted > 0 && opened.memory_size() == 0);
}

#[test]
fn readers_see_every_entry_that_was_there_before_they_looked() {
    let index = index_of(&[]);
    let store: Arc<dyn PageStore> = Arc::new(Pages::default());
    let (entered, done) = (AtomicI64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for reader in 0..3i64 {
            let (index, entered, done) = (&index, &entered, &done);
            scope.spawn(move || {
                let mut at = reader;
                while !done.load(Ordering::Acquire) {
                    let count = entered.load(Ordering::Acquire);
                    at = (at + 7919) % count.max(1);
                    if count > 0 {
                        assert_eq!(index.candidates(&[Value::Integer(at as i32)]).unwrap(), [at]);
                        let low = [Value::Integer(at as i32)];
                        let range =
                            index.candidates_range(Bound::Included(&low), Bound::Unbounded, 50).unwrap();
                        assert!(range.len() as i64 >= 50.min(count - at));
                        assert!(range.iter().zip(at..).all(|(found, wanted)| *found == wanted));
                    }
                }
            });
        }
        for batch in 0..60 {
            let values: Vec<Option<i32>> = (batch * 100..batch * 100 + 100).map(Some).collect();
            index.insert_rows(&[integers(&values)], &|row| i64::from(batch) * 100 + row as i64).unwrap();
            entered.store(i64::from(batch) * 100 + 100, Ordering::Release);
            if batch % 5 == 4 {
                index.flush(&store).unwrap();
                index.evict(u64::MAX);
            }
        }
        done.store(true, Ordering::Release);
    });
    assert_eq!(index.len(), 6000);
}

/// Rows of one key are looked at a few times each, however many they are and whatever the index has under the key: entries of
/// rows that are no more, of the rows themselves, or none. Who is told of a clash finds nothing entered.
#[test]
fn many_rows_of_one_key_are_looked_at_a_few_times_each() {
    for rows in [1000i64, 2000, 4000, 8000] {
        let index = index_of(&vec![Some(7); rows as usize]);
        let asked = std::cell::Cell::new(0);
        let count = || asked.set(asked.get() + 1);
        // The second half of the pending rows has the key, the first is of many keys: `7` is in no order.
        let keys: Vec<Option<i32>> =
            (0..rows as i32).map(|row| Some(if row % 2 == 0 { 100_000 - row } else { 7 })).collect();
        let columns = [integers(&keys)];
        let pending = PendingKeys {
            columns: &columns,
            row_ids: &|position| {
                count();
                rows + position as i64
            },
            position: &|id| usize::try_from(id - rows).ok(),
        };
        let mut is_live = |_: i64, _: usize| {
            count();
            Ok(false)
        };
        let clash = Some(Clash { position: 3, row_id: rows + 1 });
        assert_eq!(index.enter(&pending, &mut is_live).unwrap(), clash);
        assert_eq!(index.first_clash(&pending, &mut is_live).unwrap(), clash);
        assert_eq!(index.len(), rows as u64);
        assert!(asked.get() <= 8 * rows, "{rows} rows: {} looks", asked.get());
        let found = index.candidates_many(&columns).unwrap();
        assert_eq!(found.len(), rows as usize, "each entry once, for the first row of its key");
        assert!(found.iter().all(|(position, _)| *position == 1));
    }
}

/// The row that is told of is the first by position, be it that it has the key of a live row or of one before it.
#[test]
fn the_first_clash_by_position_is_told() {
    let index = index_of(&[Some(5), Some(6)]);
    let live = HashMap::from([(0, 5), (1, 6)]);
    let none: HashMap<i64, i32> = HashMap::new();
    let (keys, ids) = ([Some(9), Some(9), Some(1), Some(6), Some(5), Some(1)], [10, 11, 12, 13, 14, 15]);
    assert_eq!(enter(&index, &live, &ids, &keys), Some(Clash { position: 1, row_id: 10 }));
    let keys = [Some(9), Some(2), Some(1), Some(6), Some(5), Some(9)];
    assert_eq!(enter(&index, &live, &ids, &keys), Some(Clash { position: 3, row_id: 1 }));
    assert_eq!(enter(&index, &none, &ids, &keys), Some(Clash { position: 5, row_id: 10 }));
    // One row that comes twice is no other row than itself.
    assert_eq!(enter(&index, &none, &[20, 20], &[Some(50), Some(50)]), None);
    assert_eq!(enter(&index, &none, &[30, 31, 32], &[None, None, None]), None);
}

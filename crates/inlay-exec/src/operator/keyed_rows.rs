//! The rows of a recursion USING KEY: one for each key, the one that came last.
//!
//! Batches are kept as they come, with a flag per row that says whether it is still its key's; when most are not, the
//! others move together. Keys and whole rows are compared as ordered bytes, in which NULL equals NULL.

use inlay_storage::index::encode_rows;
use inlay_types::{Batch, Error, Interrupt, MemoryBudget, Reservation, Result, Vector};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Rows that are no key's any more which are kept whatever the number of the others.
const DEAD_FREE: usize = 65_536;
/// What a key takes besides its bytes.
const ENTRY_BYTES: usize = 96;

/// See the module documentation.
pub(super) struct KeyedRows {
    /// Positions of the key's columns.
    keys: Vec<usize>,
    /// Whether a row that is there already counts as new.
    all: bool,
    places: HashMap<Box<[u8]>, Place>,
    batches: Vec<(Batch, Vec<bool>)>,
    rows: usize,
    bytes: usize,
    /// The first batch of this round.
    round_start: usize,
    reservation: Reservation,
    interrupt: Interrupt,
}

struct Place {
    row: Box<[u8]>,
    batch: u32,
    index: u32,
}

impl KeyedRows {
    pub fn new(keys: Vec<usize>, all: bool, budget: &MemoryBudget, interrupt: Interrupt) -> Result<Self> {
        Ok(Self {
            keys,
            all,
            places: HashMap::new(),
            batches: Vec::new(),
            rows: 0,
            bytes: 0,
            round_start: 0,
            reservation: budget.reserve(0)?,
            interrupt,
        })
    }

    /// Begins a round: what comes from now on is changed in it.
    pub fn begin_round(&mut self) -> Result<()> {
        if self.rows > 2 * self.places.len() + DEAD_FREE {
            self.compact()?;
        }
        self.round_start = self.batches.len();
        Ok(())
    }

    /// Takes rows in; each replaces that of its key.
    pub fn insert(&mut self, batch: Batch) -> Result<()> {
        self.interrupt.check()?;
        let of_keys: Vec<Vector> = self.keys.iter().map(|&key| batch.column(key).clone()).collect();
        let (keys, rows) = (encode_rows(&of_keys)?, encode_rows(batch.columns())?);
        let number = u32::try_from(self.batches.len()).map_err(|_| Error::internal("too many batches"))?;
        let mut alive = vec![false; batch.len()];
        for index in 0..batch.len() {
            let (key, row) = (keys.key(index), rows.key(index));
            let place = Place { row: row.into(), batch: number, index: index as u32 };
            match self.places.entry(key.into()) {
                Entry::Occupied(known) if !self.all && *known.get().row == *row => continue,
                Entry::Occupied(mut known) => {
                    let old = known.insert(place);
                    match self.batches.get_mut(old.batch as usize) {
                        Some((_, alive)) => alive[old.index as usize] = false,
                        None => alive[old.index as usize] = false,
                    }
                    self.bytes = self.bytes + row.len() - old.row.len();
                }
                Entry::Vacant(free) => {
                    free.insert(place);
                    self.bytes += key.len() + row.len() + ENTRY_BYTES;
                }
            }
            alive[index] = true;
        }
        if alive.contains(&true) {
            // The bytes of a row stand for those of the batch, too.
            self.rows += batch.len();
            self.batches.push((batch, alive));
        }
        self.reservation.resize(2 * self.bytes as u64)
    }

    /// The rows that this round changed, as they are now.
    pub fn changed(&self) -> impl Iterator<Item = Batch> + '_ {
        self.batches[self.round_start..].iter().filter_map(living)
    }

    /// The rows of all keys.
    pub fn rows(&self) -> impl Iterator<Item = Batch> + '_ {
        self.batches.iter().filter_map(living)
    }

    /// Drops the rows that are no key's any more.
    fn compact(&mut self) -> Result<()> {
        let mut moved: Vec<Vec<u32>> = Vec::with_capacity(self.batches.len());
        let mut numbers: Vec<u32> = Vec::with_capacity(self.batches.len());
        let mut kept = Vec::new();
        self.rows = 0;
        for (batch, alive) in &self.batches {
            self.interrupt.check()?;
            let mut next = 0;
            let place = |alive: &bool| {
                let at = next;
                next += u32::from(*alive);
                at
            };
            moved.push(alive.iter().map(place).collect());
            numbers.push(kept.len() as u32);
            if let Some(living) = living(&(batch.clone(), alive.clone())) {
                self.rows += living.len();
                let alive = vec![true; living.len()];
                kept.push((living, alive));
            }
        }
        for place in self.places.values_mut() {
            place.index = moved[place.batch as usize][place.index as usize];
            place.batch = numbers[place.batch as usize];
        }
        self.batches = kept;
        Ok(())
    }
}

fn living((batch, alive): &(Batch, Vec<bool>)) -> Option<Batch> {
    let rows: Vec<u32> = (0..batch.len() as u32).filter(|&row| alive[row as usize]).collect();
    match rows.len() {
        0 => None,
        count if count == batch.len() => Some(batch.clone()),
        _ => Some(batch.take(&rows)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{LogicalType, Value};

    #[test]
    fn the_last_row_of_a_key_stays_through_compactions() {
        let budget = MemoryBudget::new(1 << 30);
        let mut rows = KeyedRows::new(vec![0], false, &budget, Interrupt::default()).unwrap();
        let batch = |value: i64| {
            let column = |values: Vec<i64>| {
                let values: Vec<Value> = values.into_iter().map(Value::BigInt).collect();
                Vector::from_sql_values(LogicalType::BigInt, &values).unwrap()
            };
            Batch::new(vec![column((0..1000).collect()), column(vec![value; 1000])], 1000)
        };
        for round in 0..200 {
            rows.begin_round().unwrap();
            rows.insert(batch(round)).unwrap();
            assert_eq!(rows.changed().map(|batch| batch.len()).sum::<usize>(), 1000);
        }
        assert!(rows.rows < 100_000);
        rows.begin_round().unwrap();
        rows.insert(batch(199)).unwrap();
        assert_eq!(rows.changed().count(), 0);
        let all: Vec<Batch> = rows.rows().collect();
        assert_eq!(all.iter().map(Batch::len).sum::<usize>(), 1000);
        assert!(all.iter().all(|batch| batch.column(1).get(0) == Value::BigInt(199)));
    }
}

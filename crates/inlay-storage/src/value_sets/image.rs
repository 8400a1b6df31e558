//! Sets as bytes, and back.
//!
//! ```text
//! sets: version u8 = 1 | values, the sized image of a segment | the image of the set of each | the image of NULL's
//! ```
//! Nothing is believed: values ascend, no set is empty, and each row is in exactly one of them.

use super::{DISTINCT_MAX, ValueSets, rows_of};
use crate::bytes::{ByteReader, ByteWriter};
use crate::segment::Segment;
use inlay_rowsets::{Marks, Places};
use inlay_types::{Error, LogicalType, MemoryBudget, Result};

const VERSION: u8 = 1;

impl ValueSets {
    /// The bytes of the sets. Equal sets have equal bytes.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = ByteWriter::new();
        out.u8(VERSION);
        out.sized(&self.values.to_bytes()?);
        let mut bytes = out.finish();
        self.sets.iter().for_each(|set| set.write(&mut bytes));
        self.nulls.write(&mut bytes);
        Ok(bytes)
    }

    /// The sets that bytes say, of a column of so many rows of a type.
    pub(crate) fn from_bytes(
        ty: &LogicalType,
        bytes: &[u8],
        len: usize,
        budget: &MemoryBudget,
    ) -> Result<Self> {
        let rows = rows_of(len)?;
        let mut from = ByteReader::new(bytes);
        match from.u8()? {
            VERSION => {}
            other => return Err(Error::corrupt(format!("sets of version {other}"))),
        }
        let values = Segment::from_bytes(ty.clone(), from.sized()?, budget)?;
        let ascend = |number: usize| values.get(number).total_cmp(&values.get(number + 1)).is_lt();
        let count = values.len();
        if count > DISTINCT_MAX || values.meta().null_count > 0 || !(1..count).all(|next| ascend(next - 1)) {
            return Err(Error::corrupt(format!(
                "{count} values of sets that do not ascend, or are too many"
            )));
        }
        let mut rest = from.raw(from.remaining())?;
        let mut reservation = budget.reserve(0)?;
        let mut all = Marks::none(rows);
        let mut total = 0u64;
        let mut read = |rest: &mut &[u8]| {
            let set = Places::read(rest, rows)?;
            reservation.grow(set.memory_size() as u64)?;
            all.add(&set)?;
            total += u64::from(set.count());
            Ok(set)
        };
        let sets = (0..count).map(|_| read(&mut rest)).collect::<Result<Vec<Places>>>()?;
        let nulls = read(&mut rest)?;
        if total != u64::from(rows) || all.count() != rows || sets.iter().any(Places::is_empty) {
            return Err(Error::corrupt("sets that do not have each row once"));
        }
        if !rest.is_empty() {
            return Err(Error::corrupt(format!("{} bytes behind sets", rest.len())));
        }
        Ok(Self { values, sets, nulls, reservation })
    }
}

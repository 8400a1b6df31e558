//! The rows of a statement, in portions that fit into memory.

use super::key_set;
use super::rows::joined;
use crate::change::load::is_literal;
use crate::execute::Run;
use inlay_exec::{RowStream, rows_size};
use inlay_sql::plan::statement::Query;
use inlay_storage::ROW_GROUP_SIZE;
use inlay_types::{Batch, LogicalType, MemoryBudget, Reservation, Result};

/// A portion takes no more than this share of the memory limit; more rows are taken in portions.
const SHARE: u64 = 8;
/// Rows that a portion may always have: half of them become a row group of their own.
const ROWS_MIN: usize = ROW_GROUP_SIZE / 2;
/// Copies of a row that there are while it is changed: as it came, among the others, and among those that are new or change.
const COPIES: u64 = 3;
/// Bytes that a row takes besides: its key, which is as long as its values at most, the key's number and the row that it meets.
const ROW_SIZE: usize = key_set::SIZE_PER_KEY + 64;

/// Rows of a query that is under way.
pub(super) struct Portions {
    rows: Rows,
    types: Vec<LogicalType>,
    budget: MemoryBudget,
    /// A batch that did not fit into the portion before.
    next: Option<Batch>,
}

enum Rows {
    /// All of them; none when they were taken.
    InHand(Vec<Batch>),
    Streamed(Box<RowStream>),
}

impl Portions {
    /// The rows of an optimised query, of these types.
    pub fn of(run: &Run<'_>, query: &Query, types: Vec<LogicalType>) -> Result<Self> {
        let context = run.context();
        let rows = match is_literal(&query.plan) {
            true => Rows::InHand(inlay_exec::execute(query, &context)?),
            false => Rows::Streamed(Box::new(inlay_exec::stream(query, &context)?)),
        };
        Ok(Self { rows, types, budget: run.database.budget().yielding(), next: None })
    }

    /// The next rows, and the memory that is reserved for work with them; `make_room` is called where there is none for any.
    pub fn next_portion(
        &mut self,
        make_room: &dyn Fn() -> Result<()>,
    ) -> Result<Option<(Batch, Reservation)>> {
        let bytes_max = self.budget.limit() / SHARE;
        let mut reserved = self.budget.reserve(0)?;
        let (mut batches, mut len) = (Vec::new(), 0);
        while let Some(batch) = self.next_batch()? {
            let bytes =
                COPIES * rows_size(batch.columns(), batch.len()) as u64 + (ROW_SIZE * batch.len()) as u64;
            let is_full = reserved.bytes() + bytes > bytes_max && len >= ROWS_MIN;
            if !batches.is_empty() && (is_full || reserved.grow(bytes).is_err()) {
                self.next = Some(batch);
                break;
            }
            if batches.is_empty() && reserved.grow(bytes).is_err() {
                make_room()?;
                let reason = "ON CONFLICT and RETURNING need memory for some rows and their keys";
                reserved.grow(bytes).map_err(|refused| refused.because(reason))?;
            }
            len += batch.len();
            batches.push(batch);
        }
        Ok(if batches.is_empty() { None } else { Some((joined(&batches, &self.types)?, reserved)) })
    }

    /// Whether rows are known to follow.
    pub fn has_more(&self) -> bool {
        self.next.is_some()
    }

    fn next_batch(&mut self) -> Result<Option<Batch>> {
        if let Some(batch) = self.next.take() {
            return Ok(Some(batch));
        }
        match &mut self.rows {
            Rows::InHand(batches) if batches.is_empty() => Ok(None),
            Rows::InHand(batches) => Ok(Some(joined(&std::mem::take(batches), &self.types)?)),
            Rows::Streamed(stream) => stream.next_batch(),
        }
    }
}

//! All rows of an answer on their way into a host's arrays: those that are there, and those that are computed meanwhile.
//!
//! Rows are written to their final place part by part, and each part is dropped when it is written. So arrays and rows
//! together take hardly more than the arrays, if nobody else has the answer.

use crate::columns::{self, Consumed, Crew, Growth};
use crate::host::{Host, interrupt_of};
use crate::rest::{Reading, Rest};
use crate::result::{HostColumn, QueryResult};
use inlay_exec::rows_size;
use inlay_types::allocator::Hurry;
use inlay_types::arrow::{ArrowArray, Exporter};
use inlay_types::host::HostForm;
use inlay_types::{Batch, Interrupt, LogicalType, Reservation, Result, Vector};
use std::sync::Arc;

/// Bytes of rows that are written at once.
const PART_BYTES: usize = 8 << 20;
/// Bytes of rows that are there from which on their memory is to go back soon.
const HURRIED_BYTES: usize = 32 << 20;

/// Rows for a host, which it gets as whole columns.
pub struct Delivery {
    first: QueryResult,
    rest: Option<(Reading, Rest)>,
    /// Looked at until all rows are there.
    interrupt: Interrupt,
}

impl Delivery {
    /// The rows of `first` and those behind them. `host` is asked meanwhile whether to end.
    pub fn new(first: QueryResult, rest: Option<Rest>, host: &Arc<dyn Host>) -> Self {
        let rest = rest.map(|rest| (rest.reading(Some(host)), rest));
        let interrupt = match &rest {
            Some((reading, rest)) => rest.interrupt(reading),
            None => interrupt_of(host),
        };
        Self { first: first.interrupted_by(interrupt.clone()), rest, interrupt }
    }

    /// The number of rows, and each column in the form given for it, as [`QueryResult::host_column`], or its rows where none
    /// is given.
    pub fn into_host_columns(self, forms: &[Option<HostForm>]) -> Result<(usize, Vec<HostColumn>)> {
        if let Some(columns) = self.first.table_columns(forms)? {
            return Ok((self.first.row_count(), columns));
        }
        let expected = if self.rest.is_some() { 0 } else { self.first.row_count() };
        let mut parts = self.parts()?;
        let header = parts.header.without_rows();
        let mut growth = Growth::new(header.types(), forms, expected);
        while let Some(part) = parts.next()? {
            header.with_crew(|crew| growth.push(part, crew))?;
        }
        let (len, columns) = (growth.len(), growth.finish());
        let columns = columns.into_iter().enumerate().map(|(index, column)| match column {
            Consumed::Values { form, data, nulls } => {
                HostColumn::Values { form, is_finite: form == HostForm::Midnights, data, nulls }
            }
            Consumed::Vectors(vectors) => HostColumn::Rows(header.column_of(index, vectors)),
        });
        Ok((len, columns.collect()))
    }

    /// Arrow struct arrays of about `rows` rows.
    pub fn into_arrow_arrays(self, exporter: &Exporter, rows: usize) -> Result<Vec<ArrowArray>> {
        if let Some(arrays) = self.first.table_arrays(exporter, rows)? {
            return Ok(arrays);
        }
        let mut parts = self.parts()?;
        let (mut arrays, mut pending, mut is_last) = (Vec::new(), Chunks::default(), false);
        while !is_last {
            match parts.next()? {
                Some(part) => pending.push(part, rows),
                None => is_last = true,
            }
            let chunks = if is_last { pending.all() } else { pending.complete() };
            let header = &parts.header;
            let converted = header.with_crew(|crew| arrow_arrays(exporter, header.types(), chunks, crew));
            arrays.extend(converted?);
        }
        if arrays.is_empty() {
            arrays.push(parts.header.arrow_array(exporter, 0..0)?);
        }
        Ok(arrays)
    }

    fn parts(self) -> Result<Parts> {
        let Self { first, rest, interrupt } = self;
        let (header, first_held) = (first.without_rows(), first.held());
        let first = first.into_batches()?;
        let size: usize = first.iter().map(|batch| rows_size(batch.columns(), batch.len())).sum();
        let hurry = (size >= HURRIED_BYTES).then(Hurry::new);
        let first = first.into_iter();
        Ok(Parts {
            first,
            rest,
            interrupt,
            header,
            written: 0,
            held: None,
            _first_held: first_held,
            _hurry: hurry,
        })
    }
}

/// Batches in the order of rows, part by part.
struct Parts {
    first: std::vec::IntoIter<Batch>,
    rest: Option<(Reading, Rest)>,
    interrupt: Interrupt,
    /// The answer without rows, which has the workers.
    header: QueryResult,
    /// Bytes of batches that were handed out since memory was given back.
    written: usize,
    /// For the rows of the rest that were handed out.
    held: Option<Reservation>,
    /// For the rows that are there.
    _first_held: Option<Arc<Reservation>>,
    /// Rows that are there become free while they are written, by threads that did not make them.
    _hurry: Option<Hurry>,
}

impl Parts {
    /// The next ones; those before have been dropped. `None` at the end.
    fn next(&mut self) -> Result<Option<Vec<Batch>>> {
        if self.written >= 2 * PART_BYTES {
            self.given_back();
        }
        if let Some((_, rest)) = &self.rest {
            rest.check(&self.interrupt)?;
        }
        let (mut part, mut bytes) = (Vec::new(), 0);
        while bytes < PART_BYTES
            && let Some(batch) = self.first.next()
        {
            bytes += rows_size(batch.columns(), batch.len());
            part.push(batch);
        }
        if part.is_empty()
            && let Some((reading, rest)) = &self.rest
        {
            (part, bytes) = rest.read_reserved(reading, PART_BYTES, &mut self.held)?;
        }
        self.written += bytes;
        if part.is_empty() {
            self.rest = None;
            if self.written >= PART_BYTES {
                self.given_back();
            }
            return Ok(None);
        }
        Ok(Some(part))
    }

    fn given_back(&mut self) {
        self.header.give_back();
        self.written = 0;
    }
}

/// Batches of about so many rows each.
#[derive(Default)]
struct Chunks {
    complete: Vec<Vec<Batch>>,
    open: Vec<Batch>,
    open_rows: usize,
}

impl Chunks {
    fn push(&mut self, part: Vec<Batch>, rows: usize) {
        for batch in part {
            if self.open_rows > 0 && self.open_rows + batch.len() > rows {
                self.complete.push(std::mem::take(&mut self.open));
                self.open_rows = 0;
            }
            self.open_rows += batch.len();
            self.open.push(batch);
        }
    }

    fn complete(&mut self) -> Vec<Vec<Batch>> {
        std::mem::take(&mut self.complete)
    }

    fn all(&mut self) -> Vec<Vec<Batch>> {
        let mut all = self.complete();
        all.extend((!self.open.is_empty()).then(|| std::mem::take(&mut self.open)));
        all
    }
}

/// Each chunk as one array; all workers convert columns.
fn arrow_arrays(
    exporter: &Exporter,
    types: &[LogicalType],
    chunks: Vec<Vec<Batch>>,
    crew: Crew<'_>,
) -> Result<Vec<ArrowArray>> {
    let workers = crew.workers.alone();
    let alone = Crew { workers: &workers, ..crew };
    let lens: Vec<usize> = chunks.iter().map(|chunk| chunk.iter().map(Batch::len).sum()).collect();
    columns::arrow_arrays(&lens, types.len(), crew, |chunk, index| {
        let parts: Vec<&Vector> = chunks[chunk].iter().map(|batch| batch.column(index)).collect();
        if let [part] = parts[..] {
            return exporter.column(index, part);
        }
        exporter.column(index, &columns::join(types[index].clone(), &parts, alone)?)
    })
}

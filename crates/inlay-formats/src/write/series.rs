//! Files of a folder, one after the other: `data_0.csv`, `data_1.csv`, ...

use super::layout::{Layout, ROW_GROUP_ROWS};
use super::names::NamePattern;
use super::{Account, Destination, FileWriter, open_single};
use crate::Parallel;
use crate::files::Files;
use inlay_types::{Batch, LogicalType, Result, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Batches that are written before the size of a file is looked at.
const BATCHES_AT_ONCE: usize = 8;

/// How files of a folder are named, and what is in them.
#[derive(Clone)]
pub(super) struct Kind {
    pub files: Arc<Files>,
    pub names: Vec<String>,
    pub types: Vec<LogicalType>,
    pub format: String,
    pub options: Vec<(String, Value)>,
    pub extension: String,
    pub bytes_max: Option<u64>,
    pub rows_max: Option<usize>,
    /// Takes down what was written.
    pub account: Arc<Account>,
}

/// Names of the files of a folder.
pub(super) struct Numbered {
    pub folder: String,
    pub pattern: Arc<NamePattern>,
    /// The next number, which others may take as well.
    pub next: Arc<AtomicUsize>,
}

/// A file that is being written.
struct Current {
    writer: Box<dyn FileWriter>,
    account: Arc<Account>,
    rows: usize,
}

/// Writes rows to one file after the other.
pub(super) struct Series {
    kind: Kind,
    numbered: Numbered,
    current: Option<Current>,
    rows: u64,
}

impl Series {
    pub(super) fn new(kind: Kind, numbered: Numbered) -> Self {
        Self { kind, numbered, current: None, rows: 0 }
    }

    fn open(&self) -> Result<Current> {
        let number = self.numbered.next.fetch_add(1, Ordering::Relaxed);
        let name = self.numbered.pattern.name(number)?;
        let path = format!("{}/{name}.{}", self.numbered.folder, self.kind.extension);
        let account = Arc::<Account>::default();
        let to = Destination {
            files: &self.kind.files,
            path: &path,
            names: &self.kind.names,
            types: &self.kind.types,
            account: &account,
        };
        Ok(Current { writer: open_single(&to, &self.kind.format, &self.kind.options)?, account, rows: 0 })
    }

    pub(super) fn write(&mut self, batches: &[Batch], parallel: Parallel<'_>) -> Result<()> {
        let is_limited = self.kind.bytes_max.is_some() || self.kind.rows_max.is_some();
        let at_once = if is_limited { BATCHES_AT_ONCE } else { batches.len().max(1) };
        for part in batches.chunks(at_once) {
            let mut part = part.to_vec();
            while part.iter().any(|batch| !batch.is_empty()) {
                let mut current = match self.current.take() {
                    Some(current) => current,
                    None => self.open()?,
                };
                let room = self.kind.rows_max.map_or(usize::MAX, |most| most - current.rows);
                let (first, rest) = split(part, room);
                current.writer.write(&first, parallel)?;
                let rows: usize = first.iter().map(Batch::len).sum();
                current.rows += rows;
                self.rows += rows as u64;
                let is_full = self.kind.rows_max.is_some_and(|most| current.rows >= most)
                    || self
                        .kind
                        .bytes_max
                        .is_some_and(|most| current.account.bytes() + current.writer.waiting() >= most);
                if is_full {
                    self.close(current, parallel)?;
                } else {
                    self.current = Some(current);
                }
                part = rest;
            }
        }
        Ok(())
    }

    fn close(&self, current: Current, parallel: Parallel<'_>) -> Result<()> {
        let Current { writer, account, .. } = current;
        writer.finish(parallel)?;
        self.kind.account.add(&account);
        Ok(())
    }

    /// Completes the last file; `always`: one without rows if there is none. The number of rows of all.
    pub(super) fn finish(mut self, always: bool, parallel: Parallel<'_>) -> Result<u64> {
        if always && self.current.is_none() && self.rows == 0 {
            self.current = Some(self.open()?);
        }
        if let Some(current) = self.current.take() {
            self.close(current, parallel)?;
        }
        Ok(self.rows)
    }
}

/// The first `rows` rows, and the others.
fn split(batches: Vec<Batch>, rows: usize) -> (Vec<Batch>, Vec<Batch>) {
    let (mut first, mut rest, mut room) = (Vec::with_capacity(batches.len()), Vec::new(), rows);
    for batch in batches {
        let len = batch.len().min(room);
        if len == batch.len() {
            first.push(batch);
        } else {
            if len > 0 {
                first.push(batch.slice(0, len));
            }
            rest.push(batch.slice(len, batch.len() - len));
        }
        room -= len;
    }
    (first, rest)
}

/// A folder of files that rows are divided among by size, or by parts that go round.
pub(super) struct FolderWriter {
    series: Vec<Series>,
    /// Whose turn it is, and how many rows it got in this turn.
    turn: usize,
    taken: usize,
    writes_empty: bool,
}

impl FolderWriter {
    pub(super) fn new(kind: &Kind, layout: Layout, folder: &str) -> Self {
        let is_by_size = layout.bytes_max.is_some() || layout.rows_max.is_some();
        let shares = layout.shares.filter(|_| !is_by_size).unwrap_or(1);
        let (pattern, next) = (Arc::new(layout.pattern), Arc::<AtomicUsize>::default());
        let series = (0..shares).map(|_| {
            let (pattern, next) = (Arc::clone(&pattern), Arc::clone(&next));
            Series::new(kind.clone(), Numbered { folder: folder.to_string(), pattern, next })
        });
        Self { series: series.collect(), turn: 0, taken: 0, writes_empty: layout.writes_empty }
    }
}

impl FileWriter for FolderWriter {
    fn write(&mut self, batches: &[Batch], parallel: Parallel<'_>) -> Result<()> {
        if self.series.len() == 1 {
            return self.series[0].write(batches, parallel);
        }
        let mut left = batches.to_vec();
        while left.iter().any(|batch| !batch.is_empty()) {
            let (first, rest) = split(left, ROW_GROUP_ROWS - self.taken);
            self.taken += first.iter().map(Batch::len).sum::<usize>();
            self.series[self.turn].write(&first, parallel)?;
            if self.taken >= ROW_GROUP_ROWS {
                (self.turn, self.taken) = ((self.turn + 1) % self.series.len(), 0);
            }
            left = rest;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, parallel: Parallel<'_>) -> Result<u64> {
        let mut rows = 0;
        // The first one has rows if there are any.
        for (index, series) in self.series.into_iter().enumerate() {
            rows += series.finish(self.writes_empty && index == 0, parallel)?;
        }
        Ok(rows)
    }
}

/// A file that is there only if there are rows.
pub(super) struct WithRows {
    kind: Kind,
    path: String,
    writer: Option<Box<dyn FileWriter>>,
}

impl WithRows {
    pub(super) fn new(kind: Kind, path: &str) -> Self {
        Self { kind, path: path.to_string(), writer: None }
    }
}

impl FileWriter for WithRows {
    fn write(&mut self, batches: &[Batch], parallel: Parallel<'_>) -> Result<()> {
        if batches.iter().all(|batch| batch.is_empty()) {
            return Ok(());
        }
        if self.writer.is_none() {
            let to = Destination {
                files: &self.kind.files,
                path: &self.path,
                names: &self.kind.names,
                types: &self.kind.types,
                account: &self.kind.account,
            };
            self.writer = Some(open_single(&to, &self.kind.format, &self.kind.options)?);
        }
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write(batches, parallel))
    }

    fn finish(self: Box<Self>, parallel: Parallel<'_>) -> Result<u64> {
        self.writer.map_or(Ok(0), |writer| writer.finish(parallel))
    }
}

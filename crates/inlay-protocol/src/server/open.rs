//! What is open on a connection: results on their way out, and rows on their way in.

use super::outlet::Opening;
use super::{Answer, Answers, Asker, Rows, Sink};
use crate::chunk::Chunker;
use crate::types::WireColumn;
use crate::{Result, WireError};
use inlay_types::{Batch, Error, LogicalType};
use std::collections::VecDeque;
use std::sync::Arc;

/// A text whose statements are answered.
pub(super) struct Outgoing {
    pub(super) opening: Opening,
    answers: Box<dyn Answers>,
    asker: Arc<Asker>,
    current: Option<Current>,
    /// Chunks that the client still wants; `None`: as many as the socket takes.
    credit: Option<u32>,
}

/// An answer whose rows are being sent.
struct Current {
    tag: String,
    changed: Option<u64>,
    more: bool,
    rows: Box<dyn Rows>,
    types: Arc<[LogicalType]>,
    chunker: Chunker,
    ready: VecDeque<Vec<Batch>>,
    is_read: bool,
    /// Rows that were sent, and chunks.
    sent: u64,
    chunks: u32,
}

/// What is to be sent next.
pub(super) enum Step {
    /// Columns of an answer.
    Header(Vec<WireColumn>),
    /// Rows, behind so many chunks of the same answer.
    Chunk { types: Arc<[LogicalType]>, batches: Vec<Batch>, before: u32 },
    /// A statement is over: its tag, rows sent, rows changed, and whether others follow.
    Done { tag: String, rows: Option<u64>, changed: Option<u64>, more: bool },
}

impl Outgoing {
    pub(super) fn new(opening: Opening, answers: Box<dyn Answers>, asker: Arc<Asker>, window: u32) -> Self {
        Self { opening, answers, asker, current: None, credit: (window > 0).then_some(window) }
    }

    /// The client wants so many chunks more.
    pub(super) fn allow(&mut self, chunks: u32) {
        if let Some(credit) = &mut self.credit {
            *credit = credit.saturating_add(chunks);
        }
    }

    /// Whether something can be sent: chunks need to be wanted.
    pub(super) fn can_go_on(&self) -> bool {
        self.credit != Some(0) || self.current.is_none()
    }

    /// Goes on by one frame. `chunk_size` is that of the connection.
    pub(super) fn step(&mut self, chunk_size: usize) -> Result<Step> {
        if self.asker.is_cancelled() {
            return Err(Error::Interrupted.into());
        }
        let Some(current) = &mut self.current else { return self.start(chunk_size) };
        while current.ready.is_empty() && !current.is_read {
            current.read()?;
        }
        if let Some(batches) = current.ready.pop_front() {
            current.sent += batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
            if let Some(credit) = &mut self.credit {
                *credit = credit.saturating_sub(1);
            }
            let before = current.chunks;
            current.chunks = before.saturating_add(1);
            return Ok(Step::Chunk { types: Arc::clone(&current.types), batches, before });
        }
        let rows = Some(current.sent);
        let (tag, changed, more) = (std::mem::take(&mut current.tag), current.changed, current.more);
        self.current = None;
        Ok(Step::Done { tag, rows, changed, more })
    }

    /// Runs the next statement.
    fn start(&mut self, chunk_size: usize) -> Result<Step> {
        let Some(Answer { tag, rows, changed, more }) = self.answers.next()? else {
            return Ok(Step::Done { tag: String::new(), rows: None, changed: None, more: false });
        };
        let Some((columns, rows)) = rows else { return Ok(Step::Done { tag, rows: None, changed, more }) };
        let types: Arc<[LogicalType]> = columns.iter().map(|column| column.ty.clone()).collect();
        let chunker = Chunker::new(&types, chunk_size);
        let ready = VecDeque::new();
        let (is_read, sent, chunks) = (false, 0, 0);
        self.current =
            Some(Current { tag, changed, more, rows, types, chunker, ready, is_read, sent, chunks });
        Ok(Step::Header(columns))
    }
}

impl Current {
    fn read(&mut self) -> Result<()> {
        let ready = &mut self.ready;
        let mut keep = |batches: &[Batch]| {
            ready.push_back(batches.to_vec());
            Ok(())
        };
        match self.rows.next()? {
            Some(batch) => self.chunker.push(batch, &mut keep),
            None => {
                self.is_read = true;
                self.chunker.flush(&mut keep)
            }
        }
    }
}

/// Rows that a client sends.
pub(super) struct Incoming {
    /// Absent when it failed: what still comes is dropped.
    pub(super) sink: Option<Box<dyn Sink>>,
    pub(super) types: Vec<LogicalType>,
    pub(super) asker: Arc<Asker>,
    pub(super) tag: &'static str,
}

impl Incoming {
    /// Takes rows.
    pub(super) fn push(&mut self, rows: Batch) -> Result<()> {
        let Some(sink) = &mut self.sink else { return Ok(()) };
        if self.asker.is_cancelled() {
            return Err(Error::Interrupted.into());
        }
        Ok(sink.push(rows)?)
    }

    /// All rows were sent: how many were taken.
    pub(super) fn finish(self) -> Result<u64> {
        match self.sink {
            Some(_) if self.asker.is_cancelled() => Err(Error::Interrupted.into()),
            Some(sink) => Ok(sink.finish()?),
            None => Err(WireError::malformed("the end of rows that were refused")),
        }
    }
}

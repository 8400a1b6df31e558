//! Rows on their way to the server.

use super::{Arrived, ClientError, Outcome, Shared};
use crate::chunk::Chunker;
use crate::frame::Frame;
use crate::types::WireColumn;
use inlay_types::{Batch, LogicalType};
use std::sync::Arc;

/// Takes rows for a table of the server. Dropped before [`Appender::finish`], none of them is kept.
pub struct Appender {
    shared: Arc<Shared>,
    stream: u32,
    types: Vec<LogicalType>,
    chunker: Chunker,
    is_over: bool,
}

impl Appender {
    pub(super) fn begin(shared: Arc<Shared>, frame: &Frame, columns: &[WireColumn]) -> Outcome<Self> {
        let stream = shared.open(0);
        let sent = shared.settle(stream).and_then(|()| shared.send(stream, frame));
        shared.or_close(stream, sent)?;
        let types: Vec<LogicalType> = columns.iter().map(|column| column.ty.clone()).collect();
        let chunker = Chunker::new(&types, shared.ready.chunk_size as usize);
        Ok(Self { shared, stream, types, chunker, is_over: false })
    }

    /// Takes rows, which leave when they are a chunk.
    pub fn push(&mut self, rows: Batch) -> Outcome<()> {
        for (ty, column) in self.types.iter().zip(rows.columns()) {
            column.expect_type(ty)?;
        }
        if rows.columns().len() != self.types.len() {
            let (found, wanted) = (rows.columns().len(), self.types.len());
            let message = format!("rows of {found} columns are appended to {wanted}");
            return Err(inlay_types::Error::invalid_argument(message).into());
        }
        let mut ready = Vec::new();
        self.chunker.push(rows, &mut |batches| {
            ready.push(batches.to_vec());
            Ok(())
        })?;
        self.send(&ready)
    }

    fn send(&mut self, ready: &[Vec<Batch>]) -> Outcome<()> {
        for batches in ready {
            // Results that are read between two pushes may have asked for more.
            self.shared.settle(self.stream)?;
            self.shared.outbound().chunk(self.stream, &self.types, batches)?;
        }
        Ok(())
    }

    /// Sends what is left; how many rows the table got.
    pub fn finish(mut self) -> Outcome<u64> {
        let mut ready = Vec::new();
        self.chunker.flush(&mut |batches| {
            ready.push(batches.to_vec());
            Ok(())
        })?;
        self.send(&ready)?;
        self.shared.send(self.stream, &Frame::Finish)?;
        self.is_over = true;
        let answer = self.shared.next(self.stream);
        self.shared.close(self.stream);
        match answer? {
            Arrived::Frame(Frame::Done(done)) => Ok(done.changed.unwrap_or(0)),
            Arrived::Frame(Frame::Error(report)) => Err(ClientError::Server(Box::new(report))),
            other => Err(other.unexpected()),
        }
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        if !self.is_over {
            self.shared.drop_stream(self.stream);
        }
    }
}

//! What a text of statements answers, read as it arrives.

use super::{Arrived, ClientError, Outcome, Shared, WINDOW};
use crate::WireError;
use crate::chunk::ChunkReader;
use crate::frame::{Done, Frame};
use crate::types::WireColumn;
use inlay_types::{Batch, LogicalType};
use std::sync::Arc;

/// The answers of a text, at one of them. Dropped before its end, it is cancelled.
pub struct Reply {
    shared: Arc<Shared>,
    stream: u32,
    columns: Option<Vec<WireColumn>>,
    types: Vec<LogicalType>,
    /// How the answer ended.
    done: Option<Done>,
    /// Nothing comes on the stream any more.
    is_over: bool,
    /// Chunks read since the window was filled.
    read: u32,
}

impl Reply {
    pub(super) fn begin(shared: Arc<Shared>, stream: u32) -> Outcome<Self> {
        let mut reply =
            Self { shared, stream, columns: None, types: Vec::new(), done: None, is_over: false, read: 0 };
        reply.start()?;
        Ok(reply)
    }

    /// The columns of the answer, if it has rows.
    pub fn columns(&self) -> Option<&[WireColumn]> {
        self.columns.as_deref()
    }

    /// How the answer ended, once all of its rows were read.
    pub fn done(&self) -> Option<&Done> {
        self.done.as_ref()
    }

    /// The next rows of the answer, as many as a chunk has; `None` behind the last.
    pub fn next_batch(&mut self) -> Outcome<Option<Batch>> {
        if self.done.is_some() {
            return Ok(None);
        }
        match self.next()? {
            Arrived::Chunk(payload, size_max) => {
                self.refill()?;
                Ok(Some(ChunkReader::new(&payload, size_max)?.batch(&self.types)?))
            }
            Arrived::Frame(Frame::Done(done)) => {
                self.end(done);
                Ok(None)
            }
            other => Err(self.refuse(other)),
        }
    }

    /// The next rows as they are, for who does not read all columns.
    pub fn next_chunk(&mut self) -> Outcome<Option<ChunkReader>> {
        if self.done.is_some() {
            return Ok(None);
        }
        match self.next()? {
            Arrived::Chunk(payload, size_max) => {
                self.refill()?;
                Ok(Some(ChunkReader::new(&payload, size_max)?))
            }
            Arrived::Frame(Frame::Done(done)) => {
                self.end(done);
                Ok(None)
            }
            other => Err(self.refuse(other)),
        }
    }

    /// Reads the rest of the answer, and goes to that of the next statement; whether there is one.
    pub fn next_answer(&mut self) -> Outcome<bool> {
        while self.next_chunk()?.is_some() {}
        if self.is_over {
            return Ok(false);
        }
        self.start()?;
        Ok(true)
    }

    /// Reads all answers, and drops their rows; how the last one ended.
    pub fn finish(mut self) -> Outcome<Done> {
        while self.next_answer()? {}
        Ok(self.done.take().unwrap_or_default())
    }

    /// What cancels it from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller { shared: Arc::clone(&self.shared), stream: self.stream }
    }

    /// The columns of an answer, or its end.
    fn start(&mut self) -> Outcome<()> {
        (self.columns, self.done) = (None, None);
        match self.next()? {
            Arrived::Frame(Frame::Header(columns)) => {
                self.types = columns.iter().map(|column| column.ty.clone()).collect();
                self.columns = Some(columns);
                Ok(())
            }
            Arrived::Frame(Frame::Done(done)) => {
                self.end(done);
                Ok(())
            }
            other => Err(self.refuse(other)),
        }
    }

    fn next(&mut self) -> Outcome<Arrived> {
        match self.shared.next(self.stream) {
            Ok(Arrived::Frame(Frame::Error(report))) => {
                self.close();
                Err(ClientError::Server(Box::new(report)))
            }
            Ok(arrived) => Ok(arrived),
            Err(error) => {
                self.close();
                Err(error)
            }
        }
    }

    /// Lets the server send more, when half of what it may send was read.
    fn refill(&mut self) -> Outcome<()> {
        self.read += 1;
        if self.read < WINDOW / 2 {
            return Ok(());
        }
        let read = std::mem::take(&mut self.read);
        self.shared.allow(self.stream, read)
    }

    fn end(&mut self, done: Done) {
        if !done.more {
            self.close();
        }
        self.done = Some(done);
    }

    fn close(&mut self) {
        self.is_over = true;
        self.shared.close(self.stream);
    }

    fn refuse(&mut self, arrived: Arrived) -> ClientError {
        let what = match arrived {
            Arrived::Chunk(..) => "rows".to_string(),
            Arrived::Frame(frame) => format!("{:?}", frame.kind()),
        };
        WireError::malformed(format!("{what} in the middle of an answer")).into()
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.is_over {
            self.shared.drop_stream(self.stream);
        }
    }
}

/// Ends a reply from any thread; whoever reads it gets an error of SQLSTATE 57014, unless it was over.
#[derive(Clone)]
pub struct Canceller {
    shared: Arc<Shared>,
    stream: u32,
}

impl Canceller {
    /// Ends it.
    pub fn cancel(&self) -> Outcome<()> {
        Ok(self.shared.outbound().writer.frame(self.stream, &Frame::Cancel)?)
    }
}

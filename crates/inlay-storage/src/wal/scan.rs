//! Reading a log from its start, and telling a torn end from damage.

use super::format::{Chain, FoundHeader, LogHeader, RECORD_HEADER, RecordHeader};
use super::format::{START, body_fits, is_blank, newer_version, offset_of, read_part};
use crate::io::DiskFile;
use inlay_types::{Error, Result};

/// Walks over the records of a log.
pub(super) struct Scanner<'a> {
    file: &'a dyn DiskFile,
    name: &'a str,
    size: u64,
    pub chain: Chain,
}

/// What was found where the next record would begin.
pub(super) enum Step {
    /// A record; the chain now ends behind it.
    Record(Vec<u8>),
    /// Nothing, or a record that was not completely written.
    Incomplete,
    /// A record that was completely written and is not what was written.
    Damaged,
}

impl<'a> Scanner<'a> {
    /// Goes on behind the records of `chain`.
    pub(super) fn new(file: &'a dyn DiskFile, name: &'a str, chain: Chain) -> Result<Self> {
        let size = file.size().map_err(|error| Error::io("cannot read", name, &error))?;
        Ok(Self { file, name, size, chain })
    }

    fn part(&self, position: u64, len: u64) -> Result<super::format::Part> {
        read_part(self.file, &self.chain.log, self.size, position, len)
            .map_err(|error| Error::io("cannot read", self.name, &error))
    }

    /// Reads and verifies the next record.
    pub(super) fn next(&mut self) -> Result<Step> {
        let start = self.part(self.chain.position, RECORD_HEADER)?;
        if start.is_lost {
            return Ok(Step::Incomplete);
        }
        let chain = &self.chain;
        let follows = |header: &RecordHeader| {
            header.lsn == chain.last_lsn + 1 && header.previous == chain.previous && start.marks_fit
        };
        let Some(header) = RecordHeader::from_bytes(&start.bytes, &chain.log).filter(follows) else {
            return Ok(Step::Damaged);
        };
        // A length that was verified may still go beyond the end of the file: no memory is taken for that.
        if offset_of(chain.position + header.record_size()) > self.size {
            return Ok(Step::Incomplete);
        }
        let part = self.part(chain.position, header.record_size())?;
        if part.is_lost {
            return Ok(Step::Incomplete);
        }
        let mut body = part.bytes;
        body.drain(..RECORD_HEADER as usize);
        body.truncate(header.size as usize);
        if !part.marks_fit || !body_fits(&chain.log, &header, &body) {
            return Ok(Step::Damaged);
        }
        self.chain.position += header.record_size();
        self.chain.previous = header.checksum;
        self.chain.last_lsn = header.lsn;
        Ok(Step::Record(body))
    }

    /// Whether nothing was written behind the records that were read.
    pub(super) fn is_blank(&self) -> Result<bool> {
        let from = self.chain.position;
        Ok(offset_of(from) >= self.size || is_blank(&self.part(from, self.size.saturating_sub(START))?.bytes))
    }

    /// After [`Step::Incomplete`]: fails if a later record says that the missing one was durable.
    pub(super) fn expect_torn(&self) -> Result<()> {
        if self.is_blank()? {
            return Ok(());
        }
        let rest = self.part(self.chain.position, self.size.saturating_sub(START))?;
        let lost = self.chain.last_lsn + 1;
        let proof = (0..rest.bytes.len())
            .step_by(8)
            .filter_map(|at| RecordHeader::from_bytes(&rest.bytes[at..], &self.chain.log))
            .find(|header| header.durable_lsn >= lost);
        match proof {
            None => Ok(()),
            Some(later) => Err(self.damage().within(format!("transaction {} is behind it", later.lsn))),
        }
    }

    /// The error for [`Step::Damaged`].
    pub(super) fn damage(&self) -> Error {
        Error::corrupt(format!(
            "\"{}\" at offset {}: the record of transaction {} is damaged; nothing was changed. CALL recover \
             copies the database with the transactions before it",
            self.name,
            offset_of(self.chain.position),
            self.chain.last_lsn + 1
        ))
    }
}

/// Reads the header of a log; `None` if its creation never came to an end.
pub(super) fn read_header(file: &dyn DiskFile, name: &str) -> Result<Option<LogHeader>> {
    let failed = |error: &std::io::Error| Error::io("cannot read", name, error);
    let size = file.size().map_err(|error| failed(&error))?;
    let mut bytes = vec![0; size.min(START) as usize];
    file.read_at(&mut bytes, 0).map_err(|error| failed(&error))?;
    match LogHeader::find(&bytes)? {
        FoundHeader::Valid(header) => Ok(Some(header)),
        FoundHeader::Newer(version) => Err(newer_version(name, version)),
        FoundHeader::Damaged if size < 512 && LogHeader::may_begin_with(&bytes) => Ok(None),
        FoundHeader::Damaged if size <= START && bytes.iter().all(|&byte| byte == 0) => Ok(None),
        FoundHeader::Damaged => Err(Error::corrupt(format!(
            "\"{name}\" is no log, or both copies of its header are damaged, so it is unknown whether it holds \
             transactions that the database lacks. Move it away: the database opens without it, or says what it lacks, \
             and CALL recover copies what it has"
        ))),
    }
}

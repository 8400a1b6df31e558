//! Files to buckets: one request for a small file, an upload in parts for a large one. The object is there when it is complete.

use super::file::{in_parallel, part_of};
use super::http::{Call, Place, run};
use super::{s3, shown};
use crate::files::Files;
use inlay_types::{Error, Result};
use parking_lot::Mutex;
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Largest file that one request sends, and size of the parts of a larger one; there are at most [`PARTS_MAX`].
const PART_SIZE: u64 = 16 << 20;
const PARTS_MAX: u64 = 9999;
/// Bytes of an answer.
const ANSWER_SIZE_MAX: u64 = 1 << 20;

/// Writes a file on disk to the object that `path` names.
pub(crate) fn upload(files: &Arc<Files>, path: &str, file: &File) -> Result<()> {
    let place = Place::of(files, path)?;
    let failed = |error: io::Error| Error::io("cannot write", shown(path), &error);
    let size = file.metadata().map_err(failed)?.len();
    let part_size = PART_SIZE.max(size.div_ceil(PARTS_MAX));
    if size > part_size {
        return Parts { files, place, path, file, size, part_size }.upload();
    }
    let _held = files.budget().reserve(size)?;
    let body = part_of(file, 0, size as usize).map_err(failed)?;
    let call = Call { body: &body, ..Call::new("PUT", &place, path, "cannot write") };
    run(files, &call, &mut |_| Ok(()))
}

struct Parts<'a> {
    files: &'a Arc<Files>,
    place: Place,
    path: &'a str,
    file: &'a File,
    size: u64,
    part_size: u64,
}

impl Parts<'_> {
    fn call<'c>(&'c self, method: &'static str, query: &'c [(&'c str, String)], body: &'c [u8]) -> Call<'c> {
        Call { query, body, ..Call::new(method, &self.place, self.path, "cannot write") }
    }

    fn text(&self, call: &Call<'_>) -> Result<String> {
        let answer = run(self.files, call, &mut |reply| reply.bytes(ANSWER_SIZE_MAX))?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn refused(&self, what: &str) -> Error {
        Error::Io { action: "cannot write", path: shown(self.path), message: what.to_string() }
    }

    fn upload(&self) -> Result<()> {
        let begun = self.text(&self.call("POST", &[("uploads", String::new())], b""))?;
        let id = s3::element(&begun, "UploadId");
        let id = id.ok_or_else(|| self.refused("the server began no upload"))?;
        let done = self.parts(&id).and_then(|tags| self.complete(&id, &tags));
        if done.is_err() {
            // Parts that stay there cost money; that the server keeps them is all that can go wrong.
            let query = [("uploadId", id)];
            let _ = run(self.files, &self.call("DELETE", &query, b""), &mut |_| Ok(()));
        }
        done
    }

    /// Sends all parts; returns their tags.
    fn parts(&self, id: &str) -> Result<Vec<String>> {
        let count = self.size.div_ceil(self.part_size) as usize;
        let tags: Vec<Mutex<Result<String>>> = (0..count).map(|_| Mutex::new(Ok(String::new()))).collect();
        in_parallel(count, &|index| {
            let sent = self.part(id, index);
            let failed = sent.is_err();
            *tags[index].lock() = sent;
            !failed
        });
        tags.into_iter().map(Mutex::into_inner).collect()
    }

    fn part(&self, id: &str, index: usize) -> Result<String> {
        let start = index as u64 * self.part_size;
        let len = self.part_size.min(self.size - start) as usize;
        let _held = self.files.budget().reserve(len as u64)?;
        let body = part_of(self.file, start, len)
            .map_err(|error| Error::io("cannot write", shown(self.path), &error))?;
        let query = [("partNumber", (index + 1).to_string()), ("uploadId", id.to_string())];
        let tag = run(self.files, &self.call("PUT", &query, &body), &mut |reply| {
            Ok(reply.header("etag").map(str::to_string))
        })?;
        tag.ok_or_else(|| self.refused("the server did not confirm a part"))
    }

    fn complete(&self, id: &str, tags: &[String]) -> Result<()> {
        let mut body = String::from("<CompleteMultipartUpload>");
        for (index, tag) in tags.iter().enumerate() {
            let tag = quick_xml::escape::escape(tag.as_str());
            let _ = write!(body, "<Part><PartNumber>{}</PartNumber><ETag>{tag}</ETag></Part>", index + 1);
        }
        body.push_str("</CompleteMultipartUpload>");
        let query = [("uploadId", id.to_string())];
        let answer = self.text(&self.call("POST", &query, body.as_bytes()))?;
        // The server may say only now, and with success, that it failed.
        match s3::complaint_of(&answer) {
            Some((code, message)) => Err(self.refused(&format!("the server says {code}: {message}"))),
            None => Ok(()),
        }
    }
}

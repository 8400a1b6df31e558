//! `PARTITION_BY` of COPY TO: a folder per value, `folder/year=2024/month=5/data_0.parquet`.
//!
//! Rows are kept until the last one came; then one partition after the other is written, so that only one file is open.

use super::FileWriter;
use super::layout::Layout;
use super::names::NamePattern;
use super::series::{Kind, Numbered, Series};
use crate::Parallel;
use crate::files::Files;
use inlay_catalog::access::Door;
use inlay_catalog::near_names;
use inlay_types::{Batch, Error, Result, Value, limits};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Parts of batches that are written at once.
const PARTS_AT_ONCE: usize = 64;
/// What stands for NULL in the name of a folder.
const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

pub(super) struct PartitionWriter {
    kind: Kind,
    folder: String,
    /// Positions of the columns that rows are divided by.
    by: Vec<usize>,
    /// Whether the files have these columns, too.
    keeps_columns: bool,
    /// Whether each value has a folder of its own.
    is_hive: bool,
    pattern: Arc<NamePattern>,
    batches: Vec<Batch>,
}

impl PartitionWriter {
    /// A writer for partitions by columns of these names.
    pub(super) fn new(kind: Kind, layout: Layout, by: &[String], folder: &str) -> Result<Self> {
        let by = places(by, &kind.names)?;
        if by.is_empty() || (by.len() >= kind.names.len() && !layout.keeps_columns) {
            let message = "PARTITION_BY takes at least one column, and leaves at least one to be written";
            let hint = "WRITE_PARTITION_COLUMNS writes those that it names, too";
            return Err(Error::invalid_argument(message).with_hint(hint));
        }
        Ok(Self {
            kind,
            folder: folder.to_string(),
            by,
            keeps_columns: layout.keeps_columns,
            is_hive: layout.is_hive,
            pattern: Arc::new(layout.pattern),
            batches: Vec::new(),
        })
    }
}

/// A folder that is written to.
pub(super) struct Folder<'a> {
    pub files: &'a Arc<Files>,
    pub path: &'a str,
    /// Whether it is made of partitions, which are folders.
    pub is_divided: bool,
}

impl Folder<'_> {
    /// Fails where the folder has something in it, unless that may be.
    pub(super) fn prepare(&self, may_exist: bool, empties: bool) -> Result<()> {
        if self.files.is_elsewhere(self.path) {
            return self.prepare_bucket(may_exist, empties);
        }
        let failed = |error: &std::io::Error| Error::io("cannot write", self.path, error);
        self.files.ask(Door::Write(self.path))?;
        // A folder on the way to it may be missing.
        let folder = match self.files.access().way(Door::List(self.path)) {
            Err(Error::Io { .. }) => return Ok(()),
            folder => folder?,
        };
        let is_full = match folder.names() {
            Ok(names) => !names.is_empty(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed(&error)),
        };
        if is_full && !may_exist && !empties {
            let removes = if self.is_divided { ", OVERWRITE removes the partitions in it first" } else { "" };
            let message = format!("folder '{}' is not empty", self.path);
            let hint = format!(
                "OVERWRITE_OR_IGNORE writes beside what is there, APPEND under names that nothing has{removes}"
            );
            return Err(Error::invalid_argument(message).with_hint(hint));
        }
        if is_full && empties && !self.is_divided {
            return Err(Error::Unsupported {
                feature: "OVERWRITE of a folder without partitions".to_string(),
                alternative: Some(
                    "remove its files, or write beside them by OVERWRITE_OR_IGNORE".to_string(),
                ),
            });
        }
        if is_full && empties {
            // Other things stay.
            let removed = folder.remove_folders(|name| name.to_string_lossy().contains('='));
            removed.map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// As [`Self::prepare`]: a folder of a bucket is what names begin with.
    fn prepare_bucket(&self, may_exist: bool, empties: bool) -> Result<()> {
        if empties {
            return Err(Error::Unsupported {
                feature: "OVERWRITE of a folder in a bucket".to_string(),
                alternative: Some(
                    "remove its files, or write beside them by OVERWRITE_OR_IGNORE".to_string(),
                ),
            });
        }
        if !may_exist && self.files.is_bucket(self.path) {
            let anything = format!("{}/**", self.path);
            if !self.files.list(&anything, 1)?.is_empty() {
                let message = format!("folder '{}' is not empty", self.path);
                let hint = "OVERWRITE_OR_IGNORE writes beside what is there";
                return Err(Error::invalid_argument(message).with_hint(hint));
            }
        }
        Ok(())
    }
}

impl PartitionWriter {
    /// The folder of a partition.
    fn folder_of(&self, key: &[Option<String>]) -> String {
        let mut folder = self.folder.clone();
        for (&column, value) in self.by.iter().zip(key).filter(|_| self.is_hive) {
            folder.push('/');
            encode(&self.kind.names[column], &mut folder);
            folder.push('=');
            match value {
                None => folder.push_str(NULL_PARTITION),
                // The text itself, which is not NULL, begins otherwise.
                Some(value) if value == NULL_PARTITION => {
                    folder.push_str("%5F");
                    folder.push_str(&NULL_PARTITION[1..]);
                }
                Some(value) => encode(value, &mut folder),
            }
        }
        folder
    }

    fn write_partition(
        &self,
        numbered: Numbered,
        parts: &[(usize, Vec<u32>)],
        parallel: Parallel<'_>,
    ) -> Result<u64> {
        if !self.kind.files.is_elsewhere(&numbered.folder) {
            self.kind.files.access().make_folders(&numbered.folder)?;
        }
        let (names, types) = (&self.kind.names, &self.kind.types);
        let kept: Vec<usize> =
            (0..names.len()).filter(|column| self.keeps_columns || !self.by.contains(column)).collect();
        let kind = Kind {
            names: kept.iter().map(|&column| names[column].clone()).collect(),
            types: kept.iter().map(|&column| types[column].clone()).collect(),
            ..self.kind.clone()
        };
        let mut series = Series::new(kind, numbered);
        for parts in parts.chunks(PARTS_AT_ONCE) {
            let batches = parts.iter().map(|(batch, rows)| {
                let taken = self.batches[*batch].take(rows);
                let columns = kept.iter().map(|&column| taken.column(column).clone()).collect();
                Batch::new(columns, taken.len())
            });
            series.write(&batches.collect::<Vec<Batch>>(), parallel)?;
        }
        series.finish(false, parallel)
    }
}

impl FileWriter for PartitionWriter {
    fn write(&mut self, batches: &[Batch], _: Parallel<'_>) -> Result<()> {
        self.batches.extend_from_slice(batches);
        Ok(())
    }

    fn finish(self: Box<Self>, parallel: Parallel<'_>) -> Result<u64> {
        type Parts = Vec<(usize, Vec<u32>)>;
        let mut partitions: BTreeMap<Vec<Option<String>>, Parts> = BTreeMap::new();
        for (index, batch) in self.batches.iter().enumerate() {
            limits::check()?;
            for row in 0..batch.len() {
                let text = |&column: &usize| match batch.column(column).get(row) {
                    Value::Null => None,
                    value => Some(value.to_string()),
                };
                let parts = partitions.entry(self.by.iter().map(text).collect()).or_default();
                match parts.last_mut() {
                    Some((known, rows)) if *known == index => rows.push(row as u32),
                    _ => parts.push((index, vec![row as u32])),
                }
            }
        }
        // In a folder that all share, numbers go on.
        let shared = Arc::<AtomicUsize>::default();
        let write = |(key, parts): (&Vec<Option<String>>, &Parts)| {
            let next = if self.is_hive { Arc::default() } else { Arc::clone(&shared) };
            let numbered = Numbered { folder: self.folder_of(key), pattern: Arc::clone(&self.pattern), next };
            self.write_partition(numbered, parts, parallel)
        };
        partitions.iter().map(write).sum()
    }
}

fn places(wanted: &[String], names: &[String]) -> Result<Vec<usize>> {
    let place = |wanted: &String| {
        let found = names.iter().position(|name| name.to_lowercase() == wanted.to_lowercase());
        found.ok_or_else(|| {
            let near = near_names(wanted, names.iter().map(String::as_str));
            let hint = near.first().map_or_else(String::new, |near| format!("; did you mean {near}?"));
            let message = format!("PARTITION_BY names column \"{wanted}\", which is not written{hint}");
            Error::invalid_argument(message)
        })
    };
    wanted.iter().map(place).collect()
}

/// A name or value as it may stand in a path.
fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn values_cannot_leave_their_folder() {
        let mut out = String::new();
        encode("../a b%=é", &mut out);
        assert_eq!(out, "..%2Fa%20b%25%3D%C3%A9");
    }
}

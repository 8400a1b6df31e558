//! `PARTITION_BY` of COPY TO: a folder per value, `folder/year=2024/month=5/data_0.parquet`.
//!
//! Rows are kept until the last one came; then one partition after the other is written, so that only one file is open.

use super::names::NamePattern;
use super::{Destination, FileWriter, open_writer};
use crate::Parallel;
use crate::files::Files;
use crate::option_text::{boolean, text, texts_of};
use inlay_catalog::access::Door;
use inlay_catalog::near_names;
use inlay_types::{Batch, Error, LogicalType, Result, Value};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Parts of batches that are written at once.
const PARTS_AT_ONCE: usize = 64;
/// What stands for NULL in the name of a folder.
const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

pub(super) struct PartitionWriter {
    files: Arc<Files>,
    folder: String,
    names: Vec<String>,
    types: Vec<LogicalType>,
    /// Positions of the columns that rows are divided by.
    by: Vec<usize>,
    /// Whether the files have these columns, too.
    keeps_columns: bool,
    pattern: NamePattern,
    format: String,
    options: Vec<(String, Value)>,
    batches: Vec<Batch>,
}

impl PartitionWriter {
    /// A writer, if options ask for partitions.
    pub fn open(to: &Destination<'_>, format: &str, options: &[(String, Value)]) -> Result<Option<Self>> {
        let mut writer = Self {
            files: Arc::clone(to.files),
            folder: to.path.trim_end_matches(['/', '\\']).to_string(),
            names: to.names.to_vec(),
            types: to.types.to_vec(),
            by: Vec::new(),
            keeps_columns: false,
            pattern: NamePattern::default(),
            format: format.to_string(),
            options: Vec::new(),
            batches: Vec::new(),
        };
        let (mut is_asked, mut may_exist, mut empties) = (false, false, false);
        for (name, value) in options {
            match name.as_str() {
                "partition_by" => {
                    is_asked = true;
                    writer.by = places(&texts_of(name, value)?, to.names)?;
                }
                "overwrite_or_ignore" => may_exist = boolean(name, value)?,
                "overwrite" => empties = boolean(name, value)?,
                "write_partition_columns" => writer.keeps_columns = boolean(name, value)?,
                "filename_pattern" => writer.pattern = NamePattern::of(text(name, value)?)?,
                _ => writer.options.push((name.clone(), value.clone())),
            }
        }
        if !is_asked {
            return Ok(None);
        }
        if writer.by.is_empty() || (writer.by.len() >= to.names.len() && !writer.keeps_columns) {
            let message = "PARTITION_BY takes at least one column, and leaves at least one to be written";
            let hint = "WRITE_PARTITION_COLUMNS writes those that it names, too";
            return Err(Error::invalid_argument(message).with_hint(hint));
        }
        writer.prepare(may_exist, empties)?;
        Ok(Some(writer))
    }

    /// Fails where the folder has something in it, unless that may be.
    fn prepare(&self, may_exist: bool, empties: bool) -> Result<()> {
        if self.files.is_elsewhere(&self.folder) {
            return self.prepare_bucket(may_exist, empties);
        }
        let failed = |error: &std::io::Error| Error::io("cannot write", &self.folder, error);
        self.files.ask(Door::Write(&self.folder))?;
        // A folder on the way to it may be missing.
        let folder = match self.files.access().way(Door::List(&self.folder)) {
            Err(Error::Io { .. }) => return Ok(()),
            folder => folder?,
        };
        let is_full = match folder.names() {
            Ok(names) => !names.is_empty(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed(&error)),
        };
        if is_full && !may_exist && !empties {
            let message = format!("folder '{}' is not empty", self.folder);
            let hint = "OVERWRITE_OR_IGNORE writes beside what is there, OVERWRITE removes the partitions in it first";
            return Err(Error::invalid_argument(message).with_hint(hint));
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
        if !may_exist && self.files.is_bucket(&self.folder) {
            let anything = format!("{}/**", self.folder);
            if !self.files.list(&anything, 1)?.is_empty() {
                let message = format!("folder '{}' is not empty", self.folder);
                let hint = "OVERWRITE_OR_IGNORE writes beside what is there";
                return Err(Error::invalid_argument(message).with_hint(hint));
            }
        }
        Ok(())
    }

    fn write_partition(
        &self,
        key: &[Option<String>],
        parts: &[(usize, Vec<u32>)],
        parallel: Parallel<'_>,
    ) -> Result<u64> {
        let mut folder = self.folder.clone();
        for (&column, value) in self.by.iter().zip(key) {
            folder.push('/');
            encode(&self.names[column], &mut folder);
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
        if !self.files.is_elsewhere(&folder) {
            self.files.access().make_folders(&folder)?;
        }
        let kept: Vec<usize> =
            (0..self.names.len()).filter(|column| self.keeps_columns || !self.by.contains(column)).collect();
        let names: Vec<String> = kept.iter().map(|&column| self.names[column].clone()).collect();
        let types: Vec<LogicalType> = kept.iter().map(|&column| self.types[column].clone()).collect();
        let mut options = self.options.clone();
        options.push(("format".to_string(), Value::Varchar(self.format.clone())));
        let path = format!("{folder}/{}.{}", self.pattern.name(0)?, self.format);
        let to = Destination { files: &self.files, path: &path, names: &names, types: &types };
        let mut writer = open_writer(&to, &options)?;
        for parts in parts.chunks(PARTS_AT_ONCE) {
            let batches = parts.iter().map(|(batch, rows)| {
                let taken = self.batches[*batch].take(rows);
                let columns = kept.iter().map(|&column| taken.column(column).clone()).collect();
                Batch::new(columns, taken.len())
            });
            writer.write(&batches.collect::<Vec<Batch>>(), parallel)?;
        }
        writer.finish(parallel)
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
        partitions.iter().map(|(key, parts)| self.write_partition(key, parts, parallel)).sum()
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

//! How `COPY TO` divides its rows into files: options that are the same in all formats.
//!
//! A single file, or a folder of files: by the values of columns (`PARTITION_BY`), by size (`FILE_SIZE_BYTES`, `ROW_GROUPS_PER_FILE`),
//! or as many as there are workers (`PER_THREAD_OUTPUT`).

use super::names::NamePattern;
use crate::option_text::{boolean, integer, size_of_text, text, texts_of};
use inlay_types::{Error, Result, Value};

/// Rows of a file's part where the format has no row groups, or nothing says how large they are.
pub(super) const ROW_GROUP_ROWS: usize = 122_880;

/// Options that a single file has no use for.
const OF_FOLDERS: [&str; 4] =
    ["filename_pattern", "file_extension", "write_partition_columns", "hive_file_pattern"];

/// What options say of files.
pub(super) struct Layout {
    /// Names of the columns that rows are divided by.
    pub by: Option<Vec<String>>,
    /// Whether the files have these columns, too.
    pub keeps_columns: bool,
    /// Whether there is a folder for each value.
    pub is_hive: bool,
    /// Whether the folder may have something in it, and whether that goes first.
    pub may_exist: bool,
    pub empties: bool,
    pub pattern: NamePattern,
    pub extension: Option<String>,
    /// A file that has as many bytes or rows is the last but one.
    pub bytes_max: Option<u64>,
    pub rows_max: Option<usize>,
    /// Files that are written side by side.
    pub shares: Option<usize>,
    /// Whether there is a file if there are no rows.
    pub writes_empty: bool,
}

impl Layout {
    /// What is said, and the options that are left.
    pub fn read(options: &[(String, Value)]) -> Result<(Self, Vec<(String, Value)>)> {
        let mut layout = Self {
            by: None,
            keeps_columns: false,
            is_hive: true,
            may_exist: false,
            empties: false,
            pattern: NamePattern::default(),
            extension: None,
            bytes_max: None,
            rows_max: None,
            shares: None,
            writes_empty: true,
        };
        let (mut others, mut pattern, mut appends, mut groups) = (Vec::new(), None, false, None);
        let mut group_rows = ROW_GROUP_ROWS;
        for (name, value) in options {
            match name.as_str() {
                "partition_by" => layout.by = Some(texts_of(name, value)?),
                "overwrite_or_ignore" => layout.may_exist = boolean(name, value)?,
                "overwrite" => layout.empties = boolean(name, value)?,
                "append" => appends = boolean(name, value)?,
                "write_partition_columns" => layout.keeps_columns = boolean(name, value)?,
                "hive_file_pattern" => layout.is_hive = boolean(name, value)?,
                "filename_pattern" => pattern = Some(NamePattern::of(text(name, value)?)?),
                "file_extension" => layout.extension = Some(extension(text(name, value)?)?),
                "file_size_bytes" => layout.bytes_max = Some(size_of_text(name, value)? as u64),
                "row_groups_per_file" => groups = Some(count(name, value)?),
                "per_thread_output" => layout.shares = shares(name, value)?,
                "write_empty_file" => layout.writes_empty = boolean(name, value)?,
                // Rows are always written in their order, to a file that takes its name when it is complete.
                "preserve_order" | "use_tmp_file" => {
                    boolean(name, value)?;
                }
                _ => {
                    if name == "row_group_size" {
                        group_rows = count(name, value)?;
                    }
                    others.push((name.clone(), value.clone()));
                }
            }
        }
        layout.rows_max = groups.map(|groups: usize| groups.saturating_mul(group_rows));
        if appends {
            // Names that nothing has yet.
            layout.may_exist = true;
            let given = pattern.unwrap_or(NamePattern::of("data_{uuid}")?);
            if !given.is_new_each_time() {
                return Err(Error::invalid_argument(
                    "APPEND writes files under names that nothing has yet, and those of this FILENAME_PATTERN may be there; put \
                     {uuid} into it",
                ));
            }
            pattern = Some(given);
        }
        layout.pattern = pattern.unwrap_or_default();
        if !layout.is_folder()
            && let Some((name, _)) = options.iter().find(|(name, _)| OF_FOLDERS.contains(&name.as_str()))
        {
            let message = format!(
                "{} is for a folder of files: say PARTITION_BY, PER_THREAD_OUTPUT or FILE_SIZE_BYTES as well",
                name.to_uppercase()
            );
            return Err(Error::invalid_argument(message));
        }
        if appends && !layout.is_folder() {
            return Err(Error::invalid_argument(
                "APPEND adds files to a folder: say PARTITION_BY, PER_THREAD_OUTPUT or FILE_SIZE_BYTES as well; a single file is \
                 replaced",
            ));
        }
        Ok((layout, others))
    }

    /// Whether there are several files.
    pub fn is_folder(&self) -> bool {
        self.by.is_some() || self.bytes_max.is_some() || self.rows_max.is_some() || self.shares.is_some()
    }
}

fn count(name: &str, value: &Value) -> Result<usize> {
    let count = usize::try_from(integer(name, value)?).ok().filter(|count| *count > 0);
    count.ok_or_else(|| Error::invalid_argument(format!("{name} is a number from 1 on, not {value}")))
}

/// How many files: the engine says the number of its workers in the place of TRUE.
fn shares(name: &str, value: &Value) -> Result<Option<usize>> {
    match value {
        Value::UBigInt(count) => Ok(usize::try_from(*count).ok().map(|count| count.max(1))),
        value => Ok(boolean(name, value)?.then_some(1)),
    }
}

/// What names of files end with, without the dot.
fn extension(written: &str) -> Result<String> {
    let bare = written.strip_prefix('.').unwrap_or(written);
    let is_odd = |char: char| matches!(char, '/' | '\\' | ':') || char.is_control();
    if bare.is_empty() || bare.len() > 32 || bare.contains(is_odd) {
        let message = format!("FILE_EXTENSION '{written}' is no ending of a name, as 'parquet' is");
        return Err(Error::invalid_argument(message));
    }
    Ok(bare.to_string())
}

//! The schema of a file: names from its header, types from a sample of its records.

use super::convert::ReadRules;
use super::dialect::{Dialect, FieldRange};
use super::options::CsvOptions;
use super::parse;
use super::reader::{Block, BlockReader, check_beginning, open};
use inlay_types::{Error, LogicalType, Result};
use std::io::Read;
use std::sync::Arc;

/// What was found out about a file.
#[derive(Debug)]
pub(super) struct Schema {
    pub dialect: Dialect,
    pub has_header: bool,
    pub columns: Vec<(String, LogicalType)>,
    /// Whether a column's type was detected, not given.
    pub detected: Vec<bool>,
    /// Bytes per record of the sample.
    pub mean_size: f64,
}

/// Bytes that the dialect is found out from.
const DIALECT_SAMPLE: u64 = 1 << 20;

/// Types a column may turn out to have, most special first; VARCHAR remains.
const CANDIDATES: [LogicalType; 7] = [
    LogicalType::Boolean,
    LogicalType::BigInt,
    LogicalType::HugeInt,
    LogicalType::Double,
    LogicalType::Date,
    LogicalType::Time,
    LogicalType::Timestamp,
];

#[derive(Clone, Copy)]
struct Candidates {
    possible: u8,
    any_value: bool,
}

impl Candidates {
    const ALL: Self = Self { possible: (1 << CANDIDATES.len()) - 1, any_value: false };

    fn add(&mut self, text: &[u8], rules: &ReadRules) {
        self.any_value = true;
        for (bit, ty) in CANDIDATES.iter().enumerate() {
            if self.possible >> bit & 1 == 1 && !fits(text, ty.clone(), rules) {
                self.possible &= !(1 << bit);
            }
        }
    }

    fn best(self) -> LogicalType {
        if !self.any_value || self.possible == 0 {
            return LogicalType::Varchar;
        }
        CANDIDATES[self.possible.trailing_zeros() as usize].clone()
    }
}

fn fits(text: &[u8], ty: LogicalType, rules: &ReadRules) -> bool {
    let text = text.trim_ascii();
    match ty {
        LogicalType::Boolean => parse::boolean(text).is_some(),
        LogicalType::BigInt => parse::int(text).is_some_and(|v| i64::try_from(v).is_ok()),
        LogicalType::HugeInt => parse::int(text).is_some(),
        LogicalType::Double => parse::double(text).is_some(),
        LogicalType::Time => parse::time(text).is_some(),
        LogicalType::Date => match &rules.date_format {
            Some(format) => parse::formatted(text, format).is_some(),
            None => parse::date(text).is_some(),
        },
        LogicalType::Timestamp => match &rules.timestamp_format {
            Some(format) => parse::formatted(text, format).is_some(),
            None => parse::timestamp(text).is_some(),
        },
        _ => false,
    }
}

/// Looks at the beginning of the first file.
pub(super) fn sniff(files: &Arc<[String]>, options: &CsvOptions) -> Result<Schema> {
    let path = &files[0];
    let mut sample = Vec::new();
    let read = open(path)?.take(DIALECT_SAMPLE).read_to_end(&mut sample);
    let read = read.map_err(|e| Error::io("cannot read", path, &e))?;
    let begin = check_beginning(path, &sample)?;
    if (read as u64) < DIALECT_SAMPLE && sample.last().is_some_and(|&last| last != b'\n') {
        sample.push(if sample.contains(&b'\n') || !sample.contains(&b'\r') { b'\n' } else { b'\r' });
    }
    let newline = Dialect::sniff(&sample[begin..], options).newline;
    let begin = skip_lines(&sample, begin, options.skip, newline);
    let dialect = Dialect::sniff(&sample[begin..], options);
    let rules = ReadRules::new(dialect.clone(), options);
    let first_file: Arc<[String]> = Arc::from([path.clone()]);
    let mut reader = BlockReader::new(first_file, dialect.clone(), Arc::default());

    let mut types = TypeSample::new(options, &rules);
    'blocks: while let Some(block) = reader.next_block()? {
        let mut at = first_record(&block, options.skip, &dialect);
        while let Some((fields, next)) = dialect.split(&block.bytes, at) {
            let is_empty_line = fields.len() == 1 && fields[0].is_empty();
            if !is_empty_line && !types.add(&block.bytes, &fields, next - at) {
                break 'blocks;
            }
            at = next;
        }
    }
    types.finish(dialect, options)
}

/// Where the lines to be skipped end.
pub(super) fn skip_lines(bytes: &[u8], from: usize, count: u64, newline: u8) -> usize {
    let mut at = from;
    for _ in 0..count {
        match memchr::memchr(newline, &bytes[at..]) {
            Some(found) => at += found + 1,
            None => return bytes.len(),
        }
    }
    at
}

/// Where the first record of a block is, behind byte order mark and skipped lines.
pub(super) fn first_record(block: &Block, skip: u64, dialect: &Dialect) -> usize {
    if !block.is_first {
        return 0;
    }
    let begin = if block.bytes.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 };
    skip_lines(&block.bytes, begin, skip, dialect.newline)
}

struct TypeSample<'a> {
    rules: &'a ReadRules,
    first: Option<Vec<Option<String>>>,
    of_first: Vec<Candidates>,
    of_rest: Vec<Candidates>,
    records: usize,
    size: usize,
    limit: usize,
}

impl<'a> TypeSample<'a> {
    fn new(options: &CsvOptions, rules: &'a ReadRules) -> Self {
        let limit = options.sample_size.unwrap_or(usize::MAX);
        Self { rules, first: None, of_first: Vec::new(), of_rest: Vec::new(), records: 0, size: 0, limit }
    }

    /// Takes a record into account; whether more are wanted.
    fn add(&mut self, bytes: &[u8], fields: &[FieldRange], size: usize) -> bool {
        let mut scratch = Vec::new();
        let mut texts = fields.iter().map(|range| {
            let text = self.rules.dialect.unquoted(&bytes[range.clone()], &mut scratch);
            (!self.rules.is_null(text)).then(|| text.to_vec())
        });
        (self.records, self.size) = (self.records + 1, self.size + size);
        if self.first.is_none() {
            let texts: Vec<Option<Vec<u8>>> = texts.collect();
            self.of_first = vec![Candidates::ALL; texts.len()];
            self.of_rest = vec![Candidates::ALL; texts.len()];
            for (candidates, text) in self.of_first.iter_mut().zip(&texts) {
                text.iter().for_each(|text| candidates.add(text, self.rules));
            }
            let shown = |text: Vec<u8>| String::from_utf8_lossy(&text).trim().to_string();
            self.first = Some(texts.into_iter().map(|text| text.map(shown)).collect());
        } else {
            for (candidates, text) in self.of_rest.iter_mut().zip(&mut texts) {
                text.iter().for_each(|text| candidates.add(text, self.rules));
            }
        }
        self.records < self.limit
    }

    fn finish(self, dialect: Dialect, options: &CsvOptions) -> Result<Schema> {
        let given = options.columns.as_ref();
        let first = self.first.clone().unwrap_or_default();
        let width = given.map_or(first.len().max(1), Vec::len);
        let has_header = options.header.unwrap_or_else(|| self.looks_like_header(&first, given));
        let mut columns: Vec<(String, LogicalType)> = match given {
            Some(columns) => columns.clone(),
            None => {
                let names = if has_header { header_names(&first, width) } else { default_names(width) };
                let ty = |index: usize| self.detected_type(index, has_header, options);
                names.into_iter().enumerate().map(|(index, name)| (name, ty(index))).collect()
            }
        };
        for (column, name) in columns.iter_mut().zip(&options.names) {
            column.0.clone_from(name);
        }
        let mut detected = vec![given.is_none() && !options.all_varchar; width];
        for (position, (name, ty)) in options.types.iter().enumerate() {
            let index = match name {
                None => Some(position).filter(|&p| p < width),
                Some(name) => columns.iter().position(|(n, _)| n.eq_ignore_ascii_case(name)),
            };
            let Some(index) = index else {
                let named = name.as_ref().map_or(format!("number {}", position + 1), |n| format!("\"{n}\""));
                let found: Vec<&str> = columns.iter().map(|(n, _)| n.as_str()).collect();
                return Err(Error::invalid_argument(format!(
                    "parameter \"types\" gives a type to column {named}, which the file does not have; it has {}",
                    found.join(", ")
                )));
            };
            columns[index].1 = ty.clone();
            detected[index] = false;
        }
        let mean_size = self.size as f64 / self.records.max(1) as f64;
        Ok(Schema { dialect, has_header, columns, detected, mean_size })
    }

    fn detected_type(&self, index: usize, has_header: bool, options: &CsvOptions) -> LogicalType {
        let at = |candidates: &[Candidates]| candidates.get(index).copied().unwrap_or(Candidates::ALL);
        let mut merged = at(&self.of_rest);
        if !has_header {
            let first = at(&self.of_first);
            merged.possible &= if first.any_value { first.possible } else { u8::MAX };
            merged.any_value |= first.any_value;
        }
        if options.all_varchar { LogicalType::Varchar } else { merged.best() }
    }

    /// The first record is a header when all columns are text, or when it holds a text where values follow.
    fn looks_like_header(
        &self,
        first: &[Option<String>],
        given: Option<&Vec<(String, LogicalType)>>,
    ) -> bool {
        if let Some(columns) = given {
            let same = |(text, (name, _)): (&Option<String>, &(String, LogicalType))| {
                text.as_ref().is_some_and(|text| text.eq_ignore_ascii_case(name))
            };
            let all_same = !first.is_empty() && first.iter().zip(columns).all(same);
            // A text above values that are of the given type.
            let of_type = |candidates: Option<&Candidates>, ty: LogicalType| {
                candidates.is_none_or(|c| !c.any_value || c.possible & accepted_as(ty) != 0)
            };
            let is_name = |(index, (_, ty)): (usize, &(String, LogicalType))| {
                accepted_as(ty.clone()) != 0
                    && !of_type(self.of_first.get(index), ty.clone())
                    && of_type(self.of_rest.get(index), ty.clone())
            };
            return all_same || self.records > 1 && columns.iter().enumerate().any(is_name);
        }
        if self.records <= 1 {
            // A single record: values are data, texts alone are names.
            return self.records == 1 && self.of_first.iter().all(|c| c.best() == LogicalType::Varchar);
        }
        let types = self.of_rest.iter().map(|c| c.best());
        let mut all_text = true;
        for (ty, own) in types.zip(&self.of_first) {
            if ty == LogicalType::Varchar {
                continue;
            }
            all_text = false;
            let bit = CANDIDATES.iter().position(|c| *c == ty).unwrap_or(0);
            if own.any_value && own.possible >> bit & 1 == 0 {
                return true;
            }
        }
        all_text
    }
}

/// The candidates (as bits) whose texts a column of type `ty` takes; 0 when it takes any.
fn accepted_as(ty: LogicalType) -> u8 {
    let bit = |ty: LogicalType| CANDIDATES.iter().position(|c| *c == ty).map_or(0, |index| 1u8 << index);
    match ty {
        _ if ty.is_numeric() => bit(LogicalType::Double) | bit(LogicalType::HugeInt),
        LogicalType::Date => bit(LogicalType::Date),
        LogicalType::Time => bit(LogicalType::Time),
        LogicalType::Timestamp => bit(LogicalType::Timestamp) | bit(LogicalType::Date),
        _ => 0,
    }
}

fn default_names(width: usize) -> Vec<String> {
    (0..width).map(|index| format!("column{index}")).collect()
}

/// Names of a header; missing ones are numbered, repeated ones get a suffix.
fn header_names(first: &[Option<String>], width: usize) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(width);
    for index in 0..width {
        let given = first.get(index).cloned().flatten().filter(|name| !name.is_empty());
        let name = given.unwrap_or_else(|| format!("column{index}"));
        let taken = |name: &str| names.iter().any(|n: &String| n.eq_ignore_ascii_case(name));
        let mut unique = name.clone();
        let mut suffix = 1;
        while taken(&unique) {
            unique = format!("{name}_{suffix}");
            suffix += 1;
        }
        names.push(unique);
    }
    names
}

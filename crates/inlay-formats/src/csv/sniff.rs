//! The schema of a file: names from its header, types from a sample of its records.

use super::candidates::{Candidates, DATES, MOMENTS, Types};
use super::convert::ReadRules;
use super::dialect::{Dialect, FIELDS_MAX, FieldRange};
use super::header;
use super::options::CsvOptions;
use super::reader::{BlockReader, check_beginning};
use crate::input::InputFile;
use inlay_types::{Error, LogicalType, Result, limits};

/// What was found out about a file.
#[derive(Debug)]
pub(super) struct Schema {
    pub dialect: Dialect,
    pub has_header: bool,
    /// The first record as it stands in the file.
    pub header: Vec<String>,
    pub columns: Vec<(String, LogicalType)>,
    /// Whether a column's type was detected, not given.
    pub detected: Vec<bool>,
    /// By column: the format of its dates or timestamps, if it is another than ISO's.
    pub formats: Vec<Option<String>>,
    /// Whether lines end in a carriage return and a line feed.
    pub has_return: bool,
    /// Bytes per record of the sample.
    pub mean_size: f64,
}

/// Bytes that the dialect is found out from.
pub(super) const DIALECT_SAMPLE: u64 = 1 << 20;

/// So many records are looked at between two looks at the interrupt.
const CHECKED_RECORDS: usize = 1 << 12;

/// Looks at the beginning of a file.
pub(super) fn sniff(file: &InputFile, options: &CsvOptions) -> Result<Schema> {
    let mut sample = Vec::new();
    let mut input = file.look()?;
    while (sample.len() as u64) < DIALECT_SAMPLE && input.fill(DIALECT_SAMPLE as usize, &mut sample)? > 0 {}
    let read = sample.len() as u64;
    let begin = check_beginning(&file.path, &sample)?;
    if read < DIALECT_SAMPLE && sample.last().is_some_and(|&last| last != b'\n') {
        sample.push(if sample.contains(&b'\n') || !sample.contains(&b'\r') { b'\n' } else { b'\r' });
    }
    let newline = Dialect::sniff(&sample[begin..], options).newline;
    let begin = skip_lines(&sample, begin, options.skip, newline);
    let dialect = Dialect::sniff(&sample[begin..], options);
    let has_return = newline == b'\n'
        && memchr::memchr(newline, &sample).is_some_and(|end| end > 0 && sample[end - 1] == b'\r');
    drop(sample);

    let rules = ReadRules::new(dialect.clone(), options);
    let mut reader = BlockReader::of_one(file.clone(), &dialect, options);
    let mut types = TypeSample::new(options, &rules);
    let (mut fields, mut records) = (Vec::new(), 0);
    'blocks: while let Some(block) = reader.look_at_block()? {
        let mut at = 0;
        while let Some(split) = dialect.record(&block.bytes, at, &mut fields) {
            // A sample may be the whole file.
            records += 1;
            if usize::is_multiple_of(records, CHECKED_RECORDS) {
                limits::check()?;
            }
            if fields.len() > FIELDS_MAX && !options.ignore_errors {
                let message =
                    format!("the line has more than {FIELDS_MAX} fields, which no table has columns for");
                return Err(Error::MalformedFile {
                    path: file.path.clone(),
                    line: Some(options.skip + records as u64),
                    message,
                });
            }
            let is_blank = fields.is_empty() || fields.len() == 1 && fields[0].is_empty();
            if !is_blank && !types.add(&block.bytes, &fields, split.next - at) {
                break 'blocks;
            }
            at = split.next;
        }
    }
    types.finish(file, dialect, has_return, options)
}

/// Where the lines to be skipped end.
fn skip_lines(bytes: &[u8], from: usize, count: u64, newline: u8) -> usize {
    let mut at = from;
    for _ in 0..count {
        match memchr::memchr(newline, &bytes[at..]) {
            Some(found) => at += found + 1,
            None => return bytes.len(),
        }
    }
    at
}

/// Records at the beginning that the number of fields is found out from.
const WIDTHS: usize = 100;

struct TypeSample<'a> {
    rules: &'a ReadRules,
    types: Types,
    first: Option<Vec<Option<String>>>,
    of_first: Vec<Candidates>,
    of_rest: Vec<Candidates>,
    /// In which columns a value of those is no year.
    no_years: Vec<bool>,
    /// Fields of the first records.
    widths: Vec<usize>,
    skips_hash_lines: bool,
    /// First lines that begin with # and may be records.
    held: Vec<(Vec<u8>, Vec<FieldRange>, usize)>,
    records: usize,
    size: usize,
    limit: usize,
}

impl<'a> TypeSample<'a> {
    fn new(options: &CsvOptions, rules: &'a ReadRules) -> Self {
        Self {
            rules,
            types: Types::new(options),
            first: None,
            of_first: Vec::new(),
            of_rest: Vec::new(),
            no_years: Vec::new(),
            widths: Vec::new(),
            skips_hash_lines: rules.dialect.skips_hash_lines,
            held: Vec::new(),
            records: 0,
            size: 0,
            limit: options.sample_size.unwrap_or(usize::MAX),
        }
    }

    /// Takes a record into account; whether more are wanted.
    fn add(&mut self, bytes: &[u8], fields: &[FieldRange], size: usize) -> bool {
        let is_hash_line = self.skips_hash_lines && bytes[fields[0].start..].first() == Some(&b'#');
        if is_hash_line && self.first.is_none() && self.held.len() < WIDTHS {
            // The first line that does not begin with # says how many fields there are, and so whether this is a record.
            let start = fields[0].start;
            let end = fields.last().map_or(start, |field| field.end);
            let own = fields.iter().map(|field| field.start - start..field.end - start).collect();
            self.held.push((bytes[start..end].to_vec(), own, size));
            return true;
        }
        if is_hash_line && self.first.is_some() && fields.len() != self.of_first.len() {
            return true;
        }
        for (held, own, size) in std::mem::take(&mut self.held) {
            if own.len() == fields.len() {
                self.count(&held, &own, size);
            }
        }
        self.count(bytes, fields, size)
    }

    fn count(&mut self, bytes: &[u8], fields: &[FieldRange], size: usize) -> bool {
        let mut scratch = Vec::new();
        let mut texts = fields.iter().map(|range| {
            let text = self.rules.dialect.unquoted(&bytes[range.clone()], &mut scratch);
            (!self.rules.is_null(text)).then(|| text.to_vec())
        });
        (self.records, self.size) = (self.records + 1, self.size + size);
        if self.widths.len() < WIDTHS {
            // Lines may end in a delimiter.
            let has_extra = self.widths.first().is_some_and(|first| first + 1 == fields.len())
                && fields.last().is_some_and(|last| last.is_empty());
            self.widths.push(fields.len() - usize::from(has_extra));
        }
        if self.first.is_none() {
            let texts: Vec<Option<Vec<u8>>> = texts.collect();
            self.of_first = vec![self.types.all(); texts.len()];
            self.of_rest = vec![self.types.all(); texts.len()];
            self.no_years = vec![false; texts.len()];
            for (candidates, text) in self.of_first.iter_mut().zip(&texts) {
                text.iter().for_each(|text| self.types.narrow(candidates, text, self.rules));
            }
            let shown = |text: Vec<u8>| String::from_utf8_lossy(&text).trim().to_string();
            self.first = Some(texts.into_iter().map(|text| text.map(shown)).collect());
        } else {
            let seen = self.of_rest.iter_mut().zip(&mut self.no_years);
            for ((candidates, no_year), text) in seen.zip(&mut texts) {
                text.iter().for_each(|text| self.types.narrow(candidates, text, self.rules));
                *no_year |= text.as_deref().is_some_and(|text| year_of(text).is_none());
            }
        }
        self.records < self.limit
    }

    /// An error if the file begins with lines that are other than those that follow: they are no header.
    fn check_beginning(&self, file: &InputFile, options: &CsvOptions) -> Result<()> {
        let Some((&first, rest)) = self.widths.split_first() else { return Ok(()) };
        let (Some(&next), true) = (rest.iter().find(|width| **width != first), options.columns.is_none())
        else {
            return Ok(());
        };
        let agreeing = rest.iter().filter(|width| **width == next).count();
        let leading = self.widths.iter().take_while(|width| **width == first).count();
        let is_junk =
            leading <= 10 && agreeing + leading == self.widths.len() && agreeing > 1 && next > first;
        if !is_junk || options.ignore_errors || options.null_padding {
            return Ok(());
        }
        let lines = options.skip + leading as u64;
        let message = format!(
            "the first {leading} lines have {first} fields, those behind them {next}; use skip = {lines} to leave them out, \
             or null_padding = true to fill them with NULL"
        );
        let message = if leading == 1 {
            message
                .replace("the first 1 lines have", "the first line has")
                .replace("them", "it")
                .replace(" 1 fields", " 1 field")
        } else {
            message.replace(" 1 fields", " 1 field")
        };
        Err(Error::MalformedFile { path: file.path.clone(), line: Some(options.skip + 1), message })
    }

    fn finish(
        mut self,
        file: &InputFile,
        dialect: Dialect,
        has_return: bool,
        options: &CsvOptions,
    ) -> Result<Schema> {
        for (held, own, size) in std::mem::take(&mut self.held) {
            self.count(&held, &own, size);
        }
        self.check_beginning(file, options)?;
        let given = options.columns.as_ref();
        let first = self.first.clone().unwrap_or_default();
        let widest = if options.null_padding { self.widths.iter().max().copied().unwrap_or(0) } else { 0 };
        let width = given.map_or(first.len().max(1).max(widest), Vec::len);
        if let (None, Some(columns)) = (options.header, given) {
            check_order(&first, columns, file)?;
        }
        let has_header = options.header.unwrap_or_else(|| self.looks_like_header(&first, given));
        let found: Vec<Candidates> = (0..width).map(|index| self.merged(index, has_header)).collect();
        let mut columns: Vec<(String, LogicalType)> = match given {
            Some(columns) => columns.clone(),
            None => {
                let names =
                    if has_header { header::names(&first, width) } else { header::default_names(width) };
                let ty = |index: usize| match options.all_varchar {
                    true => LogicalType::Varchar,
                    false => self.types.best(&found[index]),
                };
                names.into_iter().enumerate().map(|(index, name)| (name, ty(index))).collect()
            }
        };
        if options.normalize_names && given.is_none() {
            header::normalize(&mut columns);
        }
        if options.names.len() > width {
            let message =
                format!("parameter \"names\" has {} names, the file {width} columns", options.names.len());
            return Err(Error::invalid_argument(message));
        }
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
                return Err(unknown_column("types", &named, &columns));
            };
            columns[index].1 = ty.clone();
            detected[index] = false;
        }
        for name in &options.force_not_null {
            if !columns.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                return Err(unknown_column("force_not_null", &format!("\"{name}\""), &columns));
            }
        }
        let formats =
            columns.iter().zip(&found).map(|((_, ty), found)| found.format_of(ty, options)).collect();
        let mean_size = self.size as f64 / self.records.max(1) as f64;
        let header = first.into_iter().map(Option::unwrap_or_default).collect();
        Ok(Schema { dialect, has_header, header, columns, detected, formats, has_return, mean_size })
    }

    /// What the values of a column may be.
    fn merged(&self, index: usize, has_header: bool) -> Candidates {
        let at =
            |candidates: &[Candidates]| candidates.get(index).cloned().unwrap_or_else(|| self.types.all());
        let mut merged = at(&self.of_rest);
        if !has_header {
            merged.intersect(&at(&self.of_first));
        }
        merged
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
            let of_type = |candidates: Option<&Candidates>, ty: &LogicalType| {
                candidates.is_none_or(|c| !c.any_value || self.types.may_be(c, ty))
            };
            let is_name = |(index, (_, ty)): (usize, &(String, LogicalType))| {
                Types::is_known(ty)
                    && !of_type(self.of_first.get(index), ty)
                    && of_type(self.of_rest.get(index), ty)
            };
            return all_same
                || self.records > 1
                    && (columns.iter().enumerate().any(is_name) || self.has_text_above_values(first.len()));
        }
        if self.records == 0 {
            // Empty lines are no rows.
            return true;
        }
        if self.records <= 1 {
            // A single record: values are data, texts alone are names.
            return self.of_first.iter().all(|c| self.types.best(c) == LogicalType::Varchar);
        }
        let all_text = self.of_rest.iter().all(|c| self.types.best(c) == LogicalType::Varchar);
        all_text || self.has_text_above_values(first.len()) || self.names_are_years(first)
    }

    /// Whether the first record has a text in a column whose values are something else, whatever they are read as.
    fn has_text_above_values(&self, width: usize) -> bool {
        self.of_rest.iter().zip(&self.of_first).take(width).any(|(rest, own)| {
            let ty = self.types.best(rest);
            ty != LogicalType::Varchar && own.any_value && !self.types.may_be(own, &ty)
        })
    }

    /// Whether the first record has years above numbers that are none, and texts above texts: `country, 2019, 2020`.
    fn names_are_years(&self, first: &[Option<String>]) -> bool {
        let (mut years, mut texts) = (Vec::new(), 0);
        let columns = first.iter().zip(&self.of_rest).zip(&self.no_years);
        for ((name, rest), no_year) in columns {
            let Some(name) = name else { return false };
            match year_of(name.as_bytes()) {
                Some(year) if *no_year && self.types.best(rest).is_numeric() => years.push(year),
                Some(_) => return false,
                None => texts += 1,
            }
        }
        let is_row =
            years.is_sorted_by(|left, right| left < right) || years.is_sorted_by(|left, right| left > right);
        texts > 0 && years.len() > 1 && is_row
    }
}

/// An error where the first record names the columns that are wanted, in another order: their values would be swapped.
fn check_order(first: &[Option<String>], columns: &[(String, LogicalType)], file: &InputFile) -> Result<()> {
    let names: Vec<String> = first.iter().flatten().map(|name| name.to_lowercase()).collect();
    let wanted: Vec<String> = columns.iter().map(|(name, _)| name.to_lowercase()).collect();
    let (mut own, mut others) = (names.clone(), wanted.clone());
    own.sort_unstable();
    others.sort_unstable();
    if names == wanted || own != others || names.len() < 2 {
        return Ok(());
    }
    let message = format!(
        "the first line names the columns in the order {}, and {} are expected: name them as the file does, or say \
         header = false if it is no header",
        first.iter().flatten().cloned().collect::<Vec<_>>().join(", "),
        columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    );
    Err(Error::MalformedFile { path: file.path.clone(), line: Some(1), message })
}

/// The year that four digits are, of those that tables have columns for.
fn year_of(text: &[u8]) -> Option<u16> {
    let text = text.trim_ascii();
    let year = std::str::from_utf8(text).ok()?.parse().ok().filter(|_| text.len() == 4)?;
    (1900..=2100).contains(&year).then_some(year)
}

fn unknown_column(option: &str, named: &str, columns: &[(String, LogicalType)]) -> Error {
    let found: Vec<&str> = columns.iter().map(|(n, _)| n.as_str()).collect();
    Error::invalid_argument(format!(
        "parameter \"{option}\" names column {named}, which the file does not have"
    ))
    .with_hint(format!("it has {}", found.join(", ")))
}

impl Candidates {
    /// The format found for a column of this type.
    fn format_of(&self, ty: &LogicalType, options: &CsvOptions) -> Option<String> {
        match ty {
            LogicalType::Date => options.date_format.clone().or_else(|| DATES.of(self)),
            LogicalType::Timestamp => options.timestamp_format.clone().or_else(|| MOMENTS.of(self)),
            _ => None,
        }
    }
}

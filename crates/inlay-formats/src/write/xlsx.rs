//! Excel workbooks from batches.
//!
//! Rows become XML and are packed as they come, by all workers, so that a workbook of any size takes little memory and is given up at once.
//! Texts stand in their cells. Numbers that an Excel number does not hold exactly are written as text, so that no digit is lost, and so
//! are times before 1900, after 9999, and between milliseconds.
//!
//! Source: ECMA-376, part 1, 18.3 (worksheets).

use super::archive::{Archive, Packed};
use super::{Destination, FileWriter, Target, check_members, made};
use crate::Parallel;
use crate::excel::TABLE_NAME;
use crate::option_text::{boolean, integer, text, unknown_option};
use inlay_types::limits::{self, Meter};
use inlay_types::size_limit::OutputFile;
use inlay_types::{Batch, Error, Reservation, Result, Value};
use std::fmt::Write as _;
use std::io;

/// Rows and columns of a sheet, UTF-16 units of a text and of a sheet's name.
const ROWS_MAX: u32 = 1 << 20;
const COLUMNS_MAX: usize = 1 << 14;
const TEXT_MAX: usize = 32_767;
const NAME_MAX: usize = 31;
/// Integers up to here are exact in a double.
const EXACT_MAX: i128 = 1 << 53;
/// Excel's number of 1970-01-01, and its first day that is not one off.
const EPOCH_DAYS: i64 = 25_569;
const FIRST_DAY: i64 = 61;
/// 9999-12-31, Excel's last day.
const LAST_DAY: i64 = 2_958_465;
const DAY_MICROS: i64 = 86_400_000_000;
/// Cells that are written at once.
const PART_CELLS: usize = 1 << 14;
/// Parts that are made before they are written.
const PARTS_AT_ONCE: usize = 64;

const OPTIONS: [&str; 3] = ["header", "sheet", "sheet_row_limit"];

/// What every workbook of ours has: which parts there are, how they hang together, and the styles: none, date, time, timestamp.
const TYPES: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>"#;
const RELATIONS: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
const BOOK_RELATIONS: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>"#;
const STYLES: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><numFmts count="3"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/><numFmt numFmtId="165" formatCode="hh:mm:ss"/><numFmt numFmtId="166" formatCode="yyyy\-mm\-dd hh:mm:ss"/></numFmts><fonts count="1"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="166" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>"#;
const SHEET_BEGIN: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>"#;
const SHEET_END: &str = "</sheetData></worksheet>";

pub(super) struct ExcelWriter {
    target: Target,
    archive: Archive<OutputFile>,
    names: Vec<String>,
    /// How columns are called in Excel.
    letters: Vec<String>,
    /// The row that is written next, and how many there may be.
    row: u32,
    row_limit: u32,
    rows: u64,
    sheet: String,
    filled: Filled,
}

/// First and last row, first and last column of the cells that have something in them.
#[derive(Clone, Copy, Default)]
struct Filled(Option<[u32; 4]>);

impl Filled {
    fn add(&mut self, [top, bottom, left, right]: [u32; 4]) {
        let known = self.0.get_or_insert([top, bottom, left, right]);
        *known = [known[0].min(top), known[1].max(bottom), known[2].min(left), known[3].max(right)];
    }
}

/// Some rows, packed, and the memory that they take.
struct Part {
    packed: Packed,
    filled: Filled,
    _held: Option<Reservation>,
}

impl ExcelWriter {
    pub(super) fn open(to: &Destination<'_>, options: &[(String, Value)]) -> Result<Self> {
        let (mut header, mut sheet, mut row_limit) = (false, "Sheet1".to_string(), ROWS_MAX);
        for (name, value) in options {
            match name.as_str() {
                "header" => header = boolean(name, value)?,
                "sheet" => sheet = text(name, value)?.to_string(),
                "sheet_row_limit" => {
                    let limit = u32::try_from(integer(name, value)?).ok();
                    row_limit = limit.filter(|limit| (1..=ROWS_MAX).contains(limit)).ok_or_else(|| {
                        Error::invalid_argument(format!("sheet_row_limit is 1 to {ROWS_MAX}, not {value}"))
                    })?;
                }
                other => return Err(unknown_option("COPY TO an Excel file", other, &OPTIONS)),
            }
        }
        if to.types.len() > COLUMNS_MAX {
            let message = format!("an Excel sheet has at most {COLUMNS_MAX} columns, not {}", to.types.len());
            return Err(Error::invalid_argument(message));
        }
        check_sheet_name(&sheet)?;
        let (target, file) = Target::create(to)?;
        let mut writer = Self {
            target,
            archive: Archive::new(file),
            names: to.names.to_vec(),
            letters: (0..to.names.len()).map(letters_of).collect(),
            row: 0,
            row_limit,
            rows: 0,
            sheet,
            filled: Filled::default(),
        };
        writer.begin(header)?;
        Ok(writer)
    }

    /// The parts that every workbook has, and the first row.
    fn begin(&mut self, header: bool) -> Result<()> {
        let mut first = SHEET_BEGIN.to_string();
        if header {
            let mut row =
                Row { xml: &mut first, number: 0, letters: &self.letters, filled: &mut self.filled };
            row.open();
            for (column, name) in self.names.iter().enumerate() {
                let written = row.cell(column, &Value::Varchar(name.clone()));
                written
                    .map_err(|what| self.target.refusal(format!("the name of column \"{name}\": {what}")))?;
            }
            row.close();
            self.row = 1;
        }
        let mut begin = || {
            self.archive.member("[Content_Types].xml", TYPES.as_bytes())?;
            self.archive.member("_rels/.rels", RELATIONS.as_bytes())?;
            self.archive.member("xl/_rels/workbook.xml.rels", BOOK_RELATIONS.as_bytes())?;
            self.archive.member("xl/styles.xml", STYLES.as_bytes())?;
            self.archive.begin("xl/worksheets/sheet1.xml")?;
            self.archive.add(&Packed::new(first.as_bytes())?)
        };
        let begun = begin();
        self.wrote(begun)
    }

    /// The rows of a batch, packed. The first of them is row `number` of the sheet, and row `before` of the result.
    fn part(&self, batch: &Batch, number: u32, before: u64) -> Result<Part> {
        let (mut xml, mut filled, mut meter) = (String::new(), Filled::default(), Meter::of_rows());
        for at in 0..batch.len() {
            let size = xml.len();
            let number = number + at as u32;
            let mut row = Row { xml: &mut xml, number, letters: &self.letters, filled: &mut filled };
            row.open();
            for (column, vector) in batch.columns().iter().enumerate() {
                let value = vector.get(at);
                check_members(&self.names[column], vector.ty(), &value, None)?;
                row.cell(column, &value).map_err(|what| {
                    let row = before + at as u64 + 1;
                    self.target.refusal(format!("row {row} of column \"{}\": {what}", self.names[column]))
                })?;
            }
            row.close();
            // What it is packed into is less.
            meter.add(2 * (xml.len() - size))?;
        }
        let packed = Packed::new(xml.as_bytes());
        limits::check()?;
        let packed = packed.map_err(|error| self.target.failure(&error))?;
        Ok(Part { packed, filled, _held: meter.finish() })
    }

    /// What came of writing: a statement that was cancelled says so itself.
    fn wrote(&self, outcome: io::Result<()>) -> Result<()> {
        limits::check()?;
        outcome.map_err(|error| self.target.failure(&error))
    }

    /// The workbook's part: its sheet, and the cells of the table where those that have something in them do not show it: a sheet has
    /// no rows and columns of NULLs at its edge.
    fn book(&self) -> String {
        let mut sheet = String::new();
        escape(&self.sheet, &mut sheet);
        let sheet = sheet.replace('"', "&quot;");
        let mut xml = format!(
            r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="{sheet}" sheetId="1" r:id="rId1"/></sheets>"#
        );
        let last = (self.row.checked_sub(1), self.letters.last());
        if let (Some(last_row), Some(letters)) = last
            && self.filled.0 != Some([0, last_row, 0, self.letters.len() as u32 - 1])
        {
            let quoted = sheet.replace('\'', "''");
            let _ = write!(
                xml,
                r#"<definedNames><definedName name="{TABLE_NAME}">'{quoted}'!$A$1:${letters}${}</definedName></definedNames>"#,
                last_row + 1
            );
        }
        xml.push_str("</workbook>");
        xml
    }
}

/// A sheet's name as Excel takes it.
fn check_sheet_name(name: &str) -> Result<()> {
    let why = if name.is_empty() {
        "it is empty"
    } else if name.encode_utf16().count() > NAME_MAX {
        "it has more than 31 characters"
    } else if name.contains(['*', '?', ':', '[', ']', '\\', '/']) {
        "none of * ? : [ ] \\ / may be in it"
    } else if name.starts_with('\'') || name.ends_with('\'') {
        "it begins or ends with an apostrophe"
    } else if name.chars().any(char::is_control) {
        "it has a control character"
    } else {
        return Ok(());
    };
    Err(Error::invalid_argument(format!("\"{name}\" is no name of an Excel sheet: {why}")))
}

/// What Excel calls a column: A to Z, then AA.
fn letters_of(column: usize) -> String {
    let (mut letters, mut rest) = (Vec::new(), column + 1);
    while rest > 0 {
        letters.push(char::from(b'A' + ((rest - 1) % 26) as u8));
        rest = (rest - 1) / 26;
    }
    letters.iter().rev().collect()
}

/// Appends a text. What XML has no character for is written as Excel writes it, and so is what would be read as that.
fn escape(text: &str, xml: &mut String) {
    let is_special = |byte: &u8| *byte < 0x20 || matches!(byte, b'&' | b'<' | b'>' | b'_' | 0xEF);
    if !text.as_bytes().iter().any(is_special) {
        return xml.push_str(text);
    }
    for (at, char) in text.char_indices() {
        match char {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '\t' | '\n' => xml.push(char),
            '\0'..'\x20' | '\u{FFFE}' | '\u{FFFF}' => {
                let _ = write!(xml, "_x{:04X}_", u32::from(char));
            }
            '_' if is_escape(&text.as_bytes()[at..]) => xml.push_str("_x005F_"),
            other => xml.push(other),
        }
    }
}

/// Whether a text begins as an escaped character does.
fn is_escape(text: &[u8]) -> bool {
    matches!(text, [b'_', b'x', a, b, c, d, b'_', ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()))
}

/// A row that is being written.
struct Row<'a> {
    xml: &'a mut String,
    number: u32,
    letters: &'a [String],
    filled: &'a mut Filled,
}

/// What a value is in Excel.
enum Cell {
    Empty,
    Boolean(bool),
    /// With the number of its style.
    Number(f64, u8),
    Text(String),
}

impl Row<'_> {
    fn open(&mut self) {
        let _ = write!(self.xml, r#"<row r="{}">"#, self.number + 1);
    }

    fn close(&mut self) {
        self.xml.push_str("</row>");
    }

    /// Writes a value as what Excel has for it; an error says what it has not.
    fn cell(&mut self, column: usize, value: &Value) -> std::result::Result<(), String> {
        let cell = cell_of(value);
        let (letters, number) = (&self.letters[column], self.number + 1);
        let done = match &cell {
            Cell::Empty => return Ok(()),
            Cell::Boolean(value) => {
                write!(self.xml, r#"<c r="{letters}{number}" t="b"><v>{}</v></c>"#, u8::from(*value))
            }
            Cell::Number(value, 0) => {
                write!(self.xml, r#"<c r="{letters}{number}"><v>{}</v></c>"#, Shown(*value))
            }
            Cell::Number(value, style) => {
                write!(self.xml, r#"<c r="{letters}{number}" s="{style}"><v>{}</v></c>"#, Shown(*value))
            }
            // A cell that holds an empty text is an empty cell; a formula may give one.
            Cell::Text(text) if text.is_empty() => {
                write!(self.xml, r#"<c r="{letters}{number}" t="str"><f>""</f><v></v></c>"#)
            }
            Cell::Text(text) => {
                if text.len() > TEXT_MAX && text.encode_utf16().count() > TEXT_MAX {
                    return Err(format!("an Excel cell holds {TEXT_MAX} characters"));
                }
                let _ = write!(
                    self.xml,
                    r#"<c r="{letters}{number}" t="inlineStr"><is><t xml:space="preserve">"#
                );
                escape(text, self.xml);
                self.xml.write_str("</t></is></c>")
            }
        };
        self.filled.add([self.number, self.number, column as u32, column as u32]);
        done.map_err(|error| error.to_string())
    }
}

/// A number as XML has it: with an exponent where it would be long.
struct Shown(f64);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = self.0.abs();
        if self.0 == 0.0 || (1e-5..1e17).contains(&size) {
            write!(f, "{}", self.0)
        } else {
            write!(f, "{:E}", self.0)
        }
    }
}

fn cell_of(value: &Value) -> Cell {
    const DATE: u8 = 1;
    const TIME: u8 = 2;
    const TIMESTAMP: u8 = 3;
    let days = |micros: i64| {
        let (days, rest) = (micros.div_euclid(DAY_MICROS) + EPOCH_DAYS, micros.rem_euclid(DAY_MICROS));
        let is_exact = (FIRST_DAY..=LAST_DAY).contains(&days) && rest % 1000 == 0;
        is_exact.then_some((days as f64 + rest as f64 / DAY_MICROS as f64, TIMESTAMP))
    };
    let shown = match value {
        Value::Null => return Cell::Empty,
        Value::Boolean(value) => return Cell::Boolean(*value),
        Value::Date(value) if (FIRST_DAY..=LAST_DAY).contains(&(i64::from(*value) + EPOCH_DAYS)) => {
            Some(((i64::from(*value) + EPOCH_DAYS) as f64, DATE))
        }
        Value::Time(micros) if *micros < DAY_MICROS && micros % 1000 == 0 => {
            Some((*micros as f64 / DAY_MICROS as f64, TIME))
        }
        Value::Timestamp(micros) => days(*micros),
        Value::TimestampS(seconds) => seconds.checked_mul(1_000_000).and_then(days),
        Value::TimestampMs(millis) => millis.checked_mul(1000).and_then(days),
        Value::TimestampNs(nanos) if nanos % 1000 == 0 => days(nanos / 1000),
        Value::Real(_) | Value::Double(_) => value.as_f64().filter(|v| v.is_finite()).map(|v| (v, 0)),
        Value::Decimal { unscaled, .. } if unscaled.abs() <= EXACT_MAX => {
            value.to_string().parse().ok().map(|number: f64| (number, 0))
        }
        other if other.logical_type().is_integer() => {
            other.as_i128().filter(|v| v.abs() <= EXACT_MAX).map(|v| (v as f64, 0))
        }
        _ => None,
    };
    shown.map_or_else(|| Cell::Text(value.to_string()), |(number, style)| Cell::Number(number, style))
}

impl FileWriter for ExcelWriter {
    fn write(&mut self, batches: &[Batch], parallel: Parallel<'_>) -> Result<()> {
        let rows_once = (PART_CELLS / self.names.len().max(1)).max(1);
        let mut parts: Vec<(Batch, u32, u64)> = Vec::new();
        for batch in batches {
            if self.row as usize + batch.len() > self.row_limit as usize {
                let message = format!("an Excel sheet holds {} rows", self.row_limit);
                let hint = "write fewer by LIMIT, or another format";
                return Err(Error::invalid_argument(message).with_hint(hint));
            }
            for from in (0..batch.len()).step_by(rows_once) {
                let len = rows_once.min(batch.len() - from);
                parts.push((batch.slice(from, len), self.row, self.rows));
                self.row += len as u32;
                self.rows += len as u64;
            }
        }
        // Texts take more room as XML than they did; a few parts at once are enough for all workers.
        for parts in parts.chunks(PARTS_AT_ONCE) {
            let writer = &*self;
            let made = made(parallel, parts.len(), |index| {
                let (batch, number, before) = &parts[index];
                writer.part(batch, *number, *before)
            })?;
            for part in made {
                if let Some(filled) = part.filled.0 {
                    self.filled.add(filled);
                }
                let added = self.archive.add(&part.packed);
                self.wrote(added)?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _: Parallel<'_>) -> Result<u64> {
        let book = self.book();
        let Self { target, mut archive, rows, .. } = *self;
        let mut end = || {
            archive.add(&Packed::new(SHEET_END.as_bytes())?)?;
            archive.end()?;
            archive.member("xl/workbook.xml", book.as_bytes())
        };
        let ended = end().and_then(|()| archive.finish());
        limits::check()?;
        ended.map_err(|error| target.failure(&error))?;
        target.publish()?;
        Ok(rows)
    }
}

//! Texts in documents that are written in a form of their own: dates and timestamps as a user says, integers in quotes.
//!
//! Such a column is read as text and converted. Where types are found out, a column has the form's type if all of its texts in
//! the sample fit it; nested ones stay text.

use super::options::JsonOptions;
use super::split::Splitter;
use super::{Column, InputFile};
use inlay_functions::registry::resolve_scalar;
use inlay_kernels::cast::{cast, cast_in_zone};
use inlay_kernels::function::ScalarFunction;
use inlay_kernels::json::documents::RowReader;
use inlay_kernels::resolve::{ArgType, ResolveOptions};
use inlay_kernels::zone::Zone;
use inlay_types::{LogicalType, Result, Value, Vector};
use std::sync::Arc;

/// The forms that a user says.
#[derive(Clone, Debug, Default)]
pub(super) struct TextForms {
    /// Of dates and of timestamps, as for `strptime`.
    pub date: Option<String>,
    pub timestamp: Option<String>,
    /// Whether columns of texts that are integers become BIGINT.
    pub integers: bool,
    /// The session's, in which moments without an offset are; UTC unless the binder says so.
    pub zone: Option<Arc<Zone>>,
}

impl TextForms {
    /// How texts of a type are written, if that was said.
    fn format_of(&self, ty: &LogicalType) -> Option<&str> {
        match ty {
            LogicalType::Date => self.date.as_deref(),
            LogicalType::Timestamp => self.timestamp.as_deref(),
            _ => None,
        }
    }

    /// The cast of texts to moments of the session, if UTC's is another one.
    fn zoned(&self, ty: &LogicalType) -> Option<ScalarFunction> {
        let zone = self.zone.as_ref().filter(|_| *ty == LogicalType::TimestampTz)?;
        cast_in_zone(&LogicalType::Varchar, ty, true, zone)
    }

    /// The type that a column is read with.
    pub fn type_read(&self, ty: &LogicalType) -> LogicalType {
        let is_text = self.format_of(ty).is_some() || self.zoned(ty).is_some();
        if is_text { LogicalType::Varchar } else { ty.clone() }
    }

    /// A column as it is read, with its own type; and the first row whose text does not fit and is NULL.
    pub fn converted(&self, column: Vector, ty: &LogicalType) -> Result<(Vector, Option<usize>)> {
        let bad =
            |moments: &Vector| (0..column.len()).find(|&row| !column.is_null(row) && moments.is_null(row));
        if let Some(cast) = self.zoned(ty) {
            let mut moments = Vector::empty(ty.clone());
            cast.kernel.eval(&[&column], column.len(), &mut moments)?;
            let bad = bad(&moments);
            return Ok((moments, bad));
        }
        let Some(format) = self.format_of(ty) else { return Ok((column, None)) };
        let moments = moments(&column, format)?;
        let bad = bad(&moments);
        if *ty != LogicalType::Date {
            return Ok((moments, bad));
        }
        let mut days = Vector::empty(LogicalType::Date);
        cast(&moments, ty, true, &mut days)?;
        Ok((days, bad))
    }

    /// Gives columns of texts the types of the forms that all their texts in the first documents fit.
    pub fn find(&self, files: &[InputFile], options: &JsonOptions, columns: &mut [Column]) -> Result<()> {
        if self.date.is_none() && self.timestamp.is_none() && !self.integers {
            return Ok(());
        }
        for column in columns.iter_mut().filter(|column| self.format_of(&column.ty).is_some()) {
            column.ty = LogicalType::Varchar;
        }
        let texts: Vec<usize> =
            (0..columns.len()).filter(|&index| columns[index].ty == LogicalType::Varchar).collect();
        let mut candidates: Vec<Candidates> = texts.iter().map(|_| Candidates::all(self)).collect();
        let reader = RowReader {
            columns: texts.iter().map(|&index| (columns[index].key.clone(), LogicalType::Varchar)).collect(),
            ignore_errors: true,
            found: None,
        };
        let mut left = options.sample_size;
        for file in files {
            let mut documents = Splitter::new(file.look()?, &file.path, options.format);
            while left > 0
                && let Some(chunk) = documents.next_chunk()?
            {
                let wanted: Vec<&str> =
                    (0..chunk.len().min(left)).map(|index| chunk.document(index)).collect();
                left -= wanted.len();
                let read = reader.read(wanted.into_iter()).map_err(|(_, error)| error)?;
                for (candidates, column) in candidates.iter_mut().zip(&read) {
                    candidates.narrow(self, column)?;
                }
            }
        }
        for (index, candidates) in texts.into_iter().zip(candidates) {
            columns[index].ty = candidates.best();
        }
        Ok(())
    }
}

/// What the texts of a column may be.
struct Candidates {
    date: bool,
    timestamp: bool,
    integer: bool,
    /// Whether there was any text.
    is_seen: bool,
}

impl Candidates {
    fn all(forms: &TextForms) -> Self {
        let (date, timestamp) = (forms.date.is_some(), forms.timestamp.is_some());
        Self { date, timestamp, integer: forms.integers, is_seen: false }
    }

    fn narrow(&mut self, forms: &TextForms, column: &Vector) -> Result<()> {
        let texts = (0..column.len()).filter(|&row| !column.is_null(row));
        let all_fit = |values: &Vector| texts.clone().all(|row| !values.is_null(row));
        self.is_seen |= texts.clone().next().is_some();
        if let Some(format) = forms.date.as_deref().filter(|_| self.date) {
            self.date = all_fit(&moments(column, format)?);
        }
        if let Some(format) = forms.timestamp.as_deref().filter(|_| self.timestamp) {
            self.timestamp = all_fit(&moments(column, format)?);
        }
        if self.integer {
            let is_integer = |row| match column.get(row) {
                Value::Varchar(text) => text.parse::<i64>().is_ok(),
                _ => false,
            };
            self.integer = texts.clone().all(is_integer);
        }
        Ok(())
    }

    fn best(&self) -> LogicalType {
        match self {
            Self { is_seen: false, .. } => LogicalType::Varchar,
            Self { date: true, .. } => LogicalType::Date,
            Self { timestamp: true, .. } => LogicalType::Timestamp,
            Self { integer: true, .. } => LogicalType::BigInt,
            Self { .. } => LogicalType::Varchar,
        }
    }
}

/// `try_strptime(column, format)`.
fn moments(column: &Vector, format: &str) -> Result<Vector> {
    let args = [ArgType::of(LogicalType::Varchar), ArgType::of(LogicalType::Varchar)];
    let function = resolve_scalar("try_strptime", &args, &ResolveOptions::default())?;
    let format = Vector::constant(LogicalType::Varchar, &Value::Varchar(format.to_string()), column.len())?;
    let mut out = Vector::empty(LogicalType::Timestamp);
    function.kernel.eval(&[column, &format], column.len(), &mut out)?;
    let value = |row| if column.is_null(row) { Value::Null } else { out.get(row) };
    let values: Vec<Value> = (0..column.len()).map(value).collect();
    Vector::from_sql_values(LogicalType::Timestamp, &values)
}

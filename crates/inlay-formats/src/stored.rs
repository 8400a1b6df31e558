//! Types that Parquet and Arrow files have no form for: what their values are written as, and made of again.
//!
//! | type | is written as |
//! |---|---|
//! | BIT, TIME WITH TIME ZONE | their texts |
//! | TIMESTAMP_S, in Parquet | TIMESTAMP |
//! | UNION | as in DuckDB: a struct of the number of the member, `element1`, and all members, of which one is set |
//!
//! The file notes beside its schema what such columns were ([`NOTE`]). A note is believed where the columns may be of these types;
//! other readers, and files that were written anew without it, see what is written. A column that holds such a type within lists,
//! structs or maps is converted as a whole.
//!
//! [`StoredWriter`] converts batches on the way to a writer, [`Restored`] those that come from a source.

use crate::Parallel;
use crate::write::FileWriter;
use inlay_catalog::{
    ScanRequest, SourceColumn, SourceFilter, SourceScan, SourceTask, TableSource, TypeNames,
};
use inlay_kernels::json::value::{Json, quote};
use inlay_kernels::{cast, cast_value};
use inlay_types::logical_type::Field;
use inlay_types::{Batch, Error, Interval, LogicalType, Result, Value, Vector, VectorBuilder};
use std::sync::Arc;

/// The key under which a file notes the types of its columns: a JSON object of names and types.
pub(crate) const NOTE: &str = "inlay.types";

/// What DuckDB calls the number of a union's member.
const TAG: &str = "element1";

/// Bytes of an interval in a Parquet file: months, days and milliseconds.
pub(crate) const INTERVAL_SIZE: usize = 12;

/// The type as which a format writes values of `ty`; `has_seconds`: whether it has moments in seconds.
pub(crate) fn stored_type(ty: &LogicalType, has_seconds: bool) -> LogicalType {
    let stored = |ty: &LogicalType| stored_type(ty, has_seconds);
    let field = |field: &Field| Field::new(Arc::clone(&field.name), stored(&field.ty));
    match ty {
        LogicalType::Bit | LogicalType::TimeTz => LogicalType::Varchar,
        LogicalType::TimestampS if !has_seconds => LogicalType::Timestamp,
        LogicalType::List(element) => LogicalType::list(stored(element)),
        LogicalType::Array(element, size) => LogicalType::array(stored(element), *size),
        LogicalType::Map(types) => LogicalType::map(stored(&types.0), stored(&types.1)),
        LogicalType::Struct(fields) => LogicalType::Struct(fields.iter().map(field).collect()),
        LogicalType::Union(members) => {
            let tag = Field::new(TAG, LogicalType::UTinyInt);
            LogicalType::Struct(std::iter::once(tag).chain(members.iter().map(field)).collect())
        }
        other => other.clone(),
    }
}

/// What a file notes of columns that are written as other types.
pub(crate) fn note(names: &[String], types: &[LogicalType], stored: &[LogicalType]) -> Option<String> {
    let mut text = String::new();
    for ((name, ty), _) in names.iter().zip(types).zip(stored).filter(|((_, ty), stored)| ty != stored) {
        text.push(if text.is_empty() { '{' } else { ',' });
        quote(name, &mut text);
        text.push(':');
        quote(&ty.to_string(), &mut text);
    }
    (!text.is_empty()).then(|| text + "}")
}

/// The types that a note says of columns, where they may be of these.
pub(crate) fn noted(note: &str, columns: &mut [SourceColumn], types: &TypeNames<'_>) {
    // What cannot be read is somebody else's.
    let Ok(Json::Object(members)) = Json::parse(note) else { return };
    for (name, ty) in &members {
        let Json::Text(ty) = ty else { continue };
        let (Some(column), Ok(ty)) =
            (columns.iter_mut().find(|column| column.name == **name), types(ty.as_ref()))
        else {
            continue;
        };
        if restores(&column.ty, &ty) {
            column.ty = ty;
        }
    }
}

/// Whether values of a type that was read may be those of another one.
pub(crate) fn restores(read: &LogicalType, ty: &LogicalType) -> bool {
    use LogicalType as T;
    match (read, ty) {
        (read, ty) if read == ty => true,
        (T::Varchar, T::Bit | T::TimeTz | T::Enum(_) | T::Json | T::Uuid)
        | (T::Timestamp, T::TimestampS)
        | (T::Decimal { .. }, T::HugeInt | T::UHugeInt)
        | (T::Blob, T::Interval) => true,
        (T::List(read) | T::Array(read, _), T::List(ty) | T::Array(ty, _)) => restores(read, ty),
        (T::Map(read), T::Map(ty)) => restores(&read.0, &ty.0) && restores(&read.1, &ty.1),
        (T::Struct(read), T::Struct(ty)) => have_same_fields(read, ty),
        (T::Struct(read), T::Union(members)) => match &**read {
            [tag, parts @ ..] => &*tag.name == TAG && tag.ty.is_integer() && have_same_fields(parts, members),
            [] => false,
        },
        _ => false,
    }
}

fn have_same_fields(read: &[Field], ty: &[Field]) -> bool {
    let is_same = |(read, ty): (&Field, &Field)| read.name == ty.name && restores(&read.ty, &ty.ty);
    read.len() == ty.len() && read.iter().zip(ty).all(is_same)
}

/// A column as another type: as it is stored, or as it was.
pub(crate) fn converted(column: &Vector, to: &LogicalType) -> Result<Vector> {
    let from = column.logical_type();
    if from == *to {
        return Ok(column.clone());
    }
    if !from.is_nested() && !to.is_nested() && *to != LogicalType::Interval {
        let mut out = Vector::empty(to.clone());
        cast(column, to, false, &mut out)?;
        return Ok(out.flatten());
    }
    let mut out = VectorBuilder::new(to.clone(), column.len());
    for row in 0..column.len() {
        out.push(&value_as(column.get(row), to)?)?;
    }
    Ok(out.finish())
}

fn value_as(value: Value, to: &LogicalType) -> Result<Value> {
    let each = |values: Vec<Value>, ty: &LogicalType| {
        values.into_iter().map(|value| value_as(value, ty)).collect::<Result<Vec<Value>>>()
    };
    Ok(match (value, to) {
        (Value::Null, _) => Value::Null,
        (Value::List { values, .. } | Value::Array { values, .. }, LogicalType::List(element)) => {
            Value::List { element: Arc::clone(element), values: each(values, element)? }
        }
        (Value::List { values, .. } | Value::Array { values, .. }, LogicalType::Array(element, size))
            if values.len() == *size as usize =>
        {
            Value::Array { element: Arc::clone(element), values: each(values, element)? }
        }
        (Value::Map { entries, .. }, LogicalType::Map(types)) => {
            let entry = |(key, value)| -> Result<(Value, Value)> {
                Ok((value_as(key, &types.0)?, value_as(value, &types.1)?))
            };
            let entries = entries.into_iter().map(entry).collect::<Result<_>>()?;
            Value::Map { types: Arc::clone(types), entries }
        }
        (Value::Union { tag, value, .. }, LogicalType::Struct(fields)) => {
            let mut values = vec![Value::Null; fields.len()];
            let place = usize::from(tag) + 1;
            let (Some(first), Some(field)) = (values.first_mut(), fields.get(place)) else {
                return Err(Error::internal("a union is stored as a struct of other fields"));
            };
            *first = Value::UTinyInt(tag);
            values[place] = value_as(*value, &field.ty)?;
            Value::Struct { fields: Arc::clone(fields), values }
        }
        (Value::Struct { values, .. }, LogicalType::Union(members)) => member(values, members)?,
        (Value::Struct { values, .. }, LogicalType::Struct(fields)) if values.len() == fields.len() => {
            let values =
                values.into_iter().zip(fields.iter()).map(|(value, field)| value_as(value, &field.ty));
            Value::Struct { fields: Arc::clone(fields), values: values.collect::<Result<_>>()? }
        }
        (Value::Blob(bytes), LogicalType::Interval) => interval(&bytes)?,
        (value, to) if value.logical_type() == *to => value,
        (value, to) => cast_value(&value, to)?,
    })
}

/// The member whose number comes first.
fn member(values: Vec<Value>, members: &Arc<[Field]>) -> Result<Value> {
    let tag = values.first().and_then(Value::as_i128).and_then(|tag| u8::try_from(tag).ok());
    let Some(tag) = tag else { return Ok(Value::Null) };
    let place = usize::from(tag);
    let (Some(member), Some(value)) = (members.get(place), values.into_iter().nth(place + 1)) else {
        let count = members.len();
        return Err(Error::invalid_argument(format!("a UNION of {count} members has none of number {tag}")));
    };
    Ok(Value::Union { members: Arc::clone(members), tag, value: Box::new(value_as(value, &member.ty)?) })
}

/// The bytes of an interval in a Parquet file; `None` if they do not hold it.
pub(crate) fn interval_bytes(interval: Interval) -> Option<[u8; INTERVAL_SIZE]> {
    let micros = u64::try_from(interval.micros).ok().filter(|micros| micros % 1000 == 0)?;
    let parts = [
        u32::try_from(interval.months).ok()?,
        u32::try_from(interval.days).ok()?,
        u32::try_from(micros / 1000).ok()?,
    ];
    let mut bytes = [0; INTERVAL_SIZE];
    for (place, part) in bytes.chunks_exact_mut(4).zip(parts) {
        place.copy_from_slice(&part.to_le_bytes());
    }
    Some(bytes)
}

fn interval(bytes: &[u8]) -> Result<Value> {
    let part = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let (Some(months), Some(days), Some(millis)) = (part(0), part(4), part(8)) else {
        return Err(Error::invalid_argument(format!(
            "an interval has {INTERVAL_SIZE} bytes, not {}",
            bytes.len()
        )));
    };
    match (i32::try_from(months), i32::try_from(days)) {
        (Ok(months), Ok(days)) => {
            Ok(Value::Interval(Interval { months, days, micros: i64::from(millis) * 1000 }))
        }
        _ => Err(Error::out_of_range(format!(
            "an interval of {months} months and {days} days is out of range"
        ))),
    }
}

/// Writes columns as the types that are stored.
pub(crate) struct StoredWriter {
    pub inner: Box<dyn FileWriter>,
    pub names: Vec<String>,
    pub types: Vec<LogicalType>,
}

fn stored(batch: &Batch, names: &[String], types: &[LogicalType]) -> Result<Batch> {
    let column = |((column, ty), name): ((&Vector, &LogicalType), &String)| {
        converted(column, ty).map_err(|error| {
            Error::invalid_argument(format!("column \"{name}\" cannot be written: {error}"))
                .with_hint("cast it to VARCHAR")
        })
    };
    let columns = batch.columns().iter().zip(types).zip(names).map(column);
    Ok(Batch::new(columns.collect::<Result<_>>()?, batch.len()))
}

impl FileWriter for StoredWriter {
    fn write(&mut self, batches: &[Batch], parallel: Parallel<'_>) -> Result<()> {
        let (names, types) = (&self.names, &self.types);
        let batches =
            crate::write::made(parallel, batches.len(), |index| stored(&batches[index], names, types))?;
        self.inner.write(&batches, parallel)
    }

    fn finish(self: Box<Self>, parallel: Parallel<'_>) -> Result<u64> {
        self.inner.finish(parallel)
    }
}

/// A source whose columns are of other types than those that are read.
#[derive(Debug)]
pub(crate) struct Restored {
    source: Arc<dyn TableSource>,
    columns: Vec<SourceColumn>,
}

impl Restored {
    /// The source itself where nothing differs.
    pub fn around(source: Arc<dyn TableSource>, columns: Vec<SourceColumn>) -> Arc<dyn TableSource> {
        if source.columns() == columns { source } else { Arc::new(Self { source, columns }) }
    }

    fn is_read_as_it_is(&self, column: usize) -> bool {
        self.columns[column].ty == self.source.columns()[column].ty
    }
}

impl TableSource for Restored {
    fn description(&self) -> String {
        self.source.description()
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        self.source.row_count_estimate()
    }

    fn may_wait(&self) -> bool {
        self.source.may_wait()
    }

    fn known_row_count(&self) -> Option<u64> {
        self.source.known_row_count()
    }

    fn known_extreme(&self, column: usize, greatest: bool) -> Option<Value> {
        if self.is_read_as_it_is(column) { self.source.known_extreme(column, greatest) } else { None }
    }

    fn scan(&self, mut request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        // A filter is of the restored type.
        let is_useful = |filter: &SourceFilter| self.is_read_as_it_is(filter.column);
        request.filters.retain(is_useful);
        request.any_of.retain(|lists| lists.iter().flatten().all(is_useful));
        let ty = |&column: &usize| {
            // A part of which nothing is known stays what it is read as until other files say more.
            let ty = &self.columns[column].ty;
            let is_unknown = ty.has_part(&|part| *part == LogicalType::Null);
            if is_unknown { self.source.columns()[column].ty.clone() } else { ty.clone() }
        };
        let types = request.columns.iter().map(ty).collect();
        Ok(Box::new(RestoredScan { scan: self.source.scan(request)?, types }))
    }
}

struct RestoredScan {
    scan: Box<dyn SourceScan>,
    types: Arc<[LogicalType]>,
}

impl SourceScan for RestoredScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        let Some(task) = self.scan.next_task()? else { return Ok(None) };
        let types = Arc::clone(&self.types);
        let restored = move |batch: Result<Batch>| {
            let batch = batch?;
            let columns = batch.columns().iter().zip(&*types).map(|(column, ty)| converted(column, ty));
            Ok(Batch::new(columns.collect::<Result<_>>()?, batch.len()))
        };
        Ok(Some(Box::new(task.map(restored))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_stored_and_restored() {
        let union = |members: &[(&str, LogicalType)]| {
            LogicalType::Union(members.iter().map(|(name, ty)| Field::new(*name, ty.clone())).collect())
        };
        let ty = LogicalType::list(union(&[("b", LogicalType::Bit), ("s", LogicalType::TimestampS)]));
        let stored = stored_type(&ty, false);
        assert_eq!(stored.to_string(), "STRUCT(element1 UTINYINT, b VARCHAR, s TIMESTAMP)[]");
        assert!(restores(&stored, &ty) && !restores(&LogicalType::Varchar, &ty));
        let text =
            note(&["a\"b".to_string()], std::slice::from_ref(&ty), std::slice::from_ref(&stored)).unwrap();
        let mut columns = [SourceColumn { name: "a\"b".to_string(), ty: stored }];
        noted(&text, &mut columns, &inlay_sql::parser::parse_type);
        assert_eq!(columns[0].ty, ty);
    }

    #[test]
    fn intervals_are_kept_or_refused() {
        let of = |months, days, micros| Interval { months, days, micros };
        let kept = of(14, 3, 4_500_000);
        assert_eq!(interval(&interval_bytes(kept).unwrap()), Ok(Value::Interval(kept)));
        for lost in [of(-1, 0, 0), of(0, -1, 0), of(0, 0, -1000), of(0, 0, 1), of(0, 0, i64::MAX)] {
            assert_eq!(interval_bytes(lost), None);
        }
        assert!(interval(&[0; 11]).is_err() && interval(&[255; 12]).is_err());
    }
}

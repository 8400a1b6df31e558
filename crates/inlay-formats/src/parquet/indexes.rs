//! What a file says of parts of a row group: Bloom filters of its columns and the bounds of its pages.
//!
//! Both only rule out rows. Where one is missing, broken or of a type that is not compared here, nothing is ruled out.

use super::ParquetFile;
use super::pages::Chunk;
use super::prune::Bounds;
use crate::quiet::caught;
use inlay_catalog::{SourceColumn, SourceFilter};
use inlay_storage::{Cmp, SegmentPredicate};
use inlay_types::{LogicalType, Value};
use parquet::basic::Type;
use parquet::bloom_filter::Sbbf;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::index_reader::{decode_column_index, decode_offset_index};
use parquet::file::statistics::Statistics;
use std::ops::Range;

/// Largest part of a file that is read to rule out others.
const INDEX_SIZE_MAX: u64 = 64 << 20;

/// Whether the Bloom filters of a row group leave rows that satisfy the filters.
pub(super) fn may_match(
    file: &ParquetFile,
    number: usize,
    columns: &[SourceColumn],
    filters: &[SourceFilter],
) -> bool {
    let group = file.metadata.metadata().row_group(number);
    filters.iter().all(|filter| {
        let values = match &filter.predicate {
            SegmentPredicate::Compare(Cmp::Eq, value) => std::slice::from_ref(value),
            SegmentPredicate::In(values) => values.as_slice(),
            _ => return true,
        };
        let chunk = file.leaf_of(filter.column).and_then(|leaf| group.columns().get(leaf));
        let Some(chunk) = chunk.filter(|chunk| chunk.bloom_filter_offset().is_some()) else { return true };
        let is_sensible = chunk.bloom_filter_length().is_none_or(|len| len > 0);
        if !is_sensible {
            return true;
        }
        let ty = &columns[filter.column].ty;
        let is_as_stored = file.is_as_stored(filter.column);
        // The crate takes some sizes of filters for granted.
        let says = caught(|| match Sbbf::read_from_column_chunk(chunk, &Chunk::file(&file.bytes)) {
            Ok(Some(bloom)) => values
                .iter()
                .any(|value| !value.is_null() && may_have(&bloom, chunk, ty, is_as_stored, value)),
            Ok(None) | Err(_) => true,
        });
        says.unwrap_or(true)
    })
}

/// Whether a Bloom filter says that a value may be there; true where they do not lie alike.
fn may_have(
    bloom: &Sbbf,
    chunk: &ColumnChunkMetaData,
    ty: &LogicalType,
    is_as_stored: bool,
    value: &Value,
) -> bool {
    let lies_alike = match ty {
        LogicalType::TinyInt
        | LogicalType::SmallInt
        | LogicalType::Integer
        | LogicalType::BigInt
        | LogicalType::UTinyInt
        | LogicalType::USmallInt
        | LogicalType::UInteger
        | LogicalType::UBigInt
        | LogicalType::Date
        | LogicalType::Decimal { .. } => true,
        LogicalType::Time
        | LogicalType::Timestamp
        | LogicalType::TimestampTz
        | LogicalType::TimestampMs
        | LogicalType::TimestampNs => is_as_stored,
        LogicalType::Varchar => true,
        _ => false,
    };
    if !lies_alike || value.logical_type() != *ty {
        return true;
    }
    match (chunk.column_descr().physical_type(), value) {
        (Type::INT32, value) => value.as_stored_i128().is_none_or(|stored| bloom.check(&(stored as i32))),
        (Type::INT64, value) => value.as_stored_i128().is_none_or(|stored| bloom.check(&(stored as i64))),
        (Type::BYTE_ARRAY, Value::Varchar(text)) => bloom.check(text.as_str()),
        _ => true,
    }
}

/// The ranges of rows of a row group whose pages hold nothing that satisfies the filters, ascending.
pub(super) fn ruled_out(
    file: &ParquetFile,
    number: usize,
    columns: &[SourceColumn],
    filters: &[SourceFilter],
) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for filter in filters {
        let is_bounded = matches!(
            filter.predicate,
            SegmentPredicate::Compare(..)
                | SegmentPredicate::Between { .. }
                | SegmentPredicate::In(_)
                | SegmentPredicate::KeyBitmap(_)
        );
        if is_bounded {
            ranges.extend(ruled_out_by(file, number, columns, filter).unwrap_or_default());
        }
    }
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

fn ruled_out_by(
    file: &ParquetFile,
    number: usize,
    columns: &[SourceColumn],
    filter: &SourceFilter,
) -> Option<Vec<Range<usize>>> {
    let group = file.metadata.metadata().row_group(number);
    let rows = usize::try_from(group.num_rows()).ok()?;
    let chunk = group.columns().get(file.leaf_of(filter.column)?)?;
    let read = |offset: Option<i64>, len: Option<i32>| {
        let (start, len) = (u64::try_from(offset?).ok()?, u64::try_from(len?).ok()?);
        if len > INDEX_SIZE_MAX {
            return None;
        }
        file.bytes.read(start, len as usize).ok()
    };
    let bounds = read(chunk.column_index_offset(), chunk.column_index_length())?;
    let places = read(chunk.offset_index_offset(), chunk.offset_index_length())?;
    let places = decode_offset_index(&places).ok()?;
    let places = places.page_locations();
    if places.len() < 2 {
        return None;
    }
    let bounds = decode_column_index(&bounds, chunk.column_descr().physical_type()).ok()?;
    if bounds.num_pages() != places.len() as u64 {
        return None;
    }
    let first = |page: usize| match places.get(page) {
        Some(place) => usize::try_from(place.first_row_index).ok(),
        None => Some(rows),
    };
    let (ty, is_as_stored) = (&columns[filter.column].ty, file.is_as_stored(filter.column));
    let mut ranges = Vec::new();
    for page in 0..places.len() {
        let (from, to) = (first(page)?, first(page + 1)?);
        if from > to || to > rows {
            return None;
        }
        let statistics = statistics_of(&bounds, page)?;
        let bounds = Bounds::of(&statistics, ty.clone(), is_as_stored, (to - from) as u64);
        if !bounds.may_match(&filter.predicate) {
            ranges.push(from..to);
        }
    }
    Some(ranges)
}

/// The bounds of a page as statistics.
fn statistics_of(index: &ColumnIndexMetaData, page: usize) -> Option<Statistics> {
    let nulls = index.null_count(page).and_then(|count| u64::try_from(count).ok());
    let bytes = |value: Option<&[u8]>| value.map(|value| ByteArray::from(value.to_vec()));
    Some(match index {
        ColumnIndexMetaData::BOOLEAN(i) => {
            Statistics::boolean(i.min_value(page).copied(), i.max_value(page).copied(), None, nulls, false)
        }
        ColumnIndexMetaData::INT32(i) => {
            Statistics::int32(i.min_value(page).copied(), i.max_value(page).copied(), None, nulls, false)
        }
        ColumnIndexMetaData::INT64(i) => {
            Statistics::int64(i.min_value(page).copied(), i.max_value(page).copied(), None, nulls, false)
        }
        ColumnIndexMetaData::FLOAT(i) => {
            Statistics::float(i.min_value(page).copied(), i.max_value(page).copied(), None, nulls, false)
        }
        ColumnIndexMetaData::DOUBLE(i) => {
            Statistics::double(i.min_value(page).copied(), i.max_value(page).copied(), None, nulls, false)
        }
        ColumnIndexMetaData::BYTE_ARRAY(i) => {
            Statistics::byte_array(bytes(i.min_value(page)), bytes(i.max_value(page)), None, nulls, false)
        }
        ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(i) => {
            let fixed = |value: Option<&[u8]>| bytes(value).map(FixedLenByteArray::from);
            Statistics::fixed_len_byte_array(
                fixed(i.min_value(page)),
                fixed(i.max_value(page)),
                None,
                nulls,
                false,
            )
        }
        ColumnIndexMetaData::INT96(_) => return None,
    })
}

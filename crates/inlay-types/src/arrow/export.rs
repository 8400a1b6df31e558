//! Vectors as Arrow arrays. An exported array owns references to our buffers in its private data; releasing it
//! drops them, on whatever thread the consumer is.

use super::export_nested::{field_schema, nested_array};
use super::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema, FLAG_NULLABLE};
use super::stream;
use crate::value::Interval;
use crate::view::View;
use crate::{Batch, Bitmap, Buffer, Error, LogicalType, PhysicalType, Result, Vector, VectorBuilder};
use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// How VARCHAR and BLOB leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StringLayout {
    /// `utf8view`, `binaryview`: views and heap as they lie, no copy.
    #[default]
    View,
    /// `utf8`, `binary`: 32-bit offsets; at most 2 GiB per column and batch. Copies.
    Utf8,
    /// `large_utf8`, `large_binary`: 64-bit offsets. Copies.
    LargeUtf8,
}

#[derive(Clone, Debug)]
struct ExportColumn {
    name: String,
    ty: LogicalType,
    dictionary: bool,
}

/// Turns batches of one schema into Arrow.
#[derive(Clone, Debug)]
pub struct Exporter {
    columns: Vec<ExportColumn>,
    strings: StringLayout,
}

impl Exporter {
    /// An exporter of columns with these names and types. Dictionaries are decoded, strings leave as views.
    pub fn new(names: &[String], types: &[LogicalType]) -> Self {
        let column = |(name, ty): (&String, &LogicalType)| ExportColumn {
            name: name.clone(),
            ty: ty.clone(),
            dictionary: false,
        };
        Self { columns: names.iter().zip(types).map(column).collect(), strings: StringLayout::View }
    }

    /// Chooses the layout of strings.
    pub fn with_strings(mut self, strings: StringLayout) -> Self {
        self.strings = strings;
        self
    }

    /// Exports as Arrow dictionaries those columns that are dictionary vectors in `sample` (of equal length as the
    /// schema). Batches in which such a column is not a dictionary get one of their own.
    pub fn keep_dictionaries(mut self, sample: &[Vector]) -> Self {
        for (column, vector) in self.columns.iter_mut().zip(sample) {
            // An ENUM is a dictionary already; nested values are taken apart.
            let plain = !column.ty.is_nested() && !matches!(column.ty, LogicalType::Enum(_));
            column.dictionary = plain && vector.as_dictionary().is_some();
        }
        self
    }

    /// The schema of the batches: a struct of the columns.
    pub fn schema(&self) -> ArrowSchema {
        let children = (0..self.columns.len()).map(|index| self.column_schema(index)).collect();
        schema_of("+s", "", 0, children, None)
    }

    /// The schema of one column.
    pub fn column_schema(&self, index: usize) -> ArrowSchema {
        let column = &self.columns[index];
        if column.dictionary {
            let values = field_schema(&column.ty, "", self.strings);
            return schema_of("I", &column.name, FLAG_NULLABLE, Vec::new(), Some(values));
        }
        field_schema(&column.ty, &column.name, self.strings)
    }

    /// A batch as a struct array.
    pub fn batch(&self, batch: &Batch) -> Result<ArrowArray> {
        self.columns(batch.columns(), batch.len())
    }

    /// Columns of `len` rows each, of any length, as a struct array.
    pub fn columns(&self, columns: &[Vector], len: usize) -> Result<ArrowArray> {
        if columns.len() != self.columns.len() || columns.iter().any(|c| c.len() != len) {
            return Err(Error::internal("columns to export do not fit the schema"));
        }
        let export = |(index, column)| self.column(index, column);
        let children = columns.iter().enumerate().map(export).collect::<Result<Vec<_>>>()?;
        Ok(array_of(len, 0, vec![None], children, None))
    }

    /// One column as an array of [`Exporter::column_schema`].
    pub fn column(&self, index: usize, vector: &Vector) -> Result<ArrowArray> {
        let column = &self.columns[index];
        vector.expect_type(&column.ty)?;
        if !column.dictionary {
            return flat_array(&vector.flatten(), self.strings).map_err(|e| named(e, &column.name));
        }
        let (codes, values) = match vector.as_dictionary() {
            Some(dictionary) => (vector.data().clone(), dictionary.values().clone()),
            None => identity_dictionary(vector),
        };
        let values = flat_array(&values, self.strings).map_err(|e| named(e, &column.name))?;
        let validity = if vector.is_constant() { None } else { vector.validity() };
        let validity = match validity {
            None if vector.null_count() > 0 => Some(Bitmap::filled(vector.len(), false)),
            other => other.cloned(),
        };
        let buffers = vec![validity.map(|v| v.buffer().clone()), Some(codes)];
        Ok(array_of(vector.len(), vector.null_count(), buffers, Vec::new(), Some(values)))
    }

    /// A stream of batches. `batches` is pulled by the consumer's thread.
    pub fn stream(self, batches: impl Iterator<Item = Result<Batch>> + Send + 'static) -> ArrowArrayStream {
        stream::export(self, Box::new(batches))
    }
}

fn named(error: Error, column: &str) -> Error {
    match error {
        Error::OutOfRange { message } => {
            Error::OutOfRange { message: format!("column \"{column}\": {message}") }
        }
        other => other,
    }
}

fn identity_dictionary(vector: &Vector) -> (Buffer, Vector) {
    let mut values =
        if vector.is_constant() { vector.slice(0, vector.len().min(1)).flatten() } else { vector.flatten() };
    values.set_validity(None);
    let last = values.len().saturating_sub(1);
    let codes: Vec<u32> = (0..vector.len()).map(|row| row.min(last) as u32).collect();
    (Buffer::from_vec(codes), values)
}

pub(super) fn format_of(ty: &LogicalType, strings: StringLayout) -> String {
    let text = match ty {
        LogicalType::Null | LogicalType::Integer => "i",
        LogicalType::Boolean => "b",
        LogicalType::TinyInt => "c",
        LogicalType::SmallInt => "s",
        LogicalType::BigInt => "l",
        LogicalType::UTinyInt => "C",
        LogicalType::USmallInt => "S",
        LogicalType::UInteger => "I",
        LogicalType::UBigInt => "L",
        LogicalType::HugeInt | LogicalType::UHugeInt => "d:38,0",
        LogicalType::Real => "f",
        LogicalType::Double => "g",
        LogicalType::Decimal { precision, scale } => return format!("d:{precision},{scale}"),
        LogicalType::Varchar | LogicalType::Json | LogicalType::Uuid => match strings {
            StringLayout::View => "vu",
            StringLayout::Utf8 => "u",
            StringLayout::LargeUtf8 => "U",
        },
        LogicalType::Blob | LogicalType::Bit => match strings {
            StringLayout::View => "vz",
            StringLayout::Utf8 => "z",
            StringLayout::LargeUtf8 => "Z",
        },
        LogicalType::Date => "tdD",
        LogicalType::Time | LogicalType::TimeTz => "ttu",
        LogicalType::Timestamp => "tsu:",
        LogicalType::Interval => "tin",
        LogicalType::TimestampS => "tss:",
        LogicalType::TimestampMs => "tsm:",
        LogicalType::TimestampNs => "tsn:",
        LogicalType::TimestampTz => "tsu:UTC",
        // Made by `field_schema`.
        LogicalType::Enum(_)
        | LogicalType::List(_)
        | LogicalType::Array(..)
        | LogicalType::Struct(_)
        | LogicalType::Map(_)
        | LogicalType::Union(_) => "n",
    };
    text.to_string()
}

pub(super) fn flat_array(vector: &Vector, strings: StringLayout) -> Result<ArrowArray> {
    if let Some(nested) = nested_array(vector, strings)? {
        return Ok(nested);
    }
    let len = vector.len();
    let null_count = vector.null_count();
    let validity = vector.validity().filter(|_| null_count > 0).map(|v| v.buffer().clone());
    let values = match vector.logical_type() {
        LogicalType::Boolean => pack_bits(vector.values::<u8>()),
        LogicalType::Decimal { .. } => match vector.physical_type() {
            PhysicalType::I16 => widen(vector.values::<i16>()),
            PhysicalType::I32 => widen(vector.values::<i32>()),
            PhysicalType::I64 => widen(vector.values::<i64>()),
            _ => vector.data().clone(),
        },
        LogicalType::UHugeInt => {
            let too_large = |(row, &value): (usize, &u128)| value > i128::MAX as u128 && !vector.is_null(row);
            if let Some((_, value)) = vector.values::<u128>().iter().enumerate().find(|&v| too_large(v)) {
                return Err(Error::out_of_range(format!(
                    "UHUGEINT {value} does not fit into Arrow's decimal128"
                )));
            }
            vector.data().clone()
        }
        LogicalType::Interval => nanoseconds(vector)?,
        // The time on the clock; Arrow has no offset for it.
        LogicalType::TimeTz => {
            let micros = |&stored: &i64| crate::TimeTz::from_stored(stored).micros;
            Buffer::from_vec(vector.values::<i64>().iter().map(micros).collect::<Vec<i64>>())
        }
        LogicalType::Uuid => return flat_array(&texts(vector), strings),
        LogicalType::Varchar | LogicalType::Json | LogicalType::Blob | LogicalType::Bit => {
            let buffers = string_buffers(vector, strings)?;
            let buffers = std::iter::once(validity).chain(buffers.into_iter().map(Some)).collect();
            return Ok(array_of(len, null_count, buffers, Vec::new(), None));
        }
        _ => vector.data().clone(),
    };
    Ok(array_of(len, null_count, vec![validity, Some(values)], Vec::new(), None))
}

/// The values as texts.
fn texts(vector: &Vector) -> Vector {
    let mut builder = VectorBuilder::new(LogicalType::Varchar, vector.len());
    for row in 0..vector.len() {
        match vector.is_null(row) {
            true => builder.push_null(),
            false => builder.push_bytes(vector.get(row).to_string().as_bytes()),
        }
    }
    builder.finish()
}

fn pack_bits(bytes: &[u8]) -> Buffer {
    let mut words = vec![0u64; bytes.len().div_ceil(64)];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(64)) {
        for (index, eight) in bytes.chunks(8).enumerate() {
            let mut raw = [0u8; 8];
            raw[..eight.len()].copy_from_slice(eight);
            // The product gathers the low bit of each byte in the top byte.
            let bits =
                (u64::from_le_bytes(raw) & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            *word |= bits << (index * 8);
        }
    }
    Buffer::from_vec(words)
}

fn widen<T: Copy + Into<i128>>(values: &[T]) -> Buffer {
    Buffer::from_vec(values.iter().map(|&value| value.into()).collect::<Vec<i128>>())
}

fn nanoseconds(vector: &Vector) -> Result<Buffer> {
    let mut values = vector.values::<Interval>().to_vec();
    for (row, value) in values.iter_mut().enumerate() {
        match value.micros.checked_mul(1000) {
            Some(nanos) => value.micros = nanos,
            None if vector.is_null(row) => *value = Interval::default(),
            None => {
                return Err(Error::out_of_range(format!("INTERVAL {value} does not fit into nanoseconds")));
            }
        }
    }
    Ok(Buffer::from_vec(values))
}

fn string_buffers(vector: &Vector, strings: StringLayout) -> Result<Vec<Buffer>> {
    let (views, heap) = (vector.views(), vector.heap().buffers());
    if strings == StringLayout::View {
        let sizes: Vec<i64> = heap.iter().map(|b| b.size() as i64).collect();
        let mut buffers = vec![vector.data().clone()];
        buffers.extend(heap.iter().cloned());
        buffers.push(Buffer::from_vec(sizes));
        return Ok(buffers);
    }
    let is_null = |row: usize| vector.is_null(row);
    let total: usize = views.iter().enumerate().map(|(row, v)| if is_null(row) { 0 } else { v.len() }).sum();
    if strings == StringLayout::Utf8 && total > i32::MAX as usize {
        let message =
            format!("{total} bytes of text do not fit into Arrow's utf8; export large_utf8 or views");
        return Err(Error::out_of_range(message));
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(total);
    let mut ends: Vec<i64> = Vec::with_capacity(views.len() + 1);
    ends.push(0);
    for (row, view) in views.iter().enumerate() {
        if !is_null(row) {
            bytes.extend_from_slice(view.bytes(heap));
        }
        ends.push(bytes.len() as i64);
    }
    let offsets = match strings {
        StringLayout::Utf8 => Buffer::from_vec(ends.iter().map(|&end| end as i32).collect::<Vec<i32>>()),
        StringLayout::View | StringLayout::LargeUtf8 => Buffer::from_vec(ends),
    };
    Ok(vec![offsets, Buffer::from_vec(bytes)])
}

const _: () = assert!(size_of::<View>() == 16 && size_of::<Interval>() == 16);

/// What an exported array points to; freed by `release_array`.
struct ArrayContents {
    pointers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    dictionary: *mut ArrowArray,
    /// Held for the pointers.
    _buffers: Vec<Option<Buffer>>,
}

pub(super) fn array_of(
    len: usize,
    null_count: usize,
    buffers: Vec<Option<Buffer>>,
    children: Vec<ArrowArray>,
    dictionary: Option<ArrowArray>,
) -> ArrowArray {
    let mut contents = Box::new(ArrayContents {
        pointers: buffers.iter().map(|b| b.as_ref().map_or(ptr::null(), |b| b.as_ptr().cast())).collect(),
        children: children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect(),
        dictionary: dictionary.map_or(ptr::null_mut(), |d| Box::into_raw(Box::new(d))),
        _buffers: buffers,
    });
    ArrowArray {
        length: len as i64,
        null_count: null_count as i64,
        offset: 0,
        n_buffers: contents.pointers.len() as i64,
        n_children: contents.children.len() as i64,
        buffers: contents.pointers.as_mut_ptr(),
        children: contents.children.as_mut_ptr(),
        dictionary: contents.dictionary,
        release: Some(release_array),
        private_data: Box::into_raw(contents).cast(),
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    if array.is_null() {
        return;
    }
    let release = || {
        // SAFETY: not NULL; the consumer passes a struct that it owns.
        let array = unsafe { &mut *array };
        if array.release.take().is_none() || array.private_data.is_null() {
            return;
        }
        // SAFETY: made by `array_of` with `Box::into_raw`; `release` was set, so this is the first call.
        let contents = unsafe { Box::from_raw(array.private_data.cast::<ArrayContents>()) };
        array.private_data = ptr::null_mut();
        for &child in contents.children.iter().chain(Some(&contents.dictionary)).filter(|c| !c.is_null()) {
            // SAFETY: made by `array_of`. A child that the consumer moved away has no `release` and owns nothing.
            drop(unsafe { Box::from_raw(child) });
        }
    };
    // A panic in a drop must not unwind into the host; there is nobody to tell.
    let _ = catch_unwind(AssertUnwindSafe(release));
}

/// What an exported schema points to; freed by `release_schema`.
struct SchemaContents {
    _format: CString,
    _name: CString,
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
}

pub(super) fn schema_of(
    format: &str,
    name: &str,
    flags: i64,
    children: Vec<ArrowSchema>,
    dictionary: Option<ArrowSchema>,
) -> ArrowSchema {
    // A column name may hold NUL; C strings cannot.
    let text = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default();
    let (format, name) = (text(format), text(name));
    let (format_pointer, name_pointer) = (format.as_ptr(), name.as_ptr());
    let mut contents = Box::new(SchemaContents {
        _format: format,
        _name: name,
        children: children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect(),
        dictionary: dictionary.map_or(ptr::null_mut(), |d| Box::into_raw(Box::new(d))),
    });
    ArrowSchema {
        format: format_pointer,
        name: name_pointer,
        metadata: ptr::null(),
        flags,
        n_children: contents.children.len() as i64,
        children: contents.children.as_mut_ptr(),
        dictionary: contents.dictionary,
        release: Some(release_schema),
        private_data: Box::into_raw(contents).cast(),
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    if schema.is_null() {
        return;
    }
    let release = || {
        // SAFETY: not NULL; the consumer passes a struct that it owns.
        let schema = unsafe { &mut *schema };
        if schema.release.take().is_none() || schema.private_data.is_null() {
            return;
        }
        // SAFETY: made by `schema_of` with `Box::into_raw`; `release` was set, so this is the first call.
        let contents = unsafe { Box::from_raw(schema.private_data.cast::<SchemaContents>()) };
        schema.private_data = ptr::null_mut();
        for &child in contents.children.iter().chain(Some(&contents.dictionary)).filter(|c| !c.is_null()) {
            // SAFETY: made by `schema_of`. A child that the consumer moved away owns nothing.
            drop(unsafe { Box::from_raw(child) });
        }
    };
    let _ = catch_unwind(AssertUnwindSafe(release));
}

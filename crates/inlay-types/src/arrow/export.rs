//! Vectors as Arrow arrays. An exported array owns references to our buffers in its private data; releasing it
//! drops them, on whatever thread the consumer is.

#![expect(unsafe_code, reason = "arrays are handed out by the C data interface")]

use super::export_nested::{field_schema, nested_array, struct_array};
use super::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema, FLAG_NULLABLE};
use super::stream;
use super::strings::string_buffers;
use crate::host::unshown_moment;
use crate::nested::{FieldRows, StructRows};
use crate::value::Interval;
use crate::{Batch, Bitmap, Buffer, Error, LogicalType, PhysicalType, Result, Vector, VectorBuilder};
use std::any::Any;
use std::ffi::{CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

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

/// A column of one array without parts, in Arrow's layout; cloning shares the memory.
#[derive(Clone, Debug)]
pub struct FlatColumn {
    len: usize,
    null_count: usize,
    buffers: Vec<Option<Buffer>>,
    /// Goes with the memory until the last array over it is released.
    with: Option<Arc<dyn Any + Send + Sync>>,
}

impl FlatColumn {
    /// Bytes of memory.
    pub fn size(&self) -> usize {
        self.buffers.iter().flatten().map(Buffer::size).sum()
    }

    /// Whether the values lie where those of a flat `vector` do, so that nothing was converted.
    pub fn shares_values_with(&self, vector: &Vector) -> bool {
        let values = self.buffers.get(1).and_then(Option::as_ref);
        vector.is_flat() && values.is_some_and(|values| values.as_ptr() == vector.data().as_ptr())
    }

    /// The same with something that is kept as long as the memory.
    pub fn with(self, with: Arc<dyn Any + Send + Sync>) -> Self {
        Self { with: Some(with), ..self }
    }

    fn into_array(self) -> ArrowArray {
        new_array(self.len, self.null_count, self.buffers, Vec::new(), None, self.with)
    }
}

/// A column that is ready to be handed out.
pub enum PreparedColumn {
    /// May be handed out again.
    Flat(FlatColumn),
    /// Has parts, and is handed out once.
    Array(ArrowArray),
}

impl PreparedColumn {
    /// The column as an array.
    pub fn into_array(self) -> ArrowArray {
        match self {
            Self::Flat(flat) => flat.into_array(),
            Self::Array(array) => array,
        }
    }
}

/// Turns batches of one schema into Arrow.
#[derive(Clone, Debug)]
pub struct Exporter {
    columns: Vec<ExportColumn>,
    strings: StringLayout,
    refuses_unshown: bool,
}

impl Exporter {
    /// An exporter of columns with these names and types. Dictionaries are decoded, strings leave as views.
    pub fn new(names: &[String], types: &[LogicalType]) -> Self {
        let column = |(name, ty): (&String, &LogicalType)| ExportColumn {
            name: name.clone(),
            ty: ty.clone(),
            dictionary: false,
        };
        let columns = names.iter().zip(types).map(column).collect();
        Self { columns, strings: StringLayout::View, refuses_unshown: false }
    }

    /// Chooses the layout of strings.
    pub fn with_strings(mut self, strings: StringLayout) -> Self {
        self.strings = strings;
        self
    }

    /// Refuses moments that the calendars of data frames do not have, such as infinity, which Arrow has as large numbers.
    pub fn refusing_unshown_moments(mut self) -> Self {
        self.refuses_unshown = true;
        self
    }

    /// Whether it refuses them.
    pub fn refuses_unshown_moments(&self) -> bool {
        self.refuses_unshown
    }

    /// Fails if a column has a moment that is refused.
    pub fn check_moments(&self, index: usize, vector: &Vector) -> Result<()> {
        let found = if self.refuses_unshown { unshown_moment(vector) } else { None };
        let Some(found) = found else { return Ok(()) };
        let name = &self.columns[index].name;
        Err(Error::out_of_range(format!(
            "column \"{name}\" has {found}, which a data frame cannot hold; leave out such rows, or cast the column to VARCHAR"
        )))
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
        Ok(Self::assemble(children, len))
    }

    /// Columns of `len` rows each as a struct array.
    pub fn assemble(columns: Vec<PreparedColumn>, len: usize) -> ArrowArray {
        let arrays = columns.into_iter().map(PreparedColumn::into_array).collect();
        array_of(len, 0, vec![None], arrays, None)
    }

    /// The layout of strings.
    pub fn strings(&self) -> StringLayout {
        self.strings
    }

    /// As [`Exporter::column`], of structs that are not packed.
    pub fn struct_column(&self, index: usize, rows: &StructRows) -> Result<PreparedColumn> {
        self.check_moments_of_fields(index, rows)?;
        let array = struct_array(rows, self.strings).map_err(|e| named(e, &self.columns[index].name))?;
        Ok(PreparedColumn::Array(array))
    }

    fn check_moments_of_fields(&self, index: usize, rows: &StructRows) -> Result<()> {
        rows.fields.iter().try_for_each(|field| match field {
            FieldRows::Vector(vector) => self.check_moments(index, vector),
            FieldRows::Struct(rows) => self.check_moments_of_fields(index, rows),
        })
    }

    /// One column as an array of [`Exporter::column_schema`].
    pub fn column(&self, index: usize, vector: &Vector) -> Result<PreparedColumn> {
        let column = &self.columns[index];
        vector.expect_type(&column.ty)?;
        self.check_moments(index, vector)?;
        if !column.dictionary {
            return prepared(vector, self.strings).map_err(|e| named(e, &column.name));
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
        let array = array_of(vector.len(), vector.null_count(), buffers, Vec::new(), Some(values));
        Ok(PreparedColumn::Array(array))
    }

    /// A stream of batches. `batches` is pulled by the consumer's thread.
    pub fn stream(self, batches: impl Iterator<Item = Result<Batch>> + Send + 'static) -> ArrowArrayStream {
        let exporter = self.clone();
        self.stream_arrays(batches.map(move |batch| exporter.batch(&batch?)))
    }

    /// A stream of struct arrays that were made by an exporter of this schema. `arrays` is pulled by the consumer's thread.
    pub fn stream_arrays(
        self,
        arrays: impl Iterator<Item = Result<ArrowArray>> + Send + 'static,
    ) -> ArrowArrayStream {
        stream::export(move || self.schema(), arrays)
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
        LogicalType::Varchar
        | LogicalType::Json
        | LogicalType::Uuid
        | LogicalType::Bit
        | LogicalType::TimeTz => match strings {
            StringLayout::View => "vu",
            StringLayout::Utf8 => "u",
            StringLayout::LargeUtf8 => "U",
        },
        LogicalType::Blob => match strings {
            StringLayout::View => "vz",
            StringLayout::Utf8 => "z",
            StringLayout::LargeUtf8 => "Z",
        },
        LogicalType::Date => "tdD",
        LogicalType::Time => "ttu",
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
    prepared(vector, strings).map(PreparedColumn::into_array)
}

fn prepared(vector: &Vector, strings: StringLayout) -> Result<PreparedColumn> {
    let has_offsets = vector.ty().is_view() && !vector.ty().is_nested() && strings != StringLayout::View;
    let flat;
    // Offsets and bytes are made of codes as well.
    let vector = if has_offsets && !vector.is_constant() {
        vector
    } else {
        flat = vector.flatten();
        &flat
    };
    match nested_array(vector, strings)? {
        Some(nested) => Ok(PreparedColumn::Array(nested)),
        None => flat_column(vector, strings).map(PreparedColumn::Flat),
    }
}

/// A vector without parts: flat, or a dictionary of strings that are to be offsets and bytes.
fn flat_column(vector: &Vector, strings: StringLayout) -> Result<FlatColumn> {
    let len = vector.len();
    let null_count = vector.null_count();
    let validity = vector.validity().filter(|_| null_count > 0).map(|v| v.buffer().clone());
    let column = |buffers| FlatColumn { len, null_count, buffers, with: None };
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
        // Bits have a padding in front, which is nothing for others, and Arrow's times have no offset.
        LogicalType::Uuid | LogicalType::Bit | LogicalType::TimeTz => {
            return flat_column(&texts(vector), strings);
        }
        LogicalType::Varchar | LogicalType::Json | LogicalType::Blob => {
            let buffers = string_buffers(vector, strings)?;
            return Ok(column(std::iter::once(validity).chain(buffers.into_iter().map(Some)).collect()));
        }
        _ => vector.data().clone(),
    };
    Ok(column(vec![validity, Some(values)]))
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

const _: () = assert!(size_of::<crate::View>() == 16 && size_of::<Interval>() == 16);

/// What an exported array points to; freed by `release_array`.
struct ArrayContents {
    pointers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    dictionary: *mut ArrowArray,
    /// Held for the pointers.
    _buffers: Vec<Option<Buffer>>,
    _with: Option<Arc<dyn Any + Send + Sync>>,
}

/// An array of these parts, as the interface lays them out; for types that no vector has.
pub fn array_of(
    len: usize,
    null_count: usize,
    buffers: Vec<Option<Buffer>>,
    children: Vec<ArrowArray>,
    dictionary: Option<ArrowArray>,
) -> ArrowArray {
    new_array(len, null_count, buffers, children, dictionary, None)
}

fn new_array(
    len: usize,
    null_count: usize,
    buffers: Vec<Option<Buffer>>,
    children: Vec<ArrowArray>,
    dictionary: Option<ArrowArray>,
    with: Option<Arc<dyn Any + Send + Sync>>,
) -> ArrowArray {
    let mut contents = Box::new(ArrayContents {
        pointers: buffers.iter().map(|b| b.as_ref().map_or(ptr::null(), |b| b.as_ptr().cast())).collect(),
        children: children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect(),
        dictionary: dictionary.map_or(ptr::null_mut(), |d| Box::into_raw(Box::new(d))),
        _buffers: buffers,
        _with: with,
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
    /// Texts of `CString::into_raw`: the consumer reads by these pointers, which moving the owner of a text would end.
    texts: [*mut c_char; 2],
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
}

/// The schema of such an array.
pub fn schema_of(
    format: &str,
    name: &str,
    flags: i64,
    children: Vec<ArrowSchema>,
    dictionary: Option<ArrowSchema>,
) -> ArrowSchema {
    // A column name may hold NUL; C strings cannot.
    let text = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default().into_raw();
    let (format, name) = (text(format), text(name));
    let mut contents = Box::new(SchemaContents {
        texts: [format, name],
        children: children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect(),
        dictionary: dictionary.map_or(ptr::null_mut(), |d| Box::into_raw(Box::new(d))),
    });
    ArrowSchema {
        format,
        name,
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
        for text in contents.texts {
            // SAFETY: made by `schema_of` with `CString::into_raw`, and freed here alone.
            drop(unsafe { CString::from_raw(text) });
        }
        for &child in contents.children.iter().chain(Some(&contents.dictionary)).filter(|c| !c.is_null()) {
            // SAFETY: made by `schema_of`. A child that the consumer moved away owns nothing.
            drop(unsafe { Box::from_raw(child) });
        }
    };
    let _ = catch_unwind(AssertUnwindSafe(release));
}

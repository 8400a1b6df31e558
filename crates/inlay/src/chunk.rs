//! Rows as columns in memory, for hosts that read memory themselves: where the values of a column lie, how wide each is, and which
//! are NULL.
//!
//! ```text
//! data      width * len bytes: numbers as they are, dates and moments as numbers, decimals unscaled, texts as views of 16 bytes
//! validity  one bit per row, least significant first, set for a value; absent where there is no NULL
//! ```
//! Memory is the engine's; it stays what it is and where it is as long as there is the chunk, or a clone of it.

use inlay_types::nested::{unpack_lists, unpack_maps, unpack_struct, unpack_unions};
use inlay_types::{Batch, Error, LogicalType, PhysicalType, Result, Value, Vector};

/// Columns of one length. Cloning shares them.
///
/// ```
/// # fn main() -> inlay::Result<()> {
/// use inlay::{Chunk, types::PhysicalType};
/// let connection = inlay::Database::open_in_memory()?.connect();
/// let sql = "SELECT * FROM (VALUES (7, 'a text that is long', 1.50), (NULL, NULL, -0.25)) t(a, b, c)";
/// let mut cursor = connection.stream(sql, &Default::default(), None)?;
/// let chunk = Chunk::new(&cursor.next_batch(None)?.unwrap());
/// let (a, b, c) = (chunk.column(0)?, chunk.column(1)?, chunk.column(2)?);
/// assert_eq!((a.layout(), a.width(), a.data()[..4].to_vec()), (PhysicalType::I32, 4, 7i32.to_le_bytes().to_vec()));
/// assert_eq!((a.is_null(0), a.is_null(1)), (false, true));
/// assert_eq!((b.bytes(0), b.bytes(1)), (Some(&b"a text that is long"[..]), None));
/// assert_eq!((c.scale(), c.integer(0), c.integer(1)), (Some(2), Some(150), Some(-25)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Chunk {
    columns: Vec<Vector>,
    len: usize,
}

/// A column of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a>(&'a Vector);

/// What a column of a nested type is made of.
#[derive(Clone, Debug)]
pub enum Parts {
    /// Lists and arrays: where the elements of each row begin (one more than there are rows), and all elements.
    List(Vec<u32>, Chunk),
    /// Maps: where the pairs of each row begin (one more than there are rows), and all keys and values as two columns.
    Map(Vec<u32>, Chunk),
    /// Structs: a column for each field.
    Struct(Chunk),
    /// Unions: which member each row holds, and a column for each member.
    Union(Vec<u8>, Chunk),
}

impl Chunk {
    /// The columns of a batch. What is not one value behind the other already is written so.
    pub fn new(batch: &Batch) -> Self {
        Self::of_vectors(batch.columns().iter().map(Vector::flatten).collect(), batch.len())
    }

    fn of_vectors(columns: Vec<Vector>, len: usize) -> Self {
        let flat = |column: Vector| if column.is_flat() { column } else { column.flatten() };
        Self { columns: columns.into_iter().map(flat).collect(), len }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many columns there are.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// A column.
    pub fn column(&self, index: usize) -> Result<Column<'_>> {
        let count = self.columns.len();
        let column = self.columns.get(index).map(Column);
        column.ok_or_else(|| Error::invalid_argument(format!("there is no column {index} among {count}")))
    }
}

impl<'a> Column<'a> {
    /// How many values there are, NULLs among them.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Whether there are no values.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The type.
    pub fn ty(self) -> &'a LogicalType {
        self.0.ty()
    }

    /// What lies in memory for each value. Nested values have no layout that is for others; see [`Column::parts`].
    pub fn layout(self) -> PhysicalType {
        self.0.physical_type()
    }

    /// Bytes of a value.
    pub fn width(self) -> usize {
        self.layout().size()
    }

    /// The values, one behind the other; what lies where a value is NULL is no value.
    pub fn data(self) -> &'a [u8] {
        let size = self.len() * self.width();
        self.0.data().bytes().get(..size).unwrap_or_default()
    }

    /// Which rows are values: bit `row % 64` of word `row / 64`. Absent where there is no NULL.
    pub fn validity(self) -> Option<&'a [u64]> {
        self.0.validity().map(inlay_types::Bitmap::words)
    }

    /// Whether a row is NULL, or is none of the rows.
    pub fn is_null(self, row: usize) -> bool {
        row >= self.len() || self.0.is_null(row)
    }

    /// Digits behind the point, of a DECIMAL.
    pub fn scale(self) -> Option<u8> {
        match self.ty() {
            LogicalType::Decimal { scale, .. } => Some(*scale),
            _ => None,
        }
    }

    /// The bytes of a VARCHAR, JSON, BLOB or BIT; `None` for NULL and other types.
    pub fn bytes(self, row: usize) -> Option<&'a [u8]> {
        if self.layout() != PhysicalType::View || self.ty().is_nested() || self.is_null(row) {
            return None;
        }
        self.0.views().get(row).map(|view| view.bytes(self.0.heap().buffers()))
    }

    /// The number that lies in memory for whole numbers, decimals, booleans, dates, times and moments; `None` for NULL and other
    /// types.
    pub fn integer(self, row: usize) -> Option<i128> {
        self.value(row).as_stored_i128()
    }

    /// A value; NULL behind the last row.
    pub fn value(self, row: usize) -> Value {
        if self.is_null(row) { Value::Null } else { self.0.get(row) }
    }

    /// What a column of a nested type is made of; `None` for other types.
    pub fn parts(self) -> Result<Option<Parts>> {
        let len = self.len();
        Ok(Some(match self.ty() {
            LogicalType::List(_) | LogicalType::Array(..) => {
                let (elements, offsets) = unpack_lists(self.0)?;
                let count = elements.len();
                Parts::List(offsets, Chunk::of_vectors(vec![elements], count))
            }
            LogicalType::Map(_) => {
                let (keys, values, offsets) = unpack_maps(self.0)?;
                let count = keys.len();
                Parts::Map(offsets, Chunk::of_vectors(vec![keys, values], count))
            }
            LogicalType::Struct(_) => Parts::Struct(Chunk::of_vectors(unpack_struct(self.0)?, len)),
            LogicalType::Union(_) => {
                let (tags, members) = unpack_unions(self.0)?;
                Parts::Union(tags, Chunk::of_vectors(members, len))
            }
            _ => return Ok(None),
        }))
    }
}

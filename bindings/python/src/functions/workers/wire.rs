//! What messages say, and columns in shared memory.
//!
//! ```text
//! column   message: kind, type, rows, place of the values, place of the validity, place of the strings
//!          memory:  [ values | validity words | strings longer than a view ]     each at a multiple of 64 bytes
//! ```
//! Numbers lie in memory as they lie in vectors, so that who reads makes vectors over that memory. Strings are packed
//! behind each other once. A dictionary is its values and codes, if it has fewer values than the column has rows.

#![expect(unsafe_code, reason = "bytes of shared memory as values")]

use super::memory::Region;
use inlay::types::{
    Bitmap, Buffer, Dictionary, Error, Heap, LogicalType, PhysicalType, Result, Vector, VectorKind, View,
};
use std::sync::Arc;

const ALIGNMENT: usize = 64;

/// Writes a message.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub fn flag(&mut self, value: bool) {
        self.byte(u8::from(value));
    }

    pub fn number(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    pub fn text(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    pub fn done(self) -> Vec<u8> {
        self.0
    }
}

/// Reads a message.
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(message: &'a [u8]) -> Self {
        Self(message)
    }

    fn take(&mut self, size: usize) -> Result<&'a [u8]> {
        let (own, rest) = self.0.split_at_checked(size).ok_or_else(not_understood)?;
        self.0 = rest;
        Ok(own)
    }

    pub fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub fn flag(&mut self) -> Result<bool> {
        Ok(self.byte()? != 0)
    }

    pub fn number(&mut self) -> Result<u64> {
        let mut eight = [0; 8];
        eight.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(eight))
    }

    pub fn size(&mut self) -> Result<usize> {
        usize::try_from(self.number()?).map_err(|_| not_understood())
    }

    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let size = self.size()?;
        self.take(size)
    }

    pub fn text(&mut self) -> Result<String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| not_understood())
    }
}

/// A message that is not one of ours: the other process runs other code, or its memory was overwritten.
pub fn not_understood() -> Error {
    Error::external("a worker process and its host do not understand each other")
}

/// The column as it is put into memory: flat, constant, or a dictionary that is worth it.
pub fn prepared(vector: &Vector) -> Vector {
    match vector.kind() {
        VectorKind::Dictionary(dictionary) if !is_worth_it(dictionary, vector.len()) => vector.flatten(),
        VectorKind::Dictionary(_) | VectorKind::Flat | VectorKind::Constant => vector.clone(),
    }
}

/// Bytes that prepared columns take in shared memory, at most.
pub fn size_of(columns: &[Vector]) -> usize {
    columns.iter().map(size_of_column).sum()
}

fn size_of_column(vector: &Vector) -> usize {
    let own = match vector.kind() {
        VectorKind::Dictionary(dictionary) => size_of_column(dictionary.values()) + vector.len() * 4,
        VectorKind::Constant => vector.ty().physical().size() + strings_size(vector, 1),
        VectorKind::Flat => vector.len() * vector.ty().physical().size() + strings_size(vector, vector.len()),
    };
    own + vector.len().div_ceil(64) * 8 + 3 * ALIGNMENT
}

fn is_worth_it(dictionary: &Dictionary, rows: usize) -> bool {
    dictionary.values().len() < rows && dictionary.values().is_flat()
}

fn strings_size(vector: &Vector, rows: usize) -> usize {
    if vector.ty().physical() != PhysicalType::View {
        return 0;
    }
    let views = vector.data().typed::<View>().iter().take(rows);
    views.filter(|view| !view.is_inline()).map(View::len).sum()
}

/// Puts columns into memory, one behind the other.
pub struct Packer<'a> {
    memory: &'a mut [u8],
    used: usize,
}

impl<'a> Packer<'a> {
    pub fn new(memory: &'a mut [u8]) -> Self {
        Self { memory, used: 0 }
    }

    /// Puts a column into memory and says in the message where.
    pub fn column(&mut self, vector: &Vector, message: &mut Writer) -> Result<()> {
        message.text(&vector.ty().to_string());
        self.untyped(vector, message)
    }

    fn untyped(&mut self, vector: &Vector, message: &mut Writer) -> Result<()> {
        let (kind, rows) = match vector.kind() {
            VectorKind::Flat => (b'f', vector.len()),
            VectorKind::Constant => (b'c', 1),
            VectorKind::Dictionary(dictionary) => {
                message.byte(b'd');
                self.untyped(dictionary.values(), message)?;
                (b'f', vector.len())
            }
        };
        message.byte(kind);
        message.number(rows as u64);
        let is_codes = matches!(vector.kind(), VectorKind::Dictionary(_));
        let is_view = !is_codes && vector.ty().physical() == PhysicalType::View;
        if is_view {
            self.strings(vector, rows, message)?;
        } else {
            let width = if is_codes { 4 } else { vector.ty().physical().size() };
            let place = self.put(vector.data().bytes().get(..rows * width).ok_or_else(not_understood)?)?;
            message.number(place as u64);
        }
        let validity = vector.validity().map(|validity| validity.words());
        message.flag(validity.is_some());
        if let Some(words) = validity {
            let bytes: Vec<u8> =
                words.iter().take(rows.div_ceil(64)).flat_map(|word| word.to_le_bytes()).collect();
            let place = self.put(&bytes)?;
            message.number(place as u64);
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<usize> {
        let (place, room) = self.room(bytes.len())?;
        room.copy_from_slice(bytes);
        Ok(place)
    }

    fn room(&mut self, size: usize) -> Result<(usize, &mut [u8])> {
        let place = self.used.next_multiple_of(ALIGNMENT);
        self.used = place + size;
        let room = self.memory.get_mut(place..place + size);
        room.map(|room| (place, room)).ok_or_else(|| Error::internal("shared memory is too small"))
    }

    fn strings(&mut self, vector: &Vector, rows: usize, message: &mut Writer) -> Result<()> {
        let total = strings_size(vector, rows);
        if u32::try_from(total).is_err() {
            return Err(Error::unsupported(
                "more than 4 GB of texts in one call of a function in a worker process",
            ));
        }
        let heap = vector.heap().buffers();
        let views = vector.data().typed::<View>().get(..rows).ok_or_else(not_understood)?;
        let (place, room) = self.room(total)?;
        let (mut packed, mut used) = (Vec::with_capacity(rows), 0);
        for view in views {
            if view.is_inline() {
                packed.push(*view);
                continue;
            }
            let bytes = view.bytes(heap);
            packed.push(View::new(bytes, 0, used as u32));
            room[used..used + bytes.len()].copy_from_slice(bytes);
            used += bytes.len();
        }
        let views = self.put(Buffer::from_vec(packed).bytes())?;
        message.number(views as u64);
        message.number(place as u64);
        message.number(total as u64);
        Ok(())
    }
}

/// Where values of shared memory are to lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Taking {
    /// Where they are, keeping the memory.
    InPlace,
    /// In memory of their own.
    Copied,
}

/// Takes columns out of memory.
pub struct Unpacker<'a> {
    memory: &'a Arc<Region>,
    taking: Taking,
}

impl<'a> Unpacker<'a> {
    pub fn new(memory: &'a Arc<Region>, taking: Taking) -> Self {
        Self { memory, taking }
    }

    /// The next column of a message, which has `len` rows. `known` is its type by its text.
    pub fn column(
        &self,
        message: &mut Reader<'_>,
        len: usize,
        known: &mut dyn FnMut(&str) -> Result<LogicalType>,
    ) -> Result<Vector> {
        let ty = known(&message.text()?)?;
        self.untyped(message, ty, Some(len))
    }

    fn untyped(&self, message: &mut Reader<'_>, ty: LogicalType, len: Option<usize>) -> Result<Vector> {
        match message.byte()? {
            b'd' => {
                let values = self.untyped(message, ty, None)?;
                if message.byte()? != b'f' {
                    return Err(not_understood());
                }
                let rows = self.rows(message, len)?;
                let codes = self.values(message, rows, PhysicalType::I32)?;
                let validity = self.validity(message, rows)?;
                if codes.typed::<u32>().iter().any(|code| *code as usize >= values.len()) {
                    return Err(not_understood());
                }
                Ok(Vector::dictionary(Dictionary::new(values), codes, rows, validity))
            }
            b'c' => {
                let one = self.flat(message, ty.clone(), Some(1))?;
                let len = len.ok_or_else(not_understood)?;
                if one.is_null(0) {
                    Ok(Vector::nulls(ty, len))
                } else {
                    Vector::constant(ty, &one.get(0), len)
                }
            }
            b'f' => self.flat(message, ty, len),
            _ => Err(not_understood()),
        }
    }

    fn rows(&self, message: &mut Reader<'_>, expected: Option<usize>) -> Result<usize> {
        let rows = message.size()?;
        if expected.is_some_and(|expected| expected != rows) { Err(not_understood()) } else { Ok(rows) }
    }

    fn flat(&self, message: &mut Reader<'_>, ty: LogicalType, len: Option<usize>) -> Result<Vector> {
        let rows = self.rows(message, len)?;
        let data = self.values(message, rows, ty.physical())?;
        let mut heap = Heap::default();
        if ty.physical() == PhysicalType::View {
            let (place, size) = (message.size()?, message.size()?);
            let is_inside = |view: &View| {
                view.is_inline()
                    || (view.buffer() == 0
                        && (view.offset() as usize).checked_add(view.len()).is_some_and(|end| end <= size))
            };
            if !data.typed::<View>().iter().take(rows).all(is_inside) {
                return Err(not_understood());
            }
            if size > 0 {
                heap = Heap::new(vec![self.buffer(place, size)?]);
            }
        }
        let validity = self.validity(message, rows)?;
        Ok(Vector::flat(ty, rows, data, validity, heap))
    }

    fn values(&self, message: &mut Reader<'_>, rows: usize, physical: PhysicalType) -> Result<Buffer> {
        let place = message.size()?;
        let size = rows.checked_mul(physical.size()).ok_or_else(not_understood)?;
        self.buffer(place, size)
    }

    fn validity(&self, message: &mut Reader<'_>, rows: usize) -> Result<Option<Bitmap>> {
        if !message.flag()? {
            return Ok(None);
        }
        let place = message.size()?;
        let bytes = self.part(place, rows.div_ceil(64) * 8)?;
        let word = |eight: &[u8]| eight.iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        Ok(Some(Bitmap::from_words(bytes.chunks_exact(8).map(word).collect(), rows)))
    }

    fn part(&self, place: usize, size: usize) -> Result<&[u8]> {
        let end = place.checked_add(size).ok_or_else(not_understood)?;
        self.memory.bytes().get(place..end).ok_or_else(not_understood)
    }

    fn buffer(&self, place: usize, size: usize) -> Result<Buffer> {
        let bytes = self.part(place, size)?;
        if self.taking == Taking::Copied || size == 0 {
            return Ok(Buffer::copy_of(bytes));
        }
        if !place.is_multiple_of(ALIGNMENT) {
            return Err(not_understood());
        }
        Ok(shown(self.memory, place, size))
    }
}

/// Bytes of shared memory that were found to be inside, kept by the buffer.
fn shown(memory: &Arc<Region>, place: usize, size: usize) -> Buffer {
    assert!(place + size <= memory.size(), "outside of shared memory");
    // SAFETY: inside of the mapping (asserted), which begins at a page, so that `place` is aligned to 64 bytes; the owner
    // keeps it, and its maker writes to it only when it was told that nobody does any more.
    unsafe { Buffer::foreign(memory.start().add(place), size, Box::new(Arc::clone(memory))) }
}

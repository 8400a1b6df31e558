//! A growing column of values of one type that can be read, compared and overwritten while it grows: group keys, and
//! the values that aggregates keep.

use super::collect::Added;
use super::strings::{Repeated, StringHeap};
use inlay_types::view::prefetch;
use inlay_types::{Bitmap, Buffer, Heap, LogicalType, Native, PhysicalType, Vector, VectorKind, View};
use std::ops::Range;
use std::sync::OnceLock;

#[derive(Debug)]
enum Data {
    W1(Vec<u8>),
    W2(Vec<u16>),
    W4(Vec<u32>),
    W8(Vec<u64>),
    /// 128-bit numbers and intervals, as two words.
    W16(Vec<View>),
    Views(Vec<View>, StringHeap),
}

/// A growing column.
#[derive(Debug)]
pub struct Column {
    ty: LogicalType,
    data: Data,
    /// One byte per row; absent while there are no NULLs.
    valid: Option<Vec<u8>>,
    len: usize,
    /// The heap of all strings, made when the first vector is.
    heap: OnceLock<Heap>,
}

/// Runs `$body` with `$at` mapping a row of `$vector` to its position among the values `$source`.
macro_rules! with_positions {
    ($vector:expr, $at:ident, $source:ident: $carrier:ty, $body:expr) => {
        match $vector.kind() {
            VectorKind::Flat => {
                let $at = |row: u32| row as usize;
                let $source = $vector.values::<$carrier>();
                $body
            }
            VectorKind::Constant => {
                let $at = |_: u32| 0usize;
                let $source = $vector.values::<$carrier>();
                $body
            }
            VectorKind::Dictionary(dictionary) => {
                let codes = $vector.codes();
                let $at = |row: u32| codes[row as usize] as usize;
                let $source = dictionary.values().values::<$carrier>();
                $body
            }
        }
    };
}

impl Column {
    /// No rows.
    pub fn new(ty: LogicalType) -> Self {
        let data = match ty.physical() {
            PhysicalType::View => Data::Views(Vec::new(), StringHeap::default()),
            other => match other.size() {
                1 => Data::W1(Vec::new()),
                2 => Data::W2(Vec::new()),
                4 => Data::W4(Vec::new()),
                8 => Data::W8(Vec::new()),
                _ => Data::W16(Vec::new()),
            },
        };
        Self { ty, data, valid: None, len: 0, heap: OnceLock::new() }
    }

    /// The type of the values.
    pub fn logical_type(&self) -> LogicalType {
        self.ty.clone()
    }

    /// How the values are stored.
    pub fn physical_type(&self) -> PhysicalType {
        self.ty.physical()
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether row `row` is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.valid.as_ref().is_some_and(|valid| valid[row] == 0)
    }

    /// Makes this `len` rows long; new ones are NULL.
    pub fn resize_nulls(&mut self, len: usize) {
        let old = self.len;
        match &mut self.data {
            Data::W1(v) => v.resize(len, 0),
            Data::W2(v) => v.resize(len, 0),
            Data::W4(v) => v.resize(len, 0),
            Data::W8(v) => v.resize(len, 0),
            Data::W16(v) | Data::Views(v, _) => v.resize(len, View::EMPTY),
        }
        self.valid.get_or_insert_with(|| vec![1; old]).resize(len, 0);
        self.len = len;
    }

    /// Makes room for so many more rows, if there is.
    pub(super) fn make_room(&mut self, rows: usize) {
        // Without room the rows themselves will say so.
        let _ = match &mut self.data {
            Data::W1(v) => v.try_reserve_exact(rows),
            Data::W2(v) => v.try_reserve_exact(rows),
            Data::W4(v) => v.try_reserve_exact(rows),
            Data::W8(v) => v.try_reserve_exact(rows),
            Data::W16(v) | Data::Views(v, _) => v.try_reserve_exact(rows),
        };
    }

    /// Appends the first `len` rows of a vector of this type, of any kind.
    pub(super) fn append_first(&mut self, vector: &Vector, len: usize) {
        match (&mut self.data, vector.kind()) {
            (Data::W1(v), VectorKind::Flat) => v.extend_from_slice(&vector.values()[..len]),
            (Data::W2(v), VectorKind::Flat) => v.extend_from_slice(&vector.values()[..len]),
            (Data::W4(v), VectorKind::Flat) => v.extend_from_slice(&vector.values()[..len]),
            (Data::W8(v), VectorKind::Flat) => v.extend_from_slice(&vector.values()[..len]),
            (Data::W16(v), VectorKind::Flat) => v.extend_from_slice(&vector.values()[..len]),
            _ => return self.append(vector, &(0..len as u32).collect::<Vec<_>>()),
        }
        self.heap.take();
        self.append_validity(vector, len, 0..len as u32);
        self.len += len;
    }

    fn append_validity(&mut self, vector: &Vector, len: usize, rows: impl Iterator<Item = u32>) {
        if vector.validity().is_some() || self.valid.is_some() {
            let valid = self.valid.get_or_insert_with(|| vec![1; self.len]);
            match vector.validity() {
                Some(_) => valid.extend(rows.map(|row| u8::from(!vector.is_null(row as usize)))),
                None => valid.resize(self.len + len, 1),
            }
        }
    }

    /// Appends `rows` of a vector of this type, of any kind.
    pub fn append(&mut self, vector: &Vector, rows: &[u32]) {
        fn extend<T: Native>(target: &mut Vec<T>, vector: &Vector, rows: &[u32]) {
            with_positions!(vector, at, source: T, target.extend(rows.iter().map(|&row| source[at(row)])));
        }
        self.heap.take();
        match &mut self.data {
            Data::W1(v) => extend(v, vector, rows),
            Data::W2(v) => extend(v, vector, rows),
            Data::W4(v) => extend(v, vector, rows),
            Data::W8(v) => extend(v, vector, rows),
            Data::W16(v) => extend(v, vector, rows),
            Data::Views(views, heap) => {
                let buffers = vector.heap().buffers();
                let mut repeated = Repeated::default();
                with_positions!(vector, at, source: View, {
                    views.extend(rows.iter().enumerate().map(|(number, &row)| {
                        if let Some(&ahead) = rows.get(number + View::AHEAD) {
                            source[at(ahead)].prefetch(buffers);
                        }
                        heap.push_repeated(&source[at(row)], &mut repeated, |view| view.bytes(buffers))
                    }));
                });
            }
        }
        self.append_validity(vector, rows.len(), rows.iter().copied());
        self.len += rows.len();
    }

    /// Appends rows of another column of this type that were added to [`super::collect::GroupRows`].
    pub(super) fn append_added(&mut self, other: &Column, added: &Added) {
        match added {
            Added::Rows(rows) => self.append_column(other, rows),
            Added::All => self.append_whole(other),
        }
    }

    fn append_whole(&mut self, other: &Column) {
        self.heap.take();
        match (&mut self.data, &other.data) {
            (Data::W1(v), Data::W1(o)) => v.extend_from_slice(o),
            (Data::W2(v), Data::W2(o)) => v.extend_from_slice(o),
            (Data::W4(v), Data::W4(o)) => v.extend_from_slice(o),
            (Data::W8(v), Data::W8(o)) => v.extend_from_slice(o),
            (Data::W16(v), Data::W16(o)) => v.extend_from_slice(o),
            (Data::Views(views, heap), Data::Views(o, other_heap)) => {
                let mut repeated = Repeated::default();
                let copy = |view| heap.push_repeated(view, &mut repeated, |view| other_heap.bytes(view));
                views.extend(o.iter().map(copy));
            }
            _ => return self.append_column(other, &(0..other.len as u32).collect::<Vec<_>>()),
        }
        if other.valid.is_some() || self.valid.is_some() {
            let valid = self.valid.get_or_insert_with(|| vec![1; self.len]);
            match &other.valid {
                Some(theirs) => valid.extend_from_slice(theirs),
                None => valid.resize(self.len + other.len, 1),
            }
        }
        self.len += other.len;
    }

    /// Appends rows of another column of this type.
    pub fn append_column(&mut self, other: &Column, rows: &[u32]) {
        fn extend<T: Native>(target: &mut Vec<T>, source: &[T], rows: &[u32]) {
            target.extend(rows.iter().map(|&row| source[row as usize]));
        }
        self.heap.take();
        match (&mut self.data, &other.data) {
            (Data::W1(v), Data::W1(o)) => extend(v, o, rows),
            (Data::W2(v), Data::W2(o)) => extend(v, o, rows),
            (Data::W4(v), Data::W4(o)) => extend(v, o, rows),
            (Data::W8(v), Data::W8(o)) => extend(v, o, rows),
            (Data::W16(v), Data::W16(o)) => extend(v, o, rows),
            (Data::Views(views, heap), Data::Views(o, other_heap)) => {
                let mut repeated = Repeated::default();
                let copy = |(number, &row): (usize, &u32)| {
                    other.prefetch_ahead(rows, number);
                    heap.push_repeated(&o[row as usize], &mut repeated, |view| other_heap.bytes(view))
                };
                views.extend(rows.iter().enumerate().map(copy));
            }
            _ => return self.append(&other.to_vector(0, other.len), rows),
        }
        if other.valid.is_some() || self.valid.is_some() {
            let valid = self.valid.get_or_insert_with(|| vec![1; self.len]);
            valid.extend(rows.iter().map(|&row| u8::from(!other.is_null(row as usize))));
        }
        self.len += rows.len();
    }

    /// Overwrites row `row` by row `from` of a vector of this type.
    pub fn set(&mut self, row: usize, vector: &Vector, from: usize) {
        let (null, from) = (vector.is_null(from), from as u32);
        self.heap.take();
        match &mut self.data {
            Data::W1(v) => with_positions!(vector, at, source: u8, v[row] = source[at(from)]),
            Data::W2(v) => with_positions!(vector, at, source: u16, v[row] = source[at(from)]),
            Data::W4(v) => with_positions!(vector, at, source: u32, v[row] = source[at(from)]),
            Data::W8(v) => with_positions!(vector, at, source: u64, v[row] = source[at(from)]),
            Data::W16(v) => with_positions!(vector, at, source: View, v[row] = source[at(from)]),
            Data::Views(v, heap) => {
                let buffers = vector.heap().buffers();
                with_positions!(vector, at, source: View, v[row] = heap.push_view(&source[at(from)], buffers));
            }
        }
        self.set_valid(row, !null);
    }

    /// Overwrites row `own[row]` by row `row` of a flat vector of this type, for each of `rows` in their order.
    pub(super) fn set_rows(&mut self, own: &[u32], vector: &Vector, rows: &[u32]) {
        fn put<T: Native>(target: &mut [T], own: &[u32], vector: &Vector, rows: &[u32]) {
            let source = vector.values::<T>();
            rows.iter().for_each(|&row| target[own[row as usize] as usize] = source[row as usize]);
        }
        self.heap.take();
        match &mut self.data {
            Data::W1(v) => put(v, own, vector, rows),
            Data::W2(v) => put(v, own, vector, rows),
            Data::W4(v) => put(v, own, vector, rows),
            Data::W8(v) => put(v, own, vector, rows),
            Data::W16(v) => put(v, own, vector, rows),
            Data::Views(v, heap) => {
                let (buffers, source) = (vector.heap().buffers(), vector.views());
                rows.iter().for_each(|&row| {
                    v[own[row as usize] as usize] = heap.push_view(&source[row as usize], buffers);
                });
            }
        }
        if self.valid.is_some() || vector.validity().is_some() {
            let valid = self.valid.get_or_insert_with(|| vec![1; self.len]);
            rows.iter()
                .for_each(|&row| valid[own[row as usize] as usize] = u8::from(!vector.is_null(row as usize)));
        }
    }

    /// Overwrites row `row` by row `from` of another column of this type.
    pub fn set_from(&mut self, row: usize, other: &Column, from: usize) {
        self.heap.take();
        match (&mut self.data, &other.data) {
            (Data::W1(v), Data::W1(o)) => v[row] = o[from],
            (Data::W2(v), Data::W2(o)) => v[row] = o[from],
            (Data::W4(v), Data::W4(o)) => v[row] = o[from],
            (Data::W8(v), Data::W8(o)) => v[row] = o[from],
            (Data::W16(v), Data::W16(o)) => v[row] = o[from],
            (Data::Views(v, heap), Data::Views(o, other_heap)) => {
                v[row] = heap.push(other_heap.bytes(&o[from]))
            }
            _ => return self.set(row, &other.to_vector(from, 1), 0),
        }
        self.set_valid(row, !other.is_null(from));
    }

    fn set_valid(&mut self, row: usize, valid: bool) {
        if let Some(flags) = &mut self.valid {
            flags[row] = u8::from(valid);
        } else if !valid {
            let mut flags = vec![1; self.len];
            flags[row] = 0;
            self.valid = Some(flags);
        }
    }

    /// Splits `candidates` (rows of `vector`): those whose value equals, bit by bit, that of this column's row
    /// `own[row]` stay, the others are appended to `different`. NULL equals NULL.
    pub fn retain_equal(
        &self,
        own: &[u32],
        vector: &Vector,
        candidates: &mut Vec<u32>,
        different: &mut Vec<u32>,
    ) {
        // A constant NULL has no value to compare.
        if vector.is_constant_null() {
            return partition(candidates, different, |row| self.is_null(own[row as usize] as usize));
        }
        let validity = vector.validity().filter(|_| !vector.is_constant()).map(Bitmap::words);
        let sides = Sides { own, own_valid: self.valid.as_deref(), vector, validity };
        let lists = (candidates, different);
        match &self.data {
            Data::W1(v) => sides.retain(v, lists, |a, b| a == b),
            Data::W2(v) => sides.retain(v, lists, |a, b| a == b),
            Data::W4(v) => sides.retain(v, lists, |a, b| a == b),
            Data::W8(v) => sides.retain(v, lists, |a, b| a == b),
            Data::W16(v) => sides.retain(v, lists, |a, b| a.head == b.head && a.tail == b.tail),
            Data::Views(v, heap) => {
                let buffers = vector.heap().buffers();
                sides.retain(v, lists, |a, b| heap.equals(a, b, buffers));
            }
        }
    }

    /// Whether row `row` and row `from` of a vector, both not NULL, are equal bit by bit.
    #[inline]
    pub fn equals(&self, row: usize, vector: &Vector, from: usize) -> bool {
        let from = from as u32;
        match &self.data {
            Data::W1(v) => with_positions!(vector, at, source: u8, v[row] == source[at(from)]),
            Data::W2(v) => with_positions!(vector, at, source: u16, v[row] == source[at(from)]),
            Data::W4(v) => with_positions!(vector, at, source: u32, v[row] == source[at(from)]),
            Data::W8(v) => with_positions!(vector, at, source: u64, v[row] == source[at(from)]),
            Data::W16(v) => with_positions!(vector, at, source: View, {
                let other = &source[at(from)];
                v[row].head == other.head && v[row].tail == other.tail
            }),
            Data::Views(v, heap) => with_positions!(vector, at, source: View, {
                heap.equals(&v[row], &source[at(from)], vector.heap().buffers())
            }),
        }
    }

    /// The value's bits, for telling fixed-width values apart; the string's view for VARCHAR and BLOB.
    #[inline]
    pub fn words(&self, row: usize) -> (u64, u64) {
        match &self.data {
            Data::W1(v) => (u64::from(v[row]), 0),
            Data::W2(v) => (u64::from(v[row]), 0),
            Data::W4(v) => (u64::from(v[row]), 0),
            Data::W8(v) => (v[row], 0),
            Data::W16(v) | Data::Views(v, _) => (v[row].head, v[row].tail),
        }
    }

    /// Asks for VARCHAR or BLOB values that lie apart, when that at `index` of `rows` is read: for the view of one, and for the bytes of
    /// one whose view is there by then.
    #[inline(always)]
    pub(super) fn prefetch_ahead(&self, rows: &[u32], index: usize) {
        let Data::Views(views, heap) = &self.data else { return };
        if let Some(&row) = rows.get(index + 2 * View::AHEAD) {
            prefetch(views.as_ptr().wrapping_add(row as usize).cast());
        }
        if let Some(&row) = rows.get(index + View::AHEAD) {
            heap.prefetch(&views[row as usize]);
        }
    }

    /// The bytes of a VARCHAR or BLOB value; empty for other types.
    pub fn bytes(&self, row: usize) -> &[u8] {
        match &self.data {
            Data::Views(views, heap) => heap.bytes(&views[row]),
            Data::W1(_) | Data::W2(_) | Data::W4(_) | Data::W8(_) | Data::W16(_) => &[],
        }
    }

    /// Rows `from .. from + len` as a flat vector.
    pub fn to_vector(&self, from: usize, len: usize) -> Vector {
        let to = from + len;
        let (data, heap) = match &self.data {
            Data::W1(v) => (Buffer::copy_of(&v[from..to]), Heap::default()),
            Data::W2(v) => (Buffer::copy_of(&v[from..to]), Heap::default()),
            Data::W4(v) => (Buffer::copy_of(&v[from..to]), Heap::default()),
            Data::W8(v) => (Buffer::copy_of(&v[from..to]), Heap::default()),
            Data::W16(v) => (Buffer::copy_of(&v[from..to]), Heap::default()),
            Data::Views(v, heap) => {
                (Buffer::copy_of(&v[from..to]), self.heap.get_or_init(|| heap.snapshot()).clone())
            }
        };
        let validity = self.valid.as_ref().filter(|valid| valid[from..to].contains(&0));
        let validity = validity.map(|valid| Bitmap::from_fn(len, |i| valid[from + i] != 0));
        let normalize = validity.is_some();
        let mut vector = Vector::flat(self.ty.clone(), len, data, validity, heap);
        if normalize {
            vector.normalize_nulls();
        }
        vector
    }

    /// Rows `rows` as a flat vector.
    pub fn gather(&self, rows: &[u32]) -> Vector {
        fn gathered<T: Native>(values: &[T], rows: &[u32]) -> Buffer {
            let values: Vec<T> = rows.iter().map(|&row| values[row as usize]).collect();
            // Copied into an aligned buffer: 128-bit numbers lie in pairs of words here.
            if size_of::<T>() == 16 { Buffer::copy_of(&values) } else { Buffer::from_vec(values) }
        }
        let (data, heap) = match &self.data {
            Data::W1(v) => (gathered(v, rows), Heap::default()),
            Data::W2(v) => (gathered(v, rows), Heap::default()),
            Data::W4(v) => (gathered(v, rows), Heap::default()),
            Data::W8(v) => (gathered(v, rows), Heap::default()),
            Data::W16(v) => (gathered(v, rows), Heap::default()),
            Data::Views(v, heap) => (gathered(v, rows), self.heap.get_or_init(|| heap.snapshot()).clone()),
        };
        let validity = self.valid.as_ref().filter(|valid| rows.iter().any(|&row| valid[row as usize] == 0));
        let validity = validity.map(|valid| Bitmap::from_fn(rows.len(), |i| valid[rows[i] as usize] != 0));
        let normalize = validity.is_some();
        let mut vector = Vector::flat(self.ty.clone(), rows.len(), data, validity, heap);
        if normalize {
            vector.normalize_nulls();
        }
        vector
    }

    /// Stretches of rows as a flat vector.
    pub(super) fn stretches(&self, pieces: &[Range<u32>]) -> Vector {
        fn joined<T: Native>(values: &[T], pieces: &[Range<u32>], len: usize) -> Buffer {
            let mut all: Vec<T> = Vec::with_capacity(len);
            pieces.iter().for_each(|p| all.extend_from_slice(&values[p.start as usize..p.end as usize]));
            if size_of::<T>() == 16 { Buffer::copy_of(&all) } else { Buffer::from_vec(all) }
        }
        let len = pieces.iter().map(ExactSizeIterator::len).sum();
        if let [piece] = pieces {
            return self.to_vector(piece.start as usize, len);
        }
        if self.valid.is_some() {
            return self.gather(&pieces.iter().cloned().flatten().collect::<Vec<_>>());
        }
        let (data, heap) = match &self.data {
            Data::W1(v) => (joined(v, pieces, len), Heap::default()),
            Data::W2(v) => (joined(v, pieces, len), Heap::default()),
            Data::W4(v) => (joined(v, pieces, len), Heap::default()),
            Data::W8(v) => (joined(v, pieces, len), Heap::default()),
            Data::W16(v) => (joined(v, pieces, len), Heap::default()),
            Data::Views(v, heap) => {
                (joined(v, pieces, len), self.heap.get_or_init(|| heap.snapshot()).clone())
            }
        };
        Vector::flat(self.ty.clone(), len, data, None, heap)
    }

    /// Bytes of strings, those that were overwritten among them.
    pub(super) fn heap_size(&self) -> usize {
        if let Data::Views(_, heap) = &self.data { heap.size() } else { 0 }
    }

    /// Drops strings that were overwritten.
    pub(super) fn compact(&mut self) {
        if let Data::Views(views, heap) = &mut self.data {
            self.heap.take();
            let old = std::mem::take(heap);
            let mut repeated = Repeated::default();
            for view in views {
                let source = *view;
                *view = heap.push_repeated(&source, &mut repeated, |view| old.bytes(view));
            }
        }
    }

    /// Bytes held.
    pub fn memory_size(&self) -> usize {
        let data = match &self.data {
            Data::W1(v) => v.capacity(),
            Data::W2(v) => v.capacity() * 2,
            Data::W4(v) => v.capacity() * 4,
            Data::W8(v) => v.capacity() * 8,
            Data::W16(v) => v.capacity() * 16,
            Data::Views(v, heap) => v.capacity() * 16 + heap.size(),
        };
        data + self.valid.as_ref().map_or(0, Vec::capacity)
    }
}

/// What [`Column::retain_equal`] compares: rows of a column with those of a vector that is no constant NULL.
struct Sides<'a> {
    own: &'a [u32],
    own_valid: Option<&'a [u8]>,
    vector: &'a Vector,
    validity: Option<&'a [u64]>,
}

impl Sides<'_> {
    fn retain<T: Native>(
        &self,
        values: &[T],
        (candidates, different): (&mut Vec<u32>, &mut Vec<u32>),
        equal: impl Fn(&T, &T) -> bool,
    ) {
        let Self { own, own_valid, vector, validity } = *self;
        with_positions!(vector, at, source: T, {
            let are_equal = |row: u32| equal(&values[own[row as usize] as usize], &source[at(row)]);
            if own_valid.is_none() && validity.is_none() {
                return partition(candidates, different, are_equal);
            }
            partition(candidates, different, |row| {
                let left = own_valid.is_some_and(|valid| valid[own[row as usize] as usize] == 0);
                let right = validity.is_some_and(|words| words[row as usize / 64] >> (row % 64) & 1 == 0);
                if left || right { left && right } else { are_equal(row) }
            });
        });
    }
}

/// Keeps those candidates for which `keep`, and appends the others to `different`.
#[inline(always)]
fn partition(candidates: &mut Vec<u32>, different: &mut Vec<u32>, keep: impl Fn(u32) -> bool) {
    let mut kept = 0;
    for index in 0..candidates.len() {
        let row = candidates[index];
        if keep(row) {
            candidates[kept] = row;
            kept += 1;
        } else {
            different.push(row);
        }
    }
    candidates.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::Dictionary;

    #[test]
    fn equal_rows_are_kept_and_null_equals_null() -> inlay_types::Result<()> {
        let texts = ["", "short", "a text of more than twelve bytes", "another one of more than twelve"];
        let text = |n: usize| (n % 5 < 4).then(|| texts[n % 5]);
        let vector = |numbers: &[usize]| {
            let mut builder = inlay_types::VectorBuilder::new(LogicalType::Varchar, 0);
            for &number in numbers {
                match text(number) {
                    Some(text) => builder.push_bytes(text.as_bytes()),
                    None => builder.push_null(),
                }
            }
            builder.finish()
        };
        let stored: Vec<usize> = (0..10).collect();
        let rows: Vec<usize> = (0..70).map(|row| row * row % 7).collect();
        let own: Vec<u32> = (0..70).map(|row| row * 3 % 10).collect();
        let mut column = Column::new(LogicalType::Varchar);
        let all: Vec<u32> = (0..10).collect();
        column.append(&vector(&stored), &all);
        let flat = vector(&rows);
        let values = Dictionary::new(vector(&[0, 1, 2, 3]));
        let codes: Vec<u32> = rows.iter().map(|n| (n % 5 % 4) as u32).collect();
        let coded = Vector::dictionary(values, Buffer::copy_of(&codes), 70, flat.validity().cloned());
        let constant = Vector::constant(LogicalType::Varchar, &flat.get(2), 70)?;
        let null = Vector::nulls(LogicalType::Varchar, 70);
        let kinds = [(&flat, None), (&coded, None), (&null, Some(4)), (&constant, Some(rows[2]))];
        for (vector, always) in kinds {
            let is_equal = |row: u32| {
                let number = always.unwrap_or(rows[row as usize]);
                text(own[row as usize] as usize) == text(number)
            };
            let (mut candidates, mut different) =
                ((0..70).filter(|row| row % 4 > 0).collect::<Vec<u32>>(), vec![99]);
            let (equal, others): (Vec<u32>, Vec<u32>) = candidates.iter().partition(|row| is_equal(**row));
            column.retain_equal(&own, vector, &mut candidates, &mut different);
            assert_eq!(candidates, equal);
            assert_eq!(different[1..], others);
        }
        Ok(())
    }
}

//! Joining many vectors of one type into one contiguous vector, in parallel for large ones.
//!
//! Dictionaries stay dictionaries: codes are copied as they are if all pieces share one, and through a merged
//! dictionary if the distinct dictionaries are small. Strings are not copied: heaps are lined up, and views rebased.

#![expect(unsafe_code, reason = "columns are written by several workers before they are initialised")]

use crate::ExecContext;
use crate::context::PARALLEL_ROWS_MIN;
use inlay_types::bitmap::append_words;
use inlay_types::buffer::NewBuffer;
use inlay_types::{
    Batch, Bitmap, Buffer, Dictionary, Error, Heap, LogicalType, Native, Result, Vector, VectorKind, View,
};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Merged dictionaries have at most this many values before equal ones are dropped.
const MERGED_VALUES_MAX: usize = 1 << 15;

/// How the values of a piece become values of the whole.
#[derive(Clone)]
enum Change {
    /// Copied as they are.
    None,
    /// Views whose heap buffers begin at this number.
    Rebase(u32),
    /// Codes that get other numbers.
    Recode(Arc<Vec<u32>>),
    /// The dictionary's only value repeated: a constant in a column of codes.
    Code(u32),
}

/// A piece, and the memory that its rows go to.
struct Piece<'a> {
    vector: &'a Vector,
    change: Change,
}

/// What the whole will be.
struct Shape {
    dictionary: Option<Arc<Dictionary>>,
    heap: Heap,
    width: usize,
}

/// One vector of all rows of `pieces`, in order, on the calling thread.
pub(crate) fn concat(ty: LogicalType, pieces: &[Vector]) -> Vector {
    if let [one] = pieces {
        return one.clone();
    }
    concat_pieces(ty, &pieces.iter().collect::<Vec<_>>())
}

fn concat_pieces(ty: LogicalType, pieces: &[&Vector]) -> Vector {
    if let [one] = pieces {
        return (*one).clone();
    }
    let total = pieces.iter().map(|piece| piece.len()).sum();
    let (shape, parts) = plan(ty.clone(), pieces, total);
    let mut data = NewBuffer::new(total * shape.width);
    copy_range(&parts, &shape, &mut data);
    // SAFETY: `copy_range` writes all of it.
    let data = unsafe { data.written() };
    assemble(ty, shape, pieces, total, data)
}

/// As [`concat`], without copying values where the pieces are neighbouring slices of one column: they are joined where they
/// lie, and the result keeps that column's memory.
pub(crate) fn concat_shared(ty: LogicalType, pieces: &[Vector]) -> Vector {
    neighbours(&ty, pieces).unwrap_or_else(|| concat(ty, pieces))
}

fn neighbours(ty: &LogicalType, pieces: &[Vector]) -> Option<Vector> {
    let (first, others) = pieces.split_first()?;
    let width = match first.kind() {
        VectorKind::Flat => ty.physical().size(),
        VectorKind::Dictionary(_) => 4,
        VectorKind::Constant => return None,
    };
    let rows_of = |piece: &Vector| piece.data().slice(0, piece.len() * width);
    let is_alike = |piece: &Vector| match (first.as_dictionary(), piece.as_dictionary()) {
        (Some(one), Some(other)) => one.id() == other.id(),
        (None, None) => {
            piece.is_flat() && std::ptr::eq(piece.heap().buffers().as_ptr(), first.heap().buffers().as_ptr())
        }
        _ => false,
    };
    let mut data = rows_of(first);
    for piece in others {
        if !is_alike(piece) {
            return None;
        }
        data = data.followed_by(&rows_of(piece))?;
    }
    let total = pieces.iter().map(Vector::len).sum();
    let validity = concat_validity(&pieces.iter().collect::<Vec<_>>(), total);
    Some(match first.as_dictionary() {
        Some(dictionary) => Vector::dictionary(Arc::clone(dictionary), data, total, validity),
        None => Vector::flat(ty.clone(), total, data, validity, first.heap().clone()),
    })
}

/// All rows of `batches`, column by column. `types` gives the columns when there are no batches.
pub(crate) fn concat_batches(types: &[LogicalType], batches: &[Batch]) -> Batch {
    let len = batches.iter().map(Batch::len).sum();
    let column = |(index, ty): (usize, &LogicalType)| {
        let pieces: Vec<&Vector> = batches.iter().map(|batch| batch.column(index)).collect();
        if pieces.is_empty() { Vector::empty(ty.clone()) } else { concat_pieces(ty.clone(), &pieces) }
    };
    Batch::new(types.iter().enumerate().map(column).collect(), len)
}

/// One vector per column: `columns[c]` holds the pieces of column `c`, of type `types[c]`, and all columns have
/// pieces of the same lengths. Columns and ranges of rows are copied in parallel.
pub(crate) fn concat_columns(
    context: &ExecContext,
    types: &[LogicalType],
    columns: &[Vec<&Vector>],
) -> Result<Vec<Vector>> {
    let total: usize = columns.first().map_or(0, |pieces| pieces.iter().map(|piece| piece.len()).sum());
    if total <= PARALLEL_ROWS_MIN {
        return Ok(columns.iter().zip(types).map(|(pieces, ty)| concat_pieces(ty.clone(), pieces)).collect());
    }
    let mut plans: Vec<(Shape, Vec<Piece<'_>>)> =
        columns.iter().zip(types).map(|(pieces, ty)| plan(ty.clone(), pieces, total)).collect();
    let mut buffers: Vec<NewBuffer> =
        plans.iter().map(|(shape, _)| NewBuffer::new(total * shape.width)).collect();
    let (task_rows, mut tasks) = (context.task_rows(total), Vec::new());
    for ((shape, parts), buffer) in plans.iter().zip(&mut buffers) {
        match shape.width {
            1 => split::<u8>(parts, shape, buffer, task_rows, &mut tasks),
            2 => split::<u16>(parts, shape, buffer, task_rows, &mut tasks),
            4 => split::<u32>(parts, shape, buffer, task_rows, &mut tasks),
            8 => split::<u64>(parts, shape, buffer, task_rows, &mut tasks),
            _ => split::<View>(parts, shape, buffer, task_rows, &mut tasks),
        }
    }
    let tasks: Vec<Mutex<Option<Task<'_>>>> = tasks.into_iter().map(|task| Mutex::new(Some(task))).collect();
    context.parallel(tasks.len(), |index| {
        if let Some(task) = tasks[index].lock().take() {
            task();
        }
        Ok(())
    })?;
    if tasks.iter().any(|task| task.lock().is_some()) {
        return Err(Error::internal("a part of a column was not copied"));
    }
    drop(tasks);
    let mut whole = Vec::with_capacity(columns.len());
    for (index, buffer) in buffers.into_iter().enumerate().rev() {
        let Some((shape, _)) = plans.pop() else { return Err(Error::internal("a column was lost")) };
        // SAFETY: all tasks ran, which together write all rows of each column; see `split`.
        let buffer = unsafe { buffer.written() };
        whole.push(assemble(types[index].clone(), shape, &columns[index], total, buffer));
    }
    whole.reverse();
    Ok(whole)
}

type Task<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Cuts the copying of one column into tasks. Each writes all of its places, and together they have all of them.
fn split<'a, T: Carrier>(
    parts: &'a [Piece<'a>],
    shape: &'a Shape,
    buffer: &'a mut NewBuffer,
    task_rows: usize,
    tasks: &mut Vec<Task<'a>>,
) {
    let (mut rest, mut from) = (buffer.places::<T>(), 0);
    while from < parts.len() {
        let (mut to, mut rows) = (from, 0);
        while to < parts.len() && rows < task_rows {
            rows += parts[to].vector.len();
            to += 1;
        }
        let (target, behind) = rest.split_at_mut(rows);
        rest = behind;
        let group = &parts[from..to];
        tasks.push(Box::new(move || copy_pieces(group, shape, target)));
        from = to;
    }
    assert!(rest.is_empty(), "a column longer than its pieces");
}

/// Writes all of `data`.
fn copy_range(parts: &[Piece<'_>], shape: &Shape, data: &mut NewBuffer) {
    match shape.width {
        1 => copy_pieces::<u8>(parts, shape, data.places()),
        2 => copy_pieces::<u16>(parts, shape, data.places()),
        4 => copy_pieces::<u32>(parts, shape, data.places()),
        8 => copy_pieces::<u64>(parts, shape, data.places()),
        _ => copy_pieces::<View>(parts, shape, data.places()),
    }
}

/// Values of a width, with what can be done to codes and views.
trait Carrier: Native {
    /// The value in the whole of a value of a piece.
    #[inline(always)]
    fn change(self, _: &Change) -> Self {
        self
    }

    /// A code as a value; only columns of codes, which are carried as `u32`, ask for it.
    #[inline(always)]
    fn from_code(_: u32) -> Self {
        debug_assert!(false, "a code of another width than 32 bits");
        Self::default()
    }
}

impl Carrier for u8 {}
impl Carrier for u16 {}
impl Carrier for u64 {}

impl Carrier for u32 {
    #[inline(always)]
    fn from_code(code: u32) -> Self {
        code
    }
}

impl Carrier for View {
    #[inline(always)]
    fn change(self, change: &Change) -> Self {
        if let Change::Rebase(base) = change { self.rebased(*base) } else { self }
    }
}

/// Writes all of `target`, which is as long as the pieces.
fn copy_pieces<T: Carrier>(parts: &[Piece<'_>], shape: &Shape, mut target: &mut [MaybeUninit<T>]) {
    for part in parts {
        let (own, behind) = target.split_at_mut(part.vector.len());
        target = behind;
        if own.is_empty() {
            continue;
        }
        if shape.dictionary.is_some() { copy_codes(part, own) } else { copy_values(part, own) }
    }
    assert!(target.is_empty(), "more room than rows");
}

fn copy_codes<T: Carrier>(part: &Piece<'_>, target: &mut [MaybeUninit<T>]) {
    match &part.change {
        Change::Code(code) => target.fill(MaybeUninit::new(T::from_code(*code))),
        Change::Recode(map) => {
            write_each(target, part.vector.codes(), |code| T::from_code(map[code as usize]))
        }
        Change::None | Change::Rebase(_) => write_each(target, part.vector.data().typed::<T>(), |code| code),
    }
}

fn copy_values<T: Carrier>(part: &Piece<'_>, target: &mut [MaybeUninit<T>]) {
    let as_is = matches!(part.change, Change::None | Change::Rebase(0));
    let data = part.vector.data();
    match part.vector.kind() {
        VectorKind::Flat if as_is => write_each(target, data.typed::<T>(), |value| value),
        VectorKind::Flat => write_each(target, data.typed::<T>(), |value| value.change(&part.change)),
        VectorKind::Constant => target.fill(MaybeUninit::new(data.typed::<T>()[0].change(&part.change))),
        VectorKind::Dictionary(dictionary) => {
            let values = dictionary.values().data().typed::<T>();
            write_each(target, part.vector.codes(), |code| values[code as usize].change(&part.change));
        }
    }
}

/// Writes all of `target`: what the first sources become. Panics if there are fewer.
#[inline(always)]
fn write_each<S: Copy, T: Copy>(target: &mut [MaybeUninit<T>], sources: &[S], value: impl Fn(S) -> T) {
    let sources = &sources[..target.len()];
    for (place, source) in target.iter_mut().zip(sources) {
        place.write(value(*source));
    }
}

/// Decides what the whole is and how each piece gets there.
fn plan<'a>(ty: LogicalType, pieces: &[&'a Vector], total: usize) -> (Shape, Vec<Piece<'a>>) {
    if let Some((dictionary, maps)) = merged_dictionary(pieces, total) {
        let change = |vector: &Vector| match vector.as_dictionary() {
            Some(own) if own.id() == dictionary.id() => Change::None,
            // `merged_dictionary` went through the same pieces.
            Some(own) => maps[&own.id()].clone(),
            None => Change::Code(0),
        };
        let parts = pieces.iter().map(|vector| Piece { vector, change: change(vector) }).collect();
        return (Shape { dictionary: Some(dictionary), heap: Heap::default(), width: 4 }, parts);
    }
    let width = ty.physical().size();
    if !ty.is_view() {
        let parts = pieces.iter().map(|vector| Piece { vector, change: Change::None }).collect();
        return (Shape { dictionary: None, heap: Heap::default(), width }, parts);
    }
    let mut heaps = Heaps::default();
    let parts = pieces
        .iter()
        .map(|vector| Piece { vector, change: Change::Rebase(heaps.base(vector.heap())) })
        .collect();
    (Shape { dictionary: None, heap: heaps.finish(), width }, parts)
}

/// Heaps lined up, each once.
#[derive(Default)]
struct Heaps {
    known: HashMap<usize, u32>,
    first: Option<Heap>,
    buffers: Vec<Buffer>,
}

impl Heaps {
    /// The number that the first buffer of `heap` has in the whole.
    fn base(&mut self, heap: &Heap) -> u32 {
        if heap.buffers().is_empty() {
            return 0;
        }
        let id = heap.buffers().as_ptr() as usize;
        if let Some(base) = self.known.get(&id) {
            return *base;
        }
        let base = self.buffers.len() as u32;
        self.known.insert(id, base);
        if self.first.is_none() {
            self.first = Some(heap.clone());
        }
        self.buffers.extend_from_slice(heap.buffers());
        base
    }

    fn finish(self) -> Heap {
        match self.first {
            Some(only) if self.known.len() == 1 => only,
            Some(_) => Heap::new(self.buffers),
            None => Heap::default(),
        }
    }
}

/// A dictionary for all pieces, if they are codes of small dictionaries (or NULL throughout); and how codes change, by
/// the id of the piece's dictionary.
fn merged_dictionary(pieces: &[&Vector], total: usize) -> Option<(Arc<Dictionary>, HashMap<u64, Change>)> {
    let mut dictionaries: Vec<&Arc<Dictionary>> = Vec::new();
    let mut maps = HashMap::new();
    let mut last = None;
    for piece in pieces {
        match piece.as_dictionary() {
            // Neighbours mostly have the same.
            Some(dictionary) if last == Some(dictionary.id()) => {}
            Some(dictionary) => {
                last = Some(dictionary.id());
                if maps.insert(dictionary.id(), Change::None).is_none() {
                    dictionaries.push(dictionary);
                }
            }
            None if piece.is_constant_null() || piece.is_empty() => {}
            None => return None,
        }
    }
    let first = *dictionaries.first()?;
    if dictionaries.len() == 1 {
        return Some((Arc::clone(first), maps));
    }
    let values: usize = dictionaries.iter().map(|d| d.values().len()).sum();
    if !first.values().logical_type().is_view() || values > MERGED_VALUES_MAX.min(total) {
        return None;
    }
    // Columns of few values have the same in every row group.
    if dictionaries.iter().all(|other| have_same_texts(first.values(), other.values())) {
        return Some((Arc::clone(first), maps));
    }
    let all: Vec<&Vector> = dictionaries.iter().map(|dictionary| dictionary.values()).collect();
    let all = concat_pieces(first.values().logical_type(), &all);
    let heap = all.heap().buffers();
    let mut codes: HashMap<&[u8], u32> = HashMap::with_capacity(values);
    let mut kept: Vec<u32> = Vec::new();
    let mut from = 0;
    for dictionary in dictionaries {
        let count = dictionary.values().len();
        let map = (from..from + count).map(|row| {
            *codes.entry(all.views()[row].bytes(heap)).or_insert_with(|| {
                kept.push(row as u32);
                kept.len() as u32 - 1
            })
        });
        maps.insert(dictionary.id(), Change::Recode(Arc::new(map.collect())));
        from += count;
    }
    Some((Dictionary::new(all.take(&kept)), maps))
}

/// Whether two flat vectors have the same texts, in the same order.
fn have_same_texts(one: &Vector, other: &Vector) -> bool {
    let (own, their) = (one.heap().buffers(), other.heap().buffers());
    one.len() == other.len() && one.views().iter().zip(other.views()).all(|(a, b)| a.equals(own, b, their))
}

fn assemble(ty: LogicalType, shape: Shape, pieces: &[&Vector], total: usize, data: Buffer) -> Vector {
    let validity = concat_validity(pieces, total);
    match shape.dictionary {
        Some(dictionary) => Vector::dictionary(dictionary, data, total, validity),
        None => Vector::flat(ty, total, data, validity, shape.heap),
    }
}

fn concat_validity(pieces: &[&Vector], total: usize) -> Option<Bitmap> {
    if pieces.iter().all(|piece| piece.validity().is_none()) {
        return None;
    }
    let mut words = vec![0u64; total.div_ceil(64)];
    let mut at = 0;
    for piece in pieces {
        let len = piece.len();
        match piece.validity() {
            Some(bits) if !piece.is_constant() => {
                append_words(&mut words, at, len, |index| bits.words()[index])
            }
            Some(_) if piece.is_constant_null() => {}
            Some(_) | None => append_words(&mut words, at, len, |_| u64::MAX),
        }
        at += len;
    }
    Some(Bitmap::from_words(words, total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::Value;

    fn texts(words: &[Option<&str>]) -> Vector {
        let values: Vec<Value> =
            words.iter().map(|w| w.map_or(Value::Null, |w| Value::Varchar(w.into()))).collect();
        Vector::from_sql_values(LogicalType::Varchar, &values).unwrap()
    }

    fn all(vector: &Vector) -> Vec<Value> {
        (0..vector.len()).map(|i| vector.get(i)).collect()
    }

    #[test]
    fn strings_of_several_heaps_constants_and_dictionaries() {
        let one = texts(&[Some("short"), None, Some("a string that is too long for a view")]);
        let two = texts(&[Some("another string that is too long for a view")]);
        let words = texts(&[Some("x"), Some("yet another string that is too long")]);
        let coded = Vector::dictionary(Dictionary::new(words), Buffer::copy_of(&[1u32, 0, 1]), 3, None);
        let nulls = Vector::nulls(LogicalType::Varchar, 70);
        let pieces = [one, nulls, two.clone(), coded, two];
        let expected: Vec<Value> = pieces.iter().flat_map(all).collect();
        assert_eq!(all(&concat(LogicalType::Varchar, &pieces)), expected);
    }

    #[test]
    fn neighbouring_slices_are_joined_where_they_lie() {
        let values: Vec<i32> = (0..5000).collect();
        let mut whole = Vector::from_values(LogicalType::Integer, &values);
        whole.set_validity(Some(Bitmap::from_fn(5000, |row| row % 7 != 0)));
        let pieces = [whole.slice(100, 2000), whole.slice(2100, 0), whole.slice(2100, 1900)];
        let joined = concat_shared(LogicalType::Integer, &pieces);
        assert_eq!(joined.data().as_ptr(), whole.data().slice(400, 4).as_ptr());
        assert_eq!(all(&joined), all(&whole.slice(100, 3900)));
        let long: Vec<String> = (0..30).map(|row| format!("a text too long for a view {row}")).collect();
        let long: Vec<Option<&str>> = long.iter().map(|text| Some(text.as_str())).collect();
        let whole = texts(&long);
        let joined = concat_shared(LogicalType::Varchar, &[whole.slice(0, 10), whole.slice(10, 20)]);
        assert_eq!(joined.data().as_ptr(), whole.data().as_ptr());
        assert_eq!(all(&joined), all(&whole));
    }

    #[test]
    fn pieces_that_are_no_neighbours_are_copied() {
        let values: Vec<i32> = (0..3000).collect();
        let whole = Vector::from_values(LogicalType::Integer, &values);
        let other = Vector::from_values(LogicalType::Integer, &values);
        let seven = Vector::constant(LogicalType::Integer, &Value::Integer(7), 5).unwrap();
        for pieces in [
            vec![whole.slice(0, 1000), whole.slice(1001, 1000)],
            vec![whole.slice(1000, 1000), whole.slice(0, 1000)],
            vec![whole.slice(0, 1000), other.slice(1000, 1000)],
            vec![whole.slice(0, 1000), seven.clone()],
            vec![seven, whole.slice(0, 1000)],
        ] {
            let joined = concat_shared(LogicalType::Integer, &pieces);
            assert_eq!(all(&joined), pieces.iter().flat_map(all).collect::<Vec<_>>());
        }
    }

    #[test]
    fn equal_dictionaries_are_one() {
        let long = "a text that is too long for a view";
        let code = |codes: &[u32]| {
            let words = texts(&[Some("a"), Some(long)]);
            Vector::dictionary(Dictionary::new(words), Buffer::copy_of(codes), codes.len(), None)
        };
        let pieces = [code(&[0, 1]), code(&[1, 1]), Vector::nulls(LogicalType::Varchar, 2), code(&[1, 0])];
        let whole = concat(LogicalType::Varchar, &pieces);
        let id = |vector: &Vector| vector.as_dictionary().map(|dictionary| dictionary.id());
        assert!(id(&whole).is_some() && id(&whole) == id(&pieces[0]));
        assert_eq!(all(&whole), pieces.iter().flat_map(all).collect::<Vec<_>>());
    }

    #[test]
    fn small_dictionaries_are_merged_without_repetition() {
        let code = |words: &[Option<&str>], codes: &[u32]| {
            Vector::dictionary(Dictionary::new(texts(words)), Buffer::copy_of(codes), codes.len(), None)
        };
        let one = code(&[Some("a"), Some("b")], &[0, 1, 1, 0, 1]);
        let two = code(&[Some("b"), Some("c")], &[0, 1, 0]);
        let pieces = [one, two, Vector::nulls(LogicalType::Varchar, 2)];
        let whole = concat(LogicalType::Varchar, &pieces);
        assert_eq!(whole.as_dictionary().unwrap().values().len(), 3);
        assert_eq!(all(&whole), pieces.iter().flat_map(all).collect::<Vec<_>>());
    }
}

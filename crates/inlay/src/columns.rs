//! Whole columns: the vectors of many batches joined into one, by all workers when there is much to copy.
//!
//! The result is flat, owns its values (a host may write to them), and holds the host's NA in every NULL slot; [`host()`]
//! converts on the way. String bytes stay where they are: views are rebased onto one list of heap buffers.
//!
//! Called by [`crate::QueryResult`].

use inlay_exec::WorkerPool;
use inlay_kernels::host::{self, HostForm};
use inlay_types::{
    Batch, Bitmap, Buffer, Heap, Interrupt, LogicalType, Native, Result, Vector, VectorKind, View,
};
use parking_lot::Mutex;

/// Number of a part, and the memory that its rows go to.
type Piece<'a, T> = (usize, &'a mut [T]);

/// Who copies, and what ends it.
#[derive(Clone, Copy)]
pub struct Crew<'a> {
    pub pool: &'a WorkerPool,
    pub threads: usize,
    pub interrupt: &'a Interrupt,
}

/// Rows that one task copies at least; below it, one thread is faster than waking another.
const TASK_ROWS_MIN: usize = 1 << 16;

/// The rows of `parts`, all of type `ty`, as one flat vector.
pub fn join(ty: LogicalType, parts: &[&Vector], crew: Crew<'_>) -> Result<Vector> {
    let len = parts.iter().map(|part| part.len()).sum();
    let mut whole = if ty.is_view() {
        views(ty, len, parts, crew)?
    } else {
        let data = host(ty.physical().size(), HostForm::Stored, parts, crew)?;
        Vector::flat(ty, len, data, None, Heap::default())
    };
    whole.set_validity(validity(len, parts));
    if whole.ty().is_view() {
        whole.normalize_nulls();
    }
    Ok(whole)
}

/// The rows of `parts` in a host's form, whose values have `width` bytes.
pub fn host(width: usize, form: HostForm, parts: &[&Vector], crew: Crew<'_>) -> Result<Buffer> {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let mut data = Buffer::zeroed(len * width);
    if let Some(target) = data.typed_mut::<u8>() {
        fill(target, width, parts, crew, |_, part, target| host::write(part, form, target))?;
    }
    Ok(data)
}

/// A column of consumed batches.
pub enum Consumed {
    /// Values in a host's form, and which are NULL if any is.
    Values { data: Buffer, nulls: Option<Buffer> },
    /// As it was.
    Vectors(Vec<Vector>),
}

/// One batch, and the places of its rows in each column that is written.
struct Share<'a> {
    batch: Batch,
    places: Vec<Option<Places<'a>>>,
    /// Vectors of columns that are not written, in the end.
    kept: Vec<Vector>,
}

struct Places<'a> {
    form: HostForm,
    data: &'a mut [u8],
    nulls: Option<&'a mut [u8]>,
}

/// Brings the columns of `batches` into the forms given for them, dropping each batch as soon as it is written.
pub fn consumed(
    batches: Vec<Batch>,
    types: &[LogicalType],
    forms: &[Option<HostForm>],
    crew: Crew<'_>,
) -> Result<Vec<Consumed>> {
    let len: usize = batches.iter().map(Batch::len).sum();
    let has_nulls = |index: usize| batches.iter().any(|batch| batch.column(index).null_count() > 0);
    let target = |(index, form): (usize, &Option<HostForm>)| {
        let data = Buffer::zeroed(len * (*form)?.width(&types[index]));
        Some((data, has_nulls(index).then(|| Buffer::zeroed(len))))
    };
    let mut targets: Vec<Option<(Buffer, Option<Buffer>)>> = forms.iter().enumerate().map(target).collect();
    let mut rest: Vec<Option<Places<'_>>> = Vec::with_capacity(targets.len());
    for (target, form) in targets.iter_mut().zip(forms) {
        rest.push(match (target, form) {
            (Some((data, nulls)), Some(form)) => Some(Places {
                form: *form,
                data: data.typed_mut::<u8>().unwrap_or_default(),
                nulls: nulls.as_mut().and_then(|nulls| nulls.typed_mut::<u8>()),
            }),
            _ => None,
        });
    }
    let mut shares = Vec::with_capacity(batches.len());
    for batch in batches {
        let mut places = Vec::with_capacity(rest.len());
        for (rest, ty) in rest.iter_mut().zip(types) {
            places.push(rest.as_mut().map(|rest| rest.split(ty, batch.len())));
        }
        shares.push(Mutex::new(Share { batch, places, kept: Vec::new() }));
    }
    let Crew { pool, threads, interrupt } = crew;
    let batches_per_task = shares.len().div_ceil(threads * 16).max(1);
    let tasks = shares.len().div_ceil(batches_per_task);
    let write = |task: usize| {
        let end = ((task + 1) * batches_per_task).min(shares.len());
        shares[task * batches_per_task..end].iter().try_for_each(|share| {
            interrupt.check()?;
            share.lock().write();
            Ok(())
        })
    };
    pool.parallel(if len < TASK_ROWS_MIN { 1 } else { threads }, tasks, write)?;
    let mut kept: Vec<Vec<Vector>> = vec![Vec::new(); forms.iter().filter(|form| form.is_none()).count()];
    for share in shares {
        for (column, vector) in kept.iter_mut().zip(share.into_inner().kept) {
            column.push(vector);
        }
    }
    drop(rest);
    let mut kept = kept.into_iter();
    let column = |target| match target {
        Some((data, nulls)) => Consumed::Values { data, nulls },
        None => Consumed::Vectors(kept.next().unwrap_or_default()),
    };
    Ok(targets.into_iter().map(column).collect())
}

impl<'a> Places<'a> {
    /// The places of the next `rows` rows.
    fn split(&mut self, ty: &LogicalType, rows: usize) -> Places<'a> {
        let (data, rest) = std::mem::take(&mut self.data).split_at_mut(rows * self.form.width(ty));
        self.data = rest;
        let nulls = self.nulls.take().map(|nulls| {
            let (nulls, rest) = nulls.split_at_mut(rows);
            self.nulls = Some(rest);
            nulls
        });
        Places { form: self.form, data, nulls }
    }
}

impl Share<'_> {
    fn write(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Batch::new(Vec::new(), 0));
        for (vector, places) in batch.columns().iter().zip(&mut self.places) {
            match places {
                Some(places) => {
                    host::write(vector, places.form, places.data);
                    if let Some(nulls) = &mut places.nulls {
                        host::write(vector, HostForm::Nulls, nulls);
                    }
                }
                None => self.kept.push(vector.clone()),
            }
        }
    }
}

fn views(ty: LogicalType, len: usize, parts: &[&Vector], crew: Crew<'_>) -> Result<Vector> {
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut bases = Vec::with_capacity(parts.len());
    let mut last: Option<(&Heap, u32)> = None;
    for part in parts {
        // Neighbours often share one heap, whose buffers are then listed once.
        let base = match last {
            Some((heap, base)) if heap.same(part.heap()) => base,
            _ => {
                let base = buffers.len() as u32;
                buffers.extend_from_slice(part.heap().buffers());
                base
            }
        };
        last = Some((part.heap(), base));
        bases.push(base);
    }
    let mut data = Buffer::zeroed(len * size_of::<View>());
    if let Some(target) = data.typed_mut::<View>() {
        fill(target, 1, parts, crew, |index, part, target| {
            copy_part(part, target, |view| view.rebased(bases[index]));
        })?;
    }
    Ok(Vector::flat(ty, len, data, None, Heap::new(buffers)))
}

/// Calls `copy(index, part, slice of target)` for every part, whose rows take `width` slots each, on all workers when
/// there are many rows.
fn fill<T: Native>(
    target: &mut [T],
    width: usize,
    parts: &[&Vector],
    crew: Crew<'_>,
    copy: impl Fn(usize, &Vector, &mut [T]) + Sync,
) -> Result<()> {
    let Crew { pool, threads, interrupt } = crew;
    let len = target.len() / width;
    let tasks_wanted = (len / TASK_ROWS_MIN).clamp(1, threads * 4);
    let rows_per_task = len.div_ceil(tasks_wanted);
    let mut tasks: Vec<Mutex<Vec<Piece<'_, T>>>> = Vec::with_capacity(tasks_wanted);
    let mut open: Vec<(usize, &mut [T])> = Vec::new();
    let (mut rows, mut rest) = (0, target);
    for (index, part) in parts.iter().enumerate() {
        let (head, tail) = rest.split_at_mut(part.len() * width);
        rest = tail;
        open.push((index, head));
        rows += part.len();
        if rows >= rows_per_task {
            tasks.push(Mutex::new(std::mem::take(&mut open)));
            rows = 0;
        }
    }
    tasks.push(Mutex::new(open));
    let run = |task: usize| {
        for (index, target) in tasks[task].lock().iter_mut() {
            interrupt.check()?;
            copy(*index, parts[*index], target);
        }
        Ok(())
    };
    if tasks_wanted == 1 {
        (0..tasks.len()).try_for_each(run)
    } else {
        pool.parallel(threads, tasks.len(), run)
    }
}

fn copy_part(part: &Vector, target: &mut [View], map: impl Fn(View) -> View) {
    match part.kind() {
        VectorKind::Flat => {
            for (target, &view) in target.iter_mut().zip(part.views()) {
                *target = map(view);
            }
        }
        VectorKind::Constant => target.fill(map(part.views()[0])),
        VectorKind::Dictionary(dictionary) => {
            let values = dictionary.values().views();
            for (target, &code) in target.iter_mut().zip(part.codes()) {
                *target = map(values[code as usize]);
            }
        }
    }
}

fn validity(len: usize, parts: &[&Vector]) -> Option<Bitmap> {
    if parts.iter().all(|part| part.validity().is_none()) {
        return None;
    }
    let mut bits = BitWriter { words: vec![0; len.div_ceil(64)], len: 0 };
    for part in parts {
        match part.validity() {
            Some(validity) if !part.is_constant() => bits.extend(validity.words(), part.len()),
            _ => bits.repeat(!part.is_constant_null(), part.len()),
        }
    }
    Some(Bitmap::from_words(bits.words, len))
}

/// Bits one after the other, 64 at a time.
struct BitWriter {
    words: Vec<u64>,
    len: usize,
}

impl BitWriter {
    fn push(&mut self, word: u64, count: usize) {
        let word = if count < 64 { word & ((1 << count) - 1) } else { word };
        let (index, shift) = (self.len / 64, self.len % 64);
        if let Some(low) = self.words.get_mut(index) {
            *low |= word << shift;
        }
        if shift > 0
            && shift + count > 64
            && let Some(high) = self.words.get_mut(index + 1)
        {
            *high |= word >> (64 - shift);
        }
        self.len += count;
    }

    fn extend(&mut self, words: &[u64], count: usize) {
        for (index, &word) in words.iter().enumerate().take(count.div_ceil(64)) {
            self.push(word, (count - index * 64).min(64));
        }
    }

    fn repeat(&mut self, bit: bool, count: usize) {
        let word = if bit { u64::MAX } else { 0 };
        for from in (0..count).step_by(64) {
            self.push(word, (count - from).min(64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{Dictionary, Value};

    #[test]
    fn parts_of_all_kinds_join_with_their_nulls() {
        let value = |text: &str| Value::Varchar(text.to_string());
        let ty = LogicalType::Varchar;
        let flat =
            Vector::from_sql_values(ty.clone(), &[value("a string longer than twelve bytes"), Value::Null])
                .unwrap();
        let constant = Vector::constant(ty.clone(), &value("another string that is long"), 3).unwrap();
        let words =
            Vector::from_sql_values(ty.clone(), &[value("x"), value("the second word in a dictionary")])
                .unwrap();
        let codes = Buffer::copy_of(&[1u32, 0, 1]);
        let coded =
            Vector::dictionary(Dictionary::new(words), codes, 3, Some(Bitmap::from_fn(3, |i| i != 1)));
        let parts = [&flat, &constant, &coded, &Vector::nulls(ty.clone(), 2)];
        let (pool, interrupt) = (WorkerPool::new(), Interrupt::new());
        let crew = Crew { pool: &pool, threads: 2, interrupt: &interrupt };
        let joined = join(ty, &parts, crew).unwrap();
        let expected: Vec<Value> = parts.iter().flat_map(|p| (0..p.len()).map(|i| p.get(i))).collect();
        assert_eq!((0..joined.len()).map(|i| joined.get(i)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn null_slots_hold_na_and_long_columns_are_copied_in_parallel() {
        let part = Vector::from_sql_values(
            LogicalType::Integer,
            &[Value::Integer(7), Value::Null, Value::Integer(9)],
        );
        let part = part.unwrap();
        let parts: Vec<&Vector> = std::iter::repeat_n(&part, 100_000).collect();
        let (pool, interrupt) = (WorkerPool::new(), Interrupt::new());
        let crew = Crew { pool: &pool, threads: 2, interrupt: &interrupt };
        let joined = join(LogicalType::Integer, &parts, crew).unwrap();
        assert_eq!(joined.null_count(), 100_000);
        assert!(joined.values::<i32>().chunks(3).all(|three| three == [7, i32::MIN, 9]));
        assert!((0..joined.len()).all(|i| joined.is_null(i) == (i % 3 == 1)));
    }

    #[test]
    fn an_interrupt_ends_copying() {
        let part = Vector::from_values(LogicalType::Integer, &[1i32; 2048]);
        let parts: Vec<&Vector> = std::iter::repeat_n(&part, 100).collect();
        let (pool, interrupt) = (WorkerPool::new(), Interrupt::new());
        interrupt.set();
        let crew = Crew { pool: &pool, threads: 2, interrupt: &interrupt };
        assert!(join(LogicalType::Integer, &parts, crew).is_err());
        let batches = vec![Batch::new(vec![part.clone()], 2048)];
        assert!(consumed(batches, &[LogicalType::Integer], &[Some(HostForm::Stored)], crew).is_err());
    }
}

//! Whole columns: the vectors of many batches joined into one, by all workers when there is much to copy.
//!
//! The result is flat, owns its values (a host may write to them), and holds the host's NA in every NULL slot; [`host()`]
//! converts on the way. String bytes stay where they are: views are rebased onto one list of heap buffers.
//!
//! Called by [`crate::QueryResult`] and [`crate::Delivery`].

use inlay_exec::Workers;
use inlay_types::arrow::{ArrowArray, Exporter, PreparedColumn};
use inlay_types::host::{self, HostForm};
use inlay_types::logical_type::Field;
use inlay_types::nested::{FieldRows, StructRows};
use inlay_types::pages::Growing;
use inlay_types::{
    Batch, Bitmap, Buffer, Error, Heap, Interrupt, LogicalType, Native, Result, Vector, VectorKind, View,
};
use parking_lot::Mutex;

/// Number of a part, and the memory that its rows go to.
type Piece<'a, T> = (usize, &'a mut [T]);

/// Who copies, and what ends it.
#[derive(Clone, Copy)]
pub struct Crew<'a> {
    pub workers: &'a Workers,
    pub interrupt: &'a Interrupt,
}

impl Crew<'_> {
    /// Those that are worth it for so many rows.
    fn for_rows(&self, rows: usize) -> Workers {
        if rows < TASK_ROWS_MIN { self.workers.alone() } else { self.workers.clone() }
    }
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

/// The rows of `parts`, which are structs of a type, as one.
pub fn join_structs(ty: &LogicalType, parts: &[&StructRows], crew: Crew<'_>) -> Result<StructRows> {
    let LogicalType::Struct(fields) = ty else {
        return Err(Error::internal(format!("{ty} joined as structs")));
    };
    let len = parts.iter().map(|part| part.len).sum();
    let validity = parts.iter().any(|part| part.validity.is_some()).then(|| {
        let bits = |part: &&StructRows| {
            let validity = part.validity.clone();
            (0..part.len).map(move |row| validity.as_ref().is_none_or(|validity| validity.get(row)))
        };
        let mut all = parts.iter().flat_map(bits);
        Bitmap::from_fn(len, |_| all.next().unwrap_or(false))
    });
    let field = |(index, field): (usize, &Field)| {
        let (mut vectors, mut structs) = (Vec::new(), Vec::new());
        for part in parts {
            match part.fields.get(index) {
                Some(FieldRows::Vector(vector)) => vectors.push(vector),
                Some(FieldRows::Struct(rows)) => structs.push(rows),
                None => return Err(Error::internal(format!("a part without field {index} of {ty}"))),
            }
        }
        if structs.is_empty() {
            return join(field.ty.clone(), &vectors, crew).map(FieldRows::Vector);
        }
        join_structs(&field.ty, &structs, crew).map(FieldRows::Struct)
    };
    let fields = fields.iter().enumerate().map(field).collect::<Result<_>>()?;
    Ok(StructRows { len, validity, fields })
}

/// The rows of `parts` in a host's form, whose values have `width` bytes.
pub fn host(width: usize, form: HostForm, parts: &[&Vector], crew: Crew<'_>) -> Result<Buffer> {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let mut data = Growing::with_capacity(len * width);
    fill(data.extend(len * width), width, parts, crew, |_, part, target| host::write(part, form, target))?;
    Ok(data.finish())
}

/// A column that is complete.
pub enum Consumed {
    /// Values in a host's form, and which are NULL if any is. Midnights that do not fit are days.
    Values { form: HostForm, data: Buffer, nulls: Option<Buffer> },
    /// As it was.
    Vectors(Vec<Vector>),
}

/// Columns that grow by batches, each of which is dropped as soon as it is written.
pub struct Growth<'a> {
    types: &'a [LogicalType],
    targets: Vec<Target>,
    len: usize,
    /// Rows to come, as far as that is known.
    expected: usize,
}

/// What a column is written to.
enum Target {
    /// With `is_clock`, days are to become midnights.
    Values {
        form: HostForm,
        is_clock: bool,
        data: Growing,
        nulls: Option<Growing>,
    },
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

impl<'a> Growth<'a> {
    /// No rows of columns in the forms given for them. `expected`: how many will come; 0 if that is not known.
    pub fn new(types: &'a [LogicalType], forms: &[Option<HostForm>], expected: usize) -> Self {
        let target = |(ty, form): (&LogicalType, &Option<HostForm>)| match *form {
            Some(form) => {
                let data = Growing::with_capacity(expected * form.width(ty));
                // Whether all midnights fit is known in the end.
                let (form, is_clock) = match form {
                    HostForm::Midnights => (HostForm::Days, true),
                    form => (form, false),
                };
                Target::Values { form, is_clock, data, nulls: None }
            }
            None => Target::Vectors(Vec::new()),
        };
        Self { types, targets: types.iter().zip(forms).map(target).collect(), len: 0, expected }
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends the rows of some batches.
    pub fn push(&mut self, batches: Vec<Batch>, crew: Crew<'_>) -> Result<()> {
        let more: usize = batches.iter().map(Batch::len).sum();
        let mut rest: Vec<Option<Places<'_>>> = Vec::with_capacity(self.targets.len());
        for (index, target) in self.targets.iter_mut().enumerate() {
            let has_nulls = || batches.iter().any(|batch| batch.column(index).null_count() > 0);
            rest.push(match target {
                Target::Values { form, data, nulls, .. } => {
                    if nulls.is_none() && has_nulls() {
                        nulls.insert(Growing::with_capacity(self.expected)).extend(self.len);
                    }
                    let data = data.extend(more * form.width(&self.types[index]));
                    Some(Places { form: *form, data, nulls: nulls.as_mut().map(|nulls| nulls.extend(more)) })
                }
                Target::Vectors(_) => None,
            });
        }
        let mut shares = Vec::with_capacity(batches.len());
        for batch in batches {
            let mut places = Vec::with_capacity(rest.len());
            for (rest, ty) in rest.iter_mut().zip(self.types) {
                places.push(rest.as_mut().map(|rest| rest.split(ty, batch.len())));
            }
            shares.push(Mutex::new(Share { batch, places, kept: Vec::new() }));
        }
        let kept = written(shares, more, crew)?;
        drop(rest);
        self.len += more;
        let columns = self.targets.iter_mut().filter_map(|target| match target {
            Target::Vectors(vectors) => Some(vectors),
            Target::Values { .. } => None,
        });
        for (index, column) in columns.enumerate() {
            column.extend(kept.iter().map(|vectors| vectors[index].clone()));
        }
        Ok(())
    }

    /// The columns.
    pub fn finish(self) -> Vec<Consumed> {
        let column = |target| match target {
            Target::Values { form, is_clock, mut data, nulls } => {
                let are_midnights = is_clock && host::days_to_midnights(data.bytes_mut());
                let form = if are_midnights { HostForm::Midnights } else { form };
                Consumed::Values { form, data: data.finish(), nulls: nulls.map(Growing::finish) }
            }
            Target::Vectors(vectors) => Consumed::Vectors(vectors),
        };
        self.targets.into_iter().map(column).collect()
    }
}

/// Writes all shares, by all workers if they have many rows; gives what is left of each.
fn written(shares: Vec<Mutex<Share<'_>>>, rows: usize, crew: Crew<'_>) -> Result<Vec<Vec<Vector>>> {
    let Crew { workers, interrupt } = crew;
    let batches_per_task = shares.len().div_ceil(workers.count() * 16).max(1);
    let tasks = shares.len().div_ceil(batches_per_task);
    let write = |task: usize| {
        let end = ((task + 1) * batches_per_task).min(shares.len());
        shares[task * batches_per_task..end].iter().try_for_each(|share| {
            interrupt.check()?;
            share.lock().write();
            Ok(())
        })
    };
    crew.for_rows(rows).parallel(tasks, write)?;
    Ok(shares.into_iter().map(|share| share.into_inner().kept).collect())
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

/// Arrow struct arrays of these lengths with `width` columns each; `convert` makes a column of an array. All workers do if
/// there are many rows.
pub fn arrow_arrays(
    lens: &[usize],
    width: usize,
    crew: Crew<'_>,
    convert: impl Fn(usize, usize) -> Result<PreparedColumn> + Sync,
) -> Result<Vec<ArrowArray>> {
    let interrupt = crew.interrupt;
    let slots: Vec<Mutex<Option<PreparedColumn>>> =
        (0..lens.len() * width).map(|_| Mutex::default()).collect();
    let fill = |task: usize| {
        interrupt.check()?;
        *slots[task].lock() = Some(convert(task / width, task % width)?);
        Ok(())
    };
    crew.for_rows(lens.iter().sum()).parallel(slots.len(), fill)?;
    let mut columns = slots.into_iter().filter_map(Mutex::into_inner);
    let array = |&len: &usize| Exporter::assemble(columns.by_ref().take(width).collect(), len);
    Ok(lens.iter().map(array).collect())
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
    fill(data.make_mut::<View>(), 1, parts, crew, |index, part, target| {
        copy_part(part, target, |view| view.rebased(bases[index]));
    })?;
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
    let Crew { workers, interrupt } = crew;
    let len = target.len() / width;
    let tasks_wanted = (len / TASK_ROWS_MIN).clamp(1, workers.count() * 4);
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
    if tasks_wanted == 1 { (0..tasks.len()).try_for_each(run) } else { workers.parallel(tasks.len(), run) }
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
        let (workers, interrupt) = (Workers::new(2), Interrupt::new());
        let crew = Crew { workers: &workers, interrupt: &interrupt };
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
        let (workers, interrupt) = (Workers::new(2), Interrupt::new());
        let crew = Crew { workers: &workers, interrupt: &interrupt };
        let joined = join(LogicalType::Integer, &parts, crew).unwrap();
        assert_eq!(joined.null_count(), 100_000);
        assert!(joined.values::<i32>().chunks(3).all(|three| three == [7, i32::MIN, 9]));
        assert!((0..joined.len()).all(|i| joined.is_null(i) == (i % 3 == 1)));
    }

    #[test]
    fn columns_grow_by_batches_and_nulls_begin_anywhere() {
        let part = |values: &[Value]| {
            let numbers = Vector::from_sql_values(LogicalType::Integer, values).unwrap();
            Batch::new(vec![numbers.clone(), numbers], values.len())
        };
        let (some, gaps) =
            (part(&[Value::Integer(7), Value::Integer(8)]), part(&[Value::Null, Value::Integer(9)]));
        let (workers, interrupt) = (Workers::new(2), Interrupt::new());
        let crew = Crew { workers: &workers, interrupt: &interrupt };
        let types = [LogicalType::Integer, LogicalType::Integer];
        for expected in [0, 4, 140_004] {
            let mut growth = Growth::new(&types, &[Some(HostForm::Stored), None], expected);
            growth.push(vec![some.clone(); 70_000], crew).unwrap();
            growth.push(Vec::new(), crew).unwrap();
            growth.push(vec![gaps.clone(), some.clone()], crew).unwrap();
            assert_eq!(growth.len(), 140_004);
            let columns = growth.finish();
            let [Consumed::Values { data, nulls: Some(nulls), .. }, Consumed::Vectors(vectors)] =
                &columns[..]
            else {
                panic!("other columns")
            };
            assert_eq!(data.typed::<i32>()[139_998..], [7, 8, i32::MIN, 9, 7, 8]);
            assert_eq!(nulls.bytes().iter().position(|null| *null == 1), Some(140_000));
            assert_eq!(nulls.bytes().iter().filter(|null| **null == 1).count(), 1);
            assert_eq!((vectors.len(), nulls.size()), (70_002, 140_004));
        }
    }

    #[test]
    fn an_interrupt_ends_copying() {
        let part = Vector::from_values(LogicalType::Integer, &[1i32; 2048]);
        let parts: Vec<&Vector> = std::iter::repeat_n(&part, 100).collect();
        let (workers, interrupt) = (Workers::new(2), Interrupt::new());
        interrupt.set();
        let crew = Crew { workers: &workers, interrupt: &interrupt };
        assert!(join(LogicalType::Integer, &parts, crew).is_err());
        let mut growth = Growth::new(&[LogicalType::Integer], &[Some(HostForm::Stored)], 0);
        assert!(growth.push(vec![Batch::new(vec![part.clone()], 2048)], crew).is_err());
    }
}

//! Plain arrays made of columns: where the column has another form, its values are converted part by part.
//!
//! What is made is asked of the database's budget before, and an interrupt of the connection ends it. Called by [`plain`](crate::plain)
//! alone.

use crate::calendar::{inlay_date, inlay_time, inlay_timestamp};
use crate::column::{Pointers, Validity, validity_of};
use crate::kinds::{
    INLAY_TYPE_BIGINT, INLAY_TYPE_BLOB, INLAY_TYPE_BOOLEAN, INLAY_TYPE_DATE, INLAY_TYPE_DOUBLE,
    INLAY_TYPE_INTEGER, INLAY_TYPE_REAL, INLAY_TYPE_SMALLINT, INLAY_TYPE_TIME, INLAY_TYPE_TIMESTAMP,
    INLAY_TYPE_TINYINT, INLAY_TYPE_VARCHAR, inlay_bytes, inlay_type_id,
};
use crate::memory::Held;
use inlay::types::{Batch, LogicalType, Native, Vector};
use inlay::{Chunk, Error, HostForm, Limits, QueryResult, Result, Value, cast, with_limits};
use std::any::Any;

/// A column in such a form, and what keeps its memory.
pub struct Plain {
    /// The address of the first value.
    data: usize,
    count: usize,
    validity: Option<Validity>,
    _owner: Box<dyn Any + Send + Sync>,
}

impl Plain {
    fn new<T>(data: *const T, count: usize, owner: impl Any + Send + Sync) -> Self {
        Self { data: data.expose_provenance(), count, validity: None, _owner: Box::new(owner) }
    }

    fn of_vec<T: Send + Sync + 'static>(values: Vec<T>, held: Held) -> Result<Self> {
        Ok(Self::new(values.as_ptr(), values.len(), (values, held.finish()?)))
    }

    /// The values.
    pub fn data<T>(&self) -> *const T {
        std::ptr::with_exposed_provenance(self.data)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Which of them are there; NULL if all are.
    pub fn validity(&self) -> *const u64 {
        Validity::words(self.validity.as_ref())
    }
}

/// A column on its way into a form.
struct Source<'a> {
    rows: QueryResult,
    column: usize,
    limits: &'a Limits,
}

/// The column in a form.
pub fn made(rows: &QueryResult, column: usize, form: inlay_type_id, limits: &Limits) -> Result<Plain> {
    let rows = rows.clone().interrupted_by(limits.interrupt.clone());
    let validity = validity_of(&rows, column, limits)?;
    let source = Source { rows, column, limits };
    let plain = match form {
        INLAY_TYPE_BOOLEAN => source.booleans(),
        INLAY_TYPE_TINYINT => source.numbers::<i8>(LogicalType::TinyInt),
        INLAY_TYPE_SMALLINT => source.numbers::<i16>(LogicalType::SmallInt),
        INLAY_TYPE_INTEGER => source.numbers::<i32>(LogicalType::Integer),
        INLAY_TYPE_BIGINT => source.numbers::<i64>(LogicalType::BigInt),
        INLAY_TYPE_REAL => source.numbers::<f32>(LogicalType::Real),
        INLAY_TYPE_DOUBLE => match HostForm::Float64.fits(source.ty()) {
            true => source.host(HostForm::Float64),
            false => source.numbers::<f64>(LogicalType::Double),
        },
        INLAY_TYPE_VARCHAR => source.texts(),
        INLAY_TYPE_BLOB => source.blobs(),
        INLAY_TYPE_DATE | INLAY_TYPE_TIME | INLAY_TYPE_TIMESTAMP => source.moments(form),
        other => Err(Error::internal(format!("there is no plain form {other}"))),
    };
    plain.map(|plain| Plain { validity, ..plain })
}

impl Source<'_> {
    fn ty(&self) -> &LogicalType {
        &self.rows.types()[self.column]
    }

    /// As the engine writes it for hosts: that of a table is mapped, where it can be, and takes no memory.
    fn host(&self, form: HostForm) -> Result<Plain> {
        let count = self.rows.row_count();
        let size = if self.rows.is_table() { 0 } else { count * form.width(self.ty()) };
        let held = Held::new(self.limits, size)?;
        let data = self.rows.host_column(self.column, form)?;
        Ok(Plain::new(data.as_ptr(), count, (data, held.finish()?)))
    }

    /// Gives the parts of the column as vectors of a type, flat and with what stands for NULL in its places.
    fn each_part(&self, ty: &LogicalType, mut work: impl FnMut(&Vector) -> Result<()>) -> Result<()> {
        for batch in self.rows.project(&[self.column]).batches() {
            self.limits.interrupt.check()?;
            let batch = batch?;
            let values = batch.column(0);
            let mut values = if values.ty() == ty {
                values.flatten()
            } else {
                let mut converted = Vector::empty(ty.clone());
                with_limits(self.limits.clone(), || cast(values, ty, false, &mut converted))?;
                converted.flatten()
            };
            values.normalize_nulls();
            work(&values)?;
        }
        Ok(())
    }

    /// An array of what `add` adds of each part.
    fn array<T: Send + Sync + 'static>(
        &self,
        ty: &LogicalType,
        mut add: impl FnMut(&Vector, &mut Vec<T>),
    ) -> Result<Plain> {
        let count = self.rows.row_count();
        let held = Held::new(self.limits, count * size_of::<T>())?;
        let mut array = Vec::with_capacity(count);
        self.each_part(ty, |part| {
            add(part, &mut array);
            Ok(())
        })?;
        Plain::of_vec(array, held)
    }

    fn numbers<T: Native>(&self, ty: LogicalType) -> Result<Plain> {
        if *self.ty() == ty {
            return self.host(HostForm::Stored);
        }
        self.array(&ty, |part, array| array.extend_from_slice(part.values::<T>()))
    }

    fn booleans(&self) -> Result<Plain> {
        self.array(&LogicalType::Boolean, |part, array| {
            let bytes = part.values::<u8>();
            let value = |row| if part.is_null(row) { i8::MIN } else { i8::from(bytes[row] != 0) };
            array.extend((0..part.len()).map(value));
        })
    }

    /// Texts that end with NUL, those of a part one behind the other, and where each begins.
    fn texts(&self) -> Result<Plain> {
        let count = self.rows.row_count();
        let mut held = Held::new(self.limits, count * size_of::<usize>())?;
        let (mut places, mut blocks) = (Vec::<usize>::with_capacity(count), Vec::new());
        self.each_part(&LogicalType::Varchar, |texts| {
            let size = texts.text_size() + texts.len();
            held.add(size)?;
            let (views, heap, first) = (texts.views(), texts.heap().buffers(), places.len());
            let mut bytes: Vec<u8> = Vec::with_capacity(size);
            for (row, view) in views.iter().enumerate().take(texts.len()) {
                if texts.is_null(row) {
                    places.push(0);
                    continue;
                }
                places.push(bytes.len() + 1);
                bytes.extend_from_slice(view.bytes(heap));
                bytes.push(0);
            }
            // Where they begin is known when they lie where they stay.
            let block = bytes.into_boxed_slice();
            let start = block.as_ptr().expose_provenance();
            places[first..].iter_mut().filter(|place| **place > 0).for_each(|place| *place += start - 1);
            blocks.push(block);
            Ok(())
        })?;
        let data = places.as_ptr();
        Ok(Plain::new(data, places.len(), (places, blocks, held.finish()?)))
    }

    fn blobs(&self) -> Result<Plain> {
        let ty = self.ty();
        if !matches!(ty, LogicalType::Blob | LogicalType::Varchar | LogicalType::Json) {
            return Err(Error::type_mismatch(format!("a column of {ty} is no column of bytes")));
        }
        let count = self.rows.row_count();
        let mut held = Held::new(self.limits, count * size_of::<inlay_bytes>())?;
        let (mut places, mut chunks) = (Pointers(Vec::<inlay_bytes>::with_capacity(count)), Vec::new());
        self.each_part(ty, |part| {
            // Bytes of rows that are there are shared with them.
            held.add(if self.rows.is_table() { part.text_size() } else { 0 })?;
            let chunk = Chunk::new(&Batch::new(vec![part.clone()], part.len()));
            let column = chunk.column(0)?;
            places.0.extend((0..part.len()).map(|row| inlay_bytes::of(column.bytes(row))));
            chunks.push(chunk);
            Ok(())
        })?;
        let data = places.0.as_ptr();
        Ok(Plain::new(data, places.0.len(), (places, chunks, held.finish()?)))
    }

    fn moments(&self, form: inlay_type_id) -> Result<Plain> {
        let ty = self.ty();
        let (is_date, is_moment) = (*ty == LogicalType::Date, ty.is_timestamp());
        let is_time = matches!(ty, LogicalType::Time | LogicalType::TimeTz);
        let fits = match form {
            INLAY_TYPE_TIME => is_time || is_moment,
            _ => is_date || is_moment,
        };
        if !fits {
            return Err(Error::type_mismatch(format!("a column of {ty} has no such days or times")));
        }
        match form {
            INLAY_TYPE_DATE => self.values(|value| match value {
                Value::Null => inlay_date::NULL,
                value => inlay_timestamp::of_value(&value).date,
            }),
            INLAY_TYPE_TIME => self.values(|value| value.clock().map_or(inlay_time::NULL, inlay_time::from)),
            _ => self.values(|value| match value {
                Value::Null => inlay_timestamp::NULL,
                value => inlay_timestamp::of_value(&value),
            }),
        }
    }

    fn values<T: Send + Sync + 'static>(&self, of: impl Fn(Value) -> T) -> Result<Plain> {
        self.array(self.ty(), |part, array| array.extend((0..part.len()).map(|row| of(part.get(row)))))
    }
}

//! Values of several columns by turns: what UNNEST makes of lists whose elements are expressions, without the lists.

use inlay_types::{Bitmap, Buffer, Heap, LogicalType, Native, Vector, View};

/// Columns of one type that are picked from, one row of one of them at a time.
pub(super) struct Interleaved {
    ty: LogicalType,
    columns: Vec<Vector>,
    /// Of all columns, one behind the other, and where those of each begin.
    heap: Heap,
    bases: Vec<u32>,
    has_nulls: bool,
}

impl Interleaved {
    /// Columns of type `ty`, of any kind.
    pub(super) fn new(ty: &LogicalType, columns: &[Vector]) -> Self {
        let columns: Vec<Vector> = columns.iter().map(Vector::flatten).collect();
        let (mut buffers, mut bases): (Vec<Buffer>, Vec<u32>) = (Vec::new(), Vec::new());
        for column in &columns {
            bases.push(buffers.len() as u32);
            buffers.extend_from_slice(column.heap().buffers());
        }
        let has_nulls = columns.iter().any(|column| column.validity().is_some());
        Self { ty: ty.clone(), columns, heap: Heap::new(buffers), bases, has_nulls }
    }

    /// How many columns there are.
    pub(super) fn count(&self) -> usize {
        self.columns.len()
    }

    /// One of them.
    pub(super) fn column(&self, number: usize) -> &Vector {
        &self.columns[number]
    }

    /// Row `rows[i]` of column `numbers[i]`; NULL where there is no such column.
    pub(super) fn pick(&self, rows: &[u32], numbers: &[u32]) -> Vector {
        let data = match self.ty.physical().size() {
            1 => self.values::<u8>(rows, numbers),
            2 => self.values::<u16>(rows, numbers),
            4 => self.values::<u32>(rows, numbers),
            8 => self.values::<u64>(rows, numbers),
            _ if self.ty.is_view() => self.views(rows, numbers),
            _ => self.values::<View>(rows, numbers),
        };
        let heap = if self.ty.is_view() { self.heap.clone() } else { Heap::default() };
        let is_within = |number: u32| (number as usize) < self.columns.len();
        let has_nulls = self.has_nulls || !numbers.iter().all(|&number| is_within(number));
        let validity = has_nulls.then(|| {
            Bitmap::from_fn(rows.len(), |at| {
                is_within(numbers[at]) && !self.columns[numbers[at] as usize].is_null(rows[at] as usize)
            })
        });
        let mut picked = Vector::flat(self.ty.clone(), rows.len(), data, validity, heap);
        if has_nulls {
            picked.normalize_nulls();
        }
        picked
    }

    fn values<T: Native>(&self, rows: &[u32], numbers: &[u32]) -> Buffer {
        let columns: Vec<&[T]> = self.columns.iter().map(|column| column.values::<T>()).collect();
        let value = |(&row, &number): (&u32, &u32)| match columns.get(number as usize) {
            Some(column) => column[row as usize],
            None => T::default(),
        };
        Buffer::from_vec(rows.iter().zip(numbers).map(value).collect())
    }

    fn views(&self, rows: &[u32], numbers: &[u32]) -> Buffer {
        let columns: Vec<&[View]> = self.columns.iter().map(Vector::views).collect();
        let view = |(&row, &number): (&u32, &u32)| match columns.get(number as usize) {
            Some(column) => column[row as usize].rebased(self.bases[number as usize]),
            None => View::EMPTY,
        };
        Buffer::from_vec(rows.iter().zip(numbers).map(view).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::Value;

    #[test]
    fn values_come_from_the_column_that_is_said() {
        let texts = |words: &[&str]| {
            let values: Vec<Value> = words
                .iter()
                .map(|w| if w.is_empty() { Value::Null } else { Value::Varchar((*w).into()) })
                .collect();
            Vector::from_sql_values(LogicalType::Varchar, &values).unwrap()
        };
        let columns = [
            texts(&["a", "longer than a view holds", "c"]),
            texts(&["", "e", "another long one that lies in a heap"]),
            Vector::constant(LogicalType::Varchar, &Value::Varchar("same".into()), 3).unwrap(),
        ];
        let made = Interleaved::new(&LogicalType::Varchar, &columns);
        assert_eq!(made.count(), 3);
        let (rows, numbers) = ([0, 0, 1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 1, 0, 2, 3]);
        let picked = made.pick(&rows, &numbers);
        for (at, (&row, &number)) in rows.iter().zip(&numbers).enumerate() {
            let expected =
                columns.get(number as usize).map_or(Value::Null, |column| column.get(row as usize));
            assert_eq!(picked.get(at), expected, "row {at}");
        }
        let numbers = [
            Vector::from_values(LogicalType::Integer, &[1, 2]),
            Vector::from_values(LogicalType::Integer, &[3, 4]),
        ];
        let picked = Interleaved::new(&LogicalType::Integer, &numbers).pick(&[0, 0, 1, 1], &[0, 1, 0, 1]);
        assert_eq!(picked.values::<i32>(), [1, 3, 2, 4]);
    }
}

//! One row as values: what a lookup by key gives. Most of those who ask for one row read its values and never see a column, so that
//! vectors, which cost several allocations each, are made when somebody asks for one.

use inlay_types::{Batch, LogicalType, Result, Value, Vector};
use std::sync::{Arc, OnceLock};

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct OneRow {
    types: Arc<[LogicalType]>,
    /// Each NULL or of its column's type.
    values: Box<[Value]>,
    batch: OnceLock<Batch>,
}

impl OneRow {
    /// A row of columns of these types.
    pub fn new(types: Arc<[LogicalType]>, values: Box<[Value]>) -> Self {
        Self { types, values, batch: OnceLock::new() }
    }

    /// Its values.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The row as a batch.
    pub fn batch(&self) -> Result<&Batch> {
        if let Some(made) = self.batch.get() {
            return Ok(made);
        }
        let column =
            |(ty, value)| Vector::from_sql_values(LogicalType::clone(ty), std::slice::from_ref(value));
        let columns = self.types.iter().zip(&self.values).map(column).collect::<Result<_>>()?;
        Ok(self.batch.get_or_init(|| Batch::new(columns, 1)))
    }

    /// Some of its columns.
    pub fn project(&self, columns: &[usize]) -> Self {
        let types = columns.iter().map(|&column| self.types[column].clone()).collect();
        Self::new(types, columns.iter().map(|&column| self.values[column].clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_the_batch_that_its_values_make() {
        let types: Arc<[LogicalType]> = Arc::from([LogicalType::BigInt, LogicalType::Varchar]);
        let row = OneRow::new(types, vec![Value::BigInt(7), Value::Null].into());
        let batch = row.batch().unwrap();
        assert_eq!((batch.len(), batch.column(0).get(0)), (1, Value::BigInt(7)));
        assert_eq!(
            (batch.column(1).get(0), batch.column(1).logical_type()),
            (Value::Null, LogicalType::Varchar)
        );
        assert_eq!(row.project(&[1, 0]).values(), [Value::Null, Value::BigInt(7)]);
    }
}

//! A `pyarrow.dataset.Dataset` as a table: only the columns that a query reads are read.

use crate::arrow;
use inlay::types::Error;
use inlay::{ArrowTable, TableSource};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt;
use std::sync::Arc;

/// The dataset, and its columns.
pub struct Dataset {
    name: String,
    /// A `Dataset`, or a `Scanner`, which gives its columns whatever is asked for.
    object: Py<PyAny>,
    schema: ArrowTable,
}

impl Dataset {
    /// A table of the rows that the dataset has whenever it is scanned.
    pub fn new(py: Python<'_>, name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let schema = if object.hasattr("dataset_schema")? { "projected_schema" } else { "schema" };
        let empty = object.getattr(schema)?.call_method0("empty_table")?;
        let stream = arrow::import(py, &empty)?;
        let schema = crate::errors::unwrapped(py, ArrowTable::from_stream(name, stream))?;
        Ok(Self { name: name.to_string(), object: object.clone().unbind(), schema })
    }

    /// The rows, and the columns that they have of those wanted.
    fn read(&self, wanted: &[usize]) -> PyResult<inlay::Result<(ArrowTable, Vec<usize>)>> {
        Python::attach(|py| {
            let object = self.object.bind(py);
            let (scanner, columns) = if object.hasattr("scanner")? {
                // A scan without columns would have no rows either.
                let wanted = if wanted.is_empty() { &[0] } else { wanted };
                let names: Vec<&str> =
                    wanted.iter().map(|&index| self.columns()[index].name.as_str()).collect();
                let options = PyDict::new(py);
                options.set_item("columns", names)?;
                (object.call_method("scanner", (), Some(&options))?, (0..wanted.len()).collect())
            } else {
                (object.clone(), wanted.to_vec())
            };
            let stream = arrow::import(py, &scanner.call_method0("to_reader")?)?;
            Ok(py.detach(|| Ok((ArrowTable::from_stream(self.name.as_str(), stream)?, columns))))
        })
    }
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dataset({})", self.name)
    }
}

impl TableSource for Dataset {
    fn description(&self) -> String {
        self.name.clone()
    }

    fn columns(&self) -> &[inlay::SourceColumn] {
        self.schema.columns()
    }

    fn row_count_estimate(&self) -> Option<u64> {
        None
    }

    fn scan(&self, request: inlay::ScanRequest) -> inlay::Result<Box<dyn inlay::SourceScan>> {
        let read = self.read(&request.columns);
        let (table, mut columns) =
            read.map_err(|error| Error::invalid_argument(format!("cannot read the dataset: {error}")))??;
        if request.columns.is_empty() {
            columns.clear();
        }
        let table: Arc<dyn TableSource> = Arc::new(table);
        table.scan(inlay::ScanRequest { columns, filters: Vec::new(), ..request })
    }
}

//! What a table looks like: columns, constraints, defaults.

use inlay_types::LogicalType;

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSchema {
    /// Name as created.
    pub name: String,
    /// Type.
    pub ty: LogicalType,
    /// NOT NULL, also set for columns of the primary key.
    pub not_null: bool,
    /// PRIMARY KEY or UNIQUE of this column alone.
    pub unique: bool,
    /// SQL text of the DEFAULT expression.
    pub default: Option<String>,
}

impl ColumnSchema {
    /// A nullable column without constraints.
    pub fn new(name: impl Into<String>, ty: LogicalType) -> Self {
        Self { name: name.into(), ty, not_null: false, unique: false, default: None }
    }
}

/// Columns and constraints of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSchema {
    /// Name as created.
    pub name: String,
    /// Columns in order.
    pub columns: Vec<ColumnSchema>,
    /// Column positions of each PRIMARY KEY and UNIQUE constraint.
    pub keys: Vec<Vec<usize>>,
}

impl TableSchema {
    /// A table without keys.
    pub fn new(name: impl Into<String>, columns: Vec<ColumnSchema>) -> Self {
        Self { name: name.into(), columns, keys: Vec::new() }
    }

    /// Every key to be enforced: the declared ones and those of columns marked unique, each once.
    pub fn all_keys(&self) -> Vec<Vec<usize>> {
        let mut keys = self.keys.clone();
        for (index, column) in self.columns.iter().enumerate() {
            if column.unique && !keys.iter().any(|key| key == &[index]) {
                keys.push(vec![index]);
            }
        }
        keys
    }

    /// Whether column `index` alone is a key.
    pub fn is_unique(&self, index: usize) -> bool {
        self.columns[index].unique || self.keys.iter().any(|key| key == &[index])
    }
}

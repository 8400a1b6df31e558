//! Result columns with one value, or one list of values, per group.

use inlay_types::nested::pack_lists;
use inlay_types::{Bitmap, Error, LogicalType, Result, Vector, VectorBuilder};

/// Whether results are lists.
pub(super) fn is_list(ty: &LogicalType) -> bool {
    matches!(ty, LogicalType::List(_))
}

/// Where the lists of rows end among the values, and which rows are not NULL.
struct Lists {
    ty: LogicalType,
    offsets: Vec<usize>,
    valid: Vec<bool>,
}

/// Builds a result column. Each row is `push_null`, or values pushed into `child` and then `end_row`: exactly one value
/// unless the result is a list.
pub(super) struct Results {
    child: VectorBuilder,
    lists: Option<Lists>,
}

impl Results {
    /// No rows.
    pub(super) fn new(ty: &LogicalType, capacity: usize) -> Self {
        match ty {
            LogicalType::List(element) => {
                let lists = Lists { ty: ty.clone(), offsets: vec![0], valid: Vec::with_capacity(capacity) };
                Self { child: VectorBuilder::new((**element).clone(), capacity), lists: Some(lists) }
            }
            ty => Self::single(ty, capacity),
        }
    }

    /// No rows, of which each has one value; that may be a list itself.
    pub(super) fn single(ty: &LogicalType, capacity: usize) -> Self {
        Self { child: VectorBuilder::new(ty.clone(), capacity), lists: None }
    }

    /// The values of all rows.
    pub(super) fn child(&mut self) -> &mut VectorBuilder {
        &mut self.child
    }

    /// A row that is NULL.
    pub(super) fn push_null(&mut self) {
        match &mut self.lists {
            None => self.child.push_null(),
            Some(lists) => {
                lists.offsets.push(self.child.len());
                lists.valid.push(false);
            }
        }
    }

    /// The values pushed since the last row are a row.
    pub(super) fn end_row(&mut self) {
        if let Some(lists) = &mut self.lists {
            lists.offsets.push(self.child.len());
            lists.valid.push(true);
        }
    }

    /// The column of all rows.
    pub(super) fn finish(self) -> Result<Vector> {
        let child = self.child.finish();
        match self.lists {
            None => Ok(child),
            Some(lists) => {
                let valid = &lists.valid;
                let validity = valid.contains(&false).then(|| Bitmap::from_fn(valid.len(), |row| valid[row]));
                pack_lists(&lists.ty, &child, &offsets(&lists.offsets)?, validity.as_ref())
            }
        }
    }
}

/// Offsets in 32 bits.
pub(super) fn offsets(offsets: &[usize]) -> Result<Vec<u32>> {
    let narrow = |&offset: &usize| u32::try_from(offset);
    let narrowed: std::result::Result<Vec<u32>, _> = offsets.iter().map(narrow).collect();
    narrowed.map_err(|_| Error::out_of_range("lists of more than 4 billion values in one batch of results"))
}

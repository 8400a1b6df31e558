//! Lists, arrays, structs, maps and unions: one value is one packed string of bytes.
//!
//! A vector of a nested type is carried as views with a heap exactly like a BLOB, so whatever moves, hashes, stores or
//! spills strings does so with nested values. The packing is canonical: equal values have equal bytes.
//!
//! ```text
//! sequence   [ count u32, top bit: has NULLs | validity, 1 bit each, if it has NULLs | elements ]
//!   elements of fixed width: back to back; others: [ end u32 of each | their bytes ]
//! LIST, ARRAY   a sequence
//! MAP           [ size of the keys u32 | sequence of keys | sequence of values ]
//! STRUCT        [ validity, 1 bit each | fields of fixed width in order | end u32 of each other field | their bytes ]
//! UNION         [ tag u8 | 1 if not NULL, else 0 | the value ]
//! ```
//! Invariants
//! - NULL slots are zero or empty, bits behind the last one are clear, -0.0 is stored as 0.0 and every NaN alike.
//! - Readers trust nothing: bytes of any pattern give some values and never a panic. A file's are looked at once, when they are
//!   read ([`is_packed`]), so that such values are shown to nobody.
//! - Types are at most [`crate::logical_type::MAX_NESTING`] deep, so recursion over a type is bounded.
//!
//! [`pack`] makes vectors of nested values from vectors of their parts, [`unpack`] the reverse without copying strings,
//! [`read`] and [`write`] deal with single values, [`compare`] orders them, [`text`] shows them.

mod check;
mod columns;
pub mod compare;
mod count;
mod fixed;
pub mod pack;
pub mod read;
pub mod text;
pub mod unpack;
pub mod write;

pub use check::is_packed;
pub use compare::compare;
pub use count::Contents;
pub use fixed::{find_fixed, lengths, plain_run};
pub use pack::{Parts, pack_elements, pack_lists, pack_maps, pack_struct, pack_unions};
pub use read::Sequence;
pub use unpack::{
    extract_elements, extract_field, unpack_lists, unpack_maps, unpack_rows, unpack_struct, unpack_unions,
};

use crate::{Bitmap, LogicalType, PhysicalType, Vector};

/// The bit of a sequence's header that says that it has a validity.
const HAS_NULLS: u32 = 1 << 31;

/// Rows of structs, field by field: as storage has them, before they are packed.
#[derive(Clone, Debug)]
pub struct StructRows {
    /// Number of rows.
    pub len: usize,
    /// Which are not NULL; absent if none is. Where one is, its fields are.
    pub validity: Option<Bitmap>,
    /// The rows of each field.
    pub fields: Vec<FieldRows>,
}

/// Rows of a field.
#[derive(Clone, Debug)]
pub enum FieldRows {
    /// Of any type but structs.
    Vector(Vector),
    /// Of structs.
    Struct(StructRows),
}

/// Bytes of each value in packed form; `None` for types carried as views.
#[inline]
pub fn fixed_width(ty: &LogicalType) -> Option<usize> {
    match ty.physical() {
        PhysicalType::View => None,
        other => Some(other.size()),
    }
}

#[cfg(test)]
pub(crate) mod tests;

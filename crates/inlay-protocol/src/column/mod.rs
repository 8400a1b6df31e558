//! A column of a chunk: a header of 16 bytes, a null mask where NULLs occur, and values in one of eleven encodings.
//!
//! ```text
//! [ size u32 | encoding u8 | flags u8 | bits u8 | 0 | count u32 | extra u32 ] [ mask, whole words ] [ values ]
//! ```
//! Each part begins at a multiple of 16 bytes of the body, so that values can be read where they lie. `size` is what follows
//! the header: whoever does not want the column jumps over it. Sizes and meanings are in `docs/protocol.md`.

mod decode;
mod encode;
mod integers;
mod texts;

pub use decode::{Body, decode};
pub use encode::encode;
pub(crate) use encode::row_width;

use crate::{Result, WireError};

/// Bytes of a column's header; also what parts are aligned to.
pub const HEADER: usize = 16;

/// How much the sender does for fewer bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// What costs no more than sending: numbers in fewer whole bytes, what is folded already as it is. For links that are as fast as
    /// memory.
    Fast,
    /// The fewest bytes: numbers in as few bits as there may be, NULLs left out, texts looked through for repetitions.
    Small,
}

/// The column has a null mask: a set bit is a value.
pub(crate) const HAS_MASK: u8 = 1;
/// Values of NULL rows are left out.
pub(crate) const DENSE: u8 = 2;

/// How values lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoding {
    /// All rows are NULL; nothing follows.
    Nulls = 0,
    /// A column of one row, which all rows are.
    Constant = 1,
    /// Values of the type's width.
    Plain = 2,
    /// A least value in 16 bytes, then what each value is above it.
    Frame = 3,
    /// Lengths in 1, 2 or 4 bytes, then all bytes.
    Lengths = 4,
    /// `count + 1` ends in 4 bytes each, the first 0, then all bytes.
    Offsets = 5,
    /// A column of distinct values, then a code for each row.
    Dictionary = 6,
    /// `count + 1` ends in 4 bytes each, then a column of the elements.
    List = 7,
    /// The same with a column of keys and one of values.
    Map = 8,
    /// A column for each field.
    Struct = 9,
    /// A byte for each row that says which member it is, then a column for each member.
    Union = 10,
}

impl Encoding {
    fn of(number: u8) -> Result<Self> {
        Ok(match number {
            0 => Self::Nulls,
            1 => Self::Constant,
            2 => Self::Plain,
            3 => Self::Frame,
            4 => Self::Lengths,
            5 => Self::Offsets,
            6 => Self::Dictionary,
            7 => Self::List,
            8 => Self::Map,
            9 => Self::Struct,
            10 => Self::Union,
            11.. => {
                return Err(WireError::malformed(format!(
                    "encoding {number}, which version 1 does not have"
                )));
            }
        })
    }

    /// Whether it stands for more rows than it has bytes: not inside of lists, and not inside of another that does.
    fn folds(self) -> bool {
        match self {
            Self::Nulls | Self::Constant | Self::Dictionary => true,
            Self::Plain | Self::Frame | Self::Lengths | Self::Offsets => false,
            Self::List | Self::Map | Self::Struct | Self::Union => false,
        }
    }
}

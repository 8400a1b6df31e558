//! What data is, as hosts use it: types, values, vectors and batches, the calendar, Arrow's C interface. Each name here is one that
//! a binding needs; what else the engine has is its own.

pub use inlay_types::apart::{Clock, Day, Decimal, Moment};
pub use inlay_types::logical_type::MAX_NESTING;
pub use inlay_types::{
    Batch, Bitmap, Buffer, Dictionary, EnumType, Error, Field, Heap, Interrupt, Interval, LogicalType,
    MemoryBudget, Native, PhysicalType, Reservation, Result, TimeTz, VECTOR_SIZE, Value, Vector,
    VectorBuilder, VectorKind, View,
};

/// Arrow's C data and stream interfaces, in and out.
pub mod arrow {
    pub use inlay_types::arrow::export::{array_of, schema_of};
    pub use inlay_types::arrow::{
        ArrowArray, ArrowArrayStream, ArrowField, ArrowRecords, ArrowSchema, Exporter, StreamReader,
        StringLayout, stream,
    };

    /// The structs as they are laid down.
    pub mod ffi {
        pub use inlay_types::arrow::ffi::FLAG_NULLABLE;
    }

    /// Arrays and schemas of our own making.
    pub mod export {
        pub use inlay_types::arrow::export::{array_of, schema_of};
    }
}

/// How the program's allocator is told what the engine does.
pub mod allocator {
    pub use inlay_types::allocator::{Allocator, install};
}

/// Days and moments as numbers.
pub mod datetime {
    pub use inlay_types::datetime::{
        DATE_INFINITY, MICROS_PER_DAY, MICROS_PER_SECOND, TIMESTAMP_INFINITY, civil_from_days,
        days_from_civil, is_date, is_finite_date, is_finite_timestamp, is_timestamp, write_timestamp_tz,
    };
}

/// Errors, and what a host raised behind them.
pub mod error {
    pub use inlay_types::error::{Cause, Error, ErrorKind, Place, Result};
}

/// Numbers that a host has only the nearest of.
pub mod nearest {
    pub use inlay_types::nearest::nearest_f64;
}

/// Nested values put together and taken apart.
pub mod nested {
    pub use inlay_types::nested::{pack_lists, pack_struct, unpack_lists, unpack_struct};
}

/// Which process this is.
pub mod process {
    pub use inlay_types::process::process_id;
}

/// Single values as text.
pub mod value {
    pub use inlay_types::value::write_decimal;
}

/// Texts in vectors.
pub mod view {
    pub use inlay_types::view::HeapBuilder;
}

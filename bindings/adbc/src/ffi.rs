//! The structs and numbers of `adbc.h` 1.1.0.

use inlay::types::arrow::{ArrowArray, ArrowArrayStream, ArrowSchema};
use std::ffi::{c_char, c_int, c_void};

/// One of [`status`].
pub type AdbcStatusCode = u8;

/// What may be answered.
pub mod status {
    use super::AdbcStatusCode;

    pub const OK: AdbcStatusCode = 0;
    pub const NOT_IMPLEMENTED: AdbcStatusCode = 2;
    pub const NOT_FOUND: AdbcStatusCode = 3;
    pub const ALREADY_EXISTS: AdbcStatusCode = 4;
    pub const INVALID_ARGUMENT: AdbcStatusCode = 5;
    pub const INVALID_STATE: AdbcStatusCode = 6;
    pub const INVALID_DATA: AdbcStatusCode = 7;
    pub const INTEGRITY: AdbcStatusCode = 8;
    pub const INTERNAL: AdbcStatusCode = 9;
    pub const IO: AdbcStatusCode = 10;
    pub const CANCELLED: AdbcStatusCode = 11;
    pub const TIMEOUT: AdbcStatusCode = 12;
    pub const UNAUTHENTICATED: AdbcStatusCode = 13;
    pub const UNAUTHORIZED: AdbcStatusCode = 14;
}

/// `version` of a driver manager that knows 1.0.0 only.
pub const VERSION_1_0_0: c_int = 1_000_000;
/// `version` of one that knows 1.1.0.
pub const VERSION_1_1_0: c_int = 1_001_000;

/// `vendor_code` of an error whose memory has the members of 1.1.0.
pub const VENDOR_CODE_PRIVATE_DATA: i32 = i32::MIN;

/// An error, in memory of the caller.
#[repr(C)]
pub struct AdbcError {
    pub(crate) message: *mut c_char,
    pub(crate) vendor_code: i32,
    pub(crate) sqlstate: [c_char; 5],
    pub(crate) release: Option<unsafe extern "C" fn(*mut AdbcError)>,
    /// From here on only if `vendor_code` says so.
    pub(crate) private_data: *mut c_void,
    pub(crate) private_driver: *mut c_void,
}

/// A database, connection or statement, in memory of the caller.
#[repr(C)]
pub struct Handle {
    /// Ours; NULL before New and after Release.
    pub private_data: *mut c_void,
    pub private_driver: *mut c_void,
}

/// A function of one argument and an error.
pub type Plain = unsafe extern "C" fn(*mut Handle, *mut AdbcError) -> AdbcStatusCode;
/// A function of two handles.
pub type Paired = unsafe extern "C" fn(*mut Handle, *mut Handle, *mut AdbcError) -> AdbcStatusCode;
/// SetOption.
pub type SetOption =
    unsafe extern "C" fn(*mut Handle, *const c_char, *const c_char, *mut AdbcError) -> AdbcStatusCode;
/// GetOption.
pub type GetOption = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *mut c_char,
    *mut usize,
    *mut AdbcError,
) -> AdbcStatusCode;
/// ConnectionGetInfo.
pub type GetInfo = unsafe extern "C" fn(
    *mut Handle,
    *const u32,
    usize,
    *mut ArrowArrayStream,
    *mut AdbcError,
) -> AdbcStatusCode;
/// ConnectionGetObjects.
pub type GetObjects = unsafe extern "C" fn(
    *mut Handle,
    c_int,
    *const c_char,
    *const c_char,
    *const c_char,
    *const *const c_char,
    *const c_char,
    *mut ArrowArrayStream,
    *mut AdbcError,
) -> AdbcStatusCode;
/// ConnectionGetTableSchema.
pub type GetTableSchema = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    *const c_char,
    *mut ArrowSchema,
    *mut AdbcError,
) -> AdbcStatusCode;
/// ConnectionGetStatistics.
pub type GetStatistics = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    *const c_char,
    c_char,
    *mut ArrowArrayStream,
    *mut AdbcError,
) -> AdbcStatusCode;
/// A function that gives or takes a stream.
pub type Streaming =
    unsafe extern "C" fn(*mut Handle, *mut ArrowArrayStream, *mut AdbcError) -> AdbcStatusCode;
/// StatementBind.
pub type Bind =
    unsafe extern "C" fn(*mut Handle, *mut ArrowArray, *mut ArrowSchema, *mut AdbcError) -> AdbcStatusCode;
/// StatementExecuteQuery.
pub type ExecuteQuery =
    unsafe extern "C" fn(*mut Handle, *mut ArrowArrayStream, *mut i64, *mut AdbcError) -> AdbcStatusCode;
/// A function that gives a schema.
pub type Schematic = unsafe extern "C" fn(*mut Handle, *mut ArrowSchema, *mut AdbcError) -> AdbcStatusCode;
/// StatementSetSqlQuery.
pub type SetText = unsafe extern "C" fn(*mut Handle, *const c_char, *mut AdbcError) -> AdbcStatusCode;

/// A function that this driver does not have; the driver manager answers for it.
pub type Absent = Option<unsafe extern "C" fn()>;

/// The table of functions, whose order is that of `adbc.h`.
#[repr(C)]
pub struct AdbcDriver {
    pub private_data: *mut c_void,
    pub private_manager: *mut c_void,
    pub release: Option<unsafe extern "C" fn(*mut AdbcDriver, *mut AdbcError) -> AdbcStatusCode>,

    pub database_init: Option<Plain>,
    pub database_new: Option<Plain>,
    pub database_set_option: Option<SetOption>,
    pub database_release: Option<Plain>,

    pub connection_commit: Option<Plain>,
    pub connection_get_info: Option<GetInfo>,
    pub connection_get_objects: Option<GetObjects>,
    pub connection_get_table_schema: Option<GetTableSchema>,
    pub connection_get_table_types: Option<Streaming>,
    pub connection_init: Option<Paired>,
    pub connection_new: Option<Plain>,
    pub connection_set_option: Option<SetOption>,
    pub connection_read_partition: Absent,
    pub connection_release: Option<Plain>,
    pub connection_rollback: Option<Plain>,

    pub statement_bind: Option<Bind>,
    pub statement_bind_stream: Option<Streaming>,
    pub statement_execute_query: Option<ExecuteQuery>,
    pub statement_execute_partitions: Absent,
    pub statement_get_parameter_schema: Option<Schematic>,
    pub statement_new: Option<Paired>,
    pub statement_prepare: Option<Plain>,
    pub statement_release: Option<Plain>,
    pub statement_set_option: Option<SetOption>,
    pub statement_set_sql_query: Option<SetText>,
    pub statement_set_substrait_plan: Absent,

    /// The first member that 1.0.0 does not have.
    pub error_get_detail_count: Absent,
    pub error_get_detail: Absent,
    pub error_from_array_stream: Absent,

    pub database_get_option: Option<GetOption>,
    pub database_get_option_bytes: Absent,
    pub database_get_option_double: Absent,
    pub database_get_option_int: Absent,
    pub database_set_option_bytes: Absent,
    pub database_set_option_double: Absent,
    pub database_set_option_int: Absent,

    pub connection_cancel: Option<Plain>,
    pub connection_get_option: Option<GetOption>,
    pub connection_get_option_bytes: Absent,
    pub connection_get_option_double: Absent,
    pub connection_get_option_int: Absent,
    pub connection_get_statistics: Option<GetStatistics>,
    pub connection_get_statistic_names: Option<Streaming>,
    pub connection_set_option_bytes: Absent,
    pub connection_set_option_double: Absent,
    pub connection_set_option_int: Absent,

    pub statement_cancel: Option<Plain>,
    pub statement_execute_schema: Option<Schematic>,
    pub statement_get_option: Option<GetOption>,
    pub statement_get_option_bytes: Absent,
    pub statement_get_option_double: Absent,
    pub statement_get_option_int: Absent,
    pub statement_set_option_bytes: Absent,
    pub statement_set_option_double: Absent,
    pub statement_set_option_int: Absent,
}

/// Bytes of the table that a driver manager of 1.0.0 has room for.
pub const DRIVER_1_0_0_SIZE: usize = std::mem::offset_of!(AdbcDriver, error_get_detail_count);

const _: () = assert!(DRIVER_1_0_0_SIZE == 29 * size_of::<*const c_void>());

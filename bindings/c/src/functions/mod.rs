//! Functions of the program's in SQL: it is given whole arrays, and writes whole arrays.
//!
//! - [`output`]: where values are written. [`scalar`], [`aggregate`], [`table`]: the three kinds. [`language`]: such functions by a text.
//!
//! A function may be called by several threads at once, each with a call and outputs of its own. What it says by inlay_call_fail is the
//! statement's error. It must not let an exception of C++ out, nor jump out.

pub mod aggregate;
pub mod language;
pub mod output;
pub mod scalar;
pub mod table;

use self::output::inlay_output;
use crate::connection::{self, inlay_connection};
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::kinds::inlay_array;
use crate::pointers::{Handle, Items, Out, Own, Text, null, put_if, text_at};
use inlay::external::{Callee, FunctionDefinition, FunctionKind, Granularity, Parameter};
use inlay::types::{Batch, LogicalType, Vector};
use inlay::{Chunk, Error, NullHandling, Result, Volatility, current_limits};
use std::ffi::{c_char, c_void};
use std::ptr;

/// What a function promises, and asks for: any of these added up.
pub type inlay_function_flags = u32;
/// It gives the same for the same arguments, and NULL for NULL: it is never shown a row with a NULL.
pub const INLAY_FUNCTION_DEFAULT: inlay_function_flags = 0;
/// It may give something else whenever it is called.
pub const INLAY_FUNCTION_VOLATILE: inlay_function_flags = 1;
/// It is shown rows with NULLs, too.
pub const INLAY_FUNCTION_SEES_NULLS: inlay_function_flags = 2;
/// Any number of arguments of any type follow those that are declared.
pub const INLAY_FUNCTION_VARIADIC: inlay_function_flags = 4;
/// A scalar function that must see all rows of the query's input at once.
pub const INLAY_FUNCTION_WHOLE_COLUMN: inlay_function_flags = 8;

const FLAGS: inlay_function_flags = INLAY_FUNCTION_VOLATILE
    | INLAY_FUNCTION_SEES_NULLS
    | INLAY_FUNCTION_VARIADIC
    | INLAY_FUNCTION_WHOLE_COLUMN;

/// Frees what a program gave with a function, when the function is not called any more.
pub type Destroy = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// What a program gives with a function, and how it is freed.
pub struct User {
    data: *mut c_void,
    destroy: Destroy,
}

// SAFETY: the program says that its data may be used by any thread: the header asks for it.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}

impl User {
    /// Data, and who frees them.
    pub fn new(data: *mut c_void, destroy: Destroy) -> Self {
        Self { data, destroy }
    }

    /// The data.
    pub fn data(&self) -> *mut c_void {
        self.data
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            // SAFETY: the program's function, called once with the data that came with it.
            unsafe { destroy(self.data) }
        }
    }
}

impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("User")
    }
}

/// A call of a function of the program's. It belongs to the library, and is there during the call.
pub struct inlay_call {
    user_data: *mut c_void,
    failure: Option<String>,
}

impl inlay_call {
    fn new(user: &User) -> Self {
        Self { user_data: user.data(), failure: None }
    }

    /// Fails if the function said so.
    fn finish(self, name: &str) -> Result<()> {
        self.failure.map_or(Ok(()), |message| Err(Error::external(format!("function \"{name}\": {message}"))))
    }
}

/// What was given to create_..._function as user_data.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_call_user_data(call: Handle<'_, inlay_call>) -> *mut c_void {
    call.map_or(ptr::null_mut(), |call| call.user_data)
}

/// The statement fails with this message, whatever else the function gives.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_call_fail(call: Own<'_, inlay_call>, message: Text<'_>) {
    plain((), || {
        let message = message.get("message").unwrap_or("it failed without a message");
        call?.failure = Some(message.to_string());
        Some(())
    });
}

/// Whether the statement was interrupted: a function that takes long looks now and then, and returns.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_call_is_interrupted(call: Handle<'_, inlay_call>) -> bool {
    plain(false, || {
        call?;
        Some(current_limits().is_some_and(|limits| limits.interrupt.check().is_err()))
    })
}

/// Arguments as arrays of C, and what they lie in.
struct Arguments {
    _prepared: Vec<crate::column::Prepared>,
    arrays: Vec<inlay_array>,
}

impl Arguments {
    fn new(args: &[Vector], len: usize) -> Result<Self> {
        let chunk = Chunk::new(&Batch::new(args.to_vec(), len));
        let prepared = (0..args.len())
            .map(|index| crate::column::of_chunk(&chunk, index))
            .collect::<Result<Vec<_>>>()?;
        let arrays = prepared.iter().map(|prepared| prepared.array).collect();
        Ok(Self { _prepared: prepared, arrays })
    }
}

/// What is declared of a function.
struct Declared<'a> {
    name: Text<'a>,
    argument_types: Items<'a, *const c_char>,
    argument_count: usize,
    flags: inlay_function_flags,
}

impl Declared<'_> {
    fn definition(&self, kind: FunctionKind, returns: LogicalType) -> Result<FunctionDefinition> {
        let name = self.name.get("name")?.to_string();
        if self.flags & !FLAGS != 0 {
            return Err(Error::invalid_argument(format!("there are no flags {:#x}", self.flags & !FLAGS)));
        }
        let has = |flag: inlay_function_flags| self.flags & flag != 0;
        let types = self.argument_types.get(self.argument_count, "argument_types")?;
        let parameter = |(index, &text): (usize, &*const c_char)| {
            Ok(Parameter::new(format!("a{}", index + 1), type_at(text, "a type of an argument")?))
        };
        Ok(FunctionDefinition {
            name,
            kind,
            language: "c".to_string(),
            parameters: types.iter().enumerate().map(parameter).collect::<Result<_>>()?,
            is_variadic: has(INLAY_FUNCTION_VARIADIC),
            returns,
            granularity: if has(INLAY_FUNCTION_WHOLE_COLUMN) {
                Granularity::Column
            } else {
                Granularity::Chunk
            },
            volatility: if has(INLAY_FUNCTION_VOLATILE) {
                Volatility::Volatile
            } else {
                Volatility::Immutable
            },
            null_handling: if has(INLAY_FUNCTION_SEES_NULLS) {
                NullHandling::Special
            } else {
                NullHandling::Propagate
            },
            options: Vec::new(),
            body: String::new(),
        })
    }
}

/// A type that a text names, of which C has arrays.
fn type_at(text: *const c_char, what: &str) -> Result<LogicalType> {
    type_of(text_at(text, what)?.ok_or_else(|| null(what))?)
}

/// As [`type_at`].
fn type_of(text: &str) -> Result<LogicalType> {
    plain_type(inlay::sql::type_of(text)?)
}

/// A type, if C has arrays of it.
fn plain_type(ty: LogicalType) -> Result<LogicalType> {
    let is_plain =
        !ty.is_nested() && !matches!(ty, LogicalType::Enum(_) | LogicalType::Bit | LogicalType::Null);
    if is_plain {
        return Ok(ty);
    }
    Err(Error::unsupported(format!("{ty} as an argument or value of a function in C"))
        .with_hint("VARCHAR or JSON can stand for it"))
}

/// Calls a function of the program's with rows, and takes the rows that it writes: `call` is given what C is.
fn called(
    (name, user): (&str, &User),
    (args, len): (&[Vector], usize),
    (returns, rows): (&LogicalType, usize),
    call: impl FnOnce(*mut inlay_call, &[inlay_array], *mut inlay_output),
) -> Result<Vector> {
    let arguments = Arguments::new(args, len)?;
    let mut output = inlay_output::new(returns, rows)?;
    let mut said = inlay_call::new(user);
    call(&raw mut said, &arguments.arrays, &raw mut output);
    said.finish(name)?;
    output.finish(rows)
}

/// Makes what was declared, whose values have a type.
fn declare(
    connection: Handle<'_, inlay_connection>,
    declared: &Declared<'_>,
    kind: FunctionKind,
    returns: &Text<'_>,
    callee: impl FnOnce(String, LogicalType) -> Callee,
) -> Result<()> {
    let returns = type_of(returns.get("returns")?)?;
    let definition = declared.definition(kind, returns.clone())?;
    let callee = callee(definition.name.clone(), returns);
    create(connection, definition, callee)
}

fn create(
    connection: Handle<'_, inlay_connection>,
    definition: FunctionDefinition,
    callee: Callee,
) -> Result<()> {
    connection::enter(connection)?.connection().database()?.create_function(definition, callee)
}

/// Forgets all functions of the program's of a name. found, which may be NULL, is set to whether there were some.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_remove_function(
    connection: Handle<'_, inlay_connection>,
    name: Text<'_>,
    found: Out<'_, bool>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let database = connection::enter(connection)?.connection().database()?;
        let were_there = database.remove_function(name.get("name")?);
        put_if(found, were_there)
    })
}

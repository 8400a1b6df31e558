//! Functions of the program's: scalars, aggregates and collations, called with values one row at a time.
//!
//! A function is one of the database's under a name that only this connection knows; statements are respelled to call it by that. What
//! it gives may be of any kind, so the engine knows it as a UNION of all. One call is made at a time.

use crate::connection::{Db, of, sqlite3};
use crate::failure::{ERROR, MISUSE, NOMEM, OK, Outcome, TOOBIG, export, failed};
use crate::pointers::{
    Destructor, Handle, Raw, User, behind_mut, bytes_of, destroy, release, slice_of, text_of, utf16_of,
};
use crate::value::{ANY, Cell, sqlite3_value, text_cell};
use inlay::external::{
    Callee, ExternalAggregate, ExternalFunction, ExternalStates, FunctionDefinition, FunctionKind,
    GroupedRows, Kept,
};
use inlay::types::{Vector, VectorBuilder};
use inlay::{Connection, Error, NullHandling, Result, Volatility};
use parking_lot::ReentrantMutex;
use std::collections::{HashMap, HashSet};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type Values = unsafe extern "C" fn(*mut sqlite3_context, c_int, *mut *mut sqlite3_value);
type Final = unsafe extern "C" fn(*mut sqlite3_context);
type Compare = unsafe extern "C" fn(*mut c_void, c_int, *const c_void, c_int, *const c_void) -> c_int;

/// A call of a function of the program's.
pub struct sqlite3_context {
    db: Raw,
    user: Raw,
    result: Cell,
    failure: Option<(c_int, String)>,
    /// What an aggregate keeps, and its size.
    kept: Vec<u64>,
    has_kept: bool,
    auxiliary: HashMap<c_int, (Raw, Destructor)>,
}

impl sqlite3_context {
    fn new(db: &Connected, user: &User) -> Self {
        Self {
            db: db.handle(),
            user: user.data,
            result: Cell::Null,
            failure: None,
            kept: Vec::new(),
            has_kept: false,
            auxiliary: HashMap::new(),
        }
    }

    fn take(&mut self) -> Result<Cell> {
        match self.failure.take() {
            Some((_, message)) => Err(Error::external(message)),
            None => Ok(std::mem::replace(&mut self.result, Cell::Null)),
        }
    }
}

impl Drop for sqlite3_context {
    fn drop(&mut self) {
        for (data, destructor) in self.auxiliary.values() {
            destroy(data.0, *destructor);
        }
    }
}

/// The connection that a function belongs to, by its handle.
#[derive(Clone, Debug)]
struct Connected(Raw);

impl Connected {
    fn handle(&self) -> Raw {
        self.0
    }
}

/// Only one function of the program's is called at a time, whatever threads the engine has.
static CALLS: ReentrantMutex<()> = ReentrantMutex::new(());

#[derive(Debug)]
struct Scalar {
    db: Connected,
    function: Values,
    user: Arc<User>,
}

#[derive(Debug)]
struct Aggregate {
    db: Connected,
    step: Values,
    last: Final,
    user: Arc<User>,
}

/// The values of a row, and the pointers to them that functions are given.
fn row_of(args: &[Vector], row: usize) -> Vec<*mut sqlite3_value> {
    args.iter().map(|arg| crate::pointers::handle(sqlite3_value::new(Cell::of(&arg.get(row))))).collect()
}

fn call_with(function: Values, context: &mut sqlite3_context, mut values: Vec<*mut sqlite3_value>) {
    let count = c_int::try_from(values.len()).unwrap_or(0);
    // SAFETY: the program's function, called as it was declared; context and values live until it returns.
    unsafe { function(ptr::from_mut(context), count, values.as_mut_ptr()) };
    values.into_iter().for_each(release);
}

fn built(cells: impl Iterator<Item = Result<Cell>>, count: usize) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ANY.clone(), count);
    for cell in cells {
        builder.push(&cell?.any())?;
    }
    Ok(builder.finish())
}

impl ExternalFunction for Scalar {
    fn call(&self, args: &[Vector], len: usize, _kept: &Kept) -> Result<Vector> {
        let _one = CALLS.lock();
        let mut context = sqlite3_context::new(&self.db, &self.user);
        built(
            (0..len).map(|row| {
                call_with(self.function, &mut context, row_of(args, row));
                context.take()
            }),
            len,
        )
    }
}

impl ExternalAggregate for Aggregate {
    fn call(&self, rows: GroupedRows<'_>) -> Result<Vector> {
        let _one = CALLS.lock();
        let groups = rows.groups();
        let value = |group: usize| {
            let mut context = sqlite3_context::new(&self.db, &self.user);
            for row in rows.rows_of(group) {
                call_with(self.step, &mut context, row_of(rows.args, row));
                if let Some((_, message)) = context.failure.take() {
                    // SAFETY: as below; the function frees what it kept.
                    unsafe { (self.last)(ptr::from_mut(&mut context)) };
                    return Err(Error::external(message));
                }
            }
            // SAFETY: the program's function, called as it was declared.
            unsafe { (self.last)(ptr::from_mut(&mut context)) };
            context.take()
        };
        built((0..groups).map(value), groups)
    }

    /// It sees all rows of a group, one behind the other.
    fn states(&self) -> Option<Box<dyn ExternalStates>> {
        None
    }
}

/// What the program made.
#[derive(Default)]
pub struct Registered {
    /// Lower-case names and numbers of arguments (-1 for any), and what the engine calls them.
    functions: HashMap<(String, i32), String>,
    /// Lower-case names, and what frees the function's data.
    collations: HashMap<String, User>,
}

impl Registered {
    /// Forgets all functions. It is nobody else's by then, as what frees them is the program's.
    pub fn clear(self, engine: &Connection) {
        if let Ok(database) = engine.database() {
            for name in self.functions.values() {
                database.remove_function(name);
            }
        }
    }
}

impl Db {
    /// Names of what the program made.
    pub fn registered_names(&self) -> (HashMap<(String, i32), String>, HashSet<String>) {
        let registered = self.registered.lock();
        (registered.functions.clone(), registered.collations.keys().cloned().collect())
    }

    fn create_function(
        &self,
        name: &str,
        arguments: c_int,
        flags: c_int,
        callee: Option<Callee>,
    ) -> Outcome<()> {
        const DETERMINISTIC: c_int = 0x800;
        const ARGUMENTS_MAX: c_int = 127;
        const NAME_MAX: usize = 255;
        if !(-1..=ARGUMENTS_MAX).contains(&arguments) || name.len() > NAME_MAX {
            return Err(failed(MISUSE, "bad parameter or other API misuse"));
        }
        let database = self.engine()?.database()?;
        let key = (name.to_lowercase(), arguments);
        // Taken out first: what frees its data is the program's, and may ask for the same lock.
        let known = self.registered.lock().functions.remove(&key);
        if let Some(known) = known {
            database.remove_function(&known);
        }
        self.schema_changed()?;
        let Some(callee) = callee else { return Ok(()) };
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let own = format!("sqlite_f{}_{}", NEXT.fetch_add(1, Ordering::Relaxed), name.to_lowercase());
        let kind = match &callee {
            Callee::Aggregate(_) => FunctionKind::Aggregate,
            Callee::Scalar(_) | Callee::Table(_) => FunctionKind::Scalar,
        };
        let definition = FunctionDefinition {
            is_variadic: true,
            volatility: if flags & DETERMINISTIC != 0 { Volatility::Immutable } else { Volatility::Volatile },
            null_handling: NullHandling::Special,
            ..FunctionDefinition::of_host(own.clone(), kind, Vec::new(), ANY.clone())
        };
        database.create_function(definition, callee)?;
        self.registered.lock().functions.insert(key, own);
        Ok(())
    }
}

/// What a program gives for a function.
struct Declared {
    arguments: c_int,
    flags: c_int,
    scalar: Option<Values>,
    step: Option<Values>,
    last: Option<Final>,
    user: User,
}

fn create(connection: Handle<'_, sqlite3>, name: Option<String>, declared: Declared) -> c_int {
    let (Some(db), Some(name)) = (of(connection), name) else { return MISUSE };
    let connected =
        Connected(Raw(connection.map_or(ptr::null_mut(), |c| ptr::from_ref(c).cast_mut().cast())));
    db.checked(|| {
        let Declared { arguments, flags, scalar, step, last, user } = declared;
        let user = Arc::new(user);
        let callee = match (scalar, step, last) {
            (Some(function), None, None) => {
                Some(Callee::Scalar(Arc::new(Scalar { db: connected, function, user })))
            }
            (None, Some(step), Some(last)) => {
                Some(Callee::Aggregate(Arc::new(Aggregate { db: connected, step, last, user })))
            }
            (None, None, None) => None,
            _ => return Err(failed(MISUSE, "bad parameter or other API misuse")),
        };
        db.create_function(&name, arguments, flags, callee)
    })
}

export! {
    /// Makes a function, or with no function at all forgets it.
    fn sqlite3_create_function(connection: Handle<'_, sqlite3>, name: *const c_char, arguments: c_int, flags: c_int, data: *mut c_void, scalar: Option<Values>, step: Option<Values>, last: Option<Final>) -> c_int [MISUSE] {
        create(connection, text_of(name), Declared { arguments, flags, scalar, step, last, user: User::new(data, 0) })
    }

    /// As sqlite3_create_function, with what frees its data.
    fn sqlite3_create_function_v2(connection: Handle<'_, sqlite3>, name: *const c_char, arguments: c_int, flags: c_int, data: *mut c_void, scalar: Option<Values>, step: Option<Values>, last: Option<Final>, destructor: Destructor) -> c_int [MISUSE] {
        create(connection, text_of(name), Declared { arguments, flags, scalar, step, last, user: User::new(data, destructor) })
    }

    /// As sqlite3_create_function, of a name in UTF-16.
    fn sqlite3_create_function16(connection: Handle<'_, sqlite3>, name: *const c_void, arguments: c_int, flags: c_int, data: *mut c_void, scalar: Option<Values>, step: Option<Values>, last: Option<Final>) -> c_int [MISUSE] {
        create(connection, utf16_of(name, -1), Declared { arguments, flags, scalar, step, last, user: User::new(data, 0) })
    }

    /// Makes an aggregate that may have a window; each window is computed by itself.
    fn sqlite3_create_window_function(connection: Handle<'_, sqlite3>, name: *const c_char, arguments: c_int, flags: c_int, data: *mut c_void, step: Option<Values>, last: Option<Final>, value: Option<Final>, inverse: Option<Values>, destructor: Destructor) -> c_int [MISUSE] {
        let user = User::new(data, destructor);
        let whole = step.is_some() == last.is_some() && value.is_some() == inverse.is_some() && (value.is_none() || step.is_some());
        if !whole {
            return of(connection).map_or(MISUSE, |db| db.note(Err(failed(MISUSE, "bad parameter or other API misuse"))));
        }
        create(connection, text_of(name), Declared { arguments, flags, scalar: None, step, last, user })
    }

    /// Makes a collation. Its name is known, but statements cannot use it yet.
    fn sqlite3_create_collation(connection: Handle<'_, sqlite3>, name: *const c_char, _flags: c_int, data: *mut c_void, function: Option<Compare>) -> c_int [MISUSE] {
        collation(connection, text_of(name), User::new(data, 0), function)
    }

    /// As sqlite3_create_collation, with what frees its data.
    fn sqlite3_create_collation_v2(connection: Handle<'_, sqlite3>, name: *const c_char, _flags: c_int, data: *mut c_void, function: Option<Compare>, destructor: Destructor) -> c_int [MISUSE] {
        collation(connection, text_of(name), User::new(data, destructor), function)
    }

    /// As sqlite3_create_collation, of a name in UTF-16.
    fn sqlite3_create_collation16(connection: Handle<'_, sqlite3>, name: *const c_void, _flags: c_int, data: *mut c_void, function: Option<Compare>) -> c_int [MISUSE] {
        collation(connection, utf16_of(name, -1), User::new(data, 0), function)
    }

    /// Never called: collations have to be made before.
    fn sqlite3_collation_needed(_connection: Handle<'_, sqlite3>, _data: *mut c_void, _function: *mut c_void) -> c_int [MISUSE] { OK }

    /// As sqlite3_collation_needed.
    fn sqlite3_collation_needed16(_connection: Handle<'_, sqlite3>, _data: *mut c_void, _function: *mut c_void) -> c_int [MISUSE] { OK }

    /// Nothing is done: functions that are not there are an error.
    fn sqlite3_overload_function(_connection: Handle<'_, sqlite3>, _name: *const c_char, _arguments: c_int) -> c_int [MISUSE] { OK }

    /// The data of the function that is called.
    fn sqlite3_user_data(context: Handle<'_, sqlite3_context>) -> *mut c_void [ptr::null_mut()] {
        context.map_or(ptr::null_mut(), |context| context.user.0)
    }

    /// The connection of the function that is called.
    fn sqlite3_context_db_handle(context: Handle<'_, sqlite3_context>) -> *mut sqlite3 [ptr::null_mut()] {
        context.map_or(ptr::null_mut(), |context| context.db.0.cast())
    }

    /// What an aggregate keeps from row to row: zeroed when it is first asked for.
    fn sqlite3_aggregate_context(context: *mut sqlite3_context, bytes: c_int) -> *mut c_void [ptr::null_mut()] {
        let (Some(context), Ok(bytes)) = (behind_mut(context), usize::try_from(bytes)) else { return ptr::null_mut() };
        if !context.has_kept {
            if bytes == 0 {
                return ptr::null_mut();
            }
            context.kept = vec![0; bytes.div_ceil(8)];
            context.has_kept = true;
        }
        context.kept.as_mut_ptr().cast()
    }

    /// What was kept with an argument.
    fn sqlite3_get_auxdata(context: Handle<'_, sqlite3_context>, argument: c_int) -> *mut c_void [ptr::null_mut()] {
        context.and_then(|context| context.auxiliary.get(&argument)).map_or(ptr::null_mut(), |(data, _)| data.0)
    }

    /// Keeps something with an argument.
    fn sqlite3_set_auxdata(context: *mut sqlite3_context, argument: c_int, data: *mut c_void, destructor: Destructor) -> () [()] {
        let Some(context) = behind_mut(context) else { return };
        if let Some((old, destructor)) = context.auxiliary.insert(argument, (Raw(data), destructor)) {
            destroy(old.0, destructor);
        }
    }

    /// Rows that an aggregate saw; not counted.
    fn sqlite3_aggregate_count(_context: Handle<'_, sqlite3_context>) -> c_int [0] { 0 }
}

fn collation(
    connection: Handle<'_, sqlite3>,
    name: Option<String>,
    user: User,
    function: Option<Compare>,
) -> c_int {
    let (Some(db), Some(name)) = (of(connection), name) else { return MISUSE };
    db.checked(|| {
        let mut registered = db.registered.lock();
        let before = match function {
            Some(_) => registered.collations.insert(name.to_lowercase(), user),
            None => registered.collations.remove(&name.to_lowercase()),
        };
        drop(registered);
        // What is freed may call the program.
        drop(before);
        db.schema_changed()
    })
}

fn result(context: *mut sqlite3_context, cell: Cell) {
    if let Some(context) = behind_mut(context) {
        context.result = cell;
    }
}

fn fail(context: *mut sqlite3_context, code: c_int, message: String) {
    if let Some(context) = behind_mut(context) {
        context.failure = Some((code, message));
    }
}

fn result_text(context: *mut sqlite3_context, text: *const c_char, bytes: i64, destructor: Destructor) {
    match text_cell(text, bytes) {
        Ok(cell) => result(context, cell),
        Err(failure) => fail(context, failure.code, failure.message),
    }
    freed(text.cast(), destructor);
}

fn result_blob(context: *mut sqlite3_context, data: *const c_void, bytes: u64, destructor: Destructor) {
    let cell = match (data.is_null(), usize::try_from(bytes)) {
        (true, _) | (_, Err(_)) => Cell::Null,
        (false, Ok(bytes)) => Cell::Blob(slice_of(data, bytes).to_vec()),
    };
    result(context, cell);
    freed(data, destructor);
}

/// Frees what a program gave, if it gave anything.
fn freed(data: *const c_void, destructor: Destructor) {
    if !data.is_null() {
        destroy(data.cast_mut(), destructor);
    }
}

type C = *mut sqlite3_context;

export! {
    /// The function gives NULL.
    fn sqlite3_result_null(context: C) -> () [()] { result(context, Cell::Null) }

    /// The function gives an integer.
    fn sqlite3_result_int(context: C, value: c_int) -> () [()] { result(context, Cell::Integer(i64::from(value))) }

    /// The function gives an integer.
    fn sqlite3_result_int64(context: C, value: i64) -> () [()] { result(context, Cell::Integer(value)) }

    /// The function gives a number.
    fn sqlite3_result_double(context: C, value: f64) -> () [()] {
        result(context, if value.is_nan() { Cell::Null } else { Cell::Real(value) })
    }

    /// The function gives a text.
    fn sqlite3_result_text(context: C, text: *const c_char, bytes: c_int, destructor: Destructor) -> () [()] {
        result_text(context, text, i64::from(bytes), destructor)
    }

    /// The function gives a text.
    fn sqlite3_result_text64(context: C, text: *const c_char, bytes: u64, destructor: Destructor, _encoding: u8) -> () [()] {
        result_text(context, text, i64::try_from(bytes).unwrap_or(0), destructor)
    }

    /// The function gives a text in UTF-16.
    fn sqlite3_result_text16(context: C, text: *const c_void, bytes: c_int, destructor: Destructor) -> () [()] {
        result(context, utf16_of(text, bytes).map_or(Cell::Null, Cell::Text));
        freed(text, destructor);
    }

    /// The function gives a text in UTF-16.
    fn sqlite3_result_text16le(context: C, text: *const c_void, bytes: c_int, destructor: Destructor) -> () [()] {
        sqlite3_result_text16(context, text, bytes, destructor)
    }

    /// The function gives a text in UTF-16 of the other order.
    fn sqlite3_result_text16be(context: C, text: *const c_void, bytes: c_int, destructor: Destructor) -> () [()] {
        let bytes = slice_of(text, usize::try_from(bytes).unwrap_or(0));
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
        result(context, Cell::Text(String::from_utf16_lossy(&units)));
        freed(text, destructor);
    }

    /// The function gives bytes.
    fn sqlite3_result_blob(context: C, data: *const c_void, bytes: c_int, destructor: Destructor) -> () [()] {
        result_blob(context, data, u64::try_from(bytes).unwrap_or(0), destructor)
    }

    /// The function gives bytes.
    fn sqlite3_result_blob64(context: C, data: *const c_void, bytes: u64, destructor: Destructor) -> () [()] {
        result_blob(context, data, bytes, destructor)
    }

    /// The function gives so many zeros.
    fn sqlite3_result_zeroblob(context: C, bytes: c_int) -> () [()] {
        result(context, Cell::Blob(vec![0; usize::try_from(bytes).unwrap_or(0)]))
    }

    /// The function gives so many zeros.
    fn sqlite3_result_zeroblob64(context: C, bytes: u64) -> c_int [TOOBIG] {
        const SIZE_MAX: u64 = 1_000_000_000;
        if bytes > SIZE_MAX {
            fail(context, TOOBIG, "string or blob too big".to_string());
            return TOOBIG;
        }
        result(context, Cell::Blob(vec![0; bytes as usize]));
        OK
    }

    /// The function gives a value.
    fn sqlite3_result_value(context: C, value: Handle<'_, sqlite3_value>) -> () [()] {
        result(context, value.map_or(Cell::Null, |value| value.cell.clone()))
    }

    /// There are no pointers among values: NULL.
    fn sqlite3_result_pointer(context: C, data: *mut c_void, _name: *const c_char, destructor: Destructor) -> () [()] {
        result(context, Cell::Null);
        destroy(data, destructor);
    }

    /// There are none.
    fn sqlite3_result_subtype(_context: C, _subtype: u32) -> () [()] {}

    /// The function fails.
    fn sqlite3_result_error(context: C, message: *const c_char, bytes: c_int) -> () [()] {
        let message = match usize::try_from(bytes) {
            Ok(bytes) => String::from_utf8_lossy(slice_of(message.cast(), bytes)).into_owned(),
            Err(_) => String::from_utf8_lossy(bytes_of(message).unwrap_or_default()).into_owned(),
        };
        fail(context, ERROR, message)
    }

    /// The function fails; the message is UTF-16.
    fn sqlite3_result_error16(context: C, message: *const c_void, bytes: c_int) -> () [()] {
        fail(context, ERROR, utf16_of(message, bytes).unwrap_or_default())
    }

    /// The function's value is too large.
    fn sqlite3_result_error_toobig(context: C) -> () [()] { fail(context, TOOBIG, "string or blob too big".to_string()) }

    /// There was no memory for the function.
    fn sqlite3_result_error_nomem(context: C) -> () [()] { fail(context, NOMEM, "out of memory".to_string()) }

    /// The function fails with a code.
    fn sqlite3_result_error_code(context: C, code: c_int) -> () [()] {
        if let Some(context) = behind_mut(context) {
            let message = context.failure.take().map(|(_, message)| message);
            let meaning = || crate::failure::meaning(code).to_string_lossy().into_owned();
            context.failure = Some((code, message.unwrap_or_else(meaning)));
        }
    }
}

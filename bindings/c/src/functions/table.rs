//! Table functions: values in, rows out, part by part.

use super::output::inlay_output;
use super::{Arguments, Declared, Destroy, INLAY_FUNCTION_DEFAULT, User, create, inlay_call, type_at};
use crate::connection::inlay_connection;
use crate::failure::{ErrorOut, guard, inlay_status};
use crate::kinds::inlay_array;
use crate::pointers::{Handle, Items, Text, null, text_at};
use inlay::external::{
    Callee, ExternalAggregate, ExternalFunction, ExternalStream, ExternalTable, FunctionKind, Kept,
    NamedTypes, StreamState, TableArgument, Takes,
};
use inlay::types::nested::{pack_lists, pack_struct};
use inlay::types::{Batch, LogicalType, VECTOR_SIZE, Vector, VectorBuilder};
use inlay::{Error, NullHandling, Result, Volatility, current_limits};
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Arc;

/// Begins a run: gives what the run keeps, which may be NULL. Each argument is an array of one value.
pub type inlay_table_begin = Option<
    unsafe extern "C" fn(
        call: *mut inlay_call,
        arguments: *const inlay_array,
        argument_count: usize,
    ) -> *mut c_void,
>;
/// Writes the next rows, at most capacity, and gives how many; 0 at the end.
pub type inlay_table_next = Option<
    unsafe extern "C" fn(
        call: *mut inlay_call,
        state: *mut c_void,
        columns: *const *mut inlay_output,
        column_count: usize,
        capacity: usize,
    ) -> usize,
>;
/// Ends a run, whatever became of it: frees what it keeps. Called by any thread.
pub type inlay_table_end = Option<unsafe extern "C" fn(state: *mut c_void)>;

type Begin = unsafe extern "C" fn(*mut inlay_call, *const inlay_array, usize) -> *mut c_void;
type Next =
    unsafe extern "C" fn(*mut inlay_call, *mut c_void, *const *mut inlay_output, usize, usize) -> usize;

/// One of the program's, called by its name.
#[derive(Debug)]
pub(super) struct Function {
    pub name: String,
    pub types: Vec<LogicalType>,
    pub columns: NamedTypes,
    pub begin: Option<Begin>,
    pub next: Next,
    pub end: Option<unsafe extern "C" fn(*mut c_void)>,
    pub user: User,
}

/// It as what is bound in FROM.
#[derive(Clone, Debug)]
pub(super) struct Table(pub Arc<Function>);

impl ExternalTable for Table {
    fn takes(&self) -> Takes {
        Takes::Stream
    }

    fn columns(&self, _arguments: &[TableArgument]) -> Result<(NamedTypes, Arc<dyn ExternalTable>)> {
        Ok((self.0.columns.clone(), Arc::new(self.clone())))
    }

    fn stream(&self, arguments: Vec<TableArgument>) -> Result<Arc<dyn ExternalStream>> {
        let value = |(argument, ty): (TableArgument, &LogicalType)| match argument {
            TableArgument::Value(value) => Vector::from_sql_values(ty.clone(), &[value]),
            TableArgument::Table(_) | TableArgument::Columns(_) => Err(self.no_table()),
        };
        let arguments = arguments.into_iter().zip(&self.0.types).map(value).collect::<Result<_>>()?;
        Ok(Arc::new(Bound { function: Arc::clone(&self.0), arguments }))
    }

    fn by_row(&self) -> Arc<dyn ExternalFunction> {
        Arc::new(ByRow(Arc::clone(&self.0)))
    }

    fn bind(&self, _arguments: Vec<TableArgument>) -> Result<Arc<dyn ExternalAggregate>> {
        Err(self.no_table())
    }
}

impl Table {
    fn no_table(&self) -> Error {
        Error::unsupported(format!("a table as an argument of \"{}\", a function in C", self.0.name))
    }
}

#[derive(Debug)]
struct Bound {
    function: Arc<Function>,
    arguments: Vec<Vector>,
}

impl ExternalStream for Bound {
    fn begin(&self) -> Box<dyn StreamState> {
        let (function, arguments) = (Arc::clone(&self.function), self.arguments.clone());
        Box::new(Waiting { function, arguments, run: None })
    }
}

/// A run that begins when it is told to.
struct Waiting {
    function: Arc<Function>,
    arguments: Vec<Vector>,
    run: Option<Run>,
}

impl StreamState for Waiting {
    fn give(&mut self, _columns: &[Vector], _len: usize) -> Result<()> {
        self.run = Some(Run::begin(&self.function, &self.arguments)?);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        let Some(run) = &mut self.run else { return Ok(None) };
        let batch = run.next()?;
        if batch.is_none() {
            self.run = None;
        }
        Ok(batch)
    }
}

/// A run of the function.
struct Run {
    function: Arc<Function>,
    state: *mut c_void,
}

// SAFETY: the header says that what a run keeps is used by one thread after the other.
unsafe impl Send for Run {}

impl Run {
    fn begin(function: &Arc<Function>, arguments: &[Vector]) -> Result<Self> {
        let mut run = Self { function: Arc::clone(function), state: ptr::null_mut() };
        let Some(begin) = function.begin else { return Ok(run) };
        let arguments = Arguments::new(arguments, 1)?;
        let mut call = inlay_call::new(&function.user);
        // SAFETY: the program's function, called as it was declared; all pointers live as long as the call.
        run.state = unsafe { begin(&raw mut call, arguments.arrays.as_ptr(), arguments.arrays.len()) };
        call.finish(&function.name)?;
        Ok(run)
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        let function = &*self.function;
        let outputs = function.columns.iter().map(|(_, ty)| inlay_output::new(ty, VECTOR_SIZE));
        let mut outputs: Vec<inlay_output> = outputs.collect::<Result<_>>()?;
        let pointers: Vec<*mut inlay_output> = outputs.iter_mut().map(ptr::from_mut).collect();
        let mut call = inlay_call::new(&function.user);
        let (columns, count) = (pointers.as_ptr(), pointers.len());
        // SAFETY: as in `begin`; the state is the one that it gave.
        let rows = unsafe { (function.next)(&raw mut call, self.state, columns, count, VECTOR_SIZE) };
        call.finish(&function.name)?;
        if rows > VECTOR_SIZE {
            let name = &function.name;
            let message = format!("function \"{name}\" gave {rows} rows, there was room for {VECTOR_SIZE}");
            return Err(Error::external(message));
        }
        if rows == 0 {
            return Ok(None);
        }
        let vectors = outputs.into_iter().map(|output| output.finish(rows)).collect::<Result<_>>()?;
        Ok(Some(Batch::new(vectors, rows)))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(end) = self.function.end {
            // SAFETY: the program's function, called once with the state that `begin` gave.
            unsafe { end(self.state) }
        }
    }
}

/// The function of values that differ from row to row: lists of rows.
#[derive(Debug)]
struct ByRow(Arc<Function>);

impl ExternalFunction for ByRow {
    fn call(&self, args: &[Vector], len: usize, _kept: &Kept) -> Result<Vector> {
        let row_type = LogicalType::structure(self.0.columns.iter().cloned());
        let mut rows = VectorBuilder::new(row_type.clone(), 0);
        let limits = current_limits();
        let mut held = limits.as_ref().map(|limits| limits.budget.reserve(0)).transpose()?;
        let mut offsets: Vec<u32> = vec![0];
        for row in 0..len {
            let values: Vec<Vector> = args.iter().map(|arg| arg.slice(row, 1).flatten()).collect();
            let mut run = Run::begin(&self.0, &values)?;
            while let Some(batch) = run.next()? {
                if let Some(limits) = &limits {
                    limits.interrupt.check()?;
                }
                let columns: Vec<&Vector> = batch.columns().iter().collect();
                rows.append(&pack_struct(&row_type, &columns, batch.len(), None)?);
                if let Some(held) = &mut held {
                    // The list that is made of them is as large.
                    held.resize(2 * rows.memory_size() as u64)?;
                }
            }
            let end = u32::try_from(rows.len());
            offsets.push(end.map_err(|_| Error::out_of_range("a list of more than 4,294,967,295 rows"))?);
        }
        pack_lists(&LogicalType::list(row_type), &rows.finish(), &offsets, None)
    }
}

/// Makes a function callable in FROM, which gives rows of the columns that are declared. begin and end may be NULL. user_data and destroy
/// as in inlay_create_scalar_function. A run is used by one thread at a time; several runs may go on at once.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_create_table_function(
    connection: Handle<'_, inlay_connection>,
    name: Text<'_>,
    argument_types: Items<'_, *const c_char>,
    argument_count: usize,
    column_names: Items<'_, *const c_char>,
    column_types: Items<'_, *const c_char>,
    column_count: usize,
    begin: inlay_table_begin,
    next: inlay_table_next,
    end: inlay_table_end,
    user_data: *mut c_void,
    destroy: Destroy,
    error: ErrorOut<'_>,
) -> inlay_status {
    let user = User::new(user_data, destroy);
    guard(error, || {
        let next = next.ok_or_else(|| null("next"))?;
        let names = column_names.get(column_count, "column_names")?;
        let types = column_types.get(column_count, "column_types")?;
        let column = |(&name, &ty): (&*const c_char, &*const c_char)| {
            let what = "a name of a column";
            let name = text_at(name, what)?.ok_or_else(|| null(what))?;
            Ok((name.to_string(), type_at(ty, "a type of a column")?))
        };
        let columns = names.iter().zip(types).map(column).collect::<Result<NamedTypes>>()?;
        if columns.is_empty() {
            return Err(Error::invalid_argument("a table function needs columns"));
        }
        let declared = Declared { name, argument_types, argument_count, flags: INLAY_FUNCTION_DEFAULT };
        let returns = LogicalType::list(LogicalType::structure(columns.iter().cloned()));
        let mut definition = declared.definition(FunctionKind::Table, returns)?;
        // It is called with NULLs, and each time: what it reads may have changed.
        (definition.null_handling, definition.volatility) = (NullHandling::Special, Volatility::Volatile);
        let types = definition.parameters.iter().map(|parameter| parameter.ty.clone()).collect();
        let name = definition.name.clone();
        let function = Function { name, types, columns, begin, next, end, user };
        create(connection, definition, Callee::Table(Arc::new(Table(Arc::new(function)))))
    })
}

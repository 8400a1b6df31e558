//! Prepared statements: what they take and give, and their runs.

use crate::array;
use crate::connection::{self, Call, Session, inlay_connection};
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::kinds::{INLAY_TYPE_NULL, id_of, inlay_array, inlay_type_id};
use crate::pointers::{
    Freed, Handle, Items, Made, Out, Shared, Text, free, given, here, make, owned, put, put_if, text_of,
};
use crate::result::{Answer, inlay_result};
use inlay::{
    Bindings, Error, ErrorKind, FIRST_BYTES, ParameterShape, Parameters, PreparedStatement, Result,
    StatementShape, Value, cast_value,
};
use parking_lot::Mutex;
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::{Arc, OnceLock};

/// A statement that is read once and run many times. It keeps its connection, and the values that were bound.
pub struct inlay_statement {
    process: u32,
    pub(crate) session: Arc<Session>,
    pub(crate) statement: PreparedStatement,
    pub(crate) bindings: Mutex<Bindings>,
    parameters: Vec<CString>,
    /// Names of the columns, once they are asked for.
    columns: OnceLock<Described>,
}

/// What a statement takes and gives.
struct Described {
    shape: StatementShape,
    names: Vec<CString>,
}

owned!(inlay_statement);

impl inlay_statement {
    fn described(&self) -> Result<&Described> {
        if let Some(known) = self.columns.get() {
            return Ok(known);
        }
        let shape = self.statement.describe(self.session.enter().host())?;
        let columns = shape.columns.iter().flatten();
        let names = columns.map(|(name, _)| text_of(name)).collect();
        Ok(self.columns.get_or_init(|| Described { shape, names }))
    }

    /// Runs it with the values that are bound.
    fn run(&self, call: &Call<'_>) -> Result<Answer> {
        // Binding does not wait for the statement.
        let parameters = self.bindings.lock().shared()?;
        let answer = self.statement.stream_with(&parameters, call.host(), FIRST_BYTES);
        answer.map_err(|error| self.blamed(error, &parameters))
    }

    /// The error with the first parameter whose value is none of the type that it is to have, if that is why.
    fn blamed(&self, error: Error, parameters: &Parameters) -> Error {
        let is_of_values =
            matches!(error.kind(), ErrorKind::InvalidCast | ErrorKind::TypeMismatch | ErrorKind::OutOfRange);
        let described = if is_of_values { self.described().ok() } else { None };
        let Some(described) = described else { return error };
        let values = parameters.positional.iter().chain(parameters.named.iter().map(|(_, value)| value));
        let misfit = |(index, (shape, value)): (usize, (&ParameterShape, &Value))| {
            let ty = shape.ty.as_ref()?;
            let fits = value.is_null() || cast_value(value, ty).is_ok();
            (!fits).then(|| format!("parameter {} takes a {ty}", index + 1))
        };
        match described.shape.parameters.iter().zip(values).enumerate().find_map(misfit) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// The statement behind a handle.
pub fn of<'a>(statement: Handle<'a, inlay_statement>) -> Result<&'a inlay_statement> {
    given(statement, "statement")
}

/// Reads a statement. Its tables need not be there yet. To be freed by inlay_statement_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_prepare(
    connection: Handle<'_, inlay_connection>,
    sql: Text<'_>,
    statement: Out<'_, Made<inlay_statement>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        make(statement, "statement", || {
            let session = Arc::clone(connection::of(connection)?);
            let statement = session.enter().connection().prepare(sql.get("sql")?)?;
            let parameters = statement.parameter_names().iter().map(|name| text_of(name)).collect();
            let bindings = Mutex::new(statement.bindings());
            let columns = OnceLock::new();
            Ok(inlay_statement { process: here(), session, statement, bindings, parameters, columns })
        })
    })
}

/// Frees a statement. Its results go on.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_statement_free(statement: Freed<'_, inlay_statement>) {
    free(statement);
}

/// What the statement is: "SELECT", "INSERT", "CREATE TABLE"; a constant.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_statement_command(statement: Handle<'_, inlay_statement>) -> *const c_char {
    plain(ptr::null(), || Some(crate::result::command_text(statement?.statement.command())))
}

/// How many values it takes, those by position and those by name.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_parameter_count(statement: Handle<'_, inlay_statement>) -> usize {
    plain(0, || statement.map(|statement| statement.bindings.lock().len()))
}

/// The name of a parameter, from 1, without the dollar; NULL for one without a name. It belongs to the statement.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_parameter_name(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
) -> *const c_char {
    plain(ptr::null(), || {
        let statement = statement?;
        let by_position = statement.statement.parameter_count();
        let named = parameter.checked_sub(by_position + 1)?;
        statement.parameters.get(named).map(|name| name.as_ptr())
    })
}

/// The number of the parameter with a name, without the dollar; 0 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_parameter_index(statement: Handle<'_, inlay_statement>, name: Text<'_>) -> usize {
    plain(0, || statement?.bindings.lock().number_of(name.get("name").ok()?))
}

/// The type that the statement converts a parameter to, from 1; INLAY_TYPE_NULL where any will do.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_parameter_type(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    type_id: Out<'_, inlay_type_id>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let parameters = &of(statement)?.described()?.shape.parameters;
        let found = parameter.checked_sub(1).and_then(|index| parameters.get(index)).ok_or_else(|| {
            let count = parameters.len();
            Error::invalid_argument(format!("there is no parameter {parameter}: the statement has {count}"))
        })?;
        put(type_id, found.ty.as_ref().map_or(INLAY_TYPE_NULL, id_of), "type_id")
    })
}

/// How many columns its rows have, without running it; 0 if it gives no rows.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_statement_column_count(
    statement: Handle<'_, inlay_statement>,
    count: Out<'_, usize>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || put(count, of(statement)?.described()?.names.len(), "count"))
}

/// The name of a column, from 0; it belongs to the statement. NULL if there is none, or inlay_statement_column_count failed.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_statement_column_name(
    statement: Handle<'_, inlay_statement>,
    column: usize,
) -> *const c_char {
    plain(ptr::null(), || statement?.described().ok()?.names.get(column).map(|name| name.as_ptr()))
}

/// The type of a column, from 0; INLAY_TYPE_NULL if there is none, or inlay_statement_column_count failed.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_statement_column_type(
    statement: Handle<'_, inlay_statement>,
    column: usize,
) -> inlay_type_id {
    plain(INLAY_TYPE_NULL, || {
        let columns = statement?.described().ok()?.shape.columns.as_ref()?;
        columns.get(column).map(|(_, ty)| id_of(ty))
    })
}

/// Runs the statement with the values that are bound; all parameters must be. As inlay_query otherwise; result may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_statement_query(
    statement: Handle<'_, inlay_statement>,
    result: Out<'_, Shared<inlay_result>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let session = of(statement).map(|statement| &statement.session);
        inlay_result::put(result, session, |call| of(statement)?.run(call))
    })
}

/// Runs the statement with the values that are bound, and says how many rows it changed. changed may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_statement_execute(
    statement: Handle<'_, inlay_statement>,
    changed: Out<'_, u64>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let statement = of(statement)?;
        let call = statement.session.enter();
        let parameters = statement.bindings.lock().shared()?;
        let answer = statement.statement.execute_with(&parameters, call.host());
        let answer = answer.map_err(|error| statement.blamed(error, &parameters))?;
        put_if(changed, answer.changed_rows().unwrap_or(0))
    })
}

/// Runs the statement once for each row of arrays, one array for each parameter, all of one length: all or nothing. What is bound
/// stays as it is. changed may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_statement_execute_many(
    statement: Handle<'_, inlay_statement>,
    arrays: Items<'_, inlay_array>,
    array_count: usize,
    changed: Out<'_, u64>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let statement = of(statement)?;
        let call = statement.session.enter();
        let arrays = arrays.get(array_count, "arrays")?;
        let (by_position, names) =
            (statement.statement.parameter_count(), statement.statement.parameter_names());
        if arrays.len() != by_position + names.len() {
            return Err(Error::invalid_argument(format!(
                "the statement has {} parameters, {} arrays were given",
                by_position + names.len(),
                arrays.len()
            )));
        }
        let columns = array::vectors(arrays)?;
        let rows = columns.first().map_or(0, inlay::types::Vector::len);
        let set = |row: usize| {
            let mut values = columns.iter().map(|column| column.get(row));
            let positional: Vec<Value> = values.by_ref().take(by_position).collect();
            Parameters { positional, named: names.iter().cloned().zip(values).collect() }
        };
        let sets: Vec<Parameters> = (0..rows).map(set).collect();
        let answer = statement.statement.execute_many(&sets, call.host())?;
        put_if(changed, answer.changed_rows().unwrap_or(0))
    })
}

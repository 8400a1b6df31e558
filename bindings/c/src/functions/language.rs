//! A language of the program's: CREATE FUNCTION ... LANGUAGE name { text }, whose text the program makes a function of.

use super::aggregate::{Aggregate, inlay_aggregate_function};
use super::scalar::{Scalar, inlay_scalar_function};
use super::table::{Function, Table, inlay_table_begin, inlay_table_end, inlay_table_next};
use super::{Destroy, User, plain_type};
use crate::connection::{self, inlay_connection};
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::pointers::{Handle, Own, Text, null, text_of};
use inlay::external::{Callee, FunctionDefinition, FunctionKind, Language, NamedTypes};
use inlay::types::LogicalType;
use inlay::{Error, Result};
use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::Arc;

/// What a function makes of its arguments.
pub type inlay_function_kind = u32;
/// A value for each row.
pub const INLAY_FUNCTION_SCALAR: inlay_function_kind = 1;
/// A value for each group of rows.
pub const INLAY_FUNCTION_AGGREGATE: inlay_function_kind = 2;
/// Rows.
pub const INLAY_FUNCTION_TABLE: inlay_function_kind = 3;

/// A function that SQL declares in a language of the program's. It belongs to the library, and is there during the call.
pub struct inlay_definition {
    kind: FunctionKind,
    is_check: bool,
    name: CString,
    body: CString,
    parameters: Vec<(CString, CString)>,
    returns: CString,
    columns: Vec<(CString, CString)>,
    types: Vec<LogicalType>,
    result: LogicalType,
    rows: NamedTypes,
    callee: Option<Callee>,
    failure: Option<String>,
}

/// Asked for the function that a text is, on any thread: it reads the definition, and gives the function by
/// inlay_definition_scalar, inlay_definition_aggregate or inlay_definition_table, or says by inlay_definition_fail why there is none.
pub type inlay_language =
    Option<unsafe extern "C" fn(user_data: *mut c_void, definition: *mut inlay_definition)>;

/// What SQL's LANGUAGE means.
struct Spoken {
    name: String,
    callback: unsafe extern "C" fn(*mut c_void, *mut inlay_definition),
    user: User,
}

impl Spoken {
    fn ask(&self, definition: &FunctionDefinition, is_check: bool) -> Result<inlay_definition> {
        if definition.is_variadic {
            let what = format!("* in a function that is LANGUAGE {}", self.name.to_uppercase());
            return Err(Error::unsupported(what).with_hint("parameters with names"));
        }
        let mut asked = inlay_definition::new(definition, is_check)?;
        // SAFETY: the program's function, called as it was declared; the pointer lives as long as the call.
        unsafe { (self.callback)(self.user.data(), &raw mut asked) };
        Ok(asked)
    }
}

impl Language for Spoken {
    fn check(&self, definition: &FunctionDefinition) -> Result<()> {
        match self.ask(definition, true)?.failure {
            None => Ok(()),
            Some(message) => {
                Err(Error::Syntax { message: format!("function \"{}\": {message}", definition.name) })
            }
        }
    }

    fn prepare(&self, definition: &FunctionDefinition) -> Result<Callee> {
        let asked = self.ask(definition, false)?;
        let named = |what: &str| Error::external(format!("function \"{}\": {what}", definition.name));
        match (asked.failure, asked.callee) {
            (Some(message), _) => Err(named(&message)),
            (None, Some(callee)) => Ok(callee),
            (None, None) => Err(named("the program gave no function for it")),
        }
    }
}

impl inlay_definition {
    fn new(definition: &FunctionDefinition, is_check: bool) -> Result<Self> {
        let mut types = Vec::new();
        for parameter in &definition.parameters {
            if parameter.is_table {
                let what = "a table as an argument of a function in C";
                return Err(Error::unsupported(what).with_hint("read it in the function, or take values"));
            }
            types.push(plain_type(parameter.ty.clone())?);
        }
        let (result, rows) = match definition.kind {
            FunctionKind::Scalar | FunctionKind::Aggregate => {
                (plain_type(definition.returns.clone())?, NamedTypes::new())
            }
            FunctionKind::Table => {
                let column =
                    |field: &inlay::types::Field| Ok((field.name.to_string(), plain_type(field.ty.clone())?));
                let rows = definition.table_columns().iter().map(column).collect::<Result<NamedTypes>>()?;
                if rows.is_empty() {
                    return Err(Error::unsupported("RETURNS TABLE without columns")
                        .with_hint("name the columns and their types: RETURNS TABLE (x INTEGER)"));
                }
                (definition.returns.clone(), rows)
            }
        };
        let shown = |(name, ty): (&str, &LogicalType)| (text_of(name), text_of(&ty.to_string()));
        let parameters = definition.parameters.iter().map(|p| shown((&p.name, &p.ty))).collect();
        let columns = rows.iter().map(|(name, ty)| shown((name, ty))).collect();
        Ok(Self {
            kind: definition.kind,
            is_check,
            name: text_of(&definition.name),
            body: text_of(&definition.body),
            parameters,
            returns: text_of(&result.to_string()),
            columns,
            types,
            result,
            rows,
            callee: None,
            failure: None,
        })
    }

    fn name(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }

    /// Takes the function, which has to be of the kind that is declared.
    fn give(&mut self, kind: FunctionKind, callee: impl FnOnce(&Self) -> Callee) -> Result<()> {
        if self.kind != kind {
            return Err(Error::invalid_argument(format!(
                "the function is declared as {}, not as {}",
                self.kind.name(),
                kind.name()
            )));
        }
        self.callee = Some(callee(self));
        Ok(())
    }
}

/// Lets functions be written in a language of the program's, in statements of all connections of the database: what stands behind LANGUAGE,
/// and with _MAP behind it where a function is to be called with parts of columns. Functions that are kept in the database run where the
/// setting allow_python, which is also called allow_r, is on. user_data is given to the function, and to destroy, if that is not NULL, when
/// it is not asked any more.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_set_language(
    connection: Handle<'_, inlay_connection>,
    name: Text<'_>,
    language: inlay_language,
    user_data: *mut c_void,
    destroy: Destroy,
    error: ErrorOut<'_>,
) -> inlay_status {
    let user = User::new(user_data, destroy);
    guard(error, || {
        let callback = language.ok_or_else(|| null("language"))?;
        let name = name.get("name")?.to_string();
        let database = connection::enter(connection)?.connection().database()?;
        let language = Spoken { name: name.clone(), callback, user };
        database.set_language(&name, Arc::new(language));
        Ok(())
    })
}

fn known<T>(
    definition: Handle<'_, inlay_definition>,
    none: T,
    what: impl FnOnce(&inlay_definition) -> T,
) -> T {
    definition.map_or(none, what)
}

/// What kind of function is declared.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_kind(definition: Handle<'_, inlay_definition>) -> inlay_function_kind {
    known(definition, 0, |it| match it.kind {
        FunctionKind::Scalar => INLAY_FUNCTION_SCALAR,
        FunctionKind::Aggregate => INLAY_FUNCTION_AGGREGATE,
        FunctionKind::Table => INLAY_FUNCTION_TABLE,
    })
}

/// Whether the text is only to be looked at, as by CREATE FUNCTION: nothing of it is to run, and no function is taken.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_is_check(definition: Handle<'_, inlay_definition>) -> bool {
    known(definition, false, |it| it.is_check)
}

/// The name of the function; it belongs to the definition, as all texts of these functions.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_name(definition: Handle<'_, inlay_definition>) -> *const c_char {
    known(definition, ptr::null(), |it| it.name.as_ptr())
}

/// The text.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_body(definition: Handle<'_, inlay_definition>) -> *const c_char {
    known(definition, ptr::null(), |it| it.body.as_ptr())
}

/// How many parameters there are.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_parameter_count(definition: Handle<'_, inlay_definition>) -> usize {
    known(definition, 0, |it| it.parameters.len())
}

/// The name of a parameter, from 0; NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_parameter_name(
    definition: Handle<'_, inlay_definition>,
    parameter: usize,
) -> *const c_char {
    known(definition, ptr::null(), |it| {
        it.parameters.get(parameter).map_or(ptr::null(), |(name, _)| name.as_ptr())
    })
}

/// The type of a parameter as SQL writes it, from 0; NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_parameter_type(
    definition: Handle<'_, inlay_definition>,
    parameter: usize,
) -> *const c_char {
    known(definition, ptr::null(), |it| {
        it.parameters.get(parameter).map_or(ptr::null(), |(_, ty)| ty.as_ptr())
    })
}

/// The type of the values as SQL writes it.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_returns(definition: Handle<'_, inlay_definition>) -> *const c_char {
    known(definition, ptr::null(), |it| it.returns.as_ptr())
}

/// How many columns the rows have; 0 if the function gives none.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_column_count(definition: Handle<'_, inlay_definition>) -> usize {
    known(definition, 0, |it| it.columns.len())
}

/// The name of a column, from 0; NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_column_name(
    definition: Handle<'_, inlay_definition>,
    column: usize,
) -> *const c_char {
    known(definition, ptr::null(), |it| it.columns.get(column).map_or(ptr::null(), |(name, _)| name.as_ptr()))
}

/// The type of a column as SQL writes it, from 0; NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_column_type(
    definition: Handle<'_, inlay_definition>,
    column: usize,
) -> *const c_char {
    known(definition, ptr::null(), |it| it.columns.get(column).map_or(ptr::null(), |(_, ty)| ty.as_ptr()))
}

/// The function, which gives a value for each row. user_data and destroy as in inlay_create_scalar_function.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_scalar(
    definition: Own<'_, inlay_definition>,
    function: inlay_scalar_function,
    user_data: *mut c_void,
    destroy: Destroy,
    error: ErrorOut<'_>,
) -> inlay_status {
    let user = User::new(user_data, destroy);
    guard(error, || {
        let definition = definition.ok_or_else(|| null("definition"))?;
        let function = function.ok_or_else(|| null("function"))?;
        definition.give(FunctionKind::Scalar, |it| {
            let (name, returns) = (it.name(), it.result.clone());
            Callee::Scalar(Arc::new(Scalar { name, returns, function, user }))
        })
    })
}

/// The function, which gives a value for each group. user_data and destroy as in inlay_create_scalar_function.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_aggregate(
    definition: Own<'_, inlay_definition>,
    function: inlay_aggregate_function,
    user_data: *mut c_void,
    destroy: Destroy,
    error: ErrorOut<'_>,
) -> inlay_status {
    let user = User::new(user_data, destroy);
    guard(error, || {
        let definition = definition.ok_or_else(|| null("definition"))?;
        let function = function.ok_or_else(|| null("function"))?;
        definition.give(FunctionKind::Aggregate, |it| {
            let (name, returns) = (it.name(), it.result.clone());
            Callee::Aggregate(Arc::new(Aggregate { name, returns, function, user }))
        })
    })
}

/// The function, which gives rows; as inlay_create_table_function otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_table(
    definition: Own<'_, inlay_definition>,
    begin: inlay_table_begin,
    next: inlay_table_next,
    end: inlay_table_end,
    user_data: *mut c_void,
    destroy: Destroy,
    error: ErrorOut<'_>,
) -> inlay_status {
    let user = User::new(user_data, destroy);
    guard(error, || {
        let definition = definition.ok_or_else(|| null("definition"))?;
        let next = next.ok_or_else(|| null("next"))?;
        definition.give(FunctionKind::Table, |it| {
            let (name, types, columns) = (it.name(), it.types.clone(), it.rows.clone());
            let function = Function { name, types, columns, begin, next, end, user };
            Callee::Table(Arc::new(Table(Arc::new(function))))
        })
    })
}

/// There is no function: the statement fails with this message.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_definition_fail(definition: Own<'_, inlay_definition>, message: Text<'_>) {
    plain((), || {
        let message = message.get("message").unwrap_or("it failed without a message");
        definition?.failure = Some(message.to_string());
        Some(())
    });
}

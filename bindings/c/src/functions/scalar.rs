//! Scalar functions: a value for each row.

use super::output::inlay_output;
use super::{Declared, Destroy, User, called, declare, inlay_call, inlay_function_flags};
use crate::connection::inlay_connection;
use crate::failure::{ErrorOut, guard, inlay_status};
use crate::kinds::inlay_array;
use crate::pointers::{Handle, Items, Text, null};
use inlay::Result;
use inlay::external::{Callee, ExternalFunction, FunctionKind, Kept};
use inlay::types::{LogicalType, Vector};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// Computes the values of row_count rows, which are in the arrays of the arguments.
pub type inlay_scalar_function = Option<
    unsafe extern "C" fn(
        call: *mut inlay_call,
        arguments: *const inlay_array,
        argument_count: usize,
        row_count: usize,
        output: *mut inlay_output,
    ),
>;

/// One of the program's, called by its name.
#[derive(Debug)]
pub(super) struct Scalar {
    pub name: String,
    pub returns: LogicalType,
    pub function: unsafe extern "C" fn(*mut inlay_call, *const inlay_array, usize, usize, *mut inlay_output),
    pub user: User,
}

impl ExternalFunction for Scalar {
    fn call(&self, args: &[Vector], len: usize, _kept: &Kept) -> Result<Vector> {
        called((&self.name, &self.user), (args, len), (&self.returns, len), |call, arrays, output| {
            // SAFETY: the program's function, called as it was declared; all pointers live as long as the call.
            unsafe { (self.function)(call, arrays.as_ptr(), arrays.len(), len, output) }
        })
    }
}

/// Makes a function callable in SQL, by all connections of the database: types are written as SQL writes them. Several of a name differ in
/// the types of their arguments. user_data is given to the function, and to destroy, if that is not NULL, when it is not called any
/// more, or could not be made.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_create_scalar_function(
    connection: Handle<'_, inlay_connection>,
    name: Text<'_>,
    argument_types: Items<'_, *const c_char>,
    argument_count: usize,
    returns: Text<'_>,
    flags: inlay_function_flags,
    function: inlay_scalar_function,
    user_data: *mut c_void,
    destroy: Destroy,
    error: ErrorOut<'_>,
) -> inlay_status {
    let user = User::new(user_data, destroy);
    guard(error, || {
        let function = function.ok_or_else(|| null("function"))?;
        let declared = Declared { name, argument_types, argument_count, flags };
        declare(connection, &declared, FunctionKind::Scalar, &returns, |name, returns| {
            Callee::Scalar(Arc::new(Scalar { name, returns, function, user }))
        })
    })
}

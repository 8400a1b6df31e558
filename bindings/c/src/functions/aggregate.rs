//! Aggregate functions: a value for each group of rows.

use super::output::inlay_output;
use super::{Declared, Destroy, User, called, declare, inlay_call, inlay_function_flags};
use crate::connection::inlay_connection;
use crate::failure::{ErrorOut, guard, inlay_status};
use crate::kinds::inlay_array;
use crate::pointers::{Handle, Items, Text, null};
use inlay::Result;
use inlay::external::{Callee, ExternalAggregate, ExternalStates, FunctionKind, GroupedRows};
use inlay::types::{LogicalType, Vector};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// Computes the values of group_count groups. Rows of a group lie behind each other in the arrays: those of group i from ends[i - 1], or
/// 0, to ends[i].
pub type inlay_aggregate_function = Option<
    unsafe extern "C" fn(
        call: *mut inlay_call,
        arguments: *const inlay_array,
        argument_count: usize,
        ends: *const u32,
        group_count: usize,
        output: *mut inlay_output,
    ),
>;

/// One of the program's, called by its name.
#[derive(Debug)]
pub(super) struct Aggregate {
    pub name: String,
    pub returns: LogicalType,
    pub function: unsafe extern "C" fn(
        *mut inlay_call,
        *const inlay_array,
        usize,
        *const u32,
        usize,
        *mut inlay_output,
    ),
    pub user: User,
}

impl ExternalAggregate for Aggregate {
    fn call(&self, rows: GroupedRows<'_>) -> Result<Vector> {
        let (given, groups) = ((rows.args, rows.rows()), rows.groups());
        called((&self.name, &self.user), given, (&self.returns, groups), |call, arrays, output| {
            let ends = rows.ends.as_ptr();
            // SAFETY: the program's function, called as it was declared; all pointers live as long as the call.
            unsafe { (self.function)(call, arrays.as_ptr(), arrays.len(), ends, groups, output) }
        })
    }

    /// It sees all rows of a group at once.
    fn states(&self) -> Option<Box<dyn ExternalStates>> {
        None
    }
}

/// Makes an aggregate callable in SQL; as inlay_create_scalar_function otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_create_aggregate_function(
    connection: Handle<'_, inlay_connection>,
    name: Text<'_>,
    argument_types: Items<'_, *const c_char>,
    argument_count: usize,
    returns: Text<'_>,
    flags: inlay_function_flags,
    function: inlay_aggregate_function,
    user_data: *mut c_void,
    destroy: Destroy,
    error: ErrorOut<'_>,
) -> inlay_status {
    let user = User::new(user_data, destroy);
    guard(error, || {
        let function = function.ok_or_else(|| null("function"))?;
        let declared = Declared { name, argument_types, argument_count, flags };
        declare(connection, &declared, FunctionKind::Aggregate, &returns, |name, returns| {
            Callee::Aggregate(Arc::new(Aggregate { name, returns, function, user }))
        })
    })
}

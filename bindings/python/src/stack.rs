//! What is left of the thread's stack. Values are at most so deep that the usual stacks hold them; those that a program made small may not.
//! No other stack is taken where Python runs: it knows its own by its addresses.

use crate::errors::misuse;
use pyo3::prelude::*;

/// What Python needs to make an error of too little.
const LEFT_MIN: usize = 96 << 10;

/// Whether too little is left to go on downwards.
pub fn is_low() -> bool {
    stacker::remaining_stack().is_some_and(|left| left < LEFT_MIN)
}

/// An error if too little is left to make `what` of a nested value.
pub fn check(py: Python<'_>, what: &str) -> PyResult<()> {
    match is_low() {
        true => {
            let message =
                format!("a value is nested deeper than the stack of this thread reaches, to be made {what}");
            Err(misuse(py, message))
        }
        false => Ok(()),
    }
}

//! `nextval` and `currval`: calls whose kernels hold the sequence, so that they run as any function, a vector at a time.

use super::Binder;
use super::object::object_name_of;
use crate::parser::ast::{FunctionCall, Pos};
use crate::plan::{Expr, Place};
use inlay_catalog::Sequence;
use inlay_kernels::function::{NullHandling, ScalarFunction, ScalarKernel, Volatility};
use inlay_types::{Error, LogicalType, Result, Value, Vector};
use std::sync::Arc;

/// `nextval` of each row, in order.
struct NextValue(Arc<dyn Sequence>);

impl ScalarKernel for NextValue {
    fn eval(&self, _args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
        let mut values = Vec::with_capacity(len);
        self.0.next_values(len, &mut values)?;
        *out = Vector::from_values(LogicalType::BigInt, &values);
        Ok(())
    }
}

/// `currval`: one value for all rows.
struct CurrentValue(Arc<dyn Sequence>);

impl ScalarKernel for CurrentValue {
    fn eval(&self, _args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
        *out = Vector::constant(LogicalType::BigInt, &Value::BigInt(self.0.current_value()?), len)?;
        Ok(())
    }
}

impl Binder<'_> {
    /// `nextval('name')` or `currval('name')`. The name stays an argument, so that plans show it and calls of different
    /// sequences differ.
    pub(super) fn sequence_call(
        &mut self,
        name: &'static str,
        call: &FunctionCall,
        pos: Pos,
    ) -> Result<Expr> {
        let [written] = call.arguments.as_slice() else {
            let message = format!("{name} takes the name of a sequence: {name}('name')");
            return Err(self.at(Error::UndefinedFunction { message, candidates: Vec::new() }, pos));
        };
        let text = self.constant(written, "the name of a sequence")?.to_string();
        let (database, sequence) = self.sequence(&object_name_of(&text, written.pos))?;
        let shown = format!("{database}.{}", sequence.schema().name);
        let kernel: Arc<dyn ScalarKernel> =
            if name == "nextval" { Arc::new(NextValue(sequence)) } else { Arc::new(CurrentValue(sequence)) };
        let function = ScalarFunction {
            name,
            arg_types: vec![LogicalType::Varchar],
            return_type: LogicalType::BigInt,
            null_handling: NullHandling::Special,
            volatility: Volatility::Volatile,
            can_fail: true,
            kernel,
            specialize: None,
        };
        let args = vec![Expr::literal(Value::Varchar(shown))];
        Ok(Expr::Call { function: Arc::new(function), args, place: Place::default() })
    }
}

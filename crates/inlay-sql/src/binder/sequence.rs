//! `nextval`, `currval` and `setval`: calls whose kernels hold the sequence, so that they run as any function, a vector at a time.

use super::Binder;
use super::databases::LastValue;
use super::object::object_name_of;
use crate::parser::ast::{FunctionCall, Pos};
use crate::plan::{Expr, Place};
use inlay_catalog::Sequence;
use inlay_catalog::rights::Privilege;
use inlay_kernels::function::{NullHandling, ScalarFunction, ScalarKernel, Volatility};
use inlay_types::{Error, LogicalType, Result, Value, Vector, VectorBuilder};
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

/// `lastval`: the value of `nextval` that came last, of any sequence.
struct LastOfAny(LastValue);

impl ScalarKernel for LastOfAny {
    fn eval(&self, _args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
        let Some(last) = (self.0)() else {
            let message = "lastval is not there before the first nextval of this connection";
            return Err(Error::invalid_argument(message));
        };
        *out = Vector::constant(LogicalType::BigInt, &Value::BigInt(last), len)?;
        Ok(())
    }
}

/// `setval`: of each row, in order; the arguments are the name, the value and whether it counts as given.
struct SetValue(Arc<dyn Sequence>);

impl ScalarKernel for SetValue {
    fn eval(&self, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
        let mut builder = VectorBuilder::new(LogicalType::BigInt, len);
        for row in 0..len {
            match (args[1].get(row), args[2].get(row)) {
                (Value::BigInt(value), Value::Boolean(is_called)) => {
                    self.0.set_value(value, is_called)?;
                    builder.push_native(value);
                }
                _ => builder.push_null(),
            }
        }
        *out = builder.finish();
        Ok(())
    }
}

impl Binder<'_> {
    /// `setval('name', value)` or `setval('name', value, is_called)`.
    pub(super) fn set_sequence(&mut self, call: &FunctionCall, pos: Pos) -> Result<Expr> {
        let (written, value, is_called) = match call.arguments.as_slice() {
            [written, value] => (written, value, None),
            [written, value, is_called] => (written, value, Some(is_called)),
            _ => {
                let message = "setval takes a sequence, a value and perhaps whether it was given: \
                               setval('name', 10, true)";
                return Err(self
                    .at(Error::UndefinedFunction { message: message.into(), candidates: Vec::new() }, pos));
            }
        };
        let text = self.constant(written, "the name of a sequence")?.to_string();
        let (database, sequence) = self.sequence(&object_name_of(&text, written.pos))?;
        self.ask_sequence(&database, &sequence.schema().name, Privilege::Update, written.pos)?;
        let shown = format!("{database}.{}", sequence.schema().name);
        let bound = self.expr(value)?;
        let bound = self.cast_to(bound, LogicalType::BigInt, value.pos)?;
        let is_called = match is_called {
            Some(is_called) => self.condition(is_called, "setval")?,
            None => Expr::boolean(true),
        };
        let function = ScalarFunction {
            name: "setval".into(),
            arg_types: vec![LogicalType::Varchar, LogicalType::BigInt, LogicalType::Boolean],
            return_type: LogicalType::BigInt,
            null_handling: NullHandling::Special,
            volatility: Volatility::Volatile,
            can_fail: true,
            kernel: Arc::new(SetValue(sequence)),
            specialize: None,
            external: None,
        };
        let args = vec![Expr::literal(Value::Varchar(shown)), bound, is_called];
        Ok(Expr::Call { function: Arc::new(function), args, place: self.place(pos) })
    }

    /// `lastval()`.
    pub(super) fn last_value(&self) -> Result<Expr> {
        let Some(last) = self.context.catalog.last_value() else {
            return Err(Error::unsupported("lastval() without a session"));
        };
        let function = ScalarFunction {
            name: "lastval".into(),
            arg_types: Vec::new(),
            return_type: LogicalType::BigInt,
            null_handling: NullHandling::Special,
            volatility: Volatility::Volatile,
            can_fail: true,
            kernel: Arc::new(LastOfAny(last)),
            specialize: None,
            external: None,
        };
        Ok(Expr::Call { function: Arc::new(function), args: Vec::new(), place: Place::default() })
    }

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
        self.ask_sequence(&database, &sequence.schema().name, Privilege::Usage, written.pos)?;
        let shown = format!("{database}.{}", sequence.schema().name);
        let kernel: Arc<dyn ScalarKernel> =
            if name == "nextval" { Arc::new(NextValue(sequence)) } else { Arc::new(CurrentValue(sequence)) };
        let function = ScalarFunction {
            name: name.into(),
            arg_types: vec![LogicalType::Varchar],
            return_type: LogicalType::BigInt,
            null_handling: NullHandling::Special,
            volatility: Volatility::Volatile,
            can_fail: true,
            kernel,
            specialize: None,
            external: None,
        };
        let args = vec![Expr::literal(Value::Varchar(shown))];
        Ok(Expr::Call { function: Arc::new(function), args, place: Place::default() })
    }
}

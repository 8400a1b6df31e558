//! Functions of the host: Python's go along, and are called there with columns as they are called here.
//!
//! What they are given and what they give is of the types that carry their own; who runs them there casts on both sides.

use super::function::constant;
use super::{HostCall, NamedFunction, Writer};
use inlay_kernels::external::External;
use inlay_sql::plan::{Expr, Place};
use inlay_types::LogicalType;
use std::sync::Arc;

/// The language whose functions can be sent.
const PYTHON: &str = "python";

impl Writer<'_> {
    /// A call of a scalar function, which any rows can be given by themselves.
    pub(crate) fn scalar_of_host(&mut self, external: &Arc<External>, args: &[Expr], place: Place) -> String {
        if external.takes_columns() {
            let name = &external.definition.name;
            return self.refuse(
                format!("the function {name}, which sees all rows of its columns at once (LANGUAGE PYTHON_MAP sees parts)"),
                place,
            );
        }
        self.call_of_host(external, args, &external.definition.returns, place)
    }

    /// A call of a function under the name that it has there.
    pub(crate) fn call_of_host(
        &mut self,
        external: &Arc<External>,
        args: &[Expr],
        returns: &LogicalType,
        place: Place,
    ) -> String {
        let name = &external.definition.name;
        if external.definition.language != PYTHON {
            return self.refuse(format!("the function {name} of the host, which is not in Python"), place);
        }
        if external.callee().queries() {
            return self.refuse(format!("the function {name}, which reads this database"), place);
        }
        if args.is_empty() {
            return self.refuse(format!("the function {name} without arguments"), place);
        }
        let spark = self.type_text(returns, place);
        let mut texts = Vec::with_capacity(args.len());
        for arg in args {
            self.type_text(&arg.ty(), place);
            texts.push(self.expr(arg));
        }
        let call = HostCall {
            external: Arc::clone(external),
            arg_types: args.iter().map(Expr::ty).collect(),
            constants: args.iter().map(|arg| constant(arg).cloned()).collect(),
        };
        let written = self.names.function(&call);
        if !self.functions.iter().any(|known| known.name == written) {
            self.functions.push(NamedFunction { name: written.clone(), call, returns: returns.clone() });
        }
        format!("CAST({written}({}) AS {spark})", texts.join(", "))
    }
}

/// Whether an expression calls a function of the host.
pub(crate) fn calls_host(expr: &Expr) -> bool {
    matches!(expr, Expr::Call { function, .. } if function.external.is_some())
        || matches!(expr, Expr::Lambda(lambda) if calls_host(&lambda.body))
        || expr.children().into_iter().any(calls_host)
}

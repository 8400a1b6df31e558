//! Functions of Python in SQL: the language `python`, and callables that the host registers.
//!
//! - [`aggregate`]: functions and classes that are given groups.
//! - [`calls`]: what runs on a thread, and its queries. [`arguments`]: vectors in. [`results`]: what a call gives, as a
//!   vector; [`owned`], [`items`]: without looking twice where it is a fresh array or a list of plain objects. [`watch`]:
//!   calls that are interrupted.
//! - [`table`]: functions that give rows.
//! - [`style`]: what options say. [`turns`]: who calls when the lock is wanted by several. [`workers`], [`remote`]: calls in other processes.
//! - `inlay._udf` makes callables of texts, says what a result is, and tells of exceptions.
//!
//! Calls come from any worker. The GIL is taken for each; who has it converts little: numbers are handed out and taken
//! back as the memory they lie in.

mod aggregate;
pub mod arguments;
pub mod calls;
mod items;
mod owned;
mod remote;
mod results;
mod style;
mod table;
mod turns;
mod watch;
pub mod workers;

use crate::errors::unwrapped;
use aggregate::{Form, PythonAggregate};
use arguments::ArgumentStream;
use calls::Call;
use inlay::external::{
    Callee, External, ExternalFunction, FunctionDefinition, FunctionKind, Granularity, Kept, Language,
    Parameter,
};
use inlay::types::arrow::StringLayout;
use inlay::types::error::Cause;
use inlay::types::{Error, Interrupt, LogicalType, Result, Vector};
use inlay::{Database, NullHandling, Volatility, current_limits};
use pyo3::exceptions::{PyException, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use remote::Remote;
pub use remote::failed;
use results::{Failure, Given, Per};
use std::any::Any;
use std::sync::Arc;
use style::{Options, Parallel, Style};
use table::PythonTable;
use turns::Turns;
use workers::{Request, Source, Workers};

/// A function of Python.
pub struct PythonFunction {
    name: String,
    callable: Py<PyAny>,
    style: Style,
    returns: LogicalType,
    /// An exception makes the value NULL.
    forgives: bool,
    /// None is no value: the function must give one.
    refuses_null: bool,
    /// Its calls read the database.
    queries: bool,
    /// Calls may run in other processes.
    remote: Option<Remote>,
    turns: Turns,
}

impl std::fmt::Debug for PythonFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:?})", self.name, self.style)
    }
}

/// The language `python`.
struct Python3 {
    workers: Arc<Workers>,
}

/// Lets statements of a database call functions that are written in Python.
pub fn install(database: &Database) {
    database.set_language("python", Arc::new(Python3 { workers: Workers::of(database) }));
}

fn text_arguments(definition: &FunctionDefinition) -> (&str, Vec<&str>, bool, &str) {
    let parameters = definition.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    (&definition.name, parameters, definition.is_variadic, &definition.body)
}

impl Language for Python3 {
    fn check(&self, definition: &FunctionDefinition) -> Result<()> {
        check_options(definition)?;
        let (is_class, has_schema) = Python::attach(|py| {
            let (module, check) = match definition.kind {
                FunctionKind::Scalar => ("inlay._udf", "check"),
                FunctionKind::Aggregate => ("inlay._udf", "check_aggregate"),
                FunctionKind::Table => ("inlay._udtf", "check"),
            };
            let checked = py.import(module)?.getattr(check)?.call1(text_arguments(definition))?;
            if definition.kind == FunctionKind::Table { checked.extract() } else { Ok((false, false)) }
        })
        .map_err(|error: PyErr| Error::Syntax { message: message_of(&definition.name, &error) })?;
        if definition.kind == FunctionKind::Table {
            table::fits(definition, is_class, has_schema)?;
        }
        Ok(())
    }

    fn prepare(&self, definition: &FunctionDefinition) -> Result<Callee> {
        let options = check_options(definition)?;
        let compiled = Python::attach(|py| {
            let module = py.import("inlay._udf")?;
            let (form, callable, schema): (String, Py<PyAny>, Option<Py<PyAny>>) = match definition.kind {
                FunctionKind::Scalar => {
                    let callable = module.getattr("compiled")?.call1(text_arguments(definition))?;
                    (String::new(), callable.unbind(), None)
                }
                FunctionKind::Table => {
                    let module = py.import("inlay._udtf")?;
                    module.getattr("compiled")?.call1(text_arguments(definition))?.extract()?
                }
                FunctionKind::Aggregate => {
                    let module = module.getattr("compiled_aggregate")?;
                    let (form, callable) = module.call1(text_arguments(definition))?.extract()?;
                    (form, callable, None)
                }
            };
            Ok((form, callable, schema))
        });
        let (form, callable, schema) = compiled.map_err(|error: PyErr| raised(&definition.name, error))?;
        let (_, parameters, is_variadic, body) = text_arguments(definition);
        let shape = Shape::of(definition.kind, &form, schema)?;
        let source = Source::Text {
            parameters: parameters.into_iter().map(str::to_string).collect(),
            is_variadic,
            body: body.to_string(),
        };
        let function = PythonFunction {
            name: definition.name.clone(),
            queries: queries(&callable, definition, &options)?,
            callable,
            style: options.style,
            returns: definition.returns.clone(),
            forgives: false,
            refuses_null: false,
            remote: None,
            turns: Turns::default(),
        };
        let remote = function.remote(&options, &self.workers, definition, Some(source), shape.form());
        let function = PythonFunction { remote, ..function };
        callee(definition, function, shape)
    }
}

/// What the options say, if they go with the kind of the function.
fn check_options(definition: &FunctionDefinition) -> Result<Options> {
    let options = Options::of(&definition.name, &definition.options)?;
    if definition.kind != FunctionKind::Table && definition.declared_rows().is_some() {
        let message = format!("function \"{}\": rows = ... is for table functions", definition.name);
        return Err(Error::invalid_argument(message));
    }
    for parameter in definition.parameters.iter().filter(|parameter| !parameter.is_table) {
        options.style.check(&definition.name, &parameter.name, &parameter.ty)?;
    }
    if definition.kind != FunctionKind::Scalar {
        let refuse = |what: &str| {
            let message = format!("function \"{}\": {what}; that is for scalar functions", definition.name);
            Err(Error::invalid_argument(message))
        };
        if options.style == Style::Rows {
            return refuse("arguments = 'rows'");
        }
        match (definition.kind, options.parallel) {
            (_, Parallel::Threads) | (FunctionKind::Aggregate, Parallel::Processes) => {}
            (FunctionKind::Aggregate, _) => return refuse("parallel = 'auto'"),
            _ => return refuse("parallel = 'processes' or 'auto'"),
        }
    }
    Ok(options)
}

/// Whether a callable reads the database; fails if its calls are to run where they cannot.
fn queries(callable: &Py<PyAny>, definition: &FunctionDefinition, options: &Options) -> Result<bool> {
    let name = &definition.name;
    let asked = Python::attach(|py| -> PyResult<bool> {
        py.import("inlay._calling")?.getattr("queries")?.call1((callable,))?.extract()
    });
    let queries = asked.map_err(|error| raised(name, error))?;
    if queries && options.parallel == Parallel::Processes {
        return Err(Error::invalid_argument(format!(
            "function \"{name}\" uses _conn, which is in this process only; parallel = 'threads' runs its calls here"
        )));
    }
    Ok(queries)
}

/// What a callable is, besides what is declared of it.
enum Shape {
    Scalar,
    Aggregate(Form),
    /// A class or a function, and what says which columns it gives, if they are not declared.
    Table {
        is_class: bool,
        schema: Option<Py<PyAny>>,
    },
}

impl Shape {
    /// By the words of `inlay._udf` and `inlay._udtf`.
    fn of(kind: FunctionKind, word: &str, schema: Option<Py<PyAny>>) -> Result<Self> {
        Ok(match kind {
            FunctionKind::Scalar => Self::Scalar,
            FunctionKind::Aggregate => Self::Aggregate(Form::of(word)?),
            FunctionKind::Table => Self::Table { is_class: word == "class", schema },
        })
    }

    fn form(&self) -> Option<Form> {
        match self {
            Self::Aggregate(form) => Some(*form),
            Self::Scalar | Self::Table { .. } => None,
        }
    }
}

/// What the engine calls.
fn callee(definition: &FunctionDefinition, function: PythonFunction, shape: Shape) -> Result<Callee> {
    Ok(match shape {
        Shape::Scalar => Callee::Scalar(Arc::new(function)),
        Shape::Aggregate(form) => {
            Callee::Aggregate(Arc::new(PythonAggregate { function: Arc::new(function), form }))
        }
        Shape::Table { is_class, schema } => {
            let fields = definition.table_columns().iter();
            let columns: Vec<(String, LogicalType)> =
                fields.map(|field| (field.name.to_string(), field.ty.clone())).collect();
            table::fits(definition, is_class, schema.is_some())?;
            Callee::Table(Arc::new(PythonTable::new(function, &columns, definition, is_class, schema)))
        }
    })
}

fn message_of(name: &str, error: &PyErr) -> String {
    Python::attach(|py| {
        let told = || -> PyResult<String> {
            py.import("inlay._udf")?.getattr("told")?.call1((name, error.value(py)))?.extract()
        };
        told().unwrap_or_else(|_| format!("function \"{name}\": {error}"))
    })
}

/// An exception of the function as an error that holds it.
fn raised(name: &str, error: PyErr) -> Error {
    Python::attach(|py| {
        // What looks at the exception alone finds its traceback as well.
        if let Some(traceback) = error.traceback(py) {
            let _ = error.value(py).setattr("__traceback__", traceback);
        }
    });
    caused(message_of(name, &error), error)
}

/// An error that holds the exception behind it.
pub fn caused(message: String, error: PyErr) -> Error {
    Error::External { message, cause: Some(Cause(Arc::new(error))) }
}

/// The exception that an error holds.
pub fn cause_of(error: &Error) -> Option<&PyErr> {
    match error.root() {
        Error::External { cause: Some(Cause(cause)), .. } => cause.downcast_ref::<PyErr>(),
        _ => None,
    }
}

impl ExternalFunction for PythonFunction {
    fn call(&self, args: &[Vector], len: usize, kept: &Kept) -> Result<Vector> {
        let interrupt = current_limits().map_or_else(Interrupt::new, |limits| limits.interrupt);
        interrupt.check()?;
        if let Some(remote) = &self.remote
            && let Some(workers) = remote.takes(self)
        {
            let request = Request { args, len, ends: None };
            return remote.timed(len, || workers.call(remote.spec(self)?, request, &interrupt));
        }
        self.turns.taken(len, || guarded(&self.name, |py, _| self.called(py, args, len, kept, Per::Row)))
    }

    fn reduce(&self, args: &[Vector], len: usize, kept: &Kept) -> Result<Vector> {
        if self.remote.is_some() {
            // Workers give a value for each row.
            return self.call(args, len, kept);
        }
        current_limits().map_or_else(Interrupt::new, |limits| limits.interrupt).check()?;
        self.turns.taken(len, || guarded(&self.name, |py, _| self.called(py, args, len, kept, Per::Piece)))
    }

    fn queries(&self) -> bool {
        self.queries
    }
}

/// What `work` gives, which calls the function `name`; it ends when the statement is interrupted.
fn guarded<T>(
    name: &str,
    work: impl FnOnce(Python<'_>, &Interrupt) -> std::result::Result<T, Failure>,
) -> Result<T> {
    calls::within(&Call::new(name), || guarded_alone(name, work))
}

/// The same within a call that goes on.
fn guarded_alone<T>(
    name: &str,
    work: impl FnOnce(Python<'_>, &Interrupt) -> std::result::Result<T, Failure>,
) -> Result<T> {
    let interrupt = current_limits().map_or_else(Interrupt::new, |limits| limits.interrupt);
    interrupt.check()?;
    Python::attach(|py| {
        let called = watch::watched(py, &interrupt, || work(py, &interrupt));
        let (outcome, is_told) = called.map_err(|error| raised(name, error))?;
        match outcome {
            Ok(value) => Ok(value),
            // A query of the function may have looked before anybody told it.
            Err(_) if is_told || interrupt.is_set() => {
                Err(interrupt.check().err().unwrap_or(Error::Interrupted))
            }
            Err(Failure::Wrong(error)) => Err(error),
            Err(Failure::Raised(error)) => {
                if !error.is_instance_of::<PyException>(py) {
                    // Ctrl-C, or an exit: other workers are to end as well.
                    interrupt.set();
                }
                Err(raised(name, error))
            }
        }
    })
}

impl PythonFunction {
    /// Where else its calls may run; `form` is that of an aggregate.
    fn remote(
        &self,
        options: &Options,
        workers: &Arc<Workers>,
        definition: &FunctionDefinition,
        text: Option<Source>,
        form: Option<Form>,
    ) -> Option<Remote> {
        if self.queries { None } else { Remote::new(options.parallel, workers, definition, text, form) }
    }

    fn called(
        &self,
        py: Python<'_>,
        args: &[Vector],
        len: usize,
        kept: &Kept,
        per: Per,
    ) -> std::result::Result<Vector, Failure> {
        if self.style == Style::Rows {
            return self.called_by_row(py, args, len);
        }
        let value = self.callable.bind(py).call1(self.arguments(py, args, len, kept)?)?;
        let vector = Given { function: self, args, len, value, per }.into_vector(py)?;
        self.check_nulls(vector)
    }

    /// The columns as what the function is called with; what constants become is kept.
    fn arguments<'py>(
        &self,
        py: Python<'py>,
        args: &[Vector],
        len: usize,
        kept: &Kept,
    ) -> PyResult<Bound<'py, PyTuple>> {
        match self.style {
            Style::Numpy(decimals, strings) => {
                let scalars = arguments::Scalars::of(kept, args.len());
                let array = |(index, arg): (usize, &Vector)| match scalars {
                    Some(scalars) if arg.is_constant() => scalars.get(py, index, arg, decimals, strings),
                    _ => arguments::array(py, arg, decimals, strings),
                };
                PyTuple::new(py, args.iter().enumerate().map(array).collect::<PyResult<Vec<_>>>()?)
            }
            Style::Arrow | Style::Rows => self.columns(py, args, len, "arrow_columns", StringLayout::Utf8),
            Style::Pandas => self.columns(py, args, len, "pandas_columns", StringLayout::Utf8),
            Style::Polars => self.columns(py, args, len, "polars_columns", StringLayout::View),
        }
    }

    fn columns<'py>(
        &self,
        py: Python<'py>,
        args: &[Vector],
        len: usize,
        maker: &str,
        strings: StringLayout,
    ) -> PyResult<Bound<'py, PyTuple>> {
        if args.is_empty() {
            return Ok(PyTuple::empty(py));
        }
        for (index, arg) in args.iter().enumerate() {
            let check = self.style.check(&self.name, &format!("argument {}", index + 1), arg.ty());
            unwrapped(py, check)?;
        }
        let maker = py.import("inlay._udf")?.getattr(maker)?;
        let columns = match self.style {
            Style::Pandas => {
                let (args, objects) = arguments::apart(py, args)?;
                maker.call1((Bound::new(py, ArgumentStream::new(&args, len, strings))?, objects))?
            }
            Style::Numpy(..) | Style::Arrow | Style::Polars | Style::Rows => {
                maker.call1((Bound::new(py, ArgumentStream::new(args, len, strings))?,))?
            }
        };
        PyTuple::new(py, columns.cast::<PyList>().map_err(PyErr::from)?.iter())
    }

    fn check_nulls(&self, vector: Vector) -> std::result::Result<Vector, Failure> {
        if self.refuses_null && vector.null_count() > 0 {
            return Err(self.null_error().into());
        }
        Ok(vector)
    }

    fn null_error(&self) -> Error {
        Error::external(format!(
            "function \"{}\" gave None; null_handling = 'special' lets it, and gives it the rows with NULLs, too",
            self.name
        ))
    }

    fn called_by_row(
        &self,
        py: Python<'_>,
        args: &[Vector],
        len: usize,
    ) -> std::result::Result<Vector, Failure> {
        let callable = self.callable.bind(py);
        let columns = arguments::lists(py, args, len)?;
        let values = if self.forgives || columns.is_empty() {
            self.values_of_rows(py, &columns, len)?
        } else {
            // The interpreter goes through the columns and calls, without a tuple for each row.
            let map = py.import("builtins")?.getattr("map")?;
            let arguments = std::iter::once(callable.as_any()).chain(columns.iter().map(Bound::as_any));
            let values = map.call1(PyTuple::new(py, arguments.collect::<Vec<_>>())?)?;
            py.get_type::<PyList>().call1((values,))?.cast_into::<PyList>().map_err(PyErr::from)?
        };
        if values.len() < len {
            // It ended what went through the columns.
            return Err(PyStopIteration::new_err(()).into());
        }
        let vector = match items::vector(&values, &self.returns) {
            Some(vector) => vector,
            None => Given { function: self, args, len, value: values.clone().into_any(), per: Per::Row }
                .typed_rows(py, &values)?,
        };
        self.check_nulls(vector)
    }

    /// What the calls give, one after the other; None where an exception is forgiven.
    fn values_of_rows<'py>(
        &self,
        py: Python<'py>,
        columns: &[Bound<'py, PyList>],
        len: usize,
    ) -> std::result::Result<Bound<'py, PyList>, Failure> {
        let values = PyList::empty(py);
        for row in 0..len {
            let arguments =
                columns.iter().map(|column| column.get_item(row)).collect::<PyResult<Vec<_>>>()?;
            match self.callable.bind(py).call1(PyTuple::new(py, arguments)?) {
                Err(error) if self.forgives && error.is_instance_of::<PyException>(py) => {
                    values.append(py.None())?;
                }
                value => values.append(value?)?,
            }
        }
        Ok(values)
    }
}

/// What `create_function` was told; see `inlay._udf`.
#[derive(FromPyObject)]
pub struct Declared {
    name: String,
    /// Names and types.
    parameters: Vec<(String, String)>,
    is_variadic: bool,
    returns: String,
    options: Vec<(String, String)>,
    /// `immutable`, `stable` or `volatile`.
    volatility: String,
    /// NULL gives NULL, without a call.
    is_strict: bool,
    refuses_null: bool,
    forgives: bool,
    is_blocking: bool,
    /// Of an aggregate, what is called, see [`Form`]; of a table function, `table` or `class`.
    form: Option<String>,
    /// It gives rows.
    is_table: bool,
    /// Says what columns a table function gives, if that is not declared.
    schema: Option<Py<PyAny>>,
}

/// Makes a callable a function of the database.
pub fn create(
    py: Python<'_>,
    database: &Database,
    declared: Declared,
    callable: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let parameter = |(name, ty): (String, String)| match ty.as_str() {
        "TABLE" => Ok(Parameter::table(name)),
        ty => Ok(Parameter::new(name, unwrapped(py, inlay::sql::type_of(ty))?)),
    };
    let definition = FunctionDefinition {
        name: declared.name.clone(),
        kind: match declared.form.as_deref() {
            None => FunctionKind::Scalar,
            Some(_) if declared.is_table => FunctionKind::Table,
            Some(_) => FunctionKind::Aggregate,
        },
        language: "python".to_string(),
        parameters: declared.parameters.into_iter().map(parameter).collect::<PyResult<_>>()?,
        is_variadic: declared.is_variadic,
        returns: match &declared.schema {
            Some(_) => LogicalType::list(LogicalType::structure(Vec::<(String, LogicalType)>::new())),
            None => unwrapped(py, inlay::sql::type_of(&declared.returns))?,
        },
        granularity: if declared.is_blocking { Granularity::Column } else { Granularity::Chunk },
        volatility: match declared.volatility.as_str() {
            "immutable" => Volatility::Immutable,
            "volatile" => Volatility::Volatile,
            _ => Volatility::Stable,
        },
        null_handling: if declared.is_strict { NullHandling::Propagate } else { NullHandling::Special },
        options: declared.options,
        body: String::new(),
    };
    let options = unwrapped(py, check_options(&definition))?;
    let word = declared.form.as_deref().unwrap_or_default();
    let shape = unwrapped(py, Shape::of(definition.kind, word, declared.schema))?;
    let callable = callable.clone().unbind();
    let function = PythonFunction {
        name: declared.name,
        queries: unwrapped(py, queries(&callable, &definition, &options))?,
        callable,
        style: options.style,
        returns: definition.returns.clone(),
        forgives: declared.forgives,
        refuses_null: declared.refuses_null,
        remote: None,
        turns: Turns::default(),
    };
    let remote = function.remote(&options, &Workers::of(database), &definition, None, shape.form());
    let function = PythonFunction { remote, ..function };
    if let (Parallel::Processes, Some(remote)) = (options.parallel, &function.remote) {
        // What cannot be sent is told now.
        unwrapped(py, remote.spec(&function))?;
    }
    let callee = unwrapped(py, callee(&definition, function, shape))?;
    unwrapped(py, database.create_function(definition, callee))
}

/// What `create` would have to be told to make a function again elsewhere, and what it would be given; nothing for what is not of Python,
/// or is a table function with its arguments.
pub fn portable<'py>(
    py: Python<'py>,
    external: &External,
) -> PyResult<Option<(Bound<'py, PyDict>, Py<PyAny>)>> {
    let definition = &external.definition;
    let (function, form) = match external.callee() {
        Callee::Scalar(scalar) => ((&**scalar as &dyn Any).downcast_ref::<PythonFunction>(), None),
        Callee::Aggregate(aggregate) => {
            let aggregate = (&**aggregate as &dyn Any).downcast_ref::<PythonAggregate>();
            (aggregate.map(|made| &*made.function), aggregate.map(|made| made.form.word()))
        }
        Callee::Table(_) => (None, None),
    };
    let Some(function) = function else { return Ok(None) };
    let fields = PyDict::new(py);
    let parameters: Vec<(&str, String)> =
        definition.parameters.iter().map(|each| (each.name.as_str(), each.shown_type())).collect();
    fields.set_item("name", &definition.name)?;
    fields.set_item("parameters", parameters)?;
    fields.set_item("is_variadic", definition.is_variadic)?;
    fields.set_item("returns", definition.returns.to_string())?;
    // Where a call runs is decided there.
    let options: Vec<_> = definition.options.iter().filter(|(name, _)| name != "parallel").cloned().collect();
    fields.set_item("options", options)?;
    fields.set_item("is_strict", definition.null_handling == NullHandling::Propagate)?;
    fields.set_item("refuses_null", function.refuses_null)?;
    fields.set_item("forgives", function.forgives)?;
    fields.set_item("is_blocking", external.takes_columns())?;
    fields.set_item("form", form)?;
    Ok(Some((fields, function.callable.clone_ref(py))))
}

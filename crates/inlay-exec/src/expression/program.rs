//! Programs: expressions as flat lists of kernel calls over registers.
//!
//! Compiling walks the expression bottom up; a subexpression that was compiled before gets the same register. A
//! program reads its input columns compactly: `inputs[i]` is the position, in the batch, of its `i`-th column.

use super::in_list::InSet;
use super::lambda::Mapping;
use super::merge::{choose_case, choose_first};
use super::numbering::{Known, Operator};
use super::{Layout, failure, kernel_comparison, lazy};
use crate::spill::is_refusal;
use inlay_kernels::function::{NullHandling, ScalarKernel, Volatility};
use inlay_kernels::{Cmp, boolean, cast, compare};
use inlay_sql::plan::{Expr, Place};
use inlay_types::{
    Batch, Bitmap, Dictionary, Error, LogicalType, Result, VECTOR_SIZE, Value, Vector, limits,
};
use std::sync::Arc;

/// Where a step finds an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operand {
    Column(usize),
    Register(usize),
    Constant(usize),
}

/// What a step computes.
enum Action {
    Call(Arc<dyn ScalarKernel>),
    Cast(LogicalType, bool),
    Compare(Cmp),
    And,
    Or,
    Not,
    IsNull,
    In(InSet),
    /// Arguments are condition, value, condition, value, ..., otherwise.
    Case(LogicalType),
    /// The first argument that is not NULL.
    Coalesce(LogicalType),
    Lambda(Box<Mapping>),
}

/// Whether a step may run once per distinct value of a dictionary, among which there is no NULL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PerValue {
    Never,
    /// In batches without NULL: what the step gives for NULL is its own business.
    WithoutNulls,
    /// NULL gives NULL.
    Always,
}

struct Step {
    action: Action,
    args: Vec<Operand>,
    out: usize,
    /// Whether the step may run once per distinct value of a dictionary argument.
    per_value: PerValue,
    /// Where the expression is written.
    place: Place,
}

/// One or more expressions compiled for batches of one layout.
pub struct Program {
    exprs: Vec<Expr>,
    inputs: Vec<usize>,
    input_layout: Layout,
    constants: Vec<Constant>,
    steps: Vec<Step>,
    registers: usize,
    results: Vec<Operand>,
    /// Whether errors tell of the row by the columns' numbers in the plan.
    tells_row: bool,
    /// Whether some call gives something else each time.
    is_volatile: bool,
    /// Whether branches call functions that must see no rows that do not reach them: of the host, or volatile ones.
    is_lazy: bool,
}

/// A constant, of the type that it has in the program.
struct Constant {
    value: Value,
    /// As many rows as most batches have at most.
    vector: Vector,
}

/// Scratch of one worker for one program.
pub struct ProgramState {
    registers: Vec<Option<Vector>>,
    constants: Vec<Vector>,
    constants_len: usize,
    /// Per step: the dictionary of the last argument, and the values computed for it.
    memo: Vec<Option<(u64, Arc<Dictionary>)>>,
    /// The step that failed last.
    failed: Option<usize>,
}

/// What stands for a call whose constants are wrong: it fails as soon as a row reaches it.
struct Failing(Error);

impl ScalarKernel for Failing {
    fn eval(&self, _args: &[&Vector], _len: usize, _out: &mut Vector) -> Result<()> {
        Err(self.0.clone())
    }
}

struct Compiler<'a> {
    layout: &'a Layout,
    program: Program,
    known: Known,
}

impl Program {
    /// Compiles one expression.
    pub fn compile(expr: &Expr, layout: &Layout) -> Result<Self> {
        Self::compile_many(std::slice::from_ref(expr), layout)
    }

    /// Compiles several expressions that share what they have in common.
    pub fn compile_many(exprs: &[Expr], layout: &Layout) -> Result<Self> {
        let program = Program {
            exprs: exprs.to_vec(),
            inputs: Vec::new(),
            input_layout: Layout::default(),
            constants: Vec::new(),
            steps: Vec::new(),
            registers: 0,
            results: Vec::new(),
            tells_row: true,
            is_volatile: exprs.iter().any(Expr::is_volatile),
            is_lazy: exprs.iter().any(lazy::is_noticed_branch),
        };
        let mut compiler = Compiler { layout, program, known: Known::default() };
        for expr in exprs {
            let operand = compiler.expr(expr)?;
            compiler.program.results.push(operand);
        }
        let mut program = compiler.program;
        program.share_registers();
        Ok(program)
    }

    /// Gives a register to another step once its last reader has run, so that memory is that of the values needed at
    /// one time, however many steps there are.
    fn share_registers(&mut self) {
        let mut last_use = vec![0; self.registers];
        for (index, step) in self.steps.iter().enumerate() {
            last_use[step.out] = index;
            step.args.iter().for_each(|arg| {
                if let Operand::Register(register) = arg {
                    last_use[*register] = index;
                }
            });
        }
        for result in &self.results {
            if let Operand::Register(register) = result {
                last_use[*register] = usize::MAX;
            }
        }
        let mut places = vec![0; self.registers];
        let (mut free, mut count): (Vec<usize>, usize) = (Vec::new(), 0);
        for (index, step) in self.steps.iter_mut().enumerate() {
            let own = step.out;
            places[own] = free.pop().unwrap_or_else(|| {
                count += 1;
                count - 1
            });
            step.out = places[own];
            let mut read: Vec<usize> = Vec::with_capacity(step.args.len());
            for arg in &mut step.args {
                if let Operand::Register(register) = arg {
                    read.push(*register);
                    *register = places[*register];
                }
            }
            read.sort_unstable();
            read.dedup();
            // A step does not write where it reads, so these are free behind it only.
            free.extend(read.into_iter().filter(|&register| last_use[register] == index).map(|r| places[r]));
        }
        for result in &mut self.results {
            if let Operand::Register(register) = result {
                *register = places[*register];
            }
        }
        self.registers = count;
    }

    /// The same over rows whose columns have numbers of their own: errors do not tell of the row.
    pub fn over_rows(mut self) -> Self {
        self.tells_row = false;
        self
    }

    /// The types of the results.
    pub fn types(&self) -> Vec<LogicalType> {
        self.exprs.iter().map(Expr::ty).collect()
    }

    /// Whether some rows may be computed again: nothing is counted or drawn, and nobody is called who would notice.
    pub(crate) fn may_be_repeated(&self) -> bool {
        !self.is_volatile
    }

    /// Positions of the columns read, in the batch.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// If the only expression is a plain column: its position.
    pub fn as_column(&self) -> Option<usize> {
        match self.results[..] {
            [Operand::Column(input)] => Some(self.inputs[input]),
            _ => None,
        }
    }

    /// As if the compiler had lost them.
    #[cfg(test)]
    pub(super) fn forget_steps(&mut self) {
        self.steps.clear();
    }

    /// Scratch for one worker.
    pub fn state(&self) -> ProgramState {
        ProgramState {
            registers: (0..self.registers).map(|_| None).collect(),
            constants: self.constants.iter().map(|constant| constant.vector.clone()).collect(),
            constants_len: VECTOR_SIZE,
            memo: self.steps.iter().map(|_| None).collect(),
            failed: None,
        }
    }

    /// Evaluates the only expression on a batch.
    pub fn eval(&self, state: &mut ProgramState, batch: &Batch) -> Result<Vector> {
        let columns: Vec<&Vector> = self.inputs.iter().map(|&i| batch.column(i)).collect();
        self.eval_on(state, &columns, batch.len())
    }

    /// Evaluates all expressions on a batch.
    pub fn eval_all(&self, state: &mut ProgramState, batch: &Batch) -> Result<Vec<Vector>> {
        let columns: Vec<&Vector> = self.inputs.iter().map(|&i| batch.column(i)).collect();
        self.eval_all_on(state, &columns, batch.len())
    }

    /// Evaluates the only expression on its input columns (`columns[i]` is that of `inputs()[i]`).
    pub fn eval_on(&self, state: &mut ProgramState, columns: &[&Vector], len: usize) -> Result<Vector> {
        if self.is_lazy {
            return self.eval_branches(0, columns, len);
        }
        match self.run(state, columns, len) {
            Ok(()) => self.result(0, state, columns),
            Err(error) => self.eval_lazily(0, columns, len, self.placed(error, state)),
        }
    }

    /// Evaluates all expressions on their input columns.
    pub fn eval_all_on(
        &self,
        state: &mut ProgramState,
        columns: &[&Vector],
        len: usize,
    ) -> Result<Vec<Vector>> {
        let count = self.results.len();
        if self.is_lazy {
            return (0..count).map(|i| self.eval_branches(i, columns, len)).collect();
        }
        match self.run(state, columns, len) {
            Ok(()) => (0..count).map(|i| self.result(i, state, columns)).collect(),
            Err(error) => {
                let error = self.placed(error, state);
                (0..count).map(|i| self.eval_lazily(i, columns, len, error.clone())).collect()
            }
        }
    }

    fn result(&self, index: usize, state: &ProgramState, columns: &[&Vector]) -> Result<Vector> {
        self.operand(self.results[index], state, columns).cloned()
    }

    fn eval_lazily(
        &self,
        index: usize,
        columns: &[&Vector],
        len: usize,
        error: inlay_types::Error,
    ) -> Result<Vector> {
        // Nobody waits for who is not to go on, and fewer rows of the same need no less memory each.
        // A defect of ours is told, and not tried in another way.
        let is_over = matches!(
            error.root(),
            Error::Interrupted | Error::StatementTimeout { .. } | Error::Internal { .. }
        );
        if is_over || is_refusal(&error) && !self.exprs.iter().any(lazy::is_conditional) {
            return Err(error);
        }
        if self.exprs.len() == 1 && !lazy::is_conditional(&self.exprs[index]) {
            let explained = self.tells_row && self.exprs[index].is_deterministic();
            return Err(if explained { failure::explained(self, columns, len, error) } else { error });
        }
        self.eval_branches(index, columns, len)
    }

    fn eval_branches(&self, index: usize, columns: &[&Vector], len: usize) -> Result<Vector> {
        let columns = columns.iter().map(|&c| c.clone()).collect();
        let value = lazy::eval(&self.exprs[index], &self.input_layout, &Batch::new(columns, len));
        value.map_err(|error| if self.tells_row { error } else { error.with_row_names(|_| None) })
    }

    /// The error of the step that failed last, with its place.
    pub(super) fn placed(&self, error: inlay_types::Error, state: &ProgramState) -> inlay_types::Error {
        match state.failed.and_then(|failed| self.steps.get(failed)) {
            Some(step) if failure::is_of_values(&error) => error.at_place(step.place.line, step.place.column),
            _ => error,
        }
    }

    /// The columns read.
    pub(super) fn input_layout(&self) -> &Layout {
        &self.input_layout
    }

    fn operand<'a>(
        &self,
        operand: Operand,
        state: &'a ProgramState,
        columns: &[&'a Vector],
    ) -> Result<&'a Vector> {
        match operand {
            Operand::Column(index) => Ok(columns[index]),
            Operand::Constant(index) => Ok(&state.constants[index]),
            // Steps are in order of need: a register is written before it is read.
            Operand::Register(index) => state.registers[index].as_ref().ok_or_else(|| {
                Error::internal(format!("register {index} of an expression was read unwritten"))
            }),
        }
    }

    pub(super) fn run(&self, state: &mut ProgramState, columns: &[&Vector], len: usize) -> Result<()> {
        if state.constants_len != len {
            for (constant, known) in state.constants.iter_mut().zip(&self.constants) {
                *constant = if len <= constant.len() {
                    constant.slice(0, len)
                } else {
                    Vector::constant(known.vector.logical_type(), &known.value, len)?
                };
            }
            state.constants_len = len;
        }
        for (index, step) in self.steps.iter().enumerate() {
            let mut out = match state.registers[step.out].take() {
                Some(vector) => vector,
                None => Vector::empty(LogicalType::Null),
            };
            let memo = state.memo[index].take();
            let (outcome, memo) = self.run_step(step, state, columns, len, memo, &mut out);
            state.memo[index] = memo;
            state.registers[step.out] = Some(out);
            if outcome.is_err() {
                state.failed = Some(index);
                return outcome;
            }
        }
        Ok(())
    }

    fn run_step(
        &self,
        step: &Step,
        state: &ProgramState,
        columns: &[&Vector],
        len: usize,
        memo: Option<(u64, Arc<Dictionary>)>,
        out: &mut Vector,
    ) -> (Result<()>, Option<(u64, Arc<Dictionary>)>) {
        let args: Result<Vec<&Vector>> = step.args.iter().map(|&a| self.operand(a, state, columns)).collect();
        let args = match args {
            Ok(args) => args,
            Err(error) => return (Err(error), memo),
        };
        if step.per_value != PerValue::Never {
            match over_dictionary(step, &args, len, memo) {
                Ok((result, memo)) => {
                    *out = result;
                    return (Ok(()), Some(memo));
                }
                Err(memo) => return (run_action(&step.action, &args, len, out), memo),
            }
        }
        (run_action(&step.action, &args, len, out), None)
    }
}

fn run_action(action: &Action, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    limits::step(len, || run(action, args, len, out))
}

fn run(action: &Action, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    match action {
        Action::Call(kernel) => kernel.eval(args, len, out)?,
        Action::Cast(ty, or_null) => cast(args[0], ty, *or_null, out)?,
        Action::Compare(op) => compare(*op, args[0], args[1], len, out)?,
        Action::And => boolean::and(args[0], args[1], len, out)?,
        Action::Or => boolean::or(args[0], args[1], len, out)?,
        Action::Not => boolean::not(args[0], len, out)?,
        Action::IsNull => boolean::is_null(args[0], len, out)?,
        Action::In(set) => *out = set.contains(args[0], len),
        Action::Case(ty) => *out = choose_case(ty.clone(), args, len),
        Action::Coalesce(ty) => *out = choose_first(ty.clone(), args, len),
        Action::Lambda(mapping) => *out = mapping.eval(args, len)?,
    }
    Ok(())
}

/// Whether a comparison with NULL is NULL.
fn gives_null(op: Cmp) -> bool {
    match op {
        Cmp::Eq | Cmp::NotEq | Cmp::Lt | Cmp::LtEq | Cmp::Gt | Cmp::GtEq => true,
        Cmp::Distinct | Cmp::NotDistinct => false,
    }
}

/// Runs a step once per distinct value when its only variable argument is a dictionary. `Err` gives the memo back
/// when that is impossible or does not pay, or when a value fails that perhaps no row holds.
#[expect(clippy::type_complexity, reason = "the memo moves in and out")]
fn over_dictionary(
    step: &Step,
    args: &[&Vector],
    len: usize,
    memo: Option<(u64, Arc<Dictionary>)>,
) -> std::result::Result<(Vector, (u64, Arc<Dictionary>)), Option<(u64, Arc<Dictionary>)>> {
    let mut variable = args.iter().enumerate().filter(|(_, arg)| !arg.is_constant());
    let (Some((position, input)), None) = (variable.next(), variable.next()) else { return Err(memo) };
    let Some(dictionary) = input.as_dictionary() else { return Err(memo) };
    if step.per_value == PerValue::WithoutNulls && input.null_count() > 0 {
        return Err(memo);
    }
    let computed = match memo {
        Some((id, computed)) if id == dictionary.id() => computed,
        // The result is kept for the following batches, so a dictionary may be somewhat larger than this one.
        memo if dictionary.values().len() > 4 * VECTOR_SIZE.max(len) => return Err(memo),
        memo => {
            let count = dictionary.values().len();
            let resized: Option<Vec<Vector>> = args
                .iter()
                .enumerate()
                .map(|(i, arg)| match i {
                    _ if i == position => Some(dictionary.values().clone()),
                    _ => Vector::constant(arg.logical_type(), &arg.slice(0, arg.len().min(1)).get(0), count)
                        .ok(),
                })
                .collect();
            let Some(resized) = resized else { return Err(memo) };
            let mut values = Vector::empty(LogicalType::Null);
            let resized: Vec<&Vector> = resized.iter().collect();
            if run_action(&step.action, &resized, count, &mut values).is_err() {
                return Err(memo);
            }
            let values = values.flatten();
            if values.null_count() > 0 {
                return Err(memo);
            }
            let mut values = values;
            values.set_validity(None);
            Dictionary::new(values)
        }
    };
    let codes = input.data().clone();
    let coded = Vector::dictionary(Arc::clone(&computed), codes, len, input.validity().cloned());
    let result = if coded.logical_type() == LogicalType::Boolean { coded.flatten() } else { coded };
    Ok((result, (dictionary.id(), computed)))
}

/// More branches than this are evaluated row by row.
const BRANCHES_MAX: usize = 200;

impl Compiler<'_> {
    fn expr(&mut self, expr: &Expr) -> Result<Operand> {
        match expr {
            Expr::Column { id, .. } => {
                if let Some(known) = self.known.column(*id) {
                    return Ok(known);
                }
                let position = self.known.position(self.layout, *id)?;
                self.program.inputs.push(position);
                self.program.input_layout.0.push(*id);
                let operand = Operand::Column(self.program.inputs.len() - 1);
                self.known.add_column(*id, operand);
                Ok(operand)
            }
            Expr::Literal { value, ty } => {
                if let Some(known) = self.known.literal(value, ty) {
                    return Ok(known);
                }
                let vector = Vector::constant(ty.clone(), value, VECTOR_SIZE)?;
                self.program.constants.push(Constant { value: value.clone(), vector });
                let operand = Operand::Constant(self.program.constants.len() - 1);
                self.known.add_literal(value, ty, operand);
                Ok(operand)
            }
            Expr::Call { function, args, place } => {
                let operands = self.all(args)?;
                let is_volatile = function.volatility == Volatility::Volatile;
                let operator = (!is_volatile).then(|| Operator::Call(Arc::clone(function)));
                let action = || {
                    let constants: Vec<Option<Value>> =
                        args.iter()
                            .map(|arg| {
                                if let Expr::Literal { value, .. } = arg { Some(value.clone()) } else { None }
                            })
                            .collect();
                    let special = match function.specialize.map(|specialize| specialize(&constants)) {
                        Some(Ok(special)) => special,
                        Some(Err(error)) => Some(Arc::new(Failing(error)) as Arc<dyn ScalarKernel>),
                        None => None,
                    };
                    Ok(Action::Call(special.unwrap_or_else(|| Arc::clone(&function.kernel))))
                };
                // The host's function looks at dictionaries by itself.
                let per_value = match function.null_handling {
                    _ if is_volatile || function.external.is_some() => PerValue::Never,
                    NullHandling::Propagate => PerValue::Always,
                    NullHandling::Special => PerValue::WithoutNulls,
                };
                self.shared_step(operator, operands, per_value, *place, action)
            }
            Expr::Cast { input, ty, or_null, place } => {
                let operands = vec![self.expr(input)?];
                let operator = Some(Operator::Cast(ty.clone(), *or_null));
                self.shared_step(operator, operands, PerValue::Always, *place, || {
                    Ok(Action::Cast(ty.clone(), *or_null))
                })
            }
            Expr::Compare { op, left, right } => {
                let operands = vec![self.expr(left)?, self.expr(right)?];
                let op = kernel_comparison(*op);
                let per_value = if gives_null(op) { PerValue::Always } else { PerValue::WithoutNulls };
                self.plain_step(Some(Operator::Compare(op)), operands, per_value, Action::Compare(op))
            }
            Expr::And(args) => self.fold(args, || (Operator::And, Action::And)),
            Expr::Or(args) => self.fold(args, || (Operator::Or, Action::Or)),
            Expr::Not(input) => {
                let operands = vec![self.expr(input)?];
                self.plain_step(Some(Operator::Not), operands, PerValue::Never, Action::Not)
            }
            Expr::IsNull(input) => {
                let operands = vec![self.expr(input)?];
                self.plain_step(Some(Operator::IsNull), operands, PerValue::Never, Action::IsNull)
            }
            Expr::InList { input, list } => self.in_list(input, list),
            Expr::InConstants { input, list } => {
                let operands = vec![self.expr(input)?];
                let set = InSet::of_constants(Arc::clone(list));
                let per_value = if list.has_null() { PerValue::Never } else { PerValue::Always };
                self.plain_step(None, operands, per_value, Action::In(set))
            }
            Expr::Case { branches, otherwise, ty } => self.case(branches, otherwise, ty),
            Expr::Coalesce { args, ty } => {
                if args.len() > BRANCHES_MAX {
                    let (head, tail) = args.split_at(BRANCHES_MAX - 1);
                    let rest = Expr::Coalesce { args: tail.to_vec(), ty: ty.clone() };
                    let args = head.iter().cloned().chain(std::iter::once(rest)).collect();
                    return self.expr(&Expr::Coalesce { args, ty: ty.clone() });
                }
                let operands = self.all(args)?;
                let operator = Some(Operator::Coalesce(ty.clone()));
                self.plain_step(operator, operands, PerValue::Never, Action::Coalesce(ty.clone()))
            }
            Expr::Lambda(lambda) => {
                let mut filter = Mapping::filter_of(lambda);
                let mut operands = self.all(filter.map_or(&lambda.args, |filter| &filter.args))?;
                if let Some(known) = filter {
                    let operator = Operator::Lambda(Box::new(known.clone()));
                    // What is filtered anyway is not filtered again.
                    if let Some(list) = self.known.step(&operator, &operands) {
                        (filter, operands) = (None, vec![list]);
                    }
                    operands.extend(self.all(&lambda.args[1..])?);
                }
                let is_deterministic = lambda.body.is_deterministic();
                let operator = is_deterministic.then(|| Operator::Lambda(lambda.clone()));
                let mapping = || match filter {
                    Some(filter) => Mapping::behind_filter(lambda, filter),
                    None => Mapping::new(lambda),
                };
                let action = || Ok(Action::Lambda(Box::new(mapping()?)));
                // Not only the list may be a dictionary, but also what the body takes from outside.
                let per_value = if is_deterministic { PerValue::WithoutNulls } else { PerValue::Never };
                self.shared_step(operator, operands, per_value, Place::default(), action)
            }
        }
    }

    fn all(&mut self, exprs: &[Expr]) -> Result<Vec<Operand>> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    /// The branches, many of them in groups: the last part of a group stands for those behind it.
    fn case(&mut self, branches: &[(Expr, Expr)], otherwise: &Expr, ty: &LogicalType) -> Result<Operand> {
        let mut last = self.expr(otherwise)?;
        for group in branches.chunks(BRANCHES_MAX).rev() {
            let mut operands = Vec::with_capacity(group.len() * 2 + 1);
            for (condition, value) in group {
                operands.push(self.expr(condition)?);
                operands.push(self.expr(value)?);
            }
            operands.push(last);
            last = self.plain_step(
                Some(Operator::Case(ty.clone())),
                operands,
                PerValue::Never,
                Action::Case(ty.clone()),
            )?;
        }
        Ok(last)
    }

    fn in_list(&mut self, input: &Expr, list: &[Expr]) -> Result<Operand> {
        let values: Option<Vec<&Value>> = list
            .iter()
            .map(|item| if let Expr::Literal { value, .. } = item { Some(value) } else { None })
            .collect();
        if let Some(set) = values.and_then(|values| InSet::new(input.ty(), &values)) {
            let operands = vec![self.expr(input)?];
            let has_null = list.iter().any(|e| matches!(e, Expr::Literal { value: Value::Null, .. }));
            let per_value = if has_null { PerValue::Never } else { PerValue::Always };
            return self.plain_step(None, operands, per_value, Action::In(set));
        }
        if list.is_empty() {
            return self.expr(&Expr::boolean(false));
        }
        // The input is computed once, also where it is another value each time.
        let input = self.expr(input)?;
        let mut any = None;
        for item in list {
            let operands = vec![input, self.expr(item)?];
            let action = Action::Compare(Cmp::Eq);
            let equal =
                self.plain_step(Some(Operator::Compare(Cmp::Eq)), operands, PerValue::Always, action)?;
            any = Some(match any {
                None => equal,
                Some(known) => {
                    self.plain_step(Some(Operator::Or), vec![known, equal], PerValue::Never, Action::Or)?
                }
            });
        }
        any.ok_or_else(|| Error::internal("an IN list without items"))
    }

    fn plain_step(
        &mut self,
        operator: Option<Operator>,
        args: Vec<Operand>,
        per_value: PerValue,
        action: Action,
    ) -> Result<Operand> {
        self.shared_step(operator, args, per_value, Place::default(), || Ok(action))
    }

    /// A step, or the one that computes the same already. Without `operator` it is never shared.
    fn shared_step(
        &mut self,
        operator: Option<Operator>,
        args: Vec<Operand>,
        per_value: PerValue,
        place: Place,
        action: impl FnOnce() -> Result<Action>,
    ) -> Result<Operand> {
        let Some(operator) = operator else { return Ok(self.push(action()?, args, per_value, place)) };
        if let Some(known) = self.known.step(&operator, &args) {
            return Ok(known);
        }
        let operand = self.push(action()?, args.clone(), per_value, place);
        self.known.add_step(operator, args, operand);
        Ok(operand)
    }

    fn push(&mut self, action: Action, args: Vec<Operand>, per_value: PerValue, place: Place) -> Operand {
        let out = self.program.registers;
        self.program.registers += 1;
        // What is remembered per dictionary holds only if everything else is constant in every batch, not just in one.
        let variable = args.iter().filter(|arg| !matches!(arg, Operand::Constant(_))).count();
        let per_value = if variable == 1 { per_value } else { PerValue::Never };
        self.program.steps.push(Step { action, args, out, per_value, place });
        Operand::Register(out)
    }

    fn fold(&mut self, args: &[Expr], step: impl Fn() -> (Operator, Action)) -> Result<Operand> {
        let Some((first, others)) = args.split_first() else {
            return Err(Error::internal("AND or OR of nothing"));
        };
        let mut folded = self.expr(first)?;
        for arg in others {
            let operand = self.expr(arg)?;
            let (operator, action) = step();
            folded = self.plain_step(Some(operator), vec![folded, operand], PerValue::Never, action)?;
        }
        Ok(folded)
    }
}

/// The validity of a vector over `len` rows, one bit per row.
pub(super) fn row_validity(vector: &Vector, len: usize) -> Option<Bitmap> {
    if vector.is_constant() {
        return vector.is_null(0).then(|| Bitmap::filled(len, false));
    }
    vector.validity().cloned()
}

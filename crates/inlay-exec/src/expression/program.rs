//! Programs: expressions as flat lists of kernel calls over registers.
//!
//! Compiling walks the expression bottom up; a subexpression that was compiled before gets the same register. A
//! program reads its input columns compactly: `inputs[i]` is the position, in the batch, of its `i`-th column.

use super::in_list::InSet;
use super::lambda::Mapping;
use super::merge::merge_rows;
use super::{Layout, kernel_comparison, lazy};
use inlay_kernels::function::{ScalarKernel, Volatility};
use inlay_kernels::{Cmp, boolean, cast, compare};
use inlay_sql::plan::Expr;
use inlay_types::{Batch, Bitmap, Dictionary, LogicalType, Result, VECTOR_SIZE, Value, Vector};
use std::sync::Arc;

/// Where a step finds an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
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

struct Step {
    action: Action,
    args: Vec<Operand>,
    out: usize,
    /// Whether the step may run once per distinct value of a dictionary argument.
    per_value: bool,
}

/// One or more expressions compiled for batches of one layout.
pub struct Program {
    exprs: Vec<Expr>,
    inputs: Vec<usize>,
    input_layout: Layout,
    constants: Vec<(Value, LogicalType)>,
    steps: Vec<Step>,
    registers: usize,
    results: Vec<Operand>,
}

/// Scratch of one worker for one program.
pub struct ProgramState {
    registers: Vec<Option<Vector>>,
    constants: Vec<Vector>,
    constants_len: usize,
    /// Per step: the dictionary of the last argument, and the values computed for it.
    memo: Vec<Option<(u64, Arc<Dictionary>)>>,
}

struct Compiler<'a> {
    layout: &'a Layout,
    program: Program,
    known: Vec<(Expr, Operand)>,
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
        };
        let mut compiler = Compiler { layout, program, known: Vec::new() };
        for expr in exprs {
            let operand = compiler.expr(expr)?;
            compiler.program.results.push(operand);
        }
        Ok(compiler.program)
    }

    /// The types of the results.
    pub fn types(&self) -> Vec<LogicalType> {
        self.exprs.iter().map(Expr::ty).collect()
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

    /// Scratch for one worker.
    pub fn state(&self) -> ProgramState {
        let constant = |(value, ty): &(Value, LogicalType)| {
            // The compiler checked that the value is of the type.
            Vector::constant(ty.clone(), value, VECTOR_SIZE)
                .unwrap_or_else(|_| Vector::nulls(ty.clone(), VECTOR_SIZE))
        };
        ProgramState {
            registers: (0..self.registers).map(|_| None).collect(),
            constants: self.constants.iter().map(constant).collect(),
            constants_len: VECTOR_SIZE,
            memo: self.steps.iter().map(|_| None).collect(),
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
        match self.run(state, columns, len) {
            Ok(()) => Ok(self.result(0, state, columns)),
            Err(error) => self.eval_lazily(0, columns, len, error),
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
        match self.run(state, columns, len) {
            Ok(()) => Ok((0..count).map(|i| self.result(i, state, columns)).collect()),
            Err(error) => (0..count).map(|i| self.eval_lazily(i, columns, len, error.clone())).collect(),
        }
    }

    fn result(&self, index: usize, state: &ProgramState, columns: &[&Vector]) -> Vector {
        self.operand(self.results[index], state, columns).clone()
    }

    fn eval_lazily(
        &self,
        index: usize,
        columns: &[&Vector],
        len: usize,
        error: inlay_types::Error,
    ) -> Result<Vector> {
        if self.exprs.len() == 1 && !lazy::is_conditional(&self.exprs[index]) {
            return Err(error);
        }
        let columns = columns.iter().map(|&c| c.clone()).collect();
        lazy::eval(&self.exprs[index], &self.input_layout, &Batch::new(columns, len))
    }

    fn operand<'a>(&self, operand: Operand, state: &'a ProgramState, columns: &[&'a Vector]) -> &'a Vector {
        match operand {
            Operand::Column(index) => columns[index],
            Operand::Constant(index) => &state.constants[index],
            Operand::Register(index) => match &state.registers[index] {
                Some(vector) => vector,
                None => columns[0], // Steps are in order of need: a register is written before it is read.
            },
        }
    }

    fn run(&self, state: &mut ProgramState, columns: &[&Vector], len: usize) -> Result<()> {
        if state.constants_len != len {
            for (constant, (value, ty)) in state.constants.iter_mut().zip(&self.constants) {
                *constant = if len <= constant.len() {
                    constant.slice(0, len)
                } else {
                    Vector::constant(ty.clone(), value, len)?
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
            outcome?;
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
        let args: Vec<&Vector> = step.args.iter().map(|&a| self.operand(a, state, columns)).collect();
        if step.per_value {
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

/// Marks with `branch` the rows that are undecided (`u8::MAX`) and TRUE in `condition`.
fn choose_true(condition: &Vector, branch: u8, choice: &mut [u8]) {
    let flat = condition.flatten();
    let truths = flat.values::<u8>();
    for (row, (chosen, &truth)) in choice.iter_mut().zip(truths).enumerate() {
        let truth = truth != 0 && !flat.is_null(row);
        *chosen = if *chosen == u8::MAX && truth { branch } else { *chosen };
    }
}

fn choose_case(ty: LogicalType, args: &[&Vector], len: usize) -> Vector {
    let branches = args.len() / 2;
    let mut choice = vec![u8::MAX; len];
    for branch in 0..branches {
        choose_true(args[branch * 2], branch as u8, &mut choice);
    }
    for chosen in &mut choice {
        *chosen = if *chosen == u8::MAX { branches as u8 } else { *chosen };
    }
    let sources: Vec<&Vector> =
        (0..branches).map(|b| args[b * 2 + 1]).chain(std::iter::once(args[args.len() - 1])).collect();
    merge_rows(ty, &sources, &choice)
}

fn choose_first(ty: LogicalType, args: &[&Vector], len: usize) -> Vector {
    let last = (args.len() - 1) as u8;
    let first_valid = |row: usize| args.iter().position(|arg| !arg.is_null(row)).map_or(last, |i| i as u8);
    let choice: Vec<u8> = (0..len).map(first_valid).collect();
    merge_rows(ty, args, &choice)
}

/// More branches than this are evaluated row by row.
const BRANCHES_MAX: usize = 200;

impl Compiler<'_> {
    fn expr(&mut self, expr: &Expr) -> Result<Operand> {
        if let Some((_, operand)) = self.known.iter().find(|(known, _)| known == expr) {
            return Ok(*operand);
        }
        let operand = self.compile(expr)?;
        if expr.is_deterministic() {
            self.known.push((expr.clone(), operand));
        }
        Ok(operand)
    }

    fn compile(&mut self, expr: &Expr) -> Result<Operand> {
        match expr {
            Expr::Column { id, .. } => {
                let position = self.layout.require(*id)?;
                self.program.inputs.push(position);
                self.program.input_layout.0.push(*id);
                Ok(Operand::Column(self.program.inputs.len() - 1))
            }
            Expr::Literal { value, ty } => {
                Vector::constant(ty.clone(), value, 1)?;
                self.program.constants.push((value.clone(), ty.clone()));
                Ok(Operand::Constant(self.program.constants.len() - 1))
            }
            Expr::Call { function, args } => {
                let constants: Vec<Option<Value>> = args
                    .iter()
                    .map(|arg| if let Expr::Literal { value, .. } = arg { Some(value.clone()) } else { None })
                    .collect();
                let special = match function.specialize {
                    Some(specialize) => specialize(&constants)?,
                    None => None,
                };
                let kernel = special.unwrap_or_else(|| Arc::clone(&function.kernel));
                let per_value = function.volatility != Volatility::Volatile;
                self.step(Action::Call(kernel), args, per_value)
            }
            Expr::Cast { input, ty, or_null } => {
                self.step(Action::Cast(ty.clone(), *or_null), std::slice::from_ref(&**input), true)
            }
            Expr::Compare { op, left, right } => {
                let args = [self.expr(left)?, self.expr(right)?];
                Ok(self.push(Action::Compare(kernel_comparison(*op)), args.to_vec(), true))
            }
            Expr::And(args) => self.fold(args, || Action::And),
            Expr::Or(args) => self.fold(args, || Action::Or),
            Expr::Not(input) => self.step(Action::Not, std::slice::from_ref(&**input), false),
            Expr::IsNull(input) => self.step(Action::IsNull, std::slice::from_ref(&**input), false),
            Expr::InList { input, list } => self.in_list(input, list),
            Expr::Case { branches, otherwise, ty } => {
                if branches.len() > BRANCHES_MAX {
                    return self.compile(&nested_case(branches, otherwise, ty.clone()));
                }
                let mut args = Vec::with_capacity(branches.len() * 2 + 1);
                for (condition, value) in branches {
                    args.push(self.expr(condition)?);
                    args.push(self.expr(value)?);
                }
                args.push(self.expr(otherwise)?);
                Ok(self.push(Action::Case(ty.clone()), args, false))
            }
            Expr::Coalesce { args, ty } => {
                if args.len() > BRANCHES_MAX {
                    let (head, tail) = args.split_at(BRANCHES_MAX - 1);
                    let rest = Expr::Coalesce { args: tail.to_vec(), ty: ty.clone() };
                    let args = head.iter().cloned().chain(std::iter::once(rest)).collect();
                    return self.compile(&Expr::Coalesce { args, ty: ty.clone() });
                }
                self.step(Action::Coalesce(ty.clone()), args, false)
            }
            Expr::Lambda(lambda) => {
                let mapping = Mapping::new(lambda)?;
                self.step(Action::Lambda(Box::new(mapping)), &lambda.args, expr.is_deterministic())
            }
        }
    }

    fn in_list(&mut self, input: &Expr, list: &[Expr]) -> Result<Operand> {
        let values: Option<Vec<&Value>> = list
            .iter()
            .map(|item| if let Expr::Literal { value, .. } = item { Some(value) } else { None })
            .collect();
        if let Some(set) = values.and_then(|values| InSet::new(input.ty(), &values)) {
            let arg = self.expr(input)?;
            let per_value = !list.iter().any(|e| matches!(e, Expr::Literal { value: Value::Null, .. }));
            return Ok(self.push(Action::In(set), vec![arg], per_value));
        }
        let equals = |item: &Expr| Expr::compare(inlay_sql::plan::CompareOp::Eq, input.clone(), item.clone());
        match list {
            [] => self.compile(&Expr::boolean(false)),
            [only] => self.compile(&equals(only)),
            many => self.compile(&Expr::Or(many.iter().map(equals).collect())),
        }
    }

    fn step(&mut self, action: Action, args: &[Expr], per_value: bool) -> Result<Operand> {
        let args = args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>>>()?;
        Ok(self.push(action, args, per_value))
    }

    fn push(&mut self, action: Action, args: Vec<Operand>, per_value: bool) -> Operand {
        let out = self.program.registers;
        self.program.registers += 1;
        // What is remembered per dictionary holds only if everything else is constant in every batch, not just in one.
        let variable = args.iter().filter(|arg| !matches!(arg, Operand::Constant(_))).count();
        self.program.steps.push(Step { action, args, out, per_value: per_value && variable == 1 });
        Operand::Register(out)
    }

    fn fold(&mut self, args: &[Expr], action: impl Fn() -> Action) -> Result<Operand> {
        let mut operands = args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>>>()?.into_iter();
        let Some(mut folded) = operands.next() else { return self.compile(&Expr::boolean(true)) };
        for operand in operands {
            folded = self.push(action(), vec![folded, operand], false);
        }
        Ok(folded)
    }
}

fn nested_case(branches: &[(Expr, Expr)], otherwise: &Expr, ty: LogicalType) -> Expr {
    let (head, tail) = branches.split_at(BRANCHES_MAX);
    let rest = Expr::Case { branches: tail.to_vec(), otherwise: Box::new(otherwise.clone()), ty: ty.clone() };
    Expr::Case { branches: head.to_vec(), otherwise: Box::new(rest), ty }
}

/// The validity of a vector over `len` rows, one bit per row.
pub(super) fn row_validity(vector: &Vector, len: usize) -> Option<Bitmap> {
    if vector.is_constant() {
        return vector.is_null(0).then(|| Bitmap::filled(len, false));
    }
    vector.validity().cloned()
}

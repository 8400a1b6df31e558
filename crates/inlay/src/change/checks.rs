//! CHECK constraints over rows in hand. A condition that is NULL passes.

use super::rows::{layout, pieces};
use inlay_catalog::TableSchema;
use inlay_exec::expression::{Program, ProgramState};
use inlay_sql::plan::statement::BoundCheck;
use inlay_types::{Batch, Error, LogicalType, Result, Value, Vector};
use std::fmt::Write;

/// CHECK constraints of a table, compiled for rows with some of its columns.
#[derive(Default)]
pub(crate) struct Checks {
    table: String,
    checks: Vec<Compiled>,
}

struct Compiled {
    name: String,
    program: Program,
    /// Names and positions in the rows of the columns that the condition reads.
    columns: Vec<(String, usize)>,
}

impl Checks {
    /// For rows whose column `i` is column `numbers[i]` of the table.
    pub fn new(checks: &[BoundCheck], schema: &TableSchema, numbers: &[usize]) -> Result<Self> {
        let layout = layout(numbers.iter().copied());
        let compiled = |check: &BoundCheck| {
            let program = Program::compile(&check.condition, &layout)?.over_rows();
            let mut read = program.inputs().to_vec();
            read.sort_unstable();
            read.dedup();
            let named = |position: usize| (schema.columns[numbers[position]].name.clone(), position);
            let columns = read.into_iter().map(named).collect();
            Ok(Compiled { name: check.name.clone(), program, columns })
        };
        let checks = checks.iter().map(compiled).collect::<Result<_>>()?;
        Ok(Self { table: schema.name.clone(), checks })
    }

    /// For rows with all columns of the table.
    pub fn of_rows(checks: &[BoundCheck], schema: &TableSchema) -> Result<Self> {
        Self::new(checks, schema, &(0..schema.columns.len()).collect::<Vec<_>>())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }

    /// Scratch space of one worker.
    pub fn states(&self) -> Vec<ProgramState> {
        self.checks.iter().map(|check| check.program.state()).collect()
    }

    /// Fails at the first row of a piece that violates a constraint.
    pub fn check(&self, states: &mut [ProgramState], rows: &Batch) -> Result<()> {
        for (check, state) in self.checks.iter().zip(states) {
            let truth = check.program.eval(state, rows)?;
            if let Some(row) = first_false(&truth, rows.len()) {
                return Err(self.violation(check, rows, row));
            }
        }
        Ok(())
    }

    /// As [`Checks::check`], of rows of any number.
    pub fn check_all(&self, rows: &Batch) -> Result<()> {
        if self.checks.is_empty() {
            return Ok(());
        }
        let mut states = self.states();
        pieces(rows).try_for_each(|piece| self.check(&mut states, &piece))
    }

    fn violation(&self, check: &Compiled, rows: &Batch, row: usize) -> Error {
        let mut shown = String::new();
        for (index, (name, position)) in check.columns.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let _ = write!(shown, "{comma}{name} = {}", shown_value(&rows.column(*position).get(row)));
        }
        let (name, table) = (&check.name, &self.table);
        let read: Vec<&str> = check.columns.iter().map(|(name, _)| name.as_str()).collect();
        let violated = format!("CHECK constraint \"{name}\" of table \"{table}\" is violated by");
        Error::Check { message: format!("{violated} ({})", read.join(", ")) }
            .with_values(format!("{violated} ({shown})"))
    }
}

/// A value in a message; long ones are cut.
pub(crate) fn shown_value(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(57).chain("...".chars()).collect() }
}

fn first_false(truth: &Vector, len: usize) -> Option<usize> {
    if len == 0 || truth.logical_type() == LogicalType::Null {
        return None;
    }
    if truth.is_constant() {
        return (truth.get(0) == Value::Boolean(false)).then_some(0);
    }
    let flat = truth.flatten();
    let values = flat.values::<u8>();
    (0..len).find(|&row| values[row] == 0 && !flat.is_null(row))
}

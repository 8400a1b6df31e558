//! Conditions over pairs of a probe row and a stored build row.

use super::core::{Core, columns_read};
use super::gather::gather;
use crate::expression::{Filter, FilterState, Layout, Program, ProgramState};
use inlay_sql::plan::{ColumnId, Expr};
use inlay_types::{Batch, Buffer, Error, Result, Vector};

/// Where a column of a pair comes from.
#[derive(Clone, Copy, Debug)]
enum PairColumn {
    Probe(usize),
    /// A stored column.
    Build(usize),
}

/// The columns that conditions read, side by side.
pub(crate) struct PairColumns {
    columns: Vec<PairColumn>,
    /// Which column is at which position of a pair batch.
    pub layout: Layout,
}

impl PairColumns {
    /// The columns of `exprs`.
    pub fn new(exprs: &[Expr], core: &Core) -> Result<Self> {
        let ids = columns_read(exprs.iter());
        let columns = ids.iter().map(|id| place(*id, core)).collect::<Result<_>>()?;
        Ok(Self { columns, layout: Layout(ids) })
    }

    /// The pairs' columns.
    pub fn batch(
        &self,
        memory: &mut Vec<Buffer>,
        probe: &Batch,
        build: &[Vector],
        probe_rows: &[u32],
        build_rows: &[u32],
    ) -> Batch {
        memory.resize_with(self.columns.len(), Buffer::default);
        let columns = self.columns.iter().zip(memory).map(|(column, memory)| match *column {
            PairColumn::Probe(index) => gather(probe.column(index), probe_rows, memory),
            PairColumn::Build(index) => gather(&build[index], build_rows, memory),
        });
        Batch::new(columns.collect(), probe_rows.len())
    }

    /// Pairs of one row of the probe side with `len` rows of the build side from `from` on.
    pub fn one_probe_row(
        &self,
        probe: &Batch,
        row: usize,
        build: &[Vector],
        from: usize,
        len: usize,
    ) -> Result<Batch> {
        let columns = self.columns.iter().map(|column| match *column {
            PairColumn::Probe(index) => repeat(probe.column(index), row, len),
            PairColumn::Build(index) => Ok(build[index].slice(from, len)),
        });
        Ok(Batch::new(columns.collect::<Result<_>>()?, len))
    }

    /// Pairs of every row of the probe side with one row of the build side.
    pub fn one_build_row(&self, probe: &Batch, build: &[Vector], row: usize) -> Result<Batch> {
        let columns = self.columns.iter().map(|column| match *column {
            PairColumn::Probe(index) => Ok(probe.column(index).clone()),
            PairColumn::Build(index) => repeat(&build[index], row, probe.len()),
        });
        Ok(Batch::new(columns.collect::<Result<_>>()?, probe.len()))
    }
}

fn place(id: ColumnId, core: &Core) -> Result<PairColumn> {
    if let Some(position) = core.probe.position(id) {
        return Ok(PairColumn::Probe(position));
    }
    let stored = core.build.position(id).and_then(|position| core.stored.binary_search(&position).ok());
    let missing = || Error::internal(format!("column {id} of a join condition is in no input"));
    stored.map(PairColumn::Build).ok_or_else(missing)
}

/// A row's value `len` times.
fn repeat(column: &Vector, row: usize, len: usize) -> Result<Vector> {
    Vector::constant(column.logical_type(), &column.get(row), len)
}

/// Conditions that pairs must satisfy.
pub(crate) struct PairFilter {
    /// The columns read.
    pub columns: PairColumns,
    filter: Filter,
}

/// A worker's scratch for a [`PairFilter`].
pub(crate) struct PairFilterState {
    memory: Vec<Buffer>,
    filter: FilterState,
    kept: Vec<u32>,
}

impl PairFilter {
    /// Compiles conjuncts; `None` if there are none.
    pub fn new(conditions: &[Expr], core: &Core) -> Result<Option<Self>> {
        if conditions.is_empty() {
            return Ok(None);
        }
        let columns = PairColumns::new(conditions, core)?;
        let filter = Filter::compile(conditions, &columns.layout)?;
        Ok(Some(Self { columns, filter }))
    }

    /// A worker's scratch.
    pub fn state(&self) -> PairFilterState {
        PairFilterState { memory: Vec::new(), filter: self.filter.state(), kept: Vec::new() }
    }

    /// Keeps the pairs that satisfy all conditions.
    pub fn retain(
        &self,
        state: &mut PairFilterState,
        probe: &Batch,
        build: &[Vector],
        probe_rows: &mut Vec<u32>,
        build_rows: &mut Vec<u32>,
    ) -> Result<()> {
        if probe_rows.is_empty() {
            return Ok(());
        }
        let pairs = self.columns.batch(&mut state.memory, probe, build, probe_rows, build_rows);
        self.filter.select(&mut state.filter, &pairs, &mut state.kept)?;
        keep(probe_rows, &state.kept);
        keep(build_rows, &state.kept);
        Ok(())
    }

    /// Positions of the pairs of a batch that satisfy all conditions.
    pub fn select<'a>(&self, state: &'a mut PairFilterState, pairs: &Batch) -> Result<&'a [u32]> {
        self.filter.select(&mut state.filter, pairs, &mut state.kept)?;
        Ok(&state.kept)
    }
}

/// Keeps the values at `positions`, ascending.
pub(crate) fn keep(values: &mut Vec<u32>, positions: &[u32]) {
    if positions.len() == values.len() {
        return;
    }
    for (to, &from) in positions.iter().enumerate() {
        values[to] = values[from as usize];
    }
    values.truncate(positions.len());
}

/// A condition whose truth value matters, NULL included.
pub(crate) struct PairTruth {
    /// The columns read.
    pub columns: PairColumns,
    program: Program,
}

/// A worker's scratch for a [`PairTruth`].
pub(crate) struct PairTruthState {
    memory: Vec<Buffer>,
    program: ProgramState,
}

/// What a condition is for a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    /// TRUE.
    True,
    /// FALSE.
    False,
    /// NULL.
    Unknown,
}

impl PairTruth {
    /// Compiles a conjunction.
    pub fn new(conditions: Vec<Expr>, core: &Core) -> Result<Self> {
        let condition = Expr::and(conditions);
        let columns = PairColumns::new(std::slice::from_ref(&condition), core)?;
        let program = Program::compile(&condition, &columns.layout)?;
        Ok(Self { columns, program })
    }

    /// A worker's scratch.
    pub fn state(&self) -> PairTruthState {
        PairTruthState { memory: Vec::new(), program: self.program.state() }
    }

    /// The condition for these pairs.
    pub fn of_pairs(
        &self,
        state: &mut PairTruthState,
        probe: &Batch,
        build: &[Vector],
        probe_rows: &[u32],
        build_rows: &[u32],
    ) -> Result<Vector> {
        let pairs = self.columns.batch(&mut state.memory, probe, build, probe_rows, build_rows);
        self.of_batch(state, &pairs)
    }

    /// The condition for the pairs of a batch.
    pub fn of_batch(&self, state: &mut PairTruthState, pairs: &Batch) -> Result<Vector> {
        Ok(self.program.eval(&mut state.program, pairs)?.flatten())
    }
}

/// The truth value at `row` of a flat BOOLEAN vector.
#[inline]
pub(crate) fn truth_at(vector: &Vector, row: usize) -> Truth {
    if vector.is_null(row) {
        Truth::Unknown
    } else if vector.values::<u8>()[row] != 0 {
        Truth::True
    } else {
        Truth::False
    }
}

//! UNNEST: each row once per element of its lists.
//!
//! Streaming: an input batch becomes as many batches as its elements fill. Columns of the input are repeated by position
//! (views, not bytes), elements are views into the lists. Memory is that of one batch's elements, which lie in the input's
//! heap already but for their views and fixed-width values.

use crate::expression::{PartRows, Program, ProgramState};
use crate::pipeline::{Flow, Operator, Push};
use inlay_types::nested::unpack_lists;
use inlay_types::{Batch, Bitmap, Interrupt, LogicalType, MemoryBudget, Result, VECTOR_SIZE, Vector};

/// What to do.
pub struct UnnestOptions {
    /// Computes the lists.
    pub lists: Program,
    /// The types of their elements: layers of lists come off until the type is this.
    pub elements: Vec<LogicalType>,
    /// Which of the input's columns are handed on, in order.
    pub passed: Vec<usize>,
    /// Which elements are handed on behind them, in order.
    pub made: Vec<usize>,
    /// Whether a column behind these numbers the elements of a row.
    pub ordinality: bool,
    /// Whether a row without elements stays, with NULLs.
    pub keep_empty: bool,
}

/// The operator.
pub struct Unnest {
    options: UnnestOptions,
    budget: MemoryBudget,
    interrupt: Interrupt,
}

impl Unnest {
    /// An operator of one query.
    pub fn new(options: UnnestOptions, budget: MemoryBudget, interrupt: Interrupt) -> Self {
        Self { options, budget, interrupt }
    }
}

/// All elements of one list column: row `i` has `offsets[i] .. offsets[i + 1]`. A list that is the same in all rows is there once.
struct Elements {
    child: Vector,
    offsets: Vec<u32>,
    is_constant: bool,
}

impl Elements {
    fn of(lists: &Vector, element: &LogicalType) -> Result<Self> {
        let is_constant = lists.is_constant() && lists.len() > 1;
        let (mut child, mut offsets) =
            unpack_lists(&if is_constant { lists.slice(0, 1) } else { lists.clone() })?;
        while child.ty() != element {
            let (inner, starts) = unpack_lists(&child)?;
            offsets.iter_mut().for_each(|offset| *offset = starts[*offset as usize]);
            child = inner;
        }
        Ok(Self { child, offsets, is_constant })
    }

    /// The elements of a run that has no rows but theirs.
    fn slice(&self, run: &Run) -> Vector {
        let first = run.rows.first().zip(run.numbers.first());
        let from = first.map_or(0, |(&row, &number)| self.start(row as usize) + number);
        self.child.slice(from as usize, run.rows.len())
    }

    /// Whether the elements of a run that has no rows but theirs lie one behind the other.
    fn lie_in_order(&self, run: &Run) -> bool {
        !self.is_constant || run.rows.first() == run.rows.last()
    }

    /// Where the elements of a row begin.
    fn start(&self, row: usize) -> u32 {
        self.offsets[if self.is_constant { 0 } else { row }]
    }

    fn count(&self, row: usize) -> usize {
        let row = if self.is_constant { 0 } else { row };
        (self.offsets[row + 1] - self.offsets[row]) as usize
    }
}

/// A run of output rows: the input row of each, and which of its elements.
#[derive(Default)]
struct Run {
    rows: Vec<u32>,
    numbers: Vec<u32>,
}

/// What one worker has.
pub struct Local {
    state: ProgramState,
    part_rows: PartRows,
}

impl Operator for Unnest {
    type Local = Local;

    fn local(&self) -> Local {
        Local { state: self.options.lists.state(), part_rows: PartRows::default() }
    }

    fn process(&self, input: Batch, local: &mut Local, push: Push<'_>) -> Result<Flow> {
        let Local { state, part_rows } = local;
        if !self.options.lists.may_be_repeated() {
            let elements = self.elements(state, &input)?;
            return self.push_all(&input, &elements, push);
        }
        let mut flow = Flow::More;
        part_rows.each(
            &input,
            &self.budget,
            |part| self.elements(state, part),
            |part, elements| {
                flow = self.push_all(part, &elements, &mut *push)?;
                Ok(flow == Flow::More)
            },
        )?;
        Ok(flow)
    }
}

impl Unnest {
    /// The elements of all lists of a batch. Those of fixed width, and views of others, are asked for when they are taken out.
    fn elements(&self, state: &mut ProgramState, input: &Batch) -> Result<Vec<Elements>> {
        let lists = self.options.lists.eval_all(state, input)?;
        let types = self.options.elements.iter();
        lists.iter().zip(types).map(|(list, element)| Elements::of(list, element)).collect()
    }

    /// Pushes a row per element.
    fn push_all(&self, input: &Batch, elements: &[Elements], push: Push<'_>) -> Result<Flow> {
        let mut run = Run::default();
        for row in 0..input.len() {
            let count = elements.iter().map(|list| list.count(row)).max().unwrap_or(0);
            let count = if self.options.keep_empty { count.max(1) } else { count };
            for number in 0..count {
                run.rows.push(row as u32);
                run.numbers.push(number as u32);
                if run.rows.len() == VECTOR_SIZE {
                    self.interrupt.check()?;
                    if push(self.batch(input, elements, &run)?)? == Flow::Done {
                        return Ok(Flow::Done);
                    }
                    run.rows.clear();
                    run.numbers.clear();
                }
            }
        }
        if run.rows.is_empty() { Ok(Flow::More) } else { push(self.batch(input, elements, &run)?) }
    }

    fn batch(&self, input: &Batch, elements: &[Elements], run: &Run) -> Result<Batch> {
        let options = &self.options;
        let len = run.rows.len();
        let mut columns: Vec<Vector> =
            options.passed.iter().map(|&index| input.column(index).take(&run.rows)).collect();
        // The elements of one list lie in the order of the rows, whatever their counts.
        let in_order =
            elements.len() == 1 && !options.keep_empty && elements.iter().all(|list| list.lie_in_order(run));
        let made = |&index: &usize| {
            let list: &Elements = &elements[index];
            if in_order { list.slice(run) } else { gathered(list, run) }
        };
        columns.extend(options.made.iter().map(made));
        if options.ordinality {
            let is_filler = |at: usize| {
                let row = run.rows[at] as usize;
                elements.iter().all(|list| list.count(row) <= run.numbers[at] as usize)
            };
            let numbers: Vec<i64> = run.numbers.iter().map(|&number| i64::from(number) + 1).collect();
            let mut numbers = Vector::from_values(LogicalType::BigInt, &numbers);
            if options.keep_empty && (0..len).any(is_filler) {
                numbers.set_validity(Some(Bitmap::from_fn(len, |at| !is_filler(at))));
                numbers.normalize_nulls();
            }
            columns.push(numbers);
        }
        Ok(Batch::new(columns, len))
    }
}

/// The elements of a run; NULL behind the end of a list.
fn gathered(list: &Elements, run: &Run) -> Vector {
    let within = |at: usize| (run.numbers[at] as usize) < list.count(run.rows[at] as usize);
    if list.child.is_empty() {
        return Vector::nulls(list.child.logical_type(), run.rows.len());
    }
    let position = |at: usize| {
        if within(at) { list.start(run.rows[at] as usize) + run.numbers[at] } else { 0 }
    };
    let positions: Vec<u32> = (0..run.rows.len()).map(position).collect();
    let mut values = list.child.take(&positions);
    if !(0..run.rows.len()).all(within) {
        let validity =
            Bitmap::from_fn(positions.len(), |at| within(at) && !list.child.is_null(positions[at] as usize));
        values.set_validity(Some(validity));
        values.normalize_nulls();
    }
    values
}

//! UNNEST: each row once per element of its lists.
//!
//! Streaming: an input batch becomes as many batches as its elements fill. Columns of the input are repeated by position
//! (views, not bytes), elements are views into the lists. Memory is that of one batch's elements, which lie in the input's
//! heap already but for their views and fixed-width values.

use super::interleave::Interleaved;
use crate::expression::{PartRows, Program, ProgramState};
use crate::pipeline::{Flow, Operator, Push};
use inlay_types::nested::unpack_lists;
use inlay_types::{
    Batch, Bitmap, Buffer, Dictionary, Interrupt, LogicalType, MemoryBudget, Result, VECTOR_SIZE, Value,
    Vector,
};
use std::sync::Arc;

/// What to do.
pub struct UnnestOptions {
    /// Computes the lists, or the elements of those that are made here.
    pub lists: Program,
    /// For each list: how many elements are computed in its place, one behind the other.
    pub elements_made: Vec<Option<usize>>,
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
    /// Whether whoever reads the rows takes them in any order.
    pub any_order: bool,
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

/// All elements of one list column.
enum Elements {
    /// Of lists that are taken apart.
    Lists(Lists),
    /// Of lists that would have been made of these, one of each.
    Made(Interleaved),
}

impl Elements {
    fn count(&self, row: usize) -> usize {
        match self {
            Self::Lists(lists) => lists.count(row),
            Self::Made(made) => made.count(),
        }
    }

    /// How many elements each row has, if that is the same in all.
    fn count_of_all(&self) -> Option<usize> {
        match self {
            Self::Lists(lists) => lists.is_constant.then(|| lists.count(0)),
            Self::Made(made) => Some(made.count()),
        }
    }

    /// Element `number`, which all rows have, of each row.
    fn of_all(&self, number: usize, len: usize) -> Vector {
        match self {
            Self::Lists(lists) => lists.child.repeated(lists.start(0) as usize + number, len),
            Self::Made(made) => made.column(number).clone(),
        }
    }

    fn gathered(&self, run: &Run, in_order: bool) -> Vector {
        match self {
            Self::Lists(lists) if in_order && lists.lie_in_order(run) => lists.slice(run),
            Self::Lists(lists) => gathered(lists, run),
            Self::Made(made) => made.pick(&run.rows, &run.numbers),
        }
    }
}

/// Row `i` has elements `offsets[i] .. offsets[i + 1]`. A list that is the same in all rows is there once.
struct Lists {
    child: Vector,
    offsets: Vec<u32>,
    is_constant: bool,
    /// Texts of a list that is the same in all rows: who groups by them looks at each once.
    dictionary: Option<Arc<Dictionary>>,
}

/// The dictionaries of the lists that are the same in all rows, with the lists.
type Known = Vec<(Vector, Arc<Dictionary>)>;

impl Lists {
    fn of(lists: &Vector, element: &LogicalType, known: &mut Known) -> Result<Self> {
        let is_constant = lists.is_constant() && lists.len() > 1;
        let lists = if is_constant { lists.slice(0, 1) } else { lists.clone() };
        let (mut child, mut offsets) = unpack_lists(&lists)?;
        while child.ty() != element {
            let (inner, starts) = unpack_lists(&child)?;
            offsets.iter_mut().for_each(|offset| *offset = starts[*offset as usize]);
            child = inner;
        }
        let has_dictionary =
            is_constant && *element == LogicalType::Varchar && !child.is_empty() && child.null_count() == 0;
        let dictionary = has_dictionary.then(|| dictionary_of(&lists, &child, known));
        Ok(Self { child, offsets, is_constant, dictionary })
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

/// The dictionary of the elements of a list, the same for equal lists.
fn dictionary_of(list: &Vector, elements: &Vector, known: &mut Known) -> Arc<Dictionary> {
    let bytes = |list: &Vector| list.views()[0].bytes(list.heap().buffers()).to_vec();
    let same = known.iter().find(|(other, _)| other.ty() == list.ty() && bytes(other) == bytes(list));
    if let Some((_, dictionary)) = same {
        return Arc::clone(dictionary);
    }
    let mut values = elements.flatten();
    values.set_validity(None);
    let dictionary = Dictionary::new(values);
    known.push((list.clone(), Arc::clone(&dictionary)));
    dictionary
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
    known: Known,
}

impl Operator for Unnest {
    type Local = Local;

    fn local(&self) -> Local {
        Local { state: self.options.lists.state(), part_rows: PartRows::default(), known: Known::new() }
    }

    fn process(&self, input: Batch, local: &mut Local, push: Push<'_>) -> Result<Flow> {
        let Local { state, part_rows, known } = local;
        if !self.options.lists.may_be_repeated() {
            let elements = self.elements(state, known, &input)?;
            return self.push_all(&input, &elements, push);
        }
        let mut flow = Flow::More;
        part_rows.each(
            &input,
            &self.budget,
            |part| self.elements(state, known, part),
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
    fn elements(&self, state: &mut ProgramState, known: &mut Known, input: &Batch) -> Result<Vec<Elements>> {
        let made = self.options.lists.eval_all(state, input)?;
        let mut rest = &made[..];
        let mut elements = Vec::with_capacity(self.options.elements.len());
        for (count, element) in self.options.elements_made.iter().zip(&self.options.elements) {
            let (own, others) = rest.split_at(count.unwrap_or(1));
            rest = others;
            elements.push(match (count, own) {
                (None, [list]) => Elements::Lists(Lists::of(list, element, known)?),
                _ => Elements::Made(Interleaved::new(element, own)),
            });
        }
        Ok(elements)
    }

    /// How many rows a row of the input becomes.
    fn count(&self, elements: &[Elements], row: usize) -> usize {
        let count = elements.iter().map(|list| list.count(row)).max().unwrap_or(0);
        if self.options.keep_empty { count.max(1) } else { count }
    }

    /// Pushes rows of which nobody reads more than that they are there.
    fn push_counted(&self, rows: usize, elements: &[Elements], push: Push<'_>) -> Result<Flow> {
        let total: usize = (0..rows).map(|row| self.count(elements, row)).sum();
        for from in (0..total).step_by(VECTOR_SIZE) {
            if from % (VECTOR_SIZE << 10) == 0 {
                self.interrupt.check()?;
            }
            if push(Batch::new(Vec::new(), VECTOR_SIZE.min(total - from)))? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }

    /// Pushes a row per element.
    fn push_all(&self, input: &Batch, elements: &[Elements], push: Push<'_>) -> Result<Flow> {
        if self.options.passed.is_empty() && self.options.made.is_empty() && !self.options.ordinality {
            return self.push_counted(input.len(), elements, push);
        }
        if self.options.any_order
            && let Some(count) = count_of_each(elements)
        {
            return self.push_columns(input, elements, count, push);
        }
        let mut run = Run::default();
        for row in 0..input.len() {
            for number in 0..self.count(elements, row) {
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

    /// Pushes the first elements of all rows, then the second ones, and so on: nothing is copied.
    fn push_columns(
        &self,
        input: &Batch,
        elements: &[Elements],
        count: usize,
        push: Push<'_>,
    ) -> Result<Flow> {
        let (options, len) = (&self.options, input.len());
        for number in 0..count {
            self.interrupt.check()?;
            let mut columns: Vec<Vector> =
                options.passed.iter().map(|&index| input.column(index).clone()).collect();
            columns.extend(options.made.iter().map(|&index| elements[index].of_all(number, len)));
            if options.ordinality {
                columns.push(Vector::constant(LogicalType::BigInt, &Value::BigInt(number as i64 + 1), len)?);
            }
            if push(Batch::new(columns, len))? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }

    fn batch(&self, input: &Batch, elements: &[Elements], run: &Run) -> Result<Batch> {
        let options = &self.options;
        let len = run.rows.len();
        let mut columns: Vec<Vector> =
            options.passed.iter().map(|&index| input.column(index).take(&run.rows)).collect();
        // The elements of one list lie in the order of the rows, whatever their counts.
        let in_order = elements.len() == 1 && !options.keep_empty;
        let made = |&index: &usize| elements[index].gathered(run, in_order);
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

/// How many elements each list has in each row, if that is the same.
fn count_of_each(elements: &[Elements]) -> Option<usize> {
    let (first, others) = elements.split_first()?;
    let count = first.count_of_all().filter(|count| *count > 0)?;
    others.iter().all(|other| other.count_of_all() == Some(count)).then_some(count)
}

/// The elements of a run; NULL behind the end of a list.
fn gathered(list: &Lists, run: &Run) -> Vector {
    let within = |at: usize| (run.numbers[at] as usize) < list.count(run.rows[at] as usize);
    if list.child.is_empty() {
        return Vector::nulls(list.child.logical_type(), run.rows.len());
    }
    let position = |at: usize| {
        if within(at) { list.start(run.rows[at] as usize) + run.numbers[at] } else { 0 }
    };
    let positions: Vec<u32> = (0..run.rows.len()).map(position).collect();
    let all_within = (0..run.rows.len()).all(within);
    if let Some(dictionary) = list.dictionary.as_ref().filter(|_| all_within) {
        let len = positions.len();
        return Vector::dictionary(Arc::clone(dictionary), Buffer::from_vec(positions), len, None);
    }
    let mut values = list.child.take(&positions);
    if !all_within {
        let validity =
            Bitmap::from_fn(positions.len(), |at| within(at) && !list.child.is_null(positions[at] as usize));
        values.set_validity(Some(validity));
        values.normalize_nulls();
    }
    values
}

//! Lambdas: a program run on all elements of all lists of a batch at once.
//!
//! The lists are taken apart into one vector of elements; what the body reads of the row around is repeated for each of
//! its elements. A reduction runs its body once per position: on the first elements of all lists, then on the second
//! ones, and so on, with the rows whose lists are that long.

use super::{Layout, Program, attempt};
use inlay_kernels::boolean;
use inlay_sql::plan::{Expr, Lambda, LambdaKind};
use inlay_types::limits::{self, Meter};
use inlay_types::nested::{pack_lists, unpack_lists};
use inlay_types::{Batch, Bitmap, Error, LogicalType, Result, Vector, VectorBuilder};

/// So many elements are worked on at once.
const PART_ELEMENTS: usize = 1 << 16;
/// After how many elements a reduction looks at the interrupt flag.
const CHECKED_EVERY: usize = 256;

/// A lambda compiled.
pub(super) struct Mapping {
    kind: LambdaKind,
    has_initial: bool,
    takes_position: bool,
    /// The body is evaluated for each row, even if all of them are the same.
    is_volatile: bool,
    body: Program,
    ty: LogicalType,
    /// What filters the list first, and how many of the first arguments are its own.
    filter: Option<(Box<Mapping>, usize)>,
}

/// The lists of a batch taken apart.
#[derive(Clone)]
struct Lists<'a> {
    elements: Vector,
    /// Where the elements of each row begin.
    offsets: Vec<u32>,
    validity: Option<Bitmap>,
    captured: &'a [&'a Vector],
    len: usize,
}

impl Mapping {
    pub(super) fn new(lambda: &Lambda) -> Result<Self> {
        let fixed = if lambda.kind == LambdaKind::Reduce { 2 } else { 1 };
        let columns = lambda.parameters.iter().chain(&lambda.captured).copied().collect();
        let body = Program::compile(&lambda.body, &Layout(columns))?;
        let is_of_rows = matches!(lambda.kind, LambdaKind::Try | LambdaKind::Once);
        Ok(Self {
            kind: lambda.kind,
            has_initial: lambda.has_initial,
            takes_position: lambda.parameters.len() > fixed,
            is_volatile: lambda.body.is_volatile(),
            body: if is_of_rows { body.over_rows() } else { body },
            ty: lambda.ty.clone(),
            filter: None,
        })
    }

    /// The same on what another lambda leaves of its list, which is not made a list in between: its arguments come first, in the
    /// place of the list. (What a transformation makes is made one: there zero and NaN have one form.)
    pub(super) fn behind_filter(lambda: &Lambda, filter: &Lambda) -> Result<Self> {
        let filter = (Box::new(Self::new(filter)?), filter.args.len());
        Ok(Self { filter: Some(filter), ..Self::new(lambda)? })
    }

    /// The lambda that filters the list of another one, if they may go together.
    pub(super) fn filter_of(lambda: &Lambda) -> Option<&Lambda> {
        let takes_list =
            matches!(lambda.kind, LambdaKind::Transform | LambdaKind::Filter | LambdaKind::Reduce);
        let Some(Expr::Lambda(filter)) = lambda.args.first() else { return None };
        let is_filter = filter.kind == LambdaKind::Filter && filter.body.is_deterministic();
        (takes_list && is_filter).then_some(filter)
    }

    /// `args` are the list, or the values that are computed once, the first value of a reduction that has one, and what the
    /// body captures.
    pub(super) fn eval(&self, args: &[&Vector], len: usize) -> Result<Vector> {
        let is_one_row = len > 1 && !self.is_volatile && args.iter().all(|arg| arg.is_constant());
        if self.kind == LambdaKind::Once {
            let columns = args.iter().map(|&arg| arg.clone()).collect();
            return self.body.eval(&mut self.body.state(), &Batch::new(columns, len));
        }
        if self.kind == LambdaKind::Try {
            if is_one_row {
                let first: Vec<Vector> = args.iter().map(|arg| arg.slice(0, 1)).collect();
                let one = attempt::eval(&self.body, &first.iter().collect::<Vec<_>>(), &self.ty, 1)?;
                return Ok(one.repeated(0, len));
            }
            return attempt::eval(&self.body, args, &self.ty, len);
        }
        if is_one_row {
            let first: Vec<Vector> = args.iter().map(|arg| arg.slice(0, 1)).collect();
            let one = self.eval(&first.iter().collect::<Vec<_>>(), 1)?;
            return Ok(one.repeated(0, len));
        }
        let (list, rest) = args.split_at(self.filter.as_ref().map_or(1, |(_, count)| *count));
        let (initial, captured) = match rest.split_first() {
            Some((initial, captured)) if self.has_initial => (Some(*initial), captured),
            _ => (None, rest),
        };
        let lists = Lists { captured, ..self.taken_apart(list, len)? };
        match self.kind {
            LambdaKind::Transform => {
                let values = self.on_all(&lists)?;
                pack_lists(&self.ty, &values, &lists.offsets, lists.validity.as_ref())
            }
            LambdaKind::Filter => {
                let (kept, offsets) = self.filtered(&lists)?;
                pack_lists(&self.ty, &kept, &offsets, lists.validity.as_ref())
            }
            LambdaKind::Reduce => self.reduced(&lists, initial),
            LambdaKind::Try | LambdaKind::Once => {
                Err(Error::internal(format!("{} has no list", self.kind.name())))
            }
        }
    }

    /// The elements of the lists that `args` are, or of those that the filter leaves of them.
    fn taken_apart(&self, args: &[&Vector], len: usize) -> Result<Lists<'static>> {
        let (list, captured) =
            args.split_first().ok_or_else(|| Error::internal("a lambda without a list"))?;
        let of = |list: &Vector| -> Result<Lists<'static>> {
            let flat = list.flatten();
            let (elements, offsets) = unpack_lists(&flat)?;
            Ok(Lists { elements, offsets, validity: flat.validity().cloned(), captured: &[], len })
        };
        let Some((filter, _)) = &self.filter else { return of(list) };
        // What is the same in all rows is filtered once.
        if len > 1 && args.iter().all(|arg| arg.is_constant()) {
            return of(&filter.eval(args, len)?);
        }
        let lists = of(list)?;
        let (elements, offsets) = filter.filtered(&Lists { captured, ..lists.clone() })?;
        Ok(Lists { elements, offsets, ..lists })
    }

    /// The body's value for each element.
    fn on_all(&self, lists: &Lists<'_>) -> Result<Vector> {
        let count = lists.elements.len();
        if count == 0 {
            return Ok(Vector::empty(self.body.types().swap_remove(0)));
        }
        let mut rows = Vec::new();
        let mut positions: Vec<i64> = Vec::new();
        let repeats = !lists.captured.is_empty() || self.takes_position;
        let repeated = if repeats { lists.len } else { 0 };
        limits::grow(&mut rows, if repeats { count } else { 0 })?;
        limits::grow(&mut positions, if self.takes_position { count } else { 0 })?;
        for row in 0..repeated {
            let size = lists.size(row);
            rows.extend(std::iter::repeat_n(row as u32, size));
            if self.takes_position {
                positions.extend(1..=size as i64);
            }
        }
        let mut state = self.body.state();
        let mut part = |from: usize, len: usize| -> Result<Vector> {
            let mut columns = vec![lists.elements.slice(from, len)];
            if self.takes_position {
                columns.push(numbers(&positions[from..from + len]));
            }
            columns.extend(lists.captured.iter().map(|captured| captured.take(&rows[from..from + len])));
            Ok(self.body.eval(&mut state, &Batch::new(columns, len))?.flatten())
        };
        if count <= PART_ELEMENTS {
            return part(0, count);
        }
        // The steps of the body are as long as what it is given.
        let mut meter = Meter::new();
        let ty = self.body.types().swap_remove(0);
        meter.add(count.saturating_mul(ty.physical().size()))?;
        let mut all = VectorBuilder::new(ty, count);
        for from in (0..count).step_by(PART_ELEMENTS) {
            limits::check()?;
            let made = part(from, PART_ELEMENTS.min(count - from))?;
            meter.add(made.text_size())?;
            all.append(&made);
        }
        Ok(all.finish().holding(meter.finish()))
    }

    /// The elements that stay, and where those of each row begin.
    fn filtered(&self, lists: &Lists<'_>) -> Result<(Vector, Vec<u32>)> {
        let truth = self.on_all(lists)?;
        // The places of what stays, and a copy of it.
        let width = lists.elements.physical_type().size() + size_of::<u32>();
        limits::need(lists.elements.len().saturating_mul(2 * width))?;
        let mut hits = Vec::new();
        boolean::select_true(&truth, lists.elements.len(), None, &mut hits);
        let kept = lists.elements.take(&hits);
        Ok((kept.flatten(), counts_before(hits, &lists.offsets)))
    }

    fn reduced(&self, lists: &Lists<'_>, initial: Option<&Vector>) -> Result<Vector> {
        let skipped = usize::from(initial.is_none());
        let is_null = |row: usize| lists.validity.as_ref().is_some_and(|validity| !validity.get(row));
        if initial.is_none() && (0..lists.len).any(|row| lists.size(row) == 0 && !is_null(row)) {
            let message =
                "list_reduce of an empty list needs an initial value: list_reduce(list, lambda, value)";
            return Err(Error::invalid_argument(message));
        }
        let mut rows: Vec<u32> = (0..lists.len as u32).filter(|&row| !is_null(row as usize)).collect();
        let mut value = match initial {
            Some(initial) => initial.take(&rows),
            None => {
                let firsts: Vec<u32> = rows.iter().map(|&row| lists.offsets[row as usize]).collect();
                let mut first = Vector::empty(LogicalType::Null);
                inlay_kernels::cast(&lists.elements.take(&firsts), &self.ty, false, &mut first)?;
                first
            }
        };
        // Per row: which of the vectors of final values holds its own, and where.
        let mut finals: Vec<Vector> = Vec::new();
        let mut places: Vec<Option<(usize, usize)>> = vec![None; lists.len];
        let mut state = self.body.state();
        let mut position = skipped;
        while !rows.is_empty() {
            if position.is_multiple_of(CHECKED_EVERY) {
                limits::check()?;
            }
            let goes_on: Vec<bool> = rows.iter().map(|&row| lists.size(row as usize) > position).collect();
            if goes_on.contains(&false) {
                let done = indices_of(&goes_on, false);
                for (index, &at) in done.iter().enumerate() {
                    places[rows[at as usize] as usize] = Some((finals.len(), index));
                }
                finals.push(value.take(&done));
                let left = indices_of(&goes_on, true);
                value = value.take(&left);
                rows = left.iter().map(|&at| rows[at as usize]).collect();
                if rows.is_empty() {
                    break;
                }
            }
            let elements: Vec<u32> =
                rows.iter().map(|&row| lists.offsets[row as usize] + position as u32).collect();
            let mut columns = vec![value, lists.elements.take(&elements)];
            if self.takes_position {
                columns.push(numbers(&vec![position as i64 + 1; rows.len()]));
            }
            columns.extend(lists.captured.iter().map(|captured| captured.take(&rows)));
            value = self.body.eval(&mut state, &Batch::new(columns, rows.len()))?;
            position += 1;
        }
        if let ([only], true) = (finals.as_slice(), places.iter().all(Option::is_some)) {
            // All lists are of one size.
            return Ok(only.clone());
        }
        let mut all = VectorBuilder::new(self.ty.clone(), lists.len + 1);
        let mut starts = Vec::with_capacity(finals.len());
        for values in &finals {
            starts.push(all.len());
            all.append(&values.flatten());
        }
        let null = all.len();
        all.push_null();
        let row_of = |place: Option<(usize, usize)>| place.map_or(null, |(part, index)| starts[part] + index);
        let rows: Vec<u32> = places.into_iter().map(|place| row_of(place) as u32).collect();
        Ok(all.finish().take(&rows))
    }
}

impl Lists<'_> {
    fn size(&self, row: usize) -> usize {
        (self.offsets[row + 1] - self.offsets[row]) as usize
    }
}

/// How many of ascending positions lie in front of each of some that ascend as well.
fn counts_before(mut positions: Vec<u32>, ends: &[u32]) -> Vec<u32> {
    /// Looked at together, as a branch for each would be foreseen badly.
    const TOGETHER: usize = 4;
    let mut before = 0;
    // None of these lies in front of anything.
    positions.extend([u32::MAX; TOGETHER]);
    let mut count = |&end: &u32| {
        while let Some(next) = positions[before..].first_chunk::<TOGETHER>() {
            let passed = next.iter().map(|position| usize::from(*position < end)).sum::<usize>();
            before += passed;
            if passed < TOGETHER {
                break;
            }
        }
        before as u32
    };
    ends.iter().map(&mut count).collect()
}

fn indices_of(flags: &[bool], wanted: bool) -> Vec<u32> {
    (0..flags.len() as u32).filter(|&index| flags[index as usize] == wanted).collect()
}

fn numbers(values: &[i64]) -> Vector {
    Vector::from_values(LogicalType::BigInt, values)
}

#[cfg(test)]
mod tests {
    use super::counts_before;

    #[test]
    fn positions_in_front_of_ends_are_counted() {
        let mut state = 3u32;
        let mut below = |bound: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % bound
        };
        for round in 0..300 {
            let positions: Vec<u32> = (0..200).filter(|_| below(4) >= round % 4).collect();
            let mut ends: Vec<u32> = (0..below(40)).map(|_| below(220)).collect();
            ends.sort_unstable();
            let one = |end: &u32| positions.iter().filter(|position| *position < end).count() as u32;
            let expected: Vec<u32> = ends.iter().map(one).collect();
            assert_eq!(counts_before(positions.clone(), &ends), expected);
        }
    }
}

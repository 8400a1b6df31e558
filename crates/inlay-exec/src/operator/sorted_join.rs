//! Joins by inequalities: the build side is sorted, each probe row finds its partners by binary search.
//!
//! - ASOF: of the build rows with equal keys that satisfy the inequality, the nearest one; see [`nearest`].
//! - Range: conditions with one or two inequalities and no equality. Sorted by the first inequality's side, so its
//!   partners are one stretch; for the second one, a tree over that order holds the largest (or smallest) rank of each
//!   part, so that only rows which satisfy both are visited: `O(log n)` per partner rather than per row.
//!
//! The probe side streams in any order, on any number of workers. NULL has no partner. The build side and its order lie
//! in memory; without enough of it the query fails.

mod nearest;

use super::hash_join::core::{Core, CoreState, ProbeKind, columns_read};
use super::hash_join::pairs::{PairFilter, PairFilterState};
use super::hash_join::rows::{BuildRows, Collected, Collection};
use super::hash_join::{JoinOptions, JoinOuterScan, JoinParts};
use super::sort::key::{KeyColumns, KeyOrder};
use crate::ExecContext;
use crate::expression::{Program, ProgramState};
use crate::pipeline::{Flow, Handout, Operator, Push, Sink};
use inlay_sql::plan::{CompareOp, Expr, JoinKind, SortKey};
use inlay_types::{
    Batch, Error, LogicalType, MemoryBudget, Reservation, Result, VECTOR_SIZE, Vector, limits,
};
use nearest::{Nearest, NearestState};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// `probe op build`.
#[derive(Clone, Debug)]
struct Inequality {
    probe: Expr,
    op: CompareOp,
    build: Expr,
}

/// What is asked of each probe row.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// The nearest partner among rows with equal keys.
    Nearest,
    /// All partners; with a second inequality or not.
    Range { two: bool },
}

struct SortedJoin {
    core: Core,
    mode: Mode,
    /// Of the inequalities, in the order of the key columns.
    ops: Vec<CompareOp>,
    build_keys: Vec<Program>,
    probe_keys: Vec<Program>,
    key_types: Vec<LogicalType>,
    /// What else must hold.
    filter: Option<PairFilter>,
    collection: Collection,
    budget: MemoryBudget,
    index: OnceLock<Built>,
}

impl AsRef<Core> for SortedJoin {
    fn as_ref(&self) -> &Core {
        &self.core
    }
}

/// The build rows in their order, as the mode wants them.
enum Built {
    Nearest(Nearest),
    Range(Index),
}

impl Built {
    fn is_empty(&self) -> bool {
        match self {
            Self::Nearest(nearest) => nearest.is_empty(),
            Self::Range(index) => index.sorted.is_empty(),
        }
    }
}

/// The build rows in the order of the first inequality.
struct Index {
    order: KeyOrder,
    keys: KeyColumns,
    /// Rows without NULL keys, in the order of `keys`.
    sorted: Vec<u32>,
    heads: Heads,
    second: Option<Second>,
    _reserved: Reservation,
}

/// The second inequality.
struct Second {
    order: KeyOrder,
    keys: KeyColumns,
    sorted: Vec<u32>,
    heads: Heads,
    /// Partners have ranks from the bound on; otherwise below it.
    upwards: bool,
    /// A tree over the ranks, in the order of the first inequality: node `i` has the children `2i` and `2i + 1`.
    tree: Vec<u32>,
    leaves: usize,
}

/// Prefixes of keys in their order, so that a search looks at a few cache lines, not at a row here and there for each step.
struct Heads {
    all: Vec<u128>,
    /// The first one of each [`HEADS_STEP`].
    tops: Vec<u128>,
}

/// Heads of 4 KiB.
const HEADS_STEP: usize = 256;

impl Heads {
    fn new(keys: &KeyColumns, sorted: &[u32]) -> Result<Self> {
        let mut all = Vec::with_capacity(sorted.len());
        for part in limits::steps(sorted.len()) {
            all.extend(sorted[part?].iter().map(|&row| keys.prefix(row as usize)));
        }
        let tops = all.iter().step_by(HEADS_STEP).copied().collect();
        Ok(Self { all, tops })
    }

    /// The places of the heads that equal a prefix: the first one that is not below it, and the first one above it.
    fn range_of(&self, prefix: u128) -> (usize, usize) {
        let search = |is_before: &dyn Fn(&u128) -> bool| {
            // Of the part whose first head is the last one before.
            let part = self.tops.partition_point(is_before).saturating_sub(1) * HEADS_STEP;
            let end = self.all.len().min(part + HEADS_STEP);
            part + self.all[part..end].partition_point(is_before)
        };
        let from = search(&|head| *head < prefix);
        let is_there = self.all.get(from) == Some(&prefix);
        (from, if is_there { search(&|head| *head <= prefix) } else { from })
    }
}

/// Plans an ASOF join. The last of `conditions` is the inequality; `options.keys` the equalities.
pub fn plan_asof_join(options: &JoinOptions, inequality: &Expr, context: &ExecContext) -> Result<JoinParts> {
    let inequality = as_inequality(inequality, options)
        .ok_or_else(|| Error::internal("an ASOF join without an inequality between its sides"))?;
    // The probe side's first.
    let of_key = |key: &super::hash_join::JoinKey| match options.build_left {
        true => (key.right.clone(), key.left.clone()),
        false => (key.left.clone(), key.right.clone()),
    };
    let mut sides: Vec<(Expr, Expr)> = options.keys.iter().map(of_key).collect();
    sides.push((inequality.probe, inequality.build));
    plan(options, Mode::Nearest, sides, vec![inequality.op], &[], context)
}

/// Plans a join whose conditions have an inequality between the sides; `None` if there is none to use.
pub fn plan_range_join(options: &JoinOptions, context: &ExecContext) -> Result<Option<JoinParts>> {
    if matches!(options.kind, JoinKind::Mark(_) | JoinKind::Single) {
        return Ok(None);
    }
    let mut used: Vec<Inequality> = Vec::new();
    let mut rest = Vec::new();
    for condition in &options.conditions {
        match as_inequality(condition, options).filter(|_| used.len() < 2) {
            Some(inequality) => used.push(inequality),
            None => rest.push(condition.clone()),
        }
    }
    if used.is_empty() {
        return Ok(None);
    }
    let ops = used.iter().map(|inequality| inequality.op).collect();
    let mode = Mode::Range { two: used.len() == 2 };
    let sides = used.into_iter().map(|inequality| (inequality.probe, inequality.build)).collect();
    plan(options, mode, sides, ops, &rest, context).map(Some)
}

/// A condition as `probe op build`.
fn as_inequality(condition: &Expr, options: &JoinOptions) -> Option<Inequality> {
    let Expr::Compare { op, left, right } = condition else { return None };
    if !matches!(op, CompareOp::Lt | CompareOp::LtEq | CompareOp::Gt | CompareOp::GtEq) {
        return None;
    }
    let (probe, build) = match options.build_left {
        true => (&options.right, &options.left),
        false => (&options.left, &options.right),
    };
    let of_side = |expr: &Expr, side: &super::hash_join::JoinSide| {
        let columns = expr.columns();
        !columns.is_empty() && expr.is_deterministic() && columns.iter().all(|id| side.columns.contains(id))
    };
    let (left, right) = (&**left, &**right);
    if of_side(left, probe) && of_side(right, build) {
        Some(Inequality { probe: left.clone(), op: *op, build: right.clone() })
    } else if of_side(left, build) && of_side(right, probe) {
        Some(Inequality { probe: right.clone(), op: op.flipped(), build: left.clone() })
    } else {
        None
    }
}

fn plan(
    options: &JoinOptions,
    mode: Mode,
    sides: Vec<(Expr, Expr)>,
    ops: Vec<CompareOp>,
    rest: &[Expr],
    context: &ExecContext,
) -> Result<JoinParts> {
    let read = columns_read(rest.iter());
    let core = Core::new(options, &read, &HashMap::new())?;
    let compile = |expr: &Expr, layout| Program::compile(expr, layout);
    let (build_layout, probe_layout) = (core.build.layout(), core.probe.layout());
    let build_keys = sides.iter().map(|(_, build)| compile(build, &build_layout)).collect::<Result<_>>()?;
    let probe_keys = sides.iter().map(|(probe, _)| compile(probe, &probe_layout)).collect::<Result<_>>()?;
    let join = Arc::new(SortedJoin {
        mode,
        ops,
        build_keys,
        probe_keys,
        key_types: sides.iter().map(|(_, build)| build.ty()).collect(),
        filter: PairFilter::new(rest, &core)?,
        collection: Collection::default(),
        budget: context.budget.clone(),
        index: OnceLock::new(),
        core,
    });
    Ok(JoinParts {
        probe_emits: join.core.kind != ProbeKind::Track,
        outer: join.core.outer.map(|_| Arc::new(JoinOuterScan::new(Arc::clone(&join))) as _),
        build: Arc::new(SortedBuild(Arc::clone(&join))),
        probe: Arc::new(SortedProbe(join)),
    })
}

fn key_order(columns: usize) -> KeyOrder {
    let key = SortKey { expr: Expr::boolean(true), descending: false, nulls_first: false };
    KeyOrder::new(&vec![key; columns])
}

fn no_inequality() -> Error {
    Error::internal("a sorted join without an inequality")
}

fn has_null(keys: &[Vector], row: usize) -> bool {
    keys.iter().any(|key| key.is_null(row))
}

/// The sink of the build side's pipeline.
struct SortedBuild(Arc<SortedJoin>);

struct BuildLocal {
    collected: Collected,
    programs: Vec<ProgramState>,
}

impl Sink for SortedBuild {
    type Local = BuildLocal;

    fn local(&self) -> BuildLocal {
        let programs = self.0.build_keys.iter().map(Program::state).collect();
        BuildLocal { collected: Collected::new(&self.0.budget), programs }
    }

    fn handout(&self) -> Handout {
        Handout::Apart
    }

    fn start_morsel(&self, number: usize, local: &mut BuildLocal) {
        local.collected.start_morsel(number);
    }

    fn consume(&self, input: Batch, local: &mut BuildLocal) -> Result<Flow> {
        let stored = self.0.core.stored.iter();
        let mut columns: Vec<Vector> = stored.map(|index| input.column(*index).clone()).collect();
        for (program, state) in self.0.build_keys.iter().zip(&mut local.programs) {
            columns.push(program.eval(state, &input)?);
        }
        local.collected.push(columns, input.len(), false)?;
        Ok(Flow::More)
    }

    fn combine(&self, local: BuildLocal) -> Result<()> {
        self.0.collection.add(local.collected);
        Ok(())
    }

    fn finalize(&self, context: &ExecContext) -> Result<()> {
        let join = &*self.0;
        let chunks = join.collection.take()?;
        let reserved = chunks.reserve_columns(context)?;
        let stored = join.core.stored_types();
        let columns = chunks.columns(context, 0, &stored, true)?;
        let keys = chunks.columns(context, stored.len(), &join.key_types, true)?;
        let total = chunks.total;
        drop(chunks);
        let index = join.index_of(keys, total, context)?;
        join.index.set(index).map_err(|_| Error::internal("a sorted join was built twice"))?;
        join.core.set_rows(BuildRows::new(context, columns, total, join.core.track, reserved, 0)?)
    }
}

impl SortedJoin {
    fn index_of(&self, keys: Vec<Vector>, total: usize, context: &ExecContext) -> Result<Built> {
        let mut keys: Vec<Vector> = keys.iter().map(Vector::flatten).collect();
        match self.mode {
            Mode::Nearest => {
                let near = keys.pop().ok_or_else(no_inequality)?;
                Nearest::new(context, keys, near, total).map(Built::Nearest)
            }
            Mode::Range { two } => self.range_index(keys, two, total, context).map(Built::Range),
        }
    }

    fn range_index(
        &self,
        keys: Vec<Vector>,
        two: bool,
        total: usize,
        context: &ExecContext,
    ) -> Result<Index> {
        // Prefixes and places of the sort, the order, and the tree.
        let reserved = context.budget.reserve((total * 128) as u64)?;
        let has_partner = |row: &u32| !has_null(&keys, *row as usize);
        let sort = |columns: &[Vector]| {
            let order = key_order(columns.len());
            let sortable = KeyColumns::new(&order, Batch::new(columns.to_vec(), total));
            let places: Vec<u64> = (0..total as u64).collect();
            let mut sorted = sortable.sorted_rows(&order, &places)?;
            sorted.retain(has_partner);
            Ok::<_, Error>((order, sortable, sorted))
        };
        context.interrupt.check()?;
        let (order, first, sorted) = sort(if two { &keys[..1] } else { &keys })?;
        context.interrupt.check()?;
        let second = match (two, self.ops.get(1)) {
            (true, Some(op)) => {
                let (order, keys, by_second) = sort(&keys[1..])?;
                Some(Second::new(order, keys, by_second, &sorted, total, *op)?)
            }
            _ => None,
        };
        let heads = Heads::new(&first, &sorted)?;
        Ok(Index { order, keys: first, sorted, heads, second, _reserved: reserved })
    }
}

impl Second {
    fn new(
        order: KeyOrder,
        keys: KeyColumns,
        by_second: Vec<u32>,
        by_first: &[u32],
        total: usize,
        op: CompareOp,
    ) -> Result<Self> {
        let mut ranks = vec![0u32; total];
        for part in limits::steps(by_second.len()) {
            for rank in part? {
                ranks[by_second[rank] as usize] = rank as u32;
            }
        }
        // `probe < build`: partners are at and above the bound.
        let upwards = matches!(op, CompareOp::Lt | CompareOp::LtEq);
        let leaves = by_first.len().next_power_of_two();
        let neutral = if upwards { 0 } else { u32::MAX };
        let mut tree = vec![neutral; 2 * leaves];
        for part in limits::steps(by_first.len()) {
            for place in part? {
                tree[leaves + place] = ranks[by_first[place] as usize];
            }
        }
        for node in (1..leaves).rev() {
            let (left, right) = (tree[2 * node], tree[2 * node + 1]);
            tree[node] = if upwards { left.max(right) } else { left.min(right) };
        }
        let heads = Heads::new(&keys, &by_second)?;
        Ok(Self { order, keys, sorted: by_second, heads, upwards, tree, leaves })
    }

    /// Whether a part of the tree may have partners.
    fn may_match(&self, node: usize, bound: usize) -> bool {
        let rank = self.tree[node] as usize;
        if self.upwards { rank >= bound } else { rank < bound }
    }
}

/// Keys, their rows in order, and the prefixes of these.
type SortedKeys<'i> = (&'i KeyOrder, &'i KeyColumns, &'i [u32], &'i Heads);

/// The first place in `sorted` whose key is not below (`behind`: not at or below) the probe row's.
fn place_of(index: SortedKeys<'_>, probe: &KeyColumns, row: usize, behind: bool) -> usize {
    let (order, keys, sorted, heads) = index;
    let (from, to) = heads.range_of(probe.prefix(row));
    if from == to || keys.is_complete_with(probe) {
        return if behind { to } else { from };
    }
    from + sorted[from..to].partition_point(|build| match keys.compare(order, *build as usize, probe, row) {
        Ordering::Less => true,
        Ordering::Equal => behind,
        Ordering::Greater => false,
    })
}

/// The operator of the probe side's pipeline.
struct SortedProbe(Arc<SortedJoin>);

struct ProbeLocal {
    core: CoreState,
    filter: Option<PairFilterState>,
    programs: Vec<ProgramState>,
    nearest: NearestState,
    probe_rows: Vec<u32>,
    build_rows: Vec<u32>,
    /// Parts of the tree that are still to be visited.
    open: Vec<usize>,
}

impl Operator for SortedProbe {
    type Local = ProbeLocal;

    fn local(&self) -> ProbeLocal {
        ProbeLocal {
            core: self.0.core.state(),
            filter: self.0.filter.as_ref().map(PairFilter::state),
            programs: self.0.probe_keys.iter().map(Program::state).collect(),
            nearest: NearestState::default(),
            probe_rows: Vec::new(),
            build_rows: Vec::new(),
            open: Vec::new(),
        }
    }

    fn process(&self, input: Batch, local: &mut ProbeLocal, push: Push<'_>) -> Result<Flow> {
        self.0.probe(&input, local, push)
    }

    fn flush(&self, local: &mut ProbeLocal, push: Push<'_>) -> Result<Flow> {
        self.0.core.flush(&mut local.core, push)
    }
}

impl SortedJoin {
    fn probe(&self, batch: &Batch, local: &mut ProbeLocal, push: Push<'_>) -> Result<Flow> {
        let rows = self.core.rows()?;
        let index = self.index.get().ok_or_else(|| Error::internal("a sorted join has no index"))?;
        if index.is_empty() && self.core.drops_unmatched() {
            return Ok(Flow::Done);
        }
        self.core.begin(&mut local.core, batch.len());
        let mut keys = Vec::with_capacity(self.probe_keys.len());
        for (program, state) in self.probe_keys.iter().zip(&mut local.programs) {
            keys.push(program.eval(state, batch)?.flatten());
        }
        let flow = match index {
            Built::Nearest(nearest) => self.nearest(nearest, keys, batch, local, push)?,
            Built::Range(index) => self.range(index, keys, rows, batch, local, push)?,
        };
        if flow == Flow::Done {
            return Ok(Flow::Done);
        }
        self.core.finish(&mut local.core, batch, push)
    }

    fn first_op(&self) -> Result<CompareOp> {
        self.ops.first().copied().ok_or_else(no_inequality)
    }

    fn nearest(
        &self,
        nearest: &Nearest,
        mut keys: Vec<Vector>,
        batch: &Batch,
        local: &mut ProbeLocal,
        push: Push<'_>,
    ) -> Result<Flow> {
        let near = keys.pop().ok_or_else(no_inequality)?;
        let (probe_rows, build_rows) = (&mut local.probe_rows, &mut local.build_rows);
        nearest.find(self.first_op()?, (&keys, &near), &mut local.nearest, probe_rows, build_rows);
        self.core.take_pairs(&mut local.core, batch, &local.probe_rows, &local.build_rows, push)
    }

    fn range(
        &self,
        index: &Index,
        keys: Vec<Vector>,
        rows: &BuildRows,
        batch: &Batch,
        local: &mut ProbeLocal,
        push: Push<'_>,
    ) -> Result<Flow> {
        let op = self.first_op()?;
        let first = KeyColumns::new(&index.order, Batch::new(keys[..1].to_vec(), batch.len()));
        let second = index.second.as_ref().map(|second| {
            let own = KeyColumns::new(&second.order, Batch::new(keys[1..].to_vec(), batch.len()));
            (second, own)
        });
        let sorted = (&index.order, &index.keys, index.sorted.as_slice(), &index.heads);
        let once = matches!(self.core.kind, ProbeKind::Semi | ProbeKind::Anti);
        local.probe_rows.clear();
        local.build_rows.clear();
        for row in (0..batch.len()).filter(|row| !has_null(&keys, *row)) {
            rows.interrupt.check()?;
            let (from, to) = match op {
                CompareOp::Lt => (place_of(sorted, &first, row, true), index.sorted.len()),
                CompareOp::LtEq => (place_of(sorted, &first, row, false), index.sorted.len()),
                CompareOp::Gt => (0, place_of(sorted, &first, row, false)),
                _ => (0, place_of(sorted, &first, row, true)),
            };
            if from >= to {
                continue;
            }
            let mut partners = Partners {
                index,
                from,
                to,
                second: second.as_ref().map(|(second, own)| {
                    let own_sorted = (&second.order, &second.keys, second.sorted.as_slice(), &second.heads);
                    let behind = matches!(self.ops.get(1), Some(CompareOp::Lt | CompareOp::GtEq));
                    (*second, place_of(own_sorted, own, row, behind))
                }),
            };
            local.open.clear();
            local.open.push(1);
            while partners.next(&mut local.open, &mut local.build_rows) {
                local.probe_rows.resize(local.build_rows.len(), row as u32);
                if local.build_rows.len() >= VECTOR_SIZE && self.take(batch, rows, local, push)? == Flow::Done
                {
                    return Ok(Flow::Done);
                }
                if once && (self.filter.is_none() || local.core.hit[row] == 1) {
                    break;
                }
            }
            local.probe_rows.resize(local.build_rows.len(), row as u32);
        }
        self.take(batch, rows, local, push)
    }

    /// Hands on the pairs found so far.
    fn take(&self, batch: &Batch, rows: &BuildRows, local: &mut ProbeLocal, push: Push<'_>) -> Result<Flow> {
        if let (Some(filter), Some(state)) = (&self.filter, &mut local.filter) {
            let (probe_rows, build_rows) = (&mut local.probe_rows, &mut local.build_rows);
            filter.retain(state, batch, &rows.columns, probe_rows, build_rows)?;
        }
        let flow =
            self.core.take_pairs(&mut local.core, batch, &local.probe_rows, &local.build_rows, push)?;
        local.probe_rows.clear();
        local.build_rows.clear();
        Ok(flow)
    }
}

/// The partners of one probe row.
struct Partners<'i> {
    index: &'i Index,
    from: usize,
    to: usize,
    second: Option<(&'i Second, usize)>,
}

impl Partners<'_> {
    /// Adds some partners until there are enough for a batch; false if there are no more.
    fn next(&mut self, open: &mut Vec<usize>, found: &mut Vec<u32>) -> bool {
        let Some((second, bound)) = self.second else {
            let until = self.to.min(self.from + VECTOR_SIZE.saturating_sub(found.len()).max(1));
            found.extend_from_slice(&self.index.sorted[self.from..until]);
            let more = until > self.from;
            self.from = until;
            return more;
        };
        let before = found.len();
        while let Some(node) = open.pop() {
            // The places below a node.
            let depth = node.ilog2();
            let width = second.leaves >> depth;
            let start = (node - (1 << depth)) * width;
            if start >= self.to || start + width <= self.from || !second.may_match(node, bound) {
                continue;
            }
            if width > 1 {
                open.extend([2 * node + 1, 2 * node]);
                continue;
            }
            found.push(self.index.sorted[start]);
            if found.len() >= VECTOR_SIZE {
                break;
            }
        }
        found.len() > before
    }
}

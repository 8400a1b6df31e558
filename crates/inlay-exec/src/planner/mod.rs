//! Lowers an optimised logical plan to pipelines.
//!
//! Lowering walks the plan from the root, carrying down which columns are needed above and which dynamic filters joins
//! above will publish, and returns a [`Fragment`]: an open pipeline whose batches have the needed columns. A pipeline
//! breaker closes its input's fragment with a sink and opens a new one. Closed pipelines are listed in the order in
//! which they must run; in particular a build side comes before its probe side, so filters are ready when scans start.

mod constants;
mod counted;
mod hoist;
mod join;
mod known;
mod leaf;
mod ordered;
mod recursive;
mod set_operation;
mod table_call;
mod texts;
mod unnest;
mod window;

use crate::context::ExecContext;
use crate::dynamic_filter::DynamicFilter;
use crate::expression::{Layout, Program};
use crate::operator::aggregate::{AggregateOptions, HashAggregate, KeyDomain};
use crate::operator::leaders::Leaders;
use crate::operator::limit_by::{ComputedRange, LimitedScan};
use crate::operator::materialize::{BufferScan, Materialize, RowBuffer};
use crate::operator::project::Project;
use crate::operator::sample::SampleRows;
use crate::operator::sort::{Sort, SortOptions};
use crate::pipeline::{DynOperator, DynSink, DynSource, Operator, Pipeline};
use inlay_sql::plan::{AggregateExpr, ColumnId, Columns, Expr, LimitBy, Plan, SharedId, SortKey};
use inlay_sql::with_plan_stack;
use inlay_types::{Error, LogicalType, Result};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// Columns that are needed above.
type Needed = BTreeSet<ColumnId>;

/// A plan node's place in the plan: nodes are numbered in preorder, the root is 0.
pub type NodeNumber = usize;

/// The node number of the result's sink.
pub const RESULT_NODE: NodeNumber = usize::MAX;

/// What the optimizer expects of a node; see [`Planner::new`].
pub type RowEstimate<'a> = &'a dyn Fn(NodeNumber) -> Option<f64>;

/// An open pipeline.
struct Fragment {
    source: Arc<dyn DynSource>,
    operators: Vec<Arc<dyn DynOperator>>,
    /// Node numbers of source and operators.
    nodes: Vec<NodeNumber>,
    /// The columns of the batches, in order.
    columns: Vec<ColumnId>,
}

impl Fragment {
    fn new(source: Arc<dyn DynSource>, columns: Vec<ColumnId>, node: NodeNumber) -> Self {
        Self { source, operators: Vec::new(), nodes: vec![node], columns }
    }

    fn layout(&self) -> Layout {
        Layout(self.columns.clone())
    }

    fn push(&mut self, operator: impl Operator + 'static, node: NodeNumber) {
        self.push_shared(Arc::new(operator), node);
    }

    fn push_shared(&mut self, operator: Arc<dyn DynOperator>, node: NodeNumber) {
        self.operators.push(operator);
        self.nodes.push(node);
    }
}

/// A filter that a join above will publish for a column.
#[derive(Clone)]
struct Incoming {
    column: ColumnId,
    filter: DynamicFilter,
    /// The join would rely on the filter.
    required: bool,
    /// Set when a scan applies the filter to every row of the column.
    attached: Rc<Cell<bool>>,
}

/// Lowers one query.
pub struct Planner<'a> {
    context: &'a ExecContext,
    columns: Columns,
    pipelines: Vec<Pipeline>,
    shared: HashMap<SharedId, (Arc<RowBuffer>, Vec<ColumnId>)>,
    /// Positions of the columns that each scan of a shared plan reads.
    shared_read: Vec<Vec<usize>>,
    /// What is known of the values of columns of tables.
    domains: HashMap<ColumnId, KeyDomain>,
    /// Columns that have one value in all rows, see `constants`.
    constants: HashSet<ColumnId>,
    /// Columns of relations that were joined without a condition, by the side that they came from, see `constants`.
    sides: HashMap<ColumnId, usize>,
    estimate: RowEstimate<'a>,
    next_node: NodeNumber,
    /// Of the plan that is lowered next, so many rows, whichever they are.
    rows_wanted: Option<u64>,
    /// Whether the rows of the plan that is lowered next may come in any order.
    any_order: bool,
}

/// A query as pipelines, and where its rows will be.
pub struct PhysicalPlan {
    /// In the order in which they run.
    pub pipelines: Vec<Pipeline>,
    /// The result, when all have run.
    pub result: Arc<RowBuffer>,
    /// Position, in the result's batches, of each output column.
    pub positions: Vec<usize>,
}

/// A query as pipelines, of whose rows those from `offset` on are wanted, `limit` at most.
pub struct Unlimited {
    /// In the order in which they run.
    pub pipelines: Vec<Pipeline>,
    /// Position, in the sink's batches, of each output column.
    pub positions: Vec<usize>,
    /// How many rows.
    pub limit: Option<u64>,
    /// How many rows before them are left out.
    pub offset: u64,
}

impl<'a> Planner<'a> {
    /// A planner for a query with these columns. `estimate` gives the expected rows of a node.
    pub fn new(context: &'a ExecContext, columns: &Columns, estimate: RowEstimate<'a>) -> Self {
        Self {
            context,
            columns: columns.clone(),
            pipelines: Vec::new(),
            shared: HashMap::new(),
            shared_read: Vec::new(),
            domains: HashMap::new(),
            constants: HashSet::new(),
            sides: HashMap::new(),
            estimate,
            next_node: 0,
            rows_wanted: None,
            any_order: false,
        }
    }

    /// Lowers the plan; the result has the columns `output`.
    pub fn plan(mut self, plan: &Plan, output: &[ColumnId]) -> Result<PhysicalPlan> {
        let needed: Needed = output.iter().copied().collect();
        let (plan, (limit, offset)) = self.take_limit(plan);
        let fragment = with_plan_stack(plan, || self.lower(plan, &needed, &[]))?;
        let positions = output.iter().map(|id| fragment.layout().require(*id)).collect::<Result<_>>()?;
        let sink = Materialize::with_limit(self.context, limit, offset);
        let result = sink.buffer();
        self.close(fragment, Arc::new(sink), RESULT_NODE);
        Ok(PhysicalPlan { pipelines: self.pipelines, result, positions })
    }

    /// Lowers the plan but for a LIMIT at its root, which is given back together with the positions of `output`, into a
    /// sink of the caller's.
    pub fn plan_unlimited(
        mut self,
        plan: &Plan,
        output: &[ColumnId],
        sink: Arc<dyn DynSink>,
    ) -> Result<Unlimited> {
        let needed: Needed = output.iter().copied().collect();
        let (plan, (limit, offset)) = self.take_limit(plan);
        let fragment = with_plan_stack(plan, || self.lower(plan, &needed, &[]))?;
        let positions = output.iter().map(|id| fragment.layout().require(*id)).collect::<Result<_>>()?;
        self.close(fragment, sink, RESULT_NODE);
        Ok(Unlimited { pipelines: self.pipelines, positions, limit, offset })
    }

    /// A LIMIT at the root cuts where rows are collected.
    fn take_limit<'p>(&mut self, plan: &'p Plan) -> (&'p Plan, (Option<u64>, u64)) {
        match plan {
            Plan::Limit { input, limit, offset } => {
                self.next_node += 1;
                self.rows_wanted = limit.map(|limit| limit.saturating_add(*offset));
                (input, (*limit, *offset))
            }
            other => (other, (None, 0)),
        }
    }

    /// Lowers the plan into a sink of the caller's, which is told the position of each column of `output`.
    pub fn plan_into(
        mut self,
        plan: &Plan,
        output: &[ColumnId],
        make_sink: impl FnOnce(Vec<usize>) -> Arc<dyn DynSink>,
    ) -> Result<Vec<Pipeline>> {
        let needed: Needed = output.iter().copied().collect();
        let fragment = with_plan_stack(plan, || self.lower(plan, &needed, &[]))?;
        let positions = output.iter().map(|id| fragment.layout().require(*id)).collect::<Result<_>>()?;
        self.close(fragment, make_sink(positions), RESULT_NODE);
        Ok(self.pipelines)
    }

    fn close(&mut self, fragment: Fragment, sink: Arc<dyn DynSink>, node: NodeNumber) {
        let mut nodes = fragment.nodes;
        nodes.push(node);
        self.pipelines.push(Pipeline { nodes, source: fragment.source, operators: fragment.operators, sink });
    }

    /// A limit that a plan computes, which runs first: a number of rows then ends what the rows come from as a constant does.
    fn lower_limit_by(
        &mut self,
        node: NodeNumber,
        input: &Plan,
        counts: &Plan,
        by: LimitBy,
        needed: &Needed,
    ) -> Result<Fragment> {
        let first = self.pipelines.len();
        let fragment = self.lower(input, needed, &[])?;
        let of_counts = self.pipelines.len();
        let wanted: Vec<ColumnId> = by.limit.iter().chain(&by.offset).copied().collect();
        let counts = self.lower(counts, &wanted.iter().copied().collect(), &[])?;
        let layout = counts.layout();
        let positions = wanted.iter().map(|id| layout.require(*id)).collect::<Result<_>>()?;
        let sink = Materialize::new(self.context);
        let limit = by.limit.map(|_| by.percent);
        let range = ComputedRange::new(self.context, (sink.buffer(), positions), limit, by.offset.is_some());
        let range = Arc::new(range);
        self.close(counts, Arc::new(sink), node);
        // What both read is lowered above either.
        self.pipelines[first..].rotate_left(of_counts - first);
        let columns = fragment.columns.clone();
        let sink = Materialize::within(self.context, Arc::clone(&range));
        let rows = (sink.buffer(), columns.len());
        self.close(fragment, Arc::new(sink), node);
        Ok(Fragment::new(Arc::new(LimitedScan::new(self.context, rows, range)), columns, node))
    }

    fn types(&self, columns: &[ColumnId]) -> Vec<LogicalType> {
        columns.iter().map(|id| self.columns.ty(*id)).collect()
    }

    fn lower(&mut self, plan: &Plan, needed: &Needed, incoming: &[Incoming]) -> Result<Fragment> {
        let node = self.next_node;
        self.next_node += 1;
        let wanted = self.rows_wanted.take();
        let any_order = std::mem::take(&mut self.any_order);
        match plan {
            Plan::Scan { table, columns, fields, filters, row_id } => {
                let (dear, cheap) = split_external(filters);
                let needed = &*with_external(needed, &dear);
                let fragment =
                    self.lower_scan(node, table, (columns, fields), &cheap, *row_id, needed, incoming)?;
                if dear.is_empty() { Ok(fragment) } else { self.filter(fragment, &dear, node) }
            }
            Plan::Source { source, columns, filters } => {
                let (dear, cheap) = split_external(filters);
                let needed = &*with_external(needed, &dear);
                let fragment = self.lower_source(node, source, columns, &cheap, needed)?;
                if dear.is_empty() { Ok(fragment) } else { self.filter(fragment, &dear, node) }
            }
            Plan::Values { columns, rows } => self.lower_values(node, columns, rows),
            Plan::Project { input, items } => {
                self.any_order = any_order;
                self.lower_project(node, input, items, needed, incoming)
            }
            Plan::Filter { input, predicates } => {
                let below = with_expressions(needed, predicates.iter());
                let fragment = match &**input {
                    Plan::Window { input, windows } => {
                        let window = self.next_node;
                        self.next_node += 1;
                        self.lower_window(window, input, windows, &below, predicates)?
                    }
                    input => {
                        self.any_order = any_order;
                        self.lower(input, &below, incoming)?
                    }
                };
                self.filter(fragment, predicates, node)
            }
            Plan::Join { .. } => self.lower_join(node, plan, needed, incoming),
            Plan::OrderedJoin { .. } => {
                let fragment = self.lower_ordered_join(node, plan, needed)?;
                self.note_mixed(plan);
                Ok(fragment)
            }
            Plan::DependentJoin { .. } => {
                Err(Error::internal("a dependent join reached the physical planner; unnesting missed it"))
            }
            Plan::Aggregate { .. } => self.lower_aggregate(node, plan, wanted, incoming),
            Plan::Window { input, windows } => self.lower_window(node, input, windows, needed, &[]),
            Plan::Unnest { .. } => self.lower_unnest(node, plan, needed, incoming, any_order),
            Plan::TableCall { .. } => self.lower_table_call(node, plan, needed),
            Plan::Sort { input, keys, limit, offset } => {
                let incoming = if limit.is_none() && *offset == 0 { incoming } else { &[] };
                self.lower_sort(node, input, keys.clone(), 0, (*limit, *offset), needed, incoming)
            }
            Plan::GroupLimit { input, groups, keys, limit, offset } => {
                let group =
                    |expr: &Expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false };
                let all = groups.iter().map(group).chain(keys.iter().cloned()).collect();
                self.lower_sort(node, input, all, groups.len(), (*limit, *offset), needed, &[])
            }
            Plan::Limit { input, limit, offset } => {
                self.rows_wanted = limit.map(|limit| limit.saturating_add(*offset));
                let fragment = self.lower(input, needed, &[])?;
                let sink = Materialize::with_limit(self.context, *limit, *offset);
                Ok(self.rescan(fragment, sink, node))
            }
            Plan::SetOp { .. } => self.lower_set_operation(node, plan),
            Plan::LimitBy { input, counts, by } => self.lower_limit_by(node, input, counts, *by, needed),
            Plan::Sample { input, sample } => {
                let fragment = self.lower(input, needed, &[])?;
                let columns = fragment.columns.clone();
                let sink = SampleRows::new(self.context, *sample);
                let scan = BufferScan::new(vec![(sink.buffer(), (0..columns.len()).collect())]);
                self.close(fragment, Arc::new(sink), node);
                Ok(Fragment::new(Arc::new(scan), columns, node))
            }
            Plan::Recursive { .. } => self.lower_recursive(node, plan),
            Plan::With { id, definition, body } => {
                let needed_by_all: Needed = definition.output().into_iter().collect();
                let fragment = self.lower(definition, &needed_by_all, &[])?;
                let columns = fragment.columns.clone();
                let sink = Materialize::new(self.context);
                let buffer = sink.buffer();
                self.close(fragment, Arc::new(sink), node);
                self.shared.insert(*id, (buffer, columns));
                self.lower(body, needed, incoming)
            }
            Plan::SharedScan { id, columns } => self.lower_shared_scan(node, *id, columns, needed),
        }
    }

    /// Collects a fragment's rows and reads them again.
    fn rescan(&mut self, fragment: Fragment, sink: Materialize, node: NodeNumber) -> Fragment {
        let columns = fragment.columns.clone();
        let buffer = sink.buffer();
        self.close(fragment, Arc::new(sink), node);
        let scan = BufferScan::new(vec![(buffer, (0..columns.len()).collect())]);
        Fragment::new(Arc::new(scan), columns, node)
    }

    fn lower_project(
        &mut self,
        node: NodeNumber,
        input: &Plan,
        items: &[(ColumnId, Expr)],
        needed: &Needed,
        incoming: &[Incoming],
    ) -> Result<Fragment> {
        // Somebody may count how often what is volatile is computed.
        let is_made = |(id, expr): &&(ColumnId, Expr)| needed.contains(id) || expr.is_volatile();
        let items: Vec<&(ColumnId, Expr)> = items.iter().filter(is_made).collect();
        let below = with_expressions(&Needed::new(), items.iter().map(|(_, expr)| expr));
        // A filter on a column that only passes through is a filter on the input's column.
        let passed: Vec<Incoming> = incoming
            .iter()
            .filter_map(|filter| {
                let item = items.iter().find(|(id, _)| *id == filter.column)?;
                match &item.1 {
                    Expr::Column { id, .. } => Some(Incoming { column: *id, ..filter.clone() }),
                    _ => None,
                }
            })
            .collect();
        let fragment = self.lower(input, &below, &passed)?;
        let columns: Vec<ColumnId> = items.iter().map(|(id, _)| *id).collect();
        for (id, expr) in items.iter().map(|item| (&item.0, &item.1)) {
            if let Expr::Column { id: source, .. } = expr
                && let Some(domain) = self.domains.get(source).copied()
            {
                self.domains.insert(*id, domain);
            }
        }
        self.note_projected(&items);
        let same =
            |(id, expr): &&(ColumnId, Expr)| matches!(expr, Expr::Column { id: source, .. } if source == id);
        if items.iter().all(same) && columns.iter().all(|id| fragment.columns.contains(id)) {
            return Ok(fragment);
        }
        let mut exprs: Vec<Expr> = items.iter().map(|(_, expr)| expr.clone()).collect();
        let mut fragment = self.hoist(fragment, exprs.iter_mut().map(|expr| (expr, None)), node)?;
        let program = Program::compile_many(&exprs, &fragment.layout())?;
        fragment.push(Project::new(program, self.context.budget.clone()), node);
        fragment.columns = columns;
        Ok(fragment)
    }

    fn lower_aggregate(
        &mut self,
        node: NodeNumber,
        plan: &Plan,
        rows_wanted: Option<u64>,
        incoming: &[Incoming],
    ) -> Result<Fragment> {
        let Plan::Aggregate { input, groups, aggregates } = plan else {
            return Err(Error::internal("not an aggregation"));
        };
        if let Some(known) = self.lower_known(node, plan)? {
            return Ok(known);
        }
        if let Some(counted) = self.lower_counted(node, plan)? {
            return Ok(counted);
        }
        let exprs = groups.iter().map(|(_, e)| e).chain(aggregates.iter().flat_map(|(_, a)| a.expressions()));
        let below = with_expressions(&Needed::new(), exprs);
        // A filter on a grouping column removes whole groups, so it may run below.
        let passed: Vec<Incoming> = incoming
            .iter()
            .filter_map(|filter| {
                let group = groups.iter().find(|(id, _)| *id == filter.column)?;
                match &group.1 {
                    Expr::Column { id, .. } => Some(Incoming { column: *id, ..filter.clone() }),
                    _ => None,
                }
            })
            .collect();
        let input_node = self.next_node;
        let is_ordered = |(_, aggregate): &(ColumnId, AggregateExpr)| {
            let function = &aggregate.function;
            function.kind.is_order_sensitive()
                || function.external.is_some()
                || !aggregate.order_by.is_empty()
        };
        self.any_order = !aggregates.iter().any(is_ordered);
        let fragment = self.lower(input, &below, &passed)?;
        let mut keys: Vec<Expr> = groups.iter().map(|(_, e)| e.clone()).collect();
        let mut computed: Vec<AggregateExpr> = aggregates.iter().map(|(_, a)| a.clone()).collect();
        let fragment = if keys.is_empty() {
            self.hoist_for_all(fragment, &mut computed, node)?
        } else {
            let of_groups = keys.iter_mut().map(|key| (key, None));
            self.hoist(fragment, of_groups.chain(computed.iter_mut().flat_map(guarded)), node)?
        };
        let fragment = self.compute_texts(fragment, &mut keys, &mut computed, node)?;
        let domain = |expr: &Expr| self.domain(expr);
        let options = AggregateOptions {
            layout: fragment.layout(),
            groups: keys,
            aggregates: computed,
            key_domains: groups.iter().map(|(_, e)| domain(e)).collect(),
            estimated_rows: self.expected_rows(input_node),
            estimated_groups: self.expected_rows(node),
            groups_wanted: rows_wanted.filter(|_| aggregates.is_empty() && !groups.is_empty()),
            context: self.context.clone(),
        };
        let known: Vec<_> = groups.iter().filter_map(|(id, expr)| Some((*id, domain(expr)?))).collect();
        self.domains.extend(known);
        let aggregate = HashAggregate::new(options)?;
        self.close(fragment, aggregate.sink(), node);
        let columns = groups.iter().map(|(id, _)| *id).chain(aggregates.iter().map(|(id, _)| *id)).collect();
        Ok(Fragment::new(aggregate.source(), columns, node))
    }

    /// What statistics know of an expression's values.
    fn domain(&self, expr: &Expr) -> Option<KeyDomain> {
        match expr {
            Expr::Column { id, .. } => self.domains.get(id).copied(),
            _ => None,
        }
    }

    /// How many rows a node is expected to have.
    fn expected_rows(&self, node: NodeNumber) -> Option<u64> {
        (self.estimate)(node).map(|rows| rows.clamp(0.0, u64::MAX as f64) as u64)
    }

    /// What drops rows that cannot be among the first `rows` of their group; their node is `input_node`.
    fn leaders(
        &self,
        fragment: &Fragment,
        input_node: NodeNumber,
        groups: &[Expr],
        key: &SortKey,
        rows: u64,
    ) -> Result<Option<Leaders>> {
        let domains: Vec<_> = groups.iter().map(|group| self.domain(group)).collect();
        let known = (&domains[..], self.expected_rows(input_node));
        Leaders::new(&fragment.layout(), groups, key, rows, known, self.context)
    }

    #[expect(clippy::too_many_arguments, reason = "one caller each for ORDER BY and limits per group")]
    fn lower_sort(
        &mut self,
        node: NodeNumber,
        input: &Plan,
        mut keys: Vec<SortKey>,
        group_keys: usize,
        (limit, offset): (Option<u64>, u64),
        needed: &Needed,
        incoming: &[Incoming],
    ) -> Result<Fragment> {
        let below = with_expressions(needed, keys.iter().map(|k| &k.expr));
        let input_node = self.next_node;
        let fragment = self.lower(input, &below, incoming)?;
        let exprs = keys.iter_mut().map(|key| (&mut key.expr, None));
        let mut fragment = self.hoist(fragment, exprs, node)?;
        if let (Some(limit), Some(key)) = (limit, keys.get(group_keys).filter(|_| group_keys > 0)) {
            let groups: Vec<Expr> = keys[..group_keys].iter().map(|key| key.expr.clone()).collect();
            let rows = limit.saturating_add(offset);
            if let Some(leaders) = self.leaders(&fragment, input_node, &groups, key, rows)? {
                fragment.push(leaders, node);
            }
        }
        let columns = fragment.columns.clone();
        let options = SortOptions {
            layout: fragment.layout(),
            types: self.types(&columns),
            keys,
            limit,
            offset,
            group_keys,
        };
        let sort = Sort::new(options, self.context)?;
        self.close(fragment, Arc::clone(&sort) as Arc<dyn DynSink>, node);
        Ok(Fragment::new(sort, columns, node))
    }

    fn lower_shared_scan(
        &mut self,
        node: NodeNumber,
        id: SharedId,
        columns: &[(ColumnId, ColumnId)],
        needed: &Needed,
    ) -> Result<Fragment> {
        let Some((buffer, available)) = self.shared.get(&id) else {
            return Err(Error::internal(format!("shared plan {} is read before it is computed", id.0)));
        };
        let layout = Layout(available.clone());
        let wanted: Vec<_> = columns.iter().filter(|(id, _)| needed.contains(id)).collect();
        let positions: Vec<usize> =
            wanted.iter().map(|(_, source)| layout.require(*source)).collect::<Result<_>>()?;
        self.shared_read.push(positions.clone());
        let scan = BufferScan::new(vec![(Arc::clone(buffer), positions)]);
        Ok(Fragment::new(Arc::new(scan), wanted.iter().map(|(id, _)| *id).collect(), node))
    }
}

/// Filters that call functions of the host, and the others.
fn split_external(filters: &[Expr]) -> (Vec<Expr>, Cow<'_, [Expr]>) {
    if !filters.iter().any(Expr::calls_external) {
        return (Vec::new(), Cow::Borrowed(filters));
    }
    let (dear, cheap) = filters.iter().cloned().partition(Expr::calls_external);
    (dear, Cow::Owned(cheap))
}

/// `needed` and the columns of filters that are not the scan's.
fn with_external<'n>(needed: &'n Needed, dear: &[Expr]) -> Cow<'n, Needed> {
    if dear.is_empty() {
        return Cow::Borrowed(needed);
    }
    Cow::Owned(with_expressions(needed, dear.iter()))
}

/// The expressions of an aggregate, those behind its filter with that as a guard.
fn guarded(aggregate: &mut AggregateExpr) -> impl Iterator<Item = (&mut Expr, Option<Expr>)> {
    let is_hoistable = aggregate.filter.as_ref().is_none_or(|filter| !filter.calls_external());
    let guard = aggregate.filter.as_ref().filter(|_| is_hoistable).map(hoist::guard_of);
    aggregate.expressions_mut().into_iter().map(move |expr| (expr, guard.clone()))
}

/// `needed` and the columns of some expressions.
fn with_expressions<'e>(needed: &Needed, exprs: impl Iterator<Item = &'e Expr>) -> Needed {
    let mut ids: Vec<ColumnId> = needed.iter().copied().collect();
    for expr in exprs {
        expr.collect_columns(&mut ids);
    }
    ids.into_iter().collect()
}

//! The logical plan: what a query means, before and after optimisation.
//!
//! Columns have identities, not positions. Each column that any operator makes gets a [`ColumnId`] from the
//! query's [`Columns`]; expressions name columns by id, and an operator may refer to every column that its
//! inputs output. Reordering joins, moving filters and unnesting subqueries therefore never renumbers
//! anything; only the physical planner turns ids into positions.
//!
//! Invariants
//! - An id is made by exactly one operator of a plan (a plan that is used twice is copied with fresh ids, or shared
//!   by [`Plan::With`]).
//! - After the binder, correlated subqueries are [`Plan::DependentJoin`]s; after the optimizer's unnesting there
//!   are none. There is no subquery expression.
//! - `conditions`, `filters` and `predicates` are lists of conjuncts of type BOOLEAN; an empty list is TRUE.

mod constants;
pub mod display;
pub mod drawn;
pub mod estimates;
pub mod expr;
mod held;
mod lambda;
pub mod object;
pub(crate) mod partial;
pub mod role;
pub mod statement;
mod verify;
pub mod window;

pub use constants::ConstantList;
pub use estimates::{ColumnEstimate, Estimates};
pub use expr::{AggregateExpr, CompareOp, Expr, Place, SortKey};
pub use held::HeldRows;
pub use lambda::{Lambda, LambdaKind};
pub use statement::Statement;
pub use verify::IS_VERIFIED;
pub use window::WindowExpr;

use inlay_catalog::{TableEntry, TableSource};
use inlay_kernels::external::TableCall;
use inlay_kernels::function::Volatility;
use inlay_types::LogicalType;
use std::fmt;
use std::sync::Arc;

/// The identity of a column within one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u32);

impl fmt::Display for ColumnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// What is known of a column, whoever makes it.
#[derive(Clone, Debug)]
pub struct ColumnDef {
    /// For people: the column's or alias's name.
    pub name: String,
    /// Its type.
    pub ty: LogicalType,
    /// The collation that its texts have from the column of a table.
    pub collation: Option<Arc<str>>,
}

/// A column of a scan that holds the value of an expression over others of it, for an index.
#[derive(Clone, Debug)]
pub struct IndexedColumn {
    /// The column.
    pub id: ColumnId,
    /// Its type.
    pub ty: LogicalType,
    /// The expression.
    pub expr: Expr,
    /// Of a partial index: where this is not TRUE, the column is NULL.
    pub condition: Option<Expr>,
}

/// USING KEY of a recursion: a row replaces the one of its key, and the step reads those of the last round.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyedRecursion {
    /// What the step reads the rows of all keys by.
    pub recurring: SharedId,
    /// Positions of the key's columns.
    pub keys: Vec<usize>,
}

/// All columns of one query, by id.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    defs: Vec<ColumnDef>,
    next_shared: u32,
    indexed: Vec<IndexedColumn>,
}

impl Columns {
    /// No columns yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new column.
    pub fn add(&mut self, name: impl Into<String>, ty: LogicalType) -> ColumnId {
        self.defs.push(ColumnDef { name: name.into(), ty, collation: None });
        ColumnId(self.defs.len() as u32 - 1)
    }

    /// A new column with the name and type of another.
    pub fn copy_of(&mut self, id: ColumnId) -> ColumnId {
        let def = self.defs[id.0 as usize].clone();
        self.defs.push(def);
        ColumnId(self.defs.len() as u32 - 1)
    }

    /// Gives a column a collation.
    pub fn collate(&mut self, id: ColumnId, collation: Option<Arc<str>>) {
        if let Some(def) = self.defs.get_mut(id.0 as usize) {
            def.collation = collation;
        }
    }

    /// The collation of a column.
    pub fn collation(&self, id: ColumnId) -> Option<&Arc<str>> {
        self.defs.get(id.0 as usize)?.collation.as_ref()
    }

    /// Name and type of a column.
    pub fn get(&self, id: ColumnId) -> &ColumnDef {
        &self.defs[id.0 as usize]
    }

    /// The type of a column.
    pub fn ty(&self, id: ColumnId) -> LogicalType {
        self.get(id).ty.clone()
    }

    /// An expression that reads a column.
    pub fn expr(&self, id: ColumnId) -> Expr {
        Expr::Column { id, ty: self.ty(id) }
    }

    /// A new number for a shared subplan.
    pub fn add_shared(&mut self) -> SharedId {
        self.next_shared += 1;
        SharedId(self.next_shared - 1)
    }

    /// Notes a column that holds the value of an expression.
    pub fn add_indexed(&mut self, indexed: IndexedColumn) {
        self.indexed.push(indexed);
    }

    /// The columns that hold values of expressions.
    pub fn indexed(&self) -> &[IndexedColumn] {
        &self.indexed
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.defs.len()
    }

    /// Whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.defs.is_empty()
    }
}

/// The identity of a subplan that is computed once and read several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedId(pub u32);

/// What a join hands on. The left input is the one that is kept by [`JoinKind::Left`], [`JoinKind::Semi`],
/// [`JoinKind::Anti`], [`JoinKind::Mark`] and [`JoinKind::Single`]; which side is built on is decided later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Pairs that satisfy the conditions. Without conditions: the cross product.
    Inner,
    /// Inner, and each left row without partner once, with NULLs.
    Left,
    /// Left, and each right row without partner once, with NULLs.
    Full,
    /// Left rows with at least one partner, once each; outputs left columns only.
    Semi,
    /// Left rows without any partner; outputs left columns only. A condition that is NULL is no match.
    Anti,
    /// Every left row once, and a BOOLEAN column: TRUE if some partner satisfies the conjunction of the conditions,
    /// else NULL if for some partner it is NULL, else FALSE. `x IN (subquery)` and `x = ANY`.
    Mark(ColumnId),
    /// Left outer, and an error ([`inlay_types::Error::SubqueryRows`]) if a left row has two partners.
    Single,
}

/// Joins that depend on the order of rows or values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderedJoinKind {
    /// The first rows of both side by side, then the second; the shorter side is filled up with NULLs.
    Positional,
    /// Each row of one side meets at most one of the other: of those that satisfy the conditions, equalities and as the
    /// last one an inequality, the nearest by the inequality.
    Asof {
        /// Inner, Left, Full, Semi or Anti; the left input is kept.
        kind: JoinKind,
        /// The partner is looked for in the left input instead of the right one; for Left only.
        build_left: bool,
    },
}

/// A column read from a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanColumn {
    /// The column in this query.
    pub id: ColumnId,
    /// Its position in the table.
    pub index: usize,
    /// The version of the table in which all its values were found to be different, and none NULL.
    pub key_at: Option<u64>,
    /// The version of the table in which none of its values was found to be NULL. The plan depends on it, so that the column stays in the
    /// scan where nobody reads it.
    pub full_at: Option<u64>,
}

/// A field of a struct that is read from a table instead of the struct.
#[derive(Clone, Debug)]
pub struct ScanField {
    /// The column in this query.
    pub id: ColumnId,
    /// The position of the struct in the table.
    pub index: usize,
    /// The positions of the fields that lead to it, from the struct on.
    pub path: Arc<[usize]>,
    /// The column that the struct is or would be.
    pub source: ColumnId,
    /// The field as an expression over `source`.
    pub expr: Expr,
}

/// Which set operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetOpKind {
    /// Rows of either.
    Union,
    /// Rows of both.
    Intersect,
    /// Rows of the left that are not in the right.
    Except,
}

/// How a sample chooses rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleMethod {
    /// Exactly as many as wanted, each combination equally likely.
    Reservoir,
    /// Each row by itself.
    Bernoulli,
    /// Each vector of rows as a whole.
    System,
}

/// How large a sample is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleSize {
    /// Of the rows, 0 to 100.
    Percent(f64),
    /// A number of rows.
    Rows(u64),
}

/// TABLESAMPLE and USING SAMPLE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Without: reservoir for a number of rows, system for a percentage.
    pub method: Option<SampleMethod>,
    /// How many rows.
    pub size: SampleSize,
    /// The same seed chooses the same rows of the same input.
    pub seed: Option<u64>,
}

/// Where the numbers of a computed LIMIT and OFFSET are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitBy {
    /// At most this many rows (BIGINT; NULL is all), or this share of them (DOUBLE, 0 to 100).
    pub limit: Option<ColumnId>,
    /// The limit is a share.
    pub percent: bool,
    /// Rows left out at the beginning (BIGINT; NULL is none).
    pub offset: Option<ColumnId>,
}

/// An operator with its inputs.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Rows of a table of this database.
    Scan {
        /// The table.
        table: Arc<TableEntry>,
        /// The columns read, in output order.
        columns: Vec<ScanColumn>,
        /// The fields of structs read, behind them.
        fields: Vec<ScanField>,
        /// Conjuncts over both, evaluated while scanning.
        filters: Vec<Expr>,
        /// If wanted, a BIGINT column that identifies the row for DELETE and UPDATE.
        row_id: Option<ColumnId>,
    },
    /// Rows of anything else that can be scanned: a file, a host's data frame, `range()`.
    Source {
        /// Where rows come from.
        source: Arc<dyn TableSource>,
        /// The columns read, in output order.
        columns: Vec<ScanColumn>,
        /// Conjuncts over `columns`, evaluated behind the source (which may use them to skip).
        filters: Vec<Expr>,
    },
    /// Literal rows. One row without columns is the input of `SELECT 1`; no rows is the empty relation.
    Values {
        /// The columns made.
        columns: Vec<ColumnId>,
        /// Expressions without columns (or, below a dependent join, over outer columns).
        rows: Vec<Vec<Expr>>,
    },
    /// Computes exactly `items`. A column passes through as itself: `(id, Expr::Column { id })`.
    Project {
        /// Input.
        input: Box<Plan>,
        /// The columns made.
        items: Vec<(ColumnId, Expr)>,
    },
    /// Rows for which all predicates are TRUE.
    Filter {
        /// Input.
        input: Box<Plan>,
        /// Conjuncts.
        predicates: Vec<Expr>,
    },
    /// Joins two independent inputs.
    Join {
        /// See [`JoinKind`].
        kind: JoinKind,
        /// Left input.
        left: Box<Plan>,
        /// Right input.
        right: Box<Plan>,
        /// Conjuncts over both sides.
        conditions: Vec<Expr>,
        /// Which input is stored in the hash table: the left one, or (as the binder sets it) the right one. The optimizer
        /// sets it for Left, Full, Semi and Anti joins with a smaller left input; for Inner joins it exchanges the
        /// inputs instead; Mark and Single joins build on the right always.
        build_left: bool,
    },
    /// ASOF and positional joins.
    OrderedJoin {
        /// Which.
        kind: OrderedJoinKind,
        /// Left input.
        left: Box<Plan>,
        /// Right input.
        right: Box<Plan>,
        /// Conjuncts; none for a positional join.
        conditions: Vec<Expr>,
    },
    /// For each row of `left`, evaluates `right`, which may read columns of `left` (and of enclosing dependent joins),
    /// and joins as `kind` says. Made by the binder for subqueries and LATERAL; removed by unnesting.
    DependentJoin {
        /// See [`JoinKind`].
        kind: JoinKind,
        /// Outer input.
        left: Box<Plan>,
        /// Inner input.
        right: Box<Plan>,
        /// Conjuncts over both sides.
        conditions: Vec<Expr>,
    },
    /// One row per distinct combination of `groups` (NULLs are equal); without groups exactly one row.
    /// Without aggregates this is DISTINCT.
    Aggregate {
        /// Input.
        input: Box<Plan>,
        /// The grouping columns made.
        groups: Vec<(ColumnId, Expr)>,
        /// The aggregated columns made.
        aggregates: Vec<(ColumnId, AggregateExpr)>,
    },
    /// Every row of the input, with the values of window functions beside its columns.
    Window {
        /// Input.
        input: Box<Plan>,
        /// The columns made.
        windows: Vec<(ColumnId, WindowExpr)>,
    },
    /// Each row of the input once per element of its lists, with the elements beside its columns: the first elements of
    /// all lists, then the second, and so on; a list that is shorter is filled up with NULLs. NULL has no elements.
    Unnest {
        /// Input.
        input: Box<Plan>,
        /// The columns made and the lists. Layers of lists come off until the type is that of the column.
        lists: Vec<(ColumnId, Expr)>,
        /// If wanted, a BIGINT column that numbers the elements of a row from 1.
        ordinality: Option<ColumnId>,
        /// A row whose lists have no elements stays, with NULLs.
        keep_empty: bool,
    },
    /// What a function of the host makes of the rows of the input, which it is given in parts, and nothing else. Rows with
    /// equal `keys` lie behind each other and are a table of their own.
    TableCall {
        /// Input; one row without columns for a function that is given no table.
        input: Box<Plan>,
        /// The function with its constants.
        call: Arc<TableCall>,
        /// What it is given.
        args: Vec<Expr>,
        /// Where they differ, another table begins.
        keys: Vec<Expr>,
        /// The columns that it makes.
        columns: Vec<ColumnId>,
        /// If wanted, a BIGINT column that numbers the rows of a table from 1.
        ordinality: Option<ColumnId>,
    },
    /// Rows in order; with `limit`, the first rows behind `offset` only (top-N).
    Sort {
        /// Input.
        input: Box<Plan>,
        /// Keys, most significant first.
        keys: Vec<SortKey>,
        /// At most this many rows.
        limit: Option<u64>,
        /// Rows left out at the beginning.
        offset: u64,
    },
    /// The first rows in the order they come.
    Limit {
        /// Input.
        input: Box<Plan>,
        /// At most this many rows.
        limit: Option<u64>,
        /// Rows left out at the beginning.
        offset: u64,
    },
    /// Per distinct combination of `groups` (NULLs are equal), the first rows behind `offset` in the order of `keys` (in
    /// any order without keys). Made by the optimizer for LIMIT in a correlated subquery; outputs what the input outputs.
    GroupLimit {
        /// Input.
        input: Box<Plan>,
        /// What makes a group.
        groups: Vec<Expr>,
        /// Keys within a group, most significant first.
        keys: Vec<SortKey>,
        /// At most this many rows of each group.
        limit: Option<u64>,
        /// Rows of each group left out at the beginning.
        offset: u64,
    },
    /// UNION, INTERSECT, EXCEPT. Column `i` of the result comes from `left_columns[i]` and `right_columns[i]`,
    /// which have its type.
    SetOp {
        /// Which.
        kind: SetOpKind,
        /// Keep duplicates.
        all: bool,
        /// Left input.
        left: Box<Plan>,
        /// Right input.
        right: Box<Plan>,
        /// Columns of the left, in order.
        left_columns: Vec<ColumnId>,
        /// Columns of the right, in order.
        right_columns: Vec<ColumnId>,
        /// The columns made.
        columns: Vec<ColumnId>,
    },
    /// Computes `definition` once for all [`Plan::SharedScan`]s of `id` in `body`; outputs what `body` outputs.
    With {
        /// Which.
        id: SharedId,
        /// The shared plan.
        definition: Box<Plan>,
        /// The plan that reads it.
        body: Box<Plan>,
    },
    /// The first rows in the order they come; how many is told by the one row of `counts`.
    LimitBy {
        /// Input.
        input: Box<Plan>,
        /// One row.
        counts: Box<Plan>,
        /// Its columns.
        by: LimitBy,
    },
    /// Some rows of the input, chosen at random.
    Sample {
        /// Input.
        input: Box<Plan>,
        /// Which.
        sample: Sample,
    },
    /// WITH RECURSIVE: the rows of `initial`; then those of `step`, which reads the rows of the round before by
    /// [`Plan::SharedScan`]s of `id` (of `columns`), until a round has none.
    Recursive {
        /// What `step` reads.
        id: SharedId,
        /// Keep rows that came before already.
        all: bool,
        /// USING KEY.
        keyed: Option<KeyedRecursion>,
        /// The first round.
        initial: Box<Plan>,
        /// Each further round.
        step: Box<Plan>,
        /// Columns of `initial`, in order.
        initial_columns: Vec<ColumnId>,
        /// Columns of `step`, in order.
        step_columns: Vec<ColumnId>,
        /// The columns made.
        columns: Vec<ColumnId>,
    },
    /// Reads the rows of the shared plan `id`, under new column ids.
    SharedScan {
        /// Which.
        id: SharedId,
        /// `(new column, column of the definition)`.
        columns: Vec<(ColumnId, ColumnId)>,
    },
}

impl Plan {
    /// One row without columns.
    pub fn single_row() -> Self {
        Self::Values { columns: Vec::new(), rows: vec![Vec::new()] }
    }

    /// A join that builds on its right input.
    pub fn join(kind: JoinKind, left: Plan, right: Plan, conditions: Vec<Expr>) -> Self {
        Self::Join { kind, left: Box::new(left), right: Box::new(right), conditions, build_left: false }
    }

    /// `self` with the rows for which all of `predicates` are TRUE; `self` without predicates.
    pub fn filter(self, predicates: Vec<Expr>) -> Self {
        if predicates.is_empty() { self } else { Self::Filter { input: Box::new(self), predicates } }
    }

    /// A projection of `self`.
    pub fn project(self, items: Vec<(ColumnId, Expr)>) -> Self {
        Self::Project { input: Box::new(self), items }
    }

    /// The columns that this operator hands on, in order.
    pub fn output(&self) -> Vec<ColumnId> {
        match self {
            Self::Scan { columns, fields, row_id, .. } => {
                columns.iter().map(|c| c.id).chain(fields.iter().map(|f| f.id)).chain(*row_id).collect()
            }
            Self::Source { columns, .. } => columns.iter().map(|c| c.id).collect(),
            Self::Values { columns, .. } | Self::SetOp { columns, .. } | Self::Recursive { columns, .. } => {
                columns.clone()
            }
            Self::Project { items, .. } => items.iter().map(|(id, _)| *id).collect(),
            Self::Filter { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Sample { input, .. }
            | Self::LimitBy { input, .. }
            | Self::GroupLimit { input, .. } => input.output(),
            Self::Join { kind, left, right, .. } | Self::DependentJoin { kind, left, right, .. } => {
                let mut columns = left.output();
                match kind {
                    JoinKind::Inner | JoinKind::Left | JoinKind::Full | JoinKind::Single => {
                        columns.extend(right.output());
                    }
                    JoinKind::Mark(mark) => columns.push(*mark),
                    JoinKind::Semi | JoinKind::Anti => {}
                }
                columns
            }
            Self::OrderedJoin { kind, left, right, .. } => {
                let mut columns = left.output();
                if !matches!(kind, OrderedJoinKind::Asof { kind: JoinKind::Semi | JoinKind::Anti, .. }) {
                    columns.extend(right.output());
                }
                columns
            }
            Self::Aggregate { groups, aggregates, .. } => {
                groups.iter().map(|(id, _)| *id).chain(aggregates.iter().map(|(id, _)| *id)).collect()
            }
            Self::Window { input, windows } => {
                input.output().into_iter().chain(windows.iter().map(|(id, _)| *id)).collect()
            }
            Self::Unnest { input, lists, ordinality, .. } => {
                let made = lists.iter().map(|(id, _)| *id).chain(*ordinality);
                input.output().into_iter().chain(made).collect()
            }
            Self::TableCall { columns, ordinality, .. } => {
                columns.iter().copied().chain(*ordinality).collect()
            }
            Self::With { body, .. } => body.output(),
            Self::SharedScan { columns, .. } => columns.iter().map(|(id, _)| *id).collect(),
        }
    }

    /// The inputs, left to right.
    pub fn inputs(&self) -> Vec<&Plan> {
        match self {
            Self::Scan { .. } | Self::Source { .. } | Self::Values { .. } | Self::SharedScan { .. } => {
                Vec::new()
            }
            Self::Project { input, .. }
            | Self::Filter { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Window { input, .. }
            | Self::Unnest { input, .. }
            | Self::TableCall { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Sample { input, .. }
            | Self::GroupLimit { input, .. } => vec![input],
            Self::Join { left, right, .. }
            | Self::DependentJoin { left, right, .. }
            | Self::OrderedJoin { left, right, .. }
            | Self::SetOp { left, right, .. } => vec![left, right],
            Self::With { definition, body, .. } => vec![definition, body],
            Self::Recursive { initial, step, .. } => vec![initial, step],
            Self::LimitBy { input, counts, .. } => vec![input, counts],
        }
    }

    /// The inputs, left to right, for rewriting.
    pub fn inputs_mut(&mut self) -> Vec<&mut Plan> {
        match self {
            Self::Scan { .. } | Self::Source { .. } | Self::Values { .. } | Self::SharedScan { .. } => {
                Vec::new()
            }
            Self::Project { input, .. }
            | Self::Filter { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Window { input, .. }
            | Self::Unnest { input, .. }
            | Self::TableCall { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Sample { input, .. }
            | Self::GroupLimit { input, .. } => vec![input],
            Self::Join { left, right, .. }
            | Self::DependentJoin { left, right, .. }
            | Self::OrderedJoin { left, right, .. }
            | Self::SetOp { left, right, .. } => vec![left, right],
            Self::With { definition, body, .. } => vec![definition, body],
            Self::Recursive { initial, step, .. } => vec![initial, step],
            Self::LimitBy { input, counts, .. } => vec![input, counts],
        }
    }

    /// Every expression of this operator alone.
    pub fn expressions(&self) -> Vec<&Expr> {
        match self {
            Self::Scan { filters, .. } | Self::Source { filters, .. } => filters.iter().collect(),
            Self::Values { rows, .. } => rows.iter().flatten().collect(),
            Self::Project { items, .. } | Self::Unnest { lists: items, .. } => {
                items.iter().map(|(_, e)| e).collect()
            }
            Self::TableCall { args, keys, .. } => args.iter().chain(keys).collect(),
            Self::Filter { predicates, .. } => predicates.iter().collect(),
            Self::Join { conditions, .. }
            | Self::DependentJoin { conditions, .. }
            | Self::OrderedJoin { conditions, .. } => conditions.iter().collect(),
            Self::Aggregate { groups, aggregates, .. } => groups
                .iter()
                .map(|(_, e)| e)
                .chain(aggregates.iter().flat_map(|(_, a)| a.expressions()))
                .collect(),
            Self::Window { windows, .. } => windows.iter().flat_map(|(_, w)| w.expressions()).collect(),
            Self::Sort { keys, .. } => keys.iter().map(|k| &k.expr).collect(),
            Self::GroupLimit { groups, keys, .. } => {
                groups.iter().chain(keys.iter().map(|k| &k.expr)).collect()
            }
            Self::Limit { .. }
            | Self::SetOp { .. }
            | Self::With { .. }
            | Self::Recursive { .. }
            | Self::Sample { .. }
            | Self::LimitBy { .. }
            | Self::SharedScan { .. } => Vec::new(),
        }
    }

    /// Whether computing the plan again may give other rows, or be noticed: see [`Expr::is_volatile`].
    pub fn is_volatile(&self) -> bool {
        self.is_volatile_itself() || self.inputs().into_iter().any(Plan::is_volatile)
    }

    /// As [`Plan::is_volatile`], of this operator without its inputs.
    pub fn is_volatile_itself(&self) -> bool {
        match self {
            Self::Sample { .. } => true,
            Self::TableCall { call, args, keys, .. } => {
                call.external.definition.volatility == Volatility::Volatile
                    || args.iter().chain(keys).any(Expr::is_volatile)
            }
            Self::Aggregate { groups, aggregates, .. } => {
                groups.iter().any(|(_, group)| group.is_volatile())
                    || aggregates.iter().any(|(_, aggregate)| aggregate.is_volatile())
            }
            other => other.expressions().into_iter().any(Expr::is_volatile),
        }
    }

    /// Every expression of this operator alone, for rewriting.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Self::Scan { filters, .. } | Self::Source { filters, .. } => filters.iter_mut().collect(),
            Self::Values { rows, .. } => rows.iter_mut().flatten().collect(),
            Self::Project { items, .. } | Self::Unnest { lists: items, .. } => {
                items.iter_mut().map(|(_, e)| e).collect()
            }
            Self::TableCall { args, keys, .. } => args.iter_mut().chain(keys).collect(),
            Self::Filter { predicates, .. } => predicates.iter_mut().collect(),
            Self::Join { conditions, .. }
            | Self::DependentJoin { conditions, .. }
            | Self::OrderedJoin { conditions, .. } => conditions.iter_mut().collect(),
            Self::Aggregate { groups, aggregates, .. } => groups
                .iter_mut()
                .map(|(_, e)| e)
                .chain(aggregates.iter_mut().flat_map(|(_, a)| a.expressions_mut()))
                .collect(),
            Self::Window { windows, .. } => {
                windows.iter_mut().flat_map(|(_, w)| w.expressions_mut()).collect()
            }
            Self::Sort { keys, .. } => keys.iter_mut().map(|k| &mut k.expr).collect(),
            Self::GroupLimit { groups, keys, .. } => {
                groups.iter_mut().chain(keys.iter_mut().map(|k| &mut k.expr)).collect()
            }
            Self::Limit { .. }
            | Self::SetOp { .. }
            | Self::With { .. }
            | Self::Recursive { .. }
            | Self::Sample { .. }
            | Self::LimitBy { .. }
            | Self::SharedScan { .. } => Vec::new(),
        }
    }
}

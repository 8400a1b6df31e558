//! Hash join of every kind, with either side as the build side.
//!
//! ```text
//! build pipeline:  ... -> JoinBuild          keeps batches; lays out columns, indexes keys, sends filters sideways
//! probe pipeline:  ... -> JoinProbe -> ...   looks up, checks, hands on
//! outer pipeline:  JoinOuterScan -> ...      build rows with or without partner, if the kind asks for them
//! ```
//! - [`options`]: what the planner says, and what it gets. [`plan_join`] is the way in, for nested-loop joins too.
//! - `core`, `output`: what all joins do with pairs of rows. `pairs`, `mark`: conditions over pairs.
//! - `rows`, `gather`: the stored rows. `keys`, `index`: from keys to rows.
//! - `build`, `publish`, `probe` (`coded`: of dictionaries), `outer`: the steps in order. `spill`: the same when memory is refused.
//!
//! The build side is stored column by column in the order of its input; the index holds row numbers only.
//! Sources: Leis et al., "Morsel-Driven Parallelism" (SIGMOD 2014); Birler et al. (DaMoN 2024), see `index::hashed`.

pub(crate) mod build;
mod coded;
pub(crate) mod core;
mod gather;
pub(crate) mod index;
pub(crate) mod keys;
mod mark;
pub mod options;
mod outer;
mod output;
pub(crate) mod pairs;
mod probe;
mod publish;
pub(crate) mod rows;
mod spill;
#[cfg(test)]
mod tests;

pub use options::{Discard, JoinKey, JoinOptions, JoinParts, JoinSide, split_conditions};
pub(crate) use outer::JoinOuterScan;

use self::core::{Core, ProbeKind, columns_read};
use crate::ExecContext;
use crate::dynamic_filter::DynamicFilter;
use crate::operator::nested_loop_join::plan_nested_loop_join;
use crate::operator::sorted_join::plan_range_join;
use build::{JoinBuild, JoinIndex, is_narrow};
use inlay_sql::plan::{ColumnId, CompareOp, Expr, JoinKind};
use inlay_types::{Error, LogicalType, Reservation, Result};
use keys::{KeyPrograms, KeyRange};
use mark::MarkConditions;
use pairs::PairFilter;
use parking_lot::Mutex;
use probe::JoinProbe;
use rows::Collection;
use spill::{HashJoinOuter, JoinSpill};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A hash join: its plan, and the table that build and probe side share.
pub(crate) struct HashJoin {
    core: Core,
    build_keys: KeyPrograms,
    probe_keys: KeyPrograms,
    key_types: Vec<LogicalType>,
    null_equal: Vec<bool>,
    /// Per key, whether it is carried as an integer of up to 64 bits.
    narrow: Vec<bool>,
    filters: Vec<Option<DynamicFilter>>,
    filters_applied: bool,
    /// Conditions beside the keys, unless [`HashJoin::mark`] has them.
    pair_filter: Option<PairFilter>,
    mark: Option<MarkConditions>,
    /// All that matters is whether a key occurs.
    members_only: bool,
    /// Build rows with a NULL key are kept behind the others.
    keep_null_keys: bool,
    collection: Collection,
    context: ExecContext,
    /// What the join was made of, without filters: partitions are joined by it.
    options: JoinOptions,
    /// Set when rows go to files.
    spill: OnceLock<JoinSpill>,
    ranges: Mutex<Vec<KeyRange>>,
    /// Of the filters that were published.
    filter_memory: Mutex<Vec<Reservation>>,
    index: OnceLock<JoinIndex>,
}

impl AsRef<Core> for HashJoin {
    fn as_ref(&self) -> &Core {
        &self.core
    }
}

/// Plans a join: a hash join if there are keys, else a nested-loop join.
pub fn plan_join(options: JoinOptions, context: &ExecContext) -> Result<JoinParts> {
    if options.keys.is_empty() {
        if let Some(parts) = plan_range_join(&options, context)? {
            return Ok(parts);
        }
        return plan_nested_loop_join(&options, context);
    }
    let join = Arc::new(HashJoin::new(options, context)?);
    let outer = join.core.outer.map(|_| Arc::new(HashJoinOuter::new(&join)) as _);
    Ok(JoinParts {
        probe_emits: join.core.kind != ProbeKind::Track,
        build: Arc::new(JoinBuild(Arc::clone(&join))),
        probe: Arc::new(JoinProbe(join)),
        outer,
    })
}

impl HashJoin {
    fn new(options: JoinOptions, context: &ExecContext) -> Result<Self> {
        let general_mark = matches!(options.kind, JoinKind::Mark(_))
            && (options.keys.len() > 1 || !options.conditions.is_empty());
        let equalities: Vec<Expr> =
            if general_mark { options.keys.iter().map(equality).collect() } else { Vec::new() };
        let read = columns_read(options.conditions.iter().chain(&equalities));
        let core = Core::new(&options, &read, &same_columns(&options))?;
        let left = options.build_left;
        let side =
            |build: bool| options.keys.iter().map(move |k| if build == left { &k.left } else { &k.right });
        let build_keys = KeyPrograms::compile(side(true), &core.build.layout())?;
        let probe_keys = KeyPrograms::compile(side(false), &core.probe.layout())?;
        let key_types: Vec<LogicalType> = side(true).map(Expr::ty).collect();
        if side(false).map(Expr::ty).ne(key_types.iter().cloned()) {
            return Err(Error::internal("the keys of a join differ in type"));
        }
        let mark = match general_mark {
            true => Some(MarkConditions::new(&equalities, &options.conditions, &core)?),
            false => None,
        };
        let pair_filter = if general_mark { None } else { PairFilter::new(&options.conditions, &core)? };
        let membership = matches!(core.kind, ProbeKind::Semi | ProbeKind::Anti | ProbeKind::Mark);
        Ok(Self {
            members_only: membership && options.conditions.is_empty() && !general_mark,
            keep_null_keys: general_mark || core.outer == Some(false),
            narrow: key_types.iter().map(|ty| is_narrow(ty.clone())).collect(),
            ranges: Mutex::new(vec![KeyRange::EMPTY; key_types.len()]),
            null_equal: options.keys.iter().map(|key| key.null_equal).collect(),
            filters: options.keys.iter().map(|key| key.filter.clone()).collect(),
            filters_applied: options.filters_applied,
            filter_memory: Mutex::default(),
            collection: Collection::default(),
            context: context.clone(),
            spill: OnceLock::new(),
            options: without_filters(options),
            index: OnceLock::new(),
            core,
            build_keys,
            probe_keys,
            key_types,
            pair_filter,
            mark,
        })
    }

    fn index(&self) -> Result<&JoinIndex> {
        self.index.get().ok_or_else(|| Error::internal("a join's probe side ran before its build side"))
    }
}

fn without_filters(mut options: JoinOptions) -> JoinOptions {
    options.keys.iter_mut().for_each(|key| key.filter = None);
    options.filters_applied = false;
    options
}

fn equality(key: &JoinKey) -> Expr {
    let op = if key.null_equal { CompareOp::NotDistinct } else { CompareOp::Eq };
    Expr::compare(op, key.left.clone(), key.right.clone())
}

/// Build columns that equal a probe column in every pair, value by value, with that column: plain column keys, but for
/// floats, of which two different ones can be equal.
fn same_columns(options: &JoinOptions) -> HashMap<ColumnId, ColumnId> {
    let mut same = HashMap::new();
    for key in &options.keys {
        let (build, probe) =
            if options.build_left { (&key.left, &key.right) } else { (&key.right, &key.left) };
        if let (Expr::Column { id: build, ty }, Expr::Column { id: probe, .. }) = (build, probe)
            && (is_narrow(ty.clone()) || ty.is_view())
        {
            same.insert(*build, *probe);
        }
    }
    same
}

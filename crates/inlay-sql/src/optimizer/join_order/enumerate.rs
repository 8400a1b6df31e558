//! Search for the cheapest join tree.
//!
//! Up to [`EXACT_MAX`] relations: dynamic programming over connected subgraphs and their connected complements (DPccp:
//! Moerkotte & Neumann, "Analysis of Two Existing and One New Dynamic Programming Algorithm", VLDB 2006). Conditions over more
//! than two relations count as edges between all of them; a tree that joins early through such an edge pays for the cross
//! product, so it loses. Beyond, for graphs that are not connected, and for those so dense that there are too many pairs
//! ([`PAIRS_MAX`]): greedy operator ordering (Fegaras, DEXA 1998), which joins the pair with the smallest result next.
//!
//! The cost of a tree is the sum over its joins of rows stored, probed and made, weighted by what they take.

use super::super::properties::as_column;
use super::super::statistics::{Relation, drawn, key_domain, residual_selectivity};
use super::graph::{Graph, RelationSet, Role};
use crate::plan::{ColumnId, CompareOp, Expr, JoinKind};
use std::collections::HashMap;

/// Groups with more relations are ordered greedily.
pub const EXACT_MAX: usize = 12;

/// Most pairs of sets that are compared, if there are few conditions. Twelve relations in a chain or a star have at most
/// 11,264, eleven that are all joined with each other 86,526, twelve 261,625.
const PAIRS_MAX: usize = 100_000;
/// So many conditions make comparing a pair take twice as long.
const CONDITIONS_SCALE: usize = 8;

/// Storing a row in a hash table.
const BUILD_COST: f64 = 2.0;
/// Looking a row up.
const PROBE_COST: f64 = 1.0;
/// Making a row ...
const OUTPUT_COST: f64 = 0.3;
/// ... and each of its values: what has many columns is joined late.
const VALUE_COST: f64 = 0.05;
/// Comparing a pair of rows in a join without equality.
const PAIR_COST: f64 = 0.3;
/// A hash table with more rows than this lies outside of the caches.
const CACHED_ROWS: f64 = 200_000.0;

/// The best tree known for a set of relations.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// Sum over all joins.
    pub cost: f64,
    /// Rows of the result.
    pub rows: f64,
    /// The two sets it joins; both empty for a single relation. An attached relation is on the right.
    pub left: RelationSet,
    /// See `left`.
    pub right: RelationSet,
}

/// Best trees by set of relations.
#[derive(Debug, Default)]
pub struct Trees {
    /// By set, while sets are small numbers.
    dense: Vec<Option<Tree>>,
    /// The others.
    sparse: HashMap<RelationSet, Tree>,
}

impl Trees {
    fn new(count: usize) -> Self {
        let dense = if count <= EXACT_MAX { vec![None; 1 << count] } else { Vec::new() };
        Self { dense, sparse: HashMap::new() }
    }

    /// The best tree for a set.
    pub fn get(&self, set: RelationSet) -> Option<&Tree> {
        if self.dense.is_empty() { self.sparse.get(&set) } else { self.dense[set as usize].as_ref() }
    }

    fn insert(&mut self, set: RelationSet, tree: Tree) {
        if self.dense.is_empty() {
            self.sparse.insert(set, tree);
        } else {
            self.dense[set as usize] = Some(tree);
        }
    }
}

/// Finds the best tree for all relations of the graph.
pub fn best(graph: &Graph) -> Trees {
    let count = graph.leaves.len();
    let conditions = graph.residuals.len() + graph.classes.len();
    let pairs_left = PAIRS_MAX * CONDITIONS_SCALE / (CONDITIONS_SCALE + conditions);
    let mut search = Search { graph, trees: Trees::new(count), pairs_left };
    for (i, leaf) in graph.leaves.iter().enumerate() {
        if matches!(leaf.role, Role::Base) {
            search
                .trees
                .insert(1 << i, Tree { cost: 0.0, rows: leaf.relation.rows.max(1.0), left: 0, right: 0 });
        }
    }
    let all = all_of(count);
    if count <= EXACT_MAX {
        search.enumerate(count);
    }
    if search.trees.get(all).is_none() {
        search.greedy(count);
    }
    search.trees
}

/// The set of the first `count` relations.
pub fn all_of(count: usize) -> RelationSet {
    if count >= 64 { RelationSet::MAX } else { (1 << count) - 1 }
}

fn members(set: RelationSet) -> impl Iterator<Item = usize> {
    (0..64).filter(move |i| set >> i & 1 == 1)
}

struct Search<'a> {
    graph: &'a Graph,
    trees: Trees,
    /// How many pairs are still compared by the exact search.
    pairs_left: usize,
}

impl Search<'_> {
    fn neighbours(&self, set: RelationSet) -> RelationSet {
        members(set).fold(0, |all, i| all | self.graph.neighbours[i]) & !set
    }

    fn enumerate(&mut self, count: usize) {
        for i in (0..count).rev() {
            let set = 1 << i;
            self.complements_of(set);
            self.grow(set, (set << 1) - 1);
        }
    }

    fn grow(&mut self, set: RelationSet, excluded: RelationSet) {
        if self.pairs_left == 0 {
            return;
        }
        let near = self.neighbours(set) & !excluded;
        for subset in subsets(near) {
            self.complements_of(set | subset);
        }
        for subset in subsets(near) {
            self.grow(set | subset, excluded | near);
        }
    }

    fn complements_of(&mut self, set: RelationSet) {
        if self.pairs_left == 0 {
            return;
        }
        let lowest = set & set.wrapping_neg();
        let excluded = set | ((lowest << 1) - 1);
        let near = self.neighbours(set) & !excluded;
        for i in members(near).collect::<Vec<_>>().into_iter().rev() {
            self.consider(set, 1 << i);
            let below = near & ((1 << i) | ((1 << i) - 1));
            self.grow_complement(set, 1 << i, excluded | below);
        }
    }

    fn grow_complement(&mut self, set: RelationSet, complement: RelationSet, excluded: RelationSet) {
        if self.pairs_left == 0 {
            return;
        }
        let near = self.neighbours(complement) & !excluded;
        for subset in subsets(near) {
            self.consider(set, complement | subset);
        }
        for subset in subsets(near) {
            self.grow_complement(set, complement | subset, excluded | near);
        }
    }

    /// Joins two disjoint sets, if that is allowed, and keeps the tree if it is the best for its set.
    fn consider(&mut self, a: RelationSet, b: RelationSet) {
        self.pairs_left = self.pairs_left.saturating_sub(1);
        let candidate = self.join(a, b).or_else(|| self.join(b, a));
        let Some(tree) = candidate else { return };
        let best = self.trees.get(a | b).is_none_or(|known| tree.cost < known.cost);
        if best {
            // All trees of a set have the rows of the first one, so that costs compare.
            let rows = self.trees.get(a | b).map_or(tree.rows, |known| known.rows);
            self.trees.insert(a | b, Tree { rows, ..tree });
        }
    }

    fn join(&self, left: RelationSet, right: RelationSet) -> Option<Tree> {
        let l = self.trees.get(left)?;
        if right.count_ones() == 1 {
            let index = right.trailing_zeros() as usize;
            if let Role::Attached { kind, conditions, requires } = &self.graph.leaves[index].role {
                return (requires & !left == 0).then(|| self.attach(left, l, index, *kind, conditions));
            }
        }
        let r = self.trees.get(right)?;
        let (share, has_equality) = self.inner_share(left, right, l.rows, r.rows);
        let known = self.trees.get(left | right).map(|t| t.rows);
        let rows = known.unwrap_or((l.rows * r.rows * share).max(1.0));
        let (build, probe) = if r.rows <= l.rows { (r.rows, l.rows) } else { (l.rows, r.rows) };
        let own = join_cost(build, probe, (rows, self.row_cost(left | right)), has_equality);
        Some(Tree { cost: l.cost + r.cost + own, rows, left, right })
    }

    /// What making a row of the columns of a set costs.
    fn row_cost(&self, set: RelationSet) -> f64 {
        let columns: usize = members(set).map(|i| self.graph.leaves[i].columns.count()).sum();
        OUTPUT_COST + VALUE_COST * columns as f64
    }

    fn attach(&self, left: RelationSet, l: &Tree, index: usize, kind: JoinKind, conditions: &[Expr]) -> Tree {
        let leaf = &self.graph.leaves[index];
        let right = &leaf.relation;
        let matched = self.matched_share(left, right, conditions);
        let rows = match kind {
            JoinKind::Semi => l.rows * matched,
            JoinKind::Anti => l.rows * (1.0 - matched).max(0.05),
            JoinKind::Left => {
                let once = leaf.keys.iter().any(|key| {
                    key.iter().all(|id| conditions.iter().any(|c| is_equality(c) && reads_column(c, id)))
                });
                if once {
                    l.rows
                } else {
                    (l.rows * right.rows * self.attached_share(left, right, conditions)).max(l.rows)
                }
            }
            JoinKind::Mark(_) | JoinKind::Single | JoinKind::Inner | JoinKind::Full => l.rows,
        };
        let mut rows = rows.max(1.0);
        // Filters over what the join makes available.
        let set = left | 1 << index;
        for residual in self.new_residuals(left, 1 << index, set) {
            rows = (rows * self.residual_share(&residual.expr, rows)).max(1.0);
        }
        let build_right_only = matches!(kind, JoinKind::Mark(_) | JoinKind::Single);
        let (build, probe) = if right.rows <= l.rows || build_right_only {
            (right.rows, l.rows)
        } else {
            (l.rows, right.rows)
        };
        let has_equality = conditions.iter().any(is_equality);
        let output = (rows, self.row_cost(set));
        let cost = l.cost + join_cost(build, probe, output, has_equality || conditions.is_empty());
        Tree { cost, rows, left, right: 1 << index }
    }

    /// The domains of the two columns that a condition equates, that of the set first.
    fn equated(&self, left: RelationSet, right: &Relation, condition: &Expr) -> Option<(f64, f64)> {
        let Expr::Compare { op: CompareOp::Eq | CompareOp::NotDistinct, left: a, right: b } = condition
        else {
            return None;
        };
        let (a, b) = (as_column(a)?, as_column(b)?);
        let (inner, outer) = if right.columns.contains_key(&b) { (b, a) } else { (a, b) };
        let leaf = members(left).map(|i| &self.graph.leaves[i]).find(|leaf| leaf.columns.contains(outer))?;
        Some((
            leaf.relation.domain(outer),
            if right.columns.contains_key(&inner) { right.distinct(inner) } else { 1.0 },
        ))
    }

    /// The share of rows of a set that have a partner in an attached relation.
    fn matched_share(&self, left: RelationSet, right: &Relation, conditions: &[Expr]) -> f64 {
        let shares =
            conditions.iter().filter_map(|c| self.equated(left, right, c)).map(|(l, r)| r / l.max(r));
        shares.reduce(f64::min).unwrap_or(0.5)
    }

    fn attached_share(&self, left: RelationSet, right: &Relation, conditions: &[Expr]) -> f64 {
        let share = |c: &Expr| match self.equated(left, right, c) {
            Some((l, r)) => 1.0 / l.max(r),
            None => residual_selectivity(c),
        };
        conditions.iter().map(share).product()
    }

    /// Residual conditions that become decidable by joining two sets.
    fn new_residuals(
        &self,
        left: RelationSet,
        right: RelationSet,
        set: RelationSet,
    ) -> impl Iterator<Item = &super::graph::Residual> {
        self.graph.residuals.iter().filter(move |r| is_new(r.reads, left, right, set, self.graph))
    }

    /// The share of pairs that satisfy the conditions across two sets, and whether one is an equality.
    fn inner_share(
        &self,
        left: RelationSet,
        right: RelationSet,
        left_rows: f64,
        right_rows: f64,
    ) -> (f64, bool) {
        let mut sides = [Side::new(), Side::new()];
        let mut equalities = 0;
        for (number, class) in self.graph.classes.iter().enumerate() {
            let best = |set: RelationSet| {
                let inside = class.iter().filter(|(_, i)| set >> i & 1 == 1);
                inside
                    .map(|(id, i)| (self.graph.leaves[*i].relation.domain(*id), *id, *i))
                    .min_by(|a, b| a.0.total_cmp(&b.0))
            };
            if let (Some(l), Some(r)) = (best(left), best(right)) {
                equalities += 1;
                sides[0].add(l, (number, class), left);
                sides[1].add(r, (number, class), right);
            }
        }
        let mut share = 1.0;
        if equalities > 0 {
            let keyed = sides
                .iter()
                .filter_map(|side| side.key_rows(self.graph))
                .fold(None, |best: Option<f64>, rows| Some(best.map_or(rows, |b| b.max(rows))));
            share /= keyed.unwrap_or_else(|| {
                let of = |side: &Side| (side.combinations, side.base_rows(self.graph));
                key_domain(equalities, of(&sides[0]), of(&sides[1]))
            });
        }
        let set = left | right;
        let mut has_equality = equalities > 0;
        for residual in self.new_residuals(left, right, set) {
            has_equality |= is_equality(&residual.expr);
            share *= self.residual_share(&residual.expr, left_rows.max(right_rows));
        }
        (share, has_equality)
    }

    /// The share of pairs that satisfy a residual condition, of which each side has a value for so many rows.
    fn residual_share(&self, expr: &Expr, rows: f64) -> f64 {
        match expr {
            Expr::Compare { op: CompareOp::Eq | CompareOp::NotDistinct, left, right } => {
                let domain = |e: &Expr| e.columns().iter().map(|id| self.domain_of(*id)).fold(1.0, f64::max);
                1.0 / drawn(domain(left).max(domain(right)), rows)
            }
            other => residual_selectivity(other),
        }
    }

    fn domain_of(&self, id: ColumnId) -> f64 {
        let leaf = self.graph.leaves.iter().find(|leaf| leaf.columns.contains(id));
        leaf.map_or(1.0, |leaf| leaf.relation.domain(id))
    }

    /// Joins the pair with the smallest result until one tree is left.
    fn greedy(&mut self, count: usize) {
        let mut parts: Vec<RelationSet> = (0..count).map(|i| 1 << i).collect();
        while parts.len() > 1 {
            let mut best: Option<(bool, f64, usize, usize)> = None;
            for i in 0..parts.len() {
                for j in i + 1..parts.len() {
                    let Some(tree) = self.join(parts[i], parts[j]).or_else(|| self.join(parts[j], parts[i]))
                    else {
                        continue;
                    };
                    let is_cross = self.neighbours(parts[i]) & parts[j] == 0;
                    let candidate = (is_cross, tree.rows + tree.cost * 1e-3, i, j);
                    if best.is_none_or(|b| (candidate.0, candidate.1) < (b.0, b.1)) {
                        best = Some(candidate);
                    }
                }
            }
            // Attached relations wait for what they require, which some pair brings nearer as long as two parts are left.
            let Some((.., i, j)) = best else { return };
            let (a, b) = (parts[i], parts[j]);
            self.consider(a, b);
            parts.swap_remove(j);
            parts[i] = a | b;
        }
    }
}

/// Whether a condition can be evaluated on the join of two sets but on neither alone. What reads attached relations alone is
/// evaluated by the join that attaches.
pub fn is_new(
    reads: RelationSet,
    left: RelationSet,
    right: RelationSet,
    set: RelationSet,
    graph: &Graph,
) -> bool {
    let attaches = right.count_ones() == 1
        && matches!(graph.leaves[right.trailing_zeros() as usize].role, Role::Attached { .. });
    reads & !set == 0 && reads & !left != 0 && (attaches || reads & !right != 0)
}

fn is_equality(condition: &Expr) -> bool {
    matches!(condition, Expr::Compare { op: CompareOp::Eq | CompareOp::NotDistinct, .. })
}

fn reads_column(expr: &Expr, id: ColumnId) -> bool {
    expr.children().into_iter().any(|child| matches!(child, Expr::Column { id: read, .. } if *read == id))
}

/// `output`: rows, and what making one costs.
fn join_cost(build: f64, probe: f64, output: (f64, f64), has_equality: bool) -> f64 {
    let output = output.0 * output.1;
    if !has_equality && build > 1.0 {
        return build * probe * PAIR_COST + output;
    }
    let miss = if build > CACHED_ROWS { 1.0 + (build / CACHED_ROWS).log2() * 0.25 } else { 1.0 };
    build * BUILD_COST * miss + probe * PROBE_COST * miss + output
}

/// Non-empty subsets, smaller ones of a chain first.
fn subsets(set: RelationSet) -> impl Iterator<Item = RelationSet> {
    let mut next = set & set.wrapping_neg();
    std::iter::from_fn(move || {
        if next == 0 {
            return None;
        }
        let current = next;
        next = current.wrapping_sub(set) & set;
        Some(current)
    })
}

/// The join columns of one side.
struct Side {
    combinations: f64,
    /// Class, column and relation of all members of crossing classes.
    columns: Vec<(usize, ColumnId, usize)>,
    relations: RelationSet,
}

impl Side {
    fn new() -> Self {
        Self { combinations: 1.0, columns: Vec::new(), relations: 0 }
    }

    fn add(
        &mut self,
        (domain, _, relation): (f64, ColumnId, usize),
        (number, class): (usize, &[(ColumnId, usize)]),
        set: RelationSet,
    ) {
        self.combinations *= domain;
        let inside = class.iter().filter(|(_, i)| set >> i & 1 == 1);
        self.columns.extend(inside.map(|(id, i)| (number, *id, *i)));
        self.relations |= 1 << relation;
    }

    /// Rows of the tables whose keys the columns cover: combinations of them, where keys are independent of each other.
    fn key_rows(&self, graph: &Graph) -> Option<f64> {
        let of = |relation: usize| self.columns.iter().filter(move |(.., i)| *i == relation);
        let is_covered = |relation: &usize| {
            graph.leaves[*relation].keys.iter().any(|key| {
                !key.is_empty() && key.iter().all(|id| of(*relation).any(|(_, column, _)| *column == id))
            })
        };
        let rows = |relation: usize| {
            // A filter on the key itself shrinks the domain that both sides meet in.
            let leaf = &graph.leaves[relation].relation;
            of(relation).map(|(_, id, _)| leaf.domain(*id)).product::<f64>().min(leaf.base_rows).max(1.0)
        };
        let mut relations: Vec<usize> = self.columns.iter().map(|(.., i)| *i).collect();
        relations.sort_unstable();
        relations.dedup();
        let mut keyed: Vec<(f64, usize)> =
            relations.into_iter().filter(is_covered).map(|relation| (rows(relation), relation)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut product = None;
        let mut classes: Vec<usize> = Vec::new();
        for (rows, relation) in keyed {
            // Of relations that are equal in a column, the smallest counts.
            if of(relation).all(|(class, ..)| !classes.contains(class)) {
                classes.extend(of(relation).map(|(class, ..)| *class));
                product = Some(product.unwrap_or(1.0) * rows);
            }
        }
        product
    }

    fn base_rows(&self, graph: &Graph) -> f64 {
        if self.relations.count_ones() == 1 {
            graph.leaves[self.relations.trailing_zeros() as usize].relation.base_rows
        } else {
            f64::INFINITY
        }
    }
}

//! Makes the plan of the tree that was found.

use super::super::column_set::ColumnSet;
use super::super::statistics::Estimator;
use super::enumerate::{Tree, Trees, all_of, best, is_new};
use super::graph::{Graph, RELATION_COUNT_MAX, RelationSet, Role};
use crate::plan::{Columns, CompareOp, Expr, JoinKind, Plan};
use inlay_types::{Error, Result};

/// A left input that is this much smaller than the right one is built on instead.
const BUILD_LEFT_RATIO: f64 = 0.8;
/// Where neither input has more rows than this, it does not matter which is built on.
const SMALL_ROWS: f64 = 4_096.0;

/// The plan of the best tree for the graph.
pub fn best_tree(mut graph: Graph, columns: &Columns, estimator: &mut Estimator) -> Result<Plan> {
    if graph.leaves.len() > RELATION_COUNT_MAX {
        return as_found(graph);
    }
    let constant = graph.prepare(columns);
    push_into_leaves(&mut graph, estimator);
    let trees = best(&graph);
    let all = all_of(graph.leaves.len());
    if trees.get(all).is_none() {
        return Err(Error::internal("no join tree covers all relations of a group"));
    }
    let mut builder = Builder { graph, trees, columns };
    let plan = builder.build(all)?;
    Ok(plan.filter(constant))
}

/// Conditions over one base relation go to it.
fn push_into_leaves(graph: &mut Graph, estimator: &mut Estimator) {
    let residuals = std::mem::take(&mut graph.residuals);
    for residual in residuals {
        let index = residual.reads.trailing_zeros() as usize;
        if residual.reads.count_ones() == 1 && matches!(graph.leaves[index].role, Role::Base) {
            let leaf = &mut graph.leaves[index];
            let plan = super::super::rewrite::take(&mut leaf.plan);
            leaf.plan = match plan {
                Plan::Filter { input, mut predicates } => {
                    predicates.push(residual.expr);
                    Plan::Filter { input, predicates }
                }
                other => other.filter(vec![residual.expr]),
            };
            leaf.relation = estimator.relation(&leaf.plan);
        } else {
            graph.residuals.push(residual);
        }
    }
}

/// Joins in the order of the query; for groups that are too large for sets of 64.
fn as_found(graph: Graph) -> Result<Plan> {
    let mut plan: Option<Plan> = None;
    let mut pending = graph.conditions;
    for leaf in graph.leaves {
        let next = match (plan, leaf.role) {
            (None, Role::Base) => leaf.plan,
            (Some(left), Role::Base) => {
                let available = left.output().into_iter().chain(leaf.plan.output()).collect::<ColumnSet>();
                let (now, later) = pending.into_iter().partition(|c| ColumnSet::of(c).is_subset(&available));
                pending = later;
                Plan::join(JoinKind::Inner, left, leaf.plan, now)
            }
            (Some(left), Role::Attached { kind, conditions, .. }) => {
                Plan::join(kind, left, leaf.plan, conditions)
            }
            (None, Role::Attached { .. }) => {
                return Err(Error::internal("a join group begins with an attached relation"));
            }
        };
        plan = Some(next);
    }
    let plan = plan.ok_or_else(|| Error::internal("a join group without relations"))?;
    Ok(plan.filter(pending))
}

struct Builder<'a> {
    graph: Graph,
    trees: Trees,
    columns: &'a Columns,
}

impl Builder<'_> {
    fn tree(&self, set: RelationSet) -> Result<Tree> {
        self.trees.get(set).copied().ok_or_else(|| Error::internal("a part of a join tree is missing"))
    }

    fn build(&mut self, set: RelationSet) -> Result<Plan> {
        if set.count_ones() == 1 {
            let leaf = &mut self.graph.leaves[set.trailing_zeros() as usize];
            return Ok(super::super::rewrite::take(&mut leaf.plan));
        }
        let tree = self.tree(set)?;
        let left = self.build(tree.left)?;
        let left_rows = self.tree(tree.left)?.rows;
        let index = tree.right.trailing_zeros() as usize;
        if tree.right.count_ones() == 1
            && let Role::Attached { kind, conditions, .. } = &self.graph.leaves[index].role
        {
            let (kind, conditions) = (*kind, conditions.clone());
            let right_rows = self.graph.leaves[index].relation.rows;
            let right = self.build(tree.right)?;
            let may_choose = matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
            let equality =
                |c: &Expr| matches!(c, Expr::Compare { op: CompareOp::Eq | CompareOp::NotDistinct, .. });
            let build_left =
                may_choose && conditions.iter().any(equality) && left_rows < right_rows * BUILD_LEFT_RATIO;
            let filters = self.residuals(tree.left, tree.right, set);
            let (left, right) = (Box::new(left), Box::new(right));
            return Ok(Plan::Join { kind, left, right, conditions, build_left }.filter(filters));
        }
        let right = self.build(tree.right)?;
        let right_rows = self.tree(tree.right)?.rows;
        let mut conditions = self.equalities(tree.left, tree.right);
        conditions.extend(self.residuals(tree.left, tree.right, set));
        let builds_right = if left_rows.max(right_rows) <= SMALL_ROWS {
            // Either is built in no time: what counts is the scan that the other side's filter reaches.
            self.largest_leaf(tree.right) <= self.largest_leaf(tree.left)
        } else {
            right_rows <= left_rows
        };
        let (left, right) = if builds_right { (left, right) } else { (right, left) };
        Ok(Plan::join(JoinKind::Inner, left, right, conditions))
    }

    /// Rows of the largest table of a set, before filters.
    fn largest_leaf(&self, set: RelationSet) -> f64 {
        let leaves = self.graph.leaves.iter().enumerate().filter(|(index, _)| set >> index & 1 == 1);
        leaves.map(|(_, leaf)| leaf.scanned).fold(0.0, f64::max)
    }

    /// One equality for each class with members on both sides.
    fn equalities(&self, left: RelationSet, right: RelationSet) -> Vec<Expr> {
        let member = |class: &[(crate::plan::ColumnId, usize)], set: RelationSet| {
            class.iter().find(|(_, i)| set >> i & 1 == 1).map(|(id, _)| self.columns.expr(*id))
        };
        let across = |class: &Vec<(crate::plan::ColumnId, usize)>| {
            Some(Expr::compare(CompareOp::Eq, member(class, left)?, member(class, right)?))
        };
        self.graph.classes.iter().filter_map(across).collect()
    }

    fn residuals(&self, left: RelationSet, right: RelationSet, set: RelationSet) -> Vec<Expr> {
        let new = self.graph.residuals.iter().filter(|r| is_new(r.reads, left, right, set, &self.graph));
        new.map(|r| r.expr.clone()).collect()
    }
}

//! The join graph of one group: relations, and conditions between sets of them.

use super::super::column_set::ColumnSet;
use super::super::equality::EqualityClasses;
use super::super::properties::{as_column_equality, keys, output_set};
use super::super::reach;
use super::super::statistics::Relation;
use crate::plan::{ColumnId, Columns, CompareOp, Expr, JoinKind, Plan};

/// A set of relations, one bit each.
pub type RelationSet = u64;

/// Groups with more relations are not ordered as a whole.
pub const RELATION_COUNT_MAX: usize = 64;

/// How a relation comes into the tree.
#[derive(Clone, Debug)]
pub enum Role {
    /// By inner joins.
    Base,
    /// As the right input of one join of this kind under these conditions, once `requires` is there.
    Attached {
        /// Never `Inner` nor `Full`.
        kind: JoinKind,
        /// All of them are evaluated by that join.
        conditions: Vec<Expr>,
        /// The relations that the conditions read, without the attached one.
        requires: RelationSet,
    },
}

/// A leaf of the group.
#[derive(Debug)]
pub struct Leaf {
    /// Its plan, ordered already.
    pub plan: Plan,
    /// What is believed of its rows, as far as they can have partners.
    pub relation: Relation,
    /// Rows of its largest table, whatever the filters.
    pub scanned: f64,
    /// Its columns; for an attached relation, those that the join makes available.
    pub columns: ColumnSet,
    /// Proven keys.
    pub keys: Vec<ColumnSet>,
    /// See [`Role`].
    pub role: Role,
}

/// A condition of inner joins that is no equality of two base columns.
#[derive(Debug)]
pub struct Residual {
    /// The condition.
    pub expr: Expr,
    /// The relations it reads.
    pub reads: RelationSet,
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Graph {
    /// Relations in the order found.
    pub leaves: Vec<Leaf>,
    /// Conditions of inner joins and filters as found; `prepare` divides them.
    pub conditions: Vec<Expr>,
    /// Classes of base columns that are equal in the result.
    pub classes: Vec<Vec<(ColumnId, usize)>>,
    /// The other conditions.
    pub residuals: Vec<Residual>,
    /// For each relation, those it shares a condition with.
    pub neighbours: Vec<RelationSet>,
}

impl Graph {
    /// Adds a base relation.
    pub fn add(&mut self, plan: Plan, relation: Relation) {
        let (columns, keys, scanned) = (output_set(&plan), keys(&plan), relation.base_rows);
        self.leaves.push(Leaf { plan, relation, scanned, columns, keys, role: Role::Base });
    }

    /// Adds the right input of a join that is not inner.
    pub fn attach(&mut self, kind: JoinKind, plan: Plan, relation: Relation, conditions: Vec<Expr>) {
        let columns = match kind {
            JoinKind::Mark(mark) => ColumnSet::from_iter([mark]),
            JoinKind::Semi | JoinKind::Anti => ColumnSet::new(),
            JoinKind::Left | JoinKind::Single | JoinKind::Inner | JoinKind::Full => output_set(&plan),
        };
        let keys = keys(&plan);
        let role = Role::Attached { kind, conditions, requires: 0 };
        let scanned = relation.base_rows;
        self.leaves.push(Leaf { plan, relation, scanned, columns, keys, role });
    }

    /// Every expression, for rewriting.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let attached = self.leaves.iter_mut().flat_map(|leaf| match &mut leaf.role {
            Role::Base => [].iter_mut(),
            Role::Attached { conditions, .. } => conditions.iter_mut(),
        });
        self.conditions.iter_mut().chain(attached)
    }

    /// The relations whose columns an expression reads.
    pub fn reads(&self, expr: &Expr) -> RelationSet {
        let columns = ColumnSet::of(expr);
        let hits = self.leaves.iter().enumerate().filter(|(_, leaf)| leaf.columns.intersects(&columns));
        hits.fold(0, |set, (i, _)| set | 1 << i)
    }

    fn base_of(&self, id: ColumnId) -> Option<usize> {
        self.leaves.iter().position(|leaf| matches!(leaf.role, Role::Base) && leaf.columns.contains(id))
    }

    /// Divides the conditions into classes and residuals and finds the neighbours. Returns conditions that read no
    /// relation at all.
    pub fn prepare(&mut self, columns: &Columns) -> Vec<Expr> {
        let mut classes = EqualityClasses::new();
        let mut constant = Vec::new();
        let mut residuals = Vec::new();
        for expr in std::mem::take(&mut self.conditions) {
            let sides =
                as_column_equality(&expr).and_then(|(a, b)| Some((a, self.base_of(a)?, b, self.base_of(b)?)));
            match sides {
                Some((a, left, b, right)) if left != right => classes.merge(a, b),
                _ => match self.reads(&expr) {
                    0 => constant.push(expr),
                    reads => residuals.push(Residual { expr, reads }),
                },
            }
        }
        self.residuals = residuals;
        self.classes = classes
            .classes()
            .into_iter()
            .map(|class| class.into_iter().filter_map(|id| Some((id, self.base_of(id)?))).collect())
            .collect();
        self.equate_within(columns);
        let mut relations: Vec<&mut Relation> =
            self.leaves.iter_mut().map(|leaf| &mut leaf.relation).collect();
        reach::equate(&self.classes, &mut relations);
        for index in 0..self.leaves.len() {
            let Role::Attached { conditions, .. } = &self.leaves[index].role else { continue };
            // The right input's own columns are not among the leaf's for semi joins; they are no requirement either.
            let mut all = conditions.iter().fold(0, |set, c| set | self.reads(c)) & !(1 << index);
            if all == 0 {
                all = self.partner_of(index);
            }
            if let Role::Attached { requires, .. } = &mut self.leaves[index].role {
                *requires = all;
            }
        }
        self.find_neighbours();
        constant
    }

    /// The relation that an input without conditions is joined to: one that it is compared with, so that what is left of that
    /// one is known early; else the first.
    fn partner_of(&self, index: usize) -> RelationSet {
        let is_base = |i: &usize| matches!(self.leaves[*i].role, Role::Base);
        let compared = |residual: &&Residual| {
            let others = residual.reads & !(1 << index);
            others != residual.reads
                && others.count_ones() == 1
                && is_base(&(others.trailing_zeros() as usize))
        };
        if let Some(residual) = self.residuals.iter().find(compared) {
            return residual.reads & !(1 << index);
        }
        (0..self.leaves.len()).find(is_base).map_or(0, |first| 1 << first)
    }

    /// A join compares one column of a class on each side, so two columns of one relation are made equal in the relation.
    fn equate_within(&mut self, columns: &Columns) {
        let mut equalities = Vec::new();
        for class in &self.classes {
            for (place, (id, leaf)) in class.iter().enumerate() {
                let Some((first, _)) = class[..place].iter().find(|(_, other)| other == leaf) else {
                    continue;
                };
                if !equates(&self.leaves[*leaf].plan, *first, *id) {
                    let expr = Expr::compare(CompareOp::Eq, columns.expr(*first), columns.expr(*id));
                    equalities.push(Residual { expr, reads: 1 << leaf });
                }
            }
        }
        self.residuals.extend(equalities);
    }

    fn find_neighbours(&mut self) {
        let mut edges: Vec<RelationSet> = self.residuals.iter().map(|r| r.reads).collect();
        edges.extend(self.classes.iter().map(|class| class.iter().fold(0, |set, (_, i)| set | 1 << i)));
        for (index, leaf) in self.leaves.iter().enumerate() {
            if let Role::Attached { requires, .. } = &leaf.role {
                edges.extend(
                    (0..self.leaves.len()).filter(|i| requires >> i & 1 == 1).map(|i| 1 << i | 1 << index),
                );
            }
        }
        self.neighbours = vec![0; self.leaves.len()];
        for edge in edges {
            for (i, neighbours) in self.neighbours.iter_mut().enumerate() {
                if edge >> i & 1 == 1 {
                    *neighbours |= edge & !(1 << i);
                }
            }
        }
    }
}

/// Whether `plan` ends with a filter that says `a = b`.
fn equates(plan: &Plan, a: ColumnId, b: ColumnId) -> bool {
    let (Plan::Filter { predicates: filters, .. }
    | Plan::Scan { filters, .. }
    | Plan::Source { filters, .. }) = plan
    else {
        return false;
    };
    filters.iter().filter_map(as_column_equality).any(|pair| pair == (a, b) || pair == (b, a))
}

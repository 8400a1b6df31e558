//! Classes of columns that a set of conditions makes equal, and what follows from them.

use super::column_set::ColumnSet;
use super::properties::{as_column, as_column_equality, can_fail};
use crate::plan::{ColumnId, Columns, CompareOp, Expr};
use std::collections::{BTreeMap, HashMap};

/// Most predicates for which others are inferred.
const PREDICATES_MAX: usize = 1_000;

/// Columns in classes: two columns of one class are equal (and not NULL) in all rows.
#[derive(Clone, Debug, Default)]
pub struct EqualityClasses {
    /// Column to a column nearer to the class's first.
    parents: BTreeMap<ColumnId, ColumnId>,
}

impl EqualityClasses {
    /// No column is known to equal another.
    pub fn new() -> Self {
        Self::default()
    }

    /// Merges the classes of `a` and `b` if the condition is `a = b`.
    pub fn add_condition(&mut self, condition: &Expr) {
        if let Some((a, b)) = as_column_equality(condition) {
            self.merge(a, b);
        }
    }

    /// Says that two columns are equal.
    pub fn merge(&mut self, a: ColumnId, b: ColumnId) {
        let (a, b) = (self.first_of(a), self.first_of(b));
        if a == b && self.parents.contains_key(&a) {
            return;
        }
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        self.parents.insert(low, low);
        self.parents.insert(high, low);
    }

    /// The column that stands for the class of `id`.
    pub fn first_of(&self, id: ColumnId) -> ColumnId {
        let mut at = id;
        while let Some(parent) = self.parents.get(&at) {
            if *parent == at {
                break;
            }
            at = *parent;
        }
        at
    }

    /// Whether two columns are known to be equal.
    pub fn are_equal(&self, a: ColumnId, b: ColumnId) -> bool {
        a == b || self.first_of(a) == self.first_of(b)
    }

    /// All classes with two columns or more.
    pub fn classes(&self) -> Vec<Vec<ColumnId>> {
        let mut classes: BTreeMap<ColumnId, Vec<ColumnId>> = BTreeMap::new();
        for id in self.parents.keys() {
            classes.entry(self.first_of(*id)).or_default().push(*id);
        }
        classes.into_values().filter(|class| class.len() > 1).collect()
    }

    /// Copies of those `predicates` that read one column, for the other columns of its class.
    pub fn inferred(&self, predicates: &[Expr], columns: &Columns) -> Vec<Expr> {
        let classes = self.classes();
        // Nobody has as many conditions by hand, and each is compared with all others.
        if classes.is_empty() || predicates.len() > PREDICATES_MAX {
            return Vec::new();
        }
        let mut inferred = Vec::new();
        for predicate in predicates {
            let reads = ColumnSet::of(predicate);
            if reads.count() != 1
                || !predicate.is_deterministic()
                || can_fail(predicate)
                || is_null_test(predicate)
            {
                continue;
            }
            let Some(read) = reads.iter().next() else { continue };
            let Some(class) = classes.iter().find(|class| class.contains(&read)) else { continue };
            for other in class.iter().filter(|id| **id != read && columns.ty(**id) == columns.ty(read)) {
                let mut copy = predicate.clone();
                copy.substitute(&HashMap::from([(read, columns.expr(*other))]));
                if !predicates.contains(&copy) && !inferred.contains(&copy) {
                    inferred.push(copy);
                }
            }
        }
        inferred
    }

    /// `a = b` for columns of one class on one of `sides` that no condition equates yet.
    pub fn implied_within(&self, conditions: &[Expr], sides: &[&ColumnSet], columns: &Columns) -> Vec<Expr> {
        let mut implied = Vec::new();
        let equalities: Vec<(ColumnId, ColumnId)> =
            conditions.iter().filter_map(as_column_equality).collect();
        for class in self.classes() {
            for side in sides {
                let members: Vec<ColumnId> = class.iter().copied().filter(|id| side.contains(*id)).collect();
                if members.len() < 2 {
                    continue;
                }
                let set = ColumnSet::from_iter(members.iter().copied());
                let mut direct = Self::new();
                for (a, b) in &equalities {
                    if set.contains(*a) && set.contains(*b) {
                        direct.merge(*a, *b);
                    }
                }
                for pair in members.windows(2) {
                    if !direct.are_equal(pair[0], pair[1]) {
                        direct.merge(pair[0], pair[1]);
                        implied.push(Expr::compare(
                            CompareOp::Eq,
                            columns.expr(pair[0]),
                            columns.expr(pair[1]),
                        ));
                    }
                }
            }
        }
        implied
    }
}

/// `IS NOT NULL` tells nothing new: an equality rejects NULLs on both sides.
fn is_null_test(predicate: &Expr) -> bool {
    match predicate {
        Expr::Not(input) => matches!(&**input, Expr::IsNull(tested) if as_column(tested).is_some()),
        Expr::IsNull(_) => true,
        _ => false,
    }
}

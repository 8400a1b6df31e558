//! Finding one of many: names, and expressions that were seen before.
//!
//! What a statement lists may have 20,000 entries, and each of them is looked for among the others: in turn, that would take
//! time by the square.

use super::scope::same_name;
use crate::plan::{ColumnId, Expr};
use std::collections::HashMap;

/// Up to here, comparing in turn is quicker than making an index.
const SEARCHED_MAX: usize = 16;

/// The places of names in a list, without regard to case.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(HashMap<String, Vec<usize>>);

impl Names {
    /// Of names with their places, in the order of these.
    pub(super) fn new<'n>(names: impl IntoIterator<Item = (usize, &'n str)>) -> Self {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, name) in names {
            places.entry(name.to_lowercase()).or_default().push(place);
        }
        Self(places)
    }

    /// Of all names of a list.
    pub(super) fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self::new(names.into_iter().enumerate())
    }

    /// Where `name` stands.
    pub(super) fn places(&self, name: &str) -> &[usize] {
        self.0.get(&name.to_lowercase()).map_or(&[], Vec::as_slice)
    }

    pub(super) fn first(&self, name: &str) -> Option<usize> {
        self.places(name).first().copied()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(&name.to_lowercase())
    }
}

/// The places of names in a list that is looked into often if it is long: the index is made when it is first asked.
#[derive(Clone, Debug, Default)]
pub(super) struct LazyNames(std::cell::OnceCell<Names>);

impl LazyNames {
    /// Where `name` stands among `count` names that do not change.
    pub(super) fn places<'n>(&self, name: &str, count: usize, nth: impl Fn(usize) -> &'n str) -> Vec<usize> {
        let is_it = |place: &usize| same_name(nth(*place), name);
        if count <= SEARCHED_MAX {
            return (0..count).filter(is_it).collect();
        }
        let names = self.0.get_or_init(|| Names::of((0..count).map(&nth)));
        names.places(name).iter().copied().filter(is_it).collect()
    }
}

/// Expressions of a list: columns are found by their identity, all others in turn.
#[derive(Debug, Default)]
pub(super) struct Exprs {
    columns: HashMap<ColumnId, usize>,
    others: Vec<usize>,
}

impl Exprs {
    pub(super) fn of(list: &[(ColumnId, Expr)]) -> Self {
        let mut known = Self::default();
        for (place, (_, expr)) in list.iter().enumerate() {
            known.add(place, expr);
        }
        known
    }

    /// Notes that `expr` stands at `place`.
    pub(super) fn add(&mut self, place: usize, expr: &Expr) {
        match expr {
            Expr::Column { id, .. } => {
                self.columns.entry(*id).or_insert(place);
            }
            _ => self.others.push(place),
        }
    }

    /// Where an expression that equals `expr` stands in `list`.
    pub(super) fn place(&self, list: &[(ColumnId, Expr)], expr: &Expr) -> Option<usize> {
        let is_it = |place: &usize| list.get(*place).is_some_and(|(_, known)| known == expr);
        match expr {
            Expr::Column { id, .. } => self.columns.get(id).copied().filter(is_it),
            _ => self.others.iter().copied().find(is_it),
        }
    }
}

//! Members of objects: where the keys are, and those of two objects together.

use super::value::Json;
use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

/// A key of an object and what it stands for.
pub type Member<'a> = (Cow<'a, str>, Json<'a>);

/// Members that are looked for one after the other; of more there is an index.
pub(super) const SEARCHED_MAX: usize = 16;

/// Where names are in a list of so many, by the name at each place. Of many there is an index once one is looked for.
pub struct Places<'j, N> {
    count: usize,
    name: N,
    index: OnceCell<HashMap<&'j str, usize>>,
    /// Behind the one that was found last.
    expected: Cell<usize>,
}

impl<'j, N: Fn(usize) -> &'j str> Places<'j, N> {
    /// Places of names that are given by number.
    pub fn new(count: usize, name: N) -> Self {
        Self { count, name, index: OnceCell::new(), expected: Cell::new(0) }
    }

    /// The first place of a name.
    pub fn first(&self, wanted: &str) -> Option<usize> {
        if self.count <= SEARCHED_MAX {
            return (0..self.count).find(|at| (self.name)(*at) == wanted);
        }
        let index = self.index.get_or_init(|| {
            let mut index = HashMap::with_capacity(self.count);
            for at in 0..self.count {
                index.entry((self.name)(at)).or_insert(at);
            }
            index
        });
        index.get(wanted).copied()
    }

    /// The place of a name, which is mostly behind that of the name before: lists of the same names have mostly one order.
    pub fn next(&self, wanted: &str) -> Option<usize> {
        let expected = self.expected.get();
        let is_expected = expected < self.count && (self.name)(expected) == wanted;
        let found = if is_expected { Some(expected) } else { self.first(wanted) };
        if let Some(found) = found {
            self.expected.set(found + 1);
        }
        found
    }
}

/// Where the keys of members are.
pub fn places<'j, 'a>(members: &'j [Member<'a>]) -> Places<'j, impl Fn(usize) -> &'j str + use<'j, 'a>> {
    Places::new(members.len(), move |at| &*members[at].0)
}

/// The members of `own` with those of `others`, each as `join` makes it of the own value, if there is one, and the other:
/// `None` leaves the member out.
pub fn join_members<'a>(
    own: Vec<Member<'a>>,
    others: Vec<Member<'a>>,
    join: impl Fn(Option<Json<'a>>, Json<'a>) -> Option<Json<'a>>,
) -> Vec<Member<'a>> {
    let is_indexed = own.len() + others.len() > SEARCHED_MAX;
    let mut places: HashMap<Cow<'a, str>, usize> = HashMap::new();
    let mut slots: Vec<(Cow<'a, str>, Option<Json<'a>>)> = Vec::with_capacity(own.len());
    for (index, (key, value)) in own.into_iter().enumerate() {
        if is_indexed {
            places.entry(key.clone()).or_insert(index);
        }
        slots.push((key, Some(value)));
    }
    for (key, other) in others {
        let place = if is_indexed {
            places.get(&key).copied()
        } else {
            slots.iter().position(|(name, value)| value.is_some() && *name == key)
        };
        let own = place.and_then(|place| slots.get_mut(place)).and_then(|(_, value)| value.take());
        match (place, join(own, other)) {
            (Some(place), Some(value)) => slots[place].1 = Some(value),
            (Some(_), None) => {
                places.remove(&key);
            }
            (None, Some(value)) => {
                if is_indexed {
                    places.insert(key.clone(), slots.len());
                }
                slots.push((key, Some(value)));
            }
            (None, None) => {}
        }
    }
    slots.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

//! All objects of a database at one moment: an immutable value that commits replace and readers share.

use super::definition::{Definition, DefinitionKind};
use super::forked_map::ForkedMap;
use super::object::{IndexDefinition, IndexKind, Object, ObjectId, TableSlot};
use crate::file::{FORMAT_VERSION, FORMAT_VERSION_FIELDS};
use crate::table::Table;
use inlay_types::{Error, Result};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

/// Stands for what a state defines. As long as two states have the same one, the same names mean the same objects, with the
/// same columns and constraints; rows and statistics may differ.
#[derive(Debug, Default)]
pub struct CatalogMark(());

/// What is kept with a state, by numbers that its users gave: what they found out about exactly these objects and rows, such as
/// plans of queries. It holds nothing longer than the state does, and a copy of the state, to be changed, begins without.
#[derive(Default)]
struct Kept(Mutex<VecDeque<(u64, Arc<dyn Any + Send + Sync>)>>);

/// So much is kept; then the oldest goes.
const KEPT_MAX: usize = 64;

impl Clone for Kept {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Kept").field(&self.0.lock().len()).finish()
    }
}

/// The objects of a database. A clone shares them all.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The last commit that is part of it.
    pub(crate) lsn: u64,
    /// How often commits had been taken back when that one was made: it tells numbers apart that were given twice.
    pub(crate) epoch: usize,
    objects: ForkedMap<ObjectId, Object>,
    /// Lower-case names of tables, views and sequences.
    relations: ForkedMap<String, ObjectId>,
    /// Lower-case names of indexes.
    indexes: ForkedMap<String, ObjectId>,
    /// Kinds and lower-case names of definitions.
    definitions: ForkedMap<(DefinitionKind, String), ObjectId>,
    /// Numbers of the indexes of tables.
    indexes_of: ForkedMap<ObjectId, Vec<ObjectId>>,
    /// Numbers of the triggers of tables.
    triggers_of: ForkedMap<ObjectId, Vec<ObjectId>>,
    /// A new one after each change of anything but rows.
    catalog: Arc<CatalogMark>,
    kept: Kept,
}

/// What names compare by.
pub fn name_key(name: &str) -> String {
    name.to_lowercase()
}

impl State {
    /// The table, view or sequence of a name.
    pub fn relation(&self, name: &str) -> Option<&Object> {
        self.objects.get(self.relations.get(&name_key(name))?)
    }

    /// The index of a name.
    pub fn index(&self, name: &str) -> Option<&Object> {
        self.objects.get(self.indexes.get(&name_key(name))?)
    }

    /// An object by number.
    pub fn object(&self, id: ObjectId) -> Option<&Object> {
        self.objects.get(&id)
    }

    /// A table by number.
    pub fn table(&self, id: ObjectId) -> Result<Arc<Table>> {
        match self.objects.get(&id) {
            Some(Object::Table(slot)) => {
                let table = slot.table()?;
                self.indexes_of(id).for_each(|index| want_index(&table, index));
                Ok(table)
            }
            _ => Err(Error::corrupt(format!("there is no table number {id}"))),
        }
    }

    /// The indexes of a table.
    pub fn indexes_of(&self, table: ObjectId) -> impl Iterator<Item = &Arc<IndexDefinition>> {
        let ids = self.indexes_of.get(&table).map_or(&[][..], Vec::as_slice);
        ids.iter().filter_map(|id| match self.objects.get(id) {
            Some(Object::Index(index)) => Some(index),
            _ => None,
        })
    }

    /// Whether any table has triggers.
    pub fn has_triggers(&self) -> bool {
        self.triggers_of.keys().next().is_some()
    }

    /// The triggers of a table, by name.
    pub fn triggers_of(&self, table: ObjectId) -> Vec<&Arc<Definition>> {
        let ids = self.triggers_of.get(&table).map_or(&[][..], Vec::as_slice);
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(Object::Definition(definition)) = self.objects.get(id) {
                found.push(definition);
            }
        }
        found.sort_by_key(|definition| name_key(&definition.name));
        found
    }

    /// The columns of a table that indexes by value are on, ascending.
    pub(crate) fn columns_by_value(&self, table: ObjectId) -> Vec<usize> {
        let of_kind = self.indexes_of(table).filter(|index| index.kind == IndexKind::Bitmap);
        let mut columns: Vec<usize> = of_kind.flat_map(|index| index.columns.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// All objects, in no order.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    /// Stands for what is defined: compare by [`Arc::ptr_eq`].
    pub fn catalog(&self) -> &Arc<CatalogMark> {
        &self.catalog
    }

    /// The number of the last commit that is part of it.
    pub fn lsn(&self) -> u64 {
        self.lsn
    }

    /// The definition of a kind and name.
    pub fn definition(&self, kind: DefinitionKind, name: &str) -> Option<&Arc<Definition>> {
        let id = self.definitions.get(&(kind, name_key(name)))?;
        match self.objects.get(id) {
            Some(Object::Definition(definition)) => Some(definition),
            _ => None,
        }
    }

    /// The schema of what is called `schema.name`; none for what is in the schema that every database has.
    pub(crate) fn schema_of(&self, name: &str) -> Option<&Arc<Definition>> {
        self.definition(DefinitionKind::Schema, name.split_once('.')?.0)
    }

    /// All definitions of a kind, by name.
    pub fn definitions(&self, kind: DefinitionKind) -> Vec<&Arc<Definition>> {
        let mut ids: Vec<_> = self.definitions.iter().filter(|((known, _), _)| *known == kind).collect();
        ids.sort();
        let definition = |id: &ObjectId| match self.objects.get(id) {
            Some(Object::Definition(definition)) => Some(definition),
            _ => None,
        };
        ids.into_iter().filter_map(|(_, id)| definition(id)).collect()
    }

    /// What has the name of an object among its kind: itself, an earlier version of it, or another one.
    pub fn named_like(&self, object: &Object) -> Option<&Object> {
        match object {
            Object::Index(index) => self.index(&index.name),
            Object::Definition(definition) => {
                let key = (definition.kind, name_key(&definition.name));
                self.objects.get(self.definitions.get(&key)?)
            }
            Object::Table(_) | Object::View(_) | Object::Sequence(_) => self.relation(object.name()),
        }
    }

    /// Keeps something as long as the state is what it is.
    pub fn keep(&self, number: u64, kept: Arc<dyn Any + Send + Sync>) {
        let mut all = self.kept.0.lock();
        all.retain(|(known, _)| *known != number);
        if all.len() == KEPT_MAX {
            all.pop_front();
        }
        all.push_back((number, kept));
    }

    /// What is kept under a number.
    pub fn kept(&self, number: u64) -> Option<Arc<dyn Any + Send + Sync>> {
        let all = self.kept.0.lock();
        all.iter().find(|(known, _)| *known == number).map(|(_, kept)| Arc::clone(kept))
    }

    fn enter_name(&mut self, object: &Object) {
        let (id, key) = (object.id(), name_key(object.name()));
        match object {
            Object::Index(_) => self.indexes.insert(key, id),
            Object::Definition(definition) => {
                self.definitions.insert((definition.kind, key), id);
            }
            Object::Table(_) | Object::View(_) | Object::Sequence(_) => {
                self.relations.insert(key, id);
            }
        }
    }

    fn forget_name(&mut self, object: &Object) {
        if self.named_like(object).is_none_or(|named| named.id() != object.id()) {
            return;
        }
        let key = name_key(object.name());
        match object {
            Object::Index(_) => drop(self.indexes.remove(&key)),
            Object::Definition(definition) => {
                self.definitions.remove(&(definition.kind, key));
            }
            Object::Table(_) | Object::View(_) | Object::Sequence(_) => {
                self.relations.remove(&key);
            }
        }
    }

    /// Enters an object under its number and name, in the place of an earlier version of it.
    pub(crate) fn put(&mut self, object: Object) {
        self.kept = Kept::default();
        let id = object.id();
        if !self.objects.get(&id).is_some_and(|old| has_same_schema(old, &object)) {
            self.catalog = Arc::default();
        }
        if let Object::Index(index) = &object
            && !self.indexes_of(index.table).any(|known| known.id == id)
        {
            let mut ids = self.indexes_of.get(&index.table).cloned().unwrap_or_default();
            ids.push(id);
            self.indexes_of.insert(index.table, ids);
        }
        if let Some(table) = watched_table(&object)
            && !self.triggers_of.get(&table).is_some_and(|known| known.contains(&id))
        {
            let mut ids = self.triggers_of.get(&table).cloned().unwrap_or_default();
            ids.push(id);
            self.triggers_of.insert(table, ids);
        }
        let old =
            self.objects.get(&id).filter(|old| name_key(old.name()) != name_key(object.name())).cloned();
        if let Some(old) = old {
            self.forget_name(&old);
        }
        if self.named_like(&object).is_none_or(|named| named.id() != id) {
            self.enter_name(&object);
        }
        self.objects.insert(id, object);
    }

    /// Enters a new version of a table.
    pub(crate) fn put_table(&mut self, table: Arc<Table>) {
        self.put(Object::Table(TableSlot::new(table)));
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, id: ObjectId) -> Option<Object> {
        let object = self.objects.get(&id)?.clone();
        self.kept = Kept::default();
        self.catalog = Arc::default();
        self.forget_name(&object);
        self.objects.remove(&id);
        if let Object::Index(index) = &object
            && let Some(mut ids) = self.indexes_of.remove(&index.table)
        {
            ids.retain(|known| *known != id);
            if !ids.is_empty() {
                self.indexes_of.insert(index.table, ids);
            }
        }
        if let Some(table) = watched_table(&object)
            && let Some(mut ids) = self.triggers_of.remove(&table)
        {
            ids.retain(|known| *known != id);
            if !ids.is_empty() {
                self.triggers_of.insert(table, ids);
            }
        }
        Some(object)
    }

    /// The version of the format that a file with these objects has at least; `known` is that which it has now.
    pub(crate) fn format(&self, known: u32) -> u32 {
        // Of tables that nobody looked at, no more is known than that they may have what made the file that version.
        let unseen = if known < FORMAT_VERSION_FIELDS { FORMAT_VERSION } else { FORMAT_VERSION_FIELDS };
        self.objects().map(|object| object.format(unseen)).max().unwrap_or(FORMAT_VERSION)
    }

    /// The number that no object has yet, nor any with a smaller one left.
    pub(crate) fn next_id(&self) -> ObjectId {
        self.objects.keys().max().map_or(1, |id| id + 1)
    }
}

/// The table of a trigger.
fn watched_table(object: &Object) -> Option<ObjectId> {
    let Object::Definition(definition) = object else { return None };
    definition.owner.filter(|_| definition.kind == DefinitionKind::Trigger)
}

/// Tells a table of an index on it.
pub(super) fn want_index(table: &Table, index: &IndexDefinition) {
    match index.kind {
        IndexKind::Art => table.add_secondary_index(&index.columns),
        IndexKind::Bitmap => table.add_value_index(&index.columns),
    }
}

/// Whether two objects are versions of one table that differ in rows only.
fn has_same_schema(old: &Object, new: &Object) -> bool {
    let (Object::Table(old), Object::Table(new)) = (old, new) else { return false };
    let (Some(old), Some(new)) = (old.loaded(), new.loaded()) else { return false };
    std::ptr::eq(old.schema(), new.schema())
}

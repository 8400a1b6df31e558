//! Objects of the host under names, as `register` gives them.
//!
//! A name means what the session registered itself, and otherwise the last object that another one did: sessions on several
//! threads may use the same name for objects of their own.

use inlay_catalog::TableSource;
use std::collections::HashMap;
use std::sync::Arc;

/// An object, and the session that registered it.
type Entry = (u64, Arc<dyn TableSource>);

/// Objects by lower-case name, the last one at the end; no list is empty.
#[derive(Default)]
pub(crate) struct Registered(HashMap<String, Vec<Entry>>);

fn seen_by(entries: &[Entry], session: u64) -> Option<&Entry> {
    entries.iter().find(|(owner, _)| *owner == session).or(entries.last())
}

/// Owns what was registered by sessions that are closed.
const NOBODY: u64 = 0;

impl Registered {
    /// Gives a name to an object; returns those that it replaces, the session's own and those of closed sessions.
    pub fn insert(
        &mut self,
        name: &str,
        session: u64,
        source: Arc<dyn TableSource>,
    ) -> Vec<Arc<dyn TableSource>> {
        let entries = self.0.entry(name.to_lowercase()).or_default();
        let (replaced, mut kept): (Vec<Entry>, Vec<Entry>) =
            std::mem::take(entries).into_iter().partition(|(owner, _)| *owner == session || *owner == NOBODY);
        kept.push((session, source));
        *entries = kept;
        replaced.into_iter().map(|(_, source)| source).collect()
    }

    /// Forgets the object that a session means by a name.
    pub fn remove(&mut self, name: &str, session: u64) -> Option<Arc<dyn TableSource>> {
        let key = name.to_lowercase();
        let entries = self.0.get_mut(&key)?;
        let own = entries.iter().position(|(owner, _)| *owner == session);
        let removed = own.map(|index| entries.remove(index)).or_else(|| entries.pop());
        if entries.is_empty() {
            self.0.remove(&key);
        }
        removed.map(|(_, source)| source)
    }

    /// A session ends: its objects are forgotten where others have objects of the name, and nobody's otherwise.
    pub fn leave(&mut self, session: u64) -> Vec<Arc<dyn TableSource>> {
        let mut removed = Vec::new();
        for entries in self.0.values_mut() {
            let Some(index) = entries.iter().position(|(owner, _)| *owner == session) else { continue };
            if entries.len() > 1 {
                removed.push(entries.remove(index).1);
            } else if let Some(entry) = entries.get_mut(index) {
                entry.0 = NOBODY;
            }
        }
        removed
    }

    /// What a name means to a session.
    pub fn get(&self, name: &str, session: u64) -> Option<Arc<dyn TableSource>> {
        seen_by(self.0.get(&name.to_lowercase())?, session).map(|(_, source)| Arc::clone(source))
    }

    /// Whether a session has an object of a name itself.
    pub fn is_own(&self, name: &str, session: u64) -> bool {
        let entries = self.0.get(&name.to_lowercase());
        entries.is_some_and(|entries| entries.iter().any(|(owner, _)| *owner == session))
    }

    /// All names and what they mean to a session.
    pub fn all(&self, session: u64) -> Vec<(String, Arc<dyn TableSource>)> {
        let seen = |(name, entries): (&String, &Vec<Entry>)| {
            seen_by(entries, session).map(|(_, source)| (name.clone(), Arc::clone(source)))
        };
        self.0.iter().filter_map(seen).collect()
    }
}

//! Commits that could not be written to the log are taken back, and the database goes on.
//!
//! A commit becomes the newest state before its record is written, so that others can follow at once and share a sync.
//! If it cannot be written then, for the disk is full, it and all that followed have failed: nobody has seen them, for a
//! state becomes visible when it is durable. The newest state is the last one again whose record stayed.

use super::object::Object;
use super::state::want_index;
use super::{Commits, Store, Unsure};
use inlay_types::{Error, Result};
use parking_lot::MutexGuard;
use std::collections::HashSet;

impl Store {
    /// Before a commit goes on from the newest state: takes back what the log has forgotten since.
    pub(super) fn retreat(&self, commits: &mut Commits) -> Result<()> {
        let Some(durable) = &self.durable else { return Ok(()) };
        let (epoch, Some(kept)) = durable.wal.epoch(commits.epoch) else { return Ok(()) };
        let mut lost = HashSet::new();
        let stays = commits.unsure.partition_point(|unsure| unsure.state.lsn <= kept);
        for unsure in commits.unsure.split_off(stays) {
            commits.rewritten = commits.rewritten.saturating_sub(unsure.rewritten);
            for object in unsure.objects {
                object.set_uncommitted();
                lost.insert(object.ptr().block);
            }
        }
        commits.logged.retain(|stored| !lost.contains(&stored.ptr().block));
        commits.history.retreat_to(kept);
        let newest = commits.unsure.back().map(|unsure| &unsure.state).filter(|state| state.lsn == kept);
        let newest = newest.cloned().unwrap_or_else(|| self.state());
        if newest.lsn != kept {
            let error = Error::internal(format!("no state of commit {kept} to go back to"));
            self.fail(&error);
            return Err(error);
        }
        commits.tip = newest;
        commits.epoch = epoch;
        for object in commits.tip.objects() {
            // An index that a lost commit dropped is looked up in again.
            let Object::Index(index) = object else { continue };
            let Some(Object::Table(slot)) = commits.tip.object(index.table) else { continue };
            if let Some(table) = slot.loaded() {
                want_index(table, index);
            }
        }
        Ok(())
    }

    /// Forgets the commits that are durable by now: nobody goes back behind what is visible.
    pub(super) fn forget_sure(&self, mut commits: MutexGuard<'_, Commits>) {
        let visible = self.visible.read().lsn;
        let count = commits.unsure.partition_point(|unsure| unsure.state.lsn <= visible);
        let sure: Vec<Unsure> = commits.unsure.drain(..count).collect();
        // What they alone have kept takes its time to go.
        drop(commits);
        drop(sure);
    }
}

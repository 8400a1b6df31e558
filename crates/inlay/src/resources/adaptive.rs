//! `resource_mode = 'adaptive'`: whoever works asks every now and then what the machine has left, and all act on it.
//!
//! There is no thread for that. The pool asks its governor between morsels when the last answer is old; the answer is the
//! number of workers, and while memory is short caches give way on the spot, queries grow by no more than half of what is
//! left, and freed memory goes back to the system at once. Where nothing is running nothing is decided, as nothing is used.

use super::Machine;
use super::decide::{Decider, Decision, Sample};
use super::sample::Sampler;
use inlay_exec::{Activity, Governor, WorkerPool};
use inlay_types::MemoryBudget;
use inlay_types::allocator::Hurry;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// The share of the limit, one in so many, that queries may always take.
const GRANTED_SHARE: u64 = 8;

/// Decides for one database.
pub struct Adaptive {
    budget: MemoryBudget,
    pool: Weak<WorkerPool>,
    state: Mutex<State>,
}

struct State {
    sampler: Sampler,
    decider: Decider,
    last: Option<(Sample, Decision)>,
    /// While memory is short.
    hurry: Option<Hurry>,
}

/// What was last seen and decided, for people.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub sample: Sample,
    /// Processors that others are believed to use.
    pub others: f64,
    pub is_short: bool,
}

impl Adaptive {
    /// One for a pool and a budget, on a machine; `None` where the machine does not show what is done on it.
    pub fn new(machine: Machine, budget: MemoryBudget, pool: &Arc<WorkerPool>) -> Option<Arc<Self>> {
        let state = State {
            sampler: Sampler::new(machine)?,
            decider: Decider::new(pool.threads()),
            last: None,
            hurry: None,
        };
        Some(Arc::new(Self { budget, pool: Arc::downgrade(pool), state: Mutex::new(state) }))
    }

    /// What was last seen.
    pub fn seen(&self) -> Option<Seen> {
        let state = self.state.lock();
        let (sample, decision) = state.last?;
        Some(Seen { sample, others: state.decider.others(), is_short: decision.is_short })
    }

    fn relieve(&self, sample: &Sample, decision: &Decision) {
        if !decision.is_short {
            self.budget.set_cap(None);
            return;
        }
        self.budget.reclaim(decision.give_back);
        let granted = self.budget.used().saturating_add(sample.memory_available / 2);
        self.budget.set_cap(Some(granted.max(self.budget.limit() / GRANTED_SHARE)));
        if let Some(pool) = self.pool.upgrade() {
            pool.give_back();
        }
    }
}

impl Governor for Adaptive {
    fn workers(&self, most: usize, activity: &Activity) -> usize {
        let mut state = self.state.lock();
        let Some(sample) = state.sampler.sample(activity) else {
            return state.decider.workers().min(most);
        };
        let decision = state.decider.decide(most, &sample);
        let was_short = state.hurry.is_some();
        if was_short != decision.is_short {
            state.hurry = decision.is_short.then(Hurry::new);
        }
        state.last = Some((sample, decision));
        drop(state);
        if was_short || decision.is_short {
            self.relieve(&sample, &decision);
        }
        decision.workers
    }
}

impl Drop for Adaptive {
    fn drop(&mut self) {
        self.budget.set_cap(None);
    }
}

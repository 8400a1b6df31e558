//! What `resource_mode = 'adaptive'` decides: how many workers, and whether caches give way. Pure: samples in, a decision out.
//!
//! The processors that others use (other processes, and the host's own threads in this one) are left to them; workers have
//! the rest, at least one. What others use is smoothed, and what is decided has inertia: a worker goes as soon as there is
//! clearly no processor for it, and comes back when there was clearly one for a while. As workers do not count as others,
//! a decision does not change what the next is made from, so it does not swing.
//!
//! Where processors are contended, others get less than they want, so pressure (the share of time in which something that
//! could run waited) counts as a part of a processor more.

use std::time::Duration;

/// What was seen since the sample before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    pub elapsed: Duration,
    /// Processors that the process may use.
    pub processors: f64,
    /// Processors' worth of time that others used.
    pub others: f64,
    /// Share of the time in which something waited for a processor; 0 where it is not known.
    pub cpu_pressure: f64,
    /// Share of the time in which something waited for memory; 0 where it is not known.
    pub memory_pressure: f64,
    /// Bytes that are left to the process, and all that there are; 0 where they are not known.
    pub memory_available: u64,
    pub memory_total: u64,
}

/// What is made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub workers: usize,
    /// Memory is short.
    pub is_short: bool,
    /// Bytes of caches that are to be given back.
    pub give_back: u64,
}

/// How fast what others use is believed.
const SMOOTHING: Duration = Duration::from_millis(150);
/// A worker goes when more than so much of its processor is used by others, and comes when less than so much would be.
const GOES_AT: f64 = 0.6;
const COMES_AT: f64 = 0.5;
/// For so long a processor has to be free before a worker comes.
const COMES_AFTER: Duration = Duration::from_millis(250);
/// Pressure from which on others, if there are any, are taken to want more than they get.
const CONTENDED: f64 = 0.25;
const CONTENDED_PROCESSORS: f64 = 0.4;
const OTHERS_MIN: f64 = 0.25;
/// Others that use less than this will not contend once a worker has come.
const QUIET: f64 = 0.15;
/// Memory is short below the first share of it, or above the first pressure, until it is past the second.
const SHORT_BELOW: f64 = 0.08;
const SHORT_UNTIL: f64 = 0.12;
const SHORT_PRESSURE: f64 = 0.10;
const EASED_PRESSURE: f64 = 0.02;

/// Decides from one sample after the other.
#[derive(Clone, Debug)]
pub struct Decider {
    workers: usize,
    others: f64,
    free_for: Duration,
    is_short: bool,
}

impl Decider {
    /// Begins with as many workers as there may be.
    pub fn new(workers: usize) -> Self {
        Self { workers, others: 0.0, free_for: Duration::ZERO, is_short: false }
    }

    /// What was decided last.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Processors that others are believed to use.
    pub fn others(&self) -> f64 {
        self.others
    }

    /// `most`: workers that are set.
    pub fn decide(&mut self, most: usize, sample: &Sample) -> Decision {
        let give_back = self.memory(sample);
        self.processors(most.max(1), sample);
        Decision { workers: self.workers, is_short: self.is_short, give_back }
    }

    fn processors(&mut self, most: usize, sample: &Sample) {
        let weight = (sample.elapsed.as_secs_f64() / SMOOTHING.as_secs_f64()).min(1.0);
        self.others += (sample.others.max(0.0) - self.others) * weight;
        self.workers = self.workers.clamp(1, most);
        let is_contended = sample.cpu_pressure >= CONTENDED && self.others >= OTHERS_MIN;
        if self.excess(self.workers, is_contended, sample) > GOES_AT {
            // All that are too many go at once.
            while self.workers > 1 && self.excess(self.workers, is_contended, sample) > GOES_AT {
                self.workers -= 1;
            }
            self.free_for = Duration::ZERO;
            return;
        }
        // One more has to be welcome even if others want more than they show as long as nobody competes with them.
        let may_come =
            self.workers < most && self.excess(self.workers + 1, self.others >= QUIET, sample) <= COMES_AT;
        self.free_for = if may_come { self.free_for + sample.elapsed } else { Duration::ZERO };
        if self.free_for >= COMES_AFTER {
            self.workers += 1;
            // The next comes sooner: the processors were free all the time.
            self.free_for = COMES_AFTER / 2;
        }
    }

    /// By how many processors so many workers and the others together are too many.
    fn excess(&self, workers: usize, is_contended: bool, sample: &Sample) -> f64 {
        let hidden = if is_contended { CONTENDED_PROCESSORS } else { 0.0 };
        workers as f64 + self.others + hidden - sample.processors
    }

    /// Bytes to give back.
    fn memory(&mut self, sample: &Sample) -> u64 {
        let total = sample.memory_total as f64;
        let share = if total > 0.0 { sample.memory_available as f64 / total } else { 1.0 };
        self.is_short = if self.is_short {
            share < SHORT_UNTIL || sample.memory_pressure > EASED_PRESSURE
        } else {
            share < SHORT_BELOW || sample.memory_pressure > SHORT_PRESSURE
        };
        if !self.is_short {
            return 0;
        }
        // Up to what ends the shortness, and something anyway where only the pressure is high.
        ((SHORT_UNTIL - share).max(0.01) * total).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(60);

    /// A machine on which others want processors and get their fair share beside the workers.
    struct Machine {
        processors: f64,
        decider: Decider,
        most: usize,
        changes: Vec<usize>,
    }

    impl Machine {
        fn new(processors: f64, most: usize) -> Self {
            Self { processors, decider: Decider::new(most), most, changes: vec![most] }
        }

        /// For `millis`, others have `threads` that want a processor each. Returns the workers at the end.
        fn run(&mut self, millis: u64, threads: impl Fn(u64) -> f64) -> usize {
            for step in 0..millis / 60 {
                let (threads, workers) = (threads(step), *self.changes.last().unwrap() as f64);
                let wanted = threads + workers;
                let others =
                    if wanted <= self.processors { threads } else { self.processors * threads / wanted };
                let cpu_pressure =
                    if wanted <= self.processors { 0.0 } else { (wanted - self.processors).min(1.0) };
                let sample = Sample {
                    elapsed: STEP,
                    processors: self.processors,
                    others,
                    cpu_pressure,
                    memory_available: 50,
                    memory_total: 100,
                    ..Sample::default()
                };
                let workers = self.decider.decide(self.most, &sample).workers;
                if workers != *self.changes.last().unwrap() {
                    self.changes.push(workers);
                }
            }
            *self.changes.last().unwrap()
        }
    }

    #[test]
    fn an_idle_machine_is_used_whole() {
        let mut machine = Machine::new(8.0, 8);
        assert_eq!(machine.run(2000, |_| 0.05), 8);
        assert_eq!(machine.changes, [8]);
    }

    #[test]
    fn processors_go_to_others_and_come_back() {
        let mut machine = Machine::new(4.0, 4);
        assert_eq!(machine.run(1000, |_| 2.0), 2);
        assert_eq!(machine.run(1000, |_| 4.0), 1);
        assert_eq!(machine.run(3000, |_| 0.0), 4);
        let falls = machine.changes.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert!(falls <= 4 && machine.changes.len() <= 8, "{:?}", machine.changes);
    }

    #[test]
    fn one_worker_always_stays() {
        assert_eq!(Machine::new(2.0, 2).run(2000, |_| 64.0), 1);
        assert_eq!(Machine::new(1.0, 1).run(2000, |_| 3.0), 1);
    }

    /// More workers than processors were asked for: they are had while nobody else wants the processors.
    #[test]
    fn a_quota_is_as_many_processors_as_it_is() {
        assert_eq!(Machine::new(2.5, 8).run(1000, |_| 0.0), 3);
        assert_eq!(Machine::new(0.5, 8).run(1000, |_| 0.0), 1);
    }

    /// Loads at and around the edges, and loads that come and go faster than a worker comes back.
    #[test]
    fn decisions_do_not_swing() {
        for load in 0..=40 {
            let mut machine = Machine::new(4.0, 4);
            machine.run(1500, |_| f64::from(load) / 10.0);
            let settled = machine.changes.len();
            machine.run(20_000, |step| f64::from(load) / 10.0 + if step % 2 == 0 { 0.08 } else { -0.08 });
            let swings = machine.changes.len() - settled;
            assert!(swings <= 1, "load {load}: {:?}", machine.changes);
        }
        let mut machine = Machine::new(4.0, 4);
        machine.run(30_000, |step| if step % 3 == 0 { 3.0 } else { 0.0 });
        assert!(machine.changes.len() <= 6, "{:?}", machine.changes);
    }

    #[test]
    fn memory_is_short_until_there_is_clearly_enough() {
        let mut decider = Decider::new(1);
        let mut decide = |available: u64, memory_pressure: f64| {
            let sample = Sample {
                elapsed: STEP,
                processors: 1.0,
                memory_available: available,
                memory_total: 1000,
                memory_pressure,
                ..Sample::default()
            };
            let decision = decider.decide(1, &sample);
            (decision.is_short, decision.give_back)
        };
        assert_eq!(decide(90, 0.0), (false, 0));
        assert_eq!(decide(70, 0.0), (true, 50));
        assert_eq!(decide(100, 0.0), (true, 20));
        assert_eq!(decide(130, 0.0), (false, 0));
        assert_eq!(decide(500, 0.2), (true, 10), "something waits for memory although there is some");
        assert_eq!(decide(500, 0.05), (true, 10));
        assert_eq!(decide(500, 0.0), (false, 0));
    }
}

//! Workers come and go while they work.

use super::*;
use crate::team::{PriorityCell, Team};
use std::sync::Barrier;

const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until it holds; `false` if it never does.
fn soon(holds: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// A region of morsels that lasts until it is told to end, and how many threads are in it.
#[derive(Default)]
struct Region {
    inside: AtomicUsize,
    ends: AtomicBool,
}

impl Region {
    fn run(&self, workers: &Workers, most: usize) -> Result<()> {
        workers.pool().together(workers, most, |turn| {
            self.inside.fetch_add(1, Ordering::SeqCst);
            let after = loop {
                if self.ends.load(Ordering::SeqCst) {
                    break After::Over;
                }
                if turn.leaves() {
                    break After::More;
                }
                std::thread::sleep(Duration::from_micros(200));
            };
            self.inside.fetch_sub(1, Ordering::SeqCst);
            Ok(after)
        })
    }

    fn has(&self, threads: usize) -> bool {
        soon(|| self.inside.load(Ordering::SeqCst) == threads)
    }

    fn end(&self) {
        self.ends.store(true, Ordering::SeqCst);
    }
}

#[test]
fn every_task_runs_once_and_errors_come_back() {
    let workers = Workers::new(4);
    let sum = AtomicUsize::new(0);
    workers
        .parallel(1000, |task| {
            sum.fetch_add(task, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    assert_eq!(sum.into_inner(), 499_500);
    let failed = workers.parallel(10, |task| if task == 3 { Err(Error::DivisionByZero) } else { Ok(()) });
    assert_eq!(failed, Err(Error::DivisionByZero));
    let panicked = workers.parallel(4, |_| panic!("boom"));
    assert_eq!(panicked, Err(Error::internal("boom")));
    assert!(workers.parallel(4, |_| Ok(())).is_ok());
}

#[test]
fn tasks_run_at_the_same_time() {
    let barrier = Barrier::new(4);
    Workers::new(4)
        .parallel(4, |_| {
            barrier.wait();
            Ok(())
        })
        .unwrap();
}

#[test]
fn workers_join_and_leave_as_the_number_changes() {
    let (workers, region) = (Workers::new(1), Region::default());
    std::thread::scope(|scope| {
        scope.spawn(|| region.run(&workers, 100).unwrap());
        assert!(region.has(1));
        for threads in [4, 2, 3, 1, 4] {
            workers.pool().set_threads(threads);
            assert!(region.has(threads), "{threads} threads");
        }
        region.end();
    });
    assert_eq!(region.inside.load(Ordering::SeqCst), 0);
}

#[test]
fn no_more_come_than_there_is_to_do() {
    let (workers, region) = (Workers::new(8), Region::default());
    std::thread::scope(|scope| {
        scope.spawn(|| region.run(&workers, 2).unwrap());
        assert!(region.has(2));
        std::thread::sleep(Duration::from_millis(20));
        assert!(region.has(2));
        region.end();
    });
}

#[test]
fn shares_go_by_priority_and_change_with_it() {
    let pool = Arc::new(WorkerPool::new(6));
    let cells = [(); 2].map(|()| PriorityCell::default());
    let teams = cells.each_ref().map(|cell| Arc::new(Team::new(Arc::clone(&pool), cell.clone())));
    let set = |team: usize, priority| {
        cells[team].set(priority);
        pool.rearrange();
    };
    let regions = [(); 2].map(|()| Region::default());
    std::thread::scope(|scope| {
        scope.spawn(|| regions[0].run(&Workers::of(&teams[0]), 100).unwrap());
        assert!(regions[0].has(6));
        scope.spawn(|| regions[1].run(&Workers::of(&teams[1]), 100).unwrap());
        assert!(regions[0].has(4) && regions[1].has(3), "five workers and two callers");
        set(1, Priority::High);
        assert!(regions[0].has(1) && regions[1].has(6), "the other's own thread goes on");
        set(0, Priority::High);
        set(1, Priority::Low);
        assert!(regions[0].has(6) && regions[1].has(1));
        regions[0].end();
        assert!(regions[1].has(6), "whoever is alone has them all");
        regions[1].end();
    });
}

/// Allows what it was told to.
struct Told(AtomicUsize);

impl Governor for Told {
    fn workers(&self, _most: usize, _activity: &Activity) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[test]
fn a_governor_is_asked_while_work_is_done() {
    let (workers, region) = (Workers::new(4), Region::default());
    let told = Arc::new(Told(2.into()));
    let governor: Arc<dyn Governor> = Arc::<Told>::clone(&told);
    workers.pool().set_governor(Some(Arc::downgrade(&governor)));
    std::thread::scope(|scope| {
        scope.spawn(|| region.run(&workers, 100).unwrap());
        for threads in [2, 1, 3] {
            told.0.store(threads, Ordering::SeqCst);
            assert!(region.has(threads), "{threads} threads");
        }
        told.0.store(99, Ordering::SeqCst);
        assert!(region.has(4), "never more than are set");
        told.0.store(1, Ordering::SeqCst);
        assert!(region.has(1));
        workers.pool().set_governor(None);
        assert!(region.has(4));
        region.end();
    });
}

//! The worker threads of a database.
//!
//! Work is a number of tasks and a function; the calling thread takes tasks as the workers do, so a pool without
//! threads still finishes everything. Threads are started on first need and end with the pool. Several queries may
//! use a pool at once: each parallel region is a job in a queue, and idle workers help whichever is first.
//!
//! A panic in a task is caught and becomes [`Error::Internal`]; the pool stays usable.

use inlay_types::{Error, Result, allocator};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// A parallel region. The function is borrowed from the caller's stack; see the SAFETY comments.
struct Job {
    work: *const (dyn Fn(usize) -> Result<()> + Sync),
    next: AtomicUsize,
    count: usize,
    /// Helpers that may still join.
    seats: AtomicUsize,
    failed: AtomicBool,
    state: Mutex<JobState>,
    left: Condvar,
}

#[derive(Default)]
struct JobState {
    helpers: usize,
    error: Option<Error>,
}

// SAFETY: `work` points to a `Sync` function that outlives the job's use, because `parallel` waits for all helpers.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    /// Takes tasks until there are none.
    fn run(&self) {
        while !self.failed.load(Ordering::Relaxed) {
            let task = self.next.fetch_add(1, Ordering::Relaxed);
            if task >= self.count {
                return;
            }
            // SAFETY: the function lives in `WorkerPool::parallel`'s caller, which cannot return before every thread in
            // this loop has left the job.
            let work = unsafe { &*self.work };
            let outcome = catch_unwind(AssertUnwindSafe(|| work(task)))
                .unwrap_or_else(|panic| Err(Error::internal(panic_message(&*panic))));
            if let Err(error) = outcome {
                self.failed.store(true, Ordering::Relaxed);
                self.state.lock().error.get_or_insert(error);
            }
        }
    }
}

/// What a panic said.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message").to_string()
}

#[derive(Default)]
struct Queue {
    jobs: Vec<Arc<Job>>,
    /// How often all threads were asked to give their free memory back.
    give_backs: u64,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
}

/// Threads that belong to one database.
pub struct WorkerPool {
    shared: Arc<Shared>,
    process: u32,
}

impl Default for WorkerPool {
    fn default() -> Self {
        Self::new()
    }
}

impl WorkerPool {
    /// A pool; threads are started when parallel work first asks for them.
    pub fn new() -> Self {
        Self { shared: Arc::default(), process: std::process::id() }
    }

    /// Runs `work(task)` for each task below `count`, on at most `threads` threads, the calling one among them.
    /// Returns the first error; later tasks are then not started. Tasks are started in order.
    pub fn parallel(
        &self,
        threads: usize,
        count: usize,
        work: impl Fn(usize) -> Result<()> + Sync,
    ) -> Result<()> {
        let helpers = threads.min(count).saturating_sub(1);
        let work: &(dyn Fn(usize) -> Result<()> + Sync) = &work;
        // SAFETY: only the lifetime is erased; `wait` below keeps this frame until no thread uses the function.
        let work: *const (dyn Fn(usize) -> Result<()> + Sync + 'static) =
            unsafe { std::mem::transmute(work) };
        let job = Arc::new(Job {
            work,
            next: AtomicUsize::new(0),
            count,
            seats: AtomicUsize::new(helpers),
            failed: AtomicBool::new(false),
            state: Mutex::default(),
            left: Condvar::new(),
        });
        if helpers > 0 {
            self.offer(&job, helpers);
        }
        job.run();
        self.wait(&job, helpers)
    }

    /// Gives the free memory of the calling thread and, soon, of all workers back to the system: what one thread frees of
    /// another's stays with that one.
    pub fn give_back(&self) {
        allocator::give_back();
        if self.process == std::process::id() {
            self.shared.queue.lock().give_backs += 1;
            self.shared.wake.notify_all();
        }
    }

    fn offer(&self, job: &Arc<Job>, helpers: usize) {
        if self.process != std::process::id() {
            // After a fork the threads are gone; the caller does the work alone.
            return;
        }
        let mut queue = self.shared.queue.lock();
        while queue.threads.len() < helpers {
            let shared = Arc::clone(&self.shared);
            let builder = std::thread::Builder::new().name("inlay-worker".into()).stack_size(8 << 20);
            match builder.spawn(move || work_loop(&shared)) {
                Ok(thread) => queue.threads.push(thread),
                Err(_) => break, // Without more threads the work takes longer, but is done.
            }
        }
        queue.jobs.push(Arc::clone(job));
        drop(queue);
        for _ in 0..helpers {
            self.shared.wake.notify_one();
        }
    }

    fn wait(&self, job: &Arc<Job>, helpers: usize) -> Result<()> {
        if helpers > 0 && self.process == std::process::id() {
            self.shared.queue.lock().jobs.retain(|other| !Arc::ptr_eq(other, job));
        }
        let mut state = job.state.lock();
        while state.helpers > 0 {
            job.left.wait(&mut state);
        }
        state.error.take().map_or(Ok(()), Err)
    }
}

fn work_loop(shared: &Shared) {
    let mut queue = shared.queue.lock();
    let mut worked = false;
    let mut give_backs = queue.give_backs;
    loop {
        if queue.closed {
            return;
        }
        if give_backs != queue.give_backs {
            give_backs = queue.give_backs;
            MutexGuard::unlocked(&mut queue, allocator::give_back);
            continue;
        }
        let open = queue.jobs.iter().find(|job| job.seats.load(Ordering::Relaxed) > 0).cloned();
        let Some(job) = open else {
            // After a while without work the thread's free memory goes back; then it sleeps until it is woken.
            if !worked {
                shared.wake.wait(&mut queue);
            } else if shared.wake.wait_for(&mut queue, allocator::IDLE).timed_out() {
                worked = false;
                MutexGuard::unlocked(&mut queue, allocator::give_back);
            }
            continue;
        };
        worked = true;
        // Seats are taken and helpers counted under the queue's lock, so `wait` sees every helper that joined.
        job.seats.fetch_sub(1, Ordering::Relaxed);
        job.state.lock().helpers += 1;
        drop(queue);
        job.run();
        {
            let mut state = job.state.lock();
            state.helpers -= 1;
            job.left.notify_all();
        }
        queue = shared.queue.lock();
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        let threads = {
            let mut queue = self.shared.queue.lock();
            queue.closed = true;
            std::mem::take(&mut queue.threads)
        };
        self.shared.wake.notify_all();
        for thread in threads {
            // A worker that dropped the last handle cannot wait for itself.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_once_and_errors_come_back() {
        let pool = WorkerPool::new();
        let sum = AtomicUsize::new(0);
        pool.parallel(4, 1000, |task| {
            sum.fetch_add(task, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        assert_eq!(sum.into_inner(), 499_500);
        let failed = pool.parallel(2, 10, |task| if task == 3 { Err(Error::DivisionByZero) } else { Ok(()) });
        assert_eq!(failed, Err(Error::DivisionByZero));
        let panicked = pool.parallel(2, 4, |_| panic!("boom"));
        assert_eq!(panicked, Err(Error::internal("boom")));
        assert!(pool.parallel(2, 4, |_| Ok(())).is_ok());
    }
}

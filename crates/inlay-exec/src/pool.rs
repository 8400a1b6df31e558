//! The worker threads of a database.
//!
//! Work is a number of tasks and a function; the calling thread takes tasks as the workers do, so a pool without
//! threads still finishes everything. Threads are started on first need and end with the pool.
//!
//! Several queries may use a pool at once: each parallel region is a job in a queue, and has a share of the workers that
//! goes by the priorities of all of them (`share_out`). Shares are counted anew whenever a job comes or goes, the number of
//! workers changes or a priority does. A worker looks between tasks, or morsels ([`Turn::leaves`]), whether its job has
//! more workers than its share, and then leaves it for another; the calling thread always stays.
//!
//! A panic in a task is caught and becomes [`Error::Internal`]; the pool stays usable.

#![expect(unsafe_code, reason = "work is lent to threads that end with it")]

use crate::team::{Priority, Workers};
use inlay_types::process::process_id;
use inlay_types::{Error, Result, allocator};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::cell::Cell;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a governor is asked at most.
const GOVERNED_EVERY: Duration = Duration::from_millis(60);
/// The thread of a query that gives way rests so many times as long as it worked, and at most so long at once.
const REST_SHARE: u32 = 3;
const REST_MAX: Duration = Duration::from_millis(20);

/// So long a thread that waits for the next pipeline of a query, or for the last morsel of one, looks out before it sleeps:
/// what happens between two pipelines takes no longer, and to be woken takes 50 to 100 microseconds.
const LOOKOUT: Duration = Duration::from_micros(200);

/// Decides how many workers are allowed while queries run.
pub trait Governor: Send + Sync {
    /// Workers that a query may have now, of the most that is set. Called by whoever works, every now and then; takes well
    /// under a millisecond.
    fn workers(&self, most: usize, activity: &Activity) -> usize;
}

/// What a pool does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Activity {
    /// Threads that called for parallel work, and work on it.
    pub callers: usize,
    /// Workers that help them.
    pub helpers: usize,
    /// Processor time that all workers used so far; `None` where that is not measured.
    pub workers_time: Option<Duration>,
}

/// What a task says of those behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// There may be more to do.
    More,
    /// There is nothing left to begin.
    Over,
}

type Work<'a> = dyn Fn(usize, &Turn<'_>) -> Result<After> + Sync + 'a;

/// A parallel region. The function is borrowed from the caller's stack; see the SAFETY comments.
struct Job {
    work: *const Work<'static>,
    next: AtomicUsize,
    count: usize,
    /// Workers beside the caller that have something to do at most.
    helpers_max: usize,
    /// Workers beside the caller that it may have now; written under the queue's lock.
    share: AtomicUsize,
    /// Those that it has. Counted up under the queue's lock.
    helpers: AtomicUsize,
    priority: Arc<AtomicU8>,
    over: AtomicBool,
    state: Mutex<JobState>,
    left: Condvar,
}

#[derive(Default)]
struct JobState {
    /// Threads that may still use the function.
    inside: usize,
    error: Option<Error>,
}

// SAFETY: `work` points to a `Sync` function that outlives the job's use, because `run` waits for all helpers.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    /// Takes tasks until there are none, or others need the worker more.
    fn run(&self, turn: &Turn<'_>) {
        while !self.over.load(Ordering::Relaxed) && !turn.leaves() {
            let task = self.next.fetch_add(1, Ordering::Relaxed);
            if task >= self.count {
                return;
            }
            // SAFETY: the function lives in `WorkerPool::run`'s caller, which cannot return before every thread in
            // this loop has left the job.
            let work = unsafe { &*self.work };
            let outcome = catch_unwind(AssertUnwindSafe(|| work(task, turn)))
                .unwrap_or_else(|panic| Err(Error::internal(panic_message(&*panic))));
            match outcome {
                Ok(After::More) => {}
                Ok(After::Over) => self.over.store(true, Ordering::Relaxed),
                Err(error) => {
                    self.over.store(true, Ordering::Relaxed);
                    self.state.lock().error.get_or_insert(error);
                }
            }
            if turn.left.get() {
                return;
            }
        }
    }

    fn is_open(&self) -> bool {
        !self.over.load(Ordering::Relaxed) && self.next.load(Ordering::Relaxed) < self.count
    }

    fn priority(&self) -> Priority {
        Priority::from_code(self.priority.load(Ordering::Relaxed))
    }

    /// Gives up a helper's place if there are more than the share.
    fn gives_up(&self) -> bool {
        let share = self.share.load(Ordering::Relaxed);
        self.helpers.load(Ordering::Relaxed) > share
            && self
                .helpers
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| (now > share).then(|| now - 1))
                .is_ok()
    }
}

/// A thread's stay with a job.
pub struct Turn<'a> {
    shared: &'a Arc<Shared>,
    job: &'a Job,
    is_helper: bool,
    /// It has given up its place.
    left: Cell<bool>,
    /// When the caller last began to work, while it gives way to others.
    began: Cell<Option<Instant>>,
}

impl<'a> Turn<'a> {
    fn new(shared: &'a Arc<Shared>, job: &'a Job, is_helper: bool) -> Self {
        Self { shared, job, is_helper, left: Cell::new(false), began: Cell::new(None) }
    }

    /// Whether this thread has to leave what it does, because there are fewer workers now or others need it more. Asked
    /// between morsels; a few loads, unless there is something to do.
    pub fn leaves(&self) -> bool {
        if self.shared.is_governed.load(Ordering::Relaxed) {
            self.shared.govern();
        }
        if self.is_helper {
            if !self.left.get() && self.job.gives_up() {
                self.left.set(true);
            }
            return self.left.get();
        }
        if self.job.priority.load(Ordering::Relaxed) < self.shared.served.load(Ordering::Relaxed) {
            self.rest();
        }
        false
    }

    /// The calling thread cannot leave, but rests while queries of higher priority want the processors.
    fn rest(&self) {
        let now = Instant::now();
        if let Some(began) = self.began.get() {
            std::thread::sleep((now.duration_since(began) * REST_SHARE).min(REST_MAX));
            self.began.set(Some(Instant::now()));
        } else {
            self.began.set(Some(now));
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

impl Queue {
    /// Gives each job its share of at most `helpers` workers: one after the other goes to the job that has least for its
    /// weight. Returns the most that a job could use.
    fn share_out(&self, helpers: usize) -> usize {
        let wants = |job: &Job| if job.is_open() { job.helpers_max.min(helpers) } else { 0 };
        if let [job] = self.jobs.as_slice() {
            let wanted = wants(job);
            job.share.store(wanted, Ordering::Relaxed);
            return wanted;
        }
        let mut shares = vec![0; self.jobs.len()];
        for _ in 0..helpers {
            let mut best: Option<(usize, usize)> = None;
            for (index, job) in
                self.jobs.iter().enumerate().filter(|(index, job)| shares[*index] < wants(job))
            {
                // Weight for each that it would have, the caller among them.
                let worth = job.priority().weight() * WEIGHT_SCALE / (shares[index] + 2);
                if best.is_none_or(|(_, most)| worth > most) {
                    best = Some((index, worth));
                }
            }
            let Some((index, _)) = best else { break };
            shares[index] += 1;
        }
        for (job, share) in self.jobs.iter().zip(&shares) {
            job.share.store(*share, Ordering::Relaxed);
        }
        self.jobs.iter().map(|job| wants(job)).max().unwrap_or(0)
    }
}

/// Weights are divided by small numbers.
const WEIGHT_SCALE: usize = 1 << 20;

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Counts arrangements of jobs.
    arranged: AtomicU64,
    /// Processors that the process may use.
    processors: usize,
    /// Workers that are set, callers among them.
    threads: AtomicUsize,
    /// Workers that are allowed now: as many as are set, or what the governor said.
    allowed: AtomicUsize,
    /// The highest priority among the jobs if there are too many of them, or the lowest there is: threads of jobs below it
    /// rest.
    served: AtomicU8,
    is_governed: AtomicBool,
    governor: Mutex<Option<Weak<dyn Governor>>>,
    /// When the governor was last asked, in milliseconds since the start.
    governed_at: AtomicU64,
    started: Instant,
    /// Where the workers' processor times are to be read.
    clocks: Mutex<Vec<std::fs::File>>,
    process: u32,
}

impl Shared {
    /// Shares the workers out anew, starts those that are missing and wakes those that have work.
    fn arrange(self: &Arc<Self>, queue: &mut Queue) {
        if self.process != process_id() {
            // After a fork the threads are gone; the caller does the work alone.
            return;
        }
        let allowed = self.allowed.load(Ordering::Relaxed);
        let wanted = queue.share_out(allowed.saturating_sub(1));
        while queue.threads.len() < wanted {
            let shared = Arc::clone(self);
            let builder = std::thread::Builder::new().name("inlay-worker".into()).stack_size(8 << 20);
            match builder.spawn(move || work_loop(&shared)) {
                Ok(thread) => queue.threads.push(thread),
                Err(_) => break, // Without more threads the work takes longer, but is done.
            }
        }
        let shares: usize = queue.jobs.iter().map(|job| job.share.load(Ordering::Relaxed)).sum();
        let is_crowded = queue.jobs.len() > 1 && queue.jobs.len() + shares > allowed;
        let highest = queue.jobs.iter().map(|job| job.priority.load(Ordering::Relaxed)).max();
        self.served.store(highest.filter(|_| is_crowded).unwrap_or(0), Ordering::Relaxed);
        self.arranged.fetch_add(1, Ordering::Relaxed);
        let missing = |job: &Arc<Job>| {
            job.share.load(Ordering::Relaxed).saturating_sub(job.helpers.load(Ordering::Relaxed))
        };
        for _ in 0..queue.jobs.iter().map(missing).sum() {
            self.wake.notify_one();
        }
    }

    /// Looks out for a little while until something is there; whether it is. Not where threads wait for each other's processors.
    fn look_out(&self, is_there: impl Fn() -> bool) -> bool {
        if self.threads.load(Ordering::Relaxed) > self.processors {
            return false;
        }
        let started = Instant::now();
        loop {
            if is_there() {
                return true;
            }
            if started.elapsed() >= LOOKOUT {
                return false;
            }
            (0..32).for_each(|_| std::hint::spin_loop());
        }
    }

    fn allow(self: &Arc<Self>, workers: usize) {
        if self.allowed.swap(workers, Ordering::Relaxed) != workers {
            self.arrange(&mut self.queue.lock());
        }
    }
}

impl Shared {
    /// Asks the governor, unless that was done lately.
    fn govern(self: &Arc<Self>) {
        let now = self.started.elapsed().as_millis() as u64;
        let last = self.governed_at.load(Ordering::Relaxed);
        let is_due = last == NEVER || now.saturating_sub(last) >= GOVERNED_EVERY.as_millis() as u64;
        let exchange = |to| self.governed_at.compare_exchange(last, to, Ordering::Relaxed, Ordering::Relaxed);
        if !is_due || exchange(now).is_err() {
            return;
        }
        let governor = self.governor.lock().as_ref().and_then(Weak::upgrade);
        if let Some(governor) = governor {
            let most = self.threads.load(Ordering::Relaxed);
            self.allow(governor.workers(most, &self.activity()).clamp(1, most));
        }
    }
}

impl Shared {
    fn activity(&self) -> Activity {
        let (callers, helpers) = {
            let queue = self.queue.lock();
            let helpers = queue.jobs.iter().map(|job| job.helpers.load(Ordering::Relaxed)).sum();
            (queue.jobs.len(), helpers)
        };
        let clocks = self.clocks.lock();
        let workers_time = clocks.iter().map(clock::time).sum();
        Activity { callers, helpers, workers_time }
    }
}

/// The governor was not asked yet.
const NEVER: u64 = u64::MAX;

/// Processors that the process may use. To ask reads files, so it is asked once.
fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZero::get))
}

/// Threads that belong to one database.
pub struct WorkerPool {
    shared: Arc<Shared>,
}

impl WorkerPool {
    /// A pool of at most `threads` workers, callers among them; threads are started when parallel work first asks for them.
    pub fn new(threads: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                queue: Mutex::default(),
                wake: Condvar::new(),
                arranged: 0.into(),
                processors: processors(),
                threads: threads.into(),
                allowed: threads.into(),
                served: 0.into(),
                is_governed: false.into(),
                governor: Mutex::default(),
                governed_at: NEVER.into(),
                started: Instant::now(),
                clocks: Mutex::default(),
                process: process_id(),
            }),
        }
    }

    /// Workers that are set, callers among them.
    pub fn threads(&self) -> usize {
        self.shared.threads.load(Ordering::Relaxed)
    }

    /// Workers that queries may have now.
    pub fn allowed(&self) -> usize {
        self.shared.allowed.load(Ordering::Relaxed)
    }

    /// Sets the number of workers. Queries that run get more at once, or fewer from their next morsels on.
    pub fn set_threads(&self, threads: usize) {
        self.shared.threads.store(threads, Ordering::Relaxed);
        self.shared.governed_at.store(NEVER, Ordering::Relaxed);
        self.shared.allow(threads);
    }

    /// Who decides, between 1 and the number that is set, how many workers there are; nobody, for as many as are set.
    pub fn set_governor(&self, governor: Option<Weak<dyn Governor>>) {
        let is_governed = governor.is_some();
        *self.shared.governor.lock() = governor;
        self.shared.governed_at.store(NEVER, Ordering::Relaxed);
        self.shared.is_governed.store(is_governed, Ordering::Relaxed);
        if !is_governed {
            self.shared.allow(self.threads());
        }
    }

    /// Runs `work(task)` for each task below `count`, on workers that come and go as they are allowed, the calling one among
    /// them. Returns the first error; later tasks are then not started. Tasks are started in order.
    pub fn parallel(
        &self,
        team: &Workers,
        count: usize,
        work: impl Fn(usize) -> Result<()> + Sync,
    ) -> Result<()> {
        let helpers_max = team.at_most().min(count).saturating_sub(1);
        self.run(team, count, helpers_max, &|task, _| work(task).map(|()| After::More))
    }

    /// Runs `work` on up to `most` threads at once, the calling one among them, until one says that it is over. Who is asked
    /// to leave ([`Turn::leaves`]) returns; others may come.
    pub fn together(
        &self,
        team: &Workers,
        most: usize,
        work: impl Fn(&Turn<'_>) -> Result<After> + Sync,
    ) -> Result<()> {
        let helpers_max = team.at_most().min(most).saturating_sub(1);
        self.run(team, usize::MAX, helpers_max, &|_, turn| work(turn))
    }

    fn run(&self, team: &Workers, count: usize, helpers_max: usize, work: &Work<'_>) -> Result<()> {
        // SAFETY: only the lifetime is erased; `wait` below keeps this frame until no thread uses the function.
        let work: *const Work<'static> = unsafe { std::mem::transmute(work) };
        let job = Arc::new(Job {
            work,
            next: AtomicUsize::new(0),
            count,
            helpers_max,
            share: AtomicUsize::new(0),
            helpers: AtomicUsize::new(0),
            priority: Arc::clone(team.priority_code()),
            over: AtomicBool::new(false),
            state: Mutex::default(),
            left: Condvar::new(),
        });
        if helpers_max > 0 {
            let mut queue = self.shared.queue.lock();
            queue.jobs.push(Arc::clone(&job));
            self.shared.arrange(&mut queue);
        }
        job.run(&Turn::new(&self.shared, &job, false));
        self.wait(&job)
    }

    /// Counts shares anew, because a priority changed.
    pub fn rearrange(&self) {
        self.shared.arrange(&mut self.shared.queue.lock());
    }

    /// Gives the free memory of the calling thread and, soon, of all workers back to the system: what one thread frees of
    /// another's stays with that one.
    pub fn give_back(&self) {
        allocator::give_back();
        if self.shared.process == process_id() {
            self.shared.queue.lock().give_backs += 1;
            self.shared.wake.notify_all();
        }
    }

    fn wait(&self, job: &Arc<Job>) -> Result<()> {
        if job.helpers_max > 0 {
            let mut queue = self.shared.queue.lock();
            queue.jobs.retain(|other| !Arc::ptr_eq(other, job));
            if queue.jobs.is_empty() {
                self.shared.served.store(0, Ordering::Relaxed);
            } else {
                self.shared.arrange(&mut queue);
            }
        }
        if job.helpers_max > 0 && job.state.lock().inside > 0 {
            self.shared.look_out(|| job.state.lock().inside == 0);
        }
        let mut state = job.state.lock();
        // After a fork there is nobody to wait for.
        while state.inside > 0 && self.shared.process == process_id() {
            job.left.wait(&mut state);
        }
        state.error.take().map_or(Ok(()), Err)
    }
}

fn work_loop(shared: &Arc<Shared>) {
    shared.clocks.lock().extend(clock::of_this_thread());
    let mut queue = shared.queue.lock();
    let (mut worked, mut looks_out) = (false, false);
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
        let Some(job) = next_job(shared, &queue) else {
            if std::mem::take(&mut looks_out) {
                let seen = shared.arranged.load(Ordering::Relaxed);
                MutexGuard::unlocked(&mut queue, || {
                    shared.look_out(|| shared.arranged.load(Ordering::Relaxed) != seen)
                });
                continue;
            }
            // After a while without work the thread's free memory goes back; then it sleeps until it is woken.
            if !worked {
                shared.wake.wait(&mut queue);
            } else if shared.wake.wait_for(&mut queue, allocator::IDLE).timed_out() {
                worked = false;
                MutexGuard::unlocked(&mut queue, allocator::give_back);
            }
            continue;
        };
        (worked, looks_out) = (true, true);
        // Helpers are counted under the queue's lock, so `wait` sees every one that joined.
        job.helpers.fetch_add(1, Ordering::Relaxed);
        job.state.lock().inside += 1;
        drop(queue);
        let turn = Turn::new(shared, &job, true);
        job.run(&turn);
        if !turn.left.get() {
            job.helpers.fetch_sub(1, Ordering::Relaxed);
        }
        {
            let mut state = job.state.lock();
            state.inside -= 1;
            job.left.notify_all();
        }
        queue = shared.queue.lock();
    }
}

/// A job with fewer helpers than its share. Jobs that have nothing left to begin leave theirs to others.
fn next_job(shared: &Shared, queue: &Queue) -> Option<Arc<Job>> {
    if queue.jobs.len() > 1 {
        queue.share_out(shared.allowed.load(Ordering::Relaxed).saturating_sub(1));
    }
    let lacks = |job: &&Arc<Job>| {
        job.is_open() && job.helpers.load(Ordering::Relaxed) < job.share.load(Ordering::Relaxed)
    };
    queue.jobs.iter().find(lacks).cloned()
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        if self.shared.process != process_id() {
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

/// Processor time of threads, where the system shows it.
mod clock {
    use std::fs::File;
    use std::io::{Read, Seek};
    use std::time::Duration;

    /// The calling thread's.
    pub fn of_this_thread() -> Option<File> {
        if cfg!(target_os = "linux") { File::open("/proc/thread-self/schedstat").ok() } else { None }
    }

    /// Nanoseconds on a processor are the first number. The time of a thread that is gone is not to be had.
    pub fn time(mut clock: &File) -> Option<Duration> {
        let mut text = [0; 64];
        clock.rewind().ok()?;
        let len = clock.read(&mut text).ok()?;
        let text = std::str::from_utf8(&text[..len]).ok()?;
        Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
    }
}

#[cfg(test)]
mod tests;

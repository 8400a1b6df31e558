//! Many cases on two threads: a panic is a failed case, and one that hangs ends the program with its name.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

const WORKERS: usize = 2;
const CASE_MAX: Duration = Duration::from_secs(120);
const FAILURES_SHOWN: usize = 10;

thread_local! {
    /// Whether panics of this thread are caught and reported by [`run`], so that nobody else needs to print them.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// About `most` of the numbers below `count`, spread evenly; all of them when `most` is 0.
pub fn sample(count: usize, most: u64) -> Vec<usize> {
    thinned((0..count).collect(), most)
}

/// About `most` of some numbers, spread evenly; all of them when `most` is 0.
pub fn thinned(numbers: Vec<usize>, most: u64) -> Vec<usize> {
    let most = if most == 0 { numbers.len() } else { most as usize };
    let step = numbers.len().div_ceil(most.max(1)).max(1);
    // A step that shares a factor with the block size would look at the same places of every block.
    let step = if step > 1 && step % 2 == 0 { step + 1 } else { step };
    numbers.into_iter().step_by(step).collect()
}

/// Runs a case for each number and returns what they return. Fails with the first problems if any has one.
pub fn run<T: Send>(
    name: &str,
    numbers: &[usize],
    case: impl Fn(usize) -> Result<T, String> + Sync,
) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let running: [Mutex<Option<(usize, Instant)>>; WORKERS] = Default::default();
    let (results, failures) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    quiet_when_asked();
    std::thread::scope(|scope| {
        let workers: Vec<_> = running
            .iter()
            .map(|now| {
                let (case, next, results, failures) = (&case, &next, &results, &failures);
                scope.spawn(move || {
                    QUIET.set(true);
                    while let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                        *now.lock().unwrap() = Some((number, Instant::now()));
                        match catch_unwind(AssertUnwindSafe(|| case(number))) {
                            Ok(Ok(result)) => results.lock().unwrap().push((number, result)),
                            Ok(Err(problem)) => failures.lock().unwrap().push((number, problem)),
                            Err(panic) => failures.lock().unwrap().push((number, text(&*panic))),
                        }
                    }
                    *now.lock().unwrap() = None;
                })
            })
            .collect();
        scope.spawn(|| watch(name, &running, &done));
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    let failures = failures.into_inner().unwrap();
    let shown: Vec<String> = failures
        .iter()
        .take(FAILURES_SHOWN)
        .map(|(number, problem)| format!("case {number}: {problem}"))
        .collect();
    assert!(
        failures.is_empty(),
        "{name}: {} of {} cases failed\n{}",
        failures.len(),
        numbers.len(),
        shown.join("\n")
    );
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Lets threads that run cases panic without printing; once, for all tests of this program.
fn quiet_when_asked() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                print(panic);
            }
        }));
    });
}

fn watch(name: &str, running: &[Mutex<Option<(usize, Instant)>>], done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        for now in running {
            if let Some((number, since)) = *now.lock().unwrap()
                && since.elapsed() > CASE_MAX
            {
                println!("{name}: case {number} hangs");
                std::process::exit(101);
            }
        }
    }
}

fn text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?"))
}

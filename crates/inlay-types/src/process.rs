//! Which process this is, without asking the system each time: a database is not used in a child that was forked after it was opened.
//!
//! The one state that all databases of a process share. A fork by `fork(2)` is noticed; a system call past the C library is not.

#![expect(unsafe_code, reason = "numbers of processes by calls of the system")]

#[cfg(unix)]
pub use unix::{fork_count, process_id};

#[cfg(unix)]
mod unix {
    use std::sync::Once;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    /// The process's number; 0 while it is not known.
    static PROCESS: AtomicU32 = AtomicU32::new(0);
    /// How often this process was forked, or its parent was until it came to be.
    static FORKS: AtomicU64 = AtomicU64::new(0);

    extern "C" fn before_fork() {
        FORKS.fetch_add(1, Ordering::SeqCst);
    }

    extern "C" fn in_child() {
        PROCESS.store(0, Ordering::SeqCst);
    }

    fn watch_forks() {
        static WATCH: Once = Once::new();
        // SAFETY: the functions store to atomics, which may be done at any time, between fork and exec as well.
        WATCH.call_once(|| unsafe {
            libc::pthread_atfork(Some(before_fork), None, Some(in_child));
        });
    }

    /// The number of this process.
    #[inline]
    pub fn process_id() -> u32 {
        match PROCESS.load(Ordering::Relaxed) {
            0 => first_process_id(),
            known => known,
        }
    }

    #[cold]
    fn first_process_id() -> u32 {
        watch_forks();
        let id = std::process::id();
        PROCESS.store(id, Ordering::SeqCst);
        id
    }

    /// How often this process was forked since somebody first asked; a child starts with its parent's count.
    pub fn fork_count() -> u64 {
        watch_forks();
        FORKS.load(Ordering::SeqCst)
    }
}

#[cfg(not(unix))]
pub use std::process::id as process_id;

#[cfg(all(test, unix))]
mod tests {
    use super::{fork_count, process_id};

    #[test]
    fn a_child_has_a_number_of_its_own() {
        assert_eq!(process_id(), std::process::id());
        let before = fork_count();
        // SAFETY: the child calls nothing that could wait for a thread that it does not have, and ends at once.
        let child = unsafe {
            match libc::fork() {
                0 => libc::_exit(i32::from(process_id() != libc::getpid() as u32)),
                child => child,
            }
        };
        let mut status = -1;
        // SAFETY: waits for a child of ours.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
        assert_eq!(fork_count(), before + 1);
        assert_eq!(process_id(), std::process::id());
    }
}

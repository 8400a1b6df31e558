//! Ctrl-C while the shell runs.
//!
//! A shell at a terminal counts it: a running statement sees the count change and ends. A script is ended by it, as by
//! any program. Whatever handled the signal before does so again when the shell is left.

#![expect(unsafe_code, reason = "a signal handler by calls of the system")]

use std::sync::atomic::{AtomicU32, Ordering};

/// How often Ctrl-C was pressed. A handler can reach nothing but a static.
static PRESSED: AtomicU32 = AtomicU32::new(0);

/// How often Ctrl-C was pressed so far.
pub fn count() -> u32 {
    PRESSED.load(Ordering::Relaxed)
}

/// While it lives, Ctrl-C is the shell's.
pub struct Signals {
    #[cfg(unix)]
    before: Option<libc::sigaction>,
}

#[cfg(unix)]
impl Signals {
    /// Counts Ctrl-C, or has it end the process.
    pub fn install(is_interactive: bool) -> Self {
        extern "C" fn pressed(_: libc::c_int) {
            PRESSED.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: `sigaction` is plain data for which zeros mean no flags and an empty mask; both pointers are to
        // locals. The handler only adds to an atomic, which is allowed in a handler.
        unsafe {
            let mut wanted: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(libc::c_int) = pressed;
            wanted.sa_sigaction = if is_interactive { handler as libc::sighandler_t } else { libc::SIG_DFL };
            wanted.sa_flags = libc::SA_RESTART;
            let mut before: libc::sigaction = std::mem::zeroed();
            let outcome = libc::sigaction(libc::SIGINT, &wanted, &mut before);
            Self { before: (outcome == 0).then_some(before) }
        }
    }
}

#[cfg(unix)]
impl Drop for Signals {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: `before` is what the system gave for this signal.
            unsafe {
                libc::sigaction(libc::SIGINT, before, std::ptr::null_mut());
            }
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    /// Signals are left alone.
    pub fn install(_is_interactive: bool) -> Self {
        Self {}
    }
}

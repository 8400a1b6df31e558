//! What a thread does while it waits for the server: it is asked now and then whether it still wants to.
//!
//! Sockets of clients wake every [`PATIENCE`]; what was read of a frame by then is kept, so that nothing is lost.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;
use std::thread::LocalKey;
use std::time::Duration;

/// How often who waits is asked.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

type Hook<T> = RefCell<Option<Rc<dyn Fn() -> T>>>;

thread_local! {
    /// Whether what this thread waits for is not wanted any more.
    static UNWANTED: Hook<bool> = const { RefCell::new(None) };
    /// Tells the server that; what was asked for is read on then, up to its end.
    static CANCEL: Hook<()> = const { RefCell::new(None) };
}

/// Does work, during which this thread asks `is_unwanted` while it waits for a server. What it waits for then is cancelled, and ends with the
/// server's error of SQLSTATE 57014; a login that is waited for is given up.
pub fn asking<T>(is_unwanted: Rc<dyn Fn() -> bool>, work: impl FnOnce() -> T) -> T {
    within(&UNWANTED, is_unwanted, work)
}

/// Reads, and calls `cancel` when what is read is not wanted any more.
pub(super) fn meanwhile<T>(cancel: impl Fn() + 'static, read: impl FnOnce() -> T) -> T {
    match UNWANTED.with_borrow(Option::is_some) {
        true => within(&CANCEL, Rc::new(cancel), read),
        false => read(),
    }
}

fn within<R: 'static, T>(
    place: &'static LocalKey<Hook<R>>,
    hook: Rc<dyn Fn() -> R>,
    work: impl FnOnce() -> T,
) -> T {
    let _until = Until { place, earlier: place.replace(Some(hook)) };
    work()
}

/// Puts back what was there before.
struct Until<R: 'static> {
    place: &'static LocalKey<Hook<R>>,
    earlier: Option<Rc<dyn Fn() -> R>>,
}

impl<R> Drop for Until<R> {
    fn drop(&mut self) {
        let ended = self.place.replace(self.earlier.take());
        drop(ended);
    }
}

/// Asks whether what this thread waits for is unwanted.
pub(super) fn is_unwanted() -> bool {
    let ask = UNWANTED.with_borrow(Clone::clone);
    ask.is_some_and(|ask| ask())
}

/// Whether a socket woke before anything came: its time is over, or a signal came, which may be why it is not wanted any more.
fn is_early(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(kind, WouldBlock | TimedOut | Interrupted)
}

/// A socket that wakes now and then.
pub(super) struct Waking<R>(pub R);

impl<R: Read> Read for Waking<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if is_early(error.kind()) => {}
                read => return read,
            }
            if is_unwanted() {
                match CANCEL.with_borrow(Clone::clone) {
                    Some(cancel) => cancel(),
                    None => return Err(io::Error::other("given up, as was asked")),
                }
            }
        }
    }
}

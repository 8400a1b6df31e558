//! Panics of other crates that are caught, and told as errors of a file: they print nothing where the program writes its own words.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is caught by [`caught`].
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// What `call` gives; an error where it panics.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> std::thread::Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_CAUGHT.get() {
                before(panic);
            }
        }));
    });
    let outer = IS_CAUGHT.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(call));
    IS_CAUGHT.set(outer);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const CHILD: &str = "INLAY_CAUGHT_PANIC";

    #[test]
    fn a_caught_panic_prints_nothing_and_others_do() {
        if std::env::var_os(CHILD).is_some() {
            let panics = |word: &str| assert!(word.is_empty(), "{word}");
            assert!(caught(|| panics("within")).is_err());
            assert!(caught(|| caught(|| panics("deep within"))).is_ok_and(|inner| inner.is_err()));
            assert!(catch_unwind(|| panics("outside")).is_err());
            return;
        }
        let name = "quiet::tests::a_caught_panic_prints_nothing_and_others_do";
        let program = std::env::current_exe().expect("the test is a program");
        let child = Command::new(program).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output();
        let child = child.expect("the test runs once more");
        let printed = String::from_utf8_lossy(&child.stderr).into_owned();
        assert!(child.status.success(), "{printed}");
        assert!(!printed.contains("within") && printed.contains("outside"), "{printed}");
    }
}

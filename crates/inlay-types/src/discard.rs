//! Closing files that nobody wants any more. What a large one has in the system's cache takes the system long to give back:
//! 60 to 80 ms for a gigabyte.

use std::fs::File;

/// Files of fewer bytes are closed at once.
const LARGE: u64 = 32 << 20;

/// Closes a file whose name is gone, and with it frees what it has; a large one in a thread of its own, so that nobody waits.
pub fn discard(file: File) {
    if file.metadata().is_ok_and(|found| found.len() >= LARGE) {
        // If no thread can be had, the file is closed with the closure.
        let _ = std::thread::Builder::new().name("inlay-close".to_string()).spawn(move || drop(file));
    }
}

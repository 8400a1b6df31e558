//! Whether Enter runs what was typed or begins another line.

use crate::split::Splitter;
use reedline::{ValidationResult, Validator};

/// A statement is complete at its `;`, a command at the end of its line.
pub struct SqlValidator;

impl Validator for SqlValidator {
    fn validate(&self, line: &str) -> ValidationResult {
        if is_complete(line) { ValidationResult::Complete } else { ValidationResult::Incomplete }
    }
}

/// Whether nothing that was typed waits for more.
pub fn is_complete(text: &str) -> bool {
    if bare_command(text).is_some() {
        return true;
    }
    let mut splitter = Splitter::default();
    splitter.push(text);
    while splitter.next_piece().is_some() {}
    !splitter.is_open()
}

/// The command that a word alone means, which other shells take without a dot.
pub fn bare_command(text: &str) -> Option<&'static str> {
    match text.trim().trim_end_matches(';').to_lowercase().as_str() {
        "exit" | "quit" => Some(".quit"),
        "help" => Some(".help"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_wait_for_their_semicolon() {
        assert!(is_complete("SELECT 1;") && is_complete(".tables") && is_complete("") && is_complete("quit"));
        assert!(is_complete("SELECT 1; -- done") && is_complete("\\d t"));
        assert!(!is_complete("SELECT 1") && !is_complete("SELECT ';") && !is_complete("SELECT 1; SELECT"));
        assert!(!is_complete("/* ;") && !is_complete("SELECT $$ ;") && !is_complete("SELECT 1 -- ;"));
    }
}

//! The prompt.

use reedline::{Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus};
use std::borrow::Cow;

/// The prompt of a session, and that of further lines.
pub struct ShellPrompt {
    pub first: String,
    pub more: String,
}

impl ShellPrompt {
    /// With a star while a transaction is open.
    pub fn new(first: &str, more: &str, in_transaction: bool) -> Self {
        let first = match first.strip_suffix("> ") {
            Some(name) if in_transaction => format!("{name}*> "),
            _ => first.to_string(),
        };
        Self { first, more: more.to_string() }
    }
}

impl Prompt for ShellPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.first)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.more)
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let what = match search.status {
            PromptHistorySearchStatus::Passing => "search",
            PromptHistorySearchStatus::Failing => "nothing found",
        };
        Cow::Owned(format!("({what}: {}) ", search.term))
    }
}

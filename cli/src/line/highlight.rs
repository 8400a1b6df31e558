//! Colours of what is typed.

use super::names::SharedNames;
use super::tokens::{Kind, Token, tokens};
use crate::dot::COMMANDS;
use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, StyledText};

/// Colours SQL by its tokens; functions are those that the engine has.
pub struct SqlHighlighter {
    pub names: SharedNames,
}

impl Highlighter for SqlHighlighter {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        let mut text = StyledText::new();
        if let Some((name, rest)) = command(line) {
            let is_known =
                COMMANDS.iter().any(|command| command.name == &name[1..]) || name.starts_with('\\');
            let style = if is_known { Color::Magenta.bold() } else { Style::new() };
            text.push((style, name.to_string()));
            text.push((Style::new(), rest.to_string()));
            return text;
        }
        let all = tokens(line);
        for (index, token) in all.iter().enumerate() {
            text.push((self.style(token, all.get(index + 1)), token.text.to_string()));
        }
        text
    }
}

impl SqlHighlighter {
    fn style(&self, token: &Token<'_>, next: Option<&Token<'_>>) -> Style {
        match token.kind {
            Kind::String => Color::Green.normal(),
            Kind::Number => Color::Cyan.normal(),
            Kind::Comment => Color::DarkGray.normal(),
            Kind::Word => {
                let word = token.text.to_lowercase();
                let Ok(names) = self.names.read() else { return Style::new() };
                let is_called = next.is_some_and(|next| next.text == "(");
                if is_called && names.function_names.contains(&word) {
                    Color::Yellow.normal()
                } else if names.keywords.contains(word.as_str()) || TYPES.contains(&word.as_str()) {
                    Color::Blue.bold()
                } else {
                    Style::new()
                }
            }
            Kind::Name | Kind::Space | Kind::Symbol => Style::new(),
        }
    }
}

/// Types that are written often.
const TYPES: &[&str] = &[
    "bigint",
    "blob",
    "boolean",
    "date",
    "decimal",
    "double",
    "float",
    "hugeint",
    "int",
    "integer",
    "interval",
    "json",
    "numeric",
    "real",
    "smallint",
    "text",
    "time",
    "timestamp",
    "timestamptz",
    "tinyint",
    "uuid",
    "varchar",
];

/// The command that a line is, and what is behind its name.
pub fn command(line: &str) -> Option<(&str, &str)> {
    if !line.starts_with(['.', '\\']) {
        return None;
    }
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    Some(line.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::names::Names;
    use std::sync::{Arc, RwLock};

    #[test]
    fn words_strings_and_functions_have_colours_and_the_text_stays() {
        let mut names = Names { keywords: ["select", "from"].into_iter().collect(), ..Names::default() };
        names.function_names.insert("sum".to_string());
        let highlighter = SqlHighlighter { names: Arc::new(RwLock::new(names)) };
        let line = "SELECT sum(x), sum, 'a;' FROM t -- ü";
        let text = highlighter.highlight(line, 0);
        assert_eq!(text.raw_string(), line);
        let styled = |wanted: &str| text.buffer.iter().find(|(_, part)| part == wanted).unwrap().0;
        assert_eq!(styled("SELECT"), Color::Blue.bold());
        assert_eq!(styled("sum"), Color::Yellow.normal());
        assert_eq!(styled("'a;'"), Color::Green.normal());
        assert_eq!(
            highlighter.highlight(".mode csv", 0).buffer[0],
            (Color::Magenta.bold(), ".mode".to_string())
        );
    }
}

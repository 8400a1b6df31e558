//! New names in expressions that a schema holds as text.

use super::dialect::InlayDialect;
use inlay_types::{Error, Result};
use sqlparser::tokenizer::{Token, Tokenizer};

/// Which words of an expression over one table a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// The table's, in front of a point.
    Table,
    /// A column's.
    Column,
}

/// `text`, an expression over one table, with `old` called `new`.
pub fn rename_in_expression(text: &str, renamed: Renamed, old: &str, new: &str) -> Result<String> {
    let tokens = Tokenizer::new(&InlayDialect, text).tokenize();
    let tokens = tokens.map_err(|error| Error::internal(format!("the stored text {text}: {error}")))?;
    let next = |index: usize| {
        tokens[index + 1..].iter().find(|token| !matches!(token, Token::Whitespace(_))).unwrap_or(&Token::EOF)
    };
    let mut out = String::with_capacity(text.len());
    for (index, token) in tokens.iter().enumerate() {
        let is_it = matches!(token, Token::Word(word) if word.value.to_lowercase() == old.to_lowercase())
            && match renamed {
                Renamed::Table => *next(index) == Token::Period,
                Renamed::Column => !matches!(next(index), Token::Period | Token::LParen),
            };
        if is_it {
            out.push_str(&format!("\"{}\"", new.replace('"', "\"\"")));
        } else {
            out.push_str(&token.to_string());
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_itself_changes() {
        let renamed = |text: &str| rename_in_expression(text, Renamed::Column, "a", "new a").unwrap();
        assert_eq!(renamed("a > 1 AND t.A < abs(b)"), "\"new a\" > 1 AND t.\"new a\" < abs(b)");
        assert_eq!(renamed("a(b) = 'a' || \"a\""), "a(b) = 'a' || \"new a\"");
        assert_eq!(rename_in_expression("t.a > t", Renamed::Table, "T", "u").unwrap(), "\"u\".a > t");
    }
}

//! Lists with commas between their items, as most statements have one.

use super::{Reader, ast::Ident};
use inlay_types::Result;
use sqlparser::tokenizer::Token;

impl Reader<'_> {
    /// `item, item`: at least one.
    pub(super) fn comma_separated<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.parser.consume_token(&Token::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `(item, item)`: at least one, and a comma behind the last one does no harm.
    pub(super) fn parenthesised<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.expect(&Token::LParen)?;
        let first = item(self)?;
        let mut items = vec![first];
        if self.parser.consume_token(&Token::Comma) {
            items.extend(self.until_closed(item)?);
        } else if !self.parser.consume_token(&Token::RParen) {
            return self.syntax(", or )");
        }
        Ok(items)
    }

    /// The same if there is a parenthesis, otherwise nothing.
    pub(super) fn optional_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        if self.parser.peek_token_ref().token == Token::LParen {
            self.parenthesised(item)
        } else {
            Ok(Vec::new())
        }
    }

    /// What follows an opening parenthesis, with the closing one: any number of items.
    pub(super) fn until_closed<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while !self.parser.consume_token(&Token::RParen) {
            items.push(item(self)?);
            if !self.parser.consume_token(&Token::Comma) {
                if !self.parser.consume_token(&Token::RParen) {
                    return self.syntax(", or )");
                }
                break;
            }
        }
        Ok(items)
    }

    /// `(column, column)`, if it is there.
    pub(super) fn optional_columns(&mut self) -> Result<Vec<Ident>> {
        self.optional_list(Self::identifier)
    }
}

//! ALTER TABLE of a field: `ADD COLUMN s.f INTEGER`, `DROP COLUMN s.f`, `RENAME COLUMN s.f TO g`.

use super::Reader;
use super::ast::{AlterAction, FieldChange, StatementKind};
use inlay_types::Result;
use sqlparser::tokenizer::Token;

impl Reader<'_> {
    /// Tells ALTER TABLE of a field from that of a column: the name behind ADD, DROP or RENAME goes on with a point.
    pub(super) fn alters_field(&self) -> bool {
        let token = |index: usize| &self.parser.peek_nth_token_ref(index).token;
        let mut at = 2;
        let skip = |words: &[&str], at: &mut usize| {
            let found = words.iter().enumerate().all(|(index, word)| self.nth_word_is(*at + index, word));
            *at += if found { words.len() } else { 0 };
            found
        };
        if !self.nth_word_is(1, "table") {
            return false;
        }
        skip(&["if", "exists"], &mut at);
        at += 1;
        while *token(at) == Token::Period {
            at += 2;
        }
        if !["add", "drop", "rename"].iter().any(|word| skip(&[word], &mut at)) {
            return false;
        }
        skip(&["column"], &mut at);
        let _ = skip(&["if", "not", "exists"], &mut at) || skip(&["if", "exists"], &mut at);
        matches!(token(at), Token::Word(_)) && *token(at + 1) == Token::Period
    }

    /// `ALTER TABLE [IF EXISTS] name {ADD | DROP | RENAME} [COLUMN] column.field...`.
    pub(super) fn alter_field(&mut self) -> Result<StatementKind> {
        self.words(&["alter", "table"]);
        let if_exists = self.words(&["if", "exists"]);
        let table = self.object_name()?;
        let (adds, drops) = (self.word("add"), self.word("drop"));
        if !adds && !drops {
            self.expect_word("rename")?;
        }
        self.word("column");
        let is_optional = self.words(&["if", "not", "exists"]) || self.words(&["if", "exists"]);
        let mut path = vec![self.identifier()?];
        while self.parser.consume_token(&Token::Period) {
            path.push(self.identifier()?);
        }
        let change = if adds {
            let (data_type, _) = self.written_type()?;
            let default = if self.word("default") { Some(self.expression()?) } else { None };
            FieldChange::Add { data_type, default, if_not_exists: is_optional }
        } else if drops {
            let _ = self.word("cascade") || self.word("restrict");
            FieldChange::Drop { if_exists: is_optional }
        } else {
            self.expect_word("to")?;
            FieldChange::Rename(self.identifier()?)
        };
        let action = AlterAction::Field { path, change: Box::new(change) };
        Ok(StatementKind::AlterTable { table, if_exists, actions: vec![action] })
    }
}

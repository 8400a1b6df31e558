//! CREATE TRIGGER and DROP TRIGGER.

use super::Reader;
use super::ast::object::ObjectStatement;
use super::ast::trigger::{CreateTrigger, TriggerEvent, TriggerTiming};
use super::ast::{Expr, Ident, Statement, StatementKind};
use super::define::on_existing;
use inlay_types::{Error, Result};
use sqlparser::tokenizer::Token;

/// Statements of one body; more is a mistake of who writes scripts.
const BODY_STATEMENTS_MAX: usize = 256;

impl Reader<'_> {
    /// Reads CREATE TRIGGER, if the statement is one.
    pub(super) fn create_trigger(&mut self) -> Result<Option<StatementKind>> {
        let replaces = self.nth_word_is(1, "or") && self.nth_word_is(2, "replace");
        let at = if replaces { 3 } else { 1 };
        if !self.nth_word_is(at, "trigger") {
            return Ok(None);
        }
        (0..=at).for_each(|_| drop(self.parser.next_token()));
        let if_not_exists = self.words(&["if", "not", "exists"]);
        let on_existing = on_existing(replaces, if_not_exists)?;
        let name = self.identifier()?;
        let timing = self.trigger_timing()?;
        let mut events = vec![self.trigger_event()?];
        while self.word("or") {
            events.push(self.trigger_event()?);
        }
        self.expect_word("on")?;
        let table = self.object_name()?;
        let (old_rows, new_rows) = self.transition_tables()?;
        let per_row = self.trigger_level()?;
        let condition = self.trigger_condition()?;
        let (body, body_text) = self.trigger_body()?;
        Ok(Some(StatementKind::Object(Box::new(ObjectStatement::CreateTrigger(Box::new(CreateTrigger {
            name,
            on_existing,
            timing,
            events,
            table,
            old_rows,
            new_rows,
            per_row,
            condition,
            body,
            body_text,
        }))))))
    }

    /// Reads `DROP TRIGGER [IF EXISTS] name ON table`, if the statement is one.
    pub(super) fn drop_trigger(&mut self) -> Result<Option<StatementKind>> {
        if !self.words(&["drop", "trigger"]) {
            return Ok(None);
        }
        let if_exists = self.words(&["if", "exists"]);
        let name = self.identifier()?;
        self.expect_word("on")?;
        let table = self.object_name()?;
        // Nothing depends on a trigger.
        let _ = self.word("cascade") || self.word("restrict");
        Ok(Some(StatementKind::Object(Box::new(ObjectStatement::DropTrigger { name, table, if_exists }))))
    }

    fn trigger_timing(&mut self) -> Result<TriggerTiming> {
        if self.words(&["instead", "of"]) {
            return Err(Error::Unsupported {
                feature: "INSTEAD OF".to_string(),
                alternative: Some("a trigger BEFORE or AFTER changes of a table".to_string()),
            });
        }
        if self.word("before") {
            return Ok(TriggerTiming::Before);
        }
        if self.word("after") { Ok(TriggerTiming::After) } else { self.syntax("BEFORE or AFTER") }
    }

    fn trigger_event(&mut self) -> Result<TriggerEvent> {
        if self.word("insert") {
            return Ok(TriggerEvent::Insert);
        }
        if self.word("delete") {
            return Ok(TriggerEvent::Delete);
        }
        if !self.word("update") {
            return self.syntax("INSERT, UPDATE or DELETE");
        }
        let columns = if self.word("of") { self.comma_separated(Self::identifier)? } else { Vec::new() };
        Ok(TriggerEvent::Update(columns))
    }

    /// `REFERENCING OLD TABLE AS a NEW TABLE AS b`.
    fn transition_tables(&mut self) -> Result<(Option<Ident>, Option<Ident>)> {
        let (mut old, mut new): (Option<Ident>, Option<Ident>) = (None, None);
        if !self.word("referencing") {
            return Ok((old, new));
        }
        loop {
            let (place, word) = if self.word("old") {
                (&mut old, "OLD")
            } else if self.word("new") {
                (&mut new, "NEW")
            } else if old.is_none() && new.is_none() {
                return self.syntax("OLD TABLE or NEW TABLE");
            } else {
                break;
            };
            self.expect_word("table")?;
            self.word("as");
            let name = self.identifier()?;
            if place.is_some() {
                let message = format!("REFERENCING names {word} TABLE twice");
                return Err(self.at_pos(message, name.pos));
            }
            *place = Some(name);
        }
        if let (Some(old), Some(new)) = (&old, &new)
            && old.value.eq_ignore_ascii_case(&new.value)
        {
            let message = format!("REFERENCING calls both the old and the new rows \"{}\"", new.value);
            return Err(self.at_pos(message, new.pos));
        }
        Ok((old, new))
    }

    fn at_pos(&self, message: String, pos: super::Pos) -> Error {
        Error::Syntax { message }.at(pos.line, pos.column, self.sql)
    }

    /// `FOR [EACH] ROW | STATEMENT`; the latter unless it says.
    fn trigger_level(&mut self) -> Result<bool> {
        if !self.word("for") {
            return Ok(false);
        }
        self.word("each");
        if self.word("row") {
            return Ok(true);
        }
        self.expect_word("statement").map(|()| false)
    }

    fn trigger_condition(&mut self) -> Result<Option<(Expr, String)>> {
        if !self.word("when") {
            return Ok(None);
        }
        self.expect(&Token::LParen)?;
        let start = self.offset(self.pos());
        let condition = self.expression()?;
        let end = self.offset(self.end_pos());
        let text = self.written(start, end)?;
        self.expect(&Token::RParen)?;
        Ok(Some((condition, text.trim().to_string())))
    }

    /// One statement, or `BEGIN statement; ... END`.
    fn trigger_body(&mut self) -> Result<(Vec<Statement>, String)> {
        let start = self.offset(self.pos());
        let mut body = Vec::new();
        if self.word("begin") {
            self.word("atomic");
            loop {
                while self.parser.consume_token(&Token::SemiColon) {}
                if self.word("end") {
                    break;
                }
                if body.len() == BODY_STATEMENTS_MAX {
                    let message = format!("a trigger with more than {BODY_STATEMENTS_MAX} statements");
                    return Err(self.at_pos(message, self.pos()));
                }
                body.push(self.trigger_statement()?);
                if self.parser.peek_token_ref().token != Token::SemiColon {
                    return self.syntax("; and END behind the statements of a trigger");
                }
            }
            if body.is_empty() {
                return self.syntax("a statement between BEGIN and END");
            }
        } else {
            body.push(self.trigger_statement()?);
        }
        let end = self.offset(self.end_pos());
        Ok((body, self.written(start, end)?.trim().to_string()))
    }

    fn trigger_statement(&mut self) -> Result<Statement> {
        let pos = self.pos();
        if self.at_end() {
            return self.syntax("what the trigger does: INSERT, UPDATE, DELETE, MERGE or SELECT");
        }
        if self.nth_word_is(0, "execute") {
            let error = Error::Unsupported {
                feature: "a trigger that calls a function".to_string(),
                alternative: Some(
                    "what it does: FOR EACH ROW INSERT INTO ..., or BEGIN ...; END".to_string(),
                ),
            };
            return Err(error.at(pos.line, pos.column, self.sql));
        }
        let statement = self.statement()?;
        use StatementKind as Kind;
        let is_change = matches!(
            statement.kind,
            Kind::Insert(_)
                | Kind::Update(_)
                | Kind::Delete(_)
                | Kind::Merge(_)
                | Kind::Query(_)
                | Kind::With { .. }
        );
        if !is_change {
            let message = "a trigger does INSERT, UPDATE, DELETE, MERGE or SELECT".to_string();
            return Err(self.at_pos(message, pos));
        }
        if statement.parameter_count > 0 || !statement.parameter_names.is_empty() {
            let message = "a trigger has no parameters: NEW.column and OLD.column are the values of its row";
            return Err(self.at_pos(message.to_string(), pos));
        }
        Ok(statement)
    }
}

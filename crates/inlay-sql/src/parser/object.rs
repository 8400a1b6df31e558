//! CREATE, ALTER and DROP of schemas, macros, types and materialised views; COMMENT; PREPARE and EXECUTE; variables.

use super::Reader;
use super::ast::object::{
    Commented, DroppedKind, MacroBody, MacroOverload, MacroParameter, ObjectStatement, RenamedKind, TypeBody,
    TypeChange,
};
use super::ast::{AlterAction, FunctionCall, Ident, ObjectName, OnExisting, Pos, StatementKind};
use super::define::on_existing;
use super::parse_error;
use super::query::name_arguments;
use inlay_kernels::external::FunctionKind;
use inlay_types::{Error, LogicalType, Result};
use sqlparser::tokenizer::Token;

type Statement = Result<StatementKind>;

fn object(statement: ObjectStatement) -> StatementKind {
    StatementKind::Object(Box::new(statement))
}

impl Reader<'_> {
    /// Reads a statement of this module, if `keyword` begins one.
    pub(super) fn object_statement(&mut self, keyword: &str) -> Result<Option<StatementKind>> {
        Ok(Some(match keyword {
            "CREATE" => match self.create_trigger()? {
                Some(trigger) => trigger,
                None => return self.create_object(),
            },
            "DROP" => match self.drop_trigger()? {
                Some(trigger) => trigger,
                None => return self.drop_object(),
            },
            "ALTER" => return self.alter_object(),
            "REFRESH" => self.refresh()?,
            "COMMENT" => self.comment()?,
            "PREPARE" => self.prepare()?,
            "EXECUTE" => self.execute()?,
            "DEALLOCATE" => self.deallocate()?,
            "SET"
                if self.second_word_is("variable")
                    && !matches!(self.parser.peek_nth_token_ref(2).token, Token::Eq) =>
            {
                self.set_variable()?
            }
            "RESET" if self.second_word_is("variable") => {
                self.words(&["reset", "variable"]);
                object(ObjectStatement::SetVariable { name: self.identifier()?, value: None })
            }
            _ => return Ok(None),
        }))
    }

    fn create_object(&mut self) -> Result<Option<StatementKind>> {
        let mut at = 1;
        let replace = self.nth_word_is(1, "or") && self.nth_word_is(2, "replace");
        at += if replace { 2 } else { 0 };
        let temporary = self.nth_word_is(at, "temp") || self.nth_word_is(at, "temporary");
        at += usize::from(temporary);
        let is = |word: &str| self.nth_word_is(at, word);
        let kind = if is("schema") {
            "schema"
        } else if is("macro") || is("function") {
            "macro"
        } else if is("aggregate") {
            "aggregate"
        } else if is("type") {
            "type"
        } else if is("materialized") {
            "materialized"
        } else {
            return Ok(None);
        };
        for _ in 0..=at {
            self.parser.next_token();
        }
        if kind == "materialized" {
            self.expect_word("view")?;
        }
        if kind == "aggregate" {
            self.word("function");
        }
        let if_not_exists = self.words(&["if", "not", "exists"]);
        let on_existing = on_existing(replace, if_not_exists)?;
        if kind == "type" {
            self.check_type_name()?;
        }
        let name = self.object_name()?;
        Ok(Some(match kind {
            "schema" => object(ObjectStatement::CreateSchema { name, on_existing }),
            "macro" if self.defines_function() => {
                self.create_function(name, temporary, on_existing, FunctionKind::Scalar)?
            }
            "aggregate" => self.create_function(name, temporary, on_existing, FunctionKind::Aggregate)?,
            "macro" => self.create_macro(name, temporary, on_existing)?,
            "type" => self.create_type(name, temporary, on_existing)?,
            _ => self.create_materialized_view(name, on_existing)?,
        }))
    }

    fn create_macro(&mut self, name: ObjectName, temporary: bool, on_existing: OnExisting) -> Statement {
        let start = self.offset(self.pos());
        let overloads = self.macro_overloads()?;
        self.check_parameters(&overloads)?;
        let end = self.offset(self.end_pos());
        let text = self.written(start, end)?;
        Ok(object(ObjectStatement::CreateMacro { name, temporary, on_existing, overloads, text }))
    }

    /// Each parameter of a new macro has its own name, those that may be left out are the last, and a call can mean each overload.
    fn check_parameters(&self, overloads: &[MacroOverload]) -> Result<()> {
        let refuse =
            |message: String, pos: Pos| Err(Error::Syntax { message }.at(pos.line, pos.column, self.sql));
        for (index, overload) in overloads.iter().enumerate() {
            let parameters = &overload.parameters;
            for (at, parameter) in parameters.iter().enumerate() {
                let (name, pos) = (&parameter.name.value, parameter.name.pos);
                if parameters[..at]
                    .iter()
                    .any(|before| before.name.value.to_lowercase() == name.to_lowercase())
                {
                    return refuse(format!("parameter \"{name}\" is given twice"), pos);
                }
                let optional = parameters[..at].iter().find(|before| before.default.is_some());
                if let (Some(optional), None) = (optional, &parameter.default) {
                    let optional = &optional.name.value;
                    let message = format!(
                        "parameter \"{name}\" has no default and stands behind \"{optional}\", which has one; put it in front"
                    );
                    return refuse(message, pos);
                }
            }
            let types = |overload: &MacroOverload| {
                Vec::from_iter(overload.parameters.iter().map(|parameter| parameter.data_type.clone()))
            };
            if overloads[..index].iter().any(|before| types(before) == types(overload)) {
                let message =
                    "two overloads take as many parameters of the same types: no call can tell them apart";
                return refuse(message.into(), overload.pos);
            }
        }
        Ok(())
    }

    /// `(a, b := 1) AS expression, (a) AS expression`, or the same with `TABLE query`.
    pub(super) fn macro_overloads(&mut self) -> Result<Vec<MacroOverload>> {
        let mut overloads: Vec<MacroOverload> = Vec::new();
        loop {
            let pos = self.pos();
            let parameters = self.macro_parameters()?;
            self.expect_word("as")?;
            let is_table = self.word("table");
            if overloads.first().is_some_and(|first| matches!(first.body, MacroBody::Table(_)) != is_table) {
                return self.syntax("overloads that are all expressions, or all AS TABLE");
            }
            let start = self.offset(self.pos());
            let body = if is_table {
                MacroBody::Table(self.parsed_query()?)
            } else {
                MacroBody::Expression(Box::new(self.expression()?))
            };
            let end = self.offset(self.end_pos());
            let text = self.written(start, end)?;
            overloads.push(MacroOverload { parameters, body, text, pos });
            if !self.parser.consume_token(&Token::Comma) {
                return Ok(overloads);
            }
        }
    }

    fn macro_parameters(&mut self) -> Result<Vec<MacroParameter>> {
        self.expect(&Token::LParen)?;
        self.until_closed(Self::macro_parameter)
    }

    /// `name [type] [:= default]`.
    fn macro_parameter(&mut self) -> Result<MacroParameter> {
        let name = self.identifier()?;
        let ends = |token: &Token| matches!(token, Token::Comma | Token::RParen | Token::Assignment);
        let is_default = self.nth_word_is(0, "default");
        let data_type = if ends(&self.parser.peek_token_ref().token) || is_default {
            None
        } else {
            Some(self.written_type()?.0)
        };
        let has_default = self.parser.consume_token(&Token::Assignment) || self.word("default");
        let default = if has_default { Some(self.expression()?) } else { None };
        Ok(MacroParameter { name, data_type, default })
    }

    /// A type and its text.
    pub(super) fn written_type(&mut self) -> Result<(LogicalType, String)> {
        let pos = self.pos();
        let first_token = self.next_index();
        let written = self.parser.parse_data_type().map_err(|e| parse_error(&e, self.sql))?;
        let (start, end) = (self.offset(pos), self.offset(self.end_pos()));
        let text = self.written(start, end)?;
        let ty = self.context(first_token).data_type(&written);
        Ok((ty.map_err(|error| error.at(pos.line, pos.column, self.sql))?, text))
    }

    /// Without quotes the name of a type of the engine always means that one.
    fn check_type_name(&self) -> Result<()> {
        let Token::Word(word) = &self.parser.peek_token_ref().token else { return Ok(()) };
        if word.quote_style.is_some() || self.parser.peek_nth_token_ref(1).token == Token::Period {
            return Ok(());
        }
        match super::parse_type(&word.value) {
            Ok(ty) if super::types::unresolved_name(&ty).is_none() => {
                let pos = self.pos();
                let message = format!("\"{}\" is a type of the engine; choose another name", word.value);
                Err(Error::Syntax { message }.at(pos.line, pos.column, self.sql))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn create_type(&mut self, name: ObjectName, temporary: bool, on_existing: OnExisting) -> Statement {
        self.expect_word("as")?;
        let is_enum = self.nth_word_is(0, "enum") && self.parser.peek_nth_token_ref(1).token == Token::LParen;
        let body = if is_enum {
            self.parser.next_token();
            self.parser.next_token();
            let is_list =
                matches!(self.parser.peek_token_ref().token, Token::SingleQuotedString(_) | Token::RParen);
            if is_list {
                TypeBody::Enum(self.until_closed(|reader| reader.text("a label in single quotes"))?)
            } else {
                let query = self.parsed_query()?;
                self.expect(&Token::RParen)?;
                TypeBody::EnumQuery(query)
            }
        } else {
            let (ty, text) = self.written_type()?;
            TypeBody::Alias(ty, text)
        };
        Ok(object(ObjectStatement::CreateType { name, temporary, on_existing, body }))
    }

    fn create_materialized_view(&mut self, name: ObjectName, on_existing: OnExisting) -> Statement {
        let columns = self.optional_columns()?;
        self.expect_word("as")?;
        let start = self.offset(self.pos());
        let query = self.parsed_query()?;
        let end = self.offset(self.end_pos());
        let query_text = self.written(start, end)?;
        let with_data = self.with_data()?;
        Ok(object(ObjectStatement::CreateMaterializedView {
            name,
            on_existing,
            columns,
            query,
            query_text,
            with_data,
        }))
    }

    /// `[WITH [NO] DATA]`.
    fn with_data(&mut self) -> Result<bool> {
        if !self.word("with") {
            return Ok(true);
        }
        let no = self.word("no");
        self.expect_word("data")?;
        Ok(!no)
    }

    /// `REFRESH MATERIALIZED VIEW [CONCURRENTLY] name [WITH [NO] DATA]`. Readers never wait, with or without the word.
    fn refresh(&mut self) -> Statement {
        self.parser.next_token();
        self.expect_word("materialized")?;
        self.expect_word("view")?;
        self.word("concurrently");
        let name = self.object_name()?;
        Ok(object(ObjectStatement::Refresh { name, with_data: self.with_data()? }))
    }

    fn drop_object(&mut self) -> Result<Option<StatementKind>> {
        let is = |word: &str| self.nth_word_is(1, word);
        let (kind, words) = if is("schema") {
            (DroppedKind::Schema, 2)
        } else if (is("macro") || is("function")) && self.nth_word_is(2, "table") {
            (DroppedKind::TableMacro, 3)
        } else if is("macro") || is("function") || is("aggregate") {
            (DroppedKind::Macro, 2)
        } else if is("type") {
            (DroppedKind::Type, 2)
        } else if is("materialized") && self.nth_word_is(2, "view") {
            (DroppedKind::MaterializedView, 3)
        } else {
            return Ok(None);
        };
        for _ in 0..words {
            self.parser.next_token();
        }
        let if_exists = self.words(&["if", "exists"]);
        let has_types = matches!(kind, DroppedKind::Macro | DroppedKind::TableMacro);
        let dropped = self.comma_separated(|parser| {
            let name = parser.object_name()?;
            Ok((name, if has_types { parser.argument_types()? } else { None }))
        })?;
        let (names, arguments) = dropped.into_iter().unzip();
        let cascade = self.word("cascade");
        if !cascade {
            self.word("restrict");
        }
        Ok(Some(object(ObjectStatement::Drop { kind, names, arguments, if_exists, cascade })))
    }

    /// How many types stand in parentheses, if there are some: `(INTEGER, VARCHAR)`.
    fn argument_types(&mut self) -> Result<Option<usize>> {
        if !self.parser.consume_token(&Token::LParen) {
            return Ok(None);
        }
        let mut count = 0;
        while !self.parser.consume_token(&Token::RParen) {
            if count > 0 {
                self.expect(&Token::Comma)?;
            }
            self.parser.parse_data_type().map_err(|e| parse_error(&e, self.sql))?;
            count += 1;
        }
        Ok(Some(count))
    }

    fn alter_object(&mut self) -> Result<Option<StatementKind>> {
        let (kind, words) = match self.renamed_kind(1) {
            Some(found) => found,
            None => return Ok(None),
        };
        // Where the name stands, to tell the statements of other modules.
        let mut at = 1 + words;
        if self.nth_word_is(at, "if") {
            at += 2;
        }
        at += 1;
        while self.parser.peek_nth_token_ref(at).token == Token::Period {
            at += 2;
        }
        let sets_schema = self.nth_word_is(at, "set") && self.nth_word_is(at + 1, "schema");
        let renames_constraint = kind == RenamedKind::Table
            && self.nth_word_is(at, "rename")
            && self.nth_word_is(at + 1, "constraint")
            && !self.nth_word_is(at + 2, "to");
        if renames_constraint {
            self.words(&["alter", "table"]);
            let if_exists = self.words(&["if", "exists"]);
            let table = self.object_name()?;
            self.words(&["rename", "constraint"]);
            let name = self.identifier()?;
            self.expect_word("to")?;
            let actions = vec![AlterAction::RenameConstraint { name, new_name: self.identifier()? }];
            return Ok(Some(StatementKind::AlterTable { table, if_exists, actions }));
        }
        let is_elsewhere = matches!(kind, RenamedKind::Table | RenamedKind::View | RenamedKind::Sequence);
        if is_elsewhere && !sets_schema {
            return Ok(None);
        }
        for _ in 0..=words {
            self.parser.next_token();
        }
        let if_exists = self.words(&["if", "exists"]);
        let name = self.object_name()?;
        if self.words(&["set", "schema"]) {
            let schema = self.identifier()?;
            return Ok(Some(object(ObjectStatement::SetSchema { kind, name, if_exists, schema })));
        }
        if self.words(&["rename", "to"]) {
            let new_name = self.identifier()?;
            return Ok(Some(object(ObjectStatement::Rename { kind, name, if_exists, new_name })));
        }
        if kind == RenamedKind::Type {
            let change = self.type_change()?;
            return Ok(Some(object(ObjectStatement::AlterType { name, change })));
        }
        self.syntax("RENAME TO or SET SCHEMA")
    }

    /// What the words from the `at`th on say that ALTER is about, and how many words say it.
    fn renamed_kind(&self, at: usize) -> Option<(RenamedKind, usize)> {
        let is = |word: &str| self.nth_word_is(at, word);
        Some(match () {
            () if is("table") => (RenamedKind::Table, 1),
            () if is("view") => (RenamedKind::View, 1),
            () if is("materialized") && self.nth_word_is(at + 1, "view") => {
                (RenamedKind::MaterializedView, 2)
            }
            () if is("sequence") => (RenamedKind::Sequence, 1),
            () if is("schema") => (RenamedKind::Schema, 1),
            () if is("type") => (RenamedKind::Type, 1),
            () if (is("macro") || is("function")) && self.nth_word_is(at + 1, "table") => {
                (RenamedKind::TableMacro, 2)
            }
            () if is("macro") || is("function") => (RenamedKind::Macro, 1),
            () if is("index") => (RenamedKind::Index, 1),
            () => return None,
        })
    }

    /// `ADD VALUE [IF NOT EXISTS] 'x' [BEFORE | AFTER 'y']`, `RENAME VALUE 'x' TO 'y'`.
    fn type_change(&mut self) -> Result<TypeChange> {
        if self.words(&["rename", "value"]) {
            let from = self.text("a label in single quotes")?;
            self.expect_word("to")?;
            return Ok(TypeChange::RenameValue { from, to: self.text("a label in single quotes")? });
        }
        if !self.words(&["add", "value"]) {
            return self.syntax("RENAME TO, ADD VALUE or RENAME VALUE");
        }
        let if_not_exists = self.words(&["if", "not", "exists"]);
        let value = self.text("a label in single quotes")?;
        let before = self.word("before");
        let neighbour = if before || self.word("after") {
            Some((self.text("a label in single quotes")?, before))
        } else {
            None
        };
        Ok(TypeChange::AddValue { value, if_not_exists, neighbour })
    }

    /// `COMMENT ON kind name IS 'text' | NULL`.
    fn comment(&mut self) -> Statement {
        self.parser.next_token();
        self.expect_word("on")?;
        let on = if self.word("column") {
            Commented::Column
        } else if self.word("database") {
            Commented::Database
        } else {
            let Some((kind, words)) = self.renamed_kind(0) else {
                return self.syntax("TABLE, VIEW, COLUMN, INDEX, SEQUENCE, SCHEMA, TYPE, MACRO or DATABASE");
            };
            for _ in 0..words {
                self.parser.next_token();
            }
            match kind {
                RenamedKind::Table => Commented::Table,
                RenamedKind::View => Commented::View,
                RenamedKind::MaterializedView => Commented::MaterializedView,
                RenamedKind::Sequence => Commented::Sequence,
                RenamedKind::Schema => Commented::Schema,
                RenamedKind::Type => Commented::Type,
                RenamedKind::Macro => Commented::Macro,
                RenamedKind::TableMacro => Commented::TableMacro,
                RenamedKind::Index => Commented::Index,
            }
        };
        let name = self.object_name()?;
        // `FUNCTION f(integer)`: all macros of a name have one comment.
        if matches!(on, Commented::Macro | Commented::TableMacro)
            && self.parser.peek_token_ref().token == Token::LParen
        {
            self.pass_parentheses();
        }
        self.expect_word("is")?;
        let text =
            if self.word("null") { None } else { Some(self.text("a text in single quotes, or NULL")?) };
        Ok(object(ObjectStatement::Comment { on, name, text }))
    }

    /// Passes over what stands in parentheses.
    fn pass_parentheses(&mut self) {
        let mut depth = 0usize;
        while !self.at_end() {
            let token = self.parser.next_token().token;
            depth += usize::from(token == Token::LParen);
            depth = depth.saturating_sub(usize::from(token == Token::RParen));
            if depth == 0 {
                return;
            }
        }
    }

    /// `PREPARE name [(types)] AS statement`.
    fn prepare(&mut self) -> Statement {
        self.parser.next_token();
        let name = self.identifier()?;
        let types = self.optional_list(|reader| Ok(reader.written_type()?.0))?;
        self.expect_word("as")?;
        if self.nth_word_is(0, "prepare") || self.nth_word_is(0, "execute") {
            return self.syntax("a statement that is neither PREPARE nor EXECUTE");
        }
        let statement = Box::new(self.statement()?);
        Ok(object(ObjectStatement::Prepare { name, types, statement }))
    }

    /// `EXECUTE name [(values)]`, where `name := value` gives a named parameter.
    fn execute(&mut self) -> Statement {
        self.parser.next_token();
        let first_token = self.next_index();
        let name = self.identifier()?;
        let mut call = FunctionCall {
            name: name.clone(),
            arguments: Vec::new(),
            named: Vec::new(),
            star: false,
            distinct: false,
            filter: None,
            order_by: Vec::new(),
        };
        if self.parser.consume_token(&Token::LParen) && !self.parser.consume_token(&Token::RParen) {
            let arguments = self.parser.parse_comma_separated(|parser| parser.parse_function_args());
            let arguments = arguments.map_err(|e| parse_error(&e, self.sql))?;
            self.expect(&Token::RParen)?;
            let context = self.context(first_token);
            for argument in arguments {
                context.function_argument(argument, &mut call)?;
            }
            name_arguments(&mut call);
        }
        let FunctionCall { arguments, named, .. } = call;
        Ok(object(ObjectStatement::Execute { name, arguments, named }))
    }

    fn deallocate(&mut self) -> Statement {
        self.parser.next_token();
        self.word("prepare");
        let name: Option<Ident> = if self.word("all") { None } else { Some(self.identifier()?) };
        Ok(object(ObjectStatement::Deallocate { name }))
    }

    fn set_variable(&mut self) -> Statement {
        self.words(&["set", "variable"]);
        let name = self.identifier()?;
        if !self.parser.consume_token(&Token::Eq) && !self.word("to") {
            return self.syntax("= or TO");
        }
        let value = Some(self.expression()?);
        Ok(object(ObjectStatement::SetVariable { name, value }))
    }
}

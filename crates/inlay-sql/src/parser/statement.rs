//! Statements: those whose grammar is ours are read token by token, the rest is `sqlparser`'s, converted.

use super::ast::{
    ColumnDef, Copy, CopyOption, CreateTable, CreateView, Delete, ExplainFormat, Expr, ExprKind,
    FunctionCall, Ident, Insert, Literal, ObjectKind, ObjectName, OnExisting, Pos, Query, QueryBody,
    Statement, StatementKind, TableConstraint, TableRef, Update,
};
use super::convert::{Context, pos_of, unsupported};
use super::query::{expr_start, name_arguments, plain_query, select_star};
use super::{Reader, parse_error};
use inlay_types::{Error, Result};
use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

impl Reader<'_> {
    /// Reads the statement at the parser's position.
    pub(super) fn statement(&mut self) -> Result<Statement> {
        let first = self.parser.peek_token_ref().clone();
        let first_token = self.next_index();
        let keyword = match &first.token {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
            Token::LParen => "(".to_string(),
            _ => String::new(),
        };
        let kind = match keyword.as_str() {
            "EXPLAIN" => self.explain()?,
            "DESCRIBE" | "DESC" => self.describe()?,
            "SHOW" => self.show()?,
            "SET" => self.set()?,
            "RESET" => {
                self.parser.next_token();
                StatementKind::Set { name: self.setting_name()?, value: None }
            }
            "PRAGMA" => self.pragma()?,
            "CALL" => self.call()?,
            "COPY" => self.copy()?,
            "CHECKPOINT" => {
                self.parser.next_token();
                StatementKind::Checkpoint
            }
            "BEGIN" | "START" => {
                self.parser.next_token();
                if keyword == "START" {
                    self.parser
                        .expect_keyword(Keyword::TRANSACTION)
                        .map_err(|e| parse_error(&e, self.sql))?;
                } else {
                    let _ = self.parser.parse_one_of_keywords(&[Keyword::TRANSACTION, Keyword::WORK]);
                }
                StatementKind::Begin
            }
            "COMMIT" | "END" | "ROLLBACK" | "ABORT" => {
                self.parser.next_token();
                let _ = self.parser.parse_one_of_keywords(&[Keyword::TRANSACTION, Keyword::WORK]);
                if matches!(keyword.as_str(), "COMMIT" | "END") {
                    StatementKind::Commit
                } else {
                    StatementKind::Rollback
                }
            }
            "(" | "SELECT" | "WITH" | "VALUES" | "FROM" | "TABLE" => {
                let query = self.parser.parse_query().map_err(|e| parse_error(&e, self.sql))?;
                StatementKind::Query(self.context(first_token).query(*query)?)
            }
            _ => {
                let statement = self.parser.parse_statement().map_err(|e| parse_error(&e, self.sql))?;
                self.converted(statement, first_token)?
            }
        };
        Ok(self.finish(kind, first_token))
    }

    fn finish(&self, kind: StatementKind, first_token: usize) -> Statement {
        let context = self.context(first_token);
        let mut names: Vec<String> = Vec::new();
        let mut count = 0;
        for index in first_token..self.parser.index() {
            let token = self.parser.token_at(index);
            if let Token::Placeholder(text) = &token.token {
                match context.parameter(text, token.span.start) {
                    Ok(super::ast::Parameter::Position(position)) => count = count.max(position),
                    Ok(super::ast::Parameter::Name(name)) if !names.contains(&name) => names.push(name),
                    _ => {}
                }
            }
        }
        let start = self.offset(pos_of(self.parser.token_at(first_token).span.start));
        let end = self.offset(self.end_pos());
        Statement {
            kind,
            sql: self.shared_sql.clone(),
            range: (start, end.max(start)),
            parameter_count: count,
            parameter_names: names,
        }
    }

    fn syntax<T>(&self, expected: &str) -> Result<T> {
        let token = self.parser.peek_token_ref();
        let pos = pos_of(token.span.start);
        let found =
            if token.token == Token::EOF { "the end".to_string() } else { format!("\"{}\"", token.token) };
        Err(Error::Syntax { message: format!("expected {expected}, found {found}") }
            .at(pos.line, pos.column, self.sql))
    }

    fn word(&mut self, expected: &str) -> bool {
        let matches = matches!(&self.parser.peek_token_ref().token,
            Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected));
        if matches {
            self.parser.next_token();
        }
        matches
    }

    fn identifier(&mut self) -> Result<Ident> {
        let ident = self.parser.parse_identifier().map_err(|e| parse_error(&e, self.sql))?;
        Ok(Ident { pos: pos_of(ident.span.start), value: ident.value })
    }

    fn expression(&mut self) -> Result<Expr> {
        let first_token = self.next_index();
        let expr = self.parser.parse_expr().map_err(|e| parse_error(&e, self.sql))?;
        self.context(first_token).expr(expr)
    }

    fn parsed_query(&mut self) -> Result<Box<Query>> {
        let first_token = self.next_index();
        let query = self.parser.parse_query().map_err(|e| parse_error(&e, self.sql))?;
        self.context(first_token).query(*query)
    }

    fn object_name(&mut self) -> Result<ObjectName> {
        let first_token = self.next_index();
        let name = self.parser.parse_object_name(true).map_err(|e| parse_error(&e, self.sql))?;
        self.context(first_token).object_name(&name)
    }

    /// `EXPLAIN [ANALYZE] [(FORMAT JSON, ANALYZE)] statement`.
    fn explain(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        let mut analyze = self.parser.parse_keyword(Keyword::ANALYZE);
        let mut format = ExplainFormat::Text;
        if self.starts_explain_options() {
            self.parser.next_token();
            loop {
                if self.word("analyze") {
                    analyze = true;
                } else if self.word("format") {
                    format = if self.word("json") {
                        ExplainFormat::Json
                    } else if self.word("text") {
                        ExplainFormat::Text
                    } else {
                        return self.syntax("FORMAT JSON or FORMAT TEXT");
                    };
                } else {
                    return self.syntax("ANALYZE or FORMAT");
                }
                if !self.parser.consume_token(&Token::Comma) {
                    break;
                }
            }
            if !self.parser.consume_token(&Token::RParen) {
                return self.syntax(")");
            }
        }
        let statement = Box::new(self.statement()?);
        if matches!(statement.kind, StatementKind::Explain { .. }) {
            return Err(Error::Syntax {
                message: "EXPLAIN of EXPLAIN explains nothing; write it once".into(),
            });
        }
        Ok(StatementKind::Explain { statement, analyze, format })
    }

    /// Tells `EXPLAIN (FORMAT JSON) ...` from `EXPLAIN (SELECT 1)`.
    fn starts_explain_options(&self) -> bool {
        let [first, second] = self.parser.peek_tokens_ref::<2>();
        let is_option = matches!(&second.token, Token::Word(word)
            if ["ANALYZE", "FORMAT"].iter().any(|option| word.value.eq_ignore_ascii_case(option)));
        first.token == Token::LParen && is_option
    }

    fn describe(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        let _ = self.parser.parse_keyword(Keyword::TABLE);
        let is_query = matches!(&self.parser.peek_token_ref().token,
            Token::Word(word) if matches!(word.keyword, Keyword::SELECT | Keyword::WITH | Keyword::FROM | Keyword::VALUES))
            || self.parser.peek_token_ref().token == Token::LParen;
        if is_query {
            return Ok(StatementKind::Describe(self.parsed_query()?));
        }
        if self.at_end() {
            return Ok(StatementKind::ShowTables);
        }
        let name = self.object_name()?;
        let pos = name.pos();
        let select = select_star(vec![TableRef::Table { name, alias: None }], pos);
        Ok(StatementKind::Describe(Box::new(plain_query(QueryBody::Select(Box::new(select))))))
    }

    fn at_end(&self) -> bool {
        matches!(self.parser.peek_token_ref().token, Token::EOF | Token::SemiColon)
    }

    fn show(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        if self.word("tables") {
            return Ok(StatementKind::ShowTables);
        }
        let [first, second] = self.parser.peek_tokens_ref::<2>();
        let is_word = |token: &Token, text: &str| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case(text));
        if is_word(&first.token, "all") && is_word(&second.token, "tables") {
            self.parser.next_token();
            self.parser.next_token();
            return Ok(StatementKind::ShowTables);
        }
        Ok(StatementKind::Show { name: self.setting_name()? })
    }

    fn setting_name(&mut self) -> Result<Ident> {
        let mut name = self.identifier()?;
        while self.parser.consume_token(&Token::Period) {
            name = Ident { value: format!("{}.{}", name.value, self.identifier()?.value), pos: name.pos };
        }
        Ok(name)
    }

    /// `SET [SESSION | GLOBAL | LOCAL] name = value`, `SET name TO value`.
    fn set(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        let [_, second] = self.parser.peek_tokens_ref::<2>();
        if matches!(second.token, Token::Word(_)) && !second.token.to_string().eq_ignore_ascii_case("TO") {
            let scoped = self.word("session") || self.word("global") || self.word("local");
            if !scoped {
                self.word("variable");
            }
        }
        let name = self.setting_name()?;
        if !self.parser.consume_token(&Token::Eq) && !self.word("to") {
            return self.syntax("= or TO");
        }
        let value = self.setting_value()?;
        Ok(StatementKind::Set { name, value: Some(value) })
    }

    /// A bare word counts as text, as in `SET default_order = desc`.
    fn setting_value(&mut self) -> Result<Expr> {
        let value = match &self.parser.peek_token_ref().token {
            Token::Word(word)
                if matches!(
                    word.keyword,
                    Keyword::ON
                        | Keyword::OFF
                        | Keyword::DEFAULT
                        | Keyword::ALL
                        | Keyword::DESC
                        | Keyword::ASC
                ) =>
            {
                let text = word.value.clone();
                let pos = pos_of(self.parser.next_token().span.start);
                return Ok(Expr { kind: ExprKind::Literal(Literal::String(text)), pos });
            }
            _ => self.expression()?,
        };
        Ok(match value {
            Expr { kind: ExprKind::Column(parts), pos } => {
                let text = parts.into_iter().map(|part| part.value).collect::<Vec<_>>().join(".");
                Expr { kind: ExprKind::Literal(Literal::String(text)), pos }
            }
            Expr { kind: ExprKind::Default, pos } => {
                Expr { kind: ExprKind::Literal(Literal::String("default".into())), pos }
            }
            other => other,
        })
    }

    /// `PRAGMA name`, `PRAGMA name(arguments)`, `PRAGMA name = value`.
    fn pragma(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        let name = self.setting_name()?;
        if self.parser.consume_token(&Token::Eq) {
            return Ok(StatementKind::Set { name, value: Some(self.setting_value()?) });
        }
        let mut arguments = Vec::new();
        if self.parser.consume_token(&Token::LParen) && !self.parser.consume_token(&Token::RParen) {
            loop {
                arguments.push(self.setting_value()?);
                if !self.parser.consume_token(&Token::Comma) {
                    break;
                }
            }
            if !self.parser.consume_token(&Token::RParen) {
                return self.syntax(")");
            }
        }
        Ok(StatementKind::Pragma { name, arguments })
    }

    fn call(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        let first_token = self.next_index();
        let mut name = self.object_name()?;
        let Some(name) = name.parts.pop() else { return self.syntax("a function name") };
        let mut call = FunctionCall {
            name,
            arguments: Vec::new(),
            named: Vec::new(),
            star: false,
            distinct: false,
            filter: None,
            order_by: Vec::new(),
        };
        if !self.parser.consume_token(&Token::LParen) {
            return self.syntax("(");
        }
        if !self.parser.consume_token(&Token::RParen) {
            let arguments = self.parser.parse_comma_separated(|parser| parser.parse_function_args());
            let arguments = arguments.map_err(|e| parse_error(&e, self.sql))?;
            if !self.parser.consume_token(&Token::RParen) {
                return self.syntax(")");
            }
            let context = self.context(first_token);
            for argument in arguments {
                context.function_argument(argument, &mut call)?;
            }
            name_arguments(&mut call);
        }
        Ok(StatementKind::Call(call))
    }

    /// `COPY table [(columns)] FROM 'path' [WITH] (options)`, `COPY table|(query) TO 'path' (options)`.
    fn copy(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        let mut source = None;
        let mut table = None;
        let mut columns = Vec::new();
        if self.parser.consume_token(&Token::LParen) {
            source = Some(self.parsed_query()?);
            if !self.parser.consume_token(&Token::RParen) {
                return self.syntax(")");
            }
        } else {
            table = Some(self.object_name()?);
            if self.parser.consume_token(&Token::LParen) {
                loop {
                    columns.push(self.identifier()?);
                    if !self.parser.consume_token(&Token::Comma) {
                        break;
                    }
                }
                if !self.parser.consume_token(&Token::RParen) {
                    return self.syntax(")");
                }
            }
        }
        let is_from = self.parser.parse_keyword(Keyword::FROM);
        if !is_from && !self.parser.parse_keyword(Keyword::TO) {
            return self.syntax("FROM or TO");
        }
        let path_pos = pos_of(self.parser.peek_token_ref().span.start);
        let path = match &self.parser.peek_token_ref().token {
            Token::SingleQuotedString(path) => path.clone(),
            _ => return self.syntax("a file name in single quotes"),
        };
        self.parser.next_token();
        let options = self.copy_options()?;
        match (is_from, table, source) {
            (true, Some(table), _) => {
                Ok(StatementKind::Copy(Box::new(Copy::From { table, columns, path, path_pos, options })))
            }
            (true, None, _) => Err(Error::Syntax { message: "COPY FROM fills a table, not a query".into() }),
            (false, _, Some(query)) => {
                Ok(StatementKind::Copy(Box::new(Copy::To { query, path, path_pos, options })))
            }
            (false, Some(name), None) => {
                let pos = name.pos();
                let mut select = select_star(vec![TableRef::Table { name, alias: None }], pos);
                if !columns.is_empty() {
                    let item = |column: Ident| super::ast::SelectItem::Expr {
                        expr: Expr { pos: column.pos, kind: ExprKind::Column(vec![column]) },
                        alias: None,
                    };
                    select.items = columns.into_iter().map(item).collect();
                }
                let query = Box::new(plain_query(QueryBody::Select(Box::new(select))));
                Ok(StatementKind::Copy(Box::new(Copy::To { query, path, path_pos, options })))
            }
            (false, None, None) => self.syntax("a table or a query"),
        }
    }

    fn copy_options(&mut self) -> Result<Vec<CopyOption>> {
        let mut options = Vec::new();
        let _ = self.parser.parse_keyword(Keyword::WITH);
        let wrapped = self.parser.consume_token(&Token::LParen);
        while !self.at_end() && self.parser.peek_token_ref().token != Token::RParen {
            let name = self.identifier()?;
            let _ = self.parser.consume_token(&Token::Eq);
            let next = &self.parser.peek_token_ref().token;
            let has_value = match next {
                Token::Comma | Token::RParen | Token::EOF | Token::SemiColon => false,
                // The old form without parentheses has no commas: `DELIMITER '|' HEADER`.
                Token::Word(_) => wrapped,
                _ => true,
            };
            let value = if has_value { Some(self.setting_value()?) } else { None };
            options.push(CopyOption { name, value });
            if wrapped && !self.parser.consume_token(&Token::Comma) {
                break;
            }
        }
        if wrapped && !self.parser.consume_token(&Token::RParen) {
            return self.syntax(", or )");
        }
        Ok(options)
    }

    fn converted(&self, statement: ast::Statement, first_token: usize) -> Result<StatementKind> {
        let context = self.context(first_token);
        match statement {
            ast::Statement::Query(query) => Ok(StatementKind::Query(context.query(*query)?)),
            ast::Statement::CreateTable(create) => {
                Ok(StatementKind::CreateTable(Box::new(context.create_table(create)?)))
            }
            ast::Statement::CreateView(create) => {
                let text = self.text_after_as(first_token).to_string();
                Ok(StatementKind::CreateView(Box::new(context.create_view(create, text)?)))
            }
            ast::Statement::CreateIndex(create) => context.create_index(create),
            ast::Statement::Drop { object_type, if_exists, names, .. } => {
                let kind = match object_type {
                    ast::ObjectType::Table => ObjectKind::Table,
                    ast::ObjectType::View => ObjectKind::View,
                    ast::ObjectType::Index => ObjectKind::Index,
                    other => return Err(unsupported(format!("DROP {other}"))),
                };
                let names = names.iter().map(|name| context.object_name(name)).collect::<Result<_>>()?;
                Ok(StatementKind::Drop { kind, names, if_exists })
            }
            ast::Statement::Insert(insert) => Ok(StatementKind::Insert(Box::new(context.insert(insert)?))),
            ast::Statement::Update(update) => Ok(StatementKind::Update(Box::new(context.update(update)?))),
            ast::Statement::Delete(delete) => Ok(StatementKind::Delete(Box::new(context.delete(delete)?))),
            ast::Statement::Truncate(truncate) => {
                let [target] = truncate.table_names.as_slice() else {
                    return Err(unsupported("TRUNCATE of several tables"));
                };
                let table = context.object_name(&target.name)?;
                Ok(StatementKind::Delete(Box::new(Delete {
                    table,
                    alias: None,
                    using: Vec::new(),
                    filter: None,
                })))
            }
            other => {
                let text = other.to_string();
                let head: Vec<&str> = text.split_whitespace().take(2).collect();
                let pos = pos_of(self.parser.token_at(first_token).span.start);
                Err(context.at(unsupported(format!("the statement {} ...", head.join(" "))), pos))
            }
        }
    }

    /// The statement's text behind its first AS outside parentheses.
    fn text_after_as(&self, first_token: usize) -> &str {
        let mut depth = 0usize;
        for index in first_token..self.parser.index() {
            match &self.parser.token_at(index).token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                Token::Word(word)
                    if depth == 0 && word.keyword == Keyword::AS && word.quote_style.is_none() =>
                {
                    let start = self.offset(pos_of(self.parser.token_at(index).span.end));
                    let end = self.offset(self.end_pos());
                    return self.sql.get(start..end.max(start)).unwrap_or("").trim();
                }
                _ => {}
            }
        }
        ""
    }
}

impl Context<'_, '_> {
    fn create_table(&self, create: ast::CreateTable) -> Result<CreateTable> {
        let name = self.object_name(&create.name)?;
        if create.like.is_some() || create.clone.is_some() || create.inherits.is_some() || create.external {
            return Err(
                self.at(unsupported("CREATE TABLE ... LIKE, CLONE, INHERITS or EXTERNAL"), name.pos())
            );
        }
        let mut columns = Vec::with_capacity(create.columns.len());
        let mut constraints = Vec::new();
        for column in create.columns {
            columns.push(self.column_def(column, &mut constraints)?);
        }
        for constraint in create.constraints {
            use ast::TableConstraint as C;
            constraints.push(match constraint {
                C::PrimaryKey(key) => TableConstraint::PrimaryKey(self.key_columns(key.columns)?),
                C::Unique(key) => TableConstraint::Unique(self.key_columns(key.columns)?),
                C::Check(check) => self.check(*check.expr)?,
                other => return Err(self.at(unsupported(format!("the constraint {other}")), name.pos())),
            });
        }
        Ok(CreateTable {
            on_existing: on_existing(create.or_replace, create.if_not_exists),
            temporary: create.temporary,
            columns,
            constraints,
            query: create.query.map(|query| self.query(*query)).transpose()?,
            name,
        })
    }

    fn check(&self, condition: ast::Expr) -> Result<TableConstraint> {
        let text = condition.to_string();
        Ok(TableConstraint::Check(self.expr(condition)?, text))
    }

    fn column_def(
        &self,
        column: ast::ColumnDef,
        constraints: &mut Vec<TableConstraint>,
    ) -> Result<ColumnDef> {
        let name = self.ident(column.name);
        let data_type = self.data_type(&column.data_type).map_err(|error| self.at(error, name.pos))?;
        let mut def = ColumnDef { name, data_type, not_null: false, default: None };
        for option in column.options {
            match option.option {
                ast::ColumnOption::Null => {}
                ast::ColumnOption::NotNull => def.not_null = true,
                ast::ColumnOption::Default(expr) => {
                    let text = expr.to_string();
                    def.default = Some((self.expr(expr)?, text));
                }
                ast::ColumnOption::PrimaryKey(_) => {
                    def.not_null = true;
                    constraints.push(TableConstraint::PrimaryKey(vec![def.name.clone()]));
                }
                ast::ColumnOption::Unique(_) => {
                    constraints.push(TableConstraint::Unique(vec![def.name.clone()]))
                }
                ast::ColumnOption::Check(check) => constraints.push(self.check(*check.expr)?),
                ast::ColumnOption::Comment(_) => {}
                other => return Err(self.at(unsupported(format!("the column option {other}")), def.name.pos)),
            }
        }
        Ok(def)
    }

    fn key_columns(&self, columns: Vec<ast::IndexColumn>) -> Result<Vec<Ident>> {
        let name = |column: ast::IndexColumn| match column.column.expr {
            ast::Expr::Identifier(ident) => Ok(self.ident(ident)),
            other => {
                Err(self.at(Error::bind("a key consists of columns, not expressions"), expr_start(&other)))
            }
        };
        columns.into_iter().map(name).collect()
    }

    fn create_view(&self, create: ast::CreateView, query_text: String) -> Result<CreateView> {
        let name = self.object_name(&create.name)?;
        if create.materialized {
            return Err(self.at(unsupported("CREATE MATERIALIZED VIEW"), name.pos()));
        }
        Ok(CreateView {
            on_existing: on_existing(create.or_replace, create.if_not_exists),
            temporary: create.temporary,
            columns: create.columns.into_iter().map(|column| self.ident(column.name)).collect(),
            query: self.query(*create.query)?,
            query_text,
            name,
        })
    }

    fn create_index(&self, create: ast::CreateIndex) -> Result<StatementKind> {
        Ok(StatementKind::CreateIndex {
            name: create.name.map(|name| self.object_name(&name)).transpose()?,
            table: self.object_name(&create.table_name)?,
            columns: create
                .columns
                .into_iter()
                .map(|column| self.expr(column.column.expr))
                .collect::<Result<_>>()?,
            unique: create.unique,
            if_not_exists: create.if_not_exists,
        })
    }

    fn insert(&self, insert: ast::Insert) -> Result<Insert> {
        let ast::TableObject::TableName(table) = &insert.table else {
            return Err(unsupported("INSERT into something other than a table"));
        };
        let table = self.object_name(table)?;
        let refuse = |feature: &str| Err(self.at(unsupported(feature), table.pos()));
        if insert.on.is_some()
            || insert.or.is_some()
            || insert.ignore
            || insert.replace_into
            || insert.overwrite
        {
            return refuse("INSERT ... ON CONFLICT, OR REPLACE, IGNORE or OVERWRITE");
        }
        if insert.returning.is_some() {
            return refuse("RETURNING");
        }
        if !insert.assignments.is_empty() || !insert.multi_table_into_clauses.is_empty() {
            return refuse("INSERT ... SET or into several tables");
        }
        Ok(Insert {
            columns: insert.columns.iter().map(|column| self.column_name(column)).collect::<Result<_>>()?,
            source: insert.source.map(|source| self.query(*source)).transpose()?,
            table,
        })
    }

    fn update(&self, update: ast::Update) -> Result<Update> {
        let (table, alias) = self.target(update.table, "UPDATE")?;
        let refuse = |feature: &str| Err(self.at(unsupported(feature), table.pos()));
        if update.returning.is_some() {
            return refuse("RETURNING");
        }
        if update.or.is_some() || update.limit.is_some() || !update.order_by.is_empty() {
            return refuse("UPDATE OR ... and UPDATE with ORDER BY or LIMIT");
        }
        let mut assignments = Vec::with_capacity(update.assignments.len());
        for assignment in update.assignments {
            match (assignment.target, assignment.value) {
                (ast::AssignmentTarget::ColumnName(column), value) => {
                    assignments.push((self.column_name(&column)?, self.expr(value)?));
                }
                (ast::AssignmentTarget::Tuple(columns), ast::Expr::Tuple(values))
                    if columns.len() == values.len() =>
                {
                    for (column, value) in columns.iter().zip(values) {
                        assignments.push((self.column_name(column)?, self.expr(value)?));
                    }
                }
                (ast::AssignmentTarget::Tuple(_), _) => {
                    return refuse("SET (a, b) = something other than a row of as many values");
                }
            }
        }
        let from = match update.from {
            None => Vec::new(),
            Some(ast::UpdateTableFromKind::BeforeSet(from) | ast::UpdateTableFromKind::AfterSet(from)) => {
                from
            }
        };
        Ok(Update {
            assignments,
            from: from.into_iter().map(|item| self.table_with_joins(item)).collect::<Result<_>>()?,
            filter: update.selection.map(|filter| self.expr(filter)).transpose()?,
            table,
            alias,
        })
    }

    fn delete(&self, delete: ast::Delete) -> Result<Delete> {
        let (ast::FromTable::WithFromKeyword(mut from) | ast::FromTable::WithoutKeyword(mut from)) =
            delete.from;
        let target = from.pop().filter(|_| from.is_empty() && delete.tables.is_empty());
        let Some(target) = target else { return Err(unsupported("DELETE from several tables")) };
        let (table, alias) = self.target(target, "DELETE")?;
        if delete.returning.is_some() || delete.limit.is_some() || !delete.order_by.is_empty() {
            return Err(self.at(unsupported("DELETE with RETURNING, ORDER BY or LIMIT"), table.pos()));
        }
        let using = delete.using.into_iter().flatten().map(|item| self.table_with_joins(item));
        Ok(Delete {
            using: using.collect::<Result<_>>()?,
            filter: delete.selection.map(|filter| self.expr(filter)).transpose()?,
            table,
            alias,
        })
    }

    /// The table that UPDATE or DELETE changes, with its alias.
    fn target(&self, item: ast::TableWithJoins, statement: &str) -> Result<(ObjectName, Option<Ident>)> {
        let no_joins = item.joins.is_empty();
        match self.table_with_joins(item)? {
            TableRef::Table { name, alias } if no_joins => Ok((name, alias.map(|alias| alias.name))),
            _ => {
                Err(self
                    .at(unsupported(format!("{statement} of something other than a table")), Pos::default()))
            }
        }
    }
}

fn on_existing(or_replace: bool, if_not_exists: bool) -> OnExisting {
    if or_replace {
        OnExisting::Replace
    } else if if_not_exists {
        OnExisting::Keep
    } else {
        OnExisting::Fail
    }
}

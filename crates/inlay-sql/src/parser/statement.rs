//! Statements: those whose grammar is ours are read token by token, the rest is `sqlparser`'s, converted.

use super::ast::{
    Copy, CopyOption, CopyPath, Drawing, ExplainFormat, Expr, ExprKind, FunctionCall, Ident, Literal,
    ObjectKind, ObjectName, ObjectStatement, Pos, Query, QueryBody, Statement, StatementKind, TableRef,
};
use super::convert::{pos_of, unsupported};
use super::query::{name_arguments, select_star};
use super::{Reader, parse_error};
use inlay_types::{Error, Result};
use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// Options of EXPLAIN, with those of PostgreSQL, which an error then names.
const EXPLAIN_OPTIONS: &[&str] = &[
    "ANALYSE", "ANALYZE", "BUFFERS", "COSTS", "ENGINE", "FORMAT", "SETTINGS", "SUMMARY", "TIMING", "VERBOSE",
    "WAL",
];

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
        if self.is_about_secret(&keyword) {
            let kind = self.secret(&keyword)?;
            return self.finish(kind, first_token);
        }
        if keyword == "ALTER" && self.gives_owner() {
            let kind = self.owner()?;
            return self.finish(kind, first_token);
        }
        if let Some(kind) = self.role_statement(&keyword)? {
            return self.finish(kind, first_token);
        }
        if let Some(kind) = self.elsewhere(&keyword)? {
            return self.finish(kind, first_token);
        }
        if keyword == "SELECT"
            && let Some(kind) = self.set_config()?
        {
            return self.finish(kind, first_token);
        }
        let object = self.object_statement(&keyword)?;
        if let Some(kind) = object {
            return self.finish(kind, first_token);
        }
        let kind = match keyword.as_str() {
            "EXPLAIN" => self.explain()?,
            "DESCRIBE" | "DESC" => self.describe()?,
            "SHOW" => self.show()?,
            "SUMMARIZE" => self.summarize()?,
            "SET" => self.set()?,
            "RESET" => {
                self.parser.next_token();
                let [_, second] = self.parser.peek_tokens_ref::<2>();
                if matches!(second.token, Token::Word(_)) {
                    let _ = self.word("session") || self.word("global");
                }
                if self.words(&["time", "zone"]) {
                    let name = Ident { value: "timezone".to_string(), pos: self.pos() };
                    StatementKind::Set { name, value: None }
                } else {
                    StatementKind::Set { name: self.setting_name()?, value: None }
                }
            }
            "PRAGMA" => self.pragma()?,
            "CALL" => self.call()?,
            "COPY" => self.copy()?,
            "INSERT" => self.insert()?,
            "TRUNCATE" => self.truncate()?,
            "CREATE" if self.starts_recursive_view() => self.recursive_view()?,
            "CREATE" if self.starts_create_sequence() => self.create_sequence()?,
            "ALTER" if self.second_word_is("VIEW") => self.rename_view()?,
            "ALTER" if self.alters_field() => self.alter_field()?,
            "ALTER" if self.second_word_is("SEQUENCE") => self.alter_sequence()?,
            "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "SAVEPOINT" | "RELEASE" => {
                self.transaction(&keyword)?
            }
            "CHECKPOINT" | "FORCE" => self.checkpoint()?,
            "VACUUM" => self.vacuum()?,
            "ANALYZE" | "ANALYSE" => self.analyze()?,
            "INSTALL" | "LOAD" => self.load()?,
            "ATTACH" => self.attach()?,
            "DETACH" => self.detach()?,
            "USE" => {
                self.parser.next_token();
                StatementKind::Use(self.object_name()?)
            }
            "EXPORT" => self.export()?,
            "IMPORT" => self.import()?,
            "WITH" if self.changes_in_with() => self.changing_with()?,
            "WITH" if self.with_changes() => {
                let with = self.with_clause(first_token)?;
                StatementKind::With { with: Box::new(with), statement: Box::new(self.statement()?) }
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
        self.finish(kind, first_token)
    }

    /// Whether the statement behind a WITH changes a table: its first word follows a closing parenthesis.
    fn with_changes(&self) -> bool {
        let (mut index, mut depth, mut behind) = (self.next_index(), 0usize, false);
        loop {
            match &self.parser.token_at(index).token {
                Token::EOF | Token::SemiColon => return false,
                Token::Whitespace(_) => {}
                Token::LParen => depth += 1,
                Token::RParen => {
                    depth = depth.saturating_sub(1);
                    behind = true;
                }
                Token::Word(word) if depth == 0 && behind => {
                    use Keyword as K;
                    match word.keyword {
                        K::INSERT | K::UPDATE | K::DELETE | K::MERGE => return true,
                        K::SELECT | K::FROM | K::VALUES | K::TABLE => return false,
                        _ => {}
                    }
                    behind = false;
                }
                _ => behind = false,
            }
            index += 1;
        }
    }

    /// `WITH [RECURSIVE] a AS (...), ...`
    fn with_clause(&mut self, first_token: usize) -> Result<Query> {
        self.parser.next_token();
        let recursive = self.parser.parse_keyword(Keyword::RECURSIVE);
        let ctes = self.parser.parse_comma_separated(sqlparser::parser::Parser::parse_cte);
        let ctes = ctes.map_err(|e| parse_error(&e, self.sql))?;
        let context = self.context(first_token);
        let ctes = ctes.into_iter().map(|cte| context.cte(cte)).collect::<Result<_>>()?;
        let body = QueryBody::Values { rows: Vec::new(), pos: Pos::default() };
        Ok(Query { ctes, recursive, ..Query::of(body) })
    }

    fn finish(&self, kind: StatementKind, first_token: usize) -> Result<Statement> {
        let context = self.context(first_token);
        let mut names: Vec<String> = Vec::new();
        let mut count = 0;
        let last = self.parser.token_at(self.parser.index().max(1) - 1).span.end;
        let first = self.parser.token_at(first_token).span.start;
        let in_statement = |token: &&TokenWithSpan| token.span.start >= first && token.span.end <= last;
        let aside = self.pieces.iter().flatten().filter(in_statement);
        let (mut first_number, mut last_mark) = (None, None);
        for token in (first_token..self.parser.index()).map(|index| self.parser.token_at(index)).chain(aside)
        {
            if let Token::Placeholder(text) = &token.token {
                let place = token.span.start;
                if text == "?" {
                    last_mark = last_mark.max(Some(place));
                } else if text.ends_with(|last: char| last.is_ascii_digit())
                    && text[1..].parse::<usize>().is_ok()
                {
                    first_number = Some(first_number.map_or(place, |first: Location| first.min(place)));
                }
            }
            if let Token::Placeholder(text) = &token.token
                && super::constants::number_of(text).is_none()
            {
                match context.parameter(text, token.span.start) {
                    Ok(super::ast::Parameter::Position(position)) => count = count.max(position),
                    Ok(super::ast::Parameter::Name(name)) if !names.contains(&name) => names.push(name),
                    _ => {}
                }
            }
        }
        if let (Some(number), Some(mark)) = (first_number, last_mark)
            && number < mark
        {
            let error = Error::bind("a ? behind a parameter with a number has none of its own");
            let pos = pos_of(mark);
            return Err(error.with_hint("write either ? or $1, $2").at(pos.line, pos.column, self.sql));
        }
        if matches!(&kind, StatementKind::Object(inner) if matches!(**inner, ObjectStatement::Prepare { .. }))
        {
            // They are those of the statement inside, for EXECUTE to give.
            (names, count) = (Vec::new(), 0);
        }
        let start = self.offset(pos_of(self.parser.token_at(first_token).span.start));
        let end = self.offset(self.end_pos());
        Ok(Statement {
            kind,
            sql: self.shared_sql.clone(),
            range: (start, end.max(start)),
            parameter_count: count,
            parameter_names: names,
        })
    }

    pub(super) fn syntax<T>(&self, expected: &str) -> Result<T> {
        let token = self.parser.peek_token_ref();
        let pos = pos_of(token.span.start);
        let found =
            if token.token == Token::EOF { "the end".to_string() } else { format!("\"{}\"", token.token) };
        Err(Error::Syntax { message: format!("expected {expected}, found {found}") }
            .at(pos.line, pos.column, self.sql))
    }

    pub(super) fn word(&mut self, expected: &str) -> bool {
        let matches = matches!(&self.parser.peek_token_ref().token,
            Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected));
        if matches {
            self.parser.next_token();
        }
        matches
    }

    /// Reads `expected`, a word, or fails.
    pub(super) fn expect_word(&mut self, expected: &str) -> Result<()> {
        if self.word(expected) { Ok(()) } else { self.syntax(&expected.to_uppercase()) }
    }

    /// Reads all of `words` if they are there.
    pub(super) fn words(&mut self, words: &[&str]) -> bool {
        let matches = words.iter().enumerate().all(|(index, word)| self.nth_word_is(index, word));
        if matches {
            words.iter().for_each(|_| drop(self.parser.next_token()));
        }
        matches
    }

    pub(super) fn nth_word_is(&self, index: usize, expected: &str) -> bool {
        matches!(&self.parser.peek_nth_token_ref(index).token,
            Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected))
    }

    pub(super) fn second_word_is(&self, expected: &str) -> bool {
        self.nth_word_is(1, expected)
    }

    /// Reads a token or fails.
    pub(super) fn expect(&mut self, token: &Token) -> Result<()> {
        if self.parser.consume_token(token) { Ok(()) } else { self.syntax(&token.to_string()) }
    }

    /// Where the next token stands.
    pub(super) fn pos(&self) -> Pos {
        pos_of(self.parser.peek_token_ref().span.start)
    }

    /// A text in single quotes; `expected` says what.
    pub(super) fn text(&mut self, expected: &str) -> Result<String> {
        let Token::SingleQuotedString(text) = &self.parser.peek_token_ref().token else {
            return self.syntax(expected);
        };
        let text = text.clone();
        self.parser.next_token();
        Ok(text)
    }

    pub(super) fn identifier(&mut self) -> Result<Ident> {
        let ident = self.parser.parse_identifier().map_err(|e| parse_error(&e, self.sql))?;
        Ok(Ident { pos: pos_of(ident.span.start), value: ident.value })
    }

    pub(super) fn expression(&mut self) -> Result<Expr> {
        let first_token = self.next_index();
        let expr = self.parser.parse_expr().map_err(|e| parse_error(&e, self.sql))?;
        self.context(first_token).expr(expr)
    }

    pub(super) fn parsed_query(&mut self) -> Result<Box<Query>> {
        let first_token = self.next_index();
        let query = self.parser.parse_query().map_err(|e| parse_error(&e, self.sql))?;
        self.context(first_token).query(*query)
    }

    pub(super) fn object_name(&mut self) -> Result<ObjectName> {
        let first_token = self.next_index();
        let name = self.parser.parse_object_name(true).map_err(|e| parse_error(&e, self.sql))?;
        self.context(first_token).object_name(&name)
    }

    /// `EXPLAIN [ANALYZE] [(FORMAT JSON, ANALYZE)] statement`.
    fn explain(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        let mut analyze = self.word("analyze") || self.word("analyse");
        let mut format = ExplainFormat::Text;
        if self.starts_explain_options() {
            self.parenthesised(|reader| {
                if reader.word("analyze") || reader.word("analyse") {
                    analyze = true;
                } else if reader.word("engine") {
                    if !reader.word("cluster") {
                        return reader.syntax("ENGINE CLUSTER");
                    }
                    format = ExplainFormat::Cluster;
                } else if !reader.word("format") {
                    return reader.syntax("ANALYZE, ENGINE or FORMAT, which are all options of EXPLAIN");
                } else {
                    format = reader.explain_format()?;
                }
                Ok(())
            })?;
        }
        if self.nth_word_is(0, "explain") {
            return Err(Error::Syntax { message: "EXPLAIN of EXPLAIN explains nothing".into() }
                .with_hint("write it once"));
        }
        let statement = Box::new(self.statement()?);
        Ok(StatementKind::Explain { statement, analyze, format })
    }

    /// The word behind FORMAT.
    fn explain_format(&mut self) -> Result<ExplainFormat> {
        const FORMATS: [(&str, ExplainFormat); 8] = [
            ("json", ExplainFormat::Json),
            ("text", ExplainFormat::Text),
            ("default", ExplainFormat::Text),
            ("query_tree", ExplainFormat::Text),
            ("yaml", ExplainFormat::Drawn(Drawing::Yaml)),
            ("html", ExplainFormat::Drawn(Drawing::Html)),
            ("graphviz", ExplainFormat::Drawn(Drawing::Graphviz)),
            ("mermaid", ExplainFormat::Drawn(Drawing::Mermaid)),
        ];
        match FORMATS.iter().find(|(word, _)| self.word(word)) {
            Some((_, format)) => Ok(*format),
            None => self.syntax("FORMAT TEXT, JSON, YAML, HTML, GRAPHVIZ or MERMAID"),
        }
    }

    /// Tells `EXPLAIN (FORMAT JSON) ...` from `EXPLAIN (SELECT 1)`.
    fn starts_explain_options(&self) -> bool {
        let [first, second] = self.parser.peek_tokens_ref::<2>();
        let is_option = matches!(&second.token, Token::Word(word)
            if EXPLAIN_OPTIONS.iter().any(|option| word.value.eq_ignore_ascii_case(option)));
        first.token == Token::LParen && is_option
    }

    pub(super) fn describe(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        if self.at_end() {
            return Ok(StatementKind::ShowAllTables);
        }
        // As in DuckDB: a table of this name is described by its name in quotes.
        if self.words(&["all", "tables"]) {
            return Ok(StatementKind::ShowAllTables);
        }
        if self.nth_word_is(0, "tables")
            && matches!(self.parser.peek_nth_token_ref(1).token, Token::EOF | Token::SemiColon)
        {
            self.parser.next_token();
            return Ok(StatementKind::ShowTables { of: None });
        }
        Ok(StatementKind::Describe(self.table_or_query()?))
    }

    pub(super) fn at_end(&self) -> bool {
        matches!(self.parser.peek_token_ref().token, Token::EOF | Token::SemiColon)
    }

    pub(super) fn show(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        if self.word("tables") {
            let of = if self.word("from") || self.word("in") { Some(self.object_name()?) } else { None };
            return Ok(StatementKind::ShowTables { of });
        }
        if self.word("databases") {
            return Ok(StatementKind::ShowDatabases);
        }
        if self.words(&["all", "tables"]) {
            return Ok(StatementKind::ShowAllTables);
        }
        if self.words(&["columns", "from"]) || self.words(&["columns", "in"]) {
            return Ok(StatementKind::Describe(self.table_or_query()?));
        }
        if ["select", "with", "from", "values"].iter().any(|word| self.nth_word_is(0, word)) {
            return Ok(StatementKind::Describe(self.table_or_query()?));
        }
        for what in ["schemas", "variables", "all"] {
            let pos = self.pos();
            if self.word(what) {
                return Ok(pragma_without_arguments(&format!("show_{what}"), pos));
            }
        }
        let pos = self.pos();
        if self.words(&["transaction", "isolation", "level"]) {
            return Ok(StatementKind::Show {
                name: Ident { value: "transaction_isolation".to_string(), pos },
            });
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
        if self.nth_word_is(0, "constraints") && self.parser.peek_nth_token_ref(1).token != Token::Eq {
            return self.set_constraints();
        }
        if let Some(session) = self.starts_set_transaction() {
            return Ok(StatementKind::SetTransaction { modes: self.transaction_modes()?, session });
        }
        let [_, second] = self.parser.peek_tokens_ref::<2>();
        if matches!(second.token, Token::Word(_)) && !second.token.to_string().eq_ignore_ascii_case("TO") {
            if self.nth_word_is(0, "local") {
                let pos = self.pos();
                let error = unsupported("SET LOCAL, which holds for a transaction,");
                let hint = "SET holds for the session, and RESET takes it back";
                return Err(error.with_hint(hint).at(pos.line, pos.column, self.sql));
            }
            let scoped = self.word("session") || self.word("global");
            if !scoped {
                self.word("variable");
            }
        }
        let time_zone = self.pos();
        if self.words(&["time", "zone"]) {
            let name = Ident { value: "timezone".to_string(), pos: time_zone };
            if self.word("local") {
                return Ok(StatementKind::Set { name, value: None });
            }
            return Ok(StatementKind::Set { name, value: Some(self.setting_value()?) });
        }
        let name = self.setting_name()?;
        // `SET SCHEMA 'main'`, as the standard has it.
        let is_schema = name.value.eq_ignore_ascii_case("schema")
            && matches!(self.parser.peek_token_ref().token, Token::SingleQuotedString(_));
        if !is_schema && !self.parser.consume_token(&Token::Eq) && !self.word("to") {
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
        let arguments = if self.parser.consume_token(&Token::LParen) {
            self.until_closed(Self::setting_value)?
        } else {
            Vec::new()
        };
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
        if self.words(&["from", "database"]) {
            return self.copy_database();
        }
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
            columns = self.optional_columns()?;
        }
        let is_from = self.parser.parse_keyword(Keyword::FROM);
        if !is_from && !self.parser.parse_keyword(Keyword::TO) {
            return self.syntax("FROM or TO");
        }
        let path_pos = pos_of(self.parser.peek_token_ref().span.start);
        if matches!(self.parser.peek_token_ref().token, Token::Placeholder(_) | Token::LParen) {
            let path = CopyPath::Parameter(self.setting_value()?);
            return self.copy_of((table, columns), source, (is_from, path, path_pos));
        }
        let path = match &self.parser.peek_token_ref().token {
            Token::SingleQuotedString(path) => CopyPath::Text(path.clone()),
            Token::Word(word) if word.quote_style.is_none() => {
                let stream = word.value.to_uppercase();
                if !matches!(stream.as_str(), "STDOUT" | "STDIN" | "PROGRAM") {
                    return self.syntax("a file name in single quotes");
                }
                let alternative = match stream.as_str() {
                    "STDOUT" => "COPY ... TO '/dev/stdout' writes there, and execute(query) gives the rows",
                    "STDIN" => {
                        "COPY ... FROM '/dev/stdin' reads a redirected file, and executemany takes rows"
                    }
                    _ => "run the program yourself and name its file in single quotes",
                };
                let error = Error::Unsupported {
                    feature: format!("COPY with {stream} (the library itself has no standard streams)"),
                    alternative: Some(alternative.to_string()),
                };
                return Err(error.at(path_pos.line, path_pos.column, self.sql));
            }
            _ => return self.syntax("a file name in single quotes"),
        };
        self.parser.next_token();
        self.copy_of((table, columns), source, (is_from, path, path_pos))
    }

    /// What COPY does, of which the options are still to be read.
    fn copy_of(
        &mut self,
        (table, columns): (Option<ObjectName>, Vec<Ident>),
        source: Option<Box<Query>>,
        (is_from, path, path_pos): (bool, CopyPath, Pos),
    ) -> Result<StatementKind> {
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
                let query = Box::new(Query::of(QueryBody::Select(Box::new(select))));
                Ok(StatementKind::Copy(Box::new(Copy::To { query, path, path_pos, options })))
            }
            (false, None, None) => self.syntax("a table or a query"),
        }
    }

    pub(super) fn copy_options(&mut self) -> Result<Vec<CopyOption>> {
        let mut options: Vec<CopyOption> = Vec::new();
        let _ = self.parser.parse_keyword(Keyword::WITH);
        let wrapped = self.parser.consume_token(&Token::LParen);
        while !self.at_end() && self.parser.peek_token_ref().token != Token::RParen {
            let name = self.identifier()?;
            if options.iter().any(|before| before.name.value.eq_ignore_ascii_case(&name.value)) {
                let message = format!("option {} is given twice", name.value);
                return Err(Error::Syntax { message }.at(name.pos.line, name.pos.column, self.sql));
            }
            let _ = self.parser.consume_token(&Token::Eq);
            let next = &self.parser.peek_token_ref().token;
            let has_value = match next {
                Token::Comma | Token::RParen | Token::EOF | Token::SemiColon => false,
                // The old form without parentheses has no commas: `DELIMITER '|' HEADER`.
                Token::Word(_) => wrapped,
                _ => true,
            };
            let value = match next {
                Token::LParen if has_value => Some(self.name_list()?),
                Token::Mul => {
                    let pos = self.pos();
                    self.parser.next_token();
                    Some(Expr { pos, kind: ExprKind::Literal(super::ast::Literal::String("*".into())) })
                }
                _ if has_value => Some(self.setting_value()?),
                _ => None,
            };
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

    /// `(a, "b", 'c')` as the text of a list.
    fn name_list(&mut self) -> Result<Expr> {
        let pos = self.pos();
        self.expect(&Token::LParen)?;
        let mut names = Vec::new();
        loop {
            let name = self.identifier()?.value;
            names.push(format!("\"{}\"", name));
            if !self.parser.consume_token(&Token::Comma) {
                break;
            }
        }
        self.expect(&Token::RParen)?;
        let text = format!("[{}]", names.join(", "));
        Ok(Expr { pos, kind: ExprKind::Literal(super::ast::Literal::String(text)) })
    }

    fn converted(&self, statement: ast::Statement, first_token: usize) -> Result<StatementKind> {
        let context = self.context(first_token);
        match statement {
            ast::Statement::Query(query) => Ok(StatementKind::Query(context.query(*query)?)),
            ast::Statement::CreateTable(create) => {
                Ok(StatementKind::CreateTable(Box::new(context.create_table(create)?)))
            }
            ast::Statement::CreateView(create) => {
                let text = self.text_after_as(first_token)?;
                Ok(StatementKind::CreateView(Box::new(context.create_view(create, text)?)))
            }
            ast::Statement::CreateIndex(create) => context.create_index(create),
            ast::Statement::Drop { object_type, if_exists, names, cascade, .. } => {
                let kind = match object_type {
                    ast::ObjectType::Table => ObjectKind::Table,
                    ast::ObjectType::View => ObjectKind::View,
                    ast::ObjectType::Index => ObjectKind::Index,
                    ast::ObjectType::Sequence => ObjectKind::Sequence,
                    other => {
                        let pos = pos_of(self.parser.token_at(first_token).span.start);
                        return Err(context.at(unsupported(format!("DROP {other}")), pos));
                    }
                };
                let names = names.iter().map(|name| context.object_name(name)).collect::<Result<_>>()?;
                Ok(StatementKind::Drop { kind, names, if_exists, cascade })
            }
            ast::Statement::AlterTable(alter) => context.alter_table(alter),
            ast::Statement::Update(update) => Ok(StatementKind::Update(Box::new(context.update(update)?))),
            ast::Statement::Delete(delete) => Ok(StatementKind::Delete(Box::new(context.delete(delete)?))),
            ast::Statement::Merge(merge) => Ok(StatementKind::Merge(Box::new(context.merge(merge)?))),
            other => {
                let text = other.to_string();
                let head: Vec<&str> = text.split_whitespace().take(2).collect();
                let pos = pos_of(self.parser.token_at(first_token).span.start);
                Err(context.at(unsupported(format!("the statement {} ...", head.join(" "))), pos))
            }
        }
    }

    /// The statement's text behind its first AS outside parentheses.
    fn text_after_as(&self, first_token: usize) -> Result<String> {
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
                    return Ok(self.written(start, end)?.trim().to_string());
                }
                _ => {}
            }
        }
        Err(Error::internal("no AS before the query of a view"))
    }
}

fn pragma_without_arguments(name: &str, pos: Pos) -> StatementKind {
    StatementKind::Pragma { name: Ident { value: name.to_string(), pos }, arguments: Vec::new() }
}

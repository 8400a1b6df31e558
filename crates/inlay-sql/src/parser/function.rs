//! `CREATE FUNCTION f(a INTEGER, *) RETURNS DOUBLE LANGUAGE PYTHON ...`: functions in the text of another language, and
//! `CREATE AGGREGATE` of the same shape.
//!
//! The catalog keeps what stands behind the name, for each overload as [`function_text`] writes it, separated by commas;
//! [`parse_functions`] reads it again.

use super::ast::object::{CreateFunction, ObjectStatement};
use super::ast::{ObjectName, OnExisting, StatementKind};
use super::{LARGE_STACK_BYTES, Reader, constants, reader_of};
use inlay_kernels::external::{FunctionDefinition, FunctionKind, Granularity, Parameter};
use inlay_kernels::{NullHandling, Volatility};
use inlay_types::{Error, LogicalType, Result};
use sqlparser::tokenizer::Token;
use std::fmt::Write;

/// Reads the overloads of a stored function.
pub fn parse_functions(name: &str, text: &str) -> Result<Vec<FunctionDefinition>> {
    stacker::maybe_grow(1 << 20, LARGE_STACK_BYTES, || {
        let mut reader = reader_of(text, constants::tokens_of(text)?)?;
        let mut overloads = Vec::new();
        loop {
            let kind = reader.stored_kind();
            let (definition, _) = reader.function_definition(name, kind)?;
            overloads.push(definition);
            if !reader.parser.consume_token(&Token::Comma) {
                break;
            }
        }
        if reader.at_end() { Ok(overloads) } else { reader.syntax("the end of the function") }
    })
}

/// The statement that creates a function of this name, which is written as it is.
pub fn create_function_text(name: &str, definition: &FunctionDefinition) -> String {
    let kind = match definition.kind {
        FunctionKind::Scalar | FunctionKind::Table => "FUNCTION",
        FunctionKind::Aggregate => "AGGREGATE",
    };
    format!("CREATE {kind} {name}{}", declaration_text(definition))
}

/// What the catalog keeps of a function: its kind, if it is no scalar function, and what stands behind the name.
pub fn function_text(definition: &FunctionDefinition) -> String {
    let kind = match definition.kind {
        FunctionKind::Scalar | FunctionKind::Table => "",
        FunctionKind::Aggregate => "AGGREGATE ",
    };
    format!("{kind}{}", declaration_text(definition))
}

fn declaration_text(definition: &FunctionDefinition) -> String {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let parameter = |parameter: &Parameter| format!("{} {}", quoted(&parameter.name), parameter.shown_type());
    let mut parameters: Vec<String> = definition.parameters.iter().map(parameter).collect();
    if definition.is_variadic {
        parameters.push("*".to_string());
    }
    let returns = match definition.kind {
        FunctionKind::Table => definition.table_text(),
        FunctionKind::Scalar | FunctionKind::Aggregate => definition.returns.to_string(),
    };
    let mut text = format!("({}) RETURNS {returns}", parameters.join(", "));
    let suffix = match (definition.kind, definition.granularity) {
        (FunctionKind::Scalar | FunctionKind::Table, Granularity::Chunk) => "_MAP",
        (FunctionKind::Scalar | FunctionKind::Table, Granularity::Column) | (FunctionKind::Aggregate, _) => {
            ""
        }
    };
    let volatility = match definition.volatility {
        Volatility::Immutable => "IMMUTABLE",
        Volatility::Stable => "STABLE",
        Volatility::Volatile => "VOLATILE",
    };
    let _ = write!(text, " LANGUAGE {}{suffix} {volatility}", definition.language.to_uppercase());
    if definition.null_handling == NullHandling::Propagate {
        text.push_str(" STRICT");
    }
    if !definition.options.is_empty() {
        let option = |(name, value): &(String, String)| format!("{name} = '{}'", value.replace('\'', "''"));
        let options: Vec<String> = definition.options.iter().map(option).collect();
        let _ = write!(text, " WITH ({})", options.join(", "));
    }
    let body = &definition.body;
    let is_plain = !body.contains("$$") && !body.ends_with('$');
    let mut tags = (0..).map(|number| format!("body{number}"));
    let mut named = || tags.find(|tag| !body.contains(&format!("${tag}$"))).unwrap_or_default();
    let tag = if is_plain { String::new() } else { named() };
    let _ = write!(text, " AS ${tag}${body}${tag}$");
    text
}

/// What was read of the clauses so far.
#[derive(Default)]
struct Clauses {
    language: Option<String>,
    volatility: Option<Volatility>,
    null_handling: Option<NullHandling>,
    options: Vec<(String, String)>,
}

enum Body {
    Text(String),
    File(String),
}

impl Reader<'_> {
    /// Whether RETURNS follows the list in parentheses here: then it is no macro.
    pub(super) fn defines_function(&self) -> bool {
        let mut depth = 0usize;
        let mut index = self.next_index();
        loop {
            match &self.parser.token_at(index).token {
                Token::Whitespace(_) => {}
                Token::LParen => depth += 1,
                Token::RParen if depth > 1 => depth -= 1,
                Token::RParen => break,
                Token::EOF | Token::SemiColon => return false,
                _ if depth == 0 => return false,
                _ => {}
            }
            index += 1;
        }
        let mut behind = index + 1;
        while matches!(self.parser.token_at(behind).token, Token::Whitespace(_)) {
            behind += 1;
        }
        matches!(&self.parser.token_at(behind).token,
            Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("returns"))
    }

    pub(super) fn create_function(
        &mut self,
        name: ObjectName,
        temporary: bool,
        on_existing: OnExisting,
        kind: FunctionKind,
    ) -> Result<StatementKind> {
        let (definition, file) = self.function_definition(name.last(), kind)?;
        let function = CreateFunction { name, temporary, on_existing, definition, file };
        Ok(StatementKind::Object(Box::new(ObjectStatement::CreateFunction(Box::new(function)))))
    }

    /// The kind of a function, where the catalog has it.
    fn stored_kind(&mut self) -> FunctionKind {
        if self.word("aggregate") { FunctionKind::Aggregate } else { FunctionKind::Scalar }
    }

    /// What stands behind the name, and the file that has the body if it is in one.
    fn function_definition(
        &mut self,
        name: &str,
        kind: FunctionKind,
    ) -> Result<(FunctionDefinition, Option<String>)> {
        let (parameters, is_variadic) = self.function_parameters()?;
        self.expect_word("returns")?;
        let (kind, returns) = match kind {
            FunctionKind::Scalar if self.word("table") => (FunctionKind::Table, self.rows_type()?),
            kind => (kind, self.written_type()?.0),
        };
        if kind != FunctionKind::Table && parameters.iter().any(|parameter| parameter.is_table) {
            return self.refuse("a parameter that is a TABLE", "RETURNS TABLE (x INTEGER) gives rows");
        }
        if kind == FunctionKind::Table && is_variadic {
            return self.refuse("* in a function that RETURNS TABLE", "parameters with names");
        }
        let mut clauses = Clauses::default();
        self.function_clauses(&mut clauses)?;
        let body = self.function_body(clauses.language.is_some())?;
        if !matches!(body, Some((_, false))) {
            self.function_clauses(&mut clauses)?;
        }
        let Some((body, _)) = body else {
            return self.syntax("the body of the function: { ... } or AS $$ ... $$");
        };
        let Some(language) = clauses.language else { return self.syntax("LANGUAGE PYTHON or PYTHON_MAP") };
        let (language, granularity) = match language.strip_suffix("_map") {
            Some(own) => (own.to_string(), Granularity::Chunk),
            None => (language, Granularity::Column),
        };
        if kind == FunctionKind::Aggregate && granularity == Granularity::Chunk {
            return self.refuse(
                "aggregates that are LANGUAGE PYTHON_MAP",
                "LANGUAGE PYTHON; a class with merge(self, other) is given parts",
            );
        }
        let (body, file) = match body {
            Body::Text(body) => (body, None),
            Body::File(path) => (String::new(), Some(path)),
        };
        let definition = FunctionDefinition {
            name: name.to_string(),
            kind,
            language,
            parameters,
            is_variadic,
            returns,
            granularity,
            volatility: clauses.volatility.unwrap_or(Volatility::Stable),
            null_handling: clauses.null_handling.unwrap_or(NullHandling::Special),
            options: clauses.options,
            body,
        };
        Ok((definition, file))
    }

    fn refuse<T>(&self, feature: &str, alternative: &str) -> Result<T> {
        let pos = self.pos();
        let error = Error::Unsupported { feature: feature.into(), alternative: Some(alternative.into()) };
        Err(error.at(pos.line, pos.column, self.sql))
    }

    /// `(a INTEGER, b DOUBLE)`, where `*` at the end takes any others.
    fn function_parameters(&mut self) -> Result<(Vec<Parameter>, bool)> {
        self.expect(&Token::LParen)?;
        let mut is_variadic = false;
        let parameters = self.until_closed(|reader| {
            if is_variadic {
                return reader.syntax(") behind *, which takes all arguments that are left");
            }
            if reader.parser.consume_token(&Token::Mul) {
                is_variadic = true;
                return Ok(None);
            }
            let name = reader.identifier()?.value;
            if reader.word("table") {
                return Ok(Some(Parameter::table(name)));
            }
            Ok(Some(Parameter::new(name, reader.written_type()?.0)))
        })?;
        let parameters: Vec<Parameter> = parameters.into_iter().flatten().collect();
        let is_repeated = |index: usize, name: &str| {
            parameters[..index].iter().any(|before| before.name.eq_ignore_ascii_case(name))
        };
        if let Some((_, twice)) =
            parameters.iter().enumerate().find(|(index, p)| is_repeated(*index, &p.name))
        {
            let message = format!("the function has two parameters called \"{}\"", twice.name);
            return Err(Error::Syntax { message }.at(self.pos().line, self.pos().column, self.sql));
        }
        Ok((parameters, is_variadic))
    }

    /// `(x INTEGER, y VARCHAR)` behind RETURNS TABLE: a list of structs; nothing if the function says by itself.
    fn rows_type(&mut self) -> Result<LogicalType> {
        if self.parser.peek_token_ref().token != Token::LParen {
            return Ok(LogicalType::list(LogicalType::structure(Vec::<(String, LogicalType)>::new())));
        }
        self.expect(&Token::LParen)?;
        let columns: Vec<(String, LogicalType)> =
            self.until_closed(|reader| Ok((reader.identifier()?.value, reader.written_type()?.0)))?;
        let is_repeated = |index: usize| {
            columns[..index].iter().any(|(name, _)| name.eq_ignore_ascii_case(&columns[index].0))
        };
        if columns.is_empty() || (0..columns.len()).any(is_repeated) {
            return self.syntax("columns with different names behind RETURNS TABLE");
        }
        Ok(LogicalType::list(LogicalType::structure(columns)))
    }

    /// LANGUAGE, volatility, what becomes of NULL, options: in any order.
    fn function_clauses(&mut self, clauses: &mut Clauses) -> Result<()> {
        loop {
            if self.word("language") {
                clauses.language = Some(self.identifier()?.value.to_lowercase());
            } else if self.word("immutable") {
                clauses.volatility = Some(Volatility::Immutable);
            } else if self.word("stable") {
                clauses.volatility = Some(Volatility::Stable);
            } else if self.word("volatile") {
                clauses.volatility = Some(Volatility::Volatile);
            } else if self.word("strict") || self.words(&["returns", "null", "on", "null", "input"]) {
                clauses.null_handling = Some(NullHandling::Propagate);
            } else if self.words(&["called", "on", "null", "input"]) {
                clauses.null_handling = Some(NullHandling::Special);
            } else if self.word("with") {
                self.expect(&Token::LParen)?;
                clauses.options = self.until_closed(Self::function_option)?;
            } else {
                return Ok(());
            }
        }
    }

    /// `name = value`.
    fn function_option(&mut self) -> Result<(String, String)> {
        let name = self.identifier()?.value.to_lowercase();
        self.expect(&Token::Eq)?;
        let value = match &self.parser.peek_token_ref().token {
            Token::SingleQuotedString(text) => text.clone(),
            Token::Number(digits, _) => digits.clone(),
            Token::Word(word) => word.value.to_lowercase(),
            _ => return self.syntax("the value of the option: a text, a number or a word"),
        };
        self.parser.next_token();
        Ok((name, value))
    }

    /// `{ ... }`, `AS $$ ... $$`, `AS 'file'` or `'file'`, and whether more clauses may follow.
    fn function_body(&mut self, knows_language: bool) -> Result<Option<(Body, bool)>> {
        if self.word("as") {
            let body = match &self.parser.peek_token_ref().token {
                Token::DollarQuotedString(text) => Body::Text(text.value.clone()),
                Token::SingleQuotedString(path) => Body::File(path.clone()),
                _ => {
                    return self.syntax("the body between $$ and $$, or the path of a file in single quotes");
                }
            };
            self.parser.next_token();
            return Ok(Some((body, true)));
        }
        let Token::SingleQuotedString(path) = &self.parser.peek_token_ref().token else { return Ok(None) };
        if !knows_language {
            return Ok(None);
        }
        let path = path.clone();
        let start = self.offset(self.pos());
        self.parser.next_token();
        let end = self.offset(self.end_pos());
        let text = self.written(start, end)?;
        match text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
            Some(body) => Ok(Some((Body::Text(body.to_string()), false))),
            None => Ok(Some((Body::File(path), true))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_statement;
    use super::*;

    fn defined(sql: &str) -> FunctionDefinition {
        match parse_statement(sql).unwrap().kind {
            StatementKind::Object(object) => match *object {
                ObjectStatement::CreateFunction(function) => function.definition,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_definition_is_read_as_it_is_written() {
        let sql = "CREATE FUNCTION f(a INTEGER, \"b c\" DECIMAL(9,2)[], *) RETURNS DOUBLE LANGUAGE PYTHON_MAP \
                   IMMUTABLE STRICT WITH (arguments = 'arrow', chunk = 10) {\n    return {'x': \"it's\"}\n}";
        let definition = defined(sql);
        assert_eq!(definition.signature(), "f(INTEGER, DECIMAL(9,2)[], *) -> DOUBLE");
        assert_eq!(definition.body, "\n    return {'x': \"it's\"}\n");
        assert_eq!(definition.granularity, Granularity::Chunk);
        assert_eq!(definition.options[1], ("chunk".to_string(), "10".to_string()));
        let text = function_text(&definition);
        assert_eq!(parse_functions("f", &text).unwrap(), std::slice::from_ref(&definition));
        let odd = FunctionDefinition { body: "return '$$' + '$body0$' # $".into(), ..definition };
        let both = format!("{text}, {}", function_text(&odd));
        assert_eq!(parse_functions("f", &both).unwrap()[1], odd);
    }

    #[test]
    fn a_table_function_is_kept_with_its_columns() {
        let sql = "CREATE FUNCTION f(t TABLE, n INT) RETURNS TABLE (x INT, \"y z\" VARCHAR[]) LANGUAGE PYTHON { return t }";
        let definition = defined(sql);
        assert_eq!(definition.signature(), "f(TABLE, INTEGER) -> TABLE (\"x\" INTEGER, \"y z\" VARCHAR[])");
        let text = function_text(&definition);
        assert_eq!(parse_functions("f", &text).unwrap(), std::slice::from_ref(&definition));
    }

    #[test]
    fn an_aggregate_is_kept_with_its_kind() {
        let definition =
            defined("CREATE AGGREGATE FUNCTION f(a INT) RETURNS INT LANGUAGE PYTHON { return 1 }");
        assert_eq!((definition.kind, definition.name.as_str()), (FunctionKind::Aggregate, "f"));
        let text = function_text(&definition);
        assert_eq!(parse_functions("f", &text).unwrap(), std::slice::from_ref(&definition));
        assert_eq!(defined(&create_function_text("f", &definition)), definition);
    }

    #[test]
    fn clauses_stand_on_both_sides_of_a_body_in_quotes() {
        let definition =
            defined("CREATE FUNCTION f() RETURNS INT VOLATILE AS $$ return 1 $$ LANGUAGE PYTHON");
        assert_eq!((definition.language.as_str(), definition.volatility), ("python", Volatility::Volatile));
        assert_eq!(definition.granularity, Granularity::Column);
    }

    #[test]
    fn a_file_stands_behind_the_language() {
        for sql in [
            "LANGUAGE PYTHON 'a {b}.py'",
            "LANGUAGE PYTHON AS 'a {b}.py'",
            "LANGUAGE PYTHON 'a {b}.py' IMMUTABLE",
        ] {
            let statement = parse_statement(&format!("CREATE FUNCTION f() RETURNS INT {sql}")).unwrap();
            let StatementKind::Object(object) = statement.kind else { panic!("{sql}") };
            let ObjectStatement::CreateFunction(function) = *object else { panic!("{sql}") };
            assert_eq!(
                (function.file.as_deref(), function.definition.body.as_str()),
                (Some("a {b}.py"), ""),
                "{sql}"
            );
        }
    }

    #[test]
    fn statements_behind_a_body_have_their_places() {
        let sql = "CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON {\n  return 'é}'\n}; SELECT 1 +* 2";
        let error = super::super::parse_statements(sql).unwrap_err();
        assert!(error.to_string().contains("line 3"), "{error}");
        for wrong in [
            "CREATE FUNCTION f() RETURNS TABLE () LANGUAGE PYTHON {}",
            "CREATE FUNCTION f(t TABLE) RETURNS INT LANGUAGE PYTHON {}",
            "CREATE FUNCTION f() RETURNS INT {}",
        ] {
            assert!(parse_statement(wrong).is_err());
        }
    }
}

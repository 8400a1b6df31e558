//! INSERT, UPDATE, DELETE, MERGE and TRUNCATE.

use super::ast::{
    ChangingCte, ChangingWith, ConflictAction, ConflictTarget, Delete, Expr, ExprKind, Ident, Insert, Merge,
    MergeAction, MergeClause, MergeKind, ObjectName, OnConflict, Overriding, Pos, SelectItem, StatementKind,
    TableRef, Update,
};
use super::convert::{Context, pos_of, unsupported};
use super::merge::{Mark, failing, mark, mark_of};
use super::{Reader, parse_error};
use inlay_types::{Error, Result};
use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;
use std::sync::Arc;

/// The table whose columns are named.
#[derive(Clone, Copy)]
struct Owner<'a> {
    table: &'a ObjectName,
    alias: Option<&'a Ident>,
}

impl Owner<'_> {
    /// The column that a name means, which may be qualified by the table, or by its alias.
    fn column(self, mut parts: Vec<Ident>) -> Result<Ident> {
        let Some(column) = parts.pop() else { return last_of(parts) };
        let own: &[Ident] = self.alias.map_or(&self.table.parts, std::slice::from_ref);
        let is_own = parts.len() <= own.len()
            && parts.iter().rev().zip(own.iter().rev()).all(|(part, own)| same_name(&part.value, &own.value));
        if is_own {
            return Ok(column);
        }
        let written: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
        let (written, own) =
            (written.join("."), self.alias.map_or_else(|| self.table.to_string(), |a| a.value.clone()));
        Err(Error::bind(format!(
            "only columns of \"{own}\" are changed here: \"{written}\" is another name; a field of a struct is changed by \
             SET s = struct_update(s, field := value)"
        )))
    }
}

fn same_name(left: &str, right: &str) -> bool {
    left.to_lowercase() == right.to_lowercase()
}

/// The only part of a name that nothing qualifies.
fn last_of(mut parts: Vec<Ident>) -> Result<Ident> {
    parts.pop().ok_or_else(|| Error::Syntax { message: "a column name is missing".into() })
}

impl Reader<'_> {
    /// `INSERT [OR REPLACE | OR IGNORE] INTO table [AS alias] [BY NAME] [(columns)] source [ON CONFLICT ...] [RETURNING ...]`.
    pub(super) fn insert(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        let mut on_conflict = self.insert_or()?;
        self.expect_word("into")?;
        let table = self.object_name()?;
        let alias = if self.word("as") { Some(self.identifier()?) } else { None };
        let by_name = self.words(&["by", "name"]);
        if !by_name {
            self.words(&["by", "position"]);
        }
        let owner = Owner { table: &table, alias: alias.as_ref() };
        let columns = if self.starts_column_list() { self.column_list(Some(owner))? } else { Vec::new() };
        let overriding = match (self.words(&["overriding", "system", "value"]), self.word("overriding")) {
            (true, _) => Some(Overriding::System),
            (false, true) => {
                self.expect_word("user")?;
                self.expect_word("value")?;
                Some(Overriding::User)
            }
            (false, false) => None,
        };
        let is_default = self.nth_word_is(0, "default") && self.nth_word_is(1, "values");
        if is_default && (by_name || !columns.is_empty()) {
            return self.syntax(
                "VALUES or a query: DEFAULT VALUES gives a value to every column, and goes without a list",
            );
        }
        let source = if self.words(&["default", "values"]) { None } else { Some(self.parsed_query()?) };
        let pos = self.pos();
        if self.words(&["on", "conflict"]) {
            if on_conflict.is_some() {
                return self.syntax("no ON CONFLICT behind INSERT OR REPLACE or OR IGNORE");
            }
            on_conflict = Some(self.on_conflict(Owner { table: &table, alias: alias.as_ref() }, pos)?);
        }
        let returning = self.returning()?;
        Ok(StatementKind::Insert(Box::new(Insert {
            table,
            alias,
            columns,
            by_name,
            overriding,
            source,
            on_conflict,
            returning,
        })))
    }

    /// Whether a part of the WITH that comes next changes data.
    pub(super) fn changes_in_with(&self) -> bool {
        let (mut index, mut depth, mut opened) = (self.next_index(), 0usize, false);
        loop {
            match &self.parser.token_at(index).token {
                Token::EOF | Token::SemiColon => return false,
                Token::Whitespace(_) => {}
                Token::LParen => {
                    depth += 1;
                    opened = depth == 1;
                }
                Token::RParen => {
                    depth = depth.saturating_sub(1);
                    opened = false;
                }
                Token::Word(word) => {
                    use Keyword as K;
                    if opened && matches!(word.keyword, K::INSERT | K::UPDATE | K::DELETE | K::MERGE) {
                        // Not a column of that name, as in `a (update, b) AS`.
                        let next = self.parser.token_at(self.significant_behind(index)).token.clone();
                        return !matches!(next, Token::Comma | Token::RParen);
                    }
                    if depth == 0 && matches!(word.keyword, K::SELECT | K::VALUES | K::FROM | K::TABLE) {
                        return false;
                    }
                    opened = false;
                }
                _ => opened = false,
            }
            index += 1;
        }
    }

    fn significant_behind(&self, mut index: usize) -> usize {
        index += 1;
        while matches!(self.parser.token_at(index).token, Token::Whitespace(_)) {
            index += 1;
        }
        index
    }

    /// `WITH [RECURSIVE] a [(columns)] AS (statement), ... statement`.
    pub(super) fn changing_with(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        let recursive = self.word("recursive");
        let mut ctes = Vec::new();
        loop {
            let name = self.identifier()?;
            let columns = if self.starts_column_list() { self.column_list(None)? } else { Vec::new() };
            self.expect_word("as")?;
            self.word("not");
            self.word("materialized");
            self.expect(&Token::LParen)?;
            let statement = self.statement()?;
            self.expect(&Token::RParen)?;
            ctes.push(ChangingCte { name, columns, statement });
            if !self.parser.consume_token(&Token::Comma) {
                break;
            }
        }
        let statement = self.statement()?;
        Ok(StatementKind::ChangingWith(Box::new(ChangingWith { recursive, ctes, statement })))
    }

    fn insert_or(&mut self) -> Result<Option<OnConflict>> {
        let pos = self.pos();
        if !self.word("or") {
            return Ok(None);
        }
        let action = if self.word("replace") {
            ConflictAction::Replace
        } else if self.word("ignore") {
            ConflictAction::Nothing
        } else {
            return self.syntax("REPLACE or IGNORE");
        };
        Ok(Some(OnConflict { pos, target: ConflictTarget::Any, action }))
    }

    /// Tells `(a, b) VALUES` from a query in parentheses.
    fn starts_column_list(&self) -> bool {
        let is_name = self.parser.peek_nth_token_ref(2).token != Token::LParen;
        let query = ["select", "with", "from", "table"].iter().any(|word| self.nth_word_is(1, word))
            || (self.nth_word_is(1, "values") && !is_name);
        self.parser.peek_token_ref().token == Token::LParen
            && !query
            && self.parser.peek_nth_token_ref(1).token != Token::LParen
    }

    /// Names of columns; of a table's they may be qualified by it.
    fn column_list(&mut self, owner: Option<Owner<'_>>) -> Result<Vec<Ident>> {
        self.expect(&Token::LParen)?;
        self.until_closed(|reader| {
            let mut parts = vec![reader.identifier()?];
            while owner.is_some() && reader.parser.consume_token(&Token::Period) {
                parts.push(reader.identifier()?);
            }
            let pos = parts.first().map_or(Pos::default(), |part| part.pos);
            let owned = owner.map_or_else(|| last_of(parts.clone()), |owner| owner.column(parts.clone()));
            owned.map_err(|error| error.at(pos.line, pos.column, reader.sql))
        })
    }

    /// `(a, lower(b)) [WHERE filter]`.
    fn conflict_target(&mut self, owner: Owner<'_>) -> Result<ConflictTarget> {
        self.expect(&Token::LParen)?;
        let keys = self.until_closed(Self::expression)?;
        let filter = if self.word("where") { Some(self.expression()?) } else { None };
        let column = |key: &Expr| match &key.kind {
            ExprKind::Column(parts) => {
                let column = owner.column(parts.clone());
                Some(column.map_err(|error| error.at(key.pos.line, key.pos.column, self.sql)))
            }
            _ => None,
        };
        Ok(match keys.iter().map(column).collect::<Option<Result<Vec<Ident>>>>() {
            Some(columns) if filter.is_none() => ConflictTarget::Columns(columns?),
            _ => ConflictTarget::Index { keys, filter },
        })
    }

    fn on_conflict(&mut self, owner: Owner<'_>, pos: Pos) -> Result<OnConflict> {
        let target = if self.parser.peek_token_ref().token == Token::LParen {
            self.conflict_target(owner)?
        } else if self.words(&["on", "constraint"]) {
            ConflictTarget::Constraint(self.identifier()?)
        } else {
            ConflictTarget::Any
        };
        self.expect_word("do")?;
        if self.word("nothing") {
            return Ok(OnConflict { pos, target, action: ConflictAction::Nothing });
        }
        if !self.words(&["update", "set"]) {
            return self.syntax("NOTHING or UPDATE SET");
        }
        let first_token = self.next_index();
        let assignments = self.parser.parse_comma_separated(Parser::parse_assignment);
        let assignments = assignments.map_err(|error| parse_error(&error, self.sql))?;
        let assignments = self.context(first_token).assignments(assignments, owner)?;
        let filter = if self.word("where") { Some(self.expression()?) } else { None };
        Ok(OnConflict { pos, target, action: ConflictAction::Update { assignments, filter } })
    }

    fn returning(&mut self) -> Result<Option<Vec<SelectItem>>> {
        if !self.word("returning") {
            return Ok(None);
        }
        let first_token = self.next_index();
        let items = self.parser.parse_comma_separated(Parser::parse_select_item);
        let items = items.map_err(|error| parse_error(&error, self.sql))?;
        self.context(first_token).returning(Some(items))
    }

    /// `TRUNCATE [TABLE] names [RESTART IDENTITY | CONTINUE IDENTITY] [CASCADE | RESTRICT]`.
    pub(super) fn truncate(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        self.word("table");
        let tables = self.comma_separated(Self::object_name)?;
        let restart_identity = self.words(&["restart", "identity"]);
        if !restart_identity {
            self.words(&["continue", "identity"]);
        }
        let cascade = self.word("cascade");
        if !cascade {
            self.word("restrict");
        }
        Ok(StatementKind::Truncate { tables, restart_identity, cascade })
    }
}

impl Context<'_, '_> {
    fn returning(&self, items: Option<Vec<ast::SelectItem>>) -> Result<Option<Vec<SelectItem>>> {
        let convert =
            |items: Vec<ast::SelectItem>| items.into_iter().map(|item| self.select_item(item)).collect();
        items.map(convert).transpose()
    }

    /// The column of a table that is changed.
    fn column_of(&self, owner: Owner<'_>, name: &ast::ObjectName) -> Result<Ident> {
        let name = self.object_name(name)?;
        let pos = name.pos();
        owner.column(name.parts).map_err(|error| self.at(error, pos))
    }

    fn assignments(&self, written: Vec<ast::Assignment>, owner: Owner<'_>) -> Result<Vec<(Ident, Expr)>> {
        let mut assignments = Vec::with_capacity(written.len());
        for assignment in written {
            match (assignment.target, assignment.value) {
                (ast::AssignmentTarget::ColumnName(column), value) => {
                    assignments.push((self.column_of(owner, &column)?, self.expr(value)?));
                }
                (ast::AssignmentTarget::Tuple(columns), ast::Expr::Tuple(values))
                    if columns.len() == values.len() =>
                {
                    for (column, value) in columns.iter().zip(values) {
                        assignments.push((self.column_of(owner, column)?, self.expr(value)?));
                    }
                }
                (ast::AssignmentTarget::Tuple(columns), value) => {
                    let columns = columns.iter().map(|column| self.column_of(owner, column));
                    let columns = columns.collect::<Result<Vec<_>>>()?;
                    let pos = columns.first().map_or(Pos::default(), |column| column.pos);
                    let value = self.expr(value)?;
                    let values =
                        self.values_of_row(value, columns.len()).map_err(|error| self.at(error, pos))?;
                    assignments.extend(columns.into_iter().zip(values));
                }
            }
        }
        Ok(assignments)
    }

    /// The values that columns in parentheses are set to: those of `ROW(...)`, or of the one row of a query, which each of them
    /// takes its column of.
    fn values_of_row(&self, value: Expr, count: usize) -> Result<Vec<Expr>> {
        let expected = || {
            let message =
                format!("{count} columns in parentheses are set to a row of as many values, or to a query");
            Error::bind(message).with_hint("SET (a, b) = (1, 2), or SET (a, b) = (SELECT x, y FROM ...)")
        };
        match value.kind {
            ExprKind::Row(values) if values.len() == count => Ok(values),
            ExprKind::Function(call) if call.name.value.eq_ignore_ascii_case("row") => {
                let values = call.arguments;
                if values.len() == count { Ok(values) } else { Err(expected()) }
            }
            ExprKind::Subquery(query) => {
                let pos = value.pos;
                let query = Arc::new(*query);
                let kind = |column| ExprKind::RowQuery { query: Arc::clone(&query), column, count };
                Ok((0..count).map(|column| Expr { kind: kind(column), pos }).collect())
            }
            _ => Err(expected()),
        }
    }

    pub(super) fn update(&self, update: ast::Update) -> Result<Update> {
        let (table, alias) = self.target(update.table, "UPDATE")?;
        let refuse = |feature: &str| Err(self.at(unsupported(feature), table.pos()));
        if update.or.is_some() || update.limit.is_some() || !update.order_by.is_empty() {
            return refuse("UPDATE OR ... and UPDATE with ORDER BY or LIMIT");
        }
        let owner = Owner { table: &table, alias: alias.as_ref() };
        let assignments = self.assignments(update.assignments, owner)?;
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
            returning: self.returning(update.returning)?,
            table,
            alias,
        })
    }

    pub(super) fn delete(&self, delete: ast::Delete) -> Result<Delete> {
        let (ast::FromTable::WithFromKeyword(mut from) | ast::FromTable::WithoutKeyword(mut from)) =
            delete.from;
        let target = from.pop().filter(|_| from.is_empty() && delete.tables.is_empty());
        let Some(target) = target else { return Err(unsupported("DELETE from several tables")) };
        let (table, alias) = self.target(target, "DELETE")?;
        if delete.limit.is_some() || !delete.order_by.is_empty() {
            return Err(self.at(unsupported("DELETE with ORDER BY or LIMIT"), table.pos()));
        }
        let using = delete.using.into_iter().flatten().map(|item| self.table_with_joins(item));
        Ok(Delete {
            using: using.collect::<Result<_>>()?,
            filter: delete.selection.map(|filter| self.expr(filter)).transpose()?,
            returning: self.returning(delete.returning)?,
            table,
            alias,
        })
    }

    pub(super) fn merge(&self, merge: ast::Merge) -> Result<Merge> {
        let alone = |relation| ast::TableWithJoins { relation, joins: Vec::new() };
        let (table, alias) = self.target(alone(merge.table), "MERGE")?;
        let returning = match merge.output {
            None => None,
            Some(ast::OutputClause::Returning { select_items, .. }) => self.returning(Some(select_items))?,
            Some(ast::OutputClause::Output { .. }) => {
                return Err(self.at(unsupported("MERGE ... OUTPUT; write RETURNING"), table.pos()));
            }
        };
        let owner = Owner { table: &table, alias: alias.as_ref() };
        let clauses = merge.clauses.into_iter().map(|clause| self.merge_clause(clause, owner));
        let clauses = clauses.collect::<Result<_>>()?;
        Ok(Merge {
            source: self.table_with_joins(alone(merge.source))?,
            on: self.expr(*merge.on)?,
            clauses,
            returning,
            table,
            alias,
        })
    }

    fn merge_clause(&self, clause: ast::MergeClause, owner: Owner<'_>) -> Result<MergeClause> {
        let pos = pos_of(clause.when_token.0.span.start);
        let refuse = |feature: &str| Err(self.at(unsupported(feature), pos));
        let mut condition = clause.predicate.map(|condition| self.expr(condition)).transpose()?;
        let action = match clause.action {
            ast::MergeAction::DoNothing { .. } => MergeAction::Nothing,
            ast::MergeAction::Delete { .. } => MergeAction::Delete,
            ast::MergeAction::Update(update) => {
                if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                    return refuse("WHERE behind UPDATE in MERGE; write WHEN ... AND condition");
                }
                match update.kind {
                    ast::MergeUpdateKind::Set(assignments) if let Some(mark) = mark_of(&assignments) => {
                        let value = assignments.into_iter().next().map(|assignment| assignment.value);
                        self.marked_action(mark, value, &mut condition, pos)?
                    }
                    ast::MergeUpdateKind::Set(assignments) => {
                        MergeAction::Update { assignments: self.assignments(assignments, owner)? }
                    }
                    ast::MergeUpdateKind::Wildcard => MergeAction::UpdateAll { by_name: false },
                }
            }
            ast::MergeAction::Insert(insert) => {
                if insert.insert_predicate.is_some() {
                    return refuse("WHERE behind INSERT in MERGE; write WHEN ... AND condition");
                }
                if let ([column], ast::MergeInsertKind::Values(values)) =
                    (insert.columns.as_slice(), &insert.kind)
                    && let Some(mark) = mark(column)
                {
                    let value = values.rows.first().and_then(|row| row.content.first()).cloned();
                    let action = self.marked_action(mark, value, &mut condition, pos)?;
                    return Ok(MergeClause { pos, kind: merge_kind(clause.clause_kind), condition, action });
                }
                let columns = insert.columns.iter().map(|column| self.column_of(owner, column));
                let columns = columns.collect::<Result<Vec<_>>>()?;
                match insert.kind {
                    ast::MergeInsertKind::Wildcard => MergeAction::InsertAll { by_name: false },
                    ast::MergeInsertKind::Row => return refuse("INSERT ROW in MERGE"),
                    ast::MergeInsertKind::Values(mut values) => {
                        let row = values.rows.pop().filter(|_| values.rows.is_empty());
                        let Some(row) = row else {
                            return Err(self.at(Error::bind("MERGE inserts one row of VALUES per row"), pos));
                        };
                        MergeAction::Insert { columns, values: self.exprs(row.content)? }
                    }
                }
            }
        };
        Ok(MergeClause { pos, kind: merge_kind(clause.clause_kind), condition, action })
    }

    /// What an action of [`super::merge`] means.
    fn marked_action(
        &self,
        mark: Mark,
        value: Option<ast::Expr>,
        condition: &mut Option<Expr>,
        pos: Pos,
    ) -> Result<MergeAction> {
        Ok(match mark {
            Mark::UpdateByName => MergeAction::UpdateAll { by_name: true },
            Mark::InsertByName => MergeAction::InsertAll { by_name: true },
            Mark::Defaults => MergeAction::Insert { columns: Vec::new(), values: Vec::new() },
            // No row for which the condition holds is left for the action.
            Mark::Error => {
                let message = value.map(|value| self.expr(value)).transpose()?;
                *condition = Some(failing(condition.take(), message, pos));
                MergeAction::Nothing
            }
        })
    }

    /// The table that UPDATE, DELETE or MERGE changes, with its alias.
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

fn merge_kind(kind: ast::MergeClauseKind) -> MergeKind {
    match kind {
        ast::MergeClauseKind::Matched => MergeKind::Matched,
        ast::MergeClauseKind::NotMatched | ast::MergeClauseKind::NotMatchedByTarget => MergeKind::NotMatched,
        ast::MergeClauseKind::NotMatchedBySource => MergeKind::NotMatchedBySource,
    }
}

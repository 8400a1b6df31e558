//! `*`, `COLUMNS(..)` and `#1`: expressions that stand for columns of FROM.
//!
//! An expression with COLUMNS becomes one expression per column, before anything is bound: each copy has a reference to
//! its column in the place of COLUMNS. Several COLUMNS in one expression go together, so they must mean the same columns.

use super::known::Names;
use super::scope::{Entry, EntrySource, Relation, same_name};
use super::{Binder, name, with_stack};
use crate::parser::ast::{
    self, ColumnSelection, Columns, ExprKind, Ident, OrderBy, OrderItem, Pos, SelectItem,
};
use crate::plan::{ColumnId, Expr};
use inlay_types::{Candidates, Error, Field, LogicalType, Result, Value};
use std::rc::Rc;

/// A column that a star stands for.
#[derive(Clone)]
pub(super) struct StarColumn {
    /// Its name in FROM.
    column: String,
    /// What the result calls it.
    name: String,
    source: EntrySource,
    /// What refers to it inside an expression.
    reference: ExprKind,
    /// The place of its relation in FROM; none for a field.
    relation: Option<usize>,
}

impl StarColumn {
    fn reference(&self, pos: Pos) -> ast::Expr {
        match &self.source {
            EntrySource::Written(expr) => (**expr).clone(),
            EntrySource::Star(_) => ast::Expr { kind: self.reference.clone(), pos },
        }
    }
}

impl Binder<'_> {
    /// The columns of `*` or `t.*`.
    pub(super) fn star_columns(&mut self, star: &SelectItem) -> Result<Vec<StarColumn>> {
        let SelectItem::Star { qualifier, exclude, replace, rename, pos } = star else {
            return Err(Error::internal("not a star"));
        };
        let relations = &self.scope()?.relations;
        if relations.is_empty() {
            return Err(self.at(Error::bind("SELECT * needs a FROM clause"), *pos));
        }
        let mut columns: Vec<StarColumn> = Vec::new();
        let mut found = false;
        let mut position = 0;
        let relation_names = Names::of(relations.iter().map(|relation| relation.name.as_str()));
        for (number, relation) in relations.iter().enumerate() {
            let is_meant = qualifier.as_ref().is_none_or(|name| relation.is_meant(&name.parts));
            found |= is_meant;
            let is_twice = relation_names.places(&relation.name).len() > 1;
            for column in &relation.columns {
                position += usize::from(!column.hidden);
                if !is_meant || (qualifier.is_none() && column.hidden) {
                    continue;
                }
                let id = if qualifier.is_some() { column.id } else { column.unqualified() };
                let by_name = is_plain_name(relation, &column.name) && id == column.id && !is_twice;
                let reference = if by_name || column.hidden || id == column.id && column.merged.is_some() {
                    let part = |value: &str| Ident { value: value.to_string(), pos: *pos };
                    let qualifier =
                        if is_twice { relation.qualifier() } else { vec![relation.name.as_str()] };
                    ExprKind::Column(qualifier.into_iter().chain([column.name.as_str()]).map(part).collect())
                } else {
                    ExprKind::Position(position)
                };
                let name = column.name.clone();
                let source = EntrySource::Star(id);
                columns.push(StarColumn {
                    column: name.clone(),
                    name,
                    source,
                    reference,
                    relation: Some(number),
                });
            }
        }
        if let (false, Some(name)) = (found, qualifier) {
            if let Some(fields) = self.fields_of_column(name)? {
                columns = fields;
            } else {
                return Err(self.undefined_star(name, *pos));
            }
        }
        if exclude.is_empty() && replace.is_empty() && rename.is_empty() {
            return Ok(columns);
        }
        let known = Names::of(columns.iter().map(|column| column.column.as_str()));
        let replaced = replace.iter().map(|(_, name)| name);
        for name in &exclude.qualified {
            let is_it = |column: &StarColumn| self.is_column(column, name);
            if !columns.iter().any(is_it) {
                let known = columns.iter().map(|column| column.column.as_str());
                let candidates = Candidates::of(name.last(), known);
                return Err(
                    self.at(Error::UndefinedColumn { name: name.to_string(), candidates }, name.pos())
                );
            }
            columns.retain(|column| !self.is_column(column, name));
        }
        for name in exclude.names.iter().chain(replaced).chain(rename.iter().map(|(name, _)| name)) {
            if !known.contains(&name.value) {
                let known = columns.iter().map(|column| column.column.as_str());
                let candidates = Candidates::of(&name.value, known);
                let error = Error::UndefinedColumn { name: name.value.clone(), candidates };
                return Err(self.at(error, name.pos));
            }
        }
        let excluded = Names::of(exclude.names.iter().map(|name| name.value.as_str()));
        let replaced = Names::of(replace.iter().map(|(_, name)| name.value.as_str()));
        let renamed = Names::of(rename.iter().map(|(from, _)| from.value.as_str()));
        columns.retain(|column| !excluded.contains(&column.column));
        for column in &mut columns {
            if let Some((expr, _)) = replaced.first(&column.column).and_then(|place| replace.get(place)) {
                column.source = EntrySource::Written(Rc::new(expr.clone()));
            }
            if let Some((_, to)) = renamed.first(&column.column).and_then(|place| rename.get(place)) {
                column.name.clone_from(&to.value);
            }
        }
        Ok(columns)
    }

    /// An error unless all that a star stands for may be read.
    fn ask_star(&self, columns: &[StarColumn], pos: Pos) -> Result<()> {
        let scope = self.scopes.len().saturating_sub(1);
        columns.iter().try_for_each(|column| match column.source {
            EntrySource::Star(id) => self.ask_column(scope, id, pos),
            EntrySource::Written(_) => Ok(()),
        })
    }

    /// Whether `t.c` means a column of a star.
    fn is_column(&self, column: &StarColumn, name: &ast::ObjectName) -> bool {
        let Some((last, qualifier)) = name.parts.split_last() else { return false };
        let relations = self.scopes.last().map_or(&[][..], |scope| &scope.relations);
        let relation = column.relation.and_then(|number| relations.get(number));
        same_name(&column.column, &last.value)
            && relation.is_some_and(|relation| relation.is_meant(qualifier))
    }

    fn undefined_star(&self, name: &ast::ObjectName, pos: Pos) -> Error {
        let relations = self.scopes.last().map_or(&[][..], |scope| &scope.relations);
        let candidates = Candidates::of(name.last(), relations.iter().map(|relation| relation.name.as_str()));
        self.at(Error::UndefinedTable { name: name.to_string(), candidates }, pos)
    }

    /// `s.*` of a struct: its fields.
    fn fields_of_column(&mut self, name: &ast::ObjectName) -> Result<Option<Vec<StarColumn>>> {
        let pos = name.pos();
        let whole = ast::Expr { kind: ExprKind::Column(name.parts.clone()), pos };
        let Ok(value) = self.expr(&whole) else { return Ok(None) };
        let LogicalType::Struct(fields) = value.ty() else { return Ok(None) };
        let column = |field: &Field| {
            let mut parts = name.parts.clone();
            parts.push(Ident { value: field.name.to_string(), pos });
            let reference = ExprKind::Column(parts);
            let source = EntrySource::Written(Rc::new(ast::Expr { kind: reference.clone(), pos }));
            let name = field.name.to_string();
            StarColumn { column: name.clone(), name, source, reference, relation: None }
        };
        let named = fields.iter().filter(|field| !field.name.is_empty());
        Ok(Some(named.map(column).collect()))
    }

    /// The entries of a star behind SELECT.
    pub(super) fn expand_star(&mut self, star: &SelectItem, entries: &mut Vec<Entry>) -> Result<()> {
        let columns = self.star_columns(star)?;
        let pos = if let SelectItem::Star { pos, .. } = star { *pos } else { Pos::default() };
        self.ask_star(&columns, pos)?;
        for StarColumn { column, name, source, .. } in columns {
            // ORDER BY may use the name that RENAME gives.
            let is_alias = column != name;
            entries.push(Entry { name, is_alias, source, bound: None, group: None, computed: None });
        }
        Ok(())
    }

    /// The entries of an item with COLUMNS; false if it has none.
    pub(super) fn expand_columns(
        &mut self,
        expr: &ast::Expr,
        alias: Option<&Ident>,
        entries: &mut Vec<Entry>,
    ) -> Result<bool> {
        if !with_stack(|| expr.has_columns()) {
            return Ok(false);
        }
        let unpacked = self.unpacked(expr)?;
        let Some((selection, columns)) = self.selected_in(&unpacked)? else {
            let name = alias.map_or_else(|| name::of_expr(&unpacked), |alias| alias.value.clone());
            let source = EntrySource::Written(Rc::new(unpacked));
            entries.push(Entry {
                name,
                is_alias: alias.is_some(),
                source,
                bound: None,
                group: None,
                computed: None,
            });
            return Ok(true);
        };
        let is_whole = matches!(unpacked.kind, ExprKind::Columns(_));
        for column in columns {
            let name = match (alias, &selection) {
                (Some(alias), ColumnSelection::Pattern(pattern)) => {
                    self.alias_of_match(&column.column, pattern, alias)?
                }
                (Some(alias), _) => alias.value.clone(),
                (None, _) if is_whole => column.name.clone(),
                (None, _) => column.column.clone(),
            };
            let source = if is_whole {
                column.source.clone()
            } else {
                EntrySource::Written(Rc::new(with_column(&unpacked, &column)))
            };
            entries.push(Entry {
                name,
                is_alias: alias.is_some(),
                source,
                bound: None,
                group: None,
                computed: None,
            });
        }
        Ok(true)
    }

    /// A condition with COLUMNS holds if it does for each column.
    pub(super) fn expand_condition(&mut self, condition: &ast::Expr) -> Result<Option<ast::Expr>> {
        let pos = condition.pos;
        let mut expanded = self.expand_expression(condition)?;
        Ok(match expanded.len() {
            0 => None,
            1 => expanded.pop(),
            _ => Some(ast::Expr { kind: ExprKind::And(expanded), pos }),
        })
    }

    /// The expressions that one with COLUMNS stands for; none if it has no COLUMNS.
    pub(super) fn expand_expression(&mut self, expr: &ast::Expr) -> Result<Vec<ast::Expr>> {
        if !with_stack(|| expr.has_columns()) {
            return Ok(Vec::new());
        }
        let unpacked = self.unpacked(expr)?;
        Ok(match self.selected_in(&unpacked)? {
            None => vec![unpacked],
            Some((_, columns)) => columns.iter().map(|column| with_column(&unpacked, column)).collect(),
        })
    }

    /// ORDER BY with its COLUMNS expanded; none if it has no COLUMNS.
    pub(super) fn expand_order(&mut self, order_by: &OrderBy) -> Result<Option<OrderBy>> {
        let OrderBy::Items(items) = order_by else { return Ok(None) };
        if !items.iter().any(|item| with_stack(|| item.expr.has_columns())) {
            return Ok(None);
        }
        let mut expanded = Vec::new();
        for item in items {
            let exprs = self.expand_expression(&item.expr)?;
            let plain = exprs.is_empty().then(|| item.expr.clone());
            expanded.extend(exprs.into_iter().chain(plain).map(|expr| OrderItem { expr, order: item.order }));
        }
        Ok(Some(OrderBy::Items(expanded)))
    }

    /// `expr` with all columns of each `*COLUMNS(..)` in its place.
    fn unpacked(&mut self, expr: &ast::Expr) -> Result<ast::Expr> {
        let mut copy = expr.clone();
        with_stack(|| self.unpack(&mut copy))?;
        Ok(copy)
    }

    fn unpack(&mut self, expr: &mut ast::Expr) -> Result<()> {
        if let Some(list) = expr.list_mut() {
            let mut spread = Vec::with_capacity(list.len());
            for item in std::mem::take(list) {
                match &item.kind {
                    ExprKind::Columns(columns) if columns.unpacked => {
                        let selected = self.selected(columns, item.pos)?;
                        spread.extend(selected.iter().map(|column| column.reference(item.pos)));
                    }
                    _ => spread.push(item),
                }
            }
            *list = spread;
        }
        for child in expr.children_mut() {
            with_stack(|| self.unpack(child))?;
        }
        Ok(())
    }

    /// What the COLUMNS in `expr` select, if there are some.
    fn selected_in(&mut self, expr: &ast::Expr) -> Result<Option<(ColumnSelection, Vec<StarColumn>)>> {
        let mut first: Option<(&Columns, Vec<StarColumn>)> = None;
        let mut open = vec![expr];
        while let Some(expr) = open.pop() {
            open.extend(expr.children());
            let ExprKind::Columns(columns) = &expr.kind else { continue };
            if columns.unpacked {
                let message = "*COLUMNS(..) stands in a list of arguments";
                let hint = "write COLUMNS(..) here";
                return Err(self.at(Error::bind(message).with_hint(hint), expr.pos));
            }
            if columns.bare {
                let message = "* LIKE .. stands directly behind SELECT";
                let hint = "write COLUMNS(..) inside of expressions";
                return Err(self.at(Error::bind(message).with_hint(hint), expr.pos));
            }
            match &first {
                None => first = Some((&**columns, self.selected(columns, expr.pos)?)),
                Some((known, _)) if **known == **columns => {}
                Some((_, known)) => {
                    let own = self.selected(columns, expr.pos)?;
                    let names = |columns: &[StarColumn]| -> Vec<String> {
                        columns.iter().map(|column| column.column.clone()).collect()
                    };
                    if names(known) != names(&own) {
                        let message = "the COLUMNS of one expression must all mean the same columns";
                        return Err(self.at(Error::bind(message), expr.pos));
                    }
                }
            }
        }
        Ok(first.map(|(columns, selected)| (columns.selection.clone(), selected)))
    }

    /// The columns that COLUMNS selects, all of which may be read.
    fn selected(&mut self, columns: &Columns, pos: Pos) -> Result<Vec<StarColumn>> {
        let selected = self.meant(columns, pos)?;
        self.ask_star(&selected, pos)?;
        Ok(selected)
    }

    fn meant(&mut self, columns: &Columns, pos: Pos) -> Result<Vec<StarColumn>> {
        let star = SelectItem::Star {
            qualifier: None,
            exclude: ast::Excluded::default(),
            replace: Vec::new(),
            rename: Vec::new(),
            pos,
        };
        let (selected, wanted) = match &columns.selection {
            ColumnSelection::Star(star) => return self.star_columns(star),
            ColumnSelection::Pattern(pattern) => {
                let mut selected = Vec::new();
                for column in self.star_columns(&star)? {
                    let args =
                        [&column.column, pattern].map(|text| Expr::literal(Value::Varchar(text.clone())));
                    let matched = self.call("regexp_matches", args.to_vec(), pos)?;
                    if self.evaluate(&matched, pos, "COLUMNS")? == Value::Boolean(true) {
                        selected.push(column);
                    }
                }
                (selected, pattern.clone())
            }
            ColumnSelection::Names(names) => {
                let known = self.star_columns(&star)?;
                for name in names {
                    if !known.iter().any(|column| same_name(&column.column, &name.value)) {
                        let known = known.iter().map(|column| column.column.as_str());
                        let candidates = Candidates::of(&name.value, known);
                        let error = Error::UndefinedColumn { name: name.value.clone(), candidates };
                        return Err(self.at(error, name.pos));
                    }
                }
                // In the order of the table, as in DuckDB.
                let is_named =
                    |column: &StarColumn| names.iter().any(|name| same_name(&column.column, &name.value));
                return Ok(known.into_iter().filter(is_named).collect());
            }
            ColumnSelection::Where { star, parameter, condition } => {
                let mut selected = Vec::new();
                for column in self.star_columns(star)? {
                    let mut condition = (**condition).clone();
                    put_name(&mut condition, parameter, &column.column);
                    if self.constant(&condition, "the condition on a column's name")? == Value::Boolean(true)
                    {
                        selected.push(column);
                    }
                }
                (selected, name::of_expr(condition))
            }
        };
        if selected.is_empty() {
            let known = self.star_columns(&star)?;
            let names: Vec<&str> = known.iter().take(8).map(|column| column.column.as_str()).collect();
            let message = format!("no column's name matches {wanted}");
            let hint = format!("there are {}", names.join(", "));
            return Err(self.at(Error::bind(message).with_hint(hint), pos));
        }
        Ok(selected)
    }

    /// An alias in which `\1` to `\9` stand for what the pattern's groups found, and `\0` for the whole name.
    fn alias_of_match(&mut self, column: &str, pattern: &str, alias: &Ident) -> Result<String> {
        let mut name = String::new();
        let mut chars = alias.value.chars().peekable();
        while let Some(c) = chars.next() {
            let group = chars.peek().and_then(|digit| digit.to_digit(10)).filter(|_| c == '\\');
            let Some(group) = group else {
                name.push(c);
                continue;
            };
            chars.next();
            if group == 0 {
                name.push_str(column);
                continue;
            }
            let texts = [column, pattern].map(|text| Expr::literal(Value::Varchar(text.into())));
            let args = texts.into_iter().chain([Expr::literal(Value::Integer(group as i32))]);
            let call = self.call("regexp_extract", args.collect(), alias.pos)?;
            name.push_str(&self.evaluate(&call, alias.pos, "an alias")?.to_string());
        }
        Ok(name)
    }

    /// The name of a column as its table spells it, which a result's column keeps.
    pub(super) fn stored_name(&mut self, parts: &[Ident]) -> Result<Option<String>> {
        let Some(last) = parts.last() else { return Ok(None) };
        let mut named = self.scope()?.relations.iter().flat_map(|relation| relation.named(&last.value));
        Ok(named.next().map(|column| column.name.clone()))
    }

    /// `#n`: the name and the column.
    pub(super) fn position(&mut self, number: usize, pos: Pos) -> Result<(String, ColumnId)> {
        let relations = &self.scope()?.relations;
        let mut visible = relations.iter().flat_map(|r| &r.columns).filter(|column| !column.hidden);
        let found = number.checked_sub(1).and_then(|index| visible.nth(index));
        match found {
            Some(column) => {
                let (name, id) = (column.name.clone(), column.unqualified());
                self.ask_column(self.scopes.len().saturating_sub(1), id, pos)?;
                Ok((name, id))
            }
            None => {
                let count = relations.iter().flat_map(|r| &r.columns).filter(|column| !column.hidden).count();
                let message = format!("#{number} is not a position in FROM (1 to {count})");
                Err(self.at(Error::bind(message), pos))
            }
        }
    }
}

/// Whether `table.name` means one column only.
fn is_plain_name(relation: &Relation, name: &str) -> bool {
    !relation.name.is_empty() && relation.places(name).len() == 1
}

/// `expr` with `column` in the place of COLUMNS.
fn with_column(expr: &ast::Expr, column: &StarColumn) -> ast::Expr {
    fn put(expr: &mut ast::Expr, column: &StarColumn) {
        if matches!(expr.kind, ExprKind::Columns(_)) {
            *expr = column.reference(expr.pos);
            return;
        }
        expr.children_mut().into_iter().for_each(|child| with_stack(|| put(child, column)));
    }
    let mut copy = expr.clone();
    put(&mut copy, column);
    copy
}

/// Puts the text `name` in the place of the parameter.
fn put_name(expr: &mut ast::Expr, parameter: &Ident, name: &str) {
    match &expr.kind {
        ExprKind::Column(parts) if parts.len() == 1 && same_name(&parts[0].value, &parameter.value) => {
            expr.kind = ExprKind::Literal(ast::Literal::String(name.to_string()));
        }
        _ => {
            expr.children_mut().into_iter().for_each(|child| with_stack(|| put_name(child, parameter, name)))
        }
    }
}

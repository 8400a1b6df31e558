//! What names mean at a place in a query.

use super::Binder;
use super::known::LazyNames;
use super::object::Home;
use super::subquery::Pending;
use crate::parser::ast::{self, Ident, Pos};
use crate::plan::{AggregateExpr, ColumnId, Expr, WindowExpr};
use inlay_types::{Candidates, Error, Result};
use std::rc::Rc;

/// The clause being bound; it decides whether aggregates and aliases are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    From,
    Where,
    GroupBy,
    Having,
    Select,
    OrderBy,
    Qualify,
    /// Inside an aggregate call.
    Aggregate,
    /// Inside a window function's call.
    Window,
}

impl Phase {
    pub(super) fn allows_aggregates(self) -> bool {
        matches!(self, Self::Having | Self::Select | Self::OrderBy | Self::Qualify | Self::Window)
    }

    pub(super) fn allows_windows(self) -> bool {
        matches!(self, Self::Select | Self::OrderBy | Self::Qualify)
    }

    /// For error messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::From => "FROM and JOIN conditions",
            Self::Where => "WHERE",
            Self::GroupBy => "GROUP BY",
            Self::Having => "HAVING",
            Self::Select => "SELECT",
            Self::OrderBy => "ORDER BY",
            Self::Qualify => "QUALIFY",
            Self::Aggregate => "another aggregate's arguments",
            Self::Window => "another window function",
        }
    }
}

/// The names of one SELECT.
pub(super) struct Scope {
    pub(super) phase: Phase,
    /// What FROM offers, in order.
    pub(super) relations: Vec<Relation>,
    /// Relations before this one are hidden, while a join condition is bound.
    pub(super) visible_from: usize,
    /// What stands behind SELECT, stars expanded.
    pub(super) entries: Vec<Entry>,
    /// Which entries have a name; asked of entries that are all there.
    pub(super) entry_names: LazyNames,
    /// Entries being bound as aliases, so that one that mentions itself ends.
    pub(super) aliases_open: Vec<usize>,
    /// Subqueries of the clause being bound.
    pub(super) pending: Vec<Pending>,
    pub(super) aggregates: Vec<(ColumnId, AggregateExpr)>,
    /// Subqueries inside the arguments of `aggregates`.
    pub(super) aggregate_pending: Vec<Pending>,
    /// Calls of GROUPING: the columns made and the arguments.
    pub(super) groupings: Vec<super::grouping::GroupingCall>,
    pub(super) windows: Vec<(ColumnId, WindowExpr)>,
    /// Subqueries inside the calls of `windows`.
    pub(super) window_pending: Vec<Pending>,
    /// Calls that give several rows.
    pub(super) unnests: super::unnest::Unnests,
    /// Columns read behind the aggregation, with their places, to tell which one is not grouped.
    pub(super) uses: Vec<(ColumnId, Pos)>,
}

impl Scope {
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::From,
            relations: Vec::new(),
            visible_from: 0,
            entries: Vec::new(),
            entry_names: LazyNames::default(),
            aliases_open: Vec::new(),
            pending: Vec::new(),
            aggregates: Vec::new(),
            aggregate_pending: Vec::new(),
            groupings: Vec::new(),
            windows: Vec::new(),
            window_pending: Vec::new(),
            unnests: super::unnest::Unnests::default(),
            uses: Vec::new(),
        }
    }

    /// Whether a value is made of an aggregate that differs each time it is computed.
    pub(super) fn reads_volatile_aggregate(&self, value: &Expr) -> bool {
        let read = value.columns();
        self.aggregates.iter().any(|(id, aggregate)| aggregate.is_volatile() && read.contains(id))
    }

    /// Says what stands behind SELECT; names do not change from here on.
    pub(super) fn set_entries(&mut self, entries: Vec<Entry>) {
        self.entries = entries;
        self.entry_names = LazyNames::default();
    }

    pub(super) fn visible(&self) -> &[Relation] {
        self.relations.get(self.visible_from..).unwrap_or(&[])
    }
}

impl Scope {
    /// What a column that FROM offers is called there, which may be another name than it was made with.
    pub(super) fn name_of(&self, id: ColumnId) -> Option<String> {
        let columns = self.relations.iter().flat_map(|relation| &relation.columns);
        columns.into_iter().find(|column| column.id == id).map(|column| column.name.clone())
    }
}

/// A table, subquery or function in FROM.
#[derive(Clone)]
pub(super) struct Relation {
    /// Its alias or name.
    pub(super) name: String,
    /// Where the object is whose name it has: names of columns may say so, too.
    pub(super) home: Option<Home>,
    pub(super) columns: Vec<RelationColumn>,
    /// Which columns have a name.
    names: LazyNames,
    /// What `rowid` means, if the statement speaks of it and the table has no such column.
    pub(super) row_id: Option<ColumnId>,
    /// What may be read of it, if that is not all.
    pub(super) guard: Option<Rc<super::rights::Guard>>,
}

impl Relation {
    /// The columns that its names mean.
    pub(super) fn ids(&self) -> impl Iterator<Item = ColumnId> + '_ {
        self.columns.iter().flat_map(|column| [column.id].into_iter().chain(column.merged)).chain(self.row_id)
    }

    /// Names of columns do not change from here on.
    pub(super) fn new(name: String, columns: Vec<RelationColumn>, row_id: Option<ColumnId>) -> Self {
        Self { name, home: None, columns, names: LazyNames::default(), row_id, guard: None }
    }

    /// Whether what stands before a column's name, which may be nothing, means this relation: its name, and before it the
    /// schema, the database, or both.
    pub(super) fn is_meant(&self, qualifier: &[Ident]) -> bool {
        let Some((name, home)) = qualifier.split_last() else { return true };
        if !same_name(&self.name, &name.value) {
            return false;
        }
        match (home, &self.home) {
            ([], _) => true,
            ([one], Some(home)) => {
                same_name(&one.value, &home.schema) || same_name(&one.value, &home.database)
            }
            ([database, schema], Some(home)) => {
                same_name(&database.value, &home.database) && same_name(&schema.value, &home.schema)
            }
            _ => false,
        }
    }

    /// What names it so that no other relation is meant.
    pub(super) fn qualifier(&self) -> Vec<&str> {
        match &self.home {
            Some(home) => vec![&home.database, &home.schema, &self.name],
            None => vec![&self.name],
        }
    }

    /// The places of the columns of that name.
    pub(super) fn places(&self, name: &str) -> Vec<usize> {
        self.names.places(name, self.columns.len(), |place| self.columns[place].name.as_str())
    }

    /// The columns of that name.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &RelationColumn> {
        self.places(name).into_iter().filter_map(|place| self.columns.get(place))
    }
}

/// A column of a [`Relation`].
#[derive(Clone, Debug)]
pub(super) struct RelationColumn {
    pub(super) name: String,
    pub(super) id: ColumnId,
    /// What the unqualified name and `*` mean instead, behind USING of an outer join.
    pub(super) merged: Option<ColumnId>,
    /// Left out of `*` and unqualified names: the other side of USING stands for it.
    pub(super) hidden: bool,
    /// A name that means it where nothing else has that name: `range` in `range(3) a`.
    pub(super) other_name: Option<&'static str>,
}

impl RelationColumn {
    pub(super) fn new(name: String, id: ColumnId) -> Self {
        Self { name, id, merged: None, hidden: false, other_name: None }
    }

    /// The column that the unqualified name means.
    pub(super) fn unqualified(&self) -> ColumnId {
        self.merged.unwrap_or(self.id)
    }
}

/// An item behind SELECT.
pub(super) struct Entry {
    /// The name of the result's column.
    pub(super) name: String,
    /// Whether other clauses may refer to it by that name: it was written `AS name`.
    pub(super) is_alias: bool,
    pub(super) source: EntrySource,
    /// Set when bound.
    pub(super) bound: Option<Expr>,
    /// The grouping column that it is, if GROUP BY names it.
    pub(super) group: Option<ColumnId>,
    /// The column that it was computed as, because something else reads it and each evaluation differs.
    pub(super) computed: Option<ColumnId>,
}

/// Where an [`Entry`] comes from.
#[derive(Clone)]
pub(super) enum EntrySource {
    Written(Rc<ast::Expr>),
    /// From `*`.
    Star(ColumnId),
}

/// The CTEs of one WITH.
#[derive(Default)]
pub(super) struct CteFrame {
    pub(super) ctes: Vec<super::query::CteDef>,
    /// Shared plans that read columns from outside of the query: they go around it, not around the statement.
    pub(super) local: Vec<super::Shared>,
}

pub(super) fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || (!left.is_ascii() && left.to_lowercase() == right.to_lowercase())
}

/// What a column name resolved to.
pub(super) enum Resolved {
    Column(ColumnId),
    /// An entry of the SELECT list of the innermost scope.
    Entry(usize),
}

impl Binder<'_> {
    pub(super) fn scope(&mut self) -> Result<&mut Scope> {
        self.scopes.last_mut().ok_or_else(|| Error::internal("no scope is open"))
    }

    /// Binds with the innermost scope in `phase` and returns what `inner` left pending, too.
    pub(super) fn in_phase<T>(
        &mut self,
        phase: Phase,
        inner: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Vec<Pending>)> {
        let scope = self.scope()?;
        let phase_before = std::mem::replace(&mut scope.phase, phase);
        let pending_before = std::mem::take(&mut scope.pending);
        let result = inner(self);
        let scope = self.scope()?;
        scope.phase = phase_before;
        let pending = std::mem::replace(&mut scope.pending, pending_before);
        Ok((result?, pending))
    }

    /// Finds the column `parts` name, from the innermost scope outwards.
    pub(super) fn resolve(&mut self, parts: &[Ident]) -> Result<Resolved> {
        let pos = parts.first().map_or(Pos::default(), |part| part.pos);
        for index in
            (0..self.scopes.len()).rev().filter(|index| !self.macros.hides(*index)).collect::<Vec<_>>()
        {
            let found = self.placed(find_column(self.scopes[index].visible(), parts), pos)?;
            if let Some(id) = found {
                self.ask_column(index, id, pos)?;
                self.note_use(index, id, pos);
                return Ok(Resolved::Column(id));
            }
            if index + 1 == self.scopes.len()
                && let Some(entry) = self.find_alias(parts)
            {
                return Ok(Resolved::Entry(entry));
            }
            if index + 1 < self.scopes.len()
                && let Some(id) = self.outer_alias(index, parts, pos)?
            {
                self.note_use(index, id, pos);
                return Ok(Resolved::Column(id));
            }
        }
        let error = self.undefined_column(parts);
        Err(self.at(error, pos))
    }

    pub(super) fn note_use(&mut self, scope_index: usize, id: ColumnId, pos: Pos) {
        let mut in_aggregate = false;
        for frame in &mut self.aggregate_frames {
            if scope_index <= frame.scope {
                frame.deepest = frame.deepest.max(Some(scope_index));
                in_aggregate = true;
            }
        }
        let scope = &mut self.scopes[scope_index];
        if !in_aggregate && scope.phase.allows_aggregates() {
            scope.uses.push((id, pos));
        }
    }

    /// The column of the value that an alias of a SELECT list means inside of a subquery of that SELECT: the clause that the subquery
    /// stands in computes it below the subquery.
    fn outer_alias(&mut self, scope: usize, parts: &[Ident], pos: Pos) -> Result<Option<ColumnId>> {
        let Some(entry) = self.alias_in(scope, parts).filter(|_| self.macros.active().is_none()) else {
            return Ok(None);
        };
        // What stands behind the alias is read where the SELECT stands, not in the subquery.
        let inner = self.scopes.split_off(scope + 1);
        let frames = std::mem::take(&mut self.aggregate_frames);
        let (outer, within): (Vec<_>, Vec<_>) = frames.into_iter().partition(|frame| frame.scope <= scope);
        self.aggregate_frames = outer;
        let found = self.outside_of_lambdas(|binder| binder.alias_column(entry, pos));
        self.aggregate_frames.extend(within);
        self.scopes.extend(inner);
        found.map(Some)
    }

    /// The entry of the innermost SELECT list that an alias means.
    pub(super) fn find_alias(&self, parts: &[Ident]) -> Option<usize> {
        self.alias_in(self.scopes.len().checked_sub(1)?, parts)
    }

    fn alias_in(&self, scope: usize, parts: &[Ident]) -> Option<usize> {
        let ([name], Some(scope)) = (parts, self.scopes.get(scope)) else { return None };
        if scope.phase == Phase::From {
            return None;
        }
        let entries = &scope.entries;
        let places =
            scope.entry_names.places(&name.value, entries.len(), |place| entries[place].name.as_str());
        places.into_iter().find(|place| entries[*place].is_alias && !scope.aliases_open.contains(place))
    }

    fn undefined_column(&self, parts: &[Ident]) -> Error {
        let written = parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
        let Some(column) = parts.last() else { return Error::internal("a column reference without a name") };
        let visible = || self.scopes.iter().flat_map(Scope::visible);
        if let [qualifier @ .., _] = parts
            && let Some(table) = qualifier.last()
        {
            let mut tables = visible().filter(|relation| relation.is_meant(qualifier)).peekable();
            if tables.peek().is_none() {
                let names = visible().map(|relation| relation.name.as_str());
                let written: Vec<&str> = qualifier.iter().map(|part| part.value.as_str()).collect();
                return Error::UndefinedTable {
                    name: written.join("."),
                    candidates: Candidates::of(&table.value, names),
                };
            }
            let names =
                tables.flat_map(|relation| relation.columns.iter().map(|column| column.name.as_str()));
            return Error::UndefinedColumn {
                name: written,
                candidates: Candidates::of(&column.value, names),
            };
        }
        let names = visible().flat_map(|relation| relation.columns.iter().map(|column| column.name.as_str()));
        let aliases = self.scopes.iter().flat_map(|scope| &scope.entries);
        let aliases = aliases.filter(|entry| entry.is_alias).map(|entry| entry.name.as_str());
        Error::UndefinedColumn {
            name: written,
            candidates: Candidates::of(&column.value, names.chain(aliases)),
        }
    }
}

/// The one column of `relations` that `parts` name.
pub(super) fn find_column(relations: &[Relation], parts: &[Ident]) -> Result<Option<ColumnId>> {
    let Some((column, qualifier)) = parts.split_last() else { return Ok(None) };
    let is_bare = qualifier.is_empty();
    let written = column;
    let mut found: Option<(ColumnId, &Relation)> = None;
    for relation in relations {
        if !relation.is_meant(qualifier) {
            continue;
        }
        for candidate in relation.named(&column.value) {
            if is_bare && candidate.hidden {
                continue;
            }
            let id = if is_bare { candidate.unqualified() } else { candidate.id };
            match found {
                Some((earlier, first)) if earlier != id => {
                    // Their names alone may be the same.
                    let is_enough = !same_name(&first.name, &relation.name);
                    let quoted = |relation: &Relation| {
                        let mut parts = relation.qualifier();
                        if is_enough {
                            parts = vec![&relation.name];
                        }
                        parts.push(&column.value);
                        parts.iter().map(|part| format!("\"{part}\"")).collect::<Vec<_>>().join(".")
                    };
                    let candidates = vec![quoted(first), quoted(relation)];
                    return Err(Error::Ambiguous { name: column.value.clone(), candidates });
                }
                _ => found = Some((id, relation)),
            }
        }
    }
    if found.is_none() {
        let meant = |relation: &&Relation| relation.is_meant(qualifier);
        let columns = |relation: &'_ Relation| {
            let is_nameless = relation.name.is_empty();
            let named = relation.columns.iter().filter(move |column| {
                column.other_name.is_some_and(|name| same_name(name, &written.value))
                    && (!is_bare || !column.hidden || is_nameless)
            });
            named.map(|column| if is_bare { column.unqualified() } else { column.id }).collect::<Vec<_>>()
        };
        let named: Vec<ColumnId> = relations.iter().filter(meant).flat_map(columns).collect();
        if let [only] = named[..] {
            return Ok(Some(only));
        }
    }
    if let (None, "rowid") = (found, column.value.to_ascii_lowercase().as_str()) {
        let meant = |relation: &&Relation| relation.is_meant(qualifier);
        let mut ids = relations.iter().filter(meant).filter_map(|relation| relation.row_id);
        let first = ids.next();
        if ids.next().is_some() {
            let candidates =
                relations.iter().map(|relation| format!("\"{}\".rowid", relation.name)).collect();
            return Err(Error::Ambiguous { name: column.value.clone(), candidates });
        }
        return Ok(first);
    }
    Ok(found.map(|(id, _)| id))
}

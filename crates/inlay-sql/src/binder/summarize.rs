//! DESCRIBE, SUMMARIZE and SHOW, as statements and in FROM.

use super::build::Build;
use super::object::undefined;
use super::scope::same_name;
use super::{Binder, Bound, Output};
use crate::parser::ast::{
    BinaryOp, Expr, GroupBy, ObjectName, OrderBy, Pos, Query, QueryBody, SelectItem, StatementKind,
    TableAlias, TableRef,
};
use crate::plan::{self, ColumnId, JoinKind, Plan};
use inlay_catalog::{CatalogEntry, MAIN, TEMPORARY, TableEntry, bare_name, near_names, schema_of};
use inlay_types::LogicalType as T;
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

/// The column that counts the columns summarized.
const NUMBER: &str = "(number)";

impl Binder<'_> {
    /// `(DESCRIBE ..)` and its like in FROM.
    pub(super) fn shown(&mut self, statement: &StatementKind, alias: Option<&TableAlias>) -> Result<Plan> {
        if let StatementKind::Pragma { name, arguments } = statement {
            // SHOW SCHEMAS and its like are functions.
            let build = Build(name.pos);
            let call = build.function(&format!("pragma_{}", name.value), arguments.clone());
            let alias = alias.cloned();
            return self.table_ref(&TableRef::Function { call, alias, lateral: false, ordinality: false });
        }
        let (bound, name) = match statement {
            StatementKind::Describe(query) => (self.described(query)?, "describe"),
            StatementKind::Summarize(query) => (self.summarized(query)?, "summarize"),
            StatementKind::ShowTables { of } => (self.shown_tables(of.as_ref())?, "show_tables"),
            StatementKind::ShowAllTables => (self.all_tables()?, "show_tables"),
            StatementKind::ShowDatabases => (self.shown_databases(), "show_databases"),
            StatementKind::Show { name } => (self.shown_setting(name)?, "show"),
            _ => return Err(Error::unsupported("this statement in FROM")),
        };
        self.add_relation(name, super::from::named_columns(&bound.output), alias)?;
        Ok(bound.plan)
    }

    pub(super) fn summarize_statement(&mut self, query: &Query) -> Result<plan::Statement> {
        let bound = self.summarized(query)?;
        Ok(plan::Statement::Query(self.finish(bound)?))
    }

    /// SUMMARIZE: one row of aggregates per column, of which a row per column is made.
    fn summarized(&mut self, query: &Query) -> Result<Bound> {
        let build = Build(Pos::default());
        let source = TableRef::Subquery { query: Box::new(query.clone()), alias: None, lateral: false };
        let source = self.prepare(&source)?;
        let columns: Vec<(String, LogicalType)> = {
            let relations = self.prepared.get(source).and_then(Option::as_ref).map(|known| &known.relations);
            let columns = relations.into_iter().flatten().flat_map(|relation| &relation.columns);
            columns.map(|column| (column.name.clone(), self.columns.ty(column.id))).collect()
        };
        let mut measures: Vec<crate::parser::ast::SelectItem> = Vec::new();
        let mut rows: Vec<Vec<Expr>> = Vec::new();
        for (index, (name, ty)) in columns.iter().enumerate() {
            let column = || build.position(index + 1);
            let text = |expr: Expr| build.cast(expr, LogicalType::Varchar);
            let mut measure = |expr: Expr| {
                let name = format!("m{}", measures.len());
                measures.push(build.item(expr, name.clone()));
                build.column(name)
            };
            let null = || text(build.null());
            let aggregate = |name: &str| build.call(name, vec![column()]);
            // Between two moments, or two integers that neither DOUBLE nor a DECIMAL tells apart, there is none of the type.
            let is_discrete = ty.is_temporal() || matches!(ty, T::HugeInt | T::UHugeInt);
            let exact = T::Decimal { precision: 22, scale: 2 };
            let quantile = |share: &str| {
                if is_discrete {
                    return text(build.call("quantile_disc", vec![column(), build.number(share)]));
                }
                let is_wide = matches!(ty, T::BigInt | T::UBigInt);
                let column = if is_wide { build.cast(column(), exact.clone()) } else { column() };
                let value = build.call("quantile_cont", vec![column, build.number(share)]);
                let value = if ty.is_integer() {
                    build.cast(build.call("round", vec![value]), ty.clone())
                } else {
                    value
                };
                text(value)
            };
            let is_number = ty.is_numeric();
            let sorts = is_number || (ty.is_temporal() && *ty != T::Interval);
            let has_mean = is_number || matches!(ty, T::Date | T::Time | T::Timestamp | T::TimestampTz);
            let count = measure(build.count_star());
            let known = measure(build.call("count", vec![column()]));
            let missing = build.binary(BinaryOp::Subtract, count.clone(), known);
            let share = build.binary(
                BinaryOp::Divide,
                build.binary(
                    BinaryOp::Multiply,
                    build.cast(missing, LogicalType::Double),
                    build.number("100.0"),
                ),
                build.call("nullif", vec![count.clone(), build.number(0)]),
            );
            let percentage = LogicalType::Decimal { precision: 9, scale: 2 };
            rows.push(vec![
                build.text(name.clone()),
                build.text(ty.to_string()),
                measure(text(aggregate("min"))),
                measure(text(aggregate("max"))),
                measure(aggregate("approx_count_distinct")),
                if has_mean { measure(text(aggregate("avg"))) } else { null() },
                if is_number { measure(text(aggregate("stddev"))) } else { null() },
                if sorts { measure(quantile("0.25")) } else { null() },
                if sorts { measure(quantile("0.5")) } else { null() },
                if sorts { measure(quantile("0.75")) } else { null() },
                count,
                build.cast(share, percentage),
            ]);
        }
        let inner = build.select(measures, vec![TableRef::Prepared(source)]);
        let inner = build.query(QueryBody::Select(Box::new(inner)));
        let inner = TableRef::Subquery { query: Box::new(inner), alias: None, lateral: false };
        let names = [
            "column_name",
            "column_type",
            "min",
            "max",
            "approx_unique",
            "avg",
            "std",
            "q25",
            "q50",
            "q75",
            "count",
            "null_percentage",
        ];
        let mut items = Vec::with_capacity(names.len());
        for (place, name) in names.into_iter().enumerate() {
            let values: Vec<Expr> = rows.iter().map(|row| row[place].clone()).collect();
            items.push(build.item(build.choose(build.column(NUMBER), values), name));
        }
        let outer = build.select(items, vec![inner, build.numbers(columns.len(), NUMBER)]);
        let mut outer = build.query(QueryBody::Select(Box::new(outer)));
        let order = crate::parser::ast::SortOrder { descending: Some(false), nulls_first: None };
        let key = crate::parser::ast::OrderItem { expr: build.column(NUMBER), order };
        outer.order_by = crate::parser::ast::OrderBy::Items(vec![key]);
        self.query(&outer)
    }

    /// DESCRIBE: name and type of each column.
    pub(super) fn described(&mut self, query: &Query) -> Result<Bound> {
        let shared = self.shared.len();
        // Names and types of what is stored are no secret.
        let asker = self.asker.clone();
        if self.asked().is_some() && self.is_stored_relation(query) {
            self.asker = None;
        }
        let bound = self.query(query);
        self.asker = asker;
        let bound = bound?;
        let text = |text: &str| Value::Varchar(text.to_string());
        let described = |column: &Output| {
            let ty = self.columns.ty(column.id).to_string();
            vec![text(&column.name), text(&ty), text("YES"), Value::Null, Value::Null, Value::Null]
        };
        let mut rows: Vec<Vec<Value>> = bound.output.iter().map(described).collect();
        for (row, output) in rows.iter_mut().zip(&bound.output) {
            let Some((table, index)) = scanned(&bound.plan, output.id) else { continue };
            let schema = table.table.schema();
            let Some(column) = schema.columns.get(index) else { continue };
            if column.not_null {
                row[2] = text("NO");
            }
            if schema.primary_key.contains(&index) {
                row[3] = text("PRI");
            } else if schema.is_unique(index) {
                row[3] = text("UNI");
            }
            // A query has no defaults, the table that it reads has.
            if matches!(bound.plan, Plan::Scan { .. }) {
                row[4] = column.default.as_deref().map_or(Value::Null, text);
            }
        }
        let names = ["column_name", "column_type", "null", "key", "default", "extra"];
        self.shared.truncate(shared);
        Ok(self.literal_bound(&names.map(|name| (name, LogicalType::Varchar)), rows))
    }

    /// Whether a query is nothing but a stored table or view.
    fn is_stored_relation(&self, query: &Query) -> bool {
        let QueryBody::Select(select) = &query.body else { return false };
        let ([SelectItem::Star { replace, .. }], [TableRef::Table { name, .. }]) =
            (select.items.as_slice(), select.from.as_slice())
        else {
            return false;
        };
        let is_plain = query.ctes.is_empty()
            && replace.is_empty()
            && select.filter.is_none()
            && select.qualify.is_none()
            && query.limit.is_none()
            && query.offset.is_none()
            && matches!(&query.order_by, OrderBy::Items(items) if items.is_empty())
            && matches!(&select.group_by, GroupBy::Items(items) if items.is_empty());
        let is_stored =
            || matches!(self.object(name), Ok(Some((_, CatalogEntry::Table(_) | CatalogEntry::View(_)))));
        is_plain && select.having.is_none() && is_stored()
    }

    pub(super) fn shown_tables(&mut self, of: Option<&ObjectName>) -> Result<Bound> {
        // Those that names without a place may mean.
        let places = match of.map(|name| (name, name.parts.as_slice())) {
            None => self.context.catalog.search_path(),
            Some((_, [one])) if self.known_database(one).is_ok() => {
                vec![(self.known_database(one)?, MAIN.to_string())]
            }
            Some((name, _)) => {
                let (database, schema) = self.schema_name(name)?;
                let known = self.schema_names(&database);
                if !known.iter().any(|known| same_name(known, &schema)) {
                    let near = near_names(&schema, known.iter().map(String::as_str));
                    return Err(self.at(Error::bind(undefined("schema", &schema, &near)), name.pos()));
                }
                vec![(database, schema)]
            }
        };
        let mut names = Vec::new();
        for (database, schema) in places {
            for (key, entry) in self.context.catalog.entries(&database) {
                let known = match entry {
                    CatalogEntry::Table(table) => table.name.clone(),
                    CatalogEntry::View(view) => view.name.clone(),
                    CatalogEntry::Registered(_) => {
                        names.push(key);
                        continue;
                    }
                };
                if same_name(schema_of(&known), &schema) {
                    names.push(bare_name(&known).to_string());
                }
            }
        }
        names.sort_by_key(|name| name.to_lowercase());
        names.dedup();
        let rows = names.into_iter().map(|name| vec![Value::Varchar(name)]).collect();
        Ok(self.literal_bound(&[("name", LogicalType::Varchar)], rows))
    }

    /// SHOW ALL TABLES, of all databases.
    pub(super) fn all_tables(&mut self) -> Result<Bound> {
        let mut rows = Vec::new();
        let mut databases = self.context.catalog.names();
        databases.push(TEMPORARY.to_string());
        for database in databases {
            for (key, entry) in self.context.catalog.entries(&database) {
                let (name, columns) = self.shown_columns(&database, key, entry);
                let list = |texts: Vec<String>| Value::List {
                    element: Arc::new(T::Varchar),
                    values: texts.into_iter().map(Value::Varchar).collect(),
                };
                let (names, types) = columns.into_iter().unzip();
                let place = [database.clone(), schema_of(&name).to_string(), bare_name(&name).to_string()];
                let mut row: Vec<Value> = place.iter().cloned().map(Value::Varchar).collect();
                row.extend([list(names), list(types), Value::Boolean(database == TEMPORARY)]);
                rows.push((place, row));
            }
        }
        rows.sort_by(|left, right| left.0.cmp(&right.0));
        let rows = rows.into_iter().map(|(_, row)| row).collect();
        let columns = [
            ("database", T::Varchar),
            ("schema", T::Varchar),
            ("name", T::Varchar),
            ("column_names", T::list(T::Varchar)),
            ("column_types", T::list(T::Varchar)),
            ("temporary", T::Boolean),
        ];
        Ok(self.literal_bound(&columns, rows))
    }

    /// The name of a table or view with its schema, and names and types of its columns.
    fn shown_columns(
        &mut self,
        database: &str,
        key: String,
        entry: CatalogEntry,
    ) -> (String, Vec<(String, String)>) {
        match entry {
            CatalogEntry::Table(table) => {
                let columns = table.table.schema().visible();
                let columns = columns.map(|(_, c)| (c.name.clone(), c.ty.to_string())).collect();
                (table.name.clone(), columns)
            }
            CatalogEntry::View(view) => {
                let shared = self.shared.len();
                let bound = self.view(database, &view, Pos::default());
                self.shared.truncate(shared);
                let columns = bound.map(|bound| {
                    let column = |c: &Output| (c.name.clone(), self.columns.ty(c.id).to_string());
                    bound.output.iter().map(column).collect()
                });
                (view.name.clone(), columns.unwrap_or_default())
            }
            CatalogEntry::Registered(source) => {
                let columns = source.columns().iter().map(|c| (c.name.clone(), c.ty.to_string()));
                (key, columns.collect())
            }
        }
    }
}

/// The column of a table that a column of a query is, wherever it passed through unchanged and no join adds NULLs.
fn scanned(plan: &Plan, id: ColumnId) -> Option<(&TableEntry, usize)> {
    match plan {
        Plan::Scan { table, columns, .. } => {
            let column = columns.iter().find(|column| column.id == id)?;
            Some((table, column.index))
        }
        Plan::Project { input, items } => match items.iter().find(|(made, _)| *made == id)? {
            (_, crate::plan::Expr::Column { id, .. }) => scanned(input, *id),
            _ => None,
        },
        Plan::Filter { input, .. } | Plan::Sort { input, .. } | Plan::Limit { input, .. } => {
            scanned(input, id)
        }
        Plan::Join { kind: JoinKind::Inner, left, right, .. } => {
            scanned(left, id).or_else(|| scanned(right, id))
        }
        Plan::Join { kind: JoinKind::Left, left, .. } => scanned(left, id),
        _ => None,
    }
}

//! FROM: tables, views, files, functions and subqueries; joins are in `join`.

use super::indexed::visible_columns;
use super::object::Home;
use super::query_function::is_query_function;
use super::recursive::{RECURRING, recurring_name};
use super::scope::{Relation, RelationColumn, same_name};
use super::subquery::combine;
use super::{Binder, Bound, Output, VIEW_DEPTH_MAX};
use crate::parser::ast::{
    ExprKind, FunctionCall, ObjectName, Pos, Query, QueryBody, SelectItem, TableAlias, TableRef,
};
use crate::parser::limits::FROM_MAX;
use crate::parser::parse_statement;
use crate::plan::statement::ObjectKind;
use crate::plan::{ColumnId, JoinKind, Plan, ScanColumn, WindowExpr};
use inlay_catalog::{
    CatalogEntry, DefinitionKind, SYSTEM, TEMPORARY, TableEntry, TableSource, ViewEntry, bare_name,
    near_names,
};
use inlay_types::{Candidates, Error, Result, Value};
use std::sync::Arc;

/// Most tables that a statement reads: views over views multiply them.
const RELATIONS_MAX: usize = 10_000;

/// Arguments by position, and by name.
type ConstantArguments = (Vec<Value>, Vec<(String, Value)>);

impl Binder<'_> {
    /// Binds what FROM lists; its names are added to the innermost scope.
    pub(super) fn from(&mut self, items: &[TableRef]) -> Result<Plan> {
        if items.len() > FROM_MAX {
            let message = format!("{} tables in one FROM are above the limit of {FROM_MAX}", items.len());
            return Err(Error::out_of_range(message));
        }
        let mut plan: Option<Plan> = None;
        for item in items {
            let right = self.table_ref(item)?;
            plan = Some(match plan {
                None => right,
                Some(left) => combine(JoinKind::Inner, left, right, Vec::new()),
            });
        }
        Ok(plan.unwrap_or_else(Plan::single_row))
    }

    pub(super) fn table_ref(&mut self, table: &TableRef) -> Result<Plan> {
        super::with_stack(|| match table {
            TableRef::Table { name, alias } => self.named_table(name, alias.as_ref()),
            TableRef::Function { call, alias, ordinality, .. } => {
                self.table_function(call, *ordinality, alias.as_ref())
            }
            TableRef::Subquery { query, alias, .. } => {
                let bound = self.query(query)?;
                let name = match alias {
                    Some(alias) => alias.name.value.clone(),
                    None => self.unnamed_subquery()?,
                };
                self.add_relation(&name, named_columns(&bound.output), alias.as_ref())?;
                Ok(bound.plan)
            }
            TableRef::Join { left, right, kind, condition, pos } => {
                self.join(left, right, *kind, condition, *pos)
            }
            TableRef::Pivot(pivot) => self.pivot(pivot),
            TableRef::Unpivot(unpivot) => self.unpivot(unpivot),
            TableRef::Show { statement, alias } => self.shown(statement, alias.as_ref()),
            TableRef::Prepared(number) => self.read_prepared(*number),
            TableRef::Sample { table, sample } => {
                Ok(Plan::Sample { input: Box::new(self.table_ref(table)?), sample: *sample })
            }
        })
    }

    /// What a subquery without a name is called in a FROM: as in PostgreSQL, and those behind the first have numbers, as in DuckDB.
    fn unnamed_subquery(&mut self) -> Result<String> {
        const NAME: &str = "unnamed_subquery";
        let count = self.scope()?.relations.iter().filter(|known| known.name.starts_with(NAME)).count();
        Ok(if count == 0 { NAME.to_string() } else { format!("{NAME}{}", count + 1) })
    }

    /// Makes columns visible under a table's name or alias.
    pub(super) fn add_relation(
        &mut self,
        name: &str,
        mut columns: Vec<(String, ColumnId)>,
        alias: Option<&TableAlias>,
    ) -> Result<()> {
        self.relation_count += 1;
        if self.relation_count > RELATIONS_MAX {
            let message = format!(
                "the statement reads more than {RELATIONS_MAX} tables, those of views and CTEs among them"
            );
            return Err(Error::out_of_range(message));
        }
        let mut name = name.to_string();
        if let Some(alias) = alias {
            name.clone_from(&alias.name.value);
            if let Some(surplus) = alias.columns.get(columns.len()) {
                let message = format!(
                    "table \"{name}\" has {} columns, {} names are given",
                    columns.len(),
                    alias.columns.len()
                );
                return Err(self.at(Error::bind(message), surplus.pos));
            }
            for (column, given) in columns.iter_mut().zip(&alias.columns) {
                column.0.clone_from(&given.value);
            }
        }
        super::define::unique_names(columns.iter_mut().map(|(name, _)| name));
        let scope = self.scope()?;
        if alias.is_some() && scope.relations.iter().any(|relation| same_name(&relation.name, &name)) {
            let pos = alias.map_or(Pos::default(), |alias| alias.name.pos);
            let message = format!("table name \"{name}\" is given twice in one FROM");
            let hint = "choose another alias";
            return Err(self.at(Error::bind(message).with_hint(hint), pos));
        }
        let columns = columns.into_iter().map(|(name, id)| RelationColumn::new(name, id)).collect();
        scope.relations.push(Relation::new(name, columns, None));
        Ok(())
    }

    fn named_table(&mut self, name: &ObjectName, alias: Option<&TableAlias>) -> Result<Plan> {
        let pos = name.pos();
        if name.parts.len() == 1
            && !name.is_string
            && let Some(bound) = self.cte_reference(name.last(), pos)?
        {
            self.add_relation(name.last(), named_columns(&bound.output), alias)?;
            return Ok(bound.plan);
        }
        if let [schema, own] = name.parts.as_slice()
            && same_name(&schema.value, RECURRING)
            && let Some(bound) = self.cte_reference(&recurring_name(&own.value), pos)?
        {
            self.add_relation(name.last(), named_columns(&bound.output), alias)?;
            return Ok(bound.plan);
        }
        let found = match self.object(name) {
            // `FROM 'some.path/file.csv'` and `FROM file.csv` say no database.
            Err(_) if is_file_name(name) => None,
            found => found?,
        };
        if let Some((database, _)) = &found {
            self.check_outlives(database, name)?;
        }
        match found {
            Some((database, CatalogEntry::Table(entry))) => {
                let row_id = self.wanted_row_id();
                let (plan, columns) = self.scan(&entry, row_id);
                let columns = visible_columns(entry.table.schema(), columns);
                let guard = self.guard_table(&database, &entry, &columns, pos)?;
                self.add_relation(bare_name(&entry.name), columns, alias)?;
                if let Some(relation) = self.scope()?.relations.last_mut() {
                    relation.guard = guard;
                    relation.row_id = row_id;
                    relation.home = alias.is_none().then(|| Home::of(&database, &entry.name));
                }
                Ok(plan)
            }
            Some((database, CatalogEntry::Registered(source))) => {
                match same_name(&database, SYSTEM) {
                    true => self.ask_system_table(name.last(), pos)?,
                    false if same_name(&database, TEMPORARY) || self.is_lent(&database) => {}
                    false => self.ask_host_table(name.last(), pos)?,
                }
                let plan = self.source(name.last(), source, alias)?;
                // Views of the system are in schemas of their own.
                let schema = name.parts.len().checked_sub(2).map(|place| name.parts[place].value.clone());
                if let (None, Some(schema), Some(relation)) =
                    (alias, schema, self.scope()?.relations.last_mut())
                {
                    relation.home = Some(Home { database, schema });
                }
                Ok(plan)
            }
            Some((database, CatalogEntry::View(view))) => {
                let bound = self.view(&database, &view, pos)?;
                let columns = named_columns(&bound.output);
                let target = (database.as_str(), ObjectKind::View, view.name.as_str());
                let guard = self.guard(target, &columns, true, pos)?;
                self.add_relation(bare_name(&view.name), columns, alias)?;
                if let Some(relation) = self.scope()?.relations.last_mut() {
                    relation.guard = guard;
                    if alias.is_none() {
                        relation.home = Some(Home::of(&database, &view.name));
                    }
                }
                Ok(bound.plan)
            }
            None => match self.circular(name.last()).filter(|_| name.parts.len() == 1 && !name.is_string) {
                Some(error) => Err(self.at(error, pos)),
                None => self.file(name, alias),
            },
        }
    }

    /// What a view in a file reads has to be there when the session is gone.
    fn check_outlives(&self, database: &str, name: &ObjectName) -> Result<()> {
        let is_lasting = self.made_view.as_ref().is_some_and(|(home, _)| !same_name(home, TEMPORARY));
        if !is_lasting || !same_name(database, TEMPORARY) {
            return Ok(());
        }
        let message =
            format!("\"{name}\" is temporary: a view that reads it would be broken when the session ends");
        let hint = "CREATE TEMP VIEW makes one that ends with it";
        Err(self.at(Error::bind(message).with_hint(hint), name.pos()))
    }

    /// A stored table.
    pub(super) fn scan(
        &mut self,
        entry: &Arc<TableEntry>,
        row_id: Option<ColumnId>,
    ) -> (Plan, Vec<(String, ColumnId)>) {
        let mut columns = Vec::new();
        let mut names = Vec::new();
        for (index, column) in entry.table.schema().columns.iter().enumerate() {
            let id = self.columns.add(column.name.clone(), column.ty.clone());
            self.columns.collate(id, column.collation.as_deref().map(Arc::from));
            columns.push(ScanColumn { id, index, key_at: None, full_at: None });
            names.push((column.name.clone(), id));
        }
        self.note_indexed(entry.table.schema(), &columns);
        let (table, fields, filters) = (Arc::clone(entry), Vec::new(), Vec::new());
        (Plan::Scan { table, columns, fields, filters, row_id }, names)
    }

    /// Anything else that can be scanned.
    pub(super) fn source(
        &mut self,
        name: &str,
        source: Arc<dyn TableSource>,
        alias: Option<&TableAlias>,
    ) -> Result<Plan> {
        let (plan, names) = self.source_plan(source);
        self.add_relation(name, names, alias)?;
        Ok(plan)
    }

    pub(super) fn source_plan(&mut self, source: Arc<dyn TableSource>) -> (Plan, Vec<(String, ColumnId)>) {
        let mut columns = Vec::new();
        let mut names = Vec::new();
        for (index, column) in source.columns().iter().enumerate() {
            let id = self.columns.add(column.name.clone(), column.ty.clone());
            columns.push(ScanColumn { id, index, key_at: None, full_at: None });
            names.push((column.name.clone(), id));
        }
        (Plan::Source { source, columns, filters: Vec::new() }, names)
    }

    /// What functions in FROM are told of the session's time zone.
    pub(super) fn zone_argument(&self) -> (String, Value) {
        ("time_zone".to_string(), Value::Varchar(self.context.options.zone.name().to_string()))
    }

    /// Whether a reader takes moments without an offset for the session's, which it has to know then.
    pub(super) fn reads_moments(&self, reader: &str) -> bool {
        const READERS: [&str; 6] =
            ["read_csv", "read_csv_auto", "read_json", "read_json_auto", "read_ndjson", "read_ndjson_auto"];
        !self.context.options.zone.is_utc() && READERS.contains(&reader)
    }

    /// A name that is no table may be a file's.
    fn file(&mut self, name: &ObjectName, alias: Option<&TableAlias>) -> Result<Plan> {
        let path = name.to_string();
        let Some(function) = reader_of(name).and_then(|reader| self.context.catalog.table_function(reader))
        else {
            let error = self.undefined_table(name);
            return Err(self.at(error, name.pos()));
        };
        self.ask_to_read_file(&path, name.pos())?;
        let source = self.placed(
            function.bind(&[Value::Varchar(path.clone())], &[], &|text| self.type_of_text(text)),
            name.pos(),
        )?;
        let stem = path.rsplit(['/', '\\']).next().unwrap_or(&path);
        let stem = stem.split('.').next().unwrap_or(stem).to_string();
        self.source(&stem, source, alias)
    }

    /// The error for an unknown table; CTEs count as near names.
    fn undefined_table(&self, name: &ObjectName) -> Error {
        let path = name.to_string();
        let advice = if name.is_string && self.asked().is_none() {
            self.context.catalog.path_advice(&path)
        } else {
            None
        };
        if let Some(advice) = advice {
            return Error::UndefinedTable { name: path, candidates: Candidates::Advice(advice) };
        }
        if name.is_string && path.contains(['.', '/', '\\']) {
            let advice = format!(
                "a file of this name is read by read_csv('{path}'), read_json, read_parquet, read_arrow, read_xlsx or read_text"
            );
            return Error::UndefinedTable { name: path, candidates: Candidates::Advice(advice) };
        }
        let database = self.database_for(name).unwrap_or_else(|_| self.current_database());
        let entries = self.context.catalog.entries(&database);
        let ctes = self.ctes.iter().flat_map(|frame| frame.ctes.iter().map(|cte| cte.name.as_str()));
        let known = entries.iter().map(|(known, _)| known.as_str()).chain(ctes);
        // The host is asked for a name that nothing has, so it stands alone where it was written alone.
        Error::UndefinedTable { name: name.to_string(), candidates: Candidates::of(name.last(), known) }
    }

    /// A view, bound from its text: it sees neither the scopes nor the CTEs around it.
    pub(super) fn view(&mut self, database: &str, view: &ViewEntry, pos: Pos) -> Result<Bound> {
        if self.view_depth >= VIEW_DEPTH_MAX {
            let message = format!(
                "view \"{}\" is defined by itself, or views nest deeper than {VIEW_DEPTH_MAX}",
                view.name
            );
            return Err(self.at(Error::bind(message), pos));
        }
        let is_made =
            |(home, name): &(String, String)| same_name(home, database) && same_name(name, &view.name);
        if self.made_view.as_ref().is_some_and(is_made) {
            let message = format!("view \"{}\" would be defined by itself", view.name);
            let hint = "give the new view another name, or write what the old one stands for";
            return Err(self.at(Error::bind(message).with_hint(hint), pos));
        }
        let statement = parse_statement(&view.sql)?;
        let crate::parser::ast::StatementKind::Query(query) = &statement.kind else {
            return Err(Error::internal(format!("the text of view \"{}\" is no query", view.name)));
        };
        self.note_source(&statement.sql, || format!("view \"{}\"", view.name));
        let sql = std::mem::replace(&mut self.sql, Arc::clone(&statement.sql));
        let scopes = std::mem::take(&mut self.scopes);
        let ctes = std::mem::take(&mut self.ctes);
        let frames = std::mem::take(&mut self.aggregate_frames);
        let macros = std::mem::take(&mut self.macros);
        let stored_in = self.stored_in.replace(Home::of(database, &view.name));
        let asker = self.ask_as_owner(database, &view.name)?;
        self.view_depth += 1;
        let bound = self.query(query);
        self.view_depth -= 1;
        self.asker = asker;
        self.stored_in = stored_in;
        self.sql = sql;
        self.scopes = scopes;
        self.ctes = ctes;
        self.aggregate_frames = frames;
        self.macros = macros;
        let mut bound = self.placed(bound, pos)?;
        for (column, alias) in bound.output.iter_mut().zip(&view.aliases) {
            column.name.clone_from(alias);
        }
        Ok(bound)
    }

    fn table_function(
        &mut self,
        call: &FunctionCall,
        ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<Plan> {
        let name = call.name.value.to_lowercase();
        let pos = call.name.pos;
        if let Some(host) = self.host_functions(call, pos)? {
            return self.host_table(&host, ordinality, alias, pos);
        }
        if ordinality && self.context.catalog.definition(DefinitionKind::TableMacro, None, &name).is_some() {
            return self.numbered_rows(call, alias);
        }
        if let Some(bound) = self.table_macro_call(call, pos)? {
            self.add_relation(&name, named_columns(&bound.output), alias)?;
            return Ok(bound.plan);
        }
        if let Some(schema) = super::macros::receiver(call) {
            let schema = schema.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
            let message = format!("table function \"{schema}.{}\" does not exist", call.name.value);
            let known = self.macro_names(DefinitionKind::TableMacro);
            let candidates = near_names(&name, known.iter().map(String::as_str));
            return Err(self.at(Error::UndefinedFunction { message, candidates }, pos));
        }
        if super::unnest::gives_rows(&name) {
            let plan = self.unnest_table(&name, call, ordinality, alias)?;
            self.keep_own_name(&name, alias)?;
            return Ok(plan);
        }
        if is_query_function(&name) {
            let bound = self.query_function(&name, call)?;
            self.add_relation(&name, named_columns(&bound.output), alias)?;
            return Ok(bound.plan);
        }
        if super::histogram::is_histogram(&name) {
            let bound = self.histogram(&name, call)?;
            self.add_relation(&name, named_columns(&bound.output), alias)?;
            return Ok(bound.plan);
        }
        if matches!(name.as_str(), "json_each" | "json_tree" | "json_each_text" | "jsonb_each_text") {
            return self.rows_of_structs(call, ordinality, alias);
        }
        if matches!(&*name, "json_to_record" | "jsonb_to_record" | "json_to_recordset" | "jsonb_to_recordset")
        {
            return self.json_records(call, alias);
        }
        if ordinality {
            return self.numbered_rows(call, alias);
        }
        let Some(function) = self.context.catalog.table_function(&name) else {
            let macros = self.macro_names(DefinitionKind::TableMacro);
            let known = self.context.catalog.table_function_names();
            let known: Vec<&str> = known.into_iter().chain(macros.iter().map(String::as_str)).collect();
            let message = format!("table function \"{}\" does not exist", call.name.value);
            let candidates = near_names(&name, known.into_iter());
            let unknown = self.at(Error::UndefinedFunction { message, candidates }, pos);
            return self.value_as_table(call, alias, unknown);
        };
        // A series whose ends come from the tables in front is the elements of a list per row.
        // What looks like a column inside a macro may be a parameter with a constant argument.
        let is_of_rows = matches!(name.as_str(), "range" | "generate_series")
            && (reads_columns(&call.arguments) || reads_queries(&call.arguments));
        if is_of_rows && !self.macros.is_active() {
            return self.series_of_rows(&name, call, alias);
        }
        let (args, mut named) = match self.constant_arguments(call) {
            Ok(constants) => constants,
            Err(_) if is_of_rows => return self.series_of_rows(&name, call, alias),
            Err(error) => return Err(error),
        };
        self.ask_table_function(call, &args)?;
        // Days and months of a series of moments are those of the session's calendar.
        let has_moment = args.iter().any(|arg| matches!(arg, Value::TimestampTz(_)));
        let is_series = has_moment && matches!(function.name(), "range" | "generate_series");
        if is_series || self.reads_moments(function.name()) {
            named.push(self.zone_argument());
        }
        let source = self.placed(function.bind(&args, &named, &|text| self.type_of_text(text)), pos)?;
        let (plan, mut columns) = self.source_plan(source);
        // The one column of a series is called as the series is.
        if let (Some(alias), [only], "range" | "generate_series") =
            (alias, columns.as_mut_slice(), name.as_str())
        {
            only.0.clone_from(&alias.name.value);
        }
        self.add_relation(&name, columns, alias)?;
        self.keep_own_name(&name, alias)?;
        Ok(plan)
    }

    /// The one column of a series can be called as the series is, unless its alias names the column, too.
    fn keep_own_name(&mut self, series: &str, alias: Option<&TableAlias>) -> Result<()> {
        let name = match series {
            "range" => "range",
            "generate_series" => "generate_series",
            "unnest" => "unnest",
            _ => return Ok(()),
        };
        if alias.is_none_or(|alias| !alias.columns.is_empty()) {
            return Ok(());
        }
        if let Some([only]) =
            self.scope()?.relations.last_mut().map(|relation| relation.columns.as_mut_slice())
        {
            only.other_name = Some(name);
        }
        Ok(())
    }

    /// `json_to_record(x) AS t(a INTEGER)`: `(SELECT unnest([from_json(x, '{"a": "INTEGER"}')], max_depth := 2))`, and of
    /// each object of an array; the parser puts the structure behind the arguments.
    fn json_records(&mut self, call: &FunctionCall, alias: Option<&TableAlias>) -> Result<Plan> {
        let (name, pos) = (call.name.value.to_lowercase(), call.name.pos);
        if call.arguments.len() != 2 {
            let message =
                format!("{name} needs the columns of its rows: {name}(x) AS t(a INTEGER, b VARCHAR)");
            return Err(self.at(Error::bind(message), pos));
        }
        let build = super::build::Build(pos);
        let mut list = build.call("from_json", call.arguments.clone());
        if !name.ends_with("set") {
            list = build.call("list_value", vec![list]);
        }
        let call = build.function(&name, vec![list]);
        self.rows_of_structs(&call, false, alias)
    }

    /// `FROM f(x) v`: a function of values is a row of its value, whose column is called as the table is. Fails with `unknown` if there is none either.
    fn value_as_table(
        &mut self,
        call: &FunctionCall,
        alias: Option<&TableAlias>,
        unknown: Error,
    ) -> Result<Plan> {
        let build = super::build::Build(call.name.pos);
        let name = alias.map_or(&call.name, |alias| &alias.name).value.clone();
        let expr = build.expr(ExprKind::Function(call.clone()));
        let item = SelectItem::Expr { expr, alias: Some(build.ident(&name)) };
        let query = Query::of(QueryBody::Select(Box::new(build.select(vec![item], Vec::new()))));
        let bound = match self.query(&query) {
            Ok(bound) => bound,
            Err(error) if error.kind() == inlay_types::error::ErrorKind::UndefinedFunction => {
                return Err(unknown);
            }
            Err(error) => return Err(error),
        };
        self.add_relation(&name, named_columns(&bound.output), alias)?;
        Ok(bound.plan)
    }

    /// A table function WITH ORDINALITY: its rows, numbered as they come.
    fn numbered_rows(&mut self, call: &FunctionCall, alias: Option<&TableAlias>) -> Result<Plan> {
        let plan = self.table_function(call, false, None)?;
        let name = call.name.value.to_lowercase();
        let relation = self.scope()?.relations.pop();
        let made = relation.ok_or_else(|| Error::internal("a table function brought no relation"))?.columns;
        let mut columns: Vec<(String, ColumnId)> =
            made.into_iter().map(|column| (column.name, column.id)).collect();
        if let (Some(alias), [only], "range" | "generate_series") =
            (alias, columns.as_mut_slice(), name.as_str())
        {
            only.0.clone_from(&alias.name.value);
        }
        let window = WindowExpr::row_number()?;
        let id = self.columns.add("ordinality", window.return_type());
        columns.push(("ordinality".to_string(), id));
        self.add_relation(&name, columns, alias)?;
        Ok(Plan::Window { input: Box::new(plan), windows: vec![(id, window)] })
    }

    /// `generate_series(1, t.n)`: `(SELECT unnest(generate_series(1, t.n)))`.
    fn series_of_rows(
        &mut self,
        name: &str,
        call: &FunctionCall,
        alias: Option<&TableAlias>,
    ) -> Result<Plan> {
        let build = super::build::Build(call.name.pos);
        let list = build.call(name, call.arguments.clone());
        let column = alias.map_or(name, |alias| alias.name.value.as_str());
        let item = build.item(build.call("unnest", vec![list]), column);
        let plan = self.written_query(build.select(vec![item], Vec::new()), name, alias, call.name.pos)?;
        self.keep_own_name(name, alias)?;
        Ok(plan)
    }

    /// Values of a call's arguments, which must be constant.
    pub(super) fn constant_arguments(&mut self, call: &FunctionCall) -> Result<ConstantArguments> {
        let place = format!("an argument of {}", call.name.value);
        let mut args = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            args.push(self.constant_now(argument, &place)?);
        }
        let mut named = Vec::with_capacity(call.named.len());
        for (name, argument) in &call.named {
            let name = name.value.to_lowercase();
            let value = match self.constant_now(argument, &place) {
                // Types are texts there, and may stand without quotes.
                Err(error) if TYPE_OPTIONS.contains(&name.as_str()) => {
                    self.constant(&with_names_as_texts(argument), &place).map_err(|_| error)?
                }
                value => value?,
            };
            named.push((name, value));
        }
        Ok((args, named))
    }
}

/// Options of readers whose values are names of types.
const TYPE_OPTIONS: [&str; 6] =
    ["auto_type_candidates", "column_types", "columns", "dtypes", "hive_types", "types"];

/// An expression in which names of columns are texts: `{a: INTEGER}` as `{a: 'INTEGER'}`.
fn with_names_as_texts(written: &crate::parser::ast::Expr) -> crate::parser::ast::Expr {
    use crate::parser::ast::{ExprKind, Literal};
    let mut written = written.clone();
    let mut open = vec![&mut written];
    while let Some(expr) = open.pop() {
        if let ExprKind::Column(parts) = &expr.kind {
            let parts: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
            expr.kind = ExprKind::Literal(Literal::String(parts.join(".")));
        } else {
            open.extend(expr.children_mut());
        }
    }
    written
}

/// Whether an argument reads a query.
fn reads_queries<'a>(arguments: impl IntoIterator<Item = &'a crate::parser::ast::Expr>) -> bool {
    use crate::parser::ast::ExprKind;
    let mut open: Vec<_> = arguments.into_iter().collect();
    while let Some(expr) = open.pop() {
        if matches!(expr.kind, ExprKind::Subquery(_)) {
            return true;
        }
        open.extend(expr.children());
    }
    false
}

/// Whether an argument reads a column.
pub(super) fn reads_columns<'a>(arguments: impl IntoIterator<Item = &'a crate::parser::ast::Expr>) -> bool {
    use crate::parser::ast::ExprKind;
    let mut open: Vec<_> = arguments.into_iter().collect();
    while let Some(expr) = open.pop() {
        if matches!(expr.kind, ExprKind::Column(_)) {
            return true;
        }
        open.extend(expr.children());
    }
    false
}

/// The function that reads a file of this name, if it looks like one's.
fn reader_of(name: &ObjectName) -> Option<&'static str> {
    reader_of_path(&name.to_string(), name.is_string)
}

/// The function that reads the file at a path, if its ending says; `is_path` if it cannot be anything else.
pub(super) fn reader_of_path(path: &str, is_path: bool) -> Option<&'static str> {
    let lower = path.to_lowercase();
    let is_web = lower.starts_with("http://") || lower.starts_with("https://");
    // What stands behind the path of a web address says nothing of the file.
    let lower = if is_web { lower.split(['?', '#']).next().unwrap_or_default() } else { &lower };
    let ends = |endings: &[&str]| endings.iter().any(|ending| lower.ends_with(ending));
    if ends(&[".parquet", ".parq", ".pq"]) {
        return Some("read_parquet");
    }
    if ends(&[".arrow", ".arrows", ".feather", ".ipc"]) {
        return Some("read_arrow");
    }
    if ends(&[".xlsx"]) {
        return Some("read_xlsx");
    }
    // Text files may be packed.
    let plain = [".gz", ".zst"].iter().find_map(|ending| lower.strip_suffix(ending)).unwrap_or(lower);
    let ends = |endings: &[&str]| endings.iter().any(|ending| plain.ends_with(ending));
    if ends(&[".json", ".ndjson", ".jsonl"]) {
        Some("read_json")
    } else if ends(&[".csv", ".tsv", ".tbl"]) || (is_path && ends(&[".txt"])) {
        Some("read_csv")
    } else {
        None
    }
}

fn is_file_name(name: &ObjectName) -> bool {
    name.is_string || reader_of(name).is_some()
}

/// Names and ids of a query's columns.
pub(super) fn named_columns(output: &[Output]) -> Vec<(String, ColumnId)> {
    output.iter().map(|column| (column.name.clone(), column.id)).collect()
}

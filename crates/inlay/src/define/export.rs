//! EXPORT DATABASE and IMPORT DATABASE.
//!
//! ```text
//! dir/schema.sql   schemas, types, sequences, macros, tables (targets of foreign keys first), views, those that others
//!                  read first, materialised ones without their rows; as remarks, views whose queries no longer hold
//! dir/load.sql     COPY of each table, indexes, foreign keys to their own table, around in a circle or to the key of an
//!                  index, where sequences stand, REFRESH of materialised views, comments
//! dir/t.csv        the rows of a table, without generated columns; or .json, .parquet, .arrow, .xlsx
//! ```
//! What is exported is one moment; what is imported is there at once or not at all. load.sql names the files without the
//! directory, so that it can move.

use super::text::{self, is_one_of, literal, quoted};
use crate::execute::Run;
use crate::result::QueryResult;
use crate::text::constraint_keys;
use crate::text::same_name;
use crate::triggers::read_trigger;
use inlay_catalog::access::Door;
use inlay_catalog::{ColumnSchema, Table};
use inlay_sql::parser::{ast, parse_statement, parse_statements};
use inlay_sql::plan::Statement;
use inlay_sql::plan::statement::ExportFormat;
use inlay_storage::store::{
    Definition, DefinitionKind, IndexDefinition, Object, ObjectId, Sequence, State, View,
};
use inlay_storage::{ForeignKey, Origin};
use inlay_types::{Error, LogicalType, Result, Value};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

const SCHEMA_FILE: &str = "schema.sql";
const LOAD_FILE: &str = "load.sql";

/// Everything that a database holds, in the order in which it can be made.
pub(super) struct Contents {
    pub(super) tables: Vec<Arc<Table>>,
    /// Views, and materialised ones.
    views: Vec<ExportedView>,
    /// Views whose queries no longer hold, and why.
    pub(super) broken: Vec<(Arc<View>, String)>,
    /// Remarks on them, for the scripts.
    remarks: Vec<String>,
    definitions: Vec<Arc<Definition>>,
    /// Statements, by what they are on.
    comments: Vec<(ObjectId, String)>,
    sequences: Vec<Arc<Sequence>>,
    indexes: Vec<Arc<IndexDefinition>>,
    /// Triggers, as statements.
    triggers: Vec<String>,
    /// Roles, owners and what was granted, as statements.
    rights: Vec<String>,
}

/// A view, or a table that is the rows of one.
#[derive(Clone)]
enum ExportedView {
    Plain(Arc<View>),
    Materialized(Arc<Table>, Arc<Definition>),
}

impl ExportedView {
    fn name(&self) -> &str {
        match self {
            Self::Plain(view) => &view.name,
            Self::Materialized(_, definition) => &definition.name,
        }
    }

    fn sql(&self) -> &str {
        match self {
            Self::Plain(view) => &view.sql,
            Self::Materialized(_, definition) => &definition.sql,
        }
    }
}

/// The two scripts while they are written.
#[derive(Default)]
pub(super) struct Scripts {
    pub(super) schema: String,
    pub(super) load: String,
}

impl Run<'_> {
    /// Carries out EXPORT DATABASE.
    pub(crate) fn export_database(
        &mut self,
        database: &str,
        directory: &str,
        format: ExportFormat,
        options: &[(String, Value)],
    ) -> Result<QueryResult> {
        self.ask(Door::MakeFolder(directory))?;
        let contents = self.contents(database)?;
        let files = self.database.settings().files();
        if files.is_elsewhere(directory) {
            // The scripts would be written to a local folder of that name, and the rows elsewhere.
            return Err(Error::Unsupported {
                feature: format!("EXPORT DATABASE to '{directory}', which is no local folder,"),
                alternative: Some("export to a local one and copy that, or COPY each table".to_string()),
            });
        }
        files.access().make_folders(directory)?;
        let mut scripts = Scripts::default();
        contents.write_schema(&mut scripts)?;
        let mut rows = 0;
        for (number, table) in contents.tables.iter().enumerate() {
            let (copied, count) = self.export_table(database, directory, table, number, format, options)?;
            scripts.load.push_str(&copied);
            rows += count;
        }
        contents.write_rest(&mut scripts);
        for (file, text) in [(SCHEMA_FILE, &scripts.schema), (LOAD_FILE, &scripts.load)] {
            files.write_text(&Path::new(directory).join(file).to_string_lossy(), text)?;
        }
        Ok(QueryResult::changed(rows))
    }

    /// What a database holds. Whoever asked is told of views whose queries no longer hold.
    pub(super) fn contents(&mut self, database: &str) -> Result<Contents> {
        self.check_not_remote(database, "a copy of the whole of")?;
        let mut contents = Contents::of(&self.transactions.of(self.database, database)?.state())?;
        let views = std::mem::take(&mut contents.views);
        // As they will be made: without the schemas in which this session looks names up.
        self.in_database(database.to_string(), |run| {
            for view in views {
                let Some(reason) = run.why_broken(database, &view)? else {
                    contents.views.push(view);
                    continue;
                };
                let name = text::name(view.name());
                let kept = match &view {
                    ExportedView::Plain(_) => "is kept as text",
                    ExportedView::Materialized(..) => "becomes a table",
                };
                if let Some(host) = run.given.host {
                    host.note(&format!("view {name} {kept}, as its query no longer holds: {reason}"));
                }
                contents.set_aside(view, reason);
            }
            Ok(())
        })?;
        Ok(contents)
    }

    /// Why the query of a view cannot be bound any more, if so.
    fn why_broken(&self, database: &str, view: &ExportedView) -> Result<Option<String>> {
        let (place, own) = inlay_catalog::split_name(view.name());
        let path = format!("{}.{}.{}", quoted(database), quoted(place), quoted(own));
        let sql = match view {
            ExportedView::Plain(_) => format!("SELECT * FROM {path}"),
            ExportedView::Materialized(..) => format!("REFRESH MATERIALIZED VIEW {path}"),
        };
        match self.bind(&parse_statement(&sql)?) {
            Ok(_) => Ok(None),
            // What its owner may not read now he may read again.
            Err(error) if error.sqlstate() == "42501" => Ok(None),
            // Of the whole statement, or a defect.
            Err(error) if ["57014", "53200", "XX000", "XX001"].contains(&error.sqlstate()) => Err(error),
            Err(error) => Ok(Some(error.unplaced().to_string())),
        }
    }

    /// Writes the rows of a table to a file. Gives the COPY that reads it, and the number of rows.
    fn export_table(
        &self,
        database: &str,
        directory: &str,
        table: &Table,
        number: usize,
        format: ExportFormat,
        options: &[(String, Value)],
    ) -> Result<(String, u64)> {
        let schema = table.schema();
        let given = || schema.columns.iter().filter(|column| column.origin.computation().is_none());
        let names: Vec<String> = given().map(|column| column.name.clone()).collect();
        let read: Vec<String> = given().map(|column| exported(column, format)).collect();
        if names.is_empty() {
            return Ok((String::new(), 0));
        }
        let (place, own) = inlay_catalog::split_name(&schema.name);
        let sql =
            format!("SELECT {} FROM {}.{}.{}", read.join(", "), quoted(database), quoted(place), quoted(own));
        let Statement::Query(query) = self.bind(&parse_statement(&sql)?)? else {
            return Err(Error::internal("the rows of a table are no query"));
        };
        let Said { written, read } = said(format, options)?;
        let file = format!("{}.{}", file_stem(&schema.name, number), format.name());
        let path = Path::new(directory).join(&file).to_string_lossy().into_owned();
        let count = self.write_file(query, &path, &names, &written, &Arc::default())?;
        let read: Vec<String> =
            read.iter().map(|(name, value)| format!("{name} {}", option_text(value))).collect();
        let table = text::name(&schema.name);
        let columns = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        Ok((format!("COPY {table} ({columns}) FROM {} ({});\n", literal(&file), read.join(", ")), count))
    }

    /// Carries out IMPORT DATABASE.
    pub(crate) fn import_database(&mut self, database: String, directory: &str) -> Result<QueryResult> {
        self.ask(Door::Read(directory))?;
        self.in_database(database, |run| {
            [SCHEMA_FILE, LOAD_FILE].iter().try_for_each(|file| run.run_script(directory, file))
        })?;
        Ok(QueryResult::done())
    }

    fn run_script(&mut self, directory: &str, file: &str) -> Result<()> {
        let path = Path::new(directory).join(file);
        let shown = path.to_string_lossy();
        let text = self.database.settings().files().read_text(&shown, u64::MAX)?;
        for mut statement in parse_statements(&text)? {
            self.given.interrupt.check()?;
            use ast::StatementKind as Kind;
            match &mut statement.kind {
                Kind::Copy(copy) => {
                    if let ast::Copy::From { path: ast::CopyPath::Text(path), options, .. } = &mut **copy {
                        // The files lie beside the script, wherever they lay when they were written, and what their folder
                        // is called says nothing of their rows.
                        let name = Path::new(&*path).file_name().unwrap_or_default();
                        *path = Path::new(directory).join(name).to_string_lossy().into_owned();
                        options.push(without_partitions());
                    }
                }
                Kind::Begin(_)
                | Kind::Commit
                | Kind::Rollback
                | Kind::Attach { .. }
                | Kind::Detach { .. } => {
                    let message =
                        format!("{shown}: a script of IMPORT DATABASE holds no transactions and databases");
                    return Err(Error::bind(message));
                }
                _ => {}
            }
            let bound = self.bind(&statement)?;
            self.bound(bound)?;
        }
        Ok(())
    }
}

impl Contents {
    pub(super) fn of(state: &State) -> Result<Self> {
        let mut all = Self {
            tables: Vec::new(),
            views: Vec::new(),
            broken: Vec::new(),
            remarks: Vec::new(),
            sequences: Vec::new(),
            indexes: Vec::new(),
            definitions: Vec::new(),
            comments: Vec::new(),
            triggers: Vec::new(),
            rights: Vec::new(),
        };
        let mut objects: Vec<&Object> = state.objects().collect();
        objects.sort_by_key(|object| object.id());
        for object in objects {
            match object {
                Object::Table(slot) => {
                    match state.definition(DefinitionKind::MaterializedView, slot.name()) {
                        Some(view) => {
                            all.views.push(ExportedView::Materialized(slot.table()?, Arc::clone(view)));
                        }
                        None => all.tables.push(slot.table()?),
                    }
                }
                Object::View(view) => all.views.push(ExportedView::Plain(Arc::clone(view))),
                Object::Sequence(sequence) => all.sequences.push(Arc::clone(sequence)),
                Object::Index(index) => all.indexes.push(Arc::clone(index)),
                Object::Definition(definition) => match definition.kind {
                    DefinitionKind::Comment => {
                        let text = comment_text(state, definition);
                        all.comments.extend(definition.owner.zip(text));
                    }
                    DefinitionKind::MaterializedView => {}
                    DefinitionKind::Trigger => all.triggers.extend(create_trigger(state, definition)?),
                    // Written by what they say together, behind all else.
                    DefinitionKind::Role | DefinitionKind::Grant | DefinitionKind::Owner => {}
                    DefinitionKind::Schema
                    | DefinitionKind::Macro
                    | DefinitionKind::TableMacro
                    | DefinitionKind::Function
                    | DefinitionKind::Type => all.definitions.push(Arc::clone(definition)),
                },
            }
        }
        all.rights = super::export_rights::statements(state)?;
        let refers = |table: &Arc<Table>, other: &Arc<Table>| {
            table.schema().foreign_keys.iter().any(|key| same_name(&key.table, &other.schema().name))
        };
        all.sequences.sort_by(|left, right| left.name.cmp(&right.name));
        all.tables = needed_first(all.tables, refers);
        let mentions = |sql: &str, key: &str| text::mentions(sql, inlay_catalog::bare_name(key));
        all.views = needed_first(all.views, |view, other| mentions(view.sql(), other.name()));
        all.definitions = needed_first(all.definitions, |one, other| mentions(&one.sql, &other.name));
        // Schemas before what is in them, types before macros.
        all.definitions.sort_by_key(|definition| match definition.kind {
            DefinitionKind::Schema => 0,
            DefinitionKind::Type => 1,
            DefinitionKind::Function => 2,
            _ => 3,
        });
        Ok(all)
    }

    /// Keeps a view that nobody could make again as a remark; one that has rows as the table that holds them.
    fn set_aside(&mut self, view: ExportedView, reason: String) {
        let (made, rows) = match &view {
            ExportedView::Plain(plain) => (text::create_view(plain), None),
            ExportedView::Materialized(table, definition) => {
                let name = text::name(&definition.name);
                (format!("CREATE MATERIALIZED VIEW {name} AS {}", definition.sql), Some(Arc::clone(table)))
            }
        };
        let said = format!("view {} is not made: {reason}\n{made};", text::name(view.name()));
        self.remarks.extend(said.lines().map(|line| format!("-- {line}")));
        match (view, rows) {
            (ExportedView::Plain(plain), _) => {
                self.comments.retain(|(on, _)| *on != plain.id);
                self.broken.push((plain, reason));
            }
            (_, Some(table)) => {
                for (_, comment) in self.comments.iter_mut().filter(|(on, _)| *on == table.id()) {
                    *comment = comment.replacen("COMMENT ON MATERIALIZED VIEW", "COMMENT ON TABLE", 1);
                }
                self.tables.push(table);
            }
            (ExportedView::Materialized(..), None) => {}
        }
    }

    /// Sequences that are made by CREATE TABLE.
    fn identity(&self, table: &Table, column: &ColumnSchema) -> Option<&Arc<Sequence>> {
        let is_identity = matches!(column.origin, Origin::IdentityAlways | Origin::IdentityByDefault);
        let owns = |sequence: &&Arc<Sequence>| {
            sequence
                .owner
                .as_ref()
                .is_some_and(|(id, name)| *id == table.id() && same_name(name, &column.name))
        };
        self.sequences.iter().find(owns).filter(|_| is_identity)
    }

    /// The foreign keys of a table that can be made with it, or the others: from the first on whose target comes behind it
    /// or is it (then rows could refer to later ones), or gets its key from an index.
    fn foreign_keys(&self, number: usize, early: bool) -> &[ForeignKey] {
        let has_key = |key: &&ForeignKey| {
            let target =
                self.tables[..number].iter().find(|table| same_name(&table.schema().name, &key.table));
            target.is_some_and(|target| {
                let schema = target.schema();
                let is_named = |&column: &usize| {
                    key.referenced.iter().any(|name| same_name(name, &schema.columns[column].name))
                };
                let fits = |columns: &Vec<usize>| {
                    columns.len() == key.referenced.len() && columns.iter().all(is_named)
                };
                fits(&schema.primary_key) || self.unique_keys(target).iter().any(fits)
            })
        };
        let keys = &self.tables[number].schema().foreign_keys;
        let (with_table, behind) = keys.split_at(keys.iter().take_while(has_key).count());
        if early { with_table } else { behind }
    }

    pub(super) fn write_schema(&self, scripts: &mut Scripts) -> Result<()> {
        let out = &mut scripts.schema;
        let mut owned = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for definition in self.definitions.iter().filter(|definition| !is_macro(definition)) {
            let _ = writeln!(out, "{};", text::create_definition(definition)?);
        }
        for table in &self.tables {
            let identities = table.schema().columns.iter().filter_map(|column| self.identity(table, column));
            owned.extend(identities.map(|sequence| sequence.id));
        }
        for sequence in self.sequences.iter().filter(|sequence| !owned.contains(&sequence.id)) {
            let _ = writeln!(out, "{};", text::create_sequence(sequence));
            names.push(sequence.name.clone());
        }
        for definition in self.definitions.iter().filter(|definition| is_macro(definition)) {
            let _ = writeln!(out, "{};", text::create_definition(definition)?);
        }
        for (number, table) in self.tables.iter().enumerate() {
            let schema = table.schema();
            let keys = self.unique_keys(table);
            let identity =
                |column: &ColumnSchema| self.identity(table, column).map(|sequence| sequence.options);
            let keys = text::create_table(schema, &keys, self.foreign_keys(number, true), &identity);
            let _ = writeln!(out, "{keys};");
            for column in &schema.columns {
                let Some(sequence) = self.identity(table, column) else { continue };
                // The name that CREATE TABLE gives it.
                let wanted = format!("{}_{}_seq", schema.name, column.name);
                let (mut made, mut number) = (wanted.clone(), 0);
                while is_one_of(&names, &made) {
                    number += 1;
                    made = format!("{wanted}{number}");
                }
                if made != sequence.name {
                    let (old, new) = (text::name(&made), quoted(inlay_catalog::bare_name(&sequence.name)));
                    let _ = writeln!(out, "ALTER SEQUENCE {old} RENAME TO {new};");
                }
                names.push(sequence.name.clone());
            }
        }
        for sequence in self.sequences.iter().filter(|sequence| !owned.contains(&sequence.id)) {
            let Some((table, column)) = &sequence.owner else { continue };
            let Some(table) = self.tables.iter().find(|other| other.id() == *table) else { continue };
            let (name, table) = (text::name(&sequence.name), text::name(&table.schema().name));
            let _ = writeln!(out, "ALTER SEQUENCE {name} OWNED BY {table}.{};", quoted(column));
        }
        for remark in &self.remarks {
            let _ = writeln!(out, "{remark}");
        }
        for view in &self.views {
            let made = match view {
                ExportedView::Plain(view) => text::create_view(view),
                ExportedView::Materialized(table, definition) => {
                    let columns = table.schema().visible().map(|(_, column)| column.name.as_str());
                    let (name, columns) = (text::name(&definition.name), text::list(columns));
                    format!("CREATE MATERIALIZED VIEW {name} {columns} AS {} WITH NO DATA", definition.sql)
                }
            };
            let _ = writeln!(out, "{made};");
        }
        Ok(())
    }

    /// UNIQUE constraints: keys that are neither the primary one nor those of indexes.
    fn unique_keys(&self, table: &Table) -> Vec<Vec<usize>> {
        let schema = table.schema();
        let indexes = self.indexes.iter().filter(|index| index.table == table.id());
        let mut keys = constraint_keys(schema, indexes.map(|index| &**index));
        keys.retain(|key| *key != schema.primary_key);
        keys
    }

    /// What is made when the rows are there.
    pub(super) fn write_rest(&self, scripts: &mut Scripts) {
        let out = &mut scripts.load;
        for index in &self.indexes {
            let materialized = self.views.iter().filter_map(|view| match view {
                ExportedView::Materialized(table, _) => Some(table),
                ExportedView::Plain(_) => None,
            });
            if let Some(table) =
                self.tables.iter().chain(materialized).find(|table| table.id() == index.table)
            {
                let _ = writeln!(out, "{};", text::create_index(index, table.schema()));
            }
        }
        for (number, table) in self.tables.iter().enumerate() {
            for key in self.foreign_keys(number, false) {
                let (name, key) = (text::name(&table.schema().name), text::foreign_key(table.schema(), key));
                let _ = writeln!(out, "ALTER TABLE {name} ADD {key};");
            }
        }
        for sequence in &self.sequences {
            let (counter, name) = (sequence.counter(), &sequence.name);
            if let Some(last) = counter.last.filter(|last| follows(sequence, *last, counter.next)) {
                // Says what was given last, too.
                let _ = writeln!(out, "SELECT setval({}, {last});", literal(&text::name(name)));
                continue;
            }
            let next = counter.next.or(counter.last).filter(|next| *next != sequence.options.start);
            if let Some(next) = next {
                let _ = writeln!(out, "ALTER SEQUENCE {} RESTART WITH {next};", text::name(name));
            }
            if counter.next.is_none() {
                // It has reached its end.
                let _ = writeln!(out, "SELECT nextval({});", literal(&text::name(name)));
            }
        }
        for view in &self.views {
            if let ExportedView::Materialized(_, definition) = view {
                let _ = writeln!(out, "REFRESH MATERIALIZED VIEW {};", text::name(&definition.name));
            }
        }
        for (_, comment) in &self.comments {
            let _ = writeln!(out, "{comment};");
        }
        // Behind the rows, which set them off where they came from.
        for statement in self.triggers.iter().chain(&self.rights) {
            let _ = writeln!(out, "{statement};");
        }
    }
}

/// The options that the file of a table is written and read with.
struct Said {
    written: Vec<(String, Value)>,
    read: Vec<(String, Value)>,
}

/// Options of a writer that say nothing about how its file is read.
const WRITERS_ALONE: [&str; 11] = [
    "force_quote",
    "codec",
    "compression_level",
    "row_group_size",
    "row_group_size_bytes",
    "chunk_size",
    "write_bloom_filter",
    "bloom_filter_false_positive_ratio",
    "dictionary_size_limit",
    "string_dictionary_page_size_limit",
    "sheet_row_limit",
];

fn said(format: ExportFormat, options: &[(String, Value)]) -> Result<Said> {
    // What is written around or beside the rows would have to be left out when they are read.
    for refused in [
        "prefix",
        "suffix",
        "partition_by",
        "per_thread_output",
        "file_size_bytes",
        "row_groups_per_file",
        "filename_pattern",
        "file_extension",
        "append",
        "write_empty_file",
    ] {
        if options.iter().any(|(name, _)| name == refused) {
            let message = format!(
                "EXPORT DATABASE has no option \"{refused}\": IMPORT DATABASE could not read the files"
            );
            return Err(Error::invalid_argument(message));
        }
    }
    let text = |name: &str, value: &str| (name.to_string(), Value::Varchar(value.to_string()));
    let mut written = vec![text("format", format.name())];
    if matches!(format, ExportFormat::Csv | ExportFormat::Xlsx) {
        written.push(("header".to_string(), Value::Boolean(true)));
    }
    written.retain(|(name, _)| !options.iter().any(|(given, _)| given == name));
    written.extend(options.iter().cloned());
    let is_packed = matches!(format, ExportFormat::Csv | ExportFormat::Json);
    let is_read = |name: &str| {
        !WRITERS_ALONE.contains(&name)
            && match format {
                ExportFormat::Csv | ExportFormat::Xlsx => true,
                ExportFormat::Json => matches!(name, "format" | "array" | "compression"),
                ExportFormat::Parquet | ExportFormat::Arrow => name == "format",
            }
            && (is_packed || name != "compression")
    };
    let mut read: Vec<(String, Value)> = written.iter().filter(|(name, _)| is_read(name)).cloned().collect();
    if format == ExportFormat::Csv {
        // Nothing is left to be found out.
        let is_said = |names: &[&str]| options.iter().any(|(name, _)| names.contains(&name.as_str()));
        if !is_said(&["delim", "sep", "delimiter"]) {
            read.push(text("delim", ","));
        }
        if !is_said(&["quote"]) {
            read.push(text("quote", "\""));
        }
        if !is_said(&["escape"]) {
            let quote = options.iter().find(|(name, _)| name == "quote").map(|(_, value)| value.clone());
            read.push(("escape".to_string(), quote.unwrap_or_else(|| Value::Varchar("\"".to_string()))));
        }
        read.push(("allow_quoted_nulls".to_string(), Value::Boolean(false)));
    }
    Ok(Said { written, read })
}

/// A column as it is written: as text if the format's own form of its type cannot hold every value.
fn exported(column: &ColumnSchema, format: ExportFormat) -> String {
    let name = quoted(&column.name);
    let is_binary = matches!(format, ExportFormat::Parquet | ExportFormat::Arrow);
    let is_narrow = |ty: &LogicalType| matches!(ty, LogicalType::Interval | LogicalType::UHugeInt);
    let is_union = |ty: &LogicalType| matches!(ty, LogicalType::Union(_));
    if is_binary && column.ty.has_part(&is_narrow) && !column.ty.has_part(&is_union) {
        return format!("CAST({name} AS VARCHAR) AS {name}");
    }
    name
}

/// `hive_partitioning false`.
fn without_partitions() -> ast::CopyOption {
    let pos = ast::Pos { line: 1, column: 1 };
    let kind = ast::ExprKind::Literal(ast::Literal::Boolean(false));
    let name = ast::Ident { value: "hive_partitioning".to_string(), pos };
    ast::CopyOption { name, value: Some(ast::Expr { pos, kind }) }
}

/// Whether a sequence that gave `last` goes on with `next`, or ends.
fn follows(sequence: &Sequence, last: i64, next: Option<i64>) -> bool {
    let options = &sequence.options;
    let following = last.checked_add(options.increment);
    let inside = following.filter(|value| (options.min..=options.max).contains(value));
    let wrapped = if options.increment > 0 { options.min } else { options.max };
    next == inside.or_else(|| options.cycle.then_some(wrapped))
}

fn is_macro(definition: &Definition) -> bool {
    matches!(definition.kind, DefinitionKind::Macro | DefinitionKind::TableMacro | DefinitionKind::Function)
}

/// CREATE TRIGGER, of the table as it is called now.
fn create_trigger(state: &State, trigger: &Definition) -> Result<Option<String>> {
    let Some(table) = trigger.owner.and_then(|table| state.object(table)) else { return Ok(None) };
    Ok(Some(read_trigger(trigger)?.text(&text::name(table.name()))))
}

/// COMMENT ON, if what it is on is still there.
fn comment_text(state: &State, comment: &Definition) -> Option<String> {
    let text = literal(&comment.sql);
    let object = state.object(comment.owner?)?;
    let name = text::name(object.name());
    if let Some((_, column)) = comment.name.split_once('.') {
        return Some(format!("COMMENT ON COLUMN {name}.{} IS {text}", quoted(column)));
    }
    let kind = match object {
        Object::Table(_) if state.definition(DefinitionKind::MaterializedView, object.name()).is_some() => {
            "MATERIALIZED VIEW"
        }
        Object::Table(_) => "TABLE",
        Object::View(_) => "VIEW",
        Object::Sequence(_) => "SEQUENCE",
        Object::Index(_) => "INDEX",
        Object::Definition(definition) => match definition.kind {
            DefinitionKind::Schema => "SCHEMA",
            DefinitionKind::Macro => "MACRO",
            DefinitionKind::TableMacro => "MACRO TABLE",
            DefinitionKind::Function => "FUNCTION",
            DefinitionKind::Type => "TYPE",
            DefinitionKind::MaterializedView
            | DefinitionKind::Comment
            | DefinitionKind::Role
            | DefinitionKind::Grant
            | DefinitionKind::Owner
            | DefinitionKind::Trigger => return None,
        },
    };
    Some(format!("COMMENT ON {kind} {name} IS {text}"))
}

/// Items in an order in which each comes behind those it needs, as far as that goes; else in the given order.
fn needed_first<T: Clone>(items: Vec<T>, needs: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut left = items;
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let is_free = |(index, item): (usize, &T)| {
            left.iter().enumerate().all(|(other, needed)| other == index || !needs(item, needed))
        };
        let next = left.iter().enumerate().position(is_free).unwrap_or(0);
        ordered.push(left.remove(next));
    }
    ordered
}

/// The name of a table's file; of a name that is no plain file name, its number.
fn file_stem(name: &str, number: usize) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain && !name.is_empty() { name.to_string() } else { format!("table-{number}") }
}

fn option_text(value: &Value) -> String {
    match value {
        Value::Varchar(text) => literal(text),
        other => other.to_string(),
    }
}

//! ATTACH, DETACH, USE, CHECKPOINT, VACUUM, EXPORT and IMPORT.

use super::scope::same_name;
use super::{Binder, Bound};
use crate::parser::ast::{CopyOption, Ident, ObjectName, Pos, StatementKind};
use crate::plan::statement::{Attach, ExportFormat, is_address};
use crate::plan::{self, Statement};
use inlay_catalog::near_names;
use inlay_types::{Error, LogicalType, Result, Value};

/// What ATTACH knows in its parentheses.
const ATTACH_OPTIONS: [&str; 4] = ["read_only", "read_write", "type", "access_mode"];
/// How DuckDB's files are written, which is nothing here: taken without effect.
const TUNING_OPTIONS: [&str; 5] =
    ["storage_version", "row_group_size", "block_size", "compress", "recovery_mode"];

impl Binder<'_> {
    /// One row per attached database.
    pub(super) fn shown_databases(&mut self) -> Bound {
        let rows = self.context.catalog.names().into_iter().map(|name| vec![Value::Varchar(name)]).collect();
        self.literal_bound(&[("database_name", LogicalType::Varchar)], rows)
    }

    pub(super) fn database_statement(&mut self, kind: &StatementKind) -> Result<Statement> {
        Ok(match kind {
            StatementKind::Checkpoint { database, force } => {
                Statement::Checkpoint { database: self.named_or_current(database.as_ref())?, force: *force }
            }
            StatementKind::Vacuum { table: None, analyze } => {
                Statement::Vacuum { database: self.current_database(), table: None, analyze: *analyze }
            }
            StatementKind::Vacuum { table: Some(name), analyze } => {
                let target = self.table(name)?;
                Statement::Vacuum { database: target.database, table: Some(target.entry), analyze: *analyze }
            }
            StatementKind::Attach { path, path_pos, alias, if_not_exists, options } => {
                self.attach(path, *path_pos, alias.as_ref(), *if_not_exists, options)?
            }
            StatementKind::Detach { name, if_exists } => {
                let known = match self.known_database(name) {
                    Ok(known) => known,
                    Err(_) if *if_exists => name.value.clone(),
                    Err(error) => return Err(error),
                };
                if same_name(&known, &self.context.catalog.current()) {
                    let message = format!("database \"{known}\" is in use");
                    let hint = "USE another one before DETACH";
                    return Err(self.at(Error::bind(message).with_hint(hint), name.pos));
                }
                Statement::Detach { name: known, if_exists: *if_exists }
            }
            StatementKind::Use(name) => self.used(name)?,
            StatementKind::ExportDatabase { database, directory, options } => {
                self.export(database.as_ref(), directory, options)?
            }
            StatementKind::ImportDatabase { directory } => {
                Statement::ImportDatabase { database: self.current_database(), directory: directory.clone() }
            }
            StatementKind::CopyDatabase { source, target, schema, rows } => {
                let (from, to) = (self.known_database(source)?, self.known_database(target)?);
                if same_name(&from, &to) {
                    let message = "COPY FROM DATABASE needs two databases, this is one";
                    return Err(self.at(Error::bind(message), target.pos));
                }
                Statement::CopyDatabase { source: from, target: to, schema: *schema, rows: *rows }
            }
            _ => return Err(Error::internal("no statement about databases")),
        })
    }

    fn named_or_current(&self, name: Option<&Ident>) -> Result<String> {
        name.map_or_else(|| Ok(self.current_database()), |name| self.known_database(name))
    }

    /// `USE database`, `USE schema`, `USE database.schema`.
    fn used(&self, name: &ObjectName) -> Result<Statement> {
        let current = self.current_database();
        let (database, schema) = match name.parts.as_slice() {
            [only] => match self.known_database(only) {
                Ok(database) => (database, None),
                Err(_) if self.context.catalog.has_schema(&current, &only.value) => (current, Some(only)),
                Err(error) => return Err(error),
            },
            [database, schema] => (self.known_database(database)?, Some(schema)),
            _ => return Err(self.at(Error::bind("USE takes a database or a schema"), name.pos())),
        };
        if let Some(schema) =
            schema.filter(|schema| !self.context.catalog.has_schema(&database, &schema.value))
        {
            let known = self.schema_names(&database);
            let near = near_names(&schema.value, known.iter().map(String::as_str));
            let message = super::object::undefined("schema", &schema.value, &near);
            return Err(self.at(Error::bind(message), schema.pos));
        }
        Ok(Statement::Use { database, schema: schema.map(|schema| schema.value.clone()) })
    }

    fn attach(
        &mut self,
        path: &str,
        pos: Pos,
        alias: Option<&Ident>,
        if_not_exists: bool,
        options: &[CopyOption],
    ) -> Result<Statement> {
        let name = match alias {
            Some(alias) => alias.value.clone(),
            None => database_name(path),
        };
        let reserved = ["main", "temp", "system"].iter().any(|reserved| same_name(reserved, &name));
        if reserved || name.is_empty() {
            let message = format!("a database cannot be called \"{name}\"");
            let hint = "choose another name with AS";
            return Err(self.at(Error::bind(message).with_hint(hint), alias.map_or(pos, |alias| alias.pos)));
        }
        let taken = self.context.catalog.names().iter().any(|known| same_name(known, &name));
        if taken && !if_not_exists {
            let error = Error::Duplicate { kind: "database", name };
            return Err(self.at(error, alias.map_or(pos, |alias| alias.pos)));
        }
        let (mut read_only, mut kind) = (None, None);
        for option in options {
            let (key, at) = (option.name.value.to_lowercase(), option.name.pos);
            let value = option.value.as_ref().map(|value| self.constant(value, "an option of ATTACH"));
            let value = value.transpose()?.unwrap_or(Value::Boolean(true));
            let text = value.to_string().to_lowercase();
            let truth = matches!(text.as_str(), "true" | "1" | "on" | "t");
            match (key.as_str(), text.as_str()) {
                ("read_only" | "readonly", _) => read_only = Some(truth),
                ("read_write" | "readwrite", _) => read_only = Some(!truth),
                ("access_mode", "read_only") => read_only = Some(true),
                ("access_mode", "read_write") => read_only = Some(false),
                // A script that says what DuckDB's files are made like means no other data by it.
                ("access_mode", "automatic") | ("type", "inlay" | "duckdb") => {}
                (key, _) if TUNING_OPTIONS.contains(&key) => {}
                // DuckDB's reader of SQLite's files is called by both names.
                ("type", "sqlite" | "sqlite_scanner") => kind = Some("sqlite".to_string()),
                ("type", _) => kind = Some(text),
                ("access_mode", _) => {
                    return Err(self.at(Error::unsupported(format!("ATTACH with {key} {text}")), at));
                }
                _ => {
                    let near = near_names(&key, ATTACH_OPTIONS.into_iter());
                    let message = super::object::undefined("option", &key, &near);
                    return Err(self.at(Error::bind(format!("ATTACH: {message}")), at));
                }
            }
        }
        Ok(Statement::Attach(Attach { path: path.to_string(), name, if_not_exists, read_only, kind }))
    }

    fn export(
        &mut self,
        database: Option<&Ident>,
        directory: &str,
        options: &[CopyOption],
    ) -> Result<Statement> {
        let database = self.named_or_current(database)?;
        let mut options = self.copy_options(options)?;
        let mut format = ExportFormat::Csv;
        if let Some(index) = options.iter().position(|(name, _)| name == "format") {
            let (_, value) = options.remove(index);
            let name = value.to_string().to_lowercase();
            let known = ExportFormat::ALL.into_iter().find(|format| format.name() == name);
            format = known.ok_or_else(|| Error::Unsupported {
                feature: format!("EXPORT DATABASE with FORMAT {name}"),
                alternative: Some("use FORMAT csv, json, parquet, arrow or xlsx".to_string()),
            })?;
        }
        Ok(plan::Statement::ExportDatabase { database, directory: directory.to_string(), format, options })
    }
}

/// The name of a database that is attached without one: its file's, up to the first point.
fn database_name(path: &str) -> String {
    if path.is_empty() || path == ":memory:" {
        return "memory".to_string();
    }
    if is_address(path) {
        // Without a database in it, a server's address says no name of one.
        let address = path.split_once('?').map_or(path, |(address, _)| address);
        let database = address.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
        return database.map_or("inlay", |(_, database)| database).to_string();
    }
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.split('.').next().unwrap_or(file).to_string()
}

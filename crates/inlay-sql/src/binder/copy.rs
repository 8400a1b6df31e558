//! COPY.

use super::change::insertable;
use super::from::reader_of_path;
use super::object::Target;
use super::scope::same_name;
use super::{Binder, Bound, Output};
use crate::parser::ast::{self, Pos};
use crate::plan::{self, Expr};
use inlay_catalog::rights::Privilege;
use inlay_types::{Error, Field, LogicalType, Result, Value};
use std::sync::Arc;

impl Binder<'_> {
    pub(super) fn copy(&mut self, copy: &ast::Copy) -> Result<plan::Statement> {
        match copy {
            ast::Copy::To { query, path, options, .. } => {
                let path = self.copy_path(path)?;
                let bound = self.query(query)?;
                let mut options = self.copy_options(options)?;
                let bound = self.local_moments(bound, &path, &mut options)?;
                Ok(plan::Statement::CopyTo { query: self.finish(bound)?, path, options })
            }
            ast::Copy::From { table, columns, path, path_pos, options } => {
                let (name, path) = (table, self.copy_path(path)?);
                self.ask_to_read_file(&path, *path_pos)?;
                let Target { database, entry: table } = self.table(name)?;
                self.aim_at(&database, &table, name.pos())?;
                let schema = table.table.schema();
                let mut targets = Vec::with_capacity(columns.len());
                for column in columns {
                    targets.push(self.column_index(schema, column, name)?);
                }
                if targets.is_empty() {
                    targets = insertable(schema);
                }
                self.ask_target(Privilege::Insert, schema, &targets, |place| {
                    columns.get(place).map_or(name.pos(), |column| column.pos)
                })?;
                let mut options = self.copy_options(options)?;
                let column = |&target: &usize| {
                    let column = &schema.columns[target];
                    Field::new(column.name.as_str(), column.ty.clone())
                };
                let columns = targets.iter().map(column).collect();
                let source = self.copy_source(&path, *path_pos, &mut options, columns, &table.name)?;
                let checks = self.checks(&database, schema)?;
                let bound = self.insert_query(&database, &table, &targets, source, *path_pos)?;
                Ok(plan::Statement::Insert(Box::new(plan::statement::Insert {
                    database,
                    query: self.finish(bound)?,
                    on_conflict: plan::statement::OnConflict::Fail,
                    checks,
                    returning: None,
                    table: Arc::clone(&table),
                })))
            }
        }
    }

    /// Rows whose moments are texts in the session's time zone, as everywhere else, for files of texts. By a format without
    /// an offset, a file would else be read as other moments.
    fn local_moments(
        &mut self,
        bound: Bound,
        path: &str,
        options: &mut Vec<(String, Value)>,
    ) -> Result<Bound> {
        let option = |names: &[&str]| {
            options.iter().find(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value)
        };
        let is_json = match option(&["format"]).map(|value| value.to_string().to_lowercase()).as_deref() {
            Some("csv") => false,
            Some("json") => true,
            Some(_) => return Ok(bound),
            None => match reader_of_path(path, true) {
                None | Some("read_csv") => false,
                Some("read_json") => true,
                Some(_) => return Ok(bound),
            },
        };
        let is_moment = |ty: &LogicalType| *ty == LogicalType::TimestampTz;
        let format = option(&["timestampformat", "timestamp_format"]).cloned();
        // Of a UNION the writer of CSV has to know the members: texts that would be read as another one are refused.
        let is_for_writer =
            |ty: &LogicalType| !is_json && ty.has_part(&|part| matches!(part, LogicalType::Union(_)));
        let types = bound.output.iter().map(|column| self.columns.ty(column.id));
        let with_moments: Vec<LogicalType> = types.filter(|ty| ty.has_part(&is_moment)).collect();
        if with_moments.iter().any(is_for_writer) {
            options.push(self.zone_argument());
        }
        let has_moment = |ty: &LogicalType| ty.has_part(&is_moment) && !is_for_writer(ty);
        if !with_moments.iter().any(has_moment) {
            return Ok(bound);
        }
        let pos = Pos::default();
        let Bound { plan, output } = bound;
        let (mut items, mut columns) = (Vec::with_capacity(output.len()), Vec::with_capacity(output.len()));
        for Output { id, name } in output {
            let (value, ty) = (self.column(id), self.columns.ty(id));
            let value = if !has_moment(&ty) {
                value
            } else if let Some(format @ Value::Varchar(_)) = &format
                && is_moment(&ty)
            {
                self.call("strftime", vec![value, Expr::literal(format.clone())], pos)?
            } else if is_json && !is_moment(&ty) {
                self.call("to_json", vec![value], pos)?
            } else {
                self.cast_to(value, LogicalType::Varchar, pos)?
            };
            let id = self.columns.add(name.clone(), value.ty());
            items.push((id, value));
            columns.push(Output { id, name });
        }
        Ok(Bound { plan: plan.project(items), output: columns })
    }

    fn copy_path(&mut self, path: &ast::CopyPath) -> Result<String> {
        let given = match path {
            ast::CopyPath::Text(path) => return Ok(path.clone()),
            ast::CopyPath::Parameter(given) => given,
        };
        match self.constant(given, "the file of COPY")? {
            Value::Varchar(path) => Ok(path),
            other => {
                let message = format!("the file of COPY is a text, not the {} {other}", other.logical_type());
                Err(self.at(Error::type_mismatch(message), given.pos))
            }
        }
    }

    /// The rows of a file, in the order of `columns`, which are the columns of the table that takes them. A CSV file's columns have
    /// their names and types, not guessed ones. What folders say has no place among the columns of a file: it is found by its
    /// name, and the others then, too.
    fn copy_source(
        &mut self,
        path: &str,
        pos: Pos,
        options: &mut Vec<(String, Value)>,
        columns: Arc<[Field]>,
        table: &str,
    ) -> Result<Bound> {
        let mut format = None;
        options.retain(|(name, value)| {
            if name == "format" {
                format = Some(value.to_string().to_lowercase());
            }
            name != "format"
        });
        let reader = match format.as_deref() {
            None => reader_of_path(path, true).unwrap_or("read_csv"),
            Some("csv") => "read_csv",
            Some("parquet") => "read_parquet",
            Some("json") => "read_json",
            Some("arrow" | "arrows" | "feather" | "ipc") => "read_arrow",
            Some("xlsx") => "read_xlsx",
            Some(other) => return Err(self.at(Error::unsupported(format!("COPY with FORMAT {other}")), pos)),
        };
        let Some(function) = self.context.catalog.table_function(reader) else {
            return Err(self.at(Error::unsupported(format!("{reader} in this build")), pos));
        };
        let args = [Value::Varchar(path.to_string())];
        let types = |text: &str| self.type_of_text(text);
        let mut folders = self.placed(function.folder_columns(&args, options, &types), pos)?;
        let is_column = |folder: &String| columns.iter().any(|column| same_name(folder, &column.name));
        let is_said = |(name, _): &(String, Value)| name == "hive_partitioning";
        if !folders.is_empty() && !folders.iter().any(is_column) && !options.iter().any(is_said) {
            // A name of somebody's folder that happens to look so.
            folders.clear();
            options.push(("hive_partitioning".into(), Value::Boolean(false)));
        }
        let of_file = |column: &&Field| !folders.iter().any(|folder| same_name(folder, &column.name));
        // What the statement reads as bytea comes as text.
        let as_read = |column: &Field| match self.reads_bytea(&LogicalType::Varchar, &column.ty) {
            true => Field::new(Arc::clone(&column.name), LogicalType::Varchar),
            false => column.clone(),
        };
        let in_file: Arc<[Field]> = columns.iter().filter(of_file).map(as_read).collect();
        let says_types = |(name, _): &(String, Value)| {
            matches!(name.as_str(), "types" | "dtypes" | "column_types" | "columns" | "all_varchar")
        };
        // A Parquet file has a union as a struct: the target says what it is.
        let has_union =
            in_file.iter().any(|column| column.ty.has_part(&|ty| matches!(ty, LogicalType::Union(_))));
        let takes_types =
            matches!(reader, "read_csv" | "read_json" | "read_xlsx") || reader == "read_parquet" && has_union;
        if takes_types && !options.iter().any(says_types) {
            // The types themselves, as those of NULLs: a text could not name every type.
            let values = vec![Value::Null; in_file.len()];
            options.push(("columns".into(), Value::Struct { fields: in_file, values }));
        }
        if reader == "read_csv" && !options.iter().any(|(name, _)| name == "allow_quoted_nulls") {
            // An empty text is written in quotes, NULL without.
            options.push(("allow_quoted_nulls".into(), Value::Varchar("auto".into())));
        }
        if self.reads_moments(reader) {
            options.push(self.zone_argument());
        }
        let source = self.placed(function.bind(&args, options, &types), pos)?;
        let (plan, names) = self.source_plan(source);
        let output: Vec<Output> = names.into_iter().map(|(name, id)| Output { id, name }).collect();
        if folders.is_empty() && matches!(reader, "read_parquet" | "read_arrow") {
            self.check_order(&output, &columns, table, pos)?;
        }
        let output = match folders.is_empty() {
            true => output,
            false => self.by_names(output, &columns, &folders, table, pos)?,
        };
        Ok(Bound { plan, output })
    }

    /// Fails where a file has the columns of the table in another order, which would swap their values without a word.
    fn check_order(&self, output: &[Output], columns: &[Field], table: &str, pos: Pos) -> Result<()> {
        let own: Vec<&str> = output.iter().map(|column| column.name.as_str()).collect();
        let wanted: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        let lower = |names: &[&str]| names.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>();
        let (mut left, mut right) = (lower(&own), lower(&wanted));
        let is_turned = left != right && {
            left.sort_unstable();
            right.sort_unstable();
            left == right
        };
        if !is_turned {
            return Ok(());
        }
        let (own, wanted) = (own.join(", "), wanted.join(", "));
        let message = format!("the file has the columns in the order {own}, and {wanted} are expected");
        let hint = format!(
            "name them as the file does, COPY {table} ({own}) FROM, or INSERT INTO {table} BY NAME FROM the file"
        );
        Err(self.at(Error::bind(message).with_hint(hint), pos))
    }

    /// The columns of files in folders that say columns, in the order of those of the table.
    fn by_names(
        &self,
        mut given: Vec<Output>,
        columns: &[Field],
        folders: &[String],
        table: &str,
        pos: Pos,
    ) -> Result<Vec<Output>> {
        let said = folders.iter().map(|folder| format!("\"{folder}\"")).collect::<Vec<_>>().join(", ");
        let hint = format!(
            "the folders say {said}, so that columns are matched by name; name those of the table behind it, or say \
             hive_partitioning = false"
        );
        let mut output = Vec::with_capacity(columns.len());
        for column in columns {
            let Some(place) = given.iter().position(|known| same_name(&known.name, &column.name)) else {
                let message =
                    format!("the files have no column \"{}\", which table \"{table}\" has", column.name);
                return Err(self.at(Error::bind(message).with_hint(hint), pos));
            };
            output.push(given.remove(place));
        }
        match given.first() {
            None => Ok(output),
            Some(surplus) => {
                let message =
                    format!("table \"{table}\" has no column \"{}\", which the files have", surplus.name);
                Err(self.at(Error::bind(message).with_hint(hint), pos))
            }
        }
    }

    /// Options by lower-case name; one without a value is TRUE.
    pub(super) fn copy_options(&mut self, options: &[ast::CopyOption]) -> Result<Vec<(String, Value)>> {
        let mut values = Vec::with_capacity(options.len());
        for option in options {
            // PostgreSQL's old form: `COPY t TO 'file' CSV HEADER`.
            if option.value.is_none() && option.name.value.eq_ignore_ascii_case("csv") {
                values.push(("format".to_string(), Value::Varchar("csv".to_string())));
                continue;
            }
            let value = match &option.value {
                None => Value::Boolean(true),
                Some(value) => self.constant(value, "an option of COPY")?,
            };
            let name = option.name.value.to_lowercase();
            let name = if name == "delimiter" { "delim".to_string() } else { name };
            values.push((name, value));
        }
        Ok(values)
    }
}

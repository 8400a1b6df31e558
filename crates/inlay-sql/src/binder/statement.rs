//! Statements: each kind to the file that binds it; CALL, PRAGMA and settings here.

use super::object::object_name_of;
use super::scope::same_name;
use super::sqlite_tables::NO_SQLITE;
use super::{Binder, Bound, Output};
use crate::parser::ast::{self, Ident, ObjectName, QueryBody, StatementKind};
use crate::plan::{self, Expr, Plan};
use inlay_catalog::DefinitionKind;
use inlay_types::{Error, LogicalType, Result, Value};

/// Of the settings by which dumps of MySQL and SQLite have rows go in before those they refer to.
const ALWAYS_CHECKED: &str =
    "no effect: keys are checked at all times; INITIALLY DEFERRED has a foreign key wait until COMMIT";

fn lifts_checks(setting: &str, value: Option<&Value>) -> bool {
    let is_off =
        |value: &Value| ["0", "off", "false", "no"].contains(&value.to_string().to_lowercase().as_str());
    matches!(setting, "foreign_key_checks" | "foreign_keys" | "unique_checks") && value.is_some_and(is_off)
}

/// Where the name stands that a statement is about, if it is about one.
fn place_of(kind: &StatementKind) -> ast::Pos {
    use StatementKind as K;
    let name = match kind {
        K::CreateTable(create) => Some(&create.name),
        K::CreateView(create) => Some(&create.name),
        K::CreateIndex(create) => Some(&create.table),
        K::CreateSequence(create) => Some(&create.name),
        K::AlterTable { table, .. } => Some(table),
        K::RenameView { name, .. } => Some(name),
        K::Drop { names, .. } | K::Truncate { tables: names, .. } => names.first(),
        K::Vacuum { table, .. } => table.as_ref(),
        _ => None,
    };
    name.map_or(ast::Pos::default(), ObjectName::pos)
}

impl Binder<'_> {
    pub(super) fn statement(&mut self, statement: &ast::Statement) -> Result<plan::Statement> {
        let bound = self.named_statement(statement)?;
        self.ask_statement(&bound, place_of(&statement.kind))?;
        Ok(bound)
    }

    fn named_statement(&mut self, statement: &ast::Statement) -> Result<plan::Statement> {
        use StatementKind as K;
        use plan::Statement as S;
        if let Some(changing) = self.returning_subqueries(statement)? {
            return Ok(changing);
        }
        match &statement.kind {
            K::Query(query) if checkpoint_call(query).is_some() => {
                self.checkpoint_function(checkpoint_call(query))
            }
            K::Query(query) => {
                let bound = self.query(query)?;
                Ok(S::Query(self.finish(bound)?))
            }
            K::Explain { statement, analyze, format } => {
                let format = match format {
                    ast::ExplainFormat::Text => plan::statement::ExplainFormat::Text,
                    ast::ExplainFormat::Json => plan::statement::ExplainFormat::Json,
                    ast::ExplainFormat::Cluster => plan::statement::ExplainFormat::Cluster,
                    ast::ExplainFormat::Drawn(drawing) => plan::statement::ExplainFormat::Drawn(*drawing),
                };
                Ok(S::Explain { statement: Box::new(self.statement(statement)?), analyze: *analyze, format })
            }
            K::Call(call) => self.call_statement(call),
            K::Object(object) => self.object_statement(object),
            K::With { with, statement } => {
                self.define_ctes(with)?;
                self.statement(statement)
            }
            kind @ (K::CreateTable(_)
            | K::CreateView(_)
            | K::CreateIndex(_)
            | K::CreateSequence(_)
            | K::CreateSecret { .. }
            | K::Drop { .. }
            | K::DropSecret { .. }
            | K::AlterTable { .. }
            | K::RenameView { .. }
            | K::AlterSequence(_)) => self.defining_statement(kind),
            kind @ (K::ChangingWith(_)
            | K::Insert(_)
            | K::Update(_)
            | K::Delete(_)
            | K::Merge(_)
            | K::Truncate { .. }
            | K::Copy(_)) => self.changing_statement(kind),
            kind @ (K::Set { .. }
            | K::Pragma { .. }
            | K::Begin(_)
            | K::Commit
            | K::Rollback
            | K::SetTransaction { .. }
            | K::SetConstraints { .. }
            | K::Savepoint(_)
            | K::RollbackTo(_)
            | K::Release(_)
            | K::Analyze { .. }
            | K::Load
            | K::Owner
            | K::Notice(_)) => self.session_statement(kind),
            kind @ (K::Vacuum { .. }
            | K::Attach { .. }
            | K::Detach { .. }
            | K::Use(_)
            | K::ExportDatabase { .. }
            | K::ImportDatabase { .. }
            | K::CopyDatabase { .. }
            | K::Checkpoint { .. }) => self.database_statement(kind),
            kind @ (K::ShowDatabases
            | K::ShowTables { .. }
            | K::ShowAllTables
            | K::Show { .. }
            | K::Describe(_)
            | K::Summarize(_)) => self.showing_statement(kind),
        }
    }

    /// What makes, changes or drops a table, view, index, sequence or secret.
    fn defining_statement(&mut self, kind: &StatementKind) -> Result<plan::Statement> {
        use StatementKind as K;
        match kind {
            K::CreateTable(create) => self.create_table(create),
            K::CreateView(create) => self.create_view(create),
            K::CreateIndex(create) => self.create_index(create),
            K::CreateSequence(create) => self.create_sequence(create),
            K::CreateSecret { name, options, or_replace, if_not_exists } => {
                // Where something is wrong would be shown with the line of the statement, and that with the secret.
                let options = self.copy_options(options).map_err(Error::unplaced)?;
                Ok(plan::Statement::CreateSecret {
                    name: name.as_ref().map(|name| name.value.clone()),
                    options,
                    or_replace: *or_replace,
                    if_not_exists: *if_not_exists,
                })
            }
            K::Drop { kind, names, if_exists, cascade } => self.drop(*kind, names, *if_exists, *cascade),
            K::DropSecret { name, if_exists } => {
                Ok(plan::Statement::DropSecret { name: name.value.clone(), if_exists: *if_exists })
            }
            K::AlterTable { table, if_exists, actions } => self.alter_table(table, *if_exists, actions),
            K::RenameView { name, if_exists, new_name } => self.rename_view(name, *if_exists, new_name),
            K::AlterSequence(alter) => self.alter_sequence(alter),
            _ => Err(Error::internal("no statement about tables, views, indexes or sequences")),
        }
    }

    /// What changes rows, or copies them.
    fn changing_statement(&mut self, kind: &StatementKind) -> Result<plan::Statement> {
        use StatementKind as K;
        match kind {
            K::ChangingWith(with) => self.changing_with(with),
            K::Insert(insert) => match self.insert_of_sqlite(insert)? {
                Some(done) => Ok(done),
                None => self.insert(insert),
            },
            K::Update(update) => self.update(update),
            K::Delete(delete) => match self.is_table_of_sqlite(&delete.table)? {
                true => self.notice(NO_SQLITE),
                false => self.delete(delete),
            },
            K::Merge(merge) => self.merge(merge),
            K::Truncate { tables, restart_identity, cascade } => {
                self.truncate(tables, *restart_identity, *cascade)
            }
            K::Copy(copy) => self.copy(copy),
            _ => Err(Error::internal("no statement that changes rows")),
        }
    }

    /// What sets something for the session, or opens and ends its transactions; and what has nothing to do.
    fn session_statement(&mut self, kind: &StatementKind) -> Result<plan::Statement> {
        use StatementKind as K;
        use plan::Statement as S;
        Ok(match kind {
            K::Set { name, value } => {
                let value =
                    value.as_ref().map(|value| self.constant(value, "the value of a setting")).transpose()?;
                let name = name.value.to_lowercase();
                match lifts_checks(&name, value.as_ref()) {
                    true => self.notice(ALWAYS_CHECKED)?,
                    false => S::Set { name, value },
                }
            }
            K::Pragma { name, arguments } => self.pragma(name, arguments)?,
            K::Begin(modes) => S::Begin(*modes),
            K::Commit => S::Commit,
            K::Rollback => S::Rollback,
            K::SetTransaction { modes, session } => S::SetTransaction { modes: *modes, session: *session },
            K::SetConstraints { names, deferred } => {
                let names = names.iter().map(|name| name.value.clone()).collect();
                S::SetConstraints { names, deferred: *deferred }
            }
            K::Savepoint(name) => S::Savepoint(name.value.clone()),
            K::RollbackTo(name) => S::RollbackTo(name.value.clone()),
            K::Release(name) => S::Release(name.value.clone()),
            K::Analyze { table, columns } => {
                if let Some(name) = table {
                    let target = self.table(name)?;
                    self.column_indexes(target.entry.table.schema(), columns, name)?;
                }
                S::Nothing("ANALYZE")
            }
            K::Load => S::Nothing("LOAD"),
            K::Owner => S::Nothing("ALTER"),
            K::Notice(message) => self.notice(message)?,
            _ => return Err(Error::internal("no statement about the session")),
        })
    }

    /// What shows names, settings and columns.
    fn showing_statement(&mut self, kind: &StatementKind) -> Result<plan::Statement> {
        use StatementKind as K;
        let bound = match kind {
            K::ShowDatabases => self.shown_databases(),
            K::ShowTables { of } => self.shown_tables(of.as_ref())?,
            K::ShowAllTables => self.all_tables()?,
            K::Show { name } => self.shown_setting(name)?,
            K::Describe(query) => self.described(query)?,
            K::Summarize(query) => return self.summarize_statement(query),
            _ => return Err(Error::internal("no statement that shows something")),
        };
        Ok(plan::Statement::Query(self.finish(bound)?))
    }

    fn call_statement(&mut self, call: &ast::FunctionCall) -> Result<plan::Statement> {
        if self.is_table_macro(&call.name.value)
            || self.context.catalog.table_function(&call.name.value).is_some()
        {
            return self.function_rows(call.name.clone(), call.arguments.clone(), call.named.clone());
        }
        if is_checkpoint(&call.name) {
            return self.checkpoint_function(Some(call));
        }
        let (args, named) = self.constant_arguments(call)?;
        Ok(plan::Statement::Call { name: call.name.value.to_lowercase(), args, named })
    }

    /// A row that says why a statement does nothing.
    pub(super) fn notice(&mut self, message: &str) -> Result<plan::Statement> {
        let row = vec![Value::Varchar(message.to_string())];
        let bound = self.literal_bound(&[("notice", LogicalType::Varchar)], vec![row]);
        Ok(plan::Statement::Query(self.finish(bound)?))
    }

    /// A result of constant rows.
    pub(super) fn literal_bound(&mut self, columns: &[(&str, LogicalType)], rows: Vec<Vec<Value>>) -> Bound {
        let output: Vec<Output> = columns
            .iter()
            .map(|(name, ty)| Output { id: self.columns.add(*name, ty.clone()), name: (*name).to_string() })
            .collect();
        let literal =
            |(value, (_, ty)): (Value, &(&str, LogicalType))| Expr::Literal { value, ty: ty.clone() };
        let rows = rows.into_iter().map(|row| row.into_iter().zip(columns).map(literal).collect()).collect();
        let plan = Plan::Values { columns: output.iter().map(|column| column.id).collect(), rows };
        Bound { plan, output }
    }

    /// `SHOW setting`; `SHOW table` describes it.
    pub(super) fn shown_setting(&mut self, name: &Ident) -> Result<Bound> {
        if let Some(value) = (self.context.setting)(&name.value.to_lowercase()) {
            let row = vec![Value::Varchar(value.to_string())];
            return Ok(self.literal_bound(&[(name.value.as_str(), LogicalType::Varchar)], vec![row]));
        }
        let table = ObjectName { parts: vec![name.clone()], is_string: false };
        self.described(&star_query(table))
    }

    /// `checkpoint([database])` and `force_checkpoint(..)`.
    fn checkpoint_function(&mut self, call: Option<&ast::FunctionCall>) -> Result<plan::Statement> {
        let (args, named) = call.map(|call| self.constant_arguments(call)).transpose()?.unwrap_or_default();
        let force = call.is_some_and(|call| call.name.value.eq_ignore_ascii_case("force_checkpoint"));
        let known = self.context.catalog.names();
        let database = match (args.as_slice(), named.as_slice()) {
            ([], []) => self.current_database(),
            ([Value::Varchar(name)], []) if known.iter().any(|known| same_name(known, name)) => name.clone(),
            _ => {
                let message = "checkpoint takes the name of a database, or nothing";
                let pos = call.map_or(ast::Pos::default(), |call| call.name.pos);
                return Err(self.at(Error::bind(message), pos));
            }
        };
        Ok(plan::Statement::Checkpoint { database, force })
    }

    fn is_table_macro(&self, name: &str) -> bool {
        self.context.catalog.definition(DefinitionKind::TableMacro, None, name).is_some()
    }

    /// `SELECT * FROM name(arguments)`.
    fn function_rows(
        &mut self,
        name: Ident,
        arguments: Vec<ast::Expr>,
        named: Vec<(Ident, ast::Expr)>,
    ) -> Result<plan::Statement> {
        let pos = name.pos;
        let call = ast::FunctionCall {
            name,
            arguments,
            named,
            star: false,
            distinct: false,
            filter: None,
            order_by: Vec::new(),
        };
        let bound = self.query(&star_of(
            ast::TableRef::Function { call, alias: None, lateral: false, ordinality: false },
            pos,
        ))?;
        Ok(plan::Statement::Query(self.finish(bound)?))
    }

    fn pragma(&mut self, name: &Ident, arguments: &[ast::Expr]) -> Result<plan::Statement> {
        let lower = name.value.to_lowercase();
        match (lower.as_str(), arguments) {
            ("verify" | "verify_database" | "integrity_check", []) => {
                let target = plan::statement::VerifyTarget::Database(self.context.catalog.current());
                Ok(plan::Statement::Verify(target))
            }
            ("verify" | "verify_database" | "integrity_check", [path]) => {
                let path = self.constant(path, "PRAGMA")?.to_string();
                Ok(plan::Statement::Verify(plan::statement::VerifyTarget::File(path)))
            }
            ("show_databases", []) => {
                let bound = self.shown_databases();
                Ok(plan::Statement::Query(self.finish(bound)?))
            }
            ("show_tables", []) => {
                let bound = self.shown_tables(None)?;
                Ok(plan::Statement::Query(self.finish(bound)?))
            }
            ("resident", []) => {
                let name = Ident { value: "inlay_resident".into(), pos: name.pos };
                self.function_rows(name, Vec::new(), Vec::new())
            }
            ("storage_info", [table]) => {
                let name = Ident { value: "pragma_storage_info".into(), pos: name.pos };
                self.function_rows(name, vec![table.clone()], Vec::new())
            }
            ("force_checkpoint", []) => {
                Ok(plan::Statement::Checkpoint { database: self.context.catalog.current(), force: true })
            }
            (disabled, []) if disabled.starts_with("disable_") => Ok(plan::Statement::Set {
                name: disabled.replacen("disable_", "enable_", 1),
                value: Some(Value::Boolean(false)),
            }),
            ("table_info", [table]) => {
                let written = self.constant(table, "PRAGMA")?.to_string();
                let known = object_name_of(&written, table.pos);
                if self.object(&known)?.is_none() {
                    return Err(self.at(self.undefined_object(&known), table.pos));
                }
                let arguments = vec![table.clone()];
                self.function_rows(
                    Ident { value: "pragma_table_info".into(), pos: name.pos },
                    arguments,
                    Vec::new(),
                )
            }
            ("show", [table]) => {
                let table_name = self.constant(table, "PRAGMA")?.to_string();
                let ident = Ident { value: table_name, pos: table.pos };
                let described = star_query(ObjectName { parts: vec![ident], is_string: false });
                let bound = self.described(&described)?;
                Ok(plan::Statement::Query(self.finish(bound)?))
            }
            (_, arguments) if self.is_table_macro(&format!("pragma_{lower}")) => {
                let name = Ident { value: format!("pragma_{lower}"), pos: name.pos };
                self.function_rows(name, arguments.to_vec(), Vec::new())
            }
            (_, []) => Ok(plan::Statement::Set { name: lower, value: Some(Value::Boolean(true)) }),
            (_, arguments) => {
                let args = arguments.iter().map(|argument| self.constant(argument, "PRAGMA"));
                Ok(plan::Statement::Call {
                    name: lower,
                    args: args.collect::<Result<_>>()?,
                    named: Vec::new(),
                })
            }
        }
    }
}

fn is_checkpoint(name: &Ident) -> bool {
    ["checkpoint", "force_checkpoint"].iter().any(|known| name.value.eq_ignore_ascii_case(known))
}

/// The call of `SELECT * FROM checkpoint()`, which is a statement.
fn checkpoint_call(query: &ast::Query) -> Option<&ast::FunctionCall> {
    let QueryBody::Select(select) = &query.body else { return None };
    match (select.items.as_slice(), select.from.as_slice()) {
        (
            [ast::SelectItem::Star { qualifier: None, .. }],
            [ast::TableRef::Function { call, lateral: false, .. }],
        ) if query.ctes.is_empty() && select.filter.is_none() => {
            Some(call).filter(|call| is_checkpoint(&call.name))
        }
        _ => None,
    }
}

/// `SELECT * FROM table`.
pub(super) fn star_query(name: ObjectName) -> ast::Query {
    let pos = name.pos();
    star_of(ast::TableRef::Table { name, alias: None }, pos)
}

fn star_of(from: ast::TableRef, pos: ast::Pos) -> ast::Query {
    let star = ast::SelectItem::Star {
        qualifier: None,
        exclude: ast::Excluded::default(),
        replace: vec![],
        rename: vec![],
        pos,
    };
    let select = ast::Select {
        distinct: ast::Distinct::No,
        items: vec![star],
        from: vec![from],
        filter: None,
        group_by: ast::GroupBy::Items(Vec::new()),
        sample: None,
        having: None,
        qualify: None,
        pos,
    };
    ast::Query {
        ctes: Vec::new(),
        recursive: false,
        body: QueryBody::Select(Box::new(select)),
        order_by: ast::OrderBy::Items(Vec::new()),
        limit: None,
        limit_percent: false,
        with_ties: false,
        keys: Vec::new(),
        offset: None,
    }
}

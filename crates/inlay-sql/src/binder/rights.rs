//! Whether who asks may: asked where a name becomes a table, a column, a function, so that errors have their place in the text.
//!
//! ```text
//! FROM t        -> guard: may all columns be read? else the relation keeps a Guard, which each use of a column asks
//! a view's text -> asked as the view's owner; the view itself as who wrote its name
//! other kinds   -> ask_statement, when the statement is bound
//! ```
//! What always holds
//! - Without [`Rights`], or where who asks is a superuser, nothing is asked and nothing is kept.
//! - A statement that is no query is asked about by a match without a wildcard: a new kind does not compile before it says who may do it.
//! - What a plan reads of a guarded table is looked at once more when it is complete, whoever made its expressions.

use super::scope::{Relation, Scope, same_name};
use super::{Binder, Bound};
use crate::parser::ast::{FunctionCall, Pos};

use crate::plan::object::{CommentTarget, ObjectStatement};
use crate::plan::statement::{self, ObjectKind, VerifyTarget};
use crate::plan::{ColumnId, Expr, LambdaKind, Plan, Statement};
use inlay_catalog::rights::{self, Privilege, Subject};
use inlay_catalog::{DefinitionKind, MAIN, SYSTEM, TEMPORARY, TableEntry, TableSchema, bare_name, schema_of};
use inlay_functions::registry::function_names;
use inlay_types::{Error, Result};
use std::rc::Rc;
use std::sync::Arc;

/// What is known of who asks.
pub trait Rights: Sync {
    /// Who came.
    fn session_user(&self) -> &str;
    /// As whom he acts.
    fn current_user(&self) -> &str;
    /// Who is asked about; nobody for a superuser.
    fn asker(&self) -> Option<&str>;
    /// What holds for an object of a database; nothing where everybody may everything.
    fn of(&self, database: &str, subject: Option<Subject>) -> Result<Option<Arc<rights::Rights>>>;
    /// If nothing outside of the database may be reached, whoever asks: what the paths of files begin with that may be.
    fn inside(&self) -> Option<&str>;
    /// The object of a kind that is known by a name.
    fn subject(&self, database: &str, kind: ObjectKind, key: &str) -> Option<Subject>;
    /// The database whose roles decide about files, networks and code.
    fn home(&self) -> String;
    /// Whether a database is at a server, and who asks attached it: its server says what he may do there.
    fn is_lent(&self, database: &str) -> bool;
    /// Whether a table of the host was given with the statement, or by the session itself.
    fn is_given(&self, name: &str) -> bool;
}

/// A table of which not all columns may be read.
pub(super) struct Guard {
    asker: Arc<str>,
    rights: Arc<rights::Rights>,
    subject: Subject,
    kind: &'static str,
    table: String,
    columns: Vec<(ColumnId, String)>,
}

/// The table that a statement changes.
#[derive(Clone)]
pub(super) struct Aim {
    database: String,
    id: u64,
    key: String,
    pos: Pos,
}

/// Functions in FROM that reach nothing but the database, and show no values of others.
const PLAIN_FUNCTIONS: [&str; 6] =
    ["range", "generate_series", "repeat", "repeat_row", "pg_timezone_names", "checkpoint"];
/// Shows the least and greatest values of columns.
const STORAGE_INFO: &str = "pragma_storage_info";
/// Those of the system that say more than names, and what one has to be in to read them; a superuser alone where that is nothing.
const SYSTEM_FUNCTIONS: [(&str, Option<&str>); 7] = [
    ("secrets", None),
    (STORAGE_INFO, None),
    ("resident", Some("pg_monitor")),
    ("memory", Some("pg_monitor")),
    ("resources", Some("pg_monitor")),
    ("temporary_files", Some("pg_monitor")),
    ("file_space", Some("pg_monitor")),
];

const READS_FILES: &str = "pg_read_server_files";
const WRITES_FILES: &str = "pg_write_server_files";
const NETWORK: &str = "inlay_network";
const PYTHON: &str = "inlay_python";
const HOST: &str = "inlay_host";

/// What leads out of the database.
const OF_PROGRAM: [&str; 5] = [READS_FILES, WRITES_FILES, NETWORK, PYTHON, HOST];

fn is_url(path: &str) -> bool {
    path.contains("://")
}

impl Binder<'_> {
    /// Who is asked about, if anybody is.
    pub(super) fn asked(&self) -> Option<(&dyn Rights, &Arc<str>)> {
        Some((self.context.rights?, self.asker.as_ref()?))
    }

    /// What holds for an object, and who asks.
    fn rights_on(
        &self,
        database: &str,
        subject: Option<Subject>,
    ) -> Result<Option<(Arc<rights::Rights>, &Arc<str>)>> {
        let Some((rights, asker)) = self.asked() else { return Ok(None) };
        if same_name(database, TEMPORARY) || same_name(database, SYSTEM) {
            return Ok(None);
        }
        Ok(rights.of(database, subject)?.map(|rights| (rights, asker)))
    }

    fn refusal(&self, asker: &str, what: &str, hint: String, pos: Pos) -> Error {
        let error = Error::Forbidden { message: format!("user \"{asker}\" may not {what}") };
        self.at(error.with_hint(hint), pos)
    }

    /// A macro with the name of a function of the engine takes its place wherever others call it: a superuser's to make.
    pub(super) fn ask_function_name(&self, name: &str, pos: Pos) -> Result<()> {
        let Some(asker) = self.asker.clone() else { return Ok(()) };
        let catalog = self.context.catalog;
        let of_system = |kind| catalog.definition(kind, Some(SYSTEM), name).is_some();
        let of_lambdas = [LambdaKind::Transform, LambdaKind::Filter, LambdaKind::Reduce, LambdaKind::Try];
        let is_known = function_names()
            .chain(of_lambdas.map(LambdaKind::name))
            .any(|known| known.eq_ignore_ascii_case(name))
            || catalog.table_function_names().iter().any(|known| known.eq_ignore_ascii_case(name))
            || [DefinitionKind::Macro, DefinitionKind::TableMacro].into_iter().any(of_system);
        if !is_known {
            return Ok(());
        }
        let what = format!("make a macro with the name of function \"{name}\"");
        Err(self.refusal(&asker, &what, "choose another name; a superuser may".to_string(), pos))
    }

    fn refused(
        &self,
        asker: &str,
        privilege: Privilege,
        (kind, name): (&str, &str),
        column: Option<&str>,
        pos: Pos,
    ) -> Error {
        let word = privilege.word();
        let shown = bare_name(name);
        match column {
            Some(column) => {
                let what = format!("{word} column \"{column}\" of {kind} \"{shown}\"");
                self.refusal(asker, &what, format!("GRANT {word} ({column}) ON {name} TO {asker}"), pos)
            }
            None => {
                let what = match privilege {
                    Privilege::Select | Privilege::Insert | Privilege::Update | Privilege::Delete => {
                        format!("{word} {kind} \"{shown}\"")
                    }
                    _ => format!("{word} of {kind} \"{shown}\""),
                };
                let kind = if matches!(kind, "table" | "view") {
                    String::new()
                } else {
                    format!("{} ", kind.to_uppercase())
                };
                self.refusal(asker, &what, format!("GRANT {word} ON {kind}{name} TO {asker}"), pos)
            }
        }
    }

    /// An error unless who asks may use what is in the schema of an object.
    fn ask_schema(&self, database: &str, key: &str, privilege: Privilege, pos: Pos) -> Result<()> {
        let schema = schema_of(key);
        let Some((rights, _)) = self.asked() else { return Ok(()) };
        let subject = match same_name(schema, MAIN) {
            true => Subject::Main,
            false => match rights.subject(database, ObjectKind::Definition(DefinitionKind::Schema), schema) {
                Some(subject) => subject,
                None => return Ok(()),
            },
        };
        let Some((held, asker)) = self.rights_on(database, Some(subject))? else { return Ok(()) };
        match held.may(asker, subject, privilege, None) {
            true => Ok(()),
            false => Err(self.refused(asker, privilege, ("schema", schema), None, pos)),
        }
    }

    /// An error unless who asks may do something with an object as a whole.
    pub(super) fn ask(
        &self,
        (database, kind, key): (&str, ObjectKind, &str),
        privilege: Privilege,
        pos: Pos,
    ) -> Result<()> {
        let Some((rights, _)) = self.asked() else { return Ok(()) };
        let Some(subject) = rights.subject(database, kind, key) else { return Ok(()) };
        self.ask_schema(database, key, Privilege::Usage, pos)?;
        let Some((held, asker)) = self.rights_on(database, Some(subject))? else { return Ok(()) };
        match held.may(asker, subject, privilege, None) {
            true => Ok(()),
            false => Err(self.refused(asker, privilege, (name_of(kind), key), None, pos)),
        }
    }

    /// An error unless an object belongs to who asks.
    pub(super) fn ask_owner(&self, (database, kind, key): (&str, ObjectKind, &str), pos: Pos) -> Result<()> {
        let Some((rights, _)) = self.asked() else { return Ok(()) };
        let Some(subject) = rights.subject(database, kind, key) else { return Ok(()) };
        let Some((held, asker)) = self.rights_on(database, Some(subject))? else { return Ok(()) };
        // Who owns a schema may take away what is in it.
        let schema = rights.subject(database, ObjectKind::Definition(DefinitionKind::Schema), schema_of(key));
        if held.owns(asker, subject) || schema.is_some_and(|schema| held.owns(asker, schema)) {
            return Ok(());
        }
        let owner = held.owner(subject);
        let (kind, shown) = (name_of(kind), bare_name(key));
        let hint = format!("it belongs to \"{owner}\"");
        Err(self.refusal(asker, &format!("change or drop {kind} \"{shown}\""), hint, pos))
    }

    /// An error unless who asks is a superuser.
    pub(super) fn ask_superuser(&self, what: &str, pos: Pos) -> Result<()> {
        match self.asked() {
            Some((_, asker)) => Err(self.refusal(asker, what, "a superuser may".to_string(), pos)),
            None => Ok(()),
        }
    }

    /// An error unless who asks is in one of the roles that open a door.
    pub(super) fn ask_door(&self, doors: &[&str], what: &str, pos: Pos) -> Result<()> {
        let Some((rights, asker)) = self.asked() else { return Ok(()) };
        if rights.inside().is_some() && doors.iter().any(|door| OF_PROGRAM.contains(door)) {
            let hint = "the program that serves may".to_string();
            return Err(self.refusal(asker, what, hint, pos));
        }
        let held = rights.of(&rights.home(), None)?;
        let Some(held) = held else { return Ok(()) };
        if doors.iter().any(|door| held.passes(asker, door)) {
            return Ok(());
        }
        let hint = doors.first().map_or_else(String::new, |door| format!("GRANT {door} TO {asker}"));
        Err(self.refusal(asker, what, hint, pos))
    }

    pub(super) fn ask_to_read_file(&self, path: &str, pos: Pos) -> Result<()> {
        if self.is_reached(path) {
            return Ok(());
        }
        match is_url(path) {
            true => self.ask_door(&[NETWORK], "read what is behind a network", pos),
            false => self.ask_door(&[READS_FILES], "read files of the server", pos),
        }
    }

    /// Whether a file may be reached by who may reach nothing else outside of the database.
    fn is_reached(&self, path: &str) -> bool {
        let inside = self.asked().and_then(|(rights, _)| rights.inside());
        inside.is_some_and(|reached| path.starts_with(reached))
    }

    pub(super) fn ask_to_write_file(&self, path: &str, pos: Pos) -> Result<()> {
        if self.is_reached(path) {
            return Ok(());
        }
        match is_url(path) {
            true => self.ask_door(&[NETWORK], "write behind a network", pos),
            false => self.ask_door(&[WRITES_FILES], "write files of the server", pos),
        }
    }

    /// An error unless a function in FROM may be called.
    pub(super) fn ask_table_function(&self, call: &FunctionCall, args: &[inlay_types::Value]) -> Result<()> {
        if self.asked().is_none() {
            return Ok(());
        }
        let (name, pos) = (call.name.value.to_lowercase(), call.name.pos);
        if PLAIN_FUNCTIONS.contains(&name.as_str()) {
            return Ok(());
        }
        if name.starts_with("inlay_") || name.starts_with("duckdb_") || name == STORAGE_INFO {
            return self.ask_system_table(&name, pos);
        }
        let path = args.first().map_or_else(String::new, ToString::to_string);
        self.ask_to_read_file(&path, pos)
    }

    /// An error unless a table of the system may be read.
    pub(super) fn ask_system_table(&self, name: &str, pos: Pos) -> Result<()> {
        let lower = name.to_lowercase();
        let own = lower.trim_start_matches("inlay_").trim_start_matches("duckdb_");
        match SYSTEM_FUNCTIONS.iter().find(|(known, _)| *known == own) {
            None => Ok(()),
            Some((_, Some(door))) => self.ask_door(&[door], "see what the server uses", pos),
            Some((_, None)) => self.ask_superuser("see stored values and secrets", pos),
        }
    }

    /// Whether a database is at a server, and who asks attached it.
    pub(super) fn is_lent(&self, database: &str) -> bool {
        self.asked().is_some_and(|(rights, _)| rights.is_lent(database))
    }

    /// An error unless a table of the host may be read.
    pub(super) fn ask_host_table(&self, name: &str, pos: Pos) -> Result<()> {
        if self.asked().is_none_or(|(rights, _)| rights.is_given(name)) {
            return Ok(());
        }
        self.ask_door(&[HOST], "read tables of the program that serves", pos)
    }

    /// An error unless functions of another language may be called: a stored one by EXECUTE, the host's own by its door.
    pub(super) fn ask_function(&self, stored: Option<(&str, &str)>, pos: Pos) -> Result<()> {
        match stored {
            Some((database, key)) => {
                let kind = ObjectKind::Definition(DefinitionKind::Function);
                self.ask((database, kind, key), Privilege::Execute, pos)
            }
            None => self.ask_door(&[HOST, PYTHON], "call functions of the program that serves", pos),
        }
    }

    /// An error unless a sequence may be asked for values.
    pub(super) fn ask_sequence(
        &self,
        database: &str,
        key: &str,
        privilege: Privilege,
        pos: Pos,
    ) -> Result<()> {
        // A default of a table is the table's.
        if self.is_stored {
            return Ok(());
        }
        let target = (database, ObjectKind::Sequence, key);
        if privilege == Privilege::Usage && self.ask(target, Privilege::Update, pos).is_ok() {
            return Ok(());
        }
        self.ask(target, privilege, pos)
    }

    /// Asks for SELECT of a table or view in FROM. What is kept with the relation, if not all of its columns may be read.
    pub(super) fn guard(
        &mut self,
        (database, kind, key): (&str, ObjectKind, &str),
        columns: &[(String, ColumnId)],
        needs_one: bool,
        pos: Pos,
    ) -> Result<Option<Rc<Guard>>> {
        let Some((rights, _)) = self.asked() else { return Ok(None) };
        if same_name(database, TEMPORARY) || same_name(database, SYSTEM) {
            return Ok(None);
        }
        let Some(subject) = rights.subject(database, kind, key) else {
            return self.ask_host_table(key, pos).map(|()| None);
        };
        self.ask_schema(database, key, Privilege::Usage, pos)?;
        let Some((held, asker)) = self.rights_on(database, Some(subject))? else { return Ok(None) };
        if held.may(asker, subject, Privilege::Select, None) {
            return Ok(None);
        }
        let kind = name_of(kind);
        if needs_one && !held.may_any(asker, subject, Privilege::Select) {
            return Err(self.refused(asker, Privilege::Select, (kind, key), None, pos));
        }
        let columns = columns.iter().map(|(name, id)| (*id, name.clone())).collect();
        let asker = Arc::clone(asker);
        Ok(Some(Rc::new(Guard { asker, rights: held, subject, kind, table: key.to_string(), columns })))
    }

    /// As [`Binder::guard`], of a stored table in FROM, whose uses are looked at again when the query is complete.
    pub(super) fn guard_table(
        &mut self,
        database: &str,
        entry: &TableEntry,
        columns: &[(String, ColumnId)],
        pos: Pos,
    ) -> Result<Option<Rc<Guard>>> {
        let guard = self.guard((database, ObjectKind::Table, &entry.name), columns, true, pos)?;
        self.guarded.extend(guard.clone());
        Ok(guard)
    }

    /// The view's query as whoever owns it; gives who asked before.
    pub(super) fn ask_as_owner(&mut self, database: &str, key: &str) -> Result<Option<Arc<str>>> {
        let before = self.asker.clone();
        let Some(rights) = self.context.rights else { return Ok(before) };
        if same_name(database, SYSTEM) {
            self.asker = None;
            return Ok(before);
        }
        // What is temporary is the session's own, and what the host gives is nobody's.
        if same_name(database, TEMPORARY) {
            return Ok(before);
        }
        let Some(subject) = rights.subject(database, ObjectKind::View, key) else { return Ok(before) };
        if let Some(held) = rights.of(database, Some(subject))? {
            let owner = held.owner(subject);
            self.asker = (!held.is_superuser(owner)).then(|| Arc::from(owner));
        }
        Ok(before)
    }

    /// An error unless a column of the scope of a number may be read.
    pub(super) fn ask_column(&self, scope: usize, id: ColumnId, pos: Pos) -> Result<()> {
        if self.asked().is_none() {
            return Ok(());
        }
        let Some(scope) = self.scopes.get(scope) else { return Ok(()) };
        self.ask_column_of(&scope.relations, id, pos)
    }

    fn ask_column_of(&self, relations: &[Relation], id: ColumnId, pos: Pos) -> Result<()> {
        relations
            .iter()
            .filter_map(|relation| relation.guard.as_ref())
            .try_for_each(|guard| self.ask_guard(guard, id, pos))
    }

    fn ask_guard(&self, guard: &Guard, id: ColumnId, pos: Pos) -> Result<()> {
        let mut named =
            guard.columns.iter().filter(|(known, _)| *known == id).map(|(_, name)| name).peekable();
        let Some(first) = named.peek().map(|name| (*name).clone()) else { return Ok(()) };
        let may =
            |name: &String| guard.rights.may(&guard.asker, guard.subject, Privilege::Select, Some(name));
        if named.any(may) {
            return Ok(());
        }
        let object = (guard.kind, guard.table.as_str());
        Err(self.refused(&guard.asker, Privilege::Select, object, Some(&first), pos))
    }

    /// Looks once more at what a complete query reads of guarded tables.
    pub(super) fn ask_whole(&mut self, bound: &Bound) -> Result<()> {
        let guarded = std::mem::take(&mut self.guarded);
        if guarded.is_empty() {
            return Ok(());
        }
        let mut read: Vec<ColumnId> = bound.output.iter().map(|column| column.id).collect();
        columns_read(&bound.plan, &mut read);
        for shared in &self.shared {
            columns_read(&shared.definition, &mut read);
        }
        read.sort_unstable();
        read.dedup();
        for guard in guarded {
            for (id, _) in &guard.columns {
                if read.binary_search(id).is_ok() {
                    self.ask_guard(&guard, *id, Pos::default())?;
                }
            }
        }
        Ok(())
    }

    /// The table that the statement is about to change: what it reads of it is asked for by the scopes that are made of it.
    pub(super) fn aim_at(&mut self, database: &str, table: &TableEntry, pos: Pos) -> Result<()> {
        if self.asked().is_some() {
            self.ask_schema(database, &table.name, Privilege::Usage, pos)?;
            let (database, key) = (database.to_string(), table.name.clone());
            self.aim = Some(Aim { database, id: table.table.id(), key, pos });
        }
        Ok(())
    }

    /// Guards the rows of the table that the statement changes.
    pub(super) fn guard_aim(&mut self, scope: &mut Scope, place: usize) -> Result<()> {
        let Some(aim) = self.aim.clone() else { return Ok(()) };
        let Some(relation) = scope.relations.get_mut(place) else { return Ok(()) };
        let columns: Vec<(String, ColumnId)> =
            relation.columns.iter().map(|column| (column.name.clone(), column.id)).collect();
        let target = (aim.database.as_str(), ObjectKind::Table, aim.key.as_str());
        relation.guard = self.guard(target, &columns, false, aim.pos)?;
        Ok(())
    }

    /// An error unless who asks may do something with columns of the table that the statement changes, or with all of it.
    pub(super) fn ask_target(
        &self,
        privilege: Privilege,
        schema: &TableSchema,
        columns: &[usize],
        pos: impl Fn(usize) -> Pos,
    ) -> Result<()> {
        let Some(aim) = &self.aim else { return Ok(()) };
        let subject = Subject::Object(aim.id);
        let Some((held, asker)) = self.rights_on(&aim.database, Some(subject))? else { return Ok(()) };
        if held.may(asker, subject, privilege, None) {
            return Ok(());
        }
        if columns.is_empty() || !held.may_any(asker, subject, privilege) {
            return Err(self.refused(asker, privilege, ("table", &aim.key), None, aim.pos));
        }
        for (place, &index) in columns.iter().enumerate() {
            let column = &schema.columns[index];
            if column.origin.computation().is_none()
                && !held.may(asker, subject, privilege, Some(&column.name))
            {
                let object = ("table", aim.key.as_str());
                return Err(self.refused(asker, privilege, object, Some(&column.name), pos(place)));
            }
        }
        Ok(())
    }

    /// Asks for what a statement wants besides the tables and functions that it names.
    pub(super) fn ask_statement(&mut self, bound: &Statement, pos: Pos) -> Result<()> {
        if self.asked().is_none() {
            return Ok(());
        }
        self.ask_bound(bound, pos)
    }

    fn ask_bound(&self, bound: &Statement, pos: Pos) -> Result<()> {
        use Statement as S;
        match bound {
            // Asked about where their names are bound.
            S::Query(_)
            | S::Explain { .. }
            | S::Insert(_)
            | S::Update(_)
            | S::Merge(_)
            | S::Changing { .. } => Ok(()),
            S::Delete(delete) => {
                self.ask((&delete.database, ObjectKind::Table, &delete.table.name), Privilege::Delete, pos)
            }
            S::Truncate { database, tables, .. } => tables.iter().try_for_each(|table| {
                self.ask((database, ObjectKind::Table, &table.name), Privilege::Truncate, pos)
            }),
            S::CopyTo { path, .. } => self.ask_to_write_file(path, pos),
            S::CreateTable(create) => {
                self.ask_new_table(&create.database, &create.schema, create.temporary, create.or_replace, pos)
            }
            S::CreateView { database, name, temporary, or_replace, .. } => {
                self.ask_new((database, ObjectKind::View, name), *temporary, *or_replace, pos)
            }
            S::CreateIndex(create) => {
                self.ask_owner((&create.database, ObjectKind::Table, &create.table.name), pos)
            }
            S::CreateSequence { database, sequence, temporary, or_replace, .. } => {
                self.ask_new((database, ObjectKind::Sequence, &sequence.name), *temporary, *or_replace, pos)
            }
            S::Object(object) => self.ask_object(object, pos),
            S::Drop(dropped) => dropped
                .objects
                .iter()
                .try_for_each(|object| self.ask_owner((&object.database, object.kind, &object.name), pos)),
            S::AlterTable(alter) => self.ask_alter(alter, pos),
            S::RenameView { database, name, .. } => self.ask_owner((database, ObjectKind::View, name), pos),
            S::AlterSequence { database, name, .. } => {
                self.ask_owner((database, ObjectKind::Sequence, name), pos)
            }
            S::Vacuum { database, table: Some(table), .. } => {
                self.ask_owner((database, ObjectKind::Table, &table.name), pos)
            }
            S::Vacuum { .. } => self.ask_superuser("VACUUM a whole database", pos),
            S::Call { name, .. } => self.ask_superuser(&format!("CALL {name}"), pos),
            S::CreateSecret { .. } | S::DropSecret { .. } => self.ask_superuser("make or drop secrets", pos),
            S::Checkpoint { .. } => self.ask_superuser("CHECKPOINT", pos),
            S::Verify(VerifyTarget::Database(_)) => self.ask_superuser("verify a database", pos),
            S::Verify(VerifyTarget::File(path)) => self.ask_to_read_file(path, pos),
            S::Attach(attach) if attach.is_remote() => {
                self.ask_door(&[NETWORK], "ATTACH databases at servers", pos)
            }
            S::Attach(_) => self.ask_superuser("ATTACH databases", pos),
            S::Detach { name, .. } if self.is_lent(name) => Ok(()),
            S::Detach { .. } => self.ask_superuser("DETACH databases", pos),
            S::ExportDatabase { .. } => self.ask_superuser("EXPORT databases", pos),
            S::ImportDatabase { .. } => self.ask_superuser("IMPORT databases", pos),
            S::CopyDatabase { .. } => self.ask_superuser("COPY FROM DATABASE", pos),
            // The file of profiles is written as others are.
            S::Set { name, value: Some(path) } if is_output(name) && !path.to_string().is_empty() => {
                self.ask_to_write_file(&path.to_string(), pos)
            }
            // What is the session's own, and what the facade knows the scope of.
            S::Set { .. }
            | S::Begin(_)
            | S::Commit
            | S::Rollback
            | S::SetTransaction { .. }
            | S::SetConstraints { .. }
            | S::Savepoint(_)
            | S::RollbackTo(_)
            | S::Release(_)
            | S::Nothing(_)
            | S::Use { .. } => Ok(()),
        }
    }

    fn ask_object(&self, object: &ObjectStatement, pos: Pos) -> Result<()> {
        use ObjectStatement as S;
        match object {
            S::Define(define) if define.kind == DefinitionKind::Schema => {
                self.ask_database(&define.database, Privilege::Create, pos)
            }
            S::Define(define) => {
                let kind = ObjectKind::Definition(define.kind);
                self.ask_new((&define.database, kind, &define.name), define.temporary, define.or_replace, pos)
            }
            S::DefineFunction(define) => {
                self.ask_door(&[PYTHON], "make functions of another language", pos)?;
                let kind = ObjectKind::Definition(DefinitionKind::Function);
                self.ask_new((&define.database, kind, &define.name), define.temporary, define.or_replace, pos)
            }
            S::CreateMaterializedView { table, .. } => {
                self.ask_new_table(&table.database, &table.schema, table.temporary, table.or_replace, pos)
            }
            S::Refresh { database, table, .. } => {
                self.ask_owner((database, ObjectKind::Table, &table.name), pos)
            }
            S::Comment { database, on, .. } => match on {
                CommentTarget::Relation(name) => self.ask_owner((database, ObjectKind::Table, name), pos),
                CommentTarget::Index(name) => self.ask_owner((database, ObjectKind::Index, name), pos),
                CommentTarget::Definition(kind, name) => {
                    self.ask_owner((database, ObjectKind::Definition(*kind), name), pos)
                }
                CommentTarget::Database => self.ask_superuser("COMMENT ON DATABASE", pos),
            },
            S::Redefine { database, kind, name, altered, .. } => {
                self.ask_owner((database, ObjectKind::Definition(*kind), name), pos)?;
                altered.iter().try_for_each(|alter| self.ask_alter(alter, pos))
            }
            S::RenameIndex { database, name, .. } => self.ask_owner((database, ObjectKind::Index, name), pos),
            S::CreateTrigger(new) => self.ask_owner((&new.database, ObjectKind::Table, &new.table.name), pos),
            S::DropTrigger(dropped) => dropped.target.iter().try_for_each(|(database, table)| {
                self.ask_owner((database, ObjectKind::Table, &table.name), pos)
            }),
            // Roles are asked about where they are known, and a prepared statement when it is bound.
            S::Role(_)
            | S::Prepare { .. }
            | S::Execute { .. }
            | S::Deallocate { .. }
            | S::SetVariable { .. } => Ok(()),
        }
    }

    fn ask_alter(&self, alter: &statement::AlterTable, pos: Pos) -> Result<()> {
        self.ask_owner((&alter.database, ObjectKind::Table, &alter.table.name), pos)?;
        if schema_of(&alter.schema.name) != schema_of(&alter.table.name) {
            self.ask_schema(&alter.database, &alter.schema.name, Privilege::Create, pos)?;
        }
        let known = alter.table.table.schema();
        let new = alter.schema.foreign_keys.iter().filter(|key| !known.foreign_keys.contains(key));
        self.ask_references(&alter.database, &alter.schema, new, pos)
    }

    fn ask_database(&self, database: &str, privilege: Privilege, pos: Pos) -> Result<()> {
        let subject = Subject::Database;
        let Some((held, asker)) = self.rights_on(database, Some(subject))? else { return Ok(()) };
        match held.may(asker, subject, privilege, None) {
            true => Ok(()),
            false => Err(self.refused(asker, privilege, ("database", database), None, pos)),
        }
    }

    fn ask_new(
        &self,
        (database, kind, key): (&str, ObjectKind, &str),
        temporary: bool,
        or_replace: bool,
        pos: Pos,
    ) -> Result<()> {
        if temporary || same_name(database, TEMPORARY) {
            return match self.asked() {
                Some((rights, _)) => self.ask_database(&rights.home(), Privilege::Temporary, pos),
                None => Ok(()),
            };
        }
        self.ask_schema(database, key, Privilege::Usage, pos)?;
        self.ask_schema(database, key, Privilege::Create, pos)?;
        if or_replace { self.ask_owner((database, kind, key), pos) } else { Ok(()) }
    }

    fn ask_new_table(
        &self,
        database: &str,
        schema: &TableSchema,
        temporary: bool,
        or_replace: bool,
        pos: Pos,
    ) -> Result<()> {
        self.ask_new((database, ObjectKind::Table, &schema.name), temporary, or_replace, pos)?;
        self.ask_references(database, schema, schema.foreign_keys.iter(), pos)
    }

    fn ask_references<'k>(
        &self,
        database: &str,
        schema: &TableSchema,
        keys: impl Iterator<Item = &'k inlay_storage::ForeignKey>,
        pos: Pos,
    ) -> Result<()> {
        let Some((rights, _)) = self.asked() else { return Ok(()) };
        for key in keys.filter(|key| !same_name(&key.table, &schema.name)) {
            let Some(subject) = rights.subject(database, ObjectKind::Table, &key.table) else { continue };
            let Some((held, asker)) = self.rights_on(database, Some(subject))? else { continue };
            let may = |column: &String| held.may(asker, subject, Privilege::References, Some(column));
            if !key.referenced.iter().all(may) {
                return Err(self.refused(asker, Privilege::References, ("table", &key.table), None, pos));
            }
        }
        Ok(())
    }

    /// Who a statement is of, for `current_user` and `session_user`.
    pub(super) fn user(&self, name: &str) -> String {
        match self.context.rights {
            Some(rights) if name == "session_user" => rights.session_user().to_string(),
            Some(rights) => rights.current_user().to_string(),
            None => rights::SUPERUSER.to_string(),
        }
    }
}

/// Whether a setting names a file that is written.
fn is_output(setting: &str) -> bool {
    ["profiling_output", "profile_output"].iter().any(|own| own.eq_ignore_ascii_case(setting))
}

/// The columns that the expressions of a plan read.
fn columns_read(plan: &Plan, out: &mut Vec<ColumnId>) {
    super::with_stack(|| {
        match plan {
            // What is handed on under its own name is read by whoever reads that.
            Plan::Project { items, .. } => {
                let is_same =
                    |id: ColumnId, expr: &Expr| matches!(expr, Expr::Column { id: own, .. } if *own == id);
                let made = items.iter().filter(|(id, expr)| !is_same(*id, expr));
                made.for_each(|(_, expr)| out.extend(expr.columns()));
            }
            _ => plan.expressions().into_iter().for_each(|expr| out.extend(expr.columns())),
        }
        plan.inputs().into_iter().for_each(|input| columns_read(input, out));
    });
}

fn name_of(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Table => "table",
        ObjectKind::View => "view",
        ObjectKind::Index => "index",
        ObjectKind::Sequence => "sequence",
        ObjectKind::Definition(kind) => kind.name(),
    }
}

//! Functions of the program that are called when something happens: busy, progress, trace, authorizer, and those of transactions.

use crate::connection::{Db, of, sqlite3};
use crate::failure::{AUTH, CONSTRAINT, ERROR, INTERRUPT, MISUSE, OK, Outcome, export, failed};
use crate::lexer::{Token, Walk};
use crate::pointers::{Destructor, Handle, Raw, User, c_text};
use crate::schema::Table;
use crate::statement::sqlite3_stmt;
use inlay::{Host, HostScope, HostTable, Result};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

type BusyHandler = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type ProgressHandler = unsafe extern "C" fn(*mut c_void) -> c_int;
type Trace = unsafe extern "C" fn(c_uint, *mut c_void, *mut c_void, *mut c_void) -> c_int;
type Authorizer = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    *const c_char,
    *const c_char,
    *const c_char,
    *const c_char,
) -> c_int;
type OldTrace = unsafe extern "C" fn(*mut c_void, *const c_char);
type CommitHook = unsafe extern "C" fn(*mut c_void) -> c_int;
type RollbackHook = unsafe extern "C" fn(*mut c_void);
type UpdateHook = unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char, i64);

/// What a program is asked while something is locked.
#[derive(Clone, Copy)]
pub struct Busy(BusyHandler, Raw);

impl Busy {
    pub fn call(self, turn: c_int) -> bool {
        // SAFETY: the program's function, called as it was declared.
        unsafe { (self.0)(self.1.0, turn) != 0 }
    }
}

/// What was done to a row: SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE.
pub const INSERTED: c_int = 18;
pub const UPDATED: c_int = 23;
pub const DELETED: c_int = 9;

/// What the program is told of a row that was changed.
pub struct Told {
    action: c_int,
    schema: CString,
    table: CString,
}

impl Told {
    pub fn new(action: c_int, schema: Option<&str>, table: &str) -> Self {
        Self { action, schema: c_text(schema.unwrap_or("main")), table: c_text(table) }
    }

    /// Tells the program of rows by their numbers.
    pub fn tell(&self, db: &Arc<Db>, rows: impl Iterator<Item = i64>) {
        let hook = db.hooks.lock().update;
        let Some((function, data)) = hook else { return };
        for row in rows {
            // SAFETY: the program's function, called as it was declared; the names live as long as the call.
            unsafe { function(data.0, self.action, self.schema.as_ptr(), self.table.as_ptr(), row) }
        }
    }
}

/// Whether the program wants to be told of rows that are changed.
pub fn wants_updates(db: &Arc<Db>) -> bool {
    db.hooks.lock().update.is_some()
}

/// The functions of a connection.
#[derive(Default)]
pub struct Hooks {
    pub busy: Option<Busy>,
    progress: Option<(ProgressHandler, Raw)>,
    trace: Option<(c_uint, Trace, Raw)>,
    old_trace: Option<(OldTrace, Raw)>,
    authorizer: Option<(Authorizer, Raw)>,
    commit: Option<(CommitHook, Raw)>,
    rollback: Option<(RollbackHook, Raw)>,
    update: Option<(UpdateHook, Raw)>,
}

/// Who the engine asks while a statement runs.
pub struct Asked(Arc<Db>);

impl Asked {
    fn stops(&self) -> bool {
        let handler = self.0.hooks.lock().progress;
        // SAFETY: the program's function, called as it was declared.
        handler.is_some_and(|(function, data)| unsafe { function(data.0) != 0 })
    }
}

impl Host for Asked {
    fn find_table(&self, _name: &str, _scope: HostScope) -> Result<Option<HostTable>> {
        Ok(None)
    }

    fn is_interrupted(&self) -> bool {
        self.stops()
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(1)
    }
}

/// Who is asked while a statement of a connection runs; nobody unless the program wants to be.
pub fn host(db: &Arc<Db>) -> Option<Arc<dyn Host>> {
    let wants = db.hooks.lock().progress.is_some();
    wants.then(|| Arc::new(Asked(Arc::clone(db))) as Arc<dyn Host>)
}

/// Tells the program that a statement begins, and asks it whether to go on.
pub fn trace(db: &Arc<Db>, statement: &sqlite3_stmt) {
    const STATEMENT: c_uint = 1;
    let (new, old) = {
        let hooks = db.hooks.lock();
        (hooks.trace, hooks.old_trace)
    };
    if let Some((mask, function, data)) = new.filter(|(mask, _, _)| mask & STATEMENT != 0) {
        let _ = mask;
        let text = statement.sql.as_ptr().cast_mut().cast();
        // SAFETY: the program's function, called as it was declared, with the statement that is about to run.
        unsafe { function(STATEMENT, data.0, ptr::from_ref(statement).cast_mut().cast(), text) };
    }
    if let Some((function, data)) = old {
        let text = c_text(&statement.expanded().unwrap_or_default());
        // SAFETY: the program's function, called as it was declared.
        unsafe { function(data.0, text.as_ptr()) };
    }
}

/// Asks the program whether a statement may begin.
pub fn progress(db: &Arc<Db>) -> Outcome<()> {
    if db.hooks.lock().progress.is_some() && Asked(Arc::clone(db)).stops() {
        return Err(failed(INTERRUPT, "interrupted"));
    }
    Ok(())
}

/// Asks the program whether something may be done. Gives its answer, unless that is no.
fn ask(
    db: &Db,
    action: c_int,
    first: Option<&str>,
    second: Option<&str>,
    schema: Option<&str>,
) -> Outcome<c_int> {
    let Some((function, data)) = db.hooks.lock().authorizer else { return Ok(OK) };
    let texts: Vec<Option<CString>> =
        [first, second, schema, None].iter().map(|text| text.map(c_text)).collect();
    let pointer = |index: usize| texts[index].as_ref().map_or(ptr::null(), |text| text.as_ptr());
    // SAFETY: the program's function, called as it was declared; the texts live until it returns.
    let answer = unsafe { function(data.0, action, pointer(0), pointer(1), pointer(2), pointer(3)) };
    const DENY: c_int = 1;
    const IGNORE: c_int = 2;
    match answer {
        OK | IGNORE => Ok(answer),
        DENY => Err(failed(AUTH, "not authorized")),
        _ => Err(failed(ERROR, "authorizer malfunction")),
    }
}

/// Fails unless something may be done.
pub fn authorize(db: &Db, action: c_int, first: Option<&str>, second: Option<&str>) -> Outcome<()> {
    answered(ask(db, action, first, second, None)?)
}

/// What is to be passed over in silence is an error here, as nothing is done by halves.
fn answered(answer: c_int) -> Outcome<()> {
    if answer == OK { Ok(()) } else { Err(failed(AUTH, "not authorized")) }
}

/// Fails unless a definition may be carried out.
pub fn authorize_definition(db: &Db, tokens: &[Token<'_>], tables: &[Arc<Table>]) -> Outcome<()> {
    if db.hooks.lock().authorizer.is_none() {
        return Ok(());
    }
    let mut walk = Walk { tokens, at: 1 };
    let Some(first) = tokens.first() else { return Ok(()) };
    let named = |codes: (c_int, c_int), walk: &mut Walk<'_, '_>, temporary: bool| {
        let _ = walk.words(&["if", "not", "exists"]) || walk.words(&["if", "exists"]);
        let (schema, name) = walk.path().unwrap_or_default();
        let temporary =
            temporary || schema.as_deref().is_some_and(|schema| schema.eq_ignore_ascii_case("temp"));
        let of = if walk.word("on") { walk.name() } else { None };
        let schema = schema.unwrap_or_else(|| if temporary { "temp" } else { "main" }.to_string());
        let code = if temporary { codes.1 } else { codes.0 };
        answered(ask(db, code, Some(&name), of.as_deref(), Some(&schema))?)
    };
    if first.is("create") {
        let temporary = walk.word("temp") || walk.word("temporary");
        walk.word("unique");
        let kinds = [("table", (2, 4)), ("index", (1, 3)), ("view", (8, 6)), ("trigger", (7, 5))];
        if let Some((word, codes)) = kinds.iter().find(|(word, _)| walk.word(word)) {
            named(*codes, &mut walk, temporary)?;
            if *word == "table" && tokens.iter().any(|token| token.is("select")) {
                authorize_statement(db, tokens, tables, false)?;
            }
        }
        return Ok(());
    }
    if first.is("drop") {
        let kinds = [("table", (11, 13)), ("index", (10, 12)), ("view", (17, 15)), ("trigger", (16, 14))];
        return match kinds.iter().find(|(word, _)| walk.word(word)) {
            Some((_, codes)) => named(*codes, &mut walk, false),
            None => Ok(()),
        };
    }
    if first.is("alter") {
        walk.word("table");
        let (schema, name) = walk.path().unwrap_or_default();
        return authorize(db, 26, Some(schema.as_deref().unwrap_or("main")), Some(&name));
    }
    let code = [("attach", 24), ("detach", 25), ("reindex", 27), ("analyze", 28)];
    let Some((_, code)) = code.iter().find(|(word, _)| first.is(word)) else { return Ok(()) };
    walk.word("database");
    authorize(db, *code, walk.name().as_deref(), None)
}

/// Fails unless a statement may read and write what it names.
pub fn authorize_statement(
    db: &Db,
    tokens: &[Token<'_>],
    tables: &[Arc<Table>],
    changes: bool,
) -> Outcome<()> {
    const SELECT: c_int = 21;
    const READ: c_int = 20;
    if db.hooks.lock().authorizer.is_none() {
        return Ok(());
    }
    let first = tokens.first();
    let target = tables.first().map(|table| table.name.as_str());
    if changes {
        let action = [("delete", 9), ("update", 23)]
            .iter()
            .find(|(word, _)| first.is_some_and(|first| first.is(word)));
        authorize(db, action.map_or(18, |(_, action)| *action), target, None)?;
    }
    if tokens.iter().any(|token| token.is("select")) {
        authorize(db, SELECT, None, None)?;
    }
    let is_star = |tokens: &[Token<'_>]| tokens.iter().any(|token| token.is_sign("*"));
    // The table that is changed is read by a star only if it is one of RETURNING.
    let selects = tokens.iter().any(|token| token.is("select"));
    let returning = tokens.iter().rposition(|token| token.is("returning"));
    let of_target = returning.is_some_and(|place| is_star(&tokens[place..]));
    for (place, table) in tables.iter().enumerate() {
        let has_star = match changes && place == 0 {
            true => of_target,
            false => (selects || !changes) && is_star(tokens),
        };
        for column in &table.columns {
            let named = || {
                tokens
                    .iter()
                    .any(|token| token.name().is_some_and(|name| name.eq_ignore_ascii_case(&column.name)))
            };
            if has_star || named() {
                // A column that is to be read as NULL is not read at all.
                let answer = ask(db, READ, Some(&table.name), Some(&column.name), Some("main"));
                answer.and_then(answered).map_err(|failure| match failure.code {
                    AUTH => failed(AUTH, format!("access to {}.{} is prohibited", table.name, column.name)),
                    _ => failure,
                })?;
            }
        }
    }
    Ok(())
}

/// Before rows or names are changed.
pub fn before_change(db: &Arc<Db>) -> Outcome<()> {
    if db.is_read_only {
        return Err(failed(crate::failure::READONLY, "attempt to write a readonly database"));
    }
    if db.state.lock().told.get("query_only").is_some_and(|value| value == "1") {
        return Err(failed(crate::failure::READONLY, "attempt to write a readonly database"));
    }
    if db.is_autocommit() { before_commit(db) } else { Ok(()) }
}

/// Asks the program whether a transaction may end.
pub fn before_commit(db: &Arc<Db>) -> Outcome<()> {
    let hook = db.hooks.lock().commit;
    // SAFETY: the program's function, called as it was declared.
    match hook.map(|(function, data)| unsafe { function(data.0) }) {
        None | Some(0) => Ok(()),
        Some(_) => Err(failed(CONSTRAINT | (2 << 8), "constraint failed")),
    }
}

/// After rows or names were changed.
pub fn after_change(_db: &Arc<Db>) {}

/// Tells the program that a transaction was undone.
pub fn after_rollback(db: &Arc<Db>) {
    let hook = db.hooks.lock().rollback;
    if let Some((function, data)) = hook {
        // SAFETY: the program's function, called as it was declared.
        unsafe { function(data.0) }
    }
}

fn replaced<F>(place: &mut Option<(F, Raw)>, function: Option<F>, data: *mut c_void) -> *mut c_void {
    std::mem::replace(place, function.map(|function| (function, Raw(data))))
        .map_or(ptr::null_mut(), |(_, data)| data.0)
}

export! {
    /// Who is asked whether to wait for what is locked.
    fn sqlite3_busy_handler(connection: Handle<'_, sqlite3>, function: Option<BusyHandler>, data: *mut c_void) -> c_int [MISUSE] {
        let Some(db) = of(connection) else { return MISUSE };
        db.hooks.lock().busy = function.map(|function| Busy(function, Raw(data)));
        OK
    }

    /// Who is asked now and then whether a statement is to end.
    fn sqlite3_progress_handler(connection: Handle<'_, sqlite3>, steps: c_int, function: Option<ProgressHandler>, data: *mut c_void) -> () [()] {
        if let Some(db) = of(connection) {
            db.hooks.lock().progress = function.filter(|_| steps > 0).map(|function| (function, Raw(data)));
        }
    }

    /// Who is told of statements that begin.
    fn sqlite3_trace_v2(connection: Handle<'_, sqlite3>, mask: c_uint, function: Option<Trace>, data: *mut c_void) -> c_int [MISUSE] {
        let Some(db) = of(connection) else { return MISUSE };
        db.hooks.lock().trace = function.filter(|_| mask != 0).map(|function| (mask, function, Raw(data)));
        OK
    }

    /// Who is told of statements that begin; as it was before sqlite3_trace_v2.
    fn sqlite3_trace(connection: Handle<'_, sqlite3>, function: Option<OldTrace>, data: *mut c_void) -> *mut c_void [ptr::null_mut()] {
        of(connection).map_or(ptr::null_mut(), |db| replaced(&mut db.hooks.lock().old_trace, function, data))
    }

    /// Statements are not timed.
    fn sqlite3_profile(_connection: Handle<'_, sqlite3>, _function: *mut c_void, _data: *mut c_void) -> *mut c_void [ptr::null_mut()] {
        ptr::null_mut()
    }

    /// Who is asked whether statements may do what they say.
    fn sqlite3_set_authorizer(connection: Handle<'_, sqlite3>, function: Option<Authorizer>, data: *mut c_void) -> c_int [MISUSE] {
        let Some(db) = of(connection) else { return MISUSE };
        db.hooks.lock().authorizer = function.map(|function| (function, Raw(data)));
        OK
    }

    /// Who is asked before a transaction is committed.
    fn sqlite3_commit_hook(connection: Handle<'_, sqlite3>, function: Option<CommitHook>, data: *mut c_void) -> *mut c_void [ptr::null_mut()] {
        of(connection).map_or(ptr::null_mut(), |db| replaced(&mut db.hooks.lock().commit, function, data))
    }

    /// Who is told of a transaction that was undone.
    fn sqlite3_rollback_hook(connection: Handle<'_, sqlite3>, function: Option<RollbackHook>, data: *mut c_void) -> *mut c_void [ptr::null_mut()] {
        of(connection).map_or(ptr::null_mut(), |db| replaced(&mut db.hooks.lock().rollback, function, data))
    }

    /// Who is told of rows that were changed, when their statement is done.
    fn sqlite3_update_hook(connection: Handle<'_, sqlite3>, function: Option<UpdateHook>, data: *mut c_void) -> *mut c_void [ptr::null_mut()] {
        of(connection).map_or(ptr::null_mut(), |db| {
            // Statements that are ready have to give the numbers of rows from now on.
            let _ = db.schema_changed();
            replaced(&mut db.hooks.lock().update, function, data)
        })
    }

    /// Never called: the log has no pages.
    fn sqlite3_wal_hook(_connection: Handle<'_, sqlite3>, _function: *mut c_void, _data: *mut c_void) -> *mut c_void [ptr::null_mut()] {
        ptr::null_mut()
    }

    /// Never called: files do not shrink in this way.
    fn sqlite3_autovacuum_pages(_connection: Handle<'_, sqlite3>, _function: *mut c_void, data: *mut c_void, destructor: Destructor) -> c_int [MISUSE] {
        drop(User::new(data, destructor));
        OK
    }
}

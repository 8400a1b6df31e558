//! Statements: prepared, run, and read row by row.

use crate::compile::{Compiled, Engine, Output, Work, compile};
use crate::connection::{Db, free_if_last, of, sqlite3};
use crate::failure::{
    BUSY, CONSTRAINT_PRIMARYKEY, CONSTRAINT_UNIQUE, DONE, ERROR, Failure, MISUSE, OK, Outcome, ROW, export,
    failed, plain,
};
use crate::hooks;
use crate::insert::LastId;
use crate::lexer;
use crate::memory::copied;
use crate::pointers::{Handle, behind, c_text, handle, put, release, slice_of, text_of, utf16_of};
use crate::respell::Hidden;
use crate::value::{Cell, sqlite3_value};
use inlay::{Cursor, Host, Parameters, Value};
use parking_lot::{Mutex, MutexGuard};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Instant;

/// A statement, as programs hold it.
pub struct sqlite3_stmt {
    pub db: Arc<Db>,
    pub sql: CString,
    pub inner: Mutex<Inner>,
    /// Names of parameters, with their sign.
    pub names: Vec<Option<CString>>,
    /// While it is, functions of the program that are called cannot look into it.
    is_stepping: AtomicBool,
    /// What they are told of it.
    columns: AtomicI32,
    is_read_only: AtomicBool,
    explains: i32,
}

/// A step that is under way, until it is dropped.
struct Stepping<'a>(&'a sqlite3_stmt);

impl Drop for Stepping<'_> {
    fn drop(&mut self) {
        self.0.is_stepping.store(false, Ordering::Release);
    }
}

/// What a statement is in.
pub struct Inner {
    pub compiled: Compiled,
    pub bound: Vec<Cell>,
    /// Names of columns in UTF-16, made when they are asked for.
    pub wide: Vec<Option<Vec<u16>>>,
    running: Option<Running>,
    pub row: Vec<sqlite3_value>,
    pub has_row: bool,
    /// What columns that are not there give.
    pub none: Box<sqlite3_value>,
    /// How the last step ended.
    last: Result<(), Failure>,
    steps: i32,
}

/// Rows that come.
enum Running {
    Cursor(Box<Cursor>),
    Rows(std::vec::IntoIter<Vec<Cell>>),
}

impl sqlite3_stmt {
    fn new(db: &Arc<Db>, sql: &str, compiled: Compiled) -> Self {
        let names = compiled.parameters.names.iter().map(|name| name.as_deref().map(c_text)).collect();
        let bound = vec![Cell::Null; compiled.parameters.names.len()];
        let (columns, is_read_only, explains) =
            (compiled.columns.len() as i32, compiled.is_read_only, compiled.explains);
        let inner = Inner {
            compiled,
            bound,
            wide: Vec::new(),
            running: None,
            row: Vec::new(),
            has_row: false,
            none: Box::new(sqlite3_value::new(Cell::Null)),
            last: Ok(()),
            steps: 0,
        };
        Self {
            db: Arc::clone(db),
            sql: c_text(sql),
            inner: Mutex::new(inner),
            names,
            is_stepping: AtomicBool::new(false),
            columns: AtomicI32::new(columns),
            is_read_only: AtomicBool::new(is_read_only),
            explains,
        }
    }

    /// What it is in; nothing while it steps, as a function of the program may ask that the step waits for.
    pub fn look(&self) -> Option<MutexGuard<'_, Inner>> {
        if self.is_stepping.load(Ordering::Acquire) { self.inner.try_lock() } else { Some(self.inner.lock()) }
    }

    /// How many columns it gives.
    pub fn column_count(&self) -> c_int {
        self.columns.load(Ordering::Acquire)
    }

    /// The text with the values that are bound.
    pub fn expanded(&self) -> Option<String> {
        let sql = self.sql.to_string_lossy();
        let inner = self.look()?;
        let (tokens, _) = lexer::statement(&sql);
        let mut out = String::new();
        let mut at = 0;
        for token in tokens.iter().filter(|token| token.kind == lexer::Kind::Parameter) {
            let number = inner.compiled.parameters.number(token).unwrap_or(0);
            out.push_str(&sql[at..token.at]);
            out.push_str(&inner.bound.get(number.wrapping_sub(1)).unwrap_or(&Cell::Null).sql());
            at = token.end();
        }
        out.push_str(&sql[at..]);
        Some(out)
    }

    fn step(&self) -> Outcome<c_int> {
        let misused = || failed(MISUSE, "bad parameter or other API misuse");
        let begins = self.look().ok_or_else(misused)?.running.is_none();
        if begins {
            hooks::trace(&self.db, self);
        }
        if self.is_stepping.swap(true, Ordering::AcqRel) {
            return Err(misused());
        }
        let _stepping = Stepping(self);
        let mut inner = self.inner.lock();
        let outcome = inner.step(&self.db, &self.sql);
        self.columns.store(inner.compiled.columns.len() as i32, Ordering::Release);
        self.is_read_only.store(inner.compiled.is_read_only, Ordering::Release);
        inner.last = outcome.clone().map(|_| ());
        if !matches!(outcome, Ok(ROW)) {
            inner.running = None;
            inner.row.clear();
            inner.has_row = false;
        }
        outcome
    }

    /// Forgets rows that come. Gives how the last step ended.
    pub fn reset(&self) -> c_int {
        let last = {
            let Some(mut inner) = self.look() else {
                return self.db.note(Err(failed(MISUSE, "bad parameter or other API misuse")));
            };
            inner.running = None;
            inner.row.clear();
            inner.has_row = false;
            inner.steps = 0;
            std::mem::replace(&mut inner.last, Ok(()))
        };
        self.db.note(last.map(|()| OK))
    }
}

impl Inner {
    /// Whether it was run and not reset.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    fn step(&mut self, db: &Arc<Db>, sql: &CString) -> Outcome<c_int> {
        self.steps += 1;
        self.has_row = false;
        if self.running.is_none() {
            hooks::progress(db)?;
            self.renew(db, sql)?;
            if let Some(running) = self.begin(db)? {
                self.running = Some(running);
            } else {
                return Ok(DONE);
            }
        }
        let next = match &mut self.running {
            Some(Running::Cursor(cursor)) => {
                let host: Option<Arc<dyn Host>> = hooks::host(db);
                let row = cursor.next_row(host.as_ref())?;
                row.map(|row| row.values().iter().map(Cell::of).collect::<Vec<_>>())
            }
            Some(Running::Rows(rows)) => rows.next(),
            None => None,
        };
        let Some(row) = next else { return Ok(DONE) };
        self.row = row.into_iter().map(sqlite3_value::new).collect();
        self.has_row = true;
        Ok(ROW)
    }

    /// Makes the statement ready anew if names may mean something else.
    fn renew(&mut self, db: &Arc<Db>, sql: &CString) -> Outcome<()> {
        if db.generation()? != self.compiled.generation {
            let text = sql.to_string_lossy();
            let (tokens, _) = lexer::statement(&text);
            self.compiled = compile(db, &text, &tokens)?;
            self.wide.clear();
        }
        Ok(())
    }

    /// Runs it. Gives the rows that come, if it gives rows.
    fn begin(&mut self, db: &Arc<Db>) -> Outcome<Option<Running>> {
        match &self.compiled.work {
            Work::Nothing => Ok(None),
            Work::Engine(_) => self.run_engine(db),
            Work::Pragma { schema, name, argument } => {
                let rows = crate::pragma::run(db, schema.as_deref(), name, argument.as_deref())?;
                Ok(Some(Running::Rows(rows.into_iter())))
            }
            Work::Define(definition) => definition.run(db).map(|()| None),
            Work::Begin => {
                db.run("BEGIN")?;
                Ok(None)
            }
            Work::Commit => commit(db).map(|()| None),
            Work::Rollback => {
                if db.is_autocommit() {
                    return Err(failed(ERROR, "cannot rollback - no transaction is active"));
                }
                rollback(db).map(|()| None)
            }
            Work::Savepoint(name) => savepoint(db, name).map(|()| None),
            Work::Release(name) => release_savepoint(db, name).map(|()| None),
            Work::RollbackTo(name) => rollback_to(db, name).map(|()| None),
        }
    }

    fn run_engine(&mut self, db: &Arc<Db>) -> Outcome<Option<Running>> {
        let (start, mut turn) = (Instant::now(), 0);
        let mut again = 0;
        loop {
            let outcome = self.run_once(db);
            let Err(failure) = outcome else { return outcome };
            let Work::Engine(engine) = &self.compiled.work else { return Err(failure) };
            if engine.changes {
                db.state.lock().next_ids.clear();
            }
            const AGAIN_MAX: i32 = 100;
            let is_key = failure.code == CONSTRAINT_UNIQUE || failure.code == CONSTRAINT_PRIMARYKEY;
            let numbers =
                engine.hidden.iter().any(|hidden| matches!(hidden, Hidden::NextId | Hidden::IdOr(_)));
            if failure.primary() == BUSY && db.is_autocommit() && db.waits(start, turn) {
                turn += 1;
            } else if is_key
                && numbers
                && again < AGAIN_MAX
                && db.is_autocommit()
                && self.lost_number(db, &failure)
            {
                // Another connection took the number.
                again += 1;
            } else {
                if engine.rolls_back && !db.is_autocommit() {
                    let _ = rollback(db);
                }
                return Err(self.keyed(failure));
            }
        }
    }

    /// Whether a key that is taken is a number that was chosen here.
    fn lost_number(&self, db: &Arc<Db>, failure: &Failure) -> bool {
        let Work::Engine(engine) = &self.compiled.work else { return false };
        let Some(given) = &engine.given else { return false };
        let name = given.table.rowid_name().unwrap_or_default();
        let chosen = engine.hidden.iter().any(|hidden| match hidden {
            Hidden::NextId => true,
            Hidden::IdOr(number) => self.bound.get(number - 1) == Some(&Cell::Null),
            Hidden::LastRowid | Hidden::Changes | Hidden::TotalChanges => false,
        });
        let _ = db;
        chosen && failure.message.ends_with(&format!(".{name}"))
    }

    /// An error about a key with the code of the primary one, if it is that.
    fn keyed(&self, mut failure: Failure) -> Failure {
        let Work::Engine(engine) = &self.compiled.work else { return failure };
        if let (CONSTRAINT_UNIQUE, Some(given)) = (failure.code, &engine.given) {
            let columns = failure.message.trim_start_matches("UNIQUE constraint failed: ");
            let names: Vec<&str> =
                columns.split(", ").map(|name| name.rsplit('.').next().unwrap_or(name)).collect();
            let is_primary = given.table.keys.iter().any(|(key, is_primary)| {
                *is_primary
                    && key.len() == names.len()
                    && key.iter().zip(&names).all(|(a, b)| a.eq_ignore_ascii_case(b))
            });
            if is_primary {
                failure.code = CONSTRAINT_PRIMARYKEY;
            }
        }
        failure
    }

    fn run_once(&mut self, db: &Arc<Db>) -> Outcome<Option<Running>> {
        let mut bound = self.bound.clone();
        if let Work::Engine(engine) = &self.compiled.work
            && let Some(given) = &engine.given
        {
            given.settle(db, &mut bound)?;
        }
        let Work::Engine(engine) = &self.compiled.work else { return Ok(None) };
        let settled = crate::sequences::settle(db, &engine.counted);
        if engine.changes {
            settled?;
        }
        let numbers = engine.hidden.iter().any(|hidden| matches!(hidden, Hidden::NextId | Hidden::IdOr(_)));
        let common = (numbers && db.is_autocommit()).then(|| db.common()).transpose()?;
        let _alone = common.as_ref().map(|common| common.numbers.lock());
        let mut ids = Ids::default();
        let parameters = parameters(db, engine, bound, &mut ids)?;
        let host = hooks::host(db);
        if !engine.changes {
            let cursor = engine.prepared.stream(&parameters, host.as_ref())?;
            let gives = !self.compiled.columns.is_empty();
            return Ok(gives.then(|| Running::Cursor(Box::new(cursor))));
        }
        hooks::before_change(db)?;
        let answer = engine.prepared.execute_with(&parameters, host.as_ref())?;
        let gives = !self.compiled.columns.is_empty();
        let changed = if gives || engine.told.is_some() {
            answer.row_count() as i64
        } else {
            answer.changed_rows().unwrap_or(0) as i64
        };
        changed_rows(db, engine, changed, &ids)?;
        if let Some(told) = &engine.told {
            let number = |row: inlay::Row| row.values().first().and_then(Value::as_i128);
            let numbers: Vec<i64> = answer
                .rows()
                .filter_map(|row| {
                    row.map(|row| number(row).and_then(|id| i64::try_from(id).ok())).transpose()
                })
                .collect::<Result<_, inlay::Error>>()?;
            told.tell(db, numbers.into_iter());
        }
        if !gives {
            return Ok(None);
        }
        let rows: Vec<Vec<Cell>> = answer
            .rows()
            .map(|row| row.map(|row| row.values().iter().map(Cell::of).collect()))
            .collect::<Result<_, inlay::Error>>()?;
        Ok(Some(Running::Rows(rows.into_iter())))
    }
}

/// Values of the parameters that the program does not see.
#[derive(Default)]
struct Ids {
    values: Vec<i64>,
    /// Whether one of them is a number that was chosen here.
    are_new: bool,
}

/// Values of all parameters, those that the program does not see behind the others. `ids` are the numbers of new rows, by hidden parameter.
fn parameters(db: &Arc<Db>, engine: &Engine, bound: Vec<Cell>, ids: &mut Ids) -> Outcome<Parameters> {
    let mut next = None;
    for hidden in &engine.hidden {
        let mut take = || -> Outcome<i64> {
            let id = match (next, &engine.given) {
                (Some(id), _) => id,
                (None, Some(given)) => db.next_id(given)?,
                (None, None) => 0,
            };
            next = Some(id + 1);
            Ok(id)
        };
        let id = match hidden {
            Hidden::LastRowid => db.last_insert_rowid(),
            Hidden::Changes => db.state.lock().changes,
            Hidden::TotalChanges => db.state.lock().total_changes,
            Hidden::NextId => take()?,
            Hidden::IdOr(number) => match bound.get(number - 1) {
                None | Some(Cell::Null) => take()?,
                Some(Cell::Integer(id)) => *id,
                Some(Cell::Real(real)) if real.fract() == 0.0 => *real as i64,
                Some(Cell::Text(text)) if text.trim().parse::<i64>().is_ok() => {
                    crate::value::integer_of(text)
                }
                Some(Cell::Real(_) | Cell::Text(_) | Cell::Blob(_)) => {
                    return Err(failed(crate::failure::MISMATCH, "datatype mismatch"));
                }
            },
        };
        ids.values.push(id);
    }
    ids.are_new = next.is_some();
    let hidden = ids.values.iter().map(|id| Value::BigInt(*id));
    let positional = bound.into_iter().map(Cell::into_value).chain(hidden).collect();
    Ok(Parameters { positional, named: Vec::new() })
}

/// Notes what a statement changed.
fn changed_rows(db: &Arc<Db>, engine: &Engine, changed: i64, ids: &Ids) -> Outcome<()> {
    let mut greatest = None;
    if let (Some(LastId::Greatest), Some(given), true) = (&engine.last, &engine.given, changed > 0) {
        let name = lexer::ident(given.table.rowid_name().unwrap_or("rowid"));
        let rows = db.rows(&format!("SELECT max({name}) FROM {}", given.path), Vec::new())?;
        greatest = rows.first().and_then(|row| row.first()).and_then(Value::as_i128).map(|id| id as i64);
    }
    let mut state = db.state.lock();
    state.changes = changed;
    state.total_changes += changed;
    let (Some(last), Some(given)) = (&engine.last, &engine.given) else {
        state.next_ids.clear();
        drop(state);
        hooks::after_change(db);
        return Ok(());
    };
    let id = match last {
        LastId::OfTable => {
            if changed > 0 {
                state.last_table = Some(given.path.clone());
            }
            None
        }
        LastId::Hidden(place) => ids.values.get(*place).copied(),
        LastId::Literal(id) => Some(*id),
        LastId::FromHidden(place) => ids.values.get(*place).map(|first| first + changed - 1),
        LastId::Greatest => greatest,
    };
    if let Some(id) = id.filter(|_| changed > 0) {
        (state.last_rowid, state.last_table) = (id, None);
        match state.next_ids.get_mut(&given.key) {
            Some(next) => *next = (*next).max(id + 1),
            // What was looked up for this statement holds for the next one.
            None if ids.are_new && *last != LastId::Greatest => {
                state.next_ids.insert(given.key.clone(), id + 1);
            }
            None => {}
        }
    }
    drop(state);
    hooks::after_change(db);
    Ok(())
}

fn commit(db: &Arc<Db>) -> Outcome<()> {
    if db.is_autocommit() {
        return Err(failed(ERROR, "cannot commit - no transaction is active"));
    }
    hooks::before_commit(db).inspect_err(|_| drop(rollback(db)))?;
    let outcome = db.run("COMMIT");
    let mut state = db.state.lock();
    state.savepoints.clear();
    state.began_by_savepoint = false;
    state.next_ids.clear();
    outcome
}

/// Ends the transaction, and what it did.
pub fn rollback(db: &Arc<Db>) -> Outcome<()> {
    let outcome = db.run("ROLLBACK");
    {
        let mut state = db.state.lock();
        state.savepoints.clear();
        state.began_by_savepoint = false;
    }
    db.schema_changed()?;
    hooks::after_rollback(db);
    outcome
}

fn savepoint(db: &Arc<Db>, name: &str) -> Outcome<()> {
    if db.is_autocommit() {
        db.run("BEGIN")?;
        let mut state = db.state.lock();
        state.savepoints.clear();
        state.began_by_savepoint = true;
    }
    db.run(&format!("SAVEPOINT {}", lexer::ident(&name.to_lowercase())))?;
    db.state.lock().savepoints.push(name.to_lowercase());
    Ok(())
}

fn place_of(db: &Arc<Db>, name: &str) -> Outcome<usize> {
    let state = db.state.lock();
    let place = state.savepoints.iter().rposition(|known| *known == name.to_lowercase());
    place.ok_or_else(|| failed(ERROR, format!("no such savepoint: {name}")))
}

fn release_savepoint(db: &Arc<Db>, name: &str) -> Outcome<()> {
    let place = place_of(db, name)?;
    if place == 0 && db.state.lock().began_by_savepoint {
        return commit(db);
    }
    db.run(&format!("RELEASE SAVEPOINT {}", lexer::ident(&name.to_lowercase())))?;
    db.state.lock().savepoints.truncate(place);
    Ok(())
}

fn rollback_to(db: &Arc<Db>, name: &str) -> Outcome<()> {
    let place = place_of(db, name)?;
    db.run(&format!("ROLLBACK TO SAVEPOINT {}", lexer::ident(&name.to_lowercase())))?;
    db.state.lock().savepoints.truncate(place + 1);
    db.schema_changed()
}

/// Makes the first statement of a text ready. Gives it, or NULL if there is none, and how many bytes it has.
pub fn prepare(db: &Arc<Db>, text: &str) -> Outcome<(*mut sqlite3_stmt, usize)> {
    let (tokens, end) = lexer::statement(text);
    if tokens.is_empty() {
        return Ok((std::ptr::null_mut(), end));
    }
    let compiled = compile(db, text, &tokens)?;
    let sql = text.get(..end).unwrap_or(text);
    let sql = sql.get(tokens.first().map_or(0, |first| first.at)..).unwrap_or(sql);
    // Places of tokens are counted in the text that is kept.
    let (own, _) = lexer::statement(sql);
    let compiled = Compiled { parameters: crate::respell::Parameters::of(&own)?, ..compiled };
    let pointer = handle(sqlite3_stmt::new(db, sql, compiled));
    db.statements.lock().push(pointer as usize);
    Ok((pointer, end))
}

fn prepare_bytes(
    connection: Handle<'_, sqlite3>,
    sql: *const c_char,
    bytes: c_int,
    place: *mut *mut sqlite3_stmt,
    tail: *mut *const c_char,
) -> c_int {
    put(place, std::ptr::null_mut());
    put(tail, sql);
    let Some(db) = of(connection) else { return MISUSE };
    if sql.is_null() {
        return db.note(Err(failed(MISUSE, "bad parameter or other API misuse")));
    }
    db.guard(|| {
        let all = match usize::try_from(bytes) {
            Ok(bytes) => {
                let given = slice_of(sql.cast(), bytes);
                given.split(|byte| *byte == 0).next().unwrap_or_default()
            }
            Err(_) => crate::pointers::bytes_of(sql).unwrap_or_default(),
        };
        let limit = usize::try_from(sqlite3_limit_length(connection)).unwrap_or(usize::MAX);
        if all.len() > limit {
            return Err(failed(crate::failure::TOOBIG, "string or blob too big"));
        }
        let past = |_: &Failure| put(tail, sql.wrapping_add(all.len()));
        let text = std::str::from_utf8(all)
            .map_err(|_| failed(crate::failure::MISMATCH, crate::value::NOT_UTF8))
            .inspect_err(past)?;
        let (statement, used) = prepare(db, text).inspect_err(past)?;
        put(place, statement);
        put(tail, sql.wrapping_add(used));
        Ok(OK)
    })
}

fn sqlite3_limit_length(connection: Handle<'_, sqlite3>) -> c_int {
    const SQL_LENGTH: c_int = 1;
    crate::connection::sqlite3_limit(connection, SQL_LENGTH, -1)
}

/// The statement behind a handle.
pub type S<'a> = Handle<'a, sqlite3_stmt>;

fn finalize(pointer: *mut sqlite3_stmt) -> c_int {
    let Some(statement) = behind(pointer) else { return OK };
    let db = Arc::clone(&statement.db);
    if statement.is_stepping.load(Ordering::Acquire) {
        return db.note(Err(failed(MISUSE, "bad parameter or other API misuse")));
    }
    let code = statement.reset();
    db.statements.lock().retain(|known| *known != pointer as usize);
    release(pointer);
    free_if_last(&db);
    code
}

export! {
    /// Makes the first statement of a text ready.
    fn sqlite3_prepare(connection: Handle<'_, sqlite3>, sql: *const c_char, bytes: c_int, place: *mut *mut sqlite3_stmt, tail: *mut *const c_char) -> c_int [MISUSE] {
        prepare_bytes(connection, sql, bytes, place, tail)
    }

    /// Makes the first statement of a text ready.
    fn sqlite3_prepare_v2(connection: Handle<'_, sqlite3>, sql: *const c_char, bytes: c_int, place: *mut *mut sqlite3_stmt, tail: *mut *const c_char) -> c_int [MISUSE] {
        prepare_bytes(connection, sql, bytes, place, tail)
    }

    /// Makes the first statement of a text ready.
    fn sqlite3_prepare_v3(connection: Handle<'_, sqlite3>, sql: *const c_char, bytes: c_int, _flags: c_uint, place: *mut *mut sqlite3_stmt, tail: *mut *const c_char) -> c_int [MISUSE] {
        prepare_bytes(connection, sql, bytes, place, tail)
    }

    /// Makes the first statement of a text in UTF-16 ready.
    fn sqlite3_prepare16(connection: Handle<'_, sqlite3>, sql: *const c_void, bytes: c_int, place: *mut *mut sqlite3_stmt, tail: *mut *const c_void) -> c_int [MISUSE] {
        prepare_wide(connection, sql, bytes, place, tail)
    }

    /// Makes the first statement of a text in UTF-16 ready.
    fn sqlite3_prepare16_v2(connection: Handle<'_, sqlite3>, sql: *const c_void, bytes: c_int, place: *mut *mut sqlite3_stmt, tail: *mut *const c_void) -> c_int [MISUSE] {
        prepare_wide(connection, sql, bytes, place, tail)
    }

    /// Makes the first statement of a text in UTF-16 ready.
    fn sqlite3_prepare16_v3(connection: Handle<'_, sqlite3>, sql: *const c_void, bytes: c_int, _flags: c_uint, place: *mut *mut sqlite3_stmt, tail: *mut *const c_void) -> c_int [MISUSE] {
        prepare_wide(connection, sql, bytes, place, tail)
    }

    /// Goes to the next row, or runs the statement.
    fn sqlite3_step(statement: S<'_>) -> c_int [crate::failure::INTERNAL] {
        let Some(statement) = statement else { return MISUSE };
        statement.db.guard(|| statement.step())
    }

    /// Makes a statement ready to run again; its parameters stay bound.
    fn sqlite3_reset(statement: S<'_>) -> c_int [crate::failure::INTERNAL] {
        statement.map_or(OK, sqlite3_stmt::reset)
    }

    /// Frees a statement.
    fn sqlite3_finalize(statement: *mut sqlite3_stmt) -> c_int [crate::failure::INTERNAL] { finalize(statement) }

    /// The connection of a statement.
    fn sqlite3_db_handle(statement: S<'_>) -> *mut sqlite3 [std::ptr::null_mut()] {
        statement.map_or(std::ptr::null_mut(), |statement| statement.db.handle.load(Ordering::Acquire))
    }

    /// The text of a statement.
    fn sqlite3_sql(statement: S<'_>) -> *const c_char [std::ptr::null()] {
        statement.map_or(std::ptr::null(), |statement| statement.sql.as_ptr())
    }

    /// The text of a statement with the values that are bound; the program frees it.
    fn sqlite3_expanded_sql(statement: S<'_>) -> *mut c_char [std::ptr::null_mut()] {
        let Some(statement) = statement else { return std::ptr::null_mut() };
        let Some(text) = statement.expanded() else { return std::ptr::null_mut() };
        let limit = crate::connection::sqlite3_limit(behind(statement.db.handle.load(Ordering::Acquire)), 0, -1);
        if usize::try_from(limit).is_ok_and(|limit| text.len() > limit) {
            return std::ptr::null_mut();
        }
        copied(text.as_bytes()).cast()
    }

    /// The text of a statement.
    fn sqlite3_normalized_sql(statement: S<'_>) -> *const c_char [std::ptr::null()] {
        statement.map_or(std::ptr::null(), |statement| statement.sql.as_ptr())
    }

    /// Whether a statement changes nothing in a file.
    fn sqlite3_stmt_readonly(statement: S<'_>) -> c_int [1] {
        statement.map_or(1, |statement| c_int::from(statement.is_read_only.load(Ordering::Acquire)))
    }

    /// 1 for EXPLAIN, 2 for EXPLAIN QUERY PLAN.
    fn sqlite3_stmt_isexplain(statement: S<'_>) -> c_int [0] {
        statement.map_or(0, |statement| statement.explains)
    }

    /// Whether a statement was run and not reset.
    fn sqlite3_stmt_busy(statement: S<'_>) -> c_int [0] {
        statement.map_or(0, |statement| c_int::from(statement.look().is_none_or(|inner| inner.running.is_some())))
    }

    /// Counters of a statement; but for how often it ran, 0.
    fn sqlite3_stmt_status(statement: S<'_>, which: c_int, _reset: c_int) -> c_int [0] {
        const VM_STEP: c_int = 4;
        statement.map_or(0, |statement| if which == VM_STEP { statement.look().map_or(0, |inner| inner.steps) } else { 0 })
    }

    /// Whether a text ends with a complete statement.
    fn sqlite3_complete(sql: *const c_char) -> c_int [0] {
        c_int::from(text_of(sql).is_some_and(|text| lexer::is_complete(&text)))
    }

    /// As sqlite3_complete.
    fn sqlite3_complete16(sql: *const c_void) -> c_int [0] {
        c_int::from(utf16_of(sql, -1).is_some_and(|text| lexer::is_complete(&text)))
    }
}

fn prepare_wide(
    connection: Handle<'_, sqlite3>,
    sql: *const c_void,
    bytes: c_int,
    place: *mut *mut sqlite3_stmt,
    tail: *mut *const c_void,
) -> c_int {
    put(place, std::ptr::null_mut());
    let (Some(db), Some(text)) = (of(connection), utf16_of(sql, bytes)) else { return MISUSE };
    db.guard(|| {
        // A length may count the NUL.
        let text = text.split('\0').next().unwrap_or_default();
        let (statement, used) = prepare(db, text)?;
        put(place, statement);
        let units = text.get(..used).unwrap_or(text).encode_utf16().count();
        put(tail, sql.cast::<u16>().wrapping_add(units).cast());
        Ok(OK)
    })
}

/// What rows are given to, with their columns; ends it all by `false`.
pub type Each<'a> = &'a mut dyn FnMut(&[Output], &[sqlite3_value]) -> bool;

/// Runs all statements of a text; rows are given to `each`, which ends it all by `false`.
pub fn execute(db: &Arc<Db>, text: &str, each: Each<'_>) -> Outcome<()> {
    let mut rest = text;
    while !rest.is_empty() {
        let (pointer, used) = prepare(db, rest)?;
        rest = rest.get(used..).unwrap_or_default();
        let Some(statement) = behind(pointer) else { continue };
        let outcome =
            plain(Err(failed(crate::failure::INTERNAL, "a defect of Inlay")), || run_all(statement, each));
        finalize(pointer);
        outcome?;
    }
    Ok(())
}

fn run_all(statement: &sqlite3_stmt, each: Each<'_>) -> Outcome<()> {
    while statement.step()? == ROW {
        // Taken out, as the program may look at the statement.
        let (columns, row) = {
            let mut inner = statement.inner.lock();
            (inner.compiled.columns.clone(), std::mem::take(&mut inner.row))
        };
        if !each(&columns, &row) {
            return Err(failed(crate::failure::ABORT, "query aborted"));
        }
    }
    Ok(())
}

//! Connections: opened, closed, and what state they are in.
//!
//! The engine's file is opened when a statement first needs it, and the busy handler is asked while another process has it.

use crate::failure::{
    BUSY, CANTOPEN, Failure, MISUSE, Messages, NOMEM, OK, Outcome, READONLY, export, failed, plain,
};
use crate::functions::Registered;
use crate::hooks::Hooks;
use crate::lexer::{self, literal};
use crate::pointers::{Handle, behind, c_text, handle, put, release, text_of, utf16_of};
use crate::schema::{CreateTable, MARK, Table};
use crate::statement::sqlite3_stmt;
use inlay::types::process::process_id;
use inlay::{Connection, Database, Error, Parameters, Value};
use parking_lot::{Mutex, MutexGuard, ReentrantMutex};
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub const OPEN_READONLY: c_int = 1;
const OPEN_CREATE: c_int = 4;
const OPEN_URI: c_int = 0x40;
const OPEN_MEMORY: c_int = 0x80;
const OPEN_SHAREDCACHE: c_int = 0x20000;

/// A connection, as programs hold it.
pub struct sqlite3 {
    pub db: Arc<Db>,
}

/// What is opened.
#[derive(Clone, Debug)]
enum Source {
    Memory,
    /// A database in memory that others of this process open by its name.
    Shared(String),
    File(String),
}

/// What all connections of a database know.
#[derive(Default)]
pub struct Common {
    /// Grows whenever names may mean something else.
    pub generation: AtomicU64,
    /// Held while a new row's number is chosen and its row inserted by a statement of its own: no two choose the same.
    pub numbers: ReentrantMutex<()>,
}

/// Tables that statements named, as of a generation.
#[derive(Default)]
struct Known {
    generation: u64,
    tables: HashMap<String, Option<Arc<Table>>>,
}

/// A connection.
pub struct Db {
    process: u32,
    /// The handle that the program has.
    pub handle: AtomicPtr<sqlite3>,
    source: Source,
    pub is_read_only: bool,
    may_create: bool,
    pub filename: CString,
    engine: Mutex<Option<Connection>>,
    pub state: Mutex<State>,
    messages: Mutex<Messages>,
    pub hooks: Mutex<Hooks>,
    pub registered: Mutex<Registered>,
    /// Statements that are not finalized, oldest first.
    pub statements: Mutex<Vec<usize>>,
    known: Mutex<Known>,
    is_zombie: AtomicBool,
}

/// What changes with each statement.
pub struct State {
    code: c_int,
    message: String,
    is_extended: bool,
    pub changes: i64,
    pub total_changes: i64,
    pub last_rowid: i64,
    /// The table, without a number of its own, that was inserted into last: its row's number is looked up when somebody asks.
    pub last_table: Option<String>,
    pub busy_ms: u64,
    /// Open savepoints, innermost last.
    pub savepoints: Vec<String>,
    /// Whether a SAVEPOINT began the transaction.
    pub began_by_savepoint: bool,
    pub foreign_keys: bool,
    limits: [c_int; 12],
    /// What PRAGMAs were set to that mean nothing here.
    pub told: HashMap<String, String>,
    /// The next ids of tables, as far as only this connection's inserts changed them.
    pub next_ids: HashMap<String, i64>,
}

const LIMITS: [c_int; 12] =
    [1_000_000_000, 1_000_000_000, 2000, 1000, 500, 250_000_000, 127, 10, 50_000, 32766, 1000, 0];

impl Default for State {
    fn default() -> Self {
        Self {
            code: OK,
            message: String::new(),
            is_extended: false,
            changes: 0,
            total_changes: 0,
            last_rowid: 0,
            last_table: None,
            busy_ms: 0,
            savepoints: Vec::new(),
            began_by_savepoint: false,
            foreign_keys: false,
            limits: LIMITS,
            told: HashMap::new(),
            next_ids: HashMap::new(),
        }
    }
}

impl Db {
    /// The engine's connection.
    pub fn engine(&self) -> Outcome<Connection> {
        if self.process != process_id() {
            return Err(failed(
                MISUSE,
                "a connection that was opened before fork() is not one of this process",
            ));
        }
        if let Some(open) = &*self.engine.lock() {
            return Ok(open.clone());
        }
        let (start, mut turn) = (Instant::now(), 0);
        loop {
            match self.open_engine() {
                Ok(connection) => {
                    *self.engine.lock() = Some(connection.clone());
                    return Ok(connection);
                }
                Err(failure) if failure.primary() == BUSY && self.waits(start, turn) => turn += 1,
                Err(failure) => return Err(failure),
            }
        }
    }

    /// The engine's connection, if it was needed already.
    pub fn engine_if_open(&self) -> Option<Connection> {
        self.engine.lock().clone()
    }

    /// Waits until something that is locked may be tried again; false if it is to be given up.
    pub fn waits(&self, start: Instant, turn: c_int) -> bool {
        let handler = self.hooks.lock().busy;
        if let Some(handler) = handler {
            return handler.call(turn);
        }
        const PAUSE: Duration = Duration::from_millis(5);
        let limit = Duration::from_millis(self.state.lock().busy_ms);
        if start.elapsed() + PAUSE > limit {
            return false;
        }
        std::thread::sleep(PAUSE);
        true
    }

    fn open_engine(&self) -> Outcome<Connection> {
        let database = match &self.source {
            Source::Memory => Database::open_in_memory()?,
            Source::Shared(name) => Database::open(&format!(":memory:{name}"), &[])?,
            Source::File(path) => self.open_file(path)?,
        };
        crate::library::install(&database)?;
        let connection = database.connect();
        connection.execute("SET dialect = 'sqlite'")?;
        Ok(connection)
    }

    fn open_file(&self, path: &str) -> Outcome<Database> {
        let place = std::path::Path::new(path);
        let unable = || failed(CANTOPEN, "unable to open database file");
        if place.is_dir() || !place.exists() && (!self.may_create || self.is_read_only) {
            return Err(unable());
        }
        let mode = if self.is_read_only { "read_only" } else { "read_write" };
        let config = [("access_mode".to_string(), Value::from(mode))];
        Database::open(path, &config).map_err(|error| match error.kind() {
            inlay::ErrorKind::Locked => failed(BUSY, "database is locked"),
            inlay::ErrorKind::Corrupt | inlay::ErrorKind::MalformedFile => {
                failed(crate::failure::NOTADB, "file is not a database")
            }
            inlay::ErrorKind::ReadOnly => failed(READONLY, "attempt to write a readonly database"),
            _ => unable(),
        })
    }

    /// Remembers how a call ended, and gives its code.
    pub fn note(&self, outcome: Outcome<c_int>) -> c_int {
        let mut state = self.state.lock();
        let (code, message) = match outcome {
            Ok(code) => (code, String::new()),
            Err(Failure { code, message }) => (code, message),
        };
        if code != crate::failure::ROW && code != crate::failure::DONE {
            (state.code, state.message) = (code, message);
        } else {
            (state.code, state.message) = (code, String::new());
        }
        if state.is_extended { code } else { code & 0xff }
    }

    /// Runs what a function does with a connection, and remembers how it ended.
    pub fn guard(&self, work: impl FnOnce() -> Outcome<c_int>) -> c_int {
        let panicked = || Err(failed(crate::failure::INTERNAL, "a defect of Inlay"));
        let outcome = plain(None, || Some(work())).unwrap_or_else(panicked);
        self.note(outcome)
    }

    /// As [`Db::guard`], for what is remembered only if it failed.
    pub fn checked(&self, work: impl FnOnce() -> Outcome<()>) -> c_int {
        self.guard(|| work().map(|()| OK))
    }

    /// The rows of a query of ours.
    pub fn rows(&self, sql: &str, parameters: Vec<Value>) -> Outcome<Vec<Vec<Value>>> {
        let parameters = Parameters { positional: parameters, named: Vec::new() };
        let answer = self.engine()?.execute_with(sql, &parameters, None)?;
        let rows = answer.rows().map(|row| row.map(|row| row.values().to_vec()));
        Ok(rows.collect::<Result<_, Error>>()?)
    }

    /// Runs a statement of ours.
    pub fn run(&self, sql: &str) -> Outcome<()> {
        self.engine()?.execute(sql)?;
        Ok(())
    }

    /// What all connections of the database know.
    pub fn common(&self) -> Outcome<Arc<Common>> {
        Ok(self.engine()?.database()?.kept_for_host(|_| Common::default()))
    }

    /// Names may mean something else from now on.
    pub fn schema_changed(&self) -> Outcome<()> {
        self.common()?.generation.fetch_add(1, Ordering::AcqRel);
        self.state.lock().next_ids.clear();
        Ok(())
    }

    /// The version of what names mean.
    pub fn generation(&self) -> Outcome<u64> {
        Ok(self.common()?.generation.load(Ordering::Acquire))
    }

    /// A table or view by its name, with a schema perhaps.
    pub fn table(&self, schema: Option<&str>, name: &str) -> Outcome<Option<Arc<Table>>> {
        let generation = self.generation()?;
        let key = format!("{}.{}", schema.unwrap_or_default(), name).to_lowercase();
        let known = {
            let mut known = self.known.lock();
            if known.generation != generation {
                *known = Known { generation, tables: HashMap::new() };
            }
            known.tables.get(&key).cloned()
        };
        if let Some(found) = known {
            return Ok(found);
        }
        let found = crate::pragma::load(self, schema, name)?.map(Arc::new);
        self.known.lock().tables.insert(key, found.clone());
        Ok(found)
    }

    /// A table of its text.
    pub fn table_of_text(&self, text: &str) -> Option<Table> {
        let (tokens, _) = lexer::statement(text);
        let parameters = crate::respell::Parameters::default();
        let (functions, collations) = (HashMap::new(), std::collections::HashSet::new());
        let names = crate::respell::Names {
            tables: Vec::new(),
            functions: &functions,
            collations: &collations,
            pragma: &|_, _| None,
            defines: true,
        };
        let mut respell = crate::respell::Respell::new(&tokens, names, &parameters);
        let made = CreateTable::read(text, &tokens, &mut respell).ok().flatten()?;
        made.query.is_none().then_some(made.table)
    }

    /// Keeps the text that made something.
    pub fn keep_text(&self, kind: &str, path: &str, text: &str) -> Outcome<()> {
        let text = if kind == "DATABASE" { text.to_string() } else { crate::define::kept_text(text) };
        self.run(&format!("COMMENT ON {kind} {path} IS {}", literal(&format!("{MARK}{text}"))))
    }

    /// Whether nobody began a transaction.
    pub fn is_autocommit(&self) -> bool {
        self.engine_if_open().is_none_or(|engine| !engine.in_transaction())
    }

    /// The number of the row that was inserted last.
    pub fn last_insert_rowid(&self) -> i64 {
        let table = self.state.lock().last_table.take();
        if let Some(table) = table
            && let Ok(rows) = self.rows(&format!("SELECT max(rowid) + 1 FROM {table}"), Vec::new())
            && let Some(rowid) = rows.first().and_then(|row| row.first()).and_then(Value::as_i128)
        {
            self.state.lock().last_rowid = rowid as i64;
        }
        self.state.lock().last_rowid
    }

    pub fn messages(&self) -> MutexGuard<'_, Messages> {
        self.messages.lock()
    }

    /// What the last error says.
    pub fn message(&self) -> String {
        let state = self.state.lock();
        match state.message.is_empty() {
            true => crate::failure::meaning(state.code).to_string_lossy().into_owned(),
            false => state.message.clone(),
        }
    }

    /// Gives the engine's connection back.
    fn leave(&self) {
        let engine = self.engine.lock().take();
        let Some(engine) = engine else { return };
        if self.process != process_id() {
            // Its threads and files are those of the process that opened it.
            std::mem::forget(engine);
            return;
        }
        let registered = std::mem::take(&mut *self.registered.lock());
        registered.clear(&engine);
        let _ = engine.close();
    }
}

/// What a program calls a database, taken apart: what is opened, whether only to read, and whether it may be made.
fn source_of(name: &str, flags: c_int) -> Outcome<(Source, bool, bool)> {
    let (mut path, mut read_only, mut may_create) =
        (name.to_string(), flags & OPEN_READONLY != 0, flags & OPEN_CREATE != 0);
    let mut in_memory = flags & OPEN_MEMORY != 0;
    let mut is_shared = flags & OPEN_SHAREDCACHE != 0;
    if flags & OPEN_URI != 0 && name.starts_with("file:") {
        let rest = name.trim_start_matches("file:");
        let rest = rest.split('#').next().unwrap_or_default();
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let place = match place.strip_prefix("//") {
            Some(with_host) => with_host.find('/').map_or("", |slash| &with_host[slash..]),
            None => place,
        };
        path = decoded(place);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (key, value) {
                ("mode", "ro") => (read_only, may_create) = (true, false),
                ("mode", "rw") => may_create = false,
                ("mode", "rwc") => may_create = true,
                ("mode", "memory") => in_memory = true,
                ("mode", other) => {
                    return Err(failed(crate::failure::ERROR, format!("no such access mode: {other}")));
                }
                ("cache", "shared") => is_shared = true,
                ("immutable", "1") => read_only = true,
                _ => {}
            }
        }
    }
    let source = match path.as_str() {
        "" => Source::Memory,
        ":memory:" if is_shared => Source::Shared("shared".to_string()),
        ":memory:" => Source::Memory,
        _ if in_memory && is_shared => Source::Shared(path.replace(|c: char| !c.is_alphanumeric(), "_")),
        _ if in_memory => Source::Memory,
        _ => Source::File(path),
    };
    Ok((source, read_only, may_create))
}

/// A text with `%20` and the like as what they stand for.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn open(name: Option<&str>, place: *mut *mut sqlite3, flags: c_int) -> c_int {
    let name = name.unwrap_or_default();
    let (opened, failure) = match source_of(name, flags) {
        Ok(found) => (found, None),
        Err(failure) => ((Source::Memory, false, false), Some(failure)),
    };
    let (source, is_read_only, may_create) = opened;
    let filename = match &source {
        Source::File(path) => {
            std::path::absolute(path).map_or_else(|_| path.clone(), |path| path.display().to_string())
        }
        Source::Memory | Source::Shared(_) => String::new(),
    };
    let db = Arc::new(Db {
        process: process_id(),
        handle: AtomicPtr::default(),
        source,
        is_read_only,
        may_create,
        filename: c_text(&filename),
        engine: Mutex::default(),
        state: Mutex::default(),
        messages: Mutex::default(),
        hooks: Mutex::default(),
        registered: Mutex::default(),
        statements: Mutex::default(),
        known: Mutex::default(),
        is_zombie: AtomicBool::new(false),
    });
    let pointer = handle(sqlite3 { db: Arc::clone(&db) });
    db.handle.store(pointer, Ordering::Release);
    put(place, pointer);
    db.checked(|| {
        if let Some(failure) = failure {
            return Err(failure);
        }
        match db.open_engine() {
            Ok(engine) => {
                *db.engine.lock() = Some(engine);
                Ok(())
            }
            // As SQLite: a file that is locked, or no database, shows when it is used.
            Err(failure) if failure.primary() == BUSY || failure.code == crate::failure::NOTADB => Ok(()),
            Err(failure) => Err(failure),
        }
    })
}

/// Frees a connection that has no statements any more.
pub fn free_if_last(db: &Arc<Db>) {
    if db.is_zombie.load(Ordering::Acquire) && db.statements.lock().is_empty() {
        db.leave();
        release(db.handle.swap(std::ptr::null_mut(), Ordering::AcqRel));
    }
}

fn close(pointer: *mut sqlite3, waits: bool) -> c_int {
    let Some(connection) = behind(pointer) else { return OK };
    let db = Arc::clone(&connection.db);
    if !waits && db.process == process_id() && !db.statements.lock().is_empty() {
        return db
            .note(Err(failed(BUSY, "unable to close due to unfinalized statements or unfinished backups")));
    }
    db.is_zombie.store(true, Ordering::Release);
    free_if_last(&db);
    OK
}

/// The connection behind a handle.
pub fn of<'a>(connection: Handle<'a, sqlite3>) -> Option<&'a Arc<Db>> {
    connection.map(|connection| &connection.db)
}

export! {
    /// Opens a database: a file, or one in memory.
    fn sqlite3_open(name: *const c_char, place: *mut *mut sqlite3) -> c_int [NOMEM] {
        open(text_of(name).as_deref(), place, 6)
    }

    /// Opens a database with flags.
    fn sqlite3_open_v2(name: *const c_char, place: *mut *mut sqlite3, flags: c_int, _vfs: *const c_char) -> c_int [NOMEM] {
        open(text_of(name).as_deref(), place, flags)
    }

    /// Opens a database, whose name is UTF-16.
    fn sqlite3_open16(name: *const c_void, place: *mut *mut sqlite3) -> c_int [NOMEM] {
        open(utf16_of(name, -1).as_deref(), place, 6)
    }

    /// Closes a connection that has no statements.
    fn sqlite3_close(connection: *mut sqlite3) -> c_int [MISUSE] { close(connection, false) }

    /// Closes a connection as soon as it has no statements.
    fn sqlite3_close_v2(connection: *mut sqlite3) -> c_int [MISUSE] { close(connection, true) }

    /// The code of the last call that failed.
    fn sqlite3_errcode(connection: Handle<'_, sqlite3>) -> c_int [NOMEM] {
        of(connection).map_or(NOMEM, |db| db.state.lock().code & 0xff)
    }

    /// As sqlite3_errcode, with the part that says more.
    fn sqlite3_extended_errcode(connection: Handle<'_, sqlite3>) -> c_int [NOMEM] {
        of(connection).map_or(NOMEM, |db| db.state.lock().code)
    }

    /// What the last call that failed says.
    fn sqlite3_errmsg(connection: Handle<'_, sqlite3>) -> *const c_char [c"out of memory".as_ptr()] {
        let Some(db) = of(connection) else { return c"out of memory".as_ptr() };
        let message = db.message();
        db.messages().keep(&message).0
    }

    /// As sqlite3_errmsg, in UTF-16.
    fn sqlite3_errmsg16(connection: Handle<'_, sqlite3>) -> *const c_void [std::ptr::null()] {
        let Some(db) = of(connection) else { return std::ptr::null() };
        let message = db.message();
        db.messages().keep(&message).1.cast()
    }

    /// Where in the statement the error is; it is not known.
    fn sqlite3_error_offset(_connection: Handle<'_, sqlite3>) -> c_int [-1] { -1 }

    /// Whether functions give extended codes.
    fn sqlite3_extended_result_codes(connection: Handle<'_, sqlite3>, on: c_int) -> c_int [MISUSE] {
        let Some(db) = of(connection) else { return MISUSE };
        db.state.lock().is_extended = on != 0;
        OK
    }

    /// Rows that the last INSERT, UPDATE or DELETE changed.
    fn sqlite3_changes(connection: Handle<'_, sqlite3>) -> c_int [0] {
        of(connection).map_or(0, |db| db.state.lock().changes as c_int)
    }

    /// As sqlite3_changes.
    fn sqlite3_changes64(connection: Handle<'_, sqlite3>) -> i64 [0] {
        of(connection).map_or(0, |db| db.state.lock().changes)
    }

    /// Rows that all statements of the connection changed.
    fn sqlite3_total_changes(connection: Handle<'_, sqlite3>) -> c_int [0] {
        of(connection).map_or(0, |db| db.state.lock().total_changes as c_int)
    }

    /// As sqlite3_total_changes.
    fn sqlite3_total_changes64(connection: Handle<'_, sqlite3>) -> i64 [0] {
        of(connection).map_or(0, |db| db.state.lock().total_changes)
    }

    /// The number of the row that was inserted last.
    fn sqlite3_last_insert_rowid(connection: Handle<'_, sqlite3>) -> i64 [0] {
        of(connection).map_or(0, |db| db.last_insert_rowid())
    }

    /// Sets what sqlite3_last_insert_rowid gives.
    fn sqlite3_set_last_insert_rowid(connection: Handle<'_, sqlite3>, rowid: i64) -> () [()] {
        if let Some(db) = of(connection) {
            let mut state = db.state.lock();
            (state.last_rowid, state.last_table) = (rowid, None);
        }
    }

    /// Whether no transaction is open.
    fn sqlite3_get_autocommit(connection: Handle<'_, sqlite3>) -> c_int [1] {
        of(connection).map_or(1, |db| c_int::from(db.is_autocommit()))
    }

    /// Whether a transaction is open: 0, or 2 for one that may have written.
    fn sqlite3_txn_state(connection: Handle<'_, sqlite3>, _schema: *const c_char) -> c_int [0] {
        of(connection).map_or(0, |db| if db.is_autocommit() { 0 } else { 2 })
    }

    /// How long a statement waits for another process or connection.
    fn sqlite3_busy_timeout(connection: Handle<'_, sqlite3>, ms: c_int) -> c_int [MISUSE] {
        let Some(db) = of(connection) else { return MISUSE };
        db.state.lock().busy_ms = u64::try_from(ms).unwrap_or(0);
        db.hooks.lock().busy = None;
        OK
    }

    /// Ends running statements.
    fn sqlite3_interrupt(connection: Handle<'_, sqlite3>) -> () [()] {
        if let Some(engine) = of(connection).and_then(|db| db.engine_if_open()) {
            engine.interrupt();
        }
    }

    /// Whether an interrupt waits for statements to end.
    fn sqlite3_is_interrupted(_connection: Handle<'_, sqlite3>) -> c_int [0] { 0 }

    /// Gives a limit, and sets it unless the new one is negative.
    fn sqlite3_limit(connection: Handle<'_, sqlite3>, which: c_int, value: c_int) -> c_int [-1] {
        let (Some(db), Ok(which)) = (of(connection), usize::try_from(which)) else { return -1 };
        let mut state = db.state.lock();
        let Some(limit) = state.limits.get_mut(which) else { return -1 };
        let before = *limit;
        if value >= 0 {
            *limit = value.min(LIMITS[which]);
        }
        before
    }

    /// The name of a database of the connection.
    fn sqlite3_db_name(_connection: Handle<'_, sqlite3>, which: c_int) -> *const c_char [std::ptr::null()] {
        match which {
            0 => c"main".as_ptr(),
            1 => c"temp".as_ptr(),
            _ => std::ptr::null(),
        }
    }

    /// The path of a database, or an empty text.
    fn sqlite3_db_filename(connection: Handle<'_, sqlite3>, name: *const c_char) -> *const c_char [std::ptr::null()] {
        let Some(db) = of(connection) else { return std::ptr::null() };
        match text_of(name).as_deref() {
            None | Some("main") => db.filename.as_ptr(),
            Some(_) => std::ptr::null(),
        }
    }

    /// Whether a database is only read; -1 for one that is not there.
    fn sqlite3_db_readonly(connection: Handle<'_, sqlite3>, name: *const c_char) -> c_int [-1] {
        let Some(db) = of(connection) else { return -1 };
        match text_of(name).as_deref() {
            None | Some("main") => c_int::from(db.is_read_only),
            Some("temp") => 0,
            Some(_) => -1,
        }
    }

    /// The statement behind another one of the connection.
    fn sqlite3_next_stmt(connection: Handle<'_, sqlite3>, statement: *mut sqlite3_stmt) -> *mut sqlite3_stmt [std::ptr::null_mut()] {
        let Some(db) = of(connection) else { return std::ptr::null_mut() };
        let all = db.statements.lock();
        let behind = match statement.is_null() {
            true => 0,
            false => all.iter().position(|known| *known == statement as usize).map_or(usize::MAX, |place| place + 1),
        };
        all.get(behind).map_or(std::ptr::null_mut(), |found| *found as *mut sqlite3_stmt)
    }
}

/// What an option of sqlite3_db_config is, set if `wanted` is not negative.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_inlay_db_flag(
    connection: Handle<'_, sqlite3>,
    option: c_int,
    wanted: c_int,
) -> c_int {
    const FOREIGN_KEYS: c_int = 1002;
    plain(0, || {
        let Some(db) = of(connection) else { return 0 };
        let mut state = db.state.lock();
        if option == FOREIGN_KEYS {
            if wanted >= 0 {
                state.foreign_keys = wanted != 0;
            }
            return c_int::from(state.foreign_keys);
        }
        let key = format!("db_config {option}");
        if wanted >= 0 {
            state.told.insert(key, wanted.to_string());
            return c_int::from(wanted != 0);
        }
        state.told.get(&key).map_or(0, |value| c_int::from(value != "0"))
    })
}

//! What the library is, small helpers of the interface, and functions that there are for programs to link with, and that refuse.

use crate::connection::{of, sqlite3};
use crate::failure::{ERROR, MISUSE, NOTFOUND, OK, export, failed};
use crate::memory::copied;
use crate::pointers::{Destructor, Handle, User, bytes_of, put, slice_to_write, text_of};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;

/// The version of SQLite whose interface this is.
pub const VERSION: &str = "3.40.1";
/// What SQLite's own tools compare with what they were built for.
pub const SOURCE: &str =
    "2022-12-28 14:03:47 df5c253c0b3dd24916e4ec7cf77d3db5294cc9fd45ae7b9c5e82ad8197f3alt1";

/// Says why something is not done.
fn refuse(connection: Handle<'_, sqlite3>, what: &str) -> c_int {
    let Some(db) = of(connection) else { return MISUSE };
    db.note(Err(failed(ERROR, format!("{what} is not supported by Inlay"))))
}

/// A message for a program that asks for one.
fn refuse_with(connection: Handle<'_, sqlite3>, what: &str, message: *mut *mut c_char) -> c_int {
    let code = refuse(connection, what);
    if let (Some(db), false) = (of(connection), message.is_null()) {
        put(message, copied(db.message().as_bytes()).cast());
    }
    code
}

/// Words of SQL, in the order that programs count them.
const KEYWORDS: [&str; 147] = [
    "ABORT",
    "ACTION",
    "ADD",
    "AFTER",
    "ALL",
    "ALTER",
    "ALWAYS",
    "ANALYZE",
    "AND",
    "AS",
    "ASC",
    "ATTACH",
    "AUTOINCREMENT",
    "BEFORE",
    "BEGIN",
    "BETWEEN",
    "BY",
    "CASCADE",
    "CASE",
    "CAST",
    "CHECK",
    "COLLATE",
    "COLUMN",
    "COMMIT",
    "CONFLICT",
    "CONSTRAINT",
    "CREATE",
    "CROSS",
    "CURRENT",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "DATABASE",
    "DEFAULT",
    "DEFERRABLE",
    "DEFERRED",
    "DELETE",
    "DESC",
    "DETACH",
    "DISTINCT",
    "DO",
    "DROP",
    "EACH",
    "ELSE",
    "END",
    "ESCAPE",
    "EXCEPT",
    "EXCLUDE",
    "EXCLUSIVE",
    "EXISTS",
    "EXPLAIN",
    "FAIL",
    "FILTER",
    "FIRST",
    "FOLLOWING",
    "FOR",
    "FOREIGN",
    "FROM",
    "FULL",
    "GENERATED",
    "GLOB",
    "GROUP",
    "GROUPS",
    "HAVING",
    "IF",
    "IGNORE",
    "IMMEDIATE",
    "IN",
    "INDEX",
    "INDEXED",
    "INITIALLY",
    "INNER",
    "INSERT",
    "INSTEAD",
    "INTERSECT",
    "INTO",
    "IS",
    "ISNULL",
    "JOIN",
    "KEY",
    "LAST",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MATCH",
    "MATERIALIZED",
    "NATURAL",
    "NO",
    "NOT",
    "NOTHING",
    "NOTNULL",
    "NULL",
    "NULLS",
    "OF",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OTHERS",
    "OUTER",
    "OVER",
    "PARTITION",
    "PLAN",
    "PRAGMA",
    "PRECEDING",
    "PRIMARY",
    "QUERY",
    "RAISE",
    "RANGE",
    "RECURSIVE",
    "REFERENCES",
    "REGEXP",
    "REINDEX",
    "RELEASE",
    "RENAME",
    "REPLACE",
    "RESTRICT",
    "RETURNING",
    "RIGHT",
    "ROLLBACK",
    "ROW",
    "ROWS",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "TABLE",
    "TEMP",
    "TEMPORARY",
    "THEN",
    "TIES",
    "TO",
    "TRANSACTION",
    "TRIGGER",
    "UNBOUNDED",
    "UNION",
    "UNIQUE",
    "UPDATE",
    "USING",
    "VACUUM",
    "VALUES",
    "VIEW",
    "VIRTUAL",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
    "WITHOUT",
];

/// Whether a name is a word of SQL.
pub fn is_keyword(name: &str) -> bool {
    KEYWORDS.iter().any(|word| word.eq_ignore_ascii_case(name))
}

/// Whether a text fits a pattern of LIKE or GLOB.
fn fits(pattern: &[char], text: &[char], is_glob: bool, escape: Option<char>) -> bool {
    let many = if is_glob { '*' } else { '%' };
    let (mut at, mut place) = (0, 0);
    // Where to go on if what stands behind the last sign for many does not fit.
    let mut again: Option<(usize, usize)> = None;
    loop {
        let is_escaped = escape.is_some() && pattern.get(at).copied() == escape;
        if pattern.get(at) == Some(&many) && !is_escaped {
            at += 1;
            again = Some((at, place));
            continue;
        }
        if at == pattern.len() && place == text.len() {
            return true;
        }
        let next =
            text.get(place).and_then(|c| element(pattern.get(at..).unwrap_or_default(), *c, is_glob, escape));
        match (next, again) {
            (Some(length), _) => {
                at += length;
                place += 1;
            }
            (None, Some((behind, start))) if start < text.len() => {
                again = Some((behind, start + 1));
                (at, place) = (behind, start + 1);
            }
            _ => return false,
        }
    }
}

/// How much of a pattern stands for a character, if what it begins with does.
fn element(pattern: &[char], c: char, is_glob: bool, escape: Option<char>) -> Option<usize> {
    let one = if is_glob { '?' } else { '_' };
    let same = |a: char, b: char| a == b || !is_glob && a.eq_ignore_ascii_case(&b);
    let (&first, rest) = pattern.split_first()?;
    if Some(first) == escape {
        return rest.first().filter(|wanted| same(c, **wanted)).map(|_| 2);
    }
    if first == one {
        return Some(1);
    }
    if first != '[' || !is_glob {
        return same(c, first).then_some(1);
    }
    let (negated, start) = if rest.first() == Some(&'^') { (true, 1) } else { (false, 0) };
    let (mut at, mut found) = (start, false);
    while let Some(&low) = rest.get(at) {
        if low == ']' && at > start {
            break;
        }
        match (rest.get(at + 1), rest.get(at + 2)) {
            (Some('-'), Some(&high)) if high != ']' => {
                found |= (low..=high).contains(&c);
                at += 3;
            }
            _ => {
                found |= low == c;
                at += 1;
            }
        }
    }
    (found != negated).then_some((at + 2).min(pattern.len()))
}

fn chars(text: *const c_char) -> Vec<char> {
    text_of(text).unwrap_or_default().chars().collect()
}

fn compared(left: *const c_char, right: *const c_char, most: usize) -> c_int {
    match (bytes_of(left), bytes_of(right)) {
        (None, None) => 0,
        (None, Some(_)) => -1,
        (Some(_), None) => 1,
        (Some(left), Some(right)) => {
            let lower =
                |bytes: &[u8]| bytes.iter().take(most).map(u8::to_ascii_lowercase).collect::<Vec<_>>();
            lower(left).cmp(&lower(right)) as c_int
        }
    }
}

export! {
    /// The version of SQLite whose interface this is.
    fn sqlite3_libversion() -> *const c_char [ptr::null()] { c"3.40.1".as_ptr() }

    /// The version as a number.
    fn sqlite3_libversion_number() -> c_int [0] { 3_040_001 }

    /// The source whose interface this is: tools compare it with what they were built for.
    fn sqlite3_sourceid() -> *const c_char [ptr::null()] { c"2022-12-28 14:03:47 df5c253c0b3dd24916e4ec7cf77d3db5294cc9fd45ae7b9c5e82ad8197f3alt1".as_ptr() }

    /// 1: connections may be used by any thread, one at a time or several.
    fn sqlite3_threadsafe() -> c_int [1] { 1 }

    /// Whether SQLite was compiled with an option.
    fn sqlite3_compileoption_used(name: *const c_char) -> c_int [0] {
        c_int::from(text_of(name).is_some_and(|name| name.trim_start_matches("SQLITE_").starts_with("THREADSAFE")))
    }

    /// The options that SQLite was compiled with.
    fn sqlite3_compileoption_get(which: c_int) -> *const c_char [ptr::null()] {
        if which == 0 { c"THREADSAFE=1".as_ptr() } else { ptr::null() }
    }

    /// Nothing is to be done.
    fn sqlite3_initialize() -> c_int [OK] { OK }
    /// Nothing is to be done.
    fn sqlite3_shutdown() -> c_int [OK] { OK }
    /// Nothing is to be done.
    fn sqlite3_os_init() -> c_int [OK] { OK }
    /// Nothing is to be done.
    fn sqlite3_os_end() -> c_int [OK] { OK }
    /// There is no cache of that kind.
    fn sqlite3_enable_shared_cache(_on: c_int) -> c_int [OK] { OK }
    /// Nothing is freed.
    fn sqlite3_release_memory(_bytes: c_int) -> c_int [0] { 0 }
    /// Nothing is freed.
    fn sqlite3_db_release_memory(_connection: Handle<'_, sqlite3>) -> c_int [OK] { OK }
    /// There is none: memory_limit is a setting of the database.
    fn sqlite3_soft_heap_limit64(_bytes: i64) -> i64 [0] { 0 }
    /// There is none.
    fn sqlite3_hard_heap_limit64(_bytes: i64) -> i64 [0] { 0 }
    /// There is none.
    fn sqlite3_soft_heap_limit(_bytes: c_int) -> () [()] {}
    /// Not counted.
    fn sqlite3_memory_used() -> i64 [0] { 0 }
    /// Not counted.
    fn sqlite3_memory_highwater(_reset: c_int) -> i64 [0] { 0 }
    /// Nothing is to be done.
    fn sqlite3_memory_alarm(_function: *mut c_void, _data: *mut c_void, _bytes: i64) -> c_int [OK] { OK }
    /// Nothing is to be done.
    fn sqlite3_global_recover() -> c_int [OK] { OK }
    /// Nothing is to be done.
    fn sqlite3_thread_cleanup() -> () [()] {}
    /// A statement is always ready.
    fn sqlite3_expired(_statement: *mut c_void) -> c_int [0] { 0 }

    /// Waits so many milliseconds.
    fn sqlite3_sleep(ms: c_int) -> c_int [0] {
        std::thread::sleep(std::time::Duration::from_millis(u64::try_from(ms).unwrap_or(0)));
        ms
    }

    /// Writes random bytes.
    fn sqlite3_randomness(count: c_int, place: *mut c_void) -> () [()] {
        let place = slice_to_write(place, usize::try_from(count).unwrap_or(0));
        for part in place.chunks_mut(8) {
            let bytes = crate::library::random().to_le_bytes();
            part.copy_from_slice(&bytes[..part.len()]);
        }
    }

    /// Compares without case.
    fn sqlite3_stricmp(left: *const c_char, right: *const c_char) -> c_int [0] { compared(left, right, usize::MAX) }

    /// Compares so many bytes without case.
    fn sqlite3_strnicmp(left: *const c_char, right: *const c_char, most: c_int) -> c_int [0] {
        compared(left, right, usize::try_from(most).unwrap_or(0))
    }

    /// 0 if a text fits a pattern of GLOB.
    fn sqlite3_strglob(pattern: *const c_char, text: *const c_char) -> c_int [1] {
        c_int::from(pattern.is_null() != text.is_null() || !fits(&chars(pattern), &chars(text), true, None))
    }

    /// 0 if a text fits a pattern of LIKE.
    fn sqlite3_strlike(pattern: *const c_char, text: *const c_char, escape: c_uint) -> c_int [1] {
        let escape = char::from_u32(escape).filter(|c| *c != '\0');
        c_int::from(pattern.is_null() != text.is_null() || !fits(&chars(pattern), &chars(text), false, escape))
    }

    /// How many words the language has.
    fn sqlite3_keyword_count() -> c_int [0] { KEYWORDS.len() as c_int }

    /// A word of the language.
    fn sqlite3_keyword_name(which: c_int, place: *mut *const c_char, length: *mut c_int) -> c_int [ERROR] {
        let Some(word) = usize::try_from(which).ok().and_then(|which| KEYWORDS.get(which)) else { return ERROR };
        put(place, word.as_ptr().cast());
        put(length, word.len() as c_int);
        OK
    }

    /// Whether a text is a word of the language.
    fn sqlite3_keyword_check(text: *const c_char, length: c_int) -> c_int [0] {
        let text = crate::pointers::slice_of(text.cast(), usize::try_from(length).unwrap_or(0));
        c_int::from(KEYWORDS.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(text)))
    }

    /// Counters of the process: all 0.
    fn sqlite3_status(_which: c_int, now: *mut c_int, most: *mut c_int, _reset: c_int) -> c_int [OK] {
        put(now, 0);
        put(most, 0);
        OK
    }

    /// Counters of the process: all 0.
    fn sqlite3_status64(_which: c_int, now: *mut i64, most: *mut i64, _reset: c_int) -> c_int [OK] {
        put(now, 0);
        put(most, 0);
        OK
    }

    /// Counters of a connection: all 0.
    fn sqlite3_db_status(_connection: Handle<'_, sqlite3>, _which: c_int, now: *mut c_int, most: *mut c_int, _reset: c_int) -> c_int [OK] {
        put(now, 0);
        put(most, 0);
        OK
    }

    /// Statements are not measured in this way.
    fn sqlite3_stmt_scanstatus(_statement: *mut c_void, _which: c_int, _what: c_int, _place: *mut c_void) -> c_int [ERROR] { ERROR }
    /// Statements are not measured in this way.
    fn sqlite3_stmt_scanstatus_reset(_statement: *mut c_void) -> () [()] {}
    /// What is written is in the log.
    fn sqlite3_db_cacheflush(_connection: Handle<'_, sqlite3>) -> c_int [OK] { OK }
    /// Not kept.
    fn sqlite3_system_errno(_connection: Handle<'_, sqlite3>) -> c_int [0] { 0 }
    /// Files have no controls.
    fn sqlite3_file_control(_connection: Handle<'_, sqlite3>, _schema: *const c_char, _which: c_int, _data: *mut c_void) -> c_int [NOTFOUND] { NOTFOUND }
    /// Checkpoints come by themselves.
    fn sqlite3_wal_autocheckpoint(_connection: Handle<'_, sqlite3>, _pages: c_int) -> c_int [OK] { OK }

    /// Makes a checkpoint.
    fn sqlite3_wal_checkpoint(connection: Handle<'_, sqlite3>, _schema: *const c_char) -> c_int [ERROR] {
        of(connection).map_or(MISUSE, |db| db.checked(|| db.run("CHECKPOINT")))
    }

    /// Makes a checkpoint.
    fn sqlite3_wal_checkpoint_v2(connection: Handle<'_, sqlite3>, _schema: *const c_char, _mode: c_int, log: *mut c_int, done: *mut c_int) -> c_int [ERROR] {
        put(log, 0);
        put(done, 0);
        of(connection).map_or(MISUSE, |db| db.checked(|| db.run("CHECKPOINT")))
    }

    /// Nobody waits in this way.
    fn sqlite3_unlock_notify(connection: Handle<'_, sqlite3>, _function: *mut c_void, _data: *mut c_void) -> c_int [ERROR] {
        refuse(connection, "sqlite3_unlock_notify")
    }

    /// Refused: an Inlay file is no sequence of SQLite's pages.
    fn sqlite3_serialize(connection: Handle<'_, sqlite3>, _schema: *const c_char, size: *mut i64, _flags: c_uint) -> *mut u8 [ptr::null_mut()] {
        put(size, -1);
        refuse(connection, "sqlite3_serialize");
        ptr::null_mut()
    }

    /// Refused: an Inlay file is no sequence of SQLite's pages.
    fn sqlite3_deserialize(connection: Handle<'_, sqlite3>, _schema: *const c_char, data: *mut u8, _size: i64, _room: i64, flags: c_uint) -> c_int [ERROR] {
        const FREE_ON_CLOSE: c_uint = 1;
        if flags & FREE_ON_CLOSE != 0 {
            crate::memory::sqlite3_free(data.cast());
        }
        refuse(connection, "sqlite3_deserialize")
    }

    /// Refused.
    fn sqlite3_load_extension(connection: Handle<'_, sqlite3>, _file: *const c_char, _entry: *const c_char, message: *mut *mut c_char) -> c_int [ERROR] {
        refuse_with(connection, "sqlite3_load_extension", message)
    }

    /// There are none to load.
    fn sqlite3_enable_load_extension(_connection: Handle<'_, sqlite3>, _on: c_int) -> c_int [OK] { OK }
    /// There are none to load.
    fn sqlite3_auto_extension(_entry: *mut c_void) -> c_int [OK] { OK }
    /// There are none to load.
    fn sqlite3_cancel_auto_extension(_entry: *mut c_void) -> c_int [0] { 0 }
    /// There are none to load.
    fn sqlite3_reset_auto_extension() -> () [()] {}

    /// Virtual tables cannot be used: the module is let go.
    fn sqlite3_create_module(_connection: Handle<'_, sqlite3>, _name: *const c_char, _module: *const c_void, _data: *mut c_void) -> c_int [OK] { OK }

    /// Virtual tables cannot be used: the module is let go.
    fn sqlite3_create_module_v2(_connection: Handle<'_, sqlite3>, _name: *const c_char, _module: *const c_void, data: *mut c_void, destructor: Destructor) -> c_int [OK] {
        drop(User::new(data, destructor));
        OK
    }

    /// There are none.
    fn sqlite3_drop_modules(_connection: Handle<'_, sqlite3>, _keep: *mut *const c_char) -> c_int [OK] { OK }
    /// Virtual tables cannot be used.
    fn sqlite3_declare_vtab(connection: Handle<'_, sqlite3>, _sql: *const c_char) -> c_int [ERROR] { refuse(connection, "sqlite3_declare_vtab") }
    /// Virtual tables cannot be used.
    fn sqlite3_vtab_on_conflict(_connection: Handle<'_, sqlite3>) -> c_int [0] { 0 }
    /// Virtual tables cannot be used.
    fn sqlite3_vtab_nochange(_context: *mut c_void) -> c_int [0] { 0 }
    /// Virtual tables cannot be used.
    fn sqlite3_vtab_collation(_info: *mut c_void, _which: c_int) -> *const c_char [ptr::null()] { c"BINARY".as_ptr() }
    /// Virtual tables cannot be used.
    fn sqlite3_vtab_distinct(_info: *mut c_void) -> c_int [0] { 0 }
    /// Virtual tables cannot be used.
    fn sqlite3_vtab_in(_info: *mut c_void, _which: c_int, _how: c_int) -> c_int [0] { 0 }
    /// Virtual tables cannot be used.
    fn sqlite3_vtab_in_first(_value: *mut c_void, _place: *mut *mut c_void) -> c_int [ERROR] { ERROR }
    /// Virtual tables cannot be used.
    fn sqlite3_vtab_in_next(_value: *mut c_void, _place: *mut *mut c_void) -> c_int [ERROR] { ERROR }
    /// Virtual tables cannot be used.
    fn sqlite3_vtab_rhs_value(_info: *mut c_void, _which: c_int, _place: *mut *mut c_void) -> c_int [NOTFOUND] { NOTFOUND }

    /// Files are opened by the engine.
    fn sqlite3_vfs_find(_name: *const c_char) -> *mut c_void [ptr::null_mut()] { ptr::null_mut() }
    /// Files are opened by the engine.
    fn sqlite3_vfs_register(_vfs: *mut c_void, _default: c_int) -> c_int [OK] { OK }
    /// Files are opened by the engine.
    fn sqlite3_vfs_unregister(_vfs: *mut c_void) -> c_int [OK] { OK }
    /// Names of files have no parameters here.
    fn sqlite3_uri_parameter(_file: *const c_char, _name: *const c_char) -> *const c_char [ptr::null()] { ptr::null() }
    /// Names of files have no parameters here.
    fn sqlite3_uri_boolean(_file: *const c_char, _name: *const c_char, default: c_int) -> c_int [0] { c_int::from(default != 0) }
    /// Names of files have no parameters here.
    fn sqlite3_uri_int64(_file: *const c_char, _name: *const c_char, default: i64) -> i64 [0] { default }
    /// Names of files have no parameters here.
    fn sqlite3_uri_key(_file: *const c_char, _which: c_int) -> *const c_char [ptr::null()] { ptr::null() }
    /// The name of a file.
    fn sqlite3_filename_database(file: *const c_char) -> *const c_char [ptr::null()] { file }
    /// There is none.
    fn sqlite3_filename_journal(_file: *const c_char) -> *const c_char [ptr::null()] { c"".as_ptr() }
    /// There is none that programs may touch.
    fn sqlite3_filename_wal(_file: *const c_char) -> *const c_char [ptr::null()] { c"".as_ptr() }

    /// One lock for all who ask: it is never waited for.
    fn sqlite3_mutex_alloc(_kind: c_int) -> *mut c_void [ptr::null_mut()] { ptr::null_mut() }
    /// Nothing is to be done.
    fn sqlite3_mutex_free(_mutex: *mut c_void) -> () [()] {}
    /// Nothing is to be done.
    fn sqlite3_mutex_enter(_mutex: *mut c_void) -> () [()] {}
    /// Nothing is to be done.
    fn sqlite3_mutex_try(_mutex: *mut c_void) -> c_int [OK] { OK }
    /// Nothing is to be done.
    fn sqlite3_mutex_leave(_mutex: *mut c_void) -> () [()] {}
    /// Yes.
    fn sqlite3_mutex_held(_mutex: *mut c_void) -> c_int [1] { 1 }
    /// Yes.
    fn sqlite3_mutex_notheld(_mutex: *mut c_void) -> c_int [1] { 1 }
    /// Connections lock themselves.
    fn sqlite3_db_mutex(_connection: Handle<'_, sqlite3>) -> *mut c_void [ptr::null_mut()] { ptr::null_mut() }

    /// Changes are not recorded.
    fn sqlite3session_create(connection: Handle<'_, sqlite3>, _schema: *const c_char, session: *mut *mut c_void) -> c_int [ERROR] {
        put(session, ptr::null_mut());
        refuse(connection, "sqlite3session_create")
    }
    /// There is no session.
    fn sqlite3session_delete(_session: *mut c_void) -> () [()] {}
    /// There is no session.
    fn sqlite3session_attach(_session: *mut c_void, _table: *const c_char) -> c_int [ERROR] { ERROR }
    /// There is no session.
    fn sqlite3session_enable(_session: *mut c_void, _on: c_int) -> c_int [0] { 0 }
    /// There is no session.
    fn sqlite3session_indirect(_session: *mut c_void, _on: c_int) -> c_int [0] { 0 }
    /// There is no session.
    fn sqlite3session_isempty(_session: *mut c_void) -> c_int [1] { 1 }
    /// There is no session.
    fn sqlite3session_table_filter(_session: *mut c_void, _function: *mut c_void, _data: *mut c_void) -> () [()] {}

    /// There is no session.
    fn sqlite3session_changeset(_session: *mut c_void, size: *mut c_int, changes: *mut *mut c_void) -> c_int [ERROR] {
        put(size, 0);
        put(changes, ptr::null_mut());
        ERROR
    }

    /// There is no session.
    fn sqlite3session_patchset(_session: *mut c_void, size: *mut c_int, changes: *mut *mut c_void) -> c_int [ERROR] {
        put(size, 0);
        put(changes, ptr::null_mut());
        ERROR
    }
}

//! Databases: opened, configured, looked at and closed.

use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::pointers::{
    Freed, Handle, Made, Out, Own, Text, TextOut, free, given, here, make, null, owned, put_text,
};
use inlay::{Database, Value};
use std::ffi::c_char;

/// A database that is open. The file is closed when nothing uses it any more: not this handle, a connection, a statement or a result.
pub struct inlay_database {
    process: u32,
    pub(crate) database: Database,
}

/// Settings that a database is opened with. They are used by one thread at a time.
pub struct inlay_config {
    process: u32,
    settings: Vec<(String, Value)>,
}

owned!(inlay_database, inlay_config);

/// The version of the library, as "0.1.0"; a constant.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// No settings yet. To be freed by inlay_config_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_config_new(config: Out<'_, Made<inlay_config>>, error: ErrorOut<'_>) -> inlay_status {
    guard(error, || make(config, "config", || Ok(inlay_config { process: here(), settings: Vec::new() })))
}

/// Adds a setting, as SET has it, or access_mode: "read_only", "read_write". Whether it exists is known when the database is opened.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_config_set(
    config: Own<'_, inlay_config>,
    name: Text<'_>,
    value: Text<'_>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let config = config.ok_or_else(|| null("config"))?;
        let (name, value) = (name.get("name")?.to_string(), value.get("value")?);
        config.settings.push((name, value.into()));
        Ok(())
    })
}

/// Frees settings.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_config_free(config: Freed<'_, inlay_config>) {
    free(config);
}

/// Opens the file at a path, which is made if there is none; NULL, "" and ":memory:" are a new database in memory, ":memory:name" the
/// one of that name. A file that is open in this process already gives another handle of the same database. config may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_open(
    path: Text<'_>,
    config: Handle<'_, inlay_config>,
    database: Out<'_, Made<inlay_database>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        make(database, "database", || {
            let settings = config.map_or(&[][..], |config| &config.settings);
            let database = Database::open(path.optional("path")?.unwrap_or_default(), settings)?;
            Ok(inlay_database { process: here(), database })
        })
    })
}

/// Frees a database. Connections of it go on; the file is closed with the last of them.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_close(database: Freed<'_, inlay_database>) {
    free(database);
}

/// The path of the database's file, or ":memory:". To be freed by inlay_text_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_database_path(
    database: Handle<'_, inlay_database>,
    path: Out<'_, TextOut>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || put_text(path, "path", || Ok(Some(given(database, "database")?.database.name()))))
}

/// Bytes that the database holds in memory now.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_database_memory_used(database: Handle<'_, inlay_database>) -> u64 {
    plain(0, || database.map(|database| database.database.memory_used()))
}

/// Writes a copy of what is committed into a new file, while the database is used.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_database_backup(
    database: Handle<'_, inlay_database>,
    path: Text<'_>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || given(database, "database")?.database.backup(path.get("path")?))
}

/// Frees a text that a function made for the program.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_text_free(text: Option<&mut TextOut>) {
    if let Some(text) = text {
        text.free();
    }
}

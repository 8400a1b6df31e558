//! The settings, each in one place: name, whom it belongs to, what it does, how its value is read and how it is set.

use super::profiling;
use super::values::*;
use super::{
    DatabaseSettings, Decimals, MAX_BATCH_ROWS, PlanCache, Scope, SessionSettings, Setting,
    default_memory_limit, default_threads,
};
use inlay_catalog::access::Door;
use inlay_exec::{Priority, TempSpace};
use inlay_kernels::resolve::Dialect;
use inlay_kernels::zone::Zone;
use inlay_sql::binder::{NullOrder, check_collation};
use inlay_storage::store::StoreOptions;
use inlay_storage::wal::Synchronous;
use inlay_types::{Error, Result, VECTOR_SIZE, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a setting is set in.
pub(super) struct Target<'a> {
    pub database: &'a DatabaseSettings,
    pub session: &'a mut SessionSettings,
}

/// Reads a value.
type Get = fn(&DatabaseSettings, &SessionSettings) -> Value;
/// Takes a value, or the default again.
type Set = fn(Option<&Value>, Target<'_>) -> Result<()>;

/// A setting.
pub(super) struct Entry {
    pub setting: Setting,
    pub get: Get,
    pub set: Set,
}

const fn of_database(name: &'static str, description: &'static str, get: Get, set: Set) -> Entry {
    Entry { setting: Setting { name, scope: Scope::Database, description }, get, set }
}

const fn of_session(name: &'static str, description: &'static str, get: Get, set: Set) -> Entry {
    Entry { setting: Setting { name, scope: Scope::Session, description }, get, set }
}

fn text(value: impl Into<String>) -> Value {
    Value::Varchar(value.into())
}

fn list(items: Vec<String>) -> Value {
    text(format!("[{}]", items.join(", ")))
}

/// A truth value, or else what holds by default.
fn truth(name: &str, value: Option<&Value>, default: bool) -> Result<bool> {
    value.map_or(Ok(default), |value| boolean_of(name, value))
}

/// All but those of the network, which are its own.
pub(super) const ENTRIES: &[Entry] = &[
    of_database(
        "threads",
        "worker threads of a query, the calling thread among them",
        |database, _| Value::BigInt(database.pool.threads() as i64),
        |value, to| {
            to.database.pool.set_threads(value.map_or(Ok(default_threads()), threads_of)?);
            Ok(())
        },
    ),
    of_database(
        "memory_limit",
        "bytes that tables and queries may take, such as '2GB' or '80%'",
        |database, _| text(memory_text(database.budget.limit())),
        |value, to| {
            let limit = value.map_or(Ok(default_memory_limit()), |value| memory_of("memory_limit", value))?;
            to.database.budget.set_limit(limit);
            to.database.limit_residents();
            Ok(())
        },
    ),
    of_database(
        "resource_mode",
        "'fixed': threads and memory_limit are used; 'adaptive': less of them while others on the machine, or the host, \
         are busy or memory is short (Linux; the same as 'fixed' elsewhere)",
        |database, _| text(database.mode_name()),
        |value, to| {
            to.database.set_mode(value.map_or(Ok(false), adaptive_of)?);
            Ok(())
        },
    ),
    of_database(
        "resident_limit",
        "bytes of columns that were handed to the host and are kept so that it gets them again without a copy",
        |database, _| text(memory_text(database.resident_limit())),
        |value, to| {
            let is_none = |value: &Value| matches!(value.to_string().trim(), "0" | "0%" | "none" | "off");
            *to.database.resident_limit.lock() = match value {
                None => None,
                Some(value) if is_none(value) => Some(0),
                Some(value) => Some(memory_of("resident_limit", value)?),
            };
            to.database.limit_residents();
            Ok(())
        },
    ),
    of_database(
        "synchronous",
        "what a commit waits for: 'full' (the disk), 'normal' (the system) or 'off'",
        |database, _| {
            text(match database.store_options().synchronous {
                Synchronous::Full => "full",
                Synchronous::Normal => "normal",
                Synchronous::Off => "off",
            })
        },
        |value, to| {
            let synchronous = value.map_or(Ok(Synchronous::Full), synchronous_of)?;
            to.database.stores.lock().synchronous = synchronous;
            Ok(())
        },
    ),
    of_database(
        "checkpoint_threshold",
        "size of the log from which on a commit makes a checkpoint, such as '16MB'",
        |database, _| text(memory_text(database.store_options().checkpoint_threshold)),
        |value, to| {
            let bytes = value.map_or(Ok(StoreOptions::default().checkpoint_threshold), |value| {
                memory_of("checkpoint_threshold", value)
            })?;
            to.database.stores.lock().checkpoint_threshold = bytes;
            Ok(())
        },
    ),
    of_database(
        "temp_directory",
        "where queries put rows that do not fit into memory_limit",
        |database, _| text(database.temp().directory().display().to_string()),
        set_temp_directory,
    ),
    of_database(
        "max_temp_directory_size",
        "bytes that such rows may take on the disk, such as '100GB'",
        |database, _| match database.temp().limit() {
            u64::MAX => text("unlimited"),
            limit => text(memory_text(limit)),
        },
        |value, to| {
            let limit = value.map(|value| match value.to_string().trim() {
                "0" | "0B" | "0b" => Ok(0),
                _ => memory_of("max_temp_directory_size", value),
            });
            let limit = limit.transpose()?;
            to.database.temp().set_limit(limit);
            Ok(())
        },
    ),
    of_database(
        "enable_external_access",
        "whether statements may read and write files; once off it stays off",
        |database, _| Value::Boolean(database.access().is_unrestricted()),
        |value, to| {
            let enabled = truth("enable_external_access", value, true)?;
            let access = to.database.access();
            narrowed("enable_external_access", enabled, access.is_unrestricted(), || access.restrict())
        },
    ),
    of_database(
        "allowed_directories",
        "directories in reach though enable_external_access is off, such as ['/data']",
        |database, _| list(database.access().directories()),
        |value, to| to.database.access().allow_directories(&value.map(texts_of).unwrap_or_default()),
    ),
    of_database(
        "allowed_paths",
        "files in reach though enable_external_access is off",
        |database, _| list(database.access().files()),
        |value, to| to.database.access().allow_files(&value.map(texts_of).unwrap_or_default()),
    ),
    of_database(
        "allow_network",
        "whether statements may reach files behind http:// and s3://; once off it stays off",
        |database, _| Value::Boolean(database.access().allows_network()),
        |value, to| {
            let allowed = truth("allow_network", value, true)?;
            let access = to.database.access();
            narrowed("allow_network", allowed, access.allows_network(), || access.forbid_network())
        },
    ),
    of_database(
        "allow_python",
        "whether functions whose Python code is in a database file may run; off unless it is said",
        |database, _| Value::Boolean(database.access().allows_python()),
        |value, to| to.database.access().set_python(truth("allow_python", value, false)?),
    ),
    of_database(
        "allow_r",
        "whether functions whose R code is in a database file may run: the same switch as allow_python; off unless it is said",
        |database, _| Value::Boolean(database.access().allows_python()),
        |value, to| to.database.access().set_python(truth("allow_r", value, false)?),
    ),
    of_database(
        "python_worker_memory",
        "bytes of memory of its own that each worker process for functions may take, such as '2GB'; 0 is as much as there is",
        |database, _| match database.worker_memory.load(Ordering::Relaxed) {
            0 => text("0"),
            bytes => text(memory_text(bytes)),
        },
        |value, to| {
            let is_zero = value.is_none_or(|value| value.as_i128() == Some(0) || value.to_string() == "0");
            let bytes = match value {
                Some(value) if !is_zero => memory_of("python_worker_memory", value)?,
                _ => 0,
            };
            to.database.worker_memory.store(bytes, Ordering::Relaxed);
            Ok(())
        },
    ),
    of_database(
        "sandbox",
        "what SQL of strangers needs, at once: enable_external_access off, no variables of Python and no stored code, \
         statement_timeout 1 minute, memory_limit 25 % and max_temp_directory_size 10 GB unless they are said, \
         lock_configuration on; once on it stays on",
        |database, _| Value::Boolean(database.access().is_sandbox()),
        |value, to| super::sandbox::set(value, &[], to.database, to.session),
    ),
    of_database(
        "lock_configuration",
        "whether settings are fixed; once on it stays on",
        |database, _| Value::Boolean(database.access().is_locked()),
        |value, to| {
            to.database.access().set_locked(truth("lock_configuration", value, false)?);
            Ok(())
        },
    ),
    of_session(
        "statement_timeout",
        "how long a statement may take, in milliseconds or as '5s'; 0 is as long as it likes",
        |_, session| Value::BigInt(session.timeout.map_or(0, |limit| limit.as_millis() as i64)),
        |value, to| {
            to.session.timeout = value.map_or(Ok(None), timeout_of)?;
            Ok(())
        },
    ),
    of_session(
        "priority",
        "what queries get when several want the workers at once: 'low' (they give way), 'normal' or 'high'",
        |_, session| text(session.priority.get().name()),
        |value, to| {
            to.session.priority.set(value.map_or(Ok(Priority::default()), priority_of)?);
            to.database.pool.rearrange();
            Ok(())
        },
    ),
    of_session(
        "enable_optimizer",
        "whether plans are optimised; answers are the same without",
        |_, session| Value::Boolean(!session.optimizer_off),
        |value, to| {
            to.session.optimizer_off = !truth("enable_optimizer", value, true)?;
            Ok(())
        },
    ),
    of_session(
        "enable_bitmap_indexes",
        "whether queries use bitmap indexes; answers are the same without",
        |_, session| Value::Boolean(!session.value_indexes_off),
        |value, to| {
            to.session.value_indexes_off = !truth("enable_bitmap_indexes", value, true)?;
            Ok(())
        },
    ),
    of_session(
        "disabled_optimizers",
        "'all' is enable_optimizer = false; '' is everything at work",
        |_, session| text(if session.optimizer_off { "all" } else { "" }),
        |value, to| {
            to.session.optimizer_off = match value.map(|v| v.to_string().trim().to_lowercase()).as_deref() {
                None | Some("" | "none") => false,
                Some("all") => true,
                Some(other) => {
                    let message = format!("disabled_optimizers = {other}: expected 'all' or ''");
                    return Err(
                        Error::invalid_argument(message).with_hint("passes are not switched one by one")
                    );
                }
            };
            Ok(())
        },
    ),
    of_session(
        "plan_cache",
        "whether plans of repeated statements are kept: on, off, or eager (from the first time on, for tests)",
        |_, session| {
            text(match session.plan_cache {
                PlanCache::On => "on",
                PlanCache::Off => "off",
                PlanCache::Eager => "eager",
            })
        },
        |value, to| {
            to.session.plan_cache = value.map_or(Ok(PlanCache::On), plan_cache_of)?;
            Ok(())
        },
    ),
    of_session(
        "debug_batch_rows",
        "rows that a source hands on at a time, 1 to 2048; fewer are for tests",
        |_, session| Value::BigInt(session.batch_rows() as i64),
        |value, to| {
            to.session.batch_rows = match value.map(|value| value.as_i128().unwrap_or(-1)) {
                None => 0,
                Some(rows @ 1..=MAX_BATCH_ROWS) => rows as usize,
                Some(rows) => {
                    let message =
                        format!("debug_batch_rows = {rows}: expected a number from 1 to {VECTOR_SIZE}");
                    return Err(Error::invalid_argument(message));
                }
            };
            Ok(())
        },
    ),
    of_session(
        "enable_profiling",
        "whether queries are measured, for the host to ask what each step took, and in which form that is written: \
         'query_tree', 'query_tree_optimizer', 'json', 'yaml', 'html', 'graphviz', 'mermaid' or 'no_output'",
        |_, session| text(profiling::format_text(session.profiles, &session.profiling)),
        |value, to| profiling::set_format(value, &mut to.session.profiles, &mut to.session.profiling),
    ),
    of_session(
        "profiling_output",
        "the file that the profile of each measured statement is written to, in place of the one before; '' is none",
        |_, session| text(session.profiling.output.clone().unwrap_or_default()),
        |value, to| {
            let output = profiling::output_of(value, to.session.profiling.format)?;
            output.iter().try_for_each(|path| to.database.files().ask(Door::Write(path)))?;
            to.session.profiling.output = output;
            Ok(())
        },
    ),
    of_session(
        "profiling_coverage",
        "which statements are measured: 'select' or 'all'",
        |_, session| text(if session.profiling.covers_all { "all" } else { "select" }),
        |value, to| {
            to.session.profiling.covers_all = value.map_or(Ok(false), profiling::coverage_of)?;
            Ok(())
        },
    ),
    of_session(
        "profiling_mode",
        "how much of the optimizer profiles tell: 'standard' (its time) or 'detailed' (that of each of its passes, too)",
        |_, session| text(profiling::mode_text(&session.profiling.tracked)),
        |value, to| profiling::set_mode(value, &mut to.session.profiling.tracked),
    ),
    of_session(
        "tracked_metrics",
        "which metrics profiles have as JSON: a list of names and patterns such as ['query.*', 'operator.timing']",
        |_, session| profiling::tracked_value(&session.profiling.tracked),
        |value, to| profiling::set_tracked(value, &mut to.session.profiling.tracked),
    ),
    of_session(
        "legacy_metrics_format",
        "whether profiles as JSON have the flat names that they have in DuckDB 1, such as 'latency'",
        |_, session| Value::Boolean(session.profiling.is_legacy),
        |value, to| {
            to.session.profiling.is_legacy = truth("legacy_metrics_format", value, false)?;
            Ok(())
        },
    ),
    of_session(
        "dialect",
        "whose SQL the session speaks: 'inlay', or 'sqlite' where SQLite means something else by the same words",
        |_, session| {
            text(match session.dialect {
                Dialect::Inlay => "inlay",
                Dialect::Sqlite => "sqlite",
            })
        },
        |value, to| {
            let dialect = value.map_or(Ok(Dialect::default()), dialect_of)?;
            // What goes with a dialect can be set otherwise behind it.
            if dialect != to.session.dialect {
                let is_sqlite = dialect == Dialect::Sqlite;
                to.session.dialect = dialect;
                to.session.integer_division = is_sqlite;
                to.session.default_order.nulls = if is_sqlite { NullOrder::Lowest } else { NullOrder::Last };
            }
            Ok(())
        },
    ),
    of_session(
        "integer_division",
        "whether / of two integers drops the fraction",
        |_, session| Value::Boolean(session.integer_division),
        |value, to| {
            to.session.integer_division = truth("integer_division", value, false)?;
            Ok(())
        },
    ),
    of_session(
        "sqlite_all_varchar",
        "whether ATTACH and sqlite_scan read all columns of SQLite's files as texts",
        |_, session| Value::Boolean(session.sqlite_all_varchar),
        |value, to| {
            to.session.sqlite_all_varchar = truth("sqlite_all_varchar", value, false)?;
            Ok(())
        },
    ),
    of_session(
        "default_order",
        "how ORDER BY sorts unless it says: 'asc' or 'desc'",
        |_, session| text(if session.default_order.descending { "desc" } else { "asc" }),
        |value, to| {
            to.session.default_order.descending = value.map_or(Ok(false), direction_of)?;
            Ok(())
        },
    ),
    of_session(
        "default_transaction_isolation",
        "how transactions see each other that do not say: 'serializable', or 'repeatable read' and below, which are snapshots",
        |_, session| text(isolation_text(session.modes.isolation)),
        |value, to| {
            to.session.modes.isolation = value.map(isolation_of).transpose()?;
            Ok(())
        },
    ),
    of_session(
        "default_transaction_read_only",
        "whether transactions that do not say only read",
        |_, session| Value::Boolean(session.modes.read_only.unwrap_or(false)),
        |value, to| {
            let said = value.map(|value| boolean_of("default_transaction_read_only", value));
            to.session.modes.read_only = said.transpose()?;
            Ok(())
        },
    ),
    of_session(
        "default_collation",
        "what texts compare by, where they are ordered, grouped or compared without COLLATE, such as 'NOCASE'; '' is byte by byte",
        |_, session| text(session.default_collation.as_deref().unwrap_or_default()),
        |value, to| {
            let name = value.map(ToString::to_string).filter(|name| !name.is_empty());
            name.iter().try_for_each(|name| check_collation(name))?;
            to.session.default_collation = name.map(Arc::from);
            Ok(())
        },
    ),
    of_session(
        "default_null_order",
        "where ORDER BY puts NULLs: 'nulls_last', 'nulls_first', 'postgres' (largest) or 'sqlite' (smallest)",
        |_, session| text(null_order_text(session.default_order.nulls)),
        |value, to| {
            to.session.default_order.nulls = value.map_or(Ok(NullOrder::Last), null_order_of)?;
            Ok(())
        },
    ),
    of_session(
        "decimal",
        "what NumPy arrays and pandas frames hold for DECIMAL: 'float' (the nearest double) or 'exact'",
        |_, session| text(session.host.decimals().name()),
        |value, to| {
            to.session.host.set_decimals(value.map_or(Ok(Decimals::default()), Decimals::of)?);
            Ok(())
        },
    ),
    of_session(
        "nan_as_null",
        "whether NaN in arrays and dictionaries of a host is NULL, as it is in data frames",
        |_, session| Value::Boolean(session.host.nan_as_null()),
        |value, to| {
            to.session.host.set_nan_as_null(truth("nan_as_null", value, true)?);
            Ok(())
        },
    ),
    of_session(
        "timezone",
        "the time zone in which TIMESTAMPTZ values are shown, read and taken apart, such as 'Europe/Amsterdam'",
        |_, session| text(session.time_zone().name()),
        |value, to| {
            to.session.zone = value.map(|name| Zone::named(&name.to_string())).transpose()?;
            to.session.host.set_zone(to.session.time_zone());
            Ok(())
        },
    ),
];

/// What can be narrowed, not widened: SQL that is run later does not get out.
fn narrowed(name: &str, wanted: bool, is_on: bool, narrow: impl FnOnce()) -> Result<()> {
    match (wanted, is_on) {
        (false, _) => {
            narrow();
            Ok(())
        }
        (true, true) => Ok(()),
        (true, false) => Err(Error::invalid_argument(format!("{name} cannot be switched on again"))
            .with_hint("open the database with it instead")),
    }
}

fn set_temp_directory(value: Option<&Value>, to: Target<'_>) -> Result<()> {
    let database = to.database;
    if let Some(directory) = value {
        database.access().ask(Door::MakeFolder(&directory.to_string()))?;
    }
    let limit = Some(database.temp().limit());
    let directory = value.map_or_else(std::env::temp_dir, |value| value.to_string().into());
    database.files.set_folder(directory.clone());
    *database.temp.lock() = Arc::new(TempSpace::new(directory, limit));
    Ok(())
}

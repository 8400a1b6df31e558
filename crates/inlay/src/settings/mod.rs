//! Settings: what can be set, where it holds, and how its value is written.
//!
//! [`SETTINGS`] is the list that SET, SHOW, the API and error messages share. A setting belongs to the database or to one
//! connection; what a database was opened with is what its connections start with.
//!
//! - [`sandbox`]: what strangers need, at once. [`values`]: sizes, times, words. [`foreign`]: settings of other systems that have
//!   nothing to set here. [`hosts`]: how values are exchanged with a host. [`machine`]: the time zone that sessions begin with.

mod foreign;
mod hosts;
mod machine;
mod sandbox;
mod values;

pub use hosts::{Decimals, HostSettings};

use crate::kept::PlanCache;
use crate::resources::{self, Adaptive};
use inlay_catalog::access::{Access, Door};
use inlay_exec::{Governor, Priority, PriorityCell, TempSpace, WorkerPool};
use inlay_formats::files::Files;
use inlay_formats::remote::settings::{NETWORK_SETTINGS, is_of_network};
use inlay_kernels::zone::Zone;
use inlay_sql::binder::{DefaultOrder, NullOrder, check_collation};
use inlay_storage::resident::Residents;
use inlay_storage::store::{AccessMode, StoreOptions};
use inlay_storage::wal::Synchronous;
use inlay_types::candidates::Candidates;
use inlay_types::{Error, MemoryBudget, Result, VECTOR_SIZE, Value};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use values::*;

/// Name and meaning of a setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Lower-case name.
    pub name: &'static str,
    /// Whom it belongs to.
    pub scope: Scope,
    /// What it does, for people.
    pub description: &'static str,
}

/// Whom a setting belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scope {
    /// All connections of a database.
    Database,
    /// One connection.
    Session,
}

/// Every setting.
pub const SETTINGS: &[Setting] = &{
    let mut all = [OWN[0]; OWN.len() + NETWORK_SETTINGS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < OWN.len() {
            OWN[at]
        } else {
            let (name, description) = NETWORK_SETTINGS[at - OWN.len()];
            of_database(name, description)
        };
        at += 1;
    }
    all
};

/// Those that are not the network's.
const OWN: &[Setting] = &[
    of_database("threads", "worker threads of a query, the calling thread among them"),
    of_database("memory_limit", "bytes that tables and queries may take, such as '2GB' or '80%'"),
    of_database(
        "resource_mode",
        "'fixed': threads and memory_limit are used; 'adaptive': less of them while others on the machine, or the host, \
         are busy or memory is short (Linux; the same as 'fixed' elsewhere)",
    ),
    of_database(
        "resident_limit",
        "bytes of columns that were handed to the host and are kept so that it gets them again without a copy",
    ),
    of_database("synchronous", "what a commit waits for: 'full' (the disk), 'normal' (the system) or 'off'"),
    of_database(
        "checkpoint_threshold",
        "size of the log from which on a commit makes a checkpoint, such as '16MB'",
    ),
    of_database("temp_directory", "where queries put rows that do not fit into memory_limit"),
    of_database("max_temp_directory_size", "bytes that such rows may take on the disk, such as '100GB'"),
    of_database(
        "enable_external_access",
        "whether statements may read and write files; once off it stays off",
    ),
    of_database(
        "allowed_directories",
        "directories in reach though enable_external_access is off, such as ['/data']",
    ),
    of_database("allowed_paths", "files in reach though enable_external_access is off"),
    of_database(
        "allow_network",
        "whether statements may reach files behind http:// and s3://; once off it stays off",
    ),
    of_database(
        "allow_python",
        "whether functions whose Python code is in a database file may run; off unless it is said",
    ),
    of_database(
        "python_worker_memory",
        "bytes of memory of its own that each worker process for functions may take, such as '2GB'; 0 is as much as there is",
    ),
    of_database(
        "sandbox",
        "what SQL of strangers needs, at once: enable_external_access off, no variables of Python and no stored code, \
         statement_timeout 1 minute, memory_limit 25 % and max_temp_directory_size 10 GB unless they are said, \
         lock_configuration on; once on it stays on",
    ),
    of_database("lock_configuration", "whether settings are fixed; once on it stays on"),
    of_session(
        "statement_timeout",
        "how long a statement may take, in milliseconds or as '5s'; 0 is as long as it likes",
    ),
    of_session(
        "priority",
        "what queries get when several want the workers at once: 'low' (they give way), 'normal' or 'high'",
    ),
    of_session("enable_optimizer", "whether plans are optimised; answers are the same without"),
    of_session("disabled_optimizers", "'all' is enable_optimizer = false; '' is everything at work"),
    of_session(
        "plan_cache",
        "whether plans of repeated statements are kept: on, off, or eager (from the first time on, for tests)",
    ),
    of_session("debug_batch_rows", "rows that a source hands on at a time, 1 to 2048; fewer are for tests"),
    of_session("enable_profiling", "whether queries are measured, for the host to ask what each step took"),
    of_session("integer_division", "whether / of two integers drops the fraction"),
    of_session("default_order", "how ORDER BY sorts unless it says: 'asc' or 'desc'"),
    of_session(
        "default_collation",
        "what texts compare by, where they are ordered, grouped or compared without COLLATE, such as 'NOCASE'; '' is byte by byte",
    ),
    of_session(
        "default_null_order",
        "where ORDER BY puts NULLs: 'nulls_last', 'nulls_first', 'postgres' (largest) or 'sqlite' (smallest)",
    ),
    of_session(
        "decimal",
        "what NumPy arrays and pandas frames hold for DECIMAL: 'float' (the nearest double) or 'exact'",
    ),
    of_session(
        "nan_as_null",
        "whether NaN in arrays and dictionaries of a host is NULL, as it is in data frames",
    ),
    of_session(
        "timezone",
        "the time zone in which TIMESTAMPTZ values are shown, read and taken apart, such as 'Europe/Amsterdam'",
    ),
];

const fn of_database(name: &'static str, description: &'static str) -> Setting {
    Setting { name, scope: Scope::Database, description }
}

const fn of_session(name: &'static str, description: &'static str) -> Setting {
    Setting { name, scope: Scope::Session, description }
}

/// Names that other systems use for ours.
const ALIASES: &[(&str, &str)] = &[
    ("worker_threads", "threads"),
    ("max_memory", "memory_limit"),
    ("max_execution_time", "statement_timeout"),
    ("null_order", "default_null_order"),
    ("time_zone", "timezone"),
    ("wal_autocheckpoint", "checkpoint_threshold"),
];

/// Share of the machine's memory that a database takes at most unless told otherwise.
const DEFAULT_MEMORY_PERCENT: u64 = 80;
/// Share of the memory limit that columns handed to the host take at most unless told otherwise.
const DEFAULT_RESIDENT_PERCENT: u64 = 25;
/// The machine's memory where it cannot be found out.
const ASSUMED_MEMORY_BYTES: u64 = 8 << 30;
/// Largest value of debug_batch_rows.
const MAX_BATCH_ROWS: i128 = VECTOR_SIZE as i128;
/// More workers than this are a typing mistake.
const THREADS_MAX: i128 = 1024;

/// How much of what is set is used.
enum ResourceMode {
    /// All of it.
    Fixed,
    /// What the machine leaves; all where it does not show what is done on it.
    Adaptive(Option<Arc<Adaptive>>),
}

/// Settings of a database.
pub struct DatabaseSettings {
    pool: Arc<WorkerPool>,
    mode: Mutex<ResourceMode>,
    budget: MemoryBudget,
    residents: Arc<Residents>,
    /// Bytes that may be resident, if it was said.
    resident_limit: Mutex<Option<u64>>,
    stores: Mutex<StoreOptions>,
    temp: Mutex<Arc<TempSpace>>,
    files: Arc<Files>,
    /// Bytes that a worker process of the host may take, 0 for any.
    worker_memory: Arc<AtomicU64>,
}

impl DatabaseSettings {
    /// The defaults: all cores and 80 % of the memory that the process may use.
    pub fn new(budget: MemoryBudget, residents: Arc<Residents>, pool: Arc<WorkerPool>) -> Self {
        budget.set_limit(default_memory_limit());
        pool.set_threads(default_threads());
        let settings = Self {
            pool,
            mode: Mutex::new(ResourceMode::Fixed),
            files: Arc::new(Files::new(budget.clone())),
            budget,
            residents,
            resident_limit: Mutex::default(),
            stores: Mutex::default(),
            temp: Mutex::default(),
            worker_memory: Arc::default(),
        };
        settings.limit_residents();
        settings
    }

    /// What adaptive mode saw and decided last; `None` in fixed mode, or if nothing ran yet.
    pub fn seen(&self) -> Option<resources::Seen> {
        match &*self.mode.lock() {
            ResourceMode::Adaptive(Some(adaptive)) => adaptive.seen(),
            ResourceMode::Fixed | ResourceMode::Adaptive(None) => None,
        }
    }

    /// `fixed` or `adaptive`.
    pub fn mode_name(&self) -> &'static str {
        match &*self.mode.lock() {
            ResourceMode::Fixed => "fixed",
            ResourceMode::Adaptive(_) => "adaptive",
        }
    }

    fn set_mode(&self, is_adaptive: bool) {
        let mut mode = self.mode.lock();
        if !is_adaptive {
            self.pool.set_governor(None);
            *mode = ResourceMode::Fixed;
        } else if matches!(*mode, ResourceMode::Fixed) {
            let adaptive = Adaptive::new(resources::here(), self.budget.clone(), &self.pool);
            if let Some(adaptive) = &adaptive {
                let governor: Arc<dyn Governor> = Arc::<Adaptive>::clone(adaptive);
                self.pool.set_governor(Some(Arc::downgrade(&governor)));
            }
            *mode = ResourceMode::Adaptive(adaptive);
        }
    }

    /// Bytes that may be resident.
    fn resident_limit(&self) -> u64 {
        self.resident_limit.lock().unwrap_or(self.budget.limit() / 100 * DEFAULT_RESIDENT_PERCENT)
    }

    fn limit_residents(&self) {
        self.residents.set_limit(self.resident_limit());
    }

    /// Where rows go that do not fit into memory.
    pub fn temp(&self) -> Arc<TempSpace> {
        Arc::clone(&self.temp.lock())
    }

    /// Which files statements may touch.
    pub fn files(&self) -> &Arc<Files> {
        &self.files
    }

    /// How files are opened and written.
    pub fn store_options(&self) -> StoreOptions {
        *self.stores.lock()
    }

    /// What statements may do.
    pub fn access(&self) -> &Access {
        self.files.access()
    }

    /// Bytes that a worker process of the host may take, 0 for any; it changes with the setting.
    pub fn worker_memory(&self) -> &Arc<AtomicU64> {
        &self.worker_memory
    }

    /// The workers of its queries.
    pub fn pool(&self) -> &Arc<WorkerPool> {
        &self.pool
    }
}

/// Settings of a connection.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings {
    /// `/` of integers drops the fraction.
    pub integer_division: bool,
    /// What ORDER BY does when it does not say.
    pub default_order: DefaultOrder,
    /// What texts without a collation of their own compare by.
    pub default_collation: Option<Arc<str>>,
    /// How long a statement may take.
    pub timeout: Option<Duration>,
    /// What it was told of other systems' settings.
    foreign: foreign::Told,
    /// Queries are measured.
    pub profiles: bool,
    /// Plans run as they are bound.
    pub optimizer_off: bool,
    /// Rows that a source hands on at a time; 0 is the most.
    pub batch_rows: usize,
    /// Whether plans of statements are kept.
    pub plan_cache: PlanCache,
    /// What its queries get when others want the workers, too.
    pub priority: PriorityCell,
    /// How values are exchanged with a host.
    pub host: HostSettings,
    /// Where the session's clocks are, if it said so.
    pub zone: Option<Arc<Zone>>,
    /// Where the machine's are; absent where nobody looked.
    pub machine_zone: Option<Arc<Zone>>,
}

impl SessionSettings {
    /// Rows that a source hands on at a time.
    pub fn batch_rows(&self) -> usize {
        if self.batch_rows == 0 { VECTOR_SIZE } else { self.batch_rows }
    }

    /// After how long a statement's progress is to be shown, if it is.
    pub fn progress_bar_after(&self) -> Option<Duration> {
        foreign::progress_bar_ms(&self.foreign).map(Duration::from_millis)
    }

    /// The session's time zone: the one that was set, or the machine's.
    pub fn time_zone(&self) -> Arc<Zone> {
        self.zone.clone().or_else(|| self.machine_zone.clone()).unwrap_or_else(Zone::utc)
    }
}

/// What sessions begin with on this machine, and what is wrong with its time zone.
pub fn of_machine() -> (SessionSettings, Option<String>) {
    let (zone, problem) = machine::zone();
    (SessionSettings { machine_zone: Some(zone), ..SessionSettings::default() }, problem)
}

/// Gives a setting a value, or its default again (`None`). `all` are the connection's.
pub fn set(
    name: &str,
    value: Option<&Value>,
    database: &DatabaseSettings,
    session: &mut SessionSettings,
) -> Result<()> {
    let access = database.access();
    if name.eq_ignore_ascii_case("sandbox") {
        return sandbox::set(value, &[], database, session);
    }
    access.ask(Door::Setting(&name.to_lowercase()))?;
    if name.eq_ignore_ascii_case("all") && value.is_none() {
        // The cells stay: who works for the session looks at them.
        let (priority, host) = (session.priority.clone(), session.host.clone());
        let machine_zone = session.machine_zone.take();
        *session = SessionSettings { priority, host, machine_zone, ..SessionSettings::default() };
        set("decimal", None, database, session)?;
        set("nan_as_null", None, database, session)?;
        return set("priority", None, database, session);
    }
    if let Some(outcome) = foreign::set(name, value, &mut session.foreign) {
        return outcome;
    }
    match canonical(name)? {
        own if is_of_files(own) => set_files(own, value, database)?,
        own if is_of_network(own) => database.files.change_network(|network| network.set(own, value))?,
        "statement_timeout" => session.timeout = value.map_or(Ok(None), timeout_of)?,
        "lock_configuration" => {
            let lock = value.map_or(Ok(false), |value| boolean_of(name, value))?;
            access.set_locked(lock);
        }
        "allow_python" => {
            let allowed = value.map_or(Ok(false), |value| boolean_of(name, value))?;
            access.set_python(allowed)?;
        }
        "python_worker_memory" => {
            let is_zero = value.is_none_or(|value| value.as_i128() == Some(0) || value.to_string() == "0");
            let bytes = match value {
                Some(value) if !is_zero => memory_of("python_worker_memory", value)?,
                _ => 0,
            };
            database.worker_memory.store(bytes, Ordering::Relaxed);
        }
        "threads" => {
            let threads = value.map_or(Ok(default_threads()), threads_of)?;
            database.pool.set_threads(threads);
        }
        "memory_limit" => {
            let limit = value.map_or(Ok(default_memory_limit()), |value| memory_of("memory_limit", value))?;
            database.budget.set_limit(limit);
            database.limit_residents();
        }
        "resource_mode" => database.set_mode(value.map_or(Ok(false), adaptive_of)?),
        "resident_limit" => {
            let is_none = |value: &Value| matches!(value.to_string().trim(), "0" | "0%" | "none" | "off");
            *database.resident_limit.lock() = match value {
                None => None,
                Some(value) if is_none(value) => Some(0),
                Some(value) => Some(memory_of("resident_limit", value)?),
            };
            database.limit_residents();
        }
        "synchronous" => {
            database.stores.lock().synchronous = value.map_or(Ok(Synchronous::Full), synchronous_of)?;
        }
        "checkpoint_threshold" => {
            let bytes = value.map_or(Ok(StoreOptions::default().checkpoint_threshold), |value| {
                memory_of("checkpoint_threshold", value)
            })?;
            database.stores.lock().checkpoint_threshold = bytes;
        }
        "temp_directory" => {
            if let Some(directory) = value {
                access.ask(Door::MakeFolder(&directory.to_string()))?;
            }
            let limit = Some(database.temp().limit());
            let directory = value.map_or_else(std::env::temp_dir, |value| value.to_string().into());
            database.files.set_folder(directory.clone());
            *database.temp.lock() = Arc::new(TempSpace::new(directory, limit));
        }
        "max_temp_directory_size" => {
            let limit = value.map(|value| match value.to_string().trim() {
                "0" | "0B" | "0b" => Ok(0),
                _ => memory_of("max_temp_directory_size", value),
            });
            let limit = limit.transpose()?;
            database.temp().set_limit(limit);
        }
        "enable_profiling" => session.profiles = value.map_or(Ok(false), profiling_of)?,
        "integer_division" => session.integer_division = value.map_or(Ok(false), |v| boolean_of(name, v))?,
        "enable_optimizer" => session.optimizer_off = !value.map_or(Ok(true), |v| boolean_of(name, v))?,
        "disabled_optimizers" => {
            session.optimizer_off = match value.map(|v| v.to_string().trim().to_lowercase()).as_deref() {
                None | Some("" | "none") => false,
                Some("all") => true,
                Some(other) => {
                    return Err(Error::invalid_argument(format!(
                        "disabled_optimizers = {other}: expected 'all' or ''; passes are not switched one by one"
                    )));
                }
            };
        }
        "debug_batch_rows" => {
            let rows = value.map(|value| value.as_i128().unwrap_or(-1));
            session.batch_rows = match rows {
                None => 0,
                Some(rows @ 1..=MAX_BATCH_ROWS) => rows as usize,
                Some(rows) => {
                    let message =
                        format!("debug_batch_rows = {rows}: expected a number from 1 to {VECTOR_SIZE}");
                    return Err(Error::invalid_argument(message));
                }
            };
        }
        "priority" => {
            session.priority.set(value.map_or(Ok(Priority::default()), priority_of)?);
            database.pool.rearrange();
        }
        "plan_cache" => session.plan_cache = value.map_or(Ok(PlanCache::On), plan_cache_of)?,
        "decimal" => session.host.set_decimals(value.map_or(Ok(Decimals::default()), Decimals::of)?),
        "nan_as_null" => session.host.set_nan_as_null(value.map_or(Ok(true), |v| boolean_of(name, v))?),
        "default_order" => session.default_order.descending = value.map_or(Ok(false), direction_of)?,
        "default_collation" => {
            let name = value.map(ToString::to_string).filter(|name| !name.is_empty());
            name.iter().try_for_each(|name| check_collation(name))?;
            session.default_collation = name.map(Arc::from);
        }
        "default_null_order" => {
            session.default_order.nulls = value.map_or(Ok(NullOrder::Last), null_order_of)?;
        }
        "timezone" => session.zone = value.map(|name| Zone::named(&name.to_string())).transpose()?,
        other => return Err(Error::internal(format!("the setting {other} is listed but not handled"))),
    }
    Ok(())
}

/// The value of a setting.
pub fn get(name: &str, database: &DatabaseSettings, session: &SessionSettings) -> Option<Value> {
    if name.eq_ignore_ascii_case("python_enable_replacements") && !database.access().is_unrestricted() {
        return Some(Value::Varchar("false".to_string()));
    }
    // First, because a name that is not our own is looked for among those that are near.
    if let Some(value) = foreign::get(name, &session.foreign) {
        return Some(value);
    }
    let (own, access) = (canonical(name).ok()?, database.access());
    let list = |items: Vec<String>| Value::Varchar(format!("[{}]", items.join(", ")));
    Some(match own {
        "enable_external_access" => Value::Boolean(access.is_unrestricted()),
        "allowed_directories" => list(access.directories()),
        "allowed_paths" => list(access.files()),
        "sandbox" => Value::Boolean(access.is_sandbox()),
        "allow_network" => Value::Boolean(access.allows_network()),
        network if is_of_network(network) => return database.files.network().get(network),
        "allow_python" => Value::Boolean(access.allows_python()),
        "python_worker_memory" => Value::Varchar(match database.worker_memory.load(Ordering::Relaxed) {
            0 => "0".to_string(),
            bytes => memory_text(bytes),
        }),
        "lock_configuration" => Value::Boolean(access.is_locked()),
        "statement_timeout" => Value::BigInt(session.timeout.map_or(0, |limit| limit.as_millis() as i64)),
        "default_order" => {
            Value::Varchar(if session.default_order.descending { "desc" } else { "asc" }.to_string())
        }
        "default_collation" => {
            Value::Varchar(session.default_collation.as_deref().unwrap_or_default().to_string())
        }
        "threads" => Value::BigInt(database.pool.threads() as i64),
        "memory_limit" => Value::Varchar(memory_text(database.budget.limit())),
        "resource_mode" => Value::Varchar(database.mode_name().to_string()),
        "resident_limit" => Value::Varchar(memory_text(database.resident_limit())),
        "synchronous" => Value::Varchar(
            match database.store_options().synchronous {
                Synchronous::Full => "full",
                Synchronous::Normal => "normal",
                Synchronous::Off => "off",
            }
            .to_string(),
        ),
        "checkpoint_threshold" => Value::Varchar(memory_text(database.store_options().checkpoint_threshold)),
        "temp_directory" => Value::Varchar(database.temp().directory().display().to_string()),
        "max_temp_directory_size" => match database.temp().limit() {
            u64::MAX => Value::Varchar("unlimited".to_string()),
            limit => Value::Varchar(memory_text(limit)),
        },
        "enable_optimizer" => Value::Boolean(!session.optimizer_off),
        "disabled_optimizers" => Value::Varchar(if session.optimizer_off { "all" } else { "" }.to_string()),
        "debug_batch_rows" => Value::BigInt(session.batch_rows() as i64),
        "priority" => Value::Varchar(session.priority.get().name().to_string()),
        "enable_profiling" => Value::Boolean(session.profiles),
        "plan_cache" => {
            let word = match session.plan_cache {
                PlanCache::On => "on",
                PlanCache::Off => "off",
                PlanCache::Eager => "eager",
            };
            Value::Varchar(word.to_string())
        }
        "integer_division" => Value::Boolean(session.integer_division),
        "decimal" => Value::Varchar(session.host.decimals().name().to_string()),
        "nan_as_null" => Value::Boolean(session.host.nan_as_null()),
        "timezone" => Value::Varchar(session.time_zone().name().to_string()),
        "default_null_order" => Value::Varchar(null_order_text(session.default_order.nulls).to_string()),
        _ => return None,
    })
}

fn is_of_files(name: &str) -> bool {
    matches!(name, "enable_external_access" | "allowed_directories" | "allowed_paths" | "allow_network")
}

/// What files statements may touch. It can be narrowed, not widened: SQL that is run later does not get out.
fn set_files(name: &str, value: Option<&Value>, database: &DatabaseSettings) -> Result<()> {
    let files = database.access();
    if name == "allow_network" {
        let allowed = value.map_or(Ok(true), |value| boolean_of(name, value))?;
        return match (allowed, files.allows_network()) {
            (false, _) => {
                files.forbid_network();
                Ok(())
            }
            (true, true) => Ok(()),
            (true, false) => Err(Error::invalid_argument(
                "allow_network cannot be switched on again; open the database with it instead",
            )),
        };
    }
    if name == "enable_external_access" {
        let enabled = value.map_or(Ok(true), |value| boolean_of(name, value))?;
        return match (enabled, files.is_unrestricted()) {
            (false, _) => {
                files.restrict();
                Ok(())
            }
            (true, true) => Ok(()),
            (true, false) => Err(Error::invalid_argument(
                "enable_external_access cannot be switched on again; open the database with it instead",
            )),
        };
    }
    let paths = value.map(texts_of).unwrap_or_default();
    if name == "allowed_paths" { files.allow_files(&paths) } else { files.allow_directories(&paths) }
}

fn canonical(name: &str) -> Result<&'static str> {
    let lower = name.to_lowercase();
    let name = ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(lower.as_str(), |(_, own)| own);
    SETTINGS.iter().find(|setting| setting.name == name).map(|setting| setting.name).ok_or_else(|| {
        let own = SETTINGS.iter().map(|setting| setting.name);
        let candidates = Candidates::of(name, own.chain(foreign::names()));
        Error::invalid_argument(format!("setting \"{lower}\" does not exist{candidates}"))
    })
}

/// Settings by name.
type Settings = Vec<(String, Value)>;

/// Gives settings their values, those that forbid others at the end.
pub fn set_all(
    config: &[(String, Value)],
    database: &DatabaseSettings,
    session: &mut SessionSettings,
) -> Result<()> {
    let rank = |name: &str| match name.to_lowercase().as_str() {
        "enable_external_access" => 1,
        "sandbox" => 2,
        "lock_configuration" => 3,
        _ => 0,
    };
    let mut ordered: Vec<&(String, Value)> = config.iter().collect();
    ordered.sort_by_key(|(name, _)| rank(name));
    let said: Vec<&str> = config.iter().filter_map(|(name, _)| canonical(name).ok()).collect();
    ordered.into_iter().try_for_each(|(name, value)| match name.to_lowercase().as_str() {
        "sandbox" => sandbox::set(Some(value), &said, database, session),
        // The sandbox did it.
        "lock_configuration" if database.access().is_sandbox() && boolean_of(name, value)? => Ok(()),
        _ => set(name, Some(value), database, session),
    })
}

/// What a configuration says of `access_mode`, and the rest of it.
pub fn access_of(config: &[(String, Value)]) -> Result<(Option<AccessMode>, Settings)> {
    let (own, others): (Vec<_>, Vec<_>) =
        config.iter().cloned().partition(|(name, _)| name.eq_ignore_ascii_case("access_mode"));
    let access = match own.last() {
        None => None,
        Some((_, value)) => match value.to_string().to_lowercase().as_str() {
            "read_only" => Some(AccessMode::ReadOnly),
            "read_write" => Some(AccessMode::ReadWrite),
            "automatic" => None,
            _ => {
                let message = format!("access_mode = {value}: expected read_only or read_write");
                return Err(Error::invalid_argument(message));
            }
        },
    };
    Ok((access, others))
}

/// The processors that this process may use.
fn default_threads() -> usize {
    let others = || std::thread::available_parallelism().map_or(1, usize::from);
    resources::here().processors().unwrap_or_else(others).min(THREADS_MAX as usize)
}

fn default_memory_limit() -> u64 {
    machine_memory() / 100 * DEFAULT_MEMORY_PERCENT
}

/// Memory of the machine or of the container, whichever is less.
fn machine_memory() -> u64 {
    resources::here().memory().unwrap_or(ASSUMED_MEMORY_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let bytes = |text: &str| memory_of("memory_limit", &Value::Varchar(text.to_string())).ok();
        assert_eq!(bytes("2GB"), Some(2_000_000_000));
        assert_eq!(bytes("1.5 GiB"), Some(1_610_612_736));
        assert_eq!(bytes("100"), Some(100));
        assert_eq!(bytes("much"), None);
        assert_eq!(bytes("-1GB"), None);
        assert!(bytes("50%").is_some());
    }

    #[test]
    fn unknown_settings_name_near_ones() {
        let budget = MemoryBudget::unlimited();
        let database =
            DatabaseSettings::new(budget.clone(), Residents::new(budget, 0), Arc::new(WorkerPool::new(1)));
        let mut session = SessionSettings::default();
        let error = set("thread", Some(&Value::Integer(2)), &database, &mut session).unwrap_err();
        assert!(error.to_string().contains("did you mean \"threads\"?"), "{error}");
        set("THREADS", Some(&Value::Integer(3)), &database, &mut session).unwrap();
        assert_eq!(get("threads", &database, &session), Some(Value::BigInt(3)));
    }
}

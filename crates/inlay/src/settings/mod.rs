//! Settings: what can be set, where it holds, and how its value is written.
//!
//! [`SETTINGS`] is the list that SET, SHOW, the API and error messages share. A setting belongs to the database or to one
//! connection; what a database was opened with is what its connections start with.
//!
//! - [`entries`]: the list. [`sandbox`]: what strangers need, at once. [`values`]: sizes, times, words. [`foreign`]: settings of other systems that have
//!   nothing to set here. [`profiling`]: what is measured. [`hosts`]: how values are exchanged with a host. [`machine`]: the time zone that sessions begin with.

mod entries;
mod foreign;
mod hosts;
mod machine;
mod profiling;
mod sandbox;
mod values;

pub use hosts::{Decimals, HostSettings};

use crate::profile::Profiling;
use crate::resources::{self, Adaptive};
use entries::{ENTRIES, Entry, Target};
use inlay_catalog::access::{Access, Door};
use inlay_exec::{Governor, PriorityCell, TempSpace, WorkerPool};
use inlay_formats::files::Files;
use inlay_formats::remote::settings::{NETWORK_SETTINGS, is_of_network};
use inlay_kernels::resolve::Dialect;
use inlay_kernels::zone::Zone;
use inlay_sql::binder::DefaultOrder;
use inlay_sql::plan::statement::TransactionModes;
use inlay_storage::resident::Residents;
use inlay_storage::store::{AccessMode, StoreOptions};
use inlay_types::candidates::Candidates;
use inlay_types::{Error, MemoryBudget, Result, VECTOR_SIZE, Value};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use values::boolean_of;

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
    let mut all = [ENTRIES[0].setting; ENTRIES.len() + NETWORK_SETTINGS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < ENTRIES.len() {
            ENTRIES[at].setting
        } else {
            let (name, description) = NETWORK_SETTINGS[at - ENTRIES.len()];
            Setting { name, scope: Scope::Database, description }
        };
        at += 1;
    }
    all
};

/// Names that other systems use for ours.
const ALIASES: &[(&str, &str)] = &[
    ("worker_threads", "threads"),
    ("max_memory", "memory_limit"),
    ("max_execution_time", "statement_timeout"),
    ("null_order", "default_null_order"),
    ("time_zone", "timezone"),
    ("wal_autocheckpoint", "checkpoint_threshold"),
    ("profile_output", "profiling_output"),
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

/// Whether plans are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanCache {
    /// Of what is run again.
    #[default]
    On,
    /// Never.
    Off,
    /// Of what is run at all.
    Eager,
}

/// Settings of a connection.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings {
    /// Whose SQL it speaks.
    pub dialect: Dialect,
    /// `/` of integers drops the fraction.
    pub integer_division: bool,
    /// Columns of SQLite's files are texts, whatever they were declared as.
    pub sqlite_all_varchar: bool,
    /// What ORDER BY does when it does not say.
    pub default_order: DefaultOrder,
    /// What texts without a collation of their own compare by.
    pub default_collation: Option<Arc<str>>,
    /// What BEGIN promises unless it says otherwise.
    pub modes: TransactionModes,
    /// How long a statement may take.
    pub timeout: Option<Duration>,
    /// What it was told of other systems' settings.
    foreign: foreign::Told,
    /// Queries are measured.
    pub profiles: bool,
    /// What is told of those that are.
    pub profiling: Profiling,
    /// Plans run as they are bound.
    pub optimizer_off: bool,
    /// Bitmap indexes are not used.
    pub value_indexes_off: bool,
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

    /// Whether texts become BLOBs as PostgreSQL's bytea is written: its dumps say so of texts first.
    pub fn bytea(&self) -> bool {
        foreign::is_told("standard_conforming_strings", "on", &self.foreign)
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
    if name.eq_ignore_ascii_case("transaction_read_only") {
        return Err(Error::invalid_argument("transaction_read_only is read, not set").with_hint(
            "SET TRANSACTION READ ONLY is for the open transaction, default_transaction_read_only for later ones",
        ));
    }
    if name.eq_ignore_ascii_case("all") && value.is_none() {
        // The cells stay: who works for the session looks at them.
        let (priority, host) = (session.priority.clone(), session.host.clone());
        let machine_zone = session.machine_zone.take();
        *session = SessionSettings { priority, host, machine_zone, ..SessionSettings::default() };
        session.host.set_zone(session.time_zone());
        set("decimal", None, database, session)?;
        set("nan_as_null", None, database, session)?;
        return set("priority", None, database, session);
    }
    if let Some(outcome) = foreign::set(name, value, &mut session.foreign) {
        return outcome;
    }
    let own = canonical(name)?;
    if is_of_network(own) {
        return database.files.change_network(|network| network.set(own, value));
    }
    (entry(own)?.set)(value, Target { database, session })
}

/// Whether a setting holds for everybody, not for the session alone.
pub fn is_of_database(name: &str) -> bool {
    if name.eq_ignore_ascii_case("sandbox") {
        return true;
    }
    let Ok(own) = canonical(name) else { return false };
    is_of_network(own) || entry(own).is_ok_and(|entry| entry.setting.scope == Scope::Database)
}

fn entry(name: &str) -> Result<&'static Entry> {
    let found = ENTRIES.iter().find(|entry| entry.setting.name == name);
    found.ok_or_else(|| Error::internal(format!("the setting {name} is listed but not handled")))
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
    let own = canonical(name).ok()?;
    if is_of_network(own) {
        return database.files.network().get(own);
    }
    entry(own).ok().map(|entry| (entry.get)(database, session))
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
    use super::values::memory_of;
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

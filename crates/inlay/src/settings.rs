//! Settings: what can be set, where it holds, and how its value is written.
//!
//! `threads` and `memory_limit` belong to the database, the others to one connection. [`SETTINGS`] is the list that
//! SET, SHOW, the API and error messages share.

use inlay_catalog::near_names;
use inlay_exec::TempSpace;
use inlay_kernels::zone::Zone;
use inlay_storage::store::{AccessMode, StoreOptions};
use inlay_storage::wal::Synchronous;
use inlay_types::{Error, MemoryBudget, Result, VECTOR_SIZE, Value};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Name and meaning of a setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Lower-case name.
    pub name: &'static str,
    /// What it does, for people.
    pub description: &'static str,
}

/// Every setting.
pub const SETTINGS: &[Setting] = &[
    Setting { name: "threads", description: "worker threads of a query, the calling thread among them" },
    Setting {
        name: "memory_limit",
        description: "bytes that tables and queries may take, such as '2GB' or '80%'",
    },
    Setting {
        name: "synchronous",
        description: "what a commit waits for: 'full' (the disk), 'normal' (the system) or 'off'",
    },
    Setting {
        name: "checkpoint_threshold",
        description: "size of the log from which on a commit makes a checkpoint, such as '16MB'",
    },
    Setting {
        name: "temp_directory",
        description: "where queries put rows that do not fit into memory_limit",
    },
    Setting {
        name: "max_temp_directory_size",
        description: "bytes that such rows may take on the disk, such as '100GB'",
    },
    Setting {
        name: "enable_optimizer",
        description: "whether plans are optimised; answers are the same without",
    },
    Setting {
        name: "disabled_optimizers",
        description: "'all' is enable_optimizer = false; '' is everything at work",
    },
    Setting {
        name: "debug_batch_rows",
        description: "rows that a source hands on at a time, 1 to 2048; fewer are for tests",
    },
    Setting { name: "integer_division", description: "whether / of two integers drops the fraction" },
    Setting {
        name: "default_null_order",
        description: "where ORDER BY puts NULLs: 'nulls_last' or 'nulls_first'",
    },
    Setting {
        name: "timezone",
        description: "the time zone in which TIMESTAMPTZ values are shown, read and taken apart, such as 'Europe/Amsterdam'",
    },
];

/// Names that other systems use for ours.
const ALIASES: &[(&str, &str)] = &[
    ("worker_threads", "threads"),
    ("max_memory", "memory_limit"),
    ("null_order", "default_null_order"),
    ("time_zone", "timezone"),
    ("wal_autocheckpoint", "checkpoint_threshold"),
];

/// Share of the machine's memory that a database takes at most unless told otherwise.
const DEFAULT_MEMORY_PERCENT: u64 = 80;
/// The machine's memory where it cannot be found out.
const ASSUMED_MEMORY_BYTES: u64 = 8 << 30;
/// Largest value of debug_batch_rows.
const MAX_BATCH_ROWS: i128 = VECTOR_SIZE as i128;
/// More workers than this are a typing mistake.
const THREADS_MAX: i128 = 1024;

/// Settings of a database.
#[derive(Debug)]
pub struct DatabaseSettings {
    threads: AtomicUsize,
    budget: MemoryBudget,
    stores: Mutex<StoreOptions>,
    temp: Mutex<Arc<TempSpace>>,
}

impl DatabaseSettings {
    /// The defaults: all cores, and 80 % of the memory.
    pub fn new(budget: MemoryBudget) -> Self {
        budget.set_limit(default_memory_limit());
        Self {
            threads: AtomicUsize::new(default_threads()),
            budget,
            stores: Mutex::default(),
            temp: Mutex::default(),
        }
    }

    /// Where rows go that do not fit into memory.
    pub fn temp(&self) -> Arc<TempSpace> {
        Arc::clone(&self.temp.lock())
    }

    /// How files are opened and written.
    pub fn store_options(&self) -> StoreOptions {
        *self.stores.lock()
    }

    /// Workers of a query, the calling thread among them.
    pub fn threads(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }
}

/// Settings of a connection.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings {
    /// `/` of integers drops the fraction.
    pub integer_division: bool,
    /// ORDER BY puts NULLs first.
    pub default_nulls_first: bool,
    /// Plans run as they are bound.
    pub optimizer_off: bool,
    /// Rows that a source hands on at a time; 0 is the most.
    pub batch_rows: usize,
    /// Where the session's clocks are, if it said so.
    pub zone: Option<Arc<Zone>>,
}

impl SessionSettings {
    /// Rows that a source hands on at a time.
    pub fn batch_rows(&self) -> usize {
        if self.batch_rows == 0 { VECTOR_SIZE } else { self.batch_rows }
    }

    /// The session's time zone: the one that was set, or UTC.
    pub fn time_zone(&self) -> Arc<Zone> {
        self.zone.clone().unwrap_or_else(Zone::utc)
    }
}

/// Whether a setting belongs to the database, not to one connection.
pub fn is_global(name: &str) -> bool {
    const OF_SESSION: &[&str] = &[
        "integer_division",
        "default_null_order",
        "timezone",
        "enable_optimizer",
        "disabled_optimizers",
        "debug_batch_rows",
    ];
    !OF_SESSION.contains(&name)
}

/// Gives a setting a value, or its default again (`None`).
pub fn set(
    name: &str,
    value: Option<&Value>,
    database: &DatabaseSettings,
    session: &mut SessionSettings,
) -> Result<()> {
    match canonical(name)? {
        "threads" => {
            let threads = value.map_or(Ok(default_threads()), threads_of)?;
            database.threads.store(threads, Ordering::Relaxed);
        }
        "memory_limit" => {
            let limit = value.map_or(Ok(default_memory_limit()), |value| memory_of("memory_limit", value))?;
            database.budget.set_limit(limit);
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
            let limit = Some(database.temp().limit());
            let directory = value.map_or_else(std::env::temp_dir, |value| value.to_string().into());
            *database.temp.lock() = Arc::new(TempSpace::new(directory, limit));
        }
        "max_temp_directory_size" => {
            let limit = value.map(|value| memory_of("max_temp_directory_size", value)).transpose()?;
            database.temp().set_limit(limit);
        }
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
        "default_null_order" => session.default_nulls_first = value.map_or(Ok(false), nulls_first_of)?,
        "timezone" => session.zone = value.map(|name| Zone::named(&name.to_string())).transpose()?,
        other => return Err(Error::internal(format!("the setting {other} is listed but not handled"))),
    }
    Ok(())
}

/// The value of a setting.
pub fn get(name: &str, database: &DatabaseSettings, session: &SessionSettings) -> Option<Value> {
    Some(match canonical(name).ok()? {
        "threads" => Value::BigInt(database.threads() as i64),
        "memory_limit" => Value::Varchar(memory_text(database.budget.limit())),
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
        "integer_division" => Value::Boolean(session.integer_division),
        "timezone" => Value::Varchar(session.time_zone().name().to_string()),
        "default_null_order" => {
            Value::Varchar(if session.default_nulls_first { "nulls_first" } else { "nulls_last" }.to_string())
        }
        _ => return None,
    })
}

fn canonical(name: &str) -> Result<&'static str> {
    let lower = name.to_lowercase();
    let name = ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(lower.as_str(), |(_, own)| own);
    SETTINGS.iter().find(|setting| setting.name == name).map(|setting| setting.name).ok_or_else(|| {
        let known: Vec<&str> = SETTINGS.iter().map(|s| s.name).collect();
        let near = near_names(name, known.iter().copied());
        let hint = match near.as_slice() {
            [] => format!("settings are {}", known.join(", ")),
            near => format!("did you mean {}?", near.join(" or ")),
        };
        Error::invalid_argument(format!("setting \"{lower}\" does not exist; {hint}"))
    })
}

/// Settings by name.
type Settings = Vec<(String, Value)>;

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

fn synchronous_of(value: &Value) -> Result<Synchronous> {
    match value.to_string().to_lowercase().as_str() {
        "full" | "on" | "2" => Ok(Synchronous::Full),
        "normal" | "1" => Ok(Synchronous::Normal),
        "off" | "0" => Ok(Synchronous::Off),
        _ => {
            let message = format!("synchronous = {value}: expected full, normal or off");
            Err(Error::invalid_argument(message))
        }
    }
}

fn threads_of(value: &Value) -> Result<usize> {
    let number = value.as_i128().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()));
    match number {
        Some(count @ 1..=THREADS_MAX) => Ok(count as usize),
        _ => Err(Error::invalid_argument(format!(
            "threads = {value}: expected a number from 1 to {THREADS_MAX}"
        ))),
    }
}

fn boolean_of(name: &str, value: &Value) -> Result<bool> {
    let text = value.to_string().to_lowercase();
    match text.as_str() {
        "true" | "on" | "1" | "yes" => Ok(true),
        "false" | "off" | "0" | "no" => Ok(false),
        _ => Err(Error::invalid_argument(format!("{name} = {value}: expected true or false"))),
    }
}

fn nulls_first_of(value: &Value) -> Result<bool> {
    match value.to_string().to_lowercase().replace([' ', '_'], "").as_str() {
        "nullsfirst" | "first" => Ok(true),
        "nullslast" | "last" => Ok(false),
        _ => Err(Error::invalid_argument(format!(
            "default_null_order = {value}: expected nulls_first or nulls_last"
        ))),
    }
}

/// Bytes of `'2GB'`, `'512MiB'`, `'80%'`, or of a plain number.
fn memory_of(name: &str, value: &Value) -> Result<u64> {
    if let Some(bytes) = value.as_i128() {
        return u64::try_from(bytes).ok().filter(|b| *b > 0).ok_or_else(|| not_memory(name, value));
    }
    let text = value.to_string();
    let text = text.trim();
    let unit_start = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_start);
    let number: f64 = number.parse().map_err(|_| not_memory(name, value))?;
    let scale = match unit.trim().to_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        "tib" => 1_099_511_627_776.0,
        "%" => machine_memory() as f64 / 100.0,
        _ => return Err(not_memory(name, value)),
    };
    let bytes = number * scale;
    if bytes >= 1.0 && bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(not_memory(name, value)) }
}

fn not_memory(name: &str, value: &Value) -> Error {
    Error::invalid_argument(format!("{name} = {value}: expected a size such as '2GB', '512MiB' or '80%'"))
}

fn memory_text(bytes: u64) -> String {
    let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", bytes as f64 / *size as f64),
        None => format!("{bytes} bytes"),
    }
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn default_memory_limit() -> u64 {
    machine_memory() / 100 * DEFAULT_MEMORY_PERCENT
}

/// Memory of the machine or of the container, whichever is less.
fn machine_memory() -> u64 {
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|text| text.trim().parse().ok()).unwrap_or(u64::MAX);
    physical_memory().unwrap_or(ASSUMED_MEMORY_BYTES).min(container)
}

fn physical_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
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
        let database = DatabaseSettings::new(MemoryBudget::unlimited());
        let mut session = SessionSettings::default();
        let error = set("thread", Some(&Value::Integer(2)), &database, &mut session).unwrap_err();
        assert!(error.to_string().contains("did you mean \"threads\"?"), "{error}");
        set("THREADS", Some(&Value::Integer(3)), &database, &mut session).unwrap();
        assert_eq!(get("threads", &database, &session), Some(Value::BigInt(3)));
    }
}

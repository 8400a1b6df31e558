//! Values of settings: read from what SET was given, with errors that say what is expected.

use super::{PlanCache, THREADS_MAX, machine_memory};
use inlay_exec::Priority;
use inlay_kernels::resolve::Dialect;
use inlay_sql::binder::NullOrder;
use inlay_sql::plan::statement::Isolation;
use inlay_storage::wal::Synchronous;
use inlay_types::{Error, Result, Value};
use std::time::Duration;

pub(super) fn synchronous_of(value: &Value) -> Result<Synchronous> {
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

pub(super) fn threads_of(value: &Value) -> Result<usize> {
    let number = value.as_i128().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()));
    match number {
        Some(count @ 1..=THREADS_MAX) => Ok(count as usize),
        _ => Err(Error::invalid_argument(format!(
            "threads = {value}: expected a number from 1 to {THREADS_MAX}"
        ))),
    }
}

pub(super) fn boolean_of(name: &str, value: &Value) -> Result<bool> {
    let text = value.to_string().to_lowercase();
    match text.as_str() {
        "true" | "on" | "1" | "yes" => Ok(true),
        "false" | "off" | "0" | "no" => Ok(false),
        _ => Err(Error::invalid_argument(format!("{name} = {value}: expected true or false"))),
    }
}

/// Levels by their names in SQL.
const LEVELS: [(&str, Isolation); 5] = [
    ("serializable", Isolation::Serializable),
    ("repeatable read", Isolation::RepeatableRead),
    ("snapshot", Isolation::Snapshot),
    ("read committed", Isolation::ReadCommitted),
    ("read uncommitted", Isolation::ReadUncommitted),
];

pub(super) fn isolation_of(value: &Value) -> Result<Isolation> {
    let text = value.to_string().to_lowercase();
    LEVELS.iter().find(|(name, _)| *name == text).map(|(_, level)| *level).ok_or_else(|| {
        let names: Vec<&str> = LEVELS.iter().map(|(name, _)| *name).collect();
        Error::invalid_argument(format!(
            "default_transaction_isolation = {value}: expected {}",
            names.join(", ")
        ))
    })
}

/// The name of a level; serializable is the default.
pub(super) fn isolation_text(level: Option<Isolation>) -> &'static str {
    let level = level.unwrap_or(Isolation::Serializable);
    LEVELS.iter().find(|(_, known)| *known == level).map_or("serializable", |(name, _)| name)
}

pub(super) fn null_order_of(value: &Value) -> Result<NullOrder> {
    match value.to_string().to_lowercase().replace([' ', '_'], "").as_str() {
        "nullsfirst" | "first" => Ok(NullOrder::First),
        "nullslast" | "last" => Ok(NullOrder::Last),
        "nullsfirstonasclastondesc" | "sqlite" | "mysql" => Ok(NullOrder::Lowest),
        "nullslastonascfirstondesc" | "postgres" => Ok(NullOrder::Highest),
        _ => Err(Error::invalid_argument(format!(
            "default_null_order = {value}: expected nulls_first, nulls_last, nulls_first_on_asc_last_on_desc or \
             nulls_last_on_asc_first_on_desc"
        ))),
    }
}

pub(super) fn plan_cache_of(value: &Value) -> Result<PlanCache> {
    match value.to_string().to_lowercase().as_str() {
        "on" | "true" | "1" => Ok(PlanCache::On),
        "off" | "false" | "0" => Ok(PlanCache::Off),
        "eager" => Ok(PlanCache::Eager),
        _ => Err(Error::invalid_argument(format!("plan_cache = {value}: expected on, off or eager"))),
    }
}

/// TRUE for adaptive.
pub(super) fn adaptive_of(value: &Value) -> Result<bool> {
    match value.to_string().to_lowercase().as_str() {
        "fixed" => Ok(false),
        "adaptive" => Ok(true),
        _ => Err(Error::invalid_argument(format!("resource_mode = {value}: expected fixed or adaptive"))),
    }
}

pub(super) fn priority_of(value: &Value) -> Result<Priority> {
    let word = value.to_string().to_lowercase();
    let found = Priority::ALL.iter().find(|priority| priority.name() == word);
    found
        .copied()
        .ok_or_else(|| Error::invalid_argument(format!("priority = {value}: expected low, normal or high")))
}

pub(super) fn null_order_text(order: NullOrder) -> &'static str {
    match order {
        NullOrder::First => "nulls_first",
        NullOrder::Last => "nulls_last",
        NullOrder::Lowest => "nulls_first_on_asc_last_on_desc",
        NullOrder::Highest => "nulls_last_on_asc_first_on_desc",
    }
}

/// Bytes of `'2GB'`, `'512MiB'`, `'80%'`, or of a plain number.
pub(super) fn memory_of(name: &str, value: &Value) -> Result<u64> {
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

pub(super) fn not_memory(name: &str, value: &Value) -> Error {
    Error::invalid_argument(format!("{name} = {value}: expected a size such as '2GB', '512MiB' or '80%'"))
}

pub(super) fn memory_text(bytes: u64) -> String {
    let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", bytes as f64 / *size as f64),
        None => format!("{bytes} bytes"),
    }
}

/// The items of `['a', 'b']`, of `'a, b'` or of one text.
pub(super) fn texts_of(value: &Value) -> Vec<String> {
    inlay_formats::option_text::list(&value.to_string())
}

/// Milliseconds of `'5s'`, `'2min'`, `'100ms'`, or of a plain number of milliseconds; none for 0.
pub(super) fn timeout_of(value: &Value) -> Result<Option<Duration>> {
    let wrong = || {
        let message =
            format!("statement_timeout = {value}: expected milliseconds, or a time such as '5s' or '2min'");
        Error::invalid_argument(message)
    };
    let text = value.to_string();
    let text = text.trim();
    let unit_start = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_start);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let scale = match unit.trim().to_lowercase().as_str() {
        "" | "ms" => 1.0,
        "us" => 1e-3,
        "s" | "sec" | "second" | "seconds" => 1e3,
        "min" | "minute" | "minutes" => 6e4,
        "h" | "hour" | "hours" => 3.6e6,
        "d" | "day" | "days" => 8.64e7,
        _ => return Err(wrong()),
    };
    let millis = (number * scale).ceil();
    if !(0.0..=u32::MAX as f64).contains(&millis) {
        return Err(wrong());
    }
    Ok((millis > 0.0).then(|| Duration::from_millis(millis as u64)))
}

/// TRUE for descending.
pub(super) fn dialect_of(value: &Value) -> Result<Dialect> {
    let known = [("inlay", Dialect::Inlay), ("sqlite", Dialect::Sqlite)];
    let wanted = value.to_string().to_lowercase();
    let found = known.into_iter().find(|(name, _)| *name == wanted).map(|(_, dialect)| dialect);
    found.ok_or_else(|| Error::invalid_argument(format!("dialect = {value}: expected inlay or sqlite")))
}

pub(super) fn direction_of(value: &Value) -> Result<bool> {
    match value.to_string().to_lowercase().as_str() {
        "asc" | "ascending" => Ok(false),
        "desc" | "descending" => Ok(true),
        _ => Err(Error::invalid_argument(format!("default_order = {value}: expected asc or desc"))),
    }
}

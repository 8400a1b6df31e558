//! `sandbox`: the settings that SQL of strangers needs, set at once (SECURITY.md lists them).
//!
//! Doors are shut by `inlay_catalog::access`. Limits are given where nothing was said of them: they are at their defaults, and
//! not among what the database is opened with.

use super::values::boolean_of;
use super::{DatabaseSettings, SessionSettings, default_memory_limit, machine_memory};
use inlay_catalog::access::Door;
use inlay_types::{Error, Result, Value};
use std::time::Duration;

/// How long a statement may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Share of the machine's memory.
const MEMORY_PERCENT: u64 = 25;
/// Bytes of temporary files.
const TEMP_BYTES_MAX: u64 = 10_000_000_000;

/// Switches it on; it stays on. `said` are settings that the host gave values to.
pub(super) fn set(
    value: Option<&Value>,
    said: &[&str],
    database: &DatabaseSettings,
    session: &mut SessionSettings,
) -> Result<()> {
    let wanted = value.map_or(Ok(false), |value| boolean_of("sandbox", value))?;
    let access = database.access();
    match (wanted, access.is_sandbox()) {
        (false, true) => {
            return Err(Error::invalid_argument("sandbox cannot be switched off again")
                .with_hint("open the database without it instead"));
        }
        (true, false) => access.ask(Door::Setting("sandbox"))?,
        (true, true) | (false, false) => return Ok(()),
    }
    access.shut()?;
    let is_free = |name: &str| !said.contains(&name);
    if is_free("statement_timeout") && session.timeout.is_none() {
        session.timeout = Some(TIMEOUT);
    }
    if is_free("memory_limit") && database.budget.limit() == default_memory_limit() {
        database.budget.set_limit(machine_memory() / 100 * MEMORY_PERCENT);
        database.limit_residents();
    }
    if is_free("max_temp_directory_size") && database.temp().limit() == u64::MAX {
        database.temp().set_limit(Some(TEMP_BYTES_MAX));
    }
    Ok(())
}

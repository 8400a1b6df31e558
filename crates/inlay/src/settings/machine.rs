//! The machine's time zone, which sessions begin with: the variable TZ, or else what /etc/localtime leads to.
//!
//! Read when a database is opened, and never later: what a session shows does not change by itself.

use inlay_kernels::zone::Zone;
use std::sync::Arc;

const LOCALTIME: &str = "/etc/localtime";
/// Holds the zone's name where /etc/localtime is a copy.
const TIMEZONE: &str = "/etc/timezone";

/// The zone, and what is wrong with what says it.
pub(super) fn zone() -> (Arc<Zone>, Option<String>) {
    if let Some(variable) = std::env::var_os("TZ") {
        let text = variable.to_string_lossy();
        return match Zone::of_variable(&text) {
            Some(zone) => (zone, None),
            None => {
                let problem = format!(
                    "TZ={text} names no time zone that is known here, so the session's is UTC; SET timezone = 'Europe/Amsterdam' \
                     sets another one"
                );
                (Zone::utc(), Some(problem))
            }
        };
    }
    let linked = std::fs::read_link(LOCALTIME).ok().map(|path| path.to_string_lossy().into_owned());
    let named = || std::fs::read_to_string(TIMEZONE).ok().map(|text| text.trim().to_string());
    let zone = linked.as_deref().and_then(Zone::of_variable).or_else(|| Zone::of_variable(&named()?));
    (zone.unwrap_or_else(Zone::utc), None)
}

//! `AdbcDatabase`: options, then an open database.

use crate::failure::{Failure, Outcome};
use inlay::{Database, Value};
use parking_lot::Mutex;

/// What the handle of a database points to.
#[derive(Default)]
pub struct DatabaseHandle(Mutex<State>);

#[derive(Default)]
struct State {
    path: Option<String>,
    settings: Vec<(String, Value)>,
    opened: Option<Database>,
}

/// The file, by the names that driver managers have for it.
const PATH_OPTIONS: [&str; 2] = ["uri", "path"];

/// The place that a URI names: behind `inlay://` and no host a path, as `inlay:///data/trips.inlay`; with a host it is a server's address.
fn place_of(uri: &str) -> &str {
    match uri.strip_prefix("inlay://") {
        Some(path) if path.is_empty() || path.starts_with(['/', ':']) => path,
        Some(_) | None => uri,
    }
}

impl DatabaseHandle {
    /// Sets `uri` or `path`, or one of the settings of the database.
    pub fn set_option(&self, name: &str, value: Option<&str>) -> Outcome<()> {
        let mut state = self.0.lock();
        if state.opened.is_some() {
            return Err(Failure::state(format!("the database is open; SET {name} = ... sets it now")));
        }
        if PATH_OPTIONS.contains(&name) {
            state.path = value.map(|uri| place_of(uri).to_string());
            return Ok(());
        }
        state.settings.retain(|(known, _)| known != name);
        state.settings.extend(value.map(|value| (name.to_string(), Value::Varchar(value.to_string()))));
        Ok(())
    }

    /// The value of an option.
    pub fn option(&self, name: &str) -> Outcome<String> {
        let state = self.0.lock();
        let path = state.path.as_ref().filter(|_| PATH_OPTIONS.contains(&name));
        let setting = state.settings.iter().find(|(known, _)| known == name);
        let found = path.cloned().or_else(|| setting.map(|(_, value)| value.to_string()));
        found.ok_or_else(|| Failure::not_set(name))
    }

    /// Opens the database; without a path, a new one in memory.
    pub fn open(&self) -> Outcome<()> {
        let mut state = self.0.lock();
        if state.opened.is_some() {
            return Err(Failure::state("the database is open already"));
        }
        let path = state.path.as_deref().unwrap_or(":memory:");
        state.opened = Some(Database::open(path, &state.settings)?);
        Ok(())
    }

    /// The database, which must be open.
    pub fn opened(&self) -> Outcome<Database> {
        let opened = self.0.lock().opened.clone();
        opened.ok_or_else(|| Failure::state("the database is not open; call AdbcDatabaseInit first"))
    }
}

#[cfg(test)]
mod tests {
    use super::place_of;

    #[test]
    fn addresses_with_a_host_are_those_of_servers() {
        for (uri, place) in [
            ("inlay://ann:secret@db.example:4655/shop", "inlay://ann:secret@db.example:4655/shop"),
            ("inlay://localhost", "inlay://localhost"),
            ("inlay+unix:///run/inlay.sock", "inlay+unix:///run/inlay.sock"),
            ("inlay:///data/trips.inlay", "/data/trips.inlay"),
            ("inlay://:memory:", ":memory:"),
            ("inlay://", ""),
            ("trips.inlay", "trips.inlay"),
        ] {
            assert_eq!(place_of(uri), place);
        }
    }
}

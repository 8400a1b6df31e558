//! Functions of the host: the languages that it brings, stored definitions made ready to be called, and functions of its own.
//!
//! A stored definition is prepared once for its name and text, so that calls of it are the same function in all statements.
//! Code that came with a file runs only if the setting `allow_python` says so; what the host registered is its own.

use crate::database::Database;
use inlay_exec::WorkerPool;
use inlay_kernels::external::{Callee, External, FunctionDefinition, FunctionKind, Language};
use inlay_sql::binder::is_built_in;
use inlay_sql::parser::{function_text, parse_functions};
use inlay_storage::store::{Definition, DefinitionKind};
use inlay_types::{Error, Result};
use parking_lot::{Mutex, RwLock};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Definitions that are kept ready; when there are more, all are prepared anew.
const PREPARED_MAX: usize = 256;
/// Languages that definitions may be of, whether or not a host brings them.
const KNOWN: [&str; 1] = ["python"];

type Overloads = Vec<Arc<External>>;

/// Functions of the host of one database.
#[derive(Default)]
pub(crate) struct Functions {
    languages: RwLock<HashMap<String, Arc<dyn Language>>>,
    /// By name and text.
    prepared: Mutex<HashMap<(String, String), Overloads>>,
    /// The host's own, by lower-case name.
    own: RwLock<HashMap<String, Overloads>>,
    /// What the host keeps as long as the database is open.
    kept: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

/// A function that is kept in the database.
pub struct StoredFunction {
    /// The schema that it is in.
    pub schema: String,
    /// What was declared, and its text.
    pub definition: FunctionDefinition,
    /// What stands in CREATE FUNCTION between its name and its text.
    pub declaration: String,
}

/// What processes that the host starts for functions may take, as it is set when somebody asks.
#[derive(Clone)]
pub struct HostLimits {
    pool: Arc<WorkerPool>,
    memory: Arc<AtomicU64>,
}

impl HostLimits {
    /// How many there may be.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// Bytes of memory that each may have, 0 for any.
    pub fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }
}

impl Functions {
    fn language(&self, name: &str) -> Option<Arc<dyn Language>> {
        self.languages.read().get(name).cloned()
    }

    /// Fails if a new definition cannot be one of its language.
    pub fn check(&self, definition: &FunctionDefinition) -> Result<()> {
        match self.language(&definition.language) {
            Some(language) => language.check(definition),
            None if KNOWN.contains(&definition.language.as_str()) => Ok(()),
            None => Err(Error::invalid_argument(format!(
                "functions cannot be written in \"{}\"",
                definition.language
            ))
            .with_hint(
                "LANGUAGE is PYTHON or PYTHON_MAP, and CREATE FUNCTION f(a) AS expression makes a macro",
            )),
        }
    }

    /// The overloads of a stored definition.
    pub fn stored(&self, definition: &Definition) -> Result<Overloads> {
        let name = inlay_catalog::bare_name(&definition.name);
        let key = (name.to_string(), definition.sql.clone());
        if let Some(known) = self.prepared.lock().get(&key) {
            return Ok(known.clone());
        }
        let prepare = |definition: FunctionDefinition| {
            let Some(language) = self.language(&definition.language) else {
                return Err(Error::Unsupported {
                    feature: format!("function \"{name}\" in {} here", definition.language.to_uppercase()),
                    alternative: Some("this host brings no such language; use the Python package".into()),
                });
            };
            let callee = language.prepare(&definition)?;
            Ok(External::new(definition, callee))
        };
        let overloads: Overloads =
            parse_functions(name, &definition.sql)?.into_iter().map(prepare).collect::<Result<_>>()?;
        let mut prepared = self.prepared.lock();
        if prepared.len() >= PREPARED_MAX {
            prepared.clear();
        }
        // Another statement may have been faster: then its functions are the ones.
        Ok(prepared.entry(key).or_insert(overloads).clone())
    }

    /// The host's own functions of a name.
    pub fn own(&self, name: &str) -> Overloads {
        self.own.read().get(&name.to_lowercase()).cloned().unwrap_or_default()
    }

    /// All of the host's own functions.
    pub fn all_own(&self) -> Overloads {
        let mut all: Overloads = self.own.read().values().flatten().cloned().collect();
        all.sort_by_key(|external| external.definition.signature());
        all
    }
}

impl Database {
    /// The host's one `T` for this database, which lives as long as it. Made when it is first asked for.
    pub fn kept_for_host<T: Any + Send + Sync>(&self, make: impl FnOnce(HostLimits) -> T) -> Arc<T> {
        let mut kept = self.functions_of_host().kept.lock();
        if let Some(known) = kept.iter().find_map(|known| Arc::clone(known).downcast::<T>().ok()) {
            return known;
        }
        let limits =
            HostLimits { pool: Arc::clone(self.pool()), memory: Arc::clone(self.settings().worker_memory()) };
        let made = Arc::new(make(limits));
        kept.push(Arc::<T>::clone(&made));
        made
    }

    /// The scalar functions in other languages that are committed in the database.
    pub fn stored_functions(&self) -> Result<Vec<StoredFunction>> {
        let mut found = Vec::new();
        for stored in self.main().store.state().definitions(DefinitionKind::Function) {
            let name = inlay_catalog::bare_name(&stored.name);
            for definition in parse_functions(name, &stored.sql)? {
                if definition.kind != FunctionKind::Scalar {
                    continue;
                }
                let bare = FunctionDefinition { body: String::new(), ..definition.clone() };
                let declaration = function_text(&bare).trim_end_matches(" AS $$$$").to_string();
                let schema = inlay_catalog::schema_of(&stored.name).to_string();
                found.push(StoredFunction { schema, definition, declaration });
            }
        }
        Ok(found)
    }

    /// Lets statements call functions that are written in a language, such as `python`.
    pub fn set_language(&self, name: &str, language: Arc<dyn Language>) {
        self.functions_of_host().languages.write().insert(name.to_lowercase(), language);
    }

    /// Makes a function of the host callable by all connections, until it is removed or the database is closed. Several
    /// of a name differ in the types of their arguments.
    pub fn create_function(&self, definition: FunctionDefinition, callee: Callee) -> Result<()> {
        self.check_process()?;
        let name = definition.name.clone();
        if is_built_in(&name) {
            let message = format!("\"{name}\" is a built-in function, which cannot be replaced");
            let hint = "take another name";
            return Err(Error::invalid_argument(message).with_hint(hint));
        }
        let state = self.main().store.state();
        for kind in [DefinitionKind::Function, DefinitionKind::Macro] {
            if state.definition(kind, &name).is_some() {
                return Err(Error::Duplicate { kind: kind.name(), name });
            }
        }
        let mut own = self.functions_of_host().own.write();
        let overloads = own.entry(name.to_lowercase()).or_default();
        if overloads.iter().any(|known| known.definition.takes_same(&definition)) {
            return Err(Error::Duplicate { kind: "function", name });
        }
        if let Some(other) = overloads.iter().find(|known| known.definition.kind != definition.kind) {
            return Err(other_kind(&name, other.definition.kind));
        }
        overloads.push(External::new(definition, callee));
        Ok(())
    }

    /// Forgets all of the host's functions of a name. Returns whether there were some.
    pub fn remove_function(&self, name: &str) -> bool {
        // What was there is let go of behind the lock: the host's own code may run then.
        let removed = self.functions_of_host().own.write().remove(&name.to_lowercase());
        removed.is_some()
    }
}

/// All functions of a name are of one kind, so that a call is one of it whatever its arguments are.
pub(crate) fn other_kind(name: &str, known: FunctionKind) -> Error {
    Error::invalid_argument(format!(
        "\"{name}\" is of the kind {} already, and all functions of a name are of one kind",
        known.name()
    ))
}

//! Functions of the host: the languages that it brings, stored definitions made ready to be called, and functions of its own.
//!
//! A stored definition is prepared once for its name and text, so that calls of it are the same function in all statements.
//! Code that came with a file runs only if the setting `allow_python` says so; what the host registered is its own.

use inlay_exec::WorkerPool;
use inlay_kernels::external::{External, FunctionDefinition, FunctionKind, Language};
use inlay_sql::parser::parse_functions;
use inlay_storage::store::Definition;
use inlay_types::{Error, Result};
use parking_lot::{Mutex, RwLock};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Definitions that are kept ready; when there are more, all are prepared anew.
const PREPARED_MAX: usize = 256;
/// Languages that definitions may be of, whether or not a host brings them.
const KNOWN: [&str; 2] = ["python", "r"];

type Overloads = Vec<Arc<External>>;

/// Functions of the host of one database.
#[derive(Default)]
pub(crate) struct Functions {
    pub(crate) languages: RwLock<HashMap<String, Arc<dyn Language>>>,
    /// By name and text.
    pub(crate) prepared: Mutex<HashMap<(String, String), Overloads>>,
    /// The host's own, by lower-case name.
    pub(crate) own: RwLock<HashMap<String, Overloads>>,
    /// What the host keeps as long as the database is open.
    pub(crate) kept: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
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
    pub(crate) pool: Arc<WorkerPool>,
    pub(crate) memory: Arc<AtomicU64>,
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

    /// Fails if functions cannot be written in a language.
    pub fn check_language(&self, name: &str) -> Result<()> {
        if KNOWN.contains(&name) || self.language(name).is_some() {
            return Ok(());
        }
        Err(Error::invalid_argument(format!("functions cannot be written in \"{name}\"")).with_hint(
            "LANGUAGE is PYTHON, PYTHON_MAP, R or R_MAP, and CREATE FUNCTION f(a) AS expression makes a macro",
        ))
    }

    /// Fails if a new definition cannot be one of its language.
    pub fn check(&self, definition: &FunctionDefinition) -> Result<()> {
        match self.language(&definition.language) {
            Some(language) => language.check(definition),
            None => self.check_language(&definition.language),
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
                    alternative: Some(format!(
                        "this host brings no such language; use the {} package",
                        if definition.language == "r" { "R" } else { "Python" }
                    )),
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

/// All functions of a name are of one kind, so that a call is one of it whatever its arguments are.
pub(crate) fn other_kind(name: &str, known: FunctionKind) -> Error {
    Error::invalid_argument(format!(
        "\"{name}\" is of the kind {} already, and all functions of a name are of one kind",
        known.name()
    ))
}

//! Functions of the host, as a program gives them to a database.

use super::Database;
use crate::functions::{HostLimits, StoredFunction, other_kind};
use inlay_kernels::external::{Callee, External, FunctionDefinition, FunctionKind, Language};
use inlay_sql::binder::is_built_in;
use inlay_sql::parser::{function_text, parse_functions};
use inlay_storage::store::DefinitionKind;
use inlay_types::{Error, Result};
use std::any::Any;
use std::sync::Arc;

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
        let instead = "compute with the rows that come back, or write a macro: CREATE MACRO";
        self.check_here("a function of the program", instead)?;
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

//! CREATE FUNCTION ... LANGUAGE. What is kept is a text: all overloads of a name.

use crate::execute::Run;
use crate::functions::other_kind;
use crate::result::QueryResult;
use inlay_catalog::access::Door;
use inlay_kernels::external::FunctionDefinition;
use inlay_sql::parser::{function_text, parse_functions};
use inlay_sql::plan::object::DefineFunction;
use inlay_storage::store::{Definition, DefinitionKind, Object};
use inlay_types::{Error, Result};
use std::sync::Arc;

/// Longest body that a file may give.
const BODY_BYTES_MAX: u64 = 16 << 20;

impl Run<'_> {
    /// Carries out CREATE FUNCTION. Another overload of a name joins those that are there.
    pub(crate) fn define_function(&mut self, define: DefineFunction) -> Result<QueryResult> {
        let DefineFunction { database, temporary, name, mut definition, file, or_replace, if_not_exists } =
            define;
        // Before its text is looked for in a file: in other systems a text in quotes is the body.
        self.database.functions_of_host().check_language(&definition.language)?;
        if let Some(path) = file {
            definition.body = self.body_in(&path)?;
        }
        self.ask(Door::NewCode(&definition.name))?;
        self.database.functions_of_host().check(&definition)?;
        let kind = DefinitionKind::Function;
        let transaction = self.home_of(&database, temporary)?;
        let known = transaction.state().definition(kind, &name).cloned();
        let mut overloads: Vec<FunctionDefinition> = match &known {
            Some(known) => parse_functions(&definition.name, &known.sql)?,
            None => Vec::new(),
        };
        if let Some(other) = overloads.iter().find(|overload| overload.kind != definition.kind) {
            return Err(other_kind(&definition.name, other.kind));
        }
        match overloads.iter_mut().find(|overload| overload.takes_same(&definition)) {
            Some(_) if if_not_exists => return Ok(QueryResult::done()),
            Some(taken) if or_replace => *taken = definition,
            Some(_) => {
                return Err(Error::Duplicate {
                    kind: kind.name(),
                    name: inlay_catalog::bare_name(&name).to_string(),
                });
            }
            None => overloads.push(definition),
        }
        let sql = overloads.iter().map(function_text).collect::<Vec<_>>().join(",\n");
        // It stays the same object, so that comments on it do.
        let definition = match known {
            Some(known) => Definition { sql, ..Definition::clone(&known) },
            None => Definition { id: transaction.take_id(), kind, name: name.clone(), owner: None, sql },
        };
        transaction.put(Object::Definition(Arc::new(definition)))?;
        if let Some(host) = self.given.host.filter(|_| !self.database.settings().access().allows_python()) {
            let name = inlay_catalog::bare_name(&name);
            host.note(&format!(
                "function \"{name}\" is created, but its calls fail until SET allow_python = true: code in a database runs only \
                 where that is on"
            ));
        }
        Ok(QueryResult::done())
    }

    fn body_in(&self, path: &str) -> Result<String> {
        // The host may change its current directory meanwhile.
        let place = self.database.path_of(path);
        self.ask(Door::Read(path))?;
        self.database.settings().files().read_text(&place.to_string_lossy(), BODY_BYTES_MAX)
    }
}

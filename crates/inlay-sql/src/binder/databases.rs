//! How the binder finds names: in one catalog, or across the databases that are attached.
//!
//! A database is named without regard to case, and so are its schemas, of which `main` is always there. An object is known
//! by its name and schema as [`inlay_catalog::qualified`] puts them together. Where a statement names no database, the
//! implementation looks where the session would: its temporary objects, the current database, what the host registered.

use inlay_catalog::{
    Catalog, CatalogEntry, Definition, DefinitionKind, IndexEntry, MAIN, Sequence, TableEntry, TableFunction,
};
use inlay_kernels::external::External;
use inlay_types::{Error, Result, Value};
use std::sync::Arc;

/// Everything that has a name.
pub trait Databases: Sync {
    /// The database that names without one mean.
    fn current(&self) -> String;

    /// The schema of the current database that new objects without one go to.
    fn current_schema(&self) -> String {
        MAIN.to_string()
    }

    /// Databases and schemas in which names without them are looked up, in order.
    fn search_path(&self) -> Vec<(String, String)> {
        vec![(self.current(), self.current_schema())]
    }

    /// The value that SET VARIABLE gave a name.
    fn variable(&self, _name: &str) -> Option<Value> {
        None
    }

    /// Whether a database has a schema.
    fn has_schema(&self, _database: &str, schema: &str) -> bool {
        schema.eq_ignore_ascii_case(MAIN)
    }

    /// The macro, type or other definition `name`, and the name of the database that it is in.
    fn definition(
        &self,
        _kind: DefinitionKind,
        _database: Option<&str>,
        _name: &str,
    ) -> Option<(String, Arc<Definition>)> {
        None
    }

    /// Every definition of a kind in a database, by name.
    fn definitions(&self, _kind: DefinitionKind, _database: &str) -> Vec<Arc<Definition>> {
        Vec::new()
    }

    /// The overloads of a stored function, ready to be called; fails if code of files may not run.
    fn stored_functions(&self, definition: &Definition) -> Result<Vec<Arc<External>>> {
        Err(Error::unsupported(format!("function \"{}\" without a session", definition.name)))
    }

    /// The host's own functions of a name.
    fn host_functions(&self, _name: &str) -> Vec<Arc<External>> {
        Vec::new()
    }

    /// Names of the host's own functions, for hints.
    fn host_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Names of all attached databases.
    fn names(&self) -> Vec<String>;

    /// What `name` stands for, and the name of the database that it is in.
    fn resolve(&self, database: Option<&str>, name: &str) -> Option<(String, CatalogEntry)>;

    /// Every table and view of a database by name, ordered by name.
    fn entries(&self, database: &str) -> Vec<(String, CatalogEntry)>;

    /// The index `name`, and the name of the database that it is in.
    fn index(&self, database: Option<&str>, name: &str) -> Option<(String, IndexEntry)>;

    /// The sequence `name`, and the name of the database that it is in.
    fn sequence(&self, database: Option<&str>, name: &str) -> Option<(String, Arc<dyn Sequence>)>;

    /// Every sequence of a database.
    fn sequences(&self, database: &str) -> Vec<Arc<dyn Sequence>>;

    /// What tells the value that the session got last from any sequence.
    fn last_value(&self) -> Option<LastValue> {
        None
    }

    /// Column positions of every key that is enforced on a table, by constraints and by unique indexes.
    fn unique_keys(&self, _database: &str, table: &TableEntry) -> Vec<Vec<usize>> {
        table.table.schema().all_keys()
    }

    /// The indexes of a table, with the comment on each.
    fn indexes_of(&self, database: &str, table: &TableEntry) -> Vec<(IndexEntry, Option<String>)> {
        let _ = (database, table);
        Vec::new()
    }

    /// The comment on a column of a table.
    fn column_comment(&self, database: &str, table: &TableEntry, column: &str) -> Option<String> {
        let _ = (database, table, column);
        None
    }

    /// Column positions of each unique index of a table.
    fn unique_indexes(&self, database: &str, table: &TableEntry) -> Vec<Vec<usize>> {
        let indexes = self.indexes_of(database, table).into_iter();
        indexes.filter(|(index, _)| index.unique).map(|(index, _)| index.columns).collect()
    }

    /// The table function `name`.
    fn table_function(&self, name: &str) -> Option<Arc<dyn TableFunction>>;

    /// Names of all table functions.
    fn table_function_names(&self) -> Vec<&'static str>;

    /// What is at a path that is no table, if that can be seen: a file, a folder, or nothing, and then files like it.
    fn path_advice(&self, path: &str) -> Option<String> {
        let _ = path;
        None
    }
}

/// The value that a session got last from a sequence, if it got one.
pub type LastValue = Arc<dyn Fn() -> Option<i64> + Send + Sync>;

/// What a catalog on its own is called.
const MEMORY: &str = "memory";

/// One database in memory, without sequences.
impl Databases for Catalog {
    fn current(&self) -> String {
        MEMORY.to_string()
    }

    fn names(&self) -> Vec<String> {
        vec![MEMORY.to_string()]
    }

    fn resolve(&self, database: Option<&str>, name: &str) -> Option<(String, CatalogEntry)> {
        let entry =
            database.is_none_or(|database| database.eq_ignore_ascii_case(MEMORY)).then(|| self.get(name));
        Some((MEMORY.to_string(), entry??))
    }

    fn entries(&self, _database: &str) -> Vec<(String, CatalogEntry)> {
        Catalog::entries(self)
    }

    fn index(&self, _database: Option<&str>, name: &str) -> Option<(String, IndexEntry)> {
        Some((MEMORY.to_string(), Catalog::index(self, name)?))
    }

    fn sequence(&self, _database: Option<&str>, _name: &str) -> Option<(String, Arc<dyn Sequence>)> {
        None
    }

    fn sequences(&self, _database: &str) -> Vec<Arc<dyn Sequence>> {
        Vec::new()
    }

    fn table_function(&self, name: &str) -> Option<Arc<dyn TableFunction>> {
        Catalog::table_function(self, name)
    }

    fn table_function_names(&self) -> Vec<&'static str> {
        Catalog::table_function_names(self)
    }
}

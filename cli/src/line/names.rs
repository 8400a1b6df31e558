//! What completion and colours know: the words of the language, the functions, and what the catalog has.

use crate::session::Session;
use std::collections::HashSet;
use std::sync::{Arc, RwLock};

/// A function: its name and what it does.
#[derive(Debug, Clone)]
pub struct Function {
    pub name: String,
    pub kind: String,
    pub description: String,
}

/// A column of a table or view.
#[derive(Debug, Clone)]
pub struct Column {
    pub table: String,
    pub name: String,
    pub ty: String,
}

/// The names.
#[derive(Debug, Default)]
pub struct Names {
    pub functions: Vec<Function>,
    /// Lower case.
    pub function_names: HashSet<String>,
    pub keywords: HashSet<&'static str>,
    pub settings: Vec<String>,
    /// Schema and name of tables and views.
    pub tables: Vec<(String, String)>,
    pub schemas: Vec<String>,
    pub columns: Vec<Column>,
}

/// Names that the line editor and the session share.
pub type SharedNames = Arc<RwLock<Names>>;

impl Names {
    /// Asks the database. What it does not answer stays as it was.
    pub fn refresh(&mut self, session: &Session) {
        if self.keywords.is_empty() {
            self.keywords = inlay::keyword_names().collect();
            self.ask_registry(session);
        }
        let texts = |sql: &str| session.texts(sql).unwrap_or_default();
        let pair = |row: Vec<String>| {
            let mut row = row.into_iter();
            (row.next().unwrap_or_default(), row.next().unwrap_or_default())
        };
        let tables = texts(
            "SELECT schema_name, table_name FROM inlay_tables() WHERE NOT internal
             UNION ALL SELECT schema_name, view_name FROM inlay_views() WHERE NOT internal ORDER BY 2",
        );
        self.tables = tables.into_iter().map(pair).collect();
        self.schemas = texts("SELECT schema_name FROM inlay_schemas() UNION SELECT database_name FROM inlay_databases() ORDER BY 1").concat();
        let columns =
            texts("SELECT table_name, column_name, data_type FROM inlay_columns() WHERE NOT internal");
        self.columns = columns
            .into_iter()
            .filter_map(|row| <[String; 3]>::try_from(row).ok())
            .map(|[table, name, ty]| Column { table, name, ty })
            .collect();
    }

    fn ask_registry(&mut self, session: &Session) {
        let functions = session.texts(
            "SELECT function_name, min(function_type), coalesce(min(description), '') FROM inlay_functions()
             WHERE function_name SIMILAR TO '[a-z_][a-z0-9_]*' GROUP BY function_name ORDER BY function_name",
        );
        self.functions = functions
            .unwrap_or_default()
            .into_iter()
            .filter_map(|row| <[String; 3]>::try_from(row).ok())
            .map(|[name, kind, description]| Function { name, kind, description })
            .collect();
        self.function_names = self.functions.iter().map(|function| function.name.clone()).collect();
        self.settings =
            session.texts("SELECT name FROM inlay_settings() ORDER BY name").unwrap_or_default().concat();
    }
}

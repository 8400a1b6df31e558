//! SQL as text, for whoever puts statements together or looks at them before they run: names and values as SQL, and what a
//! text says.
//!
//! ```
//! # fn main() -> inlay::Result<()> {
//! use inlay::sql;
//! let table = sql::path(["main", "my \"own\" table"]);
//! let connection = inlay::Database::open_in_memory()?.connect();
//! connection.execute(&format!("CREATE TABLE {table} AS SELECT {} AS a", inlay::Value::Date(0).to_sql()))?;
//! assert_eq!(sql::name_of(r#"main."a.b""#)?, ["main", "a.b"]);
//! assert_eq!(sql::statements("SELECT 1; DROP TABLE t")?[1].command.tag(), "DROP TABLE");
//! # Ok(())
//! # }
//! ```

use crate::system::is_reserved;
use inlay_types::{Error, Result};

pub use crate::statements::{
    StatementText, check_part, parts_of_name as name_of, placeholders_of as placeholders,
    statements_of as statements, type_of,
};
pub use inlay_sql::parser::{Part, end_of_body, expects_body};
pub use inlay_types::sql_text::{ident, literal, path, write_ident, write_literal};

/// A name as people write it: in quotes only where it would mean something else without.
pub fn short_ident(name: &str) -> String {
    let is_start = |c: char| c.is_ascii_lowercase() || c == '_';
    let is_plain = name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit());
    if is_plain && !is_reserved(name) { name.to_string() } else { ident(name) }
}

/// The name of a table as a program gives it, as SQL: dots separate its parts, and one that begins with a quote, or has one behind a
/// dot, is read as SQL reads it. Nothing but a name comes out, whatever goes in.
///
/// ```
/// use inlay::sql::table_path;
/// assert_eq!(table_path("main.t")?, r#""main"."t""#);
/// assert_eq!(table_path(r#"main."a.b""#)?, r#""main"."a.b""#);
/// assert_eq!(table_path(r#"we"ird"#)?, r#""we""ird""#);
/// assert_eq!(table_path("t; DROP TABLE u")?, r#""t; DROP TABLE u""#);
/// assert!(table_path(r#""t" VALUES (1); DROP TABLE u"#).is_err());
/// # Ok::<(), inlay::Error>(())
/// ```
pub fn table_path(name: &str) -> Result<String> {
    table_parts(name).map(path)
}

/// The parts of the name of a table as a program gives it, read as [`table_path`] reads them.
///
/// ```
/// use inlay::sql::table_parts;
/// assert_eq!(table_parts("s.t")?, ["s", "t"]);
/// assert_eq!(table_parts(r#"s."a.b""#)?, ["s", "a.b"]);
/// # Ok::<(), inlay::Error>(())
/// ```
pub fn table_parts(name: &str) -> Result<Vec<String>> {
    if !name.starts_with('"') && !name.contains(".\"") {
        return Ok(name.split('.').map(str::to_string).collect());
    }
    name_of(name).map_err(|error| {
        Error::Syntax { message: format!("{} is no name: {}", literal(name), error.message()) }
            .with_hint("a quote inside of a quoted name is doubled")
    })
}

//! Names of objects in schemas: what a database knows a table, view, sequence, index, macro or type by.
//!
//! An object of schema `main` is known by its name alone, one of schema `s` by `s.name`. A name in `main` that has a
//! point in it is known by `main.name`, so that no two objects meet. Names of schemas have no points.

/// The schema that every database has.
pub const MAIN: &str = "main";
/// Schemas of system tables, which every database seems to have.
pub const SYSTEM_SCHEMAS: [&str; 2] = ["information_schema", "pg_catalog"];
/// The database that system tables are in.
pub const SYSTEM: &str = "system";
/// The database of temporary objects.
pub const TEMPORARY: &str = "temp";

/// What the object `name` of `schema` is known by.
pub fn qualified(schema: &str, name: &str) -> String {
    if schema.eq_ignore_ascii_case(MAIN) && !name.contains('.') {
        return name.to_string();
    }
    format!("{schema}.{name}")
}

/// The schema and the own name of what is known by `key`.
pub fn split_name(key: &str) -> (&str, &str) {
    key.split_once('.').unwrap_or((MAIN, key))
}

/// The schema of what is known by `key`.
pub fn schema_of(key: &str) -> &str {
    split_name(key).0
}

/// The own name of what is known by `key`.
pub fn bare_name(key: &str) -> &str {
    split_name(key).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for (schema, name, key) in
            [("main", "t", "t"), ("s", "t", "s.t"), ("main", "a.b", "main.a.b"), ("s", "a.b", "s.a.b")]
        {
            assert_eq!(qualified(schema, name), key);
            assert_eq!(split_name(key), (schema, name));
        }
    }
}

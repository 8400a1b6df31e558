//! SQL text of any shape: each statement ends with an answer or an error, within its time and memory.
//!
//! A panic is a crash here though the engine would catch it, and so is an internal error. Files are out of reach.

#![no_main]

use inlay::render::{RenderOptions, render};
use inlay::{Connection, Database, Error, Value};
use libfuzzer_sys::fuzz_target;

/// Tables that the seeds speak of.
const TABLES: &str = "
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
    CREATE TABLE t (i INTEGER, b BIGINT, d DOUBLE, m DECIMAL(9, 2), s VARCHAR, o BOOLEAN, e DATE, z TIMESTAMPTZ, v INTERVAL);
    INSERT INTO t VALUES
        (1, 2, 0.5, 1.25, 'a', true, '2020-02-29', '2020-02-29 12:00:00+00', '1 month'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        (-2147483648, 9223372036854775807, 'nan', -9999999.99, 'ünï', false, '0001-01-01', '1970-01-01 00:00:00+00', '-3 days');
    CREATE TABLE n (k INTEGER PRIMARY KEY, l INTEGER[], r STRUCT(a INTEGER, b VARCHAR), m MAP(VARCHAR, INTEGER), j JSON, u UUID, x BLOB, f mood);
    INSERT INTO n VALUES (1, [1, NULL, 3], {'a': 1, 'b': 'x'}, MAP {'k': 1}, '{\"a\": [1, 2]}', '00000000-0000-0000-0000-000000000001', 'x', 'ok'),
        (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    CREATE VIEW w AS SELECT i, s FROM t WHERE i > 0;
    CREATE SEQUENCE q";

fn database() -> Result<Connection, Error> {
    let config = [
        ("threads", Value::Integer(1)),
        ("memory_limit", Value::Varchar("64MB".into())),
        ("max_temp_directory_size", Value::Varchar("64MB".into())),
        ("statement_timeout", Value::Varchar("2s".into())),
        ("enable_external_access", Value::Boolean(false)),
        ("lock_configuration", Value::Boolean(true)),
    ];
    let config = config.map(|(name, value)| (name.to_string(), value));
    let connection = Database::open(":memory:", &config)?.connect();
    connection.execute(TABLES)?;
    Ok(connection)
}

fuzz_target!(|text: &str| {
    let connection = database().expect("the tables can be made");
    match connection.execute(text) {
        Ok(answer) => drop(render(&answer, RenderOptions::default())),
        Err(error) => assert!(!matches!(error.root(), Error::Internal { .. }), "{error}"),
    }
});

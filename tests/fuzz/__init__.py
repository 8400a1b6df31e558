"""A differential fuzzer of SQL: random tables and queries, answered by Inlay, by DuckDB, and by Inlay in other ways."""

"""The subquery zoo: correlated and nested subqueries of every kind, answered by Inlay and by DuckDB on random data."""

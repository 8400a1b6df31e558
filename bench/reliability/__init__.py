"""What is promised about durability, counted and measured beside DuckDB and SQLite, on one page."""

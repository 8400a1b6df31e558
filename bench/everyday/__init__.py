"""What analysts ask every day, and every family of functions, beside DuckDB."""

"""TPC-H from a database file, hot and cold."""

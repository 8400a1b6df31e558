"""DuckDB, in memory or in a file, results as Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

START = "import duckdb; con = duckdb.connect(); con.execute('SELECT 1').fetchall()"


class Adapter:
    """See `base.Adapter`."""

    def __init__(self, threads: int, path: Path | None = None) -> None:
        self.connection = duckdb.connect(str(path) if path else ":memory:")
        self.connection.execute(f"SET threads = {threads}")
        self.connection.execute("SET enable_progress_bar = false")

    def version(self) -> str:
        return str(duckdb.__version__)

    def load(self, tables: Mapping[str, Path]) -> None:
        for name, path in tables.items():
            self.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{path}')")

    def run(self, number: int, sql: str) -> Any:
        return self.query(sql)

    def query(self, sql: str) -> Any:
        return self.connection.sql(sql).to_arrow_table()

    def keep(self, sql: str) -> None:
        self.connection.execute(f"CREATE TABLE answer AS {sql}")

    def forget(self) -> None:
        self.connection.execute("DROP TABLE IF EXISTS answer")

    def select_one(self) -> Any:
        return self.connection.execute("SELECT 1").fetchall()

    def close(self) -> None:
        self.connection.close()

"""The engines, each with a file of a million rows that has a primary key and a second index."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.engines.in_file import DuckDBFile, InlayFile

CREATE = "CREATE TABLE points (id INTEGER PRIMARY KEY, place INTEGER, name VARCHAR, amount DOUBLE)"
INDEX = "CREATE INDEX points_place ON points (place)"
Rows = list[tuple[Any, ...]]


class Columnar:
    """What Inlay and DuckDB share: connections of the same methods, of which threads take a cursor each."""

    connection: Any

    def load(self, source: Path) -> None:
        self.connection.execute(CREATE)
        self.connection.execute(f"INSERT INTO points SELECT * FROM read_parquet('{source}')")
        self.connection.execute(INDEX)
        self.connection.execute("CHECKPOINT")

    def another(self) -> Any:
        """A connection for another thread."""
        return self.connection.cursor()

    def close(self) -> None:
        self.connection.close()


class Inlay(InlayFile, Columnar):
    """Inlay, in a file."""


class DuckDB(DuckDBFile, Columnar):
    """DuckDB, in a file."""


class SQLite:
    """SQLite, in a file with a write-ahead log that is synced at each commit, as the others' are."""

    def __init__(self, path: Path, _threads: int) -> None:
        self.path, self.version = path, sqlite3.sqlite_version
        self.connection = self.another()

    def another(self) -> Any:
        connection = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -262144")
        return connection

    def load(self, source: Path) -> None:
        import pyarrow.parquet as pq

        self.connection.execute(CREATE)
        self.connection.execute("BEGIN")
        for batch in pq.read_table(source).to_batches(100_000):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            self.connection.executemany("INSERT INTO points VALUES (?, ?, ?, ?)", rows)
        self.connection.execute("COMMIT")
        self.connection.execute(INDEX)
        self.connection.execute("ANALYZE")

    def close(self) -> None:
        self.connection.close()


def ask(connection: Any, text: str, values: Sequence[Any] = ()) -> Rows:
    """All rows of a query, which the engines that do so keep prepared by its text."""
    return list(connection.execute(text, values).fetchall()) if values else list(connection.execute(text).fetchall())


ENGINES: dict[str, Any] = {"inlay": Inlay, "duckdb": DuckDB, "sqlite": SQLite}
"""Rows in tables of this form are `(id, place, name, amount)`; `place` is the `id`s in another order."""

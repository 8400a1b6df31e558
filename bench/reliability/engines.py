"""Inlay, DuckDB and SQLite as far as the measurements need them: a file, statements, rows, and a checkpoint."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from bench.engines.base import answer_of, arrow_table
from tests.tpch.workload import Answer


class Database(Protocol):
    """A database in a file."""

    def execute(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Run a statement, in a transaction of its own."""
        ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        ...

    def answer(self, sql: str) -> Answer:
        """A query's answer for `tests.tpch.workload.difference`."""
        ...

    def run(self, sql: str) -> Any:
        """A query's answer in the client, as it arrives."""
        ...

    def register(self, name: str, table: Any) -> None:
        """Make an Arrow table a table of this name."""
        ...

    def close(self) -> None: ...


class Columnar:
    """What Inlay and DuckDB share."""

    connection: Any

    def execute(self, sql: str, values: Sequence[Any] = ()) -> None:
        self.connection.execute(sql, list(values)) if values else self.connection.execute(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return list(self.connection.execute(sql).fetchall())

    def run(self, sql: str) -> Any:
        return arrow_table(self.connection.execute(sql).arrow())

    def answer(self, sql: str) -> Answer:
        return answer_of(self.run(sql))

    def register(self, name: str, table: Any) -> None:
        self.connection.register(name, table)

    def close(self) -> None:
        self.connection.close()


class Inlay(Columnar):
    """Inlay; `:memory:` is a path as well."""

    def __init__(self, path: Path | str, threads: int, memory_limit: str | None = None) -> None:
        import inlay

        config = {"threads": threads} | ({"memory_limit": memory_limit} if memory_limit else {})
        self.connection = inlay.connect(str(path), config=config)


class DuckDB(Columnar):
    """DuckDB, whose Arrow answers are tables or readers by version."""

    def __init__(self, path: Path | str, threads: int, memory_limit: str | None = None) -> None:
        import duckdb

        config = {"threads": threads} | ({"memory_limit": memory_limit} if memory_limit else {})
        self.connection = duckdb.connect(str(path), config=config)

    def run(self, sql: str) -> Any:
        return self.connection.sql(sql).to_arrow_table()


class SQLite:
    """SQLite with a write-ahead log, synced at each commit."""

    def __init__(self, path: Path | str, _threads: int, _memory_limit: str | None = None) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self.connection.execute("PRAGMA synchronous = FULL")

    def execute(self, sql: str, values: Sequence[Any] = ()) -> None:
        self.connection.execute(sql, values)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql).fetchall()

    def answer(self, sql: str) -> Answer:
        return Answer([], [], self.rows(sql))

    def run(self, sql: str) -> Any:
        return self.rows(sql)

    def register(self, name: str, table: Any) -> None:
        raise NotImplementedError("SQLite has no Arrow tables")

    def close(self) -> None:
        self.connection.close()


ENGINES: dict[str, type[Inlay] | type[DuckDB] | type[SQLite]] = {"inlay": Inlay, "duckdb": DuckDB, "sqlite": SQLite}


def open_database(engine: str, path: Path | str, threads: int, memory_limit: str | None = None) -> Database:
    """A database of an engine by name."""
    return ENGINES[engine](path, threads, memory_limit)


def size_bytes(path: Path) -> int:
    """Bytes of a database file and of the log beside it, under either engine's name for it."""
    names = [path, path.with_name(path.name + ".wal"), path.with_name(path.name + "-wal")]
    return sum(name.stat().st_size for name in names if name.exists())

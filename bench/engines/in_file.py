"""Connections of the embedded engines to a database file, for suites that use an engine's own interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class InlayFile:
    """Inlay, in a file."""

    connection: Any

    def __init__(self, path: Path, threads: int) -> None:
        import inlay

        self.version = inlay.__version__
        self.connection = inlay.connect(path, config={"threads": threads})


class DuckDBFile:
    """DuckDB, in a file."""

    connection: Any

    def __init__(self, path: Path, threads: int) -> None:
        import duckdb

        self.version = duckdb.__version__
        self.connection = duckdb.connect(str(path), config={"threads": threads})

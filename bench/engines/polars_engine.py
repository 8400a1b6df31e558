"""Polars, tables as data frames in memory, queries as lazy expressions (`bench.tpch.polars_queries`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

START = "import polars; polars.sql('SELECT 1').collect()"


class Adapter:
    """See `base.Adapter`."""

    def __init__(self, threads: int) -> None:
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars

        self.package = polars
        self.tables: dict[str, Any] = {}

    def version(self) -> str:
        return str(self.package.__version__)

    def load(self, tables: Mapping[str, Path]) -> None:
        for name, path in tables.items():
            self.tables[name] = self.package.read_parquet(path).rechunk().lazy()

    def run(self, number: int, sql: str) -> Any:
        from bench.tpch.polars_queries import QUERIES

        return QUERIES[number](**self.tables).collect().to_arrow()

    def query(self, sql: str) -> Any:
        return self.package.SQLContext(self.tables).execute(sql).collect().to_arrow()

    def formulated(self, query: Callable[..., Any], *, kept: bool = False) -> Any:
        """Answer a query that is a function of the tables."""
        frame = query(**self.tables).collect()
        if not kept:
            return frame.to_arrow()
        self.tables["answer"] = frame.lazy()
        return None

    def keep(self, sql: str) -> None:
        self.tables["answer"] = self.package.SQLContext(self.tables).execute(sql).collect().lazy()

    def forget(self) -> None:
        self.tables.pop("answer", None)

    def select_one(self) -> Any:
        return self.package.sql("SELECT 1").collect()

    def close(self) -> None:
        self.tables.clear()

"""chDB (ClickHouse in a process), tables of engine Memory, results as Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import chdb
from chdb import session

START = "import chdb; chdb.query('SELECT 1')"


class Adapter:
    """See `base.Adapter`."""

    def __init__(self, threads: int) -> None:
        self.session = session.Session()
        for setting in (
            f"max_threads = {threads}",
            "allow_experimental_correlated_subqueries = 1",
            "join_use_nulls = 1",
            "schema_inference_make_columns_nullable = 0",
        ):
            self.session.query(f"SET {setting}")

    def version(self) -> str:
        return str(chdb.__version__)

    def load(self, tables: Mapping[str, Path]) -> None:
        for name, path in tables.items():
            self.session.query(f"CREATE TABLE {name} ENGINE = Memory AS SELECT * FROM file('{path}', Parquet)")

    def run(self, number: int, sql: str) -> Any:
        return self.query(sql)

    def query(self, sql: str) -> Any:
        return self.session.query(sql, "ArrowTable")

    def keep(self, sql: str) -> None:
        self.session.query(f"CREATE TABLE answer ENGINE = Memory AS {sql}")

    def forget(self) -> None:
        self.session.query("DROP TABLE IF EXISTS answer")

    def select_one(self) -> Any:
        return self.session.query("SELECT 1")

    def close(self) -> None:
        self.session.close()

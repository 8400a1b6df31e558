"""HyPer, the one in Tableau's Hyper API: a server process of its own on this machine, results as lists of tuples."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tableauhyperapi as hyper

START = (
    "import tableauhyperapi as hyper\n"
    "with hyper.HyperProcess(hyper.Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU, parameters={'log_config': ''}) as p:\n"
    "    with hyper.Connection(p.endpoint) as con: con.execute_list_query('SELECT 1')"
)


class Adapter:
    """See `base.Adapter`."""

    def __init__(self, threads: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.process = hyper.HyperProcess(
            hyper.Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU,
            parameters={"log_config": "", "hard_concurrent_query_thread_limit": str(threads)},
        )
        database = Path(self.folder.name) / "tpch.hyper"
        self.connection = hyper.Connection(self.process.endpoint, database, hyper.CreateMode.CREATE_AND_REPLACE)

    def version(self) -> str:
        return str(hyper.__version__)

    def load(self, tables: Mapping[str, Path]) -> None:
        for name, path in tables.items():
            self.connection.execute_command(
                f"CREATE TEMPORARY TABLE {name} AS (SELECT * FROM external('{path}', FORMAT => 'parquet'))"
            )

    def run(self, number: int, sql: str) -> Any:
        return self.query(sql)

    def query(self, sql: str) -> Any:
        return self.connection.execute_list_query(sql)

    def keep(self, sql: str) -> None:
        self.connection.execute_command(f"CREATE TEMPORARY TABLE answer AS ({sql})")

    def forget(self) -> None:
        self.connection.execute_command("DROP TABLE IF EXISTS answer")

    def select_one(self) -> Any:
        return self.connection.execute_list_query("SELECT 1")

    def close(self) -> None:
        self.connection.close()
        self.process.close()
        self.folder.cleanup()

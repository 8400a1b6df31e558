"""DataFusion, tables in memory as Arrow batches in one partition per thread, results as Arrow tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

START = "import datafusion; con = datafusion.SessionContext(); con.sql('SELECT 1').collect()"


class Adapter:
    """See `base.Adapter`."""

    def __init__(self, threads: int) -> None:
        os.environ["TOKIO_WORKER_THREADS"] = str(threads)
        import datafusion

        self.package = datafusion
        self.threads = threads
        self.context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(threads))

    def version(self) -> str:
        return str(self.package.__version__)

    def load(self, tables: Mapping[str, Path]) -> None:
        for name, path in tables.items():
            batches = self.context.read_parquet(str(path)).collect()
            partitions = [batches[start :: self.threads] for start in range(self.threads)]
            self.context.register_record_batches(name, [part for part in partitions if part])

    def run(self, number: int, sql: str) -> Any:
        return self.query(sql)

    def query(self, sql: str) -> Any:
        frame = self.context.sql(sql)
        batches = frame.collect()
        # Types of batches may differ from those that were planned.
        return pa.Table.from_batches(batches, schema=batches[0].schema if batches else frame.schema())

    def keep(self, sql: str) -> None:
        frame = self.context.sql(sql)
        batches = frame.collect() or [pa.RecordBatch.from_pylist([], schema=frame.schema())]
        self.context.register_record_batches("answer", [batches])

    def forget(self) -> None:
        self.context.deregister_table("answer")

    def select_one(self) -> Any:
        return self.context.sql("SELECT 1").collect()

    def close(self) -> None:
        del self.context

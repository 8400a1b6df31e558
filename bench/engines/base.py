"""What every adapter provides, and how delivered results become rows for the comparison."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from tests.tpch.workload import Answer


class Adapter(Protocol):
    """One engine, open, in memory, with `threads` workers."""

    def __init__(self, threads: int) -> None: ...

    def version(self) -> str:
        """Version of the engine, for the report."""
        ...

    def load(self, tables: Mapping[str, Path]) -> None:
        """Copy Parquet files into tables in memory, in the engine's own form."""
        ...

    def run(self, number: int, sql: str) -> Any:
        """Answer a query; what it returns is complete and in this process: an Arrow table or a list of tuples."""
        ...

    def query(self, sql: str) -> Any:
        """Answer a query by the engine's own SQL, where `run` may do so otherwise."""
        ...

    def keep(self, sql: str) -> None:
        """Answer a query into the table `answer`, which stays in the engine."""
        ...

    def forget(self) -> None:
        """Drop the table `answer` if there is one."""
        ...

    def select_one(self) -> Any:
        """Answer `SELECT 1` on the open connection."""
        ...

    def close(self) -> None:
        """Give back memory, threads and processes."""
        ...


def arrow_table(result: Any) -> pa.Table:
    """An Arrow table from a table, a reader of batches, or anything that exports an Arrow stream."""
    if isinstance(result, pa.Table):
        return result
    if isinstance(result, pa.RecordBatchReader):
        return result.read_all()
    return pa.table(result)


def answer_of(result: Any) -> Answer:
    """Names, kinds and rows of a delivered result. A list of tuples has neither names nor kinds."""
    if isinstance(result, list):
        return Answer([], [], [tuple(plain(value) for value in row) for row in result])
    table = arrow_table(result)
    kinds = [kind_of(field.type) for field in table.schema]
    columns = [
        [integer(value) for value in column.to_pylist()] if kind == "integer" else column.to_pylist()
        for column, kind in zip(table.columns, kinds, strict=True)
    ]
    return Answer(list(table.column_names), kinds, list(zip(*columns, strict=True)))


def kind_of(data_type: pa.DataType) -> str:
    """Kind of an Arrow column. Arrow has no 128-bit integer: a decimal of scale 0 stands for it."""
    if pa.types.is_decimal(data_type):
        return "decimal" if data_type.scale else "integer"
    if pa.types.is_floating(data_type):
        return "double"
    if pa.types.is_date(data_type) or pa.types.is_timestamp(data_type):
        return "date"
    return "integer" if pa.types.is_integer(data_type) else "text"


def integer(value: Any) -> Any:
    """An integral decimal as `int`; anything else unchanged."""
    return int(value) if isinstance(value, Decimal) else value


def plain(value: Any) -> Any:
    """A value of a client library of its own as Python's: Hyper has a `Date`."""
    return value.to_date() if hasattr(value, "to_date") else value

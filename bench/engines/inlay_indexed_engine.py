"""Inlay with a bitmap index on the columns that suites group and filter by: what the index costs or brings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.engines import inlay_engine

START = inlay_engine.START
# Columns with few values, by the table.
INDEXED = {"listings": ("region", "city", "agent", "type", "rooms", "built")}


class Adapter(inlay_engine.Adapter):
    """See `base.Adapter`."""

    def load(self, tables: Mapping[str, Path]) -> None:
        super().load(tables)
        for table in tables:
            columns = INDEXED.get(table, ())
            if columns:
                self.connection.execute(f"CREATE INDEX {table}_sets ON {table} USING bitmap ({', '.join(columns)})")

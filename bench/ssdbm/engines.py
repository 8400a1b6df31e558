"""The engines, each with the tables loaded, and how each answers into host arrays."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.engines.in_file import DuckDBFile, InlayFile

# What is asked, by name, and how: the share of rows, the number of groups, the table joined.
QUERIES: dict[str, tuple[str, Any]] = {
    "select 1 %": ("selection", 10_000),
    "select 10 %": ("selection", 100_000),
    "select 50 %": ("selection", 500_000),
    "project": ("projection", None),
    "group 1": ("grouping", "w * 0"),
    "group 1,000": ("grouping", "g"),
    "group n/10": ("grouping", "k // 10"),
    "join 1 %": ("join", "s1"),
    "join 10 %": ("join", "s10"),
}


def sql(query: str) -> str:
    """A query for engines that speak SQL."""
    kind, part = QUERIES[query]
    match kind:
        case "selection":
            return f"SELECT k, g, v, w FROM r WHERE v < {part}"
        case "projection":
            return "SELECT k + g AS kg, v * 2 - w AS vw FROM r"
        case "grouping":
            return f"SELECT {part} AS key, count(*) AS n, sum(v) AS v, max(w) AS w FROM r GROUP BY 1"
        case _:
            return f"SELECT r.k, r.v, s.x FROM r JOIN {part} s ON r.k = s.k"


class Columnar:
    """What Inlay and DuckDB share."""

    connection: Any

    def load(self, tables: Mapping[str, Any]) -> None:
        for name, table in tables.items():
            self.connection.register("source", table)
            self.connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM source")
            self.connection.unregister("source")
        self.connection.execute("CHECKPOINT")

    def answer(self, query: str) -> Any:
        return self.connection.execute(sql(query)).fetchnumpy()

    def close(self) -> None:
        self.connection.close()


class Inlay(InlayFile, Columnar):
    """Inlay, in a file."""


class DuckDB(DuckDBFile, Columnar):
    """DuckDB, in a file."""


class Pandas:
    """pandas, whose frames are in memory."""

    def __init__(self, _path: Path, _threads: int) -> None:
        import pandas

        self.version = pandas.__version__

    def load(self, tables: Mapping[str, Any]) -> None:
        self.tables = {name: table.to_pandas() for name, table in tables.items()}

    def answer(self, query: str) -> Any:
        r = self.tables["r"]
        match QUERIES[query]:
            case "selection", limit:
                frame = r[r.v < limit]
            case "projection", _:
                return {"kg": (r.k + r.g).to_numpy(), "vw": (r.v * 2 - r.w).to_numpy()}
            case "grouping", key:
                keys = {"w * 0": lambda: r.w * 0, "g": lambda: r.g, "k // 10": lambda: r.k // 10}[key]()
                frame = r.groupby(keys.rename("key")).agg(n=("g", "size"), v=("v", "sum"), w=("w", "max")).reset_index()
            case _, other:
                frame = r[["k", "v"]].merge(self.tables[other], on="k")
        return {name: frame[name].to_numpy() for name in frame.columns}

    def close(self) -> None:
        del self.tables


class Polars:
    """Polars, whose frames are in memory."""

    def __init__(self, _path: Path, _threads: int) -> None:
        import polars

        self.version = polars.__version__

    def load(self, tables: Mapping[str, Any]) -> None:
        import polars

        self.tables: dict[str, Any] = {name: polars.from_arrow(table) for name, table in tables.items()}

    def answer(self, query: str) -> Any:
        import polars as pl

        r = self.tables["r"].lazy()
        match QUERIES[query]:
            case "selection", limit:
                frame = r.filter(pl.col("v") < limit)
            case "projection", _:
                frame = r.select(kg=pl.col("k") + pl.col("g"), vw=pl.col("v") * 2 - pl.col("w"))
            case "grouping", key:
                keys = {"w * 0": pl.col("w") * 0, "g": pl.col("g"), "k // 10": pl.col("k") // 10}[key]
                frame = r.group_by(key=keys).agg(n=pl.len(), v=pl.col("v").cast(pl.Int64).sum(), w=pl.col("w").max())
            case _, other:
                frame = r.select("k", "v").join(self.tables[other].lazy(), on="k")
        found = frame.collect()
        return {name: found[name].to_numpy() for name in found.columns}

    def close(self) -> None:
        del self.tables


class SQLite:
    """SQLite, in a file; rows are made into arrays."""

    def __init__(self, path: Path, _threads: int) -> None:
        self.version = sqlite3.sqlite_version
        self.connection = sqlite3.connect(path)

    def load(self, tables: Mapping[str, Any]) -> None:
        for name, table in tables.items():
            self.connection.execute(f"DROP TABLE IF EXISTS {name}")
            self.connection.execute(f"CREATE TABLE {name} ({', '.join(table.column_names)})")
            places = ", ".join("?" * len(table.column_names))
            for batch in table.to_batches(100_000):
                rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                self.connection.executemany(f"INSERT INTO {name} VALUES ({places})", rows)
        for name in ("s1", "s10"):
            self.connection.execute(f"CREATE INDEX {name}_k ON {name} (k)")
        self.connection.commit()

    def answer(self, query: str) -> Any:
        import numpy as np

        cursor = self.connection.execute(sql(query).replace("//", "/"))
        names = [column[0] for column in cursor.description]
        columns = zip(*cursor.fetchall(), strict=True)
        return {name: np.array(values) for name, values in zip(names, columns, strict=True)}

    def close(self) -> None:
        self.connection.close()


ENGINES: dict[str, Any] = {"inlay": Inlay, "duckdb": DuckDB, "polars": Polars, "pandas": Pandas, "sqlite": SQLite}

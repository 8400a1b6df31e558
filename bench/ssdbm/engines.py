"""The engines, each with the tables loaded, and how each answers into host arrays."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

QUERIES = {
    "selection": "SELECT k, g, v, w FROM r WHERE v < 100000",
    "projection": "SELECT k + g AS kg, v * 2 - w AS vw FROM r",
    "grouping": "SELECT g, count(*) AS n, sum(v) AS v, max(w) AS w FROM r GROUP BY g",
    "join": "SELECT r.k, r.v, s.x FROM r JOIN s ON r.k = s.k",
}


class Columnar:
    """What Inlay and DuckDB share."""

    connection: Any

    def load(self, r: Any, s: Any) -> None:
        for name, table in (("r", r), ("s", s)):
            self.connection.register("source", table)
            self.connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM source")
            self.connection.unregister("source")
        self.connection.execute("CHECKPOINT")

    def answer(self, query: str) -> Any:
        return self.connection.execute(QUERIES[query]).fetchnumpy()

    def close(self) -> None:
        self.connection.close()


class Inlay(Columnar):
    """Inlay, in a file."""

    def __init__(self, path: Path, threads: int) -> None:
        import inlay

        self.version = inlay.__version__
        self.connection = inlay.connect(path, config={"threads": threads})


class DuckDB(Columnar):
    """DuckDB, in a file."""

    def __init__(self, path: Path, threads: int) -> None:
        import duckdb

        self.version = duckdb.__version__
        self.connection = duckdb.connect(str(path), config={"threads": threads})


class Pandas:
    """pandas, whose frames are in memory."""

    def __init__(self, _path: Path, _threads: int) -> None:
        import pandas

        self.version = pandas.__version__

    def load(self, r: Any, s: Any) -> None:
        self.r, self.s = r.to_pandas(), s.to_pandas()

    def answer(self, query: str) -> Any:
        r = self.r
        match query:
            case "selection":
                frame = r[r.v < 100_000]
            case "projection":
                return {"kg": (r.k + r.g).to_numpy(), "vw": (r.v * 2 - r.w).to_numpy()}
            case "grouping":
                frame = r.groupby("g").agg(n=("g", "size"), v=("v", "sum"), w=("w", "max")).reset_index()
            case _:
                frame = r[["k", "v"]].merge(self.s, on="k")
        return {name: frame[name].to_numpy() for name in frame.columns}

    def close(self) -> None:
        del self.r, self.s


class Polars:
    """Polars, whose frames are in memory."""

    def __init__(self, _path: Path, _threads: int) -> None:
        import polars

        self.version = polars.__version__

    def load(self, r: Any, s: Any) -> None:
        import polars

        self.r, self.s = polars.from_arrow(r), polars.from_arrow(s)

    def answer(self, query: str) -> Any:
        import polars as pl

        r = self.r.lazy()
        match query:
            case "selection":
                frame = r.filter(pl.col("v") < 100_000)
            case "projection":
                frame = r.select(kg=pl.col("k") + pl.col("g"), vw=pl.col("v") * 2 - pl.col("w"))
            case "grouping":
                frame = r.group_by("g").agg(n=pl.len(), v=pl.col("v").sum(), w=pl.col("w").max())
            case _:
                frame = r.select("k", "v").join(self.s.lazy(), on="k")
        found = frame.collect()
        return {name: found[name].to_numpy() for name in found.columns}

    def close(self) -> None:
        del self.r, self.s


class SQLite:
    """SQLite, in a file; rows are made into arrays."""

    def __init__(self, path: Path, _threads: int) -> None:
        self.version = sqlite3.sqlite_version
        self.connection = sqlite3.connect(path)

    def load(self, r: Any, s: Any) -> None:
        for name, table in (("r", r), ("s", s)):
            self.connection.execute(f"DROP TABLE IF EXISTS {name}")
            self.connection.execute(f"CREATE TABLE {name} ({', '.join(table.column_names)})")
            places = ", ".join("?" * len(table.column_names))
            for batch in table.to_batches(100_000):
                rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                self.connection.executemany(f"INSERT INTO {name} VALUES ({places})", rows)
        self.connection.execute("CREATE INDEX s_k ON s (k)")
        self.connection.commit()

    def answer(self, query: str) -> Any:
        import numpy as np

        cursor = self.connection.execute(QUERIES[query])
        names = [column[0] for column in cursor.description]
        columns = zip(*cursor.fetchall(), strict=True)
        return {name: np.array(values) for name, values in zip(names, columns, strict=True)}

    def close(self) -> None:
        self.connection.close()


ENGINES: dict[str, Any] = {"inlay": Inlay, "duckdb": DuckDB, "polars": Polars, "pandas": Pandas, "sqlite": SQLite}

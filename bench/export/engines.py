"""The engines, each with lineitem loaded, and how each hands it out."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, ClassVar

NUMBERS = (
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_linenumber",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
)


def selection(columns: tuple[str, ...]) -> str:
    """The query for some columns of lineitem; for all without any."""
    return f"SELECT {', '.join(columns) or '*'} FROM lineitem"


class Columnar:
    """What Inlay and DuckDB share: a database file, and methods of the same names."""

    connection: Any
    # DuckDB makes float64 of decimals unasked.
    as_float: ClassVar[dict[str, str]] = {}

    def load(self, source: Path) -> None:
        self.connection.execute(f"CREATE TABLE lineitem AS SELECT * FROM read_parquet('{source}')")
        self.connection.execute("CHECKPOINT")

    def numpy(self, columns: tuple[str, ...]) -> Any:
        return self.connection.execute(selection(columns)).fetchnumpy(**self.as_float)

    def pandas(self, columns: tuple[str, ...]) -> Any:
        return self.connection.execute(selection(columns)).df(**self.as_float)

    def file(self, path: Path) -> None:
        self.connection.execute(f"COPY lineitem TO '{path}'")

    def close(self) -> None:
        self.connection.close()


class Inlay(Columnar):
    """Inlay, in a file."""

    as_float: ClassVar[dict[str, str]] = {"decimal": "float"}

    def __init__(self, path: Path, threads: int) -> None:
        import inlay

        self.version = inlay.__version__
        self.connection = inlay.connect(path, config={"threads": threads})

    def arrow(self, columns: tuple[str, ...]) -> Any:
        return self.connection.execute(selection(columns)).arrow()

    def polars(self, columns: tuple[str, ...]) -> Any:
        return self.connection.execute(selection(columns)).pl()


class DuckDB(Columnar):
    """DuckDB, in a file."""

    def __init__(self, path: Path, threads: int) -> None:
        import duckdb

        self.version = duckdb.__version__
        self.connection = duckdb.connect(str(path), config={"threads": threads})

    def arrow(self, columns: tuple[str, ...]) -> Any:
        return self.connection.sql(selection(columns)).to_arrow_table()

    def polars(self, columns: tuple[str, ...]) -> Any:
        return self.connection.sql(selection(columns)).pl()


class Polars:
    """Polars, whose frame is in memory."""

    def __init__(self, _path: Path, _threads: int) -> None:
        import polars

        self.version = polars.__version__

    def load(self, source: Path) -> None:
        import polars

        self.frame = polars.read_parquet(source)

    def chosen(self, columns: tuple[str, ...]) -> Any:
        return self.frame.select(columns) if columns else self.frame

    def numpy(self, columns: tuple[str, ...]) -> Any:
        import polars

        frame = self.chosen(columns)
        decimals = [name for name, kind in frame.schema.items() if kind.is_decimal()]
        frame = frame.with_columns(polars.col(decimals).cast(polars.Float64))
        return {name: frame[name].to_numpy() for name in frame.columns}

    def pandas(self, columns: tuple[str, ...]) -> Any:
        return self.chosen(columns).to_pandas()

    def arrow(self, columns: tuple[str, ...]) -> Any:
        return self.chosen(columns).to_arrow()

    def polars(self, columns: tuple[str, ...]) -> Any:
        return self.chosen(columns).clone()

    def file(self, path: Path) -> None:
        if path.suffix == ".json":
            self.frame.write_ndjson(path)
        elif path.suffix == ".csv":
            self.frame.write_csv(path)
        else:
            self.frame.write_parquet(path, compression="snappy")

    def close(self) -> None:
        del self.frame


class SQLite:
    """SQLite, in a file; rows are made into arrays."""

    def __init__(self, path: Path, _threads: int) -> None:
        self.version = sqlite3.sqlite_version
        self.connection = sqlite3.connect(path)

    def load(self, source: Path) -> None:
        import pyarrow.compute as pc
        import pyarrow.parquet as pq
        import pyarrow.types as kinds

        file = pq.ParquetFile(source)
        names = file.schema_arrow.names
        self.connection.execute(f"CREATE TABLE lineitem ({', '.join(names)})")
        for batch in file.iter_batches():
            columns = []
            for column in batch.columns:
                kind = "double" if kinds.is_decimal(column.type) else "string" if kinds.is_date(column.type) else None
                columns.append((pc.cast(column, kind) if kind else column).to_pylist())
            places = ", ".join("?" * len(names))
            self.connection.executemany(f"INSERT INTO lineitem VALUES ({places})", zip(*columns, strict=True))
        self.connection.commit()

    def numpy(self, columns: tuple[str, ...]) -> Any:
        import numpy as np

        cursor = self.connection.execute(selection(columns))
        names = [column[0] for column in cursor.description]
        return {
            name: np.array(values) for name, values in zip(names, zip(*cursor.fetchall(), strict=True), strict=True)
        }

    def close(self) -> None:
        self.connection.close()


ENGINES: dict[str, Any] = {"inlay": Inlay, "duckdb": DuckDB, "polars": Polars, "sqlite": SQLite}

"""Times and peak memory of loading lineitem from what the host has and from files, into memory and into a file."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

from bench.cases import Suite, timed
from bench.data import CACHE, tpch_files

SOURCES = ("numpy", "pandas", "polars", "arrow", "parquet", "csv")
PLACES = ("file", "memory")
CASES = tuple(f"{source} into {place}" for place in PLACES for source in SOURCES)


class IngestSession:
    """One engine, inside its process. Both have DB-API connections that find variables by name."""

    def __init__(self, engine: str, threads: int, *, parquet: Path, csv: Path) -> None:
        self.module = __import__(engine)
        self.threads = threads
        self.files = {"parquet": parquet, "csv": csv}
        self.folder = tempfile.TemporaryDirectory(prefix="ingest-")
        self.count = 0
        self.source: Any = None

    def version(self) -> str:
        return str(self.module.__version__)

    def prepare(self, case: str) -> None:
        """Make the host's object."""
        self.source = None
        kind = case.split()[0]
        if kind not in self.files:
            self.source = make(kind, self.files["parquet"])

    def connect(self, case: str) -> Any:
        """A new, empty database."""
        self.count += 1
        place = str(Path(self.folder.name) / f"{self.count}.db") if case.endswith("file") else ":memory:"
        connection = self.module.connect(place, config={"threads": self.threads})
        connection.execute("SET enable_progress_bar = false")
        return connection

    def load(self, connection: Any, case: str) -> None:
        """Make the table, durably where it is in a file."""
        kind, source = case.split()[0], self.source
        text = "source" if source is not None else f"read_{kind}('{self.files[kind]}')"
        connection.execute(f"CREATE TABLE lineitem AS SELECT * FROM {text}")
        del source

    def run(self, case: str) -> tuple[float, float]:
        connection = self.connect(case)
        try:
            return timed(lambda: self.load(connection, case))
        finally:
            self.discard(connection)

    def summary(self, case: str) -> dict[str, float]:
        """What the table adds up to."""
        connection = self.connect(case)
        try:
            self.load(connection, case)
            row = connection.execute(
                "SELECT count(*), sum(l_orderkey), sum(l_extendedprice), sum(l_tax), "
                "sum(length(l_comment)), sum(length(l_shipmode)), sum(year(l_shipdate)) FROM lineitem"
            ).fetchone()
        finally:
            self.discard(connection)
        return {str(index): float(value) for index, value in enumerate(row)}

    def discard(self, connection: Any) -> None:
        connection.close()
        for path in Path(self.folder.name).iterdir():
            path.unlink()

    def close(self) -> None:
        self.folder.cleanup()


def make(kind: str, source: Path) -> Any:
    """The rows of a Parquet file as an object; decimals as doubles where DuckDB does not take them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(source)
    if kind == "arrow":
        return table
    columns = {
        name: table[name].cast(pa.float64()) if pa.types.is_decimal(table[name].type) else table[name]
        for name in table.column_names
    }
    table = pa.table(columns)
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    arrays = {name: table[name].to_numpy() for name in table.column_names}
    return {name: array.astype("M8[us]") if array.dtype.kind == "M" else array for name, array in arrays.items()}


def csv_file(scale: float) -> Path:
    """lineitem as CSV, written when missing."""
    path = CACHE / f"tpch-sf{scale:g}" / "lineitem.csv"
    if not path.exists():
        import pyarrow.csv
        import pyarrow.parquet as pq

        unfinished = path.with_suffix(".unfinished")
        options = pyarrow.csv.WriteOptions(quoting_style="needed")
        pyarrow.csv.write_csv(pq.read_table(tpch_files(scale)["lineitem"]), unfinished, options)
        unfinished.rename(path)
    return path


def suite(scale: float) -> Suite:
    """The suite at a TPC-H scale."""
    parquet = tpch_files(scale)["lineitem"]
    return Suite(
        name=f"ingest-sf{scale:g}",
        title=f"lineitem into a table, scale {scale:g}",
        remarks="CREATE TABLE .. AS into a new database each time; what is in a file is durable when it ends. "
        "DuckDB's tables in memory are not compressed, Inlay's are. Decimals are doubles in NumPy, pandas and Polars.",
        engines=("inlay", "duckdb"),
        cases=CASES,
        shows_memory=True,
        session=functools.partial(IngestSession, parquet=parquet, csv=csv_file(scale)),
    )

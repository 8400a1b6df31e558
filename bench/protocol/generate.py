"""The tables of "Don't hold my data hostage" (VLDB 2017), a tenth of its rows at scale 1, made from random numbers.

lineitem is TPC-H's. The American Community Survey and the flights of "ontime" are like the paper's in number and type
of columns and share of NULLs: 274 columns, 265 of them integers, most below 100, 16.1 % NULL; and 109 columns, 17
integers, texts and decimals, 55.2 % NULL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bench.data import files_of

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = ("lineitem", "acs", "ontime")
ROWS = {"acs": 910_000, "ontime": 1_000_000}
PART = 50_000
WORDS = ("AA", "DL", "UA", "WN", "ORD", "ATL", "DFW", "LAX", "Chicago, IL", "Atlanta, GA", "N", "", "20170113")


def lineitem(scale: float) -> Iterator[pa.Table]:
    import inlay

    with inlay.connect() as connection:
        connection.execute(f"CALL tpch_dbgen(sf := {scale:g})")
        yield connection.execute("FROM lineitem").arrow()


def parts(rows: int) -> Iterator[tuple[int, int]]:
    for first in range(0, rows, PART):
        yield first, min(PART, rows - first)


def acs(rows: int) -> Iterator[pa.Table]:
    import numpy as np
    import pyarrow as pa

    for first, count in parts(rows):
        source = np.random.default_rng(first)
        columns = {"serialno": pa.array(np.arange(first, first + count, dtype="i4"))}
        for number in range(1, 265):
            # Weights and codes below 100; one in eight is an amount of money.
            limit = 100_000 if number % 8 == 0 else 100
            values = source.integers(0, limit, count, dtype="i4")
            if number % 10 == 1:
                # Regions and years, by which the rows are sorted.
                values = (np.arange(first, first + count) // 5000).astype("i4")
            columns[f"c{number}"] = pa.array(values, mask=source.random(count) < (0.0 if number % 3 else 0.5))
        for number in range(9):
            values = np.array(["00", "0100US", "b", "bb", "1", "N"], dtype=object)[source.integers(0, 6, count)]
            columns[f"t{number}"] = pa.array(values, type=pa.string())
        yield pa.table(columns)


def ontime(rows: int) -> Iterator[pa.Table]:
    import numpy as np
    import pyarrow as pa

    for first, count in parts(rows):
        source = np.random.default_rng(first)
        columns = {"flight": pa.array(np.arange(first, first + count, dtype="i4"))}
        for number in range(1, 17):
            # Dates, carriers and airlines come in order.
            values = source.integers(0, 3000, count) if number > 6 else np.arange(first, first + count) // 2000
            columns[f"i{number}"] = pa.array(values.astype("i4"))
        words = np.array(WORDS, dtype=object)
        for number in range(92):
            # The columns of diverted flights are NULL but for one in two hundred.
            mask = source.random(count) < (0.995 if number % 20 < 12 else 0.15)
            if number % 2:
                places = (
                    source.integers(0, len(words), count) if number % 4 == 3 else np.arange(count) // 700 % len(words)
                )
                columns[f"t{number}"] = pa.array(words[places], pa.string(), mask=mask)
            else:
                columns[f"d{number}"] = pa.array(np.round(source.normal(10, 40, count), 0), mask=mask)
        yield pa.table(columns)


def files(scale: float) -> dict[str, Path]:
    """The Parquet files, made when they are missing."""

    def make() -> Iterable[tuple[str, Iterable[pa.Table]]]:
        yield "lineitem", lineitem(scale)
        yield "acs", acs(int(ROWS["acs"] * scale))
        yield "ontime", ontime(int(ROWS["ontime"] * scale))

    return files_of(f"protocol-{scale:g}", TABLES, make)

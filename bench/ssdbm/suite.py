"""
Selection, projection, grouping and join into arrays of the host, from 10 MB to 10 GB.

After Lajus, Mühleisen: Efficient data management and statistics with zero-copy integration, SSDBM 2014. The table `r`
has four columns of 32-bit integers, 16 bytes a row; `s1` and `s10` have a row for every hundredth and tenth key of `r`.

The questions are the paper's, the grid is not: there, "project" has the three filters of "select", a grouping has 500
groups, every run is cold, and the host is R. Here, "project" has no filter, the grouping has 1,000 groups, runs are hot
after the first, and the host is Python; figures are not to be compared with the paper's.
"""

from __future__ import annotations

import contextlib
import functools
import tempfile
from pathlib import Path
from typing import Any

from bench.cases import Suite, timed
from bench.ssdbm.engines import ENGINES, QUERIES

BYTES_PER_ROW = 16
# SQLite takes minutes to load and to answer beyond; frames of 10 GB and their copies do not fit beside each other.
LARGEST = {"sqlite": 10, "pandas": 1000, "polars": 1000}


def tables(megabytes: int) -> dict[str, Any]:
    """The tables by name, the same ones for every engine."""
    import numpy as np
    import pyarrow as pa

    rows = megabytes * 1_000_000 // BYTES_PER_ROW
    random = np.random.default_rng(megabytes)
    r = pa.table(
        {
            "k": random.permutation(rows).astype("i4"),
            "g": random.integers(0, 1000, rows, dtype="i4"),
            "v": random.integers(0, 1_000_000, rows, dtype="i4"),
            "w": random.integers(0, 1_000_000, rows, dtype="i4"),
        }
    )

    def every(step: int) -> Any:
        keys = np.arange(0, rows, step, dtype="i4")
        return pa.table({"k": keys, "x": random.integers(0, 100, len(keys), dtype="i4")})

    return {"r": r, "s1": every(100), "s10": every(10)}


class MicroSession:
    """One engine, inside its process."""

    def __init__(self, engine: str, threads: int) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="ssdbm-")
        self.engine = ENGINES[engine](Path(self.folder.name) / "micro.db", threads)
        self.loaded = 0

    def version(self) -> str:
        return str(self.engine.version)

    def prepare(self, case: str) -> None:
        """Load the tables of the case's size unless they are there."""
        megabytes = size_of(case)
        if self.loaded != megabytes:
            self.engine.load(tables(megabytes))
            self.loaded = megabytes

    def run(self, case: str) -> tuple[float, float]:
        return timed(lambda: self.engine.answer(query_of(case)))

    def summary(self, case: str) -> dict[str, float]:
        """What the columns add up to."""
        return {name: float(array.astype("f8").sum()) for name, array in self.engine.answer(query_of(case)).items()}

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.engine.close()
        self.folder.cleanup()


def query_of(case: str) -> str:
    """The name of the query."""
    return case.partition(" of ")[0]


def size_of(case: str) -> int:
    """Megabytes."""
    return int(case.split()[-2])


def takes_part(engine: str, case: str, repetition: int) -> bool:
    """Whether an engine can be asked to wait for it."""
    return size_of(case) <= LARGEST.get(engine, 10_000) and (engine != "sqlite" or repetition < 3)


def suite(largest: int) -> Suite:
    """The suite up to a table of `largest` megabytes."""
    sizes = [megabytes for megabytes in (10, 100, 1000, 10_000) if megabytes <= largest]
    return Suite(
        name="ssdbm",
        title="Micro-benchmarks into host arrays",
        remarks="Inlay, DuckDB and SQLite hold a file, Polars and pandas frames. The table has four columns of "
        "32-bit integers.",
        engines=list(ENGINES),
        cases=[f"{query} of {megabytes} MB" for megabytes in sizes for query in QUERIES],
        shows_memory=True,
        session=functools.partial(MicroSession),
        takes_part=takes_part,
    )

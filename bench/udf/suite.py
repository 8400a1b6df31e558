"""
What does a function in Python cost: beside a built-in operator, called for parts, for rows, once, and on two threads?

N integers modulo 100, summed up. They are drawn from 0 to 2^31 - 1: none is negative, as the modulo of negative numbers
has another sign in SQL than in Python. Row-wise functions and SQLite get 1/256 of the rows, functions on one and two
threads 1/64: one computes in Python and runs in worker processes, the other in NumPy, on threads of the query.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bench.cases import Suite, timed
from bench.page import medians
from bench.udf.engines import ENGINES, QUERIES

if TYPE_CHECKING:
    from bench.cases import Measured

ROWS = 256_000_000
# Of the rows, what functions of rows are asked about.
SHARE = 256
PART = 16_000_000
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
PER_CALL = ("no function", "arguments", "arguments and result")
# What a function of either kind is asked about, of the rows.
SHARE_OF_TWO = 64
TWO = ("lock held", "lock released")
# What engines do not have, or what would take hours.
BY_THREADS = tuple(query for query in QUERIES if query.startswith(TWO))
OF_DUCKDB = tuple(query for query in QUERIES if query not in BY_THREADS)
LARGE = {
    "inlay": QUERIES,
    "duckdb": OF_DUCKDB,
    "numpy": ("built-in", "no function", "arguments and result", *BY_THREADS),
}
SMALL = {"inlay": QUERIES, "duckdb": OF_DUCKDB, "numpy": ("built-in",), "sqlite": ("built-in", "function of rows")}


def numbers(rows: int) -> Iterator[Any]:
    """The column, in parts."""
    import numpy as np

    random = np.random.default_rng(rows)
    for start in range(0, rows, PART):
        yield random.integers(0, 2**31, min(PART, rows - start), dtype="i4")


class UdfSession:
    """One engine, inside its process."""

    def __init__(self, engine: str, threads: int) -> None:
        self.engine = ENGINES[engine](threads)
        self.loaded = -1

    def version(self) -> str:
        return str(self.engine.version)

    def prepare(self, case: str) -> None:
        """Load the column with the case's rows unless it is there."""
        if self.loaded != rows_of(case):
            self.engine.load(numbers(rows_of(case)))
            self.loaded = rows_of(case)

    def run(self, case: str) -> tuple[float, float]:
        return timed(lambda: self.engine.answer(query_of(case)))

    def summary(self, case: str) -> dict[str, float]:
        return {"sum": float(self.engine.answer(query_of(case)))}

    def close(self) -> None:
        self.engine.close()


def query_of(case: str) -> str:
    """The name of the query."""
    return case.partition(", ")[0]


def rows_of(case: str) -> int:
    """How many rows it is about."""
    return int(case.partition(", ")[2].removesuffix(" rows").replace(",", ""))


def takes_part(rows: int, engine: str, case: str, repetition: int) -> bool:
    """Whether an engine has such a thing, and can be asked to wait for it."""
    few = rows_of(case) <= max(rows // SHARE, 1)
    known = set(LARGE.get(engine, ())) | (set(SMALL.get(engine, ())) if few else set())
    return query_of(case) in known and (engine != "sqlite" or repetition < 3)


def conclusions(rows: int, suite: Suite, results: Mapping[str, Measured]) -> list[str]:
    """What functions of rows come to for all rows, and what a call costs beyond the same query without it."""
    values = medians(suite, results)
    few = max(rows // SHARE, 1)
    lines = []
    for query in TWO:
        one, two = (
            named(f"{query} on {threads}", max(rows // SHARE_OF_TWO, 1)) for threads in ("1 thread", "2 threads")
        )
        for engine in ("inlay", "numpy"):
            times = values.get(engine, {})
            if one in times and two in times and (engine, query) != ("numpy", TWO[0]):
                lines.append(
                    f"- {engine}, {query}: two threads are {times[one] / times[two]:.2f} times as fast as one."
                )
    for engine, times in values.items():
        for query in ("built-in", "function of rows"):
            if (case := named(query, few)) in times and named(query, rows) not in times:
                scaled = times[case] * rows / few
                lines.append(f"- {engine}, {query}: scaled from {few:,} to {rows:,} rows it is {scaled:,.1f} s.")
    for engine in ("inlay", "duckdb"):
        times = values.get(engine, {})
        for size in SIZES:
            cases = [named(query, size) for query in PER_CALL]
            if all(case in times for case in cases):
                plain, arguments, both = (times[case] for case in cases)
                lines.append(
                    f"- {engine}, {size:,} rows: the function adds {1e6 * (arguments - plain):,.1f} us with arguments "
                    f"alone ({1e9 * (arguments - plain) / size:.3f} ns a row), {1e6 * (both - plain):,.1f} us with an "
                    f"array as result ({1e9 * (both - plain) / size:.3f} ns a row)."
                )
    return [*lines, ""] if lines else []


def named(query: str, rows: int) -> str:
    """The name of a case."""
    return f"{query}, {rows:,} rows"


def suite(rows: int) -> Suite:
    """The suite with a column of so many rows."""
    few = max(rows // SHARE, 1)
    cases = [named(query, rows) for query in ("built-in", "vectorised function")]
    cases += [named(query, few) for query in ("built-in", "vectorised function", "function of rows")]
    cases += [named(query, max(rows // SHARE_OF_TWO, 1)) for query in BY_THREADS]
    cases += [named(query, size) for size in SIZES if size <= rows for query in PER_CALL]
    return Suite(
        name="udf",
        title="Functions in Python",
        remarks="A column of 32-bit integers from 0 to 2^31 - 1, none negative, in memory, modulo 100 and summed up. "
        "NumPy works on one thread but where two are named and the lock is released: that is what two threads are "
        "worth. Inlay's functions of one call (`arguments`, `arguments and result`) are given "
        "the whole column at once; DuckDB's Arrow functions are given up to 2,048 rows.",
        engines=list(ENGINES),
        cases=list(dict.fromkeys(cases)),
        session=functools.partial(UdfSession),
        takes_part=functools.partial(takes_part, rows),
        conclusions=functools.partial(conclusions, rows),
    )

"""Single rows of a table of a million: by key, by a second index, written in a transaction, and beside other threads.

A figure is the time of one operation from Python, with parameters, until its rows are Python's. Operations that write
do so within a transaction that is rolled back untimed.
"""

from __future__ import annotations

import contextlib
import functools
import random
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from bench.cases import Suite
from bench.data import files_of, scratch
from bench.points.engines import ENGINES, ask

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1_000_000
BATCH, READERS, WRITERS, HEAVY = 1_000, 6, 2, 8
MIXED_SECONDS = 1.0
BY_KEY = "SELECT id, place, name, amount FROM points WHERE id = ?"
BY_KEYS = f"SELECT id, amount FROM points WHERE id IN ({', '.join('?' * BATCH)})"
RANGE = "SELECT id, place, amount FROM points WHERE place BETWEEN ? AND ?"
INSERT = "INSERT INTO points VALUES (?, ?, ?, ?)"
UPDATE = "UPDATE points SET amount = ? WHERE id = ?"
DELETE = "DELETE FROM points WHERE id = ?"
HEAVY_QUERY = (
    "SELECT place % 1000 AS g, count(*) AS n, sum(amount) AS s, max(name) AS m "
    "FROM points GROUP BY g ORDER BY s LIMIT 10"
)

# Operations of one run, by case: as many as take the slowest engine about a second at most.
COUNTS = {
    "SELECT 1": 1_000,
    "by key": 1_000,
    "1,000 keys": 5,
    "INSERT in a transaction": 500,
    "UPDATE in a transaction": 500,
    "DELETE in a transaction": 500,
    "range of 10": 300,
    "range of 100": 100,
    "range of 1,000": 30,
}
MIXED = ("by key, 8 threads of which 2 write", "UPDATE, 8 threads of which 2 write")
BESIDE = "by key beside 8 heavy queries, p99"


def points(rows: int) -> Iterable[tuple[str, Iterable[pa.Table]]]:
    """The table."""
    import numpy as np
    import pyarrow as pa

    source = np.random.default_rng(rows)
    ids = np.arange(rows, dtype="i4")
    columns = {
        "id": ids,
        "place": source.permutation(rows).astype("i4"),
        "name": pa.array([f"name {number}" for number in source.integers(0, rows, rows)]),
        "amount": np.round(source.random(rows) * 1000, 2),
    }
    yield "points", [pa.table(columns)]


class PointsSession:
    """One engine, inside its process."""

    def __init__(self, engine: str, threads: int, *, source: Path, rows: int) -> None:
        self.folder = scratch("points-")
        self.rows = rows
        self.engine = ENGINES[engine](Path(self.folder.name) / "points.db", threads)
        self.engine.load(source)
        self.random = random.Random(1)

    def version(self) -> str:
        return str(self.engine.version)

    def prepare(self, case: str) -> None:
        """Take the first connection, which is warm after one run."""
        self.random = random.Random(case)

    def run(self, case: str) -> tuple[float, float]:
        if case in MIXED:
            reads, writes = self.mixed(READERS, WRITERS)
            return median(reads if case == MIXED[0] else writes), 0.0
        if case == BESIDE:
            return self.beside(), 0.0
        return self.repeated(case)[0], 0.0

    def summary(self, case: str) -> dict[str, float]:
        """What one run found, from the same random numbers in every engine."""
        if case in MIXED or case == BESIDE:
            return {"rows": float(ask(self.engine.connection, "SELECT count(*) FROM points")[0][0])}
        _, sums = self.repeated(case)
        return {str(position): value for position, value in enumerate(sums)}

    def repeated(self, case: str) -> tuple[float, list[float]]:
        """Seconds of an operation, the mean over many, and what the first columns of its rows add up to."""
        connection, count = self.engine.connection, COUNTS[case]
        operation = self.operation(case, connection)
        values = [self.values(case, number) for number in range(count)]
        writes = case.endswith("transaction")
        if writes:
            connection.execute("BEGIN")
        start = time.perf_counter()
        found = [operation(value) for value in values]
        seconds = (time.perf_counter() - start) / count
        if writes:
            found = [ask(connection, "SELECT count(*), sum(amount), sum(id) FROM points")]
            connection.execute("ROLLBACK")
        rows = [row for part in found for row in part]
        return seconds, [float(len(rows)), *(sum(float(row[column]) for row in rows) for column in numeric(rows))]

    def operation(self, case: str, connection: Any) -> Callable[[Any], Any]:
        """What is repeated, of the values that it takes."""
        if case.endswith("transaction"):
            text = {"INSERT": INSERT, "UPDATE": UPDATE, "DELETE": DELETE}[case.split()[0]]
            return lambda values: connection.execute(text, values)
        text = {"SELECT 1": "SELECT 1", "by key": BY_KEY, "1,000 keys": BY_KEYS}.get(case, RANGE)
        return lambda values: ask(connection, text, values)

    def values(self, case: str, number: int) -> list[Any]:
        """Parameters of one operation."""
        key = self.random.randrange(self.rows)
        if case == "SELECT 1":
            return []
        if case == "1,000 keys":
            return self.random.sample(range(self.rows), min(BATCH, self.rows))
        if case.startswith("range"):
            width = int(case.split()[-1].replace(",", ""))
            first = self.random.randrange(self.rows - width)
            return [first, first + width - 1]
        if case.startswith("INSERT"):
            return [self.rows + number, key, f"new {number}", number / 7]
        return [number / 7, key] if case.startswith("UPDATE") else [key]

    def mixed(self, readers: int, writers: int) -> tuple[list[float], list[float]]:
        """Seconds of each operation of threads that read and of threads that write, each rows of its own."""
        end = time.perf_counter() + MIXED_SECONDS
        reads: list[float] = []
        writes: list[float] = []
        failures: list[str] = []

        # Other values in each run: SQLite writes nothing when a row stays as it is.
        seed = self.random.random()

        def work(place: int) -> None:
            source = random.Random(seed + place)
            connection = self.engine.another()
            try:
                while time.perf_counter() < end:
                    start = time.perf_counter()
                    if place < writers:
                        key = source.randrange(self.rows // writers) * writers + place
                        connection.execute(UPDATE, [source.random(), key])
                        writes.append(time.perf_counter() - start)
                    else:
                        ask(connection, BY_KEY, [source.randrange(self.rows)])
                        reads.append(time.perf_counter() - start)
            except Exception as problem:
                failures.append(f"{type(problem).__name__}: {problem}")
            finally:
                connection.close()

        together([functools.partial(work, place) for place in range(readers + writers)])
        if failures:
            raise RuntimeError(failures[0])
        return reads, writes

    def beside(self) -> float:
        """The 99th percentile of lookups by key while eight threads scan and group."""
        ended = threading.Event()
        seconds: list[float] = []

        def heavy() -> None:
            connection = self.engine.another()
            while not ended.is_set():
                ask(connection, HEAVY_QUERY)
            connection.close()

        def light() -> None:
            connection = self.engine.another()
            time.sleep(0.2)
            end = time.perf_counter() + 2 * MIXED_SECONDS
            while time.perf_counter() < end:
                start = time.perf_counter()
                ask(connection, BY_KEY, [self.random.randrange(self.rows)])
                seconds.append(time.perf_counter() - start)
                time.sleep(0.001)
            ended.set()
            connection.close()

        together([light, *[heavy] * HEAVY])
        return quantiles(seconds, n=100)[-1] if len(seconds) > 1 else seconds[0]

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.engine.close()
        self.folder.cleanup()


def numeric(rows: list[tuple[Any, ...]]) -> list[int]:
    """Positions of the numbers of rows."""
    return [place for place, value in enumerate(rows[0]) if isinstance(value, int | float)] if rows else []


def together(works: list[Callable[[], None]]) -> None:
    """Run each in a thread, until all have ended."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def suite(rows: int) -> Suite:
    """The suite with a table of so many rows."""
    source = files_of(f"points-{rows}", ("points",), lambda: points(rows))["points"]
    return Suite(
        name="points" if rows == ROWS else f"points-{rows}",
        title=f"Single rows of {rows:,}, from Python",
        remarks="Each engine has a file, with a primary key and a second index; a commit is durable. A figure "
        "is the time of one operation: the mean of a run, for several threads the median, or the 99th percentile where "
        "it says so.",
        engines=list(ENGINES),
        cases=[*COUNTS, *MIXED, BESIDE],
        session=functools.partial(PointsSession, source=source, rows=rows),
    )

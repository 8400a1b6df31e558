"""Speed and space of databases in files. Each function measures one engine in a process of its own.

An answer is checked before its time or size counts: a measurement that finds a wrong one raises `WrongAnswer`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from bench.data import tpch_files
from bench.reliability.engines import Database, open_database, size_bytes
from bench.worker import status_kib
from tests.tpch.workload import QUERY_NUMBERS, SORT_KEYS, TABLES, Answer, difference, query_text, reference

UPDATE_ROWS, UPDATE_ROUNDS = 1_000_000, 100
INSERTS = 1_000
OPENINGS = 9
QUERY_REPETITIONS = 5


class WrongAnswer(Exception):  # noqa: N818
    """An engine's answer is not what it has to be, so that what it took does not count."""


@dataclass(frozen=True)
class Place:
    """Which engine, where its file lies, and how many threads it has."""

    engine: str
    folder: Path
    threads: int

    def path(self, name: str) -> Path:
        """A database file of this engine."""
        return self.folder / f"{name}.{self.engine}"

    def new(self, name: str) -> Path:
        """The path of a file that does not exist."""
        path = self.path(name)
        for old in path.parent.glob(path.name + "*"):
            old.unlink()
        return path

    def open(self, path: Path | str, memory_limit: str | None = None) -> Database:
        return open_database(self.engine, path, self.threads, memory_limit)


def expect(found: Any, expected: Any, what: str) -> None:
    """Raise unless an answer is right."""
    if found != expected:
        raise WrongAnswer(f"{what} is {found!r}, expected {expected!r}")


def seconds_of(work: Callable[[], Any]) -> float:
    """How long a call takes, without the garbage collector."""
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    del result
    gc.enable()
    return seconds


def load_lineitem(place: Place, scale: float) -> float:
    """Seconds to copy `lineitem` from an Arrow table into a new file, until its commit is durable."""
    import pyarrow.parquet as pq

    source = pq.read_table(tpch_files(scale)["lineitem"])
    path = place.new("load")
    database = place.open(path)
    database.register("source", source)
    seconds = seconds_of(lambda: database.execute("CREATE TABLE lineitem AS SELECT * FROM source"))
    database.close()
    database = place.open(path)
    totals = database.rows("SELECT count(*), sum(l_orderkey), sum(l_linenumber) FROM lineitem")[0]
    expected = (source.num_rows, *(sum_of(source.column(name)) for name in ("l_orderkey", "l_linenumber")))
    expect(tuple(map(int, totals)), expected, "count and sums after opening again")
    database.close()
    return seconds


def sum_of(column: Any) -> int:
    """Sum of an Arrow column."""
    import pyarrow.compute as pc

    return int(pc.sum(column).as_py())


def build_tpch(place: Place, scale: float) -> tuple[float, int]:
    """Build the file of all eight tables. Seconds, and bytes once it is checkpointed and closed."""
    path = place.new(f"tpch-sf{scale:g}")
    files = tpch_files(scale)
    start = time.perf_counter()
    database = place.open(path)
    for table in TABLES:
        database.execute(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{files[table]}')")
    database.execute("CHECKPOINT")
    database.close()
    seconds = time.perf_counter() - start
    import pyarrow.parquet as pq

    database = place.open(path)
    for table in TABLES:
        count = database.rows(f"SELECT count(*) FROM {table}")[0][0]
        expect(count, pq.read_metadata(files[table]).num_rows, f"count of {table}")
    database.close()
    return seconds, size_bytes(path)


def open_seconds(place: Place, scale: float) -> float:
    """Median seconds of opening the TPC-H file; what opened has to answer."""
    path = place.path(f"tpch-sf{scale:g}")
    taken = []
    for _ in range(OPENINGS):
        start = time.perf_counter()
        database = place.open(path)
        taken.append(time.perf_counter() - start)
        expect(database.rows("SELECT count(*) FROM nation")[0][0], 25, "count of nation")
        database.close()
    return median(taken)


def file_and_memory(place: Place, scale: float) -> tuple[float, float]:
    """Geometric means, in seconds, of the 22 queries from the warm file and in memory, taking turns in one process."""
    file, memory = place.open(place.path(f"tpch-sf{scale:g}")), place.open(":memory:")
    for table, path in tpch_files(scale).items():
        memory.execute(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{path}')")
    means: dict[str, list[float]] = {"file": [], "memory": []}
    for number in QUERY_NUMBERS:
        sql, expected = query_text(number), reference(number, scale)
        taken: dict[str, list[float]] = {"file": [], "memory": []}
        for database in (file, memory):
            if expected is not None:
                check_answer(number, expected, database.answer(sql))
        for _ in range(QUERY_REPETITIONS):
            for name, database in (("file", file), ("memory", memory)):
                taken[name].append(seconds_of(lambda database=database, sql=sql: database.run(sql)))  # type: ignore[misc]
        for name, seconds in taken.items():
            means[name].append(median(seconds))
    file.close()
    memory.close()
    return geometric_mean(means["file"]), geometric_mean(means["memory"])


def check_answer(number: int, expected: Answer, answer: Answer) -> None:
    """Raise when an answer to a TPC-H query differs."""
    found = difference(expected, answer.rows, SORT_KEYS[number])
    if found:
        raise WrongAnswer(f"Q{number} differs: {found}")


def insert_seconds(place: Place) -> float:
    """Seconds of a thousand inserts of one row each, every one committed durably."""
    path = place.new("insert")
    database = place.open(path)
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, value DOUBLE, text VARCHAR)")

    def insert() -> None:
        for number in range(INSERTS):
            database.execute("INSERT INTO t VALUES (?, ?, ?)", (number, number / 2, f"text {number}"))

    seconds = seconds_of(insert)
    database.close()
    database = place.open(path)
    found = database.rows("SELECT count(*), sum(id) FROM t")[0]
    expect(tuple(map(int, found)), (INSERTS, INSERTS * (INSERTS - 1) // 2), "count and sum after opening again")
    database.close()
    return seconds


def delete_ratio(place: Place, scale: float) -> float:
    """Size of a file after deleting half of its table and checkpointing, as a share of its size before."""
    path = place.new("delete")
    database = place.open(path)
    database.execute(f"CREATE TABLE lineitem AS SELECT * FROM read_parquet('{tpch_files(scale)['lineitem']}')")
    database.execute("CHECKPOINT")
    before, rows = size_bytes(path), database.rows("SELECT count(*) FROM lineitem")[0][0]
    gone = database.rows("SELECT count(*) FROM lineitem WHERE l_orderkey % 2 = 0")[0][0]
    database.execute("DELETE FROM lineitem WHERE l_orderkey % 2 = 0")
    database.execute("CHECKPOINT")
    after = size_bytes(path)
    database.close()
    database = place.open(path)
    expect(database.rows("SELECT count(*) FROM lineitem")[0][0], rows - gone, "rows left")
    database.close()
    return after / before


def update_ratio(place: Place) -> float:
    """Size of a file after a hundred updates of all rows and a checkpoint, as a multiple of its size before."""
    path = place.new("update")
    database = place.open(path)
    database.execute(f"CREATE TABLE t AS SELECT range AS id, range % 1000 AS value FROM range(0, {UPDATE_ROWS})")
    database.execute("CHECKPOINT")
    before, total = size_bytes(path), int(database.rows("SELECT sum(value) FROM t")[0][0])
    for _ in range(UPDATE_ROUNDS):
        database.execute("UPDATE t SET value = value + 1")
    database.execute("CHECKPOINT")
    after = size_bytes(path)
    database.close()
    database = place.open(path)
    found = int(database.rows("SELECT sum(value) FROM t")[0][0])
    expect(found, total + UPDATE_ROUNDS * UPDATE_ROWS, "sum after opening again")
    database.close()
    return after / before


def tpch_answers(place: Place, scale: float) -> dict[int, Answer]:
    """Answers to the 22 queries."""
    database = place.open(place.path(f"tpch-sf{scale:g}"))
    answers = {number: database.answer(query_text(number)) for number in QUERY_NUMBERS}
    database.close()
    return answers


def limited_run(place: Place, scale: float, limit: str, expected: dict[int, Answer]) -> tuple[float, int, list[str]]:
    """All queries under a memory limit: seconds, peak resident bytes of the process, and what went wrong by query."""
    database = place.open(place.path(f"tpch-sf{scale:g}"), limit)
    problems, seconds = [], 0.0
    for number in QUERY_NUMBERS:
        start = time.perf_counter()
        try:
            answer = database.answer(query_text(number))
        except Exception as problem:
            problems.append(f"Q{number}: {type(problem).__name__}: {problem}"[:200])
            continue
        seconds += time.perf_counter() - start
        found = difference(expected[number], answer.rows, SORT_KEYS[number])
        if found:
            problems.append(f"Q{number} differs: {found}")
    peak = status_kib(Path("/proc/self/status"), "VmHWM") * 1024
    database.close()
    return seconds, peak, problems

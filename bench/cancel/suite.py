"""How long a query goes on after it was cancelled at a random moment, over the queries of all suites.

A query runs in a thread; another calls `interrupt` at a moment drawn evenly from its duration, and the time until the
first thread has its error is the latency. A query that ended before is asked again. The worst repetition counts.
Statements that change or write much (`changes`) run in a database in a file; each finds it as the first did.
"""

from __future__ import annotations

import contextlib
import functools
import random
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.cancel.changes import CHANGES, Change
from bench.cases import Measured, Suite
from bench.clickbench import suite as clickbench
from bench.clickbench.queries import queries as clickbench_queries
from bench.data import tpcds_files, tpch_files
from bench.engines import adapter_module
from bench.groupjoin import suite as groupjoin
from bench.ssb import suite as ssb
from bench.ssb.queries import QUERIES as SSB
from tests.tpcds import workload as tpcds
from tests.tpch import workload as tpch

ENGINES = ("inlay", "duckdb")
DURATION_MAX = 20.0
ATTEMPTS = 10
# Below, a query ends on its own before a thread can cancel it.
DURATION_MIN = 0.002


@dataclass(frozen=True)
class Source:
    """The tables and queries of one suite."""

    files: Mapping[str, Path]
    queries: Mapping[str, str]
    changes: Mapping[str, Change] = field(default_factory=dict)


class CancelSession:
    """One engine, inside its process, with the tables of one suite at a time."""

    def __init__(self, engine: str, threads: int, *, sources: Mapping[str, Source]) -> None:
        self.engine, self.threads, self.sources = engine, threads, sources
        self.adapter = adapter_module(engine).Adapter(threads)
        self.loaded = ""
        self.folder = tempfile.TemporaryDirectory(prefix="bench-cancel-")
        self.random = random.Random(1)
        self.duration = 0.0

    def version(self) -> str:
        return str(self.adapter.version())

    def prepare(self, case: str) -> None:
        """Load the suite's tables unless they are there; run the query once to know how long it takes."""
        name = case.split()[0]
        if self.loaded != name:
            self.adapter.close()
            path = Path(self.folder.name) / "changes.db" if self.sources[name].changes else None
            self.adapter = adapter_module(self.engine).Adapter(self.threads, path)
            self.adapter.load(self.sources[name].files)
            self.loaded = name
        ended, _ = self.interrupted(case, DURATION_MAX)
        self.duration = max(min(ended, DURATION_MAX), DURATION_MIN)

    def run(self, case: str) -> tuple[float, float]:
        duration = self.duration
        for _ in range(ATTEMPTS):
            _, latency = self.interrupted(case, self.random.random() * duration)
            if latency is not None:
                return latency, 0.0
            duration *= 0.8
        return 0.0, 0.0

    def interrupted(self, case: str, moment: float) -> tuple[float, float | None]:
        """Seconds until the query ended, and of them those after it was cancelled; None when it was not."""
        name, query = case.split(maxsplit=1)
        change = self.sources[name].changes.get(query)
        if change is None:
            return self.ended(functools.partial(self.adapter.query, self.sources[name].queries[query]), moment)
        for statement in change.before:
            self.execute(statement)
        try:
            return self.ended(functools.partial(self.execute, change.statement), moment)
        finally:
            for statement in change.after:
                with contextlib.suppress(Exception):
                    self.execute(statement)

    def execute(self, statement: str) -> None:
        self.adapter.connection.execute(statement.replace("{folder}", self.folder.name))

    def ended(self, query: Callable[[], object], moment: float) -> tuple[float, float | None]:
        """As `interrupted`, of work that can be done."""
        started, ended = threading.Event(), threading.Event()
        problems: list[BaseException] = []

        def work() -> None:
            started.set()
            try:
                query()
            except BaseException as problem:
                problems.append(problem)
            ended.set()

        thread = threading.Thread(target=work)
        start = time.perf_counter()
        thread.start()
        started.wait()
        if ended.wait(moment):
            thread.join()
            if problems:
                raise problems[0]
            return time.perf_counter() - start, None
        cancelled = time.perf_counter()
        self.adapter.connection.interrupt()
        thread.join()
        end = time.perf_counter()
        return end - start, end - cancelled if problems else None

    def summary(self, _case: str) -> dict[str, float]:
        """Nothing: no query has an answer."""
        return {}

    def close(self) -> None:
        self.adapter.close()
        self.folder.cleanup()


def sources(scale: float, rows: int) -> dict[str, Source]:
    """The suites whose queries are cancelled."""
    grouped = {name: query.text for name, query in groupjoin.queries().items()}
    clicks = {name: query.text for name, query in clickbench_queries(rows).items()}
    return {
        "tpch": Source(tpch_files(scale), {f"Q{n}": tpch.query_text(n) for n in tpch.QUERY_NUMBERS}),
        "tpcds": Source(tpcds_files(scale), {f"Q{n}": tpcds.query_text(n) for n in tpcds.QUERY_NUMBERS}),
        "ssb": Source(ssb.files(scale), SSB),
        "groupjoin": Source(groupjoin.files(rows), grouped),
        "clickbench": Source(clickbench.files(rows), clicks),
        "changes": Source(tpch_files(scale), {}, CHANGES),
    }


def worst(_suite: Suite, results: Mapping[str, Measured]) -> list[str]:
    """The worst latency of each engine over all queries, and whose it was."""
    lines = []
    for name, result in results.items():
        by_case = {case: max(seconds) for case, seconds in result.seconds.items() if seconds}
        if by_case:
            case = max(by_case, key=by_case.__getitem__)
            lines.append(f"Worst of {name}: {by_case[case] * 1e3:.0f} ms ({case}).")
    return lines


def suite(scale: float, rows: int) -> Suite:
    """The suite at a scale of TPC-H, TPC-DS and SSB, and a number of rows of the others."""
    found = sources(scale, rows)
    return Suite(
        name="cancel",
        title="From a cancellation until the query has ended",
        remarks=f"TPC-H, TPC-DS and SSB at scale {scale:g}, the others with {rows:,} rows, in memory; "
        "`changes` on the tables of TPC-H in a file. A figure is "
        "the worst of the repetitions, each cancelled at a random moment.",
        engines=ENGINES,
        cases=[f"{name} {query}" for name, source in found.items() for query in (*source.queries, *source.changes)],
        session=functools.partial(CancelSession, sources=found),
        typical=max,
        conclusions=worst,
        patience=120.0,
    )

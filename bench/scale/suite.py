"""TPC-H with one and with two threads, and under memory limits, at several scales.

Cases with threads run on tables in memory, one thread and two in turns, each after a run that is not timed; those with
a limit in a new process on a file, with the most that its memory grew by. Below the table stand the speed-up from one
thread to two and the memory beyond the limit.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from bench.answers import digest
from bench.cases import Measured, Suite, timed
from bench.data import scratch, tpch_files
from bench.engines import adapter_module
from bench.fresh import ENGINES, make_file, run_fresh
from bench.scale.busy import Busy
from bench.sql import Query, differs
from tests.tpch.workload import QUERY_NUMBERS, query_text

SCALES = (0.1, 1.0)
LIMITS_MB = (200, 500, 2000)
BEYOND_MAX_MIB = 64
QUICK_SECONDS = 0.020
BUSY = 0


class ScaleSession:
    """One engine, inside its process, with the tables or the file of one scale at a time."""

    def __init__(self, engine: str, _threads: int, *, files: Mapping[float, Mapping[str, Path]]) -> None:
        self.engine, self.files = engine, files
        self.folder = scratch("scale-")
        self.adapter: Any = None
        self.loaded = self.written = 0.0
        self.busy: Busy | None = None

    def version(self) -> str:
        return str(__import__(self.engine).__version__)

    def prepare(self, case: str) -> None:
        """Load tables or write the file of the case's scale."""
        scale, number, threads, limit = parts(case)
        if number == BUSY:
            self.busy = self.busy or Busy()
            return
        if limit:
            self.drop()
            if self.written != scale:
                for left in self.path().parent.glob(f"{self.path().name}*"):
                    left.unlink()
                make_file(self.engine, self.path(), dict(self.files[scale]), 2)
                self.written = scale
            return
        if self.loaded != scale:
            self.drop()
            self.adapter = adapter_module(self.engine).Adapter(threads)
            self.adapter.load(self.files[scale])
            self.loaded = scale

    def path(self) -> Path:
        """The database file."""
        return Path(self.folder.name) / f"tpch.{self.engine}"

    def drop(self) -> None:
        """Give back the tables in memory."""
        if self.adapter is not None:
            self.adapter.close()
        self.adapter, self.loaded = None, 0.0

    def run(self, case: str) -> tuple[float, float]:
        _, number, threads, limit = parts(case)
        if self.busy and number == BUSY:
            seconds, peak = timed(functools.partial(self.busy.run, threads))
            return seconds / threads, peak
        if not limit:
            self.summary(case)
            return timed(lambda: self.adapter.query(query_text(number)))
        found = run_fresh(self.engine, self.path(), query_text(number), threads, memory_limit=f"{limit}MB")
        return found["seconds"], found["peak"]

    def summary(self, case: str) -> Any:
        _, number, threads, limit = parts(case)
        if self.busy and number == BUSY:
            return digest([(result,) for result in self.busy.run(1)])
        if not limit:
            self.adapter.connection.execute(f"SET threads = {threads}")
            return digest(self.adapter.query(query_text(number)))
        found = run_fresh(self.engine, self.path(), query_text(number), threads, memory_limit=f"{limit}MB")
        return digest([(found["rows"],)])

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.drop()
        if self.busy:
            self.busy.close()
        self.folder.cleanup()


def named(scale: float, number: int, threads: int, limit: int = 0) -> str:
    """The name of a case."""
    end = f"{limit} MB" if limit else f"{threads} thread{'s' if threads > 1 else ''}"
    return f"SF {scale:g} Q{number} {end}"


def parts(case: str) -> tuple[float, int, int, int]:
    """Scale, query, threads, and the limit in MB or 0."""
    _, scale, query, amount, unit = case.split()
    limit = int(amount) if unit == "MB" else 0
    return float(scale), int(query[1:]), 2 if limit else int(amount), limit


def group(case: str) -> str:
    """Cases that differ in their threads alone."""
    scale, number, _, limit = parts(case)
    return named(scale, number, 0, limit)


def conclusions(suite: Suite, results: Mapping[str, Measured]) -> list[str]:
    """Speed-ups and memory beyond the limit, by engine."""
    lines = []
    for name, result in results.items():
        lines += speed_ups(suite, name, result) + beyond_limit(suite, name, result)
    return lines


def speed_ups(suite: Suite, name: str, result: Measured) -> list[str]:
    """How much faster two threads are, over queries that take one thread longer than 20 ms.

    By medians, and by the least times, which neighbours on the machine disturb less.
    """
    found: dict[float, dict[int, tuple[float, float]]] = {}
    for case in suite.cases:
        scale, number, threads, limit = parts(case)
        one = result.seconds.get(named(scale, number, 1))
        if not limit and threads == 2 and one and case in result.seconds and median(one) > QUICK_SECONDS:
            two = result.seconds[case]
            found.setdefault(scale, {})[number] = (median(one) / median(two), min(one) / min(two))
    lines = []
    for scale, ratios in found.items():
        busy = ratios.pop(BUSY, None)
        ordered = sorted(ratios.items(), key=lambda item: item[1])
        each = ", ".join(f"Q{number} {middle:.2f} ({least:.2f})" for number, (middle, least) in ordered)
        if busy:
            each += f"; a loop in two processes {busy[0]:.2f} ({busy[1]:.2f})"
        if not ratios:
            continue
        both = [geometric_mean(values) for values in zip(*ratios.values(), strict=True)]
        lines.append(
            f"- {name}, SF {scale:g}: two threads are {both[0]:.2f} times as fast by medians, "
            f"{both[1]:.2f} by the least times: {each}"
        )
    return lines


def beyond_limit(suite: Suite, name: str, result: Measured) -> list[str]:
    """Memory beyond each limit, the most over all queries."""
    found: dict[tuple[float, int], list[tuple[float, int]]] = {}
    for case in suite.cases:
        scale, number, _, limit = parts(case)
        if limit and case in result.peaks:
            beyond = max(result.peaks[case]) / 2**20 - limit * 1e6 / 2**20
            found.setdefault((scale, limit), []).append((beyond, number))
    return [
        f"- {name}, SF {scale:g}, {limit} MB: at most {max(values)[0]:+.0f} MiB beyond the limit (Q{max(values)[1]}), "
        f"{sum(beyond > BEYOND_MAX_MIB for beyond, _ in values)} of {len(values)} more than {BEYOND_MAX_MIB} MiB"
        for (scale, limit), values in found.items()
    ]


def suite(scales: Sequence[float] | None, limits: Sequence[int] | None) -> Suite:
    """The suite at some scales and limits."""
    scales, limits = scales or SCALES, LIMITS_MB if limits is None else limits
    numbers = [BUSY, *QUERY_NUMBERS]
    cases = [named(scale, number, threads) for scale in scales for number in numbers for threads in (1, 2)]
    cases += [named(scale, number, 2, limit) for scale in scales for limit in limits for number in QUERY_NUMBERS]
    return Suite(
        name="scale",
        title="TPC-H with one and two threads, and under memory limits",
        remarks="Threads: tables in memory, hot. Limits: a new process on a file, opening it included.",
        engines=ENGINES,
        cases=cases,
        session=functools.partial(ScaleSession, files={scale: tpch_files(scale) for scale in scales}),
        group=group,
        is_control=lambda case: parts(case)[1] == BUSY,
        difference=functools.partial(differs, {case: Query("") for case in cases}),
        conclusions=conclusions,
        shows_memory=True,
    )

"""The questions of db-benchmark from a file, each in a new process under a memory limit; the answer is made a table.

The transaction that makes the table is rolled back, so that each question meets the same file.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from bench.answers import digest
from bench.cases import Measured, Suite
from bench.data import scratch
from bench.fresh import ENGINES, make_file, run_fresh
from bench.groupjoin.suite import files, named, queries
from bench.scale.suite import BEYOND_MAX_MIB
from bench.sql import Query, differs

SECONDS_MAX = 1800.0


class LimitedSession:
    """One engine, with its file."""

    def __init__(self, engine: str, threads: int, *, files: Mapping[str, Path]) -> None:
        self.engine, self.threads, self.queries = engine, threads, queries()
        self.folder = scratch("groupjoin-")
        self.path = Path(self.folder.name) / f"groupjoin.{engine}"
        make_file(engine, self.path, dict(files), threads)

    def version(self) -> str:
        return str(__import__(self.engine).__version__)

    def prepare(self, case: str) -> None:
        """Nothing: the file is there."""

    def asked(self, case: str) -> dict[str, Any]:
        """What a new process found."""
        question, limit = parts(case)
        query = self.queries[question]
        return run_fresh(
            self.engine,
            self.path,
            query.of(self.engine),
            self.threads,
            memory_limit=f"{limit}MB",
            check=query.check or "",
            seconds_max=SECONDS_MAX,
        )

    def run(self, case: str) -> tuple[float, float]:
        found = self.asked(case)
        return found["seconds"], found["peak"]

    def summary(self, case: str) -> Any:
        """What the answer adds up to."""
        return digest([tuple(self.asked(case)["found"])])

    def close(self) -> None:
        self.folder.cleanup()


def parts(case: str) -> tuple[str, int]:
    """The question and the limit in MB."""
    question, limit = case.rsplit(", ", 1)
    return question, int(limit.split()[0])


def conclusions(suite: Suite, results: Mapping[str, Measured]) -> list[str]:
    """Memory beyond the limit, and Inlay's time relative to DuckDB's."""
    lines = []
    for name, result in results.items():
        beyond = {
            case: max(peaks) / 2**20 - parts(case)[1] * 1e6 / 2**20 for case, peaks in result.peaks.items() if peaks
        }
        if beyond:
            worst = max(beyond, key=lambda case: beyond[case])
            count = sum(value > BEYOND_MAX_MIB for value in beyond.values())
            lines.append(
                f"- {name}: {len(result.seconds)} of {len(suite.cases)} questions answered; at most "
                f"{beyond[worst]:+.0f} MiB beyond the limit ({worst}), {count} more than {BEYOND_MAX_MIB} MiB"
            )
    if set(ENGINES) <= set(results):
        own, peer = (results[name].seconds for name in ENGINES)
        ratios = {case: median(own[case]) / median(peer[case]) for case in suite.cases if case in own and case in peer}
        if ratios:
            worst = max(ratios, key=lambda case: ratios[case])
            lines.append(
                f"- Inlay / DuckDB: geometric mean {geometric_mean(ratios.values()):.2f}, "
                f"worst {ratios[worst]:.2f} ({worst})"
            )
    return lines


def suite(rows: int, limits: Sequence[int]) -> Suite:
    """The suite with `rows` rows, under limits in MB."""
    cases = [f"{question}, {limit} MB" for limit in limits for question in queries()]
    return Suite(
        name=f"{named(rows)}-limited",
        title=f"db-benchmark, {rows:,} rows from a file, under memory limits, answer kept in the engine",
        remarks="A new process for each question, opening the file included; the answer becomes a table of the file.",
        engines=ENGINES,
        cases=cases,
        session=functools.partial(LimitedSession, files=files(rows)),
        difference=functools.partial(differs, {case: Query("") for case in cases}),
        conclusions=conclusions,
        shows_memory=True,
        seconds_max=SECONDS_MAX,
    )

"""Suites whose cases are SQL queries over the same Parquet files in every engine.

A suite gives its queries by the name of the case, and the files by the name of the table. An engine loads the files
into tables in memory; each query is answered once and compared, then timed until its result is in the client, or, for a
suite whose answers are kept, until the result is a table of the engine.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import estimates
from bench.answers import PEER_TOLERANCE, TOLERANCE, difference, digest
from bench.cases import Measured, Suite, timed
from bench.engines import ALL, adapter_module
from bench.estimates import Errors

STRICT = ("inlay", "inlay_indexed", "duckdb")


@dataclass(frozen=True)
class Query:
    """One case."""

    text: str
    # What is compared in its place: a query without the LIMIT that cuts ties, or sums over the table `answer`.
    check: str | None = None
    # Positions of what the answer is ordered by before LIMIT cuts, see `bench.answers.difference`.
    keys: tuple[int, ...] | None = None
    # Other texts, by engine, and why an engine is left out.
    dialects: Mapping[str, str] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)

    def of(self, engine: str) -> str:
        """The text for an engine."""
        return self.dialects.get(engine, self.text)


class SqlSession:
    """One engine, inside its process."""

    def __init__(
        self,
        engine: str,
        threads: int,
        *,
        files: Mapping[str, Path],
        queries: Mapping[str, Query],
        kept: bool = False,
        frames: str = "",
    ) -> None:
        self.engine, self.queries, self.kept = engine, queries, kept
        self.frames = importlib.import_module(frames).QUERIES if frames and engine == "polars" else {}
        self.adapter = adapter_module(engine).Adapter(threads)
        self.adapter.load(files)

    def version(self) -> str:
        return str(self.adapter.version())

    def prepare(self, case: str) -> None:
        """Nothing: the tables are loaded."""

    def answer(self, case: str) -> Any:
        """The result in the client, or None when it is kept."""
        if case in self.frames:
            return self.adapter.formulated(self.frames[case], kept=self.kept)
        text = self.queries[case].of(self.engine)
        return self.adapter.keep(text) if self.kept else self.adapter.query(text)

    def run(self, case: str) -> tuple[float, float]:
        if self.kept:
            self.adapter.forget()
        return timed(lambda: self.answer(case))

    def summary(self, case: str) -> Any:
        """The answer in plain values; of one that is kept, what it adds up to."""
        query = self.queries[case]
        if self.kept:
            self.adapter.forget()
            self.answer(case)
            return digest(self.adapter.query(query.check or "SELECT count(*) AS n FROM answer"))
        if query.check is None or case in self.frames:
            return digest(self.answer(case))
        return digest(self.adapter.query(query.check))

    def q_errors(self, case: str) -> Errors:
        """Of Inlay's plan."""
        return estimates.q_errors(self.adapter.connection, self.queries[case].of(self.engine))

    def close(self) -> None:
        self.adapter.close()


def differs(queries: Mapping[str, Query], engine: str, case: str, found: Any, expected: Any) -> str | None:
    """Inlay's answer has to be DuckDB's; a peer's may have fewer digits."""
    tolerance = TOLERANCE if engine in STRICT else PEER_TOLERANCE
    query = queries[case]
    return difference(found, expected, query.keys, tolerance, offset=" OFFSET " in query.text)


def left_out(queries: Mapping[str, Query], engine: str, case: str) -> str:
    """Why an engine does not answer a case."""
    return queries[case].without.get(engine, "")


def conclusions(_suite: Suite, results: Mapping[str, Measured]) -> list[str]:
    """How wrong Inlay's estimates were."""
    return estimates.lines(results["inlay"].q_errors) if "inlay" in results else []


def no_conclusions(_suite: Suite, _results: Mapping[str, Measured]) -> list[str]:
    """Nothing."""
    return []


def sql_suite(
    name: str,
    title: str,
    remarks: str,
    files: Mapping[str, Path],
    queries: Mapping[str, Query],
    *,
    engines: Sequence[str] = ALL,
    kept: bool = False,
    frames: str = "",
    seconds_max: float = 120.0,
    shows_estimates: bool = False,
    worst_first: bool = False,
) -> Suite:
    """A suite of queries. `frames` names a module with Polars' own formulations of some cases."""
    return Suite(
        name=name,
        title=title,
        remarks=remarks,
        engines=engines,
        cases=list(queries),
        session=functools.partial(SqlSession, files=files, queries=queries, kept=kept, frames=frames),
        difference=functools.partial(differs, queries),
        left_out=functools.partial(left_out, queries),
        conclusions=conclusions if shows_estimates else no_conclusions,
        shows_estimates=shows_estimates,
        worst_first=worst_first,
        seconds_max=seconds_max,
        patience=20.0,
    )

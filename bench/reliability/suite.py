"""Runs the tests and measurements of reliability and says which goals are met.

Each measurement runs in a process of its own, so that no engine disturbs another and its peak memory is its own.
"""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench.data import CACHE
from bench.reliability import counts, measures
from bench.reliability.measures import Place

LOAD_REPETITIONS = 3
LIMIT, LIMIT_PEAK_BYTES = "1GB", 1.5 * 2**30


@dataclass
class Figure:
    """One measured quantity, by engine, with its goal for Inlay."""

    name: str
    unit: str
    goal: str
    values: dict[str, float] = field(default_factory=dict)
    met: bool | None = None
    problems: list[str] = field(default_factory=list)


@dataclass
class Report:
    """All counts and figures of one run."""

    counts: list[counts.Counts] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def failed(self) -> list[str]:
        """What failed, was wrong, or missed its goal."""
        tests = [f"{count.title}: {count.problem}" for count in self.counts if count.problem]
        wrong = [f"{figure.name}: {problem}" for figure in self.figures for problem in figure.problems]
        missed = [f"{figure.name}: goal missed" for figure in self.figures if figure.met is False]
        return tests + wrong + missed


class Bench:
    """A folder for files and the report that grows."""

    def __init__(self, threads: int, scale: float, large_scale: float) -> None:
        self.threads, self.scale, self.large_scale = threads, scale, large_scale
        CACHE.mkdir(parents=True, exist_ok=True)
        # Beside the data, on a real file system: durability in a file system in memory costs nothing.
        self.folder = Path(tempfile.mkdtemp(prefix="reliability-", dir=CACHE))
        self.figures: list[Figure] = []

    def place(self, engine: str) -> Place:
        return Place(engine, self.folder, self.threads)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def figure(self, name: str, unit: str, goal: str) -> Figure:
        self.figures.append(Figure(name, unit, goal))
        return self.figures[-1]

    def each(self, figure: Figure, engines: Sequence[str], work: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """What `work` finds for each engine; one that fails is a problem of the figure."""
        found = {}
        for engine in engines:
            try:
                found[engine] = in_process(work, self.place(engine), *arguments)
            except Exception as problem:
                figure.problems.append(f"{engine}: {type(problem).__name__}: {problem}"[:300])
        return found

    def load(self) -> None:
        """Bulk load, engines taking turns."""
        figure = self.figure("load lineitem from Arrow, durable", "s", "no slower than DuckDB")
        taken: dict[str, list[float]] = {}
        for _ in range(LOAD_REPETITIONS):
            for engine, seconds in self.each(figure, ("inlay", "duckdb"), measures.load_lineitem, self.scale).items():
                taken.setdefault(engine, []).append(seconds)
        figure.values = {engine: median(seconds) for engine, seconds in taken.items()}
        figure.met = compare(figure, "duckdb")

    def size(self) -> None:
        """Bytes of the TPC-H file."""
        figure = self.figure(f"TPC-H file, scale {self.scale:g}", "MiB", "no larger than DuckDB's")
        found = self.each(figure, ("inlay", "duckdb"), measures.build_tpch, self.scale)
        figure.values = {engine: size / 2**20 for engine, (_, size) in found.items()}
        figure.met = compare(figure, "duckdb")

    def warm(self) -> None:
        """Queries from the file beside queries in memory."""
        figure = self.figure("TPC-H from the warm file, relative to memory", "x", "at most 1.10")
        found = self.each(figure, ("inlay", "duckdb"), measures.file_and_memory, self.scale)
        figure.values = {engine: file / memory for engine, (file, memory) in found.items()}
        figure.met = below(figure, 1.10)

    def inserts(self) -> None:
        """Small transactions, engines taking turns."""
        figure = self.figure("1,000 inserts, each committed durably", "s", "no slower than SQLite")
        taken: dict[str, list[float]] = {}
        for _ in range(LOAD_REPETITIONS):
            for engine, seconds in self.each(figure, ("inlay", "duckdb", "sqlite"), measures.insert_seconds).items():
                taken.setdefault(engine, []).append(seconds)
        figure.values = {engine: median(seconds) for engine, seconds in taken.items()}
        figure.met = compare(figure, "sqlite")

    def delete(self) -> None:
        """Space given back after deleting."""
        figure = self.figure("file after deleting half of lineitem", "x", "at most 0.60")
        figure.values = self.each(figure, ("inlay", "duckdb"), measures.delete_ratio, self.scale)
        figure.met = below(figure, 0.60)

    def update(self) -> None:
        """Space taken by updating."""
        figure = self.figure("file after 100 updates of all 1M rows", "x", "at most 2.00")
        figure.values = self.each(figure, ("inlay", "duckdb"), measures.update_ratio)
        figure.met = below(figure, 2.0)

    def large(self) -> None:
        """A file much larger than the memory limit: opening it, and answering from it."""
        opening = self.figure(f"open the TPC-H file, scale {self.large_scale:g}", "ms", "under 20")
        if len(self.each(opening, ("inlay", "duckdb"), measures.build_tpch, self.large_scale)) < 2:
            return
        found = self.each(opening, ("inlay", "duckdb"), measures.open_seconds, self.large_scale)
        opening.values = {engine: seconds * 1e3 for engine, seconds in found.items()}
        opening.met = below(opening, 20)
        name = f"TPC-H scale {self.large_scale:g} with memory_limit {LIMIT}"
        peak = self.figure(f"{name}: peak memory", "MiB", "at most 1536, all answers right")
        total = self.figure(f"{name}: 22 queries", "s", "")
        expected = self.each(peak, ("duckdb",), measures.tpch_answers, self.large_scale)
        if "duckdb" not in expected:
            return
        runs = self.each(peak, ("inlay", "duckdb"), measures.limited_run, self.large_scale, LIMIT, expected["duckdb"])
        peak.values = {engine: bytes_ / 2**20 for engine, (_, bytes_, _) in runs.items()}
        total.values = {engine: seconds for engine, (seconds, _, _) in runs.items()}
        peak.problems += [f"{engine}: {problem}" for engine, (_, _, found) in runs.items() for problem in found]
        wrong = any(problem.startswith("inlay") for problem in peak.problems)
        peak.met = bool(below(peak, LIMIT_PEAK_BYTES / 2**20)) and not wrong


MEASURES = ("load", "size", "warm", "inserts", "delete", "update", "large")


def run(
    mode: str, chosen: Sequence[str], threads: int, scale: float, large_scale: float, modules: Sequence[str]
) -> Report:
    """All counts (`mode` is full, short or none) and the chosen measurements."""
    report = Report()
    for module in modules if mode != "none" else ():
        print(f"testing {module} ({mode}) ...", flush=True)
        report.counts.append(counts.run(module, mode == "full"))
    bench = Bench(threads, scale, large_scale)
    try:
        for name in MEASURES:
            # Warm queries need the file that `size` makes.
            if name in chosen or (name == "size" and "warm" in chosen):
                print(f"measuring {name} ...", flush=True)
                getattr(bench, name)()
    finally:
        bench.close()
    report.figures = bench.figures
    return report


def in_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call in a new process."""
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def compare(figure: Figure, peer: str) -> bool | None:
    """Whether Inlay is no worse than a peer; None when one of them is missing."""
    if "inlay" not in figure.values or peer not in figure.values:
        return None
    return figure.values["inlay"] <= figure.values[peer]


def below(figure: Figure, limit: float) -> bool | None:
    """Whether Inlay's value is within a limit."""
    return figure.values["inlay"] <= limit if "inlay" in figure.values else None

"""A suite of named cases: engines in processes of their own take turns, answers are compared, the table is one page.

A suite is a `Suite` with a session class, which has `prepare(case)`, called before the engine's first run of a case,
`run(case)`, the seconds and the bytes that memory grew by, and `summary(case)`, what all engines must agree on: sums by
name unless the suite brings a comparison of its own.

An engine that does not answer within the suite's time limit, or dies, fails that case and is started anew.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby, product
from pathlib import Path
from statistics import median
from typing import Any

from bench import page, report
from bench.estimates import Errors
from bench.machine import record
from bench.worker import EngineFailed, Worker, memory_bytes, peak_bytes, reset_peak

START_SECONDS_MAX = 1800.0
# Has a table of each suite that begins with the worst cases.
DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "performance.md"


def agrees(found: Mapping[str, float], expected: Mapping[str, float]) -> bool:
    """Whether all sums are the same but for the order of additions."""
    if found.keys() != expected.keys():
        return False
    return all(abs(found[name] - value) <= 1e-9 * max(abs(value), 1) for name, value in expected.items())


def sums_differ(_engine: str, _case: str, found: Any, expected: Any) -> str | None:
    """What differs between two summaries that are sums by name."""
    return None if agrees(found, expected) else f"{found} instead of {expected}"


@dataclass(frozen=True)
class Suite:
    """What is measured. Engines and cases in the order of the table."""

    name: str
    title: str
    remarks: str
    engines: Sequence[str]
    cases: Sequence[str]
    session: Callable[[str, int], Any]
    # Of a case: the group that it belongs to. Cases of one group that follow each other take turns.
    group: Callable[[str], str] = lambda case: case
    # Of an engine, a case and the repetition: whether it takes part.
    takes_part: Callable[[str, str, int], bool] = lambda _engine, _case, _repetition: True
    # Of an engine and a case: why it is left out, empty when it is not.
    left_out: Callable[[str, str], str] = lambda _engine, _case: ""
    # Of an engine, a case, what was found and what was expected: the difference in words.
    difference: Callable[[str, str, Any, Any], str | None] = sums_differ
    # Of a case: whether it is about the machine, and no engine is compared by it.
    is_control: Callable[[str], bool] = lambda _case: False
    # Which of several figures of a case stands for it.
    typical: Callable[[Sequence[float]], float] = median
    # Lines below the table.
    conclusions: Callable[[Suite, Mapping[str, Measured]], list[str]] = lambda _suite, _results: []
    shows_memory: bool = False
    # Whether the table begins with the cases in which Inlay is furthest behind.
    worst_first: bool = False
    # Whether Inlay's session has `q_errors(case)`, which is asked once.
    shows_estimates: bool = False
    # A request of a case takes at most so long; repetitions of a case end when an engine has spent `patience` on it.
    seconds_max: float = 300.0
    patience: float = 60.0

    def chosen(self, terms: Sequence[str] | None) -> Suite:
        """The suite with the cases that `terms` name: a case, its number (`6` is `Q6`) or a part of its name."""
        if terms is None:
            return self
        exact = {case for case in self.cases for term in terms if case in (term, f"Q{term}")}
        known = {term for term in terms if any(case in (term, f"Q{term}") for case in self.cases)}
        partly = {case for case in self.cases for term in set(terms) - known if term in case}
        cases = [case for case in self.cases if case in exact | partly]
        if not cases:
            raise SystemExit(f"no case of {self.name} has {', '.join(terms)}; there are: {', '.join(self.cases)}")
        return replace(self, cases=cases)


@dataclass
class Measured:
    """Of one engine: seconds and bytes of each case, what went wrong, and why it was left out."""

    version: str
    seconds: dict[str, list[float]] = field(default_factory=dict)
    peaks: dict[str, list[float]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    # Of Inlay's operators; see `bench.estimates`.
    q_errors: dict[str, Errors] = field(default_factory=dict)


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds, and bytes that memory grew by at most meanwhile. What the work returns is dropped untimed."""
    gc.collect()
    reset_peak()
    before = memory_bytes("VmRSS") or 0
    gc.disable()
    start = time.perf_counter()
    delivered = work()
    seconds = time.perf_counter() - start
    gc.enable()
    peak = (peak_bytes() or 0) - before
    del delivered
    return seconds, float(peak)


class Engines:
    """The engines of a run, each in its process."""

    def __init__(self, suite: Suite, names: Sequence[str], threads: int) -> None:
        self.suite, self.threads = suite, threads
        self.workers: dict[str, Worker] = {}
        for name in names:
            try:
                self.workers[name] = self.start(name)
            except EngineFailed as problem:
                print(f"{name} is left out: {problem}", flush=True)

    def start(self, name: str) -> Worker:
        start = time.perf_counter()
        worker = Worker(name, self.threads, self.suite.session, START_SECONDS_MAX)
        print(f"{name} {worker.version} is ready after {time.perf_counter() - start:.1f} s", flush=True)
        return worker

    def ask(self, name: str, method: str, case: str) -> Any:
        """The reply of an engine, which is started anew when it is gone afterwards. Raises `EngineFailed`."""
        if name not in self.workers:
            raise EngineFailed("the engine did not start again")
        worker = self.workers[name]
        try:
            return worker.call(method, case, seconds_max=self.suite.seconds_max)
        except EngineFailed:
            if not worker.alive():
                del self.workers[name]
                worker.close()
                self.workers[name] = self.start(name)
            raise

    def close(self) -> None:
        for worker in self.workers.values():
            worker.close()


def run(suite: Suite, engines: Sequence[str] | None, threads: int, repetitions: int) -> dict[str, Measured]:
    """Measure all cases."""
    started = Engines(suite, engines or suite.engines, threads)
    results = {name: Measured(worker.version) for name, worker in started.workers.items()}
    try:
        for _, together in groupby(suite.cases, suite.group):
            group = list(together)
            taking_part = {case: compare(suite, case, started, results) for case in group}
            for repetition, case in product(range(repetitions), group):
                measure(suite, case, started, {name: results[name] for name in taking_part[case]}, repetition)
            for case in group:
                shown = {name: page.shown(suite, result, case) for name, result in results.items()}
                print(case, {name: text for name, text in shown.items() if text}, flush=True)
    finally:
        started.close()
    return results


def compare(suite: Suite, case: str, engines: Engines, results: Mapping[str, Measured]) -> list[str]:
    """Prepare one case on all engines and compare their answers; the engines that gave one."""
    sums: dict[str, Any] = {}
    for name, result in results.items():
        if reason := suite.left_out(name, case):
            result.left_out[case] = reason
        elif suite.takes_part(name, case, 0):
            try:
                engines.ask(name, "prepare", case)
                sums[name] = engines.ask(name, "summary", case)
                if suite.shows_estimates and name == "inlay":
                    result.q_errors[case] = engines.ask(name, "q_errors", case)
            except EngineFailed as problem:
                result.problems[case] = str(problem)
    reference = next((name for name in ("duckdb", "inlay", *sums) if name in sums), None)
    for name, found in sums.items():
        differs = suite.difference(name, case, found, sums[reference]) if reference and name != reference else None
        if differs:
            results[name].problems[case] = f"differs: {differs}"
    return list(sums)


def measure(suite: Suite, case: str, engines: Engines, results: Mapping[str, Measured], repetition: int) -> None:
    """Run one case once on each engine."""
    for name, result in results.items():
        if case in result.problems or not suite.takes_part(name, case, repetition):
            continue
        if sum(result.seconds.get(case, [])) > suite.patience:
            continue
        try:
            seconds, peak = engines.ask(name, "run", case)
        except EngineFailed as problem:
            result.problems[case] = str(problem)
            continue
        result.seconds.setdefault(case, []).append(seconds)
        result.peaks.setdefault(case, []).append(peak)


def main(
    suite: Suite,
    engines: Sequence[str] | None,
    scale: float,
    threads: int,
    repetitions: int,
    terms: Sequence[str] | None = None,
) -> int:
    """Measure and print; a complete run is written. The exit code: whether Inlay's answers were right."""
    suite = suite.chosen(terms)
    results = run(suite, engines, threads, repetitions)
    text = page.text(suite, results, threads, repetitions)
    print("\n" + text)
    print("\n".join(page.ranking(suite, results)))
    if engines is None and terms is None:
        measured = {name: {**asdict(result), "q_errors": None} for name, result in results.items()}
        line = record(suite.name, threads, scale=scale, engines=measured, **page.figures(suite, results))
        report.write(suite.name, text, line)
        print(f"written: bench/results/{suite.name}.md, bench/results/{suite.name}.jsonl")
        if suite.worst_first:
            page.into_document(suite, results, DOCUMENT)
    problems = results["inlay"].problems if "inlay" in results else {}
    print("\n".join(f"FAILED: {case}: {problem}" for case, problem in problems.items()))
    if "inlay" not in results and (engines is None or "inlay" in engines):
        print("FAILED: Inlay did not take part")
        return 1
    return 1 if problems else 0

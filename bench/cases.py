"""A suite of named cases: engines in processes of their own take turns, answers are compared, the table is one page.

A suite is a `Suite` with a session class, which has `prepare(case)`, called before the engine's first run of a case,
`run(case)`, the seconds and the bytes that memory grew by, and `summary(case)`, numbers that all engines must agree on.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from statistics import median
from typing import Any

from bench import report
from bench.machine import description, record
from bench.worker import EngineFailed, Worker, memory_bytes, peak_bytes, reset_peak

NAMES = report.LABELS | {"sqlite": "SQLite", "pandas": "pandas"}


@dataclass(frozen=True)
class Suite:
    """What is measured. Engines and cases in the order of the table."""

    name: str
    title: str
    remarks: str
    engines: Sequence[str]
    cases: Sequence[str]
    session: Callable[[str, int], Any]
    # Of an engine, a case and the repetition: whether it takes part.
    takes_part: Callable[[str, str, int], bool] = lambda _engine, _case, _repetition: True


@dataclass
class Measured:
    """Of one engine: seconds and bytes of each case, and what went wrong."""

    version: str
    seconds: dict[str, list[float]] = field(default_factory=dict)
    peaks: dict[str, list[float]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


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


def run(suite: Suite, engines: Sequence[str] | None, threads: int, repetitions: int) -> dict[str, Measured]:
    """Measure all cases."""
    workers: dict[str, Worker] = {}
    for name in engines or suite.engines:
        try:
            workers[name] = Worker(name, threads, suite.session)
        except EngineFailed as problem:
            print(f"{name} is left out: {problem}")
    results = {name: Measured(worker.version) for name, worker in workers.items()}
    try:
        for case in suite.cases:
            measure(suite, case, workers, results, repetitions)
            print(case, {name: shown(result, case) for name, result in results.items()}, flush=True)
    finally:
        for worker in workers.values():
            worker.close()
    return results


def measure(
    suite: Suite, case: str, workers: Mapping[str, Worker], results: Mapping[str, Measured], repetitions: int
) -> None:
    """Run one case on all engines, in turns."""
    sums: dict[str, Any] = {}
    for name in [name for name in workers if suite.takes_part(name, case, 0)]:
        try:
            workers[name].call("prepare", case)
            sums[name] = workers[name].call("summary", case)
        except EngineFailed as problem:
            results[name].problems[case] = str(problem)
    expected = next((sums[name] for name in ("duckdb", "inlay") if name in sums), None)
    for name, found in sums.items():
        if not agrees(found, expected):
            results[name].problems[case] = f"differs: {found} instead of {expected}"
    for repetition in range(repetitions):
        for name in sums:
            if case in results[name].problems or not suite.takes_part(name, case, repetition):
                continue
            seconds, peak = workers[name].call("run", case)
            results[name].seconds.setdefault(case, []).append(seconds)
            results[name].peaks.setdefault(case, []).append(peak)


def agrees(found: Mapping[str, float], expected: Mapping[str, float] | None) -> bool:
    """Whether all sums are the same but for the order of additions."""
    if expected is None or found.keys() != expected.keys():
        return False
    return all(abs(found[name] - value) <= 1e-9 * max(abs(value), 1) for name, value in expected.items())


def shown(result: Measured, case: str) -> str:
    """Median time, and the most memory, of one case."""
    if case in result.problems:
        return "wrong" if result.problems[case].startswith("differs") else "failed"
    if case not in result.seconds:
        return ""
    return f"{median(result.seconds[case]) * 1e3:,.2f} ms, {max(median(result.peaks[case]), 0) / 2**20:,.0f} MiB"


def text(suite: Suite, results: Mapping[str, Measured], threads: int, repetitions: int) -> str:
    """The report as people read it."""
    machine = description()
    lines = [
        f"# {suite.title}",
        "",
        f"{datetime.now(timezone.utc):%Y-%m-%d}; {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB; {threads} threads; commit {machine['commit']}; median of {repetitions} runs, "
        "engines taking turns; beside it, by how much memory grew at most; "
        + ", ".join(f"{NAMES[name]} {result.version}" for name, result in results.items())
        + f". {suite.remarks}",
        "",
        "| case | " + " | ".join(NAMES[name] for name in results) + " |",
        "|---|" + "---:|" * len(results),
    ]
    lines += [
        f"| {case} | " + " | ".join(shown(result, case) for result in results.values()) + " |" for case in suite.cases
    ]
    lines += [
        f"- {NAMES[name]}, {case}: {problem}"
        for name, result in results.items()
        for case, problem in result.problems.items()
    ]
    return "\n".join(lines) + "\n"


def main(suite: Suite, engines: Sequence[str] | None, scale: float, threads: int, repetitions: int) -> int:
    """Measure and print; a complete run is written. The exit code: whether Inlay's answers were right."""
    results = run(suite, engines, threads, repetitions)
    page = text(suite, results, threads, repetitions)
    print("\n" + page)
    if engines is None:
        measured = {name: asdict(result) for name, result in results.items()}
        report.write(suite.name, page, record(suite.name, threads, scale=scale, engines=measured))
        print(f"written: bench/results/{suite.name}.md, bench/results/{suite.name}.jsonl")
    problems = results["inlay"].problems if "inlay" in results else {}
    print("\n".join(f"FAILED: {case}: {problem}" for case, problem in problems.items()))
    return 1 if problems else 0

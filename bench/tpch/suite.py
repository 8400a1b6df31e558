"""Runs TPC-H: load everywhere, check every answer, then time with the engines taking turns query by query.

An answer is checked before its query is timed. Inlay's has to equal the reference exactly, or the run fails; a peer's
may be off in the last digits of decimals and averages, and one that differs further is marked, never dropped silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.data import tpch_files
from bench.estimates import Errors
from bench.worker import EngineFailed, Worker
from tests.tpch.workload import DOUBLE_TOLERANCE, SORT_KEYS, Answer, difference, query_text, reference

PEER_DOUBLE_TOLERANCE = 2e-3  # averages and quotients of decimals: HyPer keeps six digits, ClickHouse four
STRICT_ENGINES = ("inlay", "duckdb")


@dataclass
class EngineResult:
    """What one engine did. Seconds per query hold one entry per repetition, in order."""

    version: str
    load_seconds: float
    seconds: dict[int, list[float]] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)
    peak_bytes: int | None = None
    # Of Inlay's operators; see `bench.estimates`.
    q_errors: dict[int, Errors] = field(default_factory=dict)


def start_engines(names: Sequence[str], threads: int) -> tuple[dict[str, Worker], dict[str, str]]:
    """Workers of the engines that start here, and the reasons of those that do not."""
    workers: dict[str, Worker] = {}
    skipped: dict[str, str] = {}
    for name in names:
        try:
            workers[name] = Worker(name, threads)
        except EngineFailed as problem:
            skipped[name] = str(problem)
            print(f"skipped {name}: {problem}", flush=True)
    return workers, skipped


def run(workers: dict[str, Worker], scale: float, queries: Sequence[int], repetitions: int) -> dict[str, EngineResult]:
    """Time `queries` at `scale` on all workers; results by engine."""
    files = tpch_files(scale)
    results: dict[str, EngineResult] = {}
    for name, worker in list(workers.items()):
        try:
            results[name] = EngineResult(worker.version, worker.call("load", files))
            worker.call("reset_peak")
        except EngineFailed as problem:
            print(f"skipped {name}: loading failed: {problem}", flush=True)
            workers.pop(name).close()
            continue
        print(f"loaded {name} {worker.version} in {results[name].load_seconds:.1f} s", flush=True)
    for number in queries:
        check_answers(workers, results, number, scale)
        if "inlay" in workers and number not in results["inlay"].problems:
            results["inlay"].q_errors[number] = workers["inlay"].call("q_errors", query_text(number))
    for _ in range(repetitions):
        for number in queries:
            for name, worker in workers.items():
                if number in results[name].problems and not results[name].problems[number].startswith("differs"):
                    continue
                try:
                    results[name].seconds.setdefault(number, []).append(worker.call("run", number, query_text(number)))
                except EngineFailed as problem:
                    results[name].problems[number] = f"failed: {problem}"
    for name, worker in workers.items():
        try:
            results[name].peak_bytes = worker.call("peak_bytes")
        except EngineFailed as problem:
            print(f"{name}: {problem}", flush=True)
    return results


def check_answers(workers: dict[str, Worker], results: dict[str, EngineResult], number: int, scale: float) -> None:
    """Compare all engines' answers with DuckDB's, or with the committed reference when DuckDB does not take part."""
    answers: dict[str, Answer] = {}
    for name, worker in workers.items():
        try:
            answers[name] = worker.call("answer", number, query_text(number))
        except EngineFailed as problem:
            results[name].problems[number] = f"failed: {problem}"
            print(f"Q{number} {name} {results[name].problems[number]}", flush=True)
    expected = answers.get("duckdb") or reference(number, scale)
    for name, answer in answers.items():
        if expected is None or answer is expected:
            continue
        found = difference(
            expected,
            answer.rows,
            SORT_KEYS[number],
            names=answer.names if name in STRICT_ENGINES else None,
            strict=name in STRICT_ENGINES,
            tolerance=DOUBLE_TOLERANCE if name in STRICT_ENGINES else PEER_DOUBLE_TOLERANCE,
        )
        if found:
            results[name].problems[number] = f"differs: {found}"
            print(f"Q{number} {name} {results[name].problems[number]}", flush=True)

"""Times and peak memory of handing lineitem out, engines taking turns, values checked."""

from __future__ import annotations

import contextlib
import gc
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench.data import tpch_files
from bench.export.engines import ENGINES, NUMBERS
from bench.worker import EngineFailed, Worker, memory_bytes, peak_bytes, reset_peak

CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "1 integer to numpy": ("numpy", ("l_orderkey",)),
    "8 numbers to numpy": ("numpy", NUMBERS),
    "all to numpy": ("numpy", ()),
    "all to arrow": ("arrow", ()),
    "all to pandas": ("pandas", ()),
    "all to polars": ("polars", ()),
}
# Rows become objects there, which takes a minute for each case.
SKIPPED = {("sqlite", case) for case in CASES if case not in ("1 integer to numpy", "8 numbers to numpy")}


class ExportSession:
    """One engine, inside its process."""

    def __init__(self, engine: str, threads: int) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="export-")
        self.engine = ENGINES[engine](Path(self.folder.name) / "export.db", threads)

    def version(self) -> str:
        return str(self.engine.version)

    def load(self, source: Path) -> None:
        self.engine.load(source)

    def run(self, case: str) -> tuple[float, float]:
        """Seconds, and bytes that memory grew by at most meanwhile."""
        method, columns = CASES[case]
        gc.collect()
        reset_peak()
        before = memory_bytes("VmRSS") or 0
        gc.disable()
        start = time.perf_counter()
        delivered = getattr(self.engine, method)(columns)
        seconds = time.perf_counter() - start
        gc.enable()
        peak = (peak_bytes() or 0) - before
        del delivered
        return seconds, float(peak)

    def summary(self, case: str) -> dict[str, float]:
        """What the delivered columns add up to; never timed."""
        import numpy as np

        method, columns = CASES[case]
        delivered = getattr(self.engine, method)(columns)
        names = columns or NUMBERS
        sums = {}
        for name in names:
            values = delivered[name]
            values = values.to_numpy() if hasattr(values, "to_numpy") else values
            sums[name] = round(float(np.asarray(values, dtype="f8").sum()), 2)
        if not columns:
            texts = delivered["l_shipmode"]
            texts = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
            sums["l_shipmode"] = float(sum(map(len, texts)))
        return sums

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.engine.close()
        self.folder.cleanup()


@dataclass
class Measured:
    """Of one engine: seconds and bytes of each case, and what went wrong."""

    version: str
    seconds: dict[str, list[float]] = field(default_factory=dict)
    peaks: dict[str, list[float]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def run(engines: Sequence[str], scale: float, threads: int, repetitions: int) -> dict[str, Measured]:
    """Measure all cases."""
    source = tpch_files(scale)["lineitem"]
    workers: dict[str, Worker] = {}
    for name in engines:
        try:
            workers[name] = Worker(name, threads, ExportSession)
        except EngineFailed as problem:
            print(f"{name} is left out: {problem}")
    try:
        return measured(workers, source, repetitions)
    finally:
        for worker in workers.values():
            worker.close()


def measured(workers: Mapping[str, Worker], source: Path, repetitions: int) -> dict[str, Measured]:
    results = {name: Measured(worker.version) for name, worker in workers.items()}
    for name, worker in workers.items():
        print(f"loading {name} ...", flush=True)
        worker.call("load", source)
    for case in CASES:
        taking_part = [name for name in workers if (name, case) not in SKIPPED]
        sums: dict[str, Any] = {}
        for name in taking_part:
            try:
                sums[name] = workers[name].call("summary", case)
            except EngineFailed as problem:
                results[name].problems[case] = str(problem)
        expected = next((sums[name] for name in ("duckdb", "inlay") if name in sums), None)
        for name, found in sums.items():
            if not agrees(found, expected):
                results[name].problems[case] = f"differs: {found} instead of {expected}"
        for repetition in range(repetitions):
            for name in taking_part:
                # SQLite takes half a minute for a run.
                if case in results[name].problems or (name == "sqlite" and repetition > 0):
                    continue
                seconds, peak = workers[name].call("run", case)
                results[name].seconds.setdefault(case, []).append(seconds)
                results[name].peaks.setdefault(case, []).append(peak)
        print(case, {name: shown(result, case) for name, result in results.items()}, flush=True)
    return results


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

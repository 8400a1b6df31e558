"""How long does an answer take that needs no work: `SELECT 1` on an open connection, and in a new process?"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.engines import adapter_module
from bench.worker import EngineFailed, Worker

WARM_UP, REPETITIONS, PROCESSES = 200, 2_000, 7
TIMED_START = "import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"


@dataclass
class Latency:
    """Medians of one engine."""

    select_one_us: float
    start_ms: float
    process_ms: float


def measure(workers: dict[str, Worker]) -> dict[str, Latency]:
    """Latencies of all engines, which take turns starting processes."""
    starts: dict[str, list[tuple[float, float]]] = {name: [] for name in workers}
    for _ in range(PROCESSES):
        for name in workers:
            starts[name].append(start_seconds(name))
    found = {}
    for name, worker in workers.items():
        try:
            worker.call("select_one", WARM_UP)
            seconds = worker.call("select_one", REPETITIONS)
        except EngineFailed as problem:
            print(f"{name}: SELECT 1 failed: {problem}", flush=True)
            continue
        inside, whole = zip(*starts[name], strict=True)
        found[name] = Latency(median(seconds) * 1e6, median(inside) * 1e3, median(whole) * 1e3)
    return found


def start_seconds(name: str) -> tuple[float, float]:
    """Seconds of import, connect and `SELECT 1` in a new interpreter, and of that whole process."""
    code = TIMED_START.format(code=adapter_module(name).START)
    start = time.perf_counter()
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout.split()[-1]), time.perf_counter() - start


def wheel_bytes() -> int | None:
    """Size of the wheel that `make setup` built last, None when there is none."""
    wheels = sorted(Path("target/wheels").glob("inlay-*.whl"), key=lambda path: path.stat().st_mtime)
    return wheels[-1].stat().st_size if wheels else None

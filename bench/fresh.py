"""One query in a process that has just started: what opening the file, reading it and answering take, and the memory.

`run_fresh` starts `python -m bench.fresh` with what to do as JSON, and reads its answer as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.worker import EngineFailed, memory_bytes, peak_bytes, reset_peak

ENGINES = ("inlay", "duckdb")


def open_file(engine: str, path: str, threads: int, memory_limit: str | None = None) -> Any:
    """A connection of an engine to a database file."""
    module = __import__(engine)
    connection = module.connect(path, config={"threads": threads})
    if memory_limit:
        connection.execute(f"SET memory_limit = '{memory_limit}'")
    return connection


def make_file(engine: str, path: Path, files: dict[str, Path], threads: int) -> None:
    """A database file of some Parquet files."""
    connection = open_file(engine, str(path), threads)
    for table, source in files.items():
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{source}')")
    connection.execute("CHECKPOINT")
    connection.close()


def drop_from_page_cache(path: Path) -> None:
    """Ask the system to forget what it keeps of a file, so that the next read is from the disk."""
    if not hasattr(os, "posix_fadvise"):
        return
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run_fresh(
    engine: str,
    path: Path,
    sql: str,
    threads: int,
    *,
    memory_limit: str | None = None,
    check: str = "",
    seconds_max: float = 300,
) -> dict[str, Any]:
    """
    Seconds from opening the file until the result is there, bytes that memory grew by, rows, of a new process.

    With `check`, the result becomes the table `answer` within a transaction that is rolled back, `seconds` are until it
    is there, and what the query `check` says of it comes as `found`.
    """
    task = {"engine": engine, "path": str(path), "sql": sql, "threads": threads, "memory_limit": memory_limit}
    task["check"] = check
    command = [sys.executable, "-m", "bench.fresh"]
    try:
        run = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, timeout=seconds_max)
    except subprocess.TimeoutExpired:
        raise EngineFailed(f"no answer within {seconds_max:.0f} s") from None
    if run.returncode:
        lines = run.stderr.strip().splitlines()
        raise EngineFailed(lines[-1][:300] if lines else f"the process ended with code {run.returncode}")
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def main() -> None:
    """The new process."""
    task = json.loads(sys.stdin.read())
    __import__(task["engine"])
    import pyarrow  # noqa: F401  the client's memory, not the engine's

    reset_peak()
    before = memory_bytes("VmRSS") or 0
    start = time.perf_counter()
    connection = open_file(task["engine"], task["path"], task["threads"], task["memory_limit"])
    if task["check"]:
        connection.execute("BEGIN")
        connection.execute(f"CREATE TABLE answer AS {task['sql']}")
        answer: dict[str, Any] = {"seconds": time.perf_counter() - start, "peak": (peak_bytes() or 0) - before}
        rows = connection.execute(task["check"]).fetchall()
        answer |= {"rows": rows[0][0], "found": [float(value) for value in rows[0]]}
        connection.execute("ROLLBACK")
    else:
        rows = connection.execute(task["sql"]).fetchall()
        answer = {"seconds": time.perf_counter() - start, "peak": (peak_bytes() or 0) - before, "rows": len(rows)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

"""How much memory an open reader keeps while rows are changed by key, and how long the changes take.

A process per engine has a table in a file, a connection that has read it within a transaction that stays open, and
another one that changes one row after the other, each in a transaction of its own. The reader counts the rows that are
as they were before it ends, so the figure is of an engine that kept them.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.data import scratch
from bench.points.engines import ENGINES as ENGINES
from bench.points.engines import SQLite, ask

ROWS, WIDTH, UPDATES, SECONDS_MAX = 100_000, 100, 100_000, 120.0
CREATE = "CREATE TABLE texts (id INTEGER PRIMARY KEY, s VARCHAR)"
UPDATE = "UPDATE texts SET s = ? WHERE id = ?"
KEPT = "SELECT count(*) FROM texts WHERE s LIKE 'x%'"


def memory() -> float:
    """MiB that this process holds."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def opened(engine: str, folder: Path) -> Any:
    """An engine with the table."""
    found = ENGINES[engine](folder / "versions.db", 2)
    found.connection.execute(CREATE)
    found.connection.execute("BEGIN")
    rows = [[number, "x" * WIDTH] for number in range(ROWS)]
    if isinstance(found, SQLite):
        found.connection.executemany("INSERT INTO texts VALUES (?, ?)", rows)
    else:
        found.connection.execute(f"INSERT INTO texts SELECT i, repeat('x', {WIDTH}) FROM range({ROWS}) r(i)")
    found.connection.execute("COMMIT")
    return found


def measure(engine: str, updates: int, folder: str, answer: Connection) -> None:
    """Run in the process of one engine."""
    found = opened(engine, Path(folder))
    reader = found.another()
    # Everything that is made once is there before it is measured.
    for number in range(100):
        found.connection.execute(UPDATE, ["x" * WIDTH, number])
    reader.execute("BEGIN")
    before_rows = ask(reader, KEPT)[0][0]
    before, start, done = memory(), time.perf_counter(), 0
    while done < updates and time.perf_counter() - start < SECONDS_MAX:
        found.connection.execute(UPDATE, [f"{done:0{WIDTH}}", done * 7919 % ROWS])
        done += 1
    seconds, kept = time.perf_counter() - start, memory() - before
    if ask(reader, KEPT)[0][0] != before_rows:
        raise RuntimeError(f"{engine}: the reader sees changes that came later")
    reader.execute("ROLLBACK")
    found.connection.execute(UPDATE, ["last", 1])
    answer.send((done, seconds, kept, memory() - before))
    found.close()


def table(engines: list[str], updates: int) -> Iterator[str]:
    """The lines, as they are found."""
    yield "| engine | updates | seconds | MiB kept | times the changed bytes | MiB once the reader ended |"
    yield "|---|---|---|---|---|---|"
    for engine in engines:
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        with scratch("versions-") as folder:
            arguments = (engine, updates, folder, theirs)
            process = multiprocessing.get_context("spawn").Process(target=measure, args=arguments)
            process.start()
            theirs.close()
            try:
                done, seconds, kept, after = ours.recv()
            except EOFError:
                yield f"| {engine} | failed | | | | |"
                continue
            finally:
                process.join()
            times = kept * 2**20 / (done * WIDTH)
            yield f"| {engine} | {done:,} | {seconds:.1f} | {kept:.1f} | {times:.1f} | {after:.1f} |"


def run(engines: list[str], updates: int) -> int:
    """Print the table."""
    for text in table(engines, updates):
        print(text, flush=True)
    return 0

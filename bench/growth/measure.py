"""Processor time of a statement at n, 2n and 4n, in a process of its own, and the exponent that it grows by.

Times are those of the process on one thread, the least of several runs; n is doubled first until a run takes 6 ms, so
that what does not depend on n is small. An exponent of 1 is linear, 2 the square; sorts, and tables that leave the
cache, come to about 1.3.
"""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from math import log2
from multiprocessing.connection import Connection
from typing import Any

from bench.growth.cases import Case

LEAST_SECONDS = 0.006
DOUBLED_MAX = 16
ABOVE_LINEAR = 1.4


@dataclass(frozen=True)
class Grown:
    """Of one case: the first n, the seconds at n, 2n and 4n, and what went wrong."""

    n: int
    seconds: tuple[float, ...]
    problem: str = ""

    def exponent(self) -> float | None:
        """From 2n to 4n; none where nothing was measured."""
        if len(self.seconds) < 3 or min(self.seconds) <= 0:
            return None
        return log2(self.seconds[2] / self.seconds[1])


def seconds_of(case: Case, n: int, runs: int) -> float:
    """The least processor time of some runs, each in a database of its own."""
    inlay: Any = __import__("inlay")
    least = float("inf")
    for _ in range(runs):
        connection = inlay.connect()
        connection.execute("SET threads = 1")
        for sql in case.before(n):
            connection.execute(sql)
        statements = case.statements(n)
        started = time.process_time()
        for sql in statements:
            connection.execute(sql).fetchall()
        least = min(least, time.process_time() - started)
        connection.close()
    return least


def in_process(case: Case, outlet: Connection) -> None:
    """Measures a case and sends what was found."""
    try:
        n = case.n
        seconds_of(case, n, 1)
        while (first := seconds_of(case, n, 2)) < LEAST_SECONDS and n < case.n * DOUBLED_MAX:
            n *= 2
        outlet.send(Grown(n, (first, seconds_of(case, 2 * n, 3), seconds_of(case, 4 * n, 3))))
    except Exception as error:
        outlet.send(Grown(0, (), f"{type(error).__name__}: {error}".splitlines()[0][:100]))


def grown(case: Case, seconds_max: float) -> Grown:
    """Measures a case, for so long at most."""
    inlet, outlet = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=in_process, args=(case, outlet))
    process.start()
    found = inlet.recv() if inlet.poll(seconds_max) else Grown(0, (), f"more than {seconds_max:.0f} s")
    process.terminate()
    process.join()
    return found if isinstance(found, Grown) else Grown(0, (), "no answer")

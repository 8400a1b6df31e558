"""One engine in a process of its own, driven over a pipe.

An engine's memory and threads then disturb no other engine, its peak memory is its own, and one that dies is reported
instead of ending the benchmark. `Worker` is the end that asks, `serve` the end that answers; each request is a method
name of `Session` with its arguments.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench import estimates
from bench.engines import adapter_module
from bench.estimates import Errors
from tests.tpch.workload import Answer


class EngineFailed(Exception):  # noqa: N818
    """The engine refused a request, or its process died."""


class Worker:
    """A started worker process; `call` sends one request and waits for the reply."""

    def __init__(
        self,
        engine: str,
        threads: int,
        session: Callable[[str, int], Any] | None = None,
        seconds_max: float | None = None,
    ) -> None:
        self.engine = engine
        self.threads = threads
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, engine, threads, session or Session), daemon=False)
        self.process.start()
        other.close()
        self.version = self.receive(seconds_max)

    def call(self, method: str, *arguments: Any, seconds_max: float | None = None) -> Any:
        """Reply of `Session.<method>(*arguments)`; raises `EngineFailed`. One that takes too long is killed."""
        try:
            self.pipe.send((method, arguments))
        except OSError:
            self.process.join()
            raise EngineFailed(f"the process ended with code {self.process.exitcode}") from None
        return self.receive(seconds_max)

    def receive(self, seconds_max: float | None = None) -> Any:
        try:
            if not self.pipe.poll(seconds_max):
                self.kill()
                raise EngineFailed(f"no answer within {seconds_max:.0f} s")
            succeeded, value = self.pipe.recv()
        except EOFError:
            self.process.join()
            raise EngineFailed(f"the process ended with code {self.process.exitcode}") from None
        if not succeeded:
            raise EngineFailed(value)
        return value

    def close(self) -> None:
        """End the process; one that does not answer within five seconds is killed."""
        with contextlib.suppress(EngineFailed, OSError):
            self.call("close")
        self.process.join(timeout=5)
        if self.process.is_alive():
            self.kill()

    def alive(self) -> bool:
        """Whether the process can still be asked."""
        return self.process.is_alive()

    def kill(self) -> None:
        """End the process and those that it started, at once."""
        for process in process_tree(self.process.pid) if self.process.pid else []:
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(process.name), signal.SIGKILL)
        self.process.kill()
        self.process.join()


class Session:
    """The engine, inside its process."""

    def __init__(self, engine: str, threads: int) -> None:
        self.adapter = adapter_module(engine).Adapter(threads)

    def version(self) -> str:
        return str(self.adapter.version())

    def load(self, tables: Mapping[str, Path]) -> float:
        """Load all tables; seconds taken."""
        start = time.perf_counter()
        self.adapter.load(tables)
        return time.perf_counter() - start

    def run(self, number: int, sql: str) -> float:
        """Seconds from the query's text until its result is in the client."""
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        result = self.adapter.run(number, sql)
        seconds = time.perf_counter() - start
        del result
        gc.enable()
        return seconds

    def answer(self, number: int, sql: str) -> Answer:
        """The delivered result as names, kinds and rows; never timed."""
        from bench.engines.base import answer_of

        return answer_of(self.adapter.run(number, sql))

    def q_errors(self, sql: str) -> Errors:
        """Of Inlay's plan of a query."""
        return estimates.q_errors(self.adapter.connection, sql)

    def select_one(self, repetitions: int) -> list[float]:
        """Seconds of each of many `SELECT 1` on the open connection."""
        seconds = []
        for _ in range(repetitions):
            start = time.perf_counter()
            self.adapter.select_one()
            seconds.append(time.perf_counter() - start)
        return seconds

    def reset_peak(self) -> None:
        reset_peak()

    def peak_bytes(self) -> int | None:
        return peak_bytes()

    def close(self) -> None:
        self.adapter.close()


def reset_peak() -> None:
    """Start measuring peak memory anew, here and in child processes. Linux only, elsewhere nothing happens."""
    for process in process_tree():
        with contextlib.suppress(OSError):
            (process / "clear_refs").write_text("5")


def peak_bytes() -> int | None:
    """Peak resident memory since `reset_peak` of this process and its children; None where /proc is missing."""
    return memory_bytes("VmHWM")


def memory_bytes(field: str) -> int | None:
    """Memory of this process and its children by a field of /proc/<pid>/status; None where /proc is missing."""
    sizes = [status_kib(process / "status", field) for process in process_tree()]
    return sum(sizes) * 1024 if sizes else None


def process_tree(root: int | None = None) -> list[Path]:
    """The /proc folders of a process, this one by default, and of everything it started."""
    first = Path("/proc") / str(root or os.getpid())
    found, todo = [], [first] if (first / "status").exists() else []
    while todo:
        process = todo.pop()
        found.append(process)
        for task in process.glob("task/*/children"):
            try:
                todo += [Path("/proc") / pid for pid in task.read_text().split()]
            except OSError:
                continue
    return found


def status_kib(path: Path, field: str) -> int:
    """A field of /proc/<pid>/status in KiB, 0 when the process is gone."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(field + ":")), 0)


def serve(pipe: Connection, engine: str, threads: int, make: Callable[[str, int], Any]) -> None:
    """Body of the worker process: open the engine, then answer requests until `close`."""
    try:
        session = make(engine, threads)
        pipe.send((True, session.version()))
    except Exception as problem:
        pipe.send((False, f"{type(problem).__name__}: {problem}"))
        return
    while True:
        try:
            method, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, getattr(session, method)(*arguments)))
        except Exception as problem:
            pipe.send((False, f"{type(problem).__name__}: {problem}"[:400]))
        if method == "close":
            return

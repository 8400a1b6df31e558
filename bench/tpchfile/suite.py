"""TPC-H from a database file: hot on an open connection, and cold in a new process with the file out of the page cache.

Cold is from opening the file until the result is in the client; importing the package is not part of it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.answers import digest
from bench.cases import Suite, timed
from bench.data import scratch, tpch_files
from bench.engines import adapter_module
from bench.fresh import ENGINES, drop_from_page_cache, make_file, run_fresh
from bench.sql import Query, differs
from tests.tpch.workload import QUERY_NUMBERS, query_text


class FileSession:
    """One engine, inside its process. A cold case needs the file closed here: DuckDB locks it."""

    def __init__(self, engine: str, threads: int, *, files: Mapping[str, Path]) -> None:
        self.engine, self.threads = engine, threads
        self.folder = scratch("tpch-file-")
        self.path = Path(self.folder.name) / f"tpch.{engine}"
        make_file(engine, self.path, dict(files), threads)
        self.adapter: Any = None

    def version(self) -> str:
        return str(__import__(self.engine).__version__)

    def prepare(self, case: str) -> None:
        """Open the file for a hot case, close it for a cold one."""
        if is_cold(case) and self.adapter is not None:
            self.adapter.close()
            self.adapter = None
        if not is_cold(case) and self.adapter is None:
            self.adapter = adapter_module(self.engine).Adapter(self.threads, self.path)

    def run(self, case: str) -> tuple[float, float]:
        text = query_text(number_of(case))
        if is_cold(case):
            drop_from_page_cache(self.path)
            found = run_fresh(self.engine, self.path, text, self.threads)
            return found["seconds"], found["peak"]
        return timed(lambda: self.adapter.query(text))

    def summary(self, case: str) -> Any:
        """The answer; of a cold case how many rows it has."""
        text = query_text(number_of(case))
        if is_cold(case):
            return digest([(run_fresh(self.engine, self.path, text, self.threads)["rows"],)])
        return digest(self.adapter.query(text))

    def close(self) -> None:
        with contextlib.suppress(Exception):
            if self.adapter is not None:
                self.adapter.close()
        self.folder.cleanup()


def number_of(case: str) -> int:
    """The number of the query."""
    return int(case.split()[0][1:])


def is_cold(case: str) -> bool:
    """Whether the case is of a new process."""
    return case.endswith("cold")


def suite(scale: float) -> Suite:
    """The suite at a scale."""
    cases = [f"Q{number} {state}" for state in ("hot", "cold") for number in QUERY_NUMBERS]
    return Suite(
        name=f"tpch-file-sf{scale:g}",
        title=f"TPC-H from a file, scale {scale:g}, hot and cold",
        remarks="Hot: on an open connection. Cold: in a new process, the file not in the page cache; with opening it.",
        engines=ENGINES,
        cases=cases,
        session=functools.partial(FileSession, files=tpch_files(scale)),
        difference=functools.partial(differs, {case: Query("") for case in cases}),
    )

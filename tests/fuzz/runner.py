"""Runs generated queries on both engines and on Inlay in other ways, and sorts out what differs.

A case is named by three numbers, `seed:schema:query`, and can be run alone. Besides DuckDB's answer, a case compares

- the answer of Inlay under another setting (one thread, little memory, without the optimizer, where it has them);
- ternary logic partitioning: the rows of a query are those where a condition holds, does not hold, or is NULL;
- NoREC: as many rows pass a condition as a filter as the condition has true values as a column
  (Rigger and Su, OOPSLA and ESEC/FSE 2020).
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import duckdb

import inlay
from tests.fuzz import known
from tests.fuzz.compare import Row, same
from tests.fuzz.queries import Queries
from tests.fuzz.schema import Table, tables

QUERIES_PER_SCHEMA = 100
SECONDS_MAX = 20.0
SETTINGS = (
    "SET threads = 1",
    "SET disabled_optimizers = 'all'",
    "SET memory_limit = '24MB'",
    "SET debug_batch_rows = 2",
)
BESIDE_DUCKDB = (
    "same",
    "different",
    "both refuse",
    "Inlay refuses",
    "data error of Inlay",
    "DuckDB refuses",
    "DuckDB fails",
)


@dataclass
class Finding:
    """A query that was answered in two ways."""

    case: str
    check: str
    sql: str
    script: list[str]
    detail: str


@dataclass
class Report:
    """What a run met."""

    outcomes: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def add(self, other: Report) -> None:
        self.outcomes += other.outcomes
        self.refusals += other.refusals
        self.findings += other.findings


class Case:
    """Both engines with the same tables."""

    def __init__(self, seed: int, schema: int) -> None:
        self.seed, self.schema = seed, schema
        self.tables: list[Table] = tables(random.Random(f"{seed}:{schema}"))
        self.script = [statement for table in self.tables for statement in table.statements()]
        self.inlay, self.duckdb = inlay.connect(), duckdb.connect()
        self.duckdb.execute("SET threads = 1; SET enable_progress_bar = false")
        for statement in self.script:
            self.inlay.execute(statement)
            self.duckdb.execute(statement)
        self.settings = [setting for setting in SETTINGS if self.takes(setting)]

    def takes(self, setting: str) -> bool:
        try:
            self.inlay.cursor().execute(setting)
            self.inlay.execute(reset(setting))
        except inlay.Error:
            return False
        return True

    def close(self) -> None:
        self.inlay.close()
        self.duckdb.close()


def reset(setting: str) -> str:
    """The statement that takes a setting back."""
    return f"RESET {setting.split()[1]}"


class Watch:
    """Interrupts what takes very long. One thread looks once a second: a timer per query costs more than a query."""

    def __init__(self) -> None:
        self.running: tuple[Any, float] | None = None
        threading.Thread(target=self.look, daemon=True).start()

    def look(self) -> None:
        while True:
            time.sleep(1.0)
            running = self.running
            if running and time.process_time() > running[1]:
                running[0].interrupt()


WATCH = Watch()


def answer(connection: Any, sql: str) -> list[Row] | str:
    """Rows, or the text of the error; a query that takes very long is interrupted."""
    WATCH.running = (connection, time.process_time() + SECONDS_MAX)
    try:
        return list(connection.execute(sql).fetchall())
    except (inlay.Error, duckdb.Error) as error:
        return str(error) or type(error).__name__
    except KeyboardInterrupt:
        return "interrupted"
    finally:
        WATCH.running = None


def run_schema(seed: int, schema: int, queries: range = range(QUERIES_PER_SCHEMA)) -> Report:
    """All queries of one schema."""
    report, case = Report(), Case(seed, schema)
    for query in queries:
        run_query(case, query, report)
    case.close()
    return report


def run_query(case: Case, number: int, report: Report) -> None:
    name = f"{case.seed}:{case.schema}:{number}"
    rng = random.Random(name)
    maker = Queries(rng, case.tables)
    sql = maker.query().sql
    ours = answer(case.inlay, sql)
    beside_duckdb(case, name, sql, ours, report)
    if number % 4 == 0 and case.settings and not isinstance(ours, str):
        beside_itself(case, name, sql, ours, rng.choice(case.settings), report)
    if number % 5 == 0:
        partitions(case, name, maker, report)


def beside_duckdb(case: Case, name: str, sql: str, ours: list[Row] | str, report: Report) -> None:
    theirs = answer(case.duckdb, sql)
    found = Finding(name, "duckdb", sql, case.script, "")
    match ours, theirs:
        case str(), str():
            report.outcomes["both refuse"] += 1
        case str(), _:
            report.outcomes["data error of Inlay" if known.is_data_error(ours) else "Inlay refuses"] += 1
            report.refusals[ours.splitlines()[0][:100]] += 1
            if not known.is_data_error(ours):
                found.detail = ours
                report.findings.append(found)
        case _, str():
            explained = known.is_refused_by_duckdb(theirs) or known.is_data_error(theirs)
            report.outcomes["DuckDB refuses" if explained else "DuckDB fails"] += 1
        case _:
            equal = same(ours, theirs)
            explained = not equal and known.is_wrong_in_duckdb(sql)
            report.outcomes["same" if equal else "DuckDB is wrong" if explained else "different"] += 1
            if not equal and not explained:
                found.detail = difference(ours, theirs)
                report.findings.append(found)


def beside_itself(case: Case, name: str, sql: str, ours: list[Row], setting: str, report: Report) -> None:
    case.inlay.execute(setting)
    again = answer(case.inlay, sql)
    case.inlay.execute(reset(setting))
    equal = not isinstance(again, str) and same(ours, again)
    if isinstance(again, str) and ("memory" in again or known.is_data_error(again)):
        equal = True
    report.outcomes["same under a setting" if equal else "different under a setting"] += 1
    if not equal:
        detail = again if isinstance(again, str) else difference(ours, again)
        report.findings.append(Finding(name, setting, sql, case.script, detail))


def partitions(case: Case, name: str, maker: Queries, report: Report) -> None:
    source, scope = maker.source(1)
    condition = maker.make(scope, "boolean", 3)
    columns = ", ".join(sql for sql, _, _ in scope.columns)
    everything = f"SELECT {columns} FROM {source}"
    parts = " UNION ALL ".join(
        f"({everything} WHERE {part})" for part in (condition, f"NOT ({condition})", f"({condition}) IS NULL")
    )
    counted = f"SELECT count(*) FROM {source} WHERE {condition}"
    summed = f"SELECT count(CASE WHEN {condition} THEN 1 END) FROM {source}"
    for check, left, right in (("partitions", everything, parts), ("norec", counted, summed)):
        a, b = answer(case.inlay, left), answer(case.inlay, right)
        if isinstance(a, str) or isinstance(b, str):
            report.outcomes[f"{check}: error"] += 1
            continue
        equal = same(a, b)
        report.outcomes[f"{check}: {'same' if equal else 'different'}"] += 1
        if not equal:
            report.findings.append(Finding(name, check, f"{left};\n{right}", case.script, difference(a, b)))


def difference(ours: list[Row], theirs: list[Row]) -> str:
    """The first rows of one answer that the other lacks."""
    left, right = Counter(map(repr, ours)), Counter(map(repr, theirs))
    only_left, only_right = list((left - right).elements())[:3], list((right - left).elements())[:3]
    return f"{len(ours)} rows and {len(theirs)}; only in the first: {only_left}; only in the second: {only_right}"


__all__ = ["Case", "Finding", "Report", "run_query", "run_schema"]

"""Answers of a cluster beside Inlay's own: equal, refused by name, or wrong.

    python -m tests.cluster.differential                            Sail, in this process
    python -m tests.cluster.differential --url sc://host:15002 tpch ssb

    python -m tests.cluster.differential fuzz --queries 2000 --seed 1

Suites are tpch, ssb, tpcds, friendly, fuzz, which is queries that the fuzzer makes, and sql, which is every query of
`tests/sql` that answers here. A query is

- equal: the rows are the same multiset (doubles within 1e-9); their order is not looked at;
- refused: `EXPLAIN (ENGINE cluster)` names what is not written, and nothing is sent;
- ended: the cluster ended it with a message of ours, at a value that it would have treated in another way;
- wrong or failed: a fault. The script ends with 1 if there is one.
"""

from __future__ import annotations

import argparse
import collections
import math
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import inlay
from inlay._cluster import cluster_of
from tests.fuzz.queries import Queries
from tests.fuzz.schema import tables as tables_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
QUERIES_PER_SCHEMA = 100
SUITES = ("tpch", "ssb", "tpcds", "friendly", "fuzz", "sql")

#: Questions about the session, the machine or the text of a plan, and what is different each time.
LOCAL = re.compile(
    r"^\s*(explain|describe|show|pragma|call|summarize|copy|insert|update|delete|merge)\b", re.IGNORECASE
)


def has_sail() -> bool:
    try:
        import pysail  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError:
        return False
    return True


def sortable(value: Any) -> tuple[int, str]:
    """A key by which values of one column can be ordered, NULLs last; near doubles are near, and zeros are one."""
    if value is None:
        return (1, "")
    if isinstance(value, (float, Decimal)):
        return (0, f"{float(value) + 0.0:+030.4f}")
    return (0, f"{value:+040d}" if isinstance(value, int) else str(value))


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal, doubles nearly."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(map(same, left.values(), right.values()))
    return type(left) is type(right) and bool(left == right)


def difference(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> str | None:
    """What differs between two answers, as multisets; `None` if nothing does."""
    if len(ours) != len(theirs):
        return f"{len(theirs)} rows, not {len(ours)}"
    key = lambda row: tuple(map(sortable, row))  # noqa: E731
    for mine, other in zip(sorted(ours, key=key), sorted(theirs, key=key), strict=True):
        if not all(map(same, mine, other)) or len(mine) != len(other):
            return f"{other!r:.200}, not {mine!r:.200}"
    return None


class Outcome(collections.Counter[str]):
    """How many queries ended how."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.faults: list[str] = []
        self.reasons: collections.Counter[str] = collections.Counter()
        self.seconds = 0.0

    def note(self, kind: str, query: str, why: str) -> None:
        self[kind] += 1
        if kind in ("wrong", "failed"):
            self.faults.append(f"{kind}: {' '.join(query.split())[:300]}\n    {why[:300]}")
        if kind in ("refused", "ended"):
            self.reasons[re.sub(r" \(line \d+, column \d+\)", "", why)] += 1

    def line(self) -> str:
        kinds = ("equal", "refused", "ended", "wrong", "failed")
        return f"{self.name:10}" + "".join(f"{self[kind]:6} {kind}" for kind in kinds) + f"   {self.seconds:.1f} s"


def ask(con: Any, query: str, outcome: Outcome) -> None:
    """Ask here and there."""
    try:
        local = con.sql(query)
        if local is None:
            return
        ours = local.fetchall()
        names, types = local.columns, [str(ty) for ty in local.types]
    except inlay.Error:
        return
    try:
        begun = time.perf_counter()
        there = con.sql(query, engine="cluster")
        theirs = there.fetchall()
        outcome.seconds += time.perf_counter() - begun
    except inlay.NotSupportedError as error:
        return outcome.note("refused", query, str(error).removeprefix("on a cluster: ").split(" is not supported")[0])
    except inlay.DataError as error:
        if "on the cluster: " in str(error):
            return outcome.note("ended", query, str(error))
        return outcome.note("failed", query, str(error))
    except Exception as error:
        return outcome.note("failed", query, f"{type(error).__name__}: {error}")
    if (names, types) != (there.columns, [str(ty) for ty in there.types]):
        return outcome.note("wrong", query, f"columns {there.columns} {there.types}, not {names} {types}")
    found = difference(ours, theirs)
    if found and "limit" in query.lower() and len(ours) == len(theirs):
        # Which of the rows that tie come before the end is free.
        cut = re.sub(r"\bLIMIT\s+\d+\s*;?\s*$", "", query.strip(), flags=re.IGNORECASE)
        try:
            found = difference(con.sql(cut).fetchall(), con.sql(cut, engine="cluster").fetchall())
        except inlay.Error as error:
            found = str(error)
    if found:
        return outcome.note("wrong", query, found)
    return outcome.note("equal", query, "")


def tpch(con: Any) -> Iterator[str]:
    con.execute("CALL dbgen(sf = 0.01)")
    for path in sorted((ROOT / "tests" / "tpch" / "queries").glob("*.sql")):
        yield path.read_text().strip().rstrip(";")


def ssb(con: Any) -> Iterator[str]:
    from bench.ssb.generate import tables
    from bench.ssb.queries import QUERIES

    for name, parts in tables(0.01):
        for number, chunk in enumerate(parts):
            verb = f"INSERT INTO {name}" if number else f"CREATE TABLE {name} AS"
            con.execute(f"{verb} FROM chunk")
            del chunk
    yield from QUERIES.values()


def tpcds(con: Any) -> Iterator[str]:
    from tests.tpcds.workload import QUERY_NUMBERS, query_text

    con.execute("CALL tpcds_dbgen(sf := 0.01)")
    yield from map(query_text, QUERY_NUMBERS)


def friendly(con: Any) -> Iterator[str]:
    con.execute("CREATE TABLE t(a INTEGER, b INTEGER, s VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 5, 'x'), (2, 4, 'y'), (3, NULL, 'x'), (3, 1, NULL), (2, 9, 'long')")
    con.execute("CREATE TABLE u AS FROM (VALUES (1, 'x', 10), (2, 'x', 20), (2, 'y', 30)) v(at, s, w)")
    con.execute("CREATE MACRO twice(x) AS x * 2")
    con.execute("CREATE VIEW seen AS SELECT a, b FROM t WHERE b IS NOT NULL")
    text = "\n".join(line for line in (HERE / "friendly.sql").read_text().splitlines() if not line.startswith("--"))
    yield from (query.strip() for query in text.split(";\n") if query.strip())


def records(path: Path) -> Iterator[tuple[str, str]]:
    """Directive and SQL of each record of a sqllogictest file."""
    for block in re.split(r"\n\s*\n", path.read_text()):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        while lines and not re.match(r"(statement|query)\b", lines[0]):
            lines.pop(0)
        if lines:
            body = lines[1:]
            end = body.index("----") if "----" in body else len(body)
            yield lines[0], "\n".join(body[:end])


def logic(url: str, outcome: Outcome, wanted: str) -> None:
    """All queries of `tests/sql`, each file in a database of its own on one cluster."""
    for path in sorted((ROOT / "tests" / "sql").rglob("*.slt")):
        if wanted not in str(path) or "memory" in path.name or "large" in path.name:
            continue
        with tempfile.TemporaryDirectory() as folder, inlay.connect() as con:
            con.attach_cluster(url, folder=folder)
            before = sum(outcome.values())
            for directive, sql in records(path):
                if directive.startswith("query") and not LOCAL.match(sql):
                    ask(con, sql, outcome)
                elif directive.startswith(("statement ok", "statement count")):
                    try:
                        con.execute(sql)
                    except inlay.Error:
                        break
            con.detach_cluster()
            print(f"  {path.relative_to(ROOT)}: {sum(outcome.values()) - before}", file=sys.stderr, flush=True)


def fuzz(url: str, outcome: Outcome, seed: int, count: int) -> None:
    """Random queries over random tables, each schema in a database of its own."""
    for schema in range(-(-count // QUERIES_PER_SCHEMA)):
        made = tables_of(random.Random(f"{seed}:{schema}"))
        with tempfile.TemporaryDirectory() as folder, inlay.connect() as con:
            for table in made:
                for statement in table.statements():
                    con.execute(statement)
            con.attach_cluster(url, folder=folder)
            for number in range(QUERIES_PER_SCHEMA):
                case = f"{seed}:{schema}:{number}"
                faults = len(outcome.faults)
                ask(con, Queries(random.Random(case), made).query().sql, outcome)
                outcome.faults[faults:] = [f"{case} {fault}" for fault in outcome.faults[faults:]]
            con.detach_cluster()


def run(
    suites: Iterable[str], url: str, wanted: str = "", seed: int = 1, count: int = QUERIES_PER_SCHEMA
) -> list[Outcome]:
    outcomes = []
    given = {"tpch": tpch, "ssb": ssb, "tpcds": tpcds, "friendly": friendly}
    with inlay.connect() as first:
        if url == "sail://local":
            # One server for all databases.
            first.attach_cluster(url)
            url = cluster_of(first).remote
        for name in suites:
            outcome = Outcome(name)
            outcomes.append(outcome)
            if name == "sql":
                logic(url, outcome, wanted)
                continue
            if name == "fuzz":
                fuzz(url, outcome, seed, count)
                continue
            with inlay.connect() as con:
                queries = given[name](con)
                con.attach_cluster(url)
                for query in queries:
                    ask(con, query, outcome)
                con.detach_cluster()
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", default=SUITES, metavar="suite", help=", ".join(SUITES))
    parser.add_argument("--url", default="sail://local")
    parser.add_argument("--files", default="", help="of the suite sql: files whose path has this in it")
    parser.add_argument("--queries", type=int, default=QUERIES_PER_SCHEMA, help="of the suite fuzz: how many")
    parser.add_argument("--seed", type=int, default=1, help="of the suite fuzz: what they are made from")
    parser.add_argument("--reasons", action="store_true", help="show what was refused how often")
    arguments = parser.parse_args()
    if not has_sail():
        print("pysail or pyspark-client is not installed: nothing is compared (pip install inlay[sail])")
        return 0
    faults = 0
    for outcome in run(arguments.suites, arguments.url, arguments.files, arguments.seed, arguments.queries):
        print(outcome.line())
        for fault in outcome.faults:
            print("  " + fault)
        if arguments.reasons:
            for reason, count in outcome.reasons.most_common(60):
                print(f"  refused {count:5}  {reason}")
        faults += len(outcome.faults)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())

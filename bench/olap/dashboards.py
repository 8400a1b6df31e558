"""Filters of dashboards: counts and sums of listings by conditions on one to four columns, with bitmap indexes or none.

    python -m bench.olap.dashboards --rows 10000000 --threads 2

Every answer is compared between the engines, which take turns; the median of `--rounds` counts. Times are of one
machine at one moment: the ratios are what is to be looked at.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from bench.olap.suite import AGENTS, CITIES, REGIONS, TYPES, listings

INDEXED = ("region", "city", "type", "rooms", "built", "agent")
Run = Callable[[str], list[tuple[Any, ...]]]


def condition(column: str, dice: random.Random) -> str:
    """A condition as someone who clicks at values and ranges makes it."""
    if column == "region":
        some = ", ".join(f"'Region {n:02d}'" for n in dice.sample(range(REGIONS), dice.randint(1, 3)))
        return f"region IN ({some})"
    if column == "city":
        return f"city = 'City {dice.randrange(CITIES):03d} upon River'"
    if column == "type":
        return f"type = '{dice.choice(TYPES)}'"
    if column == "rooms":
        low = dice.randint(1, 8)
        return f"rooms BETWEEN {low} AND {low + dice.randint(0, 2)}"
    if column == "built":
        low = dice.randint(1910, 2015)
        return f"built BETWEEN {low} AND {low + dice.choice((0, 4, 9))}"
    low = dice.randrange(AGENTS - 20)
    return f"agent BETWEEN {low} AND {low + dice.randint(0, 5)}"


def queries(count: int) -> list[str]:
    """Of filters on one to four columns, half with a sum."""
    dice = random.Random(45)
    made = []
    for number in range(count):
        columns = dice.sample(INDEXED, number % 4 + 1)
        measure = "count(*)" if number // 4 % 2 == 0 else "count(*), sum(price)"
        where = " AND ".join(condition(column, dice) for column in columns)
        made.append(f"SELECT {measure} FROM listings WHERE {where}")
    made += [
        "SELECT region, count(*) FROM listings GROUP BY region ORDER BY region",
        "SELECT city, count(*) AS n FROM listings WHERE type = 'loft' GROUP BY city ORDER BY n DESC, city LIMIT 10",
        "SELECT DISTINCT built FROM listings ORDER BY built",
        "SELECT min(built), max(built), count(DISTINCT agent) FROM listings",
    ]
    return made


def inlay_engine(rows: int, threads: int) -> tuple[Run, Run, str]:
    """Inlay without and with indexes, and what these cost."""
    import inlay

    con = inlay.connect()
    con.execute(f"SET threads = {threads}")
    for _, tables in listings(rows):
        for data in tables:
            con.register("data", data)
            con.execute("CREATE TABLE listings AS SELECT * FROM data")
            con.unregister("data")
    began = time.perf_counter()
    con.execute(f"CREATE INDEX by_value ON listings USING bitmap ({', '.join(INDEXED)})")
    took = time.perf_counter() - began
    size = con.execute("SELECT memory_size FROM inlay_indexes()").fetchall()[0][0]

    def run(sql: str, use: bool) -> list[tuple[Any, ...]]:
        con.execute(f"SET enable_bitmap_indexes = {use}")
        rows: list[tuple[Any, ...]] = con.execute(sql).fetchall()
        return rows

    cost = f"index made in {took:.2f} s, {size / 1e6:.1f} MB in memory"
    return (lambda sql: run(sql, False)), (lambda sql: run(sql, True)), cost


def duckdb_engine(rows: int, threads: int) -> Run:
    """DuckDB in memory."""
    import duckdb

    con = duckdb.connect()
    con.execute(f"SET threads = {threads}")
    for _, tables in listings(rows):
        for data in tables:
            con.register("data", data)
            con.execute("CREATE TABLE listings AS SELECT * FROM data")
            con.unregister("data")
    return lambda sql: con.execute(sql).fetchall()


def same(left: list[tuple[Any, ...]], right: list[tuple[Any, ...]]) -> bool:
    """Sums of floats in any order."""

    def close(a: object, b: object) -> bool:
        if isinstance(a, float) and isinstance(b, float):
            return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
        return a == b

    return len(left) == len(right) and all(
        len(a) == len(b) and all(map(close, a, b)) for a, b in zip(left, right, strict=True)
    )


def main() -> None:
    """Prints a line for each query and a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--queries", type=int, default=40)
    args = parser.parse_args()
    without, indexed, cost = inlay_engine(args.rows, args.threads)
    engines = {"without": without, "with": indexed, "duckdb": duckdb_engine(args.rows, args.threads)}
    print(f"{args.rows:,} rows, {args.threads} threads; {cost}")
    medians: dict[str, list[float]] = {name: [] for name in engines}
    for sql in queries(args.queries):
        times: dict[str, list[float]] = {name: [] for name in engines}
        answers = {name: run(sql) for name, run in engines.items()}
        for name, answer in answers.items():
            if not same(answer, answers["duckdb"]):
                raise SystemExit(f"{name} answers otherwise: {sql}\n{answer[:5]}\n{answers['duckdb'][:5]}")
        for _ in range(args.rounds):
            for name, run in engines.items():
                began = time.perf_counter()
                run(sql)
                times[name].append(time.perf_counter() - began)
        now = {name: statistics.median(found) for name, found in times.items()}
        for name, seconds in now.items():
            medians[name].append(seconds)
        print(
            f"{now['with'] * 1e3:8.2f} ms  {now['with'] / now['without']:5.2f} x without  "
            f"{now['with'] / now['duckdb']:5.2f} x DuckDB  {sql[7:110]}"
        )
    for name, found in medians.items():
        print(f"{name:8} median {statistics.median(found) * 1e3:7.2f} ms, worst {max(found) * 1e3:7.2f} ms")
    for other in ("without", "duckdb"):
        ratios = [a / b for a, b in zip(medians["with"], medians[other], strict=True)]
        print(f"with / {other}: geometric mean {statistics.geometric_mean(ratios):.3f}, worst {max(ratios):.2f}")


if __name__ == "__main__":
    main()

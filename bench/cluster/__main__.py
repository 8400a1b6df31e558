"""TPC-H from Parquet files: Inlay here, a cluster through Inlay, and the same text by pyspark alone. Then the voters,
classified on the cluster by a function that was trained here.

    python -m bench.cluster --sf 1                                   on Sail, which is started for it
    python -m bench.cluster --sf 1 --url sc://127.0.0.1:15002        on Spark
    python -m bench.cluster --sf 0.01 --only tpch --queries 1,6 --runs 3

Each query runs `--runs` times in turns; medians are shown. Going through Inlay may cost 10 % and 0.2 s of what pyspark
takes; answers have to be equal. The script ends with 1 where they are not.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import inlay
from bench.data import files_of, tpch_files
from inlay._cluster import cluster_of
from inlay._inlay import Shipped
from tests.cluster.differential import difference
from tests.tpch.workload import QUERY_NUMBERS, query_text

COST_SHARE_MAX, COST_SECONDS_MAX = 0.10, 0.2


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    value = work()
    return time.perf_counter() - begun, value


def views(con: Any, files: Mapping[str, Path]) -> None:
    for name, path in files.items():
        con.execute(f"CREATE VIEW {name} AS FROM '{path}'")


def text_of(con: Any, query: str, folder: str) -> str:
    """What Inlay would send; files have the names that it gave them before."""
    return str(Shipped().write(con, query, {}, folder)[0])


def here(con: Any, query: str) -> Any:
    return con.sql(query).to_arrow_table()


def there(con: Any, query: str) -> Any:
    return con.sql(query, engine="cluster").to_arrow_table()


def alone(session: Any, text: str) -> Any:
    return session.sql(text).toArrow()


def tpch(con: Any, scale: float, numbers: list[int], runs: int) -> bool:
    files = tpch_files(scale)
    views(con, files)
    cluster = cluster_of(con)
    kept: dict[str, list[float]] = {"here": [], "there": [], "pyspark": []}
    is_right = True
    print(f"TPC-H from Parquet at scale {scale:g}, seconds: here, {cluster.shown} through Inlay, its text by pyspark")
    for number in numbers:
        query = query_text(number).strip().rstrip(";")
        text = text_of(con, query, cluster.folder)
        ways: dict[str, Callable[[], Any]] = {
            "here": partial(here, con, query),
            "there": partial(there, con, query),
            "pyspark": partial(alone, cluster._held.session, text),
        }
        answers = (con.sql(query).fetchall(), con.sql(query, engine="cluster").fetchall())
        found: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(runs):
            for way, work in ways.items():
                found[way].append(timed(work)[0])
        medians = {way: statistics.median(seconds) for way, seconds in found.items()}
        for way, seconds in medians.items():
            kept[way].append(seconds)
        wrong = difference(*answers)
        is_right = is_right and wrong is None
        shown = "".join(f"{medians[way]:9.3f}" for way in ways)
        print(f"  Q{number:<3}{shown}   {'equal' if wrong is None else wrong}", flush=True)
    sums = {way: sum(seconds) for way, seconds in kept.items()}
    print("  sum " + "".join(f"{sums[way]:9.3f}" for way in sums))
    allowed = [theirs * (1 + COST_SHARE_MAX) + COST_SECONDS_MAX for theirs in kept["pyspark"]]
    within = sum(ours <= most for ours, most in zip(kept["there"], allowed, strict=True))
    print(f"  through Inlay within 10 % + 0.2 s of pyspark: {within} of {len(numbers)} queries")
    return is_right


def voters(con: Any, rows: int, runs: int) -> bool:
    """A forest that was trained here classifies voters there; its votes are summed by precinct."""
    try:
        from sklearn.ensemble import RandomForestClassifier
    except ImportError:
        print("voters: skipped, as scikit-learn is not installed")
        return True
    from bench.voters.engines import LABEL, PARAMETERS, TRAINED
    from bench.voters.generate import FEATURES, TABLES, tables

    views(con, files_of(f"voters-{rows}", TABLES, lambda: tables(rows)))
    joined = "FROM voters JOIN precincts ON voters.precinct = precincts.precinct"
    named = ", ".join(FEATURES)
    train = con.sql(f"SELECT {LABEL} AS label, {named} {joined} WHERE id % {TRAINED} = 0").df()
    forest = RandomForestClassifier(**{**PARAMETERS, "n_jobs": 1}).fit(
        train[list(FEATURES)].to_numpy("f4"), train["label"]
    )

    def classified(*features: Any) -> Any:
        import numpy as np

        return forest.predict(np.column_stack([np.asarray(column, "f4") for column in features])).astype("i4")

    con.create_function("classified", classified, ["INTEGER"] * len(FEATURES), "INTEGER", type="numpy")
    query = f"SELECT voters.precinct, sum(classified({named})) AS votes {joined} WHERE id % {TRAINED} <> 0 GROUP BY ALL"
    ways: dict[str, Callable[[], Any]] = {"here": partial(here, con, query), "there": partial(there, con, query)}
    answers = [list(zip(*work().to_pydict().values(), strict=True)) for work in ways.values()]
    found: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(runs):
        for way, work in ways.items():
            found[way].append(timed(work)[0])
    own, theirs = (statistics.median(seconds) for seconds in found.values())
    wrong = difference(*answers)
    shown = "equal" if wrong is None else wrong
    print(f"{rows:,} voters classified, seconds: {own:.2f} here, {theirs:.2f} there   {shown}")
    return wrong is None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sf", type=float, default=1.0)
    parser.add_argument("--rows", type=float, default=1e6, help="how many voters")
    parser.add_argument("--url", default="sail://local")
    parser.add_argument("--queries", help="numbers of TPC-H's queries")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=("tpch", "voters"))
    options = parser.parse_args()
    numbers = [int(number) for number in options.queries.split(",")] if options.queries else list(QUERY_NUMBERS)
    is_right = True
    with tempfile.TemporaryDirectory() as folder, inlay.connect() as con:
        con.execute("SET threads = 2")
        con.attach_cluster(options.url, folder=folder)
        if options.only != "voters":
            is_right = tpch(con, options.sf, numbers, options.runs)
        if options.only != "tpch":
            is_right = voters(con, int(options.rows), options.runs) and is_right
        con.detach_cluster()
    return 0 if is_right else 1


if __name__ == "__main__":
    raise SystemExit(main())

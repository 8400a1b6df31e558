"""Functions of Python on a cluster: answers are those that they have here."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import inlay

pytest.importorskip("pysail")
pytest.importorskip("pyspark")


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    with inlay.connect() as con:
        con.execute("""
            CREATE TABLE t AS SELECT i % 7 AS k, CASE WHEN i % 11 > 0 THEN i END::INTEGER AS a, i / 4 AS x,
                   CASE WHEN i % 5 > 0 THEN 'é' || i END AS s, DATE '2020-01-01' + i::INTEGER AS d,
                   (i / 100)::DECIMAL(10, 2) AS m, [i, i + 1] AS l, i % 3 = 0 AS b, {'p': i, 'q': 'z' || i} AS r,
                   TIMESTAMP '2020-01-01 10:00:00' + to_minutes(i) AS at, (i % 200)::UTINYINT AS u
            FROM range(1000) n(i)
        """)
        functions(con)
        con.attach_cluster("sail://local")
        yield con
        con.detach_cluster()


class Mean:
    """An aggregate that is told rows in parts."""

    def __init__(self) -> None:
        self.sum, self.count = 0.0, 0

    def update(self, x: Any) -> None:
        self.sum += float(np.sum(x))
        self.count += len(x)

    def merge(self, other: Mean) -> None:
        self.sum += other.sum
        self.count += other.count

    def finish(self) -> float | None:
        return self.sum / self.count if self.count else None


def model(weights: Any) -> Any:
    """A function over two megabytes of weights."""

    def predict(x: Any) -> Any:
        return weights[(np.asarray(x) * 4).astype(int) % len(weights)]

    return predict


def functions(con: Any) -> None:
    con.create_function("twice", lambda x: x * 2, ["INTEGER"], "INTEGER", type="numpy")
    con.create_function("plus", lambda x, by: x + by, ["INTEGER", "INTEGER"], "BIGINT")
    con.create_function("nulls", lambda s: -1 if s is None else len(s), ["VARCHAR"], "INTEGER", null_handling="special")
    con.create_function("upper_of", lambda s: s.upper(), ["VARCHAR"], "VARCHAR")
    con.create_function("next_day", lambda d: d + datetime.timedelta(days=1), ["DATE"], "DATE")
    con.create_function("later", lambda at: at + datetime.timedelta(hours=1), ["TIMESTAMP"], "TIMESTAMP")
    con.create_function("tax", lambda m: m * Decimal("1.19"), ["DECIMAL(10, 2)"], "DECIMAL(18, 4)")
    con.create_function("reversed_of", lambda values: values[::-1], ["BIGINT[]"], "BIGINT[]")
    con.create_function("small", lambda u: u // 2, ["UTINYINT"], "UTINYINT")
    con.create_function("which", lambda b: "yes" if b else "no", ["BOOLEAN"], "VARCHAR")
    con.create_function(
        "row_of", lambda x: {"half": x / 2, "text": str(x)}, ["BIGINT"], "STRUCT(half DOUBLE, text VARCHAR)"
    )
    con.create_function("one_over", lambda x: 1 / x, ["BIGINT"], "DOUBLE", exception_handling="return_null")
    con.create_function("predict", model(np.arange(1 << 18, dtype=np.float64)), ["DOUBLE"], "DOUBLE", type="numpy")
    con.create_function("arrows", lambda x: x, ["DOUBLE"], "DOUBLE", type="arrow")
    con.create_function("fails", lambda x: 1 // (x - 500), ["BIGINT"], "BIGINT")
    con.create_function("whole", lambda x: x, ["BIGINT"], "BIGINT", type="numpy", blocking=True)
    con.create_aggregate("spread", lambda x: np.max(x) - np.min(x), ["DOUBLE"], "DOUBLE")
    con.create_aggregate("mean_of", Mean, ["DOUBLE"], "DOUBLE")
    con.create_aggregate(
        "texts", lambda s: sorted(v for v in s.tolist() if v is not None)[:2], ["VARCHAR"], "VARCHAR[]"
    )
    con.execute("SET allow_python = true")
    con.execute("CREATE FUNCTION stored(x INTEGER) RETURNS DOUBLE LANGUAGE PYTHON_MAP { return np.sqrt(x + 1.0) }")
    con.execute("CREATE AGGREGATE stored_sum(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON { return np.sum(x) }")


#: Queries whose answers are the same here and there.
EQUAL = [
    "SELECT a, twice(a) FROM t",
    "SELECT a, plus(a, 5), plus(a, a) FROM t WHERE twice(a) > 100",
    "SELECT s, nulls(s), upper_of(s) FROM t",
    "SELECT next_day(d), later(at) FROM t",
    "SELECT tax(m), small(u), which(b) FROM t",
    "SELECT reversed_of(l) FROM t",
    "SELECT row_of(a).half, row_of(a) FROM t",
    "SELECT one_over(k) FROM t",
    "SELECT predict(x), arrows(x) FROM t",
    "SELECT stored(a) FROM t WHERE a > 3",
    "SELECT twice(twice(a)) + 1 AS n FROM t ORDER BY n DESC NULLS LAST LIMIT 5",
    "SELECT twice(k::INTEGER) AS g, count(*) FROM t GROUP BY g",
    "SELECT sum(twice(a)), max(upper_of(s)) FROM t",
    "SELECT k, spread(x) FROM t GROUP BY k",
    "SELECT k, count(*), spread(x), sum(a), mean_of(x) FROM t GROUP BY k",
    "SELECT a % 10 AS g, b, mean_of(x), count(*) FROM t GROUP BY ALL",
    "SELECT spread(x), count(*) FROM t",
    "SELECT spread(x) FROM t WHERE x < 0",
    "SELECT k, texts(s) FROM t GROUP BY k",
    "SELECT k, stored_sum(x * 2) AS n FROM t GROUP BY k HAVING n > 3000 ORDER BY n",
    "SELECT u.k, sum(twice(t.a)) FROM t JOIN (SELECT DISTINCT k FROM t) u USING (k) GROUP BY u.k",
]


@pytest.mark.parametrize("query", EQUAL)
def test_answers_are_those_of_here(con: Any, query: str) -> None:
    ours = con.sql(query)
    there = con.sql(query, engine="cluster")
    assert (there.columns, there.types) == (ours.columns, ours.types)
    rows, others = (sorted(each.fetchall(), key=repr) for each in (ours, there))
    assert len(rows) == len(others)
    for row, other in zip(rows, others, strict=True):
        assert other == pytest.approx(row) if all(isinstance(v, (int, float)) for v in row) else other == row


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT whole(k) FROM t", "the function whole, which sees all rows of its columns at once"),
        ("SELECT spread(x) OVER () FROM t", "the aggregate spread of Python with DISTINCT, FILTER, ORDER BY or OVER"),
        ("SELECT spread(x) FILTER (WHERE b) FROM t", "the aggregate spread of Python"),
        ("SELECT list_transform(l, e -> one_over(e)) FROM t", "a function of Python in a lambda"),
        (
            "SELECT 1 FROM t a LEFT JOIN t b ON twice(a.a) = b.a + a.a",
            "a function of Python in the condition of a join",
        ),
    ],
)
def test_what_cannot_go_along_is_refused_by_name(con: Any, query: str, why: str) -> None:
    with pytest.raises(inlay.NotSupportedError) as told:
        con.sql(query, engine="cluster")
    assert why in str(told.value)


def test_an_exception_of_a_function_is_told_as_here(con: Any) -> None:
    with pytest.raises(inlay.Error, match='"fails" raised ZeroDivisionError'):
        con.sql("SELECT fails(a) FROM t").fetchall()
    with pytest.raises(inlay.DataError, match='on the cluster: function "fails" raised ZeroDivisionError'):
        con.sql("SELECT fails(a) FROM t", engine="cluster")


def test_what_goes_along_is_told(con: Any) -> None:
    lines = [row[0] for row in con.execute("EXPLAIN (ENGINE cluster) SELECT twice(a) FROM t").fetchall()]
    assert lines[0] == "runs on the cluster" and "sends inlay_f0 = twice(INTEGER) -> INTEGER" in lines


def test_a_function_that_is_made_anew_is_sent_anew(con: Any) -> None:
    for factor in (2, 3):
        if factor > 2:
            con.remove_function("times")
        con.create_function("times", lambda x, factor=factor: x * factor, ["INTEGER"], "INTEGER")
        assert con.sql("SELECT max(times(a)) FROM t", engine="cluster").fetchall() == [(999 * factor,)]


def test_a_large_function_is_put_in_the_folder_once(con: Any) -> None:
    from pathlib import Path

    from inlay._cluster import cluster_of

    for _ in range(2):
        assert con.sql("SELECT max(predict(x)) FROM t", engine="cluster").fetchall() == [(999.0,)]
    kept = list(Path(cluster_of(con).folder).glob("function-*.pickle"))
    assert len(kept) == 1 and kept[0].stat().st_size > 2 << 20


def test_versions_are_compared_first(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from inlay import _along
    from inlay._cluster import cluster_of

    cluster = cluster_of(con)
    _along.check_versions(cluster._session(), cluster.shown)
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    monkeypatch.setattr(_along, "versions", lambda: f"3.99 {inlay.__version__}")
    with pytest.raises(inlay.NotSupportedError, match=rf"the same Python: 3\.99 here, {here} at sail://local"):
        _along.check_versions(cluster._session(), cluster.shown)
    monkeypatch.setattr(_along, "versions", lambda: f"{here} 9.9")
    with pytest.raises(inlay.NotSupportedError, match=r"pip install inlay==9\.9 there"):
        _along.check_versions(cluster._session(), cluster.shown)

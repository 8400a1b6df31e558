"""Datetimes without a zone that become TIMESTAMPTZ are of the session's zone, whatever way they come in."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

import inlay

pd = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")
pytest.importorskip("pyarrow")

NAIVE = datetime.datetime(2020, 7, 1, 12)
AWARE = datetime.datetime(2020, 7, 1, 12, tzinfo=datetime.timezone.utc)
ZONED = "TIMESTAMP WITH TIME ZONE"
#: What NAIVE is in Berlin.
NOON = "2020-07-01 12:00:00+02"


@pytest.fixture
def con() -> inlay.Connection:
    return inlay.connect(config={"timezone": "Europe/Berlin"})


def forms(values: list[Any]) -> dict[str, Any]:
    objects = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        objects[at] = value
    return {
        "frame": pd.DataFrame({"a": pd.Series(values, dtype=object)}),
        "records": [{"a": value} for value in values],
        "lists": {"a": values},
        "arrays": {"a": objects},
    }


@pytest.mark.parametrize(
    ("values", "ty", "shown"),
    [
        ([NAIVE, AWARE], ZONED, NOON),
        ([AWARE, NAIVE], ZONED, "2020-07-01 14:00:00+02"),
        ([pd.Timestamp(NAIVE), AWARE], ZONED, NOON),
        ([NAIVE, pd.Timestamp(AWARE)], ZONED, NOON),
        ([[NAIVE], [AWARE]], f"{ZONED}[]", f"['{NOON}']"),
        ([[NAIVE, AWARE]], f"{ZONED}[]", f"['{NOON}', '2020-07-01 14:00:00+02']"),
        ([{"x": NAIVE}, {"x": AWARE}], f"STRUCT(x {ZONED})", f"{{'x': '{NOON}'}}"),
        ([NAIVE, None], "TIMESTAMP", "2020-07-01 12:00:00"),
    ],
)
def test_one_rule_for_all_containers(con: inlay.Connection, values: list[Any], ty: str, shown: str) -> None:
    for name, form in forms(values).items():
        con.register("form", form)
        found = con.execute("SELECT typeof(a), a::VARCHAR FROM form").fetchall()
        assert found[0] == (ty, shown), name
        con.execute("SET timezone = 'UTC'")
        con.register("form", form)
        in_utc = con.execute("SELECT count(*) FROM form WHERE a::VARCHAR LIKE '%12:00:00%'").fetchone()
        assert in_utc is not None and in_utc[0] == sum(each is not None for each in values), name
        con.execute("SET timezone = 'Europe/Berlin'")
    con.execute("CREATE TABLE t (a TIMESTAMPTZ[])")
    con.execute("INSERT INTO t VALUES (?)", [[NAIVE, AWARE]])
    assert con.execute("SELECT a[1]::VARCHAR FROM t").fetchone() == (NOON,)


def test_parameters_and_appenders(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (a TIMESTAMPTZ, b TIMESTAMPTZ[], c MAP(VARCHAR, TIMESTAMPTZ))")
    row = (NAIVE, [NAIVE], {"k": NAIVE})
    con.execute("INSERT INTO t VALUES (?, ?, map {'k': ?})", [NAIVE, [NAIVE], NAIVE])
    con.executemany("INSERT INTO t VALUES (?, ?, map {'k': ?})", [[NAIVE, [NAIVE], NAIVE]] * 2)
    with con.appender("t") as rows:
        rows.append_row(*row)
        rows.append_rows([row])
    found = con.execute("SELECT a::VARCHAR, b[1]::VARCHAR, c['k']::VARCHAR FROM t").fetchall()
    assert found == [(NOON, NOON, NOON)] * 5
    con.execute("SET timezone = 'UTC'")
    with con.appender("t") as rows:
        rows.append_row(*row)
    assert con.execute("SELECT count(*) FROM t WHERE a = '2020-07-01 12:00:00+00'").fetchone() == (1,)


@pytest.mark.parametrize("mode", ["native", "pandas", "numpy"])
def test_what_functions_give(con: inlay.Connection, mode: str) -> None:
    if mode == "native":
        con.create_function("f", lambda x: NAIVE, ["INTEGER"], "TIMESTAMPTZ")
    elif mode == "pandas":
        con.create_function("f", lambda x: pd.Series([NAIVE] * len(x)), ["INTEGER"], "TIMESTAMPTZ", type="pandas")
    else:
        con.create_function(
            "f", lambda x: np.full(np.shape(x), NAIVE, "M8[us]"), ["INTEGER"], "TIMESTAMPTZ", type="numpy"
        )
    # NumPy's moments are given to functions in UTC, and come back so.
    noon = (
        con.execute("SELECT (TIMESTAMPTZ '2020-07-01 12:00:00+00')::VARCHAR").fetchone() if mode == "numpy" else (NOON,)
    )
    assert con.execute("SELECT f(1)::VARCHAR FROM range(2)").fetchall() == [noon] * 2
    assert con.execute("SELECT f(i::INTEGER)::VARCHAR FROM range(2) t(i)").fetchall() == [noon] * 2
    # Of the session that calls it, not of the one that made it.
    other = con.cursor()
    other.execute("SET timezone = 'UTC'")
    assert other.execute("SELECT f(i::INTEGER)::VARCHAR FROM range(1) t(i)").fetchall() == [("2020-07-01 12:00:00+00",)]


def test_functions_with_lists_of_moments(con: inlay.Connection) -> None:
    con.create_function("f", lambda x: [NAIVE], ["INTEGER"], "TIMESTAMPTZ[]")
    con.create_function("g", lambda x: {"k": NAIVE}, ["INTEGER"], "MAP(VARCHAR, TIMESTAMPTZ)")
    assert con.execute("SELECT f(1)[1]::VARCHAR, g(1)['k']::VARCHAR").fetchall() == [(NOON, NOON)]


@pytest.mark.parametrize("mode", ["native", "pandas", "numpy", "arrow", "polars"])
def test_moments_come_back_as_they_went(con: inlay.Connection, mode: str) -> None:
    con.create_function("f", lambda x: x, ["TIMESTAMPTZ"], "TIMESTAMPTZ", type=mode)
    con.create_function("g", lambda x: x, ["TIMESTAMPTZ[]"], "TIMESTAMPTZ[]", type=mode)
    con.execute(
        "CREATE TABLE moments AS SELECT TIMESTAMPTZ '2020-07-01 08:00:00-04' + to_hours(i) AS a FROM range(3) t(i)"
    )
    assert con.execute("SELECT count(*) FROM moments WHERE f(a) = a AND g([a]) = [a]").fetchone() == (3,)
    if mode == "numpy":
        con.create_aggregate("h", lambda x: x.max(), ["TIMESTAMPTZ"], "TIMESTAMPTZ", type=mode)
        assert con.execute("SELECT h(a) = max(a) FROM moments").fetchone() == (True,)

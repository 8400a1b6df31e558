"""What functions in Python are given of every type comes back from them, or the function is refused when it is made."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest

import inlay

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("polars")

STYLES = ["native", "numpy", "pandas", "arrow", "polars"]
KEPT = {
    "TIMETZ": ["'10:00:00+02'", "'23:59:59.5-15:59:59'", "NULL"],
    "TIMETZ[]": ["[TIMETZ '10:00:00+02']", "NULL"],
    "MAP(VARCHAR, BIGINT)": ["MAP {'a': 1}", "MAP {}", "NULL"],
    "STRUCT(m MAP(VARCHAR, BIGINT))": ["{'m': MAP {'a': 1}}", "NULL"],
    "BIT": ["'0101'", "NULL"],
    "UUID": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "NULL"],
    "DECIMAL(20, 2)": ["1.50", "NULL"],
    "TIMESTAMP_NS": ["'2020-01-01 00:00:00.123456789'", "NULL"],
    "HUGEINT": ["170141183460469231731687303715884105727", "NULL"],
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("ty", KEPT)
def test_what_is_given_comes_back(con: inlay.Connection, style: str, ty: str) -> None:
    # Decimals of Arrow have 38 digits.
    kept = [
        value for value in KEPT[ty] if not (ty == "HUGEINT" and style not in ("native", "numpy") and value != "NULL")
    ]
    con.create_function("same", lambda x: x, [ty], ty, type=style, null_handling="special")
    rows = ", ".join(f"({at}, CAST({value} AS {ty}))" for at, value in enumerate(kept))
    con.execute(f"CREATE TABLE t AS FROM (VALUES {rows}) t(i, x)")
    found = con.sql("SELECT x::VARCHAR, same(x)::VARCHAR FROM t ORDER BY i").fetchall()
    assert [came for _, came in found] == [gave for gave, _ in found]
    constant = con.sql(f"SELECT CAST({kept[0]} AS {ty})::VARCHAR, same(CAST({kept[0]} AS {ty}))::VARCHAR").fetchone()
    assert constant is not None and constant[0] == constant[1]


def test_series_have_what_frames_have(con: inlay.Connection) -> None:
    seen: list[Any] = []

    def noted(z: Any, m: Any, u: Any, n: Any) -> Any:
        seen.append([list(each) for each in (z, m, u, n)])
        return n

    kinds = ["TIMETZ", "MAP(VARCHAR, BIGINT)", "UNION(i INTEGER, s VARCHAR)", "BIGINT"]
    con.create_function("noted", noted, kinds, "BIGINT", type="pandas")
    row = "TIMETZ '10:00:00+02' AS z, MAP {'a': 1} AS m, 'x'::UNION(i INTEGER, s VARCHAR) AS u, 7::BIGINT AS n"
    assert con.sql(f"SELECT noted(z, m, u, n) FROM (SELECT {row})").fetchall() == [(7,)]
    frame = con.sql(f"SELECT {row}").df()
    assert seen == [[list(frame[name]) for name in frame.columns]]
    assert seen[0][0][0].utcoffset() == datetime.timedelta(hours=2)


def test_offsets_of_times_stay_in_tables(con: inlay.Connection) -> None:
    query = "SELECT TIMETZ '10:00:00+02' AS z, [TIMETZ '10:00:00-03:30'] AS l"
    expected = [("10:00:00+02", ["10:00:00-03:30"])]
    table, frame = con.sql(query).arrow(), con.sql(query).pl()
    assert [tuple(each.values()) for each in table.to_pylist()] == expected and frame.rows() == expected
    assert con.sql("SELECT z::TIMETZ = TIMETZ '10:00:00+02' FROM frame").fetchall() == [(True,)]


UNKNOWN = {
    "INTERVAL": "INTERVAL 1 DAY",
    "UNION(i INTEGER, s VARCHAR)": "1",
    "STRUCT(v INTERVAL)": "{'v': INTERVAL 1 DAY}",
}


@pytest.mark.parametrize("ty", UNKNOWN)
def test_polars_is_not_given_what_it_has_no_type_for(ty: str) -> None:
    con = inlay.connect(config={"allow_python": True})
    text = f"(x {ty}) RETURNS BIGINT LANGUAGE PYTHON WITH (arguments = 'polars') {{ return 1 }}"
    makers: list[Callable[[], Any]] = [
        lambda: con.create_function("f", lambda x: x, [ty], ty, type="polars"),
        lambda: con.create_aggregate("f", lambda x: x[0], [ty], ty, type="polars"),
        lambda: con.execute(f"CREATE FUNCTION f{text}"),
        lambda: con.execute(f"CREATE AGGREGATE f{text}"),
    ]
    for make in makers:
        with pytest.raises(inlay.NotImplementedException, match='of "x" for function "f" as Polars'):
            make()
    # Of tables and of more arguments nothing is known before.
    value = f"CAST({UNKNOWN[ty]} AS {ty})"
    con.execute("""
        CREATE FUNCTION tf(t TABLE) RETURNS TABLE (n BIGINT) LANGUAGE PYTHON WITH (arguments = 'polars')
        { return {'n': [1]} }
    """)
    for query in (f"SELECT more({value})", f"FROM tf((SELECT {value} AS v))"):
        con.create_function("more", lambda *x: x[0], return_type="BIGINT", type="polars")
        with pytest.raises(inlay.Error, match=r"as Polars', which has no such type"):
            con.sql(query).fetchall()
        con.remove_function("more")
    assert con.sql("SELECT 1").fetchone() == (1,)

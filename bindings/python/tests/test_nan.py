"""NaN in arrays, dictionaries and lists is NULL, as it is in data frames; `nan_as_null = false` keeps it."""

from __future__ import annotations

import pytest

import inlay

np = pytest.importorskip("numpy")

NAN = float("nan")


@pytest.fixture
def con() -> inlay.Connection:
    return inlay.connect()


def containers() -> dict[str, object]:
    array = np.array([1.0, np.nan, 3.0])
    made = {
        "array": {"x": array}["x"],
        "float32": array.astype("f4"),
        "float16": array.astype("f2"),
        "reversed": array[::-1],
        "strided": np.repeat(array, 2)[::2],
        "big-endian": array.astype(">f8"),
        "dictionary of arrays": {"column0": array},
        "dictionary of lists": {"column0": [1.0, NAN, 3.0]},
        "list of dictionaries": [{"column0": 1.0}, {"column0": NAN}, {"column0": 3.0}],
        "structured": np.array([(1.0,), (NAN,), (3.0,)], dtype=[("column0", "f8")]),
        "objects": np.array([1.0, NAN, 3.0], dtype=object),
        "masked elsewhere": np.ma.MaskedArray([1.0, NAN, 3.0, 9.0], [False, False, False, True]),
        "matrix": np.array([[1.0, NAN, 3.0]]),
    }
    pd = pytest.importorskip("pandas")
    return {**made, "pandas": pd.DataFrame({"column0": array})}


@pytest.mark.parametrize("kind", containers())
def test_nan_is_null_in_every_container(con: inlay.Connection, kind: str) -> None:
    values = containers()[kind]
    con.register("v", values)
    query = "SELECT count(column0), avg(column0), sum((column0 IS NULL)::INTEGER) >= 1 FROM v"
    assert con.execute(query).fetchone() == (2, 2.0, True)
    assert con.execute("SELECT count(*) FROM values").fetchone()[0] in (3, 4)
    assert con.execute("SELECT count(column0) FROM values").fetchone() == (2,)


@pytest.mark.parametrize("kind", [kind for kind in containers() if kind not in ("pandas", "masked elsewhere")])
def test_the_setting_keeps_it(con: inlay.Connection, kind: str) -> None:
    values = containers()[kind]
    con.execute("SET nan_as_null = false")
    assert con.execute("SELECT count(column0), isnan(sum(column0)) FROM values").fetchone() == (3, True)
    con.register("v", values)
    con.execute("RESET nan_as_null")
    assert con.execute("SELECT current_setting('nan_as_null')").fetchone() == (True,)
    # What is registered is what it was then.
    assert con.execute("SELECT count(column0) FROM v").fetchone() == (3,)
    assert con.execute("SELECT count(column0) FROM values").fetchone() == (2,)


def test_the_setting_is_one_of_connect() -> None:
    values = np.array([NAN])
    con = inlay.connect(config={"nan_as_null": False})
    assert con.cursor().execute("SELECT count(column0) FROM values").fetchone() == (1,)
    assert len(values) == 1


def test_appended_arrays_have_null(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (x DOUBLE)")
    con.append("t", {"x": np.array([1.0, NAN])})
    with con.appender("t") as appender:
        appender.append({"x": np.array([2.0, NAN])})
        # A row has values, of which NaN is one.
        appender.append_row(NAN)
    assert con.execute("SELECT count(*), count(x), sum(isnan(x)::INTEGER) FROM t").fetchone() == (5, 3, 1)


def test_a_later_change_of_an_array_is_seen(con: inlay.Connection) -> None:
    values = np.arange(100_000, dtype="f8")
    con.register("v", values)
    assert con.execute("SELECT count(column0) FROM v").fetchone() == (100_000,)
    values[::2] = NAN
    assert con.execute("SELECT count(column0) FROM v").fetchone() == (50_000,)
    values[:] = 1.0
    assert con.execute("SELECT count(column0), sum(column0) FROM v").fetchone() == (100_000, 100_000.0)


def test_only_nan_is_a_column_of_floats(con: inlay.Connection) -> None:
    values = {"x": [NAN, NAN], "y": np.array([NAN, NAN])}
    assert (
        con.sql("FROM values").types == ["DOUBLE", "DOUBLE"] and con.sql("FROM values").fetchall() == [(None, None)] * 2
    )
    assert values


def test_parameters_and_functions_keep_nan(con: inlay.Connection) -> None:
    assert con.execute("SELECT isnan(?)", [NAN]).fetchone() == (True,)
    assert con.execute("SELECT isnan(list_sum(?))", [np.array([NAN])]).fetchone() == (True,)
    con.create_function("half", lambda x: x / 2 * np.nan, ["DOUBLE"], "DOUBLE", type="numpy")
    assert con.execute("SELECT count(half(i)), isnan(sum(half(i))) FROM range(3) r(i)").fetchone() == (3, True)

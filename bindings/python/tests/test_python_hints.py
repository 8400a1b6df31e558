"""What errors say of variables, blocks of transactions inside of each other, and values of Python as parameters."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

import inlay


def test_a_variable_that_is_no_table_is_named_with_its_type() -> None:
    con = inlay.connect()
    text, number = "trips.csv", 5  # noqa: F841  SQL names them
    with pytest.raises(inlay.CatalogException, match="the variable text is a str") as told:
        con.sql("FROM text")
    assert "read_csv(text)" in (told.value.hint or "")
    assert str(told.value).splitlines()[1].startswith("line 1: FROM text")
    with pytest.raises(inlay.CatalogException, match="the variable number is of type int"):
        con.execute("SELECT * FROM number")
    with pytest.raises(inlay.CatalogException, match='"nothing" does not exist'):
        con.execute("FROM nothing -- no variable").fetchall()


def test_a_matrix_of_scipy_says_what_is_a_table() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix([[1, 0], [0, 2]])
    with pytest.raises(inlay.CatalogException, match=r"matrix is a scipy.sparse.*matrix.toarray\(\) is one"):
        inlay.connect().sql("FROM matrix")
    dense = matrix.toarray()  # noqa: F841
    assert inlay.connect().sql("FROM dense").fetchall() == [(1, 0), (0, 2)]


def test_an_index_is_no_column_and_the_error_says_so() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"v": [1]}, index=pd.Index(["a"], name="k"))
    for query in ("SELECT k, v FROM frame", "SELECT f.k FROM frame f"):
        with pytest.raises(inlay.BinderException, match=r"it is the index of frame.*frame.reset_index\(\)"):
            inlay.connect().sql(query)
    frame = frame.reset_index()
    assert inlay.connect().sql("SELECT k, v FROM frame").fetchall() == [("a", 1)]
    with pytest.raises(inlay.BinderException) as told:
        inlay.connect().sql("SELECT k2 FROM frame")
    assert "index" not in str(told.value)


def test_comprehensions_see_what_the_function_around_them_sees() -> None:
    con = inlay.connect()
    local = [{"x": 5}]  # noqa: F841  SQL names it
    query = "SELECT x FROM local"
    assert [con.sql(query).fetchall() for _ in range(1)] == [[(5,)]]
    assert {con.sql(query).fetchone() for _ in range(1)} == {(5,)}
    assert {at: con.execute(query).fetchall() for at in range(1)} == {0: [(5,)]}
    assert list(con.sql(query).fetchall() for _ in range(1)) == [[(5,)]]  # noqa: C400
    assert [[con.sql(query).fetchone() for _ in range(1)] for _ in range(1)] == [[(5,)]]
    assert list(map(lambda _: con.sql(query).fetchone(), range(1))) == [(5,)]  # noqa: C417


def test_functions_that_are_called_do_not_see_their_callers_variables() -> None:
    con = inlay.connect()
    hidden = [{"x": 5}]  # noqa: F841

    def called() -> Any:
        return con.sql("SELECT x FROM hidden")

    for run in (called, lambda: outside(con)):
        with pytest.raises(inlay.CatalogException, match='"hidden" does not exist'):
            run()


def outside(con: Any) -> Any:
    return con.sql("SELECT x FROM hidden")


@pytest.fixture
def con() -> Any:
    with inlay.connect() as connection:
        connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        yield connection


def rows(con: Any) -> list[int]:
    return [row[0] for row in con.execute("FROM t ORDER BY a").fetchall()]


def test_a_block_inside_of_another_is_a_savepoint(con: Any) -> None:
    with con.transaction():
        con.execute("INSERT INTO t VALUES (1)")
        with con.transaction():
            con.execute("INSERT INTO t VALUES (2)")
        with pytest.raises(KeyError), con.transaction():
            con.execute("INSERT INTO t VALUES (3)")
            with con.transaction():
                con.execute("INSERT INTO t VALUES (4)")
            raise KeyError
        con.execute("INSERT INTO t VALUES (5)")
        assert con.in_transaction
    assert not con.in_transaction
    assert rows(con) == [1, 2, 5]
    with pytest.raises(KeyError), con.transaction():
        with con.transaction():
            con.execute("INSERT INTO t VALUES (6)")
        raise KeyError
    assert rows(con) == [1, 2, 5]


def test_a_block_after_begin_leaves_the_transaction_open(con: Any) -> None:
    con.begin()
    with con.transaction():
        con.execute("INSERT INTO t VALUES (1)")
    assert con.in_transaction
    con.rollback()
    assert rows(con) == []


def test_a_block_that_an_error_of_sql_leaves_is_undone_alone(con: Any) -> None:
    block = con.transaction()
    with block:
        con.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(inlay.ConstraintException), block:
            con.execute("INSERT INTO t VALUES (2)")
            con.execute("INSERT INTO t VALUES (1)")
    assert rows(con) == [1]


def test_arrays_are_lists_as_parameters() -> None:
    np = pytest.importorskip("numpy")
    con = inlay.connect()

    def of(value: Any) -> Any:
        return con.execute("SELECT ?", [value]).fetchone()[0]

    assert con.execute("SELECT list_sum(?)", [np.array([1.0, 2.0])]).fetchone() == (3.0,)
    assert of(np.array([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]
    assert of(np.array([], dtype="f4")) == []
    assert of(np.ma.MaskedArray([1, 2], [False, True])) == [1, None]
    assert of(np.array(["2024-05-06"], dtype="M8[D]")) == [datetime.datetime(2024, 5, 6)]
    assert of(np.array(["a", None], dtype=object)) == ["a", None]
    assert of(np.int32(7)) == 7
    con.execute("CREATE TABLE v (x FLOAT[3])")
    con.execute("INSERT INTO v VALUES (?)", [np.arange(3, dtype="f4")])
    assert con.execute("SELECT array_distance(x, ?::FLOAT[3]) FROM v", [np.arange(3)]).fetchone() == (0.0,)
    pd = pytest.importorskip("pandas")
    assert of(pd.Series([1, 2])) == [1, 2]


def test_nested_values_and_mappings_as_parameters() -> None:
    con = inlay.connect()
    con.execute("CREATE TABLE n (m MAP(INTEGER, VARCHAR), l INTEGER[][], s STRUCT(a INTEGER)[])")
    con.execute("INSERT INTO n VALUES (?, ?, ?)", [{1: "x"}, [], []])
    con.execute("INSERT INTO n VALUES (?, ?, ?)", [{}, [None], [None]])
    con.execute("INSERT INTO n VALUES (?, ?, ?)", [{2: None}, [[]], [{"a": 1}]])
    assert con.execute("FROM n").fetchall() == [
        ({1: "x"}, [], []),
        ({}, [None], [None]),
        ({2: None}, [[]], [{"a": 1}]),
    ]
    assert con.execute("SELECT ?", [[1, "a", None]]).fetchone() == (["1", "a", None],)
    with pytest.raises(inlay.ProgrammingError, match="a Decimal of 45 digits and exponent 0 does not fit into DECIMAL"):
        con.execute("SELECT ?", [Decimal("1" * 45)])
    with pytest.raises(inlay.InvalidInputException, match="a list holds values of the types"):
        con.execute("SELECT ?", [[1, [2]]])


def test_parameters_have_numbers_and_names_in_any_case() -> None:
    con = inlay.connect()
    assert con.execute("SELECT $Name, $other", {"name": 5, "OTHER": 6}).fetchone() == (5, 6)
    assert con.execute("SELECT $a, $A", {"A": 1, "a": 2}).fetchone() == (2, 1)
    assert con.execute("SELECT $1 - $2", {2: 5, 1: 6}).fetchone() == (1,)
    assert con.execute("SELECT $1 - $2", {"1": 6, "2": 5}).fetchone() == (1,)
    assert con.prepare("SELECT $Name").execute({"NAME": 5}).fetchone() == (5,)
    with pytest.raises(inlay.InvalidInputException, match=r"no parameter \$third"):
        con.execute("SELECT $a", {"a": 1, "third": 2})
    with pytest.raises(inlay.InvalidInputException, match="numbered from 1 without a gap; 3 is neither"):
        con.execute("SELECT $1", {3: 5})


def test_batches_have_the_rows_that_were_asked_for() -> None:
    pytest.importorskip("pyarrow")
    con = inlay.connect()
    for count in (1, 7, 1000, 2048, 3000, 10_000):
        expected = [count] * (5000 // count) + ([5000 % count] if 5000 % count else [])
        query = "SELECT i, 'text number ' || i AS s, [i] AS l FROM range(5000) t(i)"
        for reader in (
            con.execute(query).fetch_record_batch(count),
            con.sql(query).fetch_record_batch(batch_size=count),
        ):
            batches = list(reader)
            assert [batch.num_rows for batch in batches] == expected
            assert [value for batch in batches for value in batch.column(0).to_pylist()] == list(range(5000))
    assert con.execute("FROM range(5) WHERE false").fetch_record_batch(2).read_all().num_rows == 0
    with pytest.raises(inlay.InvalidInputException, match="at least one row"):
        con.execute("FROM range(5)").fetch_record_batch(0)

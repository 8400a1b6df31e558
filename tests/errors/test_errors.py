"""Each mistake has a specific error: its exception, its SQLSTATE, its message; the connection works afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import inlay

SETUP = """
    CREATE TABLE customer (c_key INTEGER, c_name VARCHAR, since DATE);
    CREATE TABLE orders (o_key INTEGER, c_key INTEGER, price DECIMAL(8, 2));
    INSERT INTO customer VALUES (1, 'Ada', DATE '2020-01-01'), (2, 'Bo', NULL);
    INSERT INTO orders VALUES (7, 1, 0.00), (8, 2, 12.50);
    CREATE TABLE keyed (k INTEGER PRIMARY KEY, n INTEGER NOT NULL);
    INSERT INTO keyed VALUES (1, 1);
"""

MISTAKES = [
    (
        "SELECT * FROM costumer",
        "42P01",
        inlay.ProgrammingError,
        'table "costumer" does not exist; did you mean "customer"?',
    ),
    ("SELECT c_nam FROM customer", "42703", inlay.ProgrammingError, "c_name"),
    ("SELECT customer.nothing FROM customer", "42703", inlay.ProgrammingError, "does not exist"),
    ("SELECT c_key FROM customer, orders", "42702", inlay.ProgrammingError, "ambiguous"),
    ("SELECT nosuch(1)", "42883", inlay.ProgrammingError, "nosuch"),
    ("SELECT substring(DATE '2020-01-01', 'x', 'y')", "42", inlay.ProgrammingError, ""),
    ("SELECT c_name + DATE '2020-01-01' FROM customer", "42", inlay.ProgrammingError, ""),
    ("SELEC 1", "42601", inlay.ProgrammingError, "SELEC"),
    ("SELECT (1", "42601", inlay.ProgrammingError, ""),
    ("SELECT c_name, count(*) FROM customer", "42803", inlay.ProgrammingError, "c_name"),
    ("CREATE TABLE customer (x INTEGER)", "42P07", inlay.ProgrammingError, "already exists"),
    ("SELECT 1 // 0", "22012", inlay.DataError, "division by zero"),
    ("SELECT o_key % (c_key - 1) FROM orders", "22012", inlay.DataError, "division by zero"),
    ("SELECT 'abc'::INTEGER", "22018", inlay.DataError, "abc"),
    ("SELECT c_name::INTEGER FROM customer", "22018", inlay.DataError, "Ada"),
    ("SELECT 'yesterday'::DATE", "22018", inlay.DataError, "yesterday"),
    ("SELECT 300::TINYINT", "22003", inlay.DataError, "300"),
    ("SELECT 2147483647::INTEGER + c_key FROM orders", "22003", inlay.DataError, ""),
    ("SELECT 9223372036854775807 * c_key FROM orders", "22003", inlay.DataError, ""),
    ("SELECT (SELECT c_key FROM customer)", "21000", inlay.ProgrammingError, "more than one row"),
    ("INSERT INTO keyed VALUES (1, 2)", "23", inlay.IntegrityError, "1"),
    ("INSERT INTO keyed VALUES (2, NULL)", "23", inlay.IntegrityError, "NULL"),
    ("INSERT INTO customer VALUES (1)", "42", inlay.ProgrammingError, ""),
    ("SELECT * FROM read_csv('/no/such/file.csv')", "58030", inlay.OperationalError, "/no/such/file.csv"),
    ("SELECT * FROM read_parquet('/no/such/file.parquet')", "58030", inlay.OperationalError, "/no/such/file.parquet"),
    ("COPY customer TO '/no/such/folder/out.csv'", "58030", inlay.OperationalError, "/no/such/folder"),
    ("SET no_such_setting = 1", "22023", inlay.ProgrammingError, "no_such_setting"),
    ("CALL no_such_procedure()", "42883", inlay.ProgrammingError, "no_such_procedure"),
]


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    with inlay.connect() as connection:
        connection.execute(SETUP)
        yield connection


@pytest.mark.parametrize(("sql", "state", "exception", "part"), MISTAKES, ids=[mistake[0] for mistake in MISTAKES])
def test_mistake_has_its_own_error(con: Any, sql: str, state: str, exception: type[Exception], part: str) -> None:
    with pytest.raises(inlay.Error) as error:
        con.execute(sql).fetchall()
    assert error.value.sqlstate.startswith(state), error.value
    assert isinstance(error.value, exception)
    assert part in str(error.value)
    assert con.execute("SELECT count(*) FROM customer").fetchone() == (2,)


def test_errors_point_at_their_place(con: Any) -> None:
    with pytest.raises(inlay.Error) as error:
        con.execute("SELECT c_key,\n       c_nam\nFROM customer")
    lines = str(error.value).splitlines()
    assert lines[-2] == "line 2:        c_nam"
    assert lines[-1].index("^") == lines[-2].index("c_nam")


NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "SELECT " + "(" * n + "1" + ")" * n,
    "sums": lambda n: "SELECT " + "+".join(["c_key"] * n) + " FROM customer",
    "functions": lambda n: "SELECT " + "abs(" * n + "1" + ")" * n,
    "negations": lambda n: "SELECT " + "NOT " * n + "true",
    "cases": lambda n: "SELECT " + "CASE WHEN c_key = 1 THEN 1 ELSE " * n + "1" + " END" * n + " FROM customer",
    "subqueries": lambda n: "SELECT * FROM " + "(SELECT * FROM " * n + "customer" + " AS s)" * n,
    "unions": lambda n: " UNION ALL ".join(["SELECT 1"] * n),
}


@pytest.mark.parametrize("kind", NESTED)
def test_deep_nesting_is_answered_or_refused(con: Any, kind: str) -> None:
    assert con.execute(NESTED[kind](100)).fetchall()
    with pytest.raises(inlay.ProgrammingError, match=r"deep|in a row"):
        con.execute(NESTED[kind](20_000))
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_long_lists_are_answered(con: Any) -> None:
    numbers = ", ".join(map(str, range(0, 100_000, 2)))
    query = f"SELECT count(*) FROM range(1000) t(x) WHERE x IN ({numbers})"
    assert con.execute(query).fetchone() == (500,)
    either = " OR ".join(f"x = {number}" for number in range(0, 4_000, 2))
    assert con.execute(f"SELECT count(*) FROM range(1000) t(x) WHERE {either}").fetchone() == (500,)


@pytest.mark.parametrize(
    "sql",
    [],
)
def test_what_is_not_there_yet_says_so(con: Any, sql: str) -> None:
    with pytest.raises(inlay.NotSupportedError, match="not available"):
        con.execute(sql)
    assert con.execute("SELECT count(*) FROM customer").fetchone() == (2,)


def test_malformed_csv_names_file_and_line(con: Any, tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("a,b\n1,2\n3,4\n5,6,7\n8,9\n")
    with pytest.raises(inlay.DataError) as error:
        con.execute(f"SELECT sum(a) FROM read_csv('{path}')").fetchall()
    assert error.value.sqlstate == "22P04"
    assert "numbers.csv" in str(error.value) and "line 4" in str(error.value)
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_a_file_that_is_no_parquet_says_so(con: Any, tmp_path: Path) -> None:
    path = tmp_path / "text.parquet"
    path.write_text("this is not a parquet file, only a text of some length")
    with pytest.raises(inlay.DataError) as error:
        con.execute(f"SELECT * FROM read_parquet('{path}')")
    assert "text.parquet" in str(error.value)


def test_a_memory_limit_ends_the_query_only(con: Any) -> None:
    own = con.cursor()
    own.execute("SET memory_limit = '30MB'")
    with pytest.raises(inlay.OperationalError) as error:
        own.execute("SELECT x FROM range(5000000) t(x)").fetchnumpy()
    assert error.value.sqlstate == "53200" and "memory_limit" in str(error.value)
    own.execute("RESET memory_limit")
    assert own.execute("SELECT count(*) FROM range(1000000) t(x)").fetchone() == (1000000,)


def test_a_failing_statement_changes_nothing(con: Any) -> None:
    con.execute("CREATE TABLE numbers AS SELECT x FROM range(100000) t(x)")
    for statement in (
        "UPDATE numbers SET x = 10 // (x - 99999)",
        "INSERT INTO numbers SELECT 10 // (x - 99999) FROM numbers",
        "DELETE FROM numbers WHERE 10 // (x - 99999) > 0",
        "CREATE TABLE more AS SELECT 10 // (x - 99999) FROM numbers",
    ):
        with pytest.raises(inlay.DataError):
            con.execute(statement)
        assert con.execute("SELECT count(*), sum(x) FROM numbers").fetchone() == (100000, 4999950000)
    with pytest.raises(inlay.ProgrammingError):
        con.execute("SELECT * FROM more")

"""Exceptions say what, where and what to do; DuckDB's names are below DB-API's."""

from __future__ import annotations

import pytest

import inlay

CASES = [
    ("SELEC 1", inlay.ParserException, inlay.ProgrammingError, "42601", (1, 1)),
    ("SELECT\n  nothing", inlay.BinderException, inlay.ProgrammingError, "42703", (2, 3)),
    ("FROM nowhere", inlay.CatalogException, inlay.ProgrammingError, "42P01", (1, 6)),
    ("SELECT 'x'::INTEGER", inlay.ConversionException, inlay.DataError, "22018", None),
    ("SELECT 300::TINYINT", inlay.OutOfRangeException, inlay.DataError, "22003", None),
    ("INSERT INTO t VALUES (NULL)", inlay.ConstraintException, inlay.IntegrityError, "23502", None),
    ("FROM 'nowhere.csv'", inlay.IOException, inlay.OperationalError, "58030", None),
    ("COMMIT", inlay.TransactionException, inlay.OperationalError, "25000", None),
]


@pytest.mark.parametrize(("query", "kind", "base", "state", "position"), CASES)
def test_kinds(
    con: inlay.Connection,
    query: str,
    kind: type[inlay.Error],
    base: type[inlay.Error],
    state: str,
    position: tuple[int, int] | None,
) -> None:
    con.execute("CREATE TABLE t (n INTEGER NOT NULL)")
    with pytest.raises(kind) as caught:
        con.execute(query)
    assert isinstance(caught.value, base) and caught.value.sqlstate == state
    if position is not None:
        assert caught.value.position == position


def test_hints(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE harbours (name VARCHAR)")
    with pytest.raises(inlay.CatalogException) as caught:
        con.execute("FROM harbors")
    assert caught.value.hint is not None and "harbours" in caught.value.hint
    with pytest.raises(inlay.ConversionException) as conversion:
        con.execute("SELECT 'a; b'::INTEGER")
    assert conversion.value.hint == "TRY_CAST gives NULL instead"
    # What a user says is no hint.
    with pytest.raises(inlay.Error, match="one; two") as said:
        con.execute("SELECT error('one; two')")
    assert said.value.hint is None
    with pytest.raises(inlay.TransactionException) as closed:
        con.execute("COMMIT")
    assert (str(closed.value), closed.value.hint) == ("no transaction is open; BEGIN opens one", "BEGIN opens one")
    assert inlay.Error().position is None and inlay.Error().hint is None


def test_a_closed_connection_is_both_an_interface_and_an_operational_error() -> None:
    con = inlay.connect()
    con.close()
    for kind in (inlay.InterfaceError, inlay.OperationalError, inlay.ConnectionException):
        with pytest.raises(kind):
            con.execute("SELECT 1")

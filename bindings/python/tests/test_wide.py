"""Statements and files with thousands of columns, CTEs and branches: names mean what they mean among few."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import inlay

COLUMNS = 3000


def listed(text: Callable[[int], str], count: int = COLUMNS) -> str:
    """So many items with commas between them."""
    return ", ".join(map(text, range(count)))


@pytest.fixture
def wide() -> inlay.Connection:
    """A table of one row whose column `cN` is N."""
    connection = inlay.connect()
    connection.execute(f"CREATE TABLE w AS SELECT {listed(lambda i: f'{i} AS c{i}')}")
    return connection


def row(connection: inlay.Connection, sql: str) -> tuple[object, ...]:
    """The only row."""
    [only] = connection.execute(sql).fetchall()
    return tuple(only)


def test_names_are_found_without_regard_to_case(wide: inlay.Connection) -> None:
    assert row(wide, f"SELECT {listed(lambda i: f'C{i}')} FROM w") == tuple(range(COLUMNS))
    assert row(wide, f"SELECT {listed(lambda i: f'W.c{COLUMNS - 1 - i}')} FROM w")[:2] == (COLUMNS - 1, COLUMNS - 2)
    assert wide.execute(f"SELECT C{COLUMNS - 1} FROM w").description[0][0] == f"c{COLUMNS - 1}"
    wide.execute('ALTER TABLE w ADD COLUMN "Straße" INTEGER')
    assert row(wide, 'SELECT "STRAßE" FROM w') == (None,)
    with pytest.raises(inlay.Error, match="nope"):
        wide.execute("SELECT nope FROM w")


def test_a_name_of_two_tables_is_ambiguous_among_many(wide: inlay.Connection) -> None:
    with pytest.raises(inlay.Error, match="ambiguous"):
        wide.execute("SELECT c7 FROM w, w v")
    assert row(wide, "SELECT v.c7 FROM w, w v") == (7,)


def test_stars_leave_out_replace_and_rename(wide: inlay.Connection) -> None:
    last = COLUMNS - 1
    assert row(wide, f"SELECT * EXCLUDE ({listed(lambda i: f'C{i}', last)}) FROM w") == (last,)
    replaced = row(wide, f"SELECT * REPLACE ({listed(lambda i: f'c{i} + 1 AS C{i}')}) FROM w")
    assert replaced == tuple(range(1, COLUMNS + 1))
    renamed = wide.execute(f"SELECT * RENAME ({listed(lambda i: f'c{i} AS d{i}')}) FROM w").description
    assert [column[0] for column in renamed] == [f"d{i}" for i in range(COLUMNS)]
    with pytest.raises(inlay.Error, match="nope"):
        wide.execute("SELECT * EXCLUDE (nope) FROM w")


def test_aliases_are_found_among_many() -> None:
    sql = f"SELECT x AS a0, {listed(lambda i: f'{i} AS b{i}', 500)} FROM (SELECT 7 AS x) ORDER BY B499, a0"
    assert row(inlay.connect(), sql)[-1] == 499


def test_groups_and_distinct_rows_of_many_columns(wide: inlay.Connection) -> None:
    wide.execute("INSERT INTO w SELECT * FROM w")
    assert row(wide, "SELECT DISTINCT * FROM w") == tuple(range(COLUMNS))
    assert row(wide, "SELECT *, count(*) FROM w GROUP BY ALL") == (*range(COLUMNS), 2)
    names = listed(lambda i: f"c{i}")
    assert row(wide, f"SELECT {names}, count(*) FROM w GROUP BY {names}") == (*range(COLUMNS), 2)
    assert row(wide, "SELECT DISTINCT c1, C1, c2 FROM w") == (1, 1, 2)


def test_joins_by_many_names(wide: inlay.Connection) -> None:
    using = listed(lambda i: f"C{i}", 300)
    assert row(wide, f"SELECT * FROM w JOIN w v USING ({using})")[:3] == (0, 1, 2)
    assert len(row(wide, f"SELECT * FROM w JOIN w v USING ({using})")) == 2 * COLUMNS - 300
    few = f"(SELECT {using} FROM w)"
    assert row(wide, f"SELECT * FROM {few} NATURAL JOIN {few} v") == tuple(range(300))
    assert row(wide, f"SELECT * FROM {few} a FULL JOIN {few} b USING ({using})") == tuple(range(300))
    assert row(wide, f"SELECT * FROM {few} a RIGHT JOIN {few} b USING ({using})") == tuple(range(300))
    with pytest.raises(inlay.Error, match="nope"):
        wide.execute(f"SELECT * FROM w JOIN w v USING ({using}, nope)")


def test_set_operations_by_name(wide: inlay.Connection) -> None:
    turned = f"SELECT {listed(lambda i: f'c{COLUMNS - 1 - i}')} FROM w"
    assert wide.execute(f"FROM w UNION BY NAME ({turned})").fetchall() == [tuple(range(COLUMNS))]
    assert len(wide.execute("SELECT c0 AS x FROM w UNION ALL BY NAME FROM w").fetchall()[0]) == COLUMNS + 1


def test_unpivot_of_many_columns(wide: inlay.Connection) -> None:
    expected = [(f"c{i}", i) for i in range(1, COLUMNS)]
    assert wide.execute("SELECT name, value FROM (UNPIVOT w ON COLUMNS(* EXCLUDE c0))").fetchall() == expected
    wide.execute("UPDATE w SET c5 = NULL")
    assert row(wide, "SELECT count(*) FROM (UNPIVOT w ON COLUMNS(*))") == (COLUMNS - 1,)
    assert row(wide, "SELECT count(*) FROM (UNPIVOT INCLUDE NULLS w ON COLUMNS(*))") == (COLUMNS,)


def test_merge_by_name(wide: inlay.Connection) -> None:
    wide.execute("CREATE TABLE v AS FROM w LIMIT 0")
    wide.execute("MERGE INTO v USING w ON v.c0 = w.c0 WHEN NOT MATCHED THEN INSERT *")
    assert row(wide, "FROM v") == tuple(range(COLUMNS))


def test_equal_names_in_a_header_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "same.csv"
    path.write_text(",".join(["a"] * COLUMNS) + ",A,a_1\n" + ",".join("1" * (COLUMNS + 2)) + "\n")
    names = [column[0] for column in inlay.connect().execute(f"SELECT * FROM '{path}'").description]
    assert names[:3] == ["a", "a_1", "a_2"]
    assert names[-2:] == [f"A_{COLUMNS}", "a_1_1"]


def test_queries_beside_each_other_have_ctes_of_their_own() -> None:
    connection = inlay.connect()
    branch = "SELECT * FROM (WITH a AS (SELECT {0} AS x), b AS (SELECT x + 1 AS x FROM a) SELECT x FROM b)"
    branches = " UNION ALL ".join(branch.format(i) for i in range(900))
    twice = f"SELECT * FROM ({branches}) UNION ALL SELECT * FROM ({branches})"
    assert row(connection, f"SELECT count(*), sum(x) FROM ({twice})") == (1800, 2 * sum(range(1, 901)))


def test_ctes_of_one_query_have_a_limit() -> None:
    ctes = "c0 AS (SELECT 1 AS x), " + ", ".join(f"c{i} AS (SELECT x FROM c{i - 1})" for i in range(1, 2001))
    with pytest.raises(inlay.Error, match="more than 2000 CTEs"):
        inlay.connect().execute(f"WITH {ctes} SELECT x FROM c2000")

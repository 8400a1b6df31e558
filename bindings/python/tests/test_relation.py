"""What `sql` returns: rows to look at and to fetch."""

from __future__ import annotations

import pytest

import inlay


def test_repr_is_a_table(con: inlay.Connection) -> None:
    relation = con.sql("SELECT 1 AS n, 'Ulm' AS city UNION ALL SELECT 20, NULL ORDER BY n")
    assert repr(relation) == "\n".join(
        [
            "┌─────────┬─────────┐",
            "│    n    │  city   │",
            "│ integer │ varchar │",
            "├─────────┼─────────┤",
            "│       1 │ Ulm     │",
            "│      20 │ NULL    │",
            "└─────────┴─────────┘",
            "2 rows, 2 columns",
        ]
    )


def test_long_tables_are_cut(con: inlay.Connection, capsys: pytest.CaptureFixture[str]) -> None:
    relation = con.sql("SELECT * FROM range(1234) t(x) ORDER BY x")
    text = str(relation)
    assert "·" in text and text.endswith("1,234 rows (40 shown)") and "1233" in text
    relation.show(max_rows=4)
    assert capsys.readouterr().out.rstrip().endswith("1,234 rows (4 shown)")


def test_shape_and_types(con: inlay.Connection) -> None:
    relation = con.sql("SELECT 1 AS a, 2.5::DOUBLE AS b")
    assert relation.columns == ["a", "b"] and relation.types == ["INTEGER", "DOUBLE"]
    assert relation.shape == (1, 2) and len(relation) == 1


def test_every_fetch_gives_all_rows(con: inlay.Connection) -> None:
    relation = con.sql("SELECT * FROM range(3) t(x) ORDER BY x")
    for _ in range(2):
        assert relation.fetchnumpy()["x"].tolist() == [0, 1, 2]
        assert relation.df()["x"].tolist() == [0, 1, 2]
        assert relation.fetchall() == list(relation) == [(0,), (1,), (2,)]
    assert next(iter(relation)) == (0,) and relation.fetchall() == [(0,), (1,), (2,)]
    for method in ("fetchone", "fetchmany"):
        with pytest.raises(AttributeError, match="fetchall"):
            getattr(relation, method)
    assert not hasattr(relation, "nothing")


def test_statements_without_rows_have_no_relation(con: inlay.Connection) -> None:
    assert con.sql("CREATE TABLE t (x INTEGER)") is None
    assert con.sql("INSERT INTO t VALUES (1)") is None
    assert con.table("t").fetchall() == [(1,)]


def test_relations_outlive_changes_and_connections() -> None:
    con = inlay.connect()
    con.execute("CREATE TABLE t AS SELECT 1 AS x")
    relation = con.sql("SELECT x FROM t")
    con.execute("UPDATE t SET x = 2")
    con.close()
    assert relation.fetchall() == [(1,)]

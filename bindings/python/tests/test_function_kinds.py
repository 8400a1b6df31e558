"""Every kind of function in Python with NULLs, no rows, wrong results, exceptions, and without an end."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import inlay


@dataclass(frozen=True)
class Kind:
    """How a function of `x` is made of a body, and how it is asked about the rows of a query."""

    options: str = ""
    language: str = "PYTHON_MAP"
    create: str = "FUNCTION"
    returns: str = "BIGINT"
    call: str = "SELECT {name}(x) FROM ({rows}) ORDER BY id"
    #: Adds one to `x`, of which some may be NULL.
    body: str = "return x + 1"
    #: One value too few.
    short: str = "return x[:-1]"
    #: No BIGINT.
    wrong: str = "return ['a text'] * len(x)"


CLASS = """
class each:
    def __init__(self):
        self.rows = 0
    def update(self, x):
        {update}
        self.rows += np.ma.count(x)
    def merge(self, other):
        self.rows += other.rows
    def finish(self):
        return {finish}
"""

GROUPED = "SELECT {name}(x) FROM ({rows}) GROUP BY id ORDER BY id"

KINDS = {
    "map": Kind(),
    "arrow": Kind(
        "arguments = 'arrow'",
        body="import pyarrow.compute as pc\nreturn pc.add(x, 1)",
        short="return x[:-1]",
    ),
    "pandas": Kind("arguments = 'pandas'"),
    "polars": Kind("arguments = 'polars'"),
    "rows": Kind("arguments = 'rows'", body="return None if x is None else x + 1", short="", wrong="return 'a text'"),
    "processes": Kind("parallel = 'processes'"),
    "blocking": Kind(language="PYTHON"),
    "groups": Kind(
        create="AGGREGATE",
        language="PYTHON",
        call=GROUPED,
        body="return [None if np.ma.is_masked(x[i]) else x[i] + 1 for i in range(len(x))] + 0 * [aggr_group]",
        short="return x[aggr_group > 0]",
        wrong="return ['a text'] * (aggr_group.max() + 1)",
    ),
    "group": Kind(
        create="AGGREGATE",
        language="PYTHON",
        call=GROUPED,
        body="return None if np.ma.is_masked(x[0]) else x[0] + 1",
        short="",
        wrong="return 'a text'",
    ),
    "table": Kind(
        language="PYTHON",
        returns="TABLE (y BIGINT)",
        call="SELECT y FROM {name}(({rows} ORDER BY id))",
        body="return {'y': x['x'] + 1}",
        short="",
        wrong="return {'y': ['a text'] * len(x['x'])}",
    ),
}
PEERS = {"arrow": "pyarrow", "pandas": "pandas", "polars": "polars"}


@pytest.fixture
def con() -> Any:
    with inlay.connect(config={"allow_python": True, "threads": 2}) as con:
        yield con


def made(con: inlay.Connection, name: str, body: str) -> Callable[[str], list[Any]]:
    """Makes `f` of this kind and body; what asks it about the rows of a query with `id` and `x`."""
    kind = KINDS[name]
    if name in PEERS:
        pytest.importorskip(PEERS[name])
    if name == "processes" and sys.platform != "linux":
        pytest.skip("worker processes need memfd")
    options = f"WITH ({kind.options})" if kind.options else ""
    parameter = "x TABLE" if name == "table" else "x BIGINT"
    con.execute(
        f"CREATE OR REPLACE {kind.create} f({parameter}) RETURNS {kind.returns} LANGUAGE {kind.language} {options} "
        f"AS $$\n{body}\n$$"
    )
    return lambda rows: [row[0] for row in con.execute(kind.call.format(name="f", rows=rows)).fetchall()]


ROWS = "SELECT i AS id, CASE WHEN i % 3 <> 1 THEN i END AS x FROM range(1000) t(i)"


@pytest.mark.parametrize("name", KINDS)
def test_nulls(con: inlay.Connection, name: str) -> None:
    ask = made(con, name, KINDS[name].body)
    assert ask(ROWS) == [None if i % 3 == 1 else i + 1 for i in range(1000)]
    assert ask("SELECT i AS id, NULL::BIGINT AS x FROM range(5) t(i)") == [None] * 5


@pytest.mark.parametrize("name", KINDS)
def test_no_rows_are_no_call(con: inlay.Connection, name: str) -> None:
    ask = made(con, name, "raise ValueError('called')\n" + KINDS[name].body)
    assert ask(f"SELECT * FROM ({ROWS}) WHERE id < 0") == []
    assert ask("SELECT 1 AS id, 2 AS x WHERE false") == []


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.short])
def test_results_of_a_wrong_length(con: inlay.Connection, name: str) -> None:
    ask = made(con, name, KINDS[name].short)
    with pytest.raises(inlay.FunctionException, match=r'function "f" gave \d+ values for \d+ (row|group)s'):
        ask(ROWS)


@pytest.mark.parametrize("name", KINDS)
def test_results_of_a_wrong_type(con: inlay.Connection, name: str) -> None:
    ask = made(con, name, KINDS[name].wrong)
    with pytest.raises(inlay.FunctionException, match=r'"f" gave .*BIGINT'):
        ask("SELECT 1 AS id, 2 AS x")


@pytest.mark.parametrize("name", KINDS)
def test_exceptions_name_function_line_and_cause(con: inlay.Connection, name: str) -> None:
    ask = made(con, name, "y = 1\nraise LookupError('not this one')\n" + KINDS[name].body)
    with pytest.raises(inlay.FunctionException, match=r'"f" raised LookupError: not this one \(line 3') as caught:
        ask(ROWS)
    assert isinstance(caught.value.__cause__, LookupError)
    assert con.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize("name", KINDS)
def test_a_loop_without_an_end_is_ended(con: inlay.Connection, name: str) -> None:
    ask = made(con, name, "while True:\n    y = 1\n" + KINDS[name].body)
    con.execute("SET statement_timeout = 300")
    with pytest.raises(inlay.InterruptException, match="statement_timeout"):
        ask(ROWS)
    con.execute("RESET statement_timeout")
    assert con.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize("name", KINDS)
def test_views_and_prepared_statements(con: inlay.Connection, name: str) -> None:
    made(con, name, KINDS[name].body)
    con.execute(f"CREATE TABLE t AS {ROWS}")
    call = KINDS[name].call
    con.execute("CREATE VIEW v AS " + call.format(name="f", rows="SELECT * FROM t WHERE x IS NOT NULL"))
    expected = [(i + 1,) for i in range(1000) if i % 3 != 1]
    assert con.execute("FROM v").fetchall() == expected
    text = call.format(name="f", rows="SELECT * FROM t WHERE x IS NOT NULL AND x < ?")
    for limit in (10, 0, 4):
        assert con.execute(text, [limit]).fetchall() == [row for row in expected if row[0] <= limit]
    con.execute("PREPARE p AS " + text)
    assert con.execute("EXECUTE p(4)").fetchall() == con.execute("EXECUTE p(4)").fetchall() == expected[:3]


CLASSES = {"class": CLASS.replace("def merge", "def other"), "merging class": CLASS}


@pytest.mark.parametrize("name", CLASSES)
def test_classes(con: inlay.Connection, name: str) -> None:
    def create(update: str, finish: str) -> None:
        body = CLASSES[name].format(update=update, finish=finish)
        con.execute(f"CREATE OR REPLACE AGGREGATE f(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS $${body}$$")

    asked = f"SELECT f(x) FROM ({ROWS}) GROUP BY id % 2 ORDER BY id % 2"
    create("pass", "self.rows")
    assert con.execute(asked).fetchall() == [(334,), (333,)]
    assert con.execute(f"SELECT f(x) FROM ({ROWS}) WHERE id < 0").fetchall() == [(None,)]
    create("raise LookupError('not this one')", "1")
    with pytest.raises(inlay.FunctionException, match="LookupError: not this one"):
        con.execute(asked)
    create("pass", "'a text'")
    with pytest.raises(inlay.FunctionException, match=r'"f" gave .*BIGINT'):
        con.execute(asked)
    create("while True: pass", "1")
    con.execute("SET statement_timeout = 300")
    with pytest.raises(inlay.InterruptException, match="statement_timeout"):
        con.execute(asked)


@pytest.mark.parametrize("statement", ["CREATE TABLE made (x INTEGER)", "DROP TABLE t", "INSERT INTO t VALUES (1, 1)"])
def test_statements_on_the_connection_of_the_query_are_refused(con: inlay.Connection, statement: str) -> None:
    con.execute(f"CREATE TABLE t AS {ROWS}")

    def changes(x: Any) -> Any:
        con.execute(statement)
        return x

    con.create_function("changes", changes, ["BIGINT"], "BIGINT", type="numpy")
    with pytest.raises(inlay.FunctionException, match=r'"changes" raised .*cursor\(\) gives another'):
        con.execute("SELECT changes(x) FROM t")
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(1000,)]
    assert con.execute("SELECT table_name FROM information_schema.tables").fetchall() == [("t",)]


# Values of the statement.


def test_values_of_the_statement_are_scalars(con: inlay.Connection) -> None:
    seen: list[tuple[str, Any]] = []

    def look(x: Any, y: Any) -> Any:
        seen.append((type(y).__name__, y if np.ndim(y) == 0 else len(y)))
        return x

    con.create_function("look", look, ["BIGINT", "VARCHAR"], "BIGINT", type="numpy")
    con.execute(f"CREATE TABLE t AS SELECT id, x, 'the same' AS s FROM ({ROWS})")
    con.execute("CREATE TABLE one_row AS SELECT 'only' AS s")
    con.execute("CREATE TABLE keyed (k INTEGER PRIMARY KEY, s VARCHAR)")
    con.execute("INSERT INTO keyed VALUES (1, 'first'), (2, 'second')")
    for query, expected in [
        ("SELECT look(x, 'literal') FROM t", ("str", "literal")),
        ("SELECT look(x, (SELECT max(s) FROM t)) FROM t", ("str", "the same")),
        ("SELECT look(x, (SELECT s FROM one_row)) FROM t", ("str", "only")),
        ("SELECT look(x, upper((SELECT s FROM one_row)) || '!') FROM t", ("str", "ONLY!")),
        ("SELECT look(x, m) FROM t, (SELECT min(s) AS m FROM t)", ("str", "the same")),
        ("SELECT look(x, m) FROM t, (SELECT s AS m FROM t LIMIT 1)", ("str", "the same")),
        ("WITH o AS (SELECT max(s) AS m FROM t) SELECT look(x, (SELECT m FROM o)) FROM t", ("str", "the same")),
        ("SELECT look(x, (SELECT s FROM one_row WHERE s = 'none')) FROM t", ("MaskedConstant", np.ma.masked)),
        ("SELECT look(x, m.s) FROM t, keyed m WHERE m.k = 2 AND t.id >= 0", ("str", "second")),
        # Whatever the data are: columns stay columns.
        ("SELECT look(x, m.s) FROM t, keyed m WHERE m.k > 1 AND m.k < 3", ("ndarray", 1000)),
        ("SELECT look(x, s) FROM t", ("ndarray", 1000)),
        ("SELECT look(x, o.s) FROM t, one_row o", ("ndarray", 1000)),
        ("SELECT look(x, (SELECT max(u.s) FROM t u WHERE u.id = t.id)) FROM t", ("ndarray", 1000)),
        # Rows without a partner have NULL.
        ("SELECT look(x, m) FROM t LEFT JOIN (SELECT max(s) AS m FROM t) ON id > 10", ("MaskedArray", 1000)),
    ]:
        seen.clear()
        assert len(con.execute(query).fetchall()) == 1000
        assert seen == [expected], query


def test_a_value_of_the_statement_becomes_an_object_once(con: inlay.Connection) -> None:
    seen: list[Any] = []

    def look(model: Any, x: Any) -> Any:
        seen.append(model)
        return x * len(model)

    con.create_function("look", look, ["BLOB", "BIGINT"], "BIGINT", type="numpy")
    con.execute("CREATE TABLE models AS SELECT repeat('ab', 100000)::BLOB AS model")
    found = con.execute("SELECT sum(look((SELECT model FROM models), i)) FROM range(300000) t(i)").fetchone()
    assert found == (200_000 * sum(range(300_000)),)
    assert len(seen) > 1
    assert len({id(model) for model in seen}) == 1
    # Another statement, another value.
    con.execute("UPDATE models SET model = 'abc'::BLOB")
    assert con.execute("SELECT look((SELECT model FROM models), 2)").fetchone() == (6,)


def test_a_recursion_has_a_value_for_each_round(con: inlay.Connection) -> None:
    con.create_function("added", lambda x, y: x + y, ["BIGINT", "BIGINT"], "BIGINT", type="numpy")
    found = con.execute("""
        WITH RECURSIVE r(i, x) AS (
            SELECT 1::BIGINT, 1::BIGINT
            UNION ALL SELECT i + 1, added(x, m) FROM r, (SELECT max(x) AS m FROM r) WHERE i < 6
        ) SELECT x FROM r ORDER BY i
    """).fetchall()
    assert found == [(1,), (2,), (4,), (8,), (16,), (32,)]


# Functions of rows.


def test_rows_with_unusual_values(con: inlay.Connection) -> None:
    def create(function: Any, returns: str = "BIGINT", **more: Any) -> None:
        with contextlib.suppress(inlay.Error):
            con.remove_function("f")
        con.create_function("f", function, ["BIGINT"], returns, **more)

    query = "SELECT f(i) FROM range(4) t(i)"
    for returns, values, expected in [
        ("INTEGER", [1, True, 2.0, "3"], [1, 1, 2, 3]),
        ("UBIGINT", [2**64 - 1, 0, 1, 2], [2**64 - 1, 0, 1, 2]),
        ("DOUBLE", [1, 2.5, 2**60 + 1, True], [1.0, 2.5, float(2**60 + 1), 1.0]),
        ("VARCHAR", ["a", "", "ä" * 40, 7], ["a", "", "ä" * 40, "7"]),
        ("BLOB", [b"", b"x" * 20, b"\x00", bytearray(b"y")], [b"", b"x" * 20, b"\x00", b"y"]),
        ("BOOLEAN", [True, False, True, 1], [True, False, True, True]),
        ("DATE", ["2024-02-29"] * 4, None),
    ]:
        create(lambda i, values=values: values[i], returns)
        found = [row[0] for row in con.execute(query).fetchall()]
        assert expected is None or (found, list(map(type, found))) == (expected, list(map(type, expected)))
    for returns, values, message in [
        ("TINYINT", [1, 2, 128, 3], r"gave 128 for f\(2\), row 3 of 4; that is no TINYINT"),
        ("INTEGER", [1, 2.5, 0, 0], r"gave 2.5 for f\(1\)"),
        ("VARCHAR", ["\ud800", "a", "a", "a"], "half of a surrogate pair"),
    ]:
        create(lambda i, values=values: values[i], returns)
        with pytest.raises(inlay.Error, match=message):
            con.execute(query).fetchall()

    def stops(i: int) -> int:
        if i == 2:
            raise StopIteration
        return i

    create(stops)
    with pytest.raises(inlay.FunctionException, match='"f" raised StopIteration'):
        con.execute(query)
    create(lambda i: None if i == 2 else i)
    with pytest.raises(inlay.FunctionException, match="gave None"):
        con.execute(query)
    create(lambda i: None if i == 2 else i, null_handling="special")
    assert con.execute(query).fetchall() == [(0,), (1,), (None,), (3,)]
    con.create_function("nothing", lambda: 7, [], "BIGINT")
    assert con.execute("SELECT nothing() FROM range(3)").fetchall() == [(7,)] * 3

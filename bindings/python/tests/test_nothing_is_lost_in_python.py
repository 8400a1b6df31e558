"""Names, keys, texts and Ctrl-C that Python has and SQL does not: none is dropped without a word."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import pytest

import inlay

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")

HALF = "x\ud800y"


def test_keys_that_are_no_texts_are_named(con: inlay.Connection) -> None:
    wrong: list[Any] = [[{"a": 1, 1: 2}], [{"a": 1}, {None: 1}], [{(1, 2): 1}]]
    for records in wrong:
        with pytest.raises(inlay.InvalidInputException, match="is no text"):
            con.register("t", records)
    con.register("t", [{"a": 1, "1": 2}, {"b": 3}])
    assert con.sql("FROM t").fetchall() == [(1, 2, None), (None, None, 3)]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [HALF]}, dtype=object),
        pd.DataFrame({"a": ["x", None, HALF]}, dtype=object),
        {"a": [HALF]},
        {"a": [None, "x", HALF]},
        {"a": [1, HALF]},
        {"a": [[HALF]]},
        {"a": [{"k": HALF}]},
        {"a": [(1, [HALF])]},
        [{"a": HALF}],
        np.array([HALF], dtype=object),
        np.array([HALF]),
        {"a": np.array(["x", HALF], dtype=object)},
    ],
)
def test_halves_of_characters_are_refused(con: inlay.Connection, table: Any) -> None:
    with pytest.raises(inlay.InvalidInputException, match="half of a surrogate pair"):
        con.register("t", table)
        con.sql("FROM t").fetchall()
    con.execute("CREATE TABLE kept (a VARCHAR)")
    if isinstance(table, pd.DataFrame):
        with pytest.raises(inlay.InvalidInputException, match="half of a surrogate pair"):
            con.append("kept", table)
        assert con.sql("FROM kept").fetchall() == []


def test_other_objects_are_still_texts(con: inlay.Connection) -> None:
    con.register("mixed", pd.DataFrame({"a": [1, "x", [1, "y"], 2**200, object]}, dtype=object))
    assert con.sql("SELECT a FROM mixed").fetchall() == [
        ("1",),
        ("x",),
        ("[1, y]",),
        (str(2**200),),
        ("<class 'object'>",),
    ]


class Stubborn:
    """Raises Ctrl-C wherever its own code runs."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __getattr__(self, name: str) -> Any:
        if name in self.names or not self.names:
            raise KeyboardInterrupt
        raise AttributeError(name)


class Shown:
    def __str__(self) -> str:
        raise KeyboardInterrupt


class Array:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise KeyboardInterrupt


def test_ctrl_c_comes_out_of_whatever_looks_at_objects(con: inlay.Connection) -> None:
    tables: list[Any] = [Stubborn(), Stubborn("__arrow_c_array__"), Stubborn("__array__"), Array(), {"a": Array()}]
    tables += [{"a": Stubborn("__array__")}, {"a": [Shown()]}, [{"a": Shown()}], {"a": ["x", Shown()]}]
    tables += [pd.DataFrame({"a": [1, Shown()]}, dtype=object), pd.DataFrame({"a": ["x", Shown()]}, dtype=object)]
    for number, table in enumerate(tables):
        name = f"table{number}"
        with pytest.raises(KeyboardInterrupt):
            con.register(name, table)
            con.execute(f"FROM {name}").fetchall()
        locals_of = {"con": con, name: table}
        with pytest.raises(KeyboardInterrupt):
            eval(f"con.execute('FROM {name}').fetchall()", locals_of)
        assert con.execute("SELECT 42").fetchone() == (42,)
    with pytest.raises(KeyboardInterrupt):
        con.execute("SELECT ?", Stubborn("as_py"))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_no_ctrl_c_is_thrown_away() -> None:
    code = """
        import os, random, signal, threading, time
        import pandas as pd
        import inlay

        con, frame, end = inlay.connect(), pd.DataFrame({"a": ["q%d" % i for i in range(300)]}), time.time() + 3
        raised = caught = 0
        is_open = False

        def handler(*_):
            global is_open, raised
            if is_open:
                is_open, raised = False, raised + 1
                raise KeyboardInterrupt

        def interrupt():
            while time.time() < end:
                time.sleep(random.random() * 0.005)
                os.kill(os.getpid(), signal.SIGINT)

        signal.signal(signal.SIGINT, handler)
        thread = threading.Thread(target=interrupt)
        thread.start()
        while time.time() < end:
            try:
                is_open = True
                con.execute("SELECT count(DISTINCT a) FROM frame").fetchall()
                is_open = False
            except KeyboardInterrupt:
                caught += 1
        thread.join()
        print(raised, caught)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and "ignored" not in done.stderr, done.stderr
    raised, caught = map(int, done.stdout.split())
    assert raised == caught > 0

"""Lists and dicts that are nested too deep, or hold themselves: an error each way in, and the program goes on."""

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import inlay

DEEP = 20_000


def deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


def in_dicts(levels):
    value = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def round_list():
    value = []
    value.append(value)
    return value


def round_dict():
    value = {}
    value["a"] = value
    return value


def round_array():
    value = np.empty(1, dtype=object)
    value[0] = value
    return value


MADE = [lambda: deep(DEEP), lambda: in_dicts(DEEP), round_list, round_dict, round_array]
WAYS = {
    "a parameter": lambda con, value: con.execute("SELECT ?", [value]),
    "a named one": lambda con, value: con.execute("SELECT $x", {"x": value}),
    "of many": lambda con, value: con.executemany("INSERT INTO docs VALUES (?)", [[value]]),
    "of a document": lambda con, value: con.execute("INSERT INTO docs VALUES (?)", [value]),
    "an appender": lambda con, value: con.appender("lists").append_row(value),
    "a function": lambda con, value: (
        con.create_function("made", lambda x: value, ["INTEGER"], "INTEGER[]"),
        con.execute("SELECT made(1)").fetchall(),
    ),
    "a constant": lambda con, value: con.sql("SELECT 1").select(inlay.ConstantExpression(value)).fetchall(),
    "rows of values": lambda con, value: con.values([[value]]).fetchall(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("made", range(len(MADE)))
def test_deep_and_round_values_are_errors(way, made):
    con = inlay.connect()
    con.execute("CREATE TABLE docs (d JSON); CREATE TABLE lists (l INTEGER[])")
    with pytest.raises((inlay.Error, RecursionError, TypeError)):
        WAYS[way](con, MADE[made]())
    assert con.execute("SELECT count(*) FROM docs").fetchone() == (0,)


def test_the_message_says_what_is_wrong():
    with pytest.raises(inlay.Error, match="nested more than 200 levels deep, or holds itself"):
        inlay.connect().execute("SELECT ?", [round_list()])


@pytest.mark.parametrize("made", [lambda: deep(DEEP), round_list])
def test_tables_of_deep_objects(made):
    con = inlay.connect()
    for rows in ({"a": [made()]}, [{"a": made()}]):
        try:
            # What no type of SQL holds is shown as Python shows it.
            assert con.sql("FROM rows").fetchall() == [(str(rows[0]["a"] if isinstance(rows, list) else rows["a"][0]),)]
        except (inlay.Error, RecursionError):
            assert con.execute("SELECT 1").fetchone() == (1,)


def test_what_is_not_too_deep_comes_back():
    con = inlay.connect()
    for value in (deep(150), in_dicts(150)):
        assert con.execute("SELECT ?", [value]).fetchone() == (value,)


def test_a_thread_of_a_small_stack():
    program = """
        import threading, inlay
        con = inlay.connect()
        def work(depth):
            value = 1
            for _ in range(depth):
                value = [value]
            try:
                return print(con.cursor().execute("SELECT ?", [value]).fetchone() == (value,))
            except inlay.Error as error:
                print("stack" in str(error) or "200 levels" in str(error))
        threading.stack_size(256 * 1024)
        for depth in (10, 150, 199, 300, 5000):
            thread = threading.Thread(target=work, args=(depth,))
            thread.start()
            thread.join()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.split()) == (0, ["True"] * 5), done.stderr
    assert threading.stack_size() == 0

"""What a function does with the connection whose statement calls it: an answer or an error, and never a hang."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

LIMIT = 60

#: `body` runs once in the function; the statement is read to its end.
PROGRAM = """
import faulthandler
import inlay, threading
faulthandler.dump_traceback_later({limit} - 5, exit=True)
c = inlay.connect({arguments})
{before}
ran = []
def f(x):
    global c
    if not ran:
        ran.append(1)
{body}
    return x
c.create_function("f", f, ["BIGINT"], "BIGINT", side_effects={volatile})
statement = {statement!r}
reader = c
try:
    rows = {read}
    print("rows", len(rows))
except inlay.Error as error:
    print(type(error).__name__, str(error).replace(chr(10), " ")[:300])
try:
    print("then", inlay.connect().execute("SELECT 1").fetchone(), c is not None and c.execute("SELECT 2").fetchone())
except inlay.Error as error:
    print("then", type(error).__name__)
"""


def outcome(
    body: str,
    *,
    before: str = "",
    statement: str = "SELECT sum(f(range)) FROM range(10)",
    read: str = "reader.execute(statement).fetchall()",
    arguments: str = "",
    volatile: bool = False,
) -> list[str]:
    program = PROGRAM.format(
        limit=LIMIT,
        before=before,
        body=textwrap.indent(textwrap.dedent(body).strip(), " " * 8),
        statement=statement,
        read=read,
        arguments=arguments,
        volatile=volatile,
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert ran.returncode == 0, (ran.stdout, ran.stderr[-2000:])
    return ran.stdout.splitlines()


BUSY = "this connection runs the statement that called the function"


@pytest.mark.parametrize(
    "body",
    [
        "c.close()",
        "c.__exit__(None, None, None)",
        "with c: pass",
        "c.execute('SELECT 1')",
        "c.executemany('SELECT ?', [[1], [2]])",
        "c.sql('SELECT 1').fetchall()",
        "c.prepare('SELECT 1')",
        "c.begin()",
        "c.checkpoint()",
        "c.backup('nowhere.inlay')",
        "c.append('t', {'x': [1]})",
        "c.transaction().__enter__()",
    ],
)
@pytest.mark.parametrize("arguments", ["", "config={'threads': 1}"])
def test_a_busy_connection_says_so(body: str, arguments: str) -> None:
    """The statement fails by what the function is told, and the connection goes on."""
    first, then = outcome(body, arguments=arguments)
    assert first.startswith("FunctionException") and BUSY in first, first
    assert then == "then (1,) (2,)"


@pytest.mark.parametrize("body", ["c.commit()", "c.rollback()"])
def test_a_transaction_does_not_end_inside(body: str) -> None:
    first, then = outcome(body, before="c.begin()")
    assert first.startswith("FunctionException") and BUSY in first, first
    assert then == "then (1,) (2,)"
    # Without one there is nothing to end.
    assert outcome(body)[0] == "rows 1"


@pytest.mark.parametrize(
    "body",
    [
        "assert c.in_transaction is False",
        "assert c.cursor().execute('SELECT 5').fetchone() == (5,)",
        "d = c.cursor(); d.close()",
        "c.duplicate().close()",
        "c.register('r', {'x': [1]}); c.unregister('r')",
        "c.create_function('g', lambda x: x, ['BIGINT'], 'BIGINT'); c.remove_function('g')",
        "c.remove_function('f')",
        "c.description; c.rowcount; c.query_progress(); repr(c)",
        "c.set_priority('low')",
        "inlay.connect().execute('SELECT 1')",
        "c = None",
        "global reader; c = reader = None; import gc; gc.collect()",
        "inlay.calling().execute('SELECT 1').fetchall()",
        "inlay.calling().close()",
    ],
)
def test_what_needs_no_turn_goes_on(body: str) -> None:
    assert outcome(body)[0] == "rows 1"


def test_interrupting_oneself() -> None:
    first, then = outcome("c.interrupt()", statement="SELECT sum(f(range)) FROM range(1000000)")
    assert first == "rows 1" or first.startswith("InterruptException"), first
    assert then == "then (1,) (2,)"


@pytest.mark.parametrize(
    "body",
    [
        "t = threading.Thread(target=c.close); t.start(); t.join()",
        "t = threading.Thread(target=lambda: c.interrupt()); t.start(); t.join()",
    ],
)
def test_another_thread_that_the_function_waits_for(body: str) -> None:
    """It cannot be told from one that works beside; closing does not wait for ever."""
    first, _ = outcome(body, statement="SELECT sum(f(range)) FROM range(100000)")
    assert first.startswith(("rows 1", "InterruptException", "FunctionException", "ConnectionException")), first


#: Rows that are computed while they are fetched.
LARGE = "SELECT f(range), repeat('x', 1000) || range FROM range(300000)"
LATE = """
        ran.clear()
        if x > 250000:
            ran.append(1)
            {}
"""


@pytest.mark.parametrize("body", ["c.fetchone()", "c.fetchall()", "c.df()", "c.arrow()", "c.complete()", "c.abort()"])
def test_fetching_rows_of_the_query_that_calls(body: str) -> None:
    first, then = outcome(LATE.format(body), statement=LARGE)
    assert "cannot fetch rows of the query that calls it" in first, first
    assert then == "then (1,) (2,)"


@pytest.mark.parametrize("body", ["c.close()", "c = None", "c.execute('SELECT 1')"])
def test_closing_while_rows_are_fetched(body: str) -> None:
    first, _ = outcome(LATE.format(body), statement=LARGE)
    assert first.startswith(("rows", "ConnectionException", "FunctionException", "InterruptException")), first


def test_a_cursor_of_an_outer_statement_is_busy() -> None:
    """A function that a query of a function calls cannot close the outer one."""
    first, then = outcome(
        "c.cursor().execute('SELECT g(1)').fetchall()",
        before="c.create_function('g', lambda x: c.close() or x, ['BIGINT'], 'BIGINT')",
    )
    assert first.startswith("FunctionException") and BUSY in first, first
    assert then == "then (1,) (2,)"


def test_prepared_statements_are_busy_too() -> None:
    first, then = outcome("p.execute()", before="p = c.prepare('SELECT 1')")
    assert BUSY in first and then == "then (1,) (2,)"

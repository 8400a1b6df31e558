"""Random queries that call functions in Python, beside the same queries without them, for as long as is asked.

python -m tests.fuzz.functions --minutes 60 --seed 7

Functions of every kind (arrays, rows, Arrow, whole columns, worker processes, aggregates, tables) stand in for
expressions of SQL; both spellings of a query must give the same rows. In between functions raise exceptions, give what
does not fit, are replaced, and are interrupted. The memory of this process and its workers is printed; it must not grow
once it is warm.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import random
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import inlay

ROWS = 20_000
SECONDS_BETWEEN_LOOKS = 5.0
#: Share of a run after which memory is expected to be what it stays.
WARM = 0.3
#: What memory may differ by at the end: allocators keep some of what they were asked for.
GROWTH_MAX, SLACK_MIB = 1.10, 24.0

TABLE = f"""
    CREATE TABLE t AS
    SELECT i AS id, CASE WHEN hash(i) % 11 <> 0 THEN (hash(i, 1) % 2000)::INTEGER - 1000 END AS a,
        CASE WHEN hash(i, 2) % 7 <> 0 THEN (hash(i, 3) % 100000)::DOUBLE / 8 - 5000 END AS b,
        CASE WHEN hash(i, 4) % 5 <> 0 THEN 'text ' || (hash(i, 5) % 50)::VARCHAR END AS s,
        (hash(i, 6) % 37)::INTEGER AS k
    FROM range({ROWS}) r(i)
"""

MAPS = """
    CREATE OR REPLACE FUNCTION twice(x INTEGER) RETURNS BIGINT LANGUAGE PYTHON_MAP {{
        return x.astype('i8') * 2 + {number}
    }};
    CREATE OR REPLACE FUNCTION halved(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON_MAP IMMUTABLE STRICT {{ return x / 2 }};
    CREATE OR REPLACE FUNCTION louder(x VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON_MAP IMMUTABLE STRICT {{
        return [each.upper() for each in x]
    }};
    CREATE OR REPLACE FUNCTION longer(x VARCHAR, y INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP STRICT
    WITH (strings = 'stringdtype') {{ return np.strings.str_len(x).astype('i4') + y }};
    CREATE OR REPLACE FUNCTION far(x INTEGER, y INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP STRICT
    WITH (parallel = 'processes') {{ return [p + q for p, q in zip(x.tolist(), np.broadcast_to(y, len(x)).tolist())] }};
    CREATE OR REPLACE FUNCTION far_text(x VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON_MAP
    WITH (parallel = 'processes') {{ return [None if each is None else each + '!' for each in x.tolist()] }};
    CREATE OR REPLACE FUNCTION centred(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON STRICT {{ return x - x.min() }};
    CREATE OR REPLACE FUNCTION in_arrow(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP WITH (arguments = 'arrow') {{
        import pyarrow.compute as pc
        return pc.add(x, {number})
    }};
    CREATE OR REPLACE FUNCTION with_value(x INTEGER, y INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP STRICT {{
        assert np.ndim(y) == 0
        return x + y
    }};
    CREATE OR REPLACE FUNCTION fails(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP STRICT {{
        if (x == {number}).any():
            raise ValueError('it is there')
        return x
    }};
    CREATE OR REPLACE FUNCTION far_fails(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP STRICT
    WITH (parallel = 'processes') {{
        if {number} in x.tolist():
            raise KeyError('it is there')
        return x
    }};
    CREATE OR REPLACE FUNCTION too_few(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP {{ return x[:-1] }};
    CREATE OR REPLACE FUNCTION too_large(x INTEGER) RETURNS TINYINT LANGUAGE PYTHON_MAP {{ return [1000] * len(x) }};
    CREATE OR REPLACE FUNCTION endless(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP {{
        while True:
            x = x + 1
        return x
    }};
    CREATE OR REPLACE FUNCTION far_endless(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP
    WITH (parallel = 'processes') {{
        while True:
            x = x + 1
        return x
    }};
    CREATE OR REPLACE AGGREGATE total(x INTEGER) RETURNS BIGINT LANGUAGE PYTHON STRICT {{
        return np.bincount(aggr_group, weights=x).astype('i8')
    }};
    CREATE OR REPLACE AGGREGATE middle(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON STRICT {{ return np.median(x) }};
    CREATE OR REPLACE AGGREGATE most(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON STRICT {{
        class most:
            def __init__(self):
                self.value = None
            def update(self, x):
                self.value = max(x.max(), self.value or x.max())
            def merge(self, other):
                if other.value is not None:
                    self.value = other.value if self.value is None else max(self.value, other.value)
            def finish(self):
                return self.value
    }};
    CREATE OR REPLACE FUNCTION firsts(t TABLE, n INTEGER) RETURNS TABLE (id BIGINT, v INTEGER) LANGUAGE PYTHON {{
        best = np.argsort(t['id'])[:n]
        return {{'id': t['id'][best], 'v': t['v'][best]}}
    }}
"""


@dataclass
class Expression:
    """A call, and what it stands for; `{}` are arguments."""

    call: str
    plain: str
    takes: str
    gives: str


EXPRESSIONS = [
    Expression("twice({a})", "({a}::BIGINT * 2 + {number})", "a", "bigint"),
    Expression("halved({b})", "({b} / 2)", "b", "b"),
    Expression("louder({s})", "upper({s})", "s", "s"),
    Expression("longer({s}, {a})", "(length({s})::INTEGER + {a})", "sa", "a"),
    Expression("longer({s}, 3)", "(length({s})::INTEGER + 3)", "s", "a"),
    Expression("far({a}, {k})", "({a} + {k})", "ak", "a"),
    Expression("far({a}, 5)", "({a} + 5)", "a", "a"),
    Expression("far_text({s})", "({s} || '!')", "s", "s"),
    Expression("in_arrow({a})", "({a} + {number})", "a", "a"),
    Expression("with_value({a}, (SELECT max(k) FROM t))", "({a} + (SELECT max(k) FROM t))", "a", "a"),
    Expression("of_row({a}, {k})", "({a} + {k} * 2)", "ak", "a"),
    Expression("text_of_row({s})", "({s} || '?')", "s", "s"),
    Expression("forgiving({a})", "CASE WHEN {a} % 3 <> 0 THEN {a} END", "a", "a"),
]

AGGREGATES = [
    ("total({a})", "sum({a})::BIGINT"),
    ("middle({b})", "median({b})"),
    ("most({a})", "max({a})"),
]


@dataclass
class Soak:
    """One connection and what is done with it."""

    seed: int
    random: random.Random = field(init=False)
    counts: Counter[str] = field(default_factory=Counter)
    number: int = 0
    is_defined: bool = False

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.con = inlay.connect(config={"allow_python": True, "threads": 2})
        self.con.execute(TABLE)
        self.define()

    def define(self) -> None:
        """Make all functions, with another number in their texts."""
        self.number = self.random.randrange(1, 400)
        self.con.execute(MAPS.format(number=self.number))

        def forgiving(x: int) -> int:
            if x % 3 == 0:
                raise ValueError
            return x

        for name, function, parameters, returns, more in (
            ("of_row", lambda x, y: x + y * 2, ["INTEGER", "INTEGER"], "INTEGER", {}),
            ("text_of_row", lambda x: x + "?", ["VARCHAR"], "VARCHAR", {}),
            ("forgiving", forgiving, ["INTEGER"], "INTEGER", {"exception_handling": "return_null"}),
        ):
            if self.is_defined:
                self.con.remove_function(name)
            self.con.create_function(name, function, parameters, returns, **more)
        self.is_defined = True

    def expression(self, kind: str, depth: int) -> tuple[str, str]:
        """A random expression of a kind, with calls and without."""
        fitting = [each for each in EXPRESSIONS if each.gives == kind]
        if depth == 0 or not fitting or self.random.random() < 0.2:
            return kind, kind
        chosen = self.random.choice(fitting)
        inner = {each: self.expression(each, depth - 1 if each != "k" else 0) for each in chosen.takes}
        call = chosen.call.format(number=self.number, **{name: pair[0] for name, pair in inner.items()})
        plain = chosen.plain.format(number=self.number, **{name: pair[1] for name, pair in inner.items()})
        return call, plain

    def queries(self) -> tuple[str, str]:
        """A random query, with calls and without."""
        kind = self.random.choice(["a", "b", "s", "a"])
        call, plain = self.expression(kind, self.random.randrange(1, 4))
        first, second = self.random.choice(EXPRESSIONS[:1]), self.random.randrange(ROWS)
        condition = self.random.choice(["true", f"id < {second}", f"k = {second % 37}", "a IS NOT NULL", "false"])
        at = {"number": self.number, "a": "a"}
        where = f"{condition} AND {first.call.format(**at)} > {second % 500}"
        plain_where = f"{condition} AND {first.plain.format(**at)} > {second % 500}"
        match self.random.randrange(8):
            case 0:
                shape = "SELECT id, {e} AS v FROM t WHERE {w} ORDER BY id"
            case 1:
                shape = "SELECT {e} AS v, count(*) FROM t WHERE {w} GROUP BY 1 ORDER BY 1, 2"
            case 2:
                shape = "SELECT t.id, {e} AS v FROM t JOIN (SELECT id AS o FROM t WHERE {w}) u ON id = o ORDER BY 1"
            case 3:
                shape = "SELECT id FROM t WHERE {w} ORDER BY {e}, id LIMIT 20"
            case 4:
                shape = "SELECT id, CASE WHEN k < 9 THEN {e} END AS v FROM t WHERE {w} ORDER BY id"
            case 5:
                aggregate, built_in = self.random.choice(AGGREGATES)
                shape = "SELECT k, " + "{g} AS v FROM t WHERE {w} GROUP BY k ORDER BY k"
                names = {"a": "a", "b": "b"}
                return (
                    shape.format(g=aggregate.format(**names), w=where),
                    shape.format(g=built_in.format(**names), w=plain_where),
                )
            case 6:
                least = "(SELECT min(b) FROM t WHERE b IS NOT NULL AND {c})"
                shape = f"SELECT id, b - {least} AS v FROM t WHERE {{c}} ORDER BY id"
                left = f"SELECT id, centred(b) AS v FROM t WHERE {condition} ORDER BY id"
                return left, shape.format(c=condition)
            case _:
                count = self.random.randrange(50)
                inner = f"SELECT id, coalesce({{e}}, 0)::INTEGER AS v FROM t WHERE {condition}"
                call, plain = self.expression("a", 2)
                return (
                    f"SELECT * FROM firsts(({inner.format(e=call)}), {count}) ORDER BY id",
                    f"SELECT id::BIGINT AS id, v FROM ({inner.format(e=plain)}) ORDER BY id LIMIT {count}",
                )
        return shape.format(e=call, w=where), shape.format(e=plain, w=plain_where)

    def compare(self) -> None:
        """One query in both spellings."""
        with_calls, without = self.queries()
        found, expected = (self.con.execute(sql).fetchall() for sql in (with_calls, without))
        if not same(found, expected):
            where = next((pair for pair in zip(found, expected, strict=False) if not same([pair[0]], [pair[1]])), None)
            raise AssertionError(
                f"seed {self.seed}: {len(found)} and {len(expected)} rows, first difference {where}\n"
                f"{with_calls}\n{without}"
            )
        self.counts["same"] += 1

    def fail(self) -> None:
        """A call that must be an error, after which the connection works."""
        name = self.random.choice(["fails", "far_fails", "too_few", "too_large"])
        try:
            self.con.execute(f"SELECT sum({name}(a)) FROM t GROUP BY a % 2").fetchall()
        except inlay.Error as error:
            if name not in str(error):
                raise AssertionError(f"the error of {name} does not name it: {error}") from error
            self.counts["errors"] += 1
        else:
            raise AssertionError(f"seed {self.seed}: {name} gave no error, number {self.number}")

    def interrupt(self) -> None:
        """A call without an end, which is ended."""
        name = self.random.choice(["endless", "far_endless"])
        ended = threading.Event()

        def interrupt() -> None:
            # Before the statement begins it is for nobody.
            while not ended.wait(0.05):
                self.con.interrupt()

        thread = threading.Thread(target=interrupt)
        started = time.monotonic()
        thread.start()
        try:
            self.con.execute(f"SELECT sum({name}(a)) FROM t GROUP BY a % 2").fetchall()
        except (inlay.InterruptException, KeyboardInterrupt):
            self.counts["interrupts"] += 1
        finally:
            ended.set()
            thread.join()
        if time.monotonic() - started > 20:
            raise AssertionError(f"seed {self.seed}: {name} took 20 seconds to end")

    def step(self) -> None:
        """One random thing."""
        actions: list[tuple[float, Callable[[], None]]] = [
            (0.90, self.compare),
            (0.94, self.fail),
            (0.96, self.interrupt),
            (1.00, self.define),
        ]
        drawn = self.random.random()
        next(action for limit, action in actions if drawn <= limit)()


def same(left: list[Any], right: list[Any]) -> bool:
    """Whether rows are the same, but for the last digits of floats."""
    return len(left) == len(right) and all(
        len(one) == len(other) and all(map(_is_same, one, other)) for one, other in zip(left, right, strict=True)
    )


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


def resident_mib() -> float:
    """Memory of this process and of those that it started."""
    pids = [str(os.getpid())]
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                pids += task.read_text().split()
            except OSError:
                continue
    total = 0
    for pid in pids:
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue
    return total * os.sysconf("SC_PAGE_SIZE") / 2**20


def growth(looks: list[tuple[float, float]], whole: float) -> str | None:
    """What is wrong with memory over time: pairs of seconds and MiB."""
    warm = [mib for seconds, mib in looks if WARM * whole <= seconds <= (WARM + 1) / 2 * whole]
    last = [mib for seconds, mib in looks if seconds > (WARM + 1) / 2 * whole]
    if len(warm) < 3 or len(last) < 3:
        return None
    before, after = statistics.median(warm), statistics.median(last)
    if after > before * GROWTH_MAX + SLACK_MIB:
        return f"memory grew from {before:,.0f} to {after:,.0f} MiB"
    return None


def run(minutes: float, seed: int) -> str | None:
    """Go on for so long; what is wrong, if anything."""
    soak = Soak(seed)
    looks: list[tuple[float, float]] = []
    started = shown = time.monotonic()
    whole = minutes * 60
    while (now := time.monotonic()) - started < whole:
        soak.step()
        if not looks or now - started - looks[-1][0] >= SECONDS_BETWEEN_LOOKS:
            gc.collect()
            looks.append((now - started, resident_mib()))
        if now - shown >= 60:
            shown = now
            print(f"{(now - started) / 60:6.1f} min  {looks[-1][1]:7,.0f} MiB  {dict(soak.counts)}", flush=True)
    print(f"seed {seed}: {dict(soak.counts)}; {looks[-1][1]:,.0f} MiB at the end", flush=True)
    soak.con.close()
    return growth(looks, whole)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what queries are made from")
    options = parser.parse_args()
    wrong = run(options.minutes, options.seed)
    if wrong:
        print(wrong)
    return wrong is not None


if __name__ == "__main__":
    sys.exit(main())

"""Random rows for the zoo's four tables, the same for every engine and for every run with the same seed.

Ids are unique; everything else repeats and is NULL now and then. Seeds below zero leave tables empty: -1 all of
them, -2 the two that subqueries mostly read from, -3 the two that they are mostly asked for.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

TABLES = {
    "dept": "id INTEGER, name VARCHAR, city VARCHAR, budget INTEGER",
    "emp": "id INTEGER, dept INTEGER, boss INTEGER, name VARCHAR, pay DECIMAL(8, 2), hired DATE",
    "task": "id INTEGER, emp INTEGER, hours INTEGER, kind VARCHAR, due DATE",
    "nums": "a INTEGER, b INTEGER, s VARCHAR, f DOUBLE",
}
EMPTY = {-1: {"dept", "emp", "task", "nums"}, -2: {"emp", "task"}, -3: {"dept", "nums"}}
SEEDS = (1, 2, 3, -1, -2, -3)
NAMES = ["Ada", "Bo", "Cy", "Dee", "Eve", "Flo", "Gus", "Hal", "A very long name, well past twelve bytes"]


def statements(seed: int) -> list[str]:
    """SQL that creates and fills the tables."""
    rng = random.Random(seed)
    rows = {
        "dept": [dept(rng, key) for key in range(1, 10)],
        "emp": [emp(rng, key) for key in range(1, 43)],
        "task": [task(rng, key) for key in range(1, 97)],
        "nums": [nums(rng) for _ in range(37)],
    }
    script = []
    for table, columns in TABLES.items():
        script.append(f"CREATE TABLE {table} ({columns})")
        if table not in EMPTY.get(seed, set()):
            rng.shuffle(rows[table])
            script.append(f"INSERT INTO {table} VALUES {', '.join(rows[table])}")
    return script


def dept(rng: random.Random, key: int) -> str:
    city = maybe(rng, lambda: quoted(rng.choice(["Ulm", "Bonn", "Kiel"])))
    return row(key, quoted(rng.choice(NAMES)), city, maybe(rng, lambda: rng.randrange(1, 10) * 100))


def emp(rng: random.Random, key: int) -> str:
    return row(
        key,
        maybe(rng, lambda: rng.randrange(1, 8)),
        maybe(rng, lambda: rng.randrange(1, 20)),
        maybe(rng, lambda: quoted(rng.choice(NAMES))),
        maybe(rng, lambda: f"{rng.randrange(2_000_00, 9_999_99) / 100:.2f}"),
        maybe(rng, lambda: day(rng)),
    )


def task(rng: random.Random, key: int) -> str:
    return row(
        key,
        maybe(rng, lambda: rng.randrange(1, 46)),
        maybe(rng, lambda: rng.randrange(1, 40)),
        maybe(rng, lambda: quoted(rng.choice("abcd"))),
        maybe(rng, lambda: day(rng)),
    )


def nums(rng: random.Random) -> str:
    return row(
        maybe(rng, lambda: rng.randrange(0, 10)),
        maybe(rng, lambda: rng.randrange(0, 10)),
        maybe(rng, lambda: quoted(rng.choice("abcdef"))),
        maybe(rng, lambda: rng.randrange(-8, 9) / 4),
    )


def maybe(rng: random.Random, make: Callable[[], Any]) -> Any:
    """A value, or NULL once in seven times."""
    return "NULL" if rng.randrange(7) == 0 else make()


def quoted(text: str) -> str:
    return f"'{text}'"


def day(rng: random.Random) -> str:
    return f"DATE '20{rng.randrange(18, 26)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}'"


def row(*values: Any) -> str:
    return f"({', '.join(str(value) for value in values)})"

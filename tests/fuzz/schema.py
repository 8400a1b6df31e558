"""Random tables: columns of all kinds with NULLs, repetitions and the values at which types end.

A column named `small` holds values that arithmetic cannot take out of its type's range; the others hold anything.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
TEXTS = [
    "",
    "a",
    "A",
    "b",
    "ab",
    "abc",
    "ba",
    " a",
    "a ",
    "%",
    "_",
    "é",
    "ß",
    "日本",
    "longer than twelve bytes",
    "0",
    "10",
    "9",
]
DATES = ["1969-12-31", "1999-02-28", "2000-02-29", "2024-01-01", "2024-02-29", "2024-12-31"]
TIMES = ["00:00:00", "12:30:00", "23:59:59.999999"]
EDGES = {
    "TINYINT": [-128, -1, 0, 1, 127],
    "SMALLINT": [-32768, -1, 0, 1, 32767],
    "INTEGER": [-(2**31), -1, 0, 1, 2**31 - 1],
    "BIGINT": [-(2**63), -(2**31) - 1, 0, 2**31, 2**63 - 1],
}


@dataclass(frozen=True)
class Column:
    """A column, its SQL type, and what expressions may do with it."""

    name: str
    type: str
    kind: str
    is_small: bool = False


@dataclass(frozen=True)
class Table:
    """A table; its first column is a unique, never NULL number."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    def statements(self) -> list[str]:
        """SQL that makes it."""
        columns = ", ".join(f"{column.name} {column.type}" for column in self.columns)
        script = [f"CREATE TABLE {self.name} ({columns})"]
        if self.rows:
            rows = ", ".join(f"({', '.join(row)})" for row in self.rows)
            script.append(f"INSERT INTO {self.name} VALUES {rows}")
        return script


def tables(rng: random.Random) -> list[Table]:
    """Two to four tables of 0 to 60 rows."""
    return [table(rng, f"t{number}") for number in range(rng.randrange(2, 5))]


def table(rng: random.Random, name: str) -> Table:
    columns = [Column("id", "INTEGER", "integer", is_small=True)]
    for number in range(rng.randrange(2, 7)):
        columns.append(column(rng, f"c{number}"))
    count = rng.choice([0, 1, 3, 10, 25, 60])
    nulls = rng.choice([0.0, 0.1, 0.1, 0.3, 0.9])
    rows = []
    for key in range(count):
        rows.append((str(key), *(value(rng, column, nulls) for column in columns[1:])))
    rng.shuffle(rows)
    return Table(name, tuple(columns), tuple(rows))


def column(rng: random.Random, name: str) -> Column:
    kind = rng.choice(
        ["integer", "integer", "integer", "text", "text", "double", "decimal", "boolean", "date", "timestamp"]
    )
    if kind == "integer":
        return Column(name, rng.choice(INTEGERS), kind, is_small=rng.random() < 0.7)
    if kind == "decimal":
        return Column(
            name, rng.choice(["DECIMAL(4,1)", "DECIMAL(9,2)", "DECIMAL(18,3)", "DECIMAL(30,4)"]), kind, is_small=True
        )
    sql = {"text": "VARCHAR", "double": "DOUBLE", "boolean": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP"}[kind]
    return Column(name, sql, kind, is_small=True)


def value(rng: random.Random, column: Column, nulls: float) -> str:
    """A literal for a column."""
    if rng.random() < nulls:
        return "NULL"
    if column.kind == "integer" and not column.is_small:
        return str(rng.choice(EDGES[column.type]))
    return literal(rng, column.kind)


def literal(rng: random.Random, kind: str) -> str:
    """A literal of a kind, in a range that arithmetic stays inside of."""
    match kind:
        case "integer":
            return str(rng.randrange(-5, 11))
        case "double":
            return rng.choice(["0.0", "-0.5", "0.25", "1.5", "2.0", "-3.0", "100.125"]) + "::DOUBLE"
        case "decimal":
            return f"{rng.randrange(-99, 1000) / 10:.1f}"
        case "text":
            return "'" + rng.choice(TEXTS) + "'"
        case "boolean":
            return rng.choice(["TRUE", "FALSE"])
        case "date":
            return f"DATE '{rng.choice(DATES)}'"
        case _:
            return f"TIMESTAMP '{rng.choice(DATES)} {rng.choice(TIMES)}'"

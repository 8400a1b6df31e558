"""TPC-H as data: query texts, reference answers, and an exact comparison of an answer with its reference.

The texts are those of the specification (3.0.1) with its validation parameters; Q15 is the variant that names its
view in a WITH clause. References are CSV files with two header rows, column names and column kinds.

What always holds
- Integers, decimals, dates and text are compared exactly; only kind `double` has a tolerance.
- An answer is compared as a multiset, and its sort keys also as a sequence: rows that tie may change places.

Called by `test_tpch`, by the demo and by the benchmark. `make_answers` writes the references.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
QUERY_NUMBERS = range(1, 23)
TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
DOUBLE_TOLERANCE = 1e-9
LOOSE_TOLERANCE = 1e-6

# Positions of the ORDER BY columns of each query, empty where it has none.
SORT_KEYS: dict[int, tuple[int, ...]] = {
    1: (0, 1),
    2: (0, 2, 1, 3),
    3: (1, 2),
    4: (0,),
    5: (1,),
    6: (),
    7: (0, 1, 2),
    8: (0,),
    9: (0, 1),
    10: (2,),
    11: (1,),
    12: (0,),
    13: (1, 0),
    14: (),
    15: (0,),
    16: (3, 0, 1, 2),
    17: (),
    18: (4, 3),
    19: (),
    20: (0,),
    21: (1, 0),
    22: (0,),
}


@dataclass(frozen=True)
class Answer:
    """Column names, column kinds (`integer`, `decimal`, `double`, `date`, `text`) and rows of one result."""

    names: list[str]
    kinds: list[str]
    rows: list[tuple[Any, ...]]


def query_text(number: int) -> str:
    """Text of TPC-H query `number`, 1 to 22, without the final semicolon."""
    return (HERE / "queries" / f"q{number:02d}.sql").read_text().strip().rstrip(";")


def answers_dir(scale: float) -> Path:
    """Folder of the reference answers at `scale`; it exists for 0.01 and 1."""
    return HERE / "answers" / f"sf{scale:g}"


def reference(number: int, scale: float) -> Answer | None:
    """Reference answer of query `number` at `scale`, or None when none is committed for that scale."""
    path = answers_dir(scale) / f"q{number:02d}.csv"
    if path.exists():
        return read_answer(path)
    packed = path.with_suffix(".csv.gz")
    return read_answer(packed) if packed.exists() else None


def read_answer(path: Path) -> Answer:
    """Read one reference. An empty field is NULL: no TPC-H answer has an empty string."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as file:
        lines = csv.reader(file)
        names, kinds = next(lines), next(lines)
        rows = [tuple(map(parse_field, line, kinds)) for line in lines]
    return Answer(names, kinds, rows)


def parse_field(text: str, kind: str) -> Any:
    """One CSV field as a Python value of its column's kind."""
    if text == "":
        return None
    if kind == "integer":
        return int(text)
    if kind == "decimal":
        return Decimal(text)
    if kind == "double":
        return float(text)
    if kind == "date":
        return datetime.date.fromisoformat(text)
    return text


def difference(
    expected: Answer,
    rows: Iterable[Sequence[Any]],
    sort_keys: Sequence[int] = (),
    *,
    names: Sequence[str] | None = None,
    strict: bool = True,
    tolerance: float = DOUBLE_TOLERANCE,
) -> str | None:
    """
    First difference between a reference and an answer in words, None when they agree.

    With `strict`, a decimal has to arrive as `Decimal` and an integer as `int`; without, numbers of any type may
    arrive and decimals may be off by `LOOSE_TOLERANCE`: some engines compute them as doubles. `tolerance` is that
    of doubles.
    """
    actual = [tuple(row) for row in rows]
    if names is not None and [name.lower() for name in names] != [name.lower() for name in expected.names]:
        return f"columns are {list(names)}, expected {expected.names}"
    if len(actual) != len(expected.rows):
        return f"{len(actual)} rows, expected {len(expected.rows)}"
    kinds = expected.kinds
    if actual and len(actual[0]) != len(kinds):
        return f"{len(actual[0])} columns, expected {len(kinds)}"
    for row in actual:
        for value, kind, name in zip(row, kinds, expected.names, strict=True):
            if not has_kind(value, kind, strict):
                return f"column {name}: {value!r} is a {type(value).__name__}, expected kind {kind}"
    inexact = [not strict and kind in ("decimal", "double", "integer") for kind in kinds]
    for position, (left, right) in enumerate(zip(expected.rows, actual, strict=True), 1):
        for key in sort_keys:
            if not same(left[key], right[key], kinds[key], inexact[key], tolerance):
                return (
                    f"row {position} is out of order: {expected.names[key]} is {right[key]!r}, expected {left[key]!r}"
                )
    order = pairing_order(kinds, strict)
    pairs = zip(sorted(expected.rows, key=order), sorted(actual, key=order), strict=True)
    for left, right in pairs:
        for column, kind in enumerate(kinds):
            if not same(left[column], right[column], kind, inexact[column], tolerance):
                return f"column {expected.names[column]}: {right[column]!r}, expected {left[column]!r} (row {left!r})"
    return None


def has_kind(value: Any, kind: str, strict: bool) -> bool:
    """Whether a Python value may stand in a column of this kind."""
    if value is None:
        return True
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool) if strict else number
    if kind == "decimal":
        return isinstance(value, Decimal) if strict else number
    if kind == "double":
        return isinstance(value, float) if strict else number
    if kind == "date":
        return isinstance(value, datetime.date)
    return isinstance(value, str)


def same(left: Any, right: Any, kind: str, inexact: bool, tolerance: float) -> bool:
    """Whether two values of one column agree; NULL agrees with NULL alone."""
    if left is None or right is None:
        return left is None and right is None
    if kind == "double" or inexact:
        tolerance = tolerance if kind == "double" else LOOSE_TOLERANCE
        return math.isclose(float(left), float(right), rel_tol=tolerance, abs_tol=1e-12)
    if kind == "date" and isinstance(right, datetime.datetime):
        return bool(right == datetime.datetime(left.year, left.month, left.day))
    return bool(left == right)


def pairing_order(kinds: Sequence[str], strict: bool) -> Any:
    """Sort key that brings equal rows of two answers to equal positions: exact columns first, then inexact ones."""
    last = {"double"} if strict else {"double", "decimal"}
    columns = sorted(range(len(kinds)), key=lambda column: kinds[column] in last)

    def key(row: Sequence[Any]) -> list[tuple[bool, Any]]:
        return [(row[column] is None, sortable(row[column])) for column in columns]

    return key


def sortable(value: Any) -> Any:
    """A value that compares with its like: dates as ISO text, NULL as a constant."""
    if value is None:
        return 0
    return value.isoformat()[:10] if isinstance(value, datetime.date) else value

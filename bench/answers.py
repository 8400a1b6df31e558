"""What an engine delivered as plain values, small enough for a pipe, and the comparison of two such answers.

Answers of up to `ROWS_MAX` rows are compared value by value; of longer ones each column is added up: numbers, or
checksums of texts and dates. Numbers that are integers on both sides are compared exactly, others to a tolerance:
engines add doubles in another order, and give averages of decimals fewer digits.
"""

from __future__ import annotations

import datetime
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

ROWS_MAX = 60_000
TOLERANCE, PEER_TOLERANCE = 1e-9, 2e-3
MIDNIGHT = " 00:00:00"


@dataclass(frozen=True)
class Digest:
    """Rows of plain values (None, int, float, str), or for a long answer what its columns add up to."""

    count: int
    width: int
    rows: list[tuple[Any, ...]] | None
    sums: list[tuple[int, float]]


def digest(result: Any) -> Digest:
    """The digest of what an adapter delivered: an Arrow table or a list of tuples."""
    if isinstance(result, list):
        width = len(result[0]) if result else 0
        if len(result) <= ROWS_MAX:
            return Digest(len(result), width, [tuple(map(plain, row)) for row in result], [])
        return Digest(len(result), width, None, [column_sum(column) for column in zip(*result, strict=True)])
    from bench.engines.base import arrow_table

    table = arrow_table(result)
    if table.num_rows <= ROWS_MAX:
        columns = [[plain(value) for value in column.to_pylist()] for column in table.columns]
        return Digest(table.num_rows, table.num_columns, list(zip(*columns, strict=True)), [])
    return Digest(table.num_rows, table.num_columns, None, [column_sum(column.to_pylist()) for column in table.columns])


def plain(value: Any) -> Any:
    """A value as None, int, float or str, the same from every engine."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return moment(value)


def moment(value: Any) -> str:
    """A date or time as text; midnight is the date alone. Hyper has classes of its own."""
    for convert in ("to_date", "to_datetime"):
        if hasattr(value, convert):
            value = getattr(value, convert)()
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ").removesuffix(MIDNIGHT)
    return str(value)


def column_sum(values: Sequence[Any]) -> tuple[int, float]:
    """How many values there are, and what they, or the checksums of texts, add up to: an integer unless one is not."""
    found = [value for value in map(plain, values) if value is not None]
    numbers = [zlib.crc32(value.encode()) if isinstance(value, str) else value for value in found]
    return len(found), math.fsum(numbers) if any(isinstance(value, float) for value in numbers) else sum(numbers)


def difference(
    found: Digest,
    expected: Digest,
    keys: Sequence[int] | None = None,
    tolerance: float = TOLERANCE,
    *,
    offset: bool = False,
) -> str | None:
    """
    First difference between two answers in words, None when they agree as multisets.

    `keys` are the positions of what a query is ordered by before LIMIT cuts: they agree as a sequence, and of the rows
    that tie with the last one any may be there; with OFFSET also of those that tie with the first. Without order
    and with LIMIT, `keys` is empty, and any rows may be.
    """
    if found.count != expected.count:
        return f"{found.count:,} rows instead of {expected.count:,}"
    if found.count and found.width != expected.width:
        return f"{found.width} columns instead of {expected.width}"
    if found.rows is None or expected.rows is None:
        for position, (left, right) in enumerate(zip(found.sums, expected.sums, strict=True), 1):
            if left[0] != right[0] or not same(left[1], right[1], tolerance):
                return f"column {position}: {left[0]:,} values of {left[1]:,}, instead of {right[0]:,} of {right[1]:,}"
        return None
    if keys is None:
        return multisets(found.rows, expected.rows, tolerance)
    for number, (left, right) in enumerate(zip(found.rows, expected.rows, strict=True), 1):
        if not all(same(left[key], right[key], tolerance) for key in keys):
            return f"row {number} is {left} instead of {right}"
    if not keys or not expected.rows:
        return None
    ends = [expected.rows[-1], expected.rows[0]][: 1 + offset]

    def before(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return [row for row in rows if not any(all(same(row[k], end[k], tolerance) for k in keys) for end in ends)]

    return multisets(before(found.rows), before(expected.rows), tolerance)


def multisets(found: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]], tolerance: float) -> str | None:
    """First difference between two lists of rows in any order."""
    if len(found) != len(expected):
        return f"{len(found)} rows before the ties instead of {len(expected)}"
    columns = range(len(expected[0]) if expected else 0)
    inexact = {
        column
        for column in columns
        for rows in (found, expected)
        if any(isinstance(row[column], float) for row in rows)
    }
    order = sorted(columns, key=lambda column: column in inexact)

    def key(row: tuple[Any, ...]) -> list[tuple[int, Any]]:
        return [rank(row[column]) for column in order]

    for left, right in zip(sorted(found, key=key), sorted(expected, key=key), strict=True):
        if not all(same(a, b, tolerance) for a, b in zip(left, right, strict=True)):
            return f"{left} instead of {right}"
    return None


def rank(value: Any) -> tuple[int, Any]:
    """Values of any kind in one order: numbers, texts, NULL."""
    if value is None:
        return (2, 0)
    return (1, value) if isinstance(value, str) else (0, value)


def same(left: Any, right: Any, tolerance: float) -> bool:
    """Whether two plain values agree. A NULL agrees with NULL alone; integers are equal or not."""
    if left is None or right is None:
        return left is None and right is None
    if isinstance(left, str) or isinstance(right, str):
        return bool(left == right)
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    return close(float(left), float(right), tolerance)


def close(left: float, right: float, tolerance: float) -> bool:
    """Whether two numbers are nearly the same."""
    return left == right or math.isclose(left, right, rel_tol=tolerance, abs_tol=tolerance)

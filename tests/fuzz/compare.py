"""Whether two answers are the same: as multisets of rows, floats to about nine digits."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]


def plain(value: Any) -> Any:
    """A value that equal values of either engine share; floats stay floats."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else value.normalize()
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return 0.0 if value == 0 else value
    if isinstance(value, (list, tuple)):
        return tuple(plain(item) for item in value)
    if isinstance(value, dict):
        return tuple((key, plain(item)) for key, item in value.items())
    return value


def close(a: Any, b: Any) -> bool:
    """Whether two plain values are equal up to rounding of floats."""
    if isinstance(a, float) or isinstance(b, float):
        if isinstance(a, (int, float, Decimal)) and isinstance(b, (int, float, Decimal)):
            return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(close, a, b))
    return (type(a) is type(b) and a == b) or (a == b and not isinstance(a, bool) and not isinstance(b, bool))


def key(row: Row) -> tuple[str, ...]:
    """Brings rows that are equal up to rounding side by side, nearly always."""
    return tuple(
        f"{value:.6g}" if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) else repr(value)
        for value in row
    )


def same(left: list[Row], right: list[Row]) -> bool:
    """Whether two answers hold the same rows, in any order."""
    if len(left) != len(right):
        return False
    a, b = [plain(row) for row in left], [plain(row) for row in right]
    try:
        if Counter(a) == Counter(b):
            return True
    except TypeError:
        pass
    return all(map(close, sorted(a, key=key), sorted(b, key=key)))

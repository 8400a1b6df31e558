"""Voters and precincts as those of North Carolina that "Deep Integration of Machine Learning Into Column Stores" (EDBT
2018) classifies: 96 columns of small codes and numbers, and how the precincts voted.

`draw` is a random number per voter, so that every engine gives the same voters the same label: whether it is below the
share of the precinct. Age, party of registration and two other columns lean as the precinct does, the rest are noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

TABLES = ("voters", "precincts")
PRECINCTS = 2_751
ROWS = 7_500_000
FEATURES = ("age", "party", "gender", "ethnicity", "county", "registered", *(f"c{number}" for number in range(10)))
#: `id`, `precinct` and `draw` beside the features; columns that nobody asks for make up 96.
OTHERS = tuple(f"c{number}" for number in range(10, 96 - len(FEATURES) - 3 + 10))
PART = 500_000


def shares() -> Any:
    """The share of the first party in each precinct."""
    return np.random.default_rng(96).beta(4, 4, PRECINCTS)


def voters(rows: int) -> Iterable[pa.Table]:
    """The voters, in parts."""
    random = np.random.default_rng(rows)
    share = shares()
    for start in range(0, rows, PART):
        count = min(PART, rows - start)
        precinct = random.integers(0, PRECINCTS, count, dtype="i4")
        leaning = share[precinct]
        columns: dict[str, Any] = {
            "id": np.arange(start, start + count, dtype="i4"),
            "precinct": precinct,
            "draw": random.random(count),
            "age": (18 + 60 * random.random(count) * (1.3 - 0.6 * leaning)).astype("i4"),
            "party": (random.random(count) < leaning).astype("i4") + (random.random(count) < 0.2),
            "gender": random.integers(0, 3, count, dtype="i4"),
            "ethnicity": (random.random(count) * 4 * leaning).astype("i4"),
            "county": precinct % 100,
            "registered": random.integers(1950, 2013, count, dtype="i4"),
        }
        noise = [name for name in (*FEATURES, *OTHERS) if name not in columns]
        columns |= {name: random.integers(0, 2 + number % 60, count, dtype="i4") for number, name in enumerate(noise)}
        yield pa.table(
            {name: pa.array(column.astype("f8" if name == "draw" else "i4")) for name, column in columns.items()}
        )


def precincts() -> Iterable[pa.Table]:
    """How precincts voted."""
    total = np.random.default_rng(97).integers(500, 5_000, PRECINCTS)
    first = (total * shares()).astype("i4")
    columns = {
        "precinct": np.arange(PRECINCTS, dtype="i4"),
        "first_party": first,
        "second_party": (total - first).astype("i4"),
    }
    yield pa.table(columns)


def tables(rows: int) -> Iterable[tuple[str, Iterable[pa.Table]]]:
    """Both tables."""
    yield "voters", voters(rows)
    yield "precincts", precincts()

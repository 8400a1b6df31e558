"""The tables of db-benchmark: `x` of the grouping questions, and `x`, `small`, `medium` and `big` of the joins.

As its R scripts make them for K = 100, without NULLs, unsorted: `id1`, `id2`, `id4` and `id5` have 100 values, `id3`
and `id6` one for every hundred rows. Of the keys of two tables that are joined nine tenths are in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

TABLES = ("grouped", "joined", "small", "medium", "big")
GROUPS = 100
PART = 10_000_000


def tables(rows: int) -> Iterable[tuple[str, Iterable[pa.Table]]]:
    """All tables, the largest with `rows` rows."""
    yield "grouped", grouped(rows)
    yield from joined(rows)


def named(numbers: Any, digits: int = 0) -> Any:
    """Numbers as `id42`, filled up with zeros to so many digits."""
    texts = pc.cast(pa.array(numbers), pa.string())
    return pc.binary_join_element_wise("id", pc.utf8_lpad(texts, digits, "0") if digits else texts, "")


def grouped(rows: int) -> Iterable[pa.Table]:
    """The table of the grouping questions."""
    random = np.random.default_rng(108)
    many = max(rows // GROUPS, 1)
    for start in range(0, rows, PART):
        count = min(PART, rows - start)
        few = pc.binary_join_element_wise(
            "id", pc.utf8_lpad(pa.array([str(n) for n in range(1, GROUPS + 1)]), 3, "0"), ""
        )
        yield pa.table(
            {
                "id1": few.take(pa.array(random.integers(0, GROUPS, count))),
                "id2": few.take(pa.array(random.integers(0, GROUPS, count))),
                "id3": named(random.integers(1, many + 1, count), 10),
                "id4": random.integers(1, GROUPS + 1, count, dtype="i4"),
                "id5": random.integers(1, GROUPS + 1, count, dtype="i4"),
                "id6": random.integers(1, many + 1, count, dtype="i4"),
                "v1": random.integers(1, 6, count, dtype="i4"),
                "v2": random.integers(1, 16, count, dtype="i4"),
                "v3": np.round(random.random(count) * 100, 6),
            }
        )


def joined(rows: int) -> Iterable[tuple[str, Iterable[pa.Table]]]:
    """The tables of the joins."""
    random = np.random.default_rng(109)
    keys = {name: split(random, max(rows // share, 10)) for name, share in (("1", 10**6), ("2", 10**3), ("3", 1))}

    def side(left: bool, count: int, names: str, value: str) -> pa.Table:
        columns: dict[str, Any] = {}
        for name in names:
            own = keys[name][0 if left else 1]
            # Every key once where the table is as long as there are keys, else drawn.
            columns[name] = own if len(own) == count else own[random.integers(0, len(own), count)]
        table = {f"id{name}": column for name, column in columns.items()}
        table |= {f"id{int(name) + 3}": named(column) for name, column in columns.items()}
        return pa.table(table | {value: np.round(random.random(count) * 100, 6)})

    yield "joined", [side(True, rows, "123", "v1")]
    yield "small", [side(False, len(keys["1"][1]), "1", "v2")]
    yield "medium", [side(False, len(keys["2"][1]), "12", "v2")]
    yield "big", [side(False, len(keys["3"][1]), "123", "v2")]


def split(random: np.random.Generator, count: int) -> tuple[Any, Any]:
    """`count` keys for either side, nine tenths of them the same, each side in an order of its own."""
    own = max(count // 10, 1)
    drawn = random.permutation(np.arange(1, count + own + 1, dtype="i4"))
    return random.permutation(drawn[:count]), random.permutation(drawn[own:])

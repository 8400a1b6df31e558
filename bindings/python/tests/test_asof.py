"""ASOF JOIN against a plain loop: kinds of joins, directions, types of keys and of what is nearest, NULLs and ties."""

import random
from collections import Counter

import pytest

import inlay

# SQL of a small number `k` or `x`: equal where the numbers are, and in their order.
KEYS = {
    "none": [],
    "dense": ["k"],
    "sparse": ["k * 614891469123651"],
    "whole range": ["CASE WHEN k % 2 = 0 THEN 9223372036854775807 - k ELSE k - 9223372036854775807 END"],
    "two": ["k % 7", "k // 7"],
    "text": ["'k' || k"],
    "long text": ["'a key of more than twelve bytes ' || k"],
    "text and number": ["'k' || k % 7", "k"],
    "double": ["CASE WHEN k = 0 THEN '-0.0'::DOUBLE WHEN k = 1 THEN 'nan'::DOUBLE ELSE k / 4 END"],
    "hugeint": ["k::HUGEINT * 100000000000000000000"],
    "list": ["CASE WHEN k IS NOT NULL THEN [k] END"],
}
VALUES = {
    "integer": "x::INTEGER",
    "timestamp": "TIMESTAMP '2024-01-01' + to_seconds(x)",
    "double": "CASE WHEN x = 99 THEN 'nan'::DOUBLE ELSE x / 8 - 3 END",
    "text": "'the same beginning ' || lpad(x::VARCHAR, 3, '0')",
    "hugeint": "x::HUGEINT - 40",
    "decimal": "x::DECIMAL(30, 3) / 8",
    "interval": "to_hours(x * 13)",
}
OPERATORS = {">=": True, ">": True, "<=": False, "<": False}
KINDS = ["", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"]


def satisfies(operator, left, right):
    return {">=": left >= right, ">": left > right, "<=": left <= right, "<": left < right}[operator]


def nearest(operator, right_of_key, x):
    fits = [y for y in right_of_key if satisfies(operator, x, y)]
    return (max(fits) if OPERATORS[operator] else min(fits)) if fits else None


def expected(kind, operator, has_keys, left, right):
    of_key = {}
    for k, x in right:
        if x is not None and (k is not None or not has_keys):
            of_key.setdefault(k if has_keys else 0, []).append(x)
    pairs, alone = [], []
    for k, x in left:
        y = None
        if x is not None:
            y = nearest(operator, of_key.get(k if has_keys else 0, []) if k is not None or not has_keys else [], x)
        (alone if y is None else pairs).append((k, x, y))
    if kind in ("SEMI", "ANTI"):
        return Counter((k, x) for k, x, _ in (pairs if kind == "SEMI" else alone))
    rows = Counter(pairs)
    if kind in ("LEFT", "FULL"):
        rows.update(alone)
    return rows


def untaken(taken, has_keys, right):
    """Right rows that nobody took: of equal ones, one may have been taken by all."""
    left = Counter(right)
    for k, y in {(k if has_keys else None, y) for k, _, y in taken}:
        some = next(row for row in left if row[1] == y and (not has_keys or row[0] == k))
        left[some] -= 1
    return sum(left.values())


def rows(random, count, keys):
    def one(limit, share):
        return None if random.random() < share else random.randrange(limit)

    return [(one(keys, 0.05), one(100, 0.05)) for _ in range(count)]


def fill(con, name, rows, key_parts, value):
    con.execute(f"CREATE OR REPLACE TABLE raw_{name} (k BIGINT, x BIGINT)")
    con.executemany(f"INSERT INTO raw_{name} VALUES (?, ?)", rows)
    columns = "".join(f", {part} AS k{number}" for number, part in enumerate(key_parts))
    con.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT k, x, {value} AS v{columns} FROM raw_{name}")


def check(con, key_parts, left, right):
    on = "".join(f"l.k{number} = r.k{number} AND " for number in range(len(key_parts)))
    for operator in OPERATORS:
        for kind in KINDS:
            columns = "l.k, l.x" if kind in ("SEMI", "ANTI") else "l.k, l.x, r.x, r.k"
            query = f"SELECT {columns} FROM l ASOF {kind} JOIN r ON {on}l.v {operator} r.v"
            found = con.execute(query).fetchall()
            wanted = expected(kind, operator, bool(key_parts), left, right)
            if kind in ("SEMI", "ANTI"):
                assert Counter(found) == wanted, query
                continue
            # A right row alone has no left one; a left row without key and value that is kept has no right one.
            alone = [row for row in found if row[:2] == (None, None) and row[2:] != (None, None)]
            if kind in ("RIGHT", "FULL"):
                alone += [row for row in found if row == (None, None, None, None)]
                kept = wanted[(None, None, None)] if kind == "FULL" else 0
                wanted_pairs = [row for row in wanted.elements() if row[2] is not None]
                assert len(alone) - kept == untaken(wanted_pairs, bool(key_parts), right), query
                del wanted[(None, None, None)]
            joined = Counter(row[:3] for row in found)
            joined.subtract(row[:3] for row in alone)
            assert +joined == wanted, query
            if key_parts:
                assert all(row[0] == row[3] for row in found if row[0] is not None and row[3] is not None), query


@pytest.fixture
def con():
    return inlay.connect(config={"threads": 2})


@pytest.mark.parametrize("keys", KEYS)
def test_each_type_of_key(con, keys):
    seeded = random.Random(keys)
    for counts in [(60, 40), (40, 0), (300, 1)]:
        left, right = (rows(seeded, count, 12) for count in counts)
        fill(con, "l", left, KEYS[keys], VALUES["integer"])
        fill(con, "r", right, KEYS[keys], VALUES["integer"])
        check(con, KEYS[keys], left, right)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("keys", ["none", "dense", "text"])
def test_each_type_of_value(con, keys, value):
    seeded = random.Random(value)
    left, right = rows(seeded, 150, 5), rows(seeded, 400, 5)
    fill(con, "l", left, KEYS[keys], VALUES[value])
    fill(con, "r", right, KEYS[keys], VALUES[value])
    check(con, KEYS[keys], left, right)


@pytest.mark.parametrize("keys", ["dense", "sparse", "long text", "text and number"])
@pytest.mark.parametrize("groups", [1, 50, 15_000])
def test_many_rows(con, keys, groups):
    """On all workers: one key of all rows, a few, and as many as rows."""
    for name, count in [("l", 30_000), ("r", 40_000)]:
        columns = "".join(f", {part} AS k{number}" for number, part in enumerate(KEYS[keys]))
        con.execute(
            f"CREATE TABLE {name} AS SELECT k, x, x::INTEGER AS v{columns} FROM (SELECT i * 7919 % {groups} AS k, "
            f"i * 48271 % 1000003 AS x FROM range({count}) t(i))"
        )
    on = " AND ".join(f"l.k{number} = r.k{number}" for number in range(len(KEYS[keys])))
    left, right = (con.execute(f"SELECT k, x FROM {name}").fetchall() for name in "lr")
    for operator, backwards in OPERATORS.items():
        found = con.execute(f"SELECT l.k, l.x, r.x FROM l ASOF LEFT JOIN r ON {on} AND l.v {operator} r.v").fetchall()
        assert Counter(found) == Counter(swept(operator, backwards, left, right)), operator


def swept(operator, backwards, left, right):
    """Left rows with their nearest: both sides in one order, and the last right row of each key is remembered."""
    sign = 1 if backwards else -1
    equal_first = operator in (">=", "<=")
    sides = [(sign * x, 0 if equal_first else 1, k, x) for k, x in right]
    sides += [(sign * x, 1 if equal_first else 0, k, x) for k, x in left]
    is_left = 1 if equal_first else 0
    last = {}
    for _, side, k, x in sorted(sides):
        if side == is_left:
            yield (k, x, last.get(k))
        else:
            last[k] = x

"""Statements on data of several shapes, and statements that list many things.

A shape is what the column `g` holds of the row number `i`: in setup and statements `{n}` is the number of rows, and
`{g}` the shape.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

SHAPES = {
    "distinct": "i",
    "reversed": "{n} - i",
    "few": "i % 3",
    "one": "7",
    "skew": "CASE WHEN i % 2 = 0 THEN 0 ELSE i END",
    "random": "(hash(i) % {n})::BIGINT",
    "null": "NULL::BIGINT",
}
# What a statement that lists things repeats for each number.
ITEM = "{i}"

T = "CREATE TABLE t AS SELECT i, {g} AS g, 'x' || ({g})::VARCHAR AS s FROM range({n}) r(i)"
U = T.replace("TABLE t", "TABLE u")
W = "CREATE TABLE w AS SELECT " + "@{i} AS c{i}@"
SOME = ("distinct", "one", "skew")


@dataclass(frozen=True)
class Case:
    """Statements before, the statement that is measured, and the n to begin with."""

    name: str
    n: int
    setup: tuple[str, ...]
    statement: str
    shape: str = "distinct"
    # Why it is not linear, if that cannot be otherwise.
    nature: str = ""

    def before(self, n: int) -> list[str]:
        """What is executed before."""
        return [text for sql in self.setup for text in self.made(sql, n)]

    def statements(self, n: int) -> list[str]:
        """What is measured."""
        return list(self.made(self.statement, n))

    def made(self, sql: str, n: int) -> Iterator[str]:
        """`each: sql` is a statement for each number; `@sql@` is listed for each number, with commas between."""
        shape = SHAPES[self.shape].replace("{n}", str(n))
        filled = sql.replace("{g}", shape).replace("{n}", str(n))
        if filled.startswith("each: "):
            yield from (filled.removeprefix("each: ").replace(ITEM, str(i)) for i in range(n))
            return
        for number, part in enumerate(parts := filled.split("@")):
            if number % 2:
                parts[number] = ", ".join(part.replace(ITEM, str(i)) for i in range(n))
        yield "".join(parts)


def shaped(name: str, n: int, setup: tuple[str, ...], sql: str, shapes: Iterable[str] = SOME) -> Iterator[Case]:
    """A case for each shape."""
    for shape in shapes:
        yield Case(f"{name}, {shape}", n, setup, sql, shape)


P = "CREATE TABLE p (k BIGINT PRIMARY KEY, v BIGINT)"
PARENTS = "INSERT INTO p SELECT i, 0 FROM range({n}) r(i)"
CHILDREN = "INSERT INTO c SELECT ({g}) % {n} FROM range({n}) r(i)"
DOCUMENT = (
    "CREATE TABLE j AS SELECT '{' || string_agg('\"k' || i || '\":' || i, ',') || '}' AS o, list(i) AS l, "
    "string_agg('ab' || i, ' ') AS s, repeat('a', {n}) AS a, map(list('k' || i), list(i)) AS m FROM range({n}) r(i)"
)
FRAMES = (
    "ROWS BETWEEN {n} // 10 PRECEDING AND {n} // 10 FOLLOWING",
    "RANGE BETWEEN {n} // 10 PRECEDING AND {n} // 10 FOLLOWING",
    "GROUPS BETWEEN {n} // 10 PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN {n} // 10 PRECEDING AND {n} // 10 FOLLOWING EXCLUDE CURRENT ROW",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN (i % ({n} // 4)) PRECEDING AND (i * 7 % ({n} // 4)) FOLLOWING",
)
WINDOWS = (
    "sum(i)",
    "min(i)",
    "max(s)",
    "count(*)",
    "nth_value(i, 3)",
    "median(i)",
    "quantile_cont(i, 0.3)",
    "mode(i)",
    "mad(i)",
    "count(DISTINCT i)",
    "arg_max(i, s)",
    "max(i, 3)",
    "stddev(i)",
    "approx_quantile(i, 0.5)",
)
AGGREGATES = (
    "sum(i)",
    "max(s)",
    "first(i)",
    "count(DISTINCT i)",
    "median(i)",
    "quantile_disc(i, [0.1, 0.9])",
    "mode(s)",
    "mad(i)",
    "list(i)",
    "list(DISTINCT i)",
    "list(i ORDER BY i DESC)",
    "string_agg(s, ',')",
    "histogram(i)",
    "arg_max(i, i, 3)",
    "approx_quantile(i, 0.5)",
    "entropy(i)",
    "json_group_array(i)",
    "map(list(i), list(s))",
)
TEXTS = (
    "replace(a, 'aa', 'b')",
    "string_split(a, '')",
    "regexp_replace(a, '(a+)+b', 'x')",
    "regexp_matches(a, '(a*)*b')",
    "a LIKE '%a%a%a%b'",
    "position(repeat('a', {n} // 2) || 'b' IN a)",
    "translate(s, s, a)",
    "reverse(s)",
)
# A row of the table of distances for each character.
DISTANCES = ("levenshtein(s, a)", "damerau_levenshtein(s, a)", "jaro_similarity(s, a)")
LISTS = (
    "list_sort(l)",
    "list_distinct(l)",
    "list_has_all(l, l)",
    "list_intersect(l, l)",
    "list_transform(l, x -> x + 1)",
    "list_zip(l, l)",
    "m['k5']",
    "map_concat(m, m)",
    "m::VARCHAR::MAP(VARCHAR, BIGINT)",
    "o::MAP(VARCHAR, BIGINT)",
    "json_structure(o)",
    "json_contains(o, o)",
    "json_merge_patch(o, o)",
    "json_keys(o)",
    "l::VARCHAR",
)
WIDE = {
    "star": "SELECT * FROM w",
    "names": "SELECT @c{i}@ FROM w",
    "expressions": "SELECT @c{i} + 1 AS d{i}@ FROM w",
    "subquery": "SELECT @c{i}@ FROM (SELECT * FROM w)",
    "exclude": "SELECT * EXCLUDE (@c{i}@), 1 FROM w",
    "replace": "SELECT * REPLACE (@c{i} + 1 AS c{i}@) FROM w",
    "rename": "SELECT * RENAME (@c{i} AS d{i}@) FROM w",
    "columns": "SELECT max(COLUMNS(*)) FROM w",
    "group by all": "SELECT *, count(*) FROM w GROUP BY ALL",
    "distinct": "SELECT DISTINCT * FROM w",
    "order by all": "SELECT * FROM w ORDER BY ALL",
    "union": "SELECT * FROM w UNION SELECT * FROM w",
    "union by name": "SELECT * FROM w UNION ALL BY NAME SELECT * FROM w",
    "natural join": "SELECT * FROM w NATURAL JOIN w w2",
    "using": "SELECT * FROM w JOIN w w2 USING (@c{i}@)",
    "cross join": "SELECT * FROM w, w w2",
    "aggregates": "SELECT @sum(c{i})@ FROM w",
    "windows": "SELECT @sum(c{i}) OVER ()@ FROM w",
    "unpivot": "SELECT count(*) FROM (UNPIVOT w ON COLUMNS(*))",
    "insert": "INSERT INTO w (@c{i}@) SELECT * FROM w",
    "update": "UPDATE w SET @c{i} = c{i} + 1@",
    "returning": "DELETE FROM w RETURNING *",
    "describe": "DESCRIBE w",
    "struct": "SELECT @x.c{i}@ FROM (SELECT w AS x FROM w)",
    "row comparison": "SELECT (@c{i}@) < (@c{i} + 1@) FROM w",
}
LISTED = {
    "in": "SELECT count(*) FROM t WHERE g IN (@{i}@)",
    "values": "SELECT count(*) FROM (VALUES @({i}, '{i}')@) v",
    "list": "SELECT [@{i}@]",
    "struct": "SELECT {@'k{i}': {i}@}",
    "ctes": "WITH @c{i} AS (SELECT g + {i} AS x FROM t)@ SELECT x FROM c0",
    "enum": "CREATE TYPE e AS ENUM (@'v{i}'@)",
}
EACH = {
    "inserts": ("CREATE TABLE q (a BIGINT PRIMARY KEY)", "each: INSERT INTO q VALUES ({i})"),
    "tables": ("SELECT 1", "each: CREATE TABLE t{i} (a INTEGER)"),
    "views": ("CREATE TABLE b (a INTEGER)", "each: CREATE VIEW v{i} AS SELECT * FROM b"),
    "sequences": ("SELECT 1", "each: CREATE SEQUENCE s{i}"),
    "indexes": ("CREATE TABLE b (a INTEGER)", "each: CREATE INDEX x{i} ON b (a)"),
    "drops": ("each: CREATE TABLE t{i} (a INTEGER)", "each: DROP TABLE t{i}"),
    "columns added": ("CREATE TABLE b (a INTEGER)", "each: ALTER TABLE b ADD COLUMN c{i} INTEGER"),
}


def keys() -> Iterator[Case]:
    """Statements that check or follow keys."""
    yield from shaped(
        "key, duplicates ignored", 20_000, (T, P), "INSERT OR IGNORE INTO p SELECT coalesce(g, 0), i FROM t", SHAPES
    )
    upsert = "INSERT INTO p SELECT DISTINCT coalesce(g, 0), 1 FROM t ON CONFLICT DO UPDATE SET v = v + excluded.v"
    yield from shaped("key, upsert", 20_000, (T, P, upsert.split(" ON ")[0]), upsert, SHAPES)
    yield from shaped("index", 20_000, (T,), "CREATE INDEX x ON t (g)", SHAPES)
    for action in ("NO ACTION", "CASCADE"):
        children = (P, PARENTS, f"CREATE TABLE c (k BIGINT REFERENCES p (k) ON DELETE {action})")
        yield from shaped(f"foreign key, {action}, load", 20_000, children, CHILDREN)
        gone = "DELETE FROM c" if action == "NO ACTION" else "DELETE FROM p"
        yield from shaped(f"foreign key, {action}, delete", 20_000, (*children, CHILDREN), gone)
    yield from shaped("update of a key", 20_000, (T, "CREATE INDEX x ON t (g)"), "UPDATE t SET g = g + 1", SHAPES)
    yield from shaped("delete half", 20_000, (T, "CREATE INDEX x ON t (g)"), "DELETE FROM t WHERE i % 2 = 0", SHAPES)


def joins() -> Iterator[Case]:
    """Joins whose answer is small."""
    small = {
        "semi": "SELECT count(*) FROM t SEMI JOIN u ON t.g = u.g",
        "anti": "SELECT count(*) FROM t ANTI JOIN u ON t.g = u.g",
        "in": "SELECT count(*) FROM t WHERE g IN (SELECT g FROM u)",
        "not in": "SELECT count(*) FROM t WHERE g NOT IN (SELECT g FROM u)",
        "two keys": "SELECT count(*) FROM t JOIN u ON t.g = u.g AND t.i = u.i",
        "asof": "SELECT count(*) FROM t ASOF JOIN u ON t.g = u.g AND t.i >= u.i",
        "range": "SELECT count(*) FROM t JOIN u ON t.i BETWEEN u.i AND u.i + 2",
        "intersect all": "SELECT g FROM t INTERSECT ALL SELECT g FROM u",
        "exists less": "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.g = t.g AND u.i > t.i + {n})",
        "exists other": "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.g = t.g AND u.g <> t.g)",
        "greatest before": "SELECT count((SELECT max(u.i) FROM u WHERE u.g = t.g AND u.i < t.i)) FROM t",
    }
    for name, sql in small.items():
        yield from shaped(f"join, {name}", 5_000, (T, U), sql)


def listing() -> Iterator[Case]:
    """Statements that list much, and many statements."""
    for name, sql in WIDE.items():
        yield Case(f"wide, {name}", 500, (W,), sql)
    for kind in ("csv", "parquet", "json"):
        path = f"'{Path(tempfile.gettempdir()) / 'growth-{n}'}.{kind}'"
        yield Case(f"wide, read {kind}", 500, (W, f"COPY w TO {path}"), f"SELECT * FROM {path}")
    for name, sql in LISTED.items():
        yield Case(f"listed, {name}", 500, (T,), sql)
    for name, (before, sql) in EACH.items():
        yield Case(f"each, {name}", 300, (before,), sql)


def all_cases() -> Iterator[Case]:
    """Every case, kind by kind."""
    yield from keys()
    yield from joins()
    for call in AGGREGATES:
        yield from shaped(f"aggregate, {call}", 20_000, (T,), f"SELECT g, {call} FROM t GROUP BY g")
    for call in WINDOWS:
        for frame in FRAMES:
            sql = f"SELECT count(x) FROM (SELECT {call} OVER (ORDER BY i {frame}) AS x FROM t)"
            yield Case(f"window, {call} {frame}", 4_000, (T,), sql)
    for text in TEXTS:
        yield Case(f"text, {text}", 20_000, (DOCUMENT,), f"SELECT {text} FROM j")
    for text in DISTANCES:
        yield Case(f"text, {text}", 2_000, (DOCUMENT,), f"SELECT {text} FROM j", nature="each character with each")
    for value in LISTS:
        yield Case(f"nested, {value}", 3_000, (DOCUMENT,), f"SELECT {value} FROM j")
    yield from shaped("sort", 20_000, (T,), "SELECT * FROM t ORDER BY g, s", SHAPES)
    yield from shaped("distinct", 20_000, (T,), "SELECT DISTINCT g, s FROM t", SHAPES)
    yield from listing()


CASES = list(all_cases())

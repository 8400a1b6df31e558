"""Random queries: joins, subqueries, grouping, windows, set operations, common table expressions.

A query with LIMIT is ordered by all of its columns, and windows are ordered by a unique key where it matters, so that
each query has one answer up to the order of its rows.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.fuzz.expressions import KINDS, Expressions, Scope
from tests.fuzz.schema import Table

# `@` is where a FILTER clause goes, or says that a frame may follow; `$` is one leaf, the same each time.
AGGREGATES = {
    "any": ("`min|max`(<own>)@",),
    "integer": (
        "count(*)@",
        "count(`DISTINCT |` <other>)@",
        "sum(`DISTINCT |` <own>)@",
        "bit_xor(<own.leaf>)@",
    ),
    "double": (
        "avg(`DISTINCT |` `<integer>|<double>|<decimal>`)@",
        "median(<double>)@",
        "`stddev_pop|var_pop|stddev|variance`(<integer.leaf>)@",
        "sum(<own>)@",
    ),
    "decimal": ("sum(`DISTINCT |` <own.leaf>)@",),
    "boolean": ("`bool_and|bool_or`(<own>)@",),
    "text": ("string_agg(DISTINCT $, ',' ORDER BY $)@",),
}
WINDOWS = {
    "any": (
        "`lag|lead`(<own>, `0|1|2`)",
        "`first_value|last_value`(<own>)@",
        "nth_value(<own>, 2)@",
        "`min|max`(<own>)@",
    ),
    "integer": ("`row_number|rank|dense_rank`()", "ntile(3)", "count(<own>)@", "sum(<own.leaf>)@"),
    "double": ("`percent_rank|cume_dist`()", "avg(<integer.leaf>)@"),
}
# Windows in which rows that tie have the same answer, for joins, where no key is unique.
TIED_WINDOWS = {
    "any": ("`min|max`(<own>)@",),
    "integer": ("`rank|dense_rank`()", "count(<own>)@", "sum(<own.leaf>)@"),
    "double": ("`percent_rank|cume_dist`()", "avg(<integer.leaf>)@"),
}
JOINS = ["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"]


@dataclass
class Query:
    """A query's text and the kinds of its columns."""

    sql: str
    kinds: list[str]


class Queries(Expressions):
    """Makes queries over some tables."""

    def __init__(self, rng: random.Random, tables: list[Table], size: int = 2) -> None:
        super().__init__(rng)
        self.tables, self.size, self.names = tables, size, 0

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def query(self, kinds: list[str] | None = None, *, depth: int | None = None, outer: Scope | None = None) -> Query:
        """A query, with columns of these kinds if any are wanted."""
        depth = self.size if depth is None else depth
        rng = self.rng
        if depth > 0 and outer is None and rng.random() < 0.12:
            inner = self.query(depth=depth - 1)
            name = self.name("w")
            columns = [f"k{i}" for i in range(len(inner.kinds))]
            hint = rng.choice(["", "", "MATERIALIZED ", "NOT MATERIALIZED "])
            scope = Scope(
                [(f"{name}.{column}", kind, False) for column, kind in zip(columns, inner.kinds, strict=True)]
            )
            body = self.select(kinds, depth - 1, name, scope, None)
            return Query(f"WITH {name}({', '.join(columns)}) AS {hint}({inner.sql}) {body.sql}", body.kinds)
        if depth > 0 and rng.random() < 0.12:
            return self.set_operation(kinds, depth - 1, outer)
        source, scope = self.source(depth)
        return self.select(kinds, depth, source, scope, outer)

    def set_operation(self, kinds: list[str] | None, depth: int, outer: Scope | None) -> Query:
        kinds = kinds or [self.any_kind() for _ in range(self.rng.randrange(1, 4))]
        left, right = (self.query(kinds, depth=depth, outer=outer).sql for _ in range(2))
        operation = self.rng.choice(
            [
                "UNION",
                "UNION ALL",
                "UNION ALL",
                "INTERSECT",
                "EXCEPT",
                "INTERSECT ALL",
                "EXCEPT ALL",
                "UNION BY NAME",
                "UNION ALL BY NAME",
            ]
        )
        return Query(f"({left}) {operation} ({right})", kinds)

    def select(self, kinds: list[str] | None, depth: int, source: str, scope: Scope, outer: Scope | None) -> Query:
        rng = self.rng
        visible = Scope(scope.columns + (outer.columns if outer else []))
        where = f" WHERE {self.make(visible, 'boolean', 3)}" if rng.random() < 0.6 else ""
        wanted = kinds or [self.any_kind() for _ in range(rng.randrange(1, 4))]
        style = rng.random()
        if style < 0.35:
            return self.grouped(wanted, source, scope, visible, where)
        items = []
        for kind in wanted:
            if style > 0.85 and outer is None and (window := self.window(scope, kind)):
                items.append(window)
            else:
                items.append(self.make(visible, kind, 3))
        distinct = "DISTINCT " if rng.random() < 0.15 else ""
        sql = f"SELECT {distinct}{self.listed(items)} FROM {source}{where}"
        return Query(sql + self.order(len(wanted)), wanted)

    def listed(self, items: list[str]) -> str:
        return ", ".join(f"{item} AS k{number}" for number, item in enumerate(items))

    def order(self, count: int) -> str:
        rng = self.rng
        if rng.random() > 0.25:
            return ""
        keys = [f"k{n}{rng.choice(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'])}" for n in range(count)]
        rng.shuffle(keys)
        limit = rng.choice(
            ["", f" LIMIT {rng.randrange(0, 12)}", f" LIMIT {rng.randrange(0, 12)} OFFSET {rng.randrange(0, 5)}"]
        )
        return f" ORDER BY {', '.join(keys)}{limit}"

    def grouped(self, wanted: list[str], source: str, scope: Scope, visible: Scope, where: str) -> Query:
        rng = self.rng
        keys = [self.make(scope, self.any_kind(), rng.randrange(0, 3)) for _ in range(rng.randrange(0, 4))]
        keys = [key for key in dict.fromkeys(keys) if any(sql in key for sql, _, _ in scope.columns)]
        items = [self.aggregate(scope, kind) for kind in wanted]
        extra = list(wanted)
        if not keys:
            having = f" HAVING count(*) > {rng.randrange(0, 3)}" if rng.random() < 0.2 else ""
            return Query(f"SELECT {self.listed(items)} FROM {source}{where}{having}", wanted)
        form = rng.random()
        if form < 0.12:
            group = f"ROLLUP ({', '.join(keys)})"
        elif form < 0.2 and len(keys) < 3:
            group = f"CUBE ({', '.join(keys)})"
        elif form < 0.28:
            group = f"GROUPING SETS (({', '.join(keys)}), ({keys[0]}), ())"
        else:
            group = ", ".join(keys)
        having = f" HAVING {self.aggregate(scope, 'integer')} > {rng.randrange(0, 5)}" if rng.random() < 0.2 else ""
        return Query(
            f"SELECT {self.listed(items)} FROM {source}{where} GROUP BY {group}{having}" + self.order(len(extra)), extra
        )

    def aggregate(self, scope: Scope, kind: str) -> str:
        """An aggregate that does not depend on the order of rows."""
        made = self.filled(self.rng.choice(AGGREGATES["any"] + AGGREGATES.get(kind, ())), scope, kind, 1)
        made = made.replace("$", self.leaf(scope, kind))
        condition = f" FILTER (WHERE {self.make(scope, 'boolean', 1)})" if self.rng.random() < 0.15 else ""
        made = made.replace("@", condition)
        return f"CAST({made} AS BIGINT)" if made.startswith(("sum", "bit_xor")) and kind == "integer" else made

    def window(self, scope: Scope, kind: str) -> str | None:
        """A window function whose answer does not depend on the order of rows that tie; None where there is no key."""
        rng = self.rng
        ids = [sql for sql, _, _ in scope.columns if sql.endswith(".id")]
        is_unique = len({sql.partition(".")[0] for sql, _, _ in scope.columns}) == 1
        if len(ids) != 1 or kind not in ("integer", "double", "text", "date"):
            return None
        partition = f"PARTITION BY {self.make(scope, self.any_kind(), 1)} " if rng.random() < 0.6 else ""
        direction = rng.choice(["", " DESC", " NULLS FIRST"])
        order = f"ORDER BY {self.make(scope, self.any_kind(), 1)}{direction}, {ids[0]}"
        windows = WINDOWS if is_unique else TIED_WINDOWS
        made = self.filled(rng.choice(windows["any"] + windows.get(kind, ())), scope, kind, 1)
        frame = (
            self.frame(["ROWS", "GROUPS"] if is_unique else ["GROUPS"]) if "@" in made and rng.random() < 0.5 else ""
        )
        made = f"{made.replace('@', '')} OVER ({partition}{order}{frame})"
        return f"CAST({made} AS BIGINT)" if made.startswith("sum") else made

    def frame(self, units: list[str]) -> str:
        rng = self.rng
        bounds = ["UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING"]
        start = rng.randrange(0, 4)
        end = rng.randrange(max(start, 1), 5)
        exclude = rng.choice(["", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP"])
        return f" {rng.choice(units)} BETWEEN {bounds[start]} AND {bounds[end]}{exclude}"

    def source(self, depth: int) -> tuple[str, Scope]:
        """A FROM clause and what it brings into scope."""
        rng = self.rng
        sql, scope = self.relation(depth)
        while rng.random() < 0.4 and sql.count(" JOIN ") < 3:
            right, its = self.relation(depth - 1)
            both = Scope(scope.columns + its.columns)
            kind = rng.choice(JOINS)
            sql += f" {kind} {right} ON {self.join_condition(scope, its, both)}"
            if kind not in ("SEMI JOIN", "ANTI JOIN"):
                scope = both
        return sql, scope

    def join_condition(self, left: Scope, right: Scope, both: Scope) -> str:
        rng = self.rng
        pairs = [(a, b) for a, kind, _ in left.columns for b, its, _ in right.columns if kind == its]
        if not pairs or rng.random() < 0.1:
            # Without subqueries, which DuckDB refuses in some joins.
            return f"{self.leaf(both, 'integer')} {rng.choice(['=', '<', '>='])} {self.leaf(right, 'integer')}"
        terms = [f"{a} = {b}" for a, b in rng.sample(pairs, min(len(pairs), rng.choice([1, 1, 2])))]
        if rng.random() < 0.25:
            a, b = rng.choice(pairs)
            terms.append(f"{a} {rng.choice(['<', '<=', '<>', 'IS NOT DISTINCT FROM'])} {b}")
        return " AND ".join(terms)

    def relation(self, depth: int) -> tuple[str, Scope]:
        rng = self.rng
        if depth > 0 and rng.random() < 0.25:
            inner = self.query(depth=depth - 1)
            name = self.name("s")
            columns = [(f"{name}.k{number}", kind, False) for number, kind in enumerate(inner.kinds)]
            return f"({inner.sql}) {name}", Scope(columns)
        table, name = rng.choice(self.tables), self.name("r")
        columns = [(f"{name}.{column.name}", column.kind, column.is_small) for column in table.columns]
        return f"{table.name} {name}", Scope(columns)

    def scalar_subquery(self, scope: Scope, kind: str) -> str | None:
        if self.size <= 0 or kind not in KINDS:
            return None
        source, own = self.relation(0)
        condition = self.correlation(own, scope)
        return f"(SELECT {self.rng.choice(['min', 'max'])}({self.make(own, kind, 1)}) FROM {source}{condition})"

    def condition_subquery(self, scope: Scope) -> str | None:
        if self.size <= 0:
            return None
        rng = self.rng
        source, own = self.relation(0)
        condition = self.correlation(own, scope)
        negated = rng.choice(["", "NOT "])
        if rng.random() < 0.5:
            return f"({negated}EXISTS (SELECT 1 FROM {source}{condition}))"
        kind = self.any_kind()
        left, right = self.leaf(scope, kind), self.leaf(own, kind)
        if rng.random() < 0.6:
            return f"({left} {negated}IN (SELECT {right} FROM {source}{condition}))"
        comparison, quantifier = rng.choice(["=", "<>", "<", ">="]), rng.choice(["ANY", "ALL"])
        return f"({left} {comparison} {quantifier} (SELECT {right} FROM {source}{condition}))"

    def correlation(self, own: Scope, outer: Scope) -> str:
        both = [(a, b) for a, kind, _ in own.columns for b, its, _ in outer.columns if kind == its]
        rng = self.rng
        if both and rng.random() < 0.7:
            a, b = rng.choice(both)
            return f" WHERE {a} {rng.choice(['=', '=', '=', '<', '<>'])} {b}"
        return f" WHERE {self.leaf(own, 'integer')} > {rng.randrange(-2, 6)}" if rng.random() < 0.5 else ""

"""Random expressions of a wanted kind over the columns in scope, made from templates.

What they give does not depend on the order of rows or of evaluation, and rarely fails: dividing by zero gives NULL, and
numbers stay small. In a template `<text>` is any expression of that kind, `<text.leaf>` a column or literal,
`<text.lit>` a literal, `<own>` is of the kind that is made, `<other>` of a kind chosen once per expression, and what
stands between backquotes is one of several.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from tests.fuzz.schema import literal

KINDS = ("integer", "double", "decimal", "text", "boolean", "date", "timestamp")
CHOICE = re.compile(r"`([^`]*)`")
HOLE = re.compile(r"<(own|other|integer|double|decimal|text|boolean|date|timestamp)(\.leaf|\.lit)?>")

COMMON = (
    "coalesce(<own>, <own>)",
    "nullif(<own>, <own>)",
    "CASE WHEN <boolean> THEN <own> ELSE <own> END",
    "CASE WHEN <boolean> THEN <own> END",
    "CASE <other> WHEN <other.leaf> THEN <own> WHEN <other.leaf> THEN <own> ELSE <own.leaf> END",
    "if(<boolean>, <own>, <own>)",
)
ORDERED = ("greatest(<own>, <own>)", "least(<own>, <own>)")
TEMPLATES = {
    "integer": (
        "(<own.leaf> `+|-|*` <own.lit>)",
        "(<own.leaf> `%|//` <own.lit>)",
        "(<own.leaf> `&` <own.lit>)",
        "abs(<own>)",
        "(-<own.leaf>)",
        "sign(<own>)",
        "length(<text>)",
        "strpos(<text>, <text.lit>)",
        "ascii(<text>)",
        "levenshtein(<text>, <text.lit>)",
        "`year|month|day|quarter|dayofweek|isodow|dayofyear|week`(`<date>|<timestamp>`)",
        "extract(`year|decade|century|hour|minute` FROM <timestamp>)",
        "date_diff('`day|month|year|hour`', <timestamp>, <timestamp>)",
        "CAST(<boolean> AS INTEGER)",
        "CAST(<double.leaf> AS INTEGER)",
        "TRY_CAST(<text> AS INTEGER)",
        "bit_count(<own.leaf>)",
    ),
    "double": (
        "(<own> `+|-` <own.leaf>)",
        "(<own.leaf> * <own.leaf>)",
        "(<own.leaf> / <integer.leaf>)",
        "(<integer.leaf> / <integer.lit>)",
        "`abs|floor|ceil|round|trunc`(<own>)",
        "sqrt(abs(<own>))",
        "round(<own>, `0|1|2`)",
        "CAST(<integer> AS DOUBLE)",
        "CAST(<decimal> AS DOUBLE)",
    ),
    "decimal": (
        "(<own.leaf> `+|-` <own.leaf>)",
        "(<own.lit> * <integer.lit>)",
        "`abs|floor|ceil|round`(<own.leaf>)",
        "round(<own.leaf>, `0|1|2`)",
        "CAST(<own.leaf> AS DECIMAL(12,`0|1|2|3`))",
        "CAST(<integer.leaf> AS DECIMAL(12,2))",
    ),
    "text": (
        "(<own> || <own.leaf>)",
        "concat(<own>, `<integer.leaf>|<own.leaf>|<boolean.leaf>`)",
        "`upper|lower|trim|ltrim|rtrim|reverse`(<own>)",
        "`left|right`(<own>, `-2|-1|0|1|3`)",
        "substring(<own>, `-2|-1|0|1|2|3`, `0|1|3`)",
        "replace(<own>, <own.lit>, <own.lit>)",
        "`lpad|rpad`(<own>, `0|1|4`, 'x')",
        "repeat(<own.leaf>, `0|1|3`)",
        "split_part(<own>, 'a', `1|2`)",
        "CAST(`<integer>|<date>|<boolean>|<decimal>|<timestamp>` AS VARCHAR)",
        "md5(<own.leaf>)",
        "`monthname|dayname`(<date>)",
        "strftime(<timestamp>, '%Y-%m-%d %H:%M')",
        "regexp_replace(<own>, '[ab]+', 'x')",
    ),
    "date": (
        "(<own> `+|-` `0|1|31`)",
        "last_day(<own>)",
        "CAST(<timestamp> AS DATE)",
        "CAST(date_trunc('`year|month|week|quarter`', <own>) AS DATE)",
        "make_date(`1900|2000|2024`, `1|2|12`, `1|28`)",
    ),
    "timestamp": (
        "(<own> `+|-` INTERVAL `0|1|31` `day|month|year|hour|minute`)",
        "date_trunc('`day|month|year|hour|minute`', <own>)",
        "CAST(<date> AS TIMESTAMP)",
        "(<date> + INTERVAL `0|1|31` `day|month|year|hour|minute`)",
    ),
    "boolean": (
        "(<other> `=|!=|<|<=|>|>=` <other>)",
        "(<other> `=|!=|<|<=|>|>=` <other.lit>)",
        "(<other> IS` NOT|` NULL)",
        "(<other> IS` NOT|` DISTINCT FROM <other>)",
        "(<other>` NOT|` BETWEEN <other.leaf> AND <other>)",
        "(<other>` NOT|` IN (<other.leaf>, <other.lit>, <other.lit>))",
        "(<own> AND <own>)",
        "(<own> OR <own>)",
        "(NOT <own>)",
        "(<own> IS `TRUE|FALSE|NOT TRUE|NOT FALSE`)",
        "(<text> `LIKE|NOT LIKE|ILIKE` '`%a%|a%|%b|_||a_c|%`')",
        "`starts_with|contains|suffix`(<text>, <text.lit>)",
    ),
}


@dataclass
class Scope:
    """Columns that may be named, as (SQL, kind, is small), and how subqueries are made."""

    columns: list[tuple[str, str, bool]] = field(default_factory=list)

    def of(self, kind: str, *, small: bool = False) -> list[str]:
        """Columns of a kind."""
        return [sql for sql, its, is_small in self.columns if its == kind and (is_small or not small)]


class Expressions:
    """Makes expressions with one source of randomness."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def scalar_subquery(self, scope: Scope, kind: str) -> str | None:
        """A subquery of one row and column; None where there may be none."""
        return None

    def condition_subquery(self, scope: Scope) -> str | None:
        """EXISTS, IN, ANY or ALL; None where there may be none."""
        return None

    def any_kind(self) -> str:
        return self.rng.choice(KINDS)

    def leaf(self, scope: Scope, kind: str, *, small: bool = True) -> str:
        """A column, a literal or NULL."""
        columns = scope.of(kind, small=small)
        if columns and self.rng.random() < 0.8:
            return self.rng.choice(columns)
        if self.rng.random() < 0.06:
            return "NULL::" + {"text": "VARCHAR", "decimal": "DECIMAL(9,2)"}.get(kind, kind.upper())
        return literal(self.rng, kind)

    def make(self, scope: Scope, kind: str, depth: int = 3) -> str:
        """An expression of a kind, at most about `depth` deep."""
        if depth <= 0 or self.rng.random() < 0.25:
            return self.leaf(scope, kind)
        if self.rng.random() < 0.05 and (made := self.scalar_subquery(scope, kind)):
            return made
        if kind == "boolean" and self.rng.random() < 0.12 and (made := self.condition_subquery(scope)):
            return made
        templates: tuple[str, ...] = TEMPLATES[kind]
        if self.rng.random() < 0.18:
            templates = COMMON if kind == "boolean" else COMMON + ORDERED
        return self.filled(self.rng.choice(templates), scope, kind, depth - 1)

    def filled(self, template: str, scope: Scope, kind: str, depth: int) -> str:
        """A template with its choices made and its holes filled."""
        other = self.any_kind()

        def hole(match: re.Match[str]) -> str:
            wanted = {"own": kind, "other": other}.get(match[1], match[1])
            if match[2] == ".lit":
                return literal(self.rng, wanted)
            if match[2] == ".leaf":
                edges = scope.of(wanted) if kind == "boolean" and wanted == "integer" else []
                return self.rng.choice(edges) if edges else self.leaf(scope, wanted)
            return self.make(scope, wanted, depth)

        chosen = CHOICE.sub(lambda match: self.rng.choice(match[1].split("|")), template)
        return HOLE.sub(hole, chosen)

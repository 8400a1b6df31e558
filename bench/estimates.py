"""How wrong Inlay's estimates of rows are: the q-error of every operator, as EXPLAIN ANALYZE shows it.

The q-error of an operator is the larger of the estimated and the found number of rows by the smaller, at least 1.
Rows that a join's filter keeps a scan from reading are not found there, so such a scan seems overestimated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from statistics import median, quantiles
from typing import Any

# Operator and q-error.
Errors = Sequence[tuple[str, float]]


def q_errors(connection: Any, sql: str) -> Errors:
    """Of the operators of a query, which is run for it."""
    text = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}").fetchone()[0]
    return list(of_plan(json.loads(text)))


def of_plan(plan: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Of an operator and those below it, as far as they were measured."""
    # The rows of WITH are those of its body.
    if "q_error" in plan and not plan["operator"].startswith("With "):
        yield plan["operator"], float(plan["q_error"])
    for child in plan["inputs"]:
        yield from of_plan(child)


def lines(found: Mapping[str, Errors]) -> list[str]:
    """What there is to say of a suite's queries, by their names: of scans, and of what is above them."""
    of_all = [(error, operator, query) for query, errors in found.items() for operator, error in errors]
    scans = [entry for entry in of_all if entry[1].startswith("Scan")]
    others = [entry for entry in of_all if not entry[1].startswith("Scan")]
    return [
        line
        for kind, some in (("joins, groupings and others", others), ("scans", scans))
        for line in summary(kind, some)
    ]


def summary(kind: str, entries: Sequence[tuple[float, str, str]]) -> list[str]:
    """Median, 95th percentile and the worst of some operators."""
    if len(entries) < 2:
        return []
    errors = [error for error, _, _ in entries]
    named = ", ".join(f"{error:,.1f} ({operator} in {query})" for error, operator, query in sorted(entries)[:-4:-1])
    return [
        f"q-error of {len(errors)} {kind} of Inlay's plans: median {median(errors):.2f}, "
        f"95 % at most {quantiles(errors, n=20)[-1]:,.1f}, worst {named}."
    ]

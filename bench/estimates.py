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
    if "q_error" in plan:
        yield plan["operator"], float(plan["q_error"])
    for child in plan["inputs"]:
        yield from of_plan(child)


def lines(found: Mapping[str, Errors]) -> list[str]:
    """What there is to say of a suite's queries, by their names."""
    all_errors = [(error, operator, query) for query, errors in found.items() for operator, error in errors]
    if len(all_errors) < 2:
        return []
    errors = [error for error, _, _ in all_errors]
    worst = sorted(all_errors, reverse=True)[:3]
    named = ", ".join(f"{error:,.0f} ({operator} in {query})" for error, operator, query in worst)
    return [
        f"q-error of {len(errors)} operators of Inlay's plans: median {median(errors):.2f}, "
        f"95 % at most {quantiles(errors, n=20)[-1]:,.1f}, worst {named}"
    ]

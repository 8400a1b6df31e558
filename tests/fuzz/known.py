"""Differences from DuckDB that are explained: what one of them says, and why it is not a defect of Inlay."""

from __future__ import annotations

import re

# Errors of both engines that say the same in other words, or that one of them cannot meet: a filter may be evaluated
# on rows that another filter would have dropped, so an overflow may come or not.
DATA_ERRORS = re.compile(
    r"overflow|out of range|division by zero|could not (cast|convert|parse)|cannot (cast|convert)|conversion error|"
    r"invalid input|is not a valid|more than one row",
    re.IGNORECASE,
)

# What DuckDB refuses or gets wrong in what the generator makes.
DUCKDB = re.compile(
    r"not implemented|INTERNAL Error|non-inner join|cannot compare values of type|Catalog Error|Cannot perform|"
    r"UNION BY NAME|not supported|Binder Error",
    re.IGNORECASE,
)


def is_data_error(message: str) -> bool:
    """Whether an error depends on the rows that an expression meets."""
    return bool(DATA_ERRORS.search(message))


def is_refused_by_duckdb(message: str) -> bool:
    """Whether DuckDB cannot answer the query at all."""
    return bool(DUCKDB.search(message))


# DuckDB 2.0.0 takes starts_with(f(x), '') for x IS NOT NULL, also where f(x) is else a constant that begins so; but
# nullif and CASE make NULL of what is not.
AFFIX = re.compile(r"(starts_with|contains|suffix|prefix)\(.*\b(nullif|CASE|TRY_CAST)\b.*, '[^']*'\)", re.IGNORECASE)


def is_wrong_in_duckdb(sql: str) -> bool:
    """Whether DuckDB's answer to the query is known to be wrong."""
    return bool(AFFIX.search(sql))

"""TPC-DS as data: the names of the tables and the texts of the queries, with the specification's validation parameters.

Called by `test_tpcds` and by the benchmark.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
QUERY_NUMBERS = range(1, 100)
TABLES = (
    "call_center",
    "catalog_page",
    "catalog_returns",
    "catalog_sales",
    "customer",
    "customer_address",
    "customer_demographics",
    "date_dim",
    "household_demographics",
    "income_band",
    "inventory",
    "item",
    "promotion",
    "reason",
    "ship_mode",
    "store",
    "store_returns",
    "store_sales",
    "time_dim",
    "warehouse",
    "web_page",
    "web_returns",
    "web_sales",
    "web_site",
)


def query_text(number: int) -> str:
    """The text of a query, without its semicolon."""
    return (HERE / "queries" / f"{number:02d}.sql").read_text().strip().rstrip(";")


def without_limit(text: str) -> str:
    """A query without its final LIMIT: which of the rows that tie come before it is free."""
    return re.sub(r"\bLIMIT\s+100\s*$", "", text, flags=re.IGNORECASE)

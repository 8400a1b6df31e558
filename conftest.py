"""What holds for all tests: DuckDB, which they compare with, takes no settings from the machine."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(autouse=True, scope="session")
def peers_in_utc() -> None:
    """DuckDB's sessions begin in the machine's time zone, Inlay's in UTC; compared are answers, not machines."""
    try:
        import duckdb
    except ImportError:
        return
    connect = duckdb.connect

    def connect_in_utc(*args: Any, **options: Any) -> Any:
        connection = connect(*args, **options)
        connection.execute("SET TimeZone = 'UTC'")
        return connection

    duckdb.connect = connect_in_utc
    duckdb.execute("SET TimeZone = 'UTC'")

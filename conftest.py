"""What holds for all tests: neither Inlay nor DuckDB, which it is compared with, takes settings from the machine."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

# Before a database is opened, whose sessions begin in the machine's time zone.
os.environ["TZ"] = "UTC"

# Who runs the tests in the background may ignore Ctrl-C, and so would the programs that tests interrupt, without end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def peers_in_utc() -> None:
    """DuckDB's sessions begin in the machine's time zone, whatever TZ says; compared are answers, not machines."""
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The file that takes longest begins first: files are run side by side, and the last one would be waited for."""
    items.sort(key=lambda item: item.path.name != "test_sqlalchemy_suite.py")

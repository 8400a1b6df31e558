"""
Inlay by ADBC: a driver for `adbc_driver_manager`, with which pandas, Polars and others exchange Arrow data.

>>> import inlay.adbc
>>> with inlay.adbc.connect() as con, con.cursor() as cursor:
...     cursor.execute("SELECT 40 + 2").fetchone()
(42,)

Driver managers of other languages load the same library: `driver_path()`, with the entry point `ENTRY_POINT`.
"""

from __future__ import annotations

from os import PathLike, fsdecode
from typing import Any

import adbc_driver_manager.dbapi

from inlay import _inlay

ENTRY_POINT = "inlay_adbc_init"


def driver_path() -> str:
    """Return the path of the library that has the driver."""
    return str(_inlay.__file__)


def connect(
    database: str | PathLike[str] = ":memory:",
    *,
    autocommit: bool = False,
    read_only: bool = False,
    config: dict[str, Any] | None = None,
) -> adbc_driver_manager.dbapi.Connection:
    """
    Open a database and connect to it.

    Parameters
    ----------
    database
        A path, which is created if there is no file, or ``":memory:"``.
    autocommit
        Let each statement commit; otherwise, as DB-API says, `commit` does.
    read_only
        Refuse changes.
    config
        Settings by name, such as ``{"memory_limit": "2GB"}``.
    """
    options = {name: _text(value) for name, value in (config or {}).items()}
    if read_only:
        options["access_mode"] = "read_only"
    return adbc_driver_manager.dbapi.connect(
        driver=driver_path(),
        entrypoint=ENTRY_POINT,
        db_kwargs={**options, "path": fsdecode(database)},
        autocommit=autocommit,
    )


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

"""The engines under test, one file each, all of one shape.

A file defines a class `Adapter` with `version`, `load`, `run`, `select_one` and `close`, as in `base.Adapter`, and a
text `START` that a new process runs to answer `SELECT 1`. Files are imported in worker processes only.
"""

from __future__ import annotations

import importlib
from types import ModuleType

DEFAULT = ("inlay", "duckdb", "hyper", "polars", "datafusion")
ALL = (*DEFAULT, "chdb")


def adapter_module(name: str) -> ModuleType:
    """The file of one engine. Raises `ImportError` when its package is not installed."""
    return importlib.import_module(f"bench.engines.{name}_engine")

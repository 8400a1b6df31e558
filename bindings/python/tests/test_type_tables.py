"""`docs/reference/exchange.md` says what happens."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import type_tables


def test_the_page_is_current() -> None:
    for name in ("numpy", "pandas", "polars", "pyarrow", "openpyxl"):
        pytest.importorskip(name)
    if int(importlib.metadata.version("pandas").partition(".")[0]) < 3:
        pytest.skip("the page is of pandas 3")
    made, written = type_tables.page().splitlines(), type_tables.PAGE.read_text().splitlines()
    wrong = [f"{new}\n  instead of {old}" for new, old in zip(made, written, strict=False) if new != old]
    assert not wrong and len(made) == len(written), (
        "python bindings/python/tests/type_tables.py writes the page anew:\n" + "\n".join(wrong)
    )

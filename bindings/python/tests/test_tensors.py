"""Columns as tensors: by DLPack, over the memory of the array."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import inlay

TYPES = {
    "TINYINT": "i1",
    "SMALLINT": "i2",
    "INTEGER": "i4",
    "BIGINT": "i8",
    "UTINYINT": "u1",
    "USMALLINT": "u2",
    "UINTEGER": "u4",
    "UBIGINT": "u8",
    "FLOAT": "f4",
    "DOUBLE": "f8",
    "BOOLEAN": "?",
}


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


@pytest.fixture
def table(con: inlay.Connection) -> inlay.Connection:
    columns = ", ".join(f"(i % 2)::{ty} AS {ty.lower()}" for ty in TYPES)
    con.execute(f"CREATE TABLE t AS SELECT {columns} FROM range(200000) r(i)")
    return con


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """PyTorch, or what of it takes an array by DLPack."""
    try:
        import torch as real
    except ModuleNotFoundError:
        stand_in = types.ModuleType("torch")
        stand_in.from_dlpack = np.from_dlpack  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "torch", stand_in)
        return stand_in
    return real


def test_dlpack_shares_the_memory_of_columns(table: inlay.Connection) -> None:
    for query in ("FROM t", "SELECT * FROM t WHERE bigint >= 0"):
        for name, array in table.execute(query).fetchnumpy().items():
            shared = np.from_dlpack(array)
            assert shared.dtype == np.dtype(TYPES[name.upper()]) and address(shared) == address(array)
            assert array.__dlpack_device__()[0] == 1 and array.flags.writeable
            assert np.array_equal(shared, np.arange(200_000) % 2)


def test_tensors_share_it_too(table: inlay.Connection, torch: Any) -> None:
    for answer in (table.execute("FROM t"), table.sql("FROM t")):
        tensors = answer.torch()
        assert list(tensors) == [name.lower() for name in TYPES]
        for name, tensor in tensors.items():
            assert tuple(tensor.shape) == (200_000,)
            array = np.from_dlpack(tensor)
            assert array.dtype == np.dtype(TYPES[name.upper()])
            if hasattr(tensor, "data_ptr"):
                assert tensor.data_ptr() == address(array)
    tensor = table.execute("SELECT integer FROM t").torch()["integer"]
    tensor[0] = 5
    assert table.execute("SELECT max(integer) FROM t").fetchone() == (1,)


def test_nulls_and_types_without_tensors(con: inlay.Connection, torch: Any) -> None:
    tensors = con.execute("SELECT * FROM (VALUES (1.5::DOUBLE), (NULL)) t(x)").torch()
    assert np.isnan(np.from_dlpack(tensors["x"])).tolist() == [False, True]
    for query, message in {
        "SELECT * FROM (VALUES (1), (NULL)) t(x)": '"x" of int32 has NULL, which no tensor has; coalesce',
        "SELECT 'a' AS s": '"s" of object cannot be a tensor',
        "SELECT DATE '2024-01-01' AS d": "cannot be a tensor; epoch_us",
        "SELECT 170141183460469231731687303715884105727 AS p": "decimal='float'",
    }.items():
        with pytest.raises(inlay.InvalidInputException, match=message):
            con.execute(query).torch()
    assert float(con.execute("SELECT 1.25 AS p").torch()["p"][0]) == 1.25
    assert float(con.execute("SELECT 2::HUGEINT AS p").torch(decimal="float")["p"][0]) == 2

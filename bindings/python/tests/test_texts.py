"""Texts of NumPy arrays, in and out."""

# Variables are read by SQL.
# ruff: noqa: F841
from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import inlay

LONG = "a text that is longer than twelve bytes"
WORDS = ["", "a", "twelve bytes", "thirteen bytes", LONG, "Köln", "日本語のとても長いテキスト", "😀", "nul\0inside"]

StringDType = pytest.importorskip("numpy.dtypes").StringDType


def objects(values: list[Any]) -> Any:
    return np.fromiter(values, dtype=object, count=len(values))


def test_object_arrays_keep_texts_and_nulls(con: inlay.Connection) -> None:
    values = [None if n % 11 == 3 else float("nan") if n % 11 == 7 else WORDS[n % len(WORDS)] for n in range(10_000)]
    arrays = {"s": objects(values)}
    expected = [(None if isinstance(value, float) else value,) for value in values]
    assert con.sql("FROM arrays").fetchall() == expected
    assert con.from_df(arrays).types == ["VARCHAR"]


def test_equal_addresses_and_equal_texts(con: inlay.Connection) -> None:
    random.seed(7)
    made = [f"{LONG} {n}" for n in range(2000)]
    values = random.choices(made, k=50_000)
    arrays = {"same": objects(values), "own": objects(["".join(value) for value in values])}
    assert con.sql("SELECT count(*), count(DISTINCT same), bool_and(same = own) FROM arrays").fetchall() == [
        (50_000, len(set(values)), True)
    ]
    assert con.sql("SELECT same FROM arrays").fetchall() == [(value,) for value in values]


def test_other_objects_take_the_other_way(con: inlay.Connection) -> None:
    class Text(str):
        """A text all the same."""

    arrays = {"n": objects([1, None, 3]), "m": objects(["a", 5, None]), "t": objects([Text("x"), "y", None])}
    assert con.sql("FROM arrays").fetchall() == [(1, "a", "x"), (None, "5", "y"), (3, None, None)]
    strided = {"s": objects(["a", "b", "c", "d"])[::2]}
    assert con.sql("FROM strided").fetchall() == [("a",), ("c",)]
    empty = {"s": np.empty(3, dtype=object), "none": objects([None, None, None])}
    assert con.sql("FROM empty").fetchall() == [(None, None)] * 3
    masked = {"s": np.ma.MaskedArray(objects(["a", "b"]), [True, False])}
    assert con.sql("FROM masked").fetchall() == [(None,), ("b",)]
    half = {"s": objects(["\ud800", "b"])}
    with pytest.raises(inlay.Error, match="half of a surrogate pair"):
        con.sql("FROM half").fetchall()


def test_string_arrays_come_in(con: inlay.Connection) -> None:
    arrays = {
        "plain": np.array(WORDS, dtype=StringDType()),
        "missing": np.array([None, *WORDS[1:]], dtype=StringDType(na_object=None)),
        "nan": np.array([np.nan, *WORDS[1:]], dtype=StringDType(na_object=np.nan)),
        "fixed": np.array([word.replace("\0", "") for word in WORDS]),
    }
    rows = con.sql("FROM arrays").fetchall()
    assert [row[0] for row in rows] == WORDS and [row[1] for row in rows] == [None, *WORDS[1:]]
    assert [row[2] for row in rows] == [None, *WORDS[1:]]
    assert [row[3] for row in rows] == [word.replace("\0", "") for word in WORDS]


def test_string_arrays_go_out(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (s VARCHAR, j JSON, n INTEGER)")
    con.executemany("INSERT INTO t VALUES (?, '[1]', 1)", [[word] for word in WORDS])
    for answer in (con.execute("FROM t"), con.sql("FROM t")):
        texts = answer.fetchnumpy(strings="stringdtype")["s"]
        assert texts.dtype == StringDType(na_object=np.nan) and texts.tolist() == WORDS
    assert con.execute("FROM t").fetchnumpy(strings="object")["s"].dtype == object
    con.execute("INSERT INTO t VALUES (NULL, NULL, NULL)")
    arrays = con.execute("FROM t").fetchnumpy(strings="stringdtype")
    assert np.isnan(arrays["s"]).tolist() == [False] * len(WORDS) + [True]
    assert arrays["j"].dtype == arrays["s"].dtype and arrays["n"].mask[-1]
    assert con.sql("FROM arrays").fetchall() == con.sql("FROM t").fetchall()
    with pytest.raises(inlay.InvalidInputException, match="'object' or 'stringdtype'"):
        con.execute("FROM t").fetchnumpy(strings="bytes")

"""Lists and dicts of Python whose values are of several kinds: a document keeps each as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

import inlay

MIXED: list[Any] = [
    [1, "a", 2.5, None, True],
    [True, 2],
    [1, 2.5],
    {"a": [1, "x", {"b": 2}], "c": None},
    [{"a": 1}, {"b": "x"}],
    [1, [2, "three"], {"four": [5, 6.5]}],
    [["a", 1], []],
    {"1": [0.5, 1]},
    ['say "yes"', 1],
]


@pytest.fixture
def documents(con: inlay.Connection) -> inlay.Connection:
    con.execute("CREATE TABLE documents (i INTEGER, j JSON)")
    return con


@pytest.mark.parametrize("value", MIXED, ids=repr)
def test_a_document_keeps_the_kinds(documents: inlay.Connection, value: Any) -> None:
    def stored() -> list[Any]:
        found = [json.loads(text) for (text,) in documents.execute("SELECT j::VARCHAR FROM documents").fetchall()]
        documents.execute("DELETE FROM documents")
        return found

    documents.execute("INSERT INTO documents VALUES (?, ?)", [1, value])
    assert stored() == [value]
    documents.execute("INSERT INTO documents (j) VALUES ($j)", {"j": value})
    assert stored() == [value]
    documents.executemany("INSERT INTO documents VALUES (?, ?)", [[1, [7]], [2, value]])
    assert stored() == [[7], value]
    documents.prepare("INSERT INTO documents (j) VALUES (?)").execute([value])
    assert stored() == [value]
    with documents.appender("documents") as appender:
        appender.append_row(1, value)
    assert stored() == [value]
    documents.execute("INSERT INTO documents VALUES (1, NULL)")
    documents.execute("UPDATE documents SET j = ? WHERE i = 1", [value])
    assert stored() == [value]
    assert json.loads(documents.execute("SELECT ?::JSON::VARCHAR", [value]).fetchone()[0]) == value


def test_elsewhere_a_list_has_one_type(con: inlay.Connection) -> None:
    assert con.execute("SELECT ?, typeof($1)", [[1, "a", 2.5]]).fetchone() == (["1", "a", "2.5"], "VARCHAR[]")
    assert con.execute("SELECT ?", [[1, 2.5]]).fetchone() == ([1.0, 2.5],)
    con.execute("CREATE TABLE texts (x VARCHAR[])")
    con.execute("INSERT INTO texts VALUES (?)", [[1, "a"]])
    assert con.execute("FROM texts").fetchall() == [(["1", "a"],)]


def test_what_has_no_type_in_common_is_only_a_document(documents: inlay.Connection) -> None:
    with pytest.raises(inlay.InvalidInputException, match=r"a list holds values of the types INTEGER and INTEGER\[\]"):
        documents.execute("SELECT ?", [[1, [2]]])
    documents.execute("INSERT INTO documents VALUES (1, ?)", [[1, [2]]])
    assert documents.execute("SELECT j::VARCHAR FROM documents").fetchone() == ("[1,[2]]",)

"""Tables to calculate with: loading by names of columns, and calculations as relations and documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import inlay


@pytest.fixture
def flats(tmp_path: Path) -> inlay.Connection:
    (tmp_path / "a.csv").write_text("区_txt;kind_txt;price_fact\n北;flat;100,5\n北;loft;300\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("区_txt;kind_txt;price_fact\n南;flat;200\n;flat;50\n", encoding="utf-8")
    con = inlay.connect()
    con.execute("CALL olap_load('flats', ?)", [f"{tmp_path}/*.csv"])
    return con


def test_names_of_columns_say_what_is_made(flats: inlay.Connection) -> None:
    tables = flats.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
    assert tables == [("flats",), ("flats_kind",), ("flats_区",)]
    assert flats.execute("FROM flats_区 ORDER BY ALL").fetchall() == [(1, "北"), (2, "南")]
    rows = flats.execute("SELECT 区_id, 区_txt, kind_id, kind_txt, price_fact FROM flats ORDER BY ALL").fetchall()
    assert rows == [
        (1, "北", 1, "flat", 100.5),
        (1, "北", 2, "loft", 300.0),
        (2, "南", 1, "flat", 200.0),
        (None, None, 1, "flat", 50.0),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1252"])
def test_encodings_are_found(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_text("stadt_txt;price_fact\nMünchen;1\nKöln-Süd;2\n", encoding=encoding)
    con = inlay.connect()
    report = con.execute("CALL olap_load('t', ?)", [str(tmp_path / "a.csv")]).fetchall()
    assert report[0][:3] == ("t", "table", 2)
    assert con.execute("SELECT stadt_txt FROM t ORDER BY ALL").fetchall() == [("Köln-Süd",), ("München",)]


def test_many_values_get_no_index_and_it_is_said(tmp_path: Path) -> None:
    with (tmp_path / "a.csv").open("w") as file:
        file.write("name_txt,few_txt,price_fact\n")
        file.writelines(f"name {i},few {i % 3},{i}\n" for i in range(140_000))
    con = inlay.connect()
    report = con.execute("CALL olap_load('t', ?)", [str(tmp_path / "a.csv")]).fetchall()
    kinds = {name: kind for name, kind, _, _ in report}
    assert (kinds["t_few_txt"], kinds["name_txt"]) == ("bitmap index", "no index")
    assert con.olap("t", by="few_txt").fetchall() == [("few 0", 46667), ("few 1", 46667), ("few 2", 46666)]


def test_relations_and_documents_say_the_same(flats: inlay.Connection) -> None:
    asked = {"by": ["区_txt", "kind_txt"], "agg": "sum", "fact": "price_fact - 1", "where": "price_fact > 60"}
    rows = flats.olap("flats", **asked)
    assert rows.columns == ["区", "kind", "sum"]
    assert rows.fetchall() == [("北", "flat", 99.5), ("北", "loft", 299.0), ("南", "flat", 199.0)]
    flat = json.loads(flats.olap("flats", **asked, nested=False))
    assert [tuple(row.values()) for row in flat] == rows.fetchall()
    nested = json.loads(flats.olap("flats", **asked, nested=True))
    assert [(level["name"], [kind["name"] for kind in level["kind"]]) for level in nested["区"]] == [
        ("北", ["flat", "loft"]),
        ("南", ["flat"]),
    ]


def test_mistakes_name_the_thing(flats: inlay.Connection) -> None:
    with pytest.raises(inlay.Error, match="there is no aggregate"):
        flats.olap("flats", agg="mode", fact="price_fact").fetchall()
    with pytest.raises(inlay.Error, match="prise_fact"):
        flats.olap("flats", agg="sum", fact="prise_fact").fetchall()
    with pytest.raises(inlay.Error):
        flats.olap("flats", where="true) OR (true").fetchall()

"""Excel workbooks of openpyxl are read by Inlay, and those of Inlay by openpyxl."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

import inlay

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def con() -> inlay.Connection:
    return inlay.connect()


def test_cells_of_every_kind_are_read(con: inlay.Connection, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["t", "i", "f", "b", "d", "m", "h", "e", "n"])
    moment = dt.datetime(2024, 2, 29, 12, 34, 56, 789000)
    sheet.append(["ä", 7, 1.25, True, dt.date(2024, 2, 29), moment, dt.time(1, 2, 3), "=1/0", None])
    sheet.append([5, None, -3, False, dt.date(1999, 12, 31), moment, dt.time(23, 59, 59), None, 2.5])
    path = tmp_path / "kinds.xlsx"
    book.save(path)
    result = con.sql(f"SELECT t, i, f, b, d, m, h, n FROM '{path}'")
    assert result.fetchall() == [
        ("ä", 7.0, 1.25, True, dt.date(2024, 2, 29), moment, dt.time(1, 2, 3), None),
        ("5", None, -3.0, False, dt.date(1999, 12, 31), moment, dt.time(23, 59, 59), 2.5),
    ]


def test_merged_cells_have_their_value_once(con: inlay.Connection, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["a", "b"])
    sheet.append([1, 2])
    sheet.append([3, 4])
    sheet.merge_cells("A2:A3")
    path = tmp_path / "merged.xlsx"
    book.save(path)
    assert con.sql(f"FROM '{path}'").fetchall() == [(1.0, 2.0), (None, 4.0)]


def test_dates_of_1904_are_the_same_days(con: inlay.Connection, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    book.active.append([dt.date(2024, 2, 29), dt.time(6, 0)])
    path = tmp_path / "mac.xlsx"
    book.save(path)
    assert con.sql(f"FROM '{path}'").fetchall() == [(dt.date(2024, 2, 29), dt.time(6, 0))]


def test_openpyxl_reads_what_is_written(con: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "written.xlsx"
    con.execute(
        f"""COPY (SELECT 1 AS i, 2.5::DECIMAL(9, 2) AS p, true AS b, 'x & y' AS t, DATE '2024-02-29' AS d,
            TIMESTAMP '2024-02-29 12:00:00' AS m, NULL AS n, 9007199254740993 AS big, [1, 2] AS l)
            TO '{path}' (HEADER, SHEET 'One')"""
    )
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["One"]
    names, row = book["One"].iter_rows(values_only=True)
    assert names == ("i", "p", "b", "t", "d", "m", "n", "big", "l")
    day = dt.datetime(2024, 2, 29)
    assert row == (1, 2.5, True, "x & y", day, day.replace(hour=12), None, "9007199254740993", "[1, 2]")


def test_a_failed_copy_leaves_the_old_file(con: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "kept.xlsx"
    con.execute(f"COPY (SELECT 1 AS i) TO '{path}'")
    before = path.read_bytes()
    with pytest.raises(inlay.Error, match="holds 10 rows"):
        con.execute(f"COPY (FROM range(11)) TO '{path}' (SHEET_ROW_LIMIT 10)")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["kept.xlsx"]


def saved(path: Path, cells: dict[str, object]) -> Path:
    book = openpyxl.Workbook()
    for place, value in cells.items():
        book.active[place] = value
    book.save(path)
    return path


def test_no_cell_is_lost_where_empty_rows_do_not_end_the_table(con: inlay.Connection, tmp_path: Path) -> None:
    path = saved(tmp_path / "gap.xlsx", {"B1": "X", "D3": "Y", "A4": 1})
    options = "all_varchar = true, stop_at_empty = false"
    rows = [(None, "X", None, None), (None,) * 4, (None, None, None, "Y"), ("1", None, None, None)]
    assert con.sql(f"FROM read_xlsx('{path}', header = false, {options})").fetchall() == rows
    assert con.sql(f"FROM read_xlsx('{path}', header = true, {options})").fetchall() == rows[1:]
    assert con.sql(f"FROM read_xlsx('{path}', header = false, range = 'B1:C3', {options})").fetchall()[0] == ("X", None)
    empty = saved(tmp_path / "empty.xlsx", {})
    with pytest.raises(inlay.Error):
        con.sql(f"FROM read_xlsx('{empty}', {options})").fetchall()


@pytest.mark.parametrize(
    ("given", "rows", "columns"),
    [("A2:V", 2, 22), ("A2:B", 2, 2), ("A:B", 3, 2), ("B2:3", 2, 1), ("A1:2", 2, 2)],
)
def test_a_range_may_have_an_open_end(
    con: inlay.Connection, tmp_path: Path, given: str, rows: int, columns: int
) -> None:
    path = saved(tmp_path / "open.xlsx", {"A1": "h", "B1": "g", "A2": 1, "B2": 2, "A3": 3, "B3": 4})
    for stop in ("true", "false"):
        options = f"header = false, all_varchar = true, range = '{given}', stop_at_empty = {stop}"
        got = con.sql(f"FROM read_xlsx('{path}', {options})").fetchall()
        assert (len(got), len(got[0])) == (rows, columns)
    for wrong in ("A:B2", "2:B3", "A2:", ":B3"):
        with pytest.raises(inlay.Error, match="range"):
            con.sql(f"FROM read_xlsx('{path}', range = '{wrong}')")

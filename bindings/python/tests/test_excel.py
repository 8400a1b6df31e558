"""Excel workbooks of openpyxl are read by Inlay, and those of Inlay by openpyxl."""

from __future__ import annotations

import datetime as dt
import zipfile
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


def test_a_large_workbook_is_whole(con: inlay.Connection, tmp_path: Path) -> None:
    """It is written in parts, by several threads, which together are one sheet and one archive."""
    path = tmp_path / "large.xlsx"
    con.execute("SET threads = 4")
    con.execute(
        f"""COPY (SELECT i, 'text ' || i AS t, i / 8 AS d, DATE '2000-01-01' + (i % 9000)::INTEGER AS day,
            NULLIF(i % 3, 0) AS n FROM range(60000) r(i)) TO '{path}' (HEADER)"""
    )
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None and len(archive.namelist()) == 6
    rows = openpyxl.load_workbook(path, read_only=True).active.iter_rows(values_only=True)
    assert next(rows) == ("i", "t", "d", "day", "n")
    for i, row in enumerate(rows):
        day = dt.datetime(2000, 1, 1) + dt.timedelta(days=i % 9000)
        # Read row by row, a sheet has no cells behind the last one of a row.
        assert (*row, None)[:5] == (i, f"text {i}", i / 8, day, i % 3 or None)
    assert i == 59_999
    assert con.sql(f"SELECT count(*), sum(i), count(n), max(t) FROM '{path}'").fetchone() == (
        60_000,
        1_799_970_000.0,
        40_000,
        "text 9999",
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a\nb",
        "a\r\nb",
        "a\tb",
        "\x01\x1f",
        "_x0041_",
        "__x0041__",
        "_x",
        "<&>\"'",
        "\ufffe",
        "😀",
        "=1+1",
        "1",
        "x" * 32_767,
    ],
)
def test_texts_come_back_as_they_were(con: inlay.Connection, tmp_path: Path, text: str) -> None:
    path = tmp_path / "texts.xlsx"
    con.execute("CREATE TABLE t (a VARCHAR, b INTEGER)")
    con.execute("INSERT INTO t VALUES (?, 1)", [text])
    con.execute(f"COPY t TO '{path}' (HEADER)")
    assert con.sql(f"FROM read_xlsx('{path}', all_varchar = true)").fetchall() == [(text, "1")]


@pytest.mark.parametrize("number", [0.0, -0.0, 1e-7, 1e300, 5e-324, 0.1, 123456789.125, -1e17, 1.7976931348623157e308])
def test_numbers_come_back_as_they_were(con: inlay.Connection, tmp_path: Path, number: float) -> None:
    path = tmp_path / "numbers.xlsx"
    con.execute("CREATE TABLE t (a DOUBLE)")
    con.execute("INSERT INTO t VALUES (?)", [number])
    con.execute(f"COPY t TO '{path}' (HEADER)")
    assert con.sql(f"FROM '{path}'").fetchone() == (number,)
    assert openpyxl.load_workbook(path).active["A2"].value == number


def test_a_text_that_no_cell_holds_is_named(con: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "long.xlsx"
    with pytest.raises(inlay.Error, match='row 3 of column "t": an Excel cell holds 32767 characters'):
        con.execute(f"COPY (SELECT repeat('x', 32766 + i) AS t FROM range(3) r(i) ORDER BY i) TO '{path}' (HEADER)")
    for name in ("", "a" * 32, "a/b", "'a", "a\tb"):
        with pytest.raises(inlay.Error, match="is no name of an Excel sheet"):
            con.execute(f"COPY (SELECT 1 AS a) TO '{path}' (SHEET '{name.replace(chr(39), chr(39) * 2)}')")
    assert not path.exists()
    con.execute(f"COPY (SELECT 1 AS a, NULL AS b) TO '{path}' (SHEET 'It''s <ours> & \"yours\"')")
    assert openpyxl.load_workbook(path).sheetnames == ['It\'s <ours> & "yours"']
    assert con.sql(f"FROM read_xlsx('{path}', header = false)").columns == ["A1", "B1"]


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


def made(path: Path, rows: list[list[object]], first: tuple[int, int] = (1, 1)) -> str:
    book = openpyxl.Workbook()
    for at, row in enumerate(rows):
        for column, value in enumerate(row):
            if value is not None:
                book.active.cell(first[0] + at, first[1] + column, value)
    book.save(path)
    return f"'{path}'"


def test_an_empty_row_is_a_row(con: inlay.Connection, tmp_path: Path) -> None:
    file = made(tmp_path / "x.xlsx", [["city", "km"], ["Ulm", 3], [], ["Bonn", 4], [None, None], [None, 5]])
    relation = con.sql(f"FROM {file}")
    assert relation.columns == ["city", "km"]
    assert relation.fetchall() == [("Ulm", 3.0), (None, None), ("Bonn", 4.0), (None, None), (None, 5.0)]
    assert con.sql(f"FROM read_xlsx({file}, stop_at_empty = true)").fetchall() == [("Ulm", 3.0)]
    assert con.sql(f"FROM read_xlsx({file}, stop_at_empty = false)").fetchall() == relation.fetchall()


def test_rows_behind_a_title_are_there(con: inlay.Connection, tmp_path: Path) -> None:
    file = made(tmp_path / "x.xlsx", [["Sales 2024"], [], ["city", "km"], ["Ulm", 3], ["Bonn", 4]])
    rows = con.sql(f"FROM {file}").fetchall()
    assert rows == [(None, None), ("city", "km"), ("Ulm", "3"), ("Bonn", "4")]
    assert con.sql(f"FROM read_xlsx({file}, range = 'A3:B9')").fetchall() == [("Ulm", 3.0), ("Bonn", 4.0)]


@pytest.mark.parametrize("stop", ["", ", stop_at_empty = true"])
def test_leading_rows_and_columns_are_passed_over(con: inlay.Connection, tmp_path: Path, stop: str) -> None:
    file = made(tmp_path / "x.xlsx", [["city", "km"], ["Ulm", 3], ["Bonn", 4]], first=(5, 3))
    relation = con.sql(f"FROM read_xlsx({file}{stop})")
    assert relation.columns == ["city", "km"] and relation.fetchall() == [("Ulm", 3.0), ("Bonn", 4.0)]


def test_columns_that_begin_later_are_there(con: inlay.Connection, tmp_path: Path) -> None:
    file = made(tmp_path / "x.xlsx", [["a", "b"], [1, 2], [3, 4, 5], [None, None, None, "note"]])
    relation = con.sql(f"FROM {file}")
    assert relation.columns == ["a", "b", "C1", "D1"]
    assert relation.fetchall() == [(1.0, 2.0, None, None), (3.0, 4.0, 5.0, None), (None, None, None, "note")]
    file = made(tmp_path / "y.xlsx", [["a", None, "c"], [1, None, 3]])
    assert con.sql(f"FROM {file}").fetchall() == [(1.0, None, 3.0)]


def test_cells_with_a_format_and_no_value_are_no_rows(con: inlay.Connection, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["a"])
    book.active.append([1])
    for row in range(3, 50):
        book.active.cell(row, 1).font = openpyxl.styles.Font(bold=True)
    book.save(tmp_path / "x.xlsx")
    assert con.sql(f"FROM '{tmp_path}/x.xlsx'").fetchall() == [(1.0,)]


def test_empty_texts_and_rows_of_nulls_come_back(con: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    rows = "(VALUES (NULL, NULL), ('', 1), (NULL, NULL), ('b', NULL), (NULL, NULL)) t(a, n)"
    expected = [(None, None), ("", 1), (None, None), ("b", None), (None, None)]
    con.execute("CREATE TABLE t (a VARCHAR, n INTEGER)")
    for header in ("", " (HEADER)"):
        con.execute(f"COPY (FROM {rows}) TO '{path}'{header}")
        con.execute(f"COPY t FROM '{path}' (HEADER {bool(header)})")
        assert con.sql("FROM t").fetchall() == expected
        con.execute("DELETE FROM t")
    assert con.sql(f"FROM '{path}'").fetchall() == [(a, None if n is None else float(n)) for a, n in expected]
    pd = pytest.importorskip("pandas")
    assert pd.read_excel(path, keep_default_na=False)["n"].tolist()[1] == 1


def test_rows_added_below_a_table_of_ours_are_read(con: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    con.execute(f"COPY (FROM (VALUES (1, NULL), (NULL, NULL)) t(a, b)) TO '{path}' (HEADER)")
    book = openpyxl.load_workbook(path)
    book.active.append([7, 8])
    book.save(path)
    assert con.sql(f"FROM '{path}'").fetchall() == [(1.0, None), (7.0, 8.0)]


def test_text_tables_without_a_header_keep_their_first_row(con: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    con.execute("CREATE TABLE t (a VARCHAR, b VARCHAR)")
    con.execute(f"COPY (FROM (VALUES ('p', 'q'), ('r', 's')) t(a, b)) TO '{path}'")
    con.execute(f"COPY t FROM '{path}' (HEADER false)")
    assert con.sql("FROM t").fetchall() == [("p", "q"), ("r", "s")]

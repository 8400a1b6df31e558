"""Open files, several of them and beside paths, and options by the names of pandas and DuckDB."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import inlay


def test_several_open_files_are_read(tmp_path: Path) -> None:
    con = inlay.connect()
    texts = [io.StringIO("a,b\n1,x\n"), io.BytesIO("a,b\n2,ü\n".encode())]
    assert con.read_csv(texts).fetchall() == [(1, "x"), (2, "ü")]
    path = tmp_path / "x.csv"
    path.write_text("a,b\n3,z\n")
    assert con.read_csv([str(path), io.StringIO("a,b\n4,w\n")]).fetchall() == [(3, "z"), (4, "w")]
    assert con.read_csv((path, path.open())).fetchall() == [(3, "z"), (3, "z")]
    lines = [io.StringIO('{"a": 1}\n'), io.StringIO('{"a": 2}\n')]
    assert con.read_json(lines).fetchall() == [(1,), (2,)]
    assert inlay.read_csv([io.StringIO("a\n1\n")]).fetchall() == [(1,)]


def test_several_open_parquet_files_are_read() -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")

    def file(value: int) -> io.BytesIO:
        buffer = io.BytesIO()
        pq.write_table(pa.table({"a": [value]}), buffer)
        return io.BytesIO(buffer.getvalue())

    assert inlay.read_parquet([file(1), file(2)]).fetchall() == [(1,), (2,)]
    assert inlay.read_parquet(file(3)).fetchall() == [(3,)]


@pytest.mark.parametrize(
    "pair",
    [
        ("delimiter", "sep"),
        ("sep", "delim"),
        ("dtype", "types"),
        ("skiprows", "skip"),
        ("decimal", "decimal_separator"),
    ],
)
def test_an_option_is_given_once(pair: tuple[str, str]) -> None:
    with pytest.raises(inlay.InvalidInputException, match=f"{pair[0]} and {pair[1]} are the same option"):
        inlay.read_csv(io.StringIO("a\n1\n"), **{pair[0]: ",", pair[1]: ";"})


@pytest.mark.parametrize("end", ["LINE_FEED", inlay.CSVLineTerminator.LINE_FEED, "\\n", "\n"])
def test_line_ends_have_names(end: object) -> None:
    file = io.StringIO("a\n1\n")
    assert inlay.read_csv(file, strict_mode=False, lineterminator=end).fetchall() == [(1,)]
    with pytest.raises(inlay.InvalidInputException, match="new_line"):
        inlay.read_csv(io.StringIO("a\n1\n"), lineterminator="LINE")


def test_a_column_alone_may_have_delimiters_in_its_quotes(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('x\n"10,000.23"\n')
    assert inlay.read_csv(path, thousands=",").fetchall() == [(10000.23,)]
    assert inlay.read_csv(path).fetchall() == [("10,000.23",)]
    for text in ('x\n"a,b"\n"c,d"\n', '"x"\n"a,b"\n"c,d"\n', 'x\n"a;b"\n"c;d"\n', 'x\na\n"b,c"\nd\n'):
        path.write_text(text)
        relation = inlay.read_csv(path)
        assert relation.columns == ["x"] and len(relation.fetchall()) == text.count("\n") - 1, text
    for text in ('"a","b"\n"1","2"\n', "'a';'b'\n'1';'2'\n", '"a";b\n"x";1\n', '"a,b";c\n"d,e";f\n'):
        path.write_text(text)
        assert len(inlay.read_csv(path).columns) == 2, text


def test_the_file_of_copy_is_a_parameter(tmp_path: Path) -> None:
    con = inlay.connect()
    con.execute("CREATE TABLE t (a INTEGER)")
    path = str(tmp_path / "it's.csv")
    assert con.execute("COPY (FROM range(3)) TO ?", [path]).fetchall() == [(3,)]
    assert con.execute("COPY t FROM $file (HEADER)", {"file": path}).fetchall() == [(3,)]
    con.execute("PREPARE p AS COPY t TO $1 (FORMAT parquet)")
    con.execute("EXECUTE p('" + str(tmp_path / "x.out") + "')")
    assert con.execute(f"SELECT sum(a) FROM read_parquet('{tmp_path}/x.out')").fetchone() == (3,)
    con.executemany("COPY t TO ? (FORMAT csv)", [[str(tmp_path / "1")], [str(tmp_path / "2")]])
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes() != b""
    for value in (5, None):
        with pytest.raises(inlay.Error, match="the file of COPY is a text"):
            con.execute("COPY t TO ?", [value])
    with pytest.raises(inlay.InvalidInputException, match="1 positional parameter, 0 values"):
        con.execute("COPY t TO ?")

"""What is found out of CSV files: words for numbers, years as names, and the query of `sniff_csv`."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import inlay


@pytest.fixture
def con() -> inlay.Connection:
    return inlay.connect()


def types(con: inlay.Connection, path: Path, text: str) -> list[str]:
    path.write_text(text)
    return [str(ty) for ty in con.sql(f"FROM '{path}'").types]


@pytest.mark.parametrize("word", ["inf", "-inf", "Inf", "INF", "Infinity", "-Infinity", "infinity", "nan", "NaN"])
def test_words_for_numbers_are_numbers_among_numbers(con: inlay.Connection, tmp_path: Path, word: str) -> None:
    path = tmp_path / "x.csv"
    assert types(con, path, f"a,b\n1.5,1\n{word},2\n") == ["DOUBLE", "BIGINT"]
    value = con.sql(f"SELECT a FROM '{path}' WHERE b = 2").fetchone()[0]
    assert value == float(word) or (math.isnan(value) and math.isnan(float(word)))


def test_words_alone(con: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for word in ("inf", "-inf", "Infinity", "nan"):
        assert types(con, path, f"a,b\n{word},1\n") == ["DOUBLE", "BIGINT"]
    # As dates are written.
    assert types(con, path, "a,b\ninfinity,1\n") == ["DATE", "BIGINT"]
    assert types(con, path, "a,b\ninfinity,1\n2024-01-02,2\n") == ["DATE", "BIGINT"]
    assert types(con, path, "a,b\ninfinity,1\ninformation,2\n") == ["VARCHAR", "BIGINT"]


def test_pandas_infinity_comes_back(con: inlay.Connection, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    path = tmp_path / "x.csv"
    pd.DataFrame({"a": [1.5, math.inf, -math.inf]}).to_csv(path, index=False)
    assert con.sql(f"SELECT max(a), min(a) FROM '{path}'").fetchone() == (math.inf, -math.inf)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("country,2019,2020\nDE,1,2\n", ["country", "2019", "2020"]),
        (
            "country,code,2019,2020,2021\nGermany,DE,1,,2\nFrance,FR,3,4.5,7\n",
            ["country", "code", "2019", "2020", "2021"],
        ),
        ("country,2021,2020,2019\nDE,1,2,3\n", ["country", "2021", "2020", "2019"]),
        ("2019,2020,country\n1,2,DE\n", ["2019", "2020", "country"]),
    ],
)
def test_years_are_names(con: inlay.Connection, tmp_path: Path, text: str, names: list[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    relation = con.sql(f"FROM '{path}'")
    assert relation.columns == names and len(relation.fetchall()) == text.count("\n") - 1


@pytest.mark.parametrize(
    "text",
    [
        "DE,1,2\nFR,3,4\n",
        "widget,2000\ngadget,15\n",  # one number alone may be a year or any other
        "DE,2019,2020\nFR,2018,2021\n",  # years below
        "DE,2019,2019\nFR,1,2\n",  # no name twice
        "DE,2020,1999,2005\nFR,1,2,3\n",  # in no order
        "2019,2020\n1,2\n",  # no text
        "DE,2019,5000\nFR,1,2\n",
    ],
)
def test_other_numbers_are_rows(con: inlay.Connection, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    relation = con.sql(f"FROM '{path}'")
    assert relation.columns[0] == "column0" and len(relation.fetchall()) == 2


def sniffed(con: inlay.Connection, path: Path, options: str) -> str:
    return con.execute(f"SELECT Prompt FROM sniff_csv('{path}'{options})").fetchone()[0]


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (
            "a;b;c\n1;Zürich;1,000.5\n".encode("latin-1"),
            ", encoding='latin-1', thousands=',', delim=';'",
            [(1, "Zürich", 1000.5)],
        ),
        (b"a;b\n1,5;x\n", ", decimal_separator=','", [(1.5, "x")]),
        (b"a,b\n1,n/a\n2,it's\n", ", nullstr=['n/a', 'it''s']", [(1, None), (2, None)]),
        (b"a,b\n1,x\n2\n", ", null_padding=true", [(1, "x"), (2, None)]),
        (b"a,b\n1,x\n2,y,z\n", ", store_rejects=true", [(1, "x")]),
        (b"a,b\n1,\n2,y\n", ", force_not_null=['b']", [(1, ""), (2, "y")]),
        (b'a,b\n1,""\n2,y\n', ", allow_quoted_nulls=false", [(1, ""), (2, "y")]),
        (b"x\ny\nd\n31.12.2024\n", ", skip=2, dateformat='%d.%m.%Y'", None),
        (b"A b,C\n1,2\n", ", normalize_names=true", [(1, 2)]),
        (b"1,2\n3,4\n", ", names=['p', 'q'], types={'q': 'DOUBLE'}", [(1, 2.0), (3, 4.0)]),
        (b"a,b\n1,2\n", ", filename='f', all_varchar=true, sample_size=-1", None),
        (b"a|b\n1|2\n", ", sep='|', max_line_size=1000, strict_mode=false, parallel=false", [(1, 2)]),
    ],
)
def test_the_prompt_reads_the_file_as_it_was_sniffed(
    con: inlay.Connection, tmp_path: Path, content: bytes, options: str, expected: list[tuple[object, ...]] | None
) -> None:
    path = tmp_path / "it's.csv"
    path.write_bytes(content)
    quoted = Path(str(path).replace("'", "''"))
    prompt = sniffed(con, quoted, options)
    direct = con.sql(f"FROM read_csv('{quoted}'{options})")
    again = con.sql(prompt.rstrip(";"))
    assert again.columns == direct.columns and again.types == direct.types
    assert again.fetchall() == direct.fetchall()
    if expected is not None:
        assert again.fetchall() == expected


def test_a_header_is_one_also_where_the_table_has_other_names(con: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("id,name\n1,Ann\n")
    con.execute("CREATE TABLE t (code VARCHAR, name VARCHAR)")
    con.execute(f"COPY t FROM '{path}'")
    assert con.execute("FROM t").fetchall() == [("1", "Ann")]


def test_columns_are_not_swapped(con: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("b,a\nx,y\n")
    con.execute("CREATE TABLE t (a VARCHAR, b VARCHAR)")
    with pytest.raises(inlay.Error, match="names the columns in the order b, a, and a, b are expected"):
        con.execute(f"COPY t FROM '{path}'")
    con.execute(f"COPY t (b, a) FROM '{path}'")
    con.execute(f"COPY t FROM '{path}' (HEADER false)")
    assert con.execute("FROM t").fetchall() == [("y", "x"), ("b", "a"), ("x", "y")]

"""Readers take the options that DuckDB's have."""

from __future__ import annotations

from pathlib import Path

import pytest

import inlay

duckdb = pytest.importorskip("duckdb")

# What DuckDB's readers list and ours do not take, as docs/files.md says. Those of CSV and JSON list file_row_number and
# refuse it.
MISSING: dict[str, set[str]] = {
    "read_csv": {"file_row_number"},
    "read_json": {"file_row_number", "geojson"},
    "read_parquet": {"bound_schema"},
    "read_text": set(),
    "read_blob": set(),
}


@pytest.mark.parametrize("function", sorted(MISSING))
def test_options_are_duckdbs(con: inlay.Connection, tmp_path: Path, function: str) -> None:
    """An option is known, or it is listed as missing."""
    listed = duckdb.connect().execute(
        "SELECT DISTINCT unnest(parameters) FROM duckdb_functions() "
        "WHERE function_name = ? AND function_type = 'table'",
        [function],
    )
    options = {name for (name,) in listed.fetchall()} - {"path", "paths"}
    path = tmp_path / "file"
    path.write_text("a,b\n1,2\n")
    unknown = set()
    for option in options:
        try:
            con.execute(f"FROM {function}('{path}', {option} = 'x')").fetchall()
        except inlay.Error as error:
            if "has no option" in str(error) or "has no parameter" in str(error):
                unknown.add(option)
    assert unknown == MISSING[function]


def test_documents_whose_keys_differ_are_maps(con: inlay.Connection, tmp_path: Path) -> None:
    """So are JSON documents as a whole, with the answers of DuckDB."""
    theirs = duckdb.connect()
    for lines in (
        [f'{{"k{n}": {n}}}' for n in range(20)],
        [f'{{"s": {{"k{n}": {n}}}}}' for n in range(9)],
        [f'{{"s": {{"k{n}": {n}}}}}' for n in range(11)],
        [f'{{"s": {{"k{n}": {"true" if n % 2 else n}}}}}' for n in range(20)],
        [f'{{"s": [{{"k{n}": {n}}}, {{"z": 1}}]}}' for n in range(20)],
        ['{"s": null}'] * 50 + [f'{{"s": {{"k{n}": {n}}}}}' for n in range(5)],
        ['{"s": {' + ", ".join(f'"k{n}": {n}' for n in range(250)) + "}}"],
        ['{"s": {' + ", ".join(f'"k{n}": {n if n % 2 else "true"}' for n in range(250)) + "}}"],
    ):
        path = tmp_path / "a.json"
        path.write_text("\n".join(lines) + "\n")
        ours = con.read_json(path)
        expected = theirs.read_json(str(path))
        assert (ours.columns, ours.types) == (expected.columns, [str(ty) for ty in expected.types])
        assert ours.fetchall() == expected.fetchall()


@pytest.mark.parametrize("bad", ["not json", '{"a":2', "{", "]", '"'])
def test_a_line_that_is_no_document_is_one_row(con: inlay.Connection, tmp_path: Path, bad: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(f'{{"a":1}}\n{bad}\n{{"a":3}}\n')
    assert con.execute(f"FROM read_json('{path}', ignore_errors=true)").fetchall() == [(1,), (None,), (3,)]

"""Readers take the options that DuckDB's have."""

from __future__ import annotations

from pathlib import Path

import pytest

import inlay

duckdb = pytest.importorskip("duckdb")

# What DuckDB's readers take and ours do not, as docs/files.md says.
MISSING: dict[str, set[str]] = {
    "read_csv": {"column_statistics", "file_row_number", "schema"},
    "read_json": {
        "column_statistics",
        "field_appearance_threshold",
        "file_row_number",
        "geojson",
        "map_inference_threshold",
        "schema",
    },
    "read_parquet": {"bound_schema", "column_statistics", "int96_as", "schema"},
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

"""Writes the reference answers: DuckDB over TPC-H tables in Parquet files.

    python -m tests.tpch.make_answers --data DIR --sf 0.01

DIR holds `<table>.parquet` for the eight tables, as `tpchgen-cli parquet -s 0.01` writes them. Answers above
200 kB are stored compressed. A query whose LIMIT cuts through rows that tie would have no single answer: none does.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from pathlib import Path

import duckdb

from tests.tpch.workload import QUERY_NUMBERS, TABLES, answers_dir, query_text

PACKED_ABOVE_BYTES = 200_000


def kind_of(type_name: str) -> str:
    """Kind of a column for the comparison, from the name of its SQL type."""
    if type_name.startswith("DECIMAL"):
        return "decimal"
    if type_name in ("DOUBLE", "FLOAT"):
        return "double"
    if type_name == "DATE":
        return "date"
    return "text" if type_name == "VARCHAR" else "integer"


def write_answer(con: duckdb.DuckDBPyConnection, number: int, folder: Path) -> None:
    """Run one query and write its reference."""
    result = con.execute(query_text(number))
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow([column[0] for column in result.description])
    out.writerow([kind_of(str(column[1])) for column in result.description])
    out.writerows(result.fetchall())
    path = folder / f"q{number:02d}.csv"
    if len(text.getvalue()) > PACKED_ABOVE_BYTES:
        path.with_suffix(".csv.gz").write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))
    else:
        path.write_text(text.getvalue())


def main() -> None:
    """Read the command line and write the 22 files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sf", type=float, required=True)
    arguments = parser.parse_args()
    con = duckdb.connect()
    for table in TABLES:
        con.execute(f"CREATE TABLE {table} AS FROM '{arguments.data / table}.parquet'")
    folder = answers_dir(arguments.sf)
    folder.mkdir(parents=True, exist_ok=True)
    for number in QUERY_NUMBERS:
        write_answer(con, number, folder)


if __name__ == "__main__":
    main()

"""The tables: events of a shop, its users, prices; some of the events as CSV and JSON files; one of a column a type.

DuckDB writes the files, which both engines read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench import data

HERE = Path(__file__).parent
TABLES = ("events", "users", "prices")
# So many of the events are one document.
DOCUMENTS_PART = 10
SECONDS = 300_000_000


def statements(file: str, values: dict[str, object]) -> dict[str, str]:
    """The statements of a file by the names above them."""
    found = {}
    for part in (HERE / file).read_text().split("\n\n-- ")[1:]:
        name, sql = part.split("\n", 1)
        for key, value in values.items():
            sql = sql.replace("{" + key + "}", str(value))
        found[name] = sql.strip().rstrip(";")
    return found


def numbers(rows: int) -> dict[str, object]:
    """What the sizes of tables are made of."""
    users, documents = max(rows // 20, 10), rows // DOCUMENTS_PART
    return {"rows": rows, "users": users, "documents": documents, "step": SECONDS // rows}


def made(rows: int) -> dict[str, Path]:
    """Name to file, made when one is missing: Parquet files of the tables, `csv` and `json`."""
    folder = data.CACHE / f"everyday-{rows}"
    files = {table: folder / f"{table}.parquet" for table in TABLES}
    files |= {"csv": folder / "events.csv", "json": folder / "documents.json"}
    if not all(path.exists() for path in files.values()):
        write(files, rows)
    return files


def write(files: dict[str, Path], rows: int) -> None:
    """Write all files."""
    import duckdb

    print(f"generating {files['csv'].parent} ...", flush=True)
    tables = statements("tables.sql", numbers(rows))
    with duckdb.connect() as connection:
        for table in TABLES:
            connection.execute(f"CREATE TABLE {table} AS {tables[table]}")
            copy(connection, table, files[table])
        copy(connection, "(SELECT * EXCLUDE (payload) FROM events)", files["csv"])
        copy(connection, f"({tables['documents']})", files["json"])


def copy(connection: Any, source: str, path: Path) -> None:
    """Write rows to a file, which appears when it is complete."""
    with data.whole(path) as unfinished:
        connection.execute(f"COPY {source} TO '{unfinished}'")


def of_types(rows: int) -> dict[str, Path]:
    """The table `t` with a column of each type."""
    import duckdb

    path = data.CACHE / f"functions-{rows}.parquet"
    if not path.exists():
        with duckdb.connect() as connection:
            copy(connection, f"({statements('tables.sql', numbers(rows))['functions']})", path)
    return {"t": path}

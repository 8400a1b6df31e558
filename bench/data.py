"""The benchmark's data: TPC-H tables made once per scale by Inlay and kept as Parquet files.

Every engine, Inlay too, loads these files, so that all answer from the same rows.
"""

from __future__ import annotations

from pathlib import Path

from tests.tpch.workload import TABLES

CACHE = Path(__file__).resolve().parent / ".data"


def tpch_files(scale: float) -> dict[str, Path]:
    """Table name to Parquet file at `scale`, generated when missing."""
    folder = CACHE / f"tpch-sf{scale:g}"
    files = {table: folder / f"{table}.parquet" for table in TABLES}
    if not all(path.exists() for path in files.values()):
        print(f"generating TPC-H at scale {scale:g} in {folder} ...", flush=True)
        generate(scale, files)
    return files


def generate(scale: float, files: dict[str, Path]) -> None:
    """Write all tables; a file appears under its name only when it is complete."""
    import pyarrow.parquet as pq

    import inlay
    from bench.engines.base import arrow_table

    next(iter(files.values())).parent.mkdir(parents=True, exist_ok=True)
    with inlay.connect() as con:
        con.execute(f"CALL tpch_dbgen(sf := {scale:g})")
        for table, path in files.items():
            unfinished = path.with_suffix(".unfinished")
            pq.write_table(
                arrow_table(con.execute(f"SELECT * FROM {table}").arrow()), unfinished, row_group_size=122_880
            )
            unfinished.rename(path)

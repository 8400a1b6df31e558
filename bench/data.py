"""The benchmark's data: tables made once per size and kept as Parquet files.

Every engine, Inlay too, loads these files, so that all answer from the same rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.tpch.workload import TABLES

if TYPE_CHECKING:
    import pyarrow as pa

CACHE = Path(__file__).resolve().parent / ".data"
ROW_GROUP = 122_880

# Gives the tables one after the other, each as the batches that make it up.
Maker = Callable[[], Iterable[tuple[str, Iterable["pa.Table"]]]]


def scratch(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """A folder for database files beside the data: on a real file system, where durability costs what it costs."""
    CACHE.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=prefix, dir=CACHE)


def files_of(name: str, tables: Sequence[str], make: Maker) -> dict[str, Path]:
    """Table name to Parquet file below the folder `name`, made when one is missing."""
    folder = CACHE / name
    files = {table: folder / f"{table}.parquet" for table in tables}
    if not all(path.exists() for path in files.values()):
        print(f"generating {folder} ...", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        for table, parts in make():
            write(files[table], parts)
    return files


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path to write to; the file appears under its name when it is complete: who is killed leaves no half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"unfinished-{path.name}")
    yield unfinished
    unfinished.replace(path)


def write(path: Path, parts: Iterable[pa.Table]) -> None:
    """Write one table; the file appears under its name only when it is complete."""
    import pyarrow.parquet as pq

    with whole(path) as unfinished:
        writer = None
        for part in parts:
            writer = writer or pq.ParquetWriter(unfinished, part.schema)
            writer.write_table(part, row_group_size=ROW_GROUP)
        if writer is None:
            raise ValueError(f"{path} has no parts")
        writer.close()


def generated(call: str, tables: Sequence[str]) -> Maker:
    """The tables that one of Inlay's generators makes."""

    def make() -> Iterable[tuple[str, Iterable[pa.Table]]]:
        import inlay
        from bench.engines.base import arrow_table

        with inlay.connect() as con:
            con.execute(call)
            for table in tables:
                yield table, [arrow_table(con.execute(f"SELECT * FROM {table}").arrow())]

    return make


def tpch_files(scale: float) -> Mapping[str, Path]:
    """TPC-H at `scale`."""
    return files_of(f"tpch-sf{scale:g}", TABLES, generated(f"CALL tpch_dbgen(sf := {scale:g})", TABLES))


def tpcds_files(scale: float) -> Mapping[str, Path]:
    """TPC-DS at `scale`."""
    from tests.tpcds.workload import TABLES as NAMES

    return files_of(f"tpcds-sf{scale:g}", NAMES, generated(f"CALL tpcds_dbgen(sf := {scale:g})", NAMES))

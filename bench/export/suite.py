"""Times and peak memory of handing lineitem out, to the host or to a file."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from pathlib import Path
from typing import Any

from bench.cases import Suite, timed
from bench.data import tpch_files
from bench.export.engines import ENGINES, NUMBERS

CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "1 integer to numpy": ("numpy", ("l_orderkey",)),
    "8 numbers to numpy": ("numpy", NUMBERS),
    "all to numpy": ("numpy", ()),
    "all to arrow": ("arrow", ()),
    "all to pandas": ("pandas", ()),
    "all to polars": ("polars", ()),
    "all to a CSV file": ("csv", ()),
    "all to a JSON file": ("json", ()),
    "all to a Parquet file": ("parquet", ()),
}
FILES = ("csv", "json", "parquet")


class ExportSession:
    """One engine, inside its process."""

    def __init__(self, engine: str, threads: int, *, source: Path) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="export-")
        self.engine = ENGINES[engine](Path(self.folder.name) / "export.db", threads)
        self.engine.load(source)

    def version(self) -> str:
        return str(self.engine.version)

    def prepare(self, case: str) -> None:
        """Nothing: lineitem is loaded."""

    def run(self, case: str) -> tuple[float, float]:
        return timed(lambda: self.delivered(case))

    def delivered(self, case: str) -> Any:
        """What the engine hands out; the path of the file that it writes."""
        method, columns = CASES[case]
        if method not in FILES:
            return getattr(self.engine, method)(columns)
        path = Path(self.folder.name) / f"lineitem.{method}"
        self.engine.file(path)
        return path

    def summary(self, case: str) -> dict[str, float]:
        """What the delivered columns add up to."""
        import numpy as np

        _, columns = CASES[case]
        delivered = self.delivered(case)
        if isinstance(delivered, Path):
            import polars

            read = {".csv": polars.read_csv, ".json": polars.read_ndjson, ".parquet": polars.read_parquet}
            delivered = read[delivered.suffix](delivered)
        names = columns or NUMBERS
        sums = {}
        for name in names:
            values = delivered[name]
            values = values.to_numpy() if hasattr(values, "to_numpy") else values
            sums[name] = round(float(np.asarray(values, dtype="f8").sum()), 2)
        if not columns:
            texts = delivered["l_shipmode"]
            texts = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
            sums["l_shipmode"] = float(sum(map(len, texts)))
        return sums

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.engine.close()
        self.folder.cleanup()


def takes_part(engine: str, case: str, repetition: int) -> bool:
    """SQLite takes half a minute for numbers, and minutes where rows become objects."""
    return engine != "sqlite" or (repetition == 0 and case in ("1 integer to numpy", "8 numbers to numpy"))


def suite(scale: float) -> Suite:
    """The suite at a TPC-H scale."""
    return Suite(
        name=f"export-sf{scale:g}",
        title=f"lineitem to the host and to files, scale {scale:g}, hot",
        remarks="Decimals are doubles but for Arrow and Polars. Polars holds a frame, the others a file. "
        "Parquet files are packed by Snappy.",
        engines=list(ENGINES),
        cases=list(CASES),
        shows_memory=True,
        session=functools.partial(ExportSession, source=tpch_files(scale)["lineitem"]),
        takes_part=takes_part,
    )

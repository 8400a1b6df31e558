"""Makes `docs/reference/exchange.md`: what every type becomes on each way out, and what comes in as which type.

`python bindings/python/tests/type_tables.py` writes the page anew; `test_type_tables.py` checks that it is current.
"""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import json
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import inlay

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "exchange.md"

#: A value of each type.
VALUES = {
    "BOOLEAN": "true",
    "TINYINT": "1",
    "SMALLINT": "1",
    "INTEGER": "1",
    "BIGINT": "1",
    "HUGEINT": "1",
    "UTINYINT": "1",
    "USMALLINT": "1",
    "UINTEGER": "1",
    "UBIGINT": "1",
    "UHUGEINT": "1",
    "DECIMAL(9,2)": "1.5",
    "REAL": "1.5",
    "DOUBLE": "1.5",
    "VARCHAR": "'a'",
    "BLOB": r"'a\x00'",
    "BIT": "'101'",
    "DATE": "'2024-02-29'",
    "TIME": "'01:02:03.000004'",
    "TIMETZ": "'01:02:03+02'",
    "TIMESTAMP": "'2024-02-29 01:02:03.5'",
    "TIMESTAMP_S": "'2024-02-29 01:02:03'",
    "TIMESTAMP_MS": "'2024-02-29 01:02:03.5'",
    "TIMESTAMP_NS": "'2024-02-29 01:02:03.5'",
    "TIMESTAMPTZ": "'2024-02-29 01:02:03.5+00'",
    "INTERVAL": "'1 month 2 days'",
    "UUID": "'00000000-0000-4000-8000-000000000001'",
    "ENUM('a', 'b')": "'a'",
    "JSON": "'{\"a\": 1}'",
    "INTEGER[]": "[1, 2]",
    "INTEGER[2]": "[1, 2]",
    "STRUCT(a INTEGER)": "{'a': 1}",
    "MAP(VARCHAR, INTEGER)": "MAP {'a': 1}",
    "UNION(a INTEGER, b VARCHAR)": "union_value(a := 1)",
}

#: Types whose values have parts.
NESTED = ("[", "STRUCT", "MAP", "UNION")


class Ways:
    """The ways out of one value."""

    def __init__(self, con: inlay.Connection, folder: Path, ty: str, value: str) -> None:
        self.con, self.folder = con, folder
        self.one = f"SELECT {value}::{ty} AS x"
        self.with_null = f"{self.one} UNION ALL SELECT NULL::{ty}"

    def row(self) -> str:
        return _class_of(self.con.execute(self.one).fetchone()[0])

    def numpy(self) -> str:
        array = self.con.execute(self.one).fetchnumpy()["x"]
        if array.dtype != object:
            return f"`{array.dtype}`"
        return f"`object`: {_class_of(array[0])}"

    def pandas(self) -> str:
        plain, holed = (self.con.execute(query).df()["x"] for query in (self.one, self.with_null))
        name = f"`{plain.dtype}`" if plain.dtype != object else f"`object`: {_class_of(plain[0])}"
        return name if holed.dtype == plain.dtype else f"{name}, with NULL `{holed.dtype}`"

    def polars(self) -> str:
        dtype = self.con.execute(self.one).pl()["x"].dtype
        return f"`{dtype}`"

    def arrow(self) -> str:
        return f"`{self.con.execute(self.one).arrow().schema.field('x').type}`"

    def _copied(self, name: str, options: str = "") -> Path:
        path = self.folder / name
        self.con.execute(f"COPY ({self.one}) TO '{path}'{options}")
        return path

    def parquet(self) -> str:
        import pyarrow.parquet as pq

        file = pq.ParquetFile(self._copied("x.parquet"))
        leaves = [file.schema.column(index) for index in range(len(file.schema))]
        shown = [_leaf(leaf) for leaf in leaves]
        return " and ".join(dict.fromkeys(shown))

    def arrow_file(self) -> str:
        import pyarrow as pa

        with pa.OSFile(str(self._copied("x.arrow"))) as file:
            return f"`{pa.ipc.open_file(file).schema.field('x').type}`"

    def csv(self) -> str:
        with self._copied("x.csv").open(newline="") as file:
            return f"`{list(csv.reader(file))[1][0]}`"

    def json(self) -> str:
        text = self._copied("x.json").read_text()
        return f"`{json.dumps(json.loads(text)['x'])}`"

    def excel(self) -> str:
        import openpyxl

        book = openpyxl.load_workbook(self._copied("x.xlsx", " (HEADER)"))
        cell = book.active["A2"]
        kinds = {"n": "number", "s": "text", "b": "boolean", "d": "date or time"}
        return kinds[cell.data_type]


def _leaf(leaf: Any) -> str:
    logical = str(leaf.logical_type)
    converted = leaf.converted_type
    known = logical.partition("(")[0]
    if known == "None" and converted not in ("NONE", "UNDEFINED"):
        known = converted.capitalize()
    shown = {"Int": "", "Decimal": "DECIMAL", "String": "STRING", "Timestamp": "TIMESTAMP"}.get(known, known.upper())
    details = {
        name: value
        for name, value in (json.loads(leaf.logical_type.to_json()) if logical != "None" else {}).items()
        if name in ("timeUnit", "isAdjustedToUTC", "bitWidth", "isSigned", "precision", "scale")
    }
    if known == "Int":
        shown = f"{'INT' if details['isSigned'] else 'UINT'}_{details['bitWidth']}"
    elif known == "Decimal":
        shown = f"DECIMAL({details['precision']},{details['scale']})"
    elif "timeUnit" in details:
        unit = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}[details["timeUnit"]]
        shown = f"{shown}({unit}{', UTC' if details.get('isAdjustedToUTC') else ''})"
    return f"`{leaf.physical_type}`" + (f" `{shown}`" if shown not in ("", "NONE") else "")


def _class_of(value: Any) -> str:
    kind = type(value)
    if value is None:
        return "`None`"
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}."
    return f"`{module}{kind.__name__}`"


def _tried(way: Callable[[], str]) -> str:
    try:
        return way()
    except inlay.Error:
        return "refused"


IN_MEMORY = ("row", "numpy", "pandas", "polars", "arrow")
IN_FILES = ("parquet", "arrow_file", "csv", "json", "excel")
HEADS = {
    "row": "`fetchall`",
    "numpy": "NumPy",
    "pandas": "pandas",
    "polars": "Polars",
    "arrow": "Arrow",
    "parquet": "Parquet",
    "arrow_file": "Arrow file",
    "csv": "CSV",
    "json": "JSON",
    "excel": "Excel",
}


def _ways_out(con: inlay.Connection, ways: tuple[str, ...]) -> list[str]:
    lines = ["| SQL | " + " | ".join(HEADS[way] for way in ways) + " |", "|---" * (len(ways) + 1) + "|"]
    for ty, value in VALUES.items():
        with tempfile.TemporaryDirectory() as folder:
            made = Ways(con, Path(folder), ty, value)
            cells = [_tried(getattr(made, way)).replace("|", "\\|") for way in ways]
        lines.append(f"| `{ty}` | " + " | ".join(cells) + " |")
    return lines


def _numpy_in() -> dict[str, Any]:
    import numpy as np

    plain = ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g")
    made = {str(np.dtype(code)): np.ones(1, dtype=code) for code in plain}
    for unit in ("Y", "M", "D", "h", "s", "ms", "us", "ns"):
        made[f"datetime64[{unit}]"] = np.array(["2024-02-01"], dtype=f"M8[{unit}]")
    for unit in ("Y", "M", "D", "s", "ms", "us", "ns"):
        made[f"timedelta64[{unit}]"] = np.array([1000], dtype=f"m8[{unit}]")
    made["str_ (U)"] = np.array(["a"])
    made["bytes_ (S)"] = np.array([b"a"])
    made["StringDType"] = np.array(["a"], dtype=np.dtypes.StringDType())
    made["complex128"] = np.array([1j])
    objects = {
        "int": 1,
        "int beyond 64 bits": 2**64,
        "float": 1.5,
        "decimal.Decimal": decimal.Decimal("1.50"),
        "str": "a",
        "bytes": b"a",
        "bool": True,
        "datetime.date": dt.date(2024, 2, 1),
        "datetime.time": dt.time(1, 2),
        "datetime.datetime": dt.datetime(2024, 2, 1),
        "datetime.datetime with a zone": dt.datetime(2024, 2, 1, tzinfo=dt.timezone.utc),
        "datetime.timedelta": dt.timedelta(1),
        "uuid.UUID": uuid.UUID(int=1),
        "list": [1, 2],
        "dict": {"a": 1},
        "None": None,
    }
    for name, value in objects.items():
        array = np.empty(1, dtype=object)
        array[0] = value
        made[f"object: {name}"] = array
    return {name: {"x": array} for name, array in made.items()}


def _pandas_in() -> dict[str, Any]:
    import pandas as pd

    dtypes = ("bool", "int8", "int64", "uint64", "float32", "float64", "boolean", "Int16", "Int64", "UInt8", "Float64")
    made: dict[str, Any] = {name: pd.Series([1], dtype=name) for name in dtypes}
    made |= {
        "str": pd.Series(["a"], dtype="str"),
        "string": pd.Series(["a"], dtype="string"),
        "object: str": pd.Series(["a"], dtype=object),
        "object: datetime.date": pd.Series([dt.date(2024, 2, 1)], dtype=object),
        "object: decimal.Decimal": pd.Series([decimal.Decimal("1.50")], dtype=object),
        "object: of several types": pd.Series([1, "a"], dtype=object),
        "category of texts": pd.Series(["a"], dtype="category"),
        "category of numbers": pd.Series([1], dtype="category"),
        "datetime64[s]": pd.Series(["2024-02-01"]).astype("datetime64[s]"),
        "datetime64[us]": pd.Series(["2024-02-01"]).astype("datetime64[us]"),
        "datetime64[ns]": pd.Series(["2024-02-01"]).astype("datetime64[ns]"),
        "datetime64[us, UTC]": pd.Series(["2024-02-01"]).astype("datetime64[us, UTC]"),
        "timedelta64[ns]": pd.Series([dt.timedelta(1)]).astype("timedelta64[ns]"),
        "period[D]": pd.Series(pd.period_range("2024-02-01", periods=1, freq="D")),
        "period[h]": pd.Series(pd.period_range("2024-02-01", periods=1, freq="h")),
        "interval[int64]": pd.Series(pd.interval_range(0, 1)),
        "category of `pd.cut`": pd.cut(pd.Series([1]), [0, 4]),
        "Sparse[int64]": pd.Series([1], dtype="Sparse[int64]"),
    }
    return {name: pd.DataFrame({"x": series}) for name, series in made.items()}


def _arrow_in() -> dict[str, Any]:
    import pyarrow as pa

    one = dt.datetime(2024, 2, 1)
    types = {
        **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), 1),
        **dict.fromkeys(("float16", "float32", "float64"), 1.5),
        **dict.fromkeys(("string", "large_string", "string_view"), "a"),
        **dict.fromkeys(("binary", "large_binary", "binary_view"), b"a"),
        "bool_": True,
        "null": None,
        "date32": one.date(),
        "date64": one.date(),
        "month_day_nano_interval": (1, 2, 3000),
    }
    made: dict[str, Any] = {name: (getattr(pa, name)(), value) for name, value in types.items()}
    made = {str(ty): (ty, value) for ty, value in made.values()}
    others = [
        (pa.decimal32(9, 2), decimal.Decimal("1.50")),
        (pa.decimal64(18, 2), decimal.Decimal("1.50")),
        (pa.decimal128(38, 2), decimal.Decimal("1.50")),
        (pa.decimal256(38, 2), decimal.Decimal("1.50")),
        (pa.decimal256(76, 2), decimal.Decimal("1.50")),
        (pa.binary(1), b"a"),
        (pa.time32("s"), dt.time(1)),
        (pa.time32("ms"), dt.time(1)),
        (pa.time64("us"), dt.time(1)),
        (pa.time64("ns"), dt.time(1)),
        *((pa.timestamp(unit), one) for unit in ("s", "ms", "us", "ns")),
        (pa.timestamp("us", "Europe/Rome"), one),
        (pa.timestamp("ns", "UTC"), one),
        *((pa.duration(unit), dt.timedelta(1)) for unit in ("s", "us", "ns")),
        (pa.list_(pa.int32()), [1]),
        (pa.large_list(pa.int32()), [1]),
        (pa.list_view(pa.int32()), [1]),
        (pa.list_(pa.int32(), 2), [1, 2]),
        (pa.struct([("a", pa.int32())]), {"a": 1}),
        (pa.map_(pa.string(), pa.int32()), [("a", 1)]),
    ]
    made |= {str(ty): (ty, value) for ty, value in others}
    arrays = {name: pa.array([value], ty) for name, (ty, value) in made.items()}
    arrays["dictionary of strings"] = pa.array(["a"]).dictionary_encode()
    words = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), ["a", "b"], ordered=True)
    arrays["dictionary of strings, ordered"] = words
    arrays["run_end_encoded"] = pa.RunEndEncodedArray.from_arrays([1], [7])
    arrays["dense_union<a: int64, b: string>"] = pa.UnionArray.from_dense(
        pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1]), pa.array(["x"])], ["a", "b"]
    )
    arrays["extension: arrow.uuid"] = pa.array([uuid.UUID(int=1).bytes], pa.uuid())
    arrays["extension: arrow.json"] = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}']))
    arrays["extension: arrow.bool8"] = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8()))
    return {name: pa.table({"x": array}) for name, array in arrays.items()}


def _polars_in() -> dict[str, Any]:
    import polars as pl

    dtypes: tuple[str, ...] = ("Boolean", "Int8", "Int16", "Int32", "Int64", "Int128")
    dtypes += ("UInt8", "UInt64", "UInt128", "Float16", "Float32", "Float64")
    made: dict[str, Any] = {name: pl.Series([1]).cast(getattr(pl, name)) for name in dtypes}
    made |= {
        "String": pl.Series(["a"]),
        "Binary": pl.Series([b"a"]),
        "Decimal(9, 2)": pl.Series([decimal.Decimal("1.50")], dtype=pl.Decimal(9, 2)),
        "Date": pl.Series([dt.date(2024, 2, 1)]),
        "Time": pl.Series([dt.time(1)]),
        "Datetime('us')": pl.Series([dt.datetime(2024, 2, 1)]),
        "Datetime('ns')": pl.Series([dt.datetime(2024, 2, 1)]).dt.cast_time_unit("ns"),
        "Datetime('us', 'UTC')": pl.Series([dt.datetime(2024, 2, 1)]).dt.replace_time_zone("UTC"),
        "Duration('us')": pl.Series([dt.timedelta(1)]),
        "Duration('ns')": pl.Series([dt.timedelta(1)]).dt.cast_time_unit("ns"),
        "Categorical": pl.Series(["a"], dtype=pl.Categorical),
        "Enum": pl.Series(["a"], dtype=pl.Enum(["a", "b"])),
        "List(Int64)": pl.Series([[1]]),
        "Array(Int64, 2)": pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)),
        "Struct": pl.Series([{"a": 1}]),
        "Null": pl.Series([None]),
    }
    return {name: pl.DataFrame({"x": series}) for name, series in made.items()}


def _ways_in(con: inlay.Connection, given: dict[str, Any]) -> list[str]:
    lines = ["| comes in | as |", "|---|---|"]
    for name, value in given.items():

        def type_of(value: Any = value) -> str:
            con.register("given", value)
            try:
                ty = con.sql("FROM given").types[0]
                con.execute("FROM given").fetchall()
            finally:
                con.unregister("given")
            return f"`{ty}`"

        shown = name if name.startswith(("object", "category", "extension", "dictionary")) else f"`{name}`"
        lines.append(f"| {shown} | {_tried(type_of)} |".replace("\n", " "))
    return lines


def page() -> str:
    """Return the text of the page."""
    con = inlay.connect()
    parts = [
        "# What types become",
        "",
        "Made by `python bindings/python/tests/type_tables.py` of what happens; a test checks that it is current.",
        "[arrays.md](../arrays.md) and [files.md](../files.md) say what stands behind it: NULL, limits, and settings",
        "that make something else of DECIMAL, texts and NaN. `refused` is an error that says what to write instead.",
        "",
        "## Out, in memory",
        "",
        *_ways_out(con, IN_MEMORY),
        "",
        "## Out, in files",
        "",
        "Parquet: the physical type, and the logical one. CSV and JSON: as a value is written.",
        "",
        *_ways_out(con, IN_FILES),
        "",
        "## In: NumPy",
        "",
        *_ways_in(con, _numpy_in()),
        "",
        "## In: pandas",
        "",
        *_ways_in(con, _pandas_in()),
        "",
        "## In: Arrow",
        "",
        *_ways_in(con, _arrow_in()),
        "",
        "## In: Polars",
        "",
        *_ways_in(con, _polars_in()),
        "",
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())

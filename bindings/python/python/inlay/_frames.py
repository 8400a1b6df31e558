"""Data frames. Imported when one is asked for, so that `import inlay` stays light."""

from __future__ import annotations

import datetime
from importlib.util import find_spec
from typing import Any

from inlay._tables import plain_columns


def takes_arrow() -> bool:
    """Tell whether pandas holds texts as Arrow does: from version 3 on, if pyarrow is there."""
    import pandas as pd

    return int(pd.__version__.partition(".")[0]) >= 3 and find_spec("pyarrow") is not None


def takes_dictionaries() -> bool:
    """Tell whether ENUMs become Categoricals of Arrow's dictionaries."""
    return find_spec("pyarrow") is not None


def data_frame(columns: dict[str, Any], zones: dict[str, str]) -> Any:
    """
    Make a pandas data frame of NumPy arrays, and of `pyarrow.ChunkedArray`s for texts and decimals.

    `zones` has the time zones of columns that are moments, whose arrays are UTC.

    NULL becomes None in object columns, NaT in dates, NaN in floats, and NA in integers and booleans, whose columns
    are of the nullable dtypes then (`Int64`, `boolean`). Dates beyond the microseconds of 64 bits are `datetime64[s]`.
    """
    import pandas as pd

    series = {name: _column(values) for name, values in columns.items()}
    for name, zone in zones.items():
        series[name] = pd.DatetimeIndex(series[name]).tz_localize("UTC").tz_convert(zone)
    return pd.DataFrame(series, copy=False)


def with_dates(frame: Any, description: Any) -> Any:
    """Put `datetime.date` into the columns of a frame that are of the type DATE."""
    for at, (_, ty, *_) in enumerate(description or ()):
        if ty == "DATE":
            frame.isetitem(at, frame.iloc[:, at].dt.date.astype(object))
    return frame


def _column(array: Any) -> Any:
    import numpy as np

    if not isinstance(array, np.ndarray):
        import pandas as pd
        import pyarrow as pa

        if pa.types.is_decimal(array.type):
            return pd.arrays.ArrowExtensionArray(array)
        if pa.types.is_dictionary(array.type):
            return _categorical(pd, array)
        return pd.StringDtype(storage="pyarrow", na_value=np.nan).__from_arrow__(array)
    if array.dtype == "M8[D]":
        # pandas has seconds, and room in them for every date.
        array = array.astype("M8[s]")
    if not isinstance(array, np.ma.MaskedArray):
        return array
    mask, data = np.ma.getmaskarray(array), np.ma.getdata(array)
    if data.dtype.kind in "Mm":
        data[mask] = np.array("NaT", dtype=data.dtype)
        return data
    if data.dtype.kind == "f":
        data[mask] = np.nan
        return data
    if data.dtype.kind in "iub":
        import pandas as pd

        return (pd.arrays.BooleanArray if data.dtype.kind == "b" else pd.arrays.IntegerArray)(data, mask)
    objects = data.astype("O")
    objects[mask] = None
    return objects


def _categorical(pd: Any, array: Any) -> Any:
    """Make a Categorical of an ENUM: its words in their order."""
    import numpy as np

    chunks = [chunk.indices.cast("int64").fill_null(-1) for chunk in array.chunks]
    codes: Any = np.concatenate([chunk.to_numpy(zero_copy_only=False) for chunk in chunks]) if chunks else []
    words = array.chunk(0).dictionary.to_pylist() if chunks else []
    return pd.Categorical.from_codes(codes, categories=words, ordered=True)


def columns_of_pandas(frame: Any) -> tuple[Any, list[list[str] | None]]:
    """
    Turn a pandas data frame into a `pyarrow.Table`, or without pyarrow into a dictionary of NumPy arrays.

    NaN in a pandas column means that the value is missing, so it becomes NULL. The index is left out. Beside it
    come, for each column of a table that is a Categorical of texts, its categories in order: such columns are ENUMs.
    An index alone has its levels as columns.
    """
    if not hasattr(frame, "columns"):
        levels = [f"column{at}" if name is None else name for at, name in enumerate(frame.names)]
        frame = frame.to_frame(index=False, name=levels if frame.nlevels > 1 else levels[0])
    names = different([str(name) for name in frame.columns])
    frame = plain_columns(frame.set_axis(names, axis=1))
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return {name: _with_mask(frame[name]) for name in names}, []
    columns = _arrow_columns(frame, names)
    words = [_categories(frame[name]) for name in names]
    if all(column is not None for column in columns.values()):
        return pa.table(columns), words
    # Each column is by itself: the types of the others do not depend on it.
    mixed: dict[str, Any] = {}
    for name, known in zip(names, words, strict=True):
        column = columns[name]
        mixed[name] = _with_mask(frame[name]) if column is None else ArrowColumn(pa.table({name: column}), known)
    return mixed, []


class ArrowColumn:
    """A column of a frame as a `pyarrow.Table` of one, and its words if it is an ENUM."""

    __slots__ = ("table", "words")

    def __init__(self, table: Any, words: list[str] | None) -> None:
        self.table = table
        self.words = words


def _arrow_columns(frame: Any, names: list[str]) -> dict[str, Any]:
    """
    Make Arrow's columns of those of a frame; None of one that Arrow has no type for, or one that loses values.

    Those are columns of objects of several types: they become the narrowest type that holds all, in the end text.
    """
    import pyarrow as pa

    columns: dict[str, Any] = dict.fromkeys(names)
    together = [name for name in names if frame[name].dtype != object]
    try:
        # By several threads.
        table = pa.Table.from_pandas(frame[together], preserve_index=False)
        columns.update({name: None if _is_too_wide(table[name].type) else table[name] for name in together})
    except _refusals(pa):
        columns.update({name: _arrow_column(frame[name]) for name in together})
    columns.update({name: _arrow_column(frame[name]) for name in names if frame[name].dtype == object})
    return columns


def _refusals(pa: Any) -> tuple[type[Exception], ...]:
    """Return what pyarrow raises where it has no column for values."""
    return (pa.ArrowException, OverflowError, RecursionError, TypeError, ValueError)


def _arrow_column(column: Any) -> Any:
    import pyarrow as pa

    try:
        if column.dtype == object and not _are_alike(column.to_numpy()):
            return None
        array = pa.array(column, from_pandas=True)
    except _refusals(pa):
        return None
    is_cut = _is_cut(array.type, column) if column.dtype == object else _is_too_wide(array.type)
    return None if is_cut else array


#: Types whose values Arrow has as one another without a loss, or refuses. Of others it makes what the first one is, or
#: ends the process.
_ALIKE: tuple[frozenset[str], ...] = (
    frozenset({"str", "str_"}),
    frozenset({"bytes", "bytearray"}),
    frozenset({"bool"}),
    frozenset({"bool_", "bool"}),
    frozenset({"int", "float"}),
    *(frozenset({f"{sign}{bits}"}) for sign in ("int", "uint") for bits in (8, 16, 32, 64)),
    frozenset({"float32"}),
    frozenset({"float64", "float"}),
    frozenset({"Decimal"}),
    frozenset({"date"}),
    frozenset({"time"}),
    frozenset({"datetime", "Timestamp"}),
    frozenset({"timedelta", "Timedelta"}),
    frozenset({"datetime64"}),
    frozenset({"timedelta64"}),
)
_MODULES = frozenset({"builtins", "numpy", "decimal", "datetime", "pandas"})


def _are_alike(values: Any) -> bool:
    """Say whether objects, and what is in them, are of types that Arrow has in one column without changing a value."""
    kinds = set(map(type, values))
    kinds = {kind for kind in kinds if kind.__name__ not in ("NoneType", "NaTType", "NAType")}
    if not kinds:
        return True
    if kinds <= {list, tuple} or {kind.__name__ for kind in kinds} <= {"list", "tuple", "ndarray"}:
        return _are_alike([item for value in values if _has_items(value) for item in value])
    if kinds == {dict}:
        parts: dict[Any, list[Any]] = {}
        for value in values:
            if isinstance(value, dict):
                for key, part in value.items():
                    parts.setdefault(key, []).append(part)
        return all(map(_are_alike, parts.values()))
    if any(kind.__module__.partition(".")[0] not in _MODULES for kind in kinds):
        return False
    names = frozenset(kind.__name__ for kind in kinds)
    # What is missing is written as NaN, too.
    return any(names <= alike or (names - {"float"} <= alike and _are_missing(values, float)) for alike in _ALIKE)


def _are_missing(values: Any, kind: type) -> bool:
    """Say whether all values of a kind are NaN."""
    return all(value != value for value in values if type(value) is kind)


def _is_cut(ty: Any, values: Any) -> bool:
    """Say whether Arrow has objects, or what is in them, as a type that loses some, or that no column can have."""
    import pyarrow as pa

    types = pa.types
    if types.is_struct(ty):
        dicts = [value for value in values if isinstance(value, dict)]
        return any(_is_cut(field.type, [each.get(field.name) for each in dicts]) for field in ty)
    if types.is_list(ty) or types.is_large_list(ty) or types.is_fixed_size_list(ty):
        return _is_cut(ty.value_type, [item for value in values if _has_items(value) for item in value])
    if types.is_date(ty):
        return any(isinstance(value, datetime.datetime) for value in values)
    if types.is_time(ty):
        return any(getattr(value, "tzinfo", None) is not None for value in values)
    if types.is_timestamp(ty):
        return _is_cut_moment(ty, values)
    if types.is_duration(ty):
        return ty.unit != "ns" and any(getattr(value, "nanoseconds", 0) for value in values)
    if types.is_binary(ty) or types.is_string(ty):
        kinds = set(map(type, values))
        return any(issubclass(kind, str) for kind in kinds) and any(issubclass(kind, bytes) for kind in kinds)
    return _is_too_wide(ty)


def _has_items(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0


def _is_cut_moment(ty: Any, values: Any) -> bool:
    """Say whether moments have nanoseconds that the type has not, or are with and without a zone."""
    # NaT is no other value than itself.
    moments = [value for value in values if isinstance(value, datetime.datetime) and value == value]
    if ty.unit != "ns" and any(getattr(value, "nanosecond", 0) for value in moments):
        return True
    naive = sum(value.tzinfo is None for value in moments)
    return 0 < naive < len(moments) or len({type(value).__name__ == "datetime64" for value in values}) > 1


def _is_too_wide(ty: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_decimal256(ty))


def different(names: list[str]) -> list[str]:
    """Number names that occur again: ``a, a_1``; none becomes one that another column has."""
    taken, seen, found = {name.lower() for name in names}, set(), []
    for name in names:
        candidate, number = name, 0
        while candidate.lower() in seen or (number and candidate.lower() in taken):
            number += 1
            candidate = f"{name}_{number}"
        seen.add(candidate.lower())
        found.append(candidate)
    return found


def _categories(column: Any) -> list[str] | None:
    """Return the words of a Categorical, if it is one of texts."""
    categories = getattr(column.dtype, "categories", None)
    if categories is None or not len(categories) or not all(isinstance(word, str) for word in categories):
        return None
    return list(categories)


def _with_mask(column: Any) -> Any:
    import numpy as np

    missing = column.isna().to_numpy(dtype=bool)
    dtype = getattr(column.dtype, "numpy_dtype", None)
    if dtype is not None and dtype.kind in "iubf" and type(column.dtype).__module__.startswith("pandas."):
        # Nullable numbers, which would become floats or objects.
        values = column.to_numpy(dtype=dtype, na_value=0)
        return np.ma.MaskedArray(values, missing) if missing.any() else values
    values = column.to_numpy()
    # Objects tell by themselves what is missing.
    if values.dtype.kind in "fm" and missing.any():
        return np.ma.MaskedArray(values, missing)
    return values

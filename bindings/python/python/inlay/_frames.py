"""Data frames. Imported when one is asked for, so that `import inlay` stays light."""

from __future__ import annotations

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
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        table = None
    if table is None or any(_is_cut(field, frame[field.name]) for field in table.schema):
        # Columns of objects of several types: they become the narrowest type that holds all, in the end text.
        return {name: _with_mask(frame[name]) for name in names}, []
    return table, [_categories(frame[name]) for name in names]


def _is_cut(field: Any, column: Any) -> bool:
    """Say whether Arrow has a column as a type that loses values, or that no column can have."""
    import datetime

    import pyarrow as pa

    if pa.types.is_date(field.type) and column.dtype == object:
        return any(isinstance(value, datetime.datetime) for value in column)
    if pa.types.is_time(field.type) and column.dtype == object:
        return any(getattr(value, "tzinfo", None) is not None for value in column)
    return bool(pa.types.is_decimal256(field.type))


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
    values = column.to_numpy()
    if values.dtype.kind in "Ofm" and missing.any():
        return np.ma.MaskedArray(values, missing)
    return values

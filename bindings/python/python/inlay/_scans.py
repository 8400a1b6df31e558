"""
What a query wants of datasets and lazy frames, in their own words. Imported when one is read as a table.

A condition is a column, an operator and its constants; dates and timestamps are numbers of the column's unit. One that
pyarrow or Polars would answer otherwise than the engine, or not at all, is left out: the engine filters again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

Condition = tuple[str, str, tuple[Any, ...]]

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _is_lazy_frame(source: Any) -> bool:
    return type(source).__module__.partition(".")[0] == "polars"


def empty(source: Any) -> Any:
    """Make a table without rows that has the columns of a dataset, a scanner or a lazy frame."""
    if _is_lazy_frame(source):
        return source.collect_schema().to_frame()
    schema = source.projected_schema if hasattr(source, "projected_schema") else source.schema
    return schema.empty_table()


def read(
    source: Any, columns: list[str], conditions: Sequence[Condition], any_of: Sequence[Sequence[Sequence[Condition]]]
) -> tuple[Any, bool]:
    """
    Read columns, and of the rows at least those that satisfy all conditions and one list of each of `any_of`.

    Returns what has the rows, and whether it has all columns instead of those that are wanted.
    """
    if _is_lazy_frame(source):
        return _read_lazy_frame(source, columns, conditions, any_of), False
    if not hasattr(source, "scanner"):
        return source.to_reader(), True
    return _scanner(source, columns, conditions, any_of).to_reader(), False


def _all(
    term: Callable[[Condition], Any],
    conditions: Sequence[Condition],
    any_of: Sequence[Sequence[Sequence[Condition]]],
) -> Any:
    """Make one expression of the conditions for which `term` has one; None if there is none."""

    def conjunction(parts: Sequence[Condition]) -> Any:
        terms = [made for made in map(term, parts) if made is not None]
        return reduce(operator.and_, terms) if terms else None

    terms = [conjunction(conditions)]
    for lists in any_of:
        made = [conjunction(parts) for parts in lists]
        # A list of which nothing is left is satisfied by every row.
        terms.append(None if any(each is None for each in made) else reduce(operator.or_, made))
    terms = [each for each in terms if each is not None]
    return reduce(operator.and_, terms) if terms else None


def _scanner(
    dataset: Any,
    columns: list[str],
    conditions: Sequence[Condition],
    any_of: Sequence[Sequence[Sequence[Condition]]],
) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    schema = dataset.schema

    def scalar(ty: Any, value: Any) -> Any:
        if pa.types.is_date32(ty):
            return pa.scalar(value, pa.int32()).cast(ty)
        if pa.types.is_timestamp(ty):
            return pa.scalar(value, pa.int64()).cast(ty)
        return pa.scalar(value, ty.value_type if pa.types.is_dictionary(ty) else ty)

    def term(condition: Condition) -> Any:
        name, op, values = condition
        ty = schema.field(name).type
        field = pc.field(name)
        if op == "IS NULL":
            return field.is_null()
        if op == "IS NOT NULL":
            return field.is_valid()
        if not _is_alike(pa, ty) or any(_is_nan(value) for value in values):
            return None
        if op == "IN":
            return field.isin(pa.array([scalar(ty, value).as_py() for value in values], _plain(pa, ty)))
        made = _COMPARE[op](field, scalar(ty, values[0]))
        # NaN lies above everything here, and nowhere there.
        return made | field.is_nan() if pa.types.is_floating(ty) and op in (">", ">=") else made

    try:
        wanted = _all(term, conditions, any_of)
        return dataset.scanner(columns=columns, filter=wanted)
    except (pa.ArrowException, KeyError, OverflowError, ValueError):
        # A type that pyarrow does not compare.
        return dataset.scanner(columns=columns)


def _plain(pa: Any, ty: Any) -> Any:
    return ty.value_type if pa.types.is_dictionary(ty) else ty


def _is_alike(pa: Any, ty: Any) -> bool:
    """Tell whether values of a type are compared there as here, and constants are exact."""
    types = pa.types
    ty = _plain(pa, ty)
    if types.is_timestamp(ty):
        # With a zone, a column of ours has microseconds whatever the unit is there.
        return ty.tz is None or ty.unit == "us"
    return bool(
        types.is_integer(ty)
        or types.is_boolean(ty)
        or types.is_float32(ty)
        or types.is_float64(ty)
        or types.is_string(ty)
        or types.is_large_string(ty)
        or types.is_date32(ty)
        or types.is_decimal128(ty)
    )


def _is_nan(value: Any) -> bool:
    """Tell whether a constant is NaN, which equals itself here."""
    return bool(value != value)


def _read_lazy_frame(
    frame: Any,
    columns: list[str],
    conditions: Sequence[Condition],
    any_of: Sequence[Sequence[Sequence[Condition]]],
) -> Any:
    import polars as pl

    schema = frame.collect_schema()

    def scalar(ty: Any, value: Any) -> Any:
        number = ty == pl.Date or ty.base_type() == pl.Datetime
        return pl.lit(value, pl.Int64 if number else None).cast(ty)

    def term(condition: Condition) -> Any:
        name, op, values = condition
        ty, column = schema[name], pl.col(name)
        if op == "IS NULL":
            return column.is_null()
        if op == "IS NOT NULL":
            return column.is_not_null()
        exact = ty in (pl.Boolean, pl.String, pl.Date, pl.Float32, pl.Float64) or ty.is_integer()
        moment = ty.base_type() == pl.Datetime and (ty.time_zone is None or ty.time_unit == "us")
        if (not exact and not moment) or any(_is_nan(value) for value in values):
            return None
        if op == "IN":
            terms = [column == scalar(ty, value) for value in values]
            return reduce(operator.or_, terms, pl.lit(False)) if len(terms) <= 100 else None
        return _COMPARE[op](column, scalar(ty, values[0]))

    wanted = _all(term, conditions, any_of)
    rows = frame if wanted is None else frame.filter(wanted)
    return rows.select(columns).collect()

# SQLAlchemy is not typed here: it need not be installed.
# mypy: disable-error-code="untyped-decorator, misc, no-any-return, attr-defined"
"""Types: what SQL is written for those of SQLAlchemy, and which of them stands for a type of a table."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sqlalchemy import types
from sqlalchemy.dialects.postgresql import INTERVAL
from sqlalchemy.dialects.postgresql.base import PGTypeCompiler
from sqlalchemy.exc import SAWarning

from inlay.sqltypes import SQLType

_KINDS: dict[str, Callable[[], types.TypeEngine[Any]]] = {
    "bigint": types.BIGINT,
    "blob": types.LargeBinary,
    "boolean": types.BOOLEAN,
    "date": types.DATE,
    "double": types.DOUBLE,
    "float": types.REAL,
    "integer": types.INTEGER,
    "interval": types.Interval,
    "json": types.JSON,
    "smallint": types.SMALLINT,
    "time": types.TIME,
    "time with time zone": lambda: types.TIME(timezone=True),
    "timestamp": types.TIMESTAMP,
    "timestamp with time zone": lambda: types.TIMESTAMP(timezone=True),
    "uuid": types.UUID,
    "varchar": types.VARCHAR,
}


class Other(types.UserDefinedType[Any]):
    """A type of Inlay that SQLAlchemy has none for, by its name: `Other("UTINYINT")`, `Other("STRUCT(a INTEGER)")`."""

    cache_ok = True

    def __init__(self, text: str) -> None:
        self.text = text

    def get_col_spec(self, **_options: Any) -> str:
        return self.text


def reflected(text: str, collation: str | None = None) -> types.TypeEngine[Any]:
    """Return the type of SQLAlchemy that stands for a type's text as the catalog has it."""
    ty = SQLType(text)
    if ty.id == "decimal":
        (_, precision), (_, scale) = ty.children
        return types.NUMERIC(precision, scale)
    if ty.id == "enum":
        return types.Enum(*ty.children[0][1])
    if ty.id == "list":
        inner = reflected(str(ty.children[0][1]))
        if isinstance(inner, types.ARRAY):
            return types.ARRAY(inner.item_type, dimensions=(inner.dimensions or 1) + 1)
        return types.ARRAY(inner, dimensions=1)
    if ty.id == "varchar" and collation is not None:
        return types.VARCHAR(collation=collation)
    kind = _KINDS.get(ty.id)
    return kind() if kind is not None else Other(text)


def _is_text_of_float(coltype: Any) -> bool:
    return str(coltype) in ("DOUBLE", "FLOAT")


class Numeric(types.Numeric[Any]):
    """Decimals are given and taken as they are; what the engine computed as a float becomes what was asked for."""

    def bind_processor(self, dialect: Any) -> Any:
        return None

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        if not self.asdecimal:
            return lambda value: None if value is None else float(value)
        if _is_text_of_float(coltype):
            # As in other dialects, a float is shown with as many digits as the type has.
            digits = f"%.{self._effective_decimal_return_scale}f"
            return lambda value: None if value is None else Decimal(digits % value)
        return lambda value: Decimal(value) if type(value) in (int, float) else value


class Interval(INTERVAL):
    """Spans of time."""

    @classmethod
    def adapt_emulated_to_native(cls, interval: Any, **_options: Any) -> Any:
        return cls(precision=interval.second_precision)

    def literal_processor(self, dialect: Any) -> Any:
        return lambda value: f"INTERVAL '{value.days} days {value.seconds} seconds {value.microseconds} microseconds'"


class TypeCompiler(PGTypeCompiler):
    """Names of types."""

    def visit_numeric(self, type_: Any, **options: Any) -> str:
        return self.visit_NUMERIC(type_, **options)

    def visit_NUMERIC(self, type_: Any, **_options: Any) -> str:  # noqa: N802
        if type_.precision is None:
            if type_.asdecimal and not isinstance(type_, types.Float):
                warnings.warn(
                    "Numeric without precision and scale becomes DOUBLE, which does not hold all decimals exactly: "
                    "write Numeric(18, 2) with the digits that are needed, or Double()",
                    SAWarning,
                    stacklevel=2,
                )
            return "DOUBLE"
        return f"DECIMAL({type_.precision}, {type_.scale or 0})"

    def visit_DECIMAL(self, type_: Any, **options: Any) -> str:  # noqa: N802
        return self.visit_NUMERIC(type_, **options)

    def visit_FLOAT(self, type_: Any, **_options: Any) -> str:  # noqa: N802
        # The engine's FLOAT has four bytes; Python's floats have eight.
        return "FLOAT" if type_.precision is not None and type_.precision <= 24 else "DOUBLE"

    def visit_double(self, type_: Any, **_options: Any) -> str:
        return "DOUBLE"

    def visit_DOUBLE(self, type_: Any, **_options: Any) -> str:  # noqa: N802
        return "DOUBLE"

    def visit_DOUBLE_PRECISION(self, type_: Any, **_options: Any) -> str:  # noqa: N802
        return "DOUBLE"

    def visit_REAL(self, type_: Any, **_options: Any) -> str:  # noqa: N802
        return "FLOAT"

    def visit_BYTEA(self, type_: Any, **_options: Any) -> str:  # noqa: N802
        return "BLOB"

    def visit_BLOB(self, type_: Any, **_options: Any) -> str:  # noqa: N802
        return "BLOB"

    visit_BINARY = visit_VARBINARY = visit_BLOB  # noqa: N815

    def visit_JSONB(self, type_: Any, **_options: Any) -> str:  # noqa: N802
        return "JSON"

    def visit_TIMESTAMP(self, type_: Any, **_options: Any) -> str:  # noqa: N802
        return "TIMESTAMP WITH TIME ZONE" if type_.timezone else "TIMESTAMP"

    def visit_DATETIME(self, type_: Any, **options: Any) -> str:  # noqa: N802
        return self.visit_TIMESTAMP(type_, **options)

    def visit_TIME(self, type_: Any, **_options: Any) -> str:  # noqa: N802
        return "TIME WITH TIME ZONE" if type_.timezone else "TIME"

    def visit_INTERVAL(self, type_: Any, **_options: Any) -> str:  # noqa: N802
        return "INTERVAL"

    def visit_enum(self, type_: Any, **options: Any) -> str:
        """Write the labels out: types of the same labels are one type, and need no name and no CREATE TYPE."""
        if not type_.native_enum:
            return super().visit_enum(type_, **options)
        labels = ", ".join("'" + label.replace("'", "''") + "'" for label in type_.enums)
        return f"ENUM({labels})"

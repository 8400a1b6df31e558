"""SQL types, as DuckDB's package has them: texts that know what they consist of."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any


class SQLType(str):
    """
    A type as SQL writes it, made of its text or of a Python type.

    The parts of nested types are attributes and items, ``child`` those of lists. Texts are equal whatever their case.

    >>> struct = SQLType("STRUCT(a INTEGER, b VARCHAR[])")
    >>> struct.children
    [('a', 'INTEGER'), ('b', 'VARCHAR[]')]
    >>> struct.a, struct["b"].child
    ('INTEGER', 'VARCHAR')
    >>> SQLType(list[int]), SQLType(int | None)
    ('BIGINT[]', 'BIGINT')
    """

    __hash__ = str.__hash__

    def __new__(cls, ty: Any = "") -> SQLType:
        return str.__new__(cls, ty if isinstance(ty, str) else _of_python(ty))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.casefold() == other.casefold()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        parts = dict(self.children)
        if key not in parts:
            there = f"; it has {', '.join(parts)}" if parts else ""
            raise KeyError(f"{self} has no part {key!r}{there}")
        return parts[key]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    @property
    def id(self) -> str:
        """The kind in lower case: ``integer``, ``decimal``, ``list``, ``struct``, ..."""
        if self.endswith("[]"):
            return "list"
        return "array" if self.endswith("]") else self.partition("(")[0].strip().lower()

    @property
    def children(self) -> list[tuple[str, Any]]:
        """The parts of a nested type, a decimal or an enumeration, with their names."""
        kind, inside = self.id, self.partition("(")[2].removesuffix(")")
        if kind == "list":
            return [("child", SQLType(self[:-2]))]
        if kind == "array":
            element, _, size = self[:-1].rpartition("[")
            return [("child", SQLType(element)), ("size", int(size))]
        if kind == "decimal":
            precision, scale = inside.split(",")
            return [("precision", int(precision)), ("scale", int(scale))]
        parts = _split(inside)
        if kind == "map":
            return [("key", SQLType(parts[0])), ("value", SQLType(parts[1]))]
        if kind == "enum":
            return [("values", [part.strip("'").replace("''", "'") for part in parts])]
        return [_field(part) for part in parts] if kind in ("struct", "union") else []


def _split(text: str) -> list[str]:
    """Cut at the commas that stand outside of parentheses and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "()[]":
            depth += 1 if char in "([" else -1
        elif char == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()]


def _field(text: str) -> tuple[str, SQLType]:
    if not text.startswith('"'):
        name, _, rest = text.partition(" ")
        return name, SQLType(rest)
    end = 1
    while text[end] != '"' or text[end : end + 2] == '""':
        end += 2 if text[end] == '"' else 1
    return text[1:end].replace('""', '"'), SQLType(text[end + 1 :].strip())


def _quoted(name: str) -> str:
    """Write a field's name as types do: in quotes where SQL would read it otherwise."""
    from inlay._inlay import Connection
    from inlay._parts import quote

    return name if re.fullmatch("[a-z_][a-z0-9_]*", name) and name not in Connection._keywords() else quote(name)


def _fields(fields: Mapping[str, Any] | Iterable[Any]) -> str:
    if isinstance(fields, Mapping):
        return ", ".join(f"{_quoted(name)} {sqltype(ty)}" for name, ty in fields.items())
    return ", ".join(f"v{number} {sqltype(ty)}" for number, ty in enumerate(fields, 1))


_OF_PYTHON = {
    "bool": "BOOLEAN",
    "bytearray": "BLOB",
    "bytes": "BLOB",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "Decimal": "DECIMAL(18,3)",
    "float": "DOUBLE",
    "int": "BIGINT",
    "str": "VARCHAR",
    "time": "TIME",
    "timedelta": "INTERVAL",
    "UUID": "UUID",
}


#: NumPy's names of what Python has no type for.
_OF_NUMPY = {
    "bool_": "BOOLEAN",
    "datetime64": "TIMESTAMP",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "str_": "VARCHAR",
    "timedelta64": "INTERVAL",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
}


def _of_python(ty: Any) -> str:
    """Write a Python type as SQL does; KeyError for what SQL has not."""
    origin, parts = typing.get_origin(ty), typing.get_args(ty)
    if origin in (typing.Union, types.UnionType):
        # Every value may be NULL.
        members = [sqltype(member) for member in parts if member is not type(None)]
        return members[0] if len(members) == 1 else f"UNION({_fields({f'u{n}': m for n, m in enumerate(members, 1)})})"
    if origin is list and len(parts) == 1:
        return f"{sqltype(parts[0])}[]"
    if origin is dict and len(parts) == 2:
        return f"MAP({sqltype(parts[0])}, {sqltype(parts[1])})"
    if isinstance(ty, dict) and ty:
        return f"STRUCT({_fields(ty)})"
    name: str = getattr(ty, "__name__", "") or getattr(ty, "name", repr(ty))
    return {**_OF_NUMPY, **_OF_PYTHON}[name]


def sqltype(ty: Any) -> SQLType:
    """Make a type of its text, or of a Python type: `sqltype(int)` is BIGINT, `sqltype(list[str])` VARCHAR[]."""
    return SQLType(ty)


def list_type(ty: Any) -> SQLType:
    """Lists of `ty`."""
    return SQLType(f"{sqltype(ty)}[]")


def array_type(ty: Any, size: int) -> SQLType:
    """Arrays of `size` elements of `ty`."""
    return SQLType(f"{sqltype(ty)}[{size}]")


def struct_type(fields: Mapping[str, Any] | Iterable[Any]) -> SQLType:
    """Structs with these fields."""
    return SQLType(f"STRUCT({_fields(fields)})")


row_type = struct_type


def union_type(members: Mapping[str, Any]) -> SQLType:
    """Unions of these members."""
    return SQLType(f"UNION({_fields(members)})")


def map_type(key: Any, value: Any) -> SQLType:
    """Maps from `key` to `value`."""
    return SQLType(f"MAP({sqltype(key)}, {sqltype(value)})")


def decimal_type(width: int, scale: int) -> SQLType:
    """Decimals of `width` digits, `scale` of them behind the point."""
    return SQLType(f"DECIMAL({width},{scale})")


def enum_type(name: str, ty: Any, values: Iterable[str]) -> SQLType:
    """Enumerations of these words; `name` and `ty` are not used."""
    words = (value.replace("'", "''") for value in values)
    return SQLType("ENUM(" + ", ".join(f"'{word}'" for word in words) + ")")


def string_type(collation: str = "") -> SQLType:
    """Texts."""
    return SQLType(f"VARCHAR COLLATE {collation}" if collation else "VARCHAR")


DuckDBPyType = SQLType

BIGINT = SQLType("BIGINT")
BIT = SQLType("BIT")
BLOB = SQLType("BLOB")
BOOLEAN = SQLType("BOOLEAN")
DATE = SQLType("DATE")
DOUBLE = SQLType("DOUBLE")
FLOAT = SQLType("FLOAT")
HUGEINT = SQLType("HUGEINT")
INTEGER = SQLType("INTEGER")
INTERVAL = SQLType("INTERVAL")
SMALLINT = SQLType("SMALLINT")
SQLNULL = SQLType('"NULL"')
TIME = SQLType("TIME")
TIMESTAMP = SQLType("TIMESTAMP")
TIMESTAMP_MS = SQLType("TIMESTAMP_MS")
TIMESTAMP_NS = SQLType("TIMESTAMP_NS")
TIMESTAMP_S = SQLType("TIMESTAMP_S")
TIMESTAMP_TZ = SQLType("TIMESTAMP WITH TIME ZONE")
TIME_TZ = SQLType("TIME WITH TIME ZONE")
TINYINT = SQLType("TINYINT")
UBIGINT = SQLType("UBIGINT")
UHUGEINT = SQLType("UHUGEINT")
UINTEGER = SQLType("UINTEGER")
USMALLINT = SQLType("USMALLINT")
UTINYINT = SQLType("UTINYINT")
UUID = SQLType("UUID")
VARCHAR = SQLType("VARCHAR")

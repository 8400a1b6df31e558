"""
Python values that say which SQL type they have, for parameters and constants of expressions.

>>> import inlay
>>> inlay.execute("SELECT typeof(?)", [inlay.ShortValue(3)]).fetchone()
('SMALLINT',)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inlay import sqltypes


class Value:
    """A value and its type."""

    def __init__(self, object: Any, type: Any) -> None:
        self.object = object
        self.type = sqltypes.sqltype(type)

    def __repr__(self) -> str:
        return str(self.object)


class NullValue(Value):
    """NULL."""

    def __init__(self) -> None:
        super().__init__(None, sqltypes.SQLNULL)


class BooleanValue(Value):
    """BOOLEAN."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.BOOLEAN)


class UnsignedBinaryValue(Value):
    """UTINYINT."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.UTINYINT)


class UnsignedShortValue(Value):
    """USMALLINT."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.USMALLINT)


class UnsignedIntegerValue(Value):
    """UINTEGER."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.UINTEGER)


class UnsignedLongValue(Value):
    """UBIGINT."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.UBIGINT)


class BinaryValue(Value):
    """TINYINT."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.TINYINT)


class ShortValue(Value):
    """SMALLINT."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.SMALLINT)


class IntegerValue(Value):
    """INTEGER."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.INTEGER)


class LongValue(Value):
    """BIGINT."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.BIGINT)


class HugeIntegerValue(Value):
    """HUGEINT."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.HUGEINT)


class UnsignedHugeIntegerValue(Value):
    """UHUGEINT."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.UHUGEINT)


class FloatValue(Value):
    """FLOAT."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.FLOAT)


class DoubleValue(Value):
    """DOUBLE."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.DOUBLE)


class StringValue(Value):
    """VARCHAR."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.VARCHAR)


class UUIDValue(Value):
    """UUID."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.UUID)


class BitValue(Value):
    """BIT, of a text of zeros and ones, which may be bytes."""

    def __init__(self, object: Any) -> None:
        super().__init__(object.decode("ascii") if isinstance(object, bytes) else object, sqltypes.BIT)


class BlobValue(Value):
    """BLOB."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.BLOB)


class DateValue(Value):
    """DATE."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.DATE)


class IntervalValue(Value):
    """INTERVAL."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.INTERVAL)


class TimestampValue(Value):
    """TIMESTAMP."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.TIMESTAMP)


class TimestampSecondValue(Value):
    """TIMESTAMP_S."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.TIMESTAMP_S)


class TimestampMillisecondValue(Value):
    """TIMESTAMP_MS."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.TIMESTAMP_MS)


class TimestampNanosecondValue(Value):
    """TIMESTAMP_NS."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.TIMESTAMP_NS)


class TimestampTimeZoneValue(Value):
    """TIMESTAMP WITH TIME ZONE."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.TIMESTAMP_TZ)


class TimeValue(Value):
    """TIME."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.TIME)


class TimeTimeZoneValue(Value):
    """TIME WITH TIME ZONE."""

    def __init__(self, object: Any) -> None:
        super().__init__(object, sqltypes.TIME_TZ)


class DecimalValue(Value):
    """A decimal of `width` digits, `scale` of them behind the point."""

    def __init__(self, object: Any, width: int, scale: int) -> None:
        super().__init__(object, sqltypes.decimal_type(width, scale))


class ListValue(Value):
    """A list."""

    def __init__(self, object: Any, child_type: Any) -> None:
        super().__init__(object, sqltypes.list_type(child_type))


class StructValue(Value):
    """A struct; `children` has the types of its fields by name."""

    def __init__(self, object: Any, children: Mapping[str, Any]) -> None:
        super().__init__(object, sqltypes.struct_type(children))


class MapValue(Value):
    """A map: a dictionary, or one of two lists, `key` and `value`."""

    def __init__(self, object: Any, key_type: Any, value_type: Any) -> None:
        super().__init__(object, sqltypes.map_type(key_type, value_type))


class UnionType(Value):
    """A union; `members` has the types of its members by name."""

    def __init__(self, object: Any, members: Mapping[str, Any]) -> None:
        super().__init__(object, sqltypes.union_type(members))


__all__ = [
    "BinaryValue",
    "BitValue",
    "BlobValue",
    "BooleanValue",
    "DateValue",
    "DecimalValue",
    "DoubleValue",
    "FloatValue",
    "HugeIntegerValue",
    "IntegerValue",
    "IntervalValue",
    "ListValue",
    "LongValue",
    "MapValue",
    "NullValue",
    "ShortValue",
    "StringValue",
    "StructValue",
    "TimeTimeZoneValue",
    "TimeValue",
    "TimestampMillisecondValue",
    "TimestampNanosecondValue",
    "TimestampSecondValue",
    "TimestampTimeZoneValue",
    "TimestampValue",
    "UUIDValue",
    "UnionType",
    "UnsignedBinaryValue",
    "UnsignedHugeIntegerValue",
    "UnsignedIntegerValue",
    "UnsignedLongValue",
    "UnsignedShortValue",
    "Value",
]

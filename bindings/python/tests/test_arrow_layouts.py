"""Every layout of the Arrow format comes in as it is, or is refused with the name of the column and its type."""

from __future__ import annotations

import datetime
import decimal
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import inlay

LONG = "a text of more than twelve bytes"
DAY = datetime.date(2024, 2, 29)
MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 15)
UTC = datetime.timezone.utc


def run_ends(values: pa.Array, ends: pa.DataType, runs: int) -> pa.Array:
    """Repeat each value three times."""
    positions = pa.array([(index + 1) * 3 for index in range(runs)], ends)
    return pa.RunEndEncodedArray.from_arrays(positions, values)


def layouts() -> dict[str, pa.Array]:
    found: dict[str, pa.Array] = {"null": pa.nulls(4), "bool": pa.array([True, None, False, True])}
    for width in (8, 16, 32, 64):
        low, high = -(2 ** (width - 1)), 2 ** (width - 1) - 1
        found[f"int{width}"] = pa.array([low, None, 0, high], getattr(pa, f"int{width}")())
        found[f"uint{width}"] = pa.array([0, None, 1, 2**width - 1], getattr(pa, f"uint{width}")())
        for prefix in ("int", "uint"):
            codes = pa.array([1, None, 0, 1, 2], getattr(pa, f"{prefix}{width}")())
            words = pa.array(["x", LONG, None])
            found[f"dictionary of {prefix}{width}"] = pa.DictionaryArray.from_arrays(codes, words)
    for width in (16, 32, 64):
        numbers = [1.5, None, float("-inf"), 2.0**-14]
        found[f"float{width}"] = pa.array(numbers, getattr(pa, f"float{width}")())
    with decimal.localcontext(decimal.Context(prec=80)):
        for width, digits in ((32, 9), (64, 18), (128, 38), (256, 38)):
            largest = Decimal(10**digits - 1).scaleb(-2)
            kind = getattr(pa, f"decimal{width}")
            found[f"decimal{width}"] = pa.array([largest, None, -largest, Decimal("0.01")], kind(digits, 2))
            found[f"small decimal{width}"] = pa.array([Decimal("1.2"), None, Decimal("-3.4")], kind(4, 1))
            found[f"decimal{width} of hundreds"] = pa.array([Decimal("1E+2"), None, Decimal("-12E+2")], kind(5, -2))
    found["decimal256 of more digits"] = pa.array([Decimal("1.23"), None], pa.decimal256(76, 2))
    for name in ("string", "large_string", "string_view"):
        found[name] = pa.array(["x", LONG, None, ""], getattr(pa, name)())
        found[f"dictionary of {name}"] = pa.array(["x", LONG, None, "x"], getattr(pa, name)()).dictionary_encode()
    for name in ("binary", "large_binary", "binary_view"):
        found[name] = pa.array([b"\x00", LONG.encode(), None, b""], getattr(pa, name)())
    found["fixed binary"] = pa.array([b"abc", None, b"\x00\xff\x00"], pa.binary(3))
    found["date32"] = pa.array([DAY, None, datetime.date(1, 1, 1)], pa.date32())
    found["date64"] = pa.array([DAY, None, datetime.date(1, 1, 1)], pa.date64())
    clock = [datetime.time(23, 59, 59), None, datetime.time(0)]
    for unit in ("s", "ms"):
        found[f"time32 {unit}"] = pa.array(clock, pa.time32(unit))
    for unit in ("us", "ns"):
        found[f"time64 {unit}"] = pa.array([datetime.time(1, 2, 3, 4), *clock], pa.time64(unit))
    for unit in ("s", "ms", "us", "ns"):
        found[f"timestamp {unit}"] = pa.array([MOMENT, None, datetime.datetime(1700, 1, 1)], pa.timestamp(unit))
        for zone in ("UTC", "Europe/Zurich", "+05:30"):
            found[f"timestamp {unit} {zone}"] = pa.array([MOMENT, None], pa.timestamp(unit, zone))
        found[f"duration {unit}"] = pa.array([datetime.timedelta(days=-1, seconds=5), None], pa.duration(unit))
    found["interval"] = pa.array([pa.MonthDayNano([0, 2, 3_000]), None], pa.month_day_nano_interval())
    number = pa.int32()
    found["list"] = pa.array([[1, None], None, [], [4]], pa.list_(number))
    found["large list"] = pa.array([[1, None], None, [], [4]], pa.large_list(number))
    found["fixed list"] = pa.array([[1, None], None, [3, 4]], pa.list_(number, 2))
    found["list view"] = pa.array([[1], [2, 3], None, []], pa.list_view(number))
    found["large list view"] = pa.array([[1], [2, 3], None, []], pa.large_list_view(number))
    elements = pa.array([1, 2, None, 4, 5], number)
    for kind, width in ((pa.ListViewArray, pa.int32()), (pa.LargeListViewArray, pa.int64())):
        places, sizes = pa.array([3, 0, 1, 0, 5], width), pa.array([2, 2, 3, 0, 0], width)
        found[f"{kind.__name__} in no order"] = kind.from_arrays(places, sizes, elements)
    # What is spread: the first and the last of many elements, thousands of times.
    many = pa.array(range(100_000), number)
    places = pa.array([99_999 if row % 2 else 0 for row in range(5000)], pa.int32())
    found["spread list view"] = pa.ListViewArray.from_arrays(places, pa.array([1] * 5000, pa.int32()), many)
    found["struct"] = pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": LONG}])
    found["map"] = pa.array([[("k", 1), ("l", None)], None, []], pa.map_(pa.string(), number))
    tags = pa.array([0, 1, 0], pa.int8())
    numbers, words = pa.array([1, None, 3], number), pa.array([None, LONG, None])
    found["sparse union"] = pa.UnionArray.from_sparse(tags, [numbers, words], ["n", "s"])
    places = pa.array([0, 0, 1], pa.int32())
    found["dense union"] = pa.UnionArray.from_dense(tags, places, [numbers, pa.array([LONG])], ["n", "s"])
    found["list of structs"] = pa.array([[{"a": [1]}], None, [None]], pa.list_(pa.struct([("a", pa.list_(number))])))
    found["list of list views"] = pa.array([[[1], None], None], pa.list_(pa.list_view(number)))
    found["dictionary of lists"] = pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array([[1], [2, 3]]))
    found["dictionary of structs"] = pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array([{"a": 1}, None]))
    found["dictionary of views"] = pa.DictionaryArray.from_arrays(
        pa.array([1, 0, None]), pa.array(["x", LONG], pa.string_view())
    )
    found["struct of dictionaries"] = pa.StructArray.from_arrays([found["dictionary of int8"]], ["d"])
    found["list of dictionaries"] = pa.ListArray.from_arrays(pa.array([0, 2, 5]), found["dictionary of uint16"])
    for ends in (pa.int16(), pa.int32(), pa.int64()):
        found[f"runs {ends}"] = run_ends(pa.array(["a", None, LONG]), ends, 3)
    found["runs of lists"] = run_ends(pa.array([[1], None]), pa.int32(), 2)
    found["runs of structs"] = run_ends(pa.array([{"a": 1}, {"a": None}]), pa.int32(), 2)
    found["many runs"] = run_ends(pa.array(range(3000)), pa.int32(), 3000)
    found["one long run"] = pa.RunEndEncodedArray.from_arrays(pa.array([10_000], pa.int32()), pa.array(["w"]))
    found["struct of runs"] = pa.StructArray.from_arrays([found["runs int32"]], ["r"])
    found["bool8"] = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None, 0, -1], pa.int8()))
    found["uuid"] = pa.array([uuid.UUID(int=2**128 - 1).bytes, None, uuid.UUID(int=5).bytes], pa.uuid())
    found["json"] = pa.array(['{"a": 1}', None], pa.json_())
    return found


LAYOUTS = layouts()


def expected(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, pa.MonthDayNano):
            return datetime.timedelta(days=value.days + 30 * value.months, microseconds=value.nanoseconds // 1000)
        return getattr(value, "to_pydatetime", lambda: value)()

    if pa.types.is_map(column.type):
        return [None if row is None else dict(row) for row in column.to_pylist()]
    return [plain(value) for value in column.to_pylist()]


def rows(table: pa.Table) -> list[Any]:
    con = inlay.connect()
    con.register("t", table)
    return [row[0] for row in con.execute("FROM t").fetchall()]


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout_comes_in(name: str) -> None:
    column = LAYOUTS[name]
    assert rows(pa.table({"x": column})) == expected(column)


@pytest.mark.parametrize("name", LAYOUTS)
def test_slices_have_an_offset(name: str) -> None:
    column = LAYOUTS[name]
    for start, size in ((1, len(column) - 1), (0, 1), (len(column) - 1, 1), (1, 0)):
        part = column.slice(start, size)
        assert rows(pa.table({"x": part})) == expected(part), (start, size)


@pytest.mark.parametrize("name", LAYOUTS)
def test_records_of_structs_may_be_sliced(name: str) -> None:
    table = pa.table({"x": LAYOUTS[name], "n": pa.array(range(len(LAYOUTS[name])))}).slice(1)
    assert rows(table) == expected(table.column("x"))


@pytest.mark.parametrize("name", LAYOUTS)
def test_chunks_are_of_their_own(name: str) -> None:
    column = LAYOUTS[name]
    chunked = pa.chunked_array([column, column.slice(1), column.slice(0, 0), column])
    assert rows(pa.table({"x": chunked})) == expected(chunked)


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_came_in_can_be_kept(name: str) -> None:
    con = inlay.connect()
    con.register("t", pa.table({"x": LAYOUTS[name]}))
    con.execute("CREATE TABLE kept AS FROM t")
    assert con.execute("FROM kept").fetchall() == con.execute("FROM t").fetchall()


def test_chunks_may_have_different_dictionaries() -> None:
    first, second = pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", None, "a"]).dictionary_encode()
    assert rows(pa.table({"x": pa.chunked_array([first, second])})) == ["a", "b", "c", None, "a"]


def test_bool8_is_boolean_and_uuid_is_uuid() -> None:
    con = inlay.connect()
    con.register("t", pa.table({"b": LAYOUTS["bool8"], "u": LAYOUTS["uuid"].take([0, 1, 2, 2])}))
    assert con.sql("FROM t").types == ["BOOLEAN", "UUID"]


REFUSED: dict[str, tuple[pa.Array, str]] = {
    "empty struct": (pa.array([{}, None], pa.struct([])), "struct without fields"),
    "too many digits": (pa.array([Decimal(10**40)], pa.decimal256(50, 0)), "DECIMAL"),
    "nanoseconds of a time": (pa.array([1_001], pa.time64("ns")), "TIME"),
    "nanoseconds of a zoned moment": (pa.array([1_001], pa.timestamp("ns", "UTC")), "TIMESTAMP WITH TIME ZONE"),
    "nanoseconds of a duration": (pa.array([1], pa.duration("ns")), "INTERVAL"),
    "nanoseconds of an interval": (pa.array([pa.MonthDayNano([1, 1, 1])]), "INTERVAL"),
    "a time behind midnight": (pa.array([86_400_000_001], pa.time64("us")), "TIME"),
    "a time before midnight": (pa.array([-1], pa.time32("s")), "TIME"),
    "half a day": (pa.array([1], pa.int64()).view(pa.date64()), "DATE"),
    "seconds that overflow": (pa.array([2**62], pa.timestamp("s", "UTC")), "TIMESTAMP WITH TIME ZONE"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_kept_is_refused_by_name(name: str) -> None:
    column, what = REFUSED[name]
    con = inlay.connect()
    with pytest.raises(inlay.Error) as caught:
        con.register("t", pa.table({"ok": pa.array(range(len(column))), "bad one": column}))
        con.execute("FROM t").fetchall()
    assert '"bad one"' in str(caught.value) and what in str(caught.value)
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_nulls_may_lie_over_anything() -> None:
    column = pa.Array.from_buffers(
        pa.time64("us"), 2, [pa.py_buffer(b"\x01"), pa.array([5, -1], pa.int64()).buffers()[1]], null_count=1
    )
    assert rows(pa.table({"x": column})) == [datetime.time(0, 0, 0, 5), None]

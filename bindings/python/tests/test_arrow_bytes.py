"""Arrow texts that are not UTF-8: refused by name in every layout and each way in, and nothing of them is stored."""

import numpy as np
import pyarrow as pa
import pytest

import inlay

BYTES = b"ab\xff\xfeefgh" + b"a long text that no view holds \xc3" + b"\xa9 and its end"
ENDS = [0, 5, 8, 8 + 32, len(BYTES)]
# The third text ends within a letter, where the fourth goes on.
WHOLE = ["first", "é", "a text of more than twelve bytes: é", "", None]


def offsets(kind, width):
    ends = pa.py_buffer(np.array(ENDS, width).tobytes())
    return pa.Array.from_buffers(kind, 4, [None, ends, pa.py_buffer(BYTES)])


def views(*texts):
    heap, rows = b"", b""
    for text in texts:
        head = len(text).to_bytes(4, "little")
        if len(text) <= 12:
            rows += head + text.ljust(12, b"\0")
        else:
            rows += head + text[:4] + (0).to_bytes(4, "little") + len(heap).to_bytes(4, "little")
            heap += text
    return pa.Array.from_buffers(pa.string_view(), len(texts), [None, pa.py_buffer(rows), pa.py_buffer(heap)])


BROKEN = {
    "utf8": lambda: offsets(pa.string(), "int32"),
    "large_utf8": lambda: offsets(pa.large_string(), "int64"),
    "cut letters": lambda: offsets(pa.string(), "int32").slice(2),
    "short views": lambda: views(b"fine", b"\xff"),
    "long views": lambda: views(b"a long text that is fine", b"a long text that is \xff not"),
    "dictionary": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 0]), offsets(pa.string(), "int32"), safe=False
    ),
    "list": lambda: pa.ListArray.from_arrays(pa.array([0, 4], pa.int32()), offsets(pa.string(), "int32")),
    "struct": lambda: pa.StructArray.from_arrays([offsets(pa.string(), "int32")], ["s"]),
}


@pytest.mark.parametrize("layout", BROKEN)
def test_texts_that_are_not_utf8_are_refused(layout, tmp_path):
    path = str(tmp_path / "t.inlay")
    con = inlay.connect(path)
    con.execute("CREATE TABLE good (a VARCHAR); INSERT INTO good VALUES ('good')")
    table = pa.table({"a": BROKEN[layout]()})
    ways = [
        lambda: con.execute("SELECT * FROM table_of_bytes").fetchall(),
        lambda: con.execute("CREATE TABLE kept AS SELECT * FROM table_of_bytes"),
        lambda: con.execute("INSERT INTO good SELECT a::VARCHAR FROM table_of_bytes"),
    ]
    con.register("table_of_bytes", table)
    for way in ways:
        with pytest.raises(inlay.Error, match="not UTF-8"):
            way()
    con.register("table_of_bytes", table.to_reader())
    with pytest.raises(inlay.Error, match="not UTF-8"):
        ways[0]()
    con.close()
    with inlay.connect(path) as con:
        assert con.execute("FROM good").fetchall() == [("good",)]
        assert con.execute("PRAGMA verify").fetchall() is not None


def test_the_error_names_the_column_and_the_way_round():
    broken = pa.table({"name": offsets(pa.string(), "int32")})
    with pytest.raises(inlay.Error, match='"name" has a text that is not UTF-8 in row 1') as error:
        inlay.connect().register("t", broken).execute("FROM t").fetchall()
    assert "binary" in str(error.value)


def test_what_stands_behind_null_is_anything():
    bits = pa.py_buffer(bytes([0b1010]))
    ends = pa.py_buffer(np.array([0, 2, 5, 7, 12], "int32").tobytes())
    array = pa.Array.from_buffers(pa.string(), 4, [bits, ends, pa.py_buffer(b"\xff\xfeabc\xc3\xc3\xc3\xa9xyz")])
    con = inlay.connect()
    con.register("t", pa.table({"a": array}))
    con.execute("CREATE TABLE kept AS FROM t")
    assert con.execute("FROM kept").fetchall() == [(None,), ("abc",), (None,), ("éxyz",)]
    assert con.execute("SELECT upper(a), count(*) FROM t GROUP BY ALL ORDER BY 1").fetchall() == [
        ("ABC", 1),
        ("ÉXYZ", 1),
        (None, 2),
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_texts_of_all_lengths_come_in(kind):
    con = inlay.connect()
    con.register("t", pa.table({"a": pa.array(WHOLE, kind)}))
    assert [row[0] for row in con.execute("FROM t").fetchall()] == WHOLE


def test_a_view_whose_first_bytes_are_not_its_texts_is_refused():
    row = (20).to_bytes(4, "little") + b"XXXX" + bytes(8)
    array = pa.Array.from_buffers(pa.string_view(), 1, [None, pa.py_buffer(row), pa.py_buffer(b"twenty bytes of text")])
    con = inlay.connect()
    con.register("t", pa.table({"a": array}))
    with pytest.raises(inlay.Error, match="first bytes"):
        con.execute("FROM t").fetchall()


def test_a_function_that_gives_such_texts_is_an_error():
    con = inlay.connect()
    con.create_function(
        "made", lambda x: offsets(pa.string(), "int32").take([0] * len(x)), ["BIGINT"], "VARCHAR", type="arrow"
    )
    with pytest.raises(inlay.Error):
        con.execute("SELECT made(i) FROM range(3) t(i)").fetchall()


@pytest.mark.parametrize(
    "given",
    [
        pa.array(["abc", "def"]),
        pa.array([[1], [2]]),
        pa.array(["abc", "a text of more than twelve bytes"], pa.string_view()),
        pa.array(["x", "y"]).dictionary_encode(),
    ],
)
@pytest.mark.parametrize("said", [pa.int64(), pa.int8(), pa.float64(), pa.timestamp("us"), pa.bool_()])
def test_batches_of_another_layout_than_their_schema(given, said):
    batches = iter([pa.record_batch({"a": given})])
    con = inlay.connect()
    with pytest.raises(inlay.Error, match='column "a" has'):
        con.register("other", pa.RecordBatchReader.from_batches(pa.schema([("a", said)]), batches))
        con.execute("FROM other").fetchall()

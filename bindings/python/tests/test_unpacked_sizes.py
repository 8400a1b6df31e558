"""Small files that unpack to more than there is memory for: the statement is refused, and the process goes on."""

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import inlay


@pytest.mark.parametrize("compression", ["zstd", "gzip", "snappy"])
def test_a_parquet_page_is_asked_for_before_it_is_unpacked(tmp_path, compression):
    path = tmp_path / "large.parquet"
    texts = pa.array(["x" * 200_000] * 1000)
    nested = pa.array([["y" * 200_000]] * 1000)
    table = pa.table({"text": texts, "list": nested})
    pq.write_table(
        table, path, compression=compression, use_dictionary=False, data_page_size=1 << 30, row_group_size=1000
    )
    with inlay.connect(config={"memory_limit": "100MB", "threads": 1}) as con:
        for column in ["length(text)", "length(list[1])"]:
            with pytest.raises(inlay.OutOfMemoryException, match="out of memory"):
                con.execute(f"SELECT sum({column}) FROM '{path}'").fetchall()
        assert con.execute("SELECT 1").fetchall() == [(1,)]
    with inlay.connect() as con:
        assert con.execute(f"SELECT sum(length(text)), count(list) FROM '{path}'").fetchall() == [(200_000_000, 1000)]


def test_texts_of_a_workbook_are_asked_for_before_they_are_unpacked(tmp_path):
    path, large = tmp_path / "small.xlsx", tmp_path / "large.xlsx"
    with inlay.connect(config={"memory_limit": "100MB"}) as con:
        con.execute(f"COPY (SELECT 'a' AS t) TO '{path}' (FORMAT xlsx, HEADER)")
        assert con.execute(f"SELECT * FROM '{path}'").fetchall() == [("a",)]
        with zipfile.ZipFile(path) as source, zipfile.ZipFile(large, "w", zipfile.ZIP_DEFLATED) as target:
            for name in source.namelist():
                if name != "xl/sharedStrings.xml":
                    target.writestr(name, source.read(name))
            texts = "<si><t>" + "x" * 1000 + "</t></si>"
            target.writestr("xl/sharedStrings.xml", "<sst>" + texts * 100_000 + "</sst>")
        with pytest.raises(inlay.OutOfMemoryException, match="out of memory"):
            con.execute(f"SELECT * FROM '{large}'").fetchall()
        assert con.execute(f"SELECT * FROM '{path}'").fetchall() == [("a",)]


LIMIT = 100
# What a process has beyond the limit, and before it begins.
BEYOND = 64 + 60

# Prints how the statement ended, whether the process goes on, and how much memory it held at most, in MiB.
PROGRAM = """
import sys, inlay
con = inlay.connect(config={"memory_limit": sys.argv[1], "threads": 2})
try:
    con.execute(sys.argv[2]).fetchall()
    ended = "answer"
except inlay.Error as error:
    ended = error.sqlstate
assert con.execute("SELECT 1").fetchall() == [(1,)]
lines = open("/proc/self/status").read().splitlines()
print(ended, int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) // 1024)
"""


def outcome(sql: str) -> str:
    """How a statement ended within the limit, in a process that could have 3 GB of memory."""
    resource = pytest.importorskip("resource")
    if sys.platform != "linux":
        pytest.skip("the peak is read from /proc")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, f"{LIMIT}MB", sql],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    ended, peak = done.stdout.split()
    assert int(peak) < LIMIT + BEYOND, f"{peak} MiB: {sql}"
    return ended


def packed(data: bytes, packing: str) -> bytes:
    return gzip.compress(data, 1) if packing == "gz" else pa.compress(data, codec="zstd", asbytes=True)


def bomb(path: Path, packing: str, begin: bytes, inner: bytes, repeat: int) -> str:
    """Packed parts, one behind the other, as both formats have them: 4 GiB without an end."""
    with path.open("wb") as file:
        file.write(packed(begin, packing))
        part = packed(inner * ((16 << 20) // len(inner)), packing)
        for _ in range(repeat):
            file.write(part)
    return str(path)


@pytest.mark.parametrize("packing", ["gz", "zst"])
@pytest.mark.parametrize(
    ("name", "begin", "inner", "read"),
    [
        ("line.csv", b"a,b\n1,", b"x", "FROM read_csv('{}', header = true)"),
        ("line.csv", b"a,b\n1,", b"x", "FROM '{}'"),
        ("quoted.csv", b'a,b\n1,"', b"x\n", "FROM read_csv('{}', columns = {{'a': 'INT', 'b': 'VARCHAR'}})"),
        ("fields.csv", b"a,b\n", b"x,", "FROM read_csv('{}', ignore_errors = true, null_padding = true)"),
        ("sniffed.csv", b"a,b\n1,", b"x", "FROM sniff_csv('{}')"),
        ("text.json", b'{"a": "', b"x", "FROM '{}'"),
        ("list.json", b'[{"a": [', b"1,", "FROM read_json('{}', columns = {{'a': 'INT[]'}})"),
        ("nested.json", b"", b"[", "FROM read_json('{}')"),
        ("objects.json", b'{"a": "', b"x", "FROM read_json_objects('{}')"),
        ("text.txt", b"", b"x", "FROM read_text('{}')"),
    ],
)
def test_a_line_without_an_end_is_refused(tmp_path, packing, name, begin, inner, read):
    path = bomb(tmp_path / f"{name}.{packing}", packing, begin, inner, 256)
    ended = outcome(f"SELECT count(COLUMNS(*)) FROM ({read.format(path)})")
    # A packed file is no text by itself.
    assert ended == ("22P04" if name == "text.txt" else "53200")


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


@pytest.mark.parametrize("compression", ["zstd", "gzip", "snappy", "lz4", "brotli", "none"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_page_that_claims_to_be_huge_is_refused(tmp_path, compression, dictionary):
    # A page of 2 MB or more, whose header has room for a claim of 127 MiB.
    path = tmp_path / "claims.parquet"
    texts = pa.table({"t": [f"{number:0100}" for number in range(50_000)]})
    options = {"use_dictionary": dictionary, "data_page_size": 1 << 24, "dictionary_pagesize_limit": 1 << 24}
    pq.write_table(texts, path, compression=compression, write_statistics=False, **options)
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    at = column.dictionary_page_offset if dictionary else column.data_page_offset
    data = bytearray(path.read_bytes())
    # The second field of the header: its type, then a number of four bytes.
    assert data[at] == 0x15
    at += 3
    assert data[at - 1] == 0x15
    assert all(byte & 128 for byte in data[at : at + 3])
    assert not data[at + 3] & 128
    data[at : at + 4] = varint((127 << 20) * 2)
    path.write_bytes(data)
    assert outcome(f"SELECT max(t) FROM '{path}'") != "answer"


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_buffer_of_arrow_that_claims_to_be_huge_is_refused(tmp_path, compression):
    path = tmp_path / "claims.arrow"
    table = pa.table({"n": pa.array(range(100_003), pa.int64())})
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    data = path.read_bytes()
    size = (8 * 100_003).to_bytes(8, "little")
    assert size in data
    for claim in [1 << 27, 1 << 40, (1 << 63) - 1]:
        path.write_bytes(data.replace(size, claim.to_bytes(8, "little")))
        assert outcome(f"SELECT max(n) FROM '{path}'") != "answer"


@pytest.mark.parametrize("name", ["o.csv", "o.json", "o.csv.gz"])
def test_texts_that_rows_share_are_written_few_at_a_time(tmp_path, name):
    """600 MB of text of which the query holds one, and a file of a few KB that unpacks to as much."""
    path = tmp_path / name
    rows = 6_000
    assert outcome(f"COPY (SELECT repeat('x', 100000) AS a FROM range({rows})) TO '{path}'") == "answer"
    pq.write_table(pa.table({"a": pa.array(["y" * 100_000] * rows)}), tmp_path / "dict.parquet")
    assert outcome(f"COPY (FROM '{tmp_path / 'dict.parquet'}') TO '{path}'") == "answer"
    if path.suffix != ".gz":
        assert path.stat().st_size > rows * 100_000
    path.unlink()


@pytest.mark.parametrize("count", [6_000_000, 30_000_000])
def test_a_line_of_a_great_many_fields_is_refused(tmp_path, count):
    path = tmp_path / "columns.csv.gz"
    path.write_bytes(gzip.compress((b"," * count + b"\n") * 2, 1))
    assert outcome(f"SELECT count(*) FROM '{path}'") in ("22P04", "53200")
    assert outcome(f"FROM sniff_csv('{path}')") in ("22P04", "53200")

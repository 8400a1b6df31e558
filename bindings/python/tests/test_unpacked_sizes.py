"""Small files that unpack to more than there is memory for: the statement is refused, and the process goes on."""

import zipfile

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

"""File systems of fsspec: files are found, read and written through them."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import inlay


class Files:
    """A file system in memory with the methods that fsspec's have."""

    protocol = ("shelf", "rack")

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.calls: list[str] = []

    def _strip(self, path: str) -> str:
        return path.partition("://")[2] or path

    def _parent(self, path: str) -> str:
        return path.rpartition("/")[0]

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        raise PermissionError("names are enough here")

    def info(self, path: str) -> dict[str, Any]:
        self.calls.append("info")
        content = self.files.get(self._strip(path))
        if content is None:
            raise FileNotFoundError(path)
        return {"name": path, "size": len(content), "type": "file", "mtime": 86_400.5}

    def glob(self, pattern: str) -> list[str]:
        import fnmatch

        return fnmatch.filter(self.files, self._strip(pattern))

    def cat_file(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        self.calls.append("cat_file")
        return self.files[self._strip(path)][start:end]

    def open(self, path: str, mode: str = "rb") -> io.BytesIO:
        files, name = self.files, self._strip(path)

        class Writing(io.BytesIO):
            def close(self) -> None:
                files[name] = self.getvalue()
                super().close()

        return Writing()


@pytest.fixture
def files(con: inlay.Connection) -> Iterator[Files]:
    shelf = Files()
    con.register_filesystem(shelf)
    yield shelf


def test_names(con: inlay.Connection, files: Files) -> None:
    assert con.list_filesystems() == ["shelf"]
    assert con.filesystem_is_registered("rack") and not con.filesystem_is_registered("s3")
    # The file systems are those of the database.
    assert con.cursor().list_filesystems() == ["shelf"] and inlay.connect().list_filesystems() == []
    con.register_filesystem(Files())
    assert con.list_filesystems() == ["shelf"]
    con.unregister_filesystem("rack")
    con.unregister_filesystem("rack")
    assert con.list_filesystems() == []
    with pytest.raises(inlay.InvalidInputException, match="int is no fsspec file system"):
        con.register_filesystem(3)
    nameless = Files()
    nameless.protocol = ()  # type: ignore[assignment]
    with pytest.raises(inlay.InvalidInputException, match="needs a protocol"):
        con.register_filesystem(nameless)


def test_files_are_read(con: inlay.Connection, files: Files) -> None:
    files.files = {"d/a.csv": b"x,y\n1,a\n2,b\n", "d/b.csv": b"x,y\n3,c\n"}
    assert con.sql("FROM 'shelf://d/a.csv'").fetchall() == [(1, "a"), (2, "b")]
    assert con.sql("SELECT x, filename FROM read_csv('rack://d/*.csv', filename = true) ORDER BY x").fetchall() == [
        (1, "rack://d/a.csv"),
        (2, "rack://d/a.csv"),
        (3, "rack://d/b.csv"),
    ]
    assert con.read_csv(["shelf://d/a.csv", "shelf://d/b.csv"]).shape == (3, 2)
    assert con.sql("SELECT size, epoch(last_modified) FROM read_text('shelf://d/a.csv')").fetchone() == (12, 86_400.5)
    con.execute("CREATE TABLE t (x INTEGER, y VARCHAR)")
    con.execute("COPY t FROM 'shelf://d/b.csv'")
    assert con.execute("FROM t").fetchall() == [(3, "c")]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "json", "parquet", "arrow", "xlsx"])
def test_what_is_written_is_read(con: inlay.Connection, files: Files, ending: str) -> None:
    header = "(HEADER true)" if ending == "xlsx" else ""
    con.execute(f"COPY (SELECT i::DOUBLE AS i, 'v' || i AS s FROM range(20000) t(i)) TO 'shelf://p.{ending}' {header}")
    assert list(files.files) == [f"p.{ending}"]
    query = f"SELECT count(*), sum(i), max(s) FROM 'shelf://p.{ending}' WHERE i >= 100"
    assert con.sql(query).fetchone() == (19_900, 199_985_050.0, "v9999")


def test_partitions(con: inlay.Connection, files: Files) -> None:
    copy = "COPY (SELECT i % 3 AS k, i FROM range(10) t(i)) TO 'shelf://p' (FORMAT parquet, PARTITION_BY (k))"
    con.execute(copy)
    assert sorted(files.files) == [f"p/k={k}/data_0.parquet" for k in range(3)]
    read = "FROM read_parquet('shelf://p/**', hive_partitioning = true) ORDER BY i"
    assert con.sql(read).fetchall() == [(i, i % 3) for i in range(10)]
    with pytest.raises(inlay.InvalidInputException, match="is not empty"):
        con.execute(copy)


def test_failures_name_the_file(con: inlay.Connection, files: Files) -> None:
    files.files = {"a.csv": b"x\n1\n"}
    with pytest.raises(inlay.IOException, match=r'cannot open "shelf://b.csv": FileNotFoundError'):
        con.sql("FROM 'shelf://b.csv'")
    with pytest.raises(inlay.IOException, match="no file matches the pattern"):
        con.sql("FROM 'shelf://*.json'")
    relation = con.sql("FROM 'shelf://a.csv'")
    files.cat_file = lambda path, start=None, end=None: b""  # type: ignore[method-assign]
    with pytest.raises(inlay.IOException, match="the file may have changed"):
        relation.fetchall()
    con.execute("SET enable_external_access = false")
    with pytest.raises(inlay.PermissionException, match="out of reach"):
        con.sql("FROM 'shelf://a.csv'")


def test_threads_read_at_once(con: inlay.Connection, files: Files) -> None:
    con.execute("COPY (FROM range(300000) t(i)) TO 'shelf://a.parquet' (ROW_GROUP_SIZE 20000)")
    sums: list[Any] = []

    def work() -> None:
        with con.cursor() as cursor:
            sums.append(cursor.execute("SELECT sum(i) FROM 'shelf://a.parquet'").fetchone())

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sums == [(300_000 * 299_999 // 2,)] * 4


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_rows_are_computed_before_they_are_handed_out(con: inlay.Connection, files: Files, ending: str) -> None:
    """Who reads a large answer may hold the GIL all the while, which the file system needs."""
    pl = pytest.importorskip("polars")
    con.execute(f"COPY (SELECT 1 AS one FROM range(100000)) TO 'shelf://large.{ending}'")
    con.execute("SET threads = 2")
    many = ", ".join([f"'shelf://large.{ending}'"] * 90)
    answer = con.execute(f"FROM read_{ending}([{many}])")
    files.calls.clear()
    assert pl.DataFrame(answer).height == 9_000_000 and files.calls == []


def test_fsspec_itself(con: inlay.Connection) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    con.register_filesystem(memory)
    con.execute("COPY (SELECT 42 AS x) TO 'memory://inlay/folder/x.parquet'")
    try:
        assert con.sql("FROM 'memory://inlay/*/x.parquet'").fetchall() == [(42,)]
    finally:
        memory.rm("/inlay", recursive=True)


def test_export_is_to_local_folders(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.chdir(tmp_path)
    with inlay.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 1 a")
        con.register_filesystem(fsspec.filesystem("memory"))
        for place in ("memory://exported", "s3://bucket/exported"):
            with pytest.raises(
                inlay.NotImplementedException, match="which is no local folder, is not available; export to"
            ):
                con.execute(f"EXPORT DATABASE '{place}'")
    assert list(tmp_path.iterdir()) == [] and fsspec.filesystem("memory").find("/exported") == []

"""Files behind http:// and s3:// are those on disk, and what goes wrong says what to do."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import inlay

sys.path.insert(0, str(Path(__file__).parent))
from file_servers import KEY_ID, REGION, SECRET, Server, Store, Web, serve

ROWS = 50_000
FORMATS = ["csv", "csv.gz", "csv.zst", "json", "parquet", "arrow", "arrows", "xlsx"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a file of each format."""
    place = tmp_path_factory.mktemp("served")
    con = inlay.connect()
    table = f"SELECT i, i / 7 AS d, 'text ' || (i % 100) AS t, [i, i + 1] AS l FROM range({ROWS}) r(i)"
    for ending in FORMATS:
        options = "" if not ending.startswith(("parquet", "xlsx")) else "(ROW_GROUP_SIZE 10000)"
        options = "(HEADER true)" if ending == "xlsx" else options
        columns = "i, d, t" if ending.startswith(("csv", "xlsx")) else "*"
        limit = " LIMIT 500" if ending == "xlsx" else ""
        con.execute(f"COPY (SELECT {columns} FROM ({table}){limit}) TO '{place}/data.{ending}' {options}")
    (place / "empty.csv").write_bytes(b"")
    (place / "short.csv").write_text("a,b\n1,x\n")
    (place / "a file ü.csv").write_text("a\n1\n")
    con.execute(f"COPY (SELECT i, repeat('x', 100) AS t FROM range(400000) r(i)) TO '{place}/large.csv'")
    return place


@pytest.fixture
def web(folder: Path) -> Iterator[Server]:
    """Run a web server."""
    with serve(Web, folder) as server:
        yield server


@pytest.fixture
def store(folder: Path) -> Iterator[Server]:
    """Run a store of objects."""
    with serve(Store, folder) as server:
        yield server


@pytest.fixture
def s3(con: inlay.Connection, store: Server) -> inlay.Connection:
    """Make a connection that knows the store."""
    con.execute(
        f"CREATE SECRET main (TYPE s3, KEY_ID '{KEY_ID}', SECRET '{SECRET}', REGION '{REGION}', "
        f"ENDPOINT '127.0.0.1:{store.port}', URL_STYLE 'path', USE_SSL false)"
    )
    return con


def fails(con: inlay.Connection, sql: str) -> str:
    """Run a statement that fails; what it says."""
    with pytest.raises(inlay.Error) as caught:
        con.execute(sql).fetchall()
    return str(caught.value)


@pytest.mark.parametrize("mode", ["ranges", "plain", "chunked", "unsuffixed", "flaky", "redirect"])
@pytest.mark.parametrize("ending", FORMATS)
def test_a_remote_file_is_the_local_one(
    con: inlay.Connection, web: Server, folder: Path, mode: str, ending: str
) -> None:
    """Whatever the server does, rows are the same."""
    con.execute("SET http_retry_wait_ms = 1")
    remote = con.sql(f"FROM '{web.url}/{mode}/data.{ending}'").fetchall()
    assert remote == con.sql(f"FROM '{folder}/data.{ending}'").fetchall()
    assert len(remote) == (500 if ending == "xlsx" else ROWS)
    filtered = f"SELECT sum(d), count(*) FROM '%s/data.{ending}' WHERE i BETWEEN 100 AND 200"
    assert con.sql(filtered % f"{web.url}/{mode}").fetchall() == con.sql(filtered % folder).fetchall()


def test_parquet_reads_what_is_wanted(con: inlay.Connection, web: Server, folder: Path) -> None:
    """A column of a row group does not take the file."""
    size = (folder / "data.parquet").stat().st_size
    assert con.sql(f"SELECT sum(i) FROM '{web.url}/ranges/data.parquet'").fetchone() == (sum(range(ROWS)),)
    web.sent.clear()
    con.sql(f"SELECT count(d) FROM '{web.url}/ranges/data.parquet' WHERE i < 10").fetchall()
    assert sum(end - start for _, start, end in web.sent) < size / 2 + (128 << 10)
    assert len(web.requests) < 20


def test_small_and_odd_files(con: inlay.Connection, web: Server) -> None:
    """A small file takes one request; names may have anything in them."""
    assert con.execute(f"FROM '{web.url}/ranges/short.csv'").fetchall() == [(1, "x")]
    assert len(web.requests) == 1
    assert con.sql(f"FROM '{web.url}/ranges/a file ü.csv'").fetchall() == [(1,)]
    assert con.sql(f"FROM '{web.url}/ranges/short.csv?sig=1#part'").fetchall() == [(1, "x")]
    with contextlib.suppress(inlay.Error):
        assert con.sql(f"FROM '{web.url}/ranges/empty.csv'").fetchall() == []
    both = f"FROM read_csv(['{web.url}/ranges/short.csv', '{web.url}/plain/short.csv'], filename = true)"
    assert [row[:2] for row in con.sql(both).fetchall()] == [(1, "x")] * 2


def test_large_texts_come_in_pieces(con: inlay.Connection, web: Server, folder: Path) -> None:
    """A file of 40 MB is read whole, with ranges and without."""
    for mode in ("ranges", "plain"):
        found = con.sql(f"SELECT count(*), sum(i) FROM '{web.url}/{mode}/large.csv'").fetchone()
        assert found == (400_000, sum(range(400_000))), mode
    # The first rows do not take it all.
    web.sent.clear()
    con.sql(f"FROM '{web.url}/ranges/large.csv' LIMIT 5").fetchall()
    assert sum(end - start for _, start, end in web.sent) < (folder / "large.csv").stat().st_size


def test_whole_files(con: inlay.Connection, web: Server, folder: Path) -> None:
    """``read_text``, ``read_blob`` and ``glob``."""
    for mode in ("ranges", "headless", "chunked"):
        row = con.sql(f"SELECT content, size FROM read_text('{web.url}/{mode}/short.csv')").fetchone()
        assert row == ("a,b\n1,x\n", 8), mode
    data = (folder / "data.parquet").read_bytes()
    assert con.sql(f"SELECT content FROM read_blob('{web.url}/ranges/data.parquet')").fetchone() == (data,)
    time_of = (
        f"SELECT last_modified = TIMESTAMPTZ '2015-10-21 07:28:00+00' FROM read_blob('{web.url}/ranges/short.csv')"
    )
    assert con.sql(time_of).fetchone() == (True,)
    assert con.sql(f"FROM glob('{web.url}/ranges/short.csv')").fetchall() == [(f"{web.url}/ranges/short.csv",)]
    assert con.sql(f"FROM glob('{web.url}/ranges/none.csv')").fetchall() == []
    assert con.sql(f"SELECT num_rows FROM parquet_file_metadata('{web.url}/ranges/data.parquet')").fetchone() == (ROWS,)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("ranges/none.csv", ["404 Not Found", "check the address"]),
        ("403/short.csv", ["403 Forbidden", "BEARER_TOKEN"]),
        ("loop/short.csv", ["redirected"]),
        ("500/short.csv", ["500"]),
        ("token/short.csv?key=pale", ["401", "BEARER_TOKEN"]),
    ],
)
def test_refusals_name_the_url_and_the_fix(con: inlay.Connection, web: Server, path: str, said: list[str]) -> None:
    """Errors of the server."""
    con.execute("SET http_retry_wait_ms = 1")
    message = fails(con, f"FROM '{web.url}/{path}'")
    for text in [f"{web.url}/{path}".split("?")[0], *said]:
        assert text in message.replace("?...", "").split("\n")[0], message


def test_errors_of_the_network(con: inlay.Connection, web: Server) -> None:
    """Hosts that are not there, do not answer, or do not speak TLS."""
    con.execute("SET http_retries = 0")
    assert 'host "no-such-host.invalid" is not known' in fails(con, "FROM 'http://no-such-host.invalid/x.csv'")
    assert "connection to" in fails(con, "FROM 'http://127.0.0.1:1/x.csv'")
    message = fails(con, f"FROM 'https://127.0.0.1:{web.port}/ranges/short.csv'")
    assert "127.0.0.1" in message
    con.execute("SET http_timeout = 0.3")
    before = time.monotonic()
    message = fails(con, f"FROM '{web.url}/slow/short.csv'")
    assert "said nothing for 0.3 s; SET http_timeout" in message
    assert time.monotonic() - before < 3


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_waiting_is_interrupted(con: inlay.Connection, web: Server, ending: str) -> None:
    """A server that says nothing does not hold a statement that is interrupted."""
    interrupted: list[float] = []

    def interrupt() -> None:
        interrupted.append(time.monotonic())
        con.interrupt()

    threading.Timer(0.5, interrupt).start()
    with pytest.raises(inlay.Error, match=r"(?i)interrupt"):
        con.execute(f"FROM '{web.url}/slow/data.{ending}'").fetchall()
    assert time.monotonic() - interrupted[0] < 0.3
    con.execute("SET statement_timeout = '200ms'")
    with pytest.raises(inlay.Error, match="200 ms"):
        con.execute(f"FROM '{web.url}/slow/data.{ending}'").fetchall()


def test_a_file_that_changes_is_an_error(con: inlay.Connection, web: Server) -> None:
    """Two versions are never mixed."""
    message = fails(con, f"SELECT count(*) FROM '{web.url}/changing/large.csv'")
    assert "changed while it was read" in message


def test_tokens_go_where_they_are_meant_to(con: inlay.Connection, web: Server) -> None:
    """A bearer token, and who else gets it."""
    con.execute(f"CREATE SECRET web (TYPE http, BEARER_TOKEN 'hush-hush', SCOPE '{web.url}')")
    assert con.sql(f"FROM '{web.url}/token/short.csv'").fetchall() == [(1, "x")]
    # Another host than the scope says, where the redirect leads.
    assert "401" in fails(con, f"FROM '{web.url}/away/short.csv'")
    assert "Authorization" not in web.requests[-1][2]
    con.execute("DROP SECRET web")
    con.execute(
        "CREATE SECRET web (TYPE http, EXTRA_HTTP_HEADERS MAP {'Authorization': 'Bearer hush-hush', 'X-A': 'b'})"
    )
    assert con.sql(f"FROM '{web.url}/token/short.csv'").fetchall() == [(1, "x")]
    assert web.requests[-1][2]["x-a"] == "b"
    assert "401" in fails(con, f"FROM '{web.url}/away/short.csv'")


def test_secrets_are_not_told(con: inlay.Connection) -> None:
    """No view, error or plan has them."""
    con.execute("CREATE SECRET a (TYPE s3, KEY_ID 'AK', SECRET 'hush', SESSION_TOKEN 'hush', REGION 'r')")
    con.execute("CREATE OR REPLACE SECRET h (TYPE http, BEARER_TOKEN 'hush')")
    con.execute("CREATE SECRET IF NOT EXISTS h (TYPE http, BEARER_TOKEN 'other')")
    con.execute("SET s3_secret_access_key = 'hush'")
    rows = con.sql("FROM duckdb_secrets()").fetchall()
    assert [row[0] for row in rows] == ["a", "h"]
    assert rows[0][5] == ["s3://", "s3n://", "s3a://"]
    told = str(rows) + str(con.sql("FROM duckdb_settings()").fetchall())
    for wrong in [
        "CREATE SECRET a (TYPE s3, KEY_ID 'AK', SECRET 'hush')",
        "CREATE SECRET b (TYPE s3, KEY_ID 'hush' SECRET 'hush')",
        "CREATE SECRET b (TYPE s3, KEYID 'hush', SECRET 'hush')",
        "CREATE SECRET b (TYPE s3, SECRET 'hush' || nothing)",
        "CREATE SECRET b (TYPE s3, SECRET 'hush')",
        "CREATE PERSISTENT SECRET b (TYPE s3, KEY_ID 'hush', SECRET 'hush')",
        "CREATE SECRET b (TYPE ftp, SECRET 'hush')",
    ]:
        told += fails(con, wrong)
    told += str(con.sql("EXPLAIN CREATE SECRET c (TYPE s3, KEY_ID 'hush', SECRET 'hush')").fetchall())
    assert "hush" not in told
    con.execute("DROP SECRET a")
    con.execute("DROP SECRET IF EXISTS a")
    assert 'secret "a" does not exist' in fails(con, "DROP SECRET a")


def test_networks_may_be_forbidden(web: Server) -> None:
    """By setting, or with all files; URLs may be allowed."""
    con = inlay.connect()
    con.execute("SET allow_network = false")
    assert "allow_network is off" in fails(con, f"FROM '{web.url}/ranges/short.csv'")
    assert "cannot be switched on again" in fails(con, "SET allow_network = true")
    con = inlay.connect()
    con.execute(f"SET allowed_directories = ['{web.url}/ranges', '{web.url}/away']")
    con.execute("SET enable_external_access = false")
    assert con.sql(f"FROM '{web.url}/ranges/short.csv'").fetchall() == [(1, "x")]
    for path in ("plain/short.csv", "ranges/../plain/short.csv", "ranges/%2e%2e/plain/short.csv", "away/short.csv"):
        assert "out of reach" in fails(con, f"FROM '{web.url}/{path}'"), path
    assert not [path for _, path, _ in web.requests if path.startswith("/token")]


@pytest.mark.parametrize("ending", FORMATS)
def test_objects_are_written_and_read(s3: inlay.Connection, store: Server, folder: Path, ending: str) -> None:
    """COPY TO a bucket and back."""
    store.objects["bucket/in/data." + ending] = (folder / f"data.{ending}").read_bytes()
    local = s3.sql(f"FROM '{folder}/data.{ending}'").fetchall()
    assert s3.sql(f"FROM 's3://bucket/in/data.{ending}'").fetchall() == local
    options = "(HEADER true)" if ending == "xlsx" else ""
    s3.execute(f"COPY (FROM 's3://bucket/in/data.{ending}') TO 's3://bucket/out/copy.{ending}' {options}")
    assert s3.sql(f"FROM 's3://bucket/out/copy.{ending}'").fetchall() == local


def test_patterns_of_objects(s3: inlay.Connection, store: Server) -> None:
    """Listings have pages; names may have anything in them."""
    for index in range(10):
        store.objects[f"bucket/dir/y={index % 2}/f{index} &+ü.csv"] = f"a\n{index}\n".encode()
    store.objects["bucket/dir/"] = b""
    store.objects["bucket/dir/other.txt"] = b"x"
    count = "SELECT count(*), sum(a) FROM read_csv('s3://bucket/%s', hive_partitioning = true)"
    assert s3.sql(count % "dir/*/*.csv").fetchone() == (10, 45)
    assert s3.sql(count % "dir/**/*.csv").fetchone() == (10, 45)
    assert s3.sql(count % "**/y=1/f[13]*").fetchone() == (2, 4)
    assert s3.sql("SELECT y, count(*) FROM 's3://bucket/dir/*/*.csv' GROUP BY y ORDER BY y").fetchall() == [
        (0, 5),
        (1, 5),
    ]
    assert s3.sql("SELECT count(*) FROM glob('s3://bucket/dir/*/*')").fetchone() == (10,)
    assert "no file matches" in fails(s3, "FROM 's3://bucket/none/*.csv'")
    assert "NoSuchKey" in fails(s3, "FROM 's3://bucket/none.csv'")


def test_partitions_are_written(s3: inlay.Connection, store: Server) -> None:
    """PARTITION_BY makes folders of a bucket."""
    copy = "COPY (SELECT i, i % 3 AS p FROM range(30) r(i)) TO 's3://bucket/parts' (FORMAT parquet, PARTITION_BY (p))"
    s3.execute(copy)
    assert sorted(store.objects) == [f"bucket/parts/p={p}/data_0.parquet" for p in range(3)]
    assert s3.sql("SELECT p, sum(i) FROM 's3://bucket/parts/*/*.parquet' GROUP BY p ORDER BY p").fetchall() == [
        (p, sum(range(p, 30, 3))) for p in range(3)
    ]
    assert "is not empty" in fails(s3, copy)


def test_large_objects_go_in_parts(s3: inlay.Connection, store: Server) -> None:
    """Parts are sent again when the store is busy; nothing is left when it fails."""
    store.part_failures = 2
    s3.execute("SET http_retry_wait_ms = 1")
    s3.execute("COPY (SELECT i, repeat('x', 100) AS t FROM range(400000) r(i)) TO 's3://bucket/large.csv'")
    assert not store.uploads
    assert s3.sql("SELECT count(*), sum(i) FROM 's3://bucket/large.csv'").fetchone() == (400_000, sum(range(400_000)))
    store.part_failures = 1000
    assert "SlowDown" in fails(s3, "COPY (FROM 's3://bucket/large.csv') TO 's3://bucket/never.csv'")
    assert "bucket/never.csv" not in store.objects
    assert not store.uploads


def test_credentials_come_from_where_they_are_said(
    con: inlay.Connection, store: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings, the environment and the files of Amazon's tools."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    store.objects["bucket/a.csv"] = b"a\n1\n"
    query = "FROM 's3://bucket/a.csv'"
    con.execute(f"SET s3_endpoint = '127.0.0.1:{store.port}'; SET s3_use_ssl = false")
    message = fails(con, query)
    assert "403" in message
    assert "CREATE SECRET (TYPE s3" in message
    con.execute(f"SET s3_access_key_id = '{KEY_ID}'; SET s3_secret_access_key = '{SECRET}'; SET s3_region = '{REGION}'")
    assert con.sql(query).fetchall() == [(1,)]
    con.execute("RESET s3_access_key_id; RESET s3_region")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    assert con.sql(query).fetchall() == [(1,)]
    assert store.requests[-1][2]["x-amz-security-token"] == "token"
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    file = tmp_path / "credentials"
    file.write_text(f"[default]\nregion = x\n[work]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    con.execute(
        f"CREATE SECRET (TYPE s3, PROVIDER credential_chain, PROFILE 'work', REGION '{REGION}', "
        f"ENDPOINT '127.0.0.1:{store.port}', USE_SSL false)"
    )
    assert con.sql(query).fetchall() == [(1,)]
    con.execute("CREATE OR REPLACE SECRET (TYPE s3, PROVIDER credential_chain, PROFILE 'nobody')")
    assert 'profile "nobody"' in fails(con, query)


def test_web_addresses_are_not_written(con: inlay.Connection, web: Server) -> None:
    """COPY TO says where it writes."""
    assert "s3://" in fails(con, f"COPY (SELECT 1) TO '{web.url}/ranges/new.csv'")


def test_proxies_are_used(con: inlay.Connection, web: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the setting, or of the environment."""
    con.execute(f"SET http_proxy = '127.0.0.1:{web.port}'; SET http_proxy_username = 'me'")
    con.execute("SET http_proxy_password = 'hush'")
    assert con.sql("FROM 'http://files.invalid/ranges/short.csv'").fetchall() == [(1, "x")]
    command, path, headers = web.requests[0]
    assert (command, path) == ("CONNECT", "files.invalid:80")
    assert headers["Proxy-Authorization"] == "Basic bWU6aHVzaA=="
    con.execute("RESET http_proxy")
    monkeypatch.setenv("http_proxy", web.url)
    monkeypatch.setenv("no_proxy", "localhost")
    assert con.sql("FROM 'http://files.invalid/ranges/short.csv'").fetchall() == [(1, "x")]
    assert con.sql(f"FROM 'http://localhost:{web.port}/ranges/short.csv'").fetchall() == [(1, "x")]
    assert sum(command == "CONNECT" for command, *_ in web.requests) == 2

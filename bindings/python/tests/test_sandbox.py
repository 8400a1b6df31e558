"""SQL of strangers: whatever a statement names, nothing outside of the allowed folder is opened, made or told of."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import inlay

#: What stands in every file outside, and in a variable of the program.
CANARY = "hunter2-canary"
ENDINGS = ("csv", "tsv", "json", "ndjson", "parquet", "arrow", "arrows", "xlsx", "txt", "csv.gz")
FORMATS = ("csv", "json", "parquet", "arrow", "arrows", "xlsx")


class Watch:
    """Notes each opening, reading, making, moving and removing in a tree of folders, by Linux's inotify."""

    EVENTS = 0x1 | 0x2 | 0x4 | 0x20 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800

    def __init__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = libc.inotify_init1(os.O_NONBLOCK)
        for inner, _, _ in os.walk(folder):
            assert libc.inotify_add_watch(self.descriptor, os.fsencode(inner), self.EVENTS) > 0
        self.events()

    def events(self) -> list[str]:
        """Names of what happened since the last look."""
        found: list[str] = []
        while True:
            try:
                raw = os.read(self.descriptor, 1 << 16)
            except BlockingIOError:
                return found
            at = 0
            while at < len(raw):
                _, mask, _, size = struct.unpack_from("iIII", raw, at)
                name = raw[at + 16 : at + 16 + size].rstrip(b"\0").decode()
                found.append(f"{name or '.'} {mask:#x}")
                at += 16 + size

    def close(self) -> None:
        os.close(self.descriptor)


class Place:
    """A folder `allowed` with links that lead out of it, and beside it `outside`, which nobody may see."""

    def __init__(self, root: Path) -> None:
        self.allowed, self.outside = root / "allowed", root / "outside"
        (self.allowed / "sub").mkdir(parents=True)
        (self.outside / "db" / "k=1").mkdir(parents=True)
        (self.outside / "z.txt").mkdir()
        con = inlay.connect()
        con.execute(f"CREATE TABLE t AS SELECT '{CANARY}' AS secret, 1 AS k")
        for ending in ENDINGS:
            options = {"txt": "(FORMAT csv)"}.get(ending, "")
            con.execute(f"COPY t TO '{self.outside}/x.{ending}' {options}")
        con.execute(f"COPY t TO '{self.outside}/db/k=1/x.csv'")
        con.execute(f"EXPORT DATABASE '{self.outside}/exported'")
        con.execute(f"COPY (SELECT 'fine' AS secret, 1 AS k) TO '{self.allowed}/own.csv'")
        with inlay.connect(self.outside / "x.inlay") as other:
            other.execute(f"CREATE TABLE t AS SELECT '{CANARY}' AS secret")
        (self.outside / "body.py").write_text(f"return '{CANARY}'\n")
        (self.allowed / "folder").symlink_to(self.outside)
        (self.allowed / "dangling").symlink_to(self.outside / "new-file")
        (self.allowed / "dangling-folder").symlink_to(self.outside / "new-folder")
        (self.allowed / "sub" / "up").symlink_to("../../outside")
        for ending in (*ENDINGS, "inlay"):
            (self.allowed / f"link.{ending}").symlink_to(self.outside / f"x.{ending}")
        self.before = self.state()

    def state(self) -> dict[str, tuple[int, int]]:
        """What is outside."""
        found = {}
        for inner, folders, files in os.walk(self.outside):
            for name in (*folders, *files):
                about = Path(inner, name).stat()
                found[str(Path(inner, name))] = (about.st_size, about.st_mtime_ns)
        return found

    def paths(self, name: str) -> list[str]:
        """Ways to a file outside."""
        outside, allowed = str(self.outside), str(self.allowed)
        return [
            f"{outside}/{name}",
            f"{allowed}/../outside/{name}",
            f"{allowed}/sub/../../outside/{name}",
            f"{allowed}/folder/{name}",
            f"{allowed}/sub/up/{name}",
            f"{allowed}/folder/../outside/{name}",
            f"//{outside}/./{name}",
            os.path.relpath(f"{outside}/{name}"),
            f"/proc/self/root{outside}/{name}",
            f"/proc/self/cwd/{os.path.relpath(f'{outside}/{name}')}",
            f"file://{outside}/{name}",
        ]

    def patterns(self, ending: str) -> list[str]:
        """Patterns that match files outside."""
        outside, allowed = str(self.outside), str(self.allowed)
        return [
            f"{outside}/*.{ending}",
            f"{outside}/**/*.{ending}",
            f"{outside[:-1]}?/x.{ending}",
            f"{allowed}/../*/x.{ending}",
            f"{allowed}/*/x.{ending}",
            f"{allowed}/**/x.{ending}",
            f"{allowed}/sub/*/x.{ending}",
            f"{allowed}/fo[l]der/x.{ending}",
            f"[{outside}/x.{ending}]",
            f"['{allowed}/own.csv', '{outside}/x.{ending}']",
        ]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def watch(place: Place) -> Iterator[Watch]:
    if not sys.platform.startswith("linux"):
        pytest.skip("needs inotify")
    made = Watch(place.outside)
    yield made
    made.close()


def restricted(place: Place) -> inlay.Connection:
    """A database that may touch one folder, whose settings a stranger may change as far as they let him."""
    return inlay.connect(config={"enable_external_access": False, "allowed_directories": f"['{place.allowed}']"})


def sandboxed(place: Place) -> inlay.Connection:
    return inlay.connect(config={"allowed_directories": f"['{place.allowed}']"}, sandbox=True)


def closed_box(_: Place) -> inlay.Connection:
    return inlay.connect(sandbox=True)


OPENED = [restricted, sandboxed, closed_box]


class Stranger:
    """Runs statements, and keeps what they said."""

    def __init__(self, con: inlay.Connection, watch: Watch, place: Place) -> None:
        self.con, self.watch, self.place = con, watch, place
        self.refused = self.answered = 0

    def run(self, sql: str) -> str:
        passwords = [{"user": "root", "password": CANARY}]  # noqa: F841
        try:
            said = str(self.con.execute(sql).fetchall())
            self.answered += 1
        except inlay.Error as error:
            said = str(error)
            self.refused += 1
            assert not isinstance(error, inlay.InternalException), sql
        told = said.replace(sql, "")
        assert CANARY not in told, (sql, said)
        events = self.watch.events()
        assert events == [], (sql, said, events)
        return said

    def done(self) -> None:
        """Nothing outside changed."""
        assert self.place.state() == self.place.before
        # To look is an event, too.
        self.watch.events()


def stranger(opened: Callable[[Place], inlay.Connection], watch: Watch, place: Place) -> Stranger:
    made = Stranger(opened(place), watch, place)
    made.run("CREATE TABLE mine (secret VARCHAR, k INTEGER)")
    made.run("INSERT INTO mine VALUES ('a', 1), ('..', 2), ('/', 3)")
    return made


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@pytest.mark.parametrize("opened", OPENED)
def test_every_reader(opened: Callable[[Place], inlay.Connection], place: Place, watch: Watch) -> None:
    """All table functions of the catalog, by all ways to a file, as functions, by name alone, and by COPY FROM."""
    one = stranger(opened, watch, place)
    names = inlay.sql(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type LIKE 'table%'"
    ).fetchall()
    readers = sorted(
        {name for (name,) in names if "read" in name or "scan" in name or "parquet" in name or "sniff" in name}
    )
    assert {"read_csv", "read_json", "read_parquet", "read_arrow", "read_xlsx", "read_text", "read_blob"} <= set(
        readers
    )
    of_reader = {"csv": "csv", "json": "json", "arrow": "arrow", "parquet": "parquet", "xlsx": "xlsx"}
    for reader in [*readers, "glob"]:
        ending = next((of_reader[word] for word in of_reader if word in reader), "csv")
        for path in [*place.paths(f"x.{ending}"), *place.patterns(ending), f"{place.allowed}/link.{ending}"]:
            said = one.run(f"SELECT * FROM {reader}({quoted(path)})")
            assert "own.csv" in said or "fine" in said or one.refused, (reader, path, said)
    # Every other one takes a path, too, if only as a text.
    for (name,) in names:
        one.run(f"SELECT * FROM {name}({quoted(str(place.outside / 'x.csv'))})")
        one.run(f"CALL {name}({quoted(str(place.outside / 'x.csv'))})")
    for ending in ENDINGS:
        for path in [*place.paths(f"x.{ending}"), *place.patterns(ending), f"{place.allowed}/link.{ending}"]:
            one.run(f"FROM {quoted(path)}")
            one.run(f"COPY mine FROM {quoted(path)}")
            one.run(f"CREATE VIEW v AS FROM {quoted(path)}")
    for option in ("filename = true", "hive_partitioning = true", "union_by_name = true", "allow_empty = true"):
        for path in [
            f"{place.outside}/**/*.csv",
            f"{place.allowed}/folder/db/k=1/x.csv",
            f"{place.allowed}/*/db/*/*.csv",
        ]:
            one.run(f"FROM read_csv({quoted(path)}, {option})")
    one.run(f"FROM read_csv(['{place.allowed}/own.csv', '{place.outside}/x.csv'])")
    one.done()


@pytest.mark.parametrize("opened", OPENED)
def test_every_writer(opened: Callable[[Place], inlay.Connection], place: Place, watch: Watch) -> None:
    one = stranger(opened, watch, place)
    for format_ in FORMATS:
        targets = [path for name in ("made", "x." + format_) for path in place.paths(name)]
        targets += [f"{place.allowed}/dangling/x", f"{place.allowed}/dangling-folder/a/x", str(place.outside)]
        for target in targets:
            one.run(f"COPY mine TO {quoted(target)} (FORMAT {format_})")
            for option in ("", ", OVERWRITE_OR_IGNORE", ", OVERWRITE"):
                one.run(f"COPY mine TO {quoted(target)} (FORMAT {format_}, PARTITION_BY (secret){option})")
        for pattern in (
            "../../../outside/made",
            "../../made",
            "/made",
            f"{place.outside}/made",
            "a/../../../outside/{i}",
            "..",
            ".",
        ):
            for more in ("", ", OVERWRITE_OR_IGNORE"):
                one.run(
                    f"COPY mine TO '{place.allowed}/parts' (FORMAT {format_}, PARTITION_BY (k), "
                    f"FILENAME_PATTERN {quoted(pattern)}{more})"
                )
    # Values and names of columns become folders.
    named, by = 'SELECT secret AS "../../outside/k", 1 AS x FROM mine', '"../../outside/k"'
    one.run(f"COPY ({named}) TO '{place.allowed}/q' (PARTITION_BY {by})")
    one.run(f"COPY (SELECT '../../../outside/made' AS k, 1 AS x) TO '{place.allowed}/r' (FORMAT csv, PARTITION_BY k)")
    # What is put beside a link that leads nowhere takes its place.
    one.run(f"COPY mine TO '{place.allowed}/dangling' (FORMAT csv)")
    # Names of rejected lines, and options that are paths elsewhere.
    for option in ("rejects_table", "rejects_scan", "encryption_config", "schema", "sheet", "columns"):
        for reader in ("read_csv", "read_parquet", "read_xlsx"):
            one.run(
                f"FROM {reader}('{place.allowed}/own.csv', {option} = '{place.outside}/x.csv', store_rejects = true)"
            )
    one.done()


@pytest.mark.parametrize("opened", OPENED)
def test_every_statement(opened: Callable[[Place], inlay.Connection], place: Place, watch: Watch) -> None:
    one = stranger(opened, watch, place)
    hostile = [
        *place.paths("x.inlay"),
        *place.paths("new.inlay"),
        f"{place.allowed}/link.inlay",
        f"{place.allowed}/dangling",
    ]
    folders = [
        *place.paths("exported"),
        *place.paths("made"),
        f"{place.allowed}/folder",
        f"{place.allowed}/dangling-folder",
    ]
    for number, path in enumerate(map(quoted, hostile)):
        for options in ("", " (READ_ONLY)", " (TYPE inlay)"):
            one.run(f"ATTACH {path} AS a{number}{options}")
        one.run(f"ATTACH IF NOT EXISTS {path} AS b{number}")
        one.run(f"PRAGMA verify({path})")
        one.run(f"CALL recover({path}, '{place.allowed}/rescued.inlay')")
        one.run(f"CALL recover('{place.allowed}/own.csv', {path})")
        one.run(f"VACUUM INTO {path}")
        one.run(f"BACKUP DATABASE TO {path}")
    for path in map(quoted, folders):
        one.run(f"IMPORT DATABASE {path}")
        for options in ("", " (FORMAT csv)", " (FORMAT parquet)"):
            one.run(f"EXPORT DATABASE {path}{options}")
    for path in map(quoted, [*place.paths("body.py"), f"{place.allowed}/folder/body.py"]):
        one.run(f"CREATE FUNCTION f{one.refused}() RETURNS VARCHAR LANGUAGE PYTHON AS {path}")
        one.run(f"LOAD {path}")
        one.run(f"INSTALL {path}")
    # Scripts in the allowed folder that name what is outside.
    (place.allowed / "script").mkdir()
    (place.allowed / "script" / "schema.sql").write_text("CREATE TABLE s (secret VARCHAR, k INTEGER);")
    for target in ("../../outside/x.csv", f"{place.outside}/x.csv", "../folder/x.csv", "../link.csv"):
        (place.allowed / "script" / "load.sql").write_text(f"COPY s FROM '{target}' (FORMAT csv);")
        one.run(f"IMPORT DATABASE '{place.allowed}/script'")
    one.run("FROM s")
    for setting in ("COPY s TO '{}/made.csv';", "SET allowed_directories = ['{}'];", "SET temp_directory = '{}/t';"):
        (place.allowed / "script" / "load.sql").write_text(setting.format(place.outside))
        one.run(f"IMPORT DATABASE '{place.allowed}/script'")
    # A view of another time, a prepared statement, a macro.
    one.run(f"PREPARE p AS SELECT * FROM read_text('{place.outside}/x.csv')")
    one.run("EXECUTE p")
    one.run("CREATE MACRO m(p) AS TABLE SELECT * FROM read_text(p)")
    one.run(f"FROM m('{place.outside}/x.csv')")
    one.run(f"SET VARIABLE p = '{place.outside}/x.csv'; FROM read_text(getvariable('p'))")
    one.done()


@pytest.mark.parametrize("opened", OPENED)
def test_every_setting(opened: Callable[[Place], inlay.Connection], place: Place, watch: Watch) -> None:
    """Settings open no door, whatever they are told."""
    one = stranger(opened, watch, place)
    names = [name for (name,) in inlay.sql("SELECT name FROM duckdb_settings()").fetchall()]
    assert {"enable_external_access", "sandbox", "temp_directory"} <= set(names)
    names += ["python_enable_replacements", "python_scan_all_frames", "home_directory", "access_mode"]
    values = ["true", "false", "[]", f"['{place.outside}']", quoted(str(place.outside)), "'/'", "'10TB'"]
    for name in names:
        for value in values:
            for word in ("SET {} = {}", "SET GLOBAL {} = {}", "PRAGMA {} = {}"):
                one.run(word.format(name, value))
        one.run(f"RESET {name}")
    for path in [*place.paths("x.csv"), f"{place.outside}/*.csv"]:
        one.run(f"FROM read_csv({quoted(path)})")
    one.run("FROM passwords")
    one.run("RESET ALL")
    one.run("FROM passwords")
    one.run("SELECT * FROM duckdb_settings()")
    one.done()


@pytest.mark.parametrize("opened", OPENED)
def test_every_scalar_function(opened: Callable[[Place], inlay.Connection], place: Place, watch: Watch) -> None:
    one = stranger(opened, watch, place)
    names = inlay.sql(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type NOT LIKE 'table%' "
        "AND regexp_matches(function_name, '^[a-z_0-9]+$')"
    ).fetchall()
    assert len(names) > 300
    path = quoted(f"{place.outside}/x.csv")
    for (name,) in names:
        for arguments in (path, f"{path}, {path}"):
            one.run(f"SELECT {name}({arguments})")
    one.run("SELECT getenv('HOME')")
    one.done()


@pytest.mark.parametrize("opened", OPENED)
def test_what_is_out_of_reach_is_not_told_of(
    opened: Callable[[Place], inlay.Connection], place: Place, watch: Watch
) -> None:
    """Whether something is there, and what, makes no difference to what is said."""
    one = stranger(opened, watch, place)
    there, not_there, folder = (f"{place.outside}/{name}.txt" for name in "xyz")
    for statement in [
        "FROM glob('{}')",
        "FROM read_csv('{}')",
        "FROM read_text('{}', allow_empty = true)",
        "COPY mine TO '{}'",
        "COPY mine TO '{}' (FORMAT csv, PARTITION_BY k)",
        "ATTACH '{}' AS a",
        "EXPORT DATABASE '{}'",
        "IMPORT DATABASE '{}'",
        "PRAGMA verify('{}')",
        "CALL recover('{}', 'x')",
        "FROM glob('{}/*')",
        "FROM read_csv('{}*')",
        "FROM read_csv('[{}]')",
    ]:
        # Without the line of the statement, which may be cut within the path.
        said = {
            one.run(statement.format(path)).split("\nline 1:")[0].replace(path, "PATH")
            for path in (there, not_there, folder)
        }
        assert len(said) == 1, (statement, said)
        assert "out of reach" in said.pop(), statement


def test_an_allowed_folder_is_used(place: Place, watch: Watch) -> None:
    """What is allowed goes on, links that stay inside included."""
    (place.allowed / "inner").symlink_to("sub")
    for opened in (restricted, sandboxed):
        one = stranger(opened, watch, place)
        folder = place.allowed / opened.__name__
        folder.mkdir()
        for format_ in FORMATS:
            one.con.execute(f"COPY mine TO '{folder}/own.{format_}' (FORMAT {format_})")
            assert len(one.con.execute(f"FROM '{folder}/own.{format_}'").fetchall()) >= 3
        one.con.execute(f"COPY mine TO '{place.allowed}/inner/{opened.__name__}.csv'")
        assert (place.allowed / "sub" / f"{opened.__name__}.csv").exists()
        for _ in range(2):
            one.con.execute(f"COPY mine TO '{folder}/parts' (FORMAT csv, PARTITION_BY (secret), OVERWRITE)")
        assert one.con.execute(f"SELECT count(*) FROM read_csv('{folder}/parts/**/*.csv')").fetchall() == [(3,)]
        one.con.execute(f"EXPORT DATABASE '{folder}/out'; DROP TABLE mine; IMPORT DATABASE '{folder}/out'")
        one.con.execute(f"ATTACH '{folder}/own.inlay' AS own; CREATE TABLE own.t AS FROM mine")
        one.con.execute("CHECKPOINT own; INSERT INTO own.t FROM mine; DETACH own")
        assert one.con.execute(f"PRAGMA verify('{folder}/own.inlay')").fetchall() == [("ok",)]
        one.con.execute(f"CALL recover('{folder}/own.inlay', '{folder}/again.inlay')")
        one.con.execute(f"ATTACH '{folder}/again.inlay' AS again (READ_ONLY)")
        assert one.con.execute("SELECT count(*) FROM again.t").fetchone() == (6,)
        one.done()


def test_one_database_file_is_allowed_with_its_log(place: Place) -> None:
    path = place.outside / "one.inlay"
    con = inlay.connect(config={"enable_external_access": False, "allowed_paths": f"['{path}']"})
    con.execute(
        f"ATTACH '{path}' AS one; CREATE TABLE one.t AS SELECT 1 AS x; INSERT INTO one.t VALUES (2); DETACH one"
    )
    assert path.exists()
    with pytest.raises(inlay.PermissionException, match="out of reach"):
        con.execute(f"ATTACH '{place.outside}/two.inlay' AS two")
    for name in ("one.inlay.wal", "one.inlay2", "one"):
        with pytest.raises(inlay.PermissionException, match="out of reach"):
            con.execute(f"FROM read_blob('{place.outside}/{name}')")


def test_variables_of_the_program() -> None:
    """They are no tables where files are out of reach; what the program hands over is one."""
    secret = {"password": [CANARY]}
    trusted = inlay.connect()
    assert trusted.execute("FROM secret").fetchall() == [(CANARY,)]
    for con in (inlay.connect(config={"enable_external_access": False}), inlay.connect(sandbox=True)):
        for call in (con.execute, con.sql, con.query if hasattr(con, "query") else con.sql):
            for sql in ("FROM secret", "FROM not_there", 'SELECT * FROM "SECRET"'):
                with pytest.raises(inlay.CatalogException, match="does not exist"):
                    call(sql)
        with pytest.raises(inlay.CatalogException, match="does not exist"):
            con.prepare("FROM secret").execute()
        assert con.execute("SELECT current_setting('python_enable_replacements')").fetchone() == ("false",)
        con.register("handed", secret)
        assert con.execute("FROM handed").fetchall() == [(CANARY,)]
        assert con.from_df(secret).fetchall() == [(CANARY,)]
        con.create_function("own", lambda x: x + 1, ["BIGINT"], "BIGINT")
        assert con.execute("SELECT own(1)").fetchone() == (2,)
        con.execute("CREATE TABLE t AS SELECT 1 AS x")
        con.append("t", {"x": [2]})
        assert con.execute("SELECT sum(x) FROM t").fetchone() == (3,)


def test_code_in_sql_does_not_run() -> None:
    create = "CREATE FUNCTION f() RETURNS VARCHAR LANGUAGE PYTHON { return open('/etc/passwd').read() }"
    con = inlay.connect(sandbox=True)
    with pytest.warns(UserWarning, match="fail until"):
        con.execute(create)
    with pytest.raises(inlay.PermissionException, match="may not run"):
        con.execute("SELECT f()")
    with pytest.raises(inlay.InvalidInputException, match="lock_configuration"):
        con.execute("SET allow_python = true")
    with pytest.raises(inlay.InvalidInputException, match="exclude each other"):
        inlay.connect(sandbox=True, allow_python=True)
    trusting = inlay.connect(config={"enable_external_access": False}, allow_python=True)
    for statement in (create, create.replace("FUNCTION", "TEMP FUNCTION")):
        with pytest.raises(inlay.PermissionException, match="cannot be created"):
            trusting.execute(statement)


def test_a_file_with_code_is_not_attached(tmp_path: Path) -> None:
    with inlay.connect(tmp_path / "code.inlay", allow_python=True) as con:
        con.execute("CREATE FUNCTION f() RETURNS INTEGER LANGUAGE PYTHON { return 1 }")
    config = {"enable_external_access": False, "allowed_directories": f"['{tmp_path}']"}
    with pytest.raises(inlay.PermissionException, match="allow_python would let code in it run"):
        inlay.connect(config=config, allow_python=True).execute(f"ATTACH '{tmp_path}/code.inlay' AS code")
    con = inlay.connect(config=config)
    con.execute(f"ATTACH '{tmp_path}/code.inlay' AS code")
    with pytest.raises(inlay.PermissionException, match="may not run"):
        con.execute("SELECT code.f()")


def test_secrets_reach_nothing_of_the_host() -> None:
    chain = "CREATE SECRET s (TYPE s3, PROVIDER credential_chain)"
    endpoint = "CREATE SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b', ENDPOINT 'evil.example')"
    plain = "CREATE SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')"
    con = inlay.connect()
    con.execute(f"{chain}; DROP SECRET s")
    con.execute("SET enable_external_access = false")
    for statement in (chain, endpoint):
        with pytest.raises(inlay.PermissionException, match="credentials of the host"):
            con.execute(statement)
    con.execute(plain)
    con.execute("SET lock_configuration = true")
    for statement in (plain.replace("CREATE", "CREATE OR REPLACE"), "DROP SECRET s"):
        with pytest.raises(inlay.InvalidInputException, match="lock_configuration"):
            con.execute(statement)


def test_one_call_sets_all() -> None:
    con = inlay.connect(sandbox=True)
    told = dict(con.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    for name, value in {
        "sandbox": "true",
        "enable_external_access": "false",
        "allow_python": "false",
        "lock_configuration": "true",
        "statement_timeout": "60000",
    }.items():
        assert told[name] == value, name
    assert told["max_temp_directory_size"] != "unlimited"
    assert con.execute("SELECT current_setting('python_enable_replacements')").fetchone() == ("false",)
    # What the program says counts; cursors are in the same box.
    with pytest.raises(inlay.InvalidInputException, match="lock_configuration"):
        inlay.connect(config={"lock_configuration": False}, sandbox=True)
    config = {"statement_timeout": 0, "memory_limit": "1GiB", "lock_configuration": True}
    con = inlay.connect(config=config, sandbox=True)
    for session in (con, con.cursor()):
        told = dict(session.execute("SELECT name, value FROM duckdb_settings()").fetchall())
        assert (told["statement_timeout"], told["memory_limit"]) == ("0", "1.0 GiB")
        for statement in ("SET sandbox = false", "RESET sandbox", "SET threads = 1", "SET lock_configuration = false"):
            with pytest.raises(inlay.InvalidInputException):
                session.execute(statement)
        session.execute("SET sandbox = true")
    assert inlay.connect(sandbox=False).execute("SELECT current_setting('sandbox')").fetchone() == (False,)
    late = inlay.connect()
    late.execute("SET sandbox = true")
    with pytest.raises(inlay.PermissionException, match="out of reach"):
        late.execute("FROM read_text('/etc/hosts')")


def test_a_sandbox_of_a_file(tmp_path: Path) -> None:
    """The file that the program opened is no door."""
    path = tmp_path / "own.inlay"
    with inlay.connect(path, sandbox=True) as con:
        con.execute("CREATE TABLE t AS SELECT * FROM range(1000)")
        con.execute("CHECKPOINT")
        with inlay.connect(path, sandbox=True) as other:
            assert other.execute("SELECT count(*) FROM t").fetchone() == (1000,)
        with pytest.raises(inlay.PermissionException, match="out of reach"):
            con.execute(f"ATTACH '{tmp_path}/other.inlay'")
        con.backup(tmp_path / "copy.inlay")
    assert (tmp_path / "copy.inlay").exists()


def test_filename_patterns(tmp_path: Path, con: inlay.Connection) -> None:
    def names(pattern: str, target: str) -> list[str]:
        folder = tmp_path / target
        con.execute(f"COPY (SELECT 1 AS k, 2 AS v) TO '{folder}' (PARTITION_BY k, FILENAME_PATTERN '{pattern}')")
        return [file.stem for file in folder.glob("k=1/*")]

    assert names("f_{i}", "a") == ["f_0"]
    assert names("f", "b") == ["f0"]
    (made,) = names("f_{uuid}", "c")
    assert len(made) == 38 and made[16] == "4"
    (made,) = names("{uuidv7}_{i}", "d")
    assert made[14] == "7" and made.endswith("_0")
    for pattern in ("../x", "a/{i}", "/x", "", "a\\b"):
        with pytest.raises(inlay.InvalidInputException, match="FILENAME_PATTERN"):
            names(pattern, "e")
        assert not (tmp_path / "e" / "k=1").exists() or not list((tmp_path / "e" / "k=1").iterdir())

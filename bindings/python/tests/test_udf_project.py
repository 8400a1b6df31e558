"""`inlay udf`: functions become files, with what queries call them with, and come back."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlay
from inlay import _capture, _project, _sealed

SHARE = """{
        total = x.sum()
        # why

        return x / total
    }"""
WORDED = """{
  text = '''one
    two'''
  return text + str(x) + str(len(args)) }"""
BODIES = {
    "doubled(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP": "{ return x * 2 }",
    "share(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON IMMUTABLE STRICT": SHARE,
    "worded(x BIGINT, *) RETURNS VARCHAR LANGUAGE PYTHON_MAP WITH (arguments = 'rows')": WORDED,
    "s.other(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP": "{ y = 1\n  return x + y }",
    "doubled(x VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON_MAP": "{ return [each * 2 for each in x] }",
}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "functions.inlay"
    with inlay.connect(path) as con:
        con.execute("CREATE SCHEMA s")
        for declaration, body in BODIES.items():
            con.execute(f"CREATE FUNCTION {declaration} {body}")
        con.execute("CREATE TABLE t AS SELECT i, CASE WHEN i % 10 > 0 THEN i END AS n FROM range(50000) t(i)")
    return path


def answers(path: Path) -> Any:
    with inlay.connect(path, config={"allow_python": True}) as con:
        query = (
            "SELECT doubled(4), worded(1, 2, 3), s.other(1), (SELECT sum(share(i)) FROM t), [doubled(x) FOR x IN ['a']]"
        )
        return con.execute(query).fetchone()


def udf(command: str, database: Path, project: Path, *arguments: str) -> int:
    return _project.main([command, *arguments, "--database", str(database), "--project", str(project)])


def test_functions_go_out_and_come_back(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = answers(database)
    project = tmp_path / "project"
    assert udf("export", database, project) == 0
    files = sorted(path.name for path in (project / "functions").iterdir())
    assert files == ["doubled-2.py", "doubled.py", "s.other.py", "share.py", "worded.py"]
    text = (project / "functions" / "share.py").read_text()
    assert "def share(x):\n    total = x.sum()\n    # why\n\n    return x / total\n" in text
    assert "one\n    two'''" in (project / "functions" / "worded.py").read_text()
    # Nothing was changed.
    assert udf("import", database, project) == 0
    assert "nothing was changed" in capsys.readouterr().out
    # All written anew is the same.
    for path in (project / "functions").iterdir():
        path.write_text(
            path.read_text().replace("return", "pass\n    return") if "worded" not in path.name else path.read_text()
        )
    assert udf("import", database, project, "share", "doubled", "doubled-2", "s.other") == 0
    assert capsys.readouterr().out.count("changed: ") == 4
    assert answers(database) == before
    path = project / "functions" / "doubled.py"
    path.write_text(path.read_text().replace("* 2", "* 3"))
    assert udf("import", database, project, "doubled") == 0
    assert answers(database)[0] == 12
    assert answers(database)[1:] == before[1:]


def test_pull_and_push_are_other_names(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "project"
    assert udf("pull", database, project, "share") == 0
    assert [path.name for path in (project / "functions").iterdir()] == ["share.py"]
    path = project / "functions" / "share.py"
    path.write_text(path.read_text().replace("return x", "return 2 * x"))
    assert udf("push", database, project) == 0
    assert "changed: share" in capsys.readouterr().out
    assert answers(database)[3] == 2.0
    with pytest.raises(SystemExit):
        _project.main(["--help"])
    assert "export (pull)" in capsys.readouterr().out


def test_files_that_cannot_come_back(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "project"
    udf("export", database, project)
    before = answers(database)
    path = project / "functions" / "share.py"
    text = path.read_text()
    other = project / "functions" / "doubled.py"
    other.write_text(other.read_text().replace("* 2", "* 5"))
    for changed, message in [
        (text.replace("return x", "return x +/"), "share.py, line"),
        (text.replace("def share(x)", "def share(y)"), "the parameters are those that were declared"),
        (text + "\nimport os\n", "only the body of one function is stored"),
        ("\n".join(text.splitlines()[1:]), "the line that begins with '# inlay:' is gone"),
        (text.replace("return x / total", "x"), "needs a return"),
    ]:
        path.write_text(changed)
        assert udf("import", database, project) == 1
        assert message in capsys.readouterr().err, message
        # Nor is what stood in other files changed.
        assert answers(database) == before
    assert udf("export", database, project, "nothing") == 1
    assert 'no stored function "nothing"' in capsys.readouterr().err
    assert udf("export", tmp_path / "no.inlay", project) == 1
    assert "there is no database" in capsys.readouterr().err


def inputs(project: Path, stem: str) -> list[tuple[Any, ...]]:
    with gzip.open(project / "input" / f"{stem}.gz") as file:
        calls: list[tuple[Any, ...]] = pickle.load(file)
    return calls


def test_what_a_query_calls_functions_with(database: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    query = "SELECT sum(doubled(n)), min(worded(i, 7)) FROM (SELECT * FROM t WHERE i < 20000)"
    assert udf("debug", database, project, query, "--no-run") == 0
    (column,) = (call[0] for call in inputs(project, "doubled"))
    assert np.ma.sort(column).compressed().tolist() == [i for i in range(20000) if i % 10]
    assert np.ma.count_masked(column) == 2000
    assert len(inputs(project, "worded")) == 20_000
    # A sample: rows of all of the table, whole ones.
    query = "SELECT sum(doubled(i)), sum(doubled(i + 1)) FROM t"
    assert udf("debug", database, project, query, "--no-run", "--sample", "1000") == 0
    (column,) = (call[0] for call in inputs(project, "doubled"))
    assert len(column) == 1000
    assert 20_000 < column.mean() < 30_000
    run = subprocess.run(
        [sys.executable, str(project / "run.py"), "doubled"], capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("doubled: [")


def test_input_under_a_password(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography")
    project, query = tmp_path / "project", "SELECT sum(doubled(i)) FROM t"
    monkeypatch.setenv("INLAY_UDF_PASSWORD", "one that is long")
    assert udf("debug", database, project, query, "--no-run", "--encrypt") == 0
    path = project / "input" / "doubled.gz"
    assert path.stat().st_mode & 0o77 == 0
    ((column,),) = _capture.read(path)
    assert sorted(column) == list(range(50_000))
    run = subprocess.run([sys.executable, project / "run.py", "doubled"], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("doubled: [")
    with pytest.raises(ValueError, match="the password is another one, or the file was changed"):
        _sealed.read(path, "another one")
    # Nothing may be changed, cut or put elsewhere.
    data = bytes(range(256)) * 10_000
    _sealed.write(path, data, "password")
    whole = path.read_bytes()
    assert len(whole) > 2 << 20 and _sealed.read(path, "password") == data
    segment = (1 << 20) + 16
    for changed in (
        whole[:-1],
        whole[: -(len(whole) - 33) % segment or -1],
        whole[:33] + whole[33 + segment :],
        whole[:33] + whole[33 + segment : 33 + 2 * segment] + whole[33 : 33 + segment] + whole[33 + 2 * segment :],
        whole[:12] + b"x" + whole[13:],
        whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:],
        whole[:40],
        b"",
    ):
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=r"password is another one|no encrypted input"):
            _sealed.read(path, "password")
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    capsys.readouterr()
    assert udf("debug", database, project, query, "--no-run", "--encrypt") == 1
    assert "pip install cryptography" in capsys.readouterr().err


def test_a_call_that_fails_is_the_input(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "project"
    with inlay.connect(database) as con:
        con.execute("""CREATE FUNCTION picky(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP
            WITH (parallel = 'processes') { assert 31234 not in x
            return x }""")
    query = "SELECT sum(doubled(i)), sum(picky(i)) FROM t"
    assert udf("debug", database, project, query, "--no-run", "--sample", "10") == 0
    assert 'the query failed: function "picky" raised AssertionError' in capsys.readouterr().out
    ((column,),) = inputs(project, "picky")
    assert 31234 in column
    # The file that is there is what was edited, and stays.
    path = project / "functions" / "picky.py"
    path.write_text(path.read_text().replace("31234", "-1"))
    assert udf("debug", database, project, query, "--no-run") == 0
    assert "not in x" in path.read_text()
    assert "-1" in path.read_text()
    run = subprocess.run(
        [sys.executable, str(project / "run.py"), "picky"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_the_command_starts_the_runner(database: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    command = [sys.executable, "-m", "inlay", "udf", "debug", "SELECT sum(share(i)) FROM t"]
    command += ["--database", str(database), "--project", str(project), "--no-wait", "--port", "56789"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "share: [" in run.stdout
    if "debugpy is not installed" not in run.stdout:
        launch = json.loads((project / ".vscode" / "launch.json").read_text())
        assert launch["configurations"][0]["connect"]["port"] == 56789
    # What changes rows cannot run: the database is opened for reading.
    run = subprocess.run([*command[:5], "DELETE FROM t", *command[6:]], capture_output=True, text=True, check=False)
    assert "open for reading only" in run.stdout

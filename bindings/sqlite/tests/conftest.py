"""Programs that use SQLite's interface, run with Inlay's library in its place."""

import shutil
import subprocess
import textwrap

import pytest

from bindings.sqlite.tests.preload import LIBRARY, interpreter, preloaded


@pytest.fixture(scope="session")
def python():
    """Runs a program with `import sqlite3` and a connection `con` to a database in memory, and gives what it writes."""
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY} is not built: cargo build --profile work -p inlay-sqlite")
    name = interpreter()
    if name is None:
        pytest.skip("no interpreter has a sqlite3 that is linked to libsqlite3.so.0")

    def run(program: str, *arguments: str) -> str:
        head = "import sqlite3, sys\ncon = sqlite3.connect(':memory:')\n"
        command = [name, "-c", head + textwrap.dedent(program), *arguments]
        done = subprocess.run(command, env=preloaded(), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def shell():
    """SQLite's shell over a file, given what is typed."""
    name = shutil.which("sqlite3")
    if not LIBRARY.exists() or name is None:
        pytest.skip("the library or SQLite's shell is not there")

    def run(typed: str, path: str = ":memory:") -> str:
        done = subprocess.run(
            [name, "-batch", path], input=typed, env=preloaded(), capture_output=True, text=True, timeout=120
        )
        assert done.stderr == "", done.stderr
        return done.stdout

    return run

"""A program in C on Inlay: small rules of the interface."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bindings.sqlite.tests.preload import LIBRARY

HERE = Path(__file__).parent


def test_rules_of_the_interface(tmp_path):
    if not LIBRARY.exists() or not Path("/usr/include/sqlite3.h").exists() or shutil.which("cc") is None:
        pytest.skip("the library, a compiler or SQLite's header is not there")
    program = tmp_path / "rules"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run(["cc", *flags, str(HERE / "rules.c"), "-o", str(program), str(LIBRARY)], check=True)
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "libsqlite3.so.0").symlink_to(LIBRARY)
    done = subprocess.run([program], env={"LD_LIBRARY_PATH": str(folder)}, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")

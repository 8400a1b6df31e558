"""Where the library is, and an interpreter that runs on it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
LIBRARY = Path(os.environ.get("INLAY_SQLITE", ROOT / "target" / "work" / "libinlay_sqlite3.so"))


def preloaded() -> dict[str, str]:
    return os.environ | {"LD_PRELOAD": str(LIBRARY)}


def interpreter() -> str | None:
    """An interpreter whose sqlite3 is linked to a library that can be replaced."""
    probe = "import sqlite3; sqlite3.connect(':memory:').execute(\"SELECT current_setting('dialect')\")"
    for name in (sys.executable, "/usr/bin/python3", shutil.which("python3")):
        if name and subprocess.run([name, "-c", probe], env=preloaded(), capture_output=True).returncode == 0:
            return name
    return None

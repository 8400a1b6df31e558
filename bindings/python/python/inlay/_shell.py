"""The command `inlay`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from inlay._inlay import shell


def main() -> int:
    """Run the shell, or the tool for functions, with the arguments of this process; exit code."""
    if sys.argv[1:2] == ["udf"] and sys.argv[2:3] and not Path("udf").exists():
        from inlay import _project

        return _project.main(sys.argv[2:])
    if sys.argv[1:2] == ["serve"]:
        # The server ends by itself in order; Python is not to raise what it caught meanwhile.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    return int(shell(["inlay", *sys.argv[1:]]))

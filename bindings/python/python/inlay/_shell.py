"""The command `inlay`."""

from __future__ import annotations

import sys

from inlay._inlay import shell


def main() -> int:
    """Run the shell with the arguments of this process and return its exit code."""
    sys.stdout.flush()
    return int(shell(["inlay", *sys.argv[1:]]))

"""What the tests of the C library share: where things are, and how programs are run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CRATE = HERE.parent
ROOT = CRATE.parent.parent
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
SANITIZED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

Build = Callable[..., Path]


def run(command: list[str | Path], **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a command that must succeed; what it said is shown if it does not."""
    settings: dict[str, object] = {"capture_output": True, "text": True, "timeout": 540, "check": False, **options}
    done = subprocess.run([str(part) for part in command], **settings)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done  # type: ignore[no-any-return]


def needs(*tools: str) -> pytest.MarkDecorator:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")

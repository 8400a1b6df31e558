"""SQLAlchemy's own suite for dialects passes, but for what is left out; docs/sqlalchemy.md says why."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", minversion="2.1")
SUITE = Path(__file__).parent / "alchemy_suite"


def test_suite_of_dialects_passes(tmp_path: Path) -> None:
    """The suite's plugin changes how pytest collects tests, so it has a process of its own."""
    (tmp_path / "setup.cfg").write_text(
        "[sqla_testing]\nrequirement_cls = requirements:Requirements\nprofile_file = profiles.txt\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "sqlalchemy.testing.plugin.pytestplugin", "-p", "provision"]
    command += ["-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path), str(SUITE / "suite.py"), "-q"]
    command += [
        "--tb=short",
        "--dburi",
        f"inlay:///{tmp_path / 'suite.db'}",
        "--requirements",
        "requirements:Requirements",
    ]
    environment = {**os.environ, "PYTHONPATH": str(SUITE), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1200)
    found = {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|skipped|errors?)", done.stdout)}
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    # Fewer would mean that something is left out without a reason.
    assert found["passed"] >= 1_700 and "failed" not in found, found

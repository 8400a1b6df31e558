"""The examples of docs/shell.md print what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "shell.md"


def run(line: str, home: Path, typed: str | None = None) -> str:
    """What a command line prints; `inlay` is the package's."""
    shim = home / "inlay"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m inlay "$@"\n')
    shim.chmod(0o755)
    environment = {**os.environ, "HOME": str(home), "PATH": f"{home}:{os.environ['PATH']}", "NO_COLOR": "1"}
    ran = subprocess.run(["bash", "-c", line], input=typed, capture_output=True, text=True, cwd=home, env=environment)
    assert ran.stderr == "" and ran.returncode == 0, ran.stderr
    return ran.stdout


def test_examples(tmp_path: Path) -> None:
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, expected = example.partition("\n")
            typed = re.findall(r"^inlay> (.*)$", expected, re.MULTILINE)
            if not typed:
                assert run(line, tmp_path) == expected
                continue
            answer = expected.split(typed[-1] + "\n")[1]
            assert run(line, tmp_path, "\n".join(typed)) == answer


def test_the_wheel_has_the_program(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("inlay")
    ran = subprocess.run([program, "-list", "-c", "SELECT 42 AS x"], capture_output=True, text=True, cwd=tmp_path)
    assert (ran.stdout, ran.returncode) == ("x\n42\n", 0)


def test_called_from_python_ctrl_c_is_pythons_again() -> None:
    code = """
import signal
import inlay._inlay
assert inlay._inlay.shell(["inlay", "-list", "-noheader", "-c", "SELECT 1"]) == 0
assert inlay._inlay.shell(["inlay", "-c", "SELECT nope"]) == 1
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout == "1\ninterrupted\n", ran.stderr

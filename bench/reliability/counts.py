"""Runs the Rust tests of reliability and reads the counts that they print.

A test prints `[reliability] name: key=value key=value`. One that fails ends with what it found instead, and the page
says so: a count is never shown without the test that made it having passed.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field

from bench.report import ROOT

LINE = re.compile(r"\[reliability\] (?P<name>[^:]+): (?P<figures>.*)")
TEST = re.compile(r"^test (?P<name>\S+) \.\.\.", re.MULTILINE)

# Module of the test program, what it shows, and the variables that make it do all of it.
MODULES = {
    "isolation": ("Isolation", {"INLAY_ISOLATION_SECONDS": "60"}),
    "crash": ("Kill", {"INLAY_CRASH_KILLS": "2000"}),
    "crash_all": ("Kill amid any statement", {"INLAY_CRASH_ALL": "5000"}),
    "full_disk": ("Full disks", {}),
    "golden": ("Old files", {"INLAY_UPGRADE_CASES": "0"}),
    "power": ("Power cuts and failing I/O", {"INLAY_POWER_CASES": "0", "INLAY_POWER_SEEDS": "4"}),
    "damage": ("Damage", {"INLAY_DAMAGE_CASES": "0"}),
    "identity": ("Names", {"INLAY_CRASH_NAMES": "10000"}),
    "crash_processes": ("Processes", {"INLAY_PROCESS_SECONDS": "30"}),
}


@dataclass
class Counts:
    """What the tests of one module printed."""

    title: str
    lines: dict[str, dict[str, int]] = field(default_factory=dict)
    problem: str | None = None


def run(module: str, full: bool) -> Counts:
    """Build and run the tests of one module in release, in full or in short."""
    title, variables = MODULES[module]
    command = ["cargo", "test", "--release", "--quiet", "-p", "inlay", "--test", "it", f"{module}::"]
    command += ["--", "--nocapture", "--test-threads=1"]
    environment = os.environ | (variables if full else {})
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    counts = Counts(title, parse(done.stdout))
    if done.returncode != 0:
        counts.problem = first_failure(done.stdout + "\n" + done.stderr)
    return counts


def parse(text: str) -> dict[str, dict[str, int]]:
    """Counts by name."""
    return {
        match["name"]: {key: int(value) for key, value in (pair.split("=") for pair in match["figures"].split())}
        for match in LINE.finditer(text)
    }


def first_failure(text: str) -> str:
    """The first message of a failed test, or the last line there is."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if "panicked at" in line and number + 1 < len(lines):
            return lines[number + 1].strip()[:300]
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "no output")

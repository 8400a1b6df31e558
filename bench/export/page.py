"""The measurements of an export as a table and a line of history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from bench.export.suite import CASES, Measured, shown
from bench.machine import description, record
from bench.report import LABELS

NAMES = LABELS | {"sqlite": "SQLite"}


def text(results: Mapping[str, Measured], scale: float, threads: int, repetitions: int) -> str:
    """The report as people read it."""
    machine = description()
    lines = [
        f"# lineitem to the host, scale {scale:g}, hot",
        "",
        f"{datetime.now(timezone.utc):%Y-%m-%d}; {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB; {threads} threads; commit {machine['commit']}; median of {repetitions} runs, "
        "engines taking turns; beside it, by how much memory grew at most; "
        + ", ".join(f"{NAMES[name]} {result.version}" for name, result in results.items())
        + ". Decimals are doubles but for Arrow and Polars. Polars holds a frame, the others a file.",
        "",
        "| case | " + " | ".join(NAMES[name] for name in results) + " |",
        "|---|" + "---:|" * len(results),
    ]
    lines += [f"| {case} | " + " | ".join(shown(result, case) for result in results.values()) + " |" for case in CASES]
    lines += [
        f"- {NAMES[name]}, {case}: {problem}"
        for name, result in results.items()
        for case, problem in result.problems.items()
    ]
    return "\n".join(lines) + "\n"


def history(results: Mapping[str, Measured], scale: float, threads: int) -> dict[str, Any]:
    """Everything measured, as one JSON object."""
    return record(
        "export",
        threads,
        scale=scale,
        engines={name: asdict(result) for name, result in results.items()},
    )

"""The one page: counts, figures, goals; and the same in docs/reliability.md."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from bench.machine import description, record
from bench.reliability.suite import Figure, Report
from bench.report import LABELS, ROOT

DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- figures: written by `make crash`, do not edit -->", "<!-- end of figures -->"
ENGINES = ("inlay", "duckdb", "sqlite")
NAMES = {**LABELS, "sqlite": "SQLite"}


def text(report: Report, mode: str, threads: int) -> str:
    """Everything as Markdown."""
    machine = description()
    lines = [
        f"{datetime.now(timezone.utc):%Y-%m-%d}; {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB; {threads} threads; commit {machine['commit']}; tests in {mode}.",
    ]
    if report.counts:
        lines += ["", "| shown by a test | counts |", "|---|---|"]
    for count in report.counts:
        for name, values in count.lines.items():
            lines.append(f"| {count.title}: {name} | {', '.join(shown(key, value) for key, value in values.items())} |")
        if count.problem:
            lines.append(f"| {count.title} | **FAILED**: {count.problem.replace('|', '/')} |")
    if report.figures:
        lines += ["", "| measured | Inlay | DuckDB | SQLite | goal | met |", "|---|---:|---:|---:|---|---|"]
        lines += [row(figure) for figure in report.figures]
    problems = [f"- {figure.name}: {problem}" for figure in report.figures for problem in figure.problems]
    return "\n".join([*lines, *([""] if problems else []), *problems]) + "\n"


def shown(key: str, value: int) -> str:
    """One count for people."""
    return f"{value:,} {key.replace('_', ' ')}"


def row(figure: Figure) -> str:
    """One line of the table of figures."""
    cells = [f"{figure.values[name]:,.2f} {figure.unit}" if name in figure.values else "" for name in ENGINES]
    met = {True: "yes", False: "**no**", None: ""}[figure.met]
    return f"| {figure.name} | {' | '.join(cells)} | {figure.goal} | {met} |"


def history(report: Report, mode: str, threads: int) -> dict[str, Any]:
    """Everything as one JSON object."""
    return record(
        "reliability",
        threads,
        mode=mode,
        counts=[asdict(count) for count in report.counts],
        figures=[asdict(figure) for figure in report.figures],
    )


def put_into_document(page: str) -> None:
    """Replace the figures in docs/reliability.md."""
    document = DOCUMENT.read_text()
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{page}{END}{after}")

"""Medians, ratios and geometric means as a Markdown table, a line of history, and a chart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from bench.latency import Latency
from bench.machine import description, record
from bench.tpch.suite import EngineResult

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
IMAGES = ROOT / "docs" / "images"
COLORS = {
    "inlay": "#0b7a75",
    "inlay_indexed": "#5fb3ad",
    "duckdb": "#e0b100",
    "hyper": "#5b6c9b",
    "polars": "#b0662a",
    "datafusion": "#8a8f98",
    "chdb": "#c96f8a",
}
LABELS = {
    "inlay": "Inlay",
    "inlay_indexed": "Inlay, indexed",
    "duckdb": "DuckDB",
    "hyper": "HyPer",
    "polars": "Polars",
    "datafusion": "DataFusion",
    "chdb": "chDB",
}


def milliseconds(results: Mapping[str, EngineResult]) -> dict[str, dict[int, float]]:
    """Median milliseconds by engine and query; a query that an engine did not answer rightly is missing."""
    return {
        name: {
            number: median(seconds) * 1e3 for number, seconds in result.seconds.items() if number not in result.problems
        }
        for name, result in results.items()
    }


def spread(seconds: Sequence[float]) -> float:
    """Half the distance from fastest to slowest, as a share of the median."""
    middle = median(seconds)
    return (max(seconds) - min(seconds)) / 2 / middle if middle else 0.0


def cell(result: EngineResult, number: int, medians: Mapping[int, float]) -> str:
    """One table cell: median and spread, or what went wrong."""
    if number in medians:
        return f"{medians[number]:.1f} ±{spread(result.seconds[number]) * 100:.0f} %"
    return "wrong" if result.problems.get(number, "").startswith("differs") else "failed"


def markdown(
    results: Mapping[str, EngineResult],
    latencies: Mapping[str, Latency],
    scale: float,
    threads: int,
    repetitions: int,
    wheel: int | None,
) -> str:
    """The report as people read it."""
    medians = milliseconds(results)
    names = list(results)
    queries = sorted({number for result in results.values() for number in {**result.seconds, **result.problems}})
    base = medians.get("duckdb", {})
    machine = description()
    ratio = "inlay" in medians and bool(base)
    lines = [
        f"# TPC-H, scale {scale:g}, hot, result in the client",
        "",
        f"{datetime.now(timezone.utc):%Y-%m-%d}; {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB; {threads} threads; median and spread of {repetitions} runs in ms, "
        "engines taking turns; "
        + ", ".join(f"{LABELS[name]} {result.version}" for name, result in results.items())
        + ".",
        "",
        "| query | " + " | ".join(LABELS[name] for name in names) + (" | Inlay / DuckDB |" if ratio else " |"),
        "|---|" + "---:|" * (len(names) + ratio),
    ]
    for number in queries:
        cells = [cell(results[name], number, medians[name]) for name in names]
        if ratio:
            both = number in medians["inlay"] and number in base
            cells.append(f"{medians['inlay'][number] / base[number]:.2f}" if both else "")
        lines.append(f"| Q{number} | " + " | ".join(cells) + " |")
    lines += summary_rows(medians, names, queries, ratio)
    peaks = [f"{result.peak_bytes / 2**20:,.0f} MiB" if result.peak_bytes else "" for result in results.values()]
    lines.append("| peak memory | " + " | ".join(peaks) + (" | |" if ratio else " |"))
    lines += latency_table(latencies, wheel)
    lines += [
        f"- {LABELS[name]} Q{number} {problem}"
        for name, result in results.items()
        for number, problem in sorted(result.problems.items())
    ]
    return "\n".join(lines) + "\n"


def summary_rows(
    medians: Mapping[str, Mapping[int, float]], names: Sequence[str], queries: Sequence[int], ratio: bool
) -> list[str]:
    """Totals, geometric means and geometric means relative to DuckDB, over the queries an engine answered."""
    rows = []
    for label, combine in (("**total**", sum), ("**geometric mean**", geometric_mean)):
        cells = []
        for name in names:
            values = list(medians[name].values())
            note = "" if len(values) == len(queries) else f" ({len(values)} of {len(queries)})"
            cells.append(f"**{combine(values):.1f}**{note}" if values else "")
        if ratio:
            shared = [number for number in medians["inlay"] if number in medians["duckdb"]]
            parts = [combine([medians[name][number] for number in shared]) for name in ("inlay", "duckdb")]
            cells.append(f"**{parts[0] / parts[1]:.2f}**" if shared else "")
        rows.append(f"| {label} | " + " | ".join(cells) + " |")
    return rows


def geomean_ratio(medians: Mapping[str, Mapping[int, float]], name: str, base: str = "duckdb") -> float | None:
    """Geometric mean over shared queries of an engine's time relative to another's; below 1 is faster."""
    shared = [number for number in medians.get(name, {}) if number in medians.get(base, {})]
    return geometric_mean([medians[name][n] / medians[base][n] for n in shared]) if shared else None


def latency_table(latencies: Mapping[str, Latency], wheel: int | None) -> list[str]:
    """Rows of the second table, empty when latency was not measured."""
    if not latencies:
        return [""]
    lines = ["", "| latency | " + " | ".join(LABELS[name] for name in latencies) + " |"]
    lines.append("|---|" + "---:|" * len(latencies))
    for label, attribute, unit in (
        ("`SELECT 1`, open connection", "select_one_us", "us"),
        ("import, connect, `SELECT 1`", "start_ms", "ms"),
        ("the whole process", "process_ms", "ms"),
    ):
        values = [getattr(latency, attribute) for latency in latencies.values()]
        lines.append(f"| {label} | " + " | ".join(f"{value:.1f} {unit}" for value in values) + " |")
    if wheel is not None:
        lines += ["", f"Inlay's wheel: {wheel / 2**20:.1f} MiB."]
    return [*lines, ""]


def history(
    results: Mapping[str, EngineResult],
    latencies: Mapping[str, Latency],
    scale: float,
    threads: int,
    wheel: int | None,
) -> dict[str, Any]:
    """Everything measured, as one JSON object."""
    return record(
        "tpch",
        threads,
        scale=scale,
        wheel_bytes=wheel,
        engines={
            name: {
                **asdict(result),
                "q_errors": None,
                "seconds": {n: [round(s, 6) for s in v] for n, v in result.seconds.items()},
            }
            for name, result in results.items()
        },
        latency={name: asdict(latency) for name, latency in latencies.items()},
        geomean_to_duckdb={name: geomean_ratio(milliseconds(results), name) for name in results},
    )


def write(name: str, text: str, record: Mapping[str, Any]) -> None:
    """Replace the current table and append to the history."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text)
    with (RESULTS / f"{name}.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")


def chart(results: Mapping[str, EngineResult], scale: float, path: Path) -> None:
    """Grouped bars per query on a logarithmic axis, and a panel with the geometric means."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    medians = milliseconds(results)
    queries = sorted({number for values in medians.values() for number in values})
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(13, 4.2), gridspec_kw={"width_ratios": [5, 1]}, layout="constrained"
    )
    width = 0.8 / len(medians)
    for place, (name, values) in enumerate(medians.items()):
        offset = (place - (len(medians) - 1) / 2) * width
        shown = [number for number in queries if number in values]
        positions = [queries.index(number) + offset for number in shown]
        left.bar(positions, [values[n] for n in shown], width, color=COLORS[name], label=LABELS[name])
        if values:
            bar = right.bar(LABELS[name], geometric_mean(list(values.values())), color=COLORS[name])
            right.bar_label(bar, fmt="%.0f", fontsize=8)
    left.set_yscale("log")
    left.set_xticks(range(len(queries)), [f"Q{number}" for number in queries], fontsize=8)
    left.set_ylabel("milliseconds (log)")
    left.set_title(f"TPC-H scale {scale:g}, result in the client: lower is better", fontsize=10)
    left.legend(ncols=len(medians), frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0, 1))
    left.set_ylim(top=left.get_ylim()[1] * 1.8)
    right.set_title("geometric mean, ms", fontsize=10)
    right.tick_params(axis="x", rotation=60, labelsize=8)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)

"""The results of a suite of cases as people read them: a table, what it comes to, and what Inlay loses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from math import inf
from pathlib import Path
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, Any

from bench import report
from bench.machine import description

if TYPE_CHECKING:
    from bench.cases import Measured, Suite

# Ways to run Inlay: no peers of it.
OWN = ("inlay", "inlay_indexed")
NAMES = report.LABELS | {"sqlite": "SQLite", "pandas": "pandas", "numpy": "NumPy", "hdf5": "HDF5", "csv": "CSV"}


def medians(suite: Suite, results: Mapping[str, Measured]) -> dict[str, dict[str, float]]:
    """Seconds by engine and case; controls and cases that an engine did not answer rightly are missing."""
    return {
        name: {
            case: suite.typical(result.seconds[case])
            for case in suite.cases
            if case in result.seconds and case not in result.problems and not suite.is_control(case)
        }
        for name, result in results.items()
    }


def duration(seconds: float) -> str:
    """Seconds in a unit that suits them."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:,.1f} us"
    return f"{seconds * 1e3:,.2f} ms" if seconds < 0.1 else f"{seconds * 1e3:,.0f} ms"


def shown(suite: Suite, result: Measured, case: str) -> str:
    """The time of one case with its spread, and the most memory where the suite is about it; or what went wrong."""
    if case in result.problems:
        return "wrong" if result.problems[case].startswith("differs") else "failed"
    if case not in result.seconds:
        return ""
    seconds = result.seconds[case]
    text = f"{duration(suite.typical(seconds))} ±{report.spread(seconds) * 100:.0f} %"
    return f"{text}, {max(median(result.peaks[case]), 0) / 2**20:,.0f} MiB" if suite.shows_memory else text


def mean_of(seconds: Iterable[float]) -> float:
    """The geometric mean; what took no time counts as a tenth of a microsecond."""
    return geometric_mean(max(value, 1e-7) for value in seconds)


def to_best_peer(values: Mapping[str, Mapping[str, float]]) -> dict[str, tuple[float, str]]:
    """By case: Inlay's time relative to the fastest peer's, and that peer."""
    found = {}
    for case, own in values.get("inlay", {}).items():
        peers = [(times[case], name) for name, times in values.items() if name not in OWN and case in times]
        if peers:
            best, name = min(peers)
            found[case] = (max(own, 1e-7) / max(best, 1e-7), name)
    return found


def geomeans_to(values: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Geometric mean of Inlay's time relative to each peer's, over the cases that both answered; below 1 is faster."""
    own = values.get("inlay", {})
    ratios = {
        name: [max(own[case], 1e-7) / max(times[case], 1e-7) for case in times if case in own]
        for name, times in values.items()
    }
    return {name: geometric_mean(found) for name, found in ratios.items() if found and name != "inlay"}


def figures(suite: Suite, results: Mapping[str, Measured]) -> dict[str, Any]:
    """What the run comes to, for the history."""
    values = medians(suite, results)
    best = to_best_peer(values)
    return {
        "geomean_seconds": {name: mean_of(times.values()) for name, times in values.items() if times},
        "geomean_to": geomeans_to(values),
        "geomean_to_best": geometric_mean([ratio for ratio, _ in best.values()]) if best else None,
        "lost": sum(ratio > 1 for ratio, _ in best.values()),
        "to_best": {case: {"ratio": ratio, "peer": peer} for case, (ratio, peer) in best.items()},
    }


def text(suite: Suite, results: Mapping[str, Measured], threads: int, repetitions: int) -> str:
    """The page."""
    machine = description()
    beside = "; beside it, by how much memory grew at most" if suite.shows_memory else ""
    values = medians(suite, results)
    best = to_best_peer(values)
    lines = [
        f"# {suite.title}",
        "",
        f"{datetime.now(timezone.utc):%Y-%m-%d}; {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB; {threads} threads; commit {machine['commit']}; "
        f"{'median' if suite.typical is median else 'worst'} and spread of {repetitions} runs, "
        f"engines taking turns{beside}; "
        + ", ".join(f"{NAMES[name]} {result.version}" for name, result in results.items())
        + f". {suite.remarks}",
        "",
        "| case | " + " | ".join(NAMES[name] for name in results) + (" | Inlay / best peer |" if best else " |"),
        "|---|" + "---:|" * (len(results) + bool(best)),
    ]
    for case in in_order(suite, best):
        cells = [shown(suite, result, case) for result in results.values()]
        if best:
            cells.append(f"{best[case][0]:.2f}" if case in best else "")
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    lines += summary_rows(suite, values, best)
    return "\n".join([*lines, "", *suite.conclusions(suite, results), *remarks(results)]).rstrip() + "\n"


def in_order(suite: Suite, best: Mapping[str, tuple[float, str]]) -> Sequence[str]:
    """The cases as the table has them."""
    if not suite.worst_first:
        return suite.cases
    return sorted(suite.cases, key=lambda case: -best[case][0] if case in best else -inf)


def summary_rows(
    suite: Suite, values: Mapping[str, Mapping[str, float]], best: Mapping[str, tuple[float, str]]
) -> list[str]:
    """Totals and geometric means over what an engine answered, and Inlay relative to each engine over what both did."""
    rows, count = [], sum(not suite.is_control(case) for case in suite.cases)
    for label, combine in (("**total**", sum), ("**geometric mean**", mean_of)):
        cells = []
        for times in values.values():
            note = "" if len(times) == count else f" ({len(times)} of {count})"
            cells.append(f"**{duration(combine(times.values()))}**{note}" if times else "")
        if best:
            ratios = geometric_mean([ratio for ratio, _ in best.values()])
            cells.append(f"**{ratios:.2f}**" if combine is mean_of else "")
        rows.append(f"| {label} | " + " | ".join(cells) + " |")
    if best:
        relative = geomeans_to(values)
        cells = [f"{relative[name]:.2f}" if name in relative else "" for name in values]
        rows.append("| Inlay / engine, geometric mean | " + " | ".join(cells) + " | |")
        own = values["inlay"]
        faster = [
            "" if name == "inlay" else str(sum(times[case] < own[case] for case in times if case in own))
            for name, times in values.items()
        ]
        lost = sum(ratio > 1 for ratio, _ in best.values())
        rows.append("| cases faster than Inlay | " + " | ".join(faster) + f" | {lost} of {len(best)} |")
    return rows


def into_document(suite: Suite, results: Mapping[str, Measured], document: Path) -> None:
    """Replace the suite's table in a document: cases in which Inlay is behind, worst first, and what all come to."""
    values = medians(suite, results)
    best = to_best_peer(values)
    if not best:
        return
    behind = [case for case in in_order(suite, best) if case in best and best[case][0] > 1]
    ahead = sum(ratio <= 1 for ratio, _ in best.values())
    mean = geometric_mean([ratio for ratio, _ in best.values()])
    above = [f"{sum(ratio > limit for ratio, _ in best.values())} above {limit:g}" for limit in (1.1, 1.5)]
    lines = [
        f"{suite.title}: {len(best)} cases, of which Inlay is ahead in {ahead}; geometric mean of Inlay's time by that "
        f"of the best peer: {mean:.2f}, {' and '.join(above)}. `make bench SUITE={suite.name.partition('-')[0]}`, "
        f"{datetime.now(timezone.utc):%Y-%m-%d}; behind, worst first:",
        "",
        "| case | Inlay | peer | ratio |",
        "|---|---:|---:|---:|",
    ]
    for case in behind:
        ratio, peer = best[case]
        shown_case = case.replace("|", "\\|")
        lines.append(
            f"| {shown_case} | {duration(values['inlay'][case])} | {duration(values[peer][case])} | {ratio:.2f} |"
        )
    name = suite.name.partition("-")[0]
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    text = document.read_text()
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if found and closed:
        document.write_text(before + begin + "\n" + "\n".join(lines) + "\n" + end + after)


def remarks(results: Mapping[str, Measured]) -> list[str]:
    """What went wrong, and who was left out where and why; equal remarks of an engine together."""
    lines = []
    for name, result in results.items():
        together: dict[str, list[str]] = {}
        for case, problem in result.problems.items():
            together.setdefault(" ".join(problem.split()), []).append(case)
        for case, reason in result.left_out.items():
            together.setdefault(f"left out: {reason}", []).append(case)
        lines += [f"- {NAMES[name]}, {', '.join(cases)}: {problem}" for problem, cases in together.items()]
    return lines


def ranking(suite: Suite, results: Mapping[str, Measured], above: float = 1.0) -> Sequence[str]:
    """The cases in which a peer is ahead, worst first."""
    values = medians(suite, results)
    best = to_best_peer(values)
    lost = sorted(((ratio, case, peer) for case, (ratio, peer) in best.items() if ratio > above), reverse=True)
    if not best:
        return []
    return [f"Inlay is behind the best peer in {len(lost)} of {len(best)} cases, worst first:"] + [
        f"  {ratio:6.2f}  {case}: {duration(values['inlay'][case])}, {NAMES[peer]} {duration(values[peer][case])}"
        for ratio, case, peer in lost
    ]

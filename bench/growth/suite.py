"""The table of growth: a line a case, those above linear marked, and apart from them what is so by its nature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.growth.cases import CASES, Case
from bench.growth.measure import ABOVE_LINEAR, Grown, grown

SECONDS_MAX = 60.0


def line(case: Case, found: Grown) -> str:
    """What was found, in words."""
    exponent = found.exponent()
    if exponent is None:
        return f"| {case.name} | | | {found.problem or 'too quick'} |"
    mark = "" if exponent < ABOVE_LINEAR else case.nature or "**above linear**"
    times = " ".join(f"{seconds * 1e3:.1f}" for seconds in found.seconds)
    return f"| {case.name} | {found.n} | {times} | {exponent:.2f} {mark} |"


def table(chosen: Sequence[str]) -> Iterator[str]:
    """The lines, as they are found; of all cases, or those with one of these parts in their names."""
    yield "| case | n | ms at n, 2n, 4n | exponent |"
    yield "|---|---|---|---|"
    above = 0
    for case in CASES:
        if chosen and not any(part in case.name for part in chosen):
            continue
        found = grown(case, SECONDS_MAX)
        exponent = found.exponent()
        above += exponent is not None and exponent >= ABOVE_LINEAR and not case.nature
        yield line(case, found)
    yield f"{above} cases above linear."


def run(chosen: Sequence[str]) -> int:
    """Print the table."""
    for text in table(chosen):
        print(text, flush=True)
    return 0

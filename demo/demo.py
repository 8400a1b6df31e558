"""Inlay in a minute: generate TPC-H, answer its 22 queries, check every answer, and take one as a data frame.

`make demo` runs it. INLAY_DEMO_SF sets the scale, 1 (a gigabyte of raw data) by default; references exist for 0.01
and 1, at other scales answers are shown but not checked. Ends with code 1 when an answer is wrong.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from statistics import geometric_mean

import inlay
from tests.tpch.workload import QUERY_NUMBERS, SORT_KEYS, difference, query_text, reference

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
TITLES = {
    1: "pricing summary report",
    2: "minimum cost supplier",
    3: "shipping priority",
    4: "order priority checking",
    5: "local supplier volume",
    6: "forecasting revenue change",
    7: "volume shipping",
    8: "national market share",
    9: "product type profit",
    10: "returned item reporting",
    11: "important stock",
    12: "shipping modes",
    13: "customer distribution",
    14: "promotion effect",
    15: "top supplier",
    16: "parts and suppliers",
    17: "small-quantity orders",
    18: "large volume customers",
    19: "discounted revenue",
    20: "potential part promotion",
    21: "suppliers who kept waiting",
    22: "global sales opportunity",
}
COLORS = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def paint(text: str, code: str) -> str:
    """Text in a colour, where the output is a terminal."""
    return f"\033[{code}m{text}\033[0m" if COLORS else text


def verdict(number: int, scale: float, names: list[str], rows: list[tuple[object, ...]]) -> tuple[bool, str]:
    """Whether an answer may stand, and what to print about it."""
    expected = reference(number, scale)
    if expected is None:
        return True, paint("no reference", "2")
    problem = difference(expected, rows, SORT_KEYS[number], names=names)
    return (False, paint(f"WRONG: {problem}", "31;1")) if problem else (True, paint("equal", "32"))


def run_queries(con: inlay.Connection, scale: float) -> tuple[dict[int, float], int]:
    """Run and print the 22 queries; milliseconds by query, and how many answers are wrong."""
    milliseconds: dict[int, float] = {}
    wrong = 0
    print(paint(f"{'query':<34}{'rows':>8}{'time':>12}   answer", "1"))
    for number in QUERY_NUMBERS:
        start = time.perf_counter()
        result = con.execute(query_text(number))
        rows = result.fetchall()
        milliseconds[number] = (time.perf_counter() - start) * 1e3
        right, words = verdict(number, scale, [column[0] for column in result.description], rows)
        wrong += not right
        label = f"Q{number:<3} {TITLES[number]}"
        print(f"{label:<34}{len(rows):>8,}{milliseconds[number]:>9.1f} ms   {words}", flush=True)
    return milliseconds, wrong


def write_chart(milliseconds: dict[int, float], scale: float) -> Path:
    """Bars of the timings as a PNG."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 3.4), layout="constrained")
    bars = axes.bar([f"Q{number}" for number in milliseconds], list(milliseconds.values()), color="#0b7a75")
    axes.bar_label(bars, fmt="%.0f", fontsize=7, padding=2)
    axes.set_ylabel("milliseconds")
    axes.set_title(f"make demo: the 22 TPC-H queries at scale {scale:g}", fontsize=10)
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    IMAGES.mkdir(parents=True, exist_ok=True)
    path = IMAGES / f"demo-sf{scale:g}.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def main() -> int:
    """Run the demonstration; exit code."""
    scale = float(os.environ.get("INLAY_DEMO_SF", "1"))
    print(f"\n{paint(f'Inlay {inlay.__version__}', '1;36')}  an analytical database inside this Python process\n")
    with inlay.connect() as con:
        start = time.perf_counter()
        con.execute(f"CALL tpch_dbgen(sf := {scale:g})")
        lines = con.execute("SELECT count(*) FROM lineitem").fetchall()[0][0]
        print(f"TPC-H at scale {scale:g} generated in {time.perf_counter() - start:.1f} s: {lines:,} order lines\n")

        milliseconds, wrong = run_queries(con, scale)
        total, mean = sum(milliseconds.values()) / 1e3, geometric_mean(list(milliseconds.values()))
        print(paint(f"{'total':<42}{total:>10.2f} s    geometric mean {mean:.1f} ms", "1"))

        print(f"\n{paint('An answer as a pandas data frame:', '1')} con.execute(q5).df()\n")
        print(con.execute(query_text(5)).df().to_string(index=False))
    path = write_chart(milliseconds, scale)
    print(f"\nChart written to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
    if wrong:
        print(paint(f"{wrong} of 22 answers are WRONG", "31;1"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

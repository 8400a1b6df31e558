"""Command line of the benchmarks.

    python -m bench tpch --sf 1                                   all engines, table, chart and history written
    python -m bench tpch --sf 1 --only inlay,duckdb --queries 1,6 a quick look; nothing is written
    python -m bench latency                                       SELECT 1 on an open connection and in a new process
    python -m bench export --sf 1                                 lineitem to NumPy, pandas, Arrow and Polars
    python -m bench ingest --sf 1                                 lineitem from NumPy, pandas, Polars, Arrow and files
    python -m bench ssdbm --megabytes 1000                        selection, projection, grouping, join into arrays
    python -m bench tpch-file --sf 1                              TPC-H from a file, hot and cold
    python -m bench tpcds --sf 1                                  99 queries
    python -m bench ssb --sf 1                                    13 queries of the Star Schema Benchmark
    python -m bench groupjoin --rows 1e7                          15 questions of db-benchmark
    python -m bench groupjoin --rows 1e8 --limits 1000            the same from a file, in new processes under limits
    python -m bench clickbench --rows 5e6                         43 queries on generated page views
    python -m bench olap --rows 6e6                               nine group-bys of one to three columns
    python -m bench voters --rows 7.5e6                           a forest trained and applied, inside and beside
    python -m bench udf --rows 2.56e8                             functions in Python beside built-in operators
    python -m bench points                                        single rows of a million, beside SQLite
    python -m bench scale --scales 0.1,1 --limits 200,500,2000    one thread and two, memory limits
    python -m bench cancel --sf 1 --rows 1e6 --reps 20            how soon a cancelled query ends, all suites
    python -m bench everyday                                      analysts' work over two million rows, beside DuckDB
    python -m bench functions --queries text,JSON                 functions over a million rows, by families or names
    python -m bench growth --queries wide,join                    how time grows from n to 4n, cases by parts of names
    python -m bench versions --rows 1e5                           memory that an open reader keeps while rows change
    python -m bench protocol --sf 0.1 --reps 3                    whole tables through networks, beside other servers
    python -m bench serve                                         single answers of the server, many clients
    python -m bench reliability                                   crash tests in full, files beside DuckDB and SQLite
    python -m bench reliability --counts short --figures inserts  a quick look; nothing is written

Ends with code 1 when an answer of Inlay differs or fails, or a test or goal of reliability is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Sequence

from bench import cases, engines, estimates, latency, report
from bench.cancel import suite as cancel_suite
from bench.clickbench import suite as clickbench_suite
from bench.everyday import functions as functions_suite
from bench.everyday import suite as everyday_suite
from bench.export import suite as export_suite
from bench.groupjoin import limited
from bench.groupjoin import suite as groupjoin_suite
from bench.growth import suite as growth_suite
from bench.ingest import suite as ingest_suite
from bench.olap import suite as olap_suite
from bench.points import suite as points_suite
from bench.protocol import suite as protocol_suite
from bench.reliability import page
from bench.reliability import suite as reliability_suite
from bench.reliability.counts import MODULES
from bench.reliability.suite import MEASURES
from bench.scale import suite as scale_suite
from bench.serve import suite as serve_suite
from bench.ssb import suite as ssb_suite
from bench.ssdbm import suite as ssdbm_suite
from bench.tpcds import suite as tpcds_suite
from bench.tpch import suite
from bench.tpchfile import suite as tpchfile_suite
from bench.udf import suite as udf_suite
from bench.versions import suite as versions_suite
from bench.voters import suite as voters_suite
from bench.voters.generate import ROWS as VOTERS
from bench.worker import Worker
from tests.tpch.workload import QUERY_NUMBERS


def groupjoin(rows: int, limits: Sequence[int] | None) -> cases.Suite:
    """In memory, or from a file under limits."""
    return limited.suite(rows, limits) if limits else groupjoin_suite.suite(rows)


SUITES: dict[str, Callable[[argparse.Namespace], cases.Suite]] = {
    "export": lambda options: export_suite.suite(options.sf),
    "ingest": lambda options: ingest_suite.suite(options.sf),
    "ssdbm": lambda options: ssdbm_suite.suite(options.megabytes),
    "tpcds": lambda options: tpcds_suite.suite(options.sf),
    "ssb": lambda options: ssb_suite.suite(options.sf),
    "groupjoin": lambda options: groupjoin(options.rows or 10_000_000, options.limits),
    "clickbench": lambda options: clickbench_suite.suite(options.rows or clickbench_suite.ROWS),
    "points": lambda options: points_suite.suite(options.rows or points_suite.ROWS),
    "scale": lambda options: scale_suite.suite(options.scales, options.limits),
    "cancel": lambda options: cancel_suite.suite(options.sf, options.rows or 1_000_000),
    "tpch-file": lambda options: tpchfile_suite.suite(options.sf),
    "everyday": lambda options: everyday_suite.suite(options.rows or everyday_suite.ROWS),
    "functions": lambda options: functions_suite.suite(options.rows or functions_suite.ROWS),
    "olap": lambda options: olap_suite.suite(options.rows or olap_suite.ROWS),
    "udf": lambda options: udf_suite.suite(options.rows or udf_suite.ROWS),
    "voters": lambda options: voters_suite.suite(options.rows or VOTERS),
}


def arguments() -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "suite", choices=["tpch", "latency", "growth", "versions", "protocol", "serve", *SUITES, "reliability"]
    )
    parser.add_argument("--sf", type=float, default=1.0, help="TPC-H scale factor")
    parser.add_argument(
        "--rows",
        type=whole,
        default=None,
        help="rows of everyday, functions, groupjoin, clickbench, olap, points, udf, voters and versions, as in 1e7",
    )
    parser.add_argument("--reps", type=int, default=7, help="timed repetitions of each query")
    parser.add_argument("--scales", type=floats, default=None, help="scales of the suite scale, as in 0.1,1,10")
    parser.add_argument("--limits", type=integers, default=None, help="memory limits of scale and groupjoin in MB")
    parser.add_argument("--threads", type=int, default=2, help="threads of each engine")
    parser.add_argument("--only", type=names, default=None, help="engines, of " + ",".join(engines.ALL))
    parser.add_argument("--queries", type=terms, default=None, help="query numbers or parts of names, as in 1,6")
    parser.add_argument("--counts", choices=["full", "short", "none"], default="full", help="tests of reliability")
    parser.add_argument("--tests", type=part_of(MODULES), default=tuple(MODULES), help="of " + ",".join(MODULES))
    parser.add_argument("--figures", type=part_of(MEASURES), default=MEASURES, help="of " + ",".join(MEASURES))
    parser.add_argument("--megabytes", type=int, default=1000, help="largest table of ssdbm: 10, 100, 1000 or 10000")
    parser.add_argument("--large-sf", type=float, default=10.0, help="scale of the file larger than its memory limit")
    return parser.parse_args()


def names(text: str) -> list[str]:
    """Engine names from `a,b`."""
    chosen = text.split(",")
    known = [*engines.ALL, "inlay_indexed", "pandas", "numpy", "sqlite", "csv", "hdf5", *protocol_suite.NAMES]
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown engine {unknown[0]}, choose from {', '.join(known)}")
    return chosen


def floats(text: str) -> list[float]:
    """Numbers from `0.1,1`."""
    return [float(part) for part in text.split(",")]


def integers(text: str) -> list[int]:
    """Numbers from `200,500`; none from an empty text."""
    return [int(part) for part in text.split(",") if part]


def whole(text: str) -> int:
    """A number of rows from `10000000` or `1e7`."""
    return int(float(text))


def terms(text: str) -> list[str]:
    """What chooses cases, from `1,6`."""
    return [term for term in text.split(",") if term]


def numbers(options: argparse.Namespace) -> list[int]:
    """The numbers of the chosen queries of TPC-H."""
    chosen = [int(term) if term.isdecimal() else 0 for term in options.queries or map(str, QUERY_NUMBERS)]
    if not set(chosen) <= set(QUERY_NUMBERS):
        raise SystemExit("query numbers are 1 to 22")
    return chosen


def part_of(known: Collection[str]) -> Callable[[str], tuple[str, ...]]:
    """A reader of `a,b` that knows its words."""

    def chosen(text: str) -> tuple[str, ...]:
        words = tuple(text.split(","))
        if not set(words) <= set(known):
            raise argparse.ArgumentTypeError(f"choose from {', '.join(known)}")
        return words

    return chosen


def main() -> int:
    """Run one suite; exit code."""
    options = arguments()
    if options.suite == "reliability":
        return reliability(options)
    if options.suite == "growth":
        return growth_suite.run(options.queries or ())
    if options.suite == "versions":
        return versions_suite.run(options.only or list(versions_suite.ENGINES), options.rows or versions_suite.UPDATES)
    if options.suite == "protocol":
        return protocol_suite.run(options.only, options.sf, options.reps)
    if options.suite == "serve":
        return serve_suite.run(options.only, options.rows or serve_suite.IDLE)
    if options.suite in SUITES:
        chosen = SUITES[options.suite](options)
        return cases.main(chosen, options.only, options.sf, options.threads, options.reps, options.queries)
    workers, _ = suite.start_engines(options.only or engines.DEFAULT, options.threads)
    try:
        return run(options, workers)
    finally:
        for worker in workers.values():
            worker.close()


def reliability(options: argparse.Namespace) -> int:
    """Counts and figures on one page, written on a complete run; exit code."""
    found = reliability_suite.run(
        options.counts, options.figures, options.threads, options.sf, options.large_sf, options.tests
    )
    text = page.text(found, options.counts, options.threads)
    print("\n" + text)
    if options.counts == "full" and set(options.figures) == set(MEASURES) and set(options.tests) == set(MODULES):
        report.write("reliability", "# Reliability\n\n" + text, page.history(found, options.counts, options.threads))
        page.put_into_document(text)
        print("written: bench/results/reliability.md, bench/results/reliability.jsonl, docs/reliability.md")
    failed = found.failed()
    print("\n".join(f"FAILED: {problem}" for problem in failed))
    return 1 if failed else 0


def run(options: argparse.Namespace, workers: dict[str, Worker]) -> int:
    """Measure, print, and on a complete run write table, history and chart."""
    if options.suite == "latency":
        print("\n".join(report.latency_table(latency.measure(workers), latency.wheel_bytes())))
        return 0
    complete = options.only is None and options.queries is None
    latencies = latency.measure(workers) if complete else {}
    results = suite.run(workers, options.sf, numbers(options), options.reps)
    wheel = latency.wheel_bytes()
    text = report.markdown(results, latencies, options.sf, options.threads, options.reps, wheel)
    print("\n" + text)
    if "inlay" in results:
        found = {f"Q{number}": errors for number, errors in results["inlay"].q_errors.items()}
        print("\n".join(estimates.lines(found)))
    problems = results["inlay"].problems if "inlay" in results else {}
    if problems:
        print(
            f"FAILED: Inlay's answers to {', '.join(f'Q{number}' for number in sorted(problems))} are wrong or missing"
        )
        return 1
    if "inlay" not in results and (options.only is None or "inlay" in options.only):
        print("FAILED: Inlay did not take part")
        return 1
    if complete:
        name = f"tpch-sf{options.sf:g}"
        report.write(name, text, report.history(results, latencies, options.sf, options.threads, wheel))
        report.chart(results, options.sf, report.IMAGES / f"{name}.png")
        print(f"written: bench/results/{name}.md, bench/results/{name}.jsonl, docs/images/{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())

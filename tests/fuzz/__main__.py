"""Command line of the SQL fuzzer.

python -m tests.fuzz --queries 200000           a run with a new seed, on all cores
python -m tests.fuzz --case 17:3:42             one case again, with its tables
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.fuzz.runner import BESIDE_DUCKDB, QUERIES_PER_SCHEMA, Finding, Report, run_schema


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=2_000, help="how many queries are made")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what they are made from")
    parser.add_argument(
        "--first", type=int, default=0, help="the first schema, of 100 queries each, to go on with a run"
    )
    parser.add_argument("--case", help="seed:schema:query of one case to run")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help="a file to which findings are added")
    options = parser.parse_args()
    if options.case:
        seed, schema, query = map(int, options.case.split(":"))
        report = run_schema(seed, schema, range(query, query + 1))
        print_findings(report.findings, with_tables=True)
        print(dict(report.outcomes))
        return bool(report.findings)
    schemas = range(options.first, options.first - (-options.queries // QUERIES_PER_SCHEMA))
    report = run(options.seed, schemas, options.processes, options.out)
    print_report(report, options.seed)
    return bool(report.findings)


def run(seed: int, schemas: range, processes: int, out: Path | None) -> Report:
    """All schemas on several processes; what they find is in the file `out` as soon as it is found."""
    report = Report()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        for schema, part in zip(schemas, pool.map(run_schema, [seed] * len(schemas), schemas), strict=True):
            report.add(part)
            if out:
                with out.open("a") as file:
                    file.writelines(text(finding, with_tables=True) + "\n" for finding in part.findings)
            if schema % 100 == 99:
                queries = sum(report.outcomes[outcome] for outcome in BESIDE_DUCKDB)
                print(f"{queries} queries, {len(report.findings)} findings", flush=True)
    return report


def print_report(report: Report, seed: int) -> None:
    print(f"seed {seed}")
    for outcome, count in sorted(report.outcomes.items()):
        print(f"{count:10}  {outcome}")
    for message, count in report.refusals.most_common(15):
        print(f"{count:10}  refused: {message}")
    print_findings(report.findings[:10], with_tables=False)


def print_findings(findings: list[Finding], *, with_tables: bool) -> None:
    for finding in findings:
        print(text(finding, with_tables=with_tables))


def text(finding: Finding, *, with_tables: bool) -> str:
    """A finding as something to paste."""
    tables = "".join(f"{statement};\n" for statement in finding.script) if with_tables else ""
    return f"\n-- {finding.case} ({finding.check}): {finding.detail}\n{tables}{finding.sql};"


if __name__ == "__main__":
    sys.exit(main())

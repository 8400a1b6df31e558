"""A short run of the fuzzer, and that it would notice."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

pytest.importorskip("duckdb")

from tests.fuzz import changes
from tests.fuzz.__main__ import text
from tests.fuzz.compare import same
from tests.fuzz.files import READERS, run
from tests.fuzz.functions import Soak, growth
from tests.fuzz.runner import run_schema


@pytest.mark.parametrize("schema", range(6))
def test_random_queries_have_one_answer(schema: int) -> None:
    report = run_schema(2026, schema)
    # What is refused is counted by the long run; here only answers count.
    wrong = [finding for finding in report.findings if finding.check != "duckdb" or "rows and" in finding.detail]
    assert not wrong, text(wrong[0], with_tables=True)
    assert report.outcomes["same"] > 60, report.outcomes


@pytest.mark.parametrize("case", range(6))
def test_random_changes_leave_the_same_tables(case: int, tmp_path: Path) -> None:
    report = changes.Report()
    changes.run_case(2026, case, tmp_path, report)
    assert not report.findings, report.findings[0]
    assert sum(count for outcome, count in report.outcomes.items() if outcome.endswith(": same")) > 15, report.outcomes


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([(1, "a"), (2, None)], [(2, None), (1, "a")], True),
        ([(0.1 + 0.2,)], [(0.3,)], True),
        ([(Decimal("1.50"),)], [(Decimal("1.5"),)], True),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)], False),
        ([(True,)], [(1,)], True),
        ([(None,)], [(0,)], False),
        ([("1",)], [(1,)], False),
        ([(1.0000001,)], [(1.0,)], False),
        ([], [(None,)], False),
    ],
)
def test_answers_are_compared_as_rows(
    left: list[tuple[object, ...]], right: list[tuple[object, ...]], expected: bool
) -> None:
    assert same(left, right) is expected


@pytest.mark.parametrize("kind", READERS)
def test_damaged_files_are_read_or_refused(kind: str) -> None:
    counts, findings = run(kind, lambda number: number < 150, seed=2026)
    assert not findings, "\n".join(findings)
    # Some damage does no harm, and some is noticed.
    assert counts["read"] > 5 and counts.total() - counts["read"] > 5, counts


def test_functions_answer_as_the_expressions_that_they_stand_for() -> None:
    soak = Soak(2026)
    for _ in range(400):
        soak.step()
    soak.con.close()
    assert soak.counts["same"] > 300 and soak.counts["errors"] > 3, soak.counts


def test_memory_that_grows_is_noticed() -> None:
    looks = [(float(second), 100.0) for second in range(600)]
    assert growth(looks, 600) is None
    assert growth([(second, mib + (second > 200) * (second - 200) / 2) for second, mib in looks], 600) is not None

"""Growth: every case runs, and what was measured becomes an exponent and a mark."""

from __future__ import annotations

import pytest

from bench.growth.cases import CASES, Case
from bench.growth.measure import Grown, seconds_of
from bench.growth.suite import line


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_case_runs(case: Case) -> None:
    assert seconds_of(case, 12, 1) >= 0


def test_names_tell_cases_apart() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_the_square_is_marked_unless_it_is_natural() -> None:
    square = Grown(100, (0.01, 0.04, 0.16))
    assert square.exponent() == pytest.approx(2.0)
    assert "above linear" in line(Case("a", 1, (), ""), square)
    assert "in pairs" in line(Case("a", 1, (), "", nature="in pairs"), square)
    assert "above linear" not in line(Case("a", 1, (), ""), Grown(100, (0.01, 0.02, 0.04)))


def test_a_case_without_times_says_why() -> None:
    assert Grown(0, (), "more than 60 s").exponent() is None
    assert "more than 60 s" in line(Case("a", 1, (), ""), Grown(0, (), "more than 60 s"))

"""Answers of Sail are those of Inlay, or are refused by name: what is quick of `tests.cluster.differential`."""

from __future__ import annotations

import pytest

from tests.cluster import differential

pytestmark = pytest.mark.skipif(not differential.has_sail(), reason="pysail and pyspark-client are not installed")

#: How many queries of a suite are equal at least: what is refused is not for want of trying.
EQUAL_MIN = {"tpch": 22, "friendly": 31, "fuzz": 30}


@pytest.mark.parametrize("suite", list(EQUAL_MIN))
def test_no_answer_is_wrong_and_none_fails(suite: str) -> None:
    [outcome] = differential.run([suite], "sail://local")
    assert not outcome.faults, "\n".join(outcome.faults)
    assert outcome["equal"] >= EQUAL_MIN[suite], outcome.line()

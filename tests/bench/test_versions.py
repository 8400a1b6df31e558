"""The benchmark of versions finds what an open reader keeps, and an engine that loses the reader's rows."""

from __future__ import annotations

from bench.versions.suite import table


def test_every_engine_has_a_line() -> None:
    lines = list(table(["inlay", "sqlite"], 50))
    assert [line.split(" | ")[:2] for line in lines[2:]] == [["| inlay", "50"], ["| sqlite", "50"]]

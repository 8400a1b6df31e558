"""Each suite runs at a tiny size with Inlay and DuckDB, whose answers agree; wrong and late answers are found out."""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import cases, data, page
from bench.answers import Digest, difference, digest
from bench.cancel import suite as cancel
from bench.clickbench import suite as clickbench
from bench.clickbench.generate import COLUMNS
from bench.everyday import functions as functions
from bench.everyday import suite as everyday
from bench.groupjoin import suite as groupjoin
from bench.olap import suite as olap
from bench.points import suite as points
from bench.scale import suite as scale
from bench.ssb import generate as ssb_tables
from bench.ssb import suite as ssb
from bench.tpcds import suite as tpcds
from bench.tpchfile import suite as tpchfile
from bench.udf import suite as udf
from bench.voters import suite as voters
from bench.worker import EngineFailed, Worker

pytest.importorskip("duckdb")

ENGINES = ("inlay", "duckdb")

SUITES: dict[str, tuple[Callable[[], cases.Suite], list[str] | None]] = {
    "tpcds": (lambda: tpcds.suite(0.01), ["3", "7", "42", "96"]),
    "ssb": (lambda: ssb.suite(0.002), None),
    "groupjoin": (lambda: groupjoin.suite(2_000), None),
    "clickbench": (lambda: clickbench.suite(3_000), None),
    "everyday": (lambda: everyday.suite(2_000), None),
    "functions": (lambda: functions.suite(500), None),
    "olap": (lambda: olap.suite(2_000), None),
    "points": (lambda: points.suite(3_000), None),
    "scale": (lambda: scale.suite([0.01], [100]), ["Q6 ", "Q1 "]),
    "udf": (lambda: udf.suite(12_800), None),
    "voters": (lambda: voters.suite(20_000), None),
    "cancel": (lambda: cancel.suite(0.01, 2_000), ["tpch Q1", "groupjoin 10", "changes "]),
    "tpch-file": (lambda: tpchfile.suite(0.01), ["Q6 hot", "Q6 cold"]),
}


class Here:
    """A worker without a process of its own."""

    def __init__(self, engine: str, threads: int, session: Callable[[str, int], Any], _seconds_max: float) -> None:
        self.session = session(engine, threads)
        self.version = self.session.version()

    def call(self, method: str, *arguments: Any, seconds_max: float | None = None) -> Any:
        try:
            return getattr(self.session, method)(*arguments)
        except Exception as problem:
            raise EngineFailed(f"{type(problem).__name__}: {problem}") from problem

    def alive(self) -> bool:
        return True

    def close(self) -> None:
        self.session.close()


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The data of all suites, made once and dropped afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "CACHE", tmp_path_factory.mktemp("bench"))
        patch.setattr(points, "MIXED_SECONDS", 0.05)
        # A worker collects garbage before each run; here it would go through all that pytest holds.
        gc.freeze()
        yield
        gc.unfreeze()


@pytest.mark.parametrize("name", SUITES)
def test_suite_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "Worker", Here)
    make, terms = SUITES[name]
    suite = make().chosen(terms)
    results = cases.run(suite, ENGINES, 2, 1)
    assert {engine: result.problems for engine, result in results.items()} == {engine: {} for engine in ENGINES}
    for engine, result in results.items():
        assert set(result.seconds) == {case for case in suite.cases if suite.takes_part(engine, case, 0)}, engine
    assert set(results["inlay"].seconds) == set(suite.cases)
    text = page.text(suite, results, 2, 1)
    assert text.count("\n| ") >= len(suite.cases)
    found = page.figures(suite, results)
    peers = [engine for engine in results if engine != "inlay"]
    shared = {case for case in suite.cases if any(suite.takes_part(engine, case, 0) for engine in peers)}
    assert set(found["to_best"]) == shared
    assert found["lost"] == len(page.ranking(suite, results)) - 1


def test_tables_have_the_sizes_of_the_specification() -> None:
    assert len(COLUMNS) == 105
    sizes = {name: sum(part.num_rows for part in parts) for name, parts in ssb_tables.tables(0.01)}
    assert sizes["dates"] == 2556
    assert sizes["customer"] == 300
    assert abs(sizes["lineorder"] - 60_000) < 1_000
    assert ssb_tables.sizes(4)["part"] == 600_000


class Odd:
    """An engine that is wrong, late, or gone, as the case says."""

    def __init__(self, engine: str, _threads: int) -> None:
        self.engine = engine

    def version(self) -> str:
        return "1"

    def prepare(self, case: str) -> None:
        if self.engine == "inlay" and case == "gone":
            raise SystemExit(3)
        if self.engine == "inlay" and case == "late":
            time.sleep(60)

    def summary(self, case: str) -> dict[str, float]:
        return {"sum": 2.0 if self.engine == "inlay" and case == "wrong" else 1.0}

    def run(self, _case: str) -> tuple[float, float]:
        return (0.002 if self.engine == "inlay" else 0.001), 0.0

    def close(self) -> None:
        """Nothing."""


def test_wrong_late_and_dead_engines_fail_their_case_alone() -> None:
    suite = cases.Suite(
        name="odd",
        title="Odd",
        remarks="",
        engines=ENGINES,
        cases=["wrong", "gone", "late", "right"],
        session=functools.partial(Odd),
        left_out=lambda engine, case: "it never is" if (engine, case) == ("duckdb", "late") else "",
        seconds_max=2.0,
    )
    results = cases.run(suite, None, 1, 2)
    problems = results["inlay"].problems
    assert problems["wrong"] == "differs: {'sum': 2.0} instead of {'sum': 1.0}"
    assert problems["gone"] == "the process ended with code 3"
    assert problems["late"] == "no answer within 2 s"
    assert results["inlay"].seconds == {"right": [0.002, 0.002]}
    assert page.to_best_peer(page.medians(suite, results)) == {"right": (2.0, "duckdb")}
    text = page.text(suite, results, 1, 2)
    assert "| wrong | wrong | 1.00 ms ±0 % |" in text
    assert "- DuckDB, late: left out: it never is" in text
    assert "right: 2.00 ms, DuckDB 1.00 ms" in page.ranking(suite, results)[1]


def test_worker_is_killed_when_it_takes_too_long() -> None:
    worker = Worker("duckdb", 1, Odd)
    with pytest.raises(EngineFailed, match="no answer within 0 s"):
        Worker("inlay", 1, Odd).call("prepare", "late", seconds_max=0.1)
    worker.close()
    assert not worker.alive()


def rows(*values: tuple[Any, ...]) -> Digest:
    return digest([*values])


def test_answers_are_compared_up_to_ties() -> None:
    expected = rows(("a", 5), ("b", 3), ("c", 3))
    assert difference(rows(("b", 3), ("a", 5), ("c", 3)), expected) is None
    assert difference(rows(("a", 5), ("x", 3), ("b", 3)), expected, keys=(1,)) is None
    assert difference(rows(("x", 5), ("b", 3), ("c", 3)), expected, keys=(1,)) is not None
    assert difference(rows(("x", 5), ("b", 3), ("c", 3)), expected, keys=(1,), offset=True) is None
    assert difference(rows(("b", 3), ("a", 5), ("c", 3)), expected, keys=(1,)) is not None
    assert difference(rows(("y", 1), ("x", 2), ("z", 3)), expected, keys=()) is None
    assert difference(rows(("a", 5)), expected) == "1 rows instead of 3"
    assert difference(rows((2**60,)), rows((2**60 + 1,))) is not None
    assert difference(rows((0.1 + 0.2,)), rows((0.3,))) is None
    assert difference(rows((None,)), rows((0,))) is not None


def test_long_answers_are_compared_by_their_columns(tmp_path: Path) -> None:
    many = [(number, f"text {number}", None) for number in range(70_000)]
    assert difference(digest(many), digest(many[::-1])) is None
    changed = [*many[:-1], (69_999, "text 69998", None)]
    assert "column 2" in (difference(digest(changed), digest(many)) or "")


def test_cases_are_chosen_by_number_name_or_part() -> None:
    suite = cases.Suite("x", "", "", ENGINES, ["Q1", "Q11", "Q1 cold", "by key"], Odd)
    assert suite.chosen(["1"]).cases == ["Q1"]
    assert suite.chosen(["key", "Q11"]).cases == ["Q11", "by key"]
    assert suite.chosen(["cold"]).cases == ["Q1 cold"]
    with pytest.raises(SystemExit, match="no case of x has z; there are: Q1, Q11"):
        suite.chosen(["z"])


def test_a_file_that_was_not_written_whole_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "t.parquet"
    with pytest.raises(RuntimeError), data.whole(path) as unfinished:
        unfinished.write_text("half")
        raise RuntimeError("killed")
    assert not path.exists()
    with data.whole(path) as unfinished:
        unfinished.write_text("all of it")
    assert path.read_text() == "all of it" and list(path.parent.iterdir()) == [path]

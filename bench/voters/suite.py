"""How long it takes to classify voters, and how long until the data are in the form that scikit-learn takes.

The forest is the same everywhere: one voter in ten trains it. All engines give the same sums by precinct, but for the
order in which a forest meets the rows that train it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.cases import Suite, timed
from bench.data import files_of, scratch
from bench.voters.engines import ENGINES
from bench.voters.generate import TABLES, tables

CASES = ("wrangling", "total")
# Forests that met rows in another order differ by so much of all voters.
DIFFERENCE_MAX = 0.05


class VotersSession:
    """One engine, inside its process."""

    def __init__(self, engine: str, threads: int, *, files: Mapping[str, Path]) -> None:
        self.folder = scratch("voters-")
        self.engine = ENGINES[engine](Path(self.folder.name), threads)
        self.engine.store(files)

    def version(self) -> str:
        return str(self.engine.version())

    def prepare(self, case: str) -> None:
        """Import what the pipeline uses: that is not what is measured."""
        importlib.import_module("sklearn.ensemble")

    def run(self, case: str) -> tuple[float, float]:
        return timed(self.engine.wrangled if case == CASES[0] else self.engine.answer)

    def summary(self, case: str) -> dict[str, float]:
        if case == CASES[0]:
            ids, precinct, label, matrix = self.engine.wrangled()
            return {
                "ids": float(ids.sum(dtype="i8")),
                "precincts": float(precinct.sum(dtype="i8")),
                "labels": float(label.sum(dtype="i8")),
                "features": float(matrix.sum(dtype="f8")),
            }
        precinct, votes = self.engine.answer()
        return {"precincts": float(len(precinct)), "votes": float(votes.sum())}

    def close(self) -> None:
        self.engine.close()
        self.folder.cleanup()


def differs(rows: int, _engine: str, case: str, found: Any, expected: Any) -> str | None:
    """What differs: nothing may before training, and few votes afterwards."""
    allowed = 0.0 if case == CASES[0] else DIFFERENCE_MAX * rows
    same = found.keys() == expected.keys() and all(abs(found[name] - expected[name]) <= allowed for name in expected)
    return None if same else f"{found} instead of {expected}"


def suite(rows: int) -> Suite:
    """The suite with so many voters."""
    return Suite(
        name="voters",
        title=f"Classification of {rows:,} voters",
        remarks="From opening what is stored: `wrangling` until the matrix of features and the labels are there, "
        "`total` until the votes of each precinct are. Inlay trains and classifies inside of one query, the others "
        "beside it.",
        engines=list(ENGINES),
        cases=list(CASES),
        session=functools.partial(VotersSession, files=files_of(f"voters-{rows}", TABLES, lambda: tables(rows))),
        difference=functools.partial(differs, rows),
        shows_memory=True,
        seconds_max=900.0,
        patience=120.0,
    )

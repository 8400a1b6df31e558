"""The pipeline by engine. What is stored is written before the clock runs; each run begins by opening it.

`wrangled` ends with what scikit-learn takes: the matrix of features, the labels and the precincts of all voters.
`answer` goes on: a forest is trained on one voter in `TRAINED`, classifies the others, and its votes are summed up.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.voters.generate import FEATURES

TRAINED = 10
PARAMETERS = {"n_estimators": 8, "max_depth": 10, "random_state": 1, "n_jobs": 2}
LABEL = "CAST(draw * (first_party + second_party) < first_party AS INTEGER)"
JOINED = "FROM voters JOIN precincts ON voters.precinct = precincts.precinct"
WRANGLED = f"SELECT id, voters.precinct AS precinct, {LABEL} AS label, {', '.join(FEATURES)} {JOINED}"
# Engines with 32-bit floats convert features, on all their threads.
FLOATS = ", ".join(f"CAST({name} AS REAL) AS {name}" for name in FEATURES)
WRANGLED_FLOATS = f"SELECT id, voters.precinct AS precinct, {LABEL} AS label, {FLOATS} {JOINED}"
Wrangled = tuple[Any, Any, Any, Any]
Answer = tuple[Any, Any]


def parts(source: Path) -> Iterator[Any]:
    """A Parquet file in record batches."""
    import pyarrow.parquet as pq

    yield from pq.ParquetFile(source).iter_batches(100_000)


class Beside:
    """Data that come out of a store, and are worked on by NumPy and scikit-learn."""

    def __init__(self, folder: Path, _threads: int) -> None:
        self.folder = folder

    def version(self) -> str:
        return str(np.__version__)

    def store(self, files: Mapping[str, Path]) -> None:
        """Write what is opened later."""
        raise NotImplementedError

    def wrangled(self) -> Wrangled:
        """Ids, precincts, labels, and a feature in each column of a matrix."""
        raise NotImplementedError

    def answer(self) -> Answer:
        """Numbers of precincts, and how many of their voters are classified as of the first party."""
        from sklearn.ensemble import RandomForestClassifier

        ids, precinct, label, matrix = self.wrangled()
        trains = ids % TRAINED == 0
        forest = RandomForestClassifier(**PARAMETERS).fit(matrix[trains], label[trains])
        found = np.bincount(precinct[~trains], weights=forest.predict(matrix[~trains]))
        return np.arange(len(found)), found

    def close(self) -> None:
        """Nothing is open between runs."""


def labelled(voters: Mapping[str, Any], precincts: Mapping[str, Any]) -> Wrangled:
    """Columns joined and labelled by NumPy; the precincts are in order."""
    precinct = np.asarray(voters["precinct"])
    first, second = np.asarray(precincts["first_party"]), np.asarray(precincts["second_party"])
    place = np.searchsorted(np.asarray(precincts["precinct"]), precinct)
    label = np.asarray(voters["draw"]) * (first + second)[place] < first[place]
    return np.asarray(voters["id"]), precinct, label.astype("i4"), matrix_of(voters)


def matrix_of(columns: Mapping[str, Any]) -> Any:
    """The features as scikit-learn's forests take them without a copy."""
    return np.column_stack([np.asarray(columns[name], dtype="f4") for name in FEATURES])


READ = ("id", "precinct", "draw", *FEATURES)


class Csv(Beside):
    """Text files, read by pandas."""

    def version(self) -> str:
        import pandas as pd

        return f"(pandas {pd.__version__})"

    def store(self, files: Mapping[str, Path]) -> None:
        from pyarrow import csv

        for name, source in files.items():
            with (self.folder / f"{name}.csv").open("wb") as file:
                for number, part in enumerate(parts(source)):
                    csv.write_csv(part, file, csv.WriteOptions(include_header=number == 0))

    def wrangled(self) -> Wrangled:
        import pandas as pd

        voters = pd.read_csv(self.folder / "voters.csv", usecols=list(READ))
        return labelled(voters, pd.read_csv(self.folder / "precincts.csv"))


class NumPyFiles(Beside):
    """A file for each column, mapped into memory."""

    def version(self) -> str:
        return f"{np.__version__} (files)"

    def store(self, files: Mapping[str, Path]) -> None:
        import pyarrow.parquet as pq

        for name, source in files.items():
            file = pq.ParquetFile(source)
            for column in file.schema_arrow.names:
                np.save(self.folder / f"{name}.{column}.npy", file.read(columns=[column])[column].to_numpy())

    def wrangled(self) -> Wrangled:
        def column(name: str) -> Any:
            return np.load(self.folder / f"{name}.npy", mmap_mode="r")

        return labelled(
            {name: column(f"voters.{name}") for name in READ},
            {name: column(f"precincts.{name}") for name in ("precinct", "first_party", "second_party")},
        )


class Hdf5(Beside):
    """One file with a dataset for each column."""

    def version(self) -> str:
        import h5py

        return f"(h5py {h5py.__version__})"

    def store(self, files: Mapping[str, Path]) -> None:
        import h5py
        import pyarrow.parquet as pq

        with h5py.File(self.folder / "voters.h5", "w") as target:
            for name, source in files.items():
                file = pq.ParquetFile(source)
                for column in file.schema_arrow.names:
                    target[f"{name}/{column}"] = file.read(columns=[column])[column].to_numpy()

    def wrangled(self) -> Wrangled:
        import h5py

        with h5py.File(self.folder / "voters.h5", "r") as source:
            return labelled(
                {name: source[f"voters/{name}"][:] for name in READ},
                {name: source[f"precincts/{name}"][:] for name in ("precinct", "first_party", "second_party")},
            )


class Sqlite(Beside):
    """Rows of SQLite, joined and labelled there."""

    def version(self) -> str:
        return sqlite3.sqlite_version

    def store(self, files: Mapping[str, Path]) -> None:
        with sqlite3.connect(self.folder / "voters.sqlite") as connection:
            for name, source in files.items():
                made = False
                for part in parts(source):
                    columns = part.schema.names
                    if not made:
                        connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
                        made = True
                    marks = ", ".join("?" * len(columns))
                    rows = zip(*(column.to_pylist() for column in part.columns), strict=True)
                    connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        connection.execute("CREATE INDEX by_precinct ON precincts (precinct, first_party, second_party)")
        connection.close()

    def wrangled(self) -> Wrangled:
        connection = sqlite3.connect(self.folder / "voters.sqlite")
        rows = np.array(connection.execute(WRANGLED).fetchall(), dtype="i4")
        connection.close()
        return rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3:].astype("f4")


class DuckDB(Beside):
    """Arrays of DuckDB, joined and labelled there."""

    def __init__(self, folder: Path, threads: int) -> None:
        super().__init__(folder, threads)
        self.threads = threads

    def version(self) -> str:
        import duckdb

        return str(duckdb.__version__)

    def connect(self) -> Any:
        import duckdb

        return duckdb.connect(str(self.folder / "voters.duckdb"), config={"threads": self.threads})

    def store(self, files: Mapping[str, Path]) -> None:
        with self.connect() as connection:
            for name, source in files.items():
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{source}')")

    def wrangled(self) -> Wrangled:
        with self.connect() as connection:
            columns = connection.execute(WRANGLED_FLOATS).fetchnumpy()
        return columns["id"], columns["precinct"], columns["label"], matrix_of(columns)


class Inlay(DuckDB):
    """The whole pipeline inside of the database: an aggregate trains, a function classifies."""

    def version(self) -> str:
        import inlay

        return str(inlay.__version__)

    def connect(self) -> Any:
        import inlay

        path = self.folder / "voters.inlay"
        return inlay.connect(path, config={"threads": self.threads, "allow_python": True})

    def store(self, files: Mapping[str, Path]) -> None:
        super().store(files)
        features = ", ".join(f"{name} REAL" for name in FEATURES)
        with self.connect() as connection:
            connection.execute(f"""
                CREATE AGGREGATE trained(label INTEGER, {features}) RETURNS BLOB LANGUAGE PYTHON {{
                    import pickle
                    from sklearn.ensemble import RandomForestClassifier
                    matrix = np.column_stack([{", ".join(FEATURES)}])
                    return pickle.dumps(RandomForestClassifier(**{PARAMETERS}).fit(matrix, label))
                }};
                CREATE FUNCTION classified(model BLOB, {features}) RETURNS INTEGER LANGUAGE PYTHON_MAP {{
                    import functools, pickle
                    def loaded(model):
                        forest = pickle.loads(model)
                        # Calls run beside each other already.
                        forest.n_jobs = 1
                        return forest
                    load = globals().setdefault("load", functools.lru_cache(1)(loaded))
                    matrix = np.column_stack([{", ".join(FEATURES)}])
                    return load(model).predict(matrix).astype("i4")
                }}
            """)

    def answer(self) -> Answer:
        features = ", ".join(FEATURES)
        with self.connect() as connection:
            found = connection.execute(f"""
                WITH model AS (
                    SELECT trained(label, {features}) AS model
                    FROM ({WRANGLED_FLOATS}) AS all_voters WHERE id % {TRAINED} = 0
                )
                SELECT precinct, sum(classified((SELECT model FROM model), {features})) AS votes
                FROM voters WHERE id % {TRAINED} <> 0 GROUP BY precinct ORDER BY precinct
            """).fetchnumpy()
        return found["precinct"], found["votes"]


ENGINES: dict[str, type[Beside]] = {
    "inlay": Inlay,
    "duckdb": DuckDB,
    "numpy": NumPyFiles,
    "hdf5": Hdf5,
    "csv": Csv,
    "sqlite": Sqlite,
}

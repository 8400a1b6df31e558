"""Models by SQL: training, applying, scoring, what is stored, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import inlay

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn")

from inlay import ml  # noqa: E402  needs NumPy

TREE = "'DecisionTreeClassifier', '{\"max_depth\": 3, \"random_state\": 1}'"


@pytest.fixture
def con() -> Any:
    with inlay.connect(config={"allow_python": True}) as connection:
        ml.install(connection)
        connection.execute("""
            CREATE TABLE t AS
            SELECT i, i % 10 AS x, (i * 7) % 13 AS y, i % 2 = 0 AS flag, 2.0 * (i % 10) + 3 AS z,
                CASE WHEN i % 10 < 5 THEN 'low' ELSE 'high' END AS kind, ['a', 'b', 'c'][i % 3 + 1] AS place
            FROM range(1000) r(i)
        """)
        yield connection


def test_a_class_is_learned_and_told(con: Any) -> None:
    con.execute(f"INSERT INTO ml_store SELECT 'tree', ml_train({TREE}, kind, x, y, flag, place) FROM t")
    wrong = con.execute("""
        SELECT count(*) FROM t, ml_store
        WHERE name = 'tree' AND ml_predict_class(model, x, y, flag, place) <> kind
    """).fetchone()
    assert wrong == (0,)
    confidence = con.execute("SELECT min(ml_confidence(model, x, y, flag, place)) FROM t, ml_store").fetchone()
    assert confidence == (1.0,)
    score = con.execute("SELECT ml_score(model, kind, x, y, flag, place) FROM t, ml_store").fetchone()
    assert score == (1.0,)


def test_a_number_is_learned_and_told(con: Any) -> None:
    con.execute("INSERT INTO ml_store SELECT 'line', ml_train('LinearRegression', NULL, z, x) FROM t")
    model = "(SELECT model FROM ml_store WHERE name = 'line')"
    found = con.execute(f"SELECT round(ml_predict({model}, 100), 6), round(max(ml_predict({model}, x)), 6) FROM t")
    assert found.fetchone() == (203.0, 21.0)


def test_the_view_tells_of_models(con: Any) -> None:
    con.execute(f"INSERT INTO ml_store SELECT 'tree', ml_train({TREE}, kind, x, place) FROM t WHERE i < 500")
    found = con.execute("SELECT name, estimator, classes, rows, features, training_score FROM ml_models").fetchall()
    assert found == [("tree", "DecisionTreeClassifier", '["high", "low"]', 500, 2, 1.0)]
    parameters, versions, data = con.execute("SELECT parameters, versions, data FROM ml_models").fetchone()
    assert parameters == '{"max_depth": 3, "random_state": 1}'
    assert "scikit-learn" in versions
    assert data.startswith("crc32 ")


def test_each_group_has_its_model(con: Any) -> None:
    con.execute(f"CREATE TABLE models AS SELECT place, ml_train({TREE}, kind, x) AS model FROM t GROUP BY place")
    found = con.execute("""
        SELECT count(*), count(*) FILTER (ml_predict_class(model, x) = kind)
        FROM t JOIN models USING (place)
    """).fetchone()
    assert found == (1000, 1000)


def test_folds_are_scored(con: Any) -> None:
    (scores,) = con.execute(f"SELECT ml_cross_validate({TREE}, 4, kind, x, y) FROM t").fetchone()
    assert scores == [1.0, 1.0, 1.0, 1.0]


def test_nulls_and_nothing(con: Any) -> None:
    assert con.execute(f"SELECT ml_train({TREE}, kind, x) FROM t WHERE i < 0").fetchone() == (None,)
    assert con.execute("SELECT ml_predict(NULL::BLOB, x) FROM t LIMIT 1").fetchone() == (None,)
    con.execute(f"INSERT INTO ml_store SELECT 'tree', ml_train({TREE}, kind, nullif(x, 3), y) FROM t")
    found = con.execute("SELECT count(ml_predict_class(model, nullif(x, 3), y)) FROM t, ml_store").fetchone()
    assert found == (1000,)
    with pytest.raises(inlay.Error, match="the label is NULL in some rows"):
        con.execute(f"SELECT ml_train({TREE}, nullif(kind, 'low'), x) FROM t")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT ml_predict('abc'::BLOB, 1)", "this BLOB is no model"),
        ("SELECT ml_train('NoSuchThing', NULL, kind, x) FROM t", 'no estimator "NoSuchThing"'),
        ("SELECT ml_train('no.such.Thing', NULL, kind, x) FROM t", 'no estimator "no.such.Thing"'),
        ("SELECT ml_train('LinearRegression', '[1]', z, x) FROM t", "parameters are a JSON object"),
        ("SELECT ml_train('LinearRegression', '{', z, x) FROM t", "parameters are a JSON object"),
        ("SELECT ml_train('LinearRegression', '{\"nope\": 1}', z, x) FROM t", "unexpected keyword argument 'nope'"),
        ("SELECT ml_train('LinearRegression', NULL, z) FROM t", "at least one feature"),
        ("SELECT ml_train(kind, NULL, z, x) FROM t", "the same for all rows"),
        ("SELECT ml_predict(model, 1) FROM ml_store", "the classes of this DecisionTreeClassifier are texts"),
        ("SELECT ml_predict_class(model, 1, 2) FROM ml_store", "trained with 1 features, here are 2"),
        ("SELECT ml_predict_class(model) FROM ml_store", "features, which are missing"),
        ("SELECT ml_predict_class(model[:200], 1) FROM ml_store", "model"),
    ],
)
def test_what_is_refused(con: Any, sql: str, message: str) -> None:
    con.execute(f"INSERT INTO ml_store SELECT 'tree', ml_train({TREE}, kind, x) FROM t")
    with pytest.raises(inlay.Error) as raised:
        con.execute(sql).fetchall()
    assert message in str(raised.value)


def test_models_stay_in_the_file_and_need_permission(con: Any, tmp_path: Path) -> None:
    path = tmp_path / "models.inlay"
    with inlay.connect(path, config={"allow_python": True}) as file:
        ml.install(file)
        model = con.execute(f"SELECT ml_train({TREE}, kind, x) FROM t").fetchone()[0]
        file.execute("INSERT INTO ml_store VALUES ('tree', ?)", [model])
        ml.install(file)
    with inlay.connect(path) as file:
        with pytest.raises(inlay.Error, match="allow_python"):
            file.execute("SELECT ml_predict_class(model, 1) FROM ml_store")
        file.execute("SET allow_python = true")
        assert file.execute("SELECT ml_predict_class(model, 9) FROM ml_store").fetchone() == ("high",)
        assert ml.info(model)["rows"] == 1000
        assert ml.load(model).max_depth == 3

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


def fitted() -> Any:
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = np.arange(20.0).reshape(-1, 2)
    return make_pipeline(StandardScaler(), Ridge(alpha=1e-9)).fit(x, x[:, 0] * 3)


def test_a_pipeline_of_python_is_stored_and_applied(con: Any) -> None:
    con.execute("INSERT INTO ml_store VALUES ('mine', ?)", [ml.dump(fitted())])
    model = "(SELECT model FROM ml_store WHERE name = 'mine')"
    assert con.execute(f"SELECT round(ml_predict({model}, 5.0, 6.0), 3)").fetchone() == (15.0,)
    assert con.execute(f"SELECT round(ml_score({model}, i * 3, i, i + 1), 3) FROM range(9) r(i)").fetchone() == (1.0,)
    found = con.execute("SELECT estimator, rows, features, training_score FROM ml_models").fetchall()
    assert found == [("Pipeline(StandardScaler, Ridge)", None, 2, None)]
    stored = con.execute("SELECT model FROM ml_store").fetchone()[0]
    assert round(float(ml.load(stored).predict([[5.0, 6.0]])[0]), 3) == 15.0
    with pytest.raises(inlay.FunctionException, match="trained with 2 features, here are 1"):
        con.execute(f"SELECT ml_predict({model}, 5.0)")
    with pytest.raises(inlay.FunctionException, match="trained with 2 features, here are 1"):
        con.execute(f"SELECT ml_score({model}, x, y) FROM t")


def test_a_pipeline_that_was_fitted_with_a_frame_is_given_frames(con: Any) -> None:
    pd = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    frame = pd.DataFrame({"kind": ["a", "b", "a", "b"], "x": [1.0, 1.0, 2.0, 2.0]})
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    tree = make_pipeline(columns, DecisionTreeClassifier()).fit(frame, ["A", "B", "A", "B"])
    con.execute("INSERT INTO ml_store VALUES ('frame', ?)", [ml.dump(tree)])
    query = "SELECT ml_predict_class(model, k, x) FROM ml_store, (VALUES ('b', 5), ('a', 6)) t(k, x) ORDER BY x"
    assert con.execute(query).fetchall() == [("B",), ("A",)]
    assert con.execute("SELECT classes FROM ml_models").fetchone() == ('["A", "B"]',)
    with pytest.raises(inlay.FunctionException, match=r"2 features \(kind, x\), here are 1"):
        con.execute("SELECT ml_predict_class(model, 'a') FROM ml_store")


def test_what_cannot_be_dumped_is_said() -> None:
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    class Own:
        def predict(self, x: Any) -> Any:
            return x[:, 0]

    with pytest.raises(inlay.InvalidInputException, match="not fitted"):
        ml.dump(Ridge())
    with pytest.raises(inlay.InvalidInputException, match="StandardScaler cannot predict"):
        ml.dump(StandardScaler())
    with pytest.raises(inlay.InvalidInputException, match="how many features"):
        ml.dump(Own())
    with pytest.raises(inlay.InvalidInputException, match="cannot be pickled"):
        ml.dump(Own(), features=["a", "b"])


def test_the_view_is_whole_whatever_lies_in_the_store(con: Any) -> None:
    con.execute("INSERT INTO ml_store SELECT 'line', ml_train('LinearRegression', NULL, z, x) FROM t")
    model = con.execute("SELECT model FROM ml_store").fetchone()[0]
    others = [b"", b"pickle", model[:9], model[:20], model[:9] + b"\x02\0\0\0[]", model[:9] + b"\x02\0\0\0\xff\xfe"]
    con.executemany("INSERT INTO ml_store VALUES (?, ?)", [[f"other {at}", blob] for at, blob in enumerate(others)])
    rows = con.execute("SELECT name, estimator, bytes FROM ml_models ORDER BY name").fetchall()
    assert rows[0][:2] == ("line", "LinearRegression")
    assert rows[1:] == [(f"other {at}", None, len(blob)) for at, blob in enumerate(others)]
    with pytest.raises(inlay.FunctionException, match=r"no model: ml_train and inlay.ml.dump make models"):
        con.execute("SELECT ml_predict(model, 1) FROM ml_store WHERE name = 'other 1'")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("LinearRegresion", "LinearRegression"),
        ("randomforestclassifier", "RandomForestClassifier"),
        ("RandomForest", "RandomForestClassifier"),
        ("sklearn.svm.LinearSCV", "LinearSVC"),
    ],
)
def test_a_misspelt_estimator_has_near_names(con: Any, name: str, near: str) -> None:
    with pytest.raises(inlay.FunctionException, match=f"no estimator .*did you mean .*{near}"):
        con.execute(f"SELECT ml_train('{name}', NULL, z, x) FROM t")
    with pytest.raises(inlay.FunctionException, match="no estimator"):
        con.execute("SELECT ml_train('xyzzy', NULL, z, x) FROM t")


def test_an_aggregate_reads_a_constant_model_once(con: Any) -> None:
    """A model of 100 kB beside 200,000 rows would be 20 GB, row by row."""
    big = "ml_train('RandomForestRegressor', '{\"n_estimators\": 20, \"max_depth\": 8}', (i * 7919) % 1000, x, y)"
    con.execute(f"INSERT INTO ml_store SELECT 'big', {big} FROM t")
    assert con.execute("SELECT octet_length(model) > 50000 FROM ml_store").fetchone() == (True,)
    con.execute(
        "CREATE TABLE many AS SELECT i % 10 AS x, (i * 7) % 13 AS y, 2.0 * (i % 10) + 3 AS z FROM range(200000) r(i)"
    )
    con.execute("SET memory_limit = '600MB'")
    con.execute("SET max_temp_directory_size = '100MB'")
    joined = "SELECT name, ml_score(model, z, x, y) IS NOT NULL FROM many, ml_store WHERE name = 'big' GROUP BY name"
    assert con.execute(joined).fetchall() == [("big", True)]
    constant = "SELECT ml_score((SELECT model FROM ml_store WHERE name = 'big'), z, x, y) IS NOT NULL FROM many"
    assert con.execute(constant).fetchall() == [(True,)]
    # Also of several models, whose rows alternate.
    con.execute(f"INSERT INTO ml_store SELECT 'other', {big} FROM t")
    both = "SELECT name, ml_score(model, z, x, y) IS NOT NULL FROM many, ml_store GROUP BY name ORDER BY name"
    assert con.execute(both).fetchall() == [("big", True), ("other", True)]

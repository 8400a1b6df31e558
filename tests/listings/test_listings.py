"""
Functions as "Integrating analytics with relational databases" (Raasveldt, 2020) and the papers behind it write them.

They are written after descriptions of their listings: forms and calls are theirs, the data are our own. Chapters: 4.1
to 4.3 (functions in Python), 5.1 to 5.3 (machine learning in the database).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import inlay


@pytest.fixture
def con() -> Iterator[inlay.Connection]:
    with inlay.connect(config={"allow_python": True}) as connection:
        connection.execute("CREATE TABLE tbl AS SELECT i::INTEGER AS i FROM range(100000) r(i)")
        yield connection


TRAIN = """
CREATE FUNCTION train(data INTEGER, classes INTEGER, n_estimators INTEGER)
RETURNS TABLE(classifier BLOB, estimators INTEGER)
LANGUAGE PYTHON
{
    import pickle
    from sklearn.ensemble import RandomForestClassifier
    clf = RandomForestClassifier(n_estimators)
    clf.fit(data.reshape(-1, 1), classes)
    return {'classifier': pickle.dumps(clf), 'estimators': n_estimators}
};
"""

PREDICT = """
CREATE FUNCTION predict(data INTEGER, classifier BLOB)
RETURNS INTEGER
LANGUAGE PYTHON
{
    import pickle
    classifier = pickle.loads(classifier)
    return classifier.predict(data.reshape(-1, 1))
};
"""


def test_scalar_function(con: inlay.Connection) -> None:
    con.execute("CREATE FUNCTION pysqrt(i INTEGER) RETURNS REAL LANGUAGE PYTHON { return numpy.sqrt(i) };")
    found = con.execute("SELECT pysqrt(i * 2) AS root FROM tbl").fetchnumpy()["root"]
    assert np.allclose(found, np.sqrt(np.arange(100000) * 2))
    assert con.execute("SELECT count(*) FROM tbl WHERE pysqrt(i) > 300").fetchall() == [(9999,)]


@pytest.mark.parametrize(
    "clauses", ["LANGUAGE PYTHON '{}'", "LANGUAGE PYTHON_MAP '{}' IMMUTABLE", "LANGUAGE PYTHON AS '{}'"]
)
def test_code_in_a_file(con: inlay.Connection, tmp_path: Path, clauses: str) -> None:
    path = tmp_path / "external_file.py"
    path.write_text("return numpy.sqrt(i)\n")
    con.execute(f"CREATE FUNCTION pysqrt(i INTEGER) RETURNS REAL {clauses.format(path)};")
    assert con.execute("SELECT max(pysqrt(i)) FROM tbl WHERE i <= 49").fetchall() == [(7.0,)]
    with pytest.raises(inlay.IOException, match=r"missing\.py"):
        con.execute(f"CREATE FUNCTION f() RETURNS REAL LANGUAGE PYTHON '{tmp_path / 'missing.py'}'")


def test_any_number_of_arguments(con: inlay.Connection) -> None:
    con.execute("CREATE FUNCTION total(*) RETURNS BIGINT LANGUAGE PYTHON { return sum(args) };")
    assert con.execute("SELECT sum(total(i, i, 1)) FROM tbl WHERE i < 3").fetchall() == [(9,)]


def test_aggregate(con: inlay.Connection) -> None:
    con.execute("CREATE AGGREGATE pysum(i INTEGER) RETURNS BIGINT LANGUAGE PYTHON { return numpy.sum(i) };")
    query = "SELECT i % 2 AS odd, pysum(i) FROM tbl GROUP BY odd HAVING pysum(i) > 2499950000 ORDER BY odd"
    assert con.execute(query).fetchall() == [(1, 2500000000)]


def test_table_function_without_input(con: inlay.Connection) -> None:
    con.execute(
        "CREATE FUNCTION numbers(n INTEGER) RETURNS TABLE(i INTEGER) LANGUAGE PYTHON { return {'i': numpy.arange(n)} };"
    )
    assert con.execute("SELECT sum(i) FROM numbers(10)").fetchall() == [(45,)]


COLUMNS = """
CREATE FUNCTION moments(x DOUBLE, y INTEGER, n INTEGER)
RETURNS TABLE(calls INTEGER, mean DOUBLE, top INTEGER) LANGUAGE PYTHON
{
    assert x.dtype == 'f8' and y.dtype == 'i4' and len(x) == len(y)
    return {'calls': 1, 'mean': x.mean(), 'top': numpy.sort(y)[-n:]}
};
"""


def test_columns_of_a_subquery_are_parameters(con: inlay.Connection) -> None:
    con.execute(COLUMNS)
    found = con.execute("SELECT * FROM moments((SELECT i, i FROM tbl WHERE i < 5), 2)")
    assert found.fetchall() == [(1, 2.0, 3), (1, 2.0, 4)]
    assert found.description == [
        ("calls", "INTEGER", *[None] * 5),
        ("mean", "DOUBLE", *[None] * 5),
        ("top", "INTEGER", *[None] * 5),
    ]
    # Of any types that the parameters take, in any order of the arguments, and more than one column of a subquery.
    assert con.execute("SELECT max(mean) FROM moments((SELECT 1.5, 2::TINYINT), 1)").fetchall() == [(1.5,)]
    assert con.execute("SELECT * FROM moments((SELECT i, i, 1 FROM tbl LIMIT 0))").fetchall() == []
    con.execute(
        "CREATE FUNCTION scaled(n DOUBLE, x DOUBLE) RETURNS TABLE(y DOUBLE) "
        "LANGUAGE PYTHON_MAP { return {'y': n * x} };"
    )
    assert con.execute("SELECT sum(y) FROM scaled(2, (SELECT i FROM tbl))").fetchall() == [(9999900000.0,)]
    grouped = "SELECT mean FROM moments((SELECT i, i % 2 FROM tbl WHERE i < 4) PARTITION BY i, 1) ORDER BY 1"
    assert con.execute(grouped).fetchall() == [(0.0,), (1.0,), (2.0,), (3.0,)]


def test_columns_that_do_not_fit_are_errors(con: inlay.Connection) -> None:
    con.execute(COLUMNS)
    for call in (
        "(SELECT i FROM tbl), 2",
        "(SELECT i, i, i FROM tbl), 2",
        "(SELECT [1], i FROM tbl), 2",
        "(SELECT i, i FROM tbl)",
    ):
        with pytest.raises(inlay.CatalogException, match="no function moments"):
            con.execute(f"SELECT * FROM moments({call})")
    with pytest.raises(inlay.Error):
        con.execute("SELECT m.* FROM tbl, moments((SELECT 1, 2), tbl.i) m")


def test_a_table_parameter_comes_first(con: inlay.Connection) -> None:
    con.execute(COLUMNS)
    con.execute(
        "CREATE FUNCTION moments(t TABLE, n INTEGER) RETURNS TABLE(calls INTEGER, mean DOUBLE, top INTEGER) "
        "LANGUAGE PYTHON { return [(0, 0.0, n)] };"
    )
    assert con.execute("SELECT * FROM moments((SELECT i, 1 AS j FROM tbl), 2)").fetchall() == [(0, 0.0, 2)]


def test_chaining_a_mappable_and_a_blocking_function(con: inlay.Connection) -> None:
    con.execute("CREATE FUNCTION minmap(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return numpy.min(i) };")
    con.execute("CREATE AGGREGATE minseq(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON { return numpy.min(i) };")
    assert con.execute("SELECT minseq(minmap(i)) FROM tbl").fetchall() == [(0,)]


def test_loopback_query_gives_arrays_by_name(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE models AS SELECT 'm' AS name, '\\xAB'::BLOB AS classifier, 3 AS estimators")
    con.execute("""
        CREATE FUNCTION best() RETURNS TABLE(classifier BLOB, estimators INTEGER, names VARCHAR) LANGUAGE PYTHON
        {
            res = _conn.execute("SELECT name, classifier, estimators FROM models")
            names = ','.join(res.keys())
            return {'classifier': res['classifier'][0], 'estimators': res['estimators'][0], 'names': names}
        };
    """)
    assert con.execute("FROM best()").fetchall() == [(b"\xab", 3, "name,classifier,estimators")]


def test_an_answer_gives_arrays_by_name(con: inlay.Connection) -> None:
    res = con.execute("SELECT i, i::VARCHAR AS t FROM tbl ORDER BY i LIMIT 3")
    assert res["i"].tolist() == [0, 1, 2] and res["t"].tolist() == ["0", "1", "2"] and res["i"] is res["i"]
    assert res.keys() == ["i", "t"] and set(dict(res)) == {"i", "t"} and res.fetchall() == []
    with pytest.raises(KeyError, match="no column 'x'"):
        res["x"]
    res = con.execute("SELECT i FROM tbl ORDER BY i LIMIT 3")
    assert (res.fetchone(), res["i"].tolist()) == ((0,), [1, 2])


def test_train_predict_and_store(con: inlay.Connection) -> None:
    pytest.importorskip("sklearn")
    con.execute(TRAIN + PREDICT)
    con.execute(
        "CREATE TABLE samples AS SELECT i AS data, i % 4 AS classes FROM (SELECT i::INTEGER AS i FROM range(400) r(i))"
    )
    con.execute("CREATE TABLE models AS SELECT * FROM train((SELECT data, classes FROM samples), 10)")
    assert con.execute("SELECT estimators, octet_length(classifier) > 1000 FROM models").fetchall() == [(10, True)]
    scored = """
        SELECT avg((predict(data, (SELECT classifier FROM models WHERE estimators = 10)) = classes)::INTEGER)
        FROM samples
    """
    assert con.execute(scored).fetchone()[0] > 0.7
    # Passed on to the next function, without a table between.
    passed = (
        "SELECT predict(data, (SELECT classifier FROM train((SELECT data, classes FROM samples), 5))) AS p FROM samples"
    )
    assert con.execute(f"SELECT count(p) FROM ({passed})").fetchall() == [(400,)]


def test_the_best_of_several_models_is_found_by_a_loopback_query(con: inlay.Connection) -> None:
    pytest.importorskip("sklearn")
    con.execute(TRAIN)
    con.execute("CREATE TABLE samples AS SELECT i AS data, (i > 50)::INTEGER AS classes FROM tbl WHERE i < 100")
    con.execute("""
        CREATE FUNCTION find_best_classifier(esttest INTEGER)
        RETURNS TABLE(classifier BLOB, estimators INTEGER)
        LANGUAGE PYTHON
        {
            import pickle
            test = _conn.execute("SELECT data, classes FROM samples")
            best, best_score, estimators = None, -1, 0
            for n in esttest:
                res = _conn.execute("SELECT * FROM train((SELECT data, classes FROM samples), %d)" % n)
                classifier = pickle.loads(res['classifier'][0])
                score = classifier.score(test['data'].reshape(-1, 1), test['classes'])
                if score > best_score:
                    best, best_score, estimators = res['classifier'][0], score, n
            return {'classifier': best, 'estimators': estimators}
        };
    """)
    found = con.execute("SELECT * FROM find_best_classifier((SELECT n FROM (VALUES (1), (5)) t(n)))").fetchall()
    assert len(found) == 1 and found[0][1] in (1, 5)


def test_scores_on_test_sets_are_kept_beside_models(con: inlay.Connection) -> None:
    pytest.importorskip("sklearn")
    from inlay import ml

    ml.install(con)
    con.execute(
        "CREATE TABLE samples AS SELECT i AS x, (i > 50)::INTEGER AS label, i % 5 = 0 AS is_test FROM tbl WHERE i < 100"
    )
    for name, depth in (("shallow", 1), ("stump", 1)):
        con.execute(
            "INSERT INTO ml_store SELECT ?, ml_train('DecisionTreeClassifier', ?, label, x) "
            "FROM samples WHERE NOT is_test",
            [name, f'{{"max_depth": {depth}}}'],
        )
    assert con.execute("SELECT name, test_score FROM ml_models ORDER BY name").fetchall() == [
        ("shallow", None),
        ("stump", None),
    ]
    con.execute("INSERT INTO ml_scores (name, score, scored_at) VALUES ('shallow', 0.1, '2020-01-01 00:00:00+00')")
    con.execute("""
        INSERT INTO ml_scores (name, data, rows, score)
        SELECT name, 'kept back', count(*), ml_score(model, label, x) FROM samples, ml_store WHERE is_test GROUP BY name
    """)
    found = con.execute("SELECT name, test_score > 0.9 FROM ml_models ORDER BY name").fetchall()
    assert found == [("shallow", True), ("stump", True)]
    # Their scores stay when models are installed again.
    ml.install(con)
    assert con.execute("SELECT count(*), sum(rows) FROM ml_scores").fetchall() == [(3, 40)]

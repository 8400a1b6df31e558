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


CHAIN = """
CREATE FUNCTION minmap(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return numpy.array([numpy.min(i)]) };
CREATE FUNCTION sortmap(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return numpy.unique(i)[::-1][:3] };
CREATE FUNCTION nothing(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return [] };
CREATE AGGREGATE minseq(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON { return numpy.min(i) };
CREATE AGGREGATE given(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON { return len(i) };
"""


def test_chaining_a_mappable_and_a_blocking_function(con: inlay.Connection) -> None:
    con.execute(CHAIN)
    assert con.execute("SELECT minseq(minmap(i)) FROM tbl").fetchall() == [(0,)]
    # One value for each piece that a worker took, whatever reads it.
    pieces = con.execute("SELECT given(minmap(i)) FROM tbl").fetchone()[0]
    assert 1 <= pieces < 100
    query = "SELECT max(sortmap(i)), given(sortmap(i)), count(sortmap(i)) FROM tbl"
    top, rows, count = con.execute(query).fetchone()
    assert (top, rows % 3) == (99999, 0) and rows == count
    assert con.execute("SELECT min(minmap(sortmap(i)) + 1), max(minmap(sortmap(i))) FROM tbl").fetchone()[1] == 99997
    assert con.execute(
        "SELECT minseq(minmap(i)) FROM tbl WHERE i % 1000 = 7 HAVING count(minmap(i)) > 0"
    ).fetchall() == [(7,)]
    assert con.execute("SELECT minseq(nothing(i)), count(nothing(i)) FROM tbl").fetchall() == [(None, 0)]
    assert con.execute(
        "SELECT list(DISTINCT minmap(i % 5)), string_agg(minmap(i % 5)::VARCHAR, '') FROM tbl"
    ).fetchone()[0] == [0]
    # A scalar is one for all rows, and so is a value for each.
    con.execute("CREATE FUNCTION spread(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return numpy.min(i) }")
    con.execute("CREATE FUNCTION same(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return i }")
    assert con.execute("SELECT given(spread(i)), given(same(i)), sum(same(i)) FROM tbl").fetchall() == [
        (100000, 100000, 4999950000)
    ]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT minmap(i) FROM tbl",
        "SELECT minseq(minmap(i)) FROM tbl GROUP BY i % 2",
        "SELECT minseq(minmap(i)), count(*) FROM tbl",
        "SELECT minseq(minmap(i)), sum(i) FROM tbl",
        "SELECT minseq(minmap(i) + i) FROM tbl",
        "SELECT minseq(minmap(i)) FILTER (WHERE i > 3) FROM tbl",
        "SELECT minseq(minmap(i) ORDER BY i) FROM tbl",
        "SELECT min(minmap(i)), min(sortmap(i)) FROM tbl",
        "SELECT min(minmap(i)) OVER () FROM tbl",
        "SELECT sum(CASE WHEN i > 5 THEN minmap(i) ELSE 0 END) FROM tbl",
    ],
)
def test_what_reads_rows_needs_a_value_for_each(con: inlay.Connection, query: str) -> None:
    con.execute(CHAIN)
    with pytest.raises(inlay.Error, match=r"gave [13] values for .* PYTHON_MAP may give fewer to an aggregate"):
        con.execute(query).fetchall()


def test_a_piece_gives_no_more_values_than_it_has_rows(con: inlay.Connection) -> None:
    con.execute(CHAIN)
    con.execute("CREATE FUNCTION more(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return [1] * (len(i) + 1) }")
    with pytest.raises(inlay.Error, match=r"gave .* values for .* rows"):
        con.execute("SELECT minseq(more(i)) FROM tbl").fetchall()
    con.execute("CREATE FUNCTION fixed(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP IMMUTABLE { return [1] }")
    with pytest.raises(inlay.Error, match="gave 1 values for"):
        con.execute("SELECT minseq(fixed(i)) FROM tbl").fetchall()
    with pytest.raises(inlay.Error, match=r"gave .x., value 1 of 1; that is no INTEGER"):
        con.execute(
            "CREATE FUNCTION wrong(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return ['x'] };"
            "SELECT minseq(wrong(i)) FROM tbl"
        ).fetchall()


@pytest.mark.parametrize("clauses", ["STRICT", "WITH (arguments = 'arrow')", "WITH (arguments = 'polars')"])
def test_pieces_of_all_kinds_of_arguments_may_give_fewer(con: inlay.Connection, clauses: str) -> None:
    con.execute("CREATE AGGREGATE given(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON { return len(i) }")
    con.execute(f"CREATE FUNCTION few(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP {clauses} {{ return i[:2] }}")
    con.execute("CREATE TABLE gaps AS SELECT nullif(i % 3, 0) AS i FROM tbl")
    rows, least = con.execute("SELECT given(few(i)), min(few(i)) FROM gaps").fetchone()
    assert rows % 2 == 0 and 0 < rows < 200 and least == 1


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


@pytest.fixture
def models(con: inlay.Connection) -> inlay.Connection:
    """Three models of the same samples; ``guess`` names the model that it was called with, and for how many rows."""
    pytest.importorskip("sklearn")
    con.execute(TRAIN + PREDICT)
    con.execute("""
        CREATE TABLE samples AS
        SELECT i AS data, (i > 50)::INTEGER AS classes, i % 5 = 0 AS is_test FROM tbl WHERE i < 100;
        CREATE TABLE models AS FROM train((SELECT data, classes FROM samples WHERE NOT is_test), 1);
        INSERT INTO models FROM train((SELECT data, 1 - classes FROM samples WHERE NOT is_test), 2);
        INSERT INTO models FROM train((SELECT data, classes FROM samples WHERE NOT is_test), 3);
    """)
    return con


def test_a_model_is_a_column_of_a_joined_table(models: inlay.Connection) -> None:
    predicted = "SELECT data, predict(data, classifier) AS predicted FROM samples, models WHERE estimators = 3"
    assert models.execute(f"SELECT sum(predicted) BETWEEN 45 AND 55, count(*) FROM ({predicted})").fetchall() == [
        (True, 100)
    ]
    for joined in (
        "samples, models",
        "models, samples",
        "samples CROSS JOIN models",
        "samples JOIN models ON true",
        "samples LEFT JOIN models ON true",
        "(SELECT * FROM samples) s, (SELECT * FROM models WHERE estimators > 0) m",
        "models, samples JOIN tbl ON data = i",
    ):
        found = models.execute(f"""
            SELECT estimators, count(*), avg((predict(data, classifier) = classes)::INTEGER) > 0.5
            FROM {joined} GROUP BY estimators ORDER BY estimators
        """).fetchall()
        assert found == [(1, 100, True), (2, 100, False), (3, 100, True)], joined
    # In a mappable function as well.
    models.execute(PREDICT.replace("predict(", "mapped(", 1).replace("LANGUAGE PYTHON", "LANGUAGE PYTHON_MAP"))
    query = "SELECT estimators, avg(mapped(data, classifier)) > 0.4 FROM samples, models GROUP BY 1 ORDER BY 1"
    assert [estimators for estimators, _ in models.execute(query).fetchall()] == [1, 2, 3]


def test_calls_with_a_model_each_give_every_row_its_value(con: inlay.Connection) -> None:
    con.execute("""
        CREATE TABLE words AS SELECT n::INTEGER AS n, (repeat('x', n * 9) || n)::BLOB AS word FROM range(1, 4) r(n);
        INSERT INTO words VALUES (4, NULL);
        CREATE FUNCTION sized(x INTEGER, word BLOB) RETURNS INTEGER LANGUAGE PYTHON_MAP {
            return numpy.where(x % 2 == 0, -1 if word is numpy.ma.masked else len(word), x)
        };
        CREATE FUNCTION strictly(x INTEGER, word BLOB) RETURNS INTEGER LANGUAGE PYTHON_MAP STRICT {
            return x * 0 + len(word)
        };
        CREATE FUNCTION two(x INTEGER, a BLOB, b BLOB) RETURNS BLOB LANGUAGE PYTHON { return [a + b] * len(x) };
        CREATE FUNCTION arrays(x INTEGER, word BLOB, n INTEGER) RETURNS INTEGER LANGUAGE PYTHON {
            return [len(each) for each in word]
        };
    """)
    length = "CASE WHEN i % 2 = 0 THEN coalesce(octet_length(word), -1) ELSE i END"
    for source in ("tbl, words", "words, tbl", "(FROM tbl ORDER BY i DESC) t, words"):
        query = f"SELECT count(*), sum((sized(i, word) = {length})::INTEGER) FROM {source}"
        assert con.execute(query).fetchall() == [(400000, 400000)]
    query = "SELECT n, min(strictly(i, word)), max(strictly(i, word)) FROM tbl, words GROUP BY n ORDER BY n"
    assert con.execute(query).fetchall() == [(1, 10, 10), (2, 19, 19), (3, 28, 28), (4, None, None)]
    query = """
        SELECT a.n, b.n, min(two(i, a.word, b.word)) = min(a.word || b.word) FROM tbl, words a, words b
        WHERE i < 100 AND a.n < 3 AND b.n < 3 GROUP BY ALL
    """
    assert sorted(con.execute(query).fetchall()) == [(m, n, True) for m in (1, 2) for n in (1, 2)]
    # Columns of rows are arrays: beside others of their table, behind a condition, without another table.
    for query in (
        "SELECT arrays(i, word, n) FROM tbl, words WHERE n < 4 AND i < 9",
        "SELECT arrays(i, word, 1) FROM tbl JOIN words ON n = i WHERE n < 4",
        "SELECT arrays(1, word, 1) FROM words WHERE n < 4",
    ):
        assert {size for (size,) in con.execute(query).fetchall()} == {10, 19, 28}


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


def test_models_are_chosen_and_combined_by_queries(con: inlay.Connection) -> None:
    pytest.importorskip("sklearn")
    from inlay import ml

    ml.install(con)
    con.execute("""
        CREATE TABLE samples AS
        SELECT i AS x, (i // 10) % 2 AS label, i < 100 AS is_low, i % 10 = 5 AS is_test FROM tbl WHERE i < 200
    """)
    for name, kept in (("low", "is_low"), ("high", "NOT is_low")):
        con.execute(f"""
            INSERT INTO ml_store
            SELECT '{name}', ml_train('KNeighborsClassifier', '{{"n_neighbors": 1, "weights": "distance"}}', label, x)
            FROM samples WHERE NOT is_test AND {kept}
        """)
        con.execute(f"""
            INSERT INTO ml_scores (name, data, rows, score)
            SELECT name, 'low half', count(*), ml_score(model, label, x)
            FROM samples, ml_store WHERE is_test AND is_low AND name = '{name}' GROUP BY name
        """)
    best = "SELECT name FROM ml_models ORDER BY test_score DESC LIMIT 1"
    assert con.execute(best).fetchall() == [("low",)]
    chosen = f"(SELECT model FROM ml_store WHERE name = ({best}))"
    query = f"SELECT avg((ml_predict({chosen}, x) = label)::INTEGER) FROM samples WHERE is_test AND is_low"
    assert con.execute(query).fetchone()[0] == 1.0
    # Specialists: each answers for its own half; together they are right where none of them is alone.
    voted = """
        WITH votes AS (
            SELECT x, label, name, ml_predict(model, x) AS answer, ml_confidence(model, x) AS confidence,
                (name = 'low') = is_low AS is_specialist
            FROM samples, ml_store WHERE is_test
        )
        SELECT avg((label = answer)::INTEGER) FROM (
            SELECT any_value(label) AS label, arg_max(answer, (confidence, is_specialist)) AS answer
            FROM votes GROUP BY x
        )
    """
    assert con.execute(voted).fetchone()[0] == 1.0
    alone = """
        SELECT max(share) FROM (
            SELECT avg((ml_predict(model, x) = label)::INTEGER) AS share
            FROM samples, ml_store WHERE is_test GROUP BY name
        )
    """
    assert con.execute(alone).fetchone()[0] < 1.0

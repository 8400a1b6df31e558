"""
Models by SQL: trained by an aggregate, kept as BLOBs, applied by functions. Needs scikit-learn.

``install(con)`` makes the functions, a table and a view; the functions run where ``allow_python`` is on::

    INSERT INTO ml_store SELECT 'forest', ml_train('RandomForestClassifier', '{"max_depth": 5}', label, x, y) FROM t;
    SELECT ml_predict_class(model, x, y) FROM t, ml_store WHERE name = 'forest';
    INSERT INTO ml_scores (name, score) SELECT name, ml_score(model, label, x, y) FROM test, ml_store GROUP BY name;
    SELECT * FROM ml_models;

A model is a header of JSON (what it is, how it was trained) and the pickled estimator. Features are columns in an
order: numbers, truth values, dates (as days) and texts, which are encoded one-hot. NULL is NaN, and a text of its own.
"""

from __future__ import annotations

import datetime
import difflib
import functools
import importlib
import json
import pickle
import platform
import threading
import uuid
import zlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from inlay import __version__
from inlay._inlay import Connection
from inlay.exceptions import InvalidInputException, PermissionException

#: What a model begins with; the length of the header follows in four bytes.
_MAGIC = b"inlay-ml\x01"

#: Where an estimator's name is looked up, without the package in front.
_MODULES = (
    "ensemble",
    "linear_model",
    "tree",
    "neighbors",
    "svm",
    "naive_bayes",
    "neural_network",
    "discriminant_analysis",
    "gaussian_process",
    "cluster",
    "dummy",
)

_FUNCTIONS = """
CREATE OR REPLACE AGGREGATE ml_train(estimator VARCHAR, parameters VARCHAR, *) RETURNS BLOB
LANGUAGE PYTHON WITH (decimal = 'float') {
    from inlay import ml
    return ml._train(estimator, parameters, args)
};
CREATE OR REPLACE AGGREGATE ml_score(model BLOB, *) RETURNS DOUBLE LANGUAGE PYTHON WITH (decimal = 'float') {
    from inlay import ml
    return ml._score(model, args)
};
CREATE OR REPLACE AGGREGATE ml_cross_validate(estimator VARCHAR, parameters VARCHAR, folds INTEGER, *)
RETURNS DOUBLE[] LANGUAGE PYTHON WITH (decimal = 'float') {
    from inlay import ml
    return ml._cross_validate(estimator, parameters, folds, args)
};
CREATE OR REPLACE FUNCTION ml_predict(model BLOB, *) RETURNS DOUBLE LANGUAGE PYTHON_MAP WITH (decimal = 'float') {
    from inlay import ml
    return ml._predict(model, args)
};
CREATE OR REPLACE FUNCTION ml_predict_class(model BLOB, *) RETURNS VARCHAR
LANGUAGE PYTHON_MAP WITH (decimal = 'float') {
    from inlay import ml
    return ml._predict_class(model, args)
};
CREATE OR REPLACE FUNCTION ml_confidence(model BLOB, *) RETURNS DOUBLE LANGUAGE PYTHON_MAP WITH (decimal = 'float') {
    from inlay import ml
    return ml._confidence(model, args)
};
CREATE OR REPLACE FUNCTION ml_info(model BLOB) RETURNS VARCHAR LANGUAGE PYTHON_MAP WITH (decimal = 'float') {
    from inlay import ml
    return ml._info(model)
}
"""

_TABLES = """
CREATE TABLE IF NOT EXISTS ml_store (name VARCHAR PRIMARY KEY, model BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS ml_scores (
    name VARCHAR NOT NULL, data VARCHAR, rows BIGINT, score DOUBLE, scored_at TIMESTAMPTZ DEFAULT now()
);
CREATE OR REPLACE VIEW ml_models AS
SELECT name, info->>'estimator' AS estimator, info->>'parameters' AS parameters, info->>'classes' AS classes,
    (info->>'rows')::BIGINT AS rows, (info->>'features')::INTEGER AS features,
    (info->>'training_score')::DOUBLE AS training_score,
    (SELECT arg_max(score, scored_at) FROM ml_scores WHERE ml_scores.name = stored.name) AS test_score,
    info->>'data' AS data,
    (info->>'trained_at')::TIMESTAMPTZ AS trained_at, info->>'versions' AS versions, size AS bytes
FROM (SELECT name, ml_info(model)::JSON AS info, octet_length(model) AS size FROM ml_store) AS stored
"""


def install(con: Connection) -> None:
    """
    Make the functions ``ml_...``, the tables ``ml_store`` and ``ml_scores`` and the view ``ml_models``.

    Functions of an earlier version are replaced; models that are stored stay.

    Parameters
    ----------
    con
        A connection whose database takes changes. The functions run where ``allow_python`` is on.

    Raises
    ------
    inlay.Error
        The database takes no changes, or has something else of these names. Nothing is made then.

    Examples
    --------
    >>> import inlay, inlay.ml
    >>> con = inlay.connect(allow_python=True)
    >>> inlay.ml.install(con)
    >>> con.execute("SELECT count(*) FROM ml_models").fetchone()
    (0,)
    """
    if con.execute("SELECT current_setting('allow_python')::BOOLEAN").fetchone() != (True,):
        raise PermissionException(
            "the models of inlay.ml are functions of Python in the database, which may not run: "
            "SET allow_python = true, or inlay.connect(..., allow_python=True), lets them"
        )
    con.execute("BEGIN")
    try:
        con.execute(_FUNCTIONS)
        con.execute(_TABLES)
    except BaseException:
        con.execute("ROLLBACK")
        raise
    con.execute("COMMIT")


def dump(estimator: Any, features: int | Sequence[str] | None = None) -> bytes:
    """
    Make a model of an estimator that was trained in Python, for ``ml_predict`` and the like.

    Parameters
    ----------
    estimator
        Anything with ``predict`` that was fitted: an estimator or a whole pipeline of scikit-learn, or of a package
        like it. One that was fitted with a data frame is given data frames with the same names of columns.
    features
        How many features it takes, or their names, where it does not say (``n_features_in_``, ``feature_names_in_``).
        SQL gives features in this order.

    Returns
    -------
    bytes
        What ``ml_train`` gives, too: a header, and the pickled estimator.

    Raises
    ------
    inlay.InvalidInputException
        It cannot predict, was not fitted, cannot be pickled, or does not say how many features it takes.

    Examples
    --------
    >>> import inlay, inlay.ml, numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> x = np.arange(10.0).reshape(-1, 1)
    >>> line = make_pipeline(StandardScaler(), LinearRegression()).fit(x, 2 * x[:, 0] + 1)
    >>> con = inlay.connect(allow_python=True)
    >>> inlay.ml.install(con)
    >>> _ = con.execute("INSERT INTO ml_store VALUES ('line', ?)", [inlay.ml.dump(line)])
    >>> con.execute("SELECT round(ml_predict(model, 20.0), 3) FROM ml_store WHERE name = 'line'").fetchone()
    (41.0,)
    """
    name = _name_of(estimator)
    if not callable(getattr(estimator, "predict", None)):
        raise InvalidInputException(f"a {type(estimator).__name__} cannot predict: it has no method predict")
    _check_fitted(estimator, name)
    names = getattr(estimator, "feature_names_in_", None)
    if features is None:
        count = len(names) if names is not None else getattr(estimator, "n_features_in_", None)
    elif isinstance(features, int):
        count = features
    else:
        names = list(features)
        count = len(names)
    if not isinstance(count, int):
        raise InvalidInputException(f"{name} does not say how many features it takes: features=3, or their names")
    classes = getattr(estimator, "classes_", None)
    given = estimator.get_params(deep=False) if hasattr(estimator, "get_params") and not _steps(estimator) else {}
    header = {
        "estimator": name,
        "parameters": json.dumps(given, default=str),
        "classes": None if classes is None else json.dumps([str(one) for one in classes]),
        "rows": None,
        "features": count,
        "names": None if names is None else [str(each) for each in names],
        "training_score": None,
        "data": None,
    }
    return _packed(header, estimator)


def _steps(estimator: Any) -> list[Any]:
    """The estimators that a pipeline goes through."""
    steps = getattr(estimator, "steps", None)
    return [step for _, step in steps] if isinstance(steps, list) else []


def _name_of(estimator: Any) -> str:
    steps = _steps(estimator)
    inner = f"({', '.join(map(_name_of, steps))})" if steps else ""
    return f"{type(estimator).__name__}{inner}"


def _check_fitted(estimator: Any, name: str) -> None:
    try:
        from sklearn.base import BaseEstimator
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted
    except ImportError:
        return
    # Estimators of others say it themselves when they are used.
    if not isinstance(estimator, BaseEstimator):
        return
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise InvalidInputException(f"{name} was not fitted; call fit() before dump()") from error


def _packed(header: Mapping[str, Any], estimator: Any) -> bytes:
    """A model: what it is, and the estimator."""
    whole = {
        "id": str(uuid.uuid4()),
        **header,
        "trained_at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        "versions": _versions(),
    }
    text = json.dumps(whole).encode()
    try:
        pickled = pickle.dumps(estimator, protocol=5)
    except Exception as error:
        message = f"the {header['estimator']} cannot be pickled: {type(error).__name__}: {error}"
        raise InvalidInputException(message) from error
    return _MAGIC + len(text).to_bytes(4, "little") + text + pickled


def load(model: bytes) -> Any:
    """
    The estimator of a model, as scikit-learn has it. Unpickles, so that only trusted models may be loaded.

    Parameters
    ----------
    model
        A BLOB of ``ml_train``, or bytes of `dump`.

    Returns
    -------
    estimator
        The fitted estimator.

    Raises
    ------
    inlay.InvalidInputException
        The bytes are no model, or cannot be unpickled here; then the message names the versions it was trained with.

    Examples
    --------
    >>> import inlay.ml
    >>> from sklearn.dummy import DummyRegressor
    >>> model = inlay.ml.dump(DummyRegressor(strategy="constant", constant=7).fit([[0]], [1]))
    >>> inlay.ml.load(model).predict([[3]]).tolist()
    [7]
    """
    header, at = _header(model)
    try:
        return pickle.loads(model[at:])
    except Exception as error:
        trained = header.get("versions", {})
        raise InvalidInputException(
            f"the model cannot be read: {type(error).__name__}: {error}; it was trained with {trained}, "
            f"here are {_versions()}: train it again, or install those versions"
        ) from error


def info(model: bytes) -> dict[str, Any]:
    """
    What a model says of itself, without unpickling it.

    Parameters
    ----------
    model
        A BLOB of ``ml_train``, or bytes of `dump`.

    Returns
    -------
    dict
        ``estimator``, ``parameters``, ``classes``, ``rows``, ``features``, ``training_score``, ``data`` (a checksum),
        ``trained_at``, ``versions``, ``id``.

    Raises
    ------
    inlay.InvalidInputException
        The bytes are no model.

    Examples
    --------
    >>> import inlay.ml
    >>> from sklearn.linear_model import Ridge
    >>> about = inlay.ml.info(inlay.ml.dump(Ridge(alpha=2).fit([[0, 1], [1, 0]], [0, 1])))
    >>> about["estimator"], about["features"]
    ('Ridge', 2)
    """
    return _header(model)[0]


def _header(model: bytes) -> tuple[dict[str, Any], int]:
    start = len(_MAGIC) + 4
    if not isinstance(model, bytes) or not model.startswith(_MAGIC) or len(model) < start:
        raise InvalidInputException("this BLOB is no model: ml_train and inlay.ml.dump make models")
    end = start + int.from_bytes(model[len(_MAGIC) : start], "little")
    try:
        found = json.loads(model[start:end])
    except ValueError as error:
        raise InvalidInputException(f"the model's header is damaged: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInputException("the model's header is damaged")
    return found, end


def _versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "scikit-learn": version("scikit-learn"),
        "numpy": np.__version__,
        "inlay": __version__,
    }


class _Loaded:
    """Models that were used last, by the id in their header: a query's chunks bring the same model many times."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[dict[str, Any], Any]] = {}
        self.lock = threading.Lock()

    def get(self, model: bytes) -> tuple[dict[str, Any], Any]:
        header, _ = _header(model)
        key = f"{header.get('id')} {len(model)} {zlib.crc32(model[-64:])}"
        # Workers that want the same model wait for the one that reads it.
        with self.lock:
            found = self.kept.pop(key, None)
            if found is None:
                found = header, _calm(load(model))
            self.kept[key] = found
            while len(self.kept) > 16:
                del self.kept[next(iter(self.kept))]
        return found


_loaded = _Loaded()


def _calm(estimator: Any) -> Any:
    """An estimator that starts no threads of its own: calls for parts of the rows run beside each other."""
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    if getattr(last, "n_jobs", None) is not None:
        last.n_jobs = None
    return estimator


def _estimator(name: str, parameters: Any) -> Any:
    """A new estimator of scikit-learn by its class's name, or of any package by a dotted one."""
    parameters = "" if _is_null(parameters) else str(parameters)
    try:
        given = json.loads(parameters) if parameters.strip() else {}
    except ValueError as error:
        raise InvalidInputException(f"parameters are a JSON object, as '{{\"max_depth\": 5}}': {error}") from error
    if not isinstance(given, dict):
        raise InvalidInputException("parameters are a JSON object, as '{\"max_depth\": 5}'")
    made = _class(name)
    try:
        return made(**given)
    except TypeError as error:
        raise InvalidInputException(f"{name}: {error}") from error


@functools.cache
def _class(name: str) -> Any:
    module, _, short = name.rpartition(".")
    if module:
        try:
            inside = importlib.import_module(module)
        except ImportError as error:
            raise InvalidInputException(f'there is no estimator "{name}": {error}') from error
        if not hasattr(inside, short):
            raise InvalidInputException(f'there is no estimator "{name}"{_near(short, dir(inside))}')
        return getattr(inside, short)
    try:
        importlib.import_module("sklearn")
    except ImportError as error:
        raise InvalidInputException("models need scikit-learn: pip install scikit-learn") from error
    known: list[str] = []
    for candidate in _MODULES:
        inside = importlib.import_module(f"sklearn.{candidate}")
        found = getattr(inside, name, None)
        if isinstance(found, type):
            return found
        known += [each for each in getattr(inside, "__all__", ()) if isinstance(getattr(inside, each, None), type)]
    raise InvalidInputException(
        f'scikit-learn has no estimator "{name}"{_near(name, known)}; '
        "names are as RandomForestClassifier, or dotted for other packages"
    )


def _near(name: str, known: Sequence[str]) -> str:
    """Names that are like one, for a message."""
    by_lower = {each.lower(): each for each in known}
    near = [by_lower[each] for each in difflib.get_close_matches(name.lower(), by_lower, 3, 0.7)]
    # Part of a name is the commonest slip: "RandomForest".
    near += [each for lower, each in by_lower.items() if name.lower() in lower and each not in near]
    if not near:
        return ""
    return f", did you mean {' or '.join(near[:3])}?"


def _is_null(value: Any) -> bool:
    return value is None or value is np.ma.masked


def _one(values: Any, what: str) -> Any:
    """The value that all rows of an argument have."""
    if np.ndim(values) == 0:
        return values.item() if isinstance(values, np.generic) else values
    if len(values) == 0:
        return None
    mask, data = np.ma.getmaskarray(values), np.ma.getdata(values)
    first = data[0]
    if data.dtype == object:
        # A constant is one object in all rows.
        is_one = all(other is first or other == first for other in data.tolist())
    else:
        is_one = bool((data == first).all())
    if mask.all():
        return None
    if mask.any() or not is_one:
        raise InvalidInputException(f"{what} is the same for all rows that one model is trained on or scored with")
    return first.item() if isinstance(first, np.generic) else first


def _matrix(features: Sequence[Any], rows: int) -> tuple[Any, list[int]]:
    """Features as a matrix of numbers, or of objects where some are texts, and the positions of texts."""
    columns = [_column(feature, rows) for feature in features]
    texts = [position for position, column in enumerate(columns) if column.dtype == object]
    whole = np.empty((rows, len(columns)), dtype=object if texts else "f8")
    for position, column in enumerate(columns):
        whole[:, position] = column if column.dtype == object else column.astype("f8", copy=False)
    return whole, texts


def _column(values: Any, rows: int) -> Any:
    """One feature: numbers, float64 with NaN for NULL where there is one, or texts with an empty one for NULL."""
    if type(values) is np.ndarray and values.dtype.kind in "iufb":
        return values
    if np.ndim(values) == 0:
        plain = np.ma.masked if values is None else values
        values = np.full(rows, np.nan) if plain is np.ma.masked else np.full(rows, plain)
    mask = np.ma.getmaskarray(values)
    data = np.ma.getdata(values)
    if data.dtype.kind in "mM":
        data = data.astype("i8").astype("f8")
    if data.dtype.kind in "OUT":
        filled = [None if hidden else value for value, hidden in zip(data, mask, strict=True)]
        if any(isinstance(value, str) for value in filled):
            return np.array(["" if value is None else str(value) for value in filled], dtype=object)
        data = np.array([np.nan if value is None else float(value) for value in filled])
        return data
    found = data.astype("f8")
    if mask.any():
        found = np.where(mask, np.nan, found)
    return found


def _label(values: Any, rows: int) -> Any:
    """What is learned, which is not NULL anywhere."""
    if np.ndim(values) == 0:
        values = np.full(rows, values)
    if np.ma.is_masked(values):
        raise InvalidInputException(
            "the label is NULL in some rows: leave them out, as by FILTER (WHERE label IS NOT NULL)"
        )
    data = np.ma.getdata(values)
    if data.dtype == object and len(data) and not isinstance(data[0], str):
        return data.astype("f8")
    return data


def _rows(arguments: Sequence[Any]) -> int:
    """How many rows arguments have."""
    return max((len(one) for one in arguments if np.ndim(one)), default=1)


def _pipeline(estimator: Any, texts: Sequence[int]) -> Any:
    """The estimator behind the encoding of texts."""
    if not texts:
        return estimator
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = ColumnTransformer([("texts", encoder, list(texts))], remainder="passthrough", sparse_threshold=0)
    return Pipeline([("columns", columns), ("estimator", estimator)])


def _parts(args: Sequence[Any], what: str) -> tuple[Any, Any, list[int]]:
    """Label, matrix, positions of texts, of the label and the features that a call has."""
    if len(args) < 2:
        raise InvalidInputException(f"{what} takes a label and at least one feature behind its first arguments")
    rows = _rows(args)
    matrix, texts = _matrix(args[1:], rows)
    return _label(args[0], rows), matrix, texts


def _train(estimator: Any, parameters: Any, args: Sequence[Any]) -> bytes | None:
    """A model as bytes; None without rows."""
    name = _one(estimator, "the estimator")
    if _is_null(name):
        return None
    given = _one(parameters, "the object of parameters")
    label, matrix, texts = _parts(args, "ml_train")
    if len(label) == 0:
        return None
    fitted = _pipeline(_estimator(str(name), given), texts).fit(matrix, label)
    classes = getattr(fitted, "classes_", None)
    header = {
        "estimator": str(name),
        "parameters": "{}" if _is_null(given) else str(given),
        "classes": None if classes is None else json.dumps([str(one) for one in classes]),
        "rows": len(label),
        "features": matrix.shape[1],
        "training_score": float(fitted.score(matrix, label)) if hasattr(fitted, "score") else None,
        "data": f"crc32 {_checksum(label, matrix):08x}",
    }
    return _packed(header, fitted)


def _checksum(label: Any, matrix: Any) -> int:
    """Tells the rows that a model was trained on from others, in their order."""
    found = 0
    for part in (label, matrix):
        raw = (
            "\n".join(map(str, part.ravel())).encode() if part.dtype == object else np.ascontiguousarray(part).tobytes()
        )
        found = zlib.crc32(raw, found)
    return found


def _model_groups(model: Any, rows: int) -> list[tuple[bytes | None, Any]]:
    """The models of rows, each with the numbers of its rows; all of them (None) where there is one."""
    if np.ndim(model) == 0:
        return [(None if _is_null(model) else bytes(model), None)]
    mask, values = np.ma.getmaskarray(model), np.ma.getdata(model).tolist()
    first = values[0]
    if not mask.any() and first is not None and all(value is first for value in values):
        return [(first, None)]
    groups: dict[bytes, tuple[bytes | None, list[int]]] = {}
    for row, value in enumerate(values):
        one = None if mask[row] or value is None else value
        # The header begins with an id.
        key = b"" if one is None else one[:64]
        groups.setdefault(key, (one, []))[1].append(row)
    if len(groups) == 1:
        return [(one, None) for one, _ in groups.values()]
    return [(one, np.array(numbers)) for one, numbers in groups.values()]


def _check_features(header: Mapping[str, Any], matrix: Any) -> None:
    if header.get("features") != matrix.shape[1]:
        names = f" ({', '.join(header['names'])})" if header.get("names") else ""
        raise InvalidInputException(
            f"the model {header.get('estimator')} was trained with {header.get('features')} features{names}, "
            f"here are {matrix.shape[1]}"
        )


def _as_fitted(header: Mapping[str, Any], matrix: Any) -> Any:
    """Features as the estimator was fitted with them: a data frame, if their names are known."""
    names = header.get("names")
    if not names:
        return matrix
    import pandas as pd

    return pd.DataFrame(matrix, columns=names).infer_objects()


def _apply(model: Any, features: Sequence[Any], make: Any, empty: Any) -> Any:
    """What `make(header, estimator, matrix)` gives, for rows that may have different models."""
    if not features:
        raise InvalidInputException("a model is applied to features, which are missing behind it")
    rows = _rows([model, *features])
    if rows == 0:
        return empty
    matrix, _ = _matrix(features, rows)
    found = np.ma.MaskedArray(np.empty(rows, dtype=object), mask=True)
    for one, numbers in _model_groups(model, rows):
        if one is None:
            continue
        header, estimator = _loaded.get(one)
        _check_features(header, matrix)
        own = matrix if numbers is None else matrix[numbers]
        part = make(header, estimator, _as_fitted(header, own))
        if numbers is None:
            return part
        found[numbers] = part
    return found


def _predict(model: Any, features: Sequence[Any]) -> Any:
    def numbers(header: Mapping[str, Any], estimator: Any, matrix: Any) -> Any:
        found = np.asarray(estimator.predict(matrix))
        if found.dtype.kind in "OUT":
            raise InvalidInputException(
                f"the classes of this {header.get('estimator')} are texts: ml_predict_class gives them"
            )
        return found.astype("f8")

    return _apply(model, features, numbers, np.empty(0))


def _predict_class(model: Any, features: Sequence[Any]) -> Any:
    def classes(_header: Mapping[str, Any], estimator: Any, matrix: Any) -> Any:
        found = estimator.predict(matrix)
        # As SQL writes them: true and false.
        texts = [str(one).lower() for one in found] if found.dtype == bool else [str(one) for one in found]
        return np.array(texts, dtype=object)

    return _apply(model, features, classes, np.empty(0, dtype=object))


def _confidence(model: Any, features: Sequence[Any]) -> Any:
    def highest(header: Mapping[str, Any], estimator: Any, matrix: Any) -> Any:
        if not hasattr(estimator, "predict_proba"):
            raise InvalidInputException(f"{header.get('estimator')} has no probabilities (predict_proba)")
        return np.asarray(estimator.predict_proba(matrix)).max(axis=1).astype("f8")

    return _apply(model, features, highest, np.empty(0))


def _score(model: Any, args: Sequence[Any]) -> float | None:
    one = _one(model, "the model")
    label, matrix, _ = _parts(args, "ml_score")
    if _is_null(one) or len(label) == 0:
        return None
    header, estimator = _loaded.get(one)
    _check_features(header, matrix)
    return float(estimator.score(_as_fitted(header, matrix), label))


def _cross_validate(estimator: Any, parameters: Any, folds: Any, args: Sequence[Any]) -> list[float] | None:
    from sklearn.model_selection import cross_val_score

    name, count = _one(estimator, "the estimator"), _one(folds, "the number of folds")
    if _is_null(name) or _is_null(count):
        return None
    label, matrix, texts = _parts(args, "ml_cross_validate")
    if len(label) == 0:
        return None
    made = _pipeline(_estimator(str(name), _one(parameters, "the object of parameters")), texts)
    return [float(one) for one in cross_val_score(made, matrix, label, cv=int(count))]


def _info(model: Any) -> Any:
    """What models say of themselves; NULL of a BLOB that is no model, as anything may lie in a table."""
    if np.ndim(model) == 0:
        return _told(model)
    mask, values = np.ma.getmaskarray(model), np.ma.getdata(model)
    return [None if hidden else _told(one) for one, hidden in zip(values, mask, strict=True)]


def _told(model: Any) -> str | None:
    if _is_null(model):
        return None
    try:
        return json.dumps(info(bytes(model)))
    except InvalidInputException:
        return None

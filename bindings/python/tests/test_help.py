"""`help()` helps: every public name has a docstring that says what it takes and gives, and examples that run."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import inlay
import inlay.func
import inlay.sqltypes
from inlay._expression import Expression

STUBS = Path(inlay.__file__).parent / "_inlay.pyi"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

#: Packages, and what an example that needs them has.
NEEDS = {
    "fsspec": "fsspec",
    "numpy": r"numpy\(|\[\"",
    "pandas": r"\.df\(|df_chunk|\.map\(",
    "polars": r"\.pl\(",
    "pyarrow": "arrow|record_batch|parquet",
    "sklearn": "sklearn",
}


def docs_of_stubs() -> Iterator[tuple[str, str | None]]:
    """Go through the names of the compiled half with their docstrings in the stubs."""
    for node in ast.parse(STUBS.read_text()).body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        if not node.name.startswith("_"):
            yield node.name, ast.get_docstring(node)
        for inner in node.body if isinstance(node, ast.ClassDef) and node.name != "_WorkerServer" else []:
            if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                yield f"{node.name}.{inner.name}", ast.get_docstring(inner)


STUB_DOCS = dict(docs_of_stubs())


def check(name: str, doc: str) -> None:
    """Run the examples of a docstring."""
    for package, used in NEEDS.items():
        if re.search(used, doc) and importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")
    known = {"inlay": inlay, **{each: getattr(inlay, each) for each in ("col", "lit", "fn", "when", "star")}}
    test = doctest.DocTestParser().get_doctest(doc, known, name, None, 0)
    told: list[str] = []
    failed = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append)
    assert not failed.failed, "".join(told)


#: Classes that users are given, but make and call nothing of.
QUIET = {"Table", "ColumnMemory", "Answer", "PendingColumn", "Shipped"}


@pytest.mark.parametrize("name", [name for name in STUB_DOCS if name.partition(".")[0] not in QUIET])
def test_stubs_say_all_and_their_examples_run(name: str) -> None:
    doc = STUB_DOCS[name]
    assert doc, f"{name} has no docstring"
    if "another name of" not in doc:
        assert ">>> " in doc, f"{name} has no example"
    check(name, doc)


CLASSES = (inlay.Relation, Expression, inlay.Statement)


def docs_of(owner: Any) -> Iterator[tuple[str, str | None]]:
    for name in dir(owner):
        if not name.startswith("_"):
            yield f"{owner.__name__}.{name}", inspect.getdoc(inspect.getattr_static(owner, name))


@pytest.mark.parametrize(("name", "doc"), [one for owner in CLASSES for one in docs_of(owner)])
def test_methods_made_in_python_have_examples_that_run(name: str, doc: str | None) -> None:
    assert doc, f"{name} has no docstring"
    assert ">>> " in doc, f"{name} has no example"
    check(name, doc)


@pytest.mark.parametrize(
    "name", [name for name in STUB_DOCS if name.partition(".")[0] not in {*QUIET, "_Fetch", "shell"}]
)
def test_help_shows_what_the_stubs_say(name: str) -> None:
    owner: Any = inlay if hasattr(inlay, name.partition(".")[0]) else inlay._inlay
    shown: Any = owner
    for part in name.split("."):
        shown = inspect.getattr_static(shown, part)
    if (doc := STUB_DOCS[name]) and "another name of" not in doc:
        assert inspect.getdoc(shown) == doc
    if inspect.ismethoddescriptor(shown) or inspect.isfunction(shown):
        inspect.signature(shown)


@pytest.mark.parametrize("name", sorted(each for each in inlay.__all__ if inspect.isfunction(getattr(inlay, each))))
def test_functions_of_the_package_are_described(name: str) -> None:
    function = getattr(inlay, name)
    doc = inspect.getdoc(function) or ""
    assert doc, f"{name} has no docstring"
    assert "see the stubs" not in doc
    assert "self" not in inspect.signature(function).parameters
    check(name, doc)


def test_a_function_has_the_parameters_of_its_method() -> None:
    assert list(inspect.signature(inlay.execute).parameters) == ["query", "parameters"]
    assert list(inspect.signature(inlay.sql).parameters)[:2] == ["query", "params"]
    assert "Parameters" in (inspect.getdoc(inlay.execute) or "")

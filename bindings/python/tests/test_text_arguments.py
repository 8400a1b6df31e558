"""
Whatever text a caller passes on, a relation reads its tables and does nothing else.

Every parameter of every public function and method is found by looking at signatures, and given statements, comments,
quotes and brackets without their counterparts. A new function whose parameters need values that are not in `VALUES`
fails the test.
"""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import inlay

HOSTILE = [
    "v; DROP TABLE canary",
    "v; DROP TABLE canary; --",
    "v; DELETE FROM canary; SELECT v",
    "v); DROP TABLE canary; --",
    "v)); DROP TABLE canary; --",
    "v FROM t; DROP TABLE canary; --",
    "t; DROP TABLE canary",
    '"t"; DROP TABLE canary; --',
    "INTEGER); DROP TABLE canary; --",
    "OVER (); DROP TABLE canary; --",
    "'; DROP TABLE canary; --",
    '"; DROP TABLE canary; --',
    "$$; DROP TABLE canary; --",
    "E'\\'; DROP TABLE canary; --",
    "v /* ; DROP TABLE canary; --",
    "*/; DROP TABLE canary; --",
    "v) FROM t UNION ALL SELECT v FROM canary --",
    "v -- ",
    "v, -- ",
    "(",
    ")",
    "v)",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "$$",
    "--",
    "/*",
    "",
    "\x00",
]

#: Arguments that are statements by what they are for, and objects of which a text is none.
SQL = {
    "Connection.sql.query",
    "Connection.query.query",
    "Connection.from_query.query",
    "Connection.execute.query",
    "Connection.executemany.query",
    "Connection.prepare.query",
    "Connection.query_appender.dml",
    "Connection.extract_statements.query",
    "Connection.get_table_names.query",
}

#: Functions of which the process, not a database, is the subject.
OTHER = {
    "load_ipython_extension",
    "connect",
    "close",
    "aconnect",
    "default_connection",
    "set_default_connection",
    # What `extract_statements` gives.
    "Statement",
    "calling",
}

FILE = "t.csv"

#: Values of parameters by their names, or by those of function and parameter.
VALUES: dict[str, Any] = {
    "Connection.olap.table": "t",
    "Connection.attach_cluster.url": "sc://127.0.0.1:1",
    "Connection.setoutputsize.size": 1000,
    "Connection.setoutputsize.column": 0,
    "Relation.apply.function_name": "sum",
    "Relation.apply.function_aggr": "v",
    "Relation.create.table_name": "made",
    "Relation.create_view.view_name": "made",
    "Relation.to_table.table_name": "made",
    "Relation.to_view.view_name": "made",
    "Relation.insert.values": [1, 1],
    "Relation.insert_into.table_name": "other",
    "Relation.map.map_function": lambda frame: frame,
    "Relation.nth_value.offset": 1,
    "Relation.pivot.values": [1],
    "Relation.query.sql_query": "SELECT * FROM r",
    "Relation.select_dtypes.types": ["INTEGER"],
    "Relation.select_types.types": ["INTEGER"],
    "Relation.update.set": {"v": 1},
    "Expression.alias.name": "w",
    "Expression.cast.type": "INTEGER",
    "Expression.try_cast.type": "INTEGER",
    "Expression.collate.collation": "NOCASE",
    "Connection.append.data": {"v": [1], "w": [1]},
    "Connection.append.table_name": "other",
    "Connection.appender.table": "other",
    "Connection.array_type.size": 2,
    "Connection.backup.path": "copy.inlay",
    "Connection.create_aggregate.function": lambda x: 1,
    "Connection.create_aggregate.name": "f",
    "Connection.create_aggregate.parameters": ["INTEGER"],
    "Connection.create_aggregate.return_type": "INTEGER",
    "Connection.create_function.function": lambda x: 1,
    "Connection.create_function.name": "f",
    "Connection.create_function.parameters": ["INTEGER"],
    "Connection.create_function.return_type": "INTEGER",
    "Connection.create_table_function.columns": {"a": "INTEGER"},
    "Connection.create_table_function.function": lambda x: {"a": [1]},
    "Connection.create_table_function.name": "f",
    "Connection.create_table_function.parameters": ["INTEGER"],
    "Connection.enum_type.values": ["a"],
    "Connection.from_arrow.df": {"v": [1]},
    "Connection.from_df.df": {"v": [1]},
    "Connection.query_appender.dml": "INSERT INTO other SELECT * FROM appended_data",
    "Connection.query_appender.columns": {"v": "INTEGER", "w": "INTEGER"},
    "Connection.register.table": {"v": [1]},
    "Connection.register_filesystem.filesystem": None,
    "Connection.set_priority.priority": "low",
    "Connection.string_type.collation": "",
    "Connection.struct_type.fields": {"a": "INTEGER"},
    "Connection.row_type.fields": {"a": "INTEGER"},
    "Connection.table_function.name": "range",
    "Connection.table_function.parameters": [3],
    "Connection.union_type.members": {"a": "INTEGER"},
    "Connection.unregister_filesystem.name": "memory",
    "Connection.filesystem_is_registered.name": "memory",
    "CaseExpression.condition": True,
    "FunctionExpression.function_name": "abs",
    "LambdaExpression.lhs": "x",
    "LambdaExpression.rhs": 1,
    "SQLExpression.expression": "v",
    "Expression.sql": "v",
    "sql_expr.sql": "v",
    "fn.name": "abs",
    "tokenize.query": "SELECT",
    "Value.object": 1,
    "Value.type": "INTEGER",
    "object": 1,
    "children": {},
    "members": {},
    "child": "INTEGER",
    "child_type": "INTEGER",
    "key_type": "INTEGER",
    "value_type": "INTEGER",
    "when.condition": True,
    "aggr_expr": "sum(v)",
    "aggregate": "sum(v)",
    "arg_column": "v",
    "column": "v",
    "columns": None,
    "condition": "v",
    "expression": "v",
    "extension": "json",
    "file_name": "out.csv",
    "filter_expr": "v > 0",
    "key": "INTEGER",
    "lower": 1,
    "n": 1,
    "name": "made",
    "num_buckets": 2,
    "offset": 1,
    "parameters": [],
    "path_or_buffer": FILE,
    "pattern": "a",
    "predicate": True,
    "query": "SELECT 1",
    "scale": 1,
    "table_name": "t",
    "type": "INTEGER",
    "type_str": "INTEGER",
    "unique_aggr": "v",
    "upper": 2,
    "value": 1,
    "value_column": "v",
    "view_name": "t",
    "virtual_table_name": "r",
    "width": 4,
    "window_spec": "OVER ()",
}

Case = tuple[str, str]


def _methods(owner: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in sorted(dir(owner)):
        method = getattr(owner, name)
        if not name.startswith("_") and callable(method):
            yield f"{owner.__name__}.{name}", method


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    methods = {name for owner in (inlay.Connection, inlay.Relation) for name in dir(owner)}
    for name in sorted(inlay.__all__):
        function = getattr(inlay, name)
        is_class = isinstance(function, type)
        if not callable(function) or name in OTHER or (is_class and issubclass(function, BaseException)):
            continue
        # Those of the default connection, and of data frames, are methods under their names.
        of_default = not is_class and function.__module__ == "inlay" and function.__name__ in methods
        if not of_default and not (is_class and function in (inlay.Connection, inlay.Relation)):
            yield name, function


def _all() -> dict[str, Callable[..., Any]]:
    found = dict(_functions())
    for owner in (inlay.Relation, inlay.Expression, inlay.Connection):
        found |= dict(_methods(owner))
    return found


def _parameters(function: Callable[..., Any], is_method: bool) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    return parameters[1:] if is_method and parameters else parameters


ALL = _all()
CASES: list[Case] = [
    (name, parameter.name)
    for name, function in ALL.items()
    for parameter in _parameters(function, "." in name)
    if f"{name}.{parameter.name}" not in SQL
]


class World:
    """A database with a table that must stay, and objects to call methods of."""

    def __init__(self) -> None:
        self.con = inlay.connect(config={"allow_python": True})
        self.con.execute("CREATE TABLE canary (v INTEGER); INSERT INTO canary VALUES (1), (2), (3)")
        self.con.execute("CREATE TABLE t (v INTEGER, w INTEGER); INSERT INTO t VALUES (1, 2), (2, 1)")
        self.con.execute("CREATE TABLE other (v INTEGER, w INTEGER)")

    def owner(self, name: str) -> Any:
        match name.partition(".")[0]:
            case "Relation":
                return self.con.table("t")
            case "Expression":
                return inlay.col("v")
        return self.con

    def value(self, name: str, parameter: str) -> Any:
        if parameter in ("other_rel", "union_rel", "other") and name.startswith("Relation."):
            return self.con.sql("SELECT 1 AS v, 2 AS w").set_alias("o")
        for key in (f"{name}.{parameter}", parameter):
            if key in VALUES:
                return VALUES[key]
        if name.startswith("Expression."):
            return 1
        raise AssertionError(f"VALUES needs a value for the parameter {parameter} of {name}")

    def use(self, given: Any) -> None:
        """Do what a caller would do with what a call gave."""
        relation = self.con.table("t")
        if isinstance(given, inlay.Relation):
            given.fetchall()
        elif isinstance(given, inlay.Expression):
            relation.select(given).fetchall()
            relation.order(given).fetchall()
        elif isinstance(given, inlay.sqltypes.SQLType):
            relation.select(inlay.col("v").cast(given)).fetchall()
        elif isinstance(given, inlay.Appender):
            given.append_row(*[1] * len(given.columns))
            given.close()
        elif isinstance(given, inlay.Value):
            self.con.execute("SELECT ?", [given]).fetchall()
        elif isinstance(given, inlay.Connection):
            if given.description:
                given.fetchall()
        elif callable(given) and not isinstance(given, builtins.type):
            given(lambda x: 1)

    def check(self) -> None:
        assert self.con.execute("FROM canary ORDER BY ALL").fetchall() == [(1,), (2,), (3,)]


def _call(world: World, name: str, parameter: str, text: str) -> None:
    function = ALL[name]
    if "." in name:
        function = getattr(world.owner(name), name.partition(".")[2])
    parameters = _parameters(function, False)
    in_order = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for each in parameters:
        is_wanted = each.name == parameter
        if each.kind is inspect.Parameter.VAR_POSITIONAL:
            positional += [text] if is_wanted else []
        elif each.kind is inspect.Parameter.VAR_KEYWORD:
            named |= {text: text, "compression": text} if is_wanted else {}
        elif is_wanted or each.default is inspect.Parameter.empty:
            value = text if is_wanted else world.value(name, each.name)
            by_place = each.kind is inspect.Parameter.POSITIONAL_ONLY or (
                in_order and each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            )
            if by_place:
                positional.append(value)
            else:
                named[each.name] = value
    world.use(function(*positional, **named))


def _is_text(name: str, parameter: str) -> bool:
    found = next(each for each in _parameters(ALL[name], "." in name) if each.name == parameter)
    return re.search(r"(^|\| )str( \||$)", str(found.annotation)) is not None


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_no_text_runs_a_statement(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(FILE).write_text("v,w\n1,2\n")
    inlay.close()
    world = World()
    for parameter in [parameter for known, parameter in CASES if known == name]:
        for text in HOSTILE:
            try:
                _call(world, name, parameter, text)
            except AssertionError:
                raise
            except inlay.Error:
                pass
            except Exception as error:
                # Not what a number is asked for.
                assert not _is_text(name, parameter) or isinstance(error, (TypeError, ValueError)), (
                    parameter,
                    text,
                    error,
                )
            world.check()
            if world.con.in_transaction:
                world.con.rollback()


@pytest.mark.parametrize(
    "step",
    [
        lambda r, text: r.order(text),
        lambda r, text: r.select(text),
        lambda r, text: r.filter(text),
        lambda r, text: r.aggregate(text),
        lambda r, text: r.aggregate("sum(v)", text),
        lambda r, text: r.unique(text),
        lambda r, text: r.with_columns(x=text),
        lambda r, text: r.row_number(text),
        lambda r, text: r.sum("v", groups=text),
        lambda r, text: r.sum("v", projected_columns=text),
        lambda r, text: r.sum(text),
        lambda r, text: r.lag("v", "OVER (ORDER BY v)", default_value=text),
        lambda r, text: r.select(inlay.col("v").cast(text)),
        lambda r, text: r.select(inlay.fn("sum", inlay.col("v")).over(order_by=text)),
        lambda r, text: r.select(inlay.SQLExpression(text)),
        lambda r, text: r.join(r.set_alias("o"), text),
        lambda r, text: r.distinct(text),
        lambda r, text: r.pivot("w", [1], text),
    ],
)
def test_texts_are_errors_of_the_parser(step: Callable[[inlay.Relation, str], inlay.Relation]) -> None:
    world = World()
    relation = world.con.table("t")
    for text in ["v; DROP TABLE canary; --", "v) FROM canary; DROP TABLE canary; --", "'", "(v", "v /*"]:
        with pytest.raises(inlay.ParserException) as raised:
            step(relation, text).fetchall()
        assert raised.value.sqlstate == "42601"
        world.check()


def test_places_are_shown() -> None:
    relation = inlay.sql("SELECT 1 AS v")
    with pytest.raises(inlay.ParserException, match='found ";"') as raised:
        relation.order("v;\nDROP TABLE t")
    assert raised.value.position == (1, 2)


def test_comments_end_with_their_text() -> None:
    relation = inlay.sql("SELECT * FROM (VALUES (1, 2), (3, 4)) t(v, w)").set_alias("t")
    assert relation.order("v DESC -- the largest first").fetchall() == [(3, 4), (1, 2)]
    assert relation.select("v -- one").fetchall() == [(1,), (3,)]
    assert relation.filter("v > 1 -- not 1").filter("w > 1 -- nor this").fetchall() == [(3, 4)]
    assert relation.sum("v -- all").fetchall() == [(4,)]
    assert relation.sum("v", groups="w -- by w", projected_columns="w -- w").order("1").fetchall() == [(2, 1), (4, 3)]
    assert relation.row_number("OVER (ORDER BY v) -- in order", "v -- v").fetchall() == [(1, 1), (3, 2)]
    assert relation.select(inlay.SQLExpression("v + 1 -- more") * 2).fetchall() == [(4,), (8,)]
    assert relation.with_columns(x="v -- the same").fetchall() == [(1, 2, 1), (3, 4, 3)]
    assert relation.distinct("v -- one of each").fetchall() == [(1, 2), (3, 4)]


def test_texts_with_semicolons_and_quotes_are_values() -> None:
    relation = inlay.sql("SELECT 'a;b' AS \"x;y\", 1 AS v")
    assert relation.filter("\"x;y\" = 'a;b' AND $$;'$$ = ';''' AND E'\\';' = ''';'").fetchall() == [("a;b", 1)]
    assert relation.select('"x;y"').columns == ["x;y"]
    assert relation.sum("v", projected_columns='first("x;y")').fetchall() == [("a;b", 1)]


def test_a_column_whose_name_is_no_sql() -> None:
    relation = inlay.sql('SELECT 2 AS "my column", 3 AS "a;b"')
    assert relation.sum("my column").fetchall() == [(2,)]
    assert relation.max("a;b").fetchall() == [(3,)]
    assert relation.string_agg("my column").fetchall() == [("2",)]
    with pytest.raises(inlay.ParserException):
        relation.sum("your column")


def test_a_relation_is_one_statement() -> None:
    con = inlay.connect()
    con.execute("CREATE TABLE canary AS SELECT 1 AS v")
    relation = con.sql("SELECT 1 AS v")
    with pytest.raises(inlay.ParserException, match="expected one statement"):
        relation.query("r", "SELECT * FROM r; DROP TABLE canary")
    with pytest.raises(inlay.InvalidInputException, match="one statement"):
        con.query_appender("DROP TABLE canary; DROP TABLE canary", {"v": "INTEGER"})
    assert con.sql("CREATE TABLE other (x INTEGER); SELECT 1 AS x").fetchall() == [(1,)]
    assert con.execute("FROM canary").fetchall() == [(1,)]


def test_parameters_of_relations_stand_where_the_engine_says() -> None:
    con = inlay.connect()
    text = "SELECT '?' AS a, /* /* ? */ ' */ ? AS b, $$?$$ AS c, E'\\'?' AS d -- ?"
    assert con.sql(text, params=["'; DROP TABLE t; --"]).fetchall() == [("?", "'; DROP TABLE t; --", "?", "'?")]
    assert con.sql("SELECT $x + $y, $x", params={"x": 1, "y": 2}).fetchall() == [(3, 1)]
    assert con.sql("SELECT ?2 - ?1", params=[1, 3]).fetchall() == [(2,)]

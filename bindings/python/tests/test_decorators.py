"""`@con.udf`, `@con.udaf` and `@con.udtf`: with and without parentheses, types of annotations, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import inlay


def test_decorators_need_no_parentheses() -> None:
    con = inlay.connect()

    @con.udf
    def double(x: float) -> float:
        return x * 2

    @con.udaf
    class total:  # noqa: N801
        def __init__(self) -> None:
            self.sum = 0

        def update(self, x: int) -> None:
            self.sum += int(x.sum())  # type: ignore[attr-defined]

        def finish(self) -> int:
            return self.sum

    @con.udf("thrice", ["DOUBLE"], "DOUBLE")
    def without_annotations(x):  # type: ignore[no-untyped-def]
        return x * 3

    assert double(2) == 4
    assert without_annotations(1) == 3
    assert total.__name__ == "total"
    assert con.execute("SELECT double(2), thrice(2)").fetchall() == [(4.0, 6.0)]
    assert con.execute("SELECT total(i) FROM range(10) t(i)").fetchone() == (45,)


def test_a_table_function_is_given_a_table_by_its_annotation() -> None:
    con = inlay.connect()

    @con.udtf(columns={"w": str})
    def words(t: "TABLE", k: int) -> Any:  # type: ignore[name-defined]  # noqa: F821, UP037
        return {"w": t["s"][:k]}

    @con.udtf(parameters=["TABLE", "INTEGER"], columns={"w": str})
    def others(t, k):  # type: ignore[no-untyped-def]
        return {"w": t["s"][k:]}

    rows = "(SELECT 'a' || i AS s FROM range(3) r(i))"
    assert con.execute(f"FROM words({rows}, 2)").fetchall() == [("a0",), ("a1",)]
    assert con.execute(f"FROM others({rows}, 2)").fetchall() == [("a2",)]


def test_what_is_missing_is_said_with_an_example() -> None:
    con = inlay.connect()
    with pytest.raises(inlay.InvalidInputException, match=r"needs return_type, .*'DOUBLE', or def f\(...\) -> float"):

        @con.udf
        def f(x):  # type: ignore[no-untyped-def]
            return x

    with pytest.raises(inlay.InvalidInputException, match=r"the types of x, y: .*or def g\(x: float, y: float\)"):

        @con.udf
        def g(x, y) -> int:  # type: ignore[no-untyped-def]
            return 1

    with pytest.raises(inlay.InvalidInputException, match="needs parameters"):

        @con.udtf(columns={"x": int})
        def h(t, k):  # type: ignore[no-untyped-def]
            return {"x": 1}

    with pytest.raises(inlay.InvalidInputException, match="something to call, got 5"):
        con.create_function("five", 5, ["INTEGER"], "INTEGER")
    with pytest.raises(inlay.InvalidInputException, match="is a text, not 5"):
        con.udf(5)


def test_annotations_of_python_are_types_of_sql() -> None:
    con = inlay.connect()

    def counted(x: dict[str, int]) -> int:
        return len(x)

    def shown(x: int | str) -> str:
        return str(x)

    con.create_function("counted", counted)
    con.create_function("shown", shown)
    con.create_function("field", lambda x: x["a b"], [{"a b": int}], int)
    assert con.execute("SELECT counted(MAP {'a': 1, 'b': 2}), field({'a b': 4})").fetchall() == [(2, 4)]
    assert con.execute("SELECT shown(x::UNION(u1 BIGINT, u2 VARCHAR)) FROM (VALUES (5)) t(x)").fetchall() == [("5",)]


def test_an_arrow_function_may_give_a_table_of_one_column() -> None:
    pa = pytest.importorskip("pyarrow")
    con = inlay.connect()
    con.create_function("tabled", lambda x: pa.table({"r": x}), ["BIGINT"], "BIGINT", type="arrow")
    con.create_function("wide", lambda x: pa.table({"r": x, "s": x}), ["BIGINT"], "BIGINT", type="arrow")
    assert con.execute("SELECT tabled(i) FROM range(3) t(i)").fetchall() == [(0,), (1,), (2,)]
    with pytest.raises(inlay.InvalidInputException, match="a table of 2 columns"):
        con.execute("SELECT wide(5)")

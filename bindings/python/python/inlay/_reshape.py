"""Steps of relations that turn rows into columns, columns into rows, and lists into rows; groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from inlay import _parts
from inlay._aggregates import Aggregates
from inlay._expression import Expression, sql_of
from inlay._inlay import Answer
from inlay._parts import quote
from inlay._query import as_list, bad, condition_text, select_item, select_items

if TYPE_CHECKING:
    from inlay._relation import Relation


class Reshape(Aggregates):
    """A query, its aggregates, and what changes the shape of its rows."""

    def group_by(self, *columns: Any) -> Groups:
        """
        Begin an aggregation by groups, which `agg` completes: ``trips.group_by("city").agg("sum(km)")``.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.group_by("city").agg("sum(km)").order("city").fetchall()
        [('Bonn', 8), ('Ulm', 7)]
        """
        return Groups(self, columns)

    def pivot(self, column: Any = None, values: Any = None, aggregate: Any = None, **others: Any) -> Relation:
        """
        Make a column for each of the values of `column`: what `aggregate` gives there. Other columns are groups.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.pivot("city", ["Ulm", "Bonn"], "sum(km)").fetchall()
        [(7, 8)]
        """
        is_list = isinstance(values, Iterable) and not isinstance(values, (str, bytes))
        if column is None or aggregate is None or not is_list or others:
            raise bad(_pivot_is_called(values, aggregate, others))
        words = ", ".join(map(sql_of, values))
        if not words:
            raise bad("Relation.pivot() needs at least one value")
        shown = _parts.items(aggregate) if isinstance(aggregate, str) else condition_text(aggregate)
        text = f"{shown} FOR {select_item(column)} IN ({words})"
        return self._derive(f"SELECT * FROM (SELECT * FROM {self._source()}) PIVOT ({text})")

    def unpivot(self, *columns: str | Iterable[str], name: str = "name", value: str = "value") -> Relation:
        """
        Make a row of each of the columns; `name` says which, `value` what stood there.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.unpivot("a", "b").fetchall()
        [('a', 1), ('b', 4), ('a', 2), ('b', 6)]
        >>> r.unpivot(["a", "b"], name="which").columns
        ['which', 'value']
        """
        names = names_of("unpivot", columns)
        inner = f"(SELECT * FROM {self._source()})"
        words = ", ".join(map(quote, names))
        return self._derive(f"SELECT * FROM {inner} UNPIVOT ({quote(value)} FOR {quote(name)} IN ({words}))")

    def unnest(self, *columns: str | Iterable[str]) -> Relation:
        """
        Make a row for each element of these columns' lists.

        Examples
        --------
        >>> inlay.sql("SELECT 1 AS i, [5, 6] AS l").unnest("l").fetchall()
        [(1, 5), (1, 6)]
        """
        names = names_of("unnest", columns)
        words = ", ".join(f"unnest({quote(column)}) AS {quote(column)}" for column in names)
        return self._derive(f"SELECT * REPLACE ({words}) FROM {self._source()}")

    def iter_rows(self, batch_size: int = 1024) -> Iterator[tuple[Any, ...]]:
        """
        Fetch one row after the other, of which `batch_size` are converted at once.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> list(r.iter_rows())
        [(1, 4), (2, 6)]
        """
        if batch_size < 1:
            raise bad("iter_rows() needs a batch_size of at least 1")
        rows = self._stream()
        if isinstance(rows, Answer):
            yield from rows
            return
        while batch := rows.fetchmany(batch_size):
            yield from batch


def _pivot_is_called(values: Any, aggregate: Any, others: dict[str, Any]) -> str:
    """Say what is wrong with a call of `pivot`, and how it is called."""
    if others:
        wrong = f"it has no {', '.join(others)}; columns that are not named are its groups"
    elif isinstance(values, (str, bytes)):
        wrong = f"values = {values!r} is a text, not a list"
    elif values is not None and not isinstance(values, Iterable):
        wrong = f"values is of type {type(values).__name__}, not a list"
    else:
        wrong = "it lacks " + ("its values" if values is None else "an aggregate" if aggregate is None else "a column")
    return (
        f"Relation.pivot(column, values, aggregate): {wrong}; it is called as in "
        'trips.pivot("city", ["Ulm", "Bonn"], "sum(km)")'
    )


def names_of(method: str, columns: Iterable[Any]) -> list[str]:
    """Return the names of columns, one by one or in lists; fails if there is none, or one of something else."""
    names: list[str] = []
    for each in columns:
        for name in [each] if isinstance(each, (str, Expression)) else list(each):
            plain = name._name if isinstance(name, Expression) else name
            if not isinstance(plain, str):
                raise bad(f"Relation.{method}() takes names of columns; {name!r} is of type {type(name).__name__}")
            names.append(plain)
    if not names:
        raise bad(f"Relation.{method}() needs at least one column")
    return names


def new_columns(expressions: Iterable[Any], columns: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of columns by their names, which expressions have from `alias`."""
    new: dict[str, str] = {}
    for each in (each for given in expressions for each in as_list(given)):
        if not isinstance(each, Expression):
            raise bad(
                f"Relation.with_columns() takes expressions, and SQL by the name of its column; {each!r} is neither: "
                'with_columns(c="a + b"), or with_columns((col("a") + col("b")).alias("c"))'
            )
        new[each.get_name()] = sql_of(each)
    return new | {name: condition_text(value) for name, value in columns.items()}


def new_names(names: Any, columns: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs of old and new names that a call of `rename` says, also as pandas is told."""
    if names is None and isinstance(columns.get("columns"), Mapping):
        names, columns = columns["columns"], {}
    if names is not None and not isinstance(names, Mapping):
        raise bad(f'Relation.rename() takes a dict from old to new names, or rename(old="new"), not {names!r}')
    pairs = list({**(names or {}), **columns}.items())
    for old, new in pairs:
        if not isinstance(old, str) or not isinstance(new, str):
            raise bad(f"Relation.rename() takes names of columns, which are texts; {old!r}: {new!r} is no pair of them")
    if not pairs:
        raise bad('Relation.rename() needs at least one pair of names: rename(old="new")')
    return pairs


class Groups:
    """A relation and the columns by which its rows are grouped."""

    def __init__(self, relation: Reshape, columns: tuple[Any, ...]) -> None:
        self._relation = relation
        self._columns = columns

    def agg(self, *aggregates: Any) -> Relation:
        """
        Aggregate each group: SQL, or expressions. The columns of the groups come first.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.group_by("city").agg("max(km)", "count(*)").order("city").fetchall()  # doctest: +SKIP
        [('Bonn', 8, 1), ('Ulm', 4, 2)]
        """
        if not aggregates:
            raise bad("agg() needs at least one aggregate")
        keys = [select_item(column) for column in self._columns]
        items = ", ".join([*keys, select_items(aggregates)])
        end = f" GROUP BY {', '.join(str(at + 1) for at in range(len(keys)))}" if keys else ""
        return self._relation._derive(f"SELECT {items}\nFROM {self._relation._source()}{end}")

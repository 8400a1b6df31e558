"""Steps of relations that turn rows into columns, columns into rows, and lists into rows; groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from inlay import _parts
from inlay._aggregates import Aggregates
from inlay._expression import sql_of
from inlay._inlay import Answer
from inlay._parts import quote
from inlay._query import bad, condition_text, select_item, select_items

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

    def pivot(self, column: Any, values: Iterable[Any], aggregate: Any) -> Relation:
        """
        Make a column for each of the values of `column`: what `aggregate` gives there. Other columns are groups.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.pivot("city", ["Ulm", "Bonn"], "sum(km)").fetchall()
        [(7, 8)]
        """
        words = ", ".join(map(sql_of, values))
        if not words:
            raise bad("pivot() needs at least one value")
        shown = _parts.items(aggregate) if isinstance(aggregate, str) else condition_text(aggregate)
        text = f"{shown} FOR {select_item(column)} IN ({words})"
        return self._derive(f"SELECT * FROM (SELECT * FROM {self._source()}) PIVOT ({text})")

    def unpivot(self, *columns: str, name: str = "name", value: str = "value") -> Relation:
        """
        Make a row of each of the columns; `name` says which, `value` what stood there.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.unpivot("a", "b").fetchall()
        [('a', 1), ('b', 4), ('a', 2), ('b', 6)]
        """
        if not columns:
            raise bad("unpivot() needs at least one column")
        inner = f"(SELECT * FROM {self._source()})"
        words = ", ".join(map(quote, columns))
        return self._derive(f"SELECT * FROM {inner} UNPIVOT ({quote(value)} FOR {quote(name)} IN ({words}))")

    def unnest(self, *columns: str) -> Relation:
        """
        Make a row for each element of these columns' lists.

        Examples
        --------
        >>> inlay.sql("SELECT 1 AS i, [5, 6] AS l").unnest("l").fetchall()
        [(1, 5), (1, 6)]
        """
        if not columns:
            raise bad("unnest() needs at least one column")
        words = ", ".join(f"unnest({quote(column)}) AS {quote(column)}" for column in columns)
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

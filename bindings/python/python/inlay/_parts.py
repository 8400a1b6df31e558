"""
Texts of SQL that become parts of statements.

Whatever a caller gives as SQL goes through here before it stands anywhere: the engine reads it as what it is to be, an
expression or a list of keys to sort by, and refuses what is more, less or something else. What is given back may be put
where such a part may stand, in front of anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from inlay._inlay import Connection
from inlay.exceptions import InvalidInputException

#: Longer texts are read each time.
_REMEMBERED_MAX = 4096


def quote(name: str) -> str:
    """Write a name so that it is taken literally."""
    return '"' + name.replace('"', '""') + '"'


def quote_path(name: str) -> str:
    """Write the name of a table, whose parts dots separate; one that begins with a quote is read as SQL reads it."""
    quoted: str = Connection._quoted(name)
    return quoted


def numbered(names: Iterable[str]) -> list[str]:
    """Number names that occur again, as data frames of a result have them."""
    found: dict[str, None] = {}
    for name in names:
        candidate, number = name, 1
        while candidate in found:
            candidate, number = f"{name}_{number}", number + 1
        found[candidate] = None
    return list(found)


def function_name(name: str) -> str:
    """Write the name of a function; one with dots has its schema in front."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else quote_path(name)


def option_name(name: str) -> str:
    """Return the name of an option, which SQL writes without quotes."""
    if not name.isidentifier():
        raise _bad(f"{name!r} is no name of an option")
    return name


@lru_cache(maxsize=1024)
def _remembered(part: str, text: str) -> str:
    return _read(part, text)


def _read(part: str, text: str) -> str:
    Connection._check(part, text)
    # What follows must not become part of a comment.
    return f"{text}\n" if "--" in text else text


def _part(part: str, text: Any) -> str:
    if not isinstance(text, str):
        raise _bad(f"expected a text of SQL, not an object of type {type(text).__name__}")
    # Of a subclass, the text is what it holds, whatever its methods say.
    text = str.__str__(text)
    return _remembered(part, text) if len(text) <= _REMEMBERED_MAX else _read(part, text)


def _bad(message: str) -> InvalidInputException:
    error = InvalidInputException(message)
    error.sqlstate = "22023"
    return error


def expression(text: Any) -> str:
    """Return a text that is one expression."""
    return _part("expression", text)


def arguments(text: Any) -> str:
    """Return a text that may stand in the parentheses of a call: ``DISTINCT a``, ``a ORDER BY b``, ``*``."""
    return _part("arguments", text)


def items(text: Any) -> str:
    """Return a text that SELECT may list: ``a, b + 1 AS c``."""
    return _part("items", text)


def order(text: Any) -> str:
    """Return a text that ORDER BY may list: ``a DESC, b``."""
    return _part("order", text)


def groups(text: Any) -> str:
    """Return a text that GROUP BY may list: ``a, ROLLUP (b)``, ``ALL``."""
    return _part("groups", text)


def window(text: Any) -> str:
    """Return a text that may follow a call: ``OVER (ORDER BY a)``."""
    return _part("window", text)


def type_name(text: Any) -> str:
    """Return a text that is a type."""
    return _part("type", text)

"""Tokens of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from inlay._inlay import Connection
from inlay._kinds import token_type


@cache
def keywords() -> frozenset[str]:
    """Words of the grammar, in lower case."""
    return frozenset(Connection._keywords())


_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<string>[eExXbB]?'(?:[^']|'')*(?:'|\Z)|\$\$.*?(?:\$\$|\Z)|\$(?P<tag>[^\W\d]\w*)\$.*?(?:\$(?P=tag)\$|\Z))
    |(?P<name>"(?:[^"]|"")*(?:"|\Z))
    |(?P<number>0[xX][0-9a-fA-F_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?)
    |(?P<word>[^\W\d]\w*)
    |(?P<operator>->>|->|::|:=|=>|==|<=|>=|<>|!=|\|\||!~~\*|!~~|~~\*|~~|!~|\*\*|//|<<|>>|&&|@>|<@|\S)""",
    re.VERBOSE | re.DOTALL,
)

_KINDS = {
    "comment": token_type.comment,
    "string": token_type.string_const,
    "name": token_type.identifier,
    "number": token_type.numeric_const,
    "tag": token_type.string_const,
    "operator": token_type.operator,
}


def tokenize(query: str) -> list[tuple[int, token_type]]:
    """Return where each token of a text begins, in bytes of UTF-8, and its kind, as for colouring it."""
    return list(_tokens(query))


def _tokens(query: str) -> Iterator[tuple[int, token_type]]:
    at = bytes_before = 0
    for match in _TOKEN.finditer(query):
        bytes_before += len(query[at : match.start()].encode())
        at = match.start()
        kind = match.lastgroup or ""
        if kind == "word":
            yield bytes_before, token_type.keyword if match[0].lower() in keywords() else token_type.identifier
        else:
            yield bytes_before, _KINDS[kind]


def parts(expression: str) -> tuple[int, tuple[str, str] | None]:
    """
    Count the items of a text such as ``a + 1 AS b, c``, and cut the last one's name off.

    Returns the number of items, and the text before the name and the name, if it is written with AS.
    """
    tokens = [match for match in _TOKEN.finditer(expression) if match.lastgroup != "comment"]
    depth, items = 0, 1
    for match in tokens:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(match[0], 0)
        items += depth == 0 and match[0] == ","
    if len(tokens) < 3 or tokens[-2][0].lower() != "as" or tokens[-1].lastgroup not in ("word", "name"):
        return items, None
    name = tokens[-1][0]
    name = name[1:-1].replace('""', '"') if name.startswith('"') else name
    return items, (expression[: tokens[-2].start()].rstrip(), name)

"""Runs files of SQLite's sqllogictest through Python's sqlite3: `LD_PRELOAD=libinlay_sqlite3.so python slt.py FILES`.

Prints the records that fail, at most a few of a file, and how many of how many pass. Records for SQLite are run.
"""

import hashlib
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

SHOWN = 3


def records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Records with the number of their first line."""
    lines: list[str] = []
    start = 1
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if line.startswith("#"):
            continue
        if line.strip():
            start = start if lines else number
            lines.append(line)
        elif lines:
            yield start, lines
            lines = []
    if lines:
        yield start, lines


def number_of(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0


def shown(value: object, kind: str) -> str:
    if value is None:
        return "NULL"
    if kind == "I":
        return str(value) if isinstance(value, int) else str(int(number_of(value)))
    if kind == "R":
        return f"{number_of(value):.3f}"
    text = value.decode("latin1") if isinstance(value, bytes) else str(value)
    return "".join(c if " " <= c <= "~" else "@" for c in text) or "(empty)"


def answer(rows: list[tuple[object, ...]], kinds: str, sort: str) -> list[str]:
    table = [[shown(value, kind) for value, kind in zip(row, kinds, strict=True)] for row in rows]
    if sort == "rowsort":
        table.sort()
    values = [value for row in table for value in row]
    return sorted(values) if sort == "valuesort" else values


def matches(values: list[str], expected: list[str]) -> bool:
    if len(expected) == 1 and " values hashing to " in expected[0]:
        count, digest = expected[0].split(" values hashing to ")
        text = "".join(value + "\n" for value in values)
        return len(values) == int(count) and hashlib.md5(text.encode()).hexdigest() == digest
    return values == expected


def run(con: sqlite3.Connection, lines: list[str]) -> str | None:
    """What is wrong with a record; None if nothing is."""
    head, *rest = lines
    words = head.split()
    if words[0] == "statement":
        try:
            con.executescript("\n".join(rest))
        except sqlite3.Error as error:
            return None if words[1] == "error" else f"{error}"
        return "it succeeds" if words[1] == "error" else None
    place = rest.index("----") if "----" in rest else len(rest)
    sort = words[2] if len(words) > 2 and words[2] in {"rowsort", "valuesort", "nosort"} else "nosort"
    try:
        rows = con.execute("\n".join(rest[:place])).fetchall()
        values = answer(rows, words[1], sort)
    except (sqlite3.Error, ValueError) as error:
        return f"{error}"
    expected = rest[place + 1 :]
    if place == len(rest) or matches(values, expected):
        return None
    return f"{values[:5]} instead of {expected[:5]}"


def run_file(path: Path) -> tuple[int, int]:
    con = sqlite3.connect(":memory:", isolation_level=None)
    passed = failed = 0
    for number, lines in records(path):
        applies = True
        while lines and lines[0].split()[0] in {"skipif", "onlyif"}:
            word, engine = lines[0].split()[:2]
            applies &= (engine == "sqlite") == (word == "onlyif")
            lines = lines[1:]
        if not lines or not applies or lines[0].startswith("hash-threshold"):
            continue
        if lines[0].startswith("halt"):
            break
        problem = run(con, lines)
        passed += problem is None
        failed += problem is not None
        if problem is not None and failed <= SHOWN:
            print(f"{path.name}:{number}: {problem}\n    {' '.join(lines[1:])[:200]}")
    con.close()
    return passed, passed + failed


def main() -> None:
    total = [0, 0]
    for name in sys.argv[1:]:
        passed, count = run_file(Path(name))
        total = [total[0] + passed, total[1] + count]
        print(f"{name}: {passed} of {count}", flush=True)
    print(f"{total[0]} of {total[1]} records pass")


if __name__ == "__main__":
    main()

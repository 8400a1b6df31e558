"""
The pictures of docs/shell.md, drawn from what the shell shows at a terminal.

    python -m tests.shell.screenshots
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.shell.terminal import Terminal, left, started

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"


def tables(terminal: Terminal) -> None:
    """A table from a function, types in the head, a long answer cut in the middle."""
    terminal.ask("CALL tpch_dbgen(sf := 0.01);")
    terminal.ask("SELECT o_orderstatus AS status, count(*) AS orders FROM orders GROUP BY 1 ORDER BY 1;")
    terminal.ask(".maxrows 6")
    terminal.ask("FROM lineitem SELECT l_orderkey, l_shipdate, l_quantity, l_shipmode, l_comment;")


def errors(terminal: Terminal) -> None:
    """Errors name the place and what was probably meant."""
    terminal.ask("CREATE TABLE trips (city VARCHAR, fare DECIMAL(6, 2));")
    terminal.ask("INSERT INTO trips VALUES ('Ulm', 9.10), ('Bonn', 31.00);")
    terminal.ask("SELECT cty, sum(fare) FROM trips GROUP BY ALL;")
    terminal.ask("SELECT sum(fare) FROM trip;")
    terminal.ask("SELECT round(fare, 'x') FROM trips;")


def main() -> None:
    """Draw all pictures."""
    for name, title, show in (
        ("shell-tables", "The shell shows tables that fit the terminal", tables),
        ("shell-errors", "Errors of the shell name the place and the fix", errors),
    ):
        with tempfile.TemporaryDirectory() as home:
            terminal = started(Path(home))
            show(terminal)
            picture = terminal.screen.svg(title)
            left(terminal)
        (IMAGES / f"{name}.svg").write_text(picture)
        print(f"written: docs/images/{name}.svg")


if __name__ == "__main__":
    main()

"""Arrow files of impossible sizes are errors: none asks for more memory than there is, which would end the process."""

from __future__ import annotations

from pathlib import Path

import pytest

import inlay


@pytest.mark.parametrize(
    "options", ["FORMAT arrow, COMPRESSION lz4", "FORMAT arrows, COMPRESSION zstd", "FORMAT arrow", "FORMAT arrows"]
)
def test_sizes_of_any_kind(options: str, tmp_path: Path) -> None:
    con = inlay.connect(config={"memory_limit": "500MB", "threads": 1})
    path = tmp_path / "file.arrow"
    con.execute(f"COPY (SELECT i, 'text ' || i % 7 AS t, [i] AS l FROM range(50) r(i)) TO '{path}' ({options})")
    whole = path.read_bytes()
    assert con.sql(f"SELECT count(t), sum(i) FROM read_arrow('{path}')").fetchone() == (50, 1225)
    readable = 0
    for at in range(0, len(whole) - 8, 4):
        path.write_bytes(whole[:at] + b"\xff\xff\xff\xff\xff\xff\xff\x3f"[at % 8 :] + whole[at + 8 - at % 8 :])
        try:
            con.execute(f"SELECT * FROM read_arrow('{path}')").fetchall()
            readable += 1
        except inlay.InternalError:
            raise
        except (inlay.Error, ValueError):
            pass
    assert readable < len(whole) / 4


def test_memory_is_counted_once(tmp_path: Path) -> None:
    con = inlay.connect()
    path = tmp_path / "wide.arrow"
    columns = ", ".join(f"i + {number} AS c{number}" for number in range(50))
    con.execute(f"COPY (SELECT {columns} FROM range(20000) r(i)) TO '{path}'")
    small = inlay.connect(config={"memory_limit": "60MB"})
    assert small.sql(f"SELECT count(*), max(c49) FROM '{path}'").fetchone() == (20000, 20048)

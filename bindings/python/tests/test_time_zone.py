"""Sessions begin in the machine's time zone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import datetime, inlay
con = inlay.connect()
zone, today = con.execute("SELECT current_setting('timezone'), current_date").fetchone()
con.execute("CREATE TABLE t (a TIMESTAMPTZ)")
con.execute("INSERT INTO t VALUES (?)", [datetime.datetime(2026, 1, 1, 12)])
print(zone, today == datetime.datetime.now().date(), con.execute("SELECT epoch(a)::BIGINT FROM t").fetchone()[0])
con.execute("SET timezone = 'Asia/Tokyo'")
print(con.execute("SELECT a::VARCHAR FROM t").fetchone()[0])
con.execute("RESET timezone")
print(con.execute("SELECT current_setting('timezone')").fetchone()[0])
con.execute("SET timezone = 'Asia/Tokyo'; RESET ALL")
print(con.execute("SELECT current_setting('timezone')").fetchone()[0])
other = inlay.connect(config={"timezone": "Europe/Paris"})
print(other.execute("SELECT current_setting('timezone')").fetchone()[0])
"""


def told(zone: str | None) -> tuple[list[str], str]:
    environment = {name: value for name, value in os.environ.items() if name != "TZ"}
    environment |= {} if zone is None else {"TZ": zone}
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="TZ means something else there")
@pytest.mark.parametrize(
    ("variable", "zone", "epoch", "tokyo"),
    [
        ("Pacific/Kiritimati", "Pacific/Kiritimati", 1767218400, "2026-01-01 07:00:00+09"),
        (":America/New_York", "America/New_York", 1767286800, "2026-01-02 02:00:00+09"),
        ("UTC", "UTC", 1767268800, "2026-01-01 21:00:00+09"),
        ("", "UTC", 1767268800, "2026-01-01 21:00:00+09"),
    ],
)
def test_the_variable_says_where_clocks_are(variable: str, zone: str, epoch: int, tokyo: str) -> None:
    lines, warned = told(variable)
    assert lines == [f"{zone} True {epoch}", tokyo, zone, zone, "Europe/Paris"]
    assert warned == ""


def test_a_variable_that_names_no_zone_is_said() -> None:
    lines, warned = told("Mars/Phobos")
    assert lines[0].startswith("UTC ") and lines[2] == "UTC"
    assert "TZ=Mars/Phobos names no time zone" in warned


def test_without_the_variable_it_is_the_systems() -> None:
    lines, _ = told(None)
    assert lines[0].split()[1] == "True"

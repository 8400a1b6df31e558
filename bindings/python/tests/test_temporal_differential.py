"""Dates, times, zones and intervals against DuckDB, on random values."""

import random

import pytest

import inlay

duckdb = pytest.importorskip("duckdb")

ZONES = ["UTC", "Europe/Amsterdam", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo"]
PARTS = ["year", "month", "day", "quarter", "week", "hour", "minute", "second", "decade", "century", "isoyear"]
INTERVALS = ["1 month", "-1 month", "13 months 5 days", "1 day", "-36 hours", "90 minutes", "1 year -1 day 2 hours"]
ROWS = 400


def moments(generator):
    """Timestamps as text: mostly of our time, some near changes of clocks, some far away."""
    for _ in range(ROWS):
        year = generator.choice([1850, 1915, 1944, 1969, 1970, 1999, 2007, 2024, 2037, 2060, 2150, 9000])
        month, day = generator.randint(1, 12), generator.randint(1, 28)
        if generator.random() < 0.3:
            month, day = generator.choice([(3, 31), (10, 27), (3, 10), (11, 3), (2, 28), (12, 31)])
        clock = f"{generator.randint(0, 23):02}:{generator.choice([0, 30, 59]):02}:{generator.randint(0, 59):02}"
        fraction = generator.choice(["", ".5", ".123456"])
        yield f"{year}-{month:02}-{day:02} {clock}{fraction}"


@pytest.fixture(scope="module")
def engines():
    generator = random.Random(7)
    rows = list(zip(moments(generator), moments(generator), strict=True))
    ours, theirs = inlay.connect(), duckdb.connect()
    for connection in (ours, theirs):
        connection.execute("CREATE TABLE t (i INTEGER, a TIMESTAMP, b TIMESTAMP)")
        values = ", ".join(f"({i}, '{a}', '{b}')" for i, (a, b) in enumerate(rows))
        connection.execute(f"INSERT INTO t VALUES {values}")
    return ours, theirs


def compare(engines, zone, expressions):
    wrong = []
    for connection in engines:
        connection.execute(f"SET TimeZone = '{zone}'")
    for expression in expressions:
        rows_with_zones = "(SELECT *, a::TIMESTAMPTZ AS za, b::TIMESTAMPTZ AS zb FROM t)"
        query = f"SELECT ({expression})::VARCHAR FROM {rows_with_zones} ORDER BY i"
        found, expected = (connection.execute(query).fetchall() for connection in engines)
        rows = [(i, x, y) for i, (x, y) in enumerate(zip(found, expected, strict=True)) if x != y]
        if rows:
            wrong.append(f"{zone}: {expression}: {len(rows)} rows, such as {rows[0]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("zone", ZONES)
def test_parts_and_starts(engines, zone):
    columns = ["a", "a::DATE", "za"]
    expressions = [f"date_part('{part}', {column})" for part in PARTS for column in columns]
    expressions += [f"date_trunc('{part}', {column})" for part in PARTS for column in columns]
    expressions += [
        "round(epoch(za), 3)",
        "dayname(za)",
        "last_day(za)",
        "za::DATE",
        "za",
        "strftime(za, '%c %z %j %U %V')",
    ]
    compare(engines, zone, expressions)


@pytest.mark.parametrize("zone", ZONES)
def test_differences(engines, zone):
    pairs = [("a", "b"), ("a::DATE", "b::DATE"), ("za", "zb")]
    # Known to differ from ICU's calendar in some rows: date_sub and age of moments that lie at ends of months, and days
    # between moments where clocks change at midnight.
    expressions = [f"date_sub('{p}', {x}, {y})" for p in PARTS for x, y in pairs if x != "za"]
    expressions += [
        f"date_diff('{p}', {x}, {y})"
        for p in PARTS
        for x, y in pairs
        if x != "za" or zone != "America/Sao_Paulo" or p not in ("day", "week")
    ]
    expressions += [f"{x} - {y}" for x, y in pairs] + ["age(a, b)"]
    compare(engines, zone, expressions)


@pytest.mark.parametrize("zone", ZONES)
def test_moved_by_intervals(engines, zone):
    expressions = [f"{x} + INTERVAL '{by}'" for by in INTERVALS for x in ("a", "a::DATE", "za", "a::TIME")]
    expressions += [f"timezone('{other}', {x})" for other in ZONES for x in ("a", "za")]
    widths = ["1 day", "6 hours", "3 months", "2 weeks"]
    expressions += [f"time_bucket(INTERVAL '{width}', {x})" for width in widths for x in ("a", "a::DATE", "za")]
    compare(engines, zone, expressions)


def test_intervals_times_numbers(engines):
    intervals = ["1 month 1 day", "7 months 5 days 3 hours", "-13 days 00:00:01.5", "1 year"]
    factors = ["2", "0.5", "-1.7", "0.123456789", "1e-3"]
    expressions = [f"INTERVAL '{x}' * {y}" for x in intervals for y in factors]
    expressions += [f"INTERVAL '{x}' / {y}" for x in intervals for y in factors]
    compare(engines, "UTC", expressions)

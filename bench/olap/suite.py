"""Averages of listings of flats by one to three columns, ordered: what someone who calculates tables of averages asks.

Six million listings by default: 20 regions with 200 cities, 1,000 agents who each work in one city, 6 types, 1 to 12
rooms, 120 years of building. Prices depend on region, area and age.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bench.cases import Suite
from bench.data import files_of
from bench.engines import ALL
from bench.sql import Query, sql_suite

if TYPE_CHECKING:
    import pyarrow as pa

GROUPINGS = (
    "region",
    "city",
    "agent",
    "region, type",
    "city, rooms",
    "agent, built",
    "region, type, rooms",
    "city, type, built",
    "agent, type, built",
)
ROWS = 6_000_000
REGIONS, CITIES, AGENTS = 20, 200, 1_000
TYPES = ("flat", "house", "loft", "penthouse", "studio", "terrace")


def listings(rows: int) -> Iterable[tuple[str, Iterable[pa.Table]]]:
    """The table."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(rows)
    agent = (random.random(rows) ** 1.5 * AGENTS).astype("i4")
    city = (agent * 7919 + 13) % CITIES
    region = city % REGIONS
    area = np.round(random.gamma(6, 14, rows) + 12, 1)
    built = 2025 - (random.random(rows) ** 1.7 * 120).astype("i4")
    kind = random.choice(len(TYPES), rows, p=[0.45, 0.25, 0.05, 0.02, 0.13, 0.1])
    price = np.round(area * (1500 + region * 230 + (built - 1905) * 9) * random.lognormal(0, 0.2, rows), 2)
    regions = [f"Region {number:02d}" for number in range(REGIONS)]
    cities = [f"City {number:03d} upon River" for number in range(CITIES)]
    columns = {
        "region": pa.array(regions).take(pa.array(region)),
        "city": pa.array(cities).take(pa.array(city)),
        "agent": agent,
        "type": pa.array(TYPES).take(pa.array(kind)),
        "rooms": np.clip(area // 22 + random.integers(0, 3, rows), 1, 12).astype("i4"),
        "built": built.astype("i4"),
        "area": area,
        "price": price,
    }
    yield "listings", [pa.table(columns)]


def suite(rows: int) -> Suite:
    """The suite with `rows` listings."""
    return sql_suite(
        name="olap" if rows == ROWS else f"olap-{rows}",
        title=f"Averages of {rows:,} listings by one to three columns, ordered",
        remarks="Tables in memory, result in the client.",
        engines=("inlay", "inlay_indexed", *ALL[1:]),
        files=files_of(f"olap-{rows}", ("listings",), lambda: listings(rows)),
        queries={
            columns: Query(
                f"SELECT {columns}, avg(price) AS price, avg(area) AS area, count(*) AS n FROM listings "
                f"GROUP BY {columns} ORDER BY {columns}"
            )
            for columns in GROUPINGS
        },
    )

"""The tables of the Star Schema Benchmark, with the sizes, hierarchies and formulas of its generator.

What is drawn comes from NumPy, so rows differ from those of the C program, their distributions do not: keys are
uniform, cities lie in nations in regions, brands in categories in manufacturers, prices follow from part keys, revenue
from price and discount, days of commitment follow those of orders. A third of the customers order nothing, as in TPC-H.

Sizes at scale s: lineorder about 6,000,000 s, customer 30,000 s, supplier 2,000 s, part 200,000 (1 + log2 s), and 2,556
days.
"""

from __future__ import annotations

import calendar
import datetime
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

TABLES = ("dates", "customer", "supplier", "part", "lineorder")
DAYS = 2556
ORDERS_PER_PART = 1_000_000
REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3),
    ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4),
    ("KENYA", 0), ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4),
    ("VIETNAM", 2), ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)  # fmt: skip
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
COLORS = (  # noqa: SIM905
    "almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse "
    "chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted "
    "gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon light lime linen "
    "magenta maroon medium metallic midnight mint misty moccasin navajo navy olive orange orchid pale papaya peach "
    "peru pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky slate smoke snow "
    "spring steel tan thistle tomato turquoise violet wheat white yellow"
).split()
TYPES = [
    f"{first} {second} {third}"
    for first in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    for second in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
    for third in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
]
CONTAINERS = [
    f"{size} {shape}"
    for size in ("SM", "LG", "MED", "JUMBO", "WRAP")
    for shape in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
]
FIRST_DAY = datetime.date(1992, 1, 1)
SEASONS = {
    12: "Christmas",
    11: "Christmas",
    6: "Summer",
    7: "Summer",
    8: "Summer",
    3: "Spring",
    4: "Spring",
    5: "Spring",
}


def sizes(scale: float) -> dict[str, int]:
    """Rows of each table; of lineorder, the orders, which have one to seven lines."""
    part = 200_000 * (1 + math.floor(math.log2(scale))) if scale >= 1 else max(int(200_000 * scale), 200)
    return {
        "dates": DAYS,
        "customer": max(int(30_000 * scale), 30),
        "supplier": max(int(2_000 * scale), 20),
        "part": part,
        "orders": max(int(1_500_000 * scale), 100),
    }


def tables(scale: float) -> Iterable[tuple[str, Iterable[pa.Table]]]:
    """All tables."""
    rows = sizes(scale)
    yield "dates", [dates()]
    yield "customer", [people("c", "Customer", rows["customer"], 1)]
    yield "supplier", [people("s", "Supplier", rows["supplier"], 2)]
    yield "part", [part(rows["part"])]
    yield "lineorder", lineorder(rows)


def words(choices: Any, codes: Any) -> Any:
    """The chosen texts as an Arrow column."""
    return pa.array(choices, pa.string()).take(pa.array(codes))


def dates() -> pa.Table:
    """A row per day."""
    days = [FIRST_DAY + datetime.timedelta(days=index) for index in range(DAYS)]
    int32 = pa.int32()
    return pa.table(
        {
            "d_datekey": pa.array([key_of(day) for day in days], int32),
            "d_date": [f"{day:%B} {day.day}, {day.year}" for day in days],
            "d_dayofweek": [f"{day:%A}" for day in days],
            "d_month": [f"{day:%B}" for day in days],
            "d_year": pa.array([day.year for day in days], int32),
            "d_yearmonthnum": pa.array([day.year * 100 + day.month for day in days], int32),
            "d_yearmonth": [f"{day:%b}{day.year}" for day in days],
            "d_daynuminweek": pa.array([day.isoweekday() % 7 + 1 for day in days], int32),
            "d_daynuminmonth": pa.array([day.day for day in days], int32),
            "d_daynuminyear": pa.array([day.timetuple().tm_yday for day in days], int32),
            "d_monthnuminyear": pa.array([day.month for day in days], int32),
            "d_weeknuminyear": pa.array([(day.timetuple().tm_yday - 1) // 7 + 1 for day in days], int32),
            "d_sellingseason": [SEASONS.get(day.month, "Winter" if day.month < 3 else "Fall") for day in days],
            "d_lastdayinweekfl": pa.array([int(day.isoweekday() == 6) for day in days], int32),
            "d_lastdayinmonthfl": pa.array(
                [int(day.day == calendar.monthrange(day.year, day.month)[1]) for day in days], int32
            ),
            "d_holidayfl": pa.array([int((day.month, day.day) in {(1, 1), (7, 4), (12, 25)}) for day in days], int32),
            "d_weekdayfl": pa.array([int(day.isoweekday() < 6) for day in days], int32),
        }
    )


def key_of(day: datetime.date) -> int:
    """The key of a day, as 19920101."""
    return day.year * 10_000 + day.month * 100 + day.day


def people(prefix: str, title: str, rows: int, seed: int) -> pa.Table:
    """Customers or suppliers: a nation, one of its ten cities, its region."""
    random = np.random.default_rng(seed)
    nation, city = random.integers(0, len(NATIONS), rows), random.integers(0, 10, rows)
    cities = [f"{name[:9]:9}{digit}" for name, _ in NATIONS for digit in range(10)]
    numbers = random.integers(0, 10**10, rows)
    columns = {
        "key": pa.array(np.arange(1, rows + 1, dtype="i4")),
        "name": [f"{title}#{key:09d}" for key in range(1, rows + 1)],
        "address": [f"{number:x}" for number in random.integers(16**9, 16**14, rows)],
        "city": words(cities, nation * 10 + city),
        "nation": words([name for name, _ in NATIONS], nation),
        "region": words([REGIONS[region] for _, region in NATIONS], nation),
        "phone": [
            f"{code + 10}-{n // 10**7:03d}-{n // 10**4 % 1000:03d}-{n % 10**4:04d}"
            for code, n in zip(nation, numbers, strict=True)
        ],
    }
    if prefix == "c":
        columns["mktsegment"] = words(SEGMENTS, random.integers(0, len(SEGMENTS), rows))
    return pa.table(
        {
            f"{prefix}_{'custkey' if prefix == 'c' else 'suppkey'}" if name == "key" else f"{prefix}_{name}": column
            for name, column in columns.items()
        }
    )


def part(rows: int) -> pa.Table:
    """Parts: one of 5 manufacturers, one of its 5 categories, one of the category's 40 brands."""
    random = np.random.default_rng(3)
    maker, category, brand = random.integers(1, 6, rows), random.integers(1, 6, rows), random.integers(1, 41, rows)
    color = random.integers(0, len(COLORS), (2, rows))
    makers = [f"MFGR#{number}" for number in range(1, 6)]
    categories = [f"MFGR#{number}{digit}" for number in range(1, 6) for digit in range(1, 6)]
    brands = [f"{name}{number}" for name in categories for number in range(1, 41)]
    place = (maker - 1) * 5 + category - 1
    return pa.table(
        {
            "p_partkey": pa.array(np.arange(1, rows + 1, dtype="i4")),
            "p_name": [f"{COLORS[first]} {COLORS[second]}" for first, second in color.T],
            "p_mfgr": words(makers, maker - 1),
            "p_category": words(categories, place),
            "p_brand1": words(brands, place * 40 + brand - 1),
            "p_color": words(COLORS, color[0]),
            "p_type": words(TYPES, random.integers(0, len(TYPES), rows)),
            "p_size": pa.array(random.integers(1, 51, rows, dtype="i4")),
            "p_container": words(CONTAINERS, random.integers(0, len(CONTAINERS), rows)),
        }
    )


def lineorder(rows: dict[str, int]) -> Iterable[pa.Table]:
    """Lines of orders, in the order of their keys."""
    random = np.random.default_rng(4)
    keys = np.array([key_of(FIRST_DAY + datetime.timedelta(days=index)) for index in range(DAYS)], dtype="i4")
    for start in range(0, rows["orders"], ORDERS_PER_PART):
        yield lines(random, keys, start, min(ORDERS_PER_PART, rows["orders"] - start), rows)


def lines(random: np.random.Generator, keys: Any, start: int, orders: int, rows: dict[str, int]) -> pa.Table:
    """The lines of some orders. Order keys leave out 24 of 32, customers every third."""
    count = random.integers(1, 8, orders)
    first = np.cumsum(count) - count
    total = int(count.sum())
    numbers = np.arange(start, start + orders)
    customer = random.integers(1, rows["customer"] + 1, orders)
    customer = np.where(customer % 3 == 0, np.maximum(customer - 1, 1), customer)
    day = random.integers(0, DAYS - 151, orders)
    quantity = random.integers(1, 51, total)
    partkey = random.integers(1, rows["part"] + 1, total)
    price = 90_000 + (partkey // 10) % 20_001 + 100 * (partkey % 1000)
    extended, discount, tax = quantity * price, random.integers(0, 11, total), random.integers(0, 9, total)
    charged = extended * (100 - discount) // 100 * (100 + tax) // 100
    columns = {
        "lo_orderkey": np.repeat(numbers // 8 * 32 + numbers % 8 + 1, count),
        "lo_linenumber": np.arange(total) - np.repeat(first, count) + 1,
        "lo_custkey": np.repeat(customer, count),
        "lo_partkey": partkey,
        "lo_suppkey": random.integers(1, rows["supplier"] + 1, total),
        "lo_orderdate": np.repeat(keys[day], count),
        "lo_orderpriority": words(PRIORITIES, np.repeat(random.integers(0, 5, orders), count)),
        "lo_shippriority": words(["0"], np.zeros(total, "i4")),
        "lo_quantity": quantity,
        "lo_extendedprice": extended,
        "lo_ordtotalprice": np.repeat(np.add.reduceat(charged, first), count),
        "lo_discount": discount,
        "lo_revenue": extended * (100 - discount) // 100,
        "lo_supplycost": 6 * price // 10,
        "lo_tax": tax,
        "lo_commitdate": keys[np.repeat(day, count) + random.integers(30, 91, total)],
        "lo_shipmode": words(MODES, random.integers(0, len(MODES), total)),
    }
    return pa.table(
        {name: column.astype("i4") if isinstance(column, np.ndarray) else column for name, column in columns.items()}
    )

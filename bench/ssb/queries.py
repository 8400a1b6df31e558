"""The 13 queries of the Star Schema Benchmark (O'Neil, O'Neil, Chen; revision 3, 2009), by name."""

from __future__ import annotations

FLIGHT_1 = """SELECT sum(lo_extendedprice * lo_discount) AS revenue
FROM lineorder, dates
WHERE lo_orderdate = d_datekey AND {}"""

FLIGHT_2 = """SELECT sum(lo_revenue) AS revenue, d_year, p_brand1
FROM lineorder, dates, part, supplier
WHERE lo_orderdate = d_datekey AND lo_partkey = p_partkey AND lo_suppkey = s_suppkey AND {}
GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1"""

FLIGHT_3 = """SELECT {0}, {1}, d_year, sum(lo_revenue) AS revenue
FROM customer, lineorder, supplier, dates
WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_orderdate = d_datekey AND {2}
GROUP BY {0}, {1}, d_year ORDER BY d_year, revenue DESC"""

FLIGHT_4 = """SELECT {0}, sum(lo_revenue - lo_supplycost) AS profit
FROM dates, customer, supplier, part, lineorder
WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_partkey = p_partkey AND lo_orderdate = d_datekey
  AND {1}
GROUP BY {0} ORDER BY {0}"""

CITIES = "(c_city = 'UNITED KI1' OR c_city = 'UNITED KI5') AND (s_city = 'UNITED KI1' OR s_city = 'UNITED KI5')"
MAKERS = "(p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2')"
AMERICA = "c_region = 'AMERICA' AND s_region = 'AMERICA'"

QUERIES = {
    "Q1.1": FLIGHT_1.format("d_year = 1993 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25"),
    "Q1.2": FLIGHT_1.format(
        "d_yearmonthnum = 199401 AND lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35"
    ),
    "Q1.3": FLIGHT_1.format(
        "d_weeknuminyear = 6 AND d_year = 1994 AND lo_discount BETWEEN 5 AND 7 AND lo_quantity BETWEEN 26 AND 35"
    ),
    "Q2.1": FLIGHT_2.format("p_category = 'MFGR#12' AND s_region = 'AMERICA'"),
    "Q2.2": FLIGHT_2.format("p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228' AND s_region = 'ASIA'"),
    "Q2.3": FLIGHT_2.format("p_brand1 = 'MFGR#2239' AND s_region = 'EUROPE'"),
    "Q3.1": FLIGHT_3.format(
        "c_nation", "s_nation", "c_region = 'ASIA' AND s_region = 'ASIA' AND d_year >= 1992 AND d_year <= 1997"
    ),
    "Q3.2": FLIGHT_3.format(
        "c_city",
        "s_city",
        "c_nation = 'UNITED STATES' AND s_nation = 'UNITED STATES' AND d_year >= 1992 AND d_year <= 1997",
    ),
    "Q3.3": FLIGHT_3.format("c_city", "s_city", f"{CITIES} AND d_year >= 1992 AND d_year <= 1997"),
    "Q3.4": FLIGHT_3.format("c_city", "s_city", f"{CITIES} AND d_yearmonth = 'Dec1997'"),
    "Q4.1": FLIGHT_4.format("d_year, c_nation", f"{AMERICA} AND {MAKERS}"),
    "Q4.2": FLIGHT_4.format(
        "d_year, s_nation, p_category", f"{AMERICA} AND (d_year = 1997 OR d_year = 1998) AND {MAKERS}"
    ),
    "Q4.3": FLIGHT_4.format(
        "d_year, s_city, p_brand1",
        "s_nation = 'UNITED STATES' AND c_region = 'AMERICA' AND (d_year = 1997 OR d_year = 1998) "
        "AND p_category = 'MFGR#14'",
    ),
}

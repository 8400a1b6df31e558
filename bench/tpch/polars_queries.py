"""The 22 TPC-H queries as Polars lazy frames, in the form Polars' own benchmark uses.

Each function takes the eight tables by name as lazy frames and returns the lazy answer, with the columns, order and
row limit of the SQL text. Joins are in the order of the texts; the optimizer of Polars may change it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, TypeAlias

import polars as pl
from polars import col

Frame: TypeAlias = "pl.LazyFrame"


def revenue() -> pl.Expr:
    """The discounted price of a line."""
    return col("l_extendedprice") * (1 - col("l_discount"))


def q1(lineitem: Frame, **_: Frame) -> Frame:
    return (
        lineitem.filter(col("l_shipdate") <= date(1998, 9, 2))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            col("l_quantity").sum().alias("sum_qty"),
            col("l_extendedprice").sum().alias("sum_base_price"),
            revenue().sum().alias("sum_disc_price"),
            (revenue() * (1 + col("l_tax"))).sum().alias("sum_charge"),
            col("l_quantity").mean().alias("avg_qty"),
            col("l_extendedprice").mean().alias("avg_price"),
            col("l_discount").mean().alias("avg_disc"),
            pl.len().alias("count_order"),
        )
        .sort("l_returnflag", "l_linestatus")
    )


def q2(part: Frame, supplier: Frame, partsupp: Frame, nation: Frame, region: Frame, **_: Frame) -> Frame:
    offers = (
        part.filter(col("p_size") == 15, col("p_type").str.ends_with("BRASS"))
        .join(partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(supplier, left_on="ps_suppkey", right_on="s_suppkey")
        .join(nation, left_on="s_nationkey", right_on="n_nationkey")
        .join(region.filter(col("r_name") == "EUROPE"), left_on="n_regionkey", right_on="r_regionkey")
    )
    cheapest = offers.group_by("p_partkey").agg(col("ps_supplycost").min())
    return (
        offers.join(cheapest, on=["p_partkey", "ps_supplycost"])
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
        .sort("s_acctbal", "n_name", "s_name", "p_partkey", descending=[True, False, False, False])
        .head(100)
    )


def q3(customer: Frame, orders: Frame, lineitem: Frame, **_: Frame) -> Frame:
    return (
        customer.filter(col("c_mktsegment") == "BUILDING")
        .join(orders.filter(col("o_orderdate") < date(1995, 3, 15)), left_on="c_custkey", right_on="o_custkey")
        .join(lineitem.filter(col("l_shipdate") > date(1995, 3, 15)), left_on="o_orderkey", right_on="l_orderkey")
        .group_by("o_orderkey", "o_orderdate", "o_shippriority")
        .agg(revenue().sum().alias("revenue"))
        .select(col("o_orderkey").alias("l_orderkey"), "revenue", "o_orderdate", "o_shippriority")
        .sort("revenue", "o_orderdate", descending=[True, False])
        .head(10)
    )


def q4(orders: Frame, lineitem: Frame, **_: Frame) -> Frame:
    return (
        orders.filter(col("o_orderdate").is_between(date(1993, 7, 1), date(1993, 10, 1), closed="left"))
        .join(
            lineitem.filter(col("l_commitdate") < col("l_receiptdate")),
            left_on="o_orderkey",
            right_on="l_orderkey",
            how="semi",
        )
        .group_by("o_orderpriority")
        .agg(pl.len().alias("order_count"))
        .sort("o_orderpriority")
    )


def q5(
    customer: Frame, orders: Frame, lineitem: Frame, supplier: Frame, nation: Frame, region: Frame, **_: Frame
) -> Frame:
    return (
        region.filter(col("r_name") == "ASIA")
        .join(nation, left_on="r_regionkey", right_on="n_regionkey")
        .join(customer, left_on="n_nationkey", right_on="c_nationkey")
        .join(
            orders.filter(col("o_orderdate").is_between(date(1994, 1, 1), date(1995, 1, 1), closed="left")),
            left_on="c_custkey",
            right_on="o_custkey",
        )
        .join(lineitem, left_on="o_orderkey", right_on="l_orderkey")
        .join(supplier, left_on=["l_suppkey", "n_nationkey"], right_on=["s_suppkey", "s_nationkey"])
        .group_by("n_name")
        .agg(revenue().sum().alias("revenue"))
        .sort("revenue", descending=True)
    )


def q6(lineitem: Frame, **_: Frame) -> Frame:
    return lineitem.filter(
        col("l_shipdate").is_between(date(1994, 1, 1), date(1995, 1, 1), closed="left"),
        col("l_discount").is_between(0.05, 0.07),
        col("l_quantity") < 24,
    ).select((col("l_extendedprice") * col("l_discount")).sum().alias("revenue"))


def q7(customer: Frame, orders: Frame, lineitem: Frame, supplier: Frame, nation: Frame, **_: Frame) -> Frame:
    pair = nation.filter(col("n_name").is_in(["FRANCE", "GERMANY"]))
    return (
        customer.join(pair, left_on="c_nationkey", right_on="n_nationkey")
        .rename({"n_name": "cust_nation"})
        .join(orders, left_on="c_custkey", right_on="o_custkey")
        .join(
            lineitem.filter(col("l_shipdate").is_between(date(1995, 1, 1), date(1996, 12, 31))),
            left_on="o_orderkey",
            right_on="l_orderkey",
        )
        .join(supplier, left_on="l_suppkey", right_on="s_suppkey")
        .join(pair, left_on="s_nationkey", right_on="n_nationkey")
        .rename({"n_name": "supp_nation"})
        .filter(col("cust_nation") != col("supp_nation"))
        .group_by("supp_nation", "cust_nation", col("l_shipdate").dt.year().alias("l_year"))
        .agg(revenue().sum().alias("revenue"))
        .sort("supp_nation", "cust_nation", "l_year")
    )


def q8(
    part: Frame,
    supplier: Frame,
    lineitem: Frame,
    orders: Frame,
    customer: Frame,
    nation: Frame,
    region: Frame,
    **_: Frame,
) -> Frame:
    return (
        part.filter(col("p_type") == "ECONOMY ANODIZED STEEL")
        .join(lineitem, left_on="p_partkey", right_on="l_partkey")
        .join(supplier, left_on="l_suppkey", right_on="s_suppkey")
        .join(
            orders.filter(col("o_orderdate").is_between(date(1995, 1, 1), date(1996, 12, 31))),
            left_on="l_orderkey",
            right_on="o_orderkey",
        )
        .join(customer, left_on="o_custkey", right_on="c_custkey")
        .join(nation.select("n_nationkey", "n_regionkey"), left_on="c_nationkey", right_on="n_nationkey")
        .join(region.filter(col("r_name") == "AMERICA"), left_on="n_regionkey", right_on="r_regionkey")
        .join(nation.select("n_nationkey", "n_name"), left_on="s_nationkey", right_on="n_nationkey")
        .select(col("o_orderdate").dt.year().alias("o_year"), revenue().alias("volume"), "n_name")
        .group_by("o_year")
        .agg(
            (
                col("volume").filter(col("n_name") == "BRAZIL").sum().cast(pl.Float64)
                / col("volume").sum().cast(pl.Float64)
            ).alias("mkt_share")
        )
        .sort("o_year")
    )


def q9(
    part: Frame, supplier: Frame, lineitem: Frame, partsupp: Frame, orders: Frame, nation: Frame, **_: Frame
) -> Frame:
    amount = revenue() - col("ps_supplycost") * col("l_quantity")
    return (
        part.filter(col("p_name").str.contains("green", literal=True))
        .join(partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(supplier, left_on="ps_suppkey", right_on="s_suppkey")
        .join(lineitem, left_on=["p_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
        .join(orders, left_on="l_orderkey", right_on="o_orderkey")
        .join(nation, left_on="s_nationkey", right_on="n_nationkey")
        .group_by(col("n_name").alias("nation"), col("o_orderdate").dt.year().alias("o_year"))
        .agg(amount.sum().alias("sum_profit"))
        .sort("nation", "o_year", descending=[False, True])
    )


def q10(customer: Frame, orders: Frame, lineitem: Frame, nation: Frame, **_: Frame) -> Frame:
    keys = ["c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment"]
    return (
        customer.join(
            orders.filter(col("o_orderdate").is_between(date(1993, 10, 1), date(1994, 1, 1), closed="left")),
            left_on="c_custkey",
            right_on="o_custkey",
        )
        .join(lineitem.filter(col("l_returnflag") == "R"), left_on="o_orderkey", right_on="l_orderkey")
        .join(nation, left_on="c_nationkey", right_on="n_nationkey")
        .group_by(keys)
        .agg(revenue().sum().alias("revenue"))
        .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment")
        .sort("revenue", descending=True)
        .head(20)
    )


def q11(partsupp: Frame, supplier: Frame, nation: Frame, **_: Frame) -> Frame:
    value = (col("ps_supplycost") * col("ps_availqty")).sum().alias("value")
    german = partsupp.join(supplier, left_on="ps_suppkey", right_on="s_suppkey").join(
        nation.filter(col("n_name") == "GERMANY"), left_on="s_nationkey", right_on="n_nationkey"
    )
    total = german.select(value.cast(pl.Float64).alias("total") * 0.0001)
    return (
        german.group_by("ps_partkey")
        .agg(value)
        .join(total, how="cross")
        .filter(col("value").cast(pl.Float64) > col("total"))
        .select("ps_partkey", "value")
        .sort("value", descending=True)
    )


def q12(orders: Frame, lineitem: Frame, **_: Frame) -> Frame:
    urgent = col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    return (
        orders.join(
            lineitem.filter(
                col("l_shipmode").is_in(["MAIL", "SHIP"]),
                col("l_commitdate") < col("l_receiptdate"),
                col("l_shipdate") < col("l_commitdate"),
                col("l_receiptdate").is_between(date(1994, 1, 1), date(1995, 1, 1), closed="left"),
            ),
            left_on="o_orderkey",
            right_on="l_orderkey",
        )
        .group_by("l_shipmode")
        .agg(urgent.sum().alias("high_line_count"), (~urgent).sum().alias("low_line_count"))
        .sort("l_shipmode")
    )


def q13(customer: Frame, orders: Frame, **_: Frame) -> Frame:
    return (
        customer.join(
            orders.filter(~col("o_comment").str.contains("special.*requests")),
            left_on="c_custkey",
            right_on="o_custkey",
            how="left",
        )
        .group_by("c_custkey")
        .agg(col("o_orderkey").count().alias("c_count"))
        .group_by("c_count")
        .agg(pl.len().alias("custdist"))
        .sort("custdist", "c_count", descending=[True, True])
    )


def q14(lineitem: Frame, part: Frame, **_: Frame) -> Frame:
    promo = revenue().filter(col("p_type").str.starts_with("PROMO")).sum().cast(pl.Float64)
    return (
        lineitem.filter(col("l_shipdate").is_between(date(1995, 9, 1), date(1995, 10, 1), closed="left"))
        .join(part, left_on="l_partkey", right_on="p_partkey")
        .select((100.0 * promo / revenue().sum().cast(pl.Float64)).alias("promo_revenue"))
    )


def q15(lineitem: Frame, supplier: Frame, **_: Frame) -> Frame:
    totals = (
        lineitem.filter(col("l_shipdate").is_between(date(1996, 1, 1), date(1996, 4, 1), closed="left"))
        .group_by(col("l_suppkey").alias("supplier_no"))
        .agg(revenue().sum().alias("total_revenue"))
    )
    return (
        supplier.join(totals, left_on="s_suppkey", right_on="supplier_no")
        .filter(col("total_revenue") == col("total_revenue").max())
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
        .sort("s_suppkey")
    )


def q16(partsupp: Frame, part: Frame, supplier: Frame, **_: Frame) -> Frame:
    complaints = supplier.filter(col("s_comment").str.contains("Customer.*Complaints"))
    return (
        part.filter(
            col("p_brand") != "Brand#45",
            ~col("p_type").str.starts_with("MEDIUM POLISHED"),
            col("p_size").is_in([49, 14, 23, 45, 19, 3, 36, 9]),
        )
        .join(partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(complaints, left_on="ps_suppkey", right_on="s_suppkey", how="anti")
        .group_by("p_brand", "p_type", "p_size")
        .agg(col("ps_suppkey").n_unique().alias("supplier_cnt"))
        .sort("supplier_cnt", "p_brand", "p_type", "p_size", descending=[True, False, False, False])
    )


def q17(lineitem: Frame, part: Frame, **_: Frame) -> Frame:
    boxes = part.filter(col("p_brand") == "Brand#23", col("p_container") == "MED BOX").join(
        lineitem, left_on="p_partkey", right_on="l_partkey"
    )
    limits = boxes.group_by("p_partkey").agg((0.2 * col("l_quantity").mean().cast(pl.Float64)).alias("limit"))
    return (
        boxes.join(limits, on="p_partkey")
        .filter(col("l_quantity").cast(pl.Float64) < col("limit"))
        .select((col("l_extendedprice").sum().cast(pl.Float64) / 7.0).alias("avg_yearly"))
    )


def q18(customer: Frame, orders: Frame, lineitem: Frame, **_: Frame) -> Frame:
    large = lineitem.group_by("l_orderkey").agg(col("l_quantity").sum()).filter(col("l_quantity") > 300)
    return (
        orders.join(large.select("l_orderkey"), left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .join(lineitem, left_on="o_orderkey", right_on="l_orderkey")
        .join(customer, left_on="o_custkey", right_on="c_custkey")
        .group_by("c_name", col("o_custkey").alias("c_custkey"), "o_orderkey", "o_orderdate", "o_totalprice")
        .agg(col("l_quantity").sum().alias("total_quantity"))
        .sort("o_totalprice", "o_orderdate", descending=[True, False])
        .head(100)
    )


def q19(lineitem: Frame, part: Frame, **_: Frame) -> Frame:
    def choice(brand: str, containers: list[str], low: int, size: int) -> pl.Expr:
        return (
            (col("p_brand") == brand)
            & col("p_container").is_in(containers)
            & col("l_quantity").is_between(low, low + 10)
            & col("p_size").is_between(1, size)
        )

    return (
        lineitem.filter(col("l_shipmode").is_in(["AIR", "AIR REG"]), col("l_shipinstruct") == "DELIVER IN PERSON")
        .join(part, left_on="l_partkey", right_on="p_partkey")
        .filter(
            choice("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5)
            | choice("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10)
            | choice("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15)
        )
        .select(revenue().sum().alias("revenue"))
    )


def q20(supplier: Frame, nation: Frame, partsupp: Frame, part: Frame, lineitem: Frame, **_: Frame) -> Frame:
    shipped = (
        lineitem.filter(col("l_shipdate").is_between(date(1994, 1, 1), date(1995, 1, 1), closed="left"))
        .group_by("l_partkey", "l_suppkey")
        .agg((0.5 * col("l_quantity").sum().cast(pl.Float64)).alias("half"))
    )
    surplus = (
        partsupp.join(
            part.filter(col("p_name").str.starts_with("forest")), left_on="ps_partkey", right_on="p_partkey", how="semi"
        )
        .join(shipped, left_on=["ps_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
        .filter(col("ps_availqty") > col("half"))
    )
    return (
        supplier.join(nation.filter(col("n_name") == "CANADA"), left_on="s_nationkey", right_on="n_nationkey")
        .join(surplus, left_on="s_suppkey", right_on="ps_suppkey", how="semi")
        .select("s_name", "s_address")
        .sort("s_name")
    )


def q21(supplier: Frame, lineitem: Frame, orders: Frame, nation: Frame, **_: Frame) -> Frame:
    shared = (
        lineitem.group_by("l_orderkey").agg(col("l_suppkey").n_unique().alias("suppliers")).filter(col("suppliers") > 1)
    )
    late = lineitem.filter(col("l_receiptdate") > col("l_commitdate")).join(shared, on="l_orderkey")
    alone = late.group_by("l_orderkey").agg(col("l_suppkey").n_unique().alias("late")).filter(col("late") == 1)
    return (
        late.join(alone, on="l_orderkey")
        .join(supplier, left_on="l_suppkey", right_on="s_suppkey")
        .join(nation.filter(col("n_name") == "SAUDI ARABIA"), left_on="s_nationkey", right_on="n_nationkey")
        .join(orders.filter(col("o_orderstatus") == "F"), left_on="l_orderkey", right_on="o_orderkey")
        .group_by("s_name")
        .agg(pl.len().alias("numwait"))
        .sort("numwait", "s_name", descending=[True, False])
        .head(100)
    )


def q22(customer: Frame, orders: Frame, **_: Frame) -> Frame:
    chosen = customer.with_columns(col("c_phone").str.slice(0, 2).alias("cntrycode")).filter(
        col("cntrycode").is_in(["13", "31", "23", "29", "30", "18", "17"])
    )
    average = chosen.filter(col("c_acctbal") > 0).select(col("c_acctbal").mean().cast(pl.Float64).alias("average"))
    return (
        chosen.join(orders, left_on="c_custkey", right_on="o_custkey", how="anti")
        .join(average, how="cross")
        .filter(col("c_acctbal").cast(pl.Float64) > col("average"))
        .group_by("cntrycode")
        .agg(pl.len().alias("numcust"), col("c_acctbal").sum().alias("totacctbal"))
        .sort("cntrycode")
    )


QUERIES: dict[int, Callable[..., Any]] = dict(
    enumerate([q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11, q12, q13, q14, q15, q16, q17, q18, q19, q20, q21, q22], 1)
)

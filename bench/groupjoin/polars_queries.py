"""The questions that Polars' SQL does not take, in the form that db-benchmark has for Polars."""

from __future__ import annotations

from typing import Any

from polars import col, corr


def median_and_deviation(grouped: Any, **_: Any) -> Any:
    return grouped.group_by("id4", "id5").agg(median_v3=col("v3").median(), sd_v3=col("v3").std())


def largest_two(grouped: Any, **_: Any) -> Any:
    return grouped.drop_nulls("v3").group_by("id6").agg(largest2_v3=col("v3").top_k(2)).explode("largest2_v3")


def regression(grouped: Any, **_: Any) -> Any:
    return grouped.group_by("id2", "id4").agg(r2=corr("v1", "v2", method="pearson") ** 2)


QUERIES = {
    "6 median v3, sd v3 by id4, id5": median_and_deviation,
    "8 largest two v3 by id6": largest_two,
    "9 regression v1, v2 by id2, id4": regression,
}

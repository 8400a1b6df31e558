"""DECIMAL in arrays and data frames is the nearest float64, unless it is said that it stays exact."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from fractions import Fraction

import pytest

import inlay

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")

PRICES = "SELECT * FROM (VALUES ('a', 0.10), ('a', 0.25), ('b', NULL)) t(k, x)"
NESTED = """SELECT [1.5, NULL] AS l, {'a': 1.5, 'b': [2.25]} AS s, MAP {1.5: 2.5} AS m,
    [1.5, 2.5]::DECIMAL(3, 1)[2] AS a, union_value(k := 2.5) AS u, [MAP {'k': [0.1]}] AS d"""


def is_decimal(dtype: object) -> bool:
    return "decimal" in str(dtype) or dtype == np.dtype(object)


def test_what_pandas_does_with_numbers_works() -> None:
    frame = inlay.sql(PRICES).df()
    assert frame.x.dtype == np.float64 and list(frame.select_dtypes("number").columns) == ["x"]
    assert frame.groupby("k").x.mean().to_dict() == {"a": 0.175, "b": pytest.approx(np.nan, nan_ok=True)}
    assert frame.x.mean() == 0.175 and "x" in frame.describe().columns
    assert frame.x.cumsum().tolist()[:2] == [0.1, 0.35]
    assert np.isfinite(np.log(frame.x)[:2]).all()
    assert frame.x.pct_change().notna().sum() >= 1 and frame.x.interpolate().notna().all()
    assert frame.mean(numeric_only=True)["x"] == 0.175


def test_chunks_are_as_whole_frames() -> None:
    con = inlay.connect()
    query = "SELECT i, i * 1.5 AS x, 'n' || i AS s, NULLIF(i, 3000) AS n, DATE '2024-01-01' AS d FROM range(5000) t(i)"
    whole = con.execute(query).df()
    con.execute(query)
    chunks = [con.fetch_df_chunk(), con.fetch_df_chunk(2), con.fetch_df_chunk()]
    assert [len(chunk) for chunk in chunks] == [2048, 2952, 0]
    assert [chunk.dtypes.drop("n").to_dict() for chunk in chunks] == [whole.dtypes.drop("n").to_dict()] * 3
    pd.testing.assert_frame_equal(pd.concat(chunks[:2], ignore_index=True), whole, check_dtype=False)
    con.execute("SET decimal = 'exact'")
    assert is_decimal(con.execute("SELECT 1.5 AS x").fetch_df_chunk().x.dtype)


def test_numpy_computes_with_decimals() -> None:
    array = inlay.sql(PRICES).fetchnumpy()["x"]
    assert array.dtype == np.float64 and array.mask.tolist() == [False, False, True] and np.isnan(array.data[2])
    assert float(np.percentile(array.compressed(), 50)) == 0.175


@pytest.mark.parametrize(
    "ty", ["DECIMAL(4, 2)", "DECIMAL(9, 4)", "DECIMAL(18, 9)", "DECIMAL(38, 20)", "DECIMAL(38, 37)"]
)
def test_the_double_is_the_nearest_one(ty: str) -> None:
    values = ["0", "-0.01", "1.1", "9.99", "-3.14", "2.675", "0.3"]
    digits = int(ty.split(", ")[1][:-1])
    values += [f"{value[:6]}" for value in ("1.23456789012345678901", "9.87654321098765432109")]
    if digits >= 20:
        values += ["1.23456789012345678901", "0.1000000000000000055", "4.9406564584124654417"]
    query = " UNION ALL ".join(f"SELECT '{value}'::{ty} AS x" for value in values)
    exact = [row[0] for row in inlay.sql(query).fetchall()]
    for given in (inlay.sql(query).df()["x"].tolist(), inlay.sql(query).fetchnumpy()["x"].tolist()):
        # Python's conversion of a fraction is to the nearest double.
        assert given == [float(Fraction(value)) for value in exact]
    lists = inlay.sql(f"SELECT list(x) AS l FROM ({query})").df()["l"][0]
    assert lists == [float(Fraction(value)) for value in exact]


def test_large_unscaled_values_are_rounded_once() -> None:
    text = "12345678901234567890123.456789012345678"
    assert inlay.sql(f"SELECT {text} AS x").df()["x"][0] == float(Fraction(text))


def test_decimals_within_others_are_doubles_alike() -> None:
    for row in (
        inlay.sql(NESTED).df().iloc[0].to_dict(),
        {name: array[0] for name, array in inlay.sql(NESTED).fetchnumpy().items()},
    ):
        assert row["l"] == [1.5, None] and row["s"] == {"a": 1.5, "b": [2.25]} and row["a"] == [1.5, 2.5]
        assert row["u"] == 2.5 and row["d"] == [{"k": [0.1]}]
        parts = [row["l"][0], row["s"]["a"], row["s"]["b"][0], row["a"][0], row["u"], row["d"][0]["k"][0]]
        assert {type(part) for part in parts} == {float}
        # Two keys may have the same nearest double.
        assert row["m"] == {Decimal("1.5"): 2.5} and [type(key) for key in row["m"]] == [Decimal]


def test_rows_arrow_and_polars_stay_exact() -> None:
    assert inlay.sql(PRICES).fetchall()[0] == ("a", Decimal("0.10"))
    assert inlay.sql(PRICES).fetchone() == ("a", Decimal("0.10"))
    pa = pytest.importorskip("pyarrow")
    assert inlay.sql(PRICES).arrow().schema.field("x").type == pa.decimal128(3, 2)
    pl = pytest.importorskip("polars")
    assert inlay.sql(PRICES).pl()["x"].dtype == pl.Decimal(3, 2)


def test_exact_is_said_at_the_call() -> None:
    frame = inlay.sql(PRICES).df(decimal="exact")
    assert is_decimal(frame.x.dtype) and frame.x[0] == Decimal("0.10")
    array = inlay.sql(PRICES).fetchnumpy(decimal="exact")["x"]
    assert array[0] == Decimal("0.10") and array.mask[2]
    nested = inlay.sql(NESTED).df(decimal="exact").iloc[0]
    assert nested["l"] == [Decimal("1.5"), None] and nested["s"]["a"] == Decimal("1.5")
    con = inlay.connect()
    assert is_decimal(con.execute(PRICES).df(decimal="exact").x.dtype)
    assert con.execute(PRICES).fetchnumpy(decimal="exact")["x"].dtype == object
    for other in ("decimal", "arrow"):
        assert is_decimal(con.execute(PRICES).df(decimal=other).x.dtype)
    with pytest.raises(inlay.InvalidInputException, match="'float', 'exact', 'decimal' or 'arrow'"):
        con.execute(PRICES).df(decimal="double")


def test_exact_is_said_for_a_connection() -> None:
    for con in (inlay.connect(decimal="exact"), inlay.connect(config={"decimal": "exact"})):
        for given in (con, con.cursor()):
            assert is_decimal(given.execute(PRICES).df().x.dtype)
            assert given.sql(PRICES).fetchnumpy()["x"].dtype == object
        assert con.execute(PRICES).df(decimal="float").x.dtype == np.float64
    with pytest.raises(inlay.InvalidInputException, match="expected 'float' or 'exact'"):
        inlay.connect(decimal="double")
    with pytest.raises(inlay.InvalidInputException, match="default connection"):
        inlay.connect(":default:", decimal="exact")


def test_exact_is_a_setting_of_the_session() -> None:
    con = inlay.connect()
    other = con.cursor()
    con.execute("SET decimal = 'exact'")
    assert con.execute("SELECT current_setting('decimal')").fetchone() == ("exact",)
    assert is_decimal(con.execute(PRICES).df().x.dtype) and other.execute(PRICES).df().x.dtype == np.float64
    for back in ("RESET decimal", "SET decimal = 'float'", "RESET ALL"):
        con.execute("SET decimal = 'exact'")
        con.execute(back)
        assert con.execute(PRICES).df().x.dtype == np.float64
    with pytest.raises(inlay.InvalidInputException, match="expected 'float' or 'exact'"):
        con.execute("SET decimal = 'round'")


def test_columns_that_are_not_touched_yet_keep_what_was_said() -> None:
    con = inlay.connect()
    con.execute("CREATE TABLE t AS SELECT i, (i / 4)::DECIMAL(12, 2) AS price, [i * 0.5] AS l FROM range(100000) r(i)")
    columns = con.execute("FROM t").fetchnumpy()
    exact = con.execute("FROM t").fetchnumpy(decimal="exact")
    con.execute("SET decimal = 'exact'")
    assert columns["price"].dtype == np.float64 and columns["price"].sum() == (np.arange(100000) / 4).sum()
    assert columns["l"][3] == [1.5] and type(columns["l"][3][0]) is float
    con.execute("RESET decimal")
    assert exact["price"][1] == Decimal("0.25") and exact["l"][3] == [Decimal("1.5")]


def test_whole_numbers_stay_whole() -> None:
    frame = inlay.sql("SELECT sum(i) AS s, 170141183460469231731687303715884105727 AS h FROM range(3) r(i)").df()
    assert frame.s.dtype == np.int64 and frame.h[0] == 2**127 - 1
    assert inlay.sql("SELECT sum(i) AS s FROM range(3) r(i)").df(decimal="float").s.dtype == np.float64


def test_asyncio_has_it_too() -> None:
    async def main() -> None:
        async with inlay.aconnect(decimal="exact") as con:
            answer = await con.execute(PRICES)
            assert is_decimal((await answer.df()).x.dtype)
            assert (await answer.fetchnumpy("float"))["x"].dtype == np.float64

    asyncio.run(main())

//! Catalogs for plan tests: TPC-H in miniature, with the real tables' proportions and key domains, and the zoo's tables.

use inlay_catalog::{Catalog, ColumnSchema, TableSchema};
use inlay_types::{Batch, LogicalType, MemoryBudget, Value, Vector};

type Column = (&'static str, LogicalType, fn(i64) -> Value);

const BIG: LogicalType = LogicalType::BigInt;
const INT: LogicalType = LogicalType::Integer;
const TEXT: LogicalType = LogicalType::Varchar;
const DATE: LogicalType = LogicalType::Date;
const MONEY: LogicalType = LogicalType::Decimal { precision: 15, scale: 2 };

/// A number below `count` that depends on `i` and `salt` alone.
fn below(i: i64, salt: u64, count: i64) -> i64 {
    let mut x = (i as u64).wrapping_add(salt).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((x >> 33) % count as u64) as i64
}

fn big(v: i64) -> Value {
    Value::BigInt(v)
}

fn int(v: i64) -> Value {
    Value::Integer(v as i32)
}

fn money(v: i64) -> Value {
    Value::Decimal { unscaled: i128::from(v), precision: 15, scale: 2 }
}

fn date(v: i64) -> Value {
    Value::Date(8035 + v as i32)
}

fn text(s: &str) -> Value {
    Value::Varchar(s.to_string())
}

fn one_of(i: i64, salt: u64, words: &[&str]) -> Value {
    text(words[below(i, salt, words.len() as i64) as usize])
}

const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];
const NATIONS: [&str; 25] = [
    "ALGERIA",
    "ARGENTINA",
    "BRAZIL",
    "CANADA",
    "EGYPT",
    "ETHIOPIA",
    "FRANCE",
    "GERMANY",
    "INDIA",
    "INDONESIA",
    "IRAN",
    "IRAQ",
    "JAPAN",
    "JORDAN",
    "KENYA",
    "MOROCCO",
    "MOZAMBIQUE",
    "PERU",
    "CHINA",
    "ROMANIA",
    "SAUDI ARABIA",
    "VIETNAM",
    "RUSSIA",
    "UNITED KINGDOM",
    "UNITED STATES",
];
const COLORS: [&str; 12] = [
    "forest",
    "green",
    "almond",
    "azure",
    "blush",
    "chocolate",
    "coral",
    "drab",
    "frosted",
    "ghost",
    "ivory",
    "khaki",
];
const SEGMENTS: [&str; 5] = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"];
const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];

/// TPC-H at about scale factor 0.01 (lineitem has four rows per order).
pub fn tpch() -> Catalog {
    let catalog = Catalog::new(Vec::new(), MemoryBudget::unlimited());
    let region: &[Column] = &[
        ("r_regionkey", INT, int),
        ("r_name", TEXT, |i| text(REGIONS[i as usize])),
        ("r_comment", TEXT, |_| text("c")),
    ];
    fill(&catalog, "region", 5, region, true);
    let nation: &[Column] = &[
        ("n_nationkey", INT, int),
        ("n_name", TEXT, |i| text(NATIONS[i as usize])),
        ("n_regionkey", INT, |i| int(i % 5)),
        ("n_comment", TEXT, |_| text("c")),
    ];
    fill(&catalog, "nation", 25, nation, true);
    let supplier: &[Column] = &[
        ("s_suppkey", BIG, big),
        ("s_name", TEXT, |i| text(&format!("Supplier{i}"))),
        ("s_address", TEXT, |i| text(&format!("address {i}"))),
        ("s_nationkey", INT, |i| int(below(i, 1, 25))),
        ("s_phone", TEXT, |i| text(&format!("{}", below(i, 2, 90)))),
        ("s_acctbal", MONEY, |i| money(below(i, 3, 1_000_000))),
        ("s_comment", TEXT, |i| one_of(i, 4, &["Customer Complaints", "fine", "good", "fast", "slow"])),
    ];
    fill(&catalog, "supplier", 100, supplier, true);
    let customer: &[Column] = &[
        ("c_custkey", BIG, big),
        ("c_name", TEXT, |i| text(&format!("Customer{i}"))),
        ("c_address", TEXT, |i| text(&format!("address {i}"))),
        ("c_nationkey", INT, |i| int(below(i, 5, 25))),
        ("c_phone", TEXT, |i| text(&format!("{}-123", below(i, 6, 25) + 10))),
        ("c_acctbal", MONEY, |i| money(below(i, 7, 1_000_000))),
        ("c_mktsegment", TEXT, |i| one_of(i, 8, &SEGMENTS)),
        ("c_comment", TEXT, |i| text(&format!("comment {i}"))),
    ];
    fill(&catalog, "customer", 1500, customer, true);
    let part: &[Column] = &[
        ("p_partkey", BIG, big),
        ("p_name", TEXT, |i| text(&format!("{} thing {i}", COLORS[below(i, 9, 12) as usize]))),
        ("p_mfgr", TEXT, |i| text(&format!("Manufacturer#{}", below(i, 10, 5)))),
        ("p_brand", TEXT, |i| text(&format!("Brand#{}{}", below(i, 10, 5) + 1, below(i, 11, 5) + 1))),
        ("p_type", TEXT, |i| {
            one_of(
                i,
                12,
                &[
                    "SMALL BRASS",
                    "MEDIUM POLISHED TIN",
                    "PROMO STEEL",
                    "ECONOMY ANODIZED STEEL",
                    "LARGE NICKEL",
                ],
            )
        }),
        ("p_size", INT, |i| int(below(i, 13, 50) + 1)),
        ("p_container", TEXT, |i| {
            one_of(
                i,
                14,
                &["MED BOX", "SM CASE", "LG BOX", "JUMBO PKG", "WRAP JAR", "MED BAG", "SM PACK", "LG CASE"],
            )
        }),
        ("p_retailprice", MONEY, |i| money(90_000 + below(i, 15, 100_000))),
        ("p_comment", TEXT, |_| text("c")),
    ];
    fill(&catalog, "part", 2000, part, true);
    let partsupp: &[Column] = &[
        ("ps_partkey", BIG, |i| big(i / 4)),
        ("ps_suppkey", BIG, |i| big((i / 4 + (i % 4) * 25) % 100)),
        ("ps_availqty", INT, |i| int(below(i, 16, 10_000))),
        ("ps_supplycost", MONEY, |i| money(below(i, 17, 100_000))),
        ("ps_comment", TEXT, |_| text("c")),
    ];
    fill(&catalog, "partsupp", 8000, partsupp, false);
    let orders: &[Column] = &[
        ("o_orderkey", BIG, |i| big(i * 4)),
        ("o_custkey", BIG, |i| big(below(i, 18, 1000))),
        ("o_orderstatus", TEXT, |i| one_of(i, 19, &["F", "O", "F", "O", "P"])),
        ("o_totalprice", MONEY, |i| money(below(i, 20, 50_000_000))),
        ("o_orderdate", DATE, |i| date(below(i, 21, 2406))),
        ("o_orderpriority", TEXT, |i| {
            one_of(i, 22, &["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"])
        }),
        ("o_clerk", TEXT, |i| text(&format!("Clerk{}", below(i, 23, 10)))),
        ("o_shippriority", INT, |_| int(0)),
        ("o_comment", TEXT, |i| text(&format!("comment {i}"))),
    ];
    fill(&catalog, "orders", 15_000, orders, true);
    let lineitem: &[Column] = &[
        ("l_orderkey", BIG, |i| big(i / 4 * 4)),
        ("l_partkey", BIG, |i| big(below(i, 24, 2000))),
        ("l_suppkey", BIG, |i| big((below(i, 24, 2000) + below(i, 25, 4) * 25) % 100)),
        ("l_linenumber", BIG, |i| big(i % 4)),
        ("l_quantity", MONEY, |i| money((below(i, 26, 50) + 1) * 100)),
        ("l_extendedprice", MONEY, |i| money(below(i, 27, 10_000_000))),
        ("l_discount", MONEY, |i| money(below(i, 28, 11))),
        ("l_tax", MONEY, |i| money(below(i, 29, 9))),
        ("l_returnflag", TEXT, |i| one_of(i, 30, &["A", "N", "N", "R"])),
        ("l_linestatus", TEXT, |i| one_of(i, 31, &["F", "O"])),
        ("l_shipdate", DATE, |i| date(below(i / 4, 21, 2406) + below(i, 32, 120))),
        ("l_commitdate", DATE, |i| date(below(i / 4, 21, 2406) + below(i, 33, 90) + 30)),
        ("l_receiptdate", DATE, |i| date(below(i / 4, 21, 2406) + below(i, 32, 120) + below(i, 34, 30))),
        ("l_shipinstruct", TEXT, |i| {
            one_of(i, 35, &["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"])
        }),
        ("l_shipmode", TEXT, |i| one_of(i, 36, &MODES)),
        ("l_comment", TEXT, |_| text("c")),
    ];
    fill(&catalog, "lineitem", 60_000, lineitem, false);
    catalog
}

fn fill(catalog: &Catalog, name: &str, rows: i64, columns: &[Column], has_key: bool) {
    let schemas = columns
        .iter()
        .map(|(name, ty, _)| ColumnSchema { not_null: true, ..ColumnSchema::new(*name, ty.clone()) });
    let mut schema = TableSchema::new(name, schemas.collect());
    if has_key {
        schema.columns[0].unique = true;
        schema.keys.push(vec![0]);
    }
    let table = catalog.create_table(schema, false, false).unwrap().unwrap();
    let mut from = 0;
    while from < rows {
        let to = rows.min(from + 2048);
        let vectors = columns.iter().map(|(_, ty, value)| {
            let values: Vec<Value> = (from..to).map(value).collect();
            Vector::from_sql_values(ty.clone(), &values).unwrap()
        });
        table.table.append(&[Batch::new(vectors.collect(), (to - from) as usize)]).unwrap();
        from = to;
    }
}

/// The zoo's tables, all nullable, with a few rows.
pub fn zoo() -> Catalog {
    let catalog = Catalog::new(Vec::new(), MemoryBudget::unlimited());
    let tables: [(&str, &[(&str, LogicalType)]); 4] = [
        ("dept", &[("id", INT), ("name", TEXT), ("city", TEXT), ("budget", INT)]),
        (
            "emp",
            &[
                ("id", INT),
                ("dept", INT),
                ("boss", INT),
                ("name", TEXT),
                ("pay", LogicalType::decimal(8, 2)),
                ("hired", DATE),
            ],
        ),
        ("task", &[("id", INT), ("emp", INT), ("hours", INT), ("kind", TEXT), ("due", DATE)]),
        ("nums", &[("a", INT), ("b", INT), ("s", TEXT), ("f", LogicalType::Double)]),
    ];
    for (name, columns) in tables {
        let columns = columns.iter().map(|(name, ty)| ColumnSchema::new(*name, ty.clone())).collect();
        catalog.create_table(TableSchema::new(name, columns), false, false).unwrap();
    }
    catalog
}

/// A star: rows with few keys, and what the keys are called; the items also in a table that declares no key. The calendar has years of which the rows know a few.
pub fn star() -> Catalog {
    let catalog = Catalog::new(Vec::new(), MemoryBudget::unlimited());
    let facts: &[Column] = &[
        ("day", INT, |i| int(30_000 + below(i, 1, 2_000))),
        ("item", INT, |i| int(below(i, 2, 1_000))),
        ("amount", INT, |i| int(below(i, 3, 100))),
    ];
    fill(&catalog, "facts", 100_000, facts, false);
    let items: &[Column] =
        &[("item_id", INT, int), ("item_name", TEXT, |i| text(&format!("item {}", below(i, 4, 900))))];
    fill(&catalog, "items", 1_000, items, true);
    let days: &[Column] = &[("day_id", INT, int), ("year", INT, |i| int(i / 365))];
    fill(&catalog, "days", 70_000, days, true);
    let found: &[Column] =
        &[("id", INT, int), ("title", TEXT, |i| text(&format!("title {}", below(i, 5, 900))))];
    fill(&catalog, "found", 1_000, found, false);
    catalog
}

//! TPC-H data, generated straight into vectors by the `tpchgen` crate: the rows of the reference generator, with the
//! types of DuckDB's `dbgen` (keys BIGINT, nation and region keys INTEGER, money DECIMAL(15,2), nothing NULL).
//!
//! A [`Generator`] cuts the eight tables into [`Part`]s of about one row group; each is made on its own, in any order
//! and on any thread. [`Generator::load`] lets several threads make parts and encode them at once, so that no more
//! than one row group per thread lies in memory unencoded.
//!
//! The generator's pool of random text (300 MB) lives as long as the [`Generator`].

mod rows;

use crate::Parallel;
use inlay_storage::{BulkLoad, ColumnSchema, ROW_GROUP_SIZE, Table, TableSchema};
use inlay_types::{Batch, Error, Interrupt, LogicalType, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tpchgen::distribution::Distributions;
use tpchgen::text::TextPool;

/// The eight tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TpchTable {
    /// Regions of the world.
    Region,
    /// Nations.
    Nation,
    /// Suppliers.
    Supplier,
    /// Customers.
    Customer,
    /// Parts.
    Part,
    /// Which supplier has which part.
    PartSupp,
    /// Orders.
    Orders,
    /// Lines of orders.
    LineItem,
}

/// Money.
const MONEY: LogicalType = LogicalType::Decimal { precision: 15, scale: 2 };
const BIG: LogicalType = LogicalType::BigInt;
const INT: LogicalType = LogicalType::Integer;
const TEXT: LogicalType = LogicalType::Varchar;
const DATE: LogicalType = LogicalType::Date;

type Columns = &'static [(&'static str, LogicalType)];

impl TpchTable {
    /// All tables, referenced ones first.
    pub const ALL: [TpchTable; 8] = [
        Self::Region,
        Self::Nation,
        Self::Supplier,
        Self::Customer,
        Self::Part,
        Self::PartSupp,
        Self::Orders,
        Self::LineItem,
    ];

    /// The name of the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Nation => "nation",
            Self::Supplier => "supplier",
            Self::Customer => "customer",
            Self::Part => "part",
            Self::PartSupp => "partsupp",
            Self::Orders => "orders",
            Self::LineItem => "lineitem",
        }
    }

    /// Names and types of the columns.
    pub const fn columns(self) -> Columns {
        match self {
            Self::Region => &[("r_regionkey", INT), ("r_name", TEXT), ("r_comment", TEXT)],
            Self::Nation => {
                &[("n_nationkey", INT), ("n_name", TEXT), ("n_regionkey", INT), ("n_comment", TEXT)]
            }
            Self::Supplier => &[
                ("s_suppkey", BIG),
                ("s_name", TEXT),
                ("s_address", TEXT),
                ("s_nationkey", INT),
                ("s_phone", TEXT),
                ("s_acctbal", MONEY),
                ("s_comment", TEXT),
            ],
            Self::Customer => &[
                ("c_custkey", BIG),
                ("c_name", TEXT),
                ("c_address", TEXT),
                ("c_nationkey", INT),
                ("c_phone", TEXT),
                ("c_acctbal", MONEY),
                ("c_mktsegment", TEXT),
                ("c_comment", TEXT),
            ],
            Self::Part => &[
                ("p_partkey", BIG),
                ("p_name", TEXT),
                ("p_mfgr", TEXT),
                ("p_brand", TEXT),
                ("p_type", TEXT),
                ("p_size", INT),
                ("p_container", TEXT),
                ("p_retailprice", MONEY),
                ("p_comment", TEXT),
            ],
            Self::PartSupp => &[
                ("ps_partkey", BIG),
                ("ps_suppkey", BIG),
                ("ps_availqty", BIG),
                ("ps_supplycost", MONEY),
                ("ps_comment", TEXT),
            ],
            Self::Orders => &[
                ("o_orderkey", BIG),
                ("o_custkey", BIG),
                ("o_orderstatus", TEXT),
                ("o_totalprice", MONEY),
                ("o_orderdate", DATE),
                ("o_orderpriority", TEXT),
                ("o_clerk", TEXT),
                ("o_shippriority", INT),
                ("o_comment", TEXT),
            ],
            Self::LineItem => &[
                ("l_orderkey", BIG),
                ("l_partkey", BIG),
                ("l_suppkey", BIG),
                ("l_linenumber", BIG),
                ("l_quantity", MONEY),
                ("l_extendedprice", MONEY),
                ("l_discount", MONEY),
                ("l_tax", MONEY),
                ("l_returnflag", TEXT),
                ("l_linestatus", TEXT),
                ("l_shipdate", DATE),
                ("l_commitdate", DATE),
                ("l_receiptdate", DATE),
                ("l_shipinstruct", TEXT),
                ("l_shipmode", TEXT),
                ("l_comment", TEXT),
            ],
        }
    }

    /// Positions of the primary key's columns.
    pub const fn primary_key(self) -> &'static [usize] {
        match self {
            Self::PartSupp => &[0, 1],
            Self::LineItem => &[0, 3],
            _ => &[0],
        }
    }

    /// The schema under which `tpch_dbgen` creates the table. Primary keys of one column are declared; those of two
    /// are not, because checking them would cost more than generating the rows.
    pub fn schema(self) -> TableSchema {
        let column = |(name, ty): &(&str, LogicalType)| ColumnSchema {
            not_null: true,
            ..ColumnSchema::new(*name, ty.clone())
        };
        let mut schema = TableSchema::new(self.name(), self.columns().iter().map(column).collect());
        if let [key] = self.primary_key() {
            schema.columns[*key].unique = true;
            schema.keys.push(vec![*key]);
        }
        schema
    }

    /// Rows at scale factor 1; those of lineitem are a mean.
    const fn base_rows(self) -> f64 {
        match self {
            Self::Region => 5.0,
            Self::Nation => 25.0,
            Self::Supplier => 10_000.0,
            Self::Customer => 150_000.0,
            Self::Part => 200_000.0,
            Self::PartSupp => 800_000.0,
            Self::Orders => 1_500_000.0,
            // The number of lines is random; a margin keeps parts below a row group.
            Self::LineItem => 6_060_000.0,
        }
    }
}

/// Rows `part` of `part_count` of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The table.
    pub table: TpchTable,
    /// Counted from 1.
    pub part: i32,
    /// How many parts the table has.
    pub part_count: i32,
}

/// Largest scale factor: keys and part numbers stay in 32 bits.
const SCALE_MAX: f64 = 100_000.0;
/// Smallest scale factor with at least one supplier.
const SCALE_MIN: f64 = 0.0001;

/// A data set of one scale factor.
#[derive(Debug)]
pub struct Generator {
    scale_factor: f64,
    pool: Option<TextPool>,
}

impl Generator {
    /// A generator of `scale_factor` (1: a gigabyte of text; 0: no rows). Takes a moment, to make its random text.
    pub fn new(scale_factor: f64) -> Result<Self> {
        if scale_factor != 0.0 && !(SCALE_MIN..=SCALE_MAX).contains(&scale_factor) {
            return Err(Error::invalid_argument(format!("scale factor {scale_factor} is not possible"))
                .with_hint(format!("choose 0 or {SCALE_MIN} to {SCALE_MAX}")));
        }
        const POOL_SIZE: i32 = 300 * 1024 * 1024;
        let pool = (scale_factor != 0.0).then(|| TextPool::new(POOL_SIZE, Distributions::static_default()));
        Ok(Self { scale_factor, pool })
    }

    /// The parts of all tables, large tables first so that workers finish together.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for table in TpchTable::ALL.into_iter().rev().filter(|_| self.pool.is_some()) {
            let part_count = match table {
                TpchTable::Region | TpchTable::Nation => 1,
                _ => (table.base_rows() * self.scale_factor / ROW_GROUP_SIZE as f64).ceil().max(1.0) as i32,
            };
            parts.extend((1..=part_count).map(|part| Part { table, part, part_count }));
        }
        parts
    }

    /// Makes the rows of a part, in order, as batches of at most [`inlay_types::VECTOR_SIZE`] rows.
    pub fn generate(&self, part: Part, sink: &mut dyn FnMut(Batch) -> Result<()>) -> Result<()> {
        match &self.pool {
            Some(pool) => rows::generate(part, self.scale_factor, pool, sink),
            None => Ok(()),
        }
    }

    /// Fills tables; `parallel` runs a number of tasks, on whatever threads there are. `tables` says which to fill and what with;
    /// each must have the columns of [`TpchTable::schema`]. Each table gets its rows at once, in order; returns the
    /// number of rows loaded.
    pub fn load(
        &self,
        tables: &[(TpchTable, Arc<Table>)],
        parallel: Parallel<'_>,
        interrupt: &Interrupt,
    ) -> Result<u64> {
        let loads: Vec<(TpchTable, BulkLoad)> =
            tables.iter().map(|(table, target)| (*table, BulkLoad::new(Arc::clone(target)))).collect();
        let load_of = |table: TpchTable| loads.iter().find(|(t, _)| *t == table).map(|(_, load)| load);
        let parts: Vec<Part> = self.parts().into_iter().filter(|p| load_of(p.table).is_some()).collect();

        let load_part = |part: Part| -> Result<()> {
            let Some(load) = load_of(part.table) else {
                return Err(Error::internal(format!(
                    "there is nowhere to put rows of {}",
                    part.table.name()
                )));
            };
            let mut appender = load.appender(part.part as u64);
            self.generate(part, &mut |batch| {
                interrupt.check()?;
                appender.push(&batch)
            })?;
            appender.finish()
        };
        parallel(parts.len(), &|number| {
            catch_unwind(AssertUnwindSafe(|| load_part(parts[number])))
                .unwrap_or_else(|_| Err(Error::internal("a panic while TPC-H rows were generated")))
        })?;
        let mut rows = 0;
        for (_, load) in loads {
            interrupt.check()?;
            rows += load.commit()?;
        }
        Ok(rows)
    }
}

/// Creates the rows of all eight tables in `tables`; the body of `CALL tpch_dbgen(sf := ...)`.
pub fn load(
    scale_factor: f64,
    tables: &[(TpchTable, Arc<Table>)],
    parallel: Parallel<'_>,
    interrupt: &Interrupt,
) -> Result<u64> {
    Generator::new(scale_factor)?.load(tables, parallel, interrupt)
}

#[cfg(test)]
mod tests;

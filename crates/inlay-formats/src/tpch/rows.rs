//! The generator's rows as vectors, one function per table.

use super::{Part, TpchTable};
use inlay_types::{Batch, Result, VECTOR_SIZE, VectorBuilder};
use std::fmt::{Display, Write};
use tpchgen::distribution::Distributions;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen::text::TextPool;

/// A row under construction: columns are pushed from left to right.
struct RowSink<'a> {
    table: TpchTable,
    columns: Vec<VectorBuilder>,
    column: usize,
    rows: usize,
    text: String,
    sink: &'a mut dyn FnMut(Batch) -> Result<()>,
}

impl<'a> RowSink<'a> {
    fn new(table: TpchTable, sink: &'a mut dyn FnMut(Batch) -> Result<()>) -> Self {
        Self { table, columns: builders(table), column: 0, rows: 0, text: String::new(), sink }
    }

    fn next(&mut self) -> &mut VectorBuilder {
        self.column += 1;
        &mut self.columns[self.column - 1]
    }

    fn big(&mut self, value: i64) -> &mut Self {
        self.next().push_native(value);
        self
    }

    fn int(&mut self, value: i32) -> &mut Self {
        self.next().push_native(value);
        self
    }

    fn str(&mut self, value: &str) -> &mut Self {
        self.next().push_bytes(value.as_bytes());
        self
    }

    fn shown(&mut self, value: impl Display) -> &mut Self {
        self.text.clear();
        // Writing to a String does not fail.
        let _ = write!(self.text, "{value}");
        self.column += 1;
        self.columns[self.column - 1].push_bytes(self.text.as_bytes());
        self
    }

    fn end_row(&mut self) -> Result<()> {
        self.column = 0;
        self.rows += 1;
        if self.rows == VECTOR_SIZE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let full = std::mem::replace(&mut self.columns, builders(self.table));
        let len = std::mem::take(&mut self.rows);
        (self.sink)(Batch::new(full.into_iter().map(VectorBuilder::finish).collect(), len))
    }
}

fn builders(table: TpchTable) -> Vec<VectorBuilder> {
    table.columns().iter().map(|(_, ty)| VectorBuilder::new(ty.clone(), VECTOR_SIZE)).collect()
}

/// Makes the rows of one part.
pub(super) fn generate(
    part: Part,
    scale: f64,
    pool: &TextPool,
    sink: &mut dyn FnMut(Batch) -> Result<()>,
) -> Result<()> {
    let mut out = RowSink::new(part.table, sink);
    let distributions = Distributions::static_default();
    let Part { part, part_count, .. } = part;
    match out.table {
        TpchTable::Region => region(distributions, pool, &mut out)?,
        TpchTable::Nation => nation(distributions, pool, &mut out)?,
        TpchTable::Supplier => {
            let rows = SupplierGenerator::new_with_distributions_and_text_pool(
                scale,
                part,
                part_count,
                distributions,
                pool,
            );
            for row in rows.iter() {
                out.big(row.s_suppkey).shown(row.s_name).shown(&row.s_address).int(row.s_nationkey as i32);
                out.shown(row.s_phone).big(row.s_acctbal.into_inner()).str(&row.s_comment).end_row()?;
            }
        }
        TpchTable::Customer => {
            let rows = CustomerGenerator::new_with_distributions_and_text_pool(
                scale,
                part,
                part_count,
                distributions,
                pool,
            );
            for row in rows.iter() {
                out.big(row.c_custkey).shown(row.c_name).shown(&row.c_address).int(row.c_nationkey as i32);
                out.shown(row.c_phone).big(row.c_acctbal.into_inner()).str(row.c_mktsegment);
                out.str(row.c_comment).end_row()?;
            }
        }
        TpchTable::Part => {
            let rows = PartGenerator::new_with_distributions_and_text_pool(
                scale,
                part,
                part_count,
                distributions,
                pool,
            );
            for row in rows.iter() {
                out.big(row.p_partkey)
                    .shown(&row.p_name)
                    .shown(row.p_mfgr)
                    .shown(row.p_brand)
                    .str(row.p_type);
                out.int(row.p_size).str(row.p_container).big(row.p_retailprice.into_inner());
                out.str(row.p_comment).end_row()?;
            }
        }
        TpchTable::PartSupp => {
            let rows = PartSuppGenerator::new_with_text_pool(scale, part, part_count, pool);
            for row in rows.iter() {
                out.big(row.ps_partkey).big(row.ps_suppkey).big(i64::from(row.ps_availqty));
                out.big(row.ps_supplycost.into_inner()).str(row.ps_comment).end_row()?;
            }
        }
        TpchTable::Orders => {
            let rows = OrderGenerator::new_with_distributions_and_text_pool(
                scale,
                part,
                part_count,
                distributions,
                pool,
            );
            for row in rows.iter() {
                out.big(row.o_orderkey).big(row.o_custkey).str(row.o_orderstatus.as_str());
                out.big(row.o_totalprice.into_inner()).int(row.o_orderdate.to_unix_epoch());
                out.str(row.o_orderpriority).shown(row.o_clerk).int(row.o_shippriority);
                out.str(row.o_comment).end_row()?;
            }
        }
        TpchTable::LineItem => {
            let rows = LineItemGenerator::new_with_distributions_and_text_pool(
                scale,
                part,
                part_count,
                distributions,
                pool,
            );
            for row in rows.iter() {
                out.big(row.l_orderkey)
                    .big(row.l_partkey)
                    .big(row.l_suppkey)
                    .big(i64::from(row.l_linenumber));
                out.big(row.l_quantity * 100).big(row.l_extendedprice.into_inner());
                out.big(row.l_discount.into_inner()).big(row.l_tax.into_inner());
                out.str(row.l_returnflag).str(row.l_linestatus).int(row.l_shipdate.to_unix_epoch());
                out.int(row.l_commitdate.to_unix_epoch()).int(row.l_receiptdate.to_unix_epoch());
                out.str(row.l_shipinstruct).str(row.l_shipmode).str(row.l_comment).end_row()?;
            }
        }
    }
    out.flush()
}

fn region(distributions: &Distributions, pool: &TextPool, out: &mut RowSink<'_>) -> Result<()> {
    for row in RegionGenerator::new_with_distributions_and_text_pool(distributions, pool).iter() {
        out.int(row.r_regionkey as i32).str(row.r_name).str(row.r_comment).end_row()?;
    }
    Ok(())
}

fn nation(distributions: &Distributions, pool: &TextPool, out: &mut RowSink<'_>) -> Result<()> {
    for row in NationGenerator::new_with_distributions_and_text_pool(distributions, pool).iter() {
        out.int(row.n_nationkey as i32)
            .str(row.n_name)
            .int(row.n_regionkey as i32)
            .str(row.n_comment)
            .end_row()?;
    }
    Ok(())
}

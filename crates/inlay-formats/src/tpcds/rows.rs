//! The generator's lines as vectors.

use super::{Part, TpcdsTable, session};
use inlay_types::{Batch, Error, LogicalType, PhysicalType, Result, VECTOR_SIZE, Value, VectorBuilder};
use std::fmt::{Display, Write};
use tpcdsgen::row::{
    CallCenterRowGenerator, CatalogPageRowGenerator, CatalogReturnsRowGenerator, CatalogSalesRowGenerator,
    CustomerAddressRowGenerator, CustomerDemographicsRowGenerator, CustomerRowGenerator, DateDimRowGenerator,
    HouseholdDemographicsRowGenerator, IncomeBandRowGenerator, InventoryRowGenerator, ItemRowGenerator,
    PromotionRowGenerator, ReasonRowGenerator, ShipModeRowGenerator, StoreReturnsRowGenerator,
    StoreRowGenerator, StoreSalesRowGenerator, TimeDimRowGenerator, WarehouseRowGenerator,
    WebPageRowGenerator, WebReturnsRowGenerator, WebSalesRowGenerator, WebSiteRowGenerator,
};

/// Takes the batches of a part.
type Push<'a> = &'a mut dyn FnMut(Batch) -> Result<()>;

/// Makes the rows of a part, in order.
pub(super) fn generate(part: Part, scale_factor: f64, push: Push<'_>) -> Result<()> {
    use TpcdsTable as T;
    let session = session(scale_factor, Some(part))?;
    let range = session.get_source_row_range(part.table.generated());
    if range.is_empty() {
        return Ok(());
    }
    macro_rules! rows {
        ($generator:ident) => {{
            let mut generator = $generator::new(session, *range.end());
            generator.skip_rows_until_starting_row_number(*range.start());
            collect(part.table, generator, push)
        }};
    }
    match part.table {
        T::IncomeBand => rows!(IncomeBandRowGenerator),
        T::ShipMode => rows!(ShipModeRowGenerator),
        T::Reason => rows!(ReasonRowGenerator),
        T::Warehouse => rows!(WarehouseRowGenerator),
        T::DateDim => rows!(DateDimRowGenerator),
        T::TimeDim => rows!(TimeDimRowGenerator),
        T::HouseholdDemographics => rows!(HouseholdDemographicsRowGenerator),
        T::CustomerDemographics => rows!(CustomerDemographicsRowGenerator),
        T::CustomerAddress => rows!(CustomerAddressRowGenerator),
        T::Item => rows!(ItemRowGenerator),
        T::Promotion => rows!(PromotionRowGenerator),
        T::Store => rows!(StoreRowGenerator),
        T::CallCenter => rows!(CallCenterRowGenerator),
        T::CatalogPage => rows!(CatalogPageRowGenerator),
        T::WebSite => rows!(WebSiteRowGenerator),
        T::WebPage => rows!(WebPageRowGenerator),
        T::Customer => rows!(CustomerRowGenerator),
        T::Inventory => rows!(InventoryRowGenerator),
        T::StoreSales => rows!(StoreSalesRowGenerator),
        T::StoreReturns => rows!(StoreReturnsRowGenerator),
        T::CatalogSales => rows!(CatalogSalesRowGenerator),
        T::CatalogReturns => rows!(CatalogReturnsRowGenerator),
        T::WebSales => rows!(WebSalesRowGenerator),
        T::WebReturns => rows!(WebReturnsRowGenerator),
    }
}

fn collect(table: TpcdsTable, rows: impl Iterator<Item = impl Display>, push: Push<'_>) -> Result<()> {
    let types: Vec<LogicalType> = table.columns().into_iter().map(|(_, ty)| ty).collect();
    let new = || types.iter().map(|ty| VectorBuilder::new(ty.clone(), VECTOR_SIZE)).collect::<Vec<_>>();
    let (mut builders, mut count, mut line) = (new(), 0, String::new());
    for row in rows {
        line.clear();
        // Writing to a String does not fail.
        let _ = write!(line, "{row}");
        let mut fields = line.split('|');
        for (builder, ty) in builders.iter_mut().zip(&types) {
            let field = fields.next().ok_or_else(|| Error::internal("a generated row lacks a column"))?;
            add(builder, ty, field)?;
        }
        count += 1;
        if count == VECTOR_SIZE {
            let full = std::mem::replace(&mut builders, new());
            push(Batch::new(full.into_iter().map(VectorBuilder::finish).collect(), count))?;
            count = 0;
        }
    }
    if count > 0 {
        push(Batch::new(builders.into_iter().map(VectorBuilder::finish).collect(), count))?;
    }
    Ok(())
}

fn add(builder: &mut VectorBuilder, ty: &LogicalType, field: &str) -> Result<()> {
    if field.is_empty() {
        builder.push_null();
        return Ok(());
    }
    match ty {
        LogicalType::Varchar => builder.push_bytes(field.as_bytes()),
        LogicalType::BigInt => builder.push_native(number(field)?),
        LogicalType::Integer => builder.push_native(number(field)? as i32),
        LogicalType::Decimal { scale, .. } => {
            let unscaled = decimal(field, usize::from(*scale))?;
            match ty.physical() {
                PhysicalType::I16 => builder.push_native(unscaled as i16),
                PhysicalType::I32 => builder.push_native(unscaled as i32),
                _ => builder.push_native(unscaled),
            }
        }
        _ => {
            let value = inlay_kernels::cast_value(&Value::Varchar(field.to_string()), ty)?;
            builder.push(&value)?;
        }
    }
    Ok(())
}

fn number(field: &str) -> Result<i64> {
    field.parse().map_err(|_| Error::internal(format!("the generator made {field} for an integer")))
}

/// The unscaled value of a decimal number with at most `scale` digits behind the point.
fn decimal(field: &str, scale: usize) -> Result<i64> {
    let (whole, fraction) = field.split_once('.').unwrap_or((field, ""));
    let digits = format!("{whole}{fraction:0<scale$}");
    number(&digits)
}

//! `pg_timezone_names()`: every time zone, with what its clocks show now.

use crate::ColumnSource;
use inlay_catalog::{TableFunction, TableSource, TypeNames};
use inlay_kernels::zone::{Zone, system_micros, zone_names};
use inlay_types::datetime::MICROS_PER_SECOND;
use inlay_types::{Error, Interval, LogicalType, Result, Value, Vector};
use std::sync::Arc;

/// See the module documentation.
#[derive(Debug)]
pub struct ZoneNames;

impl TableFunction for ZoneNames {
    fn name(&self) -> &'static str {
        "pg_timezone_names"
    }

    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        _: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>> {
        if !args.is_empty() || !named.is_empty() {
            return Err(Error::invalid_argument("pg_timezone_names takes no arguments"));
        }
        let now = system_micros();
        let mut columns: [Vec<Value>; 4] = Default::default();
        for name in zone_names() {
            let state = Zone::named(name)?.state_at(now);
            let offset = i64::from(state.offset) * MICROS_PER_SECOND;
            let row = [
                Value::Varchar(name.to_string()),
                Value::Varchar(state.abbreviation().to_string()),
                Value::Interval(Interval { months: 0, days: 0, micros: offset }),
                Value::Boolean(state.is_dst),
            ];
            for (column, value) in columns.iter_mut().zip(row) {
                column.push(value);
            }
        }
        let types = [LogicalType::Varchar, LogicalType::Varchar, LogicalType::Interval, LogicalType::Boolean];
        let names = ["name", "abbrev", "utc_offset", "is_dst"];
        let columns = names
            .iter()
            .zip(types)
            .zip(&columns)
            .map(|((name, ty), values)| Ok(((*name).to_string(), Vector::from_sql_values(ty, values)?)));
        let source = ColumnSource::new("pg_timezone_names()", columns.collect::<Result<_>>()?)?;
        Ok(Arc::new(source))
    }
}

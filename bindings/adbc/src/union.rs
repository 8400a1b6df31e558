//! Arrow's dense unions, in which ADBC gives values of several types.

use crate::failure::Outcome;
use inlay::Value;
use inlay::types::arrow::export::{array_of, schema_of};
use inlay::types::arrow::{ArrowArray, ArrowSchema, Exporter, StringLayout};
use inlay::types::{Buffer, LogicalType, Vector};

/// Name and type of a member.
pub type Member = (&'static str, LogicalType);

fn exporter(members: &[Member]) -> Exporter {
    let (names, types): (Vec<_>, Vec<_>) =
        members.iter().map(|(name, ty)| (name.to_string(), ty.clone())).unzip();
    Exporter::new(&names, &types).with_strings(StringLayout::Utf8)
}

/// The schema of a column of a union.
pub fn schema(name: &str, flags: i64, members: &[Member]) -> ArrowSchema {
    let exporter = exporter(members);
    let ids: Vec<String> = (0..members.len()).map(|id| id.to_string()).collect();
    let fields = (0..members.len()).map(|index| exporter.column_schema(index)).collect();
    schema_of(&format!("+ud:{}", ids.join(",")), name, flags, fields, None)
}

/// A column of values, each with the number of its member.
pub fn array(members: &[Member], values: Vec<(i8, Value)>) -> Outcome<ArrowArray> {
    let count = values.len();
    let mut parts: Vec<Vec<Value>> = members.iter().map(|_| Vec::new()).collect();
    let (mut ids, mut offsets): (Vec<i8>, Vec<i32>) = (Vec::new(), Vec::new());
    for (id, value) in values {
        ids.push(id);
        offsets.push(parts[id as usize].len() as i32);
        parts[id as usize].push(value);
    }
    let exporter = exporter(members);
    let mut columns = Vec::with_capacity(parts.len());
    for (index, (values, (_, ty))) in parts.iter().zip(members).enumerate() {
        columns.push(exporter.column(index, &Vector::from_sql_values(ty.clone(), values)?)?.into_array());
    }
    let buffers = vec![Some(Buffer::from_vec(ids)), Some(Buffer::from_vec(offsets))];
    Ok(array_of(count, 0, buffers, columns, None))
}

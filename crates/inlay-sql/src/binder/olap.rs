//! `FROM olap('listings', ['region_txt', 'type_txt'], agg := 'avg', fact := 'price_fact')`: one aggregate of a fact by some columns, as
//! OlapCalc calculates it, and `olap_json` with the same arguments: the answer as one document.
//!
//! ```text
//! rows:       region | type | avg
//! document:   {"region": [{"name": "North", "type": [{"name": "flat", "avg": 1.5}]}]}
//! flat:       [{"region": "North", "type": "flat", "avg": 1.5}]
//! ```
//! Columns are called without the suffixes of `olap_load`. Each is a text of SQL that is bound as a view's is: with the rights of who asks.
//! Names are quoted; the fact and the condition are read alone first, and are one expression each.

use super::query_function::path_as_sql;
use crate::parser::{Part, check_part, parse_name};
use inlay_types::{Error, Result, Value};
use std::fmt::Write;

/// Aggregates by their names, and what they are of a fact in SQL.
const AGGREGATES: &[(&str, &str)] = &[
    ("avg", "avg("),
    ("count", "count("),
    ("count_distinct", "count(DISTINCT "),
    ("max", "max("),
    ("median", "median("),
    ("min", "min("),
    ("stddev", "stddev("),
    ("sum", "sum("),
];
const SUFFIXES: [&str; 4] = ["_id", "_txt", "_date", "_fact"];
/// What a value of a level is called in a document.
const NAME: &str = "name";

/// What is asked for.
pub(super) struct Calculation {
    table: String,
    /// Columns as they are called, and in the answer.
    by: Vec<(String, String)>,
    agg: String,
    measure: String,
    condition: Option<String>,
    is_nested: bool,
}

impl Calculation {
    /// Of the arguments of `olap` or `olap_json`.
    pub fn of(function: &str, args: &[Value], named: &[(String, Value)]) -> Result<Self> {
        const ORDER: [&str; 6] = ["table", "by", "agg", "fact", "condition", "nested"];
        let mut given: [Option<&Value>; ORDER.len()] = [None; ORDER.len()];
        let of_place = args.iter().enumerate().map(|(place, value)| (ORDER.get(place).copied(), value));
        let of_name = named.iter().map(|(name, value)| {
            let name = if name == "where" { "condition" } else { name };
            (ORDER.iter().find(|known| **known == name).copied(), value)
        });
        for (name, value) in of_place.chain(of_name) {
            let slot = ORDER.iter().zip(&mut given).find(|(known, _)| name == Some(**known));
            match slot.map(|(_, slot)| slot) {
                Some(slot @ None) => *slot = (!value.is_null()).then_some(value),
                Some(Some(_)) | None => return Err(usage(function)),
            }
        }
        let [table, by, agg, fact, condition, nested] = given;
        let text = |name: &str, value: Option<&Value>| match value {
            None => Ok(None),
            Some(Value::Varchar(text)) => Ok(Some(text.clone())),
            Some(other) => Err(Error::invalid_argument(format!("{function}: {name} is a text, not {other}"))),
        };
        let table = text("table", table)?.ok_or_else(|| usage(function))?;
        let fact = text("fact", fact)?.filter(|fact| !fact.trim().is_empty());
        let condition = text("condition", condition)?.filter(|condition| !condition.trim().is_empty());
        for part in fact.iter().chain(&condition) {
            check_part(Part::Expression, part)?;
        }
        let is_nested = match (function, nested) {
            (_, None) => true,
            ("olap_json", Some(Value::Boolean(is_nested))) => *is_nested,
            (_, Some(_)) => return Err(usage(function)),
        };
        let agg = text("agg", agg)?.map(|agg| agg.trim().to_lowercase());
        let agg = agg.unwrap_or_else(|| if fact.is_some() { "avg" } else { "count" }.to_string());
        let measure = measure(function, &agg, fact.as_deref())?;
        Ok(Self {
            table: table_as_sql(&table),
            by: labelled(columns(function, by)?)?,
            agg,
            measure,
            condition,
            is_nested,
        })
    }

    /// A query of a row for each group.
    pub fn rows(&self) -> String {
        let mut items: Vec<String> = self
            .by
            .iter()
            .map(|(column, label)| format!("{} AS {}", quoted(column), quoted(label)))
            .collect();
        items.push(format!("{} AS {}", self.measure, quoted(&self.agg)));
        let order: Vec<String> = (1..=self.by.len()).map(|place| format!("{place} NULLS LAST")).collect();
        let order = if order.is_empty() { String::new() } else { format!(" ORDER BY {}", order.join(", ")) };
        format!("SELECT {} {}{order}", items.join(", "), self.source())
    }

    /// What stands behind the list of SELECT.
    fn source(&self) -> String {
        let mut text = format!("FROM {}", self.table);
        if let Some(condition) = &self.condition {
            // A comment in it ends with the line.
            let _ = write!(text, " WHERE (\n{condition}\n)");
        }
        let keys: Vec<String> = self.by.iter().map(|(column, _)| quoted(column)).collect();
        if !keys.is_empty() {
            let _ = write!(text, " GROUP BY {}", keys.join(", "));
        }
        text
    }

    /// A query of one row with a document.
    pub fn document(&self) -> String {
        // JSON has no NaN and no infinity.
        let measure = "CASE WHEN typeof(m) IN ('DOUBLE', 'FLOAT', 'REAL') AND NOT isfinite(TRY_CAST(m AS DOUBLE)) THEN NULL ELSE m END";
        let mut items: Vec<String> = self
            .by
            .iter()
            .enumerate()
            .map(|(place, (column, _))| format!("{} AS k{place}", quoted(column)))
            .collect();
        items.push(format!("{} AS m", self.measure));
        let groups = format!("(SELECT {} {})", items.join(", "), self.source());
        let agg = literal(&self.agg);
        let Some((_, outermost)) = self.by.first() else {
            return format!("SELECT json_object({agg}, {measure}) AS json FROM {groups}");
        };
        if !self.is_nested {
            let keys =
                (0..self.by.len()).map(|place| format!("k{place} NULLS LAST")).collect::<Vec<_>>().join(", ");
            let fields: String = self
                .by
                .iter()
                .enumerate()
                .map(|(place, (_, label))| format!("{}, k{place}, ", literal(label)))
                .collect();
            return format!(
                "SELECT coalesce(json_group_array(json_object({fields}{agg}, {measure}) ORDER BY {keys}), '[]'::JSON) AS json FROM {groups}"
            );
        }
        let keys = |count: usize| (0..count).map(|place| format!("k{place}, ")).collect::<String>();
        let last = self.by.len() - 1;
        let name = literal(NAME);
        let mut level = format!(
            "SELECT {}json_object({name}, k{last}, {agg}, {measure}) AS j FROM {groups}",
            keys(self.by.len())
        );
        for place in (0..last).rev() {
            let (below, (_, label)) = (place + 1, &self.by[place + 1]);
            let keys = keys(below);
            level = format!(
                "SELECT {keys}json_object({name}, k{place}, {}, json_group_array(j ORDER BY k{below} NULLS LAST)) AS j \
                 FROM ({level}) GROUP BY {}",
                literal(label),
                keys.trim_end_matches(", ")
            );
        }
        format!(
            "SELECT json_object({}, coalesce(json_group_array(j ORDER BY k0 NULLS LAST), '[]'::JSON)) AS json FROM ({level})",
            literal(outermost)
        )
    }
}

fn usage(function: &str) -> Error {
    let nested = if function == "olap_json" { ", nested := true" } else { "" };
    let message = format!(
        "{function} takes a table, columns, an aggregate, a fact, a condition: {function}('listings', ['region_txt'], \
         agg := 'avg', fact := 'price_fact', condition := 'built > 2000'{nested})"
    );
    Error::invalid_argument(message)
}

/// The aggregate of the fact as SQL.
fn measure(function: &str, agg: &str, fact: Option<&str>) -> Result<String> {
    let Some((_, call)) = AGGREGATES.iter().find(|(name, _)| *name == agg) else {
        let known: Vec<&str> = AGGREGATES.iter().map(|(name, _)| *name).collect();
        return Err(Error::invalid_argument(format!(
            "{function}: there is no aggregate \"{agg}\": {} are",
            known.join(", ")
        )));
    };
    match fact {
        Some(fact) => Ok(format!("{call}(\n{fact}\n))")),
        None if agg == "count" => Ok("count(*)".to_string()),
        None => {
            let message =
                format!("{function}: {agg} needs a fact, a column or an expression such as 'price - cost'");
            Err(Error::invalid_argument(message).with_hint("count alone counts rows without one"))
        }
    }
}

/// Names of columns: a list of texts, or a text with commas.
fn columns(function: &str, by: Option<&Value>) -> Result<Vec<String>> {
    let wrong = |other: &Value| {
        Error::invalid_argument(format!("{function}: by is a list of names of columns, not {other}"))
    };
    match by {
        None => Ok(Vec::new()),
        Some(Value::Varchar(text)) => {
            Ok(text.split(',').map(|name| name.trim().to_string()).filter(|name| !name.is_empty()).collect())
        }
        Some(Value::List { values, .. }) => {
            let names =
                values.iter().map(|name| name.as_str().map(str::to_string).ok_or_else(|| wrong(name)));
            names.collect()
        }
        Some(other) => Err(wrong(other)),
    }
}

/// Each column with its name in the answer: without the suffix, unless that makes two alike or is a word of documents.
fn labelled(columns: Vec<String>) -> Result<Vec<(String, String)>> {
    let short = |column: &str| {
        let found = SUFFIXES.iter().find_map(|suffix| {
            let at = column.len().checked_sub(suffix.len()).filter(|at| column.is_char_boundary(*at))?;
            let (base, end) = column.split_at(at);
            (end.eq_ignore_ascii_case(suffix) && !base.is_empty()).then(|| base.to_string())
        });
        found.unwrap_or_else(|| column.to_string())
    };
    let lower = |text: &str| text.to_lowercase();
    let mut labelled: Vec<(String, String)> = Vec::with_capacity(columns.len());
    for column in &columns {
        if labelled.iter().any(|(known, _)| lower(known) == lower(column)) {
            return Err(Error::invalid_argument(format!("by names the column \"{column}\" twice")));
        }
        let label = short(column);
        let is_known = AGGREGATES.iter().any(|(agg, _)| *agg == lower(&label)) || lower(&label) == NAME;
        let is_single = columns.iter().filter(|other| lower(&short(other)) == lower(&label)).count() == 1;
        let label = if is_single && !is_known { label } else { column.clone() };
        labelled.push((column.clone(), label));
    }
    Ok(labelled)
}

/// The name of a table as a program gives it: as SQL has it, or as it is.
fn table_as_sql(name: &str) -> String {
    match parse_name(name) {
        Ok(parts) => parts.iter().map(|part| quoted(part)).collect::<Vec<_>>().join("."),
        Err(_) => path_as_sql(name),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

//! `CALL olap_load('listings', 'folder/*.csv')`: a table to calculate with, from CSV files whose columns say by their names what they are.
//!
//! ```text
//! region_id    a key               region_txt    a text        sold_date    a date        price_fact    a number
//! ```
//! The convention is OlapCalc's: nothing else has to be said. Delimiter, encoding and decimal comma are found. A text without its key gets one:
//! numbers from 1 in alphabetical order. There is a dimension table for each text, and a bitmap index on each key, text and date that
//! has few enough values for one. The statements are those that a user would write, so they do what these do; all is made, or nothing.

use crate::execute::Run;
use crate::result::QueryResult;
use crate::text::{literal, quoted};
use inlay_sql::parser::{parse_name, parse_statement};
use inlay_sql::plan::Statement;
use inlay_types::{Batch, Error, LogicalType, Result, Value, Vector};
use std::fmt::Write;

/// What the name of a column says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Id,
    Text,
    Date,
    Fact,
    Other,
}

const SUFFIXES: &[(&str, Role)] =
    &[("_id", Role::Id), ("_txt", Role::Text), ("_date", Role::Date), ("_fact", Role::Fact)];

/// The name without its suffix, and what that says.
fn role_of(name: &str) -> (&str, Role) {
    let found = SUFFIXES.iter().find_map(|(suffix, role)| {
        let at = name.len().checked_sub(suffix.len()).filter(|at| *at > 0 && name.is_char_boundary(*at))?;
        let (base, end) = name.split_at(at);
        end.eq_ignore_ascii_case(suffix).then_some((base, *role))
    });
    found.unwrap_or((name, Role::Other))
}

#[derive(Debug)]
struct Column {
    name: String,
    ty: String,
}

impl Column {
    fn base(&self) -> &str {
        role_of(&self.name).0
    }

    fn role(&self) -> Role {
        role_of(&self.name).1
    }

    fn is_number(&self) -> bool {
        let plain = self.ty.split('(').next().unwrap_or("");
        ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DECIMAL", "DOUBLE", "FLOAT", "REAL"]
            .contains(&plain)
    }
}

/// What is to be loaded.
struct Source {
    /// The table's name as SQL, and what names of other objects begin with.
    table: String,
    prefix: String,
    path: String,
    /// Options for `read_csv`, as SQL.
    options: Vec<(String, String)>,
    columns: Vec<Column>,
}

impl Source {
    fn reader(&self) -> String {
        let mut text = format!("read_csv({}", literal(&self.path));
        for (name, value) in &self.options {
            let _ = write!(text, ", {} = {value}", quoted(name));
        }
        if !self.options.iter().any(|(name, _)| name == "types") {
            let texts = self.columns.iter().filter(|column| column.role() == Role::Text);
            let types: Vec<String> =
                texts.map(|column| format!("{}: 'VARCHAR'", literal(&column.name))).collect();
            if !types.is_empty() {
                let _ = write!(text, ", types = {{{}}}", types.join(", "));
            }
        }
        text + ")"
    }

    fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(known, _)| known == name)
    }

    fn find(&self, base: &str, role: Role) -> Option<&Column> {
        self.columns.iter().find(|column| column.role() == role && column.base().eq_ignore_ascii_case(base))
    }

    /// Whether the text is to get a key.
    fn wants_id(&self, column: &Column) -> bool {
        column.role() == Role::Text && self.find(column.base(), Role::Id).is_none()
    }

    /// The name of another object of the table, as SQL.
    fn beside(&self, name: &str) -> String {
        quoted(&format!("{}_{name}", self.prefix))
    }
}

/// What was made: its name, kind, rows and a remark.
type Made = (String, &'static str, Option<i64>, String);

/// See the module documentation.
pub(super) fn olap_load(run: &mut Run<'_>, args: &[Value], named: &[(String, Value)]) -> Result<QueryResult> {
    let [Value::Varchar(name), Value::Varchar(path)] = args else {
        return Err(Error::invalid_argument(
            "olap_load takes the name of a table and a path: olap_load('listings', 'folder/*.csv')",
        )
        .with_hint("options of read_csv follow, as delim := ';'"));
    };
    let parts = parse_name(name)?;
    let Some((own, place)) = parts.split_last() else {
        return Err(Error::invalid_argument("olap_load: the table has no name"));
    };
    let table = parts.iter().map(|part| quoted(part)).collect::<Vec<_>>().join(".");
    let options = named.iter().map(|(name, value)| (name.clone(), value.to_sql())).collect();
    let mut source = Source { table, prefix: own.clone(), path: path.clone(), options, columns: Vec::new() };
    let mut made = Vec::new();
    // The first statement finds out the encoding: text that is no UTF-8 is the other one that there is.
    if let Err(error) = load(run, &mut source, place, &mut made) {
        if source.has("encoding") || !error.message().contains("is not UTF-8") {
            return Err(error);
        }
        made.clear();
        source.options.push(("encoding".to_string(), "'windows-1252'".to_string()));
        load(run, &mut source, place, &mut made)?;
    }
    index(run, &source, &mut made)?;
    report(&made)
}

/// Makes the table and its dimensions.
fn load(run: &mut Run<'_>, source: &mut Source, place: &[String], made: &mut Vec<Made>) -> Result<()> {
    describe(run, source)?;
    let is_text = |column: &Column| column.role() == Role::Fact && !column.is_number();
    if source.columns.iter().any(is_text) && !source.has("decimal_separator") {
        source.options.push(("decimal_separator".to_string(), "','".to_string()));
        describe(run, source)?;
    }
    check(source)?;
    let path = |name: &str| {
        let place = place.iter().map(|part| quoted(part) + ".").collect::<String>();
        format!("{place}{name}")
    };
    let without_id: Vec<&Column> = source.columns.iter().filter(|column| source.wants_id(column)).collect();
    if without_id.is_empty() {
        carry_out(run, &format!("CREATE TABLE {} AS FROM {}", source.table, source.reader()))?;
    } else {
        let read = path(&source.beside("as it was read"));
        carry_out(run, &format!("CREATE TABLE {read} AS FROM {}", source.reader()))?;
        let mut items = Vec::with_capacity(source.columns.len() + without_id.len());
        let mut from = format!("{read} r");
        for column in &source.columns {
            let own = quoted(&column.name);
            if source.wants_id(column) {
                let (dimension, id) = (path(&source.beside(column.base())), id_of(column));
                carry_out(
                    run,
                    &format!(
                        "CREATE TABLE {dimension} AS SELECT row_number() OVER (ORDER BY {own})::INTEGER AS {id}, {own} \
                         FROM (SELECT DISTINCT {own} FROM {read} WHERE {own} IS NOT NULL) ORDER BY 1"
                    ),
                )?;
                let alias = quoted(&format!("of {}", column.name));
                let _ = write!(from, " LEFT JOIN {dimension} {alias} ON {alias}.{own} = r.{own}");
                items.push(format!("{alias}.{id}"));
            }
            items.push(format!("r.{own}"));
        }
        carry_out(run, &format!("CREATE TABLE {} AS SELECT {} FROM {from}", source.table, items.join(", ")))?;
        carry_out(run, &format!("DROP TABLE {read}"))?;
    }
    let about = about_files(run, source)?;
    made.push((source.prefix.clone(), "table", Some(count(run, &source.table)?), about));
    for text in source.columns.iter().filter(|column| column.role() == Role::Text) {
        let (name, own) = (source.beside(text.base()), quoted(&text.name));
        let dimension = path(&name);
        let mut remark = format!("numbers in alphabetical order of {}", text.name);
        if let Some(id) = source.find(text.base(), Role::Id) {
            let key = quoted(&id.name);
            let table = &source.table;
            carry_out(
                run,
                &format!(
                    "CREATE TABLE {dimension} AS SELECT DISTINCT {key}, {own} FROM {table} \
                     WHERE {key} IS NOT NULL AND {own} IS NOT NULL ORDER BY ALL"
                ),
            )?;
            let twice = format!(
                "SELECT count(*) FROM (SELECT {key} FROM {dimension} GROUP BY {key} HAVING count(*) > 1)"
            );
            remark = match number(run, &twice)? {
                0 => format!("{} and its {}", id.name, text.name),
                several => format!("values of {} with more than one {}: {several}", id.name, text.name),
            };
        }
        let name = format!("{}_{}", source.prefix, text.base());
        made.push((name, "dimension", Some(count(run, &dimension)?), remark));
    }
    for column in source.columns.iter().filter(|column| column.role() == Role::Other) {
        let remark = "kept: its name ends with none of _id, _txt, _date, _fact".to_string();
        made.push((column.name.clone(), "column", None, remark));
    }
    Ok(())
}

/// The name of the key that a text gets, as SQL.
fn id_of(text: &Column) -> String {
    quoted(&format!("{}_id", text.base()))
}

/// Says which columns there are.
fn describe(run: &mut Run<'_>, source: &mut Source) -> Result<()> {
    let ask = format!("SELECT column_name, column_type FROM (DESCRIBE FROM {})", source.reader());
    let rows = rows(run, &ask)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    source.columns = rows.iter().map(|row| Column { name: text(&row[0]), ty: text(&row[1]) }).collect();
    Ok(())
}

/// Fails if columns are not what their names say.
fn check(source: &Source) -> Result<()> {
    for column in &source.columns {
        let wrong = |what: &str, hint: &'static str| {
            let message =
                format!("{}: column \"{}\" is to hold {what}, but has other texts", source.path, column.name);
            Error::invalid_argument(message).with_hint(hint)
        };
        match column.role() {
            Role::Fact if !column.is_number() => {
                return Err(wrong(
                    "numbers",
                    "decimal_separator and thousands are options; _fact means a number",
                ));
            }
            Role::Date if !(column.ty == "DATE" || column.ty.starts_with("TIMESTAMP")) => {
                return Err(wrong("dates", "say how they are written, as dateformat := '%d.%m.%Y'"));
            }
            Role::Id | Role::Text | Role::Date | Role::Fact | Role::Other => {}
        }
    }
    Ok(())
}

/// What was found about the files.
fn about_files(run: &mut Run<'_>, source: &Source) -> Result<String> {
    let files = format!("SELECT count(*), min(file) FROM glob({})", literal(&source.path));
    let found = rows(run, &files)?;
    let row = found.first().map(Vec::as_slice).unwrap_or_default();
    let [Value::BigInt(files), Value::Varchar(first)] = row else {
        return Ok(format!("read from {}", source.path));
    };
    let mut text = format!("read from {files} file{}", if *files == 1 { "" } else { "s" });
    let encoding = source.options.iter().find(|(name, _)| name == "encoding");
    let mut sniff = format!("SELECT \"Delimiter\" FROM sniff_csv({}", literal(first));
    if let Some((_, encoding)) = encoding {
        let _ = write!(sniff, ", encoding = {encoding}");
    }
    if let Some(Value::Varchar(delimiter)) = rows(run, &(sniff + ")"))?.first().and_then(|row| row.first()) {
        let _ = write!(text, ", delimiter '{delimiter}'");
    }
    let encoding = encoding.map_or("utf-8", |(_, encoding)| encoding.trim_matches('\''));
    let _ = write!(text, ", encoding {encoding}");
    if let Some((_, separator)) = source.options.iter().find(|(name, _)| name == "decimal_separator") {
        let _ = write!(text, ", decimal separator {separator}");
    }
    Ok(text)
}

/// Makes an index on each column that has few enough values for one.
fn index(run: &mut Run<'_>, source: &Source, made: &mut Vec<Made>) -> Result<()> {
    let mut columns: Vec<String> = Vec::new();
    for column in &source.columns {
        if source.wants_id(column) {
            columns.push(format!("{}_id", column.base()));
        }
        match column.role() {
            Role::Id | Role::Text | Role::Date => columns.push(column.name.clone()),
            Role::Fact | Role::Other => {}
        }
    }
    for column in columns {
        let name = source.beside(&column);
        let create = format!("CREATE INDEX {name} ON {} USING bitmap ({})", source.table, quoted(&column));
        let shown = format!("{}_{column}", source.prefix);
        match carry_out(run, &create) {
            Ok(()) => made.push((shown, "bitmap index", None, String::new())),
            Err(error)
                if matches!(error.root(), Error::InvalidArgument { .. } | Error::Unsupported { .. }) =>
            {
                made.push((column, "no index", None, error.message()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn carry_out(run: &mut Run<'_>, text: &str) -> Result<()> {
    run.given.interrupt.check()?;
    let bound = run.bind(&parse_statement(text)?)?;
    run.bound(bound).map(drop)
}

fn rows(run: &mut Run<'_>, text: &str) -> Result<Vec<Vec<Value>>> {
    let Statement::Query(query) = run.bind(&parse_statement(text)?)? else {
        return Err(Error::internal("a query of olap_load is none"));
    };
    let (_, batches) = run.batches(query)?;
    let rows = batches.iter().flat_map(|batch| (0..batch.len()).map(move |row| (batch, row)));
    Ok(rows.map(|(batch, row)| batch.columns().iter().map(|column| column.get(row)).collect()).collect())
}

fn number(run: &mut Run<'_>, text: &str) -> Result<i64> {
    match rows(run, text)?.first().and_then(|row| row.first()) {
        Some(Value::BigInt(number)) => Ok(*number),
        Some(_) | None => Err(Error::internal("a count of olap_load is none")),
    }
}

fn count(run: &mut Run<'_>, table: &str) -> Result<i64> {
    number(run, &format!("SELECT count(*) FROM {table}"))
}

/// What was made as an answer.
fn report(made: &[Made]) -> Result<QueryResult> {
    let texts = |text: &dyn Fn(&Made) -> Value| {
        let values: Vec<Value> = made.iter().map(text).collect();
        Vector::from_sql_values(LogicalType::Varchar, &values)
    };
    let counts: Vec<Value> =
        made.iter().map(|(_, _, rows, _)| rows.map_or(Value::Null, Value::BigInt)).collect();
    let columns = vec![
        texts(&|made| Value::Varchar(made.0.clone()))?,
        texts(&|made| Value::Varchar(made.1.to_string()))?,
        Vector::from_sql_values(LogicalType::BigInt, &counts)?,
        texts(&|made| Value::Varchar(made.3.clone()))?,
    ];
    let names = ["name", "kind", "rows", "remark"].map(String::from).to_vec();
    let types = vec![LogicalType::Varchar, LogicalType::Varchar, LogicalType::BigInt, LogicalType::Varchar];
    Ok(QueryResult::of_rows(names, types, vec![Batch::new(columns, made.len())], None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_columns_are() {
        assert_eq!(role_of("region_id"), ("region", Role::Id));
        assert_eq!(role_of("地区_txt"), ("地区", Role::Text));
        assert_eq!(role_of("Sold_DATE"), ("Sold", Role::Date));
        assert_eq!(role_of("price_fact"), ("price", Role::Fact));
        for other in ["_id", "paid", "地区", "é", ""] {
            assert_eq!(role_of(other), (other, Role::Other));
        }
    }
}

//! Statements at random, from the grammar in `statements.txt`, about whatever there is at the moment.
//!
//! | word | what it becomes |
//! |---|---|
//! | `@table` | a table that is there; columns are its own from here on; `@target` is that table once more |
//! | `@column`, `@key`, `@struct` | a column of it, its key if it has one, one of its structs; `@same` is that column once more |
//! | `@value`, `@values`, `@row` | a literal for that column, for each column, and `VALUES` of a few rows |
//! | `@new`, `@fresh` | the name of a column to come, of which each statement has others; one that few tables have |
//! | `@index`, `@sequence`, `@schema`, `@enum`, `@parent`, `@main` | one that is there, if any; a table with a key; the database |
//! | `@name:x` | one of few names that begin with x, taken or not |
//! | `@int`, `@count` | a number |

use super::random::Random;
use super::sql;
use inlay::Connection;
use std::collections::BTreeMap;

const GRAMMAR: &str = include_str!("statements.txt");

/// What there is, as statements name it.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Tables with the columns that can be written, and their types.
    tables: Vec<(String, Vec<(String, String)>)>,
    indexes: Vec<String>,
    sequences: Vec<String>,
    schemas: Vec<String>,
    enums: Vec<String>,
    database: String,
}

impl Catalog {
    /// What a connection sees.
    pub fn read(connection: &Connection, database: &str) -> Result<Self, inlay::Error> {
        let list = |query: String| -> Result<Vec<Vec<String>>, inlay::Error> {
            let unquoted = |text: String| text.trim_matches('\'').to_string();
            let rows = sql::rows(connection, &query)?;
            Ok(rows.into_iter().map(|row| row.into_iter().map(unquoted).collect()).collect())
        };
        let own = format!("database_name = '{database}'");
        let mut tables: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for row in list(format!(
            "SELECT c.schema_name, c.table_name, c.column_index, c.column_name, c.data_type FROM duckdb_columns() c \
             JOIN duckdb_tables() t USING (database_name, schema_name, table_name) \
             WHERE c.{own} AND NOT t.temporary AND NOT t.is_materialized_view AND NOT c.is_generated"
        ))? {
            let [schema, table, _, column, ty] = &row[..] else { continue };
            let name = if schema == "main" { table.clone() } else { format!("{schema}.{table}") };
            tables.entry(name).or_default().push((column.clone(), ty.clone()));
        }
        let named = |what: &str, column: &str, more: &str| -> Result<Vec<String>, inlay::Error> {
            let rows = list(format!("SELECT schema_name, {column} FROM {what}() WHERE {own} {more}"))?;
            let name = |row: Vec<String>| match &row[0][..] {
                "main" => row[1].clone(),
                schema => format!("{schema}.{}", row[1]),
            };
            Ok(rows.into_iter().map(name).collect())
        };
        Ok(Self {
            tables: tables.into_iter().collect(),
            indexes: named("duckdb_indexes", "index_name", "")?,
            sequences: named(
                "duckdb_sequences",
                "sequence_name",
                "AND NOT temporary AND sequence_name LIKE 'q%'",
            )?,
            schemas: list(format!("SELECT schema_name FROM duckdb_schemas() WHERE {own} AND NOT internal"))?
                .concat(),
            enums: named("duckdb_types", "type_name", "AND NOT internal AND logical_type = 'ENUM'")?,
            database: database.to_string(),
        })
    }
}

/// The grammar.
#[derive(Debug)]
pub struct Grammar {
    rules: BTreeMap<&'static str, Vec<(u64, &'static str, usize)>>,
    /// Ways to say something.
    pub way_count: usize,
}

/// A statement, and the ways that it was put together of.
#[derive(Debug)]
pub struct Generated {
    pub sql: String,
    pub ways: Vec<usize>,
}

impl Grammar {
    /// What the file says.
    pub fn read() -> Self {
        let mut rules: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let lines = GRAMMAR.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut way_count = 0;
        for line in lines {
            let (head, text) = line.split_once(" -> ").unwrap_or_else(|| panic!("no rule: {line}"));
            let (name, weight) = head.split_once(' ').unwrap_or((head, "1"));
            rules.entry(name).or_default().push((weight.parse().unwrap(), text, way_count));
            way_count += 1;
        }
        Self { rules, way_count }
    }

    /// The text of a way.
    pub fn way(&self, number: usize) -> &'static str {
        self.rules.values().flatten().find(|way| way.2 == number).map_or("", |way| way.1)
    }

    /// One statement.
    pub fn statement(&self, catalog: &Catalog, random: &mut Random) -> Generated {
        let mut writer = Writer {
            grammar: self,
            catalog,
            random,
            table: 0,
            column: 0,
            name: String::new(),
            news: 0,
            ways: Vec::new(),
        };
        let sql = writer.rule("statement");
        Generated { sql, ways: writer.ways }
    }
}

struct Writer<'a> {
    grammar: &'a Grammar,
    catalog: &'a Catalog,
    random: &'a mut Random,
    /// Positions of the table and column that were named last.
    table: usize,
    column: usize,
    /// The column to come that was named last, if that was later.
    name: String,
    news: u8,
    ways: Vec<usize>,
}

impl Writer<'_> {
    fn rule(&mut self, name: &str) -> String {
        let ways = self.grammar.rules.get(name).unwrap_or_else(|| panic!("no rule <{name}>"));
        let mut number = self.random.below(ways.iter().map(|way| way.0).sum());
        for (weight, text, way) in ways {
            if number < *weight {
                self.ways.push(*way);
                return self.text(text);
            }
            number -= weight;
        }
        String::new()
    }

    fn text(&mut self, mut rest: &str) -> String {
        let mut out = String::new();
        while let Some(at) = rest.find(['<', '[', '@']) {
            out += &rest[..at];
            let tail = &rest[at + 1..];
            let word = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
            rest = match rest.as_bytes()[at] {
                b'<' if word > 0 && tail[word..].starts_with('>') => {
                    out += &self.rule(&tail[..word]);
                    &tail[word + 1..]
                }
                b'[' if tail.find(']').is_some_and(|end| tail[..end].contains('|')) => {
                    let end = tail.find(']').unwrap_or(0);
                    let words: Vec<&str> = tail[..end].split('|').collect();
                    let word = words[self.random.below(words.len() as u64) as usize];
                    out += &self.text(word);
                    &tail[end + 1..]
                }
                b'@' if tail.starts_with("name:") => {
                    let prefix = &tail["name:".len()..];
                    let end = prefix.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(prefix.len());
                    out += &format!("{}{}", &prefix[..end], self.random.between(1, 4));
                    &prefix[end..]
                }
                b'@' if word > 0 => {
                    out += &self.terminal(&tail[..word]);
                    &tail[word..]
                }
                other => {
                    out.push(char::from(other));
                    tail
                }
            };
        }
        out + rest
    }

    fn terminal(&mut self, word: &str) -> String {
        let catalog = self.catalog;
        match word {
            "table" => {
                self.table = self.random.below(self.catalog.tables.len() as u64) as usize;
                self.target()
            }
            "target" => self.target(),
            "column" => self.column_where(|_, _| true),
            "key" => self.column_where(|name, _| name == "id"),
            "struct" => self.column_where(|_, ty| ty.starts_with("STRUCT")),
            "same" if !self.name.is_empty() => self.name.clone(),
            "same" => self.columns().get(self.column).map_or("a".to_string(), |column| column.0.clone()),
            "value" => {
                let ty =
                    self.columns().get(self.column).map_or("INTEGER", |column| column.1.as_str()).to_string();
                self.literal(&ty)
            }
            "values" => self.literals(),
            "row" => {
                let rows: Vec<String> =
                    (0..self.random.between(1, 4)).map(|_| format!("({})", self.literals())).collect();
                format!("VALUES {}", rows.join(", "))
            }
            "new" => {
                self.news += 1;
                self.name = char::from(b'`' + self.news).to_string();
                self.name.clone()
            }
            "fresh" => format!("c{}", self.random.below(9)),
            "index" => self.one_of(&catalog.indexes, "i1"),
            "sequence" => self.one_of(&catalog.sequences, "q1"),
            "schema" => self.one_of(&catalog.schemas, "main"),
            "enum" => self.one_of(&catalog.enums, "e1"),
            "main" => self.catalog.database.clone(),
            "parent" => {
                let has_id = |columns: &[(String, String)]| columns.iter().any(|column| column.0 == "id");
                let tables = self.catalog.tables.iter().filter(|table| has_id(&table.1));
                let names: Vec<String> = tables.map(|table| format!("{} (id)", table.0)).collect();
                self.one_of(&names, "t1 (id)")
            }
            "int" => self.random.below(100).to_string(),
            "count" => {
                let limit = if self.random.once_in(8) { 3000 } else { 60 };
                (1 + self.random.below(limit)).to_string()
            }
            other => panic!("no word @{other}"),
        }
    }

    fn one_of(&mut self, names: &[String], otherwise: &str) -> String {
        match names {
            [] => otherwise.to_string(),
            names => names[self.random.below(names.len() as u64) as usize].clone(),
        }
    }

    fn target(&mut self) -> String {
        self.catalog.tables.get(self.table).map_or("t1".to_string(), |table| table.0.clone())
    }

    fn columns(&self) -> &[(String, String)] {
        self.catalog.tables.get(self.table).map_or(&[][..], |table| &table.1[..])
    }

    /// A column of which this holds, if there is one.
    fn column_where(&mut self, holds: impl Fn(&str, &str) -> bool) -> String {
        let wanted = |(_, column): &(usize, &(String, String))| holds(&column.0, &column.1);
        let found: Vec<usize> =
            self.columns().iter().enumerate().filter(wanted).map(|(position, _)| position).collect();
        self.column = match found[..] {
            [] => self.random.below(self.columns().len() as u64) as usize,
            _ => found[self.random.below(found.len() as u64) as usize],
        };
        self.name.clear();
        self.columns().get(self.column).map_or("a".to_string(), |column| column.0.clone())
    }

    fn literals(&mut self) -> String {
        let types: Vec<String> = self.columns().iter().map(|column| column.1.clone()).collect();
        types.iter().map(|ty| self.literal(ty)).collect::<Vec<_>>().join(", ")
    }

    fn literal(&mut self, ty: &str) -> String {
        if self.random.once_in(8) {
            return "NULL".to_string();
        }
        let number = self.random.below(100);
        if let Some(element) = ty.strip_suffix("[]") {
            return format!("[{}, {}]", self.literal(element), self.literal(element));
        }
        match ty.split('(').next().unwrap_or_default() {
            "DOUBLE" | "REAL" => format!("{number}.5"),
            "DECIMAL" => format!("{number}.25"),
            "VARCHAR" => format!("'word {number}'"),
            "DATE" => format!("DATE '2024-01-{:02}'", 1 + number % 28),
            "TIMESTAMP" => format!("TIMESTAMP '2024-01-{:02} 10:00:00'", 1 + number % 28),
            "TIME" => format!("TIME '10:{:02}:00'", number % 60),
            "BOOLEAN" => number.is_multiple_of(2).to_string(),
            "UUID" => format!("UUID '00000000-0000-4000-8000-0000000000{number:02}'"),
            "BLOB" => format!("'\\xAB\\x{number:02}'::BLOB"),
            "ENUM" => ["'sad'", "'ok'"][(number % 2) as usize].to_string(),
            "STRUCT" if ty.contains("x INTEGER") && ty.contains("y VARCHAR") && !ty.contains("z ") => {
                format!("{{'x': {number}, 'y': 'word {number}'}}")
            }
            "MAP" => format!("MAP {{'key {}': {number}}}", number % 5),
            "STRUCT" => "NULL".to_string(),
            _ => number.to_string(),
        }
    }
}

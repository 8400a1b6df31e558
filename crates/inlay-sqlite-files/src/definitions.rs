//! The tables of a file as definitions of a database in memory, without rows.
//!
//! A table is made with its columns and NOT NULL first; each default, key, index and view is then tried, and what the engine does not
//! take is left out with a remark. So is what would mean something else here without an error: views that divide or use LIKE.

use crate::file::{failed, quoted};
use crate::tables::{Column, Kind, Table};
use inlay::types::Result;
use inlay::{Connection as Engine, Database, ForeignFile};
use rusqlite::Connection;
use std::fmt::Write;
use std::sync::Arc;

/// Words of views that have another meaning in SQLite, as they are found in texts.
const OTHER_MEANING: [(&str, &str); 4] = [
    ("/", "SQLite divides whole numbers to whole ones"),
    ("like", "LIKE knows no case in SQLite"),
    ("glob", "GLOB is SQLite's"),
    ("collate", "its collations are SQLite's"),
];

/// See the module documentation.
pub struct Definitions {
    pub database: Database,
    pub left_out: Vec<String>,
    /// Tables and views that are not among them, and can be read all the same.
    pub others: Arc<[String]>,
}

/// A key or index of a table, as SQLite lists it.
struct Index {
    name: String,
    is_unique: bool,
    /// `c` of CREATE INDEX, `u` of UNIQUE, `pk` of the primary key.
    origin: String,
    sql: Option<String>,
    /// Columns; nothing for an expression.
    columns: Vec<Option<String>>,
}

/// A reference of a table to another one.
struct Reference {
    target: String,
    columns: Vec<String>,
    target_columns: Vec<Option<String>>,
    on_update: String,
    on_delete: String,
}

/// What makes the definitions.
struct Maker<'a> {
    connection: &'a Connection,
    file: &'a ForeignFile,
    engine: Engine,
    remarks: Vec<String>,
}

impl Definitions {
    /// No definitions.
    pub fn none() -> Result<Self> {
        Ok(Self { database: Database::open_in_memory()?, left_out: Vec::new(), others: Arc::default() })
    }

    /// Those of the tables.
    pub fn of(
        connection: &Connection,
        file: &ForeignFile,
        tables: &[Table],
        remarks: &mut Vec<String>,
    ) -> Result<Self> {
        let none = Self::none()?;
        let engine = none.database.connect();
        let mut maker = Maker { connection, file, engine, remarks: std::mem::take(remarks) };
        let mut made: Vec<&Table> = Vec::new();
        for table in tables.iter().filter(|table| table.kind != Kind::View) {
            file.interrupt.check()?;
            if maker.table(table)? {
                made.push(table);
            }
        }
        for table in &made {
            maker.references(table)?;
            maker.indexes(table)?;
        }
        let mut others: Vec<String> = Vec::new();
        for table in tables {
            let is_made = match table.kind {
                Kind::View => maker.view(table),
                Kind::Table | Kind::Virtual => made.iter().any(|known| known.name == table.name),
            };
            if !is_made {
                others.push(table.name.clone());
            }
        }
        maker.triggers()?;
        *remarks = maker.remarks;
        Ok(Self { others: others.into(), ..none })
    }

    /// With what is said of what was left out.
    pub fn with_remarks(self, left_out: Vec<String>) -> Self {
        Self { left_out, ..self }
    }
}

impl Maker<'_> {
    /// Runs a statement of ours; if it fails, `what` is left out.
    fn tried(&mut self, sql: &str, what: impl FnOnce() -> String) -> bool {
        match self.engine.execute(sql) {
            Ok(_) => true,
            Err(error) => {
                self.remarks.push(format!("{} is left out: {}", what(), error.root()));
                false
            }
        }
    }

    /// A table with what belongs to its columns.
    fn table(&mut self, table: &Table) -> Result<bool> {
        let keys = self.keys(table)?;
        let mut items: Vec<String> = table.columns.iter().map(|column| self.column(table, column)).collect();
        items.extend(keys);
        let sql = format!("CREATE TABLE {} ({})", quoted(&table.name), items.join(", "));
        if !self.tried(&sql, || format!("table \"{}\"", table.name)) {
            return Ok(false);
        }
        for column in table.columns.iter().filter(|column| column.is_generated) {
            self.remarks.push(format!(
                "what computes column \"{}\" of table \"{}\" is left out: it has the values of now",
                column.name, table.name
            ));
        }
        for column in &table.columns {
            let Some(default) = column.default.as_ref().filter(|_| !column.is_generated) else { continue };
            let (name, own) = (quoted(&table.name), quoted(&column.name));
            self.tried(&format!("ALTER TABLE {name} ALTER COLUMN {own} SET DEFAULT {default}"), || {
                format!("DEFAULT {default} of column \"{}\" of table \"{}\"", column.name, table.name)
            });
        }
        if table.kind == Kind::Table && has_word(&table.sql, "check") {
            self.remarks.push(format!("CHECK of table \"{}\" is left out", table.name));
        }
        if table.kind == Kind::Table && has_word(&table.sql, "collate") {
            self.remarks.push(format!("collations of table \"{}\" are left out", table.name));
        }
        Ok(true)
    }

    fn column(&self, table: &Table, column: &Column) -> String {
        let mut text = format!("{} {}", quoted(&column.name), column.read.ty());
        let numbers = table.numbered_by().filter(|key| key.name == column.name && !self.file.all_varchar);
        if numbers.is_some() {
            let next = table.last_row.unwrap_or(0).max(0).saturating_add(1);
            let _ = write!(text, " GENERATED BY DEFAULT AS IDENTITY (START WITH {next})");
        } else if column.not_null {
            text.push_str(" NOT NULL");
        }
        text
    }

    /// PRIMARY KEY and UNIQUE.
    fn keys(&mut self, table: &Table) -> Result<Vec<String>> {
        let mut keys: Vec<&Column> = table.columns.iter().filter(|column| column.key > 0).collect();
        keys.sort_by_key(|column| column.key);
        let list = |columns: &[&str]| columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let mut found = Vec::new();
        if !keys.is_empty() {
            let names: Vec<&str> = keys.iter().map(|column| column.name.as_str()).collect();
            let word = if self.has_null(table, &keys)? { "UNIQUE" } else { "PRIMARY KEY" };
            if word == "UNIQUE" {
                let remark = "has NULLs, which SQLite lets be, and is UNIQUE here";
                self.remarks.push(format!("the primary key of table \"{}\" {remark}", table.name));
            }
            found.push(format!("{word} ({})", list(&names)));
        }
        for index in self.listed(table)?.iter().filter(|index| index.origin == "u") {
            if let Some(names) = index.columns.iter().map(Option::as_deref).collect::<Option<Vec<&str>>>() {
                found.push(format!("UNIQUE ({})", list(&names)));
            }
        }
        Ok(found)
    }

    /// Whether a key has NULLs, as SQLite lets it.
    fn has_null(&self, table: &Table, keys: &[&Column]) -> Result<bool> {
        let may_have = keys.iter().filter(|column| !column.not_null);
        let tests: Vec<String> = may_have.map(|column| format!("{} IS NULL", quoted(&column.name))).collect();
        if tests.is_empty() || table.numbered_by().is_some() || table.row_number.is_none() {
            return Ok(false);
        }
        let sql =
            format!("SELECT EXISTS (SELECT 1 FROM {} WHERE {})", quoted(&table.name), tests.join(" OR "));
        self.connection.query_row(&sql, [], |row| row.get(0)).map_err(|error| failed(self.file, &error))
    }

    fn listed(&self, table: &Table) -> Result<Vec<Index>> {
        let read = || -> rusqlite::Result<Vec<Index>> {
            let sql = "SELECT l.name, l.\"unique\", l.origin, s.sql FROM pragma_index_list(?1) AS l \
                       LEFT JOIN sqlite_schema AS s ON s.type = 'index' AND s.name = l.name ORDER BY l.seq DESC";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([&table.name], |row| {
                let (is_unique, origin, sql) = (row.get::<_, i64>(1)? != 0, row.get(2)?, row.get(3)?);
                Ok(Index { name: row.get(0)?, is_unique, origin, sql, columns: Vec::new() })
            })?;
            let mut indexes: Vec<Index> = rows.collect::<rusqlite::Result<_>>()?;
            for index in &mut indexes {
                let sql = "SELECT name FROM pragma_index_info(?1) ORDER BY seqno";
                let mut statement = self.connection.prepare(sql)?;
                index.columns =
                    statement.query_map([&index.name], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            }
            Ok(indexes)
        };
        read().map_err(|error| failed(self.file, &error))
    }

    /// What CREATE INDEX made.
    fn indexes(&mut self, table: &Table) -> Result<()> {
        for index in self.listed(table)?.into_iter().filter(|index| index.origin == "c") {
            let sql = index.sql.unwrap_or_default();
            let word = if index.is_unique { "unique index" } else { "index" };
            if has_word(&sql, "collate") {
                self.remarks
                    .push(format!("{word} \"{}\" is left out: its collations are SQLite's", index.name));
                continue;
            }
            self.tried(&sql, || format!("{word} \"{}\"", index.name));
        }
        Ok(())
    }

    fn references(&mut self, table: &Table) -> Result<()> {
        for reference in self.referenced(table)? {
            let names =
                |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
            let target_columns: Option<Vec<String>> = reference.target_columns.into_iter().collect();
            let target_columns =
                target_columns.map_or(String::new(), |columns| format!(" ({})", names(&columns)));
            let mut sql = format!(
                "ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {}{target_columns}",
                quoted(&table.name),
                names(&reference.columns),
                quoted(&reference.target),
            );
            for (event, action) in [("UPDATE", &reference.on_update), ("DELETE", &reference.on_delete)] {
                if action != "NO ACTION" {
                    let _ = write!(sql, " ON {event} {action}");
                }
            }
            self.tried(&sql, || {
                format!("the foreign key of table \"{}\" to \"{}\"", table.name, reference.target)
            });
        }
        Ok(())
    }

    fn referenced(&self, table: &Table) -> Result<Vec<Reference>> {
        let read = || -> rusqlite::Result<Vec<Reference>> {
            let sql = "SELECT seq, \"table\", \"from\", \"to\", on_update, on_delete \
                       FROM pragma_foreign_key_list(?1) ORDER BY id DESC, seq";
            let mut statement = self.connection.prepare(sql)?;
            let mut rows = statement.query([&table.name])?;
            let mut found: Vec<Reference> = Vec::new();
            while let Some(row) = rows.next()? {
                if row.get::<_, i64>(0)? == 0 {
                    found.push(Reference {
                        target: row.get(1)?,
                        columns: Vec::new(),
                        target_columns: Vec::new(),
                        on_update: row.get(4)?,
                        on_delete: row.get(5)?,
                    });
                }
                if let Some(last) = found.last_mut() {
                    last.columns.push(row.get(2)?);
                    last.target_columns.push(row.get(3)?);
                }
            }
            Ok(found)
        };
        read().map_err(|error| failed(self.file, &error))
    }

    /// A view, if it means the same here.
    fn view(&mut self, view: &Table) -> bool {
        let text = view.sql.to_lowercase();
        let other = OTHER_MEANING.iter().find(|(word, _)| match *word {
            "/" => text.contains('/'),
            word => has_word(&text, word),
        });
        if let Some((_, why)) = other {
            self.remarks.push(format!("view \"{}\" is left out: {why}", view.name));
            return false;
        }
        self.tried(&view.sql, || format!("view \"{}\"", view.name))
    }

    fn triggers(&mut self) -> Result<()> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let sql = "SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid";
            self.connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
        };
        for trigger in read().map_err(|error| failed(self.file, &error))? {
            self.remarks.push(format!("trigger \"{trigger}\" is left out"));
        }
        Ok(())
    }
}

/// Whether a text has a word, in any case.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found.eq_ignore_ascii_case(word))
}

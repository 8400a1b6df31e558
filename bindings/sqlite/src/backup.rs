//! A database copied into another one: all of its tables, views and indexes. A page is a table, and one more is the list of them.

use crate::connection::{Db, of, sqlite3};
use crate::failure::{DONE, ERROR, MISUSE, OK, Outcome, export, failed};
use crate::lexer::{ident, literal};
use crate::pointers::{Handle, behind_mut, handle, release, text_of};
use crate::schema::MARK;
use inlay::{Parameters, Value};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// A copy under way.
pub struct sqlite3_backup {
    to: Arc<Db>,
    from: Arc<Db>,
    from_schema: String,
    /// Tables that are left, and how many pages there are in all.
    left: Vec<String>,
    pages: usize,
    begun: bool,
    is_done: bool,
    has_failed: bool,
    outcome: c_int,
}

impl Drop for sqlite3_backup {
    fn drop(&mut self) {
        if self.begun && !self.is_done {
            let _ = self.to.run("ROLLBACK");
            let _ = self.to.schema_changed();
        }
    }
}

fn text(value: &Value) -> String {
    if value.is_null() { String::new() } else { value.to_string() }
}

impl sqlite3_backup {
    fn place(&self) -> String {
        match self.from_schema.as_str() {
            "main" => "database_name = current_database() AND NOT temporary".to_string(),
            "temp" => "temporary".to_string(),
            other => format!("database_name = {}", literal(other)),
        }
    }

    fn plan(&mut self) -> Outcome<()> {
        let sql =
            format!("SELECT table_name FROM inlay_tables() WHERE {} ORDER BY table_oid DESC", self.place());
        self.left = self.from.rows(&sql, Vec::new())?.iter().map(|row| text(&row[0])).collect();
        self.pages = self.left.len() + 1;
        Ok(())
    }

    fn step(&mut self, pages: c_int) -> Outcome<c_int> {
        if self.has_failed {
            return Err(failed(ERROR, "the copy failed before"));
        }
        self.steps(pages).inspect_err(|_| {
            self.has_failed = true;
        })
    }

    fn steps(&mut self, pages: c_int) -> Outcome<c_int> {
        if !self.begun {
            // As a whole or not at all: what it drops stays until all of the copy is there.
            self.to.run("BEGIN")?;
            self.begun = true;
            self.plan()?;
            self.clear()?;
        }
        let mut budget = usize::try_from(pages).unwrap_or(usize::MAX);
        while budget > 0 {
            let Some(table) = self.left.pop() else {
                if !self.is_done {
                    self.finish()?;
                    self.to.run("COMMIT")?;
                    self.is_done = true;
                }
                return Ok(DONE);
            };
            self.copy(&table)?;
            budget -= 1;
        }
        Ok(OK)
    }

    /// Drops what the target has.
    fn clear(&self) -> Outcome<()> {
        for (list, name, kind) in
            [("inlay_views", "view_name", "VIEW"), ("inlay_tables", "table_name", "TABLE")]
        {
            let internal = if kind == "VIEW" { "NOT internal AND" } else { "" };
            let sql = format!(
                "SELECT {name} FROM {list}() WHERE {internal} database_name = current_database() AND NOT temporary"
            );
            for row in self.to.rows(&sql, Vec::new())? {
                self.to.run(&format!("DROP {kind} {} CASCADE", ident(&text(&row[0]))))?;
            }
        }
        self.to.schema_changed()
    }

    fn copy(&self, table: &str) -> Outcome<()> {
        let sql =
            format!("SELECT sql, comment FROM inlay_tables() WHERE {} AND table_name = $1", self.place());
        let rows = self.from.rows(&sql, vec![table.into()])?;
        let Some(row) = rows.first() else { return Ok(()) };
        self.to.run(&text(&row[0]))?;
        if let Value::Varchar(comment) = &row[1] {
            self.to.run(&format!("COMMENT ON TABLE {} IS {}", ident(table), literal(comment)))?;
        }
        let schema =
            if self.from_schema == "main" { String::new() } else { format!("{}.", ident(&self.from_schema)) };
        let mut rows = self.from.engine()?.stream(
            &format!("SELECT * FROM {schema}{}", ident(table)),
            &Parameters::default(),
            None,
        )?;
        let places: Vec<String> = (1..=rows.names().len()).map(|number| format!("${number}")).collect();
        let names: Vec<String> = rows.names().iter().map(|name| ident(name)).collect();
        let insert = self.to.engine()?.prepare(&format!(
            "INSERT INTO {} ({}) VALUES ({})",
            ident(table),
            names.join(", "),
            places.join(", ")
        ))?;
        const MANY: usize = 10_000;
        loop {
            let mut sets = Vec::new();
            while sets.len() < MANY {
                let Some(row) = rows.next_row(None)? else { break };
                sets.push(Parameters { positional: row.values().to_vec(), named: Vec::new() });
            }
            if sets.is_empty() {
                return Ok(());
            }
            insert.execute_many(&sets, None)?;
        }
    }

    /// Makes indexes and views, which need their tables.
    fn finish(&self) -> Outcome<()> {
        for (list, name, kind) in
            [("inlay_indexes", "index_name", "INDEX"), ("inlay_views", "view_name", "VIEW")]
        {
            let internal = if kind == "VIEW" { "AND NOT internal" } else { "" };
            let sql = format!(
                "SELECT {name}, sql, comment FROM {list}() WHERE database_name = current_database() {internal}"
            );
            for row in self.from.rows(&sql, Vec::new())? {
                self.to.run(&text(&row[1]))?;
                if let Value::Varchar(comment) = &row[2]
                    && comment.starts_with(MARK)
                {
                    self.to.run(&format!(
                        "COMMENT ON {kind} {} IS {}",
                        ident(&text(&row[0])),
                        literal(comment)
                    ))?;
                }
            }
        }
        self.to.schema_changed()
    }
}

fn begin(to: &Arc<Db>, from: &Arc<Db>, from_schema: &str) -> Outcome<*mut sqlite3_backup> {
    if Arc::ptr_eq(to, from) {
        return Err(failed(ERROR, "source and destination must be distinct"));
    }
    let known = match from_schema {
        "main" | "temp" => true,
        other => !from
            .rows("SELECT 1 FROM inlay_databases() WHERE database_name = $1", vec![other.into()])?
            .is_empty(),
    };
    if !known {
        return Err(failed(ERROR, format!("unknown database {from_schema}")));
    }
    if !to.is_autocommit() {
        return Err(failed(ERROR, "destination database is in use"));
    }
    let mut backup = sqlite3_backup {
        to: Arc::clone(to),
        from: Arc::clone(from),
        from_schema: from_schema.to_string(),
        left: Vec::new(),
        pages: 0,
        begun: false,
        is_done: false,
        has_failed: false,
        outcome: OK,
    };
    backup.plan()?;
    Ok(handle(backup))
}

type B = *mut sqlite3_backup;

export! {
    /// Begins to copy a database.
    fn sqlite3_backup_init(to: Handle<'_, sqlite3>, _to_schema: *const c_char, from: Handle<'_, sqlite3>, from_schema: *const c_char) -> B [std::ptr::null_mut()] {
        let (Some(to), Some(from)) = (of(to), of(from)) else { return std::ptr::null_mut() };
        let schema = text_of(from_schema).unwrap_or_else(|| "main".to_string());
        let mut made = std::ptr::null_mut();
        to.checked(|| {
            made = begin(to, from, &schema)?;
            Ok(())
        });
        made
    }

    /// Copies so many pages; all that are left if the number is negative.
    fn sqlite3_backup_step(backup: B, pages: c_int) -> c_int [ERROR] {
        let Some(backup) = behind_mut(backup) else { return MISUSE };
        let to = Arc::clone(&backup.to);
        let code = to.guard(|| backup.step(pages));
        backup.outcome = if code == DONE { OK } else { code };
        code
    }

    /// Ends a copy. Gives how it went.
    fn sqlite3_backup_finish(backup: B) -> c_int [ERROR] {
        let code = behind_mut(backup).map_or(OK, |backup| backup.outcome);
        release(backup);
        code
    }

    /// Pages that are left.
    fn sqlite3_backup_remaining(backup: Handle<'_, sqlite3_backup>) -> c_int [0] {
        backup.map_or(0, |backup| backup.left.len() as c_int)
    }

    /// Pages in all.
    fn sqlite3_backup_pagecount(backup: Handle<'_, sqlite3_backup>) -> c_int [0] {
        backup.map_or(0, |backup| backup.pages as c_int)
    }
}

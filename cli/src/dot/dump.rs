//! `.dump`: the database as SQL, rows as INSERT statements; all in one transaction.

use crate::interrupt;
use crate::session::{Done, Session, said};
use inlay::{DumpTable, QueryResult};

pub fn run(session: &mut Session, words: &[String]) -> Done {
    let dump = session.connection.dump(None)?;
    if words.is_empty() {
        session.print("BEGIN TRANSACTION;")?;
        print_lines(session, &dump.schema)?;
        for table in &dump.tables {
            rows(session, table)?;
        }
        print_lines(session, &dump.rest)?;
        return session.print("COMMIT;");
    }
    let names = words.iter().map(|word| inlay::sql::table_parts(word)).collect::<inlay::Result<Vec<_>>>()?;
    let is_named = |table: &DumpTable, name: &[String]| match name {
        [own] => table.path.1.eq_ignore_ascii_case(own),
        [schema, own] => table.path.1.eq_ignore_ascii_case(own) && table.path.0.eq_ignore_ascii_case(schema),
        _ => false,
    };
    let is_meant = |table: &&DumpTable| names.iter().any(|name| is_named(table, name));
    let tables: Vec<&DumpTable> = dump.tables.iter().filter(is_meant).collect();
    let is_missing = |name: &[String]| !dump.tables.iter().any(|table| is_named(table, name));
    if let Some((word, _)) = words.iter().zip(&names).find(|(_, name)| is_missing(name)) {
        let known = dump.tables.iter().map(|table| table.path.1.as_str());
        let near = inlay::near_names(word, known);
        let hint = near.first().map_or(String::new(), |near| format!("; did you mean {near}?"));
        return said(format!("table \"{word}\" does not exist{hint}"));
    }
    session.print("BEGIN TRANSACTION;")?;
    for table in tables {
        let sql = format!(
            "SELECT sql FROM inlay_tables() WHERE schema_name = {} AND table_name = {} AND database_name = current_database()",
            inlay::sql::literal(&table.path.0),
            inlay::sql::literal(&table.path.1)
        );
        for row in session.texts(&sql)? {
            session.print(&row.concat())?;
        }
        rows(session, table)?;
    }
    session.print("COMMIT;")
}

fn print_lines(session: &mut Session, text: &str) -> Done {
    let text = text.trim_end();
    if text.is_empty() { Ok(()) } else { session.print(text) }
}

fn rows(session: &mut Session, table: &DumpTable) -> Done {
    if table.columns.is_empty() {
        return Ok(());
    }
    let columns = table.columns.join(", ");
    let result: QueryResult = session.query(&format!("SELECT {columns} FROM {}", table.name))?;
    let overriding = if table.overrides { " OVERRIDING SYSTEM VALUE" } else { "" };
    let head = format!("INSERT INTO {} ({columns}){overriding} VALUES (", table.name);
    let pressed = interrupt::count();
    session.output.write(|out| {
        let mut line = String::new();
        inlay::render::each_row(&result, 0..result.row_count(), |batch, row| {
            line.clear();
            line.push_str(&head);
            for index in 0..table.columns.len() {
                line.push_str(if index == 0 { "" } else { ", " });
                batch.column(index).get(row).write_sql_untyped(&mut line);
            }
            line.push_str(");\n");
            out.write_all(line.as_bytes())
        })
    })?;
    if Session::was_stopped(pressed) { said("interrupted") } else { Ok(()) }
}

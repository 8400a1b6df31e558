//! INSERT statements.

use super::Answer;
use crate::settings::Settings;
use inlay::sql::short_ident;
use std::io::{self, Write};

pub fn write(out: &mut dyn Write, answer: &Answer<'_>, settings: &Settings) -> io::Result<()> {
    let head = insert_head(&short_ident(&settings.insert_table), settings.headers.then(|| answer.names()));
    let mut line = String::new();
    answer.each_row(|batch, row| {
        line.clear();
        line.push_str(&head);
        for index in 0..answer.types().len() {
            line.push_str(if index == 0 { "" } else { "," });
            batch.column(index).get(row).write_sql_untyped(&mut line);
        }
        line.push_str(");\n");
        out.write_all(line.as_bytes())
    })
}

/// `INSERT INTO t(a,b) VALUES(`, `t` being SQL already.
fn insert_head(table: &str, columns: Option<&[String]>) -> String {
    let columns = columns.map_or_else(String::new, |names| {
        let names: Vec<String> = names.iter().map(|name| short_ident(name)).collect();
        format!("({})", names.join(","))
    });
    format!("INSERT INTO {table}{columns} VALUES(")
}

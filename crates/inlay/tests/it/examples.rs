//! Runs the example of everything that can be called: what the manual says is what SQL answers.

use inlay::manual;
use inlay::{Connection, Database};

fn answer(connection: &Connection, sql: &str) -> String {
    match connection.execute(&format!("SELECT {sql}")) {
        Err(error) => format!("error: {error}"),
        Ok(result) => {
            let rows = (0..result.row_count()).map(|row| result.value(row, 0).unwrap().to_string());
            rows.collect::<Vec<_>>().join(", ")
        }
    }
}

#[test]
fn every_example_gives_what_it_says() {
    let connection = Database::open_in_memory().unwrap().connect();
    connection.execute("CREATE SEQUENCE a_sequence").unwrap();
    let (mut names, mut overloads, mut examples) = (0, 0, 0);
    let mut wrong = Vec::new();
    for entry in manual::all() {
        names += 1 + entry.aliases.len();
        overloads += entry.signatures.len().max(1) * (1 + entry.aliases.len());
        if entry.description.is_empty() || entry.signatures.is_empty() {
            wrong.push(format!("{}: not described", entry.name));
        }
        if entry.example.call.is_empty() {
            if entry.name != "merge_action" {
                wrong.push(format!("{}: no example", entry.name));
            }
            continue;
        }
        examples += 1;
        let found = answer(&connection, entry.example.call);
        let expected = entry.example.result.map(|result| answer(&connection, result));
        let fits = expected.as_ref().map_or(!found.starts_with("error"), |expected| *expected == found);
        if !fits {
            let expected = expected.unwrap_or_default();
            wrong.push(format!("{}: {} gives {found}, not {expected}", entry.name, entry.example.call));
        }
    }
    println!("{names} names, {overloads} overloads, {examples} examples");
    assert!(wrong.is_empty(), "{} examples are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

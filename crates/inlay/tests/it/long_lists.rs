//! Lists of literals that are too long for a file of tests: tens of thousands behind IN and in brackets.

use inlay::{Connection, Database, Result, Value};

const COUNT: i64 = 20_000;

fn answer(connection: &Connection, sql: &str) -> String {
    let row = connection.execute(sql).and_then(|result| {
        let values = (0..result.names().len()).map(|column| result.value(0, column));
        values.collect::<Result<Vec<Value>>>()
    });
    match row {
        Ok(row) => row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        Err(error) => error.to_string(),
    }
}

fn list(item: impl Fn(i64) -> String) -> String {
    (0..COUNT).map(item).collect::<Vec<_>>().join(", ")
}

fn table() -> Result<Connection> {
    let connection = Database::open_in_memory()?.connect();
    connection.execute(
        "CREATE TABLE t AS SELECT i, 'value ' || i AS v, i % 1000 AS m, i / 2 AS d, (i / 4)::DECIMAL(12, 2) AS c,
            DATE '2000-01-01' + (i % 50000)::INTEGER AS day FROM range(300000) t(i) UNION ALL
            SELECT NULL, NULL, NULL, NULL, NULL, NULL",
    )?;
    Ok(connection)
}

#[test]
fn many_constants_behind_in() -> Result<()> {
    let connection = table()?;
    let even = list(|i| (i * 2).to_string());
    let texts = list(|i| format!("'value {}'", i * 20));
    let halves = list(|i| format!("{i}.5"));
    let days = list(|i| format!("'{:04}-01-01'", i % 9_000 + 1));
    let asked = [
        ("i", &even, "20000 399980000"),
        ("v", &texts, "15000 2249850000"),
        ("m", &even, "150000 22499850000"),
        ("d", &halves, "20000 400000000"),
        ("day", &days, ""),
    ];
    for (column, list, expected) in asked {
        let count = |condition: String| {
            answer(&connection, &format!("SELECT count(*), sum(i)::BIGINT FROM t WHERE {condition}"))
        };
        // The same by a join, which knows nothing of lists.
        let ty = answer(&connection, &format!("SELECT any_value(typeof({column})) FROM t"));
        let by_join = count(format!("{column} IN (SELECT unnest([{list}]::{ty}[]))"));
        let by_list = count(format!("{column} IN ({list})"));
        assert_eq!(by_list, by_join, "{column}");
        if !expected.is_empty() {
            assert_eq!(by_list, expected, "{column}");
        }
        assert_eq!(count(format!("{column} IN ({list}, NULL)")), by_list, "{column} with NULL");
        assert_eq!(count(format!("{column} NOT IN ({list}, NULL)")), "0 NULL", "{column}");
        let others = count(format!("{column} NOT IN ({list})"));
        let all = format!("{column} IN ({list}) OR {column} NOT IN ({list})");
        assert_eq!(count(all), "300000 44999850000", "{column}");
        let number = |text: &str| text.split(' ').next().and_then(|count| count.parse::<i64>().ok());
        assert_eq!(number(&others).zip(number(&by_list)).map(|(a, b)| a + b), Some(300_000), "{column}");
    }
    Ok(())
}

#[test]
fn many_constants_in_brackets() -> Result<()> {
    let connection = table()?;
    let numbers = list(|i| i.to_string());
    let texts = list(|i| format!("'{i}'"));
    let mixed = list(|i| if i % 100 == 7 { "NULL".into() } else { format!("{i}.5") });
    assert_eq!(
        answer(&connection, &format!("SELECT len([{numbers}]), list_sum([{numbers}]), [{numbers}][20000]")),
        "20000 199990000 19999"
    );
    assert_eq!(
        answer(&connection, &format!("SELECT len([{texts}]), [{texts}][77], [{texts}, NULL][-1]")),
        "20000 76 NULL"
    );
    let sum = format!("SELECT count(x), sum(x), typeof(any_value(x)) FROM unnest([{mixed}]) u(x)");
    assert_eq!(answer(&connection, &sum), "19800 198008500.0 DECIMAL(6,1)");
    let wrong = answer(&connection, &format!("SELECT [{numbers}, 'no number']"));
    assert!(wrong.contains("no number"), "{wrong}");
    Ok(())
}

#[test]
fn what_is_explained_is_short() -> Result<()> {
    let connection = table()?;
    let texts = list(|i| format!("'value {i}'"));
    let result = connection.execute(&format!("EXPLAIN SELECT * FROM t WHERE v IN ({texts})"))?;
    let rows = (0..result.row_count()).map(|row| result.value(row, result.names().len() - 1));
    let plan: String = rows.map(|value| value.map_or_else(|e| e.to_string(), |v| v.to_string())).collect();
    assert!(plan.contains("... 19968 more") && plan.len() < 5_000, "{plan}");
    Ok(())
}

//! What bindings build on: errors in parts, names and values as SQL, cursors, appenders, transactions, sessions, statements described.

use inlay::types::LogicalType;
use inlay::{
    Chunk, Command, Connection, Database, Error, ErrorKind, Host, Parameters, Parts, Tables, Value, params,
    sql,
};
use std::sync::Arc;
use std::time::Duration;

fn connection() -> Connection {
    Database::open_in_memory().unwrap().connect()
}

fn one(connection: &Connection, sql: &str) -> Value {
    connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).value(0, 0).unwrap()
}

#[test]
fn errors_are_told_in_parts() {
    let connection = connection();
    let error = connection.execute("SELECT 1;\nSELECT ä, nothing FROM (SELECT 1 AS ä)").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UndefinedColumn);
    let place = error.place().unwrap();
    assert_eq!((place.line, place.column, place.offset), (2, 11, Some(21)));
    assert_eq!(error.message(), "column \"nothing\" does not exist");
    assert_eq!(error.hint().as_deref(), Some("there is \"ä\""));

    // What a user says is no hint, whatever it looks like.
    let error = connection.execute("SELECT error('one; two')").unwrap_err();
    assert_eq!((error.message().as_str(), error.hint()), ("one; two", None));

    connection.execute("CREATE TABLE t (a VARCHAR); INSERT INTO t VALUES ('1'), ('x; y')").unwrap();
    let error = connection.execute("SELECT a::INTEGER FROM t").unwrap_err();
    assert_eq!(error.hint().as_deref(), Some("TRY_CAST gives NULL instead"));
    assert_eq!(error.detail().as_deref(), Some("in the row with a = 'x; y'"));
    assert_eq!(error.message(), "could not convert 'x; y' to INTEGER");
}

#[test]
fn values_as_sql_are_the_same_values_of_the_same_types() {
    let connection = connection();
    let expressions = [
        "NULL",
        "true",
        "7",
        "-7",
        "7::TINYINT",
        "-7::BIGINT",
        "9000000000",
        "7::HUGEINT",
        "170141183460469231731687303715884105727",
        "7::UTINYINT",
        "1.5::FLOAT",
        "'nan'::DOUBLE",
        "'-0.0'::DOUBLE",
        "1e300",
        "-1.50",
        "0.00000000000000000000000000000000000001",
        "'it''s; -- \n'",
        "'a''b\\x00'::BLOB",
        "DATE '0044-03-15 (BC)'",
        "TIME '23:59:59.5'",
        "TIMESTAMP 'infinity'",
        "TIMESTAMP_NS '2024-02-29 12:00:00.123456789'",
        "TIMESTAMPTZ '2024-02-29 12:00:00+02'",
        "TIMETZ '12:00:00+02:30'",
        "INTERVAL '14 months -3 days'",
        "'00000000-0000-0000-0000-000000000001'::UUID",
        "'10101'::BIT",
        "'{\"a\": [1]}'::JSON",
        "'b'::ENUM('a', 'b''c', 'b')",
        "[1, NULL, 3]",
        "[]::INTEGER[]",
        "[[1], NULL, []]",
        "[1, 2]::INTEGER[2]",
        "{'a b': 1, 'c': NULL::VARCHAR}",
        "row(1, 'x')",
        "MAP {'k': [1.5]}",
        "MAP {}::MAP(VARCHAR, DATE)",
        "union_value(\"x y\" := 5)::UNION(n VARCHAR, \"x y\" INTEGER)",
    ];
    for expression in expressions {
        let answer = connection.execute(&format!("SELECT {expression}")).unwrap();
        let (value, ty) = (answer.value(0, 0).unwrap(), answer.types()[0].clone());
        let text = value.to_sql();
        let again = connection.execute(&format!("SELECT {text}"));
        let again = again.unwrap_or_else(|error| panic!("{expression} as {text}: {error}"));
        assert_eq!(again.types()[0], ty, "{expression} as {text}");
        // NaN is not itself.
        assert_eq!(again.value(0, 0).unwrap().to_string(), value.to_string(), "{expression} as {text}");
    }
}

#[test]
fn names_are_names_whatever_they_hold() {
    let connection = connection();
    connection.execute("CREATE TABLE victim (a INTEGER)").unwrap();
    let evil = ["t\" VALUES (1); DROP TABLE victim; --", "a.b", "we\"ird", "'; --", "SELECT", "", "a\0b"];
    for name in evil.into_iter().filter(|name| !name.is_empty()) {
        connection.execute(&format!("CREATE TABLE {} (x INTEGER)", sql::ident(name))).unwrap();
        let mut appender = connection.appender(["main", name], None).unwrap();
        appender.push_row(&[1.into()], None).unwrap();
        assert_eq!(appender.close(None).unwrap(), 1, "{name}");
        let parts = sql::name_of(&sql::path(["main", name])).unwrap();
        assert_eq!(parts, ["main", name]);
    }
    for text in
        ["\"t\" VALUES (1); DROP TABLE victim", "\"t", "\"t\" x", "\"t\".", "m.\"t\"; DROP TABLE victim --"]
    {
        assert_eq!(sql::table_path(text).unwrap_err().kind(), ErrorKind::Syntax, "{text}");
    }
    assert_eq!(sql::table_path("t\"; DROP TABLE victim").unwrap(), "\"t\"\"; DROP TABLE victim\"");
    assert_eq!(one(&connection, "SELECT count(*) FROM victim"), Value::BigInt(0));
}

#[test]
fn appenders_take_rows_values_and_columns_and_fail_as_a_whole() {
    let connection = connection();
    connection.execute("CREATE TABLE t (a BIGINT PRIMARY KEY, b VARCHAR DEFAULT 'd')").unwrap();
    let mut appender = connection.appender(["t"], None).unwrap();
    appender.push_row(&[1.into(), "x".into()], None).unwrap();
    appender.push(2.into()).unwrap();
    assert!(appender.push_row(&[3.into(), Value::Null], None).is_err(), "a row is not complete");
    appender.push(Value::Null).unwrap();
    assert!(appender.push(4.into()).is_err());
    appender.end_row(None).unwrap();
    let columns = [
        inlay::vector_of_values(vec![5.into(), 6.into()]).unwrap(),
        inlay::vector_of_values(vec!["y".into(), "z".into()]).unwrap(),
    ];
    appender.push_columns(&columns, None).unwrap();
    let error = appender.push_row(&["seven".into(), Value::Null], None).unwrap_err();
    assert_eq!(error.detail().as_deref(), Some("in the row with a = seven"));
    assert_eq!((appender.pending_rows(), appender.appended_rows()), (4, 0));
    appender.flush(None).unwrap();
    assert_eq!(appender.appended_rows(), 4);
    appender.push_row(&[7.into(), Value::Null], None).unwrap();
    appender.push_row(&[1.into(), Value::Null], None).unwrap();
    assert_eq!(appender.flush(None).unwrap_err().kind(), ErrorKind::Unique);
    assert_eq!(appender.pending_rows(), 0);
    let mut some = connection.appender(["t"], Some(&["a"])).unwrap();
    some.push_row(&[8.into()], None).unwrap();
    some.close(None).unwrap();
    let rows = connection.execute("SELECT a, b FROM t ORDER BY a").unwrap();
    let shown: Vec<String> = rows.rows().map(|row| format!("{:?}", row.unwrap().values())).collect();
    assert_eq!(shown.len(), 5);
    assert!(shown[4].contains("\"d\""), "{shown:?}");
}

#[test]
fn memory_of_an_appender_is_counted() {
    let settings =
        [("memory_limit".to_string(), Value::from("64MB")), ("threads".to_string(), Value::from(1))];
    let connection = Database::open(":memory:", &settings).unwrap().connect();
    connection.execute("CREATE TABLE t (a VARCHAR)").unwrap();
    let mut appender = connection.appender(["t"], None).unwrap();
    let text = Value::Varchar("x".repeat(10_000));
    let pushed = (0..100_000).try_for_each(|_| appender.push_row(std::slice::from_ref(&text), None));
    assert_eq!(pushed.unwrap_err().kind(), ErrorKind::OutOfMemory);
    appender.clear();
    appender.push_row(&["x".into()], None).unwrap();
    assert_eq!(appender.close(None).unwrap(), 1);
}

#[test]
fn cursors_read_what_is_there_and_what_is_computed_later() {
    let connection = connection();
    let sql = "SELECT range AS n, 'text ' || range AS s FROM range(4000000)";
    let mut cursor = connection.stream(sql, &Parameters::default(), None).unwrap();
    assert_eq!((cursor.row_count(), cursor.is_complete()), (None, false));
    let row = cursor.next_row(None).unwrap().unwrap();
    assert_eq!((row.get::<i64>(0).unwrap(), row.get::<String>(1).unwrap()), (0, "text 0".to_string()));
    let mut seen = 1;
    for _ in 0..10 {
        seen += cursor.next_batch(None).unwrap().unwrap().len();
    }
    // The session goes on meanwhile, and the cursor keeps it.
    connection.execute("CREATE TABLE t (a INTEGER)").unwrap();
    drop(connection);
    let rest = cursor.take_rest().into_result(None).unwrap();
    assert_eq!(seen + rest.row_count(), 4_000_000);
    assert_eq!(rest.value(0, 0).unwrap(), Value::BigInt(seen as i64));
    assert!(cursor.next_batch(None).unwrap().is_none());
}

#[test]
fn chunks_show_values_where_they_lie() {
    let connection = connection();
    let sql = "SELECT * FROM (VALUES \
               (1::SMALLINT, 1.5::DOUBLE, 'short', [1, 2], {'f': 'x'}, MAP {'k': 7}, true, DATE '2024-02-29'), \
               (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), \
               (-2::SMALLINT, 2.5::DOUBLE, 'a text that is long', [], {'f': NULL}, MAP {}, false, DATE '1970-01-01')) t";
    let mut cursor = connection.stream(sql, &Parameters::default(), None).unwrap();
    let batch = cursor.next_batch(None).unwrap().unwrap();
    let chunk = Chunk::new(&batch);
    assert_eq!((chunk.len(), chunk.column_count()), (3, 8));
    let column = |index: usize| chunk.column(index).unwrap();
    assert_eq!((column(0).width(), column(0).data().len()), (2, 6));
    assert_eq!(column(0).validity().map(|words| words[0] & 7), Some(0b101));
    assert_eq!((column(0).integer(0), column(0).integer(1), column(0).integer(2)), (Some(1), None, Some(-2)));
    assert_eq!(f64::from_le_bytes(column(1).data()[16..24].try_into().unwrap()), 2.5);
    let texts: Vec<_> = (0..4).map(|row| column(2).bytes(row)).collect();
    assert_eq!(texts, [Some(&b"short"[..]), None, Some(&b"a text that is long"[..]), None]);
    let Some(Parts::List(offsets, elements)) = column(3).parts().unwrap() else { panic!("no list") };
    assert_eq!((offsets, elements.column(0).unwrap().integer(1)), (vec![0, 2, 2, 2], Some(2)));
    let Some(Parts::Struct(fields)) = column(4).parts().unwrap() else { panic!("no struct") };
    assert_eq!(fields.column(0).unwrap().bytes(0), Some(&b"x"[..]));
    let Some(Parts::Map(offsets, pairs)) = column(5).parts().unwrap() else { panic!("no map") };
    assert_eq!((offsets, pairs.column(0).unwrap().bytes(0)), (vec![0, 1, 1, 1], Some(&b"k"[..])));
    assert!(column(0).parts().unwrap().is_none() && chunk.column(8).is_err());
    assert_eq!(column(7).value(0).day().map(|day| (day.year, day.month, day.day)), Some((2024, 2, 29)));
    assert!(column(3).bytes(0).is_none() && column(0).bytes(0).is_none());
}

#[test]
fn each_statement_of_a_text_has_an_answer() {
    let connection = connection();
    let text = "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (?), (?); UPDATE t SET a = a + 1; \
                FROM nowhere; DELETE FROM t WHERE a > 2";
    let mut script = connection.script(text).unwrap();
    assert_eq!(script.len(), 5);
    let (mut tags, mut failures) = (Vec::new(), 0);
    while let Some((_, command)) = script.peek() {
        let values = params![1, 2];
        match script.next(&values, None) {
            Ok(Some(answer)) => tags.push(answer.header().command_tag()),
            Ok(None) => break,
            Err(error) => {
                assert_eq!((command, error.kind()), (Command::Select, ErrorKind::UndefinedTable));
                failures += 1;
            }
        }
    }
    assert_eq!(tags, ["CREATE TABLE", "INSERT 0 2", "UPDATE 2", "DELETE 1"]);
    assert!(failures == 1 && script.next(&Parameters::default(), None).unwrap().is_none());
    assert_eq!(connection.execute("").unwrap().command(), Command::Empty);
    connection.execute("PREPARE p AS DELETE FROM t").unwrap();
    assert_eq!(connection.execute("EXECUTE p").unwrap().command_tag(), "DELETE 1");
}

#[test]
fn prepared_statements_tell_what_they_take_and_give() {
    let connection = connection();
    connection.execute("CREATE TABLE t (id BIGINT, name VARCHAR, at TIMESTAMP)").unwrap();
    let types = |sql: &str| {
        let shape = connection.prepare(sql).unwrap().describe(None);
        let shape = shape.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let of = |ty: &Option<LogicalType>| ty.as_ref().map_or("?".to_string(), ToString::to_string);
        shape.parameters.iter().map(|parameter| of(&parameter.ty)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(types("SELECT * FROM t WHERE id = ? AND name LIKE ? AND at > ?"), "BIGINT VARCHAR TIMESTAMP");
    assert_eq!(types("INSERT INTO t VALUES (?, ?, ?)"), "BIGINT VARCHAR TIMESTAMP");
    assert_eq!(types("INSERT INTO t (name) VALUES (?), (?)"), "VARCHAR VARCHAR");
    assert_eq!(types("UPDATE t SET name = $n WHERE id IN ($a, $b)"), "VARCHAR BIGINT BIGINT");
    assert_eq!(types("DELETE FROM t WHERE id BETWEEN ? AND ?"), "BIGINT BIGINT");
    assert_eq!(types("SELECT ?::DATE, upper(?)"), "DATE VARCHAR");
    assert_eq!(types("SELECT ?"), "?");
    assert_eq!(types("SELECT name FROM t WHERE id = ? LIMIT ?").split(' ').next(), Some("BIGINT"));
    let shape = connection.prepare("INSERT INTO t (id) VALUES (?) RETURNING id, name").unwrap();
    let shape = shape.describe(None).unwrap();
    let returned = [("id".to_string(), LogicalType::BigInt), ("name".to_string(), LogicalType::Varchar)];
    assert_eq!((shape.command, shape.columns.as_deref()), (Command::Insert, Some(&returned[..])));
    assert_eq!(connection.prepare("DELETE FROM t").unwrap().describe(None).unwrap().columns, None);
    assert_eq!(one(&connection, "SELECT count(*) FROM t"), Value::BigInt(0), "describing runs nothing");
    let missing = connection.prepare("FROM nowhere WHERE a = ?").unwrap().describe(None).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::UndefinedTable);
}

#[test]
fn transactions_without_sql_are_one_step() {
    let connection = connection();
    assert!(!connection.commit().unwrap() && !connection.rollback().unwrap());
    connection.begin().unwrap();
    assert_eq!(connection.begin().unwrap_err().kind(), ErrorKind::TransactionState);
    connection.execute("CREATE TABLE t (a INTEGER)").unwrap();
    assert!(connection.commit().unwrap() && !connection.in_transaction());
    {
        let _dropped = connection.transaction().unwrap();
        connection.execute("INSERT INTO t VALUES (1)").unwrap();
    }
    let block = connection.transaction().unwrap();
    connection.execute("INSERT INTO t VALUES (2)").unwrap();
    connection.rollback().unwrap();
    block.commit().unwrap();
    assert_eq!(one(&connection, "SELECT count(*) FROM t"), Value::BigInt(0));
    connection.close().unwrap();
    assert_eq!(connection.begin().unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn without_autocommit_the_first_statement_begins_a_transaction() {
    let connection = connection();
    connection.set_autocommit(false).unwrap();
    connection.execute("SET integer_division = true").unwrap();
    assert!(!connection.in_transaction());
    connection.execute("CREATE TABLE t (a INTEGER)").unwrap();
    connection.execute_many("INSERT INTO t VALUES (?)", &[params![1], params![2]], None).unwrap();
    assert!(connection.in_transaction());
    connection.commit().unwrap();
    connection.execute("DELETE FROM t").unwrap();
    connection.set_autocommit(true).unwrap();
    assert!(!connection.in_transaction() && connection.autocommit().unwrap());
    assert_eq!(one(&connection, "SELECT count(*) FROM t"), Value::BigInt(0));
    connection.set_autocommit(false).unwrap();
    connection.execute("BEGIN").unwrap();
    connection.execute("ROLLBACK").unwrap();
    assert!(!connection.in_transaction());
    connection.prepare("SELECT 1").unwrap().execute(&Parameters::default()).unwrap();
    assert!(connection.in_transaction());
}

#[test]
fn sessions_are_listed_and_ended_by_their_numbers() {
    let database = Database::open_in_memory().unwrap();
    let (one, other) = (database.connect(), database.connect());
    let sql = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = 7";
    let pending = other.start(sql, Parameters::default(), None).unwrap();
    let runs = || database.sessions().into_iter().find(|session| session.id == other.id());
    while runs().and_then(|session| session.statement).is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(runs().and_then(|session| session.statement).as_deref(), Some(sql));
    assert!(runs().is_some_and(|session| session.running_for.is_some()));
    assert!(database.interrupt(other.id()));
    assert_eq!(pending.finish().unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(runs().and_then(|session| session.statement), None);
    drop(other);
    assert_eq!(database.sessions().len(), 1);
    assert!(!database.interrupt(one.id() + 100));
}

#[test]
fn a_started_statement_is_waited_for_or_stopped() {
    let connection = connection();
    let pending = connection.start("SELECT 42", Parameters::default(), None).unwrap();
    assert!(pending.wait(Duration::from_secs(60)) && pending.is_ready());
    let row = pending.finish().unwrap().next_row(None).unwrap().unwrap();
    assert_eq!(row.get::<i32>(0).unwrap(), 42);
    let sql = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = 7";
    let pending = connection.start(sql, Parameters::default(), None).unwrap();
    pending.interrupt();
    assert_eq!(pending.finish().unwrap_err().kind(), ErrorKind::Interrupted);
    let failed = connection.start("SELEC", Parameters::default(), None).unwrap();
    assert_eq!(failed.finish().unwrap_err().kind(), ErrorKind::Syntax);
    assert_eq!(one(&connection, "SELECT 1"), Value::Integer(1));
}

#[test]
fn tables_come_with_statements() {
    let connection = connection();
    connection.execute("CREATE TABLE rows_ (a INTEGER)").unwrap();
    let column = inlay::vector_of_values(vec![1.into(), Value::Null, 3.into()]).unwrap();
    let source = inlay::ColumnSource::new("rows", vec![("a".to_string(), column)]).unwrap();
    let host: Arc<dyn Host> = Arc::new(Tables::one("rows_", Arc::new(source)));
    let answer = connection.execute_with("SELECT sum(a) FROM ROWS_", &Parameters::default(), Some(&host));
    assert_eq!(answer.unwrap().value(0, 0).unwrap().to_string(), "4");
    assert_eq!(one(&connection, "SELECT count(*) FROM rows_"), Value::BigInt(0));
}

#[test]
fn a_database_in_memory_is_not_opened_to_read_only() {
    let settings = [("access_mode".to_string(), Value::from("read_only"))];
    let error = Database::open(":memory:", &settings).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
}

#[test]
fn reading_statements_change_nothing_for_kept_plans_and_functions() {
    let connection = connection();
    connection.execute("CREATE TABLE t (a INTEGER)").unwrap();
    let runs = |sql: &str| {
        let before = connection.kept_runs();
        for _ in 0..3 {
            connection.execute("SELECT a FROM t WHERE a = 1").unwrap();
            connection.execute(sql).unwrap();
        }
        connection.kept_runs() - before
    };
    runs("SELECT 1");
    let all = runs("SELECT 1");
    for sql in ["SHOW TABLES", "SHOW DATABASES", "SHOW ALL TABLES", "DESCRIBE t", "SUMMARIZE t"] {
        assert!(runs(sql) >= all / 2, "{sql} forgets plans");
    }
}

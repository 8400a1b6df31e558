use super::*;
use inlay::{Database, Value};

fn literal(value: &Value) -> String {
    let mut text = String::new();
    value.write_sql_untyped(&mut text);
    text
}

fn shown(mode: Mode, sql: &str) -> String {
    shown_with(mode, sql, |_| {})
}

fn shown_with(mode: Mode, sql: &str, change: impl Fn(&mut Settings)) -> String {
    let result = Database::open_in_memory().unwrap().connect().execute(sql).unwrap();
    let mut settings = Settings::new(false);
    settings.set_mode(mode);
    change(&mut settings);
    let mut out = Vec::new();
    let screen = Screen { width: None, is_coloured: false, shows_all: false };
    write_result(&mut out, &Answer::whole(&result), &settings, screen).unwrap();
    String::from_utf8(out).unwrap()
}

/// Numbers, NULL, blanks, quotes, an empty string, and a line break; answers of SQLite's shell.
const SAMPLE: &str =
    "SELECT * FROM (VALUES (1, 'x', 1.5::DOUBLE), (2, NULL, NULL), (3, 'a b', 0.25), (4, 'q\"uo,te', 1),
    (5, '', 1), (6, 'ü<&>''', 1), (7, e'l1\\nl2', 1)) t(a, b, c) ORDER BY a";

#[test]
fn csv_is_that_of_sqlite() {
    let expected = "a,b,c\n1,x,1.5\n2,,\n3,\"a b\",0.25\n4,\"q\"\"uo,te\",1.0\n5,\"\",1.0\n6,\"ü<&>'\",1.0\n7,\"l1\nl2\",1.0\n";
    assert_eq!(shown(Mode::Csv, SAMPLE), expected);
    let separated = shown_with(Mode::Csv, "SELECT 1 AS a, 'x;y' AS b, NULL AS c", |settings| {
        settings.separator = Some(";".to_string());
        settings.null = Some("-".to_string());
        settings.headers = false;
    });
    assert_eq!(separated, "1;\"x;y\";-\n");
}

#[test]
fn json_is_that_of_sqlite() {
    let expected = r#"[{"a":1,"b":"x","c":1.5},
{"a":2,"b":null,"c":null},
{"a":3,"b":"a b","c":0.25},
{"a":4,"b":"q\"uo,te","c":1.0},
{"a":5,"b":"","c":1.0},
{"a":6,"b":"ü<&>'","c":1.0},
{"a":7,"b":"l1\nl2","c":1.0}]
"#;
    assert_eq!(shown(Mode::Json, SAMPLE), expected);
    assert_eq!(shown(Mode::Json, "SELECT 1 AS a WHERE false"), "[]\n");
    let nested = "SELECT [1, NULL] AS l, {'k': 'v', 'd': DATE '2020-01-02'} AS s, MAP {'a': 1} AS m, true AS t, 'NaN'::DOUBLE AS n";
    let expected = "{\"l\":[1,null],\"s\":{\"k\":\"v\",\"d\":\"2020-01-02\"},\"m\":{\"a\":1},\"t\":true,\"n\":\"nan\"}\n";
    assert_eq!(shown(Mode::JsonLines, nested).to_lowercase(), expected);
}

#[test]
fn insert_statements_give_the_rows_back() {
    let shown = shown_with(Mode::Insert, SAMPLE, |settings| settings.insert_table = "t".to_string());
    assert!(
        shown.starts_with(
            "INSERT INTO t(a,b,c) VALUES(1,'x',1.5);\nINSERT INTO t(a,b,c) VALUES(2,NULL,NULL);\n"
        ),
        "{shown}"
    );
    let connection = Database::open_in_memory().unwrap().connect();
    connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE)").unwrap();
    connection.execute(&shown).unwrap();
    let again = connection.execute("SELECT * FROM t ORDER BY a").unwrap();
    let first = Database::open_in_memory().unwrap().connect().execute(SAMPLE).unwrap();
    for row in 0..7 {
        assert_eq!(
            (0..3).map(|c| again.value(row, c).unwrap()).collect::<Vec<_>>(),
            (0..3).map(|c| first.value(row, c).unwrap()).collect::<Vec<_>>()
        );
    }
    let unnamed = shown_with(Mode::Insert, "SELECT 1 AS \"select\", 2 AS \"A b\"", |_| {});
    assert_eq!(unnamed, "INSERT INTO \"table\"(\"select\",\"A b\") VALUES(1,2);\n");
}

#[test]
fn every_value_as_sql_is_itself() {
    let connection = Database::open_in_memory().unwrap().connect();
    let values = [
        "'\\xAB\\x00'::BLOB",
        "[1, 2]",
        "{'a': 1, 'b c': 'x''y'}",
        "MAP {'k': 2}",
        "1.50::DECIMAL(5, 2)",
        "'nan'::DOUBLE",
        "170141183460469231731687303715884105727",
    ];
    for value in values {
        let first = connection.execute(&format!("SELECT {value}")).unwrap().value(0, 0).unwrap();
        let again = connection.execute(&format!("SELECT {}", literal(&first))).unwrap().value(0, 0).unwrap();
        assert_eq!(first.to_string(), again.to_string());
    }
}

#[test]
fn html_is_that_of_sqlite() {
    let expected = "<TR><TH>a</TH>\n<TH>b</TH>\n</TR>\n<TR><TD>1</TD>\n<TD>ü&lt;&amp;&gt;&#39;&quot;</TD>\n</TR>\n<TR><TD>2</TD>\n<TD></TD>\n</TR>\n";
    assert_eq!(
        shown(Mode::Html, "SELECT * FROM (VALUES (1, 'ü<&>''\"'), (2, NULL)) t(a, b) ORDER BY a"),
        expected
    );
}

#[test]
fn lists_lines_quotes_and_the_rest() {
    let sql = "SELECT * FROM (VALUES (1, 'x'), (2, NULL)) t(a, b) ORDER BY a";
    assert_eq!(shown(Mode::List, sql), "a|b\n1|x\n2|\n");
    assert_eq!(shown(Mode::Tsv, sql), "a\tb\n1\tx\n2\t\n");
    assert_eq!(shown(Mode::Ascii, sql), "a\u{1f}b\u{1e}1\u{1f}x\u{1e}2\u{1f}\u{1e}");
    assert_eq!(shown(Mode::Quote, sql), "'a','b'\n1,'x'\n2,NULL\n");
    assert_eq!(shown(Mode::Line, sql), "    a = 1\n    b = x\n\n    a = 2\n    b = \n");
    assert_eq!(shown(Mode::Markdown, sql), "| a |  b   |\n|--:|------|\n| 1 | x    |\n| 2 | NULL |\n");
    assert_eq!(shown(Mode::Column, sql), "a  b\n-  ----\n1  x\n2  NULL\n");
    assert_eq!(
        shown(Mode::Table, sql),
        "+---+------+\n| a |  b   |\n+---+------+\n| 1 | x    |\n| 2 | NULL |\n+---+------+\n"
    );
    assert_eq!(
        shown(Mode::Box, sql),
        "┌───┬──────┐\n│ a │  b   │\n├───┼──────┤\n│ 1 │ x    │\n│ 2 │ NULL │\n└───┴──────┘\n"
    );
    assert_eq!(shown(Mode::Trash, sql), "");
    let latex =
        "\\begin{tabular}{|rl|}\n\\hline\na\\_b & t \\\\\n\\hline\n1 & 5\\% \\\\\n\\hline\n\\end{tabular}\n";
    assert_eq!(shown(Mode::Latex, "SELECT 1 AS a_b, '5%' AS t"), latex);
}

#[test]
fn duckbox_shortens_what_is_long() {
    let shown = shown_with(Mode::Duckbox, "SELECT * FROM range(1000) t(x) ORDER BY x", |settings| {
        settings.rows_max = 10
    });
    assert_eq!(shown.lines().count(), 4 + 10 + 3 + 2);
    assert!(shown.ends_with("1,000 rows (10 shown)\n"), "{shown}");
}

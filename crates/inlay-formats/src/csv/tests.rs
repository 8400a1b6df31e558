//! Small files against what they must read as, broken files, and random ones.

use super::*;
use inlay_types::{Interrupt, MemoryBudget};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

struct TempFile(PathBuf);

impl TempFile {
    fn new(bytes: &[u8]) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("inlay-csv-{}-{}.csv", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    fn path(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn scan(source: &dyn TableSource, columns: Vec<usize>) -> Result<Vec<Vec<String>>> {
    let request = ScanRequest {
        columns,
        filters: Vec::new(),
        any_of: Vec::new(),
        budget: MemoryBudget::unlimited(),
        interrupt: Interrupt::new(),
    };
    let scan = source.scan(request)?;
    let mut rows = Vec::new();
    while let Some(task) = scan.next_task()? {
        for batch in task {
            let batch = batch?;
            assert!(batch.len() <= inlay_types::VECTOR_SIZE && !batch.is_empty());
            rows.extend(
                (0..batch.len()).map(|r| batch.columns().iter().map(|c| c.get(r).to_string()).collect()),
            );
        }
    }
    Ok(rows)
}

fn reader() -> ReadCsv {
    ReadCsv::new("read_csv", &Arc::default(), &Arc::default())
}

fn read_bytes(bytes: &[u8], named: &[(&str, Value)]) -> Result<(String, Vec<Vec<String>>)> {
    let file = TempFile::new(bytes);
    let named: Vec<(String, Value)> = named.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    let source = reader().bind(&[Value::Varchar(file.path())], &named, &inlay_sql::parser::parse_type)?;
    let columns: Vec<String> = source.columns().iter().map(|c| format!("{} {}", c.name, c.ty)).collect();
    let rows = scan(&*source, (0..columns.len()).collect())?;
    Ok((columns.join(", "), rows))
}

/// Columns, then rows, as one text.
fn read_with(text: &str, named: &[(&str, Value)]) -> String {
    match read_bytes(text.as_bytes(), named) {
        Ok((columns, rows)) => {
            let rows: Vec<String> = rows.iter().map(|row| row.join("|")).collect();
            format!("{columns} -> {}", rows.join(" / "))
        }
        Err(error) => format!("error: {error}"),
    }
}

fn read(text: &str) -> String {
    read_with(text, &[])
}

fn text(value: &str) -> Value {
    Value::Varchar(value.to_string())
}

#[test]
fn files_read_as_duckdb_reads_them() {
    assert_eq!(read("a,b\n\"\",1\n,2\nx,3\n"), "a VARCHAR, b BIGINT -> NULL|1 / NULL|2 / x|3");
    assert_eq!(read("a,b\nx, 1\ny,2 \n"), "a VARCHAR, b BIGINT -> x|1 / y|2");
    assert_eq!(read("a,b\nx,t\ny,f\n"), "a VARCHAR, b BOOLEAN -> x|true / y|false");
    assert_eq!(read("a\n1\n\n2\n"), "a BIGINT -> 1 / NULL / 2");
    assert_eq!(read("a,b\n1,2\n\n3,4\n"), "a BIGINT, b BIGINT -> 1|2 / 3|4");
    assert_eq!(read("1,2\n3,4\n"), "column0 BIGINT, column1 BIGINT -> 1|2 / 3|4");
    assert_eq!(read("a,b\n"), "a VARCHAR, b VARCHAR -> ");
    assert_eq!(read(""), "column0 VARCHAR -> ");
    assert_eq!(read("a,b\n1,\"x \"\"q\"\" y\"\n3,\"m\nn\"\n"), "a BIGINT, b VARCHAR -> 1|x \"q\" y / 3|m\nn");
    assert_eq!(read("a;b\n1,5;2\n3,5;4\n"), "a VARCHAR, b BIGINT -> 1,5|2 / 3,5|4");
    assert_eq!(read("a,a,\n1,2,3\n"), "a BIGINT, a_1 BIGINT, column2 BIGINT -> 1|2|3");
    assert_eq!(read("a,b\n1,2024-01-02\n3,2024-01-03\n"), "a BIGINT, b DATE -> 1|2024-01-02 / 3|2024-01-03");
    assert_eq!(read("a\tb\n1\t10:11:12\n3\t01:02:03.5\n"), "a BIGINT, b TIME -> 1|10:11:12 / 3|01:02:03.5");
    assert_eq!(read("a,b\n1,2024-01-02 10:11:12\n"), "a BIGINT, b TIMESTAMP -> 1|2024-01-02 10:11:12");
    assert_eq!(read("a,b\n1,\n3,\n"), "a BIGINT, b VARCHAR -> 1|NULL / 3|NULL");
    assert_eq!(
        read("a,b\n1,99999999999999999999\n3,4\n"),
        "a BIGINT, b HUGEINT -> 1|99999999999999999999 / 3|4"
    );
    assert_eq!(read("a,b\n1,1.5\n3,-4e3\n"), "a BIGINT, b DOUBLE -> 1|1.5 / 3|-4000.0");
    assert_eq!(read("a,b\r\n1,2\r\n3,4"), "a BIGINT, b BIGINT -> 1|2 / 3|4");
    assert_eq!(read("a,b\r1,2\r3,4"), "a BIGINT, b BIGINT -> 1|2 / 3|4");
    assert_eq!(read("\u{feff}a,b\n1,2"), "a BIGINT, b BIGINT -> 1|2");
    assert_eq!(read("a,b\n1,x\"z\n3,4\n"), "a BIGINT, b VARCHAR -> 1|x\"z / 3|4");
    assert_eq!(read("a,b\n'1,2',3\n'4',5\n"), "a VARCHAR, b BIGINT -> 1,2|3 / 4|5");
    assert_eq!(read("a,b\r\n\"x\",\"y\"\r\n"), "a VARCHAR, b VARCHAR -> x|y");
}

#[test]
fn options_overrule_what_is_found_out() {
    let no = Value::Boolean(false);
    let yes = Value::Boolean(true);
    let na = [("nullstr", text("NA"))];
    assert_eq!(read_with("a,b\nNA,1\n,2\n", &na), "a VARCHAR, b BIGINT -> NULL|1 / |2");
    assert_eq!(read_with("a,b\n1,2\n", &[("header", no)]), "column0 VARCHAR, column1 VARCHAR -> a|b / 1|2");
    assert_eq!(read_with("a,b\n1,2\n", &[("all_varchar", yes.clone())]), "a VARCHAR, b VARCHAR -> 1|2");
    assert_eq!(
        read_with("# c\n# d\na,b\n1,2\n", &[("skip", Value::Integer(2))]),
        "a BIGINT, b BIGINT -> 1|2"
    );
    let types = [("types", text("{'b': 'DECIMAL(9,2)'}"))];
    assert_eq!(read_with("a,b\n1,2\n3,\"4.555\"\n", &types), "a BIGINT, b DECIMAL(9,2) -> 1|2.00 / 3|4.56");
    let columns = [("columns", text("x: SMALLINT, y: VARCHAR")), ("delim", text("|"))];
    assert_eq!(read_with("1|x|\n2|y|\n", &columns), "x SMALLINT, y VARCHAR -> 1|x / 2|y");
    assert_eq!(
        read_with("a,b\n1,2\n3\n", &[("null_padding", yes.clone())]),
        "a BIGINT, b BIGINT -> 1|2 / 3|NULL"
    );
    let ignore = [("ignore_errors", yes)];
    assert_eq!(read_with("a,b\n1,2\n3\n4,5,6\n7,8\n", &ignore), "a BIGINT, b BIGINT -> 1|2 / 7|8");
    let date = [("dateformat", text("%d.%m.%Y"))];
    assert_eq!(read_with("a,b\n1,31.12.2024\n", &date), "a BIGINT, b DATE -> 1|2024-12-31");
    let escape = [("escape", text("\\"))];
    assert_eq!(read_with("a,b\n1,\"x\\\"y\"\n", &escape), "a BIGINT, b VARCHAR -> 1|x\"y");
    let names = [("names", text("['x', 'y']"))];
    assert_eq!(read_with("1,2\n3,4\n", &names), "x BIGINT, y BIGINT -> 1|2 / 3|4");
}

#[test]
fn errors_name_the_line_the_column_and_the_way_out() {
    let has = |outcome: String, parts: &[&str]| {
        assert!(outcome.starts_with("error: "), "{outcome}");
        for part in parts {
            assert!(outcome.contains(part), "{part:?} in {outcome:?}");
        }
    };
    has(
        read("a,b\n1,2\n3\n4,5\n"),
        &["line 3", "expected 2 fields", "found 1", "null_padding", "store_rejects"],
    );
    has(read("a,b\n1,2\n\n3,4,5\n4,5\n6,7\n"), &["line 4", "expected 2 fields", "found 3"]);
    has(read("a,b\n1,\"x\"z\n3,4\n"), &["line 2", "closing quote"]);
    has(read("a,b\n1,2\n3,\"4\n5,6\n"), &["line 3", "not closed"]);
    let typed = [("types", text("b: INTEGER"))];
    has(
        read_with("a,b\n1,2\n\"x\ny\",z\n", &typed),
        &["line 3", "column \"b\"", "'z' is no INTEGER", "nullstr"],
    );
    has(read_with("a,b\n1,300\n", &[("types", text("b: TINYINT"))]), &["line 2", "'300' is no TINYINT"]);
    let sample = [("sample_size", Value::Integer(1)), ("header", Value::Boolean(false))];
    has(
        read_with("1,2\n3,x\n", &sample),
        &["line 2", "column1", "'x' is no BIGINT", "types = ", "sample_size = -1"],
    );
    has(read_with("a\n1\n", &[("types", text("z: DATE"))]), &["column \"z\"", "it has a"]);
    has(read_with("a\n1\n", &[("nonsense", text("z"))]), &["no option \"nonsense\""]);
    has(
        read_bytes(b"a,b\n1,\xff\n", &[]).map_or_else(|e| format!("error: {e}"), |_| String::new()),
        &["UTF-8", "line 2"],
    );
    has(
        read_bytes(&[0xff, 0xfe, 0, 0xd8], &[]).map_or_else(|e| format!("error: {e}"), |_| String::new()),
        &["UTF-16"],
    );
    let missing = reader().bind(&[text("/nowhere/x.csv")], &[], &inlay_sql::parser::parse_type);
    assert!(matches!(missing, Err(Error::Io { .. })));
    let nothing = reader().bind(&[text("/nowhere/*.csv")], &[], &inlay_sql::parser::parse_type);
    assert!(matches!(nothing, Err(Error::Io { .. })));
}

/// Records are cut into blocks and batches at every possible place; rows and order stay.
#[test]
fn long_files_are_read_whole_and_in_order() {
    for quoted in [false, true] {
        let mut file = String::from("n,t,d\n");
        let rows = 150_000;
        for i in 0..rows {
            let text = if quoted && i % 3 == 0 {
                format!("\"a,\n\"\"{i}\"\"\"")
            } else {
                format!("text number {i}")
            };
            file.push_str(&format!("{i},{text},{}.5\n", i * 2));
        }
        let file = TempFile::new(file.as_bytes());
        let paths = [file.path(), file.path()];
        let options = CsvOptions::default();
        let source = CsvSource::open(&Arc::default(), &paths, &options, &Arc::default()).unwrap();
        let found = scan(&source, vec![1, 0]).unwrap();
        assert_eq!(found.len(), 2 * rows);
        for (i, row) in found.iter().enumerate() {
            let i = i % rows;
            let text = if quoted && i % 3 == 0 { format!("a,\n\"{i}\"") } else { format!("text number {i}") };
            assert!(row == &[text, i.to_string()]);
        }
        assert_eq!(scan(&source, vec![]).unwrap().len(), 2 * rows);
        let estimate = source.row_count_estimate().unwrap() as usize;
        assert!((rows..4 * rows).contains(&estimate));
    }
}

#[test]
fn random_bytes_are_rows_or_errors_but_never_panics() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let alphabet = b"a1,;\"'\n\r\\ .-|\t\xff\xc3\xa9";
    for round in 0..400 {
        let len = random() as usize % 200;
        let bytes: Vec<u8> = (0..len).map(|_| alphabet[random() as usize % alphabet.len()]).collect();
        for named in [
            vec![],
            vec![("ignore_errors", Value::Boolean(true))],
            vec![("null_padding", Value::Boolean(true)), ("quote", text(""))],
            vec![("columns", text("a: INTEGER, b: DATE, c: VARCHAR")), ("escape", text("\\"))],
        ] {
            let outcome = read_bytes(&bytes, &named);
            let ignores = named.iter().any(|(name, _)| *name == "ignore_errors");
            let wrong_encoding = matches!(bytes[..], [0xff, 0xfe, ..]);
            assert!(outcome.is_ok() || !ignores || wrong_encoding, "round {round}: {:?}", outcome);
        }
    }
}

#[test]
fn copy_takes_the_types_of_the_table() {
    // Other names above numbers are a header; texts above texts are a row unless they are the table's names.
    let columns = [("columns", text("\"id\": INTEGER, \"name\": VARCHAR"))];
    assert_eq!(read_with("key,label\n1,x\n", &columns), "id INTEGER, name VARCHAR -> 1|x");
    assert_eq!(read_with("1,label\n2,x\n", &columns), "id INTEGER, name VARCHAR -> 1|label / 2|x");
    let texts = [("columns", text("\"a\": VARCHAR, \"b\": VARCHAR"))];
    assert_eq!(read_with("x,y\nz,w\n", &texts), "a VARCHAR, b VARCHAR -> x|y / z|w");
    assert_eq!(read_with("A,B\nz,w\n", &texts), "a VARCHAR, b VARCHAR -> z|w");
    // Lines of dbgen end in a delimiter.
    assert_eq!(read_with("1|x|\n2|y|\n", &columns), "id INTEGER, name VARCHAR -> 1|x / 2|y");
}

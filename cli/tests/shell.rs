//! The program as it is run: pipes, `-c`, `-f`, exit codes, modes, every command.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test program: it fails")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory of a test, which is also the user's home.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("inlay-shell-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn run(&self, args: &[&str], input: &str) -> Ran {
        let mut child = Command::new(env!("CARGO_BIN_EXE_inlay"))
            .args(args)
            .current_dir(&self.0)
            .env("HOME", &self.0)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The program may end before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Ran::of(child.wait_with_output().unwrap())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Ran {
    out: String,
    err: String,
    code: i32,
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { out: text(output.stdout), err: text(output.stderr), code: output.status.code().unwrap() }
    }

    /// What was printed, if nothing went wrong.
    fn fine(self) -> String {
        assert_eq!((self.err.as_str(), self.code), ("", 0), "{}", self.out);
        self.out
    }
}

/// What a script prints in mode list without names.
fn listed(place: &Place, script: &str) -> String {
    place.run(&["-list", "-noheader"], script).fine()
}

#[test]
fn statements_come_from_arguments_pipes_and_files() {
    let place = Place::new("sources");
    let file = place.write(
        "s.sql",
        "CREATE TABLE t (x INTEGER);\nINSERT INTO t VALUES (40), (2);\nSELECT sum(x) AS x FROM t;\n",
    );
    assert_eq!(place.run(&["-csv", "-c", "SELECT 1 AS a; SELECT 2 AS b"], "").fine(), "a\n1\nb\n2\n");
    assert_eq!(place.run(&["-csv", ":memory:", "SELECT 1 AS a", ".print hi"], "").fine(), "a\n1\nhi\n");
    assert_eq!(place.run(&["--csv", "--file", &file], "").fine(), "x\n42\n");
    assert_eq!(place.run(&["-csv"], &format!(".read '{file}'\nSELECT 1 AS a")).fine(), "x\n42\na\n1\n");
    assert_eq!(place.run(&["-csv", "-cmd", ".headers off"], "SELECT 1;").fine(), "1\n");
    assert_eq!(place.run(&["-csv"], "\u{feff}SELECT 1 AS a;").fine(), "a\n1\n");
    assert_eq!(
        place.run(&[], "SELECT 1 AS a;").fine(),
        "┌─────────┐\n│    a    │\n│ integer │\n├─────────┤\n│       1 │\n└─────────┘\n"
    );
    assert_eq!(place.run(&[], "").fine(), "");
}

#[test]
fn a_database_stays_and_may_be_read_only() {
    let place = Place::new("file");
    place.run(&["a.db", "CREATE TABLE t AS SELECT 7 AS x"], "").fine();
    assert_eq!(place.run(&["-list", "-noheader", "a.db"], "SELECT x FROM t;").fine(), "7\n");
    let refused = place.run(&["-readonly", "a.db", "DELETE FROM t"], "");
    assert!(refused.code == 1 && refused.err.contains("read"), "{}", refused.err);
    assert_eq!(place.run(&["verify", "a.db"], "").fine(), "ok\n");
    assert_eq!(place.run(&["verify", "none.db"], "").code, 1);
    let saved = place.run(&["recover", "a.db", "b.db"], "").fine();
    assert!(saved.contains("recovered"), "{saved}");
    assert_eq!(place.run(&["-list", "-noheader", "b.db"], "SELECT x FROM t;").fine(), "7\n");
    let no = place.run(&["missing/dir/a.db", "SELECT 1"], "");
    assert!(no.code == 1 && no.err.starts_with("Error: "), "{}", no.err);
}

#[test]
fn errors_have_their_place_and_codes() {
    let place = Place::new("errors");
    let file = place.write("bad.sql", "SELECT 1;\n\nSELECT\n  nope;\nSELECT 3;\n");
    let ran = place.run(&["-list", "-noheader", "-f", &file], "");
    assert_eq!((ran.out.as_str(), ran.code), ("1\n", 1));
    assert!(ran.err.starts_with(&format!("Error in {file}: column \"nope\" does not exist")), "{}", ran.err);
    assert!(ran.err.contains("line 4:   nope"), "{}", ran.err);
    let ran = place.run(&["-list", "-noheader", "-c", "SELECT nope; SELECT 2"], "");
    assert_eq!((ran.out.as_str(), ran.code), ("", 1));
    let ran = place.run(&["-list", "-noheader"], "SELECT nope;\nSELECT 2;");
    assert_eq!((ran.out.as_str(), ran.code), ("2\n", 1));
    let ran = place.run(&["-list", "-noheader", "-bail"], "SELECT nope;\nSELECT 2;");
    assert_eq!((ran.out.as_str(), ran.code), ("", 1));
    assert_eq!(place.run(&["-no-such"], "").code, 2);
    assert_eq!(place.run(&["-c"], "").code, 2);
    assert_eq!(place.run(&["-f", "none.sql"], "").code, 1);
    assert_eq!(place.run(&[], "SELECT 'a").code, 1);
    assert_eq!(place.run(&[], ".exit 7\nSELECT nope;").code, 7);
}

#[test]
fn help_and_version() {
    let place = Place::new("help");
    assert!(place.run(&["-help"], "").fine().contains("-readonly"));
    assert!(place.run(&["--version"], "").fine().starts_with("inlay "));
}

#[test]
fn the_users_file_is_read_first() {
    let place = Place::new("init");
    place.write(".inlayrc", ".mode csv\n.headers off\n");
    let other = place.write("other", ".mode json\n");
    assert_eq!(place.run(&[], "SELECT 1 AS a;").fine(), "1\n");
    assert_eq!(place.run(&["-init", &other], "SELECT 1 AS a;").fine(), "[{\"a\":1}]\n");
    assert_eq!(place.run(&["-no-init", "-list"], "SELECT 1 AS a;").fine(), "a\n1\n");
}

#[test]
fn who_reads_no_further_is_no_error() {
    let place = Place::new("head");
    let program = env!("CARGO_BIN_EXE_inlay");
    let line =
        format!("'{program}' -csv -c 'SELECT * FROM range(3000000)' | head -n 2; exit ${{PIPESTATUS[0]}}");
    let ran = Ran::of(Command::new("bash").args(["-c", &line]).env("HOME", &place.0).output().unwrap());
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), ("range\n0\n", "", 0));
}

/// Each command of `.help` with a script that uses it and what the script prints, in mode list without names.
fn command_tests(place: &Place) -> Vec<(&'static str, String, String)> {
    let shown = |text: &str| text.to_string();
    place.write("r.sql", "SELECT 'read';\n");
    place.write("t.csv", "a,b\n1,x\n2,y\n");
    place.write("db.sql", "CREATE TABLE stored (x INTEGER);");
    let data = "CREATE TABLE t (x INTEGER PRIMARY KEY, s VARCHAR); INSERT INTO t VALUES (1, 'a'), (2, NULL); CREATE VIEW v AS SELECT x FROM t; CREATE INDEX i ON t (s);\n";
    vec![
        ("backup", format!("{data}.backup copy.db\n.open copy.db\nSELECT count(*) FROM t;"), shown("2\n")),
        ("bail", shown(".bail on\n.bail off\nSELECT 1;"), shown("1\n")),
        ("cd", shown(".cd ..\n.cd ~\n.read r.sql"), shown("read\n")),
        ("changes", format!(".changes on\n{data}"), shown("changes: 2   total_changes: 2\n")),
        (
            "columns",
            format!("{data}.mode column\n.headers off\n.columns v"),
            shown("x  INTEGER  NO  PRI  NULL  NULL\n"),
        ),
        ("databases", shown(".mode column\n.headers off\n.databases"), shown("memory  NULL  false\n")),
        (
            "decimal_sep",
            shown(".mode markdown\n.headers off\n.decimal_sep ,\nSELECT 1.5;"),
            shown("| 1,5 |\n"),
        ),
        (
            "dump",
            shown(
                "CREATE TABLE t (x INTEGER, s VARCHAR); INSERT INTO t VALUES (1, 'it''s'), (2, NULL);\n.dump t",
            ),
            shown(
                "BEGIN TRANSACTION;\nCREATE TABLE \"t\" (\n    \"x\" INTEGER,\n    \"s\" VARCHAR\n);\nINSERT INTO \"t\" (\"x\", \"s\") VALUES (1, 'it''s');\nINSERT INTO \"t\" (\"x\", \"s\") VALUES (2, NULL);\nCOMMIT;\n",
            ),
        ),
        ("echo", shown(".echo on\nSELECT 1;\n.print x"), shown("SELECT 1;\n1\n.print x\nx\n")),
        ("exit", shown("SELECT 1;\n.exit\nSELECT 2;"), shown("1\n")),
        ("functions", shown(".mode column\n.headers off\n.functions list_sum"), shown("list_sum")),
        ("headers", shown(".headers on\nSELECT 1 AS a;"), shown("a\n1\n")),
        (
            "help",
            shown(".help backup"),
            shown(
                "write a copy of the database into a new file
",
            ),
        ),
        ("highlight", shown(".highlight off\nSELECT 1;"), shown("1\n")),
        (
            "import",
            shown(".import t.csv n\n.import t.csv n\nSELECT count(*), sum(a) FROM n;"),
            shown("4|6\n"),
        ),
        (
            "indexes",
            format!("{data}.mode column\n.headers off\n.indexes t"),
            shown("main  t  i  false  [s]\n"),
        ),
        (
            "large_number_rendering",
            shown(".mode duckbox\n.large_number_rendering all\nSELECT 1234567 AS a;"),
            shown("1.23 million"),
        ),
        (
            "maxrows",
            shown(".mode duckbox\n.maxrows 2\nSELECT * FROM range(100);"),
            shown("100 rows (2 shown)"),
        ),
        ("maxwidth", shown(".mode duckbox\n.maxwidth 40\nSELECT repeat('x', 100) AS a;"), shown("…")),
        ("mode", shown(".mode json\n.mode\nSELECT 1 AS a;"), shown("mode: json\n[{\"a\":1}]\n")),
        ("nullvalue", shown(".nullvalue nil\nSELECT NULL;"), shown("nil\n")),
        ("once", shown(".once o.txt\nSELECT 1;\nSELECT 2;\n.system cat o.txt"), shown("2\n1\n")),
        (
            "open",
            shown(
                "CREATE TABLE t (x INTEGER);\n.open new.db\nCREATE TABLE u (x INTEGER);\n.open\n.open --readonly new.db\n.tables",
            ),
            shown("u\n"),
        ),
        ("output", shown(".output p.txt\nSELECT 1;\n.output\nSELECT 2;\n.system cat p.txt"), shown("2\n1\n")),
        ("pager", shown(".pager off\nSELECT 1;"), shown("1\n")),
        ("print", shown(".print a \"b  c\""), shown("a b  c\n")),
        ("progress", shown(".progress off\nSELECT 1;"), shown("1\n")),
        ("prompt", shown(".prompt 'db> ' '  > '\nSELECT 1;"), shown("1\n")),
        ("quit", shown(".quit\nSELECT 2;"), shown("")),
        ("read", shown(".read r.sql"), shown("read\n")),
        (
            "recover",
            shown(
                ".open d.db\nCREATE TABLE t AS SELECT 5 AS x;\nCHECKPOINT;\n.open\n.mode trash\n.recover d.db e.db\n.open e.db\n.mode list\nSELECT x FROM t;",
            ),
            shown("5\n"),
        ),
        ("schema", format!("{data}.schema v"), shown("CREATE VIEW \"v\" AS SELECT x FROM t;\n")),
        ("separator", shown(".separator ; !\nSELECT 1, 2;"), shown("1;2!")),
        ("shell", shown(".shell echo 'a  b'"), shown("a  b\n")),
        ("show", shown(".show"), shown("mode: list")),
        ("system", shown(".system echo hi"), shown("hi\n")),
        (
            "tables",
            format!("{data}CREATE SCHEMA s; CREATE TABLE s.far (x INTEGER);\n.tables"),
            shown("s.far  t      v\n"),
        ),
        (
            "thousand_sep",
            shown(".mode markdown\n.headers off\n.thousand_sep ,\nSELECT 1234567;"),
            shown("| 1,234,567 |\n"),
        ),
        ("timer", shown(".timer on\nSELECT 1;"), shown("Run Time (s): real ")),
        ("verify", shown(".verify"), shown("ok\n")),
        ("version", shown(".version"), shown("inlay ")),
        ("views", format!("{data}.views"), shown("v\n")),
        ("width", shown(".mode column\n.headers off\n.width 4 -4\nSELECT 'a', 'b';"), shown("a        b\n")),
    ]
}

#[test]
fn every_command_works() {
    let all: Vec<&str> = inlay_cli::COMMANDS.iter().map(|command| command.name).collect();
    let mut tested = Vec::new();
    for (name, script, expected) in command_tests(&Place::new("names")) {
        let place = Place::new(&format!("command-{name}"));
        command_tests(&place);
        let out = listed(&place, &script);
        // What goes on behind it is of no interest.
        let out = if name == "help" { out.split("  ").last().unwrap().trim_start().to_string() } else { out };
        let fits = if expected.ends_with('\n') { out == expected } else { out.contains(&expected) };
        assert!(fits, ".{name} printed\n{out}instead of\n{expected}");
        tested.push(name);
    }
    assert_eq!(tested, all);
}

#[test]
fn commands_that_are_wrong_say_so() {
    let place = Place::new("wrong");
    let said = |script: &str| {
        let ran = place.run(&[], script);
        assert_eq!((ran.out.as_str(), ran.code), ("", 1), "{script}");
        ran.err
    };
    assert_eq!(said(".tabels"), "Error: there is no command .tabels; did you mean .tables?\n");
    assert_eq!(said(".mode jsno"), "Error: there is no mode jsno; did you mean json?\n");
    assert_eq!(said(".backup"), "Error: usage: .backup FILE\n");
    assert_eq!(said(".headers maybe"), "Error: .headers is on or off, not maybe\n");
    assert!(said(".edit").contains("no editor"));
    assert!(said(".once -e").contains("editor"));
    assert!(said("\\e").contains("no editor") && said("\\copy t to x").contains("COPY"));
    assert_eq!(said("\\timng"), "Error: there is no command \\timng; did you mean \\timing?\n");
    let file = place.write("self.sql", ".read self.sql\n");
    assert!(said(&format!(".read '{file}'")).contains("does it read itself?"));
    assert!(said(".read .").contains("directory"));
}

#[test]
fn hands_of_psql() {
    let place = Place::new("psql");
    let data = "CREATE SCHEMA s; CREATE TABLE s.t (x INTEGER PRIMARY KEY); CREATE VIEW v AS SELECT 1 AS a; CREATE INDEX i ON s.t (x);\n.mode column\n";
    let shown = |script: &str| place.run(&["-noheader"], &format!("{data}{script}")).fine();
    assert_eq!(shown("\\d"), "main  v  view\ns     t  table\n");
    assert_eq!((shown("\\dt").as_str(), shown("\\dv").as_str()), ("s  t  table\n", "main  v  view\n"));
    assert_eq!(shown("\\di"), "s  i  index\n");
    assert_eq!(shown("\\dn"), "main  memory\ns     memory\n");
    assert!(shown("\\d s.t").starts_with("x  INTEGER  NO  PRI  NULL  NULL\n    CREATE INDEX"));
    assert!(shown("\\df list_s*").contains("list_sum") && shown("\\l").contains("memory"));
    assert!(
        shown("\\x\nSELECT 1 AS a;").ends_with("    a = 1\n") && shown("\\timing").contains("timing: on")
    );
    assert_eq!(shown("\\echo a b\n\\! echo c\n\\q\nSELECT 1;"), "a b\nc\n");
    assert!(shown("\\?").contains("\\timing") && shown("\\h").contains(".help"));
    place.write("i.sql", "SELECT 3;");
    assert_eq!(shown("\\i i.sql\n\\o o.txt\nSELECT 4;\n\\o\n\\c\n\\dt"), "3\nnothing of that kind\n");
    assert_eq!(place.read("o.txt"), "4\n");
}

#[test]
fn output_may_go_to_a_command() {
    let place = Place::new("pipe");
    let sorted = "SELECT * FROM (VALUES (1), (2)) t(x) ORDER BY x;";
    assert_eq!(listed(&place, &format!(".once |sort -r\n{sorted}\n.print end")), "2\n1\nend\n");
    assert_eq!(listed(&place, &format!(".output |sort -r\n{sorted}\n")), "2\n1\n");
    assert_eq!(listed(&place, &format!(".output off\n{sorted}\n.output\n.print x")), "x\n");
}

#[test]
fn a_dump_holds_rows_that_refer_to_later_ones_and_views_that_no_longer_hold() {
    let place = Place::new("dump-again");
    let script =
        "CREATE TABLE t (id INTEGER GENERATED ALWAYS AS IDENTITY, v INTEGER); INSERT INTO t (v) VALUES (1);
        CREATE TABLE n (id INTEGER PRIMARY KEY, p INTEGER REFERENCES n (id));
        INSERT INTO n VALUES (1, NULL), (2, 1); UPDATE n SET p = 2 WHERE id = 1;
        CREATE TABLE z (a INTEGER); CREATE VIEW v AS FROM z; DROP TABLE z;\n";
    let dump = listed(&place, &format!("{script}.dump"));
    assert!(dump.contains("-- CREATE VIEW \"v\" AS FROM z;"), "{dump}");
    let asked = "SELECT id, v FROM t; SELECT id, p FROM n ORDER BY id;";
    assert_eq!(listed(&place, &format!("{dump}{asked}")), "1\n1|1\n1|2\n2|1\n");
}

#[test]
fn a_dump_makes_the_database_again() {
    let place = Place::new("dump");
    let script = "CREATE SCHEMA s; CREATE TYPE mood AS ENUM ('a', 'b'); CREATE SEQUENCE q START 5;
        CREATE TABLE p (id INTEGER PRIMARY KEY, m mood, l INTEGER[], b BLOB, d DOUBLE);
        CREATE TABLE s.c (id INTEGER REFERENCES p (id), twice INTEGER GENERATED ALWAYS AS (id * 2));
        INSERT INTO p VALUES (1, 'b', [1, NULL], '\\xAB'::BLOB, 'inf'), (2, NULL, NULL, NULL, 0.1);
        INSERT INTO s.c VALUES (1), (2); CREATE VIEW v AS SELECT id FROM p; CREATE INDEX i ON p (m);
        CREATE TABLE odd (id INTEGER GENERATED ALWAYS AS IDENTITY, r REAL, l DOUBLE[], x DECIMAL(38, 38),
            u UNION(i INTEGER, w VARCHAR), s STRUCT(\"order\" INTEGER), iv INTERVAL);
        INSERT INTO odd (r, l, x, u, s, iv) VALUES ('-0.0', ['-inf'::DOUBLE, 0.5], '-0.99999999999999999999999999999999999999',
            union_value(w := '1')::UNION(i INTEGER, w VARCHAR), {'order': 1}, to_microseconds(9223372036854775807));\n";
    let dump = listed(&place, &format!("{script}.dump"));
    // The script sets the counter of the identity, which shows its value.
    assert_eq!(listed(&place, &format!("{dump}.dump")), format!("1\n{dump}"));
    assert_eq!(
        listed(
            &place,
            &format!(
                "{dump}SELECT sum(twice) FROM s.c; SELECT d FROM p ORDER BY id; SELECT count(*) FROM v;
                 SELECT id, r, l, x, union_tag(u), iv FROM odd;"
            )
        ),
        "1\n6\ninf\n0.1\n2\n1|-0.0|[-inf, 0.5]|-0.99999999999999999999999999999999999999|w|2562047788:00:54.775807\n"
    );
}

#[test]
fn plans_are_lines() {
    let place = Place::new("plan");
    let out = place.run(&[], "EXPLAIN SELECT 1;").fine();
    assert!(!out.contains('│') && out.lines().count() >= 2, "{out}");
}

#[test]
fn the_page_of_the_shell_has_every_command() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/shell.md")).unwrap();
    for command in inlay_cli::COMMANDS {
        let name = format!(".{} {}", command.name, command.arguments).trim().replace('|', "\\|");
        let line = format!("| `{name}` | {} |", command.help);
        assert!(page.contains(&line), "docs/shell.md lacks\n{line}");
    }
}

#[test]
fn code_that_may_not_run_yet_is_told_of_when_it_is_made() {
    let place = Place::new("notes");
    let create =
        |name: &str| format!("CREATE FUNCTION {name}() RETURNS INTEGER LANGUAGE PYTHON {{ return 1 }};\n");
    let ran = place.run(&[], &format!("{}SET allow_python = true;\n{}", create("f"), create("g")));
    assert_eq!((ran.out.as_str(), ran.code), ("", 0), "{}", ran.err);
    let notes: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("Note: ")).collect();
    assert_eq!(notes.len(), 1, "{}", ran.err);
    assert!(notes[0].contains("\"f\"") && notes[0].contains("SET allow_python = true"), "{}", ran.err);
}

/// What pg_dump of PostgreSQL 15 made of one database, with COPY and with INSERT.
#[test]
fn dumps_of_postgres_are_loaded() {
    for (name, dump) in
        [("copy", include_str!("postgres/copy.sql")), ("inserts", include_str!("postgres/inserts.sql"))]
    {
        let place = Place::new(&format!("postgres-{name}"));
        let loaded = place.run(&["-bail", "shop.inlay"], dump);
        assert_eq!((loaded.code, loaded.err.as_str()), (0, ""), "{name}");
        let asked = |sql: &str| place.run(&["-csv", "-noheader", "shop.inlay"], sql).out;
        let customers = asked(
            "SELECT id, name, tags[2], tags[4], tags[6], tags[7], data->'a'->>1, photo = '\\x00\\xFF\\x41'::BLOB, \
             photos[1] = '\\x00\\xFF'::BLOB, photos[2], epoch(created)::BIGINT, m, i FROM customers ORDER BY id",
        );
        let ann = [
            "1,\"Ann; O'Neil\",\"b c\",,\"it's\",\"q\"\"\\\",x",
            "true,true,,1704452400,ok,\"1 year 2 months 3 days 04:05:06\"",
        ];
        let tab = ["2,\"Tab\tand\nline\\\"", ",,,,,,,,1704452400,ok,"];
        assert_eq!(customers, format!("{}\n{}\n", ann.join(","), tab.join(",")), "{name}");
        assert_eq!(
            asked(
                "SELECT * FROM app.orders ORDER BY id; SELECT * FROM rich WHERE total > 0; FROM mv; SELECT nextval('counter')"
            ),
            "1,1,10.50,x,21.00\n2,1,20.00,,40.00\n3,2,0.00,\\N,0.00\n\"Ann; O'Neil\",30.50\n2\n43\n",
            "{name}"
        );
        // Keys, sequences and defaults are there.
        let more = asked(
            "INSERT INTO customers (name) VALUES ('new') RETURNING id, tags, data; \
             INSERT INTO app.orders (customer, total) VALUES (3, 1) RETURNING id; DELETE FROM customers WHERE id = 3; \
             SELECT count(*) FROM app.orders",
        );
        assert_eq!(more, "3,[],{}\n4\n3\n", "{name}");
        let refused = place.run(&["shop.inlay"], "INSERT INTO app.orders (customer) VALUES (9);");
        assert!(refused.err.contains("orders_customer_fkey"), "{name}: {}", refused.err);
    }
}

/// Rows behind COPY ... FROM STDIN are no statements, whether they can be loaded or not.
#[test]
fn rows_behind_a_copy_are_loaded() {
    let place = Place::new("copy-in");
    let script = "CREATE TABLE keep AS SELECT 1 a; CREATE TABLE c (a VARCHAR, b INTEGER);\n\
                  COPY c (a, b) FROM stdin;\nx; DROP TABLE keep; --\t1\n\\N\t\\N\na\\tb \"q\"\t3\n\t4\n\\.\n\
                  COPY c FROM STDIN WITH (FORMAT csv, HEADER);\na,b\n\"it, is\",5\n\\.\n\
                  SELECT count(*) FROM keep;\nSELECT coalesce(a, 'none') AS a, b FROM c ORDER BY b NULLS FIRST;\n";
    let shown = place.run(&["-csv", "-noheader"], script).fine();
    assert_eq!(shown, "1\nnone,\n\"x; DROP TABLE keep; --\",1\n\"a\tb \"\"q\"\"\",3\n\"\",4\n\"it, is\",5\n");
    let ran = place.run(&["-csv", "-noheader"], "COPY nothing FROM stdin;\nSELECT 1;\n\\.\nSELECT 2;\n");
    assert!(ran.err.contains("nothing"), "{}", ran.err);
    assert_eq!(ran.out, "2\n");
}

#[test]
fn a_trigger_of_sqlite_is_one_statement() {
    let place = Place::new("trigger");
    let script = "CREATE TABLE a AS SELECT 1 i;\nBEGIN;\nINSERT INTO a VALUES (2);\n\
                  CREATE TRIGGER g AFTER INSERT ON a BEGIN DELETE FROM a WHERE i = 1; END;\nROLLBACK;\nFROM a;\n";
    let ran = place.run(&["-csv", "-noheader"], script);
    assert_eq!(ran.out, "1\n", "{}", ran.err);
    assert_eq!(ran.err.matches("Error").count(), 0, "{}", ran.err);
}

/// What other programs wrote to the same file before stays, and what they write afterwards comes behind.
#[test]
#[cfg(unix)]
fn copy_to_standard_output_takes_its_turn() {
    let place = Place::new("stdout");
    let file = place.path("o");
    let program = env!("CARGO_BIN_EXE_inlay");
    let line = format!(
        "(echo first; {program} -c \"COPY (FROM range(2)) TO '/dev/stdout' (FORMAT csv)\"; echo last) > '{file}'"
    );
    assert!(std::process::Command::new("sh").args(["-c", &line]).status().unwrap().success());
    assert_eq!(place.read("o"), "first\nrange\n0\n1\nlast\n");
}

/// Names that commands are given, and answers, are read by the engine: no text is looked at here.
#[test]
fn names_are_whole_and_plans_are_known_by_what_they_are() {
    let place = Place::new("names");
    let data = "CREATE SCHEMA s; CREATE TABLE s.a_b (x INTEGER); CREATE TABLE axb (x INTEGER UNIQUE); CREATE TABLE \"a.b\" (y INTEGER);
        CREATE INDEX i ON s.a_b (x);\n.mode column\n";
    let shown = |script: &str| place.run(&["-noheader"], &format!("{data}{script}")).fine();
    let described = shown("\\d s.a_b");
    assert!(described.contains("CREATE INDEX") && !described.contains("UNIQUE"), "{described}");
    assert_eq!(shown(".columns '\"a.b\"'"), "y  INTEGER  YES  NULL  NULL  NULL\n");
    assert_eq!(
        shown(".dump '\"a.b\"'"),
        "BEGIN TRANSACTION;\nCREATE TABLE \"a.b\" (\n    \"y\" INTEGER\n);\nCOMMIT;\n"
    );
    let ran = place.run(&[], &format!("{data}.dump b"));
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
    let plan = place.run(&[], "/* a plan */ EXPLAIN SELECT 1;").fine();
    assert_eq!(plan, place.run(&[], "EXPLAIN SELECT 1;").fine());
    let failed = place.run(&[], "SELECT 1;\n\nSELECT nothing;").err;
    assert!(failed.contains("line 3: SELECT nothing"), "{failed}");
}

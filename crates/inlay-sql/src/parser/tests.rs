//! What the parser makes of syntax that is ours, ambiguous, or handled outside `sqlparser`.

use super::ast::*;
use super::{parse_statement, parse_statements};
use inlay_types::{Error, LogicalType};

fn kind(sql: &str) -> StatementKind {
    match parse_statement(sql) {
        Ok(statement) => statement.kind,
        Err(error) => panic!("{sql}\n{error}"),
    }
}

fn select(sql: &str) -> Select {
    let StatementKind::Query(query) = kind(sql) else { panic!("not a query: {sql}") };
    let QueryBody::Select(select) = query.body else { panic!("not a SELECT: {sql}") };
    *select
}

fn expr(text: &str) -> Expr {
    let select = select(&format!("SELECT {text}"));
    match select.items.into_iter().next() {
        Some(SelectItem::Expr { expr, .. }) => expr,
        other => panic!("{other:?}"),
    }
}

/// A compact form for comparing shapes.
fn show(expr: &Expr) -> String {
    let list = |items: &[Expr]| items.iter().map(show).collect::<Vec<_>>().join(" ");
    match &expr.kind {
        ExprKind::Column(parts) => parts.iter().map(|part| part.value.clone()).collect::<Vec<_>>().join("."),
        ExprKind::Literal(Literal::Number(text)) => text.clone(),
        ExprKind::Literal(Literal::String(text)) => format!("'{text}'"),
        ExprKind::Literal(Literal::Typed(data_type, text)) => format!("{data_type}'{text}'"),
        ExprKind::Literal(other) => format!("{other:?}"),
        ExprKind::Binary { op, left, right } => format!("({} {} {})", op.symbol(), show(left), show(right)),
        ExprKind::And(items) => format!("(and {})", list(items)),
        ExprKind::Or(items) => format!("(or {})", list(items)),
        ExprKind::Not(inner) => format!("(not {})", show(inner)),
        ExprKind::Unary { op, expr } => format!("({op:?} {})", show(expr)),
        ExprKind::Function(call) => {
            format!("{}({}{})", call.name.value, list(&call.arguments), if call.star { "*" } else { "" })
        }
        ExprKind::Cast { expr, data_type, try_cast } => {
            format!("({}cast {} {data_type})", if *try_cast { "try_" } else { "" }, show(expr))
        }
        ExprKind::IsNull { expr, negated } => format!("(isnull {} {negated})", show(expr)),
        ExprKind::Extract { field, expr } => format!("(extract {} {})", field.value, show(expr)),
        ExprKind::Parameter(parameter) => format!("{parameter:?}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn operators_bind_as_in_duckdb() {
    let shape = |text: &str| show(&expr(text));
    assert_eq!(shape("1 + 2 * 3"), "(+ 1 (* 2 3))");
    assert_eq!(shape("2 * 3 ^ 2"), "(* 2 (^ 3 2))");
    assert_eq!(shape("'a' || 1 + 2"), "(|| 'a' (+ 1 2))");
    assert_eq!(shape("7 // 2"), "(// 7 2)");
    assert_eq!(shape("-a::integer"), "(Negate (cast a INTEGER))");
    assert_eq!(shape("NOT a = b AND c OR d"), "(or (and (not (= a b)) c) d)");
    assert_eq!(shape("a AND b AND (c AND d)"), "(and a b (and c d))");
    assert_eq!(shape("a IS NOT DISTINCT FROM b"), "(IS NOT DISTINCT FROM a b)");
    assert_eq!(shape("a NOTNULL"), "(isnull a true)");
    assert_eq!(shape("-9223372036854775808"), "-9223372036854775808");
    assert_eq!(shape("1_000"), "1000");
    assert_eq!(shape("TRY_CAST(a AS DECIMAL(5,2))"), "(try_cast a DECIMAL(5,2))");
}

#[test]
fn special_forms_become_calls() {
    let shape = |text: &str| show(&expr(text));
    assert_eq!(shape("substring(a FROM 2 FOR 3)"), "substring(a 2 3)");
    assert_eq!(shape("substring(a, 2)"), "substring(a 2)");
    assert_eq!(shape("trim(LEADING 'x' FROM a)"), "ltrim(a 'x')");
    assert_eq!(shape("position('x' IN a)"), "strpos(a 'x')");
    assert_eq!(shape("ceil(a)"), "ceil(a)");
    assert_eq!(shape("extract(year FROM a)"), "(extract year a)");
    assert_eq!(shape("left(a, 1)"), "left(a 1)");
    assert_eq!(shape("replace(a, 'b', 'c')"), "replace(a 'b' 'c')");
    assert_eq!(shape("year(a)"), "year(a)");
    assert_eq!(shape("count(*)"), "count(*)");
    assert_eq!(shape("count_if(a = 1 AND b)"), "count_if((and (= a 1) b))");
    assert_eq!(shape("if(a, b, c)"), "if(a b c)");
    assert_eq!(shape("current_date"), "current_date()");
}

#[test]
fn literals_of_all_spellings() {
    let shape = |text: &str| show(&expr(text));
    assert_eq!(shape("DATE '1995-01-01'"), "DATE'1995-01-01'");
    assert_eq!(shape("TIMESTAMP '1995-01-01 00:00:00'"), "TIMESTAMP'1995-01-01 00:00:00'");
    assert_eq!(shape("INTERVAL '3' MONTH"), "INTERVAL'3 month'");
    assert_eq!(shape("INTERVAL '90 days'"), "INTERVAL'90 days'");
    assert_eq!(shape("INTERVAL 1 YEAR"), "INTERVAL'1 year'");
    assert_eq!(shape("INTERVAL (a) DAY"), "to_days((cast trunc((cast a DOUBLE)) INTEGER))");
    assert_eq!(shape("a + INTERVAL '1' DAY * 2"), "(+ a (* INTERVAL'1 day' 2))");
    assert_eq!(shape("E'a\\nb'"), "'a\nb'");
    assert_eq!(shape("$$it's$$"), "'it's'");
    assert_eq!(expr("x'00fF'").kind, ExprKind::Literal(Literal::Blob(vec![0, 255])));
}

#[test]
fn parameters_are_numbered_by_text_order() {
    let statements =
        parse_statements("SELECT ?; SELECT a FROM t WHERE a = ? LIMIT ?; SELECT $2, $name").unwrap();
    assert_eq!(statements.iter().map(|s| s.parameter_count).collect::<Vec<_>>(), [1, 2, 2]);
    assert_eq!(statements[2].parameter_names, ["name"]);
    let StatementKind::Query(query) = &statements[1].kind else { panic!() };
    assert_eq!(query.limit.as_ref().unwrap().kind, ExprKind::Parameter(Parameter::Position(2)));
    assert_eq!(statements[1].text(), "SELECT a FROM t WHERE a = ? LIMIT ?");
}

#[test]
fn from_first_and_files() {
    assert!(matches!(select("FROM t").items[0], SelectItem::Star { .. }));
    let both = select("FROM t SELECT a WHERE b");
    assert!(both.filter.is_some() && matches!(both.items[0], SelectItem::Expr { .. }));
    let TableRef::Table { name, .. } = &select("FROM 'a b.csv'").from[0] else { panic!() };
    assert!(name.is_string && name.last() == "a b.csv");
    let TableRef::Function { call, alias, .. } = &select("FROM range(1, 10) r(i)").from[0] else { panic!() };
    assert_eq!((call.arguments.len(), alias.as_ref().unwrap().columns.len()), (2, 1));
    for separator in [":=", "=", "=>"] {
        let sql = format!("FROM read_csv('f', header {separator} true, delim {separator} '|')");
        let TableRef::Function { call, .. } = &select(&sql).from[0] else { panic!() };
        assert_eq!((call.arguments.len(), call.named.len()), (1, 2), "{sql}");
    }
}

#[test]
fn joins_of_all_kinds() {
    let join = |text: &str| match select(&format!("SELECT * FROM a {text}")).from.into_iter().next() {
        Some(TableRef::Join { kind, condition, .. }) => (kind, condition),
        other => panic!("{text}: {other:?}"),
    };
    for (text, kind) in [
        ("JOIN b ON x", JoinKind::Inner),
        ("LEFT OUTER JOIN b ON x", JoinKind::Left),
        ("RIGHT JOIN b ON x", JoinKind::Right),
        ("FULL JOIN b ON x", JoinKind::Full),
        ("SEMI JOIN b ON x", JoinKind::Semi),
        ("ANTI JOIN b ON x", JoinKind::Anti),
        ("CROSS JOIN b", JoinKind::Cross),
    ] {
        assert_eq!(join(text).0, kind, "{text}");
    }
    assert_eq!(join("NATURAL JOIN b"), (JoinKind::Inner, JoinCondition::Natural));
    assert!(
        matches!(join("LEFT JOIN b USING (x, y)"), (JoinKind::Left, JoinCondition::Using(c)) if c.len() == 2)
    );
    assert!(matches!(
        &select("SELECT * FROM a, LATERAL (SELECT a.x) l").from[1],
        TableRef::Subquery { lateral: true, .. }
    ));
    assert!(matches!(&select("SELECT * FROM (a JOIN b USING (x)) AS c").from[0], TableRef::Subquery { .. }));
}

#[test]
fn select_extensions() {
    let SelectItem::Star { exclude, replace, .. } =
        &select("SELECT * EXCLUDE (a, b) REPLACE (c + 1 AS c) FROM t").items[0]
    else {
        panic!()
    };
    assert_eq!((exclude.names.len(), replace.len()), (2, 1));
    assert_eq!(select("SELECT a, count(*) FROM t GROUP BY ALL").group_by, GroupBy::All);
    let StatementKind::Query(query) = kind("SELECT a FROM t ORDER BY ALL DESC NULLS FIRST") else { panic!() };
    assert_eq!(query.order_by, OrderBy::All(SortOrder { descending: Some(true), nulls_first: Some(true) }));
    assert!(
        matches!(select("SELECT DISTINCT ON (a) a, b FROM t").distinct, Distinct::On(items) if items.len() == 1)
    );
    assert_eq!(select("SELECT a, b, FROM t").items.len(), 2);
    let ExprKind::Function(call) = expr("sum(DISTINCT a ORDER BY b) FILTER (WHERE c > 1)").kind else {
        panic!()
    };
    assert!(call.distinct && call.filter.is_some() && call.order_by.len() == 1);
    assert!(matches!(expr("a > ALL (SELECT 1)").kind, ExprKind::Quantified { all: true, .. }));
    assert!(matches!(expr("a = ANY (SELECT 1)").kind, ExprKind::Quantified { all: false, .. }));
    assert!(matches!(expr("(a, b) IN (SELECT 1, 2)").kind, ExprKind::InSubquery { .. }));
    assert!(
        matches!(expr("a NOT IN ((SELECT 1), (SELECT 2))").kind, ExprKind::InList { negated: true, list, .. } if list.len() == 2)
    );
    assert!(matches!(expr("a IN ((SELECT 1))").kind, ExprKind::InSubquery { .. }));
    assert!(matches!(expr("a IN ((1, 2), (3, 4))").kind, ExprKind::InList { list, .. } if list.len() == 2));
    assert!(matches!(
        expr("a NOT ILIKE 'x!%' ESCAPE '!'").kind,
        ExprKind::Like { negated: true, case_insensitive: true, escape: Some(_), .. }
    ));
    assert!(matches!(kind("VALUES (1, 'a'), (2, 'b')"), StatementKind::Query(_)));
    assert!(matches!(
        kind("WITH a AS (SELECT 1) SELECT * FROM a UNION ALL (SELECT 2 ORDER BY 1) LIMIT 1 + 1"),
        StatementKind::Query(_)
    ));
}

#[test]
fn tables_views_and_changes() {
    let sql = "CREATE TABLE IF NOT EXISTS t (a INTEGER PRIMARY KEY, b DECIMAL(15, 2) NOT NULL DEFAULT 0, \
               c VARCHAR(10), CHECK (a > 0), UNIQUE (b, c))";
    let StatementKind::CreateTable(create) = kind(sql) else { panic!() };
    assert_eq!(create.on_existing, OnExisting::Keep);
    assert_eq!(create.columns[1].data_type, LogicalType::decimal(15, 2));
    assert_eq!(create.constraints.len(), 3);
    assert!(
        matches!(kind("CREATE OR REPLACE TABLE t AS FROM u"), StatementKind::CreateTable(c) if c.query.is_some())
    );
    let StatementKind::CreateView(view) = kind("CREATE OR REPLACE VIEW v (x) AS\n SELECT a AS x FROM t ")
    else {
        panic!()
    };
    assert_eq!((view.query_text.as_str(), view.columns.len()), ("SELECT a AS x FROM t", 1));
    let StatementKind::Insert(insert) = kind("INSERT INTO t (a, b) VALUES (DEFAULT, 2)") else { panic!() };
    let Some(QueryBody::Values { rows, .. }) = insert.source.map(|q| q.body) else { panic!() };
    assert_eq!(rows[0][0].kind, ExprKind::Default);
    assert!(matches!(kind("INSERT INTO t DEFAULT VALUES"), StatementKind::Insert(i) if i.source.is_none()));
    assert!(matches!(kind("INSERT INTO t SELECT 1"), StatementKind::Insert(_)));
    assert!(
        matches!(kind("UPDATE t SET a = 1, b = b + 1 WHERE c"), StatementKind::Update(u) if u.assignments.len() == 2)
    );
    assert!(
        matches!(kind("DELETE FROM t AS x WHERE x.a = 1"), StatementKind::Delete(d) if d.alias.is_some())
    );
    assert!(matches!(kind("TRUNCATE t"), StatementKind::Truncate { .. }));
    assert!(
        matches!(kind("DROP TABLE IF EXISTS a, b"), StatementKind::Drop { names, .. } if names.len() == 2)
    );
    assert!(matches!(
        kind("CREATE UNIQUE INDEX i ON t (a, b)"),
        StatementKind::CreateIndex(create) if create.unique
    ));
    assert!(matches!(kind("DROP INDEX i"), StatementKind::Drop { kind: ObjectKind::Index, .. }));
}

#[test]
fn utility_statements() {
    let StatementKind::Explain { analyze, format, .. } = kind("EXPLAIN ANALYZE (FORMAT JSON) SELECT 1")
    else {
        panic!()
    };
    assert!(analyze && format == ExplainFormat::Json);
    assert!(matches!(kind("EXPLAIN (SELECT 1)"), StatementKind::Explain { analyze: false, .. }));
    let StatementKind::Copy(copy) = kind("COPY t (a) FROM 'f.csv' (FORMAT csv, DELIMITER '|', HEADER)")
    else {
        panic!()
    };
    let Copy::From { options, columns, path, .. } = *copy else { panic!() };
    assert_eq!((options.len(), columns.len(), path), (3, 1, CopyPath::Text("f.csv".into())));
    assert!(options[2].value.is_none());
    assert!(matches!(kind("COPY (SELECT 1) TO 'f.parquet' WITH (FORMAT parquet)"), StatementKind::Copy(_)));
    let StatementKind::Call(call) = kind("CALL tpch_dbgen(sf := 0.01)") else { panic!() };
    assert_eq!(call.named[0].0.value, "sf");
    assert!(matches!(kind("CALL tpch_dbgen(sf = 1)"), StatementKind::Call(call) if call.named.len() == 1));
    for sql in ["SET threads = 4", "SET threads TO 4", "SET SESSION threads = 4", "PRAGMA threads = 4"] {
        assert!(
            matches!(kind(sql), StatementKind::Set { name, value: Some(_) } if name.value == "threads"),
            "{sql}"
        );
    }
    assert!(matches!(kind("RESET threads"), StatementKind::Set { value: None, .. }));
    assert!(
        matches!(kind("PRAGMA table_info('t')"), StatementKind::Pragma { arguments, .. } if arguments.len() == 1)
    );
    assert!(matches!(kind("SHOW TABLES"), StatementKind::ShowTables { of: None }));
    assert!(matches!(kind("DESCRIBE t"), StatementKind::Describe(_)));
    assert!(matches!(kind("DESCRIBE SELECT 1"), StatementKind::Describe(_)));
    assert!(matches!(kind("BEGIN TRANSACTION"), StatementKind::Begin(_)));
    assert!(matches!(kind("COMMIT"), StatementKind::Commit));
    assert!(matches!(kind("ROLLBACK"), StatementKind::Rollback));
    assert_eq!(parse_statements(" ; SELECT 1;; SELECT 2; ").unwrap().len(), 2);
}

#[test]
fn transactions_and_databases() {
    let StatementKind::Begin(modes) = kind("START TRANSACTION ISOLATION LEVEL SNAPSHOT, READ ONLY") else {
        panic!()
    };
    assert_eq!((modes.isolation, modes.read_only), (Some(Isolation::Snapshot), Some(true)));
    assert!(matches!(kind("BEGIN"), StatementKind::Begin(modes) if modes == TransactionModes::default()));
    assert!(matches!(kind("END TRANSACTION"), StatementKind::Commit));
    assert!(matches!(kind("ABORT"), StatementKind::Rollback));
    assert!(matches!(kind("SAVEPOINT a"), StatementKind::Savepoint(_)));
    assert!(matches!(kind("ROLLBACK TRANSACTION TO SAVEPOINT a"), StatementKind::RollbackTo(_)));
    assert!(matches!(kind("ROLLBACK TO a"), StatementKind::RollbackTo(name) if name.value == "a"));
    assert!(matches!(kind("RELEASE SAVEPOINT a"), StatementKind::Release(_)));
    assert!(matches!(
        kind("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
        StatementKind::SetTransaction { session: false, .. }
    ));
    assert!(matches!(
        kind("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE"),
        StatementKind::SetTransaction { session: true, .. }
    ));
    assert!(matches!(
        kind("FORCE CHECKPOINT db"),
        StatementKind::Checkpoint { force: true, database: Some(_) }
    ));
    assert!(matches!(kind("VACUUM ANALYZE t"), StatementKind::Vacuum { analyze: true, table: Some(_) }));
    assert!(matches!(kind("VACUUM"), StatementKind::Vacuum { analyze: false, table: None }));
    assert!(matches!(
        kind("ATTACH DATABASE IF NOT EXISTS 'a.db' AS b (READ_ONLY true)"),
        StatementKind::Attach { if_not_exists: true, alias: Some(_), options, .. } if options.len() == 1
    ));
    assert!(matches!(kind("DETACH DATABASE IF EXISTS b"), StatementKind::Detach { if_exists: true, .. }));
    assert!(matches!(kind("SHOW DATABASES"), StatementKind::ShowDatabases));
    assert!(matches!(kind("IMPORT DATABASE 'dir'"), StatementKind::ImportDatabase { .. }));
    let Err(error) = parse_statements("BEGIN ISOLATION LEVEL HIGH") else { panic!() };
    assert!(error.to_string().starts_with("expected SERIALIZABLE, SNAPSHOT"), "{error}");
}

#[test]
fn changes_say_what_happens_to_conflicts() {
    let StatementKind::Insert(insert) = kind(
        "INSERT INTO t AS x (a, x.b) VALUES (1, DEFAULT) ON CONFLICT (a) DO UPDATE SET (a, b) = (1, 2) WHERE x.a > 1
            RETURNING *, a AS c",
    ) else {
        panic!()
    };
    let conflict = insert.on_conflict.unwrap();
    assert!(matches!(&conflict.target, ConflictTarget::Columns(names) if names.len() == 1));
    assert!(matches!(
        &conflict.action,
        ConflictAction::Update { assignments, filter: Some(_) } if assignments.len() == 2
    ));
    assert_eq!((insert.columns.len(), insert.returning.map(|items| items.len())), (2, Some(2)));
    for sql in [
        "INSERT INTO t (SELECT 1)",
        "INSERT INTO t SELECT * FROM u ON CONFLICT DO NOTHING",
        "INSERT INTO t FROM u RETURNING a",
        "INSERT INTO t BY NAME SELECT 1 AS a",
        "INSERT INTO t (a) OVERRIDING USER VALUE VALUES (1)",
        "INSERT INTO db.main.t DEFAULT VALUES",
        "INSERT INTO t WITH c AS (SELECT 1) SELECT * FROM c",
    ] {
        assert!(matches!(kind(sql), StatementKind::Insert(_)), "{sql}");
    }
    let StatementKind::Merge(merge) = kind(
        "MERGE INTO t USING (SELECT 1 AS a) s ON t.a = s.a WHEN MATCHED AND s.a > 1 THEN UPDATE SET a = 2
            WHEN NOT MATCHED BY TARGET THEN INSERT (a) VALUES (DEFAULT) WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING a",
    ) else {
        panic!()
    };
    assert_eq!((merge.clauses.len(), merge.returning.is_some()), (3, true));
    for (sql, wanted) in [
        ("INSERT INTO t VALUES (1) ON CONFLICT DO", "expected NOTHING or UPDATE SET, found the end"),
        ("INSERT OR FAIL INTO t VALUES (1)", "expected REPLACE or IGNORE"),
        ("INSERT t VALUES (1)", "expected INTO, found \"t\""),
    ] {
        let Err(error) = parse_statements(sql) else { panic!("{sql}") };
        assert!(error.to_string().starts_with(wanted), "{error}");
    }
}

#[test]
fn definitions_keep_every_constraint() {
    let StatementKind::CreateTable(create) = kind(
        "CREATE TABLE t (a INTEGER GENERATED BY DEFAULT AS IDENTITY (INCREMENT BY 2 START WITH 10 NO CYCLE),
            b SERIAL, c INTEGER CONSTRAINT positive CHECK (c > 0) REFERENCES u (x) ON DELETE SET NULL ON UPDATE CASCADE,
            d INTEGER GENERATED ALWAYS AS (c + 1) STORED, e INTEGER AS (c * 2),
            CONSTRAINT k UNIQUE (a, b), FOREIGN KEY (a, b) REFERENCES db.u)",
    ) else {
        panic!()
    };
    let ColumnOrigin::Identity { always: false, options } = &create.columns[0].origin else { panic!() };
    assert_eq!((options.start, options.increment, options.cycle), (Some(10), Some(2), Some(false)));
    assert_eq!(create.columns[1].origin, ColumnOrigin::Serial);
    assert!(matches!(&create.columns[3].origin, ColumnOrigin::Computed(_, text) if text == "c + 1"));
    assert!(matches!(&create.columns[4].origin, ColumnOrigin::Computed(_, text) if text == "c * 2"));
    let names: Vec<_> =
        create.constraints.iter().map(|c| c.name.as_ref().map(|n| n.value.as_str())).collect();
    assert_eq!(names, [Some("positive"), None, Some("k"), None]);
    assert!(matches!(
        &create.constraints[1].kind,
        ConstraintKind::ForeignKey {
            on_delete: ReferenceAction::SetNull,
            on_update: ReferenceAction::Cascade,
            ..
        }
    ));
    let StatementKind::AlterTable { actions, .. } = kind(
        "ALTER TABLE t ADD COLUMN IF NOT EXISTS x INTEGER DEFAULT 1, DROP COLUMN IF EXISTS y CASCADE,
            ALTER COLUMN z SET DATA TYPE BIGINT USING z + 1, ALTER z SET DEFAULT 3, DROP CONSTRAINT k",
    ) else {
        panic!()
    };
    assert_eq!(actions.len(), 5);
    assert!(matches!(kind("ALTER VIEW v RENAME TO w"), StatementKind::RenameView { .. }));
    assert!(matches!(
        kind("ALTER SEQUENCE s RESTART"),
        StatementKind::AlterSequence(alter) if alter.restart == Some(None)
    ));
    assert!(matches!(
        kind("CREATE OR REPLACE TEMP SEQUENCE s MINVALUE -5 NO MAXVALUE OWNED BY t.a"),
        StatementKind::CreateSequence(create) if create.temporary && create.options.min == Some(Some(-5))
    ));
    assert!(matches!(kind("DROP SEQUENCE s, r CASCADE"), StatementKind::Drop { cascade: true, .. }));
}

#[test]
fn nodes_carry_their_places() {
    let found = select("SELECT a,\n  b + \n  (c), f(x) FROM t");
    let SelectItem::Expr { expr: sum, .. } = &found.items[1] else { panic!() };
    assert_eq!(sum.pos, Pos { line: 2, column: 5 });
    let ExprKind::Binary { right, .. } = &sum.kind else { panic!() };
    assert_eq!(right.pos, Pos { line: 3, column: 4 });
    let SelectItem::Expr { expr: call, .. } = &found.items[2] else { panic!() };
    assert_eq!(call.pos, Pos { line: 3, column: 8 });
    let TableRef::Table { name, .. } = &found.from[0] else { panic!() };
    assert_eq!(name.pos(), Pos { line: 3, column: 18 });
}

#[test]
fn errors_have_a_place() {
    let Err(Error::At { error, place }) = parse_statements("SELECT 1;\nSELECT FROM WHERE") else { panic!() };
    assert!(matches!(*error, Error::Syntax { .. }));
    assert_eq!(place.line, 2);
    for sql in [
        "SELECT 'abc",
        "SELEC 1",
        "SELECT (1",
        "SELECT 1 1 1",
        "SELECT * FROM",
        "COPY t FROM x",
        "\u{0}",
        "\"",
        "$",
        "?",
    ] {
        let Err(error) = parse_statements(sql) else { panic!("{sql}") };
        assert_eq!(error.sqlstate(), "42601", "{sql}: {error}");
    }
    let Err(error) = parse_statements("SELECT rank() IGNORE NULLS FROM t") else { panic!() };
    assert_eq!(error.sqlstate(), "42601");
}

#[test]
fn deep_nesting_is_an_error_or_works() {
    let repeated = |open: &str, middle: &str, close: &str, times: usize| {
        format!("SELECT {}{middle}{}", open.repeat(times), close.repeat(times))
    };
    assert!(parse_statements(&repeated("(", "1", ")", 200)).is_ok());
    for times in [2_000, 20_000] {
        assert!(parse_statements(&repeated("(", "1", ")", times)).is_err());
        assert!(parse_statements(&repeated("(SELECT ", "1", ")", times)).is_err());
        assert!(parse_statements(&repeated("f(", "1", ")", times)).is_err());
        assert!(parse_statements(&repeated("NOT ", "1", "", times)).is_err());
        assert!(parse_statements(&repeated("- ", "1", "", times)).is_err());
        assert!(parse_statements(&repeated("1 + ", "1", "", times)).is_err());
        assert!(parse_statements(&repeated("CASE WHEN 1 THEN ", "1", " END", times)).is_err());
        assert!(parse_statements(&repeated("", "1", "::integer", times)).is_err());
        assert_eq!(
            parse_statements(&repeated("1 UNION ALL SELECT ", "1", "", times)).is_ok(),
            times < 10_000
        );
        assert!(parse_statements(&repeated("1 UNION SELECT ", "1", "", times)).is_err());
        assert!(parse_statements(&repeated("1 = 1 AND ", "1", "", times / 4)).is_ok());
        assert!(
            parse_statements(&format!("SELECT * FROM {}t{}", "(".repeat(times), ")".repeat(times))).is_err()
        );
    }
    assert!(parse_statements(&repeated("1 OR ", "1", "", 10_000)).is_ok());
    assert!(parse_statements(&repeated("1 OR ", "1", "", 1_000_000)).is_err());
}

//! Plans and errors of statements over a small catalog.

use super::{BindContext, bind};
use crate::parser::parse_statement;
use crate::plan::{self, AggregateExpr, Columns, Expr, JoinKind, Plan, SortKey, Statement};
use inlay_catalog::{Catalog, ColumnSchema, TableSchema, ViewEntry};
use inlay_kernels::resolve::ResolveOptions;
use inlay_types::{Error, LogicalType, MemoryBudget, Result, Value};

fn catalog() -> Catalog {
    let catalog = Catalog::new(Vec::new(), MemoryBudget::unlimited());
    let create = |name: &str, columns: &[(&str, LogicalType)]| {
        let columns = columns.iter().map(|(name, ty)| ColumnSchema::new(*name, ty.clone())).collect();
        catalog.create_table(TableSchema::new(name, columns), false, false).unwrap();
    };
    let price = LogicalType::decimal(15, 2);
    create("t", &[("a", LogicalType::Integer), ("b", LogicalType::Integer), ("s", LogicalType::Varchar)]);
    create("u", &[("a", LogicalType::Integer), ("c", LogicalType::BigInt)]);
    create(
        "items",
        &[
            ("price", price.clone()),
            ("discount", price),
            ("day", LogicalType::Date),
            ("size", LogicalType::SmallInt),
        ],
    );
    let view = ViewEntry {
        name: "v".into(),
        aliases: vec!["x".into()],
        sql: "SELECT a, b FROM t WHERE a > 1".into(),
    };
    catalog.create_view(view, false, false).unwrap();
    let view = ViewEntry { name: "loop".into(), aliases: vec![], sql: "SELECT * FROM loop".into() };
    catalog.create_view(view, false, false).unwrap();
    catalog
}

fn bound_with(sql: &str, parameters: &[Value]) -> Result<Statement> {
    let catalog = catalog();
    let context = BindContext {
        catalog: &catalog,
        parameters,
        named_parameters: &[("name".to_string(), Value::Integer(7))],
        options: ResolveOptions::default(),
        default_order: Default::default(),
        default_collation: None,
        setting: &|name| (name == "threads").then_some(Value::BigInt(2)),
        run: None,
        slots: None,
        rights: None,
    };
    bind(&parse_statement(sql)?, &context)
}

fn query(sql: &str) -> plan::statement::Query {
    match bound_with(sql, &[]) {
        Ok(Statement::Query(query)) => query,
        Ok(other) => panic!("{sql}: {other:?}"),
        Err(error) => panic!("{:.200}\n{error}", sql),
    }
}

fn error(sql: &str) -> Error {
    match bound_with(sql, &[]) {
        Ok(_) => panic!("{sql}: no error"),
        Err(error) => error,
    }
}

/// Types and names of the result.
fn types(sql: &str) -> String {
    let query = query(sql);
    let shown = query.output.iter().map(|(id, name)| format!("{name} {}", query.columns.ty(*id)));
    shown.collect::<Vec<_>>().join(", ")
}

fn show(sql: &str) -> String {
    let query = query(sql);
    check(&query.plan, &mut Vec::new());
    let mut out = String::new();
    show_plan(&query.plan, &query.columns, 0, &mut out);
    out
}

/// Every operator reads only what its inputs output or an enclosing dependent join offers.
fn check(plan: &Plan, outer: &mut Vec<plan::ColumnId>) {
    let mut visible: Vec<_> = outer.clone();
    if let Plan::Scan { columns, .. } | Plan::Source { columns, .. } = plan {
        visible.extend(columns.iter().map(|column| column.id));
    }
    plan.inputs().iter().for_each(|input| visible.extend(input.output()));
    if let Plan::Join { kind: JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_), right, .. } = plan {
        visible.extend(right.output());
    }
    for expr in plan.expressions() {
        for id in expr.columns() {
            assert!(visible.contains(&id), "{id} is not visible to {plan:?}");
        }
    }
    match plan {
        Plan::DependentJoin { left, right, .. } => {
            check(left, outer);
            let depth = outer.len();
            outer.extend(left.output());
            check(right, outer);
            outer.truncate(depth);
        }
        other => other.inputs().into_iter().for_each(|input| check(input, outer)),
    }
}

fn show_plan(plan: &Plan, columns: &Columns, depth: usize, out: &mut String) {
    let exprs = |exprs: &[Expr]| exprs.iter().map(|e| show_expr(e, columns)).collect::<Vec<_>>().join(", ");
    let keys = |keys: &[SortKey]| {
        let key = |key: &SortKey| {
            format!("{}{}", show_expr(&key.expr, columns), if key.descending { " desc" } else { "" })
        };
        keys.iter().map(key).collect::<Vec<_>>().join(", ")
    };
    let items = |items: &[(plan::ColumnId, Expr)]| {
        items.iter().map(|(_, expr)| show_expr(expr, columns)).collect::<Vec<_>>().join(", ")
    };
    let line = match plan {
        Plan::Scan { table, row_id, .. } => {
            format!("scan {}{}", table.name, if row_id.is_some() { " rowid" } else { "" })
        }
        Plan::Source { source, .. } => format!("source {}", source.description()),
        Plan::Values { rows, .. } => {
            format!("values {}", rows.iter().map(|r| format!("({})", exprs(r))).collect::<Vec<_>>().join(" "))
        }
        Plan::Project { items: list, .. } => format!("project {}", items(list)),
        Plan::Filter { predicates, .. } => format!("filter {}", exprs(predicates)),
        Plan::Join { kind, conditions, .. } => {
            format!("join {} on [{}]", show_kind(*kind), exprs(conditions))
        }
        Plan::DependentJoin { kind, conditions, .. } => {
            format!("dependent {} on [{}]", show_kind(*kind), exprs(conditions))
        }
        Plan::Aggregate { groups, aggregates, .. } => {
            let shown =
                aggregates.iter().map(|(_, a)| show_aggregate(a, columns)).collect::<Vec<_>>().join(", ");
            format!("aggregate by [{}] {shown}", items(groups))
        }
        Plan::Sort { keys: list, limit, offset, .. } => {
            format!("sort {} limit {limit:?} offset {offset}", keys(list))
        }
        Plan::Limit { limit, offset, .. } => format!("limit {limit:?} offset {offset}"),
        Plan::SetOp { kind, all, .. } => format!("{kind:?} all={all}"),
        Plan::With { id, .. } => format!("with {}", id.0),
        Plan::SharedScan { id, .. } => format!("shared {}", id.0),
        other => format!("{other:?}"),
    };
    out.push_str(&format!("{}{}\n", "  ".repeat(depth), line.trim_end()));
    plan.inputs().into_iter().for_each(|input| show_plan(input, columns, depth + 1, out));
}

fn show_kind(kind: JoinKind) -> String {
    match kind {
        JoinKind::Mark(_) => "mark".into(),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn show_aggregate(aggregate: &AggregateExpr, columns: &Columns) -> String {
    let args = aggregate.args.iter().map(|arg| show_expr(arg, columns)).collect::<Vec<_>>().join(", ");
    let distinct = if aggregate.distinct { "distinct " } else { "" };
    let filter =
        aggregate.filter.as_ref().map(|f| format!(" where {}", show_expr(f, columns))).unwrap_or_default();
    format!("{}({distinct}{args}){filter}", aggregate.function.name)
}

fn show_expr(expr: &Expr, columns: &Columns) -> String {
    let list = |items: &[Expr], separator: &str| {
        items.iter().map(|e| show_expr(e, columns)).collect::<Vec<_>>().join(separator)
    };
    match expr {
        Expr::Column { id, .. } => columns.get(*id).name.clone(),
        Expr::Literal { value, ty } => format!("{value}:{ty}"),
        Expr::Call { function, args, .. } => format!("{}({})", function.name, list(args, ", ")),
        Expr::Cast { input, ty, .. } => format!("cast({} {ty})", show_expr(input, columns)),
        Expr::Compare { op, left, right } => {
            format!("({} {} {})", show_expr(left, columns), op.symbol(), show_expr(right, columns))
        }
        Expr::And(items) => format!("({})", list(items, " and ")),
        Expr::Or(items) => format!("({})", list(items, " or ")),
        Expr::Not(inner) => format!("not {}", show_expr(inner, columns)),
        Expr::IsNull(inner) => format!("{} is null", show_expr(inner, columns)),
        Expr::InConstants { input, list } => format!("{} in ({list:?})", show_expr(input, columns)),
        Expr::InList { input, list: items } => {
            format!("{} in ({})", show_expr(input, columns), list(items, ", "))
        }
        Expr::Case { branches, otherwise, .. } => {
            let shown =
                branches.iter().map(|(c, v)| format!("{}: {}", show_expr(c, columns), show_expr(v, columns)));
            format!("case {{{}; {}}}", shown.collect::<Vec<_>>().join("; "), show_expr(otherwise, columns))
        }
        Expr::Coalesce { args, .. } => format!("coalesce({})", list(args, ", ")),
        Expr::Lambda(lambda) => {
            format!(
                "{}({}: {})",
                lambda.kind.name(),
                list(&lambda.args, ", "),
                show_expr(&lambda.body, columns)
            )
        }
    }
}

#[test]
fn aliases_are_seen_by_subqueries() {
    for sql in [
        "SELECT a + 1 AS x, (SELECT x) FROM t",
        "SELECT a + 1 AS x, (SELECT max(c) FROM u WHERE u.a < x) FROM t",
        "SELECT a + 1 AS x, EXISTS (SELECT 1 FROM u WHERE u.a = x), x IN (SELECT c + x FROM u) FROM t",
        "SELECT sum(a) AS x, (SELECT x + 1) FROM t",
        "SELECT a + 1 AS x, (SELECT count(*) FROM u WHERE u.a <= x) FROM t GROUP BY x",
        "SELECT a + 1 AS x, count(*) FROM t GROUP BY a HAVING (SELECT x) > 1",
        "SELECT a + 1 AS x FROM t WHERE (SELECT x) = 1 ORDER BY (SELECT -x)",
        "SELECT a + 1 AS x, x * 2 AS y, (SELECT (SELECT sum(u.a + y) FROM u)) FROM t",
        "SELECT random() AS x, (SELECT x) = x FROM t",
        "SELECT (SELECT max(a) FROM u) AS x, (SELECT x + 1) FROM t",
        "SELECT row_number() OVER () AS x, (SELECT x + 1) FROM t",
        "SELECT a + 1 AS x, [(SELECT x) + y FOR y IN [1, 2]] FROM t",
    ] {
        show(sql);
    }
    // A column that is visible there comes first, whatever SELECT makes of the name.
    assert_eq!(types("SELECT s || 'x' AS c, (SELECT max(c) FROM u) AS m FROM t"), "c VARCHAR, m BIGINT");
    assert_eq!(types("SELECT s || 'x' AS a, (SELECT a) AS m FROM t"), "a VARCHAR, m INTEGER");
    for sql in [
        "SELECT (SELECT x) AS x FROM t",
        "SELECT a AS x FROM t, (SELECT x) s",
        "SELECT 1 AS x, (SELECT t.x) FROM t",
    ] {
        assert!(matches!(error(sql).root(), Error::UndefinedColumn { .. }), "{sql}: {}", error(sql));
    }
}

#[test]
fn plain_select() {
    assert_eq!(
        show("SELECT a, s FROM t WHERE b = 1 AND s = 'x' ORDER BY a DESC LIMIT 3 OFFSET 1"),
        "sort a desc limit Some(3) offset 1\n  filter (b = 1:INTEGER), (s = x:VARCHAR)\n    scan t\n"
    );
    assert_eq!(show("SELECT 1"), "project 1:INTEGER\n  values ()\n");
    assert_eq!(
        types("SELECT *, t.a AS x, 1.5, 3000000000, NULL, 'q' FROM t"),
        "a INTEGER, b INTEGER, s VARCHAR, x INTEGER, 1.5 DECIMAL(2,1), 3000000000 BIGINT, NULL INTEGER, 'q' VARCHAR"
    );
    assert_eq!(types("SELECT * EXCLUDE (a) REPLACE (1 AS b) RENAME (s AS z) FROM t"), "b INTEGER, z VARCHAR");
    assert_eq!(types("FROM t"), "a INTEGER, b INTEGER, s VARCHAR");
    assert_eq!(types("SELECT x, v.b FROM v"), "x INTEGER, b INTEGER");
}

#[test]
fn literals_adapt_to_columns() {
    assert_eq!(
        show("SELECT 1 AS one FROM items WHERE size = 5 AND price < 24 AND discount BETWEEN 0.05 AND 0.07"),
        "project 1:INTEGER\n  filter (size = 5:SMALLINT), (price < 24.00:DECIMAL(15,2)), \
         ((discount >= 0.05:DECIMAL(15,2)) and (discount <= 0.07:DECIMAL(15,2)))\n    scan items\n"
    );
    assert!(show("SELECT a FROM t WHERE a IN (1, 2, 3)").contains("a in (1:INTEGER, 2:INTEGER, 3:INTEGER)"));
    assert!(show("SELECT a FROM t JOIN u USING (a) WHERE c = t.a").contains("(c = cast(a BIGINT))"));
}

#[test]
fn joins_and_using() {
    assert_eq!(types("SELECT * FROM t JOIN u USING (a)"), "a INTEGER, b INTEGER, s VARCHAR, c BIGINT");
    assert_eq!(types("SELECT * FROM t NATURAL FULL JOIN u"), "a INTEGER, b INTEGER, s VARCHAR, c BIGINT");
    assert!(show("SELECT a FROM t FULL JOIN u USING (a)").contains("coalesce(a, a)"));
    assert!(show("SELECT * FROM t SEMI JOIN u ON t.a = u.a").starts_with("join semi on [(a = a)]"));
    assert!(
        show("SELECT * FROM t RIGHT JOIN u ON t.a = u.a").starts_with("join left on [(a = a)]\n  scan u")
    );
    assert!(
        show("SELECT * FROM t, LATERAL (SELECT c FROM u WHERE u.a = t.a) l")
            .starts_with("dependent inner on []")
    );
    assert!(
        show("SELECT * FROM t LEFT JOIN u ON t.a = (SELECT max(a) FROM u x WHERE x.a = u.a AND x.c = t.b)")
            .starts_with("dependent left on []")
    );
    assert!(show("SELECT * FROM t, u").starts_with("join inner on []"));
}

#[test]
fn aggregates() {
    assert_eq!(show("SELECT b, count(*), sum(a) FROM t GROUP BY b HAVING count(*) > 1 ORDER BY 2"),
        "sort count_star() limit None offset 0\n  filter (count_star() > 1:BIGINT)\n    aggregate by [b] count(), sum(a)\n      scan t\n"
            .replace("count()", "count_star()"));
    assert_eq!(
        show("SELECT b + 1 AS x FROM t GROUP BY x ORDER BY x"),
        "sort (b + 1) limit None offset 0\n  aggregate by [+(b, 1:INTEGER)]\n    scan t\n"
            .replace("(b + 1)", "x")
    );
    assert!(show("SELECT b, sum(a) AS total FROM t GROUP BY ALL").contains("aggregate by [b] sum(a)"));
    assert!(show("SELECT sum(a) FILTER (WHERE b > 1), count(DISTINCT s) FROM t").contains("(distinct s)"));
    assert!(show("SELECT DISTINCT a FROM t ORDER BY a").contains("aggregate by [a]\n"));
    assert!(show("SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b").contains("aggregate by [a] first(b)"));
    assert_eq!(
        types("SELECT sum(a), avg(a), count(a), min(s) FROM t"),
        "sum(a) HUGEINT, avg(a) DOUBLE, count(a) BIGINT, min(s) VARCHAR"
    );
}

#[test]
fn subqueries_become_joins() {
    assert!(
        show("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)")
            .starts_with("dependent semi on []")
    );
    assert!(show("SELECT a FROM t WHERE a IN (SELECT a FROM u)").starts_with("join semi on [(a = a)]"));
    assert!(
        show("SELECT a FROM t WHERE a NOT IN (SELECT a FROM u)")
            .starts_with("filter not any\n  join mark on [(a = a)]")
    );
    assert!(
        show("SELECT a, (SELECT max(c) FROM u WHERE u.a = t.a) AS m FROM t")
            .contains("dependent single on []")
    );
    assert!(show("SELECT a FROM t WHERE a > (SELECT max(a) FROM u)").contains("join single on []"));
    assert!(
        show("SELECT a FROM t WHERE a > ALL (SELECT a FROM u)")
            .starts_with("filter not any\n  join mark on [(a <= a)]")
    );
    let grouped = show("SELECT b, (SELECT count(*) FROM u WHERE u.a = t.b) FROM t GROUP BY b");
    assert!(
        grouped.contains("dependent single on []\n    aggregate by [b]")
            || grouped.contains("dependent single on []\n  aggregate by [b]"),
        "{grouped}"
    );
    let outer = show("SELECT b FROM t GROUP BY b HAVING EXISTS (SELECT 1 FROM u WHERE u.c > sum(t.a))");
    assert!(outer.contains("aggregate by [b] sum(a)\n    scan t"), "{outer}");
    assert!(outer.contains("(cast(c HUGEINT) > sum(a))"), "{outer}");
    assert!(
        show("SELECT sum((SELECT max(c) FROM u WHERE u.a = t.a)) FROM t")
            .contains("aggregate by [] sum(max(c))\n  dependent single")
    );
    assert!(
        show("SELECT (SELECT b FROM t LIMIT 1) AS x, count(*) FROM t GROUP BY x")
            .contains("aggregate by [b]")
    );
}

#[test]
fn ctes_are_shared_or_inlined() {
    assert!(
        show("WITH c AS (SELECT b, count(*) AS n FROM t GROUP BY b) SELECT * FROM c x, c y")
            .starts_with("with 0\n")
    );
    assert!(!show("WITH c AS (SELECT b, count(*) AS n FROM t GROUP BY b) SELECT * FROM c").contains("with"));
    assert!(!show("WITH c AS (SELECT b FROM t) SELECT * FROM c x, c y").contains("shared"));
    assert!(
        show("WITH c AS (SELECT b FROM t), d AS (SELECT b FROM c) SELECT * FROM d, d e, c")
            .contains("scan t")
    );
    assert_eq!(types("WITH c(x) AS (SELECT b FROM t) SELECT * FROM c"), "x INTEGER");
    assert!(show("SELECT (WITH c AS (SELECT t.a AS x) SELECT x FROM c) FROM t").contains("dependent single"));
}

#[test]
fn set_operations_and_values() {
    assert_eq!(types("SELECT a FROM t UNION ALL SELECT c FROM u ORDER BY a LIMIT 1"), "a BIGINT");
    assert_eq!(types("SELECT NULL AS x UNION SELECT 'a'"), "x VARCHAR");
    assert_eq!(
        types("SELECT a, b FROM t UNION BY NAME SELECT b, s FROM t"),
        "a INTEGER, b INTEGER, s VARCHAR"
    );
    assert_eq!(
        show("VALUES (1, 'a'), (NULL, 'b')"),
        "values (1:INTEGER, a:VARCHAR) (NULL:INTEGER, b:VARCHAR)\n"
    );
    assert_eq!(types("SELECT * FROM (VALUES (1, 2.5), (3, 10)) v(x, y)"), "x INTEGER, y DECIMAL(11,1)");
}

#[test]
fn parameters_take_values() {
    let Ok(Statement::Query(query)) =
        bound_with("SELECT a FROM t WHERE a = ? LIMIT $2", &[Value::BigInt(5), Value::BigInt(2)])
    else {
        panic!()
    };
    let mut out = String::new();
    show_plan(&query.plan, &query.columns, 0, &mut out);
    assert!(out.contains("(a = 5:INTEGER)") && out.contains("limit Some(2)"), "{out}");
    assert!(matches!(error("SELECT ?").root(), Error::InvalidArgument { .. }));
    assert!(matches!(error("SELECT $other").root(), Error::InvalidArgument { .. }));
    assert_eq!(types("SELECT $name AS x"), "x INTEGER");
}

#[test]
fn changes() {
    let Ok(Statement::Insert(insert)) = bound_with("INSERT INTO u (c) VALUES (1), (DEFAULT)", &[]) else {
        panic!()
    };
    let query = insert.query;
    let mut out = String::new();
    show_plan(&query.plan, &query.columns, 0, &mut out);
    assert_eq!(out, "values (NULL:INTEGER, 1:BIGINT) (NULL:INTEGER, NULL:BIGINT)\n");
    let Ok(Statement::Update(update)) = bound_with("UPDATE t SET b = a + 1, s = 'x' WHERE a = 1", &[]) else {
        panic!()
    };
    assert_eq!((update.set, update.query.output.len()), (vec![1, 2], 3));
    let Ok(Statement::Delete(delete)) = bound_with("DELETE FROM t WHERE a IN (SELECT a FROM u)", &[]) else {
        panic!()
    };
    assert_eq!(delete.query.output.len(), 1);
    let Ok(Statement::CreateTable(create)) =
        bound_with("CREATE TABLE n (x INTEGER PRIMARY KEY, y INTEGER DEFAULT 1 + 1)", &[])
    else {
        panic!()
    };
    let schema = create.schema;
    assert!(
        schema.columns[0].unique
            && schema.columns[0].not_null
            && schema.columns[1].default.as_deref() == Some("1 + 1")
    );
    let Ok(Statement::CreateTable(create)) = bound_with("CREATE TABLE n AS SELECT a, a FROM t", &[]) else {
        panic!()
    };
    assert_eq!(create.schema.columns[1].name, "a_1");
    assert!(
        matches!(bound_with("CREATE VIEW w AS SELECT * FROM t", &[]), Ok(Statement::CreateView { sql, .. }) if sql == "SELECT * FROM t")
    );
    assert_eq!(query_rows("DESCRIBE t"), 3);
    assert_eq!(query_rows("SHOW threads"), 1);
    assert_eq!(query_rows("SHOW TABLES"), 5);
}

fn query_rows(sql: &str) -> usize {
    match query(sql).plan {
        Plan::Values { rows, .. } => rows.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_name_thing_place_and_candidates() {
    let text = |sql: &str| error(sql).to_string();
    assert_eq!(
        text("SELECT pirce FROM items"),
        "column \"pirce\" does not exist; did you mean \"price\"?\nline 1: SELECT pirce FROM items\n               ^"
    );
    assert!(text("SELECT * FROM item").contains("did you mean \"items\"?"));
    assert!(text("SELECT a FROM t, u").contains("ambiguous"));
    assert!(text("SELECT x.a FROM t").starts_with("table \"x\" does not exist"));
    let checks: [(&str, &str); 22] = [
        ("SELECT a, count(*) FROM t", "42803"),
        ("SELECT a FROM t GROUP BY b", "42803"),
        ("SELECT (SELECT t.a) FROM t GROUP BY b", "42803"),
        ("SELECT a FROM t WHERE count(*) > 1", "42803"),
        ("SELECT sum(sum(a)) FROM t", "42803"),
        ("SELECT a FROM t GROUP BY 2", "42P10"),
        ("SELECT a FROM t ORDER BY 3", "42P10"),
        ("SELECT (SELECT a, b FROM t)", "42P10"),
        ("SELECT a FROM t UNION SELECT a, b FROM t", "42P10"),
        ("SELECT a FROM t WHERE day", "42703"),
        ("SELECT 1 FROM items WHERE day", "42804"),
        ("SELECT nosuch(a) FROM t", "42883"),
        ("SELECT * FROM nosuch(1)", "42883"),
        ("SELECT a FROM t LIMIT a", "42703"),
        ("SELECT * FROM loop", "42P10"),
        ("INSERT INTO t (a, nosuch) VALUES (1, 2)", "42703"),
        ("INSERT INTO t VALUES (1)", "42P10"),
        ("INSERT INTO nosuch VALUES (1)", "42P01"),
        ("DROP TABLE nosuch", "42P01"),
        ("CREATE TABLE n (x INTEGER, x INTEGER)", "42P07"),
        ("SELECT * FROM t JOIN u USING (b)", "42703"),
        ("SELECT a FROM t LIMIT -1", "22003"),
    ];
    for (sql, state) in checks {
        let error = error(sql);
        assert_eq!(error.sqlstate(), state, "{sql}: {error}");
    }
}

#[test]
fn aliases_are_visible_where_duckdb_shows_them() {
    assert!(show("SELECT a + 1 AS x FROM t WHERE x > 1").contains("filter (+(a, 1:INTEGER) > 1:INTEGER)"));
    assert!(show("SELECT a + 1 AS x, x * 2 AS y FROM t").contains("*(+(a, 1:INTEGER), 2:INTEGER)"));
    assert!(show("SELECT sum(a) AS total FROM t HAVING total > 1").contains("(sum(a) >"));
    // A column goes before an alias, except in ORDER BY.
    assert!(show("SELECT b AS a FROM t WHERE a = 1").contains("filter (a = 1:INTEGER)"));
    assert!(show("SELECT b AS a FROM t ORDER BY a").starts_with("sort b limit"));
}

#[test]
fn deep_expressions_bind() {
    // As connections do: a test's thread has too little for the frames of an unoptimised build.
    crate::with_statement_stack(|| {
        let chain = format!("SELECT {} FROM t", vec!["a"; 500].join(" + "));
        assert!(types(&chain).len() > 10);
        let or = format!("SELECT a FROM t WHERE {}", vec!["a = 1"; 20_000].join(" OR "));
        let _ = query(&or);
        let nested = format!("SELECT {}a{} FROM t", "coalesce(".repeat(300), ", 1)".repeat(300));
        let _ = query(&nested);
    });
}

/// The tables of TPC-H and of `tests/zoo`.
const WORKLOAD_TABLES: &str = "
    CREATE TABLE region (r_regionkey INTEGER, r_name VARCHAR, r_comment VARCHAR);
    CREATE TABLE nation (n_nationkey INTEGER, n_name VARCHAR, n_regionkey INTEGER, n_comment VARCHAR);
    CREATE TABLE supplier (s_suppkey BIGINT, s_name VARCHAR, s_address VARCHAR, s_nationkey INTEGER, s_phone VARCHAR,
        s_acctbal DECIMAL(15,2), s_comment VARCHAR);
    CREATE TABLE customer (c_custkey BIGINT, c_name VARCHAR, c_address VARCHAR, c_nationkey INTEGER, c_phone VARCHAR,
        c_acctbal DECIMAL(15,2), c_mktsegment VARCHAR, c_comment VARCHAR);
    CREATE TABLE part (p_partkey BIGINT, p_name VARCHAR, p_mfgr VARCHAR, p_brand VARCHAR, p_type VARCHAR, p_size INTEGER,
        p_container VARCHAR, p_retailprice DECIMAL(15,2), p_comment VARCHAR);
    CREATE TABLE partsupp (ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty BIGINT, ps_supplycost DECIMAL(15,2),
        ps_comment VARCHAR);
    CREATE TABLE orders (o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus VARCHAR, o_totalprice DECIMAL(15,2),
        o_orderdate DATE, o_orderpriority VARCHAR, o_clerk VARCHAR, o_shippriority INTEGER, o_comment VARCHAR);
    CREATE TABLE lineitem (l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber BIGINT,
        l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2),
        l_returnflag VARCHAR, l_linestatus VARCHAR, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE,
        l_shipinstruct VARCHAR, l_shipmode VARCHAR, l_comment VARCHAR);
    CREATE TABLE dept (id INTEGER, name VARCHAR, city VARCHAR, budget INTEGER);
    CREATE TABLE emp (id INTEGER, dept INTEGER, boss INTEGER, name VARCHAR, pay DECIMAL(8, 2), hired DATE);
    CREATE TABLE task (id INTEGER, emp INTEGER, hours INTEGER, kind VARCHAR, due DATE);
    CREATE TABLE nums (a INTEGER, b INTEGER, s VARCHAR, f DOUBLE)";

/// Every query of TPC-H and of the subquery zoo binds to a plan in which each operator sees what it reads.
#[test]
fn the_workloads_bind() {
    let catalog = Catalog::new(Vec::new(), MemoryBudget::unlimited());
    let context = BindContext {
        catalog: &catalog,
        parameters: &[],
        named_parameters: &[],
        options: ResolveOptions::default(),
        default_order: Default::default(),
        default_collation: None,
        setting: &|_| None,
        run: None,
        slots: None,
        rights: None,
    };
    for statement in crate::parser::parse_statements(WORKLOAD_TABLES).unwrap() {
        let Statement::CreateTable(create) = bind(&statement, &context).unwrap() else { panic!() };
        catalog.create_table(create.schema, false, false).unwrap();
    }
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests");
    let mut failures = Vec::new();
    let mut queries: Vec<String> = Vec::new();
    for number in 1..=22 {
        queries.push(std::fs::read_to_string(format!("{tests}/tpch/queries/q{number:02}.sql")).unwrap());
    }
    let zoo = std::fs::read_to_string(format!("{tests}/zoo/queries.sql")).unwrap();
    queries.extend(zoo.split("\n\n").map(str::to_string));
    for text in queries {
        match parse_statement(&text).and_then(|statement| bind(&statement, &context)) {
            Ok(Statement::Query(query)) => check(&query.plan, &mut Vec::new()),
            Ok(other) => panic!("{other:?}"),
            Err(error) => failures.push(format!("{text}\n{error}")),
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

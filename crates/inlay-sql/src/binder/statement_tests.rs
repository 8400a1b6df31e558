//! What statements that change rows or schemas are bound to, over two databases with every kind of constraint.

use super::{BindContext, Databases, bind, bind_generated, bind_row_expressions};
use crate::parser::parse_statement;
use crate::plan::display::expr_text;
use crate::plan::statement::*;
use crate::plan::{Columns, Expr, Plan};
use inlay_catalog::{
    Catalog, CatalogEntry, Counter, IndexEntry, Sequence, TableFunction, TableSchema, ViewEntry,
};
use inlay_kernels::resolve::ResolveOptions;
use inlay_storage::{Origin, ReferenceAction};
use inlay_types::{MemoryBudget, Result, Value};
use std::sync::Arc;

/// `shop`, the current database, and `depot`.
struct Attached {
    shop: Catalog,
    depot: Catalog,
    sequences: Vec<Arc<dyn Sequence>>,
}

impl Attached {
    fn catalog(&self, name: &str) -> Option<&Catalog> {
        match name.to_lowercase().as_str() {
            "shop" => Some(&self.shop),
            "depot" => Some(&self.depot),
            _ => None,
        }
    }
}

impl Databases for Attached {
    fn current(&self) -> String {
        "shop".into()
    }

    fn names(&self) -> Vec<String> {
        vec!["shop".into(), "depot".into()]
    }

    fn resolve(&self, database: Option<&str>, name: &str) -> Option<(String, CatalogEntry)> {
        let database = database.unwrap_or("shop").to_lowercase();
        let entry = self.catalog(&database)?.get(name)?;
        Some((database, entry))
    }

    fn entries(&self, database: &str) -> Vec<(String, CatalogEntry)> {
        self.catalog(database).map(Catalog::entries).unwrap_or_default()
    }

    fn index(&self, database: Option<&str>, name: &str) -> Option<(String, IndexEntry)> {
        let database = database.unwrap_or("shop").to_string();
        let index = Catalog::index(self.catalog(&database)?, name)?;
        Some((database, index))
    }

    fn sequence(&self, database: Option<&str>, name: &str) -> Option<(String, Arc<dyn Sequence>)> {
        let found =
            self.sequences.iter().find(|sequence| sequence.schema().name.eq_ignore_ascii_case(name))?;
        (database.unwrap_or("shop") == "shop").then(|| ("shop".to_string(), Arc::clone(found)))
    }

    fn sequences(&self, database: &str) -> Vec<Arc<dyn Sequence>> {
        if database == "shop" { self.sequences.clone() } else { Vec::new() }
    }

    fn table_function(&self, _name: &str) -> Option<Arc<dyn TableFunction>> {
        None
    }

    fn table_function_names(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

const SHOP: [&str; 6] = [
    "CREATE SEQUENCE numbers START WITH 100 INCREMENT BY 10",
    "CREATE TABLE customer (id INTEGER GENERATED ALWAYS AS IDENTITY (START WITH 5) PRIMARY KEY, name VARCHAR NOT NULL,
        email VARCHAR UNIQUE, CONSTRAINT named CHECK (name <> ''))",
    "CREATE TABLE orders (no BIGSERIAL PRIMARY KEY, customer INTEGER REFERENCES customer ON DELETE CASCADE,
        amount INTEGER DEFAULT 1 CHECK (amount > 0), price INTEGER, total INTEGER GENERATED ALWAYS AS (amount * price))",
    "CREATE TABLE part (a INTEGER, b INTEGER, c INTEGER, UNIQUE (a, b))",
    "CREATE TABLE plain (x INTEGER, y VARCHAR)",
    "CREATE TABLE source (no BIGINT, amount INTEGER, price INTEGER)",
];

fn attached() -> Attached {
    let new = || Catalog::new(Vec::new(), MemoryBudget::unlimited());
    let mut attached = Attached { shop: new(), depot: new(), sequences: Vec::new() };
    for sql in SHOP {
        match bound_in(&attached, sql).unwrap() {
            Statement::CreateTable(create) => {
                for sequence in create.sequences {
                    attached.sequences.push(Arc::new(Counter::new(sequence, None)));
                }
                attached.shop.create_table(create.schema, false, false).unwrap();
            }
            Statement::CreateSequence { sequence, .. } => {
                attached.sequences.push(Arc::new(Counter::new(sequence, None)));
            }
            other => panic!("{other:?}"),
        }
    }
    let Statement::CreateTable(create) =
        bound_in(&attached, "CREATE TABLE depot.stock (id INTEGER)").unwrap()
    else {
        panic!()
    };
    assert_eq!(create.database, "depot");
    attached.depot.create_table(create.schema, false, false).unwrap();
    let view = ViewEntry { name: "seen".into(), aliases: vec![], sql: "SELECT id FROM stock".into() };
    attached.depot.create_view(view, false, false).unwrap();
    attached
}

fn with_context<T>(attached: &Attached, inner: impl FnOnce(&BindContext<'_>) -> T) -> T {
    inner(&BindContext {
        catalog: attached,
        parameters: &[],
        named_parameters: &[],
        options: ResolveOptions::default(),
        default_order: Default::default(),
        default_collation: None,
        setting: &|_| None,
        run: None,
        slots: None,
        rights: None,
    })
}

fn bound_in(attached: &Attached, sql: &str) -> Result<Statement> {
    with_context(attached, |context| bind(&parse_statement(sql)?, context))
}

fn bound(sql: &str) -> Statement {
    bound_in(&attached(), sql).unwrap_or_else(|error| panic!("{sql}\n{error}"))
}

fn error(sql: &str) -> String {
    match bound_in(&attached(), sql) {
        Ok(bound) => panic!("{sql}: {bound:?}"),
        Err(error) => error.to_string(),
    }
}

/// A row expression, its columns by number.
fn text(expr: &Expr) -> String {
    let mut columns = Columns::new();
    for (index, id) in (0..=expr.columns().last().map_or(0, |id| id.0)).enumerate() {
        columns.add(format!("#{id}"), inlay_types::LogicalType::Integer);
        assert_eq!(index, id as usize);
    }
    expr_text(expr, &columns)
}

fn texts(exprs: &[Expr]) -> Vec<String> {
    exprs.iter().map(text).collect()
}

macro_rules! bound_as {
    ($kind:ident, $sql:expr) => {
        match bound($sql) {
            Statement::$kind(inner) => inner,
            other => panic!("{}: {other:?}", $sql),
        }
    };
}

fn schema_of(name: &str) -> TableSchema {
    attached().shop.table(name).unwrap().table.schema().clone()
}

#[test]
fn create_table_fills_the_schema() {
    let customer = schema_of("customer");
    assert_eq!((customer.primary_key.as_slice(), customer.checks[0].name.as_str()), (&[0][..], "named"));
    assert!(customer.columns[0].not_null && customer.columns[0].unique && customer.columns[2].unique);
    assert_eq!(customer.columns[0].origin, Origin::IdentityAlways);
    assert_eq!(customer.columns[0].default.as_deref(), Some("nextval('customer_id_seq')"));
    let orders = schema_of("orders");
    let key = &orders.foreign_keys[0];
    assert_eq!(
        (key.name.as_str(), key.table.as_str(), &key.referenced[..]),
        ("orders_customer_fkey", "customer", &["id".to_string()][..])
    );
    assert_eq!((key.on_delete, key.on_update), (ReferenceAction::Cascade, ReferenceAction::NoAction));
    assert_eq!(orders.checks[0].name, "orders_amount_check");
    assert_eq!(orders.columns[4].origin, Origin::Computed("amount * price".into()));
    assert_eq!(schema_of("part").keys, [vec![0, 1]]);
    let attached = attached();
    let identity = attached.sequence(None, "customer_id_seq").unwrap().1.schema();
    assert_eq!((identity.start, identity.max), (5, i64::from(i32::MAX)));
    assert_eq!(identity.owner, Some(("customer".into(), "id".into())));
    let own =
        bound_as!(CreateTable, "CREATE TABLE tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES tree)");
    assert_eq!(own.schema.foreign_keys[0].referenced, ["id"]);
}

#[test]
fn create_table_refuses_what_cannot_hold() {
    for (sql, wanted) in [
        ("CREATE TABLE n (a INTEGER REFERENCES nosuch)", "table \"nosuch\" does not exist"),
        (
            "CREATE TABLE n (a INTEGER REFERENCES customer (name))",
            "no PRIMARY KEY or UNIQUE constraint on (name)",
        ),
        ("CREATE TABLE n (a BIGINT REFERENCES customer)", "of type BIGINT cannot refer to"),
        ("CREATE TABLE n (a INTEGER REFERENCES plain)", "has no PRIMARY KEY"),
        ("CREATE TABLE n (a INTEGER REFERENCES depot.stock)", "another database"),
        ("CREATE TABLE n (a INTEGER CHECK (b > 1))", "column \"b\" does not exist"),
        ("CREATE TABLE n (a INTEGER CHECK (a IN (SELECT x FROM plain)))", "a subquery in CHECK"),
        ("CREATE TABLE n (a INTEGER PRIMARY KEY, b INTEGER PRIMARY KEY)", "has a PRIMARY KEY already"),
        ("CREATE TABLE n (a INTEGER AS (random()))", "the same value each time"),
        ("CREATE TABLE n (a INTEGER AS (b), b INTEGER AS (a))", "cannot be computed from itself"),
        ("CREATE TABLE n (a VARCHAR GENERATED BY DEFAULT AS IDENTITY)", "SMALLINT, INTEGER or BIGINT"),
        ("CREATE TABLE n (a INTEGER COLLATE nocase)", "cannot have a collation"),
        (
            "CREATE TABLE n (a INTEGER, CONSTRAINT c CHECK (a > 1), CONSTRAINT c CHECK (a > 2))",
            "constraint \"c\"",
        ),
        ("CREATE TABLE n (a INTEGER DEFAULT nextval('number'))", "did you mean \"numbers\""),
        ("CREATE OR REPLACE TABLE customer (id INTEGER)", "cannot be replaced: foreign key"),
        ("CREATE TABLE nowhere.n (a INTEGER)", "database or schema \"nowhere\" does not exist"),
    ] {
        let message = error(sql);
        assert!(message.contains(wanted), "{sql}\n{message}");
    }
    assert_eq!(
        error("CREATE TABLE n (a INTEGER, CHECK (c > 1))"),
        "column \"c\" does not exist; did you mean \"a\"?\nline 1: CREATE TABLE n (a INTEGER, CHECK (c > 1))\n                                          ^"
    );
}

#[test]
fn insert_gives_every_column_its_value() {
    let insert = bound_as!(Insert, "INSERT INTO orders (customer, price) VALUES (1, 7), (2, DEFAULT)");
    assert_eq!((insert.database.as_str(), insert.query.output.len()), ("shop", 5));
    assert_eq!(insert.checks.len(), 1);
    assert_eq!(text(&insert.checks[0].condition), "#2 > 0");
    let Plan::Project { input, items } = &insert.query.plan else { panic!("{:?}", insert.query.plan) };
    assert!(matches!(&items[4].1, Expr::Call { function, .. } if function.name == "*"));
    let Plan::Values { rows, .. } = &**input else { panic!("{input:?}") };
    assert!(matches!(&rows[0][0], Expr::Call { function, .. } if function.name == "nextval"));
    let named = bound_as!(Insert, "INSERT INTO plain BY NAME SELECT 'q' AS y, 1 AS x");
    assert_eq!(named.query.output.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(), ["x", "y"]);
    let _ = bound("INSERT INTO customer (id, name) OVERRIDING SYSTEM VALUE VALUES (3, 'x')");
    let _ = bound("INSERT INTO customer DEFAULT VALUES");
    let _ = bound("INSERT INTO orders SELECT no, 1, amount, price FROM source");
    for (sql, wanted) in [
        ("INSERT INTO customer (id, name) VALUES (3, 'x')", "OVERRIDING SYSTEM VALUE"),
        ("INSERT INTO orders (total) VALUES (3)", "is generated: only DEFAULT"),
        ("INSERT INTO plain BY NAME SELECT 1 AS z", "column \"plain.z\" does not exist"),
        ("INSERT INTO plain VALUES (1, 'a') RETURNING z", "column \"z\" does not exist"),
    ] {
        let message = error(sql);
        assert!(message.contains(wanted), "{sql}\n{message}");
    }
}

#[test]
fn on_conflict_names_a_key_and_reads_both_rows() {
    let insert = bound_as!(
        Insert,
        "INSERT INTO orders AS o (no, amount, price) VALUES (1, 2, 3) ON CONFLICT (no) DO UPDATE
            SET amount = o.amount + excluded.amount WHERE price < excluded.price RETURNING *, no + 1 AS next"
    );
    let OnConflict::Update(update) = &insert.on_conflict else { panic!("{:?}", insert.on_conflict) };
    // The generated column follows: 2 is amount, 3 is price, 7 and 8 are those of excluded.
    assert_eq!((update.key.as_slice(), update.set.as_slice()), (&[0][..], &[2, 4][..]));
    assert_eq!(texts(&update.values), ["#2 + #7", "(#2 + #7) * #3"]);
    assert_eq!(update.filter.as_ref().map(text).as_deref(), Some("#3 < #8"));
    let returning = insert.returning.unwrap();
    assert_eq!(returning.items.len(), 6);
    assert_eq!((returning.items[5].0.as_str(), text(&returning.items[4].1).as_str()), ("next", "#4"));
    let conflict = |sql: &str| bound_as!(Insert, sql).on_conflict;
    assert_eq!(conflict("INSERT OR IGNORE INTO part VALUES (1, 2, 3)"), OnConflict::Nothing { key: None });
    assert_eq!(
        conflict("INSERT INTO part VALUES (1, 2, 3) ON CONFLICT (b, a) DO NOTHING"),
        OnConflict::Nothing { key: Some(vec![0, 1]) }
    );
    let OnConflict::Update(replace) = conflict("INSERT OR REPLACE INTO part VALUES (1, 2, 3)") else {
        panic!()
    };
    assert_eq!((replace.set.as_slice(), texts(&replace.values)), (&[2][..], vec!["#5".to_string()]));
    assert!(matches!(
        conflict("INSERT INTO customer (name) VALUES ('a') ON CONFLICT ON CONSTRAINT customer_pkey DO NOTHING"),
        OnConflict::Nothing { key: Some(key) } if key == [0]
    ));
    for (sql, wanted) in [
        (
            "INSERT INTO part VALUES (1, 2, 3) ON CONFLICT (c) DO NOTHING",
            "no PRIMARY KEY, UNIQUE constraint or index on (c)",
        ),
        ("INSERT OR REPLACE INTO plain VALUES (1, 'a')", "has no PRIMARY KEY or UNIQUE constraint"),
        ("INSERT OR REPLACE INTO customer (name) VALUES ('a')", "has 2 keys"),
        (
            "INSERT INTO part VALUES (1, 2, 3) ON CONFLICT (a, b) DO UPDATE SET d = 1",
            "column \"part.d\" does not exist",
        ),
        (
            "INSERT INTO part VALUES (1, 2, 3) ON CONFLICT (a, b) DO UPDATE SET c = (SELECT 1)",
            "a subquery in ON CONFLICT",
        ),
    ] {
        let message = error(sql);
        assert!(message.contains(wanted), "{sql}\n{message}");
    }
}

#[test]
fn update_and_delete_bring_what_is_read_afterwards() {
    let update = bound_as!(Update, "UPDATE orders SET amount = amount + 1 WHERE price > 2 RETURNING no");
    assert_eq!((update.set.as_slice(), update.kept.as_slice()), (&[2, 4][..], &[0][..]));
    assert_eq!((update.query.output.len(), update.checks.len()), (4, 1));
    let update = bound_as!(Update, "UPDATE part SET b = 1");
    assert_eq!((update.set.as_slice(), update.kept.as_slice()), (&[1][..], &[0][..]));
    let update = bound_as!(
        Update,
        "UPDATE orders SET price = s.price FROM source s WHERE s.no = orders.no RETURNING *"
    );
    assert!(matches!(update.query.plan, Plan::Aggregate { .. }), "{:?}", update.query.plan);
    assert!(update.checks.is_empty());
    assert_eq!(update.query.output.len(), 1 + update.set.len() + update.kept.len());
    // Orders refer to the customer's id.
    let delete = bound_as!(Delete, "DELETE FROM customer WHERE name = 'x' RETURNING email AS mail");
    assert_eq!((delete.kept.as_slice(), delete.query.output.len()), (&[0, 2][..], 3));
    let delete = bound_as!(Delete, "DELETE FROM plain USING source s WHERE s.amount = x");
    assert_eq!(delete.query.output.len(), 1);
    assert!(error("UPDATE orders SET total = 1").contains("it can only be set to DEFAULT"));
    assert!(error("UPDATE customer SET id = 1").contains("GENERATED ALWAYS AS IDENTITY"));
}

#[test]
fn merge_joins_and_numbers_what_its_clauses_read() {
    let merge = bound_as!(
        Merge,
        "MERGE INTO orders o USING source s ON o.no = s.no
            WHEN MATCHED AND s.amount = 0 THEN DELETE
            WHEN MATCHED THEN UPDATE SET amount = s.amount
            WHEN NOT MATCHED THEN INSERT (no, amount, price) VALUES (s.no, s.amount, 1)
            WHEN NOT MATCHED BY SOURCE AND o.price IN (SELECT x FROM plain) THEN DO NOTHING
            RETURNING merge_action() AS what, no"
    );
    let names: Vec<&str> = merge.query.output.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(&names[..7], ["rowid", "has_source", "no", "customer", "amount", "price", "total"]);
    assert_eq!(&names[7..9], ["amount", "no"]);
    assert_eq!(merge.clauses[0].condition.as_ref().map(text).as_deref(), Some("#7 = 0"));
    let MergeAction::Update { set, values } = &merge.clauses[1].action else { panic!() };
    assert_eq!((set.as_slice(), texts(values)), (&[2, 4][..], vec!["#7".to_string(), "#7 * #5".to_string()]));
    let MergeAction::Insert { values } = &merge.clauses[2].action else { panic!() };
    assert_eq!(texts(values)[2..], ["#7", "1", "#7 * 1"]);
    assert_eq!(merge.clauses[3].kind, MergeKind::NotMatchedBySource);
    let returning = merge.returning.unwrap();
    assert_eq!(text(&returning.items[0].1), "#5");
    let all = bound_as!(
        Merge,
        "MERGE INTO depot.stock USING (SELECT 1 AS id) s ON stock.id = s.id
            WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    );
    assert_eq!((all.database.as_str(), all.query.output.len()), ("depot", 4));
    for (sql, wanted) in [
        (
            "MERGE INTO plain USING source s ON x = amount WHEN NOT MATCHED THEN INSERT VALUES (x, 'a')",
            "column \"x\" does not exist",
        ),
        (
            "MERGE INTO plain USING source s ON x = amount WHEN NOT MATCHED BY SOURCE THEN UPDATE SET x = s.no",
            "table \"s\" does not exist",
        ),
        (
            "MERGE INTO plain USING source s ON x = amount WHEN NOT MATCHED THEN INSERT VALUES (1)",
            "takes 2 values here, 1 are given",
        ),
    ] {
        let message = error(sql);
        assert!(message.contains(wanted), "{sql}\n{message}");
    }
}

/// What tells rows without a source row is made below the join and stays there.
#[test]
fn the_optimizer_keeps_what_merge_delivers() {
    let merge = bound_as!(
        Merge,
        "MERGE INTO orders o USING source s ON o.no = s.no WHEN MATCHED THEN DELETE
            WHEN NOT MATCHED THEN DO NOTHING WHEN NOT MATCHED BY SOURCE THEN DELETE"
    );
    let query = crate::optimizer::optimize(merge.query).unwrap();
    let delivered: Vec<_> = query.output.iter().map(|(id, _)| *id).collect();
    let made = query.plan.output();
    assert!(delivered.iter().all(|id| made.contains(id)), "{:?}", query.plan);
    fn project_below_join(plan: &Plan, below: bool) -> bool {
        let own = below && matches!(plan, Plan::Project { .. });
        let below = below || matches!(plan, Plan::Join { .. });
        own || plan.inputs().into_iter().any(|input| project_below_join(input, below))
    }
    assert!(project_below_join(&query.plan, false), "{:?}", query.plan);
}

#[test]
fn drop_knows_what_depends() {
    assert!(error("DROP TABLE customer").contains("referred to by foreign key \"orders_customer_fkey\""));
    let both = bound_as!(Drop, "DROP TABLE customer, orders");
    let shown: Vec<(ObjectKind, &str)> = both.objects.iter().map(|o| (o.kind, o.name.as_str())).collect();
    assert_eq!(shown[..2], [(ObjectKind::Table, "customer"), (ObjectKind::Table, "orders")]);
    assert!(shown.contains(&(ObjectKind::Sequence, "customer_id_seq")) && shown.len() == 4);
    let cascade = bound_as!(Drop, "DROP TABLE customer CASCADE");
    assert_eq!(cascade.altered[0].table.name, "orders");
    assert!(cascade.altered[0].schema.foreign_keys.is_empty());
    assert!(
        error("DROP SEQUENCE customer_id_seq")
            .contains("gives column \"id\" of table \"customer\" its values")
    );
    let cascade = bound_as!(Drop, "DROP SEQUENCE customer_id_seq CASCADE");
    assert_eq!(cascade.altered[0].schema.columns[0].default, None);
    assert!(bound_as!(Drop, "DROP TABLE IF EXISTS nosuch").objects.is_empty());
    assert!(error("DROP VIEW plain").contains("use DROP TABLE"));
    assert!(error("DROP INDEX nosuch").contains("index \"nosuch\" does not exist"));
    assert!(error("TRUNCATE customer").contains("write CASCADE"));
    let Statement::Truncate { tables, restarted, .. } =
        bound("TRUNCATE TABLE customer RESTART IDENTITY CASCADE")
    else {
        panic!()
    };
    assert_eq!((tables.len(), restarted.len()), (2, 2));
}

#[test]
fn alter_table_is_the_table_it_leads_to() {
    let alter = |sql: &str| bound_as!(AlterTable, sql);
    let added = alter("ALTER TABLE plain ADD COLUMN z INTEGER NOT NULL DEFAULT 7 CHECK (z > x)");
    assert_eq!(added.columns[..2], [ColumnSource::Kept(0), ColumnSource::Kept(1)]);
    assert!(matches!(&added.columns[2], ColumnSource::Computed(value) if text(value) == "7"));
    assert_eq!((added.verify.not_null.as_slice(), added.verify.checks.len()), (&[2][..], 1));
    let computed = alter("ALTER TABLE plain ADD COLUMN IF NOT EXISTS z INTEGER AS (x + 1)");
    assert!(matches!(&computed.columns[2], ColumnSource::Computed(value) if text(value) == "#0 + 1"));
    let dropped = alter("ALTER TABLE part DROP COLUMN a");
    assert_eq!(dropped.columns, [ColumnSource::Kept(1), ColumnSource::Kept(2)]);
    assert!(dropped.schema.keys.is_empty());
    let dropped = alter("ALTER TABLE orders DROP COLUMN price CASCADE");
    assert_eq!(dropped.schema.columns.len(), 3);
    let renamed = alter("ALTER TABLE orders RENAME COLUMN amount TO \"how many\"");
    assert_eq!(renamed.schema.checks[0].condition, "\"how many\" > 0");
    assert_eq!(renamed.schema.columns[4].origin, Origin::Computed("\"how many\" * price".into()));
    let renamed = alter("ALTER TABLE customer RENAME COLUMN id TO number");
    assert_eq!(renamed.altered[0].schema.foreign_keys[0].referenced, ["number"]);
    assert_eq!(renamed.altered_sequences[0].owner, Some(("customer".into(), "number".into())));
    let renamed = alter("ALTER TABLE customer RENAME TO client");
    assert_eq!(
        (renamed.schema.name.as_str(), renamed.altered[0].schema.foreign_keys[0].table.as_str()),
        ("client", "client")
    );
    let typed = alter("ALTER TABLE plain ALTER COLUMN x TYPE VARCHAR USING y || 'a', ALTER y SET NOT NULL");
    assert!(
        matches!(&typed.columns[0], ColumnSource::Computed(value) if text(value) == "#1 || 'a'"),
        "{typed:?}"
    );
    assert_eq!(typed.verify.not_null, [1]);
    let key = alter("ALTER TABLE plain ADD CONSTRAINT k PRIMARY KEY (x)");
    assert_eq!((key.verify.keys.as_slice(), key.schema.primary_key.as_slice()), (&[vec![0]][..], &[0][..]));
    let foreign = alter("ALTER TABLE plain ADD FOREIGN KEY (x) REFERENCES customer (id) ON UPDATE SET NULL");
    assert_eq!(foreign.verify.foreign_keys, [0]);
    assert!(alter("ALTER TABLE customer DROP CONSTRAINT named").schema.checks.is_empty());
    let unkeyed = alter("ALTER TABLE customer DROP CONSTRAINT customer_pkey CASCADE");
    assert!(unkeyed.schema.primary_key.is_empty() && unkeyed.altered[0].schema.foreign_keys.is_empty());
    assert_eq!(
        alter("ALTER TABLE plain ALTER x SET DEFAULT 3").schema.columns[0].default.as_deref(),
        Some("3")
    );
    for (sql, wanted) in [
        ("ALTER TABLE orders DROP COLUMN price", "used by generated column \"total\""),
        ("ALTER TABLE customer DROP COLUMN id", "used by foreign key"),
        (
            "ALTER TABLE orders ALTER COLUMN price TYPE BIGINT",
            "generated column \"total\" is computed from it",
        ),
        ("ALTER TABLE customer ALTER COLUMN id TYPE BIGINT", "refers to it"),
        ("ALTER TABLE customer DROP CONSTRAINT customer_pkey", "is needed by foreign key"),
        ("ALTER TABLE customer DROP CONSTRAINT name", "did you mean \"named\""),
        ("ALTER TABLE customer ALTER id DROP NOT NULL", "belongs to the PRIMARY KEY"),
        ("ALTER TABLE plain RENAME x TO y", "column \"y\""),
        ("ALTER TABLE plain RENAME TO part", "\"part\""),
        ("ALTER TABLE plain ADD COLUMN z SERIAL", "identity or SERIAL"),
        ("ALTER TABLE plain ALTER z SET NOT NULL", "column \"plain.z\" does not exist"),
    ] {
        let message = error(sql);
        assert!(message.contains(wanted), "{sql}\n{message}");
    }
}

#[test]
fn names_reach_across_databases() {
    let Statement::Query(query) = bound("SELECT * FROM depot.main.stock JOIN shop.plain ON x = id") else {
        panic!()
    };
    assert_eq!(query.output.len(), 3);
    // A view's names are those of its own database.
    assert!(matches!(bound("SELECT * FROM depot.seen"), Statement::Query(_)));
    assert!(error("SELECT * FROM stock").contains("table \"stock\" does not exist"));
    assert!(error("SELECT * FROM depo.stock").contains("did you mean \"depot\""));
    assert!(error("SELECT * FROM depot.private.stock").contains("schema \"private\" does not exist"));
    assert!(matches!(bound("USE depot"), Statement::Use { database, .. } if database == "depot"));
    assert!(
        matches!(bound("CHECKPOINT depot"), Statement::Checkpoint { database, force: false } if database == "depot")
    );
    let Statement::Attach(attach) = bound("ATTACH 'dir/new.db' (READ_ONLY)") else { panic!() };
    assert_eq!((attach.name.as_str(), attach.read_only), ("new", Some(true)));
    assert!(error("ATTACH 'x.db' AS depot").contains("\"depot\""));
    assert!(error("ATTACH 'x.db' (READ_ONYL)").contains("did you mean \"read_only\""));
    assert!(error("DETACH shop").contains("USE another one"));
    assert!(
        matches!(bound("PRAGMA verify('a.db')"), Statement::Verify(VerifyTarget::File(path)) if path == "a.db")
    );
    assert!(matches!(
        bound("EXPORT DATABASE 'out' (FORMAT parquet)"),
        Statement::ExportDatabase { format: ExportFormat::Parquet, .. }
    ));
}

#[test]
fn sequences_count_in_expressions() {
    let attached = attached();
    let Statement::Query(query) = bound_in(&attached, "SELECT nextval('numbers') AS n").unwrap() else {
        panic!()
    };
    let Plan::Project { items, .. } = &query.plan else { panic!("{:?}", query.plan) };
    assert!(!items[0].1.is_deterministic());
    let value = || super::constant::evaluate(&items[0].1).unwrap();
    assert_eq!((value(), value()), (Some(Value::BigInt(100)), Some(Value::BigInt(110))));
    let Statement::AlterSequence { sequence, restart, .. } =
        bound("ALTER SEQUENCE numbers RESTART WITH 7 INCREMENT 2 NO CYCLE")
    else {
        panic!()
    };
    assert_eq!((sequence.increment, sequence.start, restart), (2, 100, Some(7)));
    let Statement::CreateSequence { sequence, .. } =
        bound("CREATE SEQUENCE s INCREMENT -1 MINVALUE -9 CYCLE")
    else {
        panic!()
    };
    assert_eq!((sequence.start, sequence.min, sequence.max, sequence.cycle), (-1, -9, -1, true));
    assert!(error("CREATE SEQUENCE s START 5 MAXVALUE 3").contains("START 5 is not between"));
    assert!(error("CREATE SEQUENCE s INCREMENT 0").contains("must not be 0"));
    assert!(error("SELECT currval('nosuch')").contains("sequence \"nosuch\" does not exist"));
}

#[test]
fn stored_expressions_bind_over_rows() {
    let attached = attached();
    let orders = schema_of("orders");
    with_context(&attached, |context| {
        let bound = bind_row_expressions(context, "shop", &orders, &["amount > 0", "orders.price"]).unwrap();
        assert_eq!(texts(&bound), ["#2 > 0", "#3"]);
        let generated = bind_generated(context, "shop", &orders).unwrap();
        assert_eq!((generated[0].0, text(&generated[0].1).as_str()), (4, "#2 * #3"));
    });
}

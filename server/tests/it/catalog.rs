//! What tools ask the catalog when they connect, list objects or describe one: V1, V3, V6.
//!
//! The queries have the forms that psql, SQLAlchemy, asyncpg, Java's and ODBC's drivers, ADBC, DBeaver, Grafana and Metabase use: the same tables, functions,
//! casts and joins. Answers are those of PostgreSQL for the same tables, but for the name of the schema.

use crate::support::{Postgres, server};

const SETUP: &str = "
    CREATE TABLE parent (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL DEFAULT 'x', price DECIMAL(10,2), tags TEXT[], at TIMESTAMPTZ, u UUID,
                         CONSTRAINT priced CHECK (price > 0), CONSTRAINT named UNIQUE (name, price));
    CREATE TYPE mood AS ENUM ('sad', 'ok');
    CREATE TABLE child (id BIGINT PRIMARY KEY, pid INTEGER REFERENCES parent(id) ON DELETE CASCADE, m mood, j JSON);
    CREATE INDEX child_pid ON child (pid);
    CREATE INDEX child_low ON child ((pid + 1), id);
    CREATE SCHEMA other; CREATE TABLE other.far (a INTEGER);
    CREATE SEQUENCE seq; CREATE VIEW seen AS SELECT id FROM parent;
    CREATE MACRO twice(x) AS x * 2;
    COMMENT ON TABLE child IS 'kids'; COMMENT ON COLUMN child.pid IS 'whose'";

/// A query and its answer, as the summary of a test client shows it.
const ASKED: &[(&str, &str)] = &[
    // Names and numbers.
    ("SELECT 'child'::regclass::oid = c.oid FROM pg_class c WHERE c.relname = 'child'", "(t) SELECT 1"),
    ("SELECT c.oid::regclass FROM pg_class c WHERE c.oid = 'main.child'::regclass", "(child) SELECT 1"),
    ("SELECT CAST(CAST('other.far' AS REGCLASS) AS TEXT), 'pg_class'::regclass::oid", "(other.far,1259) SELECT 1"),
    ("SELECT 'nothing'::regclass", "!22023"),
    ("SELECT to_regclass('nothing'), to_regtype('hstore'), to_regtype('text')::oid, 'int4[]'::regtype::text", "(NULL,NULL,25,integer[]) SELECT 1"),
    ("SELECT 1700::regtype::text, 'pg_catalog'::regnamespace::oid, 'main'::regnamespace::text", "(numeric,11,main) SELECT 1"),
    ("SELECT typname, oid::regtype::text FROM pg_type WHERE oid IN (23, 1009, 1114) ORDER BY oid", "(int4,integer) (_text,text[]) (timestamp,timestamp without time zone) SELECT 3"),
    ("SELECT nextval('seq'::regclass), currval('main.seq'::regclass)", "(1,1) SELECT 1"),
    // Types.
    ("SELECT t.typname, e.typname FROM pg_type t JOIN pg_type e ON e.oid = t.typelem WHERE t.oid = 1231", "(_numeric,numeric) SELECT 1"),
    ("SELECT typinput = 'array_in'::regproc AS is_array, typtype, typname FROM pg_catalog.pg_type WHERE oid = 1007", "(t,b,_int4) SELECT 1"),
    ("SELECT oid, typname, typreceive FROM pg_catalog.pg_type WHERE (typreceive != 0 OR typsend != 0) AND typreceive::TEXT != 'array_recv' AND typname = 'int8'", "(20,int8,int8recv) SELECT 1"),
    ("SELECT t.typname, array_agg(CAST(e.enumlabel AS TEXT) ORDER BY e.enumsortorder) FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid WHERE t.typtype = 'e' GROUP BY 1", "(mood,{sad,ok}) SELECT 1"),
    // Columns.
    (
        "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull,
                (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef)
         FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'parent'::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        "(id,integer,t,NULL) (name,character varying,t,'x') (price,numeric(10,2),f,NULL) (tags,character varying[],f,NULL) (at,timestamp with time zone,f,NULL) (u,uuid,f,NULL) SELECT 6",
    ),
    ("SELECT column_name, udt_name FROM information_schema.columns WHERE table_name = 'parent' ORDER BY ordinal_position", "(id,int4) (name,varchar) (price,numeric) (tags,_varchar) (at,timestamptz) (u,uuid) SELECT 6"),
    ("SELECT c.relname, d.objsubid, d.description FROM pg_description d JOIN pg_class c ON c.oid = d.objoid WHERE d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass ORDER BY 2", "(child,0,kids) (child,2,whose) SELECT 2"),
    ("SELECT col_description('main.child'::regclass, 2), obj_description('child'::regclass, 'pg_class')", "(whose,kids) SELECT 1"),
    // Relations, by what the search path sees.
    ("SELECT relname, relkind FROM pg_class c WHERE pg_table_is_visible(c.oid) AND relkind IN ('r', 'v', 'S') ORDER BY 1", "(child,r) (parent,r) (seen,v) (seq,S) SELECT 4"),
    ("SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE NOT pg_table_is_visible(c.oid)", "(other,far) SELECT 1"),
    // Keys and indexes.
    (
        "SELECT ci.relname, i.indisprimary, i.indisunique, i.indkey, i.indoption, pg_catalog.pg_get_indexdef(i.indexrelid, 0, true)
         FROM pg_index i JOIN pg_class ci ON ci.oid = i.indexrelid WHERE i.indrelid = 'parent'::regclass ORDER BY 1",
        "(named,f,t,2 3,0 0,CREATE UNIQUE INDEX named ON main.parent USING btree (name, price)) (parent_pkey,t,t,1,0,CREATE UNIQUE INDEX parent_pkey ON main.parent USING btree (id)) SELECT 2",
    ),
    (
        "SELECT a.attname, (k.keys).n, k.name FROM (SELECT i.indrelid, ci.relname AS name, information_schema._pg_expandarray(i.indkey) AS keys
            FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class ci ON ci.oid = i.indexrelid WHERE i.indisunique) k
         JOIN pg_catalog.pg_attribute a ON a.attrelid = k.indrelid AND a.attnum = (k.keys).x WHERE k.name = 'named' ORDER BY 2",
        "(name,1,named) (price,2,named) SELECT 2",
    ),
    (
        "SELECT array_agg(CAST(a.attname AS TEXT) ORDER BY k.place), k.conname FROM (SELECT c.conrelid, c.conname, unnest(i.indkey) AS number, generate_subscripts(i.indkey, 1) AS place
            FROM pg_constraint c JOIN pg_index i ON c.conindid = i.indexrelid WHERE c.contype = 'p' AND c.conrelid = 'child'::regclass) k
         JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.number GROUP BY k.conname",
        "({id},child_pkey) SELECT 1",
    ),
    (
        "SELECT i.indkey, pg_get_indexdef(i.indexrelid, 1, false), pg_get_indexdef(i.indexrelid, 2, false) FROM pg_index i WHERE i.indexrelid = 'child_low'::regclass",
        "(0 1,pid + 1,id) SELECT 1",
    ),
    (
        "SELECT conname, pg_catalog.pg_get_constraintdef(r.oid, true), conrelid::pg_catalog.regclass, confrelid::pg_catalog.regclass, confdeltype, conkey, confkey
         FROM pg_catalog.pg_constraint r WHERE contype IN ('c', 'f', 'p', 'u') ORDER BY 1",
        "(child_pid_fkey,FOREIGN KEY (pid) REFERENCES parent(id) ON DELETE CASCADE,child,parent,c,{2},{1}) (child_pkey,PRIMARY KEY (id),child,-, ,{1},NULL) (named,UNIQUE (name, price),parent,-, ,{2,3},NULL) (parent_pkey,PRIMARY KEY (id),parent,-, ,{1},NULL) (priced,CHECK ((price > 0)),parent,-, ,{3},NULL) SELECT 5",
    ),
    (
        "SELECT pk.relname, fk.relname, pki.relname, pos.n FROM pg_constraint con JOIN pg_class fk ON fk.oid = con.conrelid JOIN pg_class pk ON pk.oid = con.confrelid
         JOIN pg_class pki ON pki.oid = con.conindid, pg_catalog.generate_series(1, 32) pos(n) WHERE con.contype = 'f' AND con.conkey[pos.n] IS NOT NULL",
        "(parent,child,parent_pkey,1) SELECT 1",
    ),
    ("SELECT setting FROM pg_catalog.pg_settings WHERE name = 'max_index_keys'", "(32) SELECT 1"),
    ("SELECT relname FROM pg_class WHERE relhastriggers ORDER BY 1", "(child) (parent) SELECT 2"),
    // Functions.
    ("SELECT p.proname, n.nspname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname <> 'pg_catalog'", "(twice,main) SELECT 1"),
    // What is asked at once on connecting.
    ("SELECT current_setting('server_version_num')::int / 100 AS version", "(1500) SELECT 1"),
    ("SET DateStyle = 'ISO'; SET extra_float_digits = 2; show transaction_isolation", "SET SET (serializable) SHOW"),
    ("SET INTERVALSTYLE = POSTGRES", "SET"),
    ("SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords() WHERE word IN ('select', 'nosuchword')", "(select) SELECT 1"),
    ("SELECT current_setting('search_path')", "(main) SELECT 1"),
    ("SELECT count(*) FROM pg_stat_activity WHERE pid = pg_backend_pid()", "(1) SELECT 1"),
    ("SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;", "(NULL) SELECT 1 CLOSE CURSOR ALL UNLISTEN RESET"),
    ("SELECT 1; CLOSE nothing; SELECT 2", "(1) SELECT 1 !34000"),
    ("SELECT conname, generate_series(array_lower(conkey, 1), array_upper(conkey, 1)) AS i FROM pg_catalog.pg_constraint WHERE conname = 'named' ORDER BY 2", "(named,1) (named,2) SELECT 2"),
    ("SELECT a.attname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute k ON k.attrelid = i.indexrelid JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.attnum-1] WHERE i.indisprimary AND i.indrelid = 'child'::regclass", "(id) SELECT 1"),
    // Lists of texts.
    ("SELECT name FROM (VALUES ('a'), ('b')) t(name) WHERE name = ANY ('{a,c}')", "(a) SELECT 1"),
    ("SELECT 5 = ANY ('{4,5}'), 5 <> ALL ('{4,6}')", "(t,t) SELECT 1"),
];

#[test]
fn tools_are_answered_as_by_postgresql() {
    let server = server();
    let mut client = Postgres::new(&server);
    client.query(SETUP);
    let mut wrong = String::new();
    for (sql, expected) in ASKED {
        let said = client.said(sql);
        if said != format!("{expected} I") {
            wrong.push_str(&format!("{sql}\n  is:        {said}\n  should be: {expected} I\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A parameter without a type is a list of what it is compared with.
#[test]
fn lists_are_of_what_they_are_compared_with() {
    let server = server();
    let mut client = Postgres::new(&server);
    client.query("CREATE TABLE t (a INTEGER, b VARCHAR, c DATE); INSERT INTO t VALUES (1, 'x', DATE '2024-01-02'), (2, 'y', NULL)");
    for (sql, value, expected) in [
        ("SELECT a FROM t WHERE b = ANY ($1)", "{x,z}", "(1)"),
        ("SELECT a FROM t WHERE a = ANY ($1)", "{2,3}", "(2)"),
        ("SELECT a FROM t WHERE c = ANY ($1)", "{2024-01-02}", "(1)"),
        ("SELECT a FROM t WHERE b <> ALL ($1)", "{x}", "(2)"),
        ("SELECT a FROM t WHERE c::text = ANY ($1)", "{2024-01-02,NULL}", "(1)"),
        ("SELECT $1::regclass::oid > 0", "t", "(t)"),
    ] {
        client.extended(sql, &[], &[Some(value)], &[], 0);
        client.send(b'S', b"");
        let said = crate::support::summary(&client.until_ready());
        assert!(said.starts_with(expected), "{sql}: {said}");
    }
}

/// V6: whatever number a column is announced with is in pg_type.
#[test]
fn all_numbers_of_types_are_known() {
    let server = server();
    let mut client = Postgres::new(&server);
    client.query(SETUP);
    let messages = client.query(
        "SELECT p.*, c.*, i.indkey, i.indclass, x.oid, x.conkey, 1::TINYINT AS a1, 1::UBIGINT AS a2, 1::UINTEGER AS a3, 1.5::REAL AS a4, 'a'::BLOB AS a5, INTERVAL 1 DAY AS a6,
                '1'::BIT AS a7, TIME '01:02:03' AS a8, [[1]] AS a9, {'a': 1} AS a10, [1.5::DOUBLE] AS a11, [DATE '2024-01-02'] AS a12, [true] AS a13, [uuid()] AS a14
         FROM parent p, child c, pg_index i, pg_constraint x LIMIT 0",
    );
    let (_, body) = messages.iter().find(|(kind, _)| *kind == b'T').unwrap();
    let (mut numbers, mut rest) = (Vec::new(), &body[2..]);
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        numbers.push(u32::from_be_bytes(rest[end + 7..end + 11].try_into().unwrap()));
        rest = &rest[end + 19..];
    }
    assert!(numbers.len() > 20);
    for number in numbers {
        let said = client.said(&format!("SELECT count(*) FROM pg_type WHERE oid = {number}"));
        assert_eq!(said, "(1) SELECT 1 I", "{number}");
    }
}

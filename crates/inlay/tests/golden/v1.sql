CREATE TABLE plain (a BOOLEAN, b TINYINT, c SMALLINT, d INTEGER PRIMARY KEY, e BIGINT, f HUGEINT, g UTINYINT, h USMALLINT, i UINTEGER, j UBIGINT, k UHUGEINT, l REAL, m DOUBLE, n DECIMAL(4, 1), o DECIMAL(9, 2), p DECIMAL(18, 3), q DECIMAL(38, 4), r VARCHAR, s BLOB, t DATE, u TIME, v TIMESTAMP, w INTERVAL)
INSERT INTO plain SELECT range % 2 = 0, range % 100, range, range, range * 1000000007, CAST(range AS HUGEINT) * 10000000000000000, range % 200, range, range, range, range, range / 4, range / 8, range / 10, range / 100, range / 1000, range, 'text ' || CAST(range % 50 AS VARCHAR), CAST('blob' || CAST(range AS VARCHAR) AS BLOB), DATE '2020-01-01' + CAST(range AS INTEGER), TIME '10:00:00', TIMESTAMP '2020-01-01 00:00:00', INTERVAL 1 DAY FROM range(300)
INSERT INTO plain (d) VALUES (1000)
CREATE TABLE parent (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL DEFAULT 'none', CHECK (id >= 0))
CREATE TABLE child (id INTEGER, parent INTEGER REFERENCES parent (id), UNIQUE (id, parent))
INSERT INTO parent VALUES (1, 'one'), (2, 'two'), (3, 'three')
INSERT INTO child VALUES (10, 1), (11, 2), (12, NULL)
CREATE INDEX plain_r ON plain (r)
CREATE UNIQUE INDEX plain_de ON plain (d, e)
CREATE VIEW texts AS SELECT r, count(*) AS n FROM plain GROUP BY r
CREATE SEQUENCE numbers START 10 INCREMENT 5
SELECT nextval('numbers'), nextval('numbers')
CREATE TABLE counted (id BIGINT DEFAULT nextval('numbers'), word VARCHAR)
INSERT INTO counted (word) VALUES ('a'), ('b')
CREATE SCHEMA sales
CREATE TABLE sales.orders (id INTEGER, day DATE)
INSERT INTO sales.orders VALUES (1, DATE '2024-02-29')
CREATE MACRO twice(x) AS x * 2
CREATE TYPE mood AS ENUM ('sad', 'ok')
CREATE TYPE number AS INTEGER
CREATE MATERIALIZED VIEW totals AS SELECT parent, count(*) AS n FROM child GROUP BY parent
COMMENT ON TABLE plain IS 'every type'
CREATE TABLE gone (a INTEGER)
DELETE FROM plain WHERE d BETWEEN 100 AND 149
CHECKPOINT

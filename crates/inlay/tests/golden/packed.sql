CREATE TABLE boxes (id INTEGER, s STRUCT(a INTEGER, b VARCHAR, c STRUCT(x BIGINT, y DOUBLE, z VARCHAR[]), d DATE))
INSERT INTO boxes SELECT i, CASE WHEN i % 13 = 0 THEN NULL ELSE {'a': CASE WHEN i % 5 = 0 THEN NULL ELSE i % 100 END, 'b': CASE WHEN i % 3 = 0 THEN '' ELSE 'text ' || (i % 50)::VARCHAR END, 'c': CASE WHEN i % 7 = 0 THEN NULL ELSE {'x': i * 1000, 'y': CASE WHEN i % 11 = 0 THEN 'nan' ELSE (i % 64)::VARCHAR END, 'z': CASE WHEN i % 4 = 0 THEN [i::VARCHAR, NULL] END} END, 'd': DATE '2020-01-01' + i::INTEGER} END FROM range(2500) r(i)
CREATE TABLE same AS SELECT {'a': 1, 'b': 'x'} AS s FROM range(3000)
UPDATE boxes SET s = {'a': -1, 'b': 'changed', 'c': NULL, 'd': NULL} WHERE id % 1000 = 7
DELETE FROM boxes WHERE id % 500 = 3
INSERT INTO boxes VALUES (10000, {'a': 1, 'b': 'late', 'c': {'x': 2, 'y': -0.0, 'z': []}, 'd': DATE '1999-09-09'}), (10001, NULL)

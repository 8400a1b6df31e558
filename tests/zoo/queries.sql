-- scalar: aggregate of the group in SELECT
SELECT e.id, (SELECT max(x.pay) FROM emp x WHERE x.dept = e.dept) FROM emp e;

-- scalar: count(*) of nothing is 0, not NULL
SELECT d.id, (SELECT count(*) FROM emp e WHERE e.dept = d.id) FROM dept d;

-- scalar: count(column) skips NULLs
SELECT d.id, (SELECT count(e.boss) FROM emp e WHERE e.dept = d.id) FROM dept d;

-- scalar: count(*) inside an expression
SELECT d.id, 10 + (SELECT count(*) FROM emp e WHERE e.dept = d.id) * 2 FROM dept d;

-- scalar: count and sum side by side
SELECT d.id, (SELECT count(*) FROM task t WHERE t.hours = d.id), (SELECT sum(t.hours) FROM task t WHERE t.hours = d.id) FROM dept d;

-- scalar: coalesce around an empty sum
SELECT d.id, coalesce((SELECT sum(e.pay) FROM emp e WHERE e.dept = d.id AND e.pay > 9000), 0) FROM dept d;

-- scalar: CASE inside the aggregate of a correlated subquery
SELECT d.id, (SELECT sum(CASE WHEN e.boss IS NULL THEN 1 ELSE 0 END) FROM emp e WHERE e.dept = d.id) FROM dept d;

-- scalar: count(*) compared with zero in WHERE
SELECT d.id FROM dept d WHERE (SELECT count(*) FROM emp e WHERE e.dept = d.id) = 0;

-- scalar: count(*) compared with an outer column
SELECT d.id FROM dept d WHERE (SELECT count(*) FROM emp e WHERE e.dept = d.id) < d.id;

-- scalar: lookup by key, one row or NULL
SELECT e.id, (SELECT d.name FROM dept d WHERE d.id = e.dept) FROM emp e;

-- scalar: lookup of the boss of the boss
SELECT e.id, (SELECT b.boss FROM emp b WHERE b.id = e.boss) FROM emp e;

-- scalar: uncorrelated in SELECT
SELECT e.id, (SELECT max(budget) FROM dept) FROM emp e;

-- scalar: uncorrelated in WHERE
SELECT e.id FROM emp e WHERE e.pay > (SELECT avg(pay) FROM emp);

-- scalar: uncorrelated and empty is NULL
SELECT e.id, (SELECT d.budget FROM dept d WHERE d.id = -1) IS NULL FROM emp e;

-- scalar: correlated below average of own group
SELECT e.id FROM emp e WHERE e.pay < (SELECT avg(x.pay) FROM emp x WHERE x.dept = e.dept);

-- scalar: inequality correlation
SELECT n.a, n.b, (SELECT count(*) FROM nums m WHERE m.a < n.a) FROM nums n;

-- scalar: two correlated columns
SELECT n.a, n.b, (SELECT sum(m.f) FROM nums m WHERE m.a = n.a AND m.b = n.b) FROM nums n;

-- scalar: one equality and one inequality correlation
SELECT e.id, (SELECT count(*) FROM emp x WHERE x.dept = e.dept AND x.pay > e.pay) FROM emp e;

-- scalar: correlation through an expression on the inner side
SELECT n.a, (SELECT count(*) FROM nums m WHERE m.a + m.b = n.a) FROM nums n;

-- scalar: correlation through an expression on the outer side
SELECT n.a, (SELECT min(m.b) FROM nums m WHERE m.a = n.a + 1) FROM nums n;

-- scalar: correlation inside the aggregate's argument
SELECT d.id, (SELECT sum(e.pay + d.budget) FROM emp e WHERE e.dept = d.id) FROM dept d;

-- scalar: correlation only inside the aggregate's argument
SELECT d.id, (SELECT sum(t.hours * d.id) FROM task t) FROM dept d;

-- scalar: correlation only in the select list
SELECT d.id, (SELECT max(t.hours) + d.budget FROM task t) FROM dept d;

-- scalar: outer column alone, no table inside
SELECT e.id, (SELECT e.pay) FROM emp e;

-- scalar: outer columns in an expression without FROM
SELECT n.a, (SELECT n.a + n.b) FROM nums n;

-- scalar: without FROM but with WHERE
SELECT n.a, (SELECT n.a WHERE n.a > 3) FROM nums n;

-- scalar: outer reference in CASE in WHERE
SELECT e.id, (SELECT count(*) FROM task t WHERE t.emp = CASE WHEN e.boss IS NULL THEN e.id ELSE e.boss END) FROM emp e;

-- scalar: correlation by IS NOT DISTINCT FROM
SELECT n.a, n.b, (SELECT count(*) FROM nums m WHERE m.b IS NOT DISTINCT FROM n.b) FROM nums n;

-- scalar: correlation by IS DISTINCT FROM
SELECT n.a, n.b, (SELECT count(*) FROM nums m WHERE m.b IS DISTINCT FROM n.b) FROM nums n;

-- scalar: correlation by BETWEEN
SELECT d.id, (SELECT count(*) FROM nums n WHERE n.a BETWEEN d.id - 1 AND d.id + 1) FROM dept d;

-- scalar: correlation by LIKE
SELECT d.id, (SELECT count(*) FROM emp e WHERE e.name LIKE substr(d.name, 1, 1) || '%') FROM dept d;

-- scalar: correlation in OR
SELECT e.id, (SELECT count(*) FROM task t WHERE t.emp = e.id OR t.hours = e.dept) FROM emp e;

-- scalar: correlation under NOT
SELECT e.id, (SELECT count(*) FROM task t WHERE NOT (t.emp = e.id)) FROM emp e;

-- scalar: several aggregates combined
SELECT d.id, (SELECT max(e.pay) - min(e.pay) FROM emp e WHERE e.dept = d.id) FROM dept d;

-- scalar: average is a double
SELECT d.id, (SELECT avg(t.hours) FROM task t, emp e WHERE t.emp = e.id AND e.dept = d.id) FROM dept d;

-- scalar: count distinct
SELECT d.id, (SELECT count(DISTINCT t.kind) FROM task t JOIN emp e ON t.emp = e.id WHERE e.dept = d.id) FROM dept d;

-- scalar: sum distinct
SELECT d.id, (SELECT sum(DISTINCT n.a) FROM nums n WHERE n.b = d.id) FROM dept d;

-- scalar: aggregate with FILTER
SELECT d.id, (SELECT count(*) FILTER (WHERE e.pay > 5000) FROM emp e WHERE e.dept = d.id) FROM dept d;

-- scalar: FILTER with an outer column
SELECT d.id, (SELECT count(*) FILTER (WHERE n.a > d.id) FROM nums n) FROM dept d;

-- scalar: min over strings
SELECT d.id, (SELECT min(e.name) FROM emp e WHERE e.dept = d.id) FROM dept d;

-- scalar: min over dates
SELECT d.id, (SELECT min(e.hired) FROM emp e WHERE e.dept = d.id) FROM dept d;

-- scalar: correlation on dates
SELECT t.id, (SELECT count(*) FROM emp e WHERE e.hired < t.due) FROM task t WHERE t.id < 20;

-- scalar: two subqueries compared with each other
SELECT d.id FROM dept d WHERE (SELECT count(*) FROM emp e WHERE e.dept = d.id) > (SELECT count(*) FROM nums n WHERE n.a = d.id);

-- scalar: same subquery twice
SELECT d.id, (SELECT max(e.pay) FROM emp e WHERE e.dept = d.id), (SELECT max(e.pay) FROM emp e WHERE e.dept = d.id) + 1 FROM dept d;

-- scalar: in an IN list
SELECT n.a, n.b FROM nums n WHERE n.a IN ((SELECT min(m.a) FROM nums m WHERE m.b = n.b), (SELECT max(m.a) FROM nums m WHERE m.b = n.b));

-- scalar: in BETWEEN bounds
SELECT e.id FROM emp e WHERE e.pay BETWEEN (SELECT min(x.pay) + 500 FROM emp x WHERE x.dept = e.dept) AND (SELECT max(x.pay) - 500 FROM emp x WHERE x.dept = e.dept);

-- scalar: as a function's argument
SELECT d.id, length((SELECT max(e.name) FROM emp e WHERE e.dept = d.id)) FROM dept d;

-- scalar: cast
SELECT d.id, CAST((SELECT count(*) FROM emp e WHERE e.dept = d.id) AS VARCHAR) || ' people' FROM dept d;

-- scalar: IS NULL of a subquery in WHERE
SELECT e.id FROM emp e WHERE (SELECT d.budget FROM dept d WHERE d.id = e.dept) IS NULL;

-- scalar: over a join inside
SELECT d.id, (SELECT sum(t.hours) FROM emp e JOIN task t ON t.emp = e.id WHERE e.dept = d.id) FROM dept d;

-- scalar: over a left join inside, outer column in ON
SELECT d.id, (SELECT count(t.id) FROM emp e LEFT JOIN task t ON t.emp = e.id AND t.hours > d.id) FROM dept d;

-- scalar: over a left join inside, outer column in ON and WHERE
SELECT d.id, (SELECT count(*) FROM emp e LEFT JOIN task t ON t.emp = e.id AND t.hours = d.id WHERE e.dept = d.id) FROM dept d;

-- scalar: over a left join inside that looks for what is missing
SELECT d.id, (SELECT count(*) FROM emp e LEFT JOIN task t ON t.emp = e.id AND t.hours > d.id WHERE t.id IS NULL AND e.dept = d.id) FROM dept d;

-- scalar: over a right join inside
SELECT d.id, (SELECT count(*) FROM task t RIGHT JOIN emp e ON t.emp = e.id AND t.hours > d.id) FROM dept d;

-- scalar: over a full join inside, correlated above it
SELECT d.id, (SELECT count(*) FROM (SELECT e.dept AS dept, t.hours AS hours FROM emp e FULL JOIN task t ON t.emp = e.id) j WHERE j.dept = d.id OR j.hours = d.id) FROM dept d;

-- scalar: over a self join inside
SELECT d.id, (SELECT count(*) FROM emp e JOIN emp b ON e.boss = b.id WHERE e.dept = d.id AND b.dept = d.id) FROM dept d;

-- scalar: over a derived table inside, correlated in it
SELECT d.id, (SELECT max(s.n) FROM (SELECT e.boss, count(*) AS n FROM emp e WHERE e.dept = d.id GROUP BY e.boss) s) FROM dept d;

-- scalar: over a derived table inside, correlated beside it
SELECT d.id, (SELECT max(s.n) FROM (SELECT e.dept, e.boss, count(*) AS n FROM emp e GROUP BY e.dept, e.boss) s WHERE s.dept = d.id) FROM dept d;

-- scalar: GROUP BY inside, one group remains
SELECT d.id, (SELECT count(*) FROM emp e WHERE e.dept = d.id GROUP BY e.dept) FROM dept d;

-- scalar: GROUP BY inside turns no rows into NULL
SELECT d.id, (SELECT sum(e.pay) FROM emp e WHERE e.dept = d.id GROUP BY d.id) FROM dept d;

-- scalar: HAVING without GROUP BY
SELECT d.id, (SELECT count(*) FROM emp e WHERE e.dept = d.id HAVING count(*) > 2) FROM dept d;

-- scalar: HAVING with an outer column
SELECT d.id, (SELECT max(e.pay) FROM emp e WHERE e.dept = d.id HAVING count(*) > d.id) FROM dept d;

-- scalar: count of groups
SELECT d.id, (SELECT count(*) FROM (SELECT e.boss FROM emp e WHERE e.dept = d.id GROUP BY e.boss HAVING count(*) > 1) g) FROM dept d;

-- scalar: DISTINCT inside a derived table
SELECT d.id, (SELECT count(*) FROM (SELECT DISTINCT e.boss FROM emp e WHERE e.dept = d.id) g) FROM dept d;

-- scalar: DISTINCT of a constant expression
SELECT d.id, (SELECT DISTINCT d.budget FROM emp e WHERE e.dept = d.id) FROM dept d;

-- scalar: ORDER BY and LIMIT 1 inside
SELECT d.id, (SELECT e.id FROM emp e WHERE e.dept = d.id ORDER BY e.pay DESC NULLS LAST, e.id LIMIT 1) FROM dept d;

-- scalar: ORDER BY, LIMIT and OFFSET inside
SELECT d.id, (SELECT e.id FROM emp e WHERE e.dept = d.id ORDER BY e.id LIMIT 1 OFFSET 1) FROM dept d;

-- scalar: ORDER BY an expression of outer and inner columns
SELECT d.id, (SELECT e.id FROM emp e ORDER BY abs(e.id - d.id * 3), e.id LIMIT 1) FROM dept d;

-- scalar: LIMIT 1 under an aggregate
SELECT d.id, (SELECT sum(s.pay) FROM (SELECT e.pay FROM emp e WHERE e.dept = d.id ORDER BY e.id LIMIT 3) s) FROM dept d;

-- scalar: OFFSET under an aggregate
SELECT d.id, (SELECT count(*) FROM (SELECT e.id FROM emp e WHERE e.dept = d.id ORDER BY e.id OFFSET 2) s) FROM dept d;

-- scalar: LIMIT 0
SELECT d.id, (SELECT count(*) FROM (SELECT e.id FROM emp e WHERE e.dept = d.id LIMIT 0) s) FROM dept d;

-- scalar: UNION ALL inside
SELECT d.id, (SELECT sum(u.x) FROM (SELECT e.id AS x FROM emp e WHERE e.dept = d.id UNION ALL SELECT n.a FROM nums n WHERE n.b = d.id) u) FROM dept d;

-- scalar: UNION inside removes duplicates
SELECT d.id, (SELECT count(*) FROM (SELECT e.boss AS x FROM emp e WHERE e.dept = d.id UNION SELECT n.a FROM nums n WHERE n.b = d.id) u) FROM dept d;

-- scalar: UNION ALL, one side not correlated
SELECT d.id, (SELECT count(*) FROM (SELECT e.id FROM emp e WHERE e.dept = d.id UNION ALL SELECT n.a FROM nums n) u) FROM dept d;

-- scalar: INTERSECT inside
SELECT d.id, (SELECT count(*) FROM (SELECT e.boss FROM emp e WHERE e.dept = d.id INTERSECT SELECT e.id FROM emp e WHERE e.dept = d.id) u) FROM dept d;

-- scalar: EXCEPT inside
SELECT d.id, (SELECT count(*) FROM (SELECT e.id FROM emp e WHERE e.dept = d.id EXCEPT SELECT t.emp FROM task t) u) FROM dept d;

-- scalar: EXCEPT with both sides correlated
SELECT d.id, (SELECT count(*) FROM (SELECT n.a FROM nums n WHERE n.b < d.id EXCEPT SELECT n.a FROM nums n WHERE n.b >= d.id) u) FROM dept d;

-- scalar: correlated CTE
SELECT d.id, (WITH mine AS (SELECT e.pay FROM emp e WHERE e.dept = d.id) SELECT max(pay) - min(pay) FROM mine) FROM dept d;

-- scalar: correlated CTE used twice
SELECT d.id, (WITH mine AS (SELECT e.id, e.pay FROM emp e WHERE e.dept = d.id) SELECT count(*) FROM mine a JOIN mine b ON a.pay < b.pay) FROM dept d;

-- scalar: two CTEs, the second reads the first
SELECT d.id, (WITH mine AS (SELECT e.id FROM emp e WHERE e.dept = d.id), work AS (SELECT t.hours FROM task t JOIN mine m ON t.emp = m.id) SELECT sum(hours) FROM work) FROM dept d;

-- scalar: outer CTE read by a correlated subquery
WITH rich AS (SELECT * FROM emp WHERE pay > 4000) SELECT d.id, (SELECT count(*) FROM rich r WHERE r.dept = d.id) FROM dept d;

-- scalar: outer query is a derived table
SELECT s.k, (SELECT count(*) FROM emp e WHERE e.dept = s.k) FROM (SELECT DISTINCT b AS k FROM nums) s;

-- scalar: outer query is a UNION
SELECT u.k, (SELECT count(*) FROM nums n WHERE n.a = u.k) FROM (SELECT dept AS k FROM emp UNION SELECT id FROM dept) u;

-- scalar: outer query has duplicates
SELECT n.b, (SELECT count(*) FROM emp e WHERE e.dept = n.b) FROM nums n;

-- scalar: outer query is a join
SELECT e.id, t.id, (SELECT count(*) FROM nums n WHERE n.a = e.dept AND n.b < t.hours) FROM emp e JOIN task t ON t.emp = e.id;

-- scalar: outer query is a left join, correlated to its nullable side
SELECT e.id, (SELECT count(*) FROM nums n WHERE n.a = d.id) FROM emp e LEFT JOIN dept d ON d.id = e.dept AND d.budget > 500;

-- scalar: outer query is aggregated, correlated to the group key
SELECT e.dept, count(*), (SELECT d.name FROM dept d WHERE d.id = e.dept) FROM emp e GROUP BY e.dept;

-- scalar: outer query is aggregated, correlated to an aggregate
SELECT e.dept, (SELECT count(*) FROM nums n WHERE n.a < max(e.id)) FROM emp e GROUP BY e.dept;

-- scalar: under an aggregate of the outer query
SELECT sum((SELECT count(*) FROM task t WHERE t.emp = e.id)) FROM emp e;

-- scalar: under an aggregate with GROUP BY
SELECT e.dept, max((SELECT sum(t.hours) FROM task t WHERE t.emp = e.id)) FROM emp e GROUP BY e.dept;

-- scalar: as a group key
SELECT (SELECT d.city FROM dept d WHERE d.id = e.dept) AS city, count(*) FROM emp e GROUP BY city;

-- scalar: in HAVING, correlated to the group key
SELECT e.dept, count(*) FROM emp e GROUP BY e.dept HAVING count(*) > (SELECT count(*) FROM nums n WHERE n.a = e.dept);

-- scalar: in HAVING, uncorrelated
SELECT e.dept, sum(e.pay) FROM emp e GROUP BY e.dept HAVING sum(e.pay) > (SELECT avg(x.pay) * 3 FROM emp x);

-- ordered: scalar: in ORDER BY
SELECT d.id FROM dept d ORDER BY (SELECT count(*) FROM emp e WHERE e.dept = d.id) DESC, d.id;

-- ordered: scalar: in ORDER BY with LIMIT
SELECT e.id FROM emp e ORDER BY (SELECT d.budget FROM dept d WHERE d.id = e.dept) NULLS FIRST, e.id LIMIT 7;

-- ordered: scalar: in ORDER BY of an aggregation
SELECT e.dept, count(*) FROM emp e GROUP BY e.dept ORDER BY (SELECT d.budget FROM dept d WHERE d.id = e.dept) DESC NULLS LAST, e.dept NULLS LAST;

-- scalar: in CASE branches
SELECT e.id, CASE WHEN e.boss IS NULL THEN (SELECT count(*) FROM emp x WHERE x.boss = e.id) ELSE (SELECT b.dept FROM emp b WHERE b.id = e.boss) END FROM emp e;

-- scalar: in a CASE condition
SELECT d.id, CASE WHEN (SELECT count(*) FROM emp e WHERE e.dept = d.id) > 4 THEN 'large' ELSE 'small' END FROM dept d;

-- scalar: in JOIN ON
SELECT e.id, t.id FROM emp e JOIN task t ON t.emp = e.id AND t.hours > (SELECT avg(x.hours) FROM task x);

-- scalar: in JOIN ON, correlated to the left side
SELECT e.id, t.id FROM emp e JOIN task t ON t.emp = e.id AND t.hours = (SELECT max(x.hours) FROM task x WHERE x.emp = e.id);

-- scalar: in JOIN ON, correlated to both sides
SELECT e.id, d.id FROM emp e JOIN dept d ON (SELECT count(*) FROM nums n WHERE n.a = e.dept AND n.b = d.id) > 0;

-- scalar: in LEFT JOIN ON, uncorrelated
SELECT e.id, t.id FROM emp e LEFT JOIN task t ON t.emp = e.id AND t.hours > (SELECT avg(x.hours) FROM task x);

-- exists: equality
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id);

-- exists: not exists, equality
SELECT d.id FROM dept d WHERE NOT EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id);

-- exists: inequality
SELECT e.id FROM emp e WHERE EXISTS (SELECT * FROM emp x WHERE x.pay > e.pay AND x.dept = e.dept);

-- exists: not exists finds the maximum
SELECT e.id, e.pay FROM emp e WHERE NOT EXISTS (SELECT * FROM emp x WHERE x.pay > e.pay AND x.dept = e.dept);

-- exists: inequality alone
SELECT n.a, n.b FROM nums n WHERE NOT EXISTS (SELECT * FROM nums m WHERE m.a > n.a);

-- exists: uncorrelated
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM task t WHERE t.hours > 30);

-- exists: uncorrelated and empty
SELECT d.id FROM dept d WHERE NOT EXISTS (SELECT 1 FROM task t WHERE t.hours > 1000);

-- exists: as a value in SELECT
SELECT d.id, EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id) FROM dept d;

-- exists: not exists as a value
SELECT d.id, NOT EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id AND e.pay > 5000) FROM dept d;

-- exists: in OR with another condition
SELECT d.id FROM dept d WHERE d.budget > 700 OR EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id AND e.pay > 8000);

-- exists: two in OR
SELECT e.id FROM emp e WHERE EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id AND t.kind = 'a') OR EXISTS (SELECT 1 FROM emp x WHERE x.boss = e.id);

-- exists: exists and not exists
SELECT e.id FROM emp e WHERE EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id AND t.kind = 'a') AND NOT EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id AND t.kind = 'b');

-- exists: under NOT and OR
SELECT e.id FROM emp e WHERE NOT (EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id) OR e.boss IS NULL);

-- exists: in CASE
SELECT e.id, CASE WHEN EXISTS (SELECT 1 FROM emp x WHERE x.boss = e.id) THEN 'boss' ELSE 'worker' END FROM emp e;

-- exists: under an aggregate
SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id)) FROM emp e;

-- exists: sum of CASE of EXISTS by group
SELECT e.dept, sum(CASE WHEN EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id AND t.hours > 20) THEN 1 ELSE 0 END) FROM emp e GROUP BY e.dept;

-- exists: in HAVING
SELECT e.dept FROM emp e GROUP BY e.dept HAVING EXISTS (SELECT 1 FROM dept d WHERE d.id = e.dept AND d.budget > 300);

-- ordered: exists: in ORDER BY
SELECT e.id FROM emp e ORDER BY EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id), e.id;

-- exists: aggregate inside is always one row
SELECT d.id FROM dept d WHERE EXISTS (SELECT count(*) FROM emp e WHERE e.dept = d.id);

-- exists: aggregate with HAVING inside
SELECT d.id FROM dept d WHERE EXISTS (SELECT count(*) FROM emp e WHERE e.dept = d.id HAVING count(*) > 3);

-- exists: GROUP BY and HAVING inside
SELECT d.id FROM dept d WHERE EXISTS (SELECT e.boss FROM emp e WHERE e.dept = d.id GROUP BY e.boss HAVING count(*) >= 2);

-- exists: join inside
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e JOIN task t ON t.emp = e.id WHERE e.dept = d.id AND t.hours > 25);

-- exists: left join inside
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e LEFT JOIN task t ON t.emp = e.id AND t.kind = 'c' WHERE e.dept = d.id AND t.id IS NULL);

-- exists: left join inside, outer column in ON
SELECT d.id FROM dept d WHERE NOT EXISTS (SELECT 1 FROM emp e LEFT JOIN task t ON t.emp = e.id AND t.hours > d.budget / 30 WHERE e.dept = d.id AND t.id IS NULL);

-- exists: LIMIT inside
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id LIMIT 1);

-- exists: OFFSET inside asks for more than two
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id OFFSET 2);

-- exists: UNION ALL inside
SELECT d.id FROM dept d WHERE EXISTS (SELECT e.id FROM emp e WHERE e.dept = d.id AND e.pay > 8500 UNION ALL SELECT n.a FROM nums n WHERE n.a = d.id);

-- exists: INTERSECT inside
SELECT d.id FROM dept d WHERE EXISTS (SELECT e.id FROM emp e WHERE e.dept = d.id INTERSECT SELECT t.emp FROM task t WHERE t.kind = 'a');

-- exists: EXCEPT inside is relational division
SELECT e.id FROM emp e WHERE NOT EXISTS (SELECT t.kind FROM task t WHERE t.kind < 'c' EXCEPT SELECT t.kind FROM task t WHERE t.emp = e.id);

-- exists: relational division by double negation
SELECT e.id FROM emp e WHERE NOT EXISTS (SELECT 1 FROM task k WHERE k.hours < 3 AND NOT EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id AND t.kind = k.kind));

-- exists: correlated on NULL-safe equality
SELECT n.a, n.b FROM nums n WHERE EXISTS (SELECT 1 FROM emp e WHERE e.boss IS NOT DISTINCT FROM n.b AND e.dept = n.a);

-- exists: condition on the outer row alone
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE d.budget > 500);

-- exists: outer and inner conditions in one OR
SELECT e.id FROM emp e WHERE EXISTS (SELECT 1 FROM dept d WHERE (d.id = e.dept AND d.budget > 500) OR (d.id = 1 AND e.boss IS NULL));

-- exists: without FROM
SELECT n.a FROM nums n WHERE EXISTS (SELECT 1 WHERE n.a > n.b);

-- in: uncorrelated
SELECT e.id FROM emp e WHERE e.dept IN (SELECT d.id FROM dept d WHERE d.budget > 400);

-- in: not in without NULLs inside
SELECT e.id FROM emp e WHERE e.dept NOT IN (SELECT d.id FROM dept d WHERE d.budget > 400);

-- in: not in with NULLs inside
SELECT d.id FROM dept d WHERE d.id NOT IN (SELECT e.dept FROM emp e);

-- in: not in with the NULLs removed
SELECT d.id FROM dept d WHERE d.id NOT IN (SELECT e.dept FROM emp e WHERE e.dept IS NOT NULL);

-- in: NULL not in the empty set
SELECT e.id, e.boss FROM emp e WHERE e.boss NOT IN (SELECT d.id FROM dept d WHERE d.id < 0);

-- in: three-valued result as a value
SELECT e.id, e.boss IN (SELECT x.dept FROM emp x) FROM emp e;

-- in: not in as a value
SELECT n.a, n.b, n.a NOT IN (SELECT m.b FROM nums m) FROM nums n;

-- in: IS NULL of IN
SELECT n.a, (n.a IN (SELECT m.b FROM nums m WHERE m.b > 4 OR m.b IS NULL)) IS NULL FROM nums n;

-- in: correlated
SELECT e.id FROM emp e WHERE e.id IN (SELECT t.emp FROM task t WHERE t.hours > e.dept * 3);

-- in: correlated, not in
SELECT e.id FROM emp e WHERE e.dept NOT IN (SELECT n.a FROM nums n WHERE n.b = e.boss);

-- in: correlated, not in, as a value
SELECT n.a, n.b, n.a NOT IN (SELECT m.a FROM nums m WHERE m.b = n.b AND m.f > 0) FROM nums n;

-- in: correlated, in, as a value
SELECT n.a, n.b, n.b IN (SELECT m.b FROM nums m WHERE m.a < n.a) FROM nums n;

-- in: expression on the left
SELECT e.id FROM emp e WHERE e.dept + 1 IN (SELECT d.id FROM dept d);

-- in: constant on the left
SELECT d.id FROM dept d WHERE 1 IN (SELECT n.b FROM nums n WHERE n.a = d.id);

-- in: NULL on the left
SELECT d.id, NULL IN (SELECT n.b FROM nums n WHERE n.a = d.id) FROM dept d;

-- in: strings
SELECT t.id FROM task t WHERE t.kind IN (SELECT n.s FROM nums n WHERE n.a > 3);

-- in: strings, not in, correlated
SELECT t.id FROM task t WHERE t.kind NOT IN (SELECT n.s FROM nums n WHERE n.a = t.hours AND n.s IS NOT NULL);

-- in: rows
SELECT n.a, n.b FROM nums n WHERE (n.a, n.b) IN (SELECT e.dept, e.boss FROM emp e);

-- in: rows with correlation
SELECT e.id FROM emp e WHERE (e.dept, e.id) IN (SELECT x.dept, max(x.id) FROM emp x GROUP BY x.dept);

-- in: in OR
SELECT e.id FROM emp e WHERE e.boss IS NULL OR e.dept IN (SELECT d.id FROM dept d WHERE d.city = 'Ulm');

-- in: not in, in OR
SELECT e.id FROM emp e WHERE e.pay > 8000 OR e.dept NOT IN (SELECT d.id FROM dept d WHERE d.budget < 500);

-- in: in CASE
SELECT e.id, CASE WHEN e.id IN (SELECT x.boss FROM emp x) THEN 1 ELSE 0 END FROM emp e;

-- in: under NOT in AND
SELECT n.a FROM nums n WHERE NOT (n.a IN (SELECT d.id FROM dept d) AND n.b IN (SELECT d.id FROM dept d));

-- in: GROUP BY and HAVING inside
SELECT e.id FROM emp e WHERE e.id IN (SELECT t.emp FROM task t GROUP BY t.emp HAVING sum(t.hours) > 60);

-- in: DISTINCT inside
SELECT e.id FROM emp e WHERE e.dept IN (SELECT DISTINCT n.b FROM nums n);

-- in: ORDER BY and LIMIT inside
SELECT e.id FROM emp e WHERE e.dept IN (SELECT d.id FROM dept d ORDER BY d.budget DESC NULLS LAST, d.id LIMIT 3);

-- in: correlated ORDER BY and LIMIT inside
SELECT d.id FROM dept d WHERE 9 IN (SELECT n.a + n.b FROM nums n WHERE n.a >= d.id ORDER BY n.a, n.b NULLS LAST LIMIT 5);

-- in: aggregate inside
SELECT e.id FROM emp e WHERE e.pay IN (SELECT max(x.pay) FROM emp x WHERE x.dept = e.dept);

-- in: not in of an aggregate that may be NULL
SELECT d.id FROM dept d WHERE d.budget NOT IN (SELECT max(n.a) * 100 FROM nums n WHERE n.b = d.id);

-- in: UNION inside
SELECT e.id FROM emp e WHERE e.id IN (SELECT x.boss FROM emp x UNION SELECT t.emp FROM task t WHERE t.hours > 35);

-- in: in HAVING
SELECT t.emp, count(*) FROM task t GROUP BY t.emp HAVING t.emp IN (SELECT e.id FROM emp e WHERE e.boss IS NOT NULL);

-- in: in JOIN ON
SELECT e.id, d.id FROM emp e JOIN dept d ON d.id = e.dept AND e.id IN (SELECT t.emp FROM task t);

-- in: nested three deep
SELECT t.id FROM task t WHERE t.emp IN (SELECT e.id FROM emp e WHERE e.dept IN (SELECT d.id FROM dept d WHERE d.budget IN (SELECT max(x.budget) FROM dept x GROUP BY x.city)));

-- in: not in of not in
SELECT e.id FROM emp e WHERE e.id NOT IN (SELECT t.emp FROM task t WHERE t.emp IS NOT NULL AND t.kind NOT IN (SELECT n.s FROM nums n WHERE n.s IS NOT NULL));

-- quantified: greater than all, uncorrelated
SELECT e.id FROM emp e WHERE e.dept > ALL (SELECT n.a FROM nums n WHERE n.a < 3);

-- quantified: greater than all of nothing
SELECT d.id FROM dept d WHERE d.budget > ALL (SELECT n.a FROM nums n WHERE n.a > 1000);

-- quantified: all with NULLs, as a value
SELECT d.id, d.id >= ALL (SELECT n.b FROM nums n) FROM dept d;

-- quantified: all, correlated
SELECT e.id FROM emp e WHERE e.pay >= ALL (SELECT x.pay FROM emp x WHERE x.dept = e.dept);

-- quantified: all, correlated, as a value
SELECT n.a, n.b, n.a > ALL (SELECT m.b FROM nums m WHERE m.a = n.a) FROM nums n;

-- quantified: any, uncorrelated
SELECT e.id FROM emp e WHERE e.dept < ANY (SELECT d.id FROM dept d WHERE d.budget > 600);

-- quantified: any, correlated
SELECT e.id FROM emp e WHERE e.pay > ANY (SELECT x.pay FROM emp x WHERE x.dept = e.dept);

-- quantified: any, correlated, as a value
SELECT n.a, n.b, n.a < ANY (SELECT m.b FROM nums m WHERE m.a >= n.a) FROM nums n;

-- quantified: equals any is IN
SELECT e.id FROM emp e WHERE e.dept = ANY (SELECT d.id FROM dept d WHERE d.city = 'Bonn');

-- quantified: differs from all is NOT IN
SELECT d.id FROM dept d WHERE d.id <> ALL (SELECT e.dept FROM emp e WHERE e.dept IS NOT NULL);

-- quantified: equals all
SELECT n.a, n.b FROM nums n WHERE n.a = ALL (SELECT m.a FROM nums m WHERE m.b = n.b);

-- quantified: differs from any
SELECT n.a, n.b FROM nums n WHERE n.a <> ANY (SELECT m.a FROM nums m WHERE m.b = n.b);

-- quantified: not any
SELECT e.id FROM emp e WHERE NOT (e.pay > ANY (SELECT x.pay FROM emp x WHERE x.boss = e.id));

-- quantified: all over an aggregate
SELECT d.id FROM dept d WHERE d.budget < ALL (SELECT sum(t.hours) * 5 FROM task t JOIN emp e ON t.emp = e.id WHERE e.dept = d.id GROUP BY e.id);

-- lateral: cross join
SELECT d.id, l.id FROM dept d, LATERAL (SELECT e.id FROM emp e WHERE e.dept = d.id) l;

-- lateral: CROSS JOIN LATERAL with an aggregate
SELECT d.id, l.n, l.total FROM dept d CROSS JOIN LATERAL (SELECT count(*) AS n, sum(e.pay) AS total FROM emp e WHERE e.dept = d.id) l;

-- lateral: top two of each group
SELECT d.id, l.id, l.pay FROM dept d, LATERAL (SELECT e.id, e.pay FROM emp e WHERE e.dept = d.id ORDER BY e.pay DESC NULLS LAST, e.id LIMIT 2) l;

-- lateral: second of each group by OFFSET
SELECT d.id, l.id FROM dept d, LATERAL (SELECT e.id FROM emp e WHERE e.dept = d.id ORDER BY e.id LIMIT 1 OFFSET 1) l;

-- lateral: left join keeps rows without match
SELECT d.id, l.id FROM dept d LEFT JOIN LATERAL (SELECT e.id FROM emp e WHERE e.dept = d.id AND e.pay > 6000) l ON true;

-- lateral: left join with a limit
SELECT d.id, l.id FROM dept d LEFT JOIN LATERAL (SELECT e.id FROM emp e WHERE e.dept = d.id ORDER BY e.hired NULLS LAST, e.id LIMIT 1) l ON true;

-- lateral: inner join with a condition
SELECT d.id, l.id FROM dept d JOIN LATERAL (SELECT e.id, e.boss FROM emp e WHERE e.dept = d.id) l ON l.boss > d.id;

-- lateral: expressions computed once
SELECT n.a, l.x, m.y FROM nums n, LATERAL (SELECT n.a * 2 AS x) l, LATERAL (SELECT l.x + n.b AS y) m;

-- lateral: chain, the second reads the first
SELECT d.id, l.id, m.hours FROM dept d, LATERAL (SELECT e.id FROM emp e WHERE e.dept = d.id) l, LATERAL (SELECT sum(t.hours) AS hours FROM task t WHERE t.emp = l.id) m;

-- lateral: the second reads both before it
SELECT d.id, l.id, m.n FROM dept d, LATERAL (SELECT e.id FROM emp e WHERE e.dept = d.id ORDER BY e.id LIMIT 2) l, LATERAL (SELECT count(*) AS n FROM nums x WHERE x.a = d.id AND x.b < l.id) m;

-- lateral: nested in a lateral
SELECT d.id, l.id, l.n FROM dept d, LATERAL (SELECT e.id, k.n FROM emp e, LATERAL (SELECT count(*) AS n FROM task t WHERE t.emp = e.id AND t.hours > d.id) k WHERE e.dept = d.id) l;

-- lateral: GROUP BY inside
SELECT d.id, l.boss, l.n FROM dept d, LATERAL (SELECT e.boss, count(*) AS n FROM emp e WHERE e.dept = d.id GROUP BY e.boss) l;

-- lateral: HAVING inside
SELECT d.id, l.boss FROM dept d, LATERAL (SELECT e.boss FROM emp e WHERE e.dept = d.id GROUP BY e.boss HAVING count(*) > 1) l;

-- lateral: DISTINCT inside
SELECT d.id, l.kind FROM dept d, LATERAL (SELECT DISTINCT t.kind FROM task t JOIN emp e ON t.emp = e.id WHERE e.dept = d.id) l;

-- lateral: UNION ALL inside
SELECT d.id, l.x FROM dept d, LATERAL (SELECT e.id AS x FROM emp e WHERE e.dept = d.id UNION ALL SELECT n.a FROM nums n WHERE n.b = d.id) l;

-- lateral: EXCEPT inside
SELECT d.id, l.x FROM dept d, LATERAL (SELECT n.a AS x FROM nums n WHERE n.b = d.id EXCEPT SELECT e.boss FROM emp e WHERE e.dept = d.id) l;

-- lateral: inequality inside
SELECT n.a, l.c FROM nums n, LATERAL (SELECT count(*) AS c FROM nums m WHERE m.a > n.a AND m.b <= n.b) l;

-- lateral: aggregated above
SELECT l.kind, sum(d.budget), count(*) FROM dept d, LATERAL (SELECT DISTINCT t.kind FROM task t JOIN emp e ON t.emp = e.id WHERE e.dept = d.id) l GROUP BY l.kind;

-- lateral: filtered above
SELECT d.id, l.n FROM dept d, LATERAL (SELECT count(*) AS n FROM emp e WHERE e.dept = d.id) l WHERE l.n = 0 OR l.n > 4;

-- lateral: left join inside with the outer column in ON
SELECT d.id, l.id, l.task FROM dept d, LATERAL (SELECT e.id, t.id AS task FROM emp e LEFT JOIN task t ON t.emp = e.id AND t.hours > d.budget / 20 WHERE e.dept = d.id) l;

-- lateral: VALUES inside
SELECT n.a, l.x FROM nums n, LATERAL (VALUES (n.a), (n.b)) l(x);

-- lateral: subquery in the lateral's WHERE
SELECT d.id, l.id FROM dept d, LATERAL (SELECT e.id FROM emp e WHERE e.dept = d.id AND e.pay = (SELECT max(x.pay) FROM emp x WHERE x.dept = d.id)) l;

-- deep: EXISTS in EXISTS
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id AND EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id AND t.hours > 30));

-- deep: EXISTS in EXISTS, the outermost column skips a level
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id AND t.hours = d.id));

-- deep: NOT EXISTS in NOT EXISTS, skipping a level
SELECT d.id FROM dept d WHERE NOT EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id AND NOT EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id AND t.hours > d.id * 2));

-- deep: scalar in scalar
SELECT d.id, (SELECT max((SELECT sum(t.hours) FROM task t WHERE t.emp = e.id)) FROM emp e WHERE e.dept = d.id) FROM dept d;

-- deep: scalar in scalar, skipping a level
SELECT d.id, (SELECT sum((SELECT count(*) FROM task t WHERE t.emp = e.id AND t.hours > d.id)) FROM emp e) FROM dept d;

-- deep: count of nothing two levels down
SELECT d.id, (SELECT sum((SELECT count(*) FROM task t WHERE t.emp = e.id AND t.hours > 1000)) FROM emp e WHERE e.dept = d.id) FROM dept d;

-- deep: only the innermost is correlated to the outermost
SELECT d.id, (SELECT count(*) FROM emp e WHERE e.id IN (SELECT t.emp FROM task t WHERE t.hours = d.id)) FROM dept d;

-- deep: scalar in the WHERE of a scalar
SELECT d.id, (SELECT count(*) FROM emp e WHERE e.dept = d.id AND e.pay > (SELECT avg(x.pay) FROM emp x WHERE x.dept = e.dept)) FROM dept d;

-- deep: scalar in the WHERE of a scalar, both levels correlated
SELECT d.id, (SELECT count(*) FROM emp e WHERE e.pay > (SELECT avg(x.pay) FROM emp x WHERE x.dept = d.id AND x.boss = e.boss)) FROM dept d;

-- deep: NOT IN inside EXISTS
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id AND e.id NOT IN (SELECT t.emp FROM task t WHERE t.emp IS NOT NULL));

-- deep: NOT IN with NULLs inside EXISTS, skipping a level
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept NOT IN (SELECT n.b FROM nums n WHERE n.a = d.id));

-- deep: IN inside a scalar in SELECT
SELECT d.id, (SELECT count(*) FROM emp e WHERE e.dept = d.id AND e.id IN (SELECT x.boss FROM emp x WHERE x.dept = d.id)) FROM dept d;

-- deep: EXISTS as a value inside a scalar
SELECT d.id, (SELECT sum(CASE WHEN EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id AND t.hours > d.id) THEN 1 ELSE 0 END) FROM emp e WHERE e.dept = d.id) FROM dept d;

-- deep: three levels, each to the one above
SELECT d.id, (SELECT count(*) FROM emp e WHERE e.dept = d.id AND EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id AND t.hours > (SELECT avg(x.hours) FROM task x WHERE x.kind = t.kind))) FROM dept d;

-- deep: three levels, the innermost reads all
SELECT d.id, (SELECT count(*) FROM emp e WHERE e.dept = d.id AND EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id AND t.hours > (SELECT count(*) FROM nums n WHERE n.a < d.id + e.dept AND n.b < t.hours))) FROM dept d;

-- deep: aggregate of a derived table that is correlated two levels up
SELECT d.id, (SELECT max(s.h) FROM (SELECT e.id, (SELECT sum(t.hours) FROM task t WHERE t.emp = e.id AND t.id > d.id) AS h FROM emp e WHERE e.dept = d.id) s) FROM dept d;

-- deep: LIMIT at both levels
SELECT d.id, (SELECT (SELECT t.id FROM task t WHERE t.emp = e.id ORDER BY t.id LIMIT 1) FROM emp e WHERE e.dept = d.id ORDER BY e.id LIMIT 1) FROM dept d;

-- deep: lateral inside a scalar subquery
SELECT d.id, (SELECT sum(l.h) FROM emp e, LATERAL (SELECT max(t.hours) AS h FROM task t WHERE t.emp = e.id AND t.hours > d.id) l WHERE e.dept = d.id) FROM dept d;

-- deep: lateral inside EXISTS
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e, LATERAL (SELECT count(*) AS c FROM task t WHERE t.emp = e.id) l WHERE e.dept = d.id AND l.c > 3);

-- deep: scalar subquery in the HAVING of an EXISTS
SELECT d.id FROM dept d WHERE EXISTS (SELECT e.boss FROM emp e WHERE e.dept = d.id GROUP BY e.boss HAVING sum(e.pay) > (SELECT avg(x.pay) FROM emp x WHERE x.dept = d.id));

-- deep: union inside a scalar with subqueries in its sides
SELECT d.id, (SELECT count(*) FROM (SELECT e.id FROM emp e WHERE e.dept = d.id AND EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id) UNION ALL SELECT n.a FROM nums n WHERE n.b = (SELECT min(m.b) FROM nums m WHERE m.a = d.id)) u) FROM dept d;

-- deep: quantified inside EXISTS, skipping a level
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id AND e.id > ALL (SELECT n.a FROM nums n WHERE n.b = d.id));

-- derived: correlated subquery in a derived table's SELECT
SELECT s.id, s.n FROM (SELECT d.id, (SELECT count(*) FROM emp e WHERE e.dept = d.id) AS n FROM dept d) s WHERE s.n > 2;

-- derived: join of two derived tables with subqueries
SELECT x.id, x.n, y.m FROM (SELECT d.id, (SELECT count(*) FROM emp e WHERE e.dept = d.id) AS n FROM dept d) x JOIN (SELECT d.id, (SELECT count(*) FROM nums n WHERE n.a = d.id) AS m FROM dept d) y ON x.id = y.id;

-- derived: aggregation above a correlated subquery
SELECT s.n, count(*) FROM (SELECT e.id, (SELECT count(*) FROM task t WHERE t.emp = e.id) AS n FROM emp e) s GROUP BY s.n;

-- derived: CTE with a correlated subquery, read twice
WITH load AS (SELECT e.id, e.dept, (SELECT sum(t.hours) FROM task t WHERE t.emp = e.id) AS h FROM emp e) SELECT l.id, l.h FROM load l WHERE l.h = (SELECT max(m.h) FROM load m WHERE m.dept = l.dept);

-- derived: subquery against a view of the same table with a filter
SELECT e.id FROM emp e WHERE e.pay > (SELECT avg(s.pay) FROM (SELECT pay, dept FROM emp WHERE boss IS NOT NULL) s WHERE s.dept = e.dept);

-- mixed: EXISTS, IN and scalar in one WHERE
SELECT e.id FROM emp e WHERE EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id) AND e.dept IN (SELECT d.id FROM dept d WHERE d.budget > 200) AND e.pay >= (SELECT avg(x.pay) FROM emp x WHERE x.dept = e.dept);

-- mixed: subqueries in SELECT, WHERE and ORDER BY
SELECT d.id, (SELECT max(e.pay) FROM emp e WHERE e.dept = d.id) FROM dept d WHERE (SELECT count(*) FROM emp e WHERE e.dept = d.id) > 1 ORDER BY (SELECT min(e.id) FROM emp e WHERE e.dept = d.id);

-- mixed: arithmetic over three subqueries
SELECT d.id, (SELECT count(*) FROM emp e WHERE e.dept = d.id) + (SELECT count(*) FROM nums n WHERE n.a = d.id) * (SELECT max(id) FROM dept) FROM dept d;

-- mixed: DISTINCT over a correlated subquery
SELECT DISTINCT (SELECT count(*) FROM task t WHERE t.emp = e.id) FROM emp e;

-- mixed: UNION of queries with subqueries
SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id) UNION SELECT n.a FROM nums n WHERE n.b > (SELECT avg(m.b) FROM nums m WHERE m.a = n.a);

-- mixed: outer join whose ON holds an IN
SELECT d.id, e.id FROM dept d LEFT JOIN emp e ON e.dept = d.id AND e.id IN (SELECT t.emp FROM task t WHERE t.kind = 'a');

-- mixed: subquery with the name of an outer column shadowed
SELECT id, (SELECT count(*) FROM emp WHERE dept = dept.id) FROM dept;

-- mixed: unqualified outer column
SELECT budget, (SELECT count(*) FROM nums WHERE a * 100 > budget) FROM dept;

-- mixed: rows that nothing refers to
SELECT d.id FROM dept d WHERE NOT EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id) AND d.id NOT IN (SELECT n.a FROM nums n WHERE n.a IS NOT NULL AND n.b < 3);

-- mixed: correlated subquery below an aggregate below a subquery
SELECT e.id FROM emp e WHERE e.pay > (SELECT avg(s.m) FROM (SELECT x.dept, max(x.pay) AS m FROM emp x WHERE EXISTS (SELECT 1 FROM task t WHERE t.emp = x.id AND t.emp <> e.id) GROUP BY x.dept) s);

-- mixed: string_agg with an order inside a scalar
SELECT d.id, (SELECT string_agg(e.name, ',' ORDER BY e.id) FROM emp e WHERE e.dept = d.id) FROM dept d;

-- mixed: EXISTS over the outer query's own derived alias
SELECT s.k FROM (SELECT a AS k, count(*) AS c FROM nums GROUP BY a) s WHERE EXISTS (SELECT 1 FROM dept d WHERE d.id = s.c);

-- mixed: scalar subquery in LIMIT-ed outer query
SELECT s.id, s.n FROM (SELECT e.id, (SELECT count(*) FROM task t WHERE t.emp = e.id) AS n FROM emp e ORDER BY n DESC, e.id LIMIT 5) s;

-- mixed: semi join of a semi join with different keys
SELECT t.id FROM task t WHERE EXISTS (SELECT 1 FROM emp e WHERE e.id = t.emp AND EXISTS (SELECT 1 FROM task u WHERE u.emp = e.boss AND u.kind = t.kind));

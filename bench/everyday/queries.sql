-- The queries, each below its name. {csv}, {json} and {parquet} are paths of files.

-- JSON file, fields of structs
SELECT person.country, count(*), max(person.born) FROM read_json('{json}') GROUP BY 1 ORDER BY 1;

-- JSON file, unnest of structs
SELECT x.sku, sum(x.price) FROM (SELECT unnest(items) AS x FROM read_json('{json}')) GROUP BY 1 ORDER BY 1;

-- JSON file, whole
SELECT * FROM read_json('{json}');

-- JSON paths
SELECT payload->>'$.user.name' AS u, sum((payload->'$.user.age')::INTEGER) FROM events GROUP BY 1 ORDER BY 2 DESC, 1
  LIMIT 20;

-- JSON path of a list
SELECT json_extract_string(payload, '$.items[1]') AS i, count(*) FROM events GROUP BY 1 ORDER BY 1;

-- to_json
SELECT max(to_json({'id': id, 'kind': kind, 'amount': amount})::VARCHAR) FROM events;

-- unnest of made lists
SELECT x, count(*) FROM (SELECT unnest([quantity, quantity + 1, quantity * 2]) AS x FROM events) GROUP BY 1 ORDER BY 1;

-- unnest of split texts
SELECT t, count(*) FROM (SELECT unnest(string_split(tags, ',')) AS t FROM events) GROUP BY 1 ORDER BY 1;

-- list by group
SELECT sum(len(l)) FROM (SELECT user_id, list(amount ORDER BY ts) AS l FROM events GROUP BY 1);

-- list functions
SELECT sum(list_sum(list_transform([quantity, id], lambda x: x * 2))) FROM events;

-- struct by group
SELECT s.kind, s.country, n FROM (SELECT {'kind': kind, 'country': country} AS s, count(*) AS n FROM events GROUP BY
  1) ORDER BY 1, 2;

-- string_agg by group
SELECT sum(length(s)) FROM (SELECT user_id, string_agg(kind, ',' ORDER BY id) AS s FROM events GROUP BY 1);

-- jaro_winkler
SELECT count(*) FROM events WHERE jaro_winkler_similarity(name, 'Anna Meier1234') > 0.85;

-- levenshtein
SELECT count(*) FROM events WHERE levenshtein(name, 'Anna Meier1234') < 5;

-- regexp_extract
SELECT regexp_extract(url, 'shop([0-9]+)', 1) AS shop, count(*) FROM events GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- regexp_replace
SELECT count(DISTINCT regexp_replace(url, '[0-9]+', '#', 'g')) FROM events;

-- regexp_matches
SELECT count(*) FROM events WHERE regexp_matches(url, '(home|about).*lang=(de|fr)$');

-- LIKE
SELECT count(*) FROM events WHERE url LIKE '%item%' AND url NOT LIKE '%lang=en';

-- ILIKE
SELECT count(*) FROM events WHERE name ILIKE '%meier%';

-- split_part, upper
SELECT upper(split_part(name, ' ', 1)) AS first, count(*) FROM events GROUP BY 1 ORDER BY 1;

-- concat, lpad
SELECT count(DISTINCT country || '-' || lpad(quantity::VARCHAR, 4, '0')) FROM events;

-- substring, trim, replace
SELECT max(replace(trim(substring(url, 9, 30)), '.example', '')) FROM events;

-- numbers as text
SELECT max(id::VARCHAR || amount::VARCHAR || price::VARCHAR) FROM events;

-- text to numbers
SELECT sum(split_part(tags, ',', 3)::INTEGER) FROM events;

-- sort of texts
SELECT name, url FROM events ORDER BY name, url LIMIT 100 OFFSET 1000000;

-- sort of texts, whole
SELECT name FROM events ORDER BY name;

-- text to timestamp
SELECT min(ts_text::TIMESTAMP), max(ts_text::TIMESTAMP) FROM events;

-- strptime
SELECT strptime(day_text, '%d/%m/%Y') AS d, count(*) FROM events GROUP BY 1 ORDER BY 1;

-- strftime
SELECT strftime(ts, '%Y-%m-%d %H') AS h, count(*) FROM events GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- date_trunc by group
SELECT date_trunc('month', ts) AS m, sum(amount) FROM events GROUP BY 1 ORDER BY 1;

-- time_bucket by group
SELECT time_bucket(INTERVAL '15 minutes', ts) AS b, avg(price) FROM events GROUP BY 1 ORDER BY 1;

-- parts of dates
SELECT year(day), quarter(day), dayofweek(day), count(*) FROM events GROUP BY ALL ORDER BY ALL;

-- names of days
SELECT dayname(ts), monthname(ts), week(ts), count(*) FROM events GROUP BY ALL ORDER BY ALL;

-- date_diff
SELECT date_diff('day', day, ts::DATE) // 100 AS n, count(*) FROM events GROUP BY 1 ORDER BY 1;

-- add intervals
SELECT max(ts + INTERVAL '1 month'), min(day - INTERVAL '3 days') FROM events;

-- group by kind, country
SELECT kind, country, count(*), sum(amount), avg(price), max(ts) FROM events GROUP BY ALL ORDER BY ALL;

-- group by user
SELECT user_id, count(*), sum(amount) FROM events GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT 10;

-- count distinct
SELECT country, count(DISTINCT user_id) FROM events GROUP BY 1 ORDER BY 1;

-- median by group
SELECT country, median(price), quantile_cont(price, 0.9) FROM events GROUP BY 1 ORDER BY 1;

-- arg_max
SELECT kind, arg_max(url, amount::DOUBLE + id / 1e9), arg_min(id, ts) FROM events GROUP BY 1 ORDER BY 1;

-- max_by of n
SELECT user_id % 100 AS g, max_by(id, ts, 3) FROM events GROUP BY 1 ORDER BY 1;

-- CASE, FILTER
SELECT country, sum(CASE WHEN quantity > 10 THEN amount ELSE 0 END), count(*) FILTER (kind = 'pay') FROM events GROUP
  BY 1 ORDER BY 1;

-- IN over constants
SELECT count(*), sum(amount) FROM events WHERE kind IN ('pay', 'cart', 'refund') AND quantity IN (1, 3, 5, 7);

-- ROLLUP
SELECT kind, country, sum(amount) FROM events GROUP BY ROLLUP (kind, country) ORDER BY ALL;

-- pivot
SELECT * FROM (PIVOT (SELECT kind, country, amount FROM events) ON kind USING sum(amount) GROUP BY country) ORDER BY
  country;

-- unpivot
SELECT name, sum(value) FROM (UNPIVOT (SELECT quantity::BIGINT AS q, user_id::BIGINT AS u, id AS i FROM events) ON q,
  u, i) GROUP BY 1 ORDER BY 1;

-- histogram
SELECT histogram(quantity) FROM events;

-- QUALIFY row_number
SELECT user_id, id, amount FROM events QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY amount DESC, id) <= 2
  ORDER BY 1, 3 DESC, 2 LIMIT 100;

-- lag, lead
SELECT sum(d), max(e) FROM (SELECT amount - lag(amount) OVER w AS d, lead(id) OVER w - id AS e FROM events WINDOW w AS
  (PARTITION BY user_id ORDER BY ts));

-- running sum
SELECT max(s) FROM (SELECT sum(amount) OVER (PARTITION BY country ORDER BY id) AS s FROM events);

-- moving average
SELECT max(a) FROM (SELECT avg(price) OVER (ORDER BY id ROWS BETWEEN 29 PRECEDING AND CURRENT ROW) AS a FROM events);

-- moving median
SELECT max(m) FROM (SELECT median(price) OVER (ORDER BY id ROWS BETWEEN 99 PRECEDING AND CURRENT ROW) AS m FROM events
  WHERE id < 200000);

-- rank, ntile
SELECT max(r), max(n) FROM (SELECT rank() OVER (PARTITION BY kind ORDER BY amount) AS r, ntile(100) OVER (ORDER BY
  price) AS n FROM events);

-- share of group
SELECT max(share) FROM (SELECT amount / sum(amount) OVER (PARTITION BY user_id) AS share FROM events WHERE amount > 0);

-- join, group
SELECT u.country, sum(e.amount) FROM events e JOIN users u USING (user_id) GROUP BY 1 ORDER BY 1;

-- left join on text
SELECT count(*), count(u.user_id) FROM events e LEFT JOIN users u ON u.name = 'u' || e.quantity;

-- semi join
SELECT count(*) FROM events WHERE user_id IN (SELECT user_id FROM users WHERE born > DATE '1990-01-01');

-- anti join
SELECT count(*) FROM users u WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.user_id = u.user_id AND e.kind = 'pay');

-- range join
SELECT count(*) FROM users u JOIN (SELECT DISTINCT day FROM events) d ON d.day BETWEEN u.born + 20000 AND u.born +
  20003;

-- ASOF join
SELECT count(*), sum(p.price) FROM events e ASOF JOIN prices p ON e.quantity = p.quantity AND e.ts >= p.ts;

-- correlated subquery
SELECT count(*) FROM events e WHERE amount > (SELECT avg(amount) FROM events f WHERE f.user_id = e.user_id);

-- recursive CTE
WITH RECURSIVE r AS (SELECT user_id, 0 AS depth FROM users WHERE user_id = 0 UNION ALL SELECT u.user_id, depth + 1
  FROM r JOIN users u ON u.manager = r.user_id AND u.user_id > 0) SELECT depth, count(*) FROM r GROUP BY 1 ORDER BY 1;

-- recursive counter
WITH RECURSIVE r(n, s) AS (SELECT 1, 0::HUGEINT UNION ALL SELECT n + 1, s + n FROM r WHERE n < 3000) SELECT count(*),
  max(s) FROM r;

-- union, distinct
SELECT count(*) FROM (SELECT user_id, kind FROM events UNION SELECT user_id, country FROM users);

-- CSV file, group
SELECT kind, count(*), sum(amount) FROM read_csv('{csv}') GROUP BY 1 ORDER BY 1;

-- CSV file, whole
SELECT count(*), max(name), max(ts), sum(price) FROM read_csv('{csv}');

-- Parquet file, group
SELECT kind, count(*), sum(amount) FROM '{parquet}' WHERE country < 'C' GROUP BY 1 ORDER BY 1;

-- Parquet file, texts
SELECT count(*), max(url), max(name) FROM '{parquet}';

-- rows to the client
SELECT * FROM events WHERE quantity = 7;

-- sort of numbers
SELECT id, amount FROM events ORDER BY amount DESC, id LIMIT 1000;

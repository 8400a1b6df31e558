-- The tables, each below its name. Numbers are mixed by multiplication with primes, so that rows are the same everywhere.

-- events
SELECT i AS id, (m * 7919 % {users})::INTEGER AS user_id,
  ['view', 'click', 'search', 'cart', 'pay', 'refund', 'login', 'logout', 'share', 'rate', 'help', 'print'][1 + m % 12] AS kind,
  chr((65 + m % 7)::INTEGER) || chr((65 + m // 7 % 6)::INTEGER) AS country,
  'https://www.shop' || m % 977 || '.example.com/' || ['home', 'item', 'list', 'about us'][1 + m % 4] || '/' || m % 20011
    || '?q=' || m % 313 || '&lang=' || ['en', 'de', 'fr'][1 + m % 3] AS url,
  (m % 1000003 / 100)::DECIMAL(10, 2) AS amount, m % 99991 / 97 AS price, (m % 23)::INTEGER AS quantity,
  DATE '2015-01-01' + (m % 3650)::INTEGER AS day,
  TIMESTAMP '2015-01-01' + to_seconds(i * {step}) + to_milliseconds(m % 1000) AS ts,
  strftime(TIMESTAMP '2015-01-01' + to_seconds(m % 300000000), '%Y-%m-%d %H:%M:%S') AS ts_text,
  strftime(DATE '2015-01-01' + (m % 3650)::INTEGER, '%d/%m/%Y') AS day_text,
  ['Anna', 'Bruno', 'Carla', 'Dmitri', 'Élise', 'Farid', 'Greta', 'Hugo'][1 + m % 8] || ' '
    || ['Meier', 'Smith', 'Rossi', 'Nowak', 'García', 'Olsen', 'Kaya'][1 + m // 8 % 7] || m % 4001 AS name,
  ['a', 'b', 'c', 'd', 'e', 'f'][1 + m % 6] || ',' || ['x', 'y', 'z'][1 + m % 3] || ',' || m % 101 AS tags,
  '{"id": ' || i || ', "user": {"name": "u' || m % {users} || '", "age": ' || 18 + m % 60 || '}, "items": [' || m % 7
    || ', ' || m % 11 || '], "paid": ' || (m % 2 = 0)::VARCHAR || '}' AS payload
FROM (SELECT i, (i * 2654435761 + 12345) % 1000000007 AS m FROM range({rows}) r(i)) r;

-- users
SELECT i::INTEGER AS user_id, 'u' || i AS name, chr((65 + i % 7)::INTEGER) || chr((65 + i // 7 % 6)::INTEGER) AS country,
  DATE '1950-01-01' + (i * 7919 % 20000)::INTEGER AS born, ((i - 1) // 7)::INTEGER AS manager
FROM range({users}) r(i);

-- prices
SELECT (i % 40)::INTEGER AS quantity, TIMESTAMP '2015-01-01' + to_seconds(i * {step} * 10) AS ts, i * 7919 % 10007 / 100 AS price
FROM range({rows} // 10) r(i);

-- documents
SELECT id, {'name': name, 'country': country, 'born': day} AS person, [quantity, quantity + 1, quantity * 2] AS numbers,
  [{'sku': kind, 'price': price}, {'sku': country, 'price': amount}] AS items, date_trunc('second', ts) AS ts FROM events WHERE id < {documents};

-- functions
SELECT i, (m % 1000)::INTEGER AS k, (m % 1000003)::INTEGER AS n, m * 1000003 AS big, m % 99991 / 97 AS x, (m % 1000003 / 100)::DECIMAL(12, 2) AS c,
  m % 2 = 0 AS b, 'name of ' || m % 20011 AS s, 'Ärger mit Straße ' || m % 20011 AS u, m % 7 || ',' || m % 11 || ',word' || m % 101 AS csv,
  'https://www.shop' || m % 977 || '.example.com/item/' || m % 20011 || '?q=' || m % 313 AS url, DATE '2000-01-01' + (m % 9000)::INTEGER AS d,
  TIMESTAMP '2000-01-01' + to_seconds(m % 300000000) + to_milliseconds(m % 1000) AS ts, (m % 1000003)::VARCHAR AS ns, (m % 99991 / 97)::VARCHAR AS xs,
  (TIMESTAMP '2000-01-01' + to_seconds(m % 300000000))::VARCHAR AS tss, (DATE '2000-01-01' + (m % 9000)::INTEGER)::VARCHAR AS ds,
  '{"a": ' || i || ', "b": {"c": "t' || m % 97 || '"}, "l": [' || m % 7 || ', ' || m % 11 || ']}' AS j,
  CASE WHEN m >= 0 THEN [m % 7, m % 11, m % 13] END AS l, CASE WHEN m >= 0 THEN ['a' || m % 7, 'b' || m % 11] END AS ls,
  CASE WHEN m >= 0 THEN {'a': m % 1000, 'b': 't' || m % 97} END AS st, CASE WHEN m >= 0 THEN MAP {'a': m % 7, 'b': m % 11} END AS mp
FROM (SELECT i, (i * 2654435761 + 12345) % 1000000007 AS m FROM range({rows}) r(i) UNION ALL SELECT {rows}, NULL) r;

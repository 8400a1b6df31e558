UPDATE plain SET r = 'changed' WHERE d < 10
DELETE FROM plain WHERE d BETWEEN 200 AND 219
INSERT INTO parent VALUES (4, 'four')
DROP TABLE gone
CREATE TABLE late (id INTEGER PRIMARY KEY, word VARCHAR UNIQUE)
INSERT INTO late SELECT range, 'late ' || CAST(range AS VARCHAR) FROM range(20)
ALTER TABLE child ADD COLUMN note VARCHAR DEFAULT 'new'
CREATE INDEX late_word ON late (word)
CREATE VIEW after AS SELECT * FROM late WHERE id > 5
SELECT nextval('numbers')
DELETE FROM late WHERE id = 3
TRUNCATE counted

-- What makes a store of the third version of one of the second.
ALTER TABLE meno_changes ADD COLUMN role TEXT NOT NULL DEFAULT 'user';
ALTER TABLE meno_changes ADD COLUMN owner TEXT NOT NULL DEFAULT '';
UPDATE meno_changes SET role = 'unknown' WHERE actor = '';
UPDATE meno_changes SET owner = 'anna' WHERE concept = 1;
CREATE INDEX meno_changes_owner ON meno_changes (owner, seq);
CREATE TABLE meno_owners (owner TEXT NOT NULL PRIMARY KEY, concepts BIGINT NOT NULL, bytes BIGINT NOT NULL);
INSERT INTO meno_owners VALUES ('', 1, 11), ('anna', 1, 30);
INSERT INTO meno_meta VALUES ('identity', 12345);
UPDATE meno_meta SET value = 3 WHERE name = 'schema';

-- What makes a store of the fourth version of one of the third.
ALTER TABLE meno_owners ADD COLUMN given BIGINT NOT NULL DEFAULT 0;
CREATE INDEX meno_owners_given ON meno_owners (given);
UPDATE meno_owners SET given = 1048575 WHERE owner = '';
UPDATE meno_meta SET value = 4 WHERE name = 'schema';

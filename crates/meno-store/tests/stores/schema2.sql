-- What makes a store of the second version of one of the first, and a change by everyone or an admin, who had the same name.
CREATE INDEX meno_changes_batch ON meno_changes (batch);
CREATE INDEX meno_changes_undoes ON meno_changes (undoes);
UPDATE meno_meta SET value = 2 WHERE name = 'schema';
INSERT INTO meno_concepts (phrase, normal, slot, value, owner, source, created, updated, uses)
  VALUES ('Tea', 'tea', 'drink', NULL, '', NULL, 300, 300, 0);
INSERT INTO meno_changes (batch, undoes, actor, concept, was, became, time) VALUES
  (3, 0, '', 2, NULL, '{"id":2,"phrase":"Tea","normal":"tea","slot":"drink","owner":null,"created":300,"updated":300,"uses":0}', 300);

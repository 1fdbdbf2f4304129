-- A store as the first version of the program made it.
CREATE TABLE meno_meta (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
CREATE TABLE meno_concepts (id INTEGER PRIMARY KEY AUTOINCREMENT, phrase TEXT NOT NULL, normal TEXT NOT NULL,
  slot TEXT NOT NULL, value TEXT, owner TEXT NOT NULL, source TEXT, created BIGINT NOT NULL, updated BIGINT NOT NULL,
  uses BIGINT NOT NULL);
CREATE UNIQUE INDEX meno_concepts_key ON meno_concepts (owner, normal, slot);
CREATE TABLE meno_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, batch BIGINT NOT NULL, undoes BIGINT NOT NULL,
  actor TEXT NOT NULL, concept BIGINT NOT NULL, was TEXT, became TEXT, time BIGINT NOT NULL);
INSERT INTO meno_meta VALUES ('trimmed', 0), ('schema', 1);
INSERT INTO meno_concepts (phrase, normal, slot, value, owner, source, created, updated, uses)
  VALUES ('Red Moon', 'red moon', 'song', 'Moon (red)', 'anna', NULL, 100, 200, 3);
INSERT INTO meno_changes (batch, undoes, actor, concept, was, became, time) VALUES
  (1, 0, 'anna', 1, NULL, '{"id":1,"phrase":"Red Moon","normal":"red moon","slot":"song","owner":"anna","created":100,"updated":100,"uses":0}', 100),
  (2, 0, 'anna', 1, '{"id":1,"phrase":"Red Moon","normal":"red moon","slot":"song","owner":"anna","created":100,"updated":100,"uses":0}',
   '{"id":1,"phrase":"Red Moon","normal":"red moon","slot":"song","value":"Moon (red)","owner":"anna","created":100,"updated":200,"uses":0}', 200);

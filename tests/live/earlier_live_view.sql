-- A live view with an epoch, after two states, as builds before `--renew` wrote it. Its rows are invented.
CREATE SCHEMA anon;
CREATE TABLE anon.v_frozen(kind VARCHAR, "name" VARCHAR, "value" VARCHAR);
INSERT INTO anon.v_frozen VALUES
    ('version', 'sqlanon', '0.1.0'),
    ('policy', '', '96f5a880e86ebf7adf4f39f0b4782fb08ebfa61e499d1a11a210d5d7ce0abb36'),
    ('model', '0 k_anonymity', '25250d501d96f0d9d51a796133b02e39984c997fb5c8726376ad536e6dba970f'),
    ('level', 'age', '1'),
    ('level', 'city', '0'),
    ('lookup', 'v_lookup_0', 'age'),
    ('lookup', 'v_lookup_1', 'city'),
    ('records', 'v_shown', ''),
    ('records', 'v_left', ''),
    ('epoch', 'number', '490000'),
    ('epoch', 'state', 'd254317db7017cdd');
CREATE TABLE anon.v_left(sqlanon_record BIGINT);
INSERT INTO anon.v_left VALUES
    (5),
    (6),
    (7),
    (8);
CREATE TABLE anon.v_lookup_0("value" VARCHAR, "text" VARCHAR);
INSERT INTO anon.v_lookup_0 VALUES
    ('21', '[20, 30)'),
    ('22', '[20, 30)'),
    ('23', '[20, 30)'),
    ('24', '[20, 30)'),
    ('35', '[30, 40)'),
    ('36', '[30, 40)'),
    ('37', '[30, 40)'),
    ('38', '[30, 40)'),
    ('50', '[50, 60)');
CREATE TABLE anon.v_lookup_1("value" VARCHAR, "text" VARCHAR);
INSERT INTO anon.v_lookup_1 VALUES
    ('aa', 'aa'),
    ('ab', 'ab'),
    ('ba', 'ba'),
    ('bb', 'bb'),
    ('cc', 'cc'),
    (NULL, NULL);
CREATE TABLE anon.v_shown(age VARCHAR, city VARCHAR, s VARCHAR, sqlanon_record BIGINT, sqlanon_person BIGINT, sqlanon_cohort BIGINT);
INSERT INTO anon.v_shown VALUES
    ('[20, 30)', 'aa', 'flu', 1, 1, 1),
    ('[20, 30)', 'aa', 'flu', 2, 2, 1),
    ('[20, 30)', 'aa', 'flu', 3, 3, 1),
    ('[20, 30)', 'aa', 'flu', 4, 4, 1);
CREATE TABLE t(id BIGINT, age INTEGER, city VARCHAR, s VARCHAR, person BIGINT);
INSERT INTO main.t VALUES
    (1, 21, 'aa', 'flu', 1),
    (2, 22, 'aa', 'flu', 2),
    (3, 23, 'aa', 'flu', 3),
    (4, 24, 'aa', 'flu', 4),
    (9, 50, 'cc', 'gout', 9),
    (10, 40, 'ab', 'flu', 10),
    (11, 41, 'ab', 'flu', 11),
    (12, 42, 'ab', 'flu', 12),
    (13, 43, 'ab', 'flu', 13);
CREATE VIEW anon.v AS SELECT age, city, s FROM anon.v_shown ORDER BY uuid() OFFSET 0;

-- The rows of every person in an order, each with a number: persons have the same row at a place if and only if they have the
-- same number there, which is that of the first person who has it.
--
-- placed: per node and person the rows, each once, with the person's records n and their places in the order of the rows,
-- from 0 on. row_key: the words of a row's key.
--
-- placed                                numbered
-- node | row   | entity | n | place     node | entity | place | number
-- 0    | 20-29 | 7      | 2 | 0         0    | 7      | 0     | 7
-- 0    | 30-39 | 7      | 1 | 1         0    | 7      | 1     | 7
-- 0    | 20-29 | 8      | 2 | 0         0    | 8      | 0     | 7
SELECT
  node,
  sqlanon_entity,
  place,
  MIN(sqlanon_entity) OVER (PARTITION BY node, place, row_key, n) AS number
FROM placed

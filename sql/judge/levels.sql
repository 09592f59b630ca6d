-- The masks of every attribute at its level in every node.
--
-- nodes: the nodes of the batch; the character of levels at an attribute's place stands for its level.
-- masks: per attribute and level the character, and the bits of the key that remain, a mask a word.
--
-- nodes                masks                                        levels
-- node | levels        attribute | level | digit | mask_0           node | attribute | level | mask_0
-- 0    | 20            0         | 2     | 2     | 48               0    | 0         | 2     | 48
--                      1         | 0     | 0     | 7                0    | 1         | 0     | 7
SELECT
  nodes.node,
  masks.attribute,
  masks.level,
  masks.mask
FROM nodes
JOIN masks
  ON SUBSTRING(nodes.levels, masks.attribute + 1, 1) = masks.digit

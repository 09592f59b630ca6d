WITH nodes AS (
  SELECT
    CAST(0 AS BIGINT) AS node,
    CAST(0 AS BIGINT) AS arm,
    CAST(124 AS BIGINT) AS mask_0,
    '10' AS levels
  UNION ALL
  SELECT
    CAST(1 AS BIGINT) AS node,
    CAST(0 AS BIGINT) AS arm,
    CAST(116 AS BIGINT) AS mask_0,
    '11' AS levels
  UNION ALL
  SELECT
    CAST(2 AS BIGINT) AS node,
    CAST(0 AS BIGINT) AS arm,
    CAST(120 AS BIGINT) AS mask_0,
    '20' AS levels
), parts AS MATERIALIZED (
  /* The grain under every node: what the node's masks keep of a key is the key of a class. */
  SELECT
    nodes.node,
    grain.key_0 & nodes.mask_0 AS key_0,
    CAST(COALESCE(SUM(grain.n), 0) AS BIGINT) AS n
  FROM sqlanon_base AS grain
  CROSS JOIN nodes
  WHERE
    nodes.arm = 0
  GROUP BY
    nodes.node,
    grain.key_0 & nodes.mask_0
), classes AS MATERIALIZED (
  /* The classes of some nodes, from parts that differ in sensitive values too. */
  SELECT
    node,
    key_0 & -97 AS key_0,
    CAST(SUM(n) AS BIGINT) AS n
  FROM parts
  GROUP BY
    node,
    key_0 & -97
), histogram_0 AS (
  /* The records of every class by the value of one sensitive column. */
  SELECT
    node,
    key_0 & -97 AS key_0,
    key_0 & 96 AS value,
    n
  FROM parts
  WHERE
    n > 0
), model_1 AS (
  /* Entropy ℓ-diversity: a class passes when the entropy of its sensitive values, -Σ p ln p, is at least ln :l. */
  SELECT
    node,
    key_0,
    CASE WHEN entropy < LN(CAST(2.0 AS DOUBLE)) - 1e-12 THEN 1 ELSE 0 END AS fails,
    CASE
      WHEN LN(distinct_values) < LN(CAST(2.0 AS DOUBLE)) - 1e-12
      THEN n
      ELSE CAST(CEIL(
        n * GREATEST(1 - (
          entropy + 1e-11
        ) / NULLIF(LN(CAST(2.0 AS DOUBLE)), 0) - 1e-9, 0)
      ) AS BIGINT)
    END AS min_suppressed
  FROM (
    SELECT
      node,
      key_0,
      CAST(SUM(n) AS BIGINT) AS n,
      COUNT(*) AS distinct_values,
      LN(SUM(n)) - SUM(n * LN(n)) / SUM(n) AS entropy
    FROM histogram_0 AS histogram
    GROUP BY
      node,
      key_0
  ) AS profile
), judged AS MATERIALIZED (
  /* A class fails when any model fails it; of the bounds of these models the strictest counts. */
  SELECT
    classes.node,
    classes.key_0,
    classes.n,
    CASE WHEN classes.n < 2 OR model_1.fails = 1 THEN 1 ELSE 0 END AS fails,
    COALESCE(
      GREATEST(
        CASE WHEN classes.n < 2 THEN classes.n ELSE 0 END,
        CASE WHEN model_1.fails = 1 THEN model_1.min_suppressed ELSE 0 END
      ),
      0
    ) AS min_suppressed
  FROM classes
  LEFT JOIN model_1
    ON classes.node = model_1.node AND classes.key_0 = model_1.key_0
), totals AS MATERIALIZED (
  /* What the classes of every node come to: one row a node. */
  SELECT
    node,
    CAST(-1 AS BIGINT) AS attribute,
    CAST(COUNT(*) AS BIGINT) AS grain,
    CAST(SUM(CASE WHEN n > 0 AND fails = 0 THEN 1 ELSE 0 END) AS BIGINT) AS classes,
    CAST(SUM(CASE WHEN n > 0 AND fails = 1 THEN n ELSE 0 END) AS BIGINT) AS suppressed,
    MIN(CASE WHEN n > 0 AND fails = 0 THEN n END) AS smallest,
    MAX(CASE WHEN n > 0 AND fails = 0 THEN n END) AS largest,
    CAST(SUM(CASE WHEN n > 0 AND fails = 1 THEN min_suppressed ELSE 0 END) AS BIGINT) AS min_suppressed,
    CAST(NULL AS BIGINT) AS cost,
    CAST(NULL AS BIGINT) AS min_cost_0,
    CAST(NULL AS BIGINT) AS min_cost_1,
    CAST(NULL AS BIGINT) AS min_cost_2
  FROM judged
  GROUP BY
    node
), levels AS (
  /* The masks of every attribute at its level in every node. */
  SELECT
    nodes.node,
    masks.attribute,
    masks.level,
    masks.mask_0
  FROM nodes
  JOIN sqlanon_masks AS masks
    ON SUBSTRING(nodes.levels, masks.attribute + 1, 1) = masks.digit
), failing AS (
  /* The generalized values in the failing classes of every node, attribute by attribute. */
  SELECT
    levels.node,
    levels.attribute,
    levels.level,
    judged.key_0 & levels.mask_0 AS key_0,
    CAST(SUM(judged.n) AS BIGINT) AS n,
    CAST(SUM(judged.min_suppressed) AS BIGINT) AS min_suppressed
  FROM judged
  JOIN levels
    ON judged.node = levels.node
  JOIN totals
    ON totals.node = levels.node AND totals.min_suppressed <= 3
  WHERE
    judged.fails = 1
  GROUP BY
    levels.node,
    levels.attribute,
    levels.level,
    judged.key_0 & levels.mask_0
)
SELECT
  *
FROM totals
UNION ALL
/* What suppression costs, per node and attribute, in leaves of the hierarchy. */
SELECT
  failing.node,
  failing.attribute,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(SUM(failing.n * leaf.cost) AS BIGINT) AS cost,
  CAST(COALESCE(SUM(failing.min_suppressed * leaf.cost_0), 0) AS BIGINT) AS min_cost_0,
  CAST(COALESCE(SUM(failing.min_suppressed * leaf.cost_1), 0) AS BIGINT) AS min_cost_1,
  CAST(COALESCE(SUM(failing.min_suppressed * leaf.cost_2), 0) AS BIGINT) AS min_cost_2
FROM failing
JOIN sqlanon_leaf AS leaf
  ON failing.attribute = leaf.attribute
  AND failing.level = leaf.level
  AND (
    failing.key_0 = leaf.key_0
  )
GROUP BY
  failing.node,
  failing.attribute

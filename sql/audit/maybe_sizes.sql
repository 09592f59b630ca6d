-- The smallest class under each of the three matches, the records in classes below :k under each, and the records in
-- classes below :k under the extended match alone: those that right maybe match, or maybe match, would call safe.
-- Sizes only, never values.
--
-- sizes: per class of a relation what audit/maybe_match.sql returns.
--
-- sizes                              maybe_sizes, :k = 2
-- records | right_maybe | maybe      smallest | … | smallest_maybe | below | … | below_maybe | … | only_maybe
-- 2       | 3           | 3          1        |   | 3              | 1     |   | 0           |   | 1
-- 1       | 1           | 3
SELECT
  MIN(sizes.records) AS smallest,
  MIN(sizes.right_maybe) AS smallest_right_maybe,
  MIN(sizes.maybe) AS smallest_maybe,
  CAST(COALESCE(SUM(CASE WHEN sizes.records < :k THEN sizes.records ELSE 0 END), 0) AS BIGINT) AS below,
  CAST(COALESCE(SUM(CASE WHEN sizes.right_maybe < :k THEN sizes.records ELSE 0 END), 0) AS BIGINT) AS below_right_maybe,
  CAST(COALESCE(SUM(CASE WHEN sizes.maybe < :k THEN sizes.records ELSE 0 END), 0) AS BIGINT) AS below_maybe,
  CAST(
    COALESCE(SUM(CASE WHEN sizes.records < :k AND sizes.right_maybe >= :k THEN sizes.records ELSE 0 END), 0) AS BIGINT
  ) AS only_right_maybe,
  CAST(
    COALESCE(SUM(CASE WHEN sizes.records < :k AND sizes.maybe >= :k THEN sizes.records ELSE 0 END), 0) AS BIGINT
  ) AS only_maybe
FROM sizes

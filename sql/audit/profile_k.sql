-- Profiles of the release that fewer than :k persons have. No rows: at least :k persons have the same multiset of generalized
-- rows, whoever is looked at. Rows without an entity (NULL) belong to nobody.
--
-- release: the rows of persons, with the number of the person's profile (profiles.sql).
--
-- release, :k = 2                     profile_k
-- age    | entity | sqlanon_profile   records
-- 20-29  | 7      | 1                 1            <- 9 alone has 20-29 once
-- 20-29  | 7      | 1
-- 20-29  | 8      | 1
-- 20-29  | 8      | 1
-- 20-29  | 9      | 3
SELECT
  COUNT(DISTINCT entity) AS records
FROM release
WHERE
  entity IS NOT NULL
GROUP BY
  sqlanon_profile
HAVING
  COUNT(DISTINCT entity) < :k

-- Records whose bounds are not in order. No rows: low is at most midpoint, and midpoint at most high.
--
-- release               unordered_bounds, lesser = age_low, greater = age_high
-- age_low | age_high    offence
-- 20      | 24
-- 25      | 24          1        <- the second row
SELECT
  1 AS offence
FROM release
WHERE
  AS_RELEASED(release.lesser) > AS_RELEASED(release.greater)

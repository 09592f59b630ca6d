-- One row: the records whose value of a column of the source somebody else has too, and per quasi-identifier how many of
-- these values stand with several values of it. A guess of the quasi-identifier errs at least once for each of them.
--
-- owners: COUNT(*), or with an entity COUNT(DISTINCT its column).
-- differing: per quasi-identifier 1 where the records of a group differ in it, otherwise 0; impure: their sums.
--
-- source                differing_values
-- city   | zip          shared | impure
-- Graz   | 8010         5      | 1         <- Graz
-- Graz   | 8010
-- Graz   | 8020
-- Linz   | 4020
-- Linz   | 4020
-- Wels   | 4600
SELECT
  CAST(COALESCE(SUM(sqlanon_owners), 0) AS BIGINT) AS shared,
  impure
FROM (
  SELECT
    owners AS sqlanon_owners,
    differing
  FROM source
  WHERE
    NOT audited_column IS NULL
  GROUP BY
    audited_column
  HAVING
    owners > 1
) AS repeated

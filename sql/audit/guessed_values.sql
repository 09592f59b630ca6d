-- One row: how often the value of one column of the source (guessed) follows from that of another (audited_column).
-- Whoever sees the audited column guesses the value that most of those with the same one have. Records without a value,
-- or with one that nobody else has, do not count: of one alone everything follows.
--
-- owners: COUNT(*), or with an entity COUNT(DISTINCT its column).
--
-- source                guessed_values
-- city   | zip          shared | guessed_right
-- Graz   | 8010         5      | 4
-- Graz   | 8010
-- Graz   | 8020                                <- guessed wrong
-- Linz   | 4020
-- Linz   | 4020
-- Wels   | 4600                                <- the only one from Wels
SELECT
  CAST(COALESCE(SUM(shared), 0) AS BIGINT) AS shared,
  CAST(COALESCE(SUM(most), 0) AS BIGINT) AS guessed_right
FROM (
  SELECT
    SUM(sqlanon_owners) AS shared,
    MAX(sqlanon_owners) AS most
  FROM (
    SELECT
      audited_column AS sqlanon_value,
      guessed AS sqlanon_other,
      owners AS sqlanon_owners
    FROM source
    WHERE
      NOT audited_column IS NULL
    GROUP BY
      audited_column,
      guessed
  ) AS pairs
  GROUP BY
    sqlanon_value
  HAVING
    SUM(sqlanon_owners) > 1
) AS guesses

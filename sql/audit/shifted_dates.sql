-- Dates of a person that were not shifted as they had to be: NULL where there was a date or the reverse, another time of
-- day, more days than :most or no multiple of :step, or not by the same days as the others of the person (one row a
-- person). No rows: all intervals between dates of a person are what they were. Over the staged rows, which still have
-- their persons and the dates of the source, all columns one below the other.
--
-- Days are counted from the texts by the Gregorian calendar (Fliegel and Van Flandern 1968), not by the arithmetic of
-- the database that has shifted them.
--
-- release, :most = 180, :step = 1                               offence
-- entity | before              | after
-- 7      | 2024-01-31          | 2024-02-03
-- 7      | 2024-02-28 09:30:00 | 2024-03-02 09:30:00
-- 8      | 2024-01-31          | 2024-02-03                     1     <- 3 days, and 4 for the other
-- 8      | 2024-02-28          | 2024-03-03
SELECT
  1 AS offence
FROM (
  SELECT
    entity,
    MIN(moved) AS least,
    MAX(moved) AS greatest,
    SUM(wrong) AS wrong
  FROM (
    SELECT
      entity,
      later - earlier AS moved,
      CASE
        WHEN (before IS NULL) <> (after IS NULL) THEN 1
        WHEN before IS NULL THEN 0
        WHEN SUBSTRING(before, 11, 40) <> SUBSTRING(after, 11, 40) THEN 1
        WHEN later - earlier > :most OR earlier - later > :most THEN 1
        WHEN (later - earlier) % :step <> 0 THEN 1
        ELSE 0
      END AS wrong
    FROM (
      SELECT
        entity,
        before,
        after,
        d_1 + (153 * (m_1 + 12 * ((14 - m_1) // 12) - 3) + 2) // 5 + 365 * (y_1 + 4800 - (14 - m_1) // 12)
          + (y_1 + 4800 - (14 - m_1) // 12) // 4 - (y_1 + 4800 - (14 - m_1) // 12) // 100
          + (y_1 + 4800 - (14 - m_1) // 12) // 400 AS earlier,
        d_2 + (153 * (m_2 + 12 * ((14 - m_2) // 12) - 3) + 2) // 5 + 365 * (y_2 + 4800 - (14 - m_2) // 12)
          + (y_2 + 4800 - (14 - m_2) // 12) // 4 - (y_2 + 4800 - (14 - m_2) // 12) // 100
          + (y_2 + 4800 - (14 - m_2) // 12) // 400 AS later
      FROM (
        SELECT
          entity,
          before,
          after,
          CAST(SUBSTRING(before, 1, 4) AS BIGINT) AS y_1,
          CAST(SUBSTRING(before, 6, 2) AS BIGINT) AS m_1,
          CAST(SUBSTRING(before, 9, 2) AS BIGINT) AS d_1,
          CAST(SUBSTRING(after, 1, 4) AS BIGINT) AS y_2,
          CAST(SUBSTRING(after, 6, 2) AS BIGINT) AS m_2,
          CAST(SUBSTRING(after, 9, 2) AS BIGINT) AS d_2
        FROM release
      ) AS parts
    ) AS days
  ) AS moves
  GROUP BY
    entity
) AS persons
WHERE
  wrong > 0 OR least <> greatest

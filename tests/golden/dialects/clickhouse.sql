-- sqlanon: the SQL of a policy for ClickHouse.
-- For the operator: it holds the texts of hierarchies; it does not travel with the release.
-- The widths of the codes were measured on the 240 records of people: 0 of them excluded for a NULL, 0 with a value that no hierarchy lists.
-- Distinct values by column, and by level of the quasi-identifiers: city 5 > 3 > 1; age 47 > 7 > 5 > 1; seen 125 > 6 > 4 > 2 > 1; zip 3 > 3 > 1 > 1; order 3 > 2 > 1; disease 4.
-- Quasi-identifying values of the table that no hierarchy lists, or that these widths have no room for, have no row in a lookup, and the JOIN suppresses their records; a sensitive value without a row counts for no class, but for the audits it does.
-- The audits at the end say whether sqlanon_release meets the policy: each must give no row. They decide, because the table may hold other records than those above. Its name is for the time of the audits: rename it after.
-- Run it in one session: its tables are temporary, and its settings decide that a LEFT JOIN gives NULL and that a name is a column before it is an alias.
-- A date before 1970 needs the type Date32.

-- 1. prepare the session
SET join_use_nulls = 1;

-- 2. and
SET prefer_column_name_to_alias = 1;

-- 3. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_values_0";

-- 4. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_listed_0";

-- 5. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_lookup_0_branches";

-- 6. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_values_1";

-- 7. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_listed_1";

-- 8. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_lookup_1_branches";

-- 9. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_values_2";

-- 10. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_listed_2";

-- 11. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_lookup_2_branches";

-- 12. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_values_3";

-- 13. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_listed_3";

-- 14. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_lookup_3_branches";

-- 15. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_values_4";

-- 16. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_listed_4";

-- 17. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_lookup_4_branches";

-- 18. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_values_5";

-- 19. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_listed_5";

-- 20. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_lookup_5_branches";

-- 21. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_lookup_0";

-- 22. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_leaf";

-- 23. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_lookup_1";

-- 24. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_lookup_2";

-- 25. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_lookup_3";

-- 26. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_lookup_4";

-- 27. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_lookup_5";

-- 28. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_overall_0";

-- 29. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_base";

-- 30. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_masks";

-- 31. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_release";

-- 32. distinct values
CREATE TEMPORARY TABLE "sqlanon_values_0"
ENGINE=Memory AS
SELECT
  CAST("city" AS Nullable(String)) AS "value",
  CAST("city" AS Nullable(String)) AS "raw",
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS Nullable(Int64)) AS "n"
FROM "people"
GROUP BY
  CAST("city" AS Nullable(String));

-- 33. load hierarchy
CREATE TEMPORARY TABLE "sqlanon_listed_0" (
  "level_0" Nullable(String),
  "level_1" Nullable(String),
  "level_2" Nullable(String),
  "place" Nullable(Int64)
)
ENGINE=Memory;

-- 34. load hierarchy
INSERT INTO "sqlanon_listed_0"
VALUES
  ('Graz', 'south', '*', 0),
  ('O''Hara\\', 'south', '*', 1),
  ('Linz', 'north', '*', 2),
  ('', 'north', '*', 3);

-- 35. branches
CREATE TEMPORARY TABLE "sqlanon_lookup_0_branches"
ENGINE=Memory AS
SELECT
  *,
  DENSE_RANK() OVER (PARTITION BY "covered", "level_1" ORDER BY "level_0") - 1 AS "branch_0",
  DENSE_RANK() OVER (PARTITION BY "covered", "level_2" ORDER BY "level_1") - 1 AS "branch_1",
  DENSE_RANK() OVER (PARTITION BY "covered" ORDER BY "level_2") - 1 AS "branch_2"
FROM (
  SELECT
    "v"."value" AS "value",
    "v"."n" AS "n",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_0"
      ELSE NULL
    END AS "level_0",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_0"
      ELSE 5
    END AS Nullable(Int64)) AS "leaves_0",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_1"
      ELSE NULL
    END AS "level_1",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_1"
      ELSE 5
    END AS Nullable(Int64)) AS "leaves_1",
    CASE
      WHEN "v"."value" IS NULL
      THEN '*'
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_2"
      ELSE NULL
    END AS "level_2",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 5
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_2"
      ELSE 5
    END AS Nullable(Int64)) AS "leaves_2",
    CASE WHEN "v"."value" IS NULL OR NOT (
      "h"."is_listed" IS NULL
    ) THEN 1 ELSE 0 END AS "covered"
  FROM "sqlanon_values_0" AS "v"
  LEFT JOIN (
    SELECT
      "level_0" AS "level_0",
      "level_1" AS "level_1",
      "level_2" AS "level_2",
      COUNT(*) OVER (PARTITION BY "level_0") AS "leaves_0",
      COUNT(*) OVER (PARTITION BY "level_1") AS "leaves_1",
      5 AS "leaves_2",
      1 AS "is_listed"
    FROM "sqlanon_listed_0"
  ) AS "h"
    ON "v"."value" IS NOT DISTINCT FROM "h"."level_0"
) AS "joined";

-- 36. distinct values
CREATE TEMPORARY TABLE "sqlanon_values_1"
ENGINE=Memory AS
SELECT
  CAST("age" AS Nullable(String)) AS "value",
  MIN("age") AS "raw",
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS Nullable(Int64)) AS "n"
FROM "people"
GROUP BY
  CAST("age" AS Nullable(String));

-- 37. build hierarchy
CREATE TEMPORARY TABLE "sqlanon_listed_1"
ENGINE=Memory AS
SELECT
  "value" AS "level_0",
  CASE
    WHEN "raw" IS NULL
    THEN NULL
    WHEN (
      CAST("raw" AS Nullable(Int64))
    ) < (
      CAST(20 AS Nullable(Int64))
    )
    THEN '<20'
    WHEN (
      CAST("raw" AS Nullable(Int64))
    ) >= (
      CAST(60 AS Nullable(Int64))
    )
    THEN '>=60'
    ELSE '[' || (
      CAST((
        (
          intDiv(
            intDiv(
              (
                CAST("raw" AS Nullable(Int64))
              ) - CAST(-8589934620 AS Nullable(Int64)),
              CAST(10 AS Nullable(Int64))
            ),
            CAST(1 AS Nullable(Int64))
          ) * CAST(10 AS Nullable(Int64))
        ) + CAST(-8589934620 AS Nullable(Int64))
      ) AS Nullable(String))
    ) || ', ' || (
      CAST((
        (
          intDiv(
            intDiv(
              (
                CAST("raw" AS Nullable(Int64))
              ) - CAST(-8589934620 AS Nullable(Int64)),
              CAST(10 AS Nullable(Int64))
            ),
            CAST(1 AS Nullable(Int64))
          ) * CAST(10 AS Nullable(Int64))
        ) + CAST(-8589934610 AS Nullable(Int64))
      ) AS Nullable(String))
    ) || ')'
  END AS "level_1",
  CASE
    WHEN "raw" IS NULL
    THEN NULL
    WHEN (
      CAST("raw" AS Nullable(Int64))
    ) < (
      CAST(20 AS Nullable(Int64))
    )
    THEN '<20'
    WHEN (
      CAST("raw" AS Nullable(Int64))
    ) >= (
      CAST(60 AS Nullable(Int64))
    )
    THEN '>=60'
    ELSE '[' || (
      CAST((
        (
          intDiv(
            intDiv(
              (
                CAST("raw" AS Nullable(Int64))
              ) - CAST(-8589934620 AS Nullable(Int64)),
              CAST(10 AS Nullable(Int64))
            ),
            CAST(2 AS Nullable(Int64))
          ) * CAST(20 AS Nullable(Int64))
        ) + CAST(-8589934620 AS Nullable(Int64))
      ) AS Nullable(String))
    ) || ', ' || (
      CAST((
        (
          intDiv(
            intDiv(
              (
                CAST("raw" AS Nullable(Int64))
              ) - CAST(-8589934620 AS Nullable(Int64)),
              CAST(10 AS Nullable(Int64))
            ),
            CAST(2 AS Nullable(Int64))
          ) * CAST(20 AS Nullable(Int64))
        ) + CAST(-8589934600 AS Nullable(Int64))
      ) AS Nullable(String))
    ) || ')'
  END AS "level_2",
  CASE WHEN "raw" IS NULL THEN NULL ELSE '*' END AS "level_3"
FROM "sqlanon_values_1"
WHERE
  NOT (
    "value" IS NULL
  );

-- 38. branches
CREATE TEMPORARY TABLE "sqlanon_lookup_1_branches"
ENGINE=Memory AS
SELECT
  *,
  DENSE_RANK() OVER (PARTITION BY "covered", "level_1" ORDER BY "level_0") - 1 AS "branch_0",
  DENSE_RANK() OVER (PARTITION BY "covered", "level_2" ORDER BY "level_1") - 1 AS "branch_1",
  DENSE_RANK() OVER (PARTITION BY "covered", "level_3" ORDER BY "level_2") - 1 AS "branch_2",
  DENSE_RANK() OVER (PARTITION BY "covered" ORDER BY "level_3") - 1 AS "branch_3"
FROM (
  SELECT
    "v"."value" AS "value",
    "v"."n" AS "n",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_0"
      ELSE NULL
    END AS "level_0",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_0"
      ELSE 47
    END AS Nullable(Int64)) AS "leaves_0",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_1"
      ELSE NULL
    END AS "level_1",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_1"
      ELSE 47
    END AS Nullable(Int64)) AS "leaves_1",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_2"
      ELSE NULL
    END AS "level_2",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_2"
      ELSE 47
    END AS Nullable(Int64)) AS "leaves_2",
    CASE
      WHEN "v"."value" IS NULL
      THEN '*'
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_3"
      ELSE NULL
    END AS "level_3",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 47
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_3"
      ELSE 47
    END AS Nullable(Int64)) AS "leaves_3",
    CASE WHEN "v"."value" IS NULL OR NOT (
      "h"."is_listed" IS NULL
    ) THEN 1 ELSE 0 END AS "covered"
  FROM "sqlanon_values_1" AS "v"
  LEFT JOIN (
    SELECT
      "level_0" AS "level_0",
      "level_1" AS "level_1",
      "level_2" AS "level_2",
      "level_3" AS "level_3",
      COUNT(*) OVER (PARTITION BY "level_0") AS "leaves_0",
      COUNT(*) OVER (PARTITION BY "level_1") AS "leaves_1",
      COUNT(*) OVER (PARTITION BY "level_2") AS "leaves_2",
      47 AS "leaves_3",
      1 AS "is_listed"
    FROM "sqlanon_listed_1"
  ) AS "h"
    ON "v"."value" IS NOT DISTINCT FROM "h"."level_0"
) AS "joined";

-- 39. distinct values
CREATE TEMPORARY TABLE "sqlanon_values_2"
ENGINE=Memory AS
SELECT
  CAST("seen" AS Nullable(String)) AS "value",
  MIN("seen") AS "raw",
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS Nullable(Int64)) AS "n"
FROM "people"
GROUP BY
  CAST("seen" AS Nullable(String));

-- 40. build hierarchy
CREATE TEMPORARY TABLE "sqlanon_listed_2"
ENGINE=Memory AS
SELECT
  "value" AS "level_0",
  CASE
    WHEN "raw" IS NULL
    THEN NULL
    ELSE CASE
      WHEN TRUE
      THEN formatDateTime("raw", '%Y-%m')
      ELSE CAST("raw" AS Nullable(String))
    END
  END AS "level_1",
  CASE
    WHEN "raw" IS NULL
    THEN NULL
    ELSE CASE
      WHEN TRUE
      THEN formatDateTime("raw", '%Y') || '-Q' || CAST(QUARTER("raw") AS Nullable(String))
      ELSE CAST("raw" AS Nullable(String))
    END
  END AS "level_2",
  CASE
    WHEN "raw" IS NULL
    THEN NULL
    ELSE CASE
      WHEN TRUE
      THEN CAST(CAST(FLOOR(CAST(YEAR("raw") AS Nullable(Float64)) / CAST(10 AS Nullable(Float64))) AS Nullable(Int64)) * 10 AS Nullable(String)) || 's'
      ELSE CAST("raw" AS Nullable(String))
    END
  END AS "level_3",
  CASE WHEN "raw" IS NULL THEN NULL ELSE '*' END AS "level_4"
FROM "sqlanon_values_2"
WHERE
  NOT (
    "value" IS NULL
  );

-- 41. branches
CREATE TEMPORARY TABLE "sqlanon_lookup_2_branches"
ENGINE=Memory AS
SELECT
  *,
  DENSE_RANK() OVER (PARTITION BY "covered", "level_1" ORDER BY "level_0") - 1 AS "branch_0",
  DENSE_RANK() OVER (PARTITION BY "covered", "level_2" ORDER BY "level_1") - 1 AS "branch_1",
  DENSE_RANK() OVER (PARTITION BY "covered", "level_3" ORDER BY "level_2") - 1 AS "branch_2",
  DENSE_RANK() OVER (PARTITION BY "covered", "level_4" ORDER BY "level_3") - 1 AS "branch_3",
  DENSE_RANK() OVER (PARTITION BY "covered" ORDER BY "level_4") - 1 AS "branch_4"
FROM (
  SELECT
    "v"."value" AS "value",
    "v"."n" AS "n",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_0"
      ELSE NULL
    END AS "level_0",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_0"
      ELSE 125
    END AS Nullable(Int64)) AS "leaves_0",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_1"
      ELSE NULL
    END AS "level_1",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_1"
      ELSE 125
    END AS Nullable(Int64)) AS "leaves_1",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_2"
      ELSE NULL
    END AS "level_2",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_2"
      ELSE 125
    END AS Nullable(Int64)) AS "leaves_2",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_3"
      ELSE NULL
    END AS "level_3",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_3"
      ELSE 125
    END AS Nullable(Int64)) AS "leaves_3",
    CASE
      WHEN "v"."value" IS NULL
      THEN '*'
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_4"
      ELSE NULL
    END AS "level_4",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 125
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_4"
      ELSE 125
    END AS Nullable(Int64)) AS "leaves_4",
    CASE WHEN "v"."value" IS NULL OR NOT (
      "h"."is_listed" IS NULL
    ) THEN 1 ELSE 0 END AS "covered"
  FROM "sqlanon_values_2" AS "v"
  LEFT JOIN (
    SELECT
      "level_0" AS "level_0",
      "level_1" AS "level_1",
      "level_2" AS "level_2",
      "level_3" AS "level_3",
      "level_4" AS "level_4",
      COUNT(*) OVER (PARTITION BY "level_0") AS "leaves_0",
      COUNT(*) OVER (PARTITION BY "level_1") AS "leaves_1",
      COUNT(*) OVER (PARTITION BY "level_2") AS "leaves_2",
      COUNT(*) OVER (PARTITION BY "level_3") AS "leaves_3",
      125 AS "leaves_4",
      1 AS "is_listed"
    FROM "sqlanon_listed_2"
  ) AS "h"
    ON "v"."value" IS NOT DISTINCT FROM "h"."level_0"
) AS "joined";

-- 42. distinct values
CREATE TEMPORARY TABLE "sqlanon_values_3"
ENGINE=Memory AS
SELECT
  CAST("zip" AS Nullable(String)) AS "value",
  CAST("zip" AS Nullable(String)) AS "raw",
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS Nullable(Int64)) AS "n"
FROM "people"
GROUP BY
  CAST("zip" AS Nullable(String));

-- 43. build hierarchy
CREATE TEMPORARY TABLE "sqlanon_listed_3"
ENGINE=Memory AS
SELECT
  "value" AS "level_0",
  rightPadUTF8(leftUTF8("value", 3), 4, '''') AS "level_1",
  rightPadUTF8(leftUTF8("value", 2), 4, '''') AS "level_2",
  CASE WHEN "value" IS NULL THEN NULL ELSE '*' END AS "level_3"
FROM "sqlanon_values_3"
WHERE
  NOT (
    "value" IS NULL
  );

-- 44. branches
CREATE TEMPORARY TABLE "sqlanon_lookup_3_branches"
ENGINE=Memory AS
SELECT
  *,
  DENSE_RANK() OVER (PARTITION BY "covered", "level_1" ORDER BY "level_0") - 1 AS "branch_0",
  DENSE_RANK() OVER (PARTITION BY "covered", "level_2" ORDER BY "level_1") - 1 AS "branch_1",
  DENSE_RANK() OVER (PARTITION BY "covered", "level_3" ORDER BY "level_2") - 1 AS "branch_2",
  DENSE_RANK() OVER (PARTITION BY "covered" ORDER BY "level_3") - 1 AS "branch_3"
FROM (
  SELECT
    "v"."value" AS "value",
    "v"."n" AS "n",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_0"
      ELSE NULL
    END AS "level_0",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_0"
      ELSE 3
    END AS Nullable(Int64)) AS "leaves_0",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_1"
      ELSE NULL
    END AS "level_1",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_1"
      ELSE 3
    END AS Nullable(Int64)) AS "leaves_1",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_2"
      ELSE NULL
    END AS "level_2",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_2"
      ELSE 3
    END AS Nullable(Int64)) AS "leaves_2",
    CASE
      WHEN "v"."value" IS NULL
      THEN '*'
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_3"
      ELSE NULL
    END AS "level_3",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 3
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_3"
      ELSE 3
    END AS Nullable(Int64)) AS "leaves_3",
    CASE WHEN "v"."value" IS NULL OR NOT (
      "h"."is_listed" IS NULL
    ) THEN 1 ELSE 0 END AS "covered"
  FROM "sqlanon_values_3" AS "v"
  LEFT JOIN (
    SELECT
      "level_0" AS "level_0",
      "level_1" AS "level_1",
      "level_2" AS "level_2",
      "level_3" AS "level_3",
      COUNT(*) OVER (PARTITION BY "level_0") AS "leaves_0",
      COUNT(*) OVER (PARTITION BY "level_1") AS "leaves_1",
      COUNT(*) OVER (PARTITION BY "level_2") AS "leaves_2",
      3 AS "leaves_3",
      1 AS "is_listed"
    FROM "sqlanon_listed_3"
  ) AS "h"
    ON "v"."value" IS NOT DISTINCT FROM "h"."level_0"
) AS "joined";

-- 45. distinct values
CREATE TEMPORARY TABLE "sqlanon_values_4"
ENGINE=Memory AS
SELECT
  CAST("order" AS Nullable(String)) AS "value",
  CAST("order" AS Nullable(String)) AS "raw",
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS Nullable(Int64)) AS "n"
FROM "people"
GROUP BY
  CAST("order" AS Nullable(String));

-- 46. build hierarchy
CREATE TEMPORARY TABLE "sqlanon_listed_4"
ENGINE=Memory AS
SELECT
  "value" AS "level_0",
  leftPadUTF8(rightUTF8("value", 1), 2, '*') AS "level_1",
  leftPadUTF8(rightUTF8("value", 0), 2, '*') AS "level_2"
FROM "sqlanon_values_4"
WHERE
  NOT (
    "value" IS NULL
  );

-- 47. branches
CREATE TEMPORARY TABLE "sqlanon_lookup_4_branches"
ENGINE=Memory AS
SELECT
  *,
  DENSE_RANK() OVER (PARTITION BY "covered", "level_1" ORDER BY "level_0") - 1 AS "branch_0",
  DENSE_RANK() OVER (PARTITION BY "covered", "level_2" ORDER BY "level_1") - 1 AS "branch_1",
  DENSE_RANK() OVER (PARTITION BY "covered" ORDER BY "level_2") - 1 AS "branch_2"
FROM (
  SELECT
    "v"."value" AS "value",
    "v"."n" AS "n",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_0"
      ELSE NULL
    END AS "level_0",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_0"
      ELSE 3
    END AS Nullable(Int64)) AS "leaves_0",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_1"
      ELSE NULL
    END AS "level_1",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_1"
      ELSE 3
    END AS Nullable(Int64)) AS "leaves_1",
    CASE
      WHEN "v"."value" IS NULL
      THEN '**'
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_2"
      ELSE NULL
    END AS "level_2",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 3
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_2"
      ELSE 3
    END AS Nullable(Int64)) AS "leaves_2",
    CASE WHEN "v"."value" IS NULL OR NOT (
      "h"."is_listed" IS NULL
    ) THEN 1 ELSE 0 END AS "covered"
  FROM "sqlanon_values_4" AS "v"
  LEFT JOIN (
    SELECT
      "level_0" AS "level_0",
      "level_1" AS "level_1",
      "level_2" AS "level_2",
      COUNT(*) OVER (PARTITION BY "level_0") AS "leaves_0",
      COUNT(*) OVER (PARTITION BY "level_1") AS "leaves_1",
      3 AS "leaves_2",
      1 AS "is_listed"
    FROM "sqlanon_listed_4"
  ) AS "h"
    ON "v"."value" IS NOT DISTINCT FROM "h"."level_0"
) AS "joined";

-- 48. distinct values
CREATE TEMPORARY TABLE "sqlanon_values_5"
ENGINE=Memory AS
SELECT
  CAST("disease" AS Nullable(String)) AS "value",
  CAST("disease" AS Nullable(String)) AS "raw",
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS Nullable(Int64)) AS "n"
FROM (
  SELECT
    *
  FROM "people"
  WHERE
    TRUE
) AS "taking_part"
GROUP BY
  CAST("disease" AS Nullable(String));

-- 49. list values
CREATE TEMPORARY TABLE "sqlanon_listed_5"
ENGINE=Memory AS
SELECT
  "value" AS "level_0"
FROM "sqlanon_values_5"
WHERE
  NOT (
    "value" IS NULL
  );

-- 50. branches
CREATE TEMPORARY TABLE "sqlanon_lookup_5_branches"
ENGINE=Memory AS
SELECT
  *,
  DENSE_RANK() OVER (PARTITION BY "covered" ORDER BY "level_0") - 1 AS "branch_0"
FROM (
  SELECT
    "v"."value" AS "value",
    "v"."n" AS "n",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_0"
      ELSE NULL
    END AS "level_0",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_0"
      ELSE 4
    END AS Nullable(Int64)) AS "leaves_0",
    CASE WHEN "v"."value" IS NULL OR NOT (
      "h"."is_listed" IS NULL
    ) THEN 1 ELSE 0 END AS "covered"
  FROM "sqlanon_values_5" AS "v"
  LEFT JOIN (
    SELECT
      "level_0" AS "level_0",
      COUNT(*) OVER (PARTITION BY "level_0") AS "leaves_0",
      1 AS "is_listed"
    FROM "sqlanon_listed_5"
  ) AS "h"
    ON "v"."value" IS NOT DISTINCT FROM "h"."level_0"
) AS "joined";

-- 51. lookup
CREATE TEMPORARY TABLE "sqlanon_lookup_0"
ENGINE=Memory AS
SELECT
  "value",
  "covered",
  "n",
  "level_0",
  "level_1",
  "level_2",
  "leaves_0",
  "leaves_1",
  "leaves_2",
  bitOr(
    bitShiftLeft(CAST("branch_0" AS Nullable(Int64)), 0),
    bitShiftLeft(CAST("branch_1" AS Nullable(Int64)), 1)
  ) AS "key_0"
FROM "sqlanon_lookup_0_branches"
WHERE
  "branch_0" < 2 AND "branch_1" < 4 AND "branch_2" < 1;

-- 52. leaf
CREATE TEMPORARY TABLE "sqlanon_leaf"
ENGINE=Memory AS
SELECT
  CAST(0 AS Nullable(Int64)) AS "attribute",
  CAST(0 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 7) AS "key_0",
  CAST(5 - MAX("leaves_0") AS Nullable(Int64)) AS "cost",
  CAST(5 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(NULL AS Nullable(Int64)) AS "cost_1",
  CAST(NULL AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_0"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 7)
UNION ALL
SELECT
  CAST(0 AS Nullable(Int64)) AS "attribute",
  CAST(1 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 6) AS "key_0",
  CAST(5 - MAX("leaves_1") AS Nullable(Int64)) AS "cost",
  CAST(5 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(5 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(NULL AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_0"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 6)
UNION ALL
SELECT
  CAST(0 AS Nullable(Int64)) AS "attribute",
  CAST(2 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 0) AS "key_0",
  CAST(5 - MAX("leaves_2") AS Nullable(Int64)) AS "cost",
  CAST(5 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(5 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(5 - MAX("leaves_2") AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_0"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 0);

-- 53. lookup
CREATE TEMPORARY TABLE "sqlanon_lookup_1"
ENGINE=Memory AS
SELECT
  "value",
  "covered",
  "n",
  "level_0",
  "level_1",
  "level_2",
  "level_3",
  "leaves_0",
  "leaves_1",
  "leaves_2",
  "leaves_3",
  bitOr(
    bitOr(
      bitShiftLeft(CAST("branch_0" AS Nullable(Int64)), 3),
      bitShiftLeft(CAST("branch_1" AS Nullable(Int64)), 7)
    ),
    bitShiftLeft(CAST("branch_2" AS Nullable(Int64)), 8)
  ) AS "key_0"
FROM "sqlanon_lookup_1_branches"
WHERE
  "branch_0" < 16 AND "branch_1" < 2 AND "branch_2" < 8 AND "branch_3" < 1;

-- 54. leaf
INSERT INTO "sqlanon_leaf"
SELECT
  CAST(1 AS Nullable(Int64)) AS "attribute",
  CAST(0 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 2040) AS "key_0",
  CAST(47 - MAX("leaves_0") AS Nullable(Int64)) AS "cost",
  CAST(47 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(NULL AS Nullable(Int64)) AS "cost_1",
  CAST(NULL AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_1"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 2040)
UNION ALL
SELECT
  CAST(1 AS Nullable(Int64)) AS "attribute",
  CAST(1 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 1920) AS "key_0",
  CAST(47 - MAX("leaves_1") AS Nullable(Int64)) AS "cost",
  CAST(47 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(47 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(NULL AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_1"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 1920)
UNION ALL
SELECT
  CAST(1 AS Nullable(Int64)) AS "attribute",
  CAST(2 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 1792) AS "key_0",
  CAST(47 - MAX("leaves_2") AS Nullable(Int64)) AS "cost",
  CAST(47 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(47 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(47 - MAX("leaves_2") AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_1"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 1792)
UNION ALL
SELECT
  CAST(1 AS Nullable(Int64)) AS "attribute",
  CAST(3 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 0) AS "key_0",
  CAST(47 - MAX("leaves_3") AS Nullable(Int64)) AS "cost",
  CAST(47 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(47 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(47 - MAX("leaves_2") AS Nullable(Int64)) AS "cost_2",
  CAST(47 - MAX("leaves_3") AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_1"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 0);

-- 55. lookup
CREATE TEMPORARY TABLE "sqlanon_lookup_2"
ENGINE=Memory AS
SELECT
  "value",
  "covered",
  "n",
  "level_0",
  "level_1",
  "level_2",
  "level_3",
  "level_4",
  "leaves_0",
  "leaves_1",
  "leaves_2",
  "leaves_3",
  "leaves_4",
  bitOr(
    bitOr(
      bitOr(
        bitShiftLeft(CAST("branch_0" AS Nullable(Int64)), 11),
        bitShiftLeft(CAST("branch_1" AS Nullable(Int64)), 16)
      ),
      bitShiftLeft(CAST("branch_2" AS Nullable(Int64)), 17)
    ),
    bitShiftLeft(CAST("branch_3" AS Nullable(Int64)), 18)
  ) AS "key_0"
FROM "sqlanon_lookup_2_branches"
WHERE
  "branch_0" < 32
  AND "branch_1" < 2
  AND "branch_2" < 2
  AND "branch_3" < 2
  AND "branch_4" < 1;

-- 56. leaf
INSERT INTO "sqlanon_leaf"
SELECT
  CAST(2 AS Nullable(Int64)) AS "attribute",
  CAST(0 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 522240) AS "key_0",
  CAST(125 - MAX("leaves_0") AS Nullable(Int64)) AS "cost",
  CAST(125 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(NULL AS Nullable(Int64)) AS "cost_1",
  CAST(NULL AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_2"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 522240)
UNION ALL
SELECT
  CAST(2 AS Nullable(Int64)) AS "attribute",
  CAST(1 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 458752) AS "key_0",
  CAST(125 - MAX("leaves_1") AS Nullable(Int64)) AS "cost",
  CAST(125 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(125 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(NULL AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_2"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 458752)
UNION ALL
SELECT
  CAST(2 AS Nullable(Int64)) AS "attribute",
  CAST(2 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 393216) AS "key_0",
  CAST(125 - MAX("leaves_2") AS Nullable(Int64)) AS "cost",
  CAST(125 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(125 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(125 - MAX("leaves_2") AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_2"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 393216)
UNION ALL
SELECT
  CAST(2 AS Nullable(Int64)) AS "attribute",
  CAST(3 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 262144) AS "key_0",
  CAST(125 - MAX("leaves_3") AS Nullable(Int64)) AS "cost",
  CAST(125 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(125 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(125 - MAX("leaves_2") AS Nullable(Int64)) AS "cost_2",
  CAST(125 - MAX("leaves_3") AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_2"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 262144)
UNION ALL
SELECT
  CAST(2 AS Nullable(Int64)) AS "attribute",
  CAST(4 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 0) AS "key_0",
  CAST(125 - MAX("leaves_4") AS Nullable(Int64)) AS "cost",
  CAST(125 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(125 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(125 - MAX("leaves_2") AS Nullable(Int64)) AS "cost_2",
  CAST(125 - MAX("leaves_3") AS Nullable(Int64)) AS "cost_3",
  CAST(125 - MAX("leaves_4") AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_2"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 0);

-- 57. lookup
CREATE TEMPORARY TABLE "sqlanon_lookup_3"
ENGINE=Memory AS
SELECT
  "value",
  "covered",
  "n",
  "level_0",
  "level_1",
  "level_2",
  "level_3",
  "leaves_0",
  "leaves_1",
  "leaves_2",
  "leaves_3",
  (
    bitShiftLeft(CAST("branch_1" AS Nullable(Int64)), 19)
  ) AS "key_0"
FROM "sqlanon_lookup_3_branches"
WHERE
  "branch_0" < 1 AND "branch_1" < 4 AND "branch_2" < 1 AND "branch_3" < 1;

-- 58. leaf
INSERT INTO "sqlanon_leaf"
SELECT
  CAST(3 AS Nullable(Int64)) AS "attribute",
  CAST(0 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 1572864) AS "key_0",
  CAST(3 - MAX("leaves_0") AS Nullable(Int64)) AS "cost",
  CAST(3 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(NULL AS Nullable(Int64)) AS "cost_1",
  CAST(NULL AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_3"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 1572864)
UNION ALL
SELECT
  CAST(3 AS Nullable(Int64)) AS "attribute",
  CAST(1 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 1572864) AS "key_0",
  CAST(3 - MAX("leaves_1") AS Nullable(Int64)) AS "cost",
  CAST(3 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(3 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(NULL AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_3"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 1572864)
UNION ALL
SELECT
  CAST(3 AS Nullable(Int64)) AS "attribute",
  CAST(2 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 0) AS "key_0",
  CAST(3 - MAX("leaves_2") AS Nullable(Int64)) AS "cost",
  CAST(3 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(3 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(3 - MAX("leaves_2") AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_3"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 0)
UNION ALL
SELECT
  CAST(3 AS Nullable(Int64)) AS "attribute",
  CAST(3 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 0) AS "key_0",
  CAST(3 - MAX("leaves_3") AS Nullable(Int64)) AS "cost",
  CAST(3 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(3 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(3 - MAX("leaves_2") AS Nullable(Int64)) AS "cost_2",
  CAST(3 - MAX("leaves_3") AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_3"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 0);

-- 59. lookup
CREATE TEMPORARY TABLE "sqlanon_lookup_4"
ENGINE=Memory AS
SELECT
  "value",
  "covered",
  "n",
  "level_0",
  "level_1",
  "level_2",
  "leaves_0",
  "leaves_1",
  "leaves_2",
  bitOr(
    bitShiftLeft(CAST("branch_0" AS Nullable(Int64)), 21),
    bitShiftLeft(CAST("branch_1" AS Nullable(Int64)), 22)
  ) AS "key_0"
FROM "sqlanon_lookup_4_branches"
WHERE
  "branch_0" < 2 AND "branch_1" < 2 AND "branch_2" < 1;

-- 60. leaf
INSERT INTO "sqlanon_leaf"
SELECT
  CAST(4 AS Nullable(Int64)) AS "attribute",
  CAST(0 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 6291456) AS "key_0",
  CAST(3 - MAX("leaves_0") AS Nullable(Int64)) AS "cost",
  CAST(3 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(NULL AS Nullable(Int64)) AS "cost_1",
  CAST(NULL AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_4"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 6291456)
UNION ALL
SELECT
  CAST(4 AS Nullable(Int64)) AS "attribute",
  CAST(1 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 4194304) AS "key_0",
  CAST(3 - MAX("leaves_1") AS Nullable(Int64)) AS "cost",
  CAST(3 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(3 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(NULL AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_4"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 4194304)
UNION ALL
SELECT
  CAST(4 AS Nullable(Int64)) AS "attribute",
  CAST(2 AS Nullable(Int64)) AS "level",
  bitAnd("key_0", 0) AS "key_0",
  CAST(3 - MAX("leaves_2") AS Nullable(Int64)) AS "cost",
  CAST(3 - MAX("leaves_0") AS Nullable(Int64)) AS "cost_0",
  CAST(3 - MAX("leaves_1") AS Nullable(Int64)) AS "cost_1",
  CAST(3 - MAX("leaves_2") AS Nullable(Int64)) AS "cost_2",
  CAST(NULL AS Nullable(Int64)) AS "cost_3",
  CAST(NULL AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_lookup_4"
WHERE
  "covered" = 1
GROUP BY
  bitAnd("key_0", 0);

-- 61. lookup
CREATE TEMPORARY TABLE "sqlanon_lookup_5"
ENGINE=Memory AS
SELECT
  "value",
  "covered",
  "n",
  "level_0",
  "leaves_0",
  (
    bitShiftLeft(CAST("branch_0" AS Nullable(Int64)), 23)
  ) AS "key_0"
FROM "sqlanon_lookup_5_branches"
WHERE
  "branch_0" < 4 AND "covered" = 1;

-- 62. overall
CREATE TEMPORARY TABLE "sqlanon_overall_0"
ENGINE=Memory AS
SELECT
  *,
  (
    "area" - "through"
  ) + (
    MAX("place") OVER () - (
      "place" - 1
    )
  ) + (
    "area" - "through"
  ) - MAX("area") OVER () AS "alone"
FROM (
  SELECT
    *,
    SUM("through") OVER (ORDER BY "place") AS "area"
  FROM (
    SELECT
      *,
      SUM("share") OVER (ORDER BY "place") AS "through"
    FROM (
      SELECT
        *,
        CAST("records" AS Nullable(Float64)) / SUM("records") OVER () AS "share"
      FROM (
        SELECT
          bitAnd("sqlanon_lookup_5"."key_0", 25165824) AS "value",
          "v"."n" AS "records",
          ROW_NUMBER() OVER (ORDER BY "v"."value" IS NULL, "v"."raw", "v"."value") AS "place"
        FROM "sqlanon_values_5" AS "v"
        JOIN "sqlanon_lookup_5" AS "sqlanon_lookup_5"
          ON "v"."value" IS NOT DISTINCT FROM "sqlanon_lookup_5"."value"
      ) AS "placed"
    ) AS "shared"
  ) AS "cumulated"
) AS "measured";

-- 63. base
CREATE TEMPORARY TABLE "sqlanon_base"
ENGINE=Memory AS
SELECT
  bitOr(
    bitOr(
      bitOr(
        bitOr(
          bitOr("sqlanon_lookup_0"."key_0", "sqlanon_lookup_1"."key_0"),
          "sqlanon_lookup_2"."key_0"
        ),
        "sqlanon_lookup_3"."key_0"
      ),
      "sqlanon_lookup_4"."key_0"
    ),
    "sqlanon_lookup_5"."key_0"
  ) AS "key_0",
  CAST(COUNT(*) AS Nullable(Int64)) AS "n"
FROM "people" AS "source"
LEFT JOIN "sqlanon_lookup_0" AS "sqlanon_lookup_0"
  ON CAST("source"."city" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_0"."value"
LEFT JOIN "sqlanon_lookup_1" AS "sqlanon_lookup_1"
  ON CAST("source"."age" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_1"."value"
LEFT JOIN "sqlanon_lookup_2" AS "sqlanon_lookup_2"
  ON CAST("source"."seen" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_2"."value"
LEFT JOIN "sqlanon_lookup_3" AS "sqlanon_lookup_3"
  ON CAST("source"."zip" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_3"."value"
LEFT JOIN "sqlanon_lookup_4" AS "sqlanon_lookup_4"
  ON CAST("source"."order" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_4"."value"
LEFT JOIN "sqlanon_lookup_5" AS "sqlanon_lookup_5"
  ON CAST("source"."disease" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_5"."value"
WHERE
  COALESCE("sqlanon_lookup_0"."covered", 0) <> 0
  AND COALESCE("sqlanon_lookup_1"."covered", 0) <> 0
  AND COALESCE("sqlanon_lookup_2"."covered", 0) <> 0
  AND COALESCE("sqlanon_lookup_3"."covered", 0) <> 0
  AND COALESCE("sqlanon_lookup_4"."covered", 0) <> 0
  AND TRUE
GROUP BY
  bitOr(
    bitOr(
      bitOr(
        bitOr(
          bitOr("sqlanon_lookup_0"."key_0", "sqlanon_lookup_1"."key_0"),
          "sqlanon_lookup_2"."key_0"
        ),
        "sqlanon_lookup_3"."key_0"
      ),
      "sqlanon_lookup_4"."key_0"
    ),
    "sqlanon_lookup_5"."key_0"
  );

-- 64. load masks
CREATE TEMPORARY TABLE "sqlanon_masks" (
  "attribute" Nullable(Int64),
  "level" Nullable(Int64),
  "digit" Nullable(String),
  "mask_0" Nullable(Int64)
)
ENGINE=Memory;

-- 65. load masks
INSERT INTO "sqlanon_masks"
VALUES
  (0, 0, '0', 7),
  (0, 1, '1', 6),
  (0, 2, '2', 0),
  (1, 0, '0', 2040),
  (1, 1, '1', 1920),
  (1, 2, '2', 1792),
  (1, 3, '3', 0),
  (2, 0, '0', 522240),
  (2, 1, '1', 458752),
  (2, 2, '2', 393216),
  (2, 3, '3', 262144),
  (2, 4, '4', 0),
  (3, 0, '0', 1572864),
  (3, 1, '1', 1572864),
  (3, 2, '2', 0),
  (3, 3, '3', 0),
  (4, 0, '0', 6291456),
  (4, 1, '1', 4194304),
  (4, 2, '2', 0);

-- 66. records of the source, and those that take part
SELECT
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS Nullable(Int64)) AS "records",
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS Nullable(Int64)) AS "included"
FROM "people";

-- 67. records that were encoded
SELECT
  CAST(COALESCE(SUM("n"), 0) AS Nullable(Int64)) AS "encoded"
FROM "sqlanon_base";

-- 68. the verdicts of some nodes (0: city=1, age=3, seen=4, zip=0, order=1; 1: city=0, age=3, seen=4, zip=0, order=1; 2: city=2, age=3, seen=4, zip=0, order=1; 3: city=1, age=2, seen=4, zip=0, order=1; 4: city=1, age=3, seen=3, zip=0, order=1; 5: city=1, age=3, seen=4, zip=1, order=1; 6: city=1, age=3, seen=4, zip=0, order=0; 7: city=1, age=3, seen=4, zip=0, order=2)
WITH "nodes" AS (
  SELECT
    CAST(0 AS Nullable(Int64)) AS "node",
    CAST(0 AS Nullable(Int64)) AS "arm",
    CAST(30932998 AS Nullable(Int64)) AS "mask_0",
    '13401' AS "levels"
  UNION ALL
  SELECT
    CAST(1 AS Nullable(Int64)) AS "node",
    CAST(0 AS Nullable(Int64)) AS "arm",
    CAST(30932999 AS Nullable(Int64)) AS "mask_0",
    '03401' AS "levels"
  UNION ALL
  SELECT
    CAST(2 AS Nullable(Int64)) AS "node",
    CAST(0 AS Nullable(Int64)) AS "arm",
    CAST(30932992 AS Nullable(Int64)) AS "mask_0",
    '23401' AS "levels"
  UNION ALL
  SELECT
    CAST(3 AS Nullable(Int64)) AS "node",
    CAST(0 AS Nullable(Int64)) AS "arm",
    CAST(30934790 AS Nullable(Int64)) AS "mask_0",
    '12401' AS "levels"
  UNION ALL
  SELECT
    CAST(4 AS Nullable(Int64)) AS "node",
    CAST(0 AS Nullable(Int64)) AS "arm",
    CAST(31195142 AS Nullable(Int64)) AS "mask_0",
    '13301' AS "levels"
  UNION ALL
  SELECT
    CAST(5 AS Nullable(Int64)) AS "node",
    CAST(0 AS Nullable(Int64)) AS "arm",
    CAST(30932998 AS Nullable(Int64)) AS "mask_0",
    '13411' AS "levels"
  UNION ALL
  SELECT
    CAST(6 AS Nullable(Int64)) AS "node",
    CAST(0 AS Nullable(Int64)) AS "arm",
    CAST(33030150 AS Nullable(Int64)) AS "mask_0",
    '13400' AS "levels"
  UNION ALL
  SELECT
    CAST(7 AS Nullable(Int64)) AS "node",
    CAST(0 AS Nullable(Int64)) AS "arm",
    CAST(26738694 AS Nullable(Int64)) AS "mask_0",
    '13402' AS "levels"
), "parts" AS (
  SELECT
    "nodes"."node" AS "node",
    bitAnd("grain"."key_0", "nodes"."mask_0") AS "key_0",
    CAST(COALESCE(SUM("grain"."n"), 0) AS Nullable(Int64)) AS "n"
  FROM "sqlanon_base" AS "grain"
  CROSS JOIN "nodes"
  WHERE
    "nodes"."arm" = 0
  GROUP BY
    "nodes"."node",
    bitAnd("grain"."key_0", "nodes"."mask_0")
), "classes" AS (
  SELECT
    "node",
    bitAnd("key_0", -25165825) AS "key_0",
    CAST(SUM("n") AS Nullable(Int64)) AS "n"
  FROM "parts"
  GROUP BY
    "node",
    bitAnd("key_0", -25165825)
), "histogram_0" AS (
  SELECT
    "node",
    bitAnd("key_0", -25165825) AS "key_0",
    bitAnd("key_0", 25165824) AS "value",
    "n"
  FROM "parts"
  WHERE
    "n" > 0
), "model_1" AS (
  SELECT
    "node",
    "key_0",
    CASE WHEN COUNT(*) < 2 THEN 1 ELSE 0 END AS "fails",
    CAST(SUM("n") AS Nullable(Int64)) AS "min_suppressed"
  FROM "histogram_0" AS "histogram"
  GROUP BY
    "node",
    "key_0"
), "model_2" AS (
  SELECT
    "node",
    "key_0",
    CASE WHEN "distance" > CAST(0.35 AS Nullable(Float64)) + 1e-12 THEN 1 ELSE 0 END AS "fails",
    CASE
      WHEN "distance" > CAST(0.35 AS Nullable(Float64)) + 1e-12
      THEN CAST(CEIL(
        "n" * GREATEST(
          CAST("distance" - CAST(0.35 AS Nullable(Float64)) - 1e-11 AS Nullable(Float64)) / (
            "farthest" - CAST(0.35 AS Nullable(Float64)) + 1e-11
          ) - 1e-9,
          0
        )
      ) AS Nullable(Int64))
      ELSE 0
    END AS "min_suppressed"
  FROM (
    SELECT
      "node",
      "key_0",
      MAX("classes"."n") AS "n",
      SUM(
        GREATEST(CAST("histogram"."n" AS Nullable(Float64)) / "classes"."n" - "overall"."share", 0)
      ) AS "distance",
      1 - MIN("overall"."share") AS "farthest"
    FROM "histogram_0" AS "histogram"
    JOIN "classes" AS "classes"
      USING ("node", "key_0")
    JOIN "sqlanon_overall_0" AS "overall"
      ON "overall"."value" = "histogram"."value"
    GROUP BY
      "node",
      "key_0"
  ) AS "profile"
), "judged" AS (
  SELECT
    "classes"."node" AS "node",
    "classes"."key_0" AS "key_0",
    "classes"."n" AS "n",
    CASE
      WHEN "classes"."n" < 4 OR "model_1"."fails" = 1 OR "model_2"."fails" = 1
      THEN 1
      ELSE 0
    END AS "fails",
    COALESCE(
      GREATEST(
        CASE WHEN "classes"."n" < 4 THEN "classes"."n" ELSE 0 END,
        CASE WHEN "model_1"."fails" = 1 THEN "model_1"."min_suppressed" ELSE 0 END,
        CASE WHEN "model_2"."fails" = 1 THEN "model_2"."min_suppressed" ELSE 0 END
      ),
      0
    ) AS "min_suppressed",
    CASE WHEN "classes"."n" < 4 THEN 1 ELSE 0 END AS "fails_0",
    "model_1"."fails" AS "fails_1",
    "model_2"."fails" AS "fails_2"
  FROM "classes"
  LEFT JOIN "model_1"
    ON "classes"."node" = "model_1"."node" AND "classes"."key_0" = "model_1"."key_0"
  LEFT JOIN "model_2"
    ON "classes"."node" = "model_2"."node" AND "classes"."key_0" = "model_2"."key_0"
), "totals" AS (
  SELECT
    "node",
    CAST(-1 AS Nullable(Int64)) AS "attribute",
    CAST(COUNT(*) AS Nullable(Int64)) AS "grain",
    CAST(SUM(CASE WHEN "n" > 0 AND "fails" = 0 THEN 1 ELSE 0 END) AS Nullable(Int64)) AS "classes",
    CAST(SUM(CASE WHEN "n" > 0 AND "fails" = 1 THEN "n" ELSE 0 END) AS Nullable(Int64)) AS "suppressed",
    MIN(CASE WHEN "n" > 0 AND "fails" = 0 THEN "n" END) AS "smallest",
    MAX(CASE WHEN "n" > 0 AND "fails" = 0 THEN "n" END) AS "largest",
    CAST(SUM(CASE WHEN "n" > 0 AND "fails" = 1 THEN "min_suppressed" ELSE 0 END) AS Nullable(Int64)) AS "min_suppressed",
    CAST(COALESCE(SUM(CASE WHEN "fails_0" = 1 THEN "n" ELSE 0 END), 0) AS Nullable(Int64)) AS "model_0",
    CAST(COALESCE(SUM(CASE WHEN "fails_1" = 1 THEN "n" ELSE 0 END), 0) AS Nullable(Int64)) AS "model_1",
    CAST(COALESCE(SUM(CASE WHEN "fails_2" = 1 THEN "n" ELSE 0 END), 0) AS Nullable(Int64)) AS "model_2",
    CAST(NULL AS Nullable(Int64)) AS "cost",
    CAST(NULL AS Nullable(Int64)) AS "min_cost_0",
    CAST(NULL AS Nullable(Int64)) AS "min_cost_1",
    CAST(NULL AS Nullable(Int64)) AS "min_cost_2",
    CAST(NULL AS Nullable(Int64)) AS "min_cost_3",
    CAST(NULL AS Nullable(Int64)) AS "min_cost_4"
  FROM "judged"
  GROUP BY
    "node"
), "levels" AS (
  SELECT
    "nodes"."node" AS "node",
    "masks"."attribute" AS "attribute",
    "masks"."level" AS "level",
    "masks"."mask_0" AS "mask_0"
  FROM "nodes"
  JOIN "sqlanon_masks" AS "masks"
    ON SUBSTRING("nodes"."levels", "masks"."attribute" + 1, 1) = "masks"."digit"
), "failing" AS (
  SELECT
    "levels"."node" AS "node",
    "levels"."attribute" AS "attribute",
    "levels"."level" AS "level",
    bitAnd("judged"."key_0", "levels"."mask_0") AS "key_0",
    CAST(SUM("judged"."n") AS Nullable(Int64)) AS "n",
    CAST(SUM("judged"."min_suppressed") AS Nullable(Int64)) AS "min_suppressed"
  FROM "judged"
  JOIN "levels"
    ON "judged"."node" = "levels"."node"
  WHERE
    "judged"."fails" = 1
  GROUP BY
    "levels"."node",
    "levels"."attribute",
    "levels"."level",
    bitAnd("judged"."key_0", "levels"."mask_0")
)
SELECT
  *
FROM "totals"
UNION ALL
SELECT
  "failing"."node" AS "node",
  "failing"."attribute" AS "attribute",
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(SUM("failing"."n" * "leaf"."cost") AS Nullable(Int64)) AS "cost",
  CAST(COALESCE(SUM("failing"."min_suppressed" * "leaf"."cost_0"), 0) AS Nullable(Int64)) AS "min_cost_0",
  CAST(COALESCE(SUM("failing"."min_suppressed" * "leaf"."cost_1"), 0) AS Nullable(Int64)) AS "min_cost_1",
  CAST(COALESCE(SUM("failing"."min_suppressed" * "leaf"."cost_2"), 0) AS Nullable(Int64)) AS "min_cost_2",
  CAST(COALESCE(SUM("failing"."min_suppressed" * "leaf"."cost_3"), 0) AS Nullable(Int64)) AS "min_cost_3",
  CAST(COALESCE(SUM("failing"."min_suppressed" * "leaf"."cost_4"), 0) AS Nullable(Int64)) AS "min_cost_4"
FROM "failing"
JOIN "sqlanon_leaf" AS "leaf"
  ON "failing"."attribute" = "leaf"."attribute"
  AND "failing"."level" = "leaf"."level"
  AND (
    "failing"."key_0" = "leaf"."key_0"
  )
GROUP BY
  "failing"."node",
  "failing"."attribute";

-- 69. the release
CREATE TABLE "sqlanon_release"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  "city",
  "age",
  "seen",
  "zip",
  "order",
  "disease",
  "note"
FROM (
  SELECT
    "city" AS "city",
    "age" AS "age",
    "seen" AS "seen",
    "zip" AS "zip",
    "order" AS "order",
    "disease" AS "disease",
    "note" AS "note"
  FROM (
    WITH "records" AS (
      SELECT
        CAST("sqlanon_lookup_0"."level_1" AS Nullable(String)) AS "column_0",
        CAST("sqlanon_lookup_1"."level_3" AS Nullable(String)) AS "column_1",
        CAST("sqlanon_lookup_2"."level_4" AS Nullable(String)) AS "column_2",
        CAST("sqlanon_lookup_3"."level_0" AS Nullable(String)) AS "column_3",
        CAST("sqlanon_lookup_4"."level_1" AS Nullable(String)) AS "column_4",
        CAST("source"."disease" AS Nullable(String)) AS "column_5",
        "source"."note" AS "column_6",
        bitAnd(
          bitOr(
            bitOr(
              bitOr(
                bitOr("sqlanon_lookup_0"."key_0", "sqlanon_lookup_1"."key_0"),
                "sqlanon_lookup_2"."key_0"
              ),
              "sqlanon_lookup_3"."key_0"
            ),
            "sqlanon_lookup_4"."key_0"
          ),
          5767174
        ) AS "key_0"
      FROM "people" AS "source"
      LEFT JOIN "sqlanon_lookup_0" AS "sqlanon_lookup_0"
        ON CAST("source"."city" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_0"."value"
      LEFT JOIN "sqlanon_lookup_1" AS "sqlanon_lookup_1"
        ON CAST("source"."age" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_1"."value"
      LEFT JOIN "sqlanon_lookup_2" AS "sqlanon_lookup_2"
        ON CAST("source"."seen" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_2"."value"
      LEFT JOIN "sqlanon_lookup_3" AS "sqlanon_lookup_3"
        ON CAST("source"."zip" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_3"."value"
      LEFT JOIN "sqlanon_lookup_4" AS "sqlanon_lookup_4"
        ON CAST("source"."order" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_4"."value"
      WHERE
        COALESCE("sqlanon_lookup_0"."covered", 0) <> 0
        AND COALESCE("sqlanon_lookup_1"."covered", 0) <> 0
        AND COALESCE("sqlanon_lookup_2"."covered", 0) <> 0
        AND COALESCE("sqlanon_lookup_3"."covered", 0) <> 0
        AND COALESCE("sqlanon_lookup_4"."covered", 0) <> 0
        AND TRUE
    ), "parts" AS (
      SELECT
        CAST(0 AS Nullable(Int64)) AS "node",
        bitAnd("key_0", CAST(30932998 AS Nullable(Int64))) AS "key_0",
        CAST(COALESCE(SUM("n"), 0) AS Nullable(Int64)) AS "n"
      FROM "sqlanon_base"
      GROUP BY
        2
    ), "classes" AS (
      SELECT
        "node",
        bitAnd("key_0", -25165825) AS "key_0",
        CAST(SUM("n") AS Nullable(Int64)) AS "n"
      FROM "parts"
      GROUP BY
        "node",
        bitAnd("key_0", -25165825)
    ), "histogram_0" AS (
      SELECT
        "node",
        bitAnd("key_0", -25165825) AS "key_0",
        bitAnd("key_0", 25165824) AS "value",
        "n"
      FROM "parts"
      WHERE
        "n" > 0
    ), "model_1" AS (
      SELECT
        "node",
        "key_0",
        CASE WHEN COUNT(*) < 2 THEN 1 ELSE 0 END AS "fails",
        CAST(SUM("n") AS Nullable(Int64)) AS "min_suppressed"
      FROM "histogram_0" AS "histogram"
      GROUP BY
        "node",
        "key_0"
    ), "model_2" AS (
      SELECT
        "node",
        "key_0",
        CASE WHEN "distance" > CAST(0.35 AS Nullable(Float64)) + 1e-12 THEN 1 ELSE 0 END AS "fails",
        CASE
          WHEN "distance" > CAST(0.35 AS Nullable(Float64)) + 1e-12
          THEN CAST(CEIL(
            "n" * GREATEST(
              CAST("distance" - CAST(0.35 AS Nullable(Float64)) - 1e-11 AS Nullable(Float64)) / (
                "farthest" - CAST(0.35 AS Nullable(Float64)) + 1e-11
              ) - 1e-9,
              0
            )
          ) AS Nullable(Int64))
          ELSE 0
        END AS "min_suppressed"
      FROM (
        SELECT
          "node",
          "key_0",
          MAX("classes"."n") AS "n",
          SUM(
            GREATEST(CAST("histogram"."n" AS Nullable(Float64)) / "classes"."n" - "overall"."share", 0)
          ) AS "distance",
          1 - MIN("overall"."share") AS "farthest"
        FROM "histogram_0" AS "histogram"
        JOIN "classes" AS "classes"
          USING ("node", "key_0")
        JOIN "sqlanon_overall_0" AS "overall"
          ON "overall"."value" = "histogram"."value"
        GROUP BY
          "node",
          "key_0"
      ) AS "profile"
    ), "judged" AS (
      SELECT
        "classes"."node" AS "node",
        "classes"."key_0" AS "key_0",
        "classes"."n" AS "n",
        CASE
          WHEN "classes"."n" < 4 OR "model_1"."fails" = 1 OR "model_2"."fails" = 1
          THEN 1
          ELSE 0
        END AS "fails",
        COALESCE(
          GREATEST(
            CASE WHEN "classes"."n" < 4 THEN "classes"."n" ELSE 0 END,
            CASE WHEN "model_1"."fails" = 1 THEN "model_1"."min_suppressed" ELSE 0 END,
            CASE WHEN "model_2"."fails" = 1 THEN "model_2"."min_suppressed" ELSE 0 END
          ),
          0
        ) AS "min_suppressed",
        CASE WHEN "classes"."n" < 4 THEN 1 ELSE 0 END AS "fails_0",
        "model_1"."fails" AS "fails_1",
        "model_2"."fails" AS "fails_2"
      FROM "classes"
      LEFT JOIN "model_1"
        ON "classes"."node" = "model_1"."node" AND "classes"."key_0" = "model_1"."key_0"
      LEFT JOIN "model_2"
        ON "classes"."node" = "model_2"."node" AND "classes"."key_0" = "model_2"."key_0"
    ), "passing" AS (
      SELECT
        "key_0"
      FROM "judged"
      WHERE
        "fails" = 0 AND "n" > 0
    )
    SELECT
      "records"."column_0" AS "city",
      "records"."column_1" AS "age",
      "records"."column_2" AS "seen",
      "records"."column_3" AS "zip",
      "records"."column_4" AS "order",
      "records"."column_5" AS "disease",
      "records"."column_6" AS "note"
    FROM "records"
    JOIN "passing"
      ON "records"."key_0" = "passing"."key_0"
  ) AS "published"
) AS "released"
ORDER BY
  randCanonical();

-- 70. audit row_count: no row, if the table is the one that was planned on
SELECT
  COUNT(*) AS "rows_found"
FROM "sqlanon_release" AS "release"
HAVING
  COUNT(*) <> 226;

-- 71. audit small_classes: no row
SELECT
  COUNT(*) AS "records"
FROM "sqlanon_release" AS "release"
GROUP BY
  "release"."city",
  "release"."age",
  "release"."seen",
  "release"."zip",
  "release"."order"
HAVING
  COUNT(*) BETWEEN 1 AND 4 - 1;

-- 72. audit distinct_l_diversity of disease: no row
SELECT
  COUNT(*) AS "records"
FROM "sqlanon_release" AS "release"
GROUP BY
  "release"."city",
  "release"."age",
  "release"."seen",
  "release"."zip",
  "release"."order"
HAVING
  COUNT(*) > 0
  AND COUNT(DISTINCT "release"."disease") + MAX(CASE WHEN "release"."disease" IS NULL THEN 1 ELSE 0 END) < 2;

-- 73. audit t_closeness_equal of disease: no row
SELECT
  CAST(SUM("sqlanon_count") AS Nullable(Int64)) AS "records"
FROM (
  SELECT
    "city",
    "age",
    "seen",
    "zip",
    "order",
    CAST("disease" AS Nullable(String)) AS "sqlanon_value",
    COUNT(*) AS "sqlanon_count",
    SUM(COUNT(*)) OVER (PARTITION BY "city", "age", "seen", "zip", "order") AS "sqlanon_size"
  FROM "sqlanon_release" AS "release"
  GROUP BY
    "city",
    "age",
    "seen",
    "zip",
    "order",
    CAST("disease" AS Nullable(String))
) AS "counted"
LEFT JOIN (
  SELECT
    "value" AS "sqlanon_text",
    CAST("records" AS Nullable(Float64)) / SUM("records") OVER () AS "sqlanon_share"
  FROM (
    SELECT
      CAST("disease" AS Nullable(String)) AS "value",
      CAST(COUNT(*) AS Nullable(Int64)) AS "records"
    FROM "people"
    WHERE
      TRUE
    GROUP BY
      CAST("disease" AS Nullable(String))
  ) AS "reference"
) AS "overall"
  ON "overall"."sqlanon_text" IS NOT DISTINCT FROM "counted"."sqlanon_value"
GROUP BY
  "counted"."city",
  "counted"."age",
  "counted"."seen",
  "counted"."zip",
  "counted"."order"
HAVING
  COUNT(*) > 0
  AND CAST(SUM(
    ABS(
      CAST("sqlanon_count" AS Nullable(Float64)) / "sqlanon_size" - COALESCE("sqlanon_share", 0)
    )
  ) + 1 - SUM(COALESCE("sqlanon_share", 0)) AS Nullable(Float64)) / 2 > CAST(0.35 AS Nullable(Float64)) + 1e-11;

-- 74. audit untranslated_values of city: no row
SELECT
  "released"."sqlanon_records" AS "records"
FROM (
  SELECT
    CAST("city" AS Nullable(String)) AS "sqlanon_value",
    COUNT(*) AS "sqlanon_records"
  FROM "sqlanon_release" AS "release"
  GROUP BY
    CAST("city" AS Nullable(String))
) AS "released"
LEFT JOIN (
  SELECT DISTINCT
    CAST(CAST("lookup"."value" AS Nullable(String)) AS Nullable(String)) AS "value",
    1 AS "listed"
  FROM (
    SELECT DISTINCT
      "level_1" AS "value"
    FROM "sqlanon_lookup_0"
  ) AS "lookup"
) AS "texts"
  ON "texts"."value" IS NOT DISTINCT FROM "released"."sqlanon_value"
WHERE
  "texts"."listed" IS NULL;

-- 75. audit untranslated_values of age: no row
SELECT
  "released"."sqlanon_records" AS "records"
FROM (
  SELECT
    CAST("age" AS Nullable(String)) AS "sqlanon_value",
    COUNT(*) AS "sqlanon_records"
  FROM "sqlanon_release" AS "release"
  GROUP BY
    CAST("age" AS Nullable(String))
) AS "released"
LEFT JOIN (
  SELECT DISTINCT
    CAST(CAST("lookup"."value" AS Nullable(String)) AS Nullable(String)) AS "value",
    1 AS "listed"
  FROM (
    SELECT DISTINCT
      "level_3" AS "value"
    FROM "sqlanon_lookup_1"
  ) AS "lookup"
) AS "texts"
  ON "texts"."value" IS NOT DISTINCT FROM "released"."sqlanon_value"
WHERE
  "texts"."listed" IS NULL;

-- 76. audit untranslated_values of seen: no row
SELECT
  "released"."sqlanon_records" AS "records"
FROM (
  SELECT
    CAST("seen" AS Nullable(String)) AS "sqlanon_value",
    COUNT(*) AS "sqlanon_records"
  FROM "sqlanon_release" AS "release"
  GROUP BY
    CAST("seen" AS Nullable(String))
) AS "released"
LEFT JOIN (
  SELECT DISTINCT
    CAST(CAST("lookup"."value" AS Nullable(String)) AS Nullable(String)) AS "value",
    1 AS "listed"
  FROM (
    SELECT DISTINCT
      "level_4" AS "value"
    FROM "sqlanon_lookup_2"
  ) AS "lookup"
) AS "texts"
  ON "texts"."value" IS NOT DISTINCT FROM "released"."sqlanon_value"
WHERE
  "texts"."listed" IS NULL;

-- 77. audit untranslated_values of zip: no row
SELECT
  "released"."sqlanon_records" AS "records"
FROM (
  SELECT
    CAST("zip" AS Nullable(String)) AS "sqlanon_value",
    COUNT(*) AS "sqlanon_records"
  FROM "sqlanon_release" AS "release"
  GROUP BY
    CAST("zip" AS Nullable(String))
) AS "released"
LEFT JOIN (
  SELECT DISTINCT
    CAST(CAST("lookup"."value" AS Nullable(String)) AS Nullable(String)) AS "value",
    1 AS "listed"
  FROM (
    SELECT DISTINCT
      "level_0" AS "value"
    FROM "sqlanon_lookup_3"
  ) AS "lookup"
) AS "texts"
  ON "texts"."value" IS NOT DISTINCT FROM "released"."sqlanon_value"
WHERE
  "texts"."listed" IS NULL;

-- 78. audit untranslated_values of order: no row
SELECT
  "released"."sqlanon_records" AS "records"
FROM (
  SELECT
    CAST("order" AS Nullable(String)) AS "sqlanon_value",
    COUNT(*) AS "sqlanon_records"
  FROM "sqlanon_release" AS "release"
  GROUP BY
    CAST("order" AS Nullable(String))
) AS "released"
LEFT JOIN (
  SELECT DISTINCT
    CAST(CAST("lookup"."value" AS Nullable(String)) AS Nullable(String)) AS "value",
    1 AS "listed"
  FROM (
    SELECT DISTINCT
      "level_1" AS "value"
    FROM "sqlanon_lookup_4"
  ) AS "lookup"
) AS "texts"
  ON "texts"."value" IS NOT DISTINCT FROM "released"."sqlanon_value"
WHERE
  "texts"."listed" IS NULL;

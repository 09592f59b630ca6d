-- sqlanon: the SQL of a policy for Snowflake.
-- For the operator: it holds the texts of hierarchies; it does not travel with the release.
-- The widths of the codes were measured on the 240 records of people: 0 of them excluded for a NULL, 0 with a value that no hierarchy lists.
-- Distinct values by column, and by level of the quasi-identifiers: city 5 > 1; seen 125 > 2 > 1.
-- Quasi-identifying values of the table that no hierarchy lists, or that these widths have no room for, have no row in a lookup, and the JOIN suppresses their records; a sensitive value without a row counts for no class, but for the audits it does.
-- The audits at the end say whether sqlanon_0a1b2c3d_release meets the policy: the table may hold other records than those above. An audit that finds rows fails, which ends the script in most clients (see that yours does).
-- Run it in a scratch schema without default grants. When all audits have passed, rename the release and move it to its readers.
-- The names of its tables belong to this script alone. To run it twice at the same time, write a second script.
-- Costs: 4 statements read the table, the others its distinct combinations. A record has about 13 bytes in the columns that are read (as text, uncompressed), so that a table of 240 records costs about 0.1 MB at most; the cost grows with the records.
-- Names of small letters, digits and underscores are written in capitals, as Snowflake stores what is not quoted; others as the policy writes them.
-- A date must read YYYY-MM-DD as text (DATE_OUTPUT_FORMAT, its default).

-- 1. drop what is left of an earlier run
DROP TABLE IF EXISTS "SQLANON_0A1B2C3D_VALUES";

-- 9. distinct values
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_VALUES" AS
SELECT
  CAST(0 AS BIGINT) AS "ATTRIBUTE",
  CAST("CITY" AS VARCHAR) AS "VALUE",
  CAST(COUNT(*) AS BIGINT) AS "N",
  CAST(NULL AS DATE) AS "RAW_1"
FROM "PEOPLE"
GROUP BY
  CAST("CITY" AS VARCHAR)
UNION ALL
SELECT
  CAST(1 AS BIGINT) AS "ATTRIBUTE",
  CAST("SEEN" AS VARCHAR) AS "VALUE",
  CAST(COUNT(*) AS BIGINT) AS "N",
  MIN("SEEN") AS "RAW_1"
FROM "PEOPLE"
GROUP BY
  CAST("SEEN" AS VARCHAR);

-- 10. load hierarchies
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_LISTED" (
  "ATTRIBUTE" BIGINT,
  "LEVEL_0" VARCHAR,
  "LEVEL_1" VARCHAR,
  "LEVEL_2" VARCHAR,
  "PLACE" BIGINT
);

-- 12. build hierarchies
INSERT INTO "SQLANON_0A1B2C3D_LISTED"
SELECT
  CAST(1 AS BIGINT) AS "ATTRIBUTE",
  "VALUE" AS "LEVEL_0",
  CASE
    WHEN "RAW_1" IS NULL
    THEN NULL
    ELSE CASE
      WHEN TRUE
      THEN CAST(CAST(FLOOR(CAST(YEAR("RAW_1") AS DOUBLE) / CAST(10 AS DOUBLE)) AS BIGINT) * 10 AS VARCHAR) || 's'
      ELSE CAST("RAW_1" AS VARCHAR)
    END
  END AS "LEVEL_1",
  CASE WHEN "RAW_1" IS NULL THEN NULL ELSE '*' END AS "LEVEL_2",
  CAST(NULL AS BIGINT) AS "PLACE"
FROM "SQLANON_0A1B2C3D_VALUES"
WHERE
  "ATTRIBUTE" = 1 AND NOT "VALUE" IS NULL;

-- 13. branches
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_BRANCHES" AS
SELECT
  *,
  DENSE_RANK() OVER (PARTITION BY "ATTRIBUTE", "COVERED", "LEVEL_1" ORDER BY "LEVEL_0") - 1 AS "BRANCH_0",
  DENSE_RANK() OVER (PARTITION BY "ATTRIBUTE", "COVERED", "LEVEL_2" ORDER BY "LEVEL_1") - 1 AS "BRANCH_1",
  DENSE_RANK() OVER (PARTITION BY "ATTRIBUTE", "COVERED" ORDER BY "LEVEL_2") - 1 AS "BRANCH_2"
FROM (
  SELECT
    "V"."ATTRIBUTE",
    "V"."VALUE",
    "V"."N",
    CASE
      WHEN "V"."VALUE" IS NULL
      THEN NULL
      WHEN NOT "H"."IS_LISTED" IS NULL
      THEN "H"."LEVEL_0"
      ELSE NULL
    END AS "LEVEL_0",
    CAST(CASE
      WHEN "V"."VALUE" IS NULL
      THEN 1
      WHEN NOT "H"."IS_LISTED" IS NULL
      THEN "H"."LEAVES_0"
      ELSE CASE
        WHEN (
          "V"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "V"."ATTRIBUTE" = 1
        )
        THEN 125
      END
    END AS BIGINT) AS "LEAVES_0",
    CASE
      WHEN "V"."VALUE" IS NULL
      THEN CASE WHEN (
        "V"."ATTRIBUTE" = 0
      ) THEN '*' END
      WHEN NOT "H"."IS_LISTED" IS NULL
      THEN "H"."LEVEL_1"
      ELSE NULL
    END AS "LEVEL_1",
    CAST(CASE
      WHEN "V"."VALUE" IS NULL
      THEN CASE WHEN (
        "V"."ATTRIBUTE" = 0
      ) THEN 5 ELSE 1 END
      WHEN NOT "H"."IS_LISTED" IS NULL
      THEN "H"."LEAVES_1"
      ELSE CASE
        WHEN (
          "V"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "V"."ATTRIBUTE" = 1
        )
        THEN 125
      END
    END AS BIGINT) AS "LEAVES_1",
    CASE
      WHEN "V"."VALUE" IS NULL
      THEN CASE WHEN (
        "V"."ATTRIBUTE" = 1
      ) THEN '*' END
      WHEN NOT "H"."IS_LISTED" IS NULL
      THEN "H"."LEVEL_2"
      ELSE NULL
    END AS "LEVEL_2",
    CAST(CASE
      WHEN "V"."VALUE" IS NULL
      THEN CASE WHEN (
        "V"."ATTRIBUTE" = 1
      ) THEN 125 ELSE 1 END
      WHEN NOT "H"."IS_LISTED" IS NULL
      THEN "H"."LEAVES_2"
      ELSE CASE
        WHEN (
          "V"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "V"."ATTRIBUTE" = 1
        )
        THEN 125
      END
    END AS BIGINT) AS "LEAVES_2",
    CASE WHEN "V"."VALUE" IS NULL OR NOT "H"."IS_LISTED" IS NULL THEN 1 ELSE 0 END AS "COVERED"
  FROM "SQLANON_0A1B2C3D_VALUES" AS "V"
  LEFT JOIN (
    SELECT
      "ATTRIBUTE",
      "LEVEL_0",
      "LEVEL_1",
      "LEVEL_2",
      COUNT(*) OVER (PARTITION BY "ATTRIBUTE", "LEVEL_0") AS "LEAVES_0",
      CASE
        WHEN (
          "ATTRIBUTE" = 0
        )
        THEN 5
        ELSE COUNT(*) OVER (PARTITION BY "ATTRIBUTE", "LEVEL_1")
      END AS "LEAVES_1",
      CASE
        WHEN (
          "ATTRIBUTE" = 1
        )
        THEN 125
        ELSE COUNT(*) OVER (PARTITION BY "ATTRIBUTE", "LEVEL_2")
      END AS "LEAVES_2",
      1 AS "IS_LISTED"
    FROM "SQLANON_0A1B2C3D_LISTED"
  ) AS "H"
    ON "V"."ATTRIBUTE" = "H"."ATTRIBUTE"
    AND "V"."VALUE" IS NOT DISTINCT FROM "H"."LEVEL_0"
) AS "JOINED";

-- 14. lookup
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_LOOKUP" AS
SELECT
  "ATTRIBUTE",
  "VALUE",
  "COVERED",
  "N",
  "LEVEL_0",
  "LEVEL_1",
  "LEVEL_2",
  "LEAVES_0",
  "LEAVES_1",
  "LEAVES_2",
  BITOR(
    CASE
      WHEN (
        "ATTRIBUTE" = 0 OR "ATTRIBUTE" = 1
      )
      THEN BITSHIFTLEFT(
        CAST("BRANCH_0" AS BIGINT),
        CASE WHEN (
          "ATTRIBUTE" = 0
        ) THEN 0 WHEN (
          "ATTRIBUTE" = 1
        ) THEN 3 ELSE 0 END
      )
      ELSE 0
    END,
    CASE
      WHEN (
        "ATTRIBUTE" = 1
      )
      THEN BITSHIFTLEFT(CAST("BRANCH_1" AS BIGINT), CASE WHEN (
        "ATTRIBUTE" = 1
      ) THEN 10 ELSE 0 END)
      ELSE 0
    END
  ) AS "KEY_0"
FROM "SQLANON_0A1B2C3D_BRANCHES"
WHERE
  "BRANCH_0" < CASE WHEN (
    "ATTRIBUTE" = 0
  ) THEN 8 WHEN (
    "ATTRIBUTE" = 1
  ) THEN 128 ELSE 1 END
  AND "BRANCH_1" < CASE WHEN (
    "ATTRIBUTE" = 0
  ) THEN 1 WHEN (
    "ATTRIBUTE" = 1
  ) THEN 2 ELSE 1 END
  AND "BRANCH_2" < CASE WHEN (
    "ATTRIBUTE" = 1
  ) THEN 1 ELSE 1 END;

-- 15. load masks
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_MASKS" (
  "ATTRIBUTE" BIGINT,
  "LEVEL" BIGINT,
  "DIGIT" VARCHAR,
  "MASK_0" BIGINT
);

-- 17. leaf
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_LEAF" AS
SELECT
  "M"."ATTRIBUTE",
  "M"."LEVEL",
  BITAND("L"."KEY_0", "M"."MASK_0") AS "KEY_0",
  CAST(CASE
    WHEN "M"."LEVEL" = 0
    THEN MAX(
      CASE
        WHEN (
          "M"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "M"."ATTRIBUTE" = 1
        )
        THEN 125
      END
    ) - MAX("L"."LEAVES_0")
    WHEN "M"."LEVEL" = 1
    THEN MAX(
      CASE
        WHEN (
          "M"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "M"."ATTRIBUTE" = 1
        )
        THEN 125
      END
    ) - MAX("L"."LEAVES_1")
    WHEN "M"."LEVEL" = 2
    THEN MAX(
      CASE
        WHEN (
          "M"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "M"."ATTRIBUTE" = 1
        )
        THEN 125
      END
    ) - MAX("L"."LEAVES_2")
  END AS BIGINT) AS "COST",
  CAST(MAX(
    CASE
      WHEN (
        "M"."ATTRIBUTE" = 0
      )
      THEN 5
      WHEN (
        "M"."ATTRIBUTE" = 1
      )
      THEN 125
    END
  ) - MAX("L"."LEAVES_0") AS BIGINT) AS "COST_0",
  CAST(CASE
    WHEN "M"."LEVEL" >= 1
    THEN MAX(
      CASE
        WHEN (
          "M"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "M"."ATTRIBUTE" = 1
        )
        THEN 125
      END
    ) - MAX("L"."LEAVES_1")
  END AS BIGINT) AS "COST_1",
  CAST(CASE
    WHEN "M"."LEVEL" >= 2
    THEN MAX(
      CASE
        WHEN (
          "M"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "M"."ATTRIBUTE" = 1
        )
        THEN 125
      END
    ) - MAX("L"."LEAVES_2")
  END AS BIGINT) AS "COST_2"
FROM "SQLANON_0A1B2C3D_LOOKUP" AS "L"
JOIN "SQLANON_0A1B2C3D_MASKS" AS "M"
  ON "L"."ATTRIBUTE" = "M"."ATTRIBUTE"
WHERE
  "L"."COVERED" = 1
GROUP BY
  "M"."ATTRIBUTE",
  "M"."LEVEL",
  BITAND("L"."KEY_0", "M"."MASK_0");

-- 18. base
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_BASE" AS
SELECT
  BITOR("SQLANON_LOOKUP_0"."KEY_0", "SQLANON_LOOKUP_1"."KEY_0") AS "KEY_0",
  CAST(COUNT(*) AS BIGINT) AS "N"
FROM "PEOPLE" AS "SOURCE"
LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_0"
  ON "SQLANON_LOOKUP_0"."ATTRIBUTE" = 0
  AND CAST("SOURCE"."CITY" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_0"."VALUE"
LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_1"
  ON "SQLANON_LOOKUP_1"."ATTRIBUTE" = 1
  AND CAST("SOURCE"."SEEN" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_1"."VALUE"
WHERE
  (
    BITAND(
      COALESCE("SQLANON_LOOKUP_0"."COVERED", 0),
      COALESCE("SQLANON_LOOKUP_1"."COVERED", 0)
    )
  ) <> 0
  AND TRUE
GROUP BY
  BITOR("SQLANON_LOOKUP_0"."KEY_0", "SQLANON_LOOKUP_1"."KEY_0");

-- 19. records of the source, and those that take part
SELECT
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS BIGINT) AS "RECORDS",
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS BIGINT) AS "INCLUDED"
FROM "PEOPLE";

-- 20. records that were encoded
SELECT
  CAST(COALESCE(SUM("N"), 0) AS BIGINT) AS "ENCODED"
FROM "SQLANON_0A1B2C3D_BASE";

-- 21. the verdicts of some nodes (0: city=0, seen=1; 1: city=1, seen=1; 2: city=0, seen=0; 3: city=0, seen=2)
WITH "NODES" AS (
  SELECT
    CAST(0 AS BIGINT) AS "NODE",
    CAST(0 AS BIGINT) AS "ARM",
    CAST(1031 AS BIGINT) AS "MASK_0",
    '01' AS "LEVELS"
  UNION ALL
  SELECT
    CAST(1 AS BIGINT) AS "NODE",
    CAST(0 AS BIGINT) AS "ARM",
    CAST(1024 AS BIGINT) AS "MASK_0",
    '11' AS "LEVELS"
  UNION ALL
  SELECT
    CAST(2 AS BIGINT) AS "NODE",
    CAST(0 AS BIGINT) AS "ARM",
    CAST(2047 AS BIGINT) AS "MASK_0",
    '00' AS "LEVELS"
  UNION ALL
  SELECT
    CAST(3 AS BIGINT) AS "NODE",
    CAST(0 AS BIGINT) AS "ARM",
    CAST(7 AS BIGINT) AS "MASK_0",
    '02' AS "LEVELS"
), "CLASSES" AS (
  SELECT
    "NODES"."NODE",
    BITAND("GRAIN"."KEY_0", "NODES"."MASK_0") AS "KEY_0",
    CAST(COALESCE(SUM("GRAIN"."N"), 0) AS BIGINT) AS "N"
  FROM "SQLANON_0A1B2C3D_BASE" AS "GRAIN"
  CROSS JOIN "NODES"
  WHERE
    "NODES"."ARM" = 0
  GROUP BY
    "NODES"."NODE",
    BITAND("GRAIN"."KEY_0", "NODES"."MASK_0")
), "JUDGED" AS (
  SELECT
    "CLASSES"."NODE",
    "CLASSES"."KEY_0",
    "CLASSES"."N",
    CASE WHEN "CLASSES"."N" < 4 THEN 1 ELSE 0 END AS "FAILS",
    CASE WHEN "CLASSES"."N" < 4 THEN 1 ELSE 0 END AS "FAILS_0"
  FROM "CLASSES"
), "TOTALS" AS (
  SELECT
    "NODE",
    CAST(-1 AS BIGINT) AS "ATTRIBUTE",
    CAST(COUNT(*) AS BIGINT) AS "GRAIN",
    CAST(SUM(CASE WHEN "N" > 0 AND "FAILS" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "CLASSES",
    CAST(SUM(CASE WHEN "N" > 0 AND "FAILS" = 1 THEN "N" ELSE 0 END) AS BIGINT) AS "SUPPRESSED",
    MIN(CASE WHEN "N" > 0 AND "FAILS" = 0 THEN "N" END) AS "SMALLEST",
    MAX(CASE WHEN "N" > 0 AND "FAILS" = 0 THEN "N" END) AS "LARGEST",
    CAST(COALESCE(SUM(CASE WHEN "FAILS_0" = 1 THEN "N" ELSE 0 END), 0) AS BIGINT) AS "MODEL_0",
    CAST(NULL AS BIGINT) AS "MIN_COST_0",
    CAST(NULL AS BIGINT) AS "MIN_COST_1",
    CAST(NULL AS BIGINT) AS "MIN_COST_2"
  FROM "JUDGED"
  GROUP BY
    "NODE"
), "LEVELS" AS (
  SELECT
    "NODES"."NODE",
    "MASKS"."ATTRIBUTE",
    "MASKS"."LEVEL",
    "MASKS"."MASK_0"
  FROM "NODES"
  JOIN "SQLANON_0A1B2C3D_MASKS" AS "MASKS"
    ON SUBSTRING("NODES"."LEVELS", "MASKS"."ATTRIBUTE" + 1, 1) = "MASKS"."DIGIT"
), "FAILING" AS (
  SELECT
    "LEVELS"."NODE",
    "LEVELS"."ATTRIBUTE",
    "LEVELS"."LEVEL",
    BITAND("JUDGED"."KEY_0", "LEVELS"."MASK_0") AS "KEY_0",
    CAST(SUM("JUDGED"."N") AS BIGINT) AS "N"
  FROM "JUDGED"
  JOIN "LEVELS"
    ON "JUDGED"."NODE" = "LEVELS"."NODE"
  WHERE
    "JUDGED"."FAILS" = 1
  GROUP BY
    "LEVELS"."NODE",
    "LEVELS"."ATTRIBUTE",
    "LEVELS"."LEVEL",
    BITAND("JUDGED"."KEY_0", "LEVELS"."MASK_0")
)
SELECT
  *
FROM "TOTALS"
UNION ALL
SELECT
  "FAILING"."NODE",
  "FAILING"."ATTRIBUTE",
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(COALESCE(SUM("FAILING"."N" * "LEAF"."COST_0"), 0) AS BIGINT) AS "MIN_COST_0",
  CAST(COALESCE(SUM("FAILING"."N" * "LEAF"."COST_1"), 0) AS BIGINT) AS "MIN_COST_1",
  CAST(COALESCE(SUM("FAILING"."N" * "LEAF"."COST_2"), 0) AS BIGINT) AS "MIN_COST_2"
FROM "FAILING"
JOIN "SQLANON_0A1B2C3D_LEAF" AS "LEAF"
  ON "FAILING"."ATTRIBUTE" = "LEAF"."ATTRIBUTE"
  AND "FAILING"."LEVEL" = "LEAF"."LEVEL"
  AND (
    "FAILING"."KEY_0" = "LEAF"."KEY_0"
  )
GROUP BY
  "FAILING"."NODE",
  "FAILING"."ATTRIBUTE";

-- 22. the release
CREATE TABLE "SQLANON_0A1B2C3D_RELEASE" AS
SELECT
  "CITY",
  "SEEN"
FROM (
  SELECT
    "CITY" AS "CITY",
    "SEEN" AS "SEEN"
  FROM (
    WITH "RECORDS" AS (
      SELECT
        CAST("SQLANON_LOOKUP_0"."LEVEL_0" AS VARCHAR) AS "COLUMN_0",
        CAST("SQLANON_LOOKUP_1"."LEVEL_1" AS VARCHAR) AS "COLUMN_1",
        BITAND(BITOR("SQLANON_LOOKUP_0"."KEY_0", "SQLANON_LOOKUP_1"."KEY_0"), 1031) AS "KEY_0"
      FROM "PEOPLE" AS "SOURCE"
      LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_0"
        ON "SQLANON_LOOKUP_0"."ATTRIBUTE" = 0
        AND CAST("SOURCE"."CITY" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_0"."VALUE"
      LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_1"
        ON "SQLANON_LOOKUP_1"."ATTRIBUTE" = 1
        AND CAST("SOURCE"."SEEN" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_1"."VALUE"
      WHERE
        (
          BITAND(
            COALESCE("SQLANON_LOOKUP_0"."COVERED", 0),
            COALESCE("SQLANON_LOOKUP_1"."COVERED", 0)
          )
        ) <> 0
        AND TRUE
    ), "CLASSES" AS (
      SELECT
        CAST(0 AS BIGINT) AS "NODE",
        BITAND("KEY_0", CAST(1031 AS BIGINT)) AS "KEY_0",
        CAST(COALESCE(SUM("N"), 0) AS BIGINT) AS "N"
      FROM "SQLANON_0A1B2C3D_BASE"
      GROUP BY
        2
    ), "JUDGED" AS (
      SELECT
        "CLASSES"."NODE",
        "CLASSES"."KEY_0",
        "CLASSES"."N",
        CASE WHEN "CLASSES"."N" < 4 THEN 1 ELSE 0 END AS "FAILS",
        CASE WHEN "CLASSES"."N" < 4 THEN 1 ELSE 0 END AS "FAILS_0"
      FROM "CLASSES"
    ), "PASSING" AS (
      SELECT
        "KEY_0"
      FROM "JUDGED"
      WHERE
        "FAILS" = 0 AND "N" > 0
    )
    SELECT
      "RECORDS"."COLUMN_0" AS "CITY",
      "RECORDS"."COLUMN_1" AS "SEEN"
    FROM "RECORDS"
    JOIN "PASSING"
      ON "RECORDS"."KEY_0" = "PASSING"."KEY_0"
  ) AS "PUBLISHED"
) AS "RELEASED"
ORDER BY
  RANDOM();

-- 23. audit row_count: no row, if the table is the one that was planned on
SELECT
  COUNT(*) AS "ROWS_FOUND"
FROM "SQLANON_0A1B2C3D_RELEASE" AS "RELEASE"
HAVING
  COUNT(*) <> 240;

-- 24. audit small_classes: it stops the script if it finds a row
SELECT
  1 / CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END AS "STOPPED"
FROM (
SELECT
  COUNT(*) AS "RECORDS"
FROM "SQLANON_0A1B2C3D_RELEASE" AS "RELEASE"
GROUP BY
  "RELEASE"."CITY",
  "RELEASE"."SEEN"
HAVING
  COUNT(*) BETWEEN 1 AND 4 - 1
) AS "OFFENDING";

-- 25. audit untranslated_values of city: it stops the script if it finds a row
SELECT
  1 / CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END AS "STOPPED"
FROM (
SELECT
  "RELEASED"."SQLANON_RECORDS" AS "RECORDS"
FROM (
  SELECT
    CAST("CITY" AS VARCHAR) AS "SQLANON_VALUE",
    COUNT(*) AS "SQLANON_RECORDS"
  FROM "SQLANON_0A1B2C3D_RELEASE" AS "RELEASE"
  GROUP BY
    CAST("CITY" AS VARCHAR)
) AS "RELEASED"
LEFT JOIN (
  SELECT DISTINCT
    CAST(CAST("LOOKUP"."VALUE" AS VARCHAR) AS VARCHAR) AS "VALUE",
    1 AS "LISTED"
  FROM (
    SELECT DISTINCT
      "LEVEL_0" AS "VALUE"
    FROM (
      SELECT
        *
      FROM "SQLANON_0A1B2C3D_LOOKUP"
      WHERE
        "ATTRIBUTE" = 0
    ) AS "SQLANON_LOOKUP_0"
  ) AS "LOOKUP"
) AS "TEXTS"
  ON "TEXTS"."VALUE" IS NOT DISTINCT FROM "RELEASED"."SQLANON_VALUE"
WHERE
  "TEXTS"."LISTED" IS NULL
) AS "OFFENDING";


-- sqlanon: the SQL of a policy for Trino.
-- For the operator: it holds the texts of hierarchies; it does not travel with the release.
-- The widths of the codes were measured on the 240 records of people: 0 of them excluded for a NULL, 0 with a value that no hierarchy lists.
-- Distinct values by column, and by level of the quasi-identifiers: city 5 > 1; seen 125 > 2 > 1.
-- Quasi-identifying values of the table that no hierarchy lists, or that these widths have no room for, have no row in a lookup, and the JOIN suppresses their records; a sensitive value without a row counts for no class, but for the audits it does.
-- The audits at the end say whether sqlanon_0a1b2c3d_release meets the policy: the table may hold other records than those above. An audit that finds rows fails, which ends the script in most clients (see that yours does).
-- Run it in a scratch schema without default grants. When all audits have passed, rename the release and move it to its readers.
-- The names of its tables belong to this script alone. To run it twice at the same time, write a second script.
-- Costs: 4 statements read the table, the others its distinct combinations. A record has about 13 bytes in the columns that are read (as text, uncompressed), so that a table of 240 records costs about 0.1 MB at most; the cost grows with the records.
-- Trino has no temporary tables: those of the script are ordinary ones of the current schema, dropped at the end, and the connector must be able to write. They hold values of the source, and stay where an audit ends the script: run the statements that drop them.
-- Trino folds names to small letters, quoted ones too.
-- The rows of the release are shuffled in random parts: Trino leaves out the ORDER BY of a CREATE TABLE.

-- 1. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_0a1b2c3d_values";

-- 9. distinct values
CREATE TABLE "sqlanon_0a1b2c3d_values" AS
SELECT
  CAST(0 AS BIGINT) AS "attribute",
  CAST("city" AS VARCHAR) AS "value",
  CAST(COUNT(*) AS BIGINT) AS "n",
  CAST(NULL AS DATE) AS "raw_1"
FROM "people"
GROUP BY
  CAST("city" AS VARCHAR)
UNION ALL
SELECT
  CAST(1 AS BIGINT) AS "attribute",
  CAST("seen" AS VARCHAR) AS "value",
  CAST(COUNT(*) AS BIGINT) AS "n",
  MIN("seen") AS "raw_1"
FROM "people"
GROUP BY
  CAST("seen" AS VARCHAR);

-- 10. load hierarchies
CREATE TABLE "sqlanon_0a1b2c3d_listed" (
  "attribute" BIGINT,
  "level_0" VARCHAR,
  "level_1" VARCHAR,
  "level_2" VARCHAR,
  "place" BIGINT
);

-- 12. build hierarchies
INSERT INTO "sqlanon_0a1b2c3d_listed"
SELECT
  CAST(1 AS BIGINT) AS "attribute",
  "value" AS "level_0",
  CASE
    WHEN "raw_1" IS NULL
    THEN NULL
    ELSE CASE
      WHEN TRUE
      THEN CONCAT(
        CAST(CAST(CAST(FLOOR(CAST(YEAR("raw_1") AS DOUBLE) / CAST(10 AS DOUBLE)) AS BIGINT) * 10 AS VARCHAR) AS VARCHAR),
        CAST('s' AS VARCHAR)
      )
      ELSE CAST("raw_1" AS VARCHAR)
    END
  END AS "level_1",
  CASE WHEN "raw_1" IS NULL THEN NULL ELSE '*' END AS "level_2",
  CAST(NULL AS BIGINT) AS "place"
FROM "sqlanon_0a1b2c3d_values"
WHERE
  "attribute" = 1 AND NOT "value" IS NULL;

-- 13. branches
CREATE TABLE "sqlanon_0a1b2c3d_branches" AS
SELECT
  *,
  DENSE_RANK() OVER (PARTITION BY "attribute", "covered", "level_1" ORDER BY "level_0") - 1 AS "branch_0",
  DENSE_RANK() OVER (PARTITION BY "attribute", "covered", "level_2" ORDER BY "level_1") - 1 AS "branch_1",
  DENSE_RANK() OVER (PARTITION BY "attribute", "covered" ORDER BY "level_2") - 1 AS "branch_2"
FROM (
  SELECT
    "v"."attribute",
    "v"."value",
    "v"."n",
    CASE
      WHEN "v"."value" IS NULL
      THEN NULL
      WHEN NOT "h"."is_listed" IS NULL
      THEN "h"."level_0"
      ELSE NULL
    END AS "level_0",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN 1
      WHEN NOT "h"."is_listed" IS NULL
      THEN "h"."leaves_0"
      ELSE CASE
        WHEN (
          "v"."attribute" = 0
        )
        THEN 5
        WHEN (
          "v"."attribute" = 1
        )
        THEN 125
      END
    END AS BIGINT) AS "leaves_0",
    CASE
      WHEN "v"."value" IS NULL
      THEN CASE WHEN (
        "v"."attribute" = 0
      ) THEN '*' END
      WHEN NOT "h"."is_listed" IS NULL
      THEN "h"."level_1"
      ELSE NULL
    END AS "level_1",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN CASE WHEN (
        "v"."attribute" = 0
      ) THEN 5 ELSE 1 END
      WHEN NOT "h"."is_listed" IS NULL
      THEN "h"."leaves_1"
      ELSE CASE
        WHEN (
          "v"."attribute" = 0
        )
        THEN 5
        WHEN (
          "v"."attribute" = 1
        )
        THEN 125
      END
    END AS BIGINT) AS "leaves_1",
    CASE
      WHEN "v"."value" IS NULL
      THEN CASE WHEN (
        "v"."attribute" = 1
      ) THEN '*' END
      WHEN NOT "h"."is_listed" IS NULL
      THEN "h"."level_2"
      ELSE NULL
    END AS "level_2",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN CASE WHEN (
        "v"."attribute" = 1
      ) THEN 125 ELSE 1 END
      WHEN NOT "h"."is_listed" IS NULL
      THEN "h"."leaves_2"
      ELSE CASE
        WHEN (
          "v"."attribute" = 0
        )
        THEN 5
        WHEN (
          "v"."attribute" = 1
        )
        THEN 125
      END
    END AS BIGINT) AS "leaves_2",
    CASE WHEN "v"."value" IS NULL OR NOT "h"."is_listed" IS NULL THEN 1 ELSE 0 END AS "covered"
  FROM "sqlanon_0a1b2c3d_values" AS "v"
  LEFT JOIN (
    SELECT
      "attribute",
      "level_0",
      "level_1",
      "level_2",
      COUNT(*) OVER (PARTITION BY "attribute", "level_0") AS "leaves_0",
      CASE
        WHEN (
          "attribute" = 0
        )
        THEN 5
        ELSE COUNT(*) OVER (PARTITION BY "attribute", "level_1")
      END AS "leaves_1",
      CASE
        WHEN (
          "attribute" = 1
        )
        THEN 125
        ELSE COUNT(*) OVER (PARTITION BY "attribute", "level_2")
      END AS "leaves_2",
      1 AS "is_listed"
    FROM "sqlanon_0a1b2c3d_listed"
  ) AS "h"
    ON "v"."attribute" = "h"."attribute"
    AND (
      COALESCE("v"."value", '') = COALESCE("h"."level_0", '')
      AND (
        "v"."value" IS NULL
      ) = (
        "h"."level_0" IS NULL
      )
    )
) AS "joined";

-- 14. lookup
CREATE TABLE "sqlanon_0a1b2c3d_lookup" AS
SELECT
  "attribute",
  "value",
  "covered",
  "n",
  "level_0",
  "level_1",
  "level_2",
  "leaves_0",
  "leaves_1",
  "leaves_2",
  BITWISE_OR(
    CASE
      WHEN (
        "attribute" = 0 OR "attribute" = 1
      )
      THEN BITWISE_LEFT_SHIFT(
        CAST("branch_0" AS BIGINT),
        CASE WHEN (
          "attribute" = 0
        ) THEN 0 WHEN (
          "attribute" = 1
        ) THEN 3 ELSE 0 END
      )
      ELSE 0
    END,
    CASE
      WHEN (
        "attribute" = 1
      )
      THEN BITWISE_LEFT_SHIFT(CAST("branch_1" AS BIGINT), CASE WHEN (
        "attribute" = 1
      ) THEN 10 ELSE 0 END)
      ELSE 0
    END
  ) AS "key_0"
FROM "sqlanon_0a1b2c3d_branches"
WHERE
  "branch_0" < CASE WHEN (
    "attribute" = 0
  ) THEN 8 WHEN (
    "attribute" = 1
  ) THEN 128 ELSE 1 END
  AND "branch_1" < CASE WHEN (
    "attribute" = 0
  ) THEN 1 WHEN (
    "attribute" = 1
  ) THEN 2 ELSE 1 END
  AND "branch_2" < CASE WHEN (
    "attribute" = 1
  ) THEN 1 ELSE 1 END;

-- 15. load masks
CREATE TABLE "sqlanon_0a1b2c3d_masks" (
  "attribute" BIGINT,
  "level" BIGINT,
  "digit" VARCHAR,
  "mask_0" BIGINT
);

-- 17. leaf
CREATE TABLE "sqlanon_0a1b2c3d_leaf" AS
SELECT
  "m"."attribute",
  "m"."level",
  BITWISE_AND("l"."key_0", "m"."mask_0") AS "key_0",
  CAST(CASE
    WHEN "m"."level" = 0
    THEN MAX(
      CASE
        WHEN (
          "m"."attribute" = 0
        )
        THEN 5
        WHEN (
          "m"."attribute" = 1
        )
        THEN 125
      END
    ) - MAX("l"."leaves_0")
    WHEN "m"."level" = 1
    THEN MAX(
      CASE
        WHEN (
          "m"."attribute" = 0
        )
        THEN 5
        WHEN (
          "m"."attribute" = 1
        )
        THEN 125
      END
    ) - MAX("l"."leaves_1")
    WHEN "m"."level" = 2
    THEN MAX(
      CASE
        WHEN (
          "m"."attribute" = 0
        )
        THEN 5
        WHEN (
          "m"."attribute" = 1
        )
        THEN 125
      END
    ) - MAX("l"."leaves_2")
  END AS BIGINT) AS "cost",
  CAST(MAX(
    CASE
      WHEN (
        "m"."attribute" = 0
      )
      THEN 5
      WHEN (
        "m"."attribute" = 1
      )
      THEN 125
    END
  ) - MAX("l"."leaves_0") AS BIGINT) AS "cost_0",
  CAST(CASE
    WHEN "m"."level" >= 1
    THEN MAX(
      CASE
        WHEN (
          "m"."attribute" = 0
        )
        THEN 5
        WHEN (
          "m"."attribute" = 1
        )
        THEN 125
      END
    ) - MAX("l"."leaves_1")
  END AS BIGINT) AS "cost_1",
  CAST(CASE
    WHEN "m"."level" >= 2
    THEN MAX(
      CASE
        WHEN (
          "m"."attribute" = 0
        )
        THEN 5
        WHEN (
          "m"."attribute" = 1
        )
        THEN 125
      END
    ) - MAX("l"."leaves_2")
  END AS BIGINT) AS "cost_2"
FROM "sqlanon_0a1b2c3d_lookup" AS "l"
JOIN "sqlanon_0a1b2c3d_masks" AS "m"
  ON "l"."attribute" = "m"."attribute"
WHERE
  "l"."covered" = 1
GROUP BY
  "m"."attribute",
  "m"."level",
  BITWISE_AND("l"."key_0", "m"."mask_0");

-- 18. base
CREATE TABLE "sqlanon_0a1b2c3d_base" AS
SELECT
  BITWISE_OR("sqlanon_lookup_0"."key_0", "sqlanon_lookup_1"."key_0") AS "key_0",
  CAST(COUNT(*) AS BIGINT) AS "n"
FROM "people" AS "source"
LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_0"
  ON "sqlanon_lookup_0"."attribute" = 0
  AND (
    COALESCE(CAST("source"."city" AS VARCHAR), '') = COALESCE("sqlanon_lookup_0"."value", '')
    AND (
      CAST("source"."city" AS VARCHAR) IS NULL
    ) = (
      "sqlanon_lookup_0"."value" IS NULL
    )
  )
LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_1"
  ON "sqlanon_lookup_1"."attribute" = 1
  AND (
    COALESCE(CAST("source"."seen" AS VARCHAR), '') = COALESCE("sqlanon_lookup_1"."value", '')
    AND (
      CAST("source"."seen" AS VARCHAR) IS NULL
    ) = (
      "sqlanon_lookup_1"."value" IS NULL
    )
  )
WHERE
  (
    BITWISE_AND(
      COALESCE("sqlanon_lookup_0"."covered", 0),
      COALESCE("sqlanon_lookup_1"."covered", 0)
    )
  ) <> 0
  AND TRUE
GROUP BY
  BITWISE_OR("sqlanon_lookup_0"."key_0", "sqlanon_lookup_1"."key_0");

-- 19. records of the source, and those that take part
SELECT
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS BIGINT) AS "records",
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS BIGINT) AS "included"
FROM "people";

-- 20. records that were encoded
SELECT
  CAST(COALESCE(SUM("n"), 0) AS BIGINT) AS "encoded"
FROM "sqlanon_0a1b2c3d_base";

-- 21. the verdicts of some nodes (0: city=0, seen=1; 1: city=1, seen=1; 2: city=0, seen=0; 3: city=0, seen=2)
WITH "nodes" AS (
  SELECT
    CAST(0 AS BIGINT) AS "node",
    CAST(0 AS BIGINT) AS "arm",
    CAST(1031 AS BIGINT) AS "mask_0",
    '01' AS "levels"
  UNION ALL
  SELECT
    CAST(1 AS BIGINT) AS "node",
    CAST(0 AS BIGINT) AS "arm",
    CAST(1024 AS BIGINT) AS "mask_0",
    '11' AS "levels"
  UNION ALL
  SELECT
    CAST(2 AS BIGINT) AS "node",
    CAST(0 AS BIGINT) AS "arm",
    CAST(2047 AS BIGINT) AS "mask_0",
    '00' AS "levels"
  UNION ALL
  SELECT
    CAST(3 AS BIGINT) AS "node",
    CAST(0 AS BIGINT) AS "arm",
    CAST(7 AS BIGINT) AS "mask_0",
    '02' AS "levels"
), "classes" AS (
  SELECT
    "nodes"."node",
    BITWISE_AND("grain"."key_0", "nodes"."mask_0") AS "key_0",
    CAST(COALESCE(SUM("grain"."n"), 0) AS BIGINT) AS "n"
  FROM "sqlanon_0a1b2c3d_base" AS "grain"
  CROSS JOIN "nodes"
  WHERE
    "nodes"."arm" = 0
  GROUP BY
    "nodes"."node",
    BITWISE_AND("grain"."key_0", "nodes"."mask_0")
), "judged" AS (
  SELECT
    "classes"."node",
    "classes"."key_0",
    "classes"."n",
    CASE WHEN "classes"."n" < 4 THEN 1 ELSE 0 END AS "fails",
    CASE WHEN "classes"."n" < 4 THEN 1 ELSE 0 END AS "fails_0"
  FROM "classes"
), "totals" AS (
  SELECT
    "node",
    CAST(-1 AS BIGINT) AS "attribute",
    CAST(COUNT(*) AS BIGINT) AS "grain",
    CAST(SUM(CASE WHEN "n" > 0 AND "fails" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "classes",
    CAST(SUM(CASE WHEN "n" > 0 AND "fails" = 1 THEN "n" ELSE 0 END) AS BIGINT) AS "suppressed",
    MIN(CASE WHEN "n" > 0 AND "fails" = 0 THEN "n" END) AS "smallest",
    MAX(CASE WHEN "n" > 0 AND "fails" = 0 THEN "n" END) AS "largest",
    CAST(COALESCE(SUM(CASE WHEN "fails_0" = 1 THEN "n" ELSE 0 END), 0) AS BIGINT) AS "model_0",
    CAST(NULL AS BIGINT) AS "min_cost_0",
    CAST(NULL AS BIGINT) AS "min_cost_1",
    CAST(NULL AS BIGINT) AS "min_cost_2"
  FROM "judged"
  GROUP BY
    "node"
), "levels" AS (
  SELECT
    "nodes"."node",
    "masks"."attribute",
    "masks"."level",
    "masks"."mask_0"
  FROM "nodes"
  JOIN "sqlanon_0a1b2c3d_masks" AS "masks"
    ON SUBSTR("nodes"."levels", "masks"."attribute" + 1, 1) = "masks"."digit"
), "failing" AS (
  SELECT
    "levels"."node",
    "levels"."attribute",
    "levels"."level",
    BITWISE_AND("judged"."key_0", "levels"."mask_0") AS "key_0",
    CAST(SUM("judged"."n") AS BIGINT) AS "n"
  FROM "judged"
  JOIN "levels"
    ON "judged"."node" = "levels"."node"
  WHERE
    "judged"."fails" = 1
  GROUP BY
    "levels"."node",
    "levels"."attribute",
    "levels"."level",
    BITWISE_AND("judged"."key_0", "levels"."mask_0")
)
SELECT
  *
FROM "totals"
UNION ALL
SELECT
  "failing"."node",
  "failing"."attribute",
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(COALESCE(SUM("failing"."n" * "leaf"."cost_0"), 0) AS BIGINT) AS "min_cost_0",
  CAST(COALESCE(SUM("failing"."n" * "leaf"."cost_1"), 0) AS BIGINT) AS "min_cost_1",
  CAST(COALESCE(SUM("failing"."n" * "leaf"."cost_2"), 0) AS BIGINT) AS "min_cost_2"
FROM "failing"
JOIN "sqlanon_0a1b2c3d_leaf" AS "leaf"
  ON "failing"."attribute" = "leaf"."attribute"
  AND "failing"."level" = "leaf"."level"
  AND (
    "failing"."key_0" = "leaf"."key_0"
  )
GROUP BY
  "failing"."node",
  "failing"."attribute";

-- 22. the release
CREATE TABLE "sqlanon_0a1b2c3d_release" AS
SELECT
  "city",
  "seen"
FROM (
  SELECT
    "city",
    "seen",
    ROW_NUMBER() OVER (PARTITION BY "sqlanon_part" ORDER BY "sqlanon_drawn") AS "sqlanon_place"
  FROM (
    SELECT
      "city",
      "seen",
      CAST(FLOOR(RAND() * 4096) AS BIGINT) AS "sqlanon_part",
      RAND() AS "sqlanon_drawn"
    FROM (
      SELECT
        "city",
        "seen"
      FROM (
        SELECT
          "city" AS "city",
          "seen" AS "seen"
        FROM (
          WITH "records" AS (
            SELECT
              CAST("sqlanon_lookup_0"."level_0" AS VARCHAR) AS "column_0",
              CAST("sqlanon_lookup_1"."level_1" AS VARCHAR) AS "column_1",
              BITWISE_AND(BITWISE_OR("sqlanon_lookup_0"."key_0", "sqlanon_lookup_1"."key_0"), 1031) AS "key_0"
            FROM "people" AS "source"
            LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_0"
              ON "sqlanon_lookup_0"."attribute" = 0
              AND (
                COALESCE(CAST("source"."city" AS VARCHAR), '') = COALESCE("sqlanon_lookup_0"."value", '')
                AND (
                  CAST("source"."city" AS VARCHAR) IS NULL
                ) = (
                  "sqlanon_lookup_0"."value" IS NULL
                )
              )
            LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_1"
              ON "sqlanon_lookup_1"."attribute" = 1
              AND (
                COALESCE(CAST("source"."seen" AS VARCHAR), '') = COALESCE("sqlanon_lookup_1"."value", '')
                AND (
                  CAST("source"."seen" AS VARCHAR) IS NULL
                ) = (
                  "sqlanon_lookup_1"."value" IS NULL
                )
              )
            WHERE
              (
                BITWISE_AND(
                  COALESCE("sqlanon_lookup_0"."covered", 0),
                  COALESCE("sqlanon_lookup_1"."covered", 0)
                )
              ) <> 0
              AND TRUE
          ), "classes" AS (
            SELECT
              CAST(0 AS BIGINT) AS "node",
              BITWISE_AND("key_0", CAST(1031 AS BIGINT)) AS "key_0",
              CAST(COALESCE(SUM("n"), 0) AS BIGINT) AS "n"
            FROM "sqlanon_0a1b2c3d_base"
            GROUP BY
              2
          ), "judged" AS (
            SELECT
              "classes"."node",
              "classes"."key_0",
              "classes"."n",
              CASE WHEN "classes"."n" < 4 THEN 1 ELSE 0 END AS "fails",
              CASE WHEN "classes"."n" < 4 THEN 1 ELSE 0 END AS "fails_0"
            FROM "classes"
          ), "passing" AS (
            SELECT
              "key_0"
            FROM "judged"
            WHERE
              "fails" = 0 AND "n" > 0
          )
          SELECT
            "records"."column_0" AS "city",
            "records"."column_1" AS "seen"
          FROM "records"
          JOIN "passing"
            ON "records"."key_0" = "passing"."key_0"
        ) AS "published"
      ) AS "released"
    ) AS "rows"
  ) AS "drawn"
) AS "placed"
WHERE
  "sqlanon_place" > 0;

-- 23. audit row_count: no row, if the table is the one that was planned on
SELECT
  COUNT(*) AS "rows_found"
FROM "sqlanon_0a1b2c3d_release" AS "release"
HAVING
  COUNT(*) <> 240;

-- 24. audit small_classes: it stops the script if it finds a row
SELECT
  CASE WHEN COUNT(*) = 0 THEN 0 ELSE fail('sqlanon: an audit found rows; do not publish this release') END AS "stopped"
FROM (
SELECT
  COUNT(*) AS "records"
FROM "sqlanon_0a1b2c3d_release" AS "release"
GROUP BY
  "release"."city",
  "release"."seen"
HAVING
  COUNT(*) BETWEEN 1 AND 4 - 1
) AS "offending";

-- 25. audit untranslated_values of city: it stops the script if it finds a row
SELECT
  CASE WHEN COUNT(*) = 0 THEN 0 ELSE fail('sqlanon: an audit found rows; do not publish this release') END AS "stopped"
FROM (
SELECT
  "released"."sqlanon_records" AS "records"
FROM (
  SELECT
    CAST("city" AS VARCHAR) AS "sqlanon_value",
    COUNT(*) AS "sqlanon_records"
  FROM "sqlanon_0a1b2c3d_release" AS "release"
  GROUP BY
    CAST("city" AS VARCHAR)
) AS "released"
LEFT JOIN (
  SELECT DISTINCT
    CAST(CAST("lookup"."value" AS VARCHAR) AS VARCHAR) AS "value",
    1 AS "listed"
  FROM (
    SELECT DISTINCT
      "level_0" AS "value"
    FROM (
      SELECT
        *
      FROM "sqlanon_0a1b2c3d_lookup"
      WHERE
        "attribute" = 0
    ) AS "sqlanon_lookup_0"
  ) AS "lookup"
) AS "texts"
  ON (
    COALESCE("texts"."value", '') = COALESCE("released"."sqlanon_value", '')
    AND (
      "texts"."value" IS NULL
    ) = (
      "released"."sqlanon_value" IS NULL
    )
  )
WHERE
  "texts"."listed" IS NULL
) AS "offending";

-- 27. drop
DROP TABLE IF EXISTS "sqlanon_0a1b2c3d_values";


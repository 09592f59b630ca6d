-- sqlanon: the SQL of a policy for Snowflake.
-- For the operator: it holds the texts of hierarchies; it does not travel with the release.
-- The widths of the codes were measured on the 240 records of people: 0 of them excluded for a NULL, 0 with a value that no hierarchy lists.
-- Distinct values by column, and by level of the quasi-identifiers: city 5 > 3 > 1; age 47 > 7 > 5 > 1; seen 125 > 6 > 4 > 2 > 1; zip 3 > 3 > 1 > 1; order 3 > 2 > 1; disease 4.
-- Quasi-identifying values of the table that no hierarchy lists, or that these widths have no room for, have no row in a lookup, and the JOIN suppresses their records; a sensitive value without a row counts for no class, but for the audits it does.
-- The audits at the end say whether sqlanon_0a1b2c3d_release meets the policy: the table may hold other records than those above. An audit that finds rows fails, which ends the script in most clients (see that yours does).
-- Run it in a scratch schema without default grants. When all audits have passed, rename the release and move it to its readers.
-- The names of its tables belong to this script alone. To run it twice at the same time, write a second script.
-- Costs: 5 statements read the table, the others its distinct combinations. A record has about 27 bytes in the columns that are read (as text, uncompressed), so that a table of 240 records costs about 0.1 MB at most; the cost grows with the records.
-- Names of small letters, digits and underscores are written in capitals, as Snowflake stores what is not quoted; others as the policy writes them.
-- A date must read YYYY-MM-DD as text (DATE_OUTPUT_FORMAT, its default).

-- 1. drop what is left of an earlier run
DROP TABLE IF EXISTS "SQLANON_0A1B2C3D_VALUES";

-- 2. drop what is left of an earlier run
DROP TABLE IF EXISTS "SQLANON_0A1B2C3D_LISTED";

-- 3. drop what is left of an earlier run
DROP TABLE IF EXISTS "SQLANON_0A1B2C3D_BRANCHES";

-- 4. drop what is left of an earlier run
DROP TABLE IF EXISTS "SQLANON_0A1B2C3D_LOOKUP";

-- 5. drop what is left of an earlier run
DROP TABLE IF EXISTS "SQLANON_0A1B2C3D_OVERALL_0";

-- 6. drop what is left of an earlier run
DROP TABLE IF EXISTS "SQLANON_0A1B2C3D_MASKS";

-- 7. drop what is left of an earlier run
DROP TABLE IF EXISTS "SQLANON_0A1B2C3D_LEAF";

-- 8. drop what is left of an earlier run
DROP TABLE IF EXISTS "SQLANON_0A1B2C3D_BASE";

-- 9. drop what is left of an earlier run
DROP TABLE IF EXISTS "SQLANON_0A1B2C3D_RELEASE";

-- 10. distinct values
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_VALUES" AS
SELECT
  CAST(0 AS BIGINT) AS "ATTRIBUTE",
  CAST("CITY" AS VARCHAR) AS "VALUE",
  CAST(COUNT(*) AS BIGINT) AS "N",
  CAST(NULL AS INT) AS "RAW_1",
  CAST(NULL AS DATE) AS "RAW_2"
FROM "PEOPLE"
GROUP BY
  CAST("CITY" AS VARCHAR)
UNION ALL
SELECT
  CAST(1 AS BIGINT) AS "ATTRIBUTE",
  CAST("AGE" AS VARCHAR) AS "VALUE",
  CAST(COUNT(*) AS BIGINT) AS "N",
  MIN("AGE") AS "RAW_1",
  CAST(NULL AS DATE) AS "RAW_2"
FROM "PEOPLE"
GROUP BY
  CAST("AGE" AS VARCHAR)
UNION ALL
SELECT
  CAST(2 AS BIGINT) AS "ATTRIBUTE",
  CAST("SEEN" AS VARCHAR) AS "VALUE",
  CAST(COUNT(*) AS BIGINT) AS "N",
  CAST(NULL AS INT) AS "RAW_1",
  MIN("SEEN") AS "RAW_2"
FROM "PEOPLE"
GROUP BY
  CAST("SEEN" AS VARCHAR)
UNION ALL
SELECT
  CAST(3 AS BIGINT) AS "ATTRIBUTE",
  CAST("ZIP" AS VARCHAR) AS "VALUE",
  CAST(COUNT(*) AS BIGINT) AS "N",
  CAST(NULL AS INT) AS "RAW_1",
  CAST(NULL AS DATE) AS "RAW_2"
FROM "PEOPLE"
GROUP BY
  CAST("ZIP" AS VARCHAR)
UNION ALL
SELECT
  CAST(4 AS BIGINT) AS "ATTRIBUTE",
  CAST("ORDER" AS VARCHAR) AS "VALUE",
  CAST(COUNT(*) AS BIGINT) AS "N",
  CAST(NULL AS INT) AS "RAW_1",
  CAST(NULL AS DATE) AS "RAW_2"
FROM "PEOPLE"
GROUP BY
  CAST("ORDER" AS VARCHAR)
UNION ALL
SELECT
  CAST(5 AS BIGINT) AS "ATTRIBUTE",
  CAST("DISEASE" AS VARCHAR) AS "VALUE",
  CAST(COUNT(*) AS BIGINT) AS "N",
  CAST(NULL AS INT) AS "RAW_1",
  CAST(NULL AS DATE) AS "RAW_2"
FROM "PEOPLE"
GROUP BY
  CAST("DISEASE" AS VARCHAR);

-- 11. load hierarchies
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_LISTED" (
  "ATTRIBUTE" BIGINT,
  "LEVEL_0" VARCHAR,
  "LEVEL_1" VARCHAR,
  "LEVEL_2" VARCHAR,
  "LEVEL_3" VARCHAR,
  "LEVEL_4" VARCHAR,
  "PLACE" BIGINT
);

-- 12. load hierarchies
INSERT INTO "SQLANON_0A1B2C3D_LISTED"
VALUES
  (0, 'Graz', 'south', '*', NULL, NULL, 0),
  (0, 'O\'Hara\\', 'south', '*', NULL, NULL, 1),
  (0, 'Linz', 'north', '*', NULL, NULL, 2),
  (0, '', 'north', '*', NULL, NULL, 3);

-- 13. build hierarchies
INSERT INTO "SQLANON_0A1B2C3D_LISTED"
SELECT
  CAST(1 AS BIGINT) AS "ATTRIBUTE",
  "VALUE" AS "LEVEL_0",
  CASE
    WHEN "RAW_1" IS NULL
    THEN NULL
    WHEN (
      CAST("RAW_1" AS BIGINT)
    ) < (
      CAST(20 AS BIGINT)
    )
    THEN '<20'
    WHEN (
      CAST("RAW_1" AS BIGINT)
    ) >= (
      CAST(60 AS BIGINT)
    )
    THEN '>=60'
    ELSE '[' || (
      CAST((
        (
          CAST((
            (
              CAST((
                (
                  (
                    CAST("RAW_1" AS BIGINT)
                  ) - CAST(-8589934620 AS BIGINT)
                ) - MOD((
                  CAST("RAW_1" AS BIGINT)
                ) - CAST(-8589934620 AS BIGINT), CAST(10 AS BIGINT))
              ) / NULLIF((
                CAST(10 AS BIGINT)
              ), 0) AS DECIMAL(38, 0))
            ) - MOD(
              CAST((
                (
                  (
                    CAST("RAW_1" AS BIGINT)
                  ) - CAST(-8589934620 AS BIGINT)
                ) - MOD((
                  CAST("RAW_1" AS BIGINT)
                ) - CAST(-8589934620 AS BIGINT), CAST(10 AS BIGINT))
              ) / NULLIF((
                CAST(10 AS BIGINT)
              ), 0) AS DECIMAL(38, 0)),
              CAST(1 AS BIGINT)
            )
          ) / NULLIF((
            CAST(1 AS BIGINT)
          ), 0) AS DECIMAL(38, 0)) * CAST(10 AS BIGINT)
        ) + CAST(-8589934620 AS BIGINT)
      ) AS VARCHAR)
    ) || ', ' || (
      CAST((
        (
          CAST((
            (
              CAST((
                (
                  (
                    CAST("RAW_1" AS BIGINT)
                  ) - CAST(-8589934620 AS BIGINT)
                ) - MOD((
                  CAST("RAW_1" AS BIGINT)
                ) - CAST(-8589934620 AS BIGINT), CAST(10 AS BIGINT))
              ) / NULLIF((
                CAST(10 AS BIGINT)
              ), 0) AS DECIMAL(38, 0))
            ) - MOD(
              CAST((
                (
                  (
                    CAST("RAW_1" AS BIGINT)
                  ) - CAST(-8589934620 AS BIGINT)
                ) - MOD((
                  CAST("RAW_1" AS BIGINT)
                ) - CAST(-8589934620 AS BIGINT), CAST(10 AS BIGINT))
              ) / NULLIF((
                CAST(10 AS BIGINT)
              ), 0) AS DECIMAL(38, 0)),
              CAST(1 AS BIGINT)
            )
          ) / NULLIF((
            CAST(1 AS BIGINT)
          ), 0) AS DECIMAL(38, 0)) * CAST(10 AS BIGINT)
        ) + CAST(-8589934610 AS BIGINT)
      ) AS VARCHAR)
    ) || ')'
  END AS "LEVEL_1",
  CASE
    WHEN "RAW_1" IS NULL
    THEN NULL
    WHEN (
      CAST("RAW_1" AS BIGINT)
    ) < (
      CAST(20 AS BIGINT)
    )
    THEN '<20'
    WHEN (
      CAST("RAW_1" AS BIGINT)
    ) >= (
      CAST(60 AS BIGINT)
    )
    THEN '>=60'
    ELSE '[' || (
      CAST((
        (
          CAST((
            (
              CAST((
                (
                  (
                    CAST("RAW_1" AS BIGINT)
                  ) - CAST(-8589934620 AS BIGINT)
                ) - MOD((
                  CAST("RAW_1" AS BIGINT)
                ) - CAST(-8589934620 AS BIGINT), CAST(10 AS BIGINT))
              ) / NULLIF((
                CAST(10 AS BIGINT)
              ), 0) AS DECIMAL(38, 0))
            ) - MOD(
              CAST((
                (
                  (
                    CAST("RAW_1" AS BIGINT)
                  ) - CAST(-8589934620 AS BIGINT)
                ) - MOD((
                  CAST("RAW_1" AS BIGINT)
                ) - CAST(-8589934620 AS BIGINT), CAST(10 AS BIGINT))
              ) / NULLIF((
                CAST(10 AS BIGINT)
              ), 0) AS DECIMAL(38, 0)),
              CAST(2 AS BIGINT)
            )
          ) / NULLIF((
            CAST(2 AS BIGINT)
          ), 0) AS DECIMAL(38, 0)) * CAST(20 AS BIGINT)
        ) + CAST(-8589934620 AS BIGINT)
      ) AS VARCHAR)
    ) || ', ' || (
      CAST((
        (
          CAST((
            (
              CAST((
                (
                  (
                    CAST("RAW_1" AS BIGINT)
                  ) - CAST(-8589934620 AS BIGINT)
                ) - MOD((
                  CAST("RAW_1" AS BIGINT)
                ) - CAST(-8589934620 AS BIGINT), CAST(10 AS BIGINT))
              ) / NULLIF((
                CAST(10 AS BIGINT)
              ), 0) AS DECIMAL(38, 0))
            ) - MOD(
              CAST((
                (
                  (
                    CAST("RAW_1" AS BIGINT)
                  ) - CAST(-8589934620 AS BIGINT)
                ) - MOD((
                  CAST("RAW_1" AS BIGINT)
                ) - CAST(-8589934620 AS BIGINT), CAST(10 AS BIGINT))
              ) / NULLIF((
                CAST(10 AS BIGINT)
              ), 0) AS DECIMAL(38, 0)),
              CAST(2 AS BIGINT)
            )
          ) / NULLIF((
            CAST(2 AS BIGINT)
          ), 0) AS DECIMAL(38, 0)) * CAST(20 AS BIGINT)
        ) + CAST(-8589934600 AS BIGINT)
      ) AS VARCHAR)
    ) || ')'
  END AS "LEVEL_2",
  CASE WHEN "RAW_1" IS NULL THEN NULL ELSE '*' END AS "LEVEL_3",
  CAST(NULL AS VARCHAR) AS "LEVEL_4",
  CAST(NULL AS BIGINT) AS "PLACE"
FROM "SQLANON_0A1B2C3D_VALUES"
WHERE
  "ATTRIBUTE" = 1 AND NOT "VALUE" IS NULL
UNION ALL
SELECT
  CAST(2 AS BIGINT) AS "ATTRIBUTE",
  "VALUE" AS "LEVEL_0",
  CASE
    WHEN "RAW_2" IS NULL
    THEN NULL
    ELSE CASE WHEN TRUE THEN TO_CHAR("RAW_2", 'YYYY-MM') ELSE CAST("RAW_2" AS VARCHAR) END
  END AS "LEVEL_1",
  CASE
    WHEN "RAW_2" IS NULL
    THEN NULL
    ELSE CASE
      WHEN TRUE
      THEN TO_CHAR("RAW_2", 'YYYY') || '-Q' || CAST(QUARTER("RAW_2") AS VARCHAR)
      ELSE CAST("RAW_2" AS VARCHAR)
    END
  END AS "LEVEL_2",
  CASE
    WHEN "RAW_2" IS NULL
    THEN NULL
    ELSE CASE
      WHEN TRUE
      THEN CAST(CAST(FLOOR(CAST(YEAR("RAW_2") AS DOUBLE) / CAST(10 AS DOUBLE)) AS BIGINT) * 10 AS VARCHAR) || 's'
      ELSE CAST("RAW_2" AS VARCHAR)
    END
  END AS "LEVEL_3",
  CASE WHEN "RAW_2" IS NULL THEN NULL ELSE '*' END AS "LEVEL_4",
  CAST(NULL AS BIGINT) AS "PLACE"
FROM "SQLANON_0A1B2C3D_VALUES"
WHERE
  "ATTRIBUTE" = 2 AND NOT "VALUE" IS NULL
UNION ALL
SELECT
  CAST(3 AS BIGINT) AS "ATTRIBUTE",
  "VALUE" AS "LEVEL_0",
  RPAD(LEFT("VALUE", 3), 4, '\'') AS "LEVEL_1",
  RPAD(LEFT("VALUE", 2), 4, '\'') AS "LEVEL_2",
  CASE WHEN "VALUE" IS NULL THEN NULL ELSE '*' END AS "LEVEL_3",
  CAST(NULL AS VARCHAR) AS "LEVEL_4",
  CAST(NULL AS BIGINT) AS "PLACE"
FROM "SQLANON_0A1B2C3D_VALUES"
WHERE
  "ATTRIBUTE" = 3 AND NOT "VALUE" IS NULL
UNION ALL
SELECT
  CAST(4 AS BIGINT) AS "ATTRIBUTE",
  "VALUE" AS "LEVEL_0",
  LPAD(RIGHT("VALUE", 1), 2, '*') AS "LEVEL_1",
  LPAD(RIGHT("VALUE", 0), 2, '*') AS "LEVEL_2",
  CAST(NULL AS VARCHAR) AS "LEVEL_3",
  CAST(NULL AS VARCHAR) AS "LEVEL_4",
  CAST(NULL AS BIGINT) AS "PLACE"
FROM "SQLANON_0A1B2C3D_VALUES"
WHERE
  "ATTRIBUTE" = 4 AND NOT "VALUE" IS NULL
UNION ALL
SELECT
  CAST(5 AS BIGINT) AS "ATTRIBUTE",
  "VALUE" AS "LEVEL_0",
  CAST(NULL AS VARCHAR) AS "LEVEL_1",
  CAST(NULL AS VARCHAR) AS "LEVEL_2",
  CAST(NULL AS VARCHAR) AS "LEVEL_3",
  CAST(NULL AS VARCHAR) AS "LEVEL_4",
  CAST(NULL AS BIGINT) AS "PLACE"
FROM "SQLANON_0A1B2C3D_VALUES"
WHERE
  "ATTRIBUTE" = 5 AND NOT "VALUE" IS NULL;

-- 14. branches
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_BRANCHES" AS
SELECT
  *,
  DENSE_RANK() OVER (PARTITION BY "ATTRIBUTE", "COVERED", "LEVEL_1" ORDER BY "LEVEL_0") - 1 AS "BRANCH_0",
  DENSE_RANK() OVER (PARTITION BY "ATTRIBUTE", "COVERED", "LEVEL_2" ORDER BY "LEVEL_1") - 1 AS "BRANCH_1",
  DENSE_RANK() OVER (PARTITION BY "ATTRIBUTE", "COVERED", "LEVEL_3" ORDER BY "LEVEL_2") - 1 AS "BRANCH_2",
  DENSE_RANK() OVER (PARTITION BY "ATTRIBUTE", "COVERED", "LEVEL_4" ORDER BY "LEVEL_3") - 1 AS "BRANCH_3",
  DENSE_RANK() OVER (PARTITION BY "ATTRIBUTE", "COVERED" ORDER BY "LEVEL_4") - 1 AS "BRANCH_4"
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
        THEN 47
        WHEN (
          "V"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "V"."ATTRIBUTE" = 3 OR "V"."ATTRIBUTE" = 4
        )
        THEN 3
        WHEN (
          "V"."ATTRIBUTE" = 5
        )
        THEN 4
      END
    END AS BIGINT) AS "LEAVES_0",
    CASE
      WHEN "V"."VALUE" IS NULL
      THEN NULL
      WHEN NOT "H"."IS_LISTED" IS NULL
      THEN "H"."LEVEL_1"
      ELSE NULL
    END AS "LEVEL_1",
    CAST(CASE
      WHEN "V"."VALUE" IS NULL
      THEN 1
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
        THEN 47
        WHEN (
          "V"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "V"."ATTRIBUTE" = 3 OR "V"."ATTRIBUTE" = 4
        )
        THEN 3
        WHEN (
          "V"."ATTRIBUTE" = 5
        )
        THEN 4
      END
    END AS BIGINT) AS "LEAVES_1",
    CASE
      WHEN "V"."VALUE" IS NULL
      THEN CASE
        WHEN (
          "V"."ATTRIBUTE" = 0
        )
        THEN '*'
        WHEN (
          "V"."ATTRIBUTE" = 4
        )
        THEN '**'
      END
      WHEN NOT "H"."IS_LISTED" IS NULL
      THEN "H"."LEVEL_2"
      ELSE NULL
    END AS "LEVEL_2",
    CAST(CASE
      WHEN "V"."VALUE" IS NULL
      THEN CASE
        WHEN (
          "V"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "V"."ATTRIBUTE" = 4
        )
        THEN 3
        ELSE 1
      END
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
        THEN 47
        WHEN (
          "V"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "V"."ATTRIBUTE" = 3 OR "V"."ATTRIBUTE" = 4
        )
        THEN 3
        WHEN (
          "V"."ATTRIBUTE" = 5
        )
        THEN 4
      END
    END AS BIGINT) AS "LEAVES_2",
    CASE
      WHEN "V"."VALUE" IS NULL
      THEN CASE WHEN (
        "V"."ATTRIBUTE" = 1 OR "V"."ATTRIBUTE" = 3
      ) THEN '*' END
      WHEN NOT "H"."IS_LISTED" IS NULL
      THEN "H"."LEVEL_3"
      ELSE NULL
    END AS "LEVEL_3",
    CAST(CASE
      WHEN "V"."VALUE" IS NULL
      THEN CASE
        WHEN (
          "V"."ATTRIBUTE" = 1
        )
        THEN 47
        WHEN (
          "V"."ATTRIBUTE" = 3
        )
        THEN 3
        ELSE 1
      END
      WHEN NOT "H"."IS_LISTED" IS NULL
      THEN "H"."LEAVES_3"
      ELSE CASE
        WHEN (
          "V"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "V"."ATTRIBUTE" = 1
        )
        THEN 47
        WHEN (
          "V"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "V"."ATTRIBUTE" = 3 OR "V"."ATTRIBUTE" = 4
        )
        THEN 3
        WHEN (
          "V"."ATTRIBUTE" = 5
        )
        THEN 4
      END
    END AS BIGINT) AS "LEAVES_3",
    CASE
      WHEN "V"."VALUE" IS NULL
      THEN CASE WHEN (
        "V"."ATTRIBUTE" = 2
      ) THEN '*' END
      WHEN NOT "H"."IS_LISTED" IS NULL
      THEN "H"."LEVEL_4"
      ELSE NULL
    END AS "LEVEL_4",
    CAST(CASE
      WHEN "V"."VALUE" IS NULL
      THEN CASE WHEN (
        "V"."ATTRIBUTE" = 2
      ) THEN 125 ELSE 1 END
      WHEN NOT "H"."IS_LISTED" IS NULL
      THEN "H"."LEAVES_4"
      ELSE CASE
        WHEN (
          "V"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "V"."ATTRIBUTE" = 1
        )
        THEN 47
        WHEN (
          "V"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "V"."ATTRIBUTE" = 3 OR "V"."ATTRIBUTE" = 4
        )
        THEN 3
        WHEN (
          "V"."ATTRIBUTE" = 5
        )
        THEN 4
      END
    END AS BIGINT) AS "LEAVES_4",
    CASE WHEN "V"."VALUE" IS NULL OR NOT "H"."IS_LISTED" IS NULL THEN 1 ELSE 0 END AS "COVERED"
  FROM "SQLANON_0A1B2C3D_VALUES" AS "V"
  LEFT JOIN (
    SELECT
      "ATTRIBUTE",
      "LEVEL_0",
      "LEVEL_1",
      "LEVEL_2",
      "LEVEL_3",
      "LEVEL_4",
      COUNT(*) OVER (PARTITION BY "ATTRIBUTE", "LEVEL_0") AS "LEAVES_0",
      COUNT(*) OVER (PARTITION BY "ATTRIBUTE", "LEVEL_1") AS "LEAVES_1",
      CASE
        WHEN (
          "ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "ATTRIBUTE" = 4
        )
        THEN 3
        ELSE COUNT(*) OVER (PARTITION BY "ATTRIBUTE", "LEVEL_2")
      END AS "LEAVES_2",
      CASE
        WHEN (
          "ATTRIBUTE" = 1
        )
        THEN 47
        WHEN (
          "ATTRIBUTE" = 3
        )
        THEN 3
        ELSE COUNT(*) OVER (PARTITION BY "ATTRIBUTE", "LEVEL_3")
      END AS "LEAVES_3",
      CASE
        WHEN (
          "ATTRIBUTE" = 2
        )
        THEN 125
        ELSE COUNT(*) OVER (PARTITION BY "ATTRIBUTE", "LEVEL_4")
      END AS "LEAVES_4",
      1 AS "IS_LISTED"
    FROM "SQLANON_0A1B2C3D_LISTED"
  ) AS "H"
    ON "V"."ATTRIBUTE" = "H"."ATTRIBUTE"
    AND "V"."VALUE" IS NOT DISTINCT FROM "H"."LEVEL_0"
) AS "JOINED";

-- 15. lookup
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_LOOKUP" AS
SELECT
  "ATTRIBUTE",
  "VALUE",
  "COVERED",
  "N",
  "LEVEL_0",
  "LEVEL_1",
  "LEVEL_2",
  "LEVEL_3",
  "LEVEL_4",
  "LEAVES_0",
  "LEAVES_1",
  "LEAVES_2",
  "LEAVES_3",
  "LEAVES_4",
  BITOR(
    BITOR(
      BITOR(
        CASE
          WHEN (
            "ATTRIBUTE" = 0
            OR "ATTRIBUTE" = 1
            OR "ATTRIBUTE" = 2
            OR "ATTRIBUTE" = 4
            OR "ATTRIBUTE" = 5
          )
          THEN BITSHIFTLEFT(
            CAST("BRANCH_0" AS BIGINT),
            CASE
              WHEN (
                "ATTRIBUTE" = 0
              )
              THEN 0
              WHEN (
                "ATTRIBUTE" = 1
              )
              THEN 3
              WHEN (
                "ATTRIBUTE" = 2
              )
              THEN 11
              WHEN (
                "ATTRIBUTE" = 4
              )
              THEN 21
              WHEN (
                "ATTRIBUTE" = 5
              )
              THEN 23
              ELSE 0
            END
          )
          ELSE 0
        END,
        CASE
          WHEN (
            "ATTRIBUTE" = 0
            OR "ATTRIBUTE" = 1
            OR "ATTRIBUTE" = 2
            OR "ATTRIBUTE" = 3
            OR "ATTRIBUTE" = 4
          )
          THEN BITSHIFTLEFT(
            CAST("BRANCH_1" AS BIGINT),
            CASE
              WHEN (
                "ATTRIBUTE" = 0
              )
              THEN 1
              WHEN (
                "ATTRIBUTE" = 1
              )
              THEN 7
              WHEN (
                "ATTRIBUTE" = 2
              )
              THEN 16
              WHEN (
                "ATTRIBUTE" = 3
              )
              THEN 19
              WHEN (
                "ATTRIBUTE" = 4
              )
              THEN 22
              ELSE 0
            END
          )
          ELSE 0
        END
      ),
      CASE
        WHEN (
          "ATTRIBUTE" = 1 OR "ATTRIBUTE" = 2
        )
        THEN BITSHIFTLEFT(
          CAST("BRANCH_2" AS BIGINT),
          CASE WHEN (
            "ATTRIBUTE" = 1
          ) THEN 8 WHEN (
            "ATTRIBUTE" = 2
          ) THEN 17 ELSE 0 END
        )
        ELSE 0
      END
    ),
    CASE
      WHEN (
        "ATTRIBUTE" = 2
      )
      THEN BITSHIFTLEFT(CAST("BRANCH_3" AS BIGINT), CASE WHEN (
        "ATTRIBUTE" = 2
      ) THEN 18 ELSE 0 END)
      ELSE 0
    END
  ) AS "KEY_0"
FROM "SQLANON_0A1B2C3D_BRANCHES"
WHERE
  "BRANCH_0" < CASE
    WHEN (
      "ATTRIBUTE" = 0 OR "ATTRIBUTE" = 4
    )
    THEN 2
    WHEN (
      "ATTRIBUTE" = 1
    )
    THEN 16
    WHEN (
      "ATTRIBUTE" = 2
    )
    THEN 32
    WHEN (
      "ATTRIBUTE" = 3
    )
    THEN 1
    WHEN (
      "ATTRIBUTE" = 5
    )
    THEN 4
    ELSE 1
  END
  AND "BRANCH_1" < CASE
    WHEN (
      "ATTRIBUTE" = 0 OR "ATTRIBUTE" = 3
    )
    THEN 4
    WHEN (
      "ATTRIBUTE" = 1 OR "ATTRIBUTE" = 2 OR "ATTRIBUTE" = 4
    )
    THEN 2
    ELSE 1
  END
  AND "BRANCH_2" < CASE
    WHEN (
      "ATTRIBUTE" = 0 OR "ATTRIBUTE" = 3 OR "ATTRIBUTE" = 4
    )
    THEN 1
    WHEN (
      "ATTRIBUTE" = 1
    )
    THEN 8
    WHEN (
      "ATTRIBUTE" = 2
    )
    THEN 2
    ELSE 1
  END
  AND "BRANCH_3" < CASE
    WHEN (
      "ATTRIBUTE" = 1 OR "ATTRIBUTE" = 3
    )
    THEN 1
    WHEN (
      "ATTRIBUTE" = 2
    )
    THEN 2
    ELSE 1
  END
  AND "BRANCH_4" < CASE WHEN (
    "ATTRIBUTE" = 2
  ) THEN 1 ELSE 1 END
  AND (
    "COVERED" = 1 OR NOT (
      "ATTRIBUTE" = 5
    )
  );

-- 16. overall
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_OVERALL_0" AS
SELECT
  *,
  (
    "AREA" - "THROUGH"
  ) + (
    MAX("PLACE") OVER () - (
      "PLACE" - 1
    )
  ) + (
    "AREA" - "THROUGH"
  ) - MAX("AREA") OVER () AS "ALONE"
FROM (
  SELECT
    *,
    SUM("THROUGH") OVER (ORDER BY "PLACE") AS "AREA"
  FROM (
    SELECT
      *,
      SUM("SHARE") OVER (ORDER BY "PLACE") AS "THROUGH"
    FROM (
      SELECT
        *,
        CAST("RECORDS" AS DOUBLE) / SUM("RECORDS") OVER () AS "SHARE"
      FROM (
        SELECT
          BITAND("SQLANON_LOOKUP_5"."KEY_0", 25165824) AS "VALUE",
          "V"."N" AS "RECORDS",
          ROW_NUMBER() OVER (ORDER BY "V"."VALUE" IS NULL, "V"."VALUE", "V"."VALUE") AS "PLACE"
        FROM "SQLANON_0A1B2C3D_VALUES" AS "V"
        JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_5"
          ON "SQLANON_LOOKUP_5"."ATTRIBUTE" = 5
          AND "V"."VALUE" IS NOT DISTINCT FROM "SQLANON_LOOKUP_5"."VALUE"
        WHERE
          "V"."ATTRIBUTE" = 5
      ) AS "PLACED"
    ) AS "SHARED"
  ) AS "CUMULATED"
) AS "MEASURED";

-- 17. load masks
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_MASKS" (
  "ATTRIBUTE" BIGINT,
  "LEVEL" BIGINT,
  "DIGIT" VARCHAR,
  "MASK_0" BIGINT
);

-- 18. load masks
INSERT INTO "SQLANON_0A1B2C3D_MASKS"
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

-- 19. leaf
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
        THEN 47
        WHEN (
          "M"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "M"."ATTRIBUTE" = 3 OR "M"."ATTRIBUTE" = 4
        )
        THEN 3
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
        THEN 47
        WHEN (
          "M"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "M"."ATTRIBUTE" = 3 OR "M"."ATTRIBUTE" = 4
        )
        THEN 3
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
        THEN 47
        WHEN (
          "M"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "M"."ATTRIBUTE" = 3 OR "M"."ATTRIBUTE" = 4
        )
        THEN 3
      END
    ) - MAX("L"."LEAVES_2")
    WHEN "M"."LEVEL" = 3
    THEN MAX(
      CASE
        WHEN (
          "M"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "M"."ATTRIBUTE" = 1
        )
        THEN 47
        WHEN (
          "M"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "M"."ATTRIBUTE" = 3 OR "M"."ATTRIBUTE" = 4
        )
        THEN 3
      END
    ) - MAX("L"."LEAVES_3")
    WHEN "M"."LEVEL" = 4
    THEN MAX(
      CASE
        WHEN (
          "M"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "M"."ATTRIBUTE" = 1
        )
        THEN 47
        WHEN (
          "M"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "M"."ATTRIBUTE" = 3 OR "M"."ATTRIBUTE" = 4
        )
        THEN 3
      END
    ) - MAX("L"."LEAVES_4")
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
      THEN 47
      WHEN (
        "M"."ATTRIBUTE" = 2
      )
      THEN 125
      WHEN (
        "M"."ATTRIBUTE" = 3 OR "M"."ATTRIBUTE" = 4
      )
      THEN 3
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
        THEN 47
        WHEN (
          "M"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "M"."ATTRIBUTE" = 3 OR "M"."ATTRIBUTE" = 4
        )
        THEN 3
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
        THEN 47
        WHEN (
          "M"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "M"."ATTRIBUTE" = 3 OR "M"."ATTRIBUTE" = 4
        )
        THEN 3
      END
    ) - MAX("L"."LEAVES_2")
  END AS BIGINT) AS "COST_2",
  CAST(CASE
    WHEN "M"."LEVEL" >= 3
    THEN MAX(
      CASE
        WHEN (
          "M"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "M"."ATTRIBUTE" = 1
        )
        THEN 47
        WHEN (
          "M"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "M"."ATTRIBUTE" = 3 OR "M"."ATTRIBUTE" = 4
        )
        THEN 3
      END
    ) - MAX("L"."LEAVES_3")
  END AS BIGINT) AS "COST_3",
  CAST(CASE
    WHEN "M"."LEVEL" >= 4
    THEN MAX(
      CASE
        WHEN (
          "M"."ATTRIBUTE" = 0
        )
        THEN 5
        WHEN (
          "M"."ATTRIBUTE" = 1
        )
        THEN 47
        WHEN (
          "M"."ATTRIBUTE" = 2
        )
        THEN 125
        WHEN (
          "M"."ATTRIBUTE" = 3 OR "M"."ATTRIBUTE" = 4
        )
        THEN 3
      END
    ) - MAX("L"."LEAVES_4")
  END AS BIGINT) AS "COST_4"
FROM "SQLANON_0A1B2C3D_LOOKUP" AS "L"
JOIN "SQLANON_0A1B2C3D_MASKS" AS "M"
  ON "L"."ATTRIBUTE" = "M"."ATTRIBUTE"
WHERE
  "L"."COVERED" = 1
GROUP BY
  "M"."ATTRIBUTE",
  "M"."LEVEL",
  BITAND("L"."KEY_0", "M"."MASK_0");

-- 20. base
CREATE TEMPORARY TABLE "SQLANON_0A1B2C3D_BASE" AS
SELECT
  BITOR(
    BITOR(
      BITOR(
        BITOR(
          BITOR("SQLANON_LOOKUP_0"."KEY_0", "SQLANON_LOOKUP_1"."KEY_0"),
          "SQLANON_LOOKUP_2"."KEY_0"
        ),
        "SQLANON_LOOKUP_3"."KEY_0"
      ),
      "SQLANON_LOOKUP_4"."KEY_0"
    ),
    "SQLANON_LOOKUP_5"."KEY_0"
  ) AS "KEY_0",
  CAST(COUNT(*) AS BIGINT) AS "N"
FROM "PEOPLE" AS "SOURCE"
LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_0"
  ON "SQLANON_LOOKUP_0"."ATTRIBUTE" = 0
  AND CAST("SOURCE"."CITY" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_0"."VALUE"
LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_1"
  ON "SQLANON_LOOKUP_1"."ATTRIBUTE" = 1
  AND CAST("SOURCE"."AGE" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_1"."VALUE"
LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_2"
  ON "SQLANON_LOOKUP_2"."ATTRIBUTE" = 2
  AND CAST("SOURCE"."SEEN" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_2"."VALUE"
LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_3"
  ON "SQLANON_LOOKUP_3"."ATTRIBUTE" = 3
  AND CAST("SOURCE"."ZIP" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_3"."VALUE"
LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_4"
  ON "SQLANON_LOOKUP_4"."ATTRIBUTE" = 4
  AND CAST("SOURCE"."ORDER" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_4"."VALUE"
LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_5"
  ON "SQLANON_LOOKUP_5"."ATTRIBUTE" = 5
  AND CAST("SOURCE"."DISEASE" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_5"."VALUE"
WHERE
  COALESCE("SQLANON_LOOKUP_0"."COVERED", 0) <> 0
  AND COALESCE("SQLANON_LOOKUP_1"."COVERED", 0) <> 0
  AND COALESCE("SQLANON_LOOKUP_2"."COVERED", 0) <> 0
  AND COALESCE("SQLANON_LOOKUP_3"."COVERED", 0) <> 0
  AND COALESCE("SQLANON_LOOKUP_4"."COVERED", 0) <> 0
  AND TRUE
GROUP BY
  BITOR(
    BITOR(
      BITOR(
        BITOR(
          BITOR("SQLANON_LOOKUP_0"."KEY_0", "SQLANON_LOOKUP_1"."KEY_0"),
          "SQLANON_LOOKUP_2"."KEY_0"
        ),
        "SQLANON_LOOKUP_3"."KEY_0"
      ),
      "SQLANON_LOOKUP_4"."KEY_0"
    ),
    "SQLANON_LOOKUP_5"."KEY_0"
  );

-- 21. records of the source, and those that take part
SELECT
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS BIGINT) AS "RECORDS",
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS BIGINT) AS "INCLUDED"
FROM "PEOPLE";

-- 22. records that were encoded
SELECT
  CAST(COALESCE(SUM("N"), 0) AS BIGINT) AS "ENCODED"
FROM "SQLANON_0A1B2C3D_BASE";

-- 23. the verdicts of some nodes (0: city=1, age=3, seen=4, zip=0, order=1; 1: city=0, age=3, seen=4, zip=0, order=1; 2: city=2, age=3, seen=4, zip=0, order=1; 3: city=1, age=2, seen=4, zip=0, order=1; 4: city=1, age=3, seen=3, zip=0, order=1; 5: city=1, age=3, seen=4, zip=1, order=1; 6: city=1, age=3, seen=4, zip=0, order=0; 7: city=1, age=3, seen=4, zip=0, order=2)
WITH "NODES" AS (
  SELECT
    CAST(0 AS BIGINT) AS "NODE",
    CAST(0 AS BIGINT) AS "ARM",
    CAST(30932998 AS BIGINT) AS "MASK_0",
    '13401' AS "LEVELS"
  UNION ALL
  SELECT
    CAST(1 AS BIGINT) AS "NODE",
    CAST(0 AS BIGINT) AS "ARM",
    CAST(30932999 AS BIGINT) AS "MASK_0",
    '03401' AS "LEVELS"
  UNION ALL
  SELECT
    CAST(2 AS BIGINT) AS "NODE",
    CAST(0 AS BIGINT) AS "ARM",
    CAST(30932992 AS BIGINT) AS "MASK_0",
    '23401' AS "LEVELS"
  UNION ALL
  SELECT
    CAST(3 AS BIGINT) AS "NODE",
    CAST(0 AS BIGINT) AS "ARM",
    CAST(30934790 AS BIGINT) AS "MASK_0",
    '12401' AS "LEVELS"
  UNION ALL
  SELECT
    CAST(4 AS BIGINT) AS "NODE",
    CAST(0 AS BIGINT) AS "ARM",
    CAST(31195142 AS BIGINT) AS "MASK_0",
    '13301' AS "LEVELS"
  UNION ALL
  SELECT
    CAST(5 AS BIGINT) AS "NODE",
    CAST(0 AS BIGINT) AS "ARM",
    CAST(30932998 AS BIGINT) AS "MASK_0",
    '13411' AS "LEVELS"
  UNION ALL
  SELECT
    CAST(6 AS BIGINT) AS "NODE",
    CAST(0 AS BIGINT) AS "ARM",
    CAST(33030150 AS BIGINT) AS "MASK_0",
    '13400' AS "LEVELS"
  UNION ALL
  SELECT
    CAST(7 AS BIGINT) AS "NODE",
    CAST(0 AS BIGINT) AS "ARM",
    CAST(26738694 AS BIGINT) AS "MASK_0",
    '13402' AS "LEVELS"
), "PARTS" AS (
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
), "CLASSES" AS (
  SELECT
    "NODE",
    BITAND("KEY_0", -25165825) AS "KEY_0",
    CAST(SUM("N") AS BIGINT) AS "N"
  FROM "PARTS"
  GROUP BY
    "NODE",
    BITAND("KEY_0", -25165825)
), "HISTOGRAM_0" AS (
  SELECT
    "NODE",
    BITAND("KEY_0", -25165825) AS "KEY_0",
    BITAND("KEY_0", 25165824) AS "VALUE",
    "N"
  FROM "PARTS"
  WHERE
    "N" > 0
), "MODEL_1" AS (
  SELECT
    "NODE",
    "KEY_0",
    CASE WHEN COUNT(*) < 2 THEN 1 ELSE 0 END AS "FAILS",
    CAST(SUM("N") AS BIGINT) AS "MIN_SUPPRESSED"
  FROM "HISTOGRAM_0" AS "HISTOGRAM"
  GROUP BY
    "NODE",
    "KEY_0"
), "MODEL_2" AS (
  SELECT
    "NODE",
    "KEY_0",
    CASE WHEN "DISTANCE" > CAST(0.35 AS DOUBLE) + 1e-12 THEN 1 ELSE 0 END AS "FAILS",
    CASE
      WHEN "DISTANCE" > CAST(0.35 AS DOUBLE) + 1e-12
      THEN CAST(CEIL(
        "N" * GREATEST(
          COALESCE(
            CAST("DISTANCE" - CAST(0.35 AS DOUBLE) - 1e-11 AS DOUBLE) / (
              "FARTHEST" - CAST(0.35 AS DOUBLE) + 1e-11
            ) - 1e-9,
            0
          ),
          0
        )
      ) AS BIGINT)
      ELSE 0
    END AS "MIN_SUPPRESSED"
  FROM (
    SELECT
      "NODE",
      "KEY_0",
      MAX("CLASSES"."N") AS "N",
      SUM(
        GREATEST(
          COALESCE(CAST("HISTOGRAM"."N" AS DOUBLE) / "CLASSES"."N" - "OVERALL"."SHARE", 0),
          0
        )
      ) AS "DISTANCE",
      1 - MIN("OVERALL"."SHARE") AS "FARTHEST"
    FROM "HISTOGRAM_0" AS "HISTOGRAM"
    JOIN "CLASSES" AS "CLASSES"
      USING ("NODE", "KEY_0")
    JOIN "SQLANON_0A1B2C3D_OVERALL_0" AS "OVERALL"
      ON "OVERALL"."VALUE" = "HISTOGRAM"."VALUE"
    GROUP BY
      "NODE",
      "KEY_0"
  ) AS "PROFILE"
), "JUDGED" AS (
  SELECT
    "CLASSES"."NODE",
    "CLASSES"."KEY_0",
    "CLASSES"."N",
    CASE
      WHEN "CLASSES"."N" < 4 OR "MODEL_1"."FAILS" = 1 OR "MODEL_2"."FAILS" = 1
      THEN 1
      ELSE 0
    END AS "FAILS",
    COALESCE(
      GREATEST(
        COALESCE(
          GREATEST(
            COALESCE(
              CASE WHEN "CLASSES"."N" < 4 THEN "CLASSES"."N" ELSE 0 END,
              CASE WHEN "MODEL_1"."FAILS" = 1 THEN "MODEL_1"."MIN_SUPPRESSED" ELSE 0 END
            ),
            COALESCE(
              CASE WHEN "MODEL_1"."FAILS" = 1 THEN "MODEL_1"."MIN_SUPPRESSED" ELSE 0 END,
              CASE WHEN "CLASSES"."N" < 4 THEN "CLASSES"."N" ELSE 0 END
            )
          ),
          CASE WHEN "MODEL_2"."FAILS" = 1 THEN "MODEL_2"."MIN_SUPPRESSED" ELSE 0 END
        ),
        COALESCE(
          CASE WHEN "MODEL_2"."FAILS" = 1 THEN "MODEL_2"."MIN_SUPPRESSED" ELSE 0 END,
          GREATEST(
            COALESCE(
              CASE WHEN "CLASSES"."N" < 4 THEN "CLASSES"."N" ELSE 0 END,
              CASE WHEN "MODEL_1"."FAILS" = 1 THEN "MODEL_1"."MIN_SUPPRESSED" ELSE 0 END
            ),
            COALESCE(
              CASE WHEN "MODEL_1"."FAILS" = 1 THEN "MODEL_1"."MIN_SUPPRESSED" ELSE 0 END,
              CASE WHEN "CLASSES"."N" < 4 THEN "CLASSES"."N" ELSE 0 END
            )
          )
        )
      ),
      0
    ) AS "MIN_SUPPRESSED",
    CASE WHEN "CLASSES"."N" < 4 THEN 1 ELSE 0 END AS "FAILS_0",
    "MODEL_1"."FAILS" AS "FAILS_1",
    "MODEL_2"."FAILS" AS "FAILS_2"
  FROM "CLASSES"
  LEFT JOIN "MODEL_1"
    ON "CLASSES"."NODE" = "MODEL_1"."NODE" AND "CLASSES"."KEY_0" = "MODEL_1"."KEY_0"
  LEFT JOIN "MODEL_2"
    ON "CLASSES"."NODE" = "MODEL_2"."NODE" AND "CLASSES"."KEY_0" = "MODEL_2"."KEY_0"
), "TOTALS" AS (
  SELECT
    "NODE",
    CAST(-1 AS BIGINT) AS "ATTRIBUTE",
    CAST(COUNT(*) AS BIGINT) AS "GRAIN",
    CAST(SUM(CASE WHEN "N" > 0 AND "FAILS" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "CLASSES",
    CAST(SUM(CASE WHEN "N" > 0 AND "FAILS" = 1 THEN "N" ELSE 0 END) AS BIGINT) AS "SUPPRESSED",
    MIN(CASE WHEN "N" > 0 AND "FAILS" = 0 THEN "N" END) AS "SMALLEST",
    MAX(CASE WHEN "N" > 0 AND "FAILS" = 0 THEN "N" END) AS "LARGEST",
    CAST(SUM(CASE WHEN "N" > 0 AND "FAILS" = 1 THEN "MIN_SUPPRESSED" ELSE 0 END) AS BIGINT) AS "MIN_SUPPRESSED",
    CAST(COALESCE(SUM(CASE WHEN "FAILS_0" = 1 THEN "N" ELSE 0 END), 0) AS BIGINT) AS "MODEL_0",
    CAST(COALESCE(SUM(CASE WHEN "FAILS_1" = 1 THEN "N" ELSE 0 END), 0) AS BIGINT) AS "MODEL_1",
    CAST(COALESCE(SUM(CASE WHEN "FAILS_2" = 1 THEN "N" ELSE 0 END), 0) AS BIGINT) AS "MODEL_2",
    CAST(NULL AS BIGINT) AS "COST",
    CAST(NULL AS BIGINT) AS "MIN_COST_0",
    CAST(NULL AS BIGINT) AS "MIN_COST_1",
    CAST(NULL AS BIGINT) AS "MIN_COST_2",
    CAST(NULL AS BIGINT) AS "MIN_COST_3",
    CAST(NULL AS BIGINT) AS "MIN_COST_4"
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
    CAST(SUM("JUDGED"."N") AS BIGINT) AS "N",
    CAST(SUM("JUDGED"."MIN_SUPPRESSED") AS BIGINT) AS "MIN_SUPPRESSED"
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
  NULL,
  NULL,
  NULL,
  CAST(SUM("FAILING"."N" * "LEAF"."COST") AS BIGINT) AS "COST",
  CAST(COALESCE(SUM("FAILING"."MIN_SUPPRESSED" * "LEAF"."COST_0"), 0) AS BIGINT) AS "MIN_COST_0",
  CAST(COALESCE(SUM("FAILING"."MIN_SUPPRESSED" * "LEAF"."COST_1"), 0) AS BIGINT) AS "MIN_COST_1",
  CAST(COALESCE(SUM("FAILING"."MIN_SUPPRESSED" * "LEAF"."COST_2"), 0) AS BIGINT) AS "MIN_COST_2",
  CAST(COALESCE(SUM("FAILING"."MIN_SUPPRESSED" * "LEAF"."COST_3"), 0) AS BIGINT) AS "MIN_COST_3",
  CAST(COALESCE(SUM("FAILING"."MIN_SUPPRESSED" * "LEAF"."COST_4"), 0) AS BIGINT) AS "MIN_COST_4"
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

-- 24. the release
CREATE TABLE "SQLANON_0A1B2C3D_RELEASE" AS
SELECT
  "CITY",
  "AGE",
  "SEEN",
  "ZIP",
  "ORDER",
  "DISEASE",
  "NOTE"
FROM (
  SELECT
    "CITY" AS "CITY",
    "AGE" AS "AGE",
    "SEEN" AS "SEEN",
    "ZIP" AS "ZIP",
    "ORDER" AS "ORDER",
    "DISEASE" AS "DISEASE",
    "NOTE" AS "NOTE"
  FROM (
    WITH "RECORDS" AS (
      SELECT
        CAST("SQLANON_LOOKUP_0"."LEVEL_1" AS VARCHAR) AS "COLUMN_0",
        CAST("SQLANON_LOOKUP_1"."LEVEL_3" AS VARCHAR) AS "COLUMN_1",
        CAST("SQLANON_LOOKUP_2"."LEVEL_4" AS VARCHAR) AS "COLUMN_2",
        CAST("SQLANON_LOOKUP_3"."LEVEL_0" AS VARCHAR) AS "COLUMN_3",
        CAST("SQLANON_LOOKUP_4"."LEVEL_1" AS VARCHAR) AS "COLUMN_4",
        CAST("SOURCE"."DISEASE" AS VARCHAR) AS "COLUMN_5",
        "SOURCE"."NOTE" AS "COLUMN_6",
        BITAND(
          BITOR(
            BITOR(
              BITOR(
                BITOR("SQLANON_LOOKUP_0"."KEY_0", "SQLANON_LOOKUP_1"."KEY_0"),
                "SQLANON_LOOKUP_2"."KEY_0"
              ),
              "SQLANON_LOOKUP_3"."KEY_0"
            ),
            "SQLANON_LOOKUP_4"."KEY_0"
          ),
          5767174
        ) AS "KEY_0"
      FROM "PEOPLE" AS "SOURCE"
      LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_0"
        ON "SQLANON_LOOKUP_0"."ATTRIBUTE" = 0
        AND CAST("SOURCE"."CITY" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_0"."VALUE"
      LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_1"
        ON "SQLANON_LOOKUP_1"."ATTRIBUTE" = 1
        AND CAST("SOURCE"."AGE" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_1"."VALUE"
      LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_2"
        ON "SQLANON_LOOKUP_2"."ATTRIBUTE" = 2
        AND CAST("SOURCE"."SEEN" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_2"."VALUE"
      LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_3"
        ON "SQLANON_LOOKUP_3"."ATTRIBUTE" = 3
        AND CAST("SOURCE"."ZIP" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_3"."VALUE"
      LEFT JOIN "SQLANON_0A1B2C3D_LOOKUP" AS "SQLANON_LOOKUP_4"
        ON "SQLANON_LOOKUP_4"."ATTRIBUTE" = 4
        AND CAST("SOURCE"."ORDER" AS VARCHAR) IS NOT DISTINCT FROM "SQLANON_LOOKUP_4"."VALUE"
      WHERE
        COALESCE("SQLANON_LOOKUP_0"."COVERED", 0) <> 0
        AND COALESCE("SQLANON_LOOKUP_1"."COVERED", 0) <> 0
        AND COALESCE("SQLANON_LOOKUP_2"."COVERED", 0) <> 0
        AND COALESCE("SQLANON_LOOKUP_3"."COVERED", 0) <> 0
        AND COALESCE("SQLANON_LOOKUP_4"."COVERED", 0) <> 0
        AND TRUE
    ), "PARTS" AS (
      SELECT
        CAST(0 AS BIGINT) AS "NODE",
        BITAND("KEY_0", CAST(30932998 AS BIGINT)) AS "KEY_0",
        CAST(COALESCE(SUM("N"), 0) AS BIGINT) AS "N"
      FROM "SQLANON_0A1B2C3D_BASE"
      GROUP BY
        2
    ), "CLASSES" AS (
      SELECT
        "NODE",
        BITAND("KEY_0", -25165825) AS "KEY_0",
        CAST(SUM("N") AS BIGINT) AS "N"
      FROM "PARTS"
      GROUP BY
        "NODE",
        BITAND("KEY_0", -25165825)
    ), "HISTOGRAM_0" AS (
      SELECT
        "NODE",
        BITAND("KEY_0", -25165825) AS "KEY_0",
        BITAND("KEY_0", 25165824) AS "VALUE",
        "N"
      FROM "PARTS"
      WHERE
        "N" > 0
    ), "MODEL_1" AS (
      SELECT
        "NODE",
        "KEY_0",
        CASE WHEN COUNT(*) < 2 THEN 1 ELSE 0 END AS "FAILS",
        CAST(SUM("N") AS BIGINT) AS "MIN_SUPPRESSED"
      FROM "HISTOGRAM_0" AS "HISTOGRAM"
      GROUP BY
        "NODE",
        "KEY_0"
    ), "MODEL_2" AS (
      SELECT
        "NODE",
        "KEY_0",
        CASE WHEN "DISTANCE" > CAST(0.35 AS DOUBLE) + 1e-12 THEN 1 ELSE 0 END AS "FAILS",
        CASE
          WHEN "DISTANCE" > CAST(0.35 AS DOUBLE) + 1e-12
          THEN CAST(CEIL(
            "N" * GREATEST(
              COALESCE(
                CAST("DISTANCE" - CAST(0.35 AS DOUBLE) - 1e-11 AS DOUBLE) / (
                  "FARTHEST" - CAST(0.35 AS DOUBLE) + 1e-11
                ) - 1e-9,
                0
              ),
              0
            )
          ) AS BIGINT)
          ELSE 0
        END AS "MIN_SUPPRESSED"
      FROM (
        SELECT
          "NODE",
          "KEY_0",
          MAX("CLASSES"."N") AS "N",
          SUM(
            GREATEST(
              COALESCE(CAST("HISTOGRAM"."N" AS DOUBLE) / "CLASSES"."N" - "OVERALL"."SHARE", 0),
              0
            )
          ) AS "DISTANCE",
          1 - MIN("OVERALL"."SHARE") AS "FARTHEST"
        FROM "HISTOGRAM_0" AS "HISTOGRAM"
        JOIN "CLASSES" AS "CLASSES"
          USING ("NODE", "KEY_0")
        JOIN "SQLANON_0A1B2C3D_OVERALL_0" AS "OVERALL"
          ON "OVERALL"."VALUE" = "HISTOGRAM"."VALUE"
        GROUP BY
          "NODE",
          "KEY_0"
      ) AS "PROFILE"
    ), "JUDGED" AS (
      SELECT
        "CLASSES"."NODE",
        "CLASSES"."KEY_0",
        "CLASSES"."N",
        CASE
          WHEN "CLASSES"."N" < 4 OR "MODEL_1"."FAILS" = 1 OR "MODEL_2"."FAILS" = 1
          THEN 1
          ELSE 0
        END AS "FAILS",
        COALESCE(
          GREATEST(
            COALESCE(
              GREATEST(
                COALESCE(
                  CASE WHEN "CLASSES"."N" < 4 THEN "CLASSES"."N" ELSE 0 END,
                  CASE WHEN "MODEL_1"."FAILS" = 1 THEN "MODEL_1"."MIN_SUPPRESSED" ELSE 0 END
                ),
                COALESCE(
                  CASE WHEN "MODEL_1"."FAILS" = 1 THEN "MODEL_1"."MIN_SUPPRESSED" ELSE 0 END,
                  CASE WHEN "CLASSES"."N" < 4 THEN "CLASSES"."N" ELSE 0 END
                )
              ),
              CASE WHEN "MODEL_2"."FAILS" = 1 THEN "MODEL_2"."MIN_SUPPRESSED" ELSE 0 END
            ),
            COALESCE(
              CASE WHEN "MODEL_2"."FAILS" = 1 THEN "MODEL_2"."MIN_SUPPRESSED" ELSE 0 END,
              GREATEST(
                COALESCE(
                  CASE WHEN "CLASSES"."N" < 4 THEN "CLASSES"."N" ELSE 0 END,
                  CASE WHEN "MODEL_1"."FAILS" = 1 THEN "MODEL_1"."MIN_SUPPRESSED" ELSE 0 END
                ),
                COALESCE(
                  CASE WHEN "MODEL_1"."FAILS" = 1 THEN "MODEL_1"."MIN_SUPPRESSED" ELSE 0 END,
                  CASE WHEN "CLASSES"."N" < 4 THEN "CLASSES"."N" ELSE 0 END
                )
              )
            )
          ),
          0
        ) AS "MIN_SUPPRESSED",
        CASE WHEN "CLASSES"."N" < 4 THEN 1 ELSE 0 END AS "FAILS_0",
        "MODEL_1"."FAILS" AS "FAILS_1",
        "MODEL_2"."FAILS" AS "FAILS_2"
      FROM "CLASSES"
      LEFT JOIN "MODEL_1"
        ON "CLASSES"."NODE" = "MODEL_1"."NODE" AND "CLASSES"."KEY_0" = "MODEL_1"."KEY_0"
      LEFT JOIN "MODEL_2"
        ON "CLASSES"."NODE" = "MODEL_2"."NODE" AND "CLASSES"."KEY_0" = "MODEL_2"."KEY_0"
    ), "PASSING" AS (
      SELECT
        "KEY_0"
      FROM "JUDGED"
      WHERE
        "FAILS" = 0 AND "N" > 0
    )
    SELECT
      "RECORDS"."COLUMN_0" AS "CITY",
      "RECORDS"."COLUMN_1" AS "AGE",
      "RECORDS"."COLUMN_2" AS "SEEN",
      "RECORDS"."COLUMN_3" AS "ZIP",
      "RECORDS"."COLUMN_4" AS "ORDER",
      "RECORDS"."COLUMN_5" AS "DISEASE",
      "RECORDS"."COLUMN_6" AS "NOTE"
    FROM "RECORDS"
    JOIN "PASSING"
      ON "RECORDS"."KEY_0" = "PASSING"."KEY_0"
  ) AS "PUBLISHED"
) AS "RELEASED"
ORDER BY
  RANDOM();

-- 25. audit row_count: no row, if the table is the one that was planned on
SELECT
  COUNT(*) AS "ROWS_FOUND"
FROM "SQLANON_0A1B2C3D_RELEASE" AS "RELEASE"
HAVING
  COUNT(*) <> 226;

-- 26. audit small_classes: it stops the script if it finds a row
SELECT
  1 / CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END AS "STOPPED"
FROM (
SELECT
  COUNT(*) AS "RECORDS"
FROM "SQLANON_0A1B2C3D_RELEASE" AS "RELEASE"
GROUP BY
  "RELEASE"."CITY",
  "RELEASE"."AGE",
  "RELEASE"."SEEN",
  "RELEASE"."ZIP",
  "RELEASE"."ORDER"
HAVING
  COUNT(*) BETWEEN 1 AND 4 - 1
) AS "OFFENDING";

-- 27. audit distinct_l_diversity of disease: it stops the script if it finds a row
SELECT
  1 / CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END AS "STOPPED"
FROM (
SELECT
  COUNT(*) AS "RECORDS"
FROM "SQLANON_0A1B2C3D_RELEASE" AS "RELEASE"
GROUP BY
  "RELEASE"."CITY",
  "RELEASE"."AGE",
  "RELEASE"."SEEN",
  "RELEASE"."ZIP",
  "RELEASE"."ORDER"
HAVING
  COUNT(*) > 0
  AND COUNT(DISTINCT "RELEASE"."DISEASE") + MAX(CASE WHEN "RELEASE"."DISEASE" IS NULL THEN 1 ELSE 0 END) < 2
) AS "OFFENDING";

-- 28. audit t_closeness_equal of disease: it stops the script if it finds a row
SELECT
  1 / CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END AS "STOPPED"
FROM (
SELECT
  CAST(SUM("SQLANON_COUNT") AS BIGINT) AS "RECORDS"
FROM (
  SELECT
    "COUNTED"."CITY",
    "COUNTED"."AGE",
    "COUNTED"."SEEN",
    "COUNTED"."ZIP",
    "COUNTED"."ORDER",
    "COUNTED"."SQLANON_COUNT" AS "SQLANON_COUNT",
    CAST("COUNTED"."SQLANON_COUNT" AS DOUBLE) / "COUNTED"."SQLANON_SIZE" AS "SQLANON_SHARE",
    "OVERALL"."SQLANON_SHARE" AS "SQLANON_OVERALL"
  FROM (
    SELECT
      "CITY",
      "AGE",
      "SEEN",
      "ZIP",
      "ORDER",
      CAST("DISEASE" AS VARCHAR) AS "SQLANON_VALUE",
      COUNT(*) AS "SQLANON_COUNT",
      SUM(COUNT(*)) OVER (PARTITION BY "CITY", "AGE", "SEEN", "ZIP", "ORDER") AS "SQLANON_SIZE"
    FROM "SQLANON_0A1B2C3D_RELEASE" AS "RELEASE"
    GROUP BY
      "CITY",
      "AGE",
      "SEEN",
      "ZIP",
      "ORDER",
      CAST("DISEASE" AS VARCHAR)
  ) AS "COUNTED"
  LEFT JOIN (
    SELECT
      "VALUE" AS "SQLANON_TEXT",
      CAST("RECORDS" AS DOUBLE) / SUM("RECORDS") OVER () AS "SQLANON_SHARE"
    FROM (
      SELECT
        CAST("DISEASE" AS VARCHAR) AS "VALUE",
        CAST(COUNT(*) AS BIGINT) AS "RECORDS"
      FROM "PEOPLE"
      WHERE
        TRUE
      GROUP BY
        CAST("DISEASE" AS VARCHAR)
    ) AS "REFERENCE"
  ) AS "OVERALL"
    ON "OVERALL"."SQLANON_TEXT" IS NOT DISTINCT FROM "COUNTED"."SQLANON_VALUE"
) AS "COMPARED"
GROUP BY
  "COMPARED"."CITY",
  "COMPARED"."AGE",
  "COMPARED"."SEEN",
  "COMPARED"."ZIP",
  "COMPARED"."ORDER"
HAVING
  COUNT(*) > 0
  AND CAST(SUM(ABS("SQLANON_SHARE" - COALESCE("SQLANON_OVERALL", 0))) + 1 - SUM(COALESCE("SQLANON_OVERALL", 0)) AS DOUBLE) / 2 > CAST(0.35 AS DOUBLE) + 1e-11
) AS "OFFENDING";

-- 29. audit untranslated_values of city: it stops the script if it finds a row
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
      "LEVEL_1" AS "VALUE"
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

-- 30. audit untranslated_values of age: it stops the script if it finds a row
SELECT
  1 / CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END AS "STOPPED"
FROM (
SELECT
  "RELEASED"."SQLANON_RECORDS" AS "RECORDS"
FROM (
  SELECT
    CAST("AGE" AS VARCHAR) AS "SQLANON_VALUE",
    COUNT(*) AS "SQLANON_RECORDS"
  FROM "SQLANON_0A1B2C3D_RELEASE" AS "RELEASE"
  GROUP BY
    CAST("AGE" AS VARCHAR)
) AS "RELEASED"
LEFT JOIN (
  SELECT DISTINCT
    CAST(CAST("LOOKUP"."VALUE" AS VARCHAR) AS VARCHAR) AS "VALUE",
    1 AS "LISTED"
  FROM (
    SELECT DISTINCT
      "LEVEL_3" AS "VALUE"
    FROM (
      SELECT
        *
      FROM "SQLANON_0A1B2C3D_LOOKUP"
      WHERE
        "ATTRIBUTE" = 1
    ) AS "SQLANON_LOOKUP_1"
  ) AS "LOOKUP"
) AS "TEXTS"
  ON "TEXTS"."VALUE" IS NOT DISTINCT FROM "RELEASED"."SQLANON_VALUE"
WHERE
  "TEXTS"."LISTED" IS NULL
) AS "OFFENDING";

-- 31. audit untranslated_values of seen: it stops the script if it finds a row
SELECT
  1 / CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END AS "STOPPED"
FROM (
SELECT
  "RELEASED"."SQLANON_RECORDS" AS "RECORDS"
FROM (
  SELECT
    CAST("SEEN" AS VARCHAR) AS "SQLANON_VALUE",
    COUNT(*) AS "SQLANON_RECORDS"
  FROM "SQLANON_0A1B2C3D_RELEASE" AS "RELEASE"
  GROUP BY
    CAST("SEEN" AS VARCHAR)
) AS "RELEASED"
LEFT JOIN (
  SELECT DISTINCT
    CAST(CAST("LOOKUP"."VALUE" AS VARCHAR) AS VARCHAR) AS "VALUE",
    1 AS "LISTED"
  FROM (
    SELECT DISTINCT
      "LEVEL_4" AS "VALUE"
    FROM (
      SELECT
        *
      FROM "SQLANON_0A1B2C3D_LOOKUP"
      WHERE
        "ATTRIBUTE" = 2
    ) AS "SQLANON_LOOKUP_2"
  ) AS "LOOKUP"
) AS "TEXTS"
  ON "TEXTS"."VALUE" IS NOT DISTINCT FROM "RELEASED"."SQLANON_VALUE"
WHERE
  "TEXTS"."LISTED" IS NULL
) AS "OFFENDING";

-- 32. audit untranslated_values of zip: it stops the script if it finds a row
SELECT
  1 / CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END AS "STOPPED"
FROM (
SELECT
  "RELEASED"."SQLANON_RECORDS" AS "RECORDS"
FROM (
  SELECT
    CAST("ZIP" AS VARCHAR) AS "SQLANON_VALUE",
    COUNT(*) AS "SQLANON_RECORDS"
  FROM "SQLANON_0A1B2C3D_RELEASE" AS "RELEASE"
  GROUP BY
    CAST("ZIP" AS VARCHAR)
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
        "ATTRIBUTE" = 3
    ) AS "SQLANON_LOOKUP_3"
  ) AS "LOOKUP"
) AS "TEXTS"
  ON "TEXTS"."VALUE" IS NOT DISTINCT FROM "RELEASED"."SQLANON_VALUE"
WHERE
  "TEXTS"."LISTED" IS NULL
) AS "OFFENDING";

-- 33. audit untranslated_values of order: it stops the script if it finds a row
SELECT
  1 / CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END AS "STOPPED"
FROM (
SELECT
  "RELEASED"."SQLANON_RECORDS" AS "RECORDS"
FROM (
  SELECT
    CAST("ORDER" AS VARCHAR) AS "SQLANON_VALUE",
    COUNT(*) AS "SQLANON_RECORDS"
  FROM "SQLANON_0A1B2C3D_RELEASE" AS "RELEASE"
  GROUP BY
    CAST("ORDER" AS VARCHAR)
) AS "RELEASED"
LEFT JOIN (
  SELECT DISTINCT
    CAST(CAST("LOOKUP"."VALUE" AS VARCHAR) AS VARCHAR) AS "VALUE",
    1 AS "LISTED"
  FROM (
    SELECT DISTINCT
      "LEVEL_1" AS "VALUE"
    FROM (
      SELECT
        *
      FROM "SQLANON_0A1B2C3D_LOOKUP"
      WHERE
        "ATTRIBUTE" = 4
    ) AS "SQLANON_LOOKUP_4"
  ) AS "LOOKUP"
) AS "TEXTS"
  ON "TEXTS"."VALUE" IS NOT DISTINCT FROM "RELEASED"."SQLANON_VALUE"
WHERE
  "TEXTS"."LISTED" IS NULL
) AS "OFFENDING";

-- sqlanon: the SQL of a policy for ClickHouse.
-- For the operator: it holds the texts of hierarchies; it does not travel with the release.
-- The widths of the codes were measured on the 240 records of people: 0 of them excluded for a NULL, 0 with a value that no hierarchy lists.
-- Distinct values by column, and by level of the quasi-identifiers: city 5 > 3 > 1; age 47 > 7 > 5 > 1; seen 125 > 6 > 4 > 2 > 1; zip 3 > 3 > 1 > 1; order 3 > 2 > 1; disease 4.
-- Quasi-identifying values of the table that no hierarchy lists, or that these widths have no room for, have no row in a lookup, and the JOIN suppresses their records; a sensitive value without a row counts for no class, but for the audits it does.
-- The audits at the end say whether sqlanon_0a1b2c3d_release meets the policy: the table may hold other records than those above. An audit that finds rows fails, which ends the script in most clients (see that yours does).
-- Run it in a scratch schema without default grants. When all audits have passed, rename the release and move it to its readers.
-- The names of its tables belong to this script alone. To run it twice at the same time, write a second script.
-- Costs: 5 statements read the table, the others its distinct combinations. A record has about 27 bytes in the columns that are read (as text, uncompressed), so that a table of 240 records costs about 0.1 MB at most; the cost grows with the records.
-- Run it in one session: its tables are temporary, and its settings decide that a LEFT JOIN gives NULL and that a name is a column before it is an alias.
-- A date before 1970 needs the type Date32.

-- 1. prepare the session
SET join_use_nulls = 1;

-- 2. and
SET prefer_column_name_to_alias = 1;

-- 3. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_0a1b2c3d_values";

-- 4. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_0a1b2c3d_listed";

-- 5. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_0a1b2c3d_branches";

-- 6. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_0a1b2c3d_lookup";

-- 7. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_0a1b2c3d_overall_0";

-- 8. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_0a1b2c3d_masks";

-- 9. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_0a1b2c3d_leaf";

-- 10. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_0a1b2c3d_base";

-- 11. drop what is left of an earlier run
DROP TABLE IF EXISTS "sqlanon_0a1b2c3d_release";

-- 12. distinct values
CREATE TEMPORARY TABLE "sqlanon_0a1b2c3d_values"
ENGINE=Memory AS
SELECT
  CAST(0 AS Nullable(Int64)) AS "attribute",
  CAST("city" AS Nullable(String)) AS "value",
  CAST(COUNT(*) AS Nullable(Int64)) AS "n",
  CAST(NULL AS Nullable(Int32)) AS "raw_1",
  CAST(NULL AS Nullable(Date32)) AS "raw_2"
FROM "people"
GROUP BY
  CAST("city" AS Nullable(String))
UNION ALL
SELECT
  CAST(1 AS Nullable(Int64)) AS "attribute",
  CAST("age" AS Nullable(String)) AS "value",
  CAST(COUNT(*) AS Nullable(Int64)) AS "n",
  MIN("age") AS "raw_1",
  CAST(NULL AS Nullable(Date32)) AS "raw_2"
FROM "people"
GROUP BY
  CAST("age" AS Nullable(String))
UNION ALL
SELECT
  CAST(2 AS Nullable(Int64)) AS "attribute",
  CAST("seen" AS Nullable(String)) AS "value",
  CAST(COUNT(*) AS Nullable(Int64)) AS "n",
  CAST(NULL AS Nullable(Int32)) AS "raw_1",
  MIN("seen") AS "raw_2"
FROM "people"
GROUP BY
  CAST("seen" AS Nullable(String))
UNION ALL
SELECT
  CAST(3 AS Nullable(Int64)) AS "attribute",
  CAST("zip" AS Nullable(String)) AS "value",
  CAST(COUNT(*) AS Nullable(Int64)) AS "n",
  CAST(NULL AS Nullable(Int32)) AS "raw_1",
  CAST(NULL AS Nullable(Date32)) AS "raw_2"
FROM "people"
GROUP BY
  CAST("zip" AS Nullable(String))
UNION ALL
SELECT
  CAST(4 AS Nullable(Int64)) AS "attribute",
  CAST("order" AS Nullable(String)) AS "value",
  CAST(COUNT(*) AS Nullable(Int64)) AS "n",
  CAST(NULL AS Nullable(Int32)) AS "raw_1",
  CAST(NULL AS Nullable(Date32)) AS "raw_2"
FROM "people"
GROUP BY
  CAST("order" AS Nullable(String))
UNION ALL
SELECT
  CAST(5 AS Nullable(Int64)) AS "attribute",
  CAST("disease" AS Nullable(String)) AS "value",
  CAST(COUNT(*) AS Nullable(Int64)) AS "n",
  CAST(NULL AS Nullable(Int32)) AS "raw_1",
  CAST(NULL AS Nullable(Date32)) AS "raw_2"
FROM "people"
GROUP BY
  CAST("disease" AS Nullable(String));

-- 13. load hierarchies
CREATE TEMPORARY TABLE "sqlanon_0a1b2c3d_listed" (
  "attribute" Nullable(Int64),
  "level_0" Nullable(String),
  "level_1" Nullable(String),
  "level_2" Nullable(String),
  "level_3" Nullable(String),
  "level_4" Nullable(String),
  "place" Nullable(Int64)
)
ENGINE=Memory;

-- 14. load hierarchies
INSERT INTO "sqlanon_0a1b2c3d_listed"
VALUES
  (0, 'Graz', 'south', '*', NULL, NULL, 0),
  (0, 'O''Hara\\', 'south', '*', NULL, NULL, 1),
  (0, 'Linz', 'north', '*', NULL, NULL, 2),
  (0, '', 'north', '*', NULL, NULL, 3);

-- 15. build hierarchies
INSERT INTO "sqlanon_0a1b2c3d_listed"
SELECT
  CAST(1 AS Nullable(Int64)) AS "attribute",
  "value" AS "level_0",
  CASE
    WHEN "raw_1" IS NULL
    THEN NULL
    WHEN (
      CAST("raw_1" AS Nullable(Int64))
    ) < (
      CAST(20 AS Nullable(Int64))
    )
    THEN '<20'
    WHEN (
      CAST("raw_1" AS Nullable(Int64))
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
                CAST("raw_1" AS Nullable(Int64))
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
                CAST("raw_1" AS Nullable(Int64))
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
    WHEN "raw_1" IS NULL
    THEN NULL
    WHEN (
      CAST("raw_1" AS Nullable(Int64))
    ) < (
      CAST(20 AS Nullable(Int64))
    )
    THEN '<20'
    WHEN (
      CAST("raw_1" AS Nullable(Int64))
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
                CAST("raw_1" AS Nullable(Int64))
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
                CAST("raw_1" AS Nullable(Int64))
              ) - CAST(-8589934620 AS Nullable(Int64)),
              CAST(10 AS Nullable(Int64))
            ),
            CAST(2 AS Nullable(Int64))
          ) * CAST(20 AS Nullable(Int64))
        ) + CAST(-8589934600 AS Nullable(Int64))
      ) AS Nullable(String))
    ) || ')'
  END AS "level_2",
  CASE WHEN "raw_1" IS NULL THEN NULL ELSE '*' END AS "level_3",
  CAST(NULL AS Nullable(String)) AS "level_4",
  CAST(NULL AS Nullable(Int64)) AS "place"
FROM "sqlanon_0a1b2c3d_values"
WHERE
  "attribute" = 1 AND NOT (
    "value" IS NULL
  )
UNION ALL
SELECT
  CAST(2 AS Nullable(Int64)) AS "attribute",
  "value" AS "level_0",
  CASE
    WHEN "raw_2" IS NULL
    THEN NULL
    ELSE CASE
      WHEN TRUE
      THEN formatDateTime("raw_2", '%Y-%m')
      ELSE CAST("raw_2" AS Nullable(String))
    END
  END AS "level_1",
  CASE
    WHEN "raw_2" IS NULL
    THEN NULL
    ELSE CASE
      WHEN TRUE
      THEN formatDateTime("raw_2", '%Y') || '-Q' || CAST(QUARTER("raw_2") AS Nullable(String))
      ELSE CAST("raw_2" AS Nullable(String))
    END
  END AS "level_2",
  CASE
    WHEN "raw_2" IS NULL
    THEN NULL
    ELSE CASE
      WHEN TRUE
      THEN CAST(CAST(FLOOR(CAST(YEAR("raw_2") AS Nullable(Float64)) / CAST(10 AS Nullable(Float64))) AS Nullable(Int64)) * 10 AS Nullable(String)) || 's'
      ELSE CAST("raw_2" AS Nullable(String))
    END
  END AS "level_3",
  CASE WHEN "raw_2" IS NULL THEN NULL ELSE '*' END AS "level_4",
  CAST(NULL AS Nullable(Int64)) AS "place"
FROM "sqlanon_0a1b2c3d_values"
WHERE
  "attribute" = 2 AND NOT (
    "value" IS NULL
  )
UNION ALL
SELECT
  CAST(3 AS Nullable(Int64)) AS "attribute",
  "value" AS "level_0",
  rightPadUTF8(leftUTF8("value", 3), 4, '''') AS "level_1",
  rightPadUTF8(leftUTF8("value", 2), 4, '''') AS "level_2",
  CASE WHEN "value" IS NULL THEN NULL ELSE '*' END AS "level_3",
  CAST(NULL AS Nullable(String)) AS "level_4",
  CAST(NULL AS Nullable(Int64)) AS "place"
FROM "sqlanon_0a1b2c3d_values"
WHERE
  "attribute" = 3 AND NOT (
    "value" IS NULL
  )
UNION ALL
SELECT
  CAST(4 AS Nullable(Int64)) AS "attribute",
  "value" AS "level_0",
  leftPadUTF8(rightUTF8("value", 1), 2, '*') AS "level_1",
  leftPadUTF8(rightUTF8("value", 0), 2, '*') AS "level_2",
  CAST(NULL AS Nullable(String)) AS "level_3",
  CAST(NULL AS Nullable(String)) AS "level_4",
  CAST(NULL AS Nullable(Int64)) AS "place"
FROM "sqlanon_0a1b2c3d_values"
WHERE
  "attribute" = 4 AND NOT (
    "value" IS NULL
  )
UNION ALL
SELECT
  CAST(5 AS Nullable(Int64)) AS "attribute",
  "value" AS "level_0",
  CAST(NULL AS Nullable(String)) AS "level_1",
  CAST(NULL AS Nullable(String)) AS "level_2",
  CAST(NULL AS Nullable(String)) AS "level_3",
  CAST(NULL AS Nullable(String)) AS "level_4",
  CAST(NULL AS Nullable(Int64)) AS "place"
FROM "sqlanon_0a1b2c3d_values"
WHERE
  "attribute" = 5 AND NOT (
    "value" IS NULL
  );

-- 16. branches
CREATE TEMPORARY TABLE "sqlanon_0a1b2c3d_branches"
ENGINE=Memory AS
SELECT
  *,
  DENSE_RANK() OVER (PARTITION BY "attribute", "covered", "level_1" ORDER BY "level_0") - 1 AS "branch_0",
  DENSE_RANK() OVER (PARTITION BY "attribute", "covered", "level_2" ORDER BY "level_1") - 1 AS "branch_1",
  DENSE_RANK() OVER (PARTITION BY "attribute", "covered", "level_3" ORDER BY "level_2") - 1 AS "branch_2",
  DENSE_RANK() OVER (PARTITION BY "attribute", "covered", "level_4" ORDER BY "level_3") - 1 AS "branch_3",
  DENSE_RANK() OVER (PARTITION BY "attribute", "covered" ORDER BY "level_4") - 1 AS "branch_4"
FROM (
  SELECT
    "v"."attribute" AS "attribute",
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
      ELSE CASE
        WHEN (
          "v"."attribute" = 0
        )
        THEN 5
        WHEN (
          "v"."attribute" = 1
        )
        THEN 47
        WHEN (
          "v"."attribute" = 2
        )
        THEN 125
        WHEN (
          "v"."attribute" = 3 OR "v"."attribute" = 4
        )
        THEN 3
        WHEN (
          "v"."attribute" = 5
        )
        THEN 4
      END
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
      ELSE CASE
        WHEN (
          "v"."attribute" = 0
        )
        THEN 5
        WHEN (
          "v"."attribute" = 1
        )
        THEN 47
        WHEN (
          "v"."attribute" = 2
        )
        THEN 125
        WHEN (
          "v"."attribute" = 3 OR "v"."attribute" = 4
        )
        THEN 3
        WHEN (
          "v"."attribute" = 5
        )
        THEN 4
      END
    END AS Nullable(Int64)) AS "leaves_1",
    CASE
      WHEN "v"."value" IS NULL
      THEN CASE
        WHEN (
          "v"."attribute" = 0
        )
        THEN '*'
        WHEN (
          "v"."attribute" = 4
        )
        THEN '**'
      END
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_2"
      ELSE NULL
    END AS "level_2",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN CASE
        WHEN (
          "v"."attribute" = 0
        )
        THEN 5
        WHEN (
          "v"."attribute" = 4
        )
        THEN 3
        ELSE 1
      END
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_2"
      ELSE CASE
        WHEN (
          "v"."attribute" = 0
        )
        THEN 5
        WHEN (
          "v"."attribute" = 1
        )
        THEN 47
        WHEN (
          "v"."attribute" = 2
        )
        THEN 125
        WHEN (
          "v"."attribute" = 3 OR "v"."attribute" = 4
        )
        THEN 3
        WHEN (
          "v"."attribute" = 5
        )
        THEN 4
      END
    END AS Nullable(Int64)) AS "leaves_2",
    CASE
      WHEN "v"."value" IS NULL
      THEN CASE WHEN (
        "v"."attribute" = 1 OR "v"."attribute" = 3
      ) THEN '*' END
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_3"
      ELSE NULL
    END AS "level_3",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN CASE
        WHEN (
          "v"."attribute" = 1
        )
        THEN 47
        WHEN (
          "v"."attribute" = 3
        )
        THEN 3
        ELSE 1
      END
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_3"
      ELSE CASE
        WHEN (
          "v"."attribute" = 0
        )
        THEN 5
        WHEN (
          "v"."attribute" = 1
        )
        THEN 47
        WHEN (
          "v"."attribute" = 2
        )
        THEN 125
        WHEN (
          "v"."attribute" = 3 OR "v"."attribute" = 4
        )
        THEN 3
        WHEN (
          "v"."attribute" = 5
        )
        THEN 4
      END
    END AS Nullable(Int64)) AS "leaves_3",
    CASE
      WHEN "v"."value" IS NULL
      THEN CASE WHEN (
        "v"."attribute" = 2
      ) THEN '*' END
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."level_4"
      ELSE NULL
    END AS "level_4",
    CAST(CASE
      WHEN "v"."value" IS NULL
      THEN CASE WHEN (
        "v"."attribute" = 2
      ) THEN 125 ELSE 1 END
      WHEN NOT (
        "h"."is_listed" IS NULL
      )
      THEN "h"."leaves_4"
      ELSE CASE
        WHEN (
          "v"."attribute" = 0
        )
        THEN 5
        WHEN (
          "v"."attribute" = 1
        )
        THEN 47
        WHEN (
          "v"."attribute" = 2
        )
        THEN 125
        WHEN (
          "v"."attribute" = 3 OR "v"."attribute" = 4
        )
        THEN 3
        WHEN (
          "v"."attribute" = 5
        )
        THEN 4
      END
    END AS Nullable(Int64)) AS "leaves_4",
    CASE WHEN "v"."value" IS NULL OR NOT (
      "h"."is_listed" IS NULL
    ) THEN 1 ELSE 0 END AS "covered"
  FROM "sqlanon_0a1b2c3d_values" AS "v"
  LEFT JOIN (
    SELECT
      "attribute",
      "level_0",
      "level_1",
      "level_2",
      "level_3",
      "level_4",
      COUNT(*) OVER (PARTITION BY "attribute", "level_0") AS "leaves_0",
      COUNT(*) OVER (PARTITION BY "attribute", "level_1") AS "leaves_1",
      CASE
        WHEN (
          "attribute" = 0
        )
        THEN 5
        WHEN (
          "attribute" = 4
        )
        THEN 3
        ELSE COUNT(*) OVER (PARTITION BY "attribute", "level_2")
      END AS "leaves_2",
      CASE
        WHEN (
          "attribute" = 1
        )
        THEN 47
        WHEN (
          "attribute" = 3
        )
        THEN 3
        ELSE COUNT(*) OVER (PARTITION BY "attribute", "level_3")
      END AS "leaves_3",
      CASE
        WHEN (
          "attribute" = 2
        )
        THEN 125
        ELSE COUNT(*) OVER (PARTITION BY "attribute", "level_4")
      END AS "leaves_4",
      1 AS "is_listed"
    FROM "sqlanon_0a1b2c3d_listed"
  ) AS "h"
    ON "v"."attribute" = "h"."attribute"
    AND "v"."value" IS NOT DISTINCT FROM "h"."level_0"
) AS "joined";

-- 17. lookup
CREATE TEMPORARY TABLE "sqlanon_0a1b2c3d_lookup"
ENGINE=Memory AS
SELECT
  "attribute",
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
        CASE
          WHEN (
            "attribute" = 0
            OR "attribute" = 1
            OR "attribute" = 2
            OR "attribute" = 4
            OR "attribute" = 5
          )
          THEN bitShiftLeft(
            CAST("branch_0" AS Nullable(Int64)),
            CASE
              WHEN (
                "attribute" = 0
              )
              THEN 0
              WHEN (
                "attribute" = 1
              )
              THEN 3
              WHEN (
                "attribute" = 2
              )
              THEN 11
              WHEN (
                "attribute" = 4
              )
              THEN 21
              WHEN (
                "attribute" = 5
              )
              THEN 23
              ELSE 0
            END
          )
          ELSE 0
        END,
        CASE
          WHEN (
            "attribute" = 0
            OR "attribute" = 1
            OR "attribute" = 2
            OR "attribute" = 3
            OR "attribute" = 4
          )
          THEN bitShiftLeft(
            CAST("branch_1" AS Nullable(Int64)),
            CASE
              WHEN (
                "attribute" = 0
              )
              THEN 1
              WHEN (
                "attribute" = 1
              )
              THEN 7
              WHEN (
                "attribute" = 2
              )
              THEN 16
              WHEN (
                "attribute" = 3
              )
              THEN 19
              WHEN (
                "attribute" = 4
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
          "attribute" = 1 OR "attribute" = 2
        )
        THEN bitShiftLeft(
          CAST("branch_2" AS Nullable(Int64)),
          CASE WHEN (
            "attribute" = 1
          ) THEN 8 WHEN (
            "attribute" = 2
          ) THEN 17 ELSE 0 END
        )
        ELSE 0
      END
    ),
    CASE
      WHEN (
        "attribute" = 2
      )
      THEN bitShiftLeft(
        CAST("branch_3" AS Nullable(Int64)),
        CASE WHEN (
          "attribute" = 2
        ) THEN 18 ELSE 0 END
      )
      ELSE 0
    END
  ) AS "key_0"
FROM "sqlanon_0a1b2c3d_branches"
WHERE
  "branch_0" < CASE
    WHEN (
      "attribute" = 0 OR "attribute" = 4
    )
    THEN 2
    WHEN (
      "attribute" = 1
    )
    THEN 16
    WHEN (
      "attribute" = 2
    )
    THEN 32
    WHEN (
      "attribute" = 3
    )
    THEN 1
    WHEN (
      "attribute" = 5
    )
    THEN 4
    ELSE 1
  END
  AND "branch_1" < CASE
    WHEN (
      "attribute" = 0 OR "attribute" = 3
    )
    THEN 4
    WHEN (
      "attribute" = 1 OR "attribute" = 2 OR "attribute" = 4
    )
    THEN 2
    ELSE 1
  END
  AND "branch_2" < CASE
    WHEN (
      "attribute" = 0 OR "attribute" = 3 OR "attribute" = 4
    )
    THEN 1
    WHEN (
      "attribute" = 1
    )
    THEN 8
    WHEN (
      "attribute" = 2
    )
    THEN 2
    ELSE 1
  END
  AND "branch_3" < CASE
    WHEN (
      "attribute" = 1 OR "attribute" = 3
    )
    THEN 1
    WHEN (
      "attribute" = 2
    )
    THEN 2
    ELSE 1
  END
  AND "branch_4" < CASE WHEN (
    "attribute" = 2
  ) THEN 1 ELSE 1 END
  AND (
    "covered" = 1 OR NOT (
      "attribute" = 5
    )
  );

-- 18. overall
CREATE TEMPORARY TABLE "sqlanon_0a1b2c3d_overall_0"
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
          ROW_NUMBER() OVER (ORDER BY "v"."value" IS NULL, "v"."value", "v"."value") AS "place"
        FROM "sqlanon_0a1b2c3d_values" AS "v"
        JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_5"
          ON "sqlanon_lookup_5"."attribute" = 5
          AND "v"."value" IS NOT DISTINCT FROM "sqlanon_lookup_5"."value"
        WHERE
          "v"."attribute" = 5
      ) AS "placed"
    ) AS "shared"
  ) AS "cumulated"
) AS "measured";

-- 19. load masks
CREATE TEMPORARY TABLE "sqlanon_0a1b2c3d_masks" (
  "attribute" Nullable(Int64),
  "level" Nullable(Int64),
  "digit" Nullable(String),
  "mask_0" Nullable(Int64)
)
ENGINE=Memory;

-- 20. load masks
INSERT INTO "sqlanon_0a1b2c3d_masks"
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

-- 21. leaf
CREATE TEMPORARY TABLE "sqlanon_0a1b2c3d_leaf"
ENGINE=Memory AS
SELECT
  "m"."attribute" AS "attribute",
  "m"."level" AS "level",
  bitAnd("l"."key_0", "m"."mask_0") AS "key_0",
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
        THEN 47
        WHEN (
          "m"."attribute" = 2
        )
        THEN 125
        WHEN (
          "m"."attribute" = 3 OR "m"."attribute" = 4
        )
        THEN 3
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
        THEN 47
        WHEN (
          "m"."attribute" = 2
        )
        THEN 125
        WHEN (
          "m"."attribute" = 3 OR "m"."attribute" = 4
        )
        THEN 3
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
        THEN 47
        WHEN (
          "m"."attribute" = 2
        )
        THEN 125
        WHEN (
          "m"."attribute" = 3 OR "m"."attribute" = 4
        )
        THEN 3
      END
    ) - MAX("l"."leaves_2")
    WHEN "m"."level" = 3
    THEN MAX(
      CASE
        WHEN (
          "m"."attribute" = 0
        )
        THEN 5
        WHEN (
          "m"."attribute" = 1
        )
        THEN 47
        WHEN (
          "m"."attribute" = 2
        )
        THEN 125
        WHEN (
          "m"."attribute" = 3 OR "m"."attribute" = 4
        )
        THEN 3
      END
    ) - MAX("l"."leaves_3")
    WHEN "m"."level" = 4
    THEN MAX(
      CASE
        WHEN (
          "m"."attribute" = 0
        )
        THEN 5
        WHEN (
          "m"."attribute" = 1
        )
        THEN 47
        WHEN (
          "m"."attribute" = 2
        )
        THEN 125
        WHEN (
          "m"."attribute" = 3 OR "m"."attribute" = 4
        )
        THEN 3
      END
    ) - MAX("l"."leaves_4")
  END AS Nullable(Int64)) AS "cost",
  CAST(MAX(
    CASE
      WHEN (
        "m"."attribute" = 0
      )
      THEN 5
      WHEN (
        "m"."attribute" = 1
      )
      THEN 47
      WHEN (
        "m"."attribute" = 2
      )
      THEN 125
      WHEN (
        "m"."attribute" = 3 OR "m"."attribute" = 4
      )
      THEN 3
    END
  ) - MAX("l"."leaves_0") AS Nullable(Int64)) AS "cost_0",
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
        THEN 47
        WHEN (
          "m"."attribute" = 2
        )
        THEN 125
        WHEN (
          "m"."attribute" = 3 OR "m"."attribute" = 4
        )
        THEN 3
      END
    ) - MAX("l"."leaves_1")
  END AS Nullable(Int64)) AS "cost_1",
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
        THEN 47
        WHEN (
          "m"."attribute" = 2
        )
        THEN 125
        WHEN (
          "m"."attribute" = 3 OR "m"."attribute" = 4
        )
        THEN 3
      END
    ) - MAX("l"."leaves_2")
  END AS Nullable(Int64)) AS "cost_2",
  CAST(CASE
    WHEN "m"."level" >= 3
    THEN MAX(
      CASE
        WHEN (
          "m"."attribute" = 0
        )
        THEN 5
        WHEN (
          "m"."attribute" = 1
        )
        THEN 47
        WHEN (
          "m"."attribute" = 2
        )
        THEN 125
        WHEN (
          "m"."attribute" = 3 OR "m"."attribute" = 4
        )
        THEN 3
      END
    ) - MAX("l"."leaves_3")
  END AS Nullable(Int64)) AS "cost_3",
  CAST(CASE
    WHEN "m"."level" >= 4
    THEN MAX(
      CASE
        WHEN (
          "m"."attribute" = 0
        )
        THEN 5
        WHEN (
          "m"."attribute" = 1
        )
        THEN 47
        WHEN (
          "m"."attribute" = 2
        )
        THEN 125
        WHEN (
          "m"."attribute" = 3 OR "m"."attribute" = 4
        )
        THEN 3
      END
    ) - MAX("l"."leaves_4")
  END AS Nullable(Int64)) AS "cost_4"
FROM "sqlanon_0a1b2c3d_lookup" AS "l"
JOIN "sqlanon_0a1b2c3d_masks" AS "m"
  ON "l"."attribute" = "m"."attribute"
WHERE
  "l"."covered" = 1
GROUP BY
  "m"."attribute",
  "m"."level",
  bitAnd("l"."key_0", "m"."mask_0");

-- 22. base
CREATE TEMPORARY TABLE "sqlanon_0a1b2c3d_base"
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
LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_0"
  ON "sqlanon_lookup_0"."attribute" = 0
  AND CAST("source"."city" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_0"."value"
LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_1"
  ON "sqlanon_lookup_1"."attribute" = 1
  AND CAST("source"."age" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_1"."value"
LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_2"
  ON "sqlanon_lookup_2"."attribute" = 2
  AND CAST("source"."seen" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_2"."value"
LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_3"
  ON "sqlanon_lookup_3"."attribute" = 3
  AND CAST("source"."zip" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_3"."value"
LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_4"
  ON "sqlanon_lookup_4"."attribute" = 4
  AND CAST("source"."order" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_4"."value"
LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_5"
  ON "sqlanon_lookup_5"."attribute" = 5
  AND CAST("source"."disease" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_5"."value"
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

-- 23. records of the source, and those that take part
SELECT
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS Nullable(Int64)) AS "records",
  CAST(COALESCE(SUM(CASE WHEN TRUE THEN 1 ELSE 0 END), 0) AS Nullable(Int64)) AS "included"
FROM "people";

-- 24. records that were encoded
SELECT
  CAST(COALESCE(SUM("n"), 0) AS Nullable(Int64)) AS "encoded"
FROM "sqlanon_0a1b2c3d_base";

-- 25. the verdicts of some nodes (0: city=1, age=3, seen=4, zip=0, order=1; 1: city=0, age=3, seen=4, zip=0, order=1; 2: city=2, age=3, seen=4, zip=0, order=1; 3: city=1, age=2, seen=4, zip=0, order=1; 4: city=1, age=3, seen=3, zip=0, order=1; 5: city=1, age=3, seen=4, zip=1, order=1; 6: city=1, age=3, seen=4, zip=0, order=0; 7: city=1, age=3, seen=4, zip=0, order=2)
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
  FROM "sqlanon_0a1b2c3d_base" AS "grain"
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
    JOIN "sqlanon_0a1b2c3d_overall_0" AS "overall"
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
  JOIN "sqlanon_0a1b2c3d_masks" AS "masks"
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
JOIN "sqlanon_0a1b2c3d_leaf" AS "leaf"
  ON "failing"."attribute" = "leaf"."attribute"
  AND "failing"."level" = "leaf"."level"
  AND (
    "failing"."key_0" = "leaf"."key_0"
  )
GROUP BY
  "failing"."node",
  "failing"."attribute";

-- 26. the release
CREATE TABLE "sqlanon_0a1b2c3d_release"
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
      LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_0"
        ON "sqlanon_lookup_0"."attribute" = 0
        AND CAST("source"."city" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_0"."value"
      LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_1"
        ON "sqlanon_lookup_1"."attribute" = 1
        AND CAST("source"."age" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_1"."value"
      LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_2"
        ON "sqlanon_lookup_2"."attribute" = 2
        AND CAST("source"."seen" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_2"."value"
      LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_3"
        ON "sqlanon_lookup_3"."attribute" = 3
        AND CAST("source"."zip" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_3"."value"
      LEFT JOIN "sqlanon_0a1b2c3d_lookup" AS "sqlanon_lookup_4"
        ON "sqlanon_lookup_4"."attribute" = 4
        AND CAST("source"."order" AS Nullable(String)) IS NOT DISTINCT FROM "sqlanon_lookup_4"."value"
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
      FROM "sqlanon_0a1b2c3d_base"
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
        JOIN "sqlanon_0a1b2c3d_overall_0" AS "overall"
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

-- 27. audit row_count: no row, if the table is the one that was planned on
SELECT
  COUNT(*) AS "rows_found"
FROM "sqlanon_0a1b2c3d_release" AS "release"
HAVING
  COUNT(*) <> 226;

-- 28. audit small_classes: it stops the script if it finds a row
SELECT
  throwIf(COUNT(*) > 0, 'sqlanon: an audit found rows; do not publish this release') AS `stopped`
FROM (
SELECT
  COUNT(*) AS "records"
FROM "sqlanon_0a1b2c3d_release" AS "release"
GROUP BY
  "release"."city",
  "release"."age",
  "release"."seen",
  "release"."zip",
  "release"."order"
HAVING
  COUNT(*) BETWEEN 1 AND 4 - 1
) AS `offending`;

-- 29. audit distinct_l_diversity of disease: it stops the script if it finds a row
SELECT
  throwIf(COUNT(*) > 0, 'sqlanon: an audit found rows; do not publish this release') AS `stopped`
FROM (
SELECT
  COUNT(*) AS "records"
FROM "sqlanon_0a1b2c3d_release" AS "release"
GROUP BY
  "release"."city",
  "release"."age",
  "release"."seen",
  "release"."zip",
  "release"."order"
HAVING
  COUNT(*) > 0
  AND COUNT(DISTINCT "release"."disease") + MAX(CASE WHEN "release"."disease" IS NULL THEN 1 ELSE 0 END) < 2
) AS `offending`;

-- 30. audit t_closeness_equal of disease: it stops the script if it finds a row
SELECT
  throwIf(COUNT(*) > 0, 'sqlanon: an audit found rows; do not publish this release') AS `stopped`
FROM (
SELECT
  CAST(SUM("sqlanon_count") AS Nullable(Int64)) AS "records"
FROM (
  SELECT
    "counted"."city" AS "city",
    "counted"."age" AS "age",
    "counted"."seen" AS "seen",
    "counted"."zip" AS "zip",
    "counted"."order" AS "order",
    "counted"."sqlanon_count" AS "sqlanon_count",
    CAST("counted"."sqlanon_count" AS Nullable(Float64)) / "counted"."sqlanon_size" AS "sqlanon_share",
    "overall"."sqlanon_share" AS "sqlanon_overall"
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
    FROM "sqlanon_0a1b2c3d_release" AS "release"
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
) AS "compared"
GROUP BY
  "compared"."city",
  "compared"."age",
  "compared"."seen",
  "compared"."zip",
  "compared"."order"
HAVING
  COUNT(*) > 0
  AND CAST(SUM(ABS("sqlanon_share" - COALESCE("sqlanon_overall", 0))) + 1 - SUM(COALESCE("sqlanon_overall", 0)) AS Nullable(Float64)) / 2 > CAST(0.35 AS Nullable(Float64)) + 1e-11
) AS `offending`;

-- 31. audit untranslated_values of city: it stops the script if it finds a row
SELECT
  throwIf(COUNT(*) > 0, 'sqlanon: an audit found rows; do not publish this release') AS `stopped`
FROM (
SELECT
  "released"."sqlanon_records" AS "records"
FROM (
  SELECT
    CAST("city" AS Nullable(String)) AS "sqlanon_value",
    COUNT(*) AS "sqlanon_records"
  FROM "sqlanon_0a1b2c3d_release" AS "release"
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
    FROM (
      SELECT
        *
      FROM "sqlanon_0a1b2c3d_lookup"
      WHERE
        "attribute" = 0
    ) AS "sqlanon_lookup_0"
  ) AS "lookup"
) AS "texts"
  ON "texts"."value" IS NOT DISTINCT FROM "released"."sqlanon_value"
WHERE
  "texts"."listed" IS NULL
) AS `offending`;

-- 32. audit untranslated_values of age: it stops the script if it finds a row
SELECT
  throwIf(COUNT(*) > 0, 'sqlanon: an audit found rows; do not publish this release') AS `stopped`
FROM (
SELECT
  "released"."sqlanon_records" AS "records"
FROM (
  SELECT
    CAST("age" AS Nullable(String)) AS "sqlanon_value",
    COUNT(*) AS "sqlanon_records"
  FROM "sqlanon_0a1b2c3d_release" AS "release"
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
    FROM (
      SELECT
        *
      FROM "sqlanon_0a1b2c3d_lookup"
      WHERE
        "attribute" = 1
    ) AS "sqlanon_lookup_1"
  ) AS "lookup"
) AS "texts"
  ON "texts"."value" IS NOT DISTINCT FROM "released"."sqlanon_value"
WHERE
  "texts"."listed" IS NULL
) AS `offending`;

-- 33. audit untranslated_values of seen: it stops the script if it finds a row
SELECT
  throwIf(COUNT(*) > 0, 'sqlanon: an audit found rows; do not publish this release') AS `stopped`
FROM (
SELECT
  "released"."sqlanon_records" AS "records"
FROM (
  SELECT
    CAST("seen" AS Nullable(String)) AS "sqlanon_value",
    COUNT(*) AS "sqlanon_records"
  FROM "sqlanon_0a1b2c3d_release" AS "release"
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
    FROM (
      SELECT
        *
      FROM "sqlanon_0a1b2c3d_lookup"
      WHERE
        "attribute" = 2
    ) AS "sqlanon_lookup_2"
  ) AS "lookup"
) AS "texts"
  ON "texts"."value" IS NOT DISTINCT FROM "released"."sqlanon_value"
WHERE
  "texts"."listed" IS NULL
) AS `offending`;

-- 34. audit untranslated_values of zip: it stops the script if it finds a row
SELECT
  throwIf(COUNT(*) > 0, 'sqlanon: an audit found rows; do not publish this release') AS `stopped`
FROM (
SELECT
  "released"."sqlanon_records" AS "records"
FROM (
  SELECT
    CAST("zip" AS Nullable(String)) AS "sqlanon_value",
    COUNT(*) AS "sqlanon_records"
  FROM "sqlanon_0a1b2c3d_release" AS "release"
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
    FROM (
      SELECT
        *
      FROM "sqlanon_0a1b2c3d_lookup"
      WHERE
        "attribute" = 3
    ) AS "sqlanon_lookup_3"
  ) AS "lookup"
) AS "texts"
  ON "texts"."value" IS NOT DISTINCT FROM "released"."sqlanon_value"
WHERE
  "texts"."listed" IS NULL
) AS `offending`;

-- 35. audit untranslated_values of order: it stops the script if it finds a row
SELECT
  throwIf(COUNT(*) > 0, 'sqlanon: an audit found rows; do not publish this release') AS `stopped`
FROM (
SELECT
  "released"."sqlanon_records" AS "records"
FROM (
  SELECT
    CAST("order" AS Nullable(String)) AS "sqlanon_value",
    COUNT(*) AS "sqlanon_records"
  FROM "sqlanon_0a1b2c3d_release" AS "release"
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
    FROM (
      SELECT
        *
      FROM "sqlanon_0a1b2c3d_lookup"
      WHERE
        "attribute" = 4
    ) AS "sqlanon_lookup_4"
  ) AS "lookup"
) AS "texts"
  ON "texts"."value" IS NOT DISTINCT FROM "released"."sqlanon_value"
WHERE
  "texts"."listed" IS NULL
) AS `offending`;

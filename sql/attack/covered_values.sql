-- Which values of a column the texts of a release may stand for, where no policy says it: one row a text and value, and
-- a row without a value for a text that is not understood.
--
-- texts: the distinct texts of the release, as attribute and text. known: the values of the source and those of the
-- release that are numbers or moments, with their number, their amount (no moment, no NaN) and whether the source has
-- them.
--
-- A text is a value of the source; a number (20.0 is 20 where the source has no 20.0); a range ([20, 40[, (20,40],
-- 20-39; a bracket that turns away excludes its end; with a comma only in brackets: 1,234 is none); a bound (<20, >=65,
-- 65+); a mask (130**: what begins so; *: whatever there is); or a set ({a, b}). NULL is a value
-- where the source has it, and else whatever there is.
--
-- texts                known                              covered_values
-- attribute | text     attribute | value | v | number     attribute | text | v
-- 0         | 20-39    0         | 25    | 1 | 25         0         | 20-39 | 1
--                      0         | 40    | 2 | 40
WITH read AS (
  SELECT
    texts.attribute,
    texts.text,
    REGEXP_EXTRACT(texts.text, '^\s*[\[\(\]]?\s*(-?\d+(\.\d+)?)\s*(,|;|-|–|\.\.|to|bis)\s*(-?\d+(\.\d+)?)\s*[\]\)\[]?\s*$', 1) AS low,
    REGEXP_EXTRACT(texts.text, '^\s*[\[\(\]]?\s*(-?\d+(\.\d+)?)\s*(,|;|-|–|\.\.|to|bis)\s*(-?\d+(\.\d+)?)\s*[\]\)\[]?\s*$', 4) AS high,
    REGEXP_EXTRACT(texts.text, '^\s*(<=|>=|<|>|≤|≥)\s*(-?\d+(\.\d+)?)\s*$', 1) AS sign,
    REGEXP_EXTRACT(texts.text, '^\s*(<=|>=|<|>|≤|≥)\s*(-?\d+(\.\d+)?)\s*$', 2) AS end_of_all,
    REGEXP_EXTRACT(texts.text, '^\s*(-?\d+(\.\d+)?)\s*\+\s*$', 1) AS from_here,
    REGEXP_EXTRACT(texts.text, '^([^*]+)\*+$', 1) AS prefix,
    REGEXP_EXTRACT(texts.text, '^\{(.*)\}$', 1) AS members,
    REGEXP_MATCHES(texts.text, '^\s*[\(\]]') AS without_low,
    REGEXP_MATCHES(texts.text, '[\)\[]\s*$') AS without_high,
    COALESCE(alike.v, known.v) AS v
  FROM texts
  LEFT JOIN known
    ON known.attribute = texts.attribute AND known.value IS NOT DISTINCT FROM texts.text
  LEFT JOIN known AS alike
    ON alike.attribute = texts.attribute
    AND alike.number = CASE WHEN known.of_source = 0 THEN known.number END
    AND alike.of_source = 1
    AND COALESCE(TRY_CAST(alike.value AS HUGEINT) = TRY_CAST(known.value AS HUGEINT), TRUE)
)
SELECT
  read.attribute,
  read.text,
  COALESCE(read.v, known.v) AS v
FROM read
LEFT JOIN known
  ON known.attribute = CASE WHEN read.v IS NULL THEN read.attribute END
  AND (
    read.text IS NULL
    OR REGEXP_MATCHES(read.text, '^\*+$')
    OR (
      read.low <> ''
      AND NOT REGEXP_MATCHES(read.text, '^[^\[\(\]]*,')
      AND CASE
        WHEN read.without_low
        THEN known.amount > TRY_CAST(read.low AS DOUBLE)
        ELSE known.amount >= TRY_CAST(read.low AS DOUBLE)
      END
      AND CASE
        WHEN read.without_high
        THEN known.amount < TRY_CAST(read.high AS DOUBLE)
        ELSE known.amount <= TRY_CAST(read.high AS DOUBLE)
      END
    )
    OR (
      read.sign <> ''
      AND CASE
        WHEN read.sign = '<'
        THEN known.amount < TRY_CAST(read.end_of_all AS DOUBLE)
        WHEN read.sign = '>'
        THEN known.amount > TRY_CAST(read.end_of_all AS DOUBLE)
        WHEN read.sign IN ('<=', '≤')
        THEN known.amount <= TRY_CAST(read.end_of_all AS DOUBLE)
        ELSE known.amount >= TRY_CAST(read.end_of_all AS DOUBLE)
      END
    )
    OR (
      read.from_here <> '' AND known.amount >= TRY_CAST(read.from_here AS DOUBLE)
    )
    OR (
      read.prefix <> '' AND STARTS_WITH(known.value, read.prefix)
    )
    OR (
      read.members <> '' AND LIST_CONTAINS(STRING_SPLIT(read.members, ', '), known.value)
    )
  )

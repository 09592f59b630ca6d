-- Releases judged together: the joint cells of fewer than :k persons. Returns a row a cell, with its persons.
--
-- histories: a row a person of any release, with her class in each earlier release (earlier_class) and in the new one
-- (new_class); NULL: she is absent.
-- Those who are absent from the new release may be fewer if they are all with these earlier classes: then the new
-- release shows nothing of them that the earlier ones do not show. :whole: 1 when they must be all, or nobody.
--
-- histories                          joint_cells, :k = 2, :whole = 0
-- person | class_0 | new_class       records
-- 1      | 7       | 3               1
-- 2      | 7       | 3
-- 3      | 7       | NULL
SELECT
  records
FROM (
  SELECT
    new_class,
    COUNT(*) AS records,
    SUM(COUNT(*)) OVER (PARTITION BY earlier_class) AS persons
  FROM histories
  GROUP BY
    earlier_class,
    new_class
) AS cells
WHERE
  CASE WHEN new_class IS NULL THEN records < persons AND (records < :k OR :whole = 1) ELSE records < :k END

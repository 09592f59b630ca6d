-- A row a record that one of two states of a live view shows, with its group before and its group now (NULL: not shown)
-- and the values that the models look at. A class of both columns together is what an observer finds who compares the
-- two states row by row, so it must meet the models like any class.
--
-- was, shown: the records of the earlier and of the later state. watched: the values of either.
SELECT
  was.sqlanon_cohort AS sqlanon_was,
  shown.sqlanon_cohort AS sqlanon_now,
  COALESCE(was.sqlanon_person, shown.sqlanon_person) AS sqlanon_person,
  watched
FROM was
FULL JOIN shown
  ON shown.sqlanon_record = was.sqlanon_record

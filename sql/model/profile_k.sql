-- Profile k: persons with the same multiset of generalized rows (a profile) are at least :k.
--
-- classes: per profile and row of it the persons n, which are the same in all rows of a profile.
--
-- classes                   profile_k, :k = 2
-- profile | class | n       profile | class | fails | min_suppressed
-- 1       | 20-29 | 3       1       | 20-29 | 0     | 3
-- 1       | 30-39 | 3       1       | 30-39 | 0     | 3
-- 4       | 20-29 | 1       4       | 20-29 | 1     | 1
--
-- fails: 1 when the profile fails. min_suppressed, of a profile that fails: at least so many of its persons are suppressed at
-- every more special node, too; here all of them, because persons who have the same rows there have the same rows here.
SELECT
  class_key,
  CASE WHEN n < :k THEN 1 ELSE 0 END AS fails,
  n AS min_suppressed
FROM classes

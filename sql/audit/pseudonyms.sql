-- Records whose pseudonym is none: it is NULL, has not 32 hexadecimal digits, or is a value of the source. Over the staged
-- rows, which still have their persons.
--
-- original: the text of the person of a record, compared byte by byte.
--
-- release                                                       pseudonyms
-- original | audited_column                                     offence
-- 7        | 0a1b2c3d4e5f60718293a4b5c6d7e8f9
-- 8        | 8                                                  1
-- 9        | NULL                                               1
SELECT
  1 AS offence
FROM release
WHERE
  audited_column IS NULL
  OR LENGTH(audited_column) <> 32
  OR LENGTH(TRIM(audited_column, '0123456789abcdef')) > 0
  OR audited_column IN (
    SELECT
      original
    FROM release
  )

LOAD DATA INTO TEMP TABLE $table
FROM FILES(
  format='CSV', uris=['gs://YOUR-BUCKET/$file'], skip_leading_rows=1, field_delimiter=',', quote='"',
  allow_quoted_newlines=TRUE, preserve_ascii_control_characters=TRUE, encoding='UTF-8'
)

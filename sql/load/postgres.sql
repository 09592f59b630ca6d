\copy $table FROM '$path' WITH (FORMAT csv, HEADER, ENCODING 'UTF8')

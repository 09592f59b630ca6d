.import --csv --skip 1 "$path" $name

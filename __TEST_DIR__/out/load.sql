COPY "p" ("id", "st", "l") FROM 'p.csv' (format 'csv', header true, delim ',', quote '"', escape '"', allow_quoted_nulls false);

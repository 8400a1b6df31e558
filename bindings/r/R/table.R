#' @include transaction.R
NULL

# The parts of a table's name: schema may be NULL.
table_parts <- function(conn, name) {
  if (is.character(name) && !is(name, "SQL") && (length(name) != 1L || is.na(name))) fail("the name of a table is one string")
  if (!is.character(name) && !is(name, "Id")) fail("the name of a table is a string, Id() or SQL()")
  parts <- unname(dbUnquoteIdentifier(conn, dbQuoteIdentifier(conn, name))[[1L]]@name)
  if (length(parts) > 2L) parts <- c(paste(parts[-length(parts)], collapse = "."), parts[length(parts)])
  if (length(parts) == 2L) list(schema = enc2utf8(parts[[1L]]), table = enc2utf8(parts[[2L]])) else list(schema = NULL, table = enc2utf8(parts))
}

checked_flag <- function(value, name) if (!is.logical(value) || length(value) != 1L || is.na(value)) fail("`", name, "` is TRUE or FALSE")

checked_connection <- function(conn) if (!dbIsValid(conn)) fail("the connection is closed")

exists_table <- function(conn, name, ...) {
  checked_connection(conn)
  parts <- table_parts(conn, name)
  sql <- "SELECT count(*) > 0 AS found FROM information_schema.tables WHERE lower(table_name) = lower(?)"
  if (is.null(parts$schema)) return(dbGetQuery(conn, sql, params = list(parts$table))$found)
  dbGetQuery(conn, paste(sql, "AND lower(table_schema) = lower(?)"), params = list(parts$table, parts$schema))$found
}

setMethod("dbListTables", "inlay_connection", function(conn, ...) {
  checked_connection(conn)
  dbGetQuery(conn, "SELECT DISTINCT table_name FROM information_schema.tables
    WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1")[[1L]][]
})

setMethod("dbListObjects", c("inlay_connection", "ANY"), function(conn, prefix = NULL, ...) {
  checked_connection(conn)
  tables <- dbGetQuery(conn, "SELECT DISTINCT table_schema, table_name FROM information_schema.tables
    WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1, 2")
  ids <- function(x, is_prefix) {
    frame <- data.frame(is_prefix = rep(is_prefix, length(x)))
    frame$table <- x
    frame[c("table", "is_prefix")]
  }
  if (is.null(prefix)) {
    schemas <- dbGetQuery(conn, "SELECT DISTINCT schema_name FROM information_schema.schemata
      WHERE schema_name NOT IN ('information_schema', 'pg_catalog') ORDER BY 1")$schema_name
    schemas <- lapply(schemas, function(schema) Id(schema = schema))
    return(rbind(ids(lapply(unique(tables$table_name), function(table) Id(table = table)), FALSE), ids(schemas, TRUE)))
  }
  schema <- if (is(prefix, "Id")) prefix@name[["schema"]] else as.character(prefix)
  here <- tables$table_name[tables$table_schema == schema]
  ids(lapply(here, function(table) Id(schema = schema, table = table)), FALSE)
})

temporary_tables <- function(conn) {
  dbGetQuery(conn, "SELECT table_name FROM information_schema.tables WHERE table_type = 'LOCAL TEMPORARY'")[[1L]]
}

remove_table <- function(conn, name, ..., temporary = FALSE, fail_if_missing = TRUE) {
  checked_connection(conn)
  parts <- table_parts(conn, name)
  checked_flag(temporary, "temporary")
  if (temporary && !parts$table %in% temporary_tables(conn)) {
    if (!fail_if_missing) return(invisible(TRUE))
    fail("there is no temporary table ", as.character(dbQuoteIdentifier(conn, name)))
  }
  run_sql(conn, paste0("DROP TABLE ", if (!fail_if_missing) "IF EXISTS ", dbQuoteIdentifier(conn, name)))
  pane_updated(conn)
  invisible(TRUE)
}

# Names of SQL's types for columns; those of `field.types` instead of ours.
field_types <- function(conn, value, field.types) {
  types <- vapply(value, column_type, "", factors = conn@factors)
  if (is.null(field.types)) return(types)
  if (!is.character(field.types) || is.null(names(field.types))) fail("`field.types` is a character vector with names")
  unknown <- setdiff(names(field.types), names(value))
  if (length(unknown) > 0L) fail("`field.types` has a type for \"", unknown[[1L]], "\", which is no column")
  if (anyDuplicated(names(field.types))) fail("`field.types` has two types for a column")
  types[names(field.types)] <- field.types
  types
}

create_table <- function(conn, name, fields, temporary) {
  columns <- paste0(dbQuoteIdentifier(conn, enc2utf8(names(fields))), " ", fields, collapse = ", ")
  run_sql(conn, paste0("CREATE ", if (temporary) "TEMPORARY ", "TABLE ", dbQuoteIdentifier(conn, name), " (", columns, ")"))
}

# POSIXct in a column without a zone is as it is in UTC, which is how it is read.
utc_where_no_zone <- function(conn, name, value) {
  moments <- names(value)[vapply(value, inherits, NA, "POSIXct")]
  if (length(moments) == 0L) return(value)
  run <- .Call(C_execute, conn@handle, NULL, paste0("SELECT * FROM ", enc2utf8(as.character(dbQuoteIdentifier(conn, name))), " LIMIT 0"), FALSE)
  types <- .Call(C_column_types, run$handle)
  .Call(C_free_handle, run$handle, "result")
  names(types) <- tolower(names(types))
  for (column in moments) {
    if (types[tolower(column)] %in% c("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")) class(value[[column]]) <- c("inlay_utc", class(value[[column]]))
  }
  value
}

append_rows <- function(conn, name, value) append_plain(conn, name, plain_frame(value))

# From so many rows on, all workers read them: by a name that is nothing else's, which is forgotten afterwards.
ROWS_MANY <- 20000L

append_plain <- function(conn, name, frame) {
  parts <- table_parts(conn, name)
  frame <- utc_where_no_zone(conn, name, frame)
  if (nrow(frame) < ROWS_MANY || ncol(frame) == 0L) return(.Call(C_append_frame, conn@handle, parts$schema, parts$table, frame))
  from <- own_name(conn)
  .Call(C_register_frame, conn@handle, from, frame)
  on.exit(.Call(C_unregister_frame, conn@handle, from))
  insert_from(conn, name, from)
}

# A name for rows that only one statement reads.
own_name <- function(conn) {
  conn@state$next_name <- 1 + if (is.null(conn@state$next_name)) 0 else conn@state$next_name
  sprintf("inlay_rows_%s_%.0f", conn@state$number, conn@state$next_name)
}

insert_from <- function(conn, name, from) {
  run <- .Call(C_execute, conn@handle, NULL, enc2utf8(paste0("INSERT INTO ", dbQuoteIdentifier(conn, name), " BY NAME SELECT * FROM ", from)), FALSE)
  .Call(C_free_handle, run$handle, "result")
  max(run$changed, 0)
}

inlay_append <- function(conn, name, value) {
  checked_connection(conn)
  append_rows(conn, name, value)
}

append_table <- function(conn, name, value, ..., row.names = NULL) {
  checked_connection(conn)
  if (!is.null(row.names)) fail("`row.names` must be NULL: rows are appended without names")
  if (!is.data.frame(value)) fail("`value` is a data frame")
  if (conn@factors == "text" && any(vapply(value, is.factor, NA))) warning("factors are appended as text", call. = FALSE)
  append_rows(conn, name, value)
}

write_table <- function(conn, name, value, ..., row.names = FALSE, overwrite = FALSE,
                                                                             append = FALSE, field.types = NULL, temporary = FALSE) {
  checked_connection(conn)
  checked_flag(overwrite, "overwrite")
  checked_flag(append, "append")
  checked_flag(temporary, "temporary")
  if (overwrite && append) fail("`overwrite` and `append` cannot both be TRUE")
  if (append && !is.null(field.types)) fail("`field.types` is for new tables: it cannot be given with `append`")
  if (is.null(row.names)) row.names <- FALSE
  if (!(is.logical(row.names) || is.character(row.names)) || length(row.names) != 1L) fail("`row.names` is TRUE, FALSE, NA or the name of a column")
  value <- sqlRownamesToColumn(as.data.frame(value), row.names)
  table_parts(conn, name)
  frame <- plain_frame(value)
  atomically(conn, {
    is_there <- dbExistsTable(conn, name)
    if (is_there && !overwrite && !append) fail("there is a table ", as.character(dbQuoteIdentifier(conn, name)), "; give overwrite = TRUE or append = TRUE")
    if (is_there && overwrite) {
      dbRemoveTable(conn, name)
      is_there <- FALSE
    }
    if (!is_there) create_table(conn, name, field_types(conn, value, field.types), temporary)
    if (nrow(value) > 0L) append_plain(conn, name, frame)
  })
  pane_updated(conn)
  invisible(TRUE)
}

# For each class of names, so that no method of DBI's fits as well.
for (class in c("character", "Id")) {
  setMethod("dbExistsTable", c("inlay_connection", class), exists_table)
  setMethod("dbRemoveTable", c("inlay_connection", class), remove_table)
  setMethod("dbAppendTable", c("inlay_connection", class), append_table)
  setMethod("dbWriteTable", c("inlay_connection", class, "data.frame"), write_table)
}
rm(class)

#' @include connection.R
NULL

# SQL's type of a vector of R.
sql_type <- function(x) {
  if (inherits(x, "AsIs")) class(x) <- setdiff(class(x), "AsIs")
  if (is.factor(x)) return("VARCHAR")
  if (inherits(x, "integer64")) return("BIGINT")
  if (inherits(x, "Date")) return("DATE")
  if (inherits(x, "POSIXt")) return("TIMESTAMP WITH TIME ZONE")
  if (inherits(x, "hms")) return("TIME")
  if (inherits(x, "difftime")) return("INTERVAL")
  if (is.data.frame(x)) {
    fields <- paste0('"', gsub('"', '""', names(x), fixed = TRUE), '" ', vapply(x, sql_type, ""), collapse = ", ")
    return(paste0("STRUCT(", fields, ")"))
  }
  switch(typeof(x),
    logical = "BOOLEAN", integer = "INTEGER", double = "DOUBLE", character = "VARCHAR", raw = "BLOB",
    list = if (is_blob(x)) "BLOB" else paste0(sql_type(list_values(x, "x")), "[]"),
    fail("R's type \"", class(x)[[1L]], "\" has no type in SQL")
  )
}

is_blob <- function(x) all(vapply(x, function(it) is.null(it) || is.raw(it), NA))

# A factor keeps its levels and their order, unless it is wanted as text.
column_type <- function(x, factors) {
  if (factors == "enum" && is.factor(x) && nlevels(x) > 0L) {
    return(paste0("ENUM(", paste0("'", gsub("'", "''", enc2utf8(levels(x)), fixed = TRUE), "'", collapse = ", "), ")"))
  }
  sql_type(x)
}

types_of <- function(obj) if (is.data.frame(obj)) vapply(obj, sql_type, "") else sql_type(obj)

setMethod("dbDataType", "inlay_driver", function(dbObj, obj, ...) types_of(obj))

setMethod("dbDataType", "inlay_connection", function(dbObj, obj, ...) types_of(obj))

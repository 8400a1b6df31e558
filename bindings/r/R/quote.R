#' @include types.R
NULL

# DBI's own methods quote names and texts as SQL does. Values get their types.
literal <- function(conn, x) {
  if (length(x) == 0L) return(SQL(character()))
  if (is.factor(x)) x <- as.character(x)
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  quoted <- function(prefix, text) paste0(prefix, "'", gsub("'", "''", text, fixed = TRUE), "'")
  text <- if (is.list(x)) {
    vapply(x, function(it) if (is.null(it)) "NULL" else paste0("X'", paste(format(it), collapse = ""), "'"), "")
  } else if (inherits(x, "integer64") || is.integer(x) && !is.object(x)) {
    as.character(x)
  } else if (inherits(x, "Date")) {
    quoted("DATE ", format(x))
  } else if (inherits(x, "POSIXct")) {
    quoted("TIMESTAMPTZ ", paste0(format(x, "%Y-%m-%d %H:%M:%OS6", tz = "UTC"), "+00"))
  } else if (inherits(x, "hms")) {
    quoted("TIME ", format(as.POSIXct(unclass(x), origin = "1970-01-01", tz = "UTC"), "%H:%M:%OS6"))
  } else if (inherits(x, "difftime")) {
    quoted("INTERVAL ", paste(sprintf("%.6f", as.numeric(x, units = "secs")), "seconds"))
  } else if (is.logical(x)) {
    ifelse(x, "TRUE", "FALSE")
  } else if (is.character(x)) {
    return(dbQuoteString(conn, x))
  } else if (is.numeric(x)) {
    number <- sprintf("%.17ge0", x)
    ifelse(is.nan(x), "'NaN'::DOUBLE", ifelse(is.infinite(x), ifelse(x > 0, "'Infinity'::DOUBLE", "'-Infinity'::DOUBLE"), sub("e([+-][0-9]+)e0$", "e\\1", number)))
  } else {
    fail("R's type \"", class(x)[[1L]], "\" has no literals in SQL")
  }
  is_na <- if (is.list(x)) rep(FALSE, length(x)) else is.na(x) & !(is.double(x) & !is.object(x) & is.nan(x))
  text[is_na] <- "NULL"
  SQL(text, names = names(x))
}

setMethod("dbQuoteLiteral", "inlay_connection", function(conn, x, ...) if (is(x, "SQL")) x else literal(conn, x))
